//! The same scenario with the same seed gives the same result to the bit: twice, in threads, on every build.

#[path = "golden/text.rs"]
mod text;

use crate::support::*;
use cclab_algo::{Duration, Rate, Time, cc};
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, Recovery};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Datagrams through everything that a link can do to them: nothing here depends on TCP.
fn datagrams() -> Scenario {
    let change = |s, rate| Change {
        at: Time::ZERO + Duration::from_secs(s),
        rate: Some(Rate(rate)),
        delay: Some(ms(s)),
        up: None,
    };
    let losses = [
        LossModel::GilbertElliott { p: 0.01, r: 0.3, good: 0.001, bad: 0.4 },
        LossModel::Bernoulli { p: 0.01 },
        LossModel::Periodic { every: 97 },
    ];
    let there = Link {
        queue: Queue::DropTail { limit: Limit::Packets(20) },
        overhead: 18,
        loss: losses.map(|model| Loss { applies_to: AppliesTo::All, model }).to_vec(),
        loss_place: LossPlace::AfterLink,
        jitter: Some(Jitter::Exponential { mean: ms(1) }),
        reorder: Some(Reorder { probability: 0.02, delay: ms(7) }),
        duplicate: 0.01,
        schedule: vec![change(3, 1_000_000), change(5, 0), change(6, 9_999_991)],
        ..link("there", Some(6_666_667), ms(10))
    };
    let mut scenario = path(10.0, there, link("back", None, ms(10)));
    scenario.warmup = Duration::from_secs(1);
    let jittered = |flow| Flow { start_jitter: ms(300), send_jitter: ms(2), ..flow };
    scenario.flows = vec![jittered(cbr("a", 3_000_000, 1000)), jittered(cbr("b", 4_000_001, 333))];
    scenario.record = Record { samples: Sampling::OnChange, packets: true, frames: false, capture: None };
    scenario
}

/// Two TCP flows, with losses of data and ACKs.
fn connections() -> Scenario {
    let loss = |p| vec![Loss { applies_to: AppliesTo::All, model: LossModel::Bernoulli { p } }];
    let queue = Queue::DropTail { limit: Limit::Packets(30) };
    let there = Link { queue, loss: loss(0.002), ..link("there", Some(8_000_000), ms(20)) };
    let mut scenario = path(20.0, there, Link { loss: loss(0.01), ..link("back", Some(8_000_000), ms(20)) });
    let classic = bulk("classic", "newreno", Config::classic(1000, Recovery::NewReno));
    scenario.flows = vec![Flow { send_jitter: ms(1), ..classic }, bulk("linux", "cubic", Config::linux(1448))];
    scenario.record = Record {
        samples: Sampling::Every(ms(100)),
        packets: true,
        frames: false,
        capture: Some(Capture { point: Point::Sender, snaplen: Some(60) }),
    };
    scenario
}

#[test]
fn twice_and_in_threads_at_once() {
    for (scenario, name) in [(datagrams(), "datagrams"), (connections(), "connections")] {
        let first = run(&scenario);
        assert!(first.engine.data_packets > 1000 && !first.samples.time_s.is_empty() | (name == "datagrams"));
        let digest = first.digest();
        assert_eq!(digest, run(&scenario).digest(), "{name}, one after the other");
        let together: Vec<String> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| run(&scenario).digest())).collect();
            runs.into_iter().map(|thread| thread.join().expect("the run ends")).collect()
        });
        assert_eq!(together, [digest.clone(), digest.clone()], "{name}, at once");
        let other = cclab_sim::world::run(&scenario, 2).expect("it runs").digest();
        assert_ne!(digest, other, "{name}: another seed, another result");
    }
}

/// Taking pauses changes nothing.
#[test]
fn in_small_steps() {
    let scenario = connections();
    let mut sim = cclab_sim::world::Simulation::new(&scenario, scenario.seed).expect("it begins");
    let mut share = 0.0;
    while share < 1.0 {
        let next = sim.advance(7).expect("within budget");
        assert!(next >= share, "{next} after {share}");
        share = next;
    }
    assert_eq!(sim.finish().expect("conserved").digest(), run(&scenario).digest());
}

/// One flow of a law over a path with a short queue and some losses, as its paper or Linux would have it.
fn law(name: &str, config: Config) -> Scenario {
    let loss = vec![Loss { applies_to: AppliesTo::Data, model: LossModel::Bernoulli { p: 0.001 } }];
    let queue = Queue::DropTail { limit: Limit::Packets(20) };
    let there = Link { queue, loss, ..link("there", Some(8_000_000), ms(20)) };
    let mut scenario = path(10.0, there, link("back", None, ms(20)));
    scenario.flows = vec![bulk(name, name, config)];
    scenario.record.samples = Sampling::Every(ms(100));
    scenario
}

/// Classic, marked and scalable flows and datagrams, more than the link carries, through this queue.
fn queue(fields: &str) -> Scenario {
    let text = format!(
        "duration = '10 s'\n[network]\nrate = '10 Mbit/s'\nrtt = '30 ms'\nqueue = {{ {fields} }}\n\
         [[flows]]\ncc = 'cubic'\nquick_start = '5 Mbit/s'\n[[flows]]\ncc = 'reno'\necn = true\n\
         [[flows]]\ncc = 'prague'\n[[flows]]\ncc = 'xcp'\n[[flows]]\ncc = 'anti-ecn'\n\
         [[flows]]\nkind = 'cbr'\nrate = '3 Mbit/s'\npacket_size = '400 B'\nstart = '4 s'\nstop = '7 s'\n"
    );
    Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{fields}: {e}"))
}

/// What a queue may be told that makes another of it.
const QUEUES: &[(&str, &str)] = &[
    ("red/adaptive", "discipline = 'red', adaptive = true"),
    ("red/bytes", "discipline = 'red', min = '5 ms', max = '15 ms', by_size = true, gentle = false, wait = false"),
    ("step/time", "discipline = 'step', threshold = '10 ms', drop = false"),
    ("codel/threshold", "discipline = 'codel', ce_threshold = '3 ms', limit = '64 KiB'"),
    ("fq-codel/one", "discipline = 'fq-codel', flows = 1, ecn = false, limit = '30 packets'"),
    ("pie/linux", "discipline = 'pie', flavour = 'linux', estimator = 'rate'"),
    ("dualpi2/shifted", "discipline = 'dualpi2', scheduler = 'shifted'"),
];

/// All that have a digest: a law that is registered is among them, and so is a queue.
fn golden() -> Vec<(String, Scenario)> {
    let laws = cc::REGISTRY.iter().flat_map(|entry| {
        let name = entry.name;
        let classic = Config::classic(1000, Recovery::NewReno);
        [(format!("{name}/classic"), law(name, classic)), (format!("{name}/linux"), law(name, Config::linux(1448)))]
    });
    let registry = registry_json();
    let names = registry["queues"].as_array().expect("a list").iter().filter_map(|entry| entry["name"].as_str());
    let queues = names.map(|name| (format!("queue/{name}"), queue(&format!("discipline = '{name}'"))));
    let more = QUEUES.iter().map(|(name, fields)| (format!("queue/{name}"), queue(fields)));
    let first = [("datagrams".into(), datagrams()), ("connections".into(), connections())];
    first.into_iter().chain(laws).chain(queues).chain(more).collect()
}

/// What is in a file of `golden`, or `found` after it is written there, if `CCLAB_GOLDEN=write` asks for it.
fn kept(file: &str, found: &str) -> String {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("CCLAB_GOLDEN").is_some_and(|wish| wish == "write") {
        std::fs::write(&path, found).expect("can be written");
    }
    std::fs::read_to_string(&path).unwrap_or_default()
}

const HOW: &str = "if that is meant: CCLAB_GOLDEN=write cargo test -p cclab-sim --test all determinism::";

/// The digests in `golden/digests.txt`, from debug and release builds and from every machine.
#[test]
fn as_on_every_other_machine_and_build() {
    let digest = |scenario: &Scenario| {
        let mut result = run(scenario);
        result.engine.events = 0;
        result.capture = None;
        result.digest()
    };
    let digests: Vec<String> = golden().iter().map(|(name, s)| format!("{name} {}", digest(s))).collect();
    let found = format!(
        "# Digests of whole results, compared by tests/determinism.rs in debug and release builds: every column of the\n\
         # datagrams, of two TCP flows, of one flow of each registered law, as its paper or as Linux would have it, and of\n\
         # mixed flows over each registered queue. Left out are the number of events, which a better engine may change,\n\
         # and the capture, which names the version. They prove that a result is unchanged, not that it is right: where a\n\
         # change is meant, the commit says why the numbers change.\n{}\n",
        digests.join("\n")
    );
    let expected = kept("digests.txt", &found);
    let changed: Vec<&str> = found.lines().filter(|line| !expected.lines().any(|known| known == *line)).collect();
    assert!(found == expected, "{HOW}; changed:\n{}\n", changed.join("\n"));
}

/// The tables in `golden/*.txt`, for people: what a digest says has changed can be read there.
#[test]
fn as_the_tables_say() {
    let mut groups: Vec<(&str, Vec<_>)> =
        ["datagrams", "connections", "laws", "queues"].into_iter().map(|group| (group, vec![])).collect();
    for (name, scenario) in golden() {
        let mut result = run(&scenario);
        result.engine.events = 0; // a better engine may change them
        let group = match name.split_once('/') {
            None => name.as_str(),
            Some(("queue", _)) => "queues",
            Some(_) => "laws",
        };
        let (_, runs) = groups.iter_mut().find(|(known, _)| *known == group).expect("a group");
        runs.push((name, result.into_tables()));
    }
    let mut changed = Vec::new();
    for (group, runs) in groups {
        let found = format!("# Results of tests/determinism.rs, rounded, for people.\n\n{}", text::told(&runs));
        let expected = kept(&format!("{group}.txt"), &found);
        changed.extend(text::differences(&expected, &found).into_iter().map(|cell| format!("{group}.txt: {cell}")));
    }
    let count = changed.len();
    changed.truncate(40);
    assert!(count == 0, "{count} cells differ; {HOW}\n{}", changed.join("\n"));
}

/// A difference is told by its cell; a column that was the same in all rows and is no longer, too.
#[test]
fn differences_are_told_by_cell() {
    let tables = |drops: [u64; 2]| {
        let mut result = run(&connections());
        result.links.drops.copy_from_slice(&drops);
        vec![("a".to_string(), result.clone().into_tables()), ("b".to_string(), result.into_tables())]
    };
    let was = text::told(&tables([3, 4]));
    assert_eq!(text::differences(&was, &was), [""; 0]);
    let expected = ["links a[1] drops: 5, was 4", "links b[1] drops: 5, was 4"];
    assert_eq!(text::differences(&was, &text::told(&tables([3, 5]))), expected);
    let same = text::differences(&was, &text::told(&tables([3, 3])));
    assert!(same.contains(&"links *[0] drops: 3, was nothing".to_string()), "{same:?}");
}
