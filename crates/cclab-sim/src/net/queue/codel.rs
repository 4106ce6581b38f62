//! Controlled Delay: Nichols, Jacobson, McGregor & Iyengar, RFC 8289 (after *Controlling Queue Delay*, ACM Queue 2012).
//!
//! With ECN as in Linux (`codel_impl.h`): a packet that is marked instead of dropped is sent, and no other is looked at.

use super::field::{Domain, Field, PERIOD, Params};
use super::{Around, ECN, Entry, FIFO, Fifo, Kind, LIMIT, Ledger, Parameters, Queue, Refusal, Scheduler, View};
use crate::net::Reason;
use crate::wire::Packet;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};
use std::cmp::Ordering;

/// CoDel in the registry; its values are those of RFC 8289 §4.4.
pub const ENTRY: Entry = Entry {
    name: "codel",
    summary: "controlled delay: drops ever faster while packets wait longer than the target",
    source: "RFC 8289",
    fields: &[LIMIT, TARGET, INTERVAL, MTU, ECN, CE_THRESHOLD],
    lane: FIFO,
    check: target_below_interval,
    build: |params, around| Queue::new(around.limit(params), Config::new(params, around)),
};

pub(super) const TARGET: Field =
    Field::time("target", Duration::from_millis(5), "acceptable standing delay in the queue").at_least(Duration(1));
pub(super) const INTERVAL: Field = Field::time(
    "interval",
    Duration::from_millis(100),
    "within it the delay must be below the target once: a worst-case RTT",
)
.at_least(PERIOD);
pub(super) const MTU: Field = Field::optional(
    "mtu",
    Domain::SIZE,
    "auto",
    "bytes that may always wait; the largest packet of the link's flows unless given",
);
pub(super) const CE_THRESHOLD: Field = Field::optional(
    "ce_threshold",
    Domain::TIME,
    "off",
    "packets that know ECN and waited longer than this are marked anyway",
);

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Acceptable standing delay in the queue.
    pub target: Duration,
    /// Time in which the delay must have been below the target once: a worst-case round trip.
    pub interval: Duration,
    /// Bytes that may always wait.
    pub mtu: u64,
    /// Packets of transports that know ECN are marked instead of dropped.
    pub ecn: bool,
    /// Packets of such transports that waited longer than this are marked, whatever the law says (Linux).
    pub ce_threshold: Option<Duration>,
}

/// What [`Entry::check`] does for CoDel's fields.
pub(super) fn target_below_interval(params: &Params) -> Result<(), Refusal> {
    let order = params.compare("target", "interval");
    Refusal::when(order != Some(Ordering::Less), "target", "{target} is not below interval, {interval}")
}

impl Config {
    pub(super) fn new(params: &Params, around: &Around) -> Config {
        Config {
            target: params.get("target"),
            interval: params.get("interval"),
            mtu: params.get::<Option<u64>>("mtu").unwrap_or(around.packet),
            ecn: params.get("ecn"),
            ce_threshold: params.get("ce_threshold"),
        }
    }
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, _: Stream) -> Kind {
        Kind::Served(Box::new(Codel::new(*self)))
    }
}

/// When the law drops; one for each queue it rules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Law {
    /// The delay has been above the target for an interval at that time.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Law {
    /// The next packet of `queue`, after those that are dropped; `dodequeue` and `deque` of RFC 8289 §5.
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        queue: &mut Fifo,
        config: &Config,
        ledger: &mut Ledger,
    ) -> Option<(Time, Packet)> {
        let (mut next, mut above) = self.look(now, queue, config);
        let mut marked = false;
        if !above {
            self.dropping = false;
        } else if self.dropping {
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                marked = marks(&mut next, config, ledger);
                if marked {
                    self.drop_next = self.control_law(self.drop_next, config);
                    break;
                }
                (next, above) = self.drop(now, next, queue, config, ledger);
                if above {
                    self.drop_next = self.control_law(self.drop_next, config);
                } else {
                    self.dropping = false;
                }
            }
        } else {
            marked = marks(&mut next, config, ledger);
            if !marked {
                (next, _) = self.drop(now, next, queue, config, ledger);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            let lately = now.since(self.drop_next) < config.interval * 16;
            self.count = if delta > 1 && lately { delta } else { 1 };
            self.lastcount = self.count;
            self.drop_next = self.control_law(now, config);
        }
        if let Some((at, packet)) = &mut next
            && config.ce_threshold.is_some_and(|threshold| now.since(*at) > threshold)
            && packet.ecn != 0
            && !marked
        {
            ledger.mark(packet);
        }
        next
    }

    /// Takes a packet out; whether the delay has been above the target for an interval.
    fn look(&mut self, now: Time, queue: &mut Fifo, config: &Config) -> (Option<(Time, Packet)>, bool) {
        let next = queue.pop();
        let above = next.is_some_and(|(at, _)| now.since(at) >= config.target && queue.bytes() > config.mtu);
        if !above {
            self.first_above = None;
            return (next, false);
        }
        let first_above = *self.first_above.get_or_insert(now + config.interval);
        (next, now >= first_above)
    }

    fn drop(
        &mut self,
        now: Time,
        dropped: Option<(Time, Packet)>,
        queue: &mut Fifo,
        config: &Config,
        ledger: &mut Ledger,
    ) -> (Option<(Time, Packet)>, bool) {
        if let Some((_, packet)) = dropped {
            ledger.drop(packet, Reason::Early);
        }
        self.look(now, queue, config)
    }

    /// The interval shrinks with the square root of the number of drops, so that throughput falls linearly.
    fn control_law(&self, t: Time, config: &Config) -> Time {
        t + config.interval.mul_f64(1.0 / f64::from(self.count).sqrt())
    }
}

/// Marks the packet if it may be; whether it was.
fn marks(next: &mut Option<(Time, Packet)>, config: &Config, ledger: &mut Ledger) -> bool {
    match next {
        Some((_, packet)) if config.ecn && packet.ecn != 0 => {
            ledger.mark(packet);
            true
        }
        _ => false,
    }
}

/// CoDel over one first-in first-out queue.
pub struct Codel {
    config: Config,
    law: Law,
    queue: Fifo,
}

impl Codel {
    /// An empty queue.
    pub fn new(config: Config) -> Codel {
        Codel { config, law: Law::default(), queue: Fifo::default() }
    }
}

impl Scheduler for Codel {
    fn enqueue(&mut self, view: &View, packet: Packet, _: &mut Ledger) -> Result<(), Reason> {
        if view.full {
            return Err(Reason::Dropped);
        }
        self.queue.push(view.now, packet);
        Ok(())
    }

    fn dequeue(&mut self, view: &View, ledger: &mut Ledger) -> Option<(Time, Packet)> {
        self.law.dequeue(view.now, &mut self.queue, &self.config, ledger)
    }

    fn withdraw(&mut self, wanted: &mut dyn FnMut(&Packet) -> bool) {
        self.queue.withdraw(wanted);
    }

    fn each(&self, each: &mut dyn FnMut(&Packet)) {
        self.queue.each(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: Config = Config {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        mtu: 1500,
        ecn: true,
        ce_threshold: None,
    };

    /// A queue from which a packet is taken every 10 us and whose packets have waited `sojourn(t)`; when some were dropped or
    /// marked, in ms to the hundredth.
    struct Bench {
        law: Law,
        config: Config,
        ecn: u8,
        ledger: Ledger,
    }
    impl Bench {
        fn new(ecn: u8) -> Bench {
            Bench { law: Law::default(), config: CONFIG, ecn, ledger: Ledger::default() }
        }
        fn run(&mut self, from_us: u64, to_us: u64, sojourn: Duration) -> Vec<f64> {
            let mut times = Vec::new();
            for us in (from_us..to_us).step_by(10) {
                let now = Time(us * 1000);
                let mut queue = Fifo::default();
                for _ in 0..10 {
                    let mut packet = Packet::udp(0, now, 0, 1500);
                    packet.ecn = self.ecn;
                    queue.push(Time((now - sojourn).0), packet);
                }
                let before = self.ledger.dropped.len() as u64 + self.ledger.marks;
                assert!(self.law.dequeue(now, &mut queue, &self.config, &mut self.ledger).is_some());
                for _ in before..self.ledger.dropped.len() as u64 + self.ledger.marks {
                    times.push((us / 10) as f64 / 100.0);
                }
            }
            times
        }
    }
    const HIGH: Duration = Duration::from_millis(20);
    const LOW: Duration = Duration::from_millis(1);

    /// Above the target from 1 s on: the first drop after an interval, then 100 ms / √count apart.
    #[test]
    fn drops_come_faster_and_faster() {
        let expected = [100.0, 200.0, 270.71, 328.45, 378.45, 423.17, 463.99, 501.79, 537.14, 570.48, 602.10];
        for (ecn, marks) in [(0, 0), (2, 11)] {
            let mut bench = Bench::new(ecn);
            let times = bench.run(1_000_000, 1_610_000, HIGH);
            assert_eq!((times.len() as u64, bench.ledger.marks), (11, marks));
            // packets leave every 0.01 ms: a drop is late by that at most
            for (at, expected) in times.iter().zip(expected) {
                assert!((at - 1000.0 - expected).abs() < 0.021, "{at} is not 1000 + {expected}");
            }
        }
    }

    /// Below the target at 300 ms, above it again from 310 ms: the next drop at 410 ms. The count was 3 and starts again at
    /// 3 - 1 = 2, so the one after comes 70.71 ms later.
    #[test]
    fn a_short_dip_does_not_forget_the_count() {
        let mut bench = Bench::new(0);
        bench.run(1_000_000, 1_300_000, HIGH);
        assert_eq!((bench.law.count, bench.law.lastcount), (3, 1));
        bench.run(1_300_000, 1_310_000, LOW);
        assert!(!bench.law.dropping);
        let times = bench.run(1_310_000, 1_500_000, HIGH);
        assert_eq!(times.len(), 2);
        assert!((times[0] - 1410.0).abs() < 0.011 && (times[1] - 1480.71).abs() < 0.021, "{times:?}");
        // after a dip of more than 16 intervals it does
        bench.run(1_500_000, 3_200_000, LOW);
        let times = bench.run(3_200_000, 3_450_000, HIGH);
        assert!((times[1] - times[0] - 100.0).abs() < 0.021, "{times:?}");
    }

    /// The last packet's worth never counts as a standing queue, however long it waited.
    #[test]
    fn a_slow_link_may_keep_one_packet() {
        let mut law = Law::default();
        let mut ledger = Ledger::default();
        for ms in (0..10_000).step_by(100) {
            let mut queue = Fifo::default();
            (0..2).for_each(|_| queue.push(Time(ms * 1_000_000), Packet::udp(0, Time::ZERO, 0, 1500)));
            law.dequeue(Time((ms + 90) * 1_000_000), &mut queue, &CONFIG, &mut ledger);
        }
        assert!(ledger.dropped.is_empty());
    }

    #[test]
    fn the_threshold_of_linux_marks_what_waited_longer() {
        let mut bench = Bench::new(1);
        bench.config.ce_threshold = Some(Duration::from_millis(2));
        bench.run(1_000_000, 1_000_100, LOW);
        assert_eq!(bench.ledger.marks, 0);
        bench.run(1_000_100, 1_000_200, Duration::from_millis(3));
        assert_eq!(bench.ledger.marks, 10);
        // a packet that the law marks too is counted once: 30,000 leave in 300 ms, of which the law would have marked 3
        bench.run(1_000_200, 1_300_200, HIGH);
        assert!(bench.law.dropping && bench.law.count == 3);
        assert_eq!(bench.ledger.marks, 30_010);
    }
}
