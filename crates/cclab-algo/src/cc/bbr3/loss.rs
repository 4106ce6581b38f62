//! Too much loss: what was in flight when it came bounds what may be (§5.5.10.2), and what a spurious recovery gives back
//! (§5.5.11).

use super::{BETA, Bbr3, State};
use crate::cc::Phase;
use crate::units::Time;

/// What a spurious recovery gives back (§5.5.11).
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// What they ended.
    pub ended: Option<Ended>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// A search that losses ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    Startup,
    Up,
}

impl Default for Undo {
    fn default() -> Self {
        let none = f64::INFINITY;
        Undo { ended: None, bw_shortterm: none, inflight_shortterm: none, inflight_longterm: none }
    }
}

impl Bbr3 {
    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.rs.lost > self.loss_threshold * self.rs.tx_in_flight
    }

    pub(super) fn handle_inflight_too_high(&mut self, now: Time) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.rs.app_limited {
            self.inflight_longterm = self.rs.tx_in_flight.max(BETA * self.target_inflight());
        }
        if matches!(self.state, State::Up(_)) {
            self.undo.ended = Some(Ended::Up);
            self.start_down(now);
        }
    }

    /// At what volume in flight losses crossed the threshold, somewhere in a packet of `size`.
    pub(super) fn inflight_at_loss(&self, size: f64) -> f64 {
        let inflight_prev = self.rs.tx_in_flight - size;
        let lost_prev = self.rs.lost - size;
        let lost_prefix = (self.loss_threshold * inflight_prev - lost_prev) / (1.0 - self.loss_threshold);
        inflight_prev + lost_prefix
    }

    /// §5.6.4.4.
    pub(super) fn save_cwnd(&mut self) {
        let cut = matches!(self.phase, Phase::Recovery | Phase::Loss) || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// What a spurious recovery is to give back (§5.5.11).
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            ended: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }
    /// §5.5.11.2: what the losses took comes back, and a search that they ended begins anew.
    pub(super) fn take_back(&mut self) {
        self.restore_cwnd();
        self.loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match (self.undo.ended.take(), self.state) {
            (None, _) | (Some(Ended::Startup), State::Startup) => {}
            (Some(Ended::Startup), state) => {
                self.full_bw_reached = false;
                if !matches!(state, State::ProbeRtt(_)) {
                    self.state = State::Startup;
                }
            }
            (Some(Ended::Up), State::Up(_) | State::ProbeRtt(_)) => {}
            (Some(Ended::Up), _) => self.start_refill(),
        }
    }
}
