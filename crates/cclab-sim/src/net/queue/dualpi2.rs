//! Dual queue, coupled: De Schepper, Briscoe & White, RFC 9332, with DualPI2 of its appendix A.
//!
//! Scalable senders (ECT(1), and CE) have a queue of their own with a shallow ramp of marks; the classic queue is ruled by a
//! PI controller whose probability is squared for it and coupled into the other.

use super::field::{Amount, Field, PERIOD, Params};
use super::pie::GAIN;
use super::{Entry, Fifo, Kind, Ledger, Parameters, Queue, Refusal, Scheduler, View};
use crate::net::Reason;
use crate::wire::Packet;
use crate::wire::ecn::{CE, ECT1};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};
use std::cmp::Ordering;

/// DualPI2 in the registry; its values are those of RFC 9332 appendix A.1, Tupdate and the gains as its text has them.
pub const ENTRY: Entry = Entry {
    name: "dualpi2",
    summary: "two coupled queues: L4S senders see marks and hardly any delay, the others a PI controller",
    source: "RFC 9332",
    fields: &[
        Field::amount("limit", Amount::Time(Duration::from_millis(250)), "largest amount waiting in both queues")
            .or("unlimited"),
        Field::time("target", Duration::from_millis(15), "delay of the classic queue to be kept").at_least(Duration(1)),
        Field::time("interval", Duration::from_millis(16), "time between updates of the probability")
            .at_least(PERIOD)
            .also(&["Tupdate", "t_update"]),
        Field::number("alpha", 0.16, GAIN, "gain of the deviation from the target, 1/s"),
        Field::number("beta", 3.2, GAIN, "gain of the change since the last update, 1/s"),
        Field::number(
            "coupling",
            2.0,
            (0.1, 100.0),
            "k: the low-latency queue marks with k times the root of the other's probability",
        )
        .also(&["k"]),
        Field::time(
            "ramp_min",
            Duration::from_micros(800),
            "delay up to which the low-latency queue marks nothing of its own",
        ),
        Field::time("ramp_max", Duration::from_micros(1200), "delay from which on it marks everything"),
        Field::choice("scheduler", &["weighted", "shifted"], "whose turn it is: by weight, or who has waited longer"),
        Field::time(
            "shift",
            Duration::from_millis(50),
            "shifted: so much longer do low-latency packets seem to have waited",
        ),
        Field::probability("classic_share", 1.0 / 16.0, "weighted: share of the bytes that is the classic queue's"),
    ],
    lane: |packet| u64::from(is_low_latency(packet)),
    check: |params| {
        let order = params.compare("ramp_max", "ramp_min");
        Refusal::when(order == Some(Ordering::Less), "ramp_max", "{ramp_max} is below ramp_min, {ramp_min}")
    },
    build: |params, around| Queue::new(around.limit(params), Config::new(params)),
};

/// Parameters of DualPI2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Delay of the classic queue to be kept.
    pub target: Duration,
    /// Time between updates of the probability, Tupdate.
    pub interval: Duration,
    /// Gain of the deviation from the target, 1/s.
    pub alpha: f64,
    /// Gain of the change since the last update, 1/s.
    pub beta: f64,
    /// k: p_CL = k p', p_C = p'².
    pub coupling: f64,
    /// Delay up to which the low-latency queue marks nothing of its own …
    pub ramp_min: Duration,
    /// … and from which on it marks everything.
    pub ramp_max: Duration,
    /// Whether the packet is next that has waited longer, by `shift` more than they have for those of the low-latency
    /// queue; else the queues take turns by weight.
    pub shifted: bool,
    /// That time.
    pub shift: Duration,
    /// Share of the bytes that is the classic queue's by weight, while both have packets.
    pub classic_share: f64,
}

impl Config {
    fn new(params: &Params) -> Config {
        Config {
            target: params.get("target"),
            interval: params.get("interval"),
            alpha: params.get("alpha"),
            beta: params.get("beta"),
            coupling: params.get("coupling"),
            ramp_min: params.get("ramp_min"),
            ramp_max: params.get("ramp_max"),
            shifted: params.get::<&str>("scheduler") == "shifted",
            shift: params.get("shift"),
            classic_share: params.get("classic_share"),
        }
    }
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, _: Stream) -> Kind {
        Kind::Served(Box::new(DualPi2::new(*self)))
    }
}

/// Whether a packet belongs to the low-latency queue: its sender is scalable, or it is marked (RFC 9332 §2.5.1).
fn is_low_latency(packet: &Packet) -> bool {
    matches!(packet.ecn, ECT1 | CE)
}

/// DualPI2 at work.
pub struct DualPi2 {
    config: Config,
    low: Fifo,
    classic: Fifo,
    core: Core,
    /// Sums of the probabilities since the last signal, of each queue.
    low_sum: f64,
    classic_sum: f64,
    /// Bytes by which the classic queue is ahead of its share, weighted.
    credit: f64,
    next_timer: Time,
}

/// The base controller.
#[derive(Clone, Copy, Debug, Default)]
struct Core {
    /// p', of which the others are made.
    p: f64,
    prev: Duration,
}

impl Core {
    fn update(&mut self, delay: Duration, config: &Config) {
        let (now, prev) = (delay.as_secs_f64(), self.prev.as_secs_f64());
        self.p += config.alpha * (now - config.target.as_secs_f64()) + config.beta * (now - prev);
        self.p = self.p.clamp(0.0, 1.0);
        self.prev = delay;
    }
    /// Coupled probability of a mark in the low-latency queue.
    fn p_cl(&self, config: &Config) -> f64 {
        config.coupling * self.p
    }
    /// Probability of a drop or mark in the classic queue.
    fn p_c(&self) -> f64 {
        self.p * self.p
    }
}

/// Evenly instead of by chance: whether the sum of the probabilities passes 1.
fn recur(sum: &mut f64, p: f64) -> bool {
    *sum += p;
    let signals = *sum > 1.0;
    if signals {
        *sum -= 1.0;
    }
    signals
}

/// The low-latency queue's own probability: a ramp over the delay; none for a packet that waited alone.
fn ramp(delay: Duration, packets: usize, config: &Config) -> f64 {
    if packets <= 1 || delay <= config.ramp_min {
        0.0
    } else if delay >= config.ramp_max {
        1.0
    } else {
        (delay - config.ramp_min).as_secs_f64() / (config.ramp_max - config.ramp_min).as_secs_f64()
    }
}

impl DualPi2 {
    /// Empty queues.
    pub fn new(config: Config) -> DualPi2 {
        DualPi2 {
            config,
            low: Fifo::default(),
            classic: Fifo::default(),
            core: Core::default(),
            low_sum: 0.0,
            classic_sum: 0.0,
            credit: 0.0,
            next_timer: Time::ZERO + config.interval,
        }
    }

    /// Whether the next packet is the low-latency queue's.
    fn low_is_next(&self, now: Time) -> bool {
        if self.low.is_empty() || self.classic.is_empty() {
            self.classic.is_empty()
        } else if self.config.shifted {
            self.low.head_delay(now) + self.config.shift >= self.classic.head_delay(now)
        } else {
            self.credit >= 0.0
        }
    }

    /// Counts a turn that one queue had while the other waited. Turns that nobody waited for count for nothing, so that a
    /// queue which is empty for a moment keeps what it is owed, as in Linux.
    fn count_turn(&mut self, low: bool, bytes: u32) {
        let share = self.config.classic_share;
        if low && !self.classic.is_empty() {
            self.credit -= f64::from(bytes) * share;
        } else if !low && !self.low.is_empty() {
            self.credit += f64::from(bytes) * (1.0 - share);
        }
    }

    /// Whether a packet of the low-latency queue is dropped; it may be marked.
    fn signal_low(&mut self, delay: Duration, packets: usize, packet: &mut Packet, ledger: &mut Ledger) -> bool {
        let (p_cl, p_c) = (self.core.p_cl(&self.config), self.core.p_c());
        let p_l = if p_cl < 1.0 {
            ramp(delay, packets, &self.config).max(p_cl)
        } else {
            // Overload: drop as the other queue does, and mark the rest.
            if recur(&mut self.low_sum, p_c) {
                return true;
            }
            1.0
        };
        if p_l >= 1.0 || recur(&mut self.low_sum, p_l) {
            ledger.mark(packet);
        }
        false
    }

    /// Whether a packet of the classic queue is dropped; it may be marked.
    fn signal_classic(&mut self, packet: &mut Packet, ledger: &mut Ledger) -> bool {
        let p_c = self.core.p_c();
        if !recur(&mut self.classic_sum, p_c) {
            return false;
        }
        let overload = p_c >= (1.0 / (self.config.coupling * self.config.coupling)).min(1.0);
        if packet.ecn == 0 || overload {
            return true;
        }
        ledger.mark(packet);
        false
    }
}

impl Scheduler for DualPi2 {
    fn enqueue(&mut self, view: &View, packet: Packet, _: &mut Ledger) -> Result<(), Reason> {
        if view.full {
            return Err(Reason::Dropped);
        }
        let queue = if is_low_latency(&packet) { &mut self.low } else { &mut self.classic };
        queue.push(view.now, packet);
        Ok(())
    }

    fn dequeue(&mut self, view: &View, ledger: &mut Ledger) -> Option<(Time, Packet)> {
        loop {
            let low = self.low_is_next(view.now);
            let packets = self.low.len();
            let Some((at, mut packet)) = (if low { self.low.pop() } else { self.classic.pop() }) else {
                self.credit = 0.0; // nobody waits: all is even
                return None;
            };
            let dropped = if low {
                self.signal_low(view.now.since(at), packets, &mut packet, ledger)
            } else {
                self.signal_classic(&mut packet, ledger)
            };
            if !dropped {
                self.count_turn(low, packet.size);
                return Some((at, packet));
            }
            ledger.drop(packet, Reason::Early);
        }
    }

    fn withdraw(&mut self, wanted: &mut dyn FnMut(&Packet) -> bool) {
        self.low.withdraw(wanted);
        self.classic.withdraw(wanted);
    }

    fn each(&self, each: &mut dyn FnMut(&Packet)) {
        self.low.each(each);
        self.classic.each(each);
    }

    fn next_timer(&self) -> Time {
        self.next_timer
    }

    fn on_timer(&mut self, view: &View) {
        self.next_timer = view.now + self.config.interval;
        self.core.update(self.classic.head_delay(view.now).max(self.low.head_delay(view.now)), &self.config);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: Config = Config {
        target: Duration::from_millis(15),
        interval: Duration::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        ramp_min: Duration::from_micros(800),
        ramp_max: Duration::from_micros(1200),
        shifted: false,
        shift: ms(10),
        classic_share: 1.0 / 16.0,
    };
    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }
    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 6e-6, "{a} is not {b}");
    }

    #[test]
    fn updates_of_the_probabilities() {
        let formula = Config { alpha: 0.15, beta: 3.0, ..CONFIG };
        for (config, p, q, prev, expected) in [
            (CONFIG, 0.0, 20, 0, (0.0648, 0.1296, 0.0042)),
            (CONFIG, 0.1, 20, 15, (0.1168, 0.2336, 0.01364)),
            (CONFIG, 0.1, 10, 15, (0.0832, 0.1664, 0.00692)),
            (formula, 0.0, 20, 0, (0.06075, 0.1215, 0.00369)),
            (formula, 0.1, 20, 15, (0.11575, 0.2315, 0.01340)),
            (formula, 0.1, 10, 15, (0.08425, 0.1685, 0.00710)),
        ] {
            let mut core = Core { p, prev: ms(prev) };
            core.update(ms(q), &config);
            near(core.p, expected.0);
            near(core.p_cl(&config), expected.1);
            near(core.p_c(), expected.2);
        }
    }

    #[test]
    fn the_ramp() {
        for (us, packets, p) in
            [(500, 9, 0.0), (800, 9, 0.0), (1000, 9, 0.5), (1200, 9, 1.0), (5000, 9, 1.0), (5000, 1, 0.0)]
        {
            near(ramp(Duration::from_micros(us), packets, &CONFIG), p);
        }
    }

    #[test]
    fn signals_recur() {
        let mut sum = 0.0;
        let signals: Vec<usize> = (1..=11).filter(|_| recur(&mut sum, 0.3)).collect();
        assert_eq!(signals, [4, 7, 11]);
    }

    fn fill(dual: &mut DualPi2, ecn: u8, packets: u64, at: Time) {
        let view = View { now: at, packets: 0, bytes: 0, free_at: Time::ZERO, rate: None, full: false };
        for number in 0..packets {
            let mut packet = Packet::udp(0, at, number, 1500);
            packet.ecn = ecn;
            dual.enqueue(&view, packet, &mut Ledger::default()).expect("there is room");
        }
    }
    /// Codepoints of the packets that leave at `now`, with what became of the others.
    fn drain(dual: &mut DualPi2, now: Time, packets: usize) -> (Vec<u8>, Ledger) {
        let view = View { now, packets: 0, bytes: 0, free_at: Time::ZERO, rate: None, full: false };
        let mut ledger = Ledger::default();
        let left = (0..packets).map_while(|_| dual.dequeue(&view, &mut ledger)).map(|(_, packet)| packet.ecn).collect();
        (left, ledger)
    }

    /// ECT(1) and CE go to the one queue, the rest to the other; each has its share of the turns.
    #[test]
    fn whose_turn_it_is() {
        let mut dual = DualPi2::new(CONFIG);
        fill(&mut dual, ECT1, 100, Time(1));
        fill(&mut dual, 0, 100, Time(1));
        let (left, _) = drain(&mut dual, Time(2), 96);
        assert_eq!(left.iter().filter(|&&ecn| ecn == 0).count(), 6);
        let mut dual = DualPi2::new(Config { shifted: true, ..CONFIG });
        fill(&mut dual, 2, 2, Time(1));
        fill(&mut dual, CE, 2, Time(9_000_001));
        fill(&mut dual, ECT1, 2, Time(11_000_001));
        assert_eq!(drain(&mut dual, Time(11_500_001), 6).0, [CE, CE, 2, 2, ECT1, ECT1]);
    }

    /// Low-latency packets that come one by one, each as the one before leaves, do not take the classic queue's share.
    #[test]
    fn single_packets_leave_the_classic_queue_its_share() {
        let mut dual = DualPi2::new(CONFIG);
        fill(&mut dual, 0, 200, Time(1));
        let mut classic = 0;
        for n in 2..1602 {
            if dual.low.is_empty() {
                fill(&mut dual, ECT1, 1, Time(n));
            }
            classic += drain(&mut dual, Time(n), 1).0.iter().filter(|&&ecn| ecn == 0).count();
        }
        assert_eq!(classic, 100);
    }

    /// Classic packets are dropped or marked with p'², those of the other queue marked with k p'.
    #[test]
    fn shares_of_signals() {
        for (p, ecn, marks, drops) in
            [(0.1, 0, 0, 10), (0.1, 2, 10, 0), (0.1, 1, 200, 0), (0.5, 2, 0, 250), (0.6, 1, 640, 360)]
        {
            let mut dual = DualPi2::new(CONFIG);
            dual.core.p = p;
            fill(&mut dual, ecn, 1000, Time(1));
            let (_, ledger) = drain(&mut dual, Time(1), 1000);
            let close = |a: u64, b: u64| a.abs_diff(b) <= 1;
            assert!(close(ledger.marks, marks) && close(ledger.dropped.len() as u64, drops), "{p} {ecn}");
        }
    }
}
