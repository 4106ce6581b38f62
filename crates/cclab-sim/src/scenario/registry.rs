//! What there is to choose from, as JSON for `list` and `describe`.

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
    let entries = |entries: &[Entry]| entries.iter().map(Entry::json).collect::<Vec<Json>>();
    json!({ "algorithms": algorithms, "queues": entries(QUEUES), "topologies": entries(TOPOLOGIES) })
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

/// A queue discipline or a topology.
struct Entry {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    fields: &'static [&'static [Field]],
}

/// A field of it: name, kind, default (empty: none, or nothing at all), one sentence.
type Field = (&'static str, &'static str, &'static str, &'static str);

impl Entry {
    fn json(&self) -> Json {
        let field = |(name, kind, default, doc): &Field| {
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

/// `limit` of the queues with a discipline of their own.
const LIMIT: Field =
    ("limit", "amount", "1000 packets", "largest amount waiting, in packets, bytes, time or BDP, or \"unlimited\"");
const ECN: Field = ("ecn", "flag", "true", "packets of transports that know ECN are marked instead of dropped");

const QUEUES: &[Entry] = &[
    Entry {
        name: "droptail",
        summary: "first-in first-out, the newest packet dropped when full",
        source: "RFC 7567 §2",
        fields: &[&[(
            "limit",
            "amount",
            "1 BDP",
            "largest amount waiting, in packets, bytes, time or BDP, or \"unlimited\"",
        )]],
    },
    Entry {
        name: "red",
        summary: "random early detection: signals rise with the average queue; gentle, adaptive",
        source: "Floyd & Jacobson, ToN 1993",
        fields: &[&[
            LIMIT,
            ("min", "amount", "5 packets", "average below which nothing is signalled, or \"auto\""),
            ("max", "amount", "15 packets", "average at which max_p is reached, or \"auto\": three times min"),
            ("weight", "probability", "0.002", "weight of a sample in the average, or \"auto\""),
            ("max_p", "probability", "2%", "probability of a signal just below max"),
            ("gentle", "flag", "true", "from max to twice that the probability rises to 1 instead of jumping"),
            ("wait", "flag", "true", "no signal before 1/p packets after the last"),
            ("adaptive", "flag", "false", "max_p follows the average; min, max and weight are \"auto\" unless given"),
            ("by_size", "flag", "false", "the probability is proportional to a packet's size"),
            ("packet_size", "size", "auto", "bytes of a mean packet; the largest of the flows unless given"),
            ECN,
            ("hard_drop", "flag", "false", "where the probability is 1, ECN does not save a packet"),
        ]],
    },
    Entry {
        name: "step",
        summary: "marks what finds more than a threshold waiting, as a DCTCP switch does",
        source: "Alizadeh et al., SIGCOMM 2010",
        fields: &[&[
            LIMIT,
            ("threshold", "amount", "20 packets", "K: a packet that finds more than this waiting is marked"),
            ("drop", "flag", "true", "there, packets of transports that do not know ECN are dropped"),
        ]],
    },
    Entry {
        name: "codel",
        summary: "controlled delay: drops ever faster while packets wait longer than the target",
        source: "RFC 8289",
        fields: &[&[LIMIT], CODEL],
    },
    Entry {
        name: "fq-codel",
        summary: "fair queueing by deficit round robin, sparse flows first, CoDel on each queue",
        source: "RFC 8290",
        fields: &[
            &[
                ("limit", "amount", "10240 packets", "largest amount waiting in all queues"),
                ("flows", "integer from 1 to 65536", "1024", "queues over which flows are hashed"),
                ("quantum", "size", "1514 B", "bytes that a queue may send in one turn"),
            ],
            CODEL,
        ],
    },
    Entry {
        name: "pie",
        summary: "a proportional-integral controller keeps the delay at its target by random drops",
        source: "RFC 8033",
        fields: &[&[
            LIMIT,
            ("target", "time", "15 ms", "delay to be kept"),
            ("interval", "time", "15 ms", "time between updates of the probability"),
            ("burst", "time", "150 ms", "nothing is dropped for so long after a calm time"),
            ("alpha", "number", "0.125", "gain of the deviation from the target, 1/s"),
            ("beta", "number", "1.25", "gain of the change since the last update, 1/s"),
            (
                "estimator",
                "timestamp, rate",
                "timestamp",
                "how the delay is found: as packets waited, or backlog over rate",
            ),
            ("derandomise", "flag", "false", "drops keep a distance from each other; true for the flavour linux"),
            ("flavour", "paper, linux", "paper", "linux: 2 % more above 250 ms, decay by 1/64"),
            ECN,
            ("ecn_limit", "probability", "10%", "from this probability on packets are dropped all the same"),
            ("packet_size", "size", "auto", "bytes of a mean packet; the largest of the flows unless given"),
        ]],
    },
    Entry {
        name: "dualpi2",
        summary: "two coupled queues: L4S senders see marks and hardly any delay, the others a PI controller",
        source: "RFC 9332",
        fields: &[&[
            ("limit", "amount", "250 ms", "largest amount waiting in both queues"),
            ("target", "time", "15 ms", "delay of the classic queue to be kept"),
            ("interval", "time", "16 ms", "time between updates of the probability"),
            ("alpha", "number", "0.16", "gain of the deviation from the target, 1/s"),
            ("beta", "number", "3.2", "gain of the change since the last update, 1/s"),
            (
                "coupling",
                "number",
                "2",
                "k: the low-latency queue marks with k times the root of the other's probability",
            ),
            ("ramp_min", "time", "800 us", "delay up to which the low-latency queue marks nothing of its own"),
            ("ramp_max", "time", "1.2 ms", "delay from which on it marks everything"),
            ("scheduler", "weighted, shifted", "weighted", "whose turn it is: by weight, or who has waited longer"),
            ("shift", "time", "50 ms", "shifted: so much longer do low-latency packets seem to have waited"),
            ("classic_share", "probability", "6.25%", "weighted: share of the bytes that is the classic queue's"),
        ]],
    },
    Entry {
        name: "anti-ecn",
        summary: "drop-tail beside a router that clears anti-ECN's bit where there is no room to spare",
        source: "Kunniyur, ICC 2003",
        fields: &[&[LIMIT, ("share", "probability", "90%", "rate of the virtual queue, of the link's")]],
    },
    Entry {
        name: "quick-start",
        summary: "drop-tail beside a router that approves Quick-Start requests",
        source: "RFC 4782",
        fields: &[&[LIMIT, ("threshold", "probability", "90%", "share of the link's rate up to which it approves")]],
    },
    Entry {
        name: "xcp",
        summary: "drop-tail beside an XCP router",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
        fields: &[&[LIMIT]],
    },
];
/// Fields of CoDel.
const CODEL: &[Field] = &[TARGET, INTERVAL, MTU, ECN, CE_THRESHOLD];
const TARGET: Field = ("target", "time", "5 ms", "acceptable standing delay in the queue");
const INTERVAL: Field =
    ("interval", "time", "100 ms", "within it the delay must be below the target once: a worst-case RTT");
const MTU: Field = ("mtu", "size", "auto", "bytes that may always wait; the largest packet of the flows unless given");
const CE_THRESHOLD: Field =
    ("ce_threshold", "time", "off", "packets that know ECN and waited longer than this are marked anyway");

/// What every link has, beside its rate and its delay.
const LINK: &[Field] = &[
    ("queue", "table", "", "queue in front of the link; droptail with a limit of 1 BDP"),
    ("overhead", "integer from 0 to 1000", "0", "bytes of framing added to every packet"),
    ("duplicate", "probability", "0%", "probability that a packet arrives twice"),
    ("loss", "table", "", "random, bursty, periodic or named losses of data, ack or all packets"),
    ("jitter", "table", "none", "extra delay drawn per packet, order kept"),
    ("reorder", "table", "none", "packets held back so that later ones overtake them"),
    ("schedule", "list", "", "rate and delay from given times on"),
    ("reverse", "table", "", "fields of the reverse direction where it differs"),
];
const RATE: Field = ("rate", "rate", "", "rate of the link in bit/s, or \"unlimited\"");
const HOSTS: &[Field] = &[
    RATE,
    ("rtt", "time", "", "base RTT of a flow that names none"),
    ("delay", "time", "", "one-way delay of a bottleneck; unless given, as large as the base RTTs of the flows allow"),
    ("access", "table", "", "rate, delay and queue of the access links; infinitely fast without delay"),
];
const ROW: &[Field] = &[
    ("hops", "integer from 1 to 100", "", "number of links from end to end"),
    RATE,
    ("delay", "time", "", "one-way delay of a link; or give rtt"),
    ("rtt", "time", "", "propagation there and back over all hops; or give delay"),
];

const TOPOLOGIES: &[Entry] = &[
    Entry {
        name: "dumbbell",
        summary: "one bottleneck between two routers, hosts of each flow's own on both sides",
        source: "draft-irtf-iccrg-tcpeval-01",
        fields: &[HOSTS, LINK],
    },
    Entry {
        name: "chain",
        summary: "equal links in a row, flows from node to node",
        source: "docs/reference/scenario.md",
        fields: &[ROW, LINK],
    },
    Entry {
        name: "parking-lot",
        summary: "several bottlenecks in a row, hosts of each flow's own at the routers it chooses",
        source: "draft-irtf-iccrg-tcpeval-01",
        fields: &[&[("bottlenecks", "integer from 1 to 100", "", "number of links between routers")], HOSTS, LINK],
    },
    Entry {
        name: "cross",
        summary: "two chains that share their middle node, flows along one of them",
        source: "docs/reference/scenario.md",
        fields: &[ROW, LINK],
    },
    Entry {
        name: "custom",
        summary: "any nodes and links, flows on the shortest path or on the route they name",
        source: "docs/reference/scenario.md",
        fields: &[&[
            ("nodes", "list", "", "names of the nodes"),
            ("links", "list", "", "links: from, to, rate, delay, duplex and all that a link has"),
        ]],
    },
];
