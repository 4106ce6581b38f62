//! ATCP: a layer under NewReno that answers each trouble of an ad hoc network apart.
//!
//! Source: J. Liu, S. Singh, "ATCP: TCP for Mobile Ad Hoc Networks", IEEE JSAC 19(7), 2001. The layer stands between IP and a TCP
//! that is left alone. Its four states are the law's:
//!
//! * NORMAL: NewReno.
//! * LOSS: duplicate ACKs or a timer that expires, and no ECN mark: chance. What is lost is sent again, and the window is what it
//!   was; after the timer one segment may be in flight until a new ACK comes.
//! * CONGESTED: an ECN mark: NewReno's reaction, to losses too, until that window is acknowledged.
//! * DISCONNECTED: the destination is unreachable: the sender stands by and probes; with the first ACK it starts with one segment.
//!
//! In the paper the layer sends again by a timer of its own; here the endpoint's recovery does, for which the window is held: it
//! sends new data too while old data is missing.

use super::reno::Reno;
use super::{
    AckEvent, Build, CongestionEvent, Entry, News, NewsEvent, Notices, RecoveredEvent, Resume, Signal, Standby,
    Standing, TimeoutEvent, UndoEvent, Window, WindowLaw, Windowed,
};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "atcp",
    summary: "NewReno for which only ECN means congestion: losses leave the window, an unreachable destination stops it",
    source: "Liu & Singh, IEEE JSAC 19(7), 2001",
    params: &[
        Spec {
            name: "probe_interval",
            kind: Kind::Number { min: 0.01, max: 3600.0 },
            default: Value::Number(5.0),
            paper_default: None,
            unit: "s",
            doc: "until the first probe while the destination is unreachable; each later one after twice as long",
        },
        Spec {
            name: "probe_interval_max",
            kind: Kind::Number { min: 0.01, max: 3600.0 },
            default: Value::Number(60.0),
            paper_default: None,
            unit: "s",
            doc: "longest time between two probes",
        },
    ],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::Standard, Atcp::new(Reno::plain(cx), params)))
    }),
};

/// What ATCP believes of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Normal,
    Loss,
    Congested,
    Disconnected,
}

/// ATCP's window law.
struct Atcp {
    reno: Reno,
    standby: Standby,
    state: State,
    /// ssthresh as it was before a loss: recovery is steered to the window meanwhile.
    ssthresh: Option<f64>,
    /// The timer expired for a loss: one segment until a new ACK.
    timed_out: bool,
}

impl Atcp {
    fn new(reno: Reno, params: &Params) -> Atcp {
        let [probe, longest_probe] =
            ["probe_interval", "probe_interval_max"].map(|name| Duration::from_secs_f64(params.number(name)));
        Atcp {
            reno,
            standby: Standby { probe, longest_probe: longest_probe.max(probe), patience: Duration::MAX },
            state: State::Normal,
            ssthresh: None,
            timed_out: false,
        }
    }

    /// A loss by chance: W stays, and is where recovery is steered to.
    fn hold(&mut self, w: &mut Window) {
        self.state = State::Loss;
        self.ssthresh.get_or_insert(w.ssthresh);
        w.ssthresh = w.cwnd.max(2.0);
    }

    fn settle(&mut self, w: &mut Window, state: State) {
        self.state = state;
        self.timed_out = false;
        if let Some(ssthresh) = self.ssthresh.take() {
            w.ssthresh = ssthresh;
        }
    }
}

impl WindowLaw for Atcp {
    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        match self.state {
            State::Disconnected => {
                self.settle(w, State::Normal);
                w.time_out(None);
            }
            State::Loss => self.timed_out &= !ev.may_grow,
            State::Normal | State::Congested => self.reno.on_ack(w, ev),
        }
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        match self.state {
            _ if ev.signal == Signal::Ecn => {
                self.settle(w, State::Congested);
                self.reno.on_congestion(w, ev);
            }
            State::Congested => self.reno.on_congestion(w, ev),
            State::Normal | State::Loss => self.hold(w),
            State::Disconnected => {}
        }
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        if self.state == State::Congested {
            return self.reno.on_timeout(w, ev);
        }
        self.hold(w);
        self.timed_out = true;
    }

    fn on_recovered(&mut self, w: &mut Window, _ev: &RecoveredEvent) {
        self.settle(w, State::Normal);
    }

    fn on_undo(&mut self, w: &mut Window, ev: &UndoEvent) {
        if self.state == State::Congested {
            self.reno.on_undo(w, ev);
        }
        self.settle(w, State::Normal);
    }

    fn cwnd(&self, w: &Window) -> u64 {
        if self.timed_out { w.mss() as u64 } else { w.cwnd_bytes() }
    }

    fn notices(&self) -> Notices {
        Notices::Unreachable
    }

    fn on_news(&mut self, w: &mut Window, ev: &NewsEvent) {
        if ev.news == News::Unreachable {
            self.settle(w, State::Disconnected);
        }
    }

    fn standing(&self) -> Standing {
        match self.state {
            State::Disconnected => Standing::Standby(self.standby),
            _ => Standing::Awake(Resume { lost: (0, u64::MAX), ..Resume::default() }),
        }
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("state", f64::from(self.state as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::testing::{MSS, ack, law_of, lose};
    use crate::params::Flavour;

    fn law() -> Windowed<Atcp> {
        law_of(&ENTRY, Flavour::Linux, 10, &[], |cx, params| Atcp::new(Reno::plain(cx), params))
    }
    fn congestion(law: &mut Windowed<Atcp>, signal: Signal) {
        let zero = Duration::ZERO;
        law.on_congestion(&CongestionEvent { now: Time::ZERO, signal, flight_size: 0, srtt: zero, min_rtt: zero });
    }
    fn segments(law: &Windowed<Atcp>) -> (u64, u64) {
        (law.cwnd() / u64::from(MSS), law.ssthresh() / u64::from(MSS))
    }

    /// Without a mark a loss leaves W and ssthresh, and recovery is steered to W.
    #[test]
    fn chance_costs_nothing() {
        let mut law = law();
        law.window.ssthresh = 3.0;
        lose(&mut law);
        assert_eq!((segments(&law), law.state), ((10, 10), State::Loss));
        law.on_recovered(&RecoveredEvent { now: Time::ZERO, phase: crate::cc::Phase::Recovery });
        assert_eq!((segments(&law), law.state), ((10, 3), State::Normal));
        law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 10_000, first: true, in_flight: 0 });
        assert_eq!(segments(&law).0, 1, "by the timer one segment");
        ack(&mut law, 1);
        assert_eq!(segments(&law).0, 10);
        law.on_recovered(&RecoveredEvent { now: Time::ZERO, phase: crate::cc::Phase::Loss });
        assert_eq!(segments(&law), (10, 3));
    }

    /// A mark halves W once; a timeout in that window is NewReno's too, and when it is over losses are chance again.
    #[test]
    fn a_mark_is_congestion() {
        let mut law = law();
        congestion(&mut law, Signal::Ecn);
        assert_eq!((segments(&law), law.state), ((5, 5), State::Congested));
        law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 5_000, first: true, in_flight: 0 });
        assert_eq!(segments(&law), (1, 2));
        law.on_recovered(&RecoveredEvent { now: Time::ZERO, phase: crate::cc::Phase::Loss });
        law.window.cwnd = 8.0;
        congestion(&mut law, Signal::Loss);
        assert_eq!(segments(&law).0, 8);
    }

    /// Unreachable: probes after 5 s, twice as long, up to 60 s; with the first ACK slow start from one segment.
    #[test]
    fn an_unreachable_destination_is_probed() {
        let mut law = law();
        law.window.ssthresh = 7.0;
        CongestionControl::on_news(&mut law, &NewsEvent { now: Time::ZERO, news: News::Unreachable });
        let Standing::Standby(standby) = CongestionControl::standing(&law) else { panic!("awake") };
        assert_eq!((standby.probe, standby.longest_probe), (Duration::from_secs(5), Duration::from_secs(60)));
        law.on_ack(&AckEvent::default());
        assert_eq!((segments(&law), law.state), ((1, 7), State::Normal));
        assert_eq!(
            CongestionControl::standing(&law),
            Standing::Awake(Resume { lost: (0, u64::MAX), double_rto: false })
        );
    }
}
