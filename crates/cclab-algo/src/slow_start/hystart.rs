//! HyStart: leave slow start when the path is full, not when the queue is.
//!
//! Source: S. Ha, I. Rhee, "Taming the Elephants: New TCP Slow Start", Computer Networks 55(9), 2011; the
//! thresholds and the treatment of pacing are those of Linux `tcp_cubic.c` (6.x).

use crate::estimate::{Round, Rtts};
use crate::law::{AckEvent, Context};
use crate::units::{Duration, Time};

/// Below this window (segments) nothing is looked for.
const LOW_WINDOW: f64 = 16.0;
/// Two ACKs at most this far apart belong to one train.
const ACK_SPACING: Duration = Duration::from_millis(2);
/// The delay is judged from the ninth sample of a round on.
const TOO_FEW_SAMPLES: u32 = 8;

/// The state of HyStart; a round ends when the data outstanding at its start is acknowledged.
#[derive(Clone, Debug)]
pub struct HyStart {
    paced: bool,
    mss: f64,
    found: bool,
    round: Round,
    round_start: Time,
    rtts: Rtts,
    /// Last ACK of the train; one gap longer than [`ACK_SPACING`] ends the train for the round.
    last_ack: Time,
}

impl HyStart {
    /// For a new connection.
    pub fn new(cx: &Context) -> Self {
        HyStart {
            paced: cx.paced,
            mss: f64::from(cx.mss),
            found: false,
            round: Round::default(),
            round_start: Time::ZERO,
            rtts: Rtts::default(),
            last_ack: Time::ZERO,
        }
    }

    /// Looks again, after a timeout.
    pub fn restart(&mut self) {
        self.found = false;
        self.round = Round::default();
    }

    /// Takes in an ACK of slow start; `true` once the path is found to be full. W and ssthresh in segments.
    pub fn on_ack(&mut self, ev: &AckEvent, min_rtt: Duration, cwnd: f64, ssthresh: f64) -> bool {
        let Some(rtt) = ev.rtt.filter(|_| !self.found) else { return false };
        if self.round.is_over(ev.snd_una, ev.snd_nxt) {
            self.round_start = ev.now;
            self.last_ack = ev.now;
            self.rtts = Rtts::default();
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        // Both detectors keep their books on every ACK.
        let sending = self.aggregation_delay(ev, cwnd, ssthresh);
        let train = self.train_fills_path(ev.now, min_rtt + sending);
        let delay = self.delay_rose(rtt, min_rtt);
        self.found = train || delay;
        self.found
    }

    fn train_fills_path(&mut self, now: Time, path: Duration) -> bool {
        if now.since(self.last_ack) > ACK_SPACING {
            return false;
        }
        self.last_ack = now;
        // Unpaced a train half as long as the RTT: the other half of the path is the ACKs' own.
        now.since(self.round_start) > if self.paced { path } else { path / 2 }
    }

    /// Time the sender may take for four large frames, min(1 ms, 4 · 64 KiB / pacing rate).
    ///
    /// Linux keeps a pacing rate even where it does not pace: 2 W/srtt, 1.2 W/srtt from ssthresh/2 on.
    fn aggregation_delay(&self, ev: &AckEvent, cwnd: f64, ssthresh: f64) -> Duration {
        let ratio = if cwnd < ssthresh / 2.0 { 2.0 } else { 1.2 };
        let bytes_per_srtt = ratio * cwnd * self.mss;
        ev.srtt.mul_f64(4.0 * 65_536.0 / bytes_per_srtt).min(Duration::from_millis(1))
    }

    fn delay_rose(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        self.rtts.add(rtt);
        self.rtts.count > TOO_FEW_SAMPLES && self.rtts.min > min_rtt + delay_threshold(min_rtt)
    }
}

/// min_rtt / 8, between 4 and 16 ms; HyStart++ has the same (RFC 9406 §4.3).
pub(super) fn delay_threshold(min_rtt: Duration) -> Duration {
    (min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// HyStart at a window of `w` that is far from the threshold.
    fn at(w: u32, paced: bool) -> (HyStart, f64) {
        (HyStart::new(&Context { paced, ..Context::new(1448) }), f64::from(w))
    }
    fn ack(now: Time, rtt: Duration, snd_una: u64) -> AckEvent {
        AckEvent { now, rtt: Some(rtt), srtt: rtt, snd_una, snd_nxt: 1_000_000, ..AckEvent::default() }
    }

    /// Linux: exit above min_rtt + clamp(min_rtt/8, 4, 16 ms): 40 → 45, 20 → 24, 200 → 216 ms.
    #[test]
    fn the_delay_threshold_is_an_eighth_between_4_and_16_ms() {
        for (min, limit) in [(40, 45), (20, 24), (200, 216)] {
            // ACKs 3 ms apart make no train
            let exits = |rtt: Duration| {
                let (mut h, w) = at(64, true);
                (1..=9)
                    .map(|i| h.on_ack(&ack(Time::ZERO + MS(3 * i), rtt, i), MS(min), w, f64::INFINITY))
                    .position(|found| found)
            };
            assert_eq!(exits(MS(limit)), None);
            assert_eq!(exits(MS(limit) + Duration(1)), Some(8), "the ninth sample is the first to be judged");
        }
    }

    /// One small sample in the round is enough to stay.
    #[test]
    fn the_smallest_sample_of_the_round_counts() {
        let (mut h, w) = at(64, true);
        for i in 1..=30 {
            let rtt = if i == 4 { MS(44) } else { MS(60) };
            assert!(!h.on_ack(&ack(Time::ZERO + MS(3 * i), rtt, i), MS(40), w, f64::INFINITY));
        }
    }

    /// Unpaced, a train longer than (min_rtt + 1 ms)/2 ends slow start; paced, min_rtt + 1 ms.
    ///
    /// 1 ms is the cap: 262144 B at 2 · 64 · 1448 B per 40 ms take 57 ms.
    #[test]
    fn a_train_of_half_the_rtt_ends_slow_start_unless_paced() {
        for (paced, limit_us) in [(false, 20_500), (true, 41_000)] {
            let (mut h, w) = at(64, paced);
            let found = (0..100_000).step_by(500).find(|us| {
                h.on_ack(&ack(Time::ZERO + Duration::from_micros(*us), MS(40), 1 + us), MS(40), w, f64::INFINITY)
            });
            assert_eq!(found, Some(limit_us + 500));
        }
    }

    /// A gap of more than 2 ms ends the train for the round.
    #[test]
    fn a_gap_breaks_the_train() {
        let (mut h, w) = at(64, false);
        for us in (0..10_000).step_by(500).chain((13_000..100_000).step_by(500)) {
            assert!(!h.on_ack(&ack(Time::ZERO + Duration::from_micros(us), MS(40), 1 + us), MS(40), w, f64::INFINITY));
        }
    }

    #[test]
    fn nothing_is_looked_for_below_16_segments() {
        let (mut h, w) = at(15, false);
        for i in 1..=50 {
            assert!(!h.on_ack(&ack(Time::ZERO + MS(i), MS(100), i), MS(40), w, f64::INFINITY));
        }
    }

    /// ACKs up to 2 ms apart are a train: at 2 ms sharp it ends slow start after (40 + 1)/2 ms, at 2.001 ms never.
    #[test]
    fn two_milliseconds_are_a_train() {
        for (spacing_us, found) in [(2_000, Some(11)), (2_001, None)] {
            let (mut h, w) = at(64, false);
            let ack_at = |k: u64| ack(Time::ZERO + Duration::from_micros(k * spacing_us), MS(40), 1 + k);
            assert_eq!((0..100).find(|k| h.on_ack(&ack_at(*k), MS(40), w, f64::INFINITY)), found);
        }
    }

    /// 262144 B at 2 · 64 · 1448 B per 0.4 ms take 565.7 µs; at 1.2 times, from ssthresh/2 on, 942.9 µs.
    #[test]
    fn linux_paces_slow_start_at_twice_the_window() {
        for (ssthresh, ns) in [(f64::INFINITY, 565_746), (129.0, 565_746), (128.0, 942_910)] {
            let (h, w) = at(64, true);
            let a = h.aggregation_delay(&ack(Time::ZERO, Duration::from_micros(400), 1), w, ssthresh);
            assert!(a.0.abs_diff(ns) <= 1, "{ssthresh}: {} ns", a.0);
        }
    }

    /// What was found is said once; after a timeout HyStart looks again.
    #[test]
    fn a_timeout_makes_it_look_again() {
        let (mut h, w) = at(64, true);
        let found = |h: &mut HyStart| {
            (1..=30).filter(|i| h.on_ack(&ack(Time::ZERO + MS(3 * i), MS(60), *i), MS(40), w, f64::INFINITY)).count()
        };
        assert_eq!((found(&mut h), found(&mut h)), (1, 0));
        h.restart();
        assert_eq!(found(&mut h), 1);
    }
}
