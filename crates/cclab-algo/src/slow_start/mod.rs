//! Ways to leave slow start before it overflows the queue.
//!
//! [`SlowStart`] is the part of a [`Window`](crate::cc::Window) that acts while W < ssthresh: plain doubling, [`HyStart`] (what
//! Linux's CUBIC does), [`HyStartPlusPlus`] (RFC 9406), which end it by lowering ssthresh to W, or limited (RFC 3742).

use crate::cc::{AckEvent, Context};
use crate::params::Params;
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

    /// Limited slow start by the parameter [`MAX_SSTHRESH`].
    pub fn limited(params: &Params) -> Self {
        let max_ssthresh = params.number(MAX_SSTHRESH.name);
        if max_ssthresh > 0.0 { SlowStart::Limited { max_ssthresh } } else { SlowStart::Standard }
    }

    /// Takes in an ACK before the window grows, `min_rtt` being the smallest RTT as the law knows it; whether slow start is
    /// to end here.
    pub fn on_ack(&mut self, ev: &AckEvent, min_rtt: Duration, cwnd: f64, ssthresh: f64) -> bool {
        match self {
            SlowStart::Standard | SlowStart::Limited { .. } => false,
            SlowStart::HyStart(h) => h.on_ack(ev, min_rtt, cwnd, ssthresh),
            SlowStart::PlusPlus(h) => h.on_ack(ev),
        }
    }

    /// By how much W grows where `acked` segments are acknowledged.
    pub fn increment(&self, acked: f64, cwnd: f64) -> f64 {
        match self {
            SlowStart::Standard | SlowStart::HyStart(_) => acked,
            SlowStart::PlusPlus(h) => h.increment(acked),
            SlowStart::Limited { max_ssthresh } => acked * limited::increment(*max_ssthresh, cwnd),
        }
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
    use crate::cc::Window;
    use crate::params::{Flavour, Given};

    fn window(w: u32, paced: bool, slow_start: impl Fn(&Context) -> SlowStart) -> Window {
        let cx = Context { initial_window: w, paced, ..Context::new(1000) };
        Window::new(&cx, slow_start(&cx))
    }

    /// RFC 9406 §4.2: what the limit L = 8 takes away is not left over for congestion avoidance.
    #[test]
    fn growth_beyond_the_limit_is_lost() {
        let mut window = window(10, false, |cx| SlowStart::new("hystart++", cx));
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
        let mut window = window(100, false, |_| SlowStart::Limited { max_ssthresh: 100.0 });
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
            let mut window = self::window(100, false, |_| SlowStart::limited(&params));
            assert_eq!((window.slow_start(50.0), window.cwnd), (0.0, w));
        }
    }

    /// A timeout ends HyStart++ (only the first slow start is watched) and makes HyStart look again.
    #[test]
    fn timeouts() {
        let mut plus_plus = window(64, false, |cx| SlowStart::new("hystart++", cx));
        plus_plus.time_out(None);
        assert_eq!((plus_plus.slow_start(20.0), plus_plus.cwnd), (0.0, 21.0));

        let mut window = window(64, true, |cx| SlowStart::new("hystart", cx));
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
