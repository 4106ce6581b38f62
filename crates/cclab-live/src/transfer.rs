//! Senders and receivers of our own: one thread that starts flows, keeps their sockets full and empty, and asks the kernel how they stand.

use crate::clock::Clock;
use crate::host::Host;
use crate::sys::{self, TcpInfo, set_option, set_text, tcp_info};
use crate::watch::Board;
use crate::{Result, fault};
use cclab_algo::{Duration, Time};
use cclab_sim::app::{Datagrams, TimeMean};
use libc::{IPPROTO_TCP, SOL_SOCKET};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, bind, connect, getsockopt, listen,
    recv, send, socket, sockopt,
};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

/// Less urgent than the relay.
const PRIORITY: i32 = 10;
/// How often connections are asked how they stand.
pub const TICK: Duration = Duration::from_millis(10);
const PORT: u16 = 5001;
/// Written at a time.
const CHUNK: usize = 256 << 10;
/// Thrown away at a time.
const GULP: usize = 1 << 20;
const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
/// How tcp_info says that slow start's threshold is arbitrarily high.
pub const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// Options of the sockets of a connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kernel's name of the congestion control.
    pub cc: String,
    /// The largest window that the receiver offers, where that is less than buffers allow.
    pub window: Option<u32>,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// Pacing by the socket itself, also for a law that does not ask for it.
    pub pacing: bool,
    /// MPTCP.
    pub multipath: bool,
}

/// What a flow does.
pub enum Work {
    /// A TCP connection, and the bytes to transfer.
    Tcp(Options, Option<u64>),
    /// Datagrams.
    Udp(Datagrams),
}

/// A flow as it is to be.
pub struct Transfer {
    /// What it does.
    pub work: Work,
    /// When it starts.
    pub start: Time,
    /// When its source stops.
    pub stop: Option<Time>,
    /// Source and destination.
    pub hosts: [Arc<Host>; 2],
    /// The address of the destination.
    pub to: Ipv4Addr,
    /// The address of the source on each path; the paths are flows of the scenario, in a row from `first` on.
    pub paths: Vec<Ipv4Addr>,
    /// See there.
    pub first: usize,
}

/// A moment of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// When the kernel was asked.
    pub at: Time,
    /// What the source's socket said.
    pub source: TcpInfo,
    /// Payload that the destination had in order.
    pub received: u64,
    /// Fast recoveries so far.
    pub recoveries: u64,
}

/// A sample of a flow, as its row says.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: usize,
    /// What the source's socket said; a flow of datagrams has none.
    pub source: Option<TcpInfo>,
    /// Latest RTT that the relay saw, ns; 0 before the first.
    pub rtt_ns: u64,
    /// Payload delivered.
    pub delivered: u64,
}

/// What became of a flow.
#[derive(Debug, Default)]
pub struct Outcome {
    /// When connect() was called, and when it had a connection.
    pub opened: Option<Time>,
    /// When it was connected.
    pub connected: Option<Time>,
    /// How each path stood.
    pub paths: Vec<Path>,
    /// What the application had read when the measured interval began, and at its end.
    pub read: [u64; 2],
    /// When the destination had the last byte of a transfer.
    pub received_all: Option<Time>,
    /// Why it has no connection, or lost it.
    pub error: Option<String>,
}

/// A path over the measured interval.
#[derive(Debug, Default)]
pub struct Path {
    /// How it stood where that began.
    pub from: Option<Moment>,
    /// How it stood where that ended.
    pub to: Option<Moment>,
    /// The window, segments.
    pub cwnd: Option<TimeMean>,
}

/// What all flows left.
pub struct Report {
    /// One for each.
    pub flows: Vec<Outcome>,
    /// Over time.
    pub samples: Vec<Sample>,
    /// Whether the thread ran with real-time priority.
    pub real_time: bool,
    /// The processor that it stayed on.
    pub processor: Option<usize>,
}

/// When everything is.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// When measuring begins.
    pub warmup: Time,
    /// When the run is over.
    pub end: Time,
    /// How often flows are sampled.
    pub samples: Option<Duration>,
}

/// Flows whose sockets are open, which takes its time.
pub struct Opened(Vec<Flow>);

impl Opened {
    /// Opens them.
    ///
    /// # Errors
    /// A socket is refused, or an option of one.
    pub fn of(flows: Vec<Transfer>) -> Result<Opened> {
        flows.into_iter().map(Flow::open).collect::<Result<_>>().map(Opened)
    }
}

/// Flows at work; they stop when this is dropped.
pub struct Transfers {
    thread: Option<JoinHandle<io::Result<Report>>>,
    stop: Arc<EventFd>,
}

impl Transfers {
    /// Starts the thread, on that processor if it is to stay on one.
    ///
    /// # Errors
    /// Descriptors are short.
    pub fn start(
        flows: Opened,
        times: Times,
        clock: Clock,
        board: Arc<Board>,
        processor: Option<usize>,
    ) -> Result<Transfers> {
        let stop = Arc::new(EventFd::new().map_err(|e| fault("eventfd", e))?);
        let worker = Worker::new(flows.0, times, clock, board, &stop).map_err(|e| fault("epoll", e))?;
        let thread = std::thread::Builder::new().name("transfers".into()).spawn(move || worker.run(processor));
        Ok(Transfers { thread: Some(thread.map_err(|e| fault("a thread", e))?), stop })
    }

    /// Waits until it is over.
    ///
    /// # Errors
    /// The kernel refused something.
    pub fn finish(mut self) -> Result<Report> {
        let thread = self.thread.take().expect("it is joined once");
        let report = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        report.map_err(|e| fault("the transfers", e))
    }

    /// Whether it is over.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        let _ = self.stop.write(1); // it fails where it was written before
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A flow at work.
struct Flow {
    transfer: Transfer,
    /// What listens for the connection; of datagrams what takes them.
    sink: OwnedFd,
    source: Option<OwnedFd>,
    destination: Option<OwnedFd>,
    /// Bytes given to the kernel, and taken from it.
    written: u64,
    read: u64,
    outcome: Outcome,
    measured: bool,
    over: bool,
}

impl Flow {
    fn open(transfer: Transfer) -> Result<Flow> {
        let [source, destination] = &transfer.hosts;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let any = SockaddrIn::new(0, 0, 0, 0, PORT);
        let (source, sink) = match &transfer.work {
            Work::Tcp(options, _) => {
                let tcp = || {
                    if options.multipath {
                        return sys::mptcp_socket();
                    }
                    Ok(socket(AddressFamily::Inet, SockType::Stream, flags, SockProtocol::Tcp)?)
                };
                let source = source.enter(tcp).map_err(|e| fault("a socket", e))?;
                options.apply(&source)?;
                let sink = destination.enter(|| {
                    let sink = tcp()?;
                    bind(sink.as_raw_fd(), &any)?;
                    if let Some(window) = options.window {
                        set_option(&sink, IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window as i32)?;
                    }
                    listen(&sink, Backlog::new(16)?)?;
                    Ok(sink)
                });
                (source, sink.map_err(|e| fault("a listening socket", e))?)
            }
            Work::Udp(_) => {
                let udp = || {
                    socket(AddressFamily::Inet, SockType::Datagram, flags, SockProtocol::Udp).map_err(io::Error::from)
                };
                let sink = destination.enter(|| {
                    let sink = udp()?;
                    bind(sink.as_raw_fd(), &any)?; // what nobody reads is dropped there: the relay has counted it
                    Ok(sink)
                });
                let sink = sink.map_err(|e| fault("a socket", e))?;
                (source.enter(udp).map_err(|e| fault("a socket", e))?, sink)
            }
        };
        let paths = transfer.paths.iter().map(|_| Path::default()).collect();
        let outcome = Outcome { paths, ..Outcome::default() };
        Ok(Flow {
            transfer,
            sink,
            source: Some(source),
            destination: None,
            written: 0,
            read: 0,
            outcome,
            measured: false,
            over: false,
        })
    }

    fn size(&self) -> Option<u64> {
        if let Work::Tcp(_, size) = self.transfer.work { size } else { None }
    }

    fn is_tcp(&self) -> bool {
        matches!(self.transfer.work, Work::Tcp(..))
    }

    /// What the kernel tells of each path at one of its ends.
    fn infos(&self, socket: Option<&OwnedFd>) -> io::Result<Vec<Option<TcpInfo>>> {
        let paths = &self.transfer.paths;
        match (&self.transfer.work, socket) {
            (Work::Tcp(options, _), Some(socket)) if options.multipath => {
                let subflows = sys::subflows(socket)?;
                let of = |path| Some(subflows.iter().find(|(ends, _)| ends.contains(path))?.1);
                Ok(paths.iter().map(of).collect())
            }
            (Work::Tcp(..), Some(socket)) => Ok(vec![Some(tcp_info(socket)?)]),
            _ => Ok(vec![None; paths.len()]),
        }
    }

    /// How each path stands; `None` of one that has not joined.
    fn moments(&self, clock: &Clock) -> io::Result<Vec<Option<Moment>>> {
        let recoveries = self.transfer.hosts[0].count(&["TCPRenoRecovery", "TCPSackRecovery"])?;
        let at = clock.now();
        let (sources, received) = (self.infos(self.source.as_ref())?, self.infos(self.destination.as_ref())?);
        let of = |(place, (source, received)): (usize, (Option<TcpInfo>, Option<TcpInfo>))| {
            let received = received.map_or(0, |info| info.bytes_received);
            let recoveries = if place == 0 { recoveries } else { 0 }; // the kernel counts those of the whole host
            source.map(|source| Moment { at, source, received, recoveries })
        };
        Ok(sources.into_iter().zip(received).enumerate().map(of).collect())
    }
}

/// A threshold that no law has: a kernel at times takes, in place of what a BPF program returned, what the stack held.
fn misread(info: &TcpInfo) -> Option<String> {
    let threshold = info.snd_ssthresh;
    (threshold > NO_SSTHRESH).then(|| {
        format!(
            "the kernel's slow-start threshold is {threshold} segments, where TCP has {NO_SSTHRESH} at most: it is another number of the kernel's (seen in place of what a law in BPF returned)"
        )
    })
}

impl Options {
    fn apply(&self, socket: &OwnedFd) -> Result<()> {
        let named = |what: &'static str| move |e: io::Error| fault(what, e);
        set_text(socket, IPPROTO_TCP, libc::TCP_CONGESTION, &self.cc).map_err(named("the congestion control"))?;
        set_option(socket, IPPROTO_TCP, libc::TCP_NODELAY, i32::from(!self.nagle)).map_err(named("TCP_NODELAY"))?;
        if self.pacing {
            // a limit that is none: it makes the socket pace by itself, without a queue that does
            set_option(socket, SOL_SOCKET, libc::SO_MAX_PACING_RATE, i64::MAX).map_err(named("SO_MAX_PACING_RATE"))?;
        }
        Ok(())
    }
}

struct Worker {
    flows: Vec<Flow>,
    times: Times,
    clock: Clock,
    board: Arc<Board>,
    epoll: Epoll,
    timer: TimerFd,
    /// What happens when: starts and stops and datagrams of flows; the rest is regular.
    due: std::collections::BTreeSet<(Time, usize, What)>,
    next_tick: Time,
    next_sample: Time,
    samples: Vec<Sample>,
    zeros: Vec<u8>,
    rubbish: Vec<u8>,
    over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Start,
    Datagram,
    Measure,
    Stop,
}

/// The two sockets of a flow in epoll.
const SOURCE: u64 = 0;
const DESTINATION: u64 = 1;
const SINK: u64 = 2;

fn token(flow: usize, which: u64) -> u64 {
    flow as u64 * 4 + which
}

impl Worker {
    fn new(flows: Vec<Flow>, times: Times, clock: Clock, board: Arc<Board>, stop: &Arc<EventFd>) -> io::Result<Worker> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        epoll.add(&**stop, EpollEvent::new(EpollFlags::EPOLLIN, STOP))?;
        let mut due = std::collections::BTreeSet::new();
        for (number, flow) in flows.iter().enumerate() {
            let Transfer { start, stop, .. } = flow.transfer;
            if stop.is_some_and(|stop| stop <= start) {
                continue;
            }
            due.insert((start, number, What::Start));
            due.extend(stop.map(|stop| (stop, number, What::Stop)));
            due.insert((start.max(times.warmup), number, What::Measure));
        }
        Ok(Worker {
            flows,
            times,
            clock,
            board,
            epoll,
            timer,
            due,
            next_tick: Time::ZERO,
            next_sample: Time::ZERO,
            samples: Vec::new(),
            zeros: vec![0; CHUNK],
            rubbish: vec![0; GULP],
            over: false,
        })
    }

    fn run(mut self, processor: Option<usize>) -> io::Result<Report> {
        let real_time = sys::become_real_time(PRIORITY);
        let processor = processor.and_then(sys::stay_on);
        let mut ready = [EpollEvent::empty(); 64];
        while !self.over {
            let next = self.due.first().map_or(Time::NEVER, |due| due.0).min(self.next_tick).min(self.times.end);
            self.clock.arm(&self.timer, next)?;
            let count = match self.epoll.wait(&mut ready, EpollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                count => count?,
            };
            for event in &ready[..count] {
                match event.data() {
                    TIMER => {}
                    STOP => self.over = true,
                    token => self.act(token)?,
                }
            }
            self.serve()?;
        }
        let flows = self.flows.into_iter().map(|flow| flow.outcome).collect();
        Ok(Report { flows, samples: self.samples, real_time, processor })
    }

    /// Does what is due.
    fn serve(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        while let Some(&(time, flow, what)) = self.due.first()
            && time <= now
        {
            self.due.pop_first();
            match what {
                What::Start => self.open(flow)?,
                What::Datagram => self.emit(time, flow),
                What::Measure => self.measure(flow)?,
                What::Stop => self.close(flow)?,
            }
        }
        if now >= self.next_tick || now >= self.times.end {
            self.tick(now)?;
            while self.next_tick <= now {
                self.next_tick += TICK.min(self.times.samples.unwrap_or(TICK));
            }
        }
        if now >= self.times.end && !self.over {
            (0..self.flows.len()).try_for_each(|flow| self.close(flow))?;
            self.over = true;
        }
        Ok(())
    }

    /// A socket is ready.
    fn act(&mut self, token: u64) -> io::Result<()> {
        let number = (token / 4) as usize;
        if self.flows[number].over {
            return Ok(());
        }
        match token % 4 {
            SINK => self.accept(number),
            SOURCE => self.write(number),
            _ => self.read(number),
        }
    }

    /// A flow starts.
    fn open(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        let Some(source) = &flow.source else { return Ok(()) };
        let now = self.clock.now();
        flow.outcome.opened = Some(now);
        let [a, b, c, d] = flow.transfer.to.octets();
        let to = SockaddrIn::new(a, b, c, d, PORT);
        let connected = connect(source.as_raw_fd(), &to);
        if let Work::Udp(_) = flow.transfer.work {
            connected?;
            flow.outcome.connected = Some(now);
            self.due.insert((flow.transfer.start, number, What::Datagram));
            return Ok(());
        }
        match connected {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        self.epoll.add(&flow.sink, EpollEvent::new(EpollFlags::EPOLLIN, token(number, SINK)))?;
        self.epoll.add(source, EpollEvent::new(EpollFlags::EPOLLOUT, token(number, SOURCE)))?;
        Ok(())
    }

    fn accept(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        match sys::accept(&flow.sink) {
            Ok(socket) => {
                self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, token(number, DESTINATION)))?;
                self.epoll.delete(&flow.sink)?;
                flow.destination = Some(socket);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The source has room, or is connected at last, or has failed.
    fn write(&mut self, number: usize) -> io::Result<()> {
        let size = self.flows[number].size();
        let flow = &mut self.flows[number];
        let Some(source) = &flow.source else { return Ok(()) };
        if flow.outcome.connected.is_none() {
            match getsockopt(source, sockopt::SocketError)? {
                0 => flow.outcome.connected = Some(self.clock.now()),
                error => return self.fail(number, Errno::from_raw(error)),
            }
            if self.clock.now() >= self.times.warmup {
                self.measure(number)?;
            }
        }
        let flow = &mut self.flows[number];
        let Some(source) = &flow.source else { return Ok(()) };
        loop {
            let left = size.map_or(CHUNK as u64, |size| (size - flow.written).min(CHUNK as u64)) as usize;
            if left == 0 {
                self.epoll.delete(source)?;
                return Ok(());
            }
            match send(source.as_raw_fd(), &self.zeros[..left], MsgFlags::MSG_NOSIGNAL) {
                Ok(count) => flow.written += count as u64,
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return self.fail(number, error),
            }
        }
    }

    /// The destination has data, which are thrown away.
    fn read(&mut self, number: usize) -> io::Result<()> {
        let size = self.flows[number].size();
        let flow = &mut self.flows[number];
        let Some(destination) = &flow.destination else { return Ok(()) };
        loop {
            match recv(destination.as_raw_fd(), &mut self.rubbish, MsgFlags::MSG_TRUNC) {
                Ok(0) => {
                    self.epoll.delete(destination)?;
                    return Ok(());
                }
                Ok(count) => {
                    flow.read += count as u64;
                    if flow.outcome.received_all.is_none() && size.is_some_and(|size| flow.read >= size) {
                        flow.outcome.received_all = Some(self.clock.now());
                    }
                }
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return self.fail(number, error),
            }
        }
    }

    /// A connection is lost.
    fn fail(&mut self, number: usize, error: Errno) -> io::Result<()> {
        let flow = &mut self.flows[number];
        flow.outcome.error.get_or_insert_with(|| error.desc().to_string());
        self.close(number)
    }

    /// A datagram leaves that was due at `time`.
    fn emit(&mut self, time: Time, number: usize) {
        let flow = &mut self.flows[number];
        let (Work::Udp(datagrams), Some(source), false) = (&mut flow.transfer.work, &flow.source, flow.over) else {
            return;
        };
        let (datagram, gap) = datagrams.emit();
        if datagram.is_some() {
            let len =
                datagrams.cbr().size.saturating_sub(cclab_sim::wire::IP_HEADER + cclab_sim::wire::UDP_HEADER) as usize;
            let _ = send(source.as_raw_fd(), &self.zeros[..len], MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT);
        }
        if time + gap < self.times.end {
            self.due.insert((time + gap, number, What::Datagram));
        }
    }

    /// The measured interval of a flow begins, unless it is not connected yet: then it does when it is.
    fn measure(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        if !flow.is_tcp() || flow.measured || flow.over || flow.outcome.connected.is_none() {
            return Ok(());
        }
        flow.measured = true;
        flow.outcome.read[0] = flow.read;
        let moments = flow.moments(&self.clock)?;
        for (path, moment) in flow.outcome.paths.iter_mut().zip(moments) {
            // a path that joins later has counted nothing yet
            path.from = Some(moment.unwrap_or(Moment { at: self.clock.now(), ..Moment::default() }));
        }
        Ok(())
    }

    /// A flow is over: how it stood, and its sockets are closed at once, with what they still held.
    fn close(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        if std::mem::replace(&mut flow.over, true) {
            return Ok(());
        }
        if flow.is_tcp() && flow.outcome.connected.is_some() {
            flow.outcome.read[1] = flow.read;
            let moments = flow.moments(&self.clock)?;
            flow.outcome.paths.iter_mut().zip(moments).for_each(|(path, moment)| path.to = moment);
        }
        let _ = self.epoll.delete(&flow.sink); // it fails where it was not there; a connection may still come, which nobody wants
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        for socket in [flow.source.take(), flow.destination.take()].into_iter().flatten() {
            let _ = nix::sys::socket::setsockopt(&socket, sockopt::Linger, &linger);
        }
        Ok(())
    }

    /// Asks all connections how they stand.
    fn tick(&mut self, now: Time) -> io::Result<()> {
        let sampled = self.times.samples.is_some_and(|_| now >= self.next_sample || now >= self.times.end);
        for number in 0..self.flows.len() {
            let flow = &mut self.flows[number];
            if flow.over || flow.outcome.connected.is_none() {
                continue;
            }
            let (sources, first) = (flow.infos(flow.source.as_ref())?, flow.transfer.first);
            if let Some(wrong) = sources.iter().flatten().find_map(misread) {
                flow.outcome.error.get_or_insert(wrong);
            }
            for (path, source) in flow.outcome.paths.iter_mut().zip(&sources) {
                if let (Some(info), Some(_)) = (source, path.from) {
                    let begin = || {
                        let mut mean = TimeMean::default();
                        mean.begin(now, info.snd_cwnd.into());
                        mean
                    };
                    path.cwnd.get_or_insert_with(begin).set(now, info.snd_cwnd.into());
                }
            }
            if sampled {
                let received = flow.infos(flow.destination.as_ref())?;
                for (path, (source, received)) in (first..).zip(sources.into_iter().zip(received)) {
                    let board = &self.board.flows[path];
                    let delivered = match received {
                        Some(info) => info.bytes_received,
                        None if flow.is_tcp() => 0,
                        None => board.arrived.load(Relaxed),
                    };
                    if source.is_some() || !flow.is_tcp() {
                        let rtt_ns = board.rtt_ns.load(Relaxed);
                        self.samples.push(Sample { at: now, flow: path, source, rtt_ns, delivered });
                    }
                }
            }
            let acknowledged =
                self.board.flows[first].finished_ns.load(Relaxed) < u64::MAX || flow.transfer.paths.len() > 1;
            if acknowledged && flow.outcome.received_all.is_some() {
                self.close(number)?;
            }
        }
        if sampled {
            while self.next_sample <= now {
                self.next_sample += self.times.samples.unwrap_or(TICK);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_that_is_an_address_of_the_kernel() {
        let at = |snd_ssthresh| TcpInfo { snd_ssthresh, ..TcpInfo::default() };
        assert_eq!(misread(&at(2)), None);
        assert_eq!(misread(&at(NO_SSTHRESH)), None);
        assert!(misread(&at(0x8110_4110)).is_some_and(|told| told.contains("2165326096 segments")));
    }
}
