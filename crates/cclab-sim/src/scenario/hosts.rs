//! Routers in a row, and hosts of each flow's own: `dumbbell` and `parking-lot`.

use super::flow::FlowSpec;
use super::link::{Followed, LinkSpec, RATE, Surroundings, required_rate};
use super::mesh::HOPS;
use super::network::{BOTH_DIRECTIONS, DIRECTIONS, Ends, Graph, Node, Path};
use super::quantity::{POSITIVE_TIME, TIME};
use super::reader::{Kind, Mistakes, Table};
use super::wifi::Wifi;
use cclab_algo::Duration;
use serde_json::Value as Json;

/// Routers in a row with equal links between neighbours, and hosts at them.
/// Numbers of routers grow from left to right, which is the forward direction.
pub(super) struct Hosts {
    routers: Vec<String>,
    forward: LinkSpec,
    reverse: LinkSpec,
    access: LinkSpec,
    access_delay: Duration,
    pub(super) rtt: Option<Duration>,
    /// The hosts on the right are stations of an access point.
    wifi: Option<Wifi>,
}

impl Hosts {
    /// Two routers, `left` and `right`.
    pub(super) fn dumbbell(t: &mut Table) -> Hosts {
        let wired = Hosts::read(t, vec!["left".into(), "right".into()]);
        Hosts { wifi: Wifi::read(t), ..wired }
    }

    /// `bottlenecks` links in a row.
    pub(super) fn parking_lot(t: &mut Table) -> Option<Hosts> {
        let bottlenecks = t.required("bottlenecks", &HOPS, "3");
        let hosts = Hosts::read(t, (0..=bottlenecks.unwrap_or(1)).map(|k| format!("router-{k}")).collect());
        bottlenecks.map(|_| hosts)
    }

    fn is_dumbbell(&self) -> bool {
        self.routers[0] == "left"
    }

    fn read(t: &mut Table, routers: Vec<String>) -> Hosts {
        let followed = Followed::read(t, Followed::Nothing);
        let rate = followed.rate(t, required_rate);
        let rtt = t.optional("rtt", &POSITIVE_TIME);
        if followed.says_delay().is_none() {
            t.put("delay", Json::Null); // its place; a delay that follows from the flows comes later
        }
        let delay = followed.delay(t, |t| t.optional("delay", &TIME));
        let forward = LinkSpec::read(t, followed, rate, delay);
        let reverse = forward.read_reverse(t);
        let mut a = t.table_or_empty("access");
        let mut access = LinkSpec::ideal();
        access.rate = a.or("rate", &RATE, None);
        let access_delay = a.or("delay", &TIME, Duration::ZERO);
        access.read_queue(&mut a);
        t.put("access", a.finish());
        Hosts { routers, forward, reverse, access, access_delay, rtt, wifi: None }
    }

    /// Reads the routers of a flow and its base RTT.
    pub(super) fn read_ends(&self, t: &mut Table) -> Option<(Ends, Duration)> {
        if self.rtt.is_none() && t.mistakes().sound("network.rtt") {
            t.require("rtt", "give the flow its base RTT, e.g. \"40 ms\", or all of them by network.rtt");
        }
        let rtt = t.peek("rtt", &POSITIVE_TIME).or(self.rtt);
        if let Some(rtt) = rtt {
            t.put("rtt", POSITIVE_TIME.write(&rtt));
        }
        if let Some(wifi) = &self.wifi {
            let up = t.or("direction", &DIRECTIONS, false);
            let station = wifi.read_station(t);
            return Some((Ends::Wifi { station, up }, rtt?));
        }
        let last = self.routers.len() - 1;
        let (from, to) = if self.is_dumbbell() {
            if t.or("direction", &DIRECTIONS, false) { (last, 0) } else { (0, last) }
        } else {
            let node = Node(&self.routers);
            (t.or("from", &node, 0), t.or("to", &node, last))
        };
        if from == to && t.sound(&["from", "to"]) {
            t.mistake("to", format!("is the same router as {}", t.field("from")));
        }
        Some((Ends::Routers(from, to), rtt?))
    }

    /// Reads the routers of an entry of the background: one pair, or both ways.
    pub(super) fn read_directions(&self, t: &mut Table) -> Option<Vec<Ends>> {
        if let Some(wifi) = &self.wifi {
            let station = wifi.read_station(t);
            let [down, up] = [false, true].map(|up| Ends::Wifi { station, up });
            return Some(match t.or("direction", &BOTH_DIRECTIONS, Some(false)) {
                Some(false) => vec![down],
                Some(true) => vec![up],
                None => vec![down, up],
            });
        }
        let node = Node(&self.routers);
        let last = self.routers.len() - 1;
        let (from, to) = match self.is_dumbbell() {
            true => (0, last),
            false => (t.or("from", &node, 0), t.or("to", &node, last)),
        };
        if from == to && t.sound(&["from", "to"]) {
            t.mistake("to", format!("is the same router as {}", t.field("from")));
        }
        let (there, back) = (Ends::Routers(from, to), Ends::Routers(to, from));
        Some(match t.or("direction", &BOTH_DIRECTIONS, Some(false)) {
            Some(false) => vec![there],
            Some(true) => vec![back],
            None => vec![there, back],
        })
    }

    /// How many links between routers a flow crosses.
    fn hops(flow: &FlowSpec) -> u64 {
        match flow.ends {
            Ends::Routers(from, to) => from.abs_diff(to) as u64,
            Ends::Wifi { .. } => 1,
            Ends::Path(_) | Ends::Stations(..) => 0,
        }
    }

    /// One-way delays of the links between routers. One that is not given is the largest that every flow's
    /// base RTT leaves room for.
    fn delays(&self, flows: &[&FlowSpec]) -> (Duration, Duration) {
        let (forward, reverse) = (self.forward.delay, self.reverse.delay);
        let derive = || {
            let share = |f: &&FlowSpec| f.rtt.saturating_sub(self.access_delay * 4) / (2 * Self::hops(f)).max(1);
            flows.iter().map(share).min().unwrap_or_default()
        };
        (forward.unwrap_or_else(derive), reverse.unwrap_or_else(derive))
    }

    /// Puts the delays that follow from the flows into the normal form.
    pub(super) fn fill_in(&self, flows: &[&FlowSpec], normal: &mut Json) {
        let delays = self.delays(flows);
        if self.forward.followed_delay().is_none() {
            normal["delay"] = TIME.write(&delays.0);
        }
        if self.reverse.followed_delay().is_none() {
            normal["reverse"]["delay"] = TIME.write(&delays.1);
        }
    }

    /// What is left of a flow's base RTT for its access links; `None` when it is too short.
    fn rest(&self, flow: &FlowSpec, delays: (Duration, Duration)) -> Option<Duration> {
        let path = (delays.0 + delays.1) * Self::hops(flow) + self.access_delay * 4;
        (flow.rtt >= path).then(|| flow.rtt.saturating_sub(path))
    }

    /// Notes labels that no flow has, and base RTTs that are too short.
    pub(super) fn check(&self, flows: &[&FlowSpec], flow: &dyn Fn(&str) -> Option<usize>, mistakes: &Mistakes) {
        self.forward.check_labels(flow, mistakes);
        self.reverse.check_labels(flow, mistakes);
        let delays = self.delays(flows);
        for f in flows {
            if self.rest(f, delays).is_none() && mistakes.sound(&f.field("rtt")) {
                let print = |d: Duration| TIME.write(&d);
                let path = (delays.0 + delays.1) * Self::hops(f) + self.access_delay * 4;
                mistakes.add(
                    f.field("rtt"),
                    format!("{} is shorter than the delays of its path there and back, {}", print(f.rtt), print(path)),
                );
            }
        }
    }

    /// The graph: routers and the links between them first, then hosts and access links, flow by flow.
    pub(super) fn build(&self, flows: &[&FlowSpec], around: &Surroundings) -> Graph {
        let delays = self.delays(flows);
        let mut graph = Graph { nodes: self.routers.clone(), ..Graph::default() };
        let name = |name| self.is_dumbbell().then_some(name);
        for left in 0..self.routers.len() - 1 {
            let over = around.of(flows.iter().copied().filter(|f| match f.ends {
                Ends::Routers(at, end) => (at.min(end)..at.max(end)).contains(&left),
                _ => true,
            }));
            graph.link(name("bottleneck"), &self.forward, left, left + 1, delays.0, &over);
            graph.link(name("bottleneck-reverse"), &self.reverse, left + 1, left, delays.1, &over);
        }
        let first = graph.nodes.len();
        graph.media.extend(self.wifi.as_ref().map(|wifi| wifi.medium(1, &mut graph.nodes, around)));
        for f in flows {
            let (rest, around) = (self.rest(f, delays).unwrap_or_default(), &around.of(std::iter::once(*f)));
            match f.ends {
                Ends::Routers(at, end) => {
                    let path = self.attach(&mut graph, at, end, rest, around);
                    graph.paths.push(path);
                }
                Ends::Wifi { station, up } => {
                    let count = self.wifi.as_ref().map_or(1, |wifi| wifi.names.len());
                    let station = station.unwrap_or(graph.paths.len() % count);
                    let path = self.attach_wireless(&mut graph, first + station, up, rest, around);
                    graph.paths.push(path);
                }
                Ends::Path(_) | Ends::Stations(..) => {}
            }
        }
        // A way through the air has the last place in a route there, and the first in one back, until all links have their numbers.
        if self.wifi.is_some() {
            let mut paths = std::mem::take(&mut graph.paths);
            for path in &mut paths {
                let up = path.from >= first && path.from < first + graph.media[0].stations.len() - 1;
                let station = if up { path.from } else { path.to } - first + 1;
                let (there, back) = (graph.crossing(0, 0, station), graph.crossing(0, station, 0));
                let (down, rising) =
                    if up { (&mut path.route_back, &mut path.route) } else { (&mut path.route, &mut path.route_back) };
                down.push(there);
                rising.insert(0, back);
            }
            graph.paths = paths;
        }
        graph
    }

    /// A wired host at the left router, for a flow to or from a station; all that is left of the base RTT is delay of its links.
    fn attach_wireless(
        &self,
        graph: &mut Graph,
        station: usize,
        up: bool,
        rest: Duration,
        around: &Surroundings,
    ) -> Path {
        let host = graph.node(format!("s{}", graph.paths.len() + 1));
        let mut access =
            |from, to, extra| graph.link(None, &self.access, from, to, self.access_delay * 2 + extra, around);
        let (there, back) = (access(host, 0, rest / 2), access(0, host, rest.saturating_sub(rest / 2)));
        let (down, rising) = ([vec![there], between(0, 1)].concat(), [between(1, 0), vec![back]].concat());
        match up {
            false => Path { from: host, to: station, route: down, route_back: rising },
            true => Path { from: station, to: host, route: rising, route_back: down },
        }
    }

    /// A source at one router and a sink at another; `rest` of the base RTT goes to the sink's links.
    fn attach(&self, graph: &mut Graph, at: usize, end: usize, rest: Duration, around: &Surroundings) -> Path {
        let number = graph.paths.len() + 1;
        let (source, sink) = (graph.node(format!("s{number}")), graph.node(format!("r{number}")));
        let mut access = |from, to, extra| graph.link(None, &self.access, from, to, self.access_delay + extra, around);
        let there = [access(source, at, Duration::ZERO), access(end, sink, rest / 2)];
        let back = [access(sink, end, rest.saturating_sub(rest / 2)), access(at, source, Duration::ZERO)];
        Path {
            from: source,
            to: sink,
            route: [vec![there[0]], between(at, end), vec![there[1]]].concat(),
            route_back: [vec![back[0]], between(end, at), vec![back[1]]].concat(),
        }
    }
}

/// The links from one router to another: link 2k leads from router k to the next, link 2k + 1 back.
fn between(at: usize, end: usize) -> Vec<usize> {
    match at <= end {
        true => (at..end).map(|k| 2 * k).collect(),
        false => (end..at).rev().map(|k| 2 * k + 1).collect(),
    }
}
