//! A timeout and what follows: go back N, and F-RTO.

use super::super::super::Recovery;
use super::frto::Verdict;
use super::scoreboard::Skip;
use super::{Sender, Taken};
use cclab_algo::cc::{Phase, TimeoutEvent};
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Time};

/// Timeouts in a row of a thin stream that do not back off (`TCP_THIN_LINEAR_RETRIES`).
const THIN_RETRIES: u32 = 6;

impl Sender {
    /// So few segments are out that duplicate ACKs will not tell of a loss (Linux `tcp_stream_is_thin`), and more may come.
    fn is_thin(&self) -> bool {
        self.config.thin_linear_timeouts && self.board.out().segments < 4 && !self.fin_sent()
    }

    /// The retransmission timer expired.
    pub(super) fn on_rto(&mut self, now: Time) {
        if self.board.is_empty() {
            return self.rearm(now);
        }
        self.stats.timeouts += 1;
        // Linux reduces once per window also when a fast recovery came before; RFC 5681 (eq. 4) unless
        // this data was sent again by the timer already.
        let again = self.episode.count_timeout();
        let repeated = self.episode.phase() == Phase::Loss && again;
        let reduced = self.episode.reduces() && self.episode.has_more(self.window.una());
        let first = !(repeated || reduced && self.config.flavour == Flavour::Linux);
        self.frto.start(self.config.frto && (!self.episode.repairs() || again));
        if !self.episode.repairs() && !self.episode.reduces() {
            self.reordering.doubt(self.config.dupthresh, self.board.sacked().segments);
        }
        self.go_back_n(now, first);
        if self.is_thin() && self.timeouts_in_a_row() <= THIN_RETRIES {
            self.rtt.clear_backoff();
        } else {
            self.rtt.back_off();
        }
        self.rearm_from(now);
    }

    /// Everything not SACKed is to be sent again, from a window of one segment and what stays in flight.
    pub(super) fn go_back_n(&mut self, now: Time, first: bool) {
        let flight_size = self.window.flight_size();
        if self.board.is_sacked(self.board.head()) {
            self.board.forget_sacks(); // the receiver reneged
            if self.board.cut(self.mss) {
                self.rack.renumber(&self.board); // the path takes less since they were SACKed
            }
        }
        self.mark_all_lost(now);
        if first {
            self.episode.undo.start(self.window.una(), self.board.retrans().segments);
        }
        let in_flight = self.board.pipe();
        self.law.tell(|cc| cc.on_timeout(&TimeoutEvent { now, flight_size, first, in_flight }));
        self.tell_losses(now);
        self.episode.enter_loss(self.window.nxt());
        self.probe.forget();
        self.frto.release();
        self.marking.owe_cwr();
    }

    /// Data up to `end` left with our SYN and did not arrive: it is lost, but not by congestion (Linux
    /// `tcp_non_congestion_loss_retransmit`).
    pub fn lose_syn_data(&mut self, now: Time, end: u64) {
        if self.window.nxt() >= end {
            return;
        }
        while self.window.nxt() < end {
            let seq = self.window.nxt();
            let len = (end - seq).min(self.mss());
            let stamp = self.rate.on_send(now, self.board.is_empty());
            self.board.transmit(seq, len as u32, false, now, stamp);
            self.board.mark_lost(self.board.tail() - 1);
            self.window.on_sent(seq + len);
        }
        self.board.forget_losses();
        self.episode.undo.forget();
        self.episode.enter_loss(end);
    }

    /// RACK leaves out what was sent so recently that its ACK may still come; the first is always lost.
    fn mark_all_lost(&mut self, now: Time) {
        let patience = if self.style() == Recovery::Rack { self.rack.rtt() } else { Duration::ZERO };
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
    pub(super) fn in_loss(&mut self, now: Time, taken: &mut Taken) {
        self.frto.release();
        if taken.acked_bytes > 0 && self.may_undo(taken) {
            return self.undo_timeout(now);
        }
        let over = self.episode.is_over(self.window.una());
        let tried = !self.episode.covers(self.window.nxt());
        match self.frto.on_ack(taken, tried, over, self.has_new_in_window()) {
            Verdict::None => {}
            Verdict::Spurious => return self.undo_timeout(now),
            Verdict::TryNew => self.episode.extend(self.window.nxt()),
        }
        if over {
            self.frto.end();
            return self.leave(now);
        }
        if !self.classic() && self.mark_losses(now, taken) {
            // Retransmissions are lost again: a new reduction (Linux).
            self.enter_recovery(now);
        }
    }

    fn undo_timeout(&mut self, now: Time) {
        self.undo_reduction(now, true);
        self.frto.end();
        self.episode.forget_timeouts();
        self.rtt.clear_backoff();
        self.settle();
    }
}
