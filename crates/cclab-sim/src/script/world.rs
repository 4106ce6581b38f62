//! A script being played: virtual time, the connections, and the packets they sent.

use super::Failure;
use super::ast::{Event, Packet, Point, Script, What, When};
use super::buffer::Buffer;
use super::compare::{self, Stamps};
use super::cookie::Peer;
use super::expr::Statement;
use super::fair_queue::FairQueue;
use super::keepalive::KeepAlive;
use super::notify::{Interest, Notices};
use super::setup::{HEADERS, Queue, Setup, TIMESTAMPS};
use super::shell::{DEVICE_MTU, configure, short};
use super::socket::{Pending, Socket};
use crate::tcp::{Config, Endpoint, FastOpen, State, refusal};
use crate::wire::{Flags, Segment};
use cclab_algo::cc::Phase;
use cclab_algo::{Duration, Rate, Time};
use std::collections::{BTreeMap, VecDeque};

/// Steps of the endpoint at one time; more is an endless loop.
const MAX_STEPS: u32 = 1_000_000;

/// The smallest path MTU that is believed, and for how long a host remembers it (Linux `min_pmtu`, `mtu_expires`).
const MIN_PATH_MTU: u32 = 552;
const REMEMBERED: Duration = Duration::from_secs(600);

/// Plays a script to its end or to its first difference.
pub(super) fn play(script: &Script, notes: &mut Vec<String>, stopped: &mut dyn FnMut() -> bool) -> Result<(), Failure> {
    let setup =
        Setup::new(&script.directives, &script.options, notes).map_err(|(line, message)| Failure { line, message })?;
    let mut world = World::new(setup, script, stopped);
    let outcome = script.events.iter().enumerate().try_for_each(|(index, event)| {
        world.at = index;
        world.event(event).map_err(|message| Failure { line: world.failed_line.unwrap_or(event.line), message })
    });
    let outcome = outcome.and_then(|()| {
        let last = script.events.last().map_or(1, |event| event.line);
        world.end().map_err(|message| Failure { line: world.failed_line.unwrap_or(last), message })
    });
    notes.append(&mut world.notes);
    outcome
}

/// A connection, and what the script knows of it.
pub(super) struct Connection {
    /// `None`: closed before anything was open.
    pub(super) endpoint: Option<Endpoint>,
    /// The listening socket that it came to.
    pub(super) listener: Option<i64>,
    /// It began with Fast Open.
    fast: bool,
    /// A socket of its own has it.
    pub(super) accepted: bool,
    /// Its listener was closed: a SYN is for another one.
    pub(super) left: bool,
    /// The peer reset it.
    pub(super) reset: bool,
    /// This end will write no more.
    pub(super) shut: bool,
    /// The application has closed it.
    pub(super) closed: bool,
    /// This end will read no more than it has.
    pub(super) read_shut: bool,
    /// What was written, and what is told of it.
    pub(super) buffer: Buffer,
    /// The host's queue, where that is `fq`.
    fair_queue: FairQueue,
    pub(super) notices: Notices,
    /// How many times those who wait for it were woken; what they were told last; whether a write waits for room.
    pub(super) wakes: u64,
    pub(super) told: (State, u64),
    pub(super) full: bool,
    /// Data has left, or an ACK has come.
    pub(super) moved: bool,
    /// The largest window that the peer has offered, and when it sent data last.
    pub(super) max_window: u64,
    pub(super) last_data: Time,
    /// The peer's newest timestamp.
    pub(super) stamp: u32,
    /// For how long data was on its way, and waited for the peer's window or for the buffer.
    pub(super) busy: Duration,
    pub(super) limited_by_window: Duration,
    pub(super) limited_by_buffer: Duration,
    /// TCP_USER_TIMEOUT, and since when nothing more is acknowledged.
    pub(super) user_timeout: Option<Duration>,
    pub(super) stalled: Option<(Time, u64)>,
    /// Probes of a silent peer or of a closed window since it was last heard of; when that was.
    pub(super) probes: u32,
    pub(super) heard: Time,
    pub(super) keep_alive: KeepAlive,
    /// What the network says of packets that are too long counts (IP_MTU_DISCOVER).
    pub(super) discovers: bool,
    /// What the network or a timeout ended it with.
    pub(super) failed: Option<&'static str>,
    /// The port that it was bound to, and when it became free to be waited out.
    pub(super) port: Option<i64>,
    pub(super) ended: Option<Time>,
    /// The error that SO_ERROR reports was fetched.
    pub(super) error_taken: bool,
    stamps: Stamps,
    /// The script's name for the peer's initial sequence number, and for ours once it has one.
    peer_start: u64,
    own_start: Option<u64>,
    peer_syn: Option<Segment>,
    own_syn: Option<Segment>,
}

/// All that a script plays with.
pub(super) struct World<'a> {
    script: &'a Script,
    /// Nobody wants it played any further.
    stopped: &'a mut dyn FnMut() -> bool,
    /// Which of its events is played.
    at: usize,
    pub(super) setup: Setup,
    pub(super) now: Time,
    /// The last is the one that packets belong to.
    pub(super) connections: Vec<Connection>,
    pub(super) sockets: BTreeMap<i64, Socket>,
    pub(super) epolls: BTreeMap<i64, Vec<(i64, Interest)>>,
    pub(super) pending: Option<Pending>,
    /// When a poll() that waits gives up.
    pub(super) poll_due: Option<Time>,
    pub(super) notes: Vec<String>,
    /// The line to blame where it is not that of the event.
    pub(super) failed_line: Option<usize>,
    /// The time of the previous event as written.
    last: Option<Time>,
    sent: VecDeque<(Time, Segment)>,
    /// The smallest MTU that the network has told, and when.
    path_mtu: Option<(Time, u32)>,
    /// What is known of the peer for Fast Open.
    pub(super) peer: Peer,
    /// What the script's code has assigned.
    variables: BTreeMap<String, f64>,
    steps: u32,
}

impl<'a> World<'a> {
    fn new(setup: Setup, script: &'a Script, stopped: &'a mut dyn FnMut() -> bool) -> World<'a> {
        World {
            script,
            stopped,
            at: 0,
            setup,
            now: Time::ZERO,
            connections: Vec::new(),
            sockets: BTreeMap::new(),
            epolls: BTreeMap::new(),
            pending: None,
            poll_due: None,
            notes: Vec::new(),
            failed_line: None,
            last: None,
            sent: VecDeque::new(),
            path_mtu: None,
            peer: Peer::default(),
            variables: BTreeMap::new(),
            steps: 0,
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), String> {
        self.look()?;
        if let What::Expect(packet) = &event.what {
            return self.expect(packet, event.when);
        }
        let before = self.now;
        let start = match event.when {
            When::At(point) | When::Between(point, _) | When::Lasting(point, _) => point.after(before),
            When::Any => before,
        };
        if start + self.tolerance(start) < before {
            return Err(format!("time: this is for {}, and it is {}", seconds(start), seconds(before)));
        }
        self.advance(start)?;
        self.last = Some(start);
        match &event.what {
            What::Expect(_) => Ok(()),
            What::Inject(packet) => self.inject(packet),
            What::Signed => Ok(()),
            What::Unreachable { code, mtu, quoted } => self.unreachable(code, *mtu, *quoted),
            What::Call(call) => {
                // As in packetdrill, the end counts from what the beginning counts from.
                let end = match event.when {
                    When::Lasting(Point { relative: true, .. }, end) if !end.relative => Some(before + end.offset),
                    When::Lasting(_, end) => Some(end.after(start)),
                    _ => None,
                };
                self.call(call, event.line, end)
            }
            What::Code(statements) => self.code(statements, event.line),
            What::Shell(text) => self.shell(text, event.line),
            What::Unsupported(what) => Err(format!("not supported: {what}")),
        }
    }

    fn look(&mut self) -> Result<(), String> {
        if (self.stopped)() { Err("stopped".to_owned()) } else { Ok(()) }
    }

    /// The end of the script: a call may still have to return.
    fn end(&mut self) -> Result<(), String> {
        if let Some(due) = self.pending.as_ref().map(Pending::latest) {
            self.advance(due)?;
        }
        self.finish_pending(true)?;
        self.leave()
    }

    /// What no line took of what the last connection sent is a note, as packetdrill never looks at it.
    fn leave(&mut self) -> Result<(), String> {
        let Some((time, segment)) = self.sent.front() else { return Ok(()) };
        let left = format!("no line expects the packet sent at {}", line(*time, &Packet::of_segment(segment)));
        if self.setup.every_packet {
            return Err(left);
        }
        self.notes.push(format!("{left}; {} in all", self.sent.len()));
        self.sent.clear();
        Ok(())
    }

    // Time.

    /// How far what is due at `due` may be from it: packetdrill's rule.
    pub(super) fn tolerance(&self, due: Time) -> Duration {
        self.setup.tolerance(self.last.map_or(Duration::ZERO, |last| due.since(last)))
    }

    /// Lets time pass up to `to`.
    fn advance(&mut self, to: Time) -> Result<(), String> {
        while self.step(to)? {}
        self.pass(to);
        self.finish_pending(false)
    }

    fn pass(&mut self, to: Time) {
        if to > self.now {
            self.steps = 0;
            for connection in &mut self.connections {
                connection.pass(self.now, to);
            }
            self.now = to;
        }
    }

    /// The next thing that a connection does by itself, if it is not later than `limit`.
    fn step(&mut self, limit: Time) -> Result<bool, String> {
        self.look()?;
        let next = self.connections.iter().map(Connection::next_timer).enumerate().min_by_key(|(_, due)| *due);
        // A call that looks at descriptors gives up.
        if let Some(due) = self.poll_due.filter(|due| self.pending.is_some() && *due <= limit && *due > self.now)
            && next.is_none_or(|(_, timer)| due < timer)
        {
            self.pass(due);
            self.finish_pending(false)?;
            return Ok(true);
        }
        let Some((index, due)) = next.filter(|(_, due)| *due <= limit && *due < Time::NEVER) else { return Ok(false) };
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(format!("the endpoint does not come to rest at {:?}; this is a bug in cclab", self.now));
        }
        self.pass(due);
        self.connections[index].on_timer(self.now, self.setup.retries);
        self.settle()?;
        Ok(true)
    }

    /// After anything was done to an endpoint: what it sends, and which calls return. Nobody looks at what an earlier
    /// connection sends.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        self.send()?;
        self.finish_pending(false)
    }

    /// What the endpoints send now.
    pub(super) fn send(&mut self) -> Result<(), String> {
        let count = self.connections.len();
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let mut sent = 0;
            let queue = self.setup.queue;
            if queue == Queue::Full {
                // An ACK that the queue drops is sent; what is to be acknowledged itself stays to be sent (Linux `tcp_transmit_skb`).
                let _ = connection.endpoint.as_mut().and_then(|endpoint| endpoint.poll_ack(self.now));
                connection.notice(self.now);
                continue;
            }
            let mut burst = Vec::new();
            while let Some(segment) = connection.next_segment(self.now, self.setup.retries) {
                match queue {
                    _ if index + 1 < count => {}
                    Queue::Fair => burst.push(segment),
                    _ => self.sent.push_back((self.now, segment)),
                }
                sent += 1;
                if sent > MAX_STEPS || self.sent.len() > MAX_STEPS as usize {
                    return Err("the endpoint sends without end; this is a bug in cclab".to_owned());
                }
            }
            if let Some(info) = connection.endpoint.as_ref().map(Endpoint::info).filter(|_| !burst.is_empty()) {
                let Setup { burst: tso, pacing_percent, .. } = self.setup;
                self.sent.extend(connection.fair_queue.take(self.now, &burst, &info, tso, pacing_percent));
            }
            connection.notice(self.now);
        }
        Ok(())
    }

    // Packets.

    fn inject(&mut self, packet: &Packet) -> Result<(), String> {
        let mut segment = packet.to_segment();
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let listener = self.sockets.iter().find(|(_, socket)| socket.listening).map(|(fd, _)| *fd);
        let free = self.connections.last().is_none_or(|connection| connection.is_over() || connection.left);
        if let Some(fd) = listener.filter(|_| opens && free) {
            let fast = self.listens_fast(fd);
            self.open(fd, true, fast)?;
        }
        let Some(connection) = self.connections.last_mut() else {
            self.refuse(&segment);
            return self.settle();
        };
        if segment.flags.has(Flags::SYN) {
            // What a SYN says is absolute; all else counts from there.
            connection.peer_start = segment.seq;
            segment.seq = 0;
            segment.ack = segment.ack.wrapping_sub(connection.own_start.unwrap_or(0));
            connection.peer_syn.get_or_insert(segment);
        }
        let fresh = connection.endpoint.as_ref().is_some_and(|endpoint| endpoint.state() == State::SynSent);
        segment.ts_ecr = connection.stamps.on_wire(segment.ts_ecr);
        segment.sent = self.now;
        match &mut connection.endpoint {
            Some(endpoint) if endpoint.state() != State::Closed => {
                let in_flight = endpoint.info().packets_out > 0;
                endpoint.on_segment(self.now, &segment, segment.ecn == 3);
                connection.reset |= segment.flags.has(Flags::RST) && endpoint.state() == State::Closed;
                let answered = fresh && connection.fast && endpoint.state() == State::Established;
                if let Some(syn) = connection.own_syn.filter(|_| answered) {
                    self.peer.learn(&syn, &segment, endpoint.info().total_retrans > 0);
                }
                connection.note_arrival(self.now, &segment);
                connection.uncork(self.now, in_flight);
            }
            _ => self.refuse(&segment),
        }
        self.settle()
    }

    /// The network says that it cannot deliver (RFC 1122 §4.2.3.9; Linux `tcp_v4_err`): who opens hears of it, who waits at a
    /// listener is forgotten, and an open connection takes no notice.
    fn unreachable(&mut self, code: &str, mtu: Option<u32>, quoted: Option<u64>) -> Result<(), String> {
        let error = match code {
            "net_unreachable" => "ENETUNREACH",
            "host_unreachable" | "" => "EHOSTUNREACH",
            "protocol_unreachable" => "ENOPROTOOPT",
            "port_unreachable" => "ECONNREFUSED",
            "source_route_failed" => "EOPNOTSUPP",
            "frag_needed" => "EMSGSIZE",
            _ => return Err(format!("not supported: icmp unreachable {code}")),
        };
        let now = self.now;
        let Some(connection) = self.connections.last_mut() else { return Ok(()) };
        let start = connection.own_start.unwrap_or(0);
        let Some(endpoint) = &mut connection.endpoint else { return Ok(()) };
        let info = endpoint.info();
        let opens = matches!(info.state, State::SynSent | State::SynReceived);
        let meant = |seq: u64| (opens || seq >= info.snd_una) && seq <= info.snd_nxt.max(1);
        if quoted.is_some_and(|seq| seq < start || !meant(seq - start)) {
            return Ok(());
        }
        let believed = connection.discovers && !self.setup.mtu_locked && self.setup.no_discovery != 2;
        match (info.state, mtu) {
            (State::SynReceived, _) if !endpoint.opened_early() => {
                if matches!(code, "net_unreachable" | "host_unreachable" | "") {
                    connection.endpoint = None;
                }
            }
            (state, Some(mtu)) if mtu > 0 && believed => {
                let mtu = mtu.max(MIN_PATH_MTU);
                if state == State::SynSent {
                    // The SYN goes again without its data, for packets that fit.
                    let fits = |config: &mut Config| {
                        let options = if config.timestamps { TIMESTAMPS } else { 0 };
                        config.mss = config.mss.min(mtu - HEADERS - options);
                        Ok::<(), ()>(())
                    };
                    endpoint.reconfigure(fits).expect("it cannot fail");
                    endpoint.retry(now);
                } else {
                    endpoint.on_path_mtu(now, mtu);
                }
                let known = self.path_mtu.filter(|(since, _)| now < *since + REMEMBERED);
                self.path_mtu = Some((now, known.map_or(mtu, |(_, before)| before.min(mtu))));
            }
            (_, Some(_)) => {}
            (State::SynSent | State::SynReceived, _) => connection.fail(now, error),
            _ => {}
        }
        self.settle()
    }

    /// The MTU of the path, as far as the network has told it of late.
    pub(super) fn path_mtu(&self) -> Option<u32> {
        self.path_mtu.filter(|(since, _)| self.now < *since + REMEMBERED).map(|(_, mtu)| mtu)
    }

    /// The host's answer to a packet that no connection takes (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, segment: &Segment) {
        self.sent.extend(refusal(self.now, segment).map(|reset| (self.now, reset)));
    }

    /// Makes a connection, which comes to the listening socket `fd` or is what it connects.
    pub(super) fn open(&mut self, fd: i64, listens: bool, fast: Option<FastOpen>) -> Result<(), String> {
        let syn = self.script.events[self.at..].iter().find_map(|event| match &event.what {
            What::Inject(packet) if packet.flags.has(Flags::SYN) => Some(packet.to_segment()),
            _ => None,
        });
        let mut setup = self.setup.clone();
        self.sockets[&fd].prepare(&mut setup)?;
        let path_mtu = self.path_mtu();
        setup.path_mss = path_mtu.map_or(u32::MAX, |mtu| mtu - HEADERS);
        let config = setup.config();
        let law = setup.new_law(&config, syn.as_ref());
        let mut endpoint =
            if listens { Endpoint::listen(config, law) } else { Endpoint::connect(config, law, self.now) };
        endpoint.set_auto_read(false);
        endpoint.set_peer_segment(self.setup.peer_segment);
        endpoint.let_buffer_grow(!listens);
        if let Some(mtu) = path_mtu {
            endpoint.on_path_mtu(self.now, mtu);
        }
        if let Some(fast) = fast {
            endpoint.set_fast_open(fast);
        }
        self.leave()?;
        self.connections.push(Connection {
            endpoint: Some(endpoint),
            listener: listens.then_some(fd),
            fast: fast.is_some(),
            accepted: !listens,
            left: false,
            reset: false,
            shut: false,
            closed: false,
            read_shut: false,
            fair_queue: FairQueue::default(),
            buffer: Buffer::new(
                self.sockets[&fd].send_buffer,
                self.setup.write_memory,
                setup.config().nagle,
                self.setup.not_sent_lowat,
            ),
            notices: Notices::default(),
            wakes: 0,
            told: (State::Closed, 0),
            full: false,
            moved: false,
            max_window: 0,
            last_data: self.now,
            stamp: 0,
            busy: Duration::ZERO,
            limited_by_window: Duration::ZERO,
            limited_by_buffer: Duration::ZERO,
            user_timeout: self.sockets[&fd].user_timeout,
            stalled: None,
            probes: 0,
            heard: self.now,
            keep_alive: self.sockets[&fd].keep_alive.unwrap_or(self.setup.keep_alive),
            discovers: self.sockets[&fd].discovers.unwrap_or(self.setup.no_discovery != 1),
            failed: None,
            port: self.sockets[&fd].port,
            ended: None,
            error_taken: false,
            stamps: Stamps::default(),
            peer_start: 0,
            own_start: None,
            peer_syn: None,
            own_syn: None,
        });
        Ok(())
    }

    fn expect(&mut self, expected: &Packet, when: When) -> Result<(), String> {
        let base = self.now;
        let (first, last) = match when {
            When::At(point) | When::Lasting(point, _) => (point.after(base), point.after(base)),
            When::Between(from, to) => (from.after(base), to.after(base)),
            When::Any => (Time::ZERO, Time::NEVER),
        };
        let due = match when {
            When::Any => format!("at any time > {expected}"),
            When::Between(..) => format!("{}~{}", seconds(first), line(last, expected)),
            When::At(_) | When::Lasting(..) => line(first, expected),
        };
        let tolerance = self.tolerance(first);
        let latest = last + tolerance;
        let Some((time, mut actual)) = self.next_packet(expected, latest)? else {
            return Err(format!("expected {due}\nactual   nothing was sent by {}", seconds(self.now.max(latest))));
        };
        let mut none = Stamps::default();
        let stamps = match self.connections.last_mut() {
            Some(connection) => {
                if actual.flags.has(Flags::SYN) {
                    // The script chooses our initial sequence number.
                    actual.seq += *connection.own_start.get_or_insert(expected.seq);
                    actual.ack = actual.ack.map(|ack| ack + connection.peer_start);
                }
                &mut connection.stamps
            }
            None => &mut none,
        };
        let differs = compare::difference(expected, &actual, stamps, &self.setup).or_else(|| {
            let early = time + tolerance < first;
            let late = time > latest;
            (early || late).then(|| {
                let (word, by) = if early { ("early", first - time) } else { ("late", time - last) };
                format!("time: {:.6} s too {word}", by.as_secs_f64())
            })
        });
        if let Some(difference) = differs {
            return Err(format!("expected {due}\nactual   {}\nfirst difference: {difference}", line(time, &actual)));
        }
        self.last = Some(if when == When::Any { base } else { first });
        Ok(())
    }

    /// The next packet sent, waiting for it until `latest`. Segments that follow each other are taken as one
    /// packet up to the length expected: a kernel hands them over uncut.
    fn next_packet(&mut self, expected: &Packet, latest: Time) -> Result<Option<(Time, Packet)>, String> {
        let Some((time, first)) = self.next_segment(latest)? else { return Ok(None) };
        let mut actual = Packet::of_segment(&first);
        let plain = |flags: Flags| !flags.has(Flags::SYN) && !flags.has(Flags::FIN) && !flags.has(Flags::RST);
        while !self.setup.strict
            && actual.len > 0
            && actual.len < expected.len
            && actual.seq == expected.seq
            && plain(actual.flags)
        {
            let Some((at, next)) = self.next_segment(latest)? else { break };
            if next.seq != actual.seq + u64::from(actual.len) || next.len == 0 {
                self.sent.push_front((at, next));
                break;
            }
            actual.len += next.len;
            actual.flags = actual.flags | next.flags;
        }
        Ok(Some((time, actual)))
    }

    fn next_segment(&mut self, latest: Time) -> Result<Option<(Time, Segment)>, String> {
        while self.sent.is_empty() && self.step(latest)? {}
        // A host's queue may hold it.
        let at = self.sent.front().map_or(Time::ZERO, |(at, _)| *at);
        if at > latest {
            return Ok(None);
        }
        if at > self.now {
            self.advance(at)?;
        }
        Ok(self.sent.pop_front())
    }

    // Commands.

    /// A setting of the host concerns the connections that are opened later; what Linux reads while one lasts, that too.
    fn shell(&mut self, text: &str, line: usize) -> Result<(), String> {
        let set = self.setup.shell(text, line, &mut self.notes)?;
        for socket in self.sockets.values_mut() {
            if let Some(keep_alive) = &mut socket.keep_alive {
                keep_alive.host = self.setup.keep_alive.host;
            }
        }
        for connection in &mut self.connections {
            connection.keep_alive.host = self.setup.keep_alive.host;
            connection.buffer.set_lowat(connection.buffer.asked_lowat(), self.setup.not_sent_lowat);
        }
        if std::mem::take(&mut self.setup.forget_peers) {
            self.peer = Peer::default();
        }
        let last = self.connections.len().saturating_sub(1);
        let open = self.connections.iter_mut().enumerate().filter(|(_, connection)| !connection.is_over());
        for (index, connection) in open {
            for (key, value) in &set {
                if !connection.follow(key, value)? && index == last {
                    self.notes.push(format!("line {line}: {key} is for the next connection"));
                }
            }
        }
        Ok(())
    }

    // Assertions.

    fn code(&mut self, statements: &[Statement], line: usize) -> Result<(), String> {
        for statement in statements {
            let known = |name: &str| self.lookup(name);
            match statement {
                Statement::Assert(condition, text) => match condition.value(&known) {
                    Err(message) if condition.knows(&known) => {
                        let values = condition.values_of_names(&known);
                        let values = if values.is_empty() { values } else { format!(" ({values})") };
                        return Err(format!("assert {text}: {message}{values}"));
                    }
                    Err(message) => return Err(format!("not supported: assert {text}: {message}; known: {NAMES}")),
                    Ok(0.0) => return Err(format!("assert {text}: {}", condition.values_of_names(&known))),
                    Ok(_) => {}
                },
                Statement::Assign(name, expr) => {
                    let value = expr.value(&known).map_err(|message| format!("{name}: {message}; known: {NAMES}"))?;
                    self.variables.insert(name.clone(), value);
                }
                Statement::Print(arguments) => {
                    let shown = arguments.iter().map(|(expr, text)| match expr.value(&known) {
                        Ok(value) => format!("{text} = {value}"),
                        Err(_) => text.clone(),
                    });
                    let shown = shown.collect::<Vec<_>>().join(", ");
                    self.notes.push(format!("line {line}: {shown}"));
                }
                Statement::Unknown(text) if text.starts_with("import ") || text.starts_with("from ") => {
                    self.notes.push(format!("line {line}: not run here: {text}"));
                }
                Statement::Unknown(text) => return Err(format!("not supported: the Python statement {text}")),
            }
        }
        Ok(())
    }

    /// What `name` is in `tcp_info`: counts in segments, times in microseconds, rates in bytes per second.
    fn lookup(&self, name: &str) -> Option<f64> {
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            return Some(*value);
        }
        if let Some(value) = self.variables.get(name) {
            return Some(*value);
        }
        let connection = self.connections.last()?;
        let endpoint = connection.endpoint.as_ref()?;
        if name == "SK_MEMINFO_RCVBUF" {
            return endpoint.receive_buffer().map(|bytes| bytes as f64);
        }
        let info = endpoint.info();
        let mss = u64::from(endpoint.mss());
        let micros = |d: Duration| (d.0 / 1000) as f64;
        let bytes = |rate: Option<Rate>| rate.map_or(0.0, |r| (r.0 / 8) as f64);
        Some(match name.strip_prefix("tcpi_")? {
            "snd_cwnd" => (info.cwnd / mss) as f64,
            // Linux's "arbitrarily high" is 2^31 - 1.
            "snd_ssthresh" if info.ssthresh == u64::MAX => f64::from(i32::MAX),
            "snd_ssthresh" => (info.ssthresh / mss) as f64,
            "snd_mss" | "advmss" => mss as f64,
            "rtt" => info.srtt.map_or(0.0, micros),
            "rttvar" => micros(info.rttvar),
            "min_rtt" => info.min_rtt.map_or(f64::from(u32::MAX), micros),
            "rto" => micros(info.rto),
            "probes" => f64::from(connection.probes),
            // Until one has come what everybody takes (RFC 9293 §3.7.1).
            "rcv_mss" => f64::from(endpoint.full_segment().max(536.min(endpoint.mss())).min(self.setup.peer_segment)),
            "backoff" | "retransmits" => f64::from(info.backoff),
            "unacked" => f64::from(info.packets_out),
            "sacked" => f64::from(info.sacked_out),
            "lost" => f64::from(info.lost_out),
            "retrans" => f64::from(info.retrans_out),
            "total_retrans" => info.total_retrans as f64,
            "reordering" => f64::from(info.reordering),
            "reord_seen" => f64::from(info.reord_seen),
            "delivered_ce" => f64::from(info.delivered_ce),
            "received_ce" => f64::from(endpoint.received_ce()),
            "received_e0_bytes" => f64::from(endpoint.accecn_bytes().0[0]),
            "received_ce_bytes" => f64::from(endpoint.accecn_bytes().0[1]),
            "received_e1_bytes" => f64::from(endpoint.accecn_bytes().0[2]),
            "delivered_e0_bytes" => f64::from(endpoint.accecn_bytes().1[0]),
            "delivered_ce_bytes" => f64::from(endpoint.accecn_bytes().1[1]),
            "delivered_e1_bytes" => f64::from(endpoint.accecn_bytes().1[2]),
            "delivered" => {
                let handshake = u64::from(!matches!(info.state, State::SynSent | State::SynReceived | State::Listen));
                // Data on a SYN that is not answered; or is, and counts as one with it (Linux `tcp_rcv_fastopen_synack`).
                let with_syn = connection.own_syn.is_some_and(|syn| syn.len > 0);
                let early = u64::from(with_syn && (handshake == 0 || endpoint.fast_opened()));
                let counted = endpoint.stats();
                let sent = counted.segments_sent.saturating_sub(counted.segments_retransmitted + early);
                (handshake + sent - u64::from(info.packets_out - info.sacked_out).min(sent)) as f64
            }
            "busy_time" => micros(connection.busy),
            "rwnd_limited" => micros(connection.limited_by_window),
            "sndbuf_limited" => micros(connection.limited_by_buffer),
            "last_data_recv" => self.now.since(connection.last_data).0 as f64 / 1e6,
            "notsent_bytes" => connection.unsent() as f64,
            "snd_wnd" => info.snd_wnd as f64,
            "bytes_received" => endpoint.stats().bytes_received as f64,
            "pacing_rate" => bytes(info.pacing_rate),
            "delivery_rate" => bytes(info.delivery_rate),
            "bytes_acked" => endpoint.stats().bytes_acked as f64,
            "bytes_sent" => endpoint.stats().bytes_sent as f64,
            "data_segs_out" => endpoint.stats().segments_sent as f64,
            "options" => f64::from(connection.negotiated()),
            "ca_state" => match info.phase {
                Phase::Open => 0.0,
                Phase::Disorder => 1.0,
                Phase::Cwr => 2.0,
                Phase::Recovery => 3.0,
                Phase::Loss => 4.0,
            },
            "state" => match info.state {
                State::Established => 1.0,
                State::SynSent => 2.0,
                State::SynReceived => 3.0,
                State::FinWait1 => 4.0,
                State::FinWait2 => 5.0,
                State::TimeWait => 6.0,
                State::Closed => 7.0,
                State::CloseWait => 8.0,
                State::LastAck => 9.0,
                State::Listen => 10.0,
                State::Closing => 11.0,
            },
            _ => return None,
        })
    }
}

impl Connection {
    /// A sysctl was set: whether Linux reads it where a connection is open.
    ///
    /// # Errors
    /// It does, and this cannot.
    fn follow(&mut self, key: &str, value: &str) -> Result<bool, String> {
        let Some(endpoint) = &mut self.endpoint else { return Ok(true) };
        let refused = |what: &str| Err(format!("not supported: {key} on an open connection{what}"));
        let opens = matches!(endpoint.state(), State::SynSent | State::SynReceived);
        match short(key) {
            name if READ_FROM_HOST.contains(&name) => return Ok(true),
            "tcp_syn_retries" | "tcp_synack_retries" if opens => return refused(" that is opening"),
            DEVICE_MTU | "tcp_adv_win_scale" => return refused(""),
            "tcp_rmem" | "tcp_moderate_rcvbuf" if endpoint.receive_buffer().is_none() => {
                return refused(" whose receive buffer began without a size");
            }
            "tcp_comp_sack_nr" | "tcp_comp_sack_slack_ns" | "tcp_comp_sack_delay_ns" | "tcp_rmem" => {}
            "tcp_wmem" => {
                let most = value.split_whitespace().last().and_then(|most| most.parse().ok());
                if !self.buffer.set_most(most.unwrap_or(u64::MAX)) {
                    return refused(" whose send buffer has no bound");
                }
                return Ok(true);
            }
            name if READ_LATER.contains(&name) => {}
            _ => return Ok(false),
        }
        endpoint.reconfigure(|config| configure(config, key, value))?;
        Ok(true)
    }

    /// When it wants to be woken: the endpoint, what a cork holds back, the end of the application's patience.
    fn next_timer(&self) -> Time {
        let Some(endpoint) = &self.endpoint else { return Time::NEVER };
        endpoint.next_timer().min(self.buffer.due).min(self.gives_up()).min(self.keep_alive.due)
    }

    /// When TCP_USER_TIMEOUT ends it (RFC 5482; Linux `tcp_write_timeout`).
    fn gives_up(&self) -> Time {
        let patience = self.user_timeout.zip(self.stalled);
        patience.map_or(Time::NEVER, |(timeout, (since, _))| since + timeout)
    }

    fn on_timer(&mut self, now: Time, retries: u32) {
        if now >= self.gives_up() {
            return self.fail(now, "ETIMEDOUT");
        }
        if now >= self.keep_alive.due {
            self.on_keep_alive(now);
        }
        if now >= self.buffer.due {
            self.buffer.due = Time::NEVER;
            self.release(now, false);
        }
        let hopeless = self.is_hopeless(now, retries);
        let Some(endpoint) = &mut self.endpoint else { return };
        let timeouts = endpoint.stats().timeouts;
        endpoint.on_timer(now);
        if hopeless && endpoint.stats().timeouts > timeouts {
            self.fail(now, "ETIMEDOUT");
        }
    }

    /// Whether a timeout now is the last: after the time that so many retransmissions take from an RTO of 200 ms on, counted from
    /// the first (Linux `tcp_write_timeout`). Behind a closed window it is after two of the longest RTOs without a word.
    fn is_hopeless(&self, now: Time, retries: u32) -> bool {
        const RTO_MIN: Duration = Duration::from_millis(200);
        let (Some(endpoint), Some((since, _)), None) = (&self.endpoint, self.stalled, self.user_timeout) else {
            return false;
        };
        let (retries, most) = (self.retries(retries), endpoint.rto_max());
        if endpoint.info().snd_wnd == 0 && !self.closed {
            return now.since(since).min(now.since(self.heard)) > most * 2;
        }
        let doublings = (most.0 / RTO_MIN.0).max(1).ilog2();
        let doubled = RTO_MIN * ((2 << retries.min(doublings)) - 1);
        now.since(since) >= doubled + most * u64::from(retries.saturating_sub(doublings))
    }

    /// How many retransmissions or probes in a row may be in vain: of what no application has any more eight, and none once the
    /// timeout is as long as it gets (Linux `tcp_orphan_retries`).
    fn retries(&self, of_host: u32) -> u32 {
        let Some(endpoint) = self.endpoint.as_ref().filter(|_| self.closed) else { return of_host };
        if endpoint.info().rto < endpoint.rto_max() { 8 } else { 0 }
    }

    /// The connection is no more, and the application will hear why.
    pub(super) fn fail(&mut self, now: Time, error: &'static str) {
        self.failed = Some(error);
        self.stalled = None;
        self.keep_alive.due = Time::NEVER;
        self.wakes += 1;
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.fail(now);
        }
    }

    /// The next segment that it sends now.
    fn next_segment(&mut self, now: Time, retries: u32) -> Option<Segment> {
        loop {
            let segment = self.endpoint.as_mut()?.poll_transmit(now);
            let Some(segment) = segment else {
                if self.feed(now) {
                    continue;
                }
                return None;
            };
            if segment.flags.has(Flags::SYN) {
                self.own_syn.get_or_insert(segment);
            }
            let una = self.endpoint.as_ref().map_or(0, |endpoint| endpoint.info().snd_una);
            // ECN's flags aside, which any ACK may have.
            let control = Flags::FIN | Flags::SYN | Flags::RST | Flags::ACK;
            let ack = segment.len == 0 && segment.flags.0 & control.0 == Flags::ACK.0;
            let probe = ack && segment.seq + 1 == una;
            if probe && self.unacked() > 0 && self.probes >= self.retries(retries) {
                // Nor does it ask for a window any longer (Linux `tcp_probe_timer`).
                self.fail(now, "ETIMEDOUT");
                return None;
            }
            self.probes += u32::from(probe);
            self.moved |= segment.len > 0;
            // A closed window counts as silence, too (Linux `icsk_probes_tstamp`).
            let waits = segment.retransmission || probe && self.unacked() > 0;
            if waits && self.stalled.is_none_or(|(_, from)| from != una) {
                self.stalled = Some((now, una));
            }
            if self.endpoint.as_ref().is_some_and(|endpoint| endpoint.state() == State::TimeWait) {
                self.ended.get_or_insert(now);
            }
            return Some(segment);
        }
    }

    /// Whether the next SYN is for another connection.
    fn is_over(&self) -> bool {
        self.endpoint.as_ref().is_none_or(|endpoint| matches!(endpoint.state(), State::Closed | State::TimeWait))
            || self.shut
    }

    /// `tcpi_options`: what both SYNs offered.
    pub(super) fn negotiated(&self) -> u32 {
        let (Some(own), Some(peer)) = (self.own_syn, self.peer_syn) else { return 0 };
        let ecn = |s: &Segment| s.flags.ace() != 0;
        [
            own.has_timestamps && peer.has_timestamps,
            own.sack_permitted && peer.sack_permitted,
            own.window_scale.is_some() && peer.window_scale.is_some(),
            ecn(&own) && ecn(&peer),
            false,
            self.endpoint.as_ref().is_some_and(Endpoint::fast_opened),
        ]
        .into_iter()
        .enumerate()
        .map(|(bit, both)| u32::from(both) << bit)
        .sum()
    }
}

/// The settings that Linux reads whenever it needs them, not only where a connection begins.
const READ_LATER: &[&str] = &[
    "tcp_dsack",
    "tcp_early_retrans",
    "tcp_ecn_fallback",
    "tcp_ecn_option",
    "tcp_frto",
    "tcp_invalid_ratelimit",
    "tcp_max_reordering",
    "tcp_moderate_rcvbuf",
    "tcp_recovery",
    "tcp_reordering",
    "tcp_slow_start_after_idle",
    "tcp_thin_linear_timeouts",
];

/// Those of them that are the host's here.
const READ_FROM_HOST: &[&str] = &[
    "ip_no_pmtu_disc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "tcp_keepalive_intvl",
    "tcp_keepalive_probes",
    "tcp_keepalive_time",
    "tcp_min_tso_segs",
    "tcp_notsent_lowat",
    "tcp_pacing_ca_ratio",
    "tcp_pacing_ss_ratio",
    "tcp_retries2",
    "tcp_tso_rtt_log",
];

/// The names that a failing assertion offers.
const NAMES: &str = "tcpi_snd_cwnd, tcpi_snd_ssthresh, tcpi_snd_mss, tcpi_rtt, tcpi_rttvar, tcpi_min_rtt, tcpi_rto, \
    tcpi_backoff, tcpi_probes, tcpi_rcv_mss, tcpi_retransmits, tcpi_unacked, tcpi_sacked, tcpi_lost, tcpi_retrans, tcpi_total_retrans, \
    tcpi_delivered_ce, tcpi_received_ce, tcpi_{delivered,received}_{e0,e1,ce}_bytes, tcpi_reordering, tcpi_reord_seen, tcpi_delivered, tcpi_busy_time, tcpi_rwnd_limited, tcpi_sndbuf_limited, tcpi_last_data_recv, \
    tcpi_notsent_bytes, tcpi_snd_wnd, tcpi_bytes_received, tcpi_pacing_rate, tcpi_delivery_rate, tcpi_bytes_acked, tcpi_bytes_sent, \
    tcpi_data_segs_out, tcpi_options, \
    SK_MEMINFO_RCVBUF, tcpi_ca_state, tcpi_state, TCP_CA_*, TCPI_OPT_*, TCP_INFINITE_SSTHRESH";

/// Linux's names for the values above.
const CONSTANTS: &[(&str, f64)] = &[
    ("TCP_CA_Open", 0.0),
    ("TCP_CA_Disorder", 1.0),
    ("TCP_CA_CWR", 2.0),
    ("TCP_CA_Recovery", 3.0),
    ("TCP_CA_Loss", 4.0),
    ("TCPI_OPT_TIMESTAMPS", 1.0),
    ("TCPI_OPT_SACK", 2.0),
    ("TCPI_OPT_WSCALE", 4.0),
    ("TCPI_OPT_ECN", 8.0),
    ("TCPI_OPT_SYN_DATA", 32.0),
    ("TCP_INFINITE_SSTHRESH", 2_147_483_647.0),
    ("TCP_ESTABLISHED", 1.0),
    ("TCP_SYN_SENT", 2.0),
    ("TCP_SYN_RECV", 3.0),
    ("TCP_FIN_WAIT1", 4.0),
    ("TCP_FIN_WAIT2", 5.0),
    ("TCP_TIME_WAIT", 6.0),
    ("TCP_CLOSE", 7.0),
    ("TCP_CLOSE_WAIT", 8.0),
    ("TCP_LAST_ACK", 9.0),
    ("TCP_CLOSING", 11.0),
];

/// A sent or expected packet as a line of a script, with its absolute time.
fn line(time: Time, packet: &Packet) -> String {
    format!("{} > {packet}", seconds(time))
}

/// Seconds to the microsecond.
pub(super) fn seconds(time: Time) -> String {
    format!("{}.{:06}", time.0 / 1_000_000_000, time.0 / 1000 % 1_000_000)
}
