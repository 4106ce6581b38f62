//! Marking at a step threshold, as a DCTCP switch does: Alizadeh et al., *Data Center TCP*, SIGCOMM 2010, §3.1; RFC 8257 §3.1.

use super::field::{Amount, Field};
use super::{Discipline, Entry, FIFO, Kind, LIMIT, Limit, Parameters, Queue, Refusal, Verdict, View};
use crate::wire::Packet;
use cclab_algo::rng::Stream;
use std::cmp::Ordering;

/// The step in the registry.
pub const ENTRY: Entry = Entry {
    name: "step",
    summary: "marks what finds more than a threshold waiting, as a DCTCP switch does",
    source: "Alizadeh et al., SIGCOMM 2010",
    fields: &[
        LIMIT,
        Field::amount("threshold", Amount::Packets(20), "K: a packet that finds more than this waiting is marked"),
        Field::flag("drop", true, "there, packets of transports that do not know ECN are dropped"),
    ],
    lane: FIFO,
    check: |params| {
        let beyond = params.compare("threshold", "limit").is_some_and(Ordering::is_ge);
        let message = "{threshold} is not below limit, {limit}: nothing would ever be marked";
        Refusal::when(beyond, "threshold", message)
    },
    build: |params, around| {
        let threshold = around.resolve(params.get("threshold"));
        Queue::new(around.limit(params), Config { threshold, drop: params.get("drop") })
    },
};

/// Parameters of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// K: a packet that finds more than this waiting is marked.
    pub threshold: Limit,
    /// There, packets of transports that do not know ECN are dropped.
    pub drop: bool,
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, _: Stream) -> Kind {
        Kind::Arrival(Box::new(Step::new(*self)))
    }
}

/// A step threshold at work.
pub struct Step {
    config: Config,
}

impl Step {
    /// This threshold.
    pub fn new(config: Config) -> Step {
        Step { config }
    }
}

impl Discipline for Step {
    fn enqueue(&mut self, view: &View, packet: &mut Packet) -> Verdict {
        let above = match self.config.threshold {
            Limit::Packets(k) => view.packets > k,
            Limit::Bytes(k) => view.bytes > k,
        };
        match Verdict::signal(true, packet) {
            _ if !above => Verdict::Pass,
            Verdict::Drop if !self.config.drop => Verdict::Pass,
            signal => signal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::{Rate, Time};

    #[test]
    fn what_finds_more_than_k_waiting_is_marked() {
        let verdict = |threshold, packets, ecn, drop| {
            let view = View {
                now: Time(1),
                packets,
                bytes: packets * 1500,
                free_at: Time(2),
                rate: Some(Rate(1)),
                full: false,
            };
            let mut packet = Packet::udp(0, Time(1), 0, 1500);
            packet.ecn = ecn;
            Step::new(Config { threshold, drop }).enqueue(&view, &mut packet)
        };
        for threshold in [Limit::Packets(20), Limit::Bytes(30_000)] {
            assert_eq!(verdict(threshold, 20, 2, true), Verdict::Pass);
            assert!([1, 2, 3].into_iter().all(|ect| verdict(threshold, 21, ect, true) == Verdict::Mark));
            assert_eq!(
                (verdict(threshold, 20, 0, true), verdict(threshold, 21, 0, true)),
                (Verdict::Pass, Verdict::Drop)
            );
            assert_eq!(verdict(threshold, 21, 0, false), Verdict::Pass);
        }
    }
}
