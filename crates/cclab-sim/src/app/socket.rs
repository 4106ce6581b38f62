//! Sockets: what a host has for each end of a connection or of a stream of datagrams, a timer in the event queue, and time
//! to process what it sends.

use super::meter::Meter;
use super::onoff::Datagrams;
use super::sink::Sink;
use crate::net::{Pipe, Route};
use crate::tcp::Endpoint;
use crate::wire::{Packet, SocketId};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};

/// One end of a flow.
///
/// What an event needs of it lies together, in this order: with 100,000 flows each line of memory is far away.
#[repr(C, align(64))]
pub(crate) struct Socket {
    /// Packets handed to the network (or to processing).
    pub(crate) sent: u64,
    /// Packets that reached it.
    pub(crate) received: u64,
    pub(crate) alarm: Alarm,
    /// The flow that it belongs to.
    pub(crate) flow: u32,
    /// Who gets what it sends, and on which way.
    pub(crate) peer: SocketId,
    pub(crate) route: Route,
    /// Whether it sends the data of the flow.
    pub(crate) is_source: bool,
    /// Whether the measured interval of its flow has begun and not ended.
    pub(crate) measuring: bool,
    /// What is to be looked at when something has happened to it.
    pub(crate) kind: Kind,
    pub(crate) processing: Option<Box<Processing>>,
    /// The latest RTT sample.
    pub(crate) rtt: Option<Duration>,
    pub(crate) meter: Meter,
    pub(crate) transport: Transport,
}

/// What a flow is, as to when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Without end.
    Endless,
    /// Of a given size.
    Transfer,
    /// Of an application that reads, too.
    Application,
    /// A subflow of a session, which knows.
    Subflow,
    /// The connection of a tunnel: it has to write what comes, and to hand on what is whole.
    Tunnel,
}

/// What a socket speaks. Endpoints lie in it, not behind a pointer: nearly all sockets have one.
#[expect(clippy::large_enum_variant, reason = "as it says")]
pub(crate) enum Transport {
    /// One side of a TCP connection.
    Tcp(Endpoint),
    /// A source of datagrams.
    Datagrams(Datagrams),
    /// Where datagrams go to.
    Sink(Sink),
}

impl Transport {
    /// The endpoint of a connection.
    pub(crate) fn tcp(&self) -> Option<&Endpoint> {
        if let Transport::Tcp(endpoint) = self { Some(endpoint) } else { None }
    }
    /// The same.
    pub(crate) fn tcp_mut(&mut self) -> Option<&mut Endpoint> {
        if let Transport::Tcp(endpoint) = self { Some(endpoint) } else { None }
    }
}

impl Socket {
    /// How many of its bytes a packet that arrives is likely to need, and a timer, which most often finds nothing due.
    pub(crate) const DATA_NEED: usize = 15 * 64;
    pub(crate) const ACKS_NEED: usize = size_of::<Socket>();
    pub(crate) const TIMERS_NEED: usize = 64;

    /// Asks for what a packet is likely to need of its heap; the socket itself was asked for a packet before.
    #[inline]
    pub(crate) fn fetch_heap(&self) {
        self.meter.delay.fetch();
        if self.is_source
            && let Transport::Tcp(endpoint) = &self.transport
        {
            endpoint.fetch_heap();
        }
    }

    /// A socket of `flow`, which sends to `peer`.
    pub(crate) fn new(transport: Transport, flow: u32, peer: SocketId, route: Route, is_source: bool) -> Socket {
        Socket {
            sent: 0,
            received: 0,
            alarm: Alarm::new(),
            flow,
            peer,
            route,
            is_source,
            measuring: false,
            kind: Kind::Endless,
            processing: None,
            rtt: None,
            meter: Meter::default(),
            transport,
        }
    }
}

/// When a socket wants to be woken, against what is in the event queue.
///
/// A wanted time that moves later is left alone: the early entry fires, finds nothing due and arms the later
/// one. At most two entries are live (a near one before a far one, such as pacing before retransmission); an
/// entry that was pushed out is recognised by its time when it fires.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    near: Time,
    far: Time,
    /// When it really wants to be.
    wanted: Time,
}

impl Alarm {
    pub(crate) const fn new() -> Alarm {
        Alarm { near: Time::NEVER, far: Time::NEVER, wanted: Time::NEVER }
    }

    /// It wants to be woken at `at`: the time of a new entry, if one is needed.
    pub(crate) fn want(&mut self, at: Time) -> Option<Time> {
        self.wanted = at;
        (at < self.near).then(|| {
            self.far = self.near;
            self.near = at;
            at
        })
    }

    /// An entry fired at `now`: whether it is a live one.
    pub(crate) fn fires(&mut self, now: Time) -> bool {
        let live = now == self.near;
        if live {
            self.near = self.far;
            self.far = Time::NEVER;
        }
        live
    }

    /// What it is woken for is later than `now`: when, and the time of a new entry, if one is needed.
    pub(crate) fn postpone(&mut self, now: Time) -> Option<Option<Time>> {
        (self.wanted > now).then(|| self.want(self.wanted))
    }
}

/// The source host's processing time: packets leave it in order, each later by a draw, and by a fixed delay.
pub(crate) struct Processing {
    delay: Duration,
    max: Duration,
    rng: Stream,
    packets: Pipe,
}

impl Processing {
    pub(crate) fn new(max: Duration, rng: Stream) -> Processing {
        Processing { delay: Duration::ZERO, max, rng, packets: Pipe::default() }
    }

    /// The same, with a propagation delay behind it.
    pub(crate) fn behind(self, delay: Duration) -> Processing {
        Processing { delay, ..self }
    }

    /// Takes a packet in; says when it leaves, if it is the only one, so that its event is to be scheduled.
    pub(crate) fn push(&mut self, now: Time, packet: &Packet) -> Option<Time> {
        let delay = self.delay + Duration(self.rng.below(self.max.0.saturating_add(1)));
        self.packets.push(now + delay, packet)
    }

    /// The first packet leaves, in `packet`; and when the next one does, if there is one.
    pub(crate) fn pop(&mut self, packet: &mut Packet) -> Option<Time> {
        self.packets.pop(packet);
        self.packets.due()
    }

    /// Packets in processing.
    pub(crate) fn len(&self) -> u64 {
        self.packets.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a packet needs of a socket begins on a line of memory; so does each socket.
    #[test]
    fn a_socket_is_small() {
        assert!(size_of::<Socket>() <= 24 * 64, "{}", size_of::<Socket>());
        assert!(size_of::<Meter>() <= 208, "{}", size_of::<Meter>());
        assert_eq!(std::mem::offset_of!(Socket, processing) + 8, Socket::TIMERS_NEED, "an alarm is on the first line");
        assert_eq!(align_of::<Socket>(), 64);
    }

    #[test]
    fn an_alarm_moves_later_without_a_new_entry() {
        let mut alarm = Alarm::new();
        assert_eq!(alarm.want(Time(200)), Some(Time(200)));
        assert_eq!(alarm.want(Time(300)), None, "left until 200");
        assert_eq!(alarm.want(Time(10)), Some(Time(10)));
        assert_eq!(alarm.want(Time(300)), None);
        assert!(alarm.fires(Time(10)));
        assert_eq!(alarm.want(Time(300)), None, "the entry at 200 is still there");
        assert!(alarm.fires(Time(200)));
        assert_eq!(alarm.want(Time(300)), Some(Time(300)));
        // three live ones: the farthest is given up and ignored when it fires
        alarm.want(Time(290));
        alarm.want(Time(280));
        assert!(alarm.fires(Time(280)) && alarm.fires(Time(290)) && !alarm.fires(Time(300)));
        // woken early, it goes back to what is wanted by then, which may be nothing; what is due is served
        alarm.want(Time(400));
        alarm.want(Time(500));
        assert!(alarm.fires(Time(400)));
        assert_eq!((alarm.postpone(Time(400)), alarm.postpone(Time(400))), (Some(Some(Time(500))), Some(None)));
        assert_eq!(alarm.postpone(Time(500)), None);
        alarm.want(Time::NEVER);
        assert!(alarm.fires(Time(500)));
        assert_eq!(alarm.postpone(Time(500)), Some(None));
    }
}
