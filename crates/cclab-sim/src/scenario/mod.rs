//! A scenario: one network with its flows, checked. Loading one can never run code.
//!
//! [`model`] is what the simulator runs: one graph, whatever the topology was called; every option resolved.

pub mod model;

pub use model::*;
