//! The tables of the background.

use super::{BINS, Entry, Measured, config};
use crate::measure::table::{Names, Text, table};
use crate::measure::{Distribution, Histogram};

/// An entry whose measured interval is over.
pub(crate) struct Whole<'a> {
    entry: &'a Entry,
    spec: &'a config::Background,
    m: &'a Measured,
    /// Data packets that the network lost.
    lost: u64,
    /// Length of the interval, s.
    seconds: f64,
}

impl Whole<'_> {
    fn bps(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.seconds
    }

    fn share(&self, bytes: u64) -> f64 {
        self.spec.rate.map_or(f64::NAN, |rate| self.bps(bytes) / rate.as_bps_f64())
    }
}

fn mean(sum: f64, n: u64) -> f64 {
    if n > 0 { sum / n as f64 } else { f64::NAN }
}

table! {
    /// One row per entry of `[[background]]` and direction, from the end of the warm-up to the end of the run; empty where there
    /// is none. Connections count that start in this interval. Loads are shares of the rate of the slowest link on the way of
    /// the data.
    "background": BackgroundTable of BackgroundRow from w, &Whole<'_>;

    /// Name of the entry.
    label: Text, "" = &w.spec.label;
    /// Direction of the data: `forward` or `reverse`.
    direction: Names, "" = w.entry.direction();
    /// `web` or `poisson`.
    kind: Names, "" = w.spec.arrivals.kind();
    /// Congestion control.
    cc: Names, "" = w.spec.cc.name;
    /// Length of the interval.
    measured_s: Vec<f64>, "s" = w.seconds;
    /// Web users; NaN where connections or pages arrive by themselves.
    users: Vec<f64>, "1" = w.spec.arrivals.users();
    /// Load that the scenario asks for, or that its rate of arrivals comes to; NaN where that is not known.
    load: Vec<f64>, "1" = w.spec.load;
    /// Load of the connections that started, as if nothing were lost: IP bytes of data, SYN and ACK.
    offered_load: Vec<f64>, "1" = w.share(w.m.offered_bytes);
    /// Load that arrived at the destinations: all IP bytes of the direction of the data.
    carried_load: Vec<f64>, "1" = w.share(w.m.arrived_bytes);
    /// The same as `offered_load`.
    offered_bps: Vec<f64>, "bit/s" = w.bps(w.m.offered_bytes);
    /// The same as `carried_load`.
    carried_bps: Vec<f64>, "bit/s" = w.bps(w.m.arrived_bytes);
    /// IP bytes that came back to the sources (SYN-ACKs and ACKs).
    returned_bps: Vec<f64>, "bit/s" = w.bps(w.m.returned_bytes);
    /// Connections that started.
    connections_started: Vec<u64>, "1" = w.m.started;
    /// Of these, completed: the last byte was acknowledged.
    connections_completed: Vec<u64>, "1" = w.m.completed;
    /// Of these, given up because nobody answered the SYN.
    connections_failed: Vec<u64>, "1" = w.m.failed;
    /// Of these, still open at the end.
    connections_unfinished: Vec<u64>, "1" = w.m.started - w.m.completed - w.m.failed;
    /// Most connections open at the same time, whole run.
    connections_most: Vec<u64>, "1" = w.entry.most_live;
    /// Payload delivered in order.
    delivered_bytes: Vec<u64>, "bytes" = w.m.delivered_bytes;
    /// Mean size of the connections that started.
    size_mean_bytes: Vec<f64>, "bytes" = mean(w.m.size_bytes as f64, w.m.started);
    /// Data segments sent, of all connections, retransmissions included.
    segments_sent: Vec<u64>, "1" = w.m.segments_sent;
    /// Data segments retransmitted.
    segments_retransmitted: Vec<u64>, "1" = w.m.segments_retransmitted;
    /// Retransmission timeouts.
    timeouts: Vec<u64>, "1" = w.m.timeouts;
    /// Data packets that queues dropped or loss models took.
    packets_lost: Vec<u64>, "1" = w.lost;
    /// Mean over completed connections of size over completion time.
    goodput_mean_bps: Vec<f64>, "bit/s" = mean(w.m.goodputs, w.m.completed);
    /// Mean over completed connections, of two data packets or more, of their mean time between arrivals of data packets.
    packet_interval_mean_s: Vec<f64>, "s" = mean(w.m.intervals, w.m.with_interval);
    /// Completion times, from the first SYN to the last byte acknowledged.
    fct: Vec<Distribution>, "s" = w.m.fct[0].summary();
    /// Completion times, from the first SYN to the last byte received in order.
    fct_receiver: Vec<Distribution>, "s" = w.m.fct[1].summary();
}

/// Connections of an entry with sizes in a bin.
pub(crate) struct Binned<'a> {
    entry: &'a Entry,
    bin: usize,
    fct: &'a [Histogram; 2],
}

impl Entry {
    /// What is measured in an interval of `seconds`. `lost` data packets of it were lost in the network.
    pub(super) fn whole(&self, lost: u64, seconds: f64) -> Whole<'_> {
        Whole { entry: self, spec: &self.spec, m: &self.measured, lost, seconds }
    }

    /// The bins in which a connection completed.
    pub(super) fn bins(&self) -> impl Iterator<Item = Binned<'_>> {
        let bins = self.measured.bins.iter().enumerate().filter(|(_, fct)| fct[0].count() > 0);
        bins.map(|(bin, fct)| Binned { entry: self, bin, fct })
    }
}

table! {
    /// Completion times of the background's connections by size: one row per entry, direction and half decade of sizes in
    /// which a connection completed.
    "fct": CompletionTimes of CompletionRow from b, &Binned<'_>;

    /// Name of the entry.
    label: Text, "" = &b.entry.spec.label;
    /// Direction of the data: `forward` or `reverse`.
    direction: Names, "" = b.entry.direction();
    /// Smallest size of the bin.
    size_from_bytes: Vec<u64>, "bytes" = if b.bin == 0 { 0 } else { BINS[b.bin - 1] };
    /// Smallest size above the bin; infinite in the last.
    size_to_bytes: Vec<f64>, "bytes" = BINS.get(b.bin).map_or(f64::INFINITY, |&to| to as f64);
    /// Completion times, from the first SYN to the last byte acknowledged.
    fct: Vec<Distribution>, "s" = b.fct[0].summary();
    /// Completion times, from the first SYN to the last byte received in order.
    fct_receiver: Vec<Distribution>, "s" = b.fct[1].summary();
}
