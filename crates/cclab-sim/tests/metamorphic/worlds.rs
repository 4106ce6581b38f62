//! Small scenarios of everything there is, told with any offset of time.

use cclab_algo::cc;
use cclab_algo::params::Kind;
use cclab_sim::app::scheduler;
use cclab_sim::net::medium::profile::PROFILES;
use cclab_sim::net::medium::routing;
use cclab_sim::net::queue;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// How a scenario is told.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Everything happens so much later, ns.
    pub shift: u64,
    /// From the shift to the end, ns.
    pub duration: u64,
    /// From the shift on, ns.
    pub warmup: u64,
}

impl Told {
    /// Measured from 1 µs on: an opportunity that ends a period is not at the beginning of time, and is at that of a later one.
    pub const PLAINLY: Told = Told { shift: 0, duration: 1_200_000_000, warmup: 1000 };
}

/// A scenario, but for when things happen.
#[derive(Clone, Debug)]
pub struct World {
    pub network: Network,
    pub flows: Vec<Flow>,
    background: Option<Background>,
    seed: u64,
}

/// One of the networks.
#[derive(Clone, Debug)]
pub enum Network {
    Wired(Link),
    /// The same with a last hop by radio, of so many stations.
    Wifi(Link, usize),
    Radio(Radio),
}

/// Stations, how they find each other, and when the last one moves.
#[derive(Clone, Debug)]
pub struct Radio {
    shape: Shape,
    hops: u64,
    profile: &'static str,
    routing: (&'static str, &'static str),
    rts: bool,
    moves: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Chain,
    Cross,
    Grid,
    Random,
}

/// What belongs to the time of day.
#[derive(Clone, Copy, Debug)]
pub enum Clocked {
    /// A connection that carries all others.
    Tunnel,
    /// A queue, with these fields.
    Queue(&'static str, &'static str),
    /// A routing protocol, with these fields.
    Routing(&'static str, &'static str),
}

/// All of it, and why.
pub const CLOCKED: &[(Clocked, &str)] = &[
    (Clocked::Tunnel, "it opens with the run"),
    (Clocked::Queue("red", r#"{ "adaptive": true }"#), "its probability falls while nothing comes"),
    (Clocked::Routing("dsdv", "{}"), "stations tell of their routes from the beginning of time on"),
    (Clocked::Routing("abr", "{}"), "stations call from the beginning of time on"),
    (Clocked::Routing("aodv", "{}"), "ns-2's local repair takes a moment for a length of time"),
];

#[derive(Clone, Debug)]
pub struct Link {
    rate: u64,
    rtt: u64,
    queue: &'static str,
    settings: &'static str,
    limit: u64,
    harm: Harm,
    change: Change,
    tunnel: Option<&'static str>,
}

#[derive(Clone, Debug)]
enum Harm {
    None,
    Losses(Json),
    Jitter(Json),
    Reorder(u64),
    Duplicate,
}

#[derive(Clone, Debug)]
enum Change {
    None,
    /// Of rate and delay, at this time.
    Step(u64, u64, u64),
    /// Down and up.
    Outage(u64, u64),
    /// Opportunities with a period that divides a second.
    Opportunities(&'static str),
    /// Rates over time.
    Course(u64, u64),
}

#[derive(Clone, Debug)]
pub struct Flow {
    law: usize,
    /// Which of the law's words or flags is another, if any.
    variant: usize,
    options: Json,
    work: Work,
    rtt: u64,
    start: u64,
    stop: Option<u64>,
    reverse: bool,
}

#[derive(Clone, Debug)]
enum Work {
    Tcp(Json),
    Paths(u64, Json),
    Udp(Json),
}

#[derive(Clone, Debug)]
struct Background {
    load: f64,
    law: usize,
    start: u64,
    web: bool,
    /// Whether hosts remember what they learn of a path.
    remembers: bool,
}

fn ns(time: u64) -> String {
    format!("{time} ns")
}

pub fn insert(into: &mut Json, fields: &Json) {
    let (Some(into), Some(fields)) = (into.as_object_mut(), fields.as_object()) else { return };
    into.extend(fields.clone());
}

impl Link {
    fn json(&self, shift: u64) -> Json {
        let mut queue = json!({ "discipline": self.queue });
        if !matches!(self.queue, "dualpi2" | "drai" | "red") {
            queue["limit"] = format!("{} packets", self.limit).into();
        }
        insert(&mut queue, &serde_json::from_str(self.settings).expect("JSON"));
        let mut link = json!({ "rate": format!("{} bit/s", self.rate), "queue": queue });
        match &self.harm {
            Harm::None => {}
            Harm::Losses(loss) => link["loss"] = loss.clone(),
            Harm::Jitter(jitter) => link["jitter"] = jitter.clone(),
            Harm::Reorder(delay) => link["reorder"] = json!({ "probability": "2%", "delay": ns(*delay) }),
            Harm::Duplicate => link["duplicate"] = "1%".into(),
        }
        match &self.change {
            Change::None => {}
            Change::Step(at, rate, delay) => {
                link["schedule"] =
                    json!([{ "at": ns(at + shift), "rate": format!("{rate} bit/s"), "delay": ns(*delay) }]);
            }
            Change::Outage(at, length) => {
                let up = at + length + shift;
                link["schedule"] = json!([{ "at": ns(at + shift), "up": false }, { "at": ns(up), "up": true }]);
            }
            Change::Opportunities(_) | Change::Course(..) => {
                link["trace"] = "it".into();
                link["reverse"] = json!({ "trace": "none", "rate": format!("{} bit/s", self.rate) });
                link.as_object_mut().map(|link| link.remove("rate"));
            }
        }
        if let Some(tunnel) = self.tunnel {
            link["tunnel"] = match tunnel {
                "udp" => "udp".into(),
                law => json!({ "over": "tcp", "cc": law }),
            };
        }
        link
    }

    fn trace(&self, shift: u64) -> Option<String> {
        match &self.change {
            Change::Opportunities(gaps) => Some((*gaps).into()),
            Change::Course(at, rate) => Some(format!("time_ns,rate_bps\n0,{}\n{},{rate}\n", self.rate, at + shift)),
            _ => None,
        }
    }
}

impl World {
    /// Whether flows have queues by their numbers.
    pub fn numbers_flows(&self) -> bool {
        matches!(&self.network, Network::Wired(link) | Network::Wifi(link, _) if link.queue == "fq-codel")
    }

    /// Whether something in it belongs to the time of day.
    pub fn has(&self, clocked: Clocked) -> bool {
        match (clocked, &self.network) {
            (Clocked::Tunnel, Network::Wired(link)) => link.tunnel.is_some_and(|tunnel| tunnel != "udp"),
            (Clocked::Queue(name, fields), Network::Wired(link) | Network::Wifi(link, _)) => {
                (link.queue, link.settings) == (name, fields)
            }
            (Clocked::Routing(name, fields), Network::Radio(radio)) => radio.routing == (name, fields),
            _ => false,
        }
    }

    /// The same with it, where that can be.
    pub fn with(mut self, clocked: Clocked) -> Option<World> {
        match (clocked, &mut self.network) {
            (Clocked::Tunnel, Network::Wired(link)) => link.tunnel = Some("cubic"),
            (Clocked::Queue(name, fields), Network::Wired(link)) => (link.queue, link.settings) = (name, fields),
            (Clocked::Routing(name, fields), Network::Radio(radio)) => radio.routing = (name, fields),
            _ => return None,
        }
        Some(self)
    }

    /// Whether transfers come and go beside the flows.
    pub fn has_background(&self) -> bool {
        self.background.is_some()
    }

    /// Whether its last hop is by radio.
    pub fn has_wifi(&self) -> bool {
        matches!(self.network, Network::Wifi(..))
    }

    /// Whether there are stations.
    pub fn has_air(&self) -> bool {
        !matches!(self.network, Network::Wired(_))
    }

    pub fn json(&self, told: Told) -> Json {
        let mut network = match &self.network {
            Network::Wired(link) | Network::Wifi(link, _) => link.json(told.shift),
            Network::Radio(radio) => {
                let mut network = radio.json(told.shift, radio.last());
                insert(
                    &mut network,
                    &match radio.shape {
                        Shape::Chain => json!({ "topology": "chain", "hops": radio.hops }),
                        Shape::Cross => json!({ "topology": "cross", "hops": 2 }),
                        Shape::Grid => json!({ "topology": "grid", "rows": 2, "columns": radio.hops + 1 }),
                        Shape::Random => {
                            json!({ "topology": "random", "nodes": radio.hops + 2, "area": ["400 m", "300 m"] })
                        }
                    },
                );
                network
            }
        };
        let mut traces = json!({});
        if let Network::Wired(link) | Network::Wifi(link, _) = &self.network {
            network["rtt"] = ns(link.rtt).into();
            if let Some(text) = link.trace(told.shift) {
                traces["it"] = text.into();
            }
        }
        if let Network::Wifi(_, stations) = &self.network {
            network["wifi"] = json!({ "stations": stations });
        }
        let flows: Vec<Json> = (0..self.flows.len()).map(|k| self.flow(k, told.shift)).collect();
        let mut all = json!({
            "duration": ns(told.shift + told.duration),
            "warmup": ns(told.shift + told.warmup),
            "seed": self.seed,
            "network": network,
            "flows": flows,
            "traces": traces,
            "record": { "samples": "off", "packets": "table" },
        });
        if let Some(mut entry) = self.background(told.shift)
            && let Network::Wired(link) = &self.network
        {
            entry["rtt"] = json!([ns(link.rtt), ns(link.rtt * 2)]);
            all["background"] = json!([entry]);
        }
        all
    }

    fn background(&self, shift: u64) -> Option<Json> {
        let b = self.background.as_ref()?;
        let mut entry = json!({
            "kind": if b.web { "web" } else { "poisson" },
            "load": b.load,
            "cc": cc::REGISTRY[b.law].name,
            "start": ns(shift + b.start),
            "sizes": "20 kB",
        });
        if b.web {
            entry["think"] = json!({ "min": "50 ms" });
        }
        if b.remembers {
            insert(&mut entry, &json!({ "fast_open": true, "no_metrics_save": false }));
        }
        Some(entry)
    }

    fn flow(&self, k: usize, shift: u64) -> Json {
        let flow = &self.flows[k];
        let mut json = json!({ "label": format!("flow-{k}"), "start": ns(flow.start + shift) });
        if let Some(stop) = flow.stop {
            json["stop"] = ns(stop + shift).into();
        }
        let wired = matches!(self.network, Network::Wired(_) | Network::Wifi(..));
        if wired && flow.reverse {
            json["direction"] = "reverse".into();
        }
        if let Network::Wifi(_, stations) = &self.network {
            json["station"] = (k % stations).into();
        }
        if let Network::Radio(radio) = &self.network {
            insert(&mut json, &radio.ends(k));
        }
        match &flow.work {
            Work::Udp(fields) => {
                insert(&mut json, fields);
                if wired {
                    json["rtt"] = ns(flow.rtt).into();
                }
                return json;
            }
            Work::Tcp(fields) => {
                insert(&mut json, fields);
                if wired {
                    json["rtt"] = ns(flow.rtt).into();
                }
            }
            Work::Paths(second, fields) if matches!(self.network, Network::Wired(_)) => {
                insert(&mut json, fields);
                let mut paths = json!([{ "rtt": ns(flow.rtt) }, { "rtt": ns(*second) }]);
                if flow.reverse {
                    json.as_object_mut().map(|json| json.remove("direction"));
                    paths[1]["direction"] = "reverse".into();
                }
                json["paths"] = paths;
            }
            Work::Paths(..) => {}
        }
        insert(&mut json, &flow.options);
        if json.get("paths").is_some()
            && let Some(fields) = json.as_object_mut()
        {
            // those are for a flow on one path
            fields.retain(|name, _| !matches!(name.as_str(), "no_metrics_save" | "initial_send_buffer"));
        }
        if json.get("coupling").is_none() {
            json["cc"] = flow.law();
        }
        json
    }
}

impl Flow {
    /// The law, with a word or a flag of it that is not its default.
    fn law(&self) -> Json {
        let entry = &cc::REGISTRY[self.law];
        let variants = entry.params.iter().flat_map(|param| match param.kind {
            Kind::Flag => [true, false].map(|flag| json!({ "name": entry.name, param.name: flag })).to_vec(),
            Kind::Choice(words) => words.iter().map(|word| json!({ "name": entry.name, param.name: word })).collect(),
            _ => vec![],
        });
        let variants: Vec<Json> = variants.collect();
        variants.get(self.variant % (2 * variants.len() + 1)).cloned().unwrap_or_else(|| entry.name.into())
    }
}

impl Radio {
    /// The name of the station that moves.
    fn last(&self) -> String {
        match self.shape {
            Shape::Chain => format!("n{}", self.hops),
            Shape::Cross => "h2".into(),
            Shape::Grid => format!("r1c{}", self.hops),
            Shape::Random => format!("n{}", self.hops + 1),
        }
    }

    /// Between which stations a flow is.
    fn ends(&self, k: usize) -> Json {
        match self.shape {
            Shape::Chain => json!({}),
            Shape::Cross => json!({ "path": if k == 1 { "vertical" } else { "horizontal" } }),
            Shape::Grid => json!({ "from": "r0c0", "to": format!("r1c{}", self.hops) }),
            Shape::Random => json!({ "from": format!("n{}", k % 2), "to": self.last() }),
        }
    }

    /// What all stations have, and where `last` goes.
    fn json(&self, shift: u64, last: String) -> Json {
        let mut routing: Json = serde_json::from_str(self.routing.1).expect("JSON");
        insert(&mut routing, &json!({ "name": self.routing.0 }));
        let mut air = json!({ "profile": self.profile, "routing": routing });
        air["rts_threshold"] = if self.rts { "always" } else { "never" }.into();
        if let Some(at) = self.moves {
            let to = json!([format!("{} m", 250 * self.hops + 100), "0 m"]);
            let there = json!({ "node": last, "at": ns(at + shift), "to": to, "speed": "400 m/s" });
            air["mobility"] = json!({ "model": "moves", "moves": [there] });
        }
        json!({ "wireless": air })
    }
}

const MS: u64 = 1_000_000;

/// What queues may be told beside their limit.
const SETTINGS: &[(&str, &str)] = &[
    ("droptail", r#"{ "limit": "12 kB" }"#),
    ("droptail", r#"{ "limit": "30 ms" }"#),
    ("droptail", r#"{ "limit": "0.5 BDP" }"#),
    ("red", r#"{ "wait": false, "gentle": false, "by_size": true }"#),
    ("red", r#"{ "min": "4 kB", "max": "16 kB", "max_p": 0.2 }"#),
    ("red", r#"{ "adaptive": true }"#),
    ("blue", r#"{ "d1": 0.05, "d2": 0.01, "freeze_time": "5 ms", "threshold": "4 packets" }"#),
    ("step", r#"{ "threshold": "4 packets", "drop": false }"#),
    ("step", r#"{ "threshold": "9 ms" }"#),
    ("codel", r#"{ "target": "2 ms", "interval": "30 ms" }"#),
    ("codel", r#"{ "ecn": false, "ce_threshold": "1 ms" }"#),
    ("fq-codel", r#"{ "flows": 2, "quantum": "300 B", "target": "2 ms", "interval": "30 ms" }"#),
    ("pie", r#"{ "target": "3 ms", "interval": "5 ms", "burst": "20 ms" }"#),
    ("pie", r#"{ "flavour": "linux" }"#),
    ("dualpi2", r#"{ "target": "3 ms", "interval": "5 ms", "limit": "60 ms" }"#),
    ("dualpi2", r#"{ "scheduler": "shifted" }"#),
    ("drai", r#"{ "interval": "5 ms", "hold": "30 ms", "flows_within": "100 ms" }"#),
];

/// What routing protocols may be told.
const ROUTINGS: &[(&str, &str)] = &[("aodv", r#"{ "local_repair": false }"#), ("aodv", r#"{ "profile": "rfc3561" }"#)];

fn link() -> impl Strategy<Value = Link> {
    let queue = (0..queue::REGISTRY.len(), 0..60_usize).prop_map(|(k, n)| {
        let name = queue::REGISTRY[k].name;
        let settings: Vec<_> =
            SETTINGS.iter().filter(|(queue, _)| *queue == name).map(|(_, settings)| *settings).collect();
        (name, *settings.get(n % (2 * settings.len() + 1)).unwrap_or(&"{}"))
    });
    let harm = prop_oneof![
        3 => Just(Harm::None),
        1 => (1_u64..40).prop_map(|n| Harm::Losses(json!({ "data": { "every": n * 7 + 1 } }))),
        1 => (1_u64..50).prop_map(|p| Harm::Losses(json!({ "all": p as f64 / 1000.0 }))),
        1 => (1_u64..50).prop_map(|p| Harm::Losses(json!({ "ack": { "p": p as f64 / 1000.0, "r": 0.3 } }))),
        1 => (1_u64..20).prop_map(|ms| Harm::Jitter(json!({ "max": ns(ms * MS) }))),
        1 => (1_u64..20).prop_map(|ms| Harm::Jitter(json!({ "distribution": "exponential", "mean": ns(ms * MS) }))),
        1 => (1..40 * MS).prop_map(Harm::Reorder),
        1 => Just(Harm::Duplicate),
    ];
    let change = prop_oneof![
        5 => Just(Change::None),
        1 => (1..1000 * MS, 300_000_u64..5_000_000, 0..30 * MS).prop_map(|(at, rate, delay)| Change::Step(at, rate, delay)),
        1 => (1..1000 * MS, 1..400 * MS).prop_map(|(at, length)| Change::Outage(at, length)),
        1 => prop_oneof![Just("gaps 1*5 10 5*17"), Just("gaps 2*125")].prop_map(Change::Opportunities),
        1 => (1..1000 * MS, 300_000_u64..5_000_000).prop_map(|(at, rate)| Change::Course(at, rate)),
    ];
    let tunnel = prop_oneof![10 => Just(None), 1 => Just(Some("udp")), 1 => Just(Some("cubic"))];
    let figures = (500_000_u64..6_000_000, 4 * MS..150 * MS, 3_u64..40);
    (figures, queue, harm, change, tunnel).prop_map(|((rate, rtt, limit), (queue, settings), harm, change, tunnel)| {
        Link { rate, rtt, queue, settings, limit, harm, change, tunnel }
    })
}

fn network() -> impl Strategy<Value = Network> {
    let shape =
        prop_oneof![3 => Just(Shape::Chain), 1 => Just(Shape::Cross), 1 => Just(Shape::Grid), 1 => Just(Shape::Random)];
    let profile = (0..PROFILES.len()).prop_map(|k| PROFILES[k].name);
    let routing = (0..routing::REGISTRY.len(), 0..60_usize).prop_map(|(k, n)| {
        let name = routing::REGISTRY[k].name;
        let settings: Vec<_> =
            ROUTINGS.iter().filter(|(routing, _)| *routing == name).map(|(_, fields)| *fields).collect();
        (name, *settings.get(n % (settings.len() + 1)).unwrap_or(&"{}"))
    });
    let moves = prop_oneof![3 => Just(None), 1 => (1..800 * MS).prop_map(Some)];
    let radio = (shape, 1_u64..4, profile, routing, any::<bool>(), moves)
        .prop_map(|(shape, hops, profile, routing, rts, moves)| Radio { shape, hops, profile, routing, rts, moves });
    prop_oneof![
        12 => link().prop_map(Network::Wired),
        1 => (link(), 1_usize..4).prop_map(|(link, stations)| Network::Wifi(Link { tunnel: None, ..link }, stations)),
        2 => radio.prop_map(Network::Radio),
    ]
}

/// Options of a TCP flow, which all go together.
fn options() -> impl Strategy<Value = Json> {
    let recovery = prop_oneof![
        2 => Just(json!({})),
        1 => prop_oneof![Just("tahoe"), Just("reno"), Just("newreno")].prop_map(|r| json!({ "recovery": r, "sack": false })),
        1 => prop_oneof![Just("sack"), Just("rack")].prop_map(|r| json!({ "recovery": r })),
    ];
    let profile = prop_oneof![4 => Just("linux"), 1 => Just("linux-2.6"), 2 => Just("classic")];
    let others = prop_oneof![
        4 => Just(json!({})),
        1 => Just(json!({ "initial_ssthresh": "12 packets" })),
        1 => Just(json!({ "ecn": true })),
        1 => Just(json!({ "ecn": "accecn" })),
        1 => Just(json!({ "pacing": true })),
        1 => Just(json!({ "tso": 2, "nagle": true })),
        1 => Just(json!({ "ack_every": 1, "timestamps": false })),
        1 => Just(json!({ "receive_buffer": "20 kB" })),
        1 => Just(json!({ "rto_min": "50 ms", "initial_window": 3 })),
        1 => Just(json!({ "slow_start_after_idle": false, "cwnd_validation": false })),
        1 => Just(json!({ "quick_start": "1 Mbit/s" })),
        1 => Just(json!({ "fast_open": true, "no_metrics_save": false })),
        1 => Just(json!({ "no_metrics_save": false, "no_ssthresh_metrics_save": false })),
        1 => Just(json!({ "send_buffer": "200 kB", "initial_send_buffer": "16 kB" })),
        1 => Just(json!({ "initial_receive_buffer": "12 kB" })),
        1 => Just(json!({ "comp_sack_delay": "5 ms", "comp_sack_slack": "1 ms", "comp_sack_nr": 9 })),
        1 => (0..4_u8).prop_map(|n| json!({ "ecn": "accecn", "accecn_option": n })),
        1 => Just(json!({ "send_jitter": "1 ms" })),
        1 => Just(json!({ "start_jitter": "30 ms" })),
    ];
    (profile, recovery, others, any::<bool>()).prop_map(|(profile, recovery, others, paper)| {
        let mut options = json!({ "profile": profile, "flavour": if paper { "paper" } else { "linux" } });
        insert(&mut options, &recovery);
        insert(&mut options, &others);
        options
    })
}

fn work() -> impl Strategy<Value = Work> {
    let spread = || prop_oneof![Just("constant"), Just("exponential"), Just("pareto")];
    let time = || (1..400 * MS).prop_map(ns);
    let traffic = prop_oneof![
        (time(), time(), spread()).prop_map(|(on, off, d)| json!({ "kind": "onoff", "on": on, "off": off, "distribution": d })),
        (1_u64..3000, 200_u64..5000).prop_map(|(k, w)| json!({ "kind": "cbr", "rate": format!("{k} kbit/s"), "write": format!("{w} B") })),
        (time(), time(), 1_u64..3000)
            .prop_map(|(on, off, k)| json!({ "kind": "onoff", "rate": format!("{k} kbit/s"), "on": on, "off": off })),
        (1_u64..100_000, time(), time())
            .prop_map(|(b, every, buffer)| json!({ "kind": "chunks", "size": format!("{b} B"), "every": every, "buffer": buffer })),
        (1_u64..4000, 1_u64..60_000, time(), spread()).prop_map(|(request, response, think, d)| {
            let (request, response) = (format!("{request} B"), format!("{response} B"));
            json!({ "kind": "requests", "request": request, "response": response, "think": think, "distribution": d, "count": 9 })
        }),
    ];
    let scheduler = (0..scheduler::REGISTRY.len()).prop_map(|k| scheduler::REGISTRY[k].name);
    let coupled: Vec<_> = cc::REGISTRY.iter().filter(|entry| entry.is_coupled()).map(|entry| entry.name).collect();
    let coupling = (0..=coupled.len()).prop_map(move |k| coupled.get(k).copied());
    prop_oneof![
        3 => Just(Work::Tcp(json!({}))),
        1 => (1_u64..200_000).prop_map(|bytes| Work::Tcp(json!({ "size": format!("{bytes} B") }))),
        4 => traffic.prop_map(|traffic| Work::Tcp(json!({ "traffic": traffic }))),
        2 => (4 * MS..150 * MS, scheduler, coupling).prop_map(|(rtt, scheduler, coupling)| {
            Work::Paths(rtt, match coupling {
                None => json!({ "scheduler": scheduler }),
                Some(law) => json!({ "scheduler": scheduler, "coupling": law }),
            })
        }),
        1 => (10_u64..2000).prop_map(|k| Work::Udp(json!({ "kind": "cbr", "rate": format!("{k} kbit/s") }))),
        1 => (10_u64..2000, time()).prop_map(|(k, on)| {
            Work::Udp(json!({ "kind": "onoff", "rate": format!("{k} kbit/s"), "on": on, "off": "50 ms", "packet_size": "500 B" }))
        }),
    ]
}

fn flow() -> impl Strategy<Value = Flow> {
    let stop = prop_oneof![6 => Just(None), 1 => (500 * MS..1100 * MS).prop_map(Some)];
    // what hosts remember is of those with the same RTT
    let rtt = prop_oneof![3 => 4 * MS..150 * MS, 1 => Just(40 * MS)];
    let times = (0..400 * MS, stop, rtt);
    ((0..cc::REGISTRY.len(), 0..60_usize), options(), work(), times, prop_oneof![4 => Just(false), 1 => Just(true)])
        .prop_map(|((law, variant), options, work, (start, stop, rtt), reverse)| {
            // what ends by itself is not stopped
            let ends = |fields: &Json| fields.get("size").is_some() || fields["traffic"].get("count").is_some();
            let stop = stop.filter(|_| !matches!(&work, Work::Tcp(fields) if ends(fields)));
            Flow { law, variant, options, work, rtt, start, stop, reverse }
        })
}

pub fn world() -> impl Strategy<Value = World> {
    let background = (0.05..0.5, 0..cc::REGISTRY.len(), 0..300 * MS, any::<[bool; 2]>())
        .prop_map(|(load, law, start, [web, remembers])| Background { load, law, start, web, remembers });
    let background = prop_oneof![9 => Just(None), 1 => background.prop_map(Some)];
    (network(), proptest::collection::vec(flow(), 1..4), background, 0_u64..1 << 60)
        .prop_map(|(network, flows, background, seed)| World { network, flows, background, seed })
}

impl World {
    /// The same between two nodes of a custom network, with a way round for second paths, and its stations in a row; another world
    /// beside it, on nodes and links of its own, if there is one.
    pub fn apart(&self, beside: Option<&World>) -> Option<Json> {
        let worlds: Vec<(&World, &str)> = [(self, "flow")].into_iter().chain(beside.map(|w| (w, "beside"))).collect();
        let mut all = json!({ "duration": ns(Told::PLAINLY.duration), "seed": self.seed, "traces": {}, "record": { "samples": "off" } });
        let (mut nodes, mut links, mut places, mut flows, mut background) = (vec![], vec![], vec![], vec![], vec![]);
        for (world, name) in worlds {
            let node = |k: u64| format!("{name}-node-{k}");
            let round = || vec![node(0), node(2), node(1)];
            let last = match &world.network {
                Network::Wifi(..) => return None,
                Network::Wired(link) => {
                    let mut json = link.json(0);
                    insert(&mut json, &json!({ "from": node(0), "to": node(1), "delay": ns(link.rtt / 2) }));
                    if let Some(text) = link.trace(0) {
                        json["trace"] = name.into();
                        all["traces"][name] = text.into();
                    }
                    links.push(json);
                    let rate = format!("{} bit/s", link.rate);
                    links.extend(round().windows(2).map(|ends| {
                        json!({ "from": ends[0], "to": ends[1], "rate": rate, "delay": ns(link.rtt / 3), "queue": { "limit": "9 packets" } })
                    }));
                    nodes.extend((0..=2).map(node));
                    1
                }
                Network::Radio(radio) => {
                    let far = if name == "beside" { 100_000 } else { 0 };
                    places.extend((0..=radio.hops).map(|k| json!([format!("{} m", far + 250 * k), "0 m"])));
                    nodes.extend((0..=radio.hops).map(node));
                    radio.hops
                }
            };
            let ends = |reverse: bool| {
                let (from, to) = if reverse { (last, 0) } else { (0, last) };
                json!({ "from": node(from), "to": node(to) })
            };
            for k in 0..world.flows.len() {
                let mut flow = world.flow(k, 0);
                let fields = flow.as_object_mut()?;
                fields.retain(|name, _| !matches!(name.as_str(), "rtt" | "path"));
                let reverse = fields.remove("direction").is_some();
                if let Some(paths) = fields.get_mut("paths") {
                    let mut second = round();
                    if paths[1].get("direction").is_some() {
                        second.reverse();
                    }
                    *paths = json!([ends(false), second]);
                } else {
                    insert(&mut flow, &ends(reverse));
                }
                flow["label"] = format!("{name}-{k}").into();
                flows.push(flow);
            }
            if let (Some(mut entry), Network::Wired(_)) = (world.background(0), &world.network) {
                insert(&mut entry, &ends(false));
                entry["label"] = format!("{name}-background").into();
                background.push(entry);
            }
        }
        let mut network = json!({ "topology": "custom", "nodes": nodes });
        if let Network::Radio(radio) = &self.network {
            insert(&mut network, &radio.json(0, format!("flow-node-{}", radio.hops)));
            network["places"] = places.into();
        } else {
            network["links"] = links.into();
        }
        insert(&mut all, &json!({ "network": network, "flows": flows, "background": background }));
        Some(all)
    }
}
