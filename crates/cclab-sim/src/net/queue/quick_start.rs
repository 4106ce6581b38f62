//! Quick-Start's router: RFC 4782 §3.3 and appendix E.

use super::field::Field;
use super::{Discipline, Entry, FIFO, FREE, Kind, LIMIT, Parameters, Queue, Verdict, View};
use crate::wire::quick_start::{code_of, nonce_mask, rate_of};
use crate::wire::{Feedback, Packet};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};

/// Quick-Start's router in the registry.
pub const ENTRY: Entry = Entry {
    name: "quick-start",
    summary: "drop-tail beside a router that approves Quick-Start requests",
    source: "RFC 4782",
    fields: &[LIMIT, Field::probability("threshold", 0.9, "share of the link's rate up to which it approves")],
    lane: FIFO,
    check: FREE,
    build: |params, around| Queue::new(around.limit(params), Config { threshold: params.get("threshold") }),
};

/// Parameters of the router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Up to this share of the link's rate requests are approved.
    pub threshold: f64,
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, rng: Stream) -> Kind {
        Kind::Arrival(Box::new(QuickStart::new(*self, rng)))
    }
}

/// Length of the slots in which rates are counted (appendix E).
const SLOT: Duration = Duration::from_millis(150);
/// The utilisation is the highest of so many slots (appendix E: 3 to 20).
const SLOTS: usize = 5;

/// A Quick-Start router beside a drop-tail queue.
pub struct QuickStart {
    config: Config,
    rng: Stream,
    /// When the current slot began.
    begun: Time,
    /// Bits that arrived in each of the last slots, the current one first.
    arrived: [f64; SLOTS],
    /// Rates approved in the current slot and in the one before.
    approved: [f64; 2],
}

impl QuickStart {
    /// This router; it draws nonces from `rng`.
    pub fn new(config: Config, rng: Stream) -> QuickStart {
        QuickStart { config, rng, begun: Time::ZERO, arrived: [0.0; SLOTS], approved: [0.0; 2] }
    }

    /// Begins the slots that `now` is past.
    fn move_on(&mut self, now: Time) {
        let past = (now.since(self.begun).0 / SLOT.0) as usize;
        for _ in 0..past.min(SLOTS) {
            self.arrived.copy_within(..SLOTS - 1, 1);
            self.arrived[0] = 0.0;
            self.approved = [0.0, self.approved[0]];
        }
        self.begun += SLOT * past as u64;
    }

    /// What may be approved of a link of `rate` bit/s.
    fn room(&self, rate: f64) -> f64 {
        let used = self.arrived.iter().fold(0.0, |max: f64, bits| max.max(*bits)) / SLOT.as_secs_f64();
        self.config.threshold * rate - used.min(rate) - self.approved[0] - self.approved[1]
    }
}

impl Discipline for QuickStart {
    fn enqueue(&mut self, view: &View, packet: &mut Packet) -> Verdict {
        self.move_on(view.now);
        let room = view.rate.map_or(f64::INFINITY, |rate| self.room(rate.as_bps_f64()));
        if let Some(Feedback::QuickStart { rate, ttl, nonce }) = packet.asked() {
            *ttl = ttl.wrapping_sub(1); // as the router's IP layer does: no difference
            let granted = (*rate).min(code_of(room));
            if granted < *rate {
                let kept = nonce_mask(granted);
                let fresh = self.rng.below(1 << 30) as u32;
                *nonce = (*nonce & kept) | (fresh & !kept & nonce_mask(15));
                *rate = granted;
            }
            self.approved[0] += rate_of(granted);
        }
        self.arrived[0] += f64::from(packet.size) * 8.0;
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Flags, Segment};
    use cclab_algo::Rate;

    /// Of 10 Mbit/s with 4 in use a threshold of 0.95 leaves 5.5: a request for 10.24 gets 5.12, the next one 0.32, and a
    /// slot and a bit later 0 less than before. What is lowered loses the bits of its nonce, and only those.
    #[test]
    fn what_is_free_is_approved_once() {
        let mut router = QuickStart::new(Config { threshold: 0.95 }, Stream::new(1, "test"));
        let view = |now| View { now, packets: 0, bytes: 0, free_at: now, rate: Some(Rate(10_000_000)), full: false };
        let ask = |router: &mut QuickStart, now| {
            let feedback = Feedback::QuickStart { rate: 8, ttl: 1, nonce: 0x2aaa_aaaa };
            let mut syn = Packet::tcp(0, true, now, &Segment { flags: Flags::SYN, feedback, ..Segment::default() });
            syn.size = 0;
            router.enqueue(&view(now), &mut syn);
            let Some(&mut Feedback::QuickStart { rate, ttl: 0, nonce }) = syn.asked() else { panic!("no header") };
            let kept = nonce_mask(rate);
            assert!(nonce & kept == 0x2aaa_aaaa & kept && (rate == 8 || nonce & !kept != 0x2aaa_aaaa & !kept));
            rate
        };
        let mut data = Packet::udp(0, Time(1), 0, 1500);
        let mut now = Time(1);
        for _ in 0..50 {
            router.enqueue(&view(now), &mut data); // 50 in 150 ms: 4 Mbit/s
            now += Duration::from_micros(2_999);
        }
        assert_eq!([ask(&mut router, now), ask(&mut router, now), ask(&mut router, now)], [7, 3, 0]);
        assert_eq!(ask(&mut router, now + SLOT), 0, "still held for them");
        assert_eq!(ask(&mut router, now + SLOT * 2), 7, "nobody came");
        assert_eq!(ask(&mut router, now + SLOT * 20), 7, "the link is idle, but 10.24 are above 9.5");
    }
}
