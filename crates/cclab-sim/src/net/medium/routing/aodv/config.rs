//! Parameters of AODV: two sets of values, ns-2.35's and RFC 3561's.

use crate::net::field::{Domain, Field, Params, Value};
use cclab_algo::Duration;

/// Whose values, and whose rules where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// ns-2.35 and its comments.
    Ns2,
    /// RFC 3561.
    Rfc3561,
}

/// The fields.
pub const FIELDS: &[Field] = &[
    Field::choice("profile", &["ns2", "rfc3561"], "whose values, and whose rules where they differ"),
    hops(
        "network_diameter",
        64,
        "hops that a message may make (RFC 35, ns-2 30, which a chain of 32 hops does not fit in)",
    ),
    rfc(time("active_route_timeout", Duration::from_secs(10), "an unused route lives so long"), secs(3)),
    rfc(time("my_route_timeout", Duration::from_secs(10), "lifetime that a destination grants"), secs(6)),
    rfc(
        time(
            "reverse_route_life",
            Duration::from_secs(6),
            "lifetime of a route to who asks; \"formula\" is RFC 3561 §6.5",
        )
        .or("formula"),
        Value::Word("formula"),
    ),
    rfc(
        time(
            "path_discovery_time",
            Duration::from_secs(6),
            "a request is known so long; \"formula\" is twice net traversal",
        )
        .or("formula"),
        Value::Word("formula"),
    ),
    rfc(
        time("node_traversal_time", Duration::from_millis(30), "time of a hop").at_least(Duration::from_micros(1)),
        Value::Time(Duration::from_millis(40)),
    ),
    // ns-2 has 5, but a fresh entry of its table remembers a distance of 255 hops, which is behind any ring
    rfc(hops("ttl_start", 255, "hops of the first ring"), Value::Integer(1)),
    hops("ttl_increment", 2, "hops that the next ring is wider"),
    hops("ttl_threshold", 7, "behind a ring of so many hops the whole network is asked"),
    rfc(Field::integer("rreq_retries", 3, (0, 100), "more times that the whole network is asked"), Value::Integer(2)),
    rfc(
        time("max_rreq_timeout", Duration::from_secs(10), "longest wait for a reply, and pause after the last")
            .at_least(Duration::from_millis(1))
            .or("off"),
        Value::Word("off"),
    ),
    rfc(
        time(
            "retry_period",
            Duration::from_millis(500),
            "requests are repeated at multiples of this time, or by new data",
        )
        .at_least(Duration::from_millis(1))
        .or("off"),
        Value::Word("off"),
    ),
    rfc(per_second("rreq_ratelimit", "most requests that a station makes in a second"), Value::Integer(10)),
    rfc(per_second("rerr_ratelimit", "most error messages that a station makes in a second"), Value::Integer(10)),
    rfc(
        Field::optional("delete_period", Domain::TIME, "never", "a broken route is remembered so long"),
        Value::Time(Duration::from_secs(15)),
    ),
    rfc(
        Field::optional(
            "blacklist_timeout",
            Domain::TIME,
            "off",
            "a neighbour that a reply did not reach is not heard so long",
        ),
        Value::Time(Duration::from_millis(5600)),
    ),
    Field::flag("link_layer", true, "the MAC says which neighbour is gone"),
    Field::flag("hello", false, "stations say that they are there"),
    time("hello_interval", Duration::from_secs(1), "how often").at_least(Duration::from_millis(1)),
    rfc(Field::integer("allowed_hello_loss", 3, (1, 100), "so many missed, a neighbour is gone"), Value::Integer(2)),
    Field::flag("local_repair", true, "a station near the destination looks for another way itself"),
    rfc(
        Field::flag(
            "repair_newer",
            false,
            "it asks for a newer route than the broken one; ns-2 does not, and seldom finds one",
        ),
        Value::Flag(true),
    ),
    Field::flag("destination_only", false, "only the destination answers a request"),
    rfc(Field::flag("gratuitous", false, "who answers for the destination tells it the way back"), Value::Flag(true)),
    Field::integer("buffer", 64, (1, 1_000_000), "packets that wait for a route; the oldest goes first"),
    time("buffer_timeout", Duration::from_secs(30), "they wait so long"),
    time("jitter", Duration::from_millis(10), "what is passed on to all waits up to so long"),
    rfc(
        time("flush_spacing", Duration::from_millis(10), "what waited for a route leaves so far apart"),
        Value::Time(Duration::ZERO),
    ),
];

const fn hops(name: &'static str, default: u64, doc: &'static str) -> Field {
    Field::integer(name, default, (1, 255), doc)
}
const fn per_second(name: &'static str, doc: &'static str) -> Field {
    Field::optional(name, Domain::Integer { min: 1, max: 1_000_000 }, "off", doc)
}
const fn time(name: &'static str, default: Duration, doc: &'static str) -> Field {
    Field::time(name, default, doc)
}
const fn rfc(field: Field, default: Value) -> Field {
    field.unless("profile", Value::Word("rfc3561"), default)
}
const fn secs(seconds: u64) -> Value {
    Value::Time(Duration::from_secs(seconds))
}

/// The same, read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) profile: Profile,
    pub(super) network_diameter: u8,
    pub(super) active_route_timeout: Duration,
    pub(super) my_route_timeout: Duration,
    pub(super) reverse_route_life: Option<Duration>,
    pub(super) path_discovery_time: Duration,
    pub(super) node_traversal_time: Duration,
    pub(super) net_traversal_time: Duration,
    pub(super) ttl_start: u8,
    pub(super) ttl_increment: u8,
    pub(super) ttl_threshold: u8,
    pub(super) rreq_retries: u64,
    pub(super) max_rreq_timeout: Option<Duration>,
    pub(super) retry_period: Option<Duration>,
    pub(super) rreq_ratelimit: Option<u64>,
    pub(super) rerr_ratelimit: Option<u64>,
    pub(super) delete_period: Option<Duration>,
    pub(super) blacklist_timeout: Option<Duration>,
    pub(super) link_layer: bool,
    pub(super) hello: bool,
    pub(super) hello_interval: Duration,
    pub(super) allowed_hello_loss: u64,
    pub(super) local_repair: bool,
    pub(super) repair_newer: bool,
    pub(super) destination_only: bool,
    pub(super) gratuitous: bool,
    pub(super) buffer: usize,
    pub(super) buffer_timeout: Duration,
    pub(super) jitter: Duration,
    pub(super) flush_spacing: Duration,
}

impl Config {
    pub(super) fn new(params: &Params) -> Config {
        let hops = |name| params.get::<u64>(name) as u8;
        let node_traversal_time = params.get("node_traversal_time");
        let net_traversal_time = node_traversal_time * (2 * u64::from(hops("network_diameter")));
        Config {
            profile: if params.get::<&str>("profile") == "ns2" { Profile::Ns2 } else { Profile::Rfc3561 },
            network_diameter: hops("network_diameter"),
            active_route_timeout: params.get("active_route_timeout"),
            my_route_timeout: params.get("my_route_timeout"),
            reverse_route_life: params.get("reverse_route_life"),
            path_discovery_time: params.get::<Option<_>>("path_discovery_time").unwrap_or(net_traversal_time * 2),
            node_traversal_time,
            net_traversal_time,
            ttl_start: hops("ttl_start"),
            ttl_increment: hops("ttl_increment"),
            ttl_threshold: hops("ttl_threshold"),
            rreq_retries: params.get("rreq_retries"),
            max_rreq_timeout: params.get("max_rreq_timeout"),
            retry_period: params.get("retry_period"),
            rreq_ratelimit: params.get("rreq_ratelimit"),
            rerr_ratelimit: params.get("rerr_ratelimit"),
            delete_period: params.get("delete_period"),
            blacklist_timeout: params.get("blacklist_timeout"),
            link_layer: params.get("link_layer"),
            hello: params.get("hello"),
            hello_interval: params.get("hello_interval"),
            allowed_hello_loss: params.get("allowed_hello_loss"),
            local_repair: params.get("local_repair"),
            repair_newer: params.get("repair_newer"),
            destination_only: params.get("destination_only"),
            gratuitous: params.get("gratuitous"),
            buffer: params.get::<u64>("buffer") as usize,
            buffer_timeout: params.get("buffer_timeout"),
            jitter: params.get("jitter"),
            flush_spacing: params.get("flush_spacing"),
        }
    }

    pub(super) fn rfc(&self) -> bool {
        self.profile == Profile::Rfc3561
    }
}
