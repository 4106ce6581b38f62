//! YeAH: Scalable's growth while the queue is short, Reno's while it is not, and out of the queue before it overflows.
//!
//! Sources: A. Baiocchi, A.P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007; Linux
//! `tcp_yeah.c` (6.x), by one of the authors. Once per round trip Q = W (RTT − base)/RTT, of the round's smallest RTT, is
//! the backlog. Q ≤ alpha and RTT − base ≤ base/phi: *fast*, one segment for each min(W, 100) acknowledged. Else *slow*,
//! as Reno; and if Q > alpha, Q leaves W (*precautionary decongestion*), down to the window that a Reno beside it would
//! have, reno_count. A loss takes Q, between an eighth and a half of W, or a half where slow mode lasted for rho round
//! trips: then there is a Reno on the path.
//!
//! Linux counts whole segments and wants three RTT samples in a round; the paper's flavour does neither.

use super::{AckEvent, Build, Context, Entry, IdleEvent, Phase, UndoEvent, Window, WindowLaw, Windowed};
use crate::estimate::{Round, Rtts};
use crate::params::{Flavour, Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "yeah",
    summary: "Scalable while the queue is short, Reno while it is not, and empties the queue before it overflows",
    source: "Baiocchi, Castellani, Vacirca, PFLDnet 2007; Linux tcp_yeah.c",
    params: &[
        Spec {
            name: "alpha",
            kind: Kind::Number { min: 1.0, max: 100_000.0 },
            default: Value::Number(80.0),
            paper_default: None,
            unit: "segments",
            doc: "Q_max: with more in the queue the mode is slow, and the queue is emptied",
        },
        Spec {
            name: "phi",
            kind: Kind::Number { min: 0.1, max: 1000.0 },
            default: Value::Number(8.0),
            paper_default: None,
            unit: "",
            doc: "a queueing delay above base RTT / phi makes the mode slow",
        },
        Spec {
            name: "gamma",
            kind: Kind::Number { min: 0.1, max: 100.0 },
            default: Value::Number(1.0),
            paper_default: None,
            unit: "",
            doc: "decongestion takes Q / gamma off the window",
        },
        Spec {
            name: "epsilon",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.5),
            paper_default: None,
            unit: "",
            doc: "the largest share of the window that decongestion takes",
        },
        Spec {
            name: "delta",
            kind: Kind::Number { min: 0.0, max: 0.5 },
            default: Value::Number(0.125),
            paper_default: None,
            unit: "",
            doc: "the smallest share of the window that a loss takes",
        },
        Spec {
            name: "rho",
            kind: Kind::Number { min: 0.0, max: 100_000.0 },
            default: Value::Number(16.0),
            paper_default: None,
            unit: "RTT",
            doc: "after so many slow round trips in a row a loss takes half",
        },
        Spec {
            name: "zeta",
            kind: Kind::Number { min: 0.0, max: 100_000.0 },
            default: Value::Number(50.0),
            paper_default: None,
            unit: "RTT",
            doc: "after more fast round trips than this since the last loss reno_count starts over",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Yeah::new(cx, params)))),
};

/// Scalable's growth: one segment for as many acknowledged (0.01 W per round trip above).
const SCALABLE_WINDOW: f64 = 100.0;
/// The smallest window, and reno_count before it is known.
const MIN_WINDOW: f64 = 2.0;
/// Linux judges a round by more samples than this.
const TOO_FEW_SAMPLES: u32 = 2;

/// YeAH's window law.
pub struct Yeah {
    alpha: f64,
    phi: f64,
    gamma: f64,
    epsilon: f64,
    delta: f64,
    rho: f64,
    zeta: f64,
    linux: bool,
    base_rtt: Duration,
    round: Round,
    rtts: Rtts,
    open: bool,
    prior: State,
    state: State,
}

#[derive(Clone)]
struct State {
    /// Q of the last round trip, segments.
    queued: f64,
    /// Slow round trips in a row, fast ones since the last loss.
    slow_rounds: f64,
    fast_rounds: f64,
    /// The window that a Reno beside this flow would have.
    reno_count: f64,
}

impl Yeah {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        let state = State { queued: 0.0, slow_rounds: 0.0, fast_rounds: 0.0, reno_count: MIN_WINDOW };
        Yeah {
            alpha: params.number("alpha"),
            phi: params.number("phi"),
            gamma: params.number("gamma"),
            epsilon: params.number("epsilon"),
            delta: params.number("delta"),
            rho: params.number("rho"),
            zeta: params.number("zeta"),
            linux: cx.flavour == Flavour::Linux,
            base_rtt: Duration::MAX,
            round: Round::default(),
            rtts: Rtts::default(),
            open: true,
            prior: state.clone(),
            state,
        }
    }

    /// Whole segments in Linux.
    fn whole(&self, segments: f64) -> f64 {
        if self.linux { segments.floor() } else { segments }
    }

    /// The mode of the next round trip, and decongestion.
    fn judge(&mut self, window: &mut Window) {
        let (base, rtt, w) = (self.base_rtt.0 as f64, self.rtts.min.0.max(1) as f64, window.cwnd);
        let queued = self.whole(w * (rtt - base).max(0.0) / rtt);
        self.state.queued = queued;
        if queued <= self.alpha && rtt - base <= base / self.phi {
            self.state.slow_rounds = 0.0;
            self.state.fast_rounds += 1.0;
            if self.state.fast_rounds > self.zeta {
                self.state.reno_count = MIN_WINDOW;
                self.state.fast_rounds = 0.0;
            }
            return;
        }
        if queued > self.alpha && w > self.state.reno_count {
            let taken = self.whole(queued / self.gamma).min(self.whole(w * self.epsilon));
            window.cwnd = (w - taken).max(self.state.reno_count);
            window.ssthresh = window.cwnd;
        }
        self.state.reno_count = match self.state.reno_count <= MIN_WINDOW {
            true => self.whole(window.cwnd / 2.0).max(MIN_WINDOW),
            false => self.state.reno_count + 1.0,
        };
        self.state.slow_rounds += 1.0;
    }
}

impl WindowLaw for Yeah {
    fn measure(&mut self, _w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.rtts.add(rtt);
        }
        let open = ev.phase == Phase::Open;
        if open && !self.open {
            self.round.begin(ev.snd_nxt);
            self.rtts = Rtts::default();
        }
        self.open = open;
    }

    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        let left = w.slow_start(acked);
        if left > 0.0 {
            self.avoid(w, left, ev);
        }
        if self.round.is_over(ev.snd_una, ev.snd_nxt) {
            let too_few = if self.linux { TOO_FEW_SAMPLES } else { 0 };
            if self.rtts.count > too_few {
                self.judge(w);
            }
            self.rtts = Rtts::default();
        }
    }

    /// Scalable's growth in fast mode, Reno's in slow mode.
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        let per_segment = if self.state.slow_rounds == 0.0 { w.cwnd.min(SCALABLE_WINDOW) } else { w.cwnd };
        match self.linux {
            true => w.add_credit(per_segment.floor(), acked),
            false => w.add_fraction(per_segment, acked),
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        let half = self.whole(w.cwnd / 2.0).max(MIN_WINDOW);
        let taken = match self.state.slow_rounds < self.rho {
            true => self.state.queued.min(half).max(self.whole(w.cwnd * self.delta)),
            false => half,
        };
        self.prior = self.state.clone();
        self.state.fast_rounds = 0.0;
        self.state.reno_count = self.whole(self.state.reno_count / 2.0).max(MIN_WINDOW);
        (w.cwnd - taken).max(MIN_WINDOW)
    }

    fn on_undo(&mut self, w: &mut Window, _ev: &UndoEvent) {
        w.undo();
        if !self.linux {
            self.state = self.prior.clone();
        }
    }

    fn on_idle(&mut self, _w: &mut Window, _ev: &IdleEvent) {
        if self.linux {
            self.base_rtt = Duration::MAX;
            self.rtts = Rtts::default();
        }
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("queued_segments", self.state.queued);
        record("reno_count_segments", self.state.reno_count);
        record("slow_rounds", self.state.slow_rounds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::closed_loop::{Loop, MSS};
    use crate::cc::{CongestionControl, CongestionEvent, Signal};
    use crate::params::Given;
    use crate::units::Time;

    fn law(flavour: Flavour, w: u32) -> Windowed<Yeah> {
        let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(MSS as u32) };
        Windowed::new(&cx, SlowStart::Standard, Yeah::new(&cx, &Params::resolve(ENTRY.params, &[], flavour).unwrap()))
    }
    fn judged(flavour: Flavour, w: u32, rtt_ms: u64) -> Windowed<Yeah> {
        let mut law = law(flavour, w);
        law.base_rtt = Duration::from_millis(100);
        law.rtts.min = Duration::from_millis(rtt_ms);
        law.law.judge(&mut law.window);
        law
    }

    /// (W, RTT) with base 100 ms: Q, whether fast, W after; 893 = 1000 − 107, 870 = 1000 − 130, 400 = 500 − 100.
    #[test]
    fn the_mode_and_decongestion() {
        for (w, rtt, queued, fast, left) in [
            (1000, 105, 47.0, true, 1000.0),
            (1000, 112, 107.0, false, 893.0),
            (1000, 115, 130.0, false, 870.0),
            (500, 125, 100.0, false, 400.0),
            (100, 114, 12.0, false, 100.0), // 14 ms is more than an eighth of 100, but 12 segments are few
        ] {
            let law = judged(Flavour::Linux, w, rtt);
            assert_eq!(law.state.queued, queued);
            assert_eq!(law.state.slow_rounds == 0.0, fast, "{w} {rtt}");
            assert_eq!(law.window.cwnd, left);
            if left < f64::from(w) {
                assert_eq!(law.window.ssthresh, left);
            }
            let paper = judged(Flavour::Paper, w, rtt);
            assert!((paper.state.queued - queued).abs() < 1.0 && (paper.window.cwnd - left).abs() < 1.0);
        }
    }

    /// The window a Reno would have: half of W at first, one more for each slow round trip; decongestion stops there.
    #[test]
    fn reno_count_bounds_decongestion() {
        let mut law = judged(Flavour::Linux, 1000, 112);
        assert_eq!(law.state.reno_count, 446.0); // 893 / 2
        law.law.judge(&mut law.window);
        assert_eq!((law.window.cwnd, law.state.reno_count), (893.0 - 95.0, 447.0));
        law.state.reno_count = 790.0;
        law.law.judge(&mut law.window);
        assert_eq!((law.window.cwnd, law.state.reno_count), (790.0, 791.0));
    }

    /// An idle time makes Linux measure base afresh, and the samples of the round are gone (`tcp_vegas_cwnd_event`): a path that
    /// became longer meanwhile is no queue. The paper keeps both.
    #[test]
    fn idle_resets_the_base_in_linux() {
        for (flavour, queued) in [(Flavour::Linux, 0.0), (Flavour::Paper, 500.0)] {
            let mut yeah = law(flavour, 1000);
            yeah.base_rtt = Duration::from_millis(100);
            yeah.rtts.add(Duration::from_millis(100));
            yeah.on_idle(&IdleEvent { now: Time::ZERO, idle: Duration::from_secs(1), app_limited: true });
            assert_eq!(yeah.rtts.count, if flavour == Flavour::Linux { 0 } else { 1 });
            yeah.rtts = Rtts::default();
            yeah.round.begin(1);
            for k in 1..=3 {
                let rtt = Some(Duration::from_millis(200));
                let snd_una = if k == 3 { yeah.round.end + 1 } else { 1 };
                yeah.on_ack(&AckEvent { snd_una, snd_nxt: 1000 * MSS, rtt, may_grow: true, ..AckEvent::default() });
            }
            assert_eq!(yeah.state.queued, queued, "{flavour:?}");
        }
    }

    /// More than 50 fast round trips forget the Reno.
    #[test]
    fn reno_count_starts_over() {
        let mut law = judged(Flavour::Linux, 1000, 112);
        law.rtts.min = Duration::from_millis(100);
        (0..50).for_each(|_| law.law.judge(&mut law.window));
        assert_eq!((law.state.reno_count, law.state.fast_rounds), (446.0, 50.0));
        law.law.judge(&mut law.window);
        assert_eq!((law.state.reno_count, law.state.fast_rounds), (2.0, 0.0));
    }

    /// W = 1000: Q of 47 costs an eighth, 200 itself, 700 a half; so do sixteen slow round trips. reno_count is halved.
    #[test]
    fn a_loss_takes_the_queue() {
        for (queued, slow_rounds, left) in
            [(47.0, 0.0, 875.0), (200.0, 3.0, 800.0), (700.0, 3.0, 500.0), (47.0, 15.0, 875.0), (47.0, 16.0, 500.0)]
        {
            let mut law = law(Flavour::Linux, 1000);
            law.state = State { queued, slow_rounds, fast_rounds: 7.0, reno_count: 31.0 };
            let (now, zero) = (Time::ZERO, Duration::ZERO);
            law.on_congestion(&CongestionEvent {
                now,
                signal: Signal::Loss,
                flight_size: 0,
                srtt: zero,
                min_rtt: zero,
            });
            assert_eq!((law.window.cwnd, law.window.ssthresh), (left, left), "{queued} {slow_rounds}");
            assert_eq!((law.state.fast_rounds, law.state.reno_count), (0.0, 15.0));
        }
    }

    /// A window acknowledged: fast 2 of 200 (Scalable) and 1 of 50, slow 1.
    #[test]
    fn grows_as_scalable_or_reno() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            for (w, slow_rounds, grown) in [(200, 0.0, 2.0), (50, 0.0, 1.0), (200, 1.0, 1.0)] {
                let mut law = law(flavour, w);
                law.state.slow_rounds = slow_rounds;
                (0..w).for_each(|_| law.law.grow(&mut law.window, 1.0, &AckEvent::default()));
                assert!((law.window.cwnd - f64::from(w) - grown).abs() < 0.02, "{w}: {}", law.window.cwnd);
            }
        }
    }

    /// On one server the queue is emptied whenever alpha wait (three more, for the round trip until it shows). The path is so
    /// short that two packets are an eighth of base: phi is to let it be fast.
    #[test]
    fn a_closed_loop_bounds_the_queue() {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            let cx = Context { initial_window: 2, initial_ssthresh: Some(20 * MSS), flavour, ..Context::new(1000) };
            let given = [("alpha", 10.0), ("phi", 0.5)].map(|(name, x)| (name.to_string(), Given::Number(x)));
            let law = Windowed::new(
                &cx,
                SlowStart::Standard,
                Yeah::new(&cx, &Params::resolve(ENTRY.params, &given, flavour).unwrap()),
            );
            let (_, (q_min, q_max)) = Loop::run(Box::new(law), 1, 120.0).settled(30.0);
            assert!(q_min >= 0.0 && q_max <= 13.0, "{flavour:?}: {q_min} to {q_max}");
        }
    }
}
