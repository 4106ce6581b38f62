//! A packet as it waits and travels: what every packet has in 56 bytes, what few have beside it.

use super::{Body, Datagram, Echo, Feedback, Flags, NEWS, News, Packet, SackBlocks, Segment, SocketId};
use cclab_algo::Time;

/// What few segments carry: SACK blocks, a congestion header, a DSS option, the options of a SYN, exact times for a law that asks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    sent: Time,
    echo: Echo,
    sack: SackBlocks,
    feedback: Feedback,
    dss: u32,
    mss: u16,
    window_scale: Option<u8>,
    sack_permitted: bool,
}

/// A packet without its options.
///
/// No two numbers of 32 bits stand side by side that do so in a packet too: one load would copy both, which were stored one by
/// one just before, and a processor hands on what is in one store, not in two.
#[derive(Clone, Copy, Debug)]
pub struct Packed {
    left: Time,
    seq: u64,
    ack: u64,
    ts_val: u32,
    to: SocketId,
    ts_ecr: u32,
    flow: u32,
    next: u32,
    len: u32,
    /// Bytes of the headers.
    headers: u16,
    window: u16,
    flags: Flags,
    /// The ECN codepoint, and whether …
    bits: u8,
}

const ECN: u8 = 3;
const FORWARD: u8 = 1 << 2;
const DOOMED: u8 = 1 << 3;
const DATAGRAM: u8 = 1 << 4;
const OPTIONS: u8 = 1 << 5;
const TIMESTAMPS: u8 = 1 << 6;
const RETRANSMISSION: u8 = 1 << 7;
/// What no datagram is.
const NOTICE: u8 = DATAGRAM | RETRANSMISSION;

/// Which news, and its number.
fn pack_news(news: News) -> (u16, u64) {
    match news {
        News::RouteFailed => (0, 0),
        News::RouteRestored => (1, 0),
        News::LinkFailed { seq } => (2, seq),
        News::Unreachable => (3, 0),
        News::Disconnected { head } => (4, head),
        News::Reconnected { received } => (5, received),
        News::Hops { round_trip } => (6, round_trip.into()),
        News::Waited => (7, 0),
    }
}

fn unpack_news(which: u16, number: u64) -> News {
    match which {
        0 => News::RouteFailed,
        1 => News::RouteRestored,
        2 => News::LinkFailed { seq: number },
        3 => News::Unreachable,
        4 => News::Disconnected { head: number },
        5 => News::Reconnected { received: number },
        6 => News::Hops { round_trip: number as u16 },
        _ => News::Waited,
    }
}

impl Packet {
    /// Whether it is a segment that carries what few do.
    #[inline]
    pub fn has_options(&self) -> bool {
        let Body::Tcp(s) = &self.body else { return false };
        s.sent != self.left
            || s.echo != Echo::default()
            || !s.sack.is_empty()
            || !s.feedback.is_none()
            || s.dss != 0
            || s.mss != 0
            || s.sack_permitted
            || s.window_scale.is_some()
    }

    /// What few segments carry, of a segment.
    pub fn options(&self) -> Option<Options> {
        let Body::Tcp(s) = &self.body else { return None };
        Some(Options {
            sent: s.sent,
            echo: s.echo,
            sack: s.sack,
            feedback: s.feedback,
            dss: s.dss,
            mss: s.mss,
            window_scale: s.window_scale,
            sack_permitted: s.sack_permitted,
        })
    }

    /// The packet without its options, of which it has some or none.
    #[inline]
    pub fn pack(&self, has_options: bool) -> Packed {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let bits = (self.ecn & ECN) | bit(self.forward, FORWARD) | bit(self.doomed, DOOMED) | bit(has_options, OPTIONS);
        let packed = Packed {
            left: self.left,
            seq: 0,
            ack: 0,
            ts_val: 0,
            ts_ecr: 0,
            to: self.to,
            flow: self.flow,
            next: self.next,
            len: 0,
            headers: 0,
            window: 0,
            flags: Flags::default(),
            bits,
        };
        match &self.body {
            Body::Tcp(s) => Packed {
                seq: s.seq,
                ack: s.ack,
                ts_val: s.ts_val,
                ts_ecr: s.ts_ecr,
                len: s.len,
                headers: self.size.wrapping_sub(s.len) as u16,
                window: s.window,
                flags: s.flags,
                bits: bits | bit(s.has_timestamps, TIMESTAMPS) | bit(s.retransmission, RETRANSMISSION),
                ..packed
            },
            Body::Udp(d) => Packed {
                seq: d.number,
                len: d.len,
                headers: self.size.wrapping_sub(d.len) as u16,
                bits: bits | DATAGRAM,
                ..packed
            },
            Body::News(news) => {
                let (window, seq) = pack_news(*news);
                Packed { seq, window, headers: NEWS as u16, bits: bits | NOTICE, ..packed }
            }
        }
    }
}

impl Packed {
    /// Whether its options lie beside it.
    #[inline]
    pub fn has_options(&self) -> bool {
        self.bits & OPTIONS != 0
    }
    /// Place in the network's route table: the link it takes next.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }
    /// The socket that it is for.
    pub fn to(&self) -> SocketId {
        self.to
    }
    /// Flow index.
    pub fn flow(&self) -> u32 {
        self.flow
    }
    /// Payload bytes.
    pub fn payload(&self) -> u32 {
        self.len
    }

    /// The packet with its options, into `packet`, for that is not copied then. A segment carries the codepoint under which
    /// its packet arrived.
    #[inline]
    pub fn unpack(&self, options: Option<&Options>, packet: &mut Packet) {
        let has = |bit: u8| self.bits & bit != 0;
        let ecn = self.bits & ECN;
        (packet.left, packet.to, packet.flow, packet.next) = (self.left, self.to, self.flow, self.next);
        packet.size = self.len + u32::from(self.headers);
        (packet.doomed, packet.forward, packet.ecn) = (has(DOOMED), has(FORWARD), ecn);
        if has(DATAGRAM) {
            packet.body = match has(RETRANSMISSION) {
                false => Body::Udp(Datagram { number: self.seq, len: self.len }),
                true => Body::News(unpack_news(self.window, self.seq)),
            };
        } else {
            packet.body = Body::Tcp(Segment {
                seq: self.seq,
                ack: self.ack,
                sent: self.left,
                len: self.len,
                ts_val: self.ts_val,
                ts_ecr: self.ts_ecr,
                window: self.window,
                flags: self.flags,
                has_timestamps: has(TIMESTAMPS),
                ecn,
                retransmission: has(RETRANSMISSION),
                ..Segment::default()
            });
            if let (Some(o), Body::Tcp(s)) = (options, &mut packet.body) {
                (s.sent, s.echo, s.sack, s.feedback) = (o.sent, o.echo, o.sack, o.feedback);
                (s.dss, s.mss, s.window_scale, s.sack_permitted) = (o.dss, o.mss, o.window_scale, o.sack_permitted);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn with_its_time_a_packet_fills_a_cache_line() {
        assert_eq!(size_of::<(Time, Packed)>(), 64);
    }

    prop_compose! {
        fn segment()(
            seq: u64, ack: u64, len in 0_u32..65_000, ts: (u32, u32), window: u16, flags in 0_u16..0x200,
            sack in proptest::collection::vec((any::<u32>(), any::<u32>()), 0..4), echo in echo(),
            mss in prop_oneof![3 => Just(0_u16), 1 => any::<u16>()], dss in prop_oneof![3 => Just(0_u32), 1 => any::<u32>()], window_scale: Option<u8>, bits: [bool; 4],
            feedback in prop_oneof![3 => Just(Feedback::None), 1 => Just(Feedback::Xcp { cwnd: 1, rtt_us: 2, delta: 3.0 })],
        ) -> Segment {
            let mut blocks = SackBlocks::NONE;
            sack.iter().for_each(|&(a, b)| assert!(blocks.push(a.into(), b.into())));
            Segment {
                seq, ack, len, ts_val: ts.0, ts_ecr: ts.1, window, flags: Flags(flags), sack: blocks, mss, dss, window_scale, feedback,
                echo,
                sack_permitted: bits[0], has_timestamps: bits[1], retransmission: bits[2],
                ..Segment::default()
            }
        }
    }

    /// None, one of any numbers, one with zeros among them.
    fn echo() -> impl Strategy<Value = Echo> {
        let number = || prop_oneof![Just(0_u64), 1_u64..1 << 60];
        (number(), number(), number()).prop_map(|(seq, sent, arrived)| Echo {
            seq,
            sent: Time(sent),
            arrived: Time(arrived),
        })
    }

    proptest! {
        /// A notice, too.
        #[test]
        fn nor_of_a_notice(which in 0_u16..8, number in 0_u64..65_536, left: u32, to: u32) {
            let packet = Packet::news(unpack_news(which, number), SocketId(to), Time(left.into()));
            prop_assert_eq!(packet.size, 40);
            let mut out = Packet::udp(0, Time::ZERO, 0, 0);
            packet.pack(false).unpack(None, &mut out);
            prop_assert_eq!(out, packet);
        }

        /// What goes in comes out, whatever it is.
        #[test]
        fn nothing_is_lost(segment in segment(), left: u32, late: bool, to: u32, hop: u32, ecn in 0_u8..4, bits: [bool; 2], udp: bool) {
            let left = Time(left.into());
            let segment = Segment { sent: Time(left.0 + u64::from(late)), ecn, ..segment };
            let mut packet = if udp { Packet::udp(7, left, segment.seq, 1500) } else { Packet::tcp(7, bits[0], left, &segment) };
            (packet.to, packet.next, packet.ecn, packet.doomed) = (SocketId(to), hop, ecn, bits[1]);
            let options = packet.options().filter(|_| packet.has_options());
            let mut out = Packet::udp(0, Time::ZERO, 0, 0);
            packet.pack(options.is_some()).unpack(options.as_ref(), &mut out);
            prop_assert_eq!(out, packet);
        }
    }
}
