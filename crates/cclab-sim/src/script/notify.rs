//! What a socket tells of by itself: its error queue (MSG_ERRQUEUE), and epoll.

use super::ast::{Call, Value};
use super::socket::{Returned, field, flags, has_symbol, number, vector_bytes};
use super::world::{Connection, World};
use crate::tcp::{Endpoint, State};
use crate::wire::{Flags, Segment};
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// An entry of an error queue.
#[derive(Clone, Copy, Debug)]
enum Notice {
    /// Writes with MSG_ZEROCOPY, from one number to another, are acknowledged.
    Copied(u32, u32),
    /// A byte passed a point on its way (SO_TIMESTAMPING).
    Stamp { point: &'static str, key: u32, at: Time },
}

/// A write whose last byte is waited for.
#[derive(Clone, Copy, Debug)]
struct Stamped {
    end: u64,
    key: u32,
    sent: bool,
}

/// The error queue of a connection, and what will come to it.
#[derive(Debug, Default)]
pub(super) struct Notices {
    queue: VecDeque<Notice>,
    /// Ends of writes with MSG_ZEROCOPY; how many there were.
    copies: VecDeque<(u64, u32)>,
    copied: u32,
    stamps: VecDeque<Stamped>,
    /// SOF_TIMESTAMPING_TX_…: scheduled, sent, acknowledged.
    points: [bool; 3],
    /// Bytes written before timestamps were asked for.
    base: u64,
}

impl Notices {
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// SO_TIMESTAMPING is set after so many bytes.
    pub fn set_stamps(&mut self, words: &str, written: u64) {
        let has = |point: &str| words.split('|').any(|word| word.trim() == format!("SOF_TIMESTAMPING_TX_{point}"));
        self.points = [has("SCHED"), has("SOFTWARE"), has("ACK")];
        self.base = written;
    }

    /// A write ends at this byte of the stream, counted from 0.
    pub fn on_write(&mut self, end: u64, copies: bool) {
        if copies {
            self.copies.push_back((end, self.copied));
            self.copied += 1;
        }
        if self.points.contains(&true) {
            self.stamps.push_back(Stamped { end, key: (end - self.base) as u32 - 1, sent: false });
        }
    }

    /// Bytes up to `begun` were sent, up to `acked` acknowledged; whether that is news.
    pub fn advance(&mut self, now: Time, begun: u64, acked: u64) -> bool {
        let before = self.queue.len();
        let [scheduled, sent, acknowledged] = self.points;
        for stamp in self.stamps.iter_mut().filter(|stamp| !stamp.sent && stamp.end <= begun) {
            stamp.sent = true;
            let notice = |point| Notice::Stamp { point, key: stamp.key, at: now };
            self.queue.extend(scheduled.then(|| notice("SCM_TSTAMP_SCHED")));
            self.queue.extend(sent.then(|| notice("SCM_TSTAMP_SND")));
        }
        while let Some(stamp) = self.stamps.front().copied().filter(|stamp| stamp.end <= acked) {
            self.stamps.pop_front();
            let notice = Notice::Stamp { point: "SCM_TSTAMP_ACK", key: stamp.key, at: now };
            self.queue.extend(acknowledged.then_some(notice));
        }
        let mut news = self.queue.len() > before;
        while let Some((_, n)) = self.copies.front().copied().filter(|(end, _)| *end <= acked) {
            self.copies.pop_front();
            news = true;
            match self.queue.back_mut() {
                Some(Notice::Copied(_, last)) if *last + 1 == n => *last = n,
                _ => self.queue.push_back(Notice::Copied(n, n)),
            }
        }
        news
    }
}

/// A descriptor that an epoll instance looks at.
#[derive(Debug)]
pub(super) struct Interest {
    events: Vec<String>,
    /// How many times it had been woken when it was last reported; `None`: not since it was set.
    seen: Option<u64>,
    /// EPOLLONESHOT has done its part.
    done: bool,
}

impl Interest {
    fn has(&self, event: &str) -> bool {
        self.events.iter().any(|other| other == event)
    }
}

/// `A|B` as its words, 0 as none.
fn words(text: &str) -> Vec<String> {
    text.split('|').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty() && word != "0").collect()
}

impl World<'_> {
    pub(super) fn epoll_create(&mut self, call: &Call) -> Returned {
        let fd = self.descriptor_named(call);
        self.epolls.insert(fd, Vec::new());
        Ok(fd)
    }

    pub(super) fn epoll_ctl(&mut self, call: &Call) -> Result<Returned, String> {
        let fd = number(call, 2);
        let Some(list) = self.epolls.get_mut(&number(call, 0)).filter(|_| self.sockets.contains_key(&fd)) else {
            return Ok(Err("EBADF"));
        };
        let known = list.iter().position(|(other, _)| *other == fd);
        let events = match call.args.get(3) {
            Some(Value::Text(text)) => words(field(text, "events").unwrap_or("")),
            _ => Vec::new(),
        };
        let interest = Interest { events, seen: None, done: false };
        match (flags(call).next(), known) {
            (Some("EPOLL_CTL_ADD"), None) => list.push((fd, interest)),
            (Some("EPOLL_CTL_ADD"), Some(_)) => return Ok(Err("EEXIST")),
            (Some("EPOLL_CTL_MOD"), Some(i)) => list[i].1 = interest,
            (Some("EPOLL_CTL_DEL"), Some(i)) => drop(list.remove(i)),
            (Some("EPOLL_CTL_MOD" | "EPOLL_CTL_DEL"), None) => return Ok(Err("ENOENT")),
            _ => return Err("not supported: this epoll_ctl".to_owned()),
        }
        Ok(Ok(0))
    }

    /// epoll_wait() for one event: those asked for, and errors; edge-triggered only after something has happened.
    pub(super) fn epoll_wait(&mut self, call: &Call) -> Result<Option<Returned>, String> {
        let epoll = number(call, 0);
        let Some(list) = self.epolls.remove(&epoll) else { return Ok(Some(Err("EBADF"))) };
        let mut list = list;
        let mut found = None;
        for (fd, interest) in &mut list {
            if interest.done || !self.sockets.contains_key(fd) {
                continue;
            }
            let wakes = self.wakes(*fd);
            if interest.has("EPOLLET") && interest.seen == Some(wakes) {
                continue;
            }
            let mut there: Vec<String> = self.ready(*fd).into_iter().map(|event| format!("E{event}")).collect();
            there.retain(|event| interest.has(event) || event == "EPOLLERR" || event == "EPOLLHUP");
            interest.seen = Some(wakes);
            if !there.is_empty() {
                interest.done = interest.has("EPOLLONESHOT");
                found = Some((*fd, there));
                break;
            }
        }
        self.epolls.insert(epoll, list);
        let now = self.now;
        let due = match number(call, 3) {
            time @ 0.. => *self.poll_due.get_or_insert(now + Duration::from_millis(time.min(1 << 30) as u64)),
            _ => Time::NEVER,
        };
        if found.is_none() && now < due {
            return Ok(None);
        }
        self.poll_due = None;
        let Some(Value::Text(text)) = call.args.get(1) else { return Ok(Some(Ok(i64::from(found.is_some())))) };
        let wanted = words(field(text, "events").unwrap_or(""));
        let (fd, there) = found.unwrap_or_default();
        let named = field(text, "fd").and_then(|fd| fd.parse().ok());
        let same = wanted.len() == there.len() && wanted.iter().all(|event| there.contains(event));
        if !same || (!there.is_empty() && named.is_some_and(|named: i64| named != fd)) {
            let shown = if there.is_empty() { "0".to_owned() } else { format!("{} of {fd}", there.join("|")) };
            return Err(format!("epoll_wait: expected events={}, returned {shown}", wanted.join("|")));
        }
        Ok(Some(Ok(i64::from(!there.is_empty()))))
    }

    /// How many times `fd` told who waits for it that something had happened.
    fn wakes(&self, fd: i64) -> u64 {
        match self.sockets[&fd].connection {
            Some(index) => self.connections[index].wakes,
            None => self.connections.iter().filter(|c| c.listener == Some(fd) && c.came()).count() as u64,
        }
    }

    /// recvmsg(): data with what TCP_INQ says is left, or the next entry of the error queue.
    pub(super) fn receive_message(&mut self, call: &Call, fd: i64) -> Result<Option<Returned>, String> {
        let Some(Value::Text(text)) = call.args.get(1) else { return Err("recvmsg: expected a structure".to_owned()) };
        if flags(call).any(|flag| flag == "MSG_ERRQUEUE") {
            let Some(notice) = self.connection(fd).and_then(|connection| connection.notices.queue.pop_front()) else {
                return Ok(Some(Err("EAGAIN")));
            };
            return self.compare_notice(text, notice).map(|()| Some(Ok(0)));
        }
        let waits = self.blocks(fd) && !has_symbol(call, "MSG_DONTWAIT");
        let returned = self.read(fd, vector_bytes(text), waits, has_symbol(call, "MSG_PEEK"));
        if let (Some(Ok(_)), Some(due)) = (returned, field(text, "cmsg_data").filter(|_| text.contains("TCP_CM_INQ"))) {
            let endpoint = self.connection(fd).and_then(|connection| connection.endpoint.as_ref());
            let left = endpoint.map_or(0, |endpoint| match endpoint.readable() {
                // The end of the stream counts as a byte.
                0 => u64::from(matches!(
                    endpoint.state(),
                    State::CloseWait | State::LastAck | State::Closing | State::TimeWait
                )),
                left => left,
            });
            if due.parse() != Ok(left) {
                return Err(format!("recvmsg: expected {due} bytes left, there are {left}"));
            }
        }
        Ok(returned)
    }

    fn compare_notice(&self, text: &str, notice: Notice) -> Result<(), String> {
        let fields = match notice {
            Notice::Copied(first, last) => vec![
                ("ee_errno", "0".to_owned()),
                ("ee_origin", "SO_EE_ORIGIN_ZEROCOPY".to_owned()),
                ("ee_code", "SO_EE_CODE_ZEROCOPY_COPIED".to_owned()),
                ("ee_info", first.to_string()),
                ("ee_data", last.to_string()),
            ],
            Notice::Stamp { point, key, .. } => vec![
                ("ee_errno", "ENOMSG".to_owned()),
                ("ee_origin", "SO_EE_ORIGIN_TIMESTAMPING".to_owned()),
                ("ee_info", point.to_owned()),
                ("ee_data", key.to_string()),
            ],
        };
        for (name, actual) in fields {
            if field(text, name).is_none_or(|due| due != actual) {
                return Err(format!(
                    "recvmsg: expected {name}={}, returned {actual}",
                    field(text, name).unwrap_or("…")
                ));
            }
        }
        let nanoseconds =
            |name, unit: u64| field(text, name).and_then(|n| n.parse::<u64>().ok()).map_or(0, |n| n * unit);
        if let (Notice::Stamp { at, .. }, true) = (notice, text.contains("scm_nsec")) {
            let due = Time(nanoseconds("scm_sec", 1_000_000_000) + nanoseconds("scm_nsec", 1));
            if due.since(at).max(at.since(due)) > self.setup.tolerance(Duration::ZERO) {
                return Err(format!("recvmsg: expected the time {due:?}, returned {at:?}"));
            }
        }
        Ok(())
    }
}

impl Connection {
    /// After something was done to the endpoint: what the error queue and those who wait hear of it.
    pub(super) fn notice(&mut self, now: Time) {
        let Some(endpoint) = &self.endpoint else { return };
        let (begun, acked) = (endpoint.bytes_begun(), endpoint.stats().bytes_acked);
        self.wakes += u64::from(self.notices.advance(now, begun, acked));
        let state = (endpoint.state(), endpoint.readable());
        // What the application has read is no news.
        let before = std::mem::replace(&mut self.told, state);
        self.wakes += u64::from((before.0 != state.0 && state.0 != State::Closed) || before.1 < state.1);
        self.look_for_room();
    }

    /// A segment has come: what is told of it later.
    pub(super) fn note_arrival(&mut self, now: Time, segment: &Segment) {
        self.heard = now;
        self.moved = true;
        self.probes = 0;
        self.begin_keep_alive(now);
        let una = self.endpoint.as_ref().map_or(0, |endpoint| endpoint.info().snd_una);
        self.stalled.take_if(|(_, from)| *from != una);
        if segment.len > 0 || segment.flags.has(Flags::SYN) {
            self.last_data = now;
        }
        if segment.has_timestamps {
            self.stamp = segment.ts_val;
        }
        let offered = self.endpoint.as_ref().map_or(0, |endpoint: &Endpoint| endpoint.info().snd_wnd);
        self.max_window = self.max_window.max(offered);
    }
}
