//! Distributions of times in little memory: exact moments, percentiles within 1 %.

use crate::engine::prefetch;
use cclab_algo::Duration;

/// A distribution: exact moments, percentiles from a log-linear histogram (error below 1 %).
/// NaN where there is no sample. Seconds.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Distribution {
    pub count: u64,
    pub mean: f64,
    /// Population variance, s².
    pub variance: f64,
    pub min: f64,
    pub max: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// Sub-buckets of an octave: 64 make a bucket 1/64 wide at most, its middle off by 1/128.
const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;
/// Buckets that come together: a cache line.
const STEP: usize = 8;
/// So many times are kept as they come: with many flows each has few, and they would lie far apart in buckets.
const FEW: usize = 128;

/// Times in nanoseconds. Sums are integers, so moments are exact and do not depend on the order.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    count: u64,
    zeros: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
    counts: Counts,
}

/// Log-linear buckets of what is not zero.
#[derive(Clone, Debug)]
enum Counts {
    /// The bucket of each, as they came: up to [`FEW`].
    Few(Vec<u16>),
    /// How many there are in each bucket, from this one on.
    Many(usize, Vec<u64>),
}

impl Default for Counts {
    fn default() -> Counts {
        Counts::Few(Vec::new())
    }
}

/// Linear below `SUB`, then `SUB` buckets per octave.
fn bucket(x: u64) -> usize {
    let shift = (63 - (x | SUB).leading_zeros()) - SUB_BITS;
    (u64::from(shift) * SUB + (x >> shift)) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    let shift = (bucket / SUB).saturating_sub(1);
    let low = (bucket - shift * SUB) << shift;
    low as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

impl Histogram {
    /// Of so many times of zero.
    pub(crate) fn of_zeros(count: u64) -> Histogram {
        Histogram { count, zeros: count, ..Histogram::default() }
    }

    /// Adds a time.
    #[inline]
    pub fn record(&mut self, d: Duration) {
        let x = d.0;
        if self.count == 0 {
            (self.min, self.max) = (x, x);
        }
        self.count += 1;
        if x == 0 {
            self.zeros += 1;
            self.min = 0;
            return;
        }
        self.min = self.min.min(x);
        self.max = self.max.max(x);
        self.sum += u128::from(x);
        self.sum_of_squares += u128::from(x) * u128::from(x);
        self.counts.add(bucket(x));
    }

    /// Asks for where the next time is counted, of few.
    #[inline]
    pub(crate) fn fetch(&self) {
        if let Counts::Few(buckets) = &self.counts {
            prefetch(&buckets[buckets.len().saturating_sub(1)..], 2);
        }
    }

    /// How many times were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Population variance in ns²: with Σx = n q + r, Σ(x - q)² = Σx² - n q² - 2 q r exactly.
    fn variance(&self) -> f64 {
        let n = u128::from(self.count);
        let (q, r) = (self.sum / n, self.sum % n);
        let about_q = self.sum_of_squares - n * q * q - 2 * q * r;
        let offset = r as f64 / n as f64;
        (about_q as f64 / n as f64 - offset * offset).max(0.0)
    }

    /// The smallest recorded value that a share `p` of all does not exceed, within 1 %, ns.
    fn percentile(&self, p: f64) -> f64 {
        let rank = ((p * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = self.zeros;
        if rank <= seen {
            return 0.0;
        }
        let bucket = match &self.counts {
            Counts::Few(buckets) => {
                let mut sorted = buckets.clone();
                sorted.sort_unstable();
                usize::from(sorted[(rank - seen - 1) as usize])
            }
            Counts::Many(first, counts) => {
                let reaches = |n: &u64| {
                    seen += n;
                    rank <= seen
                };
                first + counts.iter().position(reaches).expect("no rank is beyond all")
            }
        };
        middle(bucket).clamp(self.min as f64, self.max as f64)
    }

    /// The distribution, in seconds; NaN where there is no sample.
    pub fn summary(&self) -> Distribution {
        const NS: f64 = 1e-9;
        if self.count == 0 {
            let nan = f64::NAN;
            return Distribution {
                count: 0,
                mean: nan,
                variance: nan,
                min: nan,
                max: nan,
                p50: nan,
                p95: nan,
                p99: nan,
            };
        }
        Distribution {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 * NS,
            variance: self.variance() * (NS * NS),
            min: self.min as f64 * NS,
            max: self.max as f64 * NS,
            p50: self.percentile(0.50) * NS,
            p95: self.percentile(0.95) * NS,
            p99: self.percentile(0.99) * NS,
        }
    }
}

impl Counts {
    /// Counts one in a bucket.
    #[inline]
    fn add(&mut self, bucket: usize) {
        if let Counts::Many(first, counts) = self
            && let Some(n) = counts.get_mut(bucket.wrapping_sub(*first))
        {
            *n += 1;
        } else {
            self.place(bucket);
        }
    }

    /// The same where there is no such bucket yet.
    #[inline(never)]
    fn place(&mut self, bucket: usize) {
        match self {
            Counts::Few(buckets) if buckets.len() < FEW => buckets.push(bucket as u16),
            Counts::Few(_) => self.spread(bucket),
            Counts::Many(..) => self.widen(bucket),
        }
    }

    /// From now on in buckets.
    #[cold]
    fn spread(&mut self, bucket: usize) {
        let few = std::mem::replace(self, Counts::Many(0, Vec::new()));
        if let Counts::Few(buckets) = few {
            buckets.into_iter().map(usize::from).chain([bucket]).for_each(|bucket| self.add(bucket));
        }
    }

    /// Makes room for a bucket outside the present range, in steps, and counts one in it.
    #[cold]
    fn widen(&mut self, bucket: usize) {
        let Counts::Many(first, counts) = self else { return };
        let from = bucket / STEP * STEP;
        if counts.is_empty() {
            *first = from;
        } else if from < *first {
            counts.splice(0..0, std::iter::repeat_n(0, *first - from));
            *first = from;
        }
        let len = counts.len().max(from + STEP - *first);
        counts.resize(len, 0);
        counts[bucket - *first] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Distribution {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&x| histogram.record(Duration(x)));
        histogram.summary()
    }

    #[test]
    fn moments_of_one_to_five() {
        let d = of(&[1, 2, 3, 4, 5].map(|x| x * 1_000_000_000));
        assert_eq!((d.count, d.mean, d.variance, d.min, d.max), (5, 3.0, 2.0, 1.0, 5.0));
    }

    /// Σx² - (Σx)²/n in floats would lose all of it.
    #[test]
    fn a_small_variance_on_a_large_mean_survives() {
        let d = of(&[1_000_000_000_000, 1_000_000_000_001]);
        assert!((d.variance - 0.25e-18).abs() < 1e-24, "{}", d.variance);
    }

    #[test]
    fn nothing_recorded_is_nan() {
        assert!(of(&[]).mean.is_nan() && of(&[]).p99.is_nan());
    }

    proptest! {
        #[test]
        fn percentiles_are_within_one_percent(mut values in proptest::collection::vec(0_u64..1 << 45, 1..300)) {
            let d = of(&values);
            values.sort_unstable();
            for (p, found) in [(0.50, d.p50), (0.95, d.p95), (0.99, d.p99)] {
                let rank = ((p * values.len() as f64).ceil() as usize).clamp(1, values.len());
                let exact = values[rank - 1] as f64 * 1e-9;
                prop_assert!((found - exact).abs() <= 0.01 * exact, "p {p}: {found} instead of {exact}");
            }
        }

        #[test]
        fn every_value_is_in_its_bucket(x in 1_u64..u64::MAX) {
            let error = (middle(bucket(x)) - x as f64).abs() / x as f64;
            prop_assert!(error < 0.008, "{x}: {error}");
        }
    }
}
