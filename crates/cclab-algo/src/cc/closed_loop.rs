//! A network for tests: one sender, one first-in first-out server, no losses.

use super::{AckEvent, CongestionControl, OneWay};
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// One sender, one first-in first-out server of 1.5 Mbit/s, 1000-byte packets, 87 ms without a queue.
pub(super) struct Loop {
    law: Box<dyn CongestionControl>,
    /// Every how-many-th packet is acknowledged.
    ack_every: u64,
    in_flight: VecDeque<OneWay>,
    snd_nxt: u64,
    snd_una: u64,
    free_at: Time,
    now: Time,
    /// At each ACK: time (s), W (segments), packets waiting.
    pub(super) log: Vec<(f64, u64, f64)>,
}
/// Payload of every packet; headers take no time here.
pub(super) const MSS: u64 = 1000;
const SERVICE: Duration = Duration(5_333_333);
const FORWARD: Duration = Duration::from_millis(40);
const BACK: Duration = Duration(87_000_000 - 40_000_000 - SERVICE.0);

impl Loop {
    pub(super) fn run(law: Box<dyn CongestionControl>, ack_every: u64, seconds: f64) -> Self {
        let mut path = Loop {
            law,
            ack_every,
            in_flight: VecDeque::new(),
            snd_nxt: 0,
            snd_una: 0,
            free_at: Time::ZERO,
            now: Time::ZERO,
            log: vec![],
        };
        while path.now.as_secs_f64() < seconds {
            path.send();
            path.ack();
        }
        path
    }
    fn send(&mut self) {
        while self.snd_nxt + MSS <= self.snd_una + self.law.cwnd() {
            self.free_at = self.free_at.max(self.now) + SERVICE;
            self.in_flight.push_back(OneWay { seq: self.snd_nxt, sent: self.now, arrived: self.free_at + FORWARD });
            self.snd_nxt += MSS;
        }
    }
    fn ack(&mut self) {
        let prior_in_flight = self.snd_nxt - self.snd_una;
        let count = (self.ack_every as usize).min(self.in_flight.len());
        let one_way = self.in_flight.drain(..count).next_back().expect("there is always one in flight");
        self.now = one_way.arrived + BACK;
        self.snd_una = one_way.seq + MSS;
        let rtt = self.now - one_way.sent;
        self.law.on_ack(&AckEvent {
            now: self.now,
            acked_bytes: count as u64 * MSS,
            delivered_bytes: count as u64 * MSS,
            delivered: self.snd_una,
            prior_in_flight,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            rtt: Some(rtt),
            may_grow: true,
            one_way: Some(one_way),
            ..AckEvent::default()
        });
        let waiting = (rtt.as_secs_f64() - 0.087) / SERVICE.as_secs_f64();
        self.log.push((self.now.as_secs_f64(), self.law.cwnd() / MSS, waiting));
    }
    /// Smallest and largest of W and of the queue after `from` seconds.
    pub(super) fn settled(&self, from: f64) -> ((u64, u64), (f64, f64)) {
        let tail: Vec<_> = self.log.iter().filter(|(t, ..)| *t > from).collect();
        let w = tail.iter().map(|(_, w, _)| *w);
        let q = tail.iter().map(|(.., q)| *q);
        ((w.clone().min().unwrap(), w.max().unwrap()), (q.clone().fold(f64::MAX, f64::min), q.fold(0.0, f64::max)))
    }
}
