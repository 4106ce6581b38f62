//! What laws measure alike: round trips, and the largest or the smallest of the last values. Knows units only.

mod bubble;
mod filter;
mod round;

pub use bubble::Bubble;
pub use filter::{MaxFilter, MinWindow};
pub use round::{Round, Rounds, Rtts};
