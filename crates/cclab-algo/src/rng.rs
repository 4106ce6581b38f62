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

    /// Exponential with mean `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * crate::math::ln(1.0 - self.uniform())
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

    #[test]
    fn uniform_has_mean_one_half() {
        let mut s = Stream::new(7, "mean");
        let mean = (0..100_000).map(|_| s.uniform()).sum::<f64>() / 1e5;
        // sd of the mean is 0.00091: five of them, false alarm 6e-7
        assert!((mean - 0.5).abs() < 0.0046, "{mean}");
    }
}
