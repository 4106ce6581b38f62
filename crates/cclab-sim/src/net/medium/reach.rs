//! Who hears whom: the cost of a frame grows with the neighbours in carrier-sense range, not with the number of stations.
//!
//! Stations that never move have their neighbours once. Others have candidates, who were near when all were last looked at; they
//! are looked at again when one of them has moved by [`SLACK`]. Where candidates are is computed for every frame, from the legs that they
//! are on.

use super::StationId;
use super::config::{Leg, Place, Radio};
use super::mobility::Cursor;
use super::propagation::delay;
use cclab_algo::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far a station moves before everybody is looked at again, as a share of the carrier-sense range.
const SLACK: f64 = 0.1;

/// A station within carrier-sense range of another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbour {
    pub(super) station: u32,
    /// How long a signal takes, ns.
    pub(super) delay: u32,
    /// With what power it arrives, W; the median under shadowing.
    pub(super) power: f64,
}

/// For every station those that may sense it.
pub(super) struct Reach {
    radio: Radio,
    /// How far a frame may be sensed, m, and with what median power at least, W.
    range: f64,
    weakest: f64,
    /// The neighbours of each station at the start, ascending, one station behind the other; and where each begins.
    lists: Vec<Neighbour>,
    begins: Vec<usize>,
    moving: Option<Moving>,
}

/// Stations that move.
struct Moving {
    cursors: Vec<Cursor>,
    /// Their legs of the moment.
    legs: Vec<Straight>,
    /// Where everybody was when last looked at, and who was near whom.
    places: Vec<Place>,
    candidates: Vec<Vec<u32>>,
    /// The neighbours of the station that was asked for last; how far its candidates were, and what they got.
    list: Vec<Neighbour>,
    distances: Vec<f64>,
    powers: Vec<f64>,
    /// Until when each station is sure to be on its leg, and near its place.
    checks: BinaryHeap<Reverse<(Time, u32)>>,
}

/// A leg, or a rest, as what it takes to say where a station is. Times in ns.
#[derive(Clone, Copy, Default)]
struct Straight {
    /// There the station is until then …
    place: Place,
    since: f64,
    /// … from where on it runs, m/ns.
    speed: Place,
}

impl Straight {
    /// That of a leg from `now` to its end, or for ever.
    fn new(leg: &Leg, now: Time) -> Straight {
        if now >= leg.end {
            return Straight { place: leg.to, ..Straight::default() };
        }
        let time = (leg.end.0 - leg.start.0).max(1) as f64;
        let speed = Place { x: (leg.to.x - leg.from.x) / time, y: (leg.to.y - leg.from.y) / time };
        Straight { place: leg.from, since: leg.start.0 as f64, speed }
    }

    #[inline(always)]
    fn at(&self, now: f64) -> Place {
        let time = if now > self.since { now - self.since } else { 0.0 };
        Place { x: self.place.x + self.speed.x * time, y: self.place.y + self.speed.y * time }
    }
}

impl Reach {
    pub(super) fn new(radio: &Radio, mut cursors: Vec<Cursor>) -> Reach {
        let range = radio.reach(radio.sense);
        let places: Vec<Place> = cursors.iter_mut().map(|cursor| cursor.place(Time::ZERO)).collect();
        let weakest = radio.sense / radio.luck();
        let mut reach = Reach { radio: *radio, range, weakest, lists: Vec::new(), begins: vec![0], moving: None };
        for (from, list) in candidates(&places, range).into_iter().enumerate() {
            for to in list {
                let neighbour = reach.neighbour(to, places[from], places[to as usize]);
                reach.lists.extend(neighbour);
            }
            reach.begins.push(reach.lists.len());
        }
        if cursors.iter().any(Cursor::moves) {
            let (candidates, list, distances, powers, checks) = Default::default();
            let legs = vec![Straight::default(); cursors.len()];
            let mut moving = Moving { cursors, legs, places, candidates, list, distances, powers, checks };
            moving.look(Time::ZERO, range);
            reach.moving = Some(moving);
        }
        reach
    }

    /// A station as another one's neighbour, if a frame may be sensed there.
    #[inline(always)]
    fn neighbour(&self, station: u32, from: Place, to: Place) -> Option<Neighbour> {
        let distance = from.distance(to);
        if distance > self.range {
            return None;
        }
        let power = self.radio.power_at(distance);
        if power < self.weakest {
            return None;
        }
        Some(Neighbour { station, delay: delay(distance).0 as u32, power })
    }

    /// Those that may sense a station at `now`, which is not before the last call.
    #[inline]
    pub(super) fn around(&mut self, now: Time, station: usize) -> &[Neighbour] {
        if self.moving.is_some() {
            return self.locate(now, station);
        }
        &self.lists[self.begins[station]..self.begins[station + 1]]
    }

    /// Finds the neighbours of the moment, one quantity of all candidates after the other, as processors like it.
    fn locate(&mut self, now: Time, station: usize) -> &[Neighbour] {
        let Some(mut moving) = self.moving.take() else { return &[] };
        moving.check(now, self.range);
        let Moving { legs, candidates, list, distances, powers, .. } = &mut moving;
        let (at, candidates) = (now.0 as f64, &candidates[station][..]);
        let from = legs[station].at(at);
        distances.clear();
        distances.extend(candidates.iter().map(|&to| from.distance(legs[to as usize].at(at))));
        self.radio.powers_at(distances, powers);
        list.clear();
        list.reserve(candidates.len());
        for ((&station, &distance), &power) in candidates.iter().zip(&*distances).zip(&*powers) {
            if power >= self.weakest && distance <= self.range {
                list.push(Neighbour { station, delay: delay(distance).0 as u32, power });
            }
        }
        &self.moving.insert(moving).list
    }

    /// How many pairs of stations there were at the start of which the one may sense the other.
    pub(super) fn heard(&self) -> usize {
        self.lists.len()
    }

    /// For every station those that decode it at the start, as a rule.
    pub(super) fn decoders(&self) -> Vec<Vec<StationId>> {
        let decodes = |n: &&Neighbour| n.power >= self.radio.receive;
        let decoders = |list: &[Neighbour]| list.iter().filter(decodes).map(|n| StationId(n.station)).collect();
        self.begins.windows(2).map(|list| decoders(&self.lists[list[0]..list[1]])).collect()
    }
}

/// About how many pairs [`Reach`] would have of stations at these places: it counts around a hundred of them, a prime number apart, so
/// that they are not all of one column of a grid.
pub(super) fn estimate(radio: &Radio, places: &[Place]) -> u64 {
    let range = radio.reach(radio.sense);
    let asked = places.len().min(100);
    let around =
        |me: usize| (0..places.len()).filter(|&to| to != me && places[me].distance(places[to]) <= range).count();
    let found: usize = (0..asked).map(|k| around(k * 7919 % places.len())).sum();
    found as u64 * places.len() as u64 / asked.max(1) as u64
}

impl Moving {
    /// Sees to it that nobody is farther than the slack from where it was when last looked at.
    fn check(&mut self, now: Time, range: f64) {
        while let Some(&Reverse((until, station))) = self.checks.peek()
            && until <= now
        {
            let here = self.cursors[station as usize].place(now);
            if here.distance(self.places[station as usize]) >= SLACK * range * 0.99 {
                return self.look(now, range);
            }
            self.checks.pop();
            self.watch(now, station, range);
        }
    }

    /// Looks where everybody is.
    fn look(&mut self, now: Time, range: f64) {
        for (place, cursor) in self.places.iter_mut().zip(&mut self.cursors) {
            *place = cursor.place(now);
        }
        self.candidates = candidates(&self.places, range * (1.0 + 2.0 * SLACK));
        self.checks.clear();
        for station in 0..self.cursors.len() as u32 {
            self.watch(now, station, range);
        }
    }

    /// Notes until when a station is sure to be near its place: the end of its leg, or before, when it may have come too far.
    fn watch(&mut self, now: Time, station: u32, range: f64) {
        let cursor = &mut self.cursors[station as usize];
        let here = cursor.place(now);
        let leg = cursor.leg(now);
        self.legs[station as usize] = Straight::new(leg, now);
        let left = SLACK * range - here.distance(self.places[station as usize]);
        let speed = leg.speed();
        let enough = if speed > 0.0 { now.max(leg.start) + Duration::from_secs_f64(left / speed) } else { Time::NEVER };
        let until = enough.min(leg.end);
        if until > now {
            self.checks.push(Reverse((until, station)));
        }
    }
}

/// For every place the numbers of the others in the squares of `radius` around it, ascending.
fn candidates(places: &[Place], radius: f64) -> Vec<Vec<u32>> {
    let square = |place: &Place| ((place.x / radius).floor() as i64, (place.y / radius).floor() as i64);
    let mut cells: Vec<_> = places.iter().enumerate().map(|(i, place)| (square(place), i as u32)).collect();
    cells.sort_unstable();
    let around = |(me, place): (usize, &Place)| {
        let (x, y) = square(place);
        let mut found = Vec::new();
        for column in x - 1..=x + 1 {
            let first = cells.partition_point(|&(cell, _)| cell < (column, y - 1));
            let near = cells[first..].iter().take_while(|&&(cell, _)| cell <= (column, y + 1));
            found.extend(
                near.map(|&(_, station)| station)
                    .filter(|&station| station as usize != me && places[station as usize].distance(*place) <= radius),
            );
        }
        found.sort_unstable();
        found
    };
    places.iter().enumerate().map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::{Area, Leg, Motion, Track};
    use super::*;
    use crate::measure::budget;
    use cclab_algo::rng::Stream;
    use std::f64::consts::PI;

    /// Everybody within range, found by looking at everybody.
    fn exhaustive(radio: &Radio, cursors: &mut [Cursor], now: Time, station: usize) -> Vec<u32> {
        let places: Vec<Place> = cursors.iter_mut().map(|cursor| cursor.place(now)).collect();
        let near = |&to: &usize| to != station && radio.power_at(places[station].distance(places[to])) >= radio.sense;
        (0..places.len()).filter(near).map(|to| to as u32).collect()
    }

    /// Two places in a square of side 1 are within r ≤ 1 of each other with probability π r² − 8 r³ / 3 + r⁴ / 2. In a grid each but
    /// those at the edges has 20 others within 550 m at a spacing of 220 m.
    #[test]
    fn pairs_in_range_are_as_many_as_geometry_has() {
        let radio = Radio::WAVELAN;
        let mut rng = Stream::new(1, "places");
        for side in [600.0, 1500.0, 10_000.0] {
            let r = radio.reach(radio.sense) / side;
            let share = PI * r.powi(2) - 8.0 * r.powi(3) / 3.0 + r.powi(4) / 2.0;
            let places: Vec<Place> = (0..2000).map(|_| Area { x: side, y: side }.draw(&mut rng)).collect();
            let expected = 2000.0 * 1999.0 * share;
            let standing = |place: &Place| Cursor::new(&Motion::Standing(*place), rng.clone());
            let found = Reach::new(&radio, places.iter().map(standing).collect()).heard() as f64;
            assert!((found / expected - 1.0).abs() < 0.05, "{found} of {expected}");
            let estimate = estimate(&radio, &places) as f64;
            assert!((estimate / expected - 1.0).abs() < 0.15, "{estimate} of {expected}");
        }
        let grid: Vec<Place> =
            (0..10_000).map(|k| Place { x: f64::from(k % 100) * 220.0, y: f64::from(k / 100) * 220.0 }).collect();
        let each = estimate(&radio, &grid) as f64 / 1e4;
        assert!((19.0..=20.0).contains(&each), "{each}");
        assert!(size_of::<Neighbour>() + 2 * size_of::<u32>() <= budget::HEARD as usize);
    }

    /// Stations that run at up to 50 m/s, rest, or jump: at every moment the neighbours are those that a look at all finds.
    #[test]
    fn neighbours_of_the_moment() {
        let radio = Radio::WAVELAN;
        let mut rng = Stream::new(1, "tracks");
        let area = Area { x: 3000.0, y: 3000.0 };
        let mut place = || area.draw(&mut rng);
        let mut track = |i: u64| {
            let (mut start, mut from, mut legs) = (Time::ZERO, place(), Vec::new());
            for leg in 0..30 {
                let to = if leg % 3 == 2 { from } else { place() };
                let end = start + Duration::from_secs_f64(from.distance(to) / (5.0 * (i % 10 + 1) as f64) + 0.5);
                legs.push(Leg { start, end, from, to });
                (start, from) = (end, if i == 7 { place() } else { to });
            }
            Motion::Along(Track { legs })
        };
        let motions: Vec<Motion> = (0..60).map(&mut track).collect();
        let mut cursors: Vec<Cursor> = motions.iter().map(|motion| Cursor::new(motion, rng.clone())).collect();
        let mut reach = Reach::new(&radio, cursors.clone());
        let mut looks = 0;
        for step in 0..20_000_u64 {
            let (now, station) = (Time(step * 17_000_000), (step * 7 % 60) as usize);
            let found: Vec<u32> = reach.around(now, station).iter().map(|n| n.station).collect();
            assert_eq!(found, exhaustive(&radio, &mut cursors, now, station), "station {station} at {now:?}");
            looks += found.len();
        }
        assert!(looks > 20_000, "{looks}");
    }
}
