//! The network: links and media joined by routes, and the packets on them.
//!
//! `Network::carry` takes a packet from hop to hop until it is under way on a link, is gone, or has reached
//! its host. A link that is infinitely fast and has no delay hands a packet on at once, without an event.
//! The network tells a [`Sink`] when it wants to be called again, so a simulator and a clock drive the same code.

pub mod config;
mod delay;
pub mod field;
mod link;
mod loss;
mod losses;
pub mod medium;
mod pipe;
pub mod queue;
mod service;
mod table;
mod trace;
mod tunnel;

pub use link::{Link, Outcome, Pending};
pub use loss::Lottery;
pub use losses::{LossRow, Losses};
pub use medium::config::Crossing;
pub use medium::{FrameRow, Frames, PlaceRow, Places, RouteRow, Routes, StationId, StationRow, Stations};
pub use pipe::Pipe;
pub use service::{Propagation, Service, Step};
pub use table::{LinkRow, LinkSample, LinkSamples, Links};
pub use trace::{Course, Opportunities, Trace};
pub use tunnel::LENGTH;

use crate::engine::{Wheel, prefetch};
use crate::measure::table::{Store, Text};
use crate::measure::{EventKind, PacketLog};
use crate::wire::{Packed, Packet};
use cclab_algo::Time;
use cclab_algo::cc::Notices;
use delay::{Count, DelayLine};
use losses::{Cause, Loss};
use medium::mobility::Unconnected;
use medium::{Medium, Sent};
use std::sync::Arc;
use tunnel::Mouth;

/// What is due in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first packet on this link's line reaches the far end.
    Line(u32),
    /// The first packet held back on this link reaches the far end.
    Held(u32),
    /// The transmitter of this served link is free.
    Serve(u32),
    /// The discipline of this link has periodic work.
    Tick(u32),
    /// Packets have come to this mouth of a tunnel: for whoever has its connection.
    Tunnel(u32),
    /// Something in a medium: `what` says what.
    Medium {
        /// Its number among the links, behind which the media are.
        medium: u16,
        /// The medium's own.
        what: u32,
    },
}

/// Why a packet is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// By a full queue.
    Dropped,
    /// By the queue's discipline, although there was room.
    Early,
    /// By a loss model, before the queue.
    Lost,
    /// By a loss model, behind the link.
    LostBehind,
}

/// End of a route: the host.
const HOST: u32 = u32::MAX;

/// What became of a flow's packets inside the network.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowTally {
    pub(crate) duplicated: u64,
    pub(crate) gone: u64,
    /// Data packets dropped or lost between the end of the warm-up and when the flow is over.
    lost: u64,
}

/// What a network keeps of everything that happens in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    /// Every packet at every link.
    pub packets: bool,
    /// Every change of every queue.
    pub changes: bool,
    /// Frames on the air, where stations are and how they route, and every loss.
    pub frames: bool,
    /// Frames on the air with what they carry, of which a capture is to keep so many bytes.
    pub sniff: Option<u32>,
}

/// What is kept of everything, as tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diary {
    /// Frames on the air.
    pub frames: Frames,
    /// Where stations were.
    pub places: Places,
    /// How they routed.
    pub routes: Routes,
    /// What was lost.
    pub losses: Losses,
}

/// Whom the network tells when it wants to be called again: the simulator's event queue, or a clock.
pub trait Sink {
    /// At `time`, [`Network::on_event`] is to be called with `event`. Events of equal times come in the order of these calls.
    fn at(&mut self, time: Time, event: Event);
    /// This packet will arrive nowhere.
    fn gone(&mut self, _packet: &Packet) {}
    /// This packet is under way once more.
    fn copied(&mut self, _packet: &Packet) {}
}

impl<E: Copy + From<Event>> Sink for Wheel<E> {
    #[inline]
    fn at(&mut self, time: Time, event: Event) {
        self.push(time, event.into());
    }
}

/// A link as the network holds it, a medium, or the mouth of a tunnel.
enum Hop {
    Delay(DelayLine),
    Link(Box<Link>),
    Medium(Box<Medium>),
    Mouth(Box<Mouth>),
}

/// Where a route begins in the network's table of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route(u32);

/// Links and routes, and the packets on them. It reads no clock and keeps no event queue: [`send`](Network::send) what comes,
/// and call [`on_event`](Network::on_event) when it asked for that.
pub struct Network {
    /// Links, and behind them mouths of tunnels, and behind these media.
    links: Vec<Hop>,
    /// Links that are tunnels, with the mouth of each.
    tunnels: Vec<(u32, u32)>,
    /// All routes behind each other, each ended by [`HOST`]. A medium's number is followed by its two stations.
    routes: Vec<u32>,
    /// What the numbers behind those of the links mean in a route as given.
    crossings: (usize, Vec<Crossing>),
    tallies: Vec<FlowTally>,
    /// The interval over which each flow's losses count.
    measured: Vec<(Time, Time)>,
    /// The measured interval of the run.
    interval: (Time, Time),
    /// What had come to each delay line when it began.
    before: Vec<Count>,
    keeps: Log,
    /// Every packet at every link, when asked for.
    pub(crate) log: Option<Box<PacketLog>>,
    losses: Vec<Loss>,
    names: Text,
}

impl Network {
    /// A network of these links, measured in `interval`.
    pub fn new(links: &[config::Link], seed: u64, interval: (Time, Time), log: Log) -> Network {
        let (from, to) = interval;
        let hop = |link: &config::Link| match DelayLine::of(link) {
            Some(line) => Hop::Delay(line),
            None => Hop::Link(Box::new(Link::new(link, seed, from, to, log.changes))),
        };
        let tunnels = links.iter().zip(0_u32..).filter_map(|(link, number)| Some((number, link.tunnel.as_ref()?)));
        let mouths = tunnels.clone().map(|(_, tunnel)| Hop::Mouth(Box::new(Mouth::new(tunnel, interval, log.changes))));
        let names = links.iter().map(|link| &link.name).chain(tunnels.clone().map(|(_, tunnel)| &tunnel.name));
        let hops: Vec<Hop> = links.iter().map(hop).chain(mouths).collect();
        Network {
            before: vec![Count::default(); hops.len()],
            names: names.map(String::as_str).collect(),
            tunnels: tunnels.map(|(number, _)| number).zip(links.len() as u32..).collect(),
            links: hops,
            routes: Vec::new(),
            crossings: (links.len(), Vec::new()),
            tallies: Vec::new(),
            measured: Vec::new(),
            interval,
            keeps: log,
            log: log.packets.then(Box::default),
            losses: Vec::new(),
        }
    }

    /// The same with media, whose stations have the names of these nodes. In a route a number behind those of the links is one
    /// of `crossings`.
    ///
    /// # Errors
    /// See [`medium::mobility::start`].
    pub fn with_media(
        mut self,
        media: &[config::Medium],
        crossings: &[Crossing],
        nodes: &[String],
        seed: u64,
    ) -> Result<Network, Unconnected> {
        for medium in media {
            self.links.push(Hop::Medium(Box::new(Medium::new(medium, nodes, seed, self.interval, self.keeps)?)));
            self.before.push(Count::default());
            self.names.push(&medium.name);
        }
        self.crossings.1.extend(crossings);
        Ok(self)
    }

    /// Asks for the periodic work of the queues, and of the stations.
    pub fn begin(&mut self, sink: &mut impl Sink) {
        for index in 0..self.links.len() {
            match &mut self.links[index] {
                Hop::Link(link) if link.next_timer() < Time::NEVER => {
                    sink.at(link.next_timer(), Event::Tick(index as u32));
                }
                Hop::Medium(medium) => {
                    medium.begin();
                    self.settle_medium(Time::ZERO, index as u32, sink);
                }
                Hop::Delay(_) | Hop::Link(_) | Hop::Mouth(_) => {}
            }
        }
    }

    /// Adds a route, the numbers of its links and crossings. In the place of a link that is a tunnel it has the tunnel's mouth.
    pub fn add_route(&mut self, route: &[usize]) -> Route {
        let start = self.routes.len() as u32;
        let (links, crossings) = &self.crossings;
        for &number in route {
            match number.checked_sub(*links) {
                None => self.routes.push(self.mouth(number).unwrap_or(number as u32)),
                Some(crossing) => {
                    let Crossing { medium, from, to } = crossings[crossing];
                    self.routes.extend([(links + self.tunnels.len() + medium) as u32, from.0, to.0]);
                }
            }
        }
        self.routes.push(HOST);
        Route(start)
    }

    /// Adds the route of a tunnel's connection: over the link itself.
    pub fn add_tunnel_route(&mut self, link: usize) -> Route {
        let start = self.routes.len() as u32;
        self.routes.extend([link as u32, HOST]);
        Route(start)
    }

    /// The mouth of the tunnel that this link is.
    pub fn mouth(&self, link: usize) -> Option<u32> {
        self.tunnels.iter().find(|(tunnel, _)| *tunnel as usize == link).map(|(_, mouth)| *mouth)
    }

    /// Adds a flow, whose losses count until `until`.
    pub fn add_flow(&mut self, until: Time) {
        let (from, to) = self.interval;
        self.tallies.push(FlowTally::default());
        self.measured.push((from, until.min(to)));
    }

    /// What stations of ad hoc networks are to tell the sender of a flow.
    pub fn set_notices(&mut self, flow: usize, notices: Notices) {
        for hop in &mut self.links {
            if let Hop::Medium(medium) = hop {
                medium.set_notices(flow, notices);
            }
        }
    }

    /// What became of a flow's packets.
    pub(crate) fn tally(&self, flow: usize) -> FlowTally {
        self.tallies[flow]
    }

    /// Sends a packet on its way at `now`; says whether it has reached its host already.
    #[inline]
    pub fn send(&mut self, now: Time, packet: &mut Packet, route: Route, sink: &mut impl Sink) -> bool {
        packet.left = now;
        packet.next = route.0;
        self.note(now, HOST, EventKind::Sent, packet);
        self.carry(now, packet, sink)
    }

    /// Does what is due; whether `packet` has reached its host by it.
    #[inline]
    pub fn on_event(&mut self, now: Time, event: Event, packet: &mut Packet, sink: &mut impl Sink) -> bool {
        let (index, next) = match event {
            Event::Line(index) => (index, self.links[index as usize].pop_line(packet)),
            Event::Held(index) => (index, self.links[index as usize].pop_held(packet)),
            Event::Serve(link) => {
                self.serve(now, link, sink);
                return false;
            }
            Event::Tick(link) => {
                self.tick(now, link, sink);
                return false;
            }
            Event::Tunnel(_) => return false,
            Event::Medium { medium, what } => {
                if !self.on_medium(now, medium.into(), what, packet, sink) {
                    return false;
                }
                if packet.flow == Packet::NO_FLOW {
                    return true; // a notice, at its sender's station
                }
                (medium.into(), None)
            }
        };
        if let Some(at) = next {
            sink.at(at, event);
        }
        self.note(now, index, EventKind::Forwarded, packet);
        self.carry(now, packet, sink)
    }

    /// Fetches what the next packets of a line will meet there where it ends; the next packet but one, and the one after that.
    #[inline]
    pub(crate) fn look_ahead(&self, event: Event) -> Option<[&Packed; 2]> {
        let Event::Line(index) = event else { return None };
        let line = match &self.links[index as usize] {
            Hop::Link(link) => &link.line,
            Hop::Delay(line) => line.pipe()?,
            Hop::Medium(_) | Hop::Mouth(_) => return None,
        };
        let near = line.ahead(1)?;
        if let Some(hop) = self.links.get(self.routes[near.next() as usize] as usize) {
            prefetch(hop, size_of::<Hop>());
        }
        let far = line.ahead(2)?;
        prefetch(&self.routes[far.next() as usize], size_of::<u32>());
        Some([near, far])
    }

    /// Takes a packet on from hop to hop; whether it reaches its host at once.
    #[inline(always)]
    fn carry(&mut self, now: Time, packet: &mut Packet, sink: &mut impl Sink) -> bool {
        loop {
            let index = self.routes[packet.next as usize];
            if index == HOST {
                self.note(now, HOST, EventKind::Received, packet);
                return true;
            }
            packet.next += 1;
            if !self.hop(now, index, packet, sink) {
                return false;
            }
        }
    }

    /// Gives a packet to a link; whether it is through at once.
    #[inline(always)]
    fn hop(&mut self, now: Time, index: u32, packet: &mut Packet, sink: &mut impl Sink) -> bool {
        let link = match &mut self.links[index as usize] {
            Hop::Delay(line) => {
                let (through, next) = line.take(now, packet);
                self.note(now, index, EventKind::Queued, packet);
                if through {
                    self.note(now, index, EventKind::Forwarded, packet);
                } else if let Some(at) = next {
                    sink.at(at, Event::Line(index));
                }
                return through;
            }
            Hop::Link(link) => link,
            Hop::Medium(_) | Hop::Mouth(_) => {
                self.enter(now, index, packet, sink);
                return false;
            }
        };
        match link.take(now, packet) {
            Outcome::Through => {
                self.note(now, index, EventKind::Queued, packet);
                self.note(now, index, EventKind::Forwarded, packet);
                return true;
            }
            Outcome::Queued(pending) => {
                self.note(now, index, EventKind::Queued, packet);
                self.schedule(index, &pending, packet, sink);
            }
            Outcome::Gone(reason, at) => {
                if reason == Reason::LostBehind {
                    self.note(now, index, EventKind::Queued, packet);
                }
                self.bury(index, None, at, reason.into(), packet, sink);
            }
            Outcome::Waiting { idle } => {
                self.note(now, index, EventKind::Queued, packet);
                if idle == Some(now) {
                    self.serve(now, index, sink);
                } else {
                    idle.into_iter().for_each(|at| sink.at(at, Event::Serve(index)));
                    self.settle(now, index, sink);
                }
            }
        }
        false
    }

    /// A packet enters a medium, or a tunnel.
    #[inline(never)]
    fn enter(&mut self, now: Time, index: u32, packet: &mut Packet, sink: &mut impl Sink) {
        if let Hop::Mouth(mouth) = &mut self.links[index as usize] {
            if mouth.take(now, packet) {
                sink.at(now, Event::Tunnel(index));
                self.note(now, index, EventKind::Queued, packet);
            } else {
                self.bury(index, None, now, Cause::Tunnel, packet, sink);
            }
            return;
        }
        let place = packet.next as usize;
        let [from, to] = [self.routes[place], self.routes[place + 1]].map(StationId);
        packet.next += 2;
        self.note(now, index, EventKind::Queued, packet);
        let Hop::Medium(medium) = &mut self.links[index as usize] else { unreachable!("only a medium") };
        medium.take(now, from, to, packet);
        self.settle_medium(now, index, sink);
    }

    /// Something is due in a medium; whether a packet leaves it by that.
    #[inline(never)]
    fn on_medium(&mut self, now: Time, index: u32, what: u32, packet: &mut Packet, sink: &mut impl Sink) -> bool {
        let Hop::Medium(medium) = &mut self.links[index as usize] else { return false };
        let left = medium.on_event(now, what, packet);
        self.settle_medium(now, index, sink);
        left
    }

    /// Does what a medium wants done.
    #[inline]
    fn settle_medium(&mut self, now: Time, index: u32, sink: &mut impl Sink) {
        let Hop::Medium(medium) = &mut self.links[index as usize] else { return };
        for &(at, what) in &medium.calls {
            sink.at(at, Event::Medium { medium: index as u16, what });
        }
        medium.calls.clear();
        if medium.gone.is_empty() && medium.duplicated.is_empty() {
            return;
        }
        let (gone, duplicated) = (std::mem::take(&mut medium.gone), std::mem::take(&mut medium.duplicated));
        for (packet, station, cause) in gone {
            self.bury(index, Some(station), now, cause, &packet, sink);
        }
        for flow in duplicated {
            if let Some(tally) = self.tallies.get_mut(flow as usize) {
                tally.duplicated += 1;
            }
        }
    }

    /// Bytes that have come to the mouth of a tunnel since this was last asked.
    pub fn bytes_for_tunnel(&mut self, mouth: u32) -> u64 {
        self.links[mouth as usize].mouth_mut().map_or(0, Mouth::bytes)
    }

    /// The connection of a tunnel has sent what came to this mouth up to here for the first time.
    pub fn note_tunnel_sent(&mut self, now: Time, mouth: u32, offset: u64) {
        if let Some(mouth) = self.links[mouth as usize].mouth_mut() {
            mouth.note_sent(now, offset);
        }
    }

    /// The far end of a tunnel has received what came to this mouth up to here: the next packet that is whole goes on its way.
    /// Whether there is one; and whether it has reached its host already.
    pub fn leave_tunnel(
        &mut self,
        now: Time,
        mouth: u32,
        received: u64,
        packet: &mut Packet,
        sink: &mut impl Sink,
    ) -> Option<bool> {
        let left = self.links[mouth as usize].mouth_mut().is_some_and(|mouth| mouth.pop(received, packet));
        left.then(|| {
            self.note(now, mouth, EventKind::Forwarded, packet);
            self.carry(now, packet, sink)
        })
    }

    /// The transmitter of a served link is free: its next packet goes.
    #[inline(never)]
    fn serve(&mut self, now: Time, index: u32, sink: &mut impl Sink) {
        let Hop::Link(link) = &mut self.links[index as usize] else { return };
        if let Some(served) = link.serve(now) {
            if let Some(free_at) = served.free_at {
                sink.at(free_at, Event::Serve(index));
            }
            match served.outcome {
                Outcome::Queued(pending) => self.schedule(index, &pending, &served.packet, sink),
                Outcome::Gone(reason, at) => self.bury(index, None, at, reason.into(), &served.packet, sink),
                Outcome::Through | Outcome::Waiting { .. } => unreachable!("what is served leaves the queue"),
            }
        }
        self.settle(now, index, sink);
    }

    /// The discipline of a link has periodic work.
    #[inline(never)]
    fn tick(&mut self, now: Time, index: u32, sink: &mut impl Sink) {
        let Hop::Link(link) = &mut self.links[index as usize] else { return };
        let next = link.tick(now);
        if next < Time::NEVER {
            sink.at(next, Event::Tick(index));
        }
    }

    /// Counts what a scheduler has dropped of the packets that waited.
    fn settle(&mut self, now: Time, index: u32, sink: &mut impl Sink) {
        while let Hop::Link(link) = &mut self.links[index as usize]
            && let Some((packet, reason)) = link.take_dropped()
        {
            self.bury(index, None, now, reason.into(), &packet, sink);
        }
    }

    /// A packet is gone, at a link or at a station of a medium.
    fn bury(
        &mut self,
        index: u32,
        station: Option<u32>,
        at: Time,
        cause: Cause,
        packet: &Packet,
        sink: &mut impl Sink,
    ) {
        sink.gone(packet);
        self.count_gone(at, packet);
        let dropped = matches!(cause, Cause::Queue | Cause::Discipline | Cause::Tunnel);
        self.note(at, index, if dropped { EventKind::Dropped } else { EventKind::Lost }, packet);
        if self.keeps.frames {
            let place = station.map_or(index, |station| self.names.rows() as u32 + self.first_station(index) + station);
            self.losses.push(Loss::new(at, place, cause, packet));
        }
    }

    /// The number of a medium's first station in the table of stations.
    fn first_station(&self, index: u32) -> u32 {
        self.links[..index as usize]
            .iter()
            .map(|hop| if let Hop::Medium(medium) = hop { medium.len() } else { 0 })
            .sum()
    }

    fn count_gone(&mut self, at: Time, packet: &Packet) {
        let flow = packet.flow as usize;
        let (Some(tally), Some(&(from, to))) = (self.tallies.get_mut(flow), self.measured.get(flow)) else { return };
        tally.gone += 1;
        if packet.forward && packet.payload() > 0 && from <= at && at < to {
            tally.lost += 1;
        }
    }

    #[inline(always)]
    fn schedule(&mut self, index: u32, pending: &Pending, packet: &Packet, sink: &mut impl Sink) {
        if let Some(at) = pending.line {
            sink.at(at, Event::Line(index));
        }
        if pending.held.is_some() || pending.duplicated {
            self.schedule_impaired(index, pending, packet, sink);
        }
    }

    /// The same for what is held back, or doubled.
    #[cold]
    #[inline(never)]
    fn schedule_impaired(&mut self, index: u32, pending: &Pending, packet: &Packet, sink: &mut impl Sink) {
        if let Some(at) = pending.held {
            sink.at(at, Event::Held(index));
        }
        if pending.duplicated {
            sink.copied(packet);
            if let Some(tally) = self.tallies.get_mut(packet.flow as usize) {
                tally.duplicated += 1;
            }
        }
    }

    #[inline]
    fn note(&mut self, at: Time, link: u32, kind: EventKind, packet: &Packet) {
        if let Some(log) = &mut self.log {
            log.push(at, link, kind, packet);
        }
    }

    /// The measured interval begins.
    pub fn begin_measuring(&mut self, now: Time) {
        for (hop, before) in self.links.iter_mut().zip(&mut self.before) {
            match hop {
                Hop::Delay(line) => *before = line.came(),
                Hop::Link(link) => link.begin_measuring(now),
                Hop::Medium(medium) => medium.begin_measuring(now),
                Hop::Mouth(mouth) => mouth.begin_measuring(),
            }
        }
    }

    /// The run is over, before its time. (Of a queue that decides at once, what waits for its service then counts as sent.)
    pub fn end(&mut self, now: Time) {
        self.interval.1 = now.min(self.interval.1);
        for hop in &mut self.links {
            if let Hop::Link(link) = hop {
                link.end(self.interval.1);
            }
        }
    }

    /// A flow is over.
    pub fn end_measuring(&mut self, now: Time, flow: usize) {
        let to = &mut self.measured[flow].1;
        *to = now.min(*to);
    }

    /// Data packets of a flow that were dropped or lost in its measured interval.
    pub fn lost(&self, flow: usize) -> u64 {
        self.tallies[flow].lost
    }

    /// A row per link.
    pub fn sample(&mut self, now: Time, samples: &mut LinkSamples) {
        for (index, hop) in self.links.iter_mut().enumerate() {
            let (packets, bytes) = match hop {
                Hop::Delay(_) => (0, 0),
                Hop::Link(link) => link.backlog(now),
                Hop::Medium(medium) => medium.backlog(),
                Hop::Mouth(mouth) => mouth.backlog(),
            };
            samples.push((now, index, packets, bytes));
        }
    }

    /// Changes of queues noted so far.
    pub(crate) fn changes(&self) -> usize {
        let of = |hop: &Hop| match hop {
            Hop::Link(link) => link.changes(),
            Hop::Mouth(mouth) => mouth.changes(),
            Hop::Delay(_) | Hop::Medium(_) => 0,
        };
        if self.keeps.changes { self.links.iter().map(of).sum() } else { 0 }
    }

    /// Rows of every change of every queue before `end`, by time and link.
    pub(crate) fn take_changes(&mut self, end: Time, samples: &mut LinkSamples) {
        let mut rows = Vec::new();
        for (index, hop) in self.links.iter_mut().enumerate() {
            let changes = match hop {
                Hop::Link(link) => link.take_changes(end),
                Hop::Mouth(mouth) => mouth.take_changes(end),
                Hop::Delay(_) | Hop::Medium(_) => continue,
            };
            rows.extend(changes.into_iter().map(|(at, packets, bytes)| (at, index, packets, bytes)));
        }
        rows.sort_by_key(|&(at, index, ..)| (at, index));
        rows.into_iter().for_each(|row| samples.push(row));
    }

    /// What was measured of the links.
    pub fn table(&self) -> Links {
        let (from, to) = self.interval;
        let seconds = to.since(from).as_secs_f64();
        let mut table = Links::default();
        table.reserve(self.links.len());
        for ((hop, before), name) in self.links.iter().zip(&self.before).zip(self.names.iter()) {
            match hop {
                Hop::Delay(line) => table.push(&line.whole(name, seconds, &line.measured(*before))),
                Hop::Link(link) => table.push(&link.whole(name, seconds)),
                Hop::Medium(medium) => table.push(&medium.whole(name, seconds)),
                Hop::Mouth(mouth) => table.push(&mouth.whole(name, seconds)),
            }
        }
        table
    }

    /// What was measured of the stations of media.
    pub(crate) fn stations(&mut self) -> Stations {
        let mut table = Stations::default();
        for (hop, name) in self.links.iter_mut().zip(self.names.iter()) {
            if let Hop::Medium(medium) = hop {
                medium.fill(name, &mut table);
            }
        }
        table
    }

    /// What was kept of places, routes and losses, if it was: of packets before `end`, with the flows that `flow` says. `stations`
    /// are the names of all.
    pub(crate) fn diary(&mut self, end: Time, stations: &Arc<Text>, flow: impl Fn(u32) -> u32) -> Option<Diary> {
        if !self.keeps.frames {
            return None;
        }
        let mut diary = Diary::default();
        for index in 0..self.links.len() {
            let Hop::Medium(_) = self.links[index] else { continue };
            let first = self.first_station(index as u32);
            if let Hop::Medium(medium) = &mut self.links[index] {
                medium.fill_diary(first, &mut diary, &flow);
            }
        }
        let Diary { frames, places, routes, .. } = &mut diary;
        let (routes, frames) = (
            [&mut routes.station, &mut routes.destination, &mut routes.next_hop],
            [&mut frames.station, &mut frames.to],
        );
        for column in [&mut places.station].into_iter().chain(routes).chain(frames) {
            column.names = stations.clone();
        }
        let names = self.names.iter().chain(stations.iter()).collect();
        diary.losses = Losses::of(std::mem::take(&mut self.losses), end, names, flow);
        Some(diary)
    }

    /// Frames that were kept for a capture, and the medium of each, in order of time.
    pub(crate) fn take_sent(&mut self) -> Vec<(usize, Sent)> {
        let media =
            self.links.iter_mut().filter_map(|hop| if let Hop::Medium(medium) = hop { Some(medium) } else { None });
        let sent =
            media.enumerate().flat_map(|(index, medium)| medium.take_sent().into_iter().map(move |sent| (index, sent)));
        let mut all: Vec<(usize, Sent)> = sent.collect();
        all.sort_by_key(|(_, sent)| sent.start);
        all
    }

    /// What they take, in bytes.
    pub(crate) fn sent_bytes(&self) -> usize {
        self.links.iter().map(|hop| if let Hop::Medium(medium) = hop { medium.sent_bytes() } else { 0 }).sum()
    }

    /// How many links there are, of any kind.
    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// Packets on links and in tunnels, waiting ones included. (Stations have short queues.)
    pub(crate) fn under_way(&self) -> u64 {
        let of = |hop: &Hop| match hop {
            Hop::Delay(line) => line.pipe().map_or(0, |pipe| pipe.len() as u64),
            Hop::Link(link) => link.under_way(),
            Hop::Mouth(mouth) => mouth.under_way(),
            Hop::Medium(_) => 0,
        };
        self.links.iter().map(of).sum()
    }

    /// How many rows it has so far.
    pub(crate) fn diary_len(&self) -> usize {
        let kept = |hop: &Hop| if let Hop::Medium(medium) = hop { medium.diary_len() } else { 0 };
        self.losses.len() + self.links.iter().map(kept).sum::<usize>()
    }

    /// How many pairs of stations there are that may sense each other.
    pub(crate) fn heard(&self) -> usize {
        self.links.iter().map(|hop| if let Hop::Medium(medium) = hop { medium.heard() } else { 0 }).sum()
    }

    /// Data packets that crossed the busiest link.
    pub fn data_packets(&self) -> u64 {
        let delivered = |hop: &Hop| match hop {
            Hop::Delay(line) => line.data_delivered(),
            Hop::Link(link) => link.tally.data_delivered,
            Hop::Medium(medium) => medium.data_delivered(),
            Hop::Mouth(mouth) => mouth.data_delivered(),
        };
        self.links.iter().map(delivered).max().unwrap_or(0)
    }

    /// The first link whose packets do not add up.
    pub fn imbalance(&self) -> Option<(String, String)> {
        self.links.iter().zip(self.names.iter()).find_map(|(hop, name)| match hop {
            Hop::Delay(_) => None,
            Hop::Link(link) => Some((format!("link {name}"), link.imbalance()?)),
            Hop::Medium(medium) => Some((format!("medium {name}"), medium.imbalance()?)),
            Hop::Mouth(mouth) => Some((format!("tunnel {name}"), mouth.imbalance()?)),
        })
    }

    /// What became of each flow's packets, and how many are under way.
    pub(crate) fn flow_tallies(&self) -> (&[FlowTally], Vec<u64>) {
        let mut under_way = vec![0; self.tallies.len()];
        let mut count = |flow: u32| {
            if let Some(packets) = under_way.get_mut(flow as usize) {
                *packets += 1;
            }
        };
        for hop in &self.links {
            match hop {
                Hop::Delay(line) => line.packets().for_each(|packed| count(packed.flow())),
                Hop::Link(link) => link.each_under_way(&mut count),
                Hop::Medium(medium) => medium.each_under_way(&mut count),
                Hop::Mouth(mouth) => mouth.each_under_way(&mut count),
            }
        }
        (&self.tallies, under_way)
    }
}

impl Hop {
    fn mouth_mut(&mut self) -> Option<&mut Mouth> {
        if let Hop::Mouth(mouth) = self { Some(mouth) } else { None }
    }

    /// Takes the first packet off the line; and when the next one follows, if there is one.
    #[inline]
    fn pop_line(&mut self, packet: &mut Packet) -> Option<Time> {
        match self {
            Hop::Delay(line) => line.pop(packet),
            Hop::Link(link) => {
                link.line.pop(packet);
                link.count_delivered(packet);
                link.line.due()
            }
            Hop::Medium(_) | Hop::Mouth(_) => None,
        }
    }

    /// Takes the first packet of those held back; and when the next one follows, if there is one.
    fn pop_held(&mut self, packet: &mut Packet) -> Option<Time> {
        let Hop::Link(link) = self else { return None };
        link.held.pop(packet);
        link.count_delivered(packet);
        link.held.due()
    }
}
