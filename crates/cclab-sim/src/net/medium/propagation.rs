//! How strong a signal arrives. Powers in W, distances in m.

use super::config::{Place, Propagation, Radio};
use cclab_algo::Duration;
use cclab_algo::math::pow;
use cclab_algo::rng::Stream;
use std::f64::consts::PI;

/// Speed of signals, m/s.
const LIGHT: f64 = 3e8;

/// How long a signal takes over `distance`.
#[inline(always)]
pub(super) fn delay(distance: f64) -> Duration {
    // From 2⁵² on numbers are whole, and their last bits count ones: an addition rounds to whole ns.
    Duration((distance * (1e9 / LIGHT) + (1_u64 << 52) as f64).to_bits() & 0xffff_ffff)
}

impl Radio {
    /// Whether a frame sent at one place is strong enough to be received at another; under shadowing, half of the time.
    pub fn reaches(&self, from: Place, to: Place) -> bool {
        self.power_at(from.distance(to)) >= self.receive
    }

    /// Power received at `distance`; the median under shadowing. Antennas have gain 1, and nothing else is lost.
    #[inline(always)]
    pub fn power_at(&self, distance: f64) -> f64 {
        match self.propagation {
            Propagation::Friis => self.friis(distance),
            Propagation::TwoRayGround => self.ground(distance),
            Propagation::Shadowing { exponent, reference, .. } => {
                self.friis(reference.min(distance)) * pow((distance / reference).max(1.0), -exponent)
            }
        }
    }

    /// The same for many.
    pub(super) fn powers_at(&self, distances: &[f64], powers: &mut Vec<f64>) {
        powers.clear();
        match self.propagation {
            Propagation::TwoRayGround => {
                // Few are so near that there is but one ray, and division is slow.
                powers.extend(distances.iter().map(|&d| self.two_rays(d)));
                for (power, &distance) in powers.iter_mut().zip(distances).filter(|(_, d)| self.is_near(**d)) {
                    *power = self.friis(distance);
                }
            }
            _ => powers.extend(distances.iter().map(|&d| self.power_at(d))),
        }
    }

    #[inline(always)]
    fn ground(&self, distance: f64) -> f64 {
        if self.is_near(distance) { self.friis(distance) } else { self.two_rays(distance) }
    }

    /// Whether the ray from the ground is not told apart yet.
    #[inline(always)]
    fn is_near(&self, distance: f64) -> bool {
        distance * self.wavelength < 4.0 * PI * (self.height * self.height)
    }

    /// Pt h⁴ / d⁴.
    #[inline(always)]
    fn two_rays(&self, distance: f64) -> f64 {
        let (h2, d2) = (self.height * self.height, distance * distance);
        self.power * h2 * h2 / (d2 * d2)
    }

    /// Pt λ² / (4πd)².
    #[inline(always)]
    fn friis(&self, distance: f64) -> f64 {
        let m = self.wavelength / (4.0 * PI * distance);
        if distance == 0.0 { self.power } else { self.power * m * m }
    }

    /// Up to which distance a signal arrives with at least this power; under shadowing all but one frame in a billion.
    pub fn reach(&self, threshold: f64) -> f64 {
        self.range(threshold / self.luck())
    }

    /// Up to which distance a signal arrives with at least this power; under shadowing half of the time.
    pub fn range(&self, threshold: f64) -> f64 {
        let (mut near, mut far) = (0.0, 1.0);
        while self.power_at(far) >= threshold {
            (near, far) = (far, 2.0 * far);
        }
        while far - near > (1e-15 * far).max(1e-6) {
            let middle = (near + far) / 2.0;
            if self.power_at(middle) >= threshold { near = middle } else { far = middle }
        }
        far
    }

    /// Standard deviation of the power, dB.
    pub(super) fn deviation(&self) -> f64 {
        if let Propagation::Shadowing { deviation, .. } = self.propagation { deviation } else { 0.0 }
    }

    /// The most by which the power of a frame exceeds the median, but for one in a billion.
    pub(super) fn luck(&self) -> f64 {
        fade(6.0 * self.deviation())
    }

    /// The factor by which the power of a frame differs from the median.
    pub(super) fn shadow(&self, rng: &mut Stream) -> f64 {
        fade(self.deviation() * rng.normal())
    }
}

/// So many dB as a factor.
fn fade(db: f64) -> f64 {
    pow(10.0, db / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::math;

    fn near(a: f64, b: f64, digits: f64) {
        assert!((a / b - 1.0).abs() < 0.6 * pow(10.0, -digits), "{a} {b}");
    }

    /// ns-2's WaveLAN card over flat ground: both laws meet at 86.1425 m, frames are decoded up to 250 m and sensed up to 550 m.
    #[test]
    fn two_rays_over_flat_ground() {
        let radio = Radio::WAVELAN;
        near(4.0 * PI * 1.5 * 1.5 / radio.wavelength, 86.1425, 6.0);
        for (distance, power, digits) in [
            (50.0, 7.691e-8, 3.0),
            (100.0, 1.4268e-8, 4.0),
            (200.0, 8.9175e-10, 4.0),
            (250.0, 3.6526e-10, 4.0),
            (400.0, 5.574e-11, 3.0),
            (550.0, 1.5592e-11, 4.0),
        ] {
            near(radio.power_at(distance), power, digits);
        }
        assert!(radio.power_at(250.0) >= radio.receive && radio.power_at(251.0) < radio.receive);
        assert!(radio.power_at(550.0) >= radio.sense && radio.power_at(551.0) < radio.sense);
        near(radio.power_at(86.1424), radio.power_at(86.1426), 4.0);
        assert!((radio.reach(radio.receive) - 250.01).abs() < 0.01 && (radio.reach(radio.sense) - 550.02).abs() < 0.02);
        // the powers that ns-2 gives for other ranges
        for (power, range) in [(7.214e-3, 100.0), (8.5872e-4, 40.0)] {
            let radio = Radio { power, ..radio };
            assert!((radio.reach(radio.receive) - range).abs() < 0.06, "{}", radio.reach(radio.receive));
        }
    }

    /// 20 dB less for ten times the distance, of half of a wavelength λ/4π nothing.
    #[test]
    fn free_space() {
        let radio = Radio { propagation: Propagation::Friis, ..Radio::WAVELAN };
        near(radio.power_at(50.0), 7.691e-8, 3.0);
        near(radio.power_at(500.0), 7.691e-10, 3.0);
        assert_eq!(radio.power_at(0.0), radio.power);
        // λ/4π √(Pt/P), also where numbers that are a micrometre apart are the same
        for threshold in [1e-9, 1e-24, 1e-30] {
            near(radio.range(threshold), radio.wavelength / (4.0 * PI) * (radio.power / threshold).sqrt(), 8.0);
        }
    }

    /// The median follows the exponent from the reference on; the deviates have the standard deviation asked for.
    #[test]
    fn shadows() {
        let propagation = Propagation::Shadowing { exponent: 3.0, deviation: 4.0, reference: 1.0 };
        let radio = Radio { propagation, ..Radio::WAVELAN };
        near(radio.power_at(1.0), radio.friis(1.0), 9.0);
        near(radio.power_at(100.0), radio.friis(1.0) * 1e-6, 9.0);
        let mut rng = Stream::new(1, "shadows");
        let n = 100_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let db = 10.0 * math::ln(radio.shadow(&mut rng)) / std::f64::consts::LN_10;
            (sum, squares) = (sum + db, squares + db * db);
        }
        let mean = sum / f64::from(n);
        let deviation = (squares / f64::from(n) - mean * mean).sqrt();
        // standard errors 0.0126 and 0.0089: five of them, false alarm 1e-6
        assert!(mean.abs() < 0.065 && (deviation - 4.0).abs() < 0.045, "{mean} {deviation}");
        assert!(
            radio.reach(radio.sense)
                > 2.0
                    * Radio {
                        propagation: Propagation::Shadowing { exponent: 3.0, deviation: 0.0, reference: 1.0 },
                        ..radio
                    }
                    .reach(radio.sense)
        );
    }
}
