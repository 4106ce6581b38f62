//! Quick-Start (RFC 4782): the SYN asks the routers for a rate.

use super::Sender;
use crate::wire::Segment;
use crate::wire::quick_start::{code_of, nonce_mask, rate_of};
use cclab_algo::cc::{AckEvent, Feedback, RestartEvent};
use cclab_algo::{Duration, Rate, Time};

/// The Quick-Start request of a SYN (RFC 4782 §3.1). Nobody here guesses nonces, so the time will do for one.
pub(in super::super) fn quick_start_request(now: Time, rate: Rate) -> Feedback {
    let nonce = (now.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 34) as u32;
    Feedback::QuickStart { rate: code_of(rate.as_bps_f64()), ttl: 0, nonce }
}

/// The window that was granted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QuickStart {
    /// It ends here; 0 when there is none, or it is acknowledged.
    end: u64,
}

impl QuickStart {
    pub fn lasts(&self) -> bool {
        self.end > 0
    }
}

impl Sender {
    /// The SYN-ACK answers the request of a SYN that was sent `rtt` ago (RFC 4782 §4.4): if every router took part and
    /// the nonce is right, as much may leave in the first round trip as the approved rate allows. To the law it is as if
    /// so much had been acknowledged in slow start.
    pub(super) fn quick_start(&mut self, now: Time, sent: Time, answer: &Segment) {
        let Some(wanted) = self.config.quick_start else { return };
        let Feedback::QuickStart { nonce: asked, .. } = quick_start_request(sent, wanted) else { return };
        let Feedback::QuickStart { rate, ttl: 0, nonce } = answer.feedback else { return };
        if (nonce ^ asked) & nonce_mask(rate) != 0 {
            return;
        }
        let mss = self.mss();
        let segments = quick_window(rate, now - sent, mss + self.pacer.headers());
        self.quick_start.end = if segments * mss > self.law.cwnd() { 1 + segments * mss } else { 0 };
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min_rtt());
        let ack = AckEvent { now, acked_bytes: mss, srtt, min_rtt, may_grow: true, ..AckEvent::default() };
        for _ in 0..segments {
            if self.law.cwnd() >= segments * mss {
                break;
            }
            self.law.tell(|cc| cc.on_ack(&ack));
        }
        if self.quick_start.lasts() {
            self.pacer.set(Some(Rate(rate_of(rate) as u64)));
        }
    }

    /// An ACK came while Quick-Start lasts: its window leaves at the approved rate, and is watched until acknowledged.
    /// Says whether it is still leaving.
    #[cold]
    pub(super) fn quick_starting(&mut self) -> bool {
        if self.window.nxt() < self.quick_start.end {
            return true;
        }
        self.pacer.set(None);
        if self.window.una() >= self.quick_start.end {
            self.quick_start.end = 0;
        }
        false
    }

    /// A packet of the Quick-Start window was lost: as if it had not been granted (RFC 4782 §4.6.3).
    #[cold]
    pub(super) fn end_quick_start(&mut self, now: Time) {
        self.quick_start.end = 0;
        self.pacer.set(None);
        let cwnd = u64::from(self.config.initial_window) * self.mss();
        self.law.tell(|cc| cc.on_restart(&RestartEvent { now, cwnd, ssthresh: 0 }));
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
