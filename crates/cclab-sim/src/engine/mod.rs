//! The event queue: what happens next, in exact (time, insertion) order.

mod prefetch;
mod wheel;

pub use prefetch::prefetch;
pub use wheel::Wheel;
