//! A send buffer of memory, which the application fills ahead of what may leave, and which grows with the window (Linux 6.18
//! `tcp_sendmsg_locked`, `tcp_sndbuf_expand`, `sk_stream_write_space`).
//!
//! The kernel looks at the buffer where it begins a new packet to copy data into, not where it adds to one: what leaves makes room in the
//! last packet. So an application that writes much at once writes on as long as the congestion window lets data leave, and what is out
//! may take far more memory than the buffer has; what it begins to write finds it full then, and it sleeps until a third is free.

use super::super::super::Config;
use super::super::super::memory::{BELOW_PLAIN, full_segment, largest, overhead};
use super::Sender;
use std::collections::VecDeque;

/// What a packet of the queue takes beside its payload.
const PACKET: u64 = overhead(BELOW_PLAIN);
/// The largest packet, bytes.
const LARGEST: u64 = largest(BELOW_PLAIN);
/// What the application writes at once: as senders of the live backend do (iperf3 half of that).
const WRITE: u64 = 256 << 10;
/// Segments that there is room for in any case (`TCP_INIT_CWND`).
const LEAST: u64 = 10;

/// The buffer. Offsets are those of the stream.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// `sk_sndbuf`, which grows to `most`.
    size: u64,
    most: u64,
    /// Bytes that the application has still to write; `u64::MAX` without end.
    unwritten: u64,
    /// Bytes left of what it writes at once.
    write: u64,
    /// Where the last packet begins that waits to leave.
    last: u64,
    /// Where the packets end that are out.
    out: VecDeque<u64>,
    /// The next segment belongs to the last of these.
    continues: bool,
    /// The application waits for room.
    asleep: bool,
    /// Something was acknowledged since it last looked.
    asked: bool,
}

impl SendBuffer {
    /// The buffer of a connection that comes up.
    pub fn new(config: &Config) -> Option<Box<SendBuffer>> {
        let size = config.initial_send_buffer?;
        let most = config.send_buffer.unwrap_or(u64::MAX).max(size);
        Some(Box::new(SendBuffer {
            size,
            most,
            unwritten: 0,
            write: 0,
            last: 0,
            out: VecDeque::new(),
            continues: false,
            asleep: false,
            asked: false,
        }))
    }

    /// What is remembered of packets takes so much.
    pub fn kept_bytes(&self) -> usize {
        self.out.len() * size_of::<u64>()
    }

    /// The application has `bytes` more to write.
    pub fn add(&mut self, bytes: u64) {
        self.unwritten = self.unwritten.saturating_add(bytes);
    }

    /// The application has no more to write than is in the buffer, if it was without end.
    pub fn pause(&mut self) {
        if self.unwritten == u64::MAX {
            self.unwritten = 0;
        }
    }

    /// A segment leaves that ends at `end`; `continues`: the next one leaves with it.
    pub fn on_sent(&mut self, end: u64, continues: bool) {
        match self.out.back_mut() {
            Some(last) if self.continues => *last = end,
            _ => self.out.push_back(end),
        }
        self.continues = continues;
    }

    /// All before `una` is acknowledged.
    pub fn on_ack(&mut self, una: u64) {
        while self.out.front().is_some_and(|end| *end <= una) {
            self.out.pop_front();
        }
        self.asked = true;
    }

    /// Room for `segments` of the window of this size, of which `factor` are to fit (`tcp_sndbuf_expand`).
    fn expand(&mut self, segments: u64, full_packet: u64, factor: u64) {
        let wanted = factor * segments * full_segment(BELOW_PLAIN, full_packet);
        if self.size < wanted {
            self.size = wanted.min(self.most);
        }
    }

    /// The memory that is taken, `una` being the first byte in it, `nxt` the first that was not sent, and `end` behind the last.
    fn used(&self, una: u64, nxt: u64, end: u64, largest: u64) -> u64 {
        let packets = self.out.len() as u64 + end.saturating_sub(nxt).div_ceil(largest);
        end.saturating_sub(una) + packets * PACKET
    }
}

impl Sender {
    /// The connection is up: the application's data go through the buffer, if there is one.
    pub(super) fn begin_buffer(&mut self) {
        self.buffer = SendBuffer::new(&self.config);
        if let Some(buffer) = &mut self.buffer {
            buffer.add(self.outbox.hold(self.window.nxt()));
            self.expand_buffer();
        }
    }

    /// A source without end writes no more.
    pub(super) fn let_go(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.pause();
            self.outbox.fill(0, buffer.unwritten > 0);
        }
    }

    fn expand_buffer(&mut self) {
        let segments = (self.law.cwnd() / self.mss()).max(u64::from(self.reordering.degree()) + 1).max(LEAST);
        // (only laws that have no threshold ask for more)
        let factor = if self.law.governs_recovery() { 3 } else { 2 };
        let full_packet = self.mss() + if self.timestamps { 12 } else { 0 };
        if let Some(buffer) = &mut self.buffer {
            buffer.expand(segments, full_packet, factor);
        }
    }

    /// Bytes of the largest packet that is handed over as one: whole segments, and no more than half of the peer's window.
    fn largest_packet(&self) -> u64 {
        let mss = self.mss();
        LARGEST.min(self.window.largest() / 2).max(mss) / mss * mss
    }

    /// The application writes as much as there is room for: where nothing leaves any more (`stuck`) also in further packets.
    #[cold]
    pub(super) fn write_on(&mut self, stuck: bool) {
        let (una, nxt) = (self.window.una(), self.window.nxt());
        let largest = self.largest_packet();
        let Some(buffer) = self.buffer.as_deref_mut() else { return };
        while !buffer.asleep && buffer.unwritten > 0 {
            let end = self.outbox.end();
            let mut room = if end > nxt { (buffer.last.max(nxt) + largest).saturating_sub(end) } else { 0 };
            if end > nxt && !stuck && (room == 0 || buffer.write == 0) {
                return; // what is full, or was written, leaves first
            }
            if room == 0 {
                buffer.asleep = buffer.used(una, nxt, end, largest) >= buffer.size;
                (buffer.last, room) = (end, largest);
            }
            if buffer.asleep {
                buffer.write = 0;
                return;
            }
            buffer.write = if buffer.write == 0 { WRITE } else { buffer.write };
            let written = room.min(buffer.write).min(buffer.unwritten);
            buffer.write -= written;
            buffer.unwritten -= if buffer.unwritten == u64::MAX { 0 } else { written };
            self.outbox.fill(written, buffer.unwritten > 0);
        }
    }

    /// Nothing more may leave: whether ACKs have made room for which the application wakes up. A buffer that is the limit grows.
    pub(super) fn wakes(&mut self) -> bool {
        self.write_on(true);
        let Some(buffer) = self.buffer.as_deref_mut() else { return false };
        if !std::mem::take(&mut buffer.asked) || !buffer.asleep {
            return false;
        }
        if self.in_flight() < self.cwnd() {
            self.expand_buffer();
        }
        let (una, nxt, largest) = (self.window.una(), self.window.nxt(), self.largest_packet());
        let Some(buffer) = self.buffer.as_deref_mut() else { return false };
        let used = buffer.used(una, nxt, self.outbox.end(), largest);
        buffer.asleep = used + used / 2 > buffer.size;
        !buffer.asleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SO_MEMINFO of Linux 6.18 after the handshake, reno (2) and bbr (3), by MTU: the MSS is 40 bytes less.
    #[test]
    fn the_first_buffer_is_the_kernels() {
        for (mtu, factor, size) in [(1500, 2, 46_080), (1500, 3, 69_120), (552, 3, 38_400), (560, 3, 69_120)]
            .into_iter()
            .chain([(1576, 3, 69_120), (1577, 3, 130_560)])
        {
            let config = Config { initial_send_buffer: Some(16_384), ..Config::linux(mtu - 52) };
            let mut buffer = SendBuffer::new(&config).expect("it is asked for");
            buffer.expand(LEAST, u64::from(mtu) - 40, factor);
            assert_eq!(buffer.size, size, "{mtu} {factor}");
        }
        let small = Config { initial_send_buffer: Some(16_384), send_buffer: Some(65_536), ..Config::linux(1448) };
        let mut buffer = SendBuffer::new(&small).expect("it is asked for");
        for (segments, size) in [(10, 46_080), (100, 65_536), (10, 65_536)] {
            buffer.expand(segments, 1460, 2);
            assert_eq!(buffer.size, size, "no larger than tcp_wmem[2], and never smaller than before");
        }
    }

    /// SO_MEMINFO of Linux 6.18: 23 segments out by twos take 23 · 1448 bytes and 12 · 832; of 32 segments, 10 out by twos, 46,336 and 6 · 832.
    #[test]
    fn memory_is_the_kernels() {
        let config = Config { initial_send_buffer: Some(16_384), ..Config::linux(1448) };
        for (out, all, used) in [(23_u64, 23, 43_288), (10, 32, 51_328)] {
            let mut buffer = SendBuffer::new(&config).expect("it is asked for");
            (1..=out).for_each(|n| buffer.on_sent(1 + n * 1448, n % 2 == 1 && n < out));
            assert_eq!(buffer.used(1, 1 + out * 1448, 1 + all * 1448, 22 * 1448), used);
            buffer.on_ack(1 + out * 1448);
            assert_eq!(buffer.used(1 + out * 1448, 1 + out * 1448, 1 + out * 1448, 22 * 1448), 0);
        }
    }
}
