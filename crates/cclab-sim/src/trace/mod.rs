//! What was measured.

pub mod result;

pub use result::*;
