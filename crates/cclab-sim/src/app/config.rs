//! What flows and background are asked to do.

use super::Cbr;
use super::onoff::{Datagrams, OnOff};
use super::session::scheduler;
use super::workload::{Page, Sizes, Variate};
use crate::tcp;
use cclab_algo::cc;
use cclab_algo::params::Given;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Rate, Time};
use std::ops::Range;
use std::sync::Arc;

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Label, unique in the scenario, e.g. `cubic-1`.
    pub label: String,
    /// Node index of the source.
    pub from: usize,
    /// Node index of the destination.
    pub to: usize,
    /// Between which two hosts it is, as far as these remember each other. Where flows have hosts of their own, those between the same
    /// routers with the same RTT count as the same.
    pub peers: (usize, usize, Duration),
    /// Links from source to destination.
    pub route: Vec<usize>,
    /// Links back.
    pub route_back: Vec<usize>,
    /// When it starts, before jitter.
    pub start: Time,
    /// The start is delayed by a uniform draw in `[0, start_jitter]` from the flow's own stream.
    pub start_jitter: Duration,
    /// When a source without end stops; `None` at the end of the run.
    pub stop: Option<Time>,
    /// Processing time of the source host: each packet leaves it later by a uniform draw in
    /// `[0, send_jitter]` from the flow's own stream, order kept. Breaks phase effects (Floyd & Jacobson 1992).
    pub send_jitter: Duration,
    /// What it sends.
    pub traffic: Traffic,
    /// Whether it is the connection of a tunnel: it carries what comes to the links of its routes, both ways.
    pub tunnel: bool,
}

impl Flow {
    /// Its own stream of random numbers for `what`, in a run with this seed.
    pub(super) fn stream(&self, what: &str, seed: u64) -> Stream {
        Stream::new(seed, &format!("flow/{}/{what}", self.label))
    }

    /// When it starts in a run with this seed.
    pub fn start_in(&self, seed: u64) -> Time {
        self.start + Duration(self.stream("start", seed).below(self.start_jitter.0.saturating_add(1)))
    }

    /// Its source of datagrams in a run with this seed, if it is one.
    pub fn datagrams(&self, seed: u64) -> Option<Datagrams> {
        match &self.traffic {
            Traffic::Tcp { .. } => None,
            Traffic::Cbr { rate, packet_size } => Some(Datagrams::Cbr(Cbr::new(*rate, *packet_size))),
            Traffic::OnOff { rate, packet_size, on, off } => Some(self.bursts(*rate, *packet_size, [on, off], seed)),
        }
    }

    /// A source at `rate` that is on and off for these times.
    pub(super) fn bursts(&self, rate: Rate, size: u32, [on, off]: [&Variate; 2], seed: u64) -> Datagrams {
        let (on, off) = ((on.clone(), self.stream("on", seed)), (off.clone(), self.stream("off", seed)));
        Datagrams::OnOff(Box::new(OnOff::new(Cbr::new(rate, size), on, off)))
    }
}

/// What a flow sends.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// A TCP connection.
    Tcp {
        /// Bytes to transfer; `None` without end.
        size: Option<u64>,
        /// Who sends them, where it is not all at once.
        application: Option<Application>,
        /// Options of both ends.
        config: Arc<tcp::Config>,
        /// Congestion control.
        cc: &'static cc::Entry,
        /// Its parameters, checked, as written.
        cc_params: Vec<(String, Given)>,
    },
    /// Constant bit rate over UDP.
    Cbr {
        /// Rate of IP packets, headers included.
        rate: Rate,
        /// Bytes of an IP packet, headers included.
        packet_size: u32,
    },
    /// The same while it is on; on and off for times drawn in turn.
    OnOff {
        /// Rate of IP packets while on, headers included.
        rate: Rate,
        /// Bytes of an IP packet, headers included.
        packet_size: u32,
        /// Lengths of the bursts, s.
        on: Variate,
        /// Lengths of the silences, s.
        off: Variate,
    },
}

/// What an application does that does not always have something to send. It counts in parts: a burst, a write, a chunk, a
/// response.
#[derive(Clone, Debug)]
pub enum Application {
    /// As much as the connection takes, on and off for times drawn in turn; on at first.
    Bursts {
        /// Lengths of the bursts, s.
        on: Variate,
        /// Lengths of the silences, s.
        off: Variate,
    },
    /// Writes at a rate of payload.
    Writes {
        /// The rate (while on).
        rate: Rate,
        /// Bytes of a write.
        size: u32,
        /// On and off for times drawn in turn, s.
        bursts: Option<[Variate; 2]>,
    },
    /// A piece of a recording that is played while it comes.
    Chunks {
        /// Bytes of a chunk.
        size: u64,
        /// From a chunk to the next, and how long it plays.
        every: Duration,
        /// How many; `None` without end.
        count: Option<u64>,
        /// It plays, at first and after a stall, when it has so much.
        buffer: Duration,
    },
    /// The destination opens the connection, asks, reads the response, thinks, and asks again.
    Requests {
        /// Bytes of a request.
        request: u64,
        /// Those of the responses.
        response: Sizes,
        /// From the end of a response to the next request, s.
        think: Variate,
        /// How many; `None` without end.
        count: Option<u64>,
    },
}

impl Application {
    /// How many parts it has; `None` without end.
    pub fn count(&self) -> Option<u64> {
        match self {
            Application::Chunks { count, .. } | Application::Requests { count, .. } => *count,
            Application::Bursts { .. } | Application::Writes { .. } => None,
        }
    }
    /// Mean time from a part to the next, s, where that does not hang on the network.
    pub fn period(&self) -> Option<f64> {
        match self {
            Application::Writes { rate, size, bursts } => {
                let cycle = bursts.as_ref().map_or(1.0, |[on, off]| 1.0 + off.mean() / on.mean());
                Some(f64::from(*size) * 8.0 / rate.as_bps_f64() * cycle)
            }
            Application::Chunks { every, .. } => Some(every.as_secs_f64()),
            Application::Bursts { .. } | Application::Requests { .. } => None,
        }
    }
    /// What the scenario calls it.
    pub fn kind(&self) -> &'static str {
        match self {
            Application::Bursts { .. } | Application::Writes { bursts: Some(_), .. } => "onoff",
            Application::Writes { bursts: None, .. } => "cbr",
            Application::Chunks { .. } => "chunks",
            Application::Requests { .. } => "requests",
        }
    }
}

/// A connection over several paths: what the flows of a row, its subflows, have in common.
#[derive(Clone, Debug)]
pub struct Session {
    /// Label, unique in the scenario; that of a subflow is `label/path`.
    pub label: String,
    /// Its flows, which are TCP without a size of their own.
    pub flows: Range<usize>,
    /// Bytes to transfer; `None` without end.
    pub size: Option<u64>,
    /// Bytes that the receiver has room for, of all subflows together.
    pub receive_buffer: u64,
    /// Its laws are told of each other.
    pub coupled: bool,
    /// Who gets what is to be sent next.
    pub scheduler: &'static scheduler::Entry,
    /// Its parameters, checked, as written.
    pub scheduler_params: Vec<(String, Given)>,
    /// What is stuck after a timeout is sent again on another subflow.
    pub reinject: bool,
    /// What holds up the receiver's full buffer is sent again on a faster subflow.
    pub opportunistic: bool,
    /// A subflow that holds it up has its window halved, once per RTT.
    pub penalise: bool,
    /// A subflow is given up, until it delivers again, after so many timeouts in a row.
    pub fail_after: u32,
    /// What each path could carry of payload if it were alone, bit/s; NaN where that is not known.
    pub capacities: Vec<f64>,
    /// Hosts notice at once when a local interface goes down or comes up.
    pub notice: bool,
}

/// Connections that come and go, in one direction.
#[derive(Clone, Debug)]
pub struct Background {
    /// Label, unique among the entries of one direction.
    pub label: String,
    /// Whether this is the reverse direction of the entry.
    pub reverse: bool,
    /// Links from the sources to the destinations.
    pub route: Vec<usize>,
    /// Links back.
    pub route_back: Vec<usize>,
    /// Propagation there and back over these links.
    pub base_rtt: Duration,
    /// Base RTT of each connection, s. What it has beyond `base_rtt` is delay between its source and the network.
    pub rtt: Variate,
    /// Rate of the slowest link of `route`, of which loads are shares.
    pub rate: Option<Rate>,
    /// Share of it that the connections are to offer; NaN where that is not known.
    pub load: f64,
    /// When the first one may start.
    pub start: Time,
    /// From when on none starts any more.
    pub stop: Option<Time>,
    /// As [`Flow::send_jitter`], of every connection.
    pub send_jitter: Duration,
    /// When they start.
    pub arrivals: Arrivals,
    /// How much they transfer.
    pub sizes: Sizes,
    /// Options of both ends.
    pub config: Arc<tcp::Config>,
    /// Congestion control.
    pub cc: &'static cc::Entry,
    /// Its parameters, checked, as written.
    pub cc_params: Vec<(String, Given)>,
}

/// When connections of the background start.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At independent moments.
    Poisson {
        /// Mean number per second.
        per_s: f64,
    },
    /// As web users request objects, who wait for them and think in between.
    Users {
        /// How many.
        users: u32,
        /// What each does.
        page: Page,
        /// Mean time from the beginning of a page to that of the next, s.
        cycle_s: f64,
    },
    /// As the objects of web pages, which begin at independent moments.
    Pages {
        /// Mean number of pages per second.
        per_s: f64,
        /// How each is fetched.
        page: Page,
    },
}

impl Arrivals {
    /// The pages, where there are any.
    pub fn page(&self) -> Option<&Page> {
        match self {
            Arrivals::Poisson { .. } => None,
            Arrivals::Users { page, .. } | Arrivals::Pages { page, .. } => Some(page),
        }
    }
    /// `web` or `poisson`.
    pub fn kind(&self) -> &'static str {
        if self.page().is_some() { "web" } else { "poisson" }
    }
    /// Web users; NaN where there are none.
    pub fn users(&self) -> f64 {
        if let Arrivals::Users { users, .. } = self { f64::from(*users) } else { f64::NAN }
    }
}

impl Background {
    /// Whether a connection may have delay of its own.
    pub fn has_delay(&self) -> bool {
        self.rtt != Variate::Fixed(self.base_rtt.as_secs_f64())
    }
}
