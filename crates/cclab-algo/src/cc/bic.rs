//! BIC: after a loss the window searches for the capacity between where it was and where it fell to.
//!
//! Sources: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks", INFOCOM
//! 2004; Linux `tcp_bic.c` (6.x). Paper and Linux are both here (parameter `variant`). They differ in:
//!
//! * the search: paper half of the way to W_max per RTT, between S_min and S_max; Linux a quarter, whole segments, and
//!   the smallest step at a quarter below 1 and above W_max up to 4;
//! * beyond W_max: paper 1, 2, 4 … per RTT up to S_max; Linux (W − W_max)/3 per RTT, then S_max;
//! * the step: paper a fraction per segment; Linux a whole segment per W/step, recomputed when W changes or after 1/32 s,
//!   and at most 20 before the first loss;
//! * delayed ACKs: Linux divides that count by the mean number of segments per ACK, from the time when it counted
//!   ACKs. It counts segments now, so that it grows as many times faster (`linux_delack`);
//! * a loss: paper (1 − β) FlightSize; Linux ⌊β W⌋ with 819/1024.

use super::{AckEvent, Build, Entry, Phase, TimeoutEvent, Window, WindowLaw, Windowed};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::{MAX_SSTHRESH, SlowStart};
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "bic",
    summary: "binary search for the window of the last loss, then ever larger steps beyond it; before CUBIC",
    source: "Xu, Harfoush, Rhee, INFOCOM 2004; Linux tcp_bic.c",
    params: &[
        Spec {
            name: "beta",
            kind: Kind::Number { min: 0.1, max: 0.99 },
            default: Value::Number(819.0 / 1024.0),
            paper_default: Some(Value::Number(0.875)),
            unit: "",
            doc: "the share of the window that a loss leaves; Linux 819/1024, the paper takes an eighth",
        },
        Spec {
            name: "s_max",
            kind: Kind::Number { min: 1.0, max: 10_000.0 },
            default: Value::Number(16.0),
            paper_default: Some(Value::Number(32.0)),
            unit: "segments",
            doc: "largest step per RTT (Linux max_increment)",
        },
        Spec {
            name: "s_min",
            kind: Kind::Number { min: 0.001, max: 1.0 },
            default: Value::Number(0.2),
            paper_default: Some(Value::Number(0.01)),
            unit: "segments",
            doc: "smallest step per RTT; Linux 4/smooth_part = 4/20",
        },
        Spec {
            name: "low_window",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(14.0),
            paper_default: None,
            unit: "segments",
            doc: "up to this window it is Reno",
        },
        Spec {
            name: "fast_convergence",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "a loss below the last maximum lowers the next one to halfway down",
        },
        Spec {
            name: "linux_delack",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: Some(Value::Flag(false)),
            unit: "",
            doc: "grow as many times faster as there are segments to an ACK, as Linux does; only in variant \"linux\"",
        },
        MAX_SSTHRESH,
        Spec {
            name: "variant",
            kind: Kind::Choice(&["linux", "paper"]),
            default: Value::Word("linux"),
            paper_default: Some(Value::Word("paper")),
            unit: "",
            doc: "whose rules where they differ; the numbers follow the flavour, not this",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::limited(params), Bic::new(params)))),
};

/// Linux keeps its count for this long while W does not change (HZ/32).
const RECOUNT: Duration = Duration(1_000_000_000 / 32);
/// Linux: before the first loss W grows by at least one segment per 20 acknowledged.
const SEARCH_COUNT: f64 = 20.0;
/// Linux: the search goes this part of the way per RTT (`BICTCP_B`).
const PART: f64 = 4.0;

/// BIC's window law.
pub struct Bic {
    beta: f64,
    s_max: f64,
    s_min: f64,
    low_window: f64,
    fast_convergence: bool,
    linux_delack: bool,
    linux: bool,
    /// W_max: window at the last loss (less, with fast convergence), in segments; 0 before the first.
    w_max: f64,
    /// Paper: the step beyond W_max, and the window at which it doubles.
    probe: Option<(f64, f64)>,
    /// Linux: mean number of segments acknowledged by an ACK, in 16ths (an average over 16 ACKs).
    ack_ratio: u64,
    // Linux: the segments to be acknowledged for each by which W grows, when and for which W that was computed.
    count: f64,
    counted_at: Time,
    counted_for: f64,
}

impl Bic {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Bic {
            beta: params.number("beta"),
            s_max: params.number("s_max"),
            s_min: params.number("s_min"),
            low_window: params.number("low_window"),
            fast_convergence: params.flag("fast_convergence"),
            linux_delack: params.flag("linux_delack"),
            linux: params.word("variant") == "linux",
            w_max: 0.0,
            probe: None,
            ack_ratio: 2 * 16,
            count: 0.0,
            counted_at: Time::ZERO,
            counted_for: 0.0,
        }
    }

    /// Linux: W over the step per RTT, before the ratio of ACKs is taken into it.
    fn base_count(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return w;
        }
        let smallest = (w / self.s_min).floor();
        let count = if w < self.w_max {
            match ((self.w_max - w) / PART).floor() {
                step if step > self.s_max => (w / self.s_max).floor(),
                step if step <= 1.0 => smallest,
                step => (w / step).floor(),
            }
        } else if w < self.w_max + PART {
            smallest
        } else if w < self.w_max + self.s_max * (PART - 1.0) {
            (w * (PART - 1.0) / (w - self.w_max)).floor()
        } else {
            (w / self.s_max).floor()
        };
        if self.w_max == 0.0 { count.min(SEARCH_COUNT) } else { count }
    }

    /// Linux: segments to be acknowledged for each by which W grows.
    fn count_linux(&mut self, w: f64, now: Time) -> f64 {
        if w != self.counted_for || now.since(self.counted_at) > RECOUNT {
            self.counted_for = w;
            self.counted_at = now;
            let ratio = if self.linux_delack && w > self.low_window { self.ack_ratio as f64 } else { 16.0 };
            self.count = (self.base_count(w) * 16.0 / ratio).floor().max(1.0);
        }
        self.count
    }

    /// The paper's step per RTT.
    fn step(&self, w: f64) -> f64 {
        if w < self.low_window {
            return 1.0;
        }
        match self.probe {
            Some((step, _)) => step.min(self.s_max),
            None if self.w_max == 0.0 => self.s_max,
            None => ((self.w_max - w) / 2.0).clamp(self.s_min, self.s_max),
        }
    }

    /// The paper's steps beyond W_max, now that W has grown: 1, 2, 4 …
    fn follow(&mut self, w: f64) {
        match self.probe {
            Some((step, until)) if w >= until && step < self.s_max => self.probe = Some((2.0 * step, w + 2.0 * step)),
            None if self.w_max > 0.0 && w >= self.w_max => self.probe = Some((1.0, w + 1.0)),
            _ => {}
        }
    }
}

impl WindowLaw for Bic {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        let acked = w.segments(ev.acked_bytes);
        if ev.phase == Phase::Open && acked > 0.0 {
            self.ack_ratio = self.ack_ratio + (acked as u64).max(1) - self.ack_ratio / 16;
        }
    }

    fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if self.linux {
            w.add_credit(self.count_linux(w.cwnd.floor(), ev.now), acked);
        } else {
            w.add_fraction(w.cwnd, self.step(w.cwnd) * acked);
            self.follow(w.cwnd);
        }
    }

    /// Remembers where the loss happened, too.
    fn decrease(&mut self, w: &Window, _now: Time, flight_size: u64) -> f64 {
        let (high, halve) = match self.linux {
            true => (true, w.cwnd <= self.low_window),
            false => (w.cwnd >= self.low_window, w.cwnd < self.low_window),
        };
        if high {
            let lower = self.fast_convergence && w.cwnd < self.w_max;
            self.w_max = if lower { w.cwnd * (1.0 + self.beta) / 2.0 } else { w.cwnd };
            self.probe = None;
        }
        let beta = if halve { 0.5 } else { self.beta };
        if self.linux {
            self.w_max = self.w_max.floor();
            (w.cwnd * beta).floor().max(2.0)
        } else {
            (w.used(flight_size) * beta).max(2.0)
        }
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        w.time_out(ev.first.then(|| self.decrease(w, ev.now, ev.flight_size)));
        self.w_max = 0.0;
        self.probe = None;
        self.counted_for = 0.0;
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("w_max_segments", self.w_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::testing::{MSS, ack, law_of, lose};
    use crate::params::{Flavour, Given};

    fn law(flavour: Flavour, w: u32, given: &[(&str, Given)]) -> Windowed<Bic> {
        law_of(&ENTRY, flavour, w, given, |_, params| Bic::new(params))
    }
    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} ± {tolerance}");
    }

    /// Linux: W, W_max and the increase per RTT where each segment has its own ACK. The count is whole: 260/⌊260/16⌋.
    #[test]
    fn linux_steps() {
        for (w, w_max, per_rtt) in [
            (10.0, 100.0, 1.0),
            (80.0, 100.0, 5.0),
            (160.0, 200.0, 10.0),
            (192.0, 200.0, 2.0),
            (196.0, 200.0, 0.2),
            (206.0, 200.0, 2.0),
            (230.0, 200.0, 10.0),
            (260.0, 200.0, 16.25),
            (400.0, 1000.0, 16.0),
        ] {
            let mut law = law(Flavour::Linux, w as u32, &[]);
            law.w_max = w_max;
            law.ack_ratio = 16;
            law.law.count_linux(law.window.cwnd, Time::ZERO);
            close(w / law.count, per_rtt, 1e-9);
        }
    }

    /// Linux: 100 → 79, 1000 → 799; a loss at 80 after one at 100 lowers W_max to 71 (80 without fast convergence);
    /// up to 14 half.
    #[test]
    fn linux_losses() {
        for (w, left) in [(100, 79.0), (1000, 799.0), (14, 7.0), (15, 11.0), (3, 2.0)] {
            let mut law = law(Flavour::Linux, w, &[]);
            lose(&mut law);
            assert_eq!((law.window.cwnd, law.w_max), (left, f64::from(w)));
        }
        for (fast_convergence, w_max) in [(true, 71.0), (false, 80.0)] {
            let mut law = law(Flavour::Linux, 80, &[("fast_convergence", Given::Flag(fast_convergence))]);
            law.w_max = 100.0;
            lose(&mut law);
            assert_eq!(law.w_max, w_max);
        }
    }

    /// With an ACK for every second segment Linux grows twice as fast as with an ACK for each, as it counts segments and
    /// divides by their number per ACK: 10 per RTT become 20 (W = 160, W_max = 200: a segment per 16, or per 8).
    #[test]
    fn linux_counts_delayed_acks_twice() {
        for (linux_delack, segments, count) in [(true, 1, 16.0), (true, 2, 8.0), (false, 1, 16.0), (false, 2, 16.0)] {
            let mut law = law(Flavour::Linux, 160, &[("linux_delack", Given::Flag(linux_delack))]);
            law.w_max = 200.0;
            for _ in 0..200 {
                law.on_ack(&AckEvent { acked_bytes: u64::from(segments * MSS), ..AckEvent::default() });
            }
            // An average in whole 16ths rests up to 15 of them above its input.
            assert!((16 * u64::from(segments)..16 * u64::from(segments) + 16).contains(&law.ack_ratio));
            law.ack_ratio = 16 * u64::from(segments);
            law.law.count_linux(law.window.cwnd, Time::ZERO);
            assert_eq!(law.count, count);
        }
    }

    /// Linux's count stays for 1/32 s while W does, and is at most 20 before the first loss.
    #[test]
    fn linux_recounts_after_a_thirty_second_of_a_second() {
        let mut law = law(Flavour::Linux, 1000, &[]);
        law.ack_ratio = 16;
        law.law.count_linux(law.window.cwnd, Time::ZERO);
        assert_eq!(law.count, 20.0);
        law.w_max = 1100.0; // ⌊100/4⌋ is beyond S_max: a segment per ⌊1000/16⌋
        for (ms, count) in [(31, 20.0), (32, 62.0)] {
            law.law.count_linux(law.window.cwnd, Time::ZERO + Duration::from_millis(ms));
            assert_eq!(law.count, count);
        }
    }

    /// Paper: from 875 after a loss at 1000, half of the distance per RTT: min(62.5, 32), …; beyond W_max 1, 2, 4 … 32.
    #[test]
    fn the_papers_search_and_probe() {
        let mut law = law(Flavour::Paper, 1000, &[]);
        lose(&mut law);
        assert_eq!((law.window.cwnd, law.w_max), (875.0, 1000.0));
        for (w, step) in [(875.0, 32.0), (936.0, 32.0), (960.0, 20.0), (999.0, 0.5), (999.99, 0.01), (9.0, 1.0)] {
            close(law.step(w), step, 1e-9);
        }
        law.window.cwnd = 999.999;
        (0..101).for_each(|_| ack(&mut law, 1)); // 0.01 per 1000 of them
        assert!(law.window.cwnd >= 1000.0);
        let mut steps = vec![];
        while steps.last() != Some(&32.0) {
            if steps.last() != Some(&law.step(law.window.cwnd)) {
                steps.push(law.step(law.window.cwnd));
            }
            ack(&mut law, 1);
        }
        assert_eq!(steps, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    }

    /// Paper: fast convergence takes W_max halfway down: (80 + 70)/2 = 75; below the low window half and no W_max.
    #[test]
    fn the_papers_losses() {
        let mut law = law(Flavour::Paper, 80, &[]);
        law.w_max = 100.0;
        lose(&mut law);
        assert_eq!((law.window.cwnd, law.w_max), (70.0, 75.0));
        let mut small = self::law(Flavour::Paper, 13, &[]);
        lose(&mut small);
        assert_eq!((small.window.cwnd, small.w_max), (6.5, 0.0));
    }

    /// A timeout forgets W_max.
    #[test]
    fn a_timeout_forgets() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut law = law(flavour, 1000, &[]);
            lose(&mut law);
            law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 0, first: false, in_flight: 0 });
            assert_eq!((law.window.cwnd, law.w_max), (1.0, 0.0));
        }
    }
}
