//! Round trips, and the RTTs of one.

use crate::units::Duration;

/// Round trips by sequence numbers, as most laws count them: one is over when what had been sent at its beginning is
/// acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// The next offset to send at its beginning.
    pub end: u64,
}

impl Round {
    /// Whether an ACK up to `snd_una` ends the round; the next begins with it.
    pub fn is_over(&mut self, snd_una: u64, snd_nxt: u64) -> bool {
        let over = snd_una > self.end;
        if over {
            self.end = snd_nxt;
        }
        over
    }
    /// A round begins now.
    pub fn begin(&mut self, snd_nxt: u64) {
        self.end = snd_nxt;
    }
}

/// The RTT samples of a round.
#[derive(Clone, Debug)]
pub struct Rtts {
    /// The smallest; `Duration::MAX` before the first.
    pub min: Duration,
    /// All of them together.
    pub sum: Duration,
    /// How many there are.
    pub count: u32,
}

impl Default for Rtts {
    fn default() -> Self {
        Rtts { min: Duration::MAX, sum: Duration::ZERO, count: 0 }
    }
}

impl Rtts {
    /// Takes in a sample.
    pub fn add(&mut self, rtt: Duration) {
        self.min = self.min.min(rtt);
        self.sum += rtt;
        self.count += 1;
    }
    /// Their mean; zero without any.
    pub fn mean(&self) -> Duration {
        self.sum / u64::from(self.count.max(1))
    }
}

/// Packet-timed round trips: one is over when something is delivered that was sent after it began, whatever is missing
/// in between.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Rounds so far.
    pub count: u64,
    /// The last ACK began one.
    pub start: bool,
    /// The round is over when something sent at this many bytes delivered, or later, is delivered.
    next: u64,
}

impl Rounds {
    /// An ACK that delivered something, `delivered` bytes on the connection so far; of these `prior_delivered` when the
    /// newest packet that it acknowledges was sent.
    pub fn on_ack(&mut self, prior_delivered: u64, delivered: u64) {
        self.start = prior_delivered >= self.next;
        if self.start {
            self.count += 1;
            self.next = delivered;
        }
    }
    /// A round begins now, `delivered` bytes into the connection.
    pub fn begin(&mut self, delivered: u64) {
        self.next = delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight packets, two in flight at a time: each second ACK begins a round.
    #[test]
    fn a_round_is_a_window() {
        let mut rounds = Rounds::default();
        let began = (1..=8_u64).map(|k| {
            rounds.on_ack(k.saturating_sub(2), k);
            rounds.start
        });
        assert_eq!(began.collect::<Vec<_>>(), [true, false, true, false, true, false, true, false]);
    }

    /// The same by sequence numbers: the ACK of 1 begins a round with 3 as the next to send, which is over when 4 is
    /// acknowledged.
    #[test]
    fn a_round_by_sequence_numbers() {
        let mut round = Round::default();
        let over = (1..=8_u64).map(|una| round.is_over(una, una + 2));
        assert_eq!(over.collect::<Vec<_>>(), [true, false, false, true, false, false, true, false]);
    }

    #[test]
    fn the_rtts_of_a_round() {
        let mut rtts = Rtts::default();
        assert_eq!((rtts.min, rtts.mean()), (Duration::MAX, Duration::ZERO));
        [30, 10, 50].into_iter().for_each(|ms| rtts.add(Duration::from_millis(ms)));
        assert_eq!((rtts.min, rtts.mean(), rtts.count), (Duration::from_millis(10), Duration::from_millis(30), 3));
    }
}
