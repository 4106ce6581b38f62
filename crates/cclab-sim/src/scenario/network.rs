//! `[network]`: every topology becomes one graph of nodes and one-way links.
//!
//! Three families. In `dumbbell` and `parking-lot` every flow has [`Hosts`] of its own at the routers, and its
//! access links make up its base RTT. A `chain`, a `cross` and a `custom` network are a [`Mesh`]: flows begin
//! and end at its nodes, and their base RTT is what the delays of its links add up to.
//! Where there is `[network.wireless]`, stations share the air: a medium in the place of links.

use super::flow::FlowSpec;
use super::hosts::Hosts;
use super::link::{LinkSpec, Surroundings};
use super::mesh::Mesh;
use super::quantity::Words;
use super::reader::{Kind, Mistakes, Table, alternatives, show};
use super::tunnel::{OverTcp, TunnelSpec};
use super::wireless::{self, Wireless};
use super::{Crossing, Limit, Link, Medium};
use cclab_algo::{Duration, Rate};
use serde_json::{Value as Json, json};

/// The network as written.
pub(super) enum Network {
    /// Routers in a row, hosts of each flow's own.
    Hosts(Box<Hosts>),
    /// Nodes and links.
    Mesh(Mesh),
    /// Stations that share the air.
    Wireless(Box<Wireless>),
}

/// Names of the topologies.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Topology {
    Dumbbell,
    ParkingLot,
    Chain,
    Cross,
    Custom,
    Grid,
    Random,
}
const TOPOLOGIES: Words<Topology> = Words(&[
    ("dumbbell", Topology::Dumbbell),
    ("chain", Topology::Chain),
    ("parking-lot", Topology::ParkingLot),
    ("cross", Topology::Cross),
    ("custom", Topology::Custom),
    ("grid", Topology::Grid),
    ("random", Topology::Random),
]);
/// Whether the data flow from right to left.
pub(super) const DIRECTIONS: Words<bool> = Words(&[("forward", false), ("reverse", true)]);
/// The same, or both ways.
pub(super) const BOTH_DIRECTIONS: Words<Option<bool>> =
    Words(&[("forward", Some(false)), ("reverse", Some(true)), ("both", None)]);

/// Where a flow begins and ends.
#[derive(Clone, Debug)]
pub(super) enum Ends {
    /// At hosts of its own, attached to these routers.
    Routers(usize, usize),
    /// At nodes of a mesh, on this path.
    Path(Path),
    /// At a host of its own on the left, and at this station of the access point, or the next one; from there if it goes `up`.
    Wifi { station: Option<usize>, up: bool },
    /// At these stations of a medium; `None` is drawn.
    Stations(Option<usize>, Option<usize>),
}

/// Nodes, links, and the path of each flow.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<String>,
    pub(super) links: Vec<Link>,
    /// Links that are tunnels over TCP, each beside its reverse one, with the room at their mouths.
    pub(super) tunnels: Vec<(usize, OverTcp, Limit)>,
    pub(super) media: Vec<Medium>,
    pub(super) crossings: Vec<Crossing>,
    pub(super) paths: Vec<Path>,
}

/// The way of one flow: end nodes, links there and links back; numbers behind those of the links are crossings of media.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) route: Vec<usize>,
    pub(super) route_back: Vec<usize>,
}

impl Network {
    /// Reads `[network]`; `None` after a mistake that leaves the shape open.
    pub(super) fn read(t: &mut Table) -> Option<Network> {
        let topology = t.or("topology", &TOPOLOGIES, Topology::Dumbbell);
        if !t.mistakes().sound(t.path()) {
            t.forgive();
            return None;
        }
        if matches!(topology, Topology::Dumbbell | Topology::ParkingLot) {
            t.refuse(
                "wireless",
                "does not apply to this topology; stations that share the air form one of chain, cross, grid, random, custom",
            );
        }
        match topology {
            Topology::Dumbbell => Some(Network::Hosts(Box::new(Hosts::dumbbell(t)))),
            Topology::ParkingLot => Hosts::parking_lot(t).map(|h| Network::Hosts(Box::new(h))),
            Topology::Grid | Topology::Random => Wireless::read(t, topology).map(|w| Network::Wireless(Box::new(w))),
            _ if t.raw("wireless").is_some() => Wireless::read(t, topology).map(|w| Network::Wireless(Box::new(w))),
            Topology::Chain => Mesh::chain(t).map(Network::Mesh),
            Topology::Cross => Mesh::cross(t).map(Network::Mesh),
            Topology::Custom => Mesh::custom(t).map(Network::Mesh),
        }
    }

    /// Reads where a flow begins and ends, and its base RTT.
    pub(super) fn read_ends(&self, t: &mut Table) -> Option<(Ends, Duration)> {
        match self {
            Network::Hosts(h) => h.read_ends(t),
            Network::Mesh(m) => m.read_ends(t),
            Network::Wireless(w) => w.read_ends(t),
        }
    }

    /// Where the network is not known, neither is where a flow may be: takes every such field unseen.
    pub(super) fn skip_ends(t: &mut Table) -> Option<(Ends, Duration)> {
        for name in ["rtt", "direction", "from", "to", "route", "path", "station"] {
            t.raw(name);
        }
        None
    }

    /// Checks what needs the flows: their base RTTs, and the labels that losses name.
    pub(super) fn check(&self, flows: &[&FlowSpec], flow: &dyn Fn(&str) -> Option<usize>, mistakes: &Mistakes) {
        match self {
            Network::Hosts(h) => h.check(flows, flow, mistakes),
            Network::Mesh(m) => m.check(flow, mistakes),
            Network::Wireless(_) => {}
        }
    }

    /// Completes the normal form of `[network]` with what follows from the flows.
    pub(super) fn fill_in(&self, flows: &[&FlowSpec], normal: &mut Json) {
        if let Network::Hosts(h) = self {
            h.fill_in(flows, normal);
        }
    }

    /// The graph, with every queue resolved. `flow` finds a flow by its label.
    pub(super) fn build(&self, flows: &[&FlowSpec], flow: &dyn Fn(&str) -> Option<usize>, seed: u64) -> Graph {
        let around = Surroundings {
            rtt: self.bdp_rtt().or(flows.first().map(|f| f.rtt)).unwrap_or_default(),
            packet: flows.iter().map(|f| f.packet_size()).max().unwrap_or(1500),
            flow,
            seed,
        };
        match self {
            Network::Hosts(h) => h.build(flows, &around),
            Network::Mesh(m) => m.build(flows, &around),
            Network::Wireless(w) => w.build(flows, &around),
        }
    }

    /// The round-trip time of a BDP, where the network has one of its own; else it is the first flow's.
    fn bdp_rtt(&self) -> Option<Duration> {
        match self {
            Network::Hosts(h) => h.rtt,
            Network::Mesh(m) => m.rtt,
            Network::Wireless(_) => None,
        }
    }

    /// How far the starts of equal flows are to be apart, of this base RTT.
    pub(super) fn spread(&self, rtt: Duration) -> Duration {
        if let Network::Wireless(_) = self { wireless::SPREAD } else { rtt }
    }
}

/// A node, by name or by number.
pub(super) struct Node<'n>(pub(super) &'n [String]);
impl Kind for Node<'_> {
    type Value = usize;
    fn read(&self, json: &Json) -> Result<usize, String> {
        let found = match json {
            Json::String(name) => self.0.iter().position(|n| n == name),
            _ => json.as_u64().and_then(|k| usize::try_from(k).ok()).filter(|k| *k < self.0.len()),
        };
        let names = || match json {
            // A long list would not help.
            _ if self.0.len() > 20 => format!("; allowed: {} to {}", self.0[0], self.0[self.0.len() - 1]),
            Json::String(name) => alternatives(name, self.0.iter().map(String::as_str)),
            _ => alternatives("", self.0.iter().map(String::as_str)),
        };
        found.ok_or_else(|| format!("unknown node {}{}", show(json), names()))
    }
    fn write(&self, value: &usize) -> Json {
        json!(self.0[*value])
    }
}

impl Graph {
    /// The rate of the slowest of these links; `None` when all are infinitely fast.
    pub(super) fn slowest(&self, links: &[usize]) -> Option<Rate> {
        links.iter().filter_map(|l| self.links.get(*l)?.rate).min()
    }
    /// Adds a node; its number.
    pub(super) fn node(&mut self, name: String) -> usize {
        self.nodes.push(name);
        self.nodes.len() - 1
    }
    /// Adds a link, called `from->to` unless it has a name; its number.
    pub(super) fn link(
        &mut self,
        name: Option<&str>,
        spec: &LinkSpec,
        from: usize,
        to: usize,
        delay: Duration,
        around: &Surroundings,
    ) -> usize {
        let name = name.map_or_else(|| format!("{}->{}", self.nodes[from], self.nodes[to]), Into::into);
        if let Some(tunnel) = spec.tunnel.as_ref().and_then(TunnelSpec::over_tcp) {
            self.tunnels.push((self.links.len(), tunnel.clone(), tunnel.limit(spec.rate, around)));
        }
        self.links.push(spec.build(name, from, to, delay, around));
        self.links.len() - 1
    }
}
