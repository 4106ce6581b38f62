//! Worked values of the paper, the draft and Linux.

use super::*;
use crate::cc::Signal;

const MSS: u64 = 1500;

fn law(flavour: Flavour) -> Bbr<Gains> {
    let params = Params::resolve(ENTRY.params, &[], flavour).unwrap();
    Bbr::new(&Context { flavour, ..Context::new(MSS as u32) }, &params, Gains)
}

fn ms(t: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(t / 1000.0)
}

/// An ACK of one segment at `t` ms that begins a round; 40 ms, 10 Mbit/s, 33 segments in flight.
fn ack(t: f64) -> AckEvent {
    AckEvent {
        now: ms(t),
        acked_bytes: MSS,
        delivered_bytes: MSS,
        rtt: Some(Duration::from_millis(40)),
        srtt: Duration::from_millis(40),
        delivery_rate: Some(Rate(10_000_000)),
        bytes_in_flight: 33 * MSS,
        prior_in_flight: 34 * MSS,
        delivered: 1 << 40,
        prior_delivered: (1 << 40) - 1,
        ..AckEvent::default()
    }
}

/// A law that knows the path of the vectors (10 Mbit/s, 40 ms), in PROBE_BW at `place` since `t` = 1000 ms.
fn knows_the_path(place: usize) -> Bbr<Gains> {
    let mut bbr = law(Flavour::Linux);
    bbr.btl_bw.update(0, 10e6, BTL_BW_ROUNDS);
    bbr.rt_prop = Some(Duration::from_millis(40));
    bbr.rt_prop_stamp = ms(1000.0);
    bbr.full_pipe.reached = true;
    bbr.state = State::ProbeBw(ProbeBw { place, since: ms(1000.0) });
    bbr.seen_rtt = true;
    bbr.rounds.begin(1 << 40); // no round begins
    bbr
}

/// The place in PROBE_BW's cycle.
fn place(bbr: &Bbr<Gains>) -> Option<usize> {
    match bbr.state {
        State::ProbeBw(cycle) => Some(cycle.place),
        _ => None,
    }
}

/// In PROBE_RTT: when it may end, if that is known.
fn done(bbr: &Bbr<Gains>) -> Option<Option<Time>> {
    match bbr.state {
        State::ProbeRtt(probe) => Some(probe.done),
        _ => None,
    }
}

/// 10 Mbit/s, 40 ms, 1500 bytes: BDP 33.3 segments, W 66.7, pacing 12.375, 7.425 and 9.9 Mbit/s.
#[test]
fn window_and_pacing_follow_the_model() {
    for (place, rate, w) in [(0, 12_375_000, 76.0), (1, 7_425_000, 74.0), (2, 9_900_000, 74.0)] {
        let mut bbr = knows_the_path(place);
        assert_eq!((bbr.bdp_at(10e6, 1.0), bbr.bdp_at(10e6, CWND_GAIN)), (34.0, 67.0)); // whole segments, rounded up
        bbr.cwnd = 200.0;
        bbr.on_ack(&AckEvent { prior_in_flight: 60 * MSS, ..ack(1000.0) });
        assert_eq!((bbr.pacing_rate(), bbr.cwnd), (Some(Rate(rate)), w), "{place}");
    }
}

/// W grows by what is delivered, up to the target, once the pipe is full; before, as slow start.
#[test]
fn the_window_grows_by_what_is_delivered() {
    let mut bbr = knows_the_path(2);
    bbr.cwnd = 20.0;
    bbr.on_ack(&AckEvent { delivered_bytes: 3 * MSS, ..ack(1000.0) });
    assert_eq!(bbr.cwnd, 23.0);
    bbr.full_pipe.reached = false;
    bbr.state = State::Startup;
    bbr.cwnd = 500.0;
    bbr.on_ack(&ack(1001.0));
    assert_eq!(bbr.cwnd, 500.0, "above the target it stays");
}

/// Round maxima 10, 12, 12.2, 12.4: three rounds below 12.5, so the pipe is full after the fourth; 12.5 is growth.
#[test]
fn the_plateau() {
    for (rates, full) in [(vec![10.0, 12.0, 12.2, 12.4], 4), (vec![10.0, 12.5, 12.6, 12.7, 12.8], 5)] {
        let mut bbr = law(Flavour::Linux);
        for (k, rate) in rates.iter().enumerate() {
            let delivered = (k as u64 + 1) * 100_000;
            let rate = Some(Rate((rate * 1e6) as u64));
            let ev = AckEvent {
                delivery_rate: rate,
                bytes_in_flight: 100 * MSS,
                delivered,
                prior_delivered: delivered - 100_000,
                ..ack(k as f64 * 40.0)
            };
            bbr.on_ack(&ev);
            assert_eq!(bbr.full_pipe.reached, k + 1 >= full, "{rates:?}: {k}");
        }
        assert!(matches!(bbr.state, State::Drain));
    }
}

/// A sample below BtlBw that the application limited neither lowers it nor counts for the plateau.
#[test]
fn application_limited_samples_only_raise() {
    let mut bbr = law(Flavour::Linux);
    for k in 1..30 {
        let rate = if k == 1 { 10_000_000 } else { 5_000_000 };
        let delivered = k * 100_000;
        bbr.on_ack(&AckEvent {
            delivery_rate: Some(Rate(rate)),
            app_limited: k > 1,
            delivered,
            prior_delivered: delivered - 100_000,
            ..ack(k as f64 * 40.0)
        });
    }
    assert_eq!((bbr.btl_bw.get(), bbr.full_pipe.reached), (10e6, false));
    bbr.on_ack(&AckEvent { delivery_rate: Some(Rate(11_000_000)), app_limited: true, ..ack(2000.0) });
    assert_eq!(bbr.btl_bw.get(), 11e6);
}

/// Before the first RTT: the initial window in 1 ms; then in the RTT; both at STARTUP's gain, less 1 %.
#[test]
fn the_first_rate_is_the_initial_window_per_rtt() {
    let mut bbr = law(Flavour::Linux);
    let initial = 739.0 / 256.0 * 0.99 * 10.0 * 12000.0 / 0.001;
    assert_eq!(bbr.pacing_rate().unwrap().0, initial as u64);
    let handshake = AckEvent { now: ms(40.0), srtt: Duration::from_millis(40), ..AckEvent::default() };
    bbr.on_ack(&handshake);
    assert!((bbr.pacing_rate / (initial / 40.0) - 1.0).abs() < 1e-12);
    assert_eq!((bbr.cwnd, bbr.rounds.count), (10.0, 0));
}

/// The cycle begins anywhere but at 0.75.
#[test]
fn the_cycle_begins_at_random() {
    let mut bbr = knows_the_path(0);
    let mut seen = [0; 8];
    for _ in 0..1000 {
        bbr.enter_probe_bw(ms(0.0));
        seen[place(&bbr).unwrap()] += 1;
    }
    assert_eq!(seen[1], 0);
    // 1000/7 each, standard deviation 11
    assert!(seen.iter().enumerate().all(|(k, &n)| k == 1 || (90..=200).contains(&n)), "{seen:?}");
}

/// 1.25 lasts for RTprop and until 1.25 BDP are in flight or a loss; 0.75 for RTprop or until BDP is; 1 for RTprop.
#[test]
fn when_the_gain_changes() {
    // place, ms since its begin, segments in flight before the ACK, lost, changes
    let cases = [
        (0, 41.0, 50, 0, true), // 1.25 · 33.3, rounded up, and the quanta: 48 + 2
        (0, 41.0, 49, 0, false),
        (0, 41.0, 40, 1, true),
        (0, 40.0, 60, 1, false),
        (1, 1.0, 40, 0, true), // 34 and the quanta
        (1, 1.0, 41, 0, false),
        (1, 41.0, 60, 0, true),
        (2, 40.0, 10, 0, false),
        (2, 41.0, 60, 0, true),
    ];
    for (place, t, in_flight, lost, changes) in cases {
        let mut bbr = knows_the_path(place);
        bbr.on_ack(&AckEvent { prior_in_flight: in_flight * MSS, lost_bytes: lost * MSS, ..ack(1000.0 + t) });
        assert_eq!(self::place(&bbr) == Some(place + 1), changes, "{place} {t} {in_flight} {lost}");
    }
}

/// A smaller RTT renews RTprop; an equal one does in the draft only; after ten seconds any, but for a delayed ACK's.
#[test]
fn rt_prop_is_renewed() {
    // RTT (ms), at (ms), of a lone small segment, flavour, renewed
    let cases = [
        (39, 2000.0, false, Flavour::Linux, true),
        (40, 2000.0, false, Flavour::Linux, false),
        (40, 2000.0, false, Flavour::Paper, true),
        (50, 2000.0, false, Flavour::Paper, false),
        (50, 11_001.0, false, Flavour::Linux, true),
        (50, 11_001.0, true, Flavour::Linux, false),
    ];
    for (rtt, t, lone, flavour, renewed) in cases {
        let mut bbr = Bbr { linux: flavour == Flavour::Linux, ..knows_the_path(2) };
        let small = |ev| AckEvent { acked_bytes: 100, prior_in_flight: 100, ..ev };
        let ev = AckEvent { rtt: Some(Duration::from_millis(rtt)), ..ack(t) };
        bbr.on_ack(&if lone { small(ev) } else { ev });
        assert_eq!(bbr.rt_prop_stamp == ms(t), renewed, "{rtt} {t} {lone} {flavour:?}");
        assert_eq!(bbr.rt_prop, Some(Duration::from_millis(if renewed { rtt } else { 40 })));
    }
}

/// W = 4 until 200 ms and a round after it took hold; then W as it was, and samples from within do not count.
#[test]
fn probe_rtt() {
    let mut bbr = knows_the_path(2);
    bbr.cwnd = 74.0;
    let start = 1 << 40;
    bbr.on_ack(&ack(11_001.0));
    assert_eq!((done(&bbr), bbr.cwnd, bbr.recovery.prior_cwnd), (Some(None), 4.0, 74.0));
    let at = |t, in_flight: u64, delivered: u64, prior: u64| AckEvent {
        bytes_in_flight: in_flight * MSS,
        delivered: start + delivered * MSS,
        prior_delivered: start + prior * MSS,
        ..ack(t)
    };
    bbr.on_ack(&at(11_020.0, 5, 10, 1));
    assert_eq!(done(&bbr), Some(None));
    bbr.on_ack(&at(11_030.0, 4, 20, 2));
    assert_eq!(done(&bbr), Some(Some(ms(11_230.0))));
    bbr.on_ack(&at(11_231.0, 4, 24, 19));
    assert!(done(&bbr).is_some(), "no round yet");
    bbr.on_ack(&AckEvent { delivery_rate: Some(Rate(1_000_000)), ..at(11_232.0, 4, 25, 20) });
    assert!(matches!(bbr.state, State::ProbeBw(_)));
    assert_eq!((bbr.rt_prop_stamp, bbr.btl_bw.get()), (ms(11_232.0), 10e6));
    assert!(bbr.cwnd >= 74.0);
}

/// No PROBE_RTT where the sender restarts from idle: nothing is in the queue. It paces at BtlBw.
#[test]
fn a_restart_from_idle() {
    let mut bbr = knows_the_path(0);
    let idle = Duration::from_secs(60);
    let event = IdleEvent { now: ms(61_000.0), idle, app_limited: false };
    bbr.on_idle(&event);
    assert!(!bbr.idle_restart, "the receiver had no room: RTprop may be old");
    bbr.on_idle(&IdleEvent { app_limited: true, ..event });
    assert_eq!((bbr.pacing_rate, bbr.cwnd), (9.9e6, 10.0));
    bbr.on_ack(&ack(61_040.0));
    assert!(matches!(bbr.state, State::ProbeBw(_)) && !bbr.idle_restart);
}

/// Recovery begins with packet conservation for a round; losses come off W; its end brings W back.
#[test]
fn recovery_conserves_packets_for_a_round() {
    let mut bbr = knows_the_path(2);
    bbr.cwnd = 74.0;
    let congestion = CongestionEvent {
        now: ms(1000.0),
        signal: Signal::Loss,
        flight_size: 60 * MSS,
        srtt: Duration::ZERO,
        min_rtt: Duration::ZERO,
    };
    bbr.on_congestion(&congestion);
    let recovery = AckEvent { phase: Phase::Recovery, lost_bytes: 3 * MSS, bytes_in_flight: 50 * MSS, ..ack(1001.0) };
    bbr.on_ack(&recovery);
    assert_eq!((bbr.cwnd, bbr.recovery.prior_cwnd, bbr.recovery.conserve), (51.0, 74.0, true));
    bbr.on_ack(&AckEvent { lost_bytes: MSS, prior_delivered: 0, ..recovery });
    assert_eq!(bbr.cwnd, 51.0, "at least what is in flight and what was delivered");
    // The round is over.
    bbr.on_ack(&AckEvent { lost_bytes: MSS, prior_delivered: 1 << 40, ..recovery });
    assert_eq!((bbr.cwnd, bbr.recovery.conserve), (51.0, false), "one lost, one delivered");
    bbr.on_ack(&AckEvent { phase: Phase::Open, ..ack(1020.0) });
    assert_eq!(bbr.cwnd, 75.0);
}

/// After a timeout one segment more than is in flight; W grows as ever and comes back after recovery.
#[test]
fn a_timeout_leaves_what_is_in_flight_and_one() {
    let mut bbr = knows_the_path(2);
    bbr.cwnd = 74.0;
    bbr.on_timeout(&TimeoutEvent { now: ms(1000.0), flight_size: 60 * MSS, first: true, in_flight: 0 });
    assert_eq!((bbr.cwnd, bbr.full_pipe.bw), (1.0, 0.0));
    // Six were in flight, one of them sent again.
    let loss = AckEvent { phase: Phase::Loss, prior_in_flight: 6 * MSS, bytes_in_flight: 5 * MSS, ..ack(1040.0) };
    bbr.on_ack(&loss);
    assert_eq!(bbr.cwnd, 7.0);
    bbr.on_ack(&ack(1080.0));
    assert_eq!(bbr.cwnd, 74.0);
}

/// ACKs in excess of BtlBw: at 10 Mbit/s 8.3 segments in 10 ms, 20 came; W has room for the difference.
#[test]
fn the_excess_of_acks() {
    let mut extra = Extra::default();
    let bw = 10e6 / 12000.0;
    extra.on_ack(ms(100.0), 10.0, bw, 74.0, true);
    assert_eq!(extra.most(), 10.0);
    extra.on_ack(ms(110.0), 20.0, bw, 74.0, false);
    assert!((extra.most() - (30.0 - bw * 0.01)).abs() < 1e-9);
    // Not more than W; forgotten after the second window of five rounds.
    extra.on_ack(ms(110.0), 100.0, bw, 74.0, false);
    assert_eq!(extra.most(), 74.0);
    for round in 0..9 {
        assert_eq!(extra.most(), 74.0, "{round}");
        extra.on_ack(ms(1000.0 + 40.0 * f64::from(round)), 1.0, bw, 74.0, true);
    }
    extra.on_ack(ms(2000.0), 1.0, bw, 74.0, true);
    assert_eq!(extra.most(), 1.0);
}

/// 25 % loss over two intervals of four rounds at one rate is a policer, 15 % is not.
#[test]
fn steady_loss_is_a_policer() {
    for (loss, found) in [(1, true), (0, false)] {
        let mut policer = Policer::default();
        for k in 1..=12_u64 {
            let lost = if loss == 1 { k * 25_000 } else { k * 15_000 };
            let ev = AckEvent { delivered: k * 100_000, lost, now: ms(k as f64 * 40.0), ..AckEvent::default() };
            policer.on_sample(&ev, true, false, true);
            assert_eq!(policer.rate.is_some(), found && k >= 8, "{k}");
        }
        if found {
            assert_eq!(policer.rate, Some(20e6)); // 100 kB in 40 ms
        }
    }
}

/// Linux `bbr_init`: RTprop begins with the handshake's RTT; the paper has data only.
#[test]
fn the_handshake_tells_rt_prop_in_linux() {
    let rtt = Duration::from_millis(40);
    for (flavour, told) in [(Flavour::Linux, Some(rtt)), (Flavour::Paper, None)] {
        let mut bbr = law(flavour);
        bbr.on_established(&EstablishedEvent { now: ms(40.0), srtt: rtt });
        assert_eq!((bbr.rt_prop, bbr.rt_prop_stamp), (told, ms(40.0)));
    }
}

/// Linux `bbr_tso_segs_goal`: 1/1024 s of the pacing rate, 64 KB at most, two segments at least (below 1.2 Mbit/s one).
#[test]
fn a_quantum_is_a_millisecond_of_the_pacing_rate() {
    for (rate, alone, burst) in
        [(1e6, 1.0, 1.0), (10e6, 2.0, 2.0), (100e6, 2.0, 8.0), (200e6, 2.0, 16.0), (10e9, 2.0, 43.0)]
    {
        let bbr = |bursts| Bbr { pacing_rate: rate, bursts, ..knows_the_path(2) };
        assert_eq!((bbr(false).quantum(), bbr(true).quantum()), (alone, burst), "{rate}");
    }
}
