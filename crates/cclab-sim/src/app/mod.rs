//! What the flows want to send, and the two hosts of each.

mod application;
mod background;
mod cbr;
pub mod config;
mod flow;
mod memory;
mod meter;
mod onoff;
mod receiving;
mod session;
mod sink;
mod socket;
pub mod workload;

pub use application::{ApplicationRow, Applications};
pub(crate) use background::{Arrival, Background, Next};
pub use background::{BackgroundRow, BackgroundTable, CompletionRow, CompletionTimes, ip_bytes};
pub use cbr::Cbr;
pub(crate) use flow::{Flow, SOURCE, failed_law, in_processing, packets};
pub use flow::{FlowRow, FlowSample, FlowSamples, Flows, Signal, Signals};
pub(crate) use memory::Memory;
pub use meter::{Meter, TimeMean};
pub use onoff::Datagrams;
pub(crate) use session::Session;
pub use session::{SessionRow, Sessions, aggregation_benefit, scheduler};
pub(crate) use socket::{Kind, Socket, Transport};
