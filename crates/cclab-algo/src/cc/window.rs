//! The window that Reno and its relatives share: slow start, additive increase, halving, undo.

use super::{AckEvent, Context, RestartEvent};
use crate::params::Flavour;
use crate::slow_start::SlowStart;
use crate::units::Duration;

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
    slow_start: SlowStart,
    mss: f64,
    linux: bool,
}

impl Window {
    /// The window of a new connection.
    pub fn new(cx: &Context, slow_start: SlowStart) -> Self {
        Window {
            cwnd: f64::from(cx.initial_window),
            ssthresh: cx.initial_ssthresh.map_or(f64::INFINITY, |b| b as f64 / f64::from(cx.mss)),
            credit: 0.0,
            prior: None,
            slow_start,
            mss: f64::from(cx.mss),
            linux: cx.flavour == Flavour::Linux,
        }
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> f64 {
        self.mss
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

    /// An ACK before the window grows by it, `min_rtt` being the smallest RTT as the law knows it: may end slow start.
    #[inline]
    pub fn watch(&mut self, ev: &AckEvent, min_rtt: Duration) {
        if self.in_slow_start() {
            self.watch_slow_start(ev, min_rtt);
        }
    }

    #[inline(never)] // as above
    fn watch_slow_start(&mut self, ev: &AckEvent, min_rtt: Duration) {
        if let Some(left) = self.slow_start.on_ack(ev, min_rtt, self.cwnd, self.ssthresh) {
            (self.cwnd, self.ssthresh) = (left, left);
        }
    }

    /// Slow start: W grows by what was acknowledged, up to ssthresh. Returns what is left over, all of it beyond ssthresh.
    #[inline]
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        if self.in_slow_start() { self.grow_to_ssthresh(acked) } else { acked }
    }

    #[inline(never)] // not on the way of the ACKs beyond
    fn grow_to_ssthresh(&mut self, acked: f64) -> f64 {
        let increment = self.slow_start.increment(acked, self.cwnd);
        let grown = (self.cwnd + increment).min(self.ssthresh);
        let left = increment - (grown - self.cwnd);
        self.cwnd = grown;
        // What the limits of RFC 9406 §4.2 and RFC 3742 take away is not left over: it is not to be grown by.
        if increment < acked { 0.0 } else { left }
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
        self.slow_start.on_congestion();
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
        self.slow_start.on_timeout();
    }

    /// After a timeout Linux's window has room for the `in_flight` bytes that are not taken for lost; RFC 5681's loss window has
    /// not (§3.1).
    pub fn keep(&mut self, in_flight: u64) {
        if self.linux {
            self.cwnd += self.segments(in_flight);
        }
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
        bytes(self.cwnd.max(1.0) * self.mss)
    }
    /// The threshold in bytes, `u64::MAX` while arbitrarily high.
    pub fn ssthresh_bytes(&self) -> u64 {
        if self.ssthresh.is_finite() { (self.ssthresh * self.mss) as u64 } else { u64::MAX }
    }
}

/// Whole bytes of a window; through i64, which takes half the instructions and has more room than any window.
pub(super) fn bytes(window: f64) -> u64 {
    window as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Flavour, Given, Params};
    use crate::slow_start::MAX_SSTHRESH;
    use crate::units::Time;

    fn window(w: u32, ssthresh: u64) -> Window {
        let cx = Context { initial_window: w, initial_ssthresh: Some(ssthresh * 1000), ..Context::new(1000) };
        Window::new(&cx, SlowStart::Standard)
    }

    /// Slow start goes up to ssthresh; the rest of the ACK counts in congestion avoidance (Linux `tcp_slow_start`).
    #[test]
    fn slow_start_leaves_over_what_is_beyond_ssthresh() {
        let mut w = window(8, 10);
        assert_eq!((w.slow_start(5.0), w.cwnd, w.in_slow_start()), (3.0, 10.0, false));
    }

    /// Linux `tcp_cong_avoid_ai`: credit saved for a larger w gives one segment, not several.
    #[test]
    fn credit_of_a_larger_w_is_applied_gently() {
        let mut w = window(10, 1);
        w.add_credit(10.0, 9.0);
        w.add_credit(3.0, 1.0);
        assert_eq!(w.cwnd, 11.0);
        w.add_credit(3.0, 5.0); // 1 + 5 are two
        assert_eq!(w.cwnd, 13.0);
    }

    /// A reduction, a timeout and a restart forget the credit.
    #[test]
    fn credit_does_not_survive_a_reduction() {
        let restart = RestartEvent { now: Time::ZERO, cwnd: 5_000, ssthresh: 1_000 };
        let cuts: [fn(&mut Window, &RestartEvent); 3] =
            [|w, _| w.reduce(5.0), |w, _| w.time_out(None), |w, ev| w.restart(ev)];
        for cut in cuts {
            let mut w = window(10, 1);
            w.add_credit(10.0, 4.0);
            cut(&mut w, &restart);
            let left = w.cwnd;
            w.add_credit(5.0, 4.0);
            assert_eq!(w.cwnd, left);
        }
    }

    /// A law's own step stops at two segments; a window of one, after a timeout, stays.
    #[test]
    fn a_step_down_stops_at_two() {
        for (w, to, left) in [(10, 9.0, 9.0), (3, 1.0, 2.0), (2, 1.0, 2.0), (1, 0.0, 1.0)] {
            let mut w = window(w, 100);
            w.step_down(to);
            assert_eq!((w.cwnd, w.ssthresh), (left, left));
        }
    }

    /// A restart never raises W and never lowers ssthresh (RFC 2861: ssthresh keeps the memory of W).
    #[test]
    fn a_restart_lowers_the_window_only() {
        for (w, ssthresh, after) in [(20, 5, (10.0, 15.0)), (20, 30, (10.0, 30.0)), (8, 5, (8.0, 15.0))] {
            let mut w = window(w, ssthresh);
            w.restart(&RestartEvent { now: Time::ZERO, cwnd: 10_000, ssthresh: 15_000 });
            assert_eq!((w.cwnd, w.ssthresh), after);
        }
    }

    fn starting(w: u32, paced: bool, slow_start: impl Fn(&Context) -> SlowStart) -> Window {
        let cx = Context { initial_window: w, paced, ..Context::new(1000) };
        Window::new(&cx, slow_start(&cx))
    }

    /// RFC 9406 §4.2: what the limit L = 8 takes away is not left over for congestion avoidance.
    #[test]
    fn growth_beyond_the_limit_is_lost() {
        let mut window = starting(10, false, |cx| SlowStart::new("hystart++", cx));
        assert_eq!((window.slow_start(20.0), window.cwnd), (0.0, 18.0));
        window.reduce(2.0);
        window.undo(); // standard from here on (§4.3)
        assert_eq!((window.slow_start(20.0), window.cwnd), (0.0, 38.0));
        window.ssthresh = 48.0;
        assert_eq!((window.slow_start(20.0), window.cwnd), (10.0, 48.0));
    }

    /// RFC 3742 §2 with max_ssthresh = 100: up to 100 W doubles; at 101 to 149 K is 2, at 150 it is 3, so that about
    /// 50 are added per round trip.
    #[test]
    fn limited_slow_start_adds_half_of_max_ssthresh() {
        let mut window = starting(100, false, |_| SlowStart::Limited { max_ssthresh: 100.0 });
        for (w, grown) in [(100.0, 1.0), (101.0, 0.5), (149.0, 0.5), (150.0, 1.0 / 3.0), (8300.0, 1.0 / 166.0)] {
            window.cwnd = w;
            assert_eq!(window.slow_start(1.0), 0.0);
            assert!((window.cwnd - w - grown).abs() < 1e-9, "{w}");
        }
        window.cwnd = 10_000.0;
        (0..10_000).for_each(|_| _ = window.slow_start(1.0));
        assert!((49.0..=51.0).contains(&(window.cwnd - 10_000.0)), "{}", window.cwnd);
        for (max_ssthresh, w) in [(0.0, 150.0), (100.0, 150.0), (50.0, 112.5)] {
            let given = [(MAX_SSTHRESH.name.to_string(), Given::Number(max_ssthresh))];
            let params = Params::resolve(&[MAX_SSTHRESH], &given, Flavour::Paper).unwrap();
            let mut window = starting(100, false, |_| SlowStart::limited(&params));
            assert_eq!((window.slow_start(50.0), window.cwnd), (0.0, w));
        }
    }

    /// A timeout ends HyStart++ (only the first slow start is watched) and makes HyStart look again.
    #[test]
    fn timeouts() {
        let mut plus_plus = starting(64, false, |cx| SlowStart::new("hystart++", cx));
        plus_plus.time_out(None);
        assert_eq!((plus_plus.slow_start(20.0), plus_plus.cwnd), (0.0, 21.0));

        let mut window = starting(64, true, |cx| SlowStart::new("hystart", cx));
        for _ in 0..2 {
            (window.cwnd, window.ssthresh) = (64.0, f64::INFINITY);
            for snd_una in 1..=9 {
                let rtt = Some(Duration::from_millis(60));
                window
                    .watch(&AckEvent { snd_una, snd_nxt: 100, rtt, ..AckEvent::default() }, Duration::from_millis(40));
            }
            assert_eq!(window.ssthresh, 64.0);
            window.time_out(None);
        }
    }
}
