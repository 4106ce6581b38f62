//! Connections over several paths.

use crate::support::run;
use cclab_algo::Duration;
use cclab_algo::cc;
use cclab_sim::app::scheduler;
use cclab_sim::scenario::{Scenario, Traffic};
use cclab_sim::world::RunResult;
use proptest::prelude::*;
use std::fmt::Write;

/// Payload of a full packet of 1500 bytes beside a DSS option.
const PAYLOAD: f64 = 1428.0;

/// Disjoint paths from `a` to `b`, each with these fields of its links, and a flow over all of them.
fn paths(duration: &str, links: &[String], flow: &str) -> Scenario {
    let mut toml = format!(
        "duration = '{duration}'\nrecord = {{ samples = 'off' }}\n[network]\ntopology = 'custom'\nnodes = ['a', 'b'{}]\n",
        (0..links.len()).map(|k| format!(", 'x{k}'")).collect::<String>(),
    );
    for (k, link) in links.iter().enumerate() {
        let _ = write!(toml, "[[network.links]]\nfrom = 'a'\nto = 'x{k}'\n{link}\n");
        let _ = write!(toml, "[[network.links]]\nfrom = 'x{k}'\nto = 'b'\nrate = '1 Gbit/s'\ndelay = '0 s'\n");
    }
    let routes: Vec<String> = (0..links.len()).map(|k| format!("['a', 'x{k}', 'b']")).collect();
    let _ = write!(toml, "[[flows]]\npaths = [{}]\n{flow}", routes.join(", "));
    Scenario::from_toml(&toml).unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

/// A link of this rate, in Mbit/s, on a path of this RTT, in ms, with a BDP of buffer.
fn link(rate: f64, rtt: u32) -> String {
    format!("rate = '{rate} Mbit/s'\ndelay = '{} us'\nqueue = {{ limit = '{rtt} ms' }}", rtt * 500)
}

/// A flow without end with these fields over two paths (rate, RTT); the first fifth does not count.
fn endless(first: (f64, u32), second: (f64, u32), seconds: u32, flow: &str) -> RunResult {
    let mut scenario = paths(&format!("{seconds} s"), &[link(first.0, first.1), link(second.0, second.1)], flow);
    scenario.warmup = scenario.duration / 5;
    run(&scenario)
}

/// Of equal paths it does not matter who is chosen, and both are full.
#[test]
fn equal_paths_are_used_alike() {
    let goodput = |scheduler: &str| {
        let path = (10.0, 40);
        let result = endless(path, path, 60, &format!("cc = 'cubic'\nscheduler = '{scheduler}'"));
        let session = result.sessions.row(0);
        assert_eq!((session.duplicate_bytes, session.reinjected_bytes), (0, 0), "{scheduler}");
        assert!((result.jain - 1.0).abs() < 1e-9, "a session counts once");
        session.goodput_bps
    };
    let (by_rtt, in_turn) = (goodput("min-rtt"), goodput("round-robin"));
    assert!((by_rtt / in_turn - 1.0).abs() < 0.02, "{by_rtt}, {in_turn}");
    let most = 2.0 * 10e6 * PAYLOAD / 1500.0;
    assert!((0.97..1.001).contains(&(by_rtt / most)), "{by_rtt} of {most}");
}

/// RTTs of 20 and 200 ms. A receiver with 60 kB is blocked by what goes the long way: BLEST does not send it (Ferlin et al. 2016, as good
/// as min-rtt at least). With ample room neither BLEST nor ECF ever waits.
#[test]
fn blest_does_not_block_the_fast_path() {
    let goodput = |scheduler: &str, buffer: &str| {
        let flow = format!("cc = 'cubic'\nscheduler = '{scheduler}'\nreceive_buffer = '{buffer}'");
        endless((10.0, 20), (10.0, 200), 60, &flow).sessions.row(0).goodput_bps
    };
    let (blest, by_rtt) = (goodput("blest", "60 kB"), goodput("min-rtt", "60 kB"));
    assert!(blest >= by_rtt, "{blest}, {by_rtt}");
    let ample = goodput("min-rtt", "16 MiB");
    for scheduler in ["blest", "ecf", "predicted-arrival"] {
        let found = goodput(scheduler, "16 MiB") / ample;
        assert!((0.98..1.02).contains(&found), "{scheduler}: {found}");
    }
}

/// The last segments of a transfer do not go the long way (Lim et al. 2017): ECF is through about as soon as min-rtt, and sooner in the
/// sizes where a few round trips of the short way are left (losses in the queue move single sizes by some per cent).
#[test]
fn ecf_completes_sooner() {
    let taken = |scheduler: &str, size: u32| {
        let links = [link(10.0, 20), link(10.0, 200)];
        let flow = format!("cc = 'cubic'\nscheduler = '{scheduler}'\nsize = '{size} kB'");
        run(&paths("30 s", &links, &flow)).sessions.row(0).fct_s
    };
    for size in [100, 500, 1000, 2000] {
        let (ecf, by_rtt) = (taken("ecf", size), taken("min-rtt", size));
        assert!(ecf <= by_rtt * 1.05, "{size} kB: {ecf}, {by_rtt}");
    }
    assert!(taken("ecf", 500) < 0.9 * taken("min-rtt", 500));
}

/// Each byte on both: the goodput of the better path, the delay of the shorter, and equal paths bring everything twice.
#[test]
fn redundant_is_as_good_as_the_best_path() {
    let flow = "cc = 'cubic'\nscheduler = 'redundant'";
    let result = endless((10.0, 40), (4.0, 40), 60, flow);
    let best = 10e6 * PAYLOAD / 1500.0;
    let found = result.sessions.row(0).goodput_bps / best;
    assert!((0.97..1.02).contains(&found), "{found}");

    let equal = endless((10.0, 40), (10.0, 40), 60, flow);
    let session = equal.sessions.row(0);
    let delivered = session.goodput_bps * session.measured_s / 8.0;
    let twice = session.duplicate_bytes as f64 / delivered;
    assert!((0.95..1.05).contains(&twice), "{twice}");

    // A segment behind a handshake: three one-way delays of the shorter path, and what 20, 20 and some 60 bytes take.
    let small = paths("5 s", &[link(10.0, 200), link(10.0, 30)], &format!("{flow}\nsize = '1 kB'"));
    let arrives = run(&small).sessions.row(0).fct_receiver_s;
    assert!((0.045..0.048).contains(&arrives), "{arrives}");
}

/// A ready scenario, with this in place of that.
fn example(name: &str, that: &str, this: &str) -> Scenario {
    let file = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    assert!(that.is_empty() || text.contains(that));
    Scenario::from_toml(&text.replace(that, this)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The phone loses its Wi-Fi for 20 of 60 s and goes on over the cellular network; a host that notices does so at once, one that
/// does not after a timeout.
#[test]
fn handover() {
    // 20 Mbit/s for 40 s and 8 for 60.
    let most = (20e6 * 40.0 + 8e6 * 60.0) / 60.0 * PAYLOAD / 1500.0;
    let mut stalls = Vec::new();
    // Without notice the timer that tries the Wi-Fi again has doubled to 20 s or more: of those 20 s nothing is sure.
    for (notice, least) in [(false, 0.67), (true, 0.93)] {
        let label = "label = \"download\"";
        let multipath = format!("{label}\nmultipath = {{ notice = {notice} }}");
        let result = run(&example("wifi-and-cellular", label, &multipath));
        let session = result.sessions.row(0);
        assert!((least..1.0).contains(&(session.goodput_bps / most)), "{notice}: {} of {most}", session.goodput_bps);
        assert!(session.reinjected_bytes > 0);
        stalls.push(session.stall_max_s);
    }
    assert!(stalls[0] < 1.0 && stalls[1] < stalls[0], "{stalls:?}");
}

/// Both interfaces of a path are down, the source's for longer: that the destination's is up again does not make it usable, and
/// nothing is sent into the void beyond what was under way.
#[test]
fn a_path_needs_both_of_its_interfaces() {
    let lost = |destination: &str| {
        let toml = format!(
            "duration = '8 s'\nrecord = {{ samples = 'off' }}\n[network]\ntopology = 'custom'\nnodes = ['a', 'x', 'y', 'b']\nlinks = [\n\
             {{ from = 'a', to = 'x', rate = '10 Mbit/s', delay = '10 ms', schedule = [{{ at = '2 s', up = false }}, {{ at = '6 s', up = true }}] }},\n\
             {{ from = 'x', to = 'b', rate = '1 Gbit/s', delay = '1 ms', {destination} }},\n\
             {{ from = 'a', to = 'y', rate = '10 Mbit/s', delay = '20 ms' }}, {{ from = 'y', to = 'b', rate = '1 Gbit/s', delay = '1 ms' }}]\n\
             [[flows]]\ncc = 'cubic'\nmultipath = {{ notice = true }}\npaths = [['a', 'x', 'b'], ['a', 'y', 'b']]"
        );
        let result = run(&Scenario::from_toml(&toml).unwrap_or_else(|e| panic!("{e}")));
        assert!(result.flows.row(0).goodput_bps > 3e6, "it was used before, and is again");
        result.flows.row(0).timeouts
    };
    let alone = lost("schedule = []");
    let both = lost("schedule = [{ at = '2 s', up = false }, { at = '4 s', up = true }]");
    assert_eq!(both, alone);
}

/// Uncoupled subflows take twice the share of a flow (two BBR flows of four), coupled ones less: one BBR for all.
#[test]
fn uncoupled_subflows_are_two_flows() {
    let ratio = |coupling: &str| {
        let mut scenario = example("six-node-dumbbell", "label = \"session\"\ncc = \"bbr\"", coupling);
        let law = cc::find("cbbr").expect("registered");
        for flow in &mut scenario.flows[2..] {
            if let Traffic::Tcp { cc, cc_params, .. } = &mut flow.traffic {
                (*cc, *cc_params) = (law, Vec::new());
            }
        }
        scenario.duration = scenario.duration / 3;
        let result = run(&scenario);
        let alone = &result.flows.goodput_bps[2..];
        result.sessions.goodput_bps[0] / (alone.iter().sum::<f64>() / 2.0)
    };
    let (uncoupled, coupled) =
        (ratio("label = \"session\"\ncc = \"cbbr\""), ratio("label = \"session\"\ncoupling = \"cbbr\""));
    assert!((1.7..2.3).contains(&uncoupled), "{uncoupled}");
    assert!((0.7..1.6).contains(&coupled), "{coupled}");
}

/// One that stops before the warm-up ends has nothing measured, though data are still under way, in copies, when it stops.
#[test]
fn what_ends_before_the_warm_up_is_not_measured() {
    let flow = "cc = 'cubic'\nscheduler = 'redundant'\nstop = '1 s'";
    let mut scenario = paths("4 s", &[link(10.0, 40), link(4.0, 400)], flow);
    scenario.warmup = Duration::from_secs(3);
    let result = run(&scenario);
    let session = result.sessions.row(0);
    assert!(session.measured_s == 0.0 && session.goodput_bps.is_nan());
    assert!(session.delivered_bytes > 0);
    assert_eq!((session.duplicate_bytes, session.reinjected_bytes, session.opportunistic_bytes), (0, 0, 0));
}

/// A path as it comes: rate, delay, losses, what else links do, and when it goes down and up.
///
/// One that is not `sure` may stay down.
fn any_link(sure: bool) -> impl Strategy<Value = String> {
    let losses = prop_oneof![Just(0.0), 0.001..0.1];
    let more = prop_oneof![
        4 => Just(""),
        1 => Just("reorder = { probability = '5%', delay = '30 ms' }\n"),
        1 => Just("duplicate = '5%'\n"),
        1 => Just("jitter = { distribution = 'exponential', mean = '5 ms' }\n"),
    ];
    let outages = prop_oneof![2 => Just(Vec::new()), 1 => proptest::collection::vec(1_u32..3000, 1..6)];
    let returns = any::<bool>().prop_map(move |returns| sure || returns);
    (0.1..20.0, 0_u32..150, losses, 1_u32..40, more, outages, returns).prop_map(
        |(rate, delay, loss, limit, more, outages, returns)| {
        let mut at = 0;
        let mut schedule = String::new();
        for (k, ms) in outages.into_iter().enumerate() {
            at += ms;
            let _ = write!(schedule, "{{ at = '{at} ms', up = {} }}, ", k % 2 == 1);
        }
        if returns {
            let _ = write!(schedule, "{{ at = '{} ms', up = true }}", at + 2000);
        }
        format!(
            "rate = '{rate:.3} Mbit/s'\ndelay = '{delay} ms'\nqueue = {{ limit = '{limit} packets' }}\nloss = {{ all = '{:.2}%' }}\n\
             {more}schedule = [{schedule}]",
            100.0 * loss
        )
    },
    )
}

/// A transfer as it comes.
fn any_flow() -> impl Strategy<Value = String> {
    let names: Vec<&str> = scheduler::REGISTRY.iter().map(|entry| entry.name).collect();
    let laws = ["cc = 'reno'", "cc = 'cubic'", "cc = 'bbr'", "cc = 'newreno'\nprofile = 'classic'"].map(String::from);
    let coupled = cc::REGISTRY.iter().filter(|law| law.is_coupled()).map(|law| format!("coupling = '{}'", law.name));
    let laws: Vec<String> = laws.into_iter().chain(coupled).collect();
    let buffer = prop_oneof![1_000_u64..5_000, 5_000_u64..200_000];
    let select = proptest::sample::select::<String>;
    let scheduler = proptest::sample::select::<&str>(names);
    (1_u64..200_000, buffer, scheduler, select(laws), any::<[bool; 5]>(), 1_u32..4).prop_map(
        |(size, buffer, scheduler, law, [opportunistic, penalise, notice, paced, every], fail_after)| {
            format!(
                "{law}\nsize = '{size} B'\nreceive_buffer = '{buffer} B'\nscheduler = '{scheduler}'\npacing = {paced}\n\
                 ack_every = {}\nmultipath = {{ opportunistic = {opportunistic}, penalise = {penalise}, notice = {notice}, \
                 fail_after = {fail_after} }}",
                1 + u8::from(every)
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// Whatever paths do, the receiver gets every byte once, and the transfer ends.
    #[test]
    fn every_byte_arrives_once(first in any_link(true), others in proptest::collection::vec(any_link(false), 0..3), flow in any_flow(), seed: u64) {
        let links: Vec<String> = std::iter::once(first).chain(others).collect();
        let scenario = paths("3000 s", &links, &flow);
        let size = match &scenario.sessions[..] {
            [session] => session.size.expect("a transfer"),
            _ => unreachable!("one session"),
        };
        let result = cclab_sim::world::run(&scenario, seed).unwrap_or_else(|e| panic!("{e}"));
        let session = result.sessions.row(0);
        prop_assert_eq!(session.delivered_bytes, size);
        prop_assert!(session.fct_s >= session.fct_receiver_s, "{:?}", session);
        prop_assert!(session.buffer_max_bytes <= scenario.sessions[0].receive_buffer as f64);
        // What subflows delivered are the data and their copies; after the end some copies more may come.
        let subflows: u64 = result.flows.delivered_bytes.iter().sum();
        prop_assert!(subflows >= size + session.duplicate_bytes, "{} {:?}", subflows, session);
    }
}
