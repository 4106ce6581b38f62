//! Veno: Reno that asks Vegas' estimate of the queue whether a loss is congestion or chance.
//!
//! Sources: C.P. Fu, S.C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC
//! 21(2), 2003; Linux `tcp_veno.c` (6.x). With N = W (1 − base/RTT) segments in the queue: N < beta, the path is not
//! congested: W + 1 per round trip, and a loss is random, W · 4/5; else W + 1 every other round trip, and a loss halves.
//! Paper and Linux are both here (parameter `variant`). They differ in:
//!
//! * RTT: paper the smoothed one; Linux the smallest of a round by intent, but as the minimum is reset on every ACK,
//!   the last sample (after two samples of the connection; before that it is Reno);
//! * base: paper measured afresh after each loss; Linux after an idle time;
//! * N: paper a fraction; Linux in whole half segments, rounded up;
//! * growth: paper a fraction for each, or each second, ACK; Linux whole segments;
//! * outside of Open Linux does as Reno.

use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, IdleEvent, Phase, RestartEvent, TimeoutEvent,
    UndoEvent, Window,
};
use crate::params::{Kind, Params, Spec, Value};
use crate::units::Duration;

pub(super) const ENTRY: Entry = Entry {
    name: "veno",
    summary: "Reno that takes a loss for chance, and a fifth instead of a half, while the queue seems short",
    source: "Fu & Liew, IEEE JSAC 21(2), 2003; Linux tcp_veno.c",
    params: &[
        Spec {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(3.0),
            paper_default: None,
            unit: "segments",
            doc: "with fewer in the queue the path is not congested",
        },
        Spec {
            name: "random_loss_factor",
            kind: Kind::Number { min: 0.1, max: 1.0 },
            default: Value::Number(0.8),
            paper_default: None,
            unit: "",
            doc: "the share of the window that a loss leaves while the path is not congested",
        },
        Spec {
            name: "variant",
            kind: Kind::Choice(&["linux", "paper"]),
            default: Value::Word("linux"),
            paper_default: Some(Value::Word("paper")),
            unit: "",
            doc: "whose rules where they differ",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Veno::new(cx, params))),
};

/// Linux is Reno up to this many RTT samples.
const TOO_FEW_SAMPLES: u32 = 2;

/// Veno's window law.
pub struct Veno {
    beta: f64,
    random_loss_factor: f64,
    linux: bool,
    window: Window,
    /// Smallest RTT; `Duration::MAX` before the first sample.
    base_rtt: Duration,
    samples: u32,
    /// N, segments in the queue.
    queued: f64,
    /// Linux, congested: the next window of ACKs gives a segment.
    every_other: bool,
}

impl Veno {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        Veno {
            beta: params.number("beta"),
            random_loss_factor: params.number("random_loss_factor"),
            linux: params.word("variant") == "linux",
            window: Window::new(cx),
            base_rtt: Duration::MAX,
            samples: 0,
            queued: 0.0,
            every_other: true,
        }
    }

    /// N = W (1 − base/RTT).
    fn judge(&mut self, rtt: Duration) {
        let (w, ratio) = (self.window.cwnd, self.base_rtt.0 as f64 / rtt.0.max(1) as f64);
        self.queued = match self.linux {
            true => (2.0 * w.floor() - (2.0 * w.floor() * ratio).floor()) / 2.0,
            false => w * (1.0 - ratio),
        };
    }

    fn congested(&self) -> bool {
        self.queued >= self.beta
    }

    fn grow_linux(&mut self, ev: &AckEvent, mut acked: f64) {
        let judged = ev.phase == Phase::Open && self.samples > TOO_FEW_SAMPLES;
        if let (true, Some(rtt)) = (judged, ev.rtt) {
            self.judge(rtt);
        }
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked <= 0.0 {
            return;
        }
        let (w, before) = (self.window.cwnd.floor(), self.window.cwnd);
        self.window.add_credit(w, acked);
        if judged && self.congested() && self.window.cwnd > before {
            // A window's worth of credit: one segment, or only the turn of the next.
            self.window.cwnd = if self.every_other { before + 1.0 } else { before };
            self.every_other = !self.every_other;
        }
    }

    fn grow_paper(&mut self, ev: &AckEvent, mut acked: f64) {
        if self.base_rtt != Duration::MAX {
            self.judge(ev.srtt.max(self.base_rtt));
        }
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        let acked = if self.congested() { acked / 2.0 } else { acked };
        self.window.add_fraction(self.window.cwnd, acked);
    }

    /// What a loss leaves.
    fn decreased(&self) -> f64 {
        let w = self.window.cwnd;
        let left = w * if self.congested() { 0.5 } else { self.random_loss_factor };
        if self.linux { left.floor() } else { left }.max(2.0)
    }
}

impl CongestionControl for Veno {
    fn on_ack(&mut self, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        if ev.may_grow {
            let acked = self.window.segments(ev.acked_bytes);
            match self.linux {
                true => self.grow_linux(ev, acked),
                false => self.grow_paper(ev, acked),
            }
        }
    }

    fn on_congestion(&mut self, _ev: &CongestionEvent) {
        self.window.reduce(self.decreased());
        if !self.linux {
            self.base_rtt = Duration::MAX;
        }
    }

    fn on_timeout(&mut self, ev: &TimeoutEvent) {
        // The paper tells chance from congestion where duplicate ACKs tell of the loss; Linux here too.
        let left = if self.linux { self.decreased() } else { (self.window.cwnd / 2.0).max(2.0) };
        self.window.time_out(ev.first.then_some(left));
        if !self.linux {
            self.base_rtt = Duration::MAX;
        }
    }

    fn on_undo(&mut self, _ev: &UndoEvent) {
        self.window.undo();
    }

    fn on_restart(&mut self, ev: &RestartEvent) {
        self.window.restart(ev);
    }

    fn on_idle(&mut self, _ev: &IdleEvent) {
        if self.linux {
            self.base_rtt = Duration::MAX;
            self.every_other = true;
        }
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd_bytes()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh_bytes()
    }

    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let known = self.base_rtt != Duration::MAX;
        record("base_rtt_s", if known { self.base_rtt.as_secs_f64() } else { f64::NAN });
        record("queued_segments", self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::params::Flavour;
    use crate::units::Time;

    const MSS: u64 = 1000;

    fn law(flavour: Flavour, w: u32) -> Veno {
        let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(MSS as u32) };
        let mut veno = Veno::new(&cx, &Params::resolve(ENTRY.params, &[], flavour).unwrap());
        (veno.base_rtt, veno.samples) = (Duration::from_millis(100), 10);
        veno
    }
    fn ack(veno: &mut Veno, rtt_ms: u64) {
        let rtt = Duration::from_millis(rtt_ms);
        veno.on_ack(&AckEvent { acked_bytes: MSS, rtt: Some(rtt), srtt: rtt, may_grow: true, ..AckEvent::default() });
    }
    fn lose(veno: &mut Veno) {
        let zero = Duration::ZERO;
        let now = Time::ZERO;
        veno.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size: 0, srtt: zero, min_rtt: zero });
    }

    /// W = 40, base 100 ms: at 105 ms N = 1.905 and a loss leaves 32; at 110 ms N = 3.636 and it leaves 20. Linux counts
    /// half segments, rounded up: 2 and 4.
    #[test]
    fn a_loss_is_chance_while_the_queue_is_short() {
        for (flavour, rtt, queued, left) in [
            (Flavour::Paper, 105, 1.905, 32),
            (Flavour::Paper, 110, 3.636, 20),
            (Flavour::Linux, 105, 2.0, 32),
            (Flavour::Linux, 110, 4.0, 20),
        ] {
            let mut veno = law(flavour, 40);
            veno.judge(Duration::from_millis(rtt));
            assert!((veno.queued - queued).abs() < 5e-4, "{flavour:?} {rtt}: {}", veno.queued);
            lose(&mut veno);
            assert_eq!((veno.cwnd(), veno.ssthresh()), (left * MSS, left * MSS), "{flavour:?} {rtt}");
        }
    }

    /// One segment per round trip while the path is not congested, one in two round trips while it is.
    #[test]
    fn grows_half_as_fast_where_congested() {
        for (flavour, tolerance) in [(Flavour::Paper, 0.15), (Flavour::Linux, 0.0)] {
            for (rtt, grown) in [(105, 4.0), (115, 2.0)] {
                let mut veno = law(flavour, 40);
                for _ in 0..40 + 41 + 42 + 43 {
                    ack(&mut veno, rtt);
                }
                // Linux, congested: the first, third … window of credit gives a segment
                assert!(
                    (veno.window.cwnd - 40.0 - grown).abs() <= tolerance,
                    "{flavour:?} {rtt}: {}",
                    veno.window.cwnd
                );
            }
        }
    }

    /// Linux: Reno outside of Open, and before the third RTT sample; N stays as it was.
    #[test]
    fn linux_is_reno_where_it_cannot_judge() {
        for (samples, phase) in [(0, Phase::Open), (10, Phase::Disorder)] {
            let mut veno = law(Flavour::Linux, 40);
            veno.samples = samples;
            let rtt = Some(Duration::from_millis(150));
            veno.on_ack(&AckEvent { acked_bytes: 40 * MSS, rtt, phase, may_grow: true, ..AckEvent::default() });
            assert_eq!((veno.window.cwnd, veno.queued), (41.0, 0.0));
        }
    }

    /// The paper measures base afresh after a loss, Linux after an idle time, but not where the window was not used.
    #[test]
    fn base_is_measured_afresh() {
        for (flavour, by_loss, by_idle) in [(Flavour::Paper, true, false), (Flavour::Linux, false, true)] {
            let mut veno = law(flavour, 40);
            lose(&mut veno);
            assert_eq!(veno.base_rtt == Duration::MAX, by_loss);
            let mut veno = law(flavour, 40);
            veno.on_restart(&RestartEvent { now: Time::ZERO, cwnd: 10_000, ssthresh: 15_000 });
            assert!(veno.base_rtt != Duration::MAX);
            veno.on_idle(&IdleEvent { now: Time::ZERO, idle: Duration::from_secs(1), app_limited: true });
            assert_eq!(veno.base_rtt == Duration::MAX, by_idle);
        }
    }

    /// A timeout: the paper halves always, Linux only where congested.
    #[test]
    fn timeouts() {
        for (flavour, rtt, left) in [(Flavour::Paper, 105, 20), (Flavour::Linux, 105, 32), (Flavour::Linux, 110, 20)] {
            let mut veno = law(flavour, 40);
            veno.judge(Duration::from_millis(rtt));
            veno.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 0, first: true });
            assert_eq!((veno.cwnd(), veno.ssthresh()), (MSS, left * MSS));
        }
    }
}
