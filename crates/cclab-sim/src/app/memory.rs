//! What hosts remember of each other from one flow to the next.

use super::config::{self, Traffic};
use super::flow::{SOURCE, ends};
use super::socket::Socket;
use crate::tcp::{Endpoint, Metrics};
use cclab_algo::{Duration, Time};
use std::collections::BTreeMap;

/// The memory of all hosts; empty where no flow lets them remember.
pub(crate) struct Memory {
    flows: BTreeMap<usize, config::Flow>,
    /// By source and destination.
    known: BTreeMap<(usize, usize, Duration), Metrics>,
}

impl Memory {
    pub(crate) fn new(flows: &[config::Flow]) -> Memory {
        let remembers =
            |flow: &config::Flow| matches!(&flow.traffic, Traffic::Tcp { config, .. } if !config.no_metrics_save);
        let flows = flows.iter().enumerate().filter(|(_, flow)| remembers(flow));
        Memory { flows: flows.map(|(index, flow)| (index, flow.clone())).collect(), known: BTreeMap::new() }
    }

    /// A flow starts: its source remembers the destination.
    pub(crate) fn recall(&self, now: Time, index: usize, seed: u64, own: &mut [Socket]) {
        let Some(flow) = self.flows.get(&index) else { return };
        if let Some(known) = self.known.get(&flow.peers) {
            own.iter_mut().zip(ends(flow, now, seed, *known)).for_each(|(socket, end)| socket.transport = end);
        }
    }

    /// A flow is over.
    pub(crate) fn save(&mut self, index: usize, own: &[Socket]) {
        if let Some(flow) = self.flows.get(&index) {
            let known = self.known.entry(flow.peers).or_default();
            own[SOURCE].transport.tcp().into_iter().for_each(|endpoint: &Endpoint| endpoint.save(known));
        }
    }
}
