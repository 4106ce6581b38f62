//! What an application has written and the endpoint does not have yet: Linux's send buffer, TCP_CORK and MSG_MORE, ends of records.

use super::shell::lowat;
use super::socket::Returned;
use super::world::{Connection, World};
use crate::tcp::memory::{BELOW_DISTRIBUTED, full_segment, largest, overhead};
use crate::tcp::{Endpoint, State};
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// What a buffer of the kernel takes beside its data.
const OVERHEAD: u64 = overhead(BELOW_DISTRIBUTED);

/// Most that a buffer of the kernel holds.
const LARGEST: u64 = largest(BELOW_DISTRIBUTED);

/// How many places a buffer of the kernel may point to.
const PLACES: usize = 17;

/// The smallest SO_SNDBUF.
const LEAST: u64 = 4608;

/// The bytes of a connection on their way from the application to the endpoint, counted from 0.
#[derive(Debug)]
pub(super) struct Buffer {
    /// Bytes that the application has written, and those that the endpoint has.
    pub written: u64,
    given: u64,
    /// TCP_CORK: a part of a segment waits. So many bytes do, for it or for MSG_MORE, and until then at most.
    pub corked: bool,
    held: u64,
    pub due: Time,
    /// Nagle's algorithm is on.
    pub nagle: bool,
    /// Ends of records (MSG_EOR), which no segment has in its midst.
    ends: VecDeque<u64>,
    /// Most that may wait, in bytes of the kernel's buffers; whether SO_SNDBUF said so. `None`: without bound.
    limit: Option<u64>,
    fixed: bool,
    /// What it grows to.
    most: u64,
    /// Bytes not sent above which a write waits; what TCP_NOTSENT_LOWAT said, if not 0.
    lowat: u64,
    asked_lowat: u32,
    /// The kernel's buffers, as far as they are counted.
    pieces: VecDeque<(u64, u64)>,
    /// What the write that waits has been rid of.
    progress: u64,
}

impl Buffer {
    /// With this limit, if there is one: a fixed one, or `tcp_wmem`'s, which grows with the window.
    pub fn new(fixed: Option<u64>, grows: Option<(u64, u64)>, nagle: bool, lowat: u64) -> Buffer {
        Buffer {
            written: 0,
            given: 0,
            corked: false,
            held: 0,
            due: Time::NEVER,
            nagle,
            ends: VecDeque::new(),
            limit: fixed.or(grows.map(|(start, _)| start)),
            fixed: fixed.is_some(),
            most: grows.map_or(u64::MAX, |(_, most)| most),
            lowat,
            asked_lowat: 0,
            pieces: VecDeque::new(),
            progress: 0,
        }
    }

    /// SO_SNDBUF as Linux takes it: twice what is asked for.
    pub fn asked(bytes: i64) -> u64 {
        (2 * bytes.max(0) as u64).max(LEAST)
    }
    pub fn set_limit(&mut self, limit: u64) {
        (self.limit, self.fixed) = (Some(limit), true);
    }
    /// It grows to so many bytes from now on (tcp_wmem); whether it is bounded at all.
    pub fn set_most(&mut self, most: u64) -> bool {
        self.most = most;
        self.limit.is_some()
    }
    /// TCP_NOTSENT_LOWAT; 0 is the host's, `default`.
    pub fn set_lowat(&mut self, asked: u32, default: u64) {
        self.asked_lowat = asked;
        self.lowat = if asked == 0 { default } else { lowat(asked) };
    }
    pub fn asked_lowat(&self) -> u32 {
        self.asked_lowat
    }
    /// What MSG_ZEROCOPY sends stays where it is: a buffer of the kernel that is full of places ends (Linux `MAX_SKB_FRAGS`).
    pub fn keep_places(&mut self, places: &[i64]) {
        let mut end = self.written;
        for full in places[..places.len().saturating_sub(1)].chunks_exact(PLACES) {
            end += full.iter().sum::<i64>() as u64;
            self.ends.push_back(end);
        }
    }
    fn is_bounded(&self) -> bool {
        self.limit.is_some() || self.lowat < u64::MAX
    }
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }
}

impl World<'_> {
    /// A write: as much as the send buffer has room for, the rest later where it may wait. `first`: it was just made.
    pub(super) fn write(&mut self, fd: i64, bytes: i64, how: Write, first: bool) -> Result<Option<Returned>, String> {
        let blocks = self.blocks(fd) && !how.never_waits;
        let Some(connection) = self.connection(fd) else { return Ok(Some(Err("EPIPE"))) };
        if let Some(error) = connection.take_error() {
            return Ok(Some(Err(error)));
        }
        if connection.state() == State::Closed || connection.shut {
            return Ok(Some(Err("EPIPE")));
        }
        // Before both ends have agreed there is no buffer to write to (Linux `sk_stream_wait_connect`).
        let open = connection.is_open();
        if first {
            connection.buffer.progress = 0;
        }
        if !open || (!first && connection.full) {
            return Ok((!blocks).then_some(Err("EAGAIN")));
        }
        let all = bytes.max(0) as u64;
        loop {
            let now = self.now;
            let Some(connection) = self.connection(fd) else { return Ok(Some(Err("EPIPE"))) };
            let left = all - connection.buffer.progress;
            let Some(piece) = connection.next_piece(left).filter(|_| left > 0) else { break };
            connection.buffer.progress += piece;
            connection.buffer.written += piece;
            connection.buffer.held += piece;
            let whole = how.more || connection.buffer.corked;
            connection.release(now, whole);
            if connection.buffer.is_bounded() {
                self.send()?;
            }
        }
        let Some(connection) = self.connection(fd) else { return Ok(Some(Err("EPIPE"))) };
        let taken = connection.buffer.progress;
        if taken < all {
            connection.fill();
            if blocks {
                return Ok(None);
            }
        }
        if taken == 0 && all > 0 {
            return Ok(Some(Err("EAGAIN")));
        }
        if taken > 0 {
            let end = connection.buffer.written;
            connection.notices.on_write(end, how.copies);
            if how.ends_record {
                connection.buffer.ends.push_back(end);
            }
        }
        Ok(Some(Ok(taken as i64)))
    }
}

/// How a write is meant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Write {
    /// MSG_MORE, MSG_EOR, MSG_DONTWAIT.
    pub more: bool,
    pub ends_record: bool,
    pub never_waits: bool,
    /// MSG_ZEROCOPY on a socket with SO_ZEROCOPY.
    pub copies: bool,
}

impl Connection {
    /// How much of a write goes into the kernel's buffers next; `None`: there is no room.
    fn next_piece(&mut self, most: u64) -> Option<u64> {
        let Some(endpoint) = &self.endpoint else { return Some(most) };
        if !self.buffer.is_bounded() {
            return Some(most);
        }
        let mss = u64::from(endpoint.mss());
        let goal = mss * (LARGEST.min(self.max_window / 2) / mss).max(1);
        let begun = endpoint.bytes_begun();
        let written = self.buffer.written;
        if let Some((start, end)) = self.buffer.pieces.back_mut()
            && *end > begun
            && !self.buffer.ends.contains(end)
        {
            let room = goal.saturating_sub(*end - begun.max(*start));
            if room > 0 {
                *end += room.min(most);
                return Some(room.min(most));
            }
        }
        let free = self.buffer.limit.is_none_or(|limit| self.memory() < limit) && self.unsent() < self.buffer.lowat;
        free.then(|| {
            let piece = goal.min(most);
            self.buffer.pieces.push_back((written, written + piece));
            piece
        })
    }

    /// Bytes that the kernel's buffers take.
    fn memory(&mut self) -> u64 {
        let acked = self.acked();
        self.buffer.pieces.retain(|(_, end)| *end > acked);
        self.buffer.written - acked + OVERHEAD * self.buffer.pieces.len() as u64
    }

    fn acked(&self) -> u64 {
        self.endpoint.as_ref().map_or(0, |endpoint| endpoint.stats().bytes_acked).min(self.buffer.written)
    }
    /// Bytes written and not sent.
    pub(super) fn unsent(&self) -> u64 {
        self.buffer.written - self.endpoint.as_ref().map_or(0, Endpoint::bytes_begun).min(self.buffer.written)
    }
    /// Bytes written and not acknowledged.
    pub(super) fn unacked(&self) -> u64 {
        self.buffer.written - self.acked()
    }

    /// Whether who waits to write may be told so (Linux `__sk_stream_is_writeable`): a third of the buffer is free, and twice what
    /// is not sent is below the mark.
    pub(super) fn writable(&mut self) -> bool {
        let below = self.unsent().saturating_mul(2) < self.buffer.lowat;
        let Some(limit) = self.buffer.limit else { return below };
        let memory = self.memory();
        limit.saturating_sub(memory) >= memory / 2 && below
    }

    /// There was no room; from now on whatever leaves or is acknowledged is a reason to look again.
    pub(super) fn fill(&mut self) {
        self.moved &= self.full;
        self.full = true;
    }

    /// Something left or was acknowledged: who waits for room may be told (Linux `tcp_check_space`). A buffer that is not fixed
    /// follows the window first (`tcp_sndbuf_expand`).
    pub(super) fn look_for_room(&mut self) {
        if !self.full || !std::mem::take(&mut self.moved) {
            return;
        }
        if let (Some(limit), Some(endpoint), false) = (self.buffer.limit, &self.endpoint, self.buffer.fixed) {
            let mss = u64::from(endpoint.mss());
            let segments = (endpoint.info().cwnd / mss).max(10);
            let wanted = 2 * segments * full_segment(BELOW_DISTRIBUTED, mss);
            if limit < wanted {
                self.buffer.limit = Some(wanted.min(self.buffer.most));
            }
        }
        if self.writable() {
            self.full = false;
            self.wakes += 1;
        }
    }

    /// Hands over what was held back; `whole`: only whole segments.
    pub(super) fn release(&mut self, now: Time, whole: bool) {
        let Some(endpoint) = &self.endpoint else { return };
        let rest = if whole { self.buffer.held % u64::from(endpoint.mss()) } else { 0 };
        self.buffer.held = rest;
        self.feed(now);
        self.wait_for_more(now);
    }

    /// What is held back and has nothing before it in flight leaves after a timeout (Linux `tcp_check_probe_timer`).
    fn wait_for_more(&mut self, now: Time) {
        let Some(endpoint) = &self.endpoint else { return };
        let info = endpoint.info();
        self.buffer.due = match (self.buffer.held, info.packets_out, self.buffer.due) {
            (0, ..) | (_, 1.., _) => Time::NEVER,
            (_, 0, Time::NEVER) => now + info.rto,
            (_, 0, due) => due,
        };
    }

    /// An ACK has come: what MSG_MORE held back goes on, a cork stays.
    pub(super) fn uncork(&mut self, now: Time, in_flight: bool) {
        if in_flight && !self.buffer.corked && self.buffer.held > 0 {
            self.release(now, false);
        } else {
            self.wait_for_more(now);
        }
    }

    /// Gives the endpoint what may go; of what follows the end of a record nothing until that is sent, and that is not held back for
    /// want of a full segment. Says whether anything went.
    pub(super) fn feed(&mut self, now: Time) -> bool {
        let Some(endpoint) = &mut self.endpoint else { return false };
        let begun = endpoint.bytes_begun();
        self.buffer.ends.retain(|end| *end > begun);
        let ready = self.buffer.written - self.buffer.held;
        let next = self.buffer.ends.front().map_or(ready, |end| (*end).min(ready));
        let more = next - self.buffer.given.min(next);
        let behind = self.buffer.ends.front().is_some_and(|end| *end < ready);
        endpoint.set_nagle(self.buffer.nagle && !behind);
        endpoint.write(now, more);
        self.buffer.given += more;
        more > 0
    }

    /// Where time passes from `from` to `to`: what limits the sender meanwhile (Linux `tcp_chrono_start`).
    pub(super) fn pass(&mut self, from: Time, to: Time) {
        let Some(endpoint) = self.endpoint.as_ref().filter(|endpoint| endpoint.state() != State::Closed) else {
            return;
        };
        let unsent = self.unsent();
        if self.unacked() == 0 {
            return;
        }
        let info = endpoint.info();
        let waits = (unsent > 0).then(|| unsent.min(u64::from(endpoint.mss())));
        let beyond = waits.is_some_and(|next| info.snd_nxt + next > info.snd_una + info.snd_wnd);
        let time = to - from;
        self.busy += time;
        self.limited_by_buffer += if self.full && unsent == 0 { time } else { Duration::ZERO };
        self.limited_by_window += if beyond && info.bytes_in_flight < info.cwnd { time } else { Duration::ZERO };
    }
}
