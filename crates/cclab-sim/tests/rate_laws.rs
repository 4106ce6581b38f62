//! The laws that govern their rate: what they promise, end to end.

use crate::support::*;
use cclab_algo::params::Given;
use cclab_algo::{Duration, Rate, Time};
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, DelayedAck, Recovery};
use cclab_sim::world::RunResult;
use std::sync::Arc;

/// A bottleneck with RTT `rtt_ms` and a buffer, without access links; the segments are 1500 bytes on the wire.
fn bottleneck(rate: u64, rtt_ms: u64, buffer: u64, seconds: f64) -> Scenario {
    let one_way = Duration::from_millis(rtt_ms) / 2;
    let queue = Queue::DropTail { limit: Limit::Packets(buffer) };
    let there = Link { queue, ..link("bottleneck", Some(rate), one_way) };
    path(seconds, there, link("back", None, one_way))
}

fn flow_of(law: &str, params: &[(&str, f64)]) -> Flow {
    let mut flow = bulk(law, law, Config::linux(1448));
    if let Traffic::Tcp { cc_params, .. } = &mut flow.traffic {
        *cc_params = params.iter().map(|(name, x)| (name.to_string(), Given::Number(*x))).collect();
    }
    flow
}

fn alone(law: &str, rate: u64, rtt_ms: u64, buffer: u64, seconds: f64) -> RunResult {
    let mut scenario = bottleneck(rate, rtt_ms, buffer, seconds);
    scenario.flows = vec![flow_of(law, &[])];
    scenario.record.samples = Sampling::Every(Duration::from_millis(10));
    run(&scenario)
}

/// Values of a signal of flow `flow`, with their times.
fn signal(result: &RunResult, flow: u32, name: &str) -> Vec<(f64, f64)> {
    let s = &result.signals;
    assert!(s.name.names().iter().any(|n| n == name), "a signal of this law");
    s.rows().filter(|row| row.flow == flow && row.name == name).map(|row| (row.time_s, row.value)).collect()
}

/// Payload share of a 1500-byte packet: what of the link's rate a law can measure.
const PAYLOAD: f64 = 1448.0 / 1500.0;

/// BBRv1's states in its signal `state`.
const DRAIN: f64 = 1.0;
const PROBE_BW: f64 = 2.0;
const PROBE_RTT: f64 = 3.0;

/// With Bernoulli loss of data, before the queue; 100 Mbit/s, 40 ms, a buffer never full: share of the link used.
fn utilisation_at_loss(law: &str, p: f64) -> f64 {
    used_at_loss(law, p, 1)
}

fn used_at_loss(law: &str, p: f64, seed: u64) -> f64 {
    let mut scenario = bottleneck(100_000_000, 40, 10_000, 60.0);
    scenario.links[0].loss = vec![Loss { applies_to: AppliesTo::Data, model: LossModel::Bernoulli { p } }];
    scenario.flows = vec![flow_of(law, &[])];
    scenario.seed = seed;
    run(&scenario).links.row(0).utilisation
}

/// Two flows over 100 Mbit/s, 40 ms (333 packets), the second two seconds later; the first `warmup` s left out.
fn two(law: &str, buffer: u64, seconds: f64, warmup: u64) -> RunResult {
    let mut scenario = bottleneck(100_000_000, 40, buffer, seconds);
    scenario.flows = (0..2)
        .map(|k| Flow { start: Time::ZERO + Duration::from_secs(2 * k), ..flow_of(law, &[]) })
        .enumerate()
        .map(|(k, flow)| Flow { label: format!("{law}-{k}"), ..flow })
        .collect();
    scenario.warmup = Duration::from_secs(warmup);
    scenario.record.samples = Sampling::Every(Duration::from_millis(10));
    run(&scenario)
}

/// The path of the reference runs W1: 1.5 Mbit/s, 80 ms, 17 waiting; 1000 bytes on the wire, an ACK for each packet.
fn w1(law: &str) -> RunResult {
    let queue = Queue::DropTail { limit: Limit::Packets(17) };
    let slow = |name| Link { queue: queue.clone(), ..link(name, Some(1_500_000), Duration::from_millis(40)) };
    let fast = |name| link(name, Some(10_000_000), Duration::ZERO);
    let mut scenario = path(200.0, fast("source"), fast("back-from-sink"));
    scenario.links.extend([slow("bottleneck"), fast("sink"), slow("bottleneck-reverse"), fast("back-to-source")]);
    scenario.warmup = Duration::from_secs(20);
    let mut config = Config { initial_window: 2, ..Config::linux(948) };
    config.delayed_ack = DelayedAck { every: 1, ..config.delayed_ack };
    scenario.flows = vec![Flow { route: vec![0, 2, 3], route_back: vec![1, 4, 5], ..bulk(law, law, config) }];
    run(&scenario)
}

/// The path of the reference runs W2: two flows, 250 Mbit/s, 42 ms, a buffer of 20 % of the BDP (175), the second a second
/// later; 30 s, the first 10 s left out.
fn w2(law: &str, seed: u64) -> RunResult {
    let mut scenario = bottleneck(250_000_000, 42, 175, 30.0);
    scenario.flows = (0..2).map(|k| Flow { start: Time::ZERO + Duration::from_secs(k), ..flow_of(law, &[]) }).collect();
    scenario.warmup = Duration::from_secs(10);
    cclab_sim::world::run(&scenario, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"))
}

/// A single flow in a buffer of 30 BDPs: the link is full, and the RTT stays within a quarter of a BDP of the base but
/// for STARTUP and its queue (2 BDPs, drained within two RTTs).
#[test]
fn bbr_keeps_one_bdp_in_a_deep_buffer() {
    let result = alone("bbr", 100_000_000, 40, 10_000, 60.0);
    let (flow, bottleneck) = (result.flows.row(0), result.links.row(0));
    // 0.99 of the rate in six of eight phases, PROBE_RTT takes 200 ms of 10 s
    assert!(bottleneck.utilisation > 0.96, "{}", bottleneck.utilisation);
    assert!(flow.rtt.p50 < 1.05 * 0.040 && flow.rtt.p95 < 1.25 * 0.040 + 0.0005, "{:?}", flow.rtt);
    assert_eq!((bottleneck.drops, flow.timeouts), (0, 0));
}

/// STARTUP ends with BtlBw within 2 % of what the link carries, after doubling each round and three rounds without growth.
#[test]
fn bbr_leaves_startup_knowing_the_link() {
    let result = alone("bbr", 100_000_000, 40, 10_000, 3.0);
    let state = signal(&result, 0, "state");
    let (drains, _) = *state.iter().find(|(_, s)| *s == DRAIN).expect("STARTUP ends");
    let (cruises, _) = *state.iter().find(|(_, s)| *s == PROBE_BW).expect("DRAIN ends");
    // From 10 to 333 segments takes five doublings; three rounds at up to 2.9 BDPs follow; the handshake came before.
    assert!((0.2..0.7).contains(&drains) && cruises - drains < 0.15, "{drains} {cruises}");
    let (_, bw) = *signal(&result, 0, "btl_bw_bps").iter().find(|(t, _)| *t >= drains).unwrap();
    assert!((bw / (100e6 * PAYLOAD) - 1.0).abs() < 0.02, "{bw}");
}

/// Without SACK duplicate ACKs tell what is delivered, so that the ACK which fills a hole is no burst: the largest pacing rate is STARTUP's,
/// 2/ln 2 of the link's. Linux 6.18 without SACK (`cclab run --backend live`) paces at no more than 27.6 Mbit/s and delivers 8.97 Mbit/s where
/// only the queue loses packets, 4.1 to 6.6 (five runs) where one in a thousand is lost and the queue is short.
#[test]
fn bbr_without_sack_knows_the_link() {
    let run_on = |config: Config, rate: u64, buffer: u64, p: f64, seconds: f64| {
        let mut scenario = bottleneck(rate, 40, buffer, seconds);
        scenario.links[0].loss = vec![Loss { applies_to: AppliesTo::Data, model: LossModel::Bernoulli { p } }];
        scenario.flows = vec![bulk("bbr", "bbr", config)];
        scenario.record.samples = Sampling::Every(Duration::from_millis(10));
        let result = run(&scenario);
        let pacing = result.samples.pacing_rate_bps.iter().copied().fold(0.0, f64::max);
        assert!(pacing < 2.0 / std::f64::consts::LN_2 * rate as f64, "{pacing}");
        result.flows.row(0).goodput_bps / 1e6
    };
    let classic = Config::classic(1448, Recovery::NewReno);
    for config in [Config { sack: false, ..Config::linux(1448) }, classic.clone()] {
        let goodput = run_on(config, 10_000_000, 40, 0.0, 20.0);
        assert!(goodput > 0.9 * 8.97, "{goodput}");
    }
    let goodput = run_on(classic, 8_000_000, 20, 0.001, 10.0);
    assert!(goodput > 4.1, "{goodput}");
}

/// Ten seconds after RTprop was last measured, W = 4 for 200 ms and a round.
#[test]
fn bbr_probes_the_rtt_every_ten_seconds() {
    let result = alone("bbr", 100_000_000, 40, 10_000, 42.0);
    let state = signal(&result, 0, "state");
    let changes =
        |to| state.windows(2).filter(move |w| w[0].1 != w[1].1 && w[to as usize].1 == PROBE_RTT).map(|w| w[1].0);
    let (begins, ends): (Vec<f64>, Vec<f64>) = (changes(true).collect(), changes(false).collect());
    assert!((3..=4).contains(&begins.len()), "{begins:?}");
    assert!((10.0..10.2).contains(&begins[0]), "{begins:?}");
    for (begin, end) in begins.iter().zip(&ends) {
        assert!((0.2..0.35).contains(&(end - begin)), "{begin} {end}");
    }
    for (end, next) in ends.iter().zip(&begins[1..]) {
        assert!((9.99..10.1).contains(&(next - end)), "{end} {next}");
    }
    let s = &result.samples;
    assert!(s.time_s.iter().zip(&s.cwnd_bytes).any(|(t, w)| *t > 10.0 && *w == 4.0 * 1448.0));
}

/// Random loss means nothing to BBRv1, until STARTUP's growth and the gain of 1.25 no longer make up for it (20 %).
#[test]
fn bbr_does_not_mind_random_loss_until_it_is_a_fifth() {
    // 1 % and 5 % of what is sent are lost before the link. With a quarter lost ten seeds have 3.5 % on average, 8.4 % at most
    // (standard deviation 3.7 points).
    assert!(utilisation_at_loss("bbr", 0.01) > 0.95);
    assert!(utilisation_at_loss("bbr", 0.05) > 0.90);
    assert!(utilisation_at_loss("bbr", 0.25) < 0.15);
}

/// Two flows: whenever one comes to PROBE_RTT both find the queue empty soon, so that their clocks meet; they share.
#[test]
fn two_bbr_drain_the_queue_together() {
    let result = two("bbr", 10_000, 60.0, 20);
    assert!(
        result.jain > 0.98 && result.links.row(0).utilisation > 0.96,
        "{} {}",
        result.jain,
        result.links.row(0).utilisation
    );
    let s = &result.samples;
    let empty = |from: f64, to: f64| {
        let rows = (0..s.time_s.len()).filter(move |&k| (from..to).contains(&s.time_s[k]));
        rows.filter(|&k| s.rtt_s[k] < 0.0415).map(|k| s.flow[k]).fold([false; 2], |mut seen, flow| {
            seen[flow as usize] = true;
            seen
        })
    };
    for from in [20.0, 30.0, 40.0, 50.0 - 1.0] {
        assert_eq!(empty(from, from + 11.0), [true, true], "{from}");
    }
    // Between two of them the queue stands, at most at the two BDPs that W allows each (Cardwell 2016, figure 8): of the rates that
    // probing by 5/4 shows them, 5/9 of the link, 89 ms; and three quanta of two segments each, 14 ms. What ACKs in excess add is little.
    let rtt = result.flows.row(0).rtt;
    assert!(rtt.p50 > 0.06 && rtt.p95 < 1.05 * (0.089 + 0.014), "{rtt:?}");
}

/// ns-3.48 on the paths W1 and W2, one run each.
#[test]
fn bbr_and_ns3() {
    // W1: utilisation agrees. The delay does not: ours is by 20 ms (4 packets) less; docs/models/bbr.md has the arithmetic.
    let result = w1("bbr");
    let (flow, bottleneck) = (result.flows.row(0), result.links.row(2));
    assert!((bottleneck.utilisation - 0.9736).abs() < 0.005, "{}", bottleneck.utilisation);
    assert_eq!((flow.cwnd_min_segments, flow.timeouts), (4.0, 0));
    assert!((flow.cwnd_max_segments - 43.54).abs() < 1.0, "{}", flow.cwnd_max_segments);
    assert!((0.085..0.1108).contains(&flow.owd.mean), "{}", flow.owd.mean);
    // W2: the link is fuller than with ns-3 (0.897), and some percent are lost for ever. How it is shared is chance: Jain's index
    // of ns-3's run is 0.746, and the mean of ours is nearer to it than to equal shares (1) or one flow alone (0.5), each 0.25 away.
    let runs: Vec<RunResult> = (1..=10).map(|seed| w2("bbr", seed)).collect();
    for result in &runs {
        let bottleneck = result.links.row(0);
        assert!((bottleneck.utilisation - 0.98).abs() < 0.02 && bottleneck.drops > 0, "{}", bottleneck.utilisation);
    }
    let jain = runs.iter().map(|result| result.jain).sum::<f64>() / 10.0;
    assert!((jain - 0.746).abs() < 0.25 / 2.0, "{jain}");
}

/// BBRv3's states in its signal `state`.
mod v3 {
    pub const DRAIN: f64 = 1.0;
    pub const DOWN: f64 = 2.0;
    pub const CRUISE: f64 = 3.0;
    pub const UP: f64 = 5.0;
    pub const PROBE_RTT: f64 = 6.0;
}

/// The draft's example tests: Startup ends within three rounds of the plateau with max_bw within 2 % of the link; Drain ends at
/// in flight ≤ BDP; then ProbeBW's states follow each other, with a probe each two to three seconds.
#[test]
fn bbr3_startup_drain_and_cycle() {
    let result = alone("bbr3", 100_000_000, 40, 10_000, 30.0);
    let state = signal(&result, 0, "state");
    let (drains, _) = *state.iter().find(|(_, s)| *s == v3::DRAIN).expect("Startup ends");
    let max_bw = signal(&result, 0, "max_bw_bps");
    let reached = max_bw.iter().find(|(_, bw)| *bw > 0.98 * 100e6 * PAYLOAD).expect("the link's rate is found").0;
    let (_, bw) = *max_bw.iter().find(|(t, _)| *t >= drains).unwrap();
    assert!((bw / (100e6 * PAYLOAD) - 1.0).abs() < 0.02, "{bw}");
    // Rounds of 83 ms with two BDPs in flight, and sampled each 10 ms.
    assert!(drains - reached < 3.0 * 0.083 + 0.05, "{reached} {drains}");
    let (drained, _) = *state.iter().find(|(_, s)| *s >= v3::DOWN).unwrap();
    assert!(drained - drains < 0.1, "{drains} {drained}");
    let probes: Vec<f64> = state.windows(2).filter(|w| w[0].1 != v3::UP && w[1].1 == v3::UP).map(|w| w[1].0).collect();
    assert!((6..=14).contains(&probes.len()), "{probes:?}");
    let probe_rtts = state.windows(2).filter(|w| w[0].1 != v3::PROBE_RTT && w[1].1 == v3::PROBE_RTT).count();
    assert!((4..=6).contains(&probe_rtts), "{probe_rtts}");
    assert!(state.iter().filter(|(_, s)| *s == v3::CRUISE).count() > state.len() / 2);
    let (flow, bottleneck) = (result.flows.row(0), result.links.row(0));
    assert!(bottleneck.utilisation > 0.96 && flow.rtt.p50 < 0.0405, "{} {:?}", bottleneck.utilisation, flow.rtt);
}

/// A link that becomes ten times faster is used within two probes; one that becomes ten times slower is known after two cycles
/// (in a buffer of one BDP; in a much larger one ProbeRTT comes before a cycle can end, see docs/models/bbr3.md).
#[test]
fn bbr3_follows_the_link() {
    for (before, after) in [(10_000_000_u64, 100_000_000_u64), (100_000_000, 10_000_000)] {
        let mut scenario = bottleneck(before, 40, 333, 45.0);
        let at = Time::ZERO + Duration::from_secs(20);
        scenario.links[0].schedule = vec![Change { at, rate: Some(Rate(after)), delay: None, up: None }];
        scenario.flows = vec![flow_of("bbr3", &[])];
        scenario.warmup = Duration::from_secs(30);
        scenario.record.samples = Sampling::Every(Duration::from_millis(10));
        let result = run(&scenario);
        let max_bw = signal(&result, 0, "max_bw_bps");
        let (_, found) = *max_bw.iter().find(|(t, _)| *t >= 32.0).unwrap();
        assert!((found / (after as f64 * PAYLOAD) - 1.0).abs() < 0.02, "{before} {after}: {found}");
        assert!(result.links.row(0).utilisation > 0.95, "{before} {after}: {}", result.links.row(0).utilisation);
    }
}

/// Random loss well below 2 % leaves most of the link, above it next to nothing: probes end before they gain anything.
#[test]
fn bbr3_minds_loss_above_two_percent() {
    let used = [0.001, 0.01, 0.05].map(|p| utilisation_at_loss("bbr3", p));
    assert!(used[0] > 0.80 && used[1] > 0.70 && used[2] < 0.1, "{used:?}");
}

/// In a shallow buffer (0.3 BDP) BBRv3 keeps below the 2 % of loss that it takes for too much (the draft's LossThresh), of which BBRv1 knows
/// nothing: it keeps two BDPs in flight.
#[test]
fn bbr3_loses_little_in_a_shallow_buffer() {
    let lost = |law| {
        let result = two(law, 100, 30.0, 5);
        assert!(result.links.row(0).utilisation > 0.95, "{law}: {}", result.links.row(0).utilisation);
        result.links.row(0).drops as f64 / result.links.row(0).arrived as f64
    };
    let (v1, v3) = (lost("bbr"), lost("bbr3"));
    assert!(v3 < 0.02 && v1 > 0.02, "{v1} {v3}");
}

/// Two flows of BBRv3 share within their dozen cycles; the queue is empty at each ProbeRTT.
#[test]
fn two_bbr3_share() {
    let result = two("bbr3", 1000, 60.0, 20);
    assert!(
        result.jain > 0.9 && result.links.row(0).utilisation > 0.96,
        "{} {}",
        result.jain,
        result.links.row(0).utilisation
    );
    assert!(result.flows.rows().all(|f| f.rtt.min < 0.0405));
}

/// `law` alone with an ACK for each packet: utilisation and mean packets in the queue, that in service included.
fn each_acknowledged(law: &str, rate: u64, rtt_ms: u64) -> (f64, f64) {
    let mut scenario = bottleneck(rate, rtt_ms, 1000, 60.0);
    let mut flow = flow_of(law, &[]);
    if let Traffic::Tcp { config, .. } = &mut flow.traffic {
        Arc::make_mut(config).delayed_ack.every = 1;
    }
    scenario.flows = vec![flow];
    scenario.warmup = Duration::from_secs(10);
    let result = run(&scenario);
    let bottleneck = result.links.row(0);
    (bottleneck.utilisation, bottleneck.queue_mean_packets)
}

/// §3 of the paper: the queue swings between 0 and 2.5/δ̂ packets, its mean is 1.25/δ̂ (±20 %): 2.5 with one flow, 5 with two,
/// which get the same.
#[test]
fn copa_keeps_a_few_packets_in_the_queue() {
    for (rate, rtt) in [(8_000_000, 100), (10_000_000, 40), (100_000_000, 40)] {
        let (utilisation, queue) = each_acknowledged("copa", rate, rtt);
        assert!(utilisation > 0.99, "{rate} {rtt}: {utilisation}");
        assert!((queue / 2.5 - 1.0).abs() < 0.2, "{rate} {rtt}: {queue}");
    }
    let result = two("copa", 1000, 60.0, 20);
    assert!(result.jain > 0.99 && result.links.row(0).utilisation > 0.99, "{}", result.jain);
    let queue = result.links.row(0).queue_mean_packets;
    assert!((queue / 5.0 - 1.0).abs() < 0.2, "{queue}");
}

/// Loss means nothing to Copa; a flow that fills the queue does, unless it competes.
#[test]
fn copa_minds_queues_not_losses() {
    assert!(utilisation_at_loss("copa", 0.01) > 0.95);
    let against_cubic = |competitive| {
        let mut scenario = bottleneck(100_000_000, 40, 333, 60.0);
        let mut copa = flow_of("copa", &[]);
        if let Traffic::Tcp { cc_params, .. } = &mut copa.traffic {
            cc_params.push(("competitive".into(), Given::Flag(competitive)));
        }
        scenario.flows = vec![copa, flow_of("cubic", &[])];
        scenario.warmup = Duration::from_secs(20);
        run(&scenario).flows.row(0).goodput_bps
    };
    assert!(against_cubic(false) < 10e6 && against_cubic(true) > 30e6);
}

/// Vivace fills the link but for its probes (5 %), with an empty queue, whatever the buffer; two share.
#[test]
fn vivace_fills_the_link_and_not_the_queue() {
    for buffer in [33, 333] {
        let mut scenario = bottleneck(100_000_000, 40, buffer, 60.0);
        scenario.flows = vec![flow_of("vivace", &[])];
        scenario.warmup = Duration::from_secs(20);
        let result = run(&scenario);
        let (rtt, bottleneck) = (result.flows.row(0).rtt, result.links.row(0));
        assert!(bottleneck.utilisation > 0.93 && bottleneck.drops == 0, "{buffer}: {}", bottleneck.utilisation);
        assert!(rtt.p95 < 0.043, "{buffer}: {rtt:?}");
    }
    let result = two("vivace", 333, 120.0, 60);
    assert!(result.jain > 0.98 && result.links.row(0).utilisation > 0.88, "{}", result.jain);
}

/// The marginal utility of rate, 0.9 x^-0.1 - 11.35 L, is zero at 5 % loss and 100 Mbit/s. With 2 % lost it is positive whatever the rate, so
/// that the law climbs to the whole link; with 10 % it is above 0.1 Mbit/s negative, and the law falls to next to nothing. How soon is chance,
/// so means of six runs are nearer to the one than to the other. On the way down each five RTTs (four intervals and their results) take 5 % or
/// more away (ω₀): all of that is 4 s of the link or less, a fifteenth of the minute. As much is left to turns the wrong way.
#[test]
fn vivace_survives_loss_below_five_percent() {
    let used = [0.02, 0.10].map(|p| (1..=6).map(|seed| used_at_loss("vivace", p, seed)).sum::<f64>() / 6.0);
    assert!(used[0] > 0.5 && used[1] < 2.0 / 15.0, "{used:?}");
}
