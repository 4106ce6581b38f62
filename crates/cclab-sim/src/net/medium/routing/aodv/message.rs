//! AODV's messages (RFC 3561 §5).

use super::super::Encoded;
use super::StationId;
use super::config::Profile;
use super::table::Seq;
use crate::wire::{IP_HEADER, UDP_HEADER};
use cclab_algo::{Duration, Time};

/// A message of AODV.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Who knows a way to `to`?
    Request(Request),
    /// There is a way to `to`.
    Reply(Reply),
    /// There is no way any more to these, of which so much is known.
    Error {
        /// The way was repaired, but is longer: nobody needs to forget it.
        repaired: bool,
        /// Destinations.
        unreachable: Vec<(StationId, Option<Seq>)>,
    },
    /// I am here.
    Hello {
        /// Own sequence number.
        seq: Seq,
        /// Believed for so long.
        lifetime: Duration,
    },
}

/// A route request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Its number; with `from` it names the request.
    pub id: u32,
    /// Whereto.
    pub to: StationId,
    /// The newest that is known of it.
    pub to_seq: Option<Seq>,
    /// Who asks.
    pub from: StationId,
    /// Its sequence number.
    pub from_seq: Seq,
    /// Hops from there to who sends this.
    pub hops: u8,
    /// Only the destination may answer.
    pub destination_only: bool,
    /// Who answers for the destination tells it, too.
    pub gratuitous: bool,
    /// When it was asked.
    pub asked: Time,
}

/// A route reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reply {
    /// Whereto there is a way.
    pub to: StationId,
    /// As of this sequence number.
    pub to_seq: Seq,
    /// Who had asked.
    pub from: StationId,
    /// Hops from who sends this to `to`.
    pub hops: u8,
    /// The way is good for so long.
    pub lifetime: Duration,
    /// When it was asked.
    pub asked: Time,
}

impl Message {
    /// IP bytes: RFC 3561 §5.1 to §5.3 in UDP; ns-2 counts a word more in two of them, and no UDP.
    pub(super) fn bytes(&self, profile: Profile) -> u32 {
        let (word, headers) = match profile {
            Profile::Ns2 => (4, IP_HEADER),
            Profile::Rfc3561 => (0, IP_HEADER + UDP_HEADER),
        };
        headers
            + match self {
                Message::Request(_) => 24 + word,
                Message::Reply(_) | Message::Hello { .. } => 20 + word,
                Message::Error { unreachable, .. } => 4 + 8 * unreachable.len() as u32,
            }
    }

    /// RFC 3561 §5: UDP from port 654 to port 654. The UDP checksum is left out.
    pub(in super::super) fn encode(&self, me: StationId, address: &dyn Fn(StationId) -> [u8; 4]) -> Encoded {
        let bit = |set: bool, place: u32| u16::from(set) << place;
        let (summary, words): (_, Vec<[u8; 4]>) = match self {
            Message::Request(r) => {
                let flags = bit(r.gratuitous, 13) | bit(r.destination_only, 12) | bit(r.to_seq.is_none(), 11);
                let to_seq = r.to_seq.unwrap_or_default();
                let [to, from] = [r.to, r.from].map(address);
                ("RREQ", vec![head(1, flags, r.hops), word(r.id), to, word(to_seq.0), from, word(r.from_seq.0)])
            }
            Message::Reply(r) => {
                let [to, from] = [r.to, r.from].map(address);
                ("RREP", vec![head(2, 0, r.hops), to, word(r.to_seq.0), from, milliseconds(r.lifetime)])
            }
            // §6.9: a reply that tells of its sender; for its sender as well, since nobody asked.
            Message::Hello { seq, lifetime } => {
                let me = address(me);
                ("Hello", vec![head(2, 0, 0), me, word(seq.0), me, milliseconds(*lifetime)])
            }
            Message::Error { repaired, unreachable } => {
                let pair = |&(to, seq): &(StationId, Option<Seq>)| [address(to), word(seq.unwrap_or_default().0)];
                let head = head(3, bit(*repaired, 15), unreachable.len() as u8);
                ("RERR", std::iter::once(head).chain(unreachable.iter().flat_map(pair)).collect())
            }
        };
        let message = words.concat();
        let length = UDP_HEADER as u16 + message.len() as u16;
        let udp = [PORT, PORT, length, 0].map(u16::to_be_bytes).concat();
        Encoded { protocol: 17, ends: None, payload: [udp, message].concat(), summary }
    }
}

/// AODV's port (§3).
const PORT: u16 = 654;

fn word(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// Type, flags and reserved bits, hop count or number of destinations.
fn head(kind: u8, flags: u16, count: u8) -> [u8; 4] {
    let [high, low] = flags.to_be_bytes();
    [kind, high, low, count]
}

fn milliseconds(lifetime: Duration) -> [u8; 4] {
    word(u32::try_from(lifetime.0 / 1_000_000).unwrap_or(u32::MAX))
}
