//! TCP-LP: a Reno of low priority, which leaves at the first sign of a queue what others may want.
//!
//! Sources: A. Kuzmanovic, E.W. Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer", INFOCOM 2003;
//! Linux `tcp_lp.c` (6.x). The forward one-way delay is smoothed, d ← 7/8 d + 1/8 sample; d > d_min + δ (d_max − d_min) is
//! an early indication of congestion: W is halved, and for an inference time of 3 RTT it does not grow; another indication
//! within that time leaves one segment. Otherwise TCP-LP is Reno. Paper and Linux are both here (parameter `variant`).
//! They differ in:
//!
//! * reactions: paper once per round trip, of losses too (to packets sent since the last one); Linux on any ACK;
//! * slow start: paper not interrupted (the text we know does not say; it is how d_max is found); Linux cut like all;
//! * d_min, d_max: paper for good; Linux after each indication d and 2 d, and it leaves the largest sample out;
//! * after a cut: paper congestion avoidance; Linux leaves ssthresh alone, so that a slow start goes on.
//!
//! The delay is from when the packet was sent to when it arrived, in ticks of the timestamp clock. Linux takes the time of
//! the ACK instead of the arrival, and estimates the other end's tick.

use super::{AckEvent, Build, CongestionEvent, Entry, OneWay, Window, WindowLaw, Windowed};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "lp",
    summary: "TCP-LP: Reno of low priority that yields to the first sign of a queue, judged by one-way delays",
    source: "Kuzmanovic & Knightly, INFOCOM 2003; Linux tcp_lp.c",
    params: &[
        Spec {
            name: "delta",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.15),
            paper_default: None,
            unit: "",
            doc: "the share of the range of one-way delays that the smoothed one may rise above the smallest",
        },
        Spec {
            name: "inference_rtts",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(3.0),
            paper_default: None,
            unit: "RTT",
            doc: "how long the window does not grow after an early indication of congestion",
        },
        Spec {
            name: "clock",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "ms",
            doc: "tick of the clocks by which delays are measured; 0 is exact",
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
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Lp::new(params)))),
};

/// TCP-LP's window law.
pub struct Lp {
    delta: f64,
    inference_rtts: f64,
    tick: u64,
    linux: bool,
    delays: Delays,
    rtt: Duration,
    /// When it last cut W, and (paper) when it last reacted to anything.
    last_cut: Option<Time>,
    last_reaction: Option<Time>,
}

/// One-way delays, in seconds.
struct Delays {
    smoothed: f64,
    min: f64,
    max: f64,
    /// Linux: the largest sample, which waits for a second one to be believed.
    reserve: f64,
}

impl Delays {
    fn add(&mut self, delay: f64, linux: bool) {
        self.min = self.min.min(delay);
        if !linux {
            self.max = self.max.max(delay);
        } else if delay > self.reserve {
            self.max = if self.reserve == 0.0 { delay } else { self.reserve };
            self.reserve = delay;
        } else {
            self.max = self.max.max(delay);
        }
        self.smoothed = if self.smoothed.is_nan() { delay } else { self.smoothed + (delay - self.smoothed) / 8.0 };
    }

    /// Early indication of congestion.
    fn congested(&self, delta: f64) -> bool {
        self.smoothed > self.min + delta * (self.max - self.min)
    }
}

impl Lp {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Lp {
            delta: params.number("delta"),
            inference_rtts: params.number("inference_rtts"),
            tick: Duration::from_secs_f64(params.number("clock") / 1000.0).0.max(1),
            linux: params.word("variant") == "linux",
            delays: Delays { smoothed: f64::NAN, min: f64::INFINITY, max: 0.0, reserve: 0.0 },
            rtt: Duration::ZERO,
            last_cut: None,
            last_reaction: None,
        }
    }

    /// From sent to arrived as clocks of this tick show it.
    fn delay(&self, packet: OneWay) -> f64 {
        let ticks = (packet.arrived.0 / self.tick).saturating_sub(packet.sent.0 / self.tick);
        Duration(ticks * self.tick).as_secs_f64()
    }

    fn inferring(&self, now: Time) -> bool {
        self.last_cut.is_some_and(|cut| now.since(cut) < self.rtt.mul_f64(self.inference_rtts))
    }

    /// The paper's slow start is not interrupted, and shows d_max as it overflows; then a reaction must have had its effect
    /// on the packet that tells, before the next.
    fn hears(&self, w: &Window, packet: OneWay) -> bool {
        self.linux || (!w.in_slow_start() && self.last_reaction.is_none_or(|last| packet.sent > last))
    }

    fn yield_to_others(&mut self, w: &mut Window, now: Time, inferring: bool) {
        let half = w.cwnd / 2.0;
        w.cwnd = if inferring { 1.0 } else { half.max(1.0).min(w.cwnd) };
        if self.linux {
            w.cwnd = w.cwnd.floor().max(1.0);
            let d = self.delays.smoothed;
            (self.delays.min, self.delays.max, self.delays.reserve) = (d, 2.0 * d, 2.0 * d);
        } else {
            w.ssthresh = w.cwnd;
        }
        self.last_cut = Some(now);
        self.last_reaction = Some(now);
    }
}

impl WindowLaw for Lp {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        self.rtt = ev.rtt.unwrap_or(self.rtt);
        let inferring = self.inferring(ev.now);
        if let Some(packet) = ev.one_way {
            self.delays.add(self.delay(packet), self.linux);
            if self.delays.congested(self.delta) && self.hears(w, packet) {
                self.yield_to_others(w, ev.now, inferring);
            }
        }
    }

    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if self.inferring(ev.now) {
            return;
        }
        let left = w.slow_start(acked);
        if left > 0.0 {
            self.avoid(w, left, ev);
        }
    }

    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        match self.linux {
            true => w.add_credit(w.cwnd.floor(), acked),
            false => w.add_fraction(w.cwnd, acked),
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        let half = w.cwnd / 2.0;
        if self.linux { half.floor() } else { half }.max(2.0)
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        w.reduce(self.decrease(w, ev.now, ev.flight_size));
        self.last_reaction = Some(ev.now);
    }

    fn reads_one_way(&self) -> bool {
        true
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        let known = self.delays.min.is_finite();
        record("smoothed_owd_s", self.delays.smoothed);
        record("owd_min_s", if known { self.delays.min } else { f64::NAN });
        record("owd_max_s", if known { self.delays.max } else { f64::NAN });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{CongestionControl, Context};
    use crate::params::Flavour;

    const MSS: u64 = 1000;

    fn law(flavour: Flavour, w: u32) -> Windowed<Lp> {
        let cx = Context { initial_window: w, initial_ssthresh: Some(MSS), flavour, ..Context::new(MSS as u32) };
        Windowed::new(&cx, SlowStart::Standard, Lp::new(&Params::resolve(ENTRY.params, &[], flavour).unwrap()))
    }
    /// An ACK at `now_ms` of a packet that took `owd_ms`; the RTT is 100 ms.
    fn ack(lp: &mut Windowed<Lp>, now_ms: u64, owd_ms: u64) {
        let now = Time::ZERO + Duration::from_millis(now_ms);
        let arrived = now - Duration::from_millis(50);
        lp.on_ack(&AckEvent {
            now,
            acked_bytes: MSS,
            rtt: Some(Duration::from_millis(100)),
            one_way: Some(OneWay { seq: 0, sent: arrived - Duration::from_millis(owd_ms), arrived }),
            may_grow: true,
            ..AckEvent::default()
        });
    }

    /// d ← 7/8 d + 1/8 sample, and the threshold d_min + 0.15 (d_max − d_min): 40 ms there of a range 20 to 153.3 ms.
    #[test]
    fn smoothing_and_threshold() {
        let mut delays = Delays { smoothed: f64::NAN, min: f64::INFINITY, max: 0.0, reserve: 0.0 };
        delays.add(0.020, false);
        assert!(!delays.congested(0.15), "no range yet");
        delays.add(0.100, false);
        assert!((delays.smoothed - 0.030).abs() < 1e-12);
        assert!(!delays.congested(0.15), "20 + 12 ms");
        delays.add(0.050, false);
        assert!((delays.smoothed - 0.0325).abs() < 1e-12 && delays.congested(0.15));
    }

    /// Linux believes the largest delay only when it is exceeded or another comes near it.
    #[test]
    fn linux_keeps_the_largest_delay_in_reserve() {
        let mut delays = Delays { smoothed: f64::NAN, min: f64::INFINITY, max: 0.0, reserve: 0.0 };
        let seen: Vec<_> = [0.02, 0.10, 0.05, 0.12]
            .map(|d| {
                delays.add(d, true);
                delays.max
            })
            .into();
        assert_eq!(seen, [0.02, 0.02, 0.05, 0.10]);
    }

    /// The first indication halves, a second within 3 RTT leaves one segment; W does not grow meanwhile.
    #[test]
    fn halves_then_leaves_one() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut lp = law(flavour, 40);
            (lp.delays.min, lp.delays.max, lp.delays.smoothed) = (0.02, 0.10, 0.09);
            ack(&mut lp, 1000, 90);
            assert_eq!(lp.window.cwnd, 20.0, "{flavour:?}");
            // within the inference time, below the threshold: as it was
            (lp.delays.min, lp.delays.max, lp.delays.smoothed) = (0.02, 0.10, 0.02);
            ack(&mut lp, 1150, 20);
            assert_eq!(lp.window.cwnd, 20.0);
            (lp.delays.min, lp.delays.max, lp.delays.smoothed) = (0.02, 0.10, 0.09);
            ack(&mut lp, 1200, 90);
            assert_eq!(lp.window.cwnd, 1.0, "{flavour:?}");
        }
    }

    /// After 3 RTT an indication halves again; without one W grows as Reno's.
    #[test]
    fn after_the_inference_time() {
        for (owd, w) in [(90, 10.0), (20, 20.05)] {
            let mut lp = law(Flavour::Paper, 20);
            lp.last_cut = Some(Time::ZERO + Duration::from_millis(1000));
            (lp.delays.min, lp.delays.max, lp.delays.smoothed) = (0.02, 0.10, owd as f64 / 1000.0);
            ack(&mut lp, 1301, owd);
            assert!((lp.window.cwnd - w).abs() < 0.1, "{}", lp.window.cwnd);
        }
    }

    /// The paper reacts once to packets sent before its reaction, and not in slow start; Linux starts its range over.
    #[test]
    fn once_per_round_trip_in_the_paper() {
        let mut lp = law(Flavour::Paper, 40);
        (lp.delays.min, lp.delays.max, lp.delays.smoothed) = (0.02, 0.10, 0.09);
        ack(&mut lp, 1000, 90);
        ack(&mut lp, 1100, 90); // sent at 960 ms
        assert_eq!(lp.window.cwnd, 20.0);
        ack(&mut lp, 1150, 90); // at 1010
        assert_eq!(lp.window.cwnd, 1.0);
        let mut lp = law(Flavour::Paper, 40);
        lp.window.ssthresh = 100.0;
        (lp.delays.min, lp.delays.max, lp.delays.smoothed) = (0.02, 0.10, 0.09);
        ack(&mut lp, 1000, 90);
        assert_eq!(lp.window.cwnd, 41.0);
        let mut lp = law(Flavour::Linux, 40);
        (lp.delays.min, lp.delays.max, lp.delays.smoothed) = (0.02, 0.10, 0.09);
        ack(&mut lp, 1000, 90);
        assert!((lp.delays.min - 0.09).abs() < 1e-12 && (lp.delays.max - 0.18).abs() < 1e-12);
        ack(&mut lp, 1050, 90);
        assert_eq!(lp.window.cwnd, 20.0);
    }

    /// Clocks of 1 ms show 20.9 ms as 20 or 21.
    #[test]
    fn clocks_tick() {
        let lp = law(Flavour::Linux, 10);
        for (sent_us, shown) in [(0, 0.020), (200, 0.021)] {
            let sent = Time::ZERO + Duration::from_micros(sent_us);
            let packet = OneWay { seq: 0, sent, arrived: sent + Duration::from_micros(20_900) };
            assert!((lp.delay(packet) - shown).abs() < 1e-12);
        }
    }
}
