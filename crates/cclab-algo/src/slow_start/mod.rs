//! Ways to leave slow start before it overflows the queue.
//!
//! [`SlowStart`] is the part of a window that acts while W < ssthresh: plain doubling, [`HyStart`] (what
//! Linux's CUBIC does), [`HyStartPlusPlus`] (RFC 9406), [`Search`], which end it by lowering ssthresh to W, or limited (RFC 3742).

use crate::law::{AckEvent, Context};
use crate::params::Params;
use crate::units::Duration;

mod hystart;
mod hystart_pp;
mod limited;
mod search;

pub use hystart::HyStart;
pub use hystart_pp::HyStartPlusPlus;
pub use limited::MAX_SSTHRESH;
pub use search::Search;

/// What a law does while W < ssthresh.
#[derive(Clone, Debug)]
pub enum SlowStart {
    /// W grows by what was acknowledged until ssthresh or a loss (RFC 5681).
    Standard,
    /// Leaves when the ACK train is as long as the path or the delay rises (Linux `tcp_cubic.c`).
    HyStart(HyStart),
    /// Grows more slowly when the delay rises, then leaves (RFC 9406).
    PlusPlus(HyStartPlusPlus),
    /// Leaves when what is delivered no longer doubles (draft-chung-ccwg-search).
    Search(Box<Search>),
    /// Adds about half of `max_ssthresh` (segments) per RTT where W is above it (RFC 3742).
    Limited {
        /// The window up to which it doubles.
        max_ssthresh: f64,
    },
}

impl SlowStart {
    /// The words of a parameter that chooses one.
    pub const WORDS: &'static [&'static str] = &["hystart", "hystart++", "search", "off"];

    /// The slow start called `word` (one of [`SlowStart::WORDS`]) for a new connection.
    pub fn new(word: &str, cx: &Context) -> Self {
        match word {
            "hystart" => SlowStart::HyStart(HyStart::new(cx)),
            "hystart++" => SlowStart::PlusPlus(HyStartPlusPlus::new(cx)),
            "search" => SlowStart::Search(Box::new(Search::new(cx))),
            _ => SlowStart::Standard,
        }
    }

    /// Limited slow start by the parameter [`MAX_SSTHRESH`].
    pub fn limited(params: &Params) -> Self {
        let max_ssthresh = params.number(MAX_SSTHRESH.name);
        if max_ssthresh > 0.0 { SlowStart::Limited { max_ssthresh } } else { SlowStart::Standard }
    }

    /// Takes in an ACK before the window grows, `min_rtt` being the smallest RTT as the law knows it; where slow start
    /// is to end here, with which window.
    pub fn on_ack(&mut self, ev: &AckEvent, min_rtt: Duration, cwnd: f64, ssthresh: f64) -> Option<f64> {
        match self {
            SlowStart::Standard | SlowStart::Limited { .. } => None,
            SlowStart::HyStart(h) => h.on_ack(ev, min_rtt, cwnd, ssthresh).then_some(cwnd),
            SlowStart::PlusPlus(h) => h.on_ack(ev).then_some(cwnd),
            SlowStart::Search(s) => s.on_ack(ev, cwnd),
        }
    }

    /// By how much W grows where `acked` segments are acknowledged.
    pub fn increment(&self, acked: f64, cwnd: f64) -> f64 {
        match self {
            SlowStart::Standard | SlowStart::HyStart(_) | SlowStart::Search(_) => acked,
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
            SlowStart::Search(s) => s.restart(),
            SlowStart::PlusPlus(h) => h.stop(),
        }
    }
}
