//! The one place where errors of the core become Python exceptions, and where a panic becomes one too.

use cclab_sim::scenario::Scenario;
use cclab_sim::world;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The exceptions of `python/cclab/errors.py`.
mod python {
    pyo3::import_exception!(cclab.errors, CclabError);
    pyo3::import_exception!(cclab.errors, ScenarioError);
    pyo3::import_exception!(cclab.errors, UnknownNameError);
    pyo3::import_exception!(cclab.errors, RunError);
}

thread_local! {
    /// What the last panic of this thread said, and where.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic is kept for [`guard`] instead of being printed.
pub fn keep_panics_for_python() {
    std::panic::set_hook(Box::new(|info| PANIC.with_borrow_mut(|last| *last = Some(info.to_string()))));
}

/// Runs `body`; a panic in it becomes a `CclabError` that asks for a report, never an abort.
pub fn guard<T>(py: Python<'_>, body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let said = PANIC.with_borrow_mut(Option::take).unwrap_or_else(|| "no message".into());
        Err(bug(py, &said))
    })
}

fn bug(_py: Python<'_>, said: &str) -> PyErr {
    python::CclabError::new_err(format!("bug in cclab, please report it with the scenario and the seed: {said}"))
}

/// A mistake in a scenario.
pub fn scenario(error: impl std::fmt::Display) -> PyErr {
    python::ScenarioError::new_err(error.to_string())
}

/// A name that nothing registered answers to, or a parameter that is refused.
pub fn unknown_name(message: impl std::fmt::Display) -> PyErr {
    python::UnknownNameError::new_err(message.to_string())
}

/// A run that cannot go on.
pub fn run(error: impl std::fmt::Display) -> PyErr {
    python::RunError::new_err(error.to_string())
}

/// A run that the simulator could not go on with; where a law raised an exception, caused by it. What is no error of the law's, such as
/// `KeyboardInterrupt`, passes through.
pub fn simulation(py: Python<'_>, error: &world::Error) -> PyErr {
    let raised = if matches!(error, world::Error::Law { .. }) { crate::python_law::take_raised() } else { None };
    match raised {
        Some(raised) if !raised.is_instance_of::<PyException>(py) => raised,
        cause => {
            let failure = run(error);
            failure.set_cause(py, cause);
            failure
        }
    }
}

/// A checked scenario from the JSON that the Python side writes.
pub fn scenario_from_json(text: &str) -> PyResult<Scenario> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|e| scenario(format_args!("the scenario is not JSON: {e}")))?;
    Scenario::from_json(&value).map_err(scenario)
}
