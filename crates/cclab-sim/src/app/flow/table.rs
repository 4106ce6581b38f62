//! The tables of flows.

use super::{Counters, DESTINATION, Flow, SOURCE, Socket, counters};
use crate::app::application;
use crate::measure::Distribution;
use crate::measure::table::{Index, Names, Text, table};
use crate::tcp::{Endpoint, Info};
use cclab_algo::{Duration, Rate, Time};

/// A flow whose measured interval is over.
pub(crate) struct Measured<'a> {
    flow: &'a Flow,
    own: &'a [Socket],
    counted: Counters,
    /// Payload delivered in order, whole run.
    delivered: u64,
    /// Length of the interval, s.
    seconds: f64,
    /// Mean, smallest, largest window, segments.
    cwnd: (f64, f64, f64),
    /// Data packets that the network lost.
    lost: u64,
}

impl Measured<'_> {
    fn rate(&self, bytes: u64) -> f64 {
        if self.seconds > 0.0 { bytes as f64 * 8.0 / self.seconds } else { f64::NAN }
    }

    fn ecn(&self) -> &'static str {
        self.own[SOURCE].transport.tcp().map_or("none", Endpoint::ecn)
    }

    /// From the start to the end of the handshake, s.
    fn connected(&self) -> f64 {
        let established = self.own[self.flow.opener()].transport.tcp().and_then(Endpoint::established);
        secs(established.map(|at| at - self.flow.start))
    }

    /// From the start to the last byte acknowledged (0) or received in order (1), s.
    fn taken(&self, end: usize) -> f64 {
        secs(self.flow.finished[end].map(|at| at - self.flow.start))
    }
}

impl Flow {
    /// What is measured from the warm-up to `end` or until the flow is over. `lost` data packets of it were lost in the
    /// network.
    pub(crate) fn measured<'a>(&'a self, own: &'a [Socket], warmup: Time, end: Time, lost: u64) -> Measured<'a> {
        let end = self.ends_by(end);
        let cwnd = match own[SOURCE].transport.tcp() {
            Some(source) => own[SOURCE].meter.cwnd.summary(end, f64::from(source.mss())),
            None => (f64::NAN, f64::NAN, f64::NAN),
        };
        let seconds = end.since(self.start.max(warmup)).as_secs_f64();
        let (counted, delivered) = (self.counted(own), counters(own).delivered_bytes);
        Measured { flow: self, own, counted, delivered, seconds, cwnd, lost }
    }
}

impl Flow {
    /// What is measured of its application, if it has one.
    pub(crate) fn measured_application(&self, end: Time) -> Option<application::Measured<'_>> {
        Some(self.application.as_ref()?.measured(&self.label, self.ends_by(end)))
    }

    /// When its measured interval ends.
    fn ends_by(&self, end: Time) -> Time {
        self.over.map_or(end, |over| over.min(end))
    }
}

table! {
    /// One row per flow, over its measured interval: from the end of the warm-up, or its own start if that is later, to the
    /// end of the run, its `stop`, or the moment when the last byte of a transfer is acknowledged. So intervals may differ
    /// (`measured_s`); rates of a flow that was over before the warm-up are NaN.
    "flows": Flows of FlowRow from f, &Measured<'_>;

    /// Name of the flow.
    label: Text, "" = &f.flow.label;
    /// Congestion control, or `udp`.
    cc: Names, "" = f.flow.cc;
    /// When it started.
    start_s: Vec<f64>, "s" = f.flow.start.as_secs_f64();
    /// Length of the interval that the other figures are over.
    measured_s: Vec<f64>, "s" = f.seconds;
    /// Payload delivered in order to the application; of datagrams, each once (live: copies, too).
    goodput_bps: Vec<f64>, "bit/s" = f.rate(f.counted.delivered_bytes);
    /// IP bytes of data packets that arrived, duplicates included.
    throughput_bps: Vec<f64>, "bit/s" = f.rate(f.own[DESTINATION].meter.bytes_arrived);
    /// Payload delivered in order, of datagrams each once (live: copies, too), whole run.
    delivered_bytes: Vec<u64>, "bytes" = f.delivered;
    /// Data segments sent, retransmissions included.
    segments_sent: Vec<u64>, "1" = f.counted.segments_sent;
    /// Data segments retransmitted.
    segments_retransmitted: Vec<u64>, "1" = f.counted.segments_retransmitted;
    /// Data packets, TCP and UDP, that arrived, duplicates included; of those sent and not lost the rest is under way.
    packets_received: Vec<u64>, "1" = f.own[DESTINATION].meter.delay.count();
    /// Data packets, TCP and UDP, that queues dropped or loss models took.
    packets_lost: Vec<u64>, "1" = f.lost;
    /// Retransmission timeouts.
    timeouts: Vec<u64>, "1" = f.counted.timeouts;
    /// Fast recoveries.
    recoveries: Vec<u64>, "1" = f.counted.recoveries;
    /// RTT samples of the sender.
    rtt: Vec<Distribution>, "s" = f.own[SOURCE].meter.delay.summary();
    /// One-way delay of data packets, host to host, without processing at the source.
    owd: Vec<Distribution>, "s" = f.own[DESTINATION].meter.delay.summary();
    /// Mean |difference of one-way delay| of consecutive packets (RFC 5481, IPDV).
    owd_mean_abs_diff_s: Vec<f64>, "s" = f.own[DESTINATION].meter.owd_mean_abs_diff();
    /// Mean over time of the law's window, without what recovery adds or holds back while it lasts.
    cwnd_mean_segments: Vec<f64>, "segments" = f.cwnd.0;
    /// Smallest window.
    cwnd_min_segments: Vec<f64>, "segments" = f.cwnd.1;
    /// Largest window.
    cwnd_max_segments: Vec<f64>, "segments" = f.cwnd.2;
    /// What came of the ECN that it asked for: `rfc3168`, `accecn`, or `lost`; `none` where it asked for none; live `unknown`.
    ecn: Names, "" = f.ecn();
    /// From its start (first SYN sent) to the end of its handshake; NaN where it never came up, and of UDP.
    connect_s: Vec<f64>, "s" = f.connected();
    /// Of a transfer that ended: from its start (first SYN sent) to the last byte acknowledged.
    fct_s: Vec<f64>, "s" = f.taken(0);
    /// Of a transfer that ended: from its start to the last byte received in order.
    fct_receiver_s: Vec<f64>, "s" = f.taken(1);
}

/// A flow at a moment.
pub(crate) struct Sample<'a> {
    at: Time,
    flow: usize,
    /// The sender of a TCP flow; a UDP flow has nothing to tell but what it delivered.
    sender: Option<(&'a Endpoint, Info)>,
    rtt: Option<Duration>,
    delivered: u64,
}

impl Sample<'_> {
    fn of_sender(&self, value: impl Fn(&Endpoint, &Info) -> f64) -> f64 {
        self.sender.as_ref().map_or(f64::NAN, |(sender, info)| value(sender, info))
    }
}

impl Flow {
    /// The flow, number `flow`, as it is.
    pub(crate) fn sample<'a>(&self, own: &'a [Socket], at: Time, flow: usize) -> Sample<'a> {
        let sender = own[SOURCE].transport.tcp().map(|source| (source, source.info()));
        Sample { at, flow, sender, rtt: own[SOURCE].rtt, delivered: counters(own).delivered_bytes }
    }
}

table! {
    /// Flows over time, at the interval or on the changes that `record.samples` asks for. The first sample of a flow after it
    /// was over is its last.
    "samples": FlowSamples of FlowSample from s, &Sample<'_>;

    /// Time.
    time_s: Vec<f64>, "s" = s.at.as_secs_f64();
    /// Name of the flow.
    flow: Index, "" = s.flow as u32;
    /// Window.
    cwnd_bytes: Vec<f64>, "bytes" = s.of_sender(|sender, _| sender.congestion_control().cwnd() as f64);
    /// Slow start's threshold; NaN while arbitrarily high.
    ssthresh_bytes: Vec<f64>, "bytes" = s.of_sender(|sender, _| match sender.congestion_control().ssthresh() {
        u64::MAX => f64::NAN,
        bytes => bytes as f64,
    });
    /// Smoothed RTT; NaN before the first sample.
    srtt_s: Vec<f64>, "s" = s.of_sender(|_, info| secs(info.srtt));
    /// Latest RTT sample; NaN before the first.
    rtt_s: Vec<f64>, "s" = secs(s.rtt);
    /// Bytes in flight (RFC 6675's pipe).
    in_flight_bytes: Vec<f64>, "bytes" = s.of_sender(|_, info| info.bytes_in_flight as f64);
    /// Payload delivered in order so far.
    delivered_bytes: Vec<f64>, "bytes" = s.delivered as f64;
    /// Pacing rate; NaN without pacing.
    pacing_rate_bps: Vec<f64>, "bit/s" = s.of_sender(|_, info| info.pacing_rate.map_or(f64::NAN, Rate::as_bps_f64));
}

table! {
    /// What laws record under their own names, when a flow is sampled.
    "signals": Signals of Signal from (at, flow, name, value), (Time, usize, &str, f64);

    /// Time.
    time_s: Vec<f64>, "s" = at.as_secs_f64();
    /// Name of the flow.
    flow: Index, "" = flow as u32;
    /// Name of the signal, which tells its unit.
    name: Names, "" = name;
    /// Its value.
    value: Vec<f64>, "" = value;
}

/// Time that may be missing, s.
fn secs(d: Option<Duration>) -> f64 {
    d.map_or(f64::NAN, Duration::as_secs_f64)
}
