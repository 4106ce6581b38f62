//! A receive buffer that grows as the application reads: dynamic right-sizing, and the window that goes with it (Linux 6.18
//! `tcp_rcv_space_adjust`, `tcp_grow_window`, `__tcp_select_window`).
//!
//! Memory is counted as the kernel counts it: what a segment takes, not what it carries.

use super::super::Config;
use super::super::config::window_of;
use cclab_algo::{Duration, Time};

/// What a buffer's window is while no segment was seen: half of it, in 256ths.
const HALF: u64 = 128;

/// What a segment counts as until a longer one came (RFC 9293 §3.7.1).
const SMALLEST_FULL: u32 = 536;

/// Headers of IPv4 and TCP with timestamps; a driver's headroom and the kernel's record behind the data; and its record of
/// the whole (x86-64).
const HEADERS: u64 = 52;
const AROUND: u64 = 64 + 320;
const RECORD: u64 = 256;

/// What does not fit a page goes into more of them, the headers into the first (`tun_alloc_skb`).
const PAGE: u64 = 4096;

/// Shorter segments tell nothing of the sender's use of the window.
const TELLING: u32 = 128;

/// The buffer and its window.
#[derive(Debug)]
pub(super) struct Moderation {
    /// It grows to `most`.
    buffer: u64,
    most: u64,
    grows: bool,
    /// SO_RCVBUF has fixed it.
    fixed: bool,
    /// What of the buffer is window: by the old rule, or in 256ths as segments have shown.
    scale: Option<i8>,
    ratio: u64,
    full_segment: u32,
    /// Longer packets are several segments in one. The packet that told `ratio`, and the memory that it took.
    pub longest: u32,
    told: (u64, u64),
    /// It does not grow for now.
    pub held: bool,
    advmss: u64,
    /// The window is no larger than this (`window_clamp`), nor than what the sender has shown that it uses (`rcv_ssthresh`).
    clamp: u64,
    threshold: u64,
    /// Read in the best round trip so far; the present one began there and then.
    space: u64,
    round: (u64, Time),
}

/// The memory that a packet with `len` bytes takes.
fn truesize(len: u32) -> u64 {
    let bytes = u64::from(len) + HEADERS + AROUND;
    RECORD + if bytes <= PAGE { bytes.next_power_of_two() } else { bytes.next_multiple_of(PAGE) }
}

impl Moderation {
    pub fn new(config: &Config) -> Option<Moderation> {
        config.initial_receive_buffer.map(|buffer| Moderation {
            buffer,
            most: config.receive_buffer.max(buffer),
            grows: config.moderate_receive_buffer && config.receive_buffer > buffer,
            fixed: false,
            scale: config.adv_win_scale,
            ratio: HALF,
            full_segment: SMALLEST_FULL,
            longest: u32::MAX,
            told: (SMALLEST_FULL.into(), truesize(SMALLEST_FULL)),
            held: false,
            advmss: 0,
            clamp: u64::MAX,
            threshold: 0,
            space: 0,
            round: (0, Time::ZERO),
        })
    }

    /// The window that a SYN offers, before it is cut to the field's width: whole segments of `mss` bytes.
    pub fn first(&mut self, mss: u32) -> u64 {
        let (space, mss) = (self.window(0), u64::from(mss));
        self.threshold = if space > mss { space - space % mss } else { space };
        self.threshold
    }

    /// What was offered on the SYN.
    pub fn offered(&self) -> u64 {
        self.threshold
    }

    /// The connection is up (`tcp_init_buffer_space`); `advmss`: payload of a full segment.
    pub fn begin(&mut self, now: Time, rcv_nxt: u64, advmss: u32) {
        self.advmss = advmss.into();
        self.longest = self.longest.min(advmss);
        let (whole, offered) = (self.window(0), self.threshold);
        self.clamp = if whole > 2 * self.advmss { (whole - self.advmss).max(2 * self.advmss) } else { whole };
        self.threshold = offered.min(self.clamp);
        self.space = self.threshold.min(10 * self.advmss);
        self.round = (rcv_nxt, now);
    }

    /// The window that the buffer has room for beside `used` bytes of it.
    fn window(&self, used: u64) -> u64 {
        self.share(self.buffer.saturating_sub(used))
    }

    /// The buffer whose window this is.
    fn buffer_for(&self, window: u64) -> u64 {
        match self.scale {
            None => window * 256 / self.ratio,
            Some(n @ 1..) => ((u128::from(window) << n) / ((1_u128 << n) - 1)) as u64,
            Some(n) => window.saturating_mul(1 << -n),
        }
    }

    /// The memory that `bytes` take that wait.
    fn memory(&self, bytes: u64) -> u64 {
        bytes * self.told.1 / self.told.0
    }

    pub fn buffer(&self) -> u64 {
        self.buffer
    }
    /// It has this size, and keeps it.
    pub fn fix(&mut self, bytes: u64) {
        (self.buffer, self.most, self.grows, self.fixed) = (bytes, bytes, false, true);
    }
    /// What it may grow to, and whether it does, is otherwise from now on.
    pub fn follow(&mut self, config: &Config) {
        if !self.fixed {
            self.most = config.receive_buffer.max(self.buffer);
            self.grows = config.moderate_receive_buffer && config.receive_buffer > self.buffer;
        }
    }
    /// Whether a packet of `len` bytes has no room while `waiting` others are there (`tcp_can_ingest`).
    pub fn overflows(&self, len: u32, waiting: u64) -> bool {
        self.memory(waiting) + u64::from(len) > self.buffer
    }

    /// A segment of `len` bytes came while `waiting` others were not read; `rcv_wnd` was offered. Whether the window grew.
    pub fn on_segment(&mut self, len: u32, waiting: u64, rcv_wnd: u64) -> bool {
        let size = truesize(len);
        if len.min(self.longest) > self.full_segment {
            self.learn(len, size, rcv_wnd);
        }
        let room = self.window(self.memory(waiting) + size).min(self.clamp).saturating_sub(self.threshold);
        if len < TELLING || room == 0 {
            return false;
        }
        let step = if self.share(size) <= u64::from(len) { 2 * self.advmss } else { self.step(len, size) };
        if step > 0 {
            self.threshold += step.max(2 * u64::from(len)).min(room);
        }
        step > 0
    }

    /// How much of so much memory is window.
    fn share(&self, memory: u64) -> u64 {
        self.scale.map_or_else(|| memory * self.ratio / 256, |n| window_of(memory, n))
    }

    /// A segment that carries less than its share lets the window grow while that is small (`__tcp_grow_window`).
    fn step(&self, len: u32, size: u64) -> u64 {
        let (mut size, mut window) = (self.share(size) / 2, self.share(self.most) / 2);
        while self.threshold <= window {
            if size <= u64::from(len) {
                return 2 * u64::from(self.full_segment);
            }
            (size, window) = (size / 2, window / 2);
        }
        0
    }

    /// A longer segment than before: what it carries of the memory that it takes is what of the buffer is window.
    fn learn(&mut self, len: u32, size: u64, rcv_wnd: u64) {
        self.full_segment = len.min(self.longest);
        self.told = (len.into(), size);
        let ratio = (u64::from(len) * 256 / size).max(1);
        if self.scale.is_some() || std::mem::replace(&mut self.ratio, ratio) == ratio {
            return;
        }
        let (old, new) = (self.clamp, self.window(0));
        self.clamp = new;
        self.threshold =
            if self.clamp < old { self.threshold.min(self.clamp) } else { self.threshold.max(rcv_wnd.min(self.clamp)) };
        self.space = self.space.min(self.clamp);
    }

    /// The application has read up to `read`, `waiting` bytes are left; `ahead`: to the end of what came out of order. Once in a
    /// round trip this tells how large the buffer must be.
    pub fn on_read(&mut self, now: Time, rtt: Duration, read: u64, waiting: u64, ahead: u64) {
        let (began, since) = self.round;
        if rtt == Duration::ZERO || now.since(since) < rtt {
            return;
        }
        let copied = (read - began).saturating_sub(waiting);
        if copied > self.space {
            self.grow(copied, ahead);
        }
        self.round = (read, now);
    }

    /// `copied` bytes were read in a round trip: twice that by the time that the sender knows, and more if this grew.
    pub fn grow(&mut self, copied: u64, ahead: u64) {
        let old = std::mem::replace(&mut self.space, copied);
        let double = 2 * copied;
        let window = double + 2 * (double * (copied - old) / old.max(1)) + ahead;
        let buffer = self.buffer_for(window).min(self.most);
        if self.grows && !self.held && buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window(0);
        }
    }

    /// Data came out of order that ends `ahead` bytes beyond what is acknowledged.
    pub fn on_out_of_order(&mut self, ahead: u64) {
        self.grow(self.space, ahead);
    }

    /// The window that the buffer is worth when it is empty.
    fn whole(&self) -> u64 {
        self.clamp.min(self.window(0))
    }
    /// Less than half of it is left.
    pub fn is_scarce(&self, waiting: u64) -> bool {
        self.window(self.memory(waiting)) < self.whole() / 2
    }

    /// The window to offer while so many bytes wait, to be read or for a gap to be filled; `unit` is the window's granularity,
    /// `offered` what was offered last. A window without a scale is of whole segments, and stays if it is nearly right.
    pub fn select(&self, waiting: u64, unit: u64, offered: u64) -> u64 {
        let whole = self.whole();
        let mut free = self.window(self.memory(waiting));
        if self.is_scarce(waiting) {
            free -= free % unit;
            if free < whole / 16 || free < u64::from(self.full_segment).min(whole) {
                return 0;
            }
        }
        free = free.min(self.threshold);
        let segment = u64::from(self.full_segment).min(whole).max(1);
        match unit {
            1 if offered > free || offered + segment <= free => free - free % segment,
            1 => offered,
            _ => free,
        }
    }

    /// Whether the application's read is worth an ACK: it doubles the window `now` of which half is gone (`tcp_cleanup_rbuf`).
    pub fn opens(&self, now: u64, waiting: u64, unit: u64, offered: u64) -> bool {
        let new = self.select(waiting, unit, offered);
        2 * now <= self.clamp && new > 0 && new >= 2 * now
    }
}
