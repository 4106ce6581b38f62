//! FAST: the window moves by an equation towards the point where alpha of its own packets wait in queues.
//!
//! Source: D.X. Wei, C. Jin, S.H. Low, S. Hegde, "FAST TCP: Motivation, Architecture, Algorithms, Performance",
//! IEEE/ACM Trans. Networking 14(6), 2006 (eq. 5 and the text around it). It was never in Linux, so there is one
//! flavour. Where the text leaves open what the code does we follow T. Cui and L. Andrew's module for ns-2 (1.1.3):
//!
//! * W is updated in one round trip and frozen in the next, so that the RTT of an update is that of the window it
//!   changes;
//! * an increase is spread over the ACKs of its round trip;
//! * an average RTT weighs each packet by min(3/W, 1/4);
//! * with the average queueing delay below a threshold alpha is replaced by a · W: multiplicative increase. (The
//!   module instead adds one to W for each ACK there, a doubling per round trip.)
//!
//! Ours: slow start ends when the average queueing delay reaches the same threshold, or at ssthresh. With an ACK for
//! several packets the average weighs them all.

use super::{
    AckEvent, Build, CongestionEvent, Context, Entry, Phase, RestartEvent, TimeoutEvent, UndoEvent, Window, WindowLaw,
    Windowed,
};
use crate::estimate::Round;
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "fast",
    summary: "keeps alpha segments in the queue by an equation with large steps far from it and small ones near it",
    source: "Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006; ns-2 module 1.1.3 where the paper is open",
    params: &[
        Spec {
            name: "alpha",
            kind: Kind::Number { min: 1.0, max: 100_000.0 },
            default: Value::Number(200.0),
            paper_default: None,
            unit: "segments",
            doc: "packets that the flow keeps waiting in queues; a buffer smaller than the sum over flows overflows",
        },
        Spec {
            name: "gamma",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(0.5),
            paper_default: None,
            unit: "",
            doc: "the share of the way to the target that an update goes",
        },
        Spec {
            name: "update_rtts",
            kind: Kind::Number { min: 1.0, max: 100.0 },
            default: Value::Number(2.0),
            paper_default: None,
            unit: "RTT",
            doc: "round trips from one update to the next; the window moves in the first and is frozen in the others",
        },
        Spec {
            name: "mi_threshold",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(0.75),
            paper_default: None,
            unit: "ms",
            doc: "average queueing delay that ends slow start, and below which the window grows in proportion to itself",
        },
        Spec {
            name: "mi_gain",
            kind: Kind::Number { min: 0.0, max: 10.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "",
            doc: "a: below mi_threshold alpha is a W; 0 leaves alpha as it is, always",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Fast::new(cx, params)))),
};

const MIN_WINDOW: f64 = 2.0;

/// FAST's window law.
pub struct Fast {
    alpha: f64,
    gamma: f64,
    update_rtts: f64,
    /// In seconds.
    mi_threshold: f64,
    mi_gain: f64,
    /// baseRTT: smallest RTT of the connection, and the average one, in seconds; not finite before the first sample.
    base_rtt: f64,
    avg_rtt: f64,
    /// Where W is going, and by how much for each segment acknowledged.
    target: f64,
    step: f64,
    round: Round,
    /// Round trips since the last update.
    rounds: f64,
}

impl Fast {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        Fast {
            alpha: params.number("alpha"),
            gamma: params.number("gamma"),
            update_rtts: params.number("update_rtts"),
            mi_threshold: params.number("mi_threshold") / 1000.0,
            mi_gain: params.number("mi_gain"),
            target: f64::from(cx.initial_window),
            step: 0.0,
            base_rtt: f64::INFINITY,
            avg_rtt: f64::NAN,
            round: Round::default(),
            rounds: 0.0,
        }
    }

    /// avgRTT ← (1 − η) avgRTT + η RTT with η = min(3/W, 1/4) for each packet.
    fn estimate(&mut self, w: f64, rtt: f64, packets: f64) {
        self.base_rtt = self.base_rtt.min(rtt);
        let weight = (3.0 * packets / w).min(0.25);
        self.avg_rtt = if self.avg_rtt.is_nan() { rtt } else { self.avg_rtt + weight * (rtt - self.avg_rtt) };
    }

    /// baseRTT/RTT; 1 before the first sample.
    fn ratio(&self) -> f64 {
        if self.avg_rtt > 0.0 { self.base_rtt / self.avg_rtt } else { 1.0 }
    }

    /// Whether the queueing delay is too small to steer by.
    fn queue_is_small(&self) -> bool {
        self.avg_rtt.is_nan() || self.avg_rtt - self.base_rtt < self.mi_threshold
    }

    /// min(2 W, (1 − γ) W + γ (baseRTT/RTT · W + α)) (eq. 5), from which the next round trip starts.
    fn next_window(&self, w: f64) -> f64 {
        let alpha = if self.mi_gain > 0.0 && self.queue_is_small() { self.mi_gain * w } else { self.alpha };
        (2.0 * w).min((1.0 - self.gamma) * w + self.gamma * (self.ratio() * w + alpha))
    }

    fn update(&mut self, w: &mut Window) {
        self.target = self.next_window(w.cwnd).max(MIN_WINDOW);
        self.step = (self.target - w.cwnd) / w.cwnd;
        if self.target < w.cwnd {
            w.step_down(self.target);
        }
    }

    /// Begins to count round trips afresh: the window stays until the next update.
    fn freeze(&mut self, w: f64, snd_nxt: u64) {
        self.target = w;
        self.round.begin(snd_nxt);
        self.rounds = 0.0;
    }

    fn slow_start(&mut self, w: &mut Window, ev: &AckEvent) {
        if !self.queue_is_small() {
            w.ssthresh = w.cwnd;
        } else if ev.may_grow {
            w.slow_start(w.segments(ev.acked_bytes));
        }
        self.freeze(w.cwnd, ev.snd_nxt);
    }
}

impl WindowLaw for Fast {
    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.estimate(w.cwnd, rtt.as_secs_f64(), w.segments(ev.delivered_bytes));
        }
        if w.in_slow_start() {
            self.slow_start(w, ev); // a timeout's too
        } else if ev.phase != Phase::Open {
            self.freeze(w.cwnd, ev.snd_nxt); // what was lost stands out of the way of the estimate
        } else {
            if ev.may_grow && w.cwnd < self.target {
                let grown = w.cwnd + self.step * w.segments(ev.acked_bytes);
                w.cwnd = grown.min(self.target);
            }
            if self.round.is_over(ev.snd_una, ev.snd_nxt) {
                self.rounds += 1.0;
                if self.rounds >= self.update_rtts {
                    self.rounds = 0.0;
                    self.update(w);
                }
            }
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        (w.cwnd / 2.0).max(MIN_WINDOW)
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        w.reduce(self.decrease(w, ev.now, ev.flight_size));
        self.target = w.cwnd;
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        w.time_out(ev.first.then(|| self.decrease(w, ev.now, ev.flight_size)));
        self.target = w.cwnd;
    }

    fn on_undo(&mut self, w: &mut Window, _ev: &UndoEvent) {
        w.undo();
        self.target = w.cwnd;
    }

    fn on_restart(&mut self, w: &mut Window, ev: &RestartEvent) {
        w.restart(ev);
        self.target = w.cwnd;
    }

    fn signals(&self, w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        let known = self.base_rtt.is_finite();
        record("base_rtt_s", if known { self.base_rtt } else { f64::NAN });
        record("avg_rtt_s", self.avg_rtt);
        record("queued_segments", w.cwnd * (1.0 - self.ratio()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::closed_loop::{Loop, MSS};
    use crate::cc::{CongestionControl, Signal};
    use crate::params::{Flavour, Given};
    use crate::units::{Duration, Time};

    fn law(w: u32, ssthresh: Option<u64>, given: &[(&str, f64)]) -> Windowed<Fast> {
        let given: Vec<_> = given.iter().map(|(n, x)| (n.to_string(), Given::Number(*x))).collect();
        let cx = Context { initial_window: w, initial_ssthresh: ssthresh, ..Context::new(MSS as u32) };
        Windowed::new(
            &cx,
            SlowStart::Standard,
            Fast::new(&cx, &Params::resolve(ENTRY.params, &given, Flavour::Paper).unwrap()),
        )
    }
    /// An ACK of one segment; `una` and the law's window tell where the round stands.
    fn ack(law: &mut Windowed<Fast>, una: &mut u64, rtt_ms: u64) {
        *una += MSS;
        law.on_ack(&AckEvent {
            acked_bytes: MSS,
            delivered_bytes: MSS,
            snd_una: *una,
            snd_nxt: *una + law.cwnd() / MSS * MSS,
            rtt: Some(Duration::from_millis(rtt_ms)),
            may_grow: true,
            ..AckEvent::default()
        });
    }

    /// Eq. 5 with γ = 0.5: (W, base, RTT, α) → the next W. The third is the fixed point W (1 − base/RTT) = α; without
    /// a queue the doubling bound decides.
    #[test]
    fn the_window_equation() {
        for (w, base, rtt, alpha, next) in [
            (100, 0.1, 0.12, 20.0, 101.667),
            (100, 0.1, 0.1, 200.0, 200.0),
            (120, 0.1, 0.12, 20.0, 120.0),
            (200, 0.1, 0.12, 20.0, 193.333),
            (100, 0.1, 0.1, 20.0, 110.0),
            (100, 0.1, 0.1, 1000.0, 200.0),
        ] {
            let mut fast = law(w, Some(1), &[("alpha", alpha), ("mi_gain", 0.0)]);
            (fast.base_rtt, fast.avg_rtt) = (base, rtt);
            assert!(
                (fast.next_window(fast.window.cwnd) - next).abs() < 5e-4,
                "{w} {rtt}: {}",
                fast.next_window(fast.window.cwnd)
            );
        }
    }

    /// Below the threshold α is a W: γ a = 0.5 of itself per update, whatever alpha; 0.75 ms of queue end it.
    #[test]
    fn multiplicative_increase_while_the_queue_is_small() {
        for (rtt, next) in [(0.1, 1500.0), (0.1007, 1496.5), (0.1008, 1006.03)] {
            let mut fast = law(1000, Some(1), &[("alpha", 20.0)]);
            (fast.base_rtt, fast.avg_rtt) = (0.1, rtt);
            assert!(
                (fast.next_window(fast.window.cwnd) - next).abs() < 0.1,
                "{rtt}: {}",
                fast.next_window(fast.window.cwnd)
            );
        }
    }

    /// η = min(3/W, 1/4) for each packet.
    #[test]
    fn the_average_rtt() {
        for (w, packets, avg) in [(100, 1.0, 0.1006), (6, 1.0, 0.105), (100, 2.0, 0.1012)] {
            let mut fast = law(w, Some(1), &[]);
            fast.avg_rtt = 0.1;
            fast.law.estimate(fast.window.cwnd, 0.12, packets);
            assert!((fast.avg_rtt - avg).abs() < 1e-9, "{}", fast.avg_rtt);
        }
    }

    /// W moves over one round trip, step by step, and stands still in the next.
    #[test]
    fn updated_in_one_round_trip_and_frozen_in_the_next() {
        let mut fast = law(100, Some(1), &[("alpha", 40.0), ("mi_gain", 0.0)]);
        let (mut una, mut log) = (0, vec![]);
        for _ in 0..700 {
            ack(&mut fast, &mut una, 100);
            log.push(fast.window.cwnd);
        }
        // the first ACK ends a round, and so does the 101st: W = 100 until then, 120 a round trip later
        assert_eq!(log[100], 100.0);
        assert!((log[150] - 110.0).abs() < 1.0, "half of it after half of a round trip: {}", log[150]);
        assert_eq!((log[205], log[300]), (120.0, 120.0));
        assert!(log.windows(2).all(|w| w[1] - w[0] <= 0.21), "no burst");
    }

    /// Slow start doubles per round trip until the queueing delay shows.
    #[test]
    fn slow_start_ends_where_the_queue_begins() {
        let mut fast = law(10, None, &[]);
        let mut una = 0;
        (0..70).for_each(|_| ack(&mut fast, &mut una, 100));
        assert_eq!((fast.window.cwnd, fast.window.ssthresh), (80.0, f64::INFINITY));
        (0..60).for_each(|_| ack(&mut fast, &mut una, 101));
        assert!(fast.window.ssthresh < 140.0 && !fast.window.in_slow_start(), "{}", fast.window.ssthresh);
    }

    /// A loss halves; an update's unfinished way is forgotten.
    #[test]
    fn losses_halve() {
        let mut fast = law(100, Some(1), &[("alpha", 40.0)]);
        fast.target = 120.0;
        let zero = Duration::ZERO;
        fast.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            signal: Signal::Loss,
            flight_size: 0,
            srtt: zero,
            min_rtt: zero,
        });
        assert_eq!((fast.cwnd(), fast.ssthresh(), fast.target), (50_000, 50_000, 50.0));
        fast.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 50_000, first: true, in_flight: 0 });
        assert_eq!((fast.cwnd(), fast.ssthresh()), (1000, 25_000));
    }

    /// One server: alpha packets wait, from slow start as from below, with an ACK per packet or per two.
    #[test]
    fn a_closed_loop_keeps_alpha_packets_waiting() {
        for alpha in [5.0, 20.0, 100.0] {
            for (ssthresh, ack_every) in [(None, 1), (Some(MSS), 1), (None, 2)] {
                let fast = law(2, ssthresh, &[("alpha", alpha)]);
                let run = Loop::run(Box::new(fast), ack_every, 200.0);
                let (_, (q_min, q_max)) = run.settled(100.0);
                // of the two packets that share an ACK the first waits for the second's service as well
                let slack = 1.5 * ack_every as f64;
                assert!((alpha - slack..=alpha + slack).contains(&q_min), "{alpha} {ssthresh:?}: {q_min}");
                assert!((alpha - slack..=alpha + slack).contains(&q_max), "{alpha} {ssthresh:?}: {q_max}");
            }
        }
    }
}
