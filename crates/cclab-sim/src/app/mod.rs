//! What the flows want to send, and the two hosts of each.

mod cbr;
mod flow;
mod host;
mod meter;

pub use cbr::Cbr;
pub(crate) use flow::{Flow, Kind};
