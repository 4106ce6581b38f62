//! Random Early Detection: Floyd & Jacobson, *Random Early Detection Gateways for Congestion Avoidance*, IEEE/ACM ToN 1(4),
//! 1993; gentle: Floyd 2000; adaptive: Floyd, Gummadi & Shenker, *Adaptive RED*, 2001.

use super::field::{Amount, Domain, Field, Params, Value};
use super::{Around, Discipline, ECN, Entry, FIFO, Kind, LIMIT, Limit, Parameters, Queue, Refusal, Verdict, View};
use crate::wire::Packet;
use cclab_algo::math::{exp, pow};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};
use std::cmp::Ordering;

/// RED in the registry. Unless told, it is that of ns-2 and ns-3; adaptive RED finds its thresholds and weight itself.
pub const ENTRY: Entry = Entry {
    name: "red",
    summary: "random early detection: signals rise with the average queue; gentle, adaptive",
    source: "Floyd & Jacobson, ToN 1993",
    fields: &[
        LIMIT,
        automatic(Field::amount("min", Amount::Packets(5), "average below which nothing is signalled, or \"auto\""))
            .also(&["min_th", "minth"]),
        automatic(Field::amount(
            "max",
            Amount::Packets(15),
            "average at which max_p is reached, or \"auto\": three times min",
        ))
        .also(&["max_th", "maxth"]),
        automatic(Field::probability("weight", 0.002, "weight of a sample in the average, or \"auto\""))
            .also(&["w_q", "q_weight"]),
        Field::probability("max_p", 0.02, "probability of a signal just below max"),
        Field::flag("gentle", true, "from max to twice that the probability rises to 1 instead of jumping"),
        Field::flag("wait", true, "no signal before 1/p packets after the last"),
        Field::flag("adaptive", false, "max_p follows the average; min, max and weight are \"auto\" unless given"),
        Field::flag("by_size", false, "the probability is proportional to a packet's size"),
        Field::optional(
            "packet_size",
            Domain::SIZE,
            "auto",
            "bytes of a mean packet; the largest of the link's flows unless given",
        ),
        ECN,
        Field::flag("hard_drop", false, "where the probability is 1, ECN does not save a packet"),
    ],
    lane: FIFO,
    check,
    build: |params, around| Queue::new(around.limit(params), Config::new(params, around)),
};

/// Thresholds are measured alike and in order, and within the limit.
fn check(params: &Params) -> Result<(), Refusal> {
    let [min, max] = ["min", "max"].map(|name| params.get::<Option<Amount>>(name).map(Amount::in_bytes));
    let message = "is not measured as min is: write both in packets or BDP, or both in bytes or time (an automatic min \
                   is in packets)";
    Refusal::when(max.is_some_and(|max| max != (min == Some(true))), "max", message)?;
    let below = params.compare("max", "min") == Some(Ordering::Less);
    Refusal::when(below, "max", "{max} is below min, {min}")?;
    let beyond = |name| params.compare(name, "limit") == Some(Ordering::Greater);
    Refusal::when(beyond("min"), "min", "{min} is beyond limit, {limit}: nothing would ever be signalled")?;
    Refusal::when(beyond("max"), "max", "{max} is beyond limit, {limit}")
}

/// A field that adaptive RED fills in.
const fn automatic(field: Field) -> Field {
    field.or("auto").unless("adaptive", Value::Flag(true), Value::Word("auto"))
}

/// Half of this is how long an automatic lower threshold makes packets wait (2001, §4).
const TARGET: Duration = Duration::from_millis(5);
/// How often adaptive RED moves its maximum probability (2001, §3).
const INTERVAL: Duration = Duration::from_millis(500);
/// Where it keeps it.
const MAX_P: (f64, f64) = (0.01, 0.5);
/// How fast: up by this, at most by a quarter; down to this share.
const UP: f64 = 0.01;
const DOWN: f64 = 0.9;

/// Parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Whether the queue is averaged in bytes instead of packets.
    pub in_bytes: bool,
    /// Average below which nothing is signalled, packets or bytes.
    pub min: f64,
    /// Average at which `max_p` is reached, packets or bytes.
    pub max: f64,
    /// Weight of a sample in the average.
    pub weight: f64,
    /// Probability of a signal just below `max`.
    pub max_p: f64,
    /// From `max` to twice that the probability rises to 1 instead of jumping there.
    pub gentle: bool,
    /// No signal before 1/p packets after the last.
    pub wait: bool,
    /// `max_p` follows the average.
    pub adaptive: bool,
    /// The probability is proportional to a packet's size.
    pub by_size: bool,
    /// Bytes of a packet of mean size.
    pub mean_packet: f64,
    /// Packets of transports that know ECN are marked instead of dropped.
    pub ecn: bool,
    /// … except where the probability is 1.
    pub hard_drop: bool,
}

impl Config {
    /// Automatic values as in 2001, §4: the weight makes the average follow in a second's time.
    fn new(params: &Params, around: &Around) -> Config {
        let (lower, upper): (Option<Amount>, Option<Amount>) = (params.get("min"), params.get("max"));
        let in_bytes = lower.is_some_and(Amount::in_bytes);
        let mean_packet = params.get::<Option<u64>>("packet_size").unwrap_or(around.packet) as f64;
        let packets_per_second = around.rate.map_or(0.0, |rate| rate.as_bps_f64() / (8.0 * mean_packet));
        let amount = |amount| match around.resolve(amount) {
            Limit::Packets(n) | Limit::Bytes(n) => n as f64,
        };
        let min = lower.map_or_else(|| (TARGET.as_secs_f64() * packets_per_second / 2.0).max(5.0), amount);
        let max = upper.map_or(3.0 * min, amount);
        let weight: Option<f64> = params.get("weight");
        Config {
            in_bytes,
            min,
            max,
            weight: weight.unwrap_or_else(|| 1.0 - exp(-1.0 / packets_per_second)),
            max_p: params.get("max_p"),
            gentle: params.get("gentle"),
            wait: params.get("wait"),
            adaptive: params.get("adaptive"),
            by_size: params.get("by_size"),
            mean_packet,
            ecn: params.get("ecn"),
            hard_drop: params.get("hard_drop"),
        }
    }
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, rng: Stream) -> Kind {
        Kind::Arrival(Box::new(Red::new(*self, rng)))
    }
}

/// RED at work.
pub struct Red {
    config: Config,
    rng: Stream,
    /// Average queue, in packets or bytes.
    avg: f64,
    /// Packets since the last signal; -1 while the average is below the lower threshold.
    count: i64,
    max_p: f64,
    next_timer: Time,
}

impl Red {
    /// An empty queue.
    pub fn new(config: Config, rng: Stream) -> Red {
        let next_timer = if config.adaptive { Time::ZERO + INTERVAL } else { Time::NEVER };
        Red { config, rng, avg: 0.0, count: -1, max_p: config.max_p, next_timer }
    }

    /// The average after an arrival (1993, Fig. 2): of the queue, or as if small packets had come while it was idle.
    fn average(&mut self, view: &View) {
        let idle = view.packets == 0 && view.free_at <= view.now;
        if idle {
            let packet_time = view.rate.map_or(0.0, |rate| self.config.mean_packet * 8.0 / rate.as_bps_f64());
            let m = if packet_time > 0.0 { view.now.since(view.free_at).as_secs_f64() / packet_time } else { 0.0 };
            self.avg *= pow(1.0 - self.config.weight, m);
        } else {
            let q = if self.config.in_bytes { view.bytes } else { view.packets };
            self.avg += self.config.weight * (q as f64 - self.avg);
        }
    }

    /// p_b: rises from 0 to `max_p` between the thresholds, then jumps to 1, or (gentle) rises to 1 at twice the upper one.
    fn p_b(&self) -> f64 {
        let Config { min, max, gentle, .. } = self.config;
        if self.avg < max {
            self.max_p * (self.avg - min) / (max - min)
        } else if gentle && self.avg < 2.0 * max {
            self.max_p + (1.0 - self.max_p) * (self.avg - max) / max
        } else {
            1.0
        }
    }

    /// p_a: the probability that spreads signals evenly; with `wait` none comes before 1/p_b packets.
    fn p_a(p_b: f64, count: f64, wait: bool) -> f64 {
        let expected = count * p_b;
        let p = match wait {
            false if expected < 1.0 => p_b / (1.0 - expected),
            true if expected < 1.0 => 0.0,
            true if expected < 2.0 => p_b / (2.0 - expected),
            _ => 1.0,
        };
        p.min(1.0)
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, view: &View, packet: &mut Packet) -> Verdict {
        self.average(view);
        if self.avg < self.config.min {
            self.count = -1;
            return Verdict::Pass;
        }
        self.count += 1;
        let mut p_b = self.p_b();
        let forced = p_b >= 1.0;
        if self.config.by_size && !forced {
            p_b = (p_b * f64::from(packet.size) / self.config.mean_packet).min(1.0);
        }
        if !forced && !self.rng.chance(Self::p_a(p_b, self.count as f64, self.config.wait)) {
            return Verdict::Pass;
        }
        self.count = 0;
        Verdict::signal(self.config.ecn && !(forced && self.config.hard_drop), packet)
    }

    fn next_timer(&self) -> Time {
        self.next_timer
    }

    /// Adaptive RED keeps the average in the middle fifth between the thresholds (2001, Fig. 1).
    fn on_timer(&mut self, view: &View) {
        self.next_timer = view.now + INTERVAL;
        let Config { min, max, .. } = self.config;
        let (low, high) = (min + 0.4 * (max - min), min + 0.6 * (max - min));
        if self.avg > high && self.max_p <= MAX_P.1 {
            self.max_p += UP.min(self.max_p / 4.0);
        } else if self.avg < low && self.max_p >= MAX_P.0 {
            self.max_p *= DOWN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::Rate;

    fn config() -> Config {
        Config {
            in_bytes: false,
            min: 5.0,
            max: 15.0,
            weight: 0.002,
            max_p: 0.1,
            gentle: true,
            wait: false,
            adaptive: false,
            by_size: false,
            mean_packet: 1000.0,
            ecn: true,
            hard_drop: false,
        }
    }
    fn red(config: Config, avg: f64) -> Red {
        Red { avg, ..Red::new(config, Stream::new(1, "red")) }
    }
    fn view(now: Time, packets: u64, free_at: Time) -> View {
        View { now, packets, bytes: packets * 1000, free_at, rate: Some(Rate(8_000_000)), full: false }
    }
    fn near(a: f64, b: f64, error: f64) {
        assert!((a - b).abs() <= error, "{a} is not {b}");
    }

    #[test]
    fn p_b_by_the_average() {
        for (avg, gentle, otherwise) in
            [(5.0, 0.0, 0.0), (10.0, 0.05, 0.05), (15.0, 0.1, 1.0), (20.0, 0.4, 1.0), (30.0, 1.0, 1.0)]
        {
            near(red(config(), avg).p_b(), gentle, 1e-12);
            near(red(Config { gentle: false, ..config() }, avg).p_b(), otherwise, 1e-12);
        }
    }

    #[test]
    fn signals_are_spread_evenly() {
        for (count, p) in [(0.0, 0.05), (5.0, 0.0667), (10.0, 0.1), (19.0, 1.0)] {
            near(Red::p_a(0.05, count, false), p, 5e-5);
        }
        for (count, p) in [(10.0, 0.0), (20.0, 0.05), (30.0, 0.1), (40.0, 1.0)] {
            near(Red::p_a(0.05, count, true), p, 1e-12);
        }
    }

    /// Signals are 1 to 1/p - 1 packets apart, uniformly, or with `wait` 1/p to 2/p - 1. (`count` is 1 at the first packet
    /// after a signal, as in the paper's Fig. 2; its §7 has it at 0 and gaps of 1 to 1/p.)
    #[test]
    fn gaps_between_signals() {
        for (wait, low, high, mean) in [(false, 1, 19, 10.0), (true, 20, 39, 29.5)] {
            let mut red = red(Config { weight: 0.0, wait, ..config() }, 10.0);
            let (mut gap, mut gaps) = (0, Vec::new());
            for _ in 0..200_000 {
                gap += 1;
                if red.enqueue(&view(Time(1), 10, Time(2)), &mut Packet::udp(0, Time(1), 0, 1000)) == Verdict::Drop {
                    gaps.push(gap);
                    gap = 0;
                }
            }
            let gaps = &gaps[1..];
            assert_eq!((*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap()), (low, high));
            // sd of a uniform draw of 20 is 5.77
            let of = gaps.len() as f64;
            near(gaps.iter().sum::<i32>() as f64 / of, mean, 5.0 * 5.77 / of.sqrt());
        }
    }

    #[test]
    fn the_average_follows_the_queue_and_decays_in_idle_time() {
        let mut busy = red(config(), 10.0);
        busy.average(&view(Time(1), 30, Time(2)));
        near(busy.avg, 10.04, 1e-12);
        // 1000 bytes take 1 ms: 500 of them in half a second
        let mut idle = red(config(), 10.0);
        idle.average(&view(Time(1_500_000_000), 0, Time(1_000_000_000)));
        near(idle.avg, 3.675, 5e-4);
    }

    #[test]
    fn adaptive_red_moves_its_probability() {
        for (avg, max_p, expected) in [
            (11.5, 0.1, 0.11),
            (11.5, 0.02, 0.025),
            (11.5, 0.51, 0.51),
            (10.0, 0.1, 0.1),
            (8.5, 0.1, 0.09),
            (8.5, 0.009, 0.009),
        ] {
            let mut red = red(Config { max_p, adaptive: true, ..config() }, avg);
            assert_eq!(red.next_timer(), Time(500_000_000));
            red.on_timer(&view(Time(500_000_000), 10, Time(600_000_000)));
            near(red.max_p, expected, 1e-12);
            assert_eq!(red.next_timer(), Time(1_000_000_000));
        }
    }

    #[test]
    fn ect_is_marked_unless_drops_are_hard() {
        let verdict = |ecn, hard_drop, codepoint, avg| {
            let mut red = red(Config { ecn, hard_drop, weight: 0.0, ..config() }, avg);
            red.count = 100;
            let mut packet = Packet::udp(0, Time(1), 0, 1000);
            packet.ecn = codepoint;
            red.enqueue(&view(Time(1), 10, Time(2)), &mut packet)
        };
        assert_eq!(verdict(true, false, 0, 10.0), Verdict::Drop);
        assert!([1, 2, 3].into_iter().all(|ect| verdict(true, false, ect, 10.0) == Verdict::Mark));
        assert_eq!(verdict(false, false, 2, 10.0), Verdict::Drop);
        assert_eq!(verdict(true, false, 2, 40.0), Verdict::Mark);
        assert_eq!((verdict(true, true, 2, 10.0), verdict(true, true, 2, 40.0)), (Verdict::Mark, Verdict::Drop));
    }

    /// By size, a packet of half the mean is signalled half as often.
    #[test]
    fn byte_mode() {
        let mut drops = [0_u32; 2];
        for (small, size) in [(0, 1000), (1, 500)] {
            let mut red = red(Config { weight: 0.0, by_size: true, ..config() }, 10.0);
            for _ in 0..100_000 {
                let drop =
                    red.enqueue(&view(Time(1), 10, Time(2)), &mut Packet::udp(0, Time(1), 0, size)) == Verdict::Drop;
                drops[small] += u32::from(drop);
            }
        }
        // one signal in 10 packets at p_b = 0.05, one in 20 at 0.025
        near(f64::from(drops[0]), 1e5 / 10.0, 300.0);
        near(f64::from(drops[1]), 1e5 / 20.0, 300.0);
    }
}
