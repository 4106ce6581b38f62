//! DRAIN: the queue that STARTUP left behind goes, until BDP is in flight.

use super::{Bbr, Cycle, State};
use crate::cc::AckEvent;

impl<C: Cycle> Bbr<C> {
    pub(super) fn check_drain(&mut self, ev: &AckEvent) {
        if matches!(self.state, State::Startup) && self.full_pipe.reached {
            self.state = State::Drain;
        }
        if matches!(self.state, State::Drain) && self.segments(ev.bytes_in_flight) <= self.inflight(1.0) {
            self.enter_probe_bw(ev.now);
        }
    }
}
