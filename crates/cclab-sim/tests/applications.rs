//! Applications that pause, on a link of their own: what they take is arithmetic.

use crate::support::run;
use cclab_sim::app::ApplicationRow;
use cclab_sim::scenario::{AppliesTo, Loss, LossModel, Scenario};
use cclab_sim::world::RunResult;

/// One flow with these fields on a link of so many Mbit/s and an RTT of so many ms.
fn scenario(rate: u32, rtt: u32, seconds: f64, fields: &str) -> Scenario {
    let text = format!(
        "duration = '{seconds} s'\nrecord = {{ samples = '10 ms' }}\n\
         network = {{ rate = '{rate} Mbit/s', rtt = '{rtt} ms', queue = {{ limit = '2000 packets' }} }}\n\
         [[flows]]\n{fields}"
    );
    Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn alone(rate: u32, rtt: u32, seconds: f64, fields: &str) -> RunResult {
    run(&scenario(rate, rtt, seconds, fields))
}

fn only(result: &RunResult) -> ApplicationRow<'_> {
    assert_eq!(result.applications.len(), 1);
    result.applications.row(0)
}

/// Time of an IP packet of so many bytes on a link of 10 Mbit/s, s.
fn link(bytes: f64) -> f64 {
    bytes * 8.0 / 10e6
}

/// Headers with timestamps.
const HEADERS: f64 = 52.0;

#[track_caller]
fn exactly(is: f64, expected: f64) {
    assert!((is - expected).abs() < 2e-9, "{is} instead of {expected}");
}

/// A write takes half a round trip and its time on the link; the first also the handshake.
#[test]
fn writes_at_a_rate() {
    let result = alone(10, 40, 10.0, "cc = 'reno'\ntraffic = { kind = 'cbr', rate = '1 Mbit/s', write = '1000 B' }");
    let row = only(&result);
    assert_eq!((row.label, row.kind), ("reno-1", "cbr"));
    assert_eq!(row.completed + row.incomplete, 1250, "one in 8 ms");
    assert!(row.incomplete <= 3, "{}", row.incomplete);
    exactly(row.completion.min, 0.020 + link(1000.0 + HEADERS));
    let first = row.completion.max;
    assert!(first > 0.060 && first < 0.062, "{first}");
    assert!((result.flows.goodput_bps[0] / 1e6 - 1.0).abs() < 0.01, "{}", result.flows.goodput_bps[0]);
}

/// A response takes a round trip, the request's time and its own on the link; the first a handshake more, which the client opens.
#[test]
fn requests_and_responses() {
    let fields = "cc = 'reno'\ntraffic = { kind = 'requests', request = '300 B', response = '14480 B', think = '1 s', count = 5 }";
    let result = alone(10, 40, 10.0, fields);
    let (row, flow) = (only(&result), result.flows.row(0));
    assert_eq!((row.kind, row.completed, row.incomplete), ("requests", 5, 0));
    let one = 0.040 + link(300.0 + HEADERS) + 10.0 * link(1500.0);
    exactly(row.completion.min, one);
    let opening = flow.connect_s + link(HEADERS); // an ACK leaves before the first request
    exactly(row.completion.max, opening + one);
    assert!(flow.connect_s > 0.040 && flow.connect_s < 0.041, "SYN and SYN-ACK: {}", flow.connect_s);
    // it is over when the last byte is there: five of them and four thoughts
    exactly(flow.fct_receiver_s, opening + 5.0 * one + 4.0);
    assert_eq!(flow.delivered_bytes, 5 * 14_480);
    assert!(row.stalls.is_nan() && row.startup_s.is_nan());
}

/// Forty segments after a pause of two seconds: with the window of before they are one flight; from the initial window of ten
/// (RFC 5681 §4.1) they are three, 10 + 20 + 10; Linux halves once per RTO, down to the same.
#[test]
fn the_window_restarts_after_an_idle_time() {
    for (fields, rounds) in [
        ("flavour = 'paper'\nslow_start_after_idle = true", 2.0),
        ("slow_start_after_idle = true", 2.0),
        ("slow_start_after_idle = false", 0.0),
    ] {
        let traffic = "traffic = { kind = 'chunks', size = '57920 B', every = '2 s', count = 9 }";
        let result = alone(1000, 100, 30.0, &format!("cc = 'reno'\nack_every = 1\n{fields}\n{traffic}"));
        let row = only(&result);
        assert_eq!((row.completed, row.incomplete), (9, 0));
        let (first, least) = (row.completion.max, row.completion.min);
        assert!((first - 0.350).abs() < 0.002, "handshake and three flights: {first}");
        assert!((least / (0.050 + 0.100 * rounds) - 1.0).abs() < 0.015, "{fields}: {least}");
    }
}

/// In slow start each chunk finds the window of the one before; it stays as it is where a pause is shorter than an RTO.
#[test]
fn a_short_pause_restarts_nothing() {
    let traffic = "traffic = { kind = 'onoff', distribution = 'constant', on = '2 s', off = '150 ms' }";
    let result = alone(10, 100, 20.0, &format!("cc = 'reno'\ninitial_ssthresh = '40 packets'\n{traffic}"));
    let cwnd: Vec<f64> = result.samples.cwnd_bytes.iter().map(|bytes| bytes / 1448.0).collect();
    let smallest = cwnd[100..].iter().copied().fold(f64::INFINITY, f64::min); // from 1 s on
    assert!(smallest >= 40.0, "{smallest}");
}

/// RFC 9438 §5.8: the curve of CUBIC is one of the time in which it sends, W(t) = 0.4 (t - K)³ + W_max with K³ = 0.3 W_max / 0.4.
/// After a loss, pauses of 150 ms (less than an RTO) after each second: t grows by a second for each.
#[test]
fn cubic_does_not_grow_in_a_pause() {
    let pauses = "traffic = { kind = 'onoff', distribution = 'constant', on = '1 s', off = '150 ms' }";
    for flavour in ["linux", "paper"] {
        for (traffic, cycle) in [("", 1.0), (pauses, 1.15)] {
            let fields = format!(
                "cc = {{ name = 'cubic', hystart = 'off' }}\nflavour = '{flavour}'\nrecovery = 'rack'\n\
                 initial_ssthresh = '300 packets'\n{traffic}"
            );
            let mut scenario = scenario(1000, 100, 16.0, &fields);
            let link = scenario.links.iter_mut().find(|link| link.name == "bottleneck").expect("a dumbbell has one");
            let model = LossModel::Named { flow: Some(0), packets: vec![2000] };
            link.loss = vec![Loss { applies_to: AppliesTo::Data, model }];
            let result = run(&scenario);
            assert_eq!(result.flows.packets_lost[0], 1);
            let samples = &result.samples;
            let window = |row: usize| samples.cwnd_bytes[row] / 1448.0;
            let reduced = (1..).find(|row| window(*row) < 0.9 * window(row - 1)).expect("a loss");
            let (began, w_max) = (samples.time_s[reduced], window(reduced - 1));
            let k = cclab_algo::math::cbrt(0.3 * w_max / 0.4);
            let curve = |t: f64| w_max + 0.4 * (t - k).powi(3);
            // time sending up to `at`, which is the end of a second of it
            let cycles = (16.0_f64 / cycle).floor();
            let at = cycle * cycles - (cycle - 1.0);
            let row = samples.time_s.iter().position(|time| *time >= at - 1e-9).unwrap_or(samples.time_s.len() - 1);
            let t = cycles - (began - (began / cycle).floor() * (cycle - 1.0));
            // From a round trip of recovery later to a round trip ahead. Linux leaves out the time from the last segment sent, the RFC
            // that from the last ACK that found the window used: up to a round trip more and less of each pause, which is 150 ms.
            let slack = if traffic.is_empty() { 0.0 } else { 0.1 * t.round() };
            let (low, high) = match flavour {
                "linux" => (curve(t - 0.2 - slack), curve(t + 0.1)),
                _ => (curve(t - 0.2), curve(t + 0.1 + slack)),
            };
            let is = window(row);
            assert!(
                is > low && is < high,
                "{flavour} {traffic}: {is} is not between {low} and {high}; W_max {w_max}, t {t}"
            );
        }
    }
}

/// A recording of 12 Mbit/s on a link of 10: each chunk of 2 s takes 2.486 s, and the player waits the difference every time.
#[test]
fn a_player_stalls() {
    let result = alone(
        10,
        40,
        200.0,
        "cc = 'reno'\nreceive_buffer = '200 kB'\ntraffic = { kind = 'chunks', size = '3 MB', every = '2 s' }",
    );
    let row = only(&result);
    let chunk = link(3e6 * 1500.0 / 1448.0);
    assert!((row.startup_s / chunk - 1.0).abs() < 0.05, "{row:?}");
    let cycles = (200.0 - row.startup_s) / chunk;
    assert!((row.stalls - cycles).abs() <= 1.0, "{row:?}");
    assert!((row.stalled_s / (cycles * (chunk - 2.0)) - 1.0).abs() < 0.03, "{row:?}");
    // one of 8 Mbit/s plays through, and so does the last chunk
    let result =
        alone(10, 40, 60.0, "cc = 'reno'\ntraffic = { kind = 'chunks', size = '2 MB', count = 20, buffer = '4 s' }");
    let row = only(&result);
    assert_eq!((row.stalls, row.stalled_s, row.completed), (0.0, 0.0, 20));
    assert!((row.startup_s - 2.0 - link(2e6 * 1500.0 / 1448.0)).abs() < 0.1, "two chunks: {}", row.startup_s);
    let fct = result.flows.fct_receiver_s[0];
    assert!((fct - 38.0 - link(2e6 * 1500.0 / 1448.0)).abs() < 0.1, "{fct}");
}

/// Half of the time on is half of the link; a burst is there when what it queued has drained.
#[test]
fn on_and_off() {
    let result = alone(
        10,
        40,
        100.0,
        "cc = 'reno'\nreceive_buffer = '100 kB'\ntraffic = { kind = 'onoff', distribution = 'constant', on = '1 s', off = '1 s' }",
    );
    let (row, goodput) = (only(&result), result.flows.goodput_bps[0] / 1e6);
    assert_eq!((row.kind, row.completed), ("onoff", 50));
    assert!((goodput / (10.0 * 1448.0 / 1500.0 / 2.0) - 1.0).abs() < 0.05, "{goodput}");
    // what is in flight at the end of a burst is a window: 100 kB, at most
    let drained = 1.0 + 0.020 + link(100e3 * 1500.0 / 1448.0);
    assert!(row.completion.min > 1.020 && row.completion.max < drained, "{row:?}");
    // writes at 4 Mbit/s, 30 % of the time: renewal theory
    let writes = "traffic = { kind = 'onoff', rate = '4 Mbit/s', on = '300 ms', off = '700 ms' }";
    let result = alone(10, 40, 1000.0, &format!("cc = 'reno'\n{writes}"));
    // 1000 cycles: the standard deviation of the mean is 3.1 %, of which three and a half are allowed
    let goodput = result.flows.goodput_bps[0] / 1e6;
    assert!((goodput / 1.2 - 1.0).abs() < 0.11, "{goodput}");
}
