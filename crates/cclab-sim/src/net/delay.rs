//! A link that only delays: infinitely fast, without impairments. Nothing waits there and nothing is lost, so it needs no
//! queue and hardly a meter. Most links of a large network are of this kind: those between hosts and routers.

use super::config;
use super::link::Measured;
use super::pipe::Pipe;
use super::queue::{Queue, Room};
use super::table::Whole;
use crate::measure::Histogram;
use crate::wire::{Packed, Packet};
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
    came: Count,
    /// `None` where everything is through the moment it comes.
    delay: Option<Box<(Duration, Pipe)>>,
}

impl DelayLine {
    /// The line that `link` is, if it is one.
    pub(super) fn of(link: &config::Link) -> Option<DelayLine> {
        let plain = matches!(link.queue, Queue::DropTail { .. })
            && link.rate.is_none()
            && link.schedule.is_empty()
            && link.trace.is_none()
            && link.loss.is_empty()
            && link.jitter.is_none()
            && link.reorder.is_none()
            && link.duplicate == 0.0;
        let delay = (link.delay > Duration::ZERO).then(|| Box::new((link.delay, Pipe::default())));
        plain.then(|| DelayLine { came: Count::default(), delay })
    }

    /// Takes in a packet: whether it is through at once, and when it arrives if its event is to be scheduled.
    #[inline]
    pub(super) fn take(&mut self, now: Time, packet: &Packet) -> (bool, Option<Time>) {
        self.came.packets += 1;
        self.came.data += u64::from(packet.payload() > 0);
        self.came.bytes += u64::from(packet.size);
        match self.delay.as_deref_mut() {
            None => (true, None),
            Some((delay, pipe)) => (false, pipe.push(now + *delay, packet)),
        }
    }

    /// The first packet arrives, in `packet`; and when the next one does, if there is one.
    #[inline]
    pub(super) fn pop(&mut self, packet: &mut Packet) -> Option<Time> {
        let (_, pipe) = self.delay.as_deref_mut()?;
        pipe.pop(packet);
        pipe.due()
    }

    /// What is under way.
    pub(super) fn pipe(&self) -> Option<&Pipe> {
        self.delay.as_deref().map(|(_, pipe)| pipe)
    }

    /// What has come so far.
    pub(super) fn came(&self) -> Count {
        self.came
    }

    /// Data packets that reached the far end, whole run.
    pub(super) fn data_delivered(&self) -> u64 {
        self.came.data - self.packets().filter(|packet| packet.payload() > 0).count() as u64
    }

    /// Packets under way.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packed> {
        self.delay.iter().flat_map(|delay| delay.1.packets())
    }

    /// What is measured in an interval that began when `before` had come.
    pub(super) fn measured(&self, before: Count) -> Measured {
        let arrived = self.came.packets - before.packets;
        Measured {
            arrived,
            sent: arrived,
            data_sent: self.came.data - before.data,
            bytes_sent: self.came.bytes - before.bytes,
            sojourn: Histogram::of_zeros(if self.delay.is_none() { 0 } else { arrived }),
            ..Measured::default()
        }
    }

    /// What there is to tell of it once the measured interval, `seconds` long, is over.
    pub(super) fn whole<'a>(&self, name: &'a str, seconds: f64, m: &'a Measured) -> Whole<'a> {
        let room = Room { packets: u64::MAX, bytes: u64::MAX };
        let delay = self.delay.as_ref().map_or(Duration::ZERO, |delay| delay.0);
        Whole { name, m, seconds, waiting_time: 0, capacity: None, rate: None, delay, room }
    }
}
