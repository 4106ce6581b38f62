//! FeW: NewReno whose window grows by a fraction of a segment per round trip.
//!
//! Source: K. Nahm, A. Helmy, C.-C. Jay Kuo, "TCP over Multihop 802.11 Networks: Issues and Performance Enhancement", MobiHoc
//! 2005. In a chain of 802.11 stations a segment more per RTT soon is more than the path carries, and the losses of contention
//! make routing take links for broken. Congestion avoidance adds alpha segments per RTT; the rest is NewReno's.

use super::reno::Reno;
use super::{AckEvent, Build, Entry, Window, WindowLaw, Windowed};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "few",
    summary: "NewReno that grows by a small fraction of a segment per RTT",
    source: "Nahm, Helmy & Kuo, MobiHoc 2005",
    params: &[Spec {
        name: "alpha",
        kind: Kind::Number { min: 0.0001, max: 1.0 },
        default: Value::Number(0.02),
        paper_default: None,
        unit: "segments",
        doc: "growth per RTT in congestion avoidance",
    }],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::Standard, Few::new(Reno::plain(cx), params)))
    }),
};

/// The window law of fractional increments.
struct Few {
    reno: Reno,
    alpha: f64,
}

impl Few {
    fn new(reno: Reno, params: &Params) -> Few {
        Few { reno, alpha: params.number("alpha") }
    }
}

impl WindowLaw for Few {
    /// W += alpha/W for each segment acknowledged.
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        w.add_fraction(w.cwnd, self.alpha * acked);
    }

    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ack, law_of, lose};
    use crate::params::Flavour;

    /// alpha per window of ACKs; a loss halves.
    #[test]
    fn a_window_of_acks_is_worth_alpha() {
        let mut law = law_of(&ENTRY, Flavour::Linux, 10, &[], |cx, params| Few::new(Reno::plain(cx), params));
        for round_trip in 1..=50 {
            (0..10).for_each(|_| ack(&mut law, 1));
            let grown = 0.02 * f64::from(round_trip);
            assert!((law.window.cwnd - 10.0 - grown).abs() < 0.1 * grown, "{}", law.window.cwnd);
        }
        lose(&mut law);
        assert_eq!(law.window.cwnd, 5.0);
    }
}
