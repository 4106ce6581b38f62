//! Coupled laws over paths of given RTT and random loss, against the equilibria of their papers.
//!
//! No network: on each path W packets per RTT, an ACK for each, and each lost with probability p, but for those of the window that
//! a loss has cut. After each event all subflows hear of it, as those of a connection do.

use cclab_algo::cc::{self, AckEvent, CongestionControl, CongestionEvent, Context, Share, Signal};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};

const MSS: u64 = 1000;

/// A path, and the subflow on it.
struct Path {
    law: Box<dyn CongestionControl>,
    rtt: Duration,
    loss: f64,
    next_ack: f64,
    recovers_at: f64,
    delivered: u64,
}

impl Path {
    fn new(law: &str, (rtt_ms, loss): (u64, f64)) -> Self {
        let cx = Context { initial_ssthresh: Some(MSS), ..Context::new(MSS as u32) };
        Path {
            law: cc::find(law).unwrap().make(&cx, &[]).unwrap(),
            rtt: Duration::from_millis(rtt_ms),
            loss,
            next_ack: 0.0,
            recovers_at: 0.0,
            delivered: 0,
        }
    }

    fn window(&self) -> f64 {
        self.law.cwnd() as f64 / MSS as f64
    }

    fn share(&self) -> Share {
        let mut share = Share { window: self.window(), srtt: self.rtt, ..Share::default() };
        self.law.share(&mut share);
        share
    }

    /// A packet arrives or is lost.
    fn step(&mut self, lost: bool) {
        let (at, rtt) = (self.next_ack, self.rtt);
        let now = Time::ZERO + Duration::from_secs_f64(at);
        let flight_size = self.law.cwnd();
        self.next_ack += rtt.as_secs_f64() / self.window();
        if !lost {
            self.delivered += 1;
            self.law.on_ack(&AckEvent {
                now,
                acked_bytes: MSS,
                delivered_bytes: MSS,
                rtt: Some(rtt),
                srtt: rtt,
                min_rtt: rtt,
                may_grow: true,
                ..AckEvent::default()
            });
        } else if at >= self.recovers_at {
            self.recovers_at = at + rtt.as_secs_f64();
            self.law.on_congestion(&CongestionEvent {
                now,
                signal: Signal::Loss,
                flight_size,
                srtt: rtt,
                min_rtt: rtt,
            });
        }
    }
}

/// Rates of the subflows in packets per second, over `seconds` after a tenth of it to settle.
fn rates(law: &str, paths: &[(u64, f64)], seconds: f64) -> Vec<f64> {
    let mut paths: Vec<Path> = paths.iter().map(|&path| Path::new(law, path)).collect();
    let mut losses = Stream::new(1, "losses");
    let settled = seconds / 10.0;
    let mut before = None;
    loop {
        let next = (0..paths.len()).min_by(|&a, &b| paths[a].next_ack.total_cmp(&paths[b].next_ack)).unwrap();
        let now = paths[next].next_ack;
        if now > settled && before.is_none() {
            before = Some(paths.iter().map(|path| path.delivered).collect::<Vec<_>>());
        }
        if now > seconds {
            let before = before.unwrap();
            return paths
                .iter()
                .zip(before)
                .map(|(path, n)| (path.delivered - n) as f64 / (seconds - settled))
                .collect();
        }
        let lost = losses.chance(paths[next].loss);
        paths[next].step(lost);
        if paths.len() > 1 {
            let all: Vec<Share> = paths.iter().map(Path::share).collect();
            for (me, path) in paths.iter_mut().enumerate() {
                path.law.on_siblings(&all, me);
            }
        }
    }
}

/// What all subflows get together, as a share of what a NewReno gets on the best of the paths; and the share of the last subflow.
fn together(law: &str, paths: &[(u64, f64)], seconds: f64) -> (f64, f64) {
    let best = paths.iter().map(|&path| rates("newreno", &[path], seconds)[0]).fold(0.0, f64::max);
    let rates = rates(law, paths, seconds);
    let total: f64 = rates.iter().sum();
    (total / best, rates[rates.len() - 1] / total)
}

fn assert_within(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "{what}: {found:.3}, expected {expected:.3} within {tolerance}"
    );
}

/// The loop itself: NewReno's W is 1.31/√p under random loss (Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997), here a little less, as
/// whole segments are sent.
#[test]
fn one_path_is_mathis() {
    for (rtt_ms, p) in [(100, 0.001), (20, 0.01)] {
        let mathis = 1.31 / f64::sqrt(p) / (rtt_ms as f64 / 1000.0);
        assert_within(rates("newreno", &[(rtt_ms, p)], 5000.0)[0], mathis, 0.06, "NewReno");
    }
}

/// LIA's total is max_r √(2/p_r)/RTT_r, what one flow gets on the best path. The first is the example of Wischik et al., NSDI 2011 §2.3: Wi-Fi
/// with 10 ms and 4 % (707 packets per second for a flow of its own), 3G with 100 ms and 1 % (141).
///
/// With independent random losses the totals of equal paths are a little higher: the sum varies less than each window.
#[test]
fn lia_takes_what_one_flow_takes_on_the_best_path() {
    for paths in [
        &[(10, 0.04), (100, 0.01)][..],
        &[(20, 0.01), (200, 0.001)],
        &[(100, 0.001), (100, 0.01)],
        &[(100, 0.002), (100, 0.002)],
        &[(50, 0.004), (100, 0.001)],
    ] {
        assert_within(together("lia", paths, 2500.0).0, 1.0, 0.12, &format!("{paths:?}"));
    }
}

/// LIA in the fluid of its paper: w_r ∝ 1/p_r where RTTs are equal, so a path of ten times the loss has 1/11 of the traffic.
#[test]
fn lia_balances_by_the_inverse_of_loss() {
    assert_within(together("lia", &[(100, 0.001), (100, 0.01)], 4000.0).1, 1.0 / 11.0, 0.15, "LIA");
}

/// Equal RTT: LIA and OLIA near the best path's rate, BALIA within 30 %; uncoupled far above.
#[test]
fn totals_of_disjoint_paths() {
    for paths in [&[(100, 0.001), (100, 0.01)][..], &[(50, 0.004), (50, 0.002), (50, 0.008)]] {
        for (law, low, high) in [("lia", 0.88, 1.12), ("olia", 0.8, 1.12), ("balia", 0.7, 1.3), ("newreno", 1.25, 2.5)]
        {
            let (total, _) = together(law, paths, 2500.0);
            assert!((low..=high).contains(&total), "{law}, {paths:?}: {total}");
        }
    }
}

/// The share of the worse of two paths, 0.1 % against 1 %: 24 % uncoupled (1/√10 to 1), OLIA below 5 %, BALIA between.
#[test]
fn the_share_of_the_worse_path() {
    let share = |law| together(law, &[(100, 0.001), (100, 0.01)], 4000.0).1;
    let [uncoupled, olia, balia] = ["newreno", "olia", "balia"].map(share);
    let root = f64::sqrt(0.1);
    assert_within(uncoupled, root / (1.0 + root), 0.06, "uncoupled");
    assert!(olia < 0.05, "OLIA: {olia}");
    assert!(olia < balia && balia < 0.8 * uncoupled, "BALIA: {balia}");
}

/// n subflows over one bottleneck see the same loss and RTT: together they take what one flow takes, uncoupled n times that.
#[test]
fn equal_subflows_take_the_share_of_one() {
    for n in [2, 4] {
        for (law, expected, tolerance) in
            [("lia", 1.0, 0.2), ("olia", 1.0, 0.2), ("balia", 1.0, 0.2), ("newreno", n as f64, 0.05)]
        {
            let (total, share) = together(law, &vec![(50, 0.002); n], 2000.0);
            assert_within(total, expected, tolerance, &format!("{law}, {n} subflows"));
            assert_within(share, 1.0 / n as f64, 0.25, &format!("{law}, {n} subflows: the last one"));
        }
    }
}
