//! What was measured.

mod digest;
mod histogram;
pub mod pcap;
mod recorder;
pub mod result;

pub use histogram::Histogram;
pub(crate) use recorder::{EventKind, PacketLog};
pub use result::*;
