//! DSR: each parcel carries the stations that it is to pass; who sends it knows the whole path (RFC 4728).
//!
//! Left out: flow state (§3.5), acknowledgements by the network layer (§3.2: the MAC tells), delays against storms of replies
//! (§8.2.5), and paths over links that carry one way only (802.11 has none).

mod cache;
#[cfg(test)]
mod tests;

use super::Encoded;
use super::buffer::Buffer;
use super::{Action, Context, Entry, Routing, SourceRoute, StationId, Why};
use crate::net::field::{Domain, FREE, Field, Params, Value};
use crate::net::medium::{Parcel, ParcelId};
use crate::wire::IP_HEADER;
use cache::{Cache, repeats};
use cclab_algo::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};

/// As the registry knows it.
pub const ENTRY: Entry = Entry {
    name: "dsr",
    summary: "each packet carries its path; paths are looked for on demand, kept in caches and overheard",
    source: "RFC 4728; ns-2.35",
    fields: FIELDS,
    check: FREE,
    start: |params, neighbours| {
        let config = Config::new(params);
        (0..neighbours.len()).map(|me| Box::new(Dsr::new(StationId(me as u32), config)) as Box<dyn Routing>).collect()
    },
};

const FIELDS: &[Field] = &[
    Field::choice("profile", &["ns2", "rfc4728"], "whose values where they differ"),
    Field::integer(
        "max_hops",
        62,
        (1, 62),
        "hops that a request may make: as many as an option's length octet allows (ns-2 16)",
    ),
    Field::flag("nonpropagating", true, "neighbours are asked first"),
    time("nonprop_timeout", Duration::from_millis(30), "how long for"),
    time("request_period", Duration::from_millis(500), "wait behind the first request to all")
        .at_least(Duration::from_millis(1)),
    rfc(Field::integer("backoff", 4, (1, 16), "factor by which the next wait is longer"), Value::Integer(2)),
    time("max_request_period", Duration::from_secs(10), "longest wait").at_least(Duration::from_millis(1)),
    Field::integer("max_request_rexmt", 16, (1, 1000), "requests to all before those who wait are dropped"),
    Field::flag("cache_replies", true, "stations on the way answer from their caches"),
    rfc(Field::integer("cache", 94, (1, 100_000), "paths in a cache; the oldest goes first"), Value::Integer(64)),
    rfc(
        Field::optional("route_cache_timeout", Domain::TIME, "never", "a path is believed so long"),
        Value::Time(Duration::from_secs(300)),
    ),
    Field::integer("max_salvage_count", 15, (0, 15), "times that a packet may be given another path on its way"),
    Field::flag("tap", true, "what is overheard is learnt from"),
    Field::flag("gratuitous", true, "who overhears a packet that will pass it later tells the source the shorter path"),
    time("grat_reply_holdoff", Duration::from_secs(1), "not again within"),
    Field::integer("buffer", 64, (1, 1_000_000), "packets that wait for a path; the oldest goes first"),
    time("buffer_timeout", Duration::from_secs(30), "they wait so long"),
    time("jitter", Duration::from_millis(10), "a request that is passed on waits up to so long"),
    rfc(
        time("flush_spacing", Duration::from_millis(30), "what waited for a path leaves so far apart"),
        Value::Time(Duration::ZERO),
    ),
];

const fn time(name: &'static str, default: Duration, doc: &'static str) -> Field {
    Field::time(name, default, doc)
}
const fn rfc(field: Field, default: Value) -> Field {
    field.unless("profile", Value::Word("rfc4728"), default)
}

/// The fields, read.
#[derive(Clone, Copy, Debug)]
struct Config {
    max_hops: u8,
    nonpropagating: bool,
    nonprop_timeout: Duration,
    request_period: Duration,
    backoff: u64,
    max_request_period: Duration,
    max_request_rexmt: u64,
    cache_replies: bool,
    cache: usize,
    route_cache_timeout: Option<Duration>,
    max_salvage_count: u8,
    tap: bool,
    gratuitous: bool,
    grat_reply_holdoff: Duration,
    buffer: usize,
    buffer_timeout: Duration,
    jitter: Duration,
    flush_spacing: Duration,
}

impl Config {
    fn new(params: &Params) -> Config {
        Config {
            max_hops: params.get::<u64>("max_hops") as u8,
            nonpropagating: params.get("nonpropagating"),
            nonprop_timeout: params.get("nonprop_timeout"),
            request_period: params.get("request_period"),
            backoff: params.get("backoff"),
            max_request_period: params.get("max_request_period"),
            max_request_rexmt: params.get("max_request_rexmt"),
            cache_replies: params.get("cache_replies"),
            cache: params.get::<u64>("cache") as usize,
            route_cache_timeout: params.get("route_cache_timeout"),
            max_salvage_count: params.get::<u64>("max_salvage_count") as u8,
            tap: params.get("tap"),
            gratuitous: params.get("gratuitous"),
            grat_reply_holdoff: params.get("grat_reply_holdoff"),
            buffer: params.get::<u64>("buffer") as usize,
            buffer_timeout: params.get("buffer_timeout"),
            jitter: params.get("jitter"),
            flush_spacing: params.get("flush_spacing"),
        }
    }
}

/// A message of DSR.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Who knows a path to `target`? (§6.2)
    Request {
        /// Its number; with who asks it names the request.
        id: u16,
        /// Whereto.
        target: StationId,
        /// From who asks to who sends this.
        path: Vec<StationId>,
        /// A link that broke, of which who asks was told (§3.4.4).
        broken: Option<(StationId, StationId)>,
    },
    /// There is a path (§6.3); on its way back to the first station of it.
    Reply {
        /// From who asked to the target.
        path: Vec<StationId>,
        /// The way of the reply.
        way: SourceRoute,
    },
    /// A link broke (§6.4); on its way to who sent over it.
    Error {
        /// From which station to which.
        link: (StationId, StationId),
        /// The way of the error.
        way: SourceRoute,
    },
}

impl Message {
    /// IP bytes: the fixed header of 4, the option, and the source route that it travels by (§6).
    fn bytes(&self) -> u32 {
        const ERROR: u32 = 16;
        let option = match self {
            Message::Request { path, broken, .. } => {
                4 + 8 + 4 * (path.len() as u32 - 1) + if broken.is_some() { ERROR } else { 0 }
            }
            Message::Reply { path, way } => way.bytes() + 3 + 4 * (path.len() as u32 - 1),
            Message::Error { way, .. } => way.bytes() + ERROR,
        };
        IP_HEADER + option
    }

    /// RFC 4728 §6, without the padding (§6.8).
    pub(super) fn encode(&self, address: &dyn Fn(StationId) -> [u8; 4]) -> Encoded {
        let mut options = Vec::new();
        let (ends, summary) = match self {
            Message::Request { id, target, path, broken } => {
                let between: Vec<[u8; 4]> = path[1..].iter().map(|&station| address(station)).collect();
                options.extend([1, octet(6 + 4 * between.len())]);
                options.extend(id.to_be_bytes());
                options.extend(address(*target));
                options.extend(between.concat());
                if let Some(link) = *broken {
                    options.extend(error(link, path[0], address));
                }
                ((path[0], None), "route request")
            }
            Message::Reply { path, way } => {
                options.extend(way.option(address));
                options.extend([2, octet(1 + 4 * hops(path)), 0]);
                path[1..].iter().for_each(|&station| options.extend(address(station)));
                (way.ends(), "route reply")
            }
            Message::Error { link, way } => {
                options.extend(way.option(address));
                options.extend(error(*link, way.ends().1.unwrap_or(link.0), address));
                (way.ends(), "route error")
            }
        };
        Encoded { protocol: PROTOCOL, ends: Some(ends), payload: header(NO_NEXT_HEADER, options), summary }
    }
}

/// IP's number of DSR, and what stands in its header when nothing follows (RFC 4728 §6.1).
pub const PROTOCOL: u8 = 48;
const NO_NEXT_HEADER: u8 = 59;

fn hops(path: &[StationId]) -> usize {
    path.len() - 1
}

/// What is bounded by the hops of a path as an octet.
fn octet(n: usize) -> u8 {
    u8::try_from(n).expect("no path is longer than max_hops, at most 62")
}

/// The DSR header (§6.1) with its options.
fn header(next_header: u8, options: Vec<u8>) -> Vec<u8> {
    let [high, low] = (options.len() as u16).to_be_bytes();
    [vec![next_header, 0, high, low], options].concat()
}

/// A route error (§6.4): NODE_UNREACHABLE, from the first station of the link, for `to`.
fn error(link: (StationId, StationId), to: StationId, address: &dyn Fn(StationId) -> [u8; 4]) -> Vec<u8> {
    [[3, 14, 1, 0], address(link.0), address(to), address(link.1)].concat()
}

impl SourceRoute {
    /// First and last station.
    fn ends(&self) -> (StationId, Option<StationId>) {
        (self.stations[0], self.stations.last().copied())
    }

    /// The option that holds it (§6.7), as the station that has it sends it.
    fn option(&self, address: &dyn Fn(StationId) -> [u8; 4]) -> Vec<u8> {
        let between = &self.stations[1..self.stations.len() - 1];
        let segments_left = between.len().saturating_sub(self.at);
        let bits = u16::from(self.salvaged) << 6 | segments_left as u16;
        let [high, low] = bits.to_be_bytes();
        let addresses: Vec<[u8; 4]> = between.iter().map(|&station| address(station)).collect();
        [vec![96, octet(2 + 4 * between.len()), high, low], addresses.concat()].concat()
    }

    /// The DSR header with this route, before a packet's transport.
    pub fn encode(&self, next_header: u8, address: &dyn Fn(StationId) -> [u8; 4]) -> Vec<u8> {
        header(next_header, self.option(address))
    }
}

/// DSR at one station.
struct Dsr {
    me: StationId,
    config: Config,
    cache: Cache,
    buffer: Buffer,
    searches: Vec<Search>,
    /// Number of the last request.
    id: u16,
    /// Requests seen, the last ones of all.
    seen: BTreeSet<(StationId, u16)>,
    order: VecDeque<(StationId, u16)>,
    /// The link that broke last, to be told with the next request.
    broken: Option<(StationId, StationId)>,
    /// Whereto this host sent, and how far it was when that was last looked at; sorted.
    used: Vec<(StationId, Option<u8>)>,
    /// The path of the parcel that was passed on last.
    last: Vec<StationId>,
    /// Shorter paths told: to whom, of whose transmission, until when not again.
    told: Vec<(StationId, StationId, Time)>,
}

/// A destination that is looked for.
#[derive(Clone, Copy, Debug)]
struct Search {
    to: StationId,
    /// Requests to all so far.
    floods: u64,
    /// The neighbours were asked.
    near: bool,
    due: Time,
}

/// Requests that a station remembers (ns-2, RFC 4728 §9 RequestTableIds: 16 of each of 64 stations).
const SEEN: usize = 1024;

impl Dsr {
    fn new(me: StationId, config: Config) -> Dsr {
        Dsr {
            me,
            config,
            cache: Cache::new(config.cache, config.max_hops, config.route_cache_timeout),
            buffer: Buffer::new(config.buffer, config.buffer_timeout),
            searches: Vec::new(),
            id: 0,
            seen: BTreeSet::new(),
            order: VecDeque::new(),
            broken: None,
            used: Vec::new(),
            last: Vec::new(),
            told: Vec::new(),
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
        cx.tell(now, super::Message::Dsr(message), bytes, ttl, next, after);
    }

    // -- paths --------------------------------------------------------------------------------------------------------------------

    /// What a path says, of which this station is number `at`: onward, and, as links carry both ways, back.
    fn learn(&mut self, now: Time, path: &[StationId], at: usize, cx: &mut Context) {
        let back = reversed(&path[..=at]);
        let onward = self.cache.add(now, &path[at..]);
        if self.cache.add(now, &back) || onward {
            self.review(now, cx);
        }
    }

    /// Tells what the cache's change means for those to whom this host sends, and sends what can go now.
    fn review(&mut self, now: Time, cx: &mut Context) {
        for (to, before) in &mut self.used {
            let hops = self.cache.find(now, *to).map(|path| octet(hops(path)));
            match (*before, hops) {
                (Some(_), None) => cx.out.push(Action::RouteLost { to: *to, parcel: None, repairing: false }),
                (before, Some(hops)) if before != Some(hops) => cx.out.push(Action::RouteFound { to: *to, hops }),
                _ => {}
            }
            *before = hops;
        }
        let mut at = 0;
        while let Some(&Search { to, .. }) = self.searches.get(at) {
            if self.cache.find(now, to).is_none() {
                at += 1;
                continue;
            }
            self.searches.remove(at);
            for (parcel, n) in self.buffer.take(to).into_iter().zip(0..) {
                self.launch(now, parcel, to, self.config.flush_spacing * n, cx);
            }
        }
    }

    /// Gives a parcel a path to `to`, if one is known, and sends it.
    fn launch(&mut self, now: Time, parcel: ParcelId, to: StationId, after: Duration, cx: &mut Context) -> bool {
        let Some(path) = self.cache.find(now, to) else { return false };
        let next = path[1];
        let salvaged = cx.parcels[parcel].path.as_ref().map_or(0, |path| path.salvaged);
        cx.parcels[parcel].path = Some(Box::new(SourceRoute { stations: path.to_vec(), at: 0, salvaged }));
        cx.out.push(Action::Send { parcel, next: Some(next), after });
        true
    }

    // -- discovery (§3.1, §8.2) ------------------------------------------------------------------------------------------------------

    /// A parcel of this host is to go, or to wait for a path.
    fn originate(&mut self, now: Time, parcel: ParcelId, to: StationId, cx: &mut Context) {
        cx.parcels[parcel].path = None;
        if let Err(place) = self.used.binary_search_by_key(&to, |used| used.0) {
            self.used.insert(place, (to, None));
            self.review(now, cx);
        }
        if self.launch(now, parcel, to, Duration::ZERO, cx) {
            return;
        }
        self.buffer.push(now, parcel, to, cx);
        if !self.searches.iter().any(|search| search.to == to) {
            self.searches.push(Search { to, floods: 0, near: !self.config.nonpropagating, due: now });
            self.ask(now, self.searches.len() - 1, cx);
        }
    }

    fn ask(&mut self, now: Time, place: usize, cx: &mut Context) {
        let Search { to, floods, near, .. } = self.searches[place];
        if floods == self.config.max_request_rexmt {
            for parcel in self.buffer.take(to) {
                cx.drop(parcel, Why::NoRoute);
            }
        }
        if !self.buffer.holds(to) {
            self.searches.remove(place);
            return;
        }
        let search = &mut self.searches[place];
        let ttl = if near {
            let Config { request_period, backoff, max_request_period, .. } = self.config;
            let factor = backoff.saturating_pow(floods.min(60) as u32);
            search.floods += 1;
            search.due = now + (request_period * factor).min(max_request_period);
            self.config.max_hops
        } else {
            search.near = true;
            search.due = now + self.config.nonprop_timeout;
            1
        };
        self.id = self.id.wrapping_add(1);
        let message = Message::Request { id: self.id, target: to, path: vec![self.me], broken: self.broken.take() };
        self.tell(now, message, ttl, None, Duration::ZERO, cx);
    }

    fn on_request(&mut self, now: Time, request: &Message, ttl: u8, cx: &mut Context) {
        let Message::Request { id, target, path, broken } = request else { return };
        if path.contains(&self.me) {
            return;
        }
        if let Some((a, b)) = *broken {
            self.cache.cut(a, b);
            self.review(now, cx);
        }
        let asker = path[0];
        let mut extended = path.clone();
        extended.push(self.me);
        self.learn(now, &extended, extended.len() - 1, cx);
        if *target == self.me {
            let at = extended.len() - 1;
            return self.answer(now, extended, at, cx);
        }
        if !self.seen.insert((asker, *id)) {
            return;
        }
        self.order.push_back((asker, *id));
        if self.order.len() > SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        if self.config.cache_replies
            && let Some(onward) = self.cache.find(now, *target)
        {
            let whole = [path, onward].concat();
            if !repeats(&whole) && hops(&whole) <= self.config.max_hops.into() {
                return self.answer(now, whole, path.len(), cx);
            }
        }
        if ttl > 0 {
            let after = self.config.jitter.mul_f64(cx.rng.uniform());
            let message = Message::Request { id: *id, target: *target, path: extended, broken: *broken };
            self.tell(now, message, ttl, None, after, cx);
        }
    }

    /// This station, number `at` of the path, tells the first one of it.
    fn answer(&mut self, now: Time, path: Vec<StationId>, at: usize, cx: &mut Context) {
        let way = SourceRoute { stations: reversed(&path[..=at]), at: 0, salvaged: 0 };
        let next = way.stations[1];
        self.tell(now, Message::Reply { path, way }, self.config.max_hops, Some(next), Duration::ZERO, cx);
    }

    fn on_reply(&mut self, now: Time, path: &[StationId], way: &SourceRoute, cx: &mut Context) {
        if let Some(at) = path.iter().position(|&station| station == self.me) {
            self.learn(now, path, at, cx);
        }
        if let Some((next, way)) = self.onward(way) {
            self.tell(
                now,
                Message::Reply { path: path.to_vec(), way },
                self.config.max_hops,
                Some(next),
                Duration::ZERO,
                cx,
            );
        }
    }

    /// Where a message goes from here that came over this way.
    fn onward(&self, way: &SourceRoute) -> Option<(StationId, SourceRoute)> {
        let at = way.at + 1;
        let next = *way.stations.get(at + 1)?;
        (way.stations[at] == self.me).then(|| (next, SourceRoute { at, ..way.clone() }))
    }

    // -- maintenance (§3.2, §3.4, §8.3) ----------------------------------------------------------------------------------------------

    fn on_error(&mut self, now: Time, link: (StationId, StationId), way: &SourceRoute, cx: &mut Context) {
        self.cache.cut(link.0, link.1);
        self.review(now, cx);
        match self.onward(way) {
            Some((next, way)) => {
                self.tell(now, Message::Error { link, way }, self.config.max_hops, Some(next), Duration::ZERO, cx);
            }
            None if way.stations.last() == Some(&self.me) => self.broken = Some(link),
            None => {}
        }
    }

    /// A parcel cannot go on over its path: it is given another one, or is gone.
    fn salvage(&mut self, now: Time, parcel: ParcelId, lost: &mut Vec<StationId>, cx: &mut Context) {
        let Parcel { source, destination, message, path, .. } = &cx.parcels[parcel];
        let Some(to) = destination.filter(|_| message.is_none()) else { return cx.drop(parcel, Why::Unreachable) };
        if *source == self.me {
            return self.originate(now, parcel, to, cx);
        }
        let salvaged = path.as_ref().map_or(0, |path| path.salvaged);
        if salvaged < self.config.max_salvage_count && self.launch(now, parcel, to, Duration::ZERO, cx) {
            if let Some(path) = &mut cx.parcels[parcel].path {
                path.salvaged += 1;
            }
            return;
        }
        if !lost.contains(&to) {
            lost.push(to);
            cx.out.push(Action::RouteLost { to, parcel: Some(parcel), repairing: false });
        }
        cx.drop(parcel, Why::Unreachable);
    }

    /// The first station of the path that a parcel had hears of the broken link.
    fn report(&mut self, now: Time, parcel: ParcelId, next: StationId, told: &mut Vec<StationId>, cx: &mut Context) {
        let Some(path) = &cx.parcels[parcel].path else { return };
        let first = path.stations[0];
        if first == self.me || told.contains(&first) {
            return;
        }
        told.push(first);
        let way = SourceRoute { stations: reversed(&path.stations[..=path.at]), at: 0, salvaged: 0 };
        let back = way.stations[1];
        let error = Message::Error { link: (self.me, next), way };
        self.tell(now, error, self.config.max_hops, Some(back), Duration::ZERO, cx);
    }
}

/// The same, from its end.
fn reversed(path: &[StationId]) -> Vec<StationId> {
    path.iter().rev().copied().collect()
}

impl Routing for Dsr {
    fn forward(&mut self, now: Time, parcel: ParcelId, from: Option<StationId>, cx: &mut Context) {
        let Parcel { destination, path, .. } = &mut cx.parcels[parcel];
        let Some(to) = *destination else { return cx.drop(parcel, Why::NoRoute) };
        if from.is_none() {
            return self.originate(now, parcel, to, cx);
        }
        let Some(path) = path.as_mut().filter(|path| path.stations.get(path.at + 1) == Some(&self.me)) else {
            return cx.drop(parcel, Why::NoRoute);
        };
        path.at += 1;
        let at = path.at;
        let Some(&next) = path.stations.get(at + 1) else { return cx.drop(parcel, Why::NoRoute) };
        let news = self.last != path.stations;
        if news {
            self.last.clone_from(&path.stations);
        }
        cx.send(parcel, next);
        if news {
            let path = std::mem::take(&mut self.last);
            self.learn(now, &path, at, cx);
            self.last = path;
        }
    }

    fn on_message(&mut self, now: Time, parcel: &Parcel, _: StationId, cx: &mut Context) {
        let Some(super::Message::Dsr(message)) = parcel.message.as_deref() else { return };
        match message {
            Message::Request { .. } => self.on_request(now, message, parcel.ttl, cx),
            Message::Reply { path, way } => self.on_reply(now, path, way, cx),
            Message::Error { link, way } => self.on_error(now, *link, way, cx),
        }
    }

    fn on_arrival(&mut self, now: Time, parcel: &Parcel, _: StationId, cx: &mut Context) {
        if let Some(path) = &parcel.path {
            self.learn(now, &path.stations, path.stations.len() - 1, cx);
        }
    }

    fn on_failure(&mut self, now: Time, parcel: ParcelId, next: StationId, cx: &mut Context) {
        self.cache.cut(self.me, next);
        let (mut told, mut lost) = (Vec::new(), Vec::new());
        for parcel in [parcel].into_iter().chain((cx.recall)(next)) {
            self.report(now, parcel, next, &mut told, cx);
            self.salvage(now, parcel, &mut lost, cx);
        }
        self.review(now, cx);
    }

    /// §3.3.1, §3.4.3, §3.4.4: paths are learnt from others' parcels, broken links from others' errors.
    fn on_overheard(&mut self, now: Time, parcel: &Parcel, from: StationId, to: StationId, cx: &mut Context) {
        if let Some(super::Message::Dsr(Message::Error { link, .. })) = parcel.message.as_deref() {
            self.cache.cut(link.0, link.1);
            return self.review(now, cx);
        }
        let Some(path) = &parcel.path else { return };
        let stations = &path.stations;
        let (Some(sender), None) =
            (stations.iter().position(|&s| s == from), stations[..=path.at].iter().find(|&&s| s == self.me))
        else {
            return;
        };
        let later = stations.iter().position(|&station| station == self.me);
        // this station is a neighbour of who sends it, and with it of all on its way
        let onward = [&[self.me], &stations[sender..later.unwrap_or(stations.len())]].concat();
        let back = [vec![self.me], reversed(&stations[..=sender])].concat();
        let onward = self.cache.add(now, &onward);
        if self.cache.add(now, &back) || onward {
            self.review(now, cx);
        }
        if let Some(later) = later.filter(|_| self.config.gratuitous && to != self.me) {
            self.told.retain(|told| now < told.2);
            if !self.told.iter().any(|told| (told.0, told.1) == (stations[0], from)) {
                self.told.push((stations[0], from, now + self.config.grat_reply_holdoff));
                let shorter = [&stations[..=sender], &stations[later..]].concat();
                self.answer(now, shorter, sender + 1, cx);
            }
        }
    }

    fn overhears(&self) -> bool {
        self.config.tap
    }

    fn on_timer(&mut self, now: Time, cx: &mut Context) {
        self.buffer.expire(now, cx);
        while let Some(place) = self.searches.iter().position(|search| search.due <= now) {
            self.ask(now, place, cx);
        }
    }

    fn next_timer(&self) -> Time {
        let search = self.searches.iter().map(|search| search.due).min().unwrap_or(Time::NEVER);
        self.buffer.next_timer().min(search)
    }

    fn next_hop(&self, now: Time, to: StationId) -> Option<(StationId, u8)> {
        self.cache.find(now, to).map(|path| (path[1], octet(hops(path))))
    }

    fn held(&self) -> usize {
        self.buffer.len()
    }
}
