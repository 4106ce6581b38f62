//! The tables of links.

use super::link::Measured;
use super::queue::Room;
use crate::measure::Distribution;
use crate::measure::table::{Index, Text, table};
use cclab_algo::{Duration, Rate, Time};

/// A link, or what does as one, whose measured interval is over.
pub(crate) struct Whole<'a> {
    pub(super) name: &'a str,
    pub(super) m: &'a Measured,
    /// Length of the interval, s.
    pub(super) seconds: f64,
    /// Packets · ns that packets waited.
    pub(super) waiting_time: u128,
    /// Bits that it could have sent in it; `None` if any number.
    pub(super) capacity: Option<f64>,
    /// Rate and delay at the start; of a link with opportunities the mean rate.
    pub(super) rate: Option<Rate>,
    pub(super) delay: Duration,
    pub(super) room: Room,
}

/// A limit, or NaN where there is none.
fn limit(of: u64) -> f64 {
    if of == u64::MAX { f64::NAN } else { of as f64 }
}

table! {
    /// One row per one-way link, from the end of the warm-up to the end of the run.
    "links": Links of LinkRow from l, &Whole<'_>;

    /// In a dumbbell `bottleneck` and `bottleneck-reverse`, else `from->to`.
    name: Text, "" = l.name;
    /// Bits sent over the capacity; NaN on an infinitely fast or a dead link.
    utilisation: Vec<f64>, "1" = (l.m.bits as f64 + l.m.bits_of_parts) / l.capacity.unwrap_or(f64::NAN);
    /// What it could have sent, framing included: its rate, or its opportunities, mean over time; NaN where it is infinitely fast.
    capacity_bps: Vec<f64>, "bit/s" = l.capacity.unwrap_or(f64::NAN) / l.seconds;
    /// IP bytes sent, framing left out.
    throughput_bps: Vec<f64>, "bit/s" = l.m.bytes_sent as f64 * 8.0 / l.seconds;
    /// Packets that arrived.
    arrived: Vec<u64>, "1" = l.m.arrived;
    /// Packets sent.
    sent: Vec<u64>, "1" = l.m.sent;
    /// Packets sent with payload.
    data_sent: Vec<u64>, "1" = l.m.data_sent;
    /// Packets dropped by the queue, full or not; in a medium by the interface queues of its stations.
    drops: Vec<u64>, "1" = l.m.drops;
    /// Of these, dropped by choice of its discipline, not for want of room.
    early_drops: Vec<u64>, "1" = l.m.early_drops;
    /// Packets lost to a loss model; in a medium those that a station gave up: nobody answered, or there was no way.
    losses: Vec<u64>, "1" = l.m.losses;
    /// Packets marked Congestion Experienced; those that had the mark already are counted too.
    marks: Vec<u64>, "1" = l.m.marks;
    /// Packets waiting, mean over time; in a medium in all interface queues, messages of routing among them.
    queue_mean_packets: Vec<f64>, "packets" = l.waiting_time as f64 * 1e-9 / l.seconds;
    /// Most packets waiting; in a medium at one station.
    queue_max_packets: Vec<u64>, "packets" = l.m.queue_max;
    /// Rate that the scenario came to, at the start (of opportunities the mean one); NaN where it is infinite.
    rate_bps: Vec<f64>, "bit/s" = l.rate.map_or(f64::NAN, Rate::as_bps_f64);
    /// Propagation delay that the scenario came to, at the start.
    delay_s: Vec<f64>, "s" = l.delay.as_secs_f64();
    /// Room in the queue; NaN where packets have no limit, or never wait.
    queue_limit_packets: Vec<f64>, "packets" = limit(l.room.packets);
    /// Room in the queue; NaN where bytes have no limit, or never wait.
    queue_limit_bytes: Vec<f64>, "bytes" = limit(l.room.bytes);
    /// Time in the queue of a packet that was sent.
    sojourn: Vec<Distribution>, "s" = l.m.sojourn.summary();
}

table! {
    /// Queues over time, at the interval or on the changes that `record.samples` asks for.
    "link_samples": LinkSamples of LinkSample from (at, link, packets, bytes), (Time, usize, u64, u64);

    /// Time.
    time_s: Vec<f64>, "s" = at.as_secs_f64();
    /// Name of the link.
    link: Index, "" = link as u32;
    /// Packets waiting.
    queue_packets: Vec<f64>, "packets" = packets as f64;
    /// Bytes waiting.
    queue_bytes: Vec<f64>, "bytes" = bytes as f64;
}
