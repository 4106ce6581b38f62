//! What happens to a law, as Python sees it: one list of every event with its fields.
//!
//! From it come the objects that a law written in Python is given, the keywords of a law stepped by hand
//! (`cclab.algorithms.step`), and `docs/reference/events.md`. A field of an event of `cclab_algo` that is not listed here does
//! not compile.

use crate::error;
use cclab_algo::cc::{self, Feedback, Phase, Signal};
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Rate, Time};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::json;

/// A value of a field, as Python has it.
pub trait Field: Sized {
    /// What a getter returns.
    type Python;
    /// Its name in Python.
    const TYPE: &'static str;
    /// For Python.
    fn show(self) -> Self::Python;
    /// From Python.
    fn read(given: &Bound<'_, PyAny>) -> PyResult<Self>;
}

macro_rules! plain {
    ($($type:ty, $name:literal);*) => {$(
        impl Field for $type {
            type Python = $type;
            const TYPE: &'static str = $name;
            fn show(self) -> $type {
                self
            }
            fn read(given: &Bound<'_, PyAny>) -> PyResult<$type> {
                extract(given)
            }
        }
    )*};
}
plain!(u64, "int"; bool, "bool"; f64, "float");

fn extract<'py, T>(given: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    given.extract().map_err(|e: PyErr| PyTypeError::new_err(e.value(given.py()).to_string()))
}

impl Field for Duration {
    type Python = f64;
    const TYPE: &'static str = "float";
    fn show(self) -> f64 {
        self.as_secs_f64()
    }
    fn read(given: &Bound<'_, PyAny>) -> PyResult<Duration> {
        let s: f64 = extract(given)?;
        if (0.0..1e9).contains(&s) {
            return Ok(Duration::from_secs_f64(s));
        }
        Err(error::scenario(format_args!("{s} is not a time from 0 to 1e9 seconds")))
    }
}

impl Field for Time {
    type Python = f64;
    const TYPE: &'static str = "float";
    fn show(self) -> f64 {
        self.as_secs_f64()
    }
    fn read(given: &Bound<'_, PyAny>) -> PyResult<Time> {
        Ok(Time::ZERO + Duration::read(given)?)
    }
}

impl Field for Rate {
    type Python = f64;
    const TYPE: &'static str = "float";
    fn show(self) -> f64 {
        self.as_bps_f64()
    }
    fn read(given: &Bound<'_, PyAny>) -> PyResult<Rate> {
        Ok(Rate(extract::<f64>(given)? as u64))
    }
}

macro_rules! optional {
    ($($type:ty, $name:literal);*) => {$(
        impl Field for Option<$type> {
            type Python = Option<<$type as Field>::Python>;
            const TYPE: &'static str = $name;
            fn show(self) -> Self::Python {
                self.map(Field::show)
            }
            fn read(given: &Bound<'_, PyAny>) -> PyResult<Self> {
                Field::read(given).map(Some)
            }
        }
    )*};
}
optional!(u64, "int | None"; Duration, "float | None"; Time, "float | None"; Rate, "float | None");

/// A value that is one of a few words.
pub trait Word: Copy + PartialEq + 'static {
    /// All of them.
    const WORDS: &'static [(&'static str, Self)];
    /// Its word.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
    /// The value that a word stands for.
    fn of(given: &str) -> PyResult<Self> {
        Self::WORDS.iter().find(|(name, _)| *name == given).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = Self::WORDS.iter().map(|(name, _)| *name).collect();
            error::unknown_name(format_args!("\"{given}\" is not one of {}", names.join(", ")))
        })
    }
}

impl Word for Phase {
    const WORDS: &'static [(&'static str, Phase)] = &[
        ("open", Phase::Open),
        ("disorder", Phase::Disorder),
        ("cwr", Phase::Cwr),
        ("recovery", Phase::Recovery),
        ("loss", Phase::Loss),
    ];
}
impl Word for Signal {
    const WORDS: &'static [(&'static str, Signal)] =
        &[("loss", Signal::Loss), ("ecn", Signal::Ecn), ("tail-loss", Signal::TailLoss)];
}
impl Word for Flavour {
    const WORDS: &'static [(&'static str, Flavour)] = &[("linux", Flavour::Linux), ("paper", Flavour::Paper)];
}
impl Word for cc::EcnUse {
    const WORDS: &'static [(&'static str, cc::EcnUse)] =
        &[("classic", cc::EcnUse::Classic), ("dctcp", cc::EcnUse::Dctcp), ("l4s", cc::EcnUse::L4s)];
}

macro_rules! words {
    ($($type:ty),*) => {$(
        impl Field for $type {
            type Python = &'static str;
            const TYPE: &'static str = "str";
            fn show(self) -> &'static str {
                self.word()
            }
            fn read(given: &Bound<'_, PyAny>) -> PyResult<$type> {
                Self::of(&extract::<String>(given)?)
            }
        }
    )*};
}
words!(Phase, Signal);

/// The congestion headers: a dict with `kind` and the header's own fields, in the header's own units; `None` is none.
macro_rules! headers {
    ($($kind:literal $variant:ident { $($field:ident),* $(; $hidden:ident = $default:literal)? })*) => {
        /// A congestion header on its way to Python.
        pub struct Header(Feedback);

        impl<'py> IntoPyObject<'py> for Header {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;
            fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                match self.0 {
                    // Of a SYN, which no law is shown.
                    Feedback::None | Feedback::FastOpen(_) => Ok(py.None().into_bound(py)),
                    $(Feedback::$variant { $($field,)* .. } => {
                        let dict = PyDict::new(py);
                        dict.set_item("kind", $kind)?;
                        $(dict.set_item(stringify!($field), $field)?;)*
                        Ok(dict.into_any())
                    })*
                }
            }
        }

        impl Field for Feedback {
            type Python = Header;
            const TYPE: &'static str = "dict[str, Any] | None";
            fn show(self) -> Header {
                Header(self)
            }
            fn read(given: &Bound<'_, PyAny>) -> PyResult<Feedback> {
                let dict = given.cast::<PyDict>()?;
                let mut left: Vec<String> = dict.keys().extract()?;
                let mut take = |name: &str| -> PyResult<Bound<'_, PyAny>> {
                    left.retain(|other| other != name);
                    dict.get_item(name)?.ok_or_else(|| PyTypeError::new_err(format!("a congestion header needs \"{name}\"")))
                };
                let kind: String = take("kind")?.extract()?;
                let header = match kind.as_str() {
                    $($kind => Feedback::$variant { $($field: take(stringify!($field))?.extract()?,)* $($hidden: $default)? },)*
                    _ => {
                        let all = [$($kind),*].join(", ");
                        return Err(error::unknown_name(format_args!("\"{kind}\" is not one of {all}")));
                    }
                };
                match left.first() {
                    None => Ok(header),
                    Some(name) => Err(PyTypeError::new_err(format!("a header {kind} has no field \"{name}\""))),
                }
            }
        }

        fn headers_json() -> serde_json::Value {
            json!([$({ "kind": $kind, "fields": [$(stringify!($field)),*] }),*])
        }
    };
}

headers! {
    "accecn" AccEcn { e0b, ceb, e1b; form = 0 }
    "anti-ecn" AntiEcn { room }
    "drai" Drai { level, levels }
    "quick-start" QuickStart { rate, ttl, nonce }
    "xcp" Xcp { cwnd, rtt_us, delta }
}

/// An event that can be made of keywords.
pub trait Event: Sized {
    /// The event with what `fields` say; what they do not say is as in a connection where nothing is amiss.
    fn of(fields: Option<Bound<'_, PyDict>>) -> PyResult<Self>;
}

/// The field of an event, or of a part of it that may not be there.
macro_rules! get {
    ($event:expr, $field:ident) => {
        $event.$field
    };
    ($event:expr, $field:ident, $part:ident) => {
        $event.$field.map(|whole| whole.$part)
    };
}
macro_rules! set {
    ($event:expr, $value:expr, $field:ident) => {
        $event.$field = $value
    };
    ($event:expr, $value:expr, $field:ident, $part:ident) => {
        $event.$field.get_or_insert(ONE_WAY).$part = $value.unwrap_or_default()
    };
}

macro_rules! events {
    ($(
        $(#[doc = $about:literal])*
        $event:ident, $hook:literal, $plain:expr, {
            $($field:ident => [$($name:ident $(($part:ident))?: $type:ty = $doc:literal),+],)*
        }
        $(+ { $($extra:ident: $extra_type:ty = $of:expr, $extra_doc:literal),* })?
    )*) => {
        $(
            $(#[doc = $about])*
            #[pyclass(module = "cclab._core")]
            pub struct $event(pub cc::$event, pub u32);

            #[pymethods]
            impl $event {
                $($(
                    #[doc = $doc]
                    #[getter]
                    fn $name(&self) -> <$type as Field>::Python {
                        get!(self.0, $field $(, $part)?).show()
                    }
                )+)*
                $($(
                    #[doc = $extra_doc]
                    #[getter]
                    fn $extra(&self) -> $extra_type {
                        let of: fn(&cc::$event, u32) -> $extra_type = $of;
                        of(&self.0, self.1)
                    }
                )*)?
                fn __repr__(&self) -> String {
                    format!("{:?}", self.0)
                }
            }

            impl Event for cc::$event {
                fn of(fields: Option<Bound<'_, PyDict>>) -> PyResult<Self> {
                    let mut event: cc::$event = $plain;
                    let cc::$event { $($field: _),* } = event; // all of them
                    let mut given = Vec::new();
                    for (name, value) in fields.iter().flat_map(|fields| fields.iter()) {
                        let name = name.cast_into::<PyString>().map_err(PyErr::from)?.to_string();
                        if value.is_none() {
                            continue;
                        }
                        match name.as_str() {
                            $($(stringify!($name) => {
                                let value: $type = Field::read(&value).map_err(|e| named(value.py(), &name, &e))?;
                                set!(event, value, $field $(, $part)?);
                            })+)*
                            _ => {
                                let all = [$($(stringify!($name)),+),*].join(", ");
                                return Err(PyTypeError::new_err(format!("unknown field \"{name}\"; allowed: {all}")));
                            }
                        }
                        given.push(name);
                    }
                    $(together(&given, &[$(stringify!($name)),+])?;)*
                    Ok(event)
                }
            }
        )*

        /// Every event with its hook and fields, and the congestion headers, as JSON.
        pub fn events_json() -> serde_json::Value {
            let field = |name: &str, python: &str, doc: &str| json!({ "name": name, "type": python, "doc": doc.trim() });
            json!({
                "events": [$({
                    "name": stringify!($event),
                    "hook": $hook,
                    "doc": ([$($about.trim()),*].join(" ")),
                    "fields": [$($(field(stringify!($name), <$type as Field>::TYPE, $doc)),+),*],
                    "derived": [$($(field(stringify!($extra), <$extra_type as Field>::TYPE, $extra_doc)),*)?],
                }),*],
                "headers": headers_json(),
            })
        }
    };
}

/// Fields of one thing are all there or none.
fn together(given: &[String], names: &[&str]) -> PyResult<()> {
    match names.iter().filter(|name| given.iter().any(|g| g == *name)).count() {
        0 => Ok(()),
        n if n == names.len() => Ok(()),
        _ => Err(error::scenario(format_args!("{} go together: all of them or none", names.join(", ")))),
    }
}

/// An error with the name of the field before it, of the same kind.
fn named(py: Python<'_>, name: &str, error: &PyErr) -> PyErr {
    PyErr::from_type(error.get_type(py), format!("{name}: {}", error.value(py)))
}

const NOW: Time = Time::ZERO;
const NONE: Duration = Duration::ZERO;
const ONE_WAY: cc::OneWay = cc::OneWay { seq: 0, sent: NOW, arrived: NOW };

events! {
    /// The connection is established; nothing has been sent yet.
    EstablishedEvent, "on_established", cc::EstablishedEvent { now: NOW, srtt: NONE }, {
        now => [now_s: Time = "Now."],
        srtt => [srtt_s: Duration = "RTT of the handshake; 0 if it has no sample."],
    }
    /// An acknowledgement was taken in.
    AckEvent, "on_ack", cc::AckEvent { may_grow: true, ..cc::AckEvent::default() }, {
        now => [now_s: Time = "Now."],
        acked_bytes => [acked_bytes: u64 = "Bytes newly acknowledged cumulatively, without those that SACK had reported before."],
        delivered_bytes => [delivered_bytes: u64 = "Bytes newly delivered: acknowledged for the first time, cumulatively or selectively."],
        rtt => [rtt_s: Option<Duration> = "RTT sample of this ACK, if it has a valid one."],
        srtt => [srtt_s: Duration = "Smoothed RTT; 0 before the first sample."],
        min_rtt => [min_rtt_s: Duration = "Smallest RTT of the connection; 0 before the first sample."],
        bytes_in_flight => [bytes_in_flight: u64 = "Bytes in flight (RFC 6675's pipe) after this ACK."],
        prior_in_flight => [prior_in_flight: u64 = "Bytes in flight before this ACK."],
        snd_una => [snd_una: u64 = "First unacknowledged offset, after this ACK."],
        snd_nxt => [snd_nxt: u64 = "Next offset to be sent for the first time."],
        delivery_rate => [delivery_rate_bps: Option<Rate> = "Delivery-rate sample, if valid (draft-cheng-iccrg-delivery-rate-estimation)."],
        app_limited => [app_limited: bool = "Whether that sample was taken while the application limited the sender."],
        delivered => [delivered: u64 = "Bytes delivered on the connection so far."],
        prior_delivered => [prior_delivered: u64 = "`delivered` when the newest packet acknowledged here was sent; a round has passed once this exceeds the `delivered` noted at its start."],
        lost_bytes => [lost_bytes: u64 = "Bytes marked lost by this ACK."],
        may_grow => [may_grow: bool = "Whether the window may grow: the sender was limited by it, and recovery does not govern it."],
        phase => [phase: Phase = "Where loss recovery stands: \"open\", \"disorder\", \"cwr\", \"recovery\" or \"loss\"."],
        one_way => [
            one_way_seq(seq): Option<u64> = "First offset of the packet that caused this ACK.",
            one_way_sent_s(sent): Option<Time> = "When this copy of it was sent, by the sender's clock.",
            one_way_arrived_s(arrived): Option<Time> = "When it arrived, by the receiver's clock."
        ],
        ecn_echo => [ecn_echo: bool = "Whether the ACK carried an ECN echo."],
        ce_bytes => [ce_bytes: u64 = "Bytes newly delivered that the receiver reports as marked (AccECN, or DCTCP's receiver); 0 with classic ECN."],
        feedback => [feedback: Feedback = "The congestion header that came back with the ACK."],
        lost => [lost: u64 = "Bytes marked lost on the connection so far."],
        prior_lost => [prior_lost: u64 = "`lost` when the newest packet delivered by this ACK was sent; for laws that have on_lost."],
        tx_in_flight => [tx_in_flight: u64 = "Bytes in flight right after that packet was sent, itself included; for laws that have on_lost."],
        newest_sent => [newest_sent_s: Option<Time> = "When that packet was sent."],
    }
    + { acked_segments: f64 = |e, mss| e.acked_bytes as f64 / f64::from(mss), "`acked_bytes` in segments; worked out, no keyword." }
    /// A packet was marked lost.
    LostEvent, "on_lost", cc::LostEvent {
        now: NOW, bytes: 0, sent: NOW, tx_in_flight: 0, prior_lost: 0, lost: 0, prior_delivered: 0, delivered: 0,
        app_limited: false,
    }, {
        now => [now_s: Time = "Now."],
        bytes => [bytes: u64 = "Its payload bytes."],
        sent => [sent_s: Time = "When it was sent."],
        tx_in_flight => [tx_in_flight: u64 = "Bytes in flight right after it was sent, itself included."],
        prior_lost => [prior_lost: u64 = "Bytes marked lost on the connection when it was sent."],
        lost => [lost: u64 = "Bytes marked lost on the connection so far, this packet included."],
        prior_delivered => [prior_delivered: u64 = "Bytes delivered on the connection when it was sent."],
        delivered => [delivered: u64 = "Bytes delivered on the connection so far."],
        app_limited => [app_limited: bool = "Whether the application limited the sender when it was sent."],
    }
    /// Congestion was detected: once per window of data.
    CongestionEvent, "on_congestion", cc::CongestionEvent {
        now: NOW, signal: Signal::Loss, flight_size: 0, srtt: NONE, min_rtt: NONE,
    }, {
        now => [now_s: Time = "Now."],
        signal => [signal: Signal = "How: \"loss\", \"ecn\" (an echo), or \"tail-loss\" (a probe repaired it)."],
        flight_size => [flight_size: u64 = "Bytes sent and not yet cumulatively acknowledged (RFC 5681's FlightSize)."],
        srtt => [srtt_s: Duration = "Smoothed RTT."],
        min_rtt => [min_rtt_s: Duration = "Smallest RTT."],
    }
    /// The retransmission timer expired.
    TimeoutEvent, "on_timeout", cc::TimeoutEvent { now: NOW, flight_size: 0, first: true, in_flight: 0 }, {
        now => [now_s: Time = "Now."],
        flight_size => [flight_size: u64 = "Bytes sent and not yet cumulatively acknowledged (RFC 5681's FlightSize)."],
        first => [first: bool = "Whether it is the first timeout for this data: only then does ssthresh fall (RFC 5681 §3.1)."],
        in_flight => [in_flight: u64 = "Bytes that stay in flight: sent so recently that RACK does not take them for lost."],
    }
    /// Recovery ended; everything that was outstanding when it began has been acknowledged.
    RecoveredEvent, "on_recovered", cc::RecoveredEvent { now: NOW, phase: Phase::Recovery }, {
        now => [now_s: Time = "Now."],
        phase => [phase: Phase = "Which phase was left: \"recovery\", \"loss\" or \"cwr\"."],
    }
    /// The last reduction turned out to be a mistake (Eifel, DSACK, F-RTO).
    UndoEvent, "on_undo", cc::UndoEvent { now: NOW }, {
        now => [now_s: Time = "Now."],
    }
    /// Data leaves while nothing was in flight.
    IdleEvent, "on_idle", cc::IdleEvent { now: NOW, idle: NONE, app_limited: true }, {
        now => [now_s: Time = "Now."],
        idle => [idle_s: Duration = "Since data was last sent."],
        app_limited => [app_limited: bool = "Whether it was for want of data, rather than of room at the receiver."],
    }
    /// A smaller window is proposed: the sender was idle or did not use the one it has, or a SYN was lost.
    RestartEvent, "on_restart", cc::RestartEvent { now: NOW, cwnd: 0, ssthresh: u64::MAX }, {
        now => [now_s: Time = "Now."],
        cwnd => [cwnd_bytes: u64 = "Proposed window."],
        ssthresh => [ssthresh_bytes: u64 = "Proposed slow-start threshold."],
    }
}
