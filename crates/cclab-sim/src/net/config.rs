//! What a network is made of: links, their impairments, their changes over time.

pub use super::medium::config::{Crossing, Medium};
use super::queue::{Limit, Queue};
use super::trace::Trace;
use cclab_algo::{Duration, Rate, Time};
use std::sync::Arc;

/// A one-way link with the queue in front of it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name; in a dumbbell `bottleneck` and `bottleneck-reverse`, else `from->to`.
    pub name: String,
    /// Index of the node it leaves.
    pub from: usize,
    /// Index of the node it reaches.
    pub to: usize,
    /// Rate, the mean one of a trace that says it; `None` is infinitely fast.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Queue in front of the link.
    pub queue: Queue,
    /// Bytes of framing added to every packet on this link, and of a tunnel over UDP.
    pub overhead: u32,
    /// The TCP connection that carries whatever crosses this link.
    pub tunnel: Option<Tunnel>,
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
    /// What it follows in their place.
    pub trace: Option<Arc<Trace>>,
}

impl Link {
    /// From when to when it is down.
    pub fn outages(&self) -> Vec<(Time, Time)> {
        let mut outages: Vec<(Time, Time)> = Vec::new();
        for (at, up) in self.schedule.iter().filter_map(|change| Some((change.at, change.up?))) {
            match outages.last_mut().filter(|last| last.1 == Time::NEVER) {
                Some(last) if up => last.1 = at,
                None if !up => outages.push((at, Time::NEVER)),
                _ => {}
            }
        }
        outages
    }
}

/// The mouth of a TCP connection that carries packets across a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Name, that of the connection; at the end that did not open it `-reverse` follows.
    pub name: String,
    /// Packets of which nothing has been sent, at most; what comes to more is dropped.
    pub buffer: Limit,
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
    /// Whether the link is up. While it is down, it loses each packet whose last bit would leave.
    pub up: Option<bool>,
}
