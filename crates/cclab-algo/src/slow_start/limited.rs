//! Limited slow start: beyond a window of max_ssthresh, W grows by half of that per round trip instead of doubling.
//!
//! Source: RFC 3742 §2, whose names are kept.

use crate::params::{Kind, Spec, Value};

/// The parameter of a law that offers limited slow start.
pub const MAX_SSTHRESH: Spec = Spec {
    name: "max_ssthresh",
    kind: Kind::Number { min: 0.0, max: 1e9 },
    default: Value::Number(0.0),
    paper_default: None,
    unit: "segments",
    doc: "beyond this window slow start adds about half of it per RTT (RFC 3742 proposes 100); 0 is no limit",
};

/// Growth per segment acknowledged in limited slow start, in segments: 1/K with K = int(W / (0.5 max_ssthresh)).
pub(super) fn increment(max_ssthresh: f64, w: f64) -> f64 {
    if w <= max_ssthresh { 1.0 } else { 1.0 / (w / (0.5 * max_ssthresh)).floor() }
}
