//! The sending half: what an ACK means.
//!
//! Each part owns its state and says what follows from an event; what concerns several of them is decided here.

use super::super::{Config, Pacing, Recovery};
use super::ecn::Style;
use super::{Info, State, Stats, timestamp};
use crate::engine::prefetch;
use crate::wire::Segment;
use cclab_algo::cc::{AckEvent, CongestionControl, EcnUse, EstablishedEvent, Feedback, OneWay, Phase, RestartEvent};
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Time};
use std::sync::Arc;

mod episode;
mod frto;
mod law;
mod marking;
mod outbox;
mod pacing;
mod path_mtu;
mod probe;
mod prr;
mod quick_start;
mod rack;
mod rate;
mod recovery;
mod reordering;
mod rto;
mod sack;
mod scoreboard;
mod send_buffer;
mod standby;
mod subflow;
mod timeout;
mod timer;
mod transmit;
mod undo;
mod validation;
mod window;

use episode::Episode;
use frto::Frto;
use law::Law;
use marking::Marking;
use outbox::Outbox;
use pacing::Pacer;
use probe::{Persist, TailProbe};
use quick_start::QuickStart;
pub(super) use quick_start::quick_start_request;
use rack::Rack;
use rate::{Estimator, Sample};
use reordering::Reordering;
pub(super) use rto::Rtt;
use sack::Sacks;
use scoreboard::{Scoreboard, Track};
use send_buffer::SendBuffer;
use standby::Standby;
use timer::{Kind, Timer};
pub(super) use transmit::Outgoing;
use validation::Usage;
use window::SendWindow;

/// The sending half of an endpoint. What a mere receiver needs too comes first, then what every ACK needs, last what losses do.
#[repr(C)]
pub(super) struct Sender {
    // What is to be sent, and may be.
    window: SendWindow,
    outbox: Outbox,
    buffer: Option<Box<SendBuffer>>,
    timer: Timer,
    pacer: Pacer,
    probe: TailProbe,
    persist: Persist,
    /// Payload bytes of a full segment, as far as negotiated.
    mss: u32,
    /// What the path is known to take of a segment, options included.
    path_mss: u32,
    /// The connection is established and the sender does not stand by: data may flow.
    open: bool,
    /// SACK is agreed on and recovery uses it.
    use_sack: bool,
    timestamps: bool,
    frto: Frto,
    config: Arc<Config>,
    pub stats: Stats,

    // What is in flight, and what is known of the path.
    board: Scoreboard,
    rtt: Rtt,
    standby: Option<Box<Standby>>,
    law: Law,
    rate: Estimator,
    usage: Usage,
    marking: Marking,
    quick_start: QuickStart,

    // What was lost, and what is done about it.
    rack: Rack,
    reordering: Reordering,
    episode: Episode,
    sacks: Sacks,
}

/// What a handshake has agreed on, and how it went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    pub sack: bool,
    pub timestamps: bool,
    /// Shift of the windows that the peer offers.
    pub shift: u8,
    pub ecn: Style,
    /// The peer's SYN lost its flags of ECN at least once.
    pub bleached: bool,
    /// When our SYN or SYN-ACK left last; how often again, and the timestamp of the first.
    pub sent: Option<Time>,
    pub retransmissions: u32,
    pub first_timestamp: u32,
}

/// What an ACK brought.
#[derive(Default)]
struct Taken {
    acked_bytes: u64,
    /// Segments cumulatively acknowledged.
    segments: u64,
    delivered_bytes: u64,
    /// Of these, copies that a D-SACK reports.
    copied_bytes: u64,
    lost_bytes: u64,
    prior_in_flight: u64,
    /// Number of the highest segment SACKed before, + 1.
    prior_top: u64,
    /// The ACK brings no data, no window change and no advance.
    pure: bool,
    /// The ACK is a duplicate (RFC 5681 §2): all that, and data is outstanding.
    duplicate: bool,
    /// Marks were reported.
    echo: bool,
    /// Marks were reported that recovery answers, not the law.
    ece: bool,
    /// Bytes among those delivered that were marked.
    ce_bytes: u64,
    /// The timestamp it echoes.
    ts_ecr: Option<u32>,
    /// Segments were selectively acknowledged for the first time.
    sacked: bool,
    dsack: bool,
    dsack_of_probe: bool,
    /// Where the first segment begins that was SACKed after one sent later.
    reordered: Option<u64>,
    /// A segment of this episode that was never retransmitted was delivered.
    original_delivered: bool,
    sample: Sample,
    /// Send times of the first and last segment acknowledged here and never retransmitted.
    first_sent: Option<Time>,
    last_sent: Option<Time>,
    /// The same of segments selectively acknowledged.
    first_sacked: Option<Time>,
    last_sacked: Option<Time>,
    retransmitted_acked: bool,
    /// RACK has set the timer.
    timer_set: bool,
}

impl Sender {
    pub fn new(config: Arc<Config>, law: Box<dyn CongestionControl>) -> Sender {
        let law = Law::new(law);
        let mut board = Scoreboard::new(config.mss);
        if law.tracks_packets() {
            board.track_packets();
        }
        Sender {
            mss: config.mss,
            path_mss: u32::MAX,
            open: false,
            use_sack: false,
            timestamps: false,
            outbox: Outbox::new(config.nagle),
            buffer: None,
            window: SendWindow::default(),
            pacer: Pacer::default(),
            quick_start: QuickStart::default(),
            usage: Usage::default(),
            board,
            rtt: Rtt::new(Arc::clone(&config)),
            rate: Estimator::default(),
            marking: Marking::new(),
            timer: Timer::default(),
            sacks: Sacks::default(),
            rack: Rack::new(),
            reordering: Reordering::new(&config),
            episode: Episode::new(),
            frto: Frto::default(),
            probe: TailProbe::default(),
            persist: Persist::default(),
            standby: None,
            stats: Stats::default(),
            config,
            law,
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }
    pub fn set_config(&mut self, config: Arc<Config>) {
        self.config = config;
    }
    pub fn law(&self) -> &dyn CongestionControl {
        self.law.as_dyn()
    }
    /// Whether the law's data asks anything of the routers.
    pub fn asks(&self) -> bool {
        self.law.asks()
    }
    /// What the law's data asks of the routers.
    pub fn request(&self) -> Option<Feedback> {
        self.law.asks().then(|| self.law.as_dyn().request())
    }
    pub fn timestamps(&self) -> bool {
        self.timestamps
    }
    /// ECN codepoint of what is to leave.
    pub fn codepoint(&self, out: &Outgoing) -> u8 {
        self.marking.codepoint(out)
    }
    /// Looks for the peer's AccECN option; whether it was ever there.
    pub fn see_option(&mut self, segment: &Segment) {
        self.marking.see_option(segment);
    }
    pub fn saw_option(&self) -> bool {
        self.marking.saw_option()
    }
    pub fn delivered_ecn_bytes(&self) -> [u32; 3] {
        self.marking.delivered_bytes()
    }
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }
    pub fn nxt(&self) -> u64 {
        self.window.nxt()
    }
    pub fn una(&self) -> u64 {
        self.window.una()
    }
    pub fn mss(&self) -> u64 {
        u64::from(self.mss)
    }
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }
    pub fn fin_sent(&self) -> bool {
        self.outbox.fin_sent()
    }
    /// All that was sent is acknowledged, a FIN among it.
    pub fn fin_acked(&self) -> bool {
        self.fin_sent() && self.window.flight_size() == 0
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        match &mut self.buffer {
            Some(buffer) if !self.outbox.is_closing() => buffer.add(bytes),
            _ => self.outbox.write(bytes),
        }
    }
    /// The application writes no more.
    pub fn close(&mut self) {
        self.outbox.close(self.window.nxt());
        self.let_go();
    }
    /// The application writes no more for now.
    pub fn pause(&mut self) {
        self.outbox.pause(self.window.nxt());
        self.let_go();
    }
    /// Bytes written and not sent.
    pub fn waiting(&self) -> u64 {
        self.outbox.waiting(self.window.nxt().max(1))
    }
    /// What went with our SYN is acknowledged up to `ack`.
    pub fn skip(&mut self, ack: u64) {
        self.stats.bytes_acked += ack.saturating_sub(self.window.nxt());
        self.window.skip(ack);
    }
    pub fn set_nagle(&mut self, nagle: bool) {
        self.outbox.set_nagle(nagle);
    }

    /// Our SYN leaves.
    pub fn on_syn_sent(&mut self) {
        self.window.on_syn_sent();
    }

    /// Data may flow: both SYNs are known, that of the peer by `segment`.
    pub fn open(&mut self, now: Time, segment: &Segment, agreed: &Agreed) {
        self.open = true;
        self.timestamps = agreed.timestamps;
        self.use_sack = agreed.sack && matches!(self.config.recovery, Recovery::Sack | Recovery::Rack);
        self.marking.begin(agreed, self.ecn_use(), segment, self.config.ecn_fallback);
        let limit = self.config.send_buffer.filter(|_| self.config.initial_send_buffer.is_none());
        let buffer = limit.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(u32::MAX);
        self.window.open(segment, agreed.shift, buffer.max(self.mss));
        self.usage = Usage::new(now);
        self.pacer.begin(agreed.timestamps, self.config.multipath);
    }

    /// Our SYN is acknowledged by `segment`.
    pub fn establish(&mut self, now: Time, segment: &Segment, agreed: &Agreed) {
        match agreed.sent {
            Some(sent) if agreed.retransmissions == 0 => self.rtt_sample(now, now - sent, now - sent),
            _ => self.after_lost_syn(now, segment, agreed),
        }
        if let Some(known) = self.config.metrics {
            self.rtt.recall(known.rtt);
            self.reordering.recall(known.reordering);
        }
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min_rtt());
        if self.law.governs_recovery() {
            // It paces from the first segment on, by the handshake's RTT.
            self.law.tell(|cc| cc.on_ack(&AckEvent { now, srtt, min_rtt, ..AckEvent::default() }));
        }
        self.law.tell(|cc| cc.on_established(&EstablishedEvent { now, srtt }));
        self.update_pacing();
        self.begin_buffer();
        if let Some(sent) = agreed.sent.filter(|_| agreed.retransmissions == 0) {
            self.quick_start(now, sent, segment);
        }
    }

    /// One segment after a lost SYN (RFC 5681 §3.1). Linux, with its initial RTO of 1 s, only after two, and not where the
    /// timestamp shows that the first had arrived (`tcp_try_undo_spurious_syn`).
    fn after_lost_syn(&mut self, now: Time, segment: &Segment, agreed: &Agreed) {
        self.rtt.after_syn_retransmission();
        if self.timestamps {
            self.rtt_by_timestamp(now, segment.ts_ecr); // tells which of the SYNs was answered
        }
        let arrived = self.timestamps && segment.ts_ecr != 0 && segment.ts_ecr == agreed.first_timestamp;
        let forgiven = match self.config.flavour {
            Flavour::Linux if arrived => u32::MAX,
            Flavour::Linux => 1,
            Flavour::Paper => 0,
        };
        if agreed.retransmissions > forgiven {
            let cwnd = self.mss();
            self.law.tell(|cc| cc.on_restart(&RestartEvent { now, cwnd, ssthresh: 0 }));
        }
    }

    /// What the law does with marks.
    pub fn ecn_use(&self) -> EcnUse {
        self.law.as_dyn().ecn()
    }

    /// Bytes that count against the window. Classic recovery counts all that is out and inflates the window
    /// instead; without limited transmit the first duplicates set nothing free (RFC 3042).
    fn in_flight(&self) -> u64 {
        let counts_all = match self.episode.phase() {
            Phase::Loss => false,
            Phase::Disorder => self.classic() || !self.config.limited_transmit,
            _ => self.classic(),
        };
        if self.law.governs_recovery() {
            // Nobody inflates the window: each duplicate ACK tells of a segment that left the network.
            let delivered = if self.classic() { u64::from(self.episode.dupacks()) * self.mss() } else { 0 };
            return self.board.pipe().saturating_sub(delivered);
        }
        if counts_all { self.board.out().bytes } else { self.board.pipe() }
    }

    /// Recovery by counting duplicate ACKs: asked for, or all there is without SACK.
    fn classic(&self) -> bool {
        !self.use_sack
    }

    /// The recovery in force. Without SACK the two that need it do as NewReno.
    fn style(&self) -> Recovery {
        match self.config.recovery {
            Recovery::Sack | Recovery::Rack if self.classic() => Recovery::NewReno,
            other => other,
        }
    }

    /// The window that governs sending now.
    fn cwnd(&self) -> u64 {
        if self.episode.reduces() { self.recovery_window() } else { self.law.cwnd() }
    }

    /// Asks for the law and the first segments in flight.
    #[inline]
    pub fn fetch_heap(&self) {
        prefetch(self.law.as_dyn(), 512);
        self.board.fetch();
    }

    /// What is remembered of what is out takes so much.
    pub fn kept_bytes(&self) -> usize {
        self.board.kept_bytes() + self.buffer.as_ref().map_or(0, |buffer| buffer.kept_bytes())
    }

    /// Whether an acknowledgement is one of what is out.
    pub fn expects(&self, ack: u64) -> bool {
        ack.wrapping_sub(self.window.una()) <= self.window.flight_size()
    }
    /// Whether it is of what was not sent.
    pub fn is_beyond(&self, ack: u64) -> bool {
        ack > self.window.nxt()
    }
    /// Whether it is older than any ACK can be that was overtaken (RFC 5961 §5.2). Linux bounds the window by what was acknowledged, too, so that
    /// one from before the handshake ended is too old, but takes its data all the same where they are in order and nothing waits.
    pub fn is_ancient(&self, ack: u64) -> bool {
        ack < self.window.una().saturating_sub(self.window.largest())
    }
    /// Whether it says what the last one did.
    pub fn is_repeated(&self, segment: &Segment) -> bool {
        segment.ack == self.window.una() && !self.window.is_news(segment)
    }
    /// Nothing is sent any more.
    pub fn abort(&mut self) {
        self.open = false;
        self.standby = None;
        self.timer = Timer::default();
        self.pacer.unblock();
    }

    /// A segment arrives.
    pub fn begin(&mut self) {
        self.rtt.begin();
    }

    /// Takes in the acknowledgement of `segment`. The order of the steps is Linux's (`tcp_ack`).
    pub fn on_ack(&mut self, now: Time, segment: &Segment) {
        let window_changed = self.update_window(segment);
        if self.board.is_empty() && segment.sack.is_empty() && !self.probe.is_out() {
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
        if segment.ack > self.window.una() {
            self.advance(now, segment.ack, &mut taken);
        } else if segment.ack == self.window.una() {
            taken.pure = segment.seq_len() == 0 && !window_changed;
            taken.duplicate = taken.pure && !self.board.is_empty();
            if taken.duplicate && self.classic() {
                self.count_reno_sack(now, &mut taken);
            }
        }
        if self.marking.is_on() {
            self.take_marks(segment, &mut taken);
        }
        let head_resent = self.board.front().map_or(Time::ZERO, |head| head.sent);
        self.take_rtt(now, &taken);
        self.on_probe_acked(now, segment.ack, &taken);
        // A DSACK comes on an ACK that delivers nothing: the next that does tells whether a round trip has passed.
        let prior = self.rate.prior_delivered(&taken.sample).filter(|&prior| prior > 0);
        if let Some(prior) = prior.filter(|_| self.config.reo_wnd_adapts) {
            self.rack.adapt(prior, self.rate.delivered());
        }
        let before = self.episode.phase();
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
        if self.standby.is_some() {
            self.on_ack_in_standby(now);
        }
    }

    /// Says whether the window changed.
    fn update_window(&mut self, segment: &Segment) -> bool {
        let Some(changed) = self.window.update(segment) else { return false };
        if self.timer.kind == Kind::Persist && self.new_in_window().is_some() {
            self.timer = Timer::default();
            self.persist.end();
        }
        changed
    }

    /// Cumulative acknowledgement up to `ack`.
    fn advance(&mut self, now: Time, ack: u64, taken: &mut Taken) {
        taken.acked_bytes = self.window.advance(ack);
        if let Some(buffer) = &mut self.buffer {
            buffer.on_ack(ack);
        }
        self.episode.forget_timeouts();
        let min_rtt = self.rtt.min_rtt();
        let first = self.board.head();
        let mut late = None;
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
                    self.rack.on_delivered(now, &sent, taken.ts_ecr, min_rtt);
                }
            }
            if sent.ever_retransmitted {
                taken.retransmitted_acked = true;
            } else if !was_sacked {
                taken.first_sent.get_or_insert(sent.sent);
                taken.last_sent = Some(sent.sent);
                taken.original_delivered |= self.episode.covers(sent.end());
                if below_sacked {
                    late.get_or_insert(sent.seq);
                }
            }
        }
        taken.segments = self.board.head() - first;
        if self.episode.dupacks() > 0 || self.episode.ahead() > 0 {
            self.deduct_reno_sacks(taken);
        }
        if let Some(low) = late {
            self.see_reordering(low); // it arrived after something sent later
        }
        // Without SACK nothing tells whether what lies beyond the retransmission came before or after it.
        taken.original_delivered &= self.use_sack || !taken.retransmitted_acked;
        self.stats.bytes_acked += taken.acked_bytes - u64::from(self.fin_acked());
    }

    /// Segments that duplicate ACKs have told of without SACK, and none has acknowledged. Linux forgets them where a phase ends.
    fn told(&self) -> u32 {
        match self.config.flavour {
            Flavour::Linux => self.episode.dupacks(),
            Flavour::Paper => self.episode.ahead(),
        }
    }

    /// Without SACK a duplicate ACK tells that a segment was delivered, as far as there can be one beside those that are lost
    /// (Linux `tcp_add_reno_sack`; DeliveredData in RFC 6937 §3).
    fn count_reno_sack(&mut self, now: Time, taken: &mut Taken) {
        let holes = self.board.lost().segments.max(1);
        let fits = self.told() + holes < self.board.out().segments;
        if !fits || self.episode.phase() == Phase::Loss {
            return;
        }
        self.episode.set_ahead(self.episode.ahead() + 1);
        self.rate.count(now, self.mss());
        if self.config.flavour == Flavour::Linux {
            taken.delivered_bytes = self.mss();
        }
    }

    /// What duplicate ACKs have told of is not delivered a second time: one of the segments acknowledged filled the hole, the others
    /// had been told of (Linux `tcp_remove_reno_sacks`).
    #[cold]
    fn deduct_reno_sacks(&mut self, taken: &mut Taken) {
        let (told, acked) = (self.episode.dupacks(), taken.segments as u32);
        let known = u64::from(self.told()) * self.mss();
        let known = known.min(taken.delivered_bytes.saturating_sub(self.mss()));
        self.rate.discount(known);
        if self.config.flavour == Flavour::Linux {
            taken.delivered_bytes -= known;
        }
        let ahead = self.episode.ahead().saturating_sub(acked.saturating_sub(1));
        self.episode.set_ahead(ahead.min(self.board.out().segments.saturating_sub(1)));
        let left = self.limit_reno_sacks(told.saturating_sub(acked.saturating_sub(1)), acked);
        self.episode.set_dupacks(left);
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
    fn rtt_by_timestamp(&mut self, now: Time, ecr: u32) {
        let ms = timestamp(now).wrapping_sub(ecr);
        if ecr != 0 && ms < 1 << 24 {
            let rtt = Duration::from_millis(u64::from(ms.max(1)));
            self.rtt.sample(rtt, self.window.una(), self.window.nxt());
        }
    }

    /// `rtt` feeds the RTO (it includes the delay of a delayed ACK), `last` is that of the newest segment:
    /// it feeds the minimum and the law.
    fn rtt_sample(&mut self, now: Time, rtt: Duration, last: Duration) {
        self.rtt.sample(rtt, self.window.una(), self.window.nxt());
        self.rtt.sample_min(now, last);
    }

    /// The ACK is taken in: the window follows, by recovery's rule or by the law's.
    fn finish(&mut self, now: Time, segment: &Segment, taken: &Taken, before: Phase) {
        let rate = self.rate.on_ack(&taken.sample, self.rtt.min_rtt());
        let by_law = self.law.governs_recovery();
        let governed = |phase| !by_law && matches!(phase, Phase::Recovery | Phase::Cwr);
        let phase = self.episode.phase();
        if governed(phase) && taken.delivered_bytes > 0 {
            let safe = taken.acked_bytes > 0 && taken.lost_bytes == 0;
            let (pipe, ssthresh, mss) = (self.in_flight(), self.law.ssthresh(), self.mss());
            self.episode.prr.on_ack(taken.delivered_bytes, pipe, ssthresh, safe, mss);
        }
        let limited = !self.config.cwnd_validation || self.is_cwnd_limited();
        // The ACK that ends recovery raises the window in Linux, where the law comes after the phases.
        let last_grows = self.grows_by_delivered();
        let track = match taken.sample.newest_segment() {
            Some(i) if self.law.tracks_packets() => self.board.track(i),
            _ => Track::default(),
        };
        let echo = segment.echo;
        let one_way = OneWay { seq: echo.seq, sent: echo.sent, arrived: echo.arrived };
        let event = AckEvent {
            now,
            acked_bytes: self.newly_acked(taken).min(self.growth()),
            delivered_bytes: taken.delivered_bytes,
            rtt: self.rtt.latest(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            bytes_in_flight: self.in_flight(),
            prior_in_flight: taken.prior_in_flight,
            snd_una: self.window.una(),
            snd_nxt: self.window.nxt(),
            delivery_rate: rate.map(|(r, _)| r),
            app_limited: rate.is_some_and(|(_, limited)| limited),
            delivered: self.rate.delivered(),
            prior_delivered: self.rate.prior_delivered(&taken.sample).unwrap_or(0),
            lost_bytes: taken.lost_bytes,
            may_grow: limited
                && (by_law || self.moves_forward(taken))
                && !governed(phase)
                && (last_grows || !governed(before)),
            phase,
            one_way: (echo.arrived != Time::ZERO).then_some(one_way),
            ecn_echo: taken.echo,
            ce_bytes: taken.ce_bytes,
            feedback: if segment.len == 0 { segment.feedback } else { Feedback::None },
            lost: self.board.marked_lost(),
            prior_lost: track.lost,
            tx_in_flight: track.in_flight,
            newest_sent: taken.sample.newest_sent(),
        };
        self.law.tell(|cc| cc.on_ack(&event));
        self.update_pacing();
    }

    /// The law comes after the phases, and an ACK counts for what it delivers (Linux `tcp_cong_control`). Kernels that grew per
    /// ACK had the law first.
    fn grows_by_delivered(&self) -> bool {
        self.config.flavour == Flavour::Linux && !self.config.growth_per_ack
    }

    /// Whether an ACK may raise the window: one that acknowledges data or, where the path reorders further than the sysctl expects,
    /// one that only SACKs some (Linux `tcp_may_raise_cwnd`). A duplicate ACK without SACK tells of no data.
    fn moves_forward(&self, taken: &Taken) -> bool {
        taken.acked_bytes > 0
            || (taken.sacked && self.grows_by_delivered() && self.reordering.degree() > self.config.dupthresh)
    }

    /// What an ACK counts for: without what was selectively acknowledged before, which has been counted before.
    fn newly_acked(&self, taken: &Taken) -> u64 {
        if self.grows_by_delivered() && self.moves_forward(taken) {
            taken.delivered_bytes
        } else {
            taken.acked_bytes.min(taken.delivered_bytes)
        }
    }

    /// Most that an ACK may count for.
    fn growth(&self) -> u64 {
        let one = self.config.growth_per_ack && self.law.cwnd() < self.law.ssthresh();
        if one { self.mss() } else { u64::MAX }
    }

    /// The pacing rate follows the law's, or the window.
    fn update_pacing(&mut self) {
        if self.quick_start.lasts() && self.quick_starting() {
            return;
        }
        let own = self.law.pacing_rate();
        if own.is_none() && self.config.pacing == Pacing::Off {
            return;
        }
        if own.is_some() {
            return self.pacer.set(own);
        }
        let in_use = self.cwnd().max(self.board.out().bytes);
        self.pacer.follow(in_use, self.rtt.srtt(), self.law.cwnd() < self.law.ssthresh() / 2);
    }

    /// When the sender wants to be woken.
    pub fn next_timer(&self) -> Time {
        self.timer.at.min(self.pacer.deadline())
    }

    /// Starts the RTO timer anew, or stops it when nothing is outstanding.
    fn rearm_from(&mut self, now: Time) {
        self.timer =
            if self.board.is_empty() { Timer::default() } else { Timer { kind: Kind::Rto, at: now + self.rtt.rto() } };
    }

    /// As [`rearm_from`](Self::rearm_from), but after a timer of another kind the RTO counts from the first
    /// segment's transmission.
    fn rearm(&mut self, now: Time) {
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
            // While time stands still, so does the pacing rate.
            Kind::Standby => return self.on_standby_timer(now),
        }
        self.update_pacing();
    }

    /// What RACK waited for did not come.
    fn on_reorder_timer(&mut self, now: Time) {
        let found = self.look_with_rack(now);
        if found.lost {
            // Nothing was delivered: only the fast retransmit that begins a recovery is granted (as Linux).
            if self.episode.phase() != Phase::Recovery {
                self.enter_recovery(now);
                let (pipe, ssthresh, mss) = (self.in_flight(), self.law.ssthresh(), self.mss());
                self.episode.prr.on_ack(mss, pipe, ssthresh, false, mss);
            }
            self.tell_losses(now);
        }
        self.rearm(now);
    }

    /// The last RTT sample, if the last segment brought one.
    pub fn last_rtt(&self) -> Option<Duration> {
        self.rtt.latest()
    }

    /// A snapshot.
    pub fn info(&self, state: State, rcv_nxt: u64) -> Info {
        let (board, rtt) = (&self.board, &self.rtt);
        let without_sack = self.episode.dupacks().min(board.out().segments);
        Info {
            state,
            phase: self.episode.phase(),
            cwnd: self.cwnd(),
            ssthresh: self.law.ssthresh(),
            srtt: rtt.has_sample().then(|| rtt.srtt()),
            rttvar: rtt.rttvar(),
            min_rtt: Some(rtt.min_rtt()).filter(|&min| min > Duration::ZERO),
            rto: rtt.rto(),
            backoff: rtt.backoff().max(self.persist.probes()),
            bytes_in_flight: self.in_flight(),
            packets_out: board.out().segments,
            sacked_out: if self.use_sack { board.sacked().segments } else { without_sack },
            lost_out: board.lost().segments,
            retrans_out: board.retrans().segments,
            total_retrans: self.stats.segments_retransmitted,
            reordering: self.reordering.degree(),
            reord_seen: self.reordering.seen(),
            pacing_rate: self.pacer.rate(),
            delivery_rate: self.rate.latest(),
            snd_una: self.window.una(),
            snd_nxt: self.window.nxt(),
            rcv_nxt,
            snd_wnd: self.window.wnd(),
            delivered_ce: self.marking.delivered_ce(),
        }
    }
}

#[cfg(test)]
impl Sender {
    /// Checks the invariants that cost a recount.
    pub fn check_all(&self) {
        self.board.check_all();
    }
    /// RACK's window as a multiple of a quarter of the smallest RTT.
    pub fn reordering_steps(&self) -> u64 {
        self.rack.steps()
    }
    /// For what happens when the application starts with less than it came to have.
    pub fn set_initial_window(&mut self, segments: u32) {
        Arc::make_mut(&mut self.config).initial_window = segments;
    }
}
