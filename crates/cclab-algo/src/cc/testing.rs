//! What the unit tests of several laws share.

use super::{AckEvent, CongestionControl, CongestionEvent, Context, Entry, Signal};
use crate::params::{Flavour, Given, Params};
use crate::units::{Duration, Time};

/// Payload of a segment.
pub(super) const MSS: u32 = 1000;

/// A law in congestion avoidance at `w` segments.
pub(super) fn law_of<L>(
    entry: &Entry,
    flavour: Flavour,
    w: u32,
    given: &[(&str, Given)],
    new: fn(&Context, &Params) -> L,
) -> L {
    let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(MSS) };
    let given: Vec<_> = given.iter().map(|(n, g)| (n.to_string(), g.clone())).collect();
    new(&cx, &Params::resolve(entry.params, &given, flavour).unwrap())
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
