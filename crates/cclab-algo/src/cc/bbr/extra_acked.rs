//! ACKs that come in excess of BtlBw, delayed and stretched as they may be: Linux makes room for them.

use crate::units::{Duration, Time};

/// Rounds in each of the two windows of the excess.
const EXTRA_ROUNDS: u32 = 5;
/// No more excess than this much of BtlBw.
pub(super) const EXTRA_MOST: Duration = Duration::from_millis(100);
/// Linux forgets an ACK epoch after 2²⁰ segments.
const EPOCH_MOST: f64 = (1_u64 << 20) as f64;

/// What was acknowledged in excess of BtlBw: the largest of the last five to ten rounds. Volumes in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    /// Acknowledged since.
    epoch: Time,
    acked: f64,
    /// Largest of this window of five rounds and of the one before.
    most: [f64; 2],
    current: usize,
    rounds: u32,
}

impl Extra {
    /// A new epoch of ACKs.
    pub fn begin(&mut self, now: Time) {
        self.epoch = now;
        self.acked = 0.0;
    }

    /// `bw` in segments per second.
    pub fn on_ack(&mut self, now: Time, acked: f64, bw: f64, cwnd: f64, round_start: bool) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= EXTRA_ROUNDS {
                self.rounds = 0;
                self.current ^= 1;
                self.most[self.current] = 0.0;
            }
        }
        let mut expected = bw * now.since(self.epoch).as_secs_f64();
        if self.acked <= expected || self.acked + acked >= EPOCH_MOST {
            self.begin(now);
            expected = 0.0;
        }
        self.acked += acked;
        let extra = (self.acked - expected).min(cwnd);
        self.most[self.current] = self.most[self.current].max(extra);
    }

    /// The largest.
    pub fn most(&self) -> f64 {
        self.most[0].max(self.most[1])
    }
}
