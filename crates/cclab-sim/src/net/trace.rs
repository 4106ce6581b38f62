//! What a link follows that was measured elsewhere, or made up: opportunities to deliver, or its rate and delay over time. Links
//! that follow the same share it.

use super::service::Step;
use cclab_algo::{Duration, Rate, Time};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A trace by its name.
#[derive(Debug, PartialEq, Eq)]
pub struct Trace {
    /// What the scenario calls it: a file.
    pub name: String,
    /// What it says.
    pub course: Course,
}

/// What a trace says.
#[derive(Debug, PartialEq, Eq)]
pub enum Course {
    /// When something may leave.
    Opportunities(Opportunities),
    /// Rate and delay, at least one of them.
    Changes {
        /// Rates with the times from which on they hold, the first from 0; none where the link has its own.
        rates: Option<Arc<[Step]>>,
        /// Delays likewise.
        delays: Option<Arc<[(Time, Duration)]>>,
    },
}

impl Trace {
    /// Mean rate, where it says one: over a period of its opportunities, or up to its last change.
    pub fn rate(&self) -> Option<Rate> {
        match &self.course {
            Course::Opportunities(of) => Some(of.rate()),
            Course::Changes { rates, .. } => {
                let rates = rates.as_ref()?;
                let last = rates.last()?;
                let work =
                    |pair: &[Step]| u128::from(pair[0].rate.unwrap_or(0)) * u128::from(pair[1].from - pair[0].from);
                let work: u128 = rates.windows(2).map(work).sum();
                Some(Rate(work.checked_div(last.from.into()).map_or(last.rate.unwrap_or(0), |mean| mean as u64)))
            }
        }
    }

    /// Delay at the start, where it says one.
    pub fn delay(&self) -> Option<Duration> {
        match &self.course {
            Course::Changes { delays: Some(delays), .. } => Some(delays[0].1),
            _ => None,
        }
    }
}

/// Moments at which a link may deliver up to 1500 bytes, as mahimahi has them (Netravali et al. 2015): in whole milliseconds, over
/// and over, the last one ending a period. They are numbered from 0 on, through all periods.
#[derive(Debug, PartialEq, Eq)]
pub struct Opportunities {
    at_ms: Vec<u32>,
}

impl Opportunities {
    /// Bytes of one.
    pub const BYTES: u64 = 1500;

    /// These of a period, in order of time; `None` unless the last is later than 0.
    pub fn new(at_ms: Vec<u32>) -> Option<Opportunities> {
        debug_assert!(at_ms.is_sorted());
        (*at_ms.last()? > 0).then_some(Opportunities { at_ms })
    }

    /// Those of a period, ms.
    pub fn at_ms(&self) -> &[u32] {
        &self.at_ms
    }

    /// The length of a period, ns.
    fn period(&self) -> u64 {
        self.at_ms.last().map_or(1, |&ms| u64::from(ms) * MS)
    }

    /// Mean rate.
    pub fn rate(&self) -> Rate {
        let bits = self.at_ms.len() as u128 * u128::from(Self::BYTES) * 8;
        Rate((bits * 1_000_000_000 / u128::from(self.period())) as u64)
    }

    /// When one is.
    pub(super) fn at(&self, number: u64) -> Time {
        let (period, place) = (number / self.at_ms.len() as u64, number % self.at_ms.len() as u64);
        Time(period * self.period() + u64::from(self.at_ms[place as usize]) * MS)
    }

    /// How many there are until `now`, one at that moment included: the number of the next.
    pub(super) fn until(&self, now: Time) -> u64 {
        let (periods, rest) = (now.0 / self.period(), now.0 % self.period());
        periods * self.at_ms.len() as u64 + self.at_ms.partition_point(|&ms| u64::from(ms) * MS <= rest) as u64
    }

    /// How many there are before `now`.
    pub(super) fn before(&self, now: Time) -> u64 {
        now.0.checked_sub(1).map_or(0, |earlier| self.until(Time(earlier)))
    }
}

/// A transmitter that sends when there is an opportunity. What an opportunity has left goes to the packets that wait then; what
/// comes at that very moment or later waits for the next.
#[derive(Clone, Debug)]
pub(super) struct Carrier {
    trace: Arc<Trace>,
    /// Number of the first opportunity that nobody has a claim on.
    next: u64,
    /// What is left of the one before it, bytes.
    left: u64,
}

impl Carrier {
    /// One that follows `trace`, if that is opportunities.
    pub(super) fn of(trace: &Arc<Trace>) -> Option<Box<Carrier>> {
        let carrier = || Box::new(Carrier { trace: trace.clone(), next: 0, left: 0 });
        matches!(trace.course, Course::Opportunities(_)).then(carrier)
    }

    pub(super) fn opportunities(&self) -> &Opportunities {
        match &self.trace.course {
            Course::Opportunities(of) => of,
            Course::Changes { .. } => unreachable!("a carrier follows opportunities"),
        }
    }

    /// Takes in `bytes` that come at `now`; the last opportunity that has been used is at `last`. When the first and the last of
    /// them leave.
    pub(super) fn serve(&mut self, now: u64, last: u64, bytes: u64) -> (u64, u64) {
        if now >= last {
            (self.next, self.left) = (self.opportunities().until(Time(now)), 0);
        }
        let start = if self.left > 0 { last } else { self.opportunities().at(self.next).0 };
        let Some(more) = bytes.checked_sub(self.left).filter(|&more| more > 0) else {
            self.left -= bytes;
            return (start, last);
        };
        let used = more.div_ceil(Opportunities::BYTES);
        self.next += used;
        self.left = used * Opportunities::BYTES - more;
        (start, self.opportunities().at(self.next - 1).0)
    }

    /// When more may leave; the last opportunity that has been used is at `last`.
    pub(super) fn again(&self, last: u64) -> u64 {
        if self.left > 0 { last } else { self.opportunities().at(self.next).0 }
    }

    /// Of the packet that was served last, from `start` to `end`: bytes that left at `from` or later.
    pub(super) fn bytes_since(&self, from: u64, (start, end): (u64, u64), bytes: u64) -> u64 {
        match from {
            _ if from <= start => bytes,
            _ if from > end => 0,
            _ => (self.next - self.opportunities().before(Time(from))) * Opportunities::BYTES - self.left,
        }
    }
}
