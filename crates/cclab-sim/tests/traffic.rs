//! Background traffic and on-off sources, against renewal theory, the no-loss rounds of slow start, and each other.

use cclab_sim::app::BackgroundRow;
use cclab_sim::scenario::Scenario;
use cclab_sim::world::{RunResult, run};

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// 250 Mbit/s and 80 ms, nothing recorded, and what follows.
fn dumbbell(seconds: u32, more: &str) -> Scenario {
    scenario(&format!(
        "duration = '{seconds} s'\nnetwork = {{ rate = '250 Mbit/s', rtt = '80 ms' }}\nrecord = {{ samples = 'off' }}\n{more}"
    ))
}

fn result(scenario: &Scenario, seed: u64) -> RunResult {
    run(scenario, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"))
}

fn only(result: &RunResult) -> BackgroundRow<'_> {
    assert_eq!(result.background.len(), 1, "one entry: {:?}", result.background);
    result.background.row(0)
}

/// The load is met within 5 % over ten minutes, with every seed, by users and by arrivals.
#[test]
fn the_load_is_met() {
    for kind in ["web", "poisson"] {
        for (load, seeds) in [(0.1, 4), (0.5, 2)] {
            let s = dumbbell(600, &format!("background = [{{ kind = '{kind}', cc = 'cubic', load = {load} }}]"));
            let carried: Vec<f64> = (1..=seeds).map(|seed| only(&result(&s, seed)).carried_load / load).collect();
            eprintln!("{kind} {load}: {carried:.4?}");
            assert!(carried.iter().all(|x| (x - 1.0).abs() < 0.05), "{kind} {load}: {carried:?}");
        }
    }
}

/// With one connection at a time, with pages that arrive by themselves, and with other RTTs too.
#[test]
fn the_load_is_met_in_other_ways() {
    for more in ["parallel = 1", "arrivals = 'pages'", "rtt = 'aikat'", "parallel = 8, rtt = ['20 ms', '200 ms']"] {
        let s = dumbbell(600, &format!("background = [{{ kind = 'web', cc = 'reno', load = 0.2, {more} }}]"));
        let ratio = only(&result(&s, 5)).carried_load / 0.2;
        eprintln!("{more}: {ratio:.4}");
        assert!((ratio - 1.0).abs() < 0.05, "{more}: {ratio}");
    }
}

/// What is offered is what is carried, to the byte, where nothing is lost and everything ends: SYN, ACK, data, headers.
#[test]
fn every_byte_is_accounted_for() {
    for (profile, sizes) in [("linux", "surge"), ("classic", "surge"), ("linux", "14480 B"), ("classic", "1 B")] {
        let s = scenario(&format!(
            "duration = '60 s'\nrecord = {{ samples = 'off' }}\n\
             network = {{ rate = '10 Gbit/s', rtt = '20 ms', queue = {{ limit = 'unlimited' }} }}\n\
             background = [{{ kind = 'poisson', cc = 'reno', flows_per_second = 100, stop = '40 s', sizes = '{sizes}', \
             profile = '{profile}' }}]"
        ));
        let result = result(&s, 2);
        let row = only(&result);
        assert!(row.connections_completed == row.connections_started && row.connections_started > 3500);
        assert_eq!(row.segments_retransmitted, 0);
        assert_eq!(row.offered_bps, row.carried_bps, "{profile} {sizes}");
        let first = result.links.row(0);
        assert!((first.throughput_bps / row.carried_bps - 1.0).abs() < 1e-12, "the link carries nothing else");
    }
}

/// A sequence of equal transfers far apart: handshake, then rounds that double from ten segments (10 take 1, 11 take 2, 31
/// take 3, 100 take 4, 1000 take 7), then the time to send the last burst; the receiver has all half a round earlier.
#[test]
fn completion_times_are_whole_rounds() {
    for (segments, rounds, last_burst) in [(10, 1, 10), (11, 2, 1), (31, 3, 1), (100, 4, 30), (1000, 7, 370)] {
        let s = scenario(&format!(
            "duration = '60 s'\nnetwork = {{ rate = '10 Gbit/s', rtt = '100 ms', queue = {{ limit = 'unlimited' }} }}\n\
             background = [{{ kind = 'poisson', cc = 'reno', flows_per_second = 0.5, sizes = '{} B', profile = 'classic',\
             initial_window = 10, ack_every = 1 }}]",
            segments * 1460
        ));
        let result = result(&s, 1);
        let row = only(&result);
        assert!(row.connections_completed > 10 && row.segments_retransmitted == 0);
        let wire = 1500.0 * 8.0 / 10e9;
        let expected = 0.1 * f64::from(1 + rounds);
        // SYN, ACKs and the packets of the last burst take their time to be sent
        let (least, most) = (expected, expected + f64::from(last_burst + 2 * rounds + 8) * wire);
        assert!(row.fct.min >= least && row.fct.max <= most, "{segments}: {:?}, {least} to {most}", row.fct);
        let half = row.fct.mean - row.fct_receiver.mean;
        assert!((half - 0.05).abs() < 1e-5, "{segments}: {half}");
        assert_eq!(result.fct.len(), 1, "one size, one bin");
        let bin = result.fct.row(0);
        assert!(bin.size_from_bytes <= segments * 1460 && bin.size_to_bytes > (segments * 1460) as f64);
        assert_eq!(bin.fct, row.fct);
    }
}

/// Every connection has an RTT of its own: its delay shows in the completion time of one segment, two round trips.
#[test]
fn round_trip_times_are_drawn() {
    let s = dumbbell(
        300,
        "background = [{ kind = 'poisson', cc = 'reno', flows_per_second = 100, sizes = '100 B', rtt = 'aikat' }]",
    );
    let result = result(&s, 1);
    let row = only(&result);
    let below = 2.0 * 0.080; // the median, of the part from 10 ms to 1 s a little more
    assert!((row.fct.p50 / below - 1.0).abs() < 0.03, "{:?}", row.fct);
    assert!(row.fct.min > 0.02 && row.fct.min < 0.023 && row.fct.max > 1.7 && row.fct.max < 2.05, "{:?}", row.fct);
}

/// The n-th connection is the same whatever else happens: with another law and a foreground, equal sizes are offered.
#[test]
fn common_random_numbers() {
    let entry = |cc: &str| format!("background = [{{ kind = 'poisson', cc = '{cc}', load = '5%', rtt = 'aikat' }}]");
    let alone = result(&dumbbell(20, &entry("reno")), 3);
    let crowded = format!("flows = [{{ cc = 'cubic' }}]\n{}", entry("cubic"));
    let crowded = result(&dumbbell(20, &crowded), 3);
    let of = |r: &RunResult| (only(r).connections_started, only(r).size_mean_bytes, only(r).offered_bps);
    assert_eq!(of(&alone), of(&crowded));
    assert_ne!(of(&alone), of(&result(&dumbbell(20, &entry("reno")), 4)));
    let again = result(&dumbbell(20, &entry("reno")), 3);
    assert_eq!(again.digest(), alone.digest());
}

/// Both directions are rows of their own with streams of their own; Jain's index is of the flows alone.
#[test]
fn both_directions_beside_flows() {
    let s = dumbbell(
        30,
        "warmup = '5 s'\nflows = [{ cc = 'cubic', count = 2 }]\nbackground = [{ kind = 'web', cc = 'reno', load = '10%', direction = 'both' }]",
    );
    let r = result(&s, 1);
    assert_eq!(r.flows.len(), 2);
    let (a, b) = (r.flows.row(0).goodput_bps, r.flows.row(1).goodput_bps);
    assert!((r.jain - (a + b).powi(2) / (2.0 * (a * a + b * b))).abs() < 1e-12);
    assert_eq!(r.background.rows().map(|b| b.direction).collect::<Vec<_>>(), ["forward", "reverse"]);
    for row in r.background.rows() {
        let known = row.connections_completed + row.connections_failed + row.connections_unfinished;
        assert!(row.connections_started == known && row.connections_started > 500, "{row:?}");
    }
    assert_ne!(r.background.row(0).connections_started, r.background.row(1).connections_started);
    // what the link sent is what flows and background carried, and their ACKs
    let back = r.background.row(1);
    let carried =
        r.background.row(0).carried_bps + back.returned_bps + r.flows.rows().map(|f| f.throughput_bps).sum::<f64>();
    let link = r.links.row(0);
    assert!((carried / link.throughput_bps - 1.0).abs() < 0.002, "{carried} of {}", link.throughput_bps);
    // rows of packets name an entry, not a slot
    let mut s = dumbbell(
        2,
        "flows = [{ cc = 'reno' }]\nbackground = [{ kind = 'poisson', cc = 'reno', load = '10%', direction = 'both' }]",
    );
    s.record.packets = true;
    let rows = result(&s, 1).packets.expect("they are recorded");
    let most = rows.flow.iter().max();
    assert_eq!(most, Some(&2), "one flow and two directions");
}

/// A connection's packets may be under way when it is over: losses, duplicates and reordering mix up nothing.
#[test]
fn troubled_links() {
    let s = scenario(
        "duration = '60 s'\nwarmup = '10 s'\nflows = [{ cc = 'reno' }]\n\
         network = { rate = '20 Mbit/s', rtt = '40 ms', loss = { all = '2%' }, duplicate = '2%', \
         reorder = { probability = '2%', delay = '30 ms' }, queue = { limit = '20 packets' } }\n\
         background = [{ kind = 'web', cc = 'cubic', load = '40%', direction = 'both', rtt = 'aikat', send_jitter = '1 ms' }]",
    );
    for seed in 1..=3 {
        let r = result(&s, seed); // conservation is checked, connection by connection
        for row in r.background.rows() {
            assert!(
                row.segments_retransmitted > 0 && row.packets_lost > 0 && row.connections_completed > 300,
                "{row:?}"
            );
        }
    }
}

/// A link that stops for good: SYNs are given up, nothing is lost from the books.
#[test]
fn nobody_answers() {
    let s = scenario(
        "duration = '400 s'\nbackground = [{ kind = 'poisson', cc = 'reno', flows_per_second = 1, sizes = '10 kB', stop = '100 s' }]\n\
         network = { rate = '10 Mbit/s', rtt = '40 ms', loss = { data = '0%', ack = '100%' } }",
    );
    let r = result(&s, 1);
    let row = only(&r);
    assert!(row.connections_failed == row.connections_started && row.connections_started > 70, "{row:?}");
    assert!(row.fct.mean.is_nan() && r.fct.is_empty());
}

/// Slots are used again: ten times as long takes no more of them, and what is under way stays bounded.
#[test]
fn memory_does_not_grow_with_time() {
    let most = |seconds| {
        let s = dumbbell(seconds, "background = [{ kind = 'poisson', cc = 'cubic', load = '20%' }]");
        only(&result(&s, 1)).connections_most
    };
    let (short, long) = (most(60), most(600));
    assert!(long < 2 * short, "{short} at once in a minute, {long} in ten");
}

/// Mean rate of bursts: 4 Mbit/s for a quarter of the time.
#[test]
fn on_off_sources() {
    for (more, tolerance) in [("", 0.03), (", distribution = 'pareto', shape = 1.9", 0.15)] {
        let s = dumbbell(
            600,
            &format!(
                "flows = [{{ kind = 'onoff', rate = '4 Mbit/s', on = '100 ms', off = '300 ms', count = 10{more} }}]"
            ),
        );
        let r = result(&s, 1);
        let sum: f64 = r.flows.rows().map(|f| f.throughput_bps).sum();
        assert!((sum / 10e6 - 1.0).abs() < tolerance, "{more}: {sum}");
        assert!(r.flows.rows().all(|f| f.cc == "udp" && f.label.starts_with("onoff-")));
    }
}

/// A source that needs 8e12 bursts for a datagram uses up the budget; it does not draw for ever.
#[test]
fn bursts_are_within_the_budget() {
    let source = "{ kind = 'onoff', rate = '1 bit/s', packet_size = '1000 B', on = '1 ns', off = '1 ns' }";
    let s = dumbbell(600, &format!("max_events = 10000\nflows = [{source}]"));
    let error = run(&s, 1).expect_err("no datagram in time");
    assert!(matches!(error, cclab_sim::world::Error::Budget { max_events: 10_000, .. }), "{error}");
}

/// A million users are within the budget too: each comes in an event.
#[test]
fn users_are_within_the_budget() {
    let s = dumbbell(60, "max_events = 10000\nbackground = [{ kind = 'web', cc = 'reno', users = 1000000 }]");
    let error = run(&s, 1).expect_err("more users than events");
    assert!(matches!(error, cclab_sim::world::Error::Budget { time_s: 0.0, .. }), "{error}");
}
