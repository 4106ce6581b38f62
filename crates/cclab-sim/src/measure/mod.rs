//! What was measured.

mod digest;
mod histogram;
mod packets;
pub mod result;

pub use histogram::Histogram;
pub(crate) use packets::{EventKind, PacketLog};
pub use result::*;
