//! Connections over several paths, as the world drives them.

use super::config::Scenario;
use super::{Event, Simulation};
use crate::app::{Flow, Kind, Session, Sessions, Socket};
use crate::net::config::Link;
use crate::wire::{Segment, SocketId};
use cclab_algo::Time;

/// Opens the sessions of a scenario over its flows; and of each flow the session that it belongs to.
pub(super) fn open(scenario: &Scenario, flows: &[Flow], sockets: &mut [Socket]) -> (Vec<Session>, Vec<u32>) {
    let mut session_of = Vec::new();
    let mut open = |spec: &crate::app::config::Session| {
        let subflows = &flows[spec.flows.clone()];
        let start = subflows.iter().map(|flow| flow.start).min().unwrap_or(Time::NEVER);
        let session = Session::new(spec, subflows[0].source().index(), start);
        sockets[session.sockets()].iter_mut().for_each(|socket| socket.kind = Kind::Subflow);
        session
    };
    let sessions: Vec<Session> = scenario.sessions.iter().map(&mut open).collect();
    for (number, session) in sessions.iter().enumerate() {
        session_of.resize(session.flows().start, NONE);
        session_of.resize(session.flows().end, number as u32);
    }
    (sessions, session_of)
}

/// When interfaces of subflows go down and come up whose hosts notice: the first link of a route is the source's, the last the
/// destination's.
pub(super) fn interfaces(scenario: &Scenario) -> impl Iterator<Item = (Time, Event)> {
    let end = Time::ZERO + scenario.duration;
    let flows = scenario.sessions.iter().filter(|session| session.notice).flat_map(|session| session.flows.clone());
    let ends = flows.flat_map(|flow| {
        let route = &scenario.flows[flow].route;
        [(flow, route.first(), true), (flow, route.last(), false)]
    });
    let changes = ends.flat_map(|(flow, link, of_source)| {
        let outages = link.and_then(|link| scenario.links.get(*link)).map(Link::outages).unwrap_or_default();
        let event = move |(at, up)| (at, Event::Interface(Change::new(flow, up, of_source, of_source)));
        outages.into_iter().flat_map(|(from, to)| [(from, false), (to, true)]).map(event)
    });
    changes.filter(move |(at, _)| *at < end)
}

/// The interface of a subflow's host went down or came up: of which flow, and whether …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change(u32);

impl Change {
    const UP: u32 = 1;
    const OF_SOURCE: u32 = 2;
    /// The source knows; else it is to learn of it from the destination.
    const KNOWN: u32 = 4;

    fn new(flow: usize, up: bool, of_source: bool, known: bool) -> Change {
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        let bits = bit(up, Change::UP) | bit(of_source, Change::OF_SOURCE) | bit(known, Change::KNOWN);
        Change((flow as u32) << 3 | bits)
    }
    fn flow(self) -> usize {
        (self.0 >> 3) as usize
    }
    fn is(self, bit: u32) -> bool {
        self.0 & bit != 0
    }
}

/// No session.
const NONE: u32 = u32::MAX;

impl Simulation {
    /// The session that a flow is a subflow of.
    pub(super) fn session(&self, flow: usize) -> Option<usize> {
        self.session_of.get(flow).filter(|s| **s != NONE).map(|s| *s as usize)
    }

    /// The session of a socket, with all sockets of it.
    fn session_at(&mut self, id: SocketId) -> Option<(&mut Session, &mut [Socket])> {
        let number = self.session(self.sockets[id.index()].flow as usize)?;
        let session = &mut self.sessions[number];
        let own = session.sockets();
        Some((session, &mut self.sockets[own]))
    }

    /// A subflow opens its connection.
    pub(super) fn start_subflow(&mut self, now: Time, id: SocketId) {
        if self.session_at(id).is_some_and(|(session, own)| session.begin(id, own)) {
            self.pump(now, id);
        }
    }

    /// The application of a session writes no more.
    pub(super) fn stop_session(&mut self, now: Time, id: SocketId) {
        let Some((session, own)) = self.session_at(id) else { return };
        session.stop(own);
        session.end_measuring(now);
        if session.is_complete() {
            self.close_session(now, id);
        }
    }

    fn close_session(&mut self, now: Time, id: SocketId) {
        let Some((session, own)) = self.session_at(id) else { return };
        session.close(now, own);
        for source in session.sources() {
            self.pump(now, source);
        }
    }

    /// Something happened at a socket of a session: it takes that in, and hands out what there is room for.
    #[inline(never)]
    pub(super) fn drive(&mut self, now: Time, id: SocketId, dss: u32) {
        let is_source = self.sockets[id.index()].is_source;
        let Some((session, own)) = self.session_at(id) else { return };
        if !is_source {
            let complete = session.on_destination(now, id, own);
            if complete && let Some(endpoint) = self.sockets[id.index()].transport.tcp_mut() {
                endpoint.acknowledge_now(); // as to a DATA_FIN, which the last data carry
            }
            return self.pump(now, id);
        }
        let was_complete = session.is_complete();
        session.on_source(now, id, dss, own);
        if session.is_complete() && !was_complete {
            session.end_measuring(now);
            for flow in session.flows() {
                self.end_measuring(now, flow);
            }
            return self.close_session(now, id);
        }
        self.pump(now, id);
        self.hand_out(now, id);
    }

    /// Data for whoever has room, a segment at a time.
    fn hand_out(&mut self, now: Time, id: SocketId) {
        while let Some((session, own)) = self.session_at(id)
            && let Some(source) = session.assign(now, own)
        {
            self.pump(now, source);
        }
        // Who has room but for its pacer is to be woken when that lets go, whoever this was about.
        let Some((session, _)) = self.session_at(id) else { return };
        for source in session.sources() {
            let Some(endpoint) = self.sockets[source.index()].transport.tcp() else { continue };
            self.arm(now, source, endpoint.next_timer());
        }
    }

    /// The DSS option of what leaves a subflow.
    #[inline(never)]
    pub(super) fn stamp(&mut self, id: SocketId, segment: &mut Segment) {
        if let Some((session, _)) = self.session_at(id) {
            session.stamp(id, segment);
        }
    }

    /// The interface of a subflow went down or came up. What the destination notices it tells the source, on the fastest subflow.
    pub(super) fn on_interface(&mut self, now: Time, change: Change) {
        let id = self.flows[change.flow()].source();
        let Some((session, own)) = self.session_at(id) else { return };
        if change.is(Change::KNOWN) {
            session.on_interface(now, id, change.is(Change::UP), change.is(Change::OF_SOURCE), own);
            self.pump(now, id);
            self.hand_out(now, id);
        } else if let Some(delay) = session.news_delay(own) {
            self.events.push(now + delay, Event::Interface(Change(change.0 | Change::KNOWN)));
        }
    }

    /// The rows of the sessions.
    pub(super) fn measured_sessions(&self) -> Sessions {
        let mut sessions = Sessions::default();
        for session in &self.sessions {
            let cc = self.flows[session.flows().start].cc();
            sessions.push(&session.measured(cc, self.warmup, self.end));
        }
        sessions
    }
}
