//! PROBE_BW: a cycle of pacing gains, each for about one RTprop. One asks for more, one takes the queue away again.

use super::{Bbr, State};
use crate::cc::AckEvent;
use crate::units::Time;

const PACING_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
pub(super) const CWND_GAIN: f64 = 2.0;

/// The place in the cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeBw {
    pub place: usize,
    pub since: Time,
}

impl ProbeBw {
    pub fn pacing_gain(self) -> f64 {
        PACING_GAINS[self.place]
    }
    /// Whether it asks for more.
    pub fn is_up(self) -> bool {
        self.place == 0
    }
}

impl Bbr {
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        // Anywhere but at 0.75: there is nothing to drain.
        let place = (7 - self.rng.below(7) as usize + 1) % PACING_GAINS.len();
        self.state = State::ProbeBw(ProbeBw { place, since: now });
    }

    /// The next gain, when this one had its time.
    pub(super) fn update_cycle(&mut self, ev: &AckEvent) {
        let State::ProbeBw(cycle) = self.state else { return };
        let full_length = self.rt_prop.is_some_and(|rtt| ev.now.since(cycle.since) > rtt);
        let in_flight = self.segments(ev.prior_in_flight);
        let over = match cycle.place {
            // At 1.25: until the pipe holds what it was to hold, or cannot.
            0 => full_length && (ev.lost_bytes > 0 || in_flight >= self.inflight(1.25)),
            // At 0.75: until the queue is gone.
            1 => full_length || in_flight <= self.inflight(1.0),
            _ => full_length,
        };
        if over {
            self.state = State::ProbeBw(ProbeBw { place: (cycle.place + 1) % PACING_GAINS.len(), since: ev.now });
        }
    }
}
