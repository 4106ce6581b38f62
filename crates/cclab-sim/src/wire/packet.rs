//! A packet: a small `Copy` value; payloads are numbers of bytes.

use super::{Feedback, News, Segment};
use cclab_algo::Time;

/// Bytes of an IPv4 header without options.
pub const IP_HEADER: u32 = 20;
/// Bytes of a TCP header without options.
pub const TCP_HEADER: u32 = 20;
/// Bytes of a UDP header.
pub const UDP_HEADER: u32 = 8;
/// IP bytes of a notice.
pub const NEWS: u32 = 40;

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its number within the flow, from 0.
    pub number: u64,
    /// Payload bytes.
    pub len: u32,
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
    /// A notice to the socket that sends to [`Packet::to`].
    News(News),
}

/// The number of a socket: one end of a connection, or of a stream of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketId(pub u32);

impl SocketId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An IP packet under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// What it carries.
    pub body: Body,
    /// When it left its source host.
    pub left: Time,
    /// The socket that it is for.
    pub to: SocketId,
    /// Flow index, or [`Packet::NO_FLOW`].
    pub flow: u32,
    /// IP bytes, headers included.
    pub size: u32,
    /// Place in the network's route table: the link it takes next.
    pub(crate) next: u32,
    /// It will be lost behind the served link that it waits for.
    pub(crate) doomed: bool,
    /// Whether it travels from the flow's source to its destination.
    pub forward: bool,
    /// ECN codepoint of the IP header: 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
}

impl Packet {
    /// The flow of a packet that belongs to none.
    pub const NO_FLOW: u32 = u32::MAX;

    /// The packet around a segment.
    pub fn tcp(flow: usize, forward: bool, now: Time, segment: &Segment) -> Packet {
        let mut packet = Packet { body: Body::Tcp(*segment), ..Packet::udp(flow, now, 0, 0) };
        packet.seal(flow, forward, now);
        packet
    }

    /// The place of a segment, to be written before the packet is sealed.
    pub fn segment_mut(&mut self) -> &mut Segment {
        if !matches!(self.body, Body::Tcp(_)) {
            self.body = Body::Tcp(Segment::default());
        }
        let Body::Tcp(segment) = &mut self.body else { unreachable!("it was put there") };
        segment
    }

    /// Puts an IP header around what is in it.
    #[inline]
    pub fn seal(&mut self, flow: usize, forward: bool, now: Time) {
        (self.size, self.ecn) = match &self.body {
            Body::Tcp(segment) => (IP_HEADER + TCP_HEADER + segment.option_bytes() + segment.len, segment.ecn),
            Body::Udp(datagram) => (IP_HEADER + UDP_HEADER + datagram.len, 0),
            Body::News(_) => (NEWS, 0),
        };
        (self.left, self.flow, self.forward, self.doomed) = (now, flow as u32, forward, false);
    }

    /// The packet of `size` IP bytes around datagram `number`.
    pub fn udp(flow: usize, now: Time, number: u64, size: u32) -> Packet {
        let len = size.saturating_sub(IP_HEADER + UDP_HEADER);
        let body = Body::Udp(Datagram { number, len });
        Packet {
            body,
            left: now,
            to: SocketId(0),
            flow: flow as u32,
            size,
            next: 0,
            doomed: false,
            forward: true,
            ecn: 0,
        }
    }

    /// A notice to the socket that sends to `to`. It belongs to no flow.
    pub fn news(news: News, to: SocketId, now: Time) -> Packet {
        let flow = Packet::NO_FLOW as usize;
        Packet { body: Body::News(news), to, forward: false, ..Packet::udp(flow, now, 0, NEWS) }
    }

    /// Its congestion header, if routers are asked anything.
    pub fn asked(&mut self) -> Option<&mut Feedback> {
        match &mut self.body {
            Body::Tcp(segment) if !segment.feedback.is_none() && segment.asks_routers() => Some(&mut segment.feedback),
            _ => None,
        }
    }

    /// Payload bytes.
    pub fn payload(&self) -> u32 {
        match &self.body {
            Body::Tcp(segment) => segment.len,
            Body::Udp(datagram) => datagram.len,
            Body::News(_) => 0,
        }
    }
}
