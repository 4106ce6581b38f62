//! Opening a connection: SYN, SYN-ACK, their options and their retransmission.

use super::super::Config;
use super::ecn::{Marks, Style, handshake_flags};
use super::sender::quick_start_request;
use super::{Endpoint, State, refusal, timestamp};
use crate::wire::ecn::{CE, NOT_ECT};
use crate::wire::{Flags, Segment};
use cclab_algo::cc::Feedback;
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Time};

/// Linux sends the first SYN retransmissions a second apart, then backs off (`tcp_syn_linear_timeouts`).
const LINEAR_TIMEOUTS: u32 = 4;

/// Window-scale shifts are at most 14 (RFC 7323 §2.3).
pub(super) const MAX_SCALE: u32 = 14;

/// What a peer can take that does not say so (RFC 9293 §3.7.1, IPv4).
const DEFAULT_MSS: u32 = 536;

/// Bytes of every segment that the timestamp option takes, padding included.
pub(super) const TIMESTAMPS: u32 = 12;

/// Where the handshake stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// A SYN or SYN-ACK is to leave.
    pub pending: bool,
    /// When it is retransmitted.
    pub deadline: Time,
    pub sent: Option<Time>,
    /// When it ended well; [`Time::NEVER`] before.
    pub ended: Time,
    /// Timestamp of the first SYN or SYN-ACK.
    pub first_timestamp: u32,
    pub retransmissions: u32,
    /// The ACK that ends the handshake is due.
    pub ack_alone: bool,
    /// What is agreed of ECN.
    pub ecn: Style,
    /// The Quick-Start request of the peer's SYN, for our SYN-ACK.
    quick_start: Feedback,
    /// ECN codepoint under which the peer's SYN arrived.
    syn_ecn: u8,
    /// The peer's SYN came without ECN's flags at least once.
    pub bleached: bool,
    /// A SYN-ACK has left.
    replied: bool,
    /// The peer offered these, and so do we.
    pub sack: bool,
    pub timestamps: bool,
    pub peer_scale: Option<u8>,
}

impl Handshake {
    pub fn new() -> Handshake {
        Handshake {
            pending: false,
            deadline: Time::NEVER,
            sent: None,
            ended: Time::NEVER,
            first_timestamp: 0,
            retransmissions: 0,
            ack_alone: false,
            ecn: Style::Off,
            syn_ecn: 0,
            bleached: false,
            replied: false,
            quick_start: Feedback::None,
            sack: false,
            timestamps: false,
            peer_scale: None,
        }
    }

    /// Flags of the ACK that ends the handshake; with AccECN they say how the SYN-ACK arrived (RFC 9768 §3.2.2.1).
    pub fn last_flags(&self) -> Flags {
        let accurate = self.ecn == Style::Accurate;
        if accurate { Flags::ACK | handshake_flags(self.syn_ecn) } else { Flags::ACK }
    }
}

impl Endpoint {
    /// Payload bytes of the segments that we would take.
    pub(super) fn advertised(&self) -> u32 {
        offered_mss(self.snd.config()) - if self.handshake.timestamps { TIMESTAMPS } else { 0 }
    }

    /// The SYN, or the SYN-ACK.
    pub(super) fn handshake_segment(&mut self, now: Time) -> Segment {
        let (len, fast_open) = self.on_syn_leaves(self.state == State::SynReceived);
        let config = self.snd.config();
        let reply = self.state == State::SynReceived;
        let shake = &mut self.handshake;
        shake.pending = false;
        if shake.sent.replace(now).is_none() {
            shake.first_timestamp = timestamp(now);
        }
        let first = reply && !std::mem::replace(&mut shake.replied, reply);
        let timeout = backed_off(config.rto.initial, shake.retransmissions, config.flavour, reply);
        shake.deadline = now + timeout.min(config.rto.max);
        let timestamps = if reply { shake.timestamps } else { config.timestamps };
        let sack_permitted = if reply { shake.sack } else { config.sack };
        let offer_scale = config.window_scaling && (!reply || shake.peer_scale.is_some());
        let law = self.snd.ecn_use();
        let style = if reply { shake.ecn } else { Style::wanted(config, law) };
        let flags = match (reply, style) {
            (false, _) => Flags::SYN | style.ask(if config.ecn_fallback { shake.retransmissions } else { 0 }),
            (true, Style::Off) => Flags::SYN | Flags::ACK,
            // Something on the way may dislike the flags, or they are not why it was lost: AccECN all the same (RFC 9768 §3.1.4.2,
            // as Linux after the second time).
            (true, Style::Accurate) if shake.retransmissions > 1 => Flags::SYN | Flags::ACK,
            (true, Style::Accurate) => Flags::SYN | Flags::ACK | handshake_flags(shake.syn_ecn),
            (true, Style::Classic | Style::Dctcp) => Flags::SYN | Flags::ACK | Flags::ECE,
        };
        let ecn = style.handshake_codepoint(law);
        let mss = offered_mss(config).min(65_535) as u16;
        let segment = offered_mss(config) - if reply && timestamps { TIMESTAMPS } else { 0 };
        self.rcv.open_window(segment);
        let window_scale = offer_scale.then(|| scale_for(config.receive_buffer));
        let feedback = match config.quick_start {
            _ if reply && style == Style::Accurate && config.accecn_option > Some(0) => Marks::syn_option(first),
            _ if reply => shake.quick_start,
            Some(rate) if shake.retransmissions == 0 => quick_start_request(now, rate),
            _ => Feedback::None,
        };
        if !self.is_early() {
            self.snd.on_syn_sent();
        }
        Segment {
            flags,
            len,
            feedback: if fast_open.is_none() { feedback } else { fast_open },
            ack: self.rcv.rcv_nxt,
            sent: now,
            mss,
            window_scale,
            sack_permitted,
            has_timestamps: timestamps,
            ts_val: timestamp(now),
            ts_ecr: self.rcv.ts_recent,
            window: self.rcv.window_field(true),
            ecn,
            retransmission: self.handshake.retransmissions > 0,
            ..Segment::default()
        }
    }

    pub(super) fn on_handshake_timer(&mut self, now: Time) {
        let shake = &mut self.handshake;
        if now < shake.deadline {
            return;
        }
        shake.deadline = Time::NEVER;
        shake.retransmissions += 1;
        let reply = self.state == State::SynReceived;
        let config = self.snd.config();
        let linear = linear_timeouts(config.flavour, reply);
        let retries = if reply { config.synack_retries } else { config.syn_retries + linear };
        if shake.retransmissions > retries {
            self.state = State::Closed;
        } else {
            shake.pending = true;
        }
    }

    /// A segment in LISTEN or SYN-SENT.
    pub(super) fn on_handshake_segment(&mut self, now: Time, segment: &Segment) {
        let acks_our_syn = self.state == State::SynSent && self.acks_our_syn(segment) && self.echoes(now, segment);
        if segment.flags.has(Flags::RST) {
            if acks_our_syn {
                self.state = State::Closed;
                self.handshake.deadline = Time::NEVER;
            }
            return;
        }
        if segment.flags.has(Flags::ACK) && !acks_our_syn {
            self.early = refusal(now, segment).map(Box::new);
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        self.negotiate(segment);
        self.rcv.on_syn(segment);
        if acks_our_syn {
            self.establish(now, segment);
            // connect() returns before the application writes, so the ACK that ends the handshake carries no data.
            self.handshake.ack_alone = true;
            self.take_syn_ack(now, segment);
        } else {
            // A connection is asked for; or both ends asked at once.
            let listens = self.state == State::Listen;
            self.state = State::SynReceived;
            self.handshake.pending = true;
            if listens {
                self.take_syn_data(now, segment);
            }
        }
    }

    /// Whether a timestamp that comes back, if one does, is one of our SYN's (Linux `tcp_rcv_synsent_state_process`).
    fn echoes(&self, now: Time, segment: &Segment) -> bool {
        let age = |of: u32| timestamp(now).wrapping_sub(of);
        !segment.has_timestamps || segment.ts_ecr == 0 || age(segment.ts_ecr) <= age(self.handshake.first_timestamp)
    }

    fn negotiate(&mut self, segment: &Segment) {
        let config = self.snd.config();
        let shake = &mut self.handshake;
        let law = self.snd.ecn_use();
        shake.ecn = Style::accepted(config, law).agree(segment.flags, law);
        let capable_syn = segment.ecn != NOT_ECT && !segment.flags.has(Flags::ACK);
        if capable_syn && shake.ecn == Style::Classic {
            shake.ecn = Style::Off; // its law lives on marks and is not ours (Linux `tcp_ecn_create_request`)
        }
        shake.syn_ecn = segment.ecn;
        shake.quick_start = match segment.feedback {
            Feedback::FastOpen(_) => Feedback::None,
            request => request,
        };
        shake.sack = config.sack && segment.sack_permitted;
        shake.timestamps = config.timestamps && segment.has_timestamps;
        shake.peer_scale = segment.window_scale.filter(|_| config.window_scaling);
        let own = offered_mss(config);
        let peer = if segment.mss == 0 { DEFAULT_MSS } else { u32::from(segment.mss) };
        let options = if shake.timestamps { TIMESTAMPS } else { 0 };
        self.snd.set_mss(peer.min(own).min(self.snd.path_mss()).saturating_sub(options).max(1));
    }

    /// The peer repeats its SYN or SYN-ACK: ours was lost. Or both opened at once, and this acknowledges our SYN.
    pub(super) fn on_repeated_syn(&mut self, now: Time, segment: &Segment) {
        if self.state == State::SynReceived {
            if self.acks_our_syn(segment) {
                self.handshake.syn_ecn = segment.ecn;
                self.establish(now, segment);
                self.take_syn_ack(now, segment);
                // Its SYN is a duplicate (Linux).
                self.rcv.on_duplicate_segment(segment);
                self.handshake.ack_alone = true;
            } else {
                // It says how the latest SYN arrived, and that one came without its flags (RFC 9768 §3.1.5).
                self.handshake.syn_ecn = segment.ecn;
                self.handshake.bleached |= segment.flags.ace() == 0;
                self.handshake.pending = true;
            }
        } else {
            self.challenge(now); // RFC 5961 §4
            if self.rcv.ack_now && self.handshake.ecn == Style::Accurate {
                // It says how the latest SYN-ACK arrived (RFC 9768 §3.2.2.1).
                self.handshake.syn_ecn = segment.ecn;
                self.handshake.ack_alone = true;
            }
        }
    }

    /// Our SYN is acknowledged.
    pub(super) fn establish(&mut self, now: Time, segment: &Segment) {
        if !self.is_early() {
            self.begin_transfer(now, segment);
        }
        self.state = State::Established;
        self.handshake.ended = now;
        self.handshake.deadline = Time::NEVER;
        self.handshake.pending = false;
        self.rcv.marks.cep += u32::from(segment.flags.has(Flags::SYN) && segment.ecn == CE);
        let agreed = self.agreed();
        self.snd.establish(now, segment, &agreed);
    }
}

/// The MSS option that our SYN carries: what we can take, whatever the peer can (RFC 9293 §3.7.1).
pub(super) fn offered_mss(config: &Config) -> u32 {
    config.mss + if config.timestamps { TIMESTAMPS } else { 0 }
}

/// The smallest shift of Linux's rule: floor(log2 buffer) − 15.
pub(super) fn scale_for(buffer: u64) -> u8 {
    buffer.max(1).ilog2().saturating_sub(15).min(MAX_SCALE) as u8
}

fn backed_off(initial: Duration, retransmissions: u32, flavour: Flavour, reply: bool) -> Duration {
    let doublings = retransmissions.saturating_sub(linear_timeouts(flavour, reply));
    initial * 1u64.checked_shl(doublings).unwrap_or(u64::MAX)
}

/// How many of the timeouts do not back off.
fn linear_timeouts(flavour: Flavour, reply: bool) -> u32 {
    if flavour == Flavour::Linux && !reply { LINEAR_TIMEOUTS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{backed_off, scale_for};
    use cclab_algo::Duration;
    use cclab_algo::params::Flavour;

    /// Linux's rule, at its defaults for the receive buffer.
    #[test]
    fn window_scales() {
        assert_eq!([65_535, 131_072, 6_291_456, 16_777_216, 1 << 40].map(scale_for), [0, 2, 7, 9, 14]);
    }

    /// RFC 6298 §5.5: the timeout doubles, as often as TCP_SYNCNT allows (127 times).
    #[test]
    fn timeouts_double_however_many_there_are() {
        let timeouts = [0, 1, 2, 10, 63, 64, 127].map(|n| backed_off(Duration::from_secs(1), n, Flavour::Linux, true));
        let [first @ .., a, b, c] = timeouts;
        assert_eq!(first, [1, 2, 4, 1024].map(Duration::from_secs));
        assert_eq!([a, b, c], [Duration::MAX; 3]);
    }
}
