//! Explicit signals end to end: marks, XCP, Quick-Start, anti-ECN.

use crate::support::*;
use cclab_algo::{Duration, Time};
use cclab_sim::net::queue::{self, anti_ecn, quick_start, red, xcp};
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, Ecn, Pacing};
use cclab_sim::world::RunResult;

const MBIT: u64 = 1_000_000;

/// A path of `rate` with this queue, `rtt` there and back.
fn with_queue(seconds: f64, rate: u64, rtt: Duration, queue: Queue) -> Scenario {
    let one_way = rtt / 2;
    path(seconds, Link { queue, ..link("bottleneck", Some(rate), one_way) }, link("back", None, one_way))
}

/// Marks what finds more than `k` packets waiting: RED with both thresholds there and no average.
fn step(k: f64, limit: u64) -> Queue {
    let red = red::Config {
        in_bytes: false,
        min: k,
        max: k,
        weight: 1.0,
        max_p: 1.0,
        gentle: false,
        wait: false,
        adaptive: false,
        by_size: false,
        mean_packet: 1500.0,
        ecn: true,
        hard_drop: false,
    };
    Queue::new(Limit::Packets(limit), red)
}

fn marks_on(law: &str) -> Flow {
    bulk(law, law, Config { ecn: Ecn::On, ..Config::linux(1448) })
}

/// Two DCTCP flows over 10 Gbit/s with RTT 100 µs, K = 20 > C RTT / 7 = 11.9 packets: the queue stays about K, the link
/// is busy, nothing is lost (Alizadeh et al., SIGCOMM 2010, §3.3 and figure 12).
#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    for ecn in [Ecn::On, Ecn::Accurate] {
        let mut scenario = with_queue(0.3, 10_000 * MBIT, Duration::from_micros(100), step(20.0, 1000));
        scenario.warmup = Duration::from_millis(100);
        for i in 0..2 {
            let config = Config { ecn, ..Config::linux(1448) };
            scenario.flows.push(bulk(&i.to_string(), "dctcp", config));
        }
        let run = run(&scenario);
        let link = run.links.row(0);
        assert!(link.utilisation > 0.95, "{ecn:?}: {}", link.utilisation);
        assert!((10.0..30.0).contains(&link.queue_mean_packets), "{ecn:?}: {}", link.queue_mean_packets);
        assert!(link.marks > 0 && link.drops == 0, "{} marks, {} drops", link.marks, link.drops);
        assert!(run.flows.rows().all(|f| f.segments_retransmitted == 0));
    }
}

/// A second flow joins a first whose queue is above the threshold: its SYN is marked, not dropped (RFC 8257 §3.6), so that it has
/// ECN and its share. Without ECN on the SYN it has half a percent of the link for good.
#[test]
fn a_marked_syn_is_not_lost() {
    let threshold = Queue::new(Limit::Packets(1000), queue::step::Config { threshold: Limit::Packets(20), drop: true });
    let mut scenario = with_queue(20.0, 100 * MBIT, Duration::from_millis(10), threshold);
    scenario.warmup = Duration::from_secs(5);
    scenario.flows =
        vec![marks_on("dctcp"), Flow { start: Time::ZERO + Duration::from_millis(500), ..marks_on("dctcp") }];
    let run = run(&scenario);
    let (least, most) = shares(&run);
    assert!(least > 0.7 * most && run.links.row(0).drops == 0, "{least} {most}, {} drops", run.links.row(0).drops);
}

/// Below C RTT / 7 the queue runs empty, above it does not (equation 13 of the paper, here for one flow over
/// 1 Gbit/s and 1 ms: 11.9 packets).
#[test]
fn a_threshold_below_the_bound_costs_throughput() {
    let utilisation = |k| {
        let mut scenario = with_queue(2.0, 1000 * MBIT, Duration::from_millis(1), step(k, 1000));
        scenario.warmup = Duration::from_secs(1);
        scenario.flows = vec![marks_on("dctcp")];
        run(&scenario).links.row(0).utilisation
    };
    let found = [1.0, 5.0, 12.0, 24.0].map(utilisation);
    assert!(found[0] < found[2] && found[0] < 0.97 && found[2] > 0.98 && found[3] > 0.99, "{found:?}");
}

/// Prague alone at a step behaves as DCTCP does.
#[test]
fn prague_keeps_the_queue_at_the_threshold() {
    let mut scenario = with_queue(20.0, 100 * MBIT, Duration::from_millis(25), step(40.0, 1000));
    scenario.warmup = Duration::from_secs(5);
    scenario.flows = vec![marks_on("prague")];
    let run = run(&scenario);
    let link = run.links.row(0);
    assert!(link.utilisation > 0.95 && link.drops == 0, "{}, {} drops", link.utilisation, link.drops);
    assert!(link.queue_mean_packets < 50.0 && link.marks > 0, "{}", link.queue_mean_packets);
}

/// Marks take losses' place for a classic law too.
#[test]
fn marks_instead_of_losses() {
    for (ecn, law) in [(Ecn::On, "reno"), (Ecn::Accurate, "reno"), (Ecn::Accurate, "cubic")] {
        let mut scenario = with_queue(20.0, 20 * MBIT, Duration::from_millis(40), step(40.0, 1000));
        scenario.flows = vec![bulk("flow", law, Config { ecn, ..Config::linux(1448) })];
        let run = run(&scenario);
        assert!(run.links.row(0).marks > 0 && run.flows.row(0).segments_retransmitted == 0, "{ecn:?} {law}");
        assert!(run.links.row(0).utilisation > 0.8, "{ecn:?} {law}: {}", run.links.row(0).utilisation);
    }
}

fn shares(run: &RunResult) -> (f64, f64) {
    let goodputs = run.flows.goodput_bps.iter().copied();
    (goodputs.clone().fold(f64::INFINITY, f64::min), goodputs.fold(0.0, f64::max))
}

/// Ten XCP flows, equal within 20 round trips, no queue to speak of, no drops (Katabi et al., SIGCOMM 2002, §4).
#[test]
fn xcp_is_fair_at_once() {
    let rtt = Duration::from_millis(50);
    let queue = Queue::new(Limit::Packets(500), xcp::Config::PAPER);
    let mut scenario = with_queue(4.0, 100 * MBIT, rtt, queue);
    scenario.warmup = rtt * 40;
    scenario.flows = (0..10)
        .map(|i| {
            let start = Time::ZERO + rtt * (2 * i); // the last one 20 round trips before measuring begins
            Flow { start, ..bulk(&i.to_string(), "xcp", Config::linux(1448)) }
        })
        .collect();
    let run = run(&scenario);
    let (least, most) = shares(&run);
    assert!(most / least < 1.2, "{least} to {most}");
    let link = run.links.row(0);
    assert!(link.utilisation > 0.9, "{}", link.utilisation);
    assert!(link.queue_mean_packets < 20.0 && link.drops == 0, "{}, {} drops", link.queue_mean_packets, link.drops);
}

fn transfer(quick: Option<u64>, queue: Queue) -> f64 {
    let mut scenario = with_queue(20.0, 100 * MBIT, Duration::from_millis(200), queue);
    let config = Config { quick_start: quick.map(cclab_algo::Rate), ..Config::linux(1448) };
    let mut flow = bulk("flow", "reno", config);
    if let Traffic::Tcp { size, .. } = &mut flow.traffic {
        *size = Some(1_000_000);
    }
    scenario.flows = vec![flow];
    run(&scenario).flows.row(0).fct_s
}

/// 1 MB over 200 ms: slow start from ten segments takes eight round trips, with Quick-Start at 10.24 Mbit/s less. A router
/// that has nothing to give, and a link whose router does not take part, leave slow start as it is.
#[test]
fn quick_start_saves_round_trips() {
    let limit = Limit::Packets(2000);
    let router = |threshold| Queue::new(limit, quick_start::Config { threshold });
    let plain = transfer(None, router(0.9));
    let quick = transfer(Some(41 * MBIT), router(0.9));
    assert!(quick <= plain - 0.4, "{quick} s for {plain} s");
    assert_eq!(transfer(Some(41 * MBIT), router(0.0)), plain);
    assert_eq!(transfer(Some(41 * MBIT), Queue::DropTail { limit }), plain);
}

/// From a threshold of 20 segments on, anti-ECN fills an idle path of 833 packets in a few round trips where Reno takes
/// hundreds; where others keep the link busy it is Reno. Both are paced: a train of packets at the link's rate looks busy
/// to a virtual queue, however short it is.
#[test]
fn anti_ecn_fills_an_idle_path() {
    let queue = Queue::new(Limit::Packets(800), anti_ecn::Config { share: 0.9 });
    let goodput = |law, busy| {
        let mut scenario = with_queue(5.0, 100 * MBIT, Duration::from_millis(100), queue.clone());
        let config = Config { initial_ssthresh: Some(20 * 1448), pacing: Pacing::On, ..Config::linux(1448) };
        scenario.flows = vec![bulk("flow", law, config)];
        if busy {
            scenario.flows.push(cbr("busy", 92 * MBIT, 1500));
        }
        run(&scenario).flows.row(0).goodput_bps
    };
    let (fast, slow) = (goodput("anti-ecn", false), goodput("reno", false));
    assert!(fast > 50e6 && slow < 10e6, "{fast}, Reno {slow}");
    let (held, reno) = (goodput("anti-ecn", true), goodput("reno", true));
    assert!((held / reno - 1.0).abs() < 0.05, "{held}, Reno {reno}");
}
