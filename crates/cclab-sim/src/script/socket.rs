//! System calls on the one connection of a script: what they do, what they return, and when.

use super::ast::{Call, Value};
use super::world::{World, seconds};
use crate::tcp::State;
use cclab_algo::Time;

/// What a call returns: a number or an error.
type Returned = Result<i64, &'static str>;

/// The sockets of a script, by what they are.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// The connection waits for a SYN.
    pub listening: bool,
    /// The number of the listening or connecting socket.
    socket: Option<i64>,
    /// The number of the accepted socket.
    accepted: Option<i64>,
    /// Sockets that do not block.
    nonblocking: Vec<i64>,
    /// `connect` was called.
    connecting: bool,
    /// This end will write no more.
    shut: bool,
    /// TCP_CORK: a part of a segment waits.
    corked: bool,
    /// Bytes written and held back by TCP_CORK or MSG_MORE.
    held: u64,
    /// The error that SO_ERROR reports was fetched.
    error_taken: bool,
}

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    line: usize,
    call: Call,
    /// When the script wants it to return.
    pub due: Time,
}

impl World {
    /// Does a system call; `end`: when it returns if it takes its time.
    pub(super) fn call(&mut self, call: &Call, line: usize, end: Option<Time>) -> Result<(), String> {
        if let Some(pending) = self.pending.clone() {
            self.failed_line = Some(pending.line);
            return Err(format!("{} has not returned when line {line} makes the next call", pending.call.name));
        }
        let returned = self.attempt(call, line, true)?;
        self.settle()?;
        match (returned, end) {
            (Some(_), Some(due)) if due > self.now + self.setup.tolerance => {
                Err(format!("{} should last until {}, and returned at {}", call.name, seconds(due), seconds(self.now)))
            }
            (Some(returned), _) => self.compare(call, &returned),
            (None, Some(due)) => {
                self.pending = Some(Pending { line, call: call.clone(), due });
                self.finish_pending(false)
            }
            (None, None) => Err(format!("{} blocks; it should have returned {}", call.name, shown(&call.result))),
        }
    }

    /// Lets a waiting call return if it can; `last`: it must.
    pub(super) fn finish_pending(&mut self, last: bool) -> Result<(), String> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let (name, due) = (&pending.call.name, pending.due);
        let tolerance = self.setup.tolerance;
        let returned = self.attempt(&pending.call, pending.line, false)?;
        if returned.is_some() {
            self.settle()?;
        }
        let outcome = match returned {
            Some(_) if self.now + tolerance < due => {
                Err(format!("{name} should return at {}, and returned at {}", seconds(due), seconds(self.now)))
            }
            Some(returned) if self.now <= due + tolerance => self.compare(&pending.call, &returned),
            None if !last && self.now <= due + tolerance => {
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
    fn attempt(&mut self, call: &Call, line: usize, first: bool) -> Result<Option<Returned>, String> {
        let descriptor = number(call, 0);
        let done = |n| Ok(Some(Ok(n)));
        match call.name.as_str() {
            "socket" => self.socket(call),
            "bind" => done(0),
            "listen" => {
                self.descriptors.listening = true;
                done(0)
            }
            "connect" => Ok(self.connect(descriptor, first)),
            "accept" | "accept4" => Ok(self.accept(call, descriptor)),
            "read" | "recv" | "recvfrom" => {
                let dont_wait = has_symbol(call, "MSG_DONTWAIT");
                Ok(self.read(number(call, 2), self.blocks(descriptor) && !dont_wait))
            }
            "write" | "send" | "sendto" => Ok(Some(self.write(number(call, 2), has_symbol(call, "MSG_MORE")))),
            "close" => {
                self.close(descriptor);
                done(0)
            }
            "shutdown" => {
                if has_symbol(call, "SHUT_RD") {
                    self.notes.push(format!("line {line}: SHUT_RD does nothing here"));
                } else {
                    self.shut();
                }
                done(0)
            }
            "fcntl" => done(self.fcntl(call, descriptor)),
            "setsockopt" => self.set_option(call, line).map(|()| Some(Ok(0))),
            "getsockopt" => self.check_option(call, line).map(|()| Some(Ok(0))),
            name => Err(format!("not supported: the system call {name}")),
        }
    }

    fn socket(&mut self, call: &Call) -> Result<Option<Returned>, String> {
        if self.descriptors.socket.is_some() {
            return Err("not supported: a second connection in one script".to_owned());
        }
        if has_symbol(call, "SOCK_DGRAM") || has_symbol(call, "IPPROTO_UDP") {
            return Err("not supported: UDP sockets".to_owned());
        }
        let fd = descriptor_named(call, 3);
        self.descriptors.socket = Some(fd);
        if has_symbol(call, "SOCK_NONBLOCK") {
            self.descriptors.nonblocking.push(fd);
        }
        Ok(Some(Ok(fd)))
    }

    fn blocks(&self, descriptor: i64) -> bool {
        !self.descriptors.nonblocking.contains(&descriptor)
    }

    fn state(&self) -> State {
        self.endpoint.as_ref().map_or(State::Closed, |endpoint| endpoint.state())
    }

    /// Why the connection is no more, if it ended badly.
    fn error(&self) -> Option<&'static str> {
        let closed = self.endpoint.is_some() && self.state() == State::Closed;
        match (closed, self.reset, self.endpoint.as_ref().is_some_and(|e| e.info().rcv_nxt > 0)) {
            (true, true, true) => Some("ECONNRESET"),
            (true, true, false) => Some("ECONNREFUSED"),
            (true, false, false) => Some("ETIMEDOUT"),
            (true, false, true) if !self.descriptors.shut => Some("ETIMEDOUT"),
            _ => None,
        }
    }

    fn connect(&mut self, descriptor: i64, first: bool) -> Option<Returned> {
        let again = self.descriptors.connecting;
        if !again {
            self.descriptors.connecting = true;
            self.open(false);
        }
        if let Some(error) = self.error() {
            return Some(Err(error));
        }
        match self.state() {
            State::SynSent | State::SynReceived if self.blocks(descriptor) => None,
            State::SynSent | State::SynReceived => Some(Err(if again { "EALREADY" } else { "EINPROGRESS" })),
            // A blocking connect is tried again until this; a second call on a connected socket fails.
            _ if first && again && self.blocks(descriptor) => Some(Err("EISCONN")),
            _ => Some(Ok(0)),
        }
    }

    fn accept(&mut self, call: &Call, descriptor: i64) -> Option<Returned> {
        let ready = !matches!(self.state(), State::Closed | State::Listen | State::SynSent | State::SynReceived);
        if !ready || self.descriptors.accepted.is_some() {
            return if self.blocks(descriptor) { None } else { Some(Err("EAGAIN")) };
        }
        let fd = descriptor_named(call, 4);
        self.descriptors.accepted = Some(fd);
        if has_symbol(call, "SOCK_NONBLOCK") {
            self.descriptors.nonblocking.push(fd);
        }
        Some(Ok(fd))
    }

    fn read(&mut self, most: i64, blocks: bool) -> Option<Returned> {
        let Some(endpoint) = &mut self.endpoint else { return Some(Err("ENOTCONN")) };
        if endpoint.readable() > 0 || most == 0 {
            return Some(Ok(endpoint.read(self.now, most.max(0) as u64) as i64));
        }
        if let Some(error) = self.error() {
            return Some(Err(error));
        }
        match self.state() {
            State::CloseWait | State::LastAck | State::Closing | State::TimeWait | State::Closed => Some(Ok(0)),
            _ if blocks => None,
            _ => Some(Err("EAGAIN")),
        }
    }

    /// The send buffer has no bound: a write always takes everything. `more`: the rest of a segment waits.
    fn write(&mut self, bytes: i64, more: bool) -> Returned {
        if let Some(error) = self.error() {
            return Err(error);
        }
        if self.endpoint.is_none() || self.descriptors.shut {
            return Err("EPIPE");
        }
        self.descriptors.held = self.descriptors.held.saturating_add(bytes.max(0) as u64);
        self.release(more || self.descriptors.corked);
        Ok(bytes)
    }

    /// Hands the endpoint what was held back; `whole`: only whole segments.
    fn release(&mut self, whole: bool) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let rest = if whole { self.descriptors.held % u64::from(endpoint.mss()) } else { 0 };
        endpoint.write(self.now, self.descriptors.held - rest);
        self.descriptors.held = rest;
    }

    fn close(&mut self, descriptor: i64) {
        if self.descriptors.listening && self.descriptors.socket == Some(descriptor) {
            self.descriptors.listening = false;
        } else if self.state() == State::SynSent {
            // Nothing is open yet: the connection is forgotten (RFC 9293 §3.10.4).
            self.endpoint = None;
        } else {
            self.shut();
        }
    }

    fn shut(&mut self) {
        self.descriptors.shut = true;
        self.release(false);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.close(self.now);
        }
    }

    fn fcntl(&mut self, call: &Call, descriptor: i64) -> i64 {
        const O_RDWR: i64 = 0x2;
        const O_NONBLOCK: i64 = 0x800;
        if has_symbol(call, "F_GETFL") {
            return O_RDWR | if self.blocks(descriptor) { 0 } else { O_NONBLOCK };
        }
        self.descriptors.nonblocking.retain(|fd| *fd != descriptor);
        if has_symbol(call, "O_NONBLOCK") {
            self.descriptors.nonblocking.push(descriptor);
        }
        0
    }

    fn set_option(&mut self, call: &Call, line: usize) -> Result<(), String> {
        let Some(Value::Symbol(option)) = call.args.get(2) else {
            return Err("setsockopt: expected the name of an option as third argument".to_owned());
        };
        let value = list_number(call, 3).unwrap_or(0);
        let open = self.endpoint.is_some();
        match option.as_str() {
            "SO_REUSEADDR" | "SO_REUSEPORT" => {}
            "TCP_NODELAY" => {
                self.setup.set_nagle(value == 0);
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.set_nagle(value == 0);
                }
                self.release(self.descriptors.corked && value == 0);
            }
            "TCP_CORK" => {
                self.descriptors.corked = value != 0;
                self.release(value != 0);
            }
            "TCP_MAXSEG" if !open => self.setup.set_mss(value.clamp(88, 32_767) as u32),
            "SO_RCVBUF" if !open => self.setup.set_receive_buffer(value.clamp(1, 1 << 30) as u64),
            "TCP_CONGESTION" if !open => match call.args.get(3) {
                Some(Value::Text(name)) => self.setup.congestion_control(name)?,
                Some(Value::List(list)) => match list.as_slice() {
                    [Value::Symbol(name) | Value::Text(name)] => self.setup.congestion_control(name)?,
                    _ => return Err("TCP_CONGESTION: expected one name".to_owned()),
                },
                _ => return Err("TCP_CONGESTION: expected a name".to_owned()),
            },
            "SO_SNDBUF" => self.notes.push(format!("line {line}: SO_SNDBUF: the send buffer has no bound here")),
            _ => {
                let why = if open { " on an open connection" } else { "" };
                self.notes.push(format!("line {line}: setsockopt {option} does nothing here{why}"));
            }
        }
        Ok(())
    }

    fn check_option(&mut self, call: &Call, line: usize) -> Result<(), String> {
        let Some(Value::Symbol(option)) = call.args.get(2) else {
            return Err("getsockopt: expected the name of an option as third argument".to_owned());
        };
        let actual = match option.as_str() {
            "SO_ERROR" => {
                let error = if self.descriptors.error_taken { None } else { self.error() };
                self.descriptors.error_taken |= error.is_some();
                match error {
                    None => 0,
                    Some("ECONNRESET") => 104,
                    Some("ECONNREFUSED") => 111,
                    Some(_) => 110,
                }
            }
            "TCP_MAXSEG" => i64::from(self.endpoint.as_ref().map_or(0, |endpoint| endpoint.mss())),
            _ => {
                self.notes.push(format!("line {line}: getsockopt {option} is not compared here"));
                return Ok(());
            }
        };
        match list_number(call, 3) {
            Some(due) if due != actual => Err(format!("getsockopt {option}: expected [{due}], returned [{actual}]")),
            _ => Ok(()),
        }
    }
}

/// The descriptor that the script names in the result; `default` where it names none.
fn descriptor_named(call: &Call, default: i64) -> i64 {
    match call.result {
        Value::Number(fd) if fd >= 0 => fd,
        _ => default,
    }
}

fn number(call: &Call, index: usize) -> i64 {
    match call.args.get(index) {
        Some(Value::Number(n)) => *n,
        _ => 0,
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

fn has_symbol(call: &Call, symbol: &str) -> bool {
    call.args.iter().any(|arg| matches!(arg, Value::Symbol(s) if s.split('|').any(|part| part == symbol)))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Whatever => "anything".to_owned(),
        Value::Number(n) => n.to_string(),
        Value::Symbol(s) | Value::Text(s) => s.clone(),
        Value::List(_) => "a list".to_owned(),
    }
}
