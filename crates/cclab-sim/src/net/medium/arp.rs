//! Address resolution as in ns-2: whoever is heard of is known for good; one packet waits for each unknown neighbour, and every
//! further one asks again, until three questions are unanswered.

use super::{ParcelId, StationId};

/// Questions without an answer after which a neighbour counts as gone.
const MOST: u8 = 3;
/// Bytes of a request and of a reply.
pub(super) const BYTES: u32 = 28;

/// What is to become of a parcel for a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// Its address is known.
    Known,
    /// Ask for it; the parcel that had waited is gone.
    Ask(Option<ParcelId>),
    /// Nobody answers; neither does the parcel that had waited go.
    Failed(Option<ParcelId>),
}

/// The table of a station.
#[derive(Default)]
pub(super) struct Arp {
    /// Ascending.
    known: Vec<StationId>,
    waiting: Vec<(StationId, ParcelId, u8)>,
}

impl Arp {
    /// A parcel is to go to `next`.
    pub(super) fn resolve(&mut self, next: StationId, parcel: ParcelId) -> Resolution {
        if self.known.binary_search(&next).is_ok() {
            return Resolution::Known;
        }
        let Some(place) = self.waiting.iter().position(|entry| entry.0 == next) else {
            self.waiting.push((next, parcel, 1));
            return Resolution::Ask(None);
        };
        let (_, held, asked) = &mut self.waiting[place];
        if *asked == MOST {
            return Resolution::Failed(Some(self.waiting.swap_remove(place).1));
        }
        *asked += 1;
        Resolution::Ask(Some(std::mem::replace(held, parcel)))
    }

    /// The address of a neighbour is known now; what had waited for it.
    pub(super) fn learn(&mut self, neighbour: StationId) -> Option<ParcelId> {
        if let Err(place) = self.known.binary_search(&neighbour) {
            self.known.insert(place, neighbour);
        }
        let place = self.waiting.iter().position(|entry| entry.0 == neighbour)?;
        Some(self.waiting.swap_remove(place).1)
    }

    /// What waits for a neighbour is not to go there.
    pub(super) fn take_for(&mut self, neighbour: StationId) -> Option<ParcelId> {
        let place = self.waiting.iter().position(|entry| entry.0 == neighbour)?;
        Some(self.waiting.swap_remove(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface_queue::tests::parcels;
    use super::*;

    /// Three questions, each of which drives the one out that had waited; the fourth finds nobody, and all begins again.
    #[test]
    fn three_questions() {
        let [a, b, c, d, e] = parcels(5).1[..] else { panic!("five") };
        let mut arp = Arp::default();
        let next = StationId(4);
        assert_eq!(arp.resolve(next, a), Resolution::Ask(None));
        assert_eq!(arp.resolve(next, b), Resolution::Ask(Some(a)));
        assert_eq!(arp.resolve(next, c), Resolution::Ask(Some(b)));
        assert_eq!(arp.resolve(next, d), Resolution::Failed(Some(c)));
        assert_eq!(arp.resolve(next, e), Resolution::Ask(None));
        assert_eq!(arp.learn(next), Some(e));
        assert_eq!(arp.resolve(next, a), Resolution::Known);
        assert_eq!(arp.learn(StationId(2)), None);
    }
}
