//! Why a run fails.

use crate::net::medium::mobility::Unconnected;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The event budget is used up.
    #[error(
        "the run used up its budget of {max_events} events at {time_s:.6} s of {duration_s} s simulated; raise max_events if this is meant"
    )]
    Budget {
        /// The budget.
        max_events: u64,
        /// Simulated time reached, s.
        time_s: f64,
        /// Simulated time wanted, s.
        duration_s: f64,
    },
    /// What is kept, of all kinds together, does not fit into the budget of memory.
    #[error("{what} came to {size}, at {time_s:.6} s of {duration_s} s simulated; {advice}, or simulate less")]
    Memory {
        /// The field that asks for most of it, or what it is.
        what: &'static str,
        /// How much it came to, of how much in all.
        size: String,
        /// What to write instead.
        advice: &'static str,
        /// Simulated time reached, s.
        time_s: f64,
        /// Simulated time wanted, s.
        duration_s: f64,
    },
    /// Stations are to be connected, and chance does not give it.
    #[error(transparent)]
    Unconnected(#[from] Unconnected),
    /// A law written in another language failed.
    #[error("flow {flow}: its congestion control failed at {time_s:.6} s simulated: {message}")]
    Law {
        /// Label of the flow.
        flow: String,
        /// Simulated time of the failure, s.
        time_s: f64,
        /// What it said.
        message: String,
    },
    /// Packets were created or lost by the simulator itself. This is our bug.
    #[error(
        "conservation violated at {place}: {detail}; this is a bug in cclab, please report it with the scenario and seed {seed}"
    )]
    Conservation {
        /// Where.
        place: String,
        /// What does not add up.
        detail: String,
        /// The seed.
        seed: u64,
    },
}
