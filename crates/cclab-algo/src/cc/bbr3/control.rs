//! What the model says of pacing rate and W (§5.6).

use super::{Bbr3, MIN_PIPE, State};
use crate::cc::AckEvent;
use crate::units::Duration;

/// Startup's pacing gain, 4 ln 2 (§5.6.1).
const STARTUP_GAIN: f64 = 2.77;
const UP_GAIN: f64 = 1.25;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
pub(super) const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// Pacing stays 1 % below gain · bw (§5.6.2).
const MARGIN: f64 = 0.99;

impl Bbr3 {
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain(_) => self.drain_gain,
            State::Down => self.down_gain,
            State::Up(_) => UP_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt(_) => 1.0,
        }
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up(_) => UP_CWND_GAIN,
            State::ProbeRtt(_) => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    pub(super) fn init_pacing(&mut self, rtt: Duration) {
        self.pacing_rate = STARTUP_GAIN * self.initial_window * self.segment / rtt.as_secs_f64();
    }

    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * MARGIN;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// gain · bw · min_rtt.
    pub(super) fn bdp(&self, gain: f64) -> f64 {
        self.bdp_at(self.bw, gain)
    }

    fn bdp_at(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |rtt| gain * bw * rtt.as_secs_f64() / self.segment)
    }

    /// Room for three quanta of up to a millisecond.
    fn with_quanta(&self, inflight: f64) -> f64 {
        let quantum = (self.pacing_rate * 0.001).min(65_536.0 * 8.0).max(2.0 * self.segment) / self.segment;
        let probe = if matches!(self.state, State::Up(_)) { 2.0 } else { 0.0 };
        inflight.max(3.0 * quantum).max(MIN_PIPE) + probe
    }

    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.with_quanta(self.bdp_at(bw, gain))
    }

    pub(super) fn set_cwnd(&mut self, ev: &AckEvent) {
        let max_inflight = self.with_quanta(self.bdp(self.cwnd_gain()) + self.extra_acked.get());
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + self.rs.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.segments(ev.delivered) < self.initial_window {
            self.cwnd += self.rs.newly_acked;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE);
        if matches!(self.state, State::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            State::Startup | State::Drain(_) => f64::INFINITY,
            State::Down | State::Refill | State::Up(_) => self.inflight_longterm,
            State::Cruise | State::ProbeRtt(_) => self.inflight_with_headroom(),
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_shortterm).max(MIN_PIPE));
    }
}
