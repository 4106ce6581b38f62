//! Queue disciplines: who may wait, who is marked, who is dropped, who goes next.
//!
//! Two kinds. A [`Discipline`] decides when a packet arrives (RED, a step threshold, routers that write a congestion
//! header); the link stays lazy, as with drop-tail, which asks nobody. A [`Scheduler`] keeps the packets itself and is
//! asked again whenever the transmitter is free (CoDel, fair queueing, DualPI2): such a link is *served*, at the price of
//! an event for each packet's departure.
//!
//! To add one: a file beside this one, a `mod` line and an entry in [`REGISTRY`]. See
//! `docs/guides/add-a-queue-discipline.md`.

pub mod anti_ecn;
pub mod blue;
pub mod codel;
pub mod drai;
pub mod droptail;
pub mod dualpi2;
mod entry;
pub mod fq_codel;
pub mod pie;
pub mod quick_start;
pub mod red;
pub mod step;
pub mod xcp;

pub use super::field::{self, FREE, Refusal};
pub use entry::{Around, Entry, FIFO, bdp_bytes};

use self::field::{Amount, Field, Params, Value};
use super::Reason;
use crate::wire::Packet;
use crate::wire::ecn::CE;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Rate, Time};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

/// Every queue discipline there is, in the order in which `cclab list queues` shows them.
pub static REGISTRY: &[Entry] = &[
    droptail::ENTRY,
    // decide when a packet arrives
    red::ENTRY,
    blue::ENTRY,
    step::ENTRY,
    // keep the packets
    codel::ENTRY,
    fq_codel::ENTRY,
    pie::ENTRY,
    dualpi2::ENTRY,
    // drop-tail beside a router that writes congestion headers
    anti_ecn::ENTRY,
    quick_start::ENTRY,
    xcp::ENTRY,
    drai::ENTRY,
];

/// `limit` of most disciplines: as much as Linux's.
pub const LIMIT: Field = Field::amount(
    "limit",
    Amount::Packets(1000),
    "largest amount waiting, in packets, bytes, time or BDP, or \"unlimited\"",
)
.or("unlimited");
/// `ecn` of those that signal.
pub const ECN: Field = Field::flag("ecn", true, "packets of transports that know ECN are marked instead of dropped");

/// A queue in front of a link: small, and cheap to clone.
#[derive(Clone, Debug)]
pub enum Queue {
    /// First-in first-out, the newest dropped when full. The limit is of packets waiting; the one being
    /// sent does not count.
    DropTail {
        /// Largest number waiting.
        limit: Limit,
    },
    /// With a discipline.
    Active(Arc<Active>),
}

/// A discipline that is to be at work.
#[derive(Debug)]
pub struct Active {
    /// Largest number waiting.
    limit: Limit,
    /// Its parameters.
    parameters: Box<dyn Parameters>,
    /// The fields that they were made of, amounts in packets or bytes; none where no scenario was read.
    fields: Option<Params>,
}

/// Parameters of a discipline, checked.
pub trait Parameters: Debug + Send + Sync {
    /// Name of the discipline.
    fn name(&self) -> &'static str;
    /// The discipline at work, its queue empty; it draws from `rng`.
    fn start(&self, rng: Stream) -> Kind;
    /// What a station whose interface queue it is does as TCP Muzha's router.
    fn drai(&self) -> Option<drai::Config> {
        None
    }
}

impl Queue {
    /// A queue with a discipline.
    pub fn new(limit: Limit, parameters: impl Parameters + 'static) -> Queue {
        Queue::Active(Arc::new(Active { limit, parameters: Box::new(parameters), fields: None }))
    }

    /// The same, with the fields that it was made of.
    pub fn of(mut self, fields: impl FnOnce() -> Params) -> Queue {
        if let Queue::Active(active) = &mut self
            && let Some(active) = Arc::get_mut(active)
        {
            active.fields = Some(fields());
        }
        self
    }

    /// The fields that it was made of, where a scenario was read; the limit is one of them.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, Value)> {
        let fields = if let Queue::Active(active) = self { active.fields.as_ref() } else { None };
        fields.into_iter().flat_map(Params::iter)
    }

    /// As [`Parameters::drai`].
    pub fn drai(&self) -> Option<drai::Config> {
        if let Queue::Active(active) = self { active.parameters.drai() } else { None }
    }

    /// Name of its discipline.
    pub fn discipline(&self) -> &'static str {
        match self {
            Queue::DropTail { .. } => droptail::ENTRY.name,
            Queue::Active(active) => active.parameters.name(),
        }
    }

    /// Largest number waiting.
    pub fn limit(&self) -> Limit {
        match self {
            Queue::DropTail { limit } => *limit,
            Queue::Active(active) => active.limit,
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

impl Limit {
    /// Whatever comes.
    pub const UNLIMITED: Limit = Limit::Packets(u64::MAX);
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

/// A discipline that keeps the packets and says which goes next. Its link is served; or it stands at a station of a medium.
pub trait Scheduler: Send {
    /// Takes a packet in, or says why not. What it drops in its stead goes into the ledger.
    ///
    /// # Errors
    /// The packet is refused: [`Reason::Dropped`] because of a full queue, [`Reason::Early`] by choice.
    fn enqueue(&mut self, view: &View, packet: Packet, ledger: &mut Ledger) -> Result<(), Reason>;
    /// The packet to be sent next, which came at that time; `None` when none waits. What it drops on the way goes into
    /// the ledger.
    fn dequeue(&mut self, view: &View, ledger: &mut Ledger) -> Option<(Time, Packet)>;
    /// Takes out the packets that are to go another way: those of which `wanted` says so, in any order.
    fn withdraw(&mut self, wanted: &mut dyn FnMut(&Packet) -> bool);
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
    pub(super) fn withdraw(&mut self, wanted: &mut dyn FnMut(&Packet) -> bool) {
        let bytes = &mut self.bytes;
        self.packets.retain(|(_, packet)| {
            let stays = !wanted(packet);
            *bytes -= if stays { 0 } else { u64::from(packet.size) };
            stays
        });
    }
    pub(super) fn each(&self, each: &mut dyn FnMut(&Packet)) {
        self.packets.iter().for_each(|(_, packet)| each(packet));
    }
}

/// Who decides about the packets of a link.
pub enum Kind {
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
        match queue {
            Queue::DropTail { .. } => Kind::DropTail,
            Queue::Active(active) => active.parameters.start(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There are networks of 400,000 links.
    #[test]
    fn a_queue_is_small() {
        assert!(size_of::<Queue>() <= 24, "{}", size_of::<Queue>());
    }
}
