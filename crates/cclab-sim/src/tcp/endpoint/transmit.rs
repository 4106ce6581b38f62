//! The sending half: what may leave now.

use super::super::Recovery;
use super::ecn::Style;
use super::scoreboard::{Sent, Skip};
use super::sender::Sender;
use super::timer::Kind;
use cclab_algo::Time;
use cclab_algo::cc::Phase;

/// What is to leave, before the header is filled in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outgoing {
    pub seq: u64,
    pub len: u32,
    pub fin: bool,
    pub retransmission: bool,
    /// Tells the peer that the window was reduced (RFC 3168).
    pub cwr: bool,
}

impl Sender {
    /// The next segment to leave.
    pub fn poll(&mut self, now: Time) -> Option<Outgoing> {
        // The usual state of a receiver: nothing in flight, nothing to send.
        if !self.open || (self.board.is_empty() && self.next_new().is_none()) {
            self.paced = false;
            return None;
        }
        // A probe is no use of the window, and does not schedule the next one: the RTO runs from it (RFC 8985 §7.3).
        let probe = self.probe.due || self.window_probe_due;
        let out = self.next(now);
        if out.is_some() {
            self.sent_since_stop |= !probe;
        } else {
            self.stop(now);
        }
        out
    }

    fn next(&mut self, now: Time) -> Option<Outgoing> {
        self.paced = false;
        if self.probe.due {
            return self.send_probe(now);
        }
        if self.window_probe_due {
            return self.send_window_probe(now);
        }
        let recovering = matches!(self.phase, Phase::Recovery | Phase::Loss);
        if recovering
            && !self.hold
            && let Some(i) = self.board.next_to_retransmit()
        {
            return self.retransmit_if_allowed(now, i);
        }
        let new = self.send_new(now);
        if new.is_none() && recovering && !self.paced {
            return self.after_new(now);
        }
        new
    }

    /// In recovery, when no new data can be sent.
    fn after_new(&mut self, now: Time) -> Option<Outgoing> {
        if self.hold && self.snd_nxt <= self.high_seq {
            // F-RTO had nothing new to try: conventional recovery.
            self.hold = false;
            self.frto = false;
            let i = self.board.next_to_retransmit()?;
            return self.retransmit_if_allowed(now, i);
        }
        if self.style() == Recovery::Sack && self.phase == Phase::Recovery {
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
        let third = self.board.scan(self.high_rxt, top, Skip::Touched);
        if third < top {
            return Some(third);
        }
        if self.rescue_used {
            return None;
        }
        let last = self.board.scan_back(self.board.head(), self.board.tail(), Skip::Sacked)?;
        let due = !self.board.is_retransmitted(last) && self.board.get(last).end() <= self.high_seq;
        due.then_some(last)
    }

    fn retransmit_if_allowed(&mut self, now: Time, i: u64) -> Option<Outgoing> {
        let len = u64::from(self.board.get(i).len);
        if !self.force && self.in_flight() + len > self.window() {
            return None;
        }
        if self.blocked_by_pacer(now) {
            return None;
        }
        let rescue = self.phase == Phase::Recovery && !self.board.is_lost(i) && i >= self.board.sacked_top();
        let high_rxt = self.high_rxt;
        self.force = false;
        let out = self.retransmit(now, i);
        if rescue {
            self.rescue_used = true;
            self.high_rxt = high_rxt; // "HighRxt MUST NOT be updated" (rule 4)
        }
        Some(out)
    }

    fn blocked_by_pacer(&mut self, now: Time) -> bool {
        self.paced = self.pacer.blocked(now);
        self.paced
    }

    /// Sends segment `i` again.
    pub fn retransmit(&mut self, now: Time, i: u64) -> Outgoing {
        let idle = self.board.pipe() == 0;
        let stamp = self.rate.on_send(now, idle);
        self.board.mark_retransmitted(i);
        self.transmissions += 1;
        let order = self.transmissions;
        let una = self.snd_una;
        let record = self.board.get_mut(i);
        record.sent = now;
        record.order = order;
        record.rate = stamp;
        let record = *record;
        if self.cc.tracks_packets() {
            self.board.note_track(i);
        }
        // A part of it may have been acknowledged.
        let seq = record.seq.max(una);
        let out = Outgoing {
            seq,
            len: (record.end() - seq) as u32 - u32::from(record.fin),
            fin: record.fin,
            retransmission: true,
            cwr: false,
        };
        if self.style() == Recovery::Rack {
            self.rack.on_retransmit(i, order);
        }
        self.high_rxt = self.high_rxt.max(i + 1);
        self.undo.on_retransmit(now);
        self.stats.segments_retransmitted += 1;
        self.on_sent(now, &out);
        if self.timer.kind == Kind::Off {
            self.rearm_from(now);
        }
        out
    }

    /// Bytes of new data in the next segment and whether the FIN goes with it; `None`: nothing to send.
    pub fn next_new(&self) -> Option<(u32, bool)> {
        let waiting = self.write_end - self.snd_nxt.min(self.write_end);
        let len = waiting.min(self.mss());
        let fin = self.closing && !self.fin_sent && len == waiting;
        (len > 0 || fin).then_some((len as u32, fin))
    }

    /// As [`next_new`](Self::next_new), as far as the peer's window lets it go. A part of a segment goes
    /// only if it is half the largest window seen, and nothing is in flight that will open it
    /// (RFC 1122 §4.2.3.4).
    pub fn new_in_window(&self) -> Option<(u32, bool)> {
        let (len, fin) = self.next_new()?;
        let room = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt);
        if u64::from(len) <= room {
            return Some((len, fin));
        }
        (room > 0 && self.board.is_empty() && room >= self.max_wnd / 2).then_some((room as u32, false))
    }

    /// Whether new data waits and the peer's window admits some of it.
    pub fn has_new_in_window(&self) -> bool {
        self.next_new().is_some() && self.snd_nxt < self.snd_una + self.snd_wnd
    }

    fn send_new(&mut self, now: Time) -> Option<Outgoing> {
        let (len, fin) = self.new_in_window()?;
        if self.held_by_nagle(len, fin) {
            return None;
        }
        self.restart_if_idle(now);
        // A FIN needs no room of its own in the congestion window (as Linux `tcp_cwnd_test`).
        if self.in_flight() + u64::from(len) > self.send_window() || self.blocked_by_pacer(now) {
            return None;
        }
        Some(self.transmit_new(now, len, fin))
    }

    /// Nagle's rule as Minshall changed it: no second small segment while one is unacknowledged.
    fn held_by_nagle(&self, len: u32, fin: bool) -> bool {
        self.nagle && !fin && u64::from(len) < self.mss() && self.small_end > self.snd_una
    }

    /// The window for new data: limited transmit allows two segments more (RFC 3042). With SACK the pipe
    /// has made that room.
    fn send_window(&self) -> u64 {
        let duplicates = self.dupacks.min(2);
        let extra = self.config.limited_transmit && self.classic() && self.phase == Phase::Disorder;
        self.window() + if extra { u64::from(duplicates) * self.mss() } else { 0 }
    }

    /// Sends `len` bytes of new data, and the FIN with them.
    pub fn transmit_new(&mut self, now: Time, len: u32, fin: bool) -> Outgoing {
        let cwr = self.cwr_due && matches!(self.marking.style, Style::Classic | Style::Dctcp) && len > 0;
        let out = Outgoing { seq: self.snd_nxt, len, fin, retransmission: false, cwr };
        self.cwr_due &= !cwr;
        let idle = self.board.is_empty();
        if idle {
            self.tell_idle(now);
        }
        self.transmissions += 1;
        let record = Sent {
            seq: self.snd_nxt,
            sent: now,
            order: self.transmissions,
            rate: self.rate.on_send(now, self.board.pipe() == 0),
            len: len + u32::from(fin),
            fin,
            ever_retransmitted: false,
        };
        self.board.push(record);
        if self.cc.tracks_packets() {
            self.board.note_track(self.board.tail() - 1);
        }
        self.snd_nxt = record.end();
        self.fin_sent |= fin;
        if u64::from(len) < self.mss() {
            self.small_end = self.snd_nxt;
        }
        self.usage.last_send = now;
        self.on_sent(now, &out);
        if idle || matches!(self.timer.kind, Kind::Probe | Kind::Off) {
            self.rearm(now);
        }
        out
    }

    fn on_sent(&mut self, now: Time, out: &Outgoing) {
        let headers = if self.cc.pacing_rate().is_some() { 0 } else { self.pacer.headers };
        self.pacer.on_sent(now, u64::from(out.len) + headers);
        if matches!(self.phase, Phase::Recovery | Phase::Cwr) {
            self.prr.out += u64::from(out.len);
        }
        if out.len > 0 {
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += u64::from(out.len);
        }
    }

    /// Nothing more may leave for now: why, and what to wait for.
    fn stop(&mut self, now: Time) {
        if self.sent_since_stop || self.in_flight() + self.mss() > self.window() {
            self.note_usage(now);
        }
        if std::mem::take(&mut self.sent_since_stop) {
            self.schedule_probe(now, false);
        }
        match self.next_new() {
            Some(_) if self.board.is_empty() && self.new_in_window().is_none() => self.arm_persist(now),
            Some((len, _)) if u64::from(len) == self.mss() => {}
            // Less than a segment is left: the application is what limits the sender.
            _ => {
                let in_flight = self.board.pipe();
                if in_flight < self.window() && self.board.lost().segments <= self.board.retrans().segments {
                    self.rate.set_app_limited(in_flight);
                }
            }
        }
    }
}
