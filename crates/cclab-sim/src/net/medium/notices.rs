//! What stations do for senders that are told of their route: notices on their way, packets that are kept meanwhile.
//!
//! A station knows of a flow where its data come from; a notice goes from station to station that way, whatever has become of the
//! routes. At the source's station it leaves the medium. What a sender understands decides ([`cc::Notices`]):
//!
//! * TCP-F: who loses the route sends RFN. Who has another way discards it; who passes it on remembers that, and sends RRN as soon
//!   as it learns of a way.
//! * ELFN: the source's station tells when it loses the route, or learns that it is lost.
//! * ICMP: who drops a packet for want of a way says that the destination is unreachable, once a second at most.
//! * TCP-BuS: who loses the route sends ERDN and keeps the packets of the flow; so do all that pass it on. Who learns of a way sends
//!   ERSN and lets them go. Both are sent again until the neighbour is heard passing them on.
//! * Hops: the source's station tells how long the route is, there and back.

use super::routing::Why;
use super::{Parcel, ParcelId, StationId};
use crate::wire::{Body, Packet, SocketId};
use cclab_algo::cc::{self, News};
use cclab_algo::{Duration, Time};
use std::collections::BTreeMap;

/// Packets of a flow that a station keeps.
const ROOM: usize = 50;
/// How long a station listens for the neighbour that is to pass a notice on, and how often it sends it again.
const PATIENCE: Duration = Duration::from_millis(100);
const REPEATS: u32 = 3;
/// Between two notices that a destination is unreachable, from one station to one flow; and how old a trace of a flow may be.
const RECENT: Duration = Duration::from_secs(1);
/// How often a station asks routing for a way, and for how long.
const SEEK: Duration = Duration::from_secs(2);
const GIVE_UP: Duration = Duration::from_secs(30);

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    /// A notice goes to a neighbour.
    Send { at: StationId, next: StationId, packet: Packet },
    /// A notice leaves the medium, at the source's station.
    Tell(Packet),
    /// A parcel that was kept goes on.
    Release { at: StationId, from: Option<StationId>, parcel: ParcelId },
    /// A parcel is not kept, or no longer.
    Drop { at: StationId, parcel: ParcelId },
    /// Routing is to look for a way; if it is `again`, it may have found one without a word.
    Seek { at: StationId, to: StationId, again: bool },
}

/// What a station knows of a flow.
#[derive(Default)]
struct Trace {
    /// Where its data come from; `None`: from here.
    upstream: Option<StationId>,
    /// When they last did.
    passed: Time,
    /// Offset after what has passed.
    end: u64,
    /// Since when the route is broken, here or further on.
    broken: Option<Time>,
    /// The first offset that this station or one before it keeps since then.
    head: u64,
    /// When the latest good news began its way: what is older and bad is no longer so.
    restored: Time,
    /// When it last told that the destination is unreachable.
    told: Option<Time>,
    /// By offset.
    kept: BTreeMap<u64, ParcelId>,
}

impl Trace {
    /// It was found broken just now, and told of: a route error comes beside the notice.
    fn is_known_broken(&self, now: Time) -> bool {
        self.broken.is_some_and(|since| now.since(since) < RECENT)
    }
}

struct Flow {
    notices: cc::Notices,
    /// The socket that its data are for.
    to: SocketId,
    source: StationId,
    destination: StationId,
    /// Offset up to which the receiver has everything: what a reply of the destination tells.
    received: u64,
    /// Hops there and back, as last told.
    round_trip: u16,
    traces: BTreeMap<StationId, Trace>,
}

/// A notice that is sent again unless the neighbour passes it on.
struct Pending {
    at: StationId,
    next: StationId,
    packet: Packet,
    due: Time,
    left: u32,
}

/// A station that looks for a way.
struct Search {
    at: StationId,
    to: StationId,
    due: Time,
    until: Time,
}

/// The notices of a medium.
#[derive(Default)]
pub(super) struct Notifier {
    /// What the sender of each flow understands.
    kinds: Vec<cc::Notices>,
    flows: BTreeMap<u32, Flow>,
    /// Those flows, in the order in which their first data came.
    order: Vec<u32>,
    pending: Vec<Pending>,
    searches: Vec<Search>,
    /// What is to be done, in this order.
    pub(super) effects: Vec<Effect>,
}

fn seq(packet: &Packet) -> u64 {
    if let Body::Tcp(segment) = &packet.body { segment.seq } else { 0 }
}

fn same_kind(a: &Packet, b: &Packet) -> bool {
    let (Body::News(x), Body::News(y)) = (&a.body, &b.body) else { return false };
    a.to == b.to && std::mem::discriminant(x) == std::mem::discriminant(y)
}

impl Notifier {
    /// The sender of a flow understands these.
    pub(super) fn set(&mut self, flow: usize, notices: cc::Notices) {
        if self.kinds.len() <= flow {
            self.kinds.resize(flow + 1, cc::Notices::None);
        }
        self.kinds[flow] = notices;
        self.flows.remove(&(flow as u32));
        self.order.retain(|&known| known != flow as u32);
    }

    /// Whether stations listen to who passes notices on.
    pub(super) fn overhears(&self) -> bool {
        self.kinds.contains(&cc::Notices::Bus)
    }

    /// Whether it concerns itself with this flow.
    pub(super) fn knows(&self, flow: u32) -> bool {
        self.kinds.get(flow as usize).is_some_and(|&kind| kind != cc::Notices::None)
    }

    /// A packet of a flow is at a station that is not its destination, from a neighbour or from here; whether it is kept.
    pub(super) fn pass(
        &mut self,
        now: Time,
        at: StationId,
        from: Option<StationId>,
        id: ParcelId,
        parcel: &Parcel,
    ) -> bool {
        let packet = &parcel.packet;
        let Some(destination) = parcel.destination.filter(|_| self.knows(packet.flow)) else { return false };
        if !packet.forward {
            if let (Some(flow), Body::Tcp(segment), None) = (self.flows.get_mut(&packet.flow), &packet.body, from) {
                flow.received = flow.received.max(segment.ack);
            }
            return false;
        }
        let notices = self.kinds[packet.flow as usize];
        let flow = self.flows.entry(packet.flow).or_insert_with(|| {
            self.order.push(packet.flow);
            Flow {
                notices,
                to: packet.to,
                source: parcel.source,
                destination,
                received: 0,
                round_trip: 0,
                traces: BTreeMap::new(),
            }
        });
        let trace = flow.traces.entry(at).or_default();
        (trace.upstream, trace.passed) = (from, now);
        trace.end = trace.end.max(seq(packet) + u64::from(packet.payload()));
        notices == cc::Notices::Bus && trace.broken.is_some() && self.keep(at, packet.flow, id, packet)
    }

    /// A station keeps a packet, if it has room.
    fn keep(&mut self, at: StationId, flow: u32, id: ParcelId, packet: &Packet) -> bool {
        let Some(trace) = self.trace(flow, at) else { return false };
        if trace.kept.len() >= ROOM || trace.kept.contains_key(&seq(packet)) {
            self.effects.push(Effect::Drop { at, parcel: id });
        } else {
            trace.kept.insert(seq(packet), id);
        }
        true
    }

    /// The flows to a destination. Where several are told of the same, their notices leave in this order: which number a flow has
    /// in a scenario does not matter.
    fn towards(&self, to: StationId) -> Vec<u32> {
        self.order.iter().copied().filter(|number| self.flows[number].destination == to).collect()
    }

    fn trace(&mut self, flow: u32, at: StationId) -> Option<&mut Trace> {
        self.flows.get_mut(&flow)?.traces.get_mut(&at)
    }

    /// A packet of a flow has reached its destination, from where routing knows a way of so many hops to its source.
    pub(super) fn delivered(&mut self, now: Time, parcel: &Parcel, hops: u8) {
        if let Some(flow) = self.flows.get_mut(&parcel.packet.flow)
            && flow.notices == cc::Notices::Hops
            && !parcel.packet.forward
            && hops > 0
        {
            let round_trip = u16::from(hops) + u16::from(parcel.hops);
            if std::mem::replace(&mut flow.round_trip, round_trip) != round_trip {
                let news = Packet::news(News::Hops { round_trip }, flow.to, now);
                self.effects.push(Effect::Tell(news));
            }
        }
    }

    /// Routing drops a packet of a flow; whether it is kept instead.
    pub(super) fn dropped(&mut self, now: Time, at: StationId, id: ParcelId, packet: &Packet, why: Why) -> bool {
        let for_want_of_a_way = matches!(why, Why::Unreachable | Why::NoRoute | Why::Buffer);
        if !packet.forward || !for_want_of_a_way || !self.knows(packet.flow) {
            return false;
        }
        let notices = self.kinds[packet.flow as usize];
        let Some(trace) = self.trace(packet.flow, at) else { return false };
        match notices {
            cc::Notices::Bus if trace.broken.is_some() => self.keep(at, packet.flow, id, packet),
            cc::Notices::Unreachable if trace.told.is_none_or(|told| now.since(told) >= RECENT) => {
                trace.told = Some(now);
                self.send(now, packet.flow, at, News::Unreachable);
                false
            }
            _ => false,
        }
    }

    /// A station had a way to `to` and has none now. `failed` could not be sent.
    pub(super) fn route_lost(
        &mut self,
        now: Time,
        at: StationId,
        to: StationId,
        failed: Option<&Packet>,
        repairing: bool,
    ) {
        for number in self.towards(to) {
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            let (notices, is_source) = (flow.notices, flow.source == at);
            let failed = failed.filter(|packet| packet.flow == number && packet.forward).map(seq);
            let Some(trace) = flow.traces.get_mut(&at) else { continue };
            let searches = self.searches.iter().any(|search| (search.at, search.to) == (at, to));
            let gives_up = notices == cc::Notices::Bus && failed.is_none() && !repairing && !is_source && !searches;
            if gives_up && trace.broken.is_some() {
                // It could not mend the route, which now begins further up.
                self.forget(at, to);
                continue;
            }
            if failed.is_none() && (now.since(trace.passed) > RECENT || trace.is_known_broken(now)) {
                continue;
            }
            match notices {
                cc::Notices::TcpF => {
                    trace.broken = Some(now);
                    self.send(now, number, at, News::RouteFailed);
                    if is_source {
                        self.search(now, at, to);
                    }
                }
                cc::Notices::Elfn if is_source => {
                    let seq = failed.unwrap_or(trace.end);
                    self.send(now, number, at, News::LinkFailed { seq });
                }
                cc::Notices::Bus => {
                    trace.broken = Some(now);
                    let head = failed.unwrap_or(trace.end);
                    trace.head = head;
                    self.send(now, number, at, News::Disconnected { head });
                    if !repairing {
                        self.search(now, at, to);
                    }
                }
                _ => {}
            }
        }
    }

    /// A station has a way to `to`. `told`: up to where the receiver of a flow has everything, if a reply said so.
    pub(super) fn route_found(&mut self, now: Time, at: StationId, to: StationId, told: impl Fn(u32) -> Option<u64>) {
        self.searches.retain(|search| (search.at, search.to) != (at, to));
        for number in self.towards(to) {
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            let (notices, received) = (flow.notices, told(number).unwrap_or(flow.received));
            let is_source = flow.source == at;
            let Some(trace) = flow.traces.get_mut(&at) else { continue };
            trace.restored = now;
            let head = trace.head;
            if trace.broken.take().is_some() {
                self.release(number, at);
                if notices == cc::Notices::Bus && is_source {
                    // The whole way is new: what was kept further down is lost.
                    self.send(now, number, at, News::Disconnected { head });
                }
                let restored = notices == cc::Notices::TcpF;
                let news = if restored { News::RouteRestored } else { News::Reconnected { received } };
                self.send(now, number, at, news);
            }
        }
    }

    /// A notice has reached a station, from its neighbour. `way` is the station's next one to the flow's destination, if it has any.
    pub(super) fn arrive(
        &mut self,
        now: Time,
        at: StationId,
        from: StationId,
        packet: &Packet,
        way: impl FnOnce(StationId) -> Option<StationId>,
    ) {
        let Body::News(news) = packet.body else { return };
        let Some((&number, flow)) = self.flows.iter_mut().find(|(_, flow)| flow.to == packet.to) else { return };
        let (to, is_source) = (flow.destination, flow.source == at);
        let Some(trace) = flow.traces.get_mut(&at) else { return };
        if is_source {
            // Nobody will be heard passing it on.
            self.pending.retain(|pending| pending.at != from || !same_kind(&pending.packet, packet));
        }
        match news {
            News::RouteFailed | News::Disconnected { .. } if packet.left < trace.restored => return,
            News::RouteFailed => {
                if way(to).is_some_and(|next| next != from) || trace.is_known_broken(now) {
                    return;
                }
                trace.broken = Some(now);
                if is_source {
                    self.search(now, at, to);
                }
            }
            News::Disconnected { .. } => {
                let known = trace.broken.replace(now).is_some();
                trace.head = if known { trace.head } else { trace.end };
            }
            News::RouteRestored | News::Reconnected { .. } => {
                trace.restored = trace.restored.max(packet.left);
                if trace.broken.take().is_none() && news == News::RouteRestored {
                    return;
                }
                self.release(number, at);
            }
            _ => {}
        }
        self.pass_on(now, number, at, *packet);
    }

    /// A station hears a neighbour send a notice to another one.
    pub(super) fn overheard(&mut self, at: StationId, from: StationId, packet: &Packet) {
        self.pending.retain(|pending| (pending.at, pending.next) != (at, from) || !same_kind(&pending.packet, packet));
    }

    /// A notice begins its way.
    fn send(&mut self, now: Time, number: u32, at: StationId, news: News) {
        if let Some(flow) = self.flows.get(&number) {
            self.pass_on(now, number, at, Packet::news(news, flow.to, now));
        }
    }

    /// A notice goes on towards the source.
    fn pass_on(&mut self, now: Time, number: u32, at: StationId, packet: Packet) {
        let Some(flow) = self.flows.get(&number) else { return };
        let upstream = flow.traces.get(&at).and_then(|trace| trace.upstream);
        let Some(next) = upstream.filter(|_| at != flow.source) else {
            self.effects.push(Effect::Tell(packet));
            return;
        };
        self.effects.push(Effect::Send { at, next, packet });
        if flow.notices == cc::Notices::Bus {
            // what it said before is no longer so
            self.pending.retain(|pending| pending.at != at || pending.packet.to != packet.to);
            self.pending.push(Pending { at, next, packet, due: now + PATIENCE, left: REPEATS });
        }
    }

    /// What a station keeps goes on.
    fn release(&mut self, flow: u32, at: StationId) {
        if let Some(trace) = self.trace(flow, at) {
            let (from, kept) = (trace.upstream, std::mem::take(&mut trace.kept));
            self.effects.extend(kept.into_values().map(|parcel| Effect::Release { at, from, parcel }));
        }
    }

    fn search(&mut self, now: Time, at: StationId, to: StationId) {
        if !self.searches.iter().any(|search| (search.at, search.to) == (at, to)) {
            self.searches.push(Search { at, to, due: now + SEEK, until: now + GIVE_UP });
            self.effects.push(Effect::Seek { at, to, again: false });
        }
    }

    /// When [`on_timer`](Self::on_timer) wants to be called.
    pub(super) fn next_timer(&self) -> Time {
        let pending = self.pending.iter().map(|pending| pending.due);
        pending.chain(self.searches.iter().map(|search| search.due)).min().unwrap_or(Time::NEVER)
    }

    /// Does what is due.
    pub(super) fn on_timer(&mut self, now: Time) {
        for pending in self.pending.iter_mut().filter(|pending| pending.due <= now) {
            if pending.left > 0 {
                let Pending { at, next, packet, .. } = *pending;
                self.effects.push(Effect::Send { at, next, packet });
            }
            (pending.due, pending.left) = (now + PATIENCE, pending.left.wrapping_sub(1));
        }
        self.pending.retain(|pending| pending.left != u32::MAX);
        for search in self.searches.iter_mut().filter(|search| search.due <= now) {
            self.effects.push(Effect::Seek { at: search.at, to: search.to, again: true });
            search.due = now + SEEK;
        }
        let (over, searches) = std::mem::take(&mut self.searches).into_iter().partition(|s| s.until <= now);
        self.searches = searches;
        for Search { at, to, .. } in over {
            self.forget(at, to);
        }
    }

    /// A station gives a way up, and what it keeps.
    fn forget(&mut self, at: StationId, to: StationId) {
        for number in self.towards(to) {
            if let Some(trace) = self.trace(number, at) {
                trace.broken = None;
                let kept = std::mem::take(&mut trace.kept);
                self.effects.extend(kept.into_values().map(|parcel| Effect::Drop { at, parcel }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Parcels;
    use super::*;
    use crate::wire::Segment;

    /// Stations in a row, a flow from the first to the last, notices that take no time.
    struct Row {
        notifier: Notifier,
        parcels: Parcels,
        stations: u32,
        now: Time,
        /// The way that each station has, if any.
        ways: BTreeMap<u32, u32>,
        /// Notices lost on their way, each the next that this station sends.
        deaf: Vec<u32>,
        /// What came out.
        told: Vec<News>,
        /// Who sent a notice, to whom.
        sent: Vec<(u32, u32, News)>,
        released: Vec<(u32, u64)>,
        dropped: usize,
        sought: Vec<u32>,
    }

    const MSS: u64 = 1000;

    impl Row {
        fn new(notices: cc::Notices, stations: u32) -> Row {
            let mut notifier = Notifier::default();
            notifier.set(0, notices);
            Row {
                notifier,
                parcels: Parcels::default(),
                stations,
                now: Time(1_000_000_000),
                ways: (0..stations - 1).map(|i| (i, i + 1)).collect(),
                deaf: vec![],
                told: vec![],
                sent: vec![],
                released: vec![],
                dropped: 0,
                sought: vec![],
            }
        }

        fn parcel(&self, forward: bool, number: u64) -> Parcel {
            let ends = [StationId(0), StationId(self.stations - 1)];
            let [source, to] = if forward { ends } else { [ends[1], ends[0]] };
            let (seq, ack) = if forward { (1 + number * MSS, 1) } else { (1, 1 + number * MSS) };
            let segment = Segment { seq, ack, len: if forward { MSS as u32 } else { 0 }, ..Segment::default() };
            let mut packet = Packet::tcp(0, forward, self.now, &segment);
            packet.to = SocketId(u32::from(forward));
            Parcel { packet, source, destination: Some(to), ttl: 30, hops: 0, message: None, path: None }
        }

        /// Segment `number` goes from the first station up to station `to`; where it was kept, if it was.
        fn data(&mut self, number: u64, to: u32) -> Option<u32> {
            let parcel = self.parcel(true, number);
            let id = self.parcels.insert(parcel.clone());
            (0..=to).find(|&at| {
                let from = at.checked_sub(1).map(StationId);
                self.notifier.pass(self.now, StationId(at), from, id, &parcel)
            })
        }

        /// The receiver acknowledges segments before `number`.
        fn ack(&mut self, number: u64, hops: u8) {
            let mut parcel = self.parcel(false, number);
            let id = self.parcels.insert(parcel.clone());
            self.notifier.pass(self.now, StationId(self.stations - 1), None, id, &parcel);
            parcel.hops = self.stations as u8 - 1;
            self.notifier.delivered(self.now, &parcel, hops);
            self.settle();
        }

        fn settle(&mut self) {
            while !self.notifier.effects.is_empty() {
                for effect in std::mem::take(&mut self.notifier.effects) {
                    match effect {
                        Effect::Tell(packet) => {
                            assert_eq!((packet.size, packet.to, packet.flow), (40, SocketId(1), Packet::NO_FLOW));
                            let Body::News(news) = packet.body else { panic!("{packet:?}") };
                            self.told.push(news);
                        }
                        Effect::Send { at, next, packet } => {
                            let Body::News(news) = packet.body else { panic!("{packet:?}") };
                            self.sent.push((at.0, next.0, news));
                            if let Some(i) = self.deaf.iter().position(|&deaf| deaf == at.0) {
                                self.deaf.remove(i);
                                continue;
                            }
                            // The neighbour on the other side hears it too.
                            self.notifier.overheard(StationId(at.0 + 1), at, &packet);
                            let way = self.ways.get(&next.0).map(|&way| StationId(way));
                            self.notifier.arrive(self.now, next, at, &packet, |_| way);
                        }
                        Effect::Release { at, parcel, .. } => {
                            self.released.push((at.0, seq(&self.parcels[parcel].packet) / MSS))
                        }
                        Effect::Drop { .. } => self.dropped += 1,
                        Effect::Seek { at, .. } => self.sought.push(at.0),
                    }
                }
            }
        }

        /// The link behind `at` breaks under segment `number`.
        fn breaks(&mut self, at: u32, number: u64) {
            self.ways.remove(&at);
            let packet = self.parcel(true, number).packet;
            let to = StationId(self.stations - 1);
            self.notifier.route_lost(self.now, StationId(at), to, Some(&packet), false);
            self.settle();
        }

        fn finds(&mut self, at: u32) {
            self.notifier.route_found(self.now, StationId(at), StationId(self.stations - 1), |_| None);
            self.settle();
        }

        fn wait(&mut self, ms: u64) {
            let end = self.now + Duration::from_millis(ms);
            while self.notifier.next_timer() <= end {
                self.now = self.notifier.next_timer();
                self.notifier.on_timer(self.now);
                self.settle();
            }
            self.now = end;
        }
    }

    /// TCP-F: RFN travels up to the source, and RRN when the station that failed, or one that passed RFN on, has a way.
    #[test]
    fn rfn_and_rrn_reach_the_source() {
        for finder in [3, 2, 1, 0] {
            let mut row = Row::new(cc::Notices::TcpF, 6);
            (0..5).for_each(|i| assert_eq!(row.data(i, 3), None));
            row.breaks(3, 2);
            assert_eq!(row.told, [News::RouteFailed]);
            assert_eq!(row.sent.iter().map(|s| s.0).collect::<Vec<_>>(), [3, 2, 1]);
            row.finds(finder);
            assert_eq!(row.told, [News::RouteFailed, News::RouteRestored], "by {finder}");
            row.finds(0);
            assert_eq!(row.told.len(), 2, "once");
        }
    }

    /// TCP-F: a station with another way discards RFN; the sender never sleeps.
    #[test]
    fn another_way_stops_rfn() {
        let mut row = Row::new(cc::Notices::TcpF, 6);
        row.data(0, 3);
        row.ways.insert(1, 7);
        row.breaks(3, 0);
        row.finds(3);
        assert!(row.told.is_empty());
        assert_eq!(row.sent.iter().map(|s| s.0).collect::<Vec<_>>(), [3, 2, 3, 2], "RRN ends where RFN did");
    }

    /// While the sender sleeps its station asks for a way, every two seconds, for 30 s.
    #[test]
    fn a_way_is_sought() {
        let mut row = Row::new(cc::Notices::TcpF, 4);
        row.data(0, 1);
        row.breaks(1, 0);
        row.wait(60_000);
        assert_eq!(row.sought.len(), 16);
        assert!(row.sought.iter().all(|&at| at == 0));
    }

    /// ELFN: nothing but at the source's own station, with the packet that could not be sent or what comes next.
    #[test]
    fn elfn_is_told_at_the_source() {
        let mut row = Row::new(cc::Notices::Elfn, 4);
        row.data(0, 2);
        row.breaks(2, 0);
        assert!(row.told.is_empty() && row.sent.is_empty());
        row.notifier.route_lost(row.now, StationId(0), StationId(3), None, false);
        row.settle();
        assert_eq!(row.told, [News::LinkFailed { seq: 1001 }]);
        row.breaks(0, 0);
        assert_eq!(row.told[1], News::LinkFailed { seq: 1 });
        // A full queue is no failure of a link.
        let parcel = row.parcel(true, 1);
        let id = row.parcels.insert(parcel.clone());
        assert!(!row.notifier.dropped(row.now, StationId(0), id, &parcel.packet, Why::QueueFull));
        assert_eq!(row.told.len(), 2);
    }

    /// ICMP: who drops for want of a way tells, not who drops for want of room, and not twice in a second.
    #[test]
    fn unreachable_is_told_once_a_second() {
        let mut row = Row::new(cc::Notices::Unreachable, 4);
        (0..3).for_each(|i| assert_eq!(row.data(i, 2), None));
        let lose = |row: &mut Row, why| {
            let parcel = row.parcel(true, 0);
            let id = row.parcels.insert(parcel.clone());
            assert!(!row.notifier.dropped(row.now, StationId(2), id, &parcel.packet, why));
            row.settle();
            row.told.len()
        };
        assert_eq!(lose(&mut row, Why::QueueFull), 0);
        assert_eq!(lose(&mut row, Why::Unreachable), 1);
        assert_eq!(lose(&mut row, Why::NoRoute), 1);
        row.notifier.route_found(row.now, StationId(2), StationId(4), |_| None);
        assert_eq!(lose(&mut row, Why::NoRoute), 1, "nor if there was a way meanwhile");
        row.wait(1000);
        assert_eq!(lose(&mut row, Why::NoRoute), 2);
        assert_eq!(row.told, [News::Unreachable; 2]);
        assert_eq!(row.sent.iter().map(|s| (s.0, s.1)).collect::<Vec<_>>(), [(2, 1), (1, 0), (2, 1), (1, 0)]);
    }

    /// BuS: ERDN names the segment that could not be sent; every station that hears of it keeps what comes, and lets it go at ERSN,
    /// which names what the receiver has.
    #[test]
    fn bus_keeps_and_lets_go() {
        let mut row = Row::new(cc::Notices::Bus, 6);
        (0..6).for_each(|i| assert_eq!(row.data(i, 3), None));
        row.ack(2, 5);
        row.breaks(3, 4);
        assert_eq!(row.told, [News::Disconnected { head: 4001 }]);
        assert_eq!(row.sought, [3]);
        // Dropped by routing at the pivoting node, and on its way at others: 4, 5 at 3; 6 at 2, 7 at the source's.
        for number in [5, 4] {
            let parcel = row.parcel(true, number);
            let id = row.parcels.insert(parcel.clone());
            assert!(row.notifier.dropped(row.now, StationId(3), id, &parcel.packet, Why::Unreachable));
        }
        let parcel = row.parcel(true, 6);
        let id = row.parcels.insert(parcel.clone());
        assert!(row.notifier.pass(row.now, StationId(2), Some(StationId(1)), id, &parcel));
        assert_eq!(row.data(7, 3), Some(0));
        row.finds(3);
        assert_eq!(row.told[1..], [News::Reconnected { received: 2001 }]);
        assert_eq!(row.released, [(3, 4), (3, 5), (2, 6), (0, 7)]);
        assert_eq!(row.data(8, 3), None);
        row.wait(60_000);
        assert_eq!((row.sought.len(), row.dropped), (1, 0));
    }

    /// BuS: the station above the break mends nothing, and the source finds a way of its own: what lies on the old one is lost.
    #[test]
    fn bus_counts_on_nothing_that_a_repair_in_vain_kept() {
        let mut row = Row::new(cc::Notices::Bus, 6);
        (0..6).for_each(|i| assert_eq!(row.data(i, 3), None));
        row.ack(2, 5);
        let (packet, to) = (row.parcel(true, 4).packet, StationId(5));
        row.notifier.route_lost(row.now, StationId(3), to, Some(&packet), true);
        row.settle();
        assert_eq!(row.told, [News::Disconnected { head: 4001 }]);
        assert_eq!(row.data(6, 3), Some(0), "the source's own station keeps what comes later");
        let parcel = row.parcel(true, 4);
        let id = row.parcels.insert(parcel.clone());
        assert!(row.notifier.dropped(row.now, StationId(3), id, &parcel.packet, Why::NoRoute));
        (0..4).rev().for_each(|at| row.notifier.route_lost(row.now, StationId(at), to, None, false));
        row.settle();
        assert_eq!(row.dropped, 1);
        row.finds(0);
        assert_eq!(row.told[1..], [News::Disconnected { head: 6001 }, News::Reconnected { received: 2001 }]);
        assert_eq!(row.released, [(0, 6)]);
        row.finds(3);
        assert_eq!((row.told.len(), row.released.len()), (3, 1), "late");
    }

    /// BuS: each station has room for 50 packets of a flow, and gives up after 30 s.
    #[test]
    fn room_and_patience_are_limited() {
        let mut row = Row::new(cc::Notices::Bus, 3);
        row.data(0, 1);
        row.breaks(1, 0);
        (1..=60).for_each(|i| assert_eq!(row.data(i, 1), Some(0)));
        row.settle();
        assert_eq!(row.dropped, 10);
        for i in 0..3 {
            let parcel = row.parcel(true, i);
            let id = row.parcels.insert(parcel.clone());
            assert!(row.notifier.dropped(row.now, StationId(1), id, &parcel.packet, Why::NoRoute));
        }
        row.wait(31_000);
        assert_eq!(row.dropped, 13, "those that look for a way");
    }

    /// BuS: a lost ERDN is sent again after 100 ms, up to three times; the source's station needs nobody to pass it on.
    #[test]
    fn a_lost_erdn_is_repaired() {
        for (who, lost, told) in [(3, 1, true), (3, 3, true), (3, 4, false), (2, 1, true)] {
            let mut row = Row::new(cc::Notices::Bus, 6);
            row.data(0, 3);
            row.deaf = vec![who; lost];
            row.breaks(3, 0);
            assert!(row.told.is_empty());
            row.wait(90);
            assert!(row.told.is_empty());
            row.wait(410);
            assert_eq!(row.told.contains(&News::Disconnected { head: 1 }), told, "{lost} of {who} lost");
            let sent = row.sent.len();
            row.wait(1000);
            assert_eq!(row.sent.len(), sent, "it goes on and on");
        }
    }

    /// ERDN under way while the route is mended: it is older than ERSN, and nobody heeds it.
    #[test]
    fn old_bad_news_is_no_news() {
        for (notices, bad) in
            [(cc::Notices::Bus, News::Disconnected { head: 1 }), (cc::Notices::TcpF, News::RouteFailed)]
        {
            let mut row = Row::new(notices, 6);
            row.data(0, 3);
            let old = Packet::news(bad, SocketId(1), row.now);
            row.breaks(3, 0);
            row.wait(5);
            row.finds(3);
            assert_eq!(row.told.len(), 2);
            row.wait(5);
            for at in [2, 1, 0] {
                row.notifier.arrive(row.now, StationId(at), StationId(at + 1), &old, |_| None);
                row.settle();
            }
            assert_eq!(row.told.len(), 2, "{:?}", row.told);
        }
    }

    /// The length of the route there and back, when it changes.
    #[test]
    fn hops_are_told_when_they_change() {
        let mut row = Row::new(cc::Notices::Hops, 6);
        row.data(0, 4);
        row.ack(1, 5);
        row.ack(2, 5);
        assert_eq!(row.told, [News::Hops { round_trip: 10 }]);
        row.ack(3, 7);
        assert_eq!(row.told[1..], [News::Hops { round_trip: 12 }]);
    }
}
