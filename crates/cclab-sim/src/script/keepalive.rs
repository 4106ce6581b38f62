//! Keep-alive: a silent peer is asked whether it is there, and given up where it does not say (RFC 9293 §3.8.4; the times are those of
//! Linux's `tcp_keepalive_timer`).

use super::world::Connection;
use crate::tcp::State;
use cclab_algo::{Duration, Time};

/// What a silent peer is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience<T> {
    /// Seconds of silence before the first probe, and between two of them; how many go unanswered.
    pub idle: T,
    pub interval: T,
    pub probes: T,
}

/// SO_KEEPALIVE and its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepAlive {
    on: bool,
    /// What the socket says; where it says nothing the host's sysctls count, whenever they are set.
    own: Patience<Option<i64>>,
    pub host: Patience<i64>,
    /// When to look next.
    pub due: Time,
}

impl Default for KeepAlive {
    /// Linux's sysctls.
    fn default() -> KeepAlive {
        let own = Patience { idle: None, interval: None, probes: None };
        let host = Patience { idle: 7200, interval: 75, probes: 9 };
        KeepAlive { on: false, own, host, due: Time::NEVER }
    }
}

impl KeepAlive {
    fn patience(&self) -> Patience<i64> {
        let KeepAlive { own, host, .. } = self;
        Patience {
            idle: own.idle.unwrap_or(host.idle),
            interval: own.interval.unwrap_or(host.interval),
            probes: own.probes.unwrap_or(host.probes),
        }
    }

    /// The value of an option; `None`: it is none of these.
    pub fn get(&self, option: &str) -> Option<i64> {
        Some(match option {
            "SO_KEEPALIVE" => i64::from(self.on),
            "TCP_KEEPIDLE" => self.patience().idle,
            "TCP_KEEPINTVL" => self.patience().interval,
            "TCP_KEEPCNT" => self.patience().probes,
            _ => return None,
        })
    }

    /// Sets an option; whether the value is allowed (`MAX_TCP_KEEPIDLE`, `MAX_TCP_KEEPINTVL`, `MAX_TCP_KEEPCNT`).
    pub fn set(&mut self, option: &str, value: i64) -> bool {
        let (field, most) = match option {
            "TCP_KEEPIDLE" => (&mut self.own.idle, 32_767),
            "TCP_KEEPINTVL" => (&mut self.own.interval, 32_767),
            "TCP_KEEPCNT" => (&mut self.own.probes, 127),
            _ => {
                self.on = value != 0;
                return true;
            }
        };
        let allowed = (1..=most).contains(&value);
        *field = if allowed { Some(value) } else { *field };
        allowed
    }

    fn idle(&self) -> Duration {
        Duration::from_secs(self.patience().idle as u64)
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
                None => i64::from(self.probes) >= self.keep_alive.patience().probes,
            };
            if given_up {
                endpoint.reset(now);
                self.keep_alive.due = Time::NEVER;
                return self.fail(now, "ETIMEDOUT");
            }
            endpoint.ask(now);
            Duration::from_secs(self.keep_alive.patience().interval as u64)
        };
        self.keep_alive.due = now + next;
    }
}
