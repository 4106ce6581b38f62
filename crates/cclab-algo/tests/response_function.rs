//! Mean windows under periodic loss, against the response functions of the literature.
//!
//! No network: W packets per RTT, an ACK for each, and a loss after every 1/p of them.

use cclab_algo::cc::{self, AckEvent, CongestionControl, CongestionEvent, Context, Signal};
use cclab_algo::params::{Flavour, Given};
use cclab_algo::{Duration, Time};

const MSS: u64 = 1000;

/// Mean W (segments, over time) of `cycles` loss periods after as many to settle.
fn mean_window(mut law: Box<dyn CongestionControl>, rtt: Duration, p: f64, cycles: u64) -> f64 {
    let per_cycle = (1.0 / p).round() as u64;
    let mut now = 0.0;
    let mut counted_from = 0.0;
    // Begins after a loss: before the first, CUBIC searches and would start far too high.
    lose(&mut *law, now, rtt);
    for cycle in 0..2 * cycles {
        if cycle == cycles {
            counted_from = now;
        }
        for _ in 0..per_cycle {
            // W packets per RTT: the next ACK is RTT/W away
            now += rtt.as_secs_f64() * MSS as f64 / law.cwnd() as f64;
            law.on_ack(&AckEvent {
                now: Time::ZERO + Duration::from_secs_f64(now),
                acked_bytes: MSS,
                rtt: Some(rtt),
                srtt: rtt,
                min_rtt: rtt,
                may_grow: true,
                ..AckEvent::default()
            });
        }
        lose(&mut *law, now, rtt);
    }
    (cycles * per_cycle) as f64 * rtt.as_secs_f64() / (now - counted_from)
}

fn lose(law: &mut dyn CongestionControl, now: f64, rtt: Duration) {
    let now = Time::ZERO + Duration::from_secs_f64(now);
    let flight_size = law.cwnd();
    law.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size, srtt: rtt, min_rtt: rtt });
}

fn law(name: &str, initial_window: u32, given: &[(&str, Given)]) -> Box<dyn CongestionControl> {
    law_of(Flavour::Paper, name, initial_window, given)
}

fn law_of(flavour: Flavour, name: &str, w: u32, given: &[(&str, Given)]) -> Box<dyn CongestionControl> {
    let cx = Context { initial_window: w, initial_ssthresh: Some(MSS), flavour, ..Context::new(MSS as u32) };
    let given: Vec<_> = given.iter().map(|(n, g)| (n.to_string(), g.clone())).collect();
    cc::find(name).unwrap().make(&cx, &given).unwrap()
}

fn assert_within(measured: f64, expected: f64, tolerance: f64, what: &str) {
    let error = measured / expected - 1.0;
    assert!(error.abs() <= tolerance, "{what}: W = {measured:.1}, expected {expected:.1} ({:+.1} %)", 100.0 * error);
}

/// RFC 9438 eq. 6: W = 1.054 (RTT³/p³)^¼ at RTT 0.1 s.
///
/// The derivation takes every loss to come just at W_max and knows no fast convergence; so W starts there, at
/// mean · 4/(3 + β), without it. From elsewhere W_max approaches that point only as 1/n over n periods, since the
/// curve is flat there: a loss a little before or after K leaves almost the same W_max. With fast convergence a loss
/// one packet below W_max takes 15 % off it, and the mean lies up to 12 % lower.
#[test]
fn cubic_follows_its_response_function() {
    for flavour in [Flavour::Paper, Flavour::Linux] {
        for p in [1e-5, 1e-6] {
            let expected = 1.054 * cclab_algo::math::pow(0.1_f64 / p, 0.75);
            for (fast_convergence, tolerance) in [(false, 0.05), (true, 0.12)] {
                let given = [("fast_convergence", Given::Flag(fast_convergence))];
                let cubic = law_of(flavour, "cubic", (expected * 4.0 / 3.7) as u32, &given);
                let w = mean_window(cubic, Duration::from_millis(100), p, 5);
                assert_within(w, expected, tolerance, &format!("cubic, {flavour:?}, p = {p}, {fast_convergence}"));
            }
        }
    }
}

/// At RTT 10 ms and p = 1e-6 a Reno has a window of 1225, CUBIC's curve alone 1054: the Reno-friendly region.
#[test]
fn cubic_is_no_slower_than_reno_at_short_rtt() {
    let p = 1e-6;
    let expected = 1.054 * cclab_algo::math::pow(0.01_f64 / p, 0.75);
    let cubic = |reno_friendly| {
        let given = [("reno_friendly", reno_friendly), ("fast_convergence", false)].map(|(n, x)| (n, Given::Flag(x)));
        mean_window(law("cubic", (expected * 4.0 / 3.7) as u32, &given), Duration::from_millis(10), p, 5)
    };
    assert_within(cubic(false), expected, 0.05, "the curve alone");
    assert!(cubic(true) >= 1.2247 / p.sqrt() * 0.97, "{}", cubic(true));
}

/// W = √(3/2)/√p (Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997), an ACK per packet.
#[test]
fn reno_follows_its_response_function() {
    for p in [1e-3, 1e-4, 1e-5] {
        let expected = 1.2247 / f64::sqrt(p);
        let w = mean_window(law("reno", expected as u32, &[]), Duration::from_millis(100), p, 5);
        assert_within(w, expected, 0.03, &format!("reno, p = {p}"));
    }
}
