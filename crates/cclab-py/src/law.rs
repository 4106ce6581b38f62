//! A congestion control stepped by hand.

use crate::error;
use crate::events::{Event, Field, Header, Word};
use cclab_algo::Rate;
use cclab_algo::cc::{self, CongestionControl};
use cclab_algo::params::{Flavour, Given};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;

/// A congestion control stepped by hand.
#[pyclass(module = "cclab._core")]
pub struct Law {
    law: Mutex<Box<dyn CongestionControl>>,
}

#[pymethods]
impl Law {
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        params_json: &str,
        mss: u32,
        initial_window: u32,
        initial_ssthresh: Option<u64>,
        flavour: &str,
    ) -> PyResult<Law> {
        error::guard(py, || {
            let entry =
                cc::find(name).ok_or_else(|| error::unknown_name(format_args!("unknown algorithm \"{name}\"")))?;
            let mut cx = cc::Context::new(mss);
            cx.initial_window = initial_window;
            cx.initial_ssthresh = initial_ssthresh;
            cx.flavour = Flavour::of(flavour)?;
            let law =
                entry.make(&cx, &given(params_json)?).map_err(|e| error::scenario(format_args!("{name}: {e}")))?;
            Ok(Law { law: Mutex::new(law) })
        })
    }

    #[pyo3(signature = (**event))]
    fn on_established(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_established)
    }
    #[pyo3(signature = (**event))]
    fn on_ack(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_ack)
    }
    #[pyo3(signature = (**event))]
    fn on_lost(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_lost)
    }
    #[pyo3(signature = (**event))]
    fn on_congestion(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_congestion)
    }
    #[pyo3(signature = (**event))]
    fn on_timeout(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_timeout)
    }
    #[pyo3(signature = (**event))]
    fn on_recovered(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_recovered)
    }
    #[pyo3(signature = (**event))]
    fn on_undo(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_undo)
    }
    #[pyo3(signature = (**event))]
    fn on_idle(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_idle)
    }
    #[pyo3(signature = (**event))]
    fn on_restart(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        self.hook(py, event, CongestionControl::on_restart)
    }
    #[getter]
    fn cwnd_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.step(py, |law| law.cwnd())
    }
    #[getter]
    fn ssthresh_bytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.step(py, |law| Some(law.ssthresh()).filter(|&s| s != u64::MAX))
    }
    #[getter]
    fn pacing_rate_bps(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.step(py, |law| law.pacing_rate().map(Rate::as_bps_f64))
    }
    #[getter]
    fn request(&self, py: Python<'_>) -> PyResult<Header> {
        self.step(py, |law| law.request().show())
    }
    #[getter]
    fn ecn(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.step(py, |law| law.ecn().word())
    }
    fn signals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut found = Vec::new();
        self.step(py, |law| law.signals(&mut |name, value| found.push((name, value))))?;
        let out = PyDict::new(py);
        for (name, value) in found {
            out.set_item(name, value)?;
        }
        Ok(out)
    }
}

impl Law {
    fn hook<E: Event>(
        &self,
        py: Python<'_>,
        fields: Option<Bound<'_, PyDict>>,
        hook: fn(&mut (dyn CongestionControl + 'static), &E),
    ) -> PyResult<()> {
        let event = E::of(fields)?;
        self.step(py, |law| hook(law, &event))
    }
    fn step<T>(&self, py: Python<'_>, with: impl FnOnce(&mut (dyn CongestionControl + 'static)) -> T) -> PyResult<T> {
        let mut law = self.law.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        error::guard(py, || Ok(with(law.as_mut())))
    }
}

/// Parameters of a law from a JSON object.
fn given(params_json: &str) -> PyResult<Vec<(String, Given)>> {
    use serde_json::Value;
    let params: serde_json::Map<String, Value> =
        serde_json::from_str(params_json).map_err(|e| error::scenario(format_args!("params: {e}")))?;
    params
        .into_iter()
        .map(|(name, value)| match value {
            Value::Bool(b) => Ok((name, Given::Flag(b))),
            Value::String(s) => Ok((name, Given::Text(s))),
            Value::Number(n) => Ok((name, Given::Number(n.as_f64().unwrap_or(f64::NAN)))),
            other => Err(error::scenario(format_args!("{name}: {other} is not a number, a word, true or false"))),
        })
        .collect()
}
