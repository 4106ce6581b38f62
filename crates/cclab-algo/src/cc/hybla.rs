//! Hybla: grows per second as a Reno with a round-trip time of 25 ms would, however long its own is.
//!
//! Sources: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", Int. J. Satellite
//! Communications and Networking 22, 2004; Linux `tcp_hybla.c` (6.x). With ρ = RTT/RTT0, at least 1, each segment
//! acknowledged adds 2^ρ − 1 in slow start and ρ²/W in congestion avoidance; the first window is ρ. Reductions are
//! Reno's. ρ follows the smallest smoothed RTT, or a queue of its own would speed it up. Linux differs from the paper:
//!
//! * it counts ACKs, not segments (`ack_counting`);
//! * ρ in eighths, increases in 128ths, rounded down; where that leaves nothing it is Reno;
//! * outside of Open it grows as Reno.
//!
//! Both stop at 65535 segments, and take 2¹⁶ for a larger 2^ρ, as Linux does.

use super::{AckEvent, Build, Context, Entry, EstablishedEvent, Phase, Window, WindowLaw, Windowed};
use crate::math::pow;
use crate::params::{Flavour, Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "hybla",
    summary: "grows per second as a Reno with an RTT of 25 ms, for satellite paths",
    source: "Caini & Firrincieli, Int. J. Satellite Communications and Networking 22, 2004; Linux tcp_hybla.c",
    params: &[
        Spec {
            name: "rtt0",
            kind: Kind::Number { min: 1.0, max: 10_000.0 },
            default: Value::Number(25.0),
            paper_default: None,
            unit: "ms",
            doc: "RTT0, round-trip time of the Reno to be like",
        },
        Spec {
            name: "ack_counting",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: Some(Value::Flag(false)),
            unit: "",
            doc: "each ACK counts as at most one segment, as in Linux: delayed ACKs halve the growth",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Hybla::new(cx, params)))),
};

/// Linux' largest window, in segments.
const MAX_WINDOW: f64 = 65_535.0;
/// Linux' largest exponent of slow start.
const MAX_EXPONENT: f64 = 16.0;

/// Hybla's window law.
pub struct Hybla {
    rtt0: Duration,
    ack_counting: bool,
    linux: bool,
    /// Smallest smoothed RTT; `Duration::MAX` before the first.
    min_srtt: Duration,
    rho: f64,
    /// Fractions of a segment that Linux saves up, in 128ths.
    cents: f64,
}

impl Hybla {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        Hybla {
            rtt0: Duration::from_secs_f64(params.number("rtt0") / 1000.0),
            ack_counting: params.flag("ack_counting"),
            linux: cx.flavour == Flavour::Linux,
            min_srtt: Duration::MAX,
            rho: 1.0,
            cents: 0.0,
        }
    }

    /// ρ = RTT/RTT0, at least 1.
    fn follow(&mut self, srtt: Duration) {
        if srtt == Duration::ZERO || srtt >= self.min_srtt {
            return;
        }
        self.min_srtt = srtt;
        let rho = srtt.0 as f64 / self.rtt0.0 as f64;
        self.rho = if self.linux { (8.0 * rho).floor() / 8.0 } else { rho }.max(1.0);
    }

    /// What a segment acknowledged adds.
    fn increase(&self, w: &Window) -> f64 {
        match w.in_slow_start() {
            true => pow(2.0, self.rho.min(MAX_EXPONENT)) - 1.0,
            false => self.rho * self.rho / w.cwnd,
        }
    }
}

impl WindowLaw for Hybla {
    fn on_established(&mut self, w: &mut Window, ev: &EstablishedEvent) {
        self.follow(ev.srtt);
        w.cwnd = self.rho.floor();
    }

    fn measure(&mut self, _w: &mut Window, ev: &AckEvent) {
        self.follow(ev.srtt);
    }

    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if self.linux && ev.phase != Phase::Open {
            let left = w.slow_start(acked);
            if left > 0.0 {
                w.add_credit(w.cwnd.floor(), left);
            }
        } else {
            self.avoid(w, if self.ack_counting { acked.min(1.0) } else { acked }, ev);
        }
    }

    /// In slow start too.
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        let limit = if w.in_slow_start() { w.ssthresh.min(MAX_WINDOW) } else { MAX_WINDOW };
        let (before, increase) = (w.cwnd, self.increase(w));
        let step = (increase * 128.0).floor();
        if !self.linux {
            w.cwnd += increase * acked;
        } else if step == 0.0 {
            w.add_credit(before.floor(), acked); // W > 128 ρ²
        } else {
            self.cents += step * acked;
            let whole = (self.cents / 128.0).floor();
            self.cents -= 128.0 * whole;
            w.cwnd += whole;
        }
        w.cwnd = w.cwnd.min(limit.max(before));
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        let half = w.cwnd / 2.0;
        if self.linux { half.floor() } else { half }.max(2.0)
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("rho", self.rho);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::units::Time;

    const MSS: u64 = 1000;
    const BOTH: [Flavour; 2] = [Flavour::Linux, Flavour::Paper];

    fn law(flavour: Flavour, w: u32, ssthresh: u64, rtt_us: u64) -> Windowed<Hybla> {
        let initial_ssthresh = Some(ssthresh * MSS);
        let cx = Context { initial_window: w, initial_ssthresh, flavour, ..Context::new(MSS as u32) };
        let mut law = Windowed::new(
            &cx,
            SlowStart::Standard,
            Hybla::new(&cx, &Params::resolve(ENTRY.params, &[], flavour).unwrap()),
        );
        law.follow(Duration::from_micros(rtt_us));
        law
    }
    fn ack(law: &mut Windowed<Hybla>, segments: u64) {
        law.on_ack(&AckEvent { acked_bytes: segments * MSS, may_grow: true, ..AckEvent::default() });
    }

    /// RTT → ρ, increase per ACK in slow start, and per round trip in congestion avoidance (W = 1000: ρ²).
    #[test]
    fn increases() {
        for flavour in BOTH {
            for (rtt_ms, rho, slow_start, per_rtt) in [
                (10.0, 1.0, 1.0, 1.0),
                (25.0, 1.0, 1.0, 1.0),
                (50.0, 2.0, 3.0, 4.0),
                (100.0, 4.0, 15.0, 16.0),
                (250.0, 10.0, 1023.0, 100.0),
                (560.0, 22.4, 65_535.0, 501.76),
            ] {
                let mut law = law(flavour, 1000, 2000, (rtt_ms * 1000.0) as u64);
                assert!((law.rho - rho).abs() <= if flavour == Flavour::Linux { 0.125 } else { 1e-9 }, "{}", law.rho);
                assert!(
                    (law.increase(&law.window) - slow_start).abs() < 1e-6,
                    "{flavour:?} {rtt_ms}: {}",
                    law.increase(&law.window)
                );
                law.window.ssthresh = 1.0;
                assert!((law.increase(&law.window) * 1000.0 / per_rtt - 1.0).abs() < 0.012, "{flavour:?} {rtt_ms}");
            }
        }
    }

    /// Linux saves up 128ths: ρ = 4 at W = 100, ⌊16/100 · 128⌋ = 20 per ACK, a segment with the seventh.
    #[test]
    fn linux_saves_up_fractions() {
        let mut hybla = law(Flavour::Linux, 100, 1, 100_000);
        let mut log = vec![];
        for _ in 0..7 {
            ack(&mut hybla, 1);
            log.push(hybla.window.cwnd);
        }
        assert_eq!(log, [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 101.0]);
        assert_eq!(hybla.cents, 12.0);
    }

    /// An ACK for two segments is one in Linux and two in the paper.
    #[test]
    fn linux_counts_acks() {
        for (flavour, grown) in [(Flavour::Linux, 15.0), (Flavour::Paper, 30.0)] {
            let mut hybla = law(flavour, 100, 1000, 100_000);
            ack(&mut hybla, 2);
            assert!((hybla.window.cwnd - 100.0 - grown).abs() < 1e-9, "{}", hybla.window.cwnd);
        }
    }

    /// At ρ = 1 and W = 200 there is less than a 128th per ACK: Linux does as Reno.
    #[test]
    fn linux_is_reno_where_the_increase_rounds_to_nothing() {
        let mut hybla = law(Flavour::Linux, 200, 1, 20_000);
        (0..199).for_each(|_| ack(&mut hybla, 1));
        assert_eq!(hybla.window.cwnd, 200.0);
        ack(&mut hybla, 1);
        assert_eq!(hybla.window.cwnd, 201.0);
    }

    /// Slow start stops at ssthresh, and everything at 65535 segments.
    #[test]
    fn limits() {
        for flavour in BOTH {
            let mut hybla = law(flavour, 10, 500, 250_000);
            ack(&mut hybla, 1);
            assert_eq!(hybla.window.cwnd, 500.0);
            let mut hybla = law(flavour, 65_000, 1 << 20, 250_000);
            ack(&mut hybla, 1);
            assert_eq!(hybla.window.cwnd, 65_535.0);
        }
    }

    /// The first window is ρ of the handshake's RTT, whole segments; one without a sample.
    #[test]
    fn the_first_window_is_rho() {
        for (rtt_ms, w) in [(0, 1.0), (10, 1.0), (250, 10.0), (560, 22.0)] {
            let mut hybla = law(Flavour::Linux, 10, 1000, 0);
            hybla.on_established(&EstablishedEvent { now: Time::ZERO, srtt: Duration::from_millis(rtt_ms) });
            assert_eq!(hybla.window.cwnd, w);
        }
    }

    /// ρ follows the smallest smoothed RTT only.
    #[test]
    fn rho_does_not_follow_the_queue() {
        let mut hybla = law(Flavour::Paper, 10, 1, 250_000);
        hybla.follow(Duration::from_millis(500));
        assert_eq!(hybla.rho, 10.0);
        hybla.follow(Duration::from_millis(200));
        assert_eq!(hybla.rho, 8.0);
    }

    /// Linux is Reno outside of Open: a window of 50 acknowledged adds one, where ρ²/W of an ACK is two.
    #[test]
    fn reno_outside_of_open() {
        for (phase, w) in [(Phase::Disorder, 51.0), (Phase::Open, 52.0)] {
            let mut hybla = law(Flavour::Linux, 50, 1, 250_000);
            hybla.on_ack(&AckEvent { acked_bytes: 50 * MSS, may_grow: true, phase, ..AckEvent::default() });
            assert_eq!(hybla.window.cwnd, w);
        }
    }
}
