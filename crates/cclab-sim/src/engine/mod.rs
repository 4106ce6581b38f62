//! The event queue: what happens next, in exact (time, insertion) order.

mod wheel;

pub use wheel::Wheel;
