//! Routing: how a station finds the next one. A protocol is one file; it knows what its station has heard, and nothing else.
//!
//! To add one: a file beside this one, a `mod` line and an entry in [`REGISTRY`]; a variant of [`Message`] if it has any.

pub mod abr;
pub mod aodv;
mod buffer;
pub mod direct;
pub mod dsdv;
pub mod dsr;
mod entry;
#[cfg(test)]
mod harness;
pub mod static_routes;

pub use entry::Entry;

use super::{Parcel, ParcelId, Parcels, StationId};
use crate::wire::Packet;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};

/// Every routing protocol there is, in the order in which `cclab list routing` shows them.
pub static REGISTRY: &[Entry] =
    &[static_routes::ENTRY, direct::ENTRY, dsdv::ENTRY, aodv::ENTRY, dsr::ENTRY, abr::ENTRY];

/// A message of a routing protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Of DSDV.
    Dsdv(dsdv::Message),
    /// Of AODV.
    Aodv(aodv::Message),
    /// Of DSR.
    Dsr(dsr::Message),
    /// Of ABR.
    Abr(abr::Message),
}

/// A message as it lies in an IP packet, for those who look on.
pub struct Encoded {
    /// IP's number of the protocol.
    pub protocol: u8,
    /// Whose packet it is and for whom, where that is not who sends the frame and whom it is for.
    pub ends: Option<(StationId, Option<StationId>)>,
    /// What is behind the IP header.
    pub payload: Vec<u8>,
    /// What it is, in words.
    pub summary: &'static str,
}

/// IP's number for experiments (RFC 3692), of messages that no standard has bytes for.
pub const EXPERIMENT: u8 = 253;

impl Message {
    /// Its bytes, as `from` sends them; `address` is a station's.
    pub fn encode(&self, from: StationId, address: &dyn Fn(StationId) -> [u8; 4]) -> Encoded {
        match self {
            Message::Dsdv(message) => message.encode(address),
            Message::Aodv(message) => message.encode(from, address),
            Message::Dsr(message) => message.encode(address),
            Message::Abr(message) => message.encode(address),
        }
    }
}

/// The stations that a parcel is to pass, under source routing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceRoute {
    /// From source to destination, both included.
    pub stations: Vec<StationId>,
    /// Which of them has it.
    pub at: usize,
    /// How often it was given another path on the way.
    pub salvaged: u8,
}

impl SourceRoute {
    /// Bytes of the DSR header and its option: 4 and 4, and 4 for each station in between (RFC 4728 §6.1, §6.7).
    pub fn bytes(&self) -> u32 {
        8 + 4 * self.stations.len().saturating_sub(2) as u32
    }
}

/// Why a parcel is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The interface queue was full.
    QueueFull,
    /// The MAC gave up.
    Unreachable,
    /// Nobody knew a way.
    NoRoute,
    /// It had made all the hops that it may.
    Expired,
    /// It had waited too long for a route, or too many did.
    Buffer,
}

/// What a protocol wants done.
#[derive(Clone, Debug)]
pub enum Action {
    /// Into the interface queue after this time, for a neighbour or for all. Messages go to its head.
    Send {
        /// Which.
        parcel: ParcelId,
        /// For whom; `None` is every neighbour.
        next: Option<StationId>,
        /// When.
        after: Duration,
    },
    /// The parcel is gone.
    Drop(ParcelId, Why),
    /// This station had a route to `to`, and has none now. `parcel` had been on its way there; what becomes of it is said apart,
    /// later. With `repairing` the station looks for another way and keeps what it has for `to`.
    RouteLost {
        /// Whereto.
        to: StationId,
        /// What could not be sent.
        parcel: Option<ParcelId>,
        /// Whether it looks for another way by itself.
        repairing: bool,
    },
    /// This station had no route to `to` and has one now, or one of another length.
    RouteFound {
        /// Whereto.
        to: StationId,
        /// How far.
        hops: u8,
    },
}

/// What a protocol may use of its station.
pub struct Context<'a> {
    /// The station.
    pub me: StationId,
    /// The medium's parcels.
    pub parcels: &'a mut Parcels,
    /// Takes what waits in the station's interface queue for this neighbour out of it, first come first.
    pub recall: &'a mut dyn FnMut(StationId) -> Vec<ParcelId>,
    /// The station's own random stream for routing.
    pub rng: &'a mut Stream,
    /// What is to be done, in this order.
    pub out: &'a mut Vec<Action>,
}

impl Context<'_> {
    /// To a neighbour, at once.
    pub fn send(&mut self, parcel: ParcelId, next: StationId) {
        self.out.push(Action::Send { parcel, next: Some(next), after: Duration::ZERO });
    }

    /// The parcel is gone.
    pub fn drop(&mut self, parcel: ParcelId, why: Why) {
        self.out.push(Action::Drop(parcel, why));
    }

    /// Sends a message of `bytes` with its IP header to `next`, or to every neighbour; it may make `ttl` hops.
    pub fn tell(&mut self, now: Time, message: Message, bytes: u32, ttl: u8, next: Option<StationId>, after: Duration) {
        let parcel = self.parcels.insert(Parcel {
            packet: Packet::udp(Packet::NO_FLOW as usize, now, 0, bytes),
            source: self.me,
            destination: next,
            ttl,
            hops: 0,
            message: Some(Box::new(message)),
            path: None,
        });
        self.out.push(Action::Send { parcel, next, after });
    }
}

/// A routing protocol at one station.
///
/// The medium counts: a parcel that reaches a station has made a hop more and may make one less. One of a flow that may make none
/// and is not at its destination the medium drops; a message is told always, and the protocol looks whether it may go on.
pub trait Routing: Send {
    /// A parcel for another station is to go on from here. It comes from this host, or `from` a neighbour, and is not a message.
    fn forward(&mut self, now: Time, parcel: ParcelId, from: Option<StationId>, cx: &mut Context);
    /// A message reached this station from a neighbour. It stays the medium's: answer with new parcels.
    fn on_message(&mut self, _now: Time, _message: &Parcel, _from: StationId, _cx: &mut Context) {}
    /// A parcel reached this station, its destination, from a neighbour, and is not a message.
    fn on_arrival(&mut self, _now: Time, _parcel: &Parcel, _from: StationId, _cx: &mut Context) {}
    /// The MAC gave up sending this parcel to `next`; the parcel is the protocol's again.
    fn on_failure(&mut self, now: Time, parcel: ParcelId, next: StationId, cx: &mut Context);
    /// A frame for another station was heard, from a neighbour to `to`. Told only if [`overhears`](Self::overhears).
    fn on_overheard(&mut self, _now: Time, _parcel: &Parcel, _from: StationId, _to: StationId, _cx: &mut Context) {}
    /// Whether frames for other stations are of interest.
    fn overhears(&self) -> bool {
        false
    }
    /// Does what is due; harmless when nothing is.
    fn on_timer(&mut self, _now: Time, _cx: &mut Context) {}
    /// When [`on_timer`](Self::on_timer) wants to be called.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    /// The neighbour to which a parcel for `to` would go now, and how many hops it is from here to there.
    fn next_hop(&self, now: Time, to: StationId) -> Option<(StationId, u8)>;
    /// What the receiver of a flow has in order, as an answer on its way over this station said when a route was mended (TCP-BuS).
    fn received(&self, _flow: u32) -> Option<u64> {
        None
    }
    /// Parcels that it keeps.
    fn held(&self) -> usize {
        0
    }
}
