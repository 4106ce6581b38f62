//! The receiver of a connection over several paths: data in order for the application, each byte once.

use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// Data as they arrive on the subflows.
#[derive(Debug)]
pub(super) struct Reassembly {
    /// The next data number expected; the first is 1.
    next: u64,
    /// What has arrived and waits for what is before it, ascending, nothing twice.
    held: VecDeque<Piece>,
    held_bytes: u64,
    duplicate_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: u64,
    end: u64,
    arrived: Time,
}

impl Reassembly {
    pub(super) fn new() -> Reassembly {
        Reassembly { next: 1, held: VecDeque::new(), held_bytes: 0, duplicate_bytes: 0 }
    }

    /// The next data number expected: the data acknowledgement.
    pub(super) fn next(&self) -> u64 {
        self.next
    }
    /// Bytes for the application so far.
    pub(super) fn delivered(&self) -> u64 {
        self.next - 1
    }
    /// What is remembered of what waits takes so much.
    pub(super) fn kept_bytes(&self) -> usize {
        self.held.len() * size_of::<Piece>()
    }
    /// Bytes that wait for others.
    pub(super) fn held(&self) -> u64 {
        self.held_bytes
    }
    /// Bytes that arrived and had arrived before.
    pub(super) fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }

    /// `len` bytes from `start` on arrive. Calls `out` for each piece that the application gets now, with the time for which it had
    /// waited.
    pub(super) fn take(&mut self, now: Time, start: u64, len: u32, mut out: impl FnMut(Duration)) {
        let end = start + u64::from(len);
        if start == self.next && self.held.is_empty() {
            self.next = end;
            return out(Duration::ZERO);
        }
        self.insert(now, start.max(self.next), end, u64::from(len));
        while let Some(first) = self.held.front().filter(|first| first.start == self.next) {
            self.next = first.end;
            self.held_bytes -= first.end - first.start;
            out(now - first.arrived);
            self.held.pop_front();
        }
    }

    /// Keeps what of `[at, end)` is not there yet.
    fn insert(&mut self, now: Time, mut at: u64, end: u64, len: u64) {
        let mut k = match self.held.back() {
            Some(last) if last.end > at => self.held.partition_point(|piece| piece.end <= at),
            _ => self.held.len(),
        };
        let before = self.held_bytes;
        while at < end {
            let gap = self.held.get(k).map_or(end, |piece| piece.start.min(end));
            if at < gap {
                self.held.insert(k, Piece { start: at, end: gap, arrived: now });
                self.held_bytes += gap - at;
                k += 1;
            }
            at = self.held.get(k).map_or(end, |piece| piece.end);
            k += 1;
        }
        self.duplicate_bytes += len - (self.held_bytes - before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(r: &mut Reassembly, at: u64, start: u64, len: u32) -> Vec<u64> {
        let mut waited = Vec::new();
        r.take(Time(at), start, len, |time| waited.push(time.0));
        waited
    }

    #[test]
    fn what_comes_early_waits() {
        let mut r = Reassembly::new();
        assert!(take(&mut r, 10, 1001, 1000).is_empty());
        assert!(take(&mut r, 20, 3001, 1000).is_empty());
        assert_eq!((r.held(), r.delivered()), (2000, 0));
        assert_eq!(take(&mut r, 50, 1, 1000), [0, 40]);
        assert_eq!((r.next(), r.held(), r.duplicate_bytes()), (2001, 1000, 0));
        assert!(take(&mut r, 60, 1, 1000).is_empty(), "a copy");
        assert!(take(&mut r, 60, 3001, 1000).is_empty(), "a copy of what waits");
        assert_eq!(r.duplicate_bytes(), 2000);
        assert_eq!(take(&mut r, 70, 2001, 1000), [0, 50]);
        assert_eq!((r.next(), r.held()), (4001, 0));
    }

    proptest! {
        /// Against a set of bytes.
        #[test]
        fn each_byte_once(pieces in proptest::collection::vec((1_u64..200, 1_u32..40), 1..60)) {
            let mut r = Reassembly::new();
            let mut seen = std::collections::BTreeSet::new();
            let mut duplicates = 0;
            for (k, (start, len)) in pieces.into_iter().enumerate() {
                r.take(Time(k as u64), start, len, |_| {});
                duplicates += (start..start + u64::from(len)).filter(|byte| !seen.insert(*byte)).count() as u64;
                let next = (1..).find(|byte| !seen.contains(byte)).expect("some byte is missing");
                prop_assert_eq!((r.next(), r.duplicate_bytes()), (next, duplicates));
                prop_assert_eq!(r.held() + r.delivered(), seen.len() as u64);
            }
        }
    }
}
