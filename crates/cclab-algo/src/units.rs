//! Types that carry their unit: [`Time`] and [`Duration`] in nanoseconds, [`Rate`] in bit/s.
//!
//! Byte counts and sequence offsets are plain `u64`, with `bytes` in the name where it is not plain.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// An instant of simulated time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A length of time, in nanoseconds. Subtraction saturates at zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(pub u64);

/// A data rate, in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than everything.
    pub const NEVER: Time = Time(u64::MAX);

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// `self - earlier`, or zero when `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// Longer than everything.
    pub const MAX: Duration = Duration(u64::MAX);

    /// Whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Duration(s * NANOS_PER_SEC)
    }
    /// Whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Duration(ms * 1_000_000)
    }
    /// Whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Duration(us * 1_000)
    }
    /// Seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Duration((s * NANOS_PER_SEC as f64 + 0.5) as u64)
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// `self - other`, or zero.
    pub fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
    /// `self * factor`, rounded to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Duration {
        Duration((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl Rate {
    /// Bits per second as a float.
    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// Time to send `bytes` at this rate, rounded up to a nanosecond.
    ///
    /// For long-run exactness a link must carry the remainder itself.
    pub fn time_for(self, bytes: u64) -> Duration {
        let bits_ns = u128::from(bytes) * 8 * u128::from(NANOS_PER_SEC);
        Duration(bits_ns.div_ceil(u128::from(self.0.max(1))) as u64)
    }

    /// Bytes sent at this rate in `d`, rounded down.
    pub fn bytes_in(self, d: Duration) -> u64 {
        (u128::from(self.0) * u128::from(d.0) / (8 * u128::from(NANOS_PER_SEC))) as u64
    }

    /// `bytes` per `d` as a rate; `None` when `d` is zero.
    pub fn of(bytes: u64, d: Duration) -> Option<Rate> {
        (d.0 > 0).then(|| Rate((u128::from(bytes) * 8 * u128::from(NANOS_PER_SEC) / u128::from(d.0)) as u64))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub<Time> for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "time runs forward: {self:?} - {earlier:?}");
        Duration(self.0.saturating_sub(earlier.0))
    }
}
impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, d: Duration) -> Time {
        Time(self.0.saturating_sub(d.0))
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, o: Duration) -> Duration {
        Duration(self.0.saturating_add(o.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, o: Duration) {
        *self = *self + o;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, o: Duration) -> Duration {
        Duration(self.0.saturating_sub(o.0))
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, k: u64) -> Duration {
        Duration(self.0.saturating_mul(k))
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, k: u64) -> Duration {
        Duration(self.0 / k)
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / NANOS_PER_SEC, self.0 % NANOS_PER_SEC)
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / NANOS_PER_SEC, self.0 % NANOS_PER_SEC)
    }
}
impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_1500_byte_packet_takes_15_us_at_800_mbit() {
        assert_eq!(Rate(800_000_000).time_for(1500), Duration(15_000));
        assert_eq!(Rate(1_500_000).time_for(1000), Duration(5_333_334));
        assert_eq!(Rate(800_000_000).bytes_in(Duration::from_millis(100)), 10_000_000);
        assert_eq!(Rate::of(1500, Duration(15_000)), Some(Rate(800_000_000)));
        assert_eq!(Rate::of(1500, Duration::ZERO), None);
    }
}
