//! A radio medium: stations that share the air, forward for each other, and find their routes.
//!
//! To the network a medium is one hop of a route, from one of its stations to another; what happens between them stays inside.
//! A [`Parcel`] is what stations pass on: an IP packet of a flow, a message of a routing protocol, or a notice to a sender.

mod air;
mod arp;
pub mod config;
mod diary;
mod interface_queue;
mod mac;
pub mod mobility;
mod noise;
mod notices;
pub mod profile;
mod propagation;
mod reach;
pub mod routing;
mod sniffer;
mod table;

pub use air::Receptions;
pub use diary::{FrameRow, Frames, PlaceRow, Places, RouteRow, Routes};
pub use sniffer::{Carried, Frame, Missed, Sent};
pub use table::{StationRow, Stations};

use super::Log;
use super::link::Measured;
use super::losses::Cause;
use super::queue::Room;
use crate::wire::{NEWS, Packet};
use arp::Resolution;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Rate, Time};
use diary::Diary;
use interface_queue::{Content, InterfaceQueue, Item};
use mac::{Airtimes, Losses, Station, Timing, Transmission};
use mobility::Unconnected;
use noise::Noise;
use notices::{Effect, Notifier};
use reach::Reach;
use routing::{Action, Context, Message, Routing};
use sniffer::Sniffer;
use std::collections::VecDeque;

/// The number of a station within its medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u32);

impl StationId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet between stations, with what its IP header says of them.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The packet; a routing protocol's own message is a datagram of [`Packet::NO_FLOW`].
    pub packet: Packet,
    /// Where it entered the medium.
    pub source: StationId,
    /// Where it leaves it; `None` is every neighbour.
    pub destination: Option<StationId>,
    /// Hops that it may still make; the medium counts them down where it arrives.
    pub ttl: u8,
    /// Hops made.
    pub hops: u8,
    /// The message, if it is one of a routing protocol.
    pub message: Option<Box<Message>>,
    /// The stations that it is to pass, under source routing.
    pub path: Option<Box<routing::SourceRoute>>,
}

impl Parcel {
    /// A packet that enters at one station and is to leave at another.
    fn between(source: StationId, to: StationId, ttl: u8, packet: Packet) -> Parcel {
        Parcel { packet, source, destination: Some(to), ttl, hops: 0, message: None, path: None }
    }

    /// IP bytes, those of a source route included.
    pub fn size(&self) -> u32 {
        self.packet.size + self.path.as_ref().map_or(0, |path| path.bytes())
    }
}

/// The number of a parcel in its medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParcelId(u32);

/// The parcels in a medium. Places are used again.
#[derive(Default)]
pub struct Parcels {
    places: Vec<Option<Parcel>>,
    free: Vec<u32>,
}

impl Parcels {
    /// Keeps a parcel.
    pub fn insert(&mut self, parcel: Parcel) -> ParcelId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(parcel);
        ParcelId(place)
    }

    /// Gives a parcel away.
    ///
    /// # Panics
    /// It is gone already.
    pub fn remove(&mut self, id: ParcelId) -> Parcel {
        self.free.push(id.0);
        self.places[id.0 as usize].take().expect("a parcel is removed once")
    }

    /// Those that are there.
    pub fn iter(&self) -> impl Iterator<Item = (ParcelId, &Parcel)> {
        self.places.iter().enumerate().filter_map(|(i, parcel)| Some((ParcelId(i as u32), parcel.as_ref()?)))
    }

    /// Takes a parcel out for a while, its place kept.
    fn lend(&mut self, id: ParcelId) -> Parcel {
        self.places[id.0 as usize].take().expect("it is there until it is removed")
    }

    fn give_back(&mut self, id: ParcelId, parcel: Parcel) {
        self.places[id.0 as usize] = Some(parcel);
    }
}

impl std::ops::Index<ParcelId> for Parcels {
    type Output = Parcel;
    fn index(&self, id: ParcelId) -> &Parcel {
        self.places[id.0 as usize].as_ref().expect("it is there until it is removed")
    }
}

impl std::ops::IndexMut<ParcelId> for Parcels {
    fn index_mut(&mut self, id: ParcelId) -> &mut Parcel {
        self.places[id.0 as usize].as_mut().expect("it is there until it is removed")
    }
}

/// What is due in a medium: one of these, and a number.
const KIND: u32 = 7 << 29;
/// The alarm of a station's MAC.
const STATION: u32 = 0;
/// The end of a frame where it is to be received.
const END: u32 = 1 << 29;
/// The timer of a station's routing.
const TIMER: u32 = 2 << 29;
/// A parcel that was held back goes into the interface queue.
const HELD_BACK: u32 = 3 << 29;
/// A packet leaves the medium.
const OUT: u32 = 4 << 29;
/// The timer of the discipline of a station's interface queue.
const TICK: u32 = 5 << 29;
/// The timer of the notices.
const NOTICES: u32 = 7 << 29;

/// Routing at a station.
struct Router {
    protocol: Box<dyn Routing>,
    rng: Stream,
    /// The earliest entry in the event queue.
    alarm: Time,
}

/// Packets of flows, whole run.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    arrived: u64,
    left: u64,
    data_left: u64,
    gone: u64,
    duplicated: u64,
}

/// About how many pairs of stations of a medium may sense each other at the start of a run with this seed.
pub(crate) fn heard(medium: &config::Medium, nodes: &[String], seed: u64) -> u64 {
    let mut stations = mobility::draw(medium, nodes, medium.seed.unwrap_or(seed), 0);
    let places: Vec<_> = stations.iter_mut().map(|station| station.place(Time::ZERO)).collect();
    reach::estimate(&medium.radio, &places)
}

/// A medium at work.
///
/// What the network is to do for it is put into lists that the network empties after each call: [`calls`](Self::calls),
/// `gone`, `duplicated`.
pub struct Medium {
    radio: config::Radio,
    mac: config::Mac,
    timing: Timing,
    airtimes: Airtimes,
    arp: bool,
    ttl: u8,
    /// In the interface queue of a station, unless it has one of its own.
    room: Room,
    reach: Reach,
    /// Of each station's data frames.
    rates: Vec<Rate>,
    losses: Option<Losses>,
    noise: Option<Noise>,
    shadows: Option<Stream>,
    stations: Vec<Station>,
    routers: Vec<Router>,
    /// Whether routing wants to know of frames for others.
    overhears: bool,
    notifier: Notifier,
    /// The earliest entry of its timer in the event queue.
    notifier_alarm: Time,
    names: Vec<String>,
    parcels: Parcels,
    /// Frames on the air, and places that may be used again.
    on_air: Vec<Transmission>,
    free: Vec<u32>,
    /// Parcels that wait until they go into an interface queue, and places that may be used again.
    held_back: Vec<Option<(u32, ParcelId, Option<StationId>)>>,
    held_back_free: Vec<usize>,
    /// What routing wants done; empty between calls.
    actions: Vec<Action>,
    out: VecDeque<Packet>,
    tally: Tally,
    measured: Measured,
    /// Packets · ns that waited in interface queues in the measured interval, once it is over.
    waited: u128,
    before: Vec<table::Snapshot>,
    /// When to call again, and with what.
    pub(super) calls: Vec<(Time, u32)>,
    /// Packets that are gone, at which station, and why.
    pub(super) gone: Vec<(Packet, u32, Cause)>,
    /// Flows of which a packet is under way twice.
    pub(super) duplicated: Vec<u32>,
    /// What is kept of everything, when asked for.
    diary: Option<Box<Diary>>,
    from: Time,
    to: Time,
}

impl Medium {
    /// A medium as configured, with the names of all nodes, its draws from `seed` and its name, measured in an interval.
    ///
    /// # Errors
    /// See [`mobility::start`].
    pub fn new(
        medium: &config::Medium,
        nodes: &[String],
        seed: u64,
        (from, to): (Time, Time),
        log: Log,
    ) -> Result<Medium, Unconnected> {
        let config::Medium { name, radio, mac, arp, ttl, .. } = medium;
        let names: Vec<String> = medium.stations.iter().map(|station| nodes[station.node].clone()).collect();
        let stream =
            |station: usize, what: &str| Stream::new(seed, &format!("medium/{name}/{}/{what}", names[station]));
        let cursors = mobility::start(medium, nodes, seed, |a, b| radio.reaches(a, b))?;
        let diary = (log.frames || log.sniff.is_some()).then(|| {
            let sniffer = log.sniff.map(|snaplen| Sniffer::new(names.len(), snaplen));
            Box::new(Diary::new(cursors.clone(), sniffer))
        });
        let reach = Reach::new(radio, cursors);
        let protocols = medium.routing.start(&reach.decoders());
        let router = |(i, protocol)| Router { protocol, rng: stream(i, "routing"), alarm: Time::NEVER };
        let routers: Vec<Router> = protocols.into_iter().enumerate().map(router).collect();
        let station = |(i, of): (usize, &config::Station)| {
            let queue = of.queue.as_ref().unwrap_or(&medium.queue);
            let rate = of.rate.unwrap_or(mac.data_rate);
            Station::new(mac, InterfaceQueue::new(queue, rate, stream(i, "queue")), stream(i, "mac"))
        };
        let stations = medium.stations.iter().enumerate().map(station).collect::<Vec<_>>();
        Ok(Medium {
            radio: *radio,
            timing: Timing::new(mac, radio),
            mac: mac.clone(),
            airtimes: Airtimes::default(),
            arp: *arp,
            ttl: *ttl,
            room: medium.queue.limit().into(),
            reach,
            rates: medium.stations.iter().map(|station| station.rate.unwrap_or(mac.data_rate)).collect(),
            losses: Losses::new(&medium.stations, Stream::new(seed, &format!("medium/{name}/losses"))),
            noise: radio.noise.map(|power| Noise::new(power, Stream::new(seed, &format!("medium/{name}/noise")))),
            shadows: (radio.deviation() > 0.0).then(|| Stream::new(seed, &format!("medium/{name}/shadows"))),
            before: vec![table::Snapshot::default(); stations.len()],
            stations,
            notifier: Notifier::default(),
            notifier_alarm: Time::NEVER,
            overhears: routers.iter().any(|router| router.protocol.overhears()),
            routers,
            names,
            parcels: Parcels::default(),
            on_air: Vec::new(),
            free: Vec::new(),
            held_back: Vec::new(),
            held_back_free: Vec::new(),
            actions: Vec::new(),
            out: VecDeque::new(),
            tally: Tally::default(),
            measured: Measured::default(),
            waited: 0,
            calls: Vec::new(),
            gone: Vec::new(),
            duplicated: Vec::new(),
            diary,
            from,
            to,
        })
    }

    /// How many pairs of stations there are that may sense each other.
    pub(super) fn heard(&self) -> usize {
        self.reach.heard()
    }

    /// Asks for what is due without a packet.
    pub(super) fn begin(&mut self) {
        for at in 0..self.routers.len() {
            self.arm_router(at);
            self.arm_queue(at);
        }
    }

    /// Sees to it that the discipline of an interface queue is called when it has something to do.
    fn arm_queue(&mut self, at: usize) {
        let next = self.stations[at].queue.next_timer();
        if next < Time::NEVER {
            self.calls.push((next, TICK | at as u32));
        }
    }

    /// A packet enters the medium at one of its stations and is to leave it at another.
    pub(super) fn take(&mut self, now: Time, from: StationId, to: StationId, packet: &Packet) {
        self.tally.arrived += 1;
        self.measured.arrived += u64::from(now >= self.from);
        if from == to {
            self.calls.push((now, OUT));
            return self.leave(now, packet);
        }
        self.watch_routes(now, to);
        let parcel = self.parcels.insert(Parcel::between(from, to, self.ttl, *packet));
        self.forward(now, from.index(), parcel, None);
    }

    /// What stations are to tell the sender of a flow.
    pub(super) fn set_notices(&mut self, flow: usize, notices: cclab_algo::cc::Notices) {
        self.notifier.set(flow, notices);
        self.overhears |= self.notifier.overhears();
    }

    /// A parcel is to go on from a station, if that does not keep it.
    fn forward(&mut self, now: Time, at: usize, id: ParcelId, from: Option<StationId>) {
        let parcel = &self.parcels[id];
        if self.notifier.knows(parcel.packet.flow) && self.notifier.pass(now, StationId(at as u32), from, id, parcel) {
            return self.give_notice(now);
        }
        self.ask(now, at, |routing, cx| routing.forward(now, id, from, cx));
    }

    /// Does what is to be done for those who are told of their routes.
    fn give_notice(&mut self, now: Time) {
        while !self.notifier.effects.is_empty() {
            for effect in std::mem::take(&mut self.notifier.effects) {
                match effect {
                    Effect::Send { at, next, packet } => {
                        let parcel = self.parcels.insert(Parcel::between(at, next, 1, packet));
                        self.enqueue(now, at.index(), parcel, Some(next));
                    }
                    Effect::Tell(packet) => {
                        self.out.push_back(packet);
                        self.calls.push((now, OUT));
                    }
                    Effect::Release { at, from, parcel } => {
                        self.ask(now, at.index(), |routing, cx| routing.forward(now, parcel, from, cx));
                    }
                    Effect::Drop { at, parcel } => self.bury(at.index(), parcel, Cause::Waited),
                    Effect::Seek { at, to, again }
                        if again && self.routers[at.index()].protocol.next_hop(now, to).is_some() =>
                    {
                        self.found(now, at, to);
                    }
                    Effect::Seek { at, to, .. } => {
                        let query = Packet::udp(Packet::NO_FLOW as usize, now, 0, NEWS);
                        let parcel = self.parcels.insert(Parcel::between(at, to, self.ttl, query));
                        self.ask(now, at.index(), |routing, cx| routing.forward(now, parcel, None, cx));
                    }
                }
            }
        }
        let next = self.notifier.next_timer();
        if next < self.notifier_alarm {
            self.notifier_alarm = next;
            self.calls.push((next, NOTICES));
        }
    }

    /// Does what is due; whether a packet leaves the medium by it, in `packet`.
    pub(super) fn on_event(&mut self, now: Time, what: u32, packet: &mut Packet) -> bool {
        let number = (what & !KIND) as usize;
        match what & KIND {
            STATION => self.on_alarm(now, number),
            END => self.on_end(now, number as u32),
            TIMER if now == self.routers[number].alarm => {
                self.routers[number].alarm = Time::NEVER;
                self.ask(now, number, |routing, cx| routing.on_timer(now, cx));
            }
            HELD_BACK => {
                if let Some((at, parcel, next)) = self.held_back[number].take() {
                    self.held_back_free.push(number);
                    self.enqueue(now, at as usize, parcel, next);
                }
            }
            TICK => {
                self.stations[number].queue.tick(now);
                self.arm_queue(number);
            }
            NOTICES if now == self.notifier_alarm => {
                self.notifier_alarm = Time::NEVER;
                self.notifier.on_timer(now);
                self.give_notice(now);
            }
            _ => {}
        }
        let Some(first) = self.out.pop_front() else { return false };
        *packet = first;
        if !self.out.is_empty() {
            self.calls.push((now, OUT));
        }
        true
    }

    /// A packet leaves the medium.
    fn leave(&mut self, now: Time, packet: &Packet) {
        self.tally.left += 1;
        self.tally.data_left += u64::from(packet.payload() > 0);
        if self.from <= now && now < self.to {
            self.measured.sent += 1;
            self.measured.data_sent += u64::from(packet.payload() > 0);
            self.measured.bytes_sent += u64::from(packet.size);
        }
        self.out.push_back(*packet);
    }

    /// Asks the routing of a station, and does what it wants.
    fn ask(&mut self, now: Time, at: usize, question: impl FnOnce(&mut dyn Routing, &mut Context)) {
        let mut out = std::mem::take(&mut self.actions);
        let (station, router) = (&mut self.stations[at], &mut self.routers[at]);
        let mut cx = Context {
            me: StationId(at as u32),
            parcels: &mut self.parcels,
            recall: &mut |next| station.recall(now, next),
            rng: &mut router.rng,
            out: &mut out,
        };
        question(&mut *router.protocol, &mut cx);
        for action in out.drain(..) {
            self.act(now, at, action);
        }
        self.actions = out;
        self.arm_router(at);
        self.note_routes(now, at);
        if !self.notifier.effects.is_empty() {
            self.give_notice(now);
        }
    }

    /// Sees to it that a station's routing is called when it has something to do.
    fn arm_router(&mut self, at: usize) {
        let router = &mut self.routers[at];
        let next = router.protocol.next_timer();
        if next < router.alarm {
            router.alarm = next;
            self.calls.push((next, TIMER | at as u32));
        }
    }

    fn act(&mut self, now: Time, at: usize, action: Action) {
        match action {
            Action::Send { parcel, next, after: Duration::ZERO } => self.enqueue(now, at, parcel, next),
            Action::Send { parcel, next, after } => {
                let entry = Some((at as u32, parcel, next));
                let place = self.held_back_free.pop().unwrap_or(self.held_back.len());
                if place == self.held_back.len() {
                    self.held_back.push(entry)
                } else {
                    self.held_back[place] = entry
                }
                self.calls.push((now + after, HELD_BACK | place as u32));
            }
            Action::Drop(parcel, why) => {
                let packet = &self.parcels[parcel].packet;
                if !self.notifier.dropped(now, StationId(at as u32), parcel, packet, why) {
                    self.bury(at, parcel, why.into());
                }
            }
            Action::RouteLost { to, parcel, repairing } => {
                let failed = parcel.map(|parcel| &self.parcels[parcel].packet);
                self.notifier.route_lost(now, StationId(at as u32), to, failed, repairing);
            }
            Action::RouteFound { to, .. } => self.found(now, StationId(at as u32), to),
        }
    }

    /// A station has a way.
    fn found(&mut self, now: Time, at: StationId, to: StationId) {
        let protocol = &self.routers[at.index()].protocol;
        self.notifier.route_found(now, at, to, |flow| protocol.received(flow));
    }

    /// A parcel is to go to a neighbour, or to all.
    fn enqueue(&mut self, now: Time, at: usize, parcel: ParcelId, next: Option<StationId>) {
        if let Some(next) = next
            && self.arp
        {
            match self.stations[at].arp.resolve(next, parcel) {
                Resolution::Known => {}
                Resolution::Ask(held) => {
                    if let Some(held) = held {
                        self.bury(at, held, Cause::NoAnswer);
                    }
                    return self.queue(now, at, Content::ArpRequest(next), None);
                }
                Resolution::Failed(held) => {
                    for parcel in held.into_iter().chain([parcel]) {
                        self.undeliverable(now, at, parcel, next);
                    }
                    return;
                }
            }
        }
        self.queue(now, at, Content::Parcel(parcel), next);
    }

    /// Into the interface queue: messages at its head.
    fn queue(&mut self, now: Time, at: usize, content: Content, next: Option<StationId>) {
        let is_message = matches!(content, Content::Parcel(parcel) if self.parcels[parcel].message.is_some());
        let size = match content {
            Content::Parcel(parcel) => self.parcels[parcel].size(),
            Content::ArpRequest(_) | Content::ArpReply => arp::BYTES,
        };
        let station = &mut self.stations[at];
        station.queue.push(now, Item { content, next, size }, is_message, &mut self.parcels);
        let dropped = !station.queue.dropped.is_empty();
        station.watch(now, &self.timing, dropped);
        if dropped {
            self.bury_dropped(at);
        }
        self.serve(now, at);
    }

    /// What an interface queue has dropped is gone.
    fn bury_dropped(&mut self, at: usize) {
        while let Some((parcel, reason)) = self.stations[at].queue.dropped.pop_front() {
            self.bury(at, parcel, reason.into());
        }
    }

    /// The MAC, or nobody's answer, says that a neighbour cannot be reached.
    fn undeliverable(&mut self, now: Time, at: usize, parcel: ParcelId, next: StationId) {
        self.look_for(now, at, next);
        self.ask(now, at, |routing, cx| routing.on_failure(now, parcel, next, cx));
    }

    /// What a frame carried reaches a station; it is the sender's still.
    fn deliver(&mut self, now: Time, at: usize, from: u32, content: Content) {
        let (me, from) = (StationId(at as u32), StationId(from));
        match content {
            Content::ArpRequest(_) | Content::ArpReply => {
                if let Some(waited) = self.stations[at].arp.learn(from) {
                    self.queue(now, at, Content::Parcel(waited), Some(from));
                }
                if content == Content::ArpRequest(me) {
                    self.queue(now, at, Content::ArpReply, Some(from));
                }
            }
            Content::Parcel(id) => {
                let parcel = &self.parcels[id];
                if parcel.message.is_some() {
                    let message = self.parcels.lend(id);
                    self.ask(now, at, |routing, cx| routing.on_message(now, &message, from, cx));
                    self.parcels.give_back(id, message);
                } else if parcel.destination == Some(me) {
                    let parcel = self.parcels.lend(id);
                    self.ask(now, at, |routing, cx| routing.on_arrival(now, &parcel, from, cx));
                    if parcel.packet.flow == Packet::NO_FLOW {
                        let way = |to| Some(self.routers[at].protocol.next_hop(now, to)?.0);
                        self.notifier.arrive(now, me, from, &parcel.packet, way);
                        self.give_notice(now);
                    } else {
                        if self.notifier.knows(parcel.packet.flow) {
                            let way = self.routers[at].protocol.next_hop(now, parcel.source);
                            self.notifier.delivered(now, &parcel, way.map_or(0, |(_, hops)| hops));
                            self.give_notice(now);
                        }
                        self.leave(now, &parcel.packet);
                    }
                    self.parcels.give_back(id, parcel);
                } else {
                    let copy = parcel.clone();
                    let expired = copy.ttl == 0;
                    let copy = self.parcels.insert(copy);
                    if expired {
                        self.bury(at, copy, Cause::Expired);
                    } else {
                        self.forward(now, at, copy, Some(from));
                    }
                }
            }
        }
    }

    /// A station hears a data frame for another one.
    fn overhear(&mut self, now: Time, at: usize, from: u32, to: u32, content: Content) {
        let Content::Parcel(id) = content else { return };
        let parcel = self.parcels.lend(id);
        if parcel.packet.flow == Packet::NO_FLOW {
            self.notifier.overheard(StationId(at as u32), StationId(from), &parcel.packet);
        }
        self.ask(now, at, |routing, cx| routing.on_overheard(now, &parcel, StationId(from), StationId(to), cx));
        self.parcels.give_back(id, parcel);
    }

    /// A parcel is gone.
    fn bury(&mut self, at: usize, parcel: ParcelId, cause: Cause) {
        let packet = self.parcels.remove(parcel).packet;
        let (counts, all) = (&mut self.stations[at].counts, &mut self.measured);
        let of_flow = u64::from(packet.flow != Packet::NO_FLOW);
        match cause {
            Cause::Queue => (counts.queue_drops, all.drops) = (counts.queue_drops + 1, all.drops + of_flow),
            Cause::Discipline => {
                (counts.queue_drops, counts.early_drops) = (counts.queue_drops + 1, counts.early_drops + 1);
                (all.drops, all.early_drops) = (all.drops + of_flow, all.early_drops + of_flow);
            }
            _ => (counts.route_drops, all.losses) = (counts.route_drops + 1, all.losses + of_flow),
        }
        if packet.flow != Packet::NO_FLOW {
            self.tally.gone += 1;
            self.gone.push((packet, at as u32, self.closer(cause)));
        }
    }

    /// Calls `each` with the flow of every packet that is under way.
    pub(super) fn each_under_way(&self, each: &mut dyn FnMut(u32)) {
        // A parcel that the next station has is under way there, not here.
        let mut elsewhere: Vec<ParcelId> = Vec::new();
        for station in &self.stations {
            if let Some((Content::Parcel(parcel), true)) = station.in_service() {
                elsewhere.push(parcel);
            }
        }
        self.parcels.iter().filter(|(id, _)| !elsewhere.contains(id)).for_each(|(_, parcel)| each(parcel.packet.flow));
        self.out.iter().for_each(|packet| each(packet.flow));
    }

    /// What does not add up, if anything: arrived + duplicated = left + gone + under way; and every frame at every station was
    /// received, overheard, lost or sensed, once.
    pub(super) fn imbalance(&self) -> Option<String> {
        if let Some(at) = self.stations.iter().position(|station| !station.ear.adds_up()) {
            return Some(format!("frames at {}: {:?}", self.names[at], self.stations[at].ear.counts));
        }
        let mut under_way = 0;
        self.each_under_way(&mut |flow| under_way += u64::from(flow != Packet::NO_FLOW));
        let (t, out) = (&self.tally, self.out.iter().filter(|packet| packet.flow != Packet::NO_FLOW).count() as u64);
        (t.arrived + t.duplicated + out != t.left + t.gone + under_way).then(|| format!("{t:?}, {under_way} under way"))
    }
}
