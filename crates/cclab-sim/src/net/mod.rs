//! The network: links joined by routes, and the packets on them.
//!
//! `Network::carry` takes a packet from hop to hop until it is under way on a link, is gone, or has reached
//! its host. A link that is infinitely fast and has no delay hands a packet on at once, without an event.

pub mod config;
mod link;
mod loss;
pub mod queue;
mod service;

pub use link::{Link, Outcome, Pending};
pub use loss::Lottery;
pub use service::{Propagation, Service};

use crate::engine::Wheel;
use crate::measure::{EventKind, LinkSamples, LinkSummary, PacketLog};
use crate::wire::Packet;
use cclab_algo::Time;

/// What is due.
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
    /// The next packet of this flow has been processed by its source host.
    Release(u32),
    /// The timer of a host: twice the flow, plus one at the destination.
    Timer(u32),
    /// This flow starts.
    Start(u32),
    /// This flow's source stops.
    Stop(u32),
    /// This flow's next datagram is due.
    Datagram(u32),
    /// A connection or a page of this background entry comes.
    Arrival(u32),
    /// This user of the background requests an object.
    Request(u32),
    /// Take a sample.
    Sample,
    /// The warm-up is over.
    Measure,
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
}

/// Links, routes and the event queue that drives them.
pub struct Network {
    /// What happens next.
    pub(crate) events: Wheel<Event>,
    links: Vec<Link>,
    /// All routes behind each other, each ended by [`HOST`].
    routes: Vec<u32>,
    /// Where each flow's routes start: there, back.
    starts: Vec<[u32; 2]>,
    tallies: Vec<FlowTally>,
    /// The interval over which each flow's losses count.
    measured: Vec<(Time, Time)>,
    /// The measured interval of the run.
    interval: (Time, Time),
    logs_changes: bool,
    /// Every packet at every link, when asked for.
    pub(crate) log: Option<Box<PacketLog>>,
}

impl Network {
    /// A network of these links, measured in `interval`.
    pub fn new(links: &[config::Link], seed: u64, interval: (Time, Time), log: Log) -> Network {
        let (from, to) = interval;
        let links: Vec<Link> = links.iter().map(|link| Link::new(link, seed, from, to, log.changes)).collect();
        let mut events = Wheel::new();
        for (index, link) in links.iter().enumerate().filter(|(_, link)| link.next_timer() < Time::NEVER) {
            events.push(link.next_timer(), Event::Tick(index as u32));
        }
        Network {
            events,
            links,
            routes: Vec::new(),
            starts: Vec::new(),
            tallies: Vec::new(),
            measured: Vec::new(),
            interval,
            logs_changes: log.changes,
            log: log.packets.then(Box::default),
        }
    }

    /// Adds a route; where it starts.
    pub(crate) fn add_route(&mut self, route: &[usize]) -> u32 {
        let start = self.routes.len() as u32;
        self.routes.extend(route.iter().map(|&link| link as u32).chain([HOST]));
        start
    }

    /// Adds a flow with these routes, there and back, whose losses count until `until`.
    pub(crate) fn add_flow(&mut self, routes: [u32; 2], until: Time) {
        let (from, to) = self.interval;
        self.starts.push(routes);
        self.tallies.push(FlowTally::default());
        self.measured.push((from, until.min(to)));
    }

    /// What became of a flow's packets.
    pub(crate) fn tally(&self, flow: usize) -> FlowTally {
        self.tallies[flow]
    }

    /// Sends a packet into the network from its source host at `now`; says whether it has reached its destination
    /// already.
    pub(crate) fn send(&mut self, now: Time, packet: &mut Packet) -> bool {
        packet.left = now;
        packet.next = self.starts[packet.flow as usize][usize::from(!packet.forward)];
        self.note(now, HOST, EventKind::Sent, packet);
        self.carry(now, packet)
    }

    /// The event of a link's line, or of its hold-back: its packet, put into `packet`, goes on. Says
    /// whether it has reached its destination.
    pub(crate) fn arrive(&mut self, now: Time, event: Event, packet: &mut Packet) -> bool {
        let (Event::Line(index) | Event::Held(index)) = event else { unreachable!("not a link's event: {event:?}") };
        let link = &mut self.links[index as usize];
        let pipe = if matches!(event, Event::Line(_)) { &mut link.line } else { &mut link.held };
        let next = pipe.pop(packet);
        link.count_delivered(packet);
        if let Some(at) = next {
            self.events.push(at, event);
        }
        self.note(now, index, EventKind::Forwarded, packet);
        self.carry(now, packet)
    }

    /// Takes a packet on from hop to hop; whether it reaches its host at once.
    #[inline(always)]
    fn carry(&mut self, now: Time, packet: &mut Packet) -> bool {
        loop {
            let index = self.routes[packet.next as usize];
            if index == HOST {
                self.note(now, HOST, EventKind::Received, packet);
                return true;
            }
            packet.next += 1;
            if !self.hop(now, index, packet) {
                return false;
            }
        }
    }

    /// Gives a packet to a link; whether it is through at once.
    #[inline(never)]
    fn hop(&mut self, now: Time, index: u32, packet: &mut Packet) -> bool {
        match self.links[index as usize].take(now, packet) {
            Outcome::Through => {
                self.note(now, index, EventKind::Queued, packet);
                self.note(now, index, EventKind::Forwarded, packet);
                return true;
            }
            Outcome::Queued(pending) => {
                self.note(now, index, EventKind::Queued, packet);
                self.schedule(index, &pending, packet.flow);
            }
            Outcome::Gone(reason, at) => {
                if reason == Reason::LostBehind {
                    self.note(now, index, EventKind::Queued, packet);
                }
                self.bury(index, at, reason, packet);
            }
            Outcome::Waiting { idle } => self.wait(now, index, idle, packet),
        }
        false
    }

    /// A packet waits in the queue of a served link.
    #[inline(never)]
    fn wait(&mut self, now: Time, index: u32, idle: bool, packet: &Packet) {
        self.note(now, index, EventKind::Queued, packet);
        if idle {
            self.serve(now, index);
        } else {
            self.settle(now, index);
        }
    }

    /// The transmitter of a served link is free: its next packet goes.
    #[inline(never)]
    pub(crate) fn serve(&mut self, now: Time, index: u32) {
        let link = &mut self.links[index as usize];
        if let Some(served) = link.serve(now) {
            if let Some(free_at) = served.free_at {
                self.events.push(free_at, Event::Serve(index));
            }
            match served.outcome {
                Outcome::Queued(pending) => self.schedule(index, &pending, served.packet.flow),
                Outcome::Gone(reason, at) => self.bury(index, at, reason, &served.packet),
                Outcome::Through | Outcome::Waiting { .. } => unreachable!("what is served leaves the queue"),
            }
        }
        self.settle(now, index);
    }

    /// The discipline of a link has periodic work.
    #[inline(never)]
    pub(crate) fn tick(&mut self, now: Time, index: u32) {
        let next = self.links[index as usize].tick(now);
        if next < Time::NEVER {
            self.events.push(next, Event::Tick(index));
        }
    }

    /// Counts what a scheduler has dropped of the packets that waited.
    fn settle(&mut self, now: Time, index: u32) {
        while let Some((packet, reason)) = self.links[index as usize].take_dropped() {
            self.bury(index, now, reason, &packet);
        }
    }

    /// A packet is gone.
    fn bury(&mut self, index: u32, at: Time, reason: Reason, packet: &Packet) {
        self.count_gone(at, packet);
        let kind = match reason {
            Reason::Dropped | Reason::Early => EventKind::Dropped,
            Reason::Lost | Reason::LostBehind => EventKind::Lost,
        };
        self.note(at, index, kind, packet);
    }

    fn count_gone(&mut self, at: Time, packet: &Packet) {
        let tally = &mut self.tallies[packet.flow as usize];
        tally.gone += 1;
        let (from, to) = self.measured[packet.flow as usize];
        if packet.forward && packet.payload() > 0 && from <= at && at < to {
            tally.lost += 1;
        }
    }

    fn schedule(&mut self, index: u32, pending: &Pending, flow: u32) {
        if let Some(at) = pending.line {
            self.events.push(at, Event::Line(index));
        }
        if let Some(at) = pending.held {
            self.events.push(at, Event::Held(index));
        }
        if pending.duplicated {
            self.tallies[flow as usize].duplicated += 1;
        }
    }

    #[inline]
    fn note(&mut self, at: Time, link: u32, kind: EventKind, packet: &Packet) {
        if let Some(log) = &mut self.log {
            log.push(at, link, kind, packet);
        }
    }

    /// The measured interval begins.
    pub(crate) fn begin_measuring(&mut self, now: Time) {
        self.links.iter_mut().for_each(|link| link.begin_measuring(now));
    }

    /// A flow is over.
    pub(crate) fn end_measuring(&mut self, now: Time, flow: usize) {
        let to = &mut self.measured[flow].1;
        *to = now.min(*to);
    }

    /// Data packets of a flow that were dropped or lost in its measured interval.
    pub(crate) fn lost(&self, flow: usize) -> u64 {
        self.tallies[flow].lost
    }

    /// A row per link.
    pub(crate) fn sample(&mut self, now: Time, samples: &mut LinkSamples) {
        for (index, link) in self.links.iter_mut().enumerate() {
            let (packets, bytes) = link.backlog(now);
            samples.push(now, index, packets, bytes);
        }
    }

    /// Changes of queues noted so far.
    pub(crate) fn changes(&self) -> usize {
        if !self.logs_changes {
            return 0;
        }
        self.links.iter().map(Link::changes).sum()
    }

    /// Rows of every change of every queue before `end`, by time and link.
    pub(crate) fn take_changes(&mut self, end: Time, samples: &mut LinkSamples) {
        let mut rows = Vec::new();
        for (index, link) in self.links.iter_mut().enumerate() {
            rows.extend(link.take_changes(end).into_iter().map(|(at, packets, bytes)| (at, index, packets, bytes)));
        }
        rows.sort_by_key(|&(at, index, ..)| (at, index));
        rows.into_iter().for_each(|(at, index, packets, bytes)| samples.push(at, index, packets, bytes));
    }

    /// A row per link for the result.
    pub(crate) fn summaries(&self) -> Vec<LinkSummary> {
        self.links.iter().map(Link::summary).collect()
    }

    /// Data packets that crossed the busiest link.
    pub(crate) fn data_packets(&self) -> u64 {
        self.links.iter().map(|link| link.tally.data_delivered).max().unwrap_or(0)
    }

    /// The first link whose packets do not add up.
    pub(crate) fn imbalance(&self) -> Option<(String, String)> {
        self.links.iter().find_map(|link| Some((format!("link {}", link.name()), link.imbalance()?)))
    }

    /// What became of each flow's packets, and how many are under way.
    pub(crate) fn flow_tallies(&self) -> (&[FlowTally], Vec<u64>) {
        let mut under_way = vec![0; self.tallies.len()];
        for link in &self.links {
            link.each_under_way(&mut |packet| under_way[packet.flow as usize] += 1);
        }
        (&self.tallies, under_way)
    }
}
