//! Whatever a file says, there is a result or a sentence, soon: never a panic, a hang or a crash.
//!
//! Scenarios and scripts are those of `tests/corpus`, which once went wrong, then mutations of these and of everything in
//! `tests/scenarios` and `tests/timelines`, for `CCLAB_FUZZ_SECONDS` (20). `CCLAB_FUZZ_SEED` (0) gives others. What goes wrong is printed
//! whole, and belongs into the corpus.

use cclab_algo::rng::Stream;
use cclab_sim::scenario::Scenario;
use cclab_sim::{script, world};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A single input that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The files with this ending in a folder of `tests`, by name.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("it is there").map(|f| f.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("text")).collect()
}

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// What numbers become.
const EXTREMES: [&str; 14] = [
    "0",
    "1",
    "2",
    "-1",
    "0.01",
    "1e-9",
    "1e9",
    "1e308",
    "255",
    "65536",
    "1000000",
    "4294967295",
    "9223372036854775807",
    "18446744073709551616",
];

/// Some text with one to four changes; `pool` is where pieces come from.
fn mutated(text: &str, pool: &[String], rng: &mut Stream) -> String {
    let mut text = text.to_owned();
    for _ in 0..=rng.below(4) {
        let other = &pool[rng.below(pool.len() as u64) as usize];
        text = match rng.below(7) {
            0 | 1 => replaced(&text, number, |_, rng| EXTREMES[rng.below(EXTREMES.len() as u64) as usize].into(), rng),
            2 | 3 => {
                let word = |rng: &mut Stream| {
                    piece(other, quoted, rng).map_or(String::new(), |(from, to)| other[from..to].into())
                };
                replaced(&text, quoted, |_, rng| word(rng), rng)
            }
            4 => replaced(&text, line, |_, _| String::new(), rng),
            5 => replaced(&text, line, |line, _| line.repeat(2), rng),
            _ => {
                let more = |rng: &mut Stream| {
                    piece(other, line, rng).map_or(String::new(), |(from, to)| other[from..to].into())
                };
                replaced(&text, line, |line, rng| format!("{line}{}", more(rng)), rng)
            }
        };
    }
    if rng.chance(0.1) {
        let letters = ["\"", "[", "]", "{", "=", ",", "\u{202e}", "\n", "#", "(", "<", ".", "+", "\t"];
        let at = (0..=text.len()).rev().find(|at| text.is_char_boundary(*at) && rng.chance(0.01)).unwrap_or(0);
        text.insert_str(at, letters[rng.below(letters.len() as u64) as usize]);
    }
    text
}

/// Where a piece that begins at a byte ends, if one does.
type Piece = fn(&str, usize) -> Option<usize>;

fn number(text: &str, at: usize) -> Option<usize> {
    let (bytes, of) = (text.as_bytes(), |b: &u8| b.is_ascii_digit() || *b == b'.');
    let begins = bytes[at].is_ascii_digit() && at.checked_sub(1).is_none_or(|before| !of(&bytes[before]));
    begins.then(|| at + bytes[at..].iter().take_while(|b| of(b)).count())
}
fn quoted(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix('"')?;
    Some(at + 2 + rest.find(['"', '\n']).filter(|end| rest[*end..].starts_with('"'))?)
}
fn line(text: &str, at: usize) -> Option<usize> {
    let begins = at == 0 || text.as_bytes()[at - 1] == b'\n';
    begins.then(|| text[at..].find('\n').map_or(text.len(), |end| at + end + 1))
}

/// One of the pieces of a text.
fn piece(text: &str, of: Piece, rng: &mut Stream) -> Option<(usize, usize)> {
    let all: Vec<_> = text.char_indices().filter_map(|(at, _)| Some((at, of(text, at)?))).collect();
    (!all.is_empty()).then(|| all[rng.below(all.len() as u64) as usize])
}

fn replaced(text: &str, of: Piece, by: impl Fn(&str, &mut Stream) -> String, rng: &mut Stream) -> String {
    let Some((from, to)) = piece(text, of, rng) else { return text.into() };
    format!("{}{}{}", &text[..from], by(&text[from..to], rng), &text[to..])
}

/// Tries the corpus, then mutations of it and of `more`, as long as there is time.
#[expect(clippy::disallowed_methods, reason = "the time that there is")]
fn fuzz(name: &'static str, corpus: Vec<String>, more: Vec<String>, attempt: fn(&str)) {
    let (begun, done) = channel::<String>();
    std::thread::spawn(move || {
        let mut last = String::new();
        loop {
            match done.recv_timeout(PATIENCE) {
                Ok(input) => last = input,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("this takes more than {} s:\n{last}", PATIENCE.as_secs());
                    std::process::exit(101);
                }
            }
        }
    });
    let tried = |input: &str| {
        begun.send(input.into()).expect("somebody watches");
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| attempt(input))) {
            eprintln!("{name} that went wrong:\n{input}");
            resume_unwind(panic);
        }
    };
    corpus.iter().for_each(|input| tried(input));
    let pool = [more.clone(), corpus.clone()].concat();
    let mut rng = Stream::new(variable("CCLAB_FUZZ_SEED", 0), name);
    let (start, time, mut count) = (Instant::now(), Duration::from_secs(variable("CCLAB_FUZZ_SECONDS", 20)), 0);
    while start.elapsed() < time {
        let from = if rng.chance(0.2) { &corpus } else { &more }; // what went wrong takes its time
        let input = &from[rng.below(from.len() as u64) as usize];
        tried(&mutated(input, &pool, &mut rng));
        count += 1;
    }
    println!("{count} mutations");
}

/// Refused with the field, or its normal form is the same scenario, and it runs: to its end, or as far as its budgets go.
fn scenario(text: &str) {
    let mut scenario = match Scenario::from_toml(text) {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(error.mistakes.iter().all(|mistake| !mistake.message.is_empty()) && !error.mistakes.is_empty());
            return;
        }
    };
    let again = Scenario::from_json(&scenario.source).unwrap_or_else(|e| panic!("its normal form is refused: {e}"));
    assert_eq!(again.source, scenario.source, "its normal form has another one");
    if scenario.flows.len() + scenario.nodes.len() > 5000 {
        return; // takes its time, as it should
    }
    scenario.max_events = scenario.max_events.min(10_000);
    match world::run(&scenario, scenario.seed) {
        Ok(_) | Err(world::Error::Budget { .. } | world::Error::Memory { .. } | world::Error::Unconnected(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn scenarios() {
    fuzz("scenario", files("corpus/scenarios", "toml"), files("scenarios", "toml"), scenario);
}

#[test]
fn scripts() {
    fuzz("script", files("corpus/scripts", "pkt"), files("timelines", "pkt"), |text| {
        let report = script::run(text, "mutated");
        assert_eq!(report.passed, report.message.is_empty(), "a script that fails says why");
    });
}
