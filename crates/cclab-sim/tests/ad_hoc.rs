//! Routing over the air: chains with AODV against ns-2.35, and relays that leave.

use crate::support::*;
use cclab_algo::params::Given;
use cclab_algo::{Duration, Time};
use cclab_sim::net::StationId;
use cclab_sim::net::field::{Field, Params, Value};
use cclab_sim::net::medium::config::*;
use cclab_sim::net::medium::routing::REGISTRY;
use cclab_sim::net::queue::{Limit, Queue};
use cclab_sim::scenario::{Crossing, Scenario, Traffic};
use cclab_sim::tcp::{Config, Recovery};

/// A protocol, and fields that differ from its defaults.
fn protocol(name: &str, given: &[(&str, Value)]) -> Routing {
    let entry = REGISTRY.iter().find(|entry| entry.name == name).expect("it is registered");
    let value = |field: &Field| given.iter().find(|(name, _)| *name == field.name).map(|(_, value)| *value);
    let given: Vec<_> = entry.fields.iter().map(value).collect();
    Routing { entry, params: Params::new(entry.fields, &given) }
}

/// AODV as ns-2.35 has it.
fn ns2() -> Routing {
    protocol("aodv", &[("network_diameter", Value::Integer(30))])
}

/// Stations with ns-2's card at 2 and 1 Mbit/s and ARP, and one TCP flow from the first to the last that may have `window` segments
/// under way.
fn radio(stations: Vec<Motion>, law: &str, window: u64, routing: Routing) -> Scenario {
    let mut scenario = path(50.0, link("there", None, Duration::ZERO), link("back", None, Duration::ZERO));
    scenario.nodes = (0..stations.len()).map(|i| format!("n{i}")).collect();
    scenario.links.clear();
    let [from, to] = [0, stations.len() as u32 - 1].map(StationId);
    let ttl = if routing == ns2() { 30 } else { 64 };
    let station = |(node, motion)| Station::new(node, motion);
    scenario.media = vec![Medium {
        name: "air".into(),
        stations: stations.into_iter().enumerate().map(station).collect(),
        seed: None,
        connected: false,
        radio: Radio::WAVELAN,
        mac: Mac::of("ns2-2M").expect("a profile"),
        queue: Queue::DropTail { limit: Limit::Packets(50) },
        routing,
        arp: true,
        ttl,
        infrastructure: false,
    }];
    scenario.crossings = vec![Crossing { medium: 0, from, to }, Crossing { medium: 0, from: to, to: from }];
    let mut config = Config { receive_buffer: 1460 * window, ..Config::classic(1460, Recovery::NewReno) };
    config.delayed_ack.every = 1;
    // ns-2's minrto_ and tcpTick_
    (config.rto.min, config.rto.granularity) = (Duration::from_millis(200), Duration::from_millis(10));
    let mut flow = bulk("t", law, config);
    (flow.route, flow.route_back) = (vec![0], vec![1]);
    scenario.flows = vec![flow];
    scenario
}

fn standing(x: f64, y: f64) -> Motion {
    Motion::Standing(Place { x, y })
}

/// So many hops of 250 m.
fn chain(hops: u32, law: &str, window: u64, routing: Routing) -> Scenario {
    radio((0..=hops).map(|i| standing(f64::from(i) * 250.0, 0.0)).collect(), law, window, routing)
}

/// Mean goodput in kbit/s over so many seeds, and its standard error.
fn goodput(scenario: &Scenario, seeds: u64) -> (f64, f64) {
    let of = |seed| cclab_sim::world::run(scenario, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let found: Vec<f64> = (1..=seeds).map(|seed| of(seed).flows.goodput_bps[0] / 1e3).collect();
    let n = seeds as f64;
    let mean = found.iter().sum::<f64>() / n;
    let variance = found.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Fu et al. (INFOCOM 2003) in the numbers of ns-2.35 (five runs of 50 s each): TCP on a chain whose MAC gives up for contention and
/// whose AODV takes that for a broken link. Within 15 % up to six hops, within 35 % beyond, where runs differ by a third; but for
/// nine hops and a window of eight, where ns-2's own numbers leap: 104, 102, 63, 99 kbit/s from seven to ten hops.
#[test]
fn chains_as_in_ns2() {
    for row in include_str!("../../../studies/wireless-validation/chain.csv").lines().skip(2) {
        let row: Vec<&str> = row.split(',').collect();
        if row[0] != "250" || row[3] == "Sack" {
            continue;
        }
        let number = |i: usize| row[i].parse::<f64>().expect("a number");
        let (window, hops, reference) = (number(1) as u64, number(2) as u32, number(8));
        let law = row[3].to_lowercase();
        let mut scenario = chain(hops, &law, window, ns2());
        if let (Traffic::Tcp { cc_params, .. }, "vegas") = (&mut scenario.flows[0].traffic, &*law) {
            let ns2 = [("alpha", 1.0), ("beta", 3.0), ("gamma", 1.0)];
            *cc_params = ns2.map(|(name, x)| (name.to_string(), Given::Number(x))).to_vec();
        }
        let seeds = match hops {
            7..=16 if law == "newreno" => 20,
            _ => 5,
        };
        let (mean, error) = goodput(&scenario, seeds);
        println!("{law}, window {window}, {hops} hops: {mean:.0} ± {error:.0}, ns-2 {reference} ± {}", row[9]);
        let leaps = (law.as_str(), window, hops) == ("newreno", 8, 9);
        let allowed = match hops {
            0..=6 => 0.15,
            7..=16 if leaps => 0.6,
            7..=16 => 0.35,
            _ => 0.0,
        };
        assert!((mean - reference).abs() <= allowed * reference, "{row:?}: {mean:.1} ± {error:.1}");
    }
}

/// What a larger network costs: a request that is lost is repeated after a time in proportion to the diameter, whatever the distance
/// is. And what ns-2's repairs cost, which seldom succeed: with others a chain of 10 hops carries more.
#[test]
fn what_of_ns2_makes_the_difference() {
    let of = |given: &[(&str, Value)]| goodput(&chain(10, "newreno", 8, protocol("aodv", given)), 10).0;
    let diameter = |n| ("network_diameter", Value::Integer(n));
    let newer = ("repair_newer", Value::Flag(true));
    let (as_ns2, mended, wide) = (of(&[diameter(30)]), of(&[diameter(30), newer]), of(&[diameter(64), newer]));
    println!("{as_ns2} {mended} {wide}");
    assert!(mended > 1.2 * as_ns2 && wide < 0.95 * mended);
}

/// The relay between source and destination walks away, and another one is in reach of both: every protocol finds it, and static
/// ways do not. Nobody moves any more from 40 s on, when the link over the second relay carries as much as the first did.
#[test]
fn a_relay_leaves() {
    let leg = |from, to| Leg { start: Time(20_000_000_000), end: Time(40_000_000_000), from, to };
    let leaving = leg(Place { x: 200.0, y: 0.0 }, Place { x: 200.0, y: -400.0 });
    let of = |name: &str| {
        let relay = Motion::Along(Track { legs: vec![leaving] });
        let stations = vec![standing(0.0, 0.0), relay, standing(200.0, 140.0), standing(400.0, 0.0)];
        let scenario = radio(stations, "newreno", 8, protocol(name, &[]));
        goodput(&scenario, 3).0
    };
    let lasting = goodput(&chain(2, "newreno", 8, protocol("static", &[])), 3).0;
    for (name, least, most) in
        [("static", 0.4, 0.7), ("aodv", 0.85, 1.01), ("dsr", 0.85, 1.01), ("abr", 0.85, 1.01), ("dsdv", 0.85, 1.01)]
    {
        let share = of(name) / lasting;
        println!("{name}: {share:.3} of {lasting:.0} kbit/s");
        assert!((least..most).contains(&share), "{name}: {share}");
    }
}

/// The outline of a model page.
const HEADINGS: &[&str] =
    &["What it models", "What it leaves out", "Parameters", "Source", "Example", "Validation", "Open questions"];

#[test]
fn every_protocol_has_a_page_with_the_outline_and_every_field() {
    for (i, entry) in REGISTRY.iter().enumerate() {
        assert!(REGISTRY[..i].iter().all(|other| other.name != entry.name), "two are called {}", entry.name);
        let path = format!("{}/../../docs/models/{}.md", env!("CARGO_MANIFEST_DIR"), entry.name);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("docs/models/{}.md: {e}", entry.name));
        let headings: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "docs/models/{}.md", entry.name);
        let section = page.split("## Parameters").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or("");
        for field in entry.fields {
            assert!(section.contains(&format!("`{}`", field.name)), "{}.md lacks `{}`", entry.name, field.name);
        }
    }
}
