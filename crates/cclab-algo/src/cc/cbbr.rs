//! Coupled BBR: a connection over several paths takes in all what its best path alone would carry, most of it over that.
//!
//! Source: the idea is that of J. Han, K. Xue, Y. Xing, P. Hong, D.S.L. Wei, "Measurement and Redesign of BBR-based MPTCP", SIGCOMM 2019
//! posters, and "Leveraging Coupled BBR and Adaptive Packet Scheduling to Boost MPTCP", IEEE TWC 2021; the rule is that of
//! S. Zhang's implementation for ns-3 (DrainQueueCongestion). It is not the papers', whose text we have not seen.
//!
//! BBR with the cycle of `bbr_drain_to_target`: each cycle takes L RTprop, L from 2 to 8 at random. It asks for more (1.25) for longer than
//! RTprop, until 1.25 BDP are in flight, something is lost or the application has no more; it drains (0.75) until BDP is in flight; it
//! cruises for the rest. While it cruises, with siblings of which each has left its start-up,
//!
//! > β_i = bw_i max bw / Σ bw²,  α_i = (L β_i − 2)/(L − 2)
//!
//! is the pacing gain, so that the mean of a cycle, (1.25 + 0.75 + (L − 2) α_i)/L, is β_i, and Σ β_i bw_i = max bw. Where α_i is not
//! positive, W is four segments. Ours: so it is where α_i is so small that it would let less than those go in an RTprop (two equal
//! paths and L = 4 have α about 0, at which the next segment would leave after minutes).
//!
//! As there, W is 2 BDP and what ACKs came in excess, and phases end at gain · BDP, four segments at least: without the room for the
//! hosts' quanta that Linux' BBR has in both, eight segments of some twenty where the paths are slow.

use super::bbr::{Bbr, Cycle, EXTRA_ACKED, MIN_WINDOW, PACING_MARGIN, POLICER, ProbeBw};
use super::{AckEvent, Build, Entry, Share};
use crate::params::{Kind, Spec, Value};
use crate::rng::Stream;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "cbbr",
    summary: "coupled BBR, for several paths: all together pace at the estimate of the best",
    source: "Zhang's rule for ns-3, after Han et al., SIGCOMM 2019 posters",
    params: &[
        Spec {
            name: "startup_gain",
            kind: Kind::Number { min: 1.25, max: 4.0 },
            default: Value::Number(2.0),
            paper_default: None,
            unit: "",
            doc: "gain of STARTUP; its inverse is DRAIN's (BBRv1 has 2.885)",
        },
        Spec {
            name: "random_cycle",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "a cycle takes 2 to 8 RTprop at random; otherwise 8, as BBRv1's",
        },
        Spec {
            name: "floor",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "four segments an RTprop while cruising also where a small alpha > 0 allows less; false is the rule to the letter",
        },
        Spec { default: Value::Number(0.0), paper_default: None, ..PACING_MARGIN },
        Spec { paper_default: None, ..EXTRA_ACKED },
        Spec { default: Value::Flag(false), paper_default: None, ..POLICER },
    ],
    build: Build::Coupled(|cx, params| {
        let cycle = Coupled { random: params.flag("random_cycle"), floor: params.flag("floor"), ..Coupled::default() };
        Box::new(Bbr::new(cx, params, cycle).with_startup_gain(params.number("startup_gain")))
    }),
};

/// The longest cycle, in RTprop; the shortest is two.
const LONGEST: u64 = 8;
/// Places in the cycle.
const UP: usize = 0;
const DOWN: usize = 1;
const CRUISE: usize = 2;

/// The cycle that drains to its target, coupled with the siblings' while it cruises.
#[derive(Clone, Debug, Default)]
struct Coupled {
    random: bool,
    /// Four segments at least.
    floor: bool,
    /// BtlBw · RTprop, in segments.
    bdp: f64,
    /// When the cycle began, and how many RTprop it takes.
    began: Time,
    length: u64,
    /// β of the last snapshot, where it couples.
    beta: Option<f64>,
}

/// β_i = bw_i max bw / Σ bw²; `None` alone, and while one of them has no steady estimate.
fn beta(all: &[Share], me: usize) -> Option<f64> {
    let paths = Share::coupled(all, me)?;
    let known = |path: &Share| path.bandwidth.filter(|bw| path.steady && bw.0 > 0).map(|bw| bw.as_bps_f64());
    let bandwidths = paths.map(known).collect::<Option<Vec<f64>>>()?;
    let most = bandwidths.iter().copied().fold(0.0, f64::max);
    Some(known(&all[me])? * most / bandwidths.iter().map(|bw| bw * bw).sum::<f64>())
}

/// α = (L β − 2)/(L − 2): the gain while cruising that makes β the mean of a cycle.
fn alpha(beta: f64, length: u64) -> f64 {
    let length = length as f64;
    (length * beta - 2.0) / (length - 2.0)
}

impl Coupled {
    fn start(&mut self, now: Time, rng: &mut Stream) -> usize {
        self.began = now;
        self.length = if self.random { LONGEST - rng.below(LONGEST - 1) } else { LONGEST };
        UP
    }

    /// α, where it couples; zero where it would let too little go.
    fn alpha(&self, place: usize) -> Option<f64> {
        let alpha = self.beta.filter(|_| place == CRUISE && self.length > 2).map(|beta| alpha(beta, self.length))?;
        Some(if self.floor && alpha * self.bdp < MIN_WINDOW { 0.0 } else { alpha })
    }
}

impl Cycle for Coupled {
    const QUANTA: bool = false;

    fn begin(&mut self, now: Time, rng: &mut Stream) -> usize {
        self.start(now, rng)
    }

    fn next(bbr: &mut Bbr<Self>, probe: ProbeBw, ev: &AckEvent) -> Option<usize> {
        let rt_prop = bbr.rt_prop?;
        if ev.now.since(bbr.cycle.began) > rt_prop * bbr.cycle.length {
            return Some(bbr.cycle.start(ev.now, &mut bbr.rng));
        }
        let in_flight = bbr.segments(ev.bytes_in_flight);
        bbr.cycle.bdp = bbr.bdp(1.0);
        match probe.place {
            UP => {
                let over = || ev.lost_bytes > 0 || ev.app_limited || in_flight > bbr.inflight(1.25);
                (ev.now.since(probe.since) > rt_prop && over()).then_some(DOWN)
            }
            DOWN => (in_flight <= bbr.inflight(1.0)).then_some(CRUISE),
            _ => None,
        }
    }

    fn pacing_gain(&self, place: usize) -> f64 {
        match place {
            UP => 1.25,
            DOWN => 0.75,
            _ => self.alpha(place).filter(|&alpha| alpha > 0.0).unwrap_or(1.0),
        }
    }

    fn most(&self, place: usize) -> f64 {
        if self.alpha(place).is_some_and(|alpha| alpha <= 0.0) { MIN_WINDOW } else { f64::INFINITY }
    }

    fn on_siblings(&mut self, all: &[Share], me: usize) {
        self.beta = beta(all, me);
    }

    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("beta", self.beta.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::shares;
    use crate::cc::{CongestionControl, Context};
    use crate::params::{Flavour, Given, Params};
    use crate::units::{Duration, Rate};
    use proptest::prelude::*;

    const MSS: u64 = 1500;

    fn paths(mbps: &[f64]) -> Vec<Share> {
        let share = |&mbps: &f64| Share {
            bandwidth: Some(Rate((mbps * 1e6) as u64)),
            steady: true,
            ..shares([(10.0, 100)])[0]
        };
        mbps.iter().map(share).collect()
    }

    /// β and, at cycle lengths, α, worked by hand: equal subflows, 1 and 3, 5 and 1, three equal ones.
    #[test]
    fn the_rule_by_hand() {
        for (mbps, me, expected_beta, length, expected) in [
            (&[4.0, 4.0][..], 0, 0.5, 8, 1.0 / 3.0),
            (&[4.0, 4.0], 0, 0.5, 5, 1.0 / 6.0),
            (&[4.0, 4.0], 0, 0.5, 3, -0.5),
            (&[1.0, 3.0], 0, 0.3, 8, 0.066_667),
            (&[1.0, 3.0], 1, 0.9, 8, 0.866_667),
            (&[5.0, 1.0], 0, 0.961_538, 8, 0.948_718),
            (&[5.0, 1.0], 1, 0.192_308, 8, -0.076_923),
            (&[2.0, 2.0, 2.0], 2, 1.0 / 3.0, 8, 1.0 / 9.0),
        ] {
            let beta = beta(&paths(mbps), me).unwrap();
            assert!((beta - expected_beta).abs() < 1e-6, "{mbps:?}: {beta}");
            let alpha = alpha(beta, length);
            assert!((alpha - expected).abs() < 2e-6, "{mbps:?}, L = {length}: {alpha}");
        }
    }

    /// While a sibling has no estimate that stands, and alone, nothing is coupled; nor with one that cannot be used.
    #[test]
    fn when_it_does_not_couple() {
        let both = paths(&[4.0, 4.0]);
        let changes: [fn(&mut Share); 3] = [|s| s.steady = false, |s| s.bandwidth = None, |s| s.window = 0.0];
        for change in changes {
            let mut all = both.clone();
            change(&mut all[1]);
            assert_eq!(beta(&all, 0), None);
        }
        assert_eq!(beta(&both[..1], 0), None);
        let mut three = paths(&[4.0, 4.0, 9.0]);
        three[2].window = 0.0;
        assert_eq!(beta(&three, 0), Some(0.5));
    }

    /// A law on a path of 10 Mbit/s and 40 ms, and what it sees of it.
    struct Sender {
        law: Bbr<Coupled>,
        now: Time,
        delivered: u64,
    }
    impl Sender {
        /// In PROBE_BW, at the beginning of a cycle.
        fn probing(given: &[(String, Given)]) -> Self {
            let params = Params::resolve(ENTRY.params, given, Flavour::Paper).unwrap();
            let (random, floor) = (params.flag("random_cycle"), params.flag("floor"));
            let cycle = Coupled { random, floor, ..Coupled::default() };
            let cx = Context { flavour: Flavour::Paper, ..Context::new(MSS as u32) }; // the same RTT renews RTprop
            let law = Bbr::new(&cx, &params, cycle).with_startup_gain(2.0);
            let mut sender = Sender { law, now: Time::ZERO, delivered: 0 };
            while sender.law.cycle.length == 0 {
                sender.ack(40, 20, 0);
            }
            sender
        }
        /// An ACK so many ms later that ends a round; segments that were in flight before it, and lost by it.
        fn ack(&mut self, after_ms: u64, in_flight: u64, lost: u64) {
            self.now += Duration::from_millis(after_ms);
            let prior_delivered = self.delivered;
            self.delivered += MSS;
            self.law.on_ack(&AckEvent {
                now: self.now,
                acked_bytes: MSS,
                delivered_bytes: MSS,
                rtt: Some(Duration::from_millis(40)),
                srtt: Duration::from_millis(40),
                delivery_rate: Some(Rate(10_000_000)),
                bytes_in_flight: in_flight * MSS,
                prior_in_flight: in_flight * MSS,
                lost_bytes: lost * MSS,
                delivered: self.delivered,
                prior_delivered,
                ..AckEvent::default()
            });
        }
        fn gain(&self) -> f64 {
            self.law.pacing_rate().unwrap().as_bps_f64() / 10e6
        }
    }

    /// 1.25 for longer than RTprop and until 1.25 BDP are in flight or something is lost; 0.75 until BDP is; 1 until L RTprop are over.
    /// BDP is 33.3 segments, 41.7 at 1.25: there is no room for quanta.
    #[test]
    fn the_cycle_drains_to_its_target() {
        let fixed = [("random_cycle".to_string(), Given::Flag(false))];
        for (in_flight, lost) in [(42, 0), (30, 1)] {
            let mut s = Sender::probing(&fixed);
            s.ack(40, 60, 0);
            assert_eq!(s.gain(), 1.25, "not longer than RTprop");
            s.ack(40, 41, 0);
            assert_eq!(s.gain(), 1.25, "not as much in flight");
            s.ack(1, in_flight, lost);
            assert_eq!(s.gain(), 0.75);
            s.ack(100, 34, 0);
            assert_eq!(s.gain(), 0.75, "however long it takes");
            s.ack(1, 33, 0);
            assert_eq!(s.gain(), 1.0);
            s.ack(8 * 40 - 182, 60, 0);
            assert_eq!(s.gain(), 1.0, "eight RTprop since the cycle began");
            s.ack(1, 60, 0);
            assert_eq!(s.gain(), 1.25);
        }
    }

    /// The length is 2 to 8, each as likely: 3500 cycles, 500 each, standard deviation 21.
    #[test]
    fn the_length_of_a_cycle_is_random() {
        let mut s = Sender::probing(&[]);
        let mut seen = [0; 9];
        for _ in 0..3500 {
            seen[s.law.cycle.length as usize] += 1;
            s.ack(s.law.cycle.length * 40 + 1, 30, 0);
        }
        assert!(seen[..2] == [0, 0] && seen[2..].iter().all(|n| (415..=585).contains(n)), "{seen:?}");
    }

    /// Beside an equal sibling the cruising gain is α = 1/3 at L = 8; where α is negative (5 and 1: −0.077) W is four segments, and
    /// the gain stays. Probing is not coupled.
    #[test]
    fn cruising_is_coupled() {
        let fixed = [("random_cycle".to_string(), Given::Flag(false))];
        for (mbps, gain, w) in [([10.0, 10.0], 1.0 / 3.0, None), ([2.0, 10.0], 1.0, Some(4 * MSS))] {
            let mut s = Sender::probing(&fixed);
            s.law.on_siblings(&paths(&mbps), 0);
            s.ack(41, 60, 0);
            assert_eq!(s.gain(), 0.75);
            s.ack(1, 30, 0);
            assert!((s.gain() - gain).abs() < 1e-6, "{}", s.gain());
            let before = s.law.cwnd();
            assert_eq!(w.unwrap_or(before), before);
            s.law.on_siblings(&paths(&mbps[..1]), 0);
            s.ack(1, 30, 0);
            assert_eq!((s.gain(), s.law.cwnd()), (1.0, w.unwrap_or(before) + MSS));
        }
    }

    /// 10 beside 35.43: β = 0.2614, α = 0.0152 at L = 8, half a segment of the 33.3.
    #[test]
    fn cruising_leaves_four_segments() {
        for (floor, gain, w) in [(true, 1.0, Some(4 * MSS)), (false, 0.0152, None)] {
            let given = [("random_cycle".to_string(), Given::Flag(false)), ("floor".to_string(), Given::Flag(floor))];
            let mut s = Sender::probing(&given);
            s.law.on_siblings(&paths(&[10.0, 35.43]), 0);
            s.ack(41, 60, 0);
            s.ack(1, 30, 0);
            assert!((s.gain() - gain).abs() < 1e-3, "{}", s.gain());
            assert_eq!(w.unwrap_or(s.law.cwnd()), s.law.cwnd());
        }
    }

    proptest! {
        /// Σ β_i bw_i = max bw, β_i in proportion to bw_i; and the mean gain of a cycle is β.
        #[test]
        fn together_they_take_what_the_best_has(mbps in proptest::collection::vec(0.01_f64..1000.0, 2..6), length in 3_u64..=8) {
            let all = paths(&mbps);
            let bw: Vec<f64> = all.iter().map(|path| path.bandwidth.unwrap().as_bps_f64()).collect();
            let best = bw.iter().copied().fold(0.0, f64::max);
            let betas: Vec<f64> = (0..all.len()).map(|me| beta(&all, me).unwrap()).collect();
            let total: f64 = betas.iter().zip(&bw).map(|(beta, bw)| beta * bw).sum();
            prop_assert!((total / best - 1.0).abs() < 1e-9);
            for (beta, bw_i) in betas.iter().zip(&bw) {
                prop_assert!((beta / bw_i / (betas[0] / bw[0]) - 1.0).abs() < 1e-9);
                let mean = (1.25 + 0.75 + (length - 2) as f64 * alpha(*beta, length)) / length as f64;
                prop_assert!((mean - beta).abs() < 1e-9);
            }
        }
    }
}
