//! The send sequence space, and the window that the peer offers (RFC 9293 §3.3.1).

use crate::wire::{Flags, Segment};

/// Send sequence variables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendWindow {
    /// SND.UNA: the oldest offset that is not acknowledged.
    una: u64,
    /// SND.NXT: the next new offset.
    nxt: u64,
    /// SND.WL1: where the segment began that brought the window.
    wl1: u64,
    /// SND.WND, bytes from SND.UNA on; at most 65535 · 2^14.
    wnd: u32,
    /// The largest offered so far (MAX.SND.WND of RFC 9293 §3.8.6.2.1).
    max: u32,
    /// The send buffer: most that may be out.
    buffer: u32,
    /// Snd.Wind.Shift (RFC 7323 §2.2).
    shift: u8,
}

impl SendWindow {
    /// The SYN leaves, which takes the first offset.
    pub fn on_syn_sent(&mut self) {
        self.nxt = 1;
    }

    /// The SYN is acknowledged by `segment`; its windows are to be shifted by `shift` from now on.
    pub fn open(&mut self, segment: &Segment, shift: u8, buffer: u32) {
        *self = SendWindow { una: 1, nxt: 1, wl1: segment.seq, wnd: 0, max: 0, buffer, shift };
        self.wnd = self.offered(segment);
        self.max = self.wnd;
    }

    /// All before `ack` went with the SYN and has arrived.
    pub fn skip(&mut self, ack: u64) {
        (self.una, self.nxt) = (ack, ack);
    }

    pub fn una(&self) -> u64 {
        self.una
    }
    pub fn nxt(&self) -> u64 {
        self.nxt
    }
    /// Bytes offered from SND.UNA on.
    pub fn wnd(&self) -> u64 {
        u64::from(self.wnd)
    }
    /// FlightSize of RFC 5681: sent and not cumulatively acknowledged.
    pub fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }
    /// The usable window: SND.UNA + SND.WND − SND.NXT, as far as the send buffer goes.
    pub fn usable(&self) -> u64 {
        (self.una + u64::from(self.wnd.min(self.buffer))).saturating_sub(self.nxt)
    }

    fn offered(&self, segment: &Segment) -> u32 {
        u32::from(segment.window) << if segment.flags.has(Flags::SYN) { 0 } else { self.shift }
    }

    /// The largest window offered so far.
    pub fn largest(&self) -> u64 {
        u64::from(self.max)
    }

    /// Whether what a segment says of the window is newer than what is known.
    pub fn is_news(&self, segment: &Segment) -> bool {
        let offered = self.offered(segment);
        segment.ack > self.una
            || (segment.ack == self.una
                && (segment.seq > self.wl1 || (segment.seq == self.wl1 && (offered > self.wnd || offered == 0))))
    }

    /// RFC 9293 §3.10.7.4: the window of the newest segment counts. Says whether it changed; `None`: not the newest.
    pub fn update(&mut self, segment: &Segment) -> Option<bool> {
        if !self.is_news(segment) {
            return None;
        }
        let offered = self.offered(segment);
        self.wl1 = segment.seq;
        self.max = self.max.max(offered);
        Some(std::mem::replace(&mut self.wnd, offered) != offered)
    }

    /// Everything up to `ack` is acknowledged; how many bytes that are new.
    pub fn advance(&mut self, ack: u64) -> u64 {
        ack - std::mem::replace(&mut self.una, ack)
    }

    /// How much of a segment of `len` bytes the peer has room for. A part of it goes only if it is half the largest
    /// window seen, and nothing is in flight (`idle`) that will open it (RFC 9293 §3.8.6.2.1).
    pub fn admits(&self, len: u32, idle: bool) -> Option<u32> {
        let room = self.usable();
        if u64::from(len) <= room {
            return Some(len);
        }
        (room > 0 && idle && room >= u64::from(self.max / 2)).then_some(room as u32)
    }

    /// New data up to `end` leaves.
    pub fn on_sent(&mut self, end: u64) {
        self.nxt = end;
    }
}
