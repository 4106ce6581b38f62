//! What was assigned where: of each subflow which data its bytes are, and of all data that are not acknowledged who carries
//! them.
//!
//! A mapping never changes once a segment was assigned, so it need not ride in the simulated packet; its bytes do.

use std::collections::VecDeque;

/// Which data the bytes of a subflow are: a mapping for each segment assigned, until the subflow has it acknowledged.
#[derive(Debug)]
pub(super) struct Map {
    mappings: VecDeque<Mapping>,
    /// Offset in the subflow after the last byte assigned.
    end: u64,
    /// Mappings of these that the receiver has taken.
    taken: usize,
}

/// `len` bytes from offset `place` in the subflow on are the data from number `data` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    place: u64,
    data: u64,
    len: u32,
}

impl Map {
    /// Nothing is assigned yet; the first byte of a subflow has offset 1, the SYN 0.
    pub(super) fn new() -> Map {
        Map { mappings: VecDeque::new(), end: 1, taken: 0 }
    }

    /// What is remembered takes so much.
    pub(super) fn kept_bytes(&self) -> usize {
        self.mappings.len() * size_of::<Mapping>()
    }

    /// The next `len` bytes of the subflow are the data from `data` on.
    pub(super) fn assign(&mut self, data: u64, len: u32) {
        self.mappings.push_back(Mapping { place: self.end, data, len });
        self.end += u64::from(len);
    }

    /// Offset after the last byte assigned.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The receiver has all before offset `end` in order: the next mapping of that, if it is whole.
    pub(super) fn take(&mut self, end: u64) -> Option<(u64, u32)> {
        let next = self.mappings.get(self.taken).filter(|next| next.place + u64::from(next.len) <= end)?;
        self.taken += 1;
        Some((next.data, next.len))
    }

    /// The sender knows that all before offset `end` has arrived.
    pub(super) fn acknowledge(&mut self, end: u64) {
        while self.mappings.front().is_some_and(|first| first.place + u64::from(first.len) <= end) {
            self.mappings.pop_front();
            self.taken -= 1;
        }
    }

    /// The data at offset `place`, as long as they are not acknowledged on the subflow.
    pub(super) fn data_at(&self, place: u64) -> Option<u64> {
        let found = match self.mappings.back() {
            Some(last) if place >= last.place => last,
            _ => &self.mappings[self.mappings.partition_point(|m| m.place <= place).checked_sub(1)?],
        };
        Some(found.data + (place - found.place)).filter(|_| place < found.place + u64::from(found.len))
    }
}

/// Data that were assigned and are not acknowledged, by segments, in order.
#[derive(Debug, Default)]
pub(super) struct Outstanding(VecDeque<Chunk>);

/// A segment of data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) start: u64,
    pub(super) len: u32,
    /// Subflows that it was assigned to, a bit each.
    pub(super) carriers: u32,
    /// It waits to be sent again.
    pub(super) queued: bool,
}

impl Chunk {
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

impl Outstanding {
    /// Data beyond all others are assigned to this subflow.
    pub(super) fn push(&mut self, start: u64, len: u32, subflow: usize) {
        self.0.push_back(Chunk { start, len, carriers: 1 << subflow, queued: false });
    }

    /// What is remembered takes so much.
    pub(super) fn kept_bytes(&self) -> usize {
        self.0.len() * size_of::<Chunk>()
    }

    /// All before `end` are acknowledged.
    pub(super) fn acknowledge(&mut self, end: u64) {
        while self.0.front().is_some_and(|first| first.end() <= end) {
            self.0.pop_front();
        }
    }

    /// The segment that `data` is in, or the first after it.
    pub(super) fn at(&mut self, data: u64) -> Option<&mut Chunk> {
        let k = self.0.partition_point(|chunk| chunk.end() <= data);
        self.0.get_mut(k)
    }

    pub(super) fn first(&self) -> Option<&Chunk> {
        self.0.front()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Chunk> {
        self.0.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_takes_whole_segments_in_the_order_of_the_subflow() {
        let mut map = Map::new();
        for (data, len) in [(1, 1000), (5001, 500), (1001, 1000)] {
            map.assign(data, len);
        }
        assert_eq!((map.take(1000), map.take(1001), map.take(1500)), (None, Some((1, 1000)), None));
        assert_eq!(
            (map.data_at(1), map.data_at(1003), map.data_at(1501), map.data_at(2501)),
            (Some(1), Some(5003), Some(1001), None)
        );
        map.acknowledge(1001);
        assert_eq!((map.take(2501), map.take(2501), map.take(2501)), (Some((5001, 500)), Some((1001, 1000)), None));
        map.acknowledge(2501);
        assert_eq!((map.data_at(1), map.data_at(2500), map.end()), (None, None, 2501));
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut data = Outstanding::default();
        for k in 0..4 {
            data.push(1 + 1000 * k, 1000, (k % 2) as usize);
        }
        data.acknowledge(1500);
        assert_eq!(data.first().map(|chunk| (chunk.start, chunk.carriers)), Some((1001, 2)));
        assert_eq!(data.at(1).map(|chunk| chunk.start), Some(1001));
        assert_eq!(data.at(2000).map(|chunk| chunk.start), Some(1001));
        assert_eq!(data.at(2001).map(|chunk| chunk.start), Some(2001));
        assert!(data.at(4001).is_none());
    }
}
