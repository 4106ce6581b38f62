//! Laws that link the increases of subflows: Reno, but for what a segment acknowledged adds while a subflow has siblings.

use super::reno::Reno;
use super::{AckEvent, Context, Window, WindowLaw};
use crate::units::Time;

/// Reno with a gain that siblings have a say in. Alone, it is Reno.
pub(super) struct Linked {
    pub reno: Reno,
    /// What a segment acknowledged adds to W in congestion avoidance, by the last snapshot; `None` alone.
    pub gain: Option<f64>,
}

impl Linked {
    /// The law for a new connection.
    pub fn new(cx: &Context) -> Self {
        Linked { reno: Reno::plain(cx), gain: None }
    }

    /// Fractions in both flavours: the sources count bytes. Where W falls, ssthresh follows, or slow start would take the step back.
    pub fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        match self.gain {
            Some(gain) => {
                w.cwnd = (w.cwnd + gain * acked).max(1.0);
                w.ssthresh = w.ssthresh.min(w.cwnd);
            }
            None => self.reno.avoid(w, acked, ev),
        }
    }

    /// Reno's: half.
    pub fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    /// The growth per RTT: Reno's is one segment.
    pub fn signals(&self, w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("growth_segments", self.gain.map_or(1.0, |gain| gain * w.cwnd));
    }
}
