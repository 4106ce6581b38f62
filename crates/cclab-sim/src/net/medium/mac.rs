//! IEEE 802.11's distributed coordination function: who may send when (§9.2 of the 1999 edition; where ns-2 differs, both).

use super::air::{Arrival, EVERYBODY, Ear, UNNUMBERED};
use super::arp::Arp;
use super::config::{self, Backoff, Mac, Protection, Radio};
use super::interface_queue::{Content, InterfaceQueue, Item};
use super::propagation::delay;
use super::{END, Medium, ParcelId, STATION, StationId};
use crate::engine::prefetch;
use crate::net::queue::drai::{self, Counted, Watch};
use crate::wire::{Feedback, Packet};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Rate, Time};

/// Bytes of an RTS, and of a CTS or an ACK.
pub(super) const RTS: u32 = 20;
pub(super) const ACK: u32 = 14;
/// What so many of them hear stays in the caches.
const FEW_STATIONS: usize = 256;
/// What timeouts allow for propagation, one way, as in ns-2: enough for 600 m.
const PROPAGATION: Duration = Duration::from_micros(2);

/// What the MAC's times and thresholds come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) slot: Duration,
    pub(super) sifs: Duration,
    pub(super) difs: Duration,
    pub(super) eifs: Duration,
    /// What timeouts allow for propagation, one way: in ns-2 always the same, else as long as a frame takes to wherever it is decoded.
    propagation: Duration,
    /// On the air.
    rts: Duration,
    /// Of a CTS, and of an ACK.
    ack: Duration,
    /// W.
    pub(super) receive: f64,
    pub(super) capture: f64,
    /// ns-2 puts the wait for a frame that could not be understood into the NAV, and DIFS follows it.
    pub(super) eifs_in_nav: bool,
}

impl Timing {
    pub(super) fn new(mac: &Mac, radio: &Radio) -> Timing {
        Timing {
            slot: mac.slot,
            sifs: mac.sifs,
            difs: mac.difs(),
            eifs: mac.eifs(),
            propagation: match mac.backoff {
                Backoff::Ns2 => PROPAGATION,
                Backoff::Standard => PROPAGATION.max(delay(radio.reach(radio.receive))),
            },
            rts: mac.airtime(RTS, mac.basic_rate),
            ack: mac.airtime(ACK, mac.basic_rate),
            receive: radio.receive,
            capture: radio.capture,
            eifs_in_nav: mac.backoff == Backoff::Ns2,
        }
    }
}

/// Kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rts,
    Cts,
    Data { content: Content, sequence: u16 },
    Ack,
}

/// A frame on the air, for those whom it concerns.
pub(super) struct Transmission {
    pub(super) kind: Kind,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) nav: Duration,
    /// Where and when it is to be received, and how many of them have been asked.
    pub(super) ears: Vec<(Time, u32)>,
    asked: usize,
}

/// The frame that a station is trying to send.
struct Service {
    item: Item,
    rate: Rate,
    airtime: Duration,
    /// How long its acknowledgement is on the air.
    ack: Duration,
    /// By what it is announced, if it is.
    announced: Option<Protection>,
    sequence: u16,
    /// The next station has it, although this one does not know yet.
    arrived: bool,
}

impl Service {
    /// Whether its receiver is asked first.
    fn is_asked_for(&self) -> bool {
        self.announced == Some(Protection::RtsCts)
    }
}

/// What a station does next, beside counting its back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Nothing,
    /// Answers, when SIFS is over.
    SendCts {
        to: u32,
        nav: Duration,
    },
    SendAck {
        to: u32,
        airtime: Duration,
    },
    /// Sends what it has announced, when SIFS is over.
    SendData,
    /// Waits for an answer.
    AwaitCts,
    AwaitAck,
    /// Waits for the end of its own frame for all.
    AwaitEnd,
}

/// What a station has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) rts: u64,
    pub(super) cts: u64,
    pub(super) data: u64,
    pub(super) broadcasts: u64,
    pub(super) acks: u64,
    /// Attempts without an answer.
    pub(super) rts_retries: u64,
    pub(super) data_retries: u64,
    /// Frames that the MAC gave up.
    pub(super) rts_failures: u64,
    pub(super) data_failures: u64,
    pub(super) duplicates: u64,
    /// Parcels that the interface queue dropped; of these, those that its discipline chose.
    pub(super) queue_drops: u64,
    pub(super) early_drops: u64,
    /// Parcels that ended here for want of a route, of time to live, of room in routing, or by the MAC's failure.
    pub(super) route_drops: u64,
    /// Data packets of flows put on the air for the first time, or again.
    pub(super) forwarded: u64,
}

/// A station.
pub(super) struct Station {
    pub(super) ear: Ear,
    pub(super) queue: InterfaceQueue,
    pub(super) arp: Arp,
    service: Option<Service>,
    task: Task,
    /// When that is due.
    due: Time,
    /// The earliest entry in the event queue.
    alarm: Time,
    cw: u32,
    /// Retries of RTS and of frames that go without, and of announced frames: for this packet (§9.2.5.3); in ns-2 what one packet has
    /// used of them is gone for the next.
    short: u32,
    long: u32,
    sequence: u16,
    rng: Stream,
    pub(super) counts: Counts,
    /// What it advises Muzha's senders, once one of their packets has passed.
    drai: Option<Box<Watch>>,
    /// What a flow alone could have over its hop, bit/s.
    alone: f64,
    /// Frames that the MAC was done with.
    served: u64,
}

impl Station {
    pub(super) fn new(mac: &Mac, queue: InterfaceQueue, rng: Stream) -> Station {
        Station {
            ear: Ear::new(),
            queue,
            arp: Arp::default(),
            service: None,
            task: Task::Nothing,
            due: Time::NEVER,
            alarm: Time::NEVER,
            cw: mac.cw_min,
            short: 0,
            long: 0,
            sequence: 0,
            rng,
            counts: Counts::default(),
            drai: None,
            alone: 0.0,
            served: 0,
        }
    }

    fn plan(&mut self, task: Task, due: Time) {
        (self.task, self.due) = (task, due);
    }

    /// Draws a back-off from the contention window, which counts from `ready` on at the earliest.
    fn back_off(&mut self, ready: Time, rule: Backoff) {
        let slots = match rule {
            Backoff::Standard => self.cw + 1,
            Backoff::Ns2 => self.cw,
        };
        let slots = self.rng.below(slots.into()) as u32;
        self.ear.back_off(ready, slots);
    }

    /// What would go for a neighbour now, taken back by routing.
    pub(super) fn recall(&mut self, now: Time, next: StationId) -> Vec<ParcelId> {
        let mut parcels = self.queue.take_for(now, next);
        parcels.extend(self.arp.take_for(next));
        parcels
    }

    /// What is in service, and how often it has been sent in vain.
    pub(super) fn item(&self) -> Option<(Content, u32)> {
        self.service.as_ref().map(|service| (service.item.content, self.short + self.long))
    }

    /// What is in service, and whether the next station has it already.
    pub(super) fn in_service(&self) -> Option<(Content, bool)> {
        self.service.as_ref().map(|service| (service.item.content, service.arrived))
    }
}

impl Medium {
    /// The alarm of a station rings.
    pub(super) fn on_alarm(&mut self, now: Time, at: usize) {
        let station = &mut self.stations[at];
        if now != station.alarm {
            return;
        }
        station.alarm = Time::NEVER;
        station.ear.settle(now, &self.timing);
        if station.task != Task::Nothing && station.due <= now {
            let task = std::mem::replace(&mut station.task, Task::Nothing);
            match task {
                Task::Nothing => {}
                Task::SendCts { to, nav } => {
                    if station.may_answer(now, &self.timing) {
                        let nav = nav.saturating_sub(self.timing.sifs + self.timing.ack);
                        // The data frame is to come; until then this station is not idle.
                        let expected = nav.saturating_sub(self.timing.sifs + self.timing.ack);
                        let engaged = now + self.timing.ack + expected + self.timing.propagation * 2;
                        station.counts.cts += 1;
                        self.transmit(now, at, Kind::Cts, to, self.timing.ack, nav, engaged);
                    }
                }
                Task::SendAck { to, airtime } => {
                    station.counts.acks += 1;
                    self.transmit(now, at, Kind::Ack, to, airtime, Duration::ZERO, now + airtime);
                }
                Task::SendData => {
                    // Nobody else answers a CTS to oneself: what has been reserved is used.
                    if self.mac.protection == Protection::CtsToSelf || station.ear.is_idle(now) {
                        self.send_data(now, at);
                    } else {
                        self.retry(now, at);
                    }
                }
                Task::AwaitCts => {
                    station.counts.rts_retries += 1;
                    station.short += 1;
                    if station.short >= self.mac.short_retries {
                        station.short = 0;
                        station.counts.rts_failures += 1;
                        self.fail(now, at);
                    } else {
                        self.retry(now, at);
                    }
                }
                Task::AwaitAck => {
                    station.counts.data_retries += 1;
                    let announced = station.service.as_ref().is_some_and(Service::is_asked_for);
                    let (count, limit) = if announced {
                        (&mut station.long, self.mac.long_retries)
                    } else {
                        (&mut station.short, self.mac.short_retries)
                    };
                    *count += 1;
                    if *count >= limit {
                        *count = 0;
                        station.counts.data_failures += 1;
                        self.fail(now, at);
                    } else {
                        self.retry(now, at);
                    }
                }
                Task::AwaitEnd => self.succeed(now, at),
            }
        } else if station.service.is_some() && station.ear.backoff_end(&self.timing).is_some_and(|end| end <= now) {
            station.ear.stop_backoff();
            self.attempt(now, at);
        }
        self.arm(now, at);
    }

    /// Sees to it that a station is woken when it has something to do.
    fn arm(&mut self, now: Time, at: usize) {
        let station = &mut self.stations[at];
        let next = match station.task {
            Task::Nothing if station.service.is_none() => return,
            Task::Nothing => station.ear.earliest_end(now, &self.timing).unwrap_or(Time::NEVER).max(now),
            _ => station.due,
        };
        if next < station.alarm {
            station.alarm = next;
            self.calls.push((next, STATION | at as u32));
        }
    }

    /// If a station has nothing in service, the first of its queue goes there.
    pub(super) fn serve(&mut self, now: Time, at: usize) {
        let station = &mut self.stations[at];
        if station.service.is_some() {
            return;
        }
        station.watch(now, &self.timing, false);
        let item = station.queue.pop(now, &mut self.parcels);
        if !station.queue.dropped.is_empty() {
            station.watch(now, &self.timing, true);
            self.bury_dropped(at);
        }
        let Some(item) = item else { return };
        if let Content::Parcel(parcel) = item.content {
            let parcel = &mut self.parcels[parcel];
            (parcel.hops, parcel.ttl) = (parcel.hops.saturating_add(1), parcel.ttl.saturating_sub(1));
        }
        let station = &mut self.stations[at];
        let bytes = self.mac.header + item.size;
        let rate = item.next.map_or(self.mac.basic_rate, |next| self.rates[at].min(self.rates[next.index()]));
        let airtime = self.airtimes.of(&self.mac, bytes, rate);
        let ack = self.airtimes.of(&self.mac, ACK, self.mac.response(rate));
        let announced = item.next.is_some() && bytes >= self.mac.rts_threshold;
        let announced = announced.then_some(self.mac.protection);
        station.sequence = station.sequence.wrapping_add(1) & 0xfff;
        let sequence = station.sequence;
        station.service = Some(Service { item, rate, airtime, ack, announced, sequence, arrived: false });
        station.ear.settle(now, &self.timing);
        if station.ear.backoff_end(&self.timing).is_some_and(|end| end <= now) {
            station.ear.stop_backoff();
        }
        if !station.ear.backs_off() {
            match self.mac.backoff {
                Backoff::Standard if station.ear.is_free(now, &self.timing) => station.ear.back_off(now, 0),
                rule => station.back_off(now + self.timing.difs, rule),
            }
        }
        self.arm(now, at);
    }

    /// The back-off is over: the frame in service is announced, or sent.
    fn attempt(&mut self, now: Time, at: usize) {
        let station = &mut self.stations[at];
        let Some(service) = &station.service else { return };
        let Some(protection) = service.announced else { return self.send_data(now, at) };
        let t = &self.timing;
        if protection == Protection::CtsToSelf {
            let nav = t.sifs * 2 + service.airtime + service.ack;
            let due = now + t.ack + t.sifs;
            station.plan(Task::SendData, due);
            station.counts.cts += 1;
            let airtime = t.ack;
            return self.transmit(now, at, Kind::Cts, at as u32, airtime, nav, due);
        }
        let nav = t.sifs * 3 + t.ack + service.airtime + service.ack;
        let to = service.item.next.map_or(EVERYBODY, |next| next.0);
        let engaged = now + t.rts + t.sifs + t.ack + t.propagation * 2;
        station.plan(Task::AwaitCts, engaged);
        station.counts.rts += 1;
        let airtime = t.rts;
        self.transmit(now, at, Kind::Rts, to, airtime, nav, engaged);
    }

    /// The frame in service goes on the air.
    fn send_data(&mut self, now: Time, at: usize) {
        let station = &mut self.stations[at];
        let Some(&Service { item, airtime, ack, sequence, .. }) = station.service.as_ref() else { return };
        if let Content::Parcel(parcel) = item.content {
            let packet = &mut self.parcels[parcel].packet;
            if packet.flow != Packet::NO_FLOW {
                station.counts.forwarded += 1;
                if station.drai.is_some() || matches!(packet.asked(), Some(Feedback::Drai { .. })) {
                    station.stamp(now, packet, airtime, &self.timing, &self.mac);
                }
            }
        }
        let kind = Kind::Data { content: item.content, sequence };
        let t = &self.timing;
        match item.next {
            Some(next) => {
                let engaged = now + airtime + t.sifs + ack + t.propagation * 2;
                station.plan(Task::AwaitAck, engaged);
                station.counts.data += 1;
                self.transmit(now, at, kind, next.0, airtime, t.sifs + ack, engaged);
            }
            None => {
                station.plan(Task::AwaitEnd, now + airtime);
                station.counts.broadcasts += 1;
                self.transmit(now, at, kind, EVERYBODY, airtime, Duration::ZERO, now + airtime);
            }
        }
    }

    /// A frame goes on the air. The station waits for the answer until `engaged`.
    #[expect(clippy::too_many_arguments, reason = "the fields of a frame")]
    fn transmit(&mut self, now: Time, at: usize, kind: Kind, to: u32, airtime: Duration, nav: Duration, engaged: Time) {
        let station = &mut self.stations[at];
        let answers = matches!(kind, Kind::Cts | Kind::Ack);
        let reserved = self.mac.protection == Protection::CtsToSelf;
        debug_assert!(
            answers || reserved || station.ear.is_idle(now),
            "only answers are sent while the medium is not free"
        );
        station.ear.send(now, now + airtime, engaged, &self.timing);
        let from = at as u32;
        let number = self.free.pop().unwrap_or_else(|| {
            self.on_air.push(Transmission { kind, from, to, nav, ears: Vec::new(), asked: 0 });
            self.on_air.len() as u32 - 1
        });
        let transmission = &mut self.on_air[number as usize];
        (transmission.kind, transmission.from, transmission.to, transmission.nav) = (kind, from, to, nav);
        transmission.ears.clear();
        transmission.asked = 0;
        let for_all = to == EVERYBODY || (self.overhears && matches!(kind, Kind::Data { .. }));
        let is_data = matches!(kind, Kind::Data { .. }) && to != EVERYBODY;
        let mut lost = self.losses.as_mut().is_some_and(|losses| is_data && losses.draw(at, to as usize));
        let data = match (&station.service, kind) {
            (Some(service), Kind::Data { .. }) => Some((service.rate, self.mac.header + service.item.size)),
            _ => None,
        };
        // A frame that is lost is sensed, and not understood.
        let weak = 0.5 * (self.radio.sense + self.timing.receive);
        let neighbours = self.reach.around(now, at);
        if self.stations.len() > FEW_STATIONS {
            neighbours.iter().for_each(|n| prefetch(&self.stations[n.station as usize].ear, size_of::<Ear>()));
        }
        let in_doubt = self.shadows.is_some() || lost || (self.noise.is_some() && data.is_some());
        for neighbour in neighbours {
            let station = neighbour.station;
            let mine = station == to || to == EVERYBODY;
            let mut power = neighbour.power;
            if in_doubt {
                if let Some(rng) = &mut self.shadows {
                    power *= self.radio.shadow(rng);
                    if power < self.radio.sense {
                        continue;
                    }
                }
                if lost && station == to {
                    power = power.min(weak);
                }
                if (mine || for_all)
                    && power >= self.timing.receive
                    && let (Some(noise), Some((rate, bytes))) = (&mut self.noise, data)
                    && noise.spoils(self.mac.phy, rate, bytes, power)
                {
                    lost |= station == to;
                    power = weak;
                }
            }
            let start = Time(now.0 + u64::from(neighbour.delay));
            let end = Time(start.0 + airtime.0);
            let mut asked = UNNUMBERED;
            if (mine || for_all) && power >= self.timing.receive {
                asked = number;
                transmission.ears.push((end, station));
            }
            let reserved = Time(end.0 + if mine { 0 } else { nav.0 });
            let arrival = Arrival { start, end, reserved, power, number: asked, mine };
            self.stations[station as usize].ear.push(now, arrival, &self.timing);
        }
        if transmission.ears.len() > 1 {
            transmission.ears.sort_unstable();
        }
        if self.diary.is_some() {
            self.note_frame(now, number, airtime, lost);
        }
        match self.on_air[number as usize].ears.first() {
            None => self.forget(number),
            Some(&(end, _)) => self.calls.push((end, END | number)),
        }
    }

    /// A frame ends at a station that it concerns.
    pub(super) fn on_end(&mut self, now: Time, number: u32) {
        let transmission = &mut self.on_air[number as usize];
        let at = transmission.ears[transmission.asked].1;
        transmission.asked += 1;
        let &mut Transmission { kind, from, to, nav, .. } = transmission;
        let next = transmission.ears.get(transmission.asked).map(|&(end, _)| end);
        if let Some(end) = next {
            self.calls.push((end, END | number));
        }
        let station = &mut self.stations[at as usize];
        station.ear.settle(now, &self.timing);
        let got = station.ear.got(number);
        if let Some(diary) = &mut self.diary {
            diary.note_end(number, at, got, station.ear.was_deaf(number));
        }
        if got {
            let me = at as usize;
            match kind {
                Kind::Rts => {
                    if station.task == Task::Nothing && station.ear.engaged <= now {
                        station.plan(Task::SendCts { to: from, nav }, now + self.timing.sifs);
                    }
                }
                Kind::Cts => {
                    if station.task == Task::AwaitCts {
                        station.short = 0;
                        station.ear.engaged = now;
                        station.plan(Task::SendData, now + self.timing.sifs);
                    }
                }
                Kind::Data { content, .. } if to == at => {
                    let ack = nav.saturating_sub(self.timing.sifs);
                    self.receive(now, me, from, content, ack);
                }
                Kind::Data { content, .. } if to == EVERYBODY => self.deliver(now, me, from, content),
                Kind::Data { content, .. } => self.overhear(now, me, from, to, content),
                Kind::Ack => {
                    if station.task == Task::AwaitAck {
                        self.succeed(now, me);
                    }
                }
            }
        }
        if next.is_none() {
            self.forget(number);
        }
        self.arm(now, at as usize);
    }

    /// A transmission is over everywhere; what was for all is not needed any more.
    fn forget(&mut self, number: u32) {
        self.free.push(number);
        if let Transmission { to: EVERYBODY, kind: Kind::Data { content: Content::Parcel(parcel), .. }, .. } =
            self.on_air[number as usize]
        {
            self.parcels.remove(parcel);
        }
    }

    /// A data frame reaches the station that it is for.
    fn receive(&mut self, now: Time, at: usize, from: u32, content: Content, ack: Duration) {
        let station = &mut self.stations[at];
        if station.task != Task::Nothing {
            return;
        }
        station.ear.engaged = now;
        station.plan(Task::SendAck { to: from, airtime: ack }, now + self.timing.sifs);
        // The standard tells a duplicate by its number and its retry bit. A number that has come round after 4096 frames is none.
        let service = self.stations[from as usize].service.as_mut();
        if service.is_some_and(|service| std::mem::replace(&mut service.arrived, true)) {
            self.stations[at].counts.duplicates += 1;
            return;
        }
        self.deliver(now, at, from, content);
    }

    /// Once more, after a longer back-off.
    fn retry(&mut self, now: Time, at: usize) {
        let station = &mut self.stations[at];
        station.cw = (2 * station.cw + 1).min(self.mac.cw_max);
        station.back_off(now + self.timing.difs, self.mac.backoff);
    }

    /// The frame in service was acknowledged, or has been sent to all.
    fn succeed(&mut self, now: Time, at: usize) {
        let station = &mut self.stations[at];
        let Some(service) = station.service.take() else { return };
        station.served += 1;
        match self.mac.backoff {
            Backoff::Standard => (station.short, station.long) = (0, 0),
            Backoff::Ns2 if service.is_asked_for() => station.long = 0,
            Backoff::Ns2 => station.short = 0,
        }
        station.plan(Task::Nothing, Time::NEVER);
        station.ear.engaged = now;
        station.cw = self.mac.cw_min;
        station.back_off(now + self.timing.difs, self.mac.backoff);
        if let Item { content: Content::Parcel(parcel), next: Some(_), .. } = service.item {
            self.parcels.remove(parcel);
        }
        self.serve(now, at);
    }

    /// The MAC gives the frame in service up.
    fn fail(&mut self, now: Time, at: usize) {
        let station = &mut self.stations[at];
        let Some(service) = station.service.take() else { return };
        station.served += 1;
        station.cw = self.mac.cw_min;
        if self.mac.backoff == Backoff::Standard {
            (station.short, station.long) = (0, 0);
            station.back_off(now + self.timing.difs, Backoff::Standard);
        }
        if let (Content::Parcel(parcel), Some(next)) = (service.item.content, service.item.next) {
            let failed = &mut self.parcels[parcel];
            (failed.hops, failed.ttl) = (failed.hops.saturating_sub(1), failed.ttl.saturating_add(1));
            let flow = failed.packet.flow;
            if service.arrived && flow != Packet::NO_FLOW {
                // Here it is again, although the next station has it.
                self.tally.duplicated += 1;
                self.duplicated.push(flow);
            }
            self.undeliverable(now, at, parcel, next);
        }
        self.serve(now, at);
    }
}

impl Station {
    /// Whether it may answer an RTS: its NAV is not set; in ns-2 nothing at all may be on the air.
    fn may_answer(&self, now: Time, timing: &Timing) -> bool {
        if timing.eifs_in_nav { self.ear.is_idle(now) } else { self.ear.nav <= now }
    }

    /// A data packet of a flow goes on the air, for so long.
    #[inline(never)]
    fn stamp(&mut self, now: Time, packet: &mut Packet, airtime: Duration, t: &Timing, mac: &Mac) {
        // What a flow alone could have over this hop.
        let announced = self.service.as_ref().and_then(|service| service.announced);
        let before = t.difs + t.slot * u64::from(mac.cw_min) / 2;
        let handshake = match announced {
            Some(Protection::RtsCts) => t.rts + t.ack + t.sifs * 2,
            Some(Protection::CtsToSelf) => t.ack + t.sifs,
            None => Duration::ZERO,
        };
        let exchange = before + handshake + airtime + t.sifs + t.ack;
        if packet.payload() > 0 {
            self.alone = f64::from(packet.size) * 8.0 / exchange.as_secs_f64();
        }
        let counted = self.counted(now);
        let q_hi = (self.queue.limit() as f64 / 2.0).max(1.0);
        let config = self.queue.drai.unwrap_or(drai::Config { q_hi, ..drai::Config::STATION });
        let drai = self.drai.get_or_insert_with(|| Box::new(Watch::new(config, now, counted)));
        drai.look(now, counted, self.alone);
        drai.stamp(now, packet);
    }

    fn counted(&self, now: Time) -> Counted {
        Counted {
            busy: self.ear.busy(now),
            queue: self.queue.len() + usize::from(self.service.is_some()),
            served: self.served,
            retries: self.counts.rts_retries + self.counts.data_retries,
        }
    }

    /// The queue has changed, or is about to; with `dropped` something found no room.
    pub(super) fn watch(&mut self, now: Time, timing: &Timing, dropped: bool) {
        if self.drai.is_none() {
            return;
        }
        self.ear.settle(now, timing);
        let (counted, alone) = (self.counted(now), self.alone);
        if let Some(drai) = &mut self.drai {
            drai.look(now, counted, alone);
            if dropped {
                drai.on_drop(now);
            }
        }
    }
}

/// Data frames that are lost though nothing collides with them.
pub(super) struct Losses {
    /// Of each station.
    probabilities: Vec<f64>,
    rng: Stream,
}

impl Losses {
    /// Those of these stations; `None` where nothing is lost.
    pub(super) fn new(stations: &[config::Station], rng: Stream) -> Option<Losses> {
        let probabilities: Vec<f64> = stations.iter().map(|station| station.loss).collect();
        probabilities.iter().any(|p| *p > 0.0).then_some(Losses { probabilities, rng })
    }

    /// Whether this frame is.
    fn draw(&mut self, from: usize, to: usize) -> bool {
        let survives = |station: usize| 1.0 - self.probabilities[station];
        let survives = survives(from) * survives(to);
        survives < 1.0 && !self.rng.chance(survives)
    }
}

/// Times on the air of the frames that were seen last.
#[derive(Default)]
pub(super) struct Airtimes([(u32, u64, Duration); 4], usize);

impl Airtimes {
    fn of(&mut self, mac: &Mac, bytes: u32, rate: Rate) -> Duration {
        if let Some(&(.., known)) = self.0.iter().find(|known| known.0 == bytes && known.1 == rate.0) {
            return known;
        }
        let airtime = mac.airtime(bytes, rate);
        self.0[self.1] = (bytes, rate.0, airtime);
        self.1 = (self.1 + 1) % self.0.len();
        airtime
    }
}
