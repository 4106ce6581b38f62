//! Two endpoints over a pipe of fixed delay, with a verdict on every segment.

use super::super::{Ecn, Pacing, Recovery};
use super::*;
use cclab_algo::cc::{self, Context};
use cclab_algo::params::Flavour;
use cclab_algo::rng::Stream;
use proptest::prelude::*;
use std::collections::BTreeMap;

mod standby;

/// Two endpoints and a delay each way. Side 0 connects, side 1 listens.
struct Pipe {
    now: Time,
    ends: [Endpoint; 2],
    flying: BTreeMap<(Time, u64), (usize, Segment, bool)>,
    count: u64,
    delay: Duration,
    steps: u64,
    /// Every data segment that side 0 sent: when, first offset, and whether it was a retransmission.
    sent: Vec<(Time, u64, bool)>,
    /// Shortest RTT sample of side 0.
    shortest: Duration,
}

/// What becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Drop,
    Late(Duration),
    Twice,
    Mark,
}
use Verdict::{Drop, Late, Mark, Pass, Twice};

const START: Time = Time(1_000_000_000);
const ALL: [Recovery; 5] = [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack];

fn at(seconds: f64) -> Time {
    START + Duration::from_secs_f64(seconds)
}
fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn law(config: &Config) -> Box<dyn CongestionControl> {
    law_called("reno", config)
}

fn law_called(name: &str, config: &Config) -> Box<dyn CongestionControl> {
    let cx = Context {
        initial_window: config.initial_window,
        initial_ssthresh: config.initial_ssthresh,
        flavour: config.flavour,
        ..Context::new(config.mss)
    };
    cc::find(name).unwrap().make(&cx, &[]).unwrap()
}

impl Pipe {
    fn new(config: &Config) -> Pipe {
        Pipe::with_peer(config, config)
    }

    fn with_peer(config: &Config, peer: &Config) -> Pipe {
        Pipe {
            now: START,
            ends: [Endpoint::connect(config.clone(), law(config), START), Endpoint::listen(peer.clone(), law(peer))],
            flying: BTreeMap::new(),
            count: 0,
            delay: ms(50),
            steps: 0,
            sent: Vec::new(),
            shortest: Duration::MAX,
        }
    }

    fn put(&mut self, to: usize, segment: Segment, extra: Duration, marked: bool) {
        self.count += 1;
        self.flying.insert((self.now + self.delay + extra, self.count), (to, segment, marked));
    }

    fn flush(&mut self, verdict: &mut dyn FnMut(usize, &Segment) -> Verdict) {
        for side in 0..2 {
            while let Some(segment) = self.ends[side].poll_transmit(self.now) {
                assert_eq!(segment.sent, self.now);
                self.steps += 1;
                assert!(self.steps < 3_000_000, "sends for ever: {segment:?}");
                if side == 0 && segment.len > 0 {
                    self.sent.push((self.now, segment.seq, segment.retransmission));
                }
                match verdict(side, &segment) {
                    Drop => {}
                    Pass => self.put(1 - side, segment, Duration::ZERO, false),
                    Mark => self.put(1 - side, segment, Duration::ZERO, true),
                    Late(extra) => self.put(1 - side, segment, extra, false),
                    Twice => {
                        self.put(1 - side, segment, Duration::ZERO, false);
                        self.put(1 - side, segment, ms(1), false);
                    }
                }
            }
            // A recount costs the window: not where that is large.
            if self.ends[side].info().packets_out < 500 {
                self.ends[side].snd.check_all();
            }
        }
    }

    /// Runs until `until` or until nothing is due.
    fn run(&mut self, until: Time, verdict: &mut dyn FnMut(usize, &Segment) -> Verdict) {
        self.flush(verdict);
        loop {
            let timer = self.ends[0].next_timer().min(self.ends[1].next_timer());
            let arrival = self.flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let next = timer.min(arrival);
            if next > until || next == Time::NEVER {
                self.now = until;
                return;
            }
            self.steps += 1;
            assert!(self.steps < 3_000_000, "the run does not end: {:?}", self.ends.each_ref().map(Endpoint::info));
            self.now = self.now.max(next);
            if arrival <= timer {
                let (_, (side, segment, marked)) = self.flying.pop_first().unwrap();
                self.ends[side].on_segment(self.now, &segment, marked);
                self.shortest = self.ends[0].last_rtt_sample().map_or(self.shortest, |rtt| rtt.min(self.shortest));
            } else {
                self.ends.iter_mut().for_each(|e| e.on_timer(self.now));
            }
            self.flush(verdict);
        }
    }

    fn stats(&self) -> Stats {
        *self.ends[0].stats()
    }
    fn received(&self) -> u64 {
        self.ends[1].stats().bytes_received
    }
    /// Segments of side 0's window.
    fn cwnd(&self) -> u64 {
        self.ends[0].info().cwnd / u64::from(self.ends[0].mss())
    }
}

/// A config for tests of one recovery: Linux otherwise, every segment acknowledged, window from the start.
fn config(recovery: Recovery, window: u32) -> Config {
    let mut config = Config::linux(1000);
    config.recovery = recovery;
    config.sack = matches!(recovery, Recovery::Sack | Recovery::Rack);
    config.initial_window = window;
    config.initial_ssthresh = Some(u64::from(window) * 1000);
    config.delayed_ack.every = 1;
    config
}

/// Side 0 sends `bytes` and closes; the segments numbered `lost` (from 1, by first transmission) are lost
/// once. Runs for `seconds`.
fn transfer(config: &Config, bytes: u64, lost: &[u64], seconds: f64) -> Pipe {
    let mut pipe = Pipe::new(config);
    pipe.ends[0].write(START, bytes);
    pipe.ends[0].close(START);
    let mss = u64::from(config.mss);
    pipe.run(at(seconds), &mut |side, s| {
        let number = (s.seq.saturating_sub(1)) / mss + 1;
        if side == 0 && s.len > 0 && !s.retransmission && lost.contains(&number) { Drop } else { Pass }
    });
    pipe
}

#[test]
fn a_transfer_completes_and_closes() {
    for config in [Config::linux(1448), Config::classic(1000, Recovery::NewReno)] {
        let mut pipe = transfer(&config, 1_000_000, &[], 20.0);
        assert_eq!((pipe.received(), pipe.stats().bytes_acked), (1_000_000, 1_000_000));
        assert_eq!(pipe.stats().segments_retransmitted, 0);
        assert_eq!((pipe.ends[0].state(), pipe.ends[1].state()), (State::FinWait2, State::CloseWait));
        pipe.ends[1].close(pipe.now);
        pipe.run(at(200.0), &mut |_, _| Pass);
        assert_eq!((pipe.ends[0].state(), pipe.ends[1].state()), (State::Closed, State::Closed));
    }
}

#[test]
fn both_ends_send_and_close_at_once() {
    let mut pipe = Pipe::new(&Config::linux(1448));
    for end in &mut pipe.ends {
        end.write(START, 300_000);
        end.close(START);
    }
    pipe.run(at(200.0), &mut |_, _| Pass);
    for end in &pipe.ends {
        assert_eq!((end.stats().bytes_received, end.stats().bytes_acked), (300_000, 300_000));
        assert_eq!(end.state(), State::Closed);
    }
}

/// Acceptance 1: one loss in a window of 20 costs one reduction and no timeout.
#[test]
fn one_loss_is_one_reduction() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let pipe = transfer(&config(recovery, 20), 200_000, &[3], 20.0);
        let stats = pipe.stats();
        assert_eq!(pipe.received(), 200_000, "{recovery:?}");
        assert_eq!((stats.timeouts, stats.recoveries, stats.segments_retransmitted), (0, 1, 1), "{recovery:?}");
        assert_eq!(pipe.ends[0].info().ssthresh, 10_000, "{recovery:?}");
    }
}

/// Acceptance 1: Reno needs more than one reduction for three losses in a window, NewReno, SACK and RACK do not.
#[test]
fn three_losses_are_several_reductions_for_reno_only() {
    let reno = transfer(&config(Recovery::Reno, 20), 200_000, &[3, 6, 9], 30.0).stats();
    assert!(reno.recoveries + reno.timeouts >= 2, "{reno:?}");
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let pipe = transfer(&config(recovery, 20), 200_000, &[3, 6, 9], 30.0);
        let stats = pipe.stats();
        assert_eq!(pipe.received(), 200_000, "{recovery:?}");
        assert_eq!((stats.timeouts, stats.recoveries, stats.segments_retransmitted), (0, 1, 3), "{recovery:?}");
    }
}

/// RTTs from the first loss' detection to the last repair: NewReno one hole per RTT, SACK all in one.
#[test]
fn sack_repairs_in_one_round_trip_what_takes_newreno_one_each() {
    let repair = |recovery| {
        let pipe = transfer(&config(recovery, 20), 200_000, &[2, 5, 8, 11], 30.0);
        let again: Vec<Time> = pipe.sent.iter().filter(|s| s.2).map(|s| s.0).collect();
        assert_eq!(again.len(), 4, "{recovery:?}");
        (*again.last().unwrap() - again[0]).as_secs_f64()
    };
    assert!((repair(Recovery::NewReno) - 0.3).abs() < 0.01);
    assert!(repair(Recovery::Sack) < 0.1);
    assert!(repair(Recovery::Rack) < 0.1);
}

/// Acceptance 1: Tahoe goes back to one segment and ssthresh is half.
#[test]
fn tahoe_collapses_to_one() {
    let config = config(Recovery::Tahoe, 20);
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].write(START, u64::MAX);
    let mut smallest = u64::MAX;
    for step in 1..100 {
        pipe.run(at(f64::from(step) * 0.01), &mut |_, s| if s.seq == 2001 && !s.retransmission { Drop } else { Pass });
        smallest = smallest.min(pipe.cwnd());
    }
    assert_eq!(smallest, 1);
    assert_eq!(pipe.ends[0].info().ssthresh, 10_000);
    assert_eq!(pipe.stats().timeouts, 0);
}

/// Acceptance 2: all ACKs of a window lost, the next arrives: nothing is sent again.
#[test]
fn a_window_of_lost_acks_is_made_good_by_the_next() {
    for recovery in ALL {
        let config = config(recovery, 20);
        let mut pipe = Pipe::new(&config);
        pipe.ends[0].write(START, 20_000);
        pipe.run(at(60.0), &mut |side, s| if side == 1 && s.ack > 1 && s.ack < 20_001 { Drop } else { Pass });
        assert_eq!((pipe.received(), pipe.stats().bytes_acked), (20_000, 20_000), "{recovery:?}");
        assert_eq!(pipe.stats().segments_retransmitted, 0, "{recovery:?}");
        assert_eq!(pipe.ends[0].info().phase, Phase::Open);
    }
}

/// Acceptance 3: the last of several segments lost. The probe leaves 2 srtt (+ 2 ms) after the last ACK
/// that advanced; without it the RTO of srtt + rttvar repairs.
#[test]
fn a_lost_tail_is_probed() {
    let mut config = config(Recovery::Rack, 10);
    let pipe = transfer(&config, 10_000, &[10], 20.0);
    assert_eq!((pipe.received(), pipe.stats().timeouts, pipe.stats().probes), (10_000, 0, 1));
    let probe = pipe.sent.last().unwrap();
    assert!(probe.2);
    // Handshake 100 ms, ACKs of 1 to 9 at 200 ms: srtt is 100 ms; one segment is left: + 200 ms.
    assert_eq!(probe.0, at(0.2) + ms(200) + ms(200).min(ms(100)), "the RTO of 300 ms comes first");
    config.rto.min = ms(1);
    config.tlp = false;
    let pipe = transfer(&config, 10_000, &[10], 20.0);
    assert_eq!((pipe.received(), pipe.stats().timeouts, pipe.stats().probes), (10_000, 1, 0));
}

/// A path that treats the first `hostile` segments of each direction by chance, and all others well, so that
/// a transfer must end. At most three SYNs in a row are lost.
fn hostile_path(seed: u64, hostile: u64) -> impl FnMut(usize, &Segment) -> Verdict {
    let mut luck = Stream::new(seed, "path");
    let severity = luck.uniform() * 0.3;
    let (mut seen, mut syns) = ([0_u64; 2], 0);
    move |side, segment| {
        seen[side] += 1;
        if segment.flags.has(Flags::SYN) {
            syns += 1;
            return if syns <= 3 && luck.chance(severity) { Drop } else { Pass };
        }
        if seen[side] > hostile || !luck.chance(severity) {
            return Pass;
        }
        match luck.below(4) {
            0 | 1 => Drop,
            2 => Late(Duration(luck.below(300_000_000))),
            _ => Twice,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the path does to segments, and where it comes to take shorter ones only, every byte arrives exactly once and
    /// the connection closes, in bounded time; the scoreboard's sums are right after every step (`check_all`).
    #[test]
    fn every_transfer_completes(
        seed: u64,
        recovery in 0..ALL.len(),
        flags in 0_u32..1 << 10,
        shrinks in 0_u64..2000,
        mtu in 552_u32..1100,
        segments in 1_u64..150,
        odd in 0_u64..1000,
        hostile in 0_u64..120,
        window in 1_u32..30,
        buffer in 3_u64..200,
    ) {
        let flag = |i: u32| flags >> i & 1 != 0;
        let mut config = if flag(0) { Config::linux(1000) } else { Config::classic(1000, ALL[recovery]) };
        config.recovery = ALL[recovery];
        config.sack = flag(1);
        config.timestamps = flag(2);
        config.limited_transmit = flag(3);
        config.frto = flag(4);
        config.undo = flag(5);
        config.prr = flag(6);
        config.ecn = [Ecn::Off, Ecn::On, Ecn::Accurate][usize::from(flag(7)) + usize::from(flag(7) && flag(4))];
        config.nagle = flag(8);
        config.pacing = if flag(3) { Pacing::On } else { Pacing::Off };
        config.initial_window = window;
        config.receive_buffer = buffer * 1000;
        config.delayed_ack.every = 1 + u32::from(flag(7));
        let mut pipe = Pipe::new(&config);
        let bytes = segments * 1000 + odd;
        for end in &mut pipe.ends {
            end.write(START, bytes);
            end.close(START);
        }
        let mut path = hostile_path(seed, hostile);
        let longest = if flag(9) { mtu - 40 - if flag(2) { 12 } else { 0 } } else { u32::MAX };
        if flag(9) {
            pipe.run(START + ms(shrinks), &mut path);
            pipe.ends[0].on_path_mtu(pipe.now, mtu);
        }
        pipe.run(at(3600.0), &mut |side, segment| {
            assert!(side == 1 || segment.len <= longest, "{segment:?} of {longest}");
            path(side, segment)
        });
        for end in &pipe.ends {
            prop_assert_eq!(end.stats().bytes_received, bytes, "{:?}", end.info());
            // An end whose last ACKs were lost until the other's TIME-WAIT was over never learns of its success.
            if end.stats().bytes_acked != bytes {
                prop_assert!(end.info().rto > Duration::from_secs(30), "{:?}", end.info());
                prop_assert_eq!(end.info().rcv_nxt, bytes + 2);
            }
        }
        // Each segment, its copies and their ACKs, timers: far less than a storm.
        prop_assert!(pipe.steps < 100 * (segments + 10) + 10_000, "{} steps", pipe.steps);
    }
}

/// A path that holds everything side 0 sends from `from` on until `until` (a handover, a link-layer repair):
/// nothing is lost, order is kept.
fn spike(from: Time, until: Time) -> impl FnMut(usize, &Segment) -> Verdict {
    move |side, s| if side == 0 && s.sent >= from && s.sent < until { Late(until - s.sent) } else { Pass }
}

/// Acceptance 4: a delay spike of 1 s. F-RTO finds the timeout spurious and the window is restored, by SACK and
/// without; without F-RTO and without undo the window is sent again from one segment.
#[test]
fn a_spurious_timeout_is_found_out() {
    let run = |sack: bool, frto: bool| {
        let mut config = config(Recovery::Rack, 20);
        config.initial_ssthresh = None;
        (config.sack, config.frto, config.undo, config.timestamps, config.tlp) = (sack, frto, frto, false, false);
        let mut pipe = Pipe::new(&config);
        pipe.ends[0].write(START, u64::MAX);
        pipe.run(at(0.45), &mut |_, _| Pass);
        let before = pipe.ends[0].info();
        pipe.run(at(1.75), &mut spike(at(0.45), at(1.55)));
        (before, pipe.ends[0].info(), pipe.stats())
    };
    for sack in [true, false] {
        let (before, after, stats) = run(sack, true);
        assert!(stats.timeouts >= 1 && stats.undos == 1, "{stats:?}");
        assert!(after.cwnd >= before.cwnd, "sack {sack}: {} of {}", after.cwnd, before.cwnd);
        assert!(stats.segments_retransmitted <= stats.timeouts, "{stats:?}");
        assert_eq!(after.phase, Phase::Open);
    }
    let (before, _, stats) = run(true, false);
    assert_eq!(stats.undos, 0);
    assert!(stats.segments_retransmitted * 1000 >= before.cwnd / 2, "{stats:?}");
}

/// Eifel: with timestamps alone the same spike is undone.
#[test]
fn timestamps_undo_a_spurious_timeout() {
    let mut config = config(Recovery::NewReno, 20);
    config.frto = false;
    config.initial_ssthresh = None;
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].write(START, u64::MAX);
    pipe.run(at(0.45), &mut |_, _| Pass);
    let before = pipe.ends[0].info();
    pipe.run(at(1.75), &mut spike(at(0.45), at(1.55)));
    assert_eq!(pipe.stats().undos, 1);
    assert!(pipe.ends[0].info().cwnd >= before.cwnd);
}

/// Acceptance 5: 3 % of the segments arrive 30 ms late, nothing is lost. Counting three duplicates makes false
/// recoveries to the end; where the threshold adapts, and with RACK, whose window widens on DSACKs, nothing is sent again soon.
#[test]
fn rack_learns_to_live_with_reordering() {
    let run = |recovery, max_reordering| {
        let mut config = config(recovery, 10);
        config.max_reordering = max_reordering;
        config.initial_ssthresh = Some(40_000);
        config.pacing = Pacing::On;
        config.receive_buffer = 700_000; // 30 of 100 ms have less than 300 segments
        let mut pipe = Pipe::new(&config);
        pipe.ends[0].write(START, u64::MAX);
        let mut luck = Stream::new(7, "reorder");
        let mut path = |side: usize, s: &Segment| {
            if side == 0 && s.len > 0 && luck.chance(0.03) { Late(ms(30)) } else { Pass }
        };
        pipe.run(at(60.0), &mut path);
        let half = pipe.stats();
        pipe.run(at(120.0), &mut path);
        let end = pipe.stats();
        (half.recoveries, end.recoveries - half.recoveries, end.timeouts, pipe.ends[0].snd.reordering_steps())
    };
    let (.., first, _, _) = run(Recovery::Sack, 3);
    assert!(first > 20, "{first}");
    let (.., adapted, _, _) = run(Recovery::Sack, 300);
    assert!(adapted <= 2, "{adapted}");
    let (early, late, timeouts, _) = run(Recovery::Rack, 300);
    assert!(early <= 10 && late <= 2 && timeouts == 0, "{early} {late} {timeouts}");
}

/// Segments held for 70 of 100 ms need a window of three quarters of the smallest RTT: two DSACKs in two round
/// trips, for the window grows by a quarter in each that sees one (RFC 8985 §6.2 step 4). Then nothing is sent again.
#[test]
fn the_reordering_window_grows_as_far_as_it_must() {
    let mut config = config(Recovery::Rack, 10);
    config.initial_ssthresh = Some(40_000);
    config.pacing = Pacing::On;
    config.receive_buffer = 700_000;
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].write(START, u64::MAX);
    let mut luck = Stream::new(7, "reorder");
    let mut path =
        |side: usize, s: &Segment| if side == 0 && s.len > 0 && luck.chance(0.03) { Late(ms(70)) } else { Pass };
    pipe.run(at(60.0), &mut path);
    let half = pipe.stats();
    pipe.run(at(120.0), &mut path);
    assert!(pipe.ends[0].snd.reordering_steps() >= 3, "{}", pipe.ends[0].snd.reordering_steps());
    assert_eq!((pipe.stats().segments_retransmitted, pipe.stats().timeouts), (half.segments_retransmitted, 0));
}

/// Acceptance 6: an application of 1 Mbit/s for 60 s: the window stays within twice what is in flight
/// (or the initial window).
#[test]
fn an_unused_window_does_not_grow() {
    let mut config = Config::linux(1000);
    config.initial_window = 10;
    let mut pipe = Pipe::new(&config);
    pipe.run(at(0.2), &mut |_, _| Pass);
    let mut most_out = 0;
    for tick in 0..6000 {
        pipe.ends[0].write(pipe.now, 1250);
        pipe.run(at(0.2 + f64::from(tick) * 0.01), &mut |_, _| Pass);
        most_out = most_out.max(pipe.ends[0].info().packets_out);
    }
    assert!(pipe.cwnd() <= 2 * u64::from(most_out), "{} with at most {most_out} out", pipe.cwnd());
    // 1 Mbit/s over 100 ms is 12.5 segments; two small ones in each batch.
    assert!(most_out <= 30, "{most_out}");
    config.cwnd_validation = false;
    config.slow_start_after_idle = false;
    let mut pipe = Pipe::new(&config);
    for tick in 0..6000 {
        pipe.ends[0].write(pipe.now, 1250);
        pipe.run(at(0.2 + f64::from(tick) * 0.01), &mut |_, _| Pass);
    }
    assert!(pipe.cwnd() > 1000, "without validation it grows without bound: {}", pipe.cwnd());
}

/// Acceptance 7: without window scaling, 65,535 bytes per RTT: 5.24 Mbit/s at 100 ms.
#[test]
fn without_window_scaling_64_kib_per_round_trip() {
    let mut config = Config::linux(1000);
    config.window_scaling = false;
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].write(START, u64::MAX);
    pipe.run(at(10.0), &mut |_, _| Pass);
    let start = pipe.received();
    pipe.run(at(110.0), &mut |_, _| Pass);
    let rate = (pipe.received() - start) as f64 * 8.0 / 100.0;
    assert!(rate <= 65_535.0 * 80.0 && rate > 65_000.0 * 80.0 * 0.99, "{rate}");
    assert_eq!(pipe.stats().segments_retransmitted, 0);
}

/// A slow start that overshoots: a third of a window of 15,000 segments is lost, every third segment from the
/// 5,001st on. SACK and RACK repair it in few round trips without a timeout, and send nothing twice.
#[test]
fn a_great_loss_is_repaired_promptly() {
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let mut config = config(recovery, 15_000);
        config.delayed_ack.every = 2;
        let lost: Vec<u64> = (0..5_000).map(|k| 15 + 3 * k).take_while(|&n| n < 14_990).collect();
        let mut pipe = Pipe::new(&config);
        pipe.ends[0].write(START, 40_000_000);
        pipe.run(at(3.0), &mut |side, s| {
            let number = (s.seq.saturating_sub(1)) / 1000 + 1;
            let gone = side == 0 && !s.retransmission && s.len > 0 && lost.binary_search(&number).is_ok();
            if gone { Drop } else { Pass }
        });
        let stats = pipe.stats();
        assert_eq!(pipe.received(), 40_000_000, "{recovery:?} {stats:?}");
        assert_eq!((stats.timeouts, stats.segments_retransmitted), (0, lost.len() as u64), "{recovery:?}");
    }
}

/// A retransmission that is lost too: RACK sends it a third time after a round trip, RFC 6675 waits for the
/// timeout.
#[test]
fn a_lost_retransmission_is_sent_again() {
    let run = |recovery| {
        let mut pipe = Pipe::new(&config(recovery, 20));
        pipe.ends[0].write(START, 200_000);
        let mut copies = 0;
        pipe.run(at(10.0), &mut |side, s| {
            copies += u64::from(side == 0 && s.seq == 2001);
            if side == 0 && s.seq == 2001 && copies <= 2 { Drop } else { Pass }
        });
        assert_eq!(pipe.received(), 200_000);
        pipe.stats()
    };
    assert_eq!(run(Recovery::Rack).timeouts, 0);
    assert_eq!(run(Recovery::Rack).segments_retransmitted, 2);
    assert_eq!(run(Recovery::Sack).timeouts, 1);
}

/// Timestamps tell the RTT of a retransmission in whole milliseconds: no sample and no minimum below the path's
/// 100.6 ms.
#[test]
fn no_rtt_sample_is_shorter_than_the_path() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut pipe = Pipe::new(&config(recovery, 20));
        pipe.delay = Duration::from_micros(50_300);
        pipe.ends[0].write(START, u64::MAX);
        let mut count = 0;
        pipe.run(at(30.0), &mut |side, s| {
            count += u64::from(side == 0 && !s.retransmission);
            if side == 0 && !s.retransmission && count % 37 == 5 { Drop } else { Pass }
        });
        let path = Duration::from_micros(100_600);
        assert!(pipe.stats().segments_retransmitted > 20, "{recovery:?}: {:?}", pipe.stats());
        assert_eq!((pipe.shortest, pipe.ends[0].info().min_rtt), (path, Some(path)), "{recovery:?}");
    }
}

/// Linux acknowledges the first segments one by one, then every second.
#[test]
fn quick_acks_then_every_second() {
    let mut config = Config::linux(1000);
    config.initial_window = 100;
    let pipe = transfer(&config, 100_000, &[], 5.0);
    let acks = pipe.ends[1].stats().acks_sent;
    // 16 at once, 84 in pairs, the FIN's.
    assert!((16 + 42..=16 + 44).contains(&acks), "{acks}");
    config.delayed_ack.quickack = 0;
    let acks = transfer(&config, 100_000, &[], 5.0).ends[1].stats().acks_sent;
    assert!((50..=52).contains(&acks), "{acks}");
}

/// A lone segment is acknowledged after the delay.
#[test]
fn a_lone_segment_waits_for_the_delayed_ack() {
    let config = Config::classic(1000, Recovery::NewReno);
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].write(START, 1000);
    pipe.run(at(10.0), &mut |_, _| Pass);
    // Handshake 100 ms, one way 50 + 100 delay + 50 back.
    assert_eq!(pipe.ends[0].info().srtt, Some(Duration(ms(100).0 * 7 / 8 + ms(200).0 / 8)));
}

/// ECN (RFC 3168): one reduction per window, nothing sent again, CWR stops the echo.
#[test]
fn a_mark_is_one_reduction() {
    let mut config = config(Recovery::Rack, 20);
    config.ecn = Ecn::On;
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].write(START, u64::MAX);
    let mut marked = 0;
    pipe.run(at(0.95), &mut |side, s| {
        assert_eq!(s.ecn, if s.len > 0 { 2 } else { 0 });
        let mark = side == 0 && (5001..9001).contains(&s.seq);
        marked += u64::from(mark);
        if mark { Mark } else { Pass }
    });
    assert_eq!(marked, 4);
    let info = pipe.ends[0].info();
    assert_eq!((info.ssthresh, info.phase, pipe.stats().segments_retransmitted), (10_000, Phase::Open, 0));
    assert!(!pipe.ends[1].rcv.marks.ece, "CWR arrived");
    // Two hosts of which one does not ask never use it.
    let mut plain = config.clone();
    plain.ecn = Ecn::Off;
    let mut pipe = Pipe::with_peer(&config, &plain);
    pipe.ends[0].write(START, 50_000);
    pipe.run(at(2.0), &mut |_, s| {
        assert_eq!(s.ecn, 0);
        Pass
    });
    assert_eq!(pipe.received(), 50_000);
}

/// Reno that adds up the marked bytes it is told of.
struct Counting {
    law: Box<dyn CongestionControl>,
    marked: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl CongestionControl for Counting {
    fn on_ack(&mut self, ev: &cc::AckEvent) {
        self.marked.fetch_add(ev.ce_bytes, std::sync::atomic::Ordering::Relaxed);
        self.law.on_ack(ev);
    }
    fn on_congestion(&mut self, ev: &cc::CongestionEvent) {
        self.law.on_congestion(ev);
    }
    fn on_timeout(&mut self, ev: &cc::TimeoutEvent) {
        self.law.on_timeout(ev);
    }
    fn on_undo(&mut self, ev: &cc::UndoEvent) {
        self.law.on_undo(ev);
    }
    fn on_restart(&mut self, ev: &cc::RestartEvent) {
        self.law.on_restart(ev);
    }
    fn cwnd(&self) -> u64 {
        self.law.cwnd()
    }
    fn ssthresh(&self) -> u64 {
        self.law.ssthresh()
    }
    fn ecn(&self) -> cc::EcnUse {
        cc::EcnUse::Dctcp
    }
}

/// A third of the data is marked and two ACKs of three are lost: AccECN counts every marked byte all the same. DCTCP's
/// receiver, exact without losses, does not then.
#[test]
fn marked_bytes_survive_lost_acks() {
    for (ecn, ack_loss, exact) in
        [(Ecn::Accurate, 2, true), (Ecn::Accurate, 0, true), (Ecn::On, 0, true), (Ecn::On, 2, false)]
    {
        let config = Config { ecn, ..config(Recovery::Rack, 20) };
        let told = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let mut pipe = Pipe::new(&config);
        let counting = Counting { law: law(&config), marked: told.clone() };
        pipe.ends[0] = Endpoint::connect(config.clone(), Box::new(counting), START);
        let counting = Counting { law: law(&config), marked: Default::default() };
        pipe.ends[1] = Endpoint::listen(config.clone(), Box::new(counting));
        pipe.ends[0].write(START, 400_000);
        let (mut marked, mut rng) = (0, Stream::new(7, "marks"));
        pipe.run(at(30.0), &mut |side, s| {
            if side == 1 && s.ack > 1 && s.ack < 400_001 && rng.below(3) < ack_loss {
                return Drop;
            }
            if s.len > 0 && rng.below(3) == 0 {
                marked += u64::from(s.len);
                return Mark;
            }
            Pass
        });
        assert_eq!((pipe.received(), pipe.stats().segments_retransmitted), (400_000, 0), "{ecn:?}");
        let told = told.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(told == marked, exact, "{ecn:?}: told {told} of {marked}");
    }
}

/// A reader that stops closes the window; probes keep asking, further and further apart, and the transfer goes
/// on when it reads, even if the window update is lost.
#[test]
fn a_closed_window_is_probed() {
    let mut config = Config::linux(1000);
    config.receive_buffer = 20_000;
    let mut pipe = Pipe::new(&config);
    pipe.ends[1].set_auto_read(false);
    pipe.ends[0].write(START, 50_000);
    pipe.run(at(10.0), &mut |_, _| Pass);
    assert_eq!((pipe.received(), pipe.ends[1].readable()), (20_000, 20_000));
    assert_eq!((pipe.ends[0].info().snd_wnd, pipe.ends[0].info().packets_out), (0, 0));
    assert_eq!(pipe.ends[1].read(pipe.now, 20_000), 20_000);
    pipe.run(at(10.0), &mut |side, _| if side == 1 { Drop } else { Pass });
    pipe.ends[1].set_auto_read(true);
    pipe.run(at(40.0), &mut |_, _| Pass);
    assert_eq!(pipe.received(), 50_000);
    assert_eq!(pipe.stats().segments_retransmitted, 0);
}

/// SYNs go out a second apart. After a lost one RFC 5681 §3.1 starts with one segment, Linux only after two; the RTO is
/// 3 s (RFC 6298 (5.7)) unless a timestamp tells the RTT of 100 ms.
#[test]
fn a_lost_syn_is_repeated_after_a_second() {
    let (linux, paper) = (Flavour::Linux, Flavour::Paper);
    for (flavour, timestamps, lost, segments) in
        [(linux, false, 1, 10), (linux, true, 1, 10), (linux, true, 2, 1), (paper, false, 1, 1), (paper, true, 1, 1)]
    {
        let config = Config { timestamps, flavour, ..Config::linux(1000) };
        let mut pipe = Pipe::new(&config);
        let mut syns = 0;
        pipe.run(at(f64::from(lost) + 0.1), &mut |_, s| {
            syns += i32::from(s.flags.has(Flags::SYN));
            if syns <= lost { Drop } else { Pass }
        });
        assert_eq!(pipe.ends[0].state(), State::Established);
        let info = pipe.ends[0].info();
        let rto = if !timestamps { Duration::from_secs(3) } else { ms(300) };
        let window = segments * u64::from(pipe.ends[0].mss());
        assert_eq!((info.cwnd, info.rto), (window, rto), "{flavour:?}, timestamps {timestamps}, {lost} lost");
    }
}

/// Nagle with Minshall's change: one small segment in flight at a time.
#[test]
fn nagle_holds_back_small_segments() {
    let mut config = Config::linux(1000);
    config.nagle = true;
    let mut pipe = Pipe::new(&config);
    pipe.run(at(0.2), &mut |_, _| Pass);
    for k in 0..10 {
        pipe.ends[0].write(pipe.now, 10);
        pipe.run(at(0.2 + 0.005 * f64::from(k)), &mut |_, _| Pass);
    }
    assert_eq!(pipe.stats().segments_sent, 1);
    pipe.run(at(1.0), &mut |_, _| Pass);
    assert_eq!((pipe.stats().segments_sent, pipe.received()), (2, 100));
}

/// RFC 2861 §3: a window of 40 of which 4 were used for an RTO becomes (40 + IW) / 2 = 25, and ssthresh 30. Linux takes
/// (W >> 1) + (W >> 2) for three quarters: 21 + 10 of 43.
#[test]
fn an_unused_window_shrinks() {
    for (w, shrunk, ssthresh) in [(40, 25_000, 30_000), (43, 26_500, 31_000)] {
        let mut config = config(Recovery::Rack, w);
        config.initial_ssthresh = Some(20_000);
        config.tlp = false;
        let mut pipe = Pipe::new(&config);
        pipe.ends[0].snd.set_initial_window(10);
        pipe.run(at(0.2), &mut |_, _| Pass);
        let rto = pipe.ends[0].info().rto;
        for k in 0..4 {
            pipe.ends[0].write(pipe.now, 4000);
            let until = at(0.1) + Duration(rto.0 / 3 * (k + 1)) + ms(1);
            pipe.run(until, &mut |_, _| Pass);
        }
        assert_eq!((pipe.ends[0].info().cwnd, pipe.ends[0].info().ssthresh), (shrunk, ssthresh));
    }
}

/// Idle for a little more than three RTOs: 80 → 10 in three halvings.
#[test]
fn an_idle_window_decays() {
    let mut config = config(Recovery::Rack, 80);
    config.initial_ssthresh = None;
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].snd.set_initial_window(10);
    pipe.run(at(0.2), &mut |_, _| Pass);
    pipe.ends[0].write(pipe.now, 1000);
    pipe.run(at(0.5), &mut |_, _| Pass);
    assert_eq!(pipe.cwnd(), 80);
    let rto = pipe.ends[0].info().rto;
    let wake = at(0.2) + rto * 3 + ms(1);
    pipe.run(wake, &mut |_, _| Pass);
    pipe.ends[0].write(pipe.now, 1000);
    pipe.run(wake + ms(1), &mut |_, _| Pass);
    assert_eq!(pipe.cwnd(), 10);
}

/// Time without data in flight is not time on CUBIC's curve (RFC 9438 §5.8; Linux shifts its epoch on `CA_EVENT_TX_START`),
/// with the window left alone: after a loss, how long the application pauses makes no difference to the windows of the
/// rounds that follow, whether that is more than an RTO or less.
#[test]
fn idle_time_is_no_time_on_the_curve() {
    for flavour in [Flavour::Linux, Flavour::Paper] {
        let windows = |pause: u64| {
            let mut config = Config { flavour, slow_start_after_idle: false, ..config(Recovery::Rack, 50) };
            config.delayed_ack.every = 1;
            let mut pipe = Pipe::new(&config);
            pipe.ends[0] = Endpoint::connect(config.clone(), law_called("cubic", &config), START);
            pipe.ends[0].write(START, 400_000);
            while pipe.received() < 400_000 {
                let until = pipe.now + ms(10);
                pipe.run(until, &mut |_, s| if s.seq == 100_001 && !s.retransmission { Drop } else { Pass });
            }
            assert_eq!((pipe.stats().segments_retransmitted, pipe.ends[0].info().phase), (1, Phase::Open));
            let last = pipe.sent.last().unwrap().0;
            pipe.run(last + ms(pause), &mut |_, _| Pass);
            pipe.ends[0].write(pipe.now, u64::MAX);
            let round = |k: u64| {
                pipe.run(last + ms(pause + 101 * k), &mut |_, _| Pass);
                pipe.ends[0].info().cwnd
            };
            (0..20).map(round).collect::<Vec<_>>()
        };
        let soon = windows(150);
        assert_eq!(windows(250), soon);
        assert_eq!(windows(4000), soon);
        assert!(soon[19] > soon[0] + 5_000, "{soon:?}");
    }
}

/// Both ends send a SYN before either arrives (RFC 9293 §3.5, figure 7).
#[test]
fn simultaneous_open() {
    let config = Config::linux(1000);
    let mut pipe = Pipe::new(&config);
    pipe.ends[1] = Endpoint::connect(config.clone(), law(&config), START);
    for end in &mut pipe.ends {
        end.write(START, 10_000);
        end.close(START);
    }
    pipe.run(at(100.0), &mut |_, _| Pass);
    for end in &pipe.ends {
        assert_eq!((end.stats().bytes_received, end.stats().bytes_acked), (10_000, 10_000));
        assert_eq!(end.state(), State::Closed);
    }
}

/// A paced sender spaces its segments at 2 cwnd / srtt in slow start: the second window of ten leaves over half a
/// round trip, wire bytes charged.
#[test]
fn pacing_spreads_a_window() {
    let mut config = Config::linux(1000);
    config.pacing = Pacing::On;
    config.delayed_ack.every = 1;
    let mut pipe = Pipe::new(&config);
    pipe.ends[0].write(START, u64::MAX);
    pipe.run(at(0.199), &mut |_, _| Pass);
    let times: Vec<Time> = pipe.sent.iter().map(|s| s.0).collect();
    assert_eq!(times.len(), 10);
    // 2 · 10 · 1000 bytes per 100 ms; 1052 on the wire.
    let gap = Duration(100_000_000 * 1052 / 20_000);
    assert!(times.windows(2).all(|w| w[1] - w[0] == gap), "{times:?}");
}

/// With many connections their speed is that of memory: what is rarely needed is kept behind a pointer or not at all.
#[test]
fn an_endpoint_is_small() {
    assert!(size_of::<Endpoint>() <= 1224, "{}", size_of::<Endpoint>());
    assert!(size_of::<Receiver>() <= 184, "{}", size_of::<Receiver>());
}
