//! The queue between routing and MAC: drop-tail, with routing's own messages at its head.

use super::{ParcelId, StationId};
use cclab_algo::Time;
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
}

/// The queue.
pub(super) struct InterfaceQueue {
    items: VecDeque<Item>,
    room: usize,
    /// When the queue last changed, and packets · ns until then.
    since: Time,
    waited: u128,
    pub(super) max: u64,
}

impl InterfaceQueue {
    pub(super) fn new(room: usize) -> InterfaceQueue {
        InterfaceQueue { items: VecDeque::new(), room, since: Time::ZERO, waited: 0, max: 0 }
    }

    /// Takes it in, at the head or at the tail; what finds no room. A head that finds the queue full drives the tail out.
    pub(super) fn push(&mut self, now: Time, item: Item, at_head: bool) -> Option<Item> {
        self.note(now);
        if at_head {
            self.items.push_front(item);
        } else if self.items.len() < self.room {
            self.items.push_back(item);
        } else {
            return Some(item);
        }
        let driven_out = if self.items.len() > self.room { self.items.pop_back() } else { None };
        self.max = self.max.max(self.items.len() as u64);
        driven_out
    }

    /// The first goes into service.
    pub(super) fn pop(&mut self, now: Time) -> Option<Item> {
        self.note(now);
        self.items.pop_front()
    }

    /// Takes out the parcels for a neighbour, first come first.
    pub(super) fn take_for(&mut self, now: Time, next: StationId) -> Vec<ParcelId> {
        self.note(now);
        let mut taken = Vec::new();
        self.items.retain(|item| match item.content {
            Content::Parcel(parcel) if item.next == Some(next) => {
                taken.push(parcel);
                false
            }
            _ => true,
        });
        taken
    }

    /// Packets that wait.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Packets · ns that packets have waited.
    pub(super) fn waited(&mut self, now: Time) -> u128 {
        self.note(now);
        self.waited
    }

    fn note(&mut self, now: Time) {
        self.waited += u128::from(now.since(self.since).0) * self.items.len() as u128;
        self.since = now;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Parcel, Parcels};
    use super::*;
    use crate::wire::Packet;

    pub(in super::super) fn parcels(n: u32) -> Vec<ParcelId> {
        let mut parcels = Parcels::default();
        let parcel = || Parcel {
            packet: Packet::udp(0, Time::ZERO, 0, 100),
            source: StationId(0),
            destination: None,
            ttl: 1,
            hops: 0,
            message: None,
            path: None,
        };
        (0..n).map(|_| parcels.insert(parcel())).collect()
    }

    /// Room for three; a fourth at the tail is refused, at the head it drives the third out. It stays in the order of coming.
    #[test]
    fn heads_drive_tails_out() {
        let ids = parcels(6);
        let item = |i: usize, next: u32| Item { content: Content::Parcel(ids[i]), next: Some(StationId(next)) };
        let mut queue = InterfaceQueue::new(3);
        for i in 0..3 {
            assert!(queue.push(Time(0), item(i, i as u32 % 2), false).is_none());
        }
        let refused = queue.push(Time(10), item(3, 0), false).map(|item| item.content);
        assert_eq!(refused, Some(Content::Parcel(ids[3])));
        let driven_out = queue.push(Time(10), item(4, 1), true).map(|item| item.content);
        assert_eq!(driven_out, Some(Content::Parcel(ids[2])));
        assert_eq!((queue.len(), queue.max, queue.waited(Time(20))), (3, 3, 60));
        // 4 and 1 are for station 1, 0 for station 0
        assert_eq!(queue.take_for(Time(20), StationId(1)), [ids[4], ids[1]]);
        assert_eq!(queue.pop(Time(30)).map(|item| item.content), Some(Content::Parcel(ids[0])));
        assert!(queue.pop(Time(30)).is_none());
        assert_eq!(queue.waited(Time(50)), 70);
    }
}
