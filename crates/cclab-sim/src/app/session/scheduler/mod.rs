//! Schedulers: which subflow of a connection over several paths gets what is to be sent next.
//!
//! One is asked whenever some subflow has room and there is something for it, for one segment at a time. What it is told is a
//! snapshot, a [`Scene`]; what it keeps is its own. To add one: a file beside this one, a `mod` line and an entry in
//! [`REGISTRY`].

mod blest;
mod ecf;
mod min_rtt;
mod predicted_arrival;
mod redundant;
mod round_robin;

use cclab_algo::params::{self, Flavour, Given, Params, Spec};
use cclab_algo::{Duration, Rate, Time};

/// Every scheduler there is, in the order in which `cclab list schedulers` shows them.
pub static REGISTRY: &[Entry] =
    &[min_rtt::ENTRY, round_robin::ENTRY, redundant::ENTRY, blest::ENTRY, ecf::ENTRY, predicted_arrival::ENTRY];

/// The scheduler of a connection that names none.
pub const DEFAULT: &Entry = &min_rtt::ENTRY;

/// A scheduler as the registry knows it.
pub struct Entry {
    /// Name in scenario files; the file has the same.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper, RFC or code that it follows.
    pub source: &'static str,
    /// Parameters.
    pub params: &'static [Spec],
    /// Makes the scheduler of a new connection.
    pub build: fn(&Params) -> Box<dyn Spread>,
}

impl Entry {
    /// Builds the scheduler from parameters as written.
    ///
    /// # Errors
    /// A parameter it does not have, or a value out of bounds.
    pub fn make(&self, given: &[(String, Given)]) -> Result<Box<dyn Spread>, params::Error> {
        Ok((self.build)(&Params::resolve(self.params, given, Flavour::Linux)?))
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A scheduler at work (a queue's is a `Scheduler`).
pub trait Spread: Send {
    /// Who gets the next segment. At least one subflow is [`ready`](View::ready), and there is data or a copy for it.
    fn choose(&mut self, scene: &Scene) -> Choice;
    /// Whether it may answer [`Choice::Copy`]: only then is [`View::behind`] known.
    fn copies(&self) -> bool {
        false
    }
}

/// What a scheduler answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nobody, though somebody could: it is asked again after the next event.
    Wait,
    /// The next data go to this subflow.
    New(usize),
    /// This subflow sends what others have sent and it has not: the first of it that is not acknowledged.
    Copy(usize),
}

/// What a scheduler sees.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Now.
    pub now: Time,
    /// Bytes that no subflow has been given yet; `u64::MAX` without end.
    pub waiting: u64,
    /// Bytes that the receiver has room for beyond those sent: its buffer less what is not acknowledged at data level. Of what is
    /// sent again this is not asked.
    pub window: u64,
    /// Bytes that the receiver has room for beyond those acknowledged at data level.
    pub offered: u64,
    /// Bytes of the segment that is to be sent; 0 where there is nothing but copies.
    pub len: u64,
    /// It is sent again, after a timeout or the failure of a subflow.
    pub again: bool,
    /// How often a segment has been sent again on a faster subflow because the receiver's buffer was full: times at which a slow one
    /// held up the rest.
    pub blocked: u64,
    /// The subflows, in the order of the scenario.
    pub subflows: &'a [View],
}

impl Scene<'_> {
    /// The fastest of those that are `fit`: the smallest srtt, the first of equals.
    pub fn fastest(&self, fit: impl Fn(&View) -> bool) -> Option<usize> {
        let fit = self.subflows.iter().enumerate().filter(|(_, view)| fit(view));
        fit.min_by_key(|(_, view)| view.srtt).map(|(k, _)| k)
    }
}

/// A subflow as a scheduler sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Data may flow on it: established, not failed, not in recovery from a timeout, not closed.
    pub usable: bool,
    /// Bytes that could leave now: window, pacer and the peer's window let them.
    pub room: u64,
    /// The segment can leave now: there is room for it, and it may go there.
    pub ready: bool,
    /// Smoothed RTT; zero before the first sample. Its smallest and largest values so far.
    pub srtt: Duration,
    /// See `srtt`.
    pub srtt_min: Duration,
    /// See `srtt`.
    pub srtt_max: Duration,
    /// RTT variation.
    pub rttvar: Duration,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` while arbitrarily high.
    pub ssthresh: u64,
    /// Bytes in flight (RFC 6675's pipe).
    pub in_flight: u64,
    /// Bytes it was given and has not sent.
    pub queued: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Pacing rate, if it paces.
    pub pacing_rate: Option<Rate>,
    /// Last delivery-rate sample.
    pub delivery_rate: Option<Rate>,
    /// Bytes that others have sent, that are not acknowledged, and that it has not sent after the last of them that it has.
    pub behind: u64,
}

impl View {
    /// Whether a segment of `len` bytes can leave now: a part of it may, where nothing is in flight that will make room.
    pub(super) fn takes(&self, len: u64) -> bool {
        self.room >= len || self.room > 0 && self.in_flight == 0
    }
    /// Whether its window is in slow start.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A subflow of this srtt, in ms, with room or without.
    pub fn view(ms: u64, ready: bool) -> View {
        View { usable: true, ready, srtt: Duration::from_millis(ms), mss: 1000, cwnd: 10_000, ..View::default() }
    }

    /// A segment of new data is to be sent.
    pub fn scene(subflows: &[View]) -> Scene<'_> {
        Scene {
            now: Time::ZERO,
            waiting: u64::MAX,
            window: 1 << 30,
            offered: 1 << 30,
            len: 1000,
            again: false,
            blocked: 0,
            subflows,
        }
    }

    /// Asks for it.
    pub fn ask(scheduler: &mut dyn Spread, subflows: &[View]) -> Choice {
        scheduler.choose(&scene(subflows))
    }

    /// Names are unique, and parameters have their defaults.
    #[test]
    fn registry() {
        for (k, entry) in REGISTRY.iter().enumerate() {
            assert!(REGISTRY[..k].iter().all(|other| other.name != entry.name));
            assert!(entry.make(&[]).is_ok(), "{}", entry.name);
            assert!(entry.make(&[("nothing".into(), Given::Flag(true))]).is_err(), "{}", entry.name);
        }
    }
}
