//! Probes: of the tail (RFC 8985 §7) and of a closed window (RFC 1122 §4.2.2.17).

use super::super::super::Recovery;
use super::recovery::SLACK;
use super::scoreboard::Skip;
use super::timer::{Kind, Timer};
use super::{Outgoing, Sender, Taken};
use cclab_algo::cc::{Phase, Signal};
use cclab_algo::{Duration, Time};

/// A tail-loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    /// TLP.end_seq (RFC 8985 §7.1): SND.NXT when it left; zero: none is out.
    end_seq: u64,
    /// TLP.is_retrans.
    retransmitted: bool,
    /// It is to leave now.
    due: bool,
}

impl TailProbe {
    pub fn is_out(&self) -> bool {
        self.end_seq != 0
    }
    pub fn is_due(&self) -> bool {
        self.due
    }
    fn on_sent(&mut self, nxt: u64, retransmitted: bool) {
        (self.end_seq, self.retransmitted) = (nxt, retransmitted);
    }
    /// What it could tell is known otherwise.
    pub fn forget(&mut self) {
        self.end_seq = 0;
    }
    /// Whether a DSACK of so many segments that end at `end` is about the probe.
    pub fn is_duplicate(&self, segments: u64, end: u64) -> bool {
        self.is_out() && self.retransmitted && segments == 1 && end == self.end_seq
    }

    /// What an ACK says of it (RFC 8985 §7.4.2): whether it repaired a loss that nobody else noticed.
    fn on_ack(&mut self, ack: u64, taken: &Taken) -> bool {
        if !self.is_out() || ack < self.end_seq {
            return false;
        }
        let dropped = self.retransmitted && !taken.dsack_of_probe;
        let repaired = dropped && ack > self.end_seq;
        // Original and probe both arrived: nothing was lost.
        let both = taken.pure && !taken.sacked;
        if !dropped || repaired || both {
            self.forget();
        }
        repaired
    }
}

/// Probes of a closed window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Persist {
    probes: u32,
    /// One is to leave now.
    due: bool,
}

impl Persist {
    pub fn is_due(&self) -> bool {
        self.due
    }
    /// How many were due in a row.
    pub fn probes(&self) -> u32 {
        self.probes
    }
    /// The window is open.
    pub fn end(&mut self) {
        *self = Persist::default();
    }
}

impl Sender {
    /// Arms the probe timer instead of the RTO's; whether it may (nothing SACKed, no recovery: RFC 8985 §7.2).
    /// `advancing`: the RTO counts from now.
    pub(super) fn schedule_probe(&mut self, now: Time, advancing: bool) -> bool {
        let may = self.config.tlp
            && self.style() == Recovery::Rack
            && !self.board.is_empty()
            && self.board.sacked().segments == 0
            && matches!(self.episode.phase(), Phase::Open | Phase::Cwr);
        if !may {
            return false;
        }
        let pto = if !self.rtt.has_sample() {
            Duration::from_secs(1)
        } else if self.board.out().segments == 1 {
            self.rtt.srtt() * 2 + self.config.rto.min
        } else {
            self.rtt.srtt() * 2 + SLACK
        };
        let rto_at = if advancing { now + self.rtt.rto() } else { self.rto_of_head() };
        let at = if rto_at > now { rto_at.min(now + pto) } else { now + pto };
        self.timer = Timer { kind: Kind::Probe, at };
        true
    }

    fn rto_of_head(&self) -> Time {
        self.board.front().map_or(Time::NEVER, |head| head.sent + self.rtt.rto())
    }

    /// The RTO, counted from the first segment's last transmission.
    pub(super) fn rearm_from_head(&mut self, now: Time) {
        self.timer = Timer { kind: Kind::Rto, at: self.rto_of_head().max(now + Duration::from_micros(1)) };
    }

    /// The probe timer expired: one probe at a time.
    pub(super) fn on_probe_timer(&mut self, now: Time) {
        if self.probe.is_out() || self.board.is_empty() || self.board.sacked().segments != 0 {
            return self.rearm(now);
        }
        self.probe.due = true;
        self.rearm_from(now);
    }

    /// New data if there is any the peer has room for, else the last segment again.
    pub(super) fn send_probe(&mut self, now: Time) -> Option<Outgoing> {
        self.probe.due = false;
        if self.board.is_empty() {
            return None;
        }
        let out = match self.new_in_window() {
            Some((len, fin)) => self.transmit_new(now, len, fin),
            None => {
                let last = self.board.scan_back(self.board.head(), self.board.tail(), Skip::Sacked)?;
                self.retransmit(now, last)
            }
        };
        self.stats.probes += 1;
        self.probe.on_sent(self.window.nxt(), out.retransmission);
        self.rearm_from(now);
        Some(out)
    }

    /// What an ACK says of a probe in flight.
    pub(super) fn on_probe_acked(&mut self, now: Time, ack: u64, taken: &Taken) {
        if self.probe.on_ack(ack, taken) && matches!(self.episode.phase(), Phase::Open | Phase::Disorder) {
            self.reduce(now, Signal::TailLoss);
            self.episode.enter_cwr();
            self.leave(now);
        }
    }

    /// Nothing is in flight and the peer's window is closed: keep asking.
    pub(super) fn arm_persist(&mut self, now: Time) {
        if self.timer.kind != Kind::Persist {
            self.timer = Timer { kind: Kind::Persist, at: now + self.rtt.backed_off(self.persist.probes) };
        }
    }

    /// The persist timer expired.
    pub(super) fn on_persist_timer(&mut self, now: Time) {
        self.persist.probes += 1;
        self.persist.due = true;
        self.timer = Timer { kind: Kind::Persist, at: now + self.rtt.backed_off(self.persist.probes) };
    }

    /// What the window has room for, or an old empty segment that makes the peer answer (as Linux).
    pub(super) fn send_window_probe(&mut self, now: Time) -> Option<Outgoing> {
        self.persist.due = false;
        let (len, _) = self.next_new()?;
        let room = self.window.usable().min(u64::from(len));
        if room > 0 {
            self.timer = Timer::default();
            return Some(self.transmit_new(now, room as u32, false));
        }
        Some(Outgoing { seq: self.window.una() - 1, ..Outgoing::default() })
    }
}
