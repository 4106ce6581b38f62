//! The checked scenario: types that cannot be wrong.
//!
//! Every topology has become a graph of nodes and one-way links, every flow a pair of routes, every
//! quantity a number in its unit, every option a value.

use crate::app::config::{Background, Flow, Session, Traffic};
use crate::net::config::{Crossing, Link, Medium};
use cclab_algo::Duration;
use cclab_algo::cc::Entry;

/// One network with its flows.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name, for people.
    pub name: String,
    /// Simulated time.
    pub duration: Duration,
    /// Left out of the summary.
    pub warmup: Duration,
    /// Seed, unless the run names another.
    pub seed: u64,
    /// Node names; a node's number is its index.
    pub nodes: Vec<String>,
    /// One-way links; a link's number is its index.
    pub links: Vec<Link>,
    /// Radio media.
    pub media: Vec<Medium>,
    /// Ways through the media. In a route the numbers behind those of the links are these.
    pub crossings: Vec<Crossing>,
    /// Flows; replicas of a `count` are separate flows here.
    pub flows: Vec<Flow>,
    /// Connections over several paths, whose subflows are flows in a row.
    pub sessions: Vec<Session>,
    /// Background traffic: an entry in both directions is two here.
    pub background: Vec<Background>,
    /// What to record.
    pub record: Record,
    /// The run stops with an error after so many events.
    pub max_events: u64,
    /// What the person wrote, normalised, as JSON: for manifests and hashes.
    pub source: serde_json::Value,
}

impl Scenario {
    /// Names of the laws in it that need another language's interpreter, as often as they are there.
    pub fn interpreted(&self) -> impl Iterator<Item = &'static str> {
        self.laws().filter(|cc| cc.needs_interpreter()).map(|cc| cc.name)
    }

    /// Names of the laws in it that only a kernel runs.
    pub fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.laws().filter(|cc| cc.needs_kernel()).map(|cc| cc.name)
    }

    /// The law of each flow, and of each entry of the background.
    fn laws(&self) -> impl Iterator<Item = &'static Entry> {
        let flows = self.flows.iter().filter_map(|flow| match &flow.traffic {
            Traffic::Tcp { cc, .. } => Some(cc),
            Traffic::Cbr { .. } | Traffic::OnOff { .. } => None,
        });
        flows.chain(self.background.iter().map(|background| &background.cc)).copied()
    }
}

/// What to record beside the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Samples of flows and queues.
    pub samples: Sampling,
    /// Every packet at every link, as a table.
    pub packets: bool,
    /// Every frame on the air, where stations are and how they route, and every loss, as tables.
    pub frames: bool,
    /// A capture at one host of every flow, or of the air.
    pub capture: Option<Capture>,
}

/// When flows and queues are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Never.
    Off,
    /// At this interval.
    Every(Duration),
    /// Whenever a value changes.
    OnChange,
}

/// A pcapng capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Where.
    pub point: Point,
    /// Bytes of each packet kept, from the IP header on; `None` keeps all.
    pub snaplen: Option<u32>,
}

/// Where packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// At the host that sends a flow.
    Sender,
    /// At the host that receives it.
    Receiver,
    /// At every station of a medium: each frame where it is sent.
    Air,
}
