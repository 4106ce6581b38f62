//! What a flow costs does not grow with how many there are, but for the caches.

#![cfg(target_os = "linux")]

use cclab_sim::scenario::Scenario;

/// CPU time of this thread, ns.
fn cpu_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("its first number is a time")
}

/// CPU time of each of so many flows, ns: scenario, run and result. They share what 100 kbit/s for each come to.
fn cost(flows: u64) -> u64 {
    let before = cpu_time();
    let text = format!(
        "duration = '300 ms'\nnetwork = {{ rate = '{} kbit/s', rtt = '50 ms' }}\nrecord = {{ samples = 'off' }}\n\
         flows = [{{ cc = 'cubic', count = {flows} }}]",
        100 * flows
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}"));
    let result = cclab_sim::world::run(&scenario, scenario.seed).unwrap_or_else(|e| panic!("{e}"));
    assert!(result.engine.events > 3 * flows, "each has begun");
    (cpu_time() - before) / flows
}

/// The most memory that this process has had, bytes.
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|kb| kb.split_whitespace().next()?.parse::<u64>().ok()).expect("it is in kB") * 1024
}

/// Where something is done for each pair of flows, each of 30,000 costs 30 times what each of 1000 does. The caches may make a
/// factor of two to three. And the most memory that one of many takes, with what its scenario and its result take, is 8 KiB.
#[test]
fn one_of_many_flows_costs_little_more_than_one_of_few() {
    let few = (0..3).map(|_| cost(1000)).min().expect("three");
    let many = cost(30_000);
    println!("{few} ns a flow of 1000, {many} ns a flow of 30,000");
    assert!(many < 6 * few, "{few} ns a flow of 1000, {many} ns a flow of 30,000");
    let bytes = peak() / 30_000;
    assert!(bytes < 8192, "{bytes} bytes a flow");
}
