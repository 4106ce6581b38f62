//! Marking at a step threshold, as a DCTCP switch does: Alizadeh et al., *Data Center TCP*, SIGCOMM 2010, §3.1; RFC 8257 §3.1.

use super::Limit;
use super::{Discipline, Verdict, View};
use crate::wire::Packet;

/// Parameters of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// K: a packet that finds more than this waiting is marked.
    pub threshold: Limit,
    /// There, packets of transports that do not know ECN are dropped.
    pub drop: bool,
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
