//! Loss recovery: BtlBw and RTprop stay what they are, but for a round no more leaves than was delivered.

use super::{Bbr, Cycle, State};
use crate::cc::{AckEvent, Phase};

/// What recovery does to W.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// Its phase at the last ACK or timeout.
    pub phase: Phase,
    /// Packets are conserved.
    pub conserve: bool,
    /// W before recovery or PROBE_RTT.
    pub prior_cwnd: f64,
    /// W was cut to one segment; what is in flight beside it is not known before the next ACK.
    pub timed_out: bool,
}

fn is_on(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}

impl<C: Cycle> Bbr<C> {
    pub(super) fn save_cwnd(&mut self) {
        let prior = &mut self.recovery.prior_cwnd;
        let cut = is_on(self.recovery.phase) || matches!(self.state, State::ProbeRtt(_));
        *prior = if cut { prior.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
    }

    /// In recovery: what was lost is not in flight, and for a round no more leaves than was delivered. After it, W as
    /// it was. Whether packets are conserved.
    pub(super) fn recover(&mut self, ev: &AckEvent, acked: f64) -> bool {
        let in_flight = self.segments(ev.bytes_in_flight);
        let before = std::mem::replace(&mut self.recovery.phase, ev.phase);
        self.cwnd = (self.cwnd - self.segments(ev.lost_bytes)).max(1.0);
        if ev.phase == Phase::Recovery && before != Phase::Recovery {
            self.recovery.conserve = true;
            self.rounds.begin(ev.delivered);
            self.cwnd = in_flight + acked;
        } else if is_on(before) && !is_on(ev.phase) {
            self.recovery.conserve = false;
            self.restore_cwnd();
        }
        if self.recovery.conserve {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
        self.recovery.conserve
    }
}
