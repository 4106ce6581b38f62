//! BBR, version 1: send at the bottleneck's rate, keep about one bandwidth-delay product in flight.
//!
//! Source: N. Cardwell, Y. Cheng, C.S. Gunn, S.H. Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control", ACM
//! Queue 14(5), 2016, and draft-cardwell-iccrg-bbr-congestion-control-00 (2017); Linux `tcp_bbr.c` (6.12).
//!
//! The model of the path is two numbers. BtlBw is the largest delivery rate of the last ten rounds, RTprop the smallest
//! RTT of the last ten seconds, and BDP = BtlBw · RTprop. What is sent follows from it:
//!
//! > pacing rate = pacing_gain · BtlBw,  W = cwnd_gain · BDP + a little for delayed and stretched ACKs.
//!
//! | state | pacing gain | cwnd gain | left when |
//! |---|---|---|---|
//! | STARTUP | 2/ln 2 | 2/ln 2 | BtlBw grew by less than a quarter in three rounds |
//! | DRAIN | ln 2/2 | 2/ln 2 | in flight ≤ BDP |
//! | PROBE_BW | 1.25, 0.75, 1, 1, 1, 1, 1, 1 | 2 | |
//! | PROBE_RTT | 1 | W = 4 | 200 ms and a round with that |
//!
//! Linux and the paper: Linux paces 1 % slower, adds to W what ACKs came in excess, and falls back to a measured rate
//! where it believes to meet a policer; the paper has none of this. An RTT equal to RTprop renews it in the draft of
//! 2017, and does not in Linux since 5.11 (so that PROBE_RTT comes every ten seconds also where the queue is often empty).
//!
//! Where we depart from Linux: no segmentation offload, so its quantum is at its least (one segment below 1.2 Mbit/s,
//! else two); BtlBw's window is exact where Linux keeps three candidates; RTprop starts with data, not with the SYN.

use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, EstablishedEvent, IdleEvent, Phase,
    RestartEvent, TimeoutEvent, UndoEvent,
};
use crate::estimate::{Bubble, MaxFilter, Rounds};
use crate::params::{Flavour, Kind, Params, Spec, Value};
use crate::rng::Stream;
use crate::units::{Duration, Rate, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "bbr",
    summary: "BBRv1: paces at the measured bottleneck rate, keeps about one BDP in flight",
    source: "Cardwell et al., ACM Queue 14(5), 2016; Linux tcp_bbr.c",
    params: &[
        Spec {
            name: "pacing_margin",
            kind: Kind::Number { min: 0.0, max: 50.0 },
            default: Value::Number(1.0),
            paper_default: Some(Value::Number(0.0)),
            unit: "%",
            doc: "by so much the pacing rate stays below gain · BtlBw",
        },
        Spec {
            name: "extra_acked",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: Some(Value::Flag(false)),
            unit: "",
            doc: "W has room for the most that was acknowledged in excess of BtlBw in the last five to ten rounds",
        },
        Spec {
            name: "policer",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: Some(Value::Flag(false)),
            unit: "",
            doc: "detect a token-bucket policer by steady loss of 20 %, and send at the rate it lets through",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Bbr::new(cx, params))),
};

/// Pacing gains of PROBE_BW, each for about one RTprop.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// cwnd gain of PROBE_BW.
const CWND_GAIN: f64 = 2.0;
/// Window of BtlBw: a cycle and two rounds. Linux keeps what is ten rounds old.
const BTL_BW_ROUNDS: u64 = 11;
/// Least W outside of a timeout, segments.
const MIN_WINDOW: f64 = 4.0;
/// Window of RTprop.
const RT_PROP_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// STARTUP goes on while BtlBw grows by a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Rounds in each of the two windows of the excess of ACKs.
const EXTRA_ROUNDS: u32 = 5;
/// No more excess than this much of BtlBw.
const EXTRA_MOST: Duration = Duration::from_millis(100);
/// Linux forgets an ACK epoch after 2²⁰ segments.
const EPOCH_MOST: f64 = (1_u64 << 20) as f64;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    /// With the place in [`CYCLE`].
    ProbeBw(usize),
    ProbeRtt,
}

/// BBRv1's law. Rates in bit/s, volumes in segments.
pub struct Bbr {
    /// Payload of a segment, bits.
    segment: f64,
    initial_window: f64,
    startup_gain: f64,
    drain_gain: f64,
    margin: f64,
    /// An RTT equal to RTprop renews it.
    renew_equal: bool,
    rng: Stream,

    state: State,
    cwnd: f64,
    pacing_rate: f64,
    /// The pacing rate is by a measured RTT.
    seen_rtt: bool,

    rounds: Rounds,
    btl_bw: MaxFilter<{ BTL_BW_ROUNDS as usize }>,
    rt_prop: Option<Duration>,
    rt_prop_stamp: Time,
    bubble: Bubble,

    full_bw: f64,
    full_count: u32,
    full_pipe: bool,
    cycle_stamp: Time,
    /// PROBE_RTT has W packets in flight since, and may end then.
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    /// Recovery's phase at the last ACK or timeout.
    phase: Phase,
    conserve: bool,
    /// W before recovery or PROBE_RTT.
    prior_cwnd: f64,
    /// W was cut to one segment; what is in flight beside it is not known before the next ACK.
    timed_out: bool,

    extra: Option<Extra>,
    policer: Option<Policer>,
}

impl Bbr {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        let linux = cx.flavour == Flavour::Linux;
        let high = 2.0 / std::f64::consts::LN_2;
        let mut bbr = Bbr {
            segment: f64::from(cx.mss) * 8.0,
            initial_window: f64::from(cx.initial_window),
            // Linux counts gains in 1/256.
            startup_gain: if linux { 739.0 / 256.0 } else { high },
            drain_gain: if linux { 88.0 / 256.0 } else { 1.0 / high },
            margin: 1.0 - params.number("pacing_margin") / 100.0,
            renew_equal: !linux,
            rng: cx.rng.clone(),
            state: State::Startup,
            cwnd: f64::from(cx.initial_window),
            pacing_rate: 0.0,
            seen_rtt: false,
            rounds: Rounds::default(),
            btl_bw: MaxFilter::default(),
            rt_prop: None,
            rt_prop_stamp: Time::ZERO,
            bubble: Bubble::default(),
            full_bw: 0.0,
            full_count: 0,
            full_pipe: false,
            cycle_stamp: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            phase: Phase::Open,
            conserve: false,
            prior_cwnd: 0.0,
            timed_out: false,
            extra: params.flag("extra_acked").then(Extra::default),
            policer: params.flag("policer").then(Policer::default),
        };
        bbr.init_pacing(Duration::from_millis(1));
        bbr
    }

    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.segment
    }

    /// The rate to go by: BtlBw, or what a policer lets through.
    fn bw(&self) -> f64 {
        self.policer.as_ref().and_then(|p| p.rate).unwrap_or_else(|| self.btl_bw.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.startup_gain,
            State::Drain => self.drain_gain,
            State::ProbeBw(_) if self.policer.as_ref().is_some_and(|p| p.rate.is_some()) => 1.0,
            State::ProbeBw(place) => CYCLE[place],
            State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => self.startup_gain,
            State::ProbeBw(_) => CWND_GAIN,
            State::ProbeRtt => 1.0,
        }
    }

    /// gain · bw · RTprop in whole segments, rounded up.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.rt_prop.map_or(self.initial_window, |rtt| (gain * bw * rtt.as_secs_f64() / self.segment).ceil())
    }

    /// Room for three quanta (sender, receiver, and the ACK on its way), in pairs of segments for delayed ACKs, and two
    /// more to probe with.
    fn with_quanta(&self, window: f64) -> f64 {
        let quantum = if self.pacing_rate < 1.2e6 { 1.0 } else { 2.0 };
        let even = ((window + 3.0 * quantum) / 2.0).ceil() * 2.0;
        even + if self.state == State::ProbeBw(0) { 2.0 } else { 0.0 }
    }

    /// What should be in flight at `gain`.
    fn inflight(&self, gain: f64) -> f64 {
        self.with_quanta(self.bdp(self.btl_bw.get(), gain))
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw() * self.margin;
        if self.full_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Before there is a rate: the initial window in an RTT, at STARTUP's gain.
    fn init_pacing(&mut self, rtt: Duration) {
        self.pacing_rate = self.startup_gain * self.initial_window * self.segment * self.margin / rtt.as_secs_f64();
    }

    fn update_bw(&mut self, ev: &AckEvent, app_limited: bool) {
        self.rounds.start = false;
        let Some(rate) = ev.delivery_rate else { return };
        self.rounds.on_ack(ev.prior_delivered, ev.delivered);
        self.conserve &= !self.rounds.start;
        let probing_bw = matches!(self.state, State::ProbeBw(_));
        let round_start = self.rounds.start;
        if self.policer.as_mut().is_some_and(|p| p.on_sample(ev, round_start, app_limited, probing_bw)) {
            self.enter_probe_bw(ev.now);
        }
        let rate = rate.as_bps_f64();
        if rate >= self.btl_bw.get() || !app_limited {
            self.btl_bw.update(self.rounds.count, rate, BTL_BW_ROUNDS);
        }
    }

    fn update_extra(&mut self, ev: &AckEvent) {
        let acked = self.segments(ev.delivered_bytes);
        let (bw, cwnd, round_start) = (self.bw() / self.segment, self.cwnd, self.rounds.start);
        if let Some(extra) = self.extra.as_mut().filter(|_| ev.delivery_rate.is_some() && acked > 0.0) {
            extra.on_ack(ev.now, acked, bw, cwnd, round_start);
        }
    }

    /// PROBE_BW's next gain, when this one had its time.
    fn update_cycle(&mut self, ev: &AckEvent) {
        let State::ProbeBw(place) = self.state else { return };
        let full_length = self.rt_prop.is_some_and(|rtt| ev.now.since(self.cycle_stamp) > rtt);
        let in_flight = self.segments(ev.prior_in_flight);
        let over = match CYCLE[place] {
            // Above 1: until the pipe holds what it was to hold, or cannot.
            1.25 => full_length && (ev.lost_bytes > 0 || in_flight >= self.inflight(1.25)),
            // Below 1: until the queue is gone.
            0.75 => full_length || in_flight <= self.inflight(1.0),
            _ => full_length,
        };
        if over {
            self.state = State::ProbeBw((place + 1) % CYCLE.len());
            self.cycle_stamp = ev.now;
        }
    }

    fn enter_probe_bw(&mut self, now: Time) {
        // Anywhere but at 0.75: there is nothing to drain.
        let place = (7 - self.rng.below(7) as usize + 1) % CYCLE.len();
        self.state = State::ProbeBw(place);
        self.cycle_stamp = now;
    }

    fn check_full_pipe(&mut self, app_limited: bool) {
        if self.full_pipe || !self.rounds.start || app_limited {
            return;
        }
        if self.btl_bw.get() >= FULL_GROWTH * self.full_bw {
            self.full_bw = self.btl_bw.get();
            self.full_count = 0;
            return;
        }
        self.full_count += 1;
        self.full_pipe = self.full_count >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, ev: &AckEvent) {
        if self.state == State::Startup && self.full_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && self.segments(ev.bytes_in_flight) <= self.inflight(1.0) {
            self.enter_probe_bw(ev.now);
        }
    }

    /// RTprop, and PROBE_RTT when it is old.
    fn update_rt_prop(&mut self, ev: &AckEvent) {
        let expired = ev.now > self.rt_prop_stamp + RT_PROP_WINDOW;
        if let Some(rtt) = ev.rtt {
            // The ACK of a lone small segment may have been delayed: it is no measure for an expired RTprop.
            let delayed = ev.prior_in_flight == ev.acked_bytes && (ev.acked_bytes as f64) * 8.0 < self.segment;
            let smaller = self.rt_prop.is_none_or(|old| rtt < old || (self.renew_equal && rtt == old));
            if smaller || (expired && !delayed) {
                self.rt_prop = Some(rtt);
                self.rt_prop_stamp = ev.now;
            }
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt && self.rt_prop.is_some() {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
        }
        if self.state == State::ProbeRtt {
            self.probe_rtt(ev);
        }
        if ev.delivered_bytes > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, ev: &AckEvent) {
        self.bubble.mark(ev.delivered, ev.bytes_in_flight);
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.rounds.start;
            if self.probe_rtt_round_done {
                self.leave_probe_rtt(ev.now);
            }
        } else if self.segments(ev.bytes_in_flight) <= MIN_WINDOW {
            self.probe_rtt_done = Some(ev.now + PROBE_RTT_TIME);
            self.probe_rtt_round_done = false;
            self.rounds.begin(ev.delivered);
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.rt_prop_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }

    fn save_cwnd(&mut self) {
        let cut = matches!(self.phase, Phase::Recovery | Phase::Loss) || self.state == State::ProbeRtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// In recovery: what was lost is not in flight, and for a round no more leaves than was delivered. After it, W as
    /// it was. Whether packets are conserved.
    fn recover(&mut self, ev: &AckEvent, acked: f64) -> bool {
        let in_recovery = |phase| matches!(phase, Phase::Recovery | Phase::Loss);
        let in_flight = self.segments(ev.bytes_in_flight);
        let before = std::mem::replace(&mut self.phase, ev.phase);
        self.cwnd = (self.cwnd - self.segments(ev.lost_bytes)).max(1.0);
        if ev.phase == Phase::Recovery && before != Phase::Recovery {
            self.conserve = true;
            self.rounds.begin(ev.delivered);
            self.cwnd = in_flight + acked;
        } else if in_recovery(before) && !in_recovery(ev.phase) {
            self.conserve = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        if self.conserve {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
        self.conserve
    }

    fn set_cwnd(&mut self, ev: &AckEvent) {
        let acked = self.segments(ev.delivered_bytes);
        if acked > 0.0 && !self.recover(ev, acked) {
            let extra = match &self.extra {
                Some(extra) if self.full_pipe => {
                    extra.most().min((self.bw() * EXTRA_MOST.as_secs_f64() / self.segment).ceil())
                }
                _ => 0.0,
            };
            let target = self.with_quanta(self.bdp(self.bw(), self.cwnd_gain()) + extra);
            if self.full_pipe {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || self.segments(ev.delivered) < self.initial_window {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_WINDOW);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_WINDOW);
        }
    }
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, ev: &EstablishedEvent) {
        self.rt_prop_stamp = ev.now;
    }

    fn on_ack(&mut self, ev: &AckEvent) {
        if std::mem::take(&mut self.timed_out) {
            self.cwnd = self.cwnd.max(self.segments(ev.prior_in_flight));
        }
        let app_limited = ev.app_limited || self.bubble.covers(ev.prior_delivered);
        self.update_bw(ev, app_limited);
        self.update_extra(ev);
        self.update_cycle(ev);
        self.check_full_pipe(app_limited);
        self.check_drain(ev);
        self.update_rt_prop(ev);
        if !self.seen_rtt && ev.srtt > Duration::ZERO {
            self.seen_rtt = true;
            self.init_pacing(ev.srtt);
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ev);
    }

    /// No decrease: what the path carries is measured. (Nor is ECN listened to.)
    fn on_congestion(&mut self, _ev: &CongestionEvent) {
        self.save_cwnd();
    }

    /// One segment more than in flight, until recovery ends; the pipe may have become smaller.
    fn on_timeout(&mut self, _ev: &TimeoutEvent) {
        self.save_cwnd();
        self.phase = Phase::Loss;
        self.full_bw = 0.0;
        self.cwnd = 1.0;
        self.timed_out = true;
    }

    /// The plateau was not one, nor the losses. W comes back with the end of recovery.
    fn on_undo(&mut self, _ev: &UndoEvent) {
        self.full_bw = 0.0;
        self.full_count = 0;
        if let Some(policer) = &mut self.policer {
            *policer = Policer { lost: policer.lost, ..Policer::default() };
        }
    }

    fn on_restart(&mut self, ev: &RestartEvent) {
        self.cwnd = self.cwnd.min(self.segments(ev.cwnd)).max(1.0);
    }

    /// The pipe is filled again at exactly BtlBw.
    fn on_idle(&mut self, ev: &IdleEvent) {
        if !ev.app_limited {
            return;
        }
        self.idle_restart = true;
        if let Some(extra) = &mut self.extra {
            extra.begin(ev.now);
        }
        match self.state {
            State::ProbeBw(_) => self.set_pacing_rate(1.0),
            State::ProbeRtt => self.leave_probe_rtt(ev.now),
            _ => {}
        }
    }

    fn cwnd(&self) -> u64 {
        (self.cwnd * self.segment / 8.0) as u64
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
    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let state = match self.state {
            State::Startup => 0.0,
            State::Drain => 1.0,
            State::ProbeBw(_) => 2.0,
            State::ProbeRtt => 3.0,
        };
        record("state", state);
        record("btl_bw_bps", self.btl_bw.get());
        record("rt_prop_s", self.rt_prop.map_or(f64::NAN, Duration::as_secs_f64));
        record("pacing_gain", self.pacing_gain());
    }
}

/// What was acknowledged in excess of BtlBw: the largest of the last five to ten rounds. Volumes in segments.
#[derive(Clone, Debug, Default)]
struct Extra {
    /// Acknowledged since.
    epoch: Time,
    acked: f64,
    /// Largest of this window of five rounds and of the one before.
    most: [f64; 2],
    current: usize,
    rounds: u32,
}

impl Extra {
    /// A new epoch of ACKs.
    fn begin(&mut self, now: Time) {
        self.epoch = now;
        self.acked = 0.0;
    }

    /// `bw` in segments per second.
    fn on_ack(&mut self, now: Time, acked: f64, bw: f64, cwnd: f64, round_start: bool) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= EXTRA_ROUNDS {
                self.rounds = 0;
                self.current ^= 1;
                self.most[self.current] = 0.0;
            }
        }
        let mut expected = bw * now.since(self.epoch).as_secs_f64();
        if self.acked <= expected || self.acked + acked >= EPOCH_MOST {
            self.begin(now);
            expected = 0.0;
        }
        self.acked += acked;
        let extra = (self.acked - expected).min(cwnd);
        self.most[self.current] = self.most[self.current].max(extra);
    }

    fn most(&self) -> f64 {
        self.most[0].max(self.most[1])
    }
}

/// Rounds in an interval, at least and at most.
const POLICER_ROUNDS: std::ops::RangeInclusive<u32> = 4..=16;
/// Share lost, of what was delivered, that makes an interval suspect.
const POLICER_LOSS: f64 = 50.0 / 256.0;
/// Two rates are the same when they differ by no more than this share, or this many bit/s.
const POLICER_RATIO: f64 = 1.0 / 8.0;
const POLICER_DIFFERENCE: f64 = 4000.0;
/// Rounds for which the policer's rate is used.
const POLICER_USE: u32 = 48;

/// Looks for a policer: two intervals in a row, each of four to sixteen rounds from loss to loss, with the same rate of
/// delivery and 20 % loss.
#[derive(Clone, Debug, Default)]
struct Policer {
    /// What it lets through, bit/s, once that is believed.
    rate: Option<f64>,
    sampling: bool,
    rounds: u32,
    /// Rate of the interval before, bit/s.
    previous: Option<f64>,
    began: Time,
    began_delivered: u64,
    began_lost: u64,
    /// As of the last sample.
    lost: u64,
}

impl Policer {
    fn begin_interval(&mut self, ev: &AckEvent) {
        self.began = ev.now;
        self.began_delivered = ev.delivered;
        self.began_lost = ev.lost;
        self.rounds = 0;
    }

    fn start_over(&mut self, ev: &AckEvent) {
        self.rate = None;
        self.previous = None;
        self.sampling = false;
        self.begin_interval(ev);
    }

    /// Takes in a sample; whether its rate was in use for long enough, so that BtlBw is to be probed for again.
    fn on_sample(&mut self, ev: &AckEvent, round_start: bool, app_limited: bool, probing_bw: bool) -> bool {
        let loss = ev.lost > std::mem::replace(&mut self.lost, ev.lost);
        if self.rate.is_some() {
            self.rounds += u32::from(probing_bw && round_start);
            let enough = self.rounds >= POLICER_USE;
            if enough {
                self.start_over(ev);
            }
            return enough;
        }
        if !self.sampling {
            if !loss {
                return false;
            }
            self.begin_interval(ev);
            self.sampling = true;
        }
        if app_limited {
            self.start_over(ev);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < *POLICER_ROUNDS.start() {
            return false;
        }
        if self.rounds > *POLICER_ROUNDS.end() {
            self.start_over(ev);
            return false;
        }
        if loss {
            self.end_interval(ev);
        }
        false
    }

    fn end_interval(&mut self, ev: &AckEvent) {
        let (lost, delivered) = (ev.lost - self.began_lost, ev.delivered - self.began_delivered);
        let took = ev.now.since(self.began);
        if delivered == 0 || (lost as f64) < POLICER_LOSS * delivered as f64 || took < Duration::from_millis(1) {
            return;
        }
        let rate = delivered as f64 * 8.0 / took.as_secs_f64();
        if let Some(previous) = self.previous {
            let difference = (rate - previous).abs();
            if difference <= POLICER_RATIO * previous || difference <= POLICER_DIFFERENCE {
                self.rate = Some((rate + previous) / 2.0);
                self.rounds = 0;
                return;
            }
        }
        self.previous = Some(rate);
        self.begin_interval(ev);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1500;

    fn law(flavour: Flavour) -> Bbr {
        let params = Params::resolve(ENTRY.params, &[], flavour).unwrap();
        Bbr::new(&Context { flavour, ..Context::new(MSS as u32) }, &params)
    }

    fn ms(t: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(t / 1000.0)
    }

    /// An ACK of one segment at `t` ms that begins a round; 40 ms, 10 Mbit/s, 33 segments in flight.
    fn ack(t: f64) -> AckEvent {
        AckEvent {
            now: ms(t),
            acked_bytes: MSS,
            delivered_bytes: MSS,
            rtt: Some(Duration::from_millis(40)),
            srtt: Duration::from_millis(40),
            delivery_rate: Some(Rate(10_000_000)),
            bytes_in_flight: 33 * MSS,
            prior_in_flight: 34 * MSS,
            delivered: 1 << 40,
            prior_delivered: (1 << 40) - 1,
            ..AckEvent::default()
        }
    }

    /// A law that knows the path of the vectors (10 Mbit/s, 40 ms), in PROBE_BW at `place` since `t` = 1000 ms.
    fn knows_the_path(place: usize) -> Bbr {
        let mut bbr = law(Flavour::Linux);
        bbr.btl_bw.update(0, 10e6, BTL_BW_ROUNDS);
        bbr.rt_prop = Some(Duration::from_millis(40));
        bbr.rt_prop_stamp = ms(1000.0);
        bbr.full_pipe = true;
        bbr.state = State::ProbeBw(place);
        bbr.cycle_stamp = ms(1000.0);
        bbr.seen_rtt = true;
        bbr.rounds.begin(1 << 40); // no round begins
        bbr
    }

    /// 10 Mbit/s, 40 ms, 1500 bytes: BDP 33.3 segments, W 66.7, pacing 12.375, 7.425 and 9.9 Mbit/s.
    #[test]
    fn window_and_pacing_follow_the_model() {
        for (place, rate, w) in [(0, 12_375_000, 76.0), (1, 7_425_000, 74.0), (2, 9_900_000, 74.0)] {
            let mut bbr = knows_the_path(place);
            assert_eq!((bbr.bdp(10e6, 1.0), bbr.bdp(10e6, CWND_GAIN)), (34.0, 67.0)); // whole segments, rounded up
            bbr.cwnd = 200.0;
            bbr.on_ack(&AckEvent { prior_in_flight: 60 * MSS, ..ack(1000.0) });
            assert_eq!((bbr.pacing_rate(), bbr.cwnd), (Some(Rate(rate)), w), "{place}");
        }
    }

    /// W grows by what is delivered, up to the target, once the pipe is full; before, as slow start.
    #[test]
    fn the_window_grows_by_what_is_delivered() {
        let mut bbr = knows_the_path(2);
        bbr.cwnd = 20.0;
        bbr.on_ack(&AckEvent { delivered_bytes: 3 * MSS, ..ack(1000.0) });
        assert_eq!(bbr.cwnd, 23.0);
        bbr.full_pipe = false;
        bbr.state = State::Startup;
        bbr.cwnd = 500.0;
        bbr.on_ack(&ack(1001.0));
        assert_eq!(bbr.cwnd, 500.0, "above the target it stays");
    }

    /// Round maxima 10, 12, 12.2, 12.4: three rounds below 12.5, so the pipe is full after the fourth; 12.5 is growth.
    #[test]
    fn the_plateau() {
        for (rates, full) in [(vec![10.0, 12.0, 12.2, 12.4], 4), (vec![10.0, 12.5, 12.6, 12.7, 12.8], 5)] {
            let mut bbr = law(Flavour::Linux);
            for (k, rate) in rates.iter().enumerate() {
                let delivered = (k as u64 + 1) * 100_000;
                let rate = Some(Rate((rate * 1e6) as u64));
                let ev = AckEvent {
                    delivery_rate: rate,
                    bytes_in_flight: 100 * MSS,
                    delivered,
                    prior_delivered: delivered - 100_000,
                    ..ack(k as f64 * 40.0)
                };
                bbr.on_ack(&ev);
                assert_eq!(bbr.full_pipe, k + 1 >= full, "{rates:?}: {k}");
            }
            assert_eq!(bbr.state, State::Drain);
        }
    }

    /// A sample below BtlBw that the application limited neither lowers it nor counts for the plateau.
    #[test]
    fn application_limited_samples_only_raise() {
        let mut bbr = law(Flavour::Linux);
        for k in 1..30 {
            let rate = if k == 1 { 10_000_000 } else { 5_000_000 };
            let delivered = k * 100_000;
            bbr.on_ack(&AckEvent {
                delivery_rate: Some(Rate(rate)),
                app_limited: k > 1,
                delivered,
                prior_delivered: delivered - 100_000,
                ..ack(k as f64 * 40.0)
            });
        }
        assert_eq!((bbr.btl_bw.get(), bbr.full_pipe), (10e6, false));
        bbr.on_ack(&AckEvent { delivery_rate: Some(Rate(11_000_000)), app_limited: true, ..ack(2000.0) });
        assert_eq!(bbr.btl_bw.get(), 11e6);
    }

    /// Before the first RTT: the initial window in 1 ms; then in the RTT; both at STARTUP's gain, less 1 %.
    #[test]
    fn the_first_rate_is_the_initial_window_per_rtt() {
        let mut bbr = law(Flavour::Linux);
        let initial = 739.0 / 256.0 * 0.99 * 10.0 * 12000.0 / 0.001;
        assert_eq!(bbr.pacing_rate().unwrap().0, initial as u64);
        let handshake = AckEvent { now: ms(40.0), srtt: Duration::from_millis(40), ..AckEvent::default() };
        bbr.on_ack(&handshake);
        assert!((bbr.pacing_rate / (initial / 40.0) - 1.0).abs() < 1e-12);
        assert_eq!((bbr.cwnd, bbr.rounds.count), (10.0, 0));
    }

    /// The cycle begins anywhere but at 0.75.
    #[test]
    fn the_cycle_begins_at_random() {
        let mut bbr = knows_the_path(0);
        let mut seen = [0; 8];
        for _ in 0..1000 {
            bbr.enter_probe_bw(ms(0.0));
            let State::ProbeBw(place) = bbr.state else { unreachable!() };
            seen[place] += 1;
        }
        assert_eq!(seen[1], 0);
        // 1000/7 each, standard deviation 11
        assert!(seen.iter().enumerate().all(|(k, &n)| k == 1 || (90..=200).contains(&n)), "{seen:?}");
    }

    /// 1.25 lasts for RTprop and until 1.25 BDP are in flight or a loss; 0.75 for RTprop or until BDP is; 1 for RTprop.
    #[test]
    fn when_the_gain_changes() {
        // place, ms since its begin, segments in flight before the ACK, lost, changes
        let cases = [
            (0, 41.0, 50, 0, true), // 1.25 · 33.3, rounded up, and the quanta: 48 + 2
            (0, 41.0, 49, 0, false),
            (0, 41.0, 40, 1, true),
            (0, 40.0, 60, 1, false),
            (1, 1.0, 40, 0, true), // 34 and the quanta
            (1, 1.0, 41, 0, false),
            (1, 41.0, 60, 0, true),
            (2, 40.0, 10, 0, false),
            (2, 41.0, 60, 0, true),
        ];
        for (place, t, in_flight, lost, changes) in cases {
            let mut bbr = knows_the_path(place);
            bbr.on_ack(&AckEvent { prior_in_flight: in_flight * MSS, lost_bytes: lost * MSS, ..ack(1000.0 + t) });
            assert_eq!(bbr.state == State::ProbeBw(place + 1), changes, "{place} {t} {in_flight} {lost}");
        }
    }

    /// A smaller RTT renews RTprop; an equal one does in the draft only; after ten seconds any, but for a delayed ACK's.
    #[test]
    fn rt_prop_is_renewed() {
        // RTT (ms), at (ms), of a lone small segment, flavour, renewed
        let cases = [
            (39, 2000.0, false, Flavour::Linux, true),
            (40, 2000.0, false, Flavour::Linux, false),
            (40, 2000.0, false, Flavour::Paper, true),
            (50, 2000.0, false, Flavour::Paper, false),
            (50, 11_001.0, false, Flavour::Linux, true),
            (50, 11_001.0, true, Flavour::Linux, false),
        ];
        for (rtt, t, lone, flavour, renewed) in cases {
            let mut bbr = Bbr { renew_equal: flavour == Flavour::Paper, ..knows_the_path(2) };
            let small = |ev| AckEvent { acked_bytes: 100, prior_in_flight: 100, ..ev };
            let ev = AckEvent { rtt: Some(Duration::from_millis(rtt)), ..ack(t) };
            bbr.on_ack(&if lone { small(ev) } else { ev });
            assert_eq!(bbr.rt_prop_stamp == ms(t), renewed, "{rtt} {t} {lone} {flavour:?}");
            assert_eq!(bbr.rt_prop, Some(Duration::from_millis(if renewed { rtt } else { 40 })));
        }
    }

    /// W = 4 until 200 ms and a round after it took hold; then W as it was, and samples from within do not count.
    #[test]
    fn probe_rtt() {
        let mut bbr = knows_the_path(2);
        bbr.cwnd = 74.0;
        let start = 1 << 40;
        bbr.on_ack(&ack(11_001.0));
        assert_eq!((bbr.state, bbr.cwnd, bbr.prior_cwnd), (State::ProbeRtt, 4.0, 74.0));
        let at = |t, in_flight: u64, delivered: u64, prior: u64| AckEvent {
            bytes_in_flight: in_flight * MSS,
            delivered: start + delivered * MSS,
            prior_delivered: start + prior * MSS,
            ..ack(t)
        };
        bbr.on_ack(&at(11_020.0, 5, 10, 1));
        assert_eq!(bbr.probe_rtt_done, None);
        bbr.on_ack(&at(11_030.0, 4, 20, 2));
        assert_eq!(bbr.probe_rtt_done, Some(ms(11_230.0)));
        bbr.on_ack(&at(11_231.0, 4, 24, 19));
        assert_eq!(bbr.state, State::ProbeRtt, "no round yet");
        bbr.on_ack(&AckEvent { delivery_rate: Some(Rate(1_000_000)), ..at(11_232.0, 4, 25, 20) });
        assert!(matches!(bbr.state, State::ProbeBw(_)));
        assert_eq!((bbr.rt_prop_stamp, bbr.btl_bw.get()), (ms(11_232.0), 10e6));
        assert!(bbr.cwnd >= 74.0);
    }

    /// No PROBE_RTT where the sender restarts from idle: nothing is in the queue. It paces at BtlBw.
    #[test]
    fn a_restart_from_idle() {
        let mut bbr = knows_the_path(0);
        let idle = Duration::from_secs(60);
        let event = IdleEvent { now: ms(61_000.0), idle, app_limited: false };
        bbr.on_idle(&event);
        assert!(!bbr.idle_restart, "the receiver had no room: RTprop may be old");
        bbr.on_idle(&IdleEvent { app_limited: true, ..event });
        assert_eq!((bbr.pacing_rate, bbr.cwnd), (9.9e6, 10.0));
        bbr.on_ack(&ack(61_040.0));
        assert!(matches!(bbr.state, State::ProbeBw(_)) && !bbr.idle_restart);
    }

    /// Recovery begins with packet conservation for a round; losses come off W; its end brings W back.
    #[test]
    fn recovery_conserves_packets_for_a_round() {
        let mut bbr = knows_the_path(2);
        bbr.cwnd = 74.0;
        let congestion = CongestionEvent {
            now: ms(1000.0),
            signal: super::super::Signal::Loss,
            flight_size: 60 * MSS,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
        };
        bbr.on_congestion(&congestion);
        let recovery =
            AckEvent { phase: Phase::Recovery, lost_bytes: 3 * MSS, bytes_in_flight: 50 * MSS, ..ack(1001.0) };
        bbr.on_ack(&recovery);
        assert_eq!((bbr.cwnd, bbr.prior_cwnd, bbr.conserve), (51.0, 74.0, true));
        bbr.on_ack(&AckEvent { lost_bytes: MSS, prior_delivered: 0, ..recovery });
        assert_eq!(bbr.cwnd, 51.0, "at least what is in flight and what was delivered");
        // The round is over.
        bbr.on_ack(&AckEvent { lost_bytes: MSS, prior_delivered: 1 << 40, ..recovery });
        assert_eq!((bbr.cwnd, bbr.conserve), (51.0, false), "one lost, one delivered");
        bbr.on_ack(&AckEvent { phase: Phase::Open, ..ack(1020.0) });
        assert_eq!(bbr.cwnd, 75.0);
    }

    /// After a timeout one segment more than is in flight; W grows as ever and comes back after recovery.
    #[test]
    fn a_timeout_leaves_what_is_in_flight_and_one() {
        let mut bbr = knows_the_path(2);
        bbr.cwnd = 74.0;
        bbr.on_timeout(&TimeoutEvent { now: ms(1000.0), flight_size: 60 * MSS, first: true });
        assert_eq!((bbr.cwnd, bbr.full_bw), (1.0, 0.0));
        // Six were in flight, one of them sent again.
        let loss = AckEvent { phase: Phase::Loss, prior_in_flight: 6 * MSS, bytes_in_flight: 5 * MSS, ..ack(1040.0) };
        bbr.on_ack(&loss);
        assert_eq!(bbr.cwnd, 7.0);
        bbr.on_ack(&ack(1080.0));
        assert_eq!(bbr.cwnd, 74.0);
    }

    /// ACKs in excess of BtlBw: at 10 Mbit/s 8.3 segments in 10 ms, 20 came; W has room for the difference.
    #[test]
    fn the_excess_of_acks() {
        let mut extra = Extra::default();
        let bw = 10e6 / 12000.0;
        extra.on_ack(ms(100.0), 10.0, bw, 74.0, true);
        assert_eq!(extra.most(), 10.0);
        extra.on_ack(ms(110.0), 20.0, bw, 74.0, false);
        assert!((extra.most() - (30.0 - bw * 0.01)).abs() < 1e-9);
        // Not more than W; forgotten after the second window of five rounds.
        extra.on_ack(ms(110.0), 100.0, bw, 74.0, false);
        assert_eq!(extra.most(), 74.0);
        for round in 0..9 {
            assert_eq!(extra.most(), 74.0, "{round}");
            extra.on_ack(ms(1000.0 + 40.0 * f64::from(round)), 1.0, bw, 74.0, true);
        }
        extra.on_ack(ms(2000.0), 1.0, bw, 74.0, true);
        assert_eq!(extra.most(), 1.0);
    }

    /// 25 % loss over two intervals of four rounds at one rate is a policer, 15 % is not.
    #[test]
    fn steady_loss_is_a_policer() {
        for (loss, found) in [(1, true), (0, false)] {
            let mut policer = Policer::default();
            for k in 1..=12_u64 {
                let lost = if loss == 1 { k * 25_000 } else { k * 15_000 };
                let ev = AckEvent { delivered: k * 100_000, lost, now: ms(k as f64 * 40.0), ..AckEvent::default() };
                policer.on_sample(&ev, true, false, true);
                assert_eq!(policer.rate.is_some(), found && k >= 8, "{k}");
            }
            if found {
                assert_eq!(policer.rate, Some(20e6)); // 100 kB in 40 ms
            }
        }
    }
}
