//! A law written in Python: the class it inherits from, and the [`CongestionControl`] that
//! hands them over. Only events cross the border; window and pacing rate are kept on this side.

use crate::error;
use crate::events::{
    AckEvent, CongestionEvent, EstablishedEvent, Field, Header, IdleEvent, LostEvent, RecoveredEvent, RestartEvent,
    TimeoutEvent, UndoEvent, Word,
};
use cclab_algo::cc::{self, CongestionControl, Context, EcnUse, Feedback};
use cclab_algo::params::{Kind, Params, Spec, Value};
use cclab_algo::rng::Stream;
use cclab_algo::{Rate, Time};
use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::cell::RefCell;

thread_local! {
    /// The exception by which a law of this thread failed last, until the run that it ends raises it.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a law of this thread failed since the exception was last taken.
pub fn has_raised() -> bool {
    RAISED.with_borrow(Option::is_some)
}

/// The exception by which a law of this thread failed, once.
pub fn take_raised() -> Option<PyErr> {
    RAISED.with_borrow_mut(Option::take)
}

/// What a law written in Python inherits from: its window, and what follows where it defines no hook.
#[pyclass(module = "cclab._core", name = "CongestionControl", subclass)]
pub struct Base {
    /// Congestion window W, in segments.
    #[pyo3(get, set)]
    cwnd_segments: f64,
    /// Slow-start threshold, in segments; infinite while arbitrarily high.
    #[pyo3(get, set)]
    ssthresh_segments: f64,
    /// The law's own pacing rate, in bit/s; `None` leaves pacing to the endpoint.
    #[pyo3(get, set)]
    pacing_rate_bps: Option<f64>,
    /// Payload bytes of a full segment.
    #[pyo3(get)]
    mss: u32,
    /// What its data packets ask of the routers.
    request: Feedback,
    /// W and ssthresh before the last reduction.
    prior: Option<(f64, f64)>,
    rng: Stream,
}

#[pymethods]
impl Base {
    #[new]
    fn new() -> Self {
        Base {
            cwnd_segments: 10.0,
            ssthresh_segments: f64::INFINITY,
            pacing_rate_bps: None,
            mss: 1448,
            request: Feedback::None,
            prior: None,
            rng: Stream::new(0, "cc"),
        }
    }
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.cwnd_segments < self.ssthresh_segments
    }
    #[getter]
    fn request(&self) -> Header {
        self.request.show()
    }
    #[setter]
    fn set_request(&mut self, header: &Bound<'_, PyAny>) -> PyResult<()> {
        self.request = if header.is_none() { Feedback::None } else { Field::read(header)? };
        Ok(())
    }
    fn random(&mut self) -> f64 {
        self.rng.uniform()
    }
    fn start(&mut self) {}
    fn on_established(&mut self, _event: &EstablishedEvent) {}
    fn on_timeout(&mut self, event: &TimeoutEvent) {
        if event.0.first {
            self.ssthresh_segments = (self.cwnd_segments / 2.0).max(2.0);
        }
        self.cwnd_segments = 1.0;
    }
    fn on_recovered(&mut self, _event: &RecoveredEvent) {}
    fn on_undo(&mut self, _event: &UndoEvent) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd_segments = self.cwnd_segments.max(cwnd);
            self.ssthresh_segments = self.ssthresh_segments.max(ssthresh);
        }
    }
    fn on_idle(&mut self, _event: &IdleEvent) {}
    fn on_restart(&mut self, event: &RestartEvent) {
        let mss = f64::from(self.mss);
        self.cwnd_segments = self.cwnd_segments.min(event.0.cwnd as f64 / mss).max(1.0);
        if self.ssthresh_segments.is_finite() {
            self.ssthresh_segments = self.ssthresh_segments.max(event.0.ssthresh as f64 / mss);
        }
    }
}

/// A law at work whose hooks are Python's.
struct PythonLaw {
    law: Option<Py<Base>>,
    on_ack: Option<Py<PyAny>>,
    /// The event of every ACK, filled anew each time.
    ack: Option<Py<AckEvent>>,
    about: &'static About,
    mss: u32,
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<Rate>,
    request: Feedback,
    failed: Option<(Time, String)>,
}

/// What is known of a class when it is registered.
struct About {
    signals: Vec<&'static str>,
    governs_recovery: bool,
    tracks_packets: bool,
    ecn: EcnUse,
}

impl PythonLaw {
    fn new(class: &Py<PyType>, about: &'static About, cx: &Context, params: &Params) -> PythonLaw {
        let cwnd = f64::from(cx.initial_window);
        let ssthresh = cx.initial_ssthresh.map_or(f64::INFINITY, |b| b as f64 / f64::from(cx.mss));
        let mut law = PythonLaw {
            law: None,
            on_ack: None,
            ack: None,
            about,
            mss: cx.mss,
            cwnd,
            ssthresh,
            pacing_rate: None,
            request: Feedback::None,
            failed: None,
        };
        let made = Python::attach(|py| {
            let made = law.make(py, class, cx, params);
            made.map_err(|e| law.fail(py, Time::ZERO, e)).is_ok()
        });
        debug_assert!(made || law.failed.is_some());
        law
    }

    fn make(&mut self, py: Python<'_>, class: &Py<PyType>, cx: &Context, params: &Params) -> PyResult<()> {
        let object = class.bind(py).call0()?;
        let base = object.cast::<Base>()?.clone();
        {
            let mut base = base.borrow_mut();
            (base.cwnd_segments, base.ssthresh_segments) = (self.cwnd, self.ssthresh);
            (base.mss, base.rng) = (cx.mss, cx.rng.clone());
        }
        for (name, value) in params.given() {
            match value {
                cclab_algo::params::Given::Number(x) => object.setattr(name, x)?,
                cclab_algo::params::Given::Flag(b) => object.setattr(name, b)?,
                cclab_algo::params::Given::Text(t) => object.setattr(name, t)?,
            }
        }
        object.call_method0(intern!(py, "start"))?;
        self.on_ack = Some(object.getattr(intern!(py, "on_ack"))?.unbind());
        self.ack = Some(Py::new(py, AckEvent(cc::AckEvent::default(), cx.mss))?);
        self.law = Some(base.unbind());
        self.read_back(py)
    }

    /// Takes over what the law decided.
    fn read_back(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(law) = &self.law else { return Ok(()) };
        let law = law.bind(py).borrow();
        let (cwnd, ssthresh) = (law.cwnd_segments, law.ssthresh_segments);
        let refused = |name: &str, value: f64, allowed: &str| {
            Err(PyValueError::new_err(format!("{name} is {value}; allowed: {allowed}")))
        };
        if !(cwnd > 0.0 && cwnd < 1e12) {
            return refused("cwnd_segments", cwnd, "more than 0 and below 1e12");
        }
        if ssthresh.is_nan() || ssthresh <= 0.0 {
            return refused("ssthresh_segments", ssthresh, "more than 0, or infinite");
        }
        if let Some(bps) = law.pacing_rate_bps
            && !(1.0..1e18).contains(&bps)
        {
            return refused("pacing_rate_bps", bps, "from 1 to 1e18, or None");
        }
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        self.pacing_rate = law.pacing_rate_bps.map(|bps| Rate(bps as u64));
        self.request = law.request;
        Ok(())
    }

    #[cold]
    fn fail(&mut self, py: Python<'_>, now: Time, error: PyErr) {
        self.failed = Some((now, said(py, &error)));
        RAISED.set(Some(error));
    }

    /// Calls a hook with its event; what it raises ends the run.
    fn call<T: PyClass>(&mut self, name: &str, now: Time, event: impl Into<PyClassInitializer<T>>) {
        if self.failed.is_some() {
            return;
        }
        Python::attach(|py| {
            let Some(law) = &self.law else { return };
            let law = law.bind(py).clone();
            let outcome = Py::new(py, event)
                .and_then(|event| law.call_method1(PyString::new(py, name), (event,)))
                .and_then(|_| self.read_back(py));
            outcome.unwrap_or_else(|error| self.fail(py, now, error));
        });
    }

    /// Notes W and ssthresh, so that the coming reduction can be taken back.
    fn remember(&mut self) {
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        if let Some(law) = &self.law {
            Python::attach(|py| law.bind(py).borrow_mut().prior = Some((cwnd, ssthresh)));
        }
    }
}

/// What an exception says, and the last line of the law where it came from.
fn said(py: Python<'_>, error: &PyErr) -> String {
    let mut place = String::new();
    let mut traceback = error.traceback(py).map(Bound::into_any);
    while let Some(frame) = traceback.take().filter(|t| !t.is_none()) {
        let file = || -> PyResult<String> {
            let code = frame.getattr("tb_frame")?.getattr("f_code")?;
            let (file, name) = (code.getattr("co_filename")?, code.getattr("co_name")?);
            Ok(format!(" ({file}, line {}, in {name})", frame.getattr("tb_lineno")?))
        };
        place = file().unwrap_or_default();
        traceback = frame.getattr("tb_next").ok();
    }
    format!("{error}{place}")
}

impl CongestionControl for PythonLaw {
    fn on_ack(&mut self, ev: &cc::AckEvent) {
        if self.failed.is_some() {
            return;
        }
        Python::attach(|py| {
            let (Some(hook), Some(event)) = (&self.on_ack, &self.ack) else { return };
            event.bind(py).borrow_mut().0 = *ev;
            let outcome = hook.bind(py).call1((event,)).map(drop);
            outcome.and_then(|()| self.read_back(py)).unwrap_or_else(|error| self.fail(py, ev.now, error));
        });
    }
    fn on_lost(&mut self, ev: &cc::LostEvent) {
        self.call("on_lost", ev.now, LostEvent(*ev, self.mss));
    }
    fn on_congestion(&mut self, ev: &cc::CongestionEvent) {
        self.remember();
        self.call("on_congestion", ev.now, CongestionEvent(*ev, self.mss));
    }
    fn on_timeout(&mut self, ev: &cc::TimeoutEvent) {
        if ev.first {
            self.remember();
        }
        self.call("on_timeout", ev.now, TimeoutEvent(*ev, self.mss));
    }
    fn on_recovered(&mut self, ev: &cc::RecoveredEvent) {
        self.call("on_recovered", ev.now, RecoveredEvent(*ev, self.mss));
    }
    fn on_undo(&mut self, ev: &cc::UndoEvent) {
        self.call("on_undo", ev.now, UndoEvent(*ev, self.mss));
    }
    fn on_established(&mut self, ev: &cc::EstablishedEvent) {
        self.call("on_established", ev.now, EstablishedEvent(*ev, self.mss));
    }
    fn on_idle(&mut self, ev: &cc::IdleEvent) {
        self.call("on_idle", ev.now, IdleEvent(*ev, self.mss));
    }
    fn on_restart(&mut self, ev: &cc::RestartEvent) {
        self.call("on_restart", ev.now, RestartEvent(*ev, self.mss));
    }
    fn cwnd(&self) -> u64 {
        (self.cwnd.max(1.0) * f64::from(self.mss)) as u64
    }
    fn ssthresh(&self) -> u64 {
        if self.ssthresh.is_finite() { (self.ssthresh.max(1.0) * f64::from(self.mss)) as u64 } else { u64::MAX }
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
    fn governs_recovery(&self) -> bool {
        self.about.governs_recovery
    }
    fn reads_one_way(&self) -> bool {
        true
    }
    fn tracks_packets(&self) -> bool {
        self.about.tracks_packets
    }
    fn ecn(&self) -> EcnUse {
        self.about.ecn
    }
    fn request(&self) -> Feedback {
        self.request
    }
    fn failed(&self) -> Option<(Time, String)> {
        self.failed.clone()
    }
    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        if self.about.signals.is_empty() {
            return;
        }
        Python::attach(|py| {
            for &name in &self.about.signals {
                let value = self.law.as_ref().and_then(|law| law.getattr(py, name).ok());
                record(name, value.and_then(|v| v.extract(py).ok()).unwrap_or(f64::NAN));
            }
        });
    }
}

/// Register a class as a congestion control: `about` has its name, summary, source, parameters and signals, as JSON.
#[pyfunction]
pub fn register_law(py: Python<'_>, class: Py<PyType>, about: &str) -> PyResult<()> {
    error::guard(py, || {
        let about: serde_json::Value = serde_json::from_str(about).map_err(error::scenario)?;
        let text = |of: &serde_json::Value| -> &'static str { leak(of.as_str().unwrap_or_default()) };
        let list = |name: &str| about[name].as_array().cloned().unwrap_or_default();
        let known: &'static About = Box::leak(Box::new(About {
            signals: list("signals").iter().map(text).collect(),
            governs_recovery: about["governs_recovery"].as_bool().unwrap_or(false),
            tracks_packets: about["tracks_packets"].as_bool().unwrap_or(false),
            ecn: EcnUse::of(about["ecn"].as_str().unwrap_or_default())?,
        }));
        let params: Vec<Spec> = list("params").iter().map(spec).collect();
        let entry = cc::Entry {
            name: text(&about["name"]),
            summary: text(&about["summary"]),
            source: text(&about["source"]),
            params: params.leak(),
            build: cc::Build::Interpreted(Box::leak(Box::new(move |cx: &Context, params: &Params| {
                Box::new(PythonLaw::new(&class, known, cx, params)) as Box<dyn CongestionControl>
            }))),
        };
        cc::register(entry).map_err(error::unknown_name)
    })
}

/// A parameter as `python/cclab/laws/python.py` writes it.
fn spec(of: &serde_json::Value) -> Spec {
    let number = |name: &str| of[name].as_f64().unwrap_or(0.0);
    let text = |name: &str| leak(of[name].as_str().unwrap_or_default());
    let (kind, default) = match text("kind") {
        "flag" => (Kind::Flag, Value::Flag(of["default"].as_bool().unwrap_or(false))),
        "choice" => {
            let words = of["choices"].as_array().cloned().unwrap_or_default();
            let words: Vec<&'static str> = words.iter().filter_map(|w| w.as_str().map(leak)).collect();
            (Kind::Choice(words.leak()), Value::Word(text("default")))
        }
        _ => (Kind::Number { min: number("min"), max: number("max") }, Value::Number(number("default"))),
    };
    Spec { name: text("name"), kind, default, paper_default: None, unit: text("unit"), doc: text("doc") }
}

/// A registered law lives as long as the process, and so do its names.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
