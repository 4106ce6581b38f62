//! DSDV: everybody tells its neighbours the way to everybody, time and again, and at once what has changed (Perkins and Bhagwat 1994).
//!
//! A destination numbers what is told of it, evenly; who loses the way counts one further, oddly. Newer news is believed, and of the
//! same number the shorter way, so that none leads in a circle. Left out: settling times, which hold news back that may soon be better.

use super::buffer::Buffer;
use super::{Action, Context, EXPERIMENT, Encoded, Entry, Routing, StationId, Why};
use crate::net::field::{FREE, Field, Params};
use crate::net::medium::{Parcel, ParcelId};
use crate::wire::IP_HEADER;
use cclab_algo::{Duration, Time};

/// As the registry knows it; the values are ns-2's.
pub const ENTRY: Entry = Entry {
    name: "dsdv",
    summary: "everybody tells its neighbours the way to everybody, time and again and when it changes",
    source: "Perkins, Bhagwat, SIGCOMM 1994",
    fields: &[
        Field::time("update_interval", Duration::from_secs(15), "how often a station tells all that it knows")
            .at_least(Duration::from_millis(1)),
        Field::integer("update_loss", 3, (1, 100), "updates of a neighbour missed before it counts as gone"),
        Field::time("startup", Duration::from_secs(2), "the first update comes at a random time up to then"),
        Field::time("jitter", Duration::from_millis(10), "what has changed is told up to so much later"),
        Field::integer("buffer", 64, (1, 1_000_000), "packets that wait for a route; the oldest goes first"),
        Field::time("buffer_timeout", Duration::from_secs(30), "they wait so long"),
    ],
    check: FREE,
    start: |params, neighbours| {
        let all = (0..neighbours.len()).map(|me| Dsdv::new(StationId(me as u32), params));
        all.map(|station| Box::new(station) as Box<dyn Routing>).collect()
    },
};

/// An update: destinations with their numbers, and how far they are from who tells; `None` is out of reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(pub Vec<(StationId, u32, Option<u8>)>);

impl Message {
    /// IP bytes: a word, and three for each destination.
    fn bytes(&self) -> u32 {
        IP_HEADER + 4 + 12 * self.0.len() as u32
    }

    /// How many there are; of each its address, its number, and the hops. Ours: the paper has no bytes.
    pub(super) fn encode(&self, address: &dyn Fn(StationId) -> [u8; 4]) -> Encoded {
        let mut payload = (self.0.len() as u32).to_be_bytes().to_vec();
        for &(to, number, hops) in &self.0 {
            payload.extend(address(to));
            payload.extend(number.to_be_bytes());
            payload.extend(hops.map_or(u32::MAX, u32::from).to_be_bytes());
        }
        Encoded { protocol: EXPERIMENT, ends: None, payload, summary: "update" }
    }
}

/// What a station knows of a destination.
struct Route {
    to: StationId,
    /// Even from the destination itself, odd from who lost the way.
    number: u32,
    next: StationId,
    /// `None` if it is out of reach.
    hops: Option<u8>,
    /// The neighbours have not been told.
    changed: bool,
}

/// DSDV at one station.
struct Dsdv {
    me: StationId,
    interval: Duration,
    patience: Duration,
    startup: Duration,
    jitter: Duration,
    number: u32,
    /// By destination.
    routes: Vec<Route>,
    /// When each neighbour was last heard.
    neighbours: Vec<(StationId, Time)>,
    buffer: Buffer,
    /// When all is told next; at first that is still to be drawn.
    update: Option<Time>,
    /// When what has changed is told.
    trigger: Time,
}

impl Dsdv {
    fn new(me: StationId, params: &Params) -> Dsdv {
        let interval: Duration = params.get("update_interval");
        Dsdv {
            me,
            interval,
            patience: interval * params.get::<u64>("update_loss"),
            startup: params.get("startup"),
            jitter: params.get("jitter"),
            number: 0,
            routes: Vec::new(),
            neighbours: Vec::new(),
            buffer: Buffer::new(params.get::<u64>("buffer") as usize, params.get("buffer_timeout")),
            update: None,
            trigger: Time::NEVER,
        }
    }

    /// Somebody tells of a destination.
    fn learn(&mut self, now: Time, heard: (StationId, u32, Option<u8>), from: StationId, cx: &mut Context) {
        let (to, number, hops) = heard;
        if to == self.me {
            // Only who lost the way counts further than the destination: here it is.
            if number > self.number {
                self.number = number + 1;
                self.change(now, cx);
            }
            return;
        }
        let hops = hops.map(|hops| hops.saturating_add(1));
        let place = match self.routes.binary_search_by_key(&to, |route| route.to) {
            Ok(place) => place,
            Err(_) if hops.is_none() => return,
            Err(place) => {
                self.routes.insert(place, Route { to, number: 0, next: from, hops: None, changed: false });
                place
            }
        };
        let route = &mut self.routes[place];
        let shorter = hops.is_some_and(|new| route.hops.is_none_or(|old| new < old));
        if number < route.number {
            // Old news from who has lost the way: tell it of a better one.
            route.changed |= hops.is_none() && route.hops.is_some();
        } else if number > route.number || shorter {
            let before = route.hops;
            *route = Route { to, number, next: from, hops, changed: true };
            self.tell_of(to, before, hops, None, cx);
        }
        if self.routes[place].changed {
            self.change(now, cx);
        }
    }

    /// What a change means here: for those who are told of routes, and for those that wait.
    fn tell_of(&mut self, to: StationId, was: Option<u8>, is: Option<u8>, parcel: Option<ParcelId>, cx: &mut Context) {
        match (was, is) {
            (Some(_), None) => cx.out.push(Action::RouteLost { to, parcel, repairing: false }),
            (was, Some(hops)) if was != is => cx.out.push(Action::RouteFound { to, hops }),
            _ => {}
        }
        if let Some(route) = self.routes.iter().find(|route| route.to == to && route.hops.is_some()) {
            self.buffer.take(to).into_iter().for_each(|parcel| cx.send(parcel, route.next));
        }
    }

    /// A neighbour is gone, as a parcel on its way there showed, or its silence.
    fn lose(&mut self, now: Time, neighbour: StationId, parcel: Option<ParcelId>, cx: &mut Context) {
        self.neighbours.retain(|(station, _)| *station != neighbour);
        let mut lost = Vec::new();
        for route in self.routes.iter_mut().filter(|route| route.next == neighbour && route.hops.is_some()) {
            lost.push((route.to, route.hops.take()));
            (route.number, route.changed) = (route.number + 1, true);
        }
        for (to, hops) in lost {
            self.tell_of(to, hops, None, parcel, cx);
            self.change(now, cx);
        }
    }

    /// Something is to be told soon.
    fn change(&mut self, now: Time, cx: &mut Context) {
        if self.trigger == Time::NEVER {
            self.trigger = now + self.jitter.mul_f64(cx.rng.uniform()).max(Duration(1));
        }
    }

    /// Tells the neighbours of every route, or of those that have changed.
    fn tell(&mut self, now: Time, all: bool, cx: &mut Context) {
        let mut update = vec![(self.me, self.number, Some(0))];
        for route in self.routes.iter_mut().filter(|route| all || route.changed) {
            route.changed = false;
            update.push((route.to, route.number, route.hops));
        }
        self.trigger = Time::NEVER;
        let message = Message(update);
        let bytes = message.bytes();
        cx.tell(now, super::Message::Dsdv(message), bytes, 1, None, Duration::ZERO);
    }
}

impl Routing for Dsdv {
    fn forward(&mut self, now: Time, parcel: ParcelId, _: Option<StationId>, cx: &mut Context) {
        let Some(to) = cx.parcels[parcel].destination else { return cx.drop(parcel, Why::NoRoute) };
        match self.next_hop(now, to) {
            Some((next, _)) => cx.send(parcel, next),
            None => self.buffer.push(now, parcel, to, cx),
        }
    }

    fn on_message(&mut self, now: Time, message: &Parcel, from: StationId, cx: &mut Context) {
        let Some(super::Message::Dsdv(Message(update))) = message.message.as_deref() else { return };
        match self.neighbours.iter_mut().find(|(station, _)| *station == from) {
            Some((_, heard)) => *heard = now,
            None => self.neighbours.push((from, now)),
        }
        update.iter().for_each(|&heard| self.learn(now, heard, from, cx));
    }

    fn on_failure(&mut self, now: Time, parcel: ParcelId, next: StationId, cx: &mut Context) {
        self.lose(now, next, Some(parcel), cx);
        cx.drop(parcel, Why::Unreachable);
        for waiting in (cx.recall)(next) {
            self.forward(now, waiting, None, cx);
        }
    }

    fn on_timer(&mut self, now: Time, cx: &mut Context) {
        self.buffer.expire(now, cx);
        let silent = |(_, heard): &&(StationId, Time)| *heard + self.patience <= now;
        let gone: Vec<StationId> = self.neighbours.iter().filter(silent).map(|(station, _)| *station).collect();
        gone.into_iter().for_each(|neighbour| self.lose(now, neighbour, None, cx));
        let due = *self.update.get_or_insert_with(|| now + self.startup.mul_f64(cx.rng.uniform()).max(Duration(1)));
        if due <= now {
            self.number += 2;
            self.tell(now, true, cx);
            self.update = Some(now + self.interval);
        } else if self.trigger <= now {
            self.tell(now, false, cx);
        }
    }

    fn next_timer(&self) -> Time {
        let silence = self.neighbours.iter().map(|(_, heard)| *heard + self.patience).min().unwrap_or(Time::NEVER);
        self.update.unwrap_or(Time::ZERO).min(self.trigger).min(silence).min(self.buffer.next_timer())
    }

    fn next_hop(&self, _: Time, to: StationId) -> Option<(StationId, u8)> {
        let place = self.routes.binary_search_by_key(&to, |route| route.to).ok()?;
        let Route { next, hops, .. } = self.routes[place];
        Some((next, hops?))
    }

    fn held(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Net, at, storm};
    use super::*;

    /// The example of the paper, its tables 1 and 3: the ways of host 4 to hosts 1 to 8, and when host 1 has moved to host 7.
    #[test]
    fn the_papers_example() {
        let links = [(1, 2), (2, 3), (2, 4), (4, 6), (5, 6), (6, 7), (7, 8)];
        let mut net = Net::new("dsdv", &[], 9, &links, 1);
        net.run(at(10.0));
        let ways = |net: &Net| (1..=8).filter(|&to| to != 4).map(|to| net.next_hop(4, to)).collect::<Vec<_>>();
        let mut expected = [(2, 2), (2, 1), (2, 2), (6, 2), (6, 1), (6, 2), (6, 3)].map(Some);
        assert_eq!(ways(&net), expected);
        net.part(1, 2);
        net.join(1, 7);
        net.run(at(80.0));
        expected[0] = Some((6, 3));
        assert_eq!(ways(&net), expected);
    }

    /// A way that breaks is counted one further by who noticed, and told at once; the destination, when it is heard again, counts on.
    #[test]
    fn who_loses_a_way_counts_oddly() {
        let mut net = Net::chain("dsdv", &[], 4);
        net.run(at(10.0));
        net.part(2, 3);
        net.send(0, 3);
        net.run(at(10.1));
        let told = net.told.iter().rev().find_map(|(_, from, _, _, message)| match message {
            super::super::Message::Dsdv(Message(update)) if *from == StationId(2) => {
                update.iter().find(|(to, ..)| *to == StationId(3)).copied()
            }
            _ => None,
        });
        assert_eq!(told, Some((StationId(3), 3, None)), "2 from the destination");
        assert_eq!([0, 1, 2].map(|from| net.next_hop(from, 3)), [None; 3], "within milliseconds");
        assert_eq!(net.dropped.len(), 1);
        net.join(2, 3);
        let waiting = net.send(0, 3);
        net.run(at(40.0));
        assert_eq!([0, 1, 2].map(|from| net.next_hop(from, 3)), [Some((1, 3)), Some((2, 2)), Some((3, 1))]);
        assert!(net.delivered.iter().any(|&(_, number, hops)| (number, hops) == (waiting, 3)), "it had waited");
    }

    /// A neighbour that nobody sends to and nobody hears is gone after three updates.
    #[test]
    fn silence_is_noticed() {
        let mut net = Net::chain("dsdv", &[], 2);
        net.run(at(10.0));
        net.part(0, 1);
        net.run(at(40.0));
        assert_eq!(net.next_hop(0, 1), Some((1, 1)));
        net.run(at(55.1));
        assert_eq!(net.next_hop(0, 1), None);
    }

    /// No route ever leads in a circle, whatever moves and whatever is lost, and no datagram is lost sight of.
    #[test]
    fn no_route_ever_leads_in_a_circle() {
        let delivered: usize = (0..40).map(|seed| storm("dsdv", &[], seed).delivered.len()).sum();
        assert!(delivered > 2_000, "{delivered}");
    }
}
