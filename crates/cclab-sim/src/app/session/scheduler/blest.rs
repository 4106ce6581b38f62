//! BLEST: nothing goes to a slow subflow that would block a fast one.

use super::{Choice, Entry, Scene, Spread, View};
use cclab_algo::Time;
use cclab_algo::params::{Kind, Spec, Value};

/// The scheduler in the registry.
pub const ENTRY: Entry = Entry {
    name: "blest",
    summary: "as min-rtt, but waits for the fastest where a segment on a slow one would keep it from filling the receiver's buffer",
    source: "S. Ferlin, Ö. Alay, O. Mehani, R. Boreli, IFIP Networking 2016; Linux, multipath-tcp.org v0.95, mptcp_blest.c",
    params: &[Spec {
        name: "lambda",
        kind: Kind::Number { min: LEAST, max: MOST },
        default: Value::Number(1.2),
        paper_default: None,
        unit: "",
        doc: "λ at the start: by how much the estimate of what the fastest sends is scaled",
    }],
    build: |params| Box::new(Blest { lambda: params.number("lambda"), adapted: Time::ZERO, blocked: 0 }),
};

/// Bounds of λ.
const LEAST: f64 = 1.0;
const MOST: f64 = 1.3;

/// What λ gains when a slow subflow held the others up, and loses when none did.
const UP: f64 = 0.04;
const DOWN: f64 = 0.01;
/// Rounds of slow start that are looked ahead.
const MOST_ROUNDS: u64 = 16;

struct Blest {
    lambda: f64,
    /// When λ was last adapted, and how often something had been held up then.
    adapted: Time,
    blocked: u64,
}

impl Blest {
    /// Once in the smallest srtt of the slow subflow.
    fn adapt(&mut self, scene: &Scene, slow: &View) {
        if scene.now.since(self.adapted) < slow.srtt_min {
            return;
        }
        let step = if scene.blocked > self.blocked { UP } else { -DOWN };
        self.lambda = (self.lambda + step).clamp(LEAST, MOST);
        (self.adapted, self.blocked) = (scene.now, scene.blocked);
    }
}

/// How long a segment lingers on a subflow, s: longer the fuller it is.
fn linger_s(view: &View) -> f64 {
    let (least, most) = (view.srtt_min.as_secs_f64(), view.srtt_max.as_secs_f64());
    let fill = ((view.in_flight + view.mss) as f64 / view.cwnd.max(1) as f64).min(1.0);
    (least + (most - least) * fill).max(view.srtt.as_secs_f64())
}

/// Segments that a subflow sends in so many seconds.
fn sends(view: &View, seconds: f64) -> f64 {
    let rtt = (view.srtt_min.as_secs_f64() + view.srtt_max.as_secs_f64()) / 2.0;
    let rounds = (seconds / rtt).floor() as u64 + 1;
    let segments = |bytes: u64| bytes as f64 / view.mss as f64;
    if view.in_slow_start() {
        return segments(view.cwnd) * ((1_u64 << rounds.min(MOST_ROUNDS)) - 1) as f64;
    }
    let rounds = rounds as f64;
    (segments(view.cwnd).max(segments(view.ssthresh) + 1.0) + (rounds - 1.0) / 2.0) * rounds
}

impl Spread for Blest {
    fn choose(&mut self, scene: &Scene) -> Choice {
        let (Some(slow), Some(fast)) = (scene.fastest(|view| view.ready), scene.fastest(|view| view.usable)) else {
            return Choice::Wait;
        };
        let (s, f) = (&scene.subflows[slow], &scene.subflows[fast]);
        // Without an RTT nothing can be told.
        if slow == fast || scene.again || f.srtt_max.0 == 0 {
            return Choice::New(slow);
        }
        self.adapt(scene, s);
        let fast_bytes = self.lambda * sends(f, linger_s(s)) * f.mss as f64;
        let space = scene.offered as f64 - (scene.len + s.in_flight) as f64;
        if fast_bytes > space { Choice::Wait } else { Choice::New(slow) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{scene, view};
    use super::*;
    use cclab_algo::Duration;

    fn blest() -> Blest {
        Blest { lambda: 1.0, adapted: Time::ZERO, blocked: 0 }
    }

    /// A subflow of this RTT, with so many segments of its window of ten in flight, in congestion avoidance.
    fn path(ms: u64, in_flight: u64) -> View {
        let srtt = Duration::from_millis(ms);
        View { in_flight: in_flight * 1000, ssthresh: 5000, srtt_min: srtt, srtt_max: srtt, ..view(ms, in_flight < 10) }
    }

    /// The fast one is full. A segment takes 100 ms on the slow one, 100/20 + 1 = 6 rounds of the fast one: (10 + 2.5) · 6 = 75
    /// segments. It and two in flight are three more.
    #[test]
    fn a_segment_that_would_block_waits() {
        let paths = [path(20, 10), path(100, 2)];
        for (offered, expected) in [(77_999, Choice::Wait), (78_000, Choice::New(1))] {
            assert_eq!(blest().choose(&super::super::Scene { offered, ..scene(&paths) }), expected, "{offered}");
        }
        let free = [path(20, 9), path(100, 2)];
        assert_eq!(blest().choose(&super::super::Scene { offered: 1000, ..scene(&free) }), Choice::New(0));
    }

    /// In slow start it would send 10 · (2⁶ − 1) = 630 segments.
    #[test]
    fn slow_start_sends_more() {
        let paths = [View { ssthresh: u64::MAX, ..path(20, 10) }, path(100, 2)];
        for (offered, expected) in [(632_999, Choice::Wait), (633_000, Choice::New(1))] {
            assert_eq!(blest().choose(&super::super::Scene { offered, ..scene(&paths) }), expected, "{offered}");
        }
    }

    /// A fuller slow one takes longer: from 100 ms when empty to 300 ms when full, three of ten with this one: 160 ms, nine rounds of
    /// the fast one, (10 + 4) · 9 = 126 segments.
    #[test]
    fn a_fuller_path_is_slower() {
        let slow = View { srtt_max: Duration::from_millis(300), ..path(100, 2) };
        let paths = [path(20, 10), slow];
        for (offered, expected) in [(128_999, Choice::Wait), (129_000, Choice::New(1))] {
            assert_eq!(blest().choose(&super::super::Scene { offered, ..scene(&paths) }), expected, "{offered}");
        }
    }

    /// λ: 0.04 up where something was held up, 0.01 down where not, once in the slow one's smallest RTT.
    #[test]
    fn lambda_adapts() {
        let paths = [path(20, 10), path(100, 2)];
        let mut blest = Blest { lambda: 1.2, ..blest() };
        let mut ask = |ms: u64, blocked: u64| {
            blest.choose(&super::super::Scene { now: Time(ms * 1_000_000), blocked, ..scene(&paths) });
            (blest.lambda * 100.0).round() / 100.0
        };
        assert_eq!(ask(100, 0), 1.19);
        assert_eq!(ask(199, 3), 1.19, "too early");
        assert_eq!(ask(200, 3), 1.23);
        assert_eq!([300, 400].map(|ms| ask(ms, ms)), [1.27, 1.3]);
        assert_eq!(ask(500, 400), 1.29);
    }
}
