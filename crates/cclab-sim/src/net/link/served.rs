//! The served half of a link: a scheduler keeps the packets, and is asked for the next whenever the transmitter is free.

use super::{Link, Outcome, Way};
use crate::net::Reason;
use crate::net::queue::{Ledger, Scheduler};
use crate::wire::Packet;
use cclab_algo::Time;
use std::collections::VecDeque;

/// A scheduler, and what the link keeps of it.
pub(super) struct Served {
    pub(super) scheduler: Box<dyn Scheduler>,
    /// Packets and bytes that it keeps.
    pub(super) backlog: (u64, u64),
    /// The same when it was last noted, and when that was.
    noted: (u64, u64),
    since: Time,
    /// When the transmitter is free to ask for the next; `None` while it is idle.
    next: Option<Time>,
    ledger: Ledger,
    /// What was dropped and counted, for the network to bury.
    gone: VecDeque<(Packet, Reason)>,
}

/// A packet that has gone into service.
pub(in crate::net) struct Service {
    pub(in crate::net) packet: Packet,
    /// Under way, or lost behind the link.
    pub(in crate::net) outcome: Outcome,
    /// When to serve the next; `None` on a link that has stopped for good.
    pub(in crate::net) free_at: Option<Time>,
}

impl Served {
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Served {
        let (ledger, gone) = (Ledger::default(), VecDeque::new());
        Served { scheduler, backlog: (0, 0), noted: (0, 0), since: Time::ZERO, next: None, ledger, gone }
    }

    /// Whether a packet is in service, or has just been.
    pub(super) fn is_busy(&self) -> bool {
        self.next.is_some()
    }

    /// A packet came (+1) or left (-1).
    fn count(&mut self, change: i64, size: u32) {
        self.backlog.0 = self.backlog.0.wrapping_add_signed(change);
        self.backlog.1 = self.backlog.1.wrapping_add_signed(change * i64::from(size));
    }
}

impl Link {
    fn served(&mut self) -> &mut Served {
        match &mut self.way {
            Way::Served(served) => served,
            _ => unreachable!("only a served link is served"),
        }
    }

    /// Takes a packet into the queue.
    #[inline(never)]
    pub(super) fn take_in(&mut self, now: Time, packet: &Packet) -> Outcome {
        let view = self.view(now, packet.size);
        let Way::Served(served) = &mut self.way else { unreachable!("only a served link takes in") };
        let taken = served.scheduler.enqueue(&view, *packet, &mut served.ledger);
        let idle = (!served.is_busy()).then(|| self.service.ready(now));
        if taken.is_ok() {
            served.count(1, packet.size);
        }
        self.settle(now);
        if idle != Some(now) {
            self.note_queue(now);
        }
        match taken {
            Ok(()) => {
                self.served().next = self.served().next.or(idle);
                Outcome::Waiting { idle }
            }
            Err(reason) => self.drop(now, reason),
        }
    }

    /// The transmitter is free: the next packet goes into service, if there is one.
    pub(in crate::net) fn serve(&mut self, now: Time) -> Option<Service> {
        let view = self.view(now, 0);
        let served = self.served();
        served.next = None;
        let next = served.scheduler.dequeue(&view, &mut served.ledger);
        if let Some((_, packet)) = &next {
            served.count(-1, packet.size);
        }
        self.settle(now);
        self.note_queue(now);
        let (at, mut packet) = next?;
        let lost = std::mem::take(&mut packet.doomed);
        if at >= self.from && now < self.to {
            self.measured.sojourn.record(now - at);
        }
        let (_, end) = self.service.serve_waiting(now, u64::from(packet.size) + self.overhead);
        self.count_sent(now, end, &packet);
        let again = self.service.again();
        self.served().next = Some(again);
        let lost = lost || self.loses_at(end);
        let outcome = if lost { self.lose(end, Reason::LostBehind) } else { self.launch(end, &packet) };
        Some(Service { packet, outcome, free_at: (again < Time::NEVER).then_some(again) })
    }

    /// Counts what the scheduler has dropped and marked.
    fn settle(&mut self, now: Time) {
        let Way::Served(served) = &mut self.way else { unreachable!("only a served link has a ledger") };
        let marks = std::mem::take(&mut served.ledger.marks);
        self.measured.marks += if now >= self.from { marks } else { 0 };
        while let Way::Served(served) = &mut self.way
            && let Some((packet, reason)) = served.ledger.dropped.pop_front()
        {
            served.count(-1, packet.size);
            served.gone.push_back((packet, reason));
            self.drop(now, reason);
        }
    }

    /// Notes how many wait from now on.
    fn note_queue(&mut self, now: Time) {
        let (from, to) = (self.from, self.to);
        let served = self.served();
        let (before, backlog) = (served.noted, served.backlog);
        if before == backlog {
            return;
        }
        let length = now.min(to).since(served.since.max(from));
        (served.noted, served.since) = (backlog, now);
        self.measured.waiting_time += u128::from(before.0) * u128::from(length.0);
        if now >= from {
            self.measured.queue_max = self.measured.queue_max.max(backlog.0);
        }
        if let Some(changes) = &mut self.changes {
            changes.push((now, backlog.0, backlog.1));
        }
    }

    /// Packets · ns until the end of the run of what has been waiting since the queue was last noted.
    pub(super) fn still_waiting(&self) -> u128 {
        match &self.way {
            Way::Served(served) => {
                u128::from(served.noted.0) * u128::from(self.to.since(served.since.max(self.from)).0)
            }
            _ => 0,
        }
    }

    /// When the transmitter is free to serve the next packet; [`Time::NEVER`] when it is idle, or the link lazy.
    pub(super) fn next_service(&self) -> Time {
        match &self.way {
            Way::Served(served) => served.next.unwrap_or(Time::NEVER),
            _ => Time::NEVER,
        }
    }

    /// The next packet of those that the scheduler has dropped, and why.
    pub(in crate::net) fn take_dropped(&mut self) -> Option<(Packet, Reason)> {
        match &mut self.way {
            Way::Served(served) => served.gone.pop_front(),
            _ => None,
        }
    }
}
