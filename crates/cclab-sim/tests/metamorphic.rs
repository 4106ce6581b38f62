//! What must not matter does not: the same experiment, told differently, gives the same numbers.

mod support;

use cclab_algo::cc;
use cclab_sim::app::Flows;
use cclab_sim::scenario::Scenario;
use support::*;

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
