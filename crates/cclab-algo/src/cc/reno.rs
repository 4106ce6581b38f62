//! Reno: additive increase, multiplicative decrease.
//!
//! Sources: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; RFC 5681; Linux `tcp_cong.c`.
//! Where they differ: RFC 5681 halves FlightSize, Linux halves cwnd (they differ when the sender did not use
//! its window); RFC 5681 adds a fraction on each ACK, Linux saves up whole segments. The `flavour` of the flow's
//! profile decides.
//!
//! Both count the bytes that an ACK acknowledges (RFC 5681 §3.1 recommends it, Linux does so since 4.0). Before that,
//! each ACK counted as one segment, whatever it acknowledged, so that delayed ACKs halved the growth: `ack_counting`.
//!
//! `abe`: an ECN echo in congestion avoidance leaves 0.8 of the window, since whoever marks keeps his queue short (RFC 8511 §3).

use super::{AckEvent, Build, CongestionEvent, Context, Entry, Signal, Window, WindowLaw, Windowed};
use crate::params::{Flavour, Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "reno",
    summary: "additive increase by one segment per RTT, halving on loss",
    source: "RFC 5681; Jacobson, SIGCOMM 1988; Linux tcp_cong.c",
    params: PARAMS,
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Reno::new(cx, params)))),
};

const PARAMS: &[Spec] = &[
    Spec {
        name: "ack_counting",
        kind: Kind::Flag,
        default: Value::Flag(false),
        paper_default: None,
        unit: "",
        doc: "each ACK counts as at most one segment, as before byte counting (RFC 5681 eq. 2 and 3; Linux before 4.0)",
    },
    ABE,
];

/// Alternative backoff with ECN.
pub(super) const ABE: Spec = Spec {
    name: "abe",
    kind: Kind::Flag,
    default: Value::Flag(false),
    paper_default: None,
    unit: "",
    doc: "an ECN echo in congestion avoidance leaves more of the window than a loss: 0.8 of Reno's, 0.85 of CUBIC's (RFC 8511)",
};

/// β_ecn of Reno (RFC 8511 §3).
const BETA_ECN: f64 = 0.8;

/// Reno's window law.
pub struct Reno {
    ack_counting: bool,
    abe: bool,
    flavour: Flavour,
}

impl Reno {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        Reno { ack_counting: params.flag("ack_counting"), abe: params.flag(ABE.name), flavour: cx.flavour }
    }

    /// The law with its parameters at their defaults: what other laws are built upon.
    pub(super) fn plain(cx: &Context) -> Self {
        Reno { ack_counting: false, abe: false, flavour: cx.flavour }
    }

    /// What a loss is judged by: FlightSize (RFC 5681 eq. 4), in Linux W.
    pub(super) fn judged(&self, w: &Window, flight_size: u64) -> f64 {
        match self.flavour {
            Flavour::Linux => w.cwnd,
            Flavour::Paper => w.used(flight_size),
        }
    }

    /// What congestion leaves that leaves the share `beta`.
    fn share(&self, w: &Window, flight_size: u64, beta: f64) -> f64 {
        let left = self.judged(w, flight_size) * beta;
        if self.flavour == Flavour::Linux { left.floor() } else { left }.max(2.0)
    }
}

impl WindowLaw for Reno {
    #[inline]
    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        let left = w.slow_start(if self.ack_counting { acked.min(1.0) } else { acked });
        if left > 0.0 {
            self.avoid(w, left, ev);
        }
    }

    /// W += acked/W (RFC 5681 eq. 3).
    #[inline]
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        match self.flavour {
            Flavour::Linux => w.add_credit(w.cwnd.floor(), acked),
            Flavour::Paper => w.add_fraction(w.cwnd, acked),
        }
    }

    /// ssthresh = max(FlightSize / 2, 2) (RFC 5681 eq. 4); Linux: of cwnd, whole segments.
    fn decrease(&mut self, w: &Window, _now: Time, flight_size: u64) -> f64 {
        self.share(w, flight_size, 0.5)
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        let mild = self.abe && ev.signal == Signal::Ecn && !w.in_slow_start();
        w.reduce(self.share(w, ev.flight_size, if mild { BETA_ECN } else { 0.5 }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{CongestionControl, RestartEvent, TimeoutEvent, UndoEvent};
    use crate::params::Given;
    use crate::units::{Duration, Time};

    const MSS: u32 = 1000;

    fn law(flavour: Flavour, w: u32) -> Windowed<Reno> {
        let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(MSS) };
        Windowed::new(&cx, SlowStart::Standard, Reno::new(&cx, &Params::resolve(PARAMS, &[], flavour).unwrap()))
    }
    fn ack(law: &mut Windowed<Reno>, segments: u64) {
        law.on_ack(&AckEvent { acked_bytes: segments * u64::from(MSS), may_grow: true, ..AckEvent::default() });
    }

    /// RFC 8511 §3: β_ecn = 0.8 for Reno in congestion avoidance; losses and slow start as before.
    #[test]
    fn a_mark_leaves_four_fifths_with_abe() {
        let given = [(ABE.name.to_string(), Given::Flag(true))];
        for (signal, ssthresh, linux, paper) in [
            (Signal::Ecn, 1, 74_000, 74_400),
            (Signal::Loss, 1, 46_000, 46_500),
            (Signal::TailLoss, 1, 46_000, 46_500),
            (Signal::Ecn, 1000, 46_000, 46_500),
        ] {
            for (flavour, left) in [(Flavour::Linux, linux), (Flavour::Paper, paper)] {
                let initial_ssthresh = Some(ssthresh * u64::from(MSS));
                let cx = Context { initial_window: 93, initial_ssthresh, flavour, ..Context::new(MSS) };
                let params = Params::resolve(PARAMS, &given, flavour).unwrap();
                let mut reno = Windowed::new(&cx, SlowStart::Standard, Reno::new(&cx, &params));
                let (srtt, min_rtt) = (Duration::ZERO, Duration::ZERO);
                reno.on_congestion(&CongestionEvent { now: Time::ZERO, signal, flight_size: 93_000, srtt, min_rtt });
                assert_eq!((reno.cwnd(), reno.ssthresh()), (left, left), "{flavour:?} {signal:?}");
            }
        }
    }

    /// RFC 5681 eq. 3: W = 10, an ACK of one segment gives 10.1.
    #[test]
    fn the_rfc_adds_a_fraction() {
        let mut reno = law(Flavour::Paper, 10);
        ack(&mut reno, 1);
        assert_eq!(reno.cwnd(), 10_100);
    }

    /// Linux: one more after ten credits.
    #[test]
    fn linux_saves_up_whole_segments() {
        let mut reno = law(Flavour::Linux, 10);
        for _ in 0..9 {
            ack(&mut reno, 1);
            assert_eq!(reno.cwnd(), 10_000);
        }
        ack(&mut reno, 1);
        assert_eq!(reno.cwnd(), 11_000);
    }

    /// With an ACK for every second segment, counting ACKs halves the growth in congestion avoidance and slows
    /// slow start to 1.5 per RTT (RFC 5681 §4.2's consequence of eq. 2 and 3).
    #[test]
    fn counting_acks_halves_the_growth() {
        for (ack_counting, avoidance, slow_start) in [(false, 11.0, 20.0), (true, 10.5, 15.0)] {
            let grown = |ssthresh| {
                let mut reno = law(Flavour::Paper, 10);
                reno.ack_counting = ack_counting;
                reno.window.ssthresh = ssthresh;
                (0..5).for_each(|_| ack(&mut reno, 2));
                reno.window.cwnd
            };
            assert!((grown(1.0) - avoidance).abs() < 0.1);
            assert_eq!(grown(f64::INFINITY), slow_start);
        }
    }

    /// A sawtooth between 10 and 20 segments: mean 15, one loss per 3/8 · 20² = 150 packets, so
    /// W = 1.2247 √150 = 15 (Mathis et al., CCR 27(3), 1997).
    #[test]
    fn twenty_halved_takes_ten_round_trips_to_regain() {
        let mut reno = law(Flavour::Linux, 20);
        let flight_size = reno.cwnd();
        let (now, srtt) = (Time::ZERO, Duration::ZERO);
        reno.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size, srtt, min_rtt: srtt });
        let mut packets = 0;
        for round in 0..10 {
            assert_eq!(reno.cwnd(), (10 + round) * 1000);
            let w = reno.cwnd() / 1000;
            packets += w;
            (0..w).for_each(|_| ack(&mut reno, 1));
        }
        assert_eq!(reno.cwnd(), 20_000);
        assert!((145..=155).contains(&packets), "{packets}");
    }

    /// RFC 5681 eq. 4: W = 100 lost gives 50; Linux takes cwnd, the RFC FlightSize.
    #[test]
    fn loss_halves() {
        let event = |flight_size| CongestionEvent {
            now: Time::ZERO,
            signal: Signal::Loss,
            flight_size,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
        };
        let mut linux = law(Flavour::Linux, 100);
        linux.on_congestion(&event(40_000));
        assert_eq!((linux.cwnd(), linux.ssthresh()), (50_000, 50_000));
        let mut rfc = law(Flavour::Paper, 100);
        rfc.on_congestion(&event(40_000));
        assert_eq!((rfc.cwnd(), rfc.ssthresh()), (20_000, 20_000));
        let mut beyond = law(Flavour::Paper, 100);
        beyond.on_congestion(&event(120_000)); // limited transmit does not count
        assert_eq!((beyond.cwnd(), beyond.ssthresh()), (50_000, 50_000));
        linux.on_undo(&UndoEvent { now: Time::ZERO });
        assert_eq!(linux.cwnd(), 100_000);
    }

    /// W = 100: a timeout gives W = 1, ssthresh 50; back at 50 after ceil(log2 50) = 6 round trips.
    #[test]
    fn timeout_restarts_in_slow_start() {
        let mut reno = law(Flavour::Linux, 100);
        reno.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 100_000, first: true, in_flight: 0 });
        assert_eq!((reno.cwnd(), reno.ssthresh()), (1_000, 50_000));
        for round in 1..=6 {
            let w = reno.cwnd() / 1000;
            (0..w).for_each(|_| ack(&mut reno, 1));
            assert_eq!(reno.cwnd() >= 50_000, round == 6);
        }
        reno.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 1_000, first: false, in_flight: 0 });
        assert_eq!(reno.ssthresh(), 50_000, "a repeated timeout leaves ssthresh alone");
    }

    /// RFC 5681 eq. 4: never below two segments; after an idle time the proposed window.
    #[test]
    fn two_segments_at_least_and_the_restart_window() {
        let (now, zero) = (Time::ZERO, Duration::ZERO);
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let mut reno = law(flavour, 3);
            let signal = Signal::Loss;
            reno.on_congestion(&CongestionEvent { now, signal, flight_size: 3_000, srtt: zero, min_rtt: zero });
            assert_eq!((reno.cwnd(), reno.ssthresh()), (2_000, 2_000));
            let mut reno = law(flavour, 40);
            reno.on_restart(&RestartEvent { now, cwnd: 10_000, ssthresh: 30_000 });
            assert_eq!((reno.cwnd(), reno.ssthresh()), (10_000, 30_000));
        }
    }

    /// Linux counts whole segments: a window of 10.5 takes ten credits.
    #[test]
    fn linux_counts_whole_segments() {
        let mut reno = law(Flavour::Linux, 10);
        reno.window.cwnd = 10.5;
        ack(&mut reno, 10);
        assert_eq!(reno.cwnd(), 11_500);
    }
}
