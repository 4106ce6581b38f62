//! The sending half: what may leave now, and what an ACK means.

use super::super::segment::{Flags, Segment};
use super::super::{Config, Recovery};
use super::Stats;
use super::pacing::Pacer;
use super::rate::{Estimator, Sample};
use super::rto::Rtt;
use super::scoreboard::{Scoreboard, Sent};
use super::timer::{Kind, Timer};
use cclab_algo::cc::{AckEvent, CongestionControl, OneWay, Phase};
use cclab_algo::{Duration, Rate, Time};

/// The sending half of an endpoint.
pub(super) struct Sender {
    pub config: Config,
    pub cc: Box<dyn CongestionControl>,
    pub board: Scoreboard,
    pub rtt: Rtt,
    pub rate: Estimator,
    pub pacer: Pacer,
    pub timer: Timer,
    pub stats: Stats,

    pub snd_una: u64,
    pub snd_nxt: u64,
    /// Offset after the last byte written; `u64::MAX` for a source without end.
    pub write_end: u64,
    /// A FIN follows the data.
    pub closing: bool,
    pub fin_sent: bool,
    /// The connection is established: data may flow.
    pub open: bool,

    pub snd_wnd: u64,
    pub snd_wl1: u64,
    pub max_wnd: u64,
    pub snd_scale: u8,
    pub use_sack: bool,

    pub phase: Phase,
    /// Recovery ends when this is acknowledged.
    pub high_seq: u64,
    /// Duplicate ACKs in a row, without SACK.
    pub dupacks: u32,
    /// Window of classic fast recovery, inflated by duplicate ACKs (RFC 5681 §3.2).
    pub inflated: u64,
    /// The next retransmission leaves whatever the window says.
    pub force: bool,

    pub last_rtt: Option<Duration>,
    pub last_rate: Option<Rate>,
    /// The sender last stopped because of the pacer.
    pub pacing: bool,
    /// Whether the sender last stopped because of the window.
    pub cwnd_limited: bool,
}

/// What is to leave, before the header is filled in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub seq: u64,
    pub len: u32,
    pub fin: bool,
    pub retransmission: bool,
}

/// What an ACK brought.
#[derive(Default)]
pub(super) struct Taken {
    pub acked_bytes: u64,
    pub delivered_bytes: u64,
    pub lost_bytes: u64,
    pub prior_in_flight: u64,
    pub prior_una: u64,
    /// The ACK might be a duplicate (RFC 5681 §2): no data, no window change, no advance.
    pub duplicate: bool,
    pub sample: Sample,
    /// Send times of the first and last segment acknowledged here and never retransmitted.
    pub first_sent: Option<Time>,
    pub last_sent: Option<Time>,
    pub retransmitted_acked: bool,
}

impl Sender {
    pub fn new(config: Config, cc: Box<dyn CongestionControl>) -> Sender {
        Sender {
            board: Scoreboard::new(config.mss),
            rtt: Rtt::new(config.rto),
            rate: Estimator::default(),
            pacer: Pacer::default(),
            timer: Timer::default(),
            stats: Stats::default(),
            snd_una: 0,
            snd_nxt: 0,
            write_end: 1,
            closing: false,
            fin_sent: false,
            open: false,
            snd_wnd: 0,
            snd_wl1: 0,
            max_wnd: 0,
            snd_scale: 0,
            use_sack: false,
            phase: Phase::Open,
            high_seq: 0,
            dupacks: 0,
            inflated: 0,
            force: false,
            last_rtt: None,
            last_rate: None,
            pacing: false,
            cwnd_limited: false,
            config,
            cc,
        }
    }

    pub fn mss(&self) -> u64 {
        u64::from(self.config.mss)
    }

    /// FlightSize of RFC 5681: sent and not cumulatively acknowledged.
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Bytes that count against the window.
    pub fn in_flight(&self) -> u64 {
        if self.classic() { self.board.out().bytes } else { self.board.pipe() }
    }

    /// Recovery by counting duplicate ACKs: asked for, or all there is without SACK.
    pub fn classic(&self) -> bool {
        !self.use_sack
    }

    /// The window that governs sending now.
    pub fn window(&self) -> u64 {
        match self.phase {
            Phase::Recovery | Phase::Cwr => self.recovery_window(),
            _ => self.cc.cwnd(),
        }
    }

    /// Takes in the acknowledgement of `segment`.
    pub fn on_ack(&mut self, now: Time, segment: &Segment) {
        self.last_rtt = None;
        if segment.ack > self.snd_nxt {
            return;
        }
        let mut taken = Taken {
            prior_in_flight: self.in_flight(),
            prior_una: self.snd_una,
            duplicate: segment.ack == self.snd_una && segment.seq_len() == 0 && !self.board.is_empty(),
            ..Taken::default()
        };
        taken.duplicate &= !self.update_window(segment);
        if segment.ack > self.snd_una {
            self.advance(now, segment.ack, &mut taken);
        }
        self.take_rtt(now, segment, &taken);
        let phase_before = self.phase;
        self.recover(now, &mut taken);
        self.board.check();
        if taken.acked_bytes > 0 {
            self.rearm(now);
        }
        self.tell_law(now, segment, &taken, phase_before);
        self.update_pacing();
    }

    /// RFC 9293 §3.10.7.4: the window of the newest segment counts. Says whether it changed.
    fn update_window(&mut self, segment: &Segment) -> bool {
        let window = u64::from(segment.window) << if segment.flags.has(Flags::SYN) { 0 } else { self.snd_scale };
        let newer = segment.ack > self.snd_una
            || segment.seq > self.snd_wl1
            || (segment.seq == self.snd_wl1 && window > self.snd_wnd);
        if !newer || segment.ack < self.snd_una {
            return false;
        }
        self.snd_wl1 = segment.seq;
        let changed = window != self.snd_wnd;
        self.snd_wnd = window;
        self.max_wnd = self.max_wnd.max(window);
        changed
    }

    /// Cumulative acknowledgement up to `ack`.
    fn advance(&mut self, now: Time, ack: u64, taken: &mut Taken) {
        taken.acked_bytes = ack - self.snd_una;
        self.snd_una = ack;
        while let Some(front) = self.board.front() {
            if front.end() > ack {
                break;
            }
            let (sent, was_sacked) = self.board.pop();
            if !was_sacked {
                taken.delivered_bytes += u64::from(sent.len);
                self.rate.on_delivered(now, &sent, &mut taken.sample);
            }
            if sent.ever_retransmitted {
                taken.retransmitted_acked = true;
            } else if !was_sacked {
                taken.first_sent.get_or_insert(sent.sent);
                taken.last_sent = Some(sent.sent);
            }
        }
        let fin = u64::from(self.fin_sent && ack == self.snd_nxt);
        self.stats.bytes_acked += taken.acked_bytes - fin;
    }

    /// RTT samples: of segments sent once by their send time (Karn), else by timestamps.
    fn take_rtt(&mut self, now: Time, segment: &Segment, taken: &Taken) {
        let _ = segment;
        if taken.retransmitted_acked {
            return;
        }
        let (Some(first), Some(last)) = (taken.first_sent, taken.last_sent) else { return };
        self.rtt_sample(now, now - first, now - last);
    }

    /// `rtt` feeds the RTO (it includes the delay of a delayed ACK), `last` is that of the newest segment:
    /// it feeds the minimum and the law.
    pub fn rtt_sample(&mut self, now: Time, rtt: Duration, last: Duration) {
        self.rtt.sample(rtt, self.snd_una, self.snd_nxt);
        self.rtt.sample_min(now, last);
        self.last_rtt = Some(last);
    }

    fn tell_law(&mut self, now: Time, segment: &Segment, taken: &Taken, phase_before: Phase) {
        let rate = self.rate.on_ack(&taken.sample, self.rtt.min_rtt());
        self.last_rate = rate.map(|(r, _)| r).or(self.last_rate);
        let governed = |phase| matches!(phase, Phase::Recovery | Phase::Cwr);
        let limited = !self.config.cwnd_validation || self.cwnd_limited;
        let echo = segment.echo;
        let one_way =
            (echo.arrived != Time::ZERO).then_some(OneWay { seq: echo.seq, sent: echo.sent, arrived: echo.arrived });
        self.cc.on_ack(&AckEvent {
            now,
            acked_bytes: taken.acked_bytes,
            delivered_bytes: taken.delivered_bytes,
            rtt: self.last_rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            bytes_in_flight: self.in_flight(),
            prior_in_flight: taken.prior_in_flight,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            delivery_rate: rate.map(|(r, _)| r),
            app_limited: rate.is_some_and(|(_, limited)| limited),
            delivered: self.rate.delivered,
            prior_delivered: taken.sample.prior_delivered().unwrap_or(0),
            lost_bytes: taken.lost_bytes,
            may_grow: limited && taken.acked_bytes > 0 && !governed(self.phase) && !governed(phase_before),
            phase: self.phase,
            one_way,
            ecn_echo: segment.flags.has(Flags::ECE),
        });
    }

    /// The next segment to leave.
    pub fn poll(&mut self, now: Time) -> Option<Outgoing> {
        if !self.open {
            return None;
        }
        self.pacing = false;
        if self.pacer.blocked(now) {
            self.pacing = true;
            return None;
        }
        if self.board.lost().segments > 0 {
            if let Some(i) = self.board.next_to_retransmit() {
                return self.retransmit_if_allowed(now, i);
            }
        }
        self.send_new(now)
    }

    fn retransmit_if_allowed(&mut self, now: Time, i: u64) -> Option<Outgoing> {
        let len = u64::from(self.board.get(i).len);
        if !self.force && self.in_flight() + len > self.window() {
            return None;
        }
        self.force = false;
        Some(self.retransmit(now, i))
    }

    /// Sends segment `i` again.
    pub fn retransmit(&mut self, now: Time, i: u64) -> Outgoing {
        self.board.mark_retransmitted(i);
        let idle = self.board.pipe() == 0;
        let stamp = self.rate.on_send(now, idle);
        let una = self.snd_una;
        let record = self.board.get_mut(i);
        record.sent = now;
        record.rate = stamp;
        // A part of it may have been acknowledged.
        let seq = record.seq.max(una);
        let out = Outgoing {
            seq,
            len: (record.end() - seq) as u32 - u32::from(record.fin),
            fin: record.fin,
            retransmission: true,
        };
        self.on_sent(now, &out);
        self.stats.segments_retransmitted += 1;
        if self.timer.kind == Kind::Off {
            self.rearm(now);
        }
        out
    }

    /// Bytes of new data in the next segment and whether the FIN goes with it; `None`: nothing to send.
    fn next_new(&self) -> Option<(u32, bool)> {
        let waiting = self.write_end - self.snd_nxt.min(self.write_end);
        let len = waiting.min(self.mss());
        let fin = self.closing && !self.fin_sent && len == waiting;
        (len > 0 || fin).then_some((len as u32, fin))
    }

    fn send_new(&mut self, now: Time) -> Option<Outgoing> {
        let Some((len, fin)) = self.next_new() else {
            self.on_nothing_to_send();
            return None;
        };
        let space = u64::from(len) + u64::from(fin);
        if self.in_flight() + space > self.send_window() {
            self.cwnd_limited = true;
            return None;
        }
        if self.snd_nxt + u64::from(len) > self.snd_una + self.snd_wnd {
            self.on_nothing_to_send();
            return None;
        }
        self.cwnd_limited = false;
        Some(self.transmit_new(now, len, fin))
    }

    /// The window for new data: limited transmit allows two segments more (RFC 3042).
    fn send_window(&self) -> u64 {
        let extra = match self.phase {
            Phase::Open | Phase::Disorder if self.config.limited_transmit && self.classic() => {
                u64::from(self.dupacks.min(2)) * self.mss()
            }
            _ => 0,
        };
        self.window() + extra
    }

    fn on_nothing_to_send(&mut self) {
        let in_flight = self.in_flight();
        if in_flight < self.window() {
            self.rate.set_app_limited(in_flight);
        }
    }

    /// Sends `len` bytes of new data, and the FIN with them.
    pub fn transmit_new(&mut self, now: Time, len: u32, fin: bool) -> Outgoing {
        let out = Outgoing { seq: self.snd_nxt, len, fin, retransmission: false };
        let idle = self.board.is_empty();
        let record = Sent {
            seq: self.snd_nxt,
            sent: now,
            rate: self.rate.on_send(now, idle),
            len: len + u32::from(fin),
            fin,
            ever_retransmitted: false,
        };
        self.board.push(record);
        self.snd_nxt = record.end();
        self.fin_sent |= fin;
        self.on_sent(now, &out);
        if idle || self.timer.kind != Kind::Rto {
            self.rearm(now);
        }
        out
    }

    fn on_sent(&mut self, now: Time, out: &Outgoing) {
        self.pacer.on_sent(now, out.len);
        if out.len > 0 {
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += u64::from(out.len);
        }
    }

    /// Starts the retransmission timer anew, or stops it when nothing is outstanding.
    pub fn rearm(&mut self, now: Time) {
        if self.board.is_empty() {
            self.timer = Timer::default();
        } else {
            self.timer = Timer { kind: Kind::Rto, at: now + self.rtt.rto() };
        }
    }

    /// Does what the timer asks for.
    pub fn on_timer(&mut self, now: Time) {
        if now < self.timer.at {
            return;
        }
        match self.timer.kind {
            Kind::Off => {}
            Kind::Rto => self.on_rto(now),
        }
    }

    /// When the pacer lets the next segment go; [`Time::NEVER`] when that is not what it waits for.
    pub fn pacing_deadline(&self) -> Time {
        if self.pacing { self.pacer.release() } else { Time::NEVER }
    }

    fn update_pacing(&mut self) {
        if self.config.pacing == super::super::Pacing::On || self.cc.pacing_rate().is_some() {
            let srtt = self.rtt.srtt();
            self.pacer.rate = self.cc.pacing_rate().or_else(|| {
                let in_use = self.window().max(self.board.out().bytes);
                let slow = self.cc.cwnd() < self.cc.ssthresh() / 2;
                Rate::of(in_use * if slow { 200 } else { 120 } / 100, srtt)
            });
        }
    }

    /// Whether the classic rules of `recovery` apply.
    pub fn style(&self) -> Recovery {
        match self.config.recovery {
            Recovery::Sack | Recovery::Rack if self.classic() => Recovery::NewReno,
            other => other,
        }
    }
}
