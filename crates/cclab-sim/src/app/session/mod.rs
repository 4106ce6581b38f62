//! Connections over several paths: one stream of data over a row of flows, its subflows.
//!
//! ```text
//!            ┌─► subflow ─► path ─► subflow ─┐
//!  data ─► scheduler                      reassembly ─► data
//!            └─► subflow ─► path ─► subflow ─┘
//! ```
//!
//! A subflow is a flow like any other, with sockets, routes and measurements of its own; data come to its endpoint a segment at a
//! time, when it has room (RFC 8684's transport, seen from above). The session knows what was assigned where ([`map`]), puts the
//! data in order at the receiver ([`reassembly`]), and sends again elsewhere what is stuck. Numbers of data begin at 1.
//!
//! A session has no timer: what it does follows from what happens at a socket of its own.

mod map;
mod reassembly;
pub mod scheduler;
mod table;

pub use table::{SessionRow, Sessions, aggregation_benefit};

use self::map::{Map, Outstanding};
use self::reassembly::Reassembly;
use self::scheduler::{Choice, Scene, Spread, View};
use super::config;
use super::meter::TimeMean;
use super::socket::Socket;
use crate::measure::Histogram;
use crate::tcp::{Endpoint, State};
use crate::wire::{Segment, SocketId, unwrap_offset};
use cclab_algo::cc::Share;
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// Sockets of a subflow.
const SOCKETS: usize = 2;

/// A connection over several paths at work.
pub(crate) struct Session {
    spec: config::Session,
    /// The number of its first socket; those of its subflows are in a row, source and destination in turn.
    socket: usize,
    subflows: Vec<Subflow>,
    scheduler: Box<dyn Spread>,
    /// First data number that is not acknowledged; next to be sent for the first time; after the last.
    una: u64,
    next: u64,
    end: u64,
    outstanding: Outstanding,
    /// First numbers of segments that are to be sent again, those due first.
    again: VecDeque<u64>,
    reassembly: Reassembly,
    /// For what the subflows are asked, and are told.
    views: Vec<View>,
    shares: Vec<Share>,
    sent_again: SentAgain,
    meter: Meter,
    start: Time,
    over: Option<Time>,
    /// When the last byte was acknowledged, and received in order.
    finished: [Option<Time>; 2],
}

/// What was sent again, whole run.
#[derive(Clone, Copy, Debug, Default)]
struct SentAgain {
    /// Bytes after a timeout or failure.
    reinjected: u64,
    /// Bytes for want of room in the receiver's buffer, and how often.
    opportunistic: u64,
    blocked: u64,
    penalties: u64,
}

/// What is measured of a session between warm-up and end.
#[derive(Default)]
struct Meter {
    on: bool,
    /// Counters when the interval began, and when the session was over.
    before: Counters,
    after: Option<Counters>,
    reorder: Histogram,
    buffer: TimeMean,
    /// When the application last got something, and the longest time for which it got nothing.
    last: Time,
    stall: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    delivered: u64,
    duplicates: u64,
    sent_again: SentAgain,
}

/// One of its subflows, beside what its sockets know.
struct Subflow {
    map: Map,
    health: Health,
    /// What its source knows to be down: its own interface, and the destination's.
    down: [bool; SOCKETS],
    /// Timeouts in a row, as last seen.
    timeouts: u32,
    /// It has sent, or somebody has acknowledged, all data before this, of a scheduler that copies.
    copied: u64,
    /// Extremes of its smoothed RTT.
    srtt: Option<(Duration, Duration)>,
    penalised: Option<Time>,
}

impl Subflow {
    fn is_down(&self) -> bool {
        self.down.contains(&true)
    }
}

/// Whether a subflow is trusted with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Sound,
    /// Its last timeouts brought nothing; until it delivers it gets nothing new.
    Failed,
}

impl Session {
    /// A session whose first socket has this number.
    pub(crate) fn new(spec: &config::Session, socket: usize, start: Time) -> Session {
        let subflow = |_| Subflow {
            map: Map::new(),
            health: Health::Sound,
            down: [false; SOCKETS],
            timeouts: 0,
            copied: 1,
            srtt: None,
            penalised: None,
        };
        Session {
            socket,
            subflows: spec.flows.clone().map(subflow).collect(),
            scheduler: spec.scheduler.make(&spec.scheduler_params).expect("a scenario's parameters are checked"),
            una: 1,
            next: 1,
            end: spec.size.map_or(u64::MAX, |size| size + 1),
            outstanding: Outstanding::default(),
            again: VecDeque::new(),
            reassembly: Reassembly::new(),
            views: vec![View::default(); spec.flows.len()],
            shares: vec![Share::default(); spec.flows.len()],
            sent_again: SentAgain::default(),
            meter: Meter::default(),
            start,
            over: None,
            finished: [None; 2],
            spec: spec.clone(),
        }
    }

    /// The numbers of its sockets.
    pub(crate) fn sockets(&self) -> Range<usize> {
        self.socket..self.socket + SOCKETS * self.subflows.len()
    }
    /// The sockets that send the data.
    pub(crate) fn sources(&self) -> impl Iterator<Item = SocketId> + use<> {
        self.sockets().step_by(SOCKETS).map(|k| SocketId(k as u32))
    }
    /// The source of a subflow.
    fn source(&self, subflow: usize) -> SocketId {
        SocketId((self.socket + SOCKETS * subflow) as u32)
    }
    /// Its flows.
    pub(crate) fn flows(&self) -> Range<usize> {
        self.spec.flows.clone()
    }
    /// Which of its subflows a socket belongs to.
    fn subflow(&self, id: SocketId) -> usize {
        (id.index() - self.socket) / SOCKETS
    }
    /// Whether all data are acknowledged.
    pub(crate) fn is_complete(&self) -> bool {
        self.una == self.end
    }

    /// A subflow may begin; whether it is to open its connection.
    pub(crate) fn begin(&mut self, id: SocketId, own: &mut [Socket]) -> bool {
        let open = !self.is_complete();
        if open {
            let subflow = self.subflow(id);
            endpoint(own, subflow).set_more(self.next < self.end);
        }
        open
    }

    /// The application writes no more.
    pub(crate) fn stop(&mut self, own: &mut [Socket]) {
        self.end = self.end.min(self.next);
        self.tell_waiting(own);
    }

    /// All data are acknowledged: the subflows close.
    pub(crate) fn close(&mut self, now: Time, own: &mut [Socket]) {
        for k in 0..self.subflows.len() {
            endpoint(own, k).close(now);
        }
    }

    /// Writes the DSS option of what leaves a socket.
    pub(crate) fn stamp(&self, id: SocketId, segment: &mut Segment) {
        if segment.flags.has(crate::wire::Flags::SYN) {
            return;
        }
        let subflow = &self.subflows[self.subflow(id)];
        let number = match segment.len {
            0 if (id.index() - self.socket) % SOCKETS == 1 => self.reassembly.next(),
            0 => 1,
            _ => subflow.map.data_at(segment.seq).unwrap_or(self.una),
        };
        segment.dss = Segment::dss_of(number);
    }

    /// Data may have arrived at the destination of a subflow; whether that makes them complete.
    pub(crate) fn on_destination(&mut self, now: Time, id: SocketId, own: &[Socket]) -> bool {
        let k = self.subflow(id);
        let Some(destination) = own[SOCKETS * k + 1].transport.tcp() else { return false };
        let received = 1 + destination.stats().bytes_received;
        let before = self.reassembly.delivered();
        while let Some((data, len)) = self.subflows[k].map.take(received) {
            let meter = &mut self.meter;
            self.reassembly.take(now, data, len, |waited| {
                if meter.on {
                    meter.reorder.record(waited);
                }
            });
        }
        if self.meter.on {
            self.meter.buffer.set(now, self.reassembly.held());
            if self.reassembly.delivered() > before {
                self.meter.stall = self.meter.stall.max(now - self.meter.last);
                self.meter.last = now;
            }
        }
        let complete = self.spec.size.is_some() && self.reassembly.next() == self.end && self.finished[1].is_none();
        if complete {
            self.finished[1] = Some(now);
        }
        complete
    }

    /// Something happened at the source of a subflow: an ACK with this DSS option, or its timer.
    pub(crate) fn on_source(&mut self, now: Time, id: SocketId, dss: u32, own: &mut [Socket]) {
        let k = self.subflow(id);
        if dss != 0 {
            self.take_data_ack(now, unwrap_offset(self.una, dss));
        }
        let source = endpoint(own, k);
        let (timeouts, acknowledged) = (source.timeouts_in_a_row(), 1 + source.stats().bytes_acked);
        self.subflows[k].map.acknowledge(acknowledged);
        let before = std::mem::replace(&mut self.subflows[k].timeouts, timeouts);
        if timeouts < before {
            self.subflows[k].health = Health::Sound;
        } else if timeouts > before {
            if timeouts >= self.spec.fail_after {
                self.subflows[k].health = Health::Failed;
            }
            self.send_again_elsewhere(k, own);
        }
        if self.spec.coupled {
            self.couple(own);
        }
    }

    fn take_data_ack(&mut self, now: Time, ack: u64) {
        if ack <= self.una {
            return;
        }
        debug_assert!(ack <= self.next, "what was not sent is not acknowledged");
        self.una = ack;
        self.outstanding.acknowledge(ack);
        if self.spec.size.is_some() && self.is_complete() {
            self.finished[0] = Some(now);
        }
    }

    /// What a subflow carries that no sound one does is to be sent on another.
    fn send_again_elsewhere(&mut self, failing: usize, own: &[Socket]) {
        if !self.spec.reinject {
            return;
        }
        let sound =
            (0..self.subflows.len()).filter(|&k| k != failing && self.is_sound(k, own)).fold(0, |s, k| s | 1 << k);
        for chunk in self.outstanding.iter_mut() {
            if chunk.carriers & (1 << failing) != 0 && chunk.carriers & sound == 0 && !chunk.queued {
                chunk.queued = true;
                self.again.push_back(chunk.start);
            }
        }
    }

    /// Whether a subflow is established and trusted, and not in the middle of a timeout.
    fn is_sound(&self, k: usize, own: &[Socket]) -> bool {
        self.is_usable(k, own) && self.subflows[k].timeouts == 0
    }

    /// Tells each law of its siblings.
    fn couple(&mut self, own: &mut [Socket]) {
        for k in 0..self.subflows.len() {
            self.shares[k] = match self.is_usable(k, own) {
                true => endpoint(own, k).share(),
                false => Share::default(),
            };
        }
        for k in 0..self.subflows.len() {
            endpoint(own, k).on_siblings(&self.shares, k);
        }
    }

    /// Whether data may flow on a subflow.
    fn is_usable(&self, k: usize, own: &[Socket]) -> bool {
        let connected = own[SOCKETS * k].transport.tcp().is_some_and(|source| source.state() == State::Established);
        connected && self.subflows[k].health == Health::Sound && !self.subflows[k].is_down()
    }

    /// An interface of a subflow, its source's or its destination's, went down or came up, and the source knows.
    pub(crate) fn on_interface(&mut self, now: Time, id: SocketId, up: bool, of_source: bool, own: &mut [Socket]) {
        let k = self.subflow(id);
        self.subflows[k].down[usize::from(!of_source)] = !up;
        match self.subflows[k].is_down() {
            false => endpoint(own, k).retry(now),
            true => self.send_again_elsewhere(k, own),
        }
    }

    /// How long news takes from the destination: half the RTT of the fastest subflow that is usable; `None` where none is.
    pub(crate) fn news_delay(&self, own: &[Socket]) -> Option<Duration> {
        let usable = (0..self.subflows.len()).filter(|&k| self.is_usable(k, own));
        usable.filter_map(|k| own[SOCKETS * k].transport.tcp()?.info().srtt).min().map(|srtt| srtt / 2)
    }

    /// Gives the next segment to a subflow, if any gets one; the source that is to send it.
    pub(crate) fn assign(&mut self, now: Time, own: &mut [Socket]) -> Option<SocketId> {
        if !self.look(now, own) {
            return None;
        }
        let k = self.assign_again(now, own).or_else(|| self.assign_new(now, own))?;
        Some(self.source(k))
    }

    /// Looks at all subflows; whether any has room.
    fn look(&mut self, now: Time, own: &mut [Socket]) -> bool {
        let mut any = false;
        for k in 0..self.subflows.len() {
            let room = if self.is_usable(k, own) { endpoint(own, k).room(now) } else { 0 };
            self.views[k].room = room;
            any |= room > 0;
        }
        if !any {
            return false;
        }
        for k in 0..self.subflows.len() {
            let usable = self.is_usable(k, own);
            let source = endpoint(own, k);
            let info = source.info();
            let subflow = &mut self.subflows[k];
            let srtt = info.srtt.unwrap_or_default();
            if info.srtt.is_some() {
                let (min, max) = subflow.srtt.unwrap_or((srtt, srtt));
                subflow.srtt = Some((min.min(srtt), max.max(srtt)));
            }
            let (srtt_min, srtt_max) = subflow.srtt.unwrap_or_default();
            let mss = u64::from(source.mss());
            self.views[k] = View {
                usable: usable && subflow.timeouts == 0,
                ready: false,
                room: self.views[k].room,
                srtt,
                srtt_min,
                srtt_max,
                rttvar: info.rttvar,
                cwnd: info.cwnd,
                ssthresh: info.ssthresh,
                in_flight: info.bytes_in_flight,
                queued: subflow.map.end() - info.snd_nxt.min(subflow.map.end()),
                mss,
                pacing_rate: info.pacing_rate,
                delivery_rate: info.delivery_rate,
                behind: 0,
            };
        }
        true
    }

    /// Asks the scheduler who of these gets a segment of `len` bytes.
    fn ask(&mut self, now: Time, len: u64, again: bool) -> Choice {
        let scene = Scene {
            now,
            waiting: if self.end == u64::MAX { u64::MAX } else { self.end - self.next },
            window: self.window(),
            offered: self.spec.receive_buffer,
            len,
            again,
            blocked: self.sent_again.blocked,
            subflows: &self.views,
        };
        let choice = self.scheduler.choose(&scene);
        if choice == Choice::Wait && self.views.iter().all(|view| view.in_flight == 0) {
            // Nothing would ever happen again.
            return scene
                .fastest(|view| view.ready)
                .map_or(Choice::Wait, if len > 0 { Choice::New } else { Choice::Copy });
        }
        choice
    }

    /// Bytes that the receiver has room for beyond those that were sent.
    fn window(&self) -> u64 {
        (self.una + self.spec.receive_buffer).saturating_sub(self.next)
    }

    /// Sends the first segment that is due to be sent again, if somebody has room who may.
    fn assign_again(&mut self, now: Time, own: &mut [Socket]) -> Option<usize> {
        loop {
            let first = *self.again.front()?;
            let Some(chunk) = self.outstanding.at(first).filter(|chunk| chunk.start == first) else {
                self.again.pop_front(); // acknowledged
                continue;
            };
            let (start, len, carriers) = (chunk.start, chunk.len, chunk.carriers);
            let fresh = |k: usize| carriers & (1 << k) == 0;
            let anybody = !self.views.iter().enumerate().any(|(k, view)| view.usable && fresh(k));
            for (k, view) in self.views.iter_mut().enumerate() {
                view.ready = view.takes(len.into()) && (anybody || fresh(k));
            }
            if !self.views.iter().any(|view| view.ready) {
                return None;
            }
            let Choice::New(k) = self.ask(now, len.into(), true) else { return None };
            self.again.pop_front();
            if let Some(chunk) = self.outstanding.at(start) {
                chunk.queued = false;
            }
            self.sent_again.reinjected += u64::from(len);
            self.send_copy(now, k, start, len, own);
            return Some(k);
        }
    }

    /// Sends new data, or a copy for a scheduler that wants one.
    fn assign_new(&mut self, now: Time, own: &mut [Socket]) -> Option<usize> {
        let waiting = self.end - self.next;
        let mss = self.views.iter().filter(|view| view.usable).map(|view| view.mss).min()?;
        let full = waiting.min(mss);
        let window = self.window();
        // Less than a segment only if nothing is out that will make room (RFC 9293 §3.8.6.2.1).
        let len = if full <= window || self.una == self.next { full.min(window) } else { 0 };
        let copies = self.scheduler.copies();
        for k in 0..self.views.len() {
            let copy = if copies { self.copy_for(k) } else { None };
            let view = &mut self.views[k];
            view.behind = copy.map_or(0, |(start, _)| self.next - start);
            let next = copy.map_or(len, |(_, len)| len.into());
            view.ready = next > 0 && view.takes(next);
        }
        if !self.views.iter().any(|view| view.ready) {
            return if len == 0 && waiting > 0 { self.assign_stuck(now, own) } else { None };
        }
        match self.ask(now, len, false) {
            Choice::Wait => None,
            Choice::New(k) => {
                debug_assert!(len > 0 && self.views[k].ready, "a scheduler chooses who is ready");
                let (start, len) = (self.next, len as u32);
                self.next += u64::from(len);
                self.outstanding.push(start, len, k);
                self.write(now, k, start, len, own);
                if self.next == self.end {
                    self.tell_waiting(own);
                }
                Some(k)
            }
            Choice::Copy(k) => {
                let (start, len) = self.copy_for(k)?;
                self.send_copy(now, k, start, len, own);
                Some(k)
            }
        }
    }

    /// The first segment behind those that subflow `k` has copied which others carry and it does not.
    fn copy_for(&mut self, k: usize) -> Option<(u64, u32)> {
        let mut at = self.subflows[k].copied;
        while let Some(chunk) = self.outstanding.at(at).filter(|chunk| chunk.carriers & (1 << k) != 0) {
            at = chunk.end();
        }
        self.subflows[k].copied = at;
        self.outstanding.at(at).map(|chunk| (chunk.start, chunk.len))
    }

    /// The receiver's buffer is full: what holds it up is sent again on the fastest subflow with room, and those that carry it are
    /// slowed down (Raiciu et al., *How Hard Can It Be?*, NSDI 2012, §4.2).
    fn assign_stuck(&mut self, now: Time, own: &mut [Socket]) -> Option<usize> {
        let &map::Chunk { start, len, carriers, .. } = self.outstanding.first()?;
        let ready = |view: &View| view.takes(len.into());
        let (fast, view) =
            self.views.iter().enumerate().filter(|(_, view)| ready(view)).min_by_key(|(_, view)| view.srtt)?;
        if carriers & (1 << fast) != 0 {
            return None;
        }
        let srtt = view.srtt;
        let mut worth = true;
        for k in (0..self.subflows.len()).filter(|k| carriers & (1 << k) != 0) {
            let slow = self.views[k];
            // Linux's condition for a copy to be worth its bytes.
            worth &= slow.cwnd <= 4 * slow.mss || srtt * 4 < slow.srtt;
            let due = self.subflows[k].penalised.is_none_or(|last| now.since(last) >= slow.srtt);
            if self.spec.penalise && srtt < slow.srtt && due {
                self.subflows[k].penalised = Some(now);
                self.sent_again.penalties += 1;
                endpoint(own, k).penalise(now);
            }
        }
        if !self.spec.opportunistic || !worth {
            return None;
        }
        self.sent_again.opportunistic += u64::from(len);
        self.sent_again.blocked += 1;
        self.send_copy(now, fast, start, len, own);
        Some(fast)
    }

    /// A subflow gets a segment that others have had.
    fn send_copy(&mut self, now: Time, k: usize, start: u64, len: u32, own: &mut [Socket]) {
        if let Some(chunk) = self.outstanding.at(start) {
            chunk.carriers |= 1 << k;
        }
        self.write(now, k, start, len, own);
    }

    fn write(&mut self, now: Time, k: usize, start: u64, len: u32, own: &mut [Socket]) {
        self.subflows[k].map.assign(start, len);
        endpoint(own, k).write(now, len.into());
    }

    /// Tells the subflows whether more data wait.
    fn tell_waiting(&self, own: &mut [Socket]) {
        for k in 0..self.subflows.len() {
            endpoint(own, k).set_more(self.next < self.end);
        }
    }

    fn counters(&self) -> Counters {
        Counters {
            delivered: self.reassembly.delivered(),
            duplicates: self.reassembly.duplicate_bytes(),
            sent_again: self.sent_again,
        }
    }

    /// What is remembered of segments takes so much.
    pub(crate) fn kept_bytes(&self) -> usize {
        let mapped: usize = self.subflows.iter().map(|subflow| subflow.map.kept_bytes()).sum();
        mapped + self.outstanding.kept_bytes() + self.reassembly.kept_bytes()
    }

    /// The measured interval begins: now for a session that runs, at its start for a later one.
    pub(crate) fn begin_measuring(&mut self, now: Time) {
        let since = now.max(self.start);
        self.meter = Meter {
            on: self.over.is_none(),
            before: self.meter.after.unwrap_or_else(|| self.counters()),
            after: self.meter.after,
            last: since,
            ..Meter::default()
        };
        self.meter.buffer.begin(since, self.reassembly.held());
    }

    /// The session is over, and with it its measured interval.
    pub(crate) fn end_measuring(&mut self, now: Time) {
        if self.over.is_none() {
            (self.over, self.meter.after) = (Some(now), Some(self.counters()));
            self.meter.on = false;
        }
    }
}

/// The endpoint that sends the data of a subflow.
fn endpoint(own: &mut [Socket], subflow: usize) -> &mut Endpoint {
    own[SOCKETS * subflow].transport.tcp_mut().expect("a subflow is a TCP connection")
}
