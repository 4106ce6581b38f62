//! ProbeRTT: where no smaller RTT was seen for five seconds, W is halved to see one (§5.3.4).

use super::control::PROBE_RTT_CWND_GAIN;
use super::{Acks, Bbr3, MIN_PIPE, State};
use crate::cc::AckEvent;
use crate::units::{Duration, Time};

const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeRtt {
    /// W packets are in flight, and it may end then.
    pub done: Option<Time>,
    /// A round has passed since.
    round_done: bool,
}

impl ProbeRtt {
    pub const BEGUN: ProbeRtt = ProbeRtt { done: None, round_done: false };
}

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, ev: &AckEvent) {
        self.probe_rtt_expired = ev.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ev.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|min| rtt < min))
        {
            self.probe_rtt_min = Some(rtt);
            self.probe_rtt_min_stamp = ev.now;
        }
        let expired = ev.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(rtt) = self.probe_rtt_min
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    pub(super) fn check_probe_rtt(&mut self, ev: &AckEvent) {
        let probing = matches!(self.state, State::ProbeRtt(_));
        if !probing && self.probe_rtt_expired && !self.idle_restart && self.min_rtt.is_some() {
            self.save_cwnd();
            self.state = State::ProbeRtt(ProbeRtt::BEGUN);
            self.acks = Acks::ProbeStopping;
            self.rounds.begin(self.delivered);
        }
        if let State::ProbeRtt(probe) = self.state {
            self.handle_probe_rtt(probe, ev);
        }
        self.idle_restart = false;
    }

    fn handle_probe_rtt(&mut self, mut probe: ProbeRtt, ev: &AckEvent) {
        self.bubble.mark(ev.delivered, ev.bytes_in_flight);
        if probe.done.is_some() {
            probe.round_done |= self.rounds.start;
        } else if self.in_flight <= self.probe_rtt_cwnd() {
            probe = ProbeRtt { done: Some(ev.now + PROBE_RTT_TIME), round_done: false };
            self.rounds.begin(self.delivered);
        }
        self.state = State::ProbeRtt(probe);
        if probe.round_done {
            self.check_probe_rtt_done(probe, ev.now);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, probe: ProbeRtt, now: Time) {
        if probe.done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(PROBE_RTT_CWND_GAIN).max(MIN_PIPE)
    }
}
