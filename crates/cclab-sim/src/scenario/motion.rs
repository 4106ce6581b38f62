//! `mobility`: how the stations of a medium move.

use super::mesh::numbered;
use super::network::Node;
use super::quantity::{DISTANCE, Number, POSITIVE_SPEED, Reals, SPEED, TIME, Times, Words};
use super::reader::{Kind, Table, show};
use super::wireless::{At, Ground};
use crate::net::medium::config::{Area, GaussMarkov, Motion, Track, Waypoint};
use crate::net::medium::mobility::trace::{self, Command};
use cclab_algo::{Duration, Time};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq)]
enum Model {
    Static,
    Waypoint,
    GaussMarkov,
    Trace,
    Moves,
}
const MODELS: Words<Model> = Words(&[
    ("static", Model::Static),
    ("waypoint", Model::Waypoint),
    ("gauss-markov", Model::GaussMarkov),
    ("trace", Model::Trace),
    ("moves", Model::Moves),
]);
const STARTS: Words<bool> = Words(&[("steady", true), ("uniform", false)]);

/// Reads `mobility`: the name of a model, or a table with its `model` and its fields. What each station does; `None` after a
/// mistake, or where it is not known which stations there are.
pub(super) fn read(t: &mut Table, ground: Option<&mut Ground>) -> Option<Vec<Motion>> {
    let table = t.raw("mobility").is_some_and(Json::is_object);
    let mut m = if table { t.table_or_empty("mobility") } else { t.empty("mobility") };
    let model = match table {
        true => m.required("model", &MODELS, "\"waypoint\""),
        false => t.peek("mobility", &MODELS).or_else(|| t.sound(&["mobility"]).then_some(Model::Static)),
    };
    let found = match (model, ground) {
        (Some(model), Some(ground)) => read_model(&mut m, model, ground),
        _ => {
            m.forgive();
            None
        }
    };
    t.put("mobility", m.finish_named("model", model.map_or(Json::Null, |model| MODELS.write(&model))));
    found
}

fn read_model(m: &mut Table, model: Model, ground: &mut Ground) -> Option<Vec<Motion>> {
    let name = MODELS.write(&model);
    match (model, ground.area) {
        (Model::Waypoint | Model::GaussMarkov, None) => {
            m.mistake("model", format!("{name} needs an area: it is for the topology \"random\""));
            m.forgive();
            return None;
        }
        (Model::Trace | Model::Moves, Some(_)) => {
            m.mistake("model", format!("{name} says where stations are: write the topology \"custom\""));
            m.forgive();
            return None;
        }
        _ => {}
    }
    let all = |motion| Some(vec![motion; ground.nodes.len()]);
    match (model, ground.area) {
        (Model::Static, Some(area)) => all(Motion::Uniform(area)),
        (Model::Waypoint, Some(area)) => all(Motion::Waypoint(read_waypoint(m, area)?)),
        (Model::GaussMarkov, Some(area)) => all(Motion::GaussMarkov(read_gauss_markov(m, area))),
        (Model::Trace, _) => {
            let tracks = read_trace(m)?;
            standing(m, ground, tracks)
        }
        (Model::Moves, _) => {
            let tracks = read_moves(m, ground)?;
            standing(m, ground, tracks)
        }
        _ => standing(m, ground, BTreeMap::new()),
    }
}

/// Stations with their tracks; those without one stand at their places.
fn standing(m: &Table, ground: &mut Ground, mut tracks: BTreeMap<usize, Track>) -> Option<Vec<Motion>> {
    let highest = tracks.last_key_value().map(|(node, _)| *node);
    if ground.nodes.is_empty() {
        ground.nodes = numbered(highest.map_or(0, |node| node + 1));
    }
    if let Some(node) = highest.filter(|node| *node >= ground.nodes.len()) {
        m.mistakes()
            .add(m.path(), format!("moves node {node}, but there are {} nodes, counted from 0", ground.nodes.len()));
        return None;
    }
    let motion = |node: usize| match (tracks.remove(&node), ground.places.get(node)) {
        (Some(track), _) => Some(Motion::Along(track)),
        (None, Some(place)) => Some(Motion::Standing(*place)),
        (None, None) => {
            let name = &ground.nodes[node];
            m.mistakes().add("network.places", format!("missing; nothing says where \"{name}\" is, write e.g. places = [[\"0 m\", \"0 m\"], [\"250 m\", \"0 m\"]]"));
            None
        }
    };
    if ground.nodes.len() < 2 {
        m.mistakes().add(
            "network.places",
            "missing; write at least two, e.g. places = [[\"0 m\", \"0 m\"], [\"250 m\", \"0 m\"]]",
        );
        return None;
    }
    (0..ground.nodes.len()).map(motion).collect()
}

fn read_waypoint(m: &mut Table, area: Area) -> Option<Waypoint> {
    let speed = m.required("speed", &Range(POSITIVE_SPEED), "[\"1 m/s\", \"20 m/s\"]");
    let pause = m.or("pause", &TIME, Duration::ZERO);
    let steady = m.or("start", &STARTS, true);
    Some(Waypoint { area, speed: speed?, pause, steady })
}

/// Speeds and deviations as Camp, Boleng and Davies (2002) have them.
fn read_gauss_markov(m: &mut Table, area: Area) -> GaussMarkov {
    let margin = area.x.min(area.y) / 10.0;
    GaussMarkov {
        area,
        speed: m.or("speed", &SPEED, 10.0),
        memory: m.or("memory", &Number { min: 0.0, max: 1.0 }, 0.75),
        speed_deviation: m.or("speed_deviation", &SPEED, 1.0),
        direction_deviation: m.or("direction_deviation", &Number { min: 0.0, max: 10.0 }, 1.0),
        step: m.or("step", &STEP, Duration::from_secs(1)),
        margin: m.or("margin", &DISTANCE.up_to(area.x.min(area.y) / 2.0), margin),
    }
}
const STEP: Times = Times { min: Duration::from_millis(1) };

/// What an ns-2 file says, by the number of its node.
fn read_trace(m: &mut Table) -> Option<BTreeMap<usize, Track>> {
    if let Some(file) = m.raw("file") {
        m.mistake(
            "file",
            format!(
                "{} was not read: a scenario that is no file of its own has no folder; give what it says as text",
                show(file)
            ),
        );
        m.raw("text");
        return None;
    }
    m.require("text", "give the movements, or the file that has them, e.g. file = \"moves.tcl\"");
    let json = m.raw("text")?;
    let Some(text) = json.as_str() else {
        m.mistake("text", format!("{} is not text", show(json)));
        return None;
    };
    m.put("text", json.clone());
    match trace::parse(text) {
        Ok(tracks) if tracks.is_empty() => m.mistake("text", "moves no node"),
        Ok(tracks) => return Some(tracks),
        Err(error) => m.mistake("text", error.to_string()),
    }
    None
}

/// Single moves: which node, when, whereto, how fast; a jump without a speed.
fn read_moves(m: &mut Table, ground: &Ground) -> Option<BTreeMap<usize, Track>> {
    m.require("moves", "write at least one, e.g. moves = [{ node = \"n1\", at = \"10 s\", to = [\"0 m\", \"900 m\"], speed = \"20 m/s\" }]");
    let mut moves: Vec<(usize, Time, Command)> = Vec::new();
    let mut normal = Vec::new();
    for mut one in m.tables("moves")? {
        let node = one.required("node", &Node(&ground.nodes), "\"n1\"");
        let at = one.required("at", &TIME, "\"10 s\"");
        let to = one.required("to", &At, "[\"0 m\", \"900 m\"]");
        let speed = one.optional("speed", &POSITIVE_SPEED);
        if let (Some(node), Some(at), Some(to)) = (node, at, to) {
            moves.push((node, Time::ZERO + at, speed.map_or(Command::Jump(to), |speed| Command::To(to, speed))));
        }
        normal.push(one.finish());
    }
    m.put("moves", normal.into());
    moves.sort_by_key(|(_, at, _)| *at);
    let mut tracks = BTreeMap::new();
    for (node, at, command) in moves {
        let start = ground.places.get(node).copied().unwrap_or_default();
        tracks.entry(node).or_insert_with(|| Track::standing(start)).order(at, command);
    }
    m.mistakes().sound(m.path()).then_some(tracks)
}

/// One quantity, or the smallest and the largest.
struct Range(Reals);
impl Kind for Range {
    type Value = (f64, f64);
    fn read(&self, json: &Json) -> Result<(f64, f64), String> {
        match json.as_array().map(Vec::as_slice) {
            None => self.0.read(json).map(|one| (one, one)),
            Some([least, most]) => {
                let (least, most) = (self.0.read(least)?, self.0.read(most)?);
                if least <= most { Ok((least, most)) } else { Err(format!("{} is not in rising order", show(json))) }
            }
            Some(_) => Err(format!("{} is not the smallest and the largest", show(json))),
        }
    }
    fn write(&self, (least, most): &(f64, f64)) -> Json {
        if least == most { self.0.write(least) } else { json!([self.0.write(least), self.0.write(most)]) }
    }
}
