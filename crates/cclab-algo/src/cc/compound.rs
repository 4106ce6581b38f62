//! Compound TCP: Reno's window plus one that grows while there is no queue and gives way to one.
//!
//! Sources: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-Speed and Long Distance
//! Networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp-02. Windows had it; Linux never did, so the `flavour` chooses
//! nothing here. W = cwnd + dwnd (the
//! paper's win) is kept, and dwnd.

use super::{AckEvent, Build, Entry, Phase, RestartEvent, TimeoutEvent, UndoEvent, Window, WindowLaw, Windowed};
use crate::estimate::{Round, Rtts};
use crate::math::pow;
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::{MAX_SSTHRESH, SlowStart};
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "compound",
    summary: "Compound TCP: Reno plus a delay-based window that fills an empty path fast and yields to a queue",
    source: "Tan, Song, Zhang, Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
    params: &[
        Spec {
            name: "alpha",
            kind: Kind::Number { min: 0.001, max: 10.0 },
            default: Value::Number(0.125),
            paper_default: None,
            unit: "",
            doc: "W grows by alpha W^k per RTT while there is no queue",
        },
        Spec {
            name: "beta",
            kind: Kind::Number { min: 0.01, max: 0.9 },
            default: Value::Number(0.5),
            paper_default: None,
            unit: "",
            doc: "share of W that a loss takes",
        },
        Spec {
            name: "k",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.75),
            paper_default: None,
            unit: "",
            doc: "the exponent of that growth",
        },
        Spec {
            name: "zeta",
            kind: Kind::Number { min: 0.0, max: 10.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "",
            doc: "dwnd falls by zeta times the segments in the queue per RTT",
        },
        Spec {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 10_000.0 },
            default: Value::Number(30.0),
            paper_default: None,
            unit: "segments",
            doc: "so many of its own segments in the queue are one; where tuned, the value to begin with",
        },
        Spec {
            name: "gamma_tuning",
            kind: Kind::Flag,
            default: Value::Flag(false),
            paper_default: None,
            unit: "",
            doc: "gamma follows 3/4 of what Reno's part had in the queue before losses, within 5 to 30 (TUBE)",
        },
        Spec {
            name: "low_window",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(38.0),
            paper_default: None,
            unit: "segments",
            doc: "below this window dwnd does not grow",
        },
        MAX_SSTHRESH,
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::limited(params), Compound::new(params)))),
};

/// Bounds of a tuned γ, in segments.
const GAMMA_RANGE: (f64, f64) = (5.0, 30.0);
/// Weight of the newest loss in the mean that tunes γ.
const LAMBDA: f64 = 0.8;

/// Compound TCP's window law.
pub struct Compound {
    alpha: f64,
    beta: f64,
    k: f64,
    zeta: f64,
    gamma: f64,
    gamma_tuning: bool,
    low_window: f64,
    /// The delay-based part of W, in segments.
    dwnd: f64,
    prior_dwnd: f64,
    base_rtt: Duration,
    round: Round,
    rtts: Rtts,
    /// Segments in the queue in the last round; NaN before the first.
    diff: f64,
    /// Mean of Reno's part of them before losses, if there was one.
    diff_reno: Option<f64>,
}

impl Compound {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Compound {
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            k: params.number("k"),
            zeta: params.number("zeta"),
            gamma: params.number("gamma"),
            gamma_tuning: params.flag("gamma_tuning"),
            low_window: params.number("low_window"),
            dwnd: 0.0,
            prior_dwnd: 0.0,
            base_rtt: Duration::MAX,
            round: Round::default(),
            rtts: Rtts::default(),
            diff: f64::NAN,
            diff_reno: None,
        }
    }

    /// diff = (expected − actual) · base = W (1 − base/rtt) (eq. 4), with the round's mean RTT.
    fn estimate(&mut self, w: f64) {
        let rtt = self.rtts.sum.0 as f64 / f64::from(self.rtts.count);
        self.diff = w * (1.0 - self.base_rtt.0 as f64 / rtt.max(1.0)).max(0.0);
    }

    /// Once per round outside slow start: what dwnd changes by (eq. 5).
    fn change(&self, w: f64) -> f64 {
        if self.diff >= self.gamma {
            -(self.zeta * self.diff).min(self.dwnd)
        } else if w >= self.low_window {
            (self.alpha * pow(w, self.k) - 1.0).max(0.0)
        } else {
            0.0
        }
    }

    fn end_round(&mut self, w: &mut Window, ev: &AckEvent) {
        if self.rtts.count > 0 {
            self.estimate(w.cwnd);
            let change = self.change(w.cwnd);
            if !w.in_slow_start() && ev.phase == Phase::Open && (ev.may_grow || change < 0.0) {
                self.dwnd += change;
                w.cwnd = (w.cwnd + change).max(w.cwnd.min(2.0));
            }
        }
        self.rtts = Rtts::default();
    }

    /// γ = 3/4 of the mean of what Reno's part of W had in the queue before losses.
    fn tune_gamma(&mut self, w: f64) {
        if self.gamma_tuning && self.diff.is_finite() {
            let sample = self.diff * (1.0 - self.dwnd / w);
            let mean = self.diff_reno.map_or(sample, |mean| (1.0 - LAMBDA) * mean + LAMBDA * sample);
            self.diff_reno = Some(mean);
            self.gamma = (0.75 * mean).clamp(GAMMA_RANGE.0, GAMMA_RANGE.1);
        }
    }
}

impl WindowLaw for Compound {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.rtts.add(rtt);
        }
        if self.round.is_over(ev.snd_una, ev.snd_nxt) {
            self.end_round(w, ev);
        }
    }

    /// A loss: cwnd = cwnd/2, dwnd = max((1 − β) W − cwnd/2, 0) (eq. 5).
    fn decrease(&mut self, w: &Window, _now: Time, flight_size: u64) -> f64 {
        self.tune_gamma(w.cwnd);
        self.prior_dwnd = self.dwnd;
        let reno = (w.cwnd - self.dwnd) / 2.0;
        self.dwnd = (w.used(flight_size) * (1.0 - self.beta) - reno).max(0.0);
        (reno + self.dwnd).max(2.0)
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        w.time_out(ev.first.then(|| self.decrease(w, ev.now, ev.flight_size)));
        self.dwnd = 0.0;
    }

    fn on_undo(&mut self, w: &mut Window, _ev: &UndoEvent) {
        w.undo();
        self.dwnd = self.prior_dwnd.min(w.cwnd);
    }

    fn on_restart(&mut self, w: &mut Window, ev: &RestartEvent) {
        w.restart(ev);
        self.dwnd = self.dwnd.min(w.cwnd / 2.0);
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("dwnd_segments", self.dwnd);
        record("diff_segments", self.diff);
        record("gamma_segments", self.gamma);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::closed_loop::Loop;
    use crate::cc::testing::{MSS, law_of, lose};
    use crate::cc::{CongestionControl, Context};
    use crate::params::{Flavour, Given};
    use crate::units::Time;

    fn law(w: u32, given: &[(&str, Given)]) -> Windowed<Compound> {
        law_of(&ENTRY, Flavour::Paper, w, given, |_, params| Compound::new(params))
    }
    /// A round in which all of W is acknowledged, a segment at a time, at this RTT.
    fn round(law: &mut Windowed<Compound>, rtt_us: u64) {
        let w = law.window.cwnd as u64;
        for i in 1..=w {
            law.on_ack(&AckEvent {
                acked_bytes: u64::from(MSS),
                rtt: Some(Duration::from_micros(rtt_us)),
                snd_una: if i == w { law.round.end + 1 } else { 0 },
                snd_nxt: law.round.end + 1,
                may_grow: true,
                ..AckEvent::default()
            });
        }
    }

    /// Growth of W per RTT without a queue: 1 + max(α W^k − 1, 0).
    #[test]
    fn growth_without_a_queue() {
        for (w, grown) in [(37, 1.0), (50, 2.350), (100, 3.953), (1000, 22.23), (10_000, 125.0)] {
            let mut law = law(w, &[]);
            round(&mut law, 100_000);
            let found = law.window.cwnd - f64::from(w);
            assert!((found - grown).abs() < 0.03, "{w}: {found}");
        }
    }

    /// A loss at W = 100 (cwnd 60, dwnd 40) leaves 50: cwnd 30, dwnd 20. An undo brings both back, a timeout takes dwnd.
    #[test]
    fn a_loss_takes_half() {
        let mut law = law(100, &[]);
        law.dwnd = 40.0;
        lose(&mut law);
        assert_eq!((law.window.cwnd, law.dwnd), (50.0, 20.0));
        law.on_undo(&UndoEvent { now: Time::ZERO });
        assert_eq!((law.window.cwnd, law.dwnd), (100.0, 40.0));
        law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 100_000, first: true, in_flight: 0 });
        assert_eq!((law.window.cwnd, law.window.ssthresh, law.dwnd), (1.0, 50.0, 0.0));
    }

    /// W = 1000, dwnd = 400: at 100 to 105 ms 47.6 segments wait, more than γ: dwnd gives as many. At 150 ms they are
    /// 333, and W = 500 has no dwnd left to give more.
    #[test]
    fn dwnd_gives_way_to_a_queue() {
        for (w, dwnd, rtt_us, left) in [(1000, 400.0, 105_000, 352.4), (500, 100.0, 150_000, 0.0)] {
            let mut law = law(w, &[]);
            (law.base_rtt, law.dwnd) = (Duration::from_millis(100), dwnd);
            round(&mut law, rtt_us);
            assert!((law.dwnd - left).abs() < 0.2, "{}", law.dwnd);
            assert!((law.window.cwnd - (f64::from(w) - dwnd + left + 1.0)).abs() < 0.3, "{}", law.window.cwnd);
        }
    }

    /// TUBE: γ = 3/4 of what Reno's part had in the queue, here 20 · 60 %, then 0.2 · 12 + 0.8 · 24, within 5 … 30.
    #[test]
    fn gamma_follows_the_queue_before_losses() {
        let mut law = law(100, &[("gamma_tuning", Given::Flag(true))]);
        for (diff, gamma) in [(20.0, 9.0), (40.0, 16.2), (1000.0, 30.0), (0.0, 30.0), (0.0, 14.53), (0.0, 5.0)] {
            (law.window.cwnd, law.dwnd, law.diff) = (100.0, 40.0, diff);
            lose(&mut law);
            assert!((law.gamma - gamma).abs() < 0.01, "{diff}: {}", law.gamma);
        }
    }

    /// Alone with a buffer that never fills, dwnd is gone and W grows as Reno's.
    #[test]
    fn in_a_standing_queue_it_is_reno() {
        let cx = Context { initial_window: 10, initial_ssthresh: Some(20_000), ..Context::new(MSS) };
        let build = |name| crate::cc::find(name).unwrap().make(&cx, &[]).unwrap();
        let [compound, reno] = ["compound", "reno"].map(|name| Loop::run(build(name), 1, 60.0).log.last().unwrap().1);
        assert!(compound.abs_diff(reno) <= 2, "{compound} {reno}");
    }
}
