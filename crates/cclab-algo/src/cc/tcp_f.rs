//! TCP-F: NewReno that sleeps while its route is broken.
//!
//! Source: K. Chandran, S. Raghunathan, S. Venkatesan, R. Prakash, "A Feedback-Based Scheme for Improving TCP Performance in Ad
//! Hoc Wireless Networks", ICDCS 1998; IEEE Personal Communications 8(1), 2001. A route failure notification puts the sender to
//! sleep, with its timers and its window as they are; a route re-establishment notification wakes it, and it sends again all that
//! was in flight. Where none comes it wakes by itself when the route failure timer expires, and its timers go on.

use super::reno::Reno;
use super::{
    AckEvent, Build, CongestionEvent, Entry, News, NewsEvent, Notices, Resume, Standby, Standing, Window, WindowLaw,
    Windowed,
};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "tcp-f",
    summary: "NewReno that sleeps from a route failure notification to a route re-establishment notification",
    source: "Chandran, Raghunathan, Venkatesan & Prakash, IEEE Personal Communications 8(1), 2001",
    params: &[Spec {
        name: "route_failure_timer",
        kind: Kind::Number { min: 0.1, max: 3600.0 },
        default: Value::Number(30.0),
        paper_default: None,
        unit: "s",
        doc: "how long it sleeps where nobody wakes it",
    }],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::Standard, TcpF::new(Reno::plain(cx), params)))
    }),
};

/// TCP-F's window law.
struct TcpF {
    reno: Reno,
    patience: Duration,
    standing: Standing,
}

impl TcpF {
    fn new(reno: Reno, params: &Params) -> TcpF {
        let patience = Duration::from_secs_f64(params.number("route_failure_timer"));
        TcpF { reno, patience, standing: Standing::default() }
    }

    fn snoozes(&self) -> bool {
        matches!(self.standing, Standing::Standby(_))
    }
}

impl WindowLaw for TcpF {
    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        if !self.snoozes() {
            self.reno.on_ack(w, ev);
        }
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        if !self.snoozes() {
            self.reno.on_congestion(w, ev);
        }
    }

    fn notices(&self) -> Notices {
        Notices::TcpF
    }

    fn on_news(&mut self, _w: &mut Window, ev: &NewsEvent) {
        let never = Duration::MAX;
        self.standing = match ev.news {
            News::RouteFailed => {
                Standing::Standby(Standby { probe: never, longest_probe: never, patience: self.patience })
            }
            News::RouteRestored if self.snoozes() => {
                Standing::Awake(Resume { lost: (0, u64::MAX), ..Resume::default() })
            }
            News::Waited => Standing::default(),
            _ => return,
        };
    }

    fn standing(&self) -> Standing {
        self.standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ack, law_of, lose};
    use crate::cc::{CongestionControl, testing};
    use crate::params::Flavour;

    fn tell(law: &mut impl CongestionControl, news: News) {
        law.on_news(&NewsEvent { now: Time::ZERO, news });
    }

    /// RFN and RRN: the window neither grows nor falls in between, and all that was in flight is sent again.
    #[test]
    fn it_sleeps_between_rfn_and_rrn() {
        let mut law = law_of(&ENTRY, Flavour::Linux, 10, &[], |cx, params| TcpF::new(Reno::plain(cx), params));
        tell(&mut law, News::RouteRestored);
        assert_eq!(CongestionControl::standing(&law), Standing::default(), "it does not sleep");
        tell(&mut law, News::RouteFailed);
        let Standing::Standby(standby) = CongestionControl::standing(&law) else { panic!("awake") };
        assert_eq!((standby.probe, standby.patience), (Duration::MAX, Duration::from_secs(30)));
        ack(&mut law, 100);
        lose(&mut law);
        assert_eq!(law.cwnd(), 10 * u64::from(testing::MSS));
        tell(&mut law, News::RouteRestored);
        assert_eq!(
            CongestionControl::standing(&law),
            Standing::Awake(Resume { lost: (0, u64::MAX), double_rto: false })
        );
        lose(&mut law);
        assert_eq!(law.cwnd(), 5 * u64::from(testing::MSS));
    }

    /// Nobody wakes it: it goes on where it stood.
    #[test]
    fn it_wakes_by_itself() {
        let mut law = law_of(&ENTRY, Flavour::Linux, 10, &[], |cx, params| TcpF::new(Reno::plain(cx), params));
        tell(&mut law, News::RouteFailed);
        tell(&mut law, News::Waited);
        assert_eq!(CongestionControl::standing(&law), Standing::default());
    }
}
