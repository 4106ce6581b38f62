//! Everything everywhere: each subflow sends all data, at its own pace.

use super::{Choice, Entry, Scene, Spread};

/// The scheduler in the registry.
pub const ENTRY: Entry = Entry {
    name: "redundant",
    summary: "every byte on every subflow, each at its own pace; the first copy counts",
    source: "Linux, multipath-tcp.org v0.95, mptcp_redundant.c",
    params: &[],
    build: |_| Box::new(Redundant),
};

struct Redundant;

impl Spread for Redundant {
    fn copies(&self) -> bool {
        true
    }

    fn choose(&mut self, scene: &Scene) -> Choice {
        if scene.again {
            return scene.fastest(|view| view.ready).map_or(Choice::Wait, Choice::New);
        }
        // Whoever is behind catches up; new data are for one that is not.
        if let Some(k) = scene.fastest(|view| view.ready && view.behind > 0) {
            return Choice::Copy(k);
        }
        let leader = scene.fastest(|view| view.ready).filter(|_| scene.len > 0);
        leader.map_or(Choice::Wait, Choice::New)
    }
}

#[cfg(test)]
mod tests {
    use super::super::View;
    use super::super::tests::{ask, view};
    use super::*;

    #[test]
    fn new_data_for_those_who_have_sent_the_rest() {
        let behind = View { behind: 1000, ..view(30, true) };
        assert_eq!(ask(&mut Redundant, &[view(10, true), behind]), Choice::Copy(1));
        assert_eq!(ask(&mut Redundant, &[view(10, true), View { ready: false, ..behind }]), Choice::New(0));
        assert_eq!(ask(&mut Redundant, &[view(10, false), View { ready: false, ..behind }]), Choice::Wait);
    }
}
