//! Loss recovery: the phases a sender goes through, and what each ACK means in them.
//!
//! The phases and the order of the tests are Linux's (`tcp_fastretrans_alert`). Two ways to learn of losses
//! meet here: with SACK, from the scoreboard (RFC 6675 or RACK); without, from counting duplicate ACKs
//! (Tahoe, Reno RFC 5681, NewReno RFC 6582).

use super::super::Recovery;
use super::prr::Prr;
use super::scoreboard::Skip;
use super::sender::{Sender, Taken};
use super::timer::{Kind, Timer};
use cclab_algo::cc::{CongestionEvent, LostEvent, Phase, RecoveredEvent, Signal};
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Time};

/// Linux gives a timer two ticks of slack (`TCP_TIMEOUT_MIN`).
pub(super) const SLACK: Duration = Duration::from_millis(2);

impl Sender {
    /// The window while recovery governs it.
    pub fn recovery_window(&self) -> u64 {
        if self.cc.governs_recovery() || self.cc.ssthresh() == u64::MAX {
            // A law without a threshold has no target to be steered to.
            self.cc.cwnd()
        } else if self.classic() && self.phase == Phase::Recovery {
            self.inflated
        } else if self.style() == Recovery::Sack && !self.config.prr && self.phase == Phase::Recovery {
            self.cc.cwnd()
        } else {
            self.prr.window
        }
    }

    /// Moves the phases on.
    pub fn recover(&mut self, now: Time, taken: &mut Taken) {
        let marked = self.board.marked_lost;
        if taken.ece {
            self.undo.marker = 0; // a reduction that ECN asks for is never undone
        }
        self.end_episode(now, taken);
        match self.phase {
            Phase::Recovery => self.in_recovery(now, taken),
            Phase::Loss => self.in_loss(now, taken),
            _ => self.in_open(now, taken),
        }
        taken.lost_bytes = self.board.marked_lost - marked;
        self.tell_losses(now);
    }

    /// Tells the law of each packet marked lost, before it learns that this is congestion.
    pub fn tell_losses(&mut self, now: Time) {
        if !self.cc.tracks_packets() {
            return;
        }
        let mut losses = std::mem::take(&mut self.losses);
        self.board.take_losses(&mut losses);
        let delivered = self.rate.delivered;
        for loss in &losses {
            let event = LostEvent {
                now,
                bytes: u64::from(loss.sent.len),
                sent: loss.sent.sent,
                tx_in_flight: loss.track.in_flight,
                prior_lost: loss.track.lost,
                lost: loss.marked_lost,
                prior_delivered: loss.sent.rate.delivered(),
                delivered,
                app_limited: loss.sent.rate.app_limited(),
            };
            self.cc.tell(|cc| cc.on_lost(&event));
        }
        self.losses = losses;
    }

    /// Everything that was out when the episode began is acknowledged.
    fn end_episode(&mut self, now: Time, taken: &Taken) {
        match self.phase {
            // One more than that, so that CWR reaches the peer.
            Phase::Cwr if self.snd_una > self.high_seq => self.leave(now),
            Phase::Recovery if self.snd_una >= self.high_seq => {
                if self.may_undo(taken) {
                    self.undo_reduction(now, false);
                    self.settle();
                } else {
                    self.rack.on_recovered();
                    self.leave(now);
                }
            }
            _ => {}
        }
    }

    /// Back to the open phase, and the window to the law.
    pub fn leave(&mut self, now: Time) {
        let phase = self.phase;
        self.dupacks = 0;
        self.force = false;
        self.phase = Phase::Open;
        self.cc.tell(|cc| cc.on_recovered(&RecoveredEvent { now, phase }));
        self.settle();
    }

    /// Open, or disorder while something is still missing.
    pub fn settle(&mut self) {
        let board = &self.board;
        let missing = board.sacked().segments + board.lost().segments + board.retrans().segments + self.dupacks;
        self.phase = if missing > 0 { Phase::Disorder } else { Phase::Open };
    }

    fn in_open(&mut self, now: Time, taken: &mut Taken) {
        if taken.dsack && self.phase != Phase::Cwr {
            self.undo_if_all_duplicates(now);
        }
        if taken.acked_bytes > 0 {
            self.dupacks = 0;
        }
        if self.find_losses(now, taken) {
            self.enter_recovery(now);
            return;
        }
        if taken.ece && self.phase != Phase::Cwr {
            self.reduce(now, Signal::Ecn);
            self.phase = Phase::Cwr;
            self.undo.marker = 0;
        } else if self.phase != Phase::Cwr && self.phase != Phase::Loss {
            self.settle();
        }
    }

    /// Looks for losses by the rules in force; whether fast retransmit is to begin.
    fn find_losses(&mut self, now: Time, taken: &mut Taken) -> bool {
        if !self.classic() {
            self.mark_losses(now, taken);
            return self.board.lost().segments > 0;
        }
        if !taken.duplicate {
            return false;
        }
        self.dupacks += 1;
        // RFC 6582 §3.2: not again for losses of the same window.
        if self.dupacks != self.config.dupthresh || self.snd_una <= self.high_seq {
            return false;
        }
        if self.style() == Recovery::Tahoe {
            self.stats.recoveries += 1;
            self.go_back_n(now, true);
            return false;
        }
        let head = self.board.head();
        self.board.mark_lost(head);
        true
    }

    /// Marks segments lost by the scoreboard; whether a retransmission was among them.
    pub fn mark_losses(&mut self, now: Time, taken: &mut Taken) -> bool {
        if self.style() != Recovery::Rack {
            self.mark_below_sacked();
            return false;
        }
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let found = self.look_with_rack(now);
        if let Some(at) = found.look_again {
            let slack = if self.config.flavour == Flavour::Linux { SLACK } else { Duration::ZERO };
            self.timer = Timer { kind: Kind::Reorder, at: at.max(now) + slack };
            taken.timer_set = true;
        }
        found.retransmission_lost
    }

    /// RACK's look at what is in flight.
    pub fn look_with_rack(&mut self, now: Time) -> super::rack::Found {
        let recovering = matches!(self.phase, Phase::Recovery | Phase::Loss);
        let eager = recovering || self.board.sacked().segments >= self.config.dupthresh;
        let window = self.rack.window(eager, self.rtt.min_rtt(), self.rtt.srtt());
        self.rack.look(now, &mut self.board, window)
    }

    /// RFC 6675's IsLost: DupThresh segments are SACKed above it. (The RFC counts discontiguous ranges, or
    /// bytes beyond (DupThresh − 1) SMSS; with full segments that is the same.)
    fn mark_below_sacked(&mut self) {
        let Some(top) = self.board.nth_sacked_from_top(self.config.dupthresh) else { return };
        loop {
            self.loss_cursor = self.board.scan(self.loss_cursor, top, Skip::Touched);
            if self.loss_cursor >= top {
                return;
            }
            self.board.mark_lost(self.loss_cursor);
        }
    }

    /// Fast retransmit begins.
    pub fn enter_recovery(&mut self, now: Time) {
        self.tell_losses(now);
        self.undo.start(self.snd_una, self.board.retrans().segments);
        if !matches!(self.phase, Phase::Cwr | Phase::Recovery) {
            self.reduce(now, Signal::Loss);
        }
        self.phase = Phase::Recovery;
        self.high_seq = self.snd_nxt;
        self.probe.high_seq = 0;
        self.stats.recoveries += 1;
        self.force = true;
        self.rescue_used = false;
        self.high_rxt = self.board.head();
        self.inflated = self.cc.ssthresh().saturating_add(u64::from(self.config.dupthresh) * self.mss());
    }

    /// Congestion, the first of its window: tells the law, notes where the window ends.
    pub fn reduce(&mut self, now: Time, signal: Signal) {
        if self.quick_end > 0 && signal == Signal::Loss {
            self.end_quick_start(now);
        }
        let prior = match self.config.flavour {
            Flavour::Linux => self.cc.cwnd(),
            Flavour::Paper => self.flight_size(),
        };
        let event = CongestionEvent {
            now,
            signal,
            flight_size: self.flight_size(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
        };
        self.cc.tell(|cc| cc.on_congestion(&event));
        self.prr = Prr::new(prior, self.in_flight());
        self.high_seq = self.snd_nxt;
        self.probe.high_seq = 0;
        self.cwr_due = true;
    }

    fn in_recovery(&mut self, now: Time, taken: &mut Taken) {
        if self.classic() {
            return self.in_classic_recovery(now, taken);
        }
        // A partial ACK of an original: nothing of this was lost, wait for what was sent again.
        if taken.acked_bytes > 0 && self.undo.marker != 0 && self.original_arrived(taken) {
            self.rack.reordering_seen = true;
            if self.board.retrans().segments > 0 {
                return;
            }
            self.undo_reduction(now, true);
            return self.settle();
        }
        if taken.dsack && self.undo_if_all_duplicates(now) {
            self.settle();
        }
        self.mark_losses(now, taken);
        if self.phase != Phase::Recovery && self.board.lost().segments > 0 {
            self.enter_recovery(now);
        }
    }

    fn in_classic_recovery(&mut self, now: Time, taken: &mut Taken) {
        if taken.acked_bytes == 0 {
            if taken.duplicate {
                self.dupacks += 1;
                self.inflated = self.inflated.saturating_add(self.mss());
            }
        } else if self.style() == Recovery::Reno {
            self.board.unmark_lost();
            // A further loss of the same window is repaired, and paid for, again (RFC 2581; Fall and Floyd 1996).
            self.high_seq = self.snd_una - 1;
            self.leave(now);
        } else {
            self.on_partial_ack(taken);
        }
    }

    /// New data acknowledged, but not all that was out when recovery began (RFC 6582 §3.2 step 5).
    fn on_partial_ack(&mut self, taken: &mut Taken) {
        let acked_segments = taken.acked_bytes.div_ceil(self.mss()) as u32;
        self.dupacks = self.dupacks.saturating_sub(acked_segments.saturating_sub(1));
        let head = self.board.head();
        self.board.mark_lost(head);
        self.force = true;
        self.inflated = self.inflated.saturating_sub(taken.acked_bytes).max(self.mss());
        if taken.acked_bytes >= self.mss() {
            self.inflated = self.inflated.saturating_add(self.mss());
        }
    }
}
