//! Startup: the rate doubles each round until the delivery rate stops growing, or too much is lost (§5.3.1).

use super::{Bbr3, Ended, State};
use crate::cc::{AckEvent, Phase};

/// Startup goes on while the delivery rate grows by a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Ranges of lost data in a round that may end Startup.
const STARTUP_LOSSES: u32 = 6;

impl Bbr3 {
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_count = 0;
        self.full_bw_now = false;
    }

    pub(super) fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.rounds.start || self.rs.app_limited || self.rs.rate == 0.0 {
            return;
        }
        if self.rs.rate >= FULL_GROWTH * self.full_bw {
            self.reset_full_bw();
            self.full_bw = self.rs.rate;
            return;
        }
        self.full_count += 1;
        self.full_bw_now = self.full_count >= FULL_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    pub(super) fn check_startup_done(&mut self, ev: &AckEvent) {
        self.check_startup_high_loss(ev);
        if matches!(self.state, State::Startup) && self.full_bw_reached {
            self.state = State::Drain(self.rounds.count);
        }
    }

    /// A round of recovery, 2 % lost in it, in six places: the pipe is full and the buffer too.
    fn check_startup_high_loss(&mut self, ev: &AckEvent) {
        self.startup_losses += u32::from(ev.lost_bytes > 0);
        if !self.loss_round_start {
            return;
        }
        let losses = std::mem::take(&mut self.startup_losses);
        let for_a_round = ev.phase == Phase::Recovery && self.rounds.count > self.recovery_began;
        if matches!(self.state, State::Startup)
            && !self.full_bw_reached
            && for_a_round
            && losses >= STARTUP_LOSSES
            && self.is_inflight_too_high()
        {
            self.undo.ended = Some(Ended::Startup);
            self.full_bw_reached = true;
            self.inflight_longterm = self.bdp(1.0).max(self.inflight_latest);
        }
    }
}
