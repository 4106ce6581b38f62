//! DCTCP: reduces in proportion to the share of bytes that were marked.
//!
//! Sources: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257; Linux `tcp_dctcp.c`.
//!
//! α ← (1 − g) α + g M once per window, M the share of its bytes that were marked; at a mark, at most once per window,
//! W ← W (1 − α/2) (RFC 8257 §3.3). Losses halve as Reno's do (§3.5), and growth is Reno's.
//!
//! Where they differ: Linux counts α in 1/1024 and lets it drop to 0 below 16/1024, takes whole segments off W, and
//! holds W still during the round trip after a reduction; the RFC asks for none of that. A window of data is over when all
//! of it is acknowledged in Linux, when more than that is in the RFC (§3.3 step 4).

use super::reno::Reno;
use super::{AckEvent, Build, CongestionEvent, Context, EcnUse, Entry, TimeoutEvent, Window, WindowLaw, Windowed};
use crate::estimate::Round;
use crate::params::{Flavour, Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "dctcp",
    summary: "reduces by the share of bytes that were marked",
    source: "RFC 8257; Alizadeh et al., SIGCOMM 2010; Linux tcp_dctcp.c",
    params: PARAMS,
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Dctcp::new(cx, params)))),
};

const PARAMS: &[Spec] = &[
    Spec {
        name: "g",
        kind: Kind::Number { min: 1e-4, max: 1.0 },
        default: Value::Number(1.0 / 16.0),
        paper_default: None,
        unit: "",
        doc: "weight of the newest window in alpha (RFC 8257 §4.2)",
    },
    Spec {
        name: "alpha",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        default: Value::Number(1.0),
        paper_default: None,
        unit: "",
        doc: "alpha before the first window (RFC 8257 §4.2)",
    },
];

/// Linux's unit of α.
const UNIT: f64 = 1024.0;

/// Marks are answered once per window of data, and not in one in which a loss was.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// They are answered again once this is acknowledged.
    until: u64,
    /// A loss was answered; its window is the one of the next ACK.
    lost: bool,
}

impl Answer {
    /// Whether this ACK belongs to a window in which something was answered.
    pub fn is_given(&mut self, ev: &AckEvent) -> bool {
        if std::mem::take(&mut self.lost) {
            self.until = ev.snd_nxt;
        }
        ev.snd_una <= self.until
    }
    /// Marks are answered.
    pub fn on_marks(&mut self, ev: &AckEvent) {
        self.until = ev.snd_nxt;
    }
    /// A loss is answered.
    pub fn on_loss(&mut self) {
        self.lost = true;
    }
    /// After a timeout the next mark is answered.
    pub fn on_timeout(&mut self) {
        self.until = 0;
    }
}

/// DCTCP's window law: Reno's but for marks.
struct Dctcp {
    reno: Reno,
    g: f64,
    alpha: f64,
    /// The window of data, and of it the bytes delivered and marked.
    round: Round,
    delivered: u64,
    marked: u64,
    answer: Answer,
    /// W holds still: it was reduced by this ACK, or in Linux by one of the round trip before.
    rests: bool,
    flavour: Flavour,
}

impl Dctcp {
    fn new(cx: &Context, params: &Params) -> Self {
        Dctcp {
            reno: Reno::plain(cx),
            g: params.number("g"),
            alpha: params.number("alpha"),
            round: Round::default(),
            delivered: 0,
            marked: 0,
            answer: Answer::default(),
            rests: false,
            flavour: cx.flavour,
        }
    }

    /// A window of data is over of which the share `m` was marked.
    fn update(&mut self, m: f64) {
        self.alpha = match self.flavour {
            Flavour::Paper => (1.0 - self.g) * self.alpha + self.g * m,
            Flavour::Linux => {
                let alpha = self.alpha * UNIT;
                let decay = (alpha * self.g).floor();
                let left = if decay > 0.0 { alpha - decay } else { 0.0 };
                (left + (m * UNIT * self.g).floor()).min(UNIT) / UNIT
            }
        };
    }

    /// W (1 − α/2).
    fn reduced(&self, w: f64) -> f64 {
        let cut = w * self.alpha / 2.0;
        let cut = if self.flavour == Flavour::Linux { cut.floor() } else { cut };
        (w - cut).max(2.0)
    }
}

impl WindowLaw for Dctcp {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        self.delivered += ev.delivered_bytes;
        self.marked += ev.ce_bytes.min(ev.delivered_bytes);
        // The window ends with the first ACK beyond its end, in Linux with the one that reaches it.
        let reached = ev.snd_una + u64::from(self.flavour == Flavour::Linux);
        if self.delivered > 0 && self.round.is_over(reached, ev.snd_nxt) {
            self.update(self.marked as f64 / self.delivered as f64);
            (self.delivered, self.marked) = (0, 0);
        }
        let answered = self.answer.is_given(ev);
        self.rests = answered && self.flavour == Flavour::Linux;
        if ev.ce_bytes > 0 && !answered {
            self.answer.on_marks(ev);
            w.reduce(self.reduced(w.cwnd));
            self.rests = true;
        }
    }

    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if !self.rests {
            self.reno.grow(w, acked, ev);
        }
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

    fn ecn(&self) -> EcnUse {
        EcnUse::Dctcp
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{CongestionControl, Signal};
    use crate::units::{Duration, Time};

    const BOTH: [Flavour; 2] = [Flavour::Linux, Flavour::Paper];

    fn law(flavour: Flavour, w: u32) -> Windowed<Dctcp> {
        let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(1000) };
        Windowed::new(&cx, SlowStart::Standard, Dctcp::new(&cx, &Params::resolve(PARAMS, &[], flavour).unwrap()))
    }

    /// An ACK of a whole window of `segments`, of which `marked` carried a mark; the next begins with it.
    fn window(law: &mut Windowed<Dctcp>, segments: u64, marked: u64) {
        let snd_una = law.round.end + 1;
        law.on_ack(&AckEvent {
            acked_bytes: 1000 * segments,
            delivered_bytes: 1000 * segments,
            ce_bytes: 1000 * marked,
            snd_una,
            snd_nxt: snd_una + 1000 * segments,
            ..AckEvent::default()
        });
    }

    /// α over windows, from 1: .9375, .8789, .8240 unmarked; then all marked .83498; then a tenth .78904.
    #[test]
    fn alpha_follows_the_share_of_marks() {
        for (flavour, close) in [(Flavour::Paper, 1e-5), (Flavour::Linux, 2e-3)] {
            let mut law = law(flavour, 100);
            for (marked, alpha) in [(0, 0.9375), (0, 0.87891), (0, 0.82397), (100, 0.83498), (10, 0.78904)] {
                window(&mut law, 100, marked);
                assert!((law.alpha - alpha).abs() < close, "{flavour:?}: {} for {alpha}", law.alpha);
            }
        }
    }

    /// A window of data of 100 segments: Linux takes it for over with the ACK of its last byte (`!before(snd_una, next_seq)`),
    /// the RFC with the first ACK beyond (§3.3 step 4).
    #[test]
    fn a_window_ends_with_its_last_byte_in_linux_and_beyond_it_in_the_rfc() {
        for (flavour, ends) in [(Flavour::Linux, 100_000), (Flavour::Paper, 101_000)] {
            let mut law = law(flavour, 100);
            law.round.begin(100_000);
            let before = law.alpha;
            let over = (1..=101).map(|k| 1000 * k).find(|&snd_una| {
                let snd_nxt = snd_una + 100_000;
                law.on_ack(&AckEvent {
                    acked_bytes: 1000,
                    delivered_bytes: 1000,
                    snd_una,
                    snd_nxt,
                    ..AckEvent::default()
                });
                law.alpha != before
            });
            assert_eq!((over, law.round.end), (Some(ends), ends + 100_000), "{flavour:?}");
        }
    }

    /// .356 after 16 clean windows, .0397 after 50. Linux, whose decrements are whole 1/1024, stops falling at 15/1024
    /// and drops to 0 from there; the RFC's never arrives.
    #[test]
    fn alpha_decays() {
        let after = |flavour, windows| {
            let mut law = law(flavour, 100);
            (0..windows).for_each(|_| window(&mut law, 100, 0));
            law.alpha
        };
        assert!((after(Flavour::Paper, 16) - 0.356).abs() < 5e-4);
        assert!((after(Flavour::Paper, 50) - 0.0397).abs() < 5e-5);
        assert!(after(Flavour::Paper, 200) > 0.0);
        assert!((after(Flavour::Linux, 16) - 0.356).abs() < 0.01);
        assert_eq!(after(Flavour::Linux, 200), 0.0);
        let mut linux = law(Flavour::Linux, 100);
        linux.alpha = 16.0 / UNIT;
        window(&mut linux, 100, 0);
        assert_eq!(linux.alpha, 15.0 / UNIT);
        window(&mut linux, 100, 0);
        assert_eq!(linux.alpha, 0.0);
    }

    /// W = 100, α = .8789: 56.05; Linux takes 43 segments off. Once per window.
    #[test]
    fn a_mark_takes_half_of_alpha() {
        for (flavour, w) in [(Flavour::Paper, 56.055), (Flavour::Linux, 57.0)] {
            let mut law = law(flavour, 100);
            law.alpha = 0.8789;
            (law.round.end, law.delivered) = (1_000_000, 0);
            let marked = |snd_una| AckEvent {
                acked_bytes: 1000,
                delivered_bytes: 1000,
                ce_bytes: 1000,
                snd_una,
                snd_nxt: snd_una + 100_000,
                ..AckEvent::default()
            };
            law.on_ack(&marked(1000));
            assert!((law.window.cwnd - w).abs() < 1e-3, "{}", law.window.cwnd);
            law.on_ack(&marked(101_000));
            assert!((law.window.cwnd - w).abs() < 1e-3, "the same window");
            law.on_ack(&marked(101_001));
            assert!(law.window.cwnd < 0.6 * w);
        }
    }

    /// A loss halves whatever α is (RFC 8257 §3.5), and marks of the same window change nothing.
    #[test]
    fn a_loss_halves() {
        for flavour in BOTH {
            let mut law = law(flavour, 100);
            law.alpha = 0.1;
            let zero = Duration::ZERO;
            let now = Time::ZERO;
            law.on_congestion(&CongestionEvent {
                now,
                signal: Signal::Loss,
                flight_size: 100_000,
                srtt: zero,
                min_rtt: zero,
            });
            assert_eq!(law.cwnd(), 50_000);
            window(&mut law, 50, 50);
            assert_eq!(law.cwnd(), 50_000);
        }
    }

    /// Reno's growth: slow start until the first mark, then a segment per window. Linux rests for a round trip.
    #[test]
    fn growth_is_renos() {
        for (flavour, rests) in [(Flavour::Linux, true), (Flavour::Paper, false)] {
            let cx = Context { initial_window: 10, flavour, ..Context::new(1000) };
            let mut law = Windowed::new(
                &cx,
                SlowStart::Standard,
                Dctcp::new(&cx, &Params::resolve(PARAMS, &[], flavour).unwrap()),
            );
            let ack = |snd_una, ce_bytes| AckEvent {
                acked_bytes: 1000,
                delivered_bytes: 1000,
                ce_bytes,
                snd_una,
                snd_nxt: snd_una + 10_000,
                may_grow: true,
                ..AckEvent::default()
            };
            (1..11).for_each(|i| law.on_ack(&ack(1000 * i, 0)));
            assert_eq!(law.cwnd(), 20_000);
            law.alpha = 1.0;
            law.on_ack(&ack(11_000, 1000));
            let w = law.cwnd();
            // In Linux this ACK ends a window of which it is a tenth: α is 0.943 first.
            assert!((9_999..=11_000).contains(&w), "{w}");
            (12..22).for_each(|i| law.on_ack(&ack(1000 * i, 0)));
            assert_eq!(law.cwnd() > w, !rests);
            (22..42).for_each(|i| law.on_ack(&ack(1000 * i, 0)));
            assert!(law.cwnd() >= w + 1_000);
        }
    }
}
