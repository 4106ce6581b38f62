//! Copa: send at the rate 1/(δ · d_q), which keeps about 1/δ packets of each flow in the queue.
//!
//! Source: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018. There is
//! no Copa in Linux.
//!
//! The queueing delay is d_q = RTTstanding − RTTmin, the smallest RTT of the last srtt/2 less that of the last ten seconds.
//! For each packet acknowledged (§2.1)
//!
//! > λ = W/RTTstanding ≤ 1/(δ d_q): W += v/(δ W), else W −= v/(δ W),
//!
//! so W moves by v/δ a round trip. v doubles each round in which W moved as in the rounds before, once it did so for three,
//! and is 1 after a change of direction. Pacing at 2 W/RTTstanding lets W govern.
//!
//! Where implementations go beyond the paper: v/δ ≤ W, so that W at most doubles or halves in a round (the authors'); a v
//! above 1 ends with the first ACK that asks for the other direction, not with the round (Meta's), without which W swings
//! for ever on long fat paths. Ours: W ≥ 2; a timeout begins slow start anew from one segment.

use super::window::bytes;
use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, RestartEvent, Signal, TimeoutEvent, UndoEvent,
};
use crate::estimate::{MinWindow, Rounds};
use crate::params::{Kind, Params, Spec, Value};
use crate::units::{Duration, Rate, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "copa",
    summary: "Copa: sends at 1/(delta times the queueing delay), about 1/delta packets in the queue",
    source: "Arun & Balakrishnan, NSDI 2018",
    params: &[
        Spec {
            name: "delta",
            kind: Kind::Number { min: 0.004, max: 1.0 },
            default: Value::Number(0.5),
            paper_default: None,
            unit: "",
            doc: "1/delta packets of the flow are meant to wait",
        },
        Spec {
            name: "competitive",
            kind: Kind::Flag,
            default: Value::Flag(false),
            paper_default: None,
            unit: "",
            doc: "where the queue does not empty within five RTTs, 1/delta grows by one an RTT and halves on loss",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Copa::new(cx, params))),
};

const MIN_WINDOW: f64 = 2.0;
const RTT_MIN_WINDOW: Duration = Duration::from_secs(10);
/// Rounds in one direction before v doubles.
const SAME_ROUNDS: u32 = 3;
/// The queue is nearly empty at less than this share of what it varied by in the last four RTTs (§2.2).
const NEARLY_EMPTY: f64 = 0.1;
const VARIED_RTTS: u64 = 4;
const EMPTY_WITHIN_RTTS: u64 = 5;

/// Copa's law. Volumes in segments.
pub struct Copa {
    mss: f64,
    default_delta: f64,
    /// δ now.
    delta: f64,
    cwnd: f64,
    slow_start: bool,
    srtt: Duration,
    standing: MinWindow,
    smallest: MinWindow,
    rtt_standing: Option<Duration>,
    rtt_min: Duration,

    rounds: Rounds,
    velocity: f64,
    /// W at the start of the round, whether it grew in the round before, and for how many it did so.
    round_cwnd: f64,
    upwards: bool,
    same: u32,

    competition: Option<Competition>,
}

/// Whether somebody fills the queue.
#[derive(Clone, Debug, Default)]
struct Competition {
    /// Of `Duration::MAX` less the RTT.
    largest: MinWindow,
    nearly_empty: Time,
    found: bool,
    lost: bool,
}

impl Copa {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        let delta = params.number("delta");
        Copa {
            mss: f64::from(cx.mss),
            default_delta: delta,
            delta,
            cwnd: f64::from(cx.initial_window),
            slow_start: true,
            srtt: Duration::ZERO,
            standing: MinWindow::default(),
            smallest: MinWindow::default(),
            rtt_standing: None,
            rtt_min: Duration::ZERO,
            rounds: Rounds::default(),
            velocity: 1.0,
            round_cwnd: f64::from(cx.initial_window),
            upwards: true,
            same: 0,
            competition: params.flag("competitive").then(Competition::default),
        }
    }

    /// Whether λ ≤ 1/(δ d_q).
    fn below_target(&self, standing: Duration) -> bool {
        let queueing = standing.saturating_sub(self.rtt_min).as_secs_f64();
        self.cwnd * self.delta * queueing <= standing.as_secs_f64()
    }

    /// Once per round: which way did W go? (§2.1, step 3)
    fn update_velocity(&mut self) {
        let upwards = self.cwnd > self.round_cwnd;
        self.round_cwnd = self.cwnd;
        if upwards == self.upwards {
            self.same += 1;
            if self.same >= SAME_ROUNDS {
                self.velocity *= 2.0;
            }
        } else {
            self.turn(upwards);
        }
        self.velocity = self.velocity.min((self.cwnd * self.delta).max(1.0));
    }

    fn turn(&mut self, upwards: bool) {
        self.upwards = upwards;
        self.same = 0;
        self.velocity = 1.0;
    }

    /// The detector of buffer-filling flows, and δ by its word (§2.2).
    fn compete(&mut self, now: Time, rtt: Duration, standing: Duration) {
        let Some(competition) = &mut self.competition else { return };
        let inverse = Duration(u64::MAX - rtt.0);
        let largest = u64::MAX - competition.largest.update(now, inverse, self.srtt * VARIED_RTTS).0;
        let varied = (largest - self.rtt_min.0.min(largest)) as f64;
        if (standing.0.saturating_sub(self.rtt_min.0) as f64) < NEARLY_EMPTY * varied || self.slow_start {
            competition.nearly_empty = now;
        }
        let before = competition.found;
        competition.found = now.since(competition.nearly_empty) > self.srtt * EMPTY_WITHIN_RTTS;
        if !competition.found {
            self.delta = self.default_delta;
        } else if std::mem::take(&mut competition.lost) {
            self.delta = (2.0 * self.delta).min(self.default_delta);
        } else if before && self.rounds.start {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.srtt = ev.srtt;
        if ev.delivered_bytes == 0 {
            return;
        }
        self.rounds.on_ack(ev.prior_delivered, ev.delivered);
        if let Some(rtt) = ev.rtt {
            self.rtt_min = self.smallest.update(ev.now, rtt, RTT_MIN_WINDOW);
            let standing = self.standing.update(ev.now, rtt, ev.srtt / 2);
            self.rtt_standing = Some(standing);
            self.compete(ev.now, rtt, standing);
        }
        let Some(standing) = self.rtt_standing else { return };
        let acked = ev.delivered_bytes as f64 / self.mss;
        let below = self.below_target(standing);
        if self.slow_start {
            self.slow_start = below;
            if below && ev.may_grow {
                self.cwnd += acked;
            }
            (self.round_cwnd, self.same, self.velocity) = (self.cwnd, 0, 1.0);
            return;
        }
        if self.rounds.start {
            self.update_velocity();
        }
        if below != self.upwards && self.velocity > 1.0 {
            // A velocity meant for the other direction.
            self.turn(below);
        }
        let step = self.velocity * acked / (self.delta * self.cwnd);
        if !below {
            self.cwnd = (self.cwnd - step).max(MIN_WINDOW);
        } else if ev.may_grow {
            self.cwnd = (self.cwnd + step).max(MIN_WINDOW);
        }
    }

    /// Loss means nothing, but to how it competes.
    fn on_congestion(&mut self, ev: &CongestionEvent) {
        if let Some(competition) = &mut self.competition {
            competition.lost |= ev.signal == Signal::Loss;
        }
    }
    fn on_timeout(&mut self, _ev: &TimeoutEvent) {
        self.cwnd = 1.0;
        self.slow_start = true;
        self.delta = self.default_delta;
    }
    fn on_undo(&mut self, _ev: &UndoEvent) {}
    /// W is as large as the queueing delay told; only a lost SYN makes it smaller.
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.cwnd = self.cwnd.min(ev.cwnd as f64 / self.mss).max(1.0);
    }

    fn cwnd(&self) -> u64 {
        bytes(self.cwnd * self.mss)
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        let rtt = self.rtt_standing.unwrap_or(self.srtt).as_secs_f64();
        (rtt > 0.0).then(|| Rate((2.0 * self.cwnd * self.mss * 8.0 / rtt).max(1.0) as u64))
    }
    fn governs_recovery(&self) -> bool {
        true
    }
    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let standing = self.rtt_standing.map_or(f64::NAN, Duration::as_secs_f64);
        record("queueing_delay_s", standing - self.rtt_min.as_secs_f64());
        record("velocity", self.velocity);
        record("delta", self.delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Flavour, Given};

    const MSS: u64 = 1000;

    fn law(competitive: bool) -> Copa {
        let given = [("competitive".to_string(), Given::Flag(competitive))];
        Copa::new(&Context::new(MSS as u32), &Params::resolve(ENTRY.params, &given, Flavour::Paper).unwrap())
    }

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    /// An ACK of a segment at `t` ms with this RTT; it begins a round if `round`.
    fn ack(t: u64, rtt: u64, round: bool) -> AckEvent {
        AckEvent {
            now: ms(t),
            acked_bytes: MSS,
            delivered_bytes: MSS,
            rtt: Some(Duration::from_millis(rtt)),
            srtt: Duration::from_millis(100),
            delivered: t * MSS,
            prior_delivered: if round { t * MSS } else { 0 },
            may_grow: true,
            ..AckEvent::default()
        }
    }

    /// After slow start, with W segments and RTTmin 100 ms, v = 1.
    fn settled(w: f64) -> Copa {
        let mut copa = law(false);
        copa.on_ack(&ack(1000, 100, true));
        (copa.slow_start, copa.cwnd, copa.round_cwnd) = (false, w, w);
        copa
    }

    /// W 20, δ 0.5, RTTmin 100 ms: standing 105 → the target 400/s is above 190.5/s: + 0.1; 120 → 100/s: − 0.1. W 50 at
    /// 104 ms: 500 above 480.8: + 0.04.
    #[test]
    fn a_step() {
        for (w, rtt, step) in [(20.0, 105, 0.1), (20.0, 120, -0.1), (50.0, 104, 0.04), (20.0, 100, 0.1)] {
            let mut copa = settled(w);
            copa.on_ack(&ack(2000, rtt, false));
            assert!((copa.cwnd - w - step).abs() < 1e-12, "{w} {rtt}: {}", copa.cwnd);
        }
        let copa = settled(20.0);
        assert_eq!(copa.pacing_rate(), Some(Rate(2 * 20 * 8000 * 10)));
    }

    /// RTTstanding forgets after srtt/2, RTTmin after ten seconds.
    #[test]
    fn two_windows() {
        let mut copa = settled(20.0);
        copa.on_ack(&ack(1040, 130, false));
        assert_eq!(copa.rtt_standing, Some(Duration::from_millis(100)));
        copa.on_ack(&ack(1060, 130, false));
        assert_eq!(copa.rtt_standing, Some(Duration::from_millis(130)));
        copa.on_ack(&ack(11_100, 130, false));
        assert_eq!(copa.rtt_min, Duration::from_millis(130));
    }

    /// v doubles from the third round in one direction on, and is 1 after a change; W at most doubles in a round.
    #[test]
    fn velocity() {
        let mut copa = settled(200.0);
        let mut v = vec![];
        for round in 0..8 {
            copa.cwnd += 1.0;
            copa.on_ack(&ack(2000 + 100 * round, 100, true));
            v.push(copa.velocity);
        }
        assert_eq!(v, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        copa.cwnd -= 100.0;
        copa.on_ack(&ack(3000, 200, true));
        assert_eq!(copa.velocity, 1.0);
        // Far above the target with a v for growing.
        (copa.velocity, copa.upwards) = (64.0, true);
        copa.on_ack(&ack(3010, 300, false));
        copa.on_ack(&ack(3100, 300, false));
        assert_eq!((copa.velocity, copa.upwards), (1.0, false));
        let mut small = settled(4.0);
        for round in 0..20 {
            small.cwnd = 4.0 + 0.01 * round as f64;
            small.on_ack(&ack(2000 + 100 * round, 100, true));
            assert!(small.velocity / small.delta <= small.cwnd + 1e-9);
        }
    }

    /// Slow start grows by what is delivered until λ exceeds the target.
    #[test]
    fn slow_start_ends_above_the_target() {
        let mut copa = law(false);
        copa.on_ack(&ack(1000, 100, true));
        assert_eq!((copa.cwnd, copa.slow_start), (11.0, true));
        copa.on_ack(&ack(1100, 118, false)); // 2/18 ms = 111/s, 11/118 ms = 93/s
        assert_eq!((copa.cwnd, copa.slow_start), (12.0, true));
        copa.on_ack(&ack(1200, 125, false)); // 80/s, 96/s
        assert_eq!((copa.cwnd, copa.slow_start), (12.0, false));
    }

    /// A queue that does not empty for five RTTs: 1/δ grows by one a round and halves on a loss; emptied, it is 2 again.
    #[test]
    fn competes_where_the_queue_does_not_empty() {
        let mut copa = law(true);
        copa.on_ack(&ack(1000, 100, true));
        copa.slow_start = false;
        let inverse = |copa: &Copa| (1.0 / copa.delta).round();
        let mut seen = vec![];
        for round in 1..=12 {
            copa.on_ack(&ack(1000 + 100 * round, if round % 2 == 0 { 200 } else { 180 }, true));
            seen.push(inverse(&copa));
        }
        assert_eq!(seen, [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let (now, zero) = (ms(2250), Duration::ZERO);
        copa.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size: 0, srtt: zero, min_rtt: zero });
        copa.on_ack(&ack(2300, 180, true));
        assert_eq!(inverse(&copa), 4.0);
        copa.on_ack(&ack(2400, 101, true));
        assert_eq!(inverse(&copa), 2.0);
    }

    /// Losses take nothing; a timeout begins anew.
    #[test]
    fn only_a_timeout_takes_the_window() {
        let mut copa = settled(50.0);
        let (now, zero) = (ms(2000), Duration::ZERO);
        copa.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size: 0, srtt: zero, min_rtt: zero });
        assert_eq!(copa.cwnd, 50.0);
        copa.on_timeout(&TimeoutEvent { now, flight_size: 0, first: true, in_flight: 0 });
        assert_eq!((copa.cwnd, copa.slow_start), (1.0, true));
    }
}
