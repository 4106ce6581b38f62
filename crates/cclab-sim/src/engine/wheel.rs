//! A hierarchical timing wheel on exact nanoseconds (Varghese & Lauck, SOSP 1987, scheme 7).
//!
//! Eleven levels of 64 slots cover all of `u64`: an event sits at the level of the highest 6-bit digit in
//! which its time differs from now, in the slot of that digit. Within a slot events keep the order of
//! insertion, so equal times come out in the order in which they went in and no sequence number is kept.

use cclab_algo::Time;

const LEVELS: usize = 11;
const SLOTS: usize = 64;
/// So many events of a slot that is sorted are soon due.
const SOON: usize = 16;

/// Events of a slot in the order of insertion; those before `taken` have been taken out. They lie side by side, so that to
/// sort them into the levels below is to read memory in order.
struct Slot<E> {
    events: Vec<(u64, E)>,
    taken: usize,
}

/// An event queue; time runs forward only.
pub struct Wheel<E> {
    now: u64,
    len: usize,
    /// Bit per level: whether any of its slots holds an event.
    levels: u16,
    /// Bit per slot of each level.
    occupied: [u64; LEVELS],
    slots: Box<[[Slot<E>; SLOTS]; LEVELS]>,
}

impl<E: Copy> Default for Wheel<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Wheel<E> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        let slot = |_| Slot { events: Vec::new(), taken: 0 };
        Wheel {
            now: 0,
            len: 0,
            levels: 0,
            occupied: [0; LEVELS],
            slots: Box::new(std::array::from_fn(|_| std::array::from_fn(slot))),
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
    #[inline]
    pub fn push(&mut self, time: Time, event: E) {
        assert!(time.0 >= self.now, "an event cannot be scheduled in the past");
        self.len += 1;
        self.append(time.0, event);
    }

    /// Takes out the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_noting(|_| {})
    }

    /// The same; those that will soon be taken out, as far as that is seen, are told to `soon` before.
    #[inline]
    pub fn pop_noting(&mut self, soon: impl Fn(E)) -> Option<(Time, E)> {
        loop {
            if self.levels == 0 {
                return None;
            }
            let level = self.levels.trailing_zeros() as usize;
            let number = self.occupied[level].trailing_zeros() as usize;
            let slot = &mut self.slots[level][number];
            let (time, event) = slot.events[slot.taken];
            let last = slot.taken + 1 == slot.events.len();
            // Level 0 holds one time per slot. A slot with one event needs no sorting at any level: all
            // others are later, and each differs from the new now in the same digit as before.
            if level == 0 || last {
                slot.taken += 1;
                if last {
                    slot.events.clear();
                    slot.taken = 0;
                    self.clear(level, number);
                }
                self.now = time;
                self.len -= 1;
                return Some((Time(time), event));
            }
            if slot.events.len() <= SOON {
                slot.events.iter().for_each(|&(_, event)| soon(event));
            }
            self.sort(level, number);
        }
    }

    /// Moves on to the start of a slot's span and sorts its events into the levels below.
    #[inline(never)]
    fn sort(&mut self, level: usize, number: usize) {
        let mut events = std::mem::take(&mut self.slots[level][number].events);
        let shift = 6 * level as u32;
        self.now = (events[0].0 >> shift) << shift;
        self.clear(level, number);
        for &(time, event) in &events {
            self.append(time, event);
        }
        events.clear();
        self.slots[level][number].events = events; // its room is used again
    }

    #[inline]
    fn append(&mut self, time: u64, event: E) {
        // `| 1` puts an event that is due now at level 0.
        let level = (63 - ((time ^ self.now) | 1).leading_zeros()) as usize / 6;
        let number = (time >> (6 * level)) as usize % SLOTS;
        self.slots[level][number].events.push((time, event));
        self.occupied[level] |= 1 << number;
        self.levels |= 1 << level;
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
