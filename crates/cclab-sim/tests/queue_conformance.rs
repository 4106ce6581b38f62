//! What every queue discipline in the registry promises, whatever its parameters and whatever comes.
//!
//! A link is driven by hand: packets of several flows come in bursts, at the link's rate and after idle times, with and
//! without ECN, some with congestion headers; then it drains.

use crate::support::link;
use cclab_algo::math::{exp, ln};
use cclab_algo::{Duration, Rate, Time};
use cclab_sim::net::config::Link;
use cclab_sim::net::queue::field::{Amount, Domain, Field, Params, Value};
use cclab_sim::net::queue::{Around, Entry, REGISTRY};
use cclab_sim::net::{self, Links, Outcome};
use cclab_sim::scenario::Limit;
use cclab_sim::wire::{Feedback, Packet, Segment};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;

const CE: u8 = 3;

/// A number whose logarithm is uniform.
fn log(min: f64, max: f64) -> impl Strategy<Value = f64> {
    (ln(min)..=ln(max)).prop_map(exp)
}
fn integer(min: u64, max: u64) -> BoxedStrategy<u64> {
    let middle = log(min as f64, max as f64).prop_map(move |x| (x as u64).clamp(min, max));
    prop_oneof![1 => Just(min), 1 => Just(max), 6 => middle].boxed()
}
fn number(min: f64, max: f64) -> BoxedStrategy<f64> {
    prop_oneof![1 => Just(min), 1 => Just(max), 4 => min..=max, 4 => log(1e-6, max)]
        .prop_map(move |x| x.clamp(min, max))
        .boxed()
}
/// Lengths of time up to a second, and ten years.
fn time(min: Duration) -> BoxedStrategy<Duration> {
    let years = 10 * 365 * 24 * 3600 * 1_000_000_000;
    let drawn = integer(min.0.max(1), 1_000_000_000);
    prop_oneof![1 => Just(min.0), 1 => Just(years), 14 => drawn].prop_map(Duration).boxed()
}

/// What a field may hold, within the bounds that it has itself.
fn value(field: &Field) -> BoxedStrategy<Value> {
    let drawn = match field.domain {
        Domain::Time { min } => time(min).prop_map(Value::Time).boxed(),
        Domain::Amount => prop_oneof![
            4 => integer(1, 100).prop_map(Amount::Packets),
            1 => integer(1, 1_000_000_000_000).prop_map(Amount::Packets),
            3 => integer(1, 100_000).prop_map(Amount::Bytes),
            1 => time(Duration(1)).prop_map(Amount::Time),
            1 => integer(1, 10_000_000_000).prop_map(Amount::Bdp),
        ]
        .prop_map(Value::Amount)
        .boxed(),
        Domain::Size { max } => prop_oneof![integer(1, max), integer(1, 3000)].prop_map(Value::Size).boxed(),
        Domain::Probability => number(0.0, 1.0).prop_map(Value::Probability).boxed(),
        Domain::Integer { min, max } => integer(min, max).prop_map(Value::Integer).boxed(),
        Domain::Number { min, max } => number(min, max).prop_map(Value::Number).boxed(),
        Domain::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        Domain::Choice(words) => prop::sample::select(words).prop_map(Value::Word).boxed(),
    };
    match field.word {
        Some(word) => prop_oneof![1 => Just(Value::Word(word)), 3 => drawn].boxed(),
        None => drawn,
    }
}

/// Parameters that do not contradict each other, about half of them as they are unless told.
fn params(entry: &'static Entry) -> impl Strategy<Value = Params> {
    let given: Vec<_> = entry.fields.iter().map(|field| prop::option::of(value(field))).collect();
    given
        .prop_map(|given| Params::new(entry.fields, &given))
        .prop_filter("contradiction", |params| (entry.check)(params).is_ok())
}

/// A packet that comes.
#[derive(Clone, Debug)]
struct Arrival {
    /// After the one before, in transmission times of 1000 bytes.
    gap: f64,
    flow: usize,
    ecn: u8,
    size: u32,
    header: Feedback,
}

fn arrival(ce: bool) -> impl Strategy<Value = Arrival> {
    let gap = prop_oneof![4 => Just(0.0), 12 => 0.0..2.0, 1 => 10.0..100.0];
    let header = prop_oneof![
        5 => Just(Feedback::None),
        1 => any::<bool>().prop_map(|room| Feedback::AntiEcn { room }),
        1 => (0..8_u8, 0..9_u8).prop_map(|(level, levels)| Feedback::Drai { level, levels }),
        1 => (0..16_u8, any::<u32>()).prop_map(|(rate, nonce)| Feedback::QuickStart { rate, ttl: 7, nonce }),
        1 => (any::<u32>(), prop_oneof![0..3_u32, any::<u32>()], any::<f32>()).prop_map(|(cwnd, rtt_us, delta)| Feedback::Xcp {
            cwnd, rtt_us, delta: if delta.is_nan() { 0.0 } else { delta }
        }),
    ];
    (gap, 0..6_usize, 0..if ce { 4 } else { 3_u8 }, 40..1500_u32, header)
        .prop_map(|(gap, flow, ecn, size, header)| Arrival { gap, flow, ecn, size, header })
}

/// What comes, over a link of this rate with a BDP of this RTT.
#[derive(Clone, Debug)]
struct Traffic {
    rate: Rate,
    rtt: Duration,
    seed: u64,
    arrivals: Vec<Arrival>,
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let arrivals = any::<bool>().prop_flat_map(|ce| prop::collection::vec(arrival(ce), 1..300));
    (integer(5_000_000, 10_000_000_000), integer(10_000, 1_000_000_000), any::<u64>(), arrivals)
        .prop_map(|(rate, rtt, seed, arrivals)| Traffic { rate: Rate(rate), rtt: Duration(rtt), seed, arrivals })
}

impl Traffic {
    /// Packets with the times at which they come; each is known by when it `left`.
    fn packets(&self) -> Vec<(Time, Packet)> {
        let mut now = 1.0;
        let mut packets = Vec::new();
        for (number, a) in self.arrivals.iter().enumerate() {
            now += a.gap * 8e12 / self.rate.as_bps_f64();
            let mut packet = match a.header {
                Feedback::None => Packet::udp(a.flow, Time::ZERO, 0, a.size),
                feedback => {
                    let segment = Segment { len: a.size, feedback, ..Segment::default() };
                    Packet::tcp(a.flow, true, Time::ZERO, &segment)
                }
            };
            packet.ecn = a.ecn;
            packet.left = Time(number as u64);
            packets.push((Time(now as u64), packet));
        }
        packets
    }
}

/// What became of the packets.
#[derive(Debug, Default)]
struct Fate {
    /// Those that arrived, and when.
    arrived: Vec<(Time, Packet)>,
    /// Refused when they came.
    refused: u64,
    links: Links,
    /// Packets and bytes waiting, at every change.
    waiting: Vec<(Time, u64, u64)>,
}

/// Takes out what arrives up to `until`. Time moves on: nothing is due twice.
fn run(link: &mut net::Link, until: Time, fate: &mut Fate) -> Result<(), TestCaseError> {
    while link.next_event() <= until {
        let now = link.next_event();
        while let Some(packet) = link.pop(now) {
            fate.arrived.push((now, packet));
        }
        prop_assert!(link.next_event() > now, "something is due at {now:?} again");
    }
    Ok(())
}

fn drive(model: &Link, seed: u64, packets: &[(Time, Packet)], end: Time) -> Result<Fate, TestCaseError> {
    let mut link = net::Link::new(model, seed, Time::ZERO, end, true);
    let mut fate = Fate::default();
    for (at, packet) in packets {
        run(&mut link, *at - Duration(1), &mut fate)?;
        match link.take(*at, &mut packet.clone()) {
            Outcome::Gone(..) => fate.refused += 1,
            Outcome::Waiting { idle: Some(_) } => run(&mut link, *at, &mut fate)?, // it is to be served now
            _ => {}
        }
    }
    run(&mut link, end, &mut fate)?;
    prop_assert_eq!(link.imbalance(), None);
    fate.links = link.table("link");
    fate.waiting = link.take_changes(end);
    Ok(fate)
}

fn conforms(entry: &Entry, params: &Params, traffic: &Traffic) -> Result<(), TestCaseError> {
    let around = Around { rate: Some(traffic.rate), rtt: traffic.rtt, packet: 1500 };
    let queue = (entry.build)(params, &around);
    let model = Link { queue: queue.clone(), ..link("link", Some(traffic.rate.0), Duration::ZERO) };
    let packets = traffic.packets();
    // a transmitter that is never idle while something waits is through by then
    let bytes: u64 = packets.iter().map(|(_, packet)| u64::from(packet.size)).sum();
    let end = packets[packets.len() - 1].0 + traffic.rate.time_for(bytes) + Duration(1);
    let fate = drive(&model, traffic.seed, &packets, end)?;
    let (arrived, row) = (&fate.arrived, fate.links.row(0));

    // conservation, and nothing stays
    prop_assert_eq!(row.arrived, packets.len() as u64);
    prop_assert_eq!(arrived.len() as u64 + row.drops, row.arrived, "something stays behind, or is gone");
    prop_assert!(fate.refused <= row.drops && row.early_drops <= row.drops);

    // each packet once, in the order that is promised
    let mut lanes: BTreeMap<u64, u64> = BTreeMap::new();
    for (_, packet) in arrived {
        let (_, came) = &packets[packet.left.0 as usize];
        if let Some(before) = lanes.insert((entry.lane)(came), packet.left.0) {
            prop_assert!(before < packet.left.0, "{} leaves after {before}", packet.left.0);
        }
        prop_assert_eq!((packet.flow, packet.size), (came.flow, came.size));
    }

    // the limit holds
    for (at, packets, bytes) in &fate.waiting {
        let within = match queue.limit() {
            Limit::Packets(limit) => *packets <= limit,
            Limit::Bytes(limit) => *bytes <= limit,
        };
        prop_assert!(within, "{packets} packets, {bytes} bytes at {at:?}, limit {:?}", queue.limit());
    }

    // marks are for those that know them, and are counted once
    let (mut marked, mut had) = (0, 0);
    let threshold = params.iter().find_map(|(field, value)| match value {
        Value::Time(threshold) if field.name == "ce_threshold" => Some(threshold),
        _ => None,
    });
    for (at, packet) in arrived {
        let (came_at, came) = &packets[packet.left.0 as usize];
        prop_assert!(packet.ecn == came.ecn || (packet.ecn == CE && came.ecn != 0), "{} to {}", came.ecn, packet.ecn);
        had += u64::from(came.ecn == CE);
        marked += u64::from(packet.ecn == CE && came.ecn != CE);
        // the link sends to the nanosecond, and the rest of one is kept for the next packet
        let waited = at.since(*came_at).saturating_sub(traffic.rate.time_for(packet.size.into()));
        if let Some(threshold) = threshold
            && waited > threshold + Duration(1)
            && came.ecn != 0
        {
            prop_assert_eq!(packet.ecn, CE, "it waited {:?}", waited);
        }
    }
    prop_assert!((marked..=marked + had).contains(&row.marks), "{} marks for {marked}, {had} had it", row.marks);

    // the same again is the same
    let again = drive(&model, traffic.seed, &packets, end)?;
    prop_assert_eq!(format!("{:?}", fate.arrived), format!("{:?}", again.arrived));
    Ok(())
}

#[test]
fn every_discipline_keeps_its_promises() {
    for entry in REGISTRY {
        let config = Config { cases: 128, failure_persistence: None, ..Config::default() };
        let tried = move || {
            TestRunner::new(config)
                .run(&(params(entry), traffic()), |(params, traffic)| conforms(entry, &params, &traffic))
                .map_err(|e| format!("{}: {e}", entry.name))
        };
        // one that loses a packet may wait for it for ever
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(tried()));
        let patience = std::time::Duration::from_secs(120);
        let ended =
            ended.recv_timeout(patience).unwrap_or_else(|e| panic!("{}: no end in {patience:?} ({e})", entry.name));
        ended.unwrap_or_else(|e| panic!("{e}"));
    }
}

/// A queue that stays, at a fixed multiple of the target delay: packets come at the link's rate behind a burst.
fn standing(entry: &Entry, target: Duration, multiple: f64) -> u64 {
    let (rate, size) = (Rate(100_000_000), 1500);
    let params = Params::new(entry.fields, &vec![None; entry.fields.len()]);
    let around = Around { rate: Some(rate), rtt: Duration::from_millis(100), packet: size };
    let model = Link { queue: (entry.build)(&params, &around), ..link("link", Some(rate.0), Duration::ZERO) };
    let each = rate.time_for(size);
    let burst = (multiple * target.0 as f64 / each.0 as f64) as u64;
    let packet = |number: u64| {
        let at = Time(1) + each * number.saturating_sub(burst);
        let mut packet = Packet::udp(0, Time::ZERO, 0, size as u32);
        packet.ecn = 2; // marks leave the queue as it is
        (at, packet)
    };
    let packets: Vec<_> = (0..30_000).map(packet).collect(); // 3.6 s
    let fate =
        drive(&model, 1, &packets, packets[packets.len() - 1].0).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    let row = fate.links.row(0);
    row.early_drops + row.marks
}

/// What a target is for: a queue that stays above it is signalled and goes on to be (CoDel: RFC 8289 §3; PIE's integral
/// term: RFC 8033 §4.2; DualPI2: RFC 9332 §2.4), one below half of it is not.
#[test]
fn a_target_delay_is_what_is_signalled() {
    for entry in REGISTRY {
        let target = entry.fields.iter().find(|field| field.name == "target").map(|field| field.default);
        let Some(Value::Time(target)) = target else { continue };
        assert_eq!(standing(entry, target, 0.4), 0, "{}: below the target", entry.name);
        let signals = standing(entry, target, 2.0);
        assert!(signals > 30, "{}: {signals} signals above the target", entry.name);
    }
}

fn allows(field: &Field, value: Value) -> bool {
    match (field.domain, value) {
        (Domain::Time { min }, Value::Time(time)) => time >= min,
        (Domain::Size { max }, Value::Size(bytes)) => (1..=max).contains(&bytes),
        (Domain::Integer { min, max }, Value::Integer(n)) => (min..=max).contains(&n),
        (Domain::Number { min, max }, Value::Number(x)) => (min..=max).contains(&x),
        (Domain::Probability, Value::Probability(p)) => (0.0..=1.0).contains(&p),
        (Domain::Choice(words), Value::Word(word)) => words.contains(&word),
        (Domain::Amount, Value::Amount(_)) | (Domain::Flag, Value::Flag(_)) => true,
        (_, Value::Word(word)) => field.word == Some(word),
        _ => false,
    }
}

#[test]
fn entries_are_sound() {
    for (i, entry) in REGISTRY.iter().enumerate() {
        let Entry { name, summary, source, fields, .. } = entry;
        let kebab = name.split('-').all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric()));
        assert!(kebab && name.to_lowercase() == *name, "\"{name}\" is not lower-case-with-hyphens");
        assert!(REGISTRY[..i].iter().all(|e| e.name != *name), "two are called {name}");
        assert!(!summary.is_empty() && !source.is_empty(), "{name} says nothing of itself");
        let find = |name| fields.iter().find(|field| field.name == name);
        assert!(find("limit").is_some_and(|f| f.domain == Domain::Amount && f.word == Some("unlimited")), "{name}");
        for (i, field) in fields.iter().enumerate() {
            let at = format!("{name}.{}", field.name);
            assert!(fields[..i].iter().all(|f| f.name != field.name), "{at} is there twice");
            assert!(!field.doc.is_empty(), "{at} has no description");
            assert!(allows(field, field.default), "{at}: its own default is refused");
            if let Some((other, this, default)) = field.unless {
                assert!(find(other).is_some_and(|other| allows(other, this)), "{at} follows what is not there");
                assert!(allows(field, default), "{at}: its own default is refused");
            }
        }
        let params = Params::new(fields, &vec![None; fields.len()]);
        assert_eq!((entry.check)(&params), Ok(()), "{name}");
    }
}

/// Whatever is refused names a field of the discipline, and its sentence shows values of fields that there are.
#[test]
fn refusals_name_fields() {
    for entry in REGISTRY {
        let drawn: Vec<_> = entry.fields.iter().map(|field| prop::option::of(value(field))).collect();
        let config = Config { cases: 2000, failure_persistence: None, ..Config::default() };
        let tried = TestRunner::new(config).run(&drawn, |given| {
            if let Err(refusal) = (entry.check)(&Params::new(entry.fields, &given)) {
                let is_field = |name: &str| entry.fields.iter().any(|field| field.name == name);
                let shown = refusal.message.split('{').skip(1).filter_map(|rest| rest.split('}').next());
                prop_assert!(is_field(refusal.field) && shown.into_iter().all(is_field), "{refusal:?}");
            }
            Ok(())
        });
        tried.unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    }
}

/// The outline of a model page.
const HEADINGS: &[&str] =
    &["What it models", "What it leaves out", "Parameters", "Source", "Example", "Validation", "Open questions"];

#[test]
fn every_discipline_has_a_page_with_the_outline_and_every_field() {
    for entry in REGISTRY {
        let path = format!("{}/../../docs/models/{}.md", env!("CARGO_MANIFEST_DIR"), entry.name);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("docs/models/{}.md: {e}", entry.name));
        let headings: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "docs/models/{}.md", entry.name);
        let section = page.split("## Parameters").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or("");
        for field in entry.fields {
            assert!(section.contains(&format!("`{}`", field.name)), "{}.md lacks `{}`", entry.name, field.name);
        }
    }
}
