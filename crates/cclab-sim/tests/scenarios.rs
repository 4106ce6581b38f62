//! Scenarios as people write them: good ones become the graph they describe, bad ones say what is wrong.

use cclab_algo::{Duration, Rate};
use cclab_sim::scenario::{self, Limit, Queue, Scenario, Traffic};
use serde_json::json;

fn good(text: &str) -> Scenario {
    Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_example_loads() {
    let s = good(scenario::example());
    assert_eq!(s.flows.len(), 3);
    assert_eq!(s.links[0].name, "bottleneck");
}

/// W2: 250 Mbit/s, 42 ms, 20 % of the BDP are 175 packets of 1500 bytes.
#[test]
fn a_bdp_counts_whole_packets() {
    let s = good(
        r#"
        duration = "10 s"
        network = { rate = "250 Mbit/s", rtt = "42 ms", queue = { limit = "0.2 BDP" }, access = { rate = "1 Gbit/s", delay = "1 ms" } }
        flows = [{ cc = "reno" }]
        "#,
    );
    assert_eq!(s.links[0].queue, Queue::DropTail { limit: Limit::Packets(175) });
    assert_eq!(s.links[0].delay, Duration::from_millis(19));
    assert_eq!(s.links[0].rate, Some(Rate(250_000_000)));
    let rtt: u64 = s.flows[0].route.iter().chain(&s.flows[0].route_back).map(|l| s.links[*l].delay.0).sum();
    assert_eq!(Duration(rtt), Duration::from_millis(42));
    let Traffic::Tcp { config, .. } = &s.flows[0].traffic else { panic!("tcp") };
    assert_eq!(config.mss, 1448);
}

#[test]
fn the_normal_form_is_the_same_scenario() {
    let s = good(scenario::example());
    let again = Scenario::from_json(&s.source).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(format!("{s:#?}"), format!("{again:#?}"));
}

#[test]
fn json_reads_as_toml() {
    let s = Scenario::from_json(&json!({
        "duration": "10 s", "network": { "rate": "10 Mbit/s", "rtt": "20 ms", "loss": null }, "flows": [{ "cc": "reno" }]
    }));
    assert_eq!(s.unwrap().flows[0].label, "reno-1");
}

#[test]
fn mistakes_come_all_at_once() {
    let e = Scenario::from_toml(
        "duration = 5\nwarmup=\"1 s\"\n[network]\nrate=\"10 Mpbs\"\nrtt=\"1 ms\"\n[[flows]]\ncc=\"rneo\"\n",
    )
    .unwrap_err();
    println!("{e}");
    assert_eq!(e.mistakes.len(), 3, "{e}");
}
