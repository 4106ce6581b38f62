//! Scalable TCP: the window grows by a fixed share per segment acknowledged and loses a fixed share on loss.
//!
//! Sources: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2), 2003;
//! Linux `tcp_scalable.c` (6.x). Both are one law with other parameters: Linux is Reno up to 1/a segments, where a W
//! begins to be more than Reno's one per RTT, and takes b at any window. The paper is Reno, halving too, within its
//! legacy window. Linux saves up whole segments and rounds the share that it takes down.

use super::{AckEvent, Build, Context, Entry, Window, WindowLaw, Windowed};
use crate::params::{Flavour, Kind, Params, Spec, Value};
use crate::slow_start::{MAX_SSTHRESH, SlowStart};
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "scalable",
    summary: "Scalable TCP: one segment more per 100 acknowledged, an eighth less on loss, at any window",
    source: "Kelly, ACM CCR 33(2), 2003; Linux tcp_scalable.c",
    params: &[
        Spec {
            name: "a",
            kind: Kind::Number { min: 0.0001, max: 1.0 },
            default: Value::Number(0.01),
            paper_default: None,
            unit: "segments",
            doc: "growth per segment acknowledged; Linux counts 1/a segments for each (50 before 5.0, else 100)",
        },
        Spec {
            name: "b",
            kind: Kind::Number { min: 0.01, max: 0.9 },
            default: Value::Number(0.125),
            paper_default: None,
            unit: "",
            doc: "share of the window that a loss takes",
        },
        Spec {
            name: "legacy_window",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(100.0),
            paper_default: Some(Value::Number(16.0)),
            unit: "segments",
            doc: "up to this window it grows as Reno",
        },
        Spec {
            name: "legacy_halving",
            kind: Kind::Flag,
            default: Value::Flag(false),
            paper_default: Some(Value::Flag(true)),
            unit: "",
            doc: "a loss within the legacy window takes half, as Reno, instead of b",
        },
        MAX_SSTHRESH,
    ],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::limited(params), Scalable::new(cx, params)))
    }),
};

/// Scalable TCP's window law.
pub struct Scalable {
    a: f64,
    b: f64,
    legacy_window: f64,
    legacy_halving: bool,
    flavour: Flavour,
}

impl Scalable {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        Scalable {
            a: params.number("a"),
            b: params.number("b"),
            legacy_window: params.number("legacy_window"),
            legacy_halving: params.flag("legacy_halving"),
            flavour: cx.flavour,
        }
    }
}

impl WindowLaw for Scalable {
    /// W += a for each segment acknowledged; Reno's within the legacy window.
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        let per_segment = if w.cwnd <= self.legacy_window { w.cwnd } else { 1.0 / self.a };
        match self.flavour {
            Flavour::Linux => w.add_credit(per_segment.floor(), acked),
            Flavour::Paper => w.add_fraction(per_segment, acked),
        }
    }

    /// W − b W, at least 2; Linux rounds b W down, the paper takes it of FlightSize (RFC 5681 eq. 4).
    fn decrease(&mut self, w: &Window, _now: Time, flight_size: u64) -> f64 {
        let share = if self.legacy_halving && w.cwnd <= self.legacy_window { 0.5 } else { self.b };
        match self.flavour {
            Flavour::Linux => (w.cwnd.floor() - (w.cwnd * share).floor()).max(2.0),
            Flavour::Paper => (w.used(flight_size) * (1.0 - share)).max(2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ack, law_of, lose};
    use crate::params::Given;

    fn law(flavour: Flavour, w: u32, given: &[(&str, Given)]) -> Windowed<Scalable> {
        law_of(&ENTRY, flavour, w, given, Scalable::new)
    }

    /// W = 200, 200 acknowledged: two more in Linux and (but for the growth on the way) in the paper.
    #[test]
    fn one_percent_per_round_trip() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut law = law(flavour, 200, &[]);
            (0..200).for_each(|_| ack(&mut law, 1));
            assert!((law.window.cwnd - 202.0).abs() < 1e-9, "{flavour:?}: {}", law.window.cwnd);
        }
    }

    /// Linux: W = 50 grows by one per RTT; the paper by 0.01 per segment, as 50 is beyond its legacy window of 16.
    #[test]
    fn reno_in_the_legacy_window() {
        for (flavour, w, after) in [
            (Flavour::Linux, 50, 51.0),
            (Flavour::Paper, 50, 50.5),
            (Flavour::Linux, 16, 17.0),
            (Flavour::Paper, 15, 16.0),
        ] {
            let mut law = law(flavour, w, &[]);
            (0..w).for_each(|_| ack(&mut law, 1));
            assert!((law.window.cwnd - after).abs() < 0.05, "{flavour:?}, {w}: {}", law.window.cwnd);
        }
    }

    /// A loss at 1000 leaves 875; at 16 Linux leaves 14, the paper half. 15 − ⌊15/8⌋ = 14 in Linux. Never below two.
    #[test]
    fn a_loss_takes_an_eighth() {
        for (flavour, w, left) in [
            (Flavour::Linux, 1000, 875.0),
            (Flavour::Paper, 1000, 875.0),
            (Flavour::Linux, 16, 14.0),
            (Flavour::Linux, 15, 14.0),
            (Flavour::Paper, 16, 8.0),
            (Flavour::Linux, 2, 2.0),
            (Flavour::Paper, 2, 2.0),
        ] {
            let mut law = law(flavour, w, &[]);
            lose(&mut law);
            assert_eq!((law.window.cwnd, law.window.ssthresh), (left, left), "{flavour:?}, {w}");
        }
    }

    /// Kelly: the time to recover does not depend on W: ln(1/0.875)/ln(1.01) = 13.42 round trips.
    #[test]
    fn recovery_takes_as_long_at_any_window() {
        for w in [1_000, 10_000, 100_000] {
            let mut law = law(Flavour::Paper, w, &[]);
            lose(&mut law);
            let mut round_trips = 0.0;
            while law.window.cwnd < f64::from(w) {
                round_trips += 1.0 / law.window.cwnd;
                ack(&mut law, 1);
            }
            assert!((round_trips - 13.42).abs() < 0.1, "{w}: {round_trips}");
        }
    }
}
