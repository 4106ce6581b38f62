//! wVegas, weighted Vegas: all subflows together keep as many segments in queues as one Vegas, most on the fastest path.
//!
//! Source: Y. Cao, M. Xu, X. Fu, "Delay-based Congestion Control for Multipath TCP", ICNP 2012; draft-xu-mptcp-congestion-control;
//! the multipath kernel's module, which is by two of the authors and decides where the paper is open. Vegas' two thresholds are one,
//! α; the subflow's share of `total_alpha` is that of its rate. Judged by the mean RTT of a round, as Vegas in its paper; slow start
//! is Linux'.
//!
//! Where we depart from the module: a queue of less than a segment of its own is none, so that such a round neither measures the least
//! delay nor drains (there any two delays above zero, one more than twice the other, halve W, and so do 0 and 0), and the rates of the
//! siblings are their windows over their smoothed RTTs, not what they were when each was last above its α.

use super::reno::Reno;
use super::{AckEvent, Build, Context, Entry, IdleEvent, Phase, Share, Window, WindowLaw, Windowed};
use crate::estimate::{Round, Rtts};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "wvegas",
    summary: "for several paths: Vegas whose packets in queues are shared out by the rates of the paths",
    source: "Cao, Xu & Fu, ICNP 2012; draft-xu-mptcp-congestion-control",
    params: &[
        Spec {
            name: "total_alpha",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            default: Value::Number(10.0),
            paper_default: None,
            unit: "segments",
            doc: "what all subflows together keep in queues",
        },
        Spec {
            name: "initial_alpha",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            default: Value::Number(2.0),
            paper_default: None,
            unit: "segments",
            doc: "what a subflow keeps before it has a share, and at least",
        },
        Spec {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "segments",
            doc: "more than this in the queue ends slow start",
        },
        Spec {
            name: "drain",
            kind: Kind::Flag,
            default: Value::Flag(true),
            paper_default: None,
            unit: "",
            doc: "a queueing delay of more than twice the least takes the window down to half of what fills the path, for a round trip",
        },
    ],
    build: Build::Coupled(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, WVegas::new(cx, params)))),
};

/// Slow start brings a window that was drained back to this much of what it had come to (Linux `tcp_current_ssthresh`).
const REGAINED: f64 = 0.75;

/// A round is judged by so many samples at least.
const ENOUGH_SAMPLES: u32 = 3;

/// wVegas' window law.
struct WVegas {
    reno: Reno,
    total_alpha: f64,
    initial_alpha: f64,
    gamma: f64,
    drain: bool,
    /// Smallest RTT of the connection.
    base_rtt: Duration,
    round: Round,
    rtts: Rtts,
    /// Whether the last ACK found the sender in [`Phase::Open`]; otherwise it is Reno.
    open: bool,
    alpha: f64,
    diff: f64,
    /// The least queueing delay since the window was last taken down; zero is none yet.
    least_delay: Duration,
    /// Rates of the siblings together, segments per second.
    others: f64,
}

impl WVegas {
    fn new(cx: &Context, params: &Params) -> Self {
        let initial_alpha = params.number("initial_alpha");
        WVegas {
            reno: Reno::plain(cx),
            total_alpha: params.number("total_alpha"),
            initial_alpha,
            gamma: params.number("gamma"),
            drain: params.flag("drain"),
            base_rtt: Duration::MAX,
            round: Round::default(),
            rtts: Rtts::default(),
            open: true,
            alpha: initial_alpha,
            diff: f64::NAN,
            least_delay: Duration::ZERO,
            others: 0.0,
        }
    }

    /// A round with the mean RTT `rtt` is over.
    fn judge(&mut self, w: &mut Window, rtt: Duration, ev: &AckEvent) {
        let fills = w.cwnd * self.base_rtt.0 as f64 / rtt.0.max(1) as f64;
        // whole segments, as in the module: between α and α + 1 nothing moves
        self.diff = (w.cwnd - fills).floor();
        if w.in_slow_start() {
            if self.diff > self.gamma {
                w.step_down(w.cwnd.min(fills.floor() + 1.0));
            } else {
                self.reno(w, ev);
            }
            return;
        }
        if self.diff >= self.alpha {
            let rate = w.cwnd / rtt.as_secs_f64().max(1e-9);
            self.alpha = (rate / (rate + self.others) * self.total_alpha).floor().max(self.initial_alpha);
        }
        if self.diff > self.alpha {
            w.step_down(w.cwnd - 1.0);
        } else if self.diff < self.alpha && ev.may_grow {
            w.cwnd += 1.0;
        }
        if self.drain {
            self.drain(w, rtt);
        }
        w.ssthresh = w.ssthresh.max(REGAINED * w.cwnd);
    }

    /// The queue is longer than it need be: others would measure too large a base RTT. It is to empty, once: ssthresh stays.
    fn drain(&mut self, w: &mut Window, rtt: Duration) {
        if self.diff < 1.0 {
            return;
        }
        let delay = rtt - self.base_rtt;
        if self.least_delay == Duration::ZERO || delay < self.least_delay {
            self.least_delay = delay;
        }
        if delay > self.least_delay * 2 {
            w.cwnd = (w.cwnd * self.base_rtt.0 as f64 / (2.0 * rtt.0.max(1) as f64)).max(w.cwnd.min(2.0));
            self.least_delay = Duration::ZERO;
        }
    }

    /// What it does where it cannot judge.
    fn reno(&mut self, w: &mut Window, ev: &AckEvent) {
        if ev.may_grow {
            self.grow(w, w.segments(ev.acked_bytes), ev);
        }
    }
}

impl WindowLaw for WVegas {
    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.rtts.add(rtt);
        }
        let open = ev.phase == Phase::Open;
        if open && !std::mem::replace(&mut self.open, open) {
            self.round.begin(ev.snd_nxt);
            self.rtts = Rtts::default();
            self.alpha = self.initial_alpha;
            self.least_delay = Duration::ZERO;
        }
        self.open = open;
        if !open {
            self.reno(w, ev);
        } else if self.round.is_over(ev.snd_una, ev.snd_nxt) {
            let rtts = std::mem::take(&mut self.rtts);
            if rtts.count < ENOUGH_SAMPLES { self.reno(w, ev) } else { self.judge(w, rtts.mean(), ev) }
        } else if ev.may_grow && w.in_slow_start() {
            w.slow_start(w.segments(ev.acked_bytes));
        }
    }

    fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        self.reno.avoid(w, acked, ev);
    }

    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    /// The path may be another one by now.
    fn on_idle(&mut self, _w: &mut Window, _ev: &IdleEvent) {
        self.base_rtt = Duration::MAX;
        self.rtts = Rtts::default();
        self.least_delay = Duration::ZERO;
    }

    fn on_siblings(&mut self, _w: &mut Window, all: &[Share], me: usize) {
        self.others = all.iter().enumerate().filter(|&(k, _)| k != me).map(|(_, share)| share.rate()).sum();
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha_segments", self.alpha);
        record("diff_segments", self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::closed_loop::{Loop, MSS};
    use crate::cc::testing::shares;
    use crate::cc::{CongestionControl, CongestionEvent, Signal};
    use crate::params::{Flavour, Given};

    fn law(w: u32, ssthresh: Option<u64>, given: &[(&str, Given)]) -> Windowed<WVegas> {
        let cx = Context { initial_window: w, initial_ssthresh: ssthresh, ..Context::new(MSS as u32) };
        let given: Vec<_> = given.iter().map(|(n, g)| (n.to_string(), g.clone())).collect();
        let params = Params::resolve(ENTRY.params, &given, Flavour::Linux).unwrap();
        Windowed::new(&cx, SlowStart::Standard, WVegas::new(&cx, &params))
    }

    /// A window, a base RTT of 100 ms, and rounds of one RTT each.
    struct Sender {
        law: Windowed<WVegas>,
        snd_una: u64,
    }
    impl Sender {
        fn new(w: u32, ssthresh: Option<u64>) -> Self {
            let mut law = law(w, ssthresh, &[]);
            law.base_rtt = Duration::from_millis(100);
            law.round.end = u64::from(w) * MSS;
            Sender { law, snd_una: 0 }
        }
        fn ack(&mut self, rtt_ms: u64) {
            let snd_nxt = self.snd_una + self.law.cwnd() / MSS * MSS;
            self.snd_una += MSS;
            let rtt = Some(Duration::from_millis(rtt_ms));
            let ev = AckEvent { acked_bytes: MSS, snd_una: self.snd_una, snd_nxt, rtt, ..AckEvent::default() };
            self.law.on_ack(&AckEvent { may_grow: true, ..ev });
        }
        /// W once a round of this RTT is judged.
        fn round(&mut self, rtt_ms: u64) -> f64 {
            let before = self.law.round.end;
            while self.law.round.end == before {
                self.ack(rtt_ms);
            }
            self.law.window.cwnd
        }
    }

    /// W = 20, base 100 ms: at 110 ms 20 · 10/110 = 1.8 wait, fewer than α = 2: one more. At 125 ms 4 wait, α = 10 (alone): one more.
    /// With a sibling of nine times its rate α = max(2, 1): one less.
    #[test]
    fn the_share_of_the_rate_is_the_share_of_the_queue() {
        for (rtt, others, w, alpha) in [(110, 0.0, 21.0, 2.0), (125, 0.0, 21.0, 10.0), (125, 9.0, 19.0, 2.0)] {
            let mut s = Sender::new(20, Some(1));
            let own = 20.0 / (rtt as f64 / 1000.0);
            s.law.on_siblings(&shares([(20.0, rtt), (own * others, 1000)]), 0);
            assert_eq!(s.round(rtt), w, "{rtt} ms, {others}");
            assert!((s.law.alpha - alpha).abs() < 1e-9);
        }
    }

    /// A delay of microseconds is no queue, however many times as long as another.
    #[test]
    fn less_than_a_segment_is_no_queue() {
        let mut s = Sender::new(20, Some(1));
        assert_eq!([101, 104, 100, 103].map(|rtt| s.round(rtt)), [21.0, 22.0, 23.0, 24.0]);
        assert_eq!(s.law.least_delay, Duration::ZERO);
    }

    /// Slow start ends with more than one in the queue, at ⌊W base/RTT⌋ + 1 as in the module: 40 · 100/160 + 1.
    #[test]
    fn slow_start_ends_at_what_fills_the_path() {
        let mut s = Sender::new(40, None);
        s.law.window.cwnd = 40.0;
        (0..40).for_each(|_| s.law.rtts.add(Duration::from_millis(160)));
        s.law.round.end = 0;
        s.ack(160);
        assert_eq!((s.law.window.cwnd, s.law.window.ssthresh), (26.0, 26.0));
    }

    /// A queueing delay of 10 ms is the least; 21 ms are more than twice that: W base/(2 RTT) is left of what α made of it, until slow
    /// start brings back three quarters of the 22 before it.
    #[test]
    fn twice_the_least_delay_drains_the_queue() {
        let mut s = Sender::new(20, Some(1));
        assert_eq!(s.round(110), 21.0);
        assert_eq!(s.round(120), 22.0);
        let w = s.round(121);
        assert!((w - 23.0 * 100.0 / 242.0).abs() < 1e-9, "{w}");
        assert_eq!(s.law.least_delay, Duration::ZERO);
        assert_eq!((s.law.window.ssthresh, s.round(100)), (16.5, 17.5));
    }

    /// A closed loop without the drain: alone it keeps ten packets waiting, as a Vegas would whose thresholds are ten.
    #[test]
    fn alone_it_keeps_ten_packets_waiting() {
        for ssthresh in [None, Some(MSS)] {
            let law = law(2, ssthresh, &[("drain", Given::Flag(false))]);
            let ((w_min, w_max), (q_min, q_max)) = Loop::run(Box::new(law), 1, 60.0).settled(30.0);
            assert_eq!(w_min, w_max);
            assert!(10.0 <= q_min && q_max <= 11.0, "{q_min} to {q_max}");
        }
    }

    /// A loss halves; out of Open it is Reno, and starts anew on the return.
    #[test]
    fn losses_are_renos() {
        let mut s = Sender::new(20, Some(1));
        s.round(125);
        let (now, zero) = (Time::ZERO, Duration::ZERO);
        let event = CongestionEvent { now, signal: Signal::Loss, flight_size: 0, srtt: zero, min_rtt: zero };
        s.law.on_congestion(&event);
        assert_eq!(s.law.window.cwnd, 10.0);
        for phase in [Phase::Disorder, Phase::Open] {
            s.law.on_ack(&AckEvent { phase, snd_nxt: 1 << 30, ..AckEvent::default() });
        }
        assert_eq!((s.law.alpha, s.law.round.end), (2.0, 1 << 30));
    }
}
