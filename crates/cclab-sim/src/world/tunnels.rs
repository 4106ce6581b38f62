//! Tunnels, as the world drives them: packets that cross a link as the byte stream of a TCP connection between its ends.

use super::Simulation;
use super::config::Scenario;
use crate::app::Flow;
use crate::net::Network;
use crate::wire::{Packet, SocketId};
use cclab_algo::Time;

/// The connection of a tunnel: its sockets, and the mouth whose packets each sends.
pub(super) type Tunnel = [(SocketId, u32); 2];

/// The tunnels of a scenario, whose connections are among these flows.
pub(super) fn open(scenario: &Scenario, flows: &[Flow], network: &Network) -> Vec<Tunnel> {
    let connections = scenario.flows.iter().zip(flows).filter(|(flow, _)| flow.tunnel);
    let ends = connections.filter_map(|(flow, opened)| {
        let mouths = [network.mouth(*flow.route.first()?)?, network.mouth(*flow.route_back.first()?)?];
        let source = opened.source();
        Some([(source, mouths[0]), (SocketId(source.0 + 1), mouths[1])])
    });
    ends.collect()
}

impl Simulation {
    /// Packets have come to this mouth of a tunnel: its connection has more to send.
    pub(super) fn feed(&mut self, now: Time, mouth: u32) {
        let Some(&(id, _)) = self.tunnels.iter().flatten().find(|end| end.1 == mouth) else { return };
        let bytes = self.network.bytes_for_tunnel(mouth);
        if bytes > 0
            && let Some(endpoint) = self.sockets[id.index()].transport.tcp_mut()
        {
            endpoint.write(now, bytes);
            self.tend(now, id);
        }
    }

    /// Something happened at a socket of a tunnel: it sends what it may, and packets that have come out whole go on their way.
    pub(super) fn tend(&mut self, now: Time, id: SocketId) {
        self.pump(now, id);
        let Some(tunnel) = self.tunnels.iter().find(|ends| ends.iter().any(|end| end.0 == id)) else { return };
        let [near, far] = if tunnel[0].0 == id { *tunnel } else { [tunnel[1], tunnel[0]] };
        let Some(endpoint) = self.sockets[id.index()].transport.tcp() else { return };
        let (sent, received) = (endpoint.bytes_begun(), endpoint.stats().bytes_received);
        self.network.note_tunnel_sent(now, near.1, sent);
        let mut packet = Packet::udp(0, now, 0, 0);
        while let Some(there) = self.network.leave_tunnel(now, far.1, received, &mut packet, &mut self.events) {
            if there {
                self.arrivals.push_back(packet);
            }
        }
    }
}
