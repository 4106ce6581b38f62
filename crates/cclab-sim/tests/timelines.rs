//! Runs every script in `tests/timelines`; those in `tests/timelines-failing` must fail, at the place that they name.

use cclab_sim::script::run;
use std::fs;
use std::path::{Path, PathBuf};

fn scripts(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let entries = fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pkt"));
    paths.sort();
    assert!(!paths.is_empty(), "no scripts in {}", root.display());
    paths
}

fn name(path: &Path) -> String {
    path.file_name().expect("a script is a file").to_string_lossy().into_owned()
}

/// A script of the project says every packet, unless it says that it does not.
fn strict(text: &str) -> String {
    format!("// cclab: every_packet = true\n{text}")
}

#[test]
fn every_timeline_passes() {
    let mut failures = Vec::new();
    for path in scripts("timelines") {
        // Virtual time is exact: what a real kernel needs of tolerance is not granted.
        let text = format!("--tolerance_percent=0\n{}", fs::read_to_string(&path).expect("a readable script"));
        let report = run(&strict(&text), &name(&path));
        if !report.passed {
            failures.push(format!("{}:{}\n{}\n", report.name, report.line.unwrap_or(2) - 2, report.message));
        }
    }
    assert!(failures.is_empty(), "{} timelines fail:\n\n{}", failures.len(), failures.join("\n"));
}

/// Whether a head says where its times and packets can be looked up: a clause of an RFC, a name in Linux's source or among its settings,
/// what a kernel of a version did when it was asked, a page of the manual, or a function of POSIX.
fn names_a_source(head: &str) -> bool {
    let words: Vec<&str> = head.split_whitespace().collect();
    let bare: Vec<&str> =
        words.iter().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && !"_§".contains(c))).collect();
    let clause = |place: &str| place.starts_with('§') || ["section", "appendix", "table", "figure"].contains(&place);
    let rfc = bare.windows(3).any(|w| w[0] == "RFC" && w[1].parse::<u32>().is_ok() && clause(w[2]));
    let linux = |word: &str| word == "Linux" || word == "Linux's";
    let after_linux = |f: &dyn Fn(&str) -> bool| bare.windows(2).any(|w| linux(w[0]) && f(w[1]));
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
    let name = |word: &&str| word.contains('_') && word.chars().all(lower);
    let source = bare.iter().any(|word| linux(word)) && bare.iter().any(name)
        || after_linux(&|word| word.contains('_') || word.starts_with("Documentation/"));
    let version = |word: &str| word.split('.').count() == 2 && word.split('.').all(|part| part.parse::<u32>().is_ok());
    let asked = after_linux(&|word| version(word.trim_end_matches("'s")))
        && ["on a TUN device", "captures of"].iter().any(|how| head.contains(how));
    let page = |word: &&str| {
        let page = word.trim_start_matches('(').split_once('(').filter(|(name, _)| !name.is_empty());
        page.is_some_and(|(_, section)| ["2)", "7)", "8)"].iter().any(|of| section.starts_with(of)))
    };
    let posix = words.windows(2).any(|w| w[0].trim_matches('(') == "POSIX" && w[1].contains("()"));
    rfc || source || asked || words.iter().any(page) || posix
}

#[test]
fn every_timeline_names_its_source() {
    for enough in [
        "(RFC 5681 §3.1).",
        "RFC 9768 table 2",
        "Linux tcp_fin.",
        "tcp_frto = 0 (Linux ip-sysctl)",
        "Linux FLAG_TS_PROGRESS",
        "Linux 6.18's captures of",
        "(tcp(7)).",
        "POSIX recv().",
    ] {
        assert!(names_a_source(enough), "{enough}");
    }
    for vague in
        ["Linux does so", "Linux 6.18", "as measured on a TUN device", "RFC 5681", "RFC 5681 says", "POSIX: EBADF"]
    {
        assert!(!names_a_source(vague), "{vague}");
    }
    for path in scripts("timelines") {
        let text = fs::read_to_string(&path).expect("a readable script");
        let comment = |line: &&str| line.starts_with("//") && !line.starts_with("// cclab:");
        let head = text.lines().take_while(comment).collect::<Vec<_>>().join(" ").replace("//", "");
        assert!(names_a_source(&head), "{}: what is it checked against? {head}", name(&path));
    }
}

/// Each script begins with a line `// fails at line N: message`, which proves that the interpreter can fail.
#[test]
fn every_failing_timeline_fails_where_it_says() {
    for path in scripts("timelines-failing") {
        let text = fs::read_to_string(&path).expect("a readable script");
        let head = text.lines().next().and_then(|line| line.strip_prefix("// fails at line "));
        let (line, message) = head.and_then(|head| head.split_once(": ")).expect("// fails at line N: message");
        let report = run(&text, &name(&path));
        assert!(!report.passed, "{} passes", report.name);
        assert_eq!(report.line, line.parse().ok(), "{}: {}", report.name, report.message);
        assert!(report.message.contains(message), "{}: {}", report.name, report.message);
    }
}

/// What a script says, changed in one place: each kind of change, and where it can be made in `line`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mutation {
    Sequence,
    Length,
    Ack,
    Flags,
    Time,
    Window,
    Options,
    Dropped,
    Doubled,
    Value,
}

const MUTATIONS: [Mutation; 10] = [
    Mutation::Sequence,
    Mutation::Length,
    Mutation::Ack,
    Mutation::Flags,
    Mutation::Time,
    Mutation::Window,
    Mutation::Options,
    Mutation::Dropped,
    Mutation::Doubled,
    Mutation::Value,
];

/// `line` with the number after `before` one higher.
fn raised(line: &str, before: &str) -> Option<String> {
    let start = line.find(before)? + before.len();
    let length = line[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len() - start);
    let number: u64 = line[start..start + length].parse().ok()?;
    Some(format!("{}{}{}", &line[..start], number + 1, &line[start + length..]))
}

impl Mutation {
    fn of(self, line: &str) -> Option<String> {
        if self == Mutation::Value {
            // An equality of numbers.
            return line.contains("%{").then(|| raised(line, "== ")).flatten();
        }
        let (time, packet) = line.split_once(" > ")?;
        let packet = packet.split(" //").next()?.trim();
        let (flags, rest) = packet.split_once(' ').filter(|_| !packet.starts_with('['))?;
        let syn = flags.starts_with('S');
        let (range, more) = rest.trim().split_once(')')?;
        let (start, length) = range.split_once('(')?;
        let start: u64 = start.split(':').next()?.parse().ok()?;
        let length: u64 = length.parse().ok()?;
        let with = |flags: &str, start: u64, length: u64, more: &str| {
            Some(format!("{time} > {flags} {start}:{}({length}){more}", start + length))
        };
        match self {
            // The numbers of a SYN are the script's to choose.
            Mutation::Sequence if !syn => with(flags, start + 1, length, more),
            Mutation::Length if !syn => with(flags, start, length + 1, more),
            Mutation::Ack => with(flags, start, length, &raised(more, " ack ")?),
            Mutation::Flags if flags.contains('F') => with(&flags.replace('F', ""), start, length, more),
            Mutation::Flags => with(&format!("F{flags}"), start, length, more),
            Mutation::Time if !time.contains(['~', '*']) => {
                let digits = time.trim().trim_start_matches('+');
                let late = digits.parse::<f64>().ok()? * 1.2 + 0.006;
                let sign = if time.trim().starts_with('+') { "+" } else { "" };
                Some(format!("{sign}{late} > {packet}"))
            }
            Mutation::Window => match raised(more, " win ") {
                Some(more) => with(flags, start, length, &more),
                None => more.strip_prefix(" ack ").and_then(|more| {
                    let (ack, more) = more.split_once(' ').unwrap_or((more, ""));
                    with(flags, start, length, &format!(" ack {ack} win 64001 {more}"))
                }),
            },
            Mutation::Options if packet.ends_with("<...>") => None,
            Mutation::Options => match packet.split_once(" <") {
                Some((before, _)) => Some(format!("{time} > {before}")),
                None => Some(format!("{time} > {packet} <mss 999>")),
            },
            // Its time passes all the same: else the script could say the same, earlier.
            Mutation::Dropped if !time.contains(['~', '*']) => Some(format!("{time} %{{ assert 1 == 1 }}%")),
            Mutation::Doubled => Some(format!("{line}\n+0 > {packet}")),
            _ => None,
        }
    }
}

/// A script that passes fails as soon as it says anything else: each kind of change, made in turn on every line that has
/// room for it, in twenty scripts that have, spread over the alphabet and with it over what scripts are about.
#[test]
fn a_changed_script_fails() {
    let texts: Vec<(String, String)> = scripts("timelines")
        .iter()
        .map(|path| (name(path), fs::read_to_string(path).expect("a readable script")))
        .collect();
    for mutation in MUTATIONS {
        let mutants_of = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            // Without its last packet a script ends before that is sent.
            let matters =
                |i: usize| mutation != Mutation::Dropped || lines[i + 1..].iter().any(|line| line.contains(" > "));
            let changed = (0..lines.len()).filter_map(|i| Some((i, mutation.of(lines[i])?)));
            changed.filter(|(i, _)| matters(*i)).collect::<Vec<_>>()
        };
        let strict_ones = texts.iter().filter(|(_, text)| !text.contains("every_packet = false"));
        let with_room: Vec<_> = strict_ones.filter(|(_, text)| !mutants_of(text).is_empty()).collect();
        assert!(with_room.len() >= 20, "{mutation:?}: only {} scripts", with_room.len());
        for n in 0..20 {
            let (name, text) = with_room[n * with_room.len() / 20];
            for (i, line) in mutants_of(text) {
                let mut mutant: Vec<&str> = text.lines().collect();
                mutant[i] = &line;
                let report = run(&strict(&mutant.join("\n")), name);
                assert!(!report.passed, "{mutation:?}: {name} passes with line {}: {line}", i + 1);
            }
        }
    }
}
