//! Pacing: segments leave no faster than a rate.

use cclab_algo::{Rate, Time};

/// IPv4 and TCP headers without options.
pub(super) const HEADERS: u64 = 40;

/// The release time of the next segment.
///
/// A rate made of window and RTT charges wire bytes, headers included, as the `fq` queue discipline does: a paced flow's
/// rate is that of its IP packets. (Linux computes the rate from payload and charges it so in `fq`; TCP's internal pacing
/// is alike.) A law's own rate charges payload, as the delivery rates do that it is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// `None`: segments leave as the window opens.
    pub rate: Option<Rate>,
    /// Bytes of a packet beside its payload.
    pub headers: u64,
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
    /// A segment of `bytes` leaves.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        if let Some(rate) = self.rate {
            self.next = self.next.max(now) + rate.time_for(bytes);
        }
    }
}
