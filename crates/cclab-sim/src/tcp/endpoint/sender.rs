//! The sending half: what an ACK means.

use super::super::{Config, Pacing, Recovery};
use super::Stats;
use super::ecn::{Marking, Style};
use super::law::Law;
use super::loss::Undo;
use super::pacing::Pacer;
use super::probe::Probe;
use super::prr::Prr;
use super::rack::Rack;
use super::rate::{Estimator, Sample};
use super::rto::Rtt;
use super::sack::Seen;
use super::scoreboard::{Loss, Scoreboard, Track};
use super::timer::{Kind, Timer};
use super::timestamp;
use super::validation::Usage;
use crate::wire::{Flags, Segment};
use cclab_algo::cc::{AckEvent, CongestionControl, Feedback, OneWay, Phase};
use cclab_algo::{Duration, Rate, Time};
use std::sync::Arc;

/// The sending half of an endpoint.
pub(super) struct Sender {
    pub config: Arc<Config>,
    /// Payload bytes of a full segment, as far as negotiated.
    pub mss: u32,
    pub nagle: bool,
    pub cc: Law,
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
    /// End of the last segment sent that was not full (Minshall).
    pub small_end: u64,
    /// Segments sent so far.
    pub transmissions: u64,

    pub snd_wnd: u64,
    pub snd_wl1: u64,
    pub max_wnd: u64,
    pub snd_scale: u8,
    /// SACK is agreed on and recovery uses it.
    pub use_sack: bool,
    pub timestamps: bool,
    pub marking: Marking,
    /// Quick-Start's window ends here; 0 when there is none, or it is acknowledged.
    pub quick_end: u64,

    pub phase: Phase,
    /// The episode ends when this is acknowledged.
    pub high_seq: u64,
    /// Duplicate ACKs in a row, without SACK.
    pub dupacks: u32,
    /// Window of classic fast recovery, inflated by duplicate ACKs (RFC 5681 §3.2).
    pub inflated: u64,
    /// The next retransmission leaves whatever the window says.
    pub force: bool,
    pub prr: Prr,
    pub rack: Rack,
    pub undo: Undo,
    pub probe: Probe,
    pub sacks_seen: Seen,
    /// Segments that DSACKs reported.
    pub dsacked: u64,
    /// The losses that the law is being told of.
    pub losses: Vec<Loss>,
    /// RFC 6675: nothing below it is still to be marked lost.
    pub loss_cursor: u64,
    /// RFC 6675's HighRxt, as the number of the segment after it.
    pub high_rxt: u64,
    pub rescue_used: bool,
    /// F-RTO has not decided yet.
    pub frto: bool,
    /// F-RTO tries new data first.
    pub hold: bool,
    /// Timeouts since `snd_una` last advanced.
    pub timeouts_in_row: u32,
    pub window_probes: u32,
    pub window_probe_due: bool,
    /// The next new segment says CWR.
    pub cwr_due: bool,

    pub last_rtt: Option<Duration>,
    pub last_rate: Option<Rate>,
    pub usage: Usage,
    /// The sender last stopped because of the pacer.
    pub paced: bool,
    /// Something was sent since the sender last stopped.
    pub sent_since_stop: bool,
}

/// What an ACK brought.
#[derive(Default)]
pub(super) struct Taken {
    pub acked_bytes: u64,
    pub delivered_bytes: u64,
    pub lost_bytes: u64,
    pub prior_in_flight: u64,
    /// Number of the highest segment SACKed before, + 1.
    pub prior_top: u64,
    /// The ACK brings no data, no window change and no advance.
    pub pure: bool,
    /// The ACK is a duplicate (RFC 5681 §2): all that, and data is outstanding.
    pub duplicate: bool,
    /// Marks were reported.
    pub echo: bool,
    /// Marks were reported that recovery answers, not the law.
    pub ece: bool,
    /// Bytes among those delivered that were marked.
    pub ce_bytes: u64,
    /// The timestamp it echoes.
    pub ts_ecr: Option<u32>,
    /// Segments were selectively acknowledged for the first time.
    pub sacked: bool,
    pub dsack: bool,
    pub dsack_of_probe: bool,
    /// A segment of this episode that was never retransmitted was delivered.
    pub original_delivered: bool,
    pub sample: Sample,
    /// Send times of the first and last segment acknowledged here and never retransmitted.
    pub first_sent: Option<Time>,
    pub last_sent: Option<Time>,
    /// The same of segments selectively acknowledged.
    pub first_sacked: Option<Time>,
    pub last_sacked: Option<Time>,
    pub retransmitted_acked: bool,
    /// RACK has set the timer.
    pub timer_set: bool,
}

impl Sender {
    pub fn new(config: Arc<Config>, cc: Box<dyn CongestionControl>) -> Sender {
        let cc = Law::new(cc);
        let mut board = Scoreboard::new(config.mss);
        if cc.tracks_packets() {
            board.track_packets();
        }
        Sender {
            board,
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
            small_end: 0,
            transmissions: 0,
            snd_wnd: 0,
            snd_wl1: 0,
            max_wnd: 0,
            snd_scale: 0,
            use_sack: false,
            timestamps: false,
            marking: Marking::new(),
            quick_end: 0,
            phase: Phase::Open,
            high_seq: 0,
            dupacks: 0,
            inflated: 0,
            force: false,
            prr: Prr::default(),
            rack: Rack::new(),
            undo: Undo::default(),
            probe: Probe::default(),
            sacks_seen: Seen::default(),
            dsacked: 0,
            losses: vec![],
            loss_cursor: 0,
            high_rxt: 0,
            rescue_used: false,
            frto: false,
            hold: false,
            timeouts_in_row: 0,
            window_probes: 0,
            window_probe_due: false,
            cwr_due: false,
            last_rtt: None,
            last_rate: None,
            usage: Usage::default(),
            paced: false,
            sent_since_stop: false,
            mss: config.mss,
            nagle: config.nagle,
            config,
            cc,
        }
    }

    pub fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    /// FlightSize of RFC 5681: sent and not cumulatively acknowledged.
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Bytes that count against the window. Classic recovery counts all that is out and inflates the window
    /// instead; without limited transmit the first duplicates set nothing free (RFC 3042).
    pub fn in_flight(&self) -> u64 {
        let counts_all = match self.phase {
            Phase::Loss => false,
            Phase::Disorder => self.classic() || !self.config.limited_transmit,
            _ => self.classic(),
        };
        if self.cc.governs_recovery() {
            // Nobody inflates the window: each duplicate ACK tells of a segment that left the network.
            let delivered = if self.classic() { u64::from(self.dupacks) * self.mss() } else { 0 };
            return self.board.pipe().saturating_sub(delivered);
        }
        if counts_all { self.board.out().bytes } else { self.board.pipe() }
    }

    /// Recovery by counting duplicate ACKs: asked for, or all there is without SACK.
    pub fn classic(&self) -> bool {
        !self.use_sack
    }

    /// The recovery in force. Without SACK the two that need it do as NewReno.
    pub fn style(&self) -> Recovery {
        match self.config.recovery {
            Recovery::Sack | Recovery::Rack if self.classic() => Recovery::NewReno,
            other => other,
        }
    }

    /// The window that governs sending now.
    pub fn window(&self) -> u64 {
        match self.phase {
            Phase::Recovery | Phase::Cwr => self.recovery_window(),
            _ => self.cc.cwnd(),
        }
    }

    /// Takes in the acknowledgement of `segment`. The order of the steps is Linux's (`tcp_ack`).
    pub fn on_ack(&mut self, now: Time, segment: &Segment) {
        if segment.ack > self.snd_nxt {
            return;
        }
        let window_changed = self.update_window(segment);
        if self.board.is_empty() && segment.sack.is_empty() && self.probe.high_seq == 0 {
            // Nothing to be acknowledged, no duplicate reported: the ACK of a peer that sends data.
            return;
        }
        let mut taken = Taken {
            prior_in_flight: self.in_flight(),
            prior_top: self.board.sacked_top(),
            ts_ecr: self.timestamps.then_some(segment.ts_ecr),
            ..Taken::default()
        };
        self.take_sacks(now, segment, &mut taken);
        if segment.ack > self.snd_una {
            self.advance(now, segment.ack, &mut taken);
        } else if segment.ack == self.snd_una {
            taken.pure = segment.seq_len() == 0 && !window_changed;
            taken.duplicate = taken.pure && !self.board.is_empty();
        }
        if self.marking.style != Style::Off {
            self.take_marks(segment, &mut taken);
        }
        let head_resent = self.board.front().map_or(Time::ZERO, |head| head.sent);
        self.take_rtt(now, &taken);
        self.on_probe_acked(now, segment.ack, &mut taken);
        // A DSACK comes on an ACK that delivers nothing: the next that does tells whether a round trip has passed.
        if let Some(prior) = taken.sample.prior_delivered().filter(|&prior| prior > 0) {
            self.rack.adapt(prior, self.rate.delivered);
        }
        let before = self.phase;
        let quiet = before == Phase::Open && taken.acked_bytes > 0 && !taken.sacked && !taken.ece && !taken.dsack;
        if !quiet {
            self.recover(now, &mut taken);
        }
        self.board.check();
        // A SACK of something sent after the first segment's last transmission does not put the RTO off.
        let progress = taken.acked_bytes > 0 || taken.first_sacked.is_some_and(|sent| sent < head_resent);
        if progress && !taken.timer_set && !self.schedule_probe(now, true) {
            self.rearm_from(now);
        }
        self.finish(now, segment, &taken, before);
    }

    /// RFC 9293 §3.10.7.4: the window of the newest segment counts. Says whether it changed.
    fn update_window(&mut self, segment: &Segment) -> bool {
        let window = u64::from(segment.window) << if segment.flags.has(Flags::SYN) { 0 } else { self.snd_scale };
        let newer = segment.ack > self.snd_una
            || (segment.ack == self.snd_una
                && (segment.seq > self.snd_wl1
                    || (segment.seq == self.snd_wl1 && (window > self.snd_wnd || window == 0))));
        if !newer {
            return false;
        }
        self.snd_wl1 = segment.seq;
        let changed = window != self.snd_wnd;
        self.snd_wnd = window;
        self.max_wnd = self.max_wnd.max(window);
        if self.timer.kind == Kind::Persist && self.new_in_window().is_some() {
            self.timer = Timer::default();
            self.window_probes = 0;
            self.window_probe_due = false;
        }
        changed
    }

    /// Cumulative acknowledgement up to `ack`.
    fn advance(&mut self, now: Time, ack: u64, taken: &mut Taken) {
        taken.acked_bytes = ack - self.snd_una;
        self.snd_una = ack;
        self.timeouts_in_row = 0;
        let min_rtt = self.rtt.min_rtt();
        while let Some(front) = self.board.front() {
            if front.end() > ack {
                break;
            }
            let below_sacked = self.board.head() + 1 < taken.prior_top;
            let (sent, was_sacked) = self.board.pop();
            if !was_sacked {
                taken.delivered_bytes += u64::from(sent.len);
                self.rate.on_delivered(now, self.board.head() - 1, &sent, &mut taken.sample);
                if self.use_sack {
                    self.rack.on_delivered(now, &sent, taken, min_rtt);
                }
            }
            if sent.ever_retransmitted {
                taken.retransmitted_acked = true;
            } else if !was_sacked {
                taken.first_sent.get_or_insert(sent.sent);
                taken.last_sent = Some(sent.sent);
                taken.original_delivered |= sent.end() <= self.high_seq;
                // It arrived after something sent later: the path reorders.
                self.rack.reordering_seen |= below_sacked;
            }
        }
        // Without SACK nothing tells whether what lies beyond the retransmission came before or after it.
        taken.original_delivered &= self.use_sack || !taken.retransmitted_acked;
        let fin = u64::from(self.fin_sent && ack == self.snd_nxt);
        self.stats.bytes_acked += taken.acked_bytes - fin;
    }

    /// An RTT sample by send times of what was sent once (Karn), or by the echoed timestamp.
    fn take_rtt(&mut self, now: Time, taken: &Taken) {
        let cumulative = if taken.retransmitted_acked { None } else { taken.first_sent.zip(taken.last_sent) };
        let by_send_time = cumulative.or(taken.first_sacked.zip(taken.last_sacked));
        if let Some((first, last)) = by_send_time {
            // The latest of all feeds the minimum, also where SACK tells it.
            let last = taken.last_sacked.unwrap_or(last).max(last);
            return self.rtt_sample(now, now - first, now - last);
        }
        if let (Some(ecr), true) = (taken.ts_ecr, taken.acked_bytes > 0) {
            self.rtt_by_timestamp(now, ecr);
        }
    }

    /// An RTT sample by an echoed timestamp, in whole milliseconds; zero is no echo. As both ends' clocks are rounded
    /// down it may be up to 1 ms less than the RTT: good enough for the RTO, whose floor is far above that, but not for
    /// the minimum and the law, which on a short path it would lead astray. (Linux lets it feed these too.)
    pub fn rtt_by_timestamp(&mut self, now: Time, ecr: u32) {
        let ms = timestamp(now).wrapping_sub(ecr);
        if ecr != 0 && ms < 1 << 24 {
            self.rtt.sample(Duration::from_millis(u64::from(ms.max(1))), self.snd_una, self.snd_nxt);
        }
    }

    /// `rtt` feeds the RTO (it includes the delay of a delayed ACK), `last` is that of the newest segment:
    /// it feeds the minimum and the law.
    pub fn rtt_sample(&mut self, now: Time, rtt: Duration, last: Duration) {
        self.rtt.sample(rtt, self.snd_una, self.snd_nxt);
        self.rtt.sample_min(now, last);
        self.last_rtt = Some(last);
    }

    /// The ACK is taken in: the window follows, by recovery's rule or by the law's.
    fn finish(&mut self, now: Time, segment: &Segment, taken: &Taken, before: Phase) {
        let rate = self.rate.on_ack(&taken.sample, self.rtt.min_rtt());
        self.last_rate = rate.map(|(r, _)| r).or(self.last_rate);
        let by_law = self.cc.governs_recovery();
        let governed = |phase| !by_law && matches!(phase, Phase::Recovery | Phase::Cwr);
        if governed(self.phase) && taken.delivered_bytes > 0 {
            let safe = taken.acked_bytes > 0 && taken.lost_bytes == 0;
            let (pipe, ssthresh, mss) = (self.in_flight(), self.cc.ssthresh(), self.mss());
            self.prr.on_ack(taken.delivered_bytes, pipe, ssthresh, safe, mss);
        }
        let limited = !self.config.cwnd_validation || self.is_cwnd_limited();
        let track = match taken.sample.newest_segment() {
            Some(i) if self.cc.tracks_packets() => self.board.track(i),
            _ => Track::default(),
        };
        let echo = segment.echo;
        let one_way = OneWay { seq: echo.seq, sent: echo.sent, arrived: echo.arrived };
        let event = AckEvent {
            now,
            // What was selectively acknowledged before has been counted before.
            acked_bytes: taken.acked_bytes.min(taken.delivered_bytes),
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
            may_grow: limited && (by_law || taken.acked_bytes > 0) && !governed(self.phase) && !governed(before),
            phase: self.phase,
            one_way: (echo.arrived != Time::ZERO).then_some(one_way),
            ecn_echo: taken.echo,
            ce_bytes: taken.ce_bytes,
            feedback: if segment.len == 0 { segment.feedback } else { Feedback::None },
            lost: self.board.marked_lost,
            prior_lost: track.lost,
            tx_in_flight: track.in_flight,
            newest_sent: taken.sample.newest_sent(),
        };
        self.cc.tell(|cc| cc.on_ack(&event));
        self.update_pacing();
    }

    /// The pacing rate follows the law's, or the window.
    pub fn update_pacing(&mut self) {
        if self.quick_end > 0 && self.quick_starting() {
            return;
        }
        let own = self.cc.pacing_rate();
        if own.is_none() && self.config.pacing == Pacing::Off {
            return;
        }
        self.pacer.rate = own.or_else(|| {
            let in_use = self.window().max(self.board.out().bytes);
            let percent = if self.cc.cwnd() < self.cc.ssthresh() / 2 { 200 } else { 120 };
            Rate::of(in_use * percent / 100, self.rtt.srtt())
        });
    }

    /// When the pacer lets the next segment go; [`Time::NEVER`] when that is not what it waits for.
    pub fn pacing_deadline(&self) -> Time {
        if self.paced { self.pacer.release() } else { Time::NEVER }
    }

    /// Starts the RTO timer anew, or stops it when nothing is outstanding.
    pub fn rearm_from(&mut self, now: Time) {
        self.timer =
            if self.board.is_empty() { Timer::default() } else { Timer { kind: Kind::Rto, at: now + self.rtt.rto() } };
    }

    /// As [`rearm_from`](Self::rearm_from), but after a timer of another kind the RTO counts from the first
    /// segment's transmission.
    pub fn rearm(&mut self, now: Time) {
        match self.timer.kind {
            Kind::Probe | Kind::Reorder if !self.board.is_empty() => self.rearm_from_head(now),
            _ => self.rearm_from(now),
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
            Kind::Probe => self.on_probe_timer(now),
            Kind::Reorder => self.on_reorder_timer(now),
            Kind::Persist => self.on_persist_timer(now),
        }
        self.update_pacing();
    }

    /// What RACK waited for did not come.
    fn on_reorder_timer(&mut self, now: Time) {
        let found = self.look_with_rack(now);
        if found.lost {
            // Nothing was delivered: only the fast retransmit that begins a recovery is granted (as Linux).
            if self.phase != Phase::Recovery {
                self.enter_recovery(now);
                let (pipe, ssthresh, mss) = (self.in_flight(), self.cc.ssthresh(), self.mss());
                self.prr.on_ack(mss, pipe, ssthresh, false, mss);
            }
            self.tell_losses(now);
        }
        self.rearm(now);
    }
}
