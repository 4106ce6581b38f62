//! Delivery-rate estimation (draft-cheng-iccrg-delivery-rate-estimation; Linux `tcp_rate.c`), in bytes.

use super::scoreboard::Sent;
use cclab_algo::{Duration, Rate, Time};

/// What a segment remembers of the connection at its transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    /// Send time of the first segment of the flight that the sample spans.
    pub first_sent: Time,
    /// When `delivered` last changed.
    pub delivered_time: Time,
    /// Bytes delivered on the connection; the top bit says that the application limited the sender.
    delivered_and_limited: u64,
}

const LIMITED: u64 = 1 << 63;

impl Stamp {
    /// Bytes delivered on the connection at the transmission.
    pub fn delivered(&self) -> u64 {
        self.delivered_and_limited & !LIMITED
    }
    fn app_limited(&self) -> bool {
        self.delivered_and_limited & LIMITED != 0
    }
}

/// State of the estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimator {
    /// Bytes delivered: cumulatively or selectively acknowledged.
    pub delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    /// Until this much is delivered samples are application-limited; zero: they are not.
    app_limited: u64,
}

/// The sample that an ACK builds up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Stamp, transmission number and send time of the most recently sent segment that the ACK delivered.
    newest: Option<(Stamp, u64, Time)>,
}

impl Sample {
    /// Bytes delivered on the connection when the newest delivered segment was sent.
    pub fn prior_delivered(&self) -> Option<u64> {
        self.newest.map(|(stamp, ..)| stamp.delivered())
    }
}

impl Estimator {
    /// The stamp of a segment sent at `now`; `idle`: nothing else is in flight.
    pub fn on_send(&mut self, now: Time, idle: bool) -> Stamp {
        if idle {
            self.first_sent = now;
            self.delivered_time = now;
        }
        let limited = if self.app_limited != 0 { LIMITED } else { 0 };
        Stamp {
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered_and_limited: self.delivered | limited,
        }
    }

    /// A segment was acknowledged for the first time, cumulatively or selectively.
    pub fn on_delivered(&mut self, now: Time, segment: &Sent, sample: &mut Sample) {
        self.delivered += u64::from(segment.len);
        self.delivered_time = now;
        if sample.newest.is_none_or(|(_, order, _)| segment.order > order) {
            sample.newest = Some((segment.rate, segment.order, segment.sent));
            self.first_sent = segment.sent;
        }
    }

    /// The sender has nothing to send though the window would let it; `in_flight` bytes.
    pub fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// The ACK is taken in: its sample, and whether the application limited it. `None` where the interval
    /// is shorter than `min_rtt`: then it is ACK compression and tells nothing.
    pub fn on_ack(&mut self, sample: &Sample, min_rtt: Duration) -> Option<(Rate, bool)> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let (stamp, _, sent) = sample.newest?;
        let send_elapsed = sent.since(stamp.first_sent);
        let ack_elapsed = self.delivered_time.since(stamp.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        if interval < min_rtt {
            return None;
        }
        Some((Rate::of(self.delivered - stamp.delivered(), interval)?, stamp.app_limited()))
    }
}
