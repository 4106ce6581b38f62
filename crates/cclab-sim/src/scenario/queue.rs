//! `queue`: the discipline of a link and its parameters.

use super::link::{Surroundings, bdp_bytes};
use super::model::{Limit, Queue};
use super::quantity::{Amount, Amounts, Flag, Or, POSITIVE_TIME, Probability, SIZE, Sizes, TIME, Times, Words};
use super::reader::{Kind, Table};
use crate::net::queue::{codel, red};
use cclab_algo::math::exp;
use cclab_algo::{Duration, Rate};

/// A queue as written.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueSpec {
    /// `None` has no limit.
    limit: Option<Amount>,
    discipline: Discipline,
}

/// A discipline as written.
#[derive(Clone, Copy, Debug)]
enum Discipline {
    DropTail,
    Red(RedSpec),
    Codel(CodelSpec),
}

/// Names of the disciplines.
#[derive(Clone, Copy, PartialEq)]
enum Name {
    DropTail,
    Red,
    Codel,
}
const DISCIPLINES: Words<Name> = Words(&[("droptail", Name::DropTail), ("red", Name::Red), ("codel", Name::Codel)]);

const LIMIT: Or<Amounts> = Or("unlimited", Amounts { time: true });
const AUTO: &str = "auto";
const THRESHOLD: Or<Amounts> = Or(AUTO, Amounts { time: true });
const WEIGHT: Or<Probability> = Or(AUTO, Probability);
const PACKET: Or<Sizes> = Or(AUTO, SIZE);
const CE_THRESHOLD: Or<Times> = Or("off", TIME);
/// One BDP.
const ONE_BDP: Amount = Amount::Bdp(1_000_000_000);
/// What a queue with a discipline holds unless it is told: as much as Linux's qdiscs.
const MANY: Amount = Amount::Packets(1000);

impl QueueSpec {
    /// Drop-tail, without any limit.
    pub(super) const UNLIMITED: QueueSpec = QueueSpec { limit: None, discipline: Discipline::DropTail };

    /// Drop-tail in front of a link of this rate. A queue in front of an infinitely fast one is always empty: no limit
    /// means anything there.
    pub(super) fn before(rate: Option<Rate>) -> QueueSpec {
        QueueSpec { limit: rate.map(|_| ONE_BDP), ..QueueSpec::UNLIMITED }
    }

    /// The same in front of a link of another rate.
    pub(super) fn moved(self, from: Option<Rate>, to: Option<Rate>) -> QueueSpec {
        let unset = from.is_none() && self.limit.is_none();
        if to.is_none() || unset { QueueSpec::before(to) } else { self }
    }

    /// This queue with what `t` says about it.
    pub(super) fn overridden(mut self, t: &mut Table, rate: Option<Rate>) -> QueueSpec {
        let mut q = t.table_or_empty("queue");
        let name = q.or("discipline", &DISCIPLINES, self.discipline.name());
        let relative = |amount| matches!(amount, Some(Some(Amount::Bdp(_) | Amount::Time(_))));
        if rate.is_none() && t.sound(&["rate"]) {
            if relative(q.peek("limit", &LIMIT)) {
                q.mistake("limit", "a limit in time or BDP needs a link with a rate; this one is infinitely fast");
            } else if name != Name::DropTail {
                q.mistake("discipline", "needs a link with a rate; in front of an infinitely fast one nothing waits");
            }
        }
        if name != self.discipline.name() {
            self.limit = if name == Name::DropTail { QueueSpec::before(rate).limit } else { Some(MANY) };
        }
        self.limit = q.or("limit", &LIMIT, self.limit);
        self.discipline = match (name, self.discipline) {
            (Name::DropTail, _) => Discipline::DropTail,
            (Name::Red, Discipline::Red(red)) => Discipline::Red(red.overridden(&mut q)),
            (Name::Red, _) => {
                let adaptive = q.peek("adaptive", &Flag).unwrap_or(false);
                Discipline::Red(RedSpec::new(adaptive).overridden(&mut q))
            }
            (Name::Codel, Discipline::Codel(codel)) => Discipline::Codel(codel.overridden(&mut q)),
            (Name::Codel, _) => Discipline::Codel(CodelSpec::DEFAULT.overridden(&mut q)),
        };
        t.put("queue", q.finish());
        self
    }

    /// The queue of the model.
    pub(super) fn build(&self, rate: Option<Rate>, around: &Surroundings) -> Queue {
        let limit = self.limit.map_or(Limit::Packets(u64::MAX), |limit| resolve(limit, rate, around));
        match self.discipline {
            Discipline::DropTail => Queue::DropTail { limit },
            Discipline::Red(red) => Queue::Red { limit, red: red.build(rate, around) },
            Discipline::Codel(codel) => Queue::Codel { limit, codel: codel.build(around) },
        }
    }
}

impl Discipline {
    fn name(&self) -> Name {
        match self {
            Discipline::DropTail => Name::DropTail,
            Discipline::Red(_) => Name::Red,
            Discipline::Codel(_) => Name::Codel,
        }
    }
}

/// An amount in BDP counts whole packets, one in time bytes; it is one packet at least.
fn resolve(amount: Amount, rate: Option<Rate>, around: &Surroundings) -> Limit {
    match (amount, rate) {
        (Amount::Packets(n), _) => Limit::Packets(n),
        (Amount::Bytes(n), _) => Limit::Bytes(n),
        (Amount::Time(d), Some(rate)) => Limit::Bytes(bdp_bytes(rate, d, 1_000_000_000).max(around.packet)),
        (Amount::Bdp(billionths), Some(rate)) => {
            Limit::Packets((bdp_bytes(rate, around.rtt, billionths) / around.packet).max(1))
        }
        (Amount::Time(_) | Amount::Bdp(_), None) => Limit::Packets(u64::MAX),
    }
}

/// Whether an amount comes to bytes, not packets.
fn in_bytes(amount: Amount) -> bool {
    matches!(amount, Amount::Bytes(_) | Amount::Time(_))
}

/// RED as written; what is automatic is `None`.
#[derive(Clone, Copy, Debug)]
struct RedSpec {
    min: Option<Amount>,
    max: Option<Amount>,
    weight: Option<f64>,
    max_p: f64,
    gentle: bool,
    wait: bool,
    adaptive: bool,
    by_size: bool,
    packet_size: Option<u64>,
    ecn: bool,
    hard_drop: bool,
}

impl RedSpec {
    /// The defaults of ns-2 and ns-3; those of adaptive RED find thresholds and weight themselves.
    fn new(adaptive: bool) -> RedSpec {
        let fixed = |amount| (!adaptive).then_some(amount);
        RedSpec {
            min: fixed(Amount::Packets(5)),
            max: fixed(Amount::Packets(15)),
            weight: (!adaptive).then_some(0.002),
            max_p: 0.02,
            gentle: true,
            wait: true,
            adaptive,
            by_size: false,
            packet_size: None,
            ecn: true,
            hard_drop: false,
        }
    }

    fn overridden(self, q: &mut Table) -> RedSpec {
        let red = RedSpec {
            min: q.or("min", &THRESHOLD, self.min),
            max: q.or("max", &THRESHOLD, self.max),
            weight: q.or("weight", &WEIGHT, self.weight),
            max_p: q.or("max_p", &Probability, self.max_p),
            gentle: q.or("gentle", &Flag, self.gentle),
            wait: q.or("wait", &Flag, self.wait),
            adaptive: q.or("adaptive", &Flag, self.adaptive),
            by_size: q.or("by_size", &Flag, self.by_size),
            packet_size: q.or("packet_size", &PACKET, self.packet_size),
            ecn: q.or("ecn", &Flag, self.ecn),
            hard_drop: q.or("hard_drop", &Flag, self.hard_drop),
        };
        if (q.raw("min").is_some() || q.raw("max").is_some()) && q.sound(&["min", "max"]) {
            let max_in_bytes = red.max.map(in_bytes);
            if max_in_bytes.is_some_and(|bytes| bytes != red.min.is_some_and(in_bytes)) {
                q.mistake(
                    "max",
                    "is not measured as min is: write both in packets or BDP, or both in bytes or time (an automatic min is in packets)",
                );
            } else if let (Some(Amount::Packets(min)), Some(Amount::Packets(max)))
            | (Some(Amount::Bytes(min)), Some(Amount::Bytes(max)))
            | (Some(Amount::Bdp(min)), Some(Amount::Bdp(max))) = (red.min, red.max)
                && max < min
            {
                let [min, max] = [red.min, red.max].map(|threshold| THRESHOLD.write(&threshold));
                q.mistake("max", format!("{max} is below min, {min}"));
            }
        }
        red
    }

    /// Automatic values as Floyd, Gummadi & Shenker 2001, §4: the weight makes the average follow in a second's time, the
    /// lower threshold is half a target delay of 5 ms.
    fn build(&self, rate: Option<Rate>, around: &Surroundings) -> red::Config {
        const TARGET: Duration = Duration::from_millis(5);
        let mean_packet = self.packet_size.unwrap_or(around.packet) as f64;
        let packets_per_second = rate.map_or(0.0, |rate| rate.as_bps_f64() / (8.0 * mean_packet));
        let amount = |amount: Amount| match resolve(amount, rate, around) {
            Limit::Packets(n) | Limit::Bytes(n) => n as f64,
        };
        let min = self.min.map_or_else(|| (TARGET.as_secs_f64() * packets_per_second / 2.0).max(5.0), amount);
        red::Config {
            in_bytes: self.min.is_some_and(in_bytes),
            min,
            max: self.max.map_or(3.0 * min, amount),
            weight: self.weight.unwrap_or_else(|| 1.0 - exp(-1.0 / packets_per_second)),
            max_p: self.max_p,
            gentle: self.gentle,
            wait: self.wait,
            adaptive: self.adaptive,
            by_size: self.by_size,
            mean_packet,
            ecn: self.ecn,
            hard_drop: self.hard_drop,
        }
    }
}

/// CoDel as written; what is automatic is `None`.
#[derive(Clone, Copy, Debug)]
struct CodelSpec {
    target: Duration,
    interval: Duration,
    mtu: Option<u64>,
    ecn: bool,
    ce_threshold: Option<Duration>,
}

impl CodelSpec {
    /// RFC 8289 §4.4.
    const DEFAULT: CodelSpec = CodelSpec {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        mtu: None,
        ecn: true,
        ce_threshold: None,
    };

    fn overridden(self, q: &mut Table) -> CodelSpec {
        CodelSpec {
            target: q.or("target", &POSITIVE_TIME, self.target),
            interval: q.or("interval", &POSITIVE_TIME, self.interval),
            mtu: q.or("mtu", &PACKET, self.mtu),
            ecn: q.or("ecn", &Flag, self.ecn),
            ce_threshold: q.or("ce_threshold", &CE_THRESHOLD, self.ce_threshold),
        }
    }

    fn build(&self, around: &Surroundings) -> codel::Config {
        codel::Config {
            target: self.target,
            interval: self.interval,
            mtu: self.mtu.unwrap_or(around.packet),
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
        }
    }
}
