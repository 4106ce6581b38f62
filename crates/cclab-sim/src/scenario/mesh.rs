//! Nodes and links, flows from node to node: `chain`, `cross` and `custom`.

use super::flow::FlowSpec;
use super::link::{Followed, LinkSpec, Surroundings, required_rate};
use super::network::{DIRECTIONS, Ends, Graph, Node, Path};
use super::quantity::{Flag, Integer, Name, POSITIVE_TIME, TIME, Words};
use super::reader::{Kind, Mistakes, Table, show};
use cclab_algo::Duration;
use serde_json::{Value as Json, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Links in a row.
pub(super) const HOPS: Integer = Integer { min: 1, max: 100 };
pub(super) const MAX_NODES: usize = 10_000;
pub(super) const PATHS: Words<bool> = Words(&[("horizontal", false), ("vertical", true)]);

/// Nodes and one-way links as written.
pub(super) struct Mesh {
    shape: Shape,
    nodes: Vec<String>,
    wires: Vec<Wire>,
    /// The round-trip time of a BDP; `None` is that of the first flow.
    pub(super) rtt: Option<Duration>,
}

/// What decides how a flow says where it is.
#[derive(PartialEq)]
enum Shape {
    /// From end to end unless it says otherwise.
    Chain,
    /// Horizontal or vertical, through this many links.
    Cross { hops: usize },
    /// It says.
    Custom,
}

/// A one-way link.
struct Wire {
    from: usize,
    to: usize,
    delay: Duration,
    spec: LinkSpec,
}

impl Mesh {
    /// `hops` equal links in a row: nodes `n0`, `n1` …
    pub(super) fn chain(t: &mut Table) -> Option<Mesh> {
        let hops = t.required("hops", &HOPS, "4");
        let mut mesh =
            Mesh { shape: Shape::Chain, nodes: numbered(hops.unwrap_or(1) as usize + 1), wires: Vec::new(), rtt: None };
        let (forward, reverse) = mesh.read_row(t, hops)?;
        let row: Vec<usize> = (0..mesh.nodes.len()).collect();
        mesh.join(&row, &forward, &reverse);
        Some(mesh)
    }

    /// Two chains of `hops` links that share their middle node: `h0` … `middle` … and `v0` … `middle` …
    pub(super) fn cross(t: &mut Table) -> Option<Mesh> {
        let hops = read_even(t);
        let middle = hops.unwrap_or(2) as usize / 2;
        let nodes = cross_names(2 * middle);
        let mut mesh = Mesh { shape: Shape::Cross { hops: 2 * middle }, nodes, wires: Vec::new(), rtt: None };
        let (forward, reverse) = mesh.read_row(t, hops)?;
        for vertical in [false, true] {
            mesh.join(&arm(vertical, 2 * middle), &forward, &reverse);
        }
        Some(mesh)
    }

    /// Reads the link of which a row is made, its delay given for one link or as the round trip of the row.
    fn read_row(&mut self, t: &mut Table, hops: Option<u64>) -> Option<(LinkSpec, LinkSpec)> {
        let followed = Followed::read(t, Followed::Nothing);
        let rate = followed.rate(t, required_rate);
        if followed.says_delay().is_some() {
            t.refuse("rtt", "does not apply: a trace says the delay");
        }
        let delay = followed.delay(t, |t| {
            let (rtt, delay) = (t.peek("rtt", &POSITIVE_TIME), t.peek("delay", &TIME));
            match (t.raw("rtt").is_some(), t.raw("delay").is_some()) {
                (true, true) => t.mistake("rtt", format!("{} is given too; write one of them", t.field("delay"))),
                (false, false) => {
                    t.require("delay", "write that of one link, e.g. \"10 ms\", or rtt for there and back");
                }
                _ => {}
            }
            let delay = delay.or(rtt.zip(hops).map(|(rtt, hops)| rtt / (2 * hops)));
            if let Some(delay) = delay {
                t.put("delay", TIME.write(&delay));
            }
            delay
        });
        let forward = LinkSpec::read(t, followed, rate, delay);
        let reverse = forward.read_reverse(t);
        self.rtt = Some((forward.delay? + reverse.delay?) * hops?);
        Some((forward, reverse))
    }

    /// Links between neighbours, there and back.
    fn join(&mut self, row: &[usize], forward: &LinkSpec, reverse: &LinkSpec) {
        for pair in row.windows(2) {
            for (from, to, spec) in [(pair[0], pair[1], forward), (pair[1], pair[0], reverse)] {
                let delay = spec.delay.unwrap_or_default();
                self.wires.push(Wire { from, to, delay, spec: spec.clone() });
            }
        }
    }

    /// `nodes` by name and `links` between them.
    pub(super) fn custom(t: &mut Table) -> Option<Mesh> {
        let nodes = t.required("nodes", &Names, "[\"a\", \"b\"]");
        if t.raw("places").is_some() {
            let place = t.field("wireless");
            t.mistake("places", format!("is for stations that share the air: write {place} too"));
        }
        t.require("links", "write at least one, e.g. [[network.links]] with from, to, rate and delay");
        let mut mesh = Mesh { shape: Shape::Custom, nodes: nodes.unwrap_or_default(), wires: Vec::new(), rtt: None };
        let mut pairs = BTreeMap::new();
        let mut normal = Vec::new();
        for mut l in t.tables("links").unwrap_or_default() {
            mesh.read_link(&mut l, &mut pairs);
            normal.push(l.finish());
        }
        t.put("links", normal.into());
        (!mesh.nodes.is_empty() && t.sound(&["nodes", "links"])).then_some(mesh)
    }

    /// One entry of `links`: a link in both directions, or in one.
    fn read_link(&mut self, l: &mut Table, pairs: &mut BTreeMap<(usize, usize), String>) {
        let ends = self.read_pair(l);
        let followed = Followed::read(l, Followed::Nothing);
        let rate = followed.rate(l, required_rate);
        let delay = followed.delay(l, |l| l.required("delay", &TIME, "\"10 ms\""));
        let duplex = l.or("duplex", &Flag, true);
        let forward = LinkSpec::read(l, followed, rate, delay);
        let mut specs = vec![forward];
        if duplex {
            specs.push(specs[0].read_reverse(l));
        } else {
            if l.raw("reverse").is_some() {
                l.mistake("reverse", format!("{} is false, so there is no reverse direction", l.field("duplex")));
            }
            if specs[0].tunnel.as_ref().is_some_and(|tunnel| tunnel.over_tcp().is_some()) {
                l.mistake("tunnel", format!("a connection needs both directions, but {} is false", l.field("duplex")));
            }
        }
        let Some((a, b)) = ends else { return };
        for (spec, (from, to)) in specs.into_iter().zip([(a, b), (b, a)]) {
            if let Some(other) = pairs.insert((from, to), l.path().into()) {
                let (from, to) = (&self.nodes[from], &self.nodes[to]);
                l.mistakes().add(l.path(), format!("{other} already leads from \"{from}\" to \"{to}\""));
            }
            self.wires.push(Wire { from, to, delay: spec.delay.unwrap_or_default(), spec });
        }
    }

    /// `from` and `to`, two different nodes. In a chain they are its ends unless written.
    fn read_pair(&self, t: &mut Table) -> Option<(usize, usize)> {
        let node = Node(&self.nodes);
        let (from, to) = match self.shape {
            Shape::Chain => (Some(t.or("from", &node, 0)), Some(t.or("to", &node, self.nodes.len() - 1))),
            // Where the nodes are not known, neither are the names of them.
            _ if self.nodes.is_empty() => (t.raw("from").and(None), t.raw("to").and(None)),
            _ => (t.required("from", &node, "\"a\""), t.required("to", &node, "\"b\"")),
        };
        let (from, to) = (from?, to?);
        if from == to && t.sound(&["from", "to"]) {
            t.mistake("to", format!("is the same node as {}", t.field("from")));
        }
        (from != to).then_some((from, to))
    }

    /// Reads where a flow begins and ends and which way it goes; its base RTT follows.
    pub(super) fn read_ends(&self, t: &mut Table) -> Option<(Ends, Duration)> {
        if t.raw("rtt").is_some() {
            t.mistake("rtt", "does not apply: in this topology the delays of the links make up the base RTT");
        }
        let path = match self.shape {
            Shape::Cross { hops } => {
                let vertical = t.or("path", &PATHS, false);
                let mut nodes = arm(vertical, hops);
                if t.or("direction", &DIRECTIONS, false) {
                    nodes.reverse();
                }
                self.along(&nodes).ok()?
            }
            Shape::Chain => {
                let (from, to) = self.read_pair(t)?;
                self.between(t, from, to)?
            }
            Shape::Custom => {
                let route = t.optional("route", &Route(&self.nodes));
                let (from, to) = self.read_pair(t)?;
                match route {
                    Some(route) => self.read_route(t, &route, from, to)?,
                    None => self.between(t, from, to)?,
                }
            }
        };
        let delay = |links: &[usize]| links.iter().map(|l| self.wires[*l].delay).fold(Duration::ZERO, |a, b| a + b);
        let rtt = delay(&path.route) + delay(&path.route_back);
        Some((Ends::Path(path), rtt))
    }

    /// The path along a route as written, from `from` to `to`.
    fn read_route(&self, t: &Table, route: &[usize], from: usize, to: usize) -> Option<Path> {
        if (route[0], route[route.len() - 1]) != (from, to) {
            let (from, to) = (&self.nodes[from], &self.nodes[to]);
            t.mistake("route", format!("does not lead from \"{from}\" to \"{to}\""));
            return None;
        }
        let note = |(a, b): (usize, usize)| {
            t.mistake("route", format!("there is no link from \"{}\" to \"{}\"", self.nodes[a], self.nodes[b]));
        };
        self.along(route).map_err(note).ok()
    }

    /// The path along these nodes and back the same way; the two nodes between which a link is missing.
    /// Where only the way back has a gap, it is the shortest one.
    fn along(&self, nodes: &[usize]) -> Result<Path, (usize, usize)> {
        let (from, to) = (nodes[0], nodes[nodes.len() - 1]);
        let links = |pairs: &mut dyn Iterator<Item = (usize, usize)>| -> Result<Vec<usize>, (usize, usize)> {
            pairs.map(|(a, b)| self.wires.iter().position(|w| (w.from, w.to) == (a, b)).ok_or((a, b))).collect()
        };
        let route = links(&mut nodes.windows(2).map(|w| (w[0], w[1])))?;
        let back = links(&mut nodes.windows(2).rev().map(|w| (w[1], w[0])));
        let route_back = match back {
            Ok(back) => back,
            Err(gap) => self.shortest(to, from).ok_or(gap)?,
        };
        Ok(Path { from, to, route, route_back })
    }

    /// The shortest path from one node to another and the shortest one back.
    fn between(&self, t: &Table, from: usize, to: usize) -> Option<Path> {
        let leg = |a: usize, b: usize| {
            let found = self.shortest(a, b);
            if found.is_none() {
                t.mistake("to", format!("no links lead from \"{}\" to \"{}\"", self.nodes[a], self.nodes[b]));
            }
            found
        };
        Some(Path { from, to, route: leg(from, to)?, route_back: leg(to, from)? })
    }

    /// The links of the path with the least delay, then the fewest links, then through the lowest numbers
    /// (Dijkstra 1959).
    fn shortest(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut leaving = vec![Vec::new(); self.nodes.len()];
        for (k, w) in self.wires.iter().enumerate() {
            leaving[w.from].push(k);
        }
        let mut best = vec![(u64::MAX, usize::MAX); self.nodes.len()];
        let mut arrived_by = vec![None; self.nodes.len()];
        let mut heap = BinaryHeap::from([Reverse(((0, 0), from))]);
        best[from] = (0, 0);
        while let Some(Reverse((cost, node))) = heap.pop() {
            if cost > best[node] {
                continue;
            }
            for k in &leaving[node] {
                let w = &self.wires[*k];
                let next = (cost.0.saturating_add(w.delay.0), cost.1 + 1);
                if next < best[w.to] {
                    best[w.to] = next;
                    arrived_by[w.to] = Some(*k);
                    heap.push(Reverse((next, w.to)));
                }
            }
        }
        let mut route = Vec::new();
        let mut node = to;
        while node != from {
            let link = arrived_by[node]?;
            route.push(link);
            node = self.wires[link].from;
        }
        route.reverse();
        Some(route)
    }

    /// Notes labels that no flow has.
    pub(super) fn check(&self, flow: &dyn Fn(&str) -> Option<usize>, mistakes: &Mistakes) {
        self.wires.iter().for_each(|w| w.spec.check_labels(flow, mistakes));
    }

    /// The graph.
    pub(super) fn build(&self, flows: &[&FlowSpec], around: &Surroundings) -> Graph {
        let mut graph = Graph { nodes: self.nodes.clone(), ..Graph::default() };
        let mut over = vec![Vec::new(); self.wires.len()]; // the flows that cross each link
        for f in flows {
            let Ends::Path(path) = &f.ends else { continue };
            path.route.iter().chain(&path.route_back).for_each(|link| over[*link].push(*f));
        }
        for (w, over) in self.wires.iter().zip(over) {
            graph.link(None, &w.spec, w.from, w.to, w.delay, &around.of(over.into_iter()));
        }
        graph.paths = flows
            .iter()
            .filter_map(|f| match &f.ends {
                Ends::Path(path) => Some(path.clone()),
                Ends::Routers(..) | Ends::Wifi { .. } | Ends::Stations(..) => None,
            })
            .collect();
        graph
    }
}

/// Nodes `n0`, `n1` …
pub(super) fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|k| format!("n{k}")).collect()
}

/// Reads the hops of a cross from end to end, an even number.
pub(super) fn read_even(t: &mut Table) -> Option<u64> {
    let hops = t.required("hops", &HOPS, "4")?;
    if hops % 2 == 1 {
        t.mistake("hops", format!("{hops} is odd: the chains cross in their middle node, so write an even number"));
        return None;
    }
    Some(hops)
}

/// The nodes of a cross: the horizontal chain with the middle, then what the vertical one has beside it.
pub(super) fn cross_names(hops: usize) -> Vec<String> {
    let name = |arm| move |k| if k == hops / 2 { "middle".into() } else { format!("{arm}{k}") };
    (0..=hops).map(name('h')).chain((0..=hops).filter(|k| *k != hops / 2).map(name('v'))).collect()
}

/// The nodes of one chain of a cross, in order.
pub(super) fn arm(vertical: bool, hops: usize) -> Vec<usize> {
    let vertical_node = |k: usize| match k.cmp(&(hops / 2)) {
        std::cmp::Ordering::Less => hops + 1 + k,
        std::cmp::Ordering::Equal => k,
        std::cmp::Ordering::Greater => hops + k,
    };
    (0..=hops).map(|k| if vertical { vertical_node(k) } else { k }).collect()
}

/// Names of nodes, all different.
pub(super) struct Names;
impl Kind for Names {
    type Value = Vec<String>;
    fn read(&self, json: &Json) -> Result<Vec<String>, String> {
        let list = json.as_array().filter(|l| (2..=MAX_NODES).contains(&l.len()));
        let list = list.ok_or_else(|| format!("{} is not a list of 2 to {MAX_NODES} names", show(json)))?;
        let names = list.iter().map(|n| Name.read(n)).collect::<Result<Vec<String>, String>>()?;
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort();
        match sorted.windows(2).find(|w| w[0] == w[1]) {
            Some(twice) => Err(format!("\"{}\" is there twice", twice[0])),
            None => Ok(names),
        }
    }
    fn write(&self, value: &Vec<String>) -> Json {
        json!(value)
    }
}

/// Nodes from a source to a destination, none of them twice.
struct Route<'n>(&'n [String]);
impl Kind for Route<'_> {
    type Value = Vec<usize>;
    fn read(&self, json: &Json) -> Result<Vec<usize>, String> {
        let list = json.as_array().filter(|l| l.len() >= 2);
        let list =
            list.ok_or_else(|| format!("{} is not a list of nodes, source and destination included", show(json)))?;
        let nodes = list.iter().map(|n| Node(self.0).read(n)).collect::<Result<Vec<usize>, String>>()?;
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|w| w[0] == w[1]) {
            Some(twice) => Err(format!("passes \"{}\" twice", self.0[twice[0]])),
            None => Ok(nodes),
        }
    }
    fn write(&self, value: &Vec<usize>) -> Json {
        value.iter().map(|n| Node(self.0).write(n)).collect()
    }
}
