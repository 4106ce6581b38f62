//! Vegas: keep between alpha and beta segments in the queue, judged by the round-trip time.
//!
//! Sources: L. Brakmo, S. O'Malley, L. Peterson, "TCP Vegas", SIGCOMM 1994; Brakmo & Peterson, IEEE JSAC 13(8),
//! 1995; Linux `tcp_vegas.c` (6.x). Paper and Linux are both here (parameter `variant`). They differ in:
//!
//! * rtt: paper the mean of a round (as its authors' code), Linux the smallest;
//! * Diff: paper W (1 − base/rtt), the segments in the queue; Linux ⌊W (rtt − base)/base⌋, larger by rtt/base;
//! * slow start: paper doubles every other round and compares in between; Linux doubles every round;
//! * leaving slow start: paper cuts W by an eighth (as its authors' code did); Linux falls to the window that
//!   would just fill the path, plus one;
//! * a round with fewer than three RTT samples: Linux does as Reno does;
//! * ssthresh: Linux keeps it at (W >> 1) + (W >> 2) or more after each round;
//! * an idle time: Linux measures the base RTT afresh.
//!
//! The paper's fine-grained check of the first and second duplicate ACK belongs to loss recovery, not to
//! the window law, and is left out.

use super::{AckEvent, Build, Entry, IdleEvent, Phase, TimeoutEvent, Window, WindowLaw, Windowed};
use crate::estimate::{Round, Rtts};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "vegas",
    summary: "keeps alpha to beta segments in the queue, judged by the round-trip time",
    source: "Brakmo & Peterson, SIGCOMM 1994 and JSAC 1995; Linux tcp_vegas.c",
    params: &[
        Spec {
            name: "alpha",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(2.0),
            paper_default: None,
            unit: "segments",
            doc: "fewer than this in the queue: the window grows by one per RTT (JSAC 1995: 1 or 2)",
        },
        Spec {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(4.0),
            paper_default: None,
            unit: "segments",
            doc: "more than this in the queue: the window shrinks by one per RTT (JSAC 1995: 3 or 4)",
        },
        Spec {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "segments",
            doc: "more than this in the queue ends slow start",
        },
        Spec {
            name: "loss_factor",
            kind: Kind::Number { min: 0.1, max: 1.0 },
            default: Value::Number(0.5),
            paper_default: Some(Value::Number(0.75)),
            unit: "",
            doc: "the share of the window that a loss leaves; a timeout's ssthresh is always half",
        },
        Spec {
            name: "variant",
            kind: Kind::Choice(&["linux", "paper"]),
            default: Value::Word("linux"),
            paper_default: Some(Value::Word("paper")),
            unit: "",
            doc: "whose rules where they differ; loss_factor's default follows the flavour, not this",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Vegas::new(params)))),
};

/// What a timeout leaves in the paper.
const TIMEOUT_WINDOW: f64 = 2.0;
/// What the paper's slow start takes off W as it ends.
const EXIT_CUT: f64 = 1.0 / 8.0;
/// Linux judges a round by more samples than this.
const TOO_FEW_SAMPLES: u32 = 2;

/// Vegas' window law.
pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    loss_factor: f64,
    linux: bool,
    /// Smallest RTT of the connection.
    base_rtt: Duration,
    round: Round,
    rtts: Rtts,
    /// Whether the last ACK found the sender in [`Phase::Open`]; otherwise Vegas is Reno.
    open: bool,
    /// The paper's slow start grows in this round; in the next it compares.
    doubling: bool,
    diff: f64,
}

impl Vegas {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Vegas {
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            gamma: params.number("gamma"),
            loss_factor: params.number("loss_factor"),
            linux: params.word("variant") == "linux",
            base_rtt: Duration::MAX,
            round: Round::default(),
            rtts: Rtts::default(),
            open: true,
            doubling: false, // the first ACK ends the round before the first
            diff: f64::NAN,
        }
    }

    /// (expected − actual) · base: the segments in the queue, as the paper or as Linux counts them.
    fn diff(&self, w: f64, rtt: Duration) -> f64 {
        let (base, rtt) = (self.base_rtt.0.max(1) as f64, rtt.0.max(1) as f64);
        if self.linux { (w.floor() * (rtt - base) / base).floor() } else { w * (1.0 - base / rtt) }
    }

    /// The round is over: W is judged once.
    fn judge(&mut self, w: &mut Window, rtt: Duration, ev: &AckEvent) {
        self.diff = self.diff(w.cwnd, rtt);
        if w.in_slow_start() {
            match self.linux {
                true => self.judge_slow_start_linux(w, rtt, ev),
                false => self.judge_slow_start_paper(w, ev),
            }
        } else if self.diff > self.beta {
            w.step_down(w.cwnd - 1.0);
        } else if self.diff < self.alpha && ev.may_grow {
            w.cwnd += 1.0;
        }
        if self.linux {
            w.ssthresh = w.ssthresh.max((w.cwnd / 2.0).floor() + (w.cwnd / 4.0).floor());
        }
    }

    fn judge_slow_start_linux(&mut self, w: &mut Window, rtt: Duration, ev: &AckEvent) {
        if self.diff > self.gamma {
            let fills = (w.cwnd.floor() * self.base_rtt.0 as f64 / rtt.0.max(1) as f64).floor();
            w.step_down(w.cwnd.min(fills + 1.0));
        } else if ev.may_grow {
            w.slow_start(w.segments(ev.acked_bytes));
        }
    }

    fn judge_slow_start_paper(&mut self, w: &mut Window, ev: &AckEvent) {
        if self.doubling {
            if ev.may_grow {
                w.slow_start(w.segments(ev.acked_bytes));
            }
        } else if self.diff > self.gamma {
            w.step_down(w.cwnd * (1.0 - EXIT_CUT));
        }
        self.doubling = !self.doubling;
    }

    /// What Vegas does where it cannot judge.
    fn reno(&mut self, w: &mut Window, ev: &AckEvent) {
        if ev.may_grow {
            self.grow(w, w.segments(ev.acked_bytes), ev);
        }
    }

    /// Follows the phase; a fresh round begins on the return to Open, the base RTT is kept.
    fn follow(&mut self, ev: &AckEvent) {
        let open = ev.phase == Phase::Open;
        if open && !self.open {
            self.round.begin(ev.snd_nxt);
            self.rtts = Rtts::default();
        }
        self.open = open;
    }
}

impl WindowLaw for Vegas {
    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.rtts.add(rtt);
        }
        self.follow(ev);
        if !self.open {
            self.reno(w, ev);
        } else if self.round.is_over(ev.snd_una, ev.snd_nxt) {
            // The mean sees the queue that a doubling round builds towards its end; the smallest is that of its first packet.
            let rtts = std::mem::take(&mut self.rtts);
            match rtts.count {
                0 => self.reno(w, ev),
                n if self.linux && n <= TOO_FEW_SAMPLES => self.reno(w, ev),
                _ => self.judge(w, if self.linux { rtts.min } else { rtts.mean() }, ev),
            }
        } else if ev.may_grow && w.in_slow_start() && (self.linux || self.doubling) {
            w.slow_start(w.segments(ev.acked_bytes));
        }
    }

    /// Reno's.
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        w.add_credit(w.cwnd.floor(), acked);
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        let left = w.cwnd * self.loss_factor;
        if self.linux { left.floor() } else { left }.max(2.0)
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        let before = w.cwnd;
        w.time_out(ev.first.then_some((before / 2.0).floor().max(2.0)));
        if !self.linux {
            w.cwnd = TIMEOUT_WINDOW.min(before);
        }
        self.doubling = true;
    }

    fn on_idle(&mut self, _w: &mut Window, _ev: &IdleEvent) {
        if self.linux {
            self.base_rtt = Duration::MAX;
            self.rtts = Rtts::default();
        }
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        let known = self.base_rtt != Duration::MAX;
        record("base_rtt_s", if known { self.base_rtt.as_secs_f64() } else { f64::NAN });
        record("diff_segments", self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::closed_loop::{Loop, MSS};
    use crate::cc::{CongestionControl, CongestionEvent, Context, RestartEvent, Signal, UndoEvent};
    use crate::params::{Flavour, Given};
    use crate::units::Time;

    /// A law in congestion avoidance (`ssthresh` 1) or in slow start.
    fn law(flavour: Flavour, w: u32, initial_ssthresh: Option<u64>) -> Windowed<Vegas> {
        let cx = Context { initial_window: w, initial_ssthresh, flavour, ..Context::new(MSS as u32) };
        Windowed::new(&cx, SlowStart::Standard, Vegas::new(&Params::resolve(ENTRY.params, &[], flavour).unwrap()))
    }

    /// A window and a path: each ACK of a round brings `rtt`.
    struct Sender {
        law: Windowed<Vegas>,
        snd_una: u64,
    }
    impl Sender {
        fn new(flavour: Flavour, w: u32, ssthresh: Option<u64>, base_ms: u64) -> Self {
            let mut law = law(flavour, w, ssthresh);
            law.base_rtt = Duration::from_millis(base_ms);
            Sender { law, snd_una: 0 }
        }
        fn ack(&mut self, rtt_ms: u64) {
            let snd_nxt = self.snd_una + self.law.cwnd() / MSS * MSS;
            self.snd_una += MSS;
            self.law.on_ack(&AckEvent {
                acked_bytes: MSS,
                snd_una: self.snd_una,
                snd_nxt,
                rtt: Some(Duration::from_millis(rtt_ms)),
                may_grow: true,
                ..AckEvent::default()
            });
        }
        /// Acknowledges one window. Returns W in segments.
        fn round(&mut self, rtt_ms: u64) -> f64 {
            (0..self.law.cwnd() / MSS).for_each(|_| self.ack(rtt_ms));
            self.law.window.cwnd
        }
    }

    /// (W, base, rtt): the paper's Diff and Linux's, and what each does about it with alpha 2, beta 4.
    #[test]
    fn diff_and_what_follows() {
        for (w, base, rtt, paper, paper_step, linux, linux_step) in [
            (20, 100, 110, 1.818, 1.0, 2.0, 0.0),
            (20, 100, 130, 4.615, -1.0, 6.0, -1.0),
            (50, 100, 110, 4.545, -1.0, 5.0, -1.0),
            (10, 50, 60, 1.667, 1.0, 2.0, 0.0),
        ] {
            for (flavour, diff, step) in [(Flavour::Paper, paper, paper_step), (Flavour::Linux, linux, linux_step)] {
                let mut s = Sender::new(flavour, w, Some(1), base);
                // The first ACK has no round behind it: Linux is Reno there, the paper judges its own RTT.
                s.law.round.end = u64::from(w) * MSS;
                s.round(rtt);
                assert_eq!(s.law.window.cwnd, f64::from(w));
                s.ack(rtt);
                assert_eq!(s.law.window.cwnd, f64::from(w) + step, "{flavour:?} {w} {base} {rtt}");
                assert!((s.law.diff - diff).abs() < 5e-4, "{} {diff}", s.law.diff);
            }
        }
    }

    /// Linux leaves slow start for ⌊W base/rtt⌋ + 1 and keeps ssthresh at 3/4 of it or above.
    #[test]
    fn linux_leaves_slow_start_for_the_window_that_fills_the_path() {
        let mut s = Sender::new(Flavour::Linux, 32, None, 100);
        s.law.round.end = 32 * MSS;
        assert_eq!(s.round(100), 64.0, "doubles");
        s.law.window.cwnd = 40.0;
        s.law.rtts.min = Duration::from_millis(160);
        s.ack(160);
        // Diff = 40 · 60/100 = 24 > 1: W = ⌊40 · 100/160⌋ + 1
        assert_eq!((s.law.window.cwnd, s.law.window.ssthresh), (26.0, 26.0));
    }

    /// Linux raises ssthresh to (W >> 1) + (W >> 2) after every round: for W = 59 that is 43, where 3/4 W is 44.
    #[test]
    fn linux_keeps_ssthresh_near_the_window() {
        for (w, ssthresh) in [(20, 15.0), (58, 43.0), (59, 45.0)] {
            let mut s = Sender::new(Flavour::Linux, w, Some(1), 100);
            s.law.round.end = 0;
            s.law.rtts.count = 20;
            s.ack(100);
            assert_eq!((s.law.window.cwnd, s.law.window.ssthresh), (f64::from(w) + 1.0, ssthresh));
        }
    }

    /// The paper doubles every other RTT, and leaves slow start only after a round of constant W.
    #[test]
    fn the_paper_doubles_every_other_round() {
        let mut s = Sender::new(Flavour::Paper, 2, None, 100);
        // W at the end of each round
        let mut windows = vec![];
        while windows.len() < 9 {
            let round = s.law.round.end;
            s.ack(100);
            if s.law.round.end != round {
                windows.push(s.law.window.cwnd);
            }
        }
        assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0, 32.0, 32.0]);
        // Diff = 16 (1 − 100/200) = 8 > 1 is seen after a round of constant W and takes an eighth off.
        s.law.doubling = false;
        s.law.window.cwnd = 16.0;
        s.law.round.end = s.snd_una + 15 * MSS;
        s.round(200);
        assert_eq!((s.law.window.cwnd, s.law.window.ssthresh), (14.0, 14.0));
    }

    /// A burst of ten into an empty queue: RTTs of 100, 110, … 190 ms, mean 145, smallest 100.
    ///
    /// Diff is 10 (1 − 100/145) = 3.103 by the mean, 0 by the smallest: the paper's ends slow start and loses an
    /// eighth, or takes one segment off (beta 2); Linux sees nothing and grows.
    #[test]
    fn the_paper_judges_by_the_mean_rtt_linux_by_the_smallest() {
        for (flavour, ssthresh, w) in [
            (Flavour::Paper, None, 8.75),
            (Flavour::Paper, Some(1), 9.0),
            (Flavour::Linux, None, 20.0),
            (Flavour::Linux, Some(1), 11.0),
        ] {
            let mut s = Sender::new(flavour, 10, ssthresh, 100);
            (s.law.alpha, s.law.beta, s.law.round.end) = (1.0, 2.0, 9 * MSS);
            (0..10).for_each(|k| s.ack(100 + 10 * k));
            assert_eq!(s.law.window.cwnd, w, "{flavour:?} {ssthresh:?}");
            let diff = if flavour == Flavour::Paper { 3.103 } else { 0.0 };
            assert!((s.law.diff - diff).abs() < 5e-4, "{flavour:?}: {}", s.law.diff);
        }
    }

    /// A closed loop keeps alpha to beta packets waiting, from an overshoot in slow start as from below.
    ///
    /// Linux's Diff is larger by rtt/base, so that it keeps fewer.
    #[test]
    fn a_closed_loop_keeps_alpha_to_beta_packets_waiting() {
        for (alpha, beta) in [(1.0, 3.0), (2.0, 4.0), (10.0, 12.0)] {
            for (flavour, ssthresh) in [Flavour::Paper, Flavour::Linux].map(|f| [(f, None), (f, Some(MSS))]).concat() {
                let given = [("alpha", alpha), ("beta", beta)].map(|(n, x)| (n.to_string(), Given::Number(x)));
                let cx = Context { initial_window: 2, initial_ssthresh: ssthresh, flavour, ..Context::new(MSS as u32) };
                let law = Windowed::new(
                    &cx,
                    SlowStart::Standard,
                    Vegas::new(&Params::resolve(ENTRY.params, &given, flavour).unwrap()),
                );
                let ((w_min, w_max), (q_min, q_max)) = Loop::run(Box::new(law), 1, 60.0).settled(30.0);
                assert_eq!(w_min, w_max, "{flavour:?} {ssthresh:?}");
                // Diff = W (rtt − base)/base in Linux: waiting · W / BDP
                let scale = if flavour == Flavour::Linux { w_max as f64 / (0.087 * 187.5) } else { 1.0 };
                let (low, high) = (alpha / scale, (beta + 1.0) / scale);
                assert!(low <= q_min && q_max <= high, "{flavour:?} {ssthresh:?} {alpha}: {q_min} to {q_max}");
            }
        }
    }

    /// Linux: a round with two samples is Reno's; three are enough.
    #[test]
    fn linux_wants_three_samples() {
        for (samples, grown) in [(1, 20.0), (2, 21.0)] {
            let mut s = Sender::new(Flavour::Linux, 20, Some(1), 100);
            s.law.rtts.count = samples;
            s.ack(100);
            assert_eq!(s.law.window.cwnd, grown);
        }
    }

    /// A loss leaves half (Linux) or 3/4 (paper); a timeout one segment or two.
    #[test]
    fn losses() {
        let event = CongestionEvent {
            now: Time::ZERO,
            signal: Signal::Loss,
            flight_size: 20_000,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
        };
        for (flavour, left, after_timeout) in [(Flavour::Linux, 10_000, 1_000), (Flavour::Paper, 15_000, 2_000)] {
            let mut v = law(flavour, 20, Some(1));
            v.on_congestion(&event);
            assert_eq!(v.cwnd(), left);
            let mut v = law(flavour, 20, Some(1));
            v.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 20_000, first: true, in_flight: 0 });
            assert_eq!((v.cwnd(), v.ssthresh()), (after_timeout, 10_000));
        }
    }

    /// alpha ≤ Diff ≤ beta leaves W as it is, both edges included (SIGCOMM 1994 §3.2); Diff = 20 (1 − 96/128) = 5.
    #[test]
    fn the_edges_of_the_band_leave_the_window() {
        for (alpha, beta, w) in [(5.0, 6.0, 20.0), (4.0, 5.0, 20.0), (5.1, 6.0, 21.0), (4.0, 4.9, 19.0)] {
            let mut s = Sender::new(Flavour::Paper, 20, Some(1), 96);
            (s.law.alpha, s.law.beta) = (alpha, beta);
            s.ack(128);
            assert_eq!(s.law.window.cwnd, w, "{alpha} to {beta}");
        }
    }

    /// Out of Open Vegas does nothing of its own; back in Open a fresh round begins.
    #[test]
    fn disorder_suspends_vegas() {
        let mut s = Sender::new(Flavour::Linux, 20, Some(1), 100);
        s.law.rtts.count = 20;
        s.law.round.end = 100 * MSS; // the round would go on
        let disorder = AckEvent {
            acked_bytes: MSS,
            snd_una: MSS,
            snd_nxt: 21 * MSS,
            phase: Phase::Disorder,
            ..Default::default()
        };
        s.law.on_ack(&disorder);
        s.law.on_ack(&AckEvent { phase: Phase::Open, ..disorder });
        assert_eq!((s.law.round.end, s.law.rtts.count), (21 * MSS, 0));
    }

    /// Linux forgets the base RTT and the samples of the round after an idle time, but not where data went on and the
    /// window was not used; the paper keeps them.
    #[test]
    fn idle_resets_the_base_in_linux() {
        for (flavour, kept) in [(Flavour::Linux, false), (Flavour::Paper, true)] {
            let mut s = Sender::new(flavour, 20, Some(1), 100);
            s.law.rtts.count = 7;
            s.law.on_restart(&RestartEvent { now: Time::ZERO, cwnd: 10_000, ssthresh: 15_000 });
            assert_eq!((s.law.cwnd(), s.law.base_rtt != Duration::MAX, s.law.rtts.count), (10_000, true, 7));
            s.law.on_idle(&IdleEvent { now: Time::ZERO, idle: Duration::from_secs(1), app_limited: true });
            assert_eq!(s.law.base_rtt != Duration::MAX, kept, "{flavour:?}");
            assert_eq!(s.law.rtts.count, if kept { 7 } else { 0 });
        }
    }

    #[test]
    fn parameters_out_of_bounds_are_refused() {
        let given = [("alpha".to_string(), Given::Number(-1.0))];
        assert!(Params::resolve(ENTRY.params, &given, Flavour::Linux).is_err());
    }

    /// Out of Open W grows as Reno's: by one per W acknowledged, whatever the delay; so, too, where a round has no RTT.
    #[test]
    fn reno_where_it_cannot_judge() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            for (phase, rtt) in [(Phase::Disorder, Some(Duration::from_secs(9))), (Phase::Open, None)] {
                let mut s = Sender::new(flavour, 20, Some(1), 100);
                for k in 1..=20 {
                    assert_eq!(s.law.window.cwnd, 20.0);
                    let (snd_una, snd_nxt) = (k * MSS, 0); // each ACK ends a round
                    let ev = AckEvent { acked_bytes: MSS, snd_una, snd_nxt, rtt, phase, ..AckEvent::default() };
                    s.law.on_ack(&AckEvent { may_grow: true, ..ev });
                }
                assert_eq!(s.law.window.cwnd, 21.0, "{flavour:?} {phase:?}");
            }
        }
    }

    /// A repeated timeout leaves ssthresh alone (RFC 5681 §3.1); slow start then doubles at once; an undo restores.
    #[test]
    fn timeouts_and_undo() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut s = Sender::new(flavour, 20, Some(20 * MSS), 100);
            let now = Time::ZERO;
            for first in [true, false] {
                s.law.on_timeout(&TimeoutEvent { now, flight_size: 20_000, first, in_flight: 0 });
                assert_eq!(s.law.ssthresh(), 10_000, "first: {first}");
            }
            let before = s.law.window.cwnd;
            s.law.round.end = 100 * MSS;
            s.ack(100);
            assert_eq!(s.law.window.cwnd, before + 1.0);
            s.law.on_undo(&UndoEvent { now });
            assert_eq!((s.law.cwnd(), s.law.ssthresh()), (20_000, 20_000));
        }
    }
}
