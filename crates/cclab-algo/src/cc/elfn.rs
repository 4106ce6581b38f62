//! TCP with explicit link failure notification: NewReno that stands by and probes while its route is broken.
//!
//! Source: G. Holland, N. Vaidya, "Analysis of TCP Performance over Mobile Ad Hoc Networks", MobiCom 1999; Wireless Networks 8,
//! 2002. The notice stops the retransmission timer; every `probe_interval` the first unacknowledged segment leaves, and an ACK
//! ends it: timer and window go on as they stood (`window = "frozen"`, best in the paper), or the window begins at one segment.

use super::reno::Reno;
use super::{
    AckEvent, Build, CongestionEvent, Entry, News, NewsEvent, Notices, Resume, Standby, Standing, Window, WindowLaw,
    Windowed,
};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "elfn",
    summary: "NewReno that, told of a failed link, stops its timer and probes the route until an ACK comes",
    source: "Holland & Vaidya, MobiCom 1999; Wireless Networks 8, 2002",
    params: &[
        Spec {
            name: "probe_interval",
            kind: Kind::Number { min: 0.01, max: 3600.0 },
            default: Value::Number(2.0),
            paper_default: None,
            unit: "s",
            doc: "between two probes while the route is broken",
        },
        Spec {
            name: "window",
            kind: Kind::Choice(&["frozen", "one"]),
            default: Value::Word("frozen"),
            paper_default: None,
            unit: "",
            doc: "what it goes on with: the window as it was, or one segment in slow start",
        },
        Spec {
            name: "resend",
            kind: Kind::Flag,
            default: Value::Flag(false),
            paper_default: None,
            unit: "",
            doc: "takes what was in flight for lost when it goes on, instead of waiting for duplicate ACKs or the timer",
        },
    ],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::Standard, Elfn::new(Reno::plain(cx), params)))
    }),
};

/// The window law of a sender with ELFN.
struct Elfn {
    reno: Reno,
    standby: Standby,
    /// It goes on with one segment.
    from_one: bool,
    resume: Resume,
    stands_by: bool,
}

impl Elfn {
    fn new(reno: Reno, params: &Params) -> Elfn {
        let probe = Duration::from_secs_f64(params.number("probe_interval"));
        let end = if params.flag("resend") { u64::MAX } else { 0 };
        Elfn {
            reno,
            standby: Standby { probe, longest_probe: probe, patience: Duration::MAX },
            from_one: params.word("window") == "one",
            resume: Resume { lost: (0, end), ..Resume::default() },
            stands_by: false,
        }
    }
}

impl WindowLaw for Elfn {
    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        if std::mem::take(&mut self.stands_by) && self.from_one {
            w.time_out(None);
        }
        self.reno.on_ack(w, ev);
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        if !self.stands_by {
            self.reno.on_congestion(w, ev);
        }
    }

    fn notices(&self) -> Notices {
        Notices::Elfn
    }

    fn on_news(&mut self, _w: &mut Window, ev: &NewsEvent) {
        self.stands_by |= matches!(ev.news, News::LinkFailed { .. });
    }

    fn standing(&self) -> Standing {
        if self.stands_by { Standing::Standby(self.standby) } else { Standing::Awake(self.resume) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::testing::{MSS, ack, law_of};
    use crate::params::{Flavour, Given};

    /// Standby from the notice to the next ACK, with the window as it was, or with one segment.
    #[test]
    fn it_stands_by_until_an_ack() {
        for (window, left) in [("frozen", 10), ("one", 1)] {
            let given = [("window", Given::Text(window.into()))];
            let mut law = law_of(&ENTRY, Flavour::Linux, 10, &given, |cx, params| Elfn::new(Reno::plain(cx), params));
            law.window.ssthresh = 10.0;
            CongestionControl::on_news(&mut law, &NewsEvent { now: Time::ZERO, news: News::LinkFailed { seq: 1 } });
            let two = Duration::from_secs(2);
            let standby = Standby { probe: two, longest_probe: two, patience: Duration::MAX };
            assert_eq!(CongestionControl::standing(&law), Standing::Standby(standby));
            assert_eq!(law.cwnd(), 10 * u64::from(MSS));
            law.on_ack(&AckEvent::default());
            assert_eq!(CongestionControl::standing(&law), Standing::default());
            assert_eq!(law.cwnd(), left * u64::from(MSS), "{window}");
            ack(&mut law, 1);
            assert_eq!(law.window.in_slow_start(), window == "one");
        }
    }
}
