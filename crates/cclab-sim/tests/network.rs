//! Links and queues against theory: constant bit rate over UDP, so that nothing depends on TCP.

use crate::support::*;
use cclab_algo::{Duration, Rate, Time};
use cclab_sim::measure::Packets;
use cclab_sim::net::{self, Outcome, Reason};
use cclab_sim::scenario::*;
use cclab_sim::tcp::Config;
use cclab_sim::wire::{Body, Packet};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn limited(limit: Limit, link: Link) -> Link {
    Link { queue: Queue::DropTail { limit }, ..link }
}
fn free() -> Link {
    link("back", None, Duration::ZERO)
}
/// Times (ms), flows and packet numbers of one kind of event at a link (`u32::MAX`: at a host).
fn rows(rows: &Packets, link: u32, event: &str) -> Vec<(f64, u32, u64)> {
    (0..rows.len())
        .filter(|&i| &rows.event[i] == event && rows.link[i] == link)
        .map(|i| ((rows.time_s[i] * 1e9).round() / 1e6, rows.flow[i], rows.seq[i]))
        .collect()
}
const HOST: u32 = u32::MAX;

/// Five packets at once, limit 2: one in service, two waiting, two dropped.
#[test]
fn droptail_holds_its_limit_and_one_in_service() {
    let mut scenario = path(1.0, limited(Limit::Packets(2), link("l", Some(1_000_000), ms(1))), free());
    scenario.flows = (0..5).map(|i| Flow { stop: Some(Time(1)), ..cbr(&i.to_string(), 1, 1000) }).collect();
    scenario.record.packets = true;
    let result = run(&scenario);
    let l = result.links.row(0);
    assert_eq!((l.arrived, l.sent, l.drops, l.queue_max_packets), (5, 3, 2, 2));
    let packets = result.packets.unwrap();
    assert_eq!(rows(&packets, 0, "dropped"), [(0.0, 3, 0), (0.0, 4, 0)]);
    assert_eq!(rows(&packets, HOST, "received"), [(9.0, 0, 0), (17.0, 1, 0), (25.0, 2, 0)]);
    // waits of 0, 8 and 16 ms; their sum over the second is the mean queue
    assert!((l.queue_mean_packets - 0.024).abs() < 1e-12, "{}", l.queue_mean_packets);
    assert!((l.sojourn.mean - 0.008).abs() < 1e-12 && (l.sojourn.max - 0.016).abs() < 1e-12);
}

/// Limit 3000 bytes with 1500, 1500 waiting: 40 bytes more are dropped.
#[test]
fn droptail_in_bytes() {
    let mut scenario = path(1.0, limited(Limit::Bytes(3000), link("l", Some(1_000_000), ms(1))), free());
    let sizes = [1000, 1500, 1500, 40];
    let once = |(i, &size): (usize, &u32)| Flow { stop: Some(Time(1)), ..cbr(&i.to_string(), 1, size) };
    scenario.flows = sizes.iter().enumerate().map(once).collect();
    scenario.record.packets = true;
    let result = run(&scenario);
    assert_eq!(rows(result.packets.as_ref().unwrap(), 0, "dropped"), [(0.0, 3, 0)]);
    assert_eq!((result.links.row(0).sent, result.links.row(0).queue_max_packets), (3, 2));
}

/// An overloaded link sends exactly at its rate and drops the rest; the delay is that of the full queue.
#[test]
fn overload_sends_at_the_rate_exactly() {
    for rate in [1_500_000, 7_777_777] {
        let mut scenario = path(100.0, limited(Limit::Packets(17), link("l", Some(rate), ms(40))), free());
        scenario.warmup = Duration::from_secs(10);
        scenario.flows = vec![cbr("cbr", 10_000_000, 1000)];
        let result = run(&scenario);
        let (l, f) = (result.links.row(0), result.flows.row(0));
        assert!((l.utilisation - 1.0).abs() < 1e-9, "{}", l.utilisation);
        assert!((f.throughput_bps - rate as f64).abs() <= 8000.0 / 90.0 + 1e-6, "{} bit/s", f.throughput_bps);
        assert!((f.goodput_bps / f.throughput_bps - 0.972).abs() < 1e-9);
        assert!((l.drops as f64 - (10e6 - rate as f64) * 90.0 / 8000.0).abs() <= 2.0, "{} drops", l.drops);
        assert_eq!(l.queue_max_packets, 17);
        // a packet finds 16 or 17 waiting and waits until 17 have been served: 17 to 18 service times and its own
        let service = 8000.0 / rate as f64;
        assert!(f.owd.min > 0.04 + 17.0 * service - 1e-6 && f.owd.max < 0.04 + 18.0 * service + 1e-6);
        assert!(l.queue_mean_packets > 16.0 && l.queue_mean_packets <= 17.0, "{}", l.queue_mean_packets);
    }
}

/// M/D/1 is not at hand, but D/D/1 is: below the rate nothing ever waits and the delay is constant.
#[test]
fn below_the_rate_nothing_waits() {
    let mut scenario = path(10.0, link("l", Some(10_000_000), ms(5)), free());
    scenario.flows = vec![cbr("cbr", 5_000_000, 1250)];
    let result = run(&scenario);
    let (l, f) = (result.links.row(0), result.flows.row(0));
    assert_eq!((l.queue_max_packets, l.sojourn.max), (0, 0.0));
    assert!((f.owd.mean - 0.006).abs() < 1e-12 && f.owd.variance == 0.0 && f.owd_mean_abs_diff_s == 0.0);
    assert!((l.utilisation - 0.5).abs() < 1e-9, "{}", l.utilisation);
    // one packet each 2 ms from t = 0, received from t = 6 ms on, in [0, 10 s)
    assert_eq!((f.segments_sent, f.delivered_bytes), (5000, 4997 * 1222));
    assert!(result.engine.events < 10_010, "two events a packet: {}", result.engine.events);
}

/// Framing takes time on the link and no room in the measured throughput.
#[test]
fn overhead_counts_in_serialisation_only() {
    let mut scenario = path(10.0, Link { overhead: 250, ..link("l", Some(10_000_000), ms(1)) }, free());
    scenario.flows = vec![cbr("cbr", 20_000_000, 1000)];
    let result = run(&scenario);
    let l = result.links.row(0);
    assert!((l.utilisation - 1.0).abs() < 1e-9 && (l.throughput_bps - 8e6).abs() < 1000.0, "{}", l.throughput_bps);
}

/// Rate 8 Mbit/s, nothing from 2 s to 5 s, then 4 Mbit/s: the integral decides what is through.
#[test]
fn a_rate_schedule_with_an_outage() {
    let change =
        |s, rate| Change { at: Time::ZERO + Duration::from_secs(s), rate: Some(Rate(rate)), delay: None, up: None };
    let schedule = vec![change(2, 0), change(5, 4_000_000)];
    let mut scenario = path(10.0, Link { schedule, ..link("l", Some(8_000_000), ms(1)) }, free());
    scenario.flows = vec![cbr("cbr", 16_000_000, 1000)];
    let result = run(&scenario);
    assert!((result.links.row(0).utilisation - 1.0).abs() < 1e-9, "{}", result.links.row(0).utilisation);
    // 2 s at 1000 packets/s and 5 s at 500, the last ms on its way
    assert!(
        result.links.row(0).sent.abs_diff(4500) <= 1
            && result.flows.row(0).delivered_bytes.abs_diff(4500 * 972) <= 2 * 972
    );
    let mut dead = scenario.clone();
    dead.links[0].schedule.pop();
    assert!(run(&dead).links.row(0).sent.abs_diff(2000) <= 1, "a link that never comes back holds its packets");
}

/// A delay that falls from 50 to 10 ms at 1 s: the packets behind may not overtake.
#[test]
fn a_delay_schedule_keeps_the_order() {
    let schedule = vec![Change { at: Time::ZERO + Duration::from_secs(1), rate: None, delay: Some(ms(10)), up: None }];
    let mut scenario = path(2.0, Link { schedule, ..link("l", Some(10_000_000), ms(50)) }, free());
    scenario.flows = vec![cbr("cbr", 1_000_000, 1000)];
    scenario.record.packets = true;
    let result = run(&scenario);
    let received = rows(result.packets.as_ref().unwrap(), HOST, "received");
    assert!(received.windows(2).all(|w| w[0].2 + 1 == w[1].2 && w[0].0 <= w[1].0), "first in, first out");
    assert!((result.flows.row(0).owd.min - 0.0108).abs() < 1e-9 && (result.flows.row(0).owd.max - 0.0508).abs() < 1e-9);
}

/// Uniform jitter in [0, 10 ms] at gaps of 20 ms: mean 5 ms, sd 2.887 ms; the mean of 5000 has sd 0.0408 ms, five of
/// them: false alarm 6e-7.
#[test]
fn jitter_has_its_distribution_and_keeps_the_order() {
    let jitter = |jitter| Link { jitter: Some(jitter), ..link("l", None, ms(50)) };
    let mut scenario = path(100.05, jitter(Jitter::Uniform { max: ms(10) }), free());
    scenario.flows = vec![cbr("cbr", 400_000, 1000)];
    let owd = run(&scenario).flows.row(0).owd;
    assert!((owd.mean - 0.055).abs() < 0.000_204, "{}", owd.mean);
    assert!((owd.variance.sqrt() - 0.002_887).abs() < 0.000_1 && owd.max <= 0.06);
    // exponential with mean 40 ms at gaps of 20 ms would overtake if it could
    scenario.links[0] = jitter(Jitter::Exponential { mean: ms(40) });
    scenario.record.packets = true;
    let result = run(&scenario);
    let received = rows(result.packets.as_ref().unwrap(), HOST, "received");
    assert!(received.windows(2).all(|w| w[0].2 < w[1].2), "first in, first out");
    assert!(result.flows.row(0).owd.mean > 0.09, "{}", result.flows.row(0).owd.mean);
    // with mean 1 ms at gaps of 20 ms one in e^20 would overtake, so delays are the draws: mean and sd 1 ms, the mean
    // of 5000 has sd 0.0141 ms; the variance of the exponential's sample variance is 8 mean^4 / n
    scenario.links[0] = jitter(Jitter::Exponential { mean: ms(1) });
    let owd = run(&scenario).flows.row(0).owd;
    assert!((owd.mean - 0.051).abs() < 5.0 * 0.000_014_1, "{}", owd.mean);
    assert!((owd.variance / 1e-6 - 1.0).abs() < 5.0 * 0.04, "{}", owd.variance);
}

/// Held back by 25 ms at gaps of 10 ms: overtaken by the next two packets, except by those held back themselves.
#[test]
fn reordering_is_real() {
    let reorder = Some(Reorder { probability: 0.1, delay: ms(25) });
    let mut scenario = path(100.05, Link { reorder, ..link("l", Some(10_000_000), ms(50)) }, free());
    scenario.flows = vec![cbr("cbr", 800_000, 1000)];
    scenario.record.packets = true;
    let result = run(&scenario);
    let received: Vec<u64> =
        rows(result.packets.as_ref().unwrap(), HOST, "received").iter().map(|&(_, _, number)| number).collect();
    let overtakers = |i: usize| received[i.saturating_sub(5)..i].iter().filter(|&&n| n > received[i]).count();
    let counts: Vec<usize> = (0..received.len()).map(overtakers).collect();
    assert!(counts.iter().all(|&n| n <= 2));
    // late are those not followed by two held back, 0.1 (1 - 0.01): of 10^4 draws 990 with sd 30, five of them
    let late = counts.iter().filter(|&&n| n > 0).count();
    assert!(late.abs_diff(990) < 150, "{late} of 10000");
    // of these 0.81 / 0.99 by both: sd 0.0122 of a share of 990, five of them
    let both = counts.iter().filter(|&&n| n == 2).count() as f64 / late as f64;
    assert!((both - 0.818).abs() < 0.061, "{both}");
    assert_eq!(result.links.row(0).sent, 10_005);
}

/// p = 0.05 of 10^4: sd 21.8, five of them. They arrive twice; the application gets them once.
#[test]
fn duplicates_arrive_twice_and_are_delivered_once() {
    let mut scenario = path(100.05, Link { duplicate: 0.05, ..link("l", Some(10_000_000), ms(40)) }, free());
    scenario.flows = vec![cbr("cbr", 800_000, 1000)];
    let result = run(&scenario);
    let row = result.flows.row(0);
    let extra = row.packets_received - 10_001;
    assert!(extra.abs_diff(500) < 109, "{extra}");
    assert_eq!(row.delivered_bytes, 972 * 10_001);
    assert_eq!(result.links.row(0).sent, 10_005, "sent once each");
}

/// Lost before the queue, packets take no time on the link; after it, they do.
#[test]
fn where_a_packet_is_lost() {
    let loss = || vec![Loss { applies_to: AppliesTo::All, model: LossModel::Periodic { every: 2 } }];
    for (place, utilisation) in [(LossPlace::BeforeQueue, 0.25), (LossPlace::AfterLink, 0.5)] {
        let there = Link { loss: loss(), loss_place: place, ..link("l", Some(10_000_000), ms(1)) };
        let mut scenario = path(10.0, there, free());
        scenario.flows = vec![cbr("cbr", 5_000_000, 1250)];
        let result = run(&scenario);
        assert!((result.links.row(0).utilisation - utilisation).abs() < 0.001, "{}", result.links.row(0).utilisation);
        assert_eq!(result.links.row(0).losses, 2500);
        assert!(
            (result.flows.row(0).goodput_bps - 2.5e6 * 0.9776).abs() < 2000.0,
            "{}",
            result.flows.row(0).goodput_bps
        );
    }
}

/// Loss on an infinitely fast link without delay needs no event and loses all the same.
#[test]
fn loss_on_a_link_that_takes_no_time() {
    let loss = vec![Loss { applies_to: AppliesTo::Data, model: LossModel::Periodic { every: 4 } }];
    let mut scenario = path(1.0, Link { loss, ..link("l", None, Duration::ZERO) }, free());
    scenario.flows = vec![cbr("cbr", 8_000_000, 1000)];
    let result = run(&scenario);
    assert_eq!((result.links.row(0).losses, result.links.row(0).sent), (250, 750));
    assert_eq!(result.flows.row(0).delivered_bytes, 750 * 972);
    assert_eq!((result.flows.row(0).owd.max, result.links.row(0).utilisation.is_nan()), (0.0, true));
}

/// Three hops: rates, delays and queues add up.
#[test]
fn a_route_over_several_links() {
    let mut scenario = path(1.0, link("a", Some(10_000_000), ms(1)), free());
    scenario.links.push(link("b", Some(5_000_000), ms(2)));
    scenario.links.push(link("c", Some(20_000_000), ms(3)));
    scenario.flows = vec![Flow { route: vec![0, 2, 3], ..cbr("cbr", 1_000_000, 1250) }];
    let owd = run(&scenario).flows.row(0).owd;
    assert!((owd.mean - 0.0095).abs() < 1e-12, "1 + 2 + 0.5 and 6 ms: {}", owd.mean);
}

#[test]
fn a_used_up_event_budget_is_an_error_that_says_so() {
    let mut scenario = path(10.0, link("l", Some(10_000_000), ms(1)), free());
    scenario.flows = vec![cbr("cbr", 5_000_000, 1250)];
    scenario.max_events = 1000;
    let error = cclab_sim::world::run(&scenario, 1).unwrap_err().to_string();
    assert!(error.contains("budget of 1000 events at 1.0000") && error.contains("of 10 s"), "{error}");
}

/// A connection over a path that takes no time at all would run for ever within one instant.
#[test]
fn a_path_without_time_is_an_error_and_not_a_hang() {
    let mut scenario = path(1.0, link("l", None, Duration::ZERO), free());
    scenario.flows = vec![bulk("bulk", "reno", Config::linux(1448))];
    scenario.max_events = 10_000;
    let error = cclab_sim::world::run(&scenario, 1).unwrap_err().to_string();
    assert!(error.contains("budget of 10000 events at 0.000000 s"), "{error}");
}

/// Whoever has the time can drive a link: the packets of a run, offered by hand when they came, arrive when they did.
#[test]
fn a_link_without_a_simulation() {
    let there = Link {
        jitter: Some(Jitter::Exponential { mean: ms(3) }),
        reorder: Some(Reorder { probability: 0.05, delay: ms(9) }),
        duplicate: 0.02,
        loss: vec![Loss { applies_to: AppliesTo::All, model: LossModel::Bernoulli { p: 0.03 } }],
        ..limited(Limit::Packets(5), link("there", Some(1_000_000), ms(10)))
    };
    let mut scenario = path(20.0, there, free());
    scenario.flows = vec![Flow { send_jitter: ms(20), ..cbr("cbr", 1_100_000, 500) }];
    scenario.record.packets = true;
    let log = run(&scenario).packets.expect("asked for");
    let end = Time::ZERO + scenario.duration;
    let mut relay = net::Link::new(&scenario.links[0], scenario.seed, Time::ZERO, end, false);
    let (mut arrived, mut fates) = (Vec::new(), [0; 3]);
    let mut wait = |relay: &mut net::Link, until: Time| {
        while relay.next_event() < until {
            let now = relay.next_event();
            let packet = relay.pop(now).expect("it has arrived");
            let Body::Udp(datagram) = packet.body else { panic!("a datagram") };
            arrived.push(((now.as_secs_f64() * 1e9).round() / 1e6, datagram.number));
        }
        assert!(relay.pop(until - Duration(1)).is_none(), "nothing is early");
    };
    for (at, _, number) in rows(&log, HOST, "sent") {
        let now = Time((at * 1e6).round() as u64);
        wait(&mut relay, now);
        match relay.take(now, &mut Packet::udp(0, now, number, 500)) {
            Outcome::Queued(_) => fates[0] += 1,
            Outcome::Gone(Reason::Dropped, _) => fates[1] += 1,
            Outcome::Gone(..) => fates[2] += 1,
            Outcome::Through | Outcome::Waiting { .. } => panic!("this link takes time and is not served"),
        }
    }
    wait(&mut relay, end);
    let order = |mut list: Vec<(f64, u64)>| {
        list.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
        list
    };
    let received = rows(&log, HOST, "received").into_iter().map(|(at, _, number)| (at, number)).collect();
    assert_eq!(order(arrived), order(received));
    assert!(fates.iter().all(|&n| n > 10), "{fates:?}");
}

/// The queue sampled at intervals and on change is the one that the packets saw.
#[test]
fn samples_of_the_queue() {
    let mut scenario = path(0.05, limited(Limit::Packets(2), link("l", Some(1_000_000), ms(1))), free());
    scenario.flows = (0..3).map(|i| Flow { stop: Some(Time(1)), ..cbr(&i.to_string(), 1, 1000) }).collect();
    scenario.record.samples = Sampling::Every(ms(5));
    let samples = run(&scenario).link_samples;
    let of = |link| (0..samples.link.len()).filter(move |&i| samples.link[i] == link).collect::<Vec<_>>();
    let queue: Vec<f64> = of(0).iter().map(|&i| samples.queue_packets[i]).collect();
    assert_eq!(queue, [0.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "both ends are sampled");
    scenario.record.samples = Sampling::OnChange;
    let samples = run(&scenario).link_samples;
    assert_eq!(samples.queue_packets, [1.0, 2.0, 1.0, 0.0]);
    assert_eq!(samples.queue_bytes, [1000.0, 2000.0, 1000.0, 0.0]);
    assert_eq!(samples.time_s, [0.0, 0.0, 0.008, 0.016]);
}
