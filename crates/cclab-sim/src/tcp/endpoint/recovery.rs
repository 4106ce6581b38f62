//! Loss recovery: the phases a sender goes through, and what each ACK means in them.

use super::super::Recovery;
use super::sender::{Sender, Taken};
use cclab_algo::Time;
use cclab_algo::cc::{CongestionEvent, Phase, RecoveredEvent, Signal, TimeoutEvent};

impl Sender {
    /// The window while recovery governs it.
    pub fn recovery_window(&self) -> u64 {
        self.inflated
    }

    /// Moves the phases on.
    pub fn recover(&mut self, now: Time, taken: &mut Taken) {
        let advanced = taken.acked_bytes > 0;
        if self.phase != Phase::Open && self.phase != Phase::Disorder && self.snd_una >= self.high_seq {
            self.leave(now, self.phase);
        }
        if advanced {
            if self.phase == Phase::Recovery {
                self.on_partial_ack(now, taken);
            } else if self.phase == Phase::Disorder {
                self.phase = Phase::Open;
            }
            if self.phase != Phase::Recovery {
                self.dupacks = 0;
            }
        } else if taken.duplicate {
            self.on_duplicate_ack(now, taken);
        }
    }

    fn on_duplicate_ack(&mut self, now: Time, taken: &mut Taken) {
        self.dupacks += 1;
        match self.phase {
            Phase::Recovery => self.inflated += self.mss(),
            Phase::Open | Phase::Disorder => {
                self.phase = Phase::Disorder;
                // RFC 6582 §3.2: not again for losses of the same window.
                if self.dupacks == self.config.dupthresh && self.snd_una > self.high_seq {
                    self.fast_retransmit(now, taken);
                }
            }
            _ => {}
        }
    }

    /// The third duplicate ACK.
    fn fast_retransmit(&mut self, now: Time, taken: &mut Taken) {
        self.reduce(now, Signal::Loss, Phase::Recovery);
        self.stats.recoveries += 1;
        let head = self.board.head();
        self.board.mark_lost(head);
        taken.lost_bytes += u64::from(self.board.get(head).len);
        self.force = true;
        self.inflated = self.cc.ssthresh() + u64::from(self.config.dupthresh) * self.mss();
    }

    /// Congestion, the first of its window: tells the law, notes where the window ends.
    pub fn reduce(&mut self, now: Time, signal: Signal, phase: Phase) {
        self.cc.on_congestion(&CongestionEvent {
            now,
            signal,
            flight_size: self.flight_size(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
        });
        self.phase = phase;
        self.high_seq = self.snd_nxt;
    }

    /// New data acknowledged, but not all that was out when recovery began (RFC 6582 §3.2 step 5).
    fn on_partial_ack(&mut self, now: Time, taken: &mut Taken) {
        if self.style() == Recovery::Reno {
            return self.leave(now, Phase::Recovery);
        }
        let head = self.board.head();
        if self.board.is_empty() {
            return;
        }
        if !self.board.is_lost(head) {
            self.board.mark_lost(head);
            taken.lost_bytes += u64::from(self.board.get(head).len);
        }
        self.force = true;
        self.inflated = self.inflated.saturating_sub(taken.acked_bytes).max(self.mss());
        if taken.acked_bytes >= self.mss() {
            self.inflated += self.mss();
        }
    }

    /// Everything that was out at the start is acknowledged.
    fn leave(&mut self, now: Time, phase: Phase) {
        self.phase = Phase::Open;
        self.dupacks = 0;
        self.force = false;
        self.cc.on_recovered(&RecoveredEvent { now, phase });
    }

    /// The retransmission timer expired.
    pub fn on_rto(&mut self, now: Time) {
        self.stats.timeouts += 1;
        let first = self.phase != Phase::Loss || self.snd_una >= self.high_seq;
        self.cc.on_timeout(&TimeoutEvent { now, flight_size: self.flight_size(), first });
        self.phase = Phase::Loss;
        self.high_seq = self.snd_nxt;
        self.dupacks = 0;
        for i in self.board.head()..self.board.tail() {
            if !self.board.is_sacked(i) {
                self.board.mark_lost(i);
            }
        }
        self.force = true;
        self.rtt.back_off();
        self.rearm(now);
    }
}
