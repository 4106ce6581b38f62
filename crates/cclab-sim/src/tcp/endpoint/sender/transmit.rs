//! The sending half: what may leave now.

use super::super::super::memory::{BELOW_PLAIN, largest};
use super::super::super::{Recovery, Tso};
use super::Sender;
use super::scoreboard::Skip;
use super::timer::Kind;
use cclab_algo::cc::Phase;
use cclab_algo::{Duration, Rate, Time};

/// What is to leave, before the header is filled in.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Outgoing {
    pub seq: u64,
    pub len: u32,
    pub fin: bool,
    pub retransmission: bool,
    /// Tells the peer that the window was reduced (RFC 3168).
    pub cwr: bool,
    /// The last of several that leave together.
    pub push: bool,
}

impl Sender {
    /// The next segment to leave.
    pub fn poll(&mut self, now: Time) -> Option<Outgoing> {
        // The usual state of a receiver: nothing in flight, nothing to send.
        if !self.open {
            return self.poll_in_standby(now);
        }
        let out = self.poll_once(now);
        if out.is_none() && self.buffer.is_some() && self.wakes() { self.poll_once(now) } else { out }
    }

    #[inline(always)]
    fn poll_once(&mut self, now: Time) -> Option<Outgoing> {
        if self.buffer.is_some() {
            self.write_on(false);
        }
        if self.board.is_empty() && self.next_new().is_none() {
            self.pacer.unblock();
            return None;
        }
        // A probe is no use of the window, and does not schedule the next one: the RTO runs from it (RFC 8985 §7.3). Nor is what
        // leaves again: it was let in once, and a timeout's window of one says nothing of the one before (Linux validates in
        // `tcp_write_xmit` alone).
        let probe = self.probe.is_due() || self.persist.is_due();
        let out = if probe { self.send_probe_due(now) } else { self.next(now) };
        if let Some(out) = &out {
            self.usage.note_sent(!probe && !out.retransmission);
        } else {
            self.stop(now);
        }
        out
    }

    /// A probe is due.
    #[cold]
    fn send_probe_due(&mut self, now: Time) -> Option<Outgoing> {
        self.pacer.unblock();
        if self.probe.is_due() { self.send_probe(now) } else { self.send_window_probe(now) }
    }

    fn next(&mut self, now: Time) -> Option<Outgoing> {
        self.pacer.unblock();
        let recovering = self.episode.repairs();
        if recovering
            && !self.frto.holds()
            && let Some(i) = self.board.next_to_retransmit()
        {
            return self.retransmit_if_allowed(now, i);
        }
        let new = self.send_new(now);
        if new.is_none() && recovering && !self.pacer.is_blocked() {
            return self.after_new(now);
        }
        new
    }

    /// In recovery, when no new data can be sent.
    fn after_new(&mut self, now: Time) -> Option<Outgoing> {
        if self.frto.holds() && self.episode.covers(self.window.nxt()) {
            // F-RTO had nothing new to try: conventional recovery.
            self.frto.end();
            let i = self.board.next_to_retransmit()?;
            return self.retransmit_if_allowed(now, i);
        }
        if self.style() == Recovery::Sack && self.episode.phase() == Phase::Recovery {
            let i = self.rescue()?;
            return self.retransmit_if_allowed(now, i);
        }
        None
    }

    /// Rules 3 and 4 of NextSeg (RFC 6675 §4): a segment below the highest SACKed that is not known lost,
    /// else once per recovery the highest outstanding one.
    fn rescue(&mut self) -> Option<u64> {
        if self.new_in_window().is_some() {
            return None; // held back by the window, not for want of data
        }
        let top = self.board.sacked_top();
        let third = self.board.scan(self.episode.high_rxt(), top, Skip::Touched);
        if third < top {
            return Some(third);
        }
        if !self.episode.may_rescue() {
            return None;
        }
        let last = self.board.scan_back(self.board.head(), self.board.tail(), Skip::Sacked)?;
        let due = !self.board.is_retransmitted(last) && self.episode.covers(self.board.get(last).end());
        due.then_some(last)
    }

    fn retransmit_if_allowed(&mut self, now: Time, i: u64) -> Option<Outgoing> {
        // A FIN takes no room in the window (as Linux, which counts packets).
        let fin = u64::from(self.outbox.fin_sent());
        let len = u64::from(self.board.get(i).len);
        if !self.episode.forces() && self.in_flight() + len > self.cwnd() + fin {
            return None;
        }
        if self.pacer.blocks(now) {
            return None;
        }
        let recovering = self.episode.phase() == Phase::Recovery;
        let rescue = recovering && !self.board.is_lost(i) && i >= self.board.sacked_top();
        let high_rxt = self.episode.high_rxt();
        let out = self.retransmit(now, i);
        self.episode.on_repair(rescue, high_rxt);
        Some(out)
    }

    /// Sends segment `i` again.
    pub(super) fn retransmit(&mut self, now: Time, i: u64) -> Outgoing {
        let stamp = self.rate.on_send(now, false);
        let record = self.board.retransmit(i, now, stamp);
        // A part of it may have been acknowledged.
        let seq = record.seq.max(self.window.una());
        let out = Outgoing {
            seq,
            len: (record.end() - seq) as u32 - u32::from(record.fin),
            fin: record.fin,
            retransmission: true,
            cwr: false,
            push: false,
        };
        if self.style() == Recovery::Rack {
            self.rack.on_retransmit(i, record.order);
        }
        self.episode.on_retransmit(now, i);
        self.stats.segments_retransmitted += 1;
        self.on_sent(now, &out);
        // The timer starts anew when the first segment leaves again (RFC 6675 §6 allows it; Linux, ns-2).
        let first = i == self.board.head() && self.timer.kind != Kind::Reorder;
        if first || self.timer.kind == Kind::Off {
            self.rearm_from(now);
        }
        out
    }

    /// Bytes of new data in the next segment and whether the FIN goes with it; `None`: nothing to send.
    pub(super) fn next_new(&self) -> Option<(u32, bool)> {
        self.outbox.next(self.window.nxt(), self.mss())
    }

    /// As [`next_new`](Self::next_new), as far as the peer's window lets it go.
    pub(super) fn new_in_window(&self) -> Option<(u32, bool)> {
        let (len, fin) = self.next_new()?;
        // A FIN needs its place in the window, beside a full segment not (Linux `tcp_snd_wnd_test`).
        let need = len + u32::from(fin && u64::from(len) < self.mss());
        let admitted = self.window.admits(need, self.board.is_empty())?;
        Some((admitted.min(len), fin && admitted == need))
    }

    /// Whether new data waits and the peer's window admits some of it.
    pub(super) fn has_new_in_window(&self) -> bool {
        self.next_new().is_some() && self.window.usable() > 0
    }

    fn send_new(&mut self, now: Time) -> Option<Outgoing> {
        let (len, fin) = self.new_in_window()?;
        if self.outbox.holds(len, fin, self.mss(), self.window.una()) {
            return None;
        }
        self.restart_if_idle(now);
        if self.outbox.in_burst() {
            return Some(self.transmit_new(now, len, fin));
        }
        // A FIN needs no room of its own in the congestion window (as Linux `tcp_cwnd_test`).
        if self.in_flight() + u64::from(len) > self.send_window() || self.pacer.blocks(now) {
            return None;
        }
        if let Some(tso) = self.config.tso {
            let burst = self.next_burst(now, tso)?;
            self.outbox.begin_burst(burst);
        }
        Some(self.transmit_new(now, len, fin))
    }

    /// The window for new data: limited transmit allows two segments more (RFC 3042). With SACK the pipe
    /// has made that room.
    pub(super) fn send_window(&self) -> u64 {
        let duplicates = self.episode.dupacks().min(2);
        let extra = self.config.limited_transmit && self.classic() && self.episode.phase() == Phase::Disorder;
        self.cwnd() + if extra { u64::from(duplicates) * self.mss() } else { 0 }
    }

    /// Sends `len` bytes of new data, and the FIN with them.
    pub(super) fn transmit_new(&mut self, now: Time, len: u32, fin: bool) -> Outgoing {
        let seq = self.window.nxt();
        let push = self.outbox.ends_burst();
        let out = Outgoing { seq, len, fin, retransmission: false, cwr: self.marking.take_cwr(len), push };
        let idle = self.board.is_empty();
        if idle {
            self.tell_idle(now);
        }
        let stamp = self.rate.on_send(now, idle);
        self.board.transmit(seq, len + u32::from(fin), fin, now, stamp);
        let end = seq + u64::from(len) + u64::from(fin);
        self.window.on_sent(end);
        self.outbox.on_sent(len, fin, end, self.mss());
        if let Some(buffer) = &mut self.buffer {
            buffer.on_sent(end, self.outbox.in_burst());
        }
        self.usage.on_new_data(now);
        self.on_sent(now, &out);
        if idle || matches!(self.timer.kind, Kind::Probe | Kind::Off) {
            self.rearm(now);
        }
        out
    }

    /// How many segments the host hands to its interface as one: at most half the window and what may leave (Linux `tcp_cwnd_test`).
    /// `None`: they wait for an ACK that lets more of them leave.
    #[inline(never)]
    fn next_burst(&mut self, now: Time, tso: Tso) -> Option<u64> {
        let (mss, cwnd) = (self.mss(), self.cwnd());
        let percent = if self.law.cwnd() < self.law.ssthresh() / 2 { 200 } else { 120 };
        let own = Rate::of(cwnd.max(self.board.out().bytes) * percent / 100, self.rtt.srtt());
        let min_rtt = Some(self.rtt.min_rtt()).filter(|&min| min > Duration::ZERO);
        let most = tso.segments(self.pacer.rate().or(own), min_rtt, mss, largest(BELOW_PLAIN));
        let waiting = self.outbox.waiting(self.window.nxt());
        let (room, usable) = (cwnd.saturating_sub(self.in_flight()), self.window.usable());
        if waiting > mss
            && room.min(usable) < (most * mss).min(waiting).min(cwnd.min(self.window.wnd()) / 3)
            && self.may_defer(now)
        {
            self.outbox.defer(room < usable);
            return None;
        }
        Some(most.min(cwnd / mss / 2).min(room.min(usable) / mss).min(waiting.div_ceil(mss)))
    }

    /// Whether something left within the last millisecond, and the next ACK is expected within the next, or within half an RTT
    /// (Linux `tcp_tso_should_defer`, 6.18).
    fn may_defer(&self, now: Time) -> bool {
        const SOON: Duration = Duration::from_millis(1);
        let Some(head) = self.board.front() else { return false };
        let srtt = self.rtt.srtt();
        let recent = now <= self.usage.last_send().max(self.pacer.earliest()) + SOON;
        recent && head.sent + srtt <= now + SOON.min(srtt / 2) && !self.episode.repairs()
    }

    fn on_sent(&mut self, now: Time, out: &Outgoing) {
        self.pacer.on_sent(now, out.len, self.law.pacing_rate().is_some());
        if self.episode.reduces() {
            self.episode.prr.on_sent(u64::from(out.len));
        }
        if out.len > 0 {
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += u64::from(out.len);
        }
    }

    /// Nothing more may leave for now: why, and what to wait for.
    fn stop(&mut self, now: Time) {
        let sent = self.usage.take_sent();
        let limited = self.outbox.end_burst() || self.in_flight() + self.mss() > self.cwnd();
        let next = self.next_new();
        if sent || (limited && next.is_some()) {
            self.note_usage(now, limited);
        }
        if sent {
            self.schedule_probe(now, false);
        }
        match next {
            Some(_) if self.board.is_empty() && self.new_in_window().is_none() => self.arm_persist(now),
            Some((len, _)) if u64::from(len) == self.mss() => {}
            _ if self.outbox.has_more() => {}
            // Less than a segment is left: the application is what limits the sender.
            _ => {
                let in_flight = self.board.pipe();
                if in_flight < self.cwnd() && self.board.lost().segments <= self.board.retrans().segments {
                    self.rate.set_app_limited(in_flight);
                }
            }
        }
    }
}
