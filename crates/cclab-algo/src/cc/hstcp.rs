//! HighSpeed TCP: Reno whose increase grows, and whose decrease shrinks, with the window.
//!
//! Sources: RFC 3649; Linux `tcp_highspeed.c` (6.x). RFC and Linux are both here (parameter `variant`). They differ in:
//!
//! * a(w), b(w): the RFC's formulas; Linux the table of RFC 3649 appendix B, of which it takes the first row that is
//!   not below W, so that a is rounded up (W = 39: 2), and b in 256ths, rounded down;
//! * counting: Linux counts a(w) per ACK, whatever it acknowledges (`ack_counting`), and saves up whole segments;
//! * loss: RFC (1 − b) FlightSize, Linux W − ⌊b W⌋.
//!
//! The RFC writes p(w) = 0.078/w^1.2, computed its table with 1/(12.8 w^1.2), and quotes a = 72 at 83000 from the exact
//! line through its two points. The table's coefficient is taken: it is the only one that gives the table.

use super::{AckEvent, Build, Entry, Window, WindowLaw, Windowed};
use crate::math::{exp, ln};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::{MAX_SSTHRESH, SlowStart};
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "hstcp",
    summary: "HighSpeed TCP: the larger the window, the faster it grows and the less a loss takes",
    source: "RFC 3649 (limited slow start: RFC 3742); Linux tcp_highspeed.c",
    params: &[
        Spec {
            name: "ack_counting",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: Some(Value::Flag(false)),
            unit: "",
            doc: "in congestion avoidance an ACK counts once, whatever it acknowledges, as in Linux",
        },
        MAX_SSTHRESH,
        Spec {
            name: "variant",
            kind: Kind::Choice(&["linux", "rfc"]),
            default: Value::Word("linux"),
            paper_default: Some(Value::Word("rfc")),
            unit: "",
            doc: "whether a and b come from the RFC's table, rounded as Linux does, or from its formulas",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::limited(params), Hstcp::new(params)))),
};

/// Up to this window it is Reno.
const LOW_WINDOW: f64 = 38.0;
/// Where b is [`HIGH_DECREASE`].
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;

/// w of RFC 3649 appendix B; row i (from 0) has a(w) = i + 1.
const TABLE: [u32; 73] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036,
    5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137,
    17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586,
    37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401,
    79517, 84035, 89053, 94717,
];

/// b(w), the share that a loss takes (RFC 3649 §5). Beyond the table it stays: the formula falls to nothing.
fn b(w: f64) -> f64 {
    let w = w.clamp(LOW_WINDOW, f64::from(TABLE[TABLE.len() - 1]));
    (HIGH_DECREASE - 0.5) * ln(w / LOW_WINDOW) / ln(HIGH_WINDOW / LOW_WINDOW) + 0.5
}

/// a(w), the increase per RTT: w² p(w) · 2 b(w)/(2 − b(w)) with p(w) = 1/(12.8 w^1.2), at least 1 (RFC 3649 §5).
fn a(w: f64) -> f64 {
    let (b, p) = (b(w), exp(-1.2 * ln(w)) / 12.8);
    (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
}

/// HighSpeed TCP's window law.
pub struct Hstcp {
    ack_counting: bool,
    linux: bool,
    /// Linux's row of the table, from 0.
    row: usize,
}

impl Hstcp {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Hstcp { ack_counting: params.flag("ack_counting"), linux: params.word("variant") == "linux", row: 0 }
    }

    /// The increase per RTT at W.
    fn increase(&self, w: &Window) -> f64 {
        if self.linux { (self.row + 1) as f64 } else { a(w.cwnd) }
    }

    /// The share that a loss takes at W.
    fn share(&self, w: &Window) -> f64 {
        if self.linux { (256.0 * b(f64::from(TABLE[self.row]))).floor() / 256.0 } else { b(w.cwnd) }
    }

    /// Linux: the first row that is not below W, or the last.
    fn find_row(&mut self, w: f64) {
        while self.row + 1 < TABLE.len() && w > f64::from(TABLE[self.row]) {
            self.row += 1;
        }
        while self.row > 0 && w <= f64::from(TABLE[self.row - 1]) {
            self.row -= 1;
        }
    }
}

impl WindowLaw for Hstcp {
    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        let left = if w.in_slow_start() {
            let left = w.slow_start(acked);
            if self.linux { 0.0 } else { left }
        } else if self.ack_counting {
            acked.min(1.0)
        } else {
            acked
        };
        if left > 0.0 {
            self.avoid(w, left, ev);
        }
    }

    /// W += a(W)/W for each segment acknowledged.
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        if self.linux {
            self.find_row(w.cwnd.floor()); // only here: a loss takes what the last ACK found
            w.add_credit(w.cwnd.floor(), self.increase(w) * acked);
        } else {
            w.add_fraction(w.cwnd, self.increase(w) * acked);
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, flight_size: u64) -> f64 {
        let b = self.share(w);
        match self.linux {
            true => (w.cwnd.floor() - (w.cwnd.floor() * b).floor()).max(2.0),
            false => (w.used(flight_size) * (1.0 - b)).max(2.0),
        }
    }

    fn signals(&self, w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("increase_segments", self.increase(w));
        record("decrease_share", self.share(w));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ack, law_of, lose};
    use crate::params::{Flavour, Given};

    fn law(flavour: Flavour, w: u32, given: &[(&str, Given)]) -> Windowed<Hstcp> {
        law_of(&ENTRY, flavour, w, given, |_, params| Hstcp::new(params))
    }
    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} ± {tolerance}");
    }

    /// RFC 3649 §5: nine windows.
    #[test]
    fn the_formulas_of_the_rfc() {
        for (w, increase, decrease) in [
            (38.0, 1.0, 0.5),
            (118.0, 2.009, 0.4411),
            (221.0, 3.010, 0.4084),
            (495.0, 5.02, 0.3665),
            (1058.0, 8.024, 0.3269),
            (5000.0, 19.96, 0.2462),
            (10_000.0, 29.07, 0.2101),
            (83_000.0, 70.85, 0.1),
            (83_333.0, 70.92, 0.0998),
        ] {
            close(a(w), increase, 0.005 * increase.clamp(1.0, 2.0));
            close(b(w), decrease, 6e-5);
        }
        for w in [1.0, 2.0, 38.0] {
            assert_eq!((a(w), b(w)), (1.0, 0.5)); // Reno below Low_Window
        }
        assert_eq!(a(39.0), 1.0, "the formula alone gives less than Reno's up to 40");
    }

    /// RFC 3649 appendix B: each row stands where the formula's a(w) has grown by one since the row before.
    #[test]
    fn the_table_is_where_the_formula_has_grown_by_one() {
        for rows in TABLE.windows(2) {
            let (last, w) = (f64::from(rows[0]), f64::from(rows[1]));
            assert!(a(w - 1.0) - a(last) <= 1.0 && a(w) - a(last) > 1.0, "{w}: a = {}, after {}", a(w), a(last));
        }
    }

    /// The second half of Linux's table: w and b in 256ths.
    #[test]
    fn linux_has_b_in_256ths_rounded_down() {
        let mut law = law(Flavour::Linux, 38, &[]);
        let md = [
            40, 39, 39, 38, 38, 37, 36, 36, 35, 35, 34, 33, 33, 32, 32, 31, 30, 30, 29, 28, 28, 27, 26, 26, 25, 24, 23,
        ];
        for (row, md) in (46..73).zip(md) {
            law.row = row;
            assert_eq!(law.share(&law.window) * 256.0, f64::from(md), "w = {}", TABLE[row]);
        }
    }

    /// RFC: W = 118 grows by 2.009 in an RTT (a little less, as W grows on the way); a loss leaves 65.95; 1058 → 712.1;
    /// 83333 → 75016.
    #[test]
    fn growth_and_loss_of_the_rfc() {
        let mut law_118 = law(Flavour::Paper, 118, &[]);
        (0..118).for_each(|_| ack(&mut law_118, 1));
        close(law_118.window.cwnd, 118.0 + 2.009, 0.02);
        for (w, left, tolerance) in [(118, 65.95, 0.01), (1058, 712.1, 0.05), (83_333, 75_016.0, 2.0), (38, 19.0, 0.0)]
        {
            let mut law = law(Flavour::Paper, w, &[]);
            lose(&mut law);
            close(law.window.cwnd, left, tolerance);
        }
    }

    /// Linux: 38 is Reno; 39 takes the row of 118 (a = 2, b = 112/256); the last row holds beyond the table.
    #[test]
    fn linux_rounds_up_to_the_next_row() {
        for (w, a, md) in
            [(38, 1.0, 128.0), (39, 2.0, 112.0), (118, 2.0, 112.0), (119, 3.0, 104.0), (200_000, 73.0, 23.0)]
        {
            let mut law = law(Flavour::Linux, w, &[]);
            ack(&mut law, 1);
            assert_eq!((law.increase(&law.window), law.share(&law.window) * 256.0), (a, md), "{w}");
        }
        let mut law = law(Flavour::Linux, 39, &[]);
        (0..20).for_each(|_| ack(&mut law, 1)); // 20 · 2 credits are one segment and one credit
        assert_eq!(law.window.cwnd, 40.0);
        lose(&mut law);
        assert_eq!(law.window.cwnd, 40.0 - 17.0); // ⌊40 · 112/256⌋ = 17
        ack(&mut law, 1);
        assert_eq!(law.increase(&law.window), 1.0); // back in Reno's row
    }

    /// Counting ACKs, an ACK of two segments grows W by half of what byte counting would.
    #[test]
    fn counting_acks_halves_the_growth() {
        for (ack_counting, grown) in [(true, 1.0), (false, 2.0)] {
            let mut law = law(Flavour::Linux, 118, &[("ack_counting", Given::Flag(ack_counting))]);
            (0..59).for_each(|_| ack(&mut law, 2));
            assert_eq!(law.window.cwnd, 118.0 + grown);
        }
    }
}
