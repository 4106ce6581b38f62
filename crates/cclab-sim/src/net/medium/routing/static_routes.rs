//! Shortest ways over the stations in range of each other at the start, known to everybody and never changed.

use super::{Action, Context, Entry, Routing, StationId, Why};
use crate::net::field::FREE;
use crate::net::medium::ParcelId;
use cclab_algo::Time;
use std::sync::{Arc, OnceLock};

/// As the registry knows it.
pub const ENTRY: Entry = Entry {
    name: "static",
    summary: "fewest hops over who is in range at the start, known to all and never changed",
    source: "breadth-first search",
    fields: &[],
    check: FREE,
    start: |_, neighbours| {
        let ways = Arc::new(Ways::new(neighbours));
        (0..neighbours.len())
            .map(|me| Box::new(StaticRoutes { me: StationId(me as u32), ways: ways.clone() }) as Box<dyn Routing>)
            .collect()
    },
};

/// The next station and the hops that are left, by station; `None` where there is no way.
type Steps = Box<[Option<(StationId, u8)>]>;

/// The ways from everywhere to wherever somebody has asked for: of ten thousand stations few are destinations.
struct Ways {
    neighbours: Vec<Vec<StationId>>,
    /// By destination.
    steps: Vec<OnceLock<Steps>>,
}

impl Ways {
    fn new(neighbours: &[Vec<StationId>]) -> Ways {
        Ways { neighbours: neighbours.to_vec(), steps: vec![OnceLock::new(); neighbours.len()] }
    }

    fn step(&self, from: StationId, to: StationId) -> Option<(StationId, u8)> {
        self.steps[to.index()].get_or_init(|| self.steps_to(to.index()))[from.index()]
    }

    /// Of equally short ways that over the neighbour with the smallest number.
    fn steps_to(&self, to: usize) -> Steps {
        let mut steps: Steps = vec![None; self.neighbours.len()].into();
        let mut ring = vec![to];
        let mut hops = 0_u8;
        let mut left = steps.len() - 1;
        while !ring.is_empty() && left > 0 {
            hops = hops.saturating_add(1);
            let mut further = Vec::new();
            for &nearer in &ring {
                for station in self.neighbours[nearer].iter().map(|id| id.index()).filter(|&station| station != to) {
                    if steps[station].is_none() {
                        steps[station] = Some((StationId(nearer as u32), hops));
                        further.push(station);
                    }
                }
            }
            left -= further.len();
            further.sort_unstable();
            ring = further;
        }
        steps
    }
}

/// A station that knows the shortest ways.
pub struct StaticRoutes {
    me: StationId,
    ways: Arc<Ways>,
}

impl Routing for StaticRoutes {
    fn forward(&mut self, now: Time, parcel: ParcelId, _: Option<StationId>, cx: &mut Context) {
        let to = cx.parcels[parcel].destination;
        match to.and_then(|to| self.next_hop(now, to)) {
            Some((next, _)) => cx.send(parcel, next),
            None => cx.drop(parcel, Why::NoRoute),
        }
    }

    fn on_failure(&mut self, _: Time, parcel: ParcelId, _: StationId, cx: &mut Context) {
        cx.out.push(Action::Drop(parcel, Why::Unreachable));
    }

    fn next_hop(&self, _: Time, to: StationId) -> Option<(StationId, u8)> {
        self.ways.step(self.me, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(edges: &[(u32, u32)], stations: usize) -> Ways {
        let mut neighbours = vec![Vec::new(); stations];
        for &(a, b) in edges {
            neighbours[a as usize].push(StationId(b));
            neighbours[b as usize].push(StationId(a));
        }
        neighbours.iter_mut().for_each(|of| of.sort_unstable());
        Ways::new(&neighbours)
    }

    #[test]
    fn on_a_chain_the_hops_are_the_distance() {
        let ways = ways(&[(0, 1), (1, 2), (2, 3), (3, 4)], 5);
        for from in 0..5_u32 {
            for to in 0..5_u32 {
                let step = (from != to)
                    .then(|| (StationId(if to > from { from + 1 } else { from - 1 }), from.abs_diff(to) as u8));
                assert_eq!(ways.step(StationId(from), StationId(to)), step);
            }
        }
    }

    /// Ways are looked for where somebody asks; to all of these they would be the square of their number, a hundred million.
    #[test]
    fn nobody_looks_for_ways_that_nobody_asks_for() {
        let edges: Vec<(u32, u32)> = (1..10_000).map(|k| (k - 1, k)).collect();
        let ways = ways(&edges, 10_000);
        assert_eq!(ways.step(StationId(5000), StationId(4990)), Some((StationId(4999), 10)));
        assert_eq!(ways.steps.iter().filter(|steps| steps.get().is_some()).count(), 1);
    }

    /// Two ways of two hops round a square: over the smaller number; and an island that nobody reaches.
    #[test]
    fn of_equal_ways_the_smaller_number() {
        let ways = ways(&[(0, 2), (2, 3), (3, 1), (1, 0)], 5);
        assert_eq!(ways.step(StationId(0), StationId(3)), Some((StationId(1), 2)));
        assert_eq!(ways.step(StationId(3), StationId(0)), Some((StationId(1), 2)));
        assert_eq!(ways.step(StationId(0), StationId(4)), None);
        assert_eq!(ways.step(StationId(4), StationId(0)), None);
    }
}
