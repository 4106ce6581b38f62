//! What must not matter does not: the same experiment, told differently, gives the same numbers.
//!
//! Over the whole registry, and over generated scenarios ([`worlds`]), the same in every run: 300 for each relation, unless
//! `CCLAB_WORLDS` says how many and `CCLAB_WORLDS_SEED` which. `make test-rust` tries 10,000 of each, in an optimised build.

mod scale;
mod worlds;

use crate::support::run;
use cclab_algo::cc;
use cclab_sim::app::Flows;
use cclab_sim::measure::table::{Table, Values};
use cclab_sim::scenario::Scenario;
use cclab_sim::world;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, RngAlgorithm, TestRng, TestRunner};
use scale::{Absolute, Pace};
use worlds::{CLOCKED, Told, World};

/// A flow of `law` that starts at `start` seconds and lasts twelve.
fn alone(law: &str, flavour: &str, ssthresh: &str, queue: &str, start: u32) -> Flows {
    let end = start + 12;
    let text = format!(
        r#"
        name = "alone"
        duration = "{end} s"
        warmup = "{start} s"
        record = {{ samples = "off" }}
        network = {{ rate = "10 Mbit/s", rtt = "40 ms", queue = {queue} }}
        [[flows]]
        cc = "{law}"
        start = "{start} s"
        flavour = "{flavour}"
        ecn = true
        {ssthresh}
        "#
    );
    let mut result = run(&Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}")));
    result.flows.start_s[0] = 0.0;
    result.flows
}

/// The time of day: a flow that starts at 64 s does to the bit what one that starts at 0 s does.
#[test]
fn the_time_of_day() {
    let queues = [r#"{ discipline = "droptail", limit = "20 packets" }"#, r#"{ discipline = "codel" }"#];
    let mut lost = 0;
    for entry in cc::REGISTRY {
        for flavour in ["linux", "paper"] {
            for ssthresh in ["", r#"initial_ssthresh = "30 packets""#] {
                for queue in queues {
                    let [early, late] = [0, 64].map(|start| alone(entry.name, flavour, ssthresh, queue, start));
                    assert!(early.delivered_bytes[0] > 1_000_000, "{}", entry.name);
                    lost += u32::from(early.packets_lost[0] > 0);
                    let what = format!("{} {flavour} {ssthresh} {queue}", entry.name);
                    assert_eq!(format!("{early:?}"), format!("{late:?}"), "{what}"); // as text: a NaN is itself
                }
            }
        }
    }
    assert!(lost > 100, "only {lost} runs reach a loss");
}

/// Loss-based laws that couple subflows are Reno where there is one path.
#[test]
fn one_path_is_coupled_to_nothing() {
    for flavour in ["linux", "paper"] {
        let run = |name| {
            let queue = r#"{ discipline = "droptail", limit = "20 packets" }"#;
            let mut flows = alone(name, flavour, r#"recovery = "rack""#, queue, 0);
            (flows.cc, flows.label) = Default::default();
            format!("{flows:?}")
        };
        for name in ["lia", "olia", "balia"] {
            assert_eq!(run(name), run("reno"), "{name}, {flavour}");
        }
    }
}

/// The tables of a run; `None` where the scenario is refused: not everything that is drawn goes together.
fn tables(json: &serde_json::Value) -> Option<Vec<Table>> {
    Some(tables_of(&Scenario::from_json(json).ok()?))
}

fn tables_of(scenario: &Scenario) -> Vec<Table> {
    let result = world::run(scenario, scenario.seed).unwrap_or_else(|e| panic!("{e}: {}", scenario.source));
    result.into_tables()
}

/// How many scenarios are tried.
fn worlds_to_try() -> u32 {
    std::env::var("CCLAB_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

/// Draws so many values, which are the same in every run; `CCLAB_WORLDS_SEED` gives others.
fn runner(cases: u32) -> TestRunner {
    let seed: u64 = std::env::var("CCLAB_WORLDS_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let failure_persistence = Some(Box::new(FileFailurePersistence::Off) as _);
    let config = ProptestConfig { cases, failure_persistence, max_shrink_iters: 100, ..ProptestConfig::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(config, rng)
}

/// Tries `relation` on generated scenarios. It says whether it could; of at least this share it must.
fn on_worlds(share: f64, relation: impl Fn(&World) -> Result<bool, TestCaseError>) {
    let (cases, ran) = (worlds_to_try(), std::cell::Cell::new(0));
    let count = |world| {
        ran.set(ran.get() + u32::from(relation(&world)?));
        Ok(())
    };
    runner(cases).run(&worlds::world(), count).unwrap_or_else(|e| panic!("{e}"));
    assert!(f64::from(ran.get()) > share * f64::from(cases), "only {} of {cases} scenarios were tried", ran.get());
}

/// Whether this is so of some world of the first 3000.
fn some_world(is_so: impl Fn(World) -> bool) -> bool {
    let strategy = worlds::world();
    let mut runner = runner(3000);
    (0..3000).any(|_| is_so(strategy.new_tree(&mut runner).expect("nothing is filtered").current()))
}

/// The values of a column as text, which shows what differs; a NaN is itself.
fn texts(values: &Values) -> Vec<String> {
    fn show<T: std::fmt::Debug>(values: &[T]) -> Vec<String> {
        values.iter().map(|value| format!("{value:?}")).collect()
    }
    match values {
        Values::F64(values) => show(values),
        Values::U64(values) => show(values),
        Values::U32(values) => show(values),
        Values::Bool(values) => show(values),
        Values::Text(texts) => texts.iter().map(String::from).collect(),
        Values::Named(rows, names) => {
            let names: Vec<&str> = names.iter().collect();
            rows.iter().map(|row| names.get(*row as usize).copied().unwrap_or("-").to_string()).collect()
        }
    }
}

/// Times in ns, less `shift`.
fn instants(values: &Values, shift: u64) -> Vec<String> {
    let Values::F64(values) = values else { panic!("times are numbers") };
    values.iter().map(|s| ((s * 1e9).round() as i64 - shift as i64).to_string()).collect()
}

/// The first difference of two tables whose instants are `shift` apart, but in columns that `skip` names.
fn difference(one: &Table, other: &Table, shift: u64, skip: &[&str]) -> Option<String> {
    for (a, b) in one.columns.iter().zip(&other.columns).filter(|(a, _)| !skip.contains(&a.name.as_str())) {
        let same = match (&a.values, &b.values) {
            (Values::F64(a), Values::F64(b)) if shift == 0 => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
            }
            (a, b) => a == b,
        };
        if same {
            continue;
        }
        let (x, y) = match a.name.as_str() {
            "time_s" | "start_s" => (instants(&a.values, 0), instants(&b.values, shift)),
            _ => (texts(&a.values), texts(&b.values)),
        };
        if x != y {
            let at = (0..x.len().max(y.len())).find(|i| x.get(*i) != y.get(*i)).unwrap_or(0);
            return Some(format!("{}.{}, row {at}: {:?} and {:?}", one.name, a.name, x.get(at), y.get(at)));
        }
    }
    None
}

/// Shift all times by a constant: the same run, to the nanosecond, packet by packet.
///
/// By a minute, which is a whole number of every period that runs from the beginning of time: those at which PIE, DualPI2, XCP and their
/// like look at their queues, of the clocks of timestamps (1 ms) and of a coarse RTO, of a link's opportunities. What belongs to the
/// time of day is left out.
#[test]
fn shifted_by_a_minute() {
    on_worlds(0.5, |world| {
        if CLOCKED.iter().any(|(clocked, _)| world.has(*clocked)) {
            return Ok(false);
        }
        let Some(different) = shifted(world) else { return Ok(false) };
        prop_assert_eq!(different, None, "{}", world.json(Told::PLAINLY));
        Ok(true)
    });
}

/// What a minute changes; `None` where the world is refused.
#[expect(clippy::option_option, reason = "refused is not the same")]
fn shifted(world: &World) -> Option<Option<String>> {
    const MINUTE: u64 = 60_000_000_000;
    let here = tables(&world.json(Told::PLAINLY))?;
    let there = tables(&world.json(Told { shift: MINUTE, ..Told::PLAINLY })).expect("the same");
    let both = here.iter().zip(&there).filter(|(one, _)| one.name != "runs");
    Some(both.map(|(one, other)| difference(one, other, MINUTE, &[])).find_map(|different| different))
}

/// What is said to belong to the time of day does: some world with it is another a minute later.
#[test]
fn what_has_a_clock() {
    for (clocked, why) in CLOCKED {
        let another = |world: World| world.with(*clocked).is_some_and(|world| shifted(&world).flatten().is_some());
        assert!(some_world(another), "{clocked:?} is left out because {why}, and may be shifted");
    }
}

/// A table of this name.
fn table<'a>(tables: &'a [Table], name: &str) -> Option<&'a Table> {
    tables.iter().find(|table| table.name == name)
}

/// The first difference of the packets before `end`, ns.
fn difference_before(end: u64, one: &Table, other: &Table) -> Option<String> {
    let Values::F64(times) = &one.columns[0].values else { panic!("times are numbers") };
    let rows = times.partition_point(|s| ((s * 1e9).round() as u64) < end);
    fn same<T: PartialEq>(one: &[T], other: &[T], rows: usize) -> bool {
        other.len() >= rows && one[..rows] == other[..rows]
    }
    let wrong = one.columns.iter().zip(&other.columns).find(|(a, b)| match (&a.values, &b.values) {
        (Values::F64(a), Values::F64(b)) => !same(a, b, rows),
        (Values::U64(a), Values::U64(b)) => !same(a, b, rows),
        (Values::U32(a), Values::U32(b)) | (Values::Named(a, _), Values::Named(b, _)) => !same(a, b, rows),
        (Values::Bool(a), Values::Bool(b)) => !same(a, b, rows),
        _ => true,
    });
    wrong.map(|(column, _)| format!("packets.{} before {end} ns", column.name))
}

/// A longer run begins like the shorter one; and what is counted up to a moment and from it on (its warm-up) adds up.
#[test]
fn longer_and_warmed_up() {
    const COUNTED: [&str; 7] = [
        "segments_sent",
        "segments_retransmitted",
        "timeouts",
        "recoveries",
        "packets_received",
        "packets_lost",
        "rtt_count",
    ];
    on_worlds(0.5, |world| {
        let told = Told::PLAINLY;
        let middle = told.duration / 2;
        let Some(whole) = tables(&world.json(told)) else { return Ok(false) };
        let Some(short) = tables(&world.json(Told { duration: middle, ..told })) else { return Ok(false) };
        let rest = tables(&world.json(Told { warmup: middle, ..told })).expect("the same");
        let packets = |tables| table(tables, "packets").expect("asked for");
        let different = difference_before(middle, packets(&whole), packets(&short));
        prop_assert_eq!(different, None, "the longer run begins differently: {}", world.json(told));
        prop_assert_eq!(
            difference(packets(&whole), packets(&rest), 0, &[]),
            None,
            "the warm-up changes packets: {}",
            world.json(told)
        );
        let flows = |tables| table(tables, "flows").expect("always there");
        let (whole, short, rest) = (flows(&whole), flows(&short), flows(&rest));
        for name in ["delivered_bytes", "connect_s", "fct_s", "fct_receiver_s"] {
            let skip: Vec<&str> = whole.columns.iter().map(|c| c.name.as_str()).filter(|c| *c != name).collect();
            prop_assert_eq!(difference(whole, rest, 0, &skip), None, "the warm-up changes {}", name);
        }
        let values = |table: &Table, name: &str| {
            let column = table.columns.iter().find(|column| column.name == name).expect("a column of flows");
            let Values::U64(values) = &column.values else { panic!("{name} counts") };
            values.clone()
        };
        for name in COUNTED {
            let sum: Vec<u64> = values(short, name).iter().zip(values(rest, name)).map(|(a, b)| a + b).collect();
            prop_assert_eq!(values(whole, name), sum, "{} does not add up: {}", name, world.json(told));
        }
        Ok(true)
    });
}

/// Rows of a table by their names, in the order of names.
fn by_name(table: &Table, keep: impl Fn(&str) -> bool) -> Vec<(String, Vec<String>)> {
    let names = texts(&table.columns[0].values);
    let columns: Vec<Vec<String>> = table.columns.iter().map(|column| texts(&column.values)).collect();
    let row = |i: usize| columns.iter().map(|column| column[i].clone()).collect();
    let mut rows: Vec<(String, Vec<String>)> =
        names.iter().enumerate().map(|(i, name)| (name.clone(), row(i))).collect();
    rows.retain(|(name, _)| keep(name));
    rows.sort();
    rows
}

/// Who stands first in the list of flows does not matter: two flows that change places change results. But to FQ-CoDel, whose hash is of the
/// flow's number, as Linux' is of addresses: which of equally long queues loses hangs on it.
#[test]
fn flows_in_another_order() {
    on_worlds(0.5, |world| {
        if world.numbers_flows() {
            return Ok(false);
        }
        let mut json = world.json(Told::PLAINLY);
        let Some(here) = tables(&json) else { return Ok(false) };
        json["flows"].as_array_mut().expect("a list").reverse();
        let Some(there) = tables(&json) else { return Ok(false) };
        for name in ["flows", "sessions", "applications"] {
            let (Some(one), Some(other)) = (table(&here, name), table(&there, name)) else { continue };
            prop_assert_eq!(by_name(one, |_| true), by_name(other, |_| true), "{}", world.json(Told::PLAINLY));
        }
        Ok(true)
    });
}

/// What happens elsewhere, on links or in air of its own, changes nothing here. Beside each world is the last of its kind. Left out is
/// the last hop of a Wi-Fi, which a network with a path apart cannot have; and background at an FQ-CoDel, whose hash is of a
/// connection's number: flows have theirs before it.
#[test]
fn a_world_apart() {
    let beside = std::cell::RefCell::new([None::<World>, None]);
    on_worlds(0.5, |world| {
        if world.has_wifi() || world.numbers_flows() && world.has_background() {
            return Ok(false);
        }
        let other = beside.borrow_mut()[usize::from(world.has_air())].replace(world.clone());
        let Some(other) = other else { return Ok(false) };
        let (Some(alone), Some(both)) = (world.apart(None), world.apart(Some(&other))) else { return Ok(false) };
        let (Some(here), Some(there)) = (tables(&alone), tables(&both)) else { return Ok(false) };
        for name in ["flows", "applications", "links", "stations"] {
            let (Some(one), Some(other)) = (table(&here, name), table(&there, name)) else { continue };
            let ours = |label: &str| label.starts_with("flow-");
            prop_assert_eq!(by_name(one, ours), by_name(other, ours), "{}", both);
        }
        Ok(true)
    });
}

/// The packets in their order at each place, with what happened to them there. Between places it is a matter of nanoseconds: a smoothed
/// RTT is one of whole ones.
fn at_each_place(tables: &[Table]) -> Vec<[String; 6]> {
    let packets = table(tables, "packets").expect("asked for");
    let column = |name| texts(&packets.columns.iter().find(|column| column.name == name).expect("a column").values);
    let columns = ["link", "event", "flow", "seq", "ack", "payload_bytes"].map(column);
    let mut rows: Vec<[String; 6]> =
        (0..columns[0].len()).map(|row| [0, 1, 2, 3, 4, 5].map(|k| columns[k][row].clone())).collect();
    rows.sort_by_key(|row| (row[..3].to_vec(), row[5] == "0")); // (stable; data and ACKs are at different hosts)
    rows
}

/// The first difference of two runs but for when things happen.
fn told_apart(one: &[Table], other: &[Table]) -> Option<String> {
    let packets = |tables| table(tables, "packets").expect("asked for");
    difference(packets(one), packets(other), 0, &["time_s"])?;
    let (one, other) = (at_each_place(one), at_each_place(other));
    let at = (0..one.len().max(other.len())).find(|i| one.get(*i) != other.get(*i))?;
    Some(format!("row {at}: {:?} and {:?}", one.get(at), other.get(at)))
}

/// What becomes of a run at another pace.
enum Paced {
    /// It is refused, or has what is left out.
    Untried,
    Same,
    /// Different, and so are those at paces that differ by almost nothing: something hangs on how times are rounded.
    ByAHair,
    Different(String),
}

/// Tells a world without what is absolute, but for `known`, at two paces.
fn at_another_pace(world: &World, known: Option<Absolute>) -> Paced {
    let Some(base) = scale::base(world, known) else { return Paced::Untried };
    let run = |k| tables(&scale::at(&base.source, Pace::Slower(k)));
    let k = scale::FACTORS[base.seed as usize % scale::FACTORS.len()];
    let (here, Some(there)) = (tables_of(&base), run(k)) else { return Paced::Untried };
    let Some(different) = told_apart(&here, &there) else { return Paced::Same };
    if scale::HAIRS.iter().any(|hair| run(1.0 + hair).is_none_or(|other| told_apart(&here, &other).is_some())) {
        return Paced::ByAHair;
    }
    Paced::Different(format!("{k} times as slow: {different}: {}", base.source))
}

/// Where everything takes so many times as long, and every rate is as much lower, the same packets are in the same order at each place.
#[test]
fn slower_and_faster() {
    let (hairs, cases) = (std::cell::Cell::new(0), worlds_to_try());
    on_worlds(0.6, |world| match at_another_pace(world, None) {
        Paced::Untried => Ok(false),
        Paced::Same => Ok(true),
        Paced::ByAHair => {
            hairs.set(hairs.get() + 1);
            Ok(false)
        }
        Paced::Different(how) => Err(TestCaseError::fail(how)),
    });
    assert!(hairs.get() <= cases / 50, "{} of {cases} scenarios hang on how times are rounded", hairs.get());
}

/// What is said to know a time or a rate as such does: some scenario with it is another at another pace.
#[test]
fn what_is_absolute() {
    for (known, why) in scale::ABSOLUTE.iter().filter(|(known, _)| !matches!(known, Absolute::Seldom(..))) {
        let another = |world: World| matches!(at_another_pace(&world, Some(*known)), Paced::Different(_));
        assert!(some_world(another), "{known:?} is said not to scale, because of {why}, and does");
    }
}
