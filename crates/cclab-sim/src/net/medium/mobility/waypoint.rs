//! Random waypoint: to a place drawn evenly, at a speed drawn evenly, then a rest, and again.
//!
//! Slow legs last long, so a station that begins with a fresh leg slows down for a long time. In the steady state a moving
//! station's speed has the density 1/(v ln(v_max/v_min)), and a leg is met in proportion to its length (W. Navidi and T. Camp, IEEE
//! TMC 3(1), 2004; J.-Y. Le Boudec and M. Vojnović, INFOCOM 2005). A steady start draws from that.

use super::super::config::{Area, Leg, Waypoint};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time, math};

/// A station on its way.
#[derive(Clone, Debug)]
pub struct WaypointWalk {
    spec: Waypoint,
    rng: Stream,
}

impl WaypointWalk {
    /// Its first leg, or what is left of it.
    pub fn start(spec: Waypoint, mut rng: Stream) -> (Leg, WaypointWalk) {
        let first = match spec.steady {
            false => rest(&spec, &mut rng, spec.pause),
            true if rng.chance(share_of_rest(&spec)) => {
                let left = spec.pause.mul_f64(rng.uniform());
                rest(&spec, &mut rng, left)
            }
            true => underway(&spec, &mut rng),
        };
        (first, WaypointWalk { spec, rng })
    }

    /// The leg behind this one.
    pub fn next(&mut self, last: &Leg) -> Leg {
        let to = self.spec.area.draw(&mut self.rng);
        let speed = self.rng.between(self.spec.speed.0, self.spec.speed.1);
        let start = if last.from == last.to { last.end } else { last.end + self.spec.pause };
        Leg::at_speed(start, last.to, to, speed)
    }
}

/// Anywhere, for this long.
fn rest(spec: &Waypoint, rng: &mut Stream, time: Duration) -> Leg {
    Leg { end: Time::ZERO + time, ..Leg::standing(Time::ZERO, spec.area.draw(rng)) }
}

/// Somewhere on a leg, which is met the more often the longer it is; fast ones are soon over.
fn underway(spec: &Waypoint, rng: &mut Stream) -> Leg {
    let (from, to) = loop {
        let (from, to) = (spec.area.draw(rng), spec.area.draw(rng));
        if rng.chance(from.distance(to) / spec.area.diagonal()) {
            break (from, to);
        }
    };
    let leg = Leg { start: Time::ZERO, end: Time(1 << 53), from, to };
    let here = leg.at(Time((rng.uniform() * leg.end.0 as f64) as u64));
    let (slow, fast) = spec.speed;
    let speed = slow * math::pow(fast / slow, rng.uniform());
    Leg::at_speed(Time::ZERO, here, to, speed)
}

/// How often a station is at rest.
fn share_of_rest(spec: &Waypoint) -> f64 {
    let (slow, fast) = spec.speed;
    let slowness = if fast > slow { math::ln(fast / slow) / (fast - slow) } else { 1.0 / slow };
    let pause = spec.pause.as_secs_f64();
    pause / (pause + mean_distance(spec.area) * slowness)
}

/// Of two places drawn evenly, m (B. Ghosh, Bull. Calcutta Math. Soc. 43, 1951).
fn mean_distance(Area { x, y }: Area) -> f64 {
    let d = (Area { x, y }).diagonal();
    let (xx, yy) = (x * x, y * y);
    let powers = xx * x / yy + yy * y / xx + d * (3.0 - xx / yy - yy / xx);
    let logs = yy / x * math::ln((x + d) / y) + xx / y * math::ln((y + d) / x);
    (powers + 2.5 * logs) / 15.0
}

#[cfg(test)]
mod tests {
    use super::super::super::config::{Motion, Place};
    use super::super::Cursor;
    use super::*;

    const SPEC: Waypoint = Waypoint {
        area: Area { x: 1500.0, y: 300.0 },
        speed: (1.0, 20.0),
        pause: Duration::from_secs(30),
        steady: true,
    };
    const STATIONS: usize = 20_000;
    const LATER: Time = Time(2000 * 1_000_000_000);

    /// The stations at a time: where, and how fast (0 at rest).
    fn snapshot(spec: Waypoint, now: Time) -> Vec<(Place, f64)> {
        let station = |k: usize| {
            let mut cursor = Cursor::new(&Motion::Waypoint(spec), Stream::new(1, &format!("station {k}")));
            let leg = cursor.leg(now);
            (leg.at(now), if leg.start <= now { leg.speed() } else { 0.0 })
        };
        (0..STATIONS).map(station).collect()
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
        sum / count
    }

    /// The largest difference between the distribution of a sample and this one (Kolmogorov and Smirnov), in units of 1/√n.
    fn distance(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let gap = |(k, v): (usize, &f64)| (cdf(*v) - k as f64 / n).abs().max(((k + 1) as f64 / n - cdf(*v)).abs());
        sample.iter().enumerate().map(gap).fold(0.0, f64::max) * n.sqrt()
    }

    /// 0.521405 of a side; in a long strip a third of its length.
    #[test]
    fn mean_distances() {
        assert!((mean_distance(Area { x: 1000.0, y: 1000.0 }) - 521.405).abs() < 1e-3);
        assert!((mean_distance(Area { x: 3000.0, y: 1.0 }) - 1000.0).abs() < 0.1);
    }

    /// P(rest) = E[T]/(E[T] + E[D] E[1/V]), the speed of those that move has the density 1/(v ln(v_max/v_min)): at once, and after 2000 s.
    /// KS at 1.95: false alarm 0.1 %; the share of rest within four standard deviations.
    #[test]
    fn a_steady_start_stays_as_it_is() {
        let slowness = math::ln(20.0) / 19.0;
        let at_rest = 30.0 / (30.0 + mean_distance(SPEC.area) * slowness);
        for now in [Time::ZERO, LATER] {
            let (resting, moving): (Vec<f64>, Vec<f64>) =
                snapshot(SPEC, now).iter().map(|s| s.1).partition(|v| *v == 0.0);
            let share = resting.len() as f64 / STATIONS as f64;
            let tolerance = 4.0 * (at_rest * (1.0 - at_rest) / STATIONS as f64).sqrt();
            assert!((share - at_rest).abs() < tolerance, "{now:?}: {share} of {at_rest}");
            let found = distance(moving.clone(), |v| math::ln(v) / math::ln(20.0));
            assert!(found < 1.95, "{now:?}: {found}");
            let expected = 19.0 / math::ln(20.0);
            assert!((mean(moving.into_iter()) / expected - 1.0).abs() < 0.03);
        }
    }

    /// A uniform start slows down, which is what the steady one is for.
    #[test]
    fn a_uniform_start_slows_down() {
        let spec = Waypoint { steady: false, pause: Duration::ZERO, ..SPEC };
        let speed = |now| mean(snapshot(spec, now).into_iter().map(|s| s.1));
        let (first, later) = (speed(Time(1)), speed(LATER));
        assert!((first / 10.5 - 1.0).abs() < 0.02, "{first}");
        assert!((later / (19.0 / math::ln(20.0)) - 1.0).abs() < 0.03, "{later}");
    }

    /// Places of moving stations on a line have the density 6u(1−u) of a strip's length (Bettstetter, Resta and Santi 2003), at
    /// once and later; stations at rest are anywhere.
    #[test]
    fn places_in_a_strip() {
        let strip = Area { x: 1000.0, y: 1.0 };
        for now in [Time::ZERO, LATER] {
            for (pause, moving) in [(Duration::ZERO, true), (Duration::from_secs(100_000), false)] {
                let spec = Waypoint { area: strip, pause, ..SPEC };
                let seen = snapshot(spec, now).into_iter().filter(|s| (s.1 > 0.0) == moving);
                let places: Vec<f64> = seen.map(|(place, _)| place.x / 1000.0).collect();
                assert!(places.len() > STATIONS / 2);
                let found = distance(places, |u| if moving { u * u * (3.0 - 2.0 * u) } else { u });
                assert!(found < 1.95, "{now:?}, {pause:?}: {found}");
            }
        }
    }

    /// The density of places in the unit square, ∫ a b (a + b) dφ / mean distance, where a and b lead from the place to the edge in the
    /// directions φ and φ + π (E. Hyytiä, P. Lassila and J. Virtamo, IEEE TMC 5(6), 2006, eq. 9).
    fn density(x: f64, y: f64) -> f64 {
        const DIRECTIONS: usize = 200;
        let to_edge = |at: f64, step: f64| if step > 0.0 { (1.0 - at) / step } else { -at / step };
        let product = |k: usize| {
            let phi = (k as f64 + 0.5) * std::f64::consts::PI / DIRECTIONS as f64;
            let (c, s) = (math::cos(phi), math::sin(phi));
            let (a, b) = (to_edge(x, c).min(to_edge(y, s)), to_edge(x, -c).min(to_edge(y, -s)));
            a * b * (a + b)
        };
        (0..DIRECTIONS).map(product).sum::<f64>() * std::f64::consts::PI / DIRECTIONS as f64 / 0.521_405
    }

    /// In a square the middle is crowded, at once and later: chi-square over 10 × 10 cells, 99 degrees of freedom, false alarm 0.1 %.
    #[test]
    fn places_in_a_square() {
        let spec = Waypoint { area: Area { x: 1.0, y: 1.0 }, speed: (0.001, 0.02), pause: Duration::ZERO, ..SPEC };
        let expected = |cell: usize| {
            let place = |k: usize, n: usize| (k as f64 + (n as f64 + 0.5) / 5.0) / 10.0;
            let points = (0..25).map(|n| density(place(cell % 10, n % 5), place(cell / 10, n / 5)));
            mean(points) / 100.0 * STATIONS as f64
        };
        let expected: Vec<f64> = (0..100).map(expected).collect();
        for now in [Time::ZERO, LATER] {
            let mut cells = [0.0; 100];
            for (Place { x, y }, _) in snapshot(spec, now) {
                cells[(y * 10.0) as usize * 10 + (x * 10.0) as usize] += 1.0;
            }
            let chi_square: f64 = cells.iter().zip(&expected).map(|(n, e)| (n - e) * (n - e) / e).sum();
            assert!(chi_square < 148.2, "{now:?}: {chi_square}");
        }
    }
}
