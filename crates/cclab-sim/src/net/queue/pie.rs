//! Proportional Integral controller Enhanced: Pan, Natarajan, Baker & White, RFC 8033.
//!
//! What Linux (`sch_pie.c`) has besides is under `linux`.

use super::field::{Domain, Field, PERIOD, Params, Value};
use super::{Around, ECN, Entry, FIFO, FREE, Fifo, Kind, LIMIT, Ledger, Parameters, Queue, Scheduler, View};
use crate::net::Reason;
use crate::wire::Packet;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};

/// PIE in the registry; its values are those of RFC 8033 §4.
pub const ENTRY: Entry = Entry {
    name: "pie",
    summary: "a proportional-integral controller keeps the delay at its target by random drops",
    source: "RFC 8033",
    fields: &[
        LIMIT,
        Field::time("target", Duration::from_millis(15), "delay to be kept")
            .at_least(Duration(1))
            .also(&["QDELAY_REF"]),
        Field::time("interval", Duration::from_millis(15), "time between updates of the probability")
            .at_least(PERIOD)
            .also(&["T_UPDATE", "tupdate"]),
        Field::time("burst", Duration::from_millis(150), "nothing is dropped for so long after a calm time")
            .also(&["MAX_BURST"]),
        Field::number("alpha", 0.125, GAIN, "gain of the deviation from the target, 1/s"),
        Field::number("beta", 1.25, GAIN, "gain of the change since the last update, 1/s"),
        Field::choice(
            "estimator",
            &["timestamp", "rate"],
            "how the delay is found: as packets waited, or backlog over rate",
        ),
        DERANDOMISE,
        Field::choice("flavour", &["paper", "linux"], "linux: 2 % more above 250 ms, decay by 1/64"),
        ECN,
        Field::probability("ecn_limit", 0.1, "from this probability on packets are dropped all the same"),
        Field::optional(
            "packet_size",
            Domain::SIZE,
            "auto",
            "bytes of a mean packet; the largest of the link's flows unless given",
        )
        .also(&["MEAN_PKTSIZE"]),
    ],
    lane: FIFO,
    check: FREE,
    build: |params, around| Queue::new(around.limit(params), Config::new(params, around)),
};

const DERANDOMISE: Field = Field::flag(
    "derandomise",
    false,
    "drops keep a distance from each other; true for the flavour linux",
)
.unless("flavour", Value::Word("linux"), Value::Flag(true));
/// What a gain may be; DualPI2's too.
pub(super) const GAIN: (f64, f64) = (0.0, 1000.0);

/// Bytes of a measurement of the departure rate (RFC 8033 §5.2).
const DQ_THRESHOLD: u64 = 16_384;
/// Weight of a measurement: the threshold over 2¹⁶.
const DQ_WEIGHT: f64 = DQ_THRESHOLD as f64 / 65_536.0;

/// How the delay in the queue is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// From the time that the last packet sent has waited.
    Timestamp,
    /// Backlog over the measured departure rate (RFC 8033 §5.2).
    Rate,
}

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Delay to be kept, QDELAY_REF.
    pub target: Duration,
    /// Time between updates of the probability, T_UPDATE.
    pub interval: Duration,
    /// Nothing is dropped for so long after an idle time, MAX_BURST.
    pub burst: Duration,
    /// Gain of the deviation from the target, 1/s.
    pub alpha: f64,
    /// Gain of the change since the last update, 1/s.
    pub beta: f64,
    /// How the delay is found.
    pub estimator: Estimator,
    /// Drops keep a distance from each other (RFC 8033 §5.4).
    pub derandomise: bool,
    /// As in Linux: 2 % more while the delay is above 250 ms; an idle queue's probability decays by 1/64 instead of 2 %.
    pub linux: bool,
    /// Packets of transports that know ECN are marked instead of dropped …
    pub ecn: bool,
    /// … while the probability is below this.
    pub ecn_limit: f64,
    /// Bytes of a packet of mean size.
    pub mean_packet: u64,
}

impl Config {
    fn new(params: &Params, around: &Around) -> Config {
        Config {
            target: params.get("target"),
            interval: params.get("interval"),
            burst: params.get("burst"),
            alpha: params.get("alpha"),
            beta: params.get("beta"),
            estimator: match params.get("estimator") {
                "rate" => Estimator::Rate,
                _ => Estimator::Timestamp,
            },
            derandomise: params.get("derandomise"),
            linux: params.get::<&str>("flavour") == "linux",
            ecn: params.get("ecn"),
            ecn_limit: params.get("ecn_limit"),
            mean_packet: params.get::<Option<u64>>("packet_size").unwrap_or(around.packet),
        }
    }
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, rng: Stream) -> Kind {
        Kind::Served(Box::new(Pie::new(*self, rng)))
    }
}

/// PIE at work.
pub struct Pie {
    config: Config,
    rng: Stream,
    queue: Fifo,
    law: Law,
    rate: DepartureRate,
    /// How long the last packet sent had waited; zero once nothing waits.
    waited: Duration,
    next_timer: Time,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Law {
    prob: f64,
    /// Delay at the last update.
    delay: Duration,
    burst: Duration,
    /// Sum of the probabilities since the last drop.
    accumulated: f64,
}

/// Time in which DQ_THRESHOLD bytes leave.
#[derive(Clone, Copy, Debug, Default)]
struct DepartureRate {
    /// Start of a measurement and bytes since.
    measuring: Option<(Time, u64)>,
    /// Average, s.
    average: Option<f64>,
}

impl DepartureRate {
    /// A packet of `size` bytes leaves `bytes` behind. The one that starts a measurement counts, as in the RFC, so that
    /// n packets take the time of n - 1.
    fn on_departure(&mut self, now: Time, bytes: u64, size: u32) {
        if self.measuring.is_none() && bytes + u64::from(size) >= DQ_THRESHOLD {
            self.measuring = Some((now, 0));
        }
        let Some((start, count)) = &mut self.measuring else { return };
        *count += u64::from(size);
        if *count >= DQ_THRESHOLD {
            let took = now.since(*start).as_secs_f64();
            self.average = Some(self.average.map_or(took, |average| DQ_WEIGHT * took + (1.0 - DQ_WEIGHT) * average));
            self.measuring = None;
        }
    }
}

impl Law {
    fn new(config: &Config) -> Law {
        Law { prob: 0.0, delay: Duration::ZERO, burst: config.burst, accumulated: 0.0 }
    }

    /// The probability after another `T_UPDATE` (RFC 8033 §4.2).
    fn update(&mut self, delay: Duration, config: &Config) {
        let (now, old, target) = (delay.as_secs_f64(), self.delay.as_secs_f64(), config.target.as_secs_f64());
        let scale = match self.prob {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 1e-1 => 2.0,
            _ => 1.0,
        };
        let mut step = (config.alpha * (now - target) + config.beta * (now - old)) / scale;
        if self.prob >= 0.1 {
            step = step.min(0.02);
        }
        if config.linux && delay > Duration::from_millis(250) {
            step += 0.02;
        }
        self.prob += step;
        if delay == Duration::ZERO && self.delay == Duration::ZERO {
            self.prob *= if config.linux { 1.0 - 1.0 / 64.0 } else { 0.98 };
        }
        self.prob = self.prob.clamp(0.0, 1.0);
        self.burst = self.burst.saturating_sub(config.interval);
        let calm = |delay: Duration| delay < config.target / 2;
        if self.prob == 0.0 && calm(delay) && calm(self.delay) {
            self.burst = config.burst;
        }
        self.delay = delay;
    }

    /// Whether an arriving packet is to be signalled while `bytes` wait (RFC 8033 §4.1).
    fn signals(&mut self, bytes: u64, rng: &mut Stream, config: &Config) -> bool {
        if self.burst > Duration::ZERO
            || (self.delay < config.target / 2 && self.prob < 0.2)
            || bytes <= 2 * config.mean_packet
        {
            return false;
        }
        let mut signals = rng.chance(self.prob);
        if config.derandomise {
            self.accumulated = if self.prob == 0.0 { 0.0 } else { self.accumulated + self.prob };
            signals = self.accumulated >= 8.5 || (self.accumulated >= 0.85 && signals);
        }
        if signals {
            self.accumulated = 0.0;
        }
        signals
    }
}

impl Pie {
    /// An empty queue.
    pub fn new(config: Config, rng: Stream) -> Pie {
        Pie {
            config,
            rng,
            queue: Fifo::default(),
            law: Law::new(&config),
            rate: DepartureRate::default(),
            waited: Duration::ZERO,
            next_timer: Time::ZERO + config.interval,
        }
    }

    /// The delay in the queue.
    fn delay(&self) -> Duration {
        match self.config.estimator {
            Estimator::Timestamp => self.waited,
            Estimator::Rate => {
                let time = self.rate.average.unwrap_or(0.0);
                Duration::from_secs_f64(self.queue.bytes() as f64 * time / DQ_THRESHOLD as f64)
            }
        }
    }
}

impl Scheduler for Pie {
    fn enqueue(&mut self, view: &View, mut packet: Packet, ledger: &mut Ledger) -> Result<(), Reason> {
        if view.full {
            self.law.accumulated = 0.0;
            return Err(Reason::Dropped);
        }
        if self.law.signals(self.queue.bytes(), &mut self.rng, &self.config) {
            if !self.config.ecn || packet.ecn == 0 || self.law.prob >= self.config.ecn_limit {
                return Err(Reason::Early);
            }
            ledger.mark(&mut packet);
        }
        self.queue.push(view.now, packet);
        Ok(())
    }

    fn dequeue(&mut self, view: &View, _: &mut Ledger) -> Option<(Time, Packet)> {
        let next = self.queue.pop();
        self.waited = match next {
            Some((at, _)) if self.queue.bytes() > 0 => view.now.since(at),
            _ => Duration::ZERO,
        };
        let (_, packet) = next?;
        self.rate.on_departure(view.now, self.queue.bytes(), packet.size);
        next
    }

    fn withdraw(&mut self, wanted: &mut dyn FnMut(&Packet) -> bool) {
        self.queue.withdraw(wanted);
    }

    fn each(&self, each: &mut dyn FnMut(&Packet)) {
        self.queue.each(each);
    }

    fn next_timer(&self) -> Time {
        self.next_timer
    }

    fn on_timer(&mut self, view: &View) {
        self.next_timer = view.now + self.config.interval;
        self.law.update(self.delay(), &self.config);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: Config = Config {
        target: Duration::from_millis(15),
        interval: Duration::from_millis(15),
        burst: Duration::from_millis(150),
        alpha: 0.125,
        beta: 1.25,
        estimator: Estimator::Timestamp,
        derandomise: false,
        linux: false,
        ecn: true,
        ecn_limit: 0.1,
        mean_packet: 1500,
    };
    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }
    fn law(prob: f64, delay: Duration) -> Law {
        Law { prob, delay, ..Law::new(&CONFIG) }
    }
    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-4 * b.abs() + 1e-12, "{a} is not {b}");
    }

    #[test]
    fn updates_of_the_probability() {
        for (prob, delay, old, expected) in [
            (0.0, 30, 0, 1.9226e-5),
            (0.0, 30, 30, 9.155e-7),
            (0.005, 20, 15, 0.005_859_4),
            (0.05, 20, 18, 0.051_562_5),
            (0.2, 10, 12, 0.196_875),
            // a step of more than 2 % is cut once the probability is 10 %
            (0.2, 115, 15, 0.22),
            (0.0, 0, 15, 0.0),
            (0.99, 1000, 0, 1.0),
        ] {
            let mut law = law(prob, ms(old));
            law.update(ms(delay), &CONFIG);
            near(law.prob, expected);
            assert_eq!(law.delay, ms(delay));
        }
    }

    #[test]
    fn an_idle_queue_forgets_and_linux_differs() {
        for (linux, share, more) in [(false, 0.98, 0.0), (true, 63.0 / 64.0, 0.02)] {
            let config = Config { linux, ..CONFIG };
            let mut idle = law(0.5, Duration::ZERO);
            idle.update(Duration::ZERO, &config);
            near(idle.prob, (0.5 - 0.125 * 0.015) * share);
            let mut long = law(0.05, ms(300));
            long.update(ms(300), &config);
            near(long.prob, 0.05 + 0.125 * 0.285 / 2.0 + more);
        }
    }

    #[test]
    fn a_burst_passes_after_a_calm_time() {
        let mut law = law(0.5, ms(30));
        let mut rng = Stream::new(1, "pie");
        assert!((0..1000).all(|_| !law.signals(100_000, &mut rng, &CONFIG)));
        for _ in 0..10 {
            law.update(ms(30), &CONFIG);
        }
        assert_eq!(law.burst, Duration::ZERO);
        assert!((0..1000).any(|_| law.signals(100_000, &mut rng, &CONFIG)));
        // two packets may always wait, and a short queue is left alone at a low probability
        assert!((0..1000).all(|_| !law.signals(3000, &mut rng, &CONFIG)));
        (law.prob, law.delay) = (0.19, ms(7));
        assert!((0..1000).all(|_| !law.signals(100_000, &mut rng, &CONFIG)));
        (law.prob, law.delay) = (0.0, ms(5));
        law.update(ms(5), &CONFIG);
        assert_eq!(law.burst, ms(150));
    }

    /// Without chance to spare: no drop before the probabilities add up to 0.85, one at 8.5 at the latest.
    #[test]
    fn drops_keep_their_distance() {
        let config = Config { derandomise: true, ..CONFIG };
        let mut law = Law { burst: Duration::ZERO, ..law(0.01, ms(30)) };
        let (mut rng, mut gap, mut gaps) = (Stream::new(1, "pie"), 0, Vec::new());
        for _ in 0..1_000_000 {
            gap += 1;
            if law.signals(100_000, &mut rng, &config) {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps.iter().all(|gap| (85..=851).contains(gap)), "{:?}", (gaps.iter().min(), gaps.iter().max()));
        // 84 packets and a geometric wait of mean 100
        let mean = gaps.iter().sum::<i32>() as f64 / gaps.len() as f64;
        assert!((mean - 184.0).abs() < 7.0, "{mean}");
    }

    /// 1500 bytes each millisecond: the eleventh makes more than 16,384, 10 ms after the first.
    #[test]
    fn the_departure_rate() {
        let mut rate = DepartureRate::default();
        for n in 0..99 {
            rate.on_departure(Time(n * 1_000_000), 30_000, 1500);
        }
        near(rate.average.expect("measured"), 0.010);
        // a shorter queue is not measured, and the average is kept
        let before = rate.average;
        (100..200).for_each(|n| rate.on_departure(Time(n * 2_000_000), 10_000, 1500));
        assert_eq!((rate.average, rate.measuring.map(|(_, bytes)| bytes < DQ_THRESHOLD)), (before, None));
    }

    #[test]
    fn above_ten_percent_ecn_does_not_save_a_packet() {
        for (prob, ecn, expected) in [(0.09, 2, Ok(())), (0.11, 2, Err(Reason::Early)), (0.09, 0, Err(Reason::Early))] {
            let mut pie = Pie::new(Config { derandomise: true, ..CONFIG }, Stream::new(1, "pie"));
            let mut ledger = Ledger::default();
            let view = View { now: Time(1), packets: 9, bytes: 0, free_at: Time(2), rate: None, full: false };
            (0..9).for_each(|n| pie.enqueue(&view, Packet::udp(0, Time(1), n, 1500), &mut ledger).expect("room"));
            pie.law = Law { prob, delay: ms(30), burst: Duration::ZERO, accumulated: 9.0 };
            let mut packet = Packet::udp(0, Time(1), 9, 1500);
            packet.ecn = ecn;
            assert_eq!(pie.enqueue(&view, packet, &mut ledger), expected);
            assert_eq!(ledger.marks, u64::from(expected.is_ok()));
        }
    }
}
