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

use super::{AckEvent, Build, CongestionEvent, Entry, IdleEvent, Phase, TimeoutEvent, Window, WindowLaw, Windowed};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

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
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Veno::new(params)))),
};

/// Linux is Reno up to this many RTT samples.
const TOO_FEW_SAMPLES: u32 = 2;

/// Veno's window law.
pub struct Veno {
    beta: f64,
    random_loss_factor: f64,
    linux: bool,
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
    pub fn new(params: &Params) -> Self {
        Veno {
            beta: params.number("beta"),
            random_loss_factor: params.number("random_loss_factor"),
            linux: params.word("variant") == "linux",
            base_rtt: Duration::MAX,
            samples: 0,
            queued: 0.0,
            every_other: true,
        }
    }

    /// N = W (1 − base/RTT).
    fn judge(&mut self, w: f64, rtt: Duration) {
        let ratio = self.base_rtt.0 as f64 / rtt.0.max(1) as f64;
        self.queued = match self.linux {
            true => (2.0 * w.floor() - (2.0 * w.floor() * ratio).floor()) / 2.0,
            false => w * (1.0 - ratio),
        };
    }

    fn congested(&self) -> bool {
        self.queued >= self.beta
    }

    /// Whether Linux judges by this ACK.
    fn is_judge(&self, ev: &AckEvent) -> bool {
        ev.phase == Phase::Open && self.samples > TOO_FEW_SAMPLES
    }

    fn grow_linux(&mut self, w: &mut Window, acked: f64, judged: bool) {
        let before = w.cwnd;
        w.add_credit(before.floor(), acked);
        if judged && self.congested() && w.cwnd > before {
            // A window's worth of credit: one segment, or only the turn of the next.
            w.cwnd = if self.every_other { before + 1.0 } else { before };
            self.every_other = !self.every_other;
        }
    }
}

impl WindowLaw for Veno {
    fn measure(&mut self, _w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if self.linux {
            if let Some(rtt) = ev.rtt.filter(|_| self.is_judge(ev)) {
                self.judge(w.cwnd, rtt);
            }
        } else if self.base_rtt != Duration::MAX {
            self.judge(w.cwnd, ev.srtt.max(self.base_rtt));
        }
        let left = w.slow_start(acked);
        if left > 0.0 {
            self.avoid(w, left, ev);
        }
    }

    fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if self.linux {
            self.grow_linux(w, acked, self.is_judge(ev));
        } else {
            w.add_fraction(w.cwnd, if self.congested() { acked / 2.0 } else { acked });
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        let left = w.cwnd * if self.congested() { 0.5 } else { self.random_loss_factor };
        if self.linux { left.floor() } else { left }.max(2.0)
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        w.reduce(self.decrease(w, ev.now, ev.flight_size));
        if !self.linux {
            self.base_rtt = Duration::MAX;
        }
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        // The paper tells chance from congestion where duplicate ACKs tell of the loss; Linux here too.
        let left = if self.linux { self.decrease(w, ev.now, ev.flight_size) } else { (w.cwnd / 2.0).max(2.0) };
        w.time_out(ev.first.then_some(left));
        if !self.linux {
            self.base_rtt = Duration::MAX;
        }
    }

    fn on_idle(&mut self, _w: &mut Window, _ev: &IdleEvent) {
        if self.linux {
            self.base_rtt = Duration::MAX;
            self.every_other = true;
        }
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        let known = self.base_rtt != Duration::MAX;
        record("base_rtt_s", if known { self.base_rtt.as_secs_f64() } else { f64::NAN });
        record("queued_segments", self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{CongestionControl, Context, RestartEvent, Signal};
    use crate::params::Flavour;
    use crate::units::Time;

    const MSS: u64 = 1000;

    fn law(flavour: Flavour, w: u32) -> Windowed<Veno> {
        let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(MSS as u32) };
        let mut veno =
            Windowed::new(&cx, SlowStart::Standard, Veno::new(&Params::resolve(ENTRY.params, &[], flavour).unwrap()));
        (veno.base_rtt, veno.samples) = (Duration::from_millis(100), 10);
        veno
    }
    fn ack(veno: &mut Windowed<Veno>, rtt_ms: u64) {
        let rtt = Duration::from_millis(rtt_ms);
        veno.on_ack(&AckEvent { acked_bytes: MSS, rtt: Some(rtt), srtt: rtt, may_grow: true, ..AckEvent::default() });
    }
    fn lose(veno: &mut Windowed<Veno>) {
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
            veno.law.judge(veno.window.cwnd, Duration::from_millis(rtt));
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
            veno.law.judge(veno.window.cwnd, Duration::from_millis(rtt));
            veno.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 0, first: true, in_flight: 0 });
            assert_eq!((veno.cwnd(), veno.ssthresh()), (MSS, left * MSS));
        }
    }
}
