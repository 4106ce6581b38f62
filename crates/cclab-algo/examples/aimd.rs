//! AIMD(a, b): the window grows by a segments per round trip and loses the share b on congestion.
//!
//! Source: D. Chiu, R. Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in
//! Computer Networks", Computer Networks and ISDN Systems 17, 1989. Reno is AIMD(1, 1/2).
//!
//! The law of the guide "Add a congestion control" (`docs/guides/add-a-congestion-control.md`), which runs a few
//! ACKs through it: `cargo run -p cclab-algo --example aimd`.

use cclab_algo::Time;
use cclab_algo::cc::{AckEvent, Build, Context, Entry, Window, WindowLaw, Windowed};
use cclab_algo::params::{Kind, Params, Spec, Value};
use cclab_algo::slow_start::SlowStart;

/// What the registry would hold.
const ENTRY: Entry = Entry {
    name: "aimd",
    summary: "adds a segments per RTT, loses the share b on congestion",
    source: "Chiu & Jain, Computer Networks and ISDN Systems 17, 1989",
    params: &[
        Spec {
            name: "a",
            kind: Kind::Number { min: 0.01, max: 100.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "segments",
            doc: "additive increase per RTT",
        },
        Spec {
            name: "b",
            kind: Kind::Number { min: 0.01, max: 0.99 },
            default: Value::Number(0.5),
            paper_default: None,
            unit: "",
            doc: "share of the window that congestion takes",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Aimd::new(params)))),
};

/// AIMD's window law.
struct Aimd {
    a: f64,
    b: f64,
}

impl Aimd {
    fn new(params: &Params) -> Self {
        Aimd { a: params.number("a"), b: params.number("b") }
    }
}

impl WindowLaw for Aimd {
    /// a segments per window acknowledged.
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        w.cwnd += self.a * acked / w.cwnd;
    }
    /// (1 − b) W, at least 2.
    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        (w.cwnd * (1.0 - self.b)).max(2.0)
    }
}

fn main() {
    let cx = Context { initial_window: 10, initial_ssthresh: Some(1), ..Context::new(1000) };
    let mut law = ENTRY.make(&cx, &[]).expect("the defaults are allowed");
    for round in 0..4 {
        println!("round {round}: cwnd {:.1} segments", law.cwnd() as f64 / 1000.0);
        for _ in 0..law.cwnd() / 1000 {
            law.on_ack(&AckEvent { acked_bytes: 1000, may_grow: true, ..AckEvent::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::Duration;
    use cclab_algo::cc::{CongestionControl, CongestionEvent, Signal};
    use cclab_algo::params::{Flavour, Given};

    /// A window of ten: ten ACKs add a (a little less, as W grows on the way), a loss takes b of it.
    #[test]
    fn adds_a_and_takes_b() {
        let given = [("a".to_string(), Given::Number(2.0)), ("b".to_string(), Given::Number(0.125))];
        let params = Params::resolve(ENTRY.params, &given, Flavour::Paper).unwrap();
        let cx = Context { initial_window: 10, initial_ssthresh: Some(1), ..Context::new(1000) };
        let mut law = Windowed::new(&cx, SlowStart::Standard, Aimd::new(&params));
        for _ in 0..10 {
            law.on_ack(&AckEvent { acked_bytes: 1000, may_grow: true, ..AckEvent::default() });
        }
        assert!((11.8..=12.0).contains(&law.window.cwnd));
        law.window.cwnd = 16.0;
        let (now, zero) = (Time::ZERO, Duration::ZERO);
        law.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size: 0, srtt: zero, min_rtt: zero });
        assert_eq!(law.cwnd(), 14_000);
    }
}
