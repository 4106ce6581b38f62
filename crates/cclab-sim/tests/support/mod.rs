//! Scenarios in a few lines: a path from a source to a destination and back, and flows across it.
#![allow(dead_code, reason = "examples use a part")]

use cclab_algo::{Duration, Rate, Time, cc};
use cclab_sim::net::StationId;
use cclab_sim::net::medium::config::{Mac, Motion, Place, Radio, Routing, Station};
use cclab_sim::net::medium::routing::static_routes;
use cclab_sim::scenario::*;
use cclab_sim::tcp;
use cclab_sim::world::RunResult;

/// A link without impairments and with a queue that is never full.
pub fn link(name: &str, rate: Option<u64>, delay: Duration) -> Link {
    Link {
        name: name.into(),
        from: 0,
        to: 1,
        rate: rate.map(Rate),
        delay,
        queue: Queue::DropTail { limit: Limit::Packets(u64::MAX) },
        overhead: 0,
        loss: vec![],
        loss_place: LossPlace::BeforeQueue,
        jitter: None,
        reorder: None,
        duplicate: 0.0,
        schedule: vec![],
        trace: None,
        tunnel: None,
    }
}

/// One link there (number 0), one back (number 1), no flows.
pub fn path(seconds: f64, there: Link, back: Link) -> Scenario {
    Scenario {
        name: "test".into(),
        duration: Duration::from_secs_f64(seconds),
        warmup: Duration::ZERO,
        seed: 1,
        nodes: vec!["a".into(), "b".into()],
        links: vec![there, Link { from: 1, to: 0, ..back }],
        media: vec![],
        crossings: vec![],
        flows: vec![],
        sessions: vec![],
        background: vec![],
        record: Record { samples: Sampling::Off, packets: false, frames: false, capture: None },
        max_events: 1 << 40,
        source: serde_json::Value::Null,
    }
}

/// A flow from one end of [`path`] to the other.
pub fn flow(label: &str, traffic: Traffic) -> Flow {
    Flow {
        label: label.into(),
        peers: (0, 1, Duration::ZERO),
        from: 0,
        to: 1,
        route: vec![0],
        route_back: vec![1],
        start: Time::ZERO,
        start_jitter: Duration::ZERO,
        stop: None,
        send_jitter: Duration::ZERO,
        traffic,
        tunnel: false,
    }
}

/// Constant bit rate.
pub fn cbr(label: &str, rate: u64, packet_size: u32) -> Flow {
    flow(label, Traffic::Cbr { rate: Rate(rate), packet_size })
}

/// A TCP source without end, its parameters at their defaults.
pub fn bulk(label: &str, law: &str, config: tcp::Config) -> Flow {
    let cc = cc::find(law).expect("a registered law");
    flow(label, Traffic::Tcp { size: None, application: None, config: config.into(), cc, cc_params: vec![] })
}

/// Runs with the scenario's own seed.
pub fn run(scenario: &Scenario) -> RunResult {
    cclab_sim::world::run(scenario, scenario.seed).unwrap_or_else(|e| panic!("seed {}: {e}", scenario.seed))
}

/// Goodputs in Mbit/s and utilisation, from `warmup` to `end` seconds, of two flows of one algorithm (a name, or a table
/// in TOML), the second a second later: 250 Mbit/s, a fifth of a BDP of buffer, packets of 1500 bytes.
pub fn two_flows(cc: &str, rtt_ms: u32, warmup: u32, end: u32) -> ([f64; 2], f64) {
    two_flows_with("", cc, rtt_ms, warmup, end)
}

/// The same, with further fields of both flows.
pub fn two_flows_with(fields: &str, cc: &str, rtt_ms: u32, warmup: u32, end: u32) -> ([f64; 2], f64) {
    let cc = if cc.starts_with('{') { cc.to_string() } else { format!("\"{cc}\"") };
    let toml = format!(
        r#"
        name = "two-flows"
        duration = "{end} s"
        warmup = "{warmup} s"
        record = {{ samples = "off" }}
        [network]
        topology = "dumbbell"
        rate = "250 Mbit/s"
        rtt = "{rtt_ms} ms"
        queue = {{ discipline = "droptail", limit = "0.2 BDP" }}
        access = {{ rate = "1 Gbit/s", delay = "1 ms" }}
        [[flows]]
        cc = {cc}
        {fields}
        [[flows]]
        cc = {cc}
        start = "1 s"
        {fields}
        "#
    );
    let result = run(&Scenario::from_toml(&toml).unwrap_or_else(|e| panic!("{e}")));
    let bottleneck = result.links.rows().find(|l| l.name == "bottleneck").expect("a dumbbell has one");
    ([0, 1].map(|i| result.flows.row(i).goodput_bps / 1e6), bottleneck.utilisation)
}

/// ns-2's MAC at 2 and 1 Mbit/s.
pub fn mac() -> Mac {
    Mac::of("ns2-2M").expect("a profile")
}

pub fn at(x: f64, y: f64) -> Place {
    Place { x, y }
}

/// Stations at these places, and flows between some of them.
pub fn radio(seconds: f64, places: &[Place], mac: Mac, flows: Vec<(Flow, u32, u32)>) -> Scenario {
    let mut scenario = path(seconds, link("there", None, Duration::ZERO), link("back", None, Duration::ZERO));
    scenario.nodes = (0..places.len()).map(|i| format!("n{i}")).collect();
    scenario.links.clear();
    let station = |(node, place): (usize, &Place)| Station::new(node, Motion::Standing(*place));
    scenario.media = vec![Medium {
        name: "air".into(),
        stations: places.iter().enumerate().map(station).collect(),
        seed: None,
        connected: false,
        radio: Radio::WAVELAN,
        mac,
        queue: Queue::DropTail { limit: Limit::Packets(50) },
        routing: Routing::new(&static_routes::ENTRY),
        arp: false,
        ttl: 64,
        infrastructure: false,
    }];
    for (flow, from, to) in flows {
        let first = scenario.crossings.len();
        let [from, to] = [from, to].map(StationId);
        scenario.crossings.push(Crossing { medium: 0, from, to });
        scenario.crossings.push(Crossing { medium: 0, from: to, to: from });
        scenario.flows.push(Flow { route: vec![first], route_back: vec![first + 1], ..flow });
    }
    scenario
}

/// So many hops in a row.
pub fn chain(hops: u32, spacing: f64) -> Vec<Place> {
    (0..=hops).map(|i| at(f64::from(i) * spacing, 0.0)).collect()
}
