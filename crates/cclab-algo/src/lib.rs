//! The laws of congestion control, and nothing else.
//!
//! This crate knows time, bytes and acknowledgements. It knows no network, no queue, no clock and no
//! event loop, so that an algorithm written here *cannot* peek at the queue it is trying to guess.
//!
//! * [`law`]: what a congestion control is: the events that it sees, the questions that it answers.
//! * [`cc`]: the congestion controls, one file each, and their [`cc::REGISTRY`].
//! * [`slow_start`]: ways to leave slow start (HyStart, HyStart++).
//! * [`estimate`]: round trips, windowed filters.
//! * [`params`]: parameters with defaults and bounds.
//! * [`units`], [`math`], [`rng`]: integer nanoseconds, platform-independent functions, named streams.

pub mod cc;
pub mod estimate;
pub mod law;
pub mod math;
pub mod params;
pub mod rng;
pub mod slow_start;
pub mod units;

pub use units::{Duration, Rate, Time};
