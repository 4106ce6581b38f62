//! Pacing: segments leave no faster than a rate.

use crate::wire::DSS_DATA;
use cclab_algo::{Duration, Rate, Time};

/// IPv4 and TCP headers without options.
const HEADERS: u8 = 40;
/// The timestamp option, padding included.
const TIMESTAMPS: u8 = 12;

/// The release time of the next segment.
///
/// A rate made of window and RTT charges wire bytes, headers included, as the `fq` queue discipline does: a paced flow's
/// rate is that of its IP packets. (Linux computes the rate from payload and charges it so in `fq`; TCP's internal pacing
/// is alike.) A law's own rate charges payload, as the delivery rates do that it is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// `None`: segments leave as the window opens.
    rate: Option<Rate>,
    next: Time,
    /// Bytes of a packet beside its payload.
    headers: u8,
    /// The sender last stopped because of it.
    blocked: bool,
}

impl Pacer {
    /// The handshake is over.
    pub fn begin(&mut self, timestamps: bool, multipath: bool) {
        self.headers = HEADERS + if timestamps { TIMESTAMPS } else { 0 } + if multipath { DSS_DATA as u8 } else { 0 };
    }
    /// Bytes of a packet beside its payload.
    pub fn headers(&self) -> u64 {
        u64::from(self.headers)
    }
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }
    pub fn set(&mut self, rate: Option<Rate>) {
        self.rate = rate;
    }
    /// The rate of a window, faster early in slow start (Linux `tcp_update_pacing_rate`).
    pub fn follow(&mut self, window: u64, srtt: Duration, early: bool) {
        let percent = if early { 200 } else { 120 };
        self.rate = Rate::of(window * percent / 100, srtt);
    }

    /// The next segment may leave so much later.
    pub fn shift(&mut self, by: Duration) {
        self.next += by;
    }

    /// When the next segment might leave, or might have left.
    pub fn earliest(&self) -> Time {
        self.next
    }
    /// Whether the next segment has to wait.
    pub fn blocks(&mut self, now: Time) -> bool {
        self.blocked = self.rate.is_some() && now < self.next;
        self.blocked
    }
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }
    pub fn unblock(&mut self) {
        self.blocked = false;
    }
    /// When the next segment may leave; [`Time::NEVER`] when that is not what the sender waits for.
    pub fn deadline(&self) -> Time {
        if self.blocked { self.next } else { Time::NEVER }
    }

    /// A segment of `len` bytes leaves; `own`: at the law's own rate.
    pub fn on_sent(&mut self, now: Time, len: u32, own: bool) {
        if let Some(rate) = self.rate {
            let headers = if own { 0 } else { self.headers() };
            self.next = self.next.max(now) + rate.time_for(u64::from(len) + headers);
        }
    }
}
