//! H-TCP: the longer ago the last loss, the faster the window grows; what a loss leaves follows the queue's share of
//! the delay.
//!
//! Sources: D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp; Linux `tcp_htcp.c` (6.x). Paper and Linux are both here (parameter `variant`). They differ in:
//!
//! * numbers: Linux whole factors, α and β in 128ths, time in jiffies (of 1 ms here); the paper reals;
//! * α: paper at every ACK, Linux when W steps, one segment at a time, each by the ACKs' segments since the last, where an ACK
//!   that finds segments missing counts for one at most;
//! * RTT scaling: on in Linux (RTT_min/100 ms, within 1/10 … 2);
//! * β: paper RTT_min/RTT_max within [0.5, 0.8], but 0.5 if the throughput before the loss is more than 20 % off that
//!   before the last. Linux the same with its own filter of the throughput, and adaptive only from the second steady
//!   loss on and above 10 ms; RTT_max rises by samples at most 20 ms above it and decays by 5 % of the queue per loss,
//!   where the paper's is that since the last loss;
//! * Δ counts from the loss, in Linux from the end of recovery.

use super::{
    AckEvent, Build, Entry, EstablishedEvent, Phase, RecoveredEvent, RestartEvent, TimeoutEvent, UndoEvent, Window,
    WindowLaw, Windowed,
};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::{MAX_SSTHRESH, SlowStart};
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "htcp",
    summary: "H-TCP: growth by the time since the last loss, back-off by the ratio of smallest and largest RTT",
    source: "Leith & Shorten, PFLDnet 2004; draft-leith-tcp-htcp; Linux tcp_htcp.c",
    params: &[
        Spec {
            name: "delta_l",
            kind: Kind::Number { min: 0.001, max: 100.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "s",
            doc: "up to this time since the last loss it grows as Reno",
        },
        Spec {
            name: "rtt_scaling",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: Some(Value::Flag(false)),
            unit: "",
            doc: "growth per RTT in proportion to the RTT (1 at 100 ms, from 1/10 to 2), so that rates converge",
        },
        Spec {
            name: "adaptive_backoff",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "a loss leaves RTT_min/RTT_max of the window, 0.5 to 0.8; otherwise half",
        },
        Spec {
            name: "bandwidth_switch",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "half after all where the throughput before the loss has changed by more than a fifth",
        },
        MAX_SSTHRESH,
        Spec {
            name: "variant",
            kind: Kind::Choice(&["linux", "paper"]),
            default: Value::Word("linux"),
            paper_default: Some(Value::Word("paper")),
            unit: "",
            doc: "whose rules where they differ",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::limited(params), Htcp::new(params)))),
};

const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// Linux: RTT_max rises by samples that are at most this much above it.
const RISE: Duration = Duration::from_millis(20);
/// Linux: β adapts above this RTT.
const SHORT: Duration = Duration::from_millis(10);
/// The RTT at which scaling is 1.
const RTT_REF: f64 = 0.1;

/// α before scaling with β: 1 + 10 (Δ − Δ_L) + ((Δ − Δ_L)/2)² beyond Δ_L, both in s (Leith & Shorten).
fn alpha_of(since: f64, delta_l: f64) -> f64 {
    let d = (since - delta_l).max(0.0);
    1.0 + 10.0 * d + d * d / 4.0
}

/// Linux's factor: times in ms, divisions whole; scaled by the smallest RTT where that is given.
fn factor_linux(since: u64, delta_l: u64, min_rtt: Option<u64>) -> u64 {
    let d = since.saturating_sub(delta_l).min(u64::from(u32::MAX));
    let factor = 1 + (10 * d + (d / 2) * (d / 2) / 1000) / 1000;
    match min_rtt {
        Some(rtt) if rtt > 0 => (factor * 8 / (8000 / (10 * rtt)).clamp(4, 80)).max(1),
        _ => factor,
    }
}

/// Jiffies of 1 ms, rounded up as Linux does with microseconds.
fn jiffies(d: Duration) -> u64 {
    d.0.div_ceil(1_000_000)
}

/// What was achieved in about the last RTT, in segments/s.
#[derive(Clone, Default)]
struct Throughput {
    since: Time,
    segments: f64,
    /// The last complete measurement (Linux: smoothed).
    now: f64,
    /// The largest since the last loss (Linux), or `now` at the last loss (paper): what the next one is compared with.
    max: f64,
    before: f64,
}

/// H-TCP's window law.
pub struct Htcp {
    delta_l: Duration,
    rtt_scaling: bool,
    adaptive_backoff: bool,
    bandwidth_switch: bool,
    linux: bool,
    alpha: f64,
    beta: f64,
    /// Where Δ counts from: the last loss, or the start of the connection.
    last_congestion: Time,
    /// Zero before the first sample.
    min_rtt: Duration,
    max_rtt: Duration,
    throughput: Throughput,
    /// Linux: the last loss found the throughput steady.
    steady: bool,
    /// Linux: segments acknowledged towards the next step of W.
    credit: f64,
    /// Linux: what the next ACK that may raise W counts for.
    newest: f64,
    /// Where loss recovery stood before the ACK at hand.
    before: Phase,
    /// What an undo restores: where Δ counted from, RTT_max, the throughput compared with.
    prior: Option<(Time, Duration, f64)>,
}

impl Htcp {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Htcp {
            delta_l: Duration::from_secs_f64(params.number("delta_l")),
            rtt_scaling: params.flag("rtt_scaling"),
            adaptive_backoff: params.flag("adaptive_backoff"),
            bandwidth_switch: params.flag("bandwidth_switch"),
            linux: params.word("variant") == "linux",
            alpha: 1.0,
            beta: BETA_MIN,
            last_congestion: Time::ZERO,
            min_rtt: Duration::ZERO,
            max_rtt: Duration::ZERO,
            throughput: Throughput::default(),
            steady: false,
            credit: 0.0,
            newest: 1.0,
            before: Phase::Open,
            prior: None,
        }
    }

    /// Sets α = 2 (1 − β) α(Δ), the increase per RTT.
    fn update_alpha(&mut self, now: Time) {
        let since = now.since(self.last_congestion);
        self.alpha = if self.linux {
            let scaled = self.rtt_scaling.then(|| jiffies(self.min_rtt));
            let factor = factor_linux(since.0 / 1_000_000, jiffies(self.delta_l), scaled);
            2.0 * factor as f64 * (1.0 - self.beta)
        } else {
            let scale = match self.rtt_scaling && self.min_rtt > Duration::ZERO {
                true => (self.min_rtt.as_secs_f64() / RTT_REF).clamp(0.1, 2.0),
                false => 1.0,
            };
            2.0 * (1.0 - self.beta) * (scale * alpha_of(since.as_secs_f64(), self.delta_l.as_secs_f64())).max(1.0)
        };
    }

    fn note_rtt(&mut self, rtt: Duration) {
        if self.min_rtt == Duration::ZERO || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        self.max_rtt = self.max_rtt.max(self.min_rtt);
        if !self.linux || (self.before == Phase::Open && rtt <= self.max_rtt + RISE) {
            self.max_rtt = self.max_rtt.max(rtt);
        }
    }

    /// Measures once per RTT and window.
    fn note_throughput(&mut self, w: &Window, ev: &AckEvent) {
        let phase = if self.linux { self.before } else { ev.phase };
        if !matches!(phase, Phase::Open | Phase::Disorder) {
            self.throughput = Throughput { since: ev.now, segments: 0.0, ..self.throughput };
            return;
        }
        let t = &mut self.throughput;
        t.segments += w.segments(if self.linux { ev.acked_bytes } else { ev.delivered_bytes });
        let elapsed = ev.now.since(t.since);
        if self.min_rtt == Duration::ZERO || elapsed < self.min_rtt.max(Duration::from_millis(1)) {
            return;
        }
        if self.linux && t.segments < w.cwnd - self.alpha.floor().max(1.0) {
            return;
        }
        let sample = t.segments / elapsed.as_secs_f64();
        if !self.linux {
            t.now = sample;
            t.max = sample;
        } else if ev.now.since(self.last_congestion).0 / self.min_rtt.0.max(1) <= 3 {
            t.now = sample; // just after a loss
            t.max = sample;
        } else {
            t.now = (3.0 * t.now + sample) / 4.0;
            t.max = t.max.max(t.now);
        }
        t.segments = 0.0;
        t.since = ev.now;
    }

    /// β for the loss at hand.
    fn update_beta(&mut self) {
        let (b, before) = (self.throughput.max, self.throughput.before);
        self.throughput.before = b;
        let changed = b < 0.8 * before || b > 1.2 * before;
        let (min, max) = (self.min_rtt.0 as f64, self.max_rtt.0 as f64);
        self.beta = BETA_MIN;
        if !self.adaptive_backoff || max == 0.0 {
            return;
        }
        if self.bandwidth_switch && changed {
            self.steady = false;
        } else if !self.linux {
            self.beta = (min / max).clamp(BETA_MIN, BETA_MAX);
        } else if self.steady && self.min_rtt > SHORT {
            let (min, max) = (jiffies(self.min_rtt) as f64, jiffies(self.max_rtt) as f64);
            self.beta = (min * 128.0 / max).floor().clamp(64.0, 102.0) / 128.0;
        } else {
            self.steady = true;
        }
    }

    fn grow_linux(&mut self, w: &mut Window, now: Time) {
        if self.credit * self.alpha >= w.cwnd.floor() {
            w.cwnd += 1.0;
            self.credit = 0.0;
            self.update_alpha(now);
        } else {
            self.credit += self.newest;
        }
        self.newest = 1.0;
    }
}

impl WindowLaw for Htcp {
    fn on_established(&mut self, _w: &mut Window, ev: &EstablishedEvent) {
        self.last_congestion = ev.now;
        self.throughput.since = ev.now;
    }

    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.note_rtt(rtt);
        }
        self.note_throughput(w, ev);
        if self.before == Phase::Open {
            self.newest = w.segments(ev.acked_bytes);
        }
        self.before = ev.phase;
    }

    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if w.in_slow_start() {
            w.slow_start(acked);
        } else {
            self.avoid(w, acked, ev);
        }
    }

    /// W += α/W for each segment acknowledged.
    fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if self.linux {
            self.grow_linux(w, ev.now);
        } else {
            self.update_alpha(ev.now);
            w.add_fraction(w.cwnd, self.alpha * acked);
        }
    }

    /// A loss: β, α and β W.
    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.prior = Some((self.last_congestion, self.max_rtt, self.throughput.before));
        self.update_beta();
        self.update_alpha(now);
        self.last_congestion = now;
        self.credit = 0.0;
        if self.linux {
            let queueing = self.max_rtt.saturating_sub(self.min_rtt);
            self.max_rtt = self.min_rtt + queueing * 95 / 100;
            (w.cwnd.floor() * self.beta).floor().max(2.0)
        } else {
            self.max_rtt = self.min_rtt;
            (w.used(flight_size) * self.beta).max(2.0)
        }
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        w.time_out(ev.first.then(|| self.decrease(w, ev.now, ev.flight_size)));
        self.last_congestion = ev.now;
        self.before = Phase::Loss;
    }

    fn on_recovered(&mut self, _w: &mut Window, ev: &RecoveredEvent) {
        if self.linux {
            self.last_congestion = ev.now;
        }
        self.prior = None;
    }

    fn on_undo(&mut self, w: &mut Window, _ev: &UndoEvent) {
        w.undo();
        if let Some((last_congestion, max_rtt, before)) = self.prior.take() {
            self.last_congestion = last_congestion;
            self.max_rtt = max_rtt;
            self.throughput.before = before;
        }
    }

    fn on_restart(&mut self, w: &mut Window, ev: &RestartEvent) {
        w.restart(ev);
        self.credit = 0.0;
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("increase_segments", self.alpha);
        record("beta_share", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::testing::{MSS, law_of, lose};
    use crate::params::{Flavour, Given};

    fn law(flavour: Flavour, w: u32, given: &[(&str, Given)]) -> Windowed<Htcp> {
        law_of(&ENTRY, flavour, w, given, |_, params| Htcp::new(params))
    }
    fn at(s: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(s)
    }
    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// α after Δ s, for β = 0.5 and 0.8.
    #[test]
    fn alpha_of_the_paper() {
        for (since, half, most) in [(1.0, 1.0, 0.4), (2.0, 11.25, 4.5), (5.0, 45.0, 18.0), (10.0, 111.25, 44.5)] {
            for (beta, alpha) in [(0.5, half), (0.8, most)] {
                let mut law = law(Flavour::Paper, 100, &[]);
                law.beta = beta;
                law.update_alpha(at(since));
                assert!((law.alpha - alpha).abs() < 1e-9, "{since} s, β = {beta}: {}", law.alpha);
            }
        }
    }

    /// Linux's factor after 2 s and 5 s at RTT 10, 100 and 200 ms; unscaled 11, not 11.25.
    #[test]
    fn factors_of_linux() {
        for (since, factors) in [(2000, [1, 11, 22]), (5000, [4, 45, 90]), (900, [1, 1, 2])] {
            let found = [10, 100, 200].map(|rtt| factor_linux(since, 1000, Some(rtt)));
            assert_eq!(found, factors, "{since} ms");
        }
        assert_eq!(factor_linux(2000, 1000, None), 11);
        let mut law = law(Flavour::Linux, 100, &[]);
        law.min_rtt = ms(100);
        law.beta = 102.0 / 128.0;
        law.update_alpha(at(2.0));
        assert_eq!(law.alpha * 128.0, 2.0 * 11.0 * 26.0);
    }

    /// A steady throughput; RTT 100 to 160 ms: 0.625, in Linux ⌊100 · 128/160⌋ = 80/128, from the second loss on.
    #[test]
    fn the_backoff_adapts() {
        for (flavour, first) in [(Flavour::Linux, 0.5), (Flavour::Paper, 0.625)] {
            let mut law = law(flavour, 1000, &[]);
            for beta in [first, 0.625] {
                (law.min_rtt, law.max_rtt) = (ms(100), ms(160));
                (law.throughput.max, law.throughput.before) = (1000.0, 1100.0);
                law.window.cwnd = 1000.0;
                lose(&mut law);
                assert_eq!((law.beta, law.window.cwnd), (beta, 1000.0 * beta), "{flavour:?}");
            }
        }
    }

    /// Within [0.5, 0.8] (Linux 102/128); half where the throughput changed by more than a fifth, or as asked.
    #[test]
    fn the_backoff_has_bounds() {
        let beta = |flavour, max_rtt, before, given: &[_]| {
            let mut law = law(flavour, 1000, given);
            law.steady = true;
            (law.min_rtt, law.max_rtt) = (ms(100), ms(max_rtt));
            (law.throughput.max, law.throughput.before) = (1000.0, before);
            lose(&mut law);
            law.beta
        };
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let most = if flavour == Flavour::Linux { 102.0 / 128.0 } else { 0.8 };
            for (max_rtt, before, expected) in
                [(101, 1000.0, most), (300, 1000.0, 0.5), (101, 1300.0, 0.5), (101, 830.0, 0.5), (101, 1200.0, most)]
            {
                assert_eq!(beta(flavour, max_rtt, before, &[]), expected, "{flavour:?} {max_rtt} {before}");
            }
            assert_eq!(beta(flavour, 101, 2000.0, &[("bandwidth_switch", Given::Flag(false))]), most);
            assert_eq!(beta(flavour, 101, 1000.0, &[("adaptive_backoff", Given::Flag(false))]), 0.5);
        }
    }

    /// Linux: RTT_max rises by 20 ms at a time at most, and a loss takes 5 % of what it is above RTT_min.
    #[test]
    fn linux_filters_the_largest_rtt() {
        let mut law = law(Flavour::Linux, 1000, &[]);
        for (rtt, max) in [(100, 100), (121, 100), (120, 120), (140, 140)] {
            law.note_rtt(ms(rtt));
            assert_eq!(law.max_rtt, ms(max));
        }
        law.before = Phase::Disorder;
        law.note_rtt(ms(150));
        lose(&mut law);
        assert_eq!(law.max_rtt, ms(138));
    }

    /// Linux: α = 4 and W = 100: 25 segments acknowledged are enough, the next ACK makes the step.
    #[test]
    fn linux_steps_after_enough_credit() {
        let mut law = law(Flavour::Linux, 100, &[]);
        law.alpha = 4.0;
        (0..25).for_each(|_| law.law.grow_linux(&mut law.window, Time::ZERO));
        assert_eq!(law.window.cwnd, 100.0);
        law.law.grow_linux(&mut law.window, Time::ZERO);
        assert_eq!((law.window.cwnd, law.credit), (101.0, 0.0));
    }

    /// Linux's `htcp_pkts_acked` counts an ACK that finds the connection open, before the ACK moves it; the next that may raise the
    /// window takes that count and leaves one. So the ACK of ten segments that ends a disorder or a recovery counts for what the first
    /// duplicate, which found it open and acknowledged nothing, left: none; another for one.
    #[test]
    fn linux_counts_the_segments_of_an_open_connection() {
        let mut law = law(Flavour::Linux, 100, &[]);
        let mut ack = |segments: u64, phase, may_grow| {
            let bytes = segments * u64::from(MSS);
            law.on_ack(&AckEvent {
                acked_bytes: bytes,
                delivered_bytes: bytes,
                phase,
                may_grow,
                ..AckEvent::default()
            });
            law.credit
        };
        assert_eq!(ack(4, Phase::Open, true), 4.0);
        assert_eq!(ack(0, Phase::Disorder, false), 4.0);
        assert_eq!(ack(10, Phase::Open, true), 4.0);
        assert_eq!(ack(2, Phase::Open, true), 6.0);
        assert_eq!(ack(0, Phase::Recovery, false), 6.0);
        assert_eq!(ack(1, Phase::Recovery, false), 6.0);
        assert_eq!(ack(10, Phase::Open, true), 6.0);
        assert_eq!(ack(0, Phase::Recovery, false), 6.0);
        assert_eq!(ack(3, Phase::Disorder, true), 6.0);
        assert_eq!(ack(3, Phase::Open, true), 7.0);
    }

    /// Throughput: 100 segments in an RTT of 0.1 s are 1000 per second; a change of a fifth is seen through ACKs alone.
    #[test]
    fn throughput_is_measured_per_round_trip() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut law = law(flavour, 100, &[]);
            for i in 1..=2000 {
                let bytes = u64::from(MSS);
                let (acked_bytes, delivered_bytes) = (bytes, bytes);
                let now = at(0.001 * f64::from(i));
                law.on_ack(&AckEvent { now, acked_bytes, delivered_bytes, rtt: Some(ms(100)), ..AckEvent::default() });
            }
            assert!((law.throughput.now - 1000.0).abs() < 15.0, "{flavour:?}: {}", law.throughput.now);
        }
    }

    /// Δ counts from the loss, in Linux from the end of recovery; an undo takes it back.
    #[test]
    fn the_clock_restarts() {
        for (flavour, from) in [(Flavour::Linux, 5.0), (Flavour::Paper, 4.0)] {
            let mut law = law(flavour, 100, &[]);
            law.law.decrease(&law.window, at(4.0), 0);
            law.on_recovered(&RecoveredEvent { now: at(5.0), phase: Phase::Recovery });
            assert_eq!(law.last_congestion, at(from));
            law.law.decrease(&law.window, at(8.0), 0);
            law.on_undo(&UndoEvent { now: at(8.5) });
            assert_eq!(law.last_congestion, at(from));
        }
    }
}
