//! The result of a run: summaries and columns, in SI base units.

use cclab_algo::Time;

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// One row per flow, warm-up left out where it says so.
    pub flows: Vec<FlowSummary>,
    /// One row per link.
    pub links: Vec<LinkSummary>,
    /// One row per background entry and direction.
    pub background: Vec<BackgroundSummary>,
    /// Flow completion times by size, of each background entry and direction.
    pub fct: Vec<CompletionTimes>,
    /// Flow samples.
    pub samples: FlowSamples,
    /// Queue samples.
    pub link_samples: LinkSamples,
    /// What laws recorded under their own names.
    pub signals: Signals,
    /// Every packet at every link, when asked for.
    pub packets: Option<PacketRows>,
    /// A pcapng file, when asked for.
    pub capture: Option<Vec<u8>>,
    /// Jain's index of the goodputs of all TCP flows that were measured, each over its own interval.
    pub jain: f64,
    /// What the engine did.
    pub engine: EngineStats,
}

/// A distribution: exact moments, percentiles from a log-linear histogram (error below 1 %).
/// NaN where there is no sample. Seconds.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Distribution {
    pub count: u64,
    pub mean: f64,
    /// Population variance, s².
    pub variance: f64,
    pub min: f64,
    pub max: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// Summary of a flow over its measured interval: from the end of the warm-up, or its own start if that is later, to the
/// end of the run, its stop, or the moment when its last byte is acknowledged. Rates over no time are NaN.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FlowSummary {
    /// Label.
    pub label: String,
    /// Congestion control, or `udp`.
    pub cc: String,
    /// Actual start, s.
    pub start_s: f64,
    /// Length of the measured interval, s.
    pub measured_s: f64,
    /// Payload bytes delivered in order to the application, over the measured interval.
    pub goodput_bps: f64,
    /// IP bytes of data packets that arrived, duplicates included, over the measured interval.
    pub throughput_bps: f64,
    /// Payload bytes delivered in order, whole run.
    pub delivered_bytes: u64,
    /// Data segments sent in the measured interval, retransmissions included.
    pub segments_sent: u64,
    /// Data segments retransmitted in the measured interval.
    pub segments_retransmitted: u64,
    /// Data packets that arrived at the destination in the measured interval, duplicates included.
    pub packets_received: u64,
    /// Data packets dropped by queues or lost to loss models in the measured interval.
    pub packets_lost: u64,
    /// Retransmission timeouts in the measured interval.
    pub timeouts: u64,
    /// Fast recoveries in the measured interval.
    pub recoveries: u64,
    /// RTT samples of the sender, s.
    pub rtt: Distribution,
    /// One-way delay of data packets, from leaving the source host (its processing time is over) to arrival at the
    /// destination host, s.
    pub owd: Distribution,
    /// Mean over consecutive packets of |difference of one-way delay|, s (RFC 5481's PDV in its IPDV form).
    pub owd_mean_abs_diff_s: f64,
    /// Time-weighted mean of the law's window (without what recovery adds or holds back while it lasts), segments.
    pub cwnd_mean_segments: f64,
    /// Smallest and largest window, segments.
    pub cwnd_min_segments: f64,
    /// Largest window, segments.
    pub cwnd_max_segments: f64,
    /// Time from the start (first SYN sent) to the last byte acknowledged, of a transfer that ended; else NaN.
    pub fct_s: f64,
    /// Time from the start to the last byte received in order, of a transfer that ended; else NaN.
    pub fct_receiver_s: f64,
}

/// Summary of a background entry in one direction, from the end of the warm-up to the end of the run. Connections count
/// that start in this interval; loads are shares of the rate of the slowest link on the way of the data.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BackgroundSummary {
    /// Label of the entry.
    pub label: String,
    /// Direction of the data: `forward` or `reverse`.
    pub direction: &'static str,
    /// `web` or `poisson`.
    pub kind: &'static str,
    /// Congestion control.
    pub cc: String,
    /// Length of the measured interval, s.
    pub measured_s: f64,
    /// Web users; NaN where connections or pages arrive by themselves.
    pub users: f64,
    /// Load that the scenario asks for, or that its rate of arrivals comes to; NaN where that is not known.
    pub load: f64,
    /// Load of the connections that started, as if all were carried without losses: IP bytes of data, SYN and ACK.
    pub offered_load: f64,
    /// Load that arrived at the destinations: all IP bytes of the direction of the data.
    pub carried_load: f64,
    /// The same as `offered_load`, bit/s.
    pub offered_bps: f64,
    /// The same as `carried_load`, bit/s.
    pub carried_bps: f64,
    /// IP bytes that came back to the sources (SYN-ACKs and ACKs), bit/s.
    pub returned_bps: f64,
    /// Connections that started.
    pub connections_started: u64,
    /// Of these, completed: the last byte was acknowledged.
    pub connections_completed: u64,
    /// Of these, given up because nobody answered the SYN.
    pub connections_failed: u64,
    /// Of these, still open at the end.
    pub connections_unfinished: u64,
    /// Most connections open at the same time, whole run.
    pub connections_most: u64,
    /// Payload bytes delivered in order.
    pub delivered_bytes: u64,
    /// Mean size of the connections that started, bytes.
    pub size_mean_bytes: f64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Data segments retransmitted.
    pub segments_retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Data packets dropped by queues or lost to loss models.
    pub packets_lost: u64,
    /// Mean over completed connections of size over completion time, bit/s.
    pub goodput_mean_bps: f64,
    /// Mean over completed connections of their mean time between arrivals of data packets, s.
    pub packet_interval_mean_s: f64,
    /// Time from the SYN to the last byte acknowledged, s.
    pub fct: Distribution,
    /// Time from the SYN to the last byte received in order, s.
    pub fct_receiver: Distribution,
}

/// Completion times of the connections of a background entry with sizes from `size_from_bytes` to below `size_to_bytes`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CompletionTimes {
    /// Label of the entry.
    pub label: String,
    /// Direction of the data: `forward` or `reverse`.
    pub direction: &'static str,
    /// Smallest size of the bin, bytes.
    pub size_from_bytes: u64,
    /// Smallest size above the bin, bytes; infinite in the last.
    pub size_to_bytes: f64,
    /// Time from the SYN to the last byte acknowledged, s.
    pub fct: Distribution,
    /// Time from the SYN to the last byte received in order, s.
    pub fct_receiver: Distribution,
}

/// Summary of a link after the warm-up.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinkSummary {
    /// Name.
    pub name: String,
    /// Bits sent over the link's capacity in the measured interval; NaN on an infinitely fast or a dead link.
    pub utilisation: f64,
    /// IP bytes sent, framing excluded, over the measured interval.
    pub throughput_bps: f64,
    /// Packets that arrived at the link.
    pub arrived: u64,
    /// Packets sent.
    pub sent: u64,
    /// Data packets (payload > 0) sent.
    pub data_sent: u64,
    /// Packets dropped by the queue, full or not.
    pub drops: u64,
    /// Of these, dropped by choice of its discipline, not for want of room.
    pub early_drops: u64,
    /// Packets lost to a loss model.
    pub losses: u64,
    /// Packets marked Congestion Experienced; those that had the mark already are counted too.
    pub marks: u64,
    /// Time-weighted mean number waiting.
    pub queue_mean_packets: f64,
    /// Largest number waiting.
    pub queue_max_packets: u64,
    /// Time in the queue per packet sent, s.
    pub sojourn: Distribution,
}

/// Flow samples: columns of equal length.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FlowSamples {
    /// Time, s.
    pub time_s: Vec<f64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Window, bytes.
    pub cwnd_bytes: Vec<f64>,
    /// Threshold, bytes; NaN while arbitrarily high.
    pub ssthresh_bytes: Vec<f64>,
    /// Smoothed RTT, s; NaN before the first sample.
    pub srtt_s: Vec<f64>,
    /// Latest RTT sample, s; NaN before the first.
    pub rtt_s: Vec<f64>,
    /// Bytes in flight.
    pub in_flight_bytes: Vec<f64>,
    /// Payload bytes delivered in order so far.
    pub delivered_bytes: Vec<f64>,
    /// Pacing rate, bit/s; NaN without pacing.
    pub pacing_rate_bps: Vec<f64>,
}

/// Queue samples: columns of equal length.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinkSamples {
    /// Time, s.
    pub time_s: Vec<f64>,
    /// Link index.
    pub link: Vec<u32>,
    /// Packets waiting.
    pub queue_packets: Vec<f64>,
    /// Bytes waiting.
    pub queue_bytes: Vec<f64>,
}

impl LinkSamples {
    pub(crate) fn push(&mut self, at: Time, link: usize, packets: u64, bytes: u64) {
        self.time_s.push(at.as_secs_f64());
        self.link.push(link as u32);
        self.queue_packets.push(packets as f64);
        self.queue_bytes.push(bytes as f64);
    }
}

/// Signals of laws: columns of equal length.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Signals {
    /// Time, s.
    pub time_s: Vec<f64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Index into `names`.
    pub name: Vec<u32>,
    /// Value.
    pub value: Vec<f64>,
    /// The names.
    pub names: Vec<&'static str>,
}

/// One row per packet and event: columns of equal length.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PacketRows {
    /// Time, s.
    pub time_s: Vec<f64>,
    /// Link index; `u32::MAX` for events at a host.
    pub link: Vec<u32>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// What happened: index into [`PacketRows::EVENTS`].
    pub event: Vec<u8>,
    /// First sequence number, TCP; packet number, UDP.
    pub seq: Vec<u64>,
    /// Acknowledgement number.
    pub ack: Vec<u64>,
    /// IP bytes.
    pub size_bytes: Vec<u32>,
    /// Payload bytes.
    pub payload_bytes: Vec<u32>,
    /// Whether it is a retransmission.
    pub retransmission: Vec<bool>,
}

impl PacketRows {
    /// The values of `event`: left a host, entered a queue, was dropped there, was lost, left the link, arrived
    /// at a host.
    pub const EVENTS: [&'static str; 6] = ["sent", "queued", "dropped", "lost", "forwarded", "received"];
}

/// What the engine did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EngineStats {
    /// Events served.
    pub events: u64,
    /// Data packets that crossed the busiest link, whole run.
    pub data_packets: u64,
}
