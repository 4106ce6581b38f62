//! What a medium keeps of everything that happens in it, when asked to: where stations are and how they route.

use super::config::Place;
use super::mobility::Cursor;
use super::reach::Neighbour;
use super::{Medium, StationId};
use crate::measure::table::{Index, table};
use crate::net::losses::Cause;
use cclab_algo::Time;

/// Places, and the routes to where flows go.
pub(super) struct Diary {
    /// As they were at the start.
    cursors: Vec<Cursor>,
    /// Where packets of flows leave the medium, and the way there from every station.
    watched: Vec<(StationId, Vec<Hop>)>,
    routes: Vec<Route>,
    /// The neighbour that cannot be reached is too far away.
    pub(super) beyond: bool,
}

/// The next station, and how many hops it is.
type Hop = Option<(StationId, u8)>;

/// How a station would send to another, from a time on.
pub(crate) struct Route {
    at: Time,
    station: u32,
    to: u32,
    hop: Hop,
}

table! {
    /// Where stations are, where `record.frames` asks for it: between two rows of a station it moves in a straight line, behind its
    /// last one it rests.
    "places": Places of PlaceRow from p, (Time, u32, f64, f64);

    /// Time.
    time_s: Vec<f64>, "s" = p.0.as_secs_f64();
    /// Name of the station.
    station: Index, "" = p.1;
    /// Metres to the right.
    x_m: Vec<f64>, "m" = p.2;
    /// Metres up.
    y_m: Vec<f64>, "m" = p.3;
}

table! {
    /// Every change of a station's route to where packets of flows are going, where `record.frames` asks for it. One that has only
    /// run out is noticed when the station next looks at its routes.
    "routes": Routes of RouteRow from r, &Route;

    /// Time.
    time_s: Vec<f64>, "s" = r.at.as_secs_f64();
    /// Name of the station.
    station: Index, "" = r.station;
    /// Where the packets leave the medium.
    destination: Index, "" = r.to;
    /// The neighbour that they go to; none is no route.
    next_hop: Index, "" = r.hop.map_or(Index::NONE, |(next, _)| next.0);
    /// Hops from here to there; 0 without a route.
    hops: Vec<u32>, "1" = r.hop.map_or(0, |(_, hops)| hops.into());
}

impl Diary {
    pub(super) fn new(cursors: Vec<Cursor>) -> Diary {
        Diary { cursors, watched: Vec::new(), routes: Vec::new(), beyond: false }
    }

    /// The way from a station to one that is watched.
    fn note(&mut self, now: Time, at: usize, which: usize, hop: Hop) {
        let (to, known) = &mut self.watched[which];
        if known[at] != hop {
            known[at] = hop;
            self.routes.push(Route { at: now, station: at as u32, to: to.0, hop });
        }
    }

    /// Rows kept.
    pub(super) fn len(&self) -> usize {
        self.routes.len()
    }
}

impl Medium {
    /// A packet of a flow is to go to `to`.
    pub(super) fn watch_routes(&mut self, now: Time, to: StationId) {
        let Some(diary) = &mut self.diary else { return };
        if diary.watched.iter().any(|(watched, _)| *watched == to) {
            return;
        }
        diary.watched.push((to, vec![None; self.routers.len()]));
        (0..self.routers.len()).for_each(|at| self.note_routes(now, at));
    }

    /// A station may have changed its routes.
    #[inline]
    pub(super) fn note_routes(&mut self, now: Time, at: usize) {
        let Some(diary) = &mut self.diary else { return };
        for which in 0..diary.watched.len() {
            let to = diary.watched[which].0;
            if to.index() != at {
                diary.note(now, at, which, self.routers[at].protocol.next_hop(now, to));
            }
        }
    }

    /// A neighbour does not answer: is it near enough?
    pub(super) fn look_for(&mut self, now: Time, at: usize, next: StationId) {
        if let Some(diary) = &mut self.diary {
            let receive = self.timing.receive;
            let decodes = |n: &Neighbour| n.station == next.0 && n.power >= receive;
            diary.beyond = !self.reach.around(now, at).iter().any(decodes);
        }
    }

    /// Why a packet is gone, as one knows who sees where stations are.
    pub(super) fn closer(&self, cause: Cause) -> Cause {
        match &self.diary {
            Some(diary) if diary.beyond && cause == Cause::Retries => Cause::OutOfRange,
            _ => cause,
        }
    }

    /// How many stations there are.
    pub(in crate::net) fn len(&self) -> u32 {
        self.stations.len() as u32
    }

    /// Rows kept.
    pub(in crate::net) fn diary_len(&self) -> usize {
        self.diary.as_ref().map_or(0, |diary| diary.len())
    }

    /// Writes down what there is; the medium's stations are numbered from `first` on.
    pub(in crate::net) fn fill_diary(&mut self, first: u32, places: &mut Places, routes: &mut Routes) {
        let Some(diary) = self.diary.take() else { return };
        for (station, mut cursor) in diary.cursors.into_iter().enumerate() {
            let mut last = None;
            let mut row = |at: Time, place: Place| {
                if last.replace((at, place)) != Some((at, place)) {
                    places.push((at, first + station as u32, place.x, place.y));
                }
            };
            let mut leg = *cursor.leg(Time::ZERO);
            row(Time::ZERO, leg.at(Time::ZERO));
            while leg.start < self.to {
                row(leg.start, leg.from);
                row(leg.end.min(self.to), leg.at(self.to));
                let next = *cursor.leg(leg.end);
                if next == leg {
                    break;
                }
                leg = next;
            }
        }
        for Route { at, station, to, hop } in diary.routes {
            let hop = hop.map(|(next, hops)| (StationId(first + next.0), hops));
            routes.push(&Route { at, station: first + station, to: first + to, hop });
        }
    }
}
