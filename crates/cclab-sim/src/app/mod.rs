//! What the flows want to send, and the two hosts of each.

mod background;
mod cbr;
pub mod config;
mod flow;
mod meter;
mod onoff;
mod socket;
pub mod workload;

pub use background::ip_bytes;
pub(crate) use background::{Arrival, Background, Next};
pub use cbr::Cbr;
pub(crate) use flow::{DESTINATION, Flow, SOURCE, failed_law, in_processing};
pub(crate) use socket::{Socket, Transport};
