//! The packet-level simulator of cclab.
//!
//! Each layer imports those above it in this list, never one below:
//!
//! ```text
//!  wire       what travels: packets, segments, ECN's bits, the congestion header
//!  measure    histograms, and what a table is
//!  engine     the timing wheel: (time, insertion) order
//!  net        links, queues, loss, routes
//!  tcp        the endpoint, sans-IO
//!  app        what flows and background want to send
//!  world      a scenario, its engine, its links and its hosts, run to the end; captures
//!  scenario   TOML or JSON to a checked scenario
//!
//!  script     timeline tests of the endpoint in packetdrill's language, in virtual time
//! ```
//!
//! What a layer is made of stands in its `config`; `scenario` fills these.
//! Same scenario, same seed: the same result to the bit.

// The options of an endpoint as one JSON object.
#![recursion_limit = "256"]

pub mod app;
pub mod engine;
pub mod measure;
pub mod net;
pub mod scenario;
pub mod script;
pub mod tcp;
pub mod wire;
pub mod world;
