//! System calls on the connections of a script: what they do, what they return, and when.

use super::ast::{Call, Value};
use super::buffer::{Buffer, Write};
use super::cookie::{self, Key};
use super::keepalive::KeepAlive;
use super::setup::{
    FAST_OPEN_CLIENT, FAST_OPEN_CLIENT_NO_COOKIE, FAST_OPEN_LISTENERS, FAST_OPEN_SERVER, FAST_OPEN_SERVER_NO_COOKIE,
    HEADERS, Setup,
};
use super::world::{Connection, World, seconds};
use crate::tcp::{Endpoint, FastOpen, State};
use cclab_algo::{Duration, Time};

/// What a call returns: a number or an error.
pub(super) type Returned = Result<i64, &'static str>;

/// What a descriptor stands for.
#[derive(Default)]
pub(super) struct Socket {
    /// It waits for SYNs.
    pub listening: bool,
    nonblocking: bool,
    /// Which of the connections it is.
    pub connection: Option<usize>,
    /// Options that its connections begin with.
    options: Vec<(SocketOption, i64)>,
    congestion_control: Option<String>,
    /// TCP_MAXSEG.
    mss: Option<i64>,
    /// SO_SNDBUF, doubled.
    pub send_buffer: Option<u64>,
    /// TCP_NODELAY, SO_ZEROCOPY.
    pub nodelay: bool,
    pub copies: bool,
    /// TCP_FASTOPEN_KEY.
    key: Option<Key>,
    /// TCP_USER_TIMEOUT.
    pub user_timeout: Option<Duration>,
    /// IP_LOCAL_PORT_RANGE of one port.
    pub port: Option<i64>,
    /// SO_KEEPALIVE; IP_MTU_DISCOVER.
    pub keep_alive: Option<KeepAlive>,
    pub discovers: Option<bool>,
    /// SO_LINGER, in seconds.
    linger: Option<u64>,
    /// TCP_FASTOPEN: SYNs may bring data.
    takes_data: bool,
    /// TCP_FASTOPEN_NO_COOKIE.
    no_cookie: bool,
    /// TCP_FASTOPEN_CONNECT, and whether connect() waits for the first write.
    fast_connect: bool,
    deferred: bool,
}

/// An option that a connection begins with.
type SocketOption = fn(&mut Setup, i64);

impl Socket {
    /// connect() has put off the SYN until there is data for it.
    fn waits_for_data(&self) -> bool {
        self.deferred && self.connection.is_none()
    }

    /// The surroundings of a connection of this socket.
    pub fn prepare(&self, setup: &mut Setup) -> Result<(), String> {
        self.options.iter().for_each(|(set, value)| set(setup, *value));
        self.congestion_control.as_ref().map_or(Ok(()), |name| setup.congestion_control(name))
    }
}

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    line: usize,
    call: Call,
    /// When the script wants it to return.
    due: Time,
    tolerance: Duration,
}

impl Pending {
    /// When it is late.
    pub fn latest(&self) -> Time {
        self.due + self.tolerance
    }
}

impl World<'_> {
    /// Does a system call; `end`: when it returns if it takes its time.
    pub(super) fn call(&mut self, call: &Call, line: usize, end: Option<Time>) -> Result<(), String> {
        if let Some(pending) = self.pending.clone() {
            self.failed_line = Some(pending.line);
            return Err(format!("{} has not returned when line {line} makes the next call", pending.call.name));
        }
        let returned = self.attempt(call, true)?;
        self.settle()?;
        let tolerance = end.map_or(Duration::ZERO, |due| self.tolerance(due));
        match (returned, end) {
            (Some(_), Some(due)) if due > self.now + tolerance => {
                Err(format!("{} should last until {}, and returned at {}", call.name, seconds(due), seconds(self.now)))
            }
            (Some(returned), _) => self.compare(call, &returned),
            (None, Some(due)) => {
                self.pending = Some(Pending { line, call: call.clone(), due, tolerance });
                self.finish_pending(false)
            }
            (None, None) => Err(format!("{} blocks; it should have returned {}", call.name, shown(&call.result))),
        }
    }

    /// Lets a waiting call return if it can; `last`: it must.
    pub(super) fn finish_pending(&mut self, last: bool) -> Result<(), String> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let (name, due) = (&pending.call.name, pending.due);
        let returned = self.attempt(&pending.call, false)?;
        if returned.is_some() {
            self.settle()?;
        }
        let outcome = match returned {
            Some(_) if self.now + pending.tolerance < due => {
                Err(format!("{name} should return at {}, and returned at {}", seconds(due), seconds(self.now)))
            }
            Some(returned) if self.now <= pending.latest() => self.compare(&pending.call, &returned),
            None if !last && self.now <= pending.latest() => {
                self.pending = Some(pending);
                return Ok(());
            }
            _ => Err(format!("{name} should return at {}, and has not by {}", seconds(due), seconds(self.now))),
        };
        if outcome.is_err() {
            self.failed_line = Some(pending.line);
        }
        outcome
    }

    fn compare(&mut self, call: &Call, returned: &Returned) -> Result<(), String> {
        let actual = match returned {
            Ok(n) => n.to_string(),
            Err(errno) => format!("-1 {errno}"),
        };
        let same = match (returned, &call.result, &call.errno) {
            (_, Value::Whatever, _) => true,
            (Ok(n), Value::Number(due), None) => n == due,
            (Err(errno), Value::Number(-1), Some(due)) => errno == due || (*errno == "EAGAIN" && due == "EWOULDBLOCK"),
            (Err(_), Value::Number(-1), None) => true,
            _ => false,
        };
        if same {
            return Ok(());
        }
        let errno = call.errno.as_ref().map_or(String::new(), |e| format!(" {e}"));
        Err(format!("{}: expected {}{errno}, returned {actual}", call.name, shown(&call.result)))
    }

    /// Tries a call; `None`: it blocks. `first`: it was just made.
    fn attempt(&mut self, call: &Call, first: bool) -> Result<Option<Returned>, String> {
        let fd = number(call, 0);
        let done = |n| Ok(Some(Ok(n)));
        if !CALLS.contains(&call.name.as_str()) {
            return Err(format!("not supported: the system call {}", call.name));
        }
        let looks = matches!(call.name.as_str(), "socket" | "poll" | "open" | "epoll_create" | "epoll_create1");
        let looks = looks || self.epolls.contains_key(&fd);
        if !looks && !self.sockets.contains_key(&fd) {
            return Ok(Some(Err("EBADF")));
        }
        if let Some(flag) = flags(call).find(|flag| flag.starts_with("MSG_") && !FLAGS.contains(flag)) {
            return Err(format!("not supported: {flag} of {}", call.name));
        }
        match call.name.as_str() {
            "socket" => self.socket(call),
            "bind" => done(0),
            "listen" => {
                self.socket_mut(fd).listening = true;
                done(0)
            }
            "connect" if flags(call).any(|flag| flag == "AF_UNSPEC") => Ok(Some(self.disconnect(fd))),
            "connect" => self.connect(fd, first).map(|returned| returned.map(|r| r.map(|()| 0))),
            "accept" | "accept4" => Ok(self.accept(call, fd)),
            "read" | "recv" | "recvfrom" => {
                let waits = self.blocks(fd) && !has_symbol(call, "MSG_DONTWAIT");
                if has_symbol(call, "NULL") && self.connection(fd).is_some_and(|c| c.has_data()) {
                    return Ok(Some(Err("EFAULT")));
                }
                Ok(self.read(fd, number(call, 2), waits, has_symbol(call, "MSG_PEEK")))
            }
            "write" | "send" | "sendto" if has_symbol(call, "NULL") => Ok(Some(Err("EFAULT"))),
            "write" | "send" | "sendto" | "sendmsg" | "writev" | "sendfile" => {
                let places = match call.name.as_str() {
                    "sendmsg" | "writev" => vector_of(call)?,
                    "sendfile" => vec![number(call, 3)],
                    _ => vec![number(call, 2)],
                };
                let bytes = places.iter().sum();
                let how = Write {
                    more: has_symbol(call, "MSG_MORE"),
                    ends_record: has_symbol(call, "MSG_EOR"),
                    never_waits: has_symbol(call, "MSG_DONTWAIT"),
                    copies: has_symbol(call, "MSG_ZEROCOPY") && self.sockets[&fd].copies,
                };
                let asked = has_symbol(call, "MSG_FASTOPEN");
                if asked && has_symbol(call, "AF_UNSPEC") {
                    return Ok(Some(Err("EOPNOTSUPP")));
                }
                let waits = self.blocks(fd) && !how.never_waits;
                if asked && first && !waits && self.connection(fd).is_some_and(|c| c.state() == State::SynSent) {
                    return Ok(Some(Err("EALREADY")));
                }
                let fast = asked || self.sockets[&fd].deferred;
                if fast && (self.sockets[&fd].connection.is_none() || !first) {
                    return self.write_fast(fd, bytes, how, first);
                }
                if let Some(connection) = self.connection(fd).filter(|_| how.copies && first) {
                    connection.buffer.keep_places(&places);
                }
                self.write(fd, bytes, how, first)
            }
            "recvmsg" => self.receive_message(call, fd),
            "open" => {
                let fd = self.descriptor_named(call);
                self.sockets.insert(fd, Socket::default());
                done(fd)
            }
            "epoll_create" | "epoll_create1" => Ok(Some(self.epoll_create(call))),
            "epoll_ctl" => self.epoll_ctl(call).map(Some),
            "epoll_wait" => self.epoll_wait(call),
            "poll" => self.poll(call),
            "close" => self.close(fd, first),
            "shutdown" => self.shutdown(call, fd),
            "ioctl" => self.ioctl(call, fd),
            "fcntl" => Ok(Some(Ok(self.fcntl(call, fd)))),
            "setsockopt" => self.set_option(call, fd).map(Some),
            "getsockopt" => self.check_option(call, fd).map(|()| Some(Ok(0))),
            name => unreachable!("{name} is not one of CALLS"),
        }
    }

    fn socket(&mut self, call: &Call) -> Result<Option<Returned>, String> {
        if has_symbol(call, "SOCK_DGRAM") || has_symbol(call, "IPPROTO_UDP") {
            return Err("not supported: UDP sockets".to_owned());
        }
        let fd = self.descriptor_named(call);
        let nonblocking = has_symbol(call, "SOCK_NONBLOCK");
        self.sockets.insert(fd, Socket { nonblocking, ..Socket::default() });
        Ok(Some(Ok(fd)))
    }

    /// The descriptor that the script names in the result; the lowest free one where it names none.
    pub(super) fn descriptor_named(&self, call: &Call) -> i64 {
        match call.result {
            Value::Number(fd) if fd >= 0 => fd,
            _ => (3..).find(|fd| !self.sockets.contains_key(fd)).expect("there is always another number"),
        }
    }

    fn socket_mut(&mut self, fd: i64) -> &mut Socket {
        self.sockets.get_mut(&fd).expect("every call looks first whether its descriptor is open")
    }

    pub(super) fn blocks(&self, fd: i64) -> bool {
        !self.sockets[&fd].nonblocking
    }

    /// The connection of a descriptor.
    pub(super) fn connection(&mut self, fd: i64) -> Option<&mut Connection> {
        let index = self.sockets[&fd].connection?;
        Some(&mut self.connections[index])
    }

    fn connect(&mut self, fd: i64, first: bool) -> Result<Option<Result<(), &'static str>>, String> {
        let again = self.sockets[&fd].connection.is_some();
        if !again {
            let socket = &self.sockets[&fd];
            let fast = socket.fast_connect && self.setup.fast_open & FAST_OPEN_CLIENT != 0;
            if fast && (self.peer.gave_cookie() || self.needs_no_cookie(fd)) {
                let again = std::mem::replace(&mut self.socket_mut(fd).deferred, true);
                return Ok(Some(if again { Err("EISCONN") } else { Ok(()) }));
            }
            let fast = fast.then(|| self.connects_fast(fd));
            let port = self.sockets[&fd].port;
            if port.is_some() && self.connections.iter().any(|c| c.port == port && !self.port_is_free(c)) {
                return Ok(Some(Err("EADDRNOTAVAIL")));
            }
            let stamp = self.connections.iter().rfind(|c| port.is_some() && c.port == port).map(|c| c.stamp);
            self.open(fd, false, fast)?;
            if let (Some(stamp), Some(endpoint)) =
                (stamp, self.connections.last_mut().and_then(|c| c.endpoint.as_mut()))
            {
                endpoint.set_recent_timestamp(stamp);
            }
            self.socket_mut(fd).connection = Some(self.connections.len() - 1);
        }
        let blocks = self.blocks(fd);
        let connection = self.connection(fd).expect("it was just opened");
        if let Some(error) = connection.error() {
            return Ok(Some(Err(error)));
        }
        Ok(match connection.state() {
            State::SynSent | State::SynReceived if blocks => None,
            State::SynSent | State::SynReceived => Some(Err(if again { "EALREADY" } else { "EINPROGRESS" })),
            // A blocking connect is tried again until this; a second call on a connected socket fails.
            _ if first && again && blocks => Some(Err("EISCONN")),
            _ => Some(Ok(())),
        })
    }

    /// Whether the port of a connection may be used again: in TIME-WAIT if timestamps tell the new one from the old
    /// (RFC 6191; Linux `tcp_twsk_unique`).
    fn port_is_free(&self, connection: &Connection) -> bool {
        let after = self.setup.reuse_after.filter(|_| connection.negotiated() & 1 != 0);
        let waited = |after: u64| connection.ended.is_some_and(|at| self.now >= at + Duration::from_millis(after));
        connection.state() == State::Closed || (connection.state() == State::TimeWait && after.is_some_and(waited))
    }

    fn needs_no_cookie(&self, fd: i64) -> bool {
        self.setup.fast_open & FAST_OPEN_CLIENT_NO_COOKIE != 0 || self.sockets[&fd].no_cookie
    }

    /// How a connection of `fd` asks for Fast Open.
    fn connects_fast(&self, fd: i64) -> FastOpen {
        FastOpen::new(self.peer.shown(), !self.needs_no_cookie(fd), self.peer.mss)
    }

    /// How a connection to the listener `fd` answers it, if it does.
    pub(super) fn listens_fast(&self, fd: i64) -> Option<FastOpen> {
        let socket = &self.sockets[&fd];
        let mask = self.setup.fast_open;
        let takes = mask & FAST_OPEN_SERVER != 0 && (socket.takes_data || mask & FAST_OPEN_LISTENERS != 0);
        let required = mask & FAST_OPEN_SERVER_NO_COOKIE == 0 && !socket.no_cookie;
        let key = socket.key.unwrap_or(self.setup.fast_open_key);
        takes.then(|| FastOpen::new(cookie::cookie(key, self.setup.remote, self.setup.local), required, u32::MAX))
    }

    /// The first write of a connection, which opens it (RFC 7413 §4.2.1, Linux MSG_FASTOPEN). What does not fit the SYN a socket
    /// that does not block leaves to the application.
    fn write_fast(&mut self, fd: i64, bytes: i64, how: Write, first: bool) -> Result<Option<Returned>, String> {
        if self.setup.fast_open & FAST_OPEN_CLIENT == 0 {
            return Ok(Some(Err("EOPNOTSUPP")));
        }
        let (now, blocks) = (self.now, self.blocks(fd) && !how.never_waits);
        let mut taken = 0;
        if first {
            let fast = self.connects_fast(fd);
            let may = !fast.cookie.bytes().is_empty() || !fast.required;
            let room = i64::from(self.offered_mss(fd).min(fast.peer_mss).saturating_sub(40));
            self.open(fd, false, Some(fast))?;
            self.socket_mut(fd).connection = Some(self.connections.len() - 1);
            taken = match (blocks, may) {
                (true, _) => bytes,
                (false, true) => bytes.min(room),
                (false, false) => 0,
            };
            let connection = self.connection(fd).expect("it was just opened");
            connection.begin_with(now, taken.max(0) as u64, how.copies);
        }
        let connection = self.connection(fd).expect("it was just opened");
        if let Some(error) = connection.error() {
            return Ok(Some(Err(error)));
        }
        Ok(match (blocks, connection.is_open()) {
            (true, false) => None,
            (true, true) => Some(Ok(bytes)),
            (false, _) if taken > 0 => Some(Ok(taken)),
            (false, _) => Some(Err("EINPROGRESS")),
        })
    }

    /// The MSS that a SYN of `fd` offers.
    fn offered_mss(&self, fd: i64) -> u32 {
        self.sockets[&fd].mss.map_or(self.setup.mss(), |mss| (mss as u32).min(self.setup.mss()))
    }

    /// poll() of one descriptor: what of the events asked for there is, or after the time has passed, nothing.
    fn poll(&mut self, call: &Call) -> Result<Option<Returned>, String> {
        let Some(Value::List(list)) = call.args.first() else {
            return Err("poll: expected [{fd=…, events=…, revents=…}]".to_owned());
        };
        let [Value::Text(text)] = list.as_slice() else {
            return Err("not supported: poll of several descriptors".to_owned());
        };
        let fields: Vec<(&str, &str)> = text
            .trim_matches(['{', '}'])
            .split(',')
            .filter_map(|field| field.split_once('='))
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect();
        let field = |name: &str| fields.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value);
        let fd: i64 = field("fd").parse().map_err(|_| "poll: expected fd=…")?;
        if !self.sockets.contains_key(&fd) {
            return Ok(Some(Err("EBADF")));
        }
        let now = self.now;
        let due = match number(call, 2) {
            time @ 0.. => *self.poll_due.get_or_insert(now + Duration::from_millis(time.min(1 << 30) as u64)),
            _ => Time::NEVER,
        };
        let mut there = self.ready(fd);
        there.retain(|event| {
            field("events").split('|').any(|asked| asked.trim() == *event) || matches!(*event, "POLLERR" | "POLLHUP")
        });
        if there.is_empty() && now < due {
            return Ok(None);
        }
        self.poll_due = None;
        let mut wanted: Vec<&str> = field("revents").split('|').map(str::trim).collect();
        wanted.retain(|event| *event != "0" && !event.is_empty());
        if wanted.len() != there.len() || !there.iter().all(|event| wanted.contains(event)) {
            return Err(format!("poll: expected revents={}, returned {}", wanted.join("|"), there.join("|")));
        }
        Ok(Some(Ok(i64::from(!there.is_empty()))))
    }

    /// The events of poll() that `fd` has.
    pub(super) fn ready(&mut self, fd: i64) -> Vec<&'static str> {
        // What waits for its first write has room for it (Linux `tcp_poll`).
        if self.sockets[&fd].waits_for_data() {
            return vec!["POLLOUT"];
        }
        let Some(connection) = self.connection(fd) else {
            let comes = |c: &Connection| c.listener == Some(fd) && !c.accepted && c.came();
            return if self.connections.iter().any(comes) { vec!["POLLIN"] } else { Vec::new() };
        };
        let room = connection.writable();
        if !room {
            connection.fill();
        }
        let (failed, state) = (connection.error().is_some(), connection.state());
        let over = failed || state == State::Closed;
        let finished = matches!(state, State::CloseWait | State::LastAck | State::TimeWait | State::Closing);
        let readable = connection.endpoint.as_ref().is_some_and(|endpoint| endpoint.readable() > 0);
        [
            ("POLLIN", readable || finished || over || connection.read_shut),
            ("POLLOUT", connection.is_open() && room || over),
            ("POLLERR", failed || !connection.notices.is_empty()),
            ("POLLHUP", over),
            ("POLLRDHUP", finished || over),
        ]
        .into_iter()
        .filter_map(|(event, is)| is.then_some(event))
        .collect()
    }

    fn accept(&mut self, call: &Call, fd: i64) -> Option<Returned> {
        let ready = self.connections.iter().position(|c| c.listener == Some(fd) && !c.accepted && c.came());
        let Some(index) = ready else {
            return if self.blocks(fd) { None } else { Some(Err("EAGAIN")) };
        };
        let accepted = self.descriptor_named(call);
        self.connections[index].accepted = true;
        if let Some(endpoint) = &mut self.connections[index].endpoint {
            endpoint.let_buffer_grow(true);
        }
        let nonblocking = has_symbol(call, "SOCK_NONBLOCK");
        let copies = self.sockets[&fd].copies;
        self.sockets.insert(accepted, Socket { nonblocking, connection: Some(index), copies, ..Socket::default() });
        Some(Ok(accepted))
    }

    pub(super) fn read(&mut self, fd: i64, most: i64, blocks: bool, peeks: bool) -> Option<Returned> {
        let now = self.now;
        if self.sockets[&fd].waits_for_data() {
            return if blocks { None } else { Some(Err("EAGAIN")) };
        }
        let Some(connection) = self.connection(fd) else { return Some(Err("ENOTCONN")) };
        let Some(endpoint) = &mut connection.endpoint else { return Some(Err("ENOTCONN")) };
        if endpoint.readable() > 0 || most == 0 {
            let most = most.max(0) as u64;
            return Some(Ok(if peeks { endpoint.readable().min(most) } else { endpoint.read(now, most) } as i64));
        }
        if let Some(error) = connection.take_error() {
            return Some(Err(error));
        }
        match connection.state() {
            _ if connection.read_shut => Some(Ok(0)),
            State::CloseWait | State::LastAck | State::Closing | State::TimeWait | State::Closed => Some(Ok(0)),
            _ if blocks => None,
            _ => Some(Err("EAGAIN")),
        }
    }

    /// What waits to be read, to be acknowledged, or to be sent.
    fn ioctl(&mut self, call: &Call, fd: i64) -> Result<Option<Returned>, String> {
        let Some(connection) = self.connection(fd) else { return Ok(Some(Err("EINVAL"))) };
        let (written, begun, acked) = connection.endpoint.as_ref().map_or((0, 0, 0), |endpoint| {
            (connection.buffer.written, endpoint.bytes_begun(), endpoint.stats().bytes_acked)
        });
        let readable = connection.endpoint.as_ref().map_or(0, Endpoint::readable);
        let actual = match call.args.get(1) {
            Some(Value::Symbol(name)) if name == "SIOCINQ" || name == "FIONREAD" => readable,
            Some(Value::Symbol(name)) if name == "SIOCOUTQ" || name == "TIOCOUTQ" => written.saturating_sub(acked),
            Some(Value::Symbol(name)) if name == "SIOCOUTQNSD" => written.saturating_sub(begun),
            _ => return Err("not supported: this ioctl".to_owned()),
        };
        match list_number(call, 2) {
            Some(due) if due != actual as i64 => Err(format!("ioctl: expected [{due}], returned [{actual}]")),
            _ => Ok(Some(Ok(0))),
        }
    }

    /// connect() to AF_UNSPEC: the connection is reset, and the socket as new.
    fn disconnect(&mut self, fd: i64) -> Returned {
        let now = self.now;
        if let Some(endpoint) = self.connection(fd).and_then(|connection| connection.endpoint.as_mut()) {
            endpoint.reset(now);
        }
        self.socket_mut(fd).connection = None;
        Ok(0)
    }

    /// With SO_LINGER it resets the connection, or waits until the peer has everything.
    fn close(&mut self, fd: i64, first: bool) -> Result<Option<Returned>, String> {
        let (now, linger) = (self.now, self.sockets[&fd].linger);
        if first {
            self.begin_close(fd, now, linger == Some(0));
        }
        if let Some(seconds @ 1..) = linger {
            let due = *self.poll_due.get_or_insert(now + Duration::from_secs(seconds));
            let done = |c: &mut Connection| matches!(c.state(), State::Closed | State::FinWait2 | State::TimeWait);
            if now < due && !self.connection(fd).is_none_or(done) {
                return Ok(None);
            }
            self.poll_due = None;
        }
        self.sockets.remove(&fd);
        Ok(Some(Ok(0)))
    }

    fn begin_close(&mut self, fd: i64, now: Time, resets: bool) {
        let listening = self.sockets[&fd].listening;
        for connection in self.connections.iter_mut().filter(|c| listening && c.listener == Some(fd)) {
            connection.left = true;
        }
        // Who came and was not accepted is turned away (Linux `inet_csk_listen_stop`).
        for connection in self.connections.iter_mut().filter(|c| listening && c.listener == Some(fd) && !c.accepted) {
            match &mut connection.endpoint {
                Some(endpoint) if endpoint.state() == State::SynReceived && !endpoint.opened_early() => {
                    connection.endpoint = None;
                }
                Some(endpoint) => endpoint.reset(now),
                None => {}
            }
        }
        if let Some(connection) = self.connection(fd) {
            if connection.state() == State::SynSent {
                // Nothing is open yet: the connection is forgotten (RFC 9293 §3.10.4).
                connection.endpoint = None;
            } else if let Some(endpoint) = connection.endpoint.as_mut().filter(|_| resets) {
                endpoint.reset(now);
                connection.shut = true;
            } else {
                connection.end(now);
            }
        }
    }

    fn shutdown(&mut self, call: &Call, fd: i64) -> Result<Option<Returned>, String> {
        let now = self.now;
        let Some(connection) = self.connection(fd).filter(|c| c.state() != State::Closed) else {
            return Ok(Some(Err("ENOTCONN")));
        };
        match call.args.get(1) {
            Some(Value::Symbol(how)) => {
                connection.read_shut |= how != "SHUT_WR";
                if how != "SHUT_RD" {
                    connection.shut(now);
                }
                Ok(Some(Ok(0)))
            }
            _ => Ok(Some(Err("EINVAL"))),
        }
    }

    fn fcntl(&mut self, call: &Call, fd: i64) -> i64 {
        const O_RDWR: i64 = 0x2;
        const O_NONBLOCK: i64 = 0x800;
        if has_symbol(call, "F_GETFL") {
            return O_RDWR | if self.blocks(fd) { 0 } else { O_NONBLOCK };
        }
        self.socket_mut(fd).nonblocking = has_symbol(call, "O_NONBLOCK");
        0
    }

    fn set_option(&mut self, call: &Call, fd: i64) -> Result<Returned, String> {
        let Some(Value::Symbol(option)) = call.args.get(2) else {
            return Err("setsockopt: expected the name of an option as third argument".to_owned());
        };
        let value = list_number(call, 3).unwrap_or(0);
        if !(i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&value) {
            return Err(format!("{option}: {value} does not fit the 32 bits of an int"));
        }
        let now = self.now;
        let no_client = self.setup.fast_open & FAST_OPEN_CLIENT == 0;
        let default_lowat = self.setup.not_sent_lowat;
        let [most_received, most_sent] = self.setup.most_asked;
        match (option.as_str(), self.connection(fd)) {
            // A port is nobody else's here.
            (
                "SO_REUSEADDR"
                | "SO_REUSEPORT"
                | "SO_MARK"
                | "IP_FREEBIND"
                | "IP_BIND_ADDRESS_NO_PORT"
                | "TCP_INQ"
                | "IP_TOS",
                _,
            ) => {}
            ("SO_ZEROCOPY", _) => self.socket_mut(fd).copies = value != 0,
            ("SO_TIMESTAMPING", Some(connection)) => {
                let written = connection.buffer.written;
                connection.notices.set_stamps(list_words(call, 3), written);
            }
            ("TCP_NOTSENT_LOWAT", Some(connection)) => {
                connection.buffer.set_lowat(value as u32, default_lowat);
            }
            ("TCP_USER_TIMEOUT", _) if !(0..=i64::from(i32::MAX)).contains(&value) => return Ok(Err("EINVAL")),
            ("TCP_USER_TIMEOUT", connection) => {
                let timeout = (value > 0).then(|| Duration::from_millis(value as u64));
                match connection {
                    Some(connection) => connection.user_timeout = timeout,
                    None => self.socket_mut(fd).user_timeout = timeout,
                }
            }
            ("TCP_FASTOPEN_KEY", _) => {
                let text = if let Some(Value::Text(text)) = call.args.get(3) { text } else { "" };
                match cookie::key_of_bytes(text) {
                    Some(key) => self.socket_mut(fd).key = Some(key),
                    None => return Ok(Err("EINVAL")),
                }
            }
            ("IP_LOCAL_PORT_RANGE", None) => self.socket_mut(fd).port = Some(value),
            ("SO_KEEPALIVE" | "TCP_KEEPIDLE" | "TCP_KEEPINTVL" | "TCP_KEEPCNT", connection) => {
                let allowed = match connection {
                    Some(connection) => connection.set_keep_alive(now, option, value),
                    None => {
                        let default = self.setup.keep_alive;
                        self.socket_mut(fd).keep_alive.get_or_insert(default).set(option, value)
                    }
                };
                return Ok(if allowed { Ok(0) } else { Err("EINVAL") });
            }
            ("IP_MTU_DISCOVER", connection) => {
                let word = list_words(call, 3);
                let known = DISCOVERY.iter().position(|name| *name == word).map_or(value, |place| place as i64);
                let discovers = match known {
                    0 | 4 | 5 => false,
                    1..=3 => true,
                    _ => return Ok(Err("EINVAL")),
                };
                match connection {
                    Some(connection) => connection.discovers = discovers,
                    None => self.socket_mut(fd).discovers = Some(discovers),
                }
            }
            ("SO_LINGER", _) => {
                let text = if let Some(Value::Text(text)) = call.args.get(3) { text } else { "" };
                let number = |name| field(text, name).and_then(|value| value.parse::<u32>().ok());
                let (Some(on), Some(seconds)) = (number("onoff"), number("linger")) else {
                    return Err("SO_LINGER: expected {onoff=1, linger=0}, of 32 bits each".to_owned());
                };
                self.socket_mut(fd).linger = (on != 0).then_some(u64::from(seconds));
            }
            ("TCP_SYNCNT", _) if !(1..=127).contains(&value) => return Ok(Err("EINVAL")),
            ("TCP_SYNCNT", None) => {
                self.begin_with(fd, |setup, value| setup.set_syn_retries(value as u32), value);
            }
            ("TCP_SYNCNT", Some(connection)) => {
                if let Some(endpoint) = &mut connection.endpoint {
                    endpoint.set_syn_retries(value as u32);
                }
            }
            ("TCP_NODELAY", connection) => {
                if let Some(connection) = connection {
                    connection.buffer.nagle = value == 0;
                    connection.release(now, connection.buffer.corked && value == 0);
                }
                self.socket_mut(fd).nodelay = value != 0;
                self.begin_with(fd, |setup, value| setup.set_nagle(value == 0), value);
            }
            ("TCP_CORK", Some(connection)) => {
                connection.buffer.corked = value != 0;
                connection.release(now, value != 0);
            }
            ("TCP_FASTOPEN", _) => self.socket_mut(fd).takes_data = value > 0,
            ("TCP_FASTOPEN_NO_COOKIE", _) => self.socket_mut(fd).no_cookie = value != 0,
            ("TCP_FASTOPEN_CONNECT", None) if no_client => {
                return Ok(Err("EOPNOTSUPP"));
            }
            ("TCP_FASTOPEN_CONNECT", None) => self.socket_mut(fd).fast_connect = value != 0,
            ("TCP_FASTOPEN_CONNECT", Some(_)) => return Ok(Err("EINVAL")),
            ("TCP_MAXSEG", None) => {
                if !(88..=32_767).contains(&value) {
                    return Ok(Err("EINVAL"));
                }
                self.socket_mut(fd).mss = Some(value);
                self.begin_with(fd, |setup, value| setup.set_mss(value.clamp(88, 32_767) as u32), value);
            }
            ("SO_SNDBUF", connection) => {
                let limit = Buffer::asked(value.min(most_sent));
                match connection {
                    Some(connection) => connection.buffer.set_limit(limit),
                    None => self.socket_mut(fd).send_buffer = Some(limit),
                }
            }
            ("SO_RCVBUF", None) => {
                self.begin_with(
                    fd,
                    |setup, value| setup.set_receive_buffer(value.clamp(1, 1 << 30) as u64),
                    value.min(most_received),
                );
            }
            ("SO_RCVBUF", Some(connection)) => {
                let counted = |endpoint: &mut Endpoint| {
                    endpoint.set_receive_buffer(2 * value.min(most_received).clamp(1, 1 << 30) as u64)
                };
                if !connection.endpoint.as_mut().is_some_and(counted) {
                    return Err("not supported: setsockopt SO_RCVBUF where the buffer began without a size".to_owned());
                }
            }
            ("TCP_CONGESTION", None) => {
                let name = match call.args.get(3) {
                    Some(Value::Text(name)) => name,
                    Some(Value::List(list)) => match list.as_slice() {
                        [Value::Symbol(name) | Value::Text(name)] => name,
                        _ => return Err("TCP_CONGESTION: expected one name".to_owned()),
                    },
                    _ => return Err("TCP_CONGESTION: expected a name".to_owned()),
                };
                self.setup.clone().congestion_control(name)?;
                self.socket_mut(fd).congestion_control = Some(name.clone());
            }
            (option, None) => return Err(format!("not supported: setsockopt {option}")),
            (option, Some(_)) => return Err(format!("not supported: setsockopt {option} on an open connection")),
        }
        Ok(Ok(0))
    }

    /// The connections of a socket begin with this option.
    fn begin_with(&mut self, fd: i64, set: SocketOption, value: i64) {
        self.socket_mut(fd).options.push((set, value));
    }

    fn check_option(&mut self, call: &Call, fd: i64) -> Result<(), String> {
        let Some(Value::Symbol(option)) = call.args.get(2) else {
            return Err("getsockopt: expected the name of an option as third argument".to_owned());
        };
        let (mss, own_mss) = (self.setup.mss(), self.sockets[&fd].mss);
        let path_mtu = self.path_mtu().unwrap_or(mss + HEADERS);
        let keep_alive = self.sockets[&fd].keep_alive.unwrap_or(self.setup.keep_alive);
        let connection = self.connection(fd);
        let actual = match (option.as_str(), connection) {
            ("SO_ERROR", Some(connection)) => match connection.take_error() {
                None => 0,
                Some("ENETUNREACH") => 101,
                Some("ECONNRESET") => 104,
                Some("ECONNREFUSED") => 111,
                Some("EHOSTUNREACH") => 113,
                Some(_) => 110,
            },
            ("SO_ERROR", None) => 0,
            ("SO_SNDBUF", Some(connection)) if connection.buffer.limit().is_some() => {
                connection.buffer.limit().map_or(0, |limit| limit as i64)
            }
            ("TCP_NOTSENT_LOWAT", Some(connection)) => i64::from(connection.buffer.asked_lowat()),
            ("IP_MTU", Some(_)) => i64::from(path_mtu),
            (name, connection) if keep_alive.get(name).is_some() => {
                let keep_alive = connection.map_or(keep_alive, |connection| connection.keep_alive);
                keep_alive.get(name).expect("it has a value")
            }
            ("TCP_USER_TIMEOUT", Some(connection)) => {
                connection.user_timeout.map_or(0, |timeout| (timeout.0 / 1_000_000) as i64)
            }
            ("TCP_MAXSEG", Some(connection)) => i64::from(connection.endpoint.as_ref().map_or(0, Endpoint::mss)),
            // What a host takes to be everybody's before anything was said (RFC 9293 §3.7.1).
            ("TCP_MAXSEG", None) => own_mss.unwrap_or(i64::from(mss.min(536))),
            (option, _) => return Err(format!("not supported: getsockopt {option}")),
        };
        match list_number(call, 3) {
            Some(due) if due != actual => Err(format!("getsockopt {option}: expected [{due}], returned [{actual}]")),
            _ => Ok(()),
        }
    }
}

impl Connection {
    /// Where it stands.
    pub(super) fn state(&self) -> State {
        self.endpoint.as_ref().map_or(State::Closed, Endpoint::state)
    }

    /// Both ends have agreed.
    pub(super) fn is_open(&self) -> bool {
        match self.state() {
            State::Closed | State::Listen | State::SynSent => false,
            // Where data on the SYN was taken, the server need not wait.
            State::SynReceived => self.endpoint.as_ref().is_some_and(Endpoint::opened_early),
            _ => true,
        }
    }

    /// Whether it is there to be accepted, even if it is over by now.
    pub(super) fn came(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|endpoint| endpoint.opened_early() || endpoint.established().is_some())
    }

    /// Whether there is something to read.
    fn has_data(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|endpoint| endpoint.readable() > 0)
    }

    /// The error that SO_ERROR and the next call report, once.
    pub(super) fn take_error(&mut self) -> Option<&'static str> {
        let error = self.error().filter(|_| !self.error_taken);
        self.error_taken |= error.is_some();
        error
    }

    /// Why it is no more, if it ended badly.
    fn error(&self) -> Option<&'static str> {
        if self.failed.is_some() {
            return self.failed;
        }
        let endpoint = self.endpoint.as_ref()?;
        match (self.state() == State::Closed, self.reset, endpoint.info().rcv_nxt > 0) {
            (true, true, true) => Some("ECONNRESET"),
            (true, true, false) => Some("ECONNREFUSED"),
            (true, false, false) => Some("ETIMEDOUT"),
            (true, false, true) if !self.shut => Some("ETIMEDOUT"),
            _ => None,
        }
    }

    /// The first write goes with the SYN.
    fn begin_with(&mut self, now: Time, bytes: u64, copies: bool) {
        self.buffer.written = bytes;
        if bytes > 0 {
            self.notices.on_write(bytes, copies);
        }
        self.feed(now);
    }

    /// The application writes no more.
    fn shut(&mut self, now: Time) {
        self.shut = true;
        self.release(now, false);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.close(now);
        }
    }

    /// `close`: nor will it read.
    fn end(&mut self, now: Time) {
        self.closed = true;
        self.shut(now);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.abandon(now);
        }
    }
}

/// The calls that there are.
const CALLS: &[&str] = &[
    "socket",
    "bind",
    "listen",
    "connect",
    "accept",
    "accept4",
    "read",
    "recv",
    "recvfrom",
    "write",
    "send",
    "sendto",
    "sendmsg",
    "writev",
    "sendfile",
    "recvmsg",
    "open",
    "poll",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "close",
    "shutdown",
    "fcntl",
    "ioctl",
    "setsockopt",
    "getsockopt",
];

/// The flags of calls that mean something here.
const FLAGS: &[&str] = &[
    "MSG_DONTWAIT",
    "MSG_EOR",
    "MSG_ERRQUEUE",
    "MSG_FASTOPEN",
    "MSG_MORE",
    "MSG_NOSIGNAL",
    "MSG_PEEK",
    "MSG_TRUNC",
    "MSG_ZEROCOPY",
];

/// The values of IP_MTU_DISCOVER.
const DISCOVERY: &[&str] = &[
    "IP_PMTUDISC_DONT",
    "IP_PMTUDISC_WANT",
    "IP_PMTUDISC_DO",
    "IP_PMTUDISC_PROBE",
    "IP_PMTUDISC_INTERFACE",
    "IP_PMTUDISC_OMIT",
];

pub(super) fn number(call: &Call, index: usize) -> i64 {
    match call.args.get(index) {
        Some(Value::Number(n)) => *n,
        _ => 0,
    }
}

/// The lengths of a `[{..., 500}, {..., 1000}]`, which sendmsg() has within a structure.
fn vector_of(call: &Call) -> Result<Vec<i64>, String> {
    match call.args.get(1) {
        Some(Value::Text(text)) if text.contains("msg_control") => Err("not supported: control messages".to_owned()),
        Some(Value::Text(text)) => Ok(lengths(text)),
        Some(Value::List(list)) => Ok(lengths(&format!("msg_iov{}", list.iter().map(shown).collect::<String>()))),
        _ => Ok(Vec::new()),
    }
}

/// The bytes of the vector in a structure's text.
pub(super) fn vector_bytes(text: &str) -> i64 {
    lengths(text).iter().sum()
}

fn lengths(text: &str) -> Vec<i64> {
    let vector = text.split_once("msg_iov").map_or("", |(_, vector)| vector);
    let vector = vector.split("msg_control").next().unwrap_or("");
    let length = |part: &str| part.split('}').next()?.rsplit(',').next()?.trim().parse::<u32>().ok().map(i64::from);
    vector.split('{').skip(1).filter_map(length).collect()
}

/// The value of a field in a structure's text.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = text.split_once(&format!("{name}="))?;
    value.split([',', '}', ']']).next().map(str::trim)
}

/// The words of a `[A | B]`.
fn list_words(call: &Call, index: usize) -> &str {
    match call.args.get(index) {
        Some(Value::List(list)) => match list.as_slice() {
            [Value::Symbol(words)] => words,
            _ => "",
        },
        _ => "",
    }
}

fn list_number(call: &Call, index: usize) -> Option<i64> {
    match call.args.get(index) {
        Some(Value::List(list)) => match list.as_slice() {
            [Value::Number(n)] => Some(*n),
            _ => None,
        },
        _ => None,
    }
}

/// The symbols among the arguments, each by itself.
pub(super) fn flags(call: &Call) -> impl Iterator<Item = &str> {
    let symbols = call.args.iter().filter_map(|arg| match arg {
        Value::Symbol(symbols) => Some(symbols),
        _ => None,
    });
    symbols.flat_map(|symbols| symbols.split('|'))
}

pub(super) fn has_symbol(call: &Call, symbol: &str) -> bool {
    flags(call).any(|flag| flag == symbol)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Whatever => "anything".to_owned(),
        Value::Number(n) => n.to_string(),
        Value::Symbol(s) | Value::Text(s) => s.clone(),
        Value::List(_) => "a list".to_owned(),
    }
}
