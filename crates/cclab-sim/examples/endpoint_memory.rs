//! What a connection takes of memory, heap included: 20,000 of them, and what the process has grown by (Linux).
//!
//! `cargo run --release --example endpoint_memory`

use cclab_algo::Time;
use cclab_algo::cc::{self, Context};
use cclab_sim::tcp::{Config, Endpoint};
use std::sync::Arc;

const COUNT: usize = 20_000;

fn resident_kb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).unwrap_or(f64::NAN)
}

/// Makes so many of something; prints the bytes that each took.
fn measure<T>(what: &str, make: impl Fn() -> T) -> Vec<T> {
    let before = resident_kb();
    let made: Vec<T> = (0..COUNT).map(|_| make()).collect();
    println!("{what:40} {:6.0} bytes", (resident_kb() - before) * 1024.0 / COUNT as f64);
    made
}

fn main() {
    let config = Arc::new(Config::linux(1448));
    let law = || cc::find("cubic").expect("CUBIC is registered").make(&Context::new(1448), &[]).expect("no parameters");
    let now = Time(1_000_000_000);
    let receivers = measure("a receiver that waits", || Endpoint::listen(Arc::clone(&config), law()));
    let pairs = measure("a sender of 10 segments, and its receiver", || {
        let mut ends =
            [Endpoint::connect(Arc::clone(&config), law(), now), Endpoint::listen(Arc::clone(&config), law())];
        ends[0].write(now, u64::MAX);
        for side in [0, 1, 0] {
            while ends[side].info().packets_out == 0
                && let Some(segment) = ends[side].poll_transmit(now)
            {
                ends[1 - side].on_segment(now, &segment, false);
            }
        }
        while ends[0].poll_transmit(now).is_some() {}
        ends
    });
    let out = pairs[0][0].info().packets_out;
    println!("endpoint {} bytes; {} receivers; {out} segments in flight", size_of::<Endpoint>(), receivers.len());
}
