//! What the unit tests of several laws share.

use super::{AckEvent, CongestionControl, CongestionEvent, Context, Entry, Share, Signal, WindowLaw, Windowed};
use crate::params::{Flavour, Given, Params};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};
use std::ops::{Deref, DerefMut};

/// Payload of a segment.
pub(super) const MSS: u32 = 1000;

/// A law in congestion avoidance at `w` segments.
pub(super) fn law_of<L: WindowLaw>(
    entry: &Entry,
    flavour: Flavour,
    w: u32,
    given: &[(&str, Given)],
    new: impl Fn(&Context, &Params) -> L,
) -> Windowed<L> {
    let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(MSS) };
    let given: Vec<_> = given.iter().map(|(n, g)| (n.to_string(), g.clone())).collect();
    Windowed::new(&cx, SlowStart::Standard, new(&cx, &Params::resolve(entry.params, &given, flavour).unwrap()))
}

/// In tests a law's own fields are at hand.
impl<L> Deref for Windowed<L> {
    type Target = L;
    fn deref(&self) -> &L {
        &self.law
    }
}
impl<L> DerefMut for Windowed<L> {
    fn deref_mut(&mut self) -> &mut L {
        &mut self.law
    }
}

/// An ACK of so many segments, at time zero and without an RTT.
pub(super) fn ack(law: &mut impl CongestionControl, segments: u32) {
    law.on_ack(&AckEvent { acked_bytes: u64::from(segments * MSS), may_grow: true, ..AckEvent::default() });
}

/// A loss while the whole window is in flight, at time zero.
pub(super) fn lose(law: &mut impl CongestionControl) {
    let flight_size = law.cwnd();
    let (now, zero) = (Time::ZERO, Duration::ZERO);
    law.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size, srtt: zero, min_rtt: zero });
}

/// Subflows of so many segments and ms.
pub(super) fn shares<const N: usize>(subflows: [(f64, u64); N]) -> [Share; N] {
    subflows.map(|(window, ms)| Share { window, srtt: Duration::from_millis(ms), ..Share::default() })
}
