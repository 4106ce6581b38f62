//! Compressed ACKs: while data is missing only some of the duplicate ACKs leave (Linux `tcp_comp_sack_*`).

use super::super::Config;
use cclab_algo::{Duration, Time};

/// So many duplicate ACKs leave at once: those that the peer counts.
const AT_ONCE: u32 = 3;

/// An ACK waits for this share of the RTT at most.
const SHARE: u64 = 20;

/// What was held back.
#[derive(Debug)]
pub(super) struct Compression {
    delay: Duration,
    slack: Duration,
    most: u32,
    /// ACKs that did not leave.
    held: u32,
    /// What those counted below acknowledge, and how many of them left at once.
    ack: u64,
    sent: u32,
    /// What is just arriving has had the ACK of those held back.
    said: bool,
}

impl Compression {
    pub fn new(config: &Config) -> Option<Compression> {
        let (slack, most) = (config.comp_sack_slack, config.comp_sack_nr);
        config.comp_sack_delay.map(|delay| Compression { delay, slack, most, held: 0, ack: 0, sent: 0, said: false })
    }

    /// The settings are others from now on.
    pub fn follow(&mut self, config: &Config) {
        (self.slack, self.most) = (config.comp_sack_slack, config.comp_sack_nr);
        self.delay = config.comp_sack_delay.unwrap_or(self.delay);
    }

    /// Data came, but some before it is missing from `rcv_nxt` on: when an ACK leaves that need not leave at once.
    pub fn hold(&mut self, now: Time, rcv_nxt: u64, rtt: Duration) -> Option<Time> {
        if std::mem::take(&mut self.said) {
            return Some(Time::NEVER);
        }
        if self.held >= self.most {
            return None;
        }
        if self.ack != rcv_nxt {
            (self.ack, self.sent) = (rcv_nxt, 0);
        }
        if self.sent < AT_ONCE {
            self.sent += 1;
            return None;
        }
        self.held += 1;
        Some(now + self.delay.min(Duration(rtt.0 / SHARE)) + self.slack)
    }

    /// Whether ACKs are held back.
    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// Those held back are to be sent, and what is just arriving waits for the next (Linux `tcp_sack_compress_send_ack`).
    pub fn release(&mut self) {
        self.said = true;
    }

    /// An ACK left, and says what those would have said.
    pub fn on_ack_sent(&mut self) {
        self.held = 0;
    }
}
