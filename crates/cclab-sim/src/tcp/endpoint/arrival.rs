//! Which segments are taken in, and what is said to the others (RFC 9293 §3.10.7, RFC 5961, RFC 7323 §5.3; the order of the
//! tests is Linux's, `tcp_validate_incoming` and `tcp_ack`).

use super::{Endpoint, State, TIME_WAIT};
use crate::wire::{Flags, Segment};
use cclab_algo::Time;
use cclab_algo::params::Flavour;

/// The answer to a segment that no connection takes (RFC 9293 §3.10.7.1).
pub fn refusal(now: Time, segment: &Segment) -> Option<Segment> {
    let reset = if segment.flags.has(Flags::ACK) {
        Segment { seq: segment.ack, flags: Flags::RST, sent: now, ..Segment::default() }
    } else {
        Segment { ack: segment.end(), flags: Flags::RST | Flags::ACK, sent: now, ..Segment::default() }
    };
    (!segment.flags.has(Flags::RST)).then_some(reset)
}

impl Endpoint {
    /// Whether a segment is what an established connection waits for: in the window, with an acknowledgement of what is out, and
    /// no control flags. Most are.
    pub(super) fn expects(&self, segment: &Segment) -> bool {
        let control = Flags::SYN | Flags::RST | Flags::ACK;
        self.state == State::Established
            && segment.flags.0 & control.0 == Flags::ACK.0
            && !self.is_old(segment)
            && self.rcv.in_window(segment)
            && self.snd.expects(segment.ack)
    }

    /// Whether any other segment is taken in; it is answered if not.
    #[cold]
    #[inline(never)]
    pub(super) fn takes(&mut self, now: Time, segment: &Segment) -> bool {
        let (syn, reset) = (segment.flags.has(Flags::SYN), segment.flags.has(Flags::RST));
        let over = self.state == State::TimeWait || (self.state == State::FinWait2 && self.deaf);
        self.remnant |= over && self.snd.config().flavour == Flavour::Linux;
        if syn && self.state == State::SynReceived {
            self.on_repeated_syn(now, segment);
            return false;
        }
        if self.state == State::TimeWait && segment.seq_len() > 0 && !syn && !reset {
            // The peer did not get our last ACK: the same again, and the wait begins anew (RFC 9293 §3.10.7.4).
            self.rcv.ack_now = true;
            self.time_wait_ends = now + TIME_WAIT;
            return false;
        }
        let old = self.is_old(segment) && !self.was_overtaken(segment);
        if !reset && !syn && (old || !self.rcv.in_window(segment)) {
            self.answer(now, segment);
        } else if syn && !reset {
            self.on_repeated_syn(now, segment);
        } else if reset && self.rcv.in_window(segment) {
            self.on_reset(now, segment);
        } else if segment.flags.has(Flags::ACK) && !reset {
            return self.takes_ack(now, segment);
        }
        false
    }

    /// PAWS (RFC 7323 §5.3): its timestamp is older than the newest; by one tick it may be (Linux `TCP_PAWS_WINDOW`).
    fn is_old(&self, segment: &Segment) -> bool {
        let age = self.rcv.ts_recent.wrapping_sub(segment.ts_val) as i32;
        segment.has_timestamps && self.snd.timestamps() && age > 1
    }

    /// A duplicate ACK that another segment has overtaken says nothing wrong (Linux `tcp_disordered_ack`).
    fn was_overtaken(&self, segment: &Segment) -> bool {
        let age = u64::from(self.rcv.ts_recent.wrapping_sub(segment.ts_val));
        segment.seq_len() == 0
            && segment.seq == self.rcv.rcv_nxt
            && self.snd.is_repeated(segment)
            && age * 1_000_000 <= self.snd.rtt().rto().0 * 6 / 5
    }

    /// The acknowledgement of a segment in the window, and what the state makes of it.
    fn takes_ack(&mut self, now: Time, segment: &Segment) -> bool {
        if self.snd.is_beyond(segment.ack) {
            // Of data that was not sent: the segment is discarded (RFC 9293 §3.10.7.4; Linux without an answer).
            if self.state == State::SynReceived {
                self.early = refusal(now, segment).map(Box::new);
            } else if self.snd.config().flavour == Flavour::Paper {
                self.rcv.ack_now = true;
            }
            return false;
        }
        if self.snd.is_ancient(segment.ack) || (self.state == State::SynReceived && segment.ack == 0) {
            self.challenge(now); // RFC 5961 §5.2
            return false;
        }
        if self.state == State::SynReceived && segment.ack >= 1 {
            self.establish(now, segment);
        }
        let data = segment.end() - u64::from(segment.flags.has(Flags::FIN));
        if self.deaf && data > self.rcv.rcv_nxt {
            // Nobody will read it (RFC 1122 §4.2.2.13).
            self.early = refusal(now, segment).map(Box::new);
            self.abort();
            return false;
        }
        true
    }

    /// RFC 5961 §3.2: a RST counts exactly at the left edge, or after the last block that was selectively acknowledged; anywhere
    /// else in the window it is asked about. Who has acknowledged a FIN takes one before it, too (Linux `tcp_reset_check`).
    fn on_reset(&mut self, now: Time, segment: &Segment) {
        let nxt = self.rcv.rcv_nxt;
        let behind_fin = matches!(self.state, State::CloseWait | State::LastAck | State::Closing);
        let exact = segment.seq == nxt || (behind_fin && segment.seq + 1 == nxt);
        if exact || self.rcv.last_sacked() == Some(segment.seq) {
            self.abort();
        } else {
            self.challenge(now);
        }
    }

    /// The connection is no more.
    pub(super) fn abort(&mut self) {
        self.state = State::Closed;
        self.snd.abort();
        self.rcv.ack_now = false;
        self.rcv.deadline = Time::NEVER;
        self.handshake.pending = false;
        self.handshake.deadline = Time::NEVER;
        self.time_wait_ends = Time::NEVER;
    }

    /// A segment out of place: says where we are, at once where it brings data (Linux `tcp_send_dupack`).
    fn answer(&mut self, now: Time, segment: &Segment) {
        if segment.seq_len() > 0 {
            self.rcv.on_duplicate_segment(segment);
        } else {
            self.challenge(now);
        }
    }

    /// An ACK that asks whether the peer means it (RFC 5961 §7), not too often.
    pub(super) fn challenge(&mut self, now: Time) {
        let ms = (now.0 / 1_000_000) as u32;
        let gap = (self.snd.config().challenge_gap.0 / 1_000_000) as u32;
        if self.challenged_ms == u32::MAX || ms.wrapping_sub(self.challenged_ms) >= gap {
            self.challenged_ms = ms;
            self.rcv.ack_now = true;
        }
    }

    /// The network, or the host, has ended the connection; nobody is told.
    pub fn fail(&mut self, _now: Time) {
        self.abort();
    }

    /// The application closes, and reads no more: what it has not read, or what comes later, is answered with RST
    /// (RFC 1122 §4.2.2.13; Linux).
    pub fn abandon(&mut self, now: Time) {
        if self.rcv.readable() == 0 || matches!(self.state, State::Closed | State::TimeWait) {
            self.deaf = true;
            return self.close(now);
        }
        self.reset(now);
    }

    /// The application, or the host for it, gives the connection up: a RST.
    pub fn reset(&mut self, now: Time) {
        let mut reset = Segment::default();
        self.ack(now, Flags::RST | Flags::ACK, &mut reset);
        self.abort();
        self.early = Some(Box::new(reset));
    }
}
