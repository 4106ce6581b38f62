//! Scenarios as people write them: good ones become the graph they describe, bad ones say what is wrong.

use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Rate, Time, cc};
use cclab_sim::net::StationId;
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, Recovery, RtoStyle};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
fn good(text: &str) -> Scenario {
    Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"))
}
fn text(name: &str) -> String {
    let path = root().join("tests/scenarios").join(name).with_extension("toml");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
fn load(name: &str) -> Scenario {
    good(&text(name))
}
/// Every scenario of `tests/scenarios`, and the example.
fn all() -> Vec<(String, String)> {
    let files = std::fs::read_dir(root().join("tests/scenarios")).expect("the folder is there");
    let stem = |p: PathBuf| p.file_stem().expect("a file has a name").to_string_lossy().into_owned();
    let mut names: Vec<String> = files.map(|f| stem(f.expect("it can be listed").path())).collect();
    names.sort();
    assert!(names.len() >= 10, "{names:?}");
    let mut all: Vec<(String, String)> = names.iter().map(|n| (n.clone(), text(n))).collect();
    all.push(("example".into(), example().into()));
    all
}
fn tcp(flow: &Flow) -> &Config {
    match &flow.traffic {
        Traffic::Tcp { config, .. } => config,
        Traffic::Cbr { .. } | Traffic::OnOff { .. } => panic!("{} is TCP", flow.label),
    }
}
fn limit(link: &Link) -> Limit {
    link.queue.limit()
}
fn names(s: &Scenario, links: &[usize]) -> Vec<String> {
    links.iter().map(|l| s.links[*l].name.clone()).collect()
}
fn base_rtt(s: &Scenario, flow: usize) -> Duration {
    let f = &s.flows[flow];
    f.route.iter().chain(&f.route_back).map(|l| s.links[*l].delay).fold(Duration::ZERO, |a, b| a + b)
}
const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn every_scenario_is_its_own_normal_form() {
    for (name, text) in all() {
        let s = good(&text);
        let again = Scenario::from_json(&s.source).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(format!("{s:#?}"), format!("{again:#?}"), "{name}");
    }
}

/// Applications too, with and without what is left out, and as many parts as may be.
#[test]
fn every_application_is_its_own_normal_form() {
    for traffic in [
        "kind = 'onoff'",
        "kind = 'onoff', distribution = 'pareto', shape = 1.2, rate = '1 Mbit/s', write = '1 kB'",
        "kind = 'cbr', rate = '1 Mbit/s'",
        "kind = 'chunks', size = '1 MB'",
        "kind = 'chunks', size = '1 MB', count = 3",
        "kind = 'chunks', size = '1 B', every = '1 ns', count = 50000000",
        "kind = 'requests', response = '1 kB'",
        "kind = 'requests', response = '1 kB', count = 10",
    ] {
        let s = Scenario::from_json(&edited(&format!("flows.0.traffic = {{ {traffic} }}"))).expect(traffic);
        let again = Scenario::from_json(&s.source).unwrap_or_else(|e| panic!("{traffic}: {e}"));
        assert_eq!(s.source, again.source);
        assert_eq!(format!("{s:#?}"), format!("{again:#?}"), "{traffic}");
    }
}

/// Constants, what follows from the flows, and what a profile stands for.
#[test]
fn the_normal_form_has_every_default() {
    let source = load("small-buffer").source;
    for (place, value) in [
        ("/seed", json!(1)),
        ("/max_events", json!(100_000_000_000_u64)),
        ("/network/topology", json!("dumbbell")),
        ("/network/delay", json!("19 ms")),
        ("/network/reverse/delay", json!("19 ms")),
        ("/network/reverse/rate", json!("250 Mbit/s")),
        ("/network/queue", json!({ "discipline": "droptail", "limit": "0.2 BDP" })),
        ("/network/loss", json!({ "data": "0%", "ack": "0%", "all": "0%", "place": "before-queue" })),
        ("/network/jitter", json!("none")),
        ("/network/access/queue/limit", json!("unlimited")),
        ("/flows/0/rtt", json!("42 ms")),
        ("/flows/0/cc/name", json!("cubic")),
        ("/flows/0/packet_size", json!("1500 B")),
        ("/flows/0/recovery", json!("rack")),
        ("/flows/0/rto/min", json!("200 ms")),
        ("/flows/0/receive_buffer", json!("256 MiB")),
        ("/record/samples", json!("200 ms")),
    ] {
        assert_eq!(source.pointer(place), Some(&value), "{place} in {source:#}");
    }
    assert!(!source.to_string().contains("null"), "{source:#}");
}

/// The order in which fields are written does not matter, nor do other words for the same.
#[test]
fn the_normal_form_is_one_for_all_ways_to_say_it() {
    let a = good(
        "duration = '60 s'\nwarmup = '0.5 s'\nflows = [{ cc = 'reno', rtt = '40 ms' }]\nnetwork = { rate = '10 Mbit/s' }",
    );
    let b = good(
        "network = { delay = '20000 us', rate = '0.01Gbps' }\nflows = [{ rtt = '0.04 s', count = 1, cc = { name = 'reno' } }]\nwarmup = '500 ms'\nduration = '1 min'",
    );
    assert_eq!(a.source.to_string(), b.source.to_string());
}

#[test]
fn every_route_leads_from_source_to_destination() {
    for (name, text) in all() {
        let s = good(&text);
        for f in &s.flows {
            for (links, from, to) in [(&f.route, f.from, f.to), (&f.route_back, f.to, f.from)] {
                let end = links.iter().fold(from, |at, l| {
                    let (from, to) = match s.links.get(*l) {
                        Some(link) => (link.from, link.to),
                        None => {
                            let Crossing { medium, from, to } = s.crossings[l - s.links.len()];
                            let node = |station: StationId| s.media[medium].stations[station.index()].node;
                            (node(from), node(to))
                        }
                    };
                    assert_eq!(from, at, "{name}: {}", f.label);
                    to
                });
                assert_eq!(end, to, "{name}: {}", f.label);
            }
        }
    }
}

#[test]
fn the_santa_cruz_bottleneck() {
    let s = load("santa-cruz");
    assert_eq!(s.nodes, ["left", "right", "s1", "r1"]);
    let b = &s.links[0];
    assert_eq!((b.name.as_str(), b.rate, b.delay), ("bottleneck", Some(Rate(1_500_000)), ms(40)));
    assert_eq!(limit(b), Limit::Packets(17));
    assert_eq!(names(&s, &s.flows[0].route), ["s1->left", "bottleneck", "right->r1"]);
    assert_eq!(names(&s, &s.flows[0].route_back), ["r1->right", "bottleneck-reverse", "left->s1"]);
    assert_eq!(s.links[2].rate, Some(Rate(10_000_000)));
    assert_eq!((s.links[2].delay, limit(&s.links[2])), (Duration::ZERO, Limit::Packets(u64::MAX)));
    assert_eq!(base_rtt(&s, 0), ms(80));
    let config = tcp(&s.flows[0]);
    assert_eq!((config.mss, config.recovery, config.sack), (960, Recovery::Reno, false));
    assert_eq!((config.delayed_ack.every, config.initial_window), (1, 2));
    assert_eq!((config.rto.style, config.rto.min), (RtoStyle::Rfc6298, ms(200)));
    assert_eq!(config.flavour, Flavour::Paper);
    assert_eq!((s.flows[0].start_jitter, s.flows[0].send_jitter), (Duration::ZERO, Duration::ZERO));
}

/// 250 Mbit/s × 42 ms = 1,312,500 bytes = 875 packets of 1500; a fifth of them are 175.
#[test]
fn a_fifth_of_the_bdp_is_175_packets() {
    let s = load("small-buffer");
    assert_eq!(limit(&s.links[0]), Limit::Packets(175));
    assert_eq!(limit(&s.links[1]), Limit::Packets(175));
    assert_eq!((s.links[0].delay, s.links[2].delay), (ms(19), ms(1)));
    assert_eq!((base_rtt(&s, 0), base_rtt(&s, 1)), (ms(42), ms(42)));
    assert_eq!(s.flows.iter().map(|f| f.label.as_str()).collect::<Vec<_>>(), ["cubic-1", "cubic-2"]);
    assert_eq!(tcp(&s.flows[0]).mss, 1448);
    assert_eq!(s.flows[1].start, Time::ZERO + ms(1000));
}

/// A fifth of 250 Mbit/s × 162 ms = 5,062,500 bytes are 675 packets. The bottleneck leaves the flow with 42 ms
/// nothing for its access links, and those with 162 ms 120 ms.
#[test]
fn flows_of_different_rtt_share_a_bottleneck() {
    let s = load("cubic-against-reno");
    assert_eq!(limit(&s.links[0]), Limit::Packets(675));
    assert_eq!((s.links[0].delay, s.links[1].delay), (ms(21), ms(21)));
    assert_eq!((base_rtt(&s, 0), base_rtt(&s, 1), base_rtt(&s, 2)), (ms(162), ms(162), ms(42)));
    assert_eq!(names(&s, &s.flows[1].route), ["s2->left", "bottleneck", "right->r2"]);
    assert_eq!(s.links[s.flows[1].route[2]].delay, ms(60));
    assert_eq!(s.flows.iter().map(|f| f.label.as_str()).collect::<Vec<_>>(), ["cubic-1", "cubic-2", "reno-1"]);
    assert_eq!((s.flows[0].start_jitter, s.flows[2].start_jitter), (ms(162), Duration::ZERO));
    assert_eq!((s.warmup, s.seed, s.record.samples), (ms(20_000), 1, Sampling::Every(ms(200))));
}

#[test]
fn a_transfer_with_loss_of_data_in_both_directions() {
    let s = load("lossy-transfer");
    let loss = [Loss { applies_to: AppliesTo::Data, model: LossModel::Bernoulli { p: 0.01 } }];
    assert_eq!((s.links[0].loss.as_slice(), s.links[1].loss.as_slice()), (&loss[..], &loss[..]));
    let Traffic::Tcp { size, cc, cc_params, .. } = &s.flows[0].traffic else { panic!("TCP") };
    assert_eq!((*size, cc.name), (Some(25_000_000), "cubic"));
    assert_eq!(cc_params.len(), cc.params.len());
    assert_eq!(limit(&s.links[0]), Limit::Packets(16), "25,000 bytes are 16 packets and two thirds");
}

#[test]
fn the_reverse_direction_differs_where_it_says_so() {
    let s = load("asymmetric");
    let (there, back) = (&s.links[0], &s.links[1]);
    assert_eq!((there.rate, back.rate), (Some(Rate(40_000_000)), Some(Rate(4_000_000))));
    assert_eq!((there.delay, back.delay, there.overhead, back.overhead), (ms(300), ms(300), 18, 18));
    assert_eq!((limit(there), limit(back)), (Limit::Bytes(500_000), Limit::Bytes(65_536)));
    let model = LossModel::GilbertElliott { p: 0.001, r: 0.2, good: 0.0, bad: 0.5 };
    assert_eq!(there.loss, [Loss { applies_to: AppliesTo::All, model }]);
    assert_eq!((there.loss_place, back.loss.len()), (LossPlace::AfterLink, 0));
    assert_eq!((there.jitter, back.jitter), (Some(Jitter::Exponential { mean: ms(1) }), None));
    assert_eq!((there.reorder, back.reorder), (Some(Reorder { probability: 0.001, delay: ms(5) }), None));
    let upload = &s.flows[3];
    assert_eq!((upload.label.as_str(), names(&s, &upload.route)[1].as_str()), ("reno-1", "bottleneck-reverse"));
    assert_eq!((s.nodes[upload.from].as_str(), s.links[upload.route[0]].to), ("s4", 1));
    assert_eq!(s.flows[0].start_jitter, ms(600), "replicas are spread over one base RTT");
    assert_eq!(tcp(&s.flows[0]).initial_ssthresh, Some(1_500_000), "half of 40 Mbit/s × 600 ms");
    assert!(matches!(s.flows[4].traffic, Traffic::Cbr { rate: Rate(500_000), packet_size: 200 }));
    assert_eq!(s.flows[4].stop, Some(Time::ZERO + Duration::from_secs(120)));
    assert_eq!(s.record.samples, Sampling::Every(ms(300)), "a thousandth of five minutes");
}

#[test]
fn changes_named_losses_and_a_capture() {
    let s = load("handover");
    assert_eq!(s.links[0].schedule.len(), 2);
    let first = Change { at: Time::ZERO + ms(20_000), rate: Some(Rate(10_000_000)), delay: Some(ms(45)), up: None };
    assert_eq!((s.links[0].schedule[0], s.links[1].schedule[0]), (first, first));
    let named = Loss { applies_to: AppliesTo::Data, model: LossModel::Named { flow: Some(0), packets: vec![20, 25] } };
    let periodic = Loss { applies_to: AppliesTo::Ack, model: LossModel::Periodic { every: 100 } };
    assert_eq!(s.links[0].loss, [named, periodic]);
    assert_eq!(s.flows.iter().map(|f| f.label.as_str()).collect::<Vec<_>>(), ["watched", "others-1", "others-2"]);
    assert_eq!(base_rtt(&s, 0), ms(100));
    assert_eq!(tcp(&s.flows[1]).mss, 1000);
    assert_eq!(s.record.capture, Some(Capture { point: Point::Receiver, snaplen: Some(96) }));
    assert_eq!((s.record.samples, s.record.packets), (Sampling::OnChange, false));
}

#[test]
fn chains_crosses_and_parking_lots_are_graphs() {
    let s = load("chain");
    assert_eq!((s.nodes.len(), s.links.len()), (7, 12));
    assert_eq!(names(&s, &s.flows[0].route), ["n0->n1", "n1->n2", "n2->n3", "n3->n4", "n4->n5", "n5->n6"]);
    assert_eq!(names(&s, &s.flows[1].route), ["n4->n3", "n3->n2"]);
    assert_eq!((base_rtt(&s, 0), base_rtt(&s, 1)), (ms(60), ms(20)));

    let s = load("cross");
    assert_eq!(s.nodes, ["h0", "h1", "middle", "h3", "h4", "v0", "v1", "v3", "v4"]);
    assert_eq!(names(&s, &s.flows[0].route), ["h0->h1", "h1->middle", "middle->h3", "h3->h4"]);
    assert_eq!(names(&s, &s.flows[1].route), ["v0->v1", "v1->middle", "middle->v3", "v3->v4"]);
    assert_eq!((base_rtt(&s, 0), base_rtt(&s, 1)), (ms(40), ms(40)));
    assert_eq!(limit(&s.links[0]), Limit::Packets(6), "2 Mbit/s × 40 ms are 10,000 bytes");

    let s = load("parking-lot");
    let middle = |f: &Flow| names(&s, &f.route[1..f.route.len() - 1]);
    assert_eq!(middle(&s.flows[0]), ["router-0->router-1", "router-1->router-2", "router-2->router-3"]);
    assert_eq!(middle(&s.flows[2]), ["router-1->router-2"]);
    assert_eq!(middle(&s.flows[3]), ["router-3->router-2"]);
    assert!((0..4).all(|f| base_rtt(&s, f) == ms(60)));
    assert_eq!(s.links[0].delay, ms(10), "the long flow's RTT leaves 60 ms for six links");
}

#[test]
fn a_custom_network_takes_the_shortest_path_or_the_one_it_is_told() {
    let s = load("custom");
    assert_eq!(names(&s, &s.flows[0].route), ["a->relay", "relay->b"]);
    assert_eq!(names(&s, &s.flows[0].route_back), ["b->relay", "relay->a"]);
    assert_eq!(names(&s, &s.flows[1].route), ["a->b"]);
    assert_eq!(names(&s, &s.flows[1].route_back), ["b->a"]);
    assert_eq!((base_rtt(&s, 0), base_rtt(&s, 1)), (ms(23), ms(80)));
    assert_eq!(s.links.iter().map(|l| l.duplicate).collect::<Vec<_>>(), [0.0, 0.0, 0.0, 0.0, 0.0, 0.005]);
    // 10 Mbit/s × 23 ms, the base RTT of the first flow, are 28,750 bytes
    assert_eq!(limit(&s.links[0]), Limit::Packets(19));
}

/// The packets of a flow on links of its own are nothing to a queue elsewhere: CoDel leaves the largest packet that it has (RFC 8289 §4.2).
#[test]
fn what_is_automatic_is_of_the_flows_that_cross_the_link() {
    let links = |first: &str| {
        let text = format!(
            "duration = '10 s'\nnetwork = {{ topology = 'custom', nodes = ['a', 'b', 'c', 'd'], links = [\
             {{ from = 'a', to = 'b', rate = '10 Mbit/s', delay = '30 ms', queue = {{ discipline = 'codel' }} }},\
             {{ from = 'c', to = 'd', rate = '10 Mbit/s', delay = '9 ms' }}] }}\n{first}\n\
             [[flows]]\nkind = 'cbr'\nrate = '1 Mbit/s'\npacket_size = '500 B'\nfrom = 'a'\nto = 'b'"
        );
        format!("{:?}", good(&text).links[0])
    };
    let alone = links("");
    assert!(alone.contains("mtu: 500"), "{alone}");
    assert_eq!(links("[[flows]]\ncc = 'reno'\nfrom = 'c'\nto = 'd'"), alone);
}

#[test]
fn every_option_of_a_flow_arrives() {
    let s = load("options");
    let f = &s.flows[0];
    // What cannot be otherwise: recovery = "sack" needs sack, the flow has one path, hosts know nothing before a run; scripts alone count
    // SYNs, are thin, and wait between challenges.
    let same = [
        "    sack: true,",
        "    multipath: false,",
        "    metrics: None,",
        "    syn_retries: 6,",
        "    synack_retries: 5,",
        "    thin_linear_timeouts: false,",
        "    challenge_gap: 0.500000000s,",
    ];
    let lines = |c: &Config| format!("{c:#?}").lines().map(String::from).collect::<Vec<_>>();
    let linux = lines(&Config::linux(1));
    for line in lines(tcp(f)) {
        let value = line.ends_with(',') && line.contains(": ");
        assert!(!value || !linux.contains(&line) || same.contains(&line.as_str()), "{line} is the default");
    }
    assert_eq!(tcp(f).initial_ssthresh, Some(64 * 536));
    assert_eq!((f.start, f.start_jitter, f.send_jitter), (Time::ZERO + ms(1500), ms(250), Duration::from_micros(100)));
    assert_eq!((f.stop, s.max_events, s.seed), (Some(Time::ZERO + ms(9000)), 1_000_000, 18_446_744_073_709_551));
    assert_eq!((s.record.samples, s.record.packets), (Sampling::Off, true));
    assert_eq!(s.links[0].duplicate, 0.001);
}

/// Puts `edit` into `json`; a number as a field of a list is a position.
fn merge(json: &mut Json, edit: &Json) {
    match (json, edit) {
        (Json::Object(table), Json::Object(fields)) => {
            for (name, value) in fields {
                merge(table.entry(name).or_insert(Json::Null), value);
            }
        }
        (Json::Array(list), Json::Object(fields)) => {
            for (position, value) in fields {
                let position: usize = position.parse().expect("a position in a list");
                list.resize(list.len().max(position + 1), Json::Null);
                merge(&mut list[position], value);
            }
        }
        (json, _) => *json = edit.clone(),
    }
}
/// A plain scenario with an edit in TOML: `flows.0.cc = "cubik"`.
fn edited(edit: &str) -> Json {
    let mut json = json!({
        "duration": "60 s",
        "network": { "rate": "10 Mbit/s", "rtt": "40 ms" },
        "flows": [{ "cc": "reno" }],
    });
    let edit: toml::Table = edit.parse().unwrap_or_else(|e| panic!("{edit}: {e}"));
    merge(&mut json, &serde_json::to_value(edit).expect("TOML is JSON"));
    json
}

/// An edit, and all that is wrong then.
const BAD: &[(&str, &str)] = &[
    (
        "name = ''",
        r#"name: "" is not a name: text on one line, 1 to 200 characters, none that controls a terminal or the direction of text"#,
    ),
    (
        "name = 5",
        "name: 5 is not a name: text on one line, 1 to 200 characters, none that controls a terminal or the direction of text",
    ),
    // none of what is shown turns a terminal around
    (
        r#"name = "a\u202Eb""#,
        r#"name: "a\u{202e}b" is not a name: text on one line, 1 to 200 characters, none that controls a terminal or the direction of text"#,
    ),
    (
        r#"name = "a\u2066b\u0085""#,
        r#"name: "a\u{2066}b\u{85}" is not a name: text on one line, 1 to 200 characters, none that controls a terminal or the direction of text"#,
    ),
    (
        "durations = '5 s'",
        r#"durations: unknown field (did you mean "duration"?); allowed: traces, profile, sysctl, name, duration, warmup, seed, max_events, network, background, flows, record"#,
    ),
    ("duration = 5", r#"duration: 5 has no unit; write e.g. "40 ms""#),
    ("duration = '0 s'", r#"duration: "0 s" is too small; at least "1 ns""#),
    ("duration = '11000000 h'", r#"duration: "11000000 h" is too large; at most "315360000 s""#),
    (
        "duration = '5 sec'",
        r#"duration: "5 sec" is not a length of time: unknown unit "sec"; allowed: ns, us, ms, s, min, h"#,
    ),
    ("duration = '-5 s'", r#"duration: "-5 s" is negative; at least "1 ns""#),
    ("duration = true", r#"duration: true is not a length of time; write a number with a unit, e.g. "40 ms""#),
    ("duration = '12'", r#"duration: "12" has no unit; write e.g. "40 ms""#),
    ("duration = 'long'", r#"duration: "long" is not a length of time; write a number with a unit, e.g. "40 ms""#),
    ("warmup = '60 s'", r#"warmup: "60 s" is not shorter than duration, "60 s""#),
    ("seed = -1", "seed: -1 is not a whole number from 0 to 18446744073709551615"),
    ("seed = 1.5", "seed: 1.5 is not a whole number from 0 to 18446744073709551615"),
    ("max_events = 0", "max_events: 0 is not a whole number from 1 to 1000000000000000"),
    ("network = 5", "network: 5 is not a table"),
    (
        "network.topology = 'dumbell'",
        r#"network.topology: unknown "dumbell" (did you mean "dumbbell"?); allowed: dumbbell, chain, parking-lot, cross, custom, grid, random"#,
    ),
    ("network.rate = 250", r#"network.rate: 250 has no unit; write e.g. "10 Mbit/s", or "unlimited""#),
    (
        "network.rate = '10 Mpbs'",
        r#"network.rate: "10 Mpbs" is not a rate: unknown unit "Mpbs" (did you mean "Mbps"?); allowed: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"#,
    ),
    (
        "network.rate = '10 mbps'",
        r#"network.rate: "10 mbps" is not a rate: unknown unit "mbps" (did you mean "Mbps"?); allowed: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"#,
    ),
    ("network.rate = '20 Tbit/s'", r#"network.rate: "20 Tbit/s" is too large; at most "10 Tbit/s""#),
    ("network.rate = '0 bit/s'", r#"network.rate: "0 bit/s" is too small; at least "1 bit/s""#),
    (
        "network.rate = '1,5 Mbit/s'",
        r#"network.rate: "1,5 Mbit/s" is not a rate; write a number with a unit, e.g. "10 Mbit/s""#,
    ),
    (
        "network.delay = '21 ms'",
        r#"flows[0].rtt: "40 ms" is shorter than the delays of its path there and back, "42 ms""#,
    ),
    (
        "network.rates = '5 Mbit/s'",
        r#"network.rates: unknown field (did you mean "rate"?); allowed: topology, trace, rate, rtt, delay, tunnel, queue, overhead, duplicate, loss, jitter, reorder, schedule, reverse, access, wifi"#,
    ),
    (
        "network.hops = 3",
        "network.hops: unknown field; allowed: topology, trace, rate, rtt, delay, tunnel, queue, overhead, duplicate, loss, jitter, reorder, schedule, reverse, access, wifi",
    ),
    ("network.queue = '1 BDP'", r#"network.queue: "1 BDP" is not a table"#),
    (
        "network.queue.limit = 17",
        r#"network.queue.limit: 17 has no unit; write e.g. "100 packets", "64 KiB", "0.2 BDP", "100 ms", or "unlimited""#,
    ),
    (
        "network.queue.limit = '17'",
        r#"network.queue.limit: "17" is not an amount of data; write e.g. "100 packets", "64 KiB", "0.2 BDP", "100 ms""#,
    ),
    (
        "network.queue.limit = '17 parsecs'",
        r#"network.queue.limit: "17 parsecs" is not an amount of data; write e.g. "100 packets", "64 KiB", "0.2 BDP", "100 ms""#,
    ),
    ("network.queue.limit = '0 packets'", r#"network.queue.limit: "0 packets" is too small; at least "1 packet""#),
    ("network.queue.limit = '0 BDP'", r#"network.queue.limit: "0 BDP" is too small; at least "0.000000001 BDP""#),
    (
        "network.queue.limit = '64 KB'",
        r#"network.queue.limit: "64 KB" is ambiguous; write "kB" for 1000 bytes or "KiB" for 1024"#,
    ),
    (
        "network.queue.discipline = 'rad'",
        r#"network.queue.discipline: unknown "rad" (did you mean "red"?); allowed: {queues}"#,
    ),
    (
        "network.rate = 'unlimited'\nnetwork.queue.discipline = 'codel'",
        "network.queue.discipline: needs a link with a rate; in front of an infinitely fast one nothing waits",
    ),
    (
        "network.rate = 'unlimited'\nnetwork.queue.limit = 17",
        r#"network.queue.limit: 17 has no unit; write e.g. "100 packets", "64 KiB", "0.2 BDP", "100 ms", or "unlimited""#,
    ),
    ("network.queue = { discipline = 'red', adaptive = 5 }", "network.queue.adaptive: 5 is not true or false"),
    ("network.queue.target = '5 ms'", "network.queue.target: unknown field; allowed: discipline, limit"),
    (
        "network.queue.discipline = 'red'\nnetwork.queue.max = '20 kB'",
        "network.queue.max: is not measured as min is: write both in packets or BDP, or both in bytes or time (an automatic min is in packets)",
    ),
    (
        "network.queue.discipline = 'red'\nnetwork.queue.min = '20 packets'",
        r#"network.queue.max: "15 packets" is below min, "20 packets"; that is its default: write what fits"#,
    ),
    (
        "network.queue = { discipline = 'red', limit = '10 packets', max = '16 packets' }",
        r#"network.queue.max: "16 packets" is beyond limit, "10 packets""#,
    ),
    (
        "network.queue = { discipline = 'red', limit = '10 ms', min = '11 ms', max = '20 ms' }",
        r#"network.queue.min: "11 ms" is beyond limit, "10 ms": nothing would ever be signalled"#,
    ),
    (
        "network.queue = { discipline = 'red', max = '20 packets' }\nnetwork.reverse.queue.limit = '7 packets'",
        r#"network.reverse.queue.max: "20 packets" is beyond limit, "7 packets""#,
    ),
    (
        "network.queue = { discipline = 'red', limit = '10 packets' }",
        r#"network.queue.max: "15 packets" is beyond limit, "10 packets"; that is its default: write what fits"#,
    ),
    (
        "network.queue = { discipline = 'red', limit = '3 packets' }",
        r#"network.queue.min: "5 packets" is beyond limit, "3 packets": nothing would ever be signalled; that is its default: write what fits"#,
    ),
    (
        "network.queue = { discipline = 'step', limit = '20 packets' }",
        r#"network.queue.threshold: "20 packets" is not below limit, "20 packets": nothing would ever be marked; that is its default: write what fits"#,
    ),
    (
        "network.queue = { discipline = 'pie', T_UPDATE = '16 ms' }",
        r#"network.queue.T_UPDATE: unknown field (did you mean "interval"?); allowed: discipline, limit, target, interval, burst, alpha, beta, estimator, derandomise, flavour, ecn, ecn_limit, packet_size"#,
    ),
    (
        "network.queue = { discipline = 'pie', max_burst = '1 s', t_update = '16 ms' }",
        r#"network.queue.max_burst: unknown field (did you mean "burst"?); allowed: discipline, limit, target, interval, burst, alpha, beta, estimator, derandomise, flavour, ecn, ecn_limit, packet_size
network.queue.t_update: unknown field (did you mean "interval"?); allowed: discipline, limit, target, interval, burst, alpha, beta, estimator, derandomise, flavour, ecn, ecn_limit, packet_size"#,
    ),
    (
        "network.queue = { discipline = 'red', min_th = '5 packets' }",
        r#"network.queue.min_th: unknown field (did you mean "min"?); allowed: discipline, limit, min, max, weight, max_p, gentle, wait, adaptive, by_size, packet_size, ecn, hard_drop"#,
    ),
    (
        "network.queue = { discipline = 'step', limit = '0.5 BDP', threshold = '1 BDP' }",
        r#"network.queue.threshold: "1 BDP" is not below limit, "0.5 BDP": nothing would ever be marked"#,
    ),
    (
        "network.queue = { discipline = 'codel', target = '100 ms' }",
        r#"network.queue.target: "100 ms" is not below interval, "100 ms""#,
    ),
    (
        "network.queue = { discipline = 'fq-codel', interval = '4 ms' }",
        r#"network.queue.target: "5 ms" is not below interval, "4 ms"; that is its default: write what fits"#,
    ),
    (
        "network.queue = { discipline = 'dualpi2', ramp_max = '700 us' }",
        r#"network.queue.ramp_max: "700 us" is below ramp_min, "800 us""#,
    ),
    (
        "network.queue = { discipline = 'pie', interval = '1 ns' }",
        r#"network.queue.interval: "1 ns" is too small; at least "1 us""#,
    ),
    (
        "network.queue = { discipline = 'dualpi2', target = '0 s', interval = '999 ns' }",
        "network.queue.target: \"0 s\" is too small; at least \"1 ns\"\n\
         network.queue.interval: \"999 ns\" is too small; at least \"1 us\"",
    ),
    (
        "network.rate = 'unlimited'\nnetwork.queue.limit = '1 BDP'",
        "network.queue.limit: a limit in time or BDP needs a link with a rate; this one is infinitely fast",
    ),
    ("network.loss = '1%'", r#"network.loss: "1%" is not a table"#),
    (
        "network.loss.data = '101%'",
        r#"network.loss.data: "101%" is not a probability: from 0% to 100%, or from 0 to 1"#,
    ),
    ("network.loss.data = 1.5", "network.loss.data: 1.5 is not a probability: from 0% to 100%, or from 0 to 1"),
    ("network.loss.data = 'often'", r#"network.loss.data: "often" is not a probability; write e.g. "1%" or 0.01"#),
    (
        "network.loss.data = {}",
        r#"network.loss.data: is no loss model; write a probability, { every = 100 }, { packets = [20, 25], flow = "reno-1" } or { p = "1%", r = "20%", good = "0%", bad = "100%" }"#,
    ),
    ("network.loss.data = { every = 0 }", "network.loss.data.every: 0 is not a whole number from 1 to 1000000000000"),
    ("network.loss.data = { every = 5, p = 0.1 }", "network.loss.data.p: unknown field; allowed: every"),
    ("network.loss.data = { p = 0.1 }", r#"network.loss.data.r: missing; write e.g. r = "20%""#),
    (
        "network.loss.data = { packets = [5, 4] }",
        "network.loss.data.packets: [5,4] is not a list of packet numbers, counted from 1, ascending",
    ),
    (
        "network.loss.data = { packets = [5], flow = 'reno-2' }",
        r#"network.loss.data.flow: no flow is labelled "reno-2""#,
    ),
    (
        "network.loss.place = 'in-between'",
        r#"network.loss.place: unknown "in-between"; allowed: before-queue, after-link"#,
    ),
    (
        "network.jitter = { mean = '5 ms' }",
        "network.jitter.max: missing; write e.g. max = \"2 ms\"\nnetwork.jitter.mean: unknown field; allowed: distribution, max",
    ),
    ("network.jitter = 'some'", r#"network.jitter: "some" is not a table"#),
    ("network.reorder = { probability = '1%' }", r#"network.reorder.delay: missing; write e.g. delay = "10 ms""#),
    ("network.duplicate = -0.5", "network.duplicate: -0.5 is not a probability: from 0% to 100%, or from 0 to 1"),
    ("network.overhead = 2000", r#"network.overhead: 2000 has no unit; write e.g. "1500 B""#),
    ("network.schedule = [{ at = '5 s' }]", "network.schedule[0]: changes nothing; give it a rate, a delay, or up"),
    (
        "network.schedule = [{ at = '5 s', rate = '1 Mbit/s' }, { at = '5 s', rate = '2 Mbit/s' }]",
        "network.schedule[1].at: is not later than the change before it",
    ),
    (
        "network.reverse.rate = '1 Mbit/s'\nnetwork.schedule = [{ at = '5 s', rate = '5 Mbit/s' }]",
        "network.reverse.schedule: missing; the forward direction changes over time and this one differs from it: write its own changes, or [] for none",
    ),
    (
        "network.reverse.rtt = '5 ms'",
        "network.reverse.rtt: unknown field; allowed: rate, delay, trace, queue, overhead, duplicate, loss, jitter, reorder, schedule",
    ),
    (
        "network.access = { delay = '11 ms' }",
        r#"flows[0].rtt: "40 ms" is shorter than the delays of its path there and back, "44 ms""#,
    ),
    (
        "network = { topology = 'chain', hops = 0, rtt = '40 ms' }",
        "network.hops: 0 is not a whole number from 1 to 100",
    ),
    (
        "network = { topology = 'chain', hops = 2, delay = '40 ms' }",
        "network.rtt: network.delay is given too; write one of them",
    ),
    (
        "network = { topology = 'cross', hops = 3 }",
        "network.hops: 3 is odd: the chains cross in their middle node, so write an even number",
    ),
    (
        "network = { topology = 'parking-lot', bottlenecks = 200 }",
        "network.bottlenecks: 200 is not a whole number from 1 to 100",
    ),
    (
        "network = { topology = 'custom' }",
        "network.nodes: missing; write e.g. nodes = [\"a\", \"b\"]\nnetwork.links: missing; write at least one, e.g. [[network.links]] with from, to, rate and delay\nnetwork.rate: unknown field; allowed: topology, wireless, nodes, places, links\nnetwork.rtt: unknown field; allowed: topology, wireless, nodes, places, links",
    ),
    ("flows = []", r#"flows: is empty; write at least one, e.g. [[flows]] with cc = "cubic""#),
    ("flows = 'cubic'", r#"flows: "cubic" is not a list of tables"#),
    (
        "network.queue.limit = '2 bdp'",
        r#"network.queue.limit: "2 bdp" is not an amount of data (did you mean "BDP"?); write e.g. "100 packets", "64 KiB", "0.2 BDP", "100 ms""#,
    ),
    (
        "network.queue = { discipline = 'taildrop' }",
        r#"network.queue.discipline: unknown "taildrop" (did you mean "droptail"?); allowed: droptail, red, blue, step, codel, fq-codel, pie, dualpi2, anti-ecn, quick-start, xcp, drai"#,
    ),
    ("flows = ['cubic']", r#"flows[0]: "cubic" is not a table"#),
    ("flows.0.cc = 'rneo'", r#"flows[0].cc: unknown algorithm "rneo" (did you mean "reno"?); allowed: {algorithms}"#),
    ("flows.0.cc = 5", "flows[0].cc: unknown algorithm 5; allowed: {algorithms}"),
    ("flows.0.cc = { hystart = 'off' }", r#"flows[0].cc.name: missing; write e.g. name = "cubic""#),
    (
        "flows.0.cc = { name = 'cubic', hystart = 'of' }",
        r#"flows[0].cc.hystart: "of" is not one of "hystart", "hystart++", "search", "off""#,
    ),
    (
        "flows.0.cc = { name = 'cubic', hystat = 'off' }",
        r#"flows[0].cc.hystat: unknown field (did you mean "hystart"?); allowed: name, {cubic}"#,
    ),
    ("flows.0.kind = 'udp'", r#"flows[0].kind: unknown "udp"; allowed: tcp, cbr, onoff"#),
    (
        "flows.0 = { kind = 'cbr', cc = 'reno' }",
        "flows[0].rate: missing; write e.g. rate = \"1 Mbit/s\"\nflows[0].cc: unknown field; allowed: kind, label, count, rtt, direction, start, start_jitter, stop, send_jitter, rate, packet_size",
    ),
    (
        "flows.0.label = 'a'\nflows.1 = { cc = 'reno', label = 'a' }",
        r#"flows[1].label: "a" is already a label of flows[0]"#,
    ),
    (
        "flows.0.label = 'reno-1'\nflows.1 = { cc = 'reno' }",
        r#"flows[1].label: "reno-1" is already a label of flows[0]"#,
    ),
    ("flows.0.count = 0", "flows[0].count: 0 is not a whole number from 1 to 100000"),
    (
        "flows.0.count = 60000\nflows.1 = { cc = 'reno', count = 60000 }",
        "flows: 120000 flows in all are too many; at most 100000",
    ),
    ("flows.0.rtt = '0 ms'", r#"flows[0].rtt: "0 ms" is too small; at least "1 ns""#),
    (
        "flows.0.from = 'left'",
        "flows[0].from: unknown field; allowed: kind, label, count, paths, rtt, direction, start, start_jitter, stop, send_jitter, size, profile, flavour, sysctl, growth_per_ack, cc, sack, recovery, dsack, tlp, prr, dupthresh, max_reordering, reo_wnd_adapts, rack_dupthresh, limited_transmit, frto, undo, timestamps, mss, packet_size, window_scaling, ecn, ecn_fallback, accecn_option, quick_start, fast_open, no_metrics_save, no_ssthresh_metrics_save, initial_window, receive_buffer, initial_receive_buffer, moderate_receive_buffer, adv_win_scale, send_buffer, initial_send_buffer, tso, pacing, nagle, cwnd_validation, slow_start_after_idle, initial_ssthresh, ack_every, delayed_ack, comp_sack_delay, comp_sack_slack, comp_sack_nr, rto_min, rto, traffic",
    ),
    ("flows.0.direction = 'backward'", r#"flows[0].direction: unknown "backward"; allowed: forward, reverse"#),
    ("flows.0.start = '60 s'", r#"flows[0].start: the latest start, "60 s", is not before the end of the run, "60 s""#),
    ("flows.0.start = '10 s'\nflows.0.stop = '10 s'", r#"flows[0].stop: "10 s" is not after the latest start, "10 s""#),
    (
        "flows.0.stop = '10 s'\nflows.0.size = '1 MB'",
        "flows[0].stop: flows[0].size is given too: a transfer ends by itself; write one of them",
    ),
    (
        "flows.0.size = '1 MB'\nflows.0.traffic = { kind = 'onoff' }",
        "flows[0].size: traffic is given too, which says what is sent; write one of them",
    ),
    ("flows.0.traffic = 'onoff'", r#"flows[0].traffic: "onoff" is not a table"#),
    ("flows.0.traffic = {}", r#"flows[0].traffic.kind: missing; write e.g. kind = "onoff""#),
    (
        "flows.0.traffic = { kind = 'video' }",
        r#"flows[0].traffic.kind: unknown "video"; allowed: onoff, cbr, chunks, requests"#,
    ),
    (
        "flows.0.traffic = { kind = 'onoff', write = '1 kB' }",
        r#"flows[0].traffic.write: is for writes at a rate; give rate, e.g. "1 Mbit/s""#,
    ),
    ("flows.0.traffic = { kind = 'cbr' }", r#"flows[0].traffic.rate: missing; write e.g. rate = "1 Mbit/s""#),
    (
        "flows.0.traffic = { kind = 'onoff', distribution = 'uniform' }",
        r#"flows[0].traffic.distribution: unknown "uniform"; allowed: constant, exponential, pareto"#,
    ),
    ("flows.0.traffic = { kind = 'chunks' }", r#"flows[0].traffic.size: missing; write e.g. size = "1 MB""#),
    ("flows.0.traffic = { kind = 'requests' }", r#"flows[0].traffic.response: missing; write e.g. response = "50 kB""#),
    (
        "flows.0.stop = '9 s'\nflows.0.traffic = { kind = 'chunks', size = '1 MB', count = 3 }",
        "flows[0].traffic.count: flows[0].stop is given too; write one of them",
    ),
    (
        "duration = '20 s'\nflows.0.traffic = { kind = 'chunks', size = '1 B', every = '1 ns' }",
        r#"flows[0].traffic.every: "1 ns" gives 20000000000 chunks in all flows of the entry, 400.0 GB of the 400.0 GB that the scenario needs; at most 3.0 GB fit into memory: write a longer time"#,
    ),
    (
        "duration = '20 s'\nflows.0.traffic = { kind = 'cbr', rate = '10 Tbit/s', write = '1 B' }",
        r#"flows[0].traffic.write: "1 B" at "10 Tbit/s" gives 25000000000000 writes in all flows of the entry, 500000.0 GB of the 500000.0 GB that the scenario needs; at most 3.0 GB fit into memory: write more at once"#,
    ),
    (
        "duration = '20 s'\nflows.0.count = 40\nflows.0.traffic = { kind = 'onoff', rate = '8 Mbit/s', write = '1 B', off = '1500 ms' }",
        r#"flows[0].traffic.write: "1 B" at "8 Mbit/s" gives 200000000 writes in all flows of the entry, 4.0 GB of the 4.0 GB that the scenario needs; at most 3.0 GB fit into memory: write more at once"#,
    ),
    // each kind would fit by itself: 100,000,000 chunks of 20 bytes, 300,000 connections of 6000
    (
        "duration = '20 s'\nflows.0.traffic = { kind = 'chunks', size = '1 B', every = '200 ns' }\nnetwork.rate = 'unlimited'\nnetwork.rtt = '400 ms'\nbackground = [{ kind = 'poisson', cc = 'reno', flows_per_second = 375000, sizes = '1 B' }]",
        r#"flows[0].traffic.every: "200 ns" gives 100000000 chunks in all flows of the entry, 2.0 GB of the 3.8 GB that the scenario needs; at most 3.0 GB fit into memory: write a longer time"#,
    ),
    (
        "duration = '20 s'\nflows.0.traffic = { kind = 'chunks', size = '1 B', every = '400 ns' }\nnetwork.rate = 'unlimited'\nnetwork.rtt = '400 ms'\nbackground = [{ kind = 'poisson', cc = 'reno', flows_per_second = 475000, sizes = '1 B' }]",
        "background[0].flows_per_second: comes to 475000 connections a second, of which 380000 would be open at once, 2.3 GB of the 3.3 GB that the scenario needs; at most 3.0 GB fit into memory: write less",
    ),
    (
        "flows.0.traffic = { kind = 'cbr', rate = '1 Mbit/s' }\nflows.0.paths = [{ rtt = '20 ms' }]",
        "flows[0].traffic: is for a flow on one path; write paths or traffic",
    ),
    ("flows.0.size = '0 B'", r#"flows[0].size: "0 B" is too small; at least "1 B""#),
    ("flows.0.packet_size = '59 B'", r#"flows[0].packet_size: "59 B" is too small; at least "60 B""#),
    (
        "flows.0.packet_size = '9000 B'\nflows.0.mss = '8960 B'",
        "flows[0].mss: flows[0].packet_size is given too; write one of them",
    ),
    ("flows.0.mss = '5 B'", r#"flows[0].mss: "5 B" is too small; at least "8 B""#),
    (
        "flows.0.recovery = 'rack'\nflows.0.sack = false",
        r#"flows[0].recovery: "rack" needs selective acknowledgements, but flows[0].sack is false"#,
    ),
    (
        "flows.0.cc = 'sack'\nflows.0.sack = false",
        r#"flows[0].recovery: "sack" needs selective acknowledgements, but flows[0].sack is false"#,
    ),
    (
        "flows.0.recovery = 'newreno'\nflows.0.tlp = true",
        r#"flows[0].tlp: tail-loss probes need flows[0].recovery = "rack""#,
    ),
    ("flows.0.prr = false", r#"flows[0].prr: cannot be off: flows[0].recovery = "rack" always uses it"#),
    ("flows.0.profile = 'bsd'", r#"flows[0].profile: unknown "bsd"; allowed: linux, linux-2.6, classic"#),
    ("flows.0.pacing = 'on'", r#"flows[0].pacing: "on" is not true or false"#),
    (
        "flows.0.initial_window = '10 packets'",
        r#"flows[0].initial_window: "10 packets" is not a whole number from 1 to 100000"#,
    ),
    (
        "flows.0.initial_ssthresh = '10 ms'",
        r#"flows[0].initial_ssthresh: "10 ms" is not an amount of data; write e.g. "100 packets", "64 KiB", "0.2 BDP""#,
    ),
    (
        "flows.0.initial_ssthresh = '1 BDP'\nnetwork.rate = 'unlimited'",
        "flows[0].initial_ssthresh: no link of the route has a rate, so there is no BDP",
    ),
    (
        "network.access = { rate = '3 x', queue = { limit = '1 BDP' } }",
        r#"network.access.rate: "3 x" is not a rate: unknown unit "x"; allowed: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"#,
    ),
    (
        "network.rate = 'unlimited'\nnetwork.reverse = { rate = '3 x', queue = { limit = '1 BDP' } }",
        r#"network.reverse.rate: "3 x" is not a rate: unknown unit "x"; allowed: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"#,
    ),
    (
        "network.rate = '3 x'\nnetwork.queue.limit = '1 BDP'",
        r#"network.rate: "3 x" is not a rate: unknown unit "x"; allowed: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"#,
    ),
    (
        "network.rtt = '3 x'",
        r#"network.rtt: "3 x" is not a length of time: unknown unit "x"; allowed: ns, us, ms, s, min, h"#,
    ),
    ("network.rate = '0 bit/s'", r#"network.rate: "0 bit/s" is too small; at least "1 bit/s""#),
    ("flows.0.receive_buffer = 65536", r#"flows[0].receive_buffer: 65536 has no unit; write e.g. "1500 B""#),
    (
        "flows.0.ack_every = 1\nflows.0.delayed_ack.every = 2",
        "flows[0].ack_every: flows[0].delayed_ack.every is given too; write one of them",
    ),
    (
        "flows.0.rto_min = '1 s'\nflows.0.rto.min = '2 s'",
        "flows[0].rto_min: flows[0].rto.min is given too; write one of them",
    ),
    ("flows.0.rto.max = '500 ms'", r#"flows[0].rto.initial: "1 s" is above flows[0].rto.max, "500 ms""#),
    ("flows = [{ kind = 'onoff', on = '1 s' }]", r#"flows[0].rate: missing; write e.g. rate = "1 Mbit/s""#),
    (
        "flows = [{ kind = 'onoff', rate = '1 Mbit/s', distribution = 'pareto', shape = 1 }]",
        "flows[0].shape: 1 is not a number above 1 and up to 1000000",
    ),
    ("background = [{ cc = 'reno' }]", r#"background[0].kind: missing; write e.g. kind = "web""#),
    (
        "background = [{ kind = 'wep', cc = 'reno' }]",
        r#"background[0].kind: unknown "wep" (did you mean "web"?); allowed: web, poisson"#,
    ),
    (
        "background = [{ kind = 'web', cc = 'reno' }]",
        r#"background[0].load: missing; write e.g. load = "10%", a share of the bottleneck, or users"#,
    ),
    (
        "background = [{ kind = 'web', cc = 'reno', load = '0%' }]",
        r#"background[0].load: "0%" is not a load above 0% and up to 1000%; write e.g. "10%" or 0.1"#,
    ),
    (
        "background = [{ kind = 'web', cc = 'reno', load = '10%', users = 5 }]",
        "background[0].users: background[0].load is given too; write one of them",
    ),
    (
        "background = [{ kind = 'poisson', cc = 'reno', users = 5 }]",
        "background[0].users: does not apply here; write background[0].load or background[0].flows_per_second\n\
         background[0].load: missing; write e.g. load = \"10%\", a share of the bottleneck, or flows_per_second",
    ),
    (
        "background = [{ kind = 'poisson', cc = 'reno', load = '1%', label = 'reno-1' }]",
        r#"background[0].label: "reno-1" is already a label of a flow"#,
    ),
    (
        "background = [{ kind = 'poisson', cc = 'reno', load = '1%', label = 'a' }, { kind = 'web', cc = 'reno', load = '1%', label = 'a' }]",
        r#"background[1].label: "a" is already a label of background[0]"#,
    ),
    (
        "background = [{ kind = 'poisson', cc = 'reno', load = '1%', direction = 'back' }]",
        r#"background[0].direction: unknown "back"; allowed: forward, reverse, both"#,
    ),
    (
        "background = [{ kind = 'poisson', cc = 'reno', load = '1%', rtt = [] }]",
        "background[0].rtt: [] is not a list of 1 to 10000 values",
    ),
    (
        "background = [{ kind = 'poisson', cc = 'reno', load = '1%', rtt = { distribution = 'uniform', min = '2 s' } }]",
        "background[0].rtt.max: is not above background[0].rtt.min",
    ),
    (
        "background = [{ kind = 'poisson', cc = 'reno', load = '1%', sizes = { distribution = 'pareto', min = '1 kB' } }]",
        "background[0].sizes.shape: missing; write e.g. shape = 1.2",
    ),
    (
        "background = [{ kind = 'poisson', cc = 'reno', load = '1%', sizes = { distribution = 'empirical', values = ['1 kB'], weights = [1, 2] } }]",
        "background[0].sizes.weights: 2 for 1 values; write one for each",
    ),
    // each of a byte takes a handshake and a round trip
    (
        "network.rate = 'unlimited'\nnetwork.rtt = '400 ms'\nbackground = [{ kind = 'poisson', cc = 'reno', flows_per_second = 1e6, sizes = '1 B' }]",
        "background[0].flows_per_second: comes to 1000000 connections a second, of which 800000 would be open at once, 4.8 GB of the 4.8 GB that the scenario needs; at most 3.0 GB fit into memory: write less",
    ),
    // 1164 bytes with headers each, two round trips and 1 ms; of ten times what the path carries nine tenths pile up for a minute
    (
        "network.rate = '9312 kbit/s'\nbackground = [{ kind = 'poisson', cc = 'reno', load = '1000%', sizes = '1000 B' }]",
        "background[0].load: comes to 10000 connections a second, of which 540810 would be open at once, 3.2 GB of the 3.2 GB that the scenario needs; at most 3.0 GB fit into memory: write less",
    ),
    (
        "network.rate = 'unlimited'\nbackground = [{ kind = 'poisson', cc = 'reno', load = '1%' }]",
        "background[0].load: no link of the route has a rate of which this could be a share",
    ),
    (
        "flows.0 = { cc = 'reno', paths = [] }",
        r#"flows[0].paths: [] is not a list of 1 to 16 paths, e.g. [{ rtt = "20 ms" }, { rtt = "80 ms" }]"#,
    ),
    (
        "flows.0 = { cc = 'reno', rtt = '20 ms', paths = [{}, {}] }",
        "flows[0].rtt: does not apply to a flow with paths; write it in each of them",
    ),
    (
        "flows.0 = { cc = 'reno', paths = [{ name = 'a' }, { name = 'a', rtt = 5 }, 'b'] }",
        "flows[0].paths[1].name: \"a\" is already the name of another path\n\
         flows[0].paths[1].rtt: 5 has no unit; write e.g. \"40 ms\"\n\
         flows[0].paths[2]: \"b\" is not a table",
    ),
    (
        "flows.0 = { cc = 'reno', paths = [{}, {}], scheduler = 'minrtt', multipath = { reinjects = true } }",
        "flows[0].scheduler: unknown scheduler \"minrtt\" (did you mean \"min-rtt\"?); allowed: {schedulers}\n\
         flows[0].multipath.reinjects: unknown field (did you mean \"reinject\"?); allowed: reinject, opportunistic, penalise, fail_after, notice",
    ),
    (
        "flows.0 = { cc = 'reno', paths = [{}, {}], scheduler = { name = 'round-robin', num_segments = 0 } }",
        "flows[0].scheduler.num_segments: 0 is not a number from 1 to 255",
    ),
    (
        "flows.0 = { cc = 'reno', paths = [{}, {}], scheduler = { name = 'blest', lambda = 2 } }",
        "flows[0].scheduler.lambda: 2 is not a number from 1 to 1.3",
    ),
    (
        "flows.0 = { cc = 'reno', paths = [{}, {}], scheduler = { name = 'blest', lamda = 1.1 } }",
        "flows[0].scheduler.lamda: unknown field (did you mean \"lambda\"?); allowed: name, lambda",
    ),
    (
        "flows.0 = { cc = 'reno', scheduler = 'ecf', coupling = 'lia' }",
        "flows[0].coupling: is for a flow with paths; write paths, e.g. [{ rtt = \"20 ms\" }, { rtt = \"80 ms\" }]\n\
         flows[0].scheduler: is for a flow with paths; write paths, e.g. [{ rtt = \"20 ms\" }, { rtt = \"80 ms\" }]",
    ),
    ("flows = [{ coupling = 'none', paths = [{}, {}] }]", r#"flows[0].cc: missing; write e.g. cc = "cubic""#),
    (
        "flows = [{ coupling = 'reno', paths = [{}, {}] }]",
        r#"flows[0].coupling: "reno" knows nothing of siblings, write it as cc; allowed: {coupled}"#,
    ),
    (
        "flows.0 = { coupling = 'lia', cc = 'reno', paths = [{}, {}] }",
        "flows[0].cc: coupling is given too, which is the congestion control of all subflows; write one of them",
    ),
    (
        "flows.0 = { cc = 'prague', paths = [{}, {}] }",
        "flows[0].ecn: the option of AccECN has no room beside that of a connection over several paths",
    ),
    ("record.samples = '5'", r#"record.samples: "5" has no unit; write e.g. "40 ms""#),
    (
        "record.samples = '5 us'",
        r#"record.samples: "5 us" gives 12000001 samples of each flow and link (1 and 6), 3.3 GB of the 3.3 GB that the scenario needs; at most 3.0 GB fit into memory: write a longer interval, or "off""#,
    ),
    (
        "record.samples = '5 ms'\nflows.0.count = 2000",
        r#"record.samples: "5 ms" gives 12001 samples of each flow and link (2000 and 8002), 4.9 GB of the 5.0 GB that the scenario needs; at most 3.0 GB fit into memory: write a longer interval, or "off""#,
    ),
    ("record.packets = 'pcap'", r#"record.packets: "pcap" is not one of false, true, "table", "pcapng""#),
    ("record.point = 'sender'", r#"record.point: only for a capture: write record.packets = "pcapng" too"#),
    ("record.packets = 'pcapng'\nrecord.snaplen = '10 B'", r#"record.snaplen: "10 B" is too small; at least "40 B""#),
];

#[test]
fn each_mistake_names_field_value_and_what_is_allowed() {
    let algorithms: Vec<&str> = cc::REGISTRY.iter().map(|e| e.name).collect();
    let coupled: Vec<&str> = cc::REGISTRY.iter().filter(|e| e.is_coupled()).map(|e| e.name).collect();
    let schedulers: Vec<&str> = cclab_sim::app::scheduler::REGISTRY.iter().map(|e| e.name).collect();
    let queues: Vec<String> = queues().into_iter().map(|(name, _)| name).collect();
    let cubic: Vec<&str> = cc::find("cubic").expect("it is registered").params.iter().map(|p| p.name).collect();
    let mut wrong = Vec::new();
    for (edit, expected) in BAD {
        let expected = expected.replace("{algorithms}", &algorithms.join(", ")).replace("{cubic}", &cubic.join(", "));
        let expected = expected.replace("{queues}", &queues.join(", ")).replace("{schedulers}", &schedulers.join(", "));
        let expected = expected.replace("{coupled}", &coupled.join(", "));
        match Scenario::from_json(&edited(edit)) {
            Ok(_) => panic!("{edit} is accepted"),
            Err(e) if e.to_string() == expected => {}
            Err(e) => wrong.push(format!("{edit}\n  is     {e}\n  not    {expected}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Automatic thresholds fit a short queue, and a slower way back may have what is far less in packets.
#[test]
fn defaults_contradict_nothing() {
    for edit in [
        "network.queue = { discipline = 'red', adaptive = true, limit = '3 packets' }",
        "network.queue = { discipline = 'red', limit = '1 BDP', max = '30 packets' }\nnetwork.reverse.rate = '1 Mbit/s'",
        "network.queue = { discipline = 'red', limit = '20 kB', min = '5 packets', max = '15 packets' }",
    ] {
        let normal = Scenario::from_json(&edited(edit)).unwrap_or_else(|e| panic!("{edit}: {e}")).source;
        assert!(Scenario::from_json(&normal).is_ok(), "{edit}");
    }
}

#[test]
fn what_must_be_there_is_asked_for() {
    let error = Scenario::from_json(&json!({})).expect_err("nothing is there").to_string();
    let missing: Vec<&str> = error.lines().map(|l| l.split_once(": missing; write").expect("it says so").0).collect();
    assert_eq!(missing, ["duration", "network", "flows"]);
    for json in [json!(null), json!([]), json!("dumbbell"), json!(5)] {
        assert_eq!(Scenario::from_json(&json).expect_err("no table").to_string(), format!("{json} is not a table"));
    }
}

#[test]
fn the_unedited_scenario_is_good() {
    assert!(Scenario::from_json(&edited("")).is_ok());
}

#[test]
fn all_mistakes_come_at_once() {
    let error = Scenario::from_toml(
        r#"
        duration = "10 s"
        warmup = "5 sec"
        [network]
        rate = 250
        [[flows]]
        cc = "cubic"
        rtt = "1 ms"
        [[flows]]
        cc = "cubik"
        strat = "1 s"
        "#,
    );
    let fields: Vec<String> = error.expect_err("it is bad").mistakes.into_iter().map(|m| m.field).collect();
    assert_eq!(fields, ["warmup", "network.rate", "flows[1].rtt", "flows[1].cc", "flows[1].strat"]);
}

#[test]
fn text_that_is_not_toml_says_where() {
    let deep = vec!["a"; 200].join(".");
    for (text, expected) in [
        ("name = \"a\"\nduration = 5 s\n", "line 2, column 12: "),
        ("[network\n", "line 1, column 9: "),
        ("name = \"µ\" x", "line 1, column 12: "),
        ("seed = 1\nseed = 2\n", "line 2, column 1: "),
        (
            "name = 'a'\nseed = 9223372036854775808 # 2^63",
            "line 2, column 8, seed: 9223372036854775808 is too large; a whole number in TOML is at most 9223372036854775807",
        ),
        (
            "x = { y = 1, seed=99999999999999999999 }",
            "line 1, column 19, seed: 99999999999999999999 is too large; a whole number in TOML is at most 9223372036854775807",
        ),
        (
            "seeds = [\n  1,\n  9223372036854775808,\n]",
            "line 3, column 3: 9223372036854775808 is too large; a whole number in TOML is at most 9223372036854775807",
        ),
        ("seed = 2026-11-21", "seed: 2026-11-21 is a date; a scenario has none"),
        ("[network]\nduplicate = nan", "network.duplicate: NaN is not a finite number"),
        (&format!("# {deep}\n{deep} = 1\nseed = 1\n"), "line 2, column 1: recursion limit: too many names in a key"),
        (
            &format!("seed = 1\r\n\r\n[ {deep} ]\r\nx = 1\r\n"),
            "line 3, column 3: recursion limit: too many names in a key",
        ),
        (&format!("x = [\n  1, {{ 'µ' = 2, \"a b\".{deep} = [\n3] }}\n]\n"), "line 2, column 17: recursion limit: too"),
    ] {
        let error = Scenario::from_toml(text).expect_err("it is bad").to_string();
        assert!(
            error.starts_with(expected) && error.len() > 10 + expected.len() * usize::from(expected.ends_with(": ")),
            "{text:?}: {error}"
        );
    }
}

/// A link that stops for a while: 8 Mbit/s, nothing from 2 to 5 s.
#[test]
fn a_rate_of_zero_is_an_outage_and_only_in_a_schedule() {
    let json = edited("network.schedule = [{ at = '2 s', rate = '0 bit/s' }, { at = '5 s', rate = '8 Mbit/s' }]");
    let s = Scenario::from_json(&json).unwrap_or_else(|e| panic!("{e}"));
    let rates: Vec<Option<Rate>> = s.links[0].schedule.iter().map(|c| c.rate).collect();
    assert_eq!(rates, [Some(Rate(0)), Some(Rate(8_000_000))]);
    assert_eq!(s.source["network"]["schedule"][0]["rate"], "0 bit/s");
    assert_eq!(Scenario::from_json(&s.source).map(|s| s.source), Ok(s.source));
}

/// `null`, which Python writes for `None`, is as if the field were left out.
#[test]
fn null_is_nothing() {
    let json = json!({
        "duration": "10 s", "warmup": null, "network": { "rate": "10 Mbit/s", "rtt": "20 ms", "loss": null, "queue": { "limit": null } },
        "flows": [{ "cc": "reno", "stop": null, "rto": null }], "record": null,
    });
    let s = Scenario::from_json(&json).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((s.flows[0].label.as_str(), limit(&s.links[0])), ("reno-1", Limit::Packets(16)));
}

/// Tahoe, NewReno and SACK are names of recoveries, Reno is one in the classic profile; SACK brings one that uses it.
#[test]
fn recovery_follows_profile_algorithm_and_sack() {
    for (edit, recovery, sack) in [
        ("", Recovery::Rack, true),
        ("flows.0.sack = false", Recovery::NewReno, false),
        ("flows.0.recovery = 'newreno'", Recovery::NewReno, false),
        ("flows.0.recovery = 'newreno'\nflows.0.sack = true", Recovery::NewReno, true),
        ("flows.0.profile = 'classic'", Recovery::Reno, false),
        ("flows.0.profile = 'classic'\nflows.0.cc = 'newreno'", Recovery::NewReno, false),
        ("flows.0.profile = 'classic'\nflows.0.cc = 'cubic'", Recovery::NewReno, false),
        ("flows.0.cc = 'tahoe'", Recovery::Tahoe, false),
        ("flows.0.cc = 'newreno'", Recovery::NewReno, false),
        ("flows.0.cc = 'sack'", Recovery::Sack, true),
        ("flows.0.profile = 'classic'\nflows.0.cc = 'tahoe'", Recovery::Tahoe, false),
        ("flows.0.profile = 'classic'\nflows.0.cc = 'sack'", Recovery::Sack, true),
        ("flows.0.cc = 'tahoe'\nflows.0.sack = true", Recovery::Rack, true),
        ("flows.0.cc = 'sack'\nflows.0.sack = true", Recovery::Sack, true),
        ("flows.0.cc = 'tahoe'\nflows.0.recovery = 'rack'", Recovery::Rack, true),
        ("flows.0.profile = 'classic'\nflows.0.recovery = 'tahoe'", Recovery::Tahoe, false),
        ("flows.0.profile = 'classic'\nflows.0.sack = true", Recovery::Sack, true),
        ("flows.0.profile = 'classic'\nflows.0.recovery = 'rack'", Recovery::Rack, true),
    ] {
        let s = Scenario::from_json(&edited(edit)).unwrap_or_else(|e| panic!("{e}"));
        let config = tcp(&s.flows[0]);
        assert_eq!((config.recovery, config.sack), (recovery, sack), "{edit}");
        assert_eq!(config.tlp, recovery == Recovery::Rack && !edit.contains("classic"), "{edit}");
    }
}

/// 40 bytes of headers, 12 more with timestamps (RFC 7323 appendix A).
#[test]
fn packet_size_and_mss_are_the_same_thing_said_twice() {
    for (edit, mss) in [
        ("", 1448),
        ("flows.0.timestamps = false", 1460),
        ("flows.0.packet_size = '9000 B'", 8948),
        ("flows.0.mss = '1000 B'", 1000),
        ("flows.0.profile = 'classic'", 1460),
    ] {
        let s = Scenario::from_json(&edited(edit)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(tcp(&s.flows[0]).mss, mss, "{edit}");
    }
}

#[test]
fn limits_are_resolved_with_the_rate_of_their_link() {
    for (edit, there, back) in [
        // 10 Mbit/s × 40 ms = 50,000 bytes: 33 packets of 1500 and a third
        ("", Limit::Packets(33), Limit::Packets(33)),
        ("flows.0.packet_size = '1000 B'", Limit::Packets(50), Limit::Packets(50)),
        ("network.queue.limit = '0.001 BDP'", Limit::Packets(1), Limit::Packets(1)),
        ("network.queue.limit = '100 ms'", Limit::Bytes(125_000), Limit::Bytes(125_000)),
        ("network.queue.limit = '64 KiB'", Limit::Bytes(65_536), Limit::Bytes(65_536)),
        ("network.reverse.rate = '1 Mbit/s'", Limit::Packets(33), Limit::Packets(3)),
        ("network.reverse.queue.limit = '7 packets'", Limit::Packets(33), Limit::Packets(7)),
        ("network.reverse.rate = 'unlimited'", Limit::Packets(33), Limit::Packets(u64::MAX)),
        ("network.rate = 'unlimited'\nnetwork.reverse.rate = '1 Mbit/s'", Limit::Packets(u64::MAX), Limit::Packets(3)),
        (
            "network.rate = 'unlimited'\nnetwork.queue.limit = '9 packets'\nnetwork.reverse.rate = '1 Mbit/s'",
            Limit::Packets(9),
            Limit::Packets(9),
        ),
        // network.rtt measures the BDP even where flows have other RTTs
        ("flows.0.rtt = '80 ms'", Limit::Packets(33), Limit::Packets(33)),
    ] {
        let s = Scenario::from_json(&edited(edit)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((limit(&s.links[0]), limit(&s.links[1])), (there, back), "{edit}");
    }
    let mut json = edited("flows.0.rtt = '80 ms'");
    json["network"].as_object_mut().expect("a table").remove("rtt");
    let s = Scenario::from_json(&json).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(limit(&s.links[0]), Limit::Packets(66), "else the first flow's RTT does");
}

/// The names that an unknown field is told are allowed.
fn allowed(json: &Json, junk_in: &str) -> Vec<String> {
    let error = Scenario::from_json(json).expect_err("junk is refused").to_string();
    let field = if junk_in.is_empty() { "junk".into() } else { format!("{junk_in}.junk") };
    let line = error.lines().find(|l| l.starts_with(&format!("{field}: unknown field")));
    let line = line.unwrap_or_else(|| panic!("{field} in {error}"));
    let names = line.split_once("allowed: ").expect("names follow").1;
    names.split(", ").map(Into::into).collect()
}

/// Every table there is, with a field in it that is none.
fn tables() -> Vec<(Json, &'static str)> {
    let junk = |(edit, table): &(&str, &'static str)| {
        let mut json = edited(edit);
        let places = table.split(['.', '[']).filter(|p| !p.is_empty()).map(|p| p.trim_end_matches(']'));
        merge(&mut json, &places.rev().fold(json!({ "junk": 1 }), |inner, place| json!({ place: inner })));
        (json, *table)
    };
    [
        ("", ""),
        ("", "network"),
        ("network = { topology = 'chain', hops = 2 }", "network"),
        ("network = { topology = 'cross', hops = 2 }", "network"),
        ("network = { topology = 'parking-lot', bottlenecks = 2 }", "network"),
        (CUSTOM, "network"),
        (CUSTOM, "network.links[0]"),
        ("", "network.queue"),
        ("", "network.access"),
        ("", "network.loss"),
        ("network.loss.data = { every = 5 }", "network.loss.data"),
        ("network.loss.data = { packets = [5] }", "network.loss.data"),
        ("network.loss.data = { p = 0.1, r = 0.5 }", "network.loss.data"),
        ("network.jitter = { max = '1 ms' }", "network.jitter"),
        ("network.jitter = { distribution = 'exponential', mean = '1 ms' }", "network.jitter"),
        ("network.reorder = { probability = 0.1, delay = '1 ms' }", "network.reorder"),
        ("network.schedule = [{ at = '1 s', rate = '1 Mbit/s' }]", "network.schedule[0]"),
        ("", "network.reverse"),
        ("", "flows[0]"),
        ("flows.0 = { kind = 'cbr', rate = '1 Mbit/s' }", "flows[0]"),
        ("network = { topology = 'chain', hops = 2 }", "flows[0]"),
        ("network = { topology = 'cross', hops = 2 }", "flows[0]"),
        ("network = { topology = 'parking-lot', bottlenecks = 2 }", "flows[0]"),
        (CUSTOM, "flows[0]"),
        ("flows.0.cc = { name = 'reno' }", "flows[0].cc"),
        ("", "flows[0].delayed_ack"),
        ("", "flows[0].rto"),
        ("flows.0 = { kind = 'onoff', rate = '1 Mbit/s', distribution = 'pareto' }", "flows[0]"),
        ("background = [{ kind = 'web', cc = 'reno', load = '10%' }]", "background[0]"),
        ("background = [{ kind = 'poisson', cc = 'reno', load = '10%' }]", "background[0]"),
        ("network = { topology = 'parking-lot', bottlenecks = 2 }\nbackground = [{ kind = 'web' }]", "background[0]"),
        ("background = [{ kind = 'web', embedded = {} }]", "background[0].embedded"),
        ("background = [{ kind = 'web', active_off = {} }]", "background[0].active_off"),
        ("background = [{ kind = 'web', think = {} }]", "background[0].think"),
        ("background = [{ kind = 'web', rtt = { distribution = 'aikat' } }]", "background[0].rtt"),
        ("background = [{ kind = 'web', sizes = { distribution = 'surge' } }]", "background[0].sizes"),
        ("background = [{ kind = 'web', sizes = { distribution = 'pareto' } }]", "background[0].sizes"),
        ("background = [{ kind = 'web', sizes = { distribution = 'lognormal' } }]", "background[0].sizes"),
        ("background = [{ kind = 'web', sizes = { distribution = 'exponential' } }]", "background[0].sizes"),
        ("background = [{ kind = 'web', sizes = { distribution = 'fixed' } }]", "background[0].sizes"),
        ("background = [{ kind = 'web', sizes = { distribution = 'empirical' } }]", "background[0].sizes"),
        ("", "record"),
        ("record.packets = 'pcapng'", "record"),
    ]
    .iter()
    .map(junk)
    .collect()
}
const CUSTOM: &str = "network = { topology = 'custom', nodes = ['a', 'b'], links = [{ from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms' }] }";

#[test]
fn the_reference_names_every_field() {
    let page = std::fs::read_to_string(root().join("docs/reference/scenario.md")).expect("the page is there");
    let mut fields = 0;
    for (json, table) in tables() {
        // Parameters of algorithms have pages of their own.
        for name in allowed(&json, table).iter().take(if table.ends_with("cc") { 1 } else { usize::MAX }) {
            fields += 1;
            assert!(page.contains(&format!("`{name}`")), "{table}.{name} is not in docs/reference/scenario.md");
        }
    }
    assert!(fields > 100, "{fields}");
}

/// Names and parameters of the registered queues.
fn queues() -> Vec<(String, Vec<Json>)> {
    let registry = registry_json();
    let text = |json: &Json| json.as_str().expect("text").to_owned();
    let queues = registry["queues"].as_array().expect("a list").iter();
    queues.map(|q| (text(&q["name"]), q["params"].as_array().expect("a list").clone())).collect()
}

/// What `describe` says of a queue's fields and their defaults is what its normal form has.
#[test]
fn the_registry_knows_the_fields_of_every_queue() {
    for (name, params) in queues() {
        let s = Scenario::from_json(&edited(&format!("network.queue = {{ discipline = '{name}' }}")));
        let s = s.unwrap_or_else(|e| panic!("{e}"));
        let mut normal = s.source["network"]["queue"].as_object().expect("a table").clone();
        assert_eq!(normal.remove("discipline"), Some(json!(name)));
        let listed = params.iter().map(|p| (p["name"].as_str().expect("text").to_owned(), p["default"].clone()));
        assert_eq!(normal, listed.collect(), "{name}");
        // and its opposite direction may say otherwise
        let edit = format!("network.queue = {{ discipline = '{name}' }}\nnetwork.reverse.queue.limit = '700 packets'");
        let s = Scenario::from_json(&edited(&edit)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(s.source["network"]["reverse"]["queue"]["discipline"], json!(name));
        assert_eq!(limit(&s.links[1]), Limit::Packets(700));
        assert_eq!(Scenario::from_json(&s.source).map(|again| again.source), Ok(s.source));
    }
}

#[test]
fn the_registry_knows_the_fields_of_every_topology() {
    let registry = registry_json();
    let entries = |kind: &str| registry[kind].as_array().expect("a list").clone();
    assert_eq!(entries("algorithms").len(), cc::REGISTRY.len());
    let names = |e: &Json| -> Vec<String> {
        let params = e["params"].as_array().expect("a list").iter();
        params.map(|p| p["name"].as_str().expect("a name").to_string()).collect()
    };
    let mut seen = 0;
    for (json, table) in tables().into_iter().filter(|(_, table)| *table == "network") {
        let topology = json["network"]["topology"].as_str().unwrap_or("dumbbell");
        let entry = entries("topologies").into_iter().find(|e| e["name"] == topology).expect("it is registered");
        let mut read = allowed(&json, table);
        read.retain(|name| name != "topology");
        let mut listed = names(&entry);
        read.sort();
        listed.sort();
        assert_eq!(read, listed, "{topology}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

mod strange {
    //! No scenario, however strange, makes the reader panic, and one that it takes is its own normal form.

    use super::*;
    use proptest::prelude::*;

    /// Every place in `json`, the whole first.
    fn places(json: &Json, path: &str, out: &mut Vec<String>) {
        out.push(path.into());
        match json {
            Json::Object(table) => table.iter().for_each(|(k, v)| places(v, &format!("{path}/{k}"), out)),
            Json::Array(list) => list.iter().enumerate().for_each(|(k, v)| places(v, &format!("{path}/{k}"), out)),
            _ => {}
        }
    }

    fn value() -> impl Strategy<Value = Json> {
        let words = [
            "0 s",
            "1 ns",
            "87600 h",
            "10 Tbit/s",
            "1 bit/s",
            "unlimited",
            "never",
            "none",
            "1 BDP",
            "1000000 BDP",
            "1 packet",
            "65535 B",
            "60 B",
            "0%",
            "100%",
            "cubic",
            "reno",
            "classic",
            "paper",
            "rack",
            "sack",
            "tahoe",
            "custom",
            "chain",
            "cross",
            "parking-lot",
            "cbr",
            "change",
            "pcapng",
            "reverse",
            "vertical",
            "exponential",
            "a",
            "n1",
            "",
            "\u{0}",
            "1 Mbit/s",
            "3 ms",
        ];
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            (0..12_i64).prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            (0.0..1.0).prop_map(Json::from),
            proptest::sample::select(words.to_vec()).prop_map(Json::from),
            "\\PC{0,8}".prop_map(Json::from),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            let name = proptest::sample::select(vec![
                "every", "p", "r", "packets", "flow", "name", "at", "rate", "max", "limit", "x",
            ]);
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
                proptest::collection::vec((name, inner), 0..3)
                    .prop_map(|pairs| { Json::Object(pairs.into_iter().map(|(k, v)| (k.to_string(), v)).collect()) }),
            ]
        })
    }

    /// Another value of the kind that is there.
    fn similar(json: &mut Json, choice: usize) {
        const POOLS: [&[&str]; 9] = [
            &["1 ns", "7 us", "3 ms", "40 ms", "0.3333 s", "1 s", "30 s", "2 min"],
            &["1 bit/s", "64 kbit/s", "1.5 Mbit/s", "10 Mbit/s", "3 Gbit/s", "10 Tbit/s", "unlimited"],
            &["1 packet", "17 packets", "0.2 BDP", "3 BDP", "1500 B", "64 KiB", "unlimited"],
            &["60 B", "576 B", "1 kB", "9000 B", "65535 B"],
            &["0%", "0.7%", "1%", "33%", "100%"],
            &["reno", "newreno", "cubic"],
            &["linux", "classic"],
            &["tahoe", "reno", "newreno", "sack", "rack"],
            &["forward", "reverse"],
        ];
        *json = match json {
            Json::Bool(b) => json!(!*b),
            Json::Number(_) => json!([0, 1, 2, 3, 5, 10, 1000][choice % 7]),
            Json::String(text) => {
                let unit =
                    |t: &str| t.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ').to_string();
                let pool = POOLS.iter().find(|pool| pool.iter().any(|t| unit(t) == unit(text)));
                pool.map_or(Json::Null, |pool| json!(pool[choice % pool.len()]))
            }
            _ => return,
        };
    }

    fn check(json: &Json) {
        if let Ok(s) = Scenario::from_json(json) {
            let again = Scenario::from_json(&s.source).unwrap_or_else(|e| panic!("{json}\n{e}"));
            assert_eq!(format!("{s:?}"), format!("{again:?}"), "{json}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn json(which in any::<prop::sample::Index>(), normal in any::<bool>(), edits in proptest::collection::vec((any::<prop::sample::Index>(), value()), 1..4)) {
            let all = all();
            let (_, text) = &all[which.index(all.len())];
            let mut json = serde_json::to_value(text.parse::<toml::Table>().expect("TOML")).expect("JSON");
            if normal {
                json = Scenario::from_json(&json).expect("it is good").source;
            }
            for (place, value) in edits {
                let mut all = Vec::new();
                places(&json, "", &mut all);
                *json.pointer_mut(&all[place.index(all.len())]).expect("it is there") = value;
            }
            check(&json);
        }

        #[test]
        fn likely_json(which in any::<prop::sample::Index>(), edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<usize>()), 1..4)) {
            let all = all();
            let (_, text) = &all[which.index(all.len())];
            let mut json = Scenario::from_toml(text).expect("it is good").source;
            for (place, choice) in edits {
                let mut all = Vec::new();
                places(&json, "", &mut all);
                similar(json.pointer_mut(&all[place.index(all.len())]).expect("it is there"), choice);
            }
            check(&json);
        }

        #[test]
        fn text(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), cut in 0..9_usize, put in "\\PC{0,4}") {
            let all = all();
            let mut letters: Vec<char> = all[which.index(all.len())].1.chars().collect();
            let at = at.index(letters.len());
            let end = (at + cut).min(letters.len());
            letters.splice(at..end, put.chars());
            let text: String = letters.into_iter().collect();
            if let Err(error) = Scenario::from_toml(&text) {
                prop_assert!(!error.mistakes.is_empty());
            }
        }
    }
}
