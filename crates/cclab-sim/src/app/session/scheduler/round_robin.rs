//! One subflow after the other.

use super::{Choice, Entry, Scene, Spread};
use cclab_algo::params::{Kind, Spec, Value};

/// The scheduler in the registry.
pub const ENTRY: Entry = Entry {
    name: "round-robin",
    summary: "the subflows in turn, so many segments each",
    source: "Linux, multipath-tcp.org v0.95, mptcp_rr.c",
    params: &[
        Spec {
            name: "num_segments",
            kind: Kind::Number { min: 1.0, max: 255.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "segments",
            doc: "segments of a turn",
        },
        Spec {
            name: "cwnd_limited",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "whoever has no room is passed over; else the others wait for it",
        },
    ],
    build: |params| {
        Box::new(RoundRobin {
            num_segments: params.number("num_segments") as u64,
            cwnd_limited: params.flag("cwnd_limited"),
            turn: 0,
            sent: 0,
        })
    },
};

struct RoundRobin {
    num_segments: u64,
    cwnd_limited: bool,
    /// Whose turn it is, and how many segments of it have been sent.
    turn: usize,
    sent: u64,
}

impl Spread for RoundRobin {
    fn choose(&mut self, scene: &Scene) -> Choice {
        let count = scene.subflows.len();
        let begins = self.turn + usize::from(self.sent >= self.num_segments);
        let next = (0..count).map(|k| (begins + k) % count).find(|&k| {
            let view = &scene.subflows[k];
            view.ready || !self.cwnd_limited && !scene.again && view.usable
        });
        let Some(next) = next.filter(|&k| scene.subflows[k].ready) else { return Choice::Wait };
        if next != self.turn || self.sent >= self.num_segments {
            (self.turn, self.sent) = (next, 0);
        }
        self.sent += 1;
        Choice::New(next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, view};
    use super::*;
    use cclab_algo::params::Given;

    fn turns(given: &[(String, Given)], subflows: &[super::super::View], count: usize) -> Vec<Choice> {
        let mut scheduler = ENTRY.make(given).expect("its own parameters");
        (0..count).map(|_| ask(&mut *scheduler, subflows)).collect()
    }

    #[test]
    fn in_turn() {
        let all = [view(30, true), view(10, true), view(20, true)];
        assert_eq!(turns(&[], &all, 5), [0, 1, 2, 0, 1].map(Choice::New));
        let three = [("num_segments".to_string(), Given::Number(3.0))];
        assert_eq!(turns(&three, &all, 7), [0, 0, 0, 1, 1, 1, 2].map(Choice::New));
    }

    #[test]
    fn who_has_no_room_is_passed_over_or_waited_for() {
        let full = [view(30, true), view(10, false), view(20, true)];
        assert_eq!(turns(&[], &full, 4), [0, 2, 0, 2].map(Choice::New));
        let patient = [("cwnd_limited".to_string(), Given::Flag(false))];
        assert_eq!(turns(&patient, &full, 3), [Choice::New(0), Choice::Wait, Choice::Wait]);
    }
}
