//! Worlds in which time goes slower or faster, and what knows a time or a rate as such.

use super::worlds::{Told, World, insert};
use cclab_algo::cc;
use cclab_sim::net::queue;
use cclab_sim::scenario::Scenario;
use serde_json::{Value as Json, json};

/// How much slower; powers of two, so that times stay whole.
pub const FACTORS: [f64; 4] = [0.25, 0.5, 2.0, 8.0];
/// So little slower or faster: what is another at such a pace too hangs on how times are rounded.
pub const HAIRS: [f64; 4] = [1e-6, -1e-6, 3e-5, -3e-5];
/// Times are multiples of so many ns.
const GRID: f64 = 16.0;

/// What does not scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absolute {
    /// A law, in this flavour if one is named.
    Law(&'static str, Option<&'static str>),
    /// A queue, with these fields.
    Queue(&'static str, &'static str),
    /// Fields of a TCP, and what they are instead.
    Tcp(&'static str, &'static str),
    /// The same, where the order of packets hangs on it too seldom to be seen.
    Seldom(&'static str, &'static str),
    /// Data in both directions, on a path that reorders.
    OutOfPlace,
}
use Absolute::{Law, OutOfPlace, Queue, Seldom, Tcp};

/// All of it, and why. Laws' constants that are parameters scale with the rest (CUBIC's C, H-TCP's Δ_L, Hybla's RTT₀ …); what takes longer
/// than the worlds, such as minima over minutes, is not seen.
pub const ABSOLUTE: &[(Absolute, &str)] = &[
    (Law("vivace", None), "utility of Mbit/s"),
    (Law("cubic", Some("linux")), "RTTs of the first second after a loss, HyStart's 2 to 16 ms (Linux)"),
    (
        Tcp(
            r#"{ "cc": { "name": "cubic", "hystart": "hystart" }, "flavour": "paper" }"#,
            r#"{ "cc": { "hystart": "off" } }"#,
        ),
        "RTTs that differ by 4 to 16 ms, ACKs within 2 ms",
    ),
    (
        Tcp(
            r#"{ "cc": { "name": "cubic", "hystart": "hystart++" }, "flavour": "paper" }"#,
            r#"{ "cc": { "hystart": "off" } }"#,
        ),
        "RTTs that differ by 4 to 16 ms (RFC 9406)",
    ),
    (Law("htcp", Some("linux")), "jiffies (Linux)"),
    (
        Tcp(
            r#"{ "cc": { "name": "htcp", "variant": "linux" }, "flavour": "paper" }"#,
            r#"{ "cc": { "variant": "paper" } }"#,
        ),
        "jiffies (Linux)",
    ),
    (
        Tcp(
            r#"{ "cc": { "name": "htcp", "rtt_scaling": true }, "flavour": "paper" }"#,
            r#"{ "cc": { "rtt_scaling": false } }"#,
        ),
        "growth in proportion to RTT/100 ms",
    ),
    (Law("bbr", None), "two segments at once from 1.2 Mbit/s on, 100 ms of extra ACKs, minima over 10 s"),
    (Law("bbr3", None), "minima over 5 s, ProbeRTT of 200 ms, 2 to 3 s between probes"),
    (Law("cbbr", None), "those of BBR"),
    (Law("cmpbbr", None), "those of BBR"),
    (Queue("xcp", "{}"), "an interval of 50 ms before any RTT is known"),
    (Queue("pie", r#"{ "flavour": "linux" }"#), "2 % more above 250 ms (Linux)"),
    (
        Queue("red", r#"{ "adaptive": true }"#),
        "looks at its queue every 500 ms, and lets it wait for 5 ms (2001, §3, §4)",
    ),
    (Tcp(r#"{ "timestamps": true }"#, r#"{ "timestamps": false }"#), "a clock of 1 ms"),
    (
        Tcp(r#"{ "delayed_ack": { "adaptive": true } }"#, r#"{ "delayed_ack": { "adaptive": false } }"#),
        "200 ms at most (Linux)",
    ),
    (Tcp(r#"{ "tso": 2 }"#, r#"{ "tso": "off" }"#), "a segment that left within 1 ms (Linux tcp_tso_should_defer)"),
    (
        Tcp(r#"{ "quick_start": "1 Mbit/s" }"#, r#"{ "quick_start": "off" }"#),
        "rates of 40 kbit/s times powers of two (RFC 4782)",
    ),
    (
        Tcp(r#"{ "recovery": "rack", "flavour": "linux" }"#, r#"{ "recovery": "sack" }"#),
        "2 ms more before RACK gives up (Linux)",
    ),
    (
        Seldom(r#"{ "tlp": true }"#, r#"{ "tlp": false }"#),
        "probes 2 ms later, and after 1 s without an RTT (RFC 8985 §7.2, Linux)",
    ),
    (OutOfPlace, "500 ms between two answers to an ACK that is out of place (Linux tcp_invalid_ratelimit)"),
];

/// Everything about a world in figures, its times and rates on the grid, without what is absolute but for `known`. `None` where it is
/// refused: not everything goes together.
pub fn base(world: &World, known: Option<Absolute>) -> Option<Scenario> {
    if world.has_air() {
        return None; // a standard of radios has rates of its own, and no others
    }
    // (a law that doubles its rate until something happens needs time)
    let duration = if known.is_some() { 2_400_000_000 } else { 600_000_000 };
    let mut filled = Scenario::from_json(&world.json(Told { duration, ..Told::PLAINLY })).ok()?.source;
    let mut draw = filled["seed"].as_u64()? as usize;
    if let Some(Queue(name, fields)) = known {
        let mut queue = parsed(fields);
        insert(&mut queue, &json!({ "discipline": name }));
        filled["network"]["queue"] = queue;
    }
    if let (Some(Tcp(..)), Some(flow)) = (known, filled["flows"][0].as_object_mut())
        && flow.contains_key("profile")
    {
        // timers matter where the last packets of what is written are lost
        flow.remove("size");
        flow.insert("traffic".into(), json!({ "kind": "chunks", "size": "6 kB", "every": "60 ms" }));
        filled["network"]["loss"] = json!({ "data": "5%" });
    }
    let network = &mut filled["network"];
    let over_tcp = json!({ "over": "tcp", "cc": "reno" });
    if known == Some(OutOfPlace) {
        insert(network, &json!({ "reorder": { "probability": "20%", "delay": "30 ms" }, "tunnel": over_tcp }));
    } else if network["jitter"] != "none" || network["reorder"] != "none" || network["schedule"] != json!([]) {
        if has(&network["tunnel"], &json!({ "over": "tcp" })) {
            network["tunnel"] = "udp".into();
        }
        for flow in filled["flows"].as_array_mut()? {
            if flow["traffic"]["kind"] == "requests" {
                flow.as_object_mut()?.remove("traffic");
            }
            if flow["kind"] == "tcp" {
                // an ACK that is late by more than a window is out of place
                insert(flow, &json!({ "receive_buffer": "256 MiB", "initial_receive_buffer": "whole" }));
            }
        }
    }
    replace(&mut filled, known, &mut draw);
    let filled = Scenario::from_json(&filled).ok()?.source;
    Scenario::from_json(&at(&filled, Pace::Whole)).ok()
}

/// Others for what is absolute, or for what is not: `known`.
fn replace(json: &mut Json, known: Option<Absolute>, draw: &mut usize) {
    let absolute = || ABSOLUTE.iter().map(|(what, _)| *what).filter(|what| Some(*what) != known);
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| replace(item, known, draw)),
        Json::Object(fields) => fields.values_mut().for_each(|field| replace(field, known, draw)),
        _ => return,
    }
    if absolute()
        .any(|what| matches!(what, Queue(name, with) if json["discipline"] == name && has(json, &parsed(with))))
    {
        let name = others(draw, queue::REGISTRY.iter().map(|entry| entry.name), |name| {
            !ABSOLUTE.iter().any(|(what, _)| matches!(what, Queue(known, "{}") if *known == name))
        });
        *json = json!({ "discipline": name });
    }
    let Some(flavour) = json.get("recovery").and_then(|_| json["flavour"].as_str()).map(str::to_string) else {
        return;
    };
    if let Some(Tcp(with, _)) = known {
        merge(json, parsed(with));
    }
    for what in absolute() {
        if let Tcp(with, instead) | Seldom(with, instead) = what
            && has(json, &parsed(with))
        {
            merge(json, parsed(instead));
        }
    }
    // the law of coupled subflows stands in a field of its own
    let coupled = json.get("coupling").is_some_and(|coupling| *coupling != "none");
    let field = if coupled { "coupling" } else { "cc" };
    if json.get(field).is_some() {
        let is = |what: &Absolute, law: &str| matches!(what, Law(name, only) if *name == law && only.is_none_or(|only| only == flavour));
        if let Some(Law(name, only)) = known
            && !coupled
        {
            json[field] = name.into();
            json["flavour"] = only.unwrap_or(&flavour).into();
        } else if ABSOLUTE
            .iter()
            .any(|(what, _)| is(what, json[field]["name"].as_str().or(json[field].as_str()).expect("a name")))
        {
            json[field] = others(
                draw,
                cc::REGISTRY.iter().filter(|entry| !coupled || entry.is_coupled()).map(|entry| entry.name),
                |name| !ABSOLUTE.iter().any(|(what, _)| is(what, name)),
            )
            .into();
        }
    }
}

fn parsed(json: &str) -> Json {
    serde_json::from_str(json).expect("JSON")
}

/// Whether these fields are in there.
fn has(json: &Json, fields: &Json) -> bool {
    match fields {
        Json::Object(fields) => fields.iter().all(|(name, field)| has(&json[name], field)),
        field => json == field,
    }
}

/// Fields into fields; those of another name are dropped.
fn merge(into: &mut Json, fields: Json) {
    if fields.get("name").is_some_and(|name| into["name"] != *name) {
        *into = json!({});
    }
    match fields {
        Json::Object(fields) => fields.into_iter().for_each(|(name, field)| merge(&mut into[name], field)),
        field => *into = field,
    }
}

/// One of those that are `fine`.
fn others(draw: &mut usize, of: impl Iterator<Item = &'static str>, fine: impl Fn(&str) -> bool) -> &'static str {
    let fine: Vec<_> = of.filter(|name| fine(name)).collect();
    *draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    fine[(*draw >> 33) % fine.len()]
}

/// What becomes of times and rates.
#[derive(Clone, Copy)]
pub enum Pace {
    /// They are such that halves and quarters of a time, and how long a byte takes at four times a rate, are whole ns: two things that
    /// happen at once do so at any pace.
    Whole,
    /// Times so much longer, rates so much lower.
    Slower(f64),
}

impl Pace {
    /// Of a time in ns or a rate in bit/s.
    fn of(self, power: i32, value: f64) -> f64 {
        match self {
            Pace::Slower(k) => (value * k.powi(power)).round(),
            Pace::Whole if power == 1 => (value / GRID).floor() * GRID,
            Pace::Whole => {
                let ns_per_byte = |(twos, fives): (i32, i32)| 2_f64.powi(twos) * 5_f64.powi(fives);
                let all = (2..=9).flat_map(|twos| (0..=9).map(move |fives| (twos, fives))).map(ns_per_byte);
                all.map(|ns| 8e9 / ns).filter(|rate| *rate <= value.max(1.0)).fold(0.0, f64::max)
            }
        }
    }

    /// Of a number with this power of time.
    fn factor(self, power: i32) -> f64 {
        if let Pace::Slower(k) = self { k.powi(power) } else { 1.0 }
    }
}

/// A scenario in which all fields are told, at another pace.
pub fn at(json: &Json, pace: Pace) -> Json {
    match json {
        Json::String(text) => match quantity(text) {
            Some((power @ 1, value)) => format!("{} ns", pace.of(power, value)).into(),
            Some((power, value)) => format!("{} bit/s", pace.of(power, value)).into(),
            None => text.clone().into(),
        },
        Json::Array(items) => items.iter().map(|item| at(item, pace)).collect(),
        Json::Object(fields) => {
            let mut all: serde_json::Map<String, Json> =
                fields.iter().map(|(name, field)| (name.clone(), at(field, pace))).collect();
            for (name, power) in numbers(json) {
                all[name] = (fields[name].as_f64().expect("a number") * pace.factor(power)).into();
            }
            if let Some(Json::Object(traces)) = all.get_mut("traces") {
                traces.values_mut().for_each(|text| *text = trace(text.as_str().expect("a trace"), pace).into());
            }
            all.into()
        }
        _ => json.clone(),
    }
}

/// A time in ns or a rate in bit/s, and the power of time that it is.
fn quantity(text: &str) -> Option<(i32, f64)> {
    let (number, unit) = text.split_once(' ')?;
    let (power, scale) = match unit {
        "ns" => (1, 1.0),
        "us" => (1, 1e3),
        "ms" => (1, 1e6),
        "s" => (1, 1e9),
        "bit/s" => (-1, 1.0),
        "kbit/s" => (-1, 1e3),
        "Mbit/s" => (-1, 1e6),
        "Gbit/s" => (-1, 1e9),
        _ => return None,
    };
    Some((power, number.parse::<f64>().ok()? * scale))
}

/// The numbers among fields that have a dimension, and of which power of time.
fn numbers(fields: &Json) -> Vec<(&'static str, i32)> {
    let named = |key: &str, name: &str| fields.get(key).is_some_and(|found| found == name);
    if named("discipline", "pie") || named("discipline", "dualpi2") {
        return vec![("alpha", -1), ("beta", -1)];
    }
    if named("discipline", "drai") {
        return vec![("least_share", -1)];
    }
    let law = cc::REGISTRY.iter().find(|entry| named("name", entry.name));
    let power = |unit| match unit {
        "s" | "ms" | "min" => Some(1),
        "segments/s^3" => Some(-3),
        "" | "segments" | "segments or factor" | "RTT" | "RTTs" | "round trips" | "ACKs" | "%" | "factor" => None,
        _ => panic!("of what power of time is {unit}?"),
    };
    law.map_or(vec![], |entry| {
        let given = entry.params.iter().filter(|param| fields.get(param.name).is_some_and(Json::is_f64));
        given.filter_map(|param| Some((param.name, power(param.unit)?))).collect()
    })
}

/// A trace: gaps in ms, or a table.
fn trace(text: &str, pace: Pace) -> String {
    if let Some(gaps) = text.strip_prefix("gaps") {
        let longer = |gap: f64| match pace {
            Pace::Whole => (gap / 4.0).ceil() * 4.0,
            Pace::Slower(k) => (gap * k).round(),
        };
        let gap = |gap: &str| {
            let (gap, times) = gap.split_once('*').unwrap_or((gap, "1"));
            format!(" {}*{times}", longer(gap.parse().expect("a number")))
        };
        return format!("gaps{}", gaps.split_whitespace().map(gap).collect::<String>());
    }
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let cell = |(cell, column): (&str, &&str)| match (cell.parse::<f64>().expect("a number"), *column) {
        (value, "time_ns" | "delay_ns") => pace.of(1, value).to_string(),
        (value, "rate_bps") => pace.of(-1, value).to_string(),
        (value, "time_s" | "delay_s") => format!("{:.9}", pace.of(1, value * 1e9) / 1e9),
        _ => panic!("{column}"),
    };
    let row = |line: &str| line.split(',').zip(&columns).map(cell).collect::<Vec<_>>().join(",");
    std::iter::once(columns.join(",")).chain(lines.map(row)).collect::<Vec<_>>().join("\n")
}
