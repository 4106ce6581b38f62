//! A radio medium: stations that share the air, forward for each other, and find their routes.
//!
//! To the network a medium is one hop of a route, from one of its stations to another; what happens between them stays inside.
//! A [`Parcel`] is what stations pass on: an IP packet of a flow, a message of a routing protocol, or a notice to a sender.

pub mod config;
pub mod mobility;
pub mod profile;
pub mod routing;

use crate::wire::Packet;
use routing::Message;

/// The number of a station within its medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u32);

impl StationId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet between stations, with what its IP header says of them.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The packet; a routing protocol's own message is a datagram of [`Packet::NO_FLOW`].
    pub packet: Packet,
    /// Where it entered the medium.
    pub source: StationId,
    /// Where it leaves it; `None` is every neighbour.
    pub destination: Option<StationId>,
    /// Hops that it may still make; the medium counts them down where it arrives.
    pub ttl: u8,
    /// Hops made.
    pub hops: u8,
    /// The message, if it is one of a routing protocol.
    pub message: Option<Box<Message>>,
    /// The stations that it is to pass, under source routing.
    pub path: Option<Box<routing::SourceRoute>>,
}

impl Parcel {
    /// IP bytes, those of a source route included.
    pub fn size(&self) -> u32 {
        self.packet.size + self.path.as_ref().map_or(0, |path| path.bytes())
    }
}

/// The number of a parcel in its medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParcelId(u32);

/// The parcels in a medium. Places are used again.
#[derive(Default)]
pub struct Parcels {
    places: Vec<Option<Parcel>>,
    free: Vec<u32>,
}

impl Parcels {
    /// Keeps a parcel.
    pub fn insert(&mut self, parcel: Parcel) -> ParcelId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(parcel);
        ParcelId(place)
    }

    /// Gives a parcel away.
    ///
    /// # Panics
    /// It is gone already.
    pub fn remove(&mut self, id: ParcelId) -> Parcel {
        self.free.push(id.0);
        self.places[id.0 as usize].take().expect("a parcel is removed once")
    }

    /// Those that are there.
    pub fn iter(&self) -> impl Iterator<Item = &Parcel> {
        self.places.iter().flatten()
    }
}

impl std::ops::Index<ParcelId> for Parcels {
    type Output = Parcel;
    fn index(&self, id: ParcelId) -> &Parcel {
        self.places[id.0 as usize].as_ref().expect("it is there until it is removed")
    }
}

impl std::ops::IndexMut<ParcelId> for Parcels {
    fn index_mut(&mut self, id: ParcelId) -> &mut Parcel {
        self.places[id.0 as usize].as_mut().expect("it is there until it is removed")
    }
}
