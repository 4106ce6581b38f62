//! Queue disciplines: who may wait, who is marked, who is dropped, who goes next.
//!
//! Two kinds. A [`Discipline`] decides when a packet arrives (RED, a step threshold, routers that write a congestion
//! header); the link stays lazy, as with drop-tail, which asks nobody. A [`Scheduler`] keeps the packets itself and is
//! asked again whenever the transmitter is free (CoDel, fair queueing, DualPI2): such a link is *served*, at the price of
//! an event for each packet's departure.

pub mod anti_ecn;
pub mod codel;
pub mod dualpi2;
pub mod fq_codel;
pub mod pie;
pub mod quick_start;
pub mod red;
pub mod step;
pub mod xcp;

use codel::Codel;
use dualpi2::DualPi2;
use fq_codel::FqCodel;
use pie::Pie;
use red::Red;
use step::Step;

use super::Reason;
use crate::wire::Packet;
use crate::wire::ecn::CE;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Rate, Time};
use std::collections::VecDeque;

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

/// What a discipline sees of its link.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Now.
    pub now: Time,
    /// Packets waiting; neither the one being sent nor the one arriving counts.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
    /// When the transmitter is through with all that waits; in the past if it has been idle since then.
    pub free_at: Time,
    /// Rate of the link now; `None` is infinitely fast.
    pub rate: Option<Rate>,
    /// There is no room for the arriving packet: a [`Discipline`]'s link drops it whatever is decided, a [`Scheduler`]
    /// drops it or another for it.
    pub full: bool,
}

/// What is to become of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may wait.
    Pass,
    /// It may wait, with the mark Congestion Experienced.
    Mark,
    /// It is dropped.
    Drop,
}

impl Verdict {
    /// How a discipline tells a packet's sender of congestion: by a mark if `ecn` and the packet allows it, else by dropping
    /// it (RFC 3168 §5).
    pub fn signal(ecn: bool, packet: &Packet) -> Verdict {
        if ecn && packet.ecn != 0 { Verdict::Mark } else { Verdict::Drop }
    }
}

/// A discipline that decides when a packet arrives. Its queue is first-in first-out.
pub trait Discipline: Send {
    /// A packet arrives; its congestion header may be rewritten. Asked also when the transmitter is idle.
    fn enqueue(&mut self, view: &View, packet: &mut Packet) -> Verdict;
    /// When to call [`Discipline::on_timer`]; [`Time::NEVER`] for never. Asked at the start and after each call.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    /// Periodic work.
    fn on_timer(&mut self, _view: &View) {}
}

/// A discipline that keeps the packets and says which goes next. Its link is served.
pub trait Scheduler: Send {
    /// Takes a packet in, or says why not. What it drops in its stead goes into the ledger.
    ///
    /// # Errors
    /// The packet is refused: [`Reason::Dropped`] because of a full queue, [`Reason::Early`] by choice.
    fn enqueue(&mut self, view: &View, packet: Packet, ledger: &mut Ledger) -> Result<(), Reason>;
    /// The packet to be sent next, which came at that time; `None` when none waits. What it drops on the way goes into
    /// the ledger.
    fn dequeue(&mut self, view: &View, ledger: &mut Ledger) -> Option<(Time, Packet)>;
    /// Calls `each` for every packet that waits.
    fn each(&self, each: &mut dyn FnMut(&Packet));
    /// When to call [`Scheduler::on_timer`]; [`Time::NEVER`] for never. Asked at the start and after each call.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    /// Periodic work.
    fn on_timer(&mut self, _view: &View) {}
}

/// What a [`Scheduler`] did to the packets that it had taken in.
#[derive(Default)]
pub struct Ledger {
    /// Dropped, in order.
    pub(super) dropped: VecDeque<(Packet, Reason)>,
    /// Packets marked.
    pub(super) marks: u64,
}

impl Ledger {
    /// A packet that waited is dropped: [`Reason::Dropped`] for want of room, [`Reason::Early`] by choice.
    pub fn drop(&mut self, packet: Packet, reason: Reason) {
        self.dropped.push_back((packet, reason));
    }
    /// A packet gets the mark Congestion Experienced; one that has it is counted too.
    pub fn mark(&mut self, packet: &mut Packet) {
        packet.ecn = CE;
        self.marks += 1;
    }
}

/// Room for those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Packets at most.
    pub packets: u64,
    /// Bytes at most.
    pub bytes: u64,
}

impl From<Limit> for Room {
    fn from(limit: Limit) -> Room {
        match limit {
            Limit::Packets(packets) => Room { packets, bytes: u64::MAX },
            Limit::Bytes(bytes) => Room { packets: u64::MAX, bytes },
        }
    }
}

impl Room {
    /// Whether a packet of `size` bytes has no room beside these.
    #[inline]
    pub fn is_full(&self, packets: u64, bytes: u64, size: u32) -> bool {
        packets >= self.packets || bytes + u64::from(size) > self.bytes
    }
}

/// Packets in order of arrival, for the schedulers.
#[derive(Default)]
pub(super) struct Fifo {
    packets: VecDeque<(Time, Packet)>,
    bytes: u64,
}

impl Fifo {
    pub(super) fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back((now, packet));
    }
    pub(super) fn pop(&mut self) -> Option<(Time, Packet)> {
        let (at, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some((at, packet))
    }
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    /// How long the first has waited; zero when there is none.
    pub(super) fn head_delay(&self, now: Time) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |&(at, _)| now.since(at))
    }
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(super) fn each(&self, each: &mut dyn FnMut(&Packet)) {
        self.packets.iter().for_each(|(_, packet)| each(packet));
    }
}

/// Who decides about the packets of a link.
pub(super) enum Kind {
    /// Room alone.
    DropTail,
    /// Somebody when they arrive.
    Arrival(Box<dyn Discipline>),
    /// Somebody who keeps them.
    Served(Box<dyn Scheduler>),
}

impl Kind {
    /// The discipline of a link; its draws are from `stream`.
    pub(super) fn new(queue: &Queue, stream: Stream) -> Kind {
        match *queue {
            Queue::DropTail { .. } => Kind::DropTail,
            Queue::AntiEcn { anti_ecn, .. } => Kind::Arrival(Box::new(anti_ecn::AntiEcn::new(anti_ecn))),
            Queue::QuickStart { quick_start, .. } => {
                Kind::Arrival(Box::new(quick_start::QuickStart::new(quick_start, stream)))
            }
            Queue::Xcp { xcp, .. } => Kind::Arrival(Box::new(xcp::Xcp::new(xcp))),
            Queue::Red { red, .. } => Kind::Arrival(Box::new(Red::new(red, stream))),
            Queue::Step { step, .. } => Kind::Arrival(Box::new(Step::new(step))),
            Queue::Codel { codel, .. } => Kind::Served(Box::new(Codel::new(codel))),
            Queue::FqCodel { fq_codel, .. } => Kind::Served(Box::new(FqCodel::new(fq_codel, stream))),
            Queue::Pie { pie, .. } => Kind::Served(Box::new(Pie::new(pie, stream))),
            Queue::DualPi2 { dualpi2, .. } => Kind::Served(Box::new(DualPi2::new(dualpi2))),
        }
    }
}
