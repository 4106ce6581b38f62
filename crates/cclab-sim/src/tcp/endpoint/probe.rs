//! Probes: of the tail (RFC 8985 §7) and of a closed window (RFC 1122 §4.2.2.17).

use super::super::Recovery;
use super::recovery::SLACK;
use super::scoreboard::Skip;
use super::sender::{Sender, Taken};
use super::timer::{Kind, Timer};
use super::transmit::Outgoing;
use cclab_algo::cc::{Phase, Signal};
use cclab_algo::{Duration, Time};

/// A tail-loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// `snd_nxt` when it left; zero: none is out.
    pub high_seq: u64,
    /// It was a retransmission.
    pub retransmitted: bool,
    /// It is to leave now.
    pub due: bool,
}

impl Sender {
    /// Arms the probe timer instead of the RTO's; whether it may (nothing SACKed, no recovery: RFC 8985 §7.2).
    /// `advancing`: the RTO counts from now.
    pub fn schedule_probe(&mut self, now: Time, advancing: bool) -> bool {
        let may = self.config.tlp
            && self.style() == Recovery::Rack
            && !self.board.is_empty()
            && self.board.sacked().segments == 0
            && matches!(self.phase, Phase::Open | Phase::Cwr);
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
    pub fn rearm_from_head(&mut self, now: Time) {
        self.timer = Timer { kind: Kind::Rto, at: self.rto_of_head().max(now + Duration::from_micros(1)) };
    }

    /// The probe timer expired: one probe at a time.
    pub fn on_probe_timer(&mut self, now: Time) {
        if self.probe.high_seq != 0 || self.board.is_empty() || self.board.sacked().segments != 0 {
            return self.rearm(now);
        }
        self.probe.due = true;
        self.rearm_from(now);
    }

    /// New data if there is any the peer has room for, else the last segment again.
    pub fn send_probe(&mut self, now: Time) -> Option<Outgoing> {
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
        self.probe.retransmitted = out.retransmission;
        self.probe.high_seq = self.snd_nxt;
        self.rearm_from(now);
        Some(out)
    }

    /// What an ACK says of a probe in flight (RFC 8985 §7.4.2).
    pub fn on_probe_acked(&mut self, now: Time, ack: u64, taken: &mut Taken) {
        if self.probe.high_seq == 0 || ack < self.probe.high_seq {
            return;
        }
        if !self.probe.retransmitted || taken.dsack_of_probe {
            self.probe.high_seq = 0;
        } else if ack > self.probe.high_seq {
            // It repaired a loss that nobody else noticed.
            self.probe.high_seq = 0;
            if matches!(self.phase, Phase::Open | Phase::Disorder) {
                self.reduce(now, Signal::TailLoss);
                self.phase = Phase::Cwr;
                self.undo.marker = 0;
                self.leave(now);
            }
        } else if taken.pure && !taken.sacked {
            // Original and probe both arrived: nothing was lost.
            self.probe.high_seq = 0;
        }
    }

    /// Nothing is in flight and the peer's window is closed: keep asking.
    pub fn arm_persist(&mut self, now: Time) {
        if self.timer.kind != Kind::Persist {
            self.timer = Timer { kind: Kind::Persist, at: now + self.rtt.backed_off(self.window_probes) };
        }
    }

    /// The persist timer expired.
    pub fn on_persist_timer(&mut self, now: Time) {
        self.window_probes += 1;
        self.window_probe_due = true;
        self.timer = Timer { kind: Kind::Persist, at: now + self.rtt.backed_off(self.window_probes) };
    }

    /// What the window has room for, or an old empty segment that makes the peer answer (as Linux).
    pub fn send_window_probe(&mut self, now: Time) -> Option<Outgoing> {
        self.window_probe_due = false;
        let (len, _) = self.next_new()?;
        let room = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt).min(u64::from(len));
        if room > 0 {
            self.timer = Timer::default();
            return Some(self.transmit_new(now, room as u32, false));
        }
        Some(Outgoing { seq: self.snd_una - 1, ..Outgoing::default() })
    }
}
