//! TCP Prague: DCTCP's response to marks, made fit for the Internet (L4S).
//!
//! Sources: draft-briscoe-iccrg-prague-congestion-control; the requirements of RFC 9331 §4; Linux `tcp_prague.c` (out
//! of tree). Both flavours are one here, but for whole segments, which Linux does not ask for either.
//!
//! - ECT(1) and AccECN. α is DCTCP's, an average over max(RTT, 25 ms), which begins with the first mark: α = 1.
//! - At a mark, at most once per round trip, W ← W (1 − α/2).
//! - Only bytes that were not marked make W grow, in reduction too: a segment per RTT, or (RTT / 25 ms)² of one on a
//!   path shorter than that, after 500 rounds, so that the rate is that of a flow of 25 ms.
//! - Losses halve as Reno's do. W and the pacing rate are fractional; segments leave at W/RTT, at twice that in slow
//!   start.

use super::dctcp::Answer;
use super::reno::Reno;
use super::{AckEvent, Build, CongestionEvent, Context, EcnUse, Entry, TimeoutEvent, Window, WindowLaw, Windowed};
use crate::estimate::Round;
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Rate, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "prague",
    summary: "DCTCP for the Internet: L4S marks, growth less dependent on the RTT",
    source: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331; L4STeam tcp_prague.c",
    params: PARAMS,
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Prague::new(cx, params)))),
};

const PARAMS: &[Spec] = &[
    Spec {
        name: "g",
        kind: Kind::Number { min: 1e-4, max: 1.0 },
        default: Value::Number(1.0 / 16.0),
        paper_default: None,
        unit: "",
        doc: "weight of the newest round in alpha",
    },
    Spec {
        name: "rtt_virtual",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        default: Value::Number(0.025),
        paper_default: None,
        unit: "s",
        doc: "a flow with a shorter RTT behaves as if it had this one",
    },
    Spec {
        name: "rtt_transition",
        kind: Kind::Number { min: 0.0, max: 1e9 },
        default: Value::Number(500.0),
        paper_default: None,
        unit: "round trips",
        doc: "after slow start, until growth is that of the virtual RTT",
    },
];

/// Prague's window law.
struct Prague {
    reno: Reno,
    g: f64,
    rtt_virtual: Duration,
    transition: f64,
    /// None before the first mark.
    alpha: Option<f64>,
    /// Bytes delivered and marked in the round of α that ends at `ends`.
    delivered: u64,
    marked: u64,
    ends: Time,
    round: Round,
    /// Round trips since slow start ended.
    rounds: f64,
    answer: Answer,
    srtt: Duration,
}

impl Prague {
    fn new(cx: &Context, params: &Params) -> Self {
        Prague {
            reno: Reno::plain(cx),
            g: params.number("g"),
            rtt_virtual: Duration::from_secs_f64(params.number("rtt_virtual")),
            transition: params.number("rtt_transition"),
            alpha: None,
            delivered: 0,
            marked: 0,
            ends: Time::ZERO,
            round: Round::default(),
            rounds: 0.0,
            answer: Answer::default(),
            srtt: Duration::ZERO,
        }
    }

    /// α, once per max(RTT, virtual RTT), if there is a queue that marks.
    fn update(&mut self, w: &Window, ev: &AckEvent) {
        self.delivered += ev.delivered_bytes;
        self.marked += ev.ce_bytes.min(ev.delivered_bytes);
        let first = self.alpha.is_none() && self.marked > 0;
        if first || (ev.now >= self.ends && self.delivered > 0) {
            let m = self.marked as f64 / self.delivered.max(1) as f64;
            self.alpha = if first { Some(1.0) } else { self.alpha.map(|alpha| alpha + self.g * (m - alpha)) };
            (self.delivered, self.marked) = (0, 0);
            self.ends = ev.now + ev.srtt.max(self.rtt_virtual);
        }
        if self.round.is_over(ev.snd_una, ev.snd_nxt) {
            self.rounds += f64::from(!w.in_slow_start());
        }
    }

    /// Segments that a window without marks adds.
    fn increase(&self) -> f64 {
        if self.rounds < self.transition || self.srtt >= self.rtt_virtual {
            return 1.0;
        }
        let ratio = self.srtt.as_secs_f64() / self.rtt_virtual.as_secs_f64();
        ratio * ratio
    }
}

impl WindowLaw for Prague {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        self.srtt = ev.srtt;
        self.update(w, ev);
        let answered = self.answer.is_given(ev);
        if let Some(alpha) = self.alpha.filter(|_| ev.ce_bytes > 0 && !answered) {
            self.answer.on_marks(ev);
            w.reduce((w.cwnd * (1.0 - alpha / 2.0)).max(2.0));
        }
    }

    fn grow(&mut self, w: &mut Window, _acked: f64, ev: &AckEvent) {
        let left = w.slow_start(w.segments(ev.acked_bytes.saturating_sub(ev.ce_bytes)));
        self.avoid(w, left, ev);
    }

    fn avoid(&mut self, w: &mut Window, unmarked: f64, _ev: &AckEvent) {
        w.add_fraction(w.cwnd, self.increase() * unmarked);
    }

    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        self.answer.on_loss();
        self.reno.on_congestion(w, ev);
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        self.answer.on_timeout();
        self.reno.on_timeout(w, ev);
    }

    fn pacing_rate(&self, w: &Window) -> Option<Rate> {
        let times = if w.in_slow_start() { 2 } else { 1 };
        Rate::of(w.cwnd_bytes() * times, self.srtt).map(|rate| rate.max(Rate(1)))
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::L4s
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.alpha.unwrap_or(f64::NAN));
        record("increase_segments", self.increase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{CongestionControl, Signal};
    use crate::params::Flavour;

    fn law(w: u32, ssthresh: Option<u64>) -> Windowed<Prague> {
        let cx = Context { initial_window: w, initial_ssthresh: ssthresh, ..Context::new(1000) };
        Windowed::new(
            &cx,
            SlowStart::Standard,
            Prague::new(&cx, &Params::resolve(PARAMS, &[], Flavour::Linux).unwrap()),
        )
    }

    /// Round `n` of `w` segments on a path of `rtt_ms`, `marked` of them marked, as `w` ACKs.
    fn round(law: &mut Windowed<Prague>, n: u64, rtt_ms: u64, w: u64, marked: u64) {
        for i in 0..w {
            let una = 1000 * (n * w + i + 1);
            law.on_ack(&AckEvent {
                now: Time::ZERO + Duration::from_millis(rtt_ms) * (n + 1),
                srtt: Duration::from_millis(rtt_ms),
                acked_bytes: 1000,
                delivered_bytes: 1000,
                ce_bytes: if i < marked { 1000 } else { 0 },
                snd_una: una,
                snd_nxt: una + 1000 * w,
                may_grow: true,
                ..AckEvent::default()
            });
        }
    }

    /// The first mark ends slow start with α = 1: W halves.
    #[test]
    fn the_first_mark_halves() {
        let mut law = law(10, None);
        round(&mut law, 0, 50, 10, 0);
        assert_eq!((law.cwnd(), law.alpha), (20_000, None));
        round(&mut law, 1, 50, 1, 1);
        assert_eq!((law.cwnd(), law.ssthresh(), law.alpha), (10_000, 10_000, Some(1.0)));
    }

    /// A steady share p of marks keeps W at 2/p: every 20th packet marked, 40 segments (RFC 9332 §A, "2/p"; RFC 8257).
    #[test]
    fn the_window_is_two_over_p() {
        let mut law = law(100, Some(1));
        let (mut packets, mut sum, rounds) = (0, 0.0, 1000);
        for n in 0..2 * rounds {
            let w = law.cwnd() / 1000;
            for _ in 0..w {
                packets += 1;
                law.on_ack(&AckEvent {
                    now: Time::ZERO + Duration::from_millis(50) * (n + 1),
                    srtt: Duration::from_millis(50),
                    acked_bytes: 1000,
                    delivered_bytes: 1000,
                    ce_bytes: if packets % 20 == 0 { 1000 } else { 0 },
                    snd_una: 1000 * packets,
                    snd_nxt: 1000 * (packets + w),
                    may_grow: true,
                    ..AckEvent::default()
                });
            }
            sum += if n < rounds { 0.0 } else { law.window.cwnd };
        }
        let mean = sum / rounds as f64;
        assert!((mean / 40.0 - 1.0).abs() < 0.05, "{mean}");
    }

    /// On a path of 5 ms growth is a segment per RTT at first, and a 25th of one after 500 rounds.
    #[test]
    fn short_paths_grow_slowly_after_a_while() {
        let mut law = law(100, Some(1));
        round(&mut law, 0, 5, 100, 0);
        assert!((law.window.cwnd - 101.0).abs() < 0.01);
        law.rounds = 500.0;
        let before = law.window.cwnd;
        round(&mut law, 1, 5, 101, 0);
        assert!((law.window.cwnd - before - 0.04).abs() < 1e-3);
        round(&mut law, 2, 30, 101, 0);
        assert!(law.window.cwnd - before > 1.0, "a long path does not");
    }

    /// α over 25 ms where the RTT is shorter: five rounds of 5 ms are one step.
    #[test]
    fn alpha_is_an_average_over_the_virtual_rtt() {
        let mut law = law(100, Some(1));
        law.alpha = Some(0.5);
        law.ends = Time::ZERO + Duration::from_millis(25);
        for n in 0..4 {
            round(&mut law, n, 5, 100, 0);
        }
        assert_eq!(law.alpha, Some(0.5));
        round(&mut law, 4, 5, 100, 0);
        assert_eq!(law.alpha, Some(0.5 * 15.0 / 16.0));
    }

    /// Segments leave at 2 W/RTT in slow start, at W/RTT after it: 10 segments of 1000 bytes in 50 ms are 1.6 Mbit/s.
    #[test]
    fn slow_start_is_paced_at_twice_the_rate() {
        for (ssthresh, bps) in [(None, 3_200_000), (Some(1), 1_600_000)] {
            let mut law = law(10, ssthresh);
            law.srtt = Duration::from_millis(50);
            assert_eq!(law.pacing_rate(), Some(Rate(bps)));
        }
    }

    /// A loss halves whatever α is (RFC 9331 §4.3).
    #[test]
    fn a_loss_halves() {
        let mut law = law(100, Some(1));
        law.alpha = Some(0.01);
        let (now, zero) = (Time::ZERO, Duration::ZERO);
        let signal = Signal::Loss;
        law.on_congestion(&CongestionEvent { now, signal, flight_size: 100_000, srtt: zero, min_rtt: zero });
        assert_eq!(law.cwnd(), 50_000);
    }
}
