//! What the laws that read delays or rates promise, end to end.

use cclab_sim::scenario::Scenario;
use cclab_sim::trace::{LinkSummary, RunResult};

/// A dumbbell with access links of 1 Gbit/s and 1 ms; `flows` is TOML.
fn dumbbell(rate_mbps: u32, rtt_ms: u32, limit: &str, extra: &str, seconds: (u32, u32), flows: &str) -> RunResult {
    let (warmup, end) = seconds;
    let toml = format!(
        r#"
        name = "delay-laws"
        duration = "{end} s"
        warmup = "{warmup} s"
        record = {{ samples = "off" }}
        [network]
        topology = "dumbbell"
        rate = "{rate_mbps} Mbit/s"
        rtt = "{rtt_ms} ms"
        queue = {{ discipline = "droptail", limit = "{limit}" }}
        access = {{ rate = "1 Gbit/s", delay = "1 ms" }}
        {extra}
        {flows}
        "#
    );
    let scenario = Scenario::from_toml(&toml).unwrap_or_else(|e| panic!("{e}"));
    cclab_sim::sim::run(&scenario, 1).unwrap_or_else(|e| panic!("{e}"))
}

fn bottleneck(result: &RunResult) -> &LinkSummary {
    result.links.iter().find(|l| l.name == "bottleneck").expect("a dumbbell has one")
}

/// Packets of 1500 bytes that wait, on average.
fn waiting(result: &RunResult, rate_mbps: u32) -> f64 {
    bottleneck(result).sojourn.mean * f64::from(rate_mbps) * 1e6 / 12_000.0
}

/// Flows of one law that start `every_ms` after one another.
fn flows(cc: &str, count: u32, every_ms: u32) -> String {
    (0..count).map(|i| format!("[[flows]]\ncc = {cc}\nstart = \"{} ms\"\n", i * every_ms)).collect()
}

/// Flows that meet an empty queue as they start keep alpha packets each; tolerance 20 %.
#[test]
fn fast_keeps_alpha_packets_for_each_flow() {
    for (rate, rtt, alpha, count) in [(100, 40, 50, 1), (100, 40, 50, 4), (800, 100, 200, 1), (10, 200, 20, 2)] {
        let cc = format!("{{ name = \"fast\", alpha = {alpha} }}");
        let result = dumbbell(rate, rtt, "40000 packets", "", (30, 60), &flows(&cc, count, 7));
        let (found, target) = (waiting(&result, rate), f64::from(alpha * count));
        println!("{count} at {rate} Mbit/s, {rtt} ms, alpha {alpha}: {found:.1} packets wait, target {target}");
        assert!((found / target - 1.0).abs() <= 0.2, "{count} at {rate} Mbit/s: {found} packets wait, alpha {alpha}");
        assert!(bottleneck(&result).utilisation > 0.999 && bottleneck(&result).drops == 0);
        let mean = result.flows.iter().map(|f| f.goodput_bps).sum::<f64>() / f64::from(count);
        assert!(result.flows.iter().all(|f| (f.goodput_bps / mean - 1.0).abs() < 0.15), "unequal");
    }
}

/// One that comes late takes the first one's queue, alpha/C, for propagation delay. Then α/q + α/(q − α/C) = C, so that
/// q C/α = (3 + √5)/2 = 2.618: the queue holds 2.618 α, the first flow gets 1/2.618 of the rate, the late one the rest.
#[test]
fn fast_takes_the_queue_it_finds_for_propagation_delay() {
    let golden = (3.0 + 5.0_f64.sqrt()) / 2.0;
    let result = dumbbell(100, 40, "4000 packets", "", (80, 120), &flows("{ name = \"fast\", alpha = 50 }", 2, 20_000));
    let [first, late] = [0, 1].map(|i| result.flows[i].goodput_bps);

    println!("the late one gets {:.3}, {:.2} packets wait", late / (first + late), waiting(&result, 100));
    assert!((waiting(&result, 100) / (50.0 * golden) - 1.0).abs() < 0.05, "{}", waiting(&result, 100));
    assert!((first / (first + late) * golden - 1.0).abs() < 0.05, "{first} {late}");
}

/// Vegas: alpha to beta packets for each flow, 20 % either side, once the slow start's overshoot is taken down by one per
/// round trip.
#[test]
fn vegas_keeps_alpha_to_beta_packets_for_each_flow() {
    for variant in ["linux", "paper"] {
        for (rate, rtt, count) in [(20, 40, 1), (20, 40, 4), (10, 100, 3)] {
            let cc = format!("{{ name = \"vegas\", variant = \"{variant}\" }}");
            let result = dumbbell(rate, rtt, "4000 packets", "", (100, 200), &flows(&cc, count, 7));
            let found = waiting(&result, rate) / f64::from(count);

            println!("vegas, {variant}, {count} at {rate} Mbit/s: {found:.2} packets wait for each");
            assert!((2.0 * 0.8..=4.0 * 1.2).contains(&found), "{variant}, {count} at {rate} Mbit/s: {found} each");
            assert!(bottleneck(&result).utilisation > 0.999 && bottleneck(&result).drops == 0);
        }
    }
}
