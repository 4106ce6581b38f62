//! What the flows want to send, and the two hosts of each.

mod background;
mod cbr;
pub mod config;
mod flow;
mod host;
mod meter;
mod onoff;
pub mod workload;

pub use background::ip_bytes;
pub(crate) use background::{Arrival, Background, Next};
pub use cbr::Cbr;
pub(crate) use flow::{Flow, Kind};
