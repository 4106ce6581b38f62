//! `paths` of a flow: a connection over several of them, one subflow each.

use super::flow::FlowSpec;
use super::network::Network;
use super::quantity::{Flag, Integer, Name, TIME};
use super::reader::{Kind, Table, alternatives, show};
use super::tcp::{packet_size, read_params};
use super::{Flow, Link, Traffic};
use crate::app::config::Session;
use crate::app::scheduler::{self, Entry};
use cclab_algo::Duration;
use cclab_algo::params::{Flavour, Given};
use serde_json::{Map, Value as Json, json};
use std::ops::Range;

/// Subflows of a connection.
const MAX_PATHS: usize = 16;
const FAILURES: Integer = Integer { min: 1, max: 1000 };

/// What the subflows of a connection have in common.
#[derive(Clone, Debug)]
pub(super) struct SessionSpec {
    size: Option<u64>,
    receive_buffer: u64,
    coupled: bool,
    scheduler: &'static Entry,
    scheduler_params: Vec<(String, Given)>,
    reinject: bool,
    opportunistic: bool,
    penalise: bool,
    fail_after: u64,
    notice: bool,
}

/// A subflow: which path, and of which connection.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The entry of the connection: `flows[1]`.
    pub(super) flow: String,
    /// Name of the path.
    pub(super) name: String,
    /// How many paths there are, and which of them this is.
    pub(super) count: usize,
    pub(super) number: usize,
    pub(super) session: SessionSpec,
}

impl SessionSpec {
    /// Reads what is said of a connection over several paths beside its paths.
    pub(super) fn read(t: &mut Table, size: Option<u64>, receive_buffer: u64, coupled: bool) -> SessionSpec {
        let (scheduler, scheduler_params) = read_scheduler(t);
        let mut m = t.table_or_empty("multipath");
        let spec = SessionSpec {
            size,
            receive_buffer,
            coupled,
            scheduler,
            scheduler_params,
            reinject: m.or("reinject", &Flag, true),
            opportunistic: m.or("opportunistic", &Flag, true),
            penalise: m.or("penalise", &Flag, true),
            fail_after: m.or("fail_after", &FAILURES, 3),
            notice: m.or("notice", &Flag, false),
        };
        t.put("multipath", m.finish());
        spec
    }

    /// The session of the checked scenario, over these flows.
    pub(super) fn build(&self, label: String, flows: Range<usize>, capacities: Vec<f64>) -> Session {
        Session {
            capacities,
            label,
            flows,
            size: self.size,
            receive_buffer: self.receive_buffer,
            coupled: self.coupled,
            scheduler: self.scheduler,
            scheduler_params: self.scheduler_params.clone(),
            reinject: self.reinject,
            opportunistic: self.opportunistic,
            penalise: self.penalise,
            fail_after: self.fail_after as u32,
            notice: self.notice,
        }
    }
}

/// The scheduler, by name or as a table with its parameters.
fn read_scheduler(t: &mut Table) -> (&'static Entry, Vec<(String, Given)>) {
    let named = !t.raw("scheduler").is_some_and(Json::is_object);
    let mut s = if named { t.empty("scheduler") } else { t.table_or_empty("scheduler") };
    let entry = match named {
        true => t.peek("scheduler", &Scheduler),
        false => s.required("name", &Scheduler, "\"round-robin\""),
    };
    let entry = entry.unwrap_or(scheduler::DEFAULT);
    let params = read_params(&mut s, entry.params, Flavour::Linux).unwrap_or_default();
    let written = s.finish_named("name", json!(entry.name));
    t.put("scheduler", written);
    (entry, params)
}

/// A registered scheduler.
struct Scheduler;
impl Kind for Scheduler {
    type Value = &'static Entry;
    fn read(&self, json: &Json) -> Result<Self::Value, String> {
        let name = json.as_str().unwrap_or_default();
        let names = || alternatives(name, scheduler::REGISTRY.iter().map(|e| e.name));
        let found = scheduler::REGISTRY.iter().find(|e| e.name == name);
        found.ok_or_else(|| format!("unknown scheduler {}{}", show(json), names()))
    }
    fn write(&self, value: &Self::Value) -> Json {
        json!(value.name)
    }
}

/// Where a subflow begins and ends, and when it starts.
pub(super) struct PathSpec {
    name: String,
    pub(super) place: Option<(super::network::Ends, Duration)>,
    pub(super) start: Option<Duration>,
}

/// What says where a flow is, and in a connection over several paths where each path is.
const PLACE: [&str; 7] = ["from", "to", "route", "rtt", "direction", "path", "station"];

const TWO_PATHS: &str = r#"[{ rtt = "20 ms" }, { rtt = "80 ms" }]"#;
/// What is said of a connection over several paths, and of no other.
const OF_PATHS: [&str; 3] = ["coupling", "scheduler", "multipath"];

/// Reads `paths`; `None` where there are none.
pub(super) fn read_paths(t: &mut Table, network: Option<&Network>) -> Option<Vec<PathSpec>> {
    let Some(list) = t.raw("paths") else {
        for name in OF_PATHS {
            t.refuse(name, format!("is for a flow with paths; write paths, e.g. {TWO_PATHS}"));
        }
        return None;
    };
    for name in PLACE {
        t.refuse(name, "does not apply to a flow with paths; write it in each of them");
    }
    let Some(list) = list.as_array().filter(|list| (1..=MAX_PATHS).contains(&list.len())) else {
        t.mistake("paths", format!("{} is not a list of 1 to {MAX_PATHS} paths, e.g. {TWO_PATHS}", show(list)));
        return Some(Vec::new());
    };
    let mut normal = Vec::new();
    let mut paths: Vec<PathSpec> = Vec::new();
    for (k, json) in list.iter().enumerate() {
        let given = with_ends(json);
        let mut p = Table::new(t.field(&format!("paths[{k}]")), Some(&given), t.mistakes());
        let name = p.or("name", &Name, format!("path-{}", k + 1));
        if paths.iter().any(|other| other.name == name) {
            p.mistake("name", format!("\"{name}\" is already the name of another path"));
        }
        let place = match network {
            Some(network) => network.read_ends(&mut p),
            None => Network::skip_ends(&mut p),
        };
        let start = p.optional("start", &TIME);
        normal.push(p.finish());
        paths.push(PathSpec { name, place, start });
    }
    t.put("paths", normal.into());
    Some(paths)
}

/// A path as a table: a list of nodes is a route, and a route says where it begins and ends.
fn with_ends(json: &Json) -> Json {
    let mut table = match json {
        Json::Array(_) => Map::from_iter([("route".to_string(), json.clone())]),
        Json::Object(table) => table.clone(),
        _ => return json.clone(),
    };
    if let Some([from, .., to]) = table.get("route").and_then(Json::as_array).map(Vec::as_slice) {
        let (from, to) = (from.clone(), to.clone());
        table.entry("from").or_insert(from);
        table.entry("to").or_insert(to);
    }
    Json::Object(table)
}

/// The subflows of a connection, each a flow of its own.
pub(super) fn subflows(flow: &FlowSpec, session: &SessionSpec, paths: Vec<PathSpec>) -> Option<Vec<FlowSpec>> {
    let count = paths.len();
    let subflow = |(number, path): (usize, PathSpec)| {
        let member = Member { flow: flow.path.clone(), name: path.name, count, number, session: session.clone() };
        let field = format!("{}.paths[{number}]", flow.path);
        Some(flow.as_subflow(field, path.place?, path.start, member))
    };
    paths.into_iter().enumerate().map(subflow).collect()
}

/// What the slowest link of a flow's path carries of payload, bit/s; NaN where none has a rate, or one changes.
pub(super) fn capacity(flow: &Flow, links: &[Link]) -> f64 {
    let Traffic::Tcp { config, .. } = &flow.traffic else { return f64::NAN };
    let on_path = || flow.route.iter().map(|link| links.get(*link));
    let constant = on_path().all(|link| {
        link.is_some_and(|link| {
            link.trace.is_none() && link.schedule.iter().all(|change| change.rate.is_none() && change.up.is_none())
        })
    });
    let share = |link: &Link| f64::from(config.mss) / (packet_size(config) + u64::from(link.overhead)) as f64;
    let rate = |link: &Link| Some(link.rate?.as_bps_f64() * share(link));
    let slowest = on_path().flatten().filter_map(rate).min_by(f64::total_cmp);
    slowest.filter(|_| constant).unwrap_or(f64::NAN)
}
