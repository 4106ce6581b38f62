//! PROBE_RTT: where no smaller RTT was seen for ten seconds, the queue is emptied to see one.

use super::{Bbr, Cycle, MIN_WINDOW, State};
use crate::cc::AckEvent;
use crate::units::{Duration, Time};

/// Window of RTprop.
const RT_PROP_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// How far it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// W packets are in flight, and it may end then.
    pub done: Option<Time>,
    /// A round has passed since.
    round_done: bool,
}

impl<C: Cycle> Bbr<C> {
    /// RTprop, and PROBE_RTT when it is old.
    pub(super) fn update_rt_prop(&mut self, ev: &AckEvent) {
        let expired = ev.now > self.rt_prop_stamp + RT_PROP_WINDOW;
        if let Some(rtt) = ev.rtt {
            // The ACK of a lone small segment may have been delayed: it is no measure for an expired RTprop.
            let delayed = ev.prior_in_flight == ev.acked_bytes && (ev.acked_bytes as f64) * 8.0 < self.segment;
            let smaller = self.rt_prop.is_none_or(|old| rtt < old || (!self.linux && rtt == old));
            if smaller || (expired && !delayed) {
                self.rt_prop = Some(rtt);
                self.rt_prop_stamp = ev.now;
            }
        }
        let probing = matches!(self.state, State::ProbeRtt(_));
        if expired && !self.idle_restart && !probing && self.rt_prop.is_some() {
            self.save_cwnd();
            self.state = State::ProbeRtt(ProbeRtt::default());
        }
        if let State::ProbeRtt(probe) = self.state {
            self.probe_rtt(probe, ev);
        }
        if ev.delivered_bytes > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, mut probe: ProbeRtt, ev: &AckEvent) {
        self.bubble.mark(ev.delivered, ev.bytes_in_flight);
        if probe.done.is_some() {
            probe.round_done |= self.rounds.start;
        } else if self.segments(ev.bytes_in_flight) <= MIN_WINDOW {
            probe = ProbeRtt { done: Some(ev.now + PROBE_RTT_TIME), round_done: false };
            self.rounds.begin(ev.delivered);
        }
        self.state = State::ProbeRtt(probe);
        if probe.round_done {
            self.leave_probe_rtt(probe, ev.now);
        }
    }

    pub(super) fn leave_probe_rtt(&mut self, probe: ProbeRtt, now: Time) {
        if probe.done.is_none_or(|done| now <= done) {
            return;
        }
        self.rt_prop_stamp = now;
        self.restore_cwnd();
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }
}
