//! Connections over several paths.

mod support;

use cclab_sim::scenario::Scenario;
use cclab_sim::world::RunResult;
use support::run;

/// Two disjoint paths from `a` to `b`, of these rates (Mbit/s) and RTTs (ms), and a flow over both with these fields.
fn two_paths(paths: [(f64, u32); 2], seconds: u32, flow: &str) -> RunResult {
    let [first, second] = paths.map(|(rate, rtt)| format!("rate = '{rate} Mbit/s', delay = '{} us'", rtt * 250));
    let links = |via: &str, link: &str| {
        format!("{{ from = 'a', to = '{via}', {link} }}, {{ from = '{via}', to = 'b', {link} }}")
    };
    let toml = format!(
        "duration = '{seconds} s'\nwarmup = '{} s'\nrecord = {{ samples = 'off' }}\n\
         network = {{ topology = 'custom', nodes = ['a', 'x', 'y', 'b'], links = [{}, {}] }}\n\
         [[flows]]\npaths = [['a', 'x', 'b'], ['a', 'y', 'b']]\n{flow}",
        seconds / 5,
        links("x", &first),
        links("y", &second),
    );
    run(&Scenario::from_toml(&toml).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn both_paths_are_used() {
    for scheduler in ["min-rtt", "round-robin"] {
        let result = two_paths([(10.0, 40), (10.0, 40)], 20, &format!("cc = 'reno'\nscheduler = '{scheduler}'"));
        let session = result.sessions.row(0);
        // 1428 of 1500 bytes are payload beside a DSS option.
        let most = 2.0 * 10e6 * 1428.0 / 1500.0;
        assert!((0.9..=1.0).contains(&(session.goodput_bps / most)), "{scheduler}: {session:?}");
        assert_eq!((session.duplicate_bytes, session.reinjected_bytes), (0, 0));
    }
}
