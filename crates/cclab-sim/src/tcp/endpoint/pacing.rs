//! Pacing: segments leave no faster than a rate.

use cclab_algo::{Rate, Time};

/// Bytes of a packet beside its payload: IPv4 20, TCP 20, timestamps 12. The pacer charges wire bytes as
/// the `fq` queue discipline does, so a paced flow's rate is that of its IP packets.
const HEADERS: u64 = 52;

/// The release time of the next segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// `None`: segments leave as the window opens.
    pub rate: Option<Rate>,
    next: Time,
}

impl Pacer {
    /// Whether the next segment has to wait.
    pub fn blocked(&self, now: Time) -> bool {
        self.rate.is_some() && now < self.next
    }
    /// When the next segment may leave.
    pub fn release(&self) -> Time {
        self.next
    }
    /// A segment of `len` payload bytes leaves.
    pub fn on_sent(&mut self, now: Time, len: u32) {
        if let Some(rate) = self.rate {
            self.next = self.next.max(now) + rate.time_for(u64::from(len) + HEADERS);
        }
    }
}
