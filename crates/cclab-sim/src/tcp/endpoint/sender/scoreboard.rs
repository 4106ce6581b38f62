//! What was sent and is not yet cumulatively acknowledged: one record per segment in a ring, three bitmaps
//! beside it, and the sums that the pipe is made of.
//!
//! A segment has a monotone number; its record and its bits live at that number modulo the capacity. The
//! bitmaps let SACK processing and loss marking skip 64 segments at a time, and cost nothing while nothing
//! is wrong.

use super::rate::Stamp;
use cclab_algo::Time;

/// A segment in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// First offset.
    pub seq: u64,
    /// Last transmission.
    pub sent: Time,
    /// Number of that transmission: send times may be equal, the order is not.
    pub order: u64,
    /// Delivery-rate state of the connection at the last transmission.
    pub rate: Stamp,
    /// Sequence space taken, FIN included.
    pub len: u32,
    /// Whether it carries the FIN.
    pub fin: bool,
    /// Whether it was ever retransmitted.
    pub ever_retransmitted: bool,
}

impl Sent {
    /// First offset after it.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// A number of segments and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub segments: u32,
    pub bytes: u64,
}

impl Tally {
    fn add(&mut self, len: u32) {
        self.segments += 1;
        self.bytes += u64::from(len);
    }
    fn sub(&mut self, len: u32) {
        self.segments -= 1;
        self.bytes -= u64::from(len);
    }
}

/// One bit per ring position.
#[derive(Clone, Debug, Default)]
struct Bits {
    words: Vec<u64>,
    mask: usize,
}

impl Bits {
    fn with_capacity(capacity: usize) -> Bits {
        Bits { words: vec![0; capacity / 64], mask: capacity / 64 - 1 }
    }
    /// The 64 bits that segment `i` is in.
    fn word(&self, i: u64) -> u64 {
        self.words[(i >> 6) as usize & self.mask]
    }
    fn get(&self, i: u64) -> bool {
        self.word(i) >> (i & 63) & 1 != 0
    }
    fn set(&mut self, i: u64) {
        self.words[(i >> 6) as usize & self.mask] |= 1 << (i & 63);
    }
    fn clear(&mut self, i: u64) {
        self.words[(i >> 6) as usize & self.mask] &= !(1 << (i & 63));
    }
}

/// Which bits make a segment one that [`Scoreboard::scan`] passes over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Skip {
    /// Selectively acknowledged.
    Sacked,
    /// Selectively acknowledged, lost, or sent again: all but first transmissions believed in flight.
    Touched,
}

/// The segments in flight.
#[derive(Debug)]
pub(super) struct Scoreboard {
    ring: Vec<Sent>,
    mask: u64,
    head: u64,
    tail: u64,
    mss: u64,
    sacked_bits: Bits,
    lost_bits: Bits,
    retrans_bits: Bits,
    /// Everything in the ring (Linux `packets_out`).
    out: Tally,
    /// Selectively acknowledged.
    sacked: Tally,
    /// Marked lost, whether retransmitted since or not.
    lost: Tally,
    /// Retransmitted and in flight again.
    retrans: Tally,
    /// No segment below it is lost and not retransmitted.
    lost_hint: u64,
    /// Number of the highest segment selectively acknowledged, + 1; `head` or less when there is none.
    sacked_top: u64,
    /// RFC 6675: nothing below it is still to be marked lost.
    lost_cursor: u64,
    /// Transmissions so far.
    transmissions: u64,
    /// Bytes ever marked lost.
    marked_lost: u64,
    /// Beside the ring, for laws that track packets; else empty.
    tracks: Vec<Track>,
    /// What was marked lost since [`forget_losses`](Self::forget_losses).
    losses: Vec<Loss>,
}

/// What a law that tracks packets wants remembered of a transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Track {
    /// Bytes ever marked lost, then.
    pub lost: u64,
    /// Bytes in flight right after it, itself included.
    pub in_flight: u64,
}

/// A segment marked lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    pub sent: Sent,
    pub track: Track,
    /// Bytes ever marked lost, it included.
    pub marked_lost: u64,
}

const INITIAL_CAPACITY: usize = 64;

impl Scoreboard {
    /// An empty scoreboard for segments of mostly `mss` bytes.
    pub fn new(mss: u32) -> Scoreboard {
        Scoreboard {
            ring: vec![Sent::default(); INITIAL_CAPACITY],
            mask: INITIAL_CAPACITY as u64 - 1,
            head: 0,
            tail: 0,
            mss: u64::from(mss),
            sacked_bits: Bits::with_capacity(INITIAL_CAPACITY),
            lost_bits: Bits::with_capacity(INITIAL_CAPACITY),
            retrans_bits: Bits::with_capacity(INITIAL_CAPACITY),
            out: Tally::default(),
            sacked: Tally::default(),
            lost: Tally::default(),
            retrans: Tally::default(),
            lost_hint: 0,
            sacked_top: 0,
            lost_cursor: 0,
            transmissions: 0,
            marked_lost: 0,
            tracks: vec![],
            losses: vec![],
        }
    }

    /// From now on remembers what was in flight and lost at each transmission, and what is marked lost.
    pub fn track_packets(&mut self) {
        self.tracks = vec![Track::default(); self.ring.len()];
    }
    /// What was remembered of segment `i`; it may just have been acknowledged.
    pub fn track(&self, i: u64) -> Track {
        self.tracks.get((i & self.mask) as usize).copied().unwrap_or_default()
    }
    /// Segment `i` was just sent.
    pub fn note_track(&mut self, i: u64) {
        let track = Track { lost: self.marked_lost, in_flight: self.pipe() };
        if let Some(place) = self.tracks.get_mut((i & self.mask) as usize) {
            *place = track;
        }
    }
    /// The segments marked lost that were not forgotten.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }
    pub fn forget_losses(&mut self) {
        self.losses.clear();
    }
    /// Bytes ever marked lost.
    pub fn marked_lost(&self) -> u64 {
        self.marked_lost
    }

    pub fn out(&self) -> Tally {
        self.out
    }
    pub fn sacked(&self) -> Tally {
        self.sacked
    }
    pub fn lost(&self) -> Tally {
        self.lost
    }
    pub fn retrans(&self) -> Tally {
        self.retrans
    }
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    /// Number of the first segment in flight.
    pub fn head(&self) -> u64 {
        self.head
    }
    /// Number of the segment to be sent next.
    pub fn tail(&self) -> u64 {
        self.tail
    }
    /// Bytes in flight: pipe = out − (sacked + lost) + retrans.
    pub fn pipe(&self) -> u64 {
        self.out.bytes + self.retrans.bytes - self.sacked.bytes - self.lost.bytes
    }
    pub fn is_sacked(&self, i: u64) -> bool {
        self.sacked_bits.get(i)
    }
    pub fn is_lost(&self, i: u64) -> bool {
        self.lost_bits.get(i)
    }
    pub fn is_retransmitted(&self, i: u64) -> bool {
        self.retrans_bits.get(i)
    }
    pub fn get(&self, i: u64) -> &Sent {
        &self.ring[(i & self.mask) as usize]
    }
    fn get_mut(&mut self, i: u64) -> &mut Sent {
        &mut self.ring[(i & self.mask) as usize]
    }
    /// The first segment in flight.
    pub fn front(&self) -> Option<&Sent> {
        (!self.is_empty()).then(|| self.get(self.head))
    }

    /// Takes in a segment sent for the first time: `len` of sequence space from `seq` on, a FIN included.
    pub fn transmit(&mut self, seq: u64, len: u32, fin: bool, now: Time, rate: Stamp) {
        if self.tail - self.head > self.mask {
            self.grow();
        }
        self.transmissions += 1;
        let sent = Sent { seq, sent: now, order: self.transmissions, rate, len, fin, ever_retransmitted: false };
        self.out.add(len);
        let at = (self.tail & self.mask) as usize;
        self.ring[at] = sent;
        self.tail += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = self.ring.len() * 2;
        let mut ring = vec![Sent::default(); capacity];
        let mut bits = [0; 3].map(|_| Bits::with_capacity(capacity));
        for i in self.head..self.tail {
            ring[i as usize & (capacity - 1)] = *self.get(i);
            for (new, old) in bits.iter_mut().zip([&self.sacked_bits, &self.lost_bits, &self.retrans_bits]) {
                if old.get(i) {
                    new.set(i);
                }
            }
        }
        if !self.tracks.is_empty() {
            let mut tracks = vec![Track::default(); capacity];
            (self.head..self.tail).for_each(|i| tracks[i as usize & (capacity - 1)] = self.track(i));
            self.tracks = tracks;
        }
        self.ring = ring;
        self.mask = capacity as u64 - 1;
        [self.sacked_bits, self.lost_bits, self.retrans_bits] = bits;
    }

    /// Removes the first segment, cumulatively acknowledged; says whether it had been SACKed before.
    pub fn pop(&mut self) -> (Sent, bool) {
        let i = self.head;
        let sent = *self.get(i);
        let mut was_sacked = false;
        // Nothing wrong, no bits: the usual case costs one comparison.
        if self.is_troubled() {
            was_sacked = self.is_sacked(i);
            if was_sacked {
                self.sacked_bits.clear(i);
                self.sacked.sub(sent.len);
            }
            self.clear_lost(i, sent.len);
            self.clear_retrans(i, sent.len);
        }
        self.out.sub(sent.len);
        self.head += 1;
        (sent, was_sacked)
    }

    fn clear_lost(&mut self, i: u64, len: u32) {
        if self.lost_bits.get(i) {
            self.lost_bits.clear(i);
            self.lost.sub(len);
        }
    }
    fn clear_retrans(&mut self, i: u64, len: u32) {
        if self.retrans_bits.get(i) {
            self.retrans_bits.clear(i);
            self.retrans.sub(len);
        }
    }

    /// Marks segment `i` lost; a retransmission of it in flight is lost with it.
    pub fn mark_lost(&mut self, i: u64) {
        debug_assert!(!self.is_sacked(i), "a segment is never both SACKed and lost");
        let len = self.get(i).len;
        if self.is_lost(i) && !self.is_retransmitted(i) {
            return;
        }
        self.clear_retrans(i, len);
        if !self.is_lost(i) {
            self.lost_bits.set(i);
            self.lost.add(len);
        }
        self.marked_lost += u64::from(len);
        self.lost_hint = self.lost_hint.min(i);
        if !self.tracks.is_empty() {
            let loss = Loss { sent: *self.get(i), track: self.track(i), marked_lost: self.marked_lost };
            self.losses.push(loss);
        }
    }

    /// Marks segment `i` selectively acknowledged.
    pub fn mark_sacked(&mut self, i: u64) {
        let len = self.get(i).len;
        self.clear_lost(i, len);
        self.clear_retrans(i, len);
        self.sacked_bits.set(i);
        self.sacked.add(len);
        self.sacked_top = self.sacked_top.max(i + 1);
    }

    /// Takes back the marks of all segments that are lost and not retransmitted, and of those that are.
    pub fn unmark_lost(&mut self) {
        for i in self.head..self.tail {
            let len = self.get(i).len;
            self.clear_lost(i, len);
        }
        self.lost_cursor = 0;
    }

    /// The receiver dropped what it had selectively acknowledged (RFC 2018 §8).
    pub fn forget_sacks(&mut self) {
        for i in self.head..self.tail {
            if self.is_sacked(i) {
                self.sacked_bits.clear(i);
                let len = self.get(i).len;
                self.sacked.sub(len);
            }
        }
        self.sacked_top = self.head;
    }

    /// Number of the highest segment selectively acknowledged, + 1; `head` when there is none.
    pub fn sacked_top(&self) -> u64 {
        self.sacked_top.max(self.head)
    }

    fn skipped(&self, i: u64, skip: Skip) -> u64 {
        match skip {
            Skip::Sacked => self.sacked_bits.word(i),
            Skip::Touched => self.sacked_bits.word(i) | self.lost_bits.word(i) | self.retrans_bits.word(i),
        }
    }

    /// The first segment in `[from, to)` that is not to be skipped, or `to`.
    pub fn scan(&self, from: u64, to: u64, skip: Skip) -> u64 {
        let mut i = from.max(self.head);
        while i < to {
            let wanted = !self.skipped(i, skip) >> (i & 63);
            if wanted != 0 {
                return (i + u64::from(wanted.trailing_zeros())).min(to);
            }
            i = (i | 63) + 1;
        }
        to
    }

    /// The last segment in `[from, to)` that is not to be skipped.
    pub fn scan_back(&self, from: u64, to: u64, skip: Skip) -> Option<u64> {
        let from = from.max(self.head);
        let mut end = to;
        while end > from {
            let i = end - 1;
            let wanted = !self.skipped(i, skip) << (63 - (i & 63));
            if wanted != 0 {
                let found = i.checked_sub(u64::from(wanted.leading_zeros()))?;
                return (found >= from).then_some(found);
            }
            end = i & !63;
        }
        None
    }

    /// The n-th highest selectively acknowledged segment, counted from 1.
    pub fn nth_sacked_from_top(&self, n: u32) -> Option<u64> {
        if n == 0 || self.sacked.segments < n {
            return None;
        }
        let (mut left, mut end) = (n, self.sacked_top());
        while end > self.head {
            let i = end - 1;
            let mut word = self.sacked_bits.word(i) << (63 - (i & 63));
            // Bits of an older lap of the ring are clear, so the word needs no mask at the low end.
            while word != 0 {
                let skip = word.leading_zeros();
                left -= 1;
                if left == 0 {
                    return Some(i - u64::from(skip));
                }
                word &= !(1 << (63 - skip));
            }
            end = i & !63;
        }
        None
    }

    /// Segment `i` is sent again: its record as it is now.
    pub fn retransmit(&mut self, i: u64, now: Time, rate: Stamp) -> Sent {
        let len = self.get(i).len;
        if !self.is_retransmitted(i) {
            self.retrans_bits.set(i);
            self.retrans.add(len);
        }
        self.transmissions += 1;
        let order = self.transmissions;
        let record = self.get_mut(i);
        *record = Sent { sent: now, order, rate, ever_retransmitted: true, ..*record };
        *record
    }

    /// Whether anything is SACKed, lost, or sent again.
    pub fn is_troubled(&self) -> bool {
        self.sacked.segments | self.lost.segments | self.retrans.segments != 0
    }

    /// RFC 6675's IsLost: `dupthresh` segments are SACKed above it. (The RFC counts discontiguous ranges, or
    /// bytes beyond (DupThresh − 1) SMSS; with full segments that is the same.)
    pub fn mark_below_sacked(&mut self, dupthresh: u32) {
        let Some(top) = self.nth_sacked_from_top(dupthresh) else { return };
        loop {
            self.lost_cursor = self.scan(self.lost_cursor, top, Skip::Touched);
            if self.lost_cursor >= top {
                return;
            }
            self.mark_lost(self.lost_cursor);
        }
    }

    /// The lowest segment that is lost and not retransmitted.
    pub fn next_to_retransmit(&mut self) -> Option<u64> {
        let mut i = self.lost_hint.max(self.head);
        while i < self.tail {
            let due = (self.lost_bits.word(i) & !self.retrans_bits.word(i)) >> (i & 63);
            if due != 0 {
                i += u64::from(due.trailing_zeros());
                self.lost_hint = i;
                return (i < self.tail).then_some(i);
            }
            i = (i | 63) + 1;
        }
        self.lost_hint = self.tail;
        None
    }

    /// The segment that contains offset `seq`, or the first after it; [`tail`](Self::tail) when there is none.
    pub fn find(&self, seq: u64) -> u64 {
        let Some(front) = self.front() else { return self.tail };
        // Segments of mostly one size: guess, and walk from there; give up on walking where they are not.
        let guess = self.head + seq.saturating_sub(front.seq) / self.mss;
        let mut i = guess.min(self.tail - 1);
        for _ in 0..4 {
            if i > self.head && self.get(i).seq > seq {
                i -= 1;
            } else if i < self.tail && self.get(i).end() <= seq {
                i += 1;
            } else {
                return i;
            }
        }
        let (mut low, mut high) = (self.head, self.tail);
        while low < high {
            let mid = low + (high - low) / 2;
            if self.get(mid).end() <= seq { low = mid + 1 } else { high = mid }
        }
        low
    }

    /// The invariants that are cheap to check.
    pub fn check(&self) {
        debug_assert!(self.sacked.segments + self.lost.segments <= self.out.segments, "{:?}", self.tallies());
        debug_assert!(self.retrans.segments <= self.out.segments, "{:?}", self.tallies());
        debug_assert!(self.out.bytes + self.retrans.bytes >= self.sacked.bytes + self.lost.bytes);
        debug_assert_eq!(u64::from(self.out.segments), self.tail - self.head);
    }
    /// Recounts everything.
    #[cfg(test)]
    pub fn check_all(&self) {
        let mut count = [Tally::default(); 4];
        for i in self.head..self.tail {
            let len = self.get(i).len;
            assert!(!(self.is_sacked(i) && (self.is_lost(i) || self.is_retransmitted(i))));
            assert!(i == self.head || self.get(i).seq == self.get(i - 1).end());
            let bits = [true, self.is_sacked(i), self.is_lost(i), self.is_retransmitted(i)];
            count.iter_mut().zip(bits).filter(|(_, bit)| *bit).for_each(|(tally, _)| tally.add(len));
            assert!(i >= self.lost_hint || !self.is_lost(i) || self.is_retransmitted(i));
            assert!(i < self.sacked_top() || !self.is_sacked(i));
        }
        assert_eq!(count, self.tallies());
        let bits = [&self.sacked_bits, &self.lost_bits, &self.retrans_bits];
        let ones = bits.map(|b| b.words.iter().map(|w| w.count_ones()).sum::<u32>());
        assert_eq!(ones, [self.sacked.segments, self.lost.segments, self.retrans.segments]);
    }
    fn tallies(&self) -> [Tally; 4] {
        [self.out, self.sacked, self.lost, self.retrans]
    }
}
