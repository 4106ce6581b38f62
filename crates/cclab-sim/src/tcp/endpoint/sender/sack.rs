//! What an ACK's SACK blocks say (RFC 2018, RFC 2883).

use super::scoreboard::Skip;
use super::{Sender, Taken};
use crate::wire::{Segment, unwrap_offset};
use cclab_algo::Time;
use cclab_algo::cc::Phase;
use cclab_algo::params::Flavour;

/// What the peer's blocks have said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sacks {
    /// Segments that DSACKs reported.
    duplicates: u64,
    seen: Seen,
}

/// The SACK blocks of the last ACK: what they covered need not be looked at again.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    blocks: [(u64, u64); 4],
    len: usize,
}

impl Seen {
    /// Calls `each` with the parts of `[start, end)` that the blocks do not cover.
    fn subtract(&self, start: u64, end: u64, each: &mut dyn FnMut(u64, u64)) {
        let mut from = start;
        while from < end {
            // Jump over the block that covers `from`, or go on to the next that starts after it.
            let blocks = &self.blocks[..self.len];
            if let Some(&(_, e)) = blocks.iter().find(|&&(s, e)| s <= from && from < e) {
                from = e;
                continue;
            }
            let to = blocks.iter().map(|b| b.0).filter(|&s| s > from).min().unwrap_or(end).min(end);
            each(from, to);
            from = to;
        }
    }
}

impl Sender {
    /// Marks what the blocks cover; the cost is that of what is new in them.
    pub(super) fn take_sacks(&mut self, now: Time, segment: &Segment, taken: &mut Taken) {
        if segment.sack.is_empty() || !self.use_sack {
            return;
        }
        let mut seen = Seen::default();
        let near = self.window.una().max(segment.ack);
        let mut blocks = [(0, 0); 4];
        for (block, &(start, end)) in blocks.iter_mut().zip(segment.sack.as_slice()) {
            let start = unwrap_offset(near, start);
            *block = (start, start + u64::from(end.wrapping_sub(start as u32)));
        }
        let blocks = &mut blocks[..segment.sack.len()];
        let first_is_duplicate = self.take_dsack(now, segment.ack, blocks, taken);
        let blocks = &mut blocks[usize::from(first_is_duplicate)..];
        // In the order of sequence numbers: what one ACK brings is no reordering among itself.
        blocks.sort_unstable();
        for &mut (start, end) in blocks {
            if start >= end || end > self.window.nxt() || end <= self.window.una() {
                continue;
            }
            let previous = self.sacks.seen;
            previous.subtract(start, end, &mut |from, to| self.sack_range(now, (start, end), (from, to), taken));
            seen.blocks[seen.len] = (start, end);
            seen.len += 1;
        }
        self.sacks.seen = seen;
        if let Some(low) =
            taken.reordered.filter(|_| self.episode.phase() != Phase::Loss || self.episode.undo.is_open())
        {
            self.see_reordering(low);
        }
    }

    /// Whether the first block reports a duplicate: it lies below the cumulative ACK or inside the second.
    fn take_dsack(&mut self, now: Time, ack: u64, blocks: &[(u64, u64)], taken: &mut Taken) -> bool {
        let (start, end) = blocks[0];
        let inside = |&(s, e): &(u64, u64)| start >= s && end <= e;
        if end > ack && !blocks.get(1).is_some_and(inside) {
            return false;
        }
        if start >= end {
            return true;
        }
        let segments = (end - start).div_ceil(self.mss());
        self.sacks.duplicates += segments;
        if self.sacks.duplicates > self.stats.segments_retransmitted {
            return true; // the network copied it, not we
        }
        taken.dsack = true;
        if self.grows_by_delivered() {
            taken.delivered_bytes += end - start; // a spurious retransmission was delivered
            taken.copied_bytes += end - start;
            self.rate.count(now, end - start);
        }
        if self.probe.is_duplicate(segments, end) {
            taken.dsack_of_probe = true;
        } else {
            self.rack.on_dsack();
        }
        self.episode.undo.on_duplicate(segments, end, self.window.una().max(ack));
        true
    }

    /// Marks the segments of `part` that `block` covers wholly.
    fn sack_range(&mut self, now: Time, block: (u64, u64), part: (u64, u64), taken: &mut Taken) {
        let mut first = self.board.find(part.0);
        let end = self.board.find(part.1);
        if first < end && self.board.get(first).seq < block.0 {
            first += 1;
        }
        loop {
            first = self.board.scan(first, end, Skip::Sacked);
            if first >= end {
                return;
            }
            self.sack_one(now, first, taken);
            first += 1;
        }
    }

    fn sack_one(&mut self, now: Time, i: u64, taken: &mut Taken) {
        let sent = self.board.get(i);
        let top = self.board.sacked_top();
        self.board.mark_sacked(i);
        taken.sacked = true;
        taken.delivered_bytes += u64::from(sent.len);
        self.rate.on_delivered(now, i, &sent, &mut taken.sample);
        // A SACK echoes what came before the hole (RFC 7323 §4.3), older than any retransmission above it: Linux does not ask it.
        let echo = taken.ts_ecr.filter(|_| self.config.flavour == Flavour::Paper);
        self.rack.on_delivered(now, &sent, echo, self.rtt.min_rtt());
        if !sent.ever_retransmitted {
            if i + 1 < top {
                taken.reordered = Some(taken.reordered.map_or(sent.seq, |low| low.min(sent.seq)));
            }
            taken.first_sacked.get_or_insert(sent.sent);
            taken.last_sacked = Some(sent.sent);
            taken.original_delivered |= self.episode.covers(sent.end());
        }
    }
}
