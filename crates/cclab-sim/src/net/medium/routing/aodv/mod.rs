//! AODV: routes are looked for when they are needed, and known hop by hop (RFC 3561).
//!
//! One implementation, two sets of values: `rfc3561`, and `ns2`, whose rules differ in some places; each says so. Sequence numbers
//! keep routes free of loops: a destination's number only ever grows, a station that loses a route counts its number up, and a
//! route is believed only if it is newer, or as new and shorter. Departures from the RFC's letter, where it allows loops: a number
//! that a station knows never becomes older, and an error older than the route is about another one.

mod config;
mod message;
mod table;
#[cfg(test)]
mod tests;

pub use message::{Message, Reply, Request};
pub use table::Seq;

use super::buffer::Buffer;
use super::{Action, Context, Entry, Routing, StationId, Why};
use crate::net::field::FREE;
use crate::net::medium::{Parcel, ParcelId};
use cclab_algo::{Duration, Time};
use config::Config;
use std::collections::{BTreeSet, VecDeque};
use table::{State, Table};

/// As the registry knows it.
pub const ENTRY: Entry = Entry {
    name: "aodv",
    summary: "routes looked for on demand by flooding, kept hop by hop, guarded by sequence numbers",
    source: "RFC 3561; ns-2.35",
    fields: config::FIELDS,
    check: FREE,
    start: |params, neighbours| {
        let config = Config::new(params);
        (0..neighbours.len()).map(|me| Box::new(Aodv::new(StationId(me as u32), config)) as Box<dyn Routing>).collect()
    },
};

/// LOCAL_ADD_TTL of RFC 3561 §10.
const LOCAL_ADD_TTL: u8 = 2;
/// TIMEOUT_BUFFER of RFC 3561 §10.
const TIMEOUT_BUFFER: u64 = 2;

/// AODV at one station.
pub struct Aodv {
    me: StationId,
    config: Config,
    table: Table,
    /// Own sequence number.
    seq: Seq,
    /// Number of the last request.
    id: u32,
    buffer: Buffer,
    searches: Vec<Search>,
    /// Requests seen, and when each is forgotten.
    seen: BTreeSet<(StationId, u32)>,
    forget: VecDeque<(Time, StationId, u32)>,
    /// Neighbours that do not hear this station, and until when that is believed.
    blacklist: Vec<(StationId, Time)>,
    requests: Allowance,
    errors: Allowance,
    hello: Hello,
}

/// A destination that is looked for.
#[derive(Clone, Copy, Debug)]
struct Search {
    to: StationId,
    kind: Kind,
    /// Hops of the next ring, where the rule is not to say.
    first: Option<u8>,
    /// Hops of the last ring, or of the route that was.
    ttl: u8,
    /// How often the whole network was asked.
    wide: u64,
    /// When the answer is too late.
    due: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Discovery,
    Repair,
    /// None was found; nobody is asked for a while.
    Pause,
}

/// So many in any second.
#[derive(Default)]
struct Allowance {
    taken: VecDeque<Time>,
}

impl Allowance {
    /// Whether there may be one more now; else from when.
    fn take(&mut self, now: Time, limit: Option<u64>) -> Result<(), Time> {
        let Some(limit) = limit else { return Ok(()) };
        self.taken.retain(|&then| now < then + Duration::from_secs(1));
        if let Some(&first) = self.taken.front().filter(|_| self.taken.len() as u64 >= limit) {
            return Err(first + Duration::from_secs(1));
        }
        self.taken.push_back(now);
        Ok(())
    }
}

/// Hello messages (§6.9).
#[derive(Default)]
struct Hello {
    /// When it is time for the next; the first is at a random time.
    at: Option<Time>,
    /// When this station last told something to all.
    told: Time,
    /// Neighbours that said hello, and when they are gone.
    neighbours: Vec<(StationId, Time)>,
}

impl Aodv {
    fn new(me: StationId, config: Config) -> Aodv {
        Aodv {
            me,
            config,
            table: Table { routes: Vec::new(), memory: config.delete_period },
            seq: Seq(0),
            id: 0,
            buffer: Buffer::new(config.buffer, config.buffer_timeout),
            searches: Vec::new(),
            seen: BTreeSet::new(),
            forget: VecDeque::new(),
            blacklist: Vec::new(),
            requests: Allowance::default(),
            errors: Allowance::default(),
            hello: Hello::default(),
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
        if next.is_none() {
            self.hello.told = now;
        }
        let bytes = message.bytes(self.config.profile);
        cx.tell(now, super::Message::Aodv(message), bytes, ttl, next, after);
    }

    fn jitter(&self, cx: &mut Context) -> Duration {
        self.config.jitter.mul_f64(cx.rng.uniform())
    }

    // -- routes -------------------------------------------------------------------------------------------------------------

    /// A way to `to` is heard of; whether it is taken (§6.2, §6.7).
    fn learn(&mut self, now: Time, to: StationId, way: Way, cx: &mut Context) -> bool {
        if to == self.me {
            return false;
        }
        let route = self.table.entry(now, to);
        let open = match route.state {
            State::Up => false,
            State::Down => true,
            State::Repairing => self.config.repair_newer,
        };
        let newer = match (way.seq, route.seq) {
            (Some(new), Some(old)) => new.newer(old) || new == old && (open || way.hops < route.hops),
            (Some(_), None) => true,
            // a neighbour itself, of which nothing else is known
            (None, _) => route.state != State::Up || route.next != way.next,
        };
        if !newer {
            return false;
        }
        let before = (route.state == State::Up).then_some(route.hops);
        let longer = route.state == State::Repairing && way.hops > route.hops;
        (route.next, route.hops, route.state, route.until) = (way.next, way.hops, State::Up, way.until);
        route.seq = way.seq.or(route.seq);
        let (seq, precursors) = (route.seq, if longer { route.precursors.clone() } else { Vec::new() });
        if before != Some(way.hops) {
            cx.out.push(Action::RouteFound { to, hops: way.hops });
        }
        self.searches.retain(|search| search.to != to);
        if longer && self.config.rfc() && !precursors.is_empty() {
            self.tell_error(now, true, vec![(to, seq)], &precursors, Duration::ZERO, cx);
        }
        self.flush(to, way.next, cx);
        true
    }

    /// When a route ends that is to last until then, and longer if it does already.
    fn at_least(&mut self, now: Time, to: StationId, until: Time) -> Time {
        self.table.up(now, to).map_or(until, |route| route.until.max(until))
    }

    /// Sends what waits for `to`.
    fn flush(&mut self, to: StationId, next: StationId, cx: &mut Context) {
        for (parcel, n) in self.buffer.take(to).into_iter().zip(0..) {
            cx.out.push(Action::Send { parcel, next: Some(next), after: self.config.flush_spacing * n });
        }
    }

    /// This neighbour was heard (§6.5, §6.7: a route to the previous hop without a number; ns-2 makes none).
    fn note_neighbour(&mut self, now: Time, from: StationId, cx: &mut Context) {
        self.heard(now, from);
        if !self.config.rfc() {
            return;
        }
        let until = now + self.config.active_route_timeout;
        self.learn(now, from, Way { next: from, hops: 1, seq: None, until }, cx);
        if let Some(route) = self.table.up(now, from) {
            route.extend(until);
        }
    }

    /// A parcel takes the route to `to`: it stays, and with it those to the next hop and back (§6.2; in ns-2 it alone).
    fn use_route(&mut self, now: Time, to: StationId, source: StationId, from: Option<StationId>) -> Option<StationId> {
        let until = now + self.config.active_route_timeout;
        let route = self.table.up(now, to)?;
        route.extend(until);
        let next = route.next;
        if self.config.rfc() {
            for station in [Some(next), Some(source), from].into_iter().flatten() {
                if let Some(route) = self.table.up(now, station) {
                    route.extend(until);
                }
            }
        }
        Some(next)
    }

    // -- looking for a route (§6.3, §6.4) -------------------------------------------------------------------------------------

    /// Parcels wait for `to`.
    fn want(&mut self, now: Time, to: StationId, cx: &mut Context) {
        let place = self.searches.iter().position(|search| search.to == to);
        if let Some(place) = place {
            if self.searches[place].due <= now {
                self.ask(now, place, cx);
            }
            return;
        }
        let ttl = self.table.get(now, to).map_or(0, |route| route.hops);
        // §6.4 widens what the distance was, ns-2 only while it is within the threshold
        let first = (self.config.rfc() && ttl > 0).then(|| ttl.saturating_add(self.config.ttl_increment));
        self.searches.push(Search { to, kind: Kind::Discovery, first, ttl, wide: 0, due: now });
        self.ask(now, self.searches.len() - 1, cx);
    }

    /// The next ring, or nobody is asked any more.
    fn ask(&mut self, now: Time, place: usize, cx: &mut Context) {
        let Search { to, kind, first, ttl, wide, .. } = self.searches[place];
        let over = match kind {
            Kind::Discovery => wide > self.config.rreq_retries,
            Kind::Repair => first.is_none(),
            Kind::Pause => false,
        };
        if over {
            return self.give_up(now, place, cx);
        }
        if kind != Kind::Repair && !self.buffer.holds(to) {
            self.searches.remove(place);
            return;
        }
        if let Err(later) = self.requests.take(now, self.config.rreq_ratelimit) {
            self.searches[place].due = later;
            return;
        }
        let Config { network_diameter, ttl_start, ttl_increment, ttl_threshold, .. } = self.config;
        let ring = match first {
            Some(first) => first,
            None if ttl == 0 => ttl_start,
            None if ttl < ttl_threshold => ttl.saturating_add(ttl_increment),
            None => network_diameter,
        };
        let ring = ring.min(network_diameter);
        let wide = wide + u64::from(ring == network_diameter);
        let due = now + self.patience(now, to, ring, wide);
        let kind = if kind == Kind::Pause { Kind::Discovery } else { kind };
        self.searches[place] = Search { to, kind, first: None, ttl: ring, wide, due };
        self.id = self.id.wrapping_add(1);
        self.seq = self.seq.plus(if self.config.rfc() { 1 } else { 2 });
        let request = Request {
            id: self.id,
            to,
            to_seq: self.table.get(now, to).and_then(|route| route.seq),
            from: self.me,
            from_seq: self.seq,
            hops: 0,
            destination_only: self.config.destination_only,
            gratuitous: self.config.gratuitous,
            asked: now,
        };
        self.tell(now, Message::Request(request), ring, None, Duration::ZERO, cx);
    }

    /// How long to wait for an answer out of a ring, or when the whole network is asked for the `wide`-th time.
    fn patience(&mut self, now: Time, to: StationId, ring: u8, wide: u64) -> Duration {
        let hop = self.config.node_traversal_time;
        let patience = if self.config.rfc() {
            match wide {
                0 => hop * (2 * (u64::from(ring) + TIMEOUT_BUFFER)),
                n => self.config.net_traversal_time * (1 << (n - 1).min(20)),
            }
        } else {
            let hop = self.table.get(now, to).and_then(|route| route.latency()).unwrap_or(hop);
            hop * (2 * u64::from(ring) * wide.max(1))
        };
        self.config.max_rreq_timeout.map_or(patience, |longest| patience.min(longest))
    }

    /// Nobody knew a way.
    fn give_up(&mut self, now: Time, place: usize, cx: &mut Context) {
        let Search { to, kind, .. } = self.searches[place];
        for parcel in self.buffer.take(to) {
            cx.drop(parcel, Why::NoRoute);
        }
        match self.config.max_rreq_timeout {
            Some(pause) if kind == Kind::Discovery => {
                let search = &mut self.searches[place];
                (search.kind, search.wide, search.due) = (Kind::Pause, 0, now + pause);
            }
            _ => drop(self.searches.remove(place)),
        }
        if kind == Kind::Repair {
            self.stop_repair(now, to, cx);
        }
    }

    /// When it is time for the next ring; ns-2 looks every half second.
    fn due(&self, search: &Search) -> Time {
        match self.config.retry_period {
            Some(period) => Time(search.due.0.div_ceil(period.0) * period.0),
            None => search.due,
        }
    }

    // -- messages ---------------------------------------------------------------------------------------------------------------

    /// §6.5.
    fn on_request(&mut self, now: Time, request: &Request, ttl: u8, from: StationId, cx: &mut Context) {
        self.blacklist.retain(|&(_, until)| now < until);
        if self.blacklist.iter().any(|&(station, _)| station == from) {
            return;
        }
        self.note_neighbour(now, from, cx);
        if request.from == self.me || !self.seen.insert((request.from, request.id)) {
            return;
        }
        self.forget.push_back((now + self.config.path_discovery_time, request.from, request.id));
        let hops = request.hops.saturating_add(1);
        // MinimalLifetime
        let formula = || {
            (self.config.net_traversal_time * 2).saturating_sub(self.config.node_traversal_time * (2 * u64::from(hops)))
        };
        let until = self.at_least(now, request.from, now + self.config.reverse_route_life.unwrap_or_else(formula));
        let way = Way { next: from, hops, seq: Some(request.from_seq), until };
        self.learn(now, request.from, way, cx);
        let Some(back) = self.table.up(now, request.from) else { return };
        back.extend(until);
        let (back_next, back_hops) = (back.next, back.hops);

        if request.to == self.me {
            // at least what is asked for; ns-2 always counts on, by even numbers
            self.seq = self.seq.max(request.to_seq.unwrap_or(self.seq));
            if !self.config.rfc() {
                self.seq = Seq(self.seq.0.wrapping_add(2) & !1);
            }
            let lifetime = self.config.my_route_timeout;
            let reply =
                Reply { to: self.me, to_seq: self.seq, from: request.from, hops: 0, lifetime, asked: request.asked };
            return self.tell(
                now,
                Message::Reply(reply),
                self.config.network_diameter,
                Some(back_next),
                Duration::ZERO,
                cx,
            );
        }
        let known =
            self.table.get(now, request.to).map(|route| (route.seq, route.state, route.next, route.hops, route.until));
        let fresh = |seq: Seq| request.to_seq.is_none_or(|asked| !asked.newer(seq));
        if let Some((Some(to_seq), State::Up, next, to_hops, until)) = known
            && fresh(to_seq)
            && !request.destination_only
        {
            return self.answer(now, request, (to_seq, next, to_hops, until), (back_next, back_hops), cx);
        }
        if ttl > 0 {
            let to_seq = match (known.and_then(|known| known.0), request.to_seq) {
                (Some(mine), Some(asked)) => Some(mine.max(asked)),
                (mine, asked) => mine.or(asked),
            };
            let after = self.jitter(cx);
            self.tell(now, Message::Request(Request { hops, to_seq, ..*request }), ttl, None, after, cx);
        }
    }

    /// An answer for the destination (§6.6.2, §6.6.3).
    fn answer(
        &mut self,
        now: Time,
        request: &Request,
        (to_seq, next, hops, until): (Seq, StationId, u8, Time),
        (back_next, back_hops): (StationId, u8),
        cx: &mut Context,
    ) {
        let &Request { to, from, from_seq, asked, .. } = request;
        if let Some(route) = self.table.up(now, to) {
            route.add_precursor(back_next);
        }
        let mut back_until = now;
        if let Some(route) = self.table.up(now, from) {
            route.add_precursor(next);
            back_until = route.until;
        }
        let ttl = self.config.network_diameter;
        let reply = Reply { to, to_seq, from, hops, lifetime: until.since(now), asked };
        self.tell(now, Message::Reply(reply), ttl, Some(back_next), Duration::ZERO, cx);
        if request.gratuitous {
            let lifetime = back_until.since(now);
            let reply = Reply { to: from, to_seq: from_seq, from: to, hops: back_hops, lifetime, asked };
            self.tell(now, Message::Reply(reply), ttl, Some(next), Duration::ZERO, cx);
        }
    }

    /// §6.7.
    fn on_reply(&mut self, now: Time, reply: &Reply, from: StationId, cx: &mut Context) {
        self.note_neighbour(now, from, cx);
        let hops = reply.hops.saturating_add(1);
        let way = Way { next: from, hops, seq: Some(reply.to_seq), until: now + reply.lifetime };
        let taken = self.learn(now, reply.to, way, cx);
        if reply.from == self.me {
            if let Some(route) = self.table.up(now, reply.to) {
                route.note_latency(now.since(reply.asked) / u64::from(hops));
            }
            return;
        }
        let until = now + self.config.active_route_timeout;
        let Some(back) = self.table.up(now, reply.from).filter(|_| taken) else { return };
        back.extend(until);
        let next = back.next;
        if self.config.rfc() {
            back.add_precursor(from);
        }
        // toward the destination, and its next hop (§6.7, the last paragraph)
        for station in [reply.to, from] {
            if let Some(route) = self.table.up(now, station) {
                route.add_precursor(next);
            }
        }
        let ttl = self.config.network_diameter;
        self.tell(now, Message::Reply(Reply { hops, ..*reply }), ttl, Some(next), Duration::ZERO, cx);
    }

    /// §6.11, case iii.
    fn on_error(
        &mut self,
        now: Time,
        repaired: bool,
        unreachable: &[(StationId, Option<Seq>)],
        from: StationId,
        cx: &mut Context,
    ) {
        let memory = self.config.delete_period;
        let (mut told, mut precursors, mut lost) = (Vec::new(), Vec::new(), false);
        for &(to, seq) in unreachable {
            let Some(route) = self.table.up(now, to).filter(|route| route.next == from) else { continue };
            if !repaired {
                // one that is older than the route is about another one
                if let (Some(seq), Some(mine)) = (seq, route.seq)
                    && mine.newer(seq)
                {
                    continue;
                }
                match seq {
                    Some(_) => {
                        route.seq = seq;
                        route.retire(now, memory);
                    }
                    None => route.break_down(now, memory),
                }
                cx.out.push(Action::RouteLost { to, parcel: None, repairing: false });
                lost = true;
            }
            if !route.precursors.is_empty() {
                told.push((to, route.seq));
                merge(&mut precursors, &route.precursors);
            }
            if !repaired {
                route.precursors.clear();
            }
        }
        if lost && !self.config.rfc() {
            for parcel in (cx.recall)(from) {
                cx.drop(parcel, Why::Unreachable);
            }
        }
        if !told.is_empty() {
            let after = self.jitter(cx);
            self.tell_error(now, repaired, told, &precursors, after, cx);
        }
    }

    /// To who sends this way: to all, or where the RFC has only one, to that one (§6.11).
    fn tell_error(
        &mut self,
        now: Time,
        repaired: bool,
        unreachable: Vec<(StationId, Option<Seq>)>,
        precursors: &[StationId],
        after: Duration,
        cx: &mut Context,
    ) {
        if self.errors.take(now, self.config.rerr_ratelimit).is_err() {
            return;
        }
        let only = match precursors {
            &[only] if self.config.rfc() => Some(only),
            _ => None,
        };
        self.tell(now, Message::Error { repaired, unreachable }, 1, only, after, cx);
    }

    // -- broken links (§6.11, §6.12) ---------------------------------------------------------------------------------------------

    /// This neighbour is gone: all routes over it go down, but one that is repaired.
    fn lose(&mut self, now: Time, next: StationId, but: Option<StationId>, parcel: Option<ParcelId>, cx: &mut Context) {
        let memory = self.config.delete_period;
        let lost = parcel.and_then(|parcel| cx.parcels[parcel].destination);
        let mut told = Vec::new();
        let mut precursors = Vec::new();
        for route in &mut self.table.routes {
            if route.is_up(now) && route.next == next && Some(route.to) != but {
                route.break_down(now, memory);
                let parcel = parcel.filter(|_| lost == Some(route.to));
                cx.out.push(Action::RouteLost { to: route.to, parcel, repairing: false });
                // ns-2 tells all, whoever sends this way
                if !self.config.rfc() || !route.precursors.is_empty() {
                    told.push((route.to, route.seq));
                    merge(&mut precursors, &route.precursors);
                }
                route.precursors.clear();
            }
            route.precursors.retain(|&station| station != next);
        }
        self.hello.neighbours.retain(|&(station, _)| station != next);
        if !told.is_empty() {
            self.tell_error(now, false, told, &precursors, Duration::ZERO, cx);
        }
    }

    /// Looks for another way to `to` from here, if it is near.
    fn repair(&mut self, now: Time, parcel: ParcelId, to: StationId, next: StationId, cx: &mut Context) -> bool {
        let (hops, source) = (cx.parcels[parcel].hops, cx.parcels[parcel].source);
        let Config { network_diameter, repair_newer, ttl_start, .. } = self.config;
        let rfc = self.config.rfc();
        let Some(route) = self.table.get(now, to) else { return false };
        if route.state == State::Repairing {
            self.buffer.push(now, parcel, to, cx);
            return true;
        }
        // MAX_REPAIR_TTL; in ns-2 more hops are behind the parcel than before it
        let near = if rfc { u32::from(route.hops) * 10 <= u32::from(network_diameter) * 3 } else { hops > route.hops };
        let over_it = route.state == State::Up && route.next == next;
        if !self.config.local_repair || source == self.me || !near || !over_it {
            return false;
        }
        (route.state, route.until) = (State::Repairing, Time::NEVER);
        if repair_newer {
            route.seq = route.seq.map(|seq| seq.plus(1));
        }
        let ring = if rfc { route.hops.max(hops / 2).saturating_add(LOCAL_ADD_TTL) } else { ttl_start };
        cx.out.push(Action::RouteLost { to, parcel: Some(parcel), repairing: true });
        self.buffer.push(now, parcel, to, cx);
        if repair_newer {
            self.searches.retain(|search| search.to != to);
            self.searches.push(Search { to, kind: Kind::Repair, first: Some(ring), ttl: 0, wide: 0, due: now });
            self.ask(now, self.searches.len() - 1, cx);
        } else {
            // Neighbours know as much as is asked for, and their answers are no better than the broken route. ns-2 gives it up when
            // as much time has passed as there had been when the answer was due.
            self.want(now, to, cx);
            let due = self.searches.iter().find(|search| search.to == to).map_or(now, |search| search.due);
            if let Some(route) = self.table.get(now, to) {
                route.until = now + due.since(Time::ZERO);
            }
        }
        if rfc {
            self.lose(now, next, Some(to), None, cx);
            self.recall(now, next, cx);
        }
        true
    }

    /// There is no other way; ns-2 tells nobody.
    fn stop_repair(&mut self, now: Time, to: StationId, cx: &mut Context) {
        let memory = self.config.delete_period;
        let Some(route) = self.table.get(now, to).filter(|route| route.state == State::Repairing) else { return };
        route.retire(now, memory);
        let (seq, precursors) = (route.seq, std::mem::take(&mut route.precursors));
        cx.out.push(Action::RouteLost { to, parcel: None, repairing: false });
        if self.config.rfc() && !precursors.is_empty() {
            self.tell_error(now, false, vec![(to, seq)], &precursors, Duration::ZERO, cx);
        }
    }

    /// What waits in the interface queue for a neighbour that is gone.
    fn recall(&mut self, now: Time, next: StationId, cx: &mut Context) {
        for parcel in (cx.recall)(next) {
            self.rescue(now, parcel, cx);
        }
    }

    /// A parcel that could not be sent: it waits for another way if this station looks for one or, by the RFC, if it began here.
    fn rescue(&mut self, now: Time, parcel: ParcelId, cx: &mut Context) {
        let Parcel { destination, source, message, .. } = &cx.parcels[parcel];
        let Some(to) = destination.filter(|_| message.is_none()) else { return cx.drop(parcel, Why::Unreachable) };
        let repairing = self.table.get(now, to).is_some_and(|route| route.state == State::Repairing);
        if repairing {
            self.buffer.push(now, parcel, to, cx);
        } else if self.config.rfc() && *source == self.me {
            self.forward(now, parcel, None, cx);
        } else {
            cx.drop(parcel, Why::Unreachable);
        }
    }

    // -- hello (§6.9) ---------------------------------------------------------------------------------------------------------------

    fn heard(&mut self, now: Time, from: StationId) {
        let until = now + self.config.hello_interval * self.config.allowed_hello_loss;
        if let Some(neighbour) = self.hello.neighbours.iter_mut().find(|neighbour| neighbour.0 == from) {
            neighbour.1 = neighbour.1.max(until);
        }
    }

    fn on_hello(&mut self, now: Time, seq: Seq, lifetime: Duration, from: StationId, cx: &mut Context) {
        if !self.hello.neighbours.iter().any(|neighbour| neighbour.0 == from) {
            self.hello.neighbours.push((from, now + lifetime));
        }
        self.note_neighbour(now, from, cx);
        if self.config.rfc() {
            let until = self.at_least(now, from, now + lifetime);
            self.learn(now, from, Way { next: from, hops: 1, seq: Some(seq), until }, cx);
        }
    }

    /// Those that are silent are gone; and this station says hello, by the RFC only if a route passes it.
    fn greet(&mut self, now: Time, cx: &mut Context) {
        while let Some(&(gone, _)) = self.hello.neighbours.iter().find(|neighbour| neighbour.1 <= now) {
            self.lose(now, gone, None, None, cx);
        }
        let interval = self.config.hello_interval;
        let at = *self.hello.at.get_or_insert(now + interval.mul_f64(cx.rng.uniform()));
        if now < at {
            return;
        }
        self.hello.at = Some(now + interval);
        let active = self.table.routes.iter().any(|route| route.is_up(now));
        if !self.config.rfc() || active && self.hello.told + interval <= now {
            let lifetime = interval * self.config.allowed_hello_loss;
            self.tell(now, Message::Hello { seq: self.seq, lifetime }, 1, None, Duration::ZERO, cx);
        }
    }
}

/// A way that is heard of.
struct Way {
    next: StationId,
    hops: u8,
    /// None of a neighbour that is only heard.
    seq: Option<Seq>,
    until: Time,
}

/// Puts those into a sorted list that are not there.
fn merge(list: &mut Vec<StationId>, more: &[StationId]) {
    for station in more {
        if let Err(place) = list.binary_search(station) {
            list.insert(place, *station);
        }
    }
}

impl Routing for Aodv {
    fn forward(&mut self, now: Time, parcel: ParcelId, from: Option<StationId>, cx: &mut Context) {
        let Parcel { source, destination, .. } = cx.parcels[parcel];
        let Some(to) = destination else { return cx.drop(parcel, Why::NoRoute) };
        if let Some(from) = from {
            self.heard(now, from);
        }
        if let Some(next) = self.use_route(now, to, source, from) {
            return cx.send(parcel, next);
        }
        let route = self.table.get(now, to);
        let repairing = route.as_ref().is_some_and(|route| route.state == State::Repairing);
        let seq = route.and_then(|route| route.seq);
        if repairing {
            self.buffer.push(now, parcel, to, cx);
        } else if from.is_none() {
            self.buffer.push(now, parcel, to, cx);
            self.want(now, to, cx);
        } else {
            cx.drop(parcel, Why::NoRoute);
            self.tell_error(now, false, vec![(to, seq)], &[], Duration::ZERO, cx);
        }
    }

    fn on_message(&mut self, now: Time, parcel: &Parcel, from: StationId, cx: &mut Context) {
        while let Some((_, origin, id)) = self.forget.front().copied().filter(|request| request.0 <= now) {
            self.seen.remove(&(origin, id));
            self.forget.pop_front();
        }
        let Some(super::Message::Aodv(message)) = parcel.message.as_deref() else { return };
        match message {
            Message::Request(request) => self.on_request(now, request, parcel.ttl, from, cx),
            Message::Reply(reply) => self.on_reply(now, reply, from, cx),
            Message::Error { repaired, unreachable } => self.on_error(now, *repaired, unreachable, from, cx),
            Message::Hello { seq, lifetime } => self.on_hello(now, *seq, *lifetime, from, cx),
        }
    }

    fn on_arrival(&mut self, now: Time, _: &Parcel, from: StationId, _: &mut Context) {
        self.heard(now, from);
    }

    fn on_failure(&mut self, now: Time, parcel: ParcelId, next: StationId, cx: &mut Context) {
        if let Some(super::Message::Aodv(message)) = cx.parcels[parcel].message.as_deref() {
            // §6.8
            if matches!(message, Message::Reply(_))
                && let Some(timeout) = self.config.blacklist_timeout
            {
                self.blacklist.push((next, now + timeout));
            }
            return cx.drop(parcel, Why::Unreachable);
        }
        let Some(to) = cx.parcels[parcel].destination.filter(|_| self.config.link_layer) else {
            return cx.drop(parcel, Why::Unreachable);
        };
        if self.repair(now, parcel, to, next, cx) {
            return;
        }
        self.lose(now, next, None, Some(parcel), cx);
        self.rescue(now, parcel, cx);
        self.recall(now, next, cx);
    }

    fn on_timer(&mut self, now: Time, cx: &mut Context) {
        self.buffer.expire(now, cx);
        while let Some(place) = self.searches.iter().position(|search| self.due(search) <= now) {
            self.ask(now, place, cx);
        }
        if self.config.hello {
            self.greet(now, cx);
        }
    }

    fn next_timer(&self) -> Time {
        let search = self.searches.iter().map(|search| self.due(search)).min().unwrap_or(Time::NEVER);
        let hello = match self.hello.at {
            _ if !self.config.hello => Time::NEVER,
            None => Time::ZERO,
            Some(at) => self.hello.neighbours.iter().map(|neighbour| neighbour.1).fold(at, Time::min),
        };
        self.buffer.next_timer().min(search).min(hello)
    }

    fn next_hop(&self, now: Time, to: StationId) -> Option<(StationId, u8)> {
        self.table.peek(to).filter(|route| route.is_up(now)).map(|route| (route.next, route.hops))
    }

    fn held(&self) -> usize {
        self.buffer.len()
    }
}
