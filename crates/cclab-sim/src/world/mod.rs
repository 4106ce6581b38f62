//! The world: a scenario, its engine, its links and its hosts, run to the end.

mod capture;
pub mod config;
mod error;
mod recorder;
mod result;
mod sessions;
mod tunnels;

pub use error::Error;
pub use result::{EngineStats, RunResult, RunRow, Runs, schema};

use crate::app::{
    Applications, Arrival, Background, Flow, FlowSamples, Flows, Kind, Memory, Next, Session, Signals, Socket,
    Transport, failed_law, in_processing, packets,
};
use crate::engine::{Wheel, prefetch};
use crate::measure::budget;
use crate::net::{self, LinkSamples, Log, Network};
use crate::tcp::State;
use crate::wire::ecn::CE;
use crate::wire::{Body, Packet, SocketId};
use capture::Capture;
use cclab_algo::cc::Notices;
use cclab_algo::{Duration, Time};
use config::{Point, Sampling, Scenario};
use recorder::Recorder;
use sessions::Change;
use std::collections::VecDeque;
use std::sync::Arc;
use tunnels::Tunnel;

/// Events between two looks at what is kept.
const CHECK_EVERY: u64 = 1 << 16;
/// So many segments that leave at once bring it nearer.
const BURST: u64 = 256;

/// The state of so many flows stays in the caches.
const FEW_FLOWS: usize = 128;

/// What is due. Eight bytes, which are copied as one: what is copied in parts has to wait for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// In the network.
    Net(net::Event),
    /// The timer of a socket.
    Timer(SocketId),
    /// The next packet of this socket has been processed by its host.
    Release(SocketId),
    /// This flow starts.
    Start(u32),
    /// This flow's source stops.
    Stop(u32),
    /// The application of this flow acts.
    Act(u32),
    /// A connection or a page of this background entry comes.
    Arrival(u32),
    /// This user of the background requests an object.
    Request(u32),
    /// The interface of a subflow's host went down or came up.
    Interface(Change),
    /// Take a sample.
    Sample,
    /// The warm-up is over.
    Measure,
    /// Somebody outside has asked to be called at this time.
    Pause,
}

impl From<net::Event> for Event {
    fn from(event: net::Event) -> Event {
        Event::Net(event)
    }
}

/// One run in progress.
pub struct Simulation {
    seed: u64,
    now: Time,
    warmup: Time,
    end: Time,
    max_events: u64,
    served: u64,
    /// Of these, pauses.
    pauses: u64,
    /// `advance` serves as many at most; a pause makes it none.
    stop: u64,
    /// When to look at the budgets again.
    checkpoint: u64,
    /// Some law is written in another language.
    laws_may_fail: bool,
    /// There are so many sockets that what is soon needed of them is worth asking for.
    looks_ahead: bool,
    budget: u64,
    network: Network,
    /// What happens next.
    events: Wheel<Event>,
    sockets: Vec<Socket>,
    /// The flows of the scenario, `own` of them, then the connections of the background.
    flows: Vec<Flow>,
    own: usize,
    background: Background,
    sessions: Vec<Session>,
    /// The session that each flow is a subflow of; as long as the last of these.
    session_of: Vec<u32>,
    tunnels: Vec<Tunnel>,
    memory: Memory,
    /// Packets that reached their host without an event, to be taken in at this same instant.
    arrivals: VecDeque<Packet>,
    recorder: Recorder,
}

impl Simulation {
    /// Prepares a run of `scenario` with `seed`.
    ///
    /// # Errors
    /// With this seed stations find no places that they are to have.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Simulation, Error> {
        let capture = scenario.record.capture.map(|c| (Capture::new(scenario, c, seed), c.point));
        let (warmup, end) = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
        let record = &scenario.record;
        let on_air = record.capture.filter(|capture| capture.point == Point::Air);
        let sniff = on_air.map(|capture| capture.snaplen.unwrap_or(u32::MAX));
        let log = Log {
            packets: record.packets,
            changes: record.samples == Sampling::OnChange,
            frames: record.frames,
            sniff,
        };
        let mut network = Network::new(&scenario.links, seed, (warmup, end), log).with_media(
            &scenario.media,
            &scenario.crossings,
            &scenario.nodes,
            seed,
        )?;
        let mut events = Wheel::new();
        network.begin(&mut events);
        let count = scenario.flows.len();
        let (mut sockets, mut flows) = (Vec::with_capacity(2 * count), Vec::with_capacity(count));
        for (index, flow) in scenario.flows.iter().enumerate() {
            let mut route = |links: &[usize]| match (flow.tunnel, links) {
                (true, [link]) => network.add_tunnel_route(*link),
                _ => network.add_route(links),
            };
            let routes = [route(&flow.route), route(&flow.route_back)];
            network.add_flow(flow.stop.unwrap_or(end));
            flows.push(Flow::new(flow, index, routes, &mut sockets, seed));
            hear(&mut network, index, &sockets[flows[index].source().index()]);
        }
        let background = Background::new(&scenario.background, &mut network, seed);
        let (sessions, session_of) = sessions::open(scenario, &flows, &mut sockets);
        let tunnels = tunnels::open(scenario, &flows, &network);
        let mut sim = Simulation {
            seed,
            now: Time::ZERO,
            warmup,
            end,
            max_events: scenario.max_events,
            served: 0,
            pauses: 0,
            stop: 0,
            looks_ahead: count > FEW_FLOWS,
            laws_may_fail: scenario.interpreted().next().is_some(),
            checkpoint: scenario.max_events.min(CHECK_EVERY),
            budget: budget::MOST,
            network,
            events,
            sockets,
            flows,
            own: scenario.flows.len(),
            background,
            sessions,
            session_of,
            tunnels,
            memory: Memory::new(&scenario.flows),
            arrivals: VecDeque::new(),
            recorder: Recorder {
                sampling: scenario.record.samples,
                samples: FlowSamples::default(),
                link_samples: LinkSamples::default(),
                signals: Signals::default(),
                capture,
            },
        };
        sim.schedule_start();
        sessions::interfaces(scenario).for_each(|(at, event)| sim.events.push(at, event));
        Ok(sim)
    }

    fn schedule_start(&mut self) {
        let events = &mut self.events;
        events.push(self.warmup, Event::Measure);
        if let Sampling::Every(_) = self.recorder.sampling {
            events.push(Time::ZERO, Event::Sample);
        }
        for (index, flow) in self.flows.iter().enumerate() {
            if flow.stop.is_some_and(|stop| stop <= flow.start) {
                continue;
            }
            events.push(flow.start, Event::Start(index as u32));
            if let Some(stop) = flow.stop {
                events.push(stop, Event::Stop(index as u32));
            }
        }
        let next = self.background.begin();
        self.schedule(next);
    }

    fn schedule(&mut self, next: impl IntoIterator<Item = Next>) {
        for next in next {
            let (at, event) = match next {
                Next::Arrival(at, entry) => (at, Event::Arrival(entry)),
                Next::Request(at, user) => (at, Event::Request(user)),
            };
            if at < self.end {
                self.events.push(at, event);
            }
        }
    }

    /// Serves up to `max_events` events; the share of simulated time done, 1.0 when finished.
    ///
    /// # Errors
    /// The budget of events or of what is kept is used up.
    #[inline(never)]
    pub fn advance(&mut self, max_events: u64) -> Result<f64, Error> {
        self.stop = self.served.saturating_add(max_events);
        while self.served < self.stop {
            let (now, event) = self.next_event().unwrap_or((Time::NEVER, Event::Pause));
            if now >= self.end {
                self.now = self.end;
                return Ok(1.0);
            }
            debug_assert!(now >= self.now, "time runs forward");
            self.now = now;
            self.served += 1;
            self.serve(now, event);
            while let Some(packet) = self.arrivals.pop_front() {
                self.served += 1;
                self.receive(now, &packet);
                self.check_budget()?;
            }
            self.check_budget()?;
        }
        Ok((self.now.as_secs_f64() / self.end.as_secs_f64()).min(1.0 - f64::EPSILON))
    }

    #[inline(always)]
    fn next_event(&mut self) -> Option<(Time, Event)> {
        if !self.looks_ahead {
            return self.events.pop();
        }
        let sockets = &self.sockets;
        self.events.pop_noting(|event| {
            if let Event::Timer(socket) = event {
                prefetch(&sockets[socket.index()], Socket::TIMERS_NEED);
            }
        })
    }

    /// Serves what is due before `time`, and what is due at it and was scheduled before this call; the share of simulated time
    /// done, 1.0 when finished.
    ///
    /// # Errors
    /// See [`advance`](Self::advance).
    pub fn run_until(&mut self, time: Time) -> Result<f64, Error> {
        if time < self.end {
            self.events.push(time.max(self.now), Event::Pause);
        }
        self.advance(u64::MAX)
    }

    #[inline]
    fn check_budget(&mut self) -> Result<(), Error> {
        if self.served <= self.checkpoint { Ok(()) } else { self.check_budgets() }
    }

    #[cold]
    fn check_budgets(&mut self) -> Result<(), Error> {
        let (time_s, duration_s) = (self.now.as_secs_f64(), self.end.as_secs_f64());
        if self.served > self.max_events {
            return Err(Error::Budget { max_events: self.max_events, time_s, duration_s });
        }
        self.check_laws()?;
        let every = CHECK_EVERY.max(8 * self.network.len() as u64); // which looks at each link
        self.checkpoint = self.max_events.min(self.served + every);
        let recorder = &self.recorder;
        let samples = recorder.samples.time_s.len() + self.network.changes();
        let small_samples = recorder.link_samples.time_s.len() + recorder.signals.time_s.len();
        let packets = self.network.log.as_ref().map_or(0, |log| log.len());
        let captured = recorder.capture.as_ref().map_or(0, |(capture, _)| capture.len()) + self.network.sent_bytes();
        let under_way = self.network.under_way() as usize;
        let connections = self.flows.len() - self.own;
        let parts = self.flows[..self.own].iter().map(Flow::parts_under_way).sum();
        let remembered =
            self.sockets.iter().filter_map(|socket| Some(socket.transport.tcp()?.kept_bytes())).sum::<usize>()
                + self.sessions.iter().map(Session::kept_bytes).sum::<usize>();
        let kept = [
            (samples, budget::SAMPLE, "rows", "record.samples", "write a longer interval, or \"off\""),
            (small_samples, budget::SMALL_SAMPLE, "rows", "record.samples", "write a longer interval, or \"off\""),
            (packets, budget::NOTED, "rows", "record.packets", "write false, or \"pcapng\" with a small snaplen"),
            (self.network.diary_len(), budget::FRAME, "rows", "record.frames", "write false, or a shorter duration"),
            (captured, 1, "bytes", "record.packets", "write a smaller record.snaplen, or false"),
            (under_way, budget::PACKET, "packets", "what is on its way", "write smaller queues, or lower rates"),
            (
                remembered,
                1,
                "bytes",
                "what hosts remember of segments",
                "write smaller queues, or a smaller receive_buffer",
            ),
            (connections, budget::CONNECTION, "connections", "what is open at once", "write less background"),
            (parts, budget::PART, "parts", "what applications have written", "write larger parts, or lower rates"),
            (self.own, budget::FLOW, "flows", "what flows there are", "write fewer"),
            (
                self.network.heard(),
                budget::HEARD,
                "pairs",
                "stations in range of each other",
                "write fewer, or farther apart",
            ),
        ];
        match budget::excess(kept.map(|kind| (kind, kind.0 as u64 * kind.1)), self.budget) {
            None => Ok(()),
            Some(((count, _, unit, what, advice), bytes, _)) => {
                let [bytes, most] = [bytes, self.budget].map(budget::gigabytes);
                let size = format!("{count} {unit}, {bytes} of the {most} that all that is kept may take");
                Err(Error::Memory { what, size, advice, time_s, duration_s })
            }
        }
    }

    /// Whether every law could go on; [`advance`](Self::advance) looks now and then.
    ///
    /// # Errors
    /// A law written in another language failed.
    pub fn check_laws(&self) -> Result<(), Error> {
        if !self.laws_may_fail {
            return Ok(());
        }
        let failed = self.flows.iter().filter_map(|flow| Some((flow, failed_law(&self.sockets[flow.sockets()])?)));
        match failed.min_by_key(|(_, (at, _))| *at) {
            None => Ok(()),
            Some((flow, (at, message))) => {
                Err(Error::Law { flow: flow.label().into(), time_s: at.as_secs_f64(), message })
            }
        }
    }

    #[inline(always)]
    fn serve(&mut self, now: Time, event: Event) {
        match event {
            Event::Net(net::Event::Tunnel(mouth)) => self.feed(now, mouth),
            Event::Net(event) => {
                if self.looks_ahead
                    && let Some([near, far]) = self.network.look_ahead(event)
                {
                    self.sockets[near.to().index()].fetch_heap();
                    let needs = if far.payload() > 0 { Socket::DATA_NEED } else { Socket::ACKS_NEED };
                    prefetch(&self.sockets[far.to().index()], needs);
                }
                let mut packet = Packet::udp(0, now, 0, 0);
                if self.network.on_event(now, event, &mut packet, &mut self.events) {
                    self.receive(now, &packet);
                }
            }
            Event::Timer(socket) => self.wake(now, socket),
            _ => self.serve_seldom(now, event),
        }
    }

    /// The same for the other events.
    #[inline(never)]
    fn serve_seldom(&mut self, now: Time, event: Event) {
        match event {
            Event::Net(_) | Event::Timer(_) => unreachable!("they are served at once"),
            Event::Release(socket) => {
                let Some(processing) = &mut self.sockets[socket.index()].processing else { return };
                let mut packet = Packet::udp(0, now, 0, 0);
                if let Some(at) = processing.pop(&mut packet) {
                    self.events.push(at, event);
                }
                self.send(now, socket, &mut packet);
            }
            Event::Start(index) => {
                let own = &mut self.sockets[self.flows[index as usize].sockets()];
                self.memory.recall(now, index as usize, self.seed, own);
                self.start(now, index as usize);
            }
            Event::Act(index) => self.act(now, index as usize),
            Event::Stop(index) => {
                self.end_measuring(now, index as usize);
                let source = self.flows[index as usize].source();
                if self.sockets[source.index()].kind == Kind::Subflow {
                    return self.stop_session(now, source);
                }
                if let Some(endpoint) = self.sockets[source.index()].transport.tcp_mut() {
                    endpoint.close(now);
                    self.pump(now, source);
                }
            }
            Event::Arrival(entry) => {
                match self.background.arrive(now, entry) {
                    Arrival::Connection => self.connect(now, entry, None),
                    Arrival::Reader(user) => self.request(now, user),
                    Arrival::User(next) => self.schedule(next),
                }
                let next = self.background.next_arrival(now, entry);
                self.schedule(next);
            }
            Event::Request(user) => self.request(now, user),
            Event::Interface(change) => self.on_interface(now, change),
            Event::Sample => self.sample(now),
            Event::Pause => (self.stop, self.pauses) = (0, self.pauses + 1),
            Event::Measure => {
                self.network.begin_measuring(now);
                self.background.begin_measuring();
                self.sessions.iter_mut().for_each(|session| session.begin_measuring(now));
                for (index, flow) in self.flows.iter_mut().enumerate() {
                    let own = &mut self.sockets[flow.sockets()];
                    if index < self.own { flow.begin_measuring(now, own) } else { flow.mark(own) }
                }
            }
        }
    }

    /// A flow is over.
    fn end_measuring(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        let own = &mut self.sockets[flow.sockets()];
        if !flow.is_over() {
            self.memory.save(index, own);
        }
        flow.end_measuring(now, own);
        self.network.end_measuring(now, index);
    }

    /// A flow begins to send.
    fn start(&mut self, now: Time, index: usize) {
        let flow = &self.flows[index];
        let (source, size) = (flow.source(), flow.size);
        match self.sockets[source.index()].kind {
            Kind::Subflow => return self.start_subflow(now, source),
            Kind::Tunnel => return self.pump(now, source),
            Kind::Application => return self.act(now, index),
            Kind::Endless | Kind::Transfer => {}
        }
        match &mut self.sockets[source.index()].transport {
            Transport::Tcp(endpoint) => {
                endpoint.write(now, size.unwrap_or(u64::MAX));
                if size.is_some() {
                    endpoint.close(now);
                }
                self.pump(now, source);
            }
            Transport::Datagrams(_) => self.wake(now, source),
            Transport::Sink(_) => {}
        }
    }

    /// The application of a flow acts.
    fn act(&mut self, now: Time, index: usize) {
        if let Some((socket, next)) = self.flows[index].act(now, &mut self.sockets) {
            self.act_at(next, index);
            self.pump(now, socket);
        }
    }

    fn act_at(&mut self, next: Option<Time>, index: usize) {
        if let Some(at) = next.filter(|at| *at < self.end) {
            self.events.push(at, Event::Act(index as u32));
        }
    }

    /// Something has come to a socket of a flow whose application looks at it.
    #[inline(never)]
    fn attend(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        let next = flow.attend(now, &mut self.sockets[flow.sockets()]);
        self.act_at(next, index);
        if self.note_finished(now, index) {
            self.end_measuring(now, index);
        }
    }

    /// A user of the background requests an object.
    fn request(&mut self, now: Time, user: u32) {
        if let Some(entry) = self.background.request(now, user) {
            self.connect(now, entry, Some(user));
        }
    }

    /// A connection of the background starts.
    fn connect(&mut self, now: Time, entry: u32, user: Option<u32>) {
        let (network, flows, sockets) = (&mut self.network, &mut self.flows, &mut self.sockets);
        let index = self.background.connect(now, entry, user, network, flows, sockets);
        hear(network, index, &sockets[flows[index].source().index()]);
        self.start(now, index);
    }

    /// A connection of the background is over.
    fn finish_connection(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        let own = &mut self.sockets[flow.sockets()];
        let next = self.background.finish(now, index - self.own, flow, own);
        self.schedule(next);
    }

    /// The timer of a socket fires.
    fn wake(&mut self, now: Time, id: SocketId) {
        let socket = &mut self.sockets[id.index()];
        let index = socket.flow as usize;
        let (of_background, live) = (index >= self.own, socket.alarm.fires(now));
        if live
            && !of_background
            && matches!(socket.kind, Kind::Endless | Kind::Transfer | Kind::Application)
            && let Some(entry) = socket.alarm.postpone(now)
        {
            entry.into_iter().for_each(|at| self.events.push(at, Event::Timer(id)));
            return; // no more of the socket was looked at than its alarm
        }
        match &mut socket.transport {
            Transport::Tcp(endpoint) => {
                if !live || (of_background && self.flows[index].is_over()) {
                    return;
                }
                if endpoint.next_timer() <= now {
                    endpoint.on_timer(now);
                }
                match socket.kind {
                    Kind::Subflow => return self.drive(now, id, 0),
                    Kind::Tunnel => return self.tend(now, id),
                    Kind::Endless | Kind::Transfer | Kind::Application => {}
                }
                if of_background && socket.is_source && endpoint.state() == State::Closed {
                    return self.finish_connection(now, index);
                }
                self.pump(now, id);
            }
            Transport::Datagrams(source) => {
                if self.flows[index].stop.is_some_and(|stop| now >= stop) {
                    return;
                }
                let (number, gap) = source.emit();
                let size = source.cbr().size;
                if now + gap < self.end {
                    self.events.push(now + gap, Event::Timer(id));
                }
                if let Some(number) = number {
                    self.emit(now, id, &mut Packet::udp(index, now, number, size));
                }
            }
            Transport::Sink(_) => {}
        }
    }

    /// A packet reaches its socket. One that no socket takes is gone, as at any host.
    fn receive(&mut self, now: Time, packet: &Packet) {
        self.capture(now, !packet.forward, packet);
        let (to, index) = (packet.to, packet.flow as usize);
        if packet.flow == Packet::NO_FLOW {
            return self.take_news(now, packet);
        }
        let socket = &mut self.sockets[to.index()];
        socket.received += 1;
        if socket.measuring && packet.forward && packet.payload() > 0 {
            socket.meter.data(now, packet);
        }
        let of_background = index >= self.own;
        if of_background {
            self.background.count(now, index - self.own, packet);
            if self.flows[index].is_over() {
                return;
            }
        }
        match (&mut socket.transport, &packet.body) {
            (Transport::Tcp(endpoint), Body::Tcp(segment)) => {
                endpoint.on_segment(now, segment, packet.ecn == CE);
                if socket.is_source
                    && let Some(rtt) = endpoint.last_rtt_sample()
                {
                    socket.rtt = Some(rtt);
                    if socket.measuring {
                        socket.meter.delay.record(rtt);
                    }
                }
                let kind = socket.kind;
                match kind {
                    Kind::Endless => {}
                    Kind::Subflow => return self.drive(now, to, segment.dss),
                    Kind::Tunnel => return self.tend(now, to),
                    Kind::Transfer if !self.note_finished(now, index) => {}
                    Kind::Transfer if of_background => return self.finish_connection(now, index),
                    Kind::Transfer => self.end_measuring(now, index),
                    Kind::Application => self.attend(now, index),
                }
                self.pump(now, to);
            }
            (Transport::Sink(sink), Body::Udp(datagram)) => sink.take(datagram),
            _ => {}
        }
    }

    /// A notice has reached the sender that it is for.
    #[cold]
    #[inline(never)]
    fn take_news(&mut self, now: Time, packet: &Packet) {
        let sender = self.sockets[packet.to.index()].peer;
        let endpoint = self.sockets[sender.index()].transport.tcp_mut();
        if let (Some(endpoint), Body::News(news)) = (endpoint, &packet.body) {
            endpoint.on_news(now, *news);
            self.pump(now, sender);
        }
    }

    /// Whether a transfer is complete at its source; notes when it first was, at either end.
    fn note_finished(&mut self, now: Time, index: usize) -> bool {
        let flow = &mut self.flows[index];
        flow.note_finished(now, &self.sockets[flow.sockets()])
    }

    /// Sends what an endpoint has to send, arms its timer, notes its window.
    fn pump(&mut self, now: Time, id: SocketId) {
        let mut packet = Packet::udp(0, now, 0, 0);
        let sent_before = self.sockets[id.index()].sent;
        let wanted = loop {
            let socket = &mut self.sockets[id.index()];
            let Some(endpoint) = socket.transport.tcp_mut() else { return };
            if !endpoint.transmit(now, packet.segment_mut()) {
                break endpoint.next_timer();
            }
            let (flow, is_source) = (socket.flow as usize, socket.is_source);
            if socket.kind == Kind::Subflow {
                self.stamp(id, packet.segment_mut());
            }
            packet.seal(flow, is_source, now);
            self.emit(now, id, &mut packet);
        };
        self.arm(now, id, wanted);
        let socket = &mut self.sockets[id.index()];
        let burst = socket.sent - sent_before;
        if burst >= BURST {
            self.checkpoint = self.checkpoint.saturating_sub(burst); // in one event it takes the memory of as many
        }
        if socket.is_source
            && let Some(endpoint) = socket.transport.tcp()
        {
            let index = socket.flow as usize;
            if socket.measuring {
                socket.meter.cwnd.set(now, endpoint.congestion_control().cwnd());
            }
            if self.recorder.sampling == Sampling::OnChange && index < self.own {
                let flow = &mut self.flows[index];
                self.recorder.sample_change(now, index, flow, &self.sockets[flow.sockets()]);
            }
        }
    }

    /// A socket wants to be woken at `wanted`.
    #[inline(always)]
    fn arm(&mut self, now: Time, id: SocketId, wanted: Time) {
        if let Some(at) = self.sockets[id.index()].alarm.want(wanted.max(now)) {
            self.events.push(at, Event::Timer(id));
        }
    }

    /// A packet leaves a socket: through its host's processing, if it has any, into the network.
    #[inline(always)]
    fn emit(&mut self, now: Time, from: SocketId, packet: &mut Packet) {
        let socket = &mut self.sockets[from.index()];
        socket.sent += 1;
        packet.to = socket.peer;
        match &mut socket.processing {
            Some(processing) => {
                if let Some(at) = processing.push(now, packet) {
                    self.events.push(at, Event::Release(from));
                }
            }
            None => self.send(now, from, packet),
        }
    }

    #[inline(always)]
    fn send(&mut self, now: Time, from: SocketId, packet: &mut Packet) {
        let Socket { route, is_source, .. } = self.sockets[from.index()];
        self.capture(now, is_source, packet);
        if self.network.send(now, packet, route, &mut self.events) {
            self.arrivals.push_back(*packet);
        }
    }

    /// A packet is at a socket, of the source or not.
    #[inline(always)]
    fn capture(&mut self, now: Time, is_source: bool, packet: &Packet) {
        let point = if is_source { Point::Sender } else { Point::Receiver };
        if let Some((capture, at)) = &mut self.recorder.capture
            && *at == point
            && (packet.flow as usize) < self.own
        {
            capture.record(now, packet);
        }
    }

    fn sample(&mut self, now: Time) {
        for (index, flow) in self.flows[..self.own].iter_mut().enumerate().filter(|(_, flow)| flow.start <= now) {
            self.recorder.sample(now, index, flow, &self.sockets[flow.sockets()]);
        }
        self.network.sample(now, &mut self.recorder.link_samples);
        if let Sampling::Every(interval) = self.recorder.sampling {
            let next = now + interval.max(Duration(1));
            if next < self.end {
                self.events.push(next, Event::Sample);
            }
        }
    }

    /// The run serves what is before its end; a sample due at the end itself closes the last interval.
    fn take_last_sample(&mut self) {
        if let Sampling::Every(interval) = self.recorder.sampling
            && self.end.0.is_multiple_of(interval.0.max(1))
        {
            self.sample(self.end);
        }
    }

    /// Runs to the end if it is not there yet, checks conservation and gives the result.
    ///
    /// # Errors
    /// The budget of events or of what is recorded is used up, or conservation is violated.
    pub fn finish(mut self) -> Result<RunResult, Error> {
        while self.advance(1 << 20)? < 1.0 {}
        self.check_laws()?;
        self.check_conservation()?;
        self.take_last_sample();
        if self.recorder.sampling == Sampling::OnChange {
            self.network.take_changes(self.end, &mut self.recorder.link_samples);
        }
        if let Some((capture, Point::Air)) = &mut self.recorder.capture {
            capture.record_air(&self.network.take_sent());
        }
        let (own, connections) = self.flows.split_at(self.own);
        let sockets = &self.sockets;
        let mut flows = Flows::default();
        flows.reserve(own.len());
        for (index, flow) in own.iter().enumerate() {
            let own = &sockets[flow.sockets()];
            flows.push(&flow.measured(own, self.warmup, self.end, self.network.lost(index)));
        }
        let mut applications = Applications::default();
        for flow in own {
            flow.measured_application(self.end).iter().for_each(|application| applications.push(application));
        }
        let is_tcp = |flow: &Flow| sockets[flow.source().index()].transport.tcp().is_some();
        let is_tunnel = |i: usize| sockets[own[i].source().index()].kind == Kind::Tunnel;
        let is_measured = |i: &usize| is_tcp(&own[*i]) && flows.measured_s[*i] > 0.0 && !is_tunnel(*i);
        let sessions = self.measured_sessions();
        let alone =
            (0..own.len()).filter(|i| is_measured(i) && self.session(*i).is_none()).map(|i| flows.goodput_bps[i]);
        let together =
            (0..self.sessions.len()).filter(|s| sessions.measured_s[*s] > 0.0).map(|s| sessions.goodput_bps[s]);
        let jain = jain(alone.chain(together));
        let of_entry = |flow: u32| match flow.checked_sub(self.own as u32) {
            None => flow,
            Some(_) if flow == Packet::NO_FLOW => flow,
            Some(place) => self.own as u32 + self.background.entry(place),
        };
        let stations = self.network.stations();
        let names = Arc::new(stations.name.clone());
        let diary = self.network.diary(self.end, &names, of_entry);
        let packets = self.network.log.take().map(|log| log.finish(self.end, of_entry));
        let lost = |place| self.network.lost(self.own + place);
        let measured_s = self.end.since(self.warmup).as_secs_f64();
        let (background, fct) = self.background.summaries(connections, sockets, lost, measured_s);
        self.sockets = Vec::new(); // of many flows they take more memory than the table of links, which comes next
        Ok(RunResult {
            background,
            fct,
            sessions,
            applications,
            jain,
            links: self.network.table(),
            stations,
            diary,
            samples: self.recorder.samples,
            link_samples: self.recorder.link_samples,
            signals: self.recorder.signals,
            engine: EngineStats {
                events: self.served - self.pauses,
                data_packets: self.network.data_packets(),
                simulated_s: self.end.as_secs_f64(),
            },
            packets,
            capture: self.recorder.capture.map(|(capture, _)| capture.finish()),
            flows,
        })
    }

    /// Every packet that a host sent or a link duplicated was received, is gone or is under way: per link and
    /// per flow.
    fn check_conservation(&self) -> Result<(), Error> {
        let violated = |place, detail| Err(Error::Conservation { place, detail, seed: self.seed });
        if let Some((place, detail)) = self.network.imbalance() {
            return violated(place, detail);
        }
        let (tallies, under_way) = self.network.flow_tallies();
        for (index, flow) in self.flows.iter().enumerate() {
            let (tally, under_way) = (tallies[index], under_way[index]);
            let processing = in_processing(&self.sockets[flow.sockets()]);
            let (sent, received) = packets(&self.sockets[flow.sockets()]);
            if sent + tally.duplicated != received + tally.gone + under_way + processing {
                let detail = format!(
                    "{} sent, {} received, {tally:?}, {under_way} under way, {processing} in processing",
                    sent, received
                );
                return violated(format!("flow {index}"), detail);
            }
        }
        Ok(())
    }
}

/// The network learns what the law of a source wants to be told.
fn hear(network: &mut Network, flow: usize, source: &Socket) {
    let notices = source.transport.tcp().map_or(Notices::None, |endpoint| endpoint.congestion_control().notices());
    if notices != Notices::None {
        network.set_notices(flow, notices);
    }
}

/// Jain's index (Σx)² / (n Σx²); NaN without flows or without any goodput.
pub fn jain(goodputs: impl Iterator<Item = f64>) -> f64 {
    let (n, sum, squares) = goodputs.fold((0.0, 0.0, 0.0), |(n, s, q), x| (n + 1.0, s + x, q + x * x));
    sum * sum / (n * squares)
}

/// Runs `scenario` with `seed` to the end.
///
/// # Errors
/// See [`Error`].
pub fn run(scenario: &Scenario, seed: u64) -> Result<RunResult, Error> {
    Simulation::new(scenario, seed)?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_word() {
        assert_eq!(size_of::<Event>(), 8);
    }

    /// Whatever grows with a run has its budget, and is told how to need less.
    #[test]
    fn what_is_kept_fits_into_its_budget() {
        for (more, what, advice) in [
            ("[record]\nsamples = 'change'", "record.samples", "a longer interval"),
            ("[record]\nsamples = '1 ms'", "record.samples", "a longer interval"),
            ("start = '59 s'\n[record]\nsamples = '500 us'", "record.samples", "a longer interval"), // those of links
            ("[record]\nsamples = 'off'\npackets = 'table'", "record.packets", "write false"),
            ("[record]\nsamples = 'off'\npackets = 'pcapng'", "record.packets", "a smaller record.snaplen"),
            (
                "[record]\nsamples = 'off'\n[[flows]]\nkind = 'cbr'\nrate = '40 Mbit/s'",
                "what is on its way",
                "smaller queues",
            ),
            (
                "[record]\nsamples = 'off'\n[[flows]]\ncc = 'reno'\ninitial_window = 5000",
                "what hosts remember of segments",
                "a smaller receive_buffer",
            ),
            (
                "[[flows]]\ncc = 'reno'\ntraffic = { kind = 'chunks', size = '100 kB', every = '1 ms' }\n[record]\nsamples = 'off'",
                "what applications have written",
                "larger parts",
            ),
            (
                "[record]\nsamples = 'off'\n[[background]]\nkind = 'poisson'\ncc = 'reno'\nload = '90%'",
                "what is open at once",
                "less background",
            ),
        ] {
            let text = format!(
                "duration = '60 s'\nnetwork = {{ rate = '20 Mbit/s', rtt = '40 ms', queue = {{ limit = '600 packets' }} }}\n\
                 [[flows]]\ncc = 'reno'\n{more}"
            );
            let scenario = Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}"));
            assert!(run(&scenario, 1).is_ok(), "{more}");
            let mut sim = Simulation::new(&scenario, 1).unwrap_or_else(|e| panic!("{e}"));
            sim.budget = if more.contains("cbr") { 40_000 } else { 180_000 };
            let error = sim.finish().expect_err(more);
            let Error::Memory { time_s, .. } = error else { panic!("{more}: {error}") };
            assert!(time_s < 59.0, "{more}: {time_s}");
            let text = error.to_string();
            assert!(text.starts_with(what) && text.contains(advice), "{text}");
        }
    }

    /// Ten windows that leave at once, a hundred thousand segments each, are stopped at the first.
    #[test]
    fn a_burst_is_looked_at_as_it_leaves() {
        let text = "duration = '1 s'\nnetwork = { rate = '10 Tbit/s', rtt = '40 ms', queue = { limit = 'unlimited' } }\n\
                    flows = [{ cc = 'reno', count = 10, initial_window = 100000 }]\nrecord = { samples = 'off' }";
        let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"));
        let mut sim = Simulation::new(&scenario, 1).unwrap_or_else(|e| panic!("{e}"));
        sim.budget = 8_000_000;
        let error = sim.finish().expect_err("it does not fit").to_string();
        let packets = error.split_whitespace().find_map(|word| word.parse::<u32>().ok());
        assert!(packets.is_some_and(|n| (100_000..200_000).contains(&n)), "{error}");
    }

    /// A run that is stopped on the way is the same run, and stops where it was told to.
    #[test]
    fn pauses_change_nothing() {
        let text = "duration = '5 s'\nnetwork = { rate = '20 Mbit/s', rtt = '40 ms', queue = { discipline = 'pie' } }\n\
                    flows = [{ cc = 'cubic', count = 2 }]";
        let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"));
        let whole = run(&scenario, 1).unwrap_or_else(|e| panic!("{e}"));
        let mut sim = Simulation::new(&scenario, 1).unwrap_or_else(|e| panic!("{e}"));
        let mut until = Time::ZERO;
        while until < Time::ZERO + scenario.duration {
            until += Duration::from_millis(37);
            let done = sim.run_until(until).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(done, (until.as_secs_f64() / 5.0).min(1.0));
        }
        let result = sim.finish().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(result.digest(), whole.digest());
        assert_eq!(result.engine.events, whole.engine.events);
    }

    /// The vectors of Jain, Chiu and Hawe (1984).
    #[test]
    fn jains_index() {
        let index = |x: &[f64]| (jain(x.iter().copied()) * 1e4).round() / 1e4;
        assert_eq!(index(&[5.0, 5.0]), 1.0);
        assert_eq!(index(&[1.0, 2.0, 3.0, 4.0]), 0.8333);
        assert_eq!(index(&[9.0, 1.0]), 0.6098);
        assert_eq!(index(&[10.0, 0.0, 0.0, 0.0]), 0.25);
    }
}
