//! Where stations are. A [`Cursor`] walks along a station's legs, drawing them as they come, so that neither the length of a run nor
//! the number of its legs costs memory.

pub mod gauss_markov;
pub mod trace;
pub mod waypoint;

use super::config::{Leg, Medium, Motion, Place, Track};
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

/// Draws of places before those at hand are taken though they are not connected.
const DRAWS: usize = 1_000_000;

/// The stations of a medium at the start of a run with this seed; their streams are named after their nodes. Where they are to be connected, `reaches` says of two places
/// whether one hears the other, and all is drawn again until every station reaches every other one.
pub fn start(medium: &Medium, nodes: &[String], seed: u64, reaches: impl Fn(Place, Place) -> bool) -> Vec<Cursor> {
    let seed = medium.seed.unwrap_or(seed);
    let draw = |attempt: usize| -> Vec<Cursor> {
        let again = if attempt == 0 { String::new() } else { format!("/{attempt}") };
        let stream = |name: &str| Stream::new(seed, &format!("mobility/{name}{again}"));
        medium.stations.iter().map(|station| Cursor::new(&station.motion, stream(&nodes[station.node]))).collect()
    };
    let mut found = draw(0);
    for attempt in 1..DRAWS {
        if !medium.connected || is_connected(&mut found, &reaches) {
            break;
        }
        found = draw(attempt);
    }
    found
}

/// The ways of the stations in a run with this seed, up to the leg of a time.
pub fn tracks(medium: &Medium, nodes: &[String], seed: u64, until: Time) -> Vec<Track> {
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
    start(medium, nodes, seed, |a, b| medium.radio.reaches(a, b)).into_iter().map(track).collect()
}

/// Whether every station reaches every other one at the start.
fn is_connected(cursors: &mut [Cursor], reaches: &impl Fn(Place, Place) -> bool) -> bool {
    let mut rest: Vec<Place> = cursors.iter_mut().map(|cursor| cursor.place(Time::ZERO)).collect();
    let mut border: Vec<Place> = rest.pop().into_iter().collect();
    while let Some(place) = border.pop() {
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

    const AREA: Area = Area { x: 1000.0, y: 1000.0 };

    /// Its length does not matter, and neither do the others.
    #[test]
    fn a_station_draws_for_itself() {
        let first =
            |count| start(&medium(vec![Motion::Uniform(AREA); count]), &names(), 3, |_, _| true)[0].place(Time::ZERO);
        assert_eq!(first(1), first(20));
        let seeded = Medium { seed: Some(9), ..medium(vec![Motion::Uniform(AREA)]) };
        let place = |seed| start(&seeded, &names(), seed, |_, _| true)[0].place(Time::ZERO);
        assert_eq!(place(3), place(4));
        assert_ne!(place(3), first(1));
    }

    /// Twelve stations that hear 300 m far in a square kilometre are seldom connected by chance.
    #[test]
    fn the_start_is_connected_on_request() {
        let near = |a: Place, b: Place| a.distance(b) <= 300.0;
        let connected = |connected: bool, seed| {
            let medium = Medium { connected, ..medium(vec![Motion::Uniform(AREA); 12]) };
            is_connected(&mut start(&medium, &names(), seed, near), &near)
        };
        assert!((1..20).all(|seed| connected(true, seed)));
        assert!((1..20).filter(|seed| connected(false, *seed)).count() < 10);
    }
}
