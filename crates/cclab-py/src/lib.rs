//! The Python skin: scenarios in as JSON, columns out as numpy arrays. Converts, decides nothing.
//!
//! * `error`: what Python sees of errors and panics.
//! * `run`: a run in progress, and its result as columns.
//! * `live`: the same on real kernels, on Linux.
//! * `events`: what a law is told, one list for both ways of writing one.
//! * `law`: a congestion control stepped by hand.
//! * `python_law`: a congestion control written in Python.

mod error;
mod events;
mod law;
#[cfg(target_os = "linux")]
mod live;
mod python_law;
mod run;

use pyo3::prelude::*;

/// The compiled core of cclab.
#[pymodule]
mod _core {
    use super::{PyModule, PyModuleMethods, Python, error};
    use cclab_sim::{scenario, script};
    use pyo3::exceptions::PyValueError;
    use pyo3::{Bound, PyResult, pyfunction};
    use std::collections::BTreeSet;
    use std::time::{Duration, Instant};

    /// Between two looks whether a signal has come.
    const LOOK: Duration = Duration::from_millis(50);

    #[pymodule_export]
    use crate::events::{
        AckEvent, CongestionEvent, EstablishedEvent, IdleEvent, LostEvent, RecoveredEvent, RestartEvent, TimeoutEvent,
        UndoEvent,
    };
    #[pymodule_export]
    use crate::law::Law;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::live::{Emulate, Live, live_check, live_lacks, live_round_trips};
    #[pymodule_export]
    use crate::python_law::{Base, register_law};
    #[pymodule_export]
    use crate::run::Simulation;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        error::keep_panics_for_python();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Check a scenario given as JSON; the same scenario with every default filled in, as JSON.
    #[pyfunction]
    fn check(py: Python<'_>, scenario_json: &str) -> PyResult<String> {
        error::guard(py, || Ok(error::scenario_from_json(scenario_json)?.source.to_string()))
    }

    /// A scenario given as JSON with everything resolved, in SI units, as JSON; with a seed, stations go as they do in that run.
    #[pyfunction]
    #[pyo3(signature = (scenario_json, seed = None))]
    fn resolve(py: Python<'_>, scenario_json: &str, seed: Option<u64>) -> PyResult<String> {
        error::guard(py, || {
            let scenario = error::scenario_from_json(scenario_json)?;
            let scenario = if let Some(seed) = seed { scenario.drawn(seed).map_err(error::run)? } else { scenario };
            Ok(scenario.resolved().to_string())
        })
    }

    /// Names of the congestion controls in a scenario, given as JSON, that are written in Python.
    #[pyfunction]
    fn interpreted(py: Python<'_>, scenario_json: &str) -> PyResult<BTreeSet<&'static str>> {
        error::guard(py, || Ok(error::scenario_from_json(scenario_json)?.interpreted().collect()))
    }

    /// The scenario in this TOML text as it was written, as JSON; not checked.
    #[pyfunction]
    fn parse_toml(py: Python<'_>, text: &str) -> PyResult<String> {
        error::guard(py, || Ok(scenario::toml_as_json(text).map_err(error::scenario)?.to_string()))
    }

    /// The fields that a scenario given as JSON may have, by path, with what each may be in JSON Schema; as JSON.
    #[pyfunction]
    fn fields(py: Python<'_>, scenario_json: &str) -> PyResult<String> {
        error::guard(py, || {
            let json: serde_json::Value =
                serde_json::from_str(scenario_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
            Ok(serde_json::json!(scenario::fields(&json)).to_string())
        })
    }

    /// A time, a rate, a size or a probability as scenarios have them, in SI units.
    #[pyfunction]
    fn quantity(py: Python<'_>, kind: &str, text: &str) -> PyResult<f64> {
        error::guard(py, || scenario::in_si(kind, text).map_err(PyValueError::new_err))
    }

    /// What a trace says, as text, in its normal form.
    #[pyfunction]
    fn trace(py: Python<'_>, text: &str) -> PyResult<String> {
        error::guard(py, || scenario::normal_trace(text).map_err(error::scenario))
    }

    /// The tables of a result and their columns with kinds, units and docs, as JSON.
    #[pyfunction]
    fn schema(py: Python<'_>) -> PyResult<String> {
        error::guard(py, || Ok(crate::run::schema().to_string()))
    }

    /// Everything registered, as JSON.
    #[pyfunction]
    fn registry(py: Python<'_>) -> PyResult<String> {
        error::guard(py, || Ok(scenario::registry_json().to_string()))
    }

    /// Every event that a law is told, with its hook and fields, as JSON.
    #[pyfunction]
    fn events(py: Python<'_>) -> PyResult<String> {
        error::guard(py, || Ok(crate::events::events_json().to_string()))
    }

    /// A commented example scenario, as TOML.
    #[pyfunction]
    fn example(py: Python<'_>) -> PyResult<String> {
        error::guard(py, || Ok(scenario::example().to_string()))
    }

    /// Run a timeline script in packetdrill's language; the verdict, as JSON.
    #[pyfunction]
    #[expect(clippy::disallowed_methods, reason = "when it looks for signals changes nothing in a run")]
    fn run_script(py: Python<'_>, text: &str, name: &str) -> PyResult<String> {
        let report = error::guard(py, || {
            let (mut looked, mut raised) = (Instant::now(), None);
            let report = py.detach(|| {
                script::run_until(text, name, &mut || {
                    if looked.elapsed() > LOOK {
                        looked = Instant::now();
                        raised = Python::attach(|py| py.check_signals()).err();
                    }
                    raised.is_some()
                })
            });
            raised.map_or(Ok(report), Err)
        })?;
        Ok(report.to_json())
    }

    /// Panics, for the test that a panic becomes an exception.
    #[pyfunction]
    fn _panic(py: Python<'_>, message: &str) -> PyResult<()> {
        error::guard(py, || panic!("{message}"))
    }
}
