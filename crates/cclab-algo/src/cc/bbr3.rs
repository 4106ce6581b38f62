//! BBR, version 3: a model of the path on two time scales, which also bounds what is in flight by where losses begin.
//!
//! Source: draft-ietf-ccwg-bbr-06 (N. Cardwell, I. Swett, J. Beshay, editors); the section numbers are its own. Where
//! Linux (the v3 branch of its authors) has other gains, the `linux` flavour has them.
//!
//! | state | pacing gain | cwnd gain | rate cap | volume cap (§5.6.4.7) |
//! |---|---|---|---|---|
//! | Startup | 2.77 | 2 | | |
//! | Drain | 0.5 (Linux 0.344) | 2 | bw_shortterm | inflight_shortterm |
//! | ProbeBW_DOWN | 0.9 (Linux 0.91) | 2 | bw_shortterm | inflight_longterm, inflight_shortterm |
//! | ProbeBW_CRUISE | 1 | 2 | bw_shortterm | 0.85 inflight_longterm, inflight_shortterm |
//! | ProbeBW_REFILL | 1 | 2 | | inflight_longterm |
//! | ProbeBW_UP | 1.25 | 2.25 | | inflight_longterm |
//! | ProbeRTT | 1 | 0.5 | bw_shortterm | 0.85 inflight_longterm, inflight_shortterm |
//!
//! The draft's summary table has inflight_longterm cap Drain too; its logic, which we follow, does not. Ranges of lost
//! data in a round are counted as ACKs that marked losses, as Linux does. Linux' response to ECN is not in the draft.

use super::window::bytes;
use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, EstablishedEvent, IdleEvent, LostEvent, Phase,
    RecoveredEvent, RestartEvent, Signal, TimeoutEvent, UndoEvent,
};
use crate::estimate::{Bubble, MaxFilter, Rounds};
use crate::params::{Kind, Params, Spec, Value};
use crate::rng::Stream;
use crate::units::{Duration, Rate, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "bbr3",
    summary: "BBRv3: BBR that also bounds what is in flight by where 2 % loss begins",
    source: "draft-ietf-ccwg-bbr-06; gains of Linux' v3 branch",
    params: &[
        Spec {
            name: "drain_gain",
            kind: Kind::Number { min: 0.1, max: 0.95 },
            default: Value::Number(0.344),
            paper_default: Some(Value::Number(0.5)),
            unit: "",
            doc: "pacing gain of Drain",
        },
        Spec {
            name: "down_gain",
            kind: Kind::Number { min: 0.5, max: 0.99 },
            default: Value::Number(0.91),
            paper_default: Some(Value::Number(0.9)),
            unit: "",
            doc: "pacing gain of ProbeBW_DOWN",
        },
        Spec {
            name: "loss_threshold",
            kind: Kind::Number { min: 0.1, max: 50.0 },
            default: Value::Number(2.0),
            paper_default: None,
            unit: "%",
            doc: "loss in a round, of what was in flight, that is too much",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Bbr3::new(cx, params))),
};

/// Startup's pacing gain, 4 ln 2 (§5.6.1).
const STARTUP_GAIN: f64 = 2.77;
const UP_GAIN: f64 = 1.25;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// Pacing stays 1 % below gain · bw (§5.6.2).
const MARGIN: f64 = 0.99;
/// What a decrease leaves at least (§5.5.10).
const BETA: f64 = 0.7;
/// Share of inflight_longterm left to others while cruising.
const HEADROOM: f64 = 0.15;
/// Least W, segments.
const MIN_PIPE: f64 = 4.0;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Startup goes on while the delivery rate grows by a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Ranges of lost data in a round that may end Startup.
const STARTUP_LOSSES: u32 = 6;
/// Rounds of Drain at most.
const DRAIN_ROUNDS: u64 = 3;
/// Rounds until the next probe at most, so that Reno keeps up (§5.3.3.8).
const RENO_ROUNDS: f64 = 63.0;
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// Cycles of the filter of max_bw.
const MAX_BW_CYCLES: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
    /// Accelerating: losses are for the long-term model to judge.
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// What the ACKs now coming in tell of a probe (§5.3.3.9).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Acks {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The draft's rate sample RS, volumes in segments, rates in bit/s.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    rate: f64,
    delivered: f64,
    newly_acked: f64,
    tx_in_flight: f64,
    lost: f64,
    app_limited: bool,
}

/// BBRv3's law. Rates in bit/s, volumes in segments.
pub struct Bbr3 {
    /// Payload of a segment, bits.
    segment: f64,
    initial_window: f64,
    drain_gain: f64,
    down_gain: f64,
    loss_threshold: f64,
    rng: Stream,

    state: State,
    cwnd: f64,
    pacing_rate: f64,
    /// The pacing rate is by a measured RTT.
    seen_rtt: bool,
    /// Bytes delivered on the connection.
    delivered: u64,
    rounds: Rounds,
    drain_start: u64,
    rs: Sample,
    in_flight: f64,
    cwnd_limited: bool,

    /// §5.5.2: by cycles.
    max_bw: MaxFilter<{ MAX_BW_CYCLES as usize }>,
    cycle: u64,
    bw: f64,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    bubble: Bubble,

    probe_rtt_min: Option<Duration>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    full_bw: f64,
    full_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,

    extra_acked: MaxFilter<{ EXTRA_ACKED_ROUNDS as usize }>,
    extra_start: Time,
    extra_delivered: f64,

    acks: Acks,
    is_bw_probe_sample: bool,
    cycle_stamp: Time,
    probe_wait: Duration,
    rounds_since_probe: u64,
    up_rounds: u32,
    up_acked: f64,
    up_acked_per_inc: f64,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

    bw_latest: f64,
    inflight_latest: f64,
    loss_in_round: bool,
    loss_round_delivered: u64,
    loss_round_start: bool,
    startup_losses: u32,

    phase: Phase,
    recovery_began: u64,
    prior_cwnd: f64,
    timed_out: bool,
    undo: Undo,
}

/// What a spurious recovery gives back (§5.5.11).
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Bbr3 {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        let infinite = f64::INFINITY;
        let mut bbr = Bbr3 {
            segment: f64::from(cx.mss) * 8.0,
            initial_window: f64::from(cx.initial_window),
            drain_gain: params.number("drain_gain"),
            down_gain: params.number("down_gain"),
            loss_threshold: params.number("loss_threshold") / 100.0,
            rng: cx.rng.clone(),
            state: State::Startup,
            cwnd: f64::from(cx.initial_window),
            pacing_rate: 0.0,
            seen_rtt: false,
            delivered: 0,
            rounds: Rounds::default(),
            drain_start: 0,
            rs: Sample::default(),
            in_flight: 0.0,
            cwnd_limited: false,
            max_bw: MaxFilter::default(),
            cycle: 0,
            bw: 0.0,
            bw_shortterm: infinite,
            inflight_shortterm: infinite,
            inflight_longterm: infinite,
            bubble: Bubble::default(),
            probe_rtt_min: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            full_bw: 0.0,
            full_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            extra_acked: MaxFilter::default(),
            extra_start: Time::ZERO,
            extra_delivered: 0.0,
            acks: Acks::Init,
            is_bw_probe_sample: false,
            cycle_stamp: Time::ZERO,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0,
            up_rounds: 0,
            up_acked: 0.0,
            up_acked_per_inc: infinite,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            startup_losses: 0,
            phase: Phase::Open,
            recovery_began: 0,
            prior_cwnd: 0.0,
            timed_out: false,
            undo: Undo {
                state: None,
                bw_shortterm: infinite,
                inflight_shortterm: infinite,
                inflight_longterm: infinite,
            },
        };
        bbr.init_pacing(Duration::from_millis(1));
        bbr
    }

    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.segment
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => self.drain_gain,
            State::Down => self.down_gain,
            State::Up => UP_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// Per ACK, the model (§5.2.3: BBRUpdateModelAndState).
    fn update_model(&mut self, ev: &AckEvent) {
        self.update_latest_delivery_signals(ev);
        self.update_congestion_signals();
        self.update_ack_aggregation(ev.now);
        self.check_full_bw_reached();
        self.check_startup_done(ev);
        self.check_drain_done(ev);
        self.update_probe_bw_cycle(ev.now);
        self.update_min_rtt(ev);
        self.check_probe_rtt(ev);
        if self.loss_round_start {
            self.bw_latest = self.rs.rate;
            self.inflight_latest = self.rs.delivered;
        }
        self.bw = self.max_bw.get().min(self.bw_shortterm);
    }

    // §5.5.1 to §5.5.6: rounds and max_bw

    fn update_max_bw(&mut self) {
        self.rounds_since_probe += u64::from(self.rounds.start);
        if self.rs.rate > 0.0 && (self.rs.rate >= self.max_bw.get() || !self.rs.app_limited) {
            self.max_bw.update(self.cycle, self.rs.rate, MAX_BW_CYCLES);
        }
    }

    // §5.5.10.3: the latest delivery, and the short-term model

    fn update_latest_delivery_signals(&mut self, ev: &AckEvent) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(self.rs.rate);
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered);
        if ev.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = ev.delivered;
            self.loss_round_start = true;
        }
    }

    fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !self.state.is_probing() {
            // The first congestion of this cycle starts from what was used.
            let bw = if self.bw_shortterm.is_finite() { self.bw_shortterm } else { self.max_bw.get() };
            let inflight = if self.inflight_shortterm.is_finite() { self.inflight_shortterm } else { self.cwnd };
            self.bw_shortterm = self.bw_latest.max(BETA * bw);
            self.inflight_shortterm = self.inflight_latest.max(BETA * inflight);
        }
        self.loss_in_round = false;
    }

    fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    // §5.5.9: ACK aggregation

    fn update_ack_aggregation(&mut self, now: Time) {
        let mut expected = self.bw * now.since(self.extra_start).as_secs_f64() / self.segment;
        if self.extra_delivered <= expected {
            self.extra_delivered = 0.0;
            self.extra_start = now;
            expected = 0.0;
        }
        self.extra_delivered += self.rs.newly_acked;
        let extra = (self.extra_delivered - expected).min(self.cwnd);
        let window = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(self.rounds.count, extra, window);
    }

    // §5.3.1: Startup, and the full pipe

    fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_count = 0;
        self.full_bw_now = false;
    }

    fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.rounds.start || self.rs.app_limited || self.rs.rate == 0.0 {
            return;
        }
        if self.rs.rate >= FULL_GROWTH * self.full_bw {
            self.reset_full_bw();
            self.full_bw = self.rs.rate;
            return;
        }
        self.full_count += 1;
        self.full_bw_now = self.full_count >= FULL_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_startup_done(&mut self, ev: &AckEvent) {
        self.check_startup_high_loss(ev);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start = self.rounds.count;
        }
    }

    /// A round of recovery, 2 % lost in it, in six places: the pipe is full and the buffer too.
    fn check_startup_high_loss(&mut self, ev: &AckEvent) {
        self.startup_losses += u32::from(ev.lost_bytes > 0);
        if !self.loss_round_start {
            return;
        }
        let losses = std::mem::take(&mut self.startup_losses);
        let for_a_round = ev.phase == Phase::Recovery && self.rounds.count > self.recovery_began;
        if self.state == State::Startup
            && !self.full_bw_reached
            && for_a_round
            && losses >= STARTUP_LOSSES
            && self.is_inflight_too_high()
        {
            self.undo.state = Some(State::Startup);
            self.full_bw_reached = true;
            self.inflight_longterm = self.bdp(1.0).max(self.inflight_latest);
        }
    }

    // §5.3.2: Drain

    fn check_drain_done(&mut self, ev: &AckEvent) {
        let over = self.in_flight <= self.inflight(self.bw, 1.0) || self.rounds.count > self.drain_start + DRAIN_ROUNDS;
        if self.state == State::Drain && over {
            self.start_down(ev.now);
        }
    }

    // §5.3.3: ProbeBW

    fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.up_acked_per_inc = f64::INFINITY;
        self.rounds_since_probe = self.rng.below(2);
        self.probe_wait = Duration::from_secs_f64(2.0 + self.rng.uniform());
        self.cycle_stamp = now;
        self.acks = Acks::ProbeStopping;
        self.rounds.begin(self.delivered);
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.reset_short_term_model();
        self.up_rounds = 0;
        self.up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.acks = Acks::Refilling;
        self.rounds.begin(self.delivered);
        self.state = State::Refill;
    }

    fn start_up(&mut self) {
        self.acks = Acks::ProbeStarting;
        self.rounds.begin(self.delivered);
        self.reset_full_bw();
        self.full_bw = self.rs.rate;
        self.state = State::Up;
        self.raise_longterm_slope();
    }

    fn update_probe_bw_cycle(&mut self, now: Time) {
        if !self.full_bw_reached || self.adapt_long_term_model() {
            return;
        }
        let state = self.state;
        match state {
            State::Down => {
                if self.is_time_to_probe(now) {
                    self.start_refill();
                } else if self.is_time_to_cruise() {
                    self.state = State::Cruise;
                }
            }
            State::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            State::Refill if self.rounds.start => {
                self.is_bw_probe_sample = true;
                self.start_up();
            }
            State::Up if self.is_time_to_go_down() => {
                self.prev_probe_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = self.target_inflight().min(RENO_ROUNDS);
        now > self.cycle_stamp + self.probe_wait || self.rounds_since_probe as f64 >= reno_rounds
    }

    fn is_time_to_cruise(&self) -> bool {
        self.in_flight <= self.inflight_with_headroom() && self.in_flight <= self.inflight(self.max_bw.get(), 1.0)
    }

    fn is_time_to_go_down(&mut self) -> bool {
        if self.prev_probe_too_high && self.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.cwnd_limited && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = self.rs.rate;
            return false;
        }
        self.full_bw_now
    }

    fn target_inflight(&self) -> f64 {
        self.bdp(1.0).min(self.cwnd)
    }

    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MIN_PIPE)
    }

    /// inflight_longterm grows by 1, 2, 4 … segments a round.
    fn raise_longterm_slope(&mut self) {
        let growth = (1_u64 << self.up_rounds) as f64;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_acked_per_inc = (self.cwnd / growth).max(1.0);
    }

    fn probe_longterm_upward(&mut self) {
        if !self.cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        self.up_acked += self.rs.newly_acked;
        if self.up_acked >= self.up_acked_per_inc {
            let delta = (self.up_acked / self.up_acked_per_inc).floor();
            self.up_acked -= delta * self.up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.rounds.start {
            self.raise_longterm_slope();
        }
    }

    /// Follows a probe's ACKs; whether that decided on the next state.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.acks == Acks::ProbeStarting && self.rounds.start {
            self.acks = Acks::ProbeFeedback;
        }
        if self.acks == Acks::ProbeStopping && self.rounds.start {
            self.is_bw_probe_sample = false;
            self.acks = Acks::Init;
            if self.state.is_probe_bw() && !self.rs.app_limited {
                self.cycle += 1;
            }
            if self.state.is_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(self.rs.tx_in_flight);
            if self.state == State::Up {
                self.probe_longterm_upward();
            }
        }
        false
    }

    // §5.5.10.2: too much loss

    fn is_inflight_too_high(&self) -> bool {
        self.rs.lost > self.loss_threshold * self.rs.tx_in_flight
    }

    fn handle_inflight_too_high(&mut self, now: Time) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.rs.app_limited {
            self.inflight_longterm = self.rs.tx_in_flight.max(BETA * self.target_inflight());
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// At what volume in flight losses crossed the threshold, somewhere in a packet of `size`.
    fn inflight_at_loss(&self, size: f64) -> f64 {
        let inflight_prev = self.rs.tx_in_flight - size;
        let lost_prev = self.rs.lost - size;
        let lost_prefix = (self.loss_threshold * inflight_prev - lost_prev) / (1.0 - self.loss_threshold);
        inflight_prev + lost_prefix
    }

    // §5.3.4: ProbeRTT

    fn update_min_rtt(&mut self, ev: &AckEvent) {
        self.probe_rtt_expired = ev.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ev.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|min| rtt < min))
        {
            self.probe_rtt_min = Some(rtt);
            self.probe_rtt_min_stamp = ev.now;
        }
        let expired = ev.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(rtt) = self.probe_rtt_min
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    fn check_probe_rtt(&mut self, ev: &AckEvent) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart && self.min_rtt.is_some() {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
            self.acks = Acks::ProbeStopping;
            self.rounds.begin(self.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ev);
        }
        self.idle_restart = false;
    }

    fn handle_probe_rtt(&mut self, ev: &AckEvent) {
        self.bubble.mark(ev.delivered, ev.bytes_in_flight);
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.rounds.start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(ev.now);
            }
        } else if self.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt_done = Some(ev.now + PROBE_RTT_TIME);
            self.probe_rtt_round_done = false;
            self.rounds.begin(self.delivered);
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(PROBE_RTT_CWND_GAIN).max(MIN_PIPE)
    }

    // §5.6: pacing rate and W

    fn init_pacing(&mut self, rtt: Duration) {
        self.pacing_rate = STARTUP_GAIN * self.initial_window * self.segment / rtt.as_secs_f64();
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * MARGIN;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// gain · bw · min_rtt.
    fn bdp(&self, gain: f64) -> f64 {
        self.bdp_at(self.bw, gain)
    }

    fn bdp_at(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |rtt| gain * bw * rtt.as_secs_f64() / self.segment)
    }

    /// Room for three quanta of up to a millisecond.
    fn with_quanta(&self, inflight: f64) -> f64 {
        let quantum = (self.pacing_rate * 0.001).min(65_536.0 * 8.0).max(2.0 * self.segment) / self.segment;
        let probe = if self.state == State::Up { 2.0 } else { 0.0 };
        inflight.max(3.0 * quantum).max(MIN_PIPE) + probe
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.with_quanta(self.bdp_at(bw, gain))
    }

    fn set_cwnd(&mut self, ev: &AckEvent) {
        let max_inflight = self.with_quanta(self.bdp(self.cwnd_gain()) + self.extra_acked.get());
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + self.rs.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.segments(ev.delivered) < self.initial_window {
            self.cwnd += self.rs.newly_acked;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_shortterm).max(MIN_PIPE));
    }

    // §5.6.4.4 and §5.5.11: recovery

    fn save_cwnd(&mut self) {
        let cut = matches!(self.phase, Phase::Recovery | Phase::Loss) || self.state == State::ProbeRtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }
}

impl CongestionControl for Bbr3 {
    fn on_established(&mut self, ev: &EstablishedEvent) {
        self.probe_rtt_min_stamp = ev.now;
        self.min_rtt_stamp = ev.now;
    }

    fn on_ack(&mut self, ev: &AckEvent) {
        if std::mem::take(&mut self.timed_out) {
            // One segment more than was in flight after the timeout.
            self.cwnd = self.cwnd.max(self.segments(ev.prior_in_flight));
        }
        if !self.seen_rtt && ev.srtt > Duration::ZERO {
            self.seen_rtt = true;
            self.init_pacing(ev.srtt);
        }
        if ev.delivered_bytes == 0 {
            return;
        }
        self.rs = Sample {
            rate: ev.delivery_rate.map_or(0.0, Rate::as_bps_f64),
            delivered: self.segments(ev.delivered - ev.prior_delivered),
            newly_acked: self.segments(ev.delivered_bytes),
            tx_in_flight: self.segments(ev.tx_in_flight),
            lost: self.segments(ev.lost - ev.prior_lost),
            app_limited: ev.app_limited || self.bubble.covers(ev.prior_delivered),
        };
        self.in_flight = self.segments(ev.bytes_in_flight);
        self.cwnd_limited = ev.may_grow;
        self.delivered = ev.delivered;
        self.rounds.on_ack(ev.prior_delivered, ev.delivered);
        if ev.phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.recovery_began = self.rounds.count;
        }
        self.phase = ev.phase;
        self.update_model(ev);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ev);
    }

    /// §5.5.10.2: judges what was in flight when the packet was sent, while a probe is being judged.
    fn on_lost(&mut self, ev: &LostEvent) {
        self.delivered = ev.delivered;
        if !self.loss_in_round {
            self.loss_round_delivered = ev.delivered;
            self.save_state_upon_loss();
        }
        self.loss_in_round = true;
        if !self.is_bw_probe_sample {
            return;
        }
        self.rs.tx_in_flight = self.segments(ev.tx_in_flight);
        self.rs.lost = self.segments(ev.lost - ev.prior_lost);
        self.rs.app_limited = ev.app_limited || self.bubble.covers(ev.prior_delivered);
        if self.is_inflight_too_high() {
            self.rs.tx_in_flight = self.inflight_at_loss(self.segments(ev.bytes));
            self.handle_inflight_too_high(ev.now);
        }
    }

    /// The state was saved with the first packet lost, before that changed the model (the draft would save it again here,
    /// and forget what is to be undone); a tail loss is not told as a packet.
    fn on_congestion(&mut self, ev: &CongestionEvent) {
        if ev.signal == Signal::TailLoss {
            self.save_state_upon_loss();
        }
    }

    fn on_timeout(&mut self, _ev: &TimeoutEvent) {
        self.save_state_upon_loss();
        self.phase = Phase::Loss;
        self.cwnd = 1.0;
        self.timed_out = true;
    }

    fn on_recovered(&mut self, ev: &RecoveredEvent) {
        if matches!(ev.phase, Phase::Recovery | Phase::Loss) {
            self.restore_cwnd();
        }
    }

    /// §5.5.11.2: what the losses took comes back, and a probe that they ended begins anew.
    fn on_undo(&mut self, _ev: &UndoEvent) {
        self.restore_cwnd();
        self.loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }

    fn on_restart(&mut self, ev: &RestartEvent) {
        self.cwnd = self.cwnd.min(self.segments(ev.cwnd)).max(1.0);
    }

    /// §5.4.1: the pipe is filled again at exactly bw.
    fn on_idle(&mut self, ev: &IdleEvent) {
        if !ev.app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra_start = ev.now;
        self.extra_delivered = 0.0;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(ev.now);
        }
    }

    fn cwnd(&self) -> u64 {
        bytes(self.cwnd * self.segment / 8.0)
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate(self.pacing_rate.max(1.0) as u64))
    }
    fn governs_recovery(&self) -> bool {
        true
    }
    fn tracks_packets(&self) -> bool {
        true
    }
    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let known = |x: f64| if x.is_finite() { x } else { f64::NAN };
        record("state", self.state as u8 as f64);
        record("max_bw_bps", self.max_bw.get());
        record("bw_bps", self.bw);
        record("min_rtt_s", self.min_rtt.map_or(f64::NAN, Duration::as_secs_f64));
        record("inflight_longterm_segments", known(self.inflight_longterm));
        record("inflight_shortterm_segments", known(self.inflight_shortterm));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Flavour;

    const MSS: u64 = 1500;
    const SEGMENT: f64 = 12_000.0;
    const RTT: Duration = Duration::from_millis(40);

    fn ms(t: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(t / 1000.0)
    }

    fn law(flavour: Flavour) -> Bbr3 {
        let params = Params::resolve(ENTRY.params, &[], flavour).unwrap();
        Bbr3::new(&Context { flavour, ..Context::new(MSS as u32) }, &params)
    }

    /// A law that knows a path of 40 ms whose BDP is so many segments, the pipe full, in `state` since 1 s.
    fn knows(bdp: f64, state: State) -> Bbr3 {
        let mut bbr = law(Flavour::Paper);
        let bw = bdp * SEGMENT / 0.040;
        bbr.max_bw.update(0, bw, MAX_BW_CYCLES);
        bbr.bw = bw;
        bbr.full_bw_reached = true;
        bbr.min_rtt = Some(RTT);
        bbr.probe_rtt_min = Some(RTT);
        (bbr.min_rtt_stamp, bbr.probe_rtt_min_stamp, bbr.cycle_stamp) = (ms(1000.0), ms(1000.0), ms(1000.0));
        bbr.probe_wait = Duration::from_secs(3);
        bbr.state = state;
        bbr.cwnd = 2.0 * bdp;
        bbr.seen_rtt = true;
        bbr
    }

    /// The `k`-th ACK of that path, one for a whole round of `bdp` segments: each begins a round.
    fn ack(bdp: f64, k: u64) -> AckEvent {
        let window = bdp as u64 * MSS;
        AckEvent {
            now: ms(1000.0 + k as f64),
            acked_bytes: MSS,
            delivered_bytes: MSS,
            rtt: Some(RTT),
            srtt: RTT,
            delivery_rate: Some(Rate((bdp * SEGMENT / 0.040) as u64)),
            bytes_in_flight: window,
            prior_in_flight: window + MSS,
            delivered: (k + 1) * window,
            prior_delivered: k * window,
            tx_in_flight: window,
            ..AckEvent::default()
        }
    }

    /// §5.6.1's table: pacing gain, cwnd gain.
    #[test]
    fn gains() {
        use State::*;
        for (state, pacing, cwnd) in [
            (Startup, 2.77, 2.0),
            (Drain, 0.5, 2.0),
            (Down, 0.9, 2.0),
            (Cruise, 1.0, 2.0),
            (Refill, 1.0, 2.0),
            (Up, 1.25, 2.25),
            (ProbeRtt, 1.0, 0.5),
        ] {
            let bbr = knows(100.0, state);
            assert_eq!((bbr.pacing_gain(), bbr.cwnd_gain()), (pacing, cwnd), "{state:?}");
        }
        let linux = law(Flavour::Linux);
        assert_eq!((linux.drain_gain, linux.down_gain), (0.344, 0.91));
    }

    /// The volume caps: BDP 100, inflight_longterm 100, inflight_shortterm 60 or none; two more in UP.
    #[test]
    fn volume_caps() {
        use State::*;
        let none = f64::INFINITY;
        for (state, longterm, shortterm, w) in [
            (Up, none, none, 227.0),
            (Down, none, none, 200.0),
            (Up, 100.0, none, 100.0),
            (Refill, 100.0, none, 100.0),
            (Down, 100.0, none, 100.0),
            (Cruise, 100.0, none, 85.0),
            (Cruise, 100.0, 60.0, 60.0),
            (ProbeRtt, none, none, 50.0),
            (ProbeRtt, 40.0, none, 34.0),
            (Drain, 100.0, none, 200.0), // by the logic, not by the table
            (Cruise, 4.0, none, 4.0),
        ] {
            let mut bbr = knows(100.0, state);
            (bbr.inflight_longterm, bbr.inflight_shortterm, bbr.cwnd) = (longterm, shortterm, 1000.0);
            bbr.set_cwnd(&ack(100.0, 1));
            assert!((bbr.cwnd - w).abs() < 1e-9, "{state:?} {longterm} {shortterm}: {}", bbr.cwnd);
        }
    }

    /// 1000 segments in flight of which 15 were lost, then a lost one: 2 % is crossed at 1005.1.
    #[test]
    fn inflight_at_loss() {
        let mut bbr = law(Flavour::Paper);
        bbr.rs = Sample { tx_in_flight: 1001.0, lost: 16.0, ..Sample::default() };
        assert!((bbr.inflight_at_loss(1.0) - 1005.102).abs() < 0.001);
    }

    /// Reno's time scale: a BDP of 40 is probed after 40 rounds, one of 5000 after 63 or two to three seconds.
    #[test]
    fn time_to_probe() {
        for (bdp, rounds) in [(40.0, 40), (5000.0, 63)] {
            let mut bbr = knows(bdp, State::Cruise);
            bbr.rounds_since_probe = rounds - 1;
            assert!(!bbr.is_time_to_probe(ms(1001.0)), "{bdp}");
            bbr.rounds_since_probe = rounds;
            assert!(bbr.is_time_to_probe(ms(1001.0)), "{bdp}");
        }
        let mut bbr = knows(5000.0, State::Cruise);
        let mut waits = vec![];
        for _ in 0..1000 {
            bbr.start_down(ms(1000.0));
            assert!(bbr.rounds_since_probe <= 1);
            waits.push(bbr.probe_wait.as_secs_f64());
        }
        let mean = waits.iter().sum::<f64>() / 1000.0;
        assert!(waits.iter().all(|w| (2.0..3.0).contains(w)) && (mean - 2.5).abs() < 0.05, "{mean}");
        bbr.rounds_since_probe = 0;
        let due = bbr.cycle_stamp + bbr.probe_wait;
        assert!(!bbr.is_time_to_probe(due) && bbr.is_time_to_probe(due + Duration(1)));
    }

    /// The initial window in the RTT, or in 1 ms, at 2.77.
    #[test]
    fn the_first_rate() {
        let mut bbr = law(Flavour::Paper);
        assert_eq!(bbr.pacing_rate().unwrap().0, (2.77 * 10.0 * SEGMENT / 0.001) as u64);
        bbr.on_ack(&AckEvent { now: ms(40.0), srtt: RTT, ..AckEvent::default() });
        assert_eq!(bbr.pacing_rate().unwrap().0, (2.77 * 10.0 * SEGMENT / 0.040) as u64);
    }

    /// DOWN, CRUISE, a round of REFILL, UP until the plateau, DOWN, and a round later the next cycle of max_bw.
    #[test]
    fn a_cycle() {
        let mut bbr = knows(100.0, State::Down);
        bbr.acks = Acks::ProbeStopping;
        let mut k = 0;
        let mut step = |bbr: &mut Bbr3, in_flight: u64| {
            k += 1;
            bbr.on_ack(&AckEvent { bytes_in_flight: in_flight * MSS, ..ack(100.0, k) });
            bbr.state
        };
        assert_eq!(step(&mut bbr, 130), State::Down, "a queue is left");
        assert_eq!((bbr.acks, bbr.cycle), (Acks::Init, 1));
        assert_eq!(step(&mut bbr, 100), State::Cruise);
        bbr.rounds_since_probe = 63;
        assert_eq!(step(&mut bbr, 100), State::Refill);
        assert_eq!((bbr.acks, bbr.is_bw_probe_sample), (Acks::Refilling, false));
        assert_eq!(step(&mut bbr, 100), State::Up);
        assert_eq!((bbr.acks, bbr.is_bw_probe_sample), (Acks::ProbeStarting, true));
        // Three rounds at the rate that REFILL had.
        assert_eq!(step(&mut bbr, 120), State::Up);
        assert_eq!(bbr.acks, Acks::ProbeFeedback);
        assert_eq!(step(&mut bbr, 125), State::Up);
        assert_eq!(step(&mut bbr, 125), State::Down);
        assert_eq!((bbr.acks, bbr.cycle, bbr.is_bw_probe_sample), (Acks::ProbeStopping, 1, true));
        step(&mut bbr, 125);
        assert_eq!((bbr.acks, bbr.cycle, bbr.is_bw_probe_sample), (Acks::Init, 2, false));
    }

    /// No matter how long: while the application limits it, neither Startup nor UP ends.
    #[test]
    fn application_limited_samples_end_no_search() {
        for state in [State::Startup, State::Up] {
            let mut bbr = knows(100.0, state);
            bbr.full_bw_reached = state == State::Up;
            for k in 1..100 {
                bbr.on_ack(&AckEvent { app_limited: true, rtt: None, ..ack(100.0, k) });
                assert_eq!(bbr.state, state, "{k}");
            }
        }
    }

    /// UP raises inflight_longterm by 1, 2, 4 … segments a round, while W is what limits it.
    #[test]
    fn the_slope_doubles_each_round() {
        let mut bbr = knows(1000.0, State::Up);
        (bbr.inflight_longterm, bbr.cwnd, bbr.cwnd_limited) = (100.0, 100.0, true);
        bbr.raise_longterm_slope();
        for grown in [101.0, 103.0, 107.0, 115.0] {
            for acked in 1..=100 {
                bbr.rounds.start = acked == 100;
                bbr.rs.newly_acked = 1.0;
                bbr.cwnd = 100.0_f64.max(bbr.inflight_longterm);
                let w = std::mem::replace(&mut bbr.cwnd, bbr.inflight_longterm);
                bbr.probe_longterm_upward();
                bbr.cwnd = w;
                bbr.up_acked_per_inc = bbr.up_acked_per_inc.min(100.0 / f64::from(1 << (bbr.up_rounds - 1)));
            }
            assert_eq!(bbr.inflight_longterm.floor(), grown);
        }
        bbr.cwnd_limited = false;
        let before = bbr.inflight_longterm;
        bbr.probe_longterm_upward();
        assert_eq!(bbr.inflight_longterm, before);
    }

    fn lost(in_flight: u64, lost: u64) -> LostEvent {
        LostEvent {
            now: ms(1100.0),
            bytes: MSS,
            sent: ms(1060.0),
            tx_in_flight: in_flight * MSS,
            prior_lost: 0,
            lost: lost * MSS,
            prior_delivered: 1,
            delivered: 2,
            app_limited: false,
        }
    }

    /// UP: more than 2 % lost of what was in flight bounds it where the threshold was crossed, but not below 0.7 of what is
    /// meant to be in flight; once per probe; and UP is over.
    #[test]
    fn too_much_loss_ends_a_probe() {
        let mut bbr = knows(100.0, State::Up);
        bbr.is_bw_probe_sample = true;
        bbr.on_lost(&lost(150, 3));
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Up, f64::INFINITY), "3 of 150 are 2 %");
        bbr.on_lost(&lost(150, 4));
        // (0.02 · 149 − 3) / 0.98 more than 149
        assert!((bbr.inflight_longterm - 148.9796).abs() < 1e-4, "{}", bbr.inflight_longterm);
        assert_eq!((bbr.state, bbr.acks, bbr.prev_probe_too_high), (State::Down, Acks::ProbeStopping, true));
        bbr.on_lost(&lost(120, 30));
        assert!((bbr.inflight_longterm - 148.9796).abs() < 1e-4, "once per probe");
        let mut bbr = knows(100.0, State::Up);
        bbr.is_bw_probe_sample = true;
        bbr.on_lost(&lost(50, 10));
        assert_eq!(bbr.inflight_longterm, 70.0);
        // Spurious: UP begins anew with REFILL, without the bound.
        bbr.on_undo(&UndoEvent { now: ms(1200.0) });
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Refill, f64::INFINITY));
    }

    /// After a probe that was too high the next one stops where it is risky, and, that being safe, goes on.
    #[test]
    fn precautionary_probing() {
        let mut bbr = knows(100.0, State::Up);
        (bbr.prev_probe_too_high, bbr.inflight_longterm) = (true, 110.0);
        let in_flight = |k, n| AckEvent { bytes_in_flight: n * MSS, ..ack(100.0, k) };
        bbr.on_ack(&in_flight(1, 109));
        assert_eq!(bbr.state, State::Up);
        bbr.on_ack(&in_flight(2, 110));
        assert_eq!((bbr.state, bbr.prev_probe_precautionary), (State::Down, true));
        bbr.on_ack(&in_flight(3, 110));
        assert_eq!((bbr.state, bbr.prev_probe_precautionary), (State::Refill, false));
    }

    /// Outside of probes a round with loss lowers the short-term model to what was delivered, or to 0.7 of what it was;
    /// REFILL forgets it.
    #[test]
    fn the_short_term_model() {
        for (rate, delivered, bw, inflight) in [(80.0, 90, 80.0, 140.0), (50.0, 190, 70.0, 190.0)] {
            let mut bbr = knows(100.0, State::Cruise);
            bbr.on_lost(&LostEvent { delivered: 1_000_000, ..lost(100, 1) });
            let ev = AckEvent {
                delivery_rate: Some(Rate((rate * SEGMENT / 0.040) as u64)),
                delivered: 1_000_000 + delivered * MSS,
                prior_delivered: 1_000_000,
                ..ack(100.0, 1)
            };
            bbr.on_ack(&ev);
            assert!((bbr.bw_shortterm - bw * SEGMENT / 0.040).abs() < 1e-3, "{}", bbr.bw_shortterm);
            assert!((bbr.inflight_shortterm - inflight).abs() < 1e-9, "{}", bbr.inflight_shortterm);
            assert_eq!((bbr.bw, bbr.loss_in_round), (bbr.bw_shortterm, false));
            bbr.start_refill();
            assert!(bbr.bw_shortterm.is_infinite() && bbr.inflight_shortterm.is_infinite());
        }
    }

    /// A round of recovery with 2 % lost in six places ends Startup, at what was delivered in a round.
    #[test]
    fn startup_ends_by_loss() {
        for (places, ends) in [(6, true), (5, false)] {
            let mut bbr = knows(100.0, State::Startup);
            bbr.full_bw_reached = false;
            bbr.bw *= 0.5;
            let losses = |k, lost: u64| AckEvent {
                phase: Phase::Recovery,
                lost: lost * MSS,
                lost_bytes: MSS,
                app_limited: true, // no plateau
                ..ack(100.0, k)
            };
            bbr.on_ack(&losses(1, 1));
            for n in 2..=places {
                bbr.on_ack(&AckEvent { prior_delivered: 0, delivered: 200 * MSS, ..losses(2, n) });
            }
            bbr.on_ack(&losses(3, places));
            assert_eq!(bbr.state != State::Startup, ends, "{places}");
            if ends {
                assert!(bbr.full_bw_reached && bbr.inflight_longterm >= 100.0);
                bbr.on_undo(&UndoEvent { now: ms(1200.0) });
                assert_eq!((bbr.state, bbr.full_bw_reached), (State::Startup, false));
            }
        }
    }

    /// Five seconds without a smaller RTT: W = BDP/2 for 200 ms and a round, then CRUISE, with the W of before.
    #[test]
    fn probe_rtt() {
        let mut bbr = knows(100.0, State::Cruise);
        bbr.probe_wait = Duration::from_secs(60);
        let at = |t, k, in_flight: u64| AckEvent { now: ms(t), bytes_in_flight: in_flight * MSS, ..ack(100.0, k) };
        bbr.on_ack(&at(6000.0, 1, 100));
        assert_eq!(bbr.state, State::Cruise);
        bbr.on_ack(&at(6000.1, 2, 100));
        assert_eq!((bbr.state, bbr.cwnd, bbr.prior_cwnd), (State::ProbeRtt, 50.0, 201.0));
        bbr.on_ack(&at(6040.0, 3, 51));
        assert_eq!(bbr.probe_rtt_done, None);
        bbr.on_ack(&at(6050.0, 4, 50));
        bbr.on_ack(&at(6250.0, 5, 50));
        assert_eq!(bbr.state, State::ProbeRtt);
        bbr.on_ack(&at(6250.1, 6, 50));
        assert_eq!((bbr.state, bbr.probe_rtt_min_stamp), (State::Cruise, ms(6250.1)));
        assert!((200.0..202.0).contains(&bbr.cwnd), "{}", bbr.cwnd);
    }

    /// min_rtt takes the larger RTT only after ten seconds, from ProbeRTT's of five.
    #[test]
    fn two_windows_of_the_rtt() {
        let mut bbr = knows(100.0, State::Cruise);
        let longer = Some(Duration::from_millis(60));
        bbr.update_min_rtt(&AckEvent { now: ms(6001.0), rtt: longer, ..AckEvent::default() });
        assert_eq!((bbr.probe_rtt_min, bbr.min_rtt), (longer, Some(RTT)));
        bbr.update_min_rtt(&AckEvent { now: ms(11_001.0), rtt: longer, ..AckEvent::default() });
        assert_eq!((bbr.min_rtt, bbr.min_rtt_stamp), (longer, ms(6001.0)));
    }

    /// Timeout: one more than in flight; after recovery W as it was, within the model.
    #[test]
    fn a_timeout() {
        let mut bbr = knows(100.0, State::Cruise);
        bbr.on_timeout(&TimeoutEvent { now: ms(1050.0), flight_size: 100 * MSS, first: true });
        assert_eq!(bbr.cwnd, 1.0);
        let loss = AckEvent { phase: Phase::Loss, prior_in_flight: 6 * MSS, bytes_in_flight: 5 * MSS, ..ack(100.0, 1) };
        bbr.on_ack(&loss);
        assert_eq!(bbr.cwnd, 7.0);
        bbr.on_recovered(&RecoveredEvent { now: ms(1100.0), phase: Phase::Loss });
        bbr.on_ack(&ack(100.0, 2));
        assert_eq!(bbr.cwnd, 201.0); // and what came in excess of bw
    }
}
