//! After a timeout: go back N, F-RTO (RFC 5682), and undoing what was a mistake (Eifel, DSACK).

use super::super::Recovery;
use super::scoreboard::Skip;
use super::sender::{Sender, Taken};
use super::timestamp;
use cclab_algo::cc::{Phase, TimeoutEvent, UndoEvent};
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Time};

/// What an undo needs to know of the episode.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// `snd_una` when the episode began; zero: nothing to undo.
    pub marker: u64,
    /// Retransmissions not yet reported as duplicates; `None` before the first.
    unconfirmed: Option<u64>,
    /// When the first retransmission left.
    first: Option<Time>,
}

impl Undo {
    /// An episode begins with `retrans` retransmissions in flight.
    pub fn start(&mut self, snd_una: u64, retrans: u32) {
        self.marker = snd_una;
        self.unconfirmed = (retrans > 0).then_some(u64::from(retrans));
        if retrans == 0 {
            self.first = None;
        }
    }
    pub fn on_retransmit(&mut self, now: Time) {
        self.first.get_or_insert(now);
        self.unconfirmed = Some(self.unconfirmed.unwrap_or(0) + 1);
    }
    /// A DSACK reported `segments` duplicates.
    pub fn on_duplicate(&mut self, segments: u64) {
        self.unconfirmed = self.unconfirmed.map(|n| n.saturating_sub(segments));
    }
}

impl Sender {
    /// Eifel: the ACK echoes a timestamp older than the first retransmission (RFC 3522).
    pub fn original_arrived(&self, taken: &Taken) -> bool {
        match (taken.ts_ecr, self.undo.first) {
            (Some(ecr), Some(first)) => self.config.undo && (ecr.wrapping_sub(timestamp(first)) as i32) < 0,
            _ => false,
        }
    }

    /// Whether the reduction was a mistake.
    pub fn may_undo(&self, taken: &Taken) -> bool {
        self.config.undo && self.undo.marker != 0 && (self.undo.unconfirmed == Some(0) || self.original_arrived(taken))
    }

    /// Every retransmission turned out a duplicate (RFC 3708): undoes, and says so.
    pub fn undo_if_all_duplicates(&mut self, now: Time) -> bool {
        let all = self.config.undo && self.undo.marker != 0 && self.undo.unconfirmed == Some(0);
        if all {
            self.undo_reduction(now, false);
        }
        all
    }

    /// Takes the last reduction back; `unmark`: the loss marks too.
    pub fn undo_reduction(&mut self, now: Time, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
            self.loss_cursor = 0;
        }
        self.cc.tell(|cc| cc.on_undo(&UndoEvent { now }));
        self.undo.marker = 0;
        self.stats.undos += 1;
        self.rack.start_over();
        self.force = false;
        self.dupacks = 0;
    }

    /// The retransmission timer expired.
    pub fn on_rto(&mut self, now: Time) {
        if self.board.is_empty() {
            return self.rearm(now);
        }
        self.stats.timeouts += 1;
        // Linux reduces once per window also when a fast recovery came before; RFC 5681 (eq. 4) unless
        // this data was sent again by the timer already.
        let repeated = self.phase == Phase::Loss && self.timeouts_in_row > 0;
        let reduced = matches!(self.phase, Phase::Cwr | Phase::Recovery) && self.high_seq > self.snd_una;
        let first = !(repeated || reduced && self.config.flavour == Flavour::Linux);
        let new_episode = !matches!(self.phase, Phase::Recovery | Phase::Loss);
        self.frto = self.config.frto && (new_episode || self.timeouts_in_row > 0);
        self.timeouts_in_row += 1;
        self.go_back_n(now, first);
        self.rtt.back_off();
        self.rearm_from(now);
    }

    /// Everything not SACKed is to be sent again, from a window of one segment.
    pub fn go_back_n(&mut self, now: Time, first: bool) {
        let flight_size = self.flight_size();
        self.cc.tell(|cc| cc.on_timeout(&TimeoutEvent { now, flight_size, first }));
        if self.board.is_sacked(self.board.head()) {
            self.board.forget_sacks(); // the receiver reneged
        }
        if first {
            self.undo.start(self.snd_una, self.board.retrans().segments);
        }
        self.mark_all_lost(now);
        self.tell_losses(now);
        self.phase = Phase::Loss;
        self.high_seq = self.snd_nxt;
        self.probe.high_seq = 0;
        self.dupacks = 0;
        self.loss_cursor = 0;
        self.force = true;
        self.hold = false;
        self.cwr_due = true;
    }

    /// RACK leaves out what was sent so recently that its ACK may still come; the first is always lost.
    fn mark_all_lost(&mut self, now: Time) {
        let patience = if self.style() == Recovery::Rack { self.rack.rtt } else { Duration::ZERO };
        let (head, tail) = (self.board.head(), self.board.tail());
        let mut i = head;
        loop {
            i = self.board.scan(i, tail, Skip::Sacked);
            if i >= tail {
                return;
            }
            if i == head || self.board.get(i).sent + patience <= now {
                self.board.mark_lost(i);
            }
            i += 1;
        }
    }

    /// An ACK after a timeout.
    pub fn in_loss(&mut self, now: Time, taken: &mut Taken) {
        self.hold = false;
        let over = self.snd_una >= self.high_seq;
        if taken.acked_bytes > 0 && self.may_undo(taken) {
            return self.undo_timeout(now);
        }
        if self.frto {
            // What was never sent again arrived: not all was lost, so the timeout was spurious (step 3b).
            if taken.original_delivered {
                return self.undo_timeout(now);
            }
            if self.snd_nxt > self.high_seq {
                // Step 3a: new data was sent, and a duplicate ACK came: the loss is real.
                self.frto &= !(taken.sacked || taken.duplicate);
            } else if taken.acked_bytes > 0 && !over {
                // Step 2b: try new data instead of retransmitting.
                self.high_seq = self.snd_nxt;
                self.frto = self.has_new_in_window();
                self.hold = self.frto;
            }
        }
        if over {
            self.frto = false;
            return self.leave(now);
        }
        if !self.classic() && self.mark_losses(now, taken) {
            // Retransmissions are lost again: a new reduction (Linux).
            self.enter_recovery(now);
        }
    }

    fn undo_timeout(&mut self, now: Time) {
        self.undo_reduction(now, true);
        self.frto = false;
        self.timeouts_in_row = 0;
        self.rtt.clear_backoff();
        self.settle();
    }
}
