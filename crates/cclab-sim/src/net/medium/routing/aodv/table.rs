//! AODV's routing table (RFC 3561 §2, §6.1, §6.2).

use super::StationId;
use cclab_algo::{Duration, Time};

/// A sequence number: of two that are less than 2³¹ apart the later one is newer, also across the end (§6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// Whether it is newer than `other`.
    pub fn newer(self, other: Seq) -> bool {
        (self.0.wrapping_sub(other.0) as i32) > 0
    }

    /// The newer of the two.
    pub fn max(self, other: Seq) -> Seq {
        if other.newer(self) { other } else { self }
    }

    /// The `n`-th after it.
    pub fn plus(self, n: u32) -> Seq {
        Seq(self.0.wrapping_add(n))
    }
}

/// What is up with a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is used.
    Up,
    /// It is remembered.
    Down,
    /// This station looks for another way.
    Repairing,
}

/// A route.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) to: StationId,
    pub(super) next: StationId,
    /// Hops to the destination; where it is down, how many they were.
    pub(super) hops: u8,
    /// What is known of the destination's sequence number.
    pub(super) seq: Option<Seq>,
    pub(super) state: State,
    /// Until then it is used; where it is down, remembered; where it is repaired, kept so.
    pub(super) until: Time,
    /// Neighbours that send this way, sorted.
    pub(super) precursors: Vec<StationId>,
    /// How long a hop took in the last three discoveries (ns-2).
    pub(super) latencies: [Duration; 3],
    pub(super) discoveries: u32,
}

impl Route {
    pub(super) fn is_up(&self, now: Time) -> bool {
        self.state == State::Up && now < self.until
    }

    /// It is not used again before it is heard of anew, later than this (§6.11).
    pub(super) fn break_down(&mut self, now: Time, memory: Option<Duration>) {
        self.seq = self.seq.map(|seq| seq.plus(1));
        self.retire(now, memory);
    }

    /// It is not used; its number stays.
    pub(super) fn retire(&mut self, now: Time, memory: Option<Duration>) {
        self.state = State::Down;
        self.until = memory.map_or(Time::NEVER, |memory| now + memory);
    }

    pub(super) fn add_precursor(&mut self, station: StationId) {
        if let Err(place) = self.precursors.binary_search(&station) {
            self.precursors.insert(place, station);
        }
    }

    /// It is needed until then, at least.
    pub(super) fn extend(&mut self, until: Time) {
        self.until = self.until.max(until);
    }

    pub(super) fn note_latency(&mut self, latency: Duration) {
        self.latencies[self.discoveries as usize % 3] = latency;
        self.discoveries += 1;
    }

    /// Mean time of a hop in the last three discoveries.
    pub(super) fn latency(&self) -> Option<Duration> {
        let n = u64::from(self.discoveries.min(3));
        (n > 0).then(|| self.latencies.iter().fold(Duration::ZERO, |sum, &latency| sum + latency) / n)
    }
}

/// The routes, sorted by destination.
#[derive(Default)]
pub(super) struct Table {
    pub(super) routes: Vec<Route>,
    /// How long a route that is down is remembered.
    pub(super) memory: Option<Duration>,
}

impl Table {
    /// The route, up, down or under repair. One whose time is over goes down, later it is forgotten.
    pub(super) fn get(&mut self, now: Time, to: StationId) -> Option<&mut Route> {
        let place = self.place(to).ok()?;
        let route = &mut self.routes[place];
        if route.state != State::Down && route.until <= now {
            let expired = route.until;
            route.break_down(expired, self.memory);
        }
        if route.state == State::Down && route.until <= now {
            self.routes.remove(place);
            return None;
        }
        Some(&mut self.routes[place])
    }

    /// The route, if it is up.
    pub(super) fn up(&mut self, now: Time, to: StationId) -> Option<&mut Route> {
        self.get(now, to).filter(|route| route.state == State::Up)
    }

    /// The route as it is.
    pub(super) fn peek(&self, to: StationId) -> Option<&Route> {
        self.place(to).ok().map(|place| &self.routes[place])
    }

    /// The route, or a new one that is down.
    pub(super) fn entry(&mut self, now: Time, to: StationId) -> &mut Route {
        if self.get(now, to).is_none()
            && let Err(place) = self.place(to)
        {
            let route = Route {
                to,
                next: to,
                hops: 0,
                seq: None,
                state: State::Down,
                until: Time::NEVER,
                precursors: Vec::new(),
                latencies: [Duration::ZERO; 3],
                discoveries: 0,
            };
            self.routes.insert(place, route);
        }
        let place = self.place(to).expect("it is there now");
        &mut self.routes[place]
    }

    fn place(&self, to: StationId) -> Result<usize, usize> {
        self.routes.binary_search_by_key(&to, |route| route.to)
    }
}
