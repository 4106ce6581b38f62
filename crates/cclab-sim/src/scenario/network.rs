//! `[network]`: every topology becomes one graph of nodes and one-way links.
//!
//! Two families. In `dumbbell` and `parking-lot` every flow has hosts of its own at the routers, and its
//! access links make up its round-trip time. In `chain`, `cross` and `custom` flows begin and end at nodes.

use super::flow::FlowSpec;
use super::link::{LinkSpec, RATE, Surroundings};
use super::model::Link;
use super::quantity::{POSITIVE_TIME, TIME, Words};
use super::reader::{Kind, Mistakes, Table};
use cclab_algo::{Duration, Rate};

/// The network as written.
pub(super) enum Network {
    /// Routers in a row, hosts of each flow's own.
    Hosts(Hosts),
}

/// Names of the topologies.
#[derive(Clone, Copy, PartialEq)]
enum Topology {
    Dumbbell,
}
const TOPOLOGIES: Words<Topology> = Words(&[("dumbbell", Topology::Dumbbell)]);
const DIRECTIONS: Words<bool> = Words(&[("forward", false), ("reverse", true)]);

/// Where a flow begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ends {
    /// At hosts of its own, attached to these routers.
    Routers(usize, usize),
}

/// Nodes, links, and the links of each flow there and back.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<String>,
    pub(super) links: Vec<Link>,
    pub(super) paths: Vec<Path>,
}

/// The way of one flow.
pub(super) struct Path {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) route: Vec<usize>,
    pub(super) route_back: Vec<usize>,
}

impl Network {
    /// Reads `[network]`; `None` after a mistake that leaves the shape open.
    pub(super) fn read(t: &mut Table) -> Option<Network> {
        match t.or("topology", &TOPOLOGIES, Topology::Dumbbell) {
            Topology::Dumbbell => Hosts::read(t, vec!["left".into(), "right".into()]).map(Network::Hosts),
        }
    }

    /// Reads where a flow begins and ends, and its base RTT.
    pub(super) fn read_ends(&self, t: &mut Table) -> Option<(Ends, Duration)> {
        match self {
            Network::Hosts(h) => h.read_ends(t),
        }
    }

    /// Where the network is not known, neither is where a flow may be: takes every field for it unseen.
    pub(super) fn skip_ends(t: &mut Table) -> Option<(Ends, Duration)> {
        for name in ["rtt", "direction", "from", "to", "route", "path"] {
            t.raw(name);
        }
        None
    }

    /// The graph, with every queue limit resolved. `flow` finds a flow by its label.
    pub(super) fn build(&self, flows: &[&FlowSpec], flow: &dyn Fn(&str) -> Option<usize>) -> Graph {
        match self {
            Network::Hosts(h) => h.build(flows, flow),
        }
    }

    /// Checks what needs the flows: their round-trip times, and the labels that losses name.
    pub(super) fn check(&self, flows: &[&FlowSpec], flow: &dyn Fn(&str) -> Option<usize>, mistakes: &Mistakes) {
        match self {
            Network::Hosts(h) => {
                h.forward.check_labels(flow, mistakes);
                h.reverse.check_labels(flow, mistakes);
                h.check_rtts(flows, mistakes);
            }
        }
    }
}

/// Routers in a row with equal links between neighbours, and hosts at them.
pub(super) struct Hosts {
    routers: Vec<String>,
    forward: LinkSpec,
    reverse: LinkSpec,
    access: LinkSpec,
    access_delay: Duration,
    rtt: Option<Duration>,
}

impl Hosts {
    fn read(t: &mut Table, routers: Vec<String>) -> Option<Hosts> {
        let rate = t.required("rate", &RATE, "\"100 Mbit/s\"");
        let rtt = t.optional("rtt", &POSITIVE_TIME);
        let delay = t.optional("delay", &TIME);
        let forward = LinkSpec::read(t, rate.flatten(), delay);
        let reverse = forward.read_reverse(t);
        let mut a = t.table_or_empty("access");
        let mut access = LinkSpec::ideal();
        access.rate = a.or("rate", &RATE, None);
        let access_delay = a.or("delay", &TIME, Duration::ZERO);
        access.read_queue(&mut a);
        t.put("access", a.finish());
        rate?;
        Some(Hosts { routers, forward, reverse, access, access_delay, rtt })
    }

    fn read_ends(&self, t: &mut Table) -> Option<(Ends, Duration)> {
        if self.rtt.is_none() && t.raw("rtt").is_none() {
            t.mistake("rtt", "missing; give the flow its base RTT, e.g. \"40 ms\", or all of them by network.rtt");
        }
        let rtt = t.peek("rtt", &POSITIVE_TIME).or(self.rtt);
        if let Some(rtt) = rtt {
            t.put("rtt", POSITIVE_TIME.write(&rtt));
        }
        let last = self.routers.len() - 1;
        let reverse = t.or("direction", &DIRECTIONS, false);
        let ends = if reverse { Ends::Routers(last, 0) } else { Ends::Routers(0, last) };
        Some((ends, rtt?))
    }

    /// How many links between routers a flow crosses.
    fn hops(flow: &FlowSpec) -> u64 {
        let Ends::Routers(from, to) = flow.ends;
        from.abs_diff(to) as u64
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

    /// What is left of a flow's base RTT for its access links; `None` when it is too short.
    fn rest(&self, flow: &FlowSpec, delays: (Duration, Duration)) -> Option<Duration> {
        let path = (delays.0 + delays.1) * Self::hops(flow) + self.access_delay * 4;
        (flow.rtt >= path).then(|| flow.rtt.saturating_sub(path))
    }

    fn check_rtts(&self, flows: &[&FlowSpec], mistakes: &Mistakes) {
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

    fn build(&self, flows: &[&FlowSpec], flow: &dyn Fn(&str) -> Option<usize>) -> Graph {
        let delays = self.delays(flows);
        let around = Surroundings {
            rtt: self.rtt.or(flows.first().map(|f| f.rtt)).unwrap_or_default(),
            packet: flows.iter().map(|f| f.packet_size()).max().unwrap_or(1500),
            flow,
        };
        let mut graph = Graph { nodes: self.routers.clone(), ..Graph::default() };
        for left in 0..self.routers.len() - 1 {
            let dumbbell = |name: &str| (self.routers.len() == 2).then(|| name.to_string());
            graph.link(dumbbell("bottleneck"), &self.forward, left, left + 1, delays.0, &around);
            graph.link(dumbbell("bottleneck-reverse"), &self.reverse, left + 1, left, delays.1, &around);
        }
        for (k, f) in flows.iter().enumerate() {
            let Ends::Routers(at, end) = f.ends;
            let rest = self.rest(f, delays).unwrap_or_default();
            let (source, sink) = (graph.node(format!("s{}", k + 1)), graph.node(format!("r{}", k + 1)));
            let mut access =
                |from, to, extra| graph.link(None, &self.access, from, to, self.access_delay + extra, &around);
            let up = access(source, at, Duration::ZERO);
            let down = access(end, sink, rest / 2);
            let up_back = access(sink, end, rest.saturating_sub(rest / 2));
            let down_back = access(at, source, Duration::ZERO);
            // Link 2k leads from router k to the next one, link 2k + 1 back.
            let between = |at: usize, end: usize| -> Vec<usize> {
                if at <= end {
                    (at..end).map(|k| 2 * k).collect()
                } else {
                    (end..at).rev().map(|k| 2 * k + 1).collect()
                }
            };
            graph.paths.push(Path {
                from: source,
                to: sink,
                route: [vec![up], between(at, end), vec![down]].concat(),
                route_back: [vec![up_back], between(end, at), vec![down_back]].concat(),
            });
        }
        graph
    }
}

impl Graph {
    /// The rate of the slowest of these links; `None` when all are infinitely fast.
    pub(super) fn slowest(&self, links: &[usize]) -> Option<Rate> {
        links.iter().filter_map(|l| self.links[*l].rate).min()
    }
    fn node(&mut self, name: String) -> usize {
        self.nodes.push(name);
        self.nodes.len() - 1
    }
    fn link(
        &mut self,
        name: Option<String>,
        spec: &LinkSpec,
        from: usize,
        to: usize,
        delay: Duration,
        around: &Surroundings,
    ) -> usize {
        let name = name.unwrap_or_else(|| format!("{}->{}", self.nodes[from], self.nodes[to]));
        self.links.push(spec.build(name, from, to, delay, around));
        self.links.len() - 1
    }
}
