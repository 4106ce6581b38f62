//! A scenario: one network with its flows, checked. Loading one can never run code.
//!
//! ```text
//!  TOML text ─► JSON ─► reader ─► network, flow: what was written ─► Scenario: what runs
//!                          └────► source: what was written, every default filled in
//! ```
//! ([`Scenario::resolved`] writes it as JSON in SI units, for others than this simulator.)
//!
//! A [`Scenario`] is what the simulator runs: one graph, whatever the topology was called; every option resolved.
//! Its types belong to the layers that act on them: `world`, `app`, `tcp` and `net` each have a `config`.
//! The format is described in `docs/reference/scenario.md`.

mod application;
mod background;
pub mod error;
mod flow;
mod hosts;
mod link;
mod mesh;
mod motion;
mod network;
mod quantity;
mod queue;
mod radio;
mod reader;
mod record;
mod registry;
mod resolved;
mod session;
mod tcp;
mod trace;
mod tunnel;
mod wifi;
mod wireless;

pub use crate::app::config::*;
pub use crate::net::config::*;
pub use crate::net::queue::{Limit, Queue};
pub use crate::world::config::*;
pub use error::{Mistake, ScenarioError};
pub use quantity::in_si;
pub use registry::registry_json;
pub use trace::normal_trace;

use crate::measure::budget;
use crate::net::medium::heard;
use background::{BackgroundSpec, MAX_ENTRIES};
use cclab_algo::Duration;
use flow::{FlowSpec, MAX_FLOWS};
use network::Network;
use quantity::{Integer, Name, POSITIVE_TIME, TIME};
use reader::{Kind, Mistakes, Table};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use trace::Traces;

/// A commented example scenario, as TOML.
pub fn example() -> &'static str {
    include_str!("example.toml")
}

const SEED: Integer = Integer { min: 0, max: u64::MAX };
const EVENTS: Integer = Integer { min: 1, max: 1_000_000_000_000_000 };
const DEFAULT_EVENTS: u64 = 100_000_000_000;

impl Scenario {
    /// The scenario that this TOML text describes.
    ///
    /// # Errors
    /// Every mistake found; where the text is not TOML, the first, with its line and column.
    pub fn from_toml(text: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_json(&toml_as_json(text)?)
    }

    /// The scenario that this JSON describes: the same tables and fields as in TOML. `null` is as if the
    /// field were left out.
    ///
    /// # Errors
    /// Every mistake found.
    pub fn from_json(json: &Json) -> Result<Scenario, ScenarioError> {
        let mistakes = Mistakes::default();
        let json = tcp::with_common_options(json);
        let written = Written::read(&json, &mistakes);
        let scenario = written.filter(|_| mistakes.is_empty()).and_then(|w| w.build(&mistakes));
        if mistakes.is_empty() {
            mistakes.check_needs();
        }
        match scenario {
            Some(scenario) if mistakes.is_empty() => Ok(scenario),
            _ => Err(ScenarioError { mistakes: mistakes.into_vec() }),
        }
    }
}

/// The fields that a scenario like this one may have, by path, as JSON Schema says what each may be. Of what has several
/// shapes it tells those that this one has; nothing is said of a field whose kind has no words there.
pub fn fields(json: &Json) -> BTreeMap<String, Vec<Json>> {
    let mistakes = Mistakes::with_fields();
    Written::read(&tcp::with_common_options(json), &mistakes);
    mistakes.into_fields()
}

/// A scenario as written: every field is right by itself.
struct Written {
    name: String,
    duration: Duration,
    warmup: Duration,
    seed: u64,
    max_events: u64,
    network: Network,
    flows: Vec<FlowSpec>,
    background: Vec<BackgroundSpec>,
    record: Record,
    source: Json,
}

impl Written {
    /// Reads every field; `None` after some mistakes.
    fn read(json: &Json, mistakes: &Mistakes) -> Option<Written> {
        let traces = Traces::new(json.get("traces").filter(|traces| !traces.is_null()), mistakes);
        let mut t = Table::new(String::new(), Some(json), mistakes).with_traces(&traces);
        t.raw("traces");
        // What they say stands in each flow.
        t.peek("profile", &tcp::PROFILES);
        t.table_or_empty("sysctl").forgive();
        let name = t.or("name", &Name, "scenario".into());
        let duration = t.required("duration", &POSITIVE_TIME, "\"60 s\"");
        let warmup = t.or("warmup", &TIME, Duration::ZERO);
        if let Some(end) = duration.filter(|d| *d <= warmup && t.sound(&["warmup"])) {
            let print = |d: Duration| TIME.write(&d);
            t.mistake("warmup", format!("{} is not shorter than duration, {}", print(warmup), print(end)));
        }
        let seed = t.or("seed", &SEED, 1);
        let max_events = t.or("max_events", &EVENTS, DEFAULT_EVENTS);
        let network = read_network(&mut t);
        let flows = read_flows(&mut t, network.as_ref(), duration);
        let background = read_background(&mut t, network.as_ref(), duration);
        let record = record::read(&mut t, duration);
        if let Some(traces) = traces.normal() {
            t.put("traces", traces);
        }
        let source = t.finish();
        Some(Written {
            name,
            duration: duration?,
            warmup,
            seed,
            max_events,
            network: network?,
            flows,
            background,
            record,
            source,
        })
    }

    /// Checks what needs several fields, and makes the graph; `None` after a mistake.
    fn build(mut self, mistakes: &Mistakes) -> Option<Scenario> {
        let labels = flow::labels(&self.flows);
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, (entry, label)) in labels.iter().enumerate() {
            if let Some(other) = numbers.insert(label, number) {
                let other = &self.flows[labels[other].0].path;
                let field = self.flows[*entry].field("label");
                mistakes.add(field, format!("\"{label}\" is already a label of {other}"));
            }
        }
        self.check_background_labels(&numbers, mistakes);
        let find = |label: &str| numbers.get(label).copied();
        let places = || self.background.iter().flat_map(|b| &b.places);
        let entries: Vec<&FlowSpec> = self.flows.iter().chain(places()).collect();
        self.network.check(&entries, &find, mistakes);
        if !mistakes.is_empty() {
            return None;
        }
        self.network.fill_in(&entries, &mut self.source["network"]);
        let each: Vec<&FlowSpec> = labels.iter().map(|(entry, _)| entries[*entry]).collect();
        let mut graph = self.network.build(&each.iter().copied().chain(places()).collect::<Vec<_>>(), &find, self.seed);
        for f in &self.flows {
            mistakes.need(f.field("count"), budget::FLOW * f.count, format!("{} flows", f.count), "write fewer");
        }
        for medium in &graph.media {
            let (stations, heard) = (medium.stations.len(), heard(medium, &graph.nodes, self.seed));
            let field = match (medium.infrastructure, &self.source["network"]["rows"]) {
                (true, _) => "network.wifi.stations",
                (false, Json::Null) => "network.nodes",
                (false, _) => "network.rows",
            };
            let what = format!("{stations} stations, each in range of some {}", heard / stations.max(1) as u64);
            mistakes.need(field, heard.saturating_mul(budget::HEARD), what, "write fewer, or farther apart");
        }
        record::need_samples(&self.record, self.duration, each.len(), graph.links.len(), mistakes);
        record::check_point(&self.record, !graph.media.is_empty(), mistakes);
        let mut paths = std::mem::take(&mut graph.paths);
        let background_paths = paths.split_off(each.len());
        let ways = self.background.iter().flat_map(|b| (0..b.places.len()).map(move |k| (b, k)));
        let background =
            ways.zip(background_paths).filter_map(|((b, k), path)| b.build(k, path, &graph, self.duration, mistakes));
        let background = background.collect();
        let named = each.iter().zip(paths).zip(&labels);
        let mut flows: Vec<Flow> =
            named.map(|((f, path), (_, label))| f.build(label.clone(), path, &graph, mistakes)).collect();
        flows.extend(graph.join_tunnels(&numbers, mistakes));
        let sessions = self.sessions(&labels, &flows, &graph.links);
        Some(Scenario {
            name: self.name,
            duration: self.duration,
            warmup: self.warmup,
            seed: self.seed,
            nodes: graph.nodes,
            links: graph.links,
            media: graph.media,
            crossings: graph.crossings,
            flows,
            sessions,
            background,
            record: self.record,
            max_events: self.max_events,
            source: self.source,
        })
    }
}

impl Written {
    /// The connections over several paths among these flows.
    fn sessions(&self, labels: &[(usize, String)], flows: &[Flow], links: &[Link]) -> Vec<Session> {
        let mut sessions = Vec::new();
        for (number, (entry, label)) in labels.iter().enumerate() {
            if let Some(first) = self.flows[*entry].member.as_ref().filter(|member| member.number == 0) {
                let label = label.strip_suffix(&format!("/{}", first.name)).unwrap_or(label);
                let own = number..number + first.count;
                let capacities = flows[own.clone()].iter().map(|flow| session::capacity(flow, links)).collect();
                sessions.push(first.session.build(label.into(), own, capacities));
            }
        }
        sessions
    }

    /// Labels of the background differ from each other and from those of the flows.
    fn check_background_labels(&self, flows: &BTreeMap<&str, usize>, mistakes: &Mistakes) {
        for (k, b) in self.background.iter().enumerate() {
            let twice = self.background[..k].iter().position(|other| other.label == b.label);
            if flows.contains_key(b.label.as_str()) || twice.is_some() {
                let other = twice.map_or("a flow".into(), |k| format!("background[{k}]"));
                mistakes
                    .add(format!("background[{k}].label"), format!("\"{}\" is already a label of {other}", b.label));
            }
        }
    }
}

fn read_network(t: &mut Table) -> Option<Network> {
    t.require("network", "write e.g. network = { rate = \"100 Mbit/s\", rtt = \"40 ms\" }");
    let mut n = t.table("network")?;
    let network = Network::read(&mut n);
    t.put("network", n.finish());
    network
}

fn read_flows(t: &mut Table, network: Option<&Network>, duration: Option<Duration>) -> Vec<FlowSpec> {
    let advice = "write at least one, e.g. [[flows]] with cc = \"cubic\"";
    let alone = t.raw("background").is_none_or(|b| b.as_array().is_some_and(Vec::is_empty));
    if alone {
        t.require("flows", advice);
    }
    let tables = t.tables("flows");
    if alone && tables.as_ref().is_some_and(Vec::is_empty) {
        t.mistake("flows", format!("is empty; {advice}"));
    }
    let mut specs = Vec::new();
    let mut normal = Vec::new();
    for mut f in tables.unwrap_or_default() {
        specs.extend(FlowSpec::read(&mut f, network, duration).into_iter().flatten());
        normal.push(f.finish());
    }
    let total: u64 = specs.iter().map(|f| f.count).sum();
    if total > MAX_FLOWS {
        t.mistake("flows", format!("{total} flows in all are too many; at most {MAX_FLOWS}"));
    }
    t.put("flows", normal.into());
    specs
}

fn read_background(t: &mut Table, network: Option<&Network>, duration: Option<Duration>) -> Vec<BackgroundSpec> {
    let Some(tables) = t.tables("background") else { return Vec::new() };
    if tables.len() > MAX_ENTRIES {
        t.mistake("background", format!("{} entries are too many; at most {MAX_ENTRIES}", tables.len()));
    }
    let mut specs = Vec::new();
    let mut normal = Vec::new();
    for mut b in tables {
        let spec = BackgroundSpec::read(&mut b, network, duration, &specs);
        specs.extend(spec);
        normal.push(b.finish());
    }
    t.put("background", normal.into());
    specs
}

/// The scenario in this TOML text as it was written, not checked beyond its being TOML. A byte order mark is passed over.
///
/// # Errors
/// Where the text is not TOML, with its line and column; dates, infinities and NaN, which have no place in a scenario.
pub fn toml_as_json(text: &str) -> Result<Json, ScenarioError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: toml::Table = text.parse().map_err(|e| ScenarioError { mistakes: vec![not_toml(text, &e)] })?;
    let mistakes = Mistakes::default();
    let json = to_json("", toml::Value::Table(table), &mistakes);
    if mistakes.is_empty() { Ok(json) } else { Err(ScenarioError { mistakes: mistakes.into_vec() }) }
}

/// TOML as JSON. Dates, infinities and NaN have no place in a scenario.
fn to_json(path: &str, value: toml::Value, mistakes: &Mistakes) -> Json {
    match value {
        toml::Value::String(s) => s.into(),
        toml::Value::Integer(i) => i.into(),
        toml::Value::Boolean(b) => b.into(),
        toml::Value::Float(x) if x.is_finite() => x.into(),
        toml::Value::Float(x) => {
            mistakes.add(path, format!("{x} is not a finite number"));
            Json::Null
        }
        toml::Value::Datetime(d) => {
            mistakes.add(path, format!("{d} is a date; a scenario has none"));
            Json::Null
        }
        toml::Value::Array(list) => {
            list.into_iter().enumerate().map(|(k, v)| to_json(&format!("{path}[{k}]"), v, mistakes)).collect()
        }
        toml::Value::Table(table) => {
            let field = |name: &String| if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let pair = |(k, v): (String, toml::Value)| {
                let json = to_json(&field(&k), v, mistakes);
                (k, json)
            };
            Json::Object(table.into_iter().map(pair).collect())
        }
    }
}

/// Where the text stops being TOML: `line 3, column 7`; of a whole number that TOML has no room for, its
/// field too, where that is on its line.
fn not_toml(text: &str, error: &toml::de::Error) -> Mistake {
    let deep = if error.span().is_none() { deep_key(text) } else { None };
    let span = error.span().unwrap_or_else(|| deep.map_or(text.len()..text.len(), |at| at..at));
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let place = format!("line {}, column {}", before.matches('\n').count() + 1, line.chars().count() + 1);
    let number = text.get(span).filter(|n| n.chars().all(|c| c.is_ascii_digit() || "+-_".contains(c)));
    let key = line.trim_end().strip_suffix('=').and_then(|l| l.rsplit([' ', '\t', ',', '{']).find(|k| !k.is_empty()));
    match number.filter(|n| n.parse::<i64>().is_err() && n.contains(|c: char| c.is_ascii_digit())) {
        Some(number) => Mistake {
            field: key.map_or_else(|| place.clone(), |key| format!("{place}, {key}")),
            message: format!("{number} is too large; a whole number in TOML is at most {}", i64::MAX),
        },
        None if deep.is_some() => {
            Mistake { field: place, message: format!("{}: too many names in a key", error.message()) }
        }
        None => Mistake { field: place, message: error.message().into() },
    }
}

/// Where a key begins that has more names than the parser takes, which does not tell where. What stands between the signs that may
/// stand around a key is tried as one.
fn deep_key(text: &str) -> Option<usize> {
    let mut next = 0;
    text.split(['\n', '=', ',', '{', '}', '[', ']']).find_map(|part| {
        let start = next + part.len() - part.trim_start().len();
        next += part.len() + 1;
        let alone = format!("{} = 0", part.trim()).parse::<toml::Table>();
        alone.is_err_and(|e| e.span().is_none()).then_some(start)
    })
}
