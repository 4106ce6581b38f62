//! LEDBAT: keeps the queueing delay of the forward path at a target, and leaves the rest to others.
//!
//! Source: S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind, "Low Extra Delay Background Transport (LEDBAT)", RFC 6817
//! (§2.4.2). The queueing delay is the smallest of the last few one-way delays, less the smallest of the last
//! ten minutes; W moves by GAIN · (TARGET − delay)/TARGET segments per round trip, up as down. It is no part of Linux: there
//! is one flavour. As the RFC has it there is no slow start, and the first window is two segments.

use super::{AckEvent, Build, Context, Entry, Phase, Window, WindowLaw, Windowed};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "ledbat",
    summary: "a background transport that keeps the forward queueing delay at a target",
    source: "RFC 6817",
    params: &[
        Spec {
            name: "target",
            kind: Kind::Number { min: 0.1, max: 100.0 },
            default: Value::Number(100.0),
            paper_default: None,
            unit: "ms",
            doc: "TARGET, the queueing delay to keep (RFC 6817 §2.5: at most 100 ms)",
        },
        Spec {
            name: "gain",
            kind: Kind::Number { min: 0.001, max: 1.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "",
            doc: "GAIN, segments per round trip with an empty queue (§2.5: at most 1)",
        },
        Spec {
            name: "allowed_increase",
            kind: Kind::Number { min: 0.0, max: 100.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "segments",
            doc: "ALLOWED_INCREASE, by how much the window may exceed what was in flight",
        },
        Spec {
            name: "base_history",
            kind: Kind::Number { min: 1.0, max: 60.0 },
            default: Value::Number(10.0),
            paper_default: None,
            unit: "min",
            doc: "BASE_HISTORY, minutes whose smallest delay is the base",
        },
        Spec {
            name: "current_filter",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            default: Value::Number(4.0),
            paper_default: None,
            unit: "ACKs",
            doc: "CURRENT_FILTER, samples whose smallest is the current delay (a small number, the RFC says)",
        },
    ],
    build: Build::Native(|cx, params| {
        let cx = Context { initial_window: cx.initial_window.min(INIT_CWND), ..cx.clone() };
        Box::new(Windowed::new(&cx, SlowStart::Standard, Ledbat::new(params)))
    }),
};

/// RFC 6817 §2.5, segments.
const INIT_CWND: u32 = 2;
const MIN_CWND: f64 = 2.0;
const MINUTE: Duration = Duration::from_secs(60);

/// LEDBAT's window law.
pub struct Ledbat {
    target: f64,
    gain: f64,
    allowed_increase: f64,
    /// Smallest delay of each of the last minutes, s; the newest at `minute`.
    base: Vec<f64>,
    minute: usize,
    rollover: Option<Time>,
    /// The last delays, s; the next goes to `next`.
    current: Vec<f64>,
    next: usize,
}

impl Ledbat {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Ledbat {
            target: params.number("target") / 1000.0,
            gain: params.number("gain"),
            allowed_increase: params.number("allowed_increase"),
            base: vec![f64::INFINITY; params.number("base_history") as usize],
            minute: 0,
            rollover: None,
            current: vec![f64::INFINITY; params.number("current_filter") as usize],
            next: 0,
        }
    }

    /// UPDATE_CURRENT_DELAY and UPDATE_BASE_DELAY (§2.4.2).
    fn add(&mut self, now: Time, delay: f64) {
        self.current[self.next] = delay;
        self.next = (self.next + 1) % self.current.len();
        if now.since(*self.rollover.get_or_insert(now)) >= MINUTE {
            self.rollover = Some(now);
            self.minute = (self.minute + 1) % self.base.len();
            self.base[self.minute] = delay;
        } else {
            self.base[self.minute] = self.base[self.minute].min(delay);
        }
    }

    /// min(current) − min(base), s; zero before the first sample.
    fn queueing_delay(&self) -> f64 {
        let smallest = |delays: &[f64]| delays.iter().copied().fold(f64::INFINITY, f64::min);
        let delay = smallest(&self.current) - smallest(&self.base);
        if delay.is_finite() { delay } else { 0.0 }
    }

    /// cwnd += GAIN · off_target · bytes_newly_acked · MSS / cwnd, within its bounds (§2.4.2), in segments.
    fn step(&self, w: f64, acked: f64, in_flight: f64, may_grow: bool) -> f64 {
        let off_target = (self.target - self.queueing_delay()) / self.target;
        let stepped = w + self.gain * off_target * acked / w;
        let stepped = stepped.min(in_flight + self.allowed_increase).max(MIN_CWND);
        if may_grow { stepped } else { stepped.min(w) }
    }
}

impl WindowLaw for Ledbat {
    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        if let Some(packet) = ev.one_way {
            self.add(ev.now, packet.arrived.since(packet.sent).as_secs_f64());
        }
        if ev.acked_bytes > 0 && !matches!(ev.phase, Phase::Recovery | Phase::Cwr) {
            let (acked, in_flight) = (w.segments(ev.acked_bytes), w.segments(ev.prior_in_flight));
            w.cwnd = self.step(w.cwnd, acked, in_flight, ev.may_grow);
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        (w.cwnd / 2.0).max(MIN_CWND)
    }

    fn reads_one_way(&self) -> bool {
        true
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("queueing_delay_s", self.queueing_delay());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::closed_loop::{Loop, MSS};
    use crate::cc::{CongestionControl, CongestionEvent, OneWay, Signal, TimeoutEvent};
    use crate::params::{Flavour, Given};

    fn law(mss: u32, w: f64, given: &[(&str, f64)]) -> Windowed<Ledbat> {
        let given: Vec<_> = given.iter().map(|(n, x)| (n.to_string(), Given::Number(*x))).collect();
        let params = Params::resolve(ENTRY.params, &given, Flavour::Paper).unwrap();
        let mut law = Windowed::new(&Context::new(mss), SlowStart::Standard, Ledbat::new(&params));
        law.window.cwnd = w;
        law
    }
    fn secs(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    /// W of 20 · 1460 bytes, 1460 acknowledged, target 100 ms: an empty queue adds 73 bytes, 50 ms 36.5; 200 ms take 73.
    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        for (queue_ms, bytes) in [(0, 73.0), (50, 36.5), (100, 0.0), (200, -73.0)] {
            let mut ledbat = law(1460, 20.0, &[]);
            ledbat.add(secs(0), 0.020);
            ledbat.current.fill(0.020 + f64::from(queue_ms) / 1000.0);
            ledbat.window.cwnd = ledbat.step(ledbat.window.cwnd, 1.0, 20.0, true);
            let found = (ledbat.window.cwnd - 20.0) * 1460.0;
            assert!((found - bytes).abs() < 1e-9, "{queue_ms} ms: {found}");
        }
    }

    /// The bounds: what was in flight and one segment more; two segments; no growth where the window is not used.
    #[test]
    fn bounds() {
        for (w, in_flight, may_grow, left) in
            [(20.0, 10.0, true, 11.0), (20.0, 20.0, false, 20.0), (2.0, 0.0, true, 2.0), (20.0, 20.0, true, 20.05)]
        {
            let mut ledbat = law(1000, w, &[]);
            ledbat.window.cwnd = ledbat.step(ledbat.window.cwnd, 1.0, in_flight, may_grow);
            assert!((ledbat.window.cwnd - left).abs() < 1e-9, "{}", ledbat.window.cwnd);
        }
    }

    /// The current delay is the smallest of four; the base the smallest of ten minutes.
    #[test]
    fn filters() {
        let mut ledbat = law(1000, 20.0, &[]);
        ledbat.add(secs(0), 0.050);
        assert_eq!(ledbat.queueing_delay(), 0.0);
        for delay in [0.080, 0.090, 0.070] {
            ledbat.add(secs(1), delay);
        }
        assert_eq!(ledbat.queueing_delay(), 0.0, "the 50 ms are one of the last four");
        ledbat.add(secs(1), 0.100);
        assert!((ledbat.queueing_delay() - 0.020).abs() < 1e-12);
        for minute in 1..=9 {
            (0..4).for_each(|_| ledbat.add(secs(60 * minute + 1), 0.100));
            assert!((ledbat.queueing_delay() - 0.050).abs() < 1e-12, "minute {minute}");
        }
        (0..4).for_each(|_| ledbat.add(secs(601), 0.100));
        assert_eq!(ledbat.queueing_delay(), 0.0, "the first minute is forgotten");
    }

    /// Starts with two segments; a loss halves down to two, a timeout leaves one.
    #[test]
    fn losses() {
        assert_eq!(ENTRY.make(&Context::new(1000), &[]).unwrap().cwnd(), 2000);
        let mut ledbat = law(1000, 2.0, &[]);
        for (w, left) in [(20.0, 10_000), (3.0, 2_000)] {
            ledbat.window.cwnd = w;
            let (now, zero) = (Time::ZERO, Duration::ZERO);
            let signal = Signal::Loss;
            ledbat.on_congestion(&CongestionEvent { now, signal, flight_size: 0, srtt: zero, min_rtt: zero });
            assert_eq!(ledbat.cwnd(), left);
        }
        ledbat.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 0, first: true, in_flight: 0 });
        assert_eq!(ledbat.cwnd(), 1000);
    }

    /// Nothing is learnt in recovery but delays.
    #[test]
    fn recovery_governs_the_window() {
        let mut ledbat = law(1000, 20.0, &[]);
        let one_way = Some(OneWay { seq: 0, sent: secs(1), arrived: secs(2) });
        ledbat.on_ack(&AckEvent { acked_bytes: 1000, one_way, phase: Phase::Recovery, ..AckEvent::default() });
        assert_eq!((ledbat.window.cwnd, ledbat.base[0]), (20.0, 1.0));
    }

    /// On one server the queueing delay settles at the target, within a packet's service time (5.3 ms).
    #[test]
    fn a_closed_loop_keeps_the_target() {
        for target in [25.0, 50.0, 100.0] {
            let ledbat = law(MSS as u32, 2.0, &[("target", target)]);
            let (_, (q_min, q_max)) = Loop::run(Box::new(ledbat), 1, 200.0).settled(100.0);
            let (low, high) = ((target - 6.0) / 5.333, (target + 6.0) / 5.333);
            assert!(low <= q_min && q_max <= high, "{target} ms: {q_min} to {q_max} packets, {low} to {high}");
        }
    }
}
