//! Congestion-window validation: a window that is not used says nothing of the path, so it must neither
//! grow nor be kept (RFC 7661's aim; RFC 2861's rules as Linux has them).

use super::Sender;
use cclab_algo::cc::{IdleEvent, Phase, RestartEvent};
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Time};

/// How the window is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// The window kept the sender back, at some time in this window of data.
    limited: bool,
    /// Most bytes in flight in this window of data.
    max_out: u64,
    /// This window of data ends here.
    ends: u64,
    /// Most bytes in flight since the window was last the limit.
    used: u64,
    /// When it was last the limit.
    last_limited: Time,
    /// When data was last sent.
    last_send: Time,
    /// Something was sent since the sender last stopped.
    sent: bool,
}

impl Usage {
    /// The connection is established at `now`.
    pub fn new(now: Time) -> Usage {
        Usage { last_limited: now, ..Usage::default() }
    }

    /// Everything happened so much later.
    pub fn shift(&mut self, by: Duration) {
        self.last_limited += by;
        if self.last_send != Time::ZERO {
            self.last_send += by;
        }
    }

    /// New data leaves.
    pub fn on_new_data(&mut self, now: Time) {
        self.last_send = now;
    }
    /// When new data last left.
    pub fn last_send(&self) -> Time {
        self.last_send
    }
    /// Something leaves, of which `counts` says whether it makes use of the window: new data, unless as a probe.
    pub fn note_sent(&mut self, counts: bool) {
        self.sent |= counts;
    }
    /// The sender stops: whether something was sent since it last did.
    pub fn take_sent(&mut self) -> bool {
        std::mem::take(&mut self.sent)
    }
}

impl Sender {
    /// The sender stops; `limited`: the window keeps it back (Linux `tcp_cwnd_validate`).
    pub(super) fn note_usage(&mut self, now: Time, limited: bool) {
        let out = self.board.out().bytes;
        let usage = &mut self.usage;
        if self.window.una() >= usage.ends || limited || (!usage.limited && out > usage.max_out) {
            usage.limited = limited;
            usage.max_out = out;
            usage.ends = self.window.nxt();
        }
        if self.is_cwnd_limited() {
            self.usage.used = 0;
            self.usage.last_limited = now;
            return;
        }
        let usage = &mut self.usage;
        usage.used = usage.used.max(out);
        if self.config.slow_start_after_idle
            && !self.law.governs_recovery()
            && self.config.flavour == Flavour::Linux
            && now.since(usage.last_limited) >= self.rtt.rto()
        {
            self.shrink_unused(now);
        }
    }

    /// Whether an ACK may raise the window. In slow start it may go up to twice what was in flight.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        let cwnd = self.law.cwnd();
        let slow_start = !self.law.governs_recovery() && cwnd < self.law.ssthresh();
        self.usage.limited || (slow_start && cwnd < 2 * self.usage.max_out)
    }

    fn initial_window(&self) -> u64 {
        u64::from(self.config.initial_window) * self.mss()
    }

    /// Not limited by the window for an RTO: halfway down to what was used (RFC 2861 §3).
    fn shrink_unused(&mut self, now: Time) {
        if self.episode.phase() == Phase::Open {
            let cwnd = self.law.cwnd();
            let used = self.usage.used.max(self.initial_window());
            if used < cwnd {
                self.restart(now, (cwnd + used) / 2);
            }
            self.usage.used = 0;
        }
        self.usage.last_limited = now;
    }

    /// New data after an idle time: the window halves once per RTO (RFC 2861 §3); RFC 5681 §4.1 restarts
    /// from the initial window. A law that governs its window itself keeps it.
    pub(super) fn restart_if_idle(&mut self, now: Time) {
        if !self.config.slow_start_after_idle || self.law.governs_recovery() || !self.board.is_empty() {
            return;
        }
        let (idle, rto) = (now.since(self.usage.last_send), self.rtt.rto());
        if idle <= rto || self.usage.last_send == Time::ZERO {
            return;
        }
        let cwnd = self.law.cwnd();
        let floor = self.initial_window().min(cwnd);
        let to = match self.config.flavour {
            Flavour::Paper => floor,
            Flavour::Linux => {
                let halvings = ((idle.0 - 1) / rto.0.max(1)).min(63);
                (cwnd >> halvings).max(floor)
            }
        };
        self.restart(now, to);
        self.usage.used = 0;
        self.usage.last_limited = now;
    }

    /// New data leaves, and nothing is in flight: the law is told for how long nothing was sent.
    pub(super) fn tell_idle(&mut self, now: Time) {
        if self.usage.last_send == Time::ZERO {
            return;
        }
        let event = IdleEvent { now, idle: now.since(self.usage.last_send), app_limited: self.rate.is_app_limited() };
        self.law.tell(|cc| cc.on_idle(&event));
        if self.law.pacing_rate().is_some() {
            self.update_pacing();
        }
    }

    fn restart(&mut self, now: Time, cwnd: u64) {
        // What the window was is remembered as the threshold: three quarters, in Linux the sum of whole halves and quarters.
        let (w, mss) = (self.law.cwnd(), self.mss());
        let most = match self.config.flavour {
            Flavour::Linux => (w / mss / 2 + w / mss / 4) * mss,
            Flavour::Paper => w / 4 * 3,
        };
        let ssthresh = self.law.ssthresh().max(most);
        self.law.tell(|cc| cc.on_restart(&RestartEvent { now, cwnd, ssthresh }));
    }
}
