//! Loss recovery: the phases a sender goes through, and what each ACK means in them.
//!
//! The phases and the order of the tests are Linux's (`tcp_fastretrans_alert`). Two ways to learn of losses
//! meet here: with SACK, from the scoreboard (RFC 6675 or RACK); without, from counting duplicate ACKs
//! (Tahoe, Reno RFC 5681, NewReno RFC 6582).

use super::super::super::Recovery;
use super::rack::Found;
use super::timer::{Kind, Timer};
use super::{Sender, Taken};
use cclab_algo::cc::{CongestionEvent, LostEvent, Phase, RecoveredEvent, Signal, UndoEvent};
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Time};

/// Linux gives a timer two ticks of slack (`TCP_TIMEOUT_MIN`).
pub(super) const SLACK: Duration = Duration::from_millis(2);

impl Sender {
    /// The window while recovery governs it.
    pub(super) fn recovery_window(&self) -> u64 {
        let repairs = self.episode.phase() == Phase::Recovery;
        if self.law.governs_recovery() || self.law.ssthresh() == u64::MAX {
            // A law without a threshold has no target to be steered to.
            self.law.cwnd()
        } else if self.classic() && repairs {
            self.episode.inflated()
        } else if self.style() == Recovery::Sack && !self.config.prr && repairs {
            self.law.cwnd()
        } else {
            self.episode.prr.window()
        }
    }

    /// Moves the phases on.
    pub(super) fn recover(&mut self, now: Time, taken: &mut Taken) {
        let marked = self.board.marked_lost();
        if taken.ece {
            self.episode.undo.forget(); // a reduction that ECN asks for is never undone
        }
        self.end_episode(now, taken);
        match self.episode.phase() {
            Phase::Recovery => self.in_recovery(now, taken),
            Phase::Loss => self.in_loss(now, taken),
            _ => self.in_open(now, taken),
        }
        taken.lost_bytes = self.board.marked_lost() - marked;
        self.tell_losses(now);
    }

    /// Tells the law of each packet marked lost, before it learns that this is congestion.
    pub(super) fn tell_losses(&mut self, now: Time) {
        if !self.law.tracks_packets() {
            return;
        }
        let delivered = self.rate.delivered();
        for loss in self.board.losses() {
            let event = LostEvent {
                now,
                bytes: u64::from(loss.sent.len),
                sent: loss.sent.sent,
                tx_in_flight: loss.track.in_flight,
                prior_lost: loss.track.lost,
                lost: loss.marked_lost,
                prior_delivered: self.rate.delivered_at(loss.sent.rate),
                delivered,
                app_limited: loss.sent.rate.app_limited,
            };
            self.law.tell(|cc| cc.on_lost(&event));
        }
        self.board.forget_losses();
    }

    /// Everything that was out when the episode began is acknowledged.
    fn end_episode(&mut self, now: Time, taken: &Taken) {
        if !self.episode.reduces() || !self.episode.is_over(self.window.una()) {
            return;
        }
        if self.episode.phase() == Phase::Recovery {
            if self.may_undo(taken) {
                self.undo_reduction(now, false);
                return self.settle();
            }
            self.rack.on_recovered();
        }
        self.leave(now);
    }

    /// Back to the open phase, and the window to the law.
    pub(super) fn leave(&mut self, now: Time) {
        let phase = self.episode.leave();
        self.law.tell(|cc| cc.on_recovered(&RecoveredEvent { now, phase }));
        self.settle();
    }

    /// Open, or disorder while something is still missing.
    pub(super) fn settle(&mut self) {
        self.episode.settle(self.board.is_troubled());
    }

    fn in_open(&mut self, now: Time, taken: &mut Taken) {
        if taken.dsack && self.episode.phase() != Phase::Cwr {
            self.undo_if_all_duplicates(now);
        }
        if taken.acked_bytes > 0 {
            self.episode.set_dupacks(0);
        }
        if self.find_losses(now, taken) {
            return self.enter_recovery(now);
        }
        let phase = self.episode.phase();
        if taken.ece && phase != Phase::Cwr {
            self.reduce(now, Signal::Ecn);
            self.episode.enter_cwr();
        } else if phase != Phase::Cwr && phase != Phase::Loss {
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
        // RFC 6582 §3.2: not again for losses of the same window.
        self.count_dupack();
        let enough = self.episode.dupacks() >= self.reordering.degree();
        if !enough || self.episode.covers(self.window.una()) {
            return false;
        }
        if self.style() == Recovery::Tahoe {
            self.stats.recoveries += 1;
            self.go_back_n(now, true);
            return false;
        }
        self.board.mark_lost(self.board.head());
        true
    }

    /// Without SACK a duplicate ACK came.
    fn count_dupack(&mut self) {
        let told = self.limit_reno_sacks(self.episode.dupacks() + 1, 0);
        self.episode.set_dupacks(told);
    }

    /// Marks segments lost by the scoreboard; whether a retransmission was among them.
    pub(super) fn mark_losses(&mut self, now: Time, taken: &mut Taken) -> bool {
        if self.style() != Recovery::Rack {
            self.board.mark_below_sacked(self.reordering.degree());
            return false;
        }
        if !self.rack.has_news() {
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
    pub(super) fn look_with_rack(&mut self, now: Time) -> Found {
        let enough = self.config.rack_dupthresh && self.board.sacked().segments >= self.reordering.degree();
        let eager = self.episode.repairs() || enough;
        let window = self.rack.window(eager, self.rtt.min_rtt(), self.rtt.srtt());
        self.rack.look(now, &mut self.board, window)
    }

    /// Fast retransmit begins.
    pub(super) fn enter_recovery(&mut self, now: Time) {
        self.tell_losses(now);
        self.episode.undo.start(self.window.una(), self.board.retrans().segments);
        if !self.episode.reduces() {
            self.reduce(now, Signal::Loss);
        }
        let inflated = self.law.ssthresh().saturating_add(u64::from(self.config.dupthresh) * self.mss());
        self.episode.enter_recovery(self.window.nxt(), self.board.head(), inflated);
        self.probe.forget();
        self.stats.recoveries += 1;
    }

    /// Congestion, the first of its window: tells the law, notes where the window ends.
    pub(super) fn reduce(&mut self, now: Time, signal: Signal) {
        if self.quick_start.lasts() && signal == Signal::Loss {
            self.end_quick_start(now);
        }
        let flight_size = self.window.flight_size();
        let prior = match self.config.flavour {
            Flavour::Linux => self.law.cwnd(),
            Flavour::Paper => flight_size,
        };
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min_rtt());
        self.law.tell(|cc| cc.on_congestion(&CongestionEvent { now, signal, flight_size, srtt, min_rtt }));
        self.episode.reduce(self.window.nxt(), prior, self.in_flight());
        self.probe.forget();
        self.marking.owe_cwr();
    }

    fn in_recovery(&mut self, now: Time, taken: &mut Taken) {
        if self.classic() {
            return self.in_classic_recovery(now, taken);
        }
        // A partial ACK of an original: nothing of this was lost, wait for what was sent again.
        if taken.acked_bytes > 0 && self.episode.undo.is_open() && self.original_arrived(taken) {
            self.see_reordering(self.window.una() - taken.acked_bytes);
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
        if self.episode.phase() != Phase::Recovery && self.board.lost().segments > 0 {
            self.enter_recovery(now);
        }
    }

    fn in_classic_recovery(&mut self, now: Time, taken: &mut Taken) {
        if taken.acked_bytes == 0 {
            if taken.duplicate {
                self.count_dupack();
                self.episode.inflate(self.mss());
            }
        } else if self.style() == Recovery::Reno {
            self.board.unmark_lost();
            // A further loss of the same window is repaired, and paid for, again (RFC 2581; Fall and Floyd 1996).
            self.episode.allow_again(self.window.una());
            self.leave(now);
        } else {
            // New data acknowledged, but not all that was out when recovery began (RFC 6582 §3.2 step 5).
            self.board.mark_lost(self.board.head());
            self.episode.on_partial_ack(taken.acked_bytes, self.mss());
        }
    }

    /// Eifel: what was taken for lost arrived.
    fn original_arrived(&self, taken: &Taken) -> bool {
        self.config.undo && self.episode.undo.original_arrived(taken.ts_ecr)
    }

    /// Whether the reduction was a mistake.
    pub(super) fn may_undo(&self, taken: &Taken) -> bool {
        let undo = &self.episode.undo;
        self.config.undo && undo.is_open() && (undo.all_were_duplicates() || undo.original_arrived(taken.ts_ecr))
    }

    /// Every retransmission turned out a duplicate (RFC 3708): undoes, and says so.
    fn undo_if_all_duplicates(&mut self, now: Time) -> bool {
        let all = self.config.undo && self.episode.undo.all_were_duplicates();
        if all {
            self.undo_reduction(now, false);
        }
        all
    }

    /// Takes the last reduction back; `unmark`: the loss marks too.
    pub(super) fn undo_reduction(&mut self, now: Time, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        self.law.tell(|cc| cc.on_undo(&UndoEvent { now }));
        self.episode.on_undo();
        self.stats.undos += 1;
        self.rack.start_over();
    }
}
