//! The world: a scenario, its engine, its links and its hosts, run to the end.

use crate::scenario::Scenario;
use crate::trace::RunResult;

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

/// One run in progress.
pub struct Simulation {
    _scenario: Scenario,
}

impl Simulation {
    /// Prepares a run of `scenario` with `seed`.
    pub fn new(scenario: &Scenario, _seed: u64) -> Simulation {
        Simulation { _scenario: scenario.clone() }
    }
    /// Serves up to `max_events` events; the share of simulated time done, 1.0 when finished.
    ///
    /// # Errors
    /// The event budget is used up.
    pub fn advance(&mut self, _max_events: u64) -> Result<f64, Error> {
        todo!()
    }
    /// Checks conservation and gives the result.
    ///
    /// # Errors
    /// Conservation is violated.
    pub fn finish(self) -> Result<RunResult, Error> {
        todo!()
    }
}

/// Runs `scenario` with `seed` to the end.
///
/// # Errors
/// See [`Error`].
pub fn run(scenario: &Scenario, seed: u64) -> Result<RunResult, Error> {
    let mut sim = Simulation::new(scenario, seed);
    while sim.advance(1 << 20)? < 1.0 {}
    sim.finish()
}
