//! `queue`: the discipline of a link and its parameters.

use super::link::{Surroundings, bdp_bytes};
use super::quantity::{
    Amount, Amounts, Flag, Integer, Number, Or, POSITIVE_TIME, Probability, SIZE, Sizes, TIME, Times, Words,
};
use super::reader::{Kind, Table};
use super::{Limit, Queue};
use crate::net::queue::pie::{self, Estimator};
use crate::net::queue::{anti_ecn, codel, dualpi2, fq_codel, quick_start, red, step, xcp};
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
    Step(StepSpec),
    Codel(CodelSpec),
    FqCodel(FqCodelSpec),
    Pie(PieSpec),
    DualPi2(dualpi2::Config),
    AntiEcn(anti_ecn::Config),
    QuickStart(quick_start::Config),
    Xcp(xcp::Config),
}

/// Names of the disciplines.
#[derive(Clone, Copy, PartialEq)]
enum Name {
    DropTail,
    Red,
    Step,
    Codel,
    FqCodel,
    Pie,
    DualPi2,
    AntiEcn,
    QuickStart,
    Xcp,
}
const DISCIPLINES: Words<Name> = Words(&[
    ("droptail", Name::DropTail),
    ("red", Name::Red),
    ("step", Name::Step),
    ("codel", Name::Codel),
    ("fq-codel", Name::FqCodel),
    ("pie", Name::Pie),
    ("dualpi2", Name::DualPi2),
    ("anti-ecn", Name::AntiEcn),
    ("quick-start", Name::QuickStart),
    ("xcp", Name::Xcp),
]);

const LIMIT: Or<Amounts> = Or("unlimited", Amounts { time: true });
const AUTO: &str = "auto";
const THRESHOLD: Or<Amounts> = Or(AUTO, Amounts { time: true });
const WEIGHT: Or<Probability> = Or(AUTO, Probability);
const PACKET: Or<Sizes> = Or(AUTO, SIZE);
const CE_THRESHOLD: Or<Times> = Or("off", TIME);
const STEP: Amounts = Amounts { time: true };
const FLOWS: Integer = Integer { min: 1, max: 65_536 };
const QUANTUM: Sizes = Sizes { min: 1, max: 1_000_000 };
const COUPLING: Number = Number { min: 0.1, max: 100.0 };
const GAIN: Number = Number { min: 0.0, max: 1000.0 };
const FLAVOURS: Words<bool> = Words(&[("paper", false), ("linux", true)]);
const ESTIMATORS: Words<Estimator> = Words(&[("timestamp", Estimator::Timestamp), ("rate", Estimator::Rate)]);
const SCHEDULERS: Words<bool> = Words(&[("weighted", false), ("shifted", true)]);
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
            self = QueueSpec::new(name, rate, &mut q);
        }
        self.limit = q.or("limit", &LIMIT, self.limit);
        self.discipline = match self.discipline {
            Discipline::DropTail => Discipline::DropTail,
            Discipline::Red(red) => Discipline::Red(red.overridden(&mut q)),
            Discipline::Step(step) => Discipline::Step(step.overridden(&mut q)),
            Discipline::Codel(codel) => Discipline::Codel(codel.overridden(&mut q)),
            Discipline::FqCodel(fq_codel) => Discipline::FqCodel(fq_codel.overridden(&mut q)),
            Discipline::Pie(pie) => Discipline::Pie(pie.overridden(&mut q)),
            Discipline::DualPi2(dualpi2) => Discipline::DualPi2(read_dualpi2(dualpi2, &mut q)),
            Discipline::AntiEcn(anti_ecn::Config { share }) => {
                Discipline::AntiEcn(anti_ecn::Config { share: q.or("share", &Probability, share) })
            }
            Discipline::QuickStart(quick_start::Config { threshold }) => {
                Discipline::QuickStart(quick_start::Config { threshold: q.or("threshold", &Probability, threshold) })
            }
            Discipline::Xcp(xcp) => Discipline::Xcp(xcp),
        };
        t.put("queue", q.finish());
        self
    }

    /// The defaults of a discipline. Some depend on what `q` says of others.
    fn new(name: Name, rate: Option<Rate>, q: &mut Table) -> QueueSpec {
        let many = |discipline| QueueSpec { limit: Some(MANY), discipline };
        match name {
            Name::DropTail => QueueSpec::before(rate),
            Name::Red => many(Discipline::Red(RedSpec::new(q.peek("adaptive", &Flag).unwrap_or(false)))),
            Name::Step => many(Discipline::Step(StepSpec { threshold: Amount::Packets(20), drop: true })),
            Name::Codel => many(Discipline::Codel(CodelSpec::DEFAULT)),
            Name::FqCodel => {
                let fq_codel = FqCodelSpec { flows: 1024, quantum: 1514, codel: CodelSpec::DEFAULT };
                QueueSpec { limit: Some(Amount::Packets(10_240)), discipline: Discipline::FqCodel(fq_codel) }
            }
            Name::Pie => many(Discipline::Pie(PieSpec::new(q.peek("flavour", &FLAVOURS).unwrap_or(false)))),
            Name::AntiEcn => many(Discipline::AntiEcn(anti_ecn::Config { share: 0.9 })),
            Name::QuickStart => many(Discipline::QuickStart(quick_start::Config { threshold: 0.9 })),
            Name::Xcp => many(Discipline::Xcp(xcp::Config::PAPER)),
            Name::DualPi2 => QueueSpec {
                limit: Some(Amount::Time(Duration::from_millis(250))),
                discipline: Discipline::DualPi2(DUALPI2),
            },
        }
    }

    /// The queue of the model.
    pub(super) fn build(&self, rate: Option<Rate>, around: &Surroundings) -> Queue {
        let limit = self.limit.map_or(Limit::Packets(u64::MAX), |limit| resolve(limit, rate, around));
        match self.discipline {
            Discipline::DropTail => Queue::DropTail { limit },
            Discipline::Red(red) => Queue::Red { limit, red: red.build(rate, around) },
            Discipline::Step(StepSpec { threshold, drop }) => {
                Queue::Step { limit, step: step::Config { threshold: resolve(threshold, rate, around), drop } }
            }
            Discipline::AntiEcn(anti_ecn) => Queue::AntiEcn { limit, anti_ecn },
            Discipline::QuickStart(quick_start) => Queue::QuickStart { limit, quick_start },
            Discipline::Xcp(xcp) => Queue::Xcp { limit, xcp },
            Discipline::Codel(codel) => Queue::Codel { limit, codel: codel.build(around) },
            Discipline::FqCodel(FqCodelSpec { flows, quantum, codel }) => {
                let fq_codel = fq_codel::Config { flows, quantum, codel: codel.build(around) };
                Queue::FqCodel { limit, fq_codel }
            }
            Discipline::Pie(PieSpec { packet_size, pie }) => {
                let mean_packet = packet_size.unwrap_or(around.packet);
                Queue::Pie { limit, pie: pie::Config { mean_packet, ..pie } }
            }
            Discipline::DualPi2(dualpi2) => Queue::DualPi2 { limit, dualpi2 },
        }
    }
}

impl Discipline {
    fn name(&self) -> Name {
        match self {
            Discipline::DropTail => Name::DropTail,
            Discipline::Red(_) => Name::Red,
            Discipline::Step(_) => Name::Step,
            Discipline::Codel(_) => Name::Codel,
            Discipline::FqCodel(_) => Name::FqCodel,
            Discipline::Pie(_) => Name::Pie,
            Discipline::DualPi2(_) => Name::DualPi2,
            Discipline::AntiEcn(_) => Name::AntiEcn,
            Discipline::QuickStart(_) => Name::QuickStart,
            Discipline::Xcp(_) => Name::Xcp,
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

/// A step threshold as written.
#[derive(Clone, Copy, Debug)]
struct StepSpec {
    threshold: Amount,
    drop: bool,
}

impl StepSpec {
    fn overridden(self, q: &mut Table) -> StepSpec {
        StepSpec { threshold: q.or("threshold", &STEP, self.threshold), drop: q.or("drop", &Flag, self.drop) }
    }
}

/// FQ-CoDel as written.
#[derive(Clone, Copy, Debug)]
struct FqCodelSpec {
    flows: u64,
    quantum: u64,
    codel: CodelSpec,
}

impl FqCodelSpec {
    fn overridden(self, q: &mut Table) -> FqCodelSpec {
        FqCodelSpec {
            flows: q.or("flows", &FLOWS, self.flows),
            quantum: q.or("quantum", &QUANTUM, self.quantum),
            codel: self.codel.overridden(q),
        }
    }
}

/// PIE as written; what is automatic is `None`.
#[derive(Clone, Copy, Debug)]
struct PieSpec {
    packet_size: Option<u64>,
    pie: pie::Config,
}

impl PieSpec {
    /// RFC 8033 §4; Linux turns derandomisation on.
    fn new(linux: bool) -> PieSpec {
        let pie = pie::Config {
            target: Duration::from_millis(15),
            interval: Duration::from_millis(15),
            burst: Duration::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            estimator: Estimator::Timestamp,
            derandomise: linux,
            linux,
            ecn: true,
            ecn_limit: 0.1,
            mean_packet: 0,
        };
        PieSpec { packet_size: None, pie }
    }

    fn overridden(self, q: &mut Table) -> PieSpec {
        let old = self.pie;
        let pie = pie::Config {
            target: q.or("target", &POSITIVE_TIME, old.target),
            interval: q.or("interval", &POSITIVE_TIME, old.interval),
            burst: q.or("burst", &TIME, old.burst),
            alpha: q.or("alpha", &GAIN, old.alpha),
            beta: q.or("beta", &GAIN, old.beta),
            estimator: q.or("estimator", &ESTIMATORS, old.estimator),
            derandomise: q.or("derandomise", &Flag, old.derandomise),
            linux: q.or("flavour", &FLAVOURS, old.linux),
            ecn: q.or("ecn", &Flag, old.ecn),
            ecn_limit: q.or("ecn_limit", &Probability, old.ecn_limit),
            mean_packet: 0,
        };
        PieSpec { packet_size: q.or("packet_size", &PACKET, self.packet_size), pie }
    }
}

/// RFC 9332 appendix A.1, with Tupdate and the gains as its text has them.
const DUALPI2: dualpi2::Config = dualpi2::Config {
    target: Duration::from_millis(15),
    interval: Duration::from_millis(16),
    alpha: 0.16,
    beta: 3.2,
    coupling: 2.0,
    ramp_min: Duration::from_micros(800),
    ramp_max: Duration::from_micros(1200),
    shifted: false,
    shift: Duration::from_millis(50),
    classic_share: 1.0 / 16.0,
};

fn read_dualpi2(old: dualpi2::Config, q: &mut Table) -> dualpi2::Config {
    let new = dualpi2::Config {
        target: q.or("target", &POSITIVE_TIME, old.target),
        interval: q.or("interval", &POSITIVE_TIME, old.interval),
        alpha: q.or("alpha", &GAIN, old.alpha),
        beta: q.or("beta", &GAIN, old.beta),
        coupling: q.or("coupling", &COUPLING, old.coupling),
        ramp_min: q.or("ramp_min", &TIME, old.ramp_min),
        ramp_max: q.or("ramp_max", &TIME, old.ramp_max),
        shifted: q.or("scheduler", &SCHEDULERS, old.shifted),
        shift: q.or("shift", &TIME, old.shift),
        classic_share: q.or("classic_share", &Probability, old.classic_share),
    };
    if new.ramp_max < new.ramp_min && (q.raw("ramp_min").is_some() || q.raw("ramp_max").is_some()) {
        let [min, max] = [new.ramp_min, new.ramp_max].map(|delay| TIME.write(&delay));
        q.mistake("ramp_max", format!("{max} is below ramp_min, {min}"));
    }
    new
}
