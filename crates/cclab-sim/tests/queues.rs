//! Queue disciplines at work: what theory, their papers and other simulators say of delay, drops and marks.

use crate::support::*;
use cclab_algo::math::ln;
use cclab_algo::{Duration, Rate, Time};
use cclab_sim::net::queue::codel;
use cclab_sim::net::{self, Outcome};
use cclab_sim::scenario::*;
use cclab_sim::tcp::{self, Config, Recovery};
use cclab_sim::wire::Packet;
use cclab_sim::world::RunResult;
use proptest::prelude::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A path of this rate and base RTT with `queue` in front.
fn bottleneck(seconds: f64, rate: u64, rtt_ms: u64, queue: Queue) -> Scenario {
    let there = Link { queue, ..link("bottleneck", Some(rate), ms(rtt_ms) / 2) };
    path(seconds, there, link("back", Some(rate), ms(rtt_ms) / 2))
}

/// The queue of a scenario file with `queue = { ... }` in front of 10 Mbit/s.
fn written(queue: &str) -> Queue {
    let text = format!(
        "duration = '1 s'\n[network]\nrate = '10 Mbit/s'\nrtt = '50 ms'\nqueue = {{ {queue} }}\n[[flows]]\ncc = 'reno'\n"
    );
    Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}")).links[0].queue.clone()
}

/// Every discipline that there is, with room for `n` packets.
fn disciplines(n: u64) -> Vec<Queue> {
    let names = registry_json()["queues"].as_array().expect("a list").clone();
    let of = |entry: &serde_json::Value| match entry["name"].as_str().expect("a name") {
        "red" => written(&format!("discipline = 'red', limit = '{n} packets', min = '1 packet', max = '{n} packets'")),
        "step" => written(&format!("discipline = 'step', limit = '{} packets', threshold = '{n} packets'", n + 1)),
        name => written(&format!("discipline = '{name}', limit = '{n} packets'")),
    };
    names.iter().map(of).collect()
}

/// A scheduler that never signals makes a served link; it is the lazy one to the bit, with losses behind it, with jitter
/// and duplicates, when its rate changes and when it stops.
#[test]
fn a_served_link_is_a_lazy_link() {
    let never = Duration::from_secs(1000);
    let codel = codel::Config { target: never, interval: never, mtu: 1500, ecn: true, ce_threshold: None };
    let change =
        |s, rate| Change { at: Time::ZERO + Duration::from_secs(s), rate: Some(Rate(rate)), delay: None, up: None };
    for limit in [Limit::Packets(7), Limit::Bytes(9000)] {
        let [lazy, served] = [Queue::DropTail { limit }, Queue::new(limit, codel)].map(|queue| {
            let mut scenario = bottleneck(20.0, 5_000_000, 40, queue);
            scenario.warmup = Duration::from_secs(2);
            scenario.record = Record { samples: Sampling::OnChange, packets: true, frames: false, capture: None };
            scenario.links[0].overhead = 20;
            scenario.links[0].loss =
                vec![Loss { applies_to: AppliesTo::All, model: LossModel::Bernoulli { p: 0.002 } }];
            scenario.links[0].loss_place = LossPlace::AfterLink;
            scenario.links[0].jitter = Some(Jitter::Uniform { max: ms(1) });
            scenario.links[0].duplicate = 0.01;
            scenario.links[0].schedule = vec![change(5, 9_000_000), change(8, 0), change(9, 3_333_333), change(18, 0)];
            scenario.flows = vec![
                bulk("reno", "reno", Config::linux(1448)),
                Flow { send_jitter: ms(3), start: Time(1_234_567_891), ..cbr("cbr", 3_000_000, 700) },
            ];
            run(&scenario)
        });
        assert!(lazy.links.row(0).drops > 100 && lazy.links.row(0).losses > 5);
        // what is dropped and what is served in the same nanosecond may be noted in either order
        assert_eq!(format!("{:?}", lazy.links), format!("{:?}", served.links)); // NaN is not NaN
        assert_eq!(format!("{:?}", lazy.flows), format!("{:?}", served.flows));
        assert_eq!(lazy.link_samples, served.link_samples);
    }
}

/// ns-3's test of two Reno flows over RED(5, 15): the average stays between the thresholds. (Those of drop-tail fill 100.)
#[test]
fn red_keeps_its_average_between_the_thresholds() {
    let two = |queue| {
        let mut scenario = bottleneck(100.0, 10_000_000, 50, queue);
        scenario.warmup = Duration::from_secs(10);
        scenario.flows = (0..2)
            .map(|i| Flow {
                start: Time(i * 100_000_000),
                ..bulk(&i.to_string(), "reno", Config::classic(1460, Recovery::NewReno))
            })
            .collect();
        run(&scenario)
    };
    let result = two(written("discipline = 'red'"));
    let l = result.links.row(0);
    assert!((5.0..15.0).contains(&l.queue_mean_packets), "{}", l.queue_mean_packets);
    assert!(l.early_drops == l.drops && l.drops > 100 && l.queue_max_packets < 100, "{l:?}");
    assert!(l.utilisation > 0.95, "{}", l.utilisation);
    let full = two(Queue::DropTail { limit: Limit::Packets(100) });
    assert!(full.links.row(0).queue_max_packets == 100 && full.links.row(0).queue_mean_packets > 40.0);
    assert_eq!(full.links.row(0).early_drops, 0);
}

/// With ECN the same queue marks and drops nothing; senders learn of the marks.
#[test]
fn red_marks_ect() {
    let mut scenario = bottleneck(60.0, 10_000_000, 50, written("discipline = 'red', limit = '1000 packets'"));
    scenario.warmup = Duration::from_secs(10);
    scenario.flows = (0..2)
        .map(|i| bulk(&i.to_string(), "reno", Config { ecn: tcp::Ecn::On, ..Config::classic(1460, Recovery::NewReno) }))
        .collect();
    let result = run(&scenario);
    let l = result.links.row(0);
    assert!(l.drops == 0 && l.marks > 50, "{l:?}");
    assert!((5.0..15.0).contains(&l.queue_mean_packets), "{}", l.queue_mean_packets);
    assert!(result.flows.rows().all(|f| f.segments_retransmitted == 0));
}

/// Feng et al. 2002: where twenty senders that know ECN lose packets at a short queue with drop-tail, and still with RED,
/// BLUE finds the probability of marks at which next to none are lost and the link is full.
#[test]
fn blue_needs_no_losses() {
    let [tail, red, blue] =
        ["discipline = 'droptail'", "discipline = 'red'", "discipline = 'blue'"].map(|discipline| {
            let queue = written(&format!("{discipline}, limit = '42 packets'"));
            let mut scenario = bottleneck(60.0, 10_000_000, 50, queue);
            scenario.warmup = Duration::from_secs(20);
            let config = Config { ecn: tcp::Ecn::On, ..Config::linux(1448) };
            scenario.flows = (0..20).map(|i| bulk(&i.to_string(), "reno", config.clone())).collect();
            let result = run(&scenario);
            let l = result.links.row(0);
            println!("{discipline}: {} lost, {} marked of {}, {:.4} used", l.drops, l.marks, l.arrived, l.utilisation);
            assert!(l.marks == 0 || l.marks as f64 > 0.05 * l.arrived as f64, "{l:?}");
            (l.drops as f64 / l.arrived as f64, l.utilisation)
        });
    assert!(tail.0 > 0.05 && red.0 > 0.01 && blue.0 < 0.001 && blue.1 > 0.99, "{tail:?}, {red:?}, {blue:?}");
}

/// RFC 8289 §3: the standing queue stays at the target of 5 ms or a little above while senders fill the pipe, which a lone
/// one does only where the BDP is small: at 50 ms it halves its window to less than the pipe holds, and half of all
/// packets wait 1.2 ms or less.
#[test]
fn codel_keeps_the_standing_queue_near_its_target() {
    let mut medians = Vec::new();
    for (law, flows, rtt_ms) in
        [("reno", 1, 5), ("cubic", 1, 5), ("reno", 4, 50), ("cubic", 4, 50), ("reno", 1, 50), ("cubic", 1, 50)]
    {
        let mut scenario = bottleneck(60.0, 10_000_000, rtt_ms, written("discipline = 'codel'"));
        scenario.flows = (0..flows).map(|i| bulk(&i.to_string(), law, Config::linux(1448))).collect();
        let result = run(&scenario);
        let l = result.links.row(0);
        println!(
            "codel {law} x {flows}, {rtt_ms} ms: p50 {:.4} mean {:.4} util {:.3}",
            l.sojourn.p50, l.sojourn.mean, l.utilisation
        );
        assert!(l.early_drops == l.drops && l.drops > 10);
        medians.push(l.sojourn.p50);
    }
    assert!(medians[..4].iter().all(|p50| (0.005..0.010).contains(p50)), "{medians:?}");
    assert!(medians[4..].iter().all(|p50| *p50 < 0.005), "{medians:?}");
}

/// RFC 8033: five flows see the delay of the target, 15 ms, in the mean, whichever way it is estimated; also when marked.
#[test]
fn pie_keeps_the_delay_at_its_target() {
    for (options, ecn) in [("", false), (", estimator = 'rate'", false), (", flavour = 'linux'", false), ("", true)] {
        let mut scenario = bottleneck(100.0, 10_000_000, 50, written(&format!("discipline = 'pie'{options}")));
        scenario.warmup = Duration::from_secs(20);
        let config = Config { ecn: if ecn { tcp::Ecn::On } else { tcp::Ecn::Off }, ..Config::linux(1448) };
        scenario.flows = (0..5).map(|i| bulk(&i.to_string(), "reno", config.clone())).collect();
        let result = run(&scenario);
        let l = result.links.row(0);
        assert!((0.010..0.020).contains(&l.sojourn.mean), "{options}: {}", l.sojourn.mean);
        assert!(l.utilisation > 0.95 && (l.marks > 0) == ecn, "{options}: {l:?}");
    }
}

/// RFC 8290: ten bulk flows with base RTTs from 20 to 200 ms have equal shares, and a sparse flow hardly waits. In one queue Reno's
/// goodput falls with the RTT to the power of 1, where losses come alone, to 2, where all lose at once (Lakshman and Madhow 1997).
#[test]
fn fq_codel_isolates_flows() {
    let scenario = |queue: &str, cc: &str, sparse: bool| {
        let flows: String = (1..=10).map(|i| format!("[[flows]]\ncc = '{cc}'\nrtt = '{} ms'\n", 20 * i)).collect();
        let sparse = if sparse {
            "[[flows]]\nkind = 'cbr'\nrate = '80 kbit/s'\npacket_size = '100 B'\nrtt = '20 ms'\n"
        } else {
            ""
        };
        let text = format!(
            "duration = '60 s'\nwarmup = '20 s'\n[network]\nrate = '20 Mbit/s'\nrtt = '100 ms'\nqueue = {{ {queue} }}\n{flows}{sparse}"
        );
        run(&Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}")))
    };
    let fair = scenario("discipline = 'fq-codel'", "cubic", true);
    let tail = scenario("limit = '1 BDP'", "reno", false);
    let sparse = fair.flows.row(10);
    assert!(fair.jain > 0.99, "{}", fair.jain);
    // Least squares of logarithms; a tenth is left to chance.
    let points: Vec<_> = tail.flows.rows().map(|flow| (ln(flow.rtt.mean), ln(flow.goodput_bps))).collect();
    let [x, y] = [|p: &(f64, f64)| p.0, |p: &(f64, f64)| p.1].map(|of| points.iter().map(of).sum::<f64>() / 10.0);
    let covariance = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>();
    let power = -covariance / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    assert!((0.9..2.0).contains(&power), "{power}");
    // its base one-way delay is 10 ms
    assert!(sparse.owd.p99 < 0.020 && sparse.packets_lost == 0, "{:?}", sparse.owd);
}

/// A thousand flows, with 65,536 queues on each access link: what is not used takes no memory (it would be 24 GB).
#[test]
fn many_links_of_many_queues() {
    let text = "duration = '150 ms'\n[network]\nrate = '1 Gbit/s'\nqueue = { limit = 'unlimited' }\nrtt = '10 ms'\n\
                access = { rate = '1 Gbit/s', queue = { discipline = 'fq-codel', flows = 65536 } }\n\
                [[flows]]\ncc = 'reno'\ncount = 1000\n";
    let result = run(&Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}")));
    assert!(result.flows.len() == 1000 && result.flows.rows().all(|flow| flow.delivered_bytes > 0));
}

/// RFC 9332: the classic queue stays at its target, and alone in the low-latency queue nobody waits.
#[test]
fn dualpi2_keeps_the_classic_queue_at_its_target() {
    for scheduler in ["weighted", "shifted"] {
        for ecn in [false, true] {
            let queue = written(&format!("discipline = 'dualpi2', scheduler = '{scheduler}'"));
            let mut scenario = bottleneck(60.0, 20_000_000, 25, queue);
            scenario.warmup = Duration::from_secs(10);
            let config = Config { ecn: if ecn { tcp::Ecn::On } else { tcp::Ecn::Off }, ..Config::linux(1448) };
            scenario.flows = (0..4).map(|i| bulk(&i.to_string(), "reno", config.clone())).collect();
            let result = run(&scenario);
            let l = result.links.row(0);
            assert!((0.010..0.020).contains(&l.sojourn.mean), "{}", l.sojourn.mean);
            assert!(l.utilisation > 0.95 && (l.marks > 0) == ecn, "{l:?}");
        }
    }
}

/// RFC 9332 §1.2: a scalable and a classic flow with the same base RTT share within a factor of two, and the packets of the
/// former hardly wait.
#[test]
fn dualpi2_couples_prague_and_cubic() {
    let text = "duration = '60 s'\nwarmup = '20 s'\n[network]\nrate = '40 Mbit/s'\nrtt = '25 ms'\n\
                queue = { discipline = 'dualpi2' }\n[[flows]]\ncc = 'prague'\n[[flows]]\ncc = 'cubic'\n";
    let result = run(&Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}")));
    let [prague, cubic] = [0, 1].map(|i| result.flows.row(i));
    let ratio = prague.goodput_bps / cubic.goodput_bps;
    let waited = [&prague, &cubic].map(|flow| flow.owd.p99 - 0.0125);
    println!("dualpi2: prague {:.2} of cubic, p99 {waited:.4?}, {:.3} used", ratio, result.links.row(0).utilisation);
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
    assert!(waited[0] < 0.002 && result.links.row(0).utilisation > 0.95, "{waited:?}");
}

/// DCTCP, SIGCOMM 2010, §3.3: with K = 20 packets at 1 Gbit/s the queue stays about K and the link full.
#[test]
fn dctcp_keeps_the_queue_about_the_step() {
    let text = "duration = '2 s'\nwarmup = '1 s'\n[network]\nrate = '1 Gbit/s'\nrtt = '200 us'\n\
                queue = { discipline = 'step', threshold = '20 packets' }\n[[flows]]\ncc = 'dctcp'\ncount = 2\n";
    let result = run(&Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}")));
    let l = result.links.row(0);
    println!(
        "dctcp: mean {:.1} max {} used {:.3} drops {}",
        l.queue_mean_packets, l.queue_max_packets, l.utilisation, l.drops
    );
    assert!((10.0..30.0).contains(&l.queue_mean_packets) && l.drops == 0 && l.utilisation > 0.95, "{l:?}");
}

/// What came in went out, was dropped or waits; whoever is asked.
fn check(result: &RunResult) -> Result<(), TestCaseError> {
    let (l, back) = (result.links.row(0), result.links.row(1));
    prop_assert!(l.arrived >= l.sent + l.drops, "{l:?}");
    prop_assert!(l.early_drops <= l.drops && l.marks <= l.arrived);
    prop_assert!(l.queue_mean_packets <= l.queue_max_packets as f64);
    prop_assert_eq!(back.drops, 0);
    let dropped: u64 = result.flows.rows().map(|f| f.packets_lost).sum();
    // of packets without payload, only SYN and FIN go this way
    let gone = result.links.row(0).drops + result.links.row(0).losses;
    prop_assert!(gone - 10.min(gone) <= dropped && dropped <= gone, "{dropped} of {gone}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random traffic of TCP with and without ECN and of datagrams over every discipline: `run` itself checks that packets
    /// are conserved at each link and in each flow.
    #[test]
    fn packets_are_conserved(
        seed in 0..u64::MAX, rate in 100_000..20_000_000_u64, rtt_ms in 1..100_u64, limit in 1..60_u64,
        sizes in proptest::collection::vec(60..1500_u32, 0..4), load in 10..200_u64, lossy in 0..2_u32,
    ) {
        for queue in disciplines(limit) {
            let mut scenario = bottleneck(3.0, rate, rtt_ms, queue);
            scenario.seed = seed;
            scenario.links[0].loss = vec![Loss {
                applies_to: AppliesTo::All, model: LossModel::Bernoulli { p: 0.01 * f64::from(lossy) },
            }];
            scenario.links[0].loss_place = if seed % 2 == 0 { LossPlace::AfterLink } else { LossPlace::BeforeQueue };
            scenario.flows = sizes.iter().enumerate().map(|(i, &size)| Flow {
                send_jitter: ms(5), ..cbr(&format!("cbr-{i}"), (rate * load / 100 / sizes.len() as u64).max(1), size)
            }).collect();
            scenario.flows.push(bulk("reno", "reno", Config::linux(1448)));
            scenario.flows.push(bulk("ecn", "cubic", Config { ecn: tcp::Ecn::On, ..Config::linux(1000) }));
            check(&run(&scenario))?;
        }
    }
}

/// A served link driven by hand, as a relay would: the same packets at the same times as in a run.
#[test]
fn a_served_link_without_a_simulation() {
    let mut scenario = bottleneck(20.0, 1_000_000, 20, written("discipline = 'codel', limit = '50 packets'"));
    scenario.flows = vec![Flow { send_jitter: ms(20), ..cbr("cbr", 1_300_000, 500) }];
    let result = run(&scenario);
    let end = Time::ZERO + scenario.duration;
    let mut sent = bottleneck(20.0, 1_000_000, 20, Queue::DropTail { limit: Limit::Packets(u64::MAX) });
    sent.flows = scenario.flows.clone();
    sent.record.packets = true;
    let log = run(&sent).packets.expect("asked for");
    let mut relay = net::Link::new(&scenario.links[0], scenario.seed, Time::ZERO, end, false);
    let (mut arrived, mut refused) = (0, 0);
    let mut drain = |relay: &mut net::Link, until: Time| {
        while relay.next_event() < until {
            let now = relay.next_event();
            while relay.pop(now).is_some() {
                arrived += 1;
            }
        }
    };
    for i in (0..log.len()).filter(|&i| &log.event[i] == "sent") {
        let now = Time((log.time_s[i] * 1e9).round() as u64);
        drain(&mut relay, now);
        refused += u64::from(matches!(relay.take(now, &mut Packet::udp(0, now, log.seq[i], 500)), Outcome::Gone(..)));
    }
    drain(&mut relay, end);
    let l = result.links.row(0);
    assert!(l.early_drops > 20 && l.drops - l.early_drops == refused, "{refused} {l:?}");
    assert_eq!(arrived, result.flows.row(0).packets_received);
}
