//! What is measured at a socket between warm-up and end.

use crate::measure::Histogram;
use crate::wire::Packet;
use cclab_algo::{Duration, Time};

/// The measurements at a socket; whoever owns it records only in the measured interval.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// RTT samples at the source of a flow, one-way delays of data packets at its destination.
    pub delay: Histogram,
    last_owd: Option<Duration>,
    /// Sum of |difference of one-way delay| of consecutive packets, ns.
    differences: u128,
    /// IP bytes of data packets that arrived.
    pub bytes_arrived: u64,
    /// The window of the source.
    pub cwnd: TimeMean,
}

impl Meter {
    /// A data packet reached its destination.
    pub fn data(&mut self, now: Time, packet: &Packet) {
        let owd = now - packet.left;
        self.delay.record(owd);
        if let Some(last) = self.last_owd.replace(owd) {
            self.differences += u128::from(owd.0.abs_diff(last.0));
        }
        self.bytes_arrived += u64::from(packet.size);
    }

    /// Mean over consecutive packets of |difference of one-way delay|, s; NaN with fewer than two.
    pub fn owd_mean_abs_diff(&self) -> f64 {
        match self.delay.count() {
            0 | 1 => f64::NAN,
            n => self.differences as f64 / (n - 1) as f64 * 1e-9,
        }
    }
}

/// The mean over time of a value that changes in steps, with its extremes. Exact, in integers.
#[derive(Clone, Debug, Default)]
pub struct TimeMean {
    value: u64,
    since: Time,
    begin: Time,
    area: u128,
    min: u64,
    max: u64,
}

impl TimeMean {
    /// Starts (again) at `now` with this value.
    pub fn begin(&mut self, now: Time, value: u64) {
        *self = TimeMean { value, since: now, begin: now, area: 0, min: value, max: value };
    }

    /// The value is this from `now` on.
    pub fn set(&mut self, now: Time, value: u64) {
        if value != self.value {
            self.area += u128::from(self.value) * u128::from(now.since(self.since).0);
            (self.value, self.since) = (value, now);
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
    }

    /// Mean until `end`, smallest, largest, in units of `unit`; NaN where no time has passed.
    pub fn summary(&self, end: Time, unit: f64) -> (f64, f64, f64) {
        let length = end.since(self.begin).0;
        if length == 0 {
            return (f64::NAN, f64::NAN, f64::NAN);
        }
        let area = self.area + u128::from(self.value) * u128::from(end.since(self.since).0);
        (area as f64 / length as f64 / unit, self.min as f64 / unit, self.max as f64 / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_counts_for_as_long_as_it_lasts() {
        let mut mean = TimeMean::default();
        mean.begin(Time(100), 10);
        mean.set(Time(130), 20);
        mean.set(Time(140), 20);
        mean.set(Time(190), 1);
        assert_eq!(mean.summary(Time(200), 1.0), ((10.0 * 30.0 + 20.0 * 60.0 + 10.0) / 100.0, 1.0, 20.0));
        assert!(mean.summary(Time(100), 1.0).0.is_nan());
    }
}
