//! Stations joined by links that come and go, for the tests of protocols: no radio, one parcel at a time from each station.

use super::*;
use crate::net::medium::config;
use crate::wire::Body;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// A value of a field, for a test.
pub(super) type Given = (&'static str, crate::net::field::Value);

/// Seconds.
pub(super) fn at(seconds: f64) -> Time {
    Time((seconds * 1e9 + 0.5) as u64)
}

pub(super) fn id(n: u32) -> StationId {
    StationId(n)
}

pub(super) struct Net {
    pub(super) now: Time,
    pub(super) stations: Vec<Box<dyn Routing>>,
    pub(super) parcels: Parcels,
    /// Which stations hear each other.
    pub(super) links: BTreeSet<(u32, u32)>,
    /// Probability that a transmission reaches one of its receivers not.
    pub(super) loss: f64,
    /// How long a transmission takes.
    pub(super) hop: Duration,
    /// Looks after every step that no route leads in a circle.
    pub(super) watch: bool,
    /// Messages sent: when, by whom, for whom, hops allowed.
    pub(super) told: Vec<(Time, StationId, Option<StationId>, u8, Message)>,
    /// Numbers of the datagrams delivered, with the hops they made.
    pub(super) delivered: Vec<(Time, u64, u8)>,
    /// Those dropped.
    pub(super) dropped: BTreeMap<u64, Why>,
    /// What was said of routes.
    pub(super) news: Vec<(Time, StationId, Action)>,
    pub(super) rng: Stream,
    injected: u64,
    rngs: Vec<Stream>,
    queues: Vec<VecDeque<(ParcelId, Option<StationId>)>>,
    events: BinaryHeap<Reverse<(Time, u64, Due)>>,
    order: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Enqueue(u32, u32, Option<u32>),
    Sent(u32),
}

impl Net {
    pub(super) fn new(protocol: &str, given: &[Given], stations: usize, links: &[(u32, u32)], seed: u64) -> Net {
        let entry = REGISTRY.iter().find(|entry| entry.name == protocol).expect("it is registered");
        let given: Vec<_> = entry
            .fields
            .iter()
            .map(|field| given.iter().find(|(name, _)| *name == field.name).map(|(_, value)| *value))
            .collect();
        let routing = config::Routing { entry, params: crate::net::field::Params::new(entry.fields, &given) };
        let mut neighbours = vec![Vec::new(); stations];
        for &(a, b) in links {
            neighbours[a as usize].push(StationId(b));
            neighbours[b as usize].push(StationId(a));
        }
        neighbours.iter_mut().for_each(|of| of.sort_unstable());
        Net {
            now: Time::ZERO,
            stations: routing.start(&neighbours),
            parcels: Parcels::default(),
            links: links.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect(),
            loss: 0.0,
            hop: Duration::from_millis(1),
            // under source routing the stations' views need not agree
            watch: protocol != "dsr",
            told: Vec::new(),
            delivered: Vec::new(),
            dropped: BTreeMap::new(),
            news: Vec::new(),
            rng: Stream::new(seed, "harness"),
            injected: 0,
            rngs: (0..stations).map(|n| Stream::new(seed, &format!("station {n}"))).collect(),
            queues: vec![VecDeque::new(); stations],
            events: BinaryHeap::new(),
            order: 0,
        }
    }

    /// A row of stations.
    pub(super) fn chain(protocol: &str, given: &[Given], stations: u32) -> Net {
        let links: Vec<_> = (1..stations).map(|n| (n - 1, n)).collect();
        Net::new(protocol, given, stations as usize, &links, 1)
    }

    pub(super) fn join(&mut self, a: u32, b: u32) {
        self.links.insert((a.min(b), a.max(b)));
    }

    pub(super) fn part(&mut self, a: u32, b: u32) {
        self.links.remove(&(a.min(b), a.max(b)));
    }

    /// A datagram enters at `from`; its number.
    pub(super) fn send(&mut self, from: u32, to: u32) -> u64 {
        let number = self.injected;
        self.send_packet(from, to, Packet::udp(0, self.now, number, 1000));
        number
    }

    /// A packet enters at `from`; a segment's sequence number is its number here.
    pub(super) fn send_packet(&mut self, from: u32, to: u32, packet: Packet) {
        self.injected += 1;
        let parcel = self.parcels.insert(Parcel {
            packet,
            source: id(from),
            destination: Some(id(to)),
            ttl: 64,
            hops: 0,
            message: None,
            path: None,
        });
        self.with(from, |station, now, cx| station.forward(now, parcel, None, cx));
    }

    /// Until nothing happens any more before then.
    pub(super) fn run(&mut self, until: Time) {
        loop {
            let event = self.events.peek().map_or(Time::NEVER, |Reverse((time, ..))| *time);
            let (timer, station) = (0..).zip(&self.stations).map(|(n, s)| (s.next_timer(), n)).min().expect("stations");
            let next = event.min(timer);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if timer <= event {
                self.with(station, |station, now, cx| station.on_timer(now, cx));
                assert!(self.stations[station as usize].next_timer() > self.now, "a clock that stands");
            } else if let Some(Reverse((_, _, due))) = self.events.pop() {
                self.step(due);
            }
        }
        self.now = until;
        self.check_parcels();
    }

    fn step(&mut self, due: Due) {
        match due {
            Due::Enqueue(station, parcel, next) => {
                let entry = (ParcelId(parcel), next.map(StationId));
                let queue = &mut self.queues[station as usize];
                queue.push_back(entry);
                if queue.len() == 1 {
                    self.schedule(self.now + self.hop, Due::Sent(station));
                }
            }
            Due::Sent(station) => {
                let Some((parcel, next)) = self.queues[station as usize].pop_front() else { return };
                if !self.queues[station as usize].is_empty() {
                    self.schedule(self.now + self.hop, Due::Sent(station));
                }
                self.transmit(station, parcel, next);
            }
        }
    }

    fn transmit(&mut self, station: u32, parcel: ParcelId, next: Option<StationId>) {
        if let Some(message) = self.parcels[parcel].message.as_deref() {
            self.told.push((self.now, id(station), next, self.parcels[parcel].ttl, message.clone()));
        }
        if let Some(path) = &self.parcels[parcel].path {
            let stations = path.stations.iter().collect::<BTreeSet<_>>();
            assert_eq!(stations.len(), path.stations.len(), "a path in a circle: {path:?}");
        }
        let near = |other: &u32| self.links.contains(&(station.min(*other), station.max(*other)));
        let near: Vec<u32> = (0..self.stations.len() as u32).filter(near).collect();
        let reached: Vec<u32> = near.into_iter().filter(|_| !self.rng.chance(self.loss)).collect();
        if let Some(next) = next
            && !reached.contains(&next.0)
        {
            return self.with(station, |station, now, cx| station.on_failure(now, parcel, next, cx));
        }
        let (mut taken, from) = (self.parcels.remove(parcel), id(station));
        taken.hops += 1;
        taken.ttl = taken.ttl.saturating_sub(1);
        for other in reached {
            if next.is_some_and(|next| next != id(other)) {
                if self.stations[other as usize].overhears() {
                    let to = next.expect("it is for one");
                    self.with(other, |station, now, cx| station.on_overheard(now, &taken, from, to, cx));
                }
            } else if taken.message.is_some() {
                self.with(other, |station, now, cx| station.on_message(now, &taken, from, cx));
            } else if taken.destination == Some(id(other)) {
                self.with(other, |station, now, cx| station.on_arrival(now, &taken, from, cx));
                self.delivered.push((self.now, number(&taken), taken.hops));
            } else if taken.ttl == 0 {
                self.note_drop(&taken, Why::Expired);
            } else {
                let parcel = self.parcels.insert(taken.clone());
                self.with(other, |station, now, cx| station.forward(now, parcel, Some(from), cx));
            }
        }
    }

    fn with(&mut self, station: u32, act: impl FnOnce(&mut dyn Routing, Time, &mut Context)) {
        let mut out = Vec::new();
        let n = station as usize;
        let mut queue = std::mem::take(&mut self.queues[n]);
        // what is being sent is not waiting
        let sending = queue.pop_front();
        let mut recall = |next: StationId| {
            let taken = queue.iter().filter(|entry| entry.1 == Some(next)).map(|entry| entry.0).collect();
            queue.retain(|entry| entry.1 != Some(next));
            taken
        };
        let mut cx = Context {
            me: id(station),
            parcels: &mut self.parcels,
            recall: &mut recall,
            rng: &mut self.rngs[n],
            out: &mut out,
        };
        act(&mut *self.stations[n], self.now, &mut cx);
        if let Some(sending) = sending {
            queue.push_front(sending);
        }
        self.queues[n] = queue;
        for action in out {
            match action {
                Action::Send { parcel, next, after } => {
                    let due = Due::Enqueue(station, parcel.0, next.map(|next| next.0));
                    self.schedule(self.now + after, due);
                }
                Action::Drop(parcel, why) => {
                    let parcel = self.parcels.remove(parcel);
                    self.note_drop(&parcel, why);
                }
                news => self.news.push((self.now, id(station), news)),
            }
        }
        if self.watch {
            self.check_loops();
        }
    }

    fn note_drop(&mut self, parcel: &Parcel, why: Why) {
        if parcel.message.is_none() {
            let before = self.dropped.insert(number(parcel), why);
            assert_eq!(before, None, "datagram {} dropped twice", number(parcel));
        }
    }

    fn schedule(&mut self, time: Time, due: Due) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, due)));
    }

    pub(super) fn next_hop(&self, from: u32, to: u32) -> Option<(u32, u8)> {
        self.stations[from as usize].next_hop(self.now, id(to)).map(|(next, hops)| (next.0, hops))
    }

    /// No route leads in a circle.
    fn check_loops(&self) {
        let n = self.stations.len() as u32;
        for to in 0..n {
            for from in 0..n {
                let (mut station, mut passed) = (from, vec![from]);
                while let Some((next, _)) = self.next_hop(station, to).filter(|_| station != to) {
                    assert!(
                        !passed.contains(&next),
                        "at {:?} a route to {to} in a circle: {passed:?}, {next}",
                        self.now
                    );
                    passed.push(next);
                    station = next;
                }
            }
        }
    }

    /// Every datagram is delivered, dropped, or still there, once.
    fn check_parcels(&self) {
        let mut seen = BTreeSet::new();
        let there = self.parcels.iter().map(|(_, parcel)| parcel).filter(|parcel| parcel.message.is_none()).map(number);
        let delivered = self.delivered.iter().map(|&(_, number, _)| number);
        for number in there.chain(delivered).chain(self.dropped.keys().copied()) {
            assert!(seen.insert(number), "datagram {number} is there twice");
        }
        assert_eq!(seen.len() as u64, self.injected, "a datagram is gone");
        let queued: usize = self.queues.iter().map(VecDeque::len).sum();
        let scheduled = self.events.iter().filter(|event| matches!(event.0.2, Due::Enqueue(..))).count();
        let held: usize = self.stations.iter().map(|station| station.held()).sum();
        assert_eq!(self.parcels.iter().count(), queued + scheduled + held, "a parcel that nobody has");
    }
}

fn number(parcel: &Parcel) -> u64 {
    match parcel.packet.body {
        Body::Udp(datagram) => datagram.number,
        Body::Tcp(segment) => segment.seq,
        _ => unreachable!("nothing else is sent"),
    }
}

/// Random stations, links that come and go, losses, datagrams between random pairs: what a protocol must bear.
pub(super) fn storm(protocol: &str, given: &[Given], seed: u64) -> Net {
    let mut luck = Stream::new(seed, "storm");
    let n = 4 + luck.below(9) as u32;
    let density = 0.15 + 0.5 * luck.uniform();
    let links: Vec<_> = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).filter(|_| luck.chance(density)).collect();
    let mut net = Net::new(protocol, given, n as usize, &links, seed);
    net.loss = [0.0, 0.05, 0.3][luck.below(3) as usize];
    net.hop = Duration::from_micros(200 + luck.below(50_000));
    let calm = 0.05 + 2.0 * luck.uniform();
    let (mut move_at, mut send_at) = (0.0, 0.0);
    let pair = |luck: &mut Stream| {
        let a = luck.below(u64::from(n)) as u32;
        let b = luck.below(u64::from(n) - 1) as u32;
        (a, if b >= a { b + 1 } else { b })
    };
    // most to one destination, so that routes to it meet
    let flows: Vec<_> = (0..4).map(|_| pair(&mut luck)).map(|(a, b)| (a, if a == 0 { b } else { 0 })).collect();
    while net.now < at(60.0) {
        if move_at <= send_at {
            let (a, b) = pair(&mut luck);
            if luck.chance(density) {
                net.join(a, b)
            } else {
                net.part(a, b)
            }
            move_at += luck.exponential(calm);
        } else {
            let (a, b) = flows[luck.below(4) as usize];
            net.send(a, b);
            send_at += luck.exponential(0.1);
        }
        let until = at(f64::min(move_at, send_at));
        net.run(until);
    }
    net
}
