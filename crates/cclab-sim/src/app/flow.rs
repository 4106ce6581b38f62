//! A flow: its sockets, and what is measured of it.

mod table;

use super::application::Application;
use super::config::{self, Traffic};
use super::receiving::Receiving;
use super::sink::Sink;
use super::socket::{Kind, Processing, Socket, Transport};
use crate::net::{FlowTally, Route};
use crate::tcp::{Config, Endpoint, Metrics, Pacing};
use crate::wire::SocketId;
use cclab_algo::cc::{Context, Entry, Notices};
use cclab_algo::params::Given;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};
use std::ops::Range;
use std::sync::Arc;

pub use table::{FlowRow, FlowSample, FlowSamples, Flows, Signal, Signals};

/// A flow at work. Of its sockets the first is the source and the second the destination; what it asks of them it is given.
pub(crate) struct Flow {
    label: String,
    cc: &'static str,
    /// When it starts, its draw included.
    pub(crate) start: Time,
    pub(crate) stop: Option<Time>,
    /// Its first socket; they are in a row.
    first: u32,
    /// Bytes to transfer; `None` without end.
    pub(crate) size: Option<u64>,
    /// Who writes what it sends, where that is not all there at once.
    pub(super) application: Option<Box<Application>>,
    /// When it was over: it stopped, or its last byte was acknowledged. Nothing is measured of it after that.
    over: Option<Time>,
    /// Whether the sample that shows how it ended is taken.
    closed: bool,
    /// When the last byte was acknowledged, and received in order.
    finished: [Option<Time>; 2],
    /// What was last sampled, to tell changes.
    pub(crate) sampled: Option<(u64, u64, Option<Duration>, Option<Duration>)>,
    /// Counters when the measured interval began, and when the flow was over.
    before: Counters,
    after: Option<Counters>,
}

/// Sockets of a flow.
pub(crate) const SOURCE: usize = 0;
pub(crate) const DESTINATION: usize = 1;
const SOCKETS: u32 = 2;

/// What is counted over the whole run.
#[derive(Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) segments_sent: u64,
    pub(super) segments_retransmitted: u64,
    pub(super) timeouts: u64,
    recoveries: u64,
    pub(super) delivered_bytes: u64,
}

impl Flow {
    /// The flow of a scenario, number `index`, whose sockets are put behind the others.
    pub(crate) fn new(
        flow: &config::Flow,
        index: usize,
        routes: [Route; 2],
        sockets: &mut Vec<Socket>,
        seed: u64,
    ) -> Flow {
        let start = flow.start_in(seed);
        let application = Application::new(flow, start, seed);
        let (cc, size) = match &flow.traffic {
            Traffic::Tcp { size, cc, .. } => (cc.name, *size),
            Traffic::Cbr { .. } | Traffic::OnOff { .. } => ("udp", None),
        };
        let ends = ends(flow, start, seed, Metrics::default());
        let kind = match size {
            _ if flow.tunnel => Kind::Tunnel,
            _ if application.is_some() => Kind::Application,
            Some(_) => Kind::Transfer,
            None => Kind::Endless,
        };
        let first = open(ends, index, routes, kind, sockets);
        if flow.send_jitter > Duration::ZERO {
            let processing = Processing::new(flow.send_jitter, flow.stream("send", seed));
            sockets[first as usize].processing = Some(Box::new(processing));
        }
        Flow {
            stop: flow.stop,
            over: flow.stop.filter(|stop| *stop <= start),
            application: application.map(Box::new),
            ..Flow::of(flow.label.clone(), cc, start, first, size)
        }
    }

    fn of(label: String, cc: &'static str, start: Time, first: u32, size: Option<u64>) -> Flow {
        Flow {
            label,
            cc,
            start,
            stop: None,
            first,
            size,
            application: None,
            over: None,
            closed: false,
            finished: [None; 2],
            sampled: None,
            before: Counters::default(),
            after: None,
        }
    }

    /// A connection of the background in a new slot, with the label of its entry.
    pub(super) fn connection(
        spec: &config::Background,
        index: usize,
        routes: [Route; 2],
        opening: Opening,
        sockets: &mut Vec<Socket>,
    ) -> Flow {
        let first = open(opening.ends, index, routes, Kind::Transfer, sockets);
        sockets[first as usize].processing = opening.processing;
        Flow::of(spec.label.clone(), spec.cc.name, opening.start, first, Some(opening.size))
    }

    /// Another connection takes the slot of this one, which is over. The alarms stay: their entries are in the event
    /// queue.
    pub(super) fn reopen(&mut self, opening: Opening, sockets: &mut [Socket]) {
        let [source, destination] = opening.ends;
        let own = &mut sockets[self.sockets()];
        (own[SOURCE].transport, own[DESTINATION].transport) = (source, destination);
        own[SOURCE].processing = opening.processing;
        own.iter_mut().for_each(|socket| socket.rtt = None);
        (self.start, self.size, self.finished) = (opening.start, Some(opening.size), [None; 2]);
        (self.over, self.after, self.before) = (None, None, Counters::default());
    }

    /// The numbers of its sockets.
    pub(crate) fn sockets(&self) -> Range<usize> {
        self.first as usize..(self.first + SOCKETS) as usize
    }

    /// The socket that sends the data.
    pub(crate) fn source(&self) -> SocketId {
        SocketId(self.first)
    }

    /// The number of the socket that opens its connection.
    pub(super) fn opener(&self) -> usize {
        if self.application.as_ref().is_some_and(|application| application.is_asked()) { DESTINATION } else { SOURCE }
    }

    /// Parts of its application that have not arrived.
    pub(crate) fn parts_under_way(&self) -> usize {
        self.application.as_ref().map_or(0, |application| application.parts_under_way())
    }

    /// Its application acts: the socket that may have something to send, and when it wants to act again.
    pub(crate) fn act(&mut self, now: Time, sockets: &mut [Socket]) -> Option<(SocketId, Option<Time>)> {
        let opener = self.first + self.opener() as u32;
        let own = &mut sockets[self.sockets()];
        let application = self.application.as_mut().filter(|_| self.over.is_none())?;
        let next = application.act(now, own);
        self.size = application.size();
        Some((SocketId(opener), next))
    }

    /// Its application looks at what has arrived: when it wants to act, if it has learnt that.
    pub(crate) fn attend(&mut self, now: Time, own: &mut [Socket]) -> Option<Time> {
        let application = self.application.as_mut().filter(|_| self.over.is_none())?;
        let next = application.attend(now, own);
        self.size = application.size();
        next
    }

    /// Whether none of its packets is under way, given what became of them in the network.
    pub(crate) fn is_empty(&self, tally: FlowTally, own: &[Socket]) -> bool {
        let processing = in_processing(own);
        let (sent, received) = packets(own);
        sent + tally.duplicated == received + tally.gone + processing && processing == 0
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// What it has counted since the measured interval, or it itself, began.
    pub(super) fn counted(&self, own: &[Socket]) -> Counters {
        let (before, now) = (&self.before, self.after.unwrap_or_else(|| counters(own)));
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
        Some([self.finished[0]? - self.start, self.finished[1]? - self.start])
    }

    /// Notes when a transfer of fixed size is complete at either end; whether it is so at the source.
    pub(crate) fn note_finished(&mut self, now: Time, own: &[Socket]) -> bool {
        let Some(size) = self.size else { return false };
        let stats = |end: usize| own[end].transport.tcp().map(Endpoint::stats);
        if self.finished[0].is_none() && stats(SOURCE).is_some_and(|s| s.bytes_acked >= size) {
            self.finished[0] = Some(now);
        }
        if self.finished[1].is_none() && stats(DESTINATION).is_some_and(|s| s.bytes_received >= size) {
            self.finished[1] = Some(now);
        }
        self.finished[0].is_some()
    }

    /// A connection's counters start from here.
    pub(crate) fn mark(&mut self, own: &[Socket]) {
        self.before = counters(own);
    }

    /// The measured interval begins: now for a flow that runs, at its start for a later one.
    pub(crate) fn begin_measuring(&mut self, now: Time, own: &mut [Socket]) {
        self.before = self.after.unwrap_or_else(|| counters(own));
        if let Some(application) = &mut self.application {
            application.begin_measuring(now, self.over.is_none());
        }
        for socket in own {
            socket.measuring = self.over.is_none();
            if let Transport::Tcp(endpoint) = &socket.transport {
                socket.meter.cwnd.begin(now.max(self.start), endpoint.congestion_control().cwnd());
            }
        }
    }

    /// The flow is over, and with it its measured interval.
    pub(crate) fn end_measuring(&mut self, now: Time, own: &mut [Socket]) {
        if self.over.is_none() {
            own.iter_mut().for_each(|socket| socket.measuring = false);
            if let Some(application) = &mut self.application {
                application.end_measuring(now);
            }
            (self.over, self.after) = (Some(now), Some(counters(own)));
        }
    }

    /// Label.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Congestion control, or `udp`.
    pub(crate) fn cc(&self) -> &'static str {
        self.cc
    }

    /// Whether a sample is to be taken: the first one after its end is the last.
    pub(crate) fn is_sampled(&mut self) -> bool {
        !std::mem::replace(&mut self.closed, self.over.is_some())
    }
}

/// Both ends of a flow that starts at `start`, whose source remembers this of the destination.
pub(super) fn ends(flow: &config::Flow, start: Time, seed: u64, known: Metrics) -> [Transport; 2] {
    match (&flow.traffic, flow.datagrams(seed)) {
        (Traffic::Tcp { config, cc, cc_params, application, .. }, _) => {
            let rngs = [flow.stream("cc", seed), flow.stream("cc-destination", seed)];
            let asked = matches!(application, Some(config::Application::Requests { .. }));
            let opener = if asked { DESTINATION } else { SOURCE };
            connection(&config.knowing(known), cc, cc_params, start, rngs, flow.tunnel || asked, opener)
        }
        (_, Some(source)) => [Transport::Datagrams(source), Transport::Sink(Sink::default())],
        (_, None) => unreachable!("what is not TCP is a source of datagrams"),
    }
}

/// The next connection of a slot of the background.
pub(super) struct Opening {
    pub(super) ends: [Transport; 2],
    pub(super) start: Time,
    pub(super) size: u64,
    pub(super) processing: Option<Box<Processing>>,
}

/// Opens the two sockets of flow `index`, which speak to each other; the number of the first.
fn open(ends: [Transport; 2], index: usize, routes: [Route; 2], kind: Kind, sockets: &mut Vec<Socket>) -> u32 {
    let first = sockets.len() as u32;
    let [source, destination] = ends;
    let flow = index as u32;
    let source = Socket::new(source, flow, SocketId(first + 1), routes[0], true);
    let destination = Socket::new(destination, flow, SocketId(first), routes[1], false);
    sockets.extend([source, destination].map(|socket| Socket { kind, ..socket }));
    first
}

/// Both ends of a connection that opens at `start`, with streams for the laws of source and destination. Unless data go `both_ways`,
/// no law is made for the destination but one that hears of its route, or one of somebody else's, who may count on being told.
/// `opener` says whose SYN opens it.
pub(super) fn connection(
    config: &Arc<Config>,
    cc: &Entry,
    params: &[(String, Given)],
    start: Time,
    [source, destination]: [Stream; 2],
    both_ways: bool,
    opener: usize,
) -> [Transport; 2] {
    let law = |rng| {
        let cx = Context {
            mss: config.mss,
            initial_window: config.initial_window,
            initial_ssthresh: config.initial_ssthresh,
            flavour: config.flavour,
            paced: config.pacing == Pacing::On,
            bursts: config.tso.is_some(),
            rng,
        };
        cc.make(&cx, params).expect("a scenario's parameters are checked")
    };
    let sender = law(source);
    let hears = both_ways || cc.needs_interpreter() || sender.notices() != Notices::None;
    let receiver = if hears { law(destination) } else { Box::new(Receiving::beside(&*sender)) };
    let end = |law, end| {
        let config = Arc::clone(config);
        let open = end == opener;
        Transport::Tcp(if open { Endpoint::connect(config, law, start) } else { Endpoint::listen(config, law) })
    };
    [end(sender, SOURCE), end(receiver, DESTINATION)]
}

/// What the sockets of a flow have counted.
fn counters(own: &[Socket]) -> Counters {
    let mut sum = Counters::default();
    for socket in own {
        match &socket.transport {
            Transport::Tcp(endpoint) if socket.is_source => {
                let stats = endpoint.stats();
                sum.segments_sent += stats.segments_sent;
                sum.segments_retransmitted += stats.segments_retransmitted;
                sum.timeouts += stats.timeouts;
                sum.recoveries += stats.recoveries;
            }
            Transport::Tcp(endpoint) => sum.delivered_bytes += endpoint.stats().bytes_received,
            Transport::Datagrams(source) => sum.segments_sent += source.cbr().number,
            Transport::Sink(sink) => sum.delivered_bytes += sink.bytes,
        }
    }
    sum
}

/// Packets that these sockets sent, and that reached them.
pub(crate) fn packets(own: &[Socket]) -> (u64, u64) {
    own.iter().fold((0, 0), |(sent, received), socket| (sent + socket.sent, received + socket.received))
}

/// When and why a law of these sockets could not go on.
pub(crate) fn failed_law(own: &[Socket]) -> Option<(Time, String)> {
    own.iter().find_map(|socket| socket.transport.tcp()?.congestion_control().failed())
}

/// Packets in processing at these sockets.
pub(crate) fn in_processing(own: &[Socket]) -> u64 {
    own.iter().filter_map(|socket| socket.processing.as_ref()).map(|p| p.len()).sum()
}
