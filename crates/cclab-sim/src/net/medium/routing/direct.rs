//! Every station is a neighbour of every other one: stations around an access point, or all in one room.

use super::{Action, Context, Entry, Routing, StationId, Why};
use crate::net::field::FREE;
use crate::net::medium::ParcelId;
use cclab_algo::Time;

/// As the registry knows it.
pub const ENTRY: Entry = Entry {
    name: "direct",
    summary: "straight to the destination, in one hop or not at all: an access point and its stations",
    source: "IEEE 802.11-1999",
    fields: &[],
    check: FREE,
    start: |_, neighbours| neighbours.iter().map(|_| Box::new(Direct) as Box<dyn Routing>).collect(),
};

/// A station that sends straight to the destination.
pub struct Direct;

impl Routing for Direct {
    fn forward(&mut self, _: Time, parcel: ParcelId, _: Option<StationId>, cx: &mut Context) {
        match cx.parcels[parcel].destination {
            Some(to) => cx.send(parcel, to),
            None => cx.drop(parcel, Why::NoRoute),
        }
    }

    fn on_failure(&mut self, _: Time, parcel: ParcelId, _: StationId, cx: &mut Context) {
        cx.out.push(Action::Drop(parcel, Why::Unreachable));
    }

    fn next_hop(&self, _: Time, to: StationId) -> Option<(StationId, u8)> {
        Some((to, 1))
    }
}
