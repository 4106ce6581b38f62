//! Background traffic at work: connections that come and go.
//!
//! A connection is a flow of the world (`Flow`) in a slot. When it is over and none of its packets is under way, the
//! next connection of the same entry takes its slot, so memory grows with how many there are at once, not with time.
//! The n-th connection of an entry has the n-th size and the n-th RTT, whatever happens in the network.

mod table;

pub use self::table::{BackgroundRow, BackgroundTable, CompletionRow, CompletionTimes};
use super::config::{self, Arrivals};
use super::flow::{Flow, Opening, SOURCE, connection, failed_law};
use super::socket::{Processing, Socket};
use super::workload::{Phase, SizeSource};
use crate::measure::Histogram;
use crate::net::{Network, Route};
use crate::tcp::{Config, Metrics};
use crate::wire::{IP_HEADER, Packet, Segment, TCP_HEADER};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// IP bytes from source to destination of a transfer of `size` bytes without losses: SYN, the ACK that ends the
/// handshake, and the data with their headers; the FIN comes with the last of them.
pub fn ip_bytes(config: &Config, size: u64) -> u64 {
    let syn = Segment {
        mss: 1,
        window_scale: config.window_scaling.then_some(0),
        sack_permitted: config.sack,
        has_timestamps: config.timestamps,
        ..Segment::default()
    };
    let plain = Segment { has_timestamps: config.timestamps, ..Segment::default() };
    let headers = |segment: &Segment| u64::from(IP_HEADER + TCP_HEADER + segment.option_bytes());
    size + headers(&syn) + headers(&plain) * (1 + size.div_ceil(u64::from(config.mss)))
}

/// Lower ends of the bins of sizes after the first, which begins at 0, bytes: half decades.
const BINS: [u64; 13] = [
    1_000,
    3_162,
    10_000,
    31_623,
    100_000,
    316_228,
    1_000_000,
    3_162_278,
    10_000_000,
    31_622_777,
    100_000_000,
    316_227_766,
    1_000_000_000,
];

/// Slots looked at for one without a packet under way, before a new one is made.
const LOOKS: usize = 4;

/// All entries of the background, their connections and their users.
pub(crate) struct Background {
    seed: u64,
    entries: Vec<Entry>,
    slots: Vec<Slot>,
    users: Vec<User>,
    measuring: bool,
}

/// An entry in one direction.
struct Entry {
    spec: config::Background,
    /// What its streams are called.
    name: String,
    routes: [Route; 2],
    gaps: Stream,
    sizes: SizeSource,
    rtts: Stream,
    /// Connections so far, and what arrived: users, or pages without one.
    connections: u64,
    arrived: u64,
    /// Mean time from page to page of a user, s.
    cycle: f64,
    /// Slots whose connection is over, in the order in which they ended.
    over: VecDeque<u32>,
    idle_users: Vec<u32>,
    live: u64,
    most_live: u64,
    measured: Measured,
}

/// What is measured of an entry between warm-up and end. Connections count that start in it.
#[derive(Default)]
struct Measured {
    started: u64,
    completed: u64,
    failed: u64,
    offered_bytes: u64,
    size_bytes: u64,
    arrived_bytes: u64,
    returned_bytes: u64,
    delivered_bytes: u64,
    segments_sent: u64,
    segments_retransmitted: u64,
    timeouts: u64,
    /// Sum over completed connections of their goodput, bit/s.
    goodputs: f64,
    /// Sum over connections of the mean time between data packets, s, and how many there are.
    intervals: f64,
    with_interval: u64,
    fct: [Histogram; 2],
    bins: [[Histogram; 2]; BINS.len() + 1],
}

/// A place for one connection at a time.
struct Slot {
    entry: u32,
    user: Option<u32>,
    /// Whether it started in the measured interval.
    counts: bool,
    size: u64,
    packets: u64,
    first: Time,
    last: Time,
}

/// Who reads a page.
struct User {
    entry: u32,
    /// Objects under way or waiting for their time.
    busy: u32,
    /// Objects after these.
    more: u32,
    /// What the server remembers of the reader's host.
    known: Metrics,
    pages: Stream,
    offs: Stream,
    think: Stream,
}

/// What happens next in the background.
pub(crate) enum Next {
    /// A connection, a page or a user of this entry comes, at this time.
    Arrival(Time, u32),
    /// This user requests an object then.
    Request(Time, u32),
}

/// What came.
pub(crate) enum Arrival {
    /// A connection that nobody waits for.
    Connection,
    /// The reader of a page, who requests it now.
    Reader(u32),
    /// Somebody who has been at it for long, and what they do next.
    User(Vec<Next>),
}

impl Background {
    pub(crate) fn new(background: &[config::Background], network: &mut Network, seed: u64) -> Background {
        let entry = |spec: &config::Background| {
            let name = format!("background/{}{}", spec.label, if spec.reverse { "/reverse" } else { "" });
            let stream = |what: &str| Stream::new(seed, &format!("{name}/{what}"));
            Entry {
                routes: [network.add_route(&spec.route), network.add_route(&spec.route_back)],
                gaps: stream("arrival"),
                sizes: SizeSource::new(spec.sizes.clone(), stream("size")),
                rtts: stream("rtt"),
                connections: 0,
                arrived: 0,
                cycle: match spec.arrivals {
                    Arrivals::Users { cycle_s, .. } => cycle_s,
                    Arrivals::Poisson { .. } | Arrivals::Pages { .. } => f64::NAN,
                },
                over: VecDeque::new(),
                idle_users: Vec::new(),
                live: 0,
                most_live: 0,
                measured: Measured::default(),
                spec: spec.clone(),
                name,
            }
        };
        let entries = background.iter().map(entry).collect();
        Background { seed, entries, slots: Vec::new(), users: Vec::new(), measuring: false }
    }

    /// What comes first, of every entry.
    pub(crate) fn begin(&mut self) -> Vec<Next> {
        let entries = 0..self.entries.len() as u32;
        entries.filter_map(|entry| self.next_arrival(self.entries[entry as usize].spec.start, entry)).collect()
    }

    /// Whether no more connections start.
    fn has_stopped(&self, now: Time, entry: u32) -> bool {
        self.entries[entry as usize].spec.stop.is_some_and(|stop| now >= stop)
    }

    /// The arrival after `now` of an entry. All users come at its start, each in an event, for what they draw counts.
    pub(crate) fn next_arrival(&mut self, now: Time, entry: u32) -> Option<Next> {
        let e = &mut self.entries[entry as usize];
        let at = match e.spec.arrivals {
            Arrivals::Users { users, .. } if e.arrived == u64::from(users) => return None,
            Arrivals::Users { .. } => now,
            Arrivals::Poisson { per_s } | Arrivals::Pages { per_s, .. } => {
                now + Duration::from_secs_f64(e.gaps.exponential(1.0 / per_s))
            }
        };
        (!self.has_stopped(at, entry)).then_some(Next::Arrival(at, entry))
    }

    /// Something arrives at an entry.
    pub(crate) fn arrive(&mut self, now: Time, entry: u32) -> Arrival {
        let e = &mut self.entries[entry as usize];
        let user = |what: &str, number| User::new(self.seed, entry, &format!("{}/{what}/{number}", e.name));
        e.arrived += 1;
        match &e.spec.arrivals {
            Arrivals::Poisson { .. } => Arrival::Connection,
            Arrivals::Pages { .. } => {
                let user = user("page", e.arrived);
                Arrival::Reader(match e.idle_users.pop() {
                    Some(place) => {
                        self.users[place as usize] = user;
                        place
                    }
                    None => {
                        self.users.push(user);
                        self.users.len() as u32 - 1
                    }
                })
            }
            Arrivals::Users { page, .. } => {
                let mut user = user("user", e.arrived - 1);
                let at = |wait: f64| Next::Request(now + Duration::from_secs_f64(wait), self.users.len() as u32);
                let next = match page.in_equilibrium(e.cycle, &mut user.pages, &mut user.offs, &mut user.think) {
                    Phase::Thinks(wait) => vec![at(wait)],
                    Phase::Reads { waits, more } => {
                        (user.busy, user.more) = (waits.len() as u32, more);
                        waits.into_iter().map(at).collect()
                    }
                };
                self.users.push(user);
                Arrival::User(next)
            }
        }
    }

    /// A user requests an object, the first of a page if none is under way; of which entry, unless that has stopped.
    pub(crate) fn request(&mut self, now: Time, number: u32) -> Option<u32> {
        let user = &mut self.users[number as usize];
        let entry = user.entry;
        if user.busy == 0
            && let Some(page) = self.entries[entry as usize].spec.arrivals.page()
        {
            (user.busy, user.more) = (1, page.draw_objects(&mut user.pages) - 1);
        }
        (!self.has_stopped(now, entry)).then_some(entry)
    }

    /// Opens the next connection of an entry; its flow, which is to start.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        entry: u32,
        user: Option<u32>,
        network: &mut Network,
        flows: &mut Vec<Flow>,
        sockets: &mut Vec<Socket>,
    ) -> usize {
        let measuring = self.measuring;
        let own = flows.len() - self.slots.len();
        let e = &mut self.entries[entry as usize];
        let (size, delay) = (e.sizes.draw(), e.draw_delay());
        e.connections += 1;
        e.live += 1;
        e.most_live = e.most_live.max(e.live);
        if measuring {
            e.measured.started += 1;
            e.measured.size_bytes += size;
            e.measured.offered_bytes += ip_bytes(&e.spec.config, size);
        }
        let (spec, name) = (&e.spec, format!("{}/{}", e.name, e.connections));
        let stream = |what: &str| Stream::new(self.seed, &format!("{name}/{what}"));
        let rngs = [stream("cc"), stream("cc-destination")];
        let known = user.map_or(Metrics::default(), |user| self.users[user as usize].known);
        let ends = connection(&spec.config.knowing(known), spec.cc, &spec.cc_params, now, rngs, false, SOURCE);
        let processing = || Box::new(Processing::new(spec.send_jitter, stream("send")).behind(delay));
        let processing = (spec.has_delay() || spec.send_jitter > Duration::ZERO).then(processing);
        let opening = Opening { ends, start: now, size, processing };
        let slot = Slot { entry, user, counts: measuring, size, packets: 0, first: now, last: now };
        let empty = (0..e.over.len().min(LOOKS)).find_map(|_| {
            let place = e.over.pop_front()?;
            let index = own + place as usize;
            if flows[index].is_empty(network.tally(index), &sockets[flows[index].sockets()]) {
                return Some(place as usize);
            }
            e.over.push_back(place);
            None
        });
        match empty {
            Some(place) => {
                self.slots[place] = slot;
                flows[own + place].reopen(opening, sockets);
                own + place
            }
            None => {
                network.add_flow(Time::NEVER);
                self.slots.push(slot);
                flows.push(Flow::connection(spec, flows.len(), e.routes, opening, sockets));
                flows.len() - 1
            }
        }
    }

    /// A packet of a slot's connection reaches one of its hosts.
    pub(crate) fn count(&mut self, now: Time, place: usize, packet: &Packet) {
        let slot = &mut self.slots[place];
        let measured = &mut self.entries[slot.entry as usize].measured;
        if self.measuring {
            let bytes = if packet.forward { &mut measured.arrived_bytes } else { &mut measured.returned_bytes };
            *bytes += u64::from(packet.size);
        }
        if packet.forward && packet.payload() > 0 {
            if slot.packets == 0 {
                slot.first = now;
            }
            slot.packets += 1;
            slot.last = now;
        }
    }

    /// A connection is over: what its user does next.
    pub(crate) fn finish(&mut self, now: Time, place: usize, flow: &mut Flow, own: &mut [Socket]) -> Vec<Next> {
        let slot = &self.slots[place];
        let e = &mut self.entries[slot.entry as usize];
        e.live -= 1;
        // The slot of a law that failed stays as it is until the world looks at it.
        if failed_law(own).is_none() {
            e.over.push_back(place as u32);
        }
        if self.measuring {
            e.measured.add(flow, own);
        }
        if slot.counts {
            e.measured.complete(slot, flow.completion_times());
        }
        if let (Some(user), Some(_), Some(endpoint)) = (slot.user, flow.completion_times(), own[SOURCE].transport.tcp())
        {
            endpoint.save(&mut self.users[user as usize].known);
        }
        flow.end_measuring(now, own);
        slot.user.map_or_else(Vec::new, |user| self.go_on(now, user))
    }

    /// What a user does after an object: the next ones, or, after the last of a page, another page.
    fn go_on(&mut self, now: Time, number: u32) -> Vec<Next> {
        let user = &mut self.users[number as usize];
        let e = &mut self.entries[user.entry as usize];
        let Some(page) = e.spec.arrivals.page() else { return Vec::new() };
        user.busy -= 1;
        let at = |wait: f64| Next::Request(now + Duration::from_secs_f64(wait), number);
        let objects = user.more.min(page.parallel - user.busy);
        user.busy += objects;
        user.more -= objects;
        if user.busy > 0 {
            return (0..objects).map(|_| at(page.active_off.draw(&mut user.offs))).collect();
        }
        if matches!(e.spec.arrivals, Arrivals::Pages { .. }) {
            e.idle_users.push(number);
            return Vec::new();
        }
        vec![at(page.think.draw(&mut user.think))]
    }

    /// The measured interval begins.
    pub(crate) fn begin_measuring(&mut self) {
        self.measuring = true;
    }

    /// The entry of a slot.
    pub(crate) fn entry(&self, place: u32) -> u32 {
        self.slots[place as usize].entry
    }

    /// A row per entry, and one per entry and bin of sizes with a completed connection in it. `flows` are those of the
    /// slots, `lost` finds the data packets that each lost in the measured interval of this length, s.
    pub(crate) fn summaries(
        mut self,
        flows: &[Flow],
        sockets: &[Socket],
        lost: impl Fn(usize) -> u64,
        measured_s: f64,
    ) -> (BackgroundTable, CompletionTimes) {
        let mut losses = vec![0; self.entries.len()];
        for (place, slot) in self.slots.iter().enumerate() {
            losses[slot.entry as usize] += lost(place);
            if !flows[place].is_over() {
                self.entries[slot.entry as usize].measured.add(&flows[place], &sockets[flows[place].sockets()]);
            }
        }
        let (mut whole, mut bins) = (BackgroundTable::default(), CompletionTimes::default());
        for (entry, lost) in self.entries.iter().zip(losses) {
            whole.push(&entry.whole(lost, measured_s));
            entry.bins().for_each(|bin| bins.push(&bin));
        }
        (whole, bins)
    }
}

impl User {
    fn new(seed: u64, entry: u32, name: &str) -> User {
        let stream = |what: &str| Stream::new(seed, &format!("{name}/{what}"));
        let known = Metrics::default();
        User { entry, busy: 0, more: 0, pages: stream("objects"), offs: stream("off"), think: stream("think"), known }
    }
}

impl Entry {
    /// What the next connection's RTT has beyond that of the route.
    fn draw_delay(&mut self) -> Duration {
        Duration::from_secs_f64(self.spec.rtt.draw(&mut self.rtts)).saturating_sub(self.spec.base_rtt)
    }

    fn direction(&self) -> &'static str {
        if self.spec.reverse { "reverse" } else { "forward" }
    }
}

impl Measured {
    /// Adds what a connection has counted in the measured interval.
    fn add(&mut self, flow: &Flow, own: &[Socket]) {
        let counted = flow.counted(own);
        self.delivered_bytes += counted.delivered_bytes;
        self.segments_sent += counted.segments_sent;
        self.segments_retransmitted += counted.segments_retransmitted;
        self.timeouts += counted.timeouts;
    }

    /// Counts a connection that is over; without completion times it has failed.
    fn complete(&mut self, slot: &Slot, times: Option<[Duration; 2]>) {
        let Some(times) = times else {
            self.failed += 1;
            return;
        };
        self.completed += 1;
        self.goodputs += slot.size as f64 * 8.0 / times[0].as_secs_f64();
        if slot.packets > 1 {
            self.intervals += (slot.last - slot.first).as_secs_f64() / (slot.packets - 1) as f64;
            self.with_interval += 1;
        }
        let bin = BINS.partition_point(|&from| from <= slot.size);
        for (end, &time) in times.iter().enumerate() {
            self.fct[end].record(time);
            self.bins[bin][end].record(time);
        }
    }
}
