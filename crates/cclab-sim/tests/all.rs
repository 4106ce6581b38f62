//! The tests of the whole simulator in one program, which is linked once and keeps every core busy to its end. One file:
//! `cargo test -p cclab-sim --test all queues::`. Alone stands `many_flows.rs`, which measures the memory of its process.

mod ad_hoc;
mod agreement;
mod applications;
mod clock;
mod cubic;
mod delay_based;
mod delay_laws;
mod determinism;
mod explicit;
mod fuzz;
mod high_speed;
mod long_paths;
mod measurement;
mod medium;
mod metamorphic;
mod multipath;
mod muzha;
mod network;
mod notices;
mod properties;
mod queue_conformance;
mod queues;
mod rate_laws;
mod reference;
mod scenarios;
mod support;
mod timelines;
mod traces;
mod traffic;
mod tunnels;

/// A file that is forgotten above is a test that nobody runs.
#[test]
fn every_file_is_here() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).expect("this folder") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let alone = ["all", "many_flows"].contains(&name);
        if path.extension().is_some_and(|ending| ending == "rs") && !alone {
            assert!(include_str!("all.rs").contains(&format!("\nmod {name};\n")), "mod {name}; is not in tests/all.rs");
        }
    }
}
