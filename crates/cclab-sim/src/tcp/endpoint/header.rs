//! The congestion header: a law asks with its data, the receiver sends back with its ACKs, and Quick-Start (RFC 4782)
//! asks on the SYN.

use super::receiver::Receiver;
use super::sender::Sender;
use crate::wire::Segment;
use crate::wire::quick_start::{code_of, nonce_mask, rate_of};
use cclab_algo::cc::{AckEvent, Feedback, RestartEvent};
use cclab_algo::{Duration, Rate, Time};

impl Receiver {
    /// A data packet brought `header`; an ACK for several brings back what they say together.
    #[inline(never)]
    pub fn take_header(&mut self, header: Feedback) {
        self.returning = match (self.returning, header) {
            (Feedback::Xcp { delta: before, .. }, Feedback::Xcp { cwnd, rtt_us, delta }) => {
                Feedback::Xcp { cwnd, rtt_us, delta: before + delta }
            }
            (Feedback::AntiEcn { room: before }, Feedback::AntiEcn { room }) => {
                Feedback::AntiEcn { room: before || room }
            }
            (before, Feedback::AccEcn { .. }) => before,
            (_, header) => header,
        };
    }
}

/// The Quick-Start request of a SYN (RFC 4782 §3.1). Nobody here guesses nonces, so the time will do for one.
pub(super) fn quick_start_request(now: Time, rate: Rate) -> Feedback {
    let nonce = (now.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 34) as u32;
    Feedback::QuickStart { rate: code_of(rate.as_bps_f64()), ttl: 0, nonce }
}

impl Sender {
    /// The SYN-ACK answers the request of a SYN that was sent `rtt` ago (RFC 4782 §4.4): if every router took part and
    /// the nonce is right, as much may leave in the first round trip as the approved rate allows. To the law it is as if
    /// so much had been acknowledged in slow start.
    pub fn quick_start(&mut self, now: Time, sent: Time, answer: &Segment) {
        let Some(wanted) = self.config.quick_start else { return };
        let Feedback::QuickStart { nonce: asked, .. } = quick_start_request(sent, wanted) else { return };
        let Feedback::QuickStart { rate, ttl: 0, nonce } = answer.feedback else { return };
        if (nonce ^ asked) & nonce_mask(rate) != 0 {
            return;
        }
        let mss = self.mss();
        let segments = quick_window(rate, now - sent, mss + self.pacer.headers);
        self.quick_end = if segments * mss > self.cc.cwnd() { 1 + segments * mss } else { 0 };
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min_rtt());
        let ack = AckEvent { now, acked_bytes: mss, srtt, min_rtt, may_grow: true, ..AckEvent::default() };
        for _ in 0..segments {
            if self.cc.cwnd() >= segments * mss {
                break;
            }
            self.cc.tell(|cc| cc.on_ack(&ack));
        }
        if self.quick_end > 0 {
            self.pacer.rate = Some(Rate(rate_of(rate) as u64));
        }
    }

    /// An ACK came while Quick-Start lasts: its window leaves at the approved rate, and is watched until acknowledged.
    /// Says whether it is still leaving.
    #[cold]
    pub fn quick_starting(&mut self) -> bool {
        if self.snd_nxt < self.quick_end {
            return true;
        }
        self.pacer.rate = None;
        if self.snd_una >= self.quick_end {
            self.quick_end = 0;
        }
        false
    }

    /// A packet of the Quick-Start window was lost: as if it had not been granted (RFC 4782 §4.6.3).
    #[cold]
    pub fn end_quick_start(&mut self, now: Time) {
        self.quick_end = 0;
        self.pacer.rate = None;
        let cwnd = u64::from(self.config.initial_window) * self.mss();
        self.cc.tell(|cc| cc.on_restart(&RestartEvent { now, cwnd, ssthresh: 0 }));
    }
}

/// QS-cwnd = R T / (MSS + H), in whole segments (RFC 4782 §4.4).
fn quick_window(code: u8, rtt: Duration, packet: u64) -> u64 {
    (rate_of(code) * rtt.as_secs_f64() / 8.0 / packet as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5.12 Mbit/s, 0.2 s, 1460 + 40 bytes: 85.33 packets.
    #[test]
    fn the_quick_start_window() {
        assert_eq!(quick_window(7, Duration::from_millis(200), 1500), 85);
        assert_eq!(quick_window(0, Duration::from_millis(200), 1500), 0);
    }
}
