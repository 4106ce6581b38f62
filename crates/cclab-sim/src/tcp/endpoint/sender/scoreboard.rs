//! What was sent and is not yet cumulatively acknowledged: one record per segment in a ring, and, once something
//! goes wrong, three bitmaps beside it.
//!
//! A segment has a monotone number; its record and its bits live at that number modulo the capacity. The
//! bitmaps let SACK processing and loss marking skip 64 segments at a time, and do not exist while nothing
//! is wrong.

use super::rate::Stamp;
use crate::engine::prefetch;
use cclab_algo::{Duration, Time};

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

/// The same as it is kept: offsets and counts by their low 32 bits, for what is in flight is closer together than that.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    sent: Time,
    first_sent: Time,
    delivered_time: Time,
    delivered: u32,
    order: u32,
    seq: u32,
    /// The length, and three flags.
    len: u32,
}

const FIN: u32 = 1 << 31;
const AGAIN: u32 = 1 << 30;
const LIMITED: u32 = 1 << 29;
const LEN: u32 = LIMITED - 1;

impl Record {
    fn new(seq: u32, len: u32, now: Time, order: u64, rate: Stamp) -> Record {
        let Stamp { first_sent, delivered_time, delivered, app_limited } = rate;
        let len = if app_limited { len | LIMITED } else { len };
        Record { sent: now, first_sent, delivered_time, delivered, order: order as u32, seq, len }
    }
    fn len(&self) -> u32 {
        self.len & LEN
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

/// What may be wrong with a segment.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// Selectively acknowledged.
    Sacked,
    /// Marked lost, whether retransmitted since or not.
    Lost,
    /// Retransmitted and in flight again.
    Again,
}

/// What is wrong with the segments in flight.
#[derive(Debug, Default)]
struct Marks {
    /// One bit per mark and ring position, those of 64 segments together.
    bits: Box<[[u64; 3]]>,
    tallies: [Tally; 3],
    /// No segment below it is lost and not retransmitted.
    lost_hint: u64,
    /// Number of the highest segment selectively acknowledged, + 1.
    sacked_top: u64,
    /// RFC 6675: nothing below it is still to be marked lost.
    lost_cursor: u64,
    /// Bytes ever marked lost.
    marked_lost: u64,
}

impl Marks {
    fn place(&self, i: u64) -> usize {
        (i >> 6) as usize & (self.bits.len() - 1)
    }
    /// The 64 bits that segment `i` is in.
    fn word(&self, mark: Mark, i: u64) -> u64 {
        self.bits[self.place(i)][mark as usize]
    }
    fn has(&self, mark: Mark, i: u64) -> bool {
        self.word(mark, i) >> (i & 63) & 1 != 0
    }
    fn tally(&self, mark: Mark) -> Tally {
        self.tallies[mark as usize]
    }
    /// Sets a mark; whether it was not there.
    fn set(&mut self, mark: Mark, i: u64, len: u32) -> bool {
        let new = !self.has(mark, i);
        if new {
            let place = self.place(i);
            self.bits[place][mark as usize] |= 1 << (i & 63);
            self.tallies[mark as usize].add(len);
        }
        new
    }
    /// Takes a mark away; whether it was there.
    fn clear(&mut self, mark: Mark, i: u64, len: u32) -> bool {
        let old = self.has(mark, i);
        if old {
            let place = self.place(i);
            self.bits[place][mark as usize] &= !(1 << (i & 63));
            self.tallies[mark as usize].sub(len);
        }
        old
    }
    fn skipped(&self, i: u64, skip: Skip) -> u64 {
        let [sacked, lost, again] = self.bits[self.place(i)];
        match skip {
            Skip::Sacked => sacked,
            Skip::Touched => sacked | lost | again,
        }
    }
    fn any(&self) -> bool {
        let [sacked, lost, again] = &self.tallies;
        sacked.segments | lost.segments | again.segments != 0
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
    ring: Box<[Record]>,
    head: u64,
    tail: u64,
    /// First offset of the first segment.
    seq: u64,
    /// Bytes of all (of Linux's `packets_out`).
    bytes: u64,
    /// Bytes in flight: pipe = all − (SACKed + lost) + in flight again.
    pipe: u64,
    /// Transmissions so far.
    transmissions: u64,
    marks: Option<Box<Marks>>,
    /// For laws that track packets.
    tracks: Option<Box<Tracks>>,
    mss: u32,
}

/// What laws that track packets are told of.
#[derive(Debug, Default)]
struct Tracks {
    /// Beside the ring.
    ring: Vec<Track>,
    /// What was marked lost since [`Scoreboard::forget_losses`].
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

/// Records that the ring begins with, when the first segment leaves.
const INITIAL_CAPACITY: usize = 4;

impl Scoreboard {
    /// An empty scoreboard for segments of mostly `mss` bytes.
    pub fn new(mss: u32) -> Scoreboard {
        Scoreboard {
            ring: Box::default(),
            head: 0,
            tail: 0,
            seq: 0,
            bytes: 0,
            pipe: 0,
            transmissions: 0,
            marks: None,
            tracks: None,
            mss,
        }
    }

    /// From now on remembers what was in flight and lost at each transmission, and what is marked lost.
    pub fn track_packets(&mut self) {
        self.tracks = Some(Box::default());
    }
    /// What was remembered of segment `i`; it may just have been acknowledged.
    pub fn track(&self, i: u64) -> Track {
        let place = self.place(i);
        self.tracks.as_ref().and_then(|tracks| tracks.ring.get(place)).copied().unwrap_or_default()
    }
    /// Segment `i` was just sent.
    fn note_track(&mut self, i: u64) {
        let track = Track { lost: self.marked_lost(), in_flight: self.pipe };
        let place = self.place(i);
        if let Some(tracks) = &mut self.tracks {
            tracks.ring[place] = track;
        }
    }
    /// The segments marked lost that were not forgotten.
    pub fn losses(&self) -> &[Loss] {
        self.tracks.as_ref().map_or(&[], |tracks| &tracks.losses)
    }
    pub fn forget_losses(&mut self) {
        if let Some(tracks) = &mut self.tracks {
            tracks.losses.clear();
        }
    }
    /// Bytes ever marked lost.
    pub fn marked_lost(&self) -> u64 {
        self.marks.as_ref().map_or(0, |marks| marks.marked_lost)
    }

    /// What the records take, those of segments to come included.
    pub fn kept_bytes(&self) -> usize {
        let marks = self.marks.as_ref().map_or(0, |marks| size_of_val(&*marks.bits));
        let tracks = self.tracks.as_ref().map_or(0, |t| size_of_val(&*t.ring) + size_of_val(&*t.losses));
        size_of_val(&*self.ring) + marks + tracks
    }

    /// Everything sent (Linux `packets_out`).
    pub fn out(&self) -> Tally {
        Tally { segments: (self.tail - self.head) as u32, bytes: self.bytes }
    }
    fn tally(&self, mark: Mark) -> Tally {
        self.marks.as_ref().map_or_else(Tally::default, |marks| marks.tally(mark))
    }
    /// Of these, selectively acknowledged.
    pub fn sacked(&self) -> Tally {
        self.tally(Mark::Sacked)
    }
    /// Of these, marked lost, whether retransmitted since or not.
    pub fn lost(&self) -> Tally {
        self.tally(Mark::Lost)
    }
    /// Of these, retransmitted and in flight again.
    pub fn retrans(&self) -> Tally {
        self.tally(Mark::Again)
    }
    /// Whether anything is SACKed, lost, or sent again.
    pub fn is_troubled(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.any())
    }
    /// Asks for the records of the first segments.
    #[inline]
    pub fn fetch(&self) {
        if let Some(first) = self.ring.get(self.place(self.head)..) {
            prefetch(first, 128);
        }
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
    /// Bytes in flight.
    pub fn pipe(&self) -> u64 {
        self.pipe
    }
    fn has(&self, mark: Mark, i: u64) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.has(mark, i))
    }
    pub fn is_sacked(&self, i: u64) -> bool {
        self.has(Mark::Sacked, i)
    }
    pub fn is_lost(&self, i: u64) -> bool {
        self.has(Mark::Lost, i)
    }
    pub fn is_retransmitted(&self, i: u64) -> bool {
        self.has(Mark::Again, i)
    }

    fn place(&self, i: u64) -> usize {
        i as usize & self.ring.len().wrapping_sub(1)
    }
    /// Segment `i`, which is in flight.
    pub fn get(&self, i: u64) -> Sent {
        let record = &self.ring[self.place(i)];
        self.unpack(record, self.seq + u64::from(record.seq.wrapping_sub(self.seq as u32)))
    }
    fn unpack(&self, record: &Record, seq: u64) -> Sent {
        Sent {
            seq,
            sent: record.sent,
            order: self.transmissions - u64::from((self.transmissions as u32).wrapping_sub(record.order)),
            rate: Stamp {
                first_sent: record.first_sent,
                delivered_time: record.delivered_time,
                delivered: record.delivered,
                app_limited: record.len & LIMITED != 0,
            },
            len: record.len(),
            fin: record.len & FIN != 0,
            ever_retransmitted: record.len & AGAIN != 0,
        }
    }
    fn len_of(&self, i: u64) -> u32 {
        self.ring[self.place(i)].len()
    }
    /// The first segment in flight.
    pub fn front(&self) -> Option<Sent> {
        (!self.is_empty()).then(|| self.unpack(&self.ring[self.place(self.head)], self.seq))
    }

    /// Takes in a segment sent for the first time: `len` of sequence space from `seq` on, a FIN included.
    pub fn transmit(&mut self, seq: u64, len: u32, fin: bool, now: Time, rate: Stamp) {
        if self.is_empty() {
            self.seq = seq;
        }
        self.transmissions += 1;
        let len_and_fin = if fin { len | FIN } else { len };
        self.push(Record::new(seq as u32, len_and_fin, now, self.transmissions, rate));
    }

    #[inline(always)]
    fn push(&mut self, record: Record) {
        if self.tail - self.head == self.ring.len() as u64 {
            self.grow();
        }
        let (place, len) = (self.place(self.tail), record.len());
        self.ring[place] = record;
        self.bytes += u64::from(len);
        self.pipe += u64::from(len);
        self.tail += 1;
        if self.tracks.is_some() {
            self.note_track(self.tail - 1);
        }
    }

    /// Segment `i` is sent again: its record as it is now.
    pub fn retransmit(&mut self, i: u64, now: Time, rate: Stamp) -> Sent {
        self.mark(Mark::Again, i);
        self.transmissions += 1;
        let place = self.place(i);
        let record = &mut self.ring[place];
        *record = Record::new(record.seq, record.len & (LEN | FIN) | AGAIN, now, self.transmissions, rate);
        if self.tracks.is_some() {
            self.note_track(i);
        }
        self.get(i)
    }

    /// Cuts what is longer than `mss` payload bytes and was not SACKed, neighbours together, and marks it lost: the path does not
    /// take it. Whether there was any.
    #[cold]
    pub fn cut(&mut self, mss: u32) -> bool {
        let payload = |record: &Record| record.len() - u32::from(record.len & FIN != 0);
        let old: Vec<(Record, [bool; 3], Track)> = (self.head..self.tail)
            .map(|i| {
                let marks = [self.is_sacked(i), self.is_lost(i), self.is_retransmitted(i)];
                (self.ring[self.place(i)], marks, self.track(i))
            })
            .collect();
        let long = |(record, marks, _): &(Record, [bool; 3], Track)| payload(record) > mss && !marks[0];
        if !old.iter().any(long) {
            return false;
        }
        (self.tail, self.bytes, self.pipe) = (self.head, 0, 0);
        let (capacity, marked_lost) = (self.ring.len(), self.marked_lost());
        *self.marks() = Marks { bits: no_bits(capacity), marked_lost, ..Marks::default() };
        let mut rest = old.as_slice();
        while let Some((record, [sacked, lost, again], track)) = rest.first() {
            let run = rest.iter().take_while(|segment| long(segment)).count();
            if run == 0 {
                let i = self.push_again(*record, *track);
                if *sacked {
                    self.mark_sacked(i);
                }
                if *lost {
                    self.mark(Mark::Lost, i);
                }
                if *again {
                    self.mark(Mark::Again, i);
                }
                rest = &rest[1..];
                continue;
            }
            let (these, others) = rest.split_at(run);
            rest = others;
            let fin = these[run - 1].0.len & FIN;
            let mut left: u32 = these.iter().map(|(record, ..)| payload(record)).sum();
            let (start, mut seq, mut k) = (record.seq, record.seq, 0);
            while left > 0 {
                let len = left.min(mss);
                left -= len;
                while k + 1 < run && these[k + 1].0.seq.wrapping_sub(start) <= seq.wrapping_sub(start) {
                    k += 1;
                }
                let (record, [_, lost, again], track) = these[k];
                let fin = if left == 0 { fin } else { 0 };
                // What was sent again in part has no RTT (Karn).
                let end = seq.wrapping_add(len).wrapping_sub(start);
                let within = these[k..].iter().take_while(|(other, ..)| other.seq.wrapping_sub(start) < end);
                let ever_again = within.fold(0, |flags, (other, ..)| flags | other.len & AGAIN);
                let len_and_flags = (len + u32::from(fin != 0)) | fin | record.len & LIMITED | ever_again;
                let i = self.push_again(Record { seq, len: len_and_flags, ..record }, track);
                if lost && !again {
                    self.mark(Mark::Lost, i);
                } else {
                    self.mark_lost(i);
                }
                seq = seq.wrapping_add(len);
            }
        }
        true
    }

    /// Takes in a segment as it was; its number.
    fn push_again(&mut self, record: Record, track: Track) -> u64 {
        self.push(record);
        let i = self.tail - 1;
        let place = self.place(i);
        if let Some(tracks) = &mut self.tracks {
            tracks.ring[place] = track;
        }
        i
    }

    /// What was sent again and is in flight, in the order in which it left: segment and number of the transmission.
    #[cold]
    pub fn retransmissions(&self) -> Vec<(u64, u64)> {
        let again = (self.head..self.tail).filter(|&i| self.is_retransmitted(i));
        let mut again: Vec<_> = again.map(|i| (i, self.get(i).order)).collect();
        again.sort_by_key(|(_, order)| *order);
        again
    }

    /// Everything was sent so much later.
    pub fn shift(&mut self, by: Duration) {
        for i in self.head..self.tail {
            let place = self.place(i);
            let Record { sent, first_sent, delivered_time, .. } = &mut self.ring[place];
            [sent, first_sent, delivered_time].into_iter().for_each(|time| *time += by);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.ring.len() * 2).max(INITIAL_CAPACITY);
        let place = |i: u64| i as usize & (capacity - 1);
        let mut ring = vec![Record::default(); capacity].into_boxed_slice();
        (self.head..self.tail).for_each(|i| ring[place(i)] = self.ring[self.place(i)]);
        if let Some(marks) = &mut self.marks {
            let old = std::mem::replace(&mut marks.bits, no_bits(capacity));
            for i in self.head..self.tail {
                let from = (i >> 6) as usize & (old.len() - 1);
                let to = marks.place(i);
                (0..3).for_each(|mark| marks.bits[to][mark] |= old[from][mark] & 1 << (i & 63));
            }
        }
        if let Some(tracks) = &mut self.tracks {
            let old = std::mem::replace(&mut tracks.ring, vec![Track::default(); capacity]);
            (self.head..self.tail).for_each(|i| tracks.ring[place(i)] = old[i as usize & (old.len() - 1)]);
        }
        self.ring = ring;
    }

    fn marks(&mut self) -> &mut Marks {
        let capacity = self.ring.len();
        self.marks.get_or_insert_with(|| Box::new(Marks { bits: no_bits(capacity), ..Marks::default() }))
    }

    /// Sets a mark, and the pipe accordingly.
    fn mark(&mut self, mark: Mark, i: u64) {
        let len = self.len_of(i);
        if self.marks().set(mark, i, len) {
            match mark {
                Mark::Sacked | Mark::Lost => self.pipe -= u64::from(len),
                Mark::Again => self.pipe += u64::from(len),
            }
        }
    }
    /// Takes a mark away; whether it was there.
    fn unmark(&mut self, mark: Mark, i: u64) -> bool {
        let len = self.len_of(i);
        let there = self.marks.as_mut().is_some_and(|marks| marks.clear(mark, i, len));
        if there {
            match mark {
                Mark::Sacked | Mark::Lost => self.pipe += u64::from(len),
                Mark::Again => self.pipe -= u64::from(len),
            }
        }
        there
    }

    /// Removes the first segment, cumulatively acknowledged; says whether it had been SACKed before.
    pub fn pop(&mut self) -> (Sent, bool) {
        let i = self.head;
        let sent = self.unpack(&self.ring[self.place(i)], self.seq);
        let mut was_sacked = false;
        if self.is_troubled() {
            was_sacked = self.unmark(Mark::Sacked, i);
            self.unmark(Mark::Lost, i);
            self.unmark(Mark::Again, i);
        }
        self.bytes -= u64::from(sent.len);
        self.pipe -= u64::from(sent.len);
        self.seq += u64::from(sent.len);
        self.head += 1;
        (sent, was_sacked)
    }

    /// Marks segment `i` lost; a retransmission of it in flight is lost with it.
    pub fn mark_lost(&mut self, i: u64) {
        debug_assert!(!self.is_sacked(i), "a segment is never both SACKed and lost");
        if self.is_lost(i) && !self.is_retransmitted(i) {
            return;
        }
        self.unmark(Mark::Again, i);
        self.mark(Mark::Lost, i);
        let len = self.len_of(i);
        let marks = self.marks();
        marks.marked_lost += u64::from(len);
        marks.lost_hint = marks.lost_hint.min(i);
        let loss = Loss { sent: self.get(i), track: self.track(i), marked_lost: self.marked_lost() };
        if let Some(tracks) = &mut self.tracks {
            tracks.losses.push(loss);
        }
    }

    /// Marks segment `i` selectively acknowledged.
    pub fn mark_sacked(&mut self, i: u64) {
        self.unmark(Mark::Lost, i);
        self.unmark(Mark::Again, i);
        self.mark(Mark::Sacked, i);
        let marks = self.marks();
        marks.sacked_top = marks.sacked_top.max(i + 1);
    }

    /// Takes back the marks of all segments that are lost and not retransmitted, and of those that are.
    pub fn unmark_lost(&mut self) {
        for i in self.head..self.tail {
            self.unmark(Mark::Lost, i);
        }
        if let Some(marks) = &mut self.marks {
            marks.lost_cursor = 0;
        }
    }

    /// The receiver dropped what it had selectively acknowledged (RFC 2018 §8).
    pub fn forget_sacks(&mut self) {
        for i in self.head..self.tail {
            self.unmark(Mark::Sacked, i);
        }
        let head = self.head;
        self.marks().sacked_top = head;
    }

    /// Number of the highest segment selectively acknowledged, + 1; `head` when there is none.
    pub fn sacked_top(&self) -> u64 {
        self.marks.as_ref().map_or(self.head, |marks| marks.sacked_top.max(self.head))
    }

    /// The first segment in `[from, to)` that is not to be skipped, or `to`.
    pub fn scan(&self, from: u64, to: u64, skip: Skip) -> u64 {
        let mut i = from.max(self.head);
        let Some(marks) = &self.marks else { return i.min(to) };
        while i < to {
            let wanted = !marks.skipped(i, skip) >> (i & 63);
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
            let skipped = self.marks.as_ref().map_or(0, |marks| marks.skipped(i, skip));
            let wanted = !skipped << (63 - (i & 63));
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
        let marks = self.marks.as_ref()?;
        if n == 0 || marks.tally(Mark::Sacked).segments < n {
            return None;
        }
        let (mut left, mut end) = (n, self.sacked_top());
        while end > self.head {
            let i = end - 1;
            let mut word = marks.word(Mark::Sacked, i) << (63 - (i & 63));
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

    /// RFC 6675's IsLost: `dupthresh` segments are SACKed above it. (The RFC counts discontiguous ranges, or
    /// bytes beyond (DupThresh − 1) SMSS; with full segments that is the same.)
    pub fn mark_below_sacked(&mut self, dupthresh: u32) {
        let Some(top) = self.nth_sacked_from_top(dupthresh) else { return };
        loop {
            let from = self.marks().lost_cursor;
            let next = self.scan(from, top, Skip::Touched);
            self.marks().lost_cursor = next;
            if next >= top {
                return;
            }
            self.mark_lost(next);
        }
    }

    /// The lowest segment that is lost and not retransmitted.
    pub fn next_to_retransmit(&mut self) -> Option<u64> {
        let marks = self.marks.as_mut()?;
        let mut i = marks.lost_hint.max(self.head);
        while i < self.tail {
            let due = (marks.word(Mark::Lost, i) & !marks.word(Mark::Again, i)) >> (i & 63);
            if due != 0 {
                i += u64::from(due.trailing_zeros());
                marks.lost_hint = i;
                return (i < self.tail).then_some(i);
            }
            i = (i | 63) + 1;
        }
        marks.lost_hint = self.tail;
        None
    }

    /// The segment that contains offset `seq`, or the first after it; [`tail`](Self::tail) when there is none.
    pub fn find(&self, seq: u64) -> u64 {
        let Some(front) = self.front() else { return self.tail };
        // Segments of mostly one size: guess, and walk from there; give up on walking where they are not.
        let guess = self.head + seq.saturating_sub(front.seq) / u64::from(self.mss);
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
        let [sacked, lost, again] = [self.sacked(), self.lost(), self.retrans()];
        debug_assert!(sacked.segments + lost.segments <= self.out().segments, "{sacked:?} {lost:?}");
        debug_assert!(again.segments <= self.out().segments, "{again:?}");
        debug_assert_eq!(self.pipe + sacked.bytes + lost.bytes, self.bytes + again.bytes);
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
            let hint = self.marks.as_ref().map_or(0, |marks| marks.lost_hint);
            assert!(i >= hint || !self.is_lost(i) || self.is_retransmitted(i));
            assert!(i < self.sacked_top() || !self.is_sacked(i));
        }
        let tallies = [self.sacked(), self.lost(), self.retrans()];
        assert_eq!(count, [self.out(), tallies[0], tallies[1], tallies[2]]);
        if let Some(marks) = &self.marks {
            let ones = [0, 1, 2].map(|mark| marks.bits.iter().map(|word| word[mark].count_ones()).sum::<u32>());
            assert_eq!(ones, tallies.map(|tally| tally.segments));
        }
    }
}

fn no_bits(capacity: usize) -> Box<[[u64; 3]]> {
    vec![[0; 3]; capacity.div_ceil(64)].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A retransmission in flight that is too long is lost once more, and no piece that has bytes of it gives an RTT (Karn).
    #[test]
    fn a_retransmission_that_is_cut_is_lost_again() {
        let mut board = Scoreboard::new(1000);
        board.track_packets();
        for seq in [0, 1000] {
            board.transmit(seq, 1000, false, Time(1), Stamp::default());
        }
        board.mark_lost(1);
        board.retransmit(1, Time(2), Stamp::default());
        board.forget_losses();
        assert!(board.cut(600));
        board.check_all();
        let pieces: Vec<_> = (board.head()..board.tail()).map(|i| board.get(i)).collect();
        let pieces: Vec<_> = pieces.iter().map(|sent| (sent.seq, sent.len, sent.ever_retransmitted)).collect();
        assert_eq!(pieces, [(0, 600, false), (600, 600, true), (1200, 600, true), (1800, 200, true)]);
        // 1000 of before, and all 2000 that were in flight.
        assert_eq!((board.marked_lost(), board.losses().len()), (3000, 4));
    }
}
