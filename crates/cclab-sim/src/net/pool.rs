//! Where packets live while they are under way: each is written once and goes from queue to queue by its number.

use crate::wire::Packet;
use cclab_algo::Time;
use std::ops::{Index, IndexMut};

/// The number of a packet in its pool, until it is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketId(u32);

const NONE: u32 = u32::MAX;

/// A packet, when it comes out of the pipe that it is in, and which one follows it there (or in the list of free places).
struct Place {
    packet: Packet,
    at: Time,
    next: u32,
}

/// Packets under way.
pub struct Pool {
    places: Vec<Place>,
    free: u32,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool { places: Vec::new(), free: NONE }
    }
}

impl Pool {
    /// Puts a packet in.
    #[inline]
    pub fn put(&mut self, packet: Packet) -> PacketId {
        let id = self.free;
        if id == NONE {
            self.places.push(Place { packet, at: Time::NEVER, next: NONE });
            return PacketId((self.places.len() - 1) as u32);
        }
        let place = &mut self.places[id as usize];
        self.free = place.next;
        place.packet = packet;
        PacketId(id)
    }

    /// Takes a packet out.
    #[inline]
    pub fn take(&mut self, id: PacketId) -> Packet {
        self.free(id);
        self.places[id.0 as usize].packet
    }

    /// The packet is through, or gone.
    #[inline]
    pub fn free(&mut self, id: PacketId) {
        self.places[id.0 as usize].next = self.free;
        self.free = id.0;
    }
}

impl Index<PacketId> for Pool {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.places[id.0 as usize].packet
    }
}

impl IndexMut<PacketId> for Pool {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.places[id.0 as usize].packet
    }
}

/// Packets of a pool in the order in which they come out, each at its time.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    head: u32,
    tail: u32,
    /// When the last one put in comes out.
    last: Time,
}

impl Default for Pipe {
    fn default() -> Pipe {
        Pipe { head: NONE, tail: NONE, last: Time::ZERO }
    }
}

impl Pipe {
    /// Puts a packet in, to come out at `at` or with the one before it if that is later. Says when, if it is
    /// the only one, so that its event is to be scheduled.
    #[inline]
    pub fn push(&mut self, at: Time, id: PacketId, pool: &mut Pool) -> Option<Time> {
        self.last = self.last.max(at);
        let place = &mut pool.places[id.0 as usize];
        (place.at, place.next) = (self.last, NONE);
        if self.head != NONE {
            pool.places[self.tail as usize].next = id.0;
            self.tail = id.0;
            return None;
        }
        (self.head, self.tail) = (id.0, id.0);
        (self.last < Time::NEVER).then_some(self.last)
    }

    /// Takes the first packet off; and when the next one follows, if there is one.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> (PacketId, Option<Time>) {
        let id = self.head;
        self.head = pool.places[id as usize].next;
        (PacketId(id), Some(self.next(pool)).filter(|&at| at < Time::NEVER))
    }

    /// When the first packet comes out; [`Time::NEVER`] when there is none.
    #[inline]
    pub fn next(&self, pool: &Pool) -> Time {
        if self.head == NONE { Time::NEVER } else { pool.places[self.head as usize].at }
    }

    /// The packets, first to last.
    pub fn packets<'p>(&self, pool: &'p Pool) -> impl Iterator<Item = &'p Packet> {
        let place = |id: u32| (id != NONE).then(|| &pool.places[id as usize]);
        std::iter::successors(place(self.head), move |p| place(p.next)).map(|p| &p.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u64) -> Packet {
        Packet::udp(0, Time::ZERO, number, 100)
    }

    #[test]
    fn pipes_share_a_pool_and_places_are_used_again() {
        let mut pool = Pool::default();
        let (mut a, mut b) = (Pipe::default(), Pipe::default());
        let ids = [0, 1, 2].map(|n| pool.put(packet(n)));
        assert_eq!(a.push(Time(5), ids[0], &mut pool), Some(Time(5)));
        assert_eq!(b.push(Time(7), ids[1], &mut pool), Some(Time(7)));
        assert_eq!(a.push(Time(3), ids[2], &mut pool), None, "behind the one before it");
        assert_eq!(a.pop(&pool), (ids[0], Some(Time(5))), "order is kept");
        pool.free(ids[0]);
        assert_eq!(pool.put(packet(3)), ids[0]);
        assert_eq!(b.push(Time(9), ids[0], &mut pool), None);
        assert_eq!(a.packets(&pool).copied().collect::<Vec<_>>(), [packet(2)]);
        assert_eq!(b.packets(&pool).copied().collect::<Vec<_>>(), [packet(1), packet(3)]);
        assert_eq!(a.pop(&pool), (ids[2], None));
        assert_eq!(a.next(&pool), Time::NEVER);
        assert_eq!(a.push(Time::NEVER, ids[2], &mut pool), None, "it never arrives");
        assert_eq!(pool.take(ids[2]), packet(2));
    }
}
