//! The model of the path: the largest delivery rate, what losses leave of rate and volume for a while, and the excess of
//! ACKs (§5.5).

use super::{BETA, Bbr3};
use crate::cc::AckEvent;
use crate::units::Time;

pub(super) const EXTRA_ACKED_ROUNDS: u64 = 10;
/// Cycles of the filter of max_bw.
pub(super) const MAX_BW_CYCLES: u64 = 2;

impl Bbr3 {
    /// Rounds, and the largest delivery rate of two cycles (§5.5.1 to §5.5.6).
    fn update_max_bw(&mut self) {
        self.rounds_since_probe += u64::from(self.rounds.start);
        if self.rs.rate > 0.0 && (self.rs.rate >= self.max_bw.get() || !self.rs.app_limited) {
            self.max_bw.update(self.cycle, self.rs.rate, MAX_BW_CYCLES);
        }
    }

    /// What was delivered in this round at most (§5.5.10.3).
    pub(super) fn update_latest_delivery_signals(&mut self, ev: &AckEvent) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(self.rs.rate);
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered);
        if ev.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = ev.delivered;
            self.loss_round_start = true;
        }
    }

    /// Once per round: losses outside of a probe lower the short-term model (§5.5.10.3).
    pub(super) fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !self.state.is_probing() {
            // The first congestion of this cycle starts from what was used.
            let bw = if self.bw_shortterm.is_finite() { self.bw_shortterm } else { self.max_bw.get() };
            let inflight = if self.inflight_shortterm.is_finite() { self.inflight_shortterm } else { self.cwnd };
            self.bw_shortterm = self.bw_latest.max(BETA * bw);
            self.inflight_shortterm = self.inflight_latest.max(BETA * inflight);
        }
        self.loss_in_round = false;
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// What ACKs bring in excess of bw (§5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, now: Time) {
        let mut expected = self.bw * now.since(self.extra_start).as_secs_f64() / self.segment;
        if self.extra_delivered <= expected {
            self.extra_delivered = 0.0;
            self.extra_start = now;
            expected = 0.0;
        }
        self.extra_delivered += self.rs.newly_acked;
        let extra = (self.extra_delivered - expected).min(self.cwnd);
        let window = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(self.rounds.count, extra, window);
    }
}
