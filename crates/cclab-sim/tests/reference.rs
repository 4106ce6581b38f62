//! The simulator against other simulators on the same scenario.

use crate::support::*;
use cclab_algo::{Duration, cc};
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, DelayedAck, Recovery};

/// One TCP flow over source - 10 Mbit/s - R1 - 1.5 Mbit/s, 40 ms, 17 waiting - R2 - 10 Mbit/s - sink, 1000 bytes on
/// the wire, an ACK for every packet, initial window 2, minimum RTO 200 ms; 200 s, the first 20 s left out.
fn w1(law: &str, recovery: Recovery) -> Scenario {
    let bottleneck = Queue::DropTail { limit: Limit::Packets(17) };
    let slow = |name| Link { queue: bottleneck.clone(), ..link(name, Some(1_500_000), Duration::from_millis(40)) };
    let fast = |name| link(name, Some(10_000_000), Duration::ZERO);
    let mut scenario = path(200.0, fast("source"), fast("back-from-sink"));
    scenario.links.extend([slow("bottleneck"), fast("sink"), slow("bottleneck-reverse"), fast("back-to-source")]);
    scenario.warmup = Duration::from_secs(20);
    let mut config = Config::classic(960, recovery);
    config.delayed_ack = DelayedAck { every: 1, ..config.delayed_ack };
    config.rto.min = Duration::from_millis(200);
    scenario.flows = vec![Flow { route: vec![0, 2, 3], route_back: vec![1, 4, 5], ..bulk(law, law, config) }];
    scenario
}

/// ns-2.35, one run of each agent: mean one-way delay, s, and largest cwnd, segments.
const NS2: [(&str, Recovery, f64, f64); 3] = [
    ("reno", Recovery::Reno, 0.099_83, 34.96),
    ("newreno", Recovery::NewReno, 0.099_80, 34.96),
    ("reno", Recovery::Sack, 0.099_76, 34.96),
];

#[test]
fn one_flow_as_in_ns2() {
    for (law, recovery, delay, cwnd_max) in NS2 {
        assert!(cc::find(law).is_some());
        let result = run(&w1(law, recovery));
        let (f, l) = (result.flows.row(0), result.links.row(2));
        assert!((l.utilisation - 1.0).abs() <= 0.005, "{recovery:?}: utilisation {}", l.utilisation);
        assert!((f.owd.mean / delay - 1.0).abs() <= 0.03, "{recovery:?}: mean delay {}", f.owd.mean);
        assert!((f.cwnd_max_segments - cwnd_max).abs() <= 1.0, "{recovery:?}: cwnd {}", f.cwnd_max_segments);
        assert_eq!(l.queue_max_packets, 17);
    }
}
