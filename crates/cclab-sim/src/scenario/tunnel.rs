//! `tunnel`: a link that carries packets inside UDP datagrams, or in the byte stream of a TCP connection between its ends.

use super::flow::FlowSpec;
use super::link::Surroundings;
use super::network::{Ends, Graph, Path};
use super::quantity::{Amounts, Words};
use super::reader::{Mistakes, Table, show};
use super::tcp::TcpSpec;
use super::{Flow, Limit, Tunnel};
use crate::net::queue::Around;
use crate::net::queue::field::Amount;
use crate::wire::{IP_HEADER, UDP_HEADER};
use cclab_algo::{Duration, Rate};
use serde_json::json;
use std::collections::BTreeMap;

/// A tunnel as written.
#[derive(Clone)]
pub(super) enum TunnelSpec {
    Udp,
    Tcp(Box<OverTcp>),
}

/// One over TCP.
#[derive(Clone)]
pub(super) struct OverTcp {
    /// The field: `network.tunnel`.
    path: String,
    tcp: TcpSpec,
    buffer: Amount,
}

/// What a tunnel over UDP adds to every packet.
pub(super) const OVER_UDP: u64 = (IP_HEADER + UDP_HEADER) as u64;
const OVER_TCP: &str = "{ over = \"tcp\", cc = \"cubic\" }";
/// Whether it is TCP.
const CARRIERS: Words<bool> = Words(&[("udp", false), ("tcp", true)]);
const BUFFER: Amounts = Amounts { time: true };
/// The transmit queue of a tun device in Linux (`TUN_READQ_SIZE`).
const DEFAULT_BUFFER: Amount = Amount::Packets(500);
const FAMILY: &str = "tunnel";

impl TunnelSpec {
    /// Reads `tunnel`; `None` where there is none, and after a mistake.
    pub(super) fn read(t: &mut Table, rate: Option<Rate>) -> Option<TunnelSpec> {
        let json = t.raw("tunnel")?;
        if json == "none" {
            return None;
        }
        if json == "udp" {
            t.put("tunnel", json!("udp"));
            return Some(TunnelSpec::Udp);
        }
        if !json.is_object() {
            t.mistake("tunnel", format!("{} is no tunnel; write \"udp\", {OVER_TCP} or \"none\"", show(json)));
            return None;
        }
        let mut tunnel = t.table("tunnel")?;
        let found = TunnelSpec::read_table(&mut tunnel, rate);
        t.put("tunnel", tunnel.finish());
        found
    }

    fn read_table(t: &mut Table, rate: Option<Rate>) -> Option<TunnelSpec> {
        if !t.required("over", &CARRIERS, "\"tcp\"")? {
            return Some(TunnelSpec::Udp);
        }
        t.refuse("tunnel", "a tunnel inside a tunnel is not simulated");
        t.refuse("size", "does not apply: the connection of a tunnel is there for the whole run");
        let buffer = t.or("buffer", &BUFFER, DEFAULT_BUFFER);
        if rate.is_none() && buffer.is_relative() {
            t.mistake("buffer", "a limit in time or BDP needs a link with a rate; this one is infinitely fast");
        }
        let tcp = TcpSpec::read_options(t)?;
        Some(TunnelSpec::Tcp(Box::new(OverTcp { path: t.path().into(), tcp, buffer })))
    }

    /// Bytes that it adds to every packet on the link.
    pub(super) fn encapsulation(&self) -> u64 {
        if let TunnelSpec::Udp = self { OVER_UDP } else { 0 }
    }

    pub(super) fn over_tcp(&self) -> Option<&OverTcp> {
        if let TunnelSpec::Tcp(tunnel) = self { Some(tunnel) } else { None }
    }
}

impl OverTcp {
    /// Room at its mouth in front of a link of this rate.
    pub(super) fn limit(&self, rate: Option<Rate>, around: &Surroundings) -> Limit {
        let around = Around { rate, rtt: around.rtt, packet: around.packet };
        around.resolve(self.buffer)
    }
}

impl Graph {
    /// The connections of its tunnels, with labels that no flow has. A tunnel's two links lie beside each other.
    pub(super) fn join_tunnels(&mut self, taken: &BTreeMap<&str, usize>, mistakes: &Mistakes) -> Vec<Flow> {
        let tunnels = std::mem::take(&mut self.tunnels);
        let mut flows = Vec::new();
        for (number, ends) in tunnels.chunks_exact(2).enumerate() {
            let [(there, over, limit), (back, _, limit_back)] = ends else { continue };
            let label = format!("{FAMILY}-{}", number + 1);
            if taken.contains_key(label.as_str()) {
                mistakes.add(over.path.clone(), format!("a flow has the label of its connection, \"{label}\""));
            }
            let (from, to) = (self.links[*there].from, self.links[*there].to);
            let path = Path { from, to, route: vec![*there], route_back: vec![*back] };
            let rtt: Duration = self.links[*there].delay + self.links[*back].delay;
            let spec = FlowSpec::place(over.path.clone(), Ends::Path(path.clone()), rtt, over.tcp.clone());
            flows.push(Flow { tunnel: true, ..spec.build(label.clone(), path, self, mistakes) });
            self.links[*back].tunnel = Some(Tunnel { name: format!("{label}-reverse"), buffer: *limit_back });
            self.links[*there].tunnel = Some(Tunnel { name: label, buffer: *limit });
        }
        flows
    }
}
