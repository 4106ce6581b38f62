//! TCP-BuS: NewReno whose route keeps what it cannot forward, and tells what was lost behind the break.
//!
//! Source: D. Kim, C.-K. Toh, Y. Choi, "TCP-BuS: Improving TCP Performance in Wireless Ad Hoc Networks", ICC 2000; Journal of
//! Communications and Networks 3(2), 2001. An explicit route disconnection notification names the first segment that the
//! station above the break keeps: the sender stops. An explicit route successful notification names the last byte that the
//! receiver has: what lies between the two was lost and is sent again, what the stations keep is not, and has twice the RTO to
//! arrive in. Where none comes the route timer wakes the sender.

use super::reno::Reno;
use super::{
    AckEvent, Build, CongestionEvent, Entry, News, NewsEvent, Notices, Resume, Standby, Standing, Window, WindowLaw,
    Windowed,
};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "bus",
    summary: "NewReno that stops while its route is repaired, and sends again only what was lost behind the break",
    source: "Kim, Toh & Choi, Journal of Communications and Networks 3(2), 2001",
    params: &[
        Spec {
            name: "route_timer",
            kind: Kind::Number { min: 0.1, max: 3600.0 },
            default: Value::Number(30.0),
            paper_default: None,
            unit: "s",
            doc: "how long it waits for the route",
        },
        Spec {
            name: "probe_interval",
            kind: Kind::Number { min: 0.0, max: 3600.0 },
            default: Value::Number(0.0),
            paper_default: None,
            unit: "s",
            doc: "between two probes meanwhile; 0: none",
        },
    ],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::Standard, Bus::new(Reno::plain(cx), params)))
    }),
};

/// TCP-BuS's window law.
struct Bus {
    reno: Reno,
    standby: Standby,
    /// While it stands by: the first offset that the stations keep.
    head: Option<u64>,
    resume: Resume,
}

impl Bus {
    fn new(reno: Reno, params: &Params) -> Bus {
        let probe = match params.number("probe_interval") {
            0.0 => Duration::MAX,
            seconds => Duration::from_secs_f64(seconds),
        };
        let patience = Duration::from_secs_f64(params.number("route_timer"));
        let standby = Standby { probe, longest_probe: probe, patience };
        Bus { reno, standby, head: None, resume: Resume::default() }
    }
}

impl WindowLaw for Bus {
    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        if self.head.is_none() {
            self.reno.on_ack(w, ev);
        }
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        if self.head.is_none() {
            self.reno.on_congestion(w, ev);
        }
    }

    fn notices(&self) -> Notices {
        Notices::Bus
    }

    fn on_news(&mut self, _w: &mut Window, ev: &NewsEvent) {
        match (ev.news, self.head) {
            // Who looks for a way may have changed: the latest knows what is kept.
            (News::Disconnected { head }, _) => self.head = Some(head),
            (News::Reconnected { received }, Some(head)) => {
                self.head = None;
                self.resume = Resume { lost: (received, head.max(received)), double_rto: true };
            }
            (News::Waited, _) => (self.head, self.resume) = (None, Resume::default()),
            _ => {}
        }
    }

    fn standing(&self) -> Standing {
        if self.head.is_some() { Standing::Standby(self.standby) } else { Standing::Awake(self.resume) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::testing::{MSS, ack, law_of};
    use crate::params::Flavour;

    /// Ten segments; the station above the break keeps those from the sixth on, the receiver has three: two are lost.
    #[test]
    fn only_what_lies_behind_the_break_is_lost() {
        let mut law = law_of(&ENTRY, Flavour::Linux, 10, &[], |cx, params| Bus::new(Reno::plain(cx), params));
        let mut tell = |news| {
            CongestionControl::on_news(&mut law, &NewsEvent { now: Time::ZERO, news });
            ack(&mut law, 10);
            (law.cwnd() / u64::from(MSS), CongestionControl::standing(&law))
        };
        let (cwnd, standing) = tell(News::Disconnected { head: 5001 });
        assert_eq!(cwnd, 10, "it does not grow");
        let Standing::Standby(standby) = standing else { panic!("awake") };
        assert_eq!((standby.probe, standby.patience), (Duration::MAX, Duration::from_secs(30)));
        let resume = Resume { lost: (3001, 5001), double_rto: true };
        assert_eq!(tell(News::Reconnected { received: 3001 }), (11, Standing::Awake(resume)));
        // The source's own station found a way: it keeps nothing from before the seventh.
        tell(News::Disconnected { head: 5001 });
        tell(News::Disconnected { head: 6001 });
        let resume = Resume { lost: (3001, 6001), double_rto: true };
        assert_eq!(tell(News::Reconnected { received: 3001 }).1, Standing::Awake(resume));
        // The receiver has more than the station keeps from: nothing is lost.
        tell(News::Disconnected { head: 5001 });
        let resume = Resume { lost: (7001, 7001), double_rto: true };
        assert_eq!(tell(News::Reconnected { received: 7001 }).1, Standing::Awake(resume));
    }
}
