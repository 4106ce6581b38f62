//! How fast the simulator is: data packets over the bottleneck per CPU second.
//!
//! `cargo run --release --example speed [CASE]`, a case or the beginning of several. CPU time is that of this process on Linux, wall time elsewhere.

#[path = "../tests/support/mod.rs"]
mod support;

use cclab_algo::Duration;
use cclab_sim::net::StationRow;
use cclab_sim::net::medium::config::Routing;
use cclab_sim::net::medium::routing::direct;
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, Recovery};
use support::*;

/// A dumbbell whose flows have the base RTT: the bottleneck there and back is all that queues.
fn dumbbell(law: &str, count: u32, rate: u64, rtt_ms: u64, seconds: f64, ssthresh: bool) -> Scenario {
    let bdp = rate * rtt_ms / 8000;
    let one_way = Duration::from_millis(rtt_ms) / 2;
    let queue = Queue::DropTail { limit: Limit::Packets(bdp / 1500) };
    let bottleneck = Link { queue, ..link("bottleneck", Some(rate), one_way) };
    let mut scenario = path(seconds, bottleneck, link("bottleneck-reverse", Some(rate), one_way));
    scenario.flows = (0..count)
        .map(|i| {
            let mut config = Config::linux(1448);
            config.initial_ssthresh = ssthresh.then_some(bdp / u64::from(count));
            let start_jitter = Duration::from_millis(if count > 1 { 1000 } else { 0 });
            Flow { start_jitter, ..bulk(&format!("{law}-{}", i + 1), law, config) }
        })
        .collect();
    scenario
}

/// Datagrams without feedback, a little more than the bottleneck takes.
fn udp() -> Scenario {
    let mut scenario = dumbbell("reno", 0, 800_000_000, 100, 60.0, false);
    scenario.flows = vec![cbr("cbr", 810_000_000, 1500)];
    scenario
}

/// One connection over two paths that share the bottleneck: its packets are those of both.
fn two_paths() -> Scenario {
    let text = "duration = '10 s'\nrecord = { samples = 'off' }\n\
                network = { rate = '1 Gbit/s', rtt = '50 ms', queue = { limit = '1 BDP' } }\n\
                flows = [{ cc = 'cubic', paths = [{ rtt = '50 ms' }, { rtt = '80 ms' }] }]";
    Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"))
}

/// One flow at 250 Mbit/s beside web users that come to 10 % of it.
fn busy(duration: &str) -> Scenario {
    let text = format!(
        "duration = '{duration}'\nnetwork = {{ rate = '250 Mbit/s', rtt = '80 ms' }}\nrecord = {{ samples = 'off' }}\n\
         flows = [{{ cc = 'cubic' }}]\nbackground = [{{ kind = 'web', cc = 'cubic', load = '10%', rtt = 'aikat' }}]"
    );
    Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}"))
}

/// NewReno with a window of 32 over a chain of 8 hops of 802.11.
fn chain_of_stations() -> Scenario {
    let mut config = Config { receive_buffer: 32 * 1460, ..Config::classic(1460, Recovery::NewReno) };
    config.delayed_ack.every = 1;
    radio(500.0, &chain(8, 250.0), mac(), vec![(bulk("newreno", "newreno", config), 0, 8)])
}

/// Cells of 20 stations in carrier-sense range on average, of which every second one sends to the next: the cost of a transmission
/// does not depend on how many stations there are.
fn field_of_stations(count: u32) -> Scenario {
    let mut rng = cclab_algo::rng::Stream::new(1, "places");
    let side = (f64::from(count) / 20.0 * std::f64::consts::PI).sqrt() * 550.0;
    let pair = |_| {
        let (x, y) = (rng.uniform() * side, rng.uniform() * side);
        [at(x, y), at(x + 100.0, y)]
    };
    let places: Vec<_> = (0..count / 2).flat_map(pair).collect();
    let flow = |i: u32| (cbr(&format!("cbr-{i}"), 40_000, 512), i, i + 1);
    let mut scenario = radio(20_000.0 / f64::from(count), &places, mac(), (0..count).step_by(2).map(flow).collect());
    scenario.media[0].routing = Routing::new(&direct::ENTRY);
    scenario
}

/// 50 stations that run about, and ten flows of datagrams.
fn running_about() -> Scenario {
    let text = "duration = '500 s'\nrecord = { samples = 'off' }\n[network]\ntopology = 'random'\nnodes = 50\n\
                area = ['1500 m', '300 m']\n[network.wireless]\nprofile = 'ns2-2M'\nrouting = 'aodv'\n\
                mobility = { model = 'waypoint', speed = ['1 m/s', '20 m/s'], pause = '0 s', start = 'uniform' }\n\
                [[flows]]\nkind = 'cbr'\nrate = '16.384 kbit/s'\npacket_size = '512 B'\ncount = 10";
    Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"))
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn cpu_seconds() -> f64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").ok();
    let on_cpu = schedstat.and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    on_cpu.map_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64()), |ns| ns * 1e-9)
}

/// Peak resident memory of this process so far, MB (Linux).
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
}

/// Makes the scenario of a case, only when that is asked for.
type Build = fn() -> Scenario;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let cases: [(&str, Build); 16] = [
        ("udp-800M", udp),
        ("single-800M-reno", || dumbbell("reno", 1, 800_000_000, 100, 60.0, true)),
        ("single-800M-reno-no-ssthresh", || dumbbell("reno", 1, 800_000_000, 100, 60.0, false)),
        ("single-800M-cubic", || dumbbell("cubic", 1, 800_000_000, 100, 60.0, true)),
        ("single-800M-cubic-no-ssthresh", || dumbbell("cubic", 1, 800_000_000, 100, 60.0, false)),
        ("flows-10", || dumbbell("cubic", 10, 1_000_000_000, 50, 10.0, true)),
        ("flows-100", || dumbbell("cubic", 100, 1_000_000_000, 50, 10.0, true)),
        ("two-paths", two_paths),
        ("flows-1000", || dumbbell("cubic", 1000, 1_000_000_000, 50, 10.0, true)),
        ("background-web-10%", || busy("600 s")),
        ("background-web-10%-one-minute", || busy("60 s")),
        ("adhoc-chain-8", chain_of_stations),
        ("adhoc-random-50", running_about),
        ("adhoc-field-100", || field_of_stations(100)),
        ("adhoc-field-1000", || field_of_stations(1000)),
        ("adhoc-field-10000", || field_of_stations(10_000)),
    ];
    println!(
        "{:30} {:>9} {:>9} {:>7} {:>12} {:>11} {:>8} {:>5}",
        "case", "packets", "events", "cpu s", "packets/s", "events/s", "peak MB", "util"
    );
    let only = cases.iter().any(|(name, _)| *name == wanted);
    for (name, scenario) in
        cases.iter().filter(|(name, _)| if only { *name == wanted } else { name.starts_with(&wanted) })
    {
        let scenario = scenario();
        let before = cpu_seconds();
        let result = run(&scenario);
        let cpu = cpu_seconds() - before;
        let (packets, events) = (result.engine.data_packets, result.engine.events);
        println!(
            "{name:30} {packets:9} {events:9} {cpu:7.3} {:12.0} {:11.0} {:8.1} {:5.3}",
            packets as f64 / cpu,
            events as f64 / cpu,
            peak_mb(),
            result.links.row(0).utilisation
        );
        let sent: u64 = result.stations.rows().map(|s| s.rts + s.cts + s.data + s.broadcasts + s.acks).sum();
        if sent > 0 {
            let heard = |s: StationRow| s.received + s.overheard + s.collided + s.deaf + s.sensed;
            let heard = result.stations.rows().map(heard).sum::<u64>() as f64 / sent as f64;
            println!(
                "{:30} {sent:9} transmissions, {:.0} per CPU second, heard by {heard:.1} each",
                "",
                sent as f64 / cpu
            );
        }
    }
}
