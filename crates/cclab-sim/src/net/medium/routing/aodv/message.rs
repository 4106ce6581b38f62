//! AODV's messages (RFC 3561 §5).

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
}
