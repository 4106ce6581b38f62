//! Who hears whom: the cost of a frame grows with the neighbours in carrier-sense range, not with the number of stations.

use super::StationId;
use super::config::{Place, Radio};
use super::propagation::delay;
use cclab_algo::Duration;

/// A station within carrier-sense range of another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbour {
    pub(super) station: u32,
    /// How long a signal takes.
    pub(super) delay: Duration,
    /// With what power it arrives, W; the median under shadowing.
    pub(super) power: f64,
}

impl Neighbour {
    fn new(radio: &Radio, station: u32, from: Place, to: Place) -> Neighbour {
        let distance = from.distance(to);
        Neighbour { station, delay: delay(distance), power: radio.power_at(distance) }
    }
}

/// For every station those that may sense it, ascending.
pub(super) struct Reach {
    lists: Vec<Vec<Neighbour>>,
}

impl Reach {
    pub(super) fn new(radio: &Radio, places: &[Place]) -> Reach {
        let radius = radio.reach(radio.sense);
        let around = |(from, list): (usize, Vec<u32>)| {
            let list = list.into_iter().map(|to| Neighbour::new(radio, to, places[from], places[to as usize]));
            list.filter(|neighbour| neighbour.power * radio.luck() >= radio.sense).collect()
        };
        Reach { lists: candidates(places, radius).into_iter().enumerate().map(around).collect() }
    }

    /// Those that may sense a station.
    pub(super) fn around(&self, station: usize) -> &[Neighbour] {
        &self.lists[station]
    }

    /// For every station those that decode it, as a rule.
    pub(super) fn decoders(&self, radio: &Radio) -> Vec<Vec<StationId>> {
        let decoded = |list: &Vec<Neighbour>| {
            list.iter().filter(|n| n.power >= radio.receive).map(|n| StationId(n.station)).collect()
        };
        self.lists.iter().map(decoded).collect()
    }
}

/// For every place the numbers of the others in squares of `radius` around it, ascending.
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
            found.extend(near.map(|&(_, station)| station).filter(|&station| station as usize != me));
        }
        found.sort_unstable();
        found
    };
    places.iter().enumerate().map(around).collect()
}
