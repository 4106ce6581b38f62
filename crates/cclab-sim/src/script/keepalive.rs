//! Keep-alive: a silent peer is asked whether it is there, and given up where it does not say (RFC 9293 §3.8.4; the times are those of
//! Linux's `tcp_keepalive_timer`).

use super::world::Connection;
use crate::tcp::State;
use cclab_algo::{Duration, Time};

/// SO_KEEPALIVE and its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepAlive {
    on: bool,
    /// Seconds of silence before the first probe, and between two of them; how many go unanswered.
    pub idle: i64,
    pub interval: i64,
    pub probes: i64,
    /// When to look next.
    pub due: Time,
}

impl Default for KeepAlive {
    /// Linux's sysctls.
    fn default() -> KeepAlive {
        KeepAlive { on: false, idle: 7200, interval: 75, probes: 9, due: Time::NEVER }
    }
}

impl KeepAlive {
    /// The value of an option; `None`: it is none of these.
    pub fn get(&self, option: &str) -> Option<i64> {
        Some(match option {
            "SO_KEEPALIVE" => i64::from(self.on),
            "TCP_KEEPIDLE" => self.idle,
            "TCP_KEEPINTVL" => self.interval,
            "TCP_KEEPCNT" => self.probes,
            _ => return None,
        })
    }

    /// Sets an option; whether the value is allowed (`MAX_TCP_KEEPIDLE`, `MAX_TCP_KEEPINTVL`, `MAX_TCP_KEEPCNT`).
    pub fn set(&mut self, option: &str, value: i64) -> bool {
        let (field, most) = match option {
            "TCP_KEEPIDLE" => (&mut self.idle, 32_767),
            "TCP_KEEPINTVL" => (&mut self.interval, 32_767),
            "TCP_KEEPCNT" => (&mut self.probes, 127),
            _ => {
                self.on = value != 0;
                return true;
            }
        };
        let allowed = (1..=most).contains(&value);
        *field = if allowed { value } else { *field };
        allowed
    }

    fn idle(&self) -> Duration {
        Duration::from_secs(self.idle as u64)
    }
}

impl Connection {
    /// Sets an option of an open connection, and when to look.
    pub(super) fn set_keep_alive(&mut self, now: Time, option: &str, value: i64) -> bool {
        let was_on = self.keep_alive.on;
        let allowed = self.keep_alive.set(option, value);
        let idle = self.keep_alive.idle();
        match option {
            _ if !self.keep_alive.on => self.keep_alive.due = Time::NEVER,
            _ if !allowed || !self.can_be_asked() => {}
            "SO_KEEPALIVE" if !was_on => self.keep_alive.due = now + idle,
            "TCP_KEEPIDLE" => self.keep_alive.due = now.max(self.heard + idle),
            _ => {}
        }
        allowed
    }

    /// Whether there is a peer to ask: both SYNs are acknowledged, and the connection is not over.
    fn can_be_asked(&self) -> bool {
        self.is_open() && !matches!(self.state(), State::SynReceived | State::TimeWait)
    }

    /// The connection may just have come up.
    pub(super) fn begin_keep_alive(&mut self, now: Time) {
        if self.keep_alive.on && self.keep_alive.due == Time::NEVER && self.can_be_asked() {
            self.keep_alive.due = now + self.keep_alive.idle();
        }
    }

    /// It is time to look whether the peer is there. While anything is to be sent or is out, a FIN too, that tells.
    pub(super) fn on_keep_alive(&mut self, now: Time) {
        if !self.can_be_asked() {
            self.keep_alive.due = Time::NEVER;
            return;
        }
        let (idle, silent) = (self.keep_alive.idle(), now.since(self.heard));
        let unacked = self.unacked() > 0;
        let Some(endpoint) = self.endpoint.as_mut() else { return };
        let busy = unacked || endpoint.info().packets_out > 0;
        let next = if busy {
            idle
        } else if silent < idle {
            idle - silent
        } else {
            let given_up = match self.user_timeout {
                Some(timeout) => silent >= timeout && self.probes > 0,
                None => i64::from(self.probes) >= self.keep_alive.probes,
            };
            if given_up {
                endpoint.reset(now);
                self.keep_alive.due = Time::NEVER;
                return self.fail(now, "ETIMEDOUT");
            }
            endpoint.ask(now);
            Duration::from_secs(self.keep_alive.interval as u64)
        };
        self.keep_alive.due = now + next;
    }
}
