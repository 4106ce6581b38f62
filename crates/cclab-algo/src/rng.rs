//! Named random streams: every component draws from its own.
//!
//! A stream is derived from the run's seed and the component's name, so adding a component does not
//! change what the others draw, and two scenarios that differ in one thing share the rest of their luck.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A stream of random numbers (Xoshiro256++, seeded by SplitMix64).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream called `name` in the run with seed `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a of the name, mixed with the seed by one SplitMix64 step each.
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
        let mixed = SplitMix64::seed_from_u64(seed).next_u64() ^ SplitMix64::seed_from_u64(hash).next_u64();
        Stream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform integer in [0, n); zero when `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// `true` with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Uniform in [from, to).
    pub fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.uniform()
    }

    /// Exponential with mean `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * crate::math::ln(1.0 - self.uniform())
    }

    /// Normal with mean 0 and standard deviation 1 (polar method, Marsaglia and Bray 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let s = u * u + v * v;
            if 0.0 < s && s < 1.0 {
                return u * (-2.0 * crate::math::ln(s) / s).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_independent_of_each_other_and_repeatable() {
        let draw = |seed, name: &str| Stream::new(seed, name).below(u64::MAX);
        assert_eq!(draw(1, "loss"), draw(1, "loss"));
        assert_ne!(draw(1, "loss"), draw(1, "jitter"));
        assert_ne!(draw(1, "loss"), draw(2, "loss"));
    }

    /// Of 10⁵ deviates as many as the normal distribution has are within 1, 2 and 3; five standard deviations, false alarm 2e-6.
    #[test]
    fn normal_deviates_are_normal() {
        let mut s = Stream::new(7, "normal");
        let drawn: Vec<f64> = (0..100_000).map(|_| s.normal()).collect();
        for (within, share) in [(1.0, 0.682_689), (2.0, 0.954_500), (3.0, 0.997_300)] {
            let found = drawn.iter().filter(|x| x.abs() < within).count() as f64 / 1e5;
            assert!((found - share).abs() < 5.0 * (share * (1.0 - share) / 1e5_f64).sqrt(), "within {within}: {found}");
        }
        let positive = drawn.iter().filter(|x| **x > 0.0).count() as f64 / 1e5;
        assert!((positive - 0.5).abs() < 0.008, "{positive}");
    }

    #[test]
    fn uniform_has_mean_one_half() {
        let mut s = Stream::new(7, "mean");
        let mean = (0..100_000).map(|_| s.uniform()).sum::<f64>() / 1e5;
        // sd of the mean is 0.00091: five of them, false alarm 6e-7
        assert!((mean - 0.5).abs() < 0.0046, "{mean}");
    }
}
