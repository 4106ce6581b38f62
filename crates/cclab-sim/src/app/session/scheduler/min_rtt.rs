//! The smallest RTT first: what multipath TCP does unless told otherwise.

use super::{Choice, Entry, Scene, Spread};

/// The scheduler in the registry.
pub const ENTRY: Entry = Entry {
    name: "min-rtt",
    summary: "the subflow with the smallest smoothed RTT that has room",
    source: "Linux, multipath-tcp.org v0.95, mptcp_sched.c",
    params: &[],
    build: |_| Box::new(MinRtt),
};

struct MinRtt;

impl Spread for MinRtt {
    fn choose(&mut self, scene: &Scene) -> Choice {
        scene.fastest(|view| view.ready).map_or(Choice::Wait, Choice::New)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, view};
    use super::*;

    #[test]
    fn the_fastest_that_has_room() {
        assert_eq!(ask(&mut MinRtt, &[view(30, true), view(10, true), view(20, true)]), Choice::New(1));
        assert_eq!(ask(&mut MinRtt, &[view(30, true), view(10, false), view(20, true)]), Choice::New(2));
        assert_eq!(ask(&mut MinRtt, &[view(10, true), view(10, true)]), Choice::New(0), "the first of equals");
    }
}
