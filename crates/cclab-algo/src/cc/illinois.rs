//! Illinois: a loss decides when the window falls; the delay, how much it grows and falls.
//!
//! Sources: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for
//! high-speed networks", Performance Evaluation 65, 2008; Linux `tcp_illinois.c` (6.x). They are one law in reals and in
//! fixed point; the `flavour` decides: Linux has α in 128ths and β in 64ths, rounded down, whole segments, and saves
//! up the segments acknowledged until α times them make one.

use super::{AckEvent, Build, Context, Entry, RestartEvent, TimeoutEvent, Window, WindowLaw, Windowed};
use crate::estimate::{Round, Rtts};
use crate::params::{Flavour, Kind, Params, Spec, Value};
use crate::slow_start::{MAX_SSTHRESH, SlowStart};
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "illinois",
    summary: "additive increase from 10 down to 0.3 and decrease from 1/8 up to 1/2 as the queueing delay grows",
    source: "Liu, Başar, Srikant, Performance Evaluation 2008; Linux tcp_illinois.c",
    params: &[
        Spec {
            name: "alpha_min",
            kind: Kind::Number { min: 0.01, max: 10.0 },
            default: Value::Number(38.0 / 128.0),
            paper_default: Some(Value::Number(0.3)),
            unit: "segments",
            doc: "increase per RTT where the delay is largest; Linux 38/128",
        },
        Spec {
            name: "alpha_max",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            default: Value::Number(10.0),
            paper_default: None,
            unit: "segments",
            doc: "increase per RTT where the delay is small",
        },
        Spec {
            name: "beta_min",
            kind: Kind::Number { min: 0.01, max: 0.5 },
            default: Value::Number(0.125),
            paper_default: None,
            unit: "",
            doc: "share that a loss takes where the delay is small",
        },
        Spec {
            name: "beta_max",
            kind: Kind::Number { min: 0.5, max: 0.9 },
            default: Value::Number(0.5),
            paper_default: None,
            unit: "",
            doc: "share that a loss takes where the delay is large",
        },
        Spec {
            name: "window_threshold",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(15.0),
            paper_default: None,
            unit: "segments",
            doc: "below this window it is Reno",
        },
        Spec {
            name: "theta",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            default: Value::Number(5.0),
            paper_default: None,
            unit: "RTTs",
            doc: "once the delay was large, it must be small for so many RTTs in a row before alpha_max returns",
        },
        MAX_SSTHRESH,
    ],
    build: Build::Native(|cx, params| {
        Box::new(Windowed::new(cx, SlowStart::limited(params), Illinois::new(cx, params)))
    }),
};

/// Illinois' window law.
pub struct Illinois {
    alpha_range: (f64, f64),
    beta_range: (f64, f64),
    window_threshold: f64,
    theta: f64,
    linux: bool,
    alpha: f64,
    beta: f64,
    base_rtt: Duration,
    max_rtt: Duration,
    round: Round,
    rtts: Rtts,
    /// The delay has been large, and for so many rounds small again.
    was_large: bool,
    small_rounds: f64,
    /// Linux: segments acknowledged since W last grew.
    credit: f64,
}

impl Illinois {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        Illinois {
            alpha_range: (params.number("alpha_min"), params.number("alpha_max")),
            beta_range: (params.number("beta_min"), params.number("beta_max")),
            window_threshold: params.number("window_threshold"),
            theta: params.number("theta"),
            linux: cx.flavour == Flavour::Linux,
            alpha: params.number("alpha_max"),
            beta: params.number("beta_max"),
            base_rtt: Duration::MAX,
            max_rtt: Duration::ZERO,
            round: Round::default(),
            rtts: Rtts::default(),
            was_large: false,
            small_rounds: 0.0,
            credit: 0.0,
        }
    }

    /// α at the mean queueing delay `da` where the largest is `dm` (in one unit): α_max up to d1 = dm/100, then
    /// κ1/(κ2 + da), which is α_min at dm.
    fn alpha_at(&mut self, da: f64, dm: f64) -> f64 {
        let d1 = dm / 100.0;
        let (least, most) = self.alpha_range;
        if da <= d1 {
            self.small_rounds += 1.0;
            if self.was_large && self.small_rounds < self.theta {
                return self.alpha;
            }
            self.was_large = false;
            self.small_rounds = 0.0;
            return most;
        }
        self.was_large = true;
        if !self.linux {
            self.small_rounds = 0.0; // Linux does not begin to count again
        }
        let (dm, da) = (dm - d1, da - d1);
        dm * most / (dm + da * (most - least) / least)
    }

    /// β at `da`: β_min up to d2 = dm/10, β_max from d3 = 8 dm/10 on, linear between.
    fn beta_at(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (dm / 10.0, 8.0 * dm / 10.0);
        let (least, most) = self.beta_range;
        if da <= d2 { least } else { (least + (most - least) * (da - d2) / (d3 - d2)).min(most) }
    }

    /// The round is over: α and β for the next.
    fn judge(&mut self, w: f64) {
        let rtts = std::mem::take(&mut self.rtts);
        if w < self.window_threshold {
            (self.alpha, self.beta) = (1.0, self.beta_range.1);
        } else if rtts.count > 0 {
            let [da, dm] = [rtts.mean(), self.max_rtt].map(|rtt| rtt.saturating_sub(self.base_rtt).0 as f64);
            let (alpha, beta) = (self.alpha_at(da, dm), self.beta_at(da, dm));
            (self.alpha, self.beta) = match self.linux {
                true => ((alpha * 128.0).floor() / 128.0, (beta * 64.0).floor() / 64.0),
                false => (alpha, beta),
            };
        }
    }

    fn grow_linux(&mut self, w: &mut Window, acked: f64) {
        self.credit += acked;
        let grown = (self.credit * self.alpha).floor();
        if grown >= w.cwnd.floor() {
            w.cwnd += (grown / w.cwnd.floor()).floor();
            self.credit = 0.0;
        }
    }
}

impl WindowLaw for Illinois {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.rtts.add(rtt);
        }
        if self.round.is_over(ev.snd_una, ev.snd_nxt) {
            self.judge(w.cwnd);
        }
    }

    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if w.in_slow_start() {
            w.slow_start(acked);
        } else {
            self.avoid(w, acked, ev);
        }
    }

    /// W += α/W for each segment acknowledged.
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        match self.linux {
            true => self.grow_linux(w, acked),
            false => w.add_fraction(w.cwnd, self.alpha * acked),
        }
    }

    /// (1 − β) W.
    fn decrease(&mut self, w: &Window, _now: Time, flight_size: u64) -> f64 {
        self.credit = 0.0;
        match self.linux {
            true => (w.cwnd.floor() - (w.cwnd.floor() * self.beta).floor()).max(2.0),
            false => (w.used(flight_size) * (1.0 - self.beta)).max(2.0),
        }
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        w.time_out(ev.first.then(|| self.decrease(w, ev.now, ev.flight_size)));
        (self.alpha, self.beta) = (1.0, self.beta_range.1);
        (self.was_large, self.small_rounds) = (false, 0.0);
        (self.rtts, self.credit) = (Rtts::default(), 0.0);
    }

    fn on_restart(&mut self, w: &mut Window, ev: &RestartEvent) {
        w.restart(ev);
        self.credit = 0.0;
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("increase_segments", self.alpha);
        record("decrease_share", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::testing::{law_of, lose};
    use crate::units::Time;

    fn law(flavour: Flavour, w: u32) -> Windowed<Illinois> {
        law_of(&ENTRY, flavour, w, &[], Illinois::new)
    }
    fn round(law: &mut Windowed<Illinois>, rtts: &[u64]) {
        for (i, &rtt) in rtts.iter().enumerate() {
            let snd_una = if i + 1 == rtts.len() { law.round.end + 1 } else { 0 };
            let rtt = Some(Duration::from_micros(rtt));
            law.on_ack(&AckEvent { rtt, snd_una, snd_nxt: snd_una, ..AckEvent::default() });
        }
    }

    /// A largest queueing delay of 100 ms: α and β at eight mean delays.
    #[test]
    fn alpha_and_beta_of_the_paper() {
        for (da, alpha, beta) in [
            (0.001, 10.0, 0.125),
            (0.005, 4.336, 0.125),
            (0.010, 2.539, 0.125),
            (0.020, 1.388, 0.1786),
            (0.045, 0.651, 0.3125),
            (0.050, 0.588, 0.339),
            (0.080, 0.373, 0.5),
            (0.100, 0.300, 0.5),
        ] {
            let mut law = law(Flavour::Paper, 100);
            assert!((law.alpha_at(da, 0.1) - alpha).abs() < 1e-3, "{da} s: {}", law.alpha_at(da, 0.1));
            assert!((law.beta_at(da, 0.1) - beta).abs() < 3e-4, "{da} s: {}", law.beta_at(da, 0.1));
        }
    }

    /// RTTs from 50 to 150 ms: a round at 70 ms on the average has da = 20 ms; Linux in 128ths and 64ths, rounded down.
    #[test]
    fn a_round_is_judged_by_its_mean() {
        for (flavour, alpha, beta) in [(Flavour::Paper, 1.388, 0.1786), (Flavour::Linux, 176.0 / 128.0, 11.0 / 64.0)] {
            let mut law = law(flavour, 100);
            round(&mut law, &[50_000, 150_000]);
            round(&mut law, &[60_000, 80_000]);
            assert!((law.alpha - alpha).abs() < 1e-3 && (law.beta - beta).abs() < 1e-4, "{} {}", law.alpha, law.beta);
            lose(&mut law);
            assert!((law.window.cwnd - if flavour == Flavour::Linux { 83.0 } else { 82.14 }).abs() < 0.01);
        }
    }

    /// α_max returns after five small rounds in a row, at once if the delay was never large.
    #[test]
    fn five_small_rounds() {
        let mut law = law(Flavour::Linux, 100);
        round(&mut law, &[50_000]);
        assert_eq!(law.alpha, 10.0);
        round(&mut law, &[150_000, 150_000]);
        let large = law.alpha;
        assert!(large < 0.31);
        for n in 1..=5 {
            round(&mut law, &[50_000]);
            assert_eq!(law.alpha, if n < 5 { large } else { 10.0 }, "round {n}");
        }
    }

    /// A large round after three small ones: the paper's θ = 5 are in a row, Linux goes on with its count.
    #[test]
    fn small_rounds_in_a_row() {
        for (flavour, rounds) in [(Flavour::Paper, 5), (Flavour::Linux, 2)] {
            let mut law = law(flavour, 100);
            for rtt in [50_000, 150_000, 50_000, 50_000, 50_000, 150_000] {
                round(&mut law, &[rtt, rtt]);
            }
            for n in 1..=rounds {
                round(&mut law, &[50_000]);
                assert_eq!(law.alpha == 10.0, n == rounds, "{flavour:?}, round {n}");
            }
        }
    }

    /// Below 15 segments, and after a timeout until the next round, Reno: α = 1, half.
    #[test]
    fn reno_where_the_window_is_small() {
        let mut small = law(Flavour::Paper, 14);
        round(&mut small, &[50_000]);
        assert_eq!((small.alpha, small.beta), (1.0, 0.5));
        let mut law = law(Flavour::Linux, 100);
        round(&mut law, &[50_000]);
        law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 0, first: true, in_flight: 0 });
        assert_eq!((law.window.cwnd, law.alpha, law.beta), (1.0, 1.0, 0.5));
    }

    /// Linux at W = 100 and α = 10: one more after ten segments; an ACK of thirty gives three.
    #[test]
    fn linux_steps_after_enough_credit() {
        let mut law = law(Flavour::Linux, 100);
        (0..9).for_each(|_| law.law.grow_linux(&mut law.window, 1.0));
        assert_eq!(law.window.cwnd, 100.0);
        law.law.grow_linux(&mut law.window, 1.0);
        assert_eq!(law.window.cwnd, 101.0);
        law.law.grow_linux(&mut law.window, 31.0);
        assert_eq!(law.window.cwnd, 104.0);
    }
}
