//! A one-way link with its queue.
//!
//! First-in first-out makes it lazy: when a packet arrives, the link knows when its service starts and when
//! it ends, so a packet costs one event, its arrival at the far end. Packets under way wait in the link's own
//! pipe, in order; only the first of them is in the event queue. A discipline that decides when a packet leaves
//! makes the link served (see `served.rs`).
//!
//! A link reads no clock and knows no event queue, so whoever has the time can drive one: [`Link::take`] what comes,
//! sleep until [`Link::next_event`], [`Link::pop`] what has arrived.

mod served;

use self::served::Served;
use super::Reason;
use super::config::{self, Jitter, LossPlace, Reorder};
use super::loss::Lottery;
use super::pipe::Pipe;
use super::queue::{Discipline, Kind, Room, Verdict, View};
use super::service::{Propagation, Service};
use super::table::{Links, Whole};
use crate::measure::Histogram;
use crate::wire::ecn::CE;
use crate::wire::{Feedback, Packet};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// What happened to a packet that came to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is through already.
    Through,
    /// It is under way; schedule these.
    Queued(Pending),
    /// It is gone: dropped by the queue now, or lost (at this time).
    Gone(Reason, Time),
    /// It waits in the queue of a served link.
    Waiting {
        /// The transmitter is idle: it is to be served then.
        idle: Option<Time>,
    },
}

/// The events to be scheduled for a link, for who keeps them in a queue of his own: there is one for its line and one
/// for what it holds back, each for the first packet there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// The line was empty; its first packet arrives then.
    pub line: Option<Time>,
    /// Nothing was held back; the first packet that is arrives then.
    pub held: Option<Time>,
    /// The packet is under way twice.
    pub duplicated: bool,
}

/// Impairments, with their streams.
struct Impairments {
    losses: Vec<Lottery>,
    place: LossPlace,
    jitter: Option<(Jitter, Stream)>,
    reorder: Option<(Reorder, Stream)>,
    duplicate: Option<(f64, Stream)>,
    /// From when to when it is down.
    outages: Vec<(Time, Time)>,
}

impl Impairments {
    /// `None` where there are none, which is what the fast path asks.
    fn new(link: &config::Link, seed: u64) -> Option<Box<Impairments>> {
        let stream = |what: &str| Stream::new(seed, &format!("link/{}/{what}", link.name));
        let losses = link.loss.iter().enumerate();
        let impairments = Impairments {
            losses: losses.map(|(i, loss)| Lottery::new(loss, stream(&format!("loss/{i}")))).collect(),
            place: link.loss_place,
            jitter: link.jitter.map(|jitter| (jitter, stream("jitter"))),
            reorder: link.reorder.map(|reorder| (reorder, stream("reorder"))),
            duplicate: (link.duplicate > 0.0).then(|| (link.duplicate, stream("duplicate"))),
            outages: link.outages(),
        };
        (!impairments.losses.is_empty() || impairments.delays()).then(|| Box::new(impairments))
    }

    /// Whether any of them needs the pipe.
    fn delays(&self) -> bool {
        self.jitter.is_some() || self.reorder.is_some() || self.duplicate.is_some() || !self.outages.is_empty()
    }

    /// Whether the link is down then.
    fn is_down(&self, at: Time) -> bool {
        self.outages.iter().any(|&(from, to)| (from..to).contains(&at))
    }

    fn loses(&mut self, packet: &Packet) -> bool {
        self.losses.iter_mut().any(|lottery| lottery.loses(packet))
    }

    fn jitter(&mut self) -> Duration {
        match &mut self.jitter {
            None => Duration::ZERO,
            Some((Jitter::Uniform { max }, rng)) => Duration(rng.below(max.0.saturating_add(1))),
            Some((Jitter::Exponential { mean }, rng)) => Duration::from_secs_f64(rng.exponential(mean.as_secs_f64())),
        }
    }
}

/// Counters over the whole run; those of the measured interval are told apart by [`Link::measures`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) arrived: u64,
    pub(super) duplicated: u64,
    pub(super) dropped: u64,
    pub(super) lost: u64,
    /// Handed on at the far end.
    pub(super) delivered: u64,
    /// Of these, with payload.
    pub(super) data_delivered: u64,
}

/// What is measured between warm-up and end.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) arrived: u64,
    pub(super) sent: u64,
    pub(super) data_sent: u64,
    pub(super) bytes_sent: u64,
    /// Bits sent, framing included: of whole packets, and of parts at the ends of the interval.
    pub(super) bits: u64,
    pub(super) bits_of_parts: f64,
    pub(super) drops: u64,
    pub(super) early_drops: u64,
    pub(super) losses: u64,
    pub(super) marks: u64,
    pub(super) waiting_time: u128,
    pub(super) queue_max: u64,
    pub(super) sojourn: Histogram,
}

/// What a packet meets that comes to a link.
enum Way {
    /// Nothing: everything is through the moment it comes.
    Instant,
    /// A first-in first-out queue.
    Fifo,
    /// One whose discipline decides on arrival.
    Asked(Box<dyn Discipline>),
    /// A queue whose discipline keeps the packets.
    Served(Served),
}

/// A link at work.
pub struct Link {
    service: Service,
    propagation: Propagation,
    overhead: u64,
    room: Room,
    way: Way,
    /// Service starts and sizes of the packets waiting; those of the past are removed when somebody looks.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    impairments: Option<Box<Impairments>>,
    pub(super) line: Pipe,
    pub(super) held: Pipe,
    pub(super) tally: Tally,
    measured: Measured,
    from: Time,
    to: Time,
    /// (time, packets, bytes) whenever the queue changes, when asked for.
    changes: Option<Vec<(Time, u64, u64)>>,
}

impl Link {
    /// A link as configured, its draws from `seed` and its name, measured from `from` to `to`; `log_changes` keeps
    /// every change of its queue.
    pub fn new(link: &config::Link, seed: u64, from: Time, to: Time, log_changes: bool) -> Link {
        let service = Service::new(link.rate, &link.schedule, link.trace.as_ref());
        let propagation = Propagation::new(link.delay, &link.schedule, link.trace.as_ref());
        let impairments = Impairments::new(link, seed);
        let instant =
            service.is_instant() && propagation.is_instant() && !impairments.as_ref().is_some_and(|i| i.delays());
        let way = match Kind::new(&link.queue, Stream::new(seed, &format!("link/{}/queue", link.name))) {
            _ if instant => Way::Instant,
            Kind::DropTail => Way::Fifo,
            Kind::Arrival(discipline) => Way::Asked(discipline),
            Kind::Served(scheduler) => Way::Served(Served::new(scheduler)),
        };
        Link {
            service,
            propagation,
            overhead: u64::from(link.overhead),
            room: link.queue.limit().into(),
            way,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            impairments,
            line: Pipe::default(),
            held: Pipe::default(),
            tally: Tally::default(),
            measured: Measured::default(),
            from,
            to,
            changes: log_changes.then(Vec::new),
        }
    }

    /// Whether `t` lies in the measured interval.
    fn measures(&self, t: Time) -> bool {
        self.from <= t && t < self.to
    }

    /// Takes in a packet at `now`, which is not before the last call; a queue may mark it.
    #[inline]
    pub fn take(&mut self, now: Time, packet: &mut Packet) -> Outcome {
        self.tally.arrived += 1;
        self.measured.arrived += u64::from(now >= self.from);
        let mut lost = false;
        if let Some(impairments) = &mut self.impairments {
            lost = impairments.loses(packet);
            if lost && impairments.place == LossPlace::BeforeQueue {
                return self.lose(now, Reason::Lost);
            }
        }
        match self.way {
            Way::Fifo => self.note_hop(now, packet),
            Way::Instant => {
                self.count_sent(now, now, packet);
                if lost {
                    return self.lose(now, Reason::LostBehind);
                }
                self.count_delivered(packet);
                return Outcome::Through;
            }
            Way::Asked(_) => {
                if self.ask(now, packet) == Verdict::Drop {
                    return self.drop(now, Reason::Early);
                }
            }
            Way::Served(_) => {
                packet.doomed = lost;
                self.note_hop(now, packet);
                return self.take_in(now, packet);
            }
        }
        self.forget_served(now);
        // A free transmitter takes the packet at once, whatever the limit.
        if self.room.is_full(self.waiting.len() as u64, self.waiting_bytes, packet.size) && self.service.is_busy(now) {
            return self.drop(now, Reason::Dropped);
        }
        let (start, end) = self.service.serve(now, u64::from(packet.size) + self.overhead);
        if start > now {
            self.enqueue(now, start, packet.size);
        } else if now >= self.from {
            self.measured.sojourn.record(Duration::ZERO);
        }
        self.count_sent(start, end, packet);
        lost |= self.loses_at(end);
        if lost { self.lose(end, Reason::LostBehind) } else { self.launch(end, packet) }
    }

    /// Whether a packet whose last bit leaves then is lost because the link is down.
    #[inline]
    fn loses_at(&self, end: Time) -> bool {
        self.impairments.as_ref().is_some_and(|impairments| impairments.is_down(end))
    }

    /// A Quick-Start request passes a link with a rate: there has to be a router that takes it back.
    #[inline]
    fn note_hop(&self, now: Time, packet: &mut Packet) {
        if let Some(Feedback::QuickStart { ttl, .. }) = packet.asked()
            && self.service.rate(now).is_some()
        {
            *ttl = ttl.wrapping_add(1);
        }
    }

    /// What a discipline sees when a packet of `size` bytes arrives.
    fn view(&mut self, now: Time, size: u32) -> View {
        let (packets, bytes) = self.backlog(now);
        let busy = match &self.way {
            Way::Served(served) => served.is_busy(),
            _ => self.service.is_busy(now),
        };
        View {
            now,
            packets,
            bytes,
            free_at: self.service.free_at(),
            rate: self.service.rate(now),
            full: self.room.is_full(packets, bytes, size) && busy,
        }
    }

    /// Asks the discipline that decides on arrival.
    #[inline(never)]
    fn ask(&mut self, now: Time, packet: &mut Packet) -> Verdict {
        self.note_hop(now, packet);
        let view = self.view(now, packet.size);
        let Way::Asked(discipline) = &mut self.way else { unreachable!("only such a discipline is asked") };
        let verdict = discipline.enqueue(&view, packet);
        if verdict == Verdict::Mark && !view.full {
            packet.ecn = CE;
            self.measured.marks += u64::from(now >= self.from);
        }
        verdict
    }

    /// When the discipline has periodic work; [`Time::NEVER`] when it has none.
    pub(super) fn next_timer(&self) -> Time {
        match &self.way {
            Way::Instant | Way::Fifo => Time::NEVER,
            Way::Asked(discipline) => discipline.next_timer(),
            Way::Served(served) => served.scheduler.next_timer(),
        }
    }

    /// The periodic work of the discipline; when it has some again.
    pub(super) fn tick(&mut self, now: Time) -> Time {
        let view = self.view(now, 0);
        match &mut self.way {
            Way::Instant | Way::Fifo => {}
            Way::Asked(discipline) => discipline.on_timer(&view),
            Way::Served(served) => served.scheduler.on_timer(&view),
        }
        debug_assert!(self.next_timer() > now, "a discipline's timer moves forward");
        self.next_timer()
    }

    /// When the next packet under way arrives at the far end; [`Time::NEVER`] when none does.
    fn next_arrival(&self) -> Time {
        self.line.next().min(self.held.next())
    }

    /// When something happens next: a packet arrives at the far end, or goes into service, or the discipline has work;
    /// [`Time::NEVER`] when nothing does.
    pub fn next_event(&self) -> Time {
        self.next_arrival().min(self.next_service()).min(self.next_timer())
    }

    /// Takes out the next packet that has arrived at the far end by `now`.
    pub fn pop(&mut self, now: Time) -> Option<Packet> {
        while self.next_timer().min(self.next_service()) <= now.min(self.next_arrival()) {
            if self.next_timer() <= self.next_service() {
                self.tick(self.next_timer());
            } else {
                self.serve(self.next_service());
            }
            while self.take_dropped().is_some() {}
        }
        let at = self.next_arrival();
        if at > now || at == Time::NEVER {
            return None;
        }
        let pipe = if self.line.next() == at { &mut self.line } else { &mut self.held };
        let mut packet = Packet::udp(0, now, 0, 0);
        pipe.pop(&mut packet);
        self.count_delivered(&packet);
        Some(packet)
    }

    /// Puts a packet whose last bit leaves at `departure` on its way.
    #[inline(always)]
    fn launch(&mut self, departure: Time, packet: &Packet) -> Outcome {
        let arrival = departure + self.propagation.delay(departure);
        if self.impairments.is_some() {
            return Outcome::Queued(self.launch_impaired(arrival, packet));
        }
        Outcome::Queued(Pending { line: self.line.push(arrival, packet), ..Pending::default() })
    }

    /// The same where the link does more to a packet than to delay it; without that it would arrive at `arrival`.
    #[inline(never)]
    fn launch_impaired(&mut self, arrival: Time, packet: &Packet) -> Pending {
        let Some(impairments) = &mut self.impairments else { unreachable!("only a link with impairments") };
        let arrival = arrival + impairments.jitter();
        let reorder = impairments.reorder.as_mut();
        let held = reorder.and_then(|(reorder, rng)| rng.chance(reorder.probability).then_some(reorder.delay));
        let duplicated = impairments.duplicate.as_mut().is_some_and(|(p, rng)| rng.chance(*p));
        let (pipe, arrival) = match held {
            Some(delay) => (&mut self.held, arrival + delay),
            None => (&mut self.line, arrival),
        };
        let event = pipe.push(arrival, packet);
        if duplicated {
            self.tally.duplicated += 1;
            pipe.push(arrival, packet);
        }
        let (line, held) = if held.is_some() { (None, event) } else { (event, None) };
        Pending { line, held, duplicated }
    }

    fn drop(&mut self, now: Time, reason: Reason) -> Outcome {
        self.tally.dropped += 1;
        if now >= self.from {
            self.measured.drops += 1;
            self.measured.early_drops += u64::from(reason == Reason::Early);
        }
        Outcome::Gone(reason, now)
    }

    fn lose(&mut self, at: Time, reason: Reason) -> Outcome {
        self.tally.lost += 1;
        self.measured.losses += u64::from(self.measures(at));
        Outcome::Gone(reason, at)
    }

    /// Notes a packet that waits until `start`.
    fn enqueue(&mut self, now: Time, start: Time, size: u32) {
        self.waiting.push_back((start, size));
        self.waiting_bytes += u64::from(size);
        if now >= self.from {
            self.measured.queue_max = self.measured.queue_max.max(self.waiting.len() as u64);
            if start < self.to {
                self.measured.sojourn.record(start - now);
            }
        }
        let waited = start.min(self.to).since(now.max(self.from));
        self.measured.waiting_time += u128::from(waited.0);
        self.log_change(now);
    }

    /// Removes from the queue what has gone into service by `now`.
    fn forget_served(&mut self, now: Time) {
        while let Some(&(start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(size);
            self.log_change(start);
        }
    }

    fn log_change(&mut self, at: Time) {
        if let Some(changes) = &mut self.changes {
            changes.push((at, self.waiting.len() as u64, self.waiting_bytes));
        }
    }

    /// Counts a packet served from `start` to `end` as sent if it ends in the measured interval, its bits by what
    /// the link could send in the part that lies there.
    #[inline]
    fn count_sent(&mut self, start: Time, end: Time, packet: &Packet) {
        if self.measures(end) {
            self.measured.sent += 1;
            self.measured.data_sent += u64::from(packet.payload() > 0);
            self.measured.bytes_sent += u64::from(packet.size);
            if start >= self.from {
                self.measured.bits += (u64::from(packet.size) + self.overhead) * 8;
                return;
            }
        }
        self.count_part(start, end, packet);
    }

    /// Counts the part of a service that lies in the measured interval.
    #[inline(never)]
    fn count_part(&mut self, start: Time, end: Time, packet: &Packet) {
        if start < self.to && end >= self.from {
            let bytes = u64::from(packet.size) + self.overhead;
            self.measured.bits_of_parts += self.service.part((start, end), (self.from, self.to), bytes);
        }
    }

    /// Counts a packet as handed on.
    pub(super) fn count_delivered(&mut self, packet: &Packet) {
        self.tally.delivered += 1;
        self.tally.data_delivered += u64::from(packet.payload() > 0);
    }

    /// The measured interval begins: what waits now is its first maximum.
    pub(super) fn begin_measuring(&mut self, now: Time) {
        self.measured.queue_max = self.backlog(now).0;
    }

    /// The measured interval ends, before its time.
    pub(super) fn end(&mut self, now: Time) {
        self.to = now;
    }

    /// Packets and bytes waiting at `now`.
    pub(super) fn backlog(&mut self, now: Time) -> (u64, u64) {
        if let Way::Served(served) = &self.way {
            return served.backlog;
        }
        self.forget_served(now);
        (self.waiting.len() as u64, self.waiting_bytes)
    }

    /// Changes of the queue noted so far.
    pub(super) fn changes(&self) -> usize {
        self.changes.as_ref().map_or(0, Vec::len)
    }

    /// Whenever the queue changed before `end`: time, packets, bytes.
    pub fn take_changes(&mut self, end: Time) -> Vec<(Time, u64, u64)> {
        self.forget_served(Time(end.0.saturating_sub(1)));
        self.changes.take().unwrap_or_default()
    }

    /// What there is to tell of it once the measured interval, `seconds` long, is over.
    pub(super) fn whole<'a>(&'a self, name: &'a str, seconds: f64) -> Whole<'a> {
        Whole {
            name,
            m: &self.measured,
            seconds,
            waiting_time: self.measured.waiting_time + self.still_waiting(),
            capacity: self.service.capacity(self.from, self.to),
            rate: self.service.rate(Time::ZERO),
            delay: self.propagation.first_delay(),
            room: self.room,
        }
    }

    /// What was measured, as a table of one row: for whoever drives a link by hand.
    pub fn table(&self, name: &str) -> Links {
        let mut table = Links::default();
        table.push(&self.whole(name, self.to.since(self.from).as_secs_f64()));
        table
    }

    /// Calls `each` with the flow of every packet that is under way, waiting for service included.
    pub(super) fn each_under_way(&self, each: &mut dyn FnMut(u32)) {
        self.line.packets().chain(self.held.packets()).for_each(|packed| each(packed.flow()));
        if let Way::Served(served) = &self.way {
            served.scheduler.each(&mut |packet| each(packet.flow));
        }
    }

    /// How many these are, if everything adds up.
    pub(super) fn under_way(&self) -> u64 {
        let t = &self.tally;
        t.arrived + t.duplicated - t.delivered - t.dropped - t.lost
    }

    /// What does not add up, if anything: arrived + duplicated = delivered + dropped + lost + under way.
    pub fn imbalance(&self) -> Option<String> {
        let mut under_way = 0;
        self.each_under_way(&mut |_| under_way += 1);
        let t = &self.tally;
        (t.arrived + t.duplicated != t.delivered + t.dropped + t.lost + under_way)
            .then(|| format!("{t:?}, {under_way} under way"))
    }
}
