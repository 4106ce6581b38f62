//! Packets as they come, in nanoseconds; a table at the end.

use super::table::{Index, Names, table};
use crate::wire::{Body, Packet};
use cclab_algo::Time;

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Sent,
    Queued,
    Dropped,
    Lost,
    Forwarded,
    Received,
}

impl EventKind {
    fn name(self) -> &'static str {
        match self {
            EventKind::Sent => "sent",
            EventKind::Queued => "queued",
            EventKind::Dropped => "dropped",
            EventKind::Lost => "lost",
            EventKind::Forwarded => "forwarded",
            EventKind::Received => "received",
        }
    }
}

/// What is kept of a packet at a place.
pub(crate) struct Noted {
    at: Time,
    seq: u64,
    ack: u64,
    link: u32,
    flow: u32,
    size: u32,
    payload: u32,
    kind: EventKind,
    retransmission: bool,
}

table! {
    /// Every packet at every place, where `record.packets` asks for a table.
    "packets": Packets of PacketRow from p, &Noted;

    /// Time.
    time_s: Vec<f64>, "s" = p.at.as_secs_f64();
    /// Name of the link; none at a host.
    link: Index, "" = p.link;
    /// Name of the flow, or of the background's entry.
    flow: Index, "" = p.flow;
    /// What happened: it was `sent` by a host, `queued` or `dropped` at a link, `lost` to a loss model, `forwarded` by the link,
    /// or `received` by a host.
    event: Names, "" = p.kind.name();
    /// First sequence number, TCP; packet number, UDP.
    seq: Vec<u64>, "1" = p.seq;
    /// Acknowledgement number.
    ack: Vec<u64>, "1" = p.ack;
    /// IP bytes.
    size_bytes: Vec<u32>, "bytes" = p.size;
    /// Payload.
    payload_bytes: Vec<u32>, "bytes" = p.payload;
    /// Whether it is a retransmission.
    retransmission: Vec<bool>, "1" = p.retransmission;
}

/// Every packet at every link.
#[derive(Default)]
pub(crate) struct PacketLog(Vec<Noted>);

impl PacketLog {
    pub(crate) fn push(&mut self, at: Time, link: u32, kind: EventKind, packet: &Packet) {
        let (seq, ack, retransmission) = match &packet.body {
            Body::Tcp(segment) => (segment.seq, segment.ack, segment.retransmission),
            Body::Udp(datagram) => (datagram.number, 0, false),
            Body::News(_) => (0, 0, false),
        };
        let (flow, size, payload) = (packet.flow, packet.size, packet.payload());
        self.0.push(Noted { at, seq, ack, link, flow, size, payload, kind, retransmission });
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The rows before `end` in order of time, with the flow that `flow` says. (A packet lost behind a link is known to be
    /// before it leaves.)
    pub(crate) fn finish(mut self, end: Time, flow: impl Fn(u32) -> u32) -> Packets {
        self.0.retain(|noted| noted.at < end);
        self.0.sort_by_key(|noted| noted.at);
        let mut packets = Packets::default();
        packets.reserve(self.0.len());
        for noted in self.0 {
            packets.push(&Noted { flow: flow(noted.flow), ..noted });
        }
        packets
    }
}
