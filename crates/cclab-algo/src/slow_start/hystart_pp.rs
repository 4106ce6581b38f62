//! HyStart++: when the delay rises, grow a quarter as fast for five rounds, then leave slow start.
//!
//! Source: RFC 9406 §4.2 and §4.3, whose names are kept.

use super::hystart::delay_threshold;
use crate::estimate::{Round, Rtts};
use crate::law::{AckEvent, Context};
use crate::units::Duration;

const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// Growth per ACK, in segments, where the sender does not pace.
const L_UNPACED: f64 = 8.0;

/// The state of HyStart++.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    /// Limit of the growth per ACK, in segments.
    l: f64,
    /// Only the initial slow start is watched (§4.3: SHOULD).
    active: bool,
    round: Round,
    last_round_min_rtt: Duration,
    /// currentRoundMinRTT, and rttSampleCount.
    current_round: Rtts,
    css: Option<Css>,
}

/// Conservative slow start.
#[derive(Clone, Debug)]
struct Css {
    baseline_min_rtt: Duration,
    rounds: u32,
}

impl HyStartPlusPlus {
    /// For a new connection.
    pub fn new(cx: &Context) -> Self {
        HyStartPlusPlus {
            l: if cx.paced { f64::INFINITY } else { L_UNPACED },
            active: true,
            round: Round::default(),
            last_round_min_rtt: Duration::MAX,
            current_round: Rtts::default(),
            css: None,
        }
    }

    /// A loss, an ECN echo or a timeout: standard slow start from here on.
    pub fn stop(&mut self) {
        self.active = false;
        self.css = None;
    }

    /// Takes in an ACK of slow start; `true` once the rounds of conservative slow start are used up.
    pub fn on_ack(&mut self, ev: &AckEvent) -> bool {
        if !self.active {
            return false;
        }
        if self.round.is_over(ev.snd_una, ev.snd_nxt) {
            // The round in which CSS was entered counts as its first, partial as it may be.
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds >= CSS_ROUNDS {
                    self.stop();
                    return true;
                }
            }
            self.last_round_min_rtt = std::mem::take(&mut self.current_round).min;
        }
        if let Some(rtt) = ev.rtt {
            self.current_round.add(rtt);
            if self.current_round.count >= N_RTT_SAMPLE {
                self.judge();
            }
        }
        false
    }

    fn judge(&mut self) {
        let current = self.current_round.min;
        match &self.css {
            None => {
                let last = self.last_round_min_rtt;
                if last != Duration::MAX && current >= last + delay_threshold(last) {
                    self.css = Some(Css { baseline_min_rtt: current, rounds: 0 });
                }
            }
            // The delay went down again: it was jitter.
            Some(css) if current < css.baseline_min_rtt => self.css = None,
            Some(_) => {}
        }
    }

    /// How much an ACK of `acked` segments adds to the window, in segments.
    pub fn increment(&self, acked: f64) -> f64 {
        match (self.active, &self.css) {
            (false, _) => acked,
            (true, None) => acked.min(self.l),
            (true, Some(_)) => acked.min(self.l) / CSS_GROWTH_DIVISOR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Path {
        law: HyStartPlusPlus,
        snd_una: u64,
    }
    impl Path {
        fn new(paced: bool) -> Self {
            Path { law: HyStartPlusPlus::new(&Context { paced, ..Context::new(1000) }), snd_una: 0 }
        }
        /// A round of ten ACKs with this RTT; says whether slow start ended in it.
        fn round(&mut self, rtt_ms: u64) -> bool {
            let snd_nxt = self.snd_una + 10;
            (0..10).any(|_| {
                self.snd_una += 1;
                self.law.on_ack(&AckEvent {
                    snd_una: self.snd_una,
                    snd_nxt: snd_nxt + 1,
                    rtt: Some(Duration::from_millis(rtt_ms)),
                    ..AckEvent::default()
                })
            })
        }
        fn in_css(&self) -> bool {
            self.law.css.is_some()
        }
    }

    /// §4.3: the limit rises with the last round's RTT: 40 → 45, 20 → 24, 200 → 216 ms, inclusive.
    #[test]
    fn css_begins_at_the_threshold() {
        for (last, limit) in [(40, 45), (20, 24), (200, 216)] {
            let mut stays = Path::new(false);
            stays.round(last);
            stays.round(limit - 1);
            assert!(!stays.in_css());
            let mut enters = Path::new(false);
            enters.round(last);
            enters.round(limit);
            assert!(enters.in_css());
        }
    }

    /// §4.2: five rounds of CSS, the one in which it began among them, then congestion avoidance.
    #[test]
    fn css_lasts_five_rounds() {
        let mut path = Path::new(false);
        path.round(40);
        for _ in 0..5 {
            assert!(!path.round(50));
        }
        assert!(path.round(50), "the first ACK after the fifth round");
    }

    /// §4.2: an RTT below the baseline resumes slow start.
    #[test]
    fn jitter_resumes_slow_start() {
        let mut path = Path::new(false);
        path.round(40);
        path.round(50);
        path.round(49);
        assert!(!path.in_css());
    }

    /// §4.2: cwnd += min(N, L), a quarter of it in CSS; L = 8 unpaced, none paced.
    #[test]
    fn growth_is_limited_to_eight_segments_per_ack_unless_paced() {
        let mut path = Path::new(false);
        assert_eq!((path.law.increment(2.0), path.law.increment(20.0)), (2.0, 8.0));
        path.round(40);
        path.round(50);
        assert_eq!((path.law.increment(2.0), path.law.increment(20.0)), (0.5, 2.0));
        path.law.stop();
        assert_eq!(path.law.increment(20.0), 20.0);
        assert_eq!(Path::new(true).law.increment(20.0), 20.0);
    }

    /// §4.2: a round with fewer than eight samples is not judged, however long its RTT; each round counts its own.
    #[test]
    fn seven_samples_are_too_few() {
        let mut path = Path::new(false);
        path.round(40);
        path.snd_una = path.law.round.end;
        for k in 1..=8 {
            path.snd_una += 1;
            let (snd_una, snd_nxt) = (path.snd_una, path.snd_una + 100);
            path.law.on_ack(&AckEvent { snd_una, snd_nxt, rtt: Some(Duration::from_millis(90)), ..Default::default() });
            assert_eq!(path.in_css(), k == 8, "sample {k}");
        }
    }
}
