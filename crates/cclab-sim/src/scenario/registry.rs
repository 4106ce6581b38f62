//! What there is to choose from, as JSON for `list` and `describe`.

use cclab_algo::cc;
use cclab_algo::params::{Kind, Spec, Value};
use serde_json::{Value as Json, json};

/// Everything registered: `algorithms`, `queues` and `topologies`, all of the same shape.
pub fn registry_json() -> Json {
    let algorithm = |e: &cc::Entry| {
        let params: Vec<Json> = e.params.iter().map(param).collect();
        json!({ "name": e.name, "summary": e.summary, "source": e.source, "params": params })
    };
    let algorithms: Vec<Json> = cc::REGISTRY.iter().map(algorithm).collect();
    json!({ "algorithms": algorithms, "queues": [], "topologies": [] })
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
