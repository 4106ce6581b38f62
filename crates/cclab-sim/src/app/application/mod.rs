//! Applications that pause: what a TCP connection is given to send, and when all of a part of it has arrived.

mod player;
mod table;

pub(super) use table::Measured;
pub use table::{ApplicationRow, Applications};

use self::player::Player;
use super::Cbr;
use super::config::{self, Traffic};
use super::flow::{DESTINATION, SOURCE};
use super::onoff::{self, Datagrams};
use super::socket::Socket;
use super::workload::{SizeSource, Variate};
use crate::measure::Histogram;
use crate::tcp::Endpoint;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// The application of a flow at work.
pub(crate) struct Application {
    kind: &'static str,
    task: Task,
    /// Parts that it has yet to begin; `None` without end.
    left: Option<u64>,
    /// Payload bytes that the source was given to send.
    written: u64,
    /// Parts that have not arrived: the last byte of each, and when the part began.
    under_way: VecDeque<(u64, Time)>,
    meter: Meter,
}

/// A time that is drawn.
type Drawn = (Variate, Stream);

/// What it does.
enum Task {
    /// Also since when it is on.
    Bursts {
        on: Drawn,
        off: Drawn,
        since: Option<Time>,
    },
    Writes(Datagrams),
    Chunks {
        size: u64,
        every: Duration,
        player: Player,
    },
    /// Also the request that has no response yet, when it was made, and the bytes of all requests.
    Requests {
        request: u64,
        response: SizeSource,
        think: Drawn,
        asked: Option<Time>,
        requested: u64,
    },
}

/// What is measured of it between warm-up and end.
#[derive(Default)]
struct Meter {
    on: bool,
    /// From the beginning of a part to its last byte received in order.
    completion: Histogram,
}

impl Application {
    /// That of a flow of the scenario, if it has one.
    pub(super) fn new(flow: &config::Flow, start: Time, seed: u64) -> Option<Application> {
        let Traffic::Tcp { application: Some(spec), .. } = &flow.traffic else { return None };
        let drawn = |variate: &Variate, name| (variate.clone(), flow.stream(name, seed));
        let (task, left) = match spec {
            config::Application::Bursts { on, off } => {
                (Task::Bursts { on: drawn(on, "on"), off: drawn(off, "off"), since: None }, None)
            }
            config::Application::Writes { rate, size, bursts } => {
                let writes = match bursts {
                    Some([on, off]) => flow.bursts(*rate, *size, [on, off], seed),
                    None => Datagrams::Cbr(Cbr::new(*rate, *size)),
                };
                (Task::Writes(writes), None)
            }
            config::Application::Chunks { size, every, count, buffer } => {
                let player = Player::new(*every, *buffer, start);
                (Task::Chunks { size: *size, every: *every, player }, *count)
            }
            config::Application::Requests { request, response, think, count } => {
                let response = SizeSource::new(response.clone(), flow.stream("response", seed));
                let think = drawn(think, "think");
                (Task::Requests { request: *request, response, think, asked: None, requested: 0 }, *count)
            }
        };
        let (written, under_way) = (0, VecDeque::new());
        Some(Application { kind: spec.kind(), task, left, written, under_way, meter: Meter::default() })
    }

    /// Parts that have not arrived.
    pub(super) fn parts_under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Whether it is the destination that opens the connection.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.task, Task::Requests { .. })
    }

    /// Bytes of the whole transfer, once it has written the last of them.
    pub(super) fn size(&self) -> Option<u64> {
        (self.left == Some(0)).then_some(self.written)
    }

    /// What it wanted to do now; when it wants to be called again, unless that hangs on what arrives.
    pub(super) fn act(&mut self, now: Time, own: &mut [Socket]) -> Option<Time> {
        let next = match &mut self.task {
            Task::Bursts { on, off, since } => {
                let source = endpoint(own, SOURCE);
                let length = match since.take() {
                    None => {
                        source.write(now, u64::MAX);
                        *since = Some(now);
                        onoff::draw(on)
                    }
                    Some(began) => {
                        source.pause();
                        let sent = source.bytes_begun();
                        if sent > self.written {
                            self.under_way.push_back((sent, began));
                            self.written = sent;
                        }
                        onoff::draw(off)
                    }
                };
                Some(now + length.max(Duration(1)))
            }
            Task::Writes(writes) => {
                let (number, gap) = writes.emit();
                let size = writes.cbr().size;
                if number.is_some() {
                    self.write(now, now, size.into(), own);
                }
                Some(now + gap)
            }
            Task::Chunks { size, every, .. } => {
                let (size, next) = (*size, now + *every);
                self.write(now, now, size, own);
                Some(next).filter(|_| self.left != Some(0))
            }
            Task::Requests { request, asked, requested, .. } => {
                *requested += *request;
                *asked = Some(now);
                endpoint(own, DESTINATION).write(now, *request);
                None
            }
        };
        self.attend(now, own).or(next)
    }

    /// The source gets a part that began at `began`, and closes behind the last.
    fn write(&mut self, now: Time, began: Time, bytes: u64, own: &mut [Socket]) {
        let source = endpoint(own, SOURCE);
        source.write(now, bytes);
        self.written += bytes;
        self.under_way.push_back((self.written, began));
        if let Some(left) = &mut self.left {
            *left -= 1;
            if *left == 0 {
                source.close(now);
            }
        }
    }

    /// Something may have arrived; when it wants to act, if that follows from it.
    pub(super) fn attend(&mut self, now: Time, own: &mut [Socket]) -> Option<Time> {
        if let Task::Requests { asked, requested, response, .. } = &mut self.task
            && endpoint(own, SOURCE).stats().bytes_received >= *requested
            && let Some(began) = asked.take()
        {
            let size = response.draw();
            self.write(now, began, size, own);
        }
        let arrived = endpoint(own, DESTINATION).stats().bytes_received;
        let mut next = None;
        while let Some((end, began)) = self.under_way.front().copied()
            && arrived >= end
        {
            self.under_way.pop_front();
            if self.meter.on {
                self.meter.completion.record(now.since(began));
            }
            match &mut self.task {
                Task::Chunks { player, .. } => {
                    player.take(now, self.left == Some(0) && self.under_way.is_empty());
                }
                Task::Requests { think, .. } if self.left != Some(0) => next = Some(now + onoff::draw(think)),
                _ => {}
            }
        }
        next
    }

    /// The measured interval begins, unless its flow is over.
    pub(super) fn begin_measuring(&mut self, now: Time, on: bool) {
        if on {
            self.meter = Meter { on, ..Meter::default() };
            if let Task::Chunks { player, .. } = &mut self.task {
                player.begin_measuring(now);
            }
        }
    }

    /// The measured interval ends.
    pub(super) fn end_measuring(&mut self, now: Time) {
        self.meter.on = false;
        if let Task::Chunks { player, .. } = &mut self.task {
            player.end(now);
        }
    }
}

fn endpoint(own: &mut [Socket], end: usize) -> &mut Endpoint {
    own[end].transport.tcp_mut().expect("an application speaks TCP")
}
