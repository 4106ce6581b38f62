//! What is measured, against formulas and against the packet rows of the same run.

mod support;

use cclab_algo::{Duration, Time, cc};
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, DelayedAck, Recovery};
use cclab_sim::trace::PacketRows;
use support::*;

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
    let config = Box::new(classic(10));
    flow("transfer", Traffic::Tcp { size: Some(segments * 960), config, cc, cc_params: vec![] })
}

/// Slow start from 10 segments doubles each round: 10 segments take 1 round, 11 and 30 take 2, 31 and 70 take 3, 100
/// take 4, 1000 take 7, after one round for the handshake; the receiver has all half a round earlier.
#[test]
fn completion_times_are_whole_rounds() {
    for (segments, rounds) in [(10, 1), (11, 2), (30, 2), (31, 3), (70, 3), (100, 4), (1000, 7)] {
        let mut scenario = path(5.0, link("there", None, ms(50)), link("back", None, ms(50)));
        scenario.flows = vec![Flow { start: Time::ZERO + ms(70), ..transfer(segments) }];
        let f = &run(&scenario).flows[0];
        let expected = 0.1 * f64::from(1 + rounds);
        assert!((f.fct_s - expected).abs() < 1e-9, "{segments} segments: {} s, not {expected}", f.fct_s);
        assert!((f.fct_receiver_s - (expected - 0.05)).abs() < 1e-9, "{segments} segments: {}", f.fct_receiver_s);
        assert_eq!((f.delivered_bytes, f.segments_sent, f.segments_retransmitted), (segments * 960, segments, 0));
        assert!((f.rtt.mean - 0.1).abs() < 1e-9 && f.start_s == 0.07);
    }
    let mut scenario = path(0.3, link("there", None, ms(50)), link("back", None, ms(50)));
    scenario.flows = vec![transfer(100)];
    let f = &run(&scenario).flows[0];
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
    scenario.record = Record { samples: Sampling::OnChange, packets: true, capture: None };
    scenario
}

/// The summaries recomputed from the rows of single packets.
#[test]
fn summaries_agree_with_the_packet_rows() {
    let result = run(&busy());
    let rows = result.packets.as_ref().expect("asked for");
    let kind = |i: usize| PacketRows::EVENTS[usize::from(rows.event[i])];
    for (index, start) in [(0_u32, 5.0), (1, 8.0)] {
        let f = &result.flows[index as usize];
        assert!((f.measured_s - (20.0 - start)).abs() < 1e-9);
        let data = |i: &usize| rows.flow[*i] == index && rows.payload_bytes[*i] > 0;
        let (mut under_way, mut delays, mut bytes) = (std::collections::VecDeque::new(), vec![], 0);
        let (mut sent, mut again, mut seen) = (0, 0, 0);
        for i in (0..rows.link.len()).filter(data) {
            let measured = rows.time_s[i] >= 5.0;
            match kind(i) {
                "sent" => {
                    under_way.push_back((rows.seq[i], rows.time_s[i]));
                    sent += u64::from(measured);
                    again += u64::from(measured && rows.retransmission[i]);
                }
                "dropped" => assert_eq!(under_way.pop_back().expect("was sent").0, rows.seq[i]),
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
        assert!(seen > 100);
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
    let l = &result.links[0];
    assert!((l.queue_mean_packets - queue).abs() < 1e-9, "{} and {queue}", l.queue_mean_packets);
    assert_eq!(l.queue_max_packets, 17);
    let s = &result.samples;
    let of_flow: Vec<usize> = (0..s.flow.len()).filter(|&i| s.flow[i] == 0).collect();
    let cwnd = mean(&s.time_s, &s.cwnd_bytes, &of_flow) / 960.0;
    let f = &result.flows[0];
    assert!((f.cwnd_mean_segments - cwnd).abs() < 1e-9, "{} and {cwnd}", f.cwnd_mean_segments);
    assert!(f.cwnd_min_segments < cwnd && cwnd < f.cwnd_max_segments);
    // Little's law: packets waiting = rate × time waited (the ends of the interval apart)
    let little = (l.sent as f64 / 15.0) * l.sojourn.mean;
    assert!((little / queue - 1.0).abs() < 0.01, "{little} and {queue}");
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
    assert_eq!(result.flows[0].segments_sent, 0);
    assert!(result.flows[1].delivered_bytes > 100_000);
    let rows = result.packets.expect("asked for");
    let last_new = (0..rows.link.len()).filter(|&i| rows.event[i] == 0 && rows.payload_bytes[i] > 0);
    assert!(last_new.map(|i| rows.time_s[i]).fold(0.0, f64::max) <= 1.0, "no data after the stop");
}
