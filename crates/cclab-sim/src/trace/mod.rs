//! What was measured.

pub mod pcap;
pub mod result;

pub use result::*;
