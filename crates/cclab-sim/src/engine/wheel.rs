//! A hierarchical timing wheel on exact nanoseconds (Varghese & Lauck, SOSP 1987, scheme 7).
//!
//! Eleven levels of 64 slots cover all of `u64`: an event sits at the level of the highest 6-bit digit in
//! which its time differs from now, in the slot of that digit. Within a slot events keep the order of
//! insertion, so equal times come out in the order in which they went in and no sequence number is kept.

use cclab_algo::Time;

const LEVELS: usize = 11;
const SLOTS: usize = 64;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node<E> {
    time: u64,
    next: u32,
    event: E,
}

/// A first-in first-out list of nodes.
#[derive(Clone, Copy)]
struct Slot {
    head: u32,
    tail: u32,
}

/// An event queue; time runs forward only.
pub struct Wheel<E> {
    now: u64,
    len: usize,
    /// Bit per level: whether any of its slots holds an event.
    levels: u16,
    /// Bit per slot of each level.
    occupied: [u64; LEVELS],
    slots: Box<[[Slot; SLOTS]; LEVELS]>,
    nodes: Vec<Node<E>>,
    free: u32,
}

impl<E: Copy> Default for Wheel<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Wheel<E> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        Wheel {
            now: 0,
            len: 0,
            levels: 0,
            occupied: [0; LEVELS],
            slots: Box::new([[Slot { head: NONE, tail: NONE }; SLOTS]; LEVELS]),
            nodes: Vec::new(),
            free: NONE,
        }
    }

    /// Events waiting.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No events at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts `event` at `time`, which is not before the last event taken out.
    pub fn push(&mut self, time: Time, event: E) {
        assert!(time.0 >= self.now, "an event cannot be scheduled in the past");
        let node = Node { time: time.0, next: NONE, event };
        let index = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        self.len += 1;
        self.append(index, time.0);
    }

    /// Takes out the next event.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        loop {
            if self.levels == 0 {
                return None;
            }
            let level = self.levels.trailing_zeros() as usize;
            let slot = self.occupied[level].trailing_zeros() as usize;
            let head = self.slots[level][slot].head;
            let Node { time, next, event } = self.nodes[head as usize];
            // Level 0 holds one time per slot. A slot with one event needs no sorting at any level: all
            // others are later, and each differs from the new now in the same digit as before.
            if level == 0 || next == NONE {
                self.slots[level][slot].head = next;
                if next == NONE {
                    self.clear(level, slot);
                }
                self.nodes[head as usize].next = self.free;
                self.free = head;
                self.now = time;
                self.len -= 1;
                return Some((Time(time), event));
            }
            // Move on to the start of this slot's span and sort its events into the levels below.
            let shift = 6 * level as u32;
            self.now = (time >> shift) << shift;
            self.clear(level, slot);
            let mut index = head;
            while index != NONE {
                let Node { time, next, .. } = self.nodes[index as usize];
                self.nodes[index as usize].next = NONE;
                self.append(index, time);
                index = next;
            }
        }
    }

    fn append(&mut self, index: u32, time: u64) {
        // `| 1` puts an event that is due now at level 0.
        let level = (63 - ((time ^ self.now) | 1).leading_zeros()) as usize / 6;
        let slot = (time >> (6 * level)) as usize % SLOTS;
        let list = &mut self.slots[level][slot];
        if self.occupied[level] & (1 << slot) == 0 {
            *list = Slot { head: index, tail: index };
            self.occupied[level] |= 1 << slot;
            self.levels |= 1 << level;
        } else {
            self.nodes[list.tail as usize].next = index;
            list.tail = index;
        }
    }

    fn clear(&mut self, level: usize, slot: usize) {
        self.occupied[level] &= !(1 << slot);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// A push this far after now (`None`: a pop).
    fn operation() -> impl Strategy<Value = Option<u64>> {
        prop_oneof![
            3 => Just(None),
            1 => Just(Some(0)),
            1 => (0_u64..4).prop_map(Some),
            1 => (0_u64..200).prop_map(Some),
            1 => (0_u64..1_000_000_000_000).prop_map(Some),
            1 => (0_u32..63).prop_map(|bit| Some(1 << bit)),
        ]
    }

    proptest! {
        /// The oracle is a binary heap ordered by (time, sequence number).
        #[test]
        fn pops_in_the_order_of_a_heap_with_sequence_numbers(
            operations in proptest::collection::vec(operation(), 1..400), start in 0_u64..1 << 40,
        ) {
            let (mut wheel, mut heap, mut now) = (Wheel::new(), BinaryHeap::new(), start);
            wheel.push(Time(start), u32::MAX);
            prop_assert_eq!(wheel.pop(), Some((Time(start), u32::MAX)));
            for (sequence, operation) in operations.iter().enumerate() {
                if let Some(delta) = operation {
                    wheel.push(Time(now.saturating_add(*delta)), sequence as u32);
                    heap.push(Reverse((now.saturating_add(*delta), sequence as u32)));
                } else {
                    let expected = heap.pop().map(|Reverse((time, event))| (Time(time), event));
                    now = expected.map_or(now, |(time, _)| time.0);
                    prop_assert_eq!(wheel.pop(), expected);
                }
                prop_assert_eq!(wheel.len(), heap.len());
            }
            while let Some(Reverse((time, event))) = heap.pop() {
                prop_assert_eq!(wheel.pop(), Some((Time(time), event)));
            }
            prop_assert!(wheel.pop().is_none() && wheel.is_empty());
        }
    }

    #[test]
    #[should_panic(expected = "in the past")]
    fn the_past_is_refused() {
        let mut wheel = Wheel::new();
        wheel.push(Time(10), ());
        wheel.pop();
        wheel.push(Time(9), ());
    }
}
