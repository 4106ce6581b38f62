//! PCC Vivace: try a little more and a little less, and go where the utility is higher.
//!
//! Source: M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P.B. Godfrey, M. Schapira, "PCC Vivace: Online-Learning
//! Congestion Control", NSDI 2018. There is no Vivace in Linux.
//!
//! Time is cut into monitor intervals of about an RTT, each at one rate x (Mbit/s). What became of the packets sent in one
//! gives its utility (eq. 2)
//!
//! > u = x^0.9 − 900 x d(RTT)/dt − 11.35 x L
//!
//! with the loss rate L and the slope of the RTT over the interval by linear regression, taken as zero below 0.01.
//!
//! * Starting: the rate doubles until the utility falls, then goes back to the last good one.
//! * Then, for ever: four intervals, two pairs of x (1 + ε) and x (1 − ε) in random order. The gradient is
//!   γ = (u₊ − u₋)/(2 ε x), the change Δx = m θ₀ γ. The confidence amplifier m is τ for the τ-th change in one direction, from
//!   the fourth on 2 τ − 3. No change is larger than ω x, ω = ω₀ + k δ: k counts the changes in one direction that would have been,
//!   and falls to the least that admits a smaller one (§4.3, §4.4).
//!
//! Ours, where the paper is silent or a window is needed: an interval lasts srtt, and at least ten packets; its result is
//! awaited, at the rate x, before the next decision; both pairs count equally. W = 2 x srtt is never the limit. A timeout halves
//! the rate. An interval in which the application limited the sender, or less than half was sent, counts for nothing.

use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, LostEvent, RestartEvent, TimeoutEvent,
    UndoEvent,
};
use crate::math;
use crate::params::{Kind, Params, Spec, Value};
use crate::rng::Stream;
use crate::units::{Duration, Rate, Time};
use std::collections::VecDeque;

pub(super) const ENTRY: Entry = Entry {
    name: "vivace",
    summary: "PCC Vivace: follows the gradient of a utility of rate, latency and loss",
    source: "Dong et al., NSDI 2018",
    params: &[
        Spec {
            name: "latency_coefficient",
            kind: Kind::Number { min: 0.0, max: 10_000.0 },
            default: Value::Number(900.0),
            paper_default: None,
            unit: "",
            doc: "b of the utility: what a growing RTT costs",
        },
        Spec {
            name: "loss_coefficient",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(11.35),
            paper_default: None,
            unit: "",
            doc: "c of the utility: what loss costs",
        },
        Spec {
            name: "epsilon",
            kind: Kind::Number { min: 0.005, max: 0.2 },
            default: Value::Number(0.05),
            paper_default: None,
            unit: "",
            doc: "share of the rate that is tried above and below it",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Vivace::new(cx, params))),
};

/// t of the utility.
const EXPONENT: f64 = 0.9;
/// A smaller slope of the RTT is noise.
const SLOPE_NOISE: f64 = 0.01;
/// θ₀, Mbit/s per unit of gradient.
const CONVERSION: f64 = 1.0;
/// ω₀ and δ of the dynamic change boundary.
const BOUNDARY: f64 = 0.05;
const BOUNDARY_STEP: f64 = 0.1;
/// Packets in an interval, at least.
const INTERVAL_PACKETS: f64 = 10.0;
/// Intervals of a decision.
const PROBES: usize = 4;
/// No receiver offers more, bytes (RFC 7323 §2.2).
const MAX_WINDOW: u64 = 1 << 30;
/// Least W, segments.
const MIN_WINDOW: f64 = 4.0;

/// What an interval is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Purpose {
    /// To see whether the doubled rate is better.
    Start,
    /// The n-th of a decision, above the rate or below it.
    Probe { n: usize, above: bool },
    /// To pass the time.
    Wait,
}

/// The packets sent in a span of time at one rate. Rates in Mbit/s.
#[derive(Clone, Debug)]
struct Interval {
    purpose: Purpose,
    rate: f64,
    start: Time,
    end: Time,
    acked: u64,
    lost: u64,
    /// Sums of a linear regression: send times since `start` and RTTs, s.
    n: f64,
    t: f64,
    tt: f64,
    r: f64,
    tr: f64,
    app_limited: bool,
}

impl Interval {
    fn new(purpose: Purpose, rate: f64, start: Time) -> Self {
        let (n, t, tt, r, tr) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let (acked, lost, app_limited) = (0, 0, false);
        Interval { purpose, rate, start, end: Time::NEVER, acked, lost, n, t, tt, r, tr, app_limited }
    }

    fn take_rtt(&mut self, sent: Time, rtt: Duration) {
        let (t, r) = (sent.since(self.start).as_secs_f64(), rtt.as_secs_f64());
        self.n += 1.0;
        self.t += t;
        self.tt += t * t;
        self.r += r;
        self.tr += t * r;
    }

    /// d(RTT)/dt.
    fn slope(&self) -> f64 {
        let spread = self.n * self.tt - self.t * self.t;
        if spread > 1e-18 { (self.n * self.tr - self.t * self.r) / spread } else { 0.0 }
    }

    /// Whether the sender sent at this rate: neither the application nor the peer's window kept it back.
    fn counts(&self) -> bool {
        let mbit = (self.acked + self.lost) as f64 * 8e-6;
        !self.app_limited && mbit >= self.rate * self.end.since(self.start).as_secs_f64() / 2.0
    }

    fn loss(&self) -> f64 {
        self.lost as f64 / (self.acked + self.lost).max(1) as f64
    }
}

/// Which decision is being prepared.
#[derive(Clone, Debug, PartialEq)]
enum Search {
    /// The last rate and its utility.
    Starting(Option<(f64, f64)>),
    /// Which of the intervals are above the rate, how many were begun, and what came out.
    Probing { above: [bool; PROBES], begun: usize, utilities: [Option<f64>; PROBES] },
}

/// Vivace's law. Rates in Mbit/s.
pub struct Vivace {
    latency: f64,
    loss: f64,
    epsilon: f64,
    /// Payload of a segment, bytes and Mbit.
    mss: f64,
    segment: f64,
    initial_window: f64,
    rng: Stream,

    /// The rate that is to be improved.
    rate: f64,
    search: Search,
    /// Those whose results are not in, the current one last.
    intervals: VecDeque<Interval>,
    srtt: Duration,
    /// Changes in a row in one direction: above zero upwards.
    streak: i32,
    /// k of the dynamic change boundary.
    beyond: u32,
    timed_out: bool,
    /// A lost SYN: W until the first result.
    small: bool,
}

impl Vivace {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        let segment = f64::from(cx.mss) * 8e-6;
        Vivace {
            latency: params.number("latency_coefficient"),
            loss: params.number("loss_coefficient"),
            epsilon: params.number("epsilon"),
            mss: f64::from(cx.mss),
            segment,
            initial_window: f64::from(cx.initial_window),
            rng: cx.rng.clone(),
            // The initial window in 1 ms, until there is an RTT.
            rate: f64::from(cx.initial_window) * segment / 0.001,
            search: Search::Starting(None),
            intervals: VecDeque::new(),
            srtt: Duration::ZERO,
            streak: 0,
            beyond: 0,
            timed_out: false,
            small: false,
        }
    }

    /// Eq. 2.
    fn utility(&self, rate: f64, slope: f64, loss: f64) -> f64 {
        math::pow(rate, EXPONENT) - self.latency * rate * slope - self.loss * rate * loss
    }

    fn utility_of(&self, interval: &Interval) -> f64 {
        let slope = interval.slope();
        let slope = if slope.abs() < SLOPE_NOISE { 0.0 } else { slope };
        self.utility(interval.rate, slope, interval.loss())
    }

    /// Two packets in an RTT.
    fn least_rate(&self) -> f64 {
        2.0 * self.segment / self.srtt.as_secs_f64().max(0.001)
    }

    fn rate_now(&self) -> f64 {
        self.intervals.back().map_or(self.rate, |interval| interval.rate)
    }

    /// The next interval, and at what rate.
    fn begin_interval(&mut self, now: Time) {
        let (purpose, rate) = match &mut self.search {
            Search::Starting(_) => {
                let waiting = self.intervals.iter().any(|i| i.purpose == Purpose::Start);
                (if waiting { Purpose::Wait } else { Purpose::Start }, self.rate)
            }
            Search::Probing { above, begun, .. } if *begun < PROBES => {
                let (n, above) = (*begun, above[*begun]);
                *begun += 1;
                let change = if above { self.epsilon } else { -self.epsilon };
                (Purpose::Probe { n, above }, self.rate * (1.0 + change))
            }
            Search::Probing { .. } => (Purpose::Wait, self.rate),
        };
        self.intervals.push_back(Interval::new(purpose, rate, now));
    }

    /// Ends the current interval if it had its time.
    fn advance(&mut self, now: Time) {
        if let Some(current) = self.intervals.back_mut() {
            let packets = Duration::from_secs_f64(INTERVAL_PACKETS * self.segment / current.rate);
            if now < current.start + self.srtt.max(packets) {
                return;
            }
            current.end = now;
        }
        self.begin_interval(now);
    }

    /// Takes out the intervals of which everything is known: something was delivered that was sent so much later that what
    /// is missing has been marked lost (RACK's reordering window).
    fn conclude(&mut self, newest_sent: Time) {
        let patience = self.srtt / 4;
        while self.intervals.front().is_some_and(|i| i.end != Time::NEVER && newest_sent > i.end + patience) {
            let Some(interval) = self.intervals.pop_front() else { return };
            self.on_result(&interval);
        }
    }

    fn on_result(&mut self, interval: &Interval) {
        if !interval.counts() {
            // It tells nothing: once more.
            if matches!(interval.purpose, Purpose::Probe { .. }) {
                self.start_probing();
            }
            return;
        }
        let utility = self.utility_of(interval);
        match (interval.purpose, &mut self.search) {
            (Purpose::Start, Search::Starting(last)) => {
                if let Some((rate, _)) = last.filter(|(_, before)| utility < *before) {
                    self.rate = rate;
                    self.start_probing();
                } else {
                    *last = Some((interval.rate, utility));
                    self.rate = 2.0 * interval.rate;
                }
            }
            (Purpose::Probe { n, .. }, Search::Probing { above, utilities, .. }) => {
                utilities[n] = Some(utility);
                if let [Some(a), Some(b), Some(c), Some(d)] = *utilities {
                    let sum = |wanted: bool| {
                        [a, b, c, d].iter().zip(&*above).filter(|(_, is)| **is == wanted).map(|(u, _)| u).sum::<f64>()
                    };
                    let gradient = (sum(true) - sum(false)) / 2.0 / (2.0 * self.epsilon * self.rate);
                    self.change_rate(gradient);
                    self.start_probing();
                }
            }
            _ => {}
        }
    }

    /// Two pairs, each in random order.
    fn start_probing(&mut self) {
        let (first, second) = (self.rng.chance(0.5), self.rng.chance(0.5));
        let above = [first, !first, second, !second];
        self.search = Search::Probing { above, begun: 0, utilities: [None; PROBES] };
        for interval in &mut self.intervals {
            interval.purpose = Purpose::Wait;
        }
    }

    fn change_rate(&mut self, gradient: f64) {
        let up = gradient > 0.0;
        if up != (self.streak > 0) || self.streak == 0 {
            self.streak = 0;
            self.beyond = 0;
        }
        self.streak += if up { 1 } else { -1 };
        let tau = f64::from(self.streak.abs());
        let amplifier = if tau <= 3.0 { tau } else { 2.0 * tau - 3.0 };
        let wanted = amplifier * CONVERSION * gradient.abs();
        let boundary = |k: u32| self.rate * (BOUNDARY + BOUNDARY_STEP * f64::from(k));
        let change = wanted.min(boundary(self.beyond));
        if wanted > boundary(self.beyond) {
            self.beyond += 1;
        } else {
            self.beyond = (0..=self.beyond).find(|&k| wanted <= boundary(k)).unwrap_or(self.beyond);
        }
        self.rate = (self.rate + if up { change } else { -change }).max(self.least_rate());
    }

    fn interval_of(&mut self, sent: Time) -> Option<&mut Interval> {
        self.intervals.iter_mut().find(|i| i.start <= sent && sent < i.end)
    }
}

impl CongestionControl for Vivace {
    fn on_ack(&mut self, ev: &AckEvent) {
        if self.srtt == Duration::ZERO && ev.srtt > Duration::ZERO {
            self.rate = self.initial_window * self.segment / ev.srtt.as_secs_f64();
        }
        self.srtt = ev.srtt;
        if let Some(sent) = ev.newest_sent.filter(|_| ev.delivered_bytes > 0) {
            self.timed_out = false;
            self.small = false;
            if let Some(interval) = self.interval_of(sent) {
                interval.acked += ev.delivered_bytes;
                interval.app_limited |= ev.app_limited;
                if let Some(rtt) = ev.rtt {
                    interval.take_rtt(sent, rtt);
                }
            }
            self.conclude(sent);
        }
        if self.srtt > Duration::ZERO {
            self.advance(ev.now);
        }
    }

    fn on_lost(&mut self, ev: &LostEvent) {
        if let Some(interval) = self.interval_of(ev.sent) {
            interval.lost += ev.bytes;
        }
    }

    /// Losses count in the utility.
    fn on_congestion(&mut self, _ev: &CongestionEvent) {}

    fn on_timeout(&mut self, _ev: &TimeoutEvent) {
        self.rate = (self.rate / 2.0).max(self.least_rate());
        self.intervals.clear();
        self.streak = 0;
        self.start_probing();
        self.timed_out = true;
    }

    fn on_undo(&mut self, _ev: &UndoEvent) {}

    /// A lost SYN makes the first window small; idle time changes nothing.
    fn on_restart(&mut self, _ev: &RestartEvent) {
        self.small = true;
    }

    fn cwnd(&self) -> u64 {
        let w = if self.timed_out || self.small {
            1.0
        } else if self.srtt == Duration::ZERO {
            self.initial_window
        } else {
            (2.0 * self.rate_now() * self.srtt.as_secs_f64() / self.segment).max(MIN_WINDOW)
        };
        ((w * self.mss) as u64).min(MAX_WINDOW)
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate((self.rate_now() * 1e6).max(1.0) as u64))
    }
    fn governs_recovery(&self) -> bool {
        true
    }
    fn tracks_packets(&self) -> bool {
        true
    }
    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("rate_bps", self.rate * 1e6);
        record("streak", f64::from(self.streak));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Flavour;

    const MSS: u64 = 1250; // 0.01 Mbit

    fn law() -> Vivace {
        Vivace::new(&Context::new(MSS as u32), &Params::resolve(ENTRY.params, &[], Flavour::Paper).unwrap())
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-4
    }

    /// Eq. 2 worked for x = 10: no loss; 1 and 5 % loss; a slope of 0.001.
    #[test]
    fn utilities() {
        let vivace = law();
        for (slope, loss, u) in [(0.0, 0.0, 7.943), (0.0, 0.01, 6.808), (0.001, 0.0, -1.057), (0.0, 0.05, 2.268)] {
            assert!(close(vivace.utility(10.0, slope, loss), u), "{slope} {loss}");
        }
    }

    /// The loss rate at which more rate is no longer better: 0.9 x^−0.1 = 11.35 L.
    #[test]
    fn marginal_losses() {
        let vivace = law();
        for (x, l) in [(1.0, 0.0793), (10.0, 0.0630), (100.0, 0.0500), (1000.0, 0.0397)] {
            let marginal = |l: f64| (vivace.utility(1.001 * x, 0.0, l) - vivace.utility(0.999 * x, 0.0, l)) / x;
            assert!(marginal(l - 0.0001) > 0.0 && marginal(l + 0.0001) < 0.0, "{x}");
        }
    }

    /// RTTs that grow by 3 ms in each 100 ms: a slope of 0.03, by regression, whatever their level.
    #[test]
    fn the_slope_is_a_regression() {
        let mut interval = Interval::new(Purpose::Wait, 10.0, Time::ZERO);
        for k in 0..10 {
            interval.take_rtt(Time(k * 100_000_000), Duration(40_000_000 + k * 3_000_000));
        }
        assert!((interval.slope() - 0.03).abs() < 1e-12);
    }

    /// Amplifier 1, 2, 3, 5, 7 … in one direction, 1 after a turn; the boundary 5, 15, 25 % … of the rate.
    #[test]
    fn changes() {
        let mut vivace = law();
        vivace.srtt = Duration::from_millis(100);
        vivace.rate = 1000.0;
        let mut steps = vec![];
        for gradient in [1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0] {
            let before = vivace.rate;
            vivace.change_rate(gradient);
            steps.push((vivace.rate - before).round());
        }
        assert_eq!(steps, [1.0, 2.0, 3.0, 5.0, 7.0, -1.0, -2.0]);
        vivace.rate = 100.0;
        let shares = [1e6, 1e6, 1e6, 1e6, -1e6].map(|gradient| {
            let before = vivace.rate;
            vivace.change_rate(gradient);
            ((vivace.rate / before - 1.0) * 100.0).round()
        });
        assert_eq!(shares, [5.0, 15.0, 25.0, 35.0, -5.0]);
        // A smaller change brings k down to the least that admits it.
        vivace.beyond = 4;
        vivace.change_rate(-0.1 * vivace.rate / 2.0); // twice that: a tenth
        assert_eq!(vivace.beyond, 1);
    }

    /// A link of 10 Mbit/s and 100 ms with a long queue, packet by packet: found within 10 %, without much of a queue.
    #[test]
    fn finds_a_link() {
        let mut vivace = law();
        let (mut now, mut free, mut sent_bytes) = (0.0_f64, 0.0_f64, 0_u64);
        let mut acks: VecDeque<(f64, f64)> = VecDeque::new();
        let (mut rates, mut queues) = (vec![], vec![]);
        let srtt = Duration::from_millis(100);
        vivace.on_ack(&AckEvent { now: Time(1), srtt, ..AckEvent::default() });
        while now < 60.0 {
            let next = now + MSS as f64 * 8.0 / vivace.pacing_rate().unwrap().as_bps_f64();
            while acks.front().is_some_and(|a| a.0 <= next) {
                let (at, sent) = acks.pop_front().unwrap();
                let rtt = Duration::from_secs_f64(at - sent);
                vivace.on_ack(&AckEvent {
                    now: Time((at * 1e9) as u64 + 1),
                    delivered_bytes: MSS,
                    rtt: Some(rtt),
                    srtt: rtt,
                    newest_sent: Some(Time((sent * 1e9) as u64 + 1)),
                    ..AckEvent::default()
                });
            }
            now = next;
            free = free.max(now) + MSS as f64 * 8.0 / 10e6;
            sent_bytes += MSS;
            acks.push_back((free + 0.1, now));
            if now > 30.0 {
                rates.push(vivace.rate);
                queues.push(free - now);
            }
        }
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        assert!((9.0..=10.5).contains(&mean(&rates)), "{}", mean(&rates));
        assert!(mean(&queues) < 0.1, "{} {sent_bytes}", mean(&queues));
    }
}
