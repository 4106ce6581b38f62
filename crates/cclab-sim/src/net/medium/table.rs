//! The table of stations.

use super::Medium;
use super::air::Receptions;
use super::mac::{Counts, Station};
use crate::measure::table::{Text, table};
use crate::net::table::Whole;
use cclab_algo::{Duration, Time};

/// What a station had counted when the measured interval began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    counts: Counts,
    receptions: Receptions,
    busy: Duration,
    marks: u64,
    waited: u128,
}

impl Station {
    fn snapshot(&mut self, now: Time) -> Snapshot {
        Snapshot {
            counts: self.counts,
            receptions: self.ear.counts,
            busy: self.ear.busy(now),
            marks: self.queue.marks,
            waited: self.queue.waited(now),
        }
    }
}

/// A station whose measured interval is over.
pub(crate) struct Row<'a> {
    medium: &'a str,
    name: &'a str,
    was: &'a Snapshot,
    is: Snapshot,
    queue_max: u64,
    /// Length of the interval, s.
    seconds: f64,
}

table! {
    /// One row per station of a medium, from the end of the warm-up to the end of the run.
    "stations": Stations of StationRow from s, &Row<'_>;

    /// Name of the medium.
    medium: Text, "" = s.medium;
    /// Name of the node.
    name: Text, "" = s.name;
    /// RTS frames sent.
    rts: Vec<u64>, "1" = s.is.counts.rts - s.was.counts.rts;
    /// CTS frames sent.
    cts: Vec<u64>, "1" = s.is.counts.cts - s.was.counts.cts;
    /// Data frames sent to a neighbour, those sent again included.
    data: Vec<u64>, "1" = s.is.counts.data - s.was.counts.data;
    /// Data frames sent to all.
    broadcasts: Vec<u64>, "1" = s.is.counts.broadcasts - s.was.counts.broadcasts;
    /// ACK frames sent.
    acks: Vec<u64>, "1" = s.is.counts.acks - s.was.counts.acks;
    /// RTS frames without an answer.
    rts_retries: Vec<u64>, "1" = s.is.counts.rts_retries - s.was.counts.rts_retries;
    /// Data frames without an answer.
    data_retries: Vec<u64>, "1" = s.is.counts.data_retries - s.was.counts.data_retries;
    /// Packets given up after too many RTS.
    rts_failures: Vec<u64>, "1" = s.is.counts.rts_failures - s.was.counts.rts_failures;
    /// Packets given up after too many data frames.
    data_failures: Vec<u64>, "1" = s.is.counts.data_failures - s.was.counts.data_failures;
    /// Frames received for this station or for all.
    received: Vec<u64>, "1" = s.is.receptions.received - s.was.receptions.received;
    /// Frames received that were for another station.
    overheard: Vec<u64>, "1" = s.is.receptions.overheard - s.was.receptions.overheard;
    /// Frames strong enough, but lost to another one.
    collided: Vec<u64>, "1" = s.is.receptions.collided - s.was.receptions.collided;
    /// Frames strong enough, but lost because the station itself was sending.
    deaf: Vec<u64>, "1" = s.is.receptions.deaf - s.was.receptions.deaf;
    /// Frames too weak to be decoded.
    sensed: Vec<u64>, "1" = s.is.receptions.sensed - s.was.receptions.sensed;
    /// Data frames that came again, acknowledged and thrown away.
    duplicates: Vec<u64>, "1" = s.is.counts.duplicates - s.was.counts.duplicates;
    /// Packets that found no room in the interface queue, were driven out of it, or were dropped early.
    queue_drops: Vec<u64>, "1" = s.is.counts.queue_drops - s.was.counts.queue_drops;
    /// Of these, those dropped by choice of the queue discipline.
    early_drops: Vec<u64>, "1" = s.is.counts.early_drops - s.was.counts.early_drops;
    /// Packets that the queue discipline marked Congestion Experienced.
    marks: Vec<u64>, "1" = s.is.marks - s.was.marks;
    /// Packets dropped by routing, or because they had made all the hops that they might.
    route_drops: Vec<u64>, "1" = s.is.counts.route_drops - s.was.counts.route_drops;
    /// Share of the time in which the station was sending, receiving, sensing, or kept quiet by its NAV.
    busy: Vec<f64>, "1" = s.is.busy.saturating_sub(s.was.busy).as_secs_f64() / s.seconds;
    /// Packets in the interface queue, mean over time.
    queue_mean_packets: Vec<f64>, "packets" = (s.is.waited - s.was.waited) as f64 * 1e-9 / s.seconds;
    /// Most packets in it.
    queue_max_packets: Vec<u64>, "packets" = s.queue_max;
}

impl Medium {
    /// The measured interval begins.
    pub(in crate::net) fn begin_measuring(&mut self, now: Time) {
        self.settle_all(now);
        (self.measured.drops, self.measured.early_drops, self.measured.losses) = (0, 0, 0);
        for (station, before) in self.stations.iter_mut().zip(&mut self.before) {
            *before = station.snapshot(now);
            station.queue.max = station.queue.len() as u64;
        }
    }

    fn settle_all(&mut self, now: Time) {
        self.stations.iter_mut().for_each(|station| station.ear.settle(now, &self.timing));
    }

    /// A row per station, at the end of the run.
    pub(in crate::net) fn fill(&mut self, medium: &str, table: &mut Stations) {
        self.settle_all(self.to);
        let seconds = self.to.since(self.from).as_secs_f64();
        let stations = self.stations.iter_mut().zip(&self.before).zip(&self.names);
        for ((station, was), name) in stations {
            let is = station.snapshot(self.to);
            self.waited += is.waited - was.waited;
            self.measured.marks += is.marks - was.marks;
            self.measured.queue_max = self.measured.queue_max.max(station.queue.max);
            table.push(&Row { medium, name, was, is, queue_max: station.queue.max, seconds });
        }
    }

    /// Packets and bytes waiting in the interface queues.
    pub(in crate::net) fn backlog(&self) -> (u64, u64) {
        let waiting = self.stations.iter().map(|station| &station.queue);
        waiting.fold((0, 0), |(packets, bytes), queue| (packets + queue.len() as u64, bytes + queue.bytes()))
    }

    /// Data packets that left it, whole run.
    pub(in crate::net) fn data_delivered(&self) -> u64 {
        self.tally.data_left
    }

    /// What there is to tell of it as of a link, once the measured interval, `seconds` long, is over.
    pub(in crate::net) fn whole<'a>(&'a self, name: &'a str, seconds: f64) -> Whole<'a> {
        Whole {
            name,
            m: &self.measured,
            seconds,
            waiting_time: self.waited,
            capacity: None,
            rate: Some(self.mac.data_rate),
            delay: Duration::ZERO,
            room: self.room,
        }
    }
}
