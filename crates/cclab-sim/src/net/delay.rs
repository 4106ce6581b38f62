//! A link that only delays: infinitely fast, without impairments. Nothing waits there and nothing is lost, so it needs no
//! queue and hardly a meter. Most links of a large network are of this kind: those between hosts and routers.

use super::config;
use super::pool::{PacketId, Pipe, Pool};
use super::queue::Queue;
use crate::measure::{Histogram, LinkSummary};
use crate::wire::Packet;
use cclab_algo::{Duration, Time};

/// Packets that came, of these with payload, and their IP bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    packets: u64,
    data: u64,
    bytes: u64,
}

/// A delay line.
pub(super) struct DelayLine {
    delay: Duration,
    pipe: Pipe,
    came: Count,
}

impl DelayLine {
    /// The line that `link` is, if it is one.
    pub(super) fn of(link: &config::Link) -> Option<DelayLine> {
        let plain = matches!(link.queue, Queue::DropTail { .. })
            && link.rate.is_none()
            && link.schedule.is_empty()
            && link.loss.is_empty()
            && link.jitter.is_none()
            && link.reorder.is_none()
            && link.duplicate == 0.0;
        plain.then(|| DelayLine { delay: link.delay, pipe: Pipe::default(), came: Count::default() })
    }

    /// Takes in a packet: whether it is through at once, and when it arrives if its event is to be scheduled.
    #[inline]
    pub(super) fn take(&mut self, now: Time, id: PacketId, pool: &mut Pool) -> (bool, Option<Time>) {
        let packet = &pool[id];
        self.came.packets += 1;
        self.came.data += u64::from(packet.payload() > 0);
        self.came.bytes += u64::from(packet.size);
        if self.delay == Duration::ZERO {
            return (true, None);
        }
        (false, self.pipe.push(now + self.delay, id, pool))
    }

    /// The first packet arrives; and when the next one does, if there is one.
    #[inline]
    pub(super) fn pop(&mut self, pool: &Pool) -> (PacketId, Option<Time>) {
        self.pipe.pop(pool)
    }

    /// What has come so far.
    pub(super) fn came(&self) -> Count {
        self.came
    }

    /// Data packets that reached the far end, whole run.
    pub(super) fn data_delivered(&self, pool: &Pool) -> u64 {
        self.came.data - self.pipe.packets(pool).filter(|packet| packet.payload() > 0).count() as u64
    }

    pub(super) fn packets<'p>(&self, pool: &'p Pool) -> impl Iterator<Item = &'p Packet> {
        self.pipe.packets(pool)
    }

    /// The summary of a measured interval of this length, s, that began when `before` had come.
    pub(super) fn summary(&self, name: String, before: Count, length: f64) -> LinkSummary {
        let packets = self.came.packets - before.packets;
        let waits = if self.delay == Duration::ZERO { 0 } else { packets };
        LinkSummary {
            name,
            utilisation: f64::NAN,
            throughput_bps: (self.came.bytes - before.bytes) as f64 * 8.0 / length,
            arrived: packets,
            sent: packets,
            data_sent: self.came.data - before.data,
            sojourn: Histogram::of_zeros(waits).summary(),
            ..LinkSummary::default()
        }
    }
}
