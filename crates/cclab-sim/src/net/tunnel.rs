//! The mouth of a tunnel: a hop whose packets become the byte stream of a TCP connection, and come out whole at its other end.
//!
//! The network knows no connection. It says when something has come ([`Event::Tunnel`](super::Event)); whoever has the connection
//! writes the bytes to it ([`Network::bytes_for_tunnel`](super::Network)), says how far it has sent and how far its peer has
//! received, and the packets that are complete there go on along their routes.

use super::config;
use super::link::Measured;
use super::queue::Room;
use super::table::Whole;
use crate::wire::Packet;
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// Bytes of a packet's length in front of it in the stream, as OpenVPN frames its packets over TCP.
pub const LENGTH: u32 = 2;

/// A packet in the stream.
struct Carried {
    packet: Packet,
    came: Time,
    /// Where it begins and ends in the stream.
    start: u64,
    end: u64,
}

/// The mouth of a tunnel, and what is in the tunnel.
pub(super) struct Mouth {
    room: Room,
    /// Packets that have not come out: first those of which something has been sent, last those that wait.
    packets: VecDeque<Carried>,
    waiting: usize,
    waiting_bytes: u64,
    /// Length of the stream, and of that what has been written to the connection.
    end: u64,
    written: u64,
    arrived: u64,
    dropped: u64,
    delivered: u64,
    data_delivered: u64,
    measured: Measured,
    from: Time,
    to: Time,
    /// (time, packets, bytes) whenever what waits changes, when asked for.
    changes: Option<Vec<(Time, u64, u64)>>,
}

impl Mouth {
    pub(super) fn new(tunnel: &config::Tunnel, (from, to): (Time, Time), log_changes: bool) -> Mouth {
        Mouth {
            room: tunnel.buffer.into(),
            packets: VecDeque::new(),
            waiting: 0,
            waiting_bytes: 0,
            end: 0,
            written: 0,
            arrived: 0,
            dropped: 0,
            delivered: 0,
            data_delivered: 0,
            measured: Measured::default(),
            from,
            to,
            changes: log_changes.then(Vec::new),
        }
    }

    /// Takes in a packet, unless there is no room for it.
    pub(super) fn take(&mut self, now: Time, packet: &Packet) -> bool {
        let measures = u64::from(now >= self.from);
        self.arrived += 1;
        self.measured.arrived += measures;
        if self.room.is_full(self.waiting as u64, self.waiting_bytes, packet.size) {
            self.dropped += 1;
            self.measured.drops += measures;
            return false;
        }
        let start = self.end;
        self.end += u64::from(LENGTH + packet.size);
        self.packets.push_back(Carried { packet: *packet, came: now, start, end: self.end });
        self.waiting += 1;
        self.waiting_bytes += u64::from(packet.size);
        self.log_change(now);
        true
    }

    /// Bytes that are to be written to the connection; they are asked for once.
    pub(super) fn bytes(&mut self) -> u64 {
        let bytes = self.end - self.written;
        self.written = self.end;
        bytes
    }

    /// The connection has sent the stream as far as this: whose first byte has left waits no more.
    pub(super) fn note_sent(&mut self, now: Time, offset: u64) {
        while let Some(first) = self.packets.len().checked_sub(self.waiting).and_then(|k| self.packets.get(k))
            && first.start < offset
        {
            let (size, came, is_data) = (first.packet.size, first.came, first.packet.payload() > 0);
            self.waiting -= 1;
            self.waiting_bytes -= u64::from(size);
            if now >= self.from {
                let m = &mut self.measured;
                m.sent += 1;
                m.data_sent += u64::from(is_data);
                m.bytes_sent += u64::from(size);
                m.sojourn.record(now - came);
                m.waiting_time += u128::from(now.since(came.max(self.from)).0);
            }
            self.log_change(now);
        }
        if now >= self.from {
            self.measured.queue_max = self.measured.queue_max.max(self.waiting as u64);
        }
    }

    /// The next packet of which the peer has received the last byte, its stream in order as far as this; whether there is one.
    pub(super) fn pop(&mut self, received: u64, packet: &mut Packet) -> bool {
        if self.packets.front().is_none_or(|first| first.end > received) {
            return false;
        }
        let Some(first) = self.packets.pop_front() else { return false };
        *packet = first.packet;
        self.delivered += 1;
        self.data_delivered += u64::from(packet.payload() > 0);
        true
    }

    fn log_change(&mut self, now: Time) {
        if let Some(changes) = &mut self.changes {
            changes.push((now, self.waiting as u64, self.waiting_bytes));
        }
    }

    /// How many changes of what waits are noted; and the changes before `end`.
    pub(super) fn changes(&self) -> usize {
        self.changes.as_ref().map_or(0, Vec::len)
    }
    pub(super) fn take_changes(&mut self, end: Time) -> Vec<(Time, u64, u64)> {
        let mut changes = self.changes.take().unwrap_or_default();
        changes.retain(|change| change.0 < end);
        changes
    }

    /// The measured interval begins: what waits now is its first maximum.
    pub(super) fn begin_measuring(&mut self) {
        self.measured.queue_max = self.waiting as u64;
    }

    /// Packets and bytes that wait for their first byte to be sent.
    pub(super) fn backlog(&self) -> (u64, u64) {
        (self.waiting as u64, self.waiting_bytes)
    }

    /// Data packets that came out.
    pub(super) fn data_delivered(&self) -> u64 {
        self.data_delivered
    }

    /// What there is to tell of it once the measured interval, `seconds` long, is over.
    pub(super) fn whole<'a>(&'a self, name: &'a str, seconds: f64) -> Whole<'a> {
        let waiting = self.packets.iter().skip(self.packets.len() - self.waiting);
        let still = waiting.map(|carried| u128::from(self.to.since(carried.came.max(self.from)).0)).sum::<u128>();
        Whole {
            name,
            m: &self.measured,
            seconds,
            waiting_time: self.measured.waiting_time + still,
            capacity: None,
            rate: None,
            delay: Duration::ZERO,
            room: self.room,
        }
    }

    /// Packets that are in the tunnel or wait for it.
    pub(super) fn under_way(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Calls `each` with the flow of every packet that is in the tunnel or waits for it.
    pub(super) fn each_under_way(&self, each: &mut dyn FnMut(u32)) {
        self.packets.iter().for_each(|carried| each(carried.packet.flow));
    }

    /// What does not add up, if anything.
    pub(super) fn imbalance(&self) -> Option<String> {
        let (Mouth { arrived, delivered, dropped, .. }, under_way) = (self, self.packets.len() as u64);
        (*arrived != delivered + dropped + under_way)
            .then(|| format!("{arrived} arrived, {delivered} delivered, {dropped} dropped, {under_way} under way"))
    }
}
