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
//! In Linux the handshake tells RTprop first, in the paper data.
//!
//! Where we depart from Linux: BtlBw's window is exact where Linux keeps three candidates.

mod drain;
mod extra_acked;
mod policer;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod startup;
#[cfg(test)]
mod tests;

use self::extra_acked::{EXTRA_MOST, Extra};
use self::policer::Policer;
use self::probe_bw::CWND_GAIN;
pub(super) use self::probe_bw::{Cycle, Gains, ProbeBw};
use self::probe_rtt::ProbeRtt;
use self::recovery::Recovery;
use self::startup::FullPipe;
use super::window::bytes;
use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, EstablishedEvent, IdleEvent, Phase,
    RestartEvent, Share, TimeoutEvent, UndoEvent,
};
use crate::estimate::{Bubble, MaxFilter, Rounds};
use crate::params::{Flavour, Kind, Params, Spec, Value};
use crate::rng::Stream;
use crate::units::{Duration, Rate, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "bbr",
    summary: "BBRv1: paces at the measured bottleneck rate, keeps about one BDP in flight",
    source: "Cardwell et al., ACM Queue 14(5), 2016; Linux tcp_bbr.c",
    params: PARAMS,
    build: Build::Native(|cx, params| Box::new(Bbr::<Gains>::new(cx, params, Gains))),
};

/// BBR's parameters, which [`Bbr::new`] asks for.
pub(super) const PARAMS: &[Spec] = &[PACING_MARGIN, EXTRA_ACKED, POLICER];
pub(super) const PACING_MARGIN: Spec = Spec {
    name: "pacing_margin",
    kind: Kind::Number { min: 0.0, max: 50.0 },
    default: Value::Number(1.0),
    paper_default: Some(Value::Number(0.0)),
    unit: "%",
    doc: "by so much the pacing rate stays below gain · BtlBw",
};
pub(super) const EXTRA_ACKED: Spec = Spec {
    name: "extra_acked",
    kind: Kind::Flag,
    default: Value::Flag(true),
    paper_default: Some(Value::Flag(false)),
    unit: "",
    doc: "W has room for the most that was acknowledged in excess of BtlBw in the last five to ten rounds",
};
pub(super) const POLICER: Spec = Spec {
    name: "policer",
    kind: Kind::Flag,
    default: Value::Flag(true),
    paper_default: Some(Value::Flag(false)),
    unit: "",
    doc: "detect a token-bucket policer by steady loss of 20 %, and send at the rate it lets through",
};

/// Window of BtlBw: a cycle and two rounds. Linux keeps what is ten rounds old.
const BTL_BW_ROUNDS: u64 = 11;
/// The most that a host hands over as one, bits.
const LARGEST_QUANTUM: f64 = 65_536.0 * 8.0;
/// Least W outside of a timeout, segments.
pub(super) const MIN_WINDOW: f64 = 4.0;

/// What it is doing, and what belongs to that alone.
#[derive(Clone, Copy, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw(ProbeBw),
    ProbeRtt(ProbeRtt),
}

/// BBRv1's law. Rates in bit/s, volumes in segments.
pub(super) struct Bbr<C> {
    /// Payload of a segment, bits.
    segment: f64,
    initial_window: f64,
    startup_gain: f64,
    drain_gain: f64,
    margin: f64,
    linux: bool,
    pub rng: Stream,
    /// The host hands over a millisecond's segments as one.
    bursts: bool,

    state: State,
    pub cycle: C,
    cwnd: f64,
    pacing_rate: f64,
    /// The pacing rate is by a measured RTT.
    seen_rtt: bool,

    rounds: Rounds,
    btl_bw: MaxFilter<{ BTL_BW_ROUNDS as usize }>,
    pub rt_prop: Option<Duration>,
    rt_prop_stamp: Time,
    bubble: Bubble,

    full_pipe: FullPipe,
    idle_restart: bool,
    recovery: Recovery,
    extra: Option<Extra>,
    policer: Option<Policer>,
}

impl<C: Cycle> Bbr<C> {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params, cycle: C) -> Self {
        let linux = cx.flavour == Flavour::Linux;
        let high = 2.0 / std::f64::consts::LN_2;
        let mut bbr = Bbr {
            segment: f64::from(cx.mss) * 8.0,
            initial_window: f64::from(cx.initial_window),
            // Linux counts gains in 1/256.
            startup_gain: if linux { 739.0 / 256.0 } else { high },
            drain_gain: if linux { 88.0 / 256.0 } else { 1.0 / high },
            margin: 1.0 - params.number("pacing_margin") / 100.0,
            linux,
            rng: cx.rng.clone(),
            bursts: cx.bursts,
            state: State::Startup,
            cycle,
            cwnd: f64::from(cx.initial_window),
            pacing_rate: 0.0,
            seen_rtt: false,
            rounds: Rounds::default(),
            btl_bw: MaxFilter::default(),
            rt_prop: None,
            rt_prop_stamp: Time::ZERO,
            bubble: Bubble::default(),
            full_pipe: FullPipe::default(),
            idle_restart: false,
            recovery: Recovery::default(),
            extra: params.flag("extra_acked").then(Extra::default),
            policer: params.flag("policer").then(Policer::default),
        };
        bbr.init_pacing(Duration::from_millis(1));
        bbr
    }

    /// With another gain for STARTUP, and its inverse for DRAIN.
    pub fn with_startup_gain(mut self, gain: f64) -> Self {
        (self.startup_gain, self.drain_gain) = (gain, 1.0 / gain);
        self.init_pacing(Duration::from_millis(1));
        self
    }

    pub fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.segment
    }

    /// The rate to go by: BtlBw, or what a policer lets through.
    fn bw(&self) -> f64 {
        self.policer.as_ref().and_then(|p| p.rate).unwrap_or_else(|| self.btl_bw.get())
    }

    /// What of it is this flow's own.
    fn own_bw(&self) -> f64 {
        match self.state {
            State::ProbeBw(probe) => self.bw() * self.cycle.share(probe.place),
            _ => self.bw(),
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.startup_gain,
            State::Drain => self.drain_gain,
            State::ProbeBw(_) if self.policer.as_ref().is_some_and(|p| p.rate.is_some()) => 1.0,
            State::ProbeBw(probe) => self.cycle.pacing_gain(probe.place),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => self.startup_gain,
            State::ProbeBw(_) => CWND_GAIN,
            State::ProbeRtt(_) => 1.0,
        }
    }

    /// gain · bw · RTprop in segments; with quanta whole ones, rounded up.
    fn bdp_at(&self, bw: f64, gain: f64) -> f64 {
        let Some(rtt) = self.rt_prop else { return self.initial_window };
        let segments = gain * bw * rtt.as_secs_f64() / self.segment;
        if C::QUANTA { segments.ceil() } else { segments }
    }

    /// BtlBw · RTprop times a gain, in segments.
    pub fn bdp(&self, gain: f64) -> f64 {
        self.bdp_at(self.btl_bw.get(), gain)
    }

    /// Room for three quanta (sender, receiver, and the ACK on its way), in pairs of segments for delayed ACKs, and two
    /// more to probe with; for a cycle without quanta the least W at least.
    fn with_quanta(&self, window: f64) -> f64 {
        if !C::QUANTA {
            return window.max(MIN_WINDOW);
        }
        let quantum = self.quantum();
        let even = ((window + 3.0 * quantum) / 2.0).ceil() * 2.0;
        even + if matches!(self.state, State::ProbeBw(probe) if probe.is_up()) { 2.0 } else { 0.0 }
    }

    /// Segments that the host hands over as one: two, below 1.2 Mbit/s one, and where it hands over bursts what 1/1024 s
    /// of the pacing rate has.
    fn quantum(&self) -> f64 {
        let least = if self.pacing_rate < 1.2e6 { 1.0 } else { 2.0 };
        if !self.bursts {
            return least;
        }
        (self.pacing_rate / 1024.0).min(LARGEST_QUANTUM).div_euclid(self.segment).clamp(least, 127.0)
    }

    /// What should be in flight at `gain`.
    pub fn inflight(&self, gain: f64) -> f64 {
        self.with_quanta(self.bdp(gain))
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.own_bw() * self.margin;
        if self.full_pipe.reached || rate > self.pacing_rate {
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
        self.recovery.conserve &= !self.rounds.start;
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

    fn set_cwnd(&mut self, ev: &AckEvent) {
        let acked = self.segments(ev.delivered_bytes);
        if acked > 0.0 && !self.recover(ev, acked) {
            let extra = match &self.extra {
                Some(extra) if self.full_pipe.reached => {
                    extra.most().min((self.bw() * EXTRA_MOST.as_secs_f64() / self.segment).ceil())
                }
                _ => 0.0,
            };
            let target = self.with_quanta(self.bdp_at(self.own_bw(), self.cwnd_gain()) + extra);
            if self.full_pipe.reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || self.segments(ev.delivered) < self.initial_window {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_WINDOW);
        }
        match self.state {
            State::ProbeRtt(_) => self.cwnd = self.cwnd.min(MIN_WINDOW),
            State::ProbeBw(probe) => self.cwnd = self.cwnd.min(self.cycle.most(probe.place)),
            _ => {}
        }
    }
}

impl<C: Cycle> CongestionControl for Bbr<C> {
    fn on_established(&mut self, ev: &EstablishedEvent) {
        self.rt_prop_stamp = ev.now;
        // In Linux the SYN, smaller than what follows, tells RTprop.
        self.rt_prop = Some(ev.srtt).filter(|&rtt| self.linux && rtt > Duration::ZERO);
    }

    fn on_ack(&mut self, ev: &AckEvent) {
        if std::mem::take(&mut self.recovery.timed_out) {
            self.cwnd = self.cwnd.max(self.segments(ev.prior_in_flight));
        }
        let app_limited = ev.app_limited || self.bubble.covers(ev.prior_delivered);
        self.update_bw(ev, app_limited);
        self.update_extra(ev);
        self.update_cycle(ev);
        if self.rounds.start && !app_limited {
            self.full_pipe.on_round(self.btl_bw.get());
        }
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
        self.recovery.phase = Phase::Loss;
        self.recovery.timed_out = true;
        self.full_pipe.bw = 0.0;
        self.cwnd = 1.0;
    }

    /// The plateau was not one, nor the losses. W comes back with the end of recovery.
    fn on_undo(&mut self, _ev: &UndoEvent) {
        self.full_pipe.look_again();
        if let Some(policer) = &mut self.policer {
            policer.forget();
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
            State::ProbeRtt(probe) => self.leave_probe_rtt(probe, ev.now),
            _ => {}
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
    fn share(&self, share: &mut Share) {
        share.bandwidth = Some(Rate(self.btl_bw.get() as u64));
        share.steady = matches!(self.state, State::ProbeBw(_) | State::ProbeRtt(_));
    }
    fn on_siblings(&mut self, all: &[Share], me: usize) {
        self.cycle.on_siblings(all, me);
    }
    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let state = match self.state {
            State::Startup => 0.0,
            State::Drain => 1.0,
            State::ProbeBw(_) => 2.0,
            State::ProbeRtt(_) => 3.0,
        };
        record("state", state);
        record("btl_bw_bps", self.btl_bw.get());
        record("rt_prop_s", self.rt_prop.map_or(f64::NAN, Duration::as_secs_f64));
        record("pacing_gain", self.pacing_gain());
        self.cycle.signals(record);
    }
}
