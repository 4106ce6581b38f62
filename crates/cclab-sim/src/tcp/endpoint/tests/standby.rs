//! Senders that stand by: what they do with time, and what they send again.

use super::*;
use cclab_algo::cc::News;
use cclab_algo::params::Given;

/// Side 0 sends without end, by the law called `name`.
fn pipe(name: &str, given: &[(&str, f64)], config: &Config) -> Pipe {
    let cx = Context {
        initial_window: config.initial_window,
        initial_ssthresh: config.initial_ssthresh,
        flavour: config.flavour,
        ..Context::new(config.mss)
    };
    let given: Vec<_> = given.iter().map(|(name, x)| (name.to_string(), Given::Number(*x))).collect();
    let law = || cc::find(name).unwrap().make(&cx, &given).unwrap();
    let mut pipe = Pipe::new(config);
    pipe.ends = [Endpoint::connect(config.clone(), law(), START), Endpoint::listen(config.clone(), law())];
    pipe.ends[0].write(START, u64::MAX);
    pipe
}

/// A window of so many segments, which the path carries without a loss.
fn steady(window: u32) -> Config {
    Config { sack: false, ..config(Recovery::NewReno, window) }
}

/// Window and threshold, back-offs, and what is outstanding.
fn state(pipe: &Pipe) -> (u64, u64, u32, u32) {
    let info = pipe.ends[0].info();
    (info.cwnd, info.ssthresh, info.backoff, info.packets_out)
}

/// Runs on until `until`, over a path that is broken or not.
fn go(pipe: &mut Pipe, until: Time, broken: bool) {
    if broken {
        pipe.flying.clear();
    }
    pipe.run(until, &mut |_, _| if broken { Drop } else { Pass });
}

/// A sender put to sleep for `sleep` at `begin`, in ms, together with its network, does from then on what it would have done, at the
/// same distance in time.
fn freeze_and_thaw(
    (recovery, paced, window): (Recovery, bool, u32),
    (seed, hostile): (u64, u64),
    (begin, sleep): (u64, u64),
) -> Result<(), TestCaseError> {
    let mut config = config(recovery, window);
    (config.timestamps, config.rto.initial) = (false, Duration::from_secs(1));
    config.pacing = if paced { Pacing::On } else { Pacing::Off };
    let run = |sleep: Duration| {
        let mut pipe = pipe("tcp-f", &[("route_failure_timer", sleep.as_secs_f64().max(1.0))], &config);
        let mut rng = Stream::new(seed, "verdicts");
        let mut verdict = |_: usize, segment: &Segment| match rng.below(60) {
            _ if segment.flags.has(Flags::SYN) => Pass,
            n if n < hostile => Drop,
            n if n < 2 * hostile => Late(ms(30)),
            _ => Pass,
        };
        pipe.run(START + ms(begin), &mut verdict);
        if sleep > Duration::ZERO {
            pipe.ends[0].on_news(pipe.now, News::RouteFailed);
            let flying = std::mem::take(&mut pipe.flying);
            pipe.flying = flying.into_iter().map(|((at, n), what)| ((at + sleep, n), what)).collect();
        }
        pipe.run(START + ms(begin) + sleep + ms(6000), &mut verdict);
        let (info, stats) = (pipe.ends[0].info(), pipe.stats());
        let shift =
            |&(at, seq, again): &(Time, u64, bool)| (if at > START + ms(begin) { at - sleep } else { at }, seq, again);
        let sent: Vec<_> = pipe.sent.iter().map(shift).collect();
        let shown = (info.cwnd, info.ssthresh, info.rto, info.srtt, info.backoff, info.phase, info.snd_una);
        (sent, shown, stats)
    };
    let (awake, slept) = (run(Duration::ZERO), run(ms(sleep.max(1000))));
    let differs = awake.0.iter().zip(&slept.0).position(|(a, b)| a != b);
    prop_assert_eq!(differs.map(|i| (i, awake.0[i], slept.0[i])), None);
    prop_assert_eq!(awake.1, slept.1);
    prop_assert_eq!(awake.2, slept.2);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frozen_and_thawed_it_goes_on_as_if_no_time_had_passed(
        recovery in proptest::sample::select(ALL.to_vec()),
        paced: bool, window in 2_u32..40, seed: u64, hostile in 0_u64..3,
        begin in 200_u64..3000, sleep in 100_u64..20_000,
    ) {
        freeze_and_thaw((recovery, paced, window), (seed, hostile), (begin, sleep))?;
    }
}

/// The pacing rate is of the last ACK, whatever left since: waking up is no reason to compute it anew.
#[test]
fn waking_up_does_not_change_the_pacing_rate() {
    freeze_and_thaw((Recovery::Rack, true, 4), (6_131_336_801_082_618_815, 2), (2667, 1000)).unwrap();
}

/// TCP-F: a break shorter than the RTO and one much longer. No timeout, the same window and threshold before and after, and
/// what was in flight is sent again once.
#[test]
fn tcp_f_sleeps_through_a_break() {
    for (window, seconds) in [(8, 0.15), (8, 5.0), (20, 25.0)] {
        let mut pipe = pipe("tcp-f", &[], &steady(window));
        go(&mut pipe, at(3.02), false);
        let before = state(&pipe);
        pipe.ends[0].on_news(pipe.now, News::RouteFailed);
        pipe.flying.clear();
        go(&mut pipe, at(3.02 + seconds), true);
        assert_eq!(state(&pipe), before);
        pipe.ends[0].on_news(pipe.now, News::RouteRestored);
        let again = pipe.stats().segments_retransmitted;
        assert_eq!(again, 0, "it sent while it slept");
        go(&mut pipe, at(3.02 + seconds + 0.099), false);
        assert_eq!(state(&pipe), before);
        go(&mut pipe, at(3.02 + seconds + 2.0), false);
        assert_eq!((pipe.stats().timeouts, pipe.stats().recoveries), (0, 0));
        assert_eq!(pipe.stats().segments_retransmitted, u64::from(before.3));
        assert!(pipe.ends[0].info().cwnd >= before.0);
    }
}

/// What TCP-F gains over Reno grows with the break: each of these ends soon after one of Reno's ever rarer retransmissions.
#[test]
fn tcp_f_gains_more_the_longer_the_break() {
    let received = |name: &str, seconds: f64| {
        let mut pipe = pipe(name, &[], &Config { receive_buffer: 20_000, ..steady(20) });
        go(&mut pipe, at(3.02), false);
        if name == "tcp-f" {
            pipe.ends[0].on_news(pipe.now, News::RouteFailed);
        }
        go(&mut pipe, at(3.02 + seconds), true);
        if name == "tcp-f" {
            pipe.ends[0].on_news(pipe.now, News::RouteRestored);
        }
        go(&mut pipe, at(23.02 + seconds), false);
        pipe.received()
    };
    let gains: Vec<_> =
        [0.2, 0.95, 2.2, 4.6, 9.4].iter().map(|&s| received("tcp-f", s) as i64 - received("reno", s) as i64).collect();
    assert!(gains.is_sorted() && gains[0] > 0 && gains[4] > 5 * gains[0], "{gains:?}");
}

/// TCP-F, RRN lost: it wakes when the route failure timer expires, and then times out as any sender.
#[test]
fn tcp_f_wakes_by_itself() {
    let mut pipe = pipe("tcp-f", &[], &steady(8));
    go(&mut pipe, at(3.02), false);
    pipe.ends[0].on_news(pipe.now, News::RouteFailed);
    go(&mut pipe, at(10.0), true);
    let (rto, received) = (pipe.ends[0].info().rto.as_secs_f64(), pipe.received());
    go(&mut pipe, at(33.01), false);
    assert_eq!((pipe.received(), pipe.stats().timeouts), (received, 0));
    go(&mut pipe, at(33.02 + rto + 0.2), false);
    assert_eq!(pipe.stats().timeouts, 1);
    assert!(pipe.received() > received);
}

/// ELFN: while it stands by one segment every two seconds exactly, always the first that is not acknowledged, however many
/// notices come; no timeout; and the first ACK ends it, with the window as it was.
#[test]
fn elfn_probes_every_two_seconds() {
    let mut pipe = pipe("elfn", &[], &steady(8));
    go(&mut pipe, at(3.02), false);
    let (before, una, sent) = (state(&pipe), pipe.ends[0].info().snd_una, pipe.sent.len());
    pipe.ends[0].on_news(pipe.now, News::LinkFailed { seq: una });
    go(&mut pipe, at(4.5), true);
    pipe.ends[0].on_news(pipe.now, News::LinkFailed { seq: una });
    go(&mut pipe, at(25.0), true);
    let probes: Vec<_> = (1..=10).map(|n| (at(3.02 + 2.0 * f64::from(n)), una, true)).collect();
    assert_eq!(pipe.sent[sent..], probes);
    assert_eq!((state(&pipe), pipe.stats().timeouts), (before, 0));
    go(&mut pipe, at(25.02 + 0.11), false);
    assert_eq!(pipe.stats().timeouts, 0);
    assert_eq!((pipe.ends[0].info().cwnd / 1000, pipe.ends[0].info().snd_una > una), (before.0 / 1000, true));
}

/// ATCP: a partition of 5 s and of 20 s. No timeout, no back-off; it goes on within a probe interval, with one segment, and ends
/// where everything is received.
#[test]
fn atcp_sits_a_partition_out() {
    for (seconds, interval) in [(5.0, 10.0), (20.0, 20.0)] {
        let mut pipe = pipe("atcp", &[], &steady(8));
        go(&mut pipe, at(3.02), false);
        let una = pipe.ends[0].info().snd_una;
        pipe.ends[0].on_news(pipe.now, News::Unreachable);
        go(&mut pipe, at(3.02 + seconds), true);
        assert_eq!((pipe.stats().timeouts, pipe.ends[0].info().backoff), (0, 0));
        let mut windows = vec![];
        while pipe.now < at(3.02 + seconds + interval + 0.2) {
            let next = pipe.now + ms(10);
            go(&mut pipe, next, false);
            windows.push(pipe.ends[0].info().cwnd);
        }
        assert!(windows.contains(&1000), "{windows:?}");
        assert!(pipe.ends[0].info().snd_una > una);
        assert_eq!((pipe.stats().timeouts, pipe.ends[0].info().backoff), (0, 0));
        let end = pipe.now + ms(2000);
        go(&mut pipe, end, false);
        assert!(pipe.received() > una + 100_000);
    }
}

/// ATCP: 1 to 10 % of the data lost by chance leaves the window, and goodput beyond NewReno's; a path that reorders does not
/// shrink it either; a mark halves it once.
#[test]
fn atcp_tells_chance_from_congestion() {
    let run = |name: &str, percent: u64, late: Duration| {
        let mut pipe = pipe(name, &[], &steady(16));
        let mut rng = Stream::new(3, "chance");
        let mut smallest = u64::MAX;
        while pipe.now < at(60.0) {
            let next = pipe.now + ms(50);
            pipe.run(next, &mut |side, s| match side == 0 && s.len > 0 && rng.below(100) < percent {
                true if late > Duration::ZERO => Late(late),
                true => Drop,
                false => Pass,
            });
            let info = pipe.ends[0].info();
            if info.phase == Phase::Open && pipe.now > at(1.0) {
                smallest = smallest.min(info.cwnd / 1000);
            }
        }
        (smallest, pipe.received())
    };
    for percent in [1, 3, 10] {
        let ((smallest, received), (_, newreno)) =
            (run("atcp", percent, Duration::ZERO), run("newreno", percent, Duration::ZERO));
        assert!(smallest >= 16, "{percent} %: {smallest}");
        assert!(2 * received > 3 * newreno, "{percent} %: {received}, NewReno {newreno}");
    }
    assert!(run("atcp", 2, ms(40)).0 >= 16);

    let mut config = steady(16);
    config.ecn = Ecn::On;
    let mut marked = pipe("atcp", &[], &config);
    let mut seen = 0;
    let mut smallest = u64::MAX;
    while marked.now < at(4.0) {
        let next = marked.now + ms(10);
        marked.run(next, &mut |side, s| {
            seen += u64::from(side == 0 && s.len > 0);
            if seen == 100 && side == 0 && s.len > 0 { Mark } else { Pass }
        });
        smallest = smallest.min(marked.ends[0].info().ssthresh / 1000);
    }
    assert!((8..12).contains(&smallest), "{smallest}");
    assert_eq!((marked.stats().timeouts, marked.stats().segments_retransmitted), (0, 0));
}

/// BuS: of twenty segments in flight the stations above the break keep the last twelve, four behind it arrived, four were lost.
/// Four are sent again, and none else; no timeout, no reduction, though the twelve cause duplicate ACKs.
#[test]
fn bus_sends_again_what_was_lost_behind_the_break() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut pipe = pipe("bus", &[], &config(recovery, 20));
        pipe.run(at(3.049), &mut |_, _| Pass);
        let before = state(&pipe);
        let una = pipe.ends[0].info().snd_una;
        // Data that has left and is still under way: all of it is kept by the stations but the first eight.
        let mut kept: Vec<_> =
            std::mem::take(&mut pipe.flying).into_values().filter(|(to, s, _)| *to == 1 && s.len > 0).collect();
        kept.sort_by_key(|(_, s, _)| s.seq);
        assert!(kept.len() >= 10, "{recovery:?}: {}", kept.len());
        let rest = kept.split_off(8);
        for (_, segment, _) in &kept[..4] {
            pipe.ends[1].on_segment(pipe.now, segment, false);
            while pipe.ends[1].poll_transmit(pipe.now).is_some() {} // its ACKs are lost
        }
        let (received, head) = (pipe.ends[1].info().rcv_nxt, rest[0].1.seq);
        assert_eq!((head - received) / 1000, 4);
        pipe.ends[0].on_news(pipe.now, News::Disconnected { head });
        go(&mut pipe, at(8.0), true);
        assert_eq!((state(&pipe), pipe.ends[0].info().snd_una), (before, una));
        pipe.ends[0].on_news(pipe.now, News::Reconnected { received });
        for (_, segment, _) in rest {
            pipe.put(1, segment, Duration::ZERO, false);
        }
        let sent = pipe.sent.len();
        go(&mut pipe, at(12.0), false);
        let again: Vec<_> = pipe.sent[sent..].iter().filter(|s| s.2).map(|s| s.1).collect();
        assert_eq!(again, (0..4).map(|n| received + 1000 * n).collect::<Vec<_>>(), "{recovery:?}");
        assert_eq!((pipe.stats().timeouts, pipe.stats().recoveries), (0, 0), "{recovery:?}");
        assert!(pipe.ends[0].info().cwnd >= before.0);
    }
}
