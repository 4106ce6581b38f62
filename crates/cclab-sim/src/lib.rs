//! The packet-level simulator of cclab.
//!
//! ```text
//!  scenario ─► sim ─┬─► engine   the timing wheel: (time, insertion) order
//!                   ├─► net      packets, links, queues, loss, topologies as one graph
//!                   ├─► tcp      the endpoint, sans-IO
//!                   ├─► app      what the flows want to send
//!                   └─► trace    what was measured: columns, histograms, captures
//!  script   ─► tcp              timeline tests in packetdrill's language, in virtual time
//! ```
//!
//! Same scenario, same seed: the same result to the bit.

pub mod app;
pub mod engine;
pub mod net;
pub mod scenario;
pub mod script;
pub mod sim;
pub mod tcp;
pub mod trace;
pub mod wire;
