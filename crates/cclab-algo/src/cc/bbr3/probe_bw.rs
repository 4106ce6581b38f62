//! ProbeBW: down, cruise, refill, up, and down again (§5.3.3).

use super::{Bbr3, MIN_PIPE, State};
use crate::units::{Duration, Time};

/// Rounds until the next probe at most, so that Reno keeps up (§5.3.3.8).
const RENO_ROUNDS: f64 = 63.0;
/// Share of inflight_longterm left to others while cruising.
const HEADROOM: f64 = 0.15;

/// What the ACKs now coming in tell of a probe (§5.3.3.9).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Acks {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// How fast UP raises inflight_longterm: by 1, 2, 4 … segments a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    rounds: u32,
    acked: f64,
    acked_per_inc: f64,
}

impl Slope {
    /// Before the first round.
    pub const NONE: Slope = Slope { rounds: 0, acked: 0.0, acked_per_inc: f64::INFINITY };

    /// A round later, at this W.
    pub fn raise(&mut self, cwnd: f64) {
        let growth = (1_u64 << self.rounds) as f64;
        self.rounds = (self.rounds + 1).min(30);
        self.acked_per_inc = (cwnd / growth).max(1.0);
    }

    /// By how much inflight_longterm rises now that so much was acknowledged.
    pub fn climb(&mut self, newly_acked: f64) -> f64 {
        self.acked += newly_acked;
        if self.acked < self.acked_per_inc {
            return 0.0;
        }
        let delta = (self.acked / self.acked_per_inc).floor();
        self.acked -= delta * self.acked_per_inc;
        delta
    }
}

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.rounds_since_probe = self.rng.below(2);
        self.probe_wait = Duration::from_secs_f64(2.0 + self.rng.uniform());
        self.cycle_stamp = now;
        self.acks = Acks::ProbeStopping;
        self.rounds.begin(self.delivered);
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.reset_short_term_model();
        self.prev_probe_precautionary = false;
        self.acks = Acks::Refilling;
        self.rounds.begin(self.delivered);
        self.state = State::Refill;
    }

    fn start_up(&mut self) {
        self.acks = Acks::ProbeStarting;
        self.rounds.begin(self.delivered);
        self.reset_full_bw();
        self.full_bw = self.rs.rate;
        let mut slope = Slope::NONE;
        slope.raise(self.cwnd);
        self.state = State::Up(slope);
    }

    pub(super) fn update_probe_bw_cycle(&mut self, now: Time) {
        if !self.full_bw_reached || self.adapt_long_term_model() {
            return;
        }
        let state = self.state;
        match state {
            State::Down => {
                if self.is_time_to_probe(now) {
                    self.start_refill();
                } else if self.is_time_to_cruise() {
                    self.state = State::Cruise;
                }
            }
            State::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            State::Refill if self.rounds.start => {
                self.is_bw_probe_sample = true;
                self.start_up();
            }
            State::Up(_) if self.is_time_to_go_down() => {
                self.prev_probe_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    pub(super) fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = self.target_inflight().min(RENO_ROUNDS);
        now > self.cycle_stamp + self.probe_wait || self.rounds_since_probe as f64 >= reno_rounds
    }

    fn is_time_to_cruise(&self) -> bool {
        self.in_flight <= self.inflight_with_headroom() && self.in_flight <= self.inflight(self.max_bw.get(), 1.0)
    }

    fn is_time_to_go_down(&mut self) -> bool {
        if self.prev_probe_too_high && self.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.cwnd_limited && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = self.rs.rate;
            return false;
        }
        self.full_bw_now
    }

    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp(1.0).min(self.cwnd)
    }

    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MIN_PIPE)
    }

    pub(super) fn probe_longterm_upward(&mut self) {
        let State::Up(slope) = &mut self.state else { return };
        if !self.cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        self.inflight_longterm += slope.climb(self.rs.newly_acked);
        if self.rounds.start {
            slope.raise(self.cwnd);
        }
    }

    /// Follows a probe's ACKs; whether that decided on the next state.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.acks == Acks::ProbeStarting && self.rounds.start {
            self.acks = Acks::ProbeFeedback;
        }
        if self.acks == Acks::ProbeStopping && self.rounds.start {
            self.is_bw_probe_sample = false;
            self.acks = Acks::Init;
            if self.state.is_probe_bw() && !self.rs.app_limited {
                self.cycle += 1;
            }
            if self.state.is_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(self.rs.tx_in_flight);
            self.probe_longterm_upward();
        }
        false
    }
}
