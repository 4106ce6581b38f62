//! CUBIC: the window is a cubic function of the time since the last congestion event.
//!
//! Sources: RFC 9438; S. Ha, I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", ACM SIGOPS
//! OSR 42(5), 2008; Linux `tcp_cubic.c` (6.x). RFC and Linux are both here (parameter `variant`). They differ in:
//!
//! * the clock: RFC W_cubic(t + srtt); Linux t + the smallest RTT of the connection;
//! * the step: RFC (target − W)/W per segment; Linux one whole segment per W/(target − W), at least 2;
//! * ssthresh: RFC β · FlightSize; Linux β · W;
//! * the Reno-friendly W_est: RFC α = 3(1−β)/(1+β) until W_est reaches the window before the loss, then 1;
//!   Linux one segment per (1+β)/(3(1−β)) W acknowledged (8ths, truncated: 15/8), always;
//! * a timeout: the RFC starts the next curve on its plateau (K = 0); Linux forgets everything;
//! * an undo: the RFC restores the curve; Linux only W and ssthresh;
//! * idle and application-limited time: the RFC counts neither in t; Linux leaves out idle time only.

use super::reno::ABE;
use super::{
    AckEvent, Build, CongestionEvent, Entry, IdleEvent, Phase, Signal, TimeoutEvent, UndoEvent, Window, WindowLaw,
    Windowed,
};
use crate::math::cbrt;
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "cubic",
    summary: "cubic growth around the window of the last loss, independent of RTT; the default of most systems",
    source: "RFC 9438; Ha, Rhee, Xu, SIGOPS OSR 2008; Linux tcp_cubic.c",
    params: &[
        Spec {
            name: "c",
            kind: Kind::Number { min: 0.001, max: 10.0 },
            default: Value::Number(410.0 / 1024.0),
            paper_default: Some(Value::Number(0.4)),
            unit: "segments/s^3",
            doc: "C, how steep the curve is (RFC 9438 §5.1); Linux 410/1024",
        },
        Spec {
            name: "beta",
            kind: Kind::Number { min: 0.1, max: 0.95 },
            default: Value::Number(717.0 / 1024.0),
            paper_default: Some(Value::Number(0.7)),
            unit: "",
            doc: "the share of the window that a loss leaves (RFC 9438 §4.6); Linux 717/1024",
        },
        Spec {
            name: "fast_convergence",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "a loss below the last maximum lowers the next plateau (RFC 9438 §4.7)",
        },
        Spec {
            name: "reno_friendly",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "never grow more slowly than a Reno of the same loss rate would (RFC 9438 §4.3)",
        },
        Spec {
            name: "hystart",
            kind: Kind::Choice(SlowStart::WORDS),
            default: Value::Word("hystart"),
            paper_default: Some(Value::Word("off")),
            unit: "",
            doc: "how slow start ends before a loss: Linux's HyStart, RFC 9406's HyStart++, SEARCH, or not at all",
        },
        Spec {
            name: "variant",
            kind: Kind::Choice(&["linux", "rfc"]),
            default: Value::Word("linux"),
            paper_default: Some(Value::Word("rfc")),
            unit: "",
            doc: "whose rules where they differ; the constants follow the flavour, not this",
        },
        ABE,
    ],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::new(params.word("hystart"), cx), Cubic::new(params)))
    }),
};

/// CUBIC's window law.
#[derive(Clone)]
pub struct Cubic {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    rfc: bool,
    abe: bool,
    curve: Curve,
    /// The curve before the last reduction, for an undo.
    prior: Option<Curve>,
    last_ack: Time,
}

/// Where the window is on its curve. W in segments, times in seconds.
#[derive(Clone, Default)]
struct Curve {
    /// W_max: window at the last congestion event (less, with fast convergence); 0 before the first.
    w_max: f64,
    /// The curve's plateau in this epoch: W_max, or the window at its start where that was larger.
    origin: f64,
    /// K: time from the start of the epoch to the plateau.
    k: f64,
    /// When congestion avoidance began after the last event.
    epoch: Option<Time>,
    /// Window just before the last reduction, or at the end of the first slow start.
    cwnd_prior: f64,
    /// W_est: the window of a Reno with the same losses.
    w_est: f64,
    /// Smallest RTT since the start or the last timeout.
    delay_min: Option<Duration>,
    // Linux's book-keeping: segments towards the next step of W_est, and when W/(target − W) was computed.
    est_credit: f64,
    count: f64,
    counted_at: Time,
    counted_for: f64,
}

/// β_ecn of CUBIC (RFC 8511 §3).
const BETA_ECN: f64 = 0.85;
/// Linux keeps its count for this long while W does not change (HZ/32).
const RECOUNT: Duration = Duration(1_000_000_000 / 32);
/// Linux: before the first loss W grows by at least one segment per 20 acknowledged.
const SEARCH_COUNT: f64 = 20.0;

impl Cubic {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Cubic {
            c: params.number("c"),
            beta: params.number("beta"),
            fast_convergence: params.flag("fast_convergence"),
            reno_friendly: params.flag("reno_friendly"),
            rfc: params.word("variant") == "rfc",
            abe: params.flag(ABE.name),
            curve: Curve::default(),
            prior: None,
            last_ack: Time::ZERO,
        }
    }

    /// W_cubic(t) = C (t − K)³ + W_max (RFC 9438 eq. 1).
    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.curve.k;
        self.c * d * d * d + self.curve.origin
    }

    /// Starts the curve: K = ∛((W_max − W)/C) (eq. 2), or 0 where W is at W_max or above.
    fn begin_epoch(&mut self, w: f64, now: Time) {
        let curve = &mut self.curve;
        curve.epoch = Some(now);
        curve.origin = curve.w_max.max(w);
        curve.k = cbrt((curve.origin - w) / self.c);
        curve.w_est = w;
        curve.est_credit = 0.0;
        if curve.cwnd_prior == 0.0 {
            curve.cwnd_prior = w; // the first slow start ended without a loss
        }
    }

    fn note_rtt(&mut self, w: &mut Window, ev: &AckEvent) {
        let Some(rtt) = ev.rtt else { return };
        // Linux: samples of the first second after a loss tell of the queue that caused it.
        if self.curve.epoch.is_some_and(|e| ev.now.since(e) < Duration::from_secs(1)) {
            return;
        }
        let delay_min = self.curve.delay_min.map_or(rtt, |d| d.min(rtt));
        self.curve.delay_min = Some(delay_min);
        w.watch(ev, delay_min);
    }

    /// RFC 9438 §4.2 to §4.5: what W becomes.
    fn grow_rfc(&mut self, w: f64, ev: &AckEvent, acked: f64) -> f64 {
        let now = ev.now;
        if self.curve.epoch.is_none() {
            self.begin_epoch(w, now);
        }
        let t = now.since(self.curve.epoch.expect("just begun")).as_secs_f64();
        self.grow_estimate_rfc(acked / w);
        if self.reno_friendly && self.w_cubic(t) < self.curve.w_est {
            w.max(self.curve.w_est)
        } else {
            let target = self.w_cubic(t + ev.srtt.as_secs_f64()).clamp(w, 1.5 * w);
            w + (target - w) * acked / w
        }
    }

    /// W_est += α · acked/W (eq. 4); α = 1 once it has regained the window before the loss.
    fn grow_estimate_rfc(&mut self, windows_acked: f64) {
        let regained = self.curve.w_est >= self.curve.cwnd_prior;
        let alpha = if regained { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) };
        self.curve.w_est += alpha * windows_acked;
    }

    /// Linux: segments to be acknowledged for each one that W grows.
    fn count_linux(&mut self, cwnd: f64, now: Time, acked: f64) -> f64 {
        let w = cwnd.floor();
        self.curve.est_credit += acked;
        if w == self.curve.counted_for && now.since(self.curve.counted_at) <= RECOUNT {
            return self.curve.count;
        }
        self.curve.counted_for = w;
        self.curve.counted_at = now;
        let epoch = match self.curve.epoch {
            Some(epoch) => epoch,
            None => {
                self.begin_epoch(cwnd, now);
                self.curve.est_credit = acked;
                now
            }
        };
        let t = (now.since(epoch) + self.curve.delay_min.unwrap_or_default()).as_secs_f64();
        let target = self.target_linux(t);
        let mut count = if target > w { (w / (target - w)).floor() } else { 100.0 * w };
        if self.curve.w_max == 0.0 {
            count = count.min(SEARCH_COUNT);
        }
        if self.reno_friendly {
            count = count.min(self.friendly_count_linux(w));
        }
        self.curve.count = count.max(2.0);
        self.curve.count
    }

    /// Linux's target at `t`: whole segments, the distance from the plateau rounded towards it.
    fn target_linux(&self, t: f64) -> f64 {
        self.curve.origin + (self.w_cubic(t) - self.curve.origin).trunc()
    }

    /// Linux: W_est grows by one for each 15/8 W acknowledged; the count that reaches it within a window.
    fn friendly_count_linux(&mut self, w: f64) -> f64 {
        let curve = &mut self.curve;
        let eighths = (8.0 * (1.0 + self.beta) / 3.0 / (1.0 - self.beta)).floor();
        let step = (w * eighths / 8.0).floor().max(1.0);
        let steps = ((curve.est_credit / step).ceil() - 1.0).max(0.0);
        curve.est_credit -= steps * step;
        curve.w_est += steps;
        if curve.w_est > w { (w / (curve.w_est - w)).floor() } else { f64::INFINITY }
    }

    /// The share `beta` of W; remembers where the loss happened (RFC 9438 §4.6, §4.7).
    fn leave(&mut self, w: &Window, flight_size: u64, beta: f64) -> f64 {
        self.prior = Some(self.curve.clone());
        self.curve.cwnd_prior = w.cwnd;
        self.curve.w_max = match self.fast_convergence && w.cwnd < self.curve.w_max {
            true => w.cwnd * (1.0 + self.beta) / 2.0,
            false => w.cwnd,
        };
        self.curve.epoch = None;
        match self.rfc {
            true => (w.used(flight_size) * beta).max(2.0),
            false => {
                self.curve.w_max = self.curve.w_max.floor();
                (w.cwnd * beta).floor().max(2.0)
            }
        }
    }

    /// Time in which the sender did not use its window is not counted (RFC 9438 §5.8, Linux after idle).
    fn shift_epoch(&mut self, now: Time, by: Duration) {
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch = (*epoch + by).min(now);
        }
    }
}

impl WindowLaw for Cubic {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        self.note_rtt(w, ev);
        let since_last = ev.now.since(std::mem::replace(&mut self.last_ack, ev.now));
        if self.rfc && !ev.may_grow && ev.phase == Phase::Open {
            self.shift_epoch(ev.now, since_last);
        }
    }

    fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        match self.rfc {
            true => w.cwnd = self.grow_rfc(w.cwnd, ev, acked),
            false => w.add_credit(self.count_linux(w.cwnd, ev.now, acked), acked),
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, flight_size: u64) -> f64 {
        self.leave(w, flight_size, self.beta)
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        let mild = self.abe && ev.signal == Signal::Ecn && !w.in_slow_start();
        let beta = if mild { BETA_ECN } else { self.beta };
        let reduced = w.used(ev.flight_size) * beta;
        w.reduce(self.leave(w, ev.flight_size, beta));
        if self.rfc && ev.signal == Signal::Ecn {
            // §4.6: an ECN echo may take W to one segment, ssthresh stays at two.
            w.cwnd = w.cwnd.min(reduced.max(1.0));
        }
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        w.time_out(ev.first.then(|| self.decrease(w, ev.now, ev.flight_size)));
        if self.rfc {
            // §4.8: the next congestion avoidance begins at its own W_max, so K = 0.
            self.curve.w_max = 0.0;
            self.curve.epoch = None;
        } else {
            self.curve = Curve::default();
        }
    }

    fn on_undo(&mut self, w: &mut Window, _ev: &UndoEvent) {
        w.undo();
        if let Some(prior) = self.prior.take().filter(|_| self.rfc) {
            self.curve = prior; // §4.9
        }
    }

    /// Linux counts from the last segment sent; the RFC's variant from the last ACK, up to which it has counted.
    fn on_idle(&mut self, _w: &mut Window, ev: &IdleEvent) {
        let since_ack = ev.now.since(std::mem::replace(&mut self.last_ack, ev.now));
        self.shift_epoch(ev.now, if self.rfc { since_ack } else { ev.idle });
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("w_max_segments", self.curve.w_max);
        record("w_est_segments", self.curve.w_est);
        record("k_s", self.curve.k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{CongestionControl, Context, RestartEvent};
    use crate::params::{Flavour, Given};

    const MSS: u64 = 1000;

    fn law(flavour: Flavour, w: u32, given: &[(&str, Given)]) -> Windowed<Cubic> {
        let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(MSS as u32) };
        made(&cx, given)
    }
    fn made(cx: &Context, given: &[(&str, Given)]) -> Windowed<Cubic> {
        let given: Vec<_> = given.iter().map(|(n, g)| (n.to_string(), g.clone())).collect();
        let params = Params::resolve(ENTRY.params, &given, cx.flavour).unwrap();
        Windowed::new(cx, SlowStart::new(params.word("hystart"), cx), Cubic::new(&params))
    }
    /// RFC 8511 §3: β_ecn = 0.85 for CUBIC in congestion avoidance: 85 of 100. A loss leaves 0.7, and so does a mark in slow start.
    #[test]
    fn a_mark_leaves_more_with_abe() {
        for (signal, ssthresh, left) in [(Signal::Ecn, 1, 85), (Signal::Loss, 1, 70), (Signal::Ecn, 1000, 70)] {
            for flavour in [Flavour::Linux, Flavour::Paper] {
                let cx = Context {
                    initial_window: 100,
                    initial_ssthresh: Some(ssthresh * MSS),
                    flavour,
                    ..Context::new(1000)
                };
                let mut law = made(&cx, &[("abe", Given::Flag(true))]);
                let (now, srtt) = (Time::ZERO, Duration::ZERO);
                law.on_congestion(&CongestionEvent { now, signal, flight_size: 100 * MSS, srtt, min_rtt: srtt });
                assert_eq!((law.cwnd() + 1) / MSS, left, "{flavour:?} {signal:?}");
                assert_eq!(law.curve.w_max, 100.0);
            }
        }
    }

    fn loss(law: &mut Windowed<Cubic>) {
        let flight_size = law.cwnd();
        let (now, srtt) = (Time::ZERO, Duration::ZERO);
        law.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size, srtt, min_rtt: srtt });
    }
    fn ack_at(now: Time, rtt: Duration) -> AckEvent {
        AckEvent { now, acked_bytes: MSS, srtt: rtt, rtt: Some(rtt), may_grow: true, ..AckEvent::default() }
    }
    fn secs(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }
    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} ± {tolerance}");
    }
    /// A law whose epoch began at time zero after a loss at `w`.
    fn after_loss_at(flavour: Flavour, w: u32) -> Windowed<Cubic> {
        let mut law = law(flavour, w, &[]);
        loss(&mut law);
        law.law.begin_epoch(law.window.cwnd, Time::ZERO);
        law
    }

    /// RFC 9438 eq. 1 and 2 after a loss at 100: from 70 back to 100 in K = 4.2172 s, then beyond.
    #[test]
    fn the_curve_of_the_rfc() {
        let law = after_loss_at(Flavour::Paper, 100);
        close(law.curve.k, 4.2172, 5e-5);
        for (t, w) in [
            (0.0, 70.0),
            (1.0, 86.681),
            (2.0, 95.640),
            (3.0, 99.279),
            (4.2172, 100.0),
            (5.0, 100.192),
            (6.0, 102.267),
            (8.0, 121.653),
            (10.0, 177.354),
        ] {
            close(law.w_cubic(t), w, 5e-4);
        }
        let law = after_loss_at(Flavour::Paper, 1000);
        close(law.curve.k, 9.0856, 5e-5);
        for (t, w) in [(1.0, 788.555), (5.0, 972.721), (10.0, 1000.306)] {
            close(law.w_cubic(t), w, 5e-4);
        }
    }

    /// RFC 9438 eq. 4, one window acknowledged per RTT, after a loss at 100.
    #[test]
    fn the_reno_friendly_estimate_of_the_rfc() {
        for (rtt_ms, at_ms, w_est) in [
            (100, 1000, 75.29),
            (100, 2000, 80.59),
            (100, 4000, 91.18),
            (30, 990, 87.47),
            (30, 2010, 110.18), // α = 1 from 100 on
            (10, 1000, 143.18),
        ] {
            let mut law = after_loss_at(Flavour::Paper, 100);
            (0..at_ms / rtt_ms).for_each(|_| law.grow_estimate_rfc(1.0));
            close(law.curve.w_est, w_est, 0.005);
        }
    }

    /// §4.3: at RTT 30 ms and t = 0.99 s, W_est 87.47 > W_cubic 86.56: the Reno-friendly region.
    #[test]
    fn the_reno_friendly_region() {
        let step = |reno_friendly| {
            let mut law = law(Flavour::Paper, 100, &[("reno_friendly", Given::Flag(reno_friendly))]);
            loss(&mut law);
            law.law.begin_epoch(law.window.cwnd, Time::ZERO);
            (0..33).for_each(|_| law.grow_estimate_rfc(1.0));
            close(law.w_cubic(0.99), 86.56, 0.005);
            law.on_ack(&ack_at(Time::ZERO + secs(0.99), secs(0.03)));
            law.window.cwnd
        };
        close(step(true), 87.47, 0.01);
        // (target − W)/W = (W_cubic(1.02) − 70)/70
        close(step(false), 70.0 + (86.92 - 70.0) / 70.0, 0.001);
    }

    /// §4.2: the target is never more than 1.5 W, so W grows by at most half in an RTT.
    #[test]
    fn the_target_is_clamped() {
        let mut law = after_loss_at(Flavour::Paper, 100);
        law.on_ack(&ack_at(Time::ZERO + secs(20.0), secs(0.1)));
        close(law.window.cwnd, 70.5, 1e-9);
    }

    /// §4.7: a loss at 80 after one at 100 takes W_max to 80 · (1 + 0.7)/2 = 68.
    #[test]
    fn fast_convergence() {
        for (on, w_max) in [(true, 68.0), (false, 80.0)] {
            let mut law = law(Flavour::Paper, 100, &[("fast_convergence", Given::Flag(on))]);
            loss(&mut law);
            law.window.cwnd = 80.0;
            loss(&mut law);
            close(law.curve.w_max, w_max, 1e-9);
        }
    }

    /// §4.6: the RFC takes β of what is in flight, Linux of the window; both leave at least two segments.
    #[test]
    fn ssthresh_from_flight_size_or_window() {
        let at = |flavour, w, flight_size| {
            let mut law = law(flavour, w, &[]);
            let srtt = Duration::ZERO;
            law.on_congestion(&CongestionEvent {
                now: Time::ZERO,
                signal: Signal::Ecn,
                flight_size,
                srtt,
                min_rtt: srtt,
            });
            (law.cwnd(), law.ssthresh())
        };
        assert_eq!(at(Flavour::Paper, 100, 50_000), (35_000, 35_000));
        assert_eq!(at(Flavour::Paper, 100, 200_000), (70_000, 70_000), "never more than the window");
        assert_eq!(at(Flavour::Linux, 100, 50_000), (70_000, 70_000));
        assert_eq!(at(Flavour::Paper, 2, 2_000), (1_400, 2_000), "an ECN echo may go below two segments");
        assert_eq!(at(Flavour::Linux, 2, 2_000), (2_000, 2_000));
    }

    /// Linux after a loss at 100, min RTT 100 ms: K = 4.216 s; whole-segment targets 73, 88, 97, 100, 102.
    #[test]
    fn the_curve_of_linux() {
        let law = after_loss_at(Flavour::Linux, 100);
        close(law.curve.k, 4.216, 5e-4);
        for (t, target) in [(0.0, 73.0), (1.0, 88.0), (2.0, 97.0), (4.0, 100.0), (6.0, 102.0)] {
            assert_eq!(law.target_linux(t + 0.1), target, "at {t} s");
        }
    }

    /// Linux: W = 70, target 73 at the start of the epoch: one segment per 70/3 = 23 acknowledged;
    /// the count stays for 1/32 s, then follows the curve.
    #[test]
    fn linux_steps_by_count() {
        let mut law = law(Flavour::Linux, 100, &[]);
        law.curve.delay_min = Some(secs(0.1));
        loss(&mut law);
        let count = |law: &mut Windowed<Cubic>, t: f64| law.law.count_linux(law.window.cwnd, Time::ZERO + secs(t), 1.0);
        assert_eq!(count(&mut law, 0.0), 23.0);
        assert_eq!(count(&mut law, 0.031), 23.0);
        assert_eq!(count(&mut law, 1.0), 3.0); // 70/(88 − 70)
        law.window.cwnd = 95.0;
        assert_eq!(count(&mut law, 1.01), 9_500.0, "at or above the target W all but stands still");
        law.window.cwnd = 70.0;
        assert_eq!(count(&mut law, 3.0), 2.0, "never faster than half a window per RTT");
    }

    /// Linux: before the first loss W grows at least by 1/20 per segment, even at the plateau.
    #[test]
    fn linux_searches_before_the_first_loss() {
        let mut law = law(Flavour::Linux, 100, &[]);
        assert_eq!(law.law.count_linux(law.window.cwnd, Time::ZERO, 1.0), 20.0);
    }

    /// Linux: W_est gains one per 15/8 W acknowledged and W follows it within a window.
    #[test]
    fn the_reno_friendly_estimate_of_linux() {
        let mut law = after_loss_at(Flavour::Linux, 100);
        law.curve.est_credit = 131.0 * 10.0 + 1.0; // ⌊70 · 15/8⌋ = 131
        assert_eq!(law.friendly_count_linux(70.0), 7.0); // 70/(80 − 70)
        close(law.curve.w_est, 80.0, 0.0);
        close(law.curve.est_credit, 1.0, 0.0);
    }

    /// Time without data in flight is not time on the curve; the RFC leaves out unused windows too.
    #[test]
    fn idle_time_does_not_move_the_curve() {
        let idle = secs(2.0);
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut law = after_loss_at(flavour, 100);
            let now = Time::ZERO + secs(3.0);
            law.last_ack = Time::ZERO + secs(1.0);
            law.on_idle(&IdleEvent { now, idle, app_limited: true });
            assert_eq!((law.cwnd(), law.curve.epoch), (70_000, Some(Time::ZERO + idle)));
            let unused = AckEvent { may_grow: false, ..ack_at(now + secs(0.5), secs(0.1)) };
            law.on_ack(&unused);
            let shifted = if flavour == Flavour::Paper { secs(2.5) } else { idle };
            assert_eq!(law.curve.epoch, Some(Time::ZERO + shifted));
        }
    }

    /// A timeout: ssthresh 70, W = 1; the next congestion avoidance starts at its own plateau (§4.8).
    #[test]
    fn a_timeout_restarts_at_the_plateau() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut law = law(flavour, 100, &[]);
            law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 100_000, first: true, in_flight: 0 });
            assert_eq!((law.cwnd(), law.ssthresh()), (1_000, 70_000));
            law.window.cwnd = 70.0;
            law.on_ack(&ack_at(Time::ZERO + secs(9.0), secs(0.1)));
            assert_eq!((law.curve.k, law.curve.origin), (0.0, 70.0));
        }
    }

    /// §4.9: an undo restores the curve in the RFC, W and ssthresh in both.
    #[test]
    fn undo() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut law = after_loss_at(flavour, 100);
            law.window.cwnd = 90.0;
            loss(&mut law);
            law.on_undo(&UndoEvent { now: Time::ZERO });
            assert_eq!((law.cwnd(), law.ssthresh()), (90_000, 70_000));
            let restored = law.curve.epoch == Some(Time::ZERO) && law.curve.w_max == 100.0;
            assert_eq!(restored, flavour == Flavour::Paper);
        }
    }

    /// HyStart ends slow start at W, and W then grows on the curve from there.
    #[test]
    fn hystart_ends_slow_start() {
        let cx = Context { initial_window: 64, ..Context::new(MSS as u32) };
        let mut law = made(&cx, &[]);
        let ms = Duration::from_millis;
        for (i, rtt) in [40].into_iter().chain([60; 12]).enumerate() {
            let snd_una = 1 + i as u64;
            law.on_ack(&AckEvent {
                snd_una,
                snd_nxt: if i == 0 { 1 } else { 100 },
                ..ack_at(Time::ZERO + ms(5 * snd_una), ms(rtt))
            });
        }
        assert!(law.ssthresh() < u64::MAX);
    }

    /// Linux takes no RTT sample in the first second of an epoch: it would tell of the queue that the loss left.
    #[test]
    fn samples_of_the_first_second_do_not_count() {
        let mut law = after_loss_at(Flavour::Linux, 100);
        law.on_ack(&ack_at(Time::ZERO + secs(0.999), secs(0.05)));
        assert_eq!(law.curve.delay_min, None);
        law.on_ack(&ack_at(Time::ZERO + secs(1.0), secs(0.06)));
        assert_eq!(law.curve.delay_min, Some(secs(0.06)));
    }

    /// §4.1.2: after a first slow start without loss cwnd_prior is the window at its end, from which on α is 1.
    #[test]
    fn the_first_slow_start_sets_cwnd_prior() {
        let mut law = law(Flavour::Paper, 100, &[]);
        law.law.begin_epoch(law.window.cwnd, Time::ZERO);
        law.grow_estimate_rfc(1.0);
        close(law.curve.w_est, 101.0, 1e-9);
        close(law.curve.cwnd_prior, 100.0, 0.0);
    }

    /// Linux's count: never below 2 however far the target; kept for 1/32 s. After a loss at 1000 W = 700 and
    /// K = 9.0825 s: targets 710 at once, 713 after 31.3 ms, counts 700/10 and ⌊700/13⌋.
    #[test]
    fn linux_recounts_after_a_thirty_second_of_a_second() {
        let mut law = law(Flavour::Linux, 1000, &[]);
        law.curve.delay_min = Some(secs(0.1));
        loss(&mut law);
        for (t, count) in [(0.0, 70.0), (0.0312, 70.0), (0.0313, 53.0), (60.0, 2.0)] {
            assert_eq!(law.law.count_linux(law.window.cwnd, Time::ZERO + secs(t), 1.0), count, "at {t} s");
        }
    }

    /// The segment that begins the epoch counts towards Linux's W_est.
    #[test]
    fn the_first_ack_of_an_epoch_counts() {
        let mut law = law(Flavour::Linux, 100, &[]);
        loss(&mut law);
        law.law.count_linux(law.window.cwnd, Time::ZERO, 2.0);
        close(law.curve.est_credit, 2.0, 0.0);
    }

    /// A timeout repeated for the same data leaves ssthresh and the curve alone (RFC 5681 §3.1).
    #[test]
    fn a_repeated_timeout_leaves_ssthresh() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut law = law(flavour, 100, &[]);
            for first in [true, false] {
                law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 100_000, first, in_flight: 0 });
                assert_eq!((law.cwnd(), law.ssthresh()), (1_000, 70_000));
            }
        }
    }

    /// §4.7 lowers W_max only where the loss came below it, not at it; Linux keeps whole segments.
    #[test]
    fn w_max_at_the_edge() {
        for (flavour, w, w_max) in
            [(Flavour::Paper, 100.0, 100.0), (Flavour::Linux, 100.0, 100.0), (Flavour::Linux, 110.5, 110.0)]
        {
            let mut law = after_loss_at(flavour, 100);
            law.window.cwnd = w;
            loss(&mut law);
            close(law.curve.w_max, w_max, 0.0);
        }
    }

    /// §4.2: the target is never below W: a window above its curve stays.
    #[test]
    fn a_window_above_its_curve_stays() {
        let mut law = law(Flavour::Paper, 100, &[("reno_friendly", Given::Flag(false))]);
        loss(&mut law);
        law.law.begin_epoch(law.window.cwnd, Time::ZERO);
        law.window.cwnd = 90.0;
        law.on_ack(&ack_at(Time::ZERO, secs(0.1)));
        assert_eq!(law.window.cwnd, 90.0);
    }

    /// After an idle time W is the proposed one and the epoch not in the future; recovery is time on the curve.
    #[test]
    fn a_restart_and_the_clock() {
        let now = Time::ZERO + secs(3.0);
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut law = after_loss_at(flavour, 100);
            law.last_ack = Time::ZERO;
            law.on_ack(&AckEvent { may_grow: false, phase: Phase::Recovery, ..ack_at(now, secs(0.1)) });
            assert_eq!(law.curve.epoch, Some(Time::ZERO));
            law.on_restart(&RestartEvent { now, cwnd: 10_000, ssthresh: 70_000 });
            assert_eq!((law.cwnd(), law.curve.epoch), (10_000, Some(Time::ZERO)));
            law.last_ack = Time::ZERO;
            law.on_idle(&IdleEvent { now, idle: secs(5.0), app_limited: true });
            assert_eq!(law.curve.epoch, Some(now));
        }
    }

    /// RFC 9406 §4.3: HyStart++ watches the first slow start only. An ACK of twenty segments counts for eight there,
    /// in full after a loss (here undone, so that slow start goes on) or a timeout.
    #[test]
    fn hystart_plus_plus_watches_the_first_slow_start_only() {
        let given = [("hystart", Given::Text("hystart++".into()))];
        let grown = |before: fn(&mut Windowed<Cubic>)| {
            let mut law = law(Flavour::Paper, 100, &given);
            law.window.ssthresh = f64::INFINITY;
            before(&mut law);
            let w = law.window.cwnd;
            law.on_ack(&AckEvent { acked_bytes: 20 * MSS, ..ack_at(Time::ZERO, secs(0.1)) });
            law.window.cwnd - w
        };
        assert_eq!(grown(|_| {}), 8.0);
        let undone = |law: &mut Windowed<Cubic>| {
            loss(law);
            law.on_undo(&UndoEvent { now: Time::ZERO });
        };
        assert_eq!(grown(undone), 20.0);
        assert_eq!(
            grown(|law| law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 0, first: false, in_flight: 0 })),
            20.0
        );
    }
}
