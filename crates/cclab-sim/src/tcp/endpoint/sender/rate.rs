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
    /// Bytes delivered on the connection: the low 32 bits.
    pub delivered: u32,
    /// The application limited the sender.
    pub app_limited: bool,
}

/// State of the estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimator {
    /// Bytes delivered: cumulatively or selectively acknowledged.
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    /// Until this much is delivered samples are application-limited; zero: they are not.
    app_limited: u64,
    /// The last sample.
    latest: Option<Rate>,
}

/// The sample that an ACK builds up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// The most recently sent segment that the ACK delivered.
    newest: Option<Newest>,
}

/// What a sample keeps of a segment.
#[derive(Clone, Copy, Debug)]
struct Newest {
    stamp: Stamp,
    /// Number of the transmission.
    order: u64,
    sent: Time,
    /// Number of the segment.
    segment: u64,
}

impl Sample {
    /// When the newest delivered segment was sent.
    pub fn newest_sent(&self) -> Option<Time> {
        self.newest.map(|newest| newest.sent)
    }

    /// Its number.
    pub fn newest_segment(&self) -> Option<u64> {
        self.newest.map(|newest| newest.segment)
    }
}

impl Estimator {
    /// Everything happened so much later.
    pub fn shift(&mut self, by: Duration) {
        self.delivered_time += by;
        self.first_sent += by;
    }

    /// The stamp of a segment sent at `now`; `idle`: all that was sent before is acknowledged. What a timeout took for lost may have
    /// arrived: a sample that began here would find its ACK within an RTT, and all of it (Linux `tcp_rate_skb_sent`).
    pub fn on_send(&mut self, now: Time, idle: bool) -> Stamp {
        if idle {
            self.first_sent = now;
            self.delivered_time = now;
        }
        Stamp {
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered: self.delivered as u32,
            app_limited: self.app_limited != 0,
        }
    }

    /// Segment `i` was acknowledged for the first time, cumulatively or selectively.
    pub fn on_delivered(&mut self, now: Time, i: u64, sent: &Sent, sample: &mut Sample) {
        self.count(now, u64::from(sent.len));
        if sample.newest.is_none_or(|newest| sent.order > newest.order) {
            sample.newest = Some(Newest { stamp: sent.rate, order: sent.order, sent: sent.sent, segment: i });
            self.first_sent = sent.sent;
        }
    }

    /// `bytes` more were delivered.
    pub fn count(&mut self, now: Time, bytes: u64) {
        self.delivered += bytes;
        self.delivered_time = now;
    }

    /// Of what an ACK delivers `bytes` had been counted.
    pub fn discount(&mut self, bytes: u64) {
        self.delivered -= bytes;
    }

    /// Bytes delivered on the connection when the newest segment of a sample was sent.
    pub fn prior_delivered(&self, sample: &Sample) -> Option<u64> {
        sample.newest.map(|newest| self.delivered_at(newest.stamp))
    }
    /// Bytes delivered on the connection when a segment was sent that was just in flight.
    pub fn delivered_at(&self, stamp: Stamp) -> u64 {
        self.delivered - u64::from((self.delivered as u32).wrapping_sub(stamp.delivered))
    }

    /// Bytes delivered: cumulatively or selectively acknowledged.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    /// The last sample.
    pub fn latest(&self) -> Option<Rate> {
        self.latest
    }

    /// Whether the application has limited what was sent last.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited != 0
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
        let Newest { stamp, sent, .. } = sample.newest?;
        let send_elapsed = sent.since(stamp.first_sent);
        let ack_elapsed = self.delivered_time.since(stamp.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        if interval < min_rtt {
            return None;
        }
        let rate = Rate::of(self.delivered - self.delivered_at(stamp), interval)?;
        self.latest = Some(rate);
        Some((rate, stamp.app_limited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn send(e: &mut Estimator, at: u64, order: u64) -> Sent {
        let now = Time(at * MS);
        Sent { sent: now, order, len: 1000, rate: e.on_send(now, order == 0), ..Sent::default() }
    }

    /// Segments sent 10 ms apart, that is at 800 kbit/s, the ACKs of 19 of them held until `until` ms: the sample.
    fn held(until: u64) -> (Rate, bool) {
        let mut e = Estimator::default();
        let sent: Vec<Sent> = (0..10).map(|k| send(&mut e, 10 * k, k)).collect();
        let mut sample = Sample::default();
        e.on_delivered(Time(100 * MS), 0, &sent[0], &mut sample);
        e.on_ack(&sample, Duration(100 * MS));
        let next: Vec<Sent> = (10..20).map(|k| send(&mut e, 10 * k, k)).collect();
        let mut stretch = Sample::default();
        sent[1..].iter().chain(&next).for_each(|s| e.on_delivered(Time(until * MS), s.order, s, &mut stretch));
        e.on_ack(&stretch, Duration(100 * MS)).unwrap()
    }

    /// ACKs that arrive together do not raise the sample above the rate of sending, late ones lower it: the interval
    /// is the longer of both (the draft's §3.3: interval = max(send_elapsed, ack_elapsed)).
    #[test]
    fn compressed_acks_do_not_raise_the_rate() {
        // 19 segments in the 190 ms of sending; the 100 ms of the ACKs are less.
        assert_eq!(held(200), (Rate(800_000), false));
        // The 200 ms of the ACKs are more.
        assert_eq!(held(300), (Rate(19_000 * 8 * 5), false));
    }

    /// What is delivered within less than min_rtt tells nothing.
    #[test]
    fn an_interval_below_min_rtt_is_invalid() {
        let mut e = Estimator::default();
        let s = send(&mut e, 0, 0);
        let mut sample = Sample::default();
        e.on_delivered(Time(50 * MS), 0, &s, &mut sample);
        assert_eq!(e.on_ack(&sample, Duration(60 * MS)), None);
    }

    #[test]
    fn samples_are_marked_until_the_bubble_is_delivered() {
        let mut e = Estimator::default();
        let first = send(&mut e, 0, 0);
        e.set_app_limited(1000);
        let second = send(&mut e, 10, 1);
        let mut sample = Sample::default();
        e.on_delivered(Time(100 * MS), 0, &first, &mut sample);
        assert!(!e.on_ack(&sample, Duration::ZERO).unwrap().1);
        let mut sample = Sample::default();
        e.on_delivered(Time(110 * MS), 0, &second, &mut sample);
        assert!(e.on_ack(&sample, Duration::ZERO).unwrap().1);
        assert_eq!(e.app_limited, 0);
    }
}
