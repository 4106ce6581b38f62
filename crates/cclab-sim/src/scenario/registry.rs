//! What there is to choose from, as JSON for `list` and `describe`.

use super::reader::Kind as _;
use crate::net::queue;
use crate::net::queue::field::{Domain, Field};
use cclab_algo::cc;
use cclab_algo::params::{Kind, Spec, Value};
use serde_json::{Value as Json, json};

/// Everything registered: `algorithms`, `queues` and `topologies`, all of the same shape. Fields of queues
/// and topologies are written with units; their `kind` says which.
pub fn registry_json() -> Json {
    let algorithm = |e: &cc::Entry| {
        let params: Vec<Json> = e.params.iter().map(param).collect();
        json!({ "name": e.name, "summary": e.summary, "source": e.source, "params": params })
    };
    let algorithms: Vec<Json> = cc::all().into_iter().map(algorithm).collect();
    let queue = |e: &queue::Entry| {
        let params: Vec<Json> = e.fields.iter().map(field).collect();
        json!({ "name": e.name, "summary": e.summary, "source": e.source, "params": params })
    };
    let queues: Vec<Json> = queue::REGISTRY.iter().map(queue).collect();
    let topologies: Vec<Json> = TOPOLOGIES.iter().map(Topology::json).collect();
    json!({ "algorithms": algorithms, "queues": queues, "topologies": topologies })
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

/// A topology.
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
            json!({
                "name": name, "kind": kind, "min": null, "max": null, "choices": null,
                "default": default, "paper_default": null, "unit": "", "doc": doc,
            })
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

const TOPOLOGIES: &[Topology] = &[
    Topology {
        name: "dumbbell",
        summary: "one bottleneck between two routers, hosts of each flow's own on both sides",
        source: "draft-irtf-iccrg-tcpeval-01",
        fields: &[HOSTS, LINK],
    },
    Topology {
        name: "chain",
        summary: "equal links in a row, flows from node to node",
        source: "docs/reference/scenario.md",
        fields: &[ROW, LINK],
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
        fields: &[ROW, LINK],
    },
    Topology {
        name: "custom",
        summary: "any nodes and links, flows on the shortest path or on the route they name",
        source: "docs/reference/scenario.md",
        fields: &[&[
            ("nodes", "list", "", "names of the nodes"),
            ("links", "list", "", "links: from, to, rate, delay, duplex and all that a link has"),
        ]],
    },
];
