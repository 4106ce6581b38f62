//! The queue between routing and MAC: routing's own messages at its head, behind them whatever discipline it has.

use super::{ParcelId, Parcels, StationId};
use crate::net::Reason;
use crate::net::queue::{Kind, Ledger, Queue, Room, Verdict, View, drai};
use crate::wire::ecn::CE;
use cclab_algo::rng::Stream;
use cclab_algo::{Rate, Time};
use std::collections::VecDeque;

/// What a data frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A parcel.
    Parcel(ParcelId),
    /// Who is this?
    ArpRequest(StationId),
    /// I am.
    ArpReply,
}

/// What waits, and for whom; `None` is every neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) content: Content,
    pub(super) next: Option<StationId>,
    /// IP bytes.
    pub(super) size: u32,
}

/// The queue.
///
/// A discipline that keeps packets itself gets copies: each has its parcel's number where else its route is.
pub(super) struct InterfaceQueue {
    /// First-in first-out. Where a scheduler keeps the packets, these go before them: messages, and what is for all.
    items: VecDeque<Item>,
    bytes: u64,
    discipline: Kind,
    /// What the station does as TCP Muzha's router, if told: then the queue itself is drop-tail.
    pub(super) drai: Option<drai::Config>,
    room: Room,
    /// Of data frames, as far as disciplines ask.
    rate: Rate,
    /// Packets and bytes that a scheduler keeps, and the next station of each, by its parcel.
    kept: (u64, u64),
    next: Vec<StationId>,
    ledger: Ledger,
    /// Since when there has been nothing to send; [`Time::NEVER`] while there is.
    free_at: Time,
    /// Parcels that were dropped, for the medium to bury.
    pub(super) dropped: VecDeque<(ParcelId, Reason)>,
    pub(super) marks: u64,
    /// When the queue last changed, and packets · ns until then.
    since: Time,
    waited: u128,
    pub(super) max: u64,
}

impl InterfaceQueue {
    /// An empty queue in front of data frames of this rate; its discipline draws from `rng`.
    pub(super) fn new(queue: &Queue, rate: Rate, rng: Stream) -> InterfaceQueue {
        let drai = queue.drai();
        InterfaceQueue {
            items: VecDeque::new(),
            bytes: 0,
            discipline: if drai.is_some() { Kind::DropTail } else { Kind::new(queue, rng) },
            drai,
            room: queue.limit().into(),
            rate,
            kept: (0, 0),
            next: Vec::new(),
            ledger: Ledger::default(),
            free_at: Time::ZERO,
            dropped: VecDeque::new(),
            marks: 0,
            since: Time::ZERO,
            waited: 0,
            max: 0,
        }
    }

    /// Takes it in, at the head or at the tail. A head that finds the queue full drives the tail out.
    pub(super) fn push(&mut self, now: Time, item: Item, at_head: bool, parcels: &mut Parcels) {
        self.note(now);
        match (item.content, item.next) {
            _ if at_head => {
                self.items.push_front(item);
                self.bytes += u64::from(item.size);
                while self.items.len() as u64 > self.room.packets || self.bytes > self.room.bytes {
                    let Some(tail) = self.items.pop_back() else { break };
                    self.refuse(tail, Reason::Dropped);
                }
            }
            (Content::Parcel(id), Some(next)) if !matches!(self.discipline, Kind::DropTail) => {
                self.ask(now, item, id, next, parcels);
            }
            _ => self.append(item),
        }
        self.max = self.max.max(self.len() as u64);
    }

    /// At the tail, if there is room.
    fn append(&mut self, item: Item) {
        let full = self.room.is_full(self.items.len() as u64, self.bytes, item.size);
        self.items.push_back(item);
        self.bytes += u64::from(item.size);
        if full && let Some(tail) = self.items.pop_back() {
            self.refuse(tail, Reason::Dropped);
        }
    }

    /// What was taken in is dropped.
    fn refuse(&mut self, item: Item, reason: Reason) {
        self.bytes -= u64::from(item.size);
        if let Content::Parcel(parcel) = item.content {
            self.dropped.push_back((parcel, reason));
        }
    }

    /// Asks the discipline.
    #[inline(never)]
    fn ask(&mut self, now: Time, item: Item, id: ParcelId, next: StationId, parcels: &mut Parcels) {
        let view = self.view(now, item.size);
        match &mut self.discipline {
            Kind::DropTail => {}
            Kind::Arrival(discipline) => {
                let packet = &mut parcels[id].packet;
                match discipline.enqueue(&view, packet) {
                    Verdict::Drop => return self.dropped.push_back((id, Reason::Early)),
                    Verdict::Mark if !view.full => {
                        packet.ecn = CE;
                        self.marks += 1;
                    }
                    Verdict::Mark | Verdict::Pass => {}
                }
                self.append(item);
            }
            Kind::Served(scheduler) => {
                let place = id.0 as usize;
                if self.next.len() <= place {
                    self.next.resize(place + 1, next);
                }
                self.next[place] = next;
                let mut packet = parcels[id].packet;
                (packet.next, packet.size) = (id.0, item.size);
                match scheduler.enqueue(&view, packet, &mut self.ledger) {
                    Ok(()) => self.kept = (self.kept.0 + 1, self.kept.1 + u64::from(item.size)),
                    Err(reason) => self.dropped.push_back((id, reason)),
                }
                self.settle();
            }
        }
    }

    /// The first goes into service.
    pub(super) fn pop(&mut self, now: Time, parcels: &mut Parcels) -> Option<Item> {
        self.note(now);
        let first = self.items.pop_front();
        if let Some(item) = &first {
            self.bytes -= u64::from(item.size);
        }
        let next = first.or_else(|| self.dequeue(now, parcels));
        self.free_at = match next {
            Some(_) => Time::NEVER,
            None => self.free_at.min(now),
        };
        next
    }

    /// The next of those that a scheduler keeps.
    fn dequeue(&mut self, now: Time, parcels: &mut Parcels) -> Option<Item> {
        let view = self.view(now, 0);
        let Kind::Served(scheduler) = &mut self.discipline else { return None };
        let next = scheduler.dequeue(&view, &mut self.ledger);
        self.settle();
        let (_, packet) = next?;
        self.leave(packet.size);
        let id = ParcelId(packet.next);
        parcels[id].packet.ecn = packet.ecn;
        Some(Item { content: Content::Parcel(id), next: Some(self.next[id.0 as usize]), size: packet.size })
    }

    /// A scheduler has one less.
    fn leave(&mut self, size: u32) {
        self.kept = (self.kept.0 - 1, self.kept.1 - u64::from(size));
    }

    /// Counts what a scheduler has dropped and marked.
    fn settle(&mut self) {
        self.marks += std::mem::take(&mut self.ledger.marks);
        while let Some((packet, reason)) = self.ledger.dropped.pop_front() {
            self.leave(packet.size);
            self.dropped.push_back((ParcelId(packet.next), reason));
        }
    }

    /// What a discipline sees when a packet of `size` bytes arrives.
    fn view(&self, now: Time, size: u32) -> View {
        let (packets, bytes) = match self.discipline {
            Kind::Served(_) => self.kept,
            _ => (self.items.len() as u64, self.bytes),
        };
        View {
            now,
            packets,
            bytes,
            free_at: self.free_at,
            rate: Some(self.rate),
            full: self.room.is_full(packets, bytes, size),
        }
    }

    /// When the discipline has periodic work; [`Time::NEVER`] when it has none.
    pub(super) fn next_timer(&self) -> Time {
        match &self.discipline {
            Kind::DropTail => Time::NEVER,
            Kind::Arrival(discipline) => discipline.next_timer(),
            Kind::Served(scheduler) => scheduler.next_timer(),
        }
    }

    /// The periodic work of the discipline.
    pub(super) fn tick(&mut self, now: Time) {
        let view = self.view(now, 0);
        match &mut self.discipline {
            Kind::DropTail => {}
            Kind::Arrival(discipline) => discipline.on_timer(&view),
            Kind::Served(scheduler) => scheduler.on_timer(&view),
        }
    }

    /// Takes out the parcels for a neighbour, first come first.
    pub(super) fn take_for(&mut self, now: Time, next: StationId) -> Vec<ParcelId> {
        self.note(now);
        let mut taken = Vec::new();
        let bytes = &mut self.bytes;
        self.items.retain(|item| match item.content {
            Content::Parcel(parcel) if item.next == Some(next) => {
                taken.push(parcel);
                *bytes -= u64::from(item.size);
                false
            }
            _ => true,
        });
        if let Kind::Served(scheduler) = &mut self.discipline {
            let (kept, to) = (&mut self.kept, &self.next);
            scheduler.withdraw(&mut |packet| {
                let wanted = to[packet.next as usize] == next;
                if wanted {
                    taken.push(ParcelId(packet.next));
                    *kept = (kept.0 - 1, kept.1 - u64::from(packet.size));
                }
                wanted
            });
        }
        taken
    }

    /// Packets that wait.
    pub(super) fn len(&self) -> usize {
        self.items.len() + self.kept.0 as usize
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes + self.kept.1
    }

    /// Packets of 1500 bytes that may wait.
    pub(super) fn limit(&self) -> u64 {
        self.room.packets.min(self.room.bytes / 1500)
    }

    /// Packets · ns that packets have waited.
    pub(super) fn waited(&mut self, now: Time) -> u128 {
        self.note(now);
        self.waited
    }

    fn note(&mut self, now: Time) {
        self.waited += u128::from(now.since(self.since).0) * self.len() as u128;
        self.since = now;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Parcel;
    use super::*;
    use crate::net::queue::{Limit, codel, fq_codel, step};
    use crate::wire::Packet;
    use crate::wire::ecn::ECT0;
    use cclab_algo::Duration;

    /// So many parcels of 100 bytes, each of a flow of its own.
    pub(in super::super) fn parcels(n: u32) -> (Parcels, Vec<ParcelId>) {
        let mut parcels = Parcels::default();
        let parcel = |flow| Parcel::between(StationId(0), StationId(1), 1, Packet::udp(flow, Time::ZERO, 0, 100));
        let ids = (0..n).map(|flow| parcels.insert(parcel(flow as usize))).collect();
        (parcels, ids)
    }

    fn queue(queue: &Queue) -> InterfaceQueue {
        InterfaceQueue::new(queue, Rate(8_000_000), Stream::new(1, "queue"))
    }

    fn droptail(limit: Limit) -> InterfaceQueue {
        queue(&Queue::DropTail { limit })
    }

    fn item(id: ParcelId, next: u32) -> Item {
        Item { content: Content::Parcel(id), next: Some(StationId(next)), size: 100 }
    }

    fn dropped(queue: &mut InterfaceQueue) -> Vec<(ParcelId, Reason)> {
        queue.dropped.drain(..).collect()
    }

    /// Room for three; a fourth at the tail is refused, at the head it drives the third out. It stays in the order of coming.
    #[test]
    fn heads_drive_tails_out() {
        for limit in [Limit::Packets(3), Limit::Bytes(399)] {
            let (mut parcels, ids) = parcels(6);
            let mut queue = droptail(limit);
            for (&id, next) in ids.iter().zip([0, 1, 0]) {
                queue.push(Time(0), item(id, next), false, &mut parcels);
            }
            queue.push(Time(10), item(ids[3], 0), false, &mut parcels);
            assert_eq!(dropped(&mut queue), [(ids[3], Reason::Dropped)]);
            queue.push(Time(10), item(ids[4], 1), true, &mut parcels);
            assert_eq!(dropped(&mut queue), [(ids[2], Reason::Dropped)]);
            assert_eq!((queue.len(), queue.bytes(), queue.max, queue.waited(Time(20))), (3, 300, 3, 60));
            // 4 and 1 are for station 1, 0 for station 0
            assert_eq!(queue.take_for(Time(20), StationId(1)), [ids[4], ids[1]]);
            assert_eq!(queue.pop(Time(30), &mut parcels).map(|item| item.content), Some(Content::Parcel(ids[0])));
            assert!(queue.pop(Time(30), &mut parcels).is_none());
            assert_eq!((queue.bytes(), queue.waited(Time(50))), (0, 70));
        }
    }

    fn fq() -> fq_codel::Config {
        let ms = Duration::from_millis;
        let codel = codel::Config { target: ms(5), interval: ms(100), mtu: 100, ecn: true, ce_threshold: Some(ms(1)) };
        fq_codel::Config { limit: Limit::Packets(4), flows: 1024, quantum: 100, codel }
    }

    /// A scheduler sends in turns, marks what it would, drops whom it wants; all of that comes back to the parcels. Messages go first.
    #[test]
    fn a_scheduler_keeps_parcels() {
        let (mut parcels, ids) = parcels(8);
        for (k, &id) in ids.iter().enumerate() {
            // the first four are of one flow
            (parcels[id].packet.flow, parcels[id].packet.ecn) = (k.saturating_sub(3) as u32, ECT0);
        }
        let config = fq();
        let mut queue = queue(&Queue::new(config.limit, config));
        for &id in &ids[..5] {
            queue.push(Time(0), item(id, id.0 % 2), false, &mut parcels);
        }
        // one too many: half of the fattest flow, the oldest first
        let gone = [(ids[0], Reason::Dropped), (ids[1], Reason::Dropped)];
        assert_eq!((dropped(&mut queue).as_slice(), queue.len(), queue.bytes()), (&gone[..], 3, 300));
        queue.push(Time(0), item(ids[7], 0), true, &mut parcels);
        let next = |queue: &mut InterfaceQueue, parcels: &mut Parcels| {
            let Item { content: Content::Parcel(id), next, .. } = queue.pop(Time(2_000_000), parcels)? else {
                return None;
            };
            Some((id, next?.0, parcels[id].packet.ecn))
        };
        assert_eq!(next(&mut queue, &mut parcels), Some((ids[7], 0, ECT0)));
        assert_eq!(next(&mut queue, &mut parcels), Some((ids[2], 0, CE)));
        assert_eq!(next(&mut queue, &mut parcels), Some((ids[4], 0, CE)));
        assert_eq!(queue.marks, 2);
        // what routing takes back is not there any more
        assert_eq!(queue.take_for(Time(3), StationId(1)), [ids[3]]);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
        assert_eq!(next(&mut queue, &mut parcels), None);
    }

    /// A discipline that decides on arrival sees what waits, and since when nobody has.
    #[test]
    fn a_threshold_marks_parcels() {
        let (mut parcels, ids) = parcels(4);
        ids[1..].iter().for_each(|&id| parcels[id].packet.ecn = ECT0);
        let config = step::Config { threshold: Limit::Packets(1), drop: true };
        let mut queue = queue(&Queue::new(Limit::Packets(10), config));
        ids.iter().for_each(|&id| queue.push(Time(0), item(id, 1), false, &mut parcels));
        assert_eq!(ids.iter().map(|&id| parcels[id].packet.ecn).collect::<Vec<_>>(), [0, ECT0, CE, CE]);
        assert_eq!((queue.marks, queue.view(Time(5), 0).free_at), (2, Time(0)));
        (0..4).for_each(|_| assert!(queue.pop(Time(5), &mut parcels).is_some()));
        assert_eq!(queue.view(Time(6), 0).free_at, Time::NEVER);
        assert!(queue.pop(Time(7), &mut parcels).is_none() && queue.pop(Time(9), &mut parcels).is_none());
        assert_eq!(queue.view(Time(9), 0).free_at, Time(7));
    }
}
