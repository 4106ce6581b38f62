//! Constant bit rate over UDP.

use cclab_algo::units::NANOS_PER_SEC;
use cclab_algo::{Duration, Rate};

/// A source of datagrams at equal distances, its long-run rate exact.
#[derive(Clone, Debug)]
pub struct Cbr {
    rate: u64,
    /// Work of a packet in (bit/s) · ns.
    work: u128,
    /// What the last distance left over, below the rate.
    remainder: u128,
    /// Bytes of an IP packet.
    pub size: u32,
    /// Number of the next datagram.
    pub number: u64,
}

impl Cbr {
    /// IP packets of `size` bytes at `rate`.
    pub fn new(rate: Rate, size: u32) -> Cbr {
        let work = u128::from(size) * 8 * u128::from(NANOS_PER_SEC);
        Cbr { rate: rate.0, work, remainder: 0, size, number: 0 }
    }

    /// Counts a datagram; the time until the next one ([`Duration::MAX`] at rate zero).
    pub fn emit(&mut self) -> (u64, Duration) {
        let number = self.number;
        self.number += 1;
        let rate = u128::from(self.rate);
        if rate == 0 {
            return (number, Duration::MAX);
        }
        let work = self.work + self.remainder;
        self.remainder = work % rate;
        (number, Duration((work / rate) as u64))
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
