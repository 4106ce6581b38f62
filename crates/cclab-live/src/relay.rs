//! The network between the hosts, driven by the wall clock: one thread that sleeps until a packet comes or something is due.
//!
//! What is due is done *as of when it was due*, however late the thread wakes up, so being late adds up to nothing. Where it is very late
//! the machine stood still (a hypervisor gave the processor to others), and that time is left out of the run's: made up for, it would be a
//! burst of all that was due meanwhile, and packets lost in a short queue. A packet is to the network a datagram whose number is that
//! of the buffer that holds its bytes.

use crate::clock::Clock;
use crate::ip::{self, Parsed};
use crate::stamp::{LATENESS, WORST};
use crate::watch::{Board, Watch};
use crate::{Result, fault, sys};
use cclab_algo::{Duration, Time};
use cclab_sim::measure::Histogram;
use cclab_sim::net::{Event, LinkSamples, Network, Route, Sink};
use cclab_sim::wire::ecn::CE;
use cclab_sim::wire::{Body, Datagram, Packet, SocketId};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use nix::unistd;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Where packets of one host come in and, on their way to it, go out.
#[derive(Debug)]
pub struct Port {
    /// Its TUN device.
    pub device: OwnedFd,
    /// Whose packets these are.
    pub flow: usize,
    /// Whether it is the source's.
    pub forward: bool,
    /// The way of what comes in.
    pub route: Route,
    /// The port where that goes out.
    pub to: usize,
}

/// Before everything else on this machine that is not more urgent still.
const PRIORITY: i32 = 20;
/// Packets read from one device before others have their turn.
const BATCH: usize = 64;
/// How often the board is brought up to date where no samples are asked for.
const BOARD: Duration = Duration::from_millis(100);
/// How long before something is due the thread is awake, for a processor that sleeps takes its time to wake up;
const EARLY: Duration = Duration::from_micros(100);
/// as long as that takes no more than this and a fiftieth of the time.
const SPIN: Duration = Duration::from_millis(5);
/// What is later than this is taken for a stop of the machine: later than a good stamp's packets are,
const STOP_FROM: Duration = LATENESS;
/// as long as all of them take no more than this and a fiftieth of the time.
const STOPS: Duration = WORST;
const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// Bytes of a packet under way, and how often it is.
struct Buffer {
    bytes: Box<[u8]>,
    len: usize,
    copies: u32,
}

/// Buffers, which are used again.
struct Pool {
    buffers: Vec<Buffer>,
    free: Vec<u32>,
    size: usize,
}

impl Pool {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Buffer { bytes: vec![0; self.size].into(), len: 0, copies: 0 });
            self.buffers.len() as u32 - 1
        })
    }

    fn release(&mut self, number: u32) {
        let copies = &mut self.buffers[number as usize].copies;
        *copies = copies.saturating_sub(1);
        if *copies == 0 {
            self.free.push(number);
        }
    }
}

#[derive(Clone, Copy)]
enum Due {
    Net(Event),
    Measure,
    Sample,
    End,
}

struct Entry {
    time: Time,
    number: u64,
    what: Due,
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Entry {}

/// What is due, in order of time and of insertion; and the packets under way.
struct Agenda {
    due: BinaryHeap<Reverse<Entry>>,
    count: u64,
    pool: Pool,
}

impl Agenda {
    fn add(&mut self, time: Time, what: Due) {
        self.due.push(Reverse(Entry { time, number: self.count, what }));
        self.count += 1;
    }

    fn next(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |Reverse(entry)| entry.time)
    }
}

/// The buffer of a packet.
fn buffer(packet: &Packet) -> Option<u32> {
    if let Body::Udp(datagram) = packet.body { Some(datagram.number as u32) } else { None }
}

impl Sink for Agenda {
    fn at(&mut self, time: Time, event: Event) {
        self.add(time, Due::Net(event));
    }
    fn gone(&mut self, packet: &Packet) {
        if let Some(number) = buffer(packet) {
            self.pool.release(number);
        }
    }
    fn copied(&mut self, packet: &Packet) {
        if let Some(number) = buffer(packet) {
            self.pool.buffers[number as usize].copies += 1;
        }
    }
}

/// What a relay is to do.
pub struct Plan {
    /// The links.
    pub network: Network,
    /// The hosts at them.
    pub ports: Vec<Port>,
    /// What is measured of each flow; flows behind these are not.
    pub flows: Vec<Watch>,
    /// The largest packet, bytes.
    pub mtu: usize,
    /// When measuring begins.
    pub warmup: Time,
    /// When it is over.
    pub end: Time,
    /// How often queues are sampled.
    pub samples: Option<Duration>,
    /// The processor that its thread stays on, if it is to be one.
    pub processor: Option<usize>,
}

/// What a relay leaves.
pub struct Report {
    /// The links, with what was measured of them.
    pub network: Network,
    /// What was measured of each flow.
    pub flows: Vec<Watch>,
    /// Queues over time.
    pub link_samples: LinkSamples,
    /// How late packets left that were due.
    pub lateness: Histogram,
    /// The time that the machine stood still, which is not in the run's.
    pub stopped: Duration,
    /// The hosts' devices: with them their interfaces go, and what was counted of these.
    pub ports: Vec<Port>,
    /// Packets that a host did not take.
    pub refused: u64,
    /// What was served.
    pub events: u64,
    /// Whether it ran with real-time priority.
    pub real_time: bool,
    /// The processor that it stayed on.
    pub processor: Option<usize>,
}

/// A relay at work; it stops when it is dropped.
pub struct Relay {
    thread: Option<JoinHandle<io::Result<Report>>>,
    stop: Arc<EventFd>,
    /// What can be seen of it meanwhile.
    pub board: Arc<Board>,
}

impl Relay {
    /// Starts the thread; time zero of the network is that of `clock`.
    ///
    /// # Errors
    /// Descriptors are short.
    pub fn start(plan: Plan, clock: Clock) -> Result<Relay> {
        let stop = Arc::new(EventFd::new().map_err(|e| fault("eventfd", e))?);
        let links = plan.network.table().len();
        let board = Arc::new(Board::new(plan.flows.len(), links));
        let worker = Worker::new(plan, clock, Arc::clone(&board), Arc::clone(&stop)).map_err(|e| fault("epoll", e))?;
        let thread = std::thread::Builder::new().name("relay".into()).spawn(move || worker.run());
        Ok(Relay { thread: Some(thread.map_err(|e| fault("a thread", e))?), stop, board })
    }

    /// Waits until it is over.
    ///
    /// # Errors
    /// A device failed.
    pub fn finish(mut self) -> Result<Report> {
        let thread = self.thread.take().expect("it is joined once");
        let report = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        report.map_err(|e| fault("the relay", e))
    }

    /// Ends it before its time.
    pub fn stop(&self) {
        let _ = self.stop.write(1); // it fails where it was written before
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whether a thread that has `spun` so long may go on.
fn may_spin(spun: Duration, now: Time) -> bool {
    spun.0 <= SPIN.0 + now.0 / 50
}

/// Whether `stopped` in all may be left out of the time until `now`.
fn may_stop(stopped: Duration, now: Time) -> bool {
    stopped.0 <= STOPS.0 + now.0 / 50
}

struct Worker {
    plan: Plan,
    clock: Clock,
    board: Arc<Board>,
    agenda: Agenda,
    epoll: Epoll,
    timer: TimerFd,
    stop: Arc<EventFd>,
    link_samples: LinkSamples,
    lateness: Histogram,
    stopped: Duration,
    refused: u64,
    over: bool,
}

impl Worker {
    fn new(mut plan: Plan, clock: Clock, board: Arc<Board>, stop: Arc<EventFd>) -> io::Result<Worker> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        epoll.add(&*stop, EpollEvent::new(EpollFlags::EPOLLIN, STOP))?;
        for (number, port) in plan.ports.iter().enumerate() {
            epoll.add(&port.device, EpollEvent::new(EpollFlags::EPOLLIN, number as u64))?;
        }
        let pool = Pool { buffers: Vec::new(), free: Vec::new(), size: plan.mtu };
        let mut agenda = Agenda { due: BinaryHeap::new(), count: 0, pool };
        plan.network.begin(&mut agenda);
        agenda.add(plan.warmup, Due::Measure);
        agenda.add(Time::ZERO, Due::Sample);
        agenda.add(plan.end, Due::End);
        Ok(Worker {
            plan,
            clock,
            board,
            agenda,
            epoll,
            timer,
            stop,
            link_samples: LinkSamples::default(),
            lateness: Histogram::default(),
            stopped: Duration::ZERO,
            refused: 0,
            over: false,
        })
    }

    fn run(mut self) -> io::Result<Report> {
        let real_time = sys::become_real_time(PRIORITY);
        let processor = self.plan.processor.and_then(sys::stay_on);
        let mut ready = [EpollEvent::empty(); 64];
        let (mut armed, mut spun) = (None, Duration::ZERO);
        while !self.over {
            let (next, now) = (self.agenda.next(), self.clock.now());
            let early = if may_spin(spun, now) { EARLY } else { Duration::ZERO };
            let wakes = Time(next.0.saturating_sub(early.0));
            let spins = wakes <= now && now < next;
            if !spins && armed != Some(wakes) {
                self.clock.arm(&self.timer, wakes)?; // (which also takes back that it has fired)
                armed = Some(wakes);
            }
            let timeout = if spins { EpollTimeout::ZERO } else { EpollTimeout::NONE };
            let count = match self.epoll.wait(&mut ready, timeout) {
                Err(Errno::EINTR) => continue,
                count => count?,
            };
            let woke = self.now();
            spun += if spins { woke.since(now) } else { Duration::ZERO };
            self.serve(woke);
            for event in &ready[..count] {
                match event.data() {
                    TIMER => armed = None,
                    STOP => self.over = true,
                    port => self.read(port as usize)?,
                }
            }
        }
        drop(self.stop);
        Ok(Report {
            network: self.plan.network,
            flows: self.plan.flows,
            ports: self.plan.ports,
            link_samples: self.link_samples,
            lateness: self.lateness,
            stopped: self.stopped,
            refused: self.refused,
            events: self.agenda.count,
            real_time,
            processor,
        })
    }

    /// The time; a stop of the machine that has just ended is left out of it.
    fn now(&mut self) -> Time {
        let (due, now) = (self.agenda.next(), self.clock.now());
        let late = now.since(due);
        if late <= STOP_FROM || !may_stop(self.stopped + late, now) {
            return now;
        }
        self.clock.leave_out(late);
        self.stopped += late;
        due
    }

    /// Does everything that is due by `now`, as of when it was due.
    fn serve(&mut self, now: Time) {
        while let Some(Reverse(entry)) = self.agenda.due.peek()
            && entry.time <= now
            && !self.over
        {
            let Reverse(Entry { time, what, .. }) = self.agenda.due.pop().expect("it was just looked at");
            match what {
                Due::Net(event) => {
                    let mut packet = Packet::udp(0, time, 0, 0);
                    if self.plan.network.on_event(time, event, &mut packet, &mut self.agenda) {
                        self.lateness.record(now.since(time));
                        self.deliver(now, &packet);
                    }
                }
                Due::Measure => self.plan.network.begin_measuring(time),
                Due::Sample => {
                    self.sample(time);
                    self.agenda.add(time + self.plan.samples.unwrap_or(BOARD), Due::Sample);
                }
                Due::End => {
                    self.sample(time);
                    self.over = true;
                }
            }
        }
    }

    fn sample(&mut self, time: Time) {
        let mut rows = LinkSamples::default();
        self.plan.network.sample(time, &mut rows);
        self.board.note_links(rows.rows().map(|row| row.queue_packets as u64));
        if self.plan.samples.is_some() {
            rows.rows().for_each(|row| self.link_samples.push_row(row));
        }
    }

    /// Takes what came in at a port.
    fn read(&mut self, number: usize) -> io::Result<()> {
        for _ in 0..BATCH {
            let place = self.agenda.pool.take();
            let buffer = &mut self.agenda.pool.buffers[place as usize];
            let read = unistd::read(&self.plan.ports[number].device, &mut buffer.bytes);
            buffer.copies = 1;
            let parsed = match read {
                Ok(len) => {
                    buffer.len = len;
                    ip::parse(&buffer.bytes[..len])
                }
                Err(Errno::EAGAIN | Errno::EINTR) => {
                    self.agenda.pool.release(place);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            match parsed {
                Some(parsed) => self.send(number, place, &parsed),
                None => self.agenda.pool.release(place),
            }
        }
        Ok(())
    }

    /// Sends on its way what came in at a port.
    fn send(&mut self, number: usize, place: u32, parsed: &Parsed) {
        let now = self.now();
        self.serve(now);
        let port = &self.plan.ports[number];
        let mut packet = Packet::udp(port.flow, now, 0, parsed.size);
        packet.body = Body::Udp(Datagram { number: place.into(), len: parsed.payload });
        packet.to = SocketId(port.to as u32);
        packet.forward = port.forward;
        packet.ecn = parsed.ecn;
        if port.forward
            && let Some(watch) = self.plan.flows.get_mut(port.flow)
        {
            watch.sent(now, parsed);
        }
        if self.plan.network.send(now, &mut packet, port.route, &mut self.agenda) {
            self.deliver(now, &packet);
        }
    }

    /// Gives a packet to its host.
    fn deliver(&mut self, now: Time, packet: &Packet) {
        let Some(place) = buffer(packet) else { return };
        let buffer = &mut self.agenda.pool.buffers[place as usize];
        let bytes = &mut buffer.bytes[..buffer.len];
        if packet.ecn == CE && bytes[1] & CE != CE {
            ip::mark(bytes);
        }
        let flow = packet.flow as usize;
        if let Some(watch) = self.plan.flows.get_mut(flow) {
            watch.arrived(now, packet, bytes);
            watch.show(&self.board.flows[flow]);
        }
        let port = &self.plan.ports[packet.to.index()];
        self.refused += u64::from(unistd::write(&port.device, bytes).is_err());
        self.agenda.pool.release(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fiftieth of a second is 20 ms.
    #[test]
    fn spinning_takes_a_fiftieth_of_the_time() {
        let second = Time(1_000_000_000);
        assert!(may_spin(Duration::from_millis(25), second) && !may_spin(Duration::from_millis(26), second));
    }

    #[test]
    fn stops_take_a_fiftieth_of_the_time() {
        let second = Time(1_000_000_000);
        assert!(may_stop(Duration::from_millis(70), second) && !may_stop(Duration::from_millis(71), second));
    }
}
