//! The TCP endpoint, sans-IO: segments and time in, segments out.
//!
//! It knows no event queue, no clock and no network. The simulator drives it, so does a timeline script,
//! so could a real socket: hand it segments with [`Endpoint::on_segment`], ask it for segments with
//! [`Endpoint::poll_transmit`] until it has none, wake it at [`Endpoint::next_timer`].

pub mod config;

mod endpoint;
pub(crate) mod memory;
mod metrics;
pub mod sysctl;

pub use config::{Config, DelayedAck, Ecn, Pacing, Profile, Recovery, RtoConfig, RtoStyle, Tso};
pub use endpoint::{Endpoint, FastOpen, Info, State, Stats, refusal};
pub use metrics::Metrics;
