//! What was measured.

mod histogram;
mod packets;
pub mod table;

pub use histogram::{Distribution, Histogram};
pub(crate) use packets::{EventKind, PacketLog};
pub use packets::{PacketRow, Packets};
