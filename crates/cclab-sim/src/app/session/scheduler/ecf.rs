//! ECF: the earliest completion first.

use super::{Choice, Entry, Scene, Spread};
use cclab_algo::params::{Kind, Spec, Value};

/// The scheduler in the registry.
pub const ENTRY: Entry = Entry {
    name: "ecf",
    summary: "as min-rtt, but waits for the fastest where all that is left would be through earlier that way",
    source: "Y. Lim, E. Nahum, D. Towsley, R. Gibbens, CoNEXT 2017; Linux, multipath-tcp.org v0.95, mptcp_ecf.c",
    params: &[Spec {
        name: "beta",
        kind: Kind::Number { min: 0.0, max: 10.0 },
        default: Value::Number(0.25),
        paper_default: None,
        unit: "",
        doc: "β: a scheduler that waits goes on doing so within this margin",
    }],
    build: |params| Box::new(Ecf { beta: params.number("beta"), waits: false }),
};

struct Ecf {
    beta: f64,
    waits: bool,
}

impl Spread for Ecf {
    fn choose(&mut self, scene: &Scene) -> Choice {
        let (Some(slow), Some(fast)) = (scene.fastest(|view| view.ready), scene.fastest(|view| view.usable)) else {
            return Choice::Wait;
        };
        if slow == fast || scene.again {
            return Choice::New(slow);
        }
        let (s, f) = (&scene.subflows[slow], &scene.subflows[fast]);
        // Without end it never pays to wait: what is left is infinite.
        let left = if scene.waiting == u64::MAX { f64::INFINITY } else { scene.waiting as f64 };
        let (rtt_s, rtt_f) = (s.srtt.as_secs_f64(), f.srtt.as_secs_f64());
        let (cwnd_s, cwnd_f) = (s.cwnd as f64, f.cwnd as f64);
        let delta = s.rttvar.max(f.rttvar).as_secs_f64();
        let margin = if self.waits { 1.0 + self.beta } else { 1.0 };
        // All that is left on the fast one, a round from now, against one segment on the slow one …
        if rtt_f * (left.max(cwnd_f) + cwnd_f) < margin * cwnd_f * (rtt_s + delta) {
            // … and whether the slow one would not be through with it before the fast one has room.
            if rtt_s * left.max(cwnd_s) >= cwnd_s * (2.0 * rtt_f + delta) {
                self.waits = true;
                return Choice::Wait;
            }
        } else {
            self.waits = false;
        }
        Choice::New(slow)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{scene, view};
    use super::super::{Scene, View};
    use super::*;

    fn ecf() -> Ecf {
        Ecf { beta: 0.25, waits: false }
    }

    /// Windows of ten segments, the fast one (20 ms) full, the slow one of 100 ms. Left is at least a window: 20 · (max(k, 10) + 10)
    /// against 10 · 100, so it waits while k < 40 segments; and 1.25 times that, k < 52.5, once it does.
    #[test]
    fn the_end_of_a_transfer_waits_for_the_fast_one() {
        let paths = [view(20, false), view(100, true)];
        let mut scheduler = ecf();
        let mut ask = |k: u64| scheduler.choose(&Scene { waiting: k * 1000, ..scene(&paths) });
        assert_eq!(ask(60), Choice::New(1));
        assert_eq!(ask(40), Choice::New(1));
        assert_eq!(ask(39), Choice::Wait);
        assert_eq!(ask(52), Choice::Wait, "hysteresis");
        assert_eq!(ask(53), Choice::New(1));
        assert_eq!(ask(52), Choice::New(1));
        assert_eq!(ask(u64::MAX / 1000), Choice::New(1));
        assert_eq!(ecf().choose(&scene(&paths)), Choice::New(1), "without end");
        assert_eq!(ecf().choose(&scene(&[view(20, true), view(100, true)])), Choice::New(0));
    }

    /// 2 · 20 ms and more than one RTT of the slow one: it is through before.
    #[test]
    fn a_path_hardly_slower_is_used() {
        let jitter = View { rttvar: cclab_algo::Duration::from_millis(50), ..view(39, true) };
        let paths = [view(20, false), jitter];
        assert_eq!(ecf().choose(&Scene { waiting: 1000, ..scene(&paths) }), Choice::New(1));
    }
}
