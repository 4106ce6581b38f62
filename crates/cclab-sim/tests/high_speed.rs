//! The loss-based laws for large windows, end to end: two flows against ns-2 and ns-3, and periodic loss.
//!
//! The reference runs: two flows of one algorithm over 250 Mbit/s and a fifth of a BDP of buffer; ns-2.35 with its
//! TCP-Linux agents, seconds 50 to 200, and ns-3.48, seconds 10 to 30, one run each.

#[path = "../../cclab-algo/tests/support/response.rs"]
mod response;

use crate::support::{flow, link, path, run, two_flows, two_flows_with};
use cclab_algo::params::{Flavour, Given};
use cclab_algo::{Duration, cc};
use cclab_sim::scenario::{AppliesTo, Link, Loss, LossModel, Sampling, Traffic};
use cclab_sim::tcp::Config;
use response::{Aimd, Curve, HSTCP, RENO, SCALABLE};

/// At 42 ms: utilisation within two points, each flow within 15 %.
fn at_42_ms(cc: &str, flows: [f64; 2], utilisation: f64) {
    let (ours, used) = two_flows(cc, 42, 50, 110);
    assert!((used - utilisation).abs() <= 0.02, "{cc}: utilisation {used}, ns-2 {utilisation}");
    for (ours, theirs) in ours.into_iter().zip(flows) {
        assert!((ours / theirs - 1.0).abs() <= 0.15, "{cc}: {ours} Mbit/s, ns-2 {theirs}");
    }
}

/// At 162 ms, with sawteeth of minutes: utilisation within three points, and the first flow ahead.
fn at_162_ms(cc: &str, utilisation: f64) {
    let (ours, used) = two_flows(cc, 162, 50, 200);
    assert!((used - utilisation).abs() <= 0.03, "{cc}: utilisation {used}, ns-2 {utilisation}");
    assert!(ours[0] > 1.1 * ours[1], "{cc}: {ours:?} Mbit/s");
}

#[test]
fn two_sack_flows_at_42_ms_as_in_ns2() {
    at_42_ms("sack", [105.63, 106.25], 0.8707);
}

#[test]
fn two_bic_flows() {
    at_42_ms("bic", [120.63, 120.79], 0.9987);
    at_162_ms("bic", 0.9985);
}

#[test]
fn two_hstcp_flows() {
    at_42_ms("hstcp", [112.30, 111.98], 0.9280);
    at_162_ms("hstcp", 0.9570);
}

/// H-TCP fills the link because its back-off adapts: with it ours is at ns-2's 0.9919; without, half is left of 1.2 BDP
/// and the link idles. ns-3.48's 0.8545 is between the two.
///
/// At 162 ms both flows are equal in ns-2 (119.80 and 119.50 Mbit/s). With an ACK for each packet the first has here
/// 1.010 times the second's goodput (1.007 to 1.013, 95 % over twenty seeds that move starts and sendings; standard deviation
/// 0.006): within three hundredths. With an ACK for two it has 0.975 (0.960 to 0.990, 0.032), and one run says little.
#[test]
fn two_htcp_flows() {
    at_42_ms("htcp", [119.86, 119.84], 0.9919);
    let (ours, used) = two_flows_with("ack_every = 1\ninitial_window = 2", "htcp", 162, 50, 200);
    assert!((used - 0.9902).abs() <= 0.005, "utilisation {used}");
    assert!((ours[0] / ours[1] - 1.0).abs() <= 0.03, "{ours:?} Mbit/s");
    let (_, half) = two_flows("{ name = \"htcp\", adaptive_backoff = false }", 42, 50, 110);
    assert!(half < 0.8545, "utilisation {half}");
}

/// Scalable leaves 7/8 of 1.2 BDP: the link never idles, as in ns-3.48 (1.0000; ns-2.35 has 0.9253). Growth and loss in
/// proportion keep the shares that the start made: the first flow has 1.7 times the second's in ns-2, 3.7 times in ns-3.
/// At 162 ms it has 20 times in ns-2.
#[test]
fn two_scalable_flows() {
    for (rtt_ms, end, ahead) in [(42, 110, 1.7), (162, 200, 20.0)] {
        let (ours, used) = two_flows("scalable", rtt_ms, 50, end);
        assert!((used - 1.0).abs() <= 0.02, "{rtt_ms} ms: utilisation {used}, ns-3 1.0000");
        assert!(ours[0] > ahead * ours[1], "{rtt_ms} ms: {ours:?} Mbit/s");
    }
}

/// No reference runs; the point of both laws is to use what Reno leaves: 13 % of this link.
#[test]
fn illinois_and_compound_fill_more_than_reno() {
    for cc in ["illinois", "compound"] {
        let (ours, used) = two_flows(cc, 42, 50, 110);
        assert!(used > 0.97, "{cc}: utilisation {used}");
        assert!(ours.iter().all(|flow| *flow > 90.0), "{cc}: {ours:?} Mbit/s");
    }
}

/// Tahoe starts over at every loss, and NewReno does not: they are not Reno's law alone.
#[test]
fn a_name_brings_its_recovery() {
    let [tahoe, newreno] = ["tahoe", "newreno"].map(|cc| two_flows(cc, 42, 50, 110).1);
    assert!((newreno - 0.87).abs() < 0.02 && tahoe < newreno - 0.1, "utilisation: Tahoe {tahoe}, NewReno {newreno}");
}

const RTT: Duration = Duration::from_millis(100);

/// Mean window, in segments, of a flow whose every n-th packet is lost, n = 1/p, over a path without a queue.
///
/// A first loss when slow start has come to `w`, the window at the losses of the settled cycle; then four loss
/// periods to settle and eight to count, of `mean` segments per RTT each.
fn periodic(law: &str, given: &[(&str, Given)], p: f64, w: f64, mean: f64) -> f64 {
    const MSS: u32 = 1448;
    let every = (1.0 / p).round();
    let mut config = Config { flavour: Flavour::Paper, receive_buffer: 1 << 30, ..Config::linux(MSS) };
    config.delayed_ack.every = 1;
    let first = (w - f64::from(config.initial_window)) as u64;
    let loss = [LossModel::Named { flow: None, packets: vec![first] }, LossModel::Periodic { every: every as u64 }]
        .map(|model| Loss { applies_to: AppliesTo::Data, model });
    let cycle = every / mean * RTT.as_secs_f64();
    let there = Link { loss: loss.to_vec(), ..link("there", None, RTT / 2) };
    let mut scenario = path(12.0 * cycle, there, link("back", None, RTT / 2));
    scenario.warmup = Duration::from_secs_f64(4.0 * cycle);
    scenario.record.samples = Sampling::Off;
    let given = given.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let cc = cc::find(law).expect("a registered law");
    let traffic = Traffic::Tcp { size: None, application: None, config: config.into(), cc, cc_params: given };
    scenario.flows = vec![flow(law, traffic)];
    let result = run(&scenario);
    assert_eq!(result.flows.row(0).timeouts, 0, "{law}, p = {p}");
    result.flows.row(0).goodput_bps / 8.0 / f64::from(MSS) * RTT.as_secs_f64()
}

/// The endpoint's mean window within 5 % of the law's deterministic response function, a round trip of recovery in each
/// cycle, from p = 10⁻² to 10⁻⁵. What the segments in flight round down, half a segment, is taken off.
#[test]
fn periodic_loss() {
    let aimd: [(&str, Aimd); 3] = [("reno", RENO), ("scalable", SCALABLE), ("hstcp", HSTCP)];
    for p in [1e-2, 1e-3, 1e-4, 1e-5] {
        let check = |law, given: &[_], (w, mean): (f64, f64)| {
            let ours = periodic(law, given, p, w, mean);
            let off = ours / (mean - 0.5) - 1.0;
            assert!(off.abs() < 0.05, "{law}, p = {p}: W = {ours:.2}, expected {mean:.2} less a half ({off:+.3})");
        };
        for (law, aimd) in &aimd {
            check(law, &[], aimd.response(p, 1.0));
        }
        let cubic = Curve { rtt: RTT.as_secs_f64() }.response(p, 1.0);
        check("cubic", &[("fast_convergence", Given::Flag(false))], cubic);
    }
}
