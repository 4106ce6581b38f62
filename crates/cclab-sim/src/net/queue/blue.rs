//! BLUE: Feng, Kandlur, Saha & Shin, *The BLUE Active Queue Management Algorithms*, IEEE/ACM ToN 10(4), 2002; first U.
//! Michigan CSE-TR-387-99, 1999.
//!
//! Not the length of the queue says how congested a link is, but packets that find no room and a transmitter without work.

use super::field::{Amount, Domain, Field};
use super::{Discipline, ECN, Entry, FIFO, Kind, LIMIT, Limit, Parameters, Queue, Refusal, Verdict, View};
use crate::wire::Packet;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};
use std::cmp::Ordering;

/// BLUE in the registry; its values are those of the model for ns-3, after the authors' own for ns-1.1.
pub const ENTRY: Entry = Entry {
    name: "blue",
    summary: "a probability of signals that rises when packets are lost and falls when the link is idle",
    source: "Feng, Kandlur, Saha, Shin, ToN 2002",
    fields: &[
        Field::amount("limit", Amount::BDP, LIMIT.doc).or("unlimited"),
        Field::probability("d1", 0.0025, "by how much the probability rises when a packet finds no room"),
        Field::probability("d2", 0.00025, "by how much it falls when the link is idle"),
        Field::time("freeze_time", Duration::from_millis(100), "it moves again only after more than this"),
        Field::optional("threshold", Domain::Amount, "off", "L: more than this waiting is as bad as no room"),
        ECN,
    ],
    lane: FIFO,
    check: |params| {
        let beyond = params.compare("threshold", "limit").is_some_and(Ordering::is_ge);
        Refusal::when(beyond, "threshold", "{threshold} is not below limit, {limit}: it would never be passed")
    },
    build: |params, around| {
        let config = Config {
            d1: params.get("d1"),
            d2: params.get("d2"),
            freeze_time: params.get("freeze_time"),
            threshold: params.get::<Option<Amount>>("threshold").map(|threshold| around.resolve(threshold)),
            ecn: params.get("ecn"),
        };
        Queue::new(around.limit(params), config)
    },
};

/// Parameters of BLUE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// By how much the probability rises when a packet finds no room.
    pub d1: f64,
    /// By how much it falls when the link is idle.
    pub d2: f64,
    /// It moves again only after more than this.
    pub freeze_time: Duration,
    /// L: more than this waiting is as bad as no room.
    pub threshold: Option<Limit>,
    /// Packets of transports that know ECN are marked instead of dropped.
    pub ecn: bool,
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, rng: Stream) -> Kind {
        Kind::Arrival(Box::new(Blue::new(*self, rng)))
    }
}

/// BLUE at work.
pub struct Blue {
    config: Config,
    rng: Stream,
    /// p_m.
    p: f64,
    /// When it last moved; never at first, so that the time of day does not matter.
    last_update: Option<Time>,
}

impl Blue {
    /// It signals nothing yet.
    pub fn new(config: Config, rng: Stream) -> Blue {
        Blue { config, rng, p: 0.0, last_update: None }
    }

    /// Moves p_m, unless it has moved lately.
    fn update(&mut self, at: Time, by: f64) {
        if self.last_update.is_none_or(|last| at.since(last) > self.config.freeze_time) {
            self.p = (self.p + by).clamp(0.0, 1.0);
            self.last_update = Some(at);
        }
    }
}

impl Discipline for Blue {
    fn enqueue(&mut self, view: &View, packet: &mut Packet) -> Verdict {
        if view.free_at < view.now && self.last_update.is_some() {
            self.update(view.free_at, -self.config.d2); // since then the link has been idle
        }
        let long = match self.config.threshold {
            Some(Limit::Packets(l)) => view.packets > l,
            Some(Limit::Bytes(l)) => view.bytes > l,
            None => false,
        };
        if view.full || long {
            self.update(view.now, self.config.d1);
        }
        if view.full || !self.rng.chance(self.p) {
            return Verdict::Pass; // the link drops what finds no room
        }
        Verdict::signal(self.config.ecn, packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::Rate;

    const CONFIG: Config =
        Config { d1: 0.02, d2: 0.002, freeze_time: Duration::from_millis(100), threshold: None, ecn: true };

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }
    /// A packet arrives while `packets` wait and the transmitter is busy until `free_at`.
    fn arrive(blue: &mut Blue, now: Time, free_at: Time, packets: u64, full: bool) -> Verdict {
        let view = View { now, packets, bytes: packets * 1500, free_at, rate: Some(Rate(12_000_000)), full };
        blue.enqueue(&view, &mut Packet::udp(0, now, 0, 1500))
    }

    /// Up by d1 with each loss and down by d2 with each idle time, once in more than the freeze time.
    #[test]
    fn losses_raise_it_and_idle_time_lowers_it() {
        let mut blue = Blue::new(CONFIG, Stream::new(1, "blue"));
        let lost = |blue: &mut Blue, at| arrive(blue, ms(at), ms(at + 50), 50, true);
        for (at, p) in [(50, 0.02), (51, 0.02), (149, 0.02), (150, 0.02), (151, 0.04), (303, 0.06)] {
            assert_eq!(lost(&mut blue, at), Verdict::Pass, "it is the link's to drop");
            assert!((blue.p - p).abs() < 1e-12, "{} at {at} ms", blue.p);
        }
        // idle from 390 ms on: too early; from 450 ms on, seen at 900: that is when it moved
        for (free_at, now, p) in [(390, 399, 0.06), (450, 900, 0.058), (550, 950, 0.058), (551, 951, 0.056)] {
            arrive(&mut blue, ms(now), ms(free_at), 0, false);
            assert!((blue.p - p).abs() < 1e-12, "{} at {now} ms", blue.p);
        }
    }

    #[test]
    fn it_stays_a_probability() {
        let mut blue = Blue::new(Config { d1: 0.7, d2: 0.7, ..CONFIG }, Stream::new(1, "blue"));
        let p = |blue: &mut Blue, at, full| {
            arrive(blue, ms(at), ms(if full { at + 1 } else { at - 1 }), 0, full);
            blue.p
        };
        assert_eq!([p(&mut blue, 200, true), p(&mut blue, 400, true)], [0.7, 1.0]);
        assert!((p(&mut blue, 600, false) - 0.3).abs() < 1e-12);
        assert_eq!(p(&mut blue, 800, false), 0.0);
    }

    /// With L the queue need not overflow.
    #[test]
    fn a_long_queue_raises_it_too() {
        for (threshold, packets, p) in [
            (None, 31, 0.0),
            (Some(Limit::Packets(30)), 30, 0.0),
            (Some(Limit::Packets(30)), 31, 0.02),
            (Some(Limit::Bytes(45_000)), 30, 0.0),
            (Some(Limit::Bytes(45_000)), 31, 0.02),
        ] {
            let mut blue = Blue::new(Config { threshold, ..CONFIG }, Stream::new(1, "blue"));
            arrive(&mut blue, ms(200), ms(231), packets, false);
            assert_eq!(blue.p, p, "{threshold:?}, {packets}");
        }
    }

    /// Of 10,000 packets at p = 0.1 about 1000 are signalled: sd 30, five of them. ECT is marked, the rest dropped.
    #[test]
    fn signals_come_with_that_probability() {
        for (ecn, codepoint, expected) in
            [(true, 2, Verdict::Mark), (true, 0, Verdict::Drop), (false, 2, Verdict::Drop)]
        {
            let mut blue = Blue { p: 0.1, ..Blue::new(Config { ecn, ..CONFIG }, Stream::new(1, "blue")) };
            let view = View { now: Time(1), packets: 9, bytes: 0, free_at: Time(2), rate: None, full: false };
            let mut packet = Packet::udp(0, Time(1), 0, 1500);
            packet.ecn = codepoint;
            let verdicts: Vec<Verdict> = (0..10_000).map(|_| blue.enqueue(&view, &mut packet)).collect();
            let signals = verdicts.iter().filter(|&&verdict| verdict == expected).count();
            assert!(signals.abs_diff(1000) < 150, "{signals}");
            assert!(verdicts.iter().all(|&verdict| verdict == expected || verdict == Verdict::Pass));
        }
    }
}
