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

mod control;
mod drain;
mod loss;
mod path;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use self::loss::{Ended, Undo};
use self::path::{EXTRA_ACKED_ROUNDS, MAX_BW_CYCLES};
use self::probe_bw::{Acks, Slope};
use self::probe_rtt::ProbeRtt;
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

/// What a decrease leaves at least (§5.5.10).
const BETA: f64 = 0.7;
/// Least W, segments.
const MIN_PIPE: f64 = 4.0;

/// What it is doing, and what belongs to that alone.
#[derive(Clone, Copy, Debug)]
enum State {
    Startup,
    /// Since this round.
    Drain(u64),
    Down,
    Cruise,
    Refill,
    Up(Slope),
    ProbeRtt(ProbeRtt),
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up(_))
    }
    /// Accelerating: losses are for the long-term model to judge.
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up(_))
    }
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
    undo: Undo,
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
            undo: Undo::default(),
        };
        bbr.init_pacing(Duration::from_millis(1));
        bbr
    }

    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.segment
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
}

impl CongestionControl for Bbr3 {
    fn on_established(&mut self, ev: &EstablishedEvent) {
        self.probe_rtt_min_stamp = ev.now;
        self.min_rtt_stamp = ev.now;
    }

    fn on_ack(&mut self, ev: &AckEvent) {
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

    /// §5.6.4.4: one segment more than is in flight.
    fn on_timeout(&mut self, ev: &TimeoutEvent) {
        self.save_state_upon_loss();
        self.phase = Phase::Loss;
        self.cwnd = self.segments(ev.in_flight) + 1.0;
    }

    fn on_recovered(&mut self, ev: &RecoveredEvent) {
        if matches!(ev.phase, Phase::Recovery | Phase::Loss) {
            self.restore_cwnd();
        }
    }

    fn on_undo(&mut self, _ev: &UndoEvent) {
        self.take_back();
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
        } else if let State::ProbeRtt(probe) = self.state {
            self.check_probe_rtt_done(probe, ev.now);
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
        let state = match self.state {
            State::Startup => 0.0,
            State::Drain(_) => 1.0,
            State::Down => 2.0,
            State::Cruise => 3.0,
            State::Refill => 4.0,
            State::Up(_) => 5.0,
            State::ProbeRtt(_) => 6.0,
        };
        record("state", state);
        record("max_bw_bps", self.max_bw.get());
        record("bw_bps", self.bw);
        record("min_rtt_s", self.min_rtt.map_or(f64::NAN, Duration::as_secs_f64));
        record("inflight_longterm_segments", known(self.inflight_longterm));
        record("inflight_shortterm_segments", known(self.inflight_shortterm));
    }
}
