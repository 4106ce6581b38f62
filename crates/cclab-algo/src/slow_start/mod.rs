//! Ways to leave slow start before it overflows the queue.
//!
//! [`SlowStart`] is the part of a law that runs while W < ssthresh: plain doubling, [`HyStart`] (what Linux's
//! CUBIC does), [`HyStartPlusPlus`] (RFC 9406), which end it by lowering ssthresh to W, or limited (RFC 3742).

use crate::cc::{AckEvent, Context, Window};
use crate::units::Duration;

mod hystart;
mod hystart_pp;
mod limited;

pub use hystart::HyStart;
pub use hystart_pp::HyStartPlusPlus;
pub use limited::MAX_SSTHRESH;

/// What a law does while W < ssthresh.
#[derive(Clone, Debug)]
pub enum SlowStart {
    /// W grows by what was acknowledged until ssthresh or a loss (RFC 5681).
    Standard,
    /// Leaves when the ACK train is as long as the path or the delay rises (Linux `tcp_cubic.c`).
    HyStart(HyStart),
    /// Grows more slowly when the delay rises, then leaves (RFC 9406).
    PlusPlus(HyStartPlusPlus),
    /// Adds about half of `max_ssthresh` (segments) per RTT where W is above it (RFC 3742).
    Limited {
        /// The window up to which it doubles.
        max_ssthresh: f64,
    },
}

impl SlowStart {
    /// The words of a parameter that chooses one.
    pub const WORDS: &'static [&'static str] = &["hystart", "hystart++", "off"];

    /// The slow start called `word` (one of [`SlowStart::WORDS`]) for a new connection.
    pub fn new(word: &str, cx: &Context) -> Self {
        match word {
            "hystart" => SlowStart::HyStart(HyStart::new(cx)),
            "hystart++" => SlowStart::PlusPlus(HyStartPlusPlus::new(cx)),
            _ => SlowStart::Standard,
        }
    }

    /// Limited slow start above `max_ssthresh` segments, the value of [`MAX_SSTHRESH`]; 0 is no limit.
    pub fn limited(max_ssthresh: f64) -> Self {
        if max_ssthresh > 0.0 { SlowStart::Limited { max_ssthresh } } else { SlowStart::Standard }
    }

    /// Takes in an ACK before the window grows; may end slow start (ssthresh = W).
    ///
    /// `min_rtt` is the smallest RTT as the law knows it.
    pub fn on_ack(&mut self, ev: &AckEvent, min_rtt: Duration, window: &mut Window) {
        if !window.in_slow_start() {
            return;
        }
        let ends = match self {
            SlowStart::Standard | SlowStart::Limited { .. } => false,
            SlowStart::HyStart(h) => h.on_ack(ev, min_rtt, window),
            SlowStart::PlusPlus(h) => h.on_ack(ev),
        };
        if ends {
            window.ssthresh = window.cwnd;
        }
    }

    /// Grows the window by `acked` segments, at most to ssthresh; returns what is left for congestion avoidance.
    pub fn grow(&mut self, acked: f64, window: &mut Window) -> f64 {
        let grown = match self {
            SlowStart::PlusPlus(h) => h.increment(acked),
            SlowStart::Limited { max_ssthresh } => acked * limited::increment(*max_ssthresh, window.cwnd),
            SlowStart::Standard | SlowStart::HyStart(_) => acked,
        };
        let left = window.slow_start(grown);
        // What the limits of RFC 9406 §4.2 and RFC 3742 take away is not left over: it is not to be grown by.
        if grown < acked { 0.0 } else { left }
    }

    /// Congestion was detected.
    pub fn on_congestion(&mut self) {
        if let SlowStart::PlusPlus(h) = self {
            h.stop();
        }
    }

    /// A timeout: slow start begins again.
    pub fn on_timeout(&mut self) {
        match self {
            SlowStart::Standard | SlowStart::Limited { .. } => {}
            SlowStart::HyStart(h) => h.restart(),
            SlowStart::PlusPlus(h) => h.stop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// RFC 9406 §4.2: what the limit L = 8 takes away is not left over for congestion avoidance.
    #[test]
    fn growth_beyond_the_limit_is_lost() {
        let cx = Context::new(1000);
        let (mut slow_start, mut window) = (SlowStart::new("hystart++", &cx), Window::new(&cx));
        assert_eq!((slow_start.grow(20.0, &mut window), window.cwnd), (0.0, 18.0));
        slow_start.on_congestion(); // standard from here on (§4.3)
        assert_eq!((slow_start.grow(20.0, &mut window), window.cwnd), (0.0, 38.0));
        window.ssthresh = 48.0;
        assert_eq!((slow_start.grow(20.0, &mut window), window.cwnd), (10.0, 48.0));
    }

    /// RFC 3742 §2 with max_ssthresh = 100: up to 100 W doubles; at 101 to 149 K is 2, at 150 it is 3, so that about
    /// 50 are added per round trip.
    #[test]
    fn limited_slow_start_adds_half_of_max_ssthresh() {
        let cx = Context { initial_window: 100, ..Context::new(1000) };
        let (mut slow_start, mut window) = (SlowStart::limited(100.0), Window::new(&cx));
        for (w, grown) in [(100.0, 1.0), (101.0, 0.5), (149.0, 0.5), (150.0, 1.0 / 3.0), (8300.0, 1.0 / 166.0)] {
            window.cwnd = w;
            assert_eq!(slow_start.grow(1.0, &mut window), 0.0);
            assert!((window.cwnd - w - grown).abs() < 1e-9, "{w}");
        }
        window.cwnd = 10_000.0;
        (0..10_000).for_each(|_| _ = slow_start.grow(1.0, &mut window));
        assert!((49.0..=51.0).contains(&(window.cwnd - 10_000.0)), "{}", window.cwnd);
        let (mut standard, mut window) = (SlowStart::limited(0.0), Window::new(&cx));
        assert_eq!((standard.grow(50.0, &mut window), window.cwnd), (0.0, 150.0));
    }

    /// A timeout ends HyStart++ (only the first slow start is watched) and makes HyStart look again.
    #[test]
    fn timeouts() {
        let cx = Context { initial_window: 64, paced: true, ..Context::new(1000) };
        let mut window = Window::new(&cx);
        let mut slow_start = SlowStart::new("hystart++", &Context { paced: false, ..cx.clone() });
        slow_start.on_timeout();
        assert_eq!((slow_start.grow(20.0, &mut window), window.cwnd), (0.0, 84.0));

        let mut slow_start = SlowStart::new("hystart", &cx);
        for _ in 0..2 {
            let mut window = Window::new(&cx);
            for snd_una in 1..=9 {
                let rtt = Some(Duration::from_millis(60));
                let ev = AckEvent { snd_una, snd_nxt: 100, rtt, ..AckEvent::default() };
                slow_start.on_ack(&ev, Duration::from_millis(40), &mut window);
            }
            assert_eq!(window.ssthresh, 64.0);
            slow_start.on_timeout();
        }
    }
}
