//! The table of sessions.

use super::{Counters, Session};
use crate::measure::Distribution;
use crate::measure::table::{Names, Text, table};
use cclab_algo::{Duration, Time};

/// A session whose measured interval is over.
pub(crate) struct Measured<'a> {
    session: &'a Session,
    /// The law of its subflows.
    cc: &'a str,
    from: Counters,
    to: Counters,
    /// Length of the interval, s.
    seconds: f64,
    end: Time,
}

impl Session {
    /// What is measured from the warm-up to `end` or until the session is over.
    pub(crate) fn measured<'a>(&'a self, cc: &'a str, warmup: Time, end: Time) -> Measured<'a> {
        let end = self.over.map_or(end, |over| over.min(end));
        let seconds = end.since(self.start.max(warmup)).as_secs_f64();
        let to = self.meter.after.unwrap_or_else(|| self.counters());
        Measured { session: self, cc, from: self.meter.before, to, seconds, end }
    }
}

impl Measured<'_> {
    /// Payload delivered, bit/s.
    pub(crate) fn goodput(&self) -> f64 {
        let bytes = self.to.delivered - self.from.delivered;
        if self.seconds > 0.0 { bytes as f64 * 8.0 / self.seconds } else { f64::NAN }
    }

    /// From the start to the last byte acknowledged (0) or received in order (1), s.
    fn taken(&self, end: usize) -> f64 {
        self.session.finished[end].map_or(f64::NAN, |at| (at - self.session.start).as_secs_f64())
    }

    /// (G - max) / (sum - max) of the capacities where the goodput G is at least the largest, else (G - max) / max.
    fn benefit(&self) -> f64 {
        aggregation_benefit(self.goodput(), &self.session.spec.capacities)
    }

    fn buffer(&self) -> (f64, f64) {
        let (mean, _, max) = self.session.meter.buffer.summary(self.end, 1.0);
        (mean, max)
    }

    /// Also the time until the end of the interval counts.
    fn stall(&self) -> f64 {
        if self.seconds <= 0.0 {
            return f64::NAN;
        }
        let last = self.end.since(self.session.meter.last);
        self.session.meter.stall.max(if self.session.over.is_some() { Duration::ZERO } else { last }).as_secs_f64()
    }
}

/// Paasch, Khalili, Bonaventure (CoNEXT 2013): how much of what the other paths add is had: 0 is the best path alone, 1 all of them.
pub fn aggregation_benefit(goodput: f64, capacities: &[f64]) -> f64 {
    let (max, sum) = capacities.iter().fold((0.0_f64, 0.0), |(max, sum), c| (if max > *c { max } else { *c }, sum + c));
    if goodput >= max { (goodput - max) / (sum - max) } else { (goodput - max) / max }
}

table! {
    /// One row per connection over several paths, over its measured interval, as that of a flow. Its subflows are rows of `flows`,
    /// labelled `label/path`, whose payload includes what was sent twice.
    "sessions": Sessions of SessionRow from s, &Measured<'_>;

    /// Name of the session.
    label: Text, "" = &s.session.spec.label;
    /// Congestion control of its subflows.
    cc: Names, "" = s.cc;
    /// Whether its subflows are told of each other.
    coupled: Vec<bool>, "1" = s.session.spec.coupled;
    /// Who decides which subflow gets what is sent next.
    scheduler: Names, "" = s.session.spec.scheduler.name;
    /// Number of its subflows.
    subflows: Vec<u64>, "1" = s.session.subflows.len() as u64;
    /// When its first subflow started.
    start_s: Vec<f64>, "s" = s.session.start.as_secs_f64();
    /// Length of the interval that the other figures are over.
    measured_s: Vec<f64>, "s" = s.seconds;
    /// Data delivered to the application, each byte once.
    goodput_bps: Vec<f64>, "bit/s" = s.goodput();
    /// Data delivered to the application, whole run.
    delivered_bytes: Vec<u64>, "bytes" = s.to.delivered;
    /// Data that arrived and had arrived before on another subflow.
    duplicate_bytes: Vec<u64>, "bytes" = s.to.duplicates - s.from.duplicates;
    /// Data sent again on another subflow after a timeout, a failure or the loss of an interface.
    reinjected_bytes: Vec<u64>, "bytes" = s.to.sent_again.reinjected - s.from.sent_again.reinjected;
    /// Data sent again on a faster subflow because the receiver's buffer was full.
    opportunistic_bytes: Vec<u64>, "bytes" = s.to.sent_again.opportunistic - s.from.sent_again.opportunistic;
    /// How often a subflow that held up the rest was slowed down.
    penalties: Vec<u64>, "1" = s.to.sent_again.penalties - s.from.sent_again.penalties;
    /// How long segments waited at the receiver for data before them, zeros included.
    reorder: Vec<Distribution>, "s" = s.session.meter.reorder.summary();
    /// Mean over time of the data that wait at the receiver for others.
    buffer_mean_bytes: Vec<f64>, "bytes" = s.buffer().0;
    /// Most of it.
    buffer_max_bytes: Vec<f64>, "bytes" = s.buffer().1;
    /// Longest time for which the application got nothing.
    stall_max_s: Vec<f64>, "s" = s.stall();
    /// How much of what further paths add is had (Paasch, Khalili, Bonaventure, CoNEXT 2013): 0 as good as the best path alone, 1 as all together, below 0 worse than
    /// the best. Of a path counts what its slowest link carries; NaN where a path has no rate or one that changes.
    aggregation_benefit: Vec<f64>, "1" = s.benefit();
    /// Of a transfer that ended: from its start to the last byte acknowledged.
    fct_s: Vec<f64>, "s" = s.taken(0);
    /// Of a transfer that ended: from its start to the last byte received in order.
    fct_receiver_s: Vec<f64>, "s" = s.taken(1);
}

#[cfg(test)]
mod tests {
    use super::aggregation_benefit as benefit;

    /// The three cases that the formula is made for, and an unknown path.
    #[test]
    fn aggregation_benefit() {
        assert_eq!(benefit(10.0, &[6.0, 4.0]), 1.0);
        assert_eq!(benefit(6.0, &[6.0, 4.0]), 0.0);
        assert_eq!(benefit(3.0, &[6.0, 4.0]), -0.5);
        assert!(benefit(3.0, &[6.0, f64::NAN]).is_nan());
    }
}
