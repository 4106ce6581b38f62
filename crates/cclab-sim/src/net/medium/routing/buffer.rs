//! Parcels that wait for a route.

use super::{Context, StationId, Why};
use crate::net::medium::ParcelId;
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// Parcels that wait for a route, first come first: when it is full the oldest goes.
pub(super) struct Buffer {
    limit: usize,
    patience: Duration,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    parcel: ParcelId,
    to: StationId,
    until: Time,
}

impl Buffer {
    /// Room for `limit` parcels, each for so long.
    pub(super) fn new(limit: usize, patience: Duration) -> Buffer {
        Buffer { limit, patience, waiting: VecDeque::new() }
    }

    /// Keeps a parcel for `to`.
    pub(super) fn push(&mut self, now: Time, parcel: ParcelId, to: StationId, cx: &mut Context) {
        if self.waiting.len() == self.limit
            && let Some(oldest) = self.waiting.pop_front()
        {
            cx.drop(oldest.parcel, Why::Buffer);
        }
        self.waiting.push_back(Waiting { parcel, to, until: now + self.patience });
    }

    /// Gives away what waits for `to`.
    pub(super) fn take(&mut self, to: StationId) -> Vec<ParcelId> {
        let taken = self.waiting.iter().filter(|waiting| waiting.to == to).map(|waiting| waiting.parcel).collect();
        self.waiting.retain(|waiting| waiting.to != to);
        taken
    }

    /// Drops what waited too long.
    pub(super) fn expire(&mut self, now: Time, cx: &mut Context) {
        while let Some(oldest) = self.waiting.front().filter(|oldest| oldest.until <= now) {
            cx.drop(oldest.parcel, Why::Buffer);
            self.waiting.pop_front();
        }
    }

    /// When the next one will have waited too long.
    pub(super) fn next_timer(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |oldest| oldest.until)
    }

    /// Whether anything waits for `to`.
    pub(super) fn holds(&self, to: StationId) -> bool {
        self.waiting.iter().any(|waiting| waiting.to == to)
    }

    /// The first that waits for `to`.
    pub(super) fn first(&self, to: StationId) -> Option<ParcelId> {
        self.waiting.iter().find(|waiting| waiting.to == to).map(|waiting| waiting.parcel)
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
