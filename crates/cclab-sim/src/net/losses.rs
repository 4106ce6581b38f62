//! The table of losses: which packets of flows are gone, where and why.

use super::Reason;
use super::medium::routing::Why;
use crate::measure::table::{Index, Names, Text, table};
use crate::wire::{Body, Packet};
use cclab_algo::Time;

/// Why a packet is gone, as the one knows who sees everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Queue,
    Discipline,
    Tunnel,
    Random,
    Retries,
    OutOfRange,
    NoRoute,
    NoAnswer,
    Waited,
    Expired,
}

impl Cause {
    fn name(self) -> &'static str {
        match self {
            Cause::Queue => "queue",
            Cause::Discipline => "discipline",
            Cause::Tunnel => "tunnel",
            Cause::Random => "random",
            Cause::Retries => "retries",
            Cause::OutOfRange => "out of range",
            Cause::NoRoute => "no route",
            Cause::NoAnswer => "no answer",
            Cause::Waited => "waited",
            Cause::Expired => "expired",
        }
    }
}

impl From<Reason> for Cause {
    fn from(reason: Reason) -> Cause {
        match reason {
            Reason::Dropped => Cause::Queue,
            Reason::Early => Cause::Discipline,
            Reason::Lost | Reason::LostBehind => Cause::Random,
        }
    }
}

impl From<Why> for Cause {
    fn from(why: Why) -> Cause {
        match why {
            Why::QueueFull => Cause::Queue,
            Why::Unreachable => Cause::Retries,
            Why::NoRoute => Cause::NoRoute,
            Why::Expired => Cause::Expired,
            Why::Buffer => Cause::Waited,
        }
    }
}

/// A packet that is gone.
#[derive(Clone, Copy)]
pub(crate) struct Loss {
    at: Time,
    seq: u64,
    flow: u32,
    place: u32,
    payload: u32,
    forward: bool,
    cause: Cause,
}

impl Loss {
    /// Of this packet, at a place whose number [`Losses`] is told the name of.
    pub(super) fn new(at: Time, place: u32, cause: Cause, packet: &Packet) -> Loss {
        let seq = match &packet.body {
            Body::Tcp(segment) => segment.seq,
            Body::Udp(datagram) => datagram.number,
            Body::News(_) => 0,
        };
        Loss { at, seq, flow: packet.flow, place, payload: packet.payload(), forward: packet.forward, cause }
    }
}

table! {
    /// Every packet of a flow that was lost in the network, and why, where `record.frames` asks for it.
    "losses": Losses of LossRow from l, &Loss;

    /// Time.
    time_s: Vec<f64>, "s" = l.at.as_secs_f64();
    /// Name of the flow, or of the background's entry.
    flow: Index, "" = l.flow;
    /// Name of the link, or of the station that had it last.
    place: Index, "" = l.place;
    /// Why: the `queue` was full, or its `discipline` chose it; the mouth of a `tunnel` was; a loss model, `random`. At a station: the MAC gave up after its
    /// `retries` although the next station was near enough to be decoded, or it was `out of range`; `no answer` to the question for
    /// the next station's address; `no route`; it `waited` for one too long, or too many did; it had made all the hops that it
    /// may, `expired`.
    cause: Names, "" = l.cause.name();
    /// Whether it went from the flow's source to its destination, as data do; else it was an ACK on its way back.
    forward: Vec<bool>, "1" = l.forward;
    /// First sequence number, TCP; packet number, UDP.
    seq: Vec<u64>, "1" = l.seq;
    /// Payload.
    payload_bytes: Vec<u32>, "bytes" = l.payload;
}

impl Losses {
    /// Those before `end` in order of time, at places of these names, each with the flow that `flow` says.
    pub(super) fn of(mut losses: Vec<Loss>, end: Time, places: Text, flow: impl Fn(u32) -> u32) -> Losses {
        losses.retain(|loss| loss.at < end);
        losses.sort_by_key(|loss| loss.at);
        let mut table = Losses::default();
        table.reserve(losses.len());
        losses.iter().for_each(|loss| table.push(&Loss { flow: flow(loss.flow), ..*loss }));
        table.place.names = places.into();
        table
    }
}
