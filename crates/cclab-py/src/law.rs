//! A congestion control stepped by hand.

use crate::error;
use cclab_algo::cc::{self, CongestionControl};
use cclab_algo::params::{Flavour, Given};
use cclab_algo::{Duration, Rate, Time};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
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
            cx.flavour = word(flavour, &[("linux", Flavour::Linux), ("paper", Flavour::Paper)])?;
            let law =
                entry.make(&cx, &given(params_json)?).map_err(|e| error::scenario(format_args!("{name}: {e}")))?;
            Ok(Law { law: Mutex::new(law) })
        })
    }

    #[pyo3(signature = (**event))]
    fn on_ack(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut ev = Event::new(event)?;
        let ack = cc::AckEvent {
            now: ev.time("now_s")?,
            acked_bytes: ev.take("acked_bytes")?.unwrap_or(0),
            delivered_bytes: ev.take("delivered_bytes")?.unwrap_or(0),
            rtt: ev.duration("rtt_s")?,
            srtt: ev.duration("srtt_s")?.unwrap_or_default(),
            min_rtt: ev.duration("min_rtt_s")?.unwrap_or_default(),
            bytes_in_flight: ev.take("bytes_in_flight")?.unwrap_or(0),
            prior_in_flight: ev.take("prior_in_flight")?.unwrap_or(0),
            snd_una: ev.take("snd_una")?.unwrap_or(0),
            snd_nxt: ev.take("snd_nxt")?.unwrap_or(0),
            delivery_rate: ev.take::<f64>("delivery_rate_bps")?.map(|bps| Rate(bps as u64)),
            app_limited: ev.take("app_limited")?.unwrap_or(false),
            delivered: ev.take("delivered")?.unwrap_or(0),
            prior_delivered: ev.take("prior_delivered")?.unwrap_or(0),
            lost_bytes: ev.take("lost_bytes")?.unwrap_or(0),
            may_grow: ev.take("may_grow")?.unwrap_or(true),
            phase: ev.word("phase", PHASES)?.unwrap_or_default(),
            one_way: ev.one_way()?,
            ecn_echo: ev.take("ecn_echo")?.unwrap_or(false),
            ce_bytes: ev.take("ce_bytes")?.unwrap_or(0),
            feedback: cc::Feedback::None,
            lost: ev.take("lost")?.unwrap_or(0),
            prior_lost: ev.take("prior_lost")?.unwrap_or(0),
            tx_in_flight: ev.take("tx_in_flight")?.unwrap_or(0),
            newest_sent: ev.duration("newest_sent_s")?.map(|at| Time::ZERO + at),
        };
        ev.done()?;
        self.step(py, |law| law.on_ack(&ack))
    }

    #[pyo3(signature = (**event))]
    fn on_congestion(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut ev = Event::new(event)?;
        let signals = &[("loss", cc::Signal::Loss), ("ecn", cc::Signal::Ecn), ("tail-loss", cc::Signal::TailLoss)];
        let congestion = cc::CongestionEvent {
            now: ev.time("now_s")?,
            signal: ev.word("signal", signals)?.unwrap_or(cc::Signal::Loss),
            flight_size: ev.take("flight_size")?.unwrap_or(0),
            srtt: ev.duration("srtt_s")?.unwrap_or_default(),
            min_rtt: ev.duration("min_rtt_s")?.unwrap_or_default(),
        };
        ev.done()?;
        self.step(py, |law| law.on_congestion(&congestion))
    }

    #[pyo3(signature = (**event))]
    fn on_timeout(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut ev = Event::new(event)?;
        let timeout = cc::TimeoutEvent {
            now: ev.time("now_s")?,
            flight_size: ev.take("flight_size")?.unwrap_or(0),
            first: ev.take("first")?.unwrap_or(true),
        };
        ev.done()?;
        self.step(py, |law| law.on_timeout(&timeout))
    }

    #[pyo3(signature = (**event))]
    fn on_recovered(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut ev = Event::new(event)?;
        let recovered = cc::RecoveredEvent {
            now: ev.time("now_s")?,
            phase: ev.word("phase", PHASES)?.unwrap_or(cc::Phase::Recovery),
        };
        ev.done()?;
        self.step(py, |law| law.on_recovered(&recovered))
    }

    #[pyo3(signature = (**event))]
    fn on_undo(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut ev = Event::new(event)?;
        let undo = cc::UndoEvent { now: ev.time("now_s")? };
        ev.done()?;
        self.step(py, |law| law.on_undo(&undo))
    }

    #[pyo3(signature = (**event))]
    fn on_established(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut ev = Event::new(event)?;
        let established =
            cc::EstablishedEvent { now: ev.time("now_s")?, srtt: ev.duration("srtt_s")?.unwrap_or_default() };
        ev.done()?;
        self.step(py, |law| law.on_established(&established))
    }

    #[pyo3(signature = (**event))]
    fn on_idle(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut ev = Event::new(event)?;
        let idle = cc::IdleEvent {
            now: ev.time("now_s")?,
            idle: ev.duration("idle_s")?.unwrap_or_default(),
            app_limited: ev.take("app_limited")?.unwrap_or(true),
        };
        ev.done()?;
        self.step(py, |law| law.on_idle(&idle))
    }

    #[pyo3(signature = (**event))]
    fn on_restart(&self, py: Python<'_>, event: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut ev = Event::new(event)?;
        let restart = cc::RestartEvent {
            now: ev.time("now_s")?,
            cwnd: ev.take("cwnd_bytes")?.unwrap_or(0),
            ssthresh: ev.take("ssthresh_bytes")?.unwrap_or(u64::MAX),
        };
        ev.done()?;
        self.step(py, |law| law.on_restart(&restart))
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
    fn step<T>(&self, py: Python<'_>, with: impl FnOnce(&mut dyn CongestionControl) -> T) -> PyResult<T> {
        let mut law = self.law.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        error::guard(py, || Ok(with(law.as_mut())))
    }
}

pub(crate) const PHASES: &[(&str, cc::Phase)] = &[
    ("open", cc::Phase::Open),
    ("disorder", cc::Phase::Disorder),
    ("cwr", cc::Phase::Cwr),
    ("recovery", cc::Phase::Recovery),
    ("loss", cc::Phase::Loss),
];

fn word<T: Copy>(given: &str, allowed: &[(&str, T)]) -> PyResult<T> {
    allowed.iter().find(|(name, _)| *name == given).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = allowed.iter().map(|(name, _)| *name).collect();
        error::unknown_name(format_args!("\"{given}\" is not one of {}", names.join(", ")))
    })
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

/// The keyword arguments of a hook, taken out one by one, so that a misspelt one is left over.
struct Event<'py> {
    fields: Option<Bound<'py, PyDict>>,
    known: Vec<&'static str>,
}

impl<'py> Event<'py> {
    fn new(fields: Option<Bound<'py, PyDict>>) -> PyResult<Self> {
        Ok(Event { fields, known: Vec::new() })
    }
    fn take<T>(&mut self, name: &'static str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        self.known.push(name);
        let Some(value) = self.fields.as_ref().map(|f| f.get_item(name)).transpose()?.flatten() else {
            return Ok(None);
        };
        if value.is_none() {
            return Ok(None);
        }
        value.extract().map(Some).map_err(|e: PyErr| PyTypeError::new_err(format!("{name}: {e}")))
    }
    fn seconds(&mut self, name: &'static str) -> PyResult<Option<f64>> {
        match self.take::<f64>(name)? {
            Some(s) if !(0.0..1e9).contains(&s) => {
                Err(error::scenario(format_args!("{name}: {s} is not a time from 0 to 1e9 seconds")))
            }
            s => Ok(s),
        }
    }
    fn duration(&mut self, name: &'static str) -> PyResult<Option<Duration>> {
        Ok(self.seconds(name)?.map(Duration::from_secs_f64))
    }
    fn time(&mut self, name: &'static str) -> PyResult<Time> {
        Ok(Time::ZERO + self.duration(name)?.unwrap_or_default())
    }
    fn word<T: Copy>(&mut self, name: &'static str, allowed: &[(&str, T)]) -> PyResult<Option<T>> {
        self.take::<String>(name)?.map(|w| word(&w, allowed)).transpose()
    }
    /// `one_way_seq`, `one_way_sent_s` and `one_way_arrived_s`, all three or none.
    fn one_way(&mut self) -> PyResult<Option<cc::OneWay>> {
        let seq = self.take("one_way_seq")?;
        let sent = self.duration("one_way_sent_s")?;
        let arrived = self.duration("one_way_arrived_s")?;
        match (seq, sent, arrived) {
            (None, None, None) => Ok(None),
            (Some(seq), Some(sent), Some(arrived)) => {
                Ok(Some(cc::OneWay { seq, sent: Time::ZERO + sent, arrived: Time::ZERO + arrived }))
            }
            _ => {
                Err(error::scenario("one_way_seq, one_way_sent_s and one_way_arrived_s go together: all three or none"))
            }
        }
    }
    /// Refuses what no hook asked for.
    fn done(self) -> PyResult<()> {
        for name in self.fields.iter().flat_map(|f| f.keys()) {
            let name = name.cast_into::<PyString>().map_err(PyErr::from)?.to_string();
            if !self.known.contains(&name.as_str()) {
                return Err(PyTypeError::new_err(format!(
                    "unknown field \"{name}\"; allowed: {}",
                    self.known.join(", ")
                )));
            }
        }
        Ok(())
    }
}
