//! Ways to leave slow start before it overflows the queue.
//!
//! [`SlowStart`] is the part of a law that runs while W < ssthresh: plain doubling, [`HyStart`] (what Linux's
//! CUBIC does) or [`HyStartPlusPlus`] (RFC 9406). It ends slow start by lowering ssthresh to W.

use crate::cc::{AckEvent, Context, Window};
use crate::units::Duration;

mod hystart;
mod hystart_pp;

pub use hystart::HyStart;
pub use hystart_pp::HyStartPlusPlus;

/// What a law does while W < ssthresh.
#[derive(Clone, Debug)]
pub enum SlowStart {
    /// W grows by what was acknowledged until ssthresh or a loss (RFC 5681).
    Standard,
    /// Leaves when the ACK train is as long as the path or the delay rises (Linux `tcp_cubic.c`).
    HyStart(HyStart),
    /// Grows more slowly when the delay rises, then leaves (RFC 9406).
    PlusPlus(HyStartPlusPlus),
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

    /// Takes in an ACK before the window grows; may end slow start (ssthresh = W).
    ///
    /// `min_rtt` is the smallest RTT as the law knows it.
    pub fn on_ack(&mut self, ev: &AckEvent, min_rtt: Duration, window: &mut Window) {
        if !window.in_slow_start() {
            return;
        }
        let ends = match self {
            SlowStart::Standard => false,
            SlowStart::HyStart(h) => h.on_ack(ev, min_rtt, window),
            SlowStart::PlusPlus(h) => h.on_ack(ev),
        };
        if ends {
            window.ssthresh = window.cwnd;
        }
    }

    /// Grows the window by `acked` segments, at most to ssthresh; returns what is left for congestion avoidance.
    pub fn grow(&mut self, acked: f64, window: &mut Window) -> f64 {
        match self {
            SlowStart::PlusPlus(h) => {
                // What the limits of RFC 9406 §4.2 take away is not left over: it is not to be grown by.
                let grown = h.increment(acked);
                if grown < acked {
                    window.slow_start(grown);
                    return 0.0;
                }
                window.slow_start(acked)
            }
            _ => window.slow_start(acked),
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
            SlowStart::Standard => {}
            SlowStart::HyStart(h) => h.restart(),
            SlowStart::PlusPlus(h) => h.stop(),
        }
    }
}
