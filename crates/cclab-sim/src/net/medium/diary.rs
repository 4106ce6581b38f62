//! What a medium keeps of everything that happens in it, when asked to: frames on the air, where stations are, how they route.

use super::air::EVERYBODY;
use super::config::Place;
use super::interface_queue::Content;
use super::mac::{Kind, Transmission};
use super::mobility::Cursor;
use super::reach::Neighbour;
use super::sniffer::{Missed, Sent, Sniffer};
use super::{Medium, Parcel, StationId};
use crate::measure::table::{Index, Names, table};
use crate::net::Diary as Tables;
use crate::net::losses::Cause;
use crate::wire::{Body, Packet};
use cclab_algo::{Duration, Time};

/// Places, and the routes to where flows go.
pub(super) struct Diary {
    /// As they were at the start.
    cursors: Vec<Cursor>,
    /// Where packets of flows leave the medium, and the way there from every station.
    watched: Vec<(StationId, Vec<Hop>)>,
    routes: Vec<Route>,
    frames: Vec<Frame>,
    /// The row of each transmission, by its number.
    rows: Vec<u32>,
    /// The neighbour that cannot be reached is too far away.
    pub(super) beyond: bool,
    /// What an analyser would see of the frames, row by row.
    sniffer: Option<Sniffer>,
}

/// The next station, and how many hops it is.
type Hop = Option<(StationId, u8)>;

/// A frame on the air.
#[derive(Clone)]
pub(crate) struct Frame {
    start: Time,
    end: Time,
    from: u32,
    to: u32,
    flow: u32,
    kind: &'static str,
    carries: &'static str,
    outcome: &'static str,
    receivers: u32,
    received: u32,
    attempt: u32,
}

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
    /// Every frame on the air, where `record.frames` asks for it.
    "frames": Frames of FrameRow from f, &Frame;

    /// When it begins at the sender.
    time_s: Vec<f64>, "s" = f.start.as_secs_f64();
    /// When it ends there.
    end_s: Vec<f64>, "s" = f.end.as_secs_f64();
    /// Name of the station that sends it.
    station: Index, "" = f.from;
    /// Name of the station that it is for; none is all.
    to: Index, "" = f.to;
    /// Its kind: `rts`, `cts`, `data`, `ack`, or `broadcast`.
    kind: Names, "" = f.kind;
    /// What it carries or announces: `data` of a flow, or a packet without any, `ack`; a message of `routing`, a `notice` to a sender,
    /// `arp`; a CTS and an ACK nothing, `-`.
    carries: Names, "" = f.carries;
    /// Name of the flow, or of the background's entry, that it carries a packet of.
    flow: Index, "" = f.flow;
    /// What became of it where it was to be received: `received`, `collided` with another, or the station was `deaf` because it sent
    /// itself; `lost` by the given probability; `too weak` there, if it came so far at all. A broadcast is `received` by all who could,
    /// by some, `partly`, or by none, `missed`; a CTS to oneself is `sent`. `under way` when the run ended.
    outcome: Names, "" = f.outcome;
    /// Stations that it was for and that it was strong enough at.
    receivers: Vec<u32>, "1" = f.receivers;
    /// Of these, those that received it.
    received: Vec<u32>, "1" = f.received;
    /// Tries of the packet that had been in vain, RTS and data frames together, since its last success.
    retries: Vec<u32>, "1" = f.attempt;
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
    pub(super) fn new(cursors: Vec<Cursor>, sniffer: Option<Sniffer>) -> Diary {
        let (watched, routes, frames, rows) = Default::default();
        Diary { cursors, watched, routes, frames, rows, beyond: false, sniffer }
    }

    /// The way from a station to one that is watched.
    fn note(&mut self, now: Time, at: usize, which: usize, hop: Hop) {
        let (to, known) = &mut self.watched[which];
        if known[at] != hop {
            known[at] = hop;
            self.routes.push(Route { at: now, station: at as u32, to: to.0, hop });
        }
    }

    /// A frame has ended at a station that it concerns.
    pub(super) fn note_end(&mut self, number: u32, at: u32, got: bool, deaf: bool) {
        let row = self.rows[number as usize] as usize;
        let frame = &mut self.frames[row];
        if let Some(sniffer) = &mut self.sniffer
            && !got
            && [at, EVERYBODY].contains(&frame.to)
        {
            sniffer.sent[row].missed.push((StationId(at), if deaf { Missed::Deaf } else { Missed::Collided }));
        }
        if frame.to == at {
            frame.received = got.into();
            frame.outcome = if got {
                "received"
            } else if deaf {
                "deaf"
            } else {
                "collided"
            };
        } else if frame.to == EVERYBODY {
            frame.received += u32::from(got);
            frame.outcome = match frame.received {
                0 => "missed",
                all if all == frame.receivers => "received",
                _ => "partly",
            };
        }
    }

    /// Rows kept.
    pub(super) fn len(&self) -> usize {
        self.routes.len() + self.frames.len()
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

    /// A frame goes on the air; `lost` if its receiver shall not get it.
    pub(super) fn note_frame(&mut self, now: Time, number: u32, airtime: Duration, lost: bool) {
        let Some(diary) = &mut self.diary else { return };
        let &Transmission { kind, from, to, ref ears, .. } = &self.on_air[number as usize];
        let carried = match kind {
            Kind::Rts | Kind::Data { .. } => self.stations[from as usize].item(),
            Kind::Cts | Kind::Ack => None,
        };
        let (mut flow, mut carries) = (Packet::NO_FLOW, "-");
        match carried.map(|(content, _)| content) {
            Some(Content::Parcel(parcel)) => {
                let Parcel { packet, message, .. } = &self.parcels[parcel];
                flow = packet.flow;
                carries = match (&message, &packet.body) {
                    (Some(_), _) => "routing",
                    (None, Body::News(_)) => "notice",
                    (None, Body::Udp(_)) if flow == Packet::NO_FLOW => "notice",
                    _ if packet.payload() > 0 => "data",
                    _ => "ack",
                };
            }
            Some(_) => carries = "arp",
            None => {}
        }
        let receivers = if to == EVERYBODY { ears.len() } else { ears.iter().filter(|ear| ear.1 == to).count() } as u32;
        diary.rows.resize(diary.rows.len().max(number as usize + 1), 0);
        diary.rows[number as usize] = diary.frames.len() as u32;
        if let Some(sniffer) = &mut diary.sniffer {
            let data = |to: u32| self.rates[from as usize].min(self.rates[to as usize]);
            let rate = match kind {
                Kind::Data { .. } if to != EVERYBODY => data(to),
                Kind::Rts | Kind::Cts | Kind::Data { .. } => self.mac.basic_rate,
                Kind::Ack => self.mac.response(data(to)),
            };
            let known = self.shadows.is_none() && !lost;
            let there = self.reach.around(now, from as usize).iter().find(|n| known && n.station == to);
            let power = there.map(|there| there.power);
            sniffer.see(&self.on_air[number as usize], (now, now + airtime), (rate, power), lost, &self.parcels);
        }
        diary.frames.push(Frame {
            start: now,
            end: now + airtime,
            from,
            to,
            flow,
            kind: match kind {
                Kind::Rts => "rts",
                Kind::Cts => "cts",
                Kind::Ack => "ack",
                Kind::Data { .. } if to == EVERYBODY => "broadcast",
                Kind::Data { .. } => "data",
            },
            carries,
            outcome: match receivers {
                0 if lost => "lost",
                0 if from == to => "sent",
                0 => "too weak",
                _ => "under way",
            },
            receivers,
            received: 0,
            attempt: carried.map_or(0, |(_, attempt)| attempt),
        });
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

    /// Frames that were seen for a capture, in order; once.
    pub(in crate::net) fn take_sent(&mut self) -> Vec<Sent> {
        let sniffer = self.diary.as_mut().and_then(|diary| diary.sniffer.as_mut());
        sniffer.map_or_else(Vec::new, |sniffer| std::mem::take(&mut sniffer.sent))
    }

    /// What they take, in bytes.
    pub(in crate::net) fn sent_bytes(&self) -> usize {
        self.diary.as_ref().and_then(|diary| diary.sniffer.as_ref()).map_or(0, |sniffer| sniffer.bytes)
    }

    /// Writes down what there is; the medium's stations are numbered from `first` on.
    pub(in crate::net) fn fill_diary(&mut self, first: u32, tables: &mut Tables, flow: &impl Fn(u32) -> u32) {
        let Some(diary) = self.diary.take() else { return };
        for (station, mut cursor) in diary.cursors.into_iter().enumerate() {
            let mut last = None;
            let mut row = |at: Time, place: Place| {
                if last.replace((at, place)) != Some((at, place)) {
                    tables.places.push((at, first + station as u32, place.x, place.y));
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
        for frame in diary.frames {
            let to = if frame.to == EVERYBODY { Index::NONE } else { first + frame.to };
            tables.frames.push(&Frame { from: first + frame.from, to, flow: flow(frame.flow), ..frame });
        }
        for Route { at, station, to, hop } in diary.routes {
            let hop = hop.map(|(next, hops)| (StationId(first + next.0), hops));
            tables.routes.push(&Route { at, station: first + station, to: first + to, hop });
        }
    }
}
