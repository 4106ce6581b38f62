//! Packets as they come, in nanoseconds; columns in seconds at the end.

use super::PacketRows;
use crate::wire::{Body, Packet};
use cclab_algo::Time;

/// What happened to a packet: the index into [`PacketRows::EVENTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Sent,
    Queued,
    Dropped,
    Lost,
    Forwarded,
    Received,
}

/// Every packet at every link.
#[derive(Default)]
pub(crate) struct PacketLog {
    times: Vec<Time>,
    rows: PacketRows,
}

impl PacketLog {
    pub(crate) fn push(&mut self, at: Time, link: u32, kind: EventKind, packet: &Packet) {
        let (seq, ack, retransmission) = match &packet.body {
            Body::Tcp(segment) => (segment.seq, segment.ack, segment.retransmission),
            Body::Udp(datagram) => (datagram.number, 0, false),
        };
        self.times.push(at);
        let rows = &mut self.rows;
        rows.link.push(link);
        rows.flow.push(packet.flow);
        rows.event.push(kind as u8);
        rows.seq.push(seq);
        rows.ack.push(ack);
        rows.size_bytes.push(packet.size);
        rows.payload_bytes.push(packet.payload());
        rows.retransmission.push(retransmission);
    }

    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// The rows before `end` in order of time. (A packet lost behind a link is known to be before it leaves.)
    pub(crate) fn finish(self, end: Time) -> PacketRows {
        let mut order: Vec<usize> = (0..self.times.len()).filter(|&i| self.times[i] < end).collect();
        order.sort_by_key(|&i| self.times[i]);
        fn pick<T: Copy>(order: &[usize], column: &[T]) -> Vec<T> {
            order.iter().map(|&i| column[i]).collect()
        }
        let rows = &self.rows;
        PacketRows {
            time_s: order.iter().map(|&i| self.times[i].as_secs_f64()).collect(),
            link: pick(&order, &rows.link),
            flow: pick(&order, &rows.flow),
            event: pick(&order, &rows.event),
            seq: pick(&order, &rows.seq),
            ack: pick(&order, &rows.ack),
            size_bytes: pick(&order, &rows.size_bytes),
            payload_bytes: pick(&order, &rows.payload_bytes),
            retransmission: pick(&order, &rows.retransmission),
        }
    }
}
