//! TCP Fast Open (RFC 7413): data on the SYN, answered before the handshake is over.

use super::ecn::Style;
use super::sender::Agreed;
use super::{Endpoint, State};
use crate::wire::{Cookie, Feedback, Flags, Segment};
use cclab_algo::Time;

/// Bytes of options that a SYN may come to have on its way: its data leaves room for them (Linux `MAX_TCP_OPTION_SPACE`).
const OPTION_SPACE: u64 = 40;

/// How an endpoint takes part.
#[derive(Clone, Copy, Debug)]
pub struct FastOpen {
    /// What the SYN shows, without bytes to ask for one; of a server the one that it gives and takes.
    pub cookie: Cookie,
    /// Data goes, and is taken, only with a cookie.
    pub required: bool,
    /// The longest segment that the peer is known to take, options apart.
    pub peer_mss: u32,
    /// Payload bytes of our SYN.
    sent: u32,
    /// The data of a SYN was taken: all of ours by the peer, or the peer's by us.
    taken: bool,
    /// A SYN was enough for us to send: with the right cookie even one without data.
    early: bool,
    /// The cookie that our SYN-ACK gives.
    gives: Option<Cookie>,
}

impl FastOpen {
    /// With this cookie; whether data needs it; the longest segment of the peer, as far as it is known.
    pub fn new(cookie: Cookie, required: bool, peer_mss: u32) -> FastOpen {
        FastOpen { cookie, required, peer_mss, sent: 0, taken: false, early: false, gives: None }
    }

    /// Both ends have met before.
    pub fn acquainted() -> FastOpen {
        FastOpen::new(Cookie::new(b"met here", false).expect("it is short"), true, u32::MAX)
    }
}

impl Endpoint {
    /// Takes part in Fast Open; to be said before anything is sent or received.
    pub fn set_fast_open(&mut self, fast_open: FastOpen) {
        self.fast_open = Some(Box::new(fast_open));
    }

    /// Whether data came or went with a SYN and was taken (Linux `TCPI_OPT_SYN_DATA`).
    pub fn fast_opened(&self) -> bool {
        self.fast_open.as_ref().is_some_and(|fast| fast.taken)
    }

    /// Whether the SYN of the peer was enough to be accepted.
    pub fn opened_early(&self) -> bool {
        self.fast_open.as_ref().is_some_and(|fast| fast.early)
    }

    /// Payload bytes of the SYN, or of the SYN-ACK none, and the option that goes with it.
    pub(super) fn on_syn_leaves(&mut self, reply: bool) -> (u32, Feedback) {
        let own = super::handshake::offered_mss(self.snd.config());
        let Some(fast) = &mut self.fast_open else { return (0, Feedback::None) };
        if reply {
            return (0, fast.gives.map_or(Feedback::None, Feedback::FastOpen));
        }
        let known = !fast.cookie.bytes().is_empty();
        // A network that loses such a SYN gets a plain one (RFC 7413 §4.1.3).
        if self.handshake.retransmissions > 0 {
            return (0, Feedback::None);
        }
        let room = u64::from(own.min(fast.peer_mss)).saturating_sub(OPTION_SPACE);
        fast.sent = if known || !fast.required { self.snd.waiting().min(room) as u32 } else { 0 };
        if fast.sent > 0 {
            self.snd.stats.segments_sent += 1;
            self.snd.stats.bytes_sent += u64::from(fast.sent);
        }
        (fast.sent, if known || fast.required { Feedback::FastOpen(fast.cookie) } else { Feedback::None })
    }

    /// Whether this acknowledges our SYN, and no more than went with it.
    pub(super) fn acks_our_syn(&self, segment: &Segment) -> bool {
        let sent = self.fast_open.as_ref().map_or(0, |fast| u64::from(fast.sent));
        segment.flags.has(Flags::ACK) && (1..=1 + sent).contains(&segment.ack)
    }

    /// The SYN-ACK says what of the SYN's data has arrived. The rest is sent again at once, and carries the ACK.
    pub(super) fn take_syn_ack(&mut self, now: Time, segment: &Segment) {
        if let Some(fast) = &mut self.fast_open {
            let end = 1 + u64::from(fast.sent);
            let all = segment.ack == end;
            fast.taken = fast.sent > 0 && all;
            self.snd.skip(segment.ack);
            self.snd.lose_syn_data(now, end);
            self.handshake.ack_alone = all && self.snd.waiting() == 0;
            if all && segment.seq_len() > 1 {
                // A SYN-ACK brings data, too (Linux `tcp_rcv_fastopen_synack`), for which our SYN offered room.
                self.rcv.window_field(true);
                self.take_early_data(now, segment);
                self.move_on(now);
            }
            if all && !self.handshake.ack_alone {
                self.rcv.be_interactive(now);
            }
        }
    }

    /// A SYN has come to a listener: with the right cookie its data is taken, and ours may follow at once (RFC 7413 §4.2).
    pub(super) fn take_syn_data(&mut self, now: Time, segment: &Segment) {
        let shown = if let Feedback::FastOpen(cookie) = segment.feedback { Some(cookie) } else { None };
        let Some(fast) = &mut self.fast_open else { return };
        let valid = shown.is_some_and(|cookie| cookie.bytes() == fast.cookie.bytes());
        fast.gives = shown.filter(|_| !valid && fast.required).map(|shown| fast.cookie.like(shown));
        fast.early = valid || (!fast.required && segment.len > 0);
        fast.taken = fast.early && segment.len > 0;
        if !fast.early {
            return;
        }
        // What the SYN-ACK is going to offer is what there is room for.
        self.rcv.window_field(true);
        self.begin_transfer(now, segment);
        if segment.len > 0 {
            self.take_early_data(now, &Segment { flags: Flags::SYN | Flags::ACK, ..*segment });
            self.rcv.on_ack_sent(false);
        }
    }

    /// Takes what a SYN or SYN-ACK brings beside itself.
    fn take_early_data(&mut self, now: Time, segment: &Segment) {
        let data = Segment { seq: segment.seq + 1, flags: Flags(segment.flags.0 & !Flags::SYN.0), ..*segment };
        self.snd.stats.bytes_received += self.rcv.on_data(now, &data, self.snd.rtt());
        self.rcv.forget_gap();
    }

    /// Whether data flows before the peer has answered our SYN-ACK.
    pub(super) fn is_early(&self) -> bool {
        self.state == State::SynReceived && self.opened_early()
    }

    /// Both halves begin, as agreed.
    pub(super) fn begin_transfer(&mut self, now: Time, segment: &Segment) {
        let agreed = self.agreed();
        self.rcv.use_sack = agreed.sack;
        self.rcv.marks.begin(agreed.ecn, self.snd.config(), segment);
        self.rcv.mss = self.snd.mss() as u32;
        if self.handshake.peer_scale.is_some() {
            self.rcv.scale = super::handshake::scale_for(self.snd.config().receive_buffer);
        }
        self.rcv.begin(now, self.advertised());
        self.snd.open(now, segment, &agreed);
        if agreed.ecn == Style::Accurate {
            self.snd.see_option(segment);
            let option = if self.snd.saw_option() { self.rcv.marks.option_bytes() } else { 0 };
            self.snd.set_mss((self.snd.mss() as u32).saturating_sub(option).max(1));
            self.rcv.mss = self.snd.mss() as u32;
        }
    }

    pub(super) fn agreed(&self) -> Agreed {
        let shake = &self.handshake;
        Agreed {
            sack: shake.sack,
            timestamps: shake.timestamps,
            shift: shake.peer_scale.unwrap_or(0).min(super::handshake::MAX_SCALE as u8),
            ecn: shake.ecn,
            bleached: shake.bleached,
            sent: shake.sent,
            retransmissions: shake.retransmissions,
            first_timestamp: shake.first_timestamp,
        }
    }
}
