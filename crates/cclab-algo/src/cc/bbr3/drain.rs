//! Drain: the queue that Startup left behind goes (§5.3.2).

use super::{Bbr3, State};
use crate::cc::AckEvent;

/// Rounds of Drain at most.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    pub(super) fn check_drain_done(&mut self, ev: &AckEvent) {
        let State::Drain(began) = self.state else { return };
        if self.in_flight <= self.inflight(self.bw, 1.0) || self.rounds.count > began + DRAIN_ROUNDS {
            self.start_down(ev.now);
        }
    }
}
