//! ABR: routes over links that have lasted, mended near where they break (Toh 1997); the routing of TCP-BuS.
//!
//! Stations beacon; how many beacons of a neighbour were heard in a row are its associativity *ticks*. A broadcast query gathers the
//! ticks of the links that it passes, and the destination chooses among its copies. The station before a broken link asks for a new
//! end of the route with a localised query as far as the end was; if nobody answers, a route notification makes the next one upstream
//! try, down to the middle of the route, and then the source.
//!
//! Only destinations answer, and number their answers: a station takes a route only from a newer answer than its own came from, so
//! that none leads in a circle. The number is ours. Left out: route delete, alternates, and all that concerns power.

#[cfg(test)]
mod tests;

use super::buffer::Buffer;
use super::{Action, Context, EXPERIMENT, Encoded, Entry, Routing, StationId, Why};
use crate::net::field::{FREE, Field, Params};
use crate::net::medium::{Parcel, ParcelId};
use crate::wire::{Body, IP_HEADER, Packet};
use cclab_algo::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};

/// As the registry knows it.
pub const ENTRY: Entry = Entry {
    name: "abr",
    summary: "routes over links that have lasted, chosen by the destination and mended where they break",
    source: "Toh, Associativity-Based Routing, 1997",
    fields: FIELDS,
    check: FREE,
    start: |params, neighbours| {
        let config = Config::new(params);
        (0..neighbours.len()).map(|me| Box::new(Abr::new(StationId(me as u32), config)) as Box<dyn Routing>).collect()
    },
};

const MILLISECOND: Duration = Duration::from_millis(1);

const FIELDS: &[Field] = &[
    Field::time("beacon_interval", Duration::from_secs(1), "how often stations say that they are there")
        .at_least(MILLISECOND),
    Field::integer("beacon_loss", 2, (1, 100), "beacons of a neighbour missed before its ticks begin anew"),
    Field::integer("threshold", 5, (1, 1_000_000), "ticks from which on a link counts as stable"),
    Field::time(
        "selection_time",
        Duration::from_millis(50),
        "the destination waits so long for more copies of a query",
    ),
    Field::time(
        "hop_time",
        Duration::from_millis(40),
        "time of a hop: a localised query waits twice that for each, and the selection",
    ),
    Field::time(
        "query_timeout",
        Duration::from_millis(500),
        "wait for an answer to the first query to all; then doubled",
    )
    .at_least(MILLISECOND),
    Field::time("max_query_timeout", Duration::from_secs(10), "longest wait").at_least(MILLISECOND),
    Field::integer("query_retries", 8, (0, 1000), "more queries to all"),
    Field::flag("local_query", true, "the station before a broken link looks for another end of the route"),
    Field::integer("max_hops", 64, (1, 254), "hops that a query to all may make"),
    Field::integer("buffer", 64, (1, 1_000_000), "packets that wait for a route; the oldest goes first"),
    Field::time("buffer_timeout", Duration::from_secs(30), "they wait so long"),
    Field::time("jitter", Duration::from_millis(10), "a query that is passed on waits up to so long"),
    Field::time("flush_spacing", Duration::from_millis(10), "what waited for a route leaves so far apart"),
];

/// The fields, read.
#[derive(Clone, Copy, Debug)]
struct Config {
    beacon_interval: Duration,
    beacon_loss: u64,
    threshold: u64,
    selection_time: Duration,
    hop_time: Duration,
    query_timeout: Duration,
    max_query_timeout: Duration,
    query_retries: u64,
    local_query: bool,
    max_hops: u8,
    buffer: usize,
    buffer_timeout: Duration,
    jitter: Duration,
    flush_spacing: Duration,
}

impl Config {
    fn new(params: &Params) -> Config {
        Config {
            beacon_interval: params.get("beacon_interval"),
            beacon_loss: params.get("beacon_loss"),
            threshold: params.get("threshold"),
            selection_time: params.get("selection_time"),
            hop_time: params.get("hop_time"),
            query_timeout: params.get("query_timeout"),
            max_query_timeout: params.get("max_query_timeout"),
            query_retries: params.get("query_retries"),
            local_query: params.get("local_query"),
            max_hops: params.get::<u64>("max_hops") as u8,
            buffer: params.get::<u64>("buffer") as usize,
            buffer_timeout: params.get("buffer_timeout"),
            jitter: params.get("jitter"),
            flush_spacing: params.get("flush_spacing"),
        }
    }
}

/// A message of ABR.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// I am here.
    Beacon,
    /// A broadcast query, or a localised one.
    Query {
        /// Its number; with the first station of the path it names the query.
        id: u32,
        /// Whereto.
        to: StationId,
        /// From who asks to who sends this.
        path: Vec<Hop>,
        /// What waits first where a route broke: a flow, and the sequence number (TCP-BuS).
        head: Option<(u32, u64)>,
    },
    /// The destination's choice, on its way back.
    Reply {
        /// Number of the answer.
        number: u32,
        /// From who asked to the destination.
        path: Vec<StationId>,
        /// What the flow's receiver has in order (TCP-BuS).
        received: Option<(u32, u64)>,
    },
    /// There is no way over this station any more.
    Notification {
        /// Whereto.
        to: StationId,
    },
}

/// A hop of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Where it leads.
    pub station: StationId,
    /// Beacons in a row that this station heard of the one before.
    pub ticks: u64,
    /// Routes over this station.
    pub load: u32,
}

impl Message {
    /// IP bytes; no published format is known to us: 4 for each field.
    fn bytes(&self) -> u32 {
        let carried = |field: &Option<(u32, u64)>| if field.is_some() { 8 } else { 0 };
        IP_HEADER
            + match self {
                Message::Beacon => 4,
                Message::Query { path, head, .. } => 12 + 12 * path.len() as u32 + carried(head),
                Message::Reply { path, received, .. } => 8 + 4 * path.len() as u32 + carried(received),
                Message::Notification { .. } => 8,
            }
    }

    /// Fields of 4 bytes: kind (0 to 3), stations in the path, whether a flow's number and offset end it, 0; then as the variants
    /// have them. Ours: a network analyser shows them as data.
    pub(super) fn encode(&self, address: &dyn Fn(StationId) -> [u8; 4]) -> Encoded {
        let number = |n: u32| n.to_be_bytes();
        let head = |kind, stations: usize, flow: Option<(u32, u64)>| [kind, stations as u8, flow.is_some().into(), 0];
        let tail = |flow: Option<(u32, u64)>| flow.map_or(vec![], |(flow, seq)| vec![number(flow), number(seq as u32)]);
        let (summary, words) = match self {
            Message::Beacon => ("beacon", vec![head(0, 0, None)]),
            Message::Query { id, to, path, head: flow } => {
                let mut words = vec![head(1, path.len(), *flow), number(*id), address(*to)];
                for hop in path {
                    words.extend([address(hop.station), number(hop.ticks as u32), number(hop.load)]);
                }
                ("query", [words, tail(*flow)].concat())
            }
            Message::Reply { number: of, path, received } => {
                let mut words = vec![head(2, path.len(), *received), number(*of)];
                words.extend(path.iter().map(|&station| address(station)));
                ("reply", [words, tail(*received)].concat())
            }
            Message::Notification { to } => ("notification", vec![head(3, 0, None), address(*to)]),
        };
        Encoded { protocol: EXPERIMENT, ends: None, payload: words.concat(), summary }
    }
}

/// What is up with a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Down,
    /// This station looks for another end of it.
    Repairing,
}

/// A route.
#[derive(Clone, Debug)]
struct Route {
    to: StationId,
    next: StationId,
    hops: u8,
    /// Of the answer that it came from.
    number: u32,
    state: State,
    users: Vec<User>,
}

/// Who sends over a route.
#[derive(Clone, Copy, Debug)]
struct User {
    source: StationId,
    /// The neighbour that it comes from, and how far it has come.
    from: Option<StationId>,
    hops: u8,
    /// When it last did.
    sent: Time,
}

/// So long who sent something sends over a route.
const USES: Duration = Duration::from_secs(5);

/// A destination that is looked for: within this distance, or everywhere.
#[derive(Clone, Copy, Debug)]
struct Search {
    to: StationId,
    local: Option<u8>,
    tries: u64,
    due: Time,
}

/// Copies of a query at its destination, the best so far.
#[derive(Clone, Debug)]
struct Choice {
    id: u32,
    path: Vec<Hop>,
    head: Option<(u32, u64)>,
    due: Time,
}

#[derive(Clone, Copy, Debug)]
struct Neighbour {
    station: StationId,
    ticks: u64,
    heard: Time,
}

/// Queries that a station remembers.
const SEEN: usize = 1024;

/// ABR at one station.
struct Abr {
    me: StationId,
    config: Config,
    neighbours: Vec<Neighbour>,
    /// When it is time for the next beacon; the first is at a random time.
    beacon: Option<Time>,
    /// Sorted by destination.
    routes: Vec<Route>,
    buffer: Buffer,
    searches: Vec<Search>,
    choices: Vec<Choice>,
    /// Number of the last query, and of the last answer.
    id: u32,
    number: u32,
    seen: BTreeSet<(StationId, u32)>,
    order: VecDeque<(StationId, u32)>,
    /// What this host acknowledged of each flow, and what replies said of those.
    acknowledged: Vec<(u32, u64)>,
    received: Vec<(u32, u64)>,
}

impl Abr {
    fn new(me: StationId, config: Config) -> Abr {
        Abr {
            me,
            config,
            neighbours: Vec::new(),
            beacon: None,
            routes: Vec::new(),
            buffer: Buffer::new(config.buffer, config.buffer_timeout),
            searches: Vec::new(),
            choices: Vec::new(),
            id: 0,
            number: 0,
            seen: BTreeSet::new(),
            order: VecDeque::new(),
            acknowledged: Vec::new(),
            received: Vec::new(),
        }
    }

    fn tell(
        &mut self,
        now: Time,
        message: Message,
        ttl: u8,
        next: Option<StationId>,
        after: Duration,
        cx: &mut Context,
    ) {
        let bytes = message.bytes();
        cx.tell(now, super::Message::Abr(message), bytes, ttl, next, after);
    }

    fn place(&self, to: StationId) -> Result<usize, usize> {
        self.routes.binary_search_by_key(&to, |route| route.to)
    }

    /// The route, or a new one that is down.
    fn entry(&mut self, to: StationId) -> &mut Route {
        let place = self.place(to).unwrap_or_else(|place| {
            let route = Route { to, next: to, hops: 0, number: 0, state: State::Down, users: Vec::new() };
            self.routes.insert(place, route);
            place
        });
        &mut self.routes[place]
    }

    fn route(&mut self, to: StationId) -> Option<&mut Route> {
        self.place(to).ok().map(|place| &mut self.routes[place])
    }

    // -- associativity ---------------------------------------------------------------------------------------------------------------

    fn ticks(&self, now: Time, station: StationId) -> u64 {
        let patience = self.config.beacon_interval * (self.config.beacon_loss + 1);
        let known = self.neighbours.iter().find(|neighbour| neighbour.station == station);
        known.filter(|neighbour| now.since(neighbour.heard) < patience).map_or(0, |neighbour| neighbour.ticks)
    }

    fn on_beacon(&mut self, now: Time, from: StationId) {
        let ticks = self.ticks(now, from) + 1;
        self.neighbours.retain(|neighbour| neighbour.station != from);
        self.neighbours.push(Neighbour { station: from, ticks, heard: now });
    }

    // -- discovery ---------------------------------------------------------------------------------------------------------------------

    /// Looks for `to`: within `local` hops, or everywhere.
    fn search(&mut self, now: Time, to: StationId, local: Option<u8>, cx: &mut Context) {
        self.searches.retain(|search| search.to != to);
        self.searches.push(Search { to, local, tries: 0, due: now });
        self.ask(now, self.searches.len() - 1, cx);
    }

    fn ask(&mut self, now: Time, place: usize, cx: &mut Context) {
        let Search { to, local, tries, .. } = self.searches[place];
        if tries > if local.is_some() { 0 } else { self.config.query_retries } {
            self.searches.remove(place);
            return self.give_up(now, to, cx);
        }
        let Config { hop_time, selection_time, query_timeout, max_query_timeout, max_hops, .. } = self.config;
        let patience = match local {
            Some(hops) => (hop_time * (2 * u64::from(hops)) + selection_time).max(Duration(1)),
            None => (query_timeout * (1 << tries.min(30))).min(max_query_timeout),
        };
        let search = &mut self.searches[place];
        (search.tries, search.due) = (tries + 1, now + patience);
        self.id += 1;
        let head = self.buffer.first(to).and_then(|parcel| match &cx.parcels[parcel].packet {
            Packet { body: Body::Tcp(segment), flow, .. } if segment.len > 0 => Some((*flow, segment.seq)),
            _ => None,
        });
        let path = vec![Hop { station: self.me, ticks: 0, load: 0 }];
        let message = Message::Query { id: self.id, to, path, head };
        self.tell(now, message, local.unwrap_or(max_hops), None, Duration::ZERO, cx);
    }

    fn on_query(&mut self, now: Time, query: &Message, ttl: u8, from: StationId, cx: &mut Context) {
        let Message::Query { id, to, path, head } = query else { return };
        if path.iter().any(|hop| hop.station == self.me) {
            return;
        }
        let load = self.routes.iter().filter(|route| route.state == State::Up).count() as u32;
        let mut path = path.clone();
        path.push(Hop { station: self.me, ticks: self.ticks(now, from), load });
        let asker = path[0].station;
        if *to == self.me {
            let known = self.choices.iter_mut().find(|choice| choice.id == *id && choice.path[0].station == asker);
            if let Some(choice) = known {
                if rank(&path, self.config.threshold) < rank(&choice.path, self.config.threshold) {
                    choice.path = path;
                }
                return;
            }
            if self.is_new(asker, *id) {
                self.choices.push(Choice { id: *id, path, head: *head, due: now + self.config.selection_time });
            }
        } else if self.is_new(asker, *id) && ttl > 0 {
            let after = self.config.jitter.mul_f64(cx.rng.uniform());
            self.tell(now, Message::Query { id: *id, to: *to, path, head: *head }, ttl, None, after, cx);
        }
    }

    fn is_new(&mut self, asker: StationId, id: u32) -> bool {
        let new = self.seen.insert((asker, id));
        if new {
            self.order.push_back((asker, id));
        }
        if self.order.len() > SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        new
    }

    /// The destination's choice goes back.
    fn answer(&mut self, now: Time, choice: &Choice, cx: &mut Context) {
        self.number += 1;
        let path: Vec<StationId> = choice.path.iter().map(|hop| hop.station).collect();
        let next = path[path.len() - 2];
        let of_flow = |(flow, _)| self.acknowledged.iter().copied().find(|known| known.0 == flow);
        let received = choice.head.and_then(of_flow);
        let message = Message::Reply { number: self.number, path, received };
        self.tell(now, message, self.config.max_hops, Some(next), Duration::ZERO, cx);
    }

    fn on_reply(&mut self, now: Time, reply: &Message, from: StationId, cx: &mut Context) {
        let Message::Reply { number, path, received } = reply else { return };
        let (Some(at), Some(&to)) = (path.iter().position(|&station| station == self.me), path.last()) else { return };
        let hops = (path.len() - 1 - at) as u8;
        let route = self.entry(to);
        if *number <= route.number {
            return;
        }
        let before = (route.state == State::Up).then_some(route.hops);
        (route.next, route.hops, route.number, route.state) = (from, hops, *number, State::Up);
        if let Some((flow, ack)) = *received {
            put(&mut self.received, flow, ack);
        }
        if before != Some(hops) {
            cx.out.push(Action::RouteFound { to, hops });
        }
        self.searches.retain(|search| search.to != to);
        for (parcel, n) in self.buffer.take(to).into_iter().zip(0..) {
            cx.out.push(Action::Send { parcel, next: Some(from), after: self.config.flush_spacing * n });
        }
        if at > 0 {
            let (message, next) = (reply.clone(), path[at - 1]);
            self.tell(now, message, self.config.max_hops, Some(next), Duration::ZERO, cx);
        }
    }

    // -- reconstruction -------------------------------------------------------------------------------------------------------------------

    /// The route ends here: this station looks for another end of it, or tells who sends over it.
    fn mend(&mut self, now: Time, to: StationId, parcel: Option<ParcelId>, pivot: bool, cx: &mut Context) {
        let (me, local_query) = (self.me, self.config.local_query);
        let Some(route) = self.route(to) else { return };
        route.users.retain(|user| now.since(user.sent) < USES);
        let own = route.users.iter().any(|user| user.source == me);
        let others = route.users.iter().any(|user| user.source != me);
        let behind = route.users.iter().map(|user| user.hops).max().unwrap_or(0);
        // whoever is before the break tries; then who is nearer to the end than to the beginning
        let local = (!own && local_query && (pivot || behind >= route.hops)).then_some(route.hops);
        let repairing = local.is_some() || own && others;
        route.state = if repairing { State::Repairing } else { State::Down };
        cx.out.push(Action::RouteLost { to, parcel, repairing });
        if repairing || own {
            self.search(now, to, local, cx);
        } else {
            self.notify(now, to, cx);
        }
    }

    /// Who sends over this station to `to` is told that there is no way.
    fn notify(&mut self, now: Time, to: StationId, cx: &mut Context) {
        let Some(route) = self.route(to) else { return };
        let mut upstream: Vec<StationId> =
            std::mem::take(&mut route.users).into_iter().filter_map(|user| user.from).collect();
        upstream.sort_unstable();
        upstream.dedup();
        for station in upstream {
            self.tell(now, Message::Notification { to }, 1, Some(station), Duration::ZERO, cx);
        }
    }

    fn on_notification(&mut self, now: Time, to: StationId, from: StationId, cx: &mut Context) {
        if self.route(to).is_some_and(|route| route.state == State::Up && route.next == from) {
            self.mend(now, to, None, false, cx);
        }
    }

    /// Nobody answered.
    fn give_up(&mut self, now: Time, to: StationId, cx: &mut Context) {
        for parcel in self.buffer.take(to) {
            cx.drop(parcel, Why::NoRoute);
        }
        let Some(route) = self.route(to).filter(|route| route.state == State::Repairing) else { return };
        route.state = State::Down;
        cx.out.push(Action::RouteLost { to, parcel: None, repairing: false });
        self.notify(now, to, cx);
    }

    /// A parcel could not be sent to `next`.
    fn rescue(&mut self, now: Time, parcel: ParcelId, next: StationId, cx: &mut Context) {
        let Parcel { source, destination, message, .. } = &cx.parcels[parcel];
        let (source, destination, is_message) = (*source, *destination, message.is_some());
        let Some(to) = destination.filter(|_| !is_message) else { return cx.drop(parcel, Why::Unreachable) };
        let broken = self.route(to).is_some_and(|route| route.state == State::Up && route.next == next);
        if broken {
            // it waits before the query is made, which names the first that waits
            self.buffer.push(now, parcel, to, cx);
            self.mend(now, to, Some(parcel), true, cx);
            if self.route(to).is_some_and(|route| route.state == State::Down) && source != self.me {
                for parcel in self.buffer.take(to) {
                    cx.drop(parcel, Why::Unreachable);
                }
            }
            return;
        }
        match self.route(to).map(|route| (route.state, route.next)) {
            Some((State::Up, other)) => cx.send(parcel, other),
            Some((State::Repairing, _)) => self.buffer.push(now, parcel, to, cx),
            _ if source == self.me => self.forward(now, parcel, None, cx),
            _ => cx.drop(parcel, Why::Unreachable),
        }
    }
}

/// Fewest links that are not stable, then fewest hops, then the least load.
fn rank(path: &[Hop], threshold: u64) -> (usize, usize, u32) {
    let unstable = path[1..].iter().filter(|hop| hop.ticks < threshold).count();
    (unstable, path.len(), path.iter().map(|hop| hop.load).sum())
}

/// Puts what is known of a flow in the place of what was.
fn put(list: &mut Vec<(u32, u64)>, flow: u32, value: u64) {
    match list.iter_mut().find(|known| known.0 == flow) {
        Some(known) => known.1 = known.1.max(value),
        None => list.push((flow, value)),
    }
}

impl Routing for Abr {
    fn forward(&mut self, now: Time, parcel: ParcelId, from: Option<StationId>, cx: &mut Context) {
        let Parcel { source, destination, hops, packet, .. } = &cx.parcels[parcel];
        let Some(to) = *destination else { return cx.drop(parcel, Why::NoRoute) };
        let user = User { source: *source, from, hops: *hops, sent: now };
        if from.is_none()
            && let Packet { body: Body::Tcp(segment), flow, .. } = packet
        {
            put(&mut self.acknowledged, *flow, segment.ack);
        }
        let route = self.entry(to);
        match route.users.iter_mut().find(|known| known.source == user.source) {
            Some(known) => *known = user,
            None => route.users.push(user),
        }
        let state = route.state;
        if state == State::Up {
            return cx.send(parcel, route.next);
        }
        if state == State::Repairing {
            self.buffer.push(now, parcel, to, cx);
        } else if from.is_none() {
            self.buffer.push(now, parcel, to, cx);
            if !self.searches.iter().any(|search| search.to == to) {
                self.search(now, to, None, cx);
            }
        } else {
            cx.drop(parcel, Why::NoRoute);
            self.tell(now, Message::Notification { to }, 1, from, Duration::ZERO, cx);
        }
    }

    fn on_message(&mut self, now: Time, parcel: &Parcel, from: StationId, cx: &mut Context) {
        let Some(super::Message::Abr(message)) = parcel.message.as_deref() else { return };
        match message {
            Message::Beacon => self.on_beacon(now, from),
            Message::Query { .. } => self.on_query(now, message, parcel.ttl, from, cx),
            Message::Reply { .. } => self.on_reply(now, message, from, cx),
            Message::Notification { to } => self.on_notification(now, *to, from, cx),
        }
    }

    fn on_failure(&mut self, now: Time, parcel: ParcelId, next: StationId, cx: &mut Context) {
        self.neighbours.retain(|neighbour| neighbour.station != next);
        for parcel in [parcel].into_iter().chain((cx.recall)(next)) {
            self.rescue(now, parcel, next, cx);
        }
    }

    fn on_timer(&mut self, now: Time, cx: &mut Context) {
        self.buffer.expire(now, cx);
        while let Some(place) = self.choices.iter().position(|choice| choice.due <= now) {
            let choice = self.choices.remove(place);
            self.answer(now, &choice, cx);
        }
        while let Some(place) = self.searches.iter().position(|search| search.due <= now) {
            self.ask(now, place, cx);
        }
        let interval = self.config.beacon_interval;
        let at = *self.beacon.get_or_insert(now + interval.mul_f64(cx.rng.uniform()));
        if at <= now {
            self.beacon = Some(now + interval);
            self.tell(now, Message::Beacon, 1, None, Duration::ZERO, cx);
        }
    }

    fn next_timer(&self) -> Time {
        let search = self.searches.iter().map(|search| search.due);
        let due = self.choices.iter().map(|choice| choice.due).chain(search).min().unwrap_or(Time::NEVER);
        self.buffer.next_timer().min(due).min(self.beacon.unwrap_or(Time::ZERO))
    }

    fn next_hop(&self, _: Time, to: StationId) -> Option<(StationId, u8)> {
        let route = self.place(to).ok().map(|place| &self.routes[place]);
        route.filter(|route| route.state == State::Up).map(|route| (route.next, route.hops))
    }

    fn received(&self, flow: u32) -> Option<u64> {
        self.received.iter().find(|known| known.0 == flow).map(|known| known.1)
    }

    fn held(&self) -> usize {
        self.buffer.len()
    }
}
