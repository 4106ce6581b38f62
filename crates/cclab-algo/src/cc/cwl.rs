//! Adaptive congestion window limit: NewReno with no more in flight than the path's hops can carry at once.
//!
//! Source: K. Chen, Y. Xue, K. Nahrstedt, "On Setting TCP's Congestion Window Limit in Mobile Ad Hoc Networks", ICC 2003. The
//! bandwidth-delay product of a path of N hops there and back is at most N packets, and in a chain of 802.11 stations about N/5.
//! The limit follows the route: the source's station tells N.

use super::reno::Reno;
use super::{AckEvent, Build, Entry, News, NewsEvent, Notices, Window, WindowLaw, Windowed, window};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "cwl",
    summary: "NewReno whose window is limited by the number of hops there and back",
    source: "Chen, Xue & Nahrstedt, ICC 2003",
    params: &[
        Spec {
            name: "rule",
            kind: Kind::Choice(&["quarter", "fifth"]),
            default: Value::Word("quarter"),
            paper_default: None,
            unit: "",
            doc: "the limit for N hops there and back: 2 up to N = 4, then (N − 1)/4 rounded down; or N/5 rounded",
        },
        Spec {
            name: "round_trip_hops",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(0.0),
            paper_default: None,
            unit: "",
            doc: "N before the source's station tells it; 0: no limit until then",
        },
    ],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::Standard, Cwl::new(Reno::plain(cx), params)))
    }),
};

/// The window law of a sender with an adaptive limit.
struct Cwl {
    reno: Reno,
    fifth: bool,
    /// Most segments in flight.
    limit: f64,
}

impl Cwl {
    fn new(reno: Reno, params: &Params) -> Cwl {
        let mut law = Cwl { reno, fifth: params.word("rule") == "fifth", limit: f64::INFINITY };
        let hops = params.number("round_trip_hops") as u16;
        if hops > 0 {
            law.limit = law.limit_of(hops);
        }
        law
    }

    /// CWL(N).
    fn limit_of(&self, round_trip: u16) -> f64 {
        let n = f64::from(round_trip);
        match self.fifth {
            true => (n / 5.0).round().max(1.0),
            false if round_trip <= 4 => 2.0,
            false => ((n - 1.0) / 4.0).floor().max(1.0),
        }
    }
}

impl WindowLaw for Cwl {
    /// As Reno, up to the limit.
    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if w.cwnd < self.limit {
            self.reno.grow(w, acked, ev);
            w.cwnd = w.cwnd.min(self.limit);
        }
    }

    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    fn cwnd(&self, w: &Window) -> u64 {
        window::bytes(w.cwnd.min(self.limit).max(1.0) * w.mss())
    }

    fn notices(&self) -> Notices {
        Notices::Hops
    }

    fn on_news(&mut self, _w: &mut Window, ev: &NewsEvent) {
        if let News::Hops { round_trip } = ev.news {
            self.limit = self.limit_of(round_trip);
        }
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("limit_segments", if self.limit.is_finite() { self.limit } else { f64::NAN });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{MSS, ack, law_of};
    use crate::cc::{CongestionControl, RestartEvent};
    use crate::params::{Flavour, Given};

    fn law(rule: &str) -> Windowed<Cwl> {
        let given = [("rule", Given::Text(rule.into()))];
        law_of(&ENTRY, Flavour::Paper, 8, &given, |cx, params| Cwl::new(Reno::plain(cx), params))
    }

    /// The steps of the paper: N ≤ 4: 2; ≤ 8: 1; ≤ 12: 2; ≤ 16: 3; ≤ 20: 4; ≤ 24: 5; ≤ 26: 6. And N/5.
    #[test]
    fn the_table() {
        let steps = [(4, 2), (8, 1), (12, 2), (16, 3), (20, 4), (24, 5), (28, 6), (32, 7)];
        for n in 2..=32_u16 {
            let (_, limit) = steps.iter().find(|(to, _)| n <= *to).unwrap();
            assert_eq!(law("quarter").limit_of(n), f64::from(*limit), "N = {n}");
            assert!((law("fifth").limit_of(n) - f64::from(n) / 5.0).abs() <= if n < 3 { 0.6 } else { 0.5 }, "N = {n}");
        }
        assert_eq!([2, 7, 8, 24].map(|n| law("fifth").limit_of(n)), [1.0, 1.0, 2.0, 5.0]);
    }

    /// The window follows the route at once, down and up; beyond the limit it does not grow.
    #[test]
    fn the_limit_follows_the_route() {
        let mut law = law("quarter");
        let hops = |law: &mut Windowed<Cwl>, round_trip| {
            CongestionControl::on_news(law, &NewsEvent { now: Time::ZERO, news: News::Hops { round_trip } });
            law.cwnd() / u64::from(MSS)
        };
        assert_eq!(law.cwnd(), 8 * u64::from(MSS), "no limit yet");
        assert_eq!([8, 20, 12].map(|n| hops(&mut law, n)), [1, 4, 2]);
        ack(&mut law, 100);
        assert_eq!(hops(&mut law, 100), 8);
        law.on_restart(&RestartEvent { now: Time::ZERO, cwnd: 1000, ssthresh: 0 });
        hops(&mut law, 12);
        ack(&mut law, 100);
        assert_eq!(law.window.cwnd, 2.0);
    }
}
