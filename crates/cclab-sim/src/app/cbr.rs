//! Constant bit rate over UDP.

use cclab_algo::units::NANOS_PER_SEC;
use cclab_algo::{Duration, Rate};

/// A source of datagrams at equal distances, its long-run rate exact.
#[derive(Clone, Debug)]
pub struct Cbr {
    rate: u64,
    /// Distance between packets, rounded down to a nanosecond …
    gap: Duration,
    /// … and what is missing of it, in (bit/s) · ns …
    missing: u64,
    /// … which adds up to this, below the rate.
    remainder: u64,
    /// Bytes of an IP packet.
    pub size: u32,
    /// Number of the next datagram.
    pub number: u64,
}

impl Cbr {
    /// IP packets of `size` bytes at `rate`.
    pub fn new(rate: Rate, size: u32) -> Cbr {
        let work = u128::from(size) * 8 * u128::from(NANOS_PER_SEC);
        let (gap, missing) = match u128::from(rate.0) {
            0 => (Duration::MAX, 0),
            rate => (Duration((work / rate) as u64), (work % rate) as u64),
        };
        Cbr { rate: rate.0.max(1), gap, missing, remainder: 0, size, number: 0 }
    }

    /// Counts a datagram; the time until the next one ([`Duration::MAX`] at rate zero).
    pub fn emit(&mut self) -> (u64, Duration) {
        let number = self.number;
        self.number += 1;
        self.remainder += self.missing;
        if self.remainder < self.rate {
            return (number, self.gap);
        }
        self.remainder -= self.rate;
        (number, self.gap + Duration(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_run_rate_is_exact() {
        let mut cbr = Cbr::new(Rate(7_000_001), 1234);
        let ns: u64 = (0..7_000_001).map(|_| cbr.emit().1.0).sum();
        assert_eq!(ns, 1234 * 8 * NANOS_PER_SEC);
    }
}
