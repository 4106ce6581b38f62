//! Where stations are. A [`Cursor`] walks along a station's legs, drawing them as they come, so that neither the length of a run nor
//! the number of its legs costs memory.

pub mod gauss_markov;
pub mod trace;
pub mod waypoint;

use super::config::{Area, Leg, Medium, Motion, Place, Track};
use cclab_algo::Time;
use cclab_algo::rng::Stream;
use gauss_markov::GaussMarkovWalk;
use waypoint::WaypointWalk;

/// A station on its way. Time runs forward: what is asked of it is never earlier than what was asked before.
#[derive(Clone, Debug)]
pub struct Cursor {
    leg: Leg,
    walk: Walk,
}

#[derive(Clone, Debug)]
enum Walk {
    Standing,
    Along(std::vec::IntoIter<Leg>),
    Waypoint(Box<WaypointWalk>),
    GaussMarkov(Box<GaussMarkovWalk>),
}

impl Cursor {
    pub(super) fn new(motion: &Motion, mut rng: Stream) -> Cursor {
        match motion {
            Motion::Standing(place) => Cursor::along(Track::standing(*place)),
            Motion::Uniform(area) => Cursor::along(Track::standing(area.draw(&mut rng))),
            Motion::Along(track) => Cursor::along(track.clone()),
            Motion::Waypoint(waypoint) => {
                let (leg, walk) = WaypointWalk::start(*waypoint, rng);
                Cursor { leg, walk: Walk::Waypoint(Box::new(walk)) }
            }
            Motion::GaussMarkov(gauss_markov) => {
                let (leg, walk) = GaussMarkovWalk::start(*gauss_markov, rng);
                Cursor { leg, walk: Walk::GaussMarkov(Box::new(walk)) }
            }
        }
    }

    fn along(track: Track) -> Cursor {
        let mut legs = track.legs.into_iter();
        let leg = legs.next().unwrap_or_else(|| Leg::standing(Time::ZERO, Place::default()));
        Cursor { leg, walk: if legs.len() == 0 { Walk::Standing } else { Walk::Along(legs) } }
    }

    /// The leg on which it is now, or which it begins next, or which was its last.
    #[inline]
    pub fn leg(&mut self, now: Time) -> &Leg {
        if now >= self.leg.end {
            self.turn(now);
        }
        &self.leg
    }

    /// Begins the leg of a time at which this one is over.
    #[inline(never)]
    fn turn(&mut self, now: Time) {
        while now >= self.leg.end {
            let next = match &mut self.walk {
                Walk::Standing => None,
                Walk::Along(legs) => legs.next(),
                Walk::Waypoint(walk) => Some(walk.next(&self.leg)),
                Walk::GaussMarkov(walk) => Some(walk.next(&self.leg)),
            };
            match next {
                Some(next) => self.leg = next,
                None => break,
            }
        }
    }

    /// Where it is.
    #[inline]
    pub fn place(&mut self, now: Time) -> Place {
        self.leg(now).at(now)
    }

    /// Whether it may ever move.
    pub fn moves(&self) -> bool {
        !matches!(self.walk, Walk::Standing) || self.leg.from != self.leg.to
    }
}

/// What draws may cost in all before they are given up, in pairs of places that are looked at: about a second.
const MOST: u64 = 100_000_000;
/// What the place of a station costs to draw, in the same.
const DRAW: u64 = 40;

/// Places in which every station reaches every other one are not to be had by chance.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "network.connected: {draws} draws of {stations} stations in {} m × {} m, heard up to {range:.0} m, gave none in which every station reaches every other one (seed {seed}); write more nodes, a smaller area, a radio that reaches farther, or false",
    area.x, area.y
)]
pub struct Unconnected {
    /// How often they were drawn.
    pub draws: usize,
    /// How many they are.
    pub stations: usize,
    /// Where they may be.
    pub area: Area,
    /// How far they are heard, m.
    pub range: f64,
    /// The seed of the draws.
    pub seed: u64,
}

/// The stations of a medium at the start of a run with this seed; their streams are named after their nodes. Where they are to be connected, `reaches` says of two places
/// whether one hears the other, and all is drawn again until every station reaches every other one.
///
/// # Errors
/// That takes too many draws.
pub fn start(
    medium: &Medium,
    nodes: &[String],
    seed: u64,
    reaches: impl Fn(Place, Place) -> bool,
) -> Result<Vec<Cursor>, Unconnected> {
    let seed = medium.seed.unwrap_or(seed);
    let (mut draws, mut cost) = (0, 0);
    loop {
        let mut found = draw(medium, nodes, seed, draws);
        if !medium.connected || is_connected(&mut found, &reaches, &mut cost) {
            return Ok(found);
        }
        draws += 1;
        cost += DRAW * found.len() as u64;
        if cost > MOST {
            let area = medium.stations.iter().find_map(|station| station.motion.area()).unwrap_or_default();
            let range = medium.radio.range(medium.radio.receive);
            return Err(Unconnected { draws, stations: found.len(), area, range, seed });
        }
    }
}

/// The stations after so many draws in vain.
pub(super) fn draw(medium: &Medium, nodes: &[String], seed: u64, before: usize) -> Vec<Cursor> {
    let again = if before == 0 { String::new() } else { format!("/{before}") };
    let stream = |name: &str| Stream::new(seed, &format!("mobility/{name}{again}"));
    medium.stations.iter().map(|station| Cursor::new(&station.motion, stream(&nodes[station.node]))).collect()
}

/// The ways of the stations in a run with this seed, up to the leg of a time.
///
/// # Errors
/// See [`start`].
pub fn tracks(medium: &Medium, nodes: &[String], seed: u64, until: Time) -> Result<Vec<Track>, Unconnected> {
    let track = |mut cursor: Cursor| {
        let mut legs = vec![*cursor.leg(Time::ZERO)];
        while let Some(last) = legs.last().copied().filter(|last| last.end < until) {
            match *cursor.leg(last.end) {
                next if next == last => break,
                next => legs.push(next),
            }
        }
        Track { legs }
    };
    Ok(start(medium, nodes, seed, |a, b| medium.radio.reaches(a, b))?.into_iter().map(track).collect())
}

/// Whether every station reaches every other one at the start; the pairs that were looked at add to `cost`.
fn is_connected(cursors: &mut [Cursor], reaches: &impl Fn(Place, Place) -> bool, cost: &mut u64) -> bool {
    let mut rest: Vec<Place> = cursors.iter_mut().map(|cursor| cursor.place(Time::ZERO)).collect();
    let mut border: Vec<Place> = rest.pop().into_iter().collect();
    while let Some(place) = border.pop() {
        *cost += rest.len() as u64;
        let (near, far) = rest.into_iter().partition(|other| reaches(place, *other));
        rest = far;
        border.extend::<Vec<Place>>(near);
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::config::{Area, Mac, Radio, Routing, Station};
    use super::super::routing;
    use super::*;
    use crate::net::queue::{Limit, Queue};

    /// A medium of these stations.
    pub(super) fn medium(motions: Vec<Motion>) -> Medium {
        let station = |(node, motion)| Station::new(node, motion);
        Medium {
            name: "air".into(),
            stations: motions.into_iter().enumerate().map(station).collect(),
            seed: None,
            connected: false,
            radio: Radio::WAVELAN,
            mac: Mac::of("ns2-2M").expect("a profile"),
            queue: Queue::DropTail { limit: Limit::Packets(50) },
            routing: Routing::new(&routing::static_routes::ENTRY),
            arp: true,
            ttl: 64,
            infrastructure: false,
        }
    }

    fn names() -> Vec<String> {
        (0..20).map(|k| format!("n{k}")).collect()
    }

    fn drawn(medium: &Medium, seed: u64, reaches: impl Fn(Place, Place) -> bool) -> Vec<Cursor> {
        start(medium, &names(), seed, reaches).unwrap_or_else(|e| panic!("{e}"))
    }

    const AREA: Area = Area { x: 1000.0, y: 1000.0 };

    /// Its length does not matter, and neither do the others.
    #[test]
    fn a_station_draws_for_itself() {
        let first = |count| drawn(&medium(vec![Motion::Uniform(AREA); count]), 3, |_, _| true)[0].place(Time::ZERO);
        assert_eq!(first(1), first(20));
        let seeded = Medium { seed: Some(9), ..medium(vec![Motion::Uniform(AREA)]) };
        let place = |seed| drawn(&seeded, seed, |_, _| true)[0].place(Time::ZERO);
        assert_eq!(place(3), place(4));
        assert_ne!(place(3), first(1));
    }

    /// Twelve stations that hear 300 m far in a square kilometre are seldom connected by chance.
    #[test]
    fn the_start_is_connected_on_request() {
        let near = |a: Place, b: Place| a.distance(b) <= 300.0;
        let connected = |connected: bool, seed| {
            let medium = Medium { connected, ..medium(vec![Motion::Uniform(AREA); 12]) };
            is_connected(&mut drawn(&medium, seed, near), &near, &mut 0)
        };
        assert!((1..20).all(|seed| connected(true, seed)));
        assert!((1..20).filter(|seed| connected(false, *seed)).count() < 10);
    }

    /// Two stations that hear `r` far on a side `l` hear each other with probability p ≈ π (r/l)²: they take 1 / p draws in the mean.
    #[test]
    fn rare_places_are_found_and_places_that_chance_does_not_give_are_refused() {
        let side = |x: f64, count| Medium { connected: true, ..medium(vec![Motion::Uniform(Area { x, y: x }); count]) };
        let radio = Radio::WAVELAN;
        let start = |medium: &Medium, seed| start(medium, &names(), seed, |a, b| radio.reaches(a, b));
        let rare = side(25_000.0, 2); // p = π / 10⁴
        assert!((1..10).all(|seed| start(&rare, seed).is_ok()));
        let error = start(&side(100_000.0, 20), 1).expect_err("of twenty in so much room each is alone");
        assert!(error.draws > 10_000, "{error}");
        let text = "draws of 20 stations in 100000 m × 100000 m, heard up to 250 m, gave none";
        assert!(error.to_string().starts_with("network.connected: ") && error.to_string().contains(text), "{error}");
    }
}
