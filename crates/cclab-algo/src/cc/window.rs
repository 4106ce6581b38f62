//! The window that Reno and its relatives share: slow start, additive increase, halving, undo.

use super::{Context, RestartEvent};

/// A congestion window W and its threshold, in segments.
///
/// Linux counts whole segments and saves up credit (`cong_avoid_ai`); the papers add fractions.
/// Both are here: [`Window::add_credit`] and [`Window::add_fraction`].
#[derive(Clone, Debug)]
pub struct Window {
    /// W, in segments.
    pub cwnd: f64,
    /// Slow-start threshold, in segments; infinite while arbitrarily high.
    pub ssthresh: f64,
    /// ACKed segments saved up towards the next whole segment.
    credit: f64,
    prior: Option<(f64, f64)>,
    mss: f64,
}

impl Window {
    /// The window of a new connection.
    pub fn new(cx: &Context) -> Self {
        Window {
            cwnd: f64::from(cx.initial_window),
            ssthresh: cx.initial_ssthresh.map_or(f64::INFINITY, |b| b as f64 / f64::from(cx.mss)),
            credit: 0.0,
            prior: None,
            mss: f64::from(cx.mss),
        }
    }

    /// Bytes in segments of this connection.
    pub fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / self.mss
    }
    /// What is in flight, in segments, as far as the window allowed it.
    ///
    /// A loss is judged by FlightSize (RFC 5681 §3.1), but not by what limited transmit added to it (§3.2), nor by
    /// what recovery sent beyond a hole that is open for long.
    pub fn used(&self, flight_size: u64) -> f64 {
        self.segments(flight_size).min(self.cwnd)
    }
    /// Whether W < ssthresh (strictly, as Linux).
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start: W grows by what was acknowledged, up to ssthresh. Returns what is left over.
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        let grown = (self.cwnd + acked).min(self.ssthresh.max(self.cwnd));
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// One segment more for every `w` acknowledged, whole segments only (Linux `tcp_cong_avoid_ai`).
    pub fn add_credit(&mut self, w: f64, acked: f64) {
        if self.credit >= w {
            self.credit = 0.0;
            self.cwnd += 1.0;
        }
        self.credit += acked;
        if self.credit >= w {
            let whole = (self.credit / w).floor();
            self.credit -= whole * w;
            self.cwnd += whole;
        }
    }

    /// W += acked / w (RFC 5681 eq. 3 with w = W).
    pub fn add_fraction(&mut self, w: f64, acked: f64) {
        self.cwnd += acked / w;
    }

    /// Lowers W and ssthresh to `to` segments, remembering both for an undo.
    pub fn reduce(&mut self, to: f64) {
        self.prior = Some((self.cwnd, self.ssthresh));
        self.ssthresh = to;
        self.cwnd = self.cwnd.min(to);
        self.credit = 0.0;
    }

    /// Takes W down to `to`, at least two segments, by the law's own judgement: nothing was lost, so there is nothing
    /// to undo, and ssthresh follows, or slow start would take the step back.
    pub fn step_down(&mut self, to: f64) {
        self.cwnd = to.max(self.cwnd.min(2.0));
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// A timeout: W = 1; ssthresh falls to `ssthresh` if it is given (the first timeout of this data).
    pub fn time_out(&mut self, ssthresh: Option<f64>) {
        if let Some(to) = ssthresh {
            self.prior = Some((self.cwnd, self.ssthresh));
            self.ssthresh = to;
        }
        self.cwnd = 1.0;
        self.credit = 0.0;
    }

    /// Takes the last reduction back: W and ssthresh as they were, if larger.
    pub fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// Takes the smaller window that the endpoint proposes after an idle time.
    pub fn restart(&mut self, ev: &RestartEvent) {
        self.cwnd = self.cwnd.min(self.segments(ev.cwnd)).max(1.0);
        if self.ssthresh.is_finite() {
            self.ssthresh = self.ssthresh.max(self.segments(ev.ssthresh));
        }
        self.credit = 0.0;
    }

    /// W in bytes, at least one segment.
    pub fn cwnd_bytes(&self) -> u64 {
        (self.cwnd.max(1.0) * self.mss) as u64
    }
    /// The threshold in bytes, `u64::MAX` while arbitrarily high.
    pub fn ssthresh_bytes(&self) -> u64 {
        if self.ssthresh.is_finite() { (self.ssthresh * self.mss) as u64 } else { u64::MAX }
    }
}
