//! What was measured.

pub(crate) mod budget;
mod digest;
mod histogram;
mod packets;
pub mod table;

pub use digest::digest;
pub use histogram::{Distribution, Histogram};
pub(crate) use packets::{EventKind, PacketLog};
pub use packets::{PacketRow, Packets};
