//! The receiving half: reassembly, SACK blocks, the offered window, and when to acknowledge.

use super::super::Config;
use super::compression::Compression;
use super::ecn::{Marks, OPTION_SPACE, Style};
use super::moderation::Moderation;
use super::receive_rtt::ReceiveRtt;
use super::sender::Rtt;
use crate::wire::ecn::CE;
use crate::wire::{Echo, Flags, SackBlocks, Segment};
use cclab_algo::cc::{Feedback, drai};
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Longest delay of an ACK (Linux `TCP_DELACK_MAX`).
const DELAY_MAX: Duration = Duration::from_millis(200);

/// Blocks that an ACK has room for in any case (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;

/// The receiving half of an endpoint. What every segment needs comes first, then what few do.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Receiver {
    /// Next offset expected.
    pub rcv_nxt: u64,
    /// Right edge of the window as last offered.
    right_edge: u64,
    /// Acknowledgement number of the last ACK sent.
    last_ack_sent: u64,
    /// When a delayed ACK leaves.
    pub deadline: Time,
    /// Bytes in order since the last ACK sent.
    unacked: u64,
    last_arrival: Time,
    /// Adaptive delay (Linux ATO); zero before the first segment.
    ato: Duration,
    /// Timestamp to echo, and when it was taken (RFC 7323).
    pub ts_recent: u32,
    /// ACKs left in quick-ACK mode.
    quick: u32,
    /// The longest segment received: what counts as full (Linux `rcv_mss`).
    full_segment: u32,
    pub mss: u32,
    pub scale: u8,
    /// Acknowledge at once.
    pub ack_now: bool,
    pub use_sack: bool,
    auto_read: bool,
    /// Whether the FIN itself was received in order.
    pub fin_received: bool,
    /// What was received out of order, or twice, while there is anything to tell of it.
    gaps: Option<Box<Gaps>>,
    config: Arc<Config>,
    /// What most endpoints do not do.
    tuning: Option<Box<Tuning>>,
    /// In-order bytes that the application has not read.
    unread: u64,
    /// Offset after the peer's FIN, once it is known.
    fin_end: Option<u64>,
    /// What was marked.
    pub marks: Marks,
    /// The congestion header that the next ACK brings back.
    pub returning: Feedback,
    /// About the latest data packet; only for a law that reads it.
    echo: Option<Box<Echo>>,
}

/// The RTT as seen from here, and what goes by it.
#[derive(Debug)]
struct Tuning {
    rtt: ReceiveRtt,
    compression: Option<Compression>,
    moderation: Option<Moderation>,
}

impl Tuning {
    fn new(config: &Config) -> Option<Box<Tuning>> {
        let (compression, moderation) = (Compression::new(config), Moderation::new(config));
        let any = compression.is_some() || moderation.is_some();
        any.then(|| Box::new(Tuning { rtt: ReceiveRtt::default(), compression, moderation }))
    }

    fn follow(&mut self, config: &Config) {
        if let Some(compression) = &mut self.compression {
            compression.follow(config);
        } else {
            self.compression = Compression::new(config);
        }
        if let Some(moderation) = &mut self.moderation {
            moderation.follow(config);
        }
    }
}

/// What was received out of order, or twice.
#[derive(Debug, Default)]
struct Gaps {
    /// Ranges received out of order, ascending, not touching each other.
    ranges: VecDeque<(u64, u64)>,
    /// Ranges as SACK reports them: the most recently changed first (RFC 2018 §4).
    recent: [(u64, u64); 4],
    recent_len: usize,
    /// A duplicate to be reported once (RFC 2883).
    duplicate: Option<(u64, u64)>,
}

impl Receiver {
    pub fn new(config: Arc<Config>, echoes: bool) -> Receiver {
        Receiver {
            rcv_nxt: 0,
            right_edge: 0,
            last_ack_sent: 0,
            deadline: Time::NEVER,
            unacked: 0,
            last_arrival: Time::ZERO,
            ato: Duration::ZERO,
            ts_recent: 0,
            quick: 0,
            full_segment: 0,
            mss: config.mss,
            scale: 0,
            ack_now: false,
            use_sack: false,
            auto_read: true,
            fin_received: false,
            gaps: None,
            unread: 0,
            fin_end: None,
            tuning: Tuning::new(&config),
            marks: Marks::new(),
            returning: Feedback::None,
            echo: echoes.then(Box::default),
            config,
        }
    }

    pub fn set_config(&mut self, config: Arc<Config>) {
        if let Some(tuning) = &mut self.tuning {
            tuning.follow(&config);
        }
        self.config = config;
    }

    /// The peer's SYN was received.
    pub fn on_syn(&mut self, segment: &Segment) {
        self.rcv_nxt = segment.seq + 1;
        self.ts_recent = segment.ts_val;
        // The SYN-ACK, or the ACK that completes the handshake, says so next.
        self.last_ack_sent = 1;
        self.right_edge = self.rcv_nxt;
    }

    /// Whether `segment` is taken by where it lies (RFC 9293 §3.10.7.4, with the edges joined as Linux does).
    pub fn in_window(&self, segment: &Segment) -> bool {
        segment.end() >= self.rcv_nxt && (segment.end() <= self.right_edge || self.overlaps(segment))
    }

    /// Whether a segment that ends beyond the window is taken: by RFC 9293 what of it lies within; by Linux all of it, if the
    /// application has read what there was, or nothing of it; a FIN needs no room (6.18, `tcp_sequence`).
    #[cold]
    fn overlaps(&self, segment: &Segment) -> bool {
        let data = segment.end() - u64::from(segment.flags.has(Flags::FIN));
        // Such a segment may have passed the edge.
        let edge = self.right_edge.max(self.rcv_nxt);
        segment.seq <= edge && (self.trims() || self.unread == 0 || data <= edge)
    }
    fn trims(&self) -> bool {
        self.config.flavour == Flavour::Paper
    }
    /// The longest segment that has come.
    pub fn full_segment(&self) -> u32 {
        self.full_segment
    }

    /// RFC 7323 §4.3 (2): remember the timestamp of the segment that holds the left edge of what was last
    /// acknowledged. So a delayed ACK echoes the first segment it covers, and a gap the last before it; never
    /// an older one than before, which an ACK that was overtaken may carry.
    pub fn note_timestamp(&mut self, segment: &Segment) {
        let newer = segment.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0;
        if newer && segment.seq <= self.last_ack_sent {
            self.ts_recent = segment.ts_val;
        }
    }

    /// Takes in the payload and FIN of a segment; the payload bytes that are now in order.
    #[inline]
    pub fn on_data(&mut self, now: Time, segment: &Segment, rtt: &Rtt) -> u64 {
        let (mut in_order, mut owed) = (0, false);
        let (tuned, before) = (self.tuning.is_some(), self.rcv_nxt);
        let full = if tuned { self.measure(now, segment) } else { segment.len };
        self.full_segment = self.full_segment.max(full);
        if let Some(echo) = &mut self.echo {
            **echo = Echo { seq: segment.seq, sent: segment.sent, arrived: now };
        }
        if segment.flags.has(Flags::FIN) {
            self.fin_end = Some(segment.end());
        }
        let (start, mut end) = (segment.seq, segment.end());
        if end > self.right_edge {
            if self.trims() {
                end = self.right_edge.max(self.rcv_nxt);
            }
            // A FIN behind a closed window would come again and again.
            self.ack_now |= segment.len == 0;
        }
        if end <= self.rcv_nxt {
            self.on_duplicate(start, segment.end());
        } else if start <= self.rcv_nxt {
            if start < self.rcv_nxt {
                let rcv_nxt = self.rcv_nxt;
                self.gaps().duplicate = Some((start, rcv_nxt));
            }
            // What leaves nothing unread is acknowledged at once (Linux `tcp_cleanup_rbuf`).
            let pushed = segment.flags.has(Flags::PSH) && self.auto_read;
            in_order = self.on_in_order(now, end, pushed, rtt);
            owed = true;
        } else {
            self.on_out_of_order(now, start, end, rtt);
        }
        self.last_arrival = now;
        if tuned {
            self.moderate(now, segment, before);
        }
        if owed {
            self.delay_ack(now, rtt);
        }
        in_order
    }

    /// RFC 3168 §6.1.3: congestion is echoed until the peer says CWR. Where there are quick ACKs neither end waits long
    /// for either (Linux): the sender's window may be small. Nor does DCTCP's receiver then, where marking turns.
    pub fn take_ecn(&mut self, segment: &Segment, codepoint: u8) {
        let ce = codepoint == CE;
        match self.marks.style {
            Style::Off => {}
            Style::Classic => {
                if segment.flags.has(Flags::CWR) {
                    self.marks.ece = false;
                    self.ack_now = true;
                }
                if ce && !self.marks.ece {
                    self.marks.ece = true;
                    if self.config.delayed_ack.quickack > 0 {
                        self.quick = self.quick.max(2);
                    }
                }
            }
            Style::Dctcp => {
                self.ack_now |= self.config.delayed_ack.quickack > 0 && self.marks.ece != ce;
                self.marks.ece = ce;
            }
            Style::Accurate => self.ack_now |= self.marks.count(codepoint, segment.len),
        }
    }

    /// Data was received that no ACK has covered.
    pub fn owes_ack(&self) -> bool {
        self.unacked > 0
    }

    fn on_in_order(&mut self, now: Time, end: u64, pushed: bool, rtt: &Rtt) -> u64 {
        let before = self.rcv_nxt;
        self.rcv_nxt = end;
        if self.has_ranges() {
            self.merge_ranges();
            // A gap is filled: say so at once (RFC 5681 §4.2).
            self.ack_now |= !self.has_ranges();
        }
        let fin = u64::from(self.fin_end.is_some_and(|fin| self.rcv_nxt >= fin));
        if fin != 0 && !self.fin_received {
            self.fin_received = true;
            // There is nothing more to be told of (Linux `tcp_fin`).
            self.gaps = None;
            // Where the application has still to close, its own FIN may take the ACK along (Linux `tcp_fin`: interactive mode).
            let closes_later = !self.auto_read && self.has_measured_gaps();
            self.quick = if closes_later { 0 } else { self.quick };
            self.ack_now |= !closes_later;
        }
        let bytes = self.rcv_nxt - before - fin;
        if !self.auto_read {
            self.unread += bytes;
        }
        self.unacked += bytes + fin;
        self.ack_now |= pushed;
        if self.config.delayed_ack.adaptive {
            self.adapt(now, rtt);
        }
        bytes
    }

    /// What is remembered of what came out of order takes so much.
    pub fn kept_bytes(&self) -> usize {
        self.gaps.as_ref().map_or(0, |gaps| gaps.ranges.len() * size_of::<(u64, u64)>())
    }

    fn gaps(&mut self) -> &mut Gaps {
        self.gaps.get_or_insert_default()
    }
    /// Whether something was received that does not follow on `rcv_nxt`.
    fn has_ranges(&self) -> bool {
        self.gaps.as_ref().is_some_and(|gaps| !gaps.ranges.is_empty())
    }

    /// Takes in order what now follows on `rcv_nxt`.
    fn merge_ranges(&mut self) {
        let Some(gaps) = &mut self.gaps else { return };
        while let Some(&(start, end)) = gaps.ranges.front() {
            if start > self.rcv_nxt {
                break;
            }
            if start < self.rcv_nxt && end <= self.rcv_nxt {
                gaps.duplicate.get_or_insert((start, end));
            }
            self.rcv_nxt = self.rcv_nxt.max(end);
            gaps.ranges.pop_front();
        }
        let rcv_nxt = self.rcv_nxt;
        gaps.forget_recent(|&(start, _)| start <= rcv_nxt);
    }

    /// What was received before: an ACK of ours was lost, or the peer's timer is hasty. Acknowledged at once, and so is what
    /// comes next (Linux `tcp_enter_quickack_mode`).
    fn on_duplicate(&mut self, start: u64, end: u64) {
        self.ack_now = true;
        if end > start && self.config.delayed_ack.adaptive {
            self.start_quick_acks();
            self.ato = self.config.delayed_ack.timeout;
        }
        if end > start {
            self.marks.on_duplicate(start);
            self.gaps().duplicate = Some((start, end));
        }
    }

    fn on_out_of_order(&mut self, now: Time, start: u64, end: u64, rtt: &Rtt) {
        self.gaps().insert(start, end);
        self.ack_gap(now, rtt);
    }

    /// Something is missing: an ACK at once, unless several left that said the same.
    fn ack_gap(&mut self, now: Time, rtt: &Rtt) {
        let may_wait = self.use_sack && !self.ack_now && self.quick == 0;
        match self.tuning.as_mut().filter(|_| may_wait).and_then(|tuning| tuning.hold(now, self.rcv_nxt, rtt.srtt())) {
            Some(at) => self.deadline = self.deadline.min(at),
            None => self.ack_now = true,
        }
    }

    /// Whether ACKs are held back that have no room for the block that `segment` changes or begins (Linux
    /// `tcp_sack_new_ofo_skb`).
    pub fn must_say_first(&mut self, segment: &Segment) -> bool {
        let Some(compression) = self.tuning.as_mut().and_then(|tuning| tuning.compression.as_mut()) else {
            return false;
        };
        let far = self.gaps.as_ref().is_some_and(|gaps| gaps.place(segment) >= EXPECTED_BLOCKS);
        let due = far && compression.holds() && segment.seq > self.rcv_nxt && segment.end() <= self.right_edge;
        if due {
            compression.release();
        }
        due
    }

    /// Bytes that take memory: not read, or behind a gap.
    fn waiting(&self) -> u64 {
        let ranges = self.gaps.iter().flat_map(|gaps| &gaps.ranges);
        self.unread + ranges.map(|(start, end)| end - start).sum::<u64>()
    }
    /// From what is expected next to the end of what came out of order.
    fn ahead(&self) -> u64 {
        let last = self.gaps.as_ref().and_then(|gaps| gaps.ranges.back());
        last.map_or(0, |&(_, end)| end - self.rcv_nxt)
    }

    /// The buffer follows a segment that came, `before` being what was expected next.
    #[cold]
    fn moderate(&mut self, now: Time, segment: &Segment, before: u64) {
        let (waiting, ahead, offered) = (self.waiting(), self.ahead(), self.offered());
        let (read, unread, use_sack) = (self.rcv_nxt - self.unread, self.unread, self.use_sack);
        let Some(Tuning { rtt, moderation: Some(moderation), .. }) = self.tuning.as_deref_mut() else { return };
        let in_order = segment.seq <= before && segment.end() > before;
        if in_order || segment.seq > before && use_sack {
            let others = waiting.saturating_sub(if in_order && self.auto_read { 0 } else { segment.len.into() });
            if moderation.on_segment(segment.len, others, offered) && self.config.delayed_ack.quickack > 0 {
                self.quick |= 1;
                self.ack_now = true;
            }
            // More than the buffer holds is taken while that is empty, and the peer told at once (Linux `tcp_data_queue`).
            self.ack_now |= moderation.overflows(segment.len, others);
        }
        if in_order && self.auto_read {
            moderation.on_read(now, rtt.get(), read, unread, ahead);
        } else if segment.seq > before {
            moderation.on_out_of_order(ahead);
        }
    }

    /// The application has read from a buffer that grows: an ACK if that doubles what is left of the window.
    fn on_read(&mut self, now: Time, taken: u64) {
        let (waiting, ahead, unread, unit) = (self.waiting(), self.ahead(), self.unread, 1 << self.scale);
        let (read, left) = (self.rcv_nxt - self.unread, self.right_edge.saturating_sub(self.rcv_nxt));
        let offered = self.offered();
        let Some(Tuning { rtt, moderation: Some(moderation), .. }) = self.tuning.as_deref_mut() else { return };
        moderation.on_read(now, rtt.get(), read, unread, ahead);
        self.ack_now |= taken > 0 && moderation.opens(left, waiting, unit, offered);
    }

    /// A SYN is to leave, with which segments have this size.
    pub fn open_window(&mut self, segment: u32) {
        if let Some(moderation) = self.moderation() {
            moderation.first(segment);
        }
    }
    /// The connection is up, and our segments would carry `advmss` bytes.
    pub fn begin(&mut self, now: Time, advmss: u32) {
        let rcv_nxt = self.rcv_nxt;
        if let Some(moderation) = self.moderation() {
            moderation.begin(now, rcv_nxt, advmss);
        }
    }
    pub fn set_peer_segment(&mut self, bytes: u32) {
        if let Some(moderation) = self.moderation() {
            moderation.longest = bytes;
        }
    }
    pub fn buffer(&self) -> Option<u64> {
        Some(self.tuning.as_ref()?.moderation.as_ref()?.buffer())
    }
    pub fn set_buffer(&mut self, bytes: u64) -> bool {
        self.moderation().map(|moderation| moderation.fix(bytes)).is_some()
    }
    pub fn let_buffer_grow(&mut self, may: bool) {
        if let Some(moderation) = self.moderation() {
            moderation.held = !may;
        }
    }
    fn moderation(&mut self) -> Option<&mut Moderation> {
        self.tuning.as_mut()?.moderation.as_mut()
    }

    /// Bytes beyond what is expected next that there is room for.
    fn room(&self, syn: bool) -> u64 {
        match self.tuning.as_ref().and_then(|tuning| tuning.moderation.as_ref()) {
            Some(moderation) if syn => moderation.offered(),
            Some(moderation) => moderation.select(self.waiting(), 1 << self.scale, self.offered()),
            None => self.config.receive_window().saturating_sub(self.unread),
        }
    }
    /// The window as last offered.
    fn offered(&self) -> u64 {
        self.right_edge.saturating_sub(self.last_ack_sent)
    }

    /// Whether the window is still as large as last offered, so that an ACK moves its right edge: where it is not, a second
    /// segment is no reason for one; and where less than half is left, none is hurried (Linux `__tcp_ack_snd_check`,
    /// `__tcp_select_window`).
    fn keeps_window(&mut self) -> bool {
        let (waiting, offered, unit) = (self.waiting(), self.offered(), 1 << self.scale);
        let auto_read = self.auto_read;
        let Some(moderation) = self.moderation().filter(|_| !auto_read) else { return true };
        let window = moderation.select(waiting, unit, offered).next_multiple_of(unit);
        let (scarce, keeps) = (moderation.is_scarce(waiting), window >= offered);
        self.quick = if scarce { 0 } else { self.quick };
        keeps
    }

    /// A data segment tells the RTT, and the size of the peer's segments, which is what it gives.
    #[cold]
    fn measure(&mut self, now: Time, segment: &Segment) -> u32 {
        let Some(tuning) = &mut self.tuning else { return segment.len };
        if segment.has_timestamps && segment.len >= self.full_segment {
            tuning.rtt.by_timestamp(now, segment.ts_ecr, self.unread > 0);
        }
        if segment.seq <= self.rcv_nxt && segment.end() > self.rcv_nxt {
            tuning.rtt.by_window(now, segment.end(), self.right_edge - self.last_ack_sent);
        }
        tuning.moderation.as_ref().map_or(segment.len, |moderation| segment.len.min(moderation.longest))
    }

    /// Decides when the data just received in order is acknowledged.
    fn delay_ack(&mut self, now: Time, rtt: &Rtt) {
        // More than one full segment, as Linux counts it: a second one, or a full one and a rest.
        let many =
            self.unacked > u64::from(self.config.delayed_ack.every.saturating_sub(1)) * u64::from(self.full_segment);
        let many = many && self.keeps_window();
        if self.quick > 0 || many {
            self.ack_now = true;
        } else if self.has_ranges() {
            self.ack_gap(now, rtt);
        }
        if !self.ack_now && self.deadline == Time::NEVER {
            self.deadline = now + self.delay(rtt.srtt());
        }
    }

    /// The gap between segments moves the delay (Linux `tcp_event_data_recv`); the first segment, and one
    /// after a gap of more than an RTO, starts quick-ACK mode: the sender is in slow start.
    fn adapt(&mut self, now: Time, rtt: &Rtt) {
        let half_min = Duration(self.config.delayed_ack.timeout.0 / 2);
        if !self.has_measured_gaps() {
            self.start_quick_acks();
            self.ato = self.config.delayed_ack.timeout;
            return;
        }
        let gap = now.since(self.last_arrival);
        if gap <= half_min {
            self.ato = Duration(self.ato.0 / 2) + half_min;
        } else if gap < self.ato {
            self.ato = (Duration(self.ato.0 / 2) + gap).min(rtt.rto());
        } else if gap > rtt.rto() {
            self.start_quick_acks();
        }
    }

    fn start_quick_acks(&mut self) {
        let credit = (self.config.receive_window() / (2 * u64::from(self.mss)))
            .clamp(2, u64::from(self.config.delayed_ack.quickack).max(2));
        self.quick = if self.config.delayed_ack.quickack == 0 { 0 } else { self.quick.max(credit as u32) };
    }

    /// Our data answers the SYN-ACK at once: the next data need not be acknowledged by itself (Linux `tcp_event_data_sent`).
    pub fn be_interactive(&mut self, now: Time) {
        if self.config.delayed_ack.adaptive {
            (self.ato, self.last_arrival) = (self.config.delayed_ack.timeout, now);
        }
    }

    /// What came with the SYN tells nothing of how the peer sends (Linux `tcp_fastopen_add_skb`).
    pub fn forget_gap(&mut self) {
        self.ato = Duration::ZERO;
    }

    /// Whether a segment after the SYN has brought data, where the delay adapts: its gap is measured (Linux `tcp_event_data_recv`).
    fn has_measured_gaps(&self) -> bool {
        self.ato > Duration::ZERO
    }

    fn delay(&self, srtt: Duration) -> Duration {
        if !self.config.delayed_ack.adaptive {
            return self.config.delayed_ack.timeout;
        }
        let mut delay = self.ato;
        if delay > self.config.delayed_ack.timeout {
            delay = delay.min(srtt.max(self.config.delayed_ack.timeout));
        }
        delay.min(DELAY_MAX)
    }

    /// The delayed ACK is due.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.deadline {
            self.deadline = Time::NEVER;
            self.ack_now = true;
            let held = self.tuning.as_ref().is_some_and(|tuning| tuning.holds());
            if self.config.delayed_ack.adaptive && !held {
                // Linux: a delayed ACK that had to wait lengthens the delay, up to the RTO.
                self.ato = Duration(self.ato.0 * 2).min(DELAY_MAX);
            }
        }
    }

    /// The window to offer as a header field; the right edge never moves left (RFC 9293 §3.8.6), and
    /// moves right by a full segment at least (RFC 1122 §4.2.3.3).
    pub fn window_field(&mut self, syn: bool) -> u16 {
        let free = self.room(syn);
        if syn {
            let window = free.min(65_535);
            self.right_edge = self.right_edge.max(self.rcv_nxt + window);
            return window as u16;
        }
        let unit = (1_u64 << self.scale) - 1;
        let mut edge = (self.rcv_nxt + free).max(self.right_edge);
        let moved = edge - self.right_edge;
        if moved > 0 && moved < u64::from(self.mss) && self.is_little(moved) {
            edge = self.right_edge.max(self.rcv_nxt);
        }
        let field = ((edge - self.rcv_nxt + unit) >> self.scale).min(65_535);
        self.right_edge = self.right_edge.max(self.rcv_nxt + (field << self.scale));
        field as u16
    }

    /// Whether the right edge does not move for so little, less than a segment.
    fn is_little(&self, moved: u64) -> bool {
        self.config.initial_receive_buffer.is_none() && moved < self.config.receive_window() / 2
    }

    /// An ACK leaves, alone or with data: SACK blocks for it; what was to be acknowledged is.
    pub fn on_ack_sent(&mut self, timestamps: bool) -> SackBlocks {
        self.ack_now = false;
        self.deadline = Time::NEVER;
        self.unacked = 0;
        self.quick = self.quick.saturating_sub(1);
        self.last_ack_sent = self.rcv_nxt;
        if let Some(tuning) = &mut self.tuning {
            tuning.on_ack_sent();
        }
        if self.gaps.is_some() { self.sack_blocks(timestamps) } else { SackBlocks::NONE }
    }

    /// What fits 40 bytes of options; two blocks go before AccECN's option (RFC 9768 §3.2.3.3).
    #[inline(never)]
    fn sack_blocks(&mut self, timestamps: bool) -> SackBlocks {
        let others = 12 * (usize::from(timestamps) + usize::from(self.config.multipath));
        let room = ((OPTION_SPACE as usize - 4 - others) / 8).saturating_sub(usize::from(self.marks.option_due()));
        let dsack = self.config.dsack;
        let gaps = self.gaps();
        gaps.duplicate.take_if(|_| !dsack);
        let blocks = gaps.blocks(room);
        self.gaps.take_if(|gaps| gaps.ranges.is_empty() && gaps.recent_len == 0);
        if self.use_sack { blocks } else { SackBlocks::NONE }
    }

    /// What an ACK tells of the latest data packet.
    pub fn echo(&self) -> Echo {
        self.echo.as_deref().copied().unwrap_or_default()
    }

    pub fn set_auto_read(&mut self, auto: bool) {
        self.auto_read = auto;
        if auto {
            self.unread = 0;
        }
    }
    pub fn readable(&self) -> u64 {
        self.unread
    }
    /// The end of the highest range that was received out of order, where SACK tells of it.
    pub fn last_sacked(&self) -> Option<u64> {
        self.gaps.as_ref().filter(|_| self.use_sack).and_then(|gaps| gaps.ranges.back()).map(|&(_, end)| end)
    }

    /// The application takes up to `max` bytes; a window update is sent when half of the largest window that can be offered was
    /// used up and what is offered doubles at least (Linux `tcp_cleanup_rbuf`).
    pub fn read(&mut self, now: Time, max: u64) -> u64 {
        let taken = self.unread.min(max);
        self.unread -= taken;
        if self.config.initial_receive_buffer.is_some() {
            self.on_read(now, taken);
            return taken;
        }
        let largest = self.config.receive_window().min(65_535 << self.scale);
        let free = (self.config.receive_window() - self.unread.min(self.config.receive_window())).min(largest);
        let offered = self.right_edge.saturating_sub(self.rcv_nxt);
        let room = free >= u64::from(self.mss).min(largest / 2);
        // What the SYN-ACK offered stands while all data came with the SYN, which the window does not grow with.
        let only_with_syn = self.config.delayed_ack.adaptive && !self.has_measured_gaps();
        self.ack_now |= taken > 0 && !only_with_syn && 2 * offered <= largest && room && free >= 2 * offered;
        taken
    }
}

impl Tuning {
    /// When an ACK leaves that need not leave at once.
    fn hold(&mut self, now: Time, rcv_nxt: u64, srtt: Duration) -> Option<Time> {
        let rtt = self.rtt.get();
        let rtt = if srtt > Duration::ZERO { rtt.min(srtt) } else { rtt };
        self.compression.as_mut()?.hold(now, rcv_nxt, rtt)
    }
    fn holds(&self) -> bool {
        self.compression.as_ref().is_some_and(Compression::holds)
    }
    fn on_ack_sent(&mut self) {
        if let Some(compression) = &mut self.compression {
            compression.on_ack_sent();
        }
    }
}

impl Gaps {
    /// Which of the blocks as SACK reports them `segment` touches; how many there are, if none.
    fn place(&self, segment: &Segment) -> usize {
        let touches = |&(start, end): &(u64, u64)| segment.seq <= end && start <= segment.end();
        let recent = &self.recent[..self.recent_len];
        recent.iter().position(touches).unwrap_or(recent.len())
    }

    /// `[start, end)` was received out of order.
    fn insert(&mut self, start: u64, end: u64) {
        // First range that reaches `start`; most often the last one, or none.
        let first = match self.ranges.back() {
            None => 0,
            Some(&(_, e)) if start > e => self.ranges.len(),
            Some(&(s, _)) if start >= s => self.ranges.len() - 1,
            _ => self.ranges.partition_point(|&(_, e)| e < start),
        };
        let (mut low, mut high) = (start, end);
        let mut last = first;
        while let Some(&(s, e)) = self.ranges.get(last) {
            if s > end {
                break;
            }
            let (overlap_start, overlap_end) = (s.max(start), e.min(end));
            if overlap_start < overlap_end {
                self.duplicate.get_or_insert((overlap_start, overlap_end));
            }
            low = low.min(s);
            high = high.max(e);
            last += 1;
        }
        if first == last {
            self.ranges.insert(first, (low, high));
        } else {
            self.ranges[first] = (low, high);
            self.ranges.drain(first + 1..last);
        }
        self.forget_recent(|&(s, e)| s >= low && e <= high);
        self.recent_len = (self.recent_len + 1).min(4);
        self.recent.copy_within(0..3, 1);
        self.recent[0] = (low, high);
    }

    fn forget_recent(&mut self, gone: impl Fn(&(u64, u64)) -> bool) {
        let mut kept = 0;
        for i in 0..self.recent_len {
            if !gone(&self.recent[i]) {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.recent_len = kept;
    }

    /// The blocks of an ACK that has room for so many.
    fn blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        if let Some((start, end)) = self.duplicate.take() {
            blocks.push(start, end);
        }
        for &(start, end) in &self.recent[..self.recent_len] {
            if blocks.len() < room {
                blocks.push(start, end);
            }
        }
        blocks
    }
}

impl Receiver {
    /// A data packet brought `header`; an ACK for several brings back what they say together.
    #[inline(never)]
    pub fn take_header(&mut self, header: Feedback) {
        self.returning = match (self.returning, header) {
            (Feedback::Xcp { delta: before, .. }, Feedback::Xcp { cwnd, rtt_us, delta }) => {
                Feedback::Xcp { cwnd, rtt_us, delta: before + delta }
            }
            (Feedback::AntiEcn { room: before }, Feedback::AntiEcn { room }) => {
                Feedback::AntiEcn { room: before || room }
            }
            (Feedback::Drai { level: before, .. }, Feedback::Drai { level, levels }) => {
                Feedback::Drai { level: drai::lower(before, level), levels }
            }
            (before, Feedback::AccEcn { .. }) => before,
            (_, header) => header,
        };
    }

    /// A segment outside the window: say where we are; a duplicate is reported (RFC 2883).
    pub fn on_duplicate_segment(&mut self, segment: &Segment) {
        let counts = segment.len > 0 || segment.flags.has(Flags::SYN);
        self.on_duplicate(segment.seq, if counts { segment.end().min(self.rcv_nxt) } else { segment.seq });
    }
}
