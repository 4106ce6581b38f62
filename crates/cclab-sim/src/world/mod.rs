//! The world: a scenario, its engine, its links and its hosts, run to the end.

mod capture;
pub mod config;
mod error;
mod recorder;

pub use error::Error;

use crate::app::{Arrival, Background, Flow, Kind, Next};
use crate::measure::{EngineStats, FlowSamples, LinkSamples, RunResult, Signals};
use crate::net::{Event, Log, Network};
use crate::tcp::State;
use crate::wire::ecn::CE;
use crate::wire::{Body, Packet};
use capture::Capture;
use cclab_algo::{Duration, Time};
use config::{Sampling, Scenario};
use recorder::Recorder;
use std::collections::VecDeque;

/// What may be recorded, of each kind: a few gigabytes.
#[derive(Clone, Copy)]
struct Budget {
    rows: usize,
    capture_bytes: usize,
}
const BUDGET: Budget = Budget { rows: 50_000_000, capture_bytes: 2_000_000_000 };
/// Events between two looks at what is recorded.
const CHECK_EVERY: u64 = 1 << 16;

/// Source and destination host of a flow, as indices.
const SOURCE: usize = 0;
const DESTINATION: usize = 1;

/// One run in progress.
pub struct Simulation {
    seed: u64,
    now: Time,
    warmup: Time,
    end: Time,
    max_events: u64,
    events: u64,
    /// When to look at the budgets again.
    checkpoint: u64,
    budget: Budget,
    network: Network,
    /// The flows of the scenario, `own` of them, then the connections of the background.
    flows: Vec<Flow>,
    own: usize,
    background: Background,
    /// Packets that reached their host without an event, to be taken in at this same instant.
    arrivals: VecDeque<Packet>,
    recorder: Recorder,
}

impl Simulation {
    /// Prepares a run of `scenario` with `seed`.
    pub fn new(scenario: &Scenario, seed: u64) -> Simulation {
        let capture = scenario.record.capture.map(|c| {
            let host = if c.at_receiver { DESTINATION } else { SOURCE };
            (Capture::new(scenario, c, seed), host)
        });
        let (warmup, end) = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
        let record = &scenario.record;
        let log = Log { packets: record.packets, changes: record.samples == Sampling::OnChange };
        let mut network = Network::new(&scenario.links, seed, (warmup, end), log);
        for flow in &scenario.flows {
            let routes = [network.add_route(&flow.route), network.add_route(&flow.route_back)];
            network.add_flow(routes, flow.stop.unwrap_or(end));
        }
        let background = Background::new(&scenario.background, &mut network, seed);
        let mut sim = Simulation {
            seed,
            now: Time::ZERO,
            warmup,
            end,
            max_events: scenario.max_events,
            events: 0,
            checkpoint: scenario.max_events.min(CHECK_EVERY),
            budget: BUDGET,
            network,
            flows: scenario.flows.iter().map(|flow| Flow::new(flow, seed)).collect(),
            own: scenario.flows.len(),
            background,
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
        sim
    }

    fn schedule_start(&mut self) {
        let events = &mut self.network.events;
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
                self.network.events.push(at, event);
            }
        }
    }

    /// Serves up to `max_events` events; the share of simulated time done, 1.0 when finished.
    ///
    /// # Errors
    /// The budget of events or of what is recorded is used up.
    pub fn advance(&mut self, max_events: u64) -> Result<f64, Error> {
        let pause = self.events.saturating_add(max_events);
        while self.events < pause {
            let Some((now, event)) = self.network.events.pop().filter(|&(at, _)| at < self.end) else {
                self.now = self.end;
                return Ok(1.0);
            };
            debug_assert!(now >= self.now, "time runs forward");
            self.now = now;
            self.events += 1;
            self.serve(now, event);
            while let Some(packet) = self.arrivals.pop_front() {
                self.events += 1;
                self.receive(now, &packet);
                self.check_budget()?;
            }
            self.check_budget()?;
        }
        Ok((self.now.as_secs_f64() / self.end.as_secs_f64()).min(1.0 - f64::EPSILON))
    }

    #[inline]
    fn check_budget(&mut self) -> Result<(), Error> {
        if self.events <= self.checkpoint { Ok(()) } else { self.check_budgets() }
    }

    #[cold]
    fn check_budgets(&mut self) -> Result<(), Error> {
        let (time_s, duration_s) = (self.now.as_secs_f64(), self.end.as_secs_f64());
        if self.events > self.max_events {
            return Err(Error::Budget { max_events: self.max_events, time_s, duration_s });
        }
        self.check_laws()?;
        self.checkpoint = self.max_events.min(self.events + CHECK_EVERY);
        let recorder = &self.recorder;
        let samples = recorder.samples.time_s.len() + recorder.signals.time_s.len() + self.network.changes();
        let packets = self.network.log.as_ref().map_or(0, |log| log.len());
        let captured = recorder.capture.as_ref().map_or(0, |(capture, _)| capture.len());
        let Budget { rows, capture_bytes } = self.budget;
        let full = [
            (samples, rows, "rows", "record.samples", "write a longer interval, or \"off\""),
            (packets, rows, "rows", "record.packets", "write false, or \"pcapng\" with a small snaplen"),
            (captured, capture_bytes, "bytes", "record.packets", "write a smaller record.snaplen, or false"),
        ];
        match full.into_iter().find(|(size, most, ..)| size > most) {
            None => Ok(()),
            Some((size, _, unit, what, advice)) => {
                Err(Error::Memory { what, size: format!("{size} {unit}"), advice, time_s, duration_s })
            }
        }
    }

    /// Whether every law could go on.
    fn check_laws(&self) -> Result<(), Error> {
        let failed = self.flows.iter().filter_map(|flow| Some((flow, flow.failed_law()?)));
        match failed.min_by_key(|(_, (at, _))| *at) {
            None => Ok(()),
            Some((flow, (at, message))) => {
                Err(Error::Law { flow: flow.label().into(), time_s: at.as_secs_f64(), message })
            }
        }
    }

    fn serve(&mut self, now: Time, event: Event) {
        match event {
            Event::Line(_) | Event::Held(_) => {
                let mut packet = Packet::udp(0, now, 0, 0);
                if self.network.arrive(now, event, &mut packet) {
                    self.receive(now, &packet);
                }
            }
            Event::Serve(link) => self.network.serve(now, link),
            Event::Tick(link) => self.network.tick(now, link),
            Event::Timer(host) => self.wake(now, host),
            Event::Release(index) => {
                let processing = self.flows[index as usize].processing.as_mut();
                let (mut packet, next) = processing.expect("only flows with send_jitter process").pop();
                if let Some(at) = next {
                    self.network.events.push(at, event);
                }
                self.send(now, &mut packet);
            }
            Event::Datagram(index) => self.send_datagram(now, index),
            Event::Start(index) => self.start(now, index),
            Event::Stop(index) => {
                self.end_measuring(now, index as usize);
                if let Kind::Tcp(tcp) = &mut self.flows[index as usize].kind {
                    tcp.ends[SOURCE].close(now);
                    self.pump(now, index as usize, SOURCE);
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
            Event::Sample => self.sample(now),
            Event::Measure => {
                self.network.begin_measuring(now);
                self.background.begin_measuring();
                let (own, connections) = self.flows.split_at_mut(self.own);
                own.iter_mut().for_each(|flow| flow.begin_measuring(now));
                connections.iter_mut().for_each(Flow::mark);
            }
        }
    }

    /// A flow is over.
    fn end_measuring(&mut self, now: Time, index: usize) {
        self.flows[index].end_measuring(now);
        self.network.end_measuring(now, index);
    }

    fn start(&mut self, now: Time, index: u32) {
        match &mut self.flows[index as usize].kind {
            Kind::Udp { .. } => self.send_datagram(now, index),
            Kind::Tcp(tcp) => {
                let source = &mut tcp.ends[SOURCE];
                source.write(now, tcp.size.unwrap_or(u64::MAX));
                if tcp.size.is_some() {
                    source.close(now);
                }
                self.pump(now, index as usize, SOURCE);
            }
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
        let index = self.background.connect(now, entry, user, &mut self.network, &mut self.flows);
        self.pump(now, index, SOURCE);
    }

    /// A connection of the background is over.
    fn finish_connection(&mut self, now: Time, index: usize) {
        let next = self.background.finish(now, index - self.own, &mut self.flows[index]);
        self.schedule(next);
    }

    fn send_datagram(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.stop.is_some_and(|stop| now >= stop) {
            return;
        }
        let Kind::Udp { source, .. } = &mut flow.kind else { unreachable!("only UDP flows send datagrams") };
        let (number, gap) = source.emit();
        let size = source.cbr().size;
        if now + gap < self.end {
            self.network.events.push(now + gap, Event::Datagram(index));
        }
        if let Some(number) = number {
            self.emit(now, &mut Packet::udp(index as usize, now, number, size));
        }
    }

    /// The timer of a host fires.
    fn wake(&mut self, now: Time, host: u32) {
        let (index, end) = (host as usize / 2, host as usize % 2);
        let flow = &mut self.flows[index];
        let vacant = index >= self.own && flow.is_over();
        let Kind::Tcp(tcp) = &mut flow.kind else { unreachable!("only TCP hosts have timers") };
        if tcp.alarms[end].fires(now) && !vacant {
            if tcp.ends[end].next_timer() <= now {
                tcp.ends[end].on_timer(now);
            }
            if index >= self.own && end == SOURCE && tcp.ends[end].state() == State::Closed {
                return self.finish_connection(now, index);
            }
            self.pump(now, index, end);
        }
    }

    /// A packet reaches its host.
    fn receive(&mut self, now: Time, packet: &Packet) {
        let (index, end) = (packet.flow as usize, if packet.forward { DESTINATION } else { SOURCE });
        self.capture(now, end, packet);
        let flow = &mut self.flows[index];
        flow.received += 1;
        if flow.measuring && packet.forward && packet.payload() > 0 {
            flow.meter.data(now, packet);
        }
        if index >= self.own {
            self.background.count(now, index - self.own, packet);
            if flow.is_over() {
                return;
            }
        }
        match (&mut flow.kind, &packet.body) {
            (Kind::Tcp(tcp), Body::Tcp(segment)) => {
                tcp.ends[end].on_segment(now, segment, packet.ecn == CE);
                if end == SOURCE
                    && let Some(rtt) = tcp.ends[SOURCE].last_rtt_sample()
                {
                    tcp.rtt = Some(rtt);
                    if flow.measuring {
                        flow.meter.rtt.record(rtt);
                    }
                }
                if tcp.note_finished(now) {
                    if index >= self.own {
                        return self.finish_connection(now, index);
                    }
                    self.end_measuring(now, index);
                }
                self.pump(now, index, end);
            }
            (Kind::Udp { delivered, .. }, Body::Udp(datagram)) => *delivered += u64::from(datagram.len),
            _ => unreachable!("a packet reaches the flow that sent it"),
        }
    }

    /// Sends what an endpoint has to send, arms its timer, notes its window.
    fn pump(&mut self, now: Time, index: usize, end: usize) {
        loop {
            let Kind::Tcp(tcp) = &mut self.flows[index].kind else { unreachable!("only TCP hosts have segments") };
            let segment = tcp.ends[end].poll_transmit(now);
            let Some(segment) = &segment else { break };
            self.emit(now, &mut Packet::tcp(index, end == SOURCE, now, segment));
        }
        let flow = &mut self.flows[index];
        let Kind::Tcp(tcp) = &mut flow.kind else { unreachable!("only TCP hosts have timers") };
        let wanted = tcp.ends[end].next_timer();
        if wanted < Time::NEVER
            && let Some(at) = tcp.alarms[end].want(wanted.max(now))
        {
            self.network.events.push(at, Event::Timer((2 * index + end) as u32));
        }
        if end == SOURCE {
            if flow.measuring {
                flow.meter.cwnd.set(now, tcp.ends[SOURCE].congestion_control().cwnd());
            }
            if self.recorder.sampling == Sampling::OnChange && index < self.own {
                self.recorder.sample_change(now, index, flow);
            }
        }
    }

    /// A packet leaves an endpoint: through the source host's processing, if it has any, into the network.
    fn emit(&mut self, now: Time, packet: &mut Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.sent += 1;
        match &mut flow.processing {
            Some(processing) if packet.forward => {
                if let Some(at) = processing.push(now, *packet) {
                    self.network.events.push(at, Event::Release(packet.flow));
                }
            }
            _ => self.send(now, packet),
        }
    }

    #[inline(always)]
    fn send(&mut self, now: Time, packet: &mut Packet) {
        self.capture(now, if packet.forward { SOURCE } else { DESTINATION }, packet);
        if self.network.send(now, packet) {
            self.arrivals.push_back(*packet);
        }
    }

    #[inline]
    fn capture(&mut self, now: Time, end: usize, packet: &Packet) {
        if let Some((capture, host)) = &mut self.recorder.capture
            && *host == end
            && (packet.flow as usize) < self.own
        {
            capture.record(now, packet);
        }
    }

    fn sample(&mut self, now: Time) {
        for (index, flow) in self.flows[..self.own].iter_mut().enumerate().filter(|(_, flow)| flow.start <= now) {
            self.recorder.sample(now, index, flow);
        }
        self.network.sample(now, &mut self.recorder.link_samples);
        if let Sampling::Every(interval) = self.recorder.sampling {
            let next = now + interval.max(Duration(1));
            if next < self.end {
                self.network.events.push(next, Event::Sample);
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
        let (own, connections) = self.flows.split_at(self.own);
        let each = own.iter().enumerate();
        let flows: Vec<_> =
            each.map(|(index, flow)| flow.summary(self.warmup, self.end, self.network.lost(index))).collect();
        let is_measured = |i: &usize| matches!(own[*i].kind, Kind::Tcp(_)) && flows[*i].measured_s > 0.0;
        let goodputs = (0..flows.len()).filter(is_measured).map(|i| flows[i].goodput_bps);
        let jain = jain(goodputs);
        let mut packets = self.network.log.take().map(|log| log.finish(self.end));
        for flow in packets.iter_mut().flat_map(|packets| &mut packets.flow).filter(|flow| **flow as usize >= self.own)
        {
            *flow = self.own as u32 + self.background.entry(*flow - self.own as u32);
        }
        let lost = |place| self.network.lost(self.own + place);
        let measured_s = self.end.since(self.warmup).as_secs_f64();
        let (background, fct) = self.background.summaries(connections, lost, measured_s);
        Ok(RunResult {
            background,
            fct,
            jain,
            links: self.network.summaries(),
            samples: self.recorder.samples,
            link_samples: self.recorder.link_samples,
            signals: self.recorder.signals,
            engine: EngineStats { events: self.events, data_packets: self.network.data_packets() },
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
            let processing = flow.processing.as_ref().map_or(0, |p| p.len());
            if flow.sent + tally.duplicated != flow.received + tally.gone + under_way + processing {
                let detail = format!(
                    "{} sent, {} received, {tally:?}, {under_way} under way, {processing} in processing",
                    flow.sent, flow.received
                );
                return violated(format!("flow {index}"), detail);
            }
        }
        Ok(())
    }
}

/// Jain's index (Σx)² / (n Σx²); NaN without flows or without any goodput.
fn jain(goodputs: impl Iterator<Item = f64>) -> f64 {
    let (n, sum, squares) = goodputs.fold((0.0, 0.0, 0.0), |(n, s, q), x| (n + 1.0, s + x, q + x * x));
    sum * sum / (n * squares)
}

/// Runs `scenario` with `seed` to the end.
///
/// # Errors
/// See [`Error`].
pub fn run(scenario: &Scenario, seed: u64) -> Result<RunResult, Error> {
    Simulation::new(scenario, seed).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each kind of recording has its budget, and is told how to need less.
    #[test]
    fn what_is_recorded_fits_into_its_budget() {
        for (record, what, advice) in [
            ("samples = 'change'", "record.samples", "a longer interval"),
            ("samples = '1 ms'", "record.samples", "a longer interval"),
            ("samples = 'off'\npackets = 'table'", "record.packets", "write false"),
            ("samples = 'off'\npackets = 'pcapng'", "record.packets", "a smaller record.snaplen"),
        ] {
            let text = format!(
                "duration = '60 s'\nnetwork = {{ rate = '20 Mbit/s', rtt = '40 ms' }}\nflows = [{{ cc = 'reno' }}]\n\
                 [record]\n{record}"
            );
            let scenario = Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}"));
            assert!(run(&scenario, 1).is_ok(), "{record}");
            let mut sim = Simulation::new(&scenario, 1);
            sim.budget = Budget { rows: 10_000, capture_bytes: 10_000 };
            let error = sim.finish().expect_err(record);
            let Error::Memory { time_s, .. } = error else { panic!("{record}: {error}") };
            assert!(time_s < 60.0, "{time_s}");
            let text = error.to_string();
            assert!(text.starts_with(what) && text.contains(advice), "{text}");
        }
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
