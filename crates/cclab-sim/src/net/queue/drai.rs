//! TCP Muzha's router: what to advise whom, by how busy the link or the air is, by the queue, and by what each flow gets.
//!
//! H.-C. Hsiao, Y.-N. Lien, slides, NCCU 2006: a router measures the use of its link as a moving average, divides what is left by the number
//! of flows, and writes a level into each packet that holds a higher one. All else is ours: every constant is a field, and the
//! [table](Drai::judge) that makes a level of the measures. A wired link and a station of a medium use the same [`Drai`].

use super::field::{Domain, Field};
use super::{Discipline, Entry, FIFO, Kind, LIMIT, Limit, Parameters, Queue, Refusal, Verdict, View};
use crate::wire::{Body, Packet};
use cclab_algo::cc::drai::Advice;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Rate, Time};
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

const INTERVAL: Field = Field::time("interval", Duration::from_millis(20), "T_s, after which the measures are taken");
const FLOWS_WITHIN: Field = Field::time("flows_within", Duration::from_secs(1), "T_N, for which a flow counts");

/// DRAI's router in the registry.
pub const ENTRY: Entry = Entry {
    name: "drai",
    summary: "drop-tail beside TCP Muzha's router, which tells each flow by how much to change its rate",
    source: "Hsiao & Lien, NCCU 2006 (slides)",
    fields: &[
        LIMIT,
        INTERVAL.at_least(Duration::from_millis(1)),
        Field::probability("weight", 0.125, "w, of the newest sample in the averages U of use and Q of the queue"),
        Field::time("hold", Duration::from_millis(200), "for so long after a drop the queue counts as full"),
        FLOWS_WITHIN.at_least(Duration::from_millis(1)),
        Field::optional(
            "full_use",
            Domain::Number { min: 0.01, max: 1.0 },
            "auto",
            "U_max: the use of a saturated link; h = 1 - U/U_max; auto: 1, on the air 0.95",
        ),
        Field::probability("h5", 0.5, "headroom for an aggressive acceleration"),
        Field::probability("h4", 0.1, "headroom for a moderate acceleration"),
        Field::number(
            "least_share",
            80_000.0,
            (0.0, 1e12),
            "A_min: least spare bit/s for each flow to accelerate at all",
        ),
        Field::probability(
            "floor",
            0.6,
            "phi: a flow below this share of the mean rate is told to accelerate moderately",
        ),
        Field::optional(
            "q_lo",
            Domain::Integer { min: 1, max: 1_000_000 },
            "auto",
            "packets for a moderate deceleration; auto: max(3, N + 1)",
        ),
        Field::optional(
            "q_hi",
            Domain::Integer { min: 1, max: 1_000_000 },
            "auto",
            "packets for an aggressive one; auto: half the limit",
        ),
        Field::optional(
            "retries",
            Domain::Number { min: 0.0, max: 1e6 },
            "off",
            "on the air: more retries of the MAC for a packet, in an interval, are a moderate deceleration",
        ),
    ],
    lane: FIFO,
    check: |params| {
        let beyond = params.compare("interval", "flows_within").is_some_and(Ordering::is_gt);
        Refusal::when(beyond, "interval", "{interval} is longer than flows_within, {flows_within}")
    },
    build: |params, around| {
        let limit = around.limit(params);
        let half = match limit {
            Limit::Packets(packets) => packets as f64 / 2.0,
            Limit::Bytes(bytes) => bytes as f64 / 2.0 / around.packet as f64,
        };
        let config = Config {
            interval: params.get("interval"),
            weight: params.get("weight"),
            hold: params.get("hold"),
            flows_within: params.get("flows_within"),
            full_use: params.get("full_use"),
            h5: params.get("h5"),
            h4: params.get("h4"),
            least_share: params.get("least_share"),
            floor: params.get("floor"),
            q_lo: params.get::<Option<u64>>("q_lo").map(|packets| packets as f64),
            q_hi: params.get::<Option<u64>>("q_hi").map_or(half.max(1.0), |packets| packets as f64),
            retries: params.get("retries"),
        };
        Queue::new(limit, config)
    },
};

/// Parameters of the router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// T_s.
    pub interval: Duration,
    /// w, of the newest sample in U and Q.
    pub weight: f64,
    /// For so long after a drop d_T is set.
    pub hold: Duration,
    /// T_N.
    pub flows_within: Duration,
    /// U_max; `None` is 1.
    pub full_use: Option<f64>,
    /// Headroom of the highest level.
    pub h5: f64,
    /// Headroom of the one below.
    pub h4: f64,
    /// A_min, bit/s.
    pub least_share: f64,
    /// φ.
    pub floor: f64,
    /// Packets; `None` is max(3, N + 1).
    pub q_lo: Option<f64>,
    /// Packets.
    pub q_hi: f64,
    /// With more retries of the MAC than this for a packet, in an interval, a moderate deceleration; `None`: they do not count.
    pub retries: Option<f64>,
}

impl Config {
    /// The defaults, beside a queue of 50 packets and a medium that is saturated when busy for 95 % of the time.
    pub const STATION: Config = Config {
        interval: Duration::from_millis(20),
        weight: 0.125,
        hold: Duration::from_millis(200),
        flows_within: Duration::from_secs(1),
        full_use: Some(0.95),
        h5: 0.5,
        h4: 0.1,
        least_share: 80_000.0,
        floor: 0.6,
        q_lo: None,
        q_hi: 25.0,
        retries: None,
    };
    /// Between "moderate" and "aggressive", for senders that know more than five levels: the headroom …
    const SHARP_HEADROOM: f64 = 1.0 / 3.0;

    /// … and the queue.
    fn q_sharp(&self, q_lo: f64) -> f64 {
        (q_lo + self.q_hi) / 2.0
    }
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, _: Stream) -> Kind {
        Kind::Arrival(Box::new(Router::new(*self)))
    }
    fn drai(&self) -> Option<Config> {
        Some(Config { full_use: self.full_use.or(Config::STATION.full_use), ..*self })
    }
}

/// What a flow sent in the last T_N.
#[derive(Debug, Default)]
struct Flow {
    /// Whether it is TCP's, which shares.
    shares: bool,
    bytes: u64,
    /// Interval and bytes.
    recent: VecDeque<(u64, u64)>,
    /// It was below the floor at the last sample, and at the one before as well.
    below: bool,
    raised: bool,
}

/// The router's judgement. Somebody tells it what passes, and closes each interval with what was measured in it.
#[derive(Debug)]
pub struct Drai {
    config: Config,
    /// U.
    used: f64,
    /// Q, packets with the one in service.
    queue: f64,
    /// By destination socket.
    flows: BTreeMap<u32, Flow>,
    /// Intervals so far.
    intervals: u64,
    dropped: Option<Time>,
    /// In this interval: packets the MAC was done with, and how often it had to try again for them.
    served: u64,
    retries: u64,
    /// What the table said at the last sample, and what holds.
    last: Advice,
    advice: Advice,
}

impl Drai {
    /// Nothing has passed yet.
    pub fn new(config: Config) -> Drai {
        let most = Advice::AggressiveAcceleration;
        Drai {
            config,
            used: 0.0,
            queue: 0.0,
            flows: BTreeMap::new(),
            intervals: 0,
            dropped: None,
            served: 0,
            retries: 0,
            last: most,
            advice: most,
        }
    }

    /// A packet found no room.
    pub fn on_drop(&mut self, now: Time) {
        self.dropped = Some(now);
    }

    /// The MAC is done with so many packets, after so many retries.
    pub fn on_served(&mut self, served: u64, retries: u64) {
        self.served += served;
        self.retries += retries;
    }

    /// A packet passes: it counts, and if it asks it is told.
    pub fn stamp(&mut self, now: Time, packet: &mut Packet) {
        if packet.payload() == 0 || !packet.forward {
            return;
        }
        let flow = self.flows.entry(packet.to.0).or_default();
        flow.shares = matches!(packet.body, Body::Tcp(_));
        flow.bytes += u64::from(packet.size);
        match flow.recent.back_mut() {
            Some((interval, bytes)) if *interval == self.intervals => *bytes += u64::from(packet.size),
            _ => flow.recent.push_back((self.intervals, u64::from(packet.size))),
        }
        let raised = flow.raised;
        if let Some(header) = packet.asked() {
            let advice = match self.advice {
                _ if self.dropped_lately(now) => Advice::AggressiveDeceleration,
                _ if raised => Advice::ModerateAcceleration,
                advice => advice,
            };
            advice.stamp(header);
        }
    }

    /// d_T.
    fn dropped_lately(&self, now: Time) -> bool {
        self.dropped.is_some_and(|at| now.since(at) < self.config.hold)
    }

    /// N, at least 1.
    pub fn flows(&self) -> usize {
        self.flows.len().max(1)
    }

    /// An interval is over: for `busy` of it, from 0 to 1, the link was; `queue` packets are there now, and `capacity` bit/s are what a flow
    /// alone could have.
    pub fn sample(&mut self, now: Time, busy: f64, queue: f64, capacity: f64) {
        let w = self.config.weight;
        self.used += w * (busy - self.used);
        self.queue += w * (queue - self.queue);
        self.intervals += 1;
        self.count_flows();
        let raw = self.judge(now, capacity);
        self.advice = raw.min(self.last); // raised only by two samples in a row, lowered at once
        self.last = raw;
        (self.served, self.retries) = (0, 0);
    }

    /// Forgets what was sent before the last T_N, and sees who is below the floor.
    fn count_flows(&mut self) {
        let kept = self.config.flows_within.0 / self.config.interval.0.max(1);
        let oldest = self.intervals.saturating_sub(kept.max(1));
        let (mut sum, mut sharing) = (0, 0_u32);
        self.flows.retain(|_, flow| {
            while flow.recent.front().is_some_and(|&(interval, _)| interval < oldest) {
                flow.bytes -= flow.recent.pop_front().map_or(0, |(_, bytes)| bytes);
            }
            if flow.shares && !flow.recent.is_empty() {
                sum += flow.bytes;
                sharing += 1;
            }
            !flow.recent.is_empty()
        });
        let floor = self.config.floor * sum as f64 / f64::from(sharing.max(1));
        for flow in self.flows.values_mut() {
            let below = sharing >= 2 && flow.shares && (flow.bytes as f64) < floor;
            flow.raised = below && flow.below;
            flow.below = below;
        }
    }

    /// The table: the first row that fits. The row of the floor is each flow's own; only a drop stands above it, for a long queue is just
    /// what flows make that yield to nothing but losses.
    fn judge(&self, now: Time, capacity: f64) -> Advice {
        let config = &self.config;
        let headroom = (1.0 - self.used / config.full_use.unwrap_or(1.0)).max(0.0);
        let shares = capacity * headroom / self.flows() as f64 >= config.least_share;
        let q_lo = config.q_lo.unwrap_or((self.flows() as f64 + 1.0).max(3.0));
        let tries = config.retries.is_some_and(|limit| self.retries as f64 > limit * self.served as f64);
        if self.dropped_lately(now) || self.queue >= config.q_hi {
            Advice::AggressiveDeceleration
        } else if self.queue >= config.q_sharp(q_lo) {
            Advice::SharpDeceleration
        } else if self.queue >= q_lo || tries {
            Advice::ModerateDeceleration
        } else if headroom >= config.h5 && shares && self.queue < 1.0 {
            Advice::AggressiveAcceleration
        } else if headroom >= config.h5.min(Config::SHARP_HEADROOM) && shares && self.queue < 1.0 {
            Advice::SharpAcceleration
        } else if headroom >= config.h4 && shares {
            Advice::ModerateAcceleration
        } else {
            Advice::Stabilising
        }
    }
}

/// The same for a station, which is looked at now and then: intervals are closed when somebody looks, at no event of their own. What it was
/// busy for since the last look counts as evenly spread; the queue was as it was left.
#[derive(Debug)]
pub struct Watch {
    drai: Drai,
    /// When the interval under way ends, and for how long the station was busy in it so far.
    ends: Time,
    busy_for: f64,
    /// The last look, and what was counted until then.
    looked: Time,
    counted: Counted,
}

/// What a station has counted so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// It sent, received, sensed, or was kept quiet.
    pub busy: Duration,
    /// Packets here now, the one in service among them.
    pub queue: usize,
    /// Packets that the MAC was done with, and how often it had to try again.
    pub served: u64,
    /// Attempts without an answer.
    pub retries: u64,
}

impl Watch {
    /// A watch that begins now.
    pub fn new(config: Config, now: Time, counted: Counted) -> Watch {
        let ends = now + config.interval;
        Watch { drai: Drai::new(config), ends, busy_for: 0.0, looked: now, counted }
    }

    /// Somebody looks at `now`. Alone a flow could have `capacity` bit/s.
    pub fn look(&mut self, now: Time, counted: Counted, capacity: f64) {
        let gap = now.since(self.looked).as_secs_f64();
        let busy = (counted.busy.saturating_sub(self.counted.busy).as_secs_f64() / gap.max(1e-9)).min(1.0);
        self.drai.on_served(counted.served - self.counted.served, counted.retries - self.counted.retries);
        while self.ends <= now {
            let interval = self.drai.config.interval;
            let whole = self.busy_for + busy * self.ends.since(self.looked).as_secs_f64();
            self.drai.sample(self.ends, whole / interval.as_secs_f64(), self.counted.queue as f64, capacity);
            (self.looked, self.busy_for) = (self.ends, 0.0);
            self.ends += interval;
        }
        self.busy_for += busy * now.since(self.looked).as_secs_f64();
        (self.looked, self.counted) = (now, counted);
    }

    /// A packet found no room.
    pub fn on_drop(&mut self, now: Time) {
        self.drai.on_drop(now);
    }

    /// A packet goes on from here; somebody has just looked.
    pub fn stamp(&mut self, now: Time, packet: &mut Packet) {
        self.drai.stamp(now, packet);
    }
}

/// The router beside a link's queue.
struct Router {
    drai: Drai,
    ends: Time,
    /// Up to when the transmitter's busy time has been counted, and how much it was in this interval.
    counted: Time,
    busy_for: Duration,
}

impl Router {
    fn new(config: Config) -> Router {
        let ends = Time::ZERO + config.interval;
        Router { drai: Drai::new(config), ends, counted: Time::ZERO, busy_for: Duration::ZERO }
    }

    /// The transmitter has been busy since it was last looked at, until it was free or until now.
    fn count(&mut self, view: &View) {
        self.busy_for += view.free_at.min(view.now).since(self.counted);
        self.counted = view.now;
    }
}

impl Discipline for Router {
    fn enqueue(&mut self, view: &View, packet: &mut Packet) -> Verdict {
        self.count(view);
        if view.full {
            self.drai.on_drop(view.now);
        } else {
            self.drai.stamp(view.now, packet);
        }
        Verdict::Pass
    }

    fn next_timer(&self) -> Time {
        self.ends
    }

    fn on_timer(&mut self, view: &View) {
        self.count(view);
        let interval = self.drai.config.interval;
        let busy = self.busy_for.as_secs_f64() / interval.as_secs_f64();
        let queue = view.packets + u64::from(view.free_at > view.now);
        let capacity = view.rate.map_or(f64::INFINITY, Rate::as_bps_f64);
        self.drai.sample(view.now, busy, queue as f64, capacity);
        self.busy_for = Duration::ZERO;
        self.ends = view.now + interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Feedback, Segment, SocketId};

    const INTERVAL: Duration = Config::STATION.interval;

    fn data(flow: u32) -> Packet {
        let feedback = Feedback::Drai { level: 0, levels: 5 };
        let mut packet = Packet::tcp(0, true, Time::ZERO, &Segment { len: 1460, feedback, ..Segment::default() });
        packet.to = SocketId(flow);
        packet
    }

    fn level(packet: &mut Packet) -> u8 {
        match packet.asked() {
            Some(Feedback::Drai { level, .. }) => *level,
            other => panic!("{other:?}"),
        }
    }

    /// A router after a hundred samples of this, at `capacity` bit/s.
    fn after(busy: f64, queue: f64, capacity: f64) -> Drai {
        let mut drai = Drai::new(Config { full_use: None, ..Config::STATION });
        for i in 1..=100 {
            drai.sample(Time::ZERO + INTERVAL * i, busy, queue, capacity);
        }
        drai
    }

    /// Each row of the table at 10 Mbit/s, a drop apart.
    #[test]
    fn the_table_has_its_rows() {
        for (busy, queue, expected) in [
            (0.0, 0.0, 5),
            (0.49, 0.9, 5),
            (0.49, 1.1, 4),
            (0.51, 0.0, 4),
            (0.89, 2.9, 4),
            (0.91, 0.0, 3),
            (0.2, 3.01, 2),
            (1.0, 24.9, 2),
            (0.2, 25.01, 1),
        ] {
            let mut packet = data(0);
            after(busy, queue, 10e6).stamp(Time::ZERO + INTERVAL * 100, &mut packet);
            assert_eq!(level(&mut packet), expected, "U {busy}, Q {queue}");
        }
        let mut packet = data(0);
        after(0.5, 0.0, 100e3).stamp(Time::ZERO + INTERVAL * 100, &mut packet);
        assert_eq!(level(&mut packet), 3, "50 kbit/s are less than A_min");
    }

    /// A drop is an aggressive deceleration for 200 ms; what is unmarked, an ACK, or lower already stays.
    #[test]
    fn a_drop_holds_and_others_are_left_alone() {
        let mut drai = after(0.0, 0.0, 10e6);
        let at = Time::ZERO + INTERVAL * 100;
        drai.on_drop(at);
        for (ms, expected) in [(0, 1), (199, 1), (200, 5)] {
            let mut packet = data(0);
            drai.stamp(at + Duration::from_millis(ms), &mut packet);
            assert_eq!(level(&mut packet), expected, "{ms} ms");
        }
        let later = at + Duration::from_secs(1);
        let mut packet = data(0);
        after(1.0, 10.0, 10e6).stamp(later, &mut packet);
        drai.stamp(later, &mut packet);
        assert_eq!(level(&mut packet), 2, "the minimum of the path");
        let mut plain = Packet::tcp(0, true, Time::ZERO, &Segment { len: 1460, ..Segment::default() });
        let before = plain;
        drai.stamp(later, &mut plain);
        assert_eq!(plain, before);
    }

    /// Raised only after two samples in a row, lowered at once.
    #[test]
    fn levels_rise_slowly() {
        let mut drai = Drai::new(Config { weight: 1.0, ..Config::STATION });
        let mut at = Time::ZERO;
        let mut levels = vec![];
        for (busy, queue) in [(0.0, 30.0), (0.0, 0.0), (0.0, 0.0), (0.0, 5.0), (0.9, 0.0), (0.0, 0.0), (0.0, 0.0)] {
            at += INTERVAL;
            drai.sample(at, busy, queue, 10e6);
            let mut packet = data(0);
            drai.stamp(at, &mut packet);
            levels.push(level(&mut packet));
        }
        assert_eq!(levels, [1, 1, 5, 2, 2, 3, 5]);
    }

    /// Of two flows that send 1 : 9 the smaller is told to accelerate although the link is full; alone it is not, and one of 2 : 3 is not.
    #[test]
    fn the_floor_lifts_who_gets_little() {
        for (packets, expected) in [([1, 9], [4, 3]), ([2, 3], [3, 3]), ([0, 9], [3, 3])] {
            let mut drai = after(1.0, 0.0, 10e6);
            let mut at = Time::ZERO + INTERVAL * 100;
            for _ in 0..60 {
                for (flow, &n) in packets.iter().enumerate() {
                    (0..n).for_each(|_| drai.stamp(at, &mut data(flow as u32)));
                }
                at += INTERVAL;
                drai.sample(at, 1.0, 0.0, 10e6);
            }
            assert_eq!(drai.flows(), packets.iter().filter(|&&n| n > 0).count());
            let found = [0, 1].map(|flow| {
                let mut packet = data(flow);
                drai.stamp(at, &mut packet);
                level(&mut packet)
            });
            assert_eq!(found, expected, "{packets:?}");
            (0..51).for_each(|i| drai.sample(at + INTERVAL * (i + 1), 0.0, 0.0, 10e6));
            assert_eq!(drai.flows.len(), 0, "a second later they are forgotten");
        }
    }

    /// More retries than for one in a packet are a moderate deceleration, where they count.
    #[test]
    fn retries_of_the_mac_count_where_they_are_to() {
        for (limit, retries, expected) in [(None, 9, 5), (Some(1.0), 2, 5), (Some(1.0), 3, 2), (Some(2.0), 4, 5)] {
            let mut drai = Drai::new(Config { retries: limit, ..Config::STATION });
            for i in 1..=2 {
                drai.on_served(2, retries);
                drai.sample(Time::ZERO + INTERVAL * i, 0.0, 0.0, 10e6);
            }
            let mut packet = data(0);
            drai.stamp(Time::ZERO + INTERVAL * 2, &mut packet);
            assert_eq!(level(&mut packet), expected, "{retries} for two packets, {limit:?}");
        }
    }

    /// Busy for 7 of every 20 ms, looked at every 6: U goes to 0.35 as 1 − (7/8)^n does; then a queue of two for two samples.
    #[test]
    fn a_watch_measures_what_it_is_told() {
        let mut watch = Watch::new(Config::STATION, Time::ZERO, Counted::default());
        let mut counted = Counted::default();
        for n in 1..=100 {
            counted.busy = Duration::from_micros(2100 * n);
            watch.look(Time::ZERO + Duration::from_millis(6 * n), counted, 1.4e6);
        }
        let expected = 0.35 * (1.0 - 0.875_f64.powi(30));
        assert!((watch.drai.used - expected).abs() < 1e-9, "{} for {expected}", watch.drai.used);
        watch.look(Time::ZERO + INTERVAL * 30, Counted { queue: 2, ..counted }, 1.4e6);
        watch.look(Time::ZERO + INTERVAL * 32, Counted { queue: 0, ..counted }, 1.4e6);
        assert!((watch.drai.queue - 2.0 * (1.0 - 0.875_f64.powi(2))).abs() < 1e-9, "{}", watch.drai.queue);
    }
}
