//! What two endpoints cost per data segment, alone: a bottleneck that spaces segments, a fixed delay each way,
//! no engine, no recording.
//!
//! `cargo run --release --example endpoint_speed [CASE]`; CPU time of this process (Linux).

use cclab_algo::cc::{self, CongestionControl, Context};
use cclab_algo::{Duration, Time};
use cclab_sim::tcp::{Config, Endpoint};
use cclab_sim::wire::Segment;
use std::collections::VecDeque;

/// Segments on their way, in order of arrival.
type Wire = VecDeque<(Time, Segment)>;

struct Case {
    name: &'static str,
    /// Window at which slow start ends, segments; `None`: it overshoots.
    ssthresh: Option<u64>,
    /// Every n-th data segment is lost.
    lose_every: u64,
    seconds: u64,
}

/// 800 Mbit/s, 100 ms, as much queue.
const SERVICE: Duration = Duration(15_000);
const DELAY: Duration = Duration::from_millis(50);
const QUEUE: u64 = 6_667;

fn law(config: &Config) -> Box<dyn CongestionControl> {
    let cx = Context { initial_ssthresh: config.initial_ssthresh, ..Context::new(config.mss) };
    cc::find("reno").expect("Reno is registered").make(&cx, &[]).expect("no parameters")
}

fn cpu_ns() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    schedstat.split(' ').next().and_then(|s| s.parse().ok()).unwrap_or(f64::NAN)
}

fn run(case: &Case) {
    let mut config = Config::linux(1448);
    config.initial_ssthresh = case.ssthresh.map(|w| w * 1448);
    let mut now = Time(1_000_000_000);
    let end = now + Duration::from_secs(case.seconds);
    let mut ends =
        [Endpoint::connect(config.clone(), law(&config), now), Endpoint::listen(config.clone(), law(&config))];
    ends[0].write(now, u64::MAX);
    let mut wires: [Wire; 2] = [Wire::new(), Wire::new()];
    let (mut free_at, mut count, mut dropped) = (now, 0_u64, 0_u64);
    let start = cpu_ns();
    loop {
        for side in 0..2 {
            while let Some(segment) = ends[side].poll_transmit(now) {
                if segment.len == 0 {
                    wires[1 - side].push_back((now + DELAY, segment));
                    continue;
                }
                count += 1;
                let full = free_at.since(now).0 > QUEUE * SERVICE.0;
                if full || (case.lose_every > 0 && count % case.lose_every == 0) {
                    dropped += 1;
                    continue;
                }
                free_at = free_at.max(now) + SERVICE;
                wires[1 - side].push_back((free_at + DELAY, segment));
            }
        }
        let timers = [ends[0].next_timer(), ends[1].next_timer()];
        let arrivals = [0, 1].map(|side: usize| wires[side].front().map_or(Time::NEVER, |w| w.0));
        let next = timers.into_iter().chain(arrivals).min().expect("four of them");
        if next > end {
            break;
        }
        now = now.max(next);
        for side in 0..2 {
            if arrivals[side] == next {
                let (_, segment) = wires[side].pop_front().expect("it arrives");
                ends[side].on_segment(now, &segment, false);
            } else if timers[side] == next {
                ends[side].on_timer(now);
            }
        }
    }
    let cpu = cpu_ns() - start;
    let stats = ends[0].stats();
    println!(
        "{:<12} {count:>9} segments {:>7.1} ns each; {dropped} lost, {} sent again, {} recoveries, {} timeouts, {:.1} Mbit/s",
        case.name,
        cpu / count as f64,
        stats.segments_retransmitted,
        stats.recoveries,
        stats.timeouts,
        ends[1].stats().bytes_received as f64 * 8e-6 / case.seconds as f64,
    );
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let cases = [
        Case { name: "clean", ssthresh: Some(9_000), lose_every: 0, seconds: 60 },
        Case { name: "overshoot", ssthresh: None, lose_every: 0, seconds: 10 },
        Case { name: "random-1e-3", ssthresh: Some(9_000), lose_every: 1009, seconds: 60 },
        Case { name: "random-1e-2", ssthresh: Some(9_000), lose_every: 101, seconds: 60 },
    ];
    cases.iter().filter(|c| c.name.contains(&wanted)).for_each(run);
}
