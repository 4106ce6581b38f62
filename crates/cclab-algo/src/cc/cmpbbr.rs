//! C-MPBBR: subflows of like bandwidth are taken to share a bottleneck, and share its bandwidth.
//!
//! Source: I. Mahmud, T. Lubna, Y.-J. Song, Y.-Z. Cho, "Coupled Multipath BBR (C-MPBBR)", IEEE Access 8, 2020; the rule as their module
//! for the multipath kernel has it. In the third place of BBR's cycle at gain 1 or about it, at each ACK, a subflow counts those whose BtlBw is
//! within 20 % of its own, itself included. More than one twice in a row counts; a single count of one in between does not. In all
//! places but the two that probe, pacing and W go by BtlBw/n.
//!
//! Not here: the module closes the subflow with the least BtlBw when five checks in a row find that all together deliver less than 60 %
//! of the largest BtlBw. Over which time it measures what they deliver is not said; the module takes the counter of its search for
//! policers, which begins at the first loss, or with the connection, so that without losses it is the mean of a lifetime; and it checks at
//! each ACK of the fourth place, so that five ACKs of one round decide. An application that has little to send would lose its path.

use super::bbr::{self, Bbr, Cycle, Gains, ProbeBw};
use super::{AckEvent, Build, Entry, Share};
use crate::rng::Stream;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "cmpbbr",
    summary: "BBR for several paths: subflows of like bandwidth are taken to share a bottleneck, and divide it",
    source: "Mahmud et al., IEEE Access 8, 2020, by their Linux module",
    params: bbr::PARAMS,
    build: Build::Coupled(|cx, params| Box::new(Bbr::new(cx, params, Alike::default()))),
};

/// Where in the cycle siblings are counted.
const COUNTED_AT: usize = 3;
/// From here on the bandwidth is divided: before, it is probed for.
const DIVIDED_FROM: usize = 2;
/// What is alike differs by no more than this share.
const TOLERANCE: f64 = 0.2;

/// BBR's cycle, and the subflows that seem to share its bottleneck.
#[derive(Clone, Copy, Debug)]
struct Alike {
    /// How many are alike by the last snapshot, at the last count, and confirmed.
    seen: usize,
    counted: usize,
    confirmed: usize,
}

impl Default for Alike {
    fn default() -> Self {
        Alike { seen: 1, counted: 1, confirmed: 1 }
    }
}

impl Alike {
    fn count(&mut self) {
        let before = std::mem::replace(&mut self.counted, self.seen);
        self.confirmed = match (before > 1, self.seen > 1) {
            (true, true) => self.seen,
            (true, false) => before,
            (false, _) => 1,
        };
    }
}

impl Cycle for Alike {
    fn begin(&mut self, _now: Time, rng: &mut Stream) -> usize {
        Gains::begin_anywhere(rng)
    }

    fn next(bbr: &mut Bbr<Self>, probe: ProbeBw, ev: &AckEvent) -> Option<usize> {
        let next = Gains::next_of(bbr, probe, ev);
        if next.unwrap_or(probe.place) == COUNTED_AT {
            bbr.cycle.count();
        }
        next
    }

    fn share(&self, place: usize) -> f64 {
        if place >= DIVIDED_FROM { 1.0 / self.confirmed as f64 } else { 1.0 }
    }

    fn on_siblings(&mut self, all: &[Share], me: usize) {
        let bandwidth = |path: &Share| path.bandwidth.map_or(0.0, |bw| bw.as_bps_f64());
        self.seen = Share::coupled(all, me).map_or(1, |paths| {
            let own = bandwidth(&all[me]);
            let alike = |path: &&Share| (bandwidth(path) - own).abs() <= TOLERANCE * own;
            paths.filter(alike).count().max(1)
        });
    }

    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alike", self.confirmed as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::shares;
    use crate::cc::{CongestionControl, Context};
    use crate::params::{Flavour, Params};
    use crate::units::{Duration, Rate};

    fn alike(mbps: &[f64]) -> Alike {
        let share = |&mbps: &f64| Share { bandwidth: Some(Rate((mbps * 1e6) as u64)), ..shares([(10.0, 100)])[0] };
        let all: Vec<Share> = mbps.iter().map(share).collect();
        let mut alike = Alike::default();
        alike.on_siblings(&all, 0);
        alike
    }

    /// Within 20 % of the subflow's own, itself included.
    #[test]
    fn who_is_alike() {
        for (mbps, n) in [
            (&[10.0, 12.0][..], 2),
            (&[10.0, 8.0], 2),
            (&[10.0, 12.1], 1),
            (&[10.0, 7.9], 1),
            (&[10.0, 9.0, 11.0, 30.0], 3),
            (&[10.0], 1),
        ] {
            assert_eq!(alike(mbps).seen, n, "{mbps:?}");
        }
    }

    /// Two counts in a row of more than one confirm; a single one in between keeps what was.
    #[test]
    fn what_is_confirmed() {
        let mut alike = Alike::default();
        let mut counts = |seen| {
            alike.seen = seen;
            alike.count();
            alike.confirmed
        };
        assert_eq!([1, 2, 2, 3, 1, 1, 2, 1].map(&mut counts), [1, 1, 2, 3, 3, 1, 1, 2]);
    }

    /// 10 Mbit/s and a sibling like it: half of it from the third place on, in pacing and window, all of it where it probes.
    #[test]
    fn the_bandwidth_is_divided_where_it_does_not_probe() {
        let params = Params::resolve(ENTRY.params, &[], Flavour::Paper).unwrap();
        let cx = Context { flavour: Flavour::Paper, ..Context::new(1500) };
        let mut law = Bbr::new(&cx, &params, alike(&[10.0, 10.0]));
        let mut seen = [[false; 2]; 8];
        for round in 0..200_u64 {
            law.on_ack(&AckEvent {
                now: Time::ZERO + Duration::from_millis(41 * round),
                acked_bytes: 30 * 1500,
                delivered_bytes: 30 * 1500,
                rtt: Some(Duration::from_millis(40)),
                srtt: Duration::from_millis(40),
                delivery_rate: Some(Rate(10_000_000)),
                bytes_in_flight: 30 * 1500,
                prior_in_flight: 60 * 1500,
                delivered: (round + 1) * 30 * 1500,
                prior_delivered: round * 30 * 1500,
                ..AckEvent::default()
            });
            let Some(probe) = law.probe_bw() else { continue };
            let bw = law.pacing_rate().unwrap().as_bps_f64() / [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][probe.place];
            let divided = law.cycle.confirmed == 2;
            let expected = if divided && probe.place >= 2 { 5e6 } else { 10e6 };
            assert!((bw - expected).abs() < 1.0, "{}: {bw}", probe.place);
            if divided && probe.place > 2 {
                assert_eq!(law.cwnd() / 1500, 40, "2 · 16.7 segments, and the quanta");
            }
            seen[probe.place][usize::from(divided)] = true;
        }
        assert!(seen.iter().all(|at| at[1]), "{seen:?}");
    }
}
