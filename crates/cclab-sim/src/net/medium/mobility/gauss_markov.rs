//! Gauss–Markov: speed and direction forget slowly.
//!
//! ```text
//! s' = a s + (1 − a) s̄ + √(1 − a²) σ x        d' = a d + (1 − a) d̄ + √(1 − a²) σ y        x, y normal
//! ```
//! (B. Liang and Z. Haas, INFOCOM 1999; T. Camp, J. Boleng and V. Davies, WCMC 2(5), 2002.) d̄ is drawn for each station, and near an edge
//! it becomes the direction to the centre. A step that would lead out of the area is mirrored at the edge. A negative speed walks
//! backwards, as in the formula.

use super::super::config::{GaussMarkov, Leg, Place};
use cclab_algo::rng::Stream;
use cclab_algo::{Time, math};
use std::f64::consts::{PI, TAU};

/// A station on its way.
#[derive(Clone, Debug)]
pub struct GaussMarkovWalk {
    spec: GaussMarkov,
    speed: f64,
    direction: f64,
    mean_direction: f64,
    rng: Stream,
}

impl GaussMarkovWalk {
    /// Its first step, from anywhere; speed and direction are drawn from what they are in the long run.
    pub fn start(spec: GaussMarkov, mut rng: Stream) -> (Leg, GaussMarkovWalk) {
        let place = spec.area.draw(&mut rng);
        let mean_direction = rng.between(0.0, TAU);
        let speed = spec.speed + spec.speed_deviation * rng.normal();
        let direction = mean_direction + spec.direction_deviation * rng.normal();
        let mut walk = GaussMarkovWalk { spec, speed, direction, mean_direction, rng };
        (walk.step(Time::ZERO, place), walk)
    }

    /// The step behind this one.
    pub fn next(&mut self, last: &Leg) -> Leg {
        self.turn(last.to);
        let a = self.spec.memory;
        let fresh = (1.0 - a * a).sqrt();
        self.speed =
            a * self.speed + (1.0 - a) * self.spec.speed + fresh * self.spec.speed_deviation * self.rng.normal();
        self.direction = a * self.direction
            + (1.0 - a) * self.mean_direction
            + fresh * self.spec.direction_deviation * self.rng.normal();
        self.step(last.end, last.to)
    }

    /// One step from here.
    fn step(&mut self, start: Time, from: Place) -> Leg {
        let way = self.speed * self.spec.step.as_secs_f64();
        let (x, mirrored_x) = mirror(from.x + way * math::cos(self.direction), self.spec.area.x);
        let (y, mirrored_y) = mirror(from.y + way * math::sin(self.direction), self.spec.area.y);
        if mirrored_x {
            self.direction = PI - self.direction;
        }
        if mirrored_y {
            self.direction = -self.direction;
        }
        Leg { start, end: start + self.spec.step, from, to: Place { x, y } }
    }

    /// Near an edge the mean direction is that to the centre: of the angles that mean it, the one nearest to where it goes now.
    fn turn(&mut self, place: Place) {
        let GaussMarkov { area, margin, .. } = self.spec;
        let near = |at: f64, length: f64| at < margin || at > length - margin;
        if near(place.x, area.x) || near(place.y, area.y) {
            self.mean_direction = math::atan2(area.y / 2.0 - place.y, area.x / 2.0 - place.x);
        }
        self.mean_direction += TAU * ((self.direction - self.mean_direction) / TAU).round();
    }
}

/// What lies beyond an edge, folded back; and whether it did.
fn mirror(at: f64, length: f64) -> (f64, bool) {
    let folded = at.rem_euclid(2.0 * length);
    let back = folded > length;
    (if back { 2.0 * length - folded } else { folded }, back)
}

#[cfg(test)]
mod tests {
    use super::super::super::config::{Area, Motion};
    use super::super::Cursor;
    use super::*;
    use cclab_algo::Duration;

    const SPEC: GaussMarkov = GaussMarkov {
        area: Area { x: 1000.0, y: 1000.0 },
        memory: 0.75,
        speed: 10.0,
        speed_deviation: 2.0,
        direction_deviation: 0.5,
        step: Duration::from_secs(1),
        margin: 100.0,
    };

    fn speeds(spec: GaussMarkov, steps: usize) -> Vec<f64> {
        let (mut leg, mut walk) = GaussMarkovWalk::start(spec, Stream::new(1, "station"));
        let step = |_| {
            leg = walk.next(&leg);
            walk.speed
        };
        (0..steps).map(step).collect()
    }

    /// An autoregressive process: mean s̄, variance σ², correlation a from step to step. The effective sample is (1 − a)/(1 + a) of 10⁵
    /// for the mean, (1 − a²)/(1 + a²) for the variance; five standard deviations.
    #[test]
    fn mean_variance_and_correlation() {
        for a in [0.0, 0.5, 0.75, 0.95] {
            let found = speeds(GaussMarkov { memory: a, ..SPEC }, 100_000);
            let n = found.len() as f64;
            let mean = found.iter().sum::<f64>() / n;
            assert!((mean - 10.0).abs() < 5.0 * 2.0 * ((1.0 + a) / (1.0 - a) / n).sqrt(), "a = {a}: mean {mean}");
            let variance = found.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n;
            let deviation = 4.0 * (2.0 * (1.0 + a * a) / (1.0 - a * a) / n).sqrt();
            assert!((variance - 4.0).abs() < 5.0 * deviation, "a = {a}: variance {variance}");
            let covariance = found.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n;
            let correlation = covariance / variance;
            assert!((correlation - a).abs() < 5.0 * ((1.0 - a * a) / n).sqrt(), "a = {a}: {correlation}");
        }
    }

    /// With a = 1 nothing is forgotten: straight ahead at one speed, until an edge.
    #[test]
    fn what_remembers_all_goes_straight() {
        let spec = GaussMarkov { memory: 1.0, margin: 0.0, area: Area { x: 1e6, y: 1e6 }, ..SPEC };
        let mut cursor = Cursor::new(&Motion::GaussMarkov(spec), Stream::new(1, "station"));
        let seconds = |s: u64| Time(s * 1_000_000_000);
        let (a, b, c) = (cursor.place(seconds(0)), cursor.place(seconds(50)), cursor.place(seconds(100)));
        assert!((a.distance(c) - 2.0 * a.distance(b)).abs() < 1e-6 && a.distance(b) > 100.0);
    }

    /// A station that never moved out of its area has been turned by its edges, and does not stick to them.
    #[test]
    fn it_stays_in_its_area() {
        let mut cursor = Cursor::new(&Motion::GaussMarkov(SPEC), Stream::new(1, "station"));
        let places: Vec<Place> = (0..200_000).map(|ms| cursor.place(Time(ms * 100_000_000))).collect();
        let inside = |p: &&Place| (0.0..=1000.0).contains(&p.x) && (0.0..=1000.0).contains(&p.y);
        assert_eq!(places.iter().filter(inside).count(), places.len());
        let at_edge = |p: &&Place| [p.x, p.y].iter().any(|c| !(100.0..=900.0).contains(c));
        let share = places.iter().filter(at_edge).count() as f64 / places.len() as f64;
        assert!(share < 0.36, "{share} where an even spread has 0.36");
    }

    #[test]
    fn mirrors() {
        assert_eq!(mirror(250.0, 1000.0), (250.0, false));
        assert_eq!(mirror(-1.0, 1000.0), (1.0, true));
        assert_eq!(mirror(1010.0, 1000.0), (990.0, true));
        assert_eq!(mirror(2010.0, 1000.0), (10.0, false));
    }
}
