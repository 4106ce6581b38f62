//! Runs every script in `tests/timelines`; those in `failing/` must fail, at the place that they name.

use cclab_sim::script::run;
use std::fs;
use std::path::{Path, PathBuf};

fn scripts(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/timelines").join(folder);
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

#[test]
fn every_timeline_passes() {
    let mut failures = Vec::new();
    for path in scripts("") {
        let report = run(&fs::read_to_string(&path).expect("a readable script"), &name(&path));
        if !report.passed {
            failures.push(format!("{}:{}\n{}\n", report.name, report.line.unwrap_or(0), report.message));
        }
    }
    assert!(failures.is_empty(), "{} timelines fail:\n\n{}", failures.len(), failures.join("\n"));
}

/// Each script begins with a line `// fails at line N: message`, which proves that the interpreter can fail.
#[test]
fn every_failing_timeline_fails_where_it_says() {
    for path in scripts("failing") {
        let text = fs::read_to_string(&path).expect("a readable script");
        let head = text.lines().next().and_then(|line| line.strip_prefix("// fails at line "));
        let (line, message) = head.and_then(|head| head.split_once(": ")).expect("// fails at line N: message");
        let report = run(&text, &name(&path));
        assert!(!report.passed, "{} passes", report.name);
        assert_eq!(report.line, line.parse().ok(), "{}: {}", report.name, report.message);
        assert!(report.message.contains(message), "{}: {}", report.name, report.message);
    }
}
