//! Worked values of the draft.

use super::*;
use crate::params::Flavour;

const MSS: u64 = 1500;
const SEGMENT: f64 = 12_000.0;
const RTT: Duration = Duration::from_millis(40);

fn ms(t: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(t / 1000.0)
}

fn law(flavour: Flavour) -> Bbr3 {
    let params = Params::resolve(ENTRY.params, &[], flavour).unwrap();
    Bbr3::new(&Context { flavour, ..Context::new(MSS as u32) }, &params)
}

const UP: State = State::Up(Slope::NONE);
const PROBE_RTT: State = State::ProbeRtt(ProbeRtt::BEGUN);

/// Which state it is, whatever belongs to it.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A law that knows a path of 40 ms whose BDP is so many segments, the pipe full, in `state` since 1 s.
fn knows(bdp: f64, state: State) -> Bbr3 {
    let mut bbr = law(Flavour::Paper);
    let bw = bdp * SEGMENT / 0.040;
    bbr.max_bw.update(0, bw, MAX_BW_CYCLES);
    bbr.bw = bw;
    bbr.full_bw_reached = true;
    bbr.min_rtt = Some(RTT);
    bbr.probe_rtt_min = Some(RTT);
    (bbr.min_rtt_stamp, bbr.probe_rtt_min_stamp, bbr.cycle_stamp) = (ms(1000.0), ms(1000.0), ms(1000.0));
    bbr.probe_wait = Duration::from_secs(3);
    bbr.state = state;
    bbr.cwnd = 2.0 * bdp;
    bbr.seen_rtt = true;
    bbr
}

/// The `k`-th ACK of that path, one for a whole round of `bdp` segments: each begins a round.
fn ack(bdp: f64, k: u64) -> AckEvent {
    let window = bdp as u64 * MSS;
    AckEvent {
        now: ms(1000.0 + k as f64),
        acked_bytes: MSS,
        delivered_bytes: MSS,
        rtt: Some(RTT),
        srtt: RTT,
        delivery_rate: Some(Rate((bdp * SEGMENT / 0.040) as u64)),
        bytes_in_flight: window,
        prior_in_flight: window + MSS,
        delivered: (k + 1) * window,
        prior_delivered: k * window,
        tx_in_flight: window,
        ..AckEvent::default()
    }
}

/// §5.6.1's table: pacing gain, cwnd gain.
#[test]
fn gains() {
    use State::*;
    for (state, pacing, cwnd) in [
        (Startup, 2.77, 2.0),
        (Drain(0), 0.5, 2.0),
        (Down, 0.9, 2.0),
        (Cruise, 1.0, 2.0),
        (Refill, 1.0, 2.0),
        (UP, 1.25, 2.25),
        (PROBE_RTT, 1.0, 0.5),
    ] {
        let bbr = knows(100.0, state);
        assert_eq!((bbr.pacing_gain(), bbr.cwnd_gain()), (pacing, cwnd), "{state:?}");
    }
    let linux = law(Flavour::Linux);
    assert_eq!((linux.drain_gain, linux.down_gain), (0.344, 0.91));
}

/// The volume caps: BDP 100, inflight_longterm 100, inflight_shortterm 60 or none; two more in UP.
#[test]
fn volume_caps() {
    use State::*;
    let none = f64::INFINITY;
    for (state, longterm, shortterm, w) in [
        (UP, none, none, 227.0),
        (Down, none, none, 200.0),
        (UP, 100.0, none, 100.0),
        (Refill, 100.0, none, 100.0),
        (Down, 100.0, none, 100.0),
        (Cruise, 100.0, none, 85.0),
        (Cruise, 100.0, 60.0, 60.0),
        (PROBE_RTT, none, none, 50.0),
        (PROBE_RTT, 40.0, none, 34.0),
        (Drain(0), 100.0, none, 200.0), // by the logic, not by the table
        (Cruise, 4.0, none, 4.0),
    ] {
        let mut bbr = knows(100.0, state);
        (bbr.inflight_longterm, bbr.inflight_shortterm, bbr.cwnd) = (longterm, shortterm, 1000.0);
        bbr.set_cwnd(&ack(100.0, 1));
        assert!((bbr.cwnd - w).abs() < 1e-9, "{state:?} {longterm} {shortterm}: {}", bbr.cwnd);
    }
}

/// 1000 segments in flight of which 15 were lost, then a lost one: 2 % is crossed at 1005.1.
#[test]
fn inflight_at_loss() {
    let mut bbr = law(Flavour::Paper);
    bbr.rs = Sample { tx_in_flight: 1001.0, lost: 16.0, ..Sample::default() };
    assert!((bbr.inflight_at_loss(1.0) - 1005.102).abs() < 0.001);
}

/// Reno's time scale: a BDP of 40 is probed after 40 rounds, one of 5000 after 63 or two to three seconds.
#[test]
fn time_to_probe() {
    for (bdp, rounds) in [(40.0, 40), (5000.0, 63)] {
        let mut bbr = knows(bdp, State::Cruise);
        bbr.rounds_since_probe = rounds - 1;
        assert!(!bbr.is_time_to_probe(ms(1001.0)), "{bdp}");
        bbr.rounds_since_probe = rounds;
        assert!(bbr.is_time_to_probe(ms(1001.0)), "{bdp}");
    }
    let mut bbr = knows(5000.0, State::Cruise);
    let mut waits = vec![];
    for _ in 0..1000 {
        bbr.start_down(ms(1000.0));
        assert!(bbr.rounds_since_probe <= 1);
        waits.push(bbr.probe_wait.as_secs_f64());
    }
    let mean = waits.iter().sum::<f64>() / 1000.0;
    assert!(waits.iter().all(|w| (2.0..3.0).contains(w)) && (mean - 2.5).abs() < 0.05, "{mean}");
    bbr.rounds_since_probe = 0;
    let due = bbr.cycle_stamp + bbr.probe_wait;
    assert!(!bbr.is_time_to_probe(due) && bbr.is_time_to_probe(due + Duration(1)));
}

/// The initial window in the RTT, or in 1 ms, at 2.77.
#[test]
fn the_first_rate() {
    let mut bbr = law(Flavour::Paper);
    assert_eq!(bbr.pacing_rate().unwrap().0, (2.77 * 10.0 * SEGMENT / 0.001) as u64);
    bbr.on_ack(&AckEvent { now: ms(40.0), srtt: RTT, ..AckEvent::default() });
    assert_eq!(bbr.pacing_rate().unwrap().0, (2.77 * 10.0 * SEGMENT / 0.040) as u64);
}

/// DOWN, CRUISE, a round of REFILL, UP until the plateau, DOWN, and a round later the next cycle of max_bw.
#[test]
fn a_cycle() {
    let mut bbr = knows(100.0, State::Down);
    bbr.acks = Acks::ProbeStopping;
    let mut k = 0;
    let mut step = |bbr: &mut Bbr3, in_flight: u64| {
        k += 1;
        bbr.on_ack(&AckEvent { bytes_in_flight: in_flight * MSS, ..ack(100.0, k) });
        bbr.state
    };
    assert_eq!(step(&mut bbr, 130), State::Down, "a queue is left");
    assert_eq!((bbr.acks, bbr.cycle), (Acks::Init, 1));
    assert_eq!(step(&mut bbr, 100), State::Cruise);
    bbr.rounds_since_probe = 63;
    assert_eq!(step(&mut bbr, 100), State::Refill);
    assert_eq!((bbr.acks, bbr.is_bw_probe_sample), (Acks::Refilling, false));
    assert_eq!(step(&mut bbr, 100), UP);
    assert_eq!((bbr.acks, bbr.is_bw_probe_sample), (Acks::ProbeStarting, true));
    // Three rounds at the rate that REFILL had.
    assert_eq!(step(&mut bbr, 120), UP);
    assert_eq!(bbr.acks, Acks::ProbeFeedback);
    assert_eq!(step(&mut bbr, 125), UP);
    assert_eq!(step(&mut bbr, 125), State::Down);
    assert_eq!((bbr.acks, bbr.cycle, bbr.is_bw_probe_sample), (Acks::ProbeStopping, 1, true));
    step(&mut bbr, 125);
    assert_eq!((bbr.acks, bbr.cycle, bbr.is_bw_probe_sample), (Acks::Init, 2, false));
}

/// No matter how long: while the application limits it, neither Startup nor UP ends.
#[test]
fn application_limited_samples_end_no_search() {
    for state in [State::Startup, UP] {
        let mut bbr = knows(100.0, state);
        bbr.full_bw_reached = state == UP;
        for k in 1..100 {
            bbr.on_ack(&AckEvent { app_limited: true, rtt: None, ..ack(100.0, k) });
            assert_eq!(bbr.state, state, "{k}");
        }
    }
}

/// UP raises inflight_longterm by 1, 2, 4 … segments a round of W = 100.
#[test]
fn the_slope_doubles_each_round() {
    let mut slope = Slope::NONE;
    for rise in [1.0, 2.0, 4.0, 8.0] {
        slope.raise(100.0);
        assert_eq!((0..100).map(|_| slope.climb(1.0)).sum::<f64>(), rise);
    }
}

/// It does so while W is what limits it, and not below W.
#[test]
fn upwards_only_as_far_as_it_is_used() {
    for (cwnd_limited, cwnd, after) in [(true, 100.0, 101.0), (false, 100.0, 100.0), (true, 99.0, 100.0)] {
        let mut slope = Slope::NONE;
        slope.raise(1.0);
        let mut bbr = knows(1000.0, State::Up(slope));
        (bbr.inflight_longterm, bbr.cwnd, bbr.cwnd_limited) = (100.0, cwnd, cwnd_limited);
        bbr.rs.newly_acked = 1.0;
        bbr.probe_longterm_upward();
        assert_eq!(bbr.inflight_longterm, after, "{cwnd_limited} {cwnd}");
    }
}

fn lost(in_flight: u64, lost: u64) -> LostEvent {
    LostEvent {
        now: ms(1100.0),
        bytes: MSS,
        sent: ms(1060.0),
        tx_in_flight: in_flight * MSS,
        prior_lost: 0,
        lost: lost * MSS,
        prior_delivered: 1,
        delivered: 2,
        app_limited: false,
    }
}

/// UP: more than 2 % lost of what was in flight bounds it where the threshold was crossed, but not below 0.7 of what is
/// meant to be in flight; once per probe; and UP is over.
#[test]
fn too_much_loss_ends_a_probe() {
    let mut bbr = knows(100.0, UP);
    bbr.is_bw_probe_sample = true;
    bbr.on_lost(&lost(150, 3));
    assert_eq!((bbr.state, bbr.inflight_longterm), (UP, f64::INFINITY), "3 of 150 are 2 %");
    bbr.on_lost(&lost(150, 4));
    // (0.02 · 149 − 3) / 0.98 more than 149
    assert!((bbr.inflight_longterm - 148.9796).abs() < 1e-4, "{}", bbr.inflight_longterm);
    assert_eq!((bbr.state, bbr.acks, bbr.prev_probe_too_high), (State::Down, Acks::ProbeStopping, true));
    bbr.on_lost(&lost(120, 30));
    assert!((bbr.inflight_longterm - 148.9796).abs() < 1e-4, "once per probe");
    let mut bbr = knows(100.0, UP);
    bbr.is_bw_probe_sample = true;
    bbr.on_lost(&lost(50, 10));
    assert_eq!(bbr.inflight_longterm, 70.0);
    // Spurious: UP begins anew with REFILL, without the bound.
    bbr.on_undo(&UndoEvent { now: ms(1200.0) });
    assert_eq!((bbr.state, bbr.inflight_longterm), (State::Refill, f64::INFINITY));
}

/// After a probe that was too high the next one stops where it is risky, and, that being safe, goes on.
#[test]
fn precautionary_probing() {
    let mut bbr = knows(100.0, UP);
    (bbr.prev_probe_too_high, bbr.inflight_longterm) = (true, 110.0);
    let in_flight = |k, n| AckEvent { bytes_in_flight: n * MSS, ..ack(100.0, k) };
    bbr.on_ack(&in_flight(1, 109));
    assert_eq!(bbr.state, UP);
    bbr.on_ack(&in_flight(2, 110));
    assert_eq!((bbr.state, bbr.prev_probe_precautionary), (State::Down, true));
    bbr.on_ack(&in_flight(3, 110));
    assert_eq!((bbr.state, bbr.prev_probe_precautionary), (State::Refill, false));
}

/// Outside of probes a round with loss lowers the short-term model to what was delivered, or to 0.7 of what it was;
/// REFILL forgets it.
#[test]
fn the_short_term_model() {
    for (rate, delivered, bw, inflight) in [(80.0, 90, 80.0, 140.0), (50.0, 190, 70.0, 190.0)] {
        let mut bbr = knows(100.0, State::Cruise);
        bbr.on_lost(&LostEvent { delivered: 1_000_000, ..lost(100, 1) });
        let ev = AckEvent {
            delivery_rate: Some(Rate((rate * SEGMENT / 0.040) as u64)),
            delivered: 1_000_000 + delivered * MSS,
            prior_delivered: 1_000_000,
            ..ack(100.0, 1)
        };
        bbr.on_ack(&ev);
        assert!((bbr.bw_shortterm - bw * SEGMENT / 0.040).abs() < 1e-3, "{}", bbr.bw_shortterm);
        assert!((bbr.inflight_shortterm - inflight).abs() < 1e-9, "{}", bbr.inflight_shortterm);
        assert_eq!((bbr.bw, bbr.loss_in_round), (bbr.bw_shortterm, false));
        bbr.start_refill();
        assert!(bbr.bw_shortterm.is_infinite() && bbr.inflight_shortterm.is_infinite());
    }
}

/// A round of recovery with 2 % lost in six places ends Startup, at what was delivered in a round.
#[test]
fn startup_ends_by_loss() {
    for (places, ends) in [(6, true), (5, false)] {
        let mut bbr = knows(100.0, State::Startup);
        bbr.full_bw_reached = false;
        bbr.bw *= 0.5;
        let losses = |k, lost: u64| AckEvent {
            phase: Phase::Recovery,
            lost: lost * MSS,
            lost_bytes: MSS,
            app_limited: true, // no plateau
            ..ack(100.0, k)
        };
        bbr.on_ack(&losses(1, 1));
        for n in 2..=places {
            bbr.on_ack(&AckEvent { prior_delivered: 0, delivered: 200 * MSS, ..losses(2, n) });
        }
        bbr.on_ack(&losses(3, places));
        assert_eq!(bbr.state != State::Startup, ends, "{places}");
        if ends {
            assert!(bbr.full_bw_reached && bbr.inflight_longterm >= 100.0);
            bbr.on_undo(&UndoEvent { now: ms(1200.0) });
            assert_eq!((bbr.state, bbr.full_bw_reached), (State::Startup, false));
        }
    }
}

/// Five seconds without a smaller RTT: W = BDP/2 for 200 ms and a round, then CRUISE, with the W of before.
#[test]
fn probe_rtt() {
    let mut bbr = knows(100.0, State::Cruise);
    bbr.probe_wait = Duration::from_secs(60);
    let at = |t, k, in_flight: u64| AckEvent { now: ms(t), bytes_in_flight: in_flight * MSS, ..ack(100.0, k) };
    bbr.on_ack(&at(6000.0, 1, 100));
    assert_eq!(bbr.state, State::Cruise);
    bbr.on_ack(&at(6000.1, 2, 100));
    assert_eq!((bbr.state, bbr.cwnd, bbr.prior_cwnd), (PROBE_RTT, 50.0, 201.0));
    bbr.on_ack(&at(6040.0, 3, 51));
    assert!(matches!(bbr.state, State::ProbeRtt(ProbeRtt { done: None, .. })));
    bbr.on_ack(&at(6050.0, 4, 50));
    bbr.on_ack(&at(6250.0, 5, 50));
    assert_eq!(bbr.state, PROBE_RTT);
    bbr.on_ack(&at(6250.1, 6, 50));
    assert_eq!((bbr.state, bbr.probe_rtt_min_stamp), (State::Cruise, ms(6250.1)));
    assert!((200.0..202.0).contains(&bbr.cwnd), "{}", bbr.cwnd);
}

/// min_rtt takes the larger RTT only after ten seconds, from ProbeRTT's of five.
#[test]
fn two_windows_of_the_rtt() {
    let mut bbr = knows(100.0, State::Cruise);
    let longer = Some(Duration::from_millis(60));
    bbr.update_min_rtt(&AckEvent { now: ms(6001.0), rtt: longer, ..AckEvent::default() });
    assert_eq!((bbr.probe_rtt_min, bbr.min_rtt), (longer, Some(RTT)));
    bbr.update_min_rtt(&AckEvent { now: ms(11_001.0), rtt: longer, ..AckEvent::default() });
    assert_eq!((bbr.min_rtt, bbr.min_rtt_stamp), (longer, ms(6001.0)));
}

/// Timeout: one more than in flight; after recovery W as it was, within the model.
#[test]
fn a_timeout() {
    let mut bbr = knows(100.0, State::Cruise);
    bbr.on_timeout(&TimeoutEvent { now: ms(1050.0), flight_size: 100 * MSS, first: true, in_flight: 5 * MSS });
    assert_eq!(bbr.cwnd, 6.0);
    let loss = AckEvent { phase: Phase::Loss, prior_in_flight: 6 * MSS, bytes_in_flight: 5 * MSS, ..ack(100.0, 1) };
    bbr.on_ack(&loss);
    assert_eq!(bbr.cwnd, 7.0);
    bbr.on_recovered(&RecoveredEvent { now: ms(1100.0), phase: Phase::Loss });
    bbr.on_ack(&ack(100.0, 2));
    assert_eq!(bbr.cwnd, 201.0); // and what came in excess of bw
}
