//! Deterministic response functions: the mean window of a law that loses every n-th packet, from its equations alone.
#![allow(dead_code, reason = "each test file uses its part")]

use cclab_algo::math::{cbrt, ln, pow};

/// A law that grows by `increase`(W) segments per RTT and keeps the share `keep`(W) at a loss.
///
/// From one loss at W_n to the next, n = ∫ W/a(W) dW packets and T = ∫ dW/a(W) round trips pass, from keep(W_n) W_n to
/// W_n; W_n is where n = 1/p, the mean window n/T.
pub struct Aimd {
    pub increase: fn(f64) -> f64,
    pub keep: fn(f64) -> f64,
}

impl Aimd {
    /// Packets and round trips of a cycle that ends at `w`, by the midpoint rule.
    fn cycle(&self, w: f64) -> (f64, f64) {
        const STEPS: u32 = 2000;
        let from = (self.keep)(w) * w;
        let dw = (w - from) / f64::from(STEPS);
        (0..STEPS).fold((0.0, 0.0), |(n, t), i| {
            let w = from + (f64::from(i) + 0.5) * dw;
            let dt = dw / (self.increase)(w);
            (n + w * dt, t + dt)
        })
    }

    /// W_n and the mean window at loss rate p.
    pub fn response(&self, p: f64, recovery: f64) -> (f64, f64) {
        response(|w| self.cycle(w), self.keep, p, recovery)
    }
}

/// The window before losses, and the mean, at loss rate p. Recovery adds so many round trips to each cycle, with what a loss
/// leaves of the window and without growth.
fn response(cycle: impl Fn(f64) -> (f64, f64), keep: impl Fn(f64) -> f64, p: f64, recovery: f64) -> (f64, f64) {
    let whole = |w| {
        let (n, t) = cycle(w);
        (n + recovery * keep(w) * w, t + recovery)
    };
    let w = solve(|w| whole(w).0 * p - 1.0);
    let (n, t) = whole(w);
    (w, n / t)
}

/// Where `f`, which rises, passes zero between 4 and 10^7.
fn solve(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (4.0, 1e7);
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}

/// CUBIC of RFC 9438 without fast convergence: in each cycle W is the larger of the curve from β W_max and of W_est,
/// α per RTT, until it is back at W_max.
pub struct Curve {
    pub rtt: f64,
}

impl Curve {
    const C: f64 = 0.4;
    const BETA: f64 = 0.7;

    /// Packets and round trips of a cycle that ends at `w`, by the midpoint rule.
    fn cycle(&self, w: f64) -> (f64, f64) {
        const STEPS: u32 = 2000;
        let alpha = 3.0 * (1.0 - Self::BETA) / (1.0 + Self::BETA);
        let k = cbrt((1.0 - Self::BETA) * w / Self::C);
        let end = k.min((1.0 - Self::BETA) * w / alpha * self.rtt);
        let dt = end / f64::from(STEPS);
        let packets = (0..STEPS).map(|i| {
            let t = (f64::from(i) + 0.5) * dt;
            let curve = Self::C * pow(t - k, 3.0) + w;
            curve.max(Self::BETA * w + alpha * t / self.rtt) * dt / self.rtt
        });
        (packets.sum(), end / self.rtt)
    }

    /// W_max and the mean window at loss rate p.
    pub fn response(&self, p: f64, recovery: f64) -> (f64, f64) {
        response(|w| self.cycle(w), |_| Self::BETA, p, recovery)
    }
}

pub const RENO: Aimd = Aimd { increase: |_| 1.0, keep: |_| 0.5 };
pub const SCALABLE: Aimd =
    Aimd { increase: |w| if w <= 16.0 { 1.0 } else { 0.01 * w }, keep: |w| if w <= 16.0 { 0.5 } else { 0.875 } };
pub const SCALABLE_LINUX: Aimd = Aimd { increase: |w| if w <= 100.0 { 1.0 } else { 0.01 * w }, keep: |_| 0.875 };
pub const HSTCP: Aimd = Aimd {
    increase: |w| {
        let b = 1.0 - (HSTCP.keep)(w);
        if w <= 38.0 { 1.0 } else { (w * w / (12.8 * pow(w, 1.2)) * 2.0 * b / (2.0 - b)).max(1.0) }
    },
    keep: |w| if w <= 38.0 { 0.5 } else { 0.5 + 0.4 * ln(w / 38.0) / ln(83_000.0 / 38.0) },
};
