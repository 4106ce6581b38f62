//! The checked scenario: types that cannot be wrong.
//!
//! Every topology has become a graph of nodes and one-way links, every flow a pair of routes, every
//! quantity a number in its unit, every option a value.

use crate::app::workload::{Page, Sizes, Variate};
use crate::net::queue::{anti_ecn, codel, dualpi2, fq_codel, pie, quick_start, red, step, xcp};
use crate::tcp;
use cclab_algo::cc;
use cclab_algo::params::Given;
use cclab_algo::{Duration, Rate, Time};

/// One network with its flows.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name, for people.
    pub name: String,
    /// Simulated time.
    pub duration: Duration,
    /// Left out of the summary.
    pub warmup: Duration,
    /// Seed, unless the run names another.
    pub seed: u64,
    /// Node names; a node's number is its index.
    pub nodes: Vec<String>,
    /// One-way links; a link's number is its index.
    pub links: Vec<Link>,
    /// Flows; replicas of a `count` are separate flows here.
    pub flows: Vec<Flow>,
    /// Background traffic: an entry in both directions is two here.
    pub background: Vec<Background>,
    /// What to record.
    pub record: Record,
    /// The run stops with an error after so many events.
    pub max_events: u64,
    /// What the person wrote, normalised, as JSON: for manifests and hashes.
    pub source: serde_json::Value,
}

/// A one-way link with the queue in front of it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name; in a dumbbell `bottleneck` and `bottleneck-reverse`, else `from->to`.
    pub name: String,
    /// Index of the node it leaves.
    pub from: usize,
    /// Index of the node it reaches.
    pub to: usize,
    /// Rate; `None` is infinitely fast.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Queue in front of the link.
    pub queue: Queue,
    /// Bytes of framing added to every packet on this link.
    pub overhead: u32,
    /// Impairments, applied in this order to every packet.
    pub loss: Vec<Loss>,
    /// Whether losses happen before the queue or after the link.
    pub loss_place: LossPlace,
    /// Extra delay, drawn per packet; packets keep their order.
    pub jitter: Option<Jitter>,
    /// Packets held back so that later ones overtake them.
    pub reorder: Option<Reorder>,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Rate and delay from these times on, in order of time.
    pub schedule: Vec<Change>,
}

/// A queue discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// First-in first-out, the newest dropped when full. The limit is of packets waiting; the one being
    /// sent does not count.
    DropTail {
        /// Largest number waiting.
        limit: Limit,
    },
    /// Random early detection.
    Red {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        red: red::Config,
    },
    /// Drop-tail beside a router that clears anti-ECN's bit.
    AntiEcn {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        anti_ecn: anti_ecn::Config,
    },
    /// Drop-tail beside a router that approves Quick-Start requests.
    QuickStart {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        quick_start: quick_start::Config,
    },
    /// Drop-tail beside an XCP router.
    Xcp {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        xcp: xcp::Config,
    },
    /// Controlled delay.
    Codel {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        codel: codel::Config,
    },
    /// Marking at a step threshold.
    Step {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        step: step::Config,
    },
    /// Fair queueing with controlled delay.
    FqCodel {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        fq_codel: fq_codel::Config,
    },
    /// Proportional integral controller enhanced.
    Pie {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        pie: pie::Config,
    },
    /// Dual queue, coupled.
    DualPi2 {
        /// Largest number waiting.
        limit: Limit,
        /// Its parameters.
        dualpi2: dualpi2::Config,
    },
}

impl Queue {
    /// Largest number waiting.
    pub fn limit(&self) -> Limit {
        match *self {
            Queue::DropTail { limit }
            | Queue::Red { limit, .. }
            | Queue::Step { limit, .. }
            | Queue::Codel { limit, .. }
            | Queue::FqCodel { limit, .. }
            | Queue::Pie { limit, .. }
            | Queue::DualPi2 { limit, .. }
            | Queue::AntiEcn { limit, .. }
            | Queue::QuickStart { limit, .. }
            | Queue::Xcp { limit, .. } => limit,
        }
    }
}

/// The limit of a queue, resolved to packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Packets waiting.
    Packets(u64),
    /// Bytes waiting.
    Bytes(u64),
}

/// A loss model and what it applies to.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Which packets.
    pub applies_to: AppliesTo,
    /// How they are chosen.
    pub model: LossModel,
}

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliesTo {
    /// Packets with payload.
    Data,
    /// Packets without.
    Ack,
    /// Both.
    All,
}

/// Where losses happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPlace {
    /// Before the queue: a lost packet takes no room and no time.
    BeforeQueue,
    /// After the link: a lost packet was sent for nothing.
    AfterLink,
}

/// How packets are chosen to be lost.
#[derive(Clone, Debug, PartialEq)]
pub enum LossModel {
    /// Each with probability `p`, independently.
    Bernoulli {
        /// Probability.
        p: f64,
    },
    /// Two states; a packet first moves the chain, then is lost with the state's probability
    /// (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// P(good → bad).
        p: f64,
        /// P(bad → good).
        r: f64,
        /// Loss probability in the good state.
        good: f64,
        /// Loss probability in the bad state.
        bad: f64,
    },
    /// Every n-th packet.
    Periodic {
        /// n ≥ 1.
        every: u64,
    },
    /// These packets of one flow, counted from 1 in the order in which they reach this link.
    Named {
        /// Flow index; `None` counts all flows together.
        flow: Option<usize>,
        /// Which, ascending.
        packets: Vec<u64>,
    },
}

/// Extra delay per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Uniform in `[0, max]`.
    Uniform {
        /// Largest extra delay.
        max: Duration,
    },
    /// Exponential with this mean.
    Exponential {
        /// Mean extra delay.
        mean: Duration,
    },
}

/// Packets held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: f64,
    /// By how much.
    pub delay: Duration,
}

/// From `at` on, the link has this rate and this delay (where given).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// New rate.
    pub rate: Option<Rate>,
    /// New delay. Packets keep their order across a change.
    pub delay: Option<Duration>,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Label, unique in the scenario, e.g. `cubic-1`.
    pub label: String,
    /// Node index of the source.
    pub from: usize,
    /// Node index of the destination.
    pub to: usize,
    /// Links from source to destination.
    pub route: Vec<usize>,
    /// Links back.
    pub route_back: Vec<usize>,
    /// When it starts, before jitter.
    pub start: Time,
    /// The start is delayed by a uniform draw in `[0, start_jitter]` from the flow's own stream.
    pub start_jitter: Duration,
    /// When a source without end stops; `None` at the end of the run.
    pub stop: Option<Time>,
    /// Processing time of the source host: each packet leaves it later by a uniform draw in
    /// `[0, send_jitter]` from the flow's own stream, order kept. Breaks phase effects (Floyd & Jacobson 1992).
    pub send_jitter: Duration,
    /// What it sends.
    pub traffic: Traffic,
}

/// What a flow sends.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// A TCP connection.
    Tcp {
        /// Bytes to transfer; `None` without end.
        size: Option<u64>,
        /// Options of both ends.
        config: Box<tcp::Config>,
        /// Congestion control.
        cc: &'static cc::Entry,
        /// Its parameters, checked, as written.
        cc_params: Vec<(String, Given)>,
    },
    /// Constant bit rate over UDP.
    Cbr {
        /// Rate of IP packets, headers included.
        rate: Rate,
        /// Bytes of an IP packet, headers included.
        packet_size: u32,
    },
    /// The same while it is on; on and off for times drawn in turn.
    OnOff {
        /// Rate of IP packets while on, headers included.
        rate: Rate,
        /// Bytes of an IP packet, headers included.
        packet_size: u32,
        /// Lengths of the bursts, s.
        on: Variate,
        /// Lengths of the silences, s.
        off: Variate,
    },
}

/// Connections that come and go, in one direction.
#[derive(Clone, Debug)]
pub struct Background {
    /// Label, unique among the entries of one direction.
    pub label: String,
    /// Whether this is the reverse direction of the entry.
    pub reverse: bool,
    /// Links from the sources to the destinations.
    pub route: Vec<usize>,
    /// Links back.
    pub route_back: Vec<usize>,
    /// Propagation there and back over these links.
    pub base_rtt: Duration,
    /// Base RTT of each connection, s. What it has beyond `base_rtt` is delay between its source and the network.
    pub rtt: Variate,
    /// Rate of the slowest link of `route`, of which loads are shares.
    pub rate: Option<Rate>,
    /// Share of it that the connections are to offer; NaN where that is not known.
    pub load: f64,
    /// When the first one may start.
    pub start: Time,
    /// From when on none starts any more.
    pub stop: Option<Time>,
    /// As [`Flow::send_jitter`], of every connection.
    pub send_jitter: Duration,
    /// When they start.
    pub arrivals: Arrivals,
    /// How much they transfer.
    pub sizes: Sizes,
    /// Options of both ends.
    pub config: Box<tcp::Config>,
    /// Congestion control.
    pub cc: &'static cc::Entry,
    /// Its parameters, checked, as written.
    pub cc_params: Vec<(String, Given)>,
}

/// When connections of the background start.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At independent moments.
    Poisson {
        /// Mean number per second.
        per_s: f64,
    },
    /// As web users request objects, who wait for them and think in between.
    Users {
        /// How many.
        users: u32,
        /// What each does.
        page: Page,
    },
    /// As the objects of web pages, which begin at independent moments.
    Pages {
        /// Mean number of pages per second.
        per_s: f64,
        /// How each is fetched.
        page: Page,
    },
}

impl Arrivals {
    /// The pages, where there are any.
    pub fn page(&self) -> Option<&Page> {
        match self {
            Arrivals::Poisson { .. } => None,
            Arrivals::Users { page, .. } | Arrivals::Pages { page, .. } => Some(page),
        }
    }
    /// `web` or `poisson`.
    pub fn kind(&self) -> &'static str {
        if self.page().is_some() { "web" } else { "poisson" }
    }
    /// Web users; NaN where there are none.
    pub fn users(&self) -> f64 {
        if let Arrivals::Users { users, .. } = self { f64::from(*users) } else { f64::NAN }
    }
}

impl Background {
    /// Whether a connection may have delay of its own.
    pub fn has_delay(&self) -> bool {
        self.rtt != Variate::Fixed(self.base_rtt.as_secs_f64())
    }
}

/// What to record beside the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Samples of flows and queues.
    pub samples: Sampling,
    /// Every packet at every link, as a table.
    pub packets: bool,
    /// A capture at one host of every flow.
    pub capture: Option<Capture>,
}

/// When flows and queues are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Never.
    Off,
    /// At this interval.
    Every(Duration),
    /// Whenever a value changes.
    OnChange,
}

/// A pcapng capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// At the receivers instead of the senders.
    pub at_receiver: bool,
    /// Bytes of each packet kept, from the IP header on; `None` keeps all.
    pub snaplen: Option<u32>,
}
