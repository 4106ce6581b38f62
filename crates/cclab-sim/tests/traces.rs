//! Links that follow a trace: opportunities beside mahimahi's rules, stepped millisecond by millisecond, and changes beside an integral.

use crate::support::*;
use cclab_algo::{Duration, Rate, Time};
use cclab_sim::net::queue::{Around, REGISTRY, codel};
use cclab_sim::net::{self, Course, Opportunities, Outcome, Step, Trace};
use cclab_sim::scenario::*;
use cclab_sim::tcp::Config;
use cclab_sim::wire::Packet;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn opportunities(at_ms: &[u32]) -> Arc<Trace> {
    let course = Course::Opportunities(Opportunities::new(at_ms.to_vec()).expect("a period"));
    Arc::new(Trace { name: "cell".into(), course })
}

fn following(trace: &Arc<Trace>, queue: Queue) -> Link {
    Link { trace: Some(trace.clone()), queue, ..link("l", trace.rate().map(|rate| rate.0), Duration::ZERO) }
}

fn unlimited() -> Queue {
    Queue::DropTail { limit: Limit::UNLIMITED }
}

/// A scheduler that never signals: first in, first out, served.
fn served(limit: Limit) -> Queue {
    let never = Duration::from_secs(1000);
    Queue::new(limit, codel::Config { target: never, interval: never, mtu: 1500, ecn: true, ce_threshold: None })
}

/// When each of these packets (time in ns, bytes) has left a link, driven by hand and measured from `from` to `to`; and the link.
fn drive(model: &Link, packets: &[(u64, u32)], (from, to): (u64, u64)) -> (Vec<u64>, net::Link) {
    let mut link = net::Link::new(model, 1, Time(from), Time(to), false);
    let mut left = Vec::new();
    let mut run = |link: &mut net::Link, until: u64| {
        while link.next_event().0 <= until {
            let now = link.next_event();
            while link.pop(now).is_some() {
                left.push(now.0);
            }
        }
    };
    for &(at, size) in packets {
        run(&mut link, at - 1);
        let outcome = link.take(Time(at), &mut Packet::udp(0, Time(at), 0, size));
        assert!(matches!(outcome, Outcome::Queued(_) | Outcome::Waiting { .. }), "{outcome:?}");
    }
    run(&mut link, u64::MAX - 1);
    assert_eq!(link.imbalance(), None);
    (left, link)
}

/// What mahimahi's manual says: each line delivers 1500 bytes to those that wait, in parts and several to one; what nobody takes is
/// lost; at the end it begins again. What comes in the very millisecond of a line is too late for it.
fn mahimahi(at_ms: &[u32], packets: &[(u64, u32)]) -> Vec<u64> {
    let period = u64::from(at_ms[at_ms.len() - 1]);
    let (mut coming, mut waiting, mut left) = (VecDeque::from(packets.to_vec()), VecDeque::new(), Vec::new());
    for begin in (0..).map(|k| k * period) {
        for &line in at_ms {
            let now = (begin + u64::from(line)) * MS;
            while coming.front().is_some_and(|&(at, _)| at < now) {
                waiting.extend(coming.pop_front().map(|(_, size)| size));
            }
            let mut bytes = 1500;
            while bytes > 0
                && let Some(first) = waiting.front_mut()
            {
                let sent = bytes.min(*first);
                (bytes, *first) = (bytes - sent, *first - sent);
                if *first == 0 {
                    waiting.pop_front();
                    left.push(now);
                }
            }
        }
        if coming.is_empty() && waiting.is_empty() {
            return left;
        }
    }
    unreachable!("a trace has no end")
}

/// Worked by hand: opportunities at 5, 5, 8, 10 ms, again from 15 on.
#[test]
fn bytes_are_accounted_by_hand() {
    let trace = opportunities(&[5, 5, 8, 10]);
    let packets = [
        (1, 1500),           // the first at 5 ms
        (2, 1500),           // the second
        (3, 40),             // of that at 8 ms it takes 40 bytes,
        (4, 1500),           // and this one 1460, and 40 of that at 10 ms,
        (9 * MS, 1460),      // whose rest is just enough for this
        (10 * MS, 40),       // too late for it: 15 ms;
        (15 * MS + 1, 4000), // and too late for the rest there: the second at 15, which is the fifth; 18; 20
    ];
    let expected = [5, 5, 8, 10, 10, 15, 20].map(|ms| ms * MS);
    for queue in [unlimited(), served(Limit::UNLIMITED)] {
        let (left, link) = drive(&following(&trace, queue), &packets, (0, 20 * MS));
        let gone = link.table("l");
        assert_eq!(left[..6], expected[..6]);
        // the two at 15 ms are over when the last one comes: 18, 20 and 25
        assert_eq!(left[6], 25 * MS);
        // seven opportunities of 1500 bytes lie before 20 ms, and 6040 + 1500 bytes leave in them
        let row = gone.row(0);
        assert!((row.capacity_bps - 7.0 * 12_000.0 / 0.02).abs() < 1e-6, "{}", row.capacity_bps);
        assert!((row.utilisation - 7540.0 / 10_500.0).abs() < 1e-12, "{}", row.utilisation);
        assert_eq!((row.rate_bps, row.sent), (4_800_000.0, 6));
    }
}

fn trace() -> impl Strategy<Value = Vec<u32>> {
    let gap = prop_oneof![3 => Just(0_u32), 3 => Just(1), 2 => 2_u32..9, 1 => 20_u32..200];
    proptest::collection::vec(gap, 1..30).prop_map(|gaps| {
        let mut now = 0;
        let mut later = |gap| {
            now += gap;
            now
        };
        let mut at: Vec<u32> = gaps.into_iter().map(&mut later).collect();
        at.extend((later(0) == 0).then_some(1));
        at
    })
}

/// Packets in order; none comes in the very nanosecond of an opportunity.
fn packets() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let size = prop_oneof![3 => Just(1500_u32), 2 => Just(40), 2 => 29_u32..1500, 1 => 1500_u32..9000];
    let gap = prop_oneof![4 => 0_u64..2000, 3 => 0_u64..3 * MS, 1 => 0_u64..300 * MS];
    proptest::collection::vec((gap, size), 1..60).prop_map(|drawn| {
        let mut now = 1;
        let mut arrive = |gap| {
            now += gap;
            now += u64::from(now % MS == 0);
            now
        };
        drawn.into_iter().map(|(gap, size)| (arrive(gap), size)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Arithmetic that skips what is idle comes to the same as every millisecond in turn, in a lazy link and in a served one; no
    /// interval sends more than its opportunities, and intervals beside each other add up to what was sent.
    #[test]
    fn opportunities_serve_as_mahimahi_does(at_ms in trace(), packets in packets(), cuts in (0_u64..2000, 0_u64..2000)) {
        let expected = mahimahi(&at_ms, &packets);
        let trace = opportunities(&at_ms);
        let end = expected[expected.len() - 1] + 1;
        let (a, b) = (cuts.0.min(cuts.1) * MS / 3, cuts.0.max(cuts.1) * MS / 3 + 1);
        for queue in [unlimited(), served(Limit::UNLIMITED)] {
            let model = following(&trace, queue);
            let mut sent = 0.0;
            for (from, to) in [(0, a), (a, b), (b, end.max(b) + 1)] {
                let (left, link) = drive(&model, &packets, (from, to));
                prop_assert_eq!(&left, &expected);
                let table = link.table("l");
                let (capacity, used) = (table.row(0).capacity_bps * Time(to).since(Time(from)).as_secs_f64(), table.row(0).utilisation);
                prop_assert!(used.is_nan() || used <= 1.0 + 1e-12, "{} of {} bits", used, capacity);
                sent += if capacity > 0.0 { capacity * used } else { 0.0 };
            }
            let bits: u64 = packets.iter().map(|&(_, size)| u64::from(size) * 8).sum();
            prop_assert!((sent - bits as f64).abs() < 1.0, "{} of {} bits", sent, bits);
        }
    }

    /// An opportunity in each millisecond is 12 Mbit/s, a millisecond more or less: what is left of one is lost when nobody waits.
    #[test]
    fn one_a_millisecond_is_twelve_megabits(count in 1_usize..500, period in 1_u32..5) {
        let packets: Vec<(u64, u32)> = (0..count as u64).map(|i| (1 + i, 1500)).collect();
        let every = opportunities(&(1..=period).collect::<Vec<u32>>());
        let (left, _) = drive(&following(&every, unlimited()), &packets, (0, MS));
        let (wire, _) = drive(&link("l", Some(12_000_000), Duration::ZERO), &packets, (0, MS));
        for (left, wire) in left.iter().zip(wire) {
            prop_assert!(left.abs_diff(wire) <= MS, "{} and {}", left, wire);
        }
    }

    /// A table is the schedule of the same changes, and its capacity their integral.
    #[test]
    fn changes_are_a_schedule(rows in proptest::collection::vec((1_u64..500, 0_u64..20_000_000, 0_u64..40), 1..8), cbr_rate in 100_000_u64..30_000_000) {
        let starts = rows.iter().scan(0, |at, &(gap, ..)| Some(std::mem::replace(at, *at + gap * MS))).collect::<Vec<_>>();
        let rows: Vec<(u64, u64, u64)> =
            starts.into_iter().zip(rows).map(|(at, (_, rate, delay))| (at, rate, delay * MS)).collect();
        let change = |&(at, rate, delay): &(u64, u64, u64)| Change { at: Time(at), rate: Some(Rate(rate)), delay: Some(Duration(delay)), up: None };
        let course = Course::Changes {
            rates: Some(rows.iter().map(|&(from, rate, _)| Step { from, rate: Some(rate) }).collect()),
            delays: Some(rows.iter().map(|&(from, _, delay)| (Time(from), Duration(delay))).collect()),
        };
        let queue = Queue::DropTail { limit: Limit::Packets(20) };
        let plain = Link { queue, ..link("l", Some(rows[0].1), Duration(rows[0].2)) };
        let there = [
            Link { trace: Some(Arc::new(Trace { name: "cell".into(), course })), ..plain.clone() },
            Link { schedule: rows[1..].iter().map(change).collect(), ..plain },
        ];
        let [followed, scheduled] = there.map(|there| {
            let mut scenario = path(2.0, there, link("back", None, Duration::ZERO));
            scenario.warmup = Duration::from_millis(300);
            scenario.flows = vec![cbr("cbr", cbr_rate, 1000), bulk("reno", "reno", Config::linux(1448))];
            run(&scenario)
        });
        prop_assert_eq!(format!("{:?}", followed.flows), format!("{:?}", scheduled.flows));
        prop_assert_eq!(format!("{:?}", followed.links), format!("{:?}", scheduled.links));
        let ends = rows[1..].iter().map(|row| row.0).chain([2000 * MS]);
        let bits: f64 = rows.iter().zip(ends).map(|(&(from, rate, _), to)| {
            to.min(2000 * MS).saturating_sub(from.max(300 * MS)) as f64 * 1e-9 * rate as f64
        }).sum();
        prop_assert!((followed.links.row(0).capacity_bps * 1.7 - bits).abs() < 1.0, "{}", bits);
    }
}

/// Losses, jitter, duplicates, framing: a served link with opportunities is a lazy one. Delays keep packets from coming in the very
/// nanosecond of an opportunity.
#[test]
fn a_served_link_is_a_lazy_link() {
    let trace = opportunities(&[3, 3, 4, 9, 30, 31, 32, 33, 33, 33, 60]);
    for limit in [Limit::Packets(7), Limit::Bytes(9000)] {
        let [lazy, served] = [Queue::DropTail { limit }, served(limit)].map(|queue| {
            let model = Link { delay: Duration(20_000_333), overhead: 20, duplicate: 0.01, ..following(&trace, queue) };
            let mut scenario = path(60.0, model, link("back", Some(5_000_000), Duration(10_000_007)));
            let lost = Loss { applies_to: AppliesTo::All, model: LossModel::Bernoulli { p: 0.002 } };
            (scenario.links[0].loss, scenario.links[0].loss_place) = (vec![lost], LossPlace::AfterLink);
            scenario.warmup = Duration::from_secs(2);
            scenario.flows = vec![
                Flow { start: Time(777), ..bulk("reno", "reno", Config::linux(1448)) },
                Flow { send_jitter: Duration(3_000_000), start: Time(1_234_567_891), ..cbr("cbr", 700_000, 700) },
            ];
            run(&scenario)
        });
        assert!(lazy.links.row(0).drops > 100 && lazy.links.row(0).losses > 3, "{:?}", lazy.links);
        assert_eq!(format!("{:?}", lazy.links), format!("{:?}", served.links));
        assert_eq!(format!("{:?}", lazy.flows), format!("{:?}", served.flows));
    }
}

/// Every discipline works in front of opportunities: packets are conserved (every run checks that), and what leaves is at most what
/// could, and most of it.
#[test]
fn every_discipline_serves_opportunities() {
    let trace = opportunities(&[1, 2, 3, 4, 5, 6, 7, 8, 20]);
    for entry in REGISTRY {
        let around = Around { rate: trace.rate(), rtt: Duration::from_millis(40), packet: 1500 };
        let params = net::field::Params::new(entry.fields, &vec![None; entry.fields.len()]);
        let queue = (entry.build)(&params, &around);
        let there = Link { delay: Duration::from_millis(20), ..following(&trace, queue) };
        let mut scenario = path(20.0, there, link("back", None, Duration::from_millis(20)));
        scenario.warmup = Duration::from_secs(5);
        scenario.flows = vec![bulk("a", "cubic", Config::linux(1448)), bulk("b", "reno", Config::linux(1448))];
        let result = run(&scenario);
        let row = result.links.row(0);
        assert!(row.utilisation > 0.7 && row.utilisation <= 1.0, "{}: {}", entry.name, row.utilisation);
    }
}

/// Opportunities that nobody uses cost no event: a packet a second, and a million opportunities.
#[test]
fn idle_opportunities_cost_nothing() {
    let events = |trace, queue| {
        let there = Link { trace, queue, ..link("l", Some(12_000_000_000), Duration(1)) };
        let mut scenario = path(1000.0, there, link("back", None, Duration::ZERO));
        scenario.flows = vec![cbr("cbr", 12_000, 1500)];
        run(&scenario).engine.events
    };
    let trace = opportunities(&vec![1; 1000]);
    assert_eq!(events(Some(trace.clone()), unlimited()), events(None, unlimited()));
    assert!(events(Some(trace), served(Limit::UNLIMITED)) <= events(None, served(Limit::UNLIMITED)) + 1000);
}
