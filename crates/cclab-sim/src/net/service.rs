//! The transmitter of a link: when a packet's last bit leaves.

use super::config::Change;
use super::trace::{Carrier, Course, Opportunities, Trace};
use cclab_algo::units::NANOS_PER_SEC;
use cclab_algo::{Duration, Rate, Time};
use std::sync::Arc;

/// Work of a bit, in units of (bit/s) · ns.
const BIT: u64 = NANOS_PER_SEC;

/// From `from` on (ns) the rate is `rate` (bit/s; `None`: infinitely fast).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// From then on.
    pub from: u64,
    /// The rate.
    pub rate: Option<u64>,
}

/// Serves packets one after the other, exactly: what a rate leaves over of the last nanosecond is carried to
/// the next packet, so that a busy link sends at its rate over any length of time.
#[derive(Clone, Debug)]
pub struct Service {
    /// The rates, known in advance; at least one, the first from time 0 on. None where there are opportunities instead.
    steps: Arc<[Step]>,
    /// The only rate, if there is but one and it is neither infinite nor 0; else 0.
    constant: u64,
    /// Opportunities in the place of rates.
    carrier: Option<Box<Carrier>>,
    /// The step in force when the last packet finished.
    step: usize,
    /// When the transmitter is free, rounded down to a nanosecond …
    free: u64,
    /// … and what is missing of it, in work units (below the rate).
    remainder: u64,
    /// Bytes of the last packet, its time in ns and what was left over, while the rate is constant.
    last: (u64, u64, u64),
}

impl Service {
    /// A transmitter of this rate, changed by `schedule`; what `trace` says of it is in the place of both.
    pub fn new(rate: Option<Rate>, schedule: &[Change], trace: Option<&Arc<Trace>>) -> Service {
        let carrier = trace.and_then(Carrier::of);
        let first = Step { from: 0, rate: rate.map(|r| r.0) };
        let changes = schedule.iter().filter_map(|c| Some(Step { from: c.at.0, rate: Some(c.rate?.0) }));
        let steps = match trace.map(|trace| &trace.course) {
            Some(Course::Opportunities(_)) => Arc::new([]),
            Some(Course::Changes { rates: Some(rates), .. }) => rates.clone(),
            Some(Course::Changes { rates: None, .. }) | None => std::iter::once(first).chain(changes).collect(),
        };
        let constant = if let [only] = steps[..] { only.rate.unwrap_or(0) } else { 0 };
        Service { steps, constant, carrier, step: 0, free: 0, remainder: 0, last: (0, 0, 0) }
    }

    /// Whether everything leaves the moment it comes.
    pub fn is_instant(&self) -> bool {
        *self.steps == [Step { from: 0, rate: None }]
    }

    /// Whether a packet that came at `now` would have to wait.
    pub fn is_busy(&self, now: Time) -> bool {
        self.free > now.0
    }

    /// When the transmitter is free, or since when it has been.
    pub fn free_at(&self) -> Time {
        Time(self.free)
    }

    /// The rate at `now`, the mean one where there are opportunities; `None` is infinitely fast.
    pub fn rate(&self, now: Time) -> Option<Rate> {
        match self.steps[..] {
            [] => self.carrier.as_ref().map(|carrier| carrier.opportunities().rate()),
            [Step { rate, .. }] => rate.map(Rate),
            _ => self.steps[self.steps.partition_point(|step| step.from <= now.0) - 1].rate.map(Rate),
        }
    }

    /// When a packet that comes to the idle transmitter at `now` goes into service.
    pub(super) fn ready(&self, now: Time) -> Time {
        let Some(carrier) = &self.carrier else { return now };
        carrier.opportunities().at(carrier.opportunities().until(now))
    }

    /// When the next packet may go into service, if it waits by then.
    pub(super) fn again(&self) -> Time {
        self.carrier.as_ref().map_or(Time(self.free), |carrier| Time(carrier.again(self.free)))
    }

    /// Takes in `bytes` at `now`, which is not before the last call: when their service starts and when it ends
    /// ([`Time::NEVER`] on a link that has stopped for good).
    #[inline]
    pub fn serve(&mut self, now: Time, bytes: u64) -> (Time, Time) {
        if now.0 > self.free {
            (self.free, self.remainder) = (now.0, 0);
        }
        let start = self.free;
        let rate = self.constant;
        if rate == 0 {
            return self.serve_otherwise(now, bytes);
        }
        if bytes != self.last.0 {
            let work = u128::from(bytes * 8) * u128::from(BIT);
            self.last = (bytes, (work / u128::from(rate)) as u64, (work % u128::from(rate)) as u64);
        }
        self.free += self.last.1;
        self.remainder += self.last.2;
        if self.remainder >= rate {
            self.remainder -= rate;
            self.free += 1;
        }
        (Time(start), Time(self.free))
    }

    /// The same where the rate changes, is none, or opportunities are in its place.
    #[inline(never)]
    fn serve_otherwise(&mut self, now: Time, bytes: u64) -> (Time, Time) {
        let start = self.free;
        if let Some(carrier) = &mut self.carrier {
            let (start, end) = carrier.serve(now.0, self.free, bytes);
            self.free = end;
            return (Time(start), Time(end));
        }
        self.serve_by_schedule(bytes);
        (Time(start), Time(self.free))
    }

    /// The same for a packet that has been waiting when the transmitter was ready for it, at `now`.
    pub(super) fn serve_waiting(&mut self, now: Time, bytes: u64) -> (Time, Time) {
        self.serve(if self.carrier.is_some() { Time(now.0.saturating_sub(1)) } else { now }, bytes)
    }

    /// Integrates the rate over its steps. What is left of a nanosecond when the rate changes is forgotten.
    fn serve_by_schedule(&mut self, bytes: u64) {
        if self.free == u64::MAX {
            return;
        }
        let mut work = u128::from(bytes * 8) * u128::from(BIT) + u128::from(self.remainder);
        loop {
            let until = self.steps.get(self.step + 1).map_or(u64::MAX, |next| next.from);
            if self.free >= until {
                self.step += 1;
                work -= u128::from(std::mem::take(&mut self.remainder));
                continue;
            }
            let Some(rate) = self.steps[self.step].rate.map(u128::from) else {
                self.remainder = 0;
                return;
            };
            let room = rate * u128::from(until - self.free);
            if work < room {
                self.free += (work / rate) as u64;
                self.remainder = (work % rate) as u64;
                return;
            }
            work -= room;
            self.remainder = 0;
            self.free = until;
            if until == u64::MAX {
                return;
            }
        }
    }

    /// Bits that could be sent from `from` to `to`; `None` where the link was infinitely fast.
    pub fn capacity(&self, from: Time, to: Time) -> Option<f64> {
        if let Some(carrier) = &self.carrier {
            let of = carrier.opportunities();
            return Some(((of.before(to).saturating_sub(of.before(from))) * Opportunities::BYTES * 8) as f64);
        }
        let mut work = 0.0;
        for (i, step) in self.steps.iter().enumerate() {
            let until = self.steps.get(i + 1).map_or(u64::MAX, |next| next.from).min(to.0);
            let span = until.saturating_sub(step.from.max(from.0));
            if span > 0 {
                work += step.rate? as f64 * span as f64;
            }
        }
        Some(work / BIT as f64)
    }

    /// Bits of the packet of `bytes` served last, from `start` to `end`, that were sent from `from` to `to`.
    pub(super) fn part(&self, (start, end): (Time, Time), (from, to): (Time, Time), bytes: u64) -> f64 {
        let Some(carrier) = &self.carrier else {
            return self.capacity(start.max(from), end.min(to)).unwrap_or(0.0);
        };
        let since = |t: Time| carrier.bytes_since(t.0, (start.0, end.0), bytes);
        ((since(from) - since(to)) * 8) as f64
    }
}

/// Propagation delay by time of departure.
#[derive(Clone, Debug)]
pub struct Propagation {
    steps: Arc<[(Time, Duration)]>,
    /// The number of the next step, and the delay until then.
    next: usize,
    until: Time,
    delay: Duration,
}

impl Propagation {
    /// This delay, changed by `schedule`; what `trace` says of it is in the place of both.
    pub fn new(delay: Duration, schedule: &[Change], trace: Option<&Arc<Trace>>) -> Propagation {
        let changes = schedule.iter().filter_map(|c| Some((c.at, c.delay?)));
        let steps: Arc<[(Time, Duration)]> = match trace.map(|trace| &trace.course) {
            Some(Course::Changes { delays: Some(delays), .. }) => delays.clone(),
            _ => std::iter::once((Time::ZERO, delay)).chain(changes).collect(),
        };
        Propagation { delay: steps[0].1, until: steps.get(1).map_or(Time::NEVER, |step| step.0), next: 1, steps }
    }

    /// The delay at the start, before any change.
    pub fn first_delay(&self) -> Duration {
        self.steps[0].1
    }

    /// The delay of a packet that leaves at `departure`, which is not before the last call's.
    #[inline]
    pub fn delay(&mut self, departure: Time) -> Duration {
        while self.until <= departure && self.next < self.steps.len() {
            self.delay = self.steps[self.next].1;
            self.next += 1;
            self.until = self.steps.get(self.next).map_or(Time::NEVER, |step| step.0);
        }
        self.delay
    }

    /// Whether there is none, ever.
    pub fn is_instant(&self) -> bool {
        *self.steps == [(Time::ZERO, Duration::ZERO)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: u64, rate: u64) -> Change {
        Change { at: Time(at), rate: Some(Rate(rate)), delay: None, up: None }
    }

    /// 1000 bytes at 1.5 Mbit/s take 5,333,333 1/3 ns: three of them 16 ms to the nanosecond.
    #[test]
    fn thirds_of_a_nanosecond_add_up() {
        let mut service = Service::new(Some(Rate(1_500_000)), &[], None);
        let ends: Vec<u64> = (0..3).map(|_| service.serve(Time::ZERO, 1000).1.0).collect();
        assert_eq!(ends, [5_333_333, 10_666_666, 16_000_000]);
        // an idle time forgets the remainder
        assert_eq!(service.serve(Time(20_000_000), 1000), (Time(20_000_000), Time(25_333_333)));
        assert_eq!(service.serve(Time(25_333_333), 1000), (Time(25_333_333), Time(30_666_666)));
    }

    #[test]
    fn the_long_run_rate_is_exact_at_awkward_rates() {
        for rate in [3, 7_777_777, 622_080_001, 99_999_999_977] {
            let mut service = Service::new(Some(Rate(rate)), &[], None);
            let mut bytes = 0_u64;
            for i in 0..100_000_u64 {
                let size = 40 + i * 7919 % 1461;
                bytes += size;
                service.serve(Time::ZERO, size);
            }
            let exact = u128::from(bytes) * 8 * u128::from(NANOS_PER_SEC) / u128::from(rate);
            assert_eq!(u128::from(service.free), exact, "{rate} bit/s");
        }
    }

    /// 1000 bytes = 8 ms at 1 Mbit/s. Started 4 ms before the rate doubles they need 4 + 2 ms.
    #[test]
    fn a_change_in_the_middle_of_a_packet() {
        let mut service = Service::new(Some(Rate(1_000_000)), &[change(10_000_000, 2_000_000)], None);
        assert_eq!(service.serve(Time(6_000_000), 1000), (Time(6_000_000), Time(12_000_000)));
        assert_eq!(service.serve(Time(6_000_000), 1000), (Time(12_000_000), Time(16_000_000)));
    }

    #[test]
    fn an_outage_holds_the_packet_it_hits() {
        let mut service =
            Service::new(Some(Rate(1_000_000)), &[change(4_000_000, 0), change(100_000_000, 1_000_000)], None);
        assert_eq!(service.serve(Time::ZERO, 1000).1, Time(104_000_000));
        let mut dead = Service::new(Some(Rate(1_000_000)), &[change(4_000_000, 0)], None);
        assert_eq!(dead.serve(Time::ZERO, 1000).1, Time::NEVER);
        assert_eq!(dead.serve(Time(1), 1000), (Time::NEVER, Time::NEVER));
    }

    #[test]
    fn capacity_is_the_integral_of_the_rate() {
        let service =
            Service::new(Some(Rate(1_000_000)), &[change(1_000_000_000, 0), change(2_000_000_000, 3_000_000)], None);
        assert_eq!(service.capacity(Time(500_000_000), Time(3_000_000_000)), Some(3_500_000.0));
        assert_eq!(Service::new(None, &[], None).capacity(Time::ZERO, Time(1)), None);
    }
}
