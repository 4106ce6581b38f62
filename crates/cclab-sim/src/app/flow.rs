//! A flow: its source, its two hosts, what is measured of it.

use super::Cbr;
use super::config::{self, Traffic};
use super::host::{Alarm, Processing};
use super::meter::Meter;
use super::onoff::{Datagrams, OnOff};
use crate::measure::FlowSummary;
use crate::net::FlowTally;
use crate::tcp::{Config, Endpoint, Pacing};
use cclab_algo::cc::{Context, Entry};
use cclab_algo::params::Given;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};

/// A flow at work.
pub(crate) struct Flow {
    label: String,
    cc: &'static str,
    /// When it starts, its draw included.
    pub(crate) start: Time,
    pub(crate) stop: Option<Time>,
    pub(crate) kind: Kind,
    pub(crate) processing: Option<Box<Processing>>,
    pub(crate) meter: Meter,
    /// Packets handed to the network (or to processing) by both hosts.
    pub(crate) sent: u64,
    /// Packets that reached either host.
    pub(crate) received: u64,
    /// Whether the measured interval has begun and not ended.
    pub(crate) measuring: bool,
    /// When it was over: it stopped, or its last byte was acknowledged. Nothing is measured of it after that.
    over: Option<Time>,
    /// Whether the sample that shows how it ended is taken.
    closed: bool,
    /// Counters when the measured interval began, and when the flow was over.
    before: Counters,
    after: Option<Counters>,
}

/// What is counted over the whole run.
#[derive(Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) segments_sent: u64,
    pub(super) segments_retransmitted: u64,
    pub(super) timeouts: u64,
    recoveries: u64,
    pub(super) delivered_bytes: u64,
}

/// What it sends.
pub(crate) enum Kind {
    Tcp(Box<Tcp>),
    Udp {
        source: Datagrams,
        /// Payload bytes that arrived.
        delivered: u64,
    },
}

/// A TCP connection: the endpoints of source and destination.
pub(crate) struct Tcp {
    pub(crate) ends: [Endpoint; 2],
    pub(crate) alarms: [Alarm; 2],
    pub(crate) size: Option<u64>,
    /// The latest RTT sample of the source.
    pub(crate) rtt: Option<Duration>,
    /// What was last sampled, to tell changes.
    pub(crate) sampled: Option<(u64, u64, Option<Duration>, Option<Duration>)>,
    /// When the last byte was acknowledged, and received in order.
    finished: [Option<Time>; 2],
}

impl Flow {
    /// The flow of a scenario.
    pub(crate) fn new(flow: &config::Flow, seed: u64) -> Flow {
        let stream = |what: &str| Stream::new(seed, &format!("flow/{}/{what}", flow.label));
        let start = flow.start + Duration(stream("start").below(flow.start_jitter.0.saturating_add(1)));
        let (kind, cc) = match &flow.traffic {
            Traffic::Cbr { rate, packet_size } => {
                (Kind::Udp { source: Datagrams::Cbr(Cbr::new(*rate, *packet_size)), delivered: 0 }, "udp")
            }
            Traffic::OnOff { rate, packet_size, on, off } => {
                let (on, off) = ((on.clone(), stream("on")), (off.clone(), stream("off")));
                let source = OnOff::new(Cbr::new(*rate, *packet_size), on, off);
                (Kind::Udp { source: Datagrams::OnOff(Box::new(source)), delivered: 0 }, "udp")
            }
            Traffic::Tcp { size, config, cc, cc_params } => {
                let rngs = [stream("cc"), stream("cc-destination")];
                (Kind::Tcp(Box::new(Tcp::new(config, cc, cc_params, *size, start, rngs))), cc.name)
            }
        };
        let processing =
            (flow.send_jitter > Duration::ZERO).then(|| Box::new(Processing::new(flow.send_jitter, stream("send"))));
        Flow {
            stop: flow.stop,
            over: flow.stop.filter(|stop| *stop <= start),
            ..Flow::of(flow.label.clone(), cc, start, kind, processing)
        }
    }

    fn of(label: String, cc: &'static str, start: Time, kind: Kind, processing: Option<Box<Processing>>) -> Flow {
        Flow {
            label,
            cc,
            start,
            stop: None,
            kind,
            processing,
            meter: Meter::default(),
            sent: 0,
            received: 0,
            measuring: false,
            over: None,
            closed: false,
            before: Counters::default(),
            after: None,
        }
    }

    /// A connection of the background in a new slot, with the label of its entry.
    pub(crate) fn connection(
        label: String,
        cc: &'static str,
        start: Time,
        tcp: Tcp,
        processing: Option<Box<Processing>>,
    ) -> Flow {
        Flow::of(label, cc, start, Kind::Tcp(Box::new(tcp)), processing)
    }

    /// Another connection takes the slot of this one, which is over. The alarms stay: their entries are in the event
    /// queue.
    pub(crate) fn reopen(&mut self, start: Time, tcp: Tcp, processing: Option<Box<Processing>>) {
        let Kind::Tcp(old) = &mut self.kind else { unreachable!("connections of the background are TCP") };
        let alarms = old.alarms;
        **old = Tcp { alarms, ..tcp };
        (self.start, self.processing) = (start, processing);
        (self.over, self.after, self.before) = (None, None, Counters::default());
    }

    /// The application writes all it has, and closes.
    pub(crate) fn write_all(&mut self, now: Time, size: u64) {
        let Kind::Tcp(tcp) = &mut self.kind else { unreachable!("connections of the background are TCP") };
        tcp.ends[0].write(now, size);
        tcp.ends[0].close(now);
    }

    /// Whether none of its packets is under way, given what became of them in the network.
    pub(crate) fn is_empty(&self, tally: FlowTally) -> bool {
        let processing = self.processing.as_ref().map_or(0, |p| p.len());
        self.sent + tally.duplicated == self.received + tally.gone + processing && processing == 0
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// What it has counted since the measured interval, or it itself, began.
    pub(super) fn counted(&self) -> Counters {
        let (before, now) = (&self.before, self.after.unwrap_or_else(|| self.counters()));
        Counters {
            segments_sent: now.segments_sent - before.segments_sent,
            segments_retransmitted: now.segments_retransmitted - before.segments_retransmitted,
            timeouts: now.timeouts - before.timeouts,
            recoveries: now.recoveries - before.recoveries,
            delivered_bytes: now.delivered_bytes - before.delivered_bytes,
        }
    }

    /// From the start until the last byte was acknowledged, and received in order; `None` before.
    pub(super) fn completion_times(&self) -> Option<[Duration; 2]> {
        let Kind::Tcp(tcp) = &self.kind else { return None };
        Some([tcp.finished[0]? - self.start, tcp.finished[1]? - self.start])
    }

    /// A connection's counters start from here.
    pub(crate) fn mark(&mut self) {
        self.before = self.counters();
    }

    fn counters(&self) -> Counters {
        match &self.kind {
            Kind::Udp { source, delivered } => {
                Counters { segments_sent: source.cbr().number, delivered_bytes: *delivered, ..Counters::default() }
            }
            Kind::Tcp(tcp) => {
                let (source, destination) = (tcp.ends[0].stats(), tcp.ends[1].stats());
                Counters {
                    segments_sent: source.segments_sent,
                    segments_retransmitted: source.segments_retransmitted,
                    timeouts: source.timeouts,
                    recoveries: source.recoveries,
                    delivered_bytes: destination.bytes_received,
                }
            }
        }
    }

    /// The measured interval begins: now for a flow that runs, at its start for a later one.
    pub(crate) fn begin_measuring(&mut self, now: Time) {
        self.measuring = self.over.is_none();
        self.before = self.after.unwrap_or_else(|| self.counters());
        if let Kind::Tcp(tcp) = &self.kind {
            self.meter.cwnd.begin(now.max(self.start), tcp.ends[0].congestion_control().cwnd());
        }
    }

    /// The flow is over, and with it its measured interval.
    pub(crate) fn end_measuring(&mut self, now: Time) {
        if self.over.is_none() {
            self.measuring = false;
            (self.over, self.after) = (Some(now), Some(self.counters()));
        }
    }

    /// Label.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// When and why one of its laws could not go on.
    pub(crate) fn failed_law(&self) -> Option<(Time, String)> {
        let Kind::Tcp(tcp) = &self.kind else { return None };
        tcp.ends.iter().find_map(|end| end.congestion_control().failed())
    }

    /// Whether a sample is to be taken: the first one after its end is the last.
    pub(crate) fn is_sampled(&mut self) -> bool {
        !std::mem::replace(&mut self.closed, self.over.is_some())
    }

    /// The summary of the measured interval, which ends at `end` or when the flow is over. `lost` data packets of it
    /// were lost in the network.
    pub(crate) fn summary(&self, warmup: Time, end: Time, lost: u64) -> FlowSummary {
        let end = self.over.map_or(end, |over| over.min(end));
        let measured = end.since(self.start.max(warmup)).as_secs_f64();
        let rate = |bytes: u64| if measured > 0.0 { bytes as f64 * 8.0 / measured } else { f64::NAN };
        let counted = self.counted();
        let mut summary = FlowSummary {
            label: self.label.clone(),
            cc: self.cc.into(),
            start_s: self.start.as_secs_f64(),
            measured_s: measured,
            goodput_bps: rate(counted.delivered_bytes),
            throughput_bps: rate(self.meter.bytes_arrived),
            delivered_bytes: self.counters().delivered_bytes,
            segments_sent: counted.segments_sent,
            segments_retransmitted: counted.segments_retransmitted,
            packets_received: self.meter.owd.count(),
            packets_lost: lost,
            timeouts: counted.timeouts,
            recoveries: counted.recoveries,
            rtt: self.meter.rtt.summary(),
            owd: self.meter.owd.summary(),
            owd_mean_abs_diff_s: self.meter.owd_mean_abs_diff(),
            cwnd_mean_segments: f64::NAN,
            cwnd_min_segments: f64::NAN,
            cwnd_max_segments: f64::NAN,
            fct_s: f64::NAN,
            fct_receiver_s: f64::NAN,
        };
        if let Kind::Tcp(tcp) = &self.kind {
            let mss = f64::from(tcp.ends[0].config().mss);
            (summary.cwnd_mean_segments, summary.cwnd_min_segments, summary.cwnd_max_segments) =
                self.meter.cwnd.summary(end, mss);
            let taken = |at: Option<Time>| at.map_or(f64::NAN, |at| (at - self.start).as_secs_f64());
            (summary.fct_s, summary.fct_receiver_s) = (taken(tcp.finished[0]), taken(tcp.finished[1]));
        }
        summary
    }
}

impl Tcp {
    /// A connection that opens at `start`, with streams for the laws of source and destination.
    pub(super) fn new(
        config: &Config,
        cc: &Entry,
        params: &[(String, Given)],
        size: Option<u64>,
        start: Time,
        [source, destination]: [Stream; 2],
    ) -> Tcp {
        let law = |rng| {
            let cx = Context {
                mss: config.mss,
                initial_window: config.initial_window,
                initial_ssthresh: config.initial_ssthresh,
                flavour: config.flavour,
                paced: config.pacing == Pacing::On,
                rng,
            };
            cc.make(&cx, params).expect("a scenario's parameters are checked")
        };
        Tcp {
            ends: [
                Endpoint::connect(config.clone(), law(source), start),
                Endpoint::listen(config.clone(), law(destination)),
            ],
            alarms: [Alarm::new(), Alarm::new()],
            size,
            rtt: None,
            sampled: None,
            finished: [None; 2],
        }
    }

    /// Notes when a transfer of fixed size is complete at either end; whether it is so at the source.
    pub(crate) fn note_finished(&mut self, now: Time) -> bool {
        let Some(size) = self.size else { return false };
        if self.finished[0].is_none() && self.ends[0].stats().bytes_acked >= size {
            self.finished[0] = Some(now);
        }
        if self.finished[1].is_none() && self.ends[1].stats().bytes_received >= size {
            self.finished[1] = Some(now);
        }
        self.finished[0].is_some()
    }
}
