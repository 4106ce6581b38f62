//! What is measured, against formulas and against the packet rows of the same run.

use crate::support::*;
use cclab_algo::{Duration, Rate, Time, cc};
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, DelayedAck, Recovery};
use cclab_sim::world::RunResult;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Classic NewReno, an ACK for every packet, 1000 bytes on the wire.
fn classic(initial_window: u32) -> Config {
    let config = Config::classic(960, Recovery::NewReno);
    let delayed_ack = DelayedAck { every: 1, ..config.delayed_ack };
    Config { initial_window, delayed_ack, ..config }
}

fn transfer(segments: u64) -> Flow {
    let cc = cc::find("reno").expect("registered");
    let config = classic(10).into();
    flow("transfer", Traffic::Tcp { size: Some(segments * 960), application: None, config, cc, cc_params: vec![] })
}

/// Slow start from 10 segments doubles each round: 10 segments take 1 round, 11 and 30 take 2, 31 and 70 take 3, 100
/// take 4, 1000 take 7, after one round for the handshake; the receiver has all half a round earlier.
#[test]
fn completion_times_are_whole_rounds() {
    for (segments, rounds) in [(10, 1), (11, 2), (30, 2), (31, 3), (70, 3), (100, 4), (1000, 7)] {
        let mut scenario = path(5.0, link("there", None, ms(50)), link("back", None, ms(50)));
        scenario.flows = vec![Flow { start: Time::ZERO + ms(70), ..transfer(segments) }];
        let result = run(&scenario);
        let f = result.flows.row(0);
        let expected = 0.1 * f64::from(1 + rounds);
        assert!((f.fct_s - expected).abs() < 1e-9, "{segments} segments: {} s, not {expected}", f.fct_s);
        assert!((f.connect_s - 0.1).abs() < 1e-9, "a round: {}", f.connect_s);
        assert!((f.fct_receiver_s - (expected - 0.05)).abs() < 1e-9, "{segments} segments: {}", f.fct_receiver_s);
        assert_eq!((f.delivered_bytes, f.segments_sent, f.segments_retransmitted), (segments * 960, segments, 0));
        assert!((f.rtt.mean - 0.1).abs() < 1e-9 && f.start_s == 0.07);
        assert!((f.measured_s - expected).abs() < 1e-9, "measured until the last byte is acknowledged");
        let goodput = (segments * 960 * 8) as f64 / expected;
        assert!((f.goodput_bps / goodput - 1.0).abs() < 1e-9, "{segments} segments: {}", f.goodput_bps);
    }
    let mut scenario = path(0.3, link("there", None, ms(50)), link("back", None, ms(50)));
    scenario.flows = vec![transfer(100)];
    let result = run(&scenario);
    let f = result.flows.row(0);
    assert!(f.fct_s.is_nan() && f.fct_receiver_s.is_nan(), "a transfer that did not end has no completion time");
}

/// A NewReno flow over 1.5 Mbit/s and a constant-rate flow across it, 5 s of 20 left out.
fn busy() -> Scenario {
    let queue = Queue::DropTail { limit: Limit::Packets(17) };
    let there = Link { queue, ..link("there", Some(1_500_000), ms(40)) };
    let mut scenario = path(20.0, there, link("back", Some(1_500_000), ms(40)));
    scenario.warmup = Duration::from_secs(5);
    let late = Flow { start: Time::ZERO + ms(8000), stop: Some(Time::ZERO + ms(12_000)), ..cbr("cbr", 300_000, 600) };
    let jittered = Flow { send_jitter: ms(1), ..bulk("bulk", "newreno", classic(2)) };
    scenario.flows = vec![jittered, late];
    scenario.record = Record { samples: Sampling::OnChange, packets: true, frames: false, capture: None };
    scenario
}

/// The summaries recomputed from the rows of single packets.
#[test]
fn summaries_agree_with_the_packet_rows() {
    let result = run(&busy());
    let rows = result.packets.as_ref().expect("asked for");
    let kind = |i: usize| &rows.event[i];
    for (index, start, end) in [(0_u32, 5.0, 20.0), (1, 8.0, 12.0)] {
        let f = result.flows.row(index as usize);
        assert!((f.measured_s - (end - start)).abs() < 1e-9);
        let data = |i: &usize| rows.flow[*i] == index && rows.payload_bytes[*i] > 0;
        let (mut under_way, mut delays, mut bytes) = (std::collections::VecDeque::new(), vec![], 0);
        let (mut sent, mut again, mut seen, mut lost) = (0, 0, 0, 0);
        for i in (0..rows.link.len()).filter(data) {
            let measured = (5.0..end).contains(&rows.time_s[i]);
            match kind(i) {
                "sent" => {
                    under_way.push_back((rows.seq[i], rows.time_s[i]));
                    sent += u64::from(measured);
                    again += u64::from(measured && rows.retransmission[i]);
                }
                "dropped" => {
                    assert_eq!(under_way.pop_back().expect("was sent").0, rows.seq[i]);
                    lost += u64::from(measured);
                }
                "received" => {
                    let (seq, at) = under_way.pop_front().expect("was sent");
                    assert_eq!(seq, rows.seq[i]);
                    seen += 1;
                    if measured {
                        delays.push(rows.time_s[i] - at);
                        bytes += rows.size_bytes[i];
                    }
                }
                _ => {}
            }
        }
        assert!(seen > 100 && lost > 0);
        assert_eq!((f.packets_received, f.packets_lost), (delays.len() as u64, lost));
        let n = delays.len() as f64;
        let mean = delays.iter().sum::<f64>() / n;
        let variance = delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n;
        let differences = delays.windows(2).map(|w| (w[1] - w[0]).abs()).sum::<f64>() / (n - 1.0);
        assert_eq!(f.owd.count, delays.len() as u64);
        assert!((f.owd.mean - mean).abs() < 1e-9, "{} and {mean}", f.owd.mean);
        assert!((f.owd.variance - variance).abs() < 1e-9 && (f.owd_mean_abs_diff_s - differences).abs() < 1e-9);
        assert!((f.throughput_bps - f64::from(bytes) * 8.0 / f.measured_s).abs() < 1e-6);
        // processing delays a packet between leaving the endpoint, which counts it, and leaving the host
        assert!(f.segments_sent.abs_diff(sent) <= 2, "{} and {sent}", f.segments_sent);
        assert!(f.segments_retransmitted.abs_diff(again) <= 1);
    }
}

/// The queue's mean and maximum recomputed from its changes; the window's mean from its samples.
#[test]
fn time_means_agree_with_samples_on_change() {
    let result = run(&busy());
    let mean = |time: &[f64], value: &[f64], picked: &[usize]| {
        let (mut area, mut last, mut since) = (0.0, 0.0, 5.0);
        for &i in picked.iter() {
            if time[i] > 5.0 {
                area += last * (time[i] - since);
                since = time[i];
            }
            last = value[i];
        }
        (area + last * (20.0 - since)) / 15.0
    };
    let s = &result.link_samples;
    let of_link: Vec<usize> = (0..s.link.len()).filter(|&i| s.link[i] == 0).collect();
    let queue = mean(&s.time_s, &s.queue_packets, &of_link);
    let l = result.links.row(0);
    assert!((l.queue_mean_packets - queue).abs() < 1e-9, "{} and {queue}", l.queue_mean_packets);
    assert_eq!(l.queue_max_packets, 17);
    let s = &result.samples;
    let of_flow: Vec<usize> = (0..s.flow.len()).filter(|&i| s.flow[i] == 0).collect();
    let cwnd = mean(&s.time_s, &s.cwnd_bytes, &of_flow) / 960.0;
    let f = result.flows.row(0);
    assert!((f.cwnd_mean_segments - cwnd).abs() < 1e-9, "{} and {cwnd}", f.cwnd_mean_segments);
    assert!(f.cwnd_min_segments < cwnd && cwnd < f.cwnd_max_segments);
    // Little's law: packets waiting = rate × time waited (the ends of the interval apart)
    let little = (l.sent as f64 / 15.0) * l.sojourn.mean;
    assert!((little / queue - 1.0).abs() < 0.01, "{little} and {queue}");
}

/// A lossy path that is out from 2 to 4 s and from 12 to 14 s, and a flow for which that means timeouts.
fn troubled() -> Scenario {
    let change = |s: u64, rate| Change { at: Time::ZERO + ms(s * 1000), rate: Some(Rate(rate)), delay: None, up: None };
    let schedule = [(2, 0), (4, 1_500_000), (12, 0), (14, 1_500_000)].map(|(at, rate)| change(at, rate)).to_vec();
    let loss = vec![Loss { applies_to: AppliesTo::Data, model: LossModel::Bernoulli { p: 0.01 } }];
    let there = Link { schedule, loss, loss_place: LossPlace::AfterLink, ..link("there", Some(1_500_000), ms(20)) };
    let mut scenario = path(20.0, there, link("back", None, ms(20)));
    scenario.flows = vec![bulk("bulk", "newreno", classic(2)), cbr("cbr", 300_000, 600)];
    scenario
}

/// What is counted after a warm-up of 5 s, and what is counted in a run of 5 s, is what is counted in all.
#[test]
fn the_warm_up_is_left_out_of_every_count() {
    let run_of = |seconds, warmup| {
        let duration = Duration::from_secs(seconds);
        run(&Scenario { duration, warmup: Duration::from_secs(warmup), ..troubled() })
    };
    let (all, first, rest) = (run_of(20, 0), run_of(5, 0), run_of(20, 5));
    for (index, tcp) in [(0, true), (1, false)] {
        let counts = |result: &RunResult| {
            let f = result.flows.row(index);
            let both = [f.segments_sent, f.packets_received, f.packets_lost, f.owd.count];
            let of_tcp = [f.segments_retransmitted, f.timeouts, f.recoveries, f.rtt.count];
            if tcp { [both, of_tcp].concat() } else { both.to_vec() }
        };
        let (all, first, rest) = (counts(&all), counts(&first), counts(&rest));
        assert!(first.iter().chain(&rest).all(|&n| n > 0), "{first:?} {rest:?}");
        assert_eq!(all, first.iter().zip(&rest).map(|(a, b)| a + b).collect::<Vec<_>>());
    }
    // and each lost packet is a flow's
    let lost: u64 = rest.flows.rows().map(|f| f.packets_lost).sum();
    assert_eq!(lost, rest.links.row(0).drops + rest.links.row(0).losses);
}

/// Once a flow has stopped or has all acknowledged, nothing of it depends on how much longer the run lasts.
#[test]
fn a_flow_that_is_over_is_measured_no_more() {
    let run_of = |seconds| {
        let there =
            Link { queue: Queue::DropTail { limit: Limit::Packets(17) }, ..link("there", Some(1_500_000), ms(20)) };
        let mut scenario = path(seconds, there, link("back", None, ms(20)));
        scenario.warmup = ms(500);
        let stop = Some(Time::ZERO + ms(4000));
        let stopped = |flow| Flow { stop, ..flow };
        scenario.flows =
            vec![transfer(300), stopped(bulk("bulk", "reno", classic(2))), stopped(cbr("cbr", 200_000, 600))];
        scenario.record.samples = Sampling::Every(ms(100));
        run(&scenario)
    };
    let (short, long) = (run_of(10.0), run_of(100.0));
    assert_eq!(format!("{:?}", short.flows), format!("{:?}", long.flows));
    assert_eq!(format!("{:?}", short.samples), format!("{:?}", long.samples), "nor is it sampled");
    assert_eq!(short.jain, long.jain);
    let [transfer, bulk, cbr] = [0, 1, 2].map(|i| long.flows.row(i));
    assert!((transfer.measured_s + 0.5 - transfer.fct_s).abs() < 1e-9 && transfer.fct_s < 10.0);
    assert_eq!((bulk.measured_s, cbr.measured_s), (3.5, 3.5));
    let last = |flow| long.samples.flow.iter().rposition(|&f| f == flow).expect("is sampled");
    assert_eq!(long.samples.delivered_bytes[last(0)], 300.0 * 960.0, "the last sample shows the end");
    assert!((0.0..=0.1).contains(&(long.samples.time_s[last(0)] - transfer.fct_s)));
}

/// A flow that was over before the warm-up has no rates, and no part in Jain's index.
#[test]
fn a_flow_that_is_over_before_the_warm_up() {
    let mut scenario = path(20.0, link("there", Some(1_500_000), ms(20)), link("back", None, ms(20)));
    scenario.warmup = Duration::from_secs(10);
    let early = Flow { stop: Some(Time::ZERO + ms(1000)), ..bulk("early", "reno", classic(2)) };
    scenario.flows = vec![transfer(10), early, bulk("bulk", "reno", classic(2))];
    let result = run(&scenario);
    for f in result.flows.rows().take(2) {
        assert_eq!((f.measured_s, f.segments_sent, f.packets_received), (0.0, 0, 0), "{}", f.label);
        assert!(f.goodput_bps.is_nan() && f.throughput_bps.is_nan() && f.cwnd_mean_segments.is_nan());
    }
    assert!((result.flows.row(0).fct_s - 0.1).abs() < 0.1 && result.flows.row(0).delivered_bytes == 9600);
    assert_eq!(result.jain, 1.0, "one flow alone");
}

/// Whoever stops before starting never sends; who stops half-way is done soon after.
#[test]
fn stops() {
    let mut scenario = path(10.0, link("there", Some(1_500_000), ms(10)), link("back", None, ms(10)));
    let second = Time::ZERO + ms(1000);
    let never = Flow { start: Time(2_000_000_000), stop: Some(second), ..bulk("never", "reno", classic(2)) };
    scenario.flows = vec![never, Flow { stop: Some(second), ..bulk("half", "reno", classic(2)) }];
    scenario.record.packets = true;
    let result = run(&scenario);
    assert_eq!(result.flows.row(0).segments_sent, 0);
    assert!(result.flows.row(1).delivered_bytes > 100_000);
    let rows = result.packets.expect("asked for");
    let last_new = (0..rows.link.len()).filter(|&i| &rows.event[i] == "sent" && rows.payload_bytes[i] > 0);
    assert!(last_new.map(|i| rows.time_s[i]).fold(0.0, f64::max) <= 1.0, "no data after the stop");
}
