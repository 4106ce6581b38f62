//! What there is to choose from, as JSON for `list` and `describe`.

use super::radio;
use super::reader::Kind as _;
use crate::app::scheduler;
use crate::net::medium::profile::{PROFILES, Profile};
use crate::net::medium::routing;
use crate::net::queue;
use crate::net::queue::field::{Domain, Field};
use cclab_algo::cc;
use cclab_algo::params::{Kind, Spec, Value};
use serde_json::{Value as Json, json};

/// Everything registered: `algorithms`, `queues`, `topologies`, `schedulers` of several paths, and of networks whose stations share the air `routing`, MAC `profiles`
/// and models of `mobility`; all of the same shape. Fields of all but algorithms and schedulers are written with units; their `kind` says which.
pub fn registry_json() -> Json {
    let algorithm = |e: &cc::Entry| {
        let params: Vec<Json> = e.params.iter().map(param).collect();
        json!({ "name": e.name, "summary": e.summary, "source": e.source, "params": params, "coupled": e.is_coupled() })
    };
    let algorithms: Vec<Json> = cc::all().into_iter().map(algorithm).collect();
    let queue = |e: &queue::Entry| {
        let params: Vec<Json> = e.fields.iter().map(field).collect();
        json!({ "name": e.name, "summary": e.summary, "source": e.source, "params": params })
    };
    let queues: Vec<Json> = queue::REGISTRY.iter().map(queue).collect();
    let topologies: Vec<Json> = TOPOLOGIES.iter().map(Topology::json).collect();
    let scheduler = |e: &scheduler::Entry| {
        let params: Vec<Json> = e.params.iter().map(param).collect();
        json!({ "name": e.name, "summary": e.summary, "source": e.source, "params": params })
    };
    let schedulers: Vec<Json> = scheduler::REGISTRY.iter().map(scheduler).collect();
    let protocol = |e: &routing::Entry| {
        let params: Vec<Json> = e.fields.iter().map(field).collect();
        json!({ "name": e.name, "summary": e.summary, "source": e.source, "params": params })
    };
    let protocols: Vec<Json> = routing::REGISTRY.iter().map(protocol).collect();
    let profile = |p: &Profile| {
        let params = radio::mac_fields(&(p.mac)());
        json!({ "name": p.name, "summary": p.summary, "source": p.source, "params": params })
    };
    let profiles: Vec<Json> = PROFILES.iter().map(profile).collect();
    let movements: Vec<Json> = MOVEMENTS.iter().map(Topology::json).collect();
    json!({
        "algorithms": algorithms,
        "queues": queues,
        "topologies": topologies,
        "schedulers": schedulers,
        "routing": protocols,
        "profiles": profiles,
        "mobility": movements,
    })
}

/// A field of no bounds that need saying, with its default.
pub(super) fn plain(name: &str, kind: &str, default: Json, doc: &str) -> Json {
    json!({
        "name": name, "kind": kind, "min": null, "max": null, "choices": null,
        "default": default, "paper_default": null, "unit": "", "doc": doc,
    })
}

fn param(spec: &Spec) -> Json {
    let (kind, min, max, choices) = match spec.kind {
        Kind::Number { min, max } => ("number", json!(min), json!(max), Json::Null),
        Kind::Flag => ("flag", Json::Null, Json::Null, Json::Null),
        Kind::Choice(words) => ("choice", Json::Null, Json::Null, json!(words)),
    };
    let value = |v: Value| match v {
        Value::Number(x) => json!(x),
        Value::Flag(b) => json!(b),
        Value::Word(w) => json!(w),
    };
    json!({
        "name": spec.name, "kind": kind, "min": min, "max": max, "choices": choices,
        "default": value(spec.default), "paper_default": spec.paper_default.map(value),
        "unit": spec.unit, "doc": spec.doc,
    })
}

fn field(field: &Field) -> Json {
    let (kind, bounds, choices) = match field.domain {
        Domain::Time { .. } => ("time", [Json::Null, Json::Null], Json::Null),
        Domain::Amount => ("amount", [Json::Null, Json::Null], Json::Null),
        Domain::Size { .. } => ("size", [Json::Null, Json::Null], Json::Null),
        Domain::Probability => ("probability", [Json::Null, Json::Null], Json::Null),
        Domain::Integer { min, max } => ("integer", [json!(min), json!(max)], Json::Null),
        Domain::Number { min, max } => ("number", [json!(min), json!(max)], Json::Null),
        Domain::Flag => ("flag", [Json::Null, Json::Null], Json::Null),
        Domain::Choice(words) => ("choice", [Json::Null, Json::Null], json!(words)),
    };
    json!({
        "name": field.name, "kind": kind, "min": bounds[0], "max": bounds[1], "choices": choices,
        "default": field.write(&field.default), "paper_default": null, "unit": "", "doc": field.doc,
    })
}

/// A topology, or a model of mobility.
struct Topology {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    fields: &'static [&'static [Row]],
}

/// A field of it: name, kind, default (empty: none, or nothing at all), one sentence.
type Row = (&'static str, &'static str, &'static str, &'static str);

impl Topology {
    fn json(&self) -> Json {
        let field = |(name, kind, default, doc): &Row| {
            let default = match default.parse::<u64>() {
                _ if default.is_empty() => Json::Null,
                Ok(number) => json!(number),
                Err(_) => json!(default),
            };
            plain(name, kind, default, doc)
        };
        let params: Vec<Json> = self.fields.iter().copied().flatten().map(field).collect();
        json!({ "name": self.name, "summary": self.summary, "source": self.source, "params": params })
    }
}

/// What every link has, beside its rate and its delay.
const LINK: &[Row] = &[
    ("queue", "table", "", "queue in front of the link; droptail with a limit of 1 BDP"),
    ("overhead", "integer from 0 to 1000", "0", "bytes of framing added to every packet"),
    ("duplicate", "probability", "0%", "probability that a packet arrives twice"),
    ("loss", "table", "", "random, bursty, periodic or named losses of data, ack or all packets"),
    ("jitter", "table", "none", "extra delay drawn per packet, order kept"),
    ("reorder", "table", "none", "packets held back so that later ones overtake them"),
    ("schedule", "list", "", "rate and delay from given times on"),
    ("tunnel", "table", "none", "a connection, or datagrams, between its ends that carries the packets of all flows"),
    ("trace", "name", "none", "a file of opportunities to deliver, or of rate and delay over time, in their place"),
    ("reverse", "table", "", "fields of the reverse direction where it differs"),
];
const RATE: Row = ("rate", "rate", "", "rate of the link in bit/s, or \"unlimited\"");
const HOSTS: &[Row] = &[
    RATE,
    ("rtt", "time", "", "base RTT of a flow that names none"),
    ("delay", "time", "", "one-way delay of a bottleneck; unless given, as large as the base RTTs of the flows allow"),
    ("access", "table", "", "rate, delay and queue of the access links; infinitely fast without delay"),
];
const ROW: &[Row] = &[
    ("hops", "integer from 1 to 100", "", "number of links from end to end"),
    RATE,
    ("delay", "time", "", "one-way delay of a link; or give rtt"),
    ("rtt", "time", "", "propagation there and back over all hops; or give delay"),
];

/// What stations that share the air have in the place of all that is said of links.
const AIR: &[Row] =
    &[("wireless", "table", "", "stations share the air in the place of links: profile, routing, mobility and more")];

const MOVEMENTS: &[Topology] = &[
    Topology {
        name: "static",
        summary: "stations stand where the topology has them, in \"random\" anywhere",
        source: "docs/reference/scenario.md",
        fields: &[],
    },
    Topology {
        name: "waypoint",
        summary: "random waypoint: to one place after the other, with a rest between",
        source: "Navidi and Camp, IEEE TMC 3(1), 2004",
        fields: &[&[
            ("speed", "speed, or the smallest and the largest", "", "speed of a leg, drawn evenly"),
            ("pause", "time", "0 s", "rest after each leg"),
            ("start", "\"steady\", \"uniform\"", "steady", "as if it had run for ever, or anywhere and with a rest"),
        ]],
    },
    Topology {
        name: "gauss-markov",
        summary: "speed and direction forget slowly",
        source: "Camp, Boleng and Davies, WCMC 2(5), 2002",
        fields: &[&[
            ("speed", "speed", "10 m/s", "mean speed"),
            ("memory", "number from 0 to 1", "0.75", "how much of speed and direction stays from step to step"),
            ("speed_deviation", "speed", "1 m/s", "standard deviation of the speed"),
            ("direction_deviation", "number from 0 to 10", "1", "standard deviation of the direction, rad"),
            ("step", "time", "1 s", "length of a step"),
            ("margin", "distance", "", "so near an edge it turns to the centre; a tenth of the shorter side"),
        ]],
    },
    Topology {
        name: "trace",
        summary: "movements of an ns-2 file",
        source: "ns-2.35, setdest",
        fields: &[&[("file", "text", "", "the file, beside the scenario's"), ("text", "text", "", "or what it says")]],
    },
    Topology {
        name: "moves",
        summary: "stations stand but for the moves that are listed",
        source: "docs/reference/scenario.md",
        fields: &[&[("moves", "list", "", "moves: node, at, to, and a speed unless it is a jump")]],
    },
];

const TOPOLOGIES: &[Topology] = &[
    Topology {
        name: "dumbbell",
        summary: "one bottleneck between two routers, hosts of each flow's own on both sides",
        source: "draft-irtf-iccrg-tcpeval-01",
        fields: &[
            HOSTS,
            LINK,
            &[(
                "wifi",
                "table",
                "",
                "the hosts on the right are stations of an access point: profile, stations and more",
            )],
        ],
    },
    Topology {
        name: "chain",
        summary: "equal links in a row, flows from node to node",
        source: "docs/reference/scenario.md",
        fields: &[ROW, LINK, AIR],
    },
    Topology {
        name: "parking-lot",
        summary: "several bottlenecks in a row, hosts of each flow's own at the routers it chooses",
        source: "draft-irtf-iccrg-tcpeval-01",
        fields: &[&[("bottlenecks", "integer from 1 to 100", "", "number of links between routers")], HOSTS, LINK],
    },
    Topology {
        name: "cross",
        summary: "two chains that share their middle node, flows along one of them",
        source: "docs/reference/scenario.md",
        fields: &[ROW, LINK, AIR],
    },
    Topology {
        name: "custom",
        summary: "any nodes and links, flows on the shortest path or on the route they name",
        source: "docs/reference/scenario.md",
        fields: &[
            &[
                ("nodes", "list", "", "names of the nodes"),
                ("links", "list", "", "links: from, to, rate, delay, duplex and all that a link has"),
                ("places", "list", "", "with wireless: places of the stations, [x, y]"),
            ],
            AIR,
        ],
    },
    Topology {
        name: "grid",
        summary: "stations in rows and columns that share the air",
        source: "docs/reference/scenario.md",
        fields: &[
            &[
                ("rows", "integer from 1 to 100", "", "rows, from bottom to top"),
                ("columns", "integer from 1 to 100", "", "columns, from left to right"),
            ],
            AIR,
        ],
    },
    Topology {
        name: "random",
        summary: "stations anywhere in a rectangle that share the air, at rest or moving",
        source: "docs/reference/scenario.md",
        fields: &[
            &[
                ("nodes", "integer from 2 to 10000", "", "number of stations"),
                ("area", "two distances", "", "width and height of the rectangle"),
                (
                    "connected",
                    "flag",
                    "false",
                    "whether the start is drawn until every station reaches every other one",
                ),
            ],
            AIR,
        ],
    },
];
