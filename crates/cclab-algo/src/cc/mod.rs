//! Congestion controls: how much may be in flight, and how fast it may leave.
//!
//! A law sees events and answers two questions, [`CongestionControl::cwnd`] and
//! [`CongestionControl::pacing_rate`]. *What* to send again is the business of loss recovery, which lives
//! with the endpoint; while recovery runs, it governs the window and takes the law's [`ssthresh`] as its
//! target (RFC 6937), so a law only says what the window is to be once the hole is repaired.
//!
//! To add one: a file beside this one, a `mod` line here, and a line in [`REGISTRY`]. See `CONTRIBUTING.md`.
//!
//! [`ssthresh`]: CongestionControl::ssthresh

mod anti_ecn;
mod atcp;
mod balia;
mod bbr;
mod bbr3;
mod bic;
mod bus;
mod cbbr;
#[cfg(test)]
mod closed_loop;
mod cmpbbr;
mod compound;
mod copa;
mod cubic;
mod cwl;
mod dctcp;
pub mod drai;
mod elfn;
mod fast;
mod few;
mod hstcp;
mod htcp;
mod hybla;
mod illinois;
mod ledbat;
mod lia;
mod linked;
mod lp;
mod muzha;
mod newreno;
mod olia;
mod prague;
mod registry;
mod reno;
mod sack;
mod santa_cruz;
mod scalable;
mod tahoe;
mod tcp_f;
#[cfg(test)]
mod testing;
mod vegas;
mod veno;
mod vivace;
mod westwood;
mod window;
mod windowed;
mod wvegas;
mod xcp;
mod yeah;

pub use crate::law::*;
pub use registry::*;
pub use window::Window;
pub use windowed::{WindowLaw, Windowed};
