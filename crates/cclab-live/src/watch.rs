//! What the relay measures of a flow, of whose packets it sees every one.

use crate::ip::{self, ACK, Parsed, SYN};
use cclab_algo::{Duration, Time};
use cclab_sim::app::Meter;
use cclab_sim::wire::{Packet, unwrap_offset};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the relay sees of a flow.
#[derive(Clone, Debug)]
pub struct Watch {
    /// From when to when it is measured.
    measured: (Time, Time),
    /// Bytes to transfer; `None` without end.
    size: Option<u64>,
    /// RTTs from the source to the destination and back: for each ACK that of the latest segment that it, or its SACK, acknowledges.
    pub source: Meter,
    /// One-way delays of data packets.
    pub destination: Meter,
    /// Data packets that left the source.
    pub data_sent: u64,
    /// Payload bytes that reached the destination.
    pub payload_arrived: u64,
    /// When the last byte was acknowledged.
    pub finished: Option<Time>,
    /// The same over the whole run, duplicates included.
    pub arrived: u64,
    rtt: Option<Duration>,
    owd: Duration,
    /// Of one connection; `None` where there is more than one.
    track: Option<Track>,
}

impl Watch {
    /// A flow that is measured `from` .. `to`.
    pub fn new(from: Time, to: Time, size: Option<u64>) -> Watch {
        Watch {
            measured: (from, to),
            size,
            source: Meter::default(),
            destination: Meter::default(),
            data_sent: 0,
            payload_arrived: 0,
            finished: None,
            arrived: 0,
            rtt: None,
            owd: Duration::ZERO,
            track: Some(Track::default()),
        }
    }

    /// Whatever goes one way, measured `from` .. `to`.
    pub fn one_way(from: Time, to: Time) -> Watch {
        Watch { track: None, ..Watch::new(from, to, None) }
    }

    fn is_measured(&self, now: Time) -> bool {
        self.measured.0 <= now && now < self.measured.1 && self.finished.is_none()
    }

    /// A packet left the source.
    pub(crate) fn sent(&mut self, now: Time, packet: &Parsed) {
        self.data_sent += u64::from(packet.payload > 0 && self.is_measured(now));
        if let (Some(track), Some((seq, _, flags))) = (&mut self.track, packet.tcp) {
            track.sent(now, seq, packet.payload, flags);
        }
    }

    /// A packet reaches one of its hosts.
    pub(crate) fn arrived(&mut self, now: Time, packet: &Packet, bytes: &[u8]) {
        let is_measured = self.is_measured(now);
        if packet.forward {
            self.arrived += u64::from(packet.payload());
            self.owd = now - packet.left;
            if packet.payload() > 0 && is_measured {
                self.destination.data(now, packet);
                self.payload_arrived += u64::from(packet.payload());
            }
        } else if let Some((_, ack, flags)) = ip::parse(bytes).and_then(|parsed| parsed.tcp)
            && flags & ACK != 0
            && let Some(track) = &mut self.track
        {
            if let Some(rtt) = track.acked(now, ack, ip::first_sack(bytes)) {
                self.rtt = Some(rtt);
                if is_measured {
                    self.source.delay.record(rtt);
                }
            }
            if self.finished.is_none() && self.size.is_some_and(|size| track.acked > size) {
                self.finished = Some(now);
            }
        }
    }

    /// Shows how it stands.
    pub(crate) fn show(&self, board: &FlowBoard) {
        board.arrived.store(self.arrived, Relaxed);
        board.rtt_ns.store(self.rtt.map_or(0, |rtt| rtt.0), Relaxed);
        board.owd_ns.store(self.owd.0, Relaxed);
        board.finished_ns.store(self.finished.map_or(u64::MAX, |at| at.0), Relaxed);
    }
}

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Flying {
    end: u64,
    /// When it was sent, unless it was sent again (Karn).
    sent: Option<Time>,
    sacked: bool,
}

/// Segments of a connection in flight, as offsets from its SYN.
#[derive(Clone, Debug, Default)]
struct Track {
    isn: u32,
    sent: u64,
    acked: u64,
    flight: VecDeque<Flying>,
}

impl Track {
    fn sent(&mut self, now: Time, seq: u32, len: u32, flags: u8) {
        if flags & SYN != 0 {
            *self = Track { isn: seq, sent: 1, acked: 0, flight: VecDeque::new() };
        }
        if len == 0 {
            return;
        }
        let start = unwrap_offset(self.sent, seq.wrapping_sub(self.isn));
        let end = start + u64::from(len);
        if start < self.sent {
            let first = self.flight.partition_point(|other| other.end <= start);
            let mut begins = start;
            for other in self.flight.range_mut(first..) {
                if begins >= end {
                    break;
                }
                begins = other.end;
                other.sent = None;
            }
        }
        if end > self.sent {
            self.flight.push_back(Flying { end, sent: (start == self.sent).then_some(now), sacked: false });
            self.sent = end;
        }
    }

    /// The RTT that this acknowledgement shows: of the segment that was sent last among those that it acknowledges, if none of them
    /// was sent twice, or selectively acknowledges.
    fn acked(&mut self, now: Time, ack: u32, sack: Option<(u32, u32)>) -> Option<Duration> {
        let ack = unwrap_offset(self.acked, ack.wrapping_sub(self.isn));
        let mut newest = None;
        if ack > self.acked && ack <= self.sent {
            self.acked = ack;
            let count = self.flight.partition_point(|segment| segment.end <= ack);
            let mut once = true;
            for segment in self.flight.drain(..count) {
                once &= segment.sent.is_some();
                newest = if segment.sacked { newest } else { segment.sent };
            }
            newest = newest.filter(|_| once);
        }
        newest.max(self.sacked(sack)).map(|sent| now.since(sent))
    }

    /// When the last segment of a block was sent, if that was not selectively acknowledged before. The segment that an ACK answers
    /// is nearly always at the end of its first block; what lies before it is marked as far as it was not.
    fn sacked(&mut self, block: Option<(u32, u32)>) -> Option<Time> {
        let [start, end] =
            block.map(|(start, end)| [start, end])?.map(|seq| unwrap_offset(self.acked, seq.wrapping_sub(self.isn)));
        let count = self.flight.partition_point(|segment| segment.end <= end);
        let mut newest = None;
        for segment in self.flight.range_mut(..count).rev().take_while(|segment| segment.end > start && !segment.sacked)
        {
            segment.sacked = true;
            newest = newest.max(segment.sent);
        }
        newest
    }
}

/// What can be seen of a flow while the relay works.
#[derive(Debug, Default)]
pub struct FlowBoard {
    /// Payload bytes that reached the destination.
    pub arrived: AtomicU64,
    /// Latest RTT; 0 before the first.
    pub rtt_ns: AtomicU64,
    /// One-way delay of the latest packet to the destination; 0 before the first.
    pub owd_ns: AtomicU64,
    /// When the last byte of a transfer was acknowledged; the largest number before that.
    pub finished_ns: AtomicU64,
}

/// What can be seen while the relay works.
#[derive(Debug, Default)]
pub struct Board {
    /// Of each flow.
    pub flows: Vec<FlowBoard>,
    /// Packets that wait at each link.
    pub queues: Vec<AtomicU64>,
}

impl Board {
    pub(crate) fn new(flows: usize, links: usize) -> Board {
        let flow = || FlowBoard { finished_ns: AtomicU64::new(u64::MAX), ..FlowBoard::default() };
        Board { flows: (0..flows).map(|_| flow()).collect(), queues: (0..links).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn note_links(&self, packets: impl Iterator<Item = u64>) {
        self.queues.iter().zip(packets).for_each(|(place, packets)| place.store(packets, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// Karn's rule, cumulative acknowledgements, and numbers that wrap.
    #[test]
    fn round_trips_of_a_connection() {
        let isn = u32::MAX - 1500;
        let mut track = Track::default();
        let seq = |offset: u32| isn.wrapping_add(offset);
        track.sent(ms(0), isn, 0, SYN);
        track.acked(ms(1), seq(1), None);
        for (k, at) in [(0, 10), (1, 11), (2, 12), (3, 13)] {
            track.sent(ms(at), seq(1 + k * 1000), 1000, ACK);
        }
        assert_eq!(track.acked(ms(30), seq(1001), None), Some(Duration::from_millis(20)));
        assert_eq!(track.acked(ms(31), seq(1001), None), None, "nothing new");
        track.sent(ms(40), seq(1001), 1000, ACK);
        assert_eq!(track.acked(ms(50), seq(3001), None), None, "one of the two was sent twice");
        track.sent(ms(55), seq(4001), 1000, ACK);
        assert_eq!(track.acked(ms(75), seq(5001), None), Some(Duration::from_millis(20)), "of two the later");
        assert_eq!((track.acked, track.flight.len()), (5001, 0));
        track.sent(ms(80), seq(5001), 1000, ACK);
        track.sent(ms(81), seq(5001), 1000, ACK);
        assert_eq!(track.acked(ms(90), seq(6001), None), None, "the last one was sent twice");
        [6001, 7001].into_iter().for_each(|offset| track.sent(ms(95), seq(offset), 1000, ACK));
        track.sent(ms(96), seq(6001), 1500, ACK);
        assert_eq!(track.acked(ms(99), seq(7001), None), None);
        assert_eq!(track.acked(ms(99), seq(8001), None), None, "half of it was sent twice");
    }

    /// The first of four is lost: each of the others shows its RTT as it arrives, and not again when the hole is filled.
    #[test]
    fn round_trips_by_selective_acknowledgements() {
        let mut track = Track::default();
        track.sent(ms(0), 0, 0, SYN);
        (0..4).for_each(|k| track.sent(ms(10 + u64::from(k)), 1 + k * 1000, 1000, ACK));
        for k in 1..4 {
            let found = track.acked(ms(30 + u64::from(k)), 1, Some((1001, 1001 + k * 1000)));
            assert_eq!(found, Some(Duration::from_millis(20)));
            assert_eq!(track.acked(ms(35), 1, Some((1001, 1001 + k * 1000))), None);
        }
        track.sent(ms(40), 1, 1000, ACK);
        track.sent(ms(41), 4001, 1000, ACK);
        assert_eq!(track.acked(ms(60), 4001, None), None);
        assert_eq!(track.acked(ms(61), 5001, None), Some(Duration::from_millis(20)));
    }
}
