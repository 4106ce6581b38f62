//! What holds for every scenario: conservation (checked in every run), order, bounds, independence of streams.

use crate::support::*;
use cclab_algo::{Duration, Rate, Time};
use cclab_sim::measure::Packets;
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, Recovery};
use proptest::prelude::*;
use std::collections::VecDeque;

fn loss() -> impl Strategy<Value = Loss> {
    let model = prop_oneof![
        (0.0..0.2).prop_map(|p| LossModel::Bernoulli { p }),
        (0.0..0.1, 0.1..1.0).prop_map(|(p, r)| LossModel::GilbertElliott { p, r, good: 0.01, bad: 0.5 }),
        (1_u64..50).prop_map(|every| LossModel::Periodic { every: every + 1 }),
        Just(LossModel::Named { flow: Some(0), packets: vec![1, 5, 6] }),
    ];
    let applies_to = prop_oneof![Just(AppliesTo::Data), Just(AppliesTo::Ack), Just(AppliesTo::All)];
    (applies_to, model).prop_map(|(applies_to, model)| Loss { applies_to, model })
}

fn any_link(name: &'static str) -> impl Strategy<Value = Link> {
    let rate = prop_oneof![1 => Just(None), 4 => (100_000_u64..20_000_000).prop_map(Some)];
    let limit = prop_oneof![(0_u64..40).prop_map(Limit::Packets), (0_u64..60_000).prop_map(Limit::Bytes)];
    let jitter = prop_oneof![
        3 => Just(None),
        1 => (0_u64..10_000_000).prop_map(|ns| Some(Jitter::Uniform { max: Duration(ns) })),
        1 => (1_u64..10_000_000).prop_map(|ns| Some(Jitter::Exponential { mean: Duration(ns) })),
    ];
    let place = prop_oneof![Just(LossPlace::BeforeQueue), Just(LossPlace::AfterLink)];
    let schedule =
        proptest::collection::vec((0_u64..2_000_000_000, 0_u64..10_000_000, 0_u64..30, any::<Option<bool>>()), 0..4);
    let impairments = (proptest::collection::vec(loss(), 0..3), place, jitter, 0.0..0.1, schedule);
    (rate, 0_u64..30, limit, 0_u32..40, impairments).prop_map(
        move |(rate, delay, limit, overhead, (loss, loss_place, jitter, duplicate, changes))| {
            let change = |(at, rate, delay, up)| Change {
                at: Time(at),
                rate: Some(Rate(rate)),
                delay: Some(Duration::from_millis(delay)),
                up,
            };
            let mut schedule: Vec<Change> = changes.into_iter().map(change).collect();
            schedule.sort_by_key(|c| c.at);
            schedule.dedup_by_key(|c| c.at);
            let queue = Queue::DropTail { limit };
            let link = link(name, rate, Duration::from_millis(delay));
            Link { queue, overhead, loss, loss_place, jitter, duplicate, schedule, ..link }
        },
    )
}

fn any_flow(label: &'static str) -> impl Strategy<Value = Flow> {
    let udp = (10_000_u64..10_000_000, 28_u32..1500).prop_map(move |(rate, size)| cbr(label, rate, size));
    let tcp = any::<bool>().prop_map(move |linux| {
        let config = if linux { Config::linux(1000) } else { Config::classic(1000, Recovery::NewReno) };
        bulk(label, "newreno", config)
    });
    (prop_oneof![udp, tcp], 0_u64..500, 0_u64..100, 0_u64..3, any::<bool>()).prop_map(
        |(flow, start, start_jitter, send_jitter, stops)| Flow {
            start: Time::ZERO + Duration::from_millis(start),
            start_jitter: Duration::from_millis(start_jitter),
            send_jitter: Duration::from_millis(send_jitter),
            stop: stops.then_some(Time(1_500_000_000)),
            ..flow
        },
    )
}

fn any_scenario() -> impl Strategy<Value = Scenario> {
    let reorder = prop_oneof![3 => Just(None), 1 => (0.0..0.3, 0_u64..20_000_000).prop_map(|(probability, delay)| {
        Some(Reorder { probability, delay: Duration(delay) })
    })];
    (any_link("there"), any_link("back"), any_link("third"), reorder, any_flow("a"), any_flow("b"), any::<u64>())
        .prop_map(|(there, back, third, reorder, a, b, seed)| {
            let mut scenario = path(2.0, there, back);
            scenario.links.push(Link { reorder, ..third });
            scenario.flows = vec![a, Flow { route: vec![0, 2], ..b }];
            scenario.warmup = Duration::from_millis(300);
            scenario.seed = seed;
            scenario.record.packets = true;
            scenario.max_events = 200_000;
            scenario
        })
}

/// Every link hands packets on in the order in which it took them.
fn first_in_first_out(rows: &Packets, link: u32) -> Result<(), TestCaseError> {
    let mut queue = VecDeque::new();
    let identity = |i: usize| (rows.flow[i], rows.seq[i], rows.ack[i], rows.size_bytes[i]);
    let mut last = None;
    for i in (0..rows.link.len()).filter(|&i| rows.link[i] == link) {
        match &rows.event[i] {
            "queued" => queue.push_back(identity(i)),
            "forwarded" if last == Some(identity(i)) && queue.front() != last.as_ref() => {} // its duplicate
            "lost" if queue.front() != Some(&identity(i)) => {}                              // before the queue
            "forwarded" => {
                prop_assert_eq!(queue.pop_front(), Some(identity(i)));
                last = Some(identity(i));
            }
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_conserves_packets_and_order(scenario in any_scenario()) {
        let result = match cclab_sim::world::run(&scenario, scenario.seed) {
            Ok(result) => result,
            Err(cclab_sim::world::Error::Budget { .. }) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let rows = result.packets.as_ref().expect("asked for");
        prop_assert!(rows.time_s.windows(2).all(|w| w[0] <= w[1]), "time runs forward");
        for link in [0, 1] {
            // A packet lost behind the link would leave a gap that only its identity could tell.
            let model = &scenario.links[link];
            let before = model.loss.is_empty() || model.loss_place == LossPlace::BeforeQueue;
            if before && model.outages().is_empty() {
                first_in_first_out(rows, link as u32)?;
            }
        }
        // A link that changes its rate forgets what it had left of a nanosecond.
        for (link, model) in result.links.rows().zip(&scenario.links) {
            prop_assert!(link.utilisation.is_nan() || link.utilisation <= 1.0 + 1e-4, "{link:?}");
            prop_assert!(link.queue_mean_packets <= link.queue_max_packets as f64 + 1e-9, "{link:?}");
            if let Queue::DropTail { limit: Limit::Packets(limit) } = model.queue {
                prop_assert!(link.queue_max_packets <= limit, "{link:?}");
            }
        }
        for flow in result.flows.rows() {
            prop_assert!(flow.owd.count == 0 || flow.owd.min >= 0.0 && flow.owd.max <= 2.0);
        }
    }
}

/// What a host sent and received of one flow: the rows that tell its own story.
fn story(scenario: &Scenario, label: &str) -> Vec<(u64, String, u64, u64)> {
    let rows = run(scenario).packets.expect("asked for");
    let flow = scenario.flows.iter().position(|f| f.label == label).expect("a flow of this label") as u32;
    let of_flow = (0..rows.link.len()).filter(|&i| rows.flow[i] == flow && rows.link[i] == u32::MAX);
    of_flow.map(|i| (rows.time_s[i].to_bits(), rows.event[i].to_string(), rows.seq[i], rows.ack[i])).collect()
}

/// Common random numbers: another flow and other links change nothing for a flow that does not meet them, although
/// every component of both draws.
#[test]
fn what_a_flow_does_not_meet_does_not_change_its_luck() {
    let ms = Duration::from_millis;
    let lossy = |name| Link {
        loss: vec![Loss { applies_to: AppliesTo::All, model: LossModel::Bernoulli { p: 0.02 } }],
        jitter: Some(Jitter::Uniform { max: ms(2) }),
        duplicate: 0.01,
        ..link(name, Some(5_000_000), ms(20))
    };
    let draws = |flow| Flow { start_jitter: ms(500), send_jitter: ms(1), ..flow };
    let tcp = || draws(bulk("a", "newreno", Config::classic(960, Recovery::NewReno)));
    let mut alone = path(10.0, lossy("there"), lossy("back"));
    alone.flows = vec![tcp()];
    alone.record.packets = true;
    let mut company = alone.clone();
    company.links.extend([lossy("elsewhere"), lossy("elsewhere-back")]);
    let other = draws(bulk("b", "newreno", Config::classic(960, Recovery::NewReno)));
    company.flows.insert(0, Flow { route: vec![2], route_back: vec![3], ..other });
    company.flows.push(Flow { route: vec![3], ..draws(cbr("c", 1_000_000, 500)) });
    let story_alone = story(&alone, "a");
    assert!(story_alone.len() > 1000);
    assert_eq!(story_alone, story(&company, "a"));
    let other_seed = Scenario { seed: 2, ..alone.clone() };
    assert_ne!(story_alone, story(&other_seed, "a"), "another seed is other luck");
}

/// On a shared link without losses a flow still starts and sends when it did before.
#[test]
fn another_flow_on_the_same_link_leaves_start_and_processing_alone() {
    let ms = Duration::from_millis;
    let draws = |flow| Flow { start_jitter: ms(500), send_jitter: ms(1), ..flow };
    let mut alone = path(10.0, link("there", Some(5_000_000), ms(20)), link("back", None, ms(20)));
    alone.flows = vec![draws(cbr("a", 1_000_000, 1000))];
    alone.record.packets = true;
    let mut company = alone.clone();
    company.flows.insert(0, draws(cbr("b", 2_000_000, 700)));
    let starts: Vec<f64> = run(&company).flows.rows().map(|f| f.start_s).collect();
    assert_ne!(starts[0], starts[1], "each draws from its own stream");
    let sent = |scenario| story(scenario, "a").into_iter().filter(|row| row.1 == "sent").collect::<Vec<_>>();
    assert_eq!(sent(&alone), sent(&company));
}
