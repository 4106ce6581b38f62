//! TCP Muzha: the routers of the path say by how much the window is to change, and what a loss means.
//!
//! Sources: H.-C. Hsiao (adviser Y.-N. Lien), "A New TCP Congestion Control Mechanism over Mobile Ad Hoc Networks by
//! Router-Assisted Approach", slides, NCCU, 2006; Y.-N. Lien, H.-C. Hsiao, ICDCS Workshops 2007. Each data packet comes back with the
//! lowest [level](super::drai) that a router on its way wrote, the MRAI. Two phases in the place of NewReno's three: congestion
//! avoidance, in which the MRAI moves the window, and fast retransmit with fast recovery, in which it does not. Three duplicate ACKs
//! that bring a deceleration are congestion; with another mark, or none, they are a random loss, which costs nothing.
//!
//! Ours, where the slides leave it open: the window moves once a round trip, by the lowest level of that time; it grows only where it was
//! the limit, and shrinks from what was in use; a congestion loss takes [`loss_factor`](ENTRY) of it, and another aggressive deceleration
//! during the repair nothing more; a timeout leaves one segment. Where no router speaks DRAI it is NewReno without slow start.
//!
//! What a duplicate takes out of the network may be sent anew (usable window = cwnd + duplicates): the law governs its window in recovery.

use super::drai::{self, Advice};
use super::window::bytes;
use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, Feedback, Phase, RecoveredEvent, RestartEvent,
    Signal, TimeoutEvent, UndoEvent,
};
use crate::estimate::Rounds;
use crate::params::{Kind, Params, Spec, Value};

pub(super) const ENTRY: Entry = Entry {
    name: "muzha",
    summary: "TCP Muzha: routers say by how much the window changes and which losses are congestion",
    source: "Hsiao & Lien, NCCU 2006 (slides); ICDCSW 2007",
    params: &[
        levels(5.0),
        step("inc5", 2.0, "aggressive acceleration, once per RTT"),
        by("inc5_by", "mul"),
        step("inc4", 1.0, "moderate acceleration, once per RTT"),
        by("inc4_by", "add"),
        step("dec2", 1.0, "moderate deceleration, once per RTT"),
        by("dec2_by", "add"),
        step("dec1", 0.5, "aggressive deceleration, once per RTT"),
        by("dec1_by", "mul"),
        SHARP_INCREASE,
        SHARP_DECREASE,
        discriminates(true),
        LOSS_FACTOR,
        START,
    ],
    build: Build::Native(|cx, params| Box::new(Muzha::new(cx, params))),
};

/// The version before: three levels, AIMD(1, 0.8), every loss is congestion.
pub(super) const ENTRY_1: Entry = Entry {
    name: "muzha1",
    summary: "TCP Muzha as first built: three levels, AIMD(1, 0.8), every loss is congestion",
    source: "Hsiao & Lien, NCCU 2006 (slides), \"previous study\"",
    params: &[
        levels(3.0),
        step("inc5", 1.0, "aggressive acceleration, once per RTT"),
        by("inc5_by", "add"),
        step("inc4", 1.0, "moderate acceleration, once per RTT; with four levels or more"),
        by("inc4_by", "add"),
        step("dec2", 1.0, "moderate deceleration, once per RTT; with five levels or more"),
        by("dec2_by", "add"),
        step("dec1", 0.8, "aggressive deceleration, once per RTT"),
        by("dec1_by", "mul"),
        SHARP_INCREASE,
        SHARP_DECREASE,
        discriminates(false),
        LOSS_FACTOR,
        START,
    ],
    build: Build::Native(|cx, params| Box::new(Muzha::new(cx, params))),
};

const fn spec(name: &'static str, kind: Kind, default: Value, unit: &'static str, doc: &'static str) -> Spec {
    Spec { name, kind, default, paper_default: None, unit, doc }
}
const fn levels(default: f64) -> Spec {
    let kind = Kind::Number { min: drai::MIN_LEVELS as f64, max: drai::MAX_LEVELS as f64 };
    spec("levels", kind, Value::Number(default), "", "how many levels there are, a whole number")
}
const fn step(name: &'static str, default: f64, doc: &'static str) -> Spec {
    spec(name, Kind::Number { min: 0.0, max: 100.0 }, Value::Number(default), "segments or factor", doc)
}
const fn by(name: &'static str, default: &'static str) -> Spec {
    let kind = Kind::Choice(&["add", "mul"]);
    spec(name, kind, Value::Word(default), "", "whether that is added or taken away (\"add\"), or multiplies (\"mul\")")
}
const fn discriminates(default: bool) -> Spec {
    let doc = "whether a loss is congestion only if the duplicate ACKs bring a deceleration";
    spec("discriminates", Kind::Flag, Value::Flag(default), "", doc)
}
const SHARP_INCREASE: Spec = Spec {
    name: "sharp_increase",
    kind: Kind::Number { min: 1.0, max: 100.0 },
    default: Value::Number(1.5),
    paper_default: None,
    unit: "factor",
    doc: "the acceleration between moderate and aggressive, with six levels or seven",
};
const SHARP_DECREASE: Spec = Spec {
    name: "sharp_decrease",
    kind: Kind::Number { min: 0.0, max: 1.0 },
    default: Value::Number(0.75),
    paper_default: None,
    unit: "factor",
    doc: "the deceleration between moderate and aggressive, with seven levels",
};
const LOSS_FACTOR: Spec = Spec {
    name: "loss_factor",
    kind: Kind::Number { min: 0.0, max: 1.0 },
    default: Value::Number(0.5),
    paper_default: None,
    unit: "",
    doc: "the share of the window that a congestion loss leaves",
};
const START: Spec = Spec {
    name: "start",
    kind: Kind::Number { min: 1.0, max: 1000.0 },
    default: Value::Number(1.0),
    paper_default: None,
    unit: "segments",
    doc: "the first window, in the place of initial_window",
};

/// How a level moves the window.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(f64),
    Mul(f64),
}

impl Step {
    fn of(params: &Params, name: &str, by: &str, sign: f64) -> Step {
        match params.word(by) {
            "add" => Step::Add(sign * params.number(name)),
            _ => Step::Mul(params.number(name)),
        }
    }
    fn from(self, cwnd: f64) -> f64 {
        match self {
            Step::Add(by) => cwnd + by,
            Step::Mul(by) => cwnd * by,
        }
    }
}

/// Muzha's law. Windows in segments.
pub struct Muzha {
    mss: f64,
    levels: u8,
    /// By advice.
    steps: [Step; 7],
    discriminates: bool,
    loss_factor: f64,

    cwnd: f64,
    /// Before the last reduction by a loss or timeout.
    prior: f64,
    /// The last mark, and whether there ever was one.
    mrai: u8,
    marked: bool,

    /// An epoch is a round trip: the lowest advice in it, and most of what was in flight.
    rounds: Rounds,
    lowest: Option<Advice>,
    used: f64,

    /// The lowest advice of the duplicate ACKs in a row.
    duplicates: Option<Advice>,
    /// A loss was found by the ACK that is coming.
    judging: bool,
    /// The repair under way has had its reduction.
    reduced: bool,
    /// A repair is over with the ACK that is coming.
    repaired: bool,
}

impl Muzha {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        let start = params.number("start");
        Muzha {
            mss: f64::from(cx.mss),
            levels: params.number("levels") as u8,
            steps: [
                Step::of(params, "dec1", "dec1_by", -1.0),
                Step::Mul(params.number("sharp_decrease")),
                Step::of(params, "dec2", "dec2_by", -1.0),
                Step::Add(0.0),
                Step::of(params, "inc4", "inc4_by", 1.0),
                Step::Mul(params.number("sharp_increase")),
                Step::of(params, "inc5", "inc5_by", 1.0),
            ],
            discriminates: params.flag("discriminates"),
            loss_factor: params.number("loss_factor"),
            cwnd: start,
            prior: start,
            mrai: 0,
            marked: false,
            rounds: Rounds::default(),
            lowest: None,
            used: 0.0,
            duplicates: None,
            judging: false,
            reduced: false,
            repaired: false,
        }
    }

    /// What the routers say with this ACK.
    fn advice(&mut self, ev: &AckEvent) -> Option<Advice> {
        let Feedback::Drai { level, .. } = ev.feedback else { return None };
        self.mrai = level;
        let advice = Advice::of(level, self.levels);
        self.marked |= advice.is_some();
        advice
    }

    fn begin_epoch(&mut self) {
        (self.lowest, self.used) = (None, 0.0);
    }

    /// Congestion avoidance: once per epoch the window moves by the lowest advice; as NewReno's while there is none.
    fn avoid(&mut self, ev: &AckEvent, advice: Option<Advice>) {
        self.used = self.used.max(ev.prior_in_flight as f64 / self.mss);
        self.lowest = lower(self.lowest, advice);
        if self.lowest.is_none() && ev.may_grow {
            self.cwnd += ev.acked_bytes as f64 / self.mss / self.cwnd;
        }
        self.rounds.on_ack(ev.prior_delivered, ev.delivered);
        if self.rounds.start {
            if let Some(advice) = self.lowest {
                self.act(advice);
            }
            self.begin_epoch();
        }
    }

    fn act(&mut self, advice: Advice) {
        let step = self.steps[advice as usize];
        let limited = self.used + 1.0 > self.cwnd;
        if advice > Advice::Stabilising {
            if limited {
                self.cwnd = step.from(self.cwnd).max(self.cwnd);
            }
        } else if advice < Advice::Stabilising {
            // Beyond what the peer takes a window is not in use: to take from that would change nothing.
            let from = if limited { self.cwnd } else { self.used };
            self.cwnd = step.from(from).min(from).max(1.0);
        }
    }

    /// Whether the loss just found is congestion (slides, "handling of random loss").
    fn is_congestion(&self) -> bool {
        !self.discriminates || !self.marked || self.duplicates.is_some_and(|advice| advice < Advice::Stabilising)
    }

    fn reduce(&mut self, flight_size: f64) {
        self.prior = self.cwnd;
        self.reduced = true;
        self.cwnd = (self.cwnd.min(flight_size) * self.loss_factor).max(1.0);
    }
}

/// The lower of two, if there are two.
fn lower(one: Option<Advice>, other: Option<Advice>) -> Option<Advice> {
    one.into_iter().chain(other).min()
}

impl CongestionControl for Muzha {
    fn on_ack(&mut self, ev: &AckEvent) {
        let advice = self.advice(ev);
        self.duplicates = if ev.acked_bytes > 0 { None } else { lower(self.duplicates, advice) };
        if std::mem::take(&mut self.judging) {
            if self.is_congestion() {
                self.reduce((ev.snd_nxt - ev.snd_una) as f64 / self.mss);
            }
        } else if std::mem::take(&mut self.repaired) {
            self.rounds.begin(ev.delivered);
            self.begin_epoch();
        } else if ev.phase == Phase::Recovery {
            if advice == Some(Advice::AggressiveDeceleration) && !self.reduced {
                self.reduce(self.cwnd);
            }
        } else if ev.acked_bytes > 0 {
            self.avoid(ev, advice);
        }
    }

    /// Whether it is congestion, the ACK says that tells of the loss, which is taken in next.
    fn on_congestion(&mut self, ev: &CongestionEvent) {
        (self.judging, self.reduced) = (ev.signal != Signal::Ecn, false);
        if ev.signal == Signal::Ecn {
            self.reduce(ev.flight_size as f64 / self.mss);
        }
    }

    fn on_timeout(&mut self, ev: &TimeoutEvent) {
        if ev.first {
            self.prior = self.cwnd;
        }
        (self.cwnd, self.judging, self.duplicates) = (1.0, false, None);
        self.begin_epoch();
    }

    fn on_recovered(&mut self, ev: &RecoveredEvent) {
        self.repaired = ev.phase == Phase::Recovery;
    }

    fn on_undo(&mut self, _ev: &UndoEvent) {
        self.cwnd = self.cwnd.max(self.prior);
    }

    fn on_restart(&mut self, ev: &RestartEvent) {
        self.cwnd = self.cwnd.min(ev.cwnd as f64 / self.mss).max(1.0);
    }

    fn cwnd(&self) -> u64 {
        bytes((self.cwnd * self.mss).max(self.mss))
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn governs_recovery(&self) -> bool {
        true
    }
    fn request(&self) -> Feedback {
        Feedback::Drai { level: 0, levels: self.levels }
    }
    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("mrai", f64::from(self.mrai));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Given;
    use crate::units::{Duration, Time};

    fn law(entry: &Entry, given: &[(&str, Given)]) -> Muzha {
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let cx = Context::new(1000);
        Muzha::new(&cx, &Params::resolve(entry.params, &given, cx.flavour).unwrap())
    }

    fn mark(level: u8) -> Feedback {
        Feedback::Drai { level, levels: 5 }
    }

    /// An epoch whose ACKs bring these marks; the last is for a packet sent within it.
    fn epoch(law: &mut Muzha, marks: &[u8]) {
        let flight = law.cwnd();
        epoch_of(law, marks, flight);
    }

    fn epoch_of(law: &mut Muzha, marks: &[u8], flight: u64) {
        for (i, &level) in marks.iter().enumerate() {
            law.on_ack(&AckEvent {
                acked_bytes: 1000,
                delivered: 1,
                prior_delivered: u64::from(i + 1 == marks.len()),
                prior_in_flight: flight,
                feedback: mark(level),
                ..AckEvent::default()
            });
        }
    }

    fn duplicate(law: &mut Muzha, level: u8, phase: Phase) {
        law.on_ack(&AckEvent { feedback: mark(level), phase, snd_nxt: law.cwnd(), ..AckEvent::default() });
    }

    /// Three duplicate ACKs with these marks.
    fn lose(law: &mut Muzha, marks: [u8; 3]) {
        duplicate(law, marks[0], Phase::Disorder);
        duplicate(law, marks[1], Phase::Disorder);
        let flight_size = law.cwnd();
        let (now, zero) = (Time::ZERO, Duration::ZERO);
        law.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size, srtt: zero, min_rtt: zero });
        duplicate(law, marks[2], Phase::Recovery);
    }

    /// The slides' table: 5 doubles, 4 adds one, 3 holds, 2 takes one, 1 halves; the lowest of the round trip counts.
    #[test]
    fn the_window_does_as_the_routers_say() {
        let mut law = law(&ENTRY, &[]);
        for (marks, cwnd) in
            [(&[5][..], 2.0), (&[5, 5], 4.0), (&[5], 8.0), (&[4], 9.0), (&[3], 9.0), (&[4, 2, 5], 8.0), (&[5, 1], 4.0)]
        {
            epoch(&mut law, marks);
            assert_eq!(law.cwnd, cwnd, "{marks:?}");
        }
        // The peer takes four: a window of eight is as far as it goes, and four is what counts.
        for (level, cwnd) in [(5, 8.0), (5, 8.0), (4, 8.0), (2, 3.0), (4, 4.0), (4, 5.0), (4, 5.0), (1, 2.0)] {
            let flight = law.cwnd().min(4000);
            epoch_of(&mut law, &[level], flight);
            assert_eq!(law.cwnd, cwnd, "{level}");
        }
        epoch(&mut law, &[5]);
        for cwnd in [2.0, 1.0, 1.0] {
            epoch(&mut law, &[1]);
            assert_eq!(law.cwnd, cwnd);
        }
    }

    /// The four final settings of the slides' study at a window of 16: AIMD(1, 0.8), AIAD(1, 3), MIMD(1.125, 0.8), MIAD(1.125, 3).
    #[test]
    fn the_study_is_a_configuration() {
        let word = |w: &str| Given::Text(w.into());
        for (inc, inc_by, dec, dec_by, up, down) in [
            (1.0, "add", 0.8, "mul", 17.0, 12.8),
            (1.0, "add", 3.0, "add", 17.0, 13.0),
            (1.125, "mul", 0.8, "mul", 18.0, 12.8),
            (1.125, "mul", 3.0, "add", 18.0, 13.0),
        ] {
            let given = [
                ("inc5", Given::Number(inc)),
                ("inc5_by", word(inc_by)),
                ("dec1", Given::Number(dec)),
                ("dec1_by", word(dec_by)),
                ("start", Given::Number(16.0)),
            ];
            for (level, cwnd) in [(3, up), (1, down)] {
                let mut law = law(&ENTRY_1, &given);
                epoch(&mut law, &[level]);
                assert_eq!(law.cwnd, cwnd, "{inc} {inc_by}, {dec} {dec_by}");
            }
        }
    }

    /// Deceleration on any of the three duplicates is congestion, any other mark or none a random loss.
    #[test]
    fn marks_tell_losses_apart() {
        for (marks, cwnd) in
            [([2, 5, 5], 4.0), ([5, 5, 1], 4.0), ([3, 4, 5], 8.0), ([5, 5, 5], 8.0), ([0, 0, 0], 8.0), ([0, 0, 2], 4.0)]
        {
            let mut law = law(&ENTRY, &[("start", Given::Number(4.0))]);
            epoch(&mut law, &[5]);
            lose(&mut law, marks);
            assert_eq!(law.cwnd, cwnd, "{marks:?}");
        }
        let mut first = law(&ENTRY_1, &[("start", Given::Number(8.0))]);
        lose(&mut first, [3, 3, 3]);
        assert_eq!(first.cwnd, 4.0);
        let mut alone = law(&ENTRY, &[("start", Given::Number(8.0))]);
        lose(&mut alone, [0, 0, 0]);
        assert_eq!(alone.cwnd, 4.0, "no router was ever heard: NewReno");
    }

    /// During the repair only an aggressive deceleration is heard, once; behind it an epoch begins.
    #[test]
    fn a_repair_is_reduced_once() {
        let mut law = law(&ENTRY, &[("start", Given::Number(16.0))]);
        law.marked = true;
        lose(&mut law, [5, 5, 5]);
        for (level, cwnd) in [(2, 16.0), (5, 16.0), (1, 8.0), (1, 8.0)] {
            duplicate(&mut law, level, Phase::Recovery);
            assert_eq!(law.cwnd, cwnd, "{level}");
        }
        law.on_recovered(&RecoveredEvent { now: Time::ZERO, phase: Phase::Recovery });
        law.on_ack(&AckEvent { acked_bytes: 16_000, feedback: mark(1), ..AckEvent::default() });
        assert_eq!(law.cwnd, 8.0);
        law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 8000, first: true, in_flight: 0 });
        assert_eq!(law.cwnd, 1.0);
    }
}
