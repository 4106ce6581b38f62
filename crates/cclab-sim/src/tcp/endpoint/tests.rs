//! Two endpoints over a pipe of fixed delay.

use super::*;
use cclab_algo::cc::{self, Context};
use std::collections::BTreeMap;

/// Two endpoints, a delay each way, and a verdict on every segment.
pub(super) struct Pipe {
    pub now: Time,
    pub ends: [Endpoint; 2],
    flying: BTreeMap<(Time, u64), (usize, Segment)>,
    count: u64,
    pub delay: Duration,
}

/// What becomes of a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Drop,
}

pub(super) fn law(config: &Config) -> Box<dyn CongestionControl> {
    let cx = Context {
        initial_window: config.initial_window,
        initial_ssthresh: config.initial_ssthresh,
        flavour: config.flavour,
        ..Context::new(config.mss)
    };
    cc::find("reno").unwrap().make(&cx, &[]).unwrap()
}

impl Pipe {
    pub fn new(config: &Config) -> Pipe {
        let now = Time(1_000_000_000);
        Pipe {
            now,
            ends: [Endpoint::connect(config.clone(), law(config), now), Endpoint::listen(config.clone(), law(config))],
            flying: BTreeMap::new(),
            count: 0,
            delay: Duration::from_millis(50),
        }
    }

    fn flush(&mut self, verdict: &mut dyn FnMut(usize, &Segment) -> Verdict) {
        for side in 0..2 {
            while let Some(segment) = self.ends[side].poll_transmit(self.now) {
                if verdict(side, &segment) == Verdict::Pass {
                    self.count += 1;
                    self.flying.insert((self.now + self.delay, self.count), (1 - side, segment));
                }
            }
        }
    }

    /// Runs until `until` or until nothing is due.
    pub fn run(&mut self, until: Time, verdict: &mut dyn FnMut(usize, &Segment) -> Verdict) {
        self.flush(verdict);
        loop {
            let timer = self.ends[0].next_timer().min(self.ends[1].next_timer());
            let arrival = self.flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let next = timer.min(arrival);
            if next > until || next == Time::NEVER {
                self.now = until;
                return;
            }
            self.now = self.now.max(next);
            if arrival <= timer {
                let (_, (side, segment)) = self.flying.pop_first().unwrap();
                self.ends[side].on_segment(self.now, &segment, false);
            } else {
                self.ends.iter_mut().for_each(|e| e.on_timer(self.now));
            }
            self.flush(verdict);
        }
    }
}

#[test]
fn a_transfer_completes_and_closes() {
    for config in [Config::linux(1448), Config::classic(1000, super::super::Recovery::NewReno)] {
        let mut pipe = Pipe::new(&config);
        pipe.ends[0].write(pipe.now, 1_000_000);
        pipe.ends[0].close(pipe.now);
        pipe.run(Time(20_000_000_000), &mut |_, _| Verdict::Pass);
        assert_eq!(pipe.ends[1].stats().bytes_received, 1_000_000);
        assert_eq!(pipe.ends[0].stats().bytes_acked, 1_000_000);
        assert_eq!(pipe.ends[0].state(), State::FinWait2);
        pipe.ends[1].close(pipe.now);
        pipe.run(Time(200_000_000_000), &mut |_, _| Verdict::Pass);
        assert_eq!((pipe.ends[0].state(), pipe.ends[1].state()), (State::Closed, State::Closed));
    }
}

#[test]
fn newreno_repairs_one_loss_without_a_timeout() {
    let config = Config::classic(1000, super::super::Recovery::NewReno);
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].write(pipe.now, 200_000);
    pipe.ends[0].close(pipe.now);
    let mut sent = 0;
    pipe.run(Time(20_000_000_000), &mut |side, segment| {
        sent += u64::from(side == 0 && segment.len > 0);
        if side == 0 && segment.len > 0 && sent == 50 { Verdict::Drop } else { Verdict::Pass }
    });
    assert_eq!(pipe.ends[1].stats().bytes_received, 200_000);
    let stats = pipe.ends[0].stats();
    assert_eq!((stats.timeouts, stats.recoveries, stats.segments_retransmitted), (0, 1, 1));
}
