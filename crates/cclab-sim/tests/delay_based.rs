//! The laws that read delays, on the path of the TCP Santa Cruz study, against what others found there.

use crate::support::*;
use cclab_algo::Duration;
use cclab_algo::params::Given;
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, DelayedAck, Recovery};
use cclab_sim::world::RunResult;

/// Source - 10 Mbit/s - R1 - 1.5 Mbit/s, 40 ms, 17 waiting - R2 - 10 Mbit/s - sink; 1000 bytes on the wire; an ACK for
/// every `ack_every`-th packet; 100 s, the first 20 s left out.
fn run_alone(law: &str, ack_every: u32, params: &[(&str, f64)]) -> RunResult {
    let queue = Queue::DropTail { limit: Limit::Packets(17) };
    let slow = |name| Link { queue: queue.clone(), ..link(name, Some(1_500_000), Duration::from_millis(40)) };
    let fast = |name| link(name, Some(10_000_000), Duration::ZERO);
    let mut scenario = path(100.0, fast("source"), fast("back-from-sink"));
    scenario.links.extend([slow("bottleneck"), fast("sink"), slow("bottleneck-reverse"), fast("back-to-source")]);
    scenario.warmup = Duration::from_secs(20);
    let mut config = Config::classic(960, Recovery::NewReno);
    config.delayed_ack = DelayedAck { every: ack_every, ..config.delayed_ack };
    let mut flow = Flow { route: vec![0, 2, 3], route_back: vec![1, 4, 5], ..bulk(law, law, config) };
    if let Traffic::Tcp { cc_params, .. } = &mut flow.traffic {
        *cc_params = params.iter().map(|(name, x)| (name.to_string(), Given::Number(*x))).collect();
    }
    scenario.flows = vec![flow];
    run(&scenario)
}

/// Published: 55.2 ms; tolerance 3 %. Alpha and beta decide: 1 to 3 packets stay in the queue and nothing is lost (ns-2.35's agent, too, loses none and holds 3, 61.06 ms; its port of Linux's Vegas holds 2, 55.72 ms).
#[test]
fn vegas_as_published() {
    let result = run_alone("vegas", 1, &[("alpha", 1.0), ("beta", 3.0)]);
    let (flow, bottleneck) = (result.flows.row(0), result.links.row(2));
    assert!((flow.owd.mean / 0.0552 - 1.0).abs() <= 0.03, "{}", flow.owd.mean);
    let waiting = bottleneck.sojourn.mean * 1_500_000.0 / 8000.0;
    assert!((1.0..=3.0).contains(&waiting), "{waiting} packets wait");
    assert_eq!((flow.segments_retransmitted, bottleneck.drops), (0, 0));
    assert!(bottleneck.utilisation > 0.999);
    assert!((flow.owd.mean - 0.05572).abs() < 5e-6, "{}", flow.owd.mean);
}

/// Table 2 of the study: mean one-way delays of 55.1, 60.6 and 79.2 ms for n = 1.5, 3 and 5; tolerance 15 %.
/// The queue stays within a packet and a half of n, and W stands still.
#[test]
fn santa_cruz_as_published() {
    for (n, published) in [(1.5, 0.0551), (3.0, 0.0606), (5.0, 0.0792)] {
        let result = run_alone("santa-cruz", 1, &[("n", n)]);
        let (flow, bottleneck) = (result.flows.row(0), result.links.row(2));
        assert!((flow.owd.mean / published - 1.0).abs() <= 0.15, "n = {n}: {}", flow.owd.mean);
        let waiting = bottleneck.sojourn.mean * 1_500_000.0 / 8000.0;
        assert!((n - 1.0..=n + 1.5).contains(&waiting), "n = {n}: {waiting} packets wait");
        assert_eq!(flow.cwnd_min_segments, flow.cwnd_max_segments, "n = {n}");
        assert!(bottleneck.drops == 0 && bottleneck.utilisation > 0.999);
    }
}

/// The delays that docs/models/santa-cruz.md gives, ms: an ACK for each packet, and for every second.
#[test]
fn santa_cruz_with_and_without_delayed_acks() {
    for (n, each, second) in [(1.5, 55.7, 61.1), (3.0, 61.1, 69.1), (5.0, 71.7, 79.7)] {
        for (ack_every, delay) in [(1, each), (2, second)] {
            let result = run_alone("santa-cruz", ack_every, &[("n", n)]);
            let (found, bottleneck) = (result.flows.row(0).owd.mean * 1e3, result.links.row(2));
            assert!((found - delay).abs() <= 0.05, "n = {n}, every {ack_every}: {found} ms");
            assert!(bottleneck.drops == 0 && bottleneck.utilisation > 0.999);
        }
    }
}
