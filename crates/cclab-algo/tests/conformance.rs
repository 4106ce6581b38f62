//! Every registered congestion control, in every variant, must survive whatever a connection may tell it.
//!
//! Random but legal sequences of events; what must hold after each of them is in [`Run::check`]. A failure prints
//! the sequence, shrunk, and the law; its seed goes to `conformance.regressions` and is replayed on the next run.

use cclab_algo::cc::{
    self, AckEvent, CongestionControl, CongestionEvent, Context, Entry, IdleEvent, LostEvent, News, NewsEvent, OneWay,
    Phase, RecoveredEvent, RestartEvent, Share, Signal, TimeoutEvent, UndoEvent,
};
use cclab_algo::params::{Flavour, Given, Kind};
use cclab_algo::{Duration, Rate, Time};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::panic::AssertUnwindSafe;

/// Largest window a receiver can offer (RFC 7323 §2.2), in bytes.
const MAX_WINDOW: u64 = 1 << 30;

/// What may happen to a connection.
#[derive(Clone, Debug)]
enum Op {
    /// An ACK for a part (in 1/256) of what is in flight, `after_ns` later; its newest packet was sent when that part of
    /// a window (`lag`) had still to be delivered.
    Ack { after_ns: u64, part: u8, rtt_ns: Option<u64>, limited: bool, forward: u8, ecn_echo: bool, lag: u8 },
    /// So many packets are marked lost; they were sent when that part of a window had still to be delivered.
    Lost { packets: u8, lag: u8 },
    /// A duplicate ACK.
    Duplicate { after_ns: u64 },
    /// A loss, an ECN echo or a tail loss is detected.
    Congestion(Signal),
    /// The retransmission timer fires.
    Timeout,
    /// Recovery ends.
    Recovered,
    /// The reduction was a mistake.
    Undo,
    /// Restart after this many retransmission timeouts of silence (0: the window was not used).
    Restart(u8),
    /// News of the route, with its number.
    News(u8, u16),
    /// Something happened to a subflow: all of them, and which is its own.
    Siblings(Vec<Share>, u8),
}

fn rtt() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => Just(0),
        2 => 1_u64..1000,
        10 => 100_000_u64..400_000_000,
        2 => 1_000_000_000_u64..4_000_000_000_000,
    ]
}

fn share() -> impl Strategy<Value = Share> {
    let window = prop_oneof![Just(0.0), 1.0_f64..100.0, 1.0_f64..1e6];
    let bandwidth = proptest::option::of(prop_oneof![Just(0_u64), 1_u64..400_000_000_000]);
    (window, rtt(), bandwidth, any::<bool>(), 0.0_f64..1e6).prop_map(
        |(window, rtt, bandwidth, steady, between_losses)| Share {
            window,
            srtt: Duration(rtt),
            bandwidth: bandwidth.map(Rate),
            steady,
            between_losses,
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let ack = (
        prop_oneof![Just(0_u64), 1_u64..100_000_000, 1_u64..100_000_000_000],
        any::<u8>(),
        proptest::option::weighted(0.9, rtt()),
        proptest::bool::weighted(0.8),
        any::<u8>(),
        proptest::bool::weighted(0.05),
        any::<u8>(),
    )
        .prop_map(|(after_ns, part, rtt_ns, limited, forward, ecn_echo, lag)| Op::Ack {
            after_ns,
            part,
            rtt_ns,
            limited,
            forward,
            ecn_echo,
            lag,
        });
    prop_oneof![
        40 => ack,
        4 => (1_u8..20, any::<u8>()).prop_map(|(packets, lag)| Op::Lost { packets, lag }),
        4 => (0_u64..10_000_000).prop_map(|after_ns| Op::Duplicate { after_ns }),
        3 => prop_oneof![Just(Signal::Loss), Just(Signal::Ecn), Just(Signal::TailLoss)].prop_map(Op::Congestion),
        2 => Just(Op::Timeout),
        4 => Just(Op::Recovered),
        2 => Just(Op::Undo),
        2 => (0_u8..8).prop_map(Op::Restart),
        2 => (0_u8..8, any::<u16>()).prop_map(|(which, number)| Op::News(which, number)),
        4 => (proptest::collection::vec(share(), 1..4), any::<u8>()).prop_map(|(all, me)| Op::Siblings(all, me)),
    ]
}

/// What a law shows, to the bit.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: Option<Rate>,
    signals: Vec<(&'static str, u64)>,
}

fn show(law: &dyn CongestionControl) -> Shown {
    let mut signals = vec![];
    law.signals(&mut |name, value| {
        assert!(value.is_finite() || value.is_nan(), "{name} is {value}");
        signals.push((name, value.to_bits()));
    });
    Shown { cwnd: law.cwnd(), ssthresh: law.ssthresh(), pacing_rate: law.pacing_rate(), signals }
}

/// A connection as far as a law can tell.
struct Run {
    law: Box<dyn CongestionControl>,
    /// Its window is its own in recovery and after it too: it may come back before the endpoint says so.
    governs: bool,
    tracks: bool,
    /// Whether it is told one-way delays.
    one_way: bool,
    mss: u64,
    now: Time,
    phase: Phase,
    snd_una: u64,
    snd_nxt: u64,
    delivered: u64,
    /// Bytes marked lost, those of the last ACK, and those not yet acknowledged.
    lost: u64,
    lost_at_ack: u64,
    lost_out: u64,
    srtt: Duration,
    min_rtt: Duration,
    shown: Shown,
}

impl Run {
    fn new(law: Box<dyn CongestionControl>, mss: u64, one_way: bool) -> Self {
        let shown = show(&*law);
        Run {
            governs: law.governs_recovery(),
            tracks: law.tracks_packets(),
            law,
            one_way,
            mss,
            now: Time::ZERO + Duration::from_secs(10_000), // later than the largest RTT
            phase: Phase::Open,
            snd_una: 1,
            snd_nxt: 1,
            delivered: 0,
            lost: 0,
            lost_at_ack: 0,
            lost_out: 0,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            shown,
        }
    }

    fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    fn in_flight(&self) -> u64 {
        self.flight_size() - self.lost_out
    }

    /// What a packet remembers of when it was sent: bytes delivered, bytes lost, bytes in flight with it.
    fn sent_when(&self, lag: u8) -> (u64, u64, u64) {
        let part = |bytes: u64| (u128::from(bytes) * u128::from(lag) / 256) as u64;
        let window = self.flight_size();
        (
            self.delivered.saturating_sub(part(window)),
            self.lost - part(self.lost.min(window)),
            part(window).max(self.mss),
        )
    }

    fn ack(&mut self, op: &Op) -> AckEvent {
        let Op::Ack { after_ns, part, rtt_ns, limited, forward, ecn_echo, lag } = *op else { unreachable!() };
        self.now += Duration(after_ns);
        let window = self.law.cwnd().min(MAX_WINDOW) / self.mss * self.mss;
        self.snd_nxt = self.snd_nxt.max(self.snd_una + window.max(self.mss));
        let prior_in_flight = self.in_flight();
        let segments = (self.flight_size() / self.mss * u64::from(part) / 256).max(1);
        let acked_bytes = (segments * self.mss).min(self.flight_size());
        let (prior_delivered, prior_lost, tx_in_flight) = self.sent_when(lag);
        let seq = self.snd_una + acked_bytes - self.mss;
        self.snd_una += acked_bytes;
        self.delivered += acked_bytes;
        self.lost_out = self.lost_out.min(self.flight_size());
        let lost_bytes = self.lost - std::mem::replace(&mut self.lost_at_ack, self.lost);
        let rtt = rtt_ns.map(Duration);
        if let Some(r) = rtt {
            self.srtt = if self.srtt == Duration::ZERO { r } else { (self.srtt * 7 + r) / 8 };
            self.min_rtt = if self.min_rtt == Duration::ZERO { r } else { self.min_rtt.min(r) };
        }
        let one_way = rtt.filter(|_| self.one_way).map(|r| {
            let sent = self.now - r;
            OneWay { seq, sent, arrived: sent + Duration(r.0 / 256 * u64::from(forward)) }
        });
        AckEvent {
            now: self.now,
            acked_bytes,
            delivered_bytes: acked_bytes,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            bytes_in_flight: self.in_flight(),
            prior_in_flight,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            delivery_rate: rtt.and_then(|r| Rate::of(self.delivered - prior_delivered, r)),
            app_limited: !limited,
            delivered: self.delivered,
            prior_delivered,
            lost_bytes,
            may_grow: limited && (self.governs || !matches!(self.phase, Phase::Recovery | Phase::Cwr)),
            phase: self.phase,
            one_way,
            ecn_echo,
            lost: self.lost,
            prior_lost: if self.tracks { prior_lost } else { 0 },
            tx_in_flight: if self.tracks { tx_in_flight } else { 0 },
            newest_sent: Some(self.now - rtt.unwrap_or(Duration(after_ns))),
            ce_bytes: if ecn_echo { acked_bytes } else { 0 },
            ..AckEvent::default()
        }
    }

    /// Feeds one operation, if it is legal now, and checks what must hold after it.
    fn step(&mut self, op: &Op) {
        let before = self.shown.clone();
        let flight_size = self.flight_size();
        let (now, srtt, min_rtt) = (self.now, self.srtt, self.min_rtt);
        match op {
            Op::Ack { .. } => {
                let ev = self.ack(op);
                self.law.on_ack(&ev);
                self.shown = show(&*self.law);
                assert!(
                    ev.may_grow || self.governs || self.shown.cwnd <= before.cwnd,
                    "grew from {before:?} where it may not"
                );
            }
            Op::Lost { packets, lag } => {
                for _ in 0..*packets {
                    if self.in_flight() < self.mss {
                        break;
                    }
                    let (prior_delivered, prior_lost, tx_in_flight) = self.sent_when(*lag);
                    self.lost += self.mss;
                    self.lost_out += self.mss;
                    let ev = LostEvent {
                        now,
                        bytes: self.mss,
                        sent: now - srtt,
                        tx_in_flight,
                        prior_lost,
                        lost: self.lost,
                        prior_delivered,
                        delivered: self.delivered,
                        app_limited: lag % 8 == 0,
                    };
                    if self.tracks {
                        self.law.on_lost(&ev);
                    }
                }
            }
            Op::Duplicate { after_ns } => {
                self.now += Duration(*after_ns);
                if self.phase == Phase::Open {
                    self.phase = Phase::Disorder;
                }
                let ev = AckEvent {
                    now: self.now,
                    srtt,
                    min_rtt,
                    bytes_in_flight: self.in_flight(),
                    prior_in_flight: self.in_flight(),
                    snd_una: self.snd_una,
                    snd_nxt: self.snd_nxt,
                    delivered: self.delivered,
                    lost: self.lost,
                    phase: self.phase,
                    ..AckEvent::default()
                };
                self.law.on_ack(&ev);
                self.shown = show(&*self.law);
                assert!(self.governs || self.shown.cwnd <= before.cwnd, "a duplicate ACK acknowledges nothing");
            }
            Op::Congestion(signal) if matches!(self.phase, Phase::Open | Phase::Disorder) => {
                self.phase = if *signal == Signal::Loss { Phase::Recovery } else { Phase::Cwr };
                self.law.on_congestion(&CongestionEvent { now, signal: *signal, flight_size, srtt, min_rtt });
                self.shown = show(&*self.law);
                assert!(self.shown.cwnd <= before.cwnd, "grew on congestion from {before:?}");
            }
            Op::Timeout => {
                let first = !matches!(self.phase, Phase::Loss);
                self.phase = Phase::Loss;
                self.law.on_timeout(&TimeoutEvent { now, flight_size, first, in_flight: 0 });
                self.shown = show(&*self.law);
                assert!(self.shown.cwnd <= before.cwnd, "grew on a timeout from {before:?}");
                assert!(self.shown.cwnd <= 4 * self.mss, "a timeout leaves a few segments");
            }
            Op::Recovered if !matches!(self.phase, Phase::Open) => {
                let phase = std::mem::replace(&mut self.phase, Phase::Open);
                if phase != Phase::Disorder {
                    self.law.on_recovered(&RecoveredEvent { now, phase });
                }
            }
            Op::Undo if matches!(self.phase, Phase::Recovery | Phase::Cwr | Phase::Loss) => {
                self.phase = Phase::Open;
                self.law.on_undo(&UndoEvent { now });
                self.shown = show(&*self.law);
                assert!(self.shown.cwnd >= before.cwnd, "an undo took something away from {before:?}");
            }
            Op::Restart(timeouts) if self.phase == Phase::Open => {
                let cwnd = (before.cwnd >> timeouts).max((10 * self.mss).min(before.cwnd));
                let ssthresh = before.ssthresh.max(before.cwnd / 4 * 3);
                let idle = Duration::from_secs(u64::from(*timeouts));
                self.now += idle;
                self.snd_nxt = self.snd_una;
                self.lost_out = 0;
                self.law.on_restart(&RestartEvent { now: self.now, cwnd, ssthresh });
                if *timeouts > 0 {
                    self.law.on_idle(&IdleEvent { now: self.now, idle, app_limited: timeouts % 4 > 0 });
                }
                self.shown = show(&*self.law);
                assert!(self.governs || self.shown.cwnd <= before.cwnd, "grew on a restart from {before:?}");
            }
            Op::News(which, number) => {
                let offset = self.snd_una + u64::from(*number);
                let news = match which {
                    0 => News::RouteFailed,
                    1 => News::RouteRestored,
                    2 => News::LinkFailed { seq: offset },
                    3 => News::Unreachable,
                    4 => News::Disconnected { head: offset },
                    5 => News::Reconnected { received: offset },
                    6 => News::Hops { round_trip: *number },
                    _ => News::Waited,
                };
                self.law.on_news(&NewsEvent { now, news });
            }
            Op::Siblings(all, me) => {
                self.law.on_siblings(all, usize::from(*me) % all.len());
                let mut share = Share::default();
                self.law.share(&mut share);
                assert!(share.between_losses.is_finite() && share.between_losses >= 0.0);
            }
            _ => {}
        }
        self.shown = show(&*self.law);
        self.check(&before);
    }

    fn check(&self, before: &Shown) {
        let Shown { cwnd, ssthresh, pacing_rate, signals } = &self.shown;
        assert!(*cwnd >= self.mss, "cwnd {cwnd} is less than a segment");
        assert!(*cwnd < 1 << 48, "cwnd {cwnd} ran away");
        assert!(*ssthresh >= self.mss, "ssthresh {ssthresh} is less than a segment");
        assert!(pacing_rate.is_none_or(|r| r.0 > 0), "a pacing rate of nothing");
        let names = |s: &[(&'static str, u64)]| s.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(signals), names(&before.signals), "signals keep their names and order");
    }
}

type Variant = (&'static Entry, Flavour, Vec<(String, Given)>);

/// Every law in both flavours, and with each word of each choice and each state of each flag.
fn variants() -> Vec<Variant> {
    let mut all = vec![];
    for entry in cc::REGISTRY {
        for flavour in [Flavour::Linux, Flavour::Paper] {
            all.push((entry, flavour, vec![]));
            for spec in entry.params {
                let values = match spec.kind {
                    Kind::Flag => vec![Given::Flag(false), Given::Flag(true)],
                    Kind::Choice(words) => words.iter().map(|w| Given::Text(w.to_string())).collect(),
                    Kind::Number { min, max } => vec![Given::Number(min), Given::Number(max)],
                };
                all.extend(values.into_iter().map(|v| (entry, flavour, vec![(spec.name.to_string(), v)])));
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_law_survives_every_legal_sequence(
        ops in proptest::collection::vec(op(), 1..200),
        mss in prop_oneof![Just(1_u32), Just(536), Just(1000), Just(1448), Just(8948)],
        initial_window in prop_oneof![Just(1_u32), Just(2), Just(10), Just(u32::MAX)],
        initial_ssthresh in proptest::option::of(1_u64..MAX_WINDOW),
        paced in any::<bool>(),
    ) {
        let initial_window = initial_window.min((MAX_WINDOW / u64::from(mss)) as u32);
        let initial_ssthresh = initial_ssthresh.map(|s| s.max(u64::from(mss)));
        for (entry, flavour, given) in variants() {
            let cx = Context { initial_window, initial_ssthresh, flavour, paced, ..Context::new(mss) };
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                let make = || entry.make(&cx, &given).expect("legal parameters");
                let run = |one_way| {
                    let mut run = Run::new(make(), u64::from(mss), one_way);
                    ops.iter().map(|op| { run.step(op); run.shown.clone() }).collect::<Vec<_>>()
                };
                // without one-way delays too, if it does not read them
                assert!(run(true) == run(make().reads_one_way()), "the same events gave another window");
            }));
            prop_assert!(outcome.is_ok(), "{} ({flavour:?}, {given:?})", entry.name);
        }
    }
}

#[test]
fn names_are_unique_and_kebab_case() {
    for (i, entry) in cc::REGISTRY.iter().enumerate() {
        let kebab = entry
            .name
            .split('-')
            .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
        assert!(kebab, "\"{}\" is not lower-case-with-hyphens", entry.name);
        assert!(cc::REGISTRY[..i].iter().all(|e| e.name != entry.name), "two are called {}", entry.name);
        assert!(!entry.summary.is_empty() && !entry.source.is_empty(), "{} says nothing of itself", entry.name);
    }
}

#[test]
fn parameters_are_described_and_their_defaults_allowed() {
    for entry in cc::REGISTRY {
        for (i, spec) in entry.params.iter().enumerate() {
            let at = format!("{}.{}", entry.name, spec.name);
            assert!(entry.params[..i].iter().all(|s| s.name != spec.name), "{at} is there twice");
            assert!(!spec.doc.is_empty(), "{at} has no description");
            for value in std::iter::once(spec.default).chain(spec.paper_default) {
                let given = match value {
                    cclab_algo::params::Value::Number(x) => Given::Number(x),
                    cclab_algo::params::Value::Flag(b) => Given::Flag(b),
                    cclab_algo::params::Value::Word(w) => Given::Text(w.to_string()),
                };
                let made = entry.make(&Context::new(1000), &[(spec.name.to_string(), given)]);
                assert!(made.is_ok(), "{at}: its own default {value} is refused");
            }
        }
    }
}

/// The outline of a model page.
const HEADINGS: &[&str] =
    &["What it models", "What it leaves out", "Parameters", "Source", "Example", "Validation", "Open questions"];

#[test]
fn every_law_has_a_page_with_the_outline_and_every_parameter() {
    for entry in cc::REGISTRY {
        let path = format!("{}/../../docs/models/{}.md", env!("CARGO_MANIFEST_DIR"), entry.name);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("docs/models/{}.md: {e}", entry.name));
        let headings: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "docs/models/{}.md", entry.name);
        let section = page.split("## Parameters").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or("");
        for spec in entry.params {
            assert!(section.contains(&format!("`{}`", spec.name)), "{}.md lacks `{}`", entry.name, spec.name);
        }
    }
}

/// The guide quotes the example, so that what it shows compiles and runs.
#[test]
fn the_guide_shows_the_example() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |path: &str| std::fs::read_to_string(format!("{root}/{path}")).unwrap_or_else(|e| panic!("{path}: {e}"));
    let guide = read("docs/guides/add-a-congestion-control.md");
    let example = read("crates/cclab-algo/examples/aimd.rs");
    let quotes: Vec<&str> = guide.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(quotes.len() >= 4, "the guide shows no code");
    for quote in quotes {
        assert!(example.contains(quote), "not in examples/aimd.rs:\n{quote}");
    }
}
