//! Westwood+: Reno whose loss takes the window to the bandwidth that was measured, times the smallest RTT.
//!
//! Sources: S. Mascolo et al., "TCP Westwood", MobiCom 2001; L.A. Grieco, S. Mascolo, "Performance Evaluation and
//! Comparison of Westwood+, New Reno, and Vegas TCP Congestion Control", ACM CCR 34(2), 2004; Linux `tcp_westwood.c`
//! (6.x). Once per RTT, but not within 50 ms, the bytes delivered since give a sample of the bandwidth, which is
//! low-pass filtered. Paper and Linux are both here (parameter `variant`). They differ in:
//!
//! * the filter: paper BWE ← 9/10 BWE + 1/10 sample; Linux two in a row of 7/8 and 1/8, which the first sample fills;
//! * a loss: paper ssthresh = W = BWE · RTTmin at once; Linux halves as Reno for the time of the recovery, and sets both
//!   at its end, whatever W was.
//!
//! Bytes are counted as the endpoint counts what was delivered, by SACK where there is one; Linux takes a duplicate ACK
//! for a segment and sets it off against what is acknowledged later. Its clock ticks in jiffies, ours does not.

use super::{
    AckEvent, Build, CongestionEvent, Entry, Phase, RecoveredEvent, TimeoutEvent, Window, WindowLaw, Windowed,
};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "westwood",
    summary: "Westwood+: a loss takes the window to the measured bandwidth times the smallest RTT",
    source: "Grieco & Mascolo, ACM CCR 34(2), 2004; Linux tcp_westwood.c",
    params: &[
        Spec {
            name: "min_interval",
            kind: Kind::Number { min: 0.0, max: 10_000.0 },
            default: Value::Number(50.0),
            paper_default: None,
            unit: "ms",
            doc: "a sample of the bandwidth is taken over an RTT, or over this where the RTT is shorter",
        },
        Spec {
            name: "variant",
            kind: Kind::Choice(&["linux", "paper"]),
            default: Value::Word("linux"),
            paper_default: Some(Value::Word("paper")),
            unit: "",
            doc: "whose filter and whose reduction",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, Westwood::new(params)))),
};

/// Westwood's window law.
pub struct Westwood {
    min_interval: Duration,
    linux: bool,
    filter: Filter,
    /// Last sample of the RTT, and the smallest.
    rtt: Option<Duration>,
    rtt_min: Option<Duration>,
    /// The interval's start and the bytes delivered in it.
    interval: Option<(Time, u64)>,
}

/// Low-pass filter of the bandwidth, bytes/s.
#[derive(Default)]
struct Filter {
    /// Linux' first stage.
    unsmoothed: f64,
    /// BWE.
    bandwidth: f64,
    filled: bool,
}

impl Filter {
    fn add(&mut self, sample: f64, linux: bool) {
        if !self.filled {
            (self.unsmoothed, self.bandwidth, self.filled) = (sample, sample, true);
        } else if linux {
            self.unsmoothed = (7.0 * self.unsmoothed + sample) / 8.0;
            self.bandwidth = (7.0 * self.bandwidth + self.unsmoothed) / 8.0;
        } else {
            self.bandwidth = (9.0 * self.bandwidth + sample) / 10.0;
        }
    }
}

impl Westwood {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        Westwood {
            min_interval: Duration::from_secs_f64(params.number("min_interval") / 1000.0),
            linux: params.word("variant") == "linux",
            filter: Filter::default(),
            rtt: None,
            rtt_min: None,
            interval: None,
        }
    }

    /// A sample when an RTT has passed, from the bytes before this ACK.
    fn sample(&mut self, ev: &AckEvent) {
        let (start, bytes) = self.interval.unwrap_or((ev.now, 0));
        let delta = ev.now.since(start);
        match self.rtt {
            Some(rtt) if delta > rtt.max(self.min_interval) => {
                self.filter.add(bytes as f64 / delta.as_secs_f64(), self.linux);
                self.interval = Some((ev.now, ev.delivered_bytes));
            }
            _ => self.interval = Some((start, bytes + ev.delivered_bytes)),
        }
    }

    /// BWE · RTTmin in segments, at least 2 (Grieco & Mascolo §2); before there is an estimate half of W.
    fn pipe(&self, w: &Window) -> f64 {
        let Some(rtt_min) = self.rtt_min.filter(|_| self.filter.filled) else { return half(w) };
        let segments = w.segments(1) * self.filter.bandwidth * rtt_min.as_secs_f64();
        if self.linux { segments.floor() } else { segments }.max(2.0)
    }
}

fn half(w: &Window) -> f64 {
    (w.cwnd / 2.0).floor().max(2.0)
}

impl WindowLaw for Westwood {
    fn measure(&mut self, _w: &mut Window, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.rtt = Some(rtt);
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        }
        self.sample(ev);
    }

    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        match self.linux {
            true => w.add_credit(w.cwnd.floor(), acked),
            false => w.add_fraction(w.cwnd, acked),
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        self.pipe(w)
    }

    fn on_congestion(&mut self, w: &mut Window, _ev: &CongestionEvent) {
        w.reduce(if self.linux { half(w) } else { self.pipe(w) });
    }

    fn on_recovered(&mut self, w: &mut Window, ev: &RecoveredEvent) {
        if self.linux && ev.phase != Phase::Loss {
            w.ssthresh = self.pipe(w);
            w.cwnd = w.ssthresh;
        }
    }

    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        w.time_out(ev.first.then(|| self.pipe(w)));
        if self.linux {
            self.rtt_min = None;
        }
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("bandwidth_bps", if self.filter.filled { self.filter.bandwidth * 8.0 } else { f64::NAN });
        record("rtt_min_s", self.rtt_min.map_or(f64::NAN, Duration::as_secs_f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{CongestionControl, Context, Signal};
    use crate::params::Flavour;

    const MSS: u64 = 1460;
    const BOTH: [Flavour; 2] = [Flavour::Linux, Flavour::Paper];

    fn law(flavour: Flavour, w: u32) -> Windowed<Westwood> {
        let cx = Context { initial_window: w, initial_ssthresh: Some(1), flavour, ..Context::new(MSS as u32) };
        Windowed::new(&cx, SlowStart::Standard, Westwood::new(&Params::resolve(ENTRY.params, &[], flavour).unwrap()))
    }
    fn lose(law: &mut Windowed<Westwood>) {
        let (now, zero) = (Time::ZERO, Duration::ZERO);
        law.on_congestion(&CongestionEvent { now, signal: Signal::Loss, flight_size: 0, srtt: zero, min_rtt: zero });
    }

    /// 9 Mbit/s and 50 ms are 56 250 bytes, 38 segments of 1460 bytes: Linux has them after recovery, the paper at once.
    #[test]
    fn a_loss_leaves_bandwidth_times_rtt_min() {
        for (flavour, at_once, after) in [(Flavour::Linux, 100.0, 38.0), (Flavour::Paper, 38.527, 38.527)] {
            let mut law = law(flavour, 200);
            (law.filter.bandwidth, law.filter.filled) = (1_125_000.0, true);
            law.rtt_min = Some(Duration::from_millis(50));
            lose(&mut law);
            assert!((law.window.cwnd - at_once).abs() < 1e-3 && (law.window.ssthresh - at_once).abs() < 1e-3);
            law.on_recovered(&RecoveredEvent { now: Time::ZERO, phase: Phase::Recovery });
            assert!((law.window.cwnd - after).abs() < 1e-3 && (law.window.ssthresh - after).abs() < 1e-3);
        }
    }

    /// Linux at the end of recovery goes up to it, too; a timeout's recovery sets nothing.
    #[test]
    fn linux_sets_the_window_at_the_end_of_recovery() {
        for (phase, w) in [(Phase::Recovery, 38.0), (Phase::Cwr, 38.0), (Phase::Loss, 20.0)] {
            let mut law = law(Flavour::Linux, 40);
            (law.filter.bandwidth, law.filter.filled) = (1_125_000.0, true);
            law.rtt_min = Some(Duration::from_millis(50));
            lose(&mut law);
            law.on_recovered(&RecoveredEvent { now: Time::ZERO, phase });
            assert_eq!(law.window.cwnd, w);
        }
    }

    /// Initialised to 0.5, a sample of 1: Linux 0.5625 and 0.5078, the paper 0.55; the first sample fills the filter.
    #[test]
    fn the_filter() {
        for (linux, unsmoothed, bandwidth) in [(true, 0.5625, 0.507_812_5), (false, 0.5, 0.55)] {
            let mut filter = Filter::default();
            filter.add(0.5, linux);
            filter.add(1.0, linux);
            assert_eq!((filter.unsmoothed, filter.bandwidth), (unsmoothed, bandwidth));
        }
    }

    /// A segment per ms for RTTs of 20 and 100 ms: the estimate is the rate, sampled every 50 ms and every RTT.
    #[test]
    fn samples_are_taken_over_an_rtt_or_50_ms() {
        for flavour in BOTH {
            for (rtt_ms, samples) in [(20, 19), (100, 9)] {
                let mut law = law(flavour, 100);
                let mut taken = 0;
                for k in 0..1000 {
                    let before = law.interval;
                    law.on_ack(&AckEvent {
                        now: Time::ZERO + Duration::from_millis(k),
                        delivered_bytes: MSS,
                        rtt: Some(Duration::from_millis(rtt_ms)),
                        ..AckEvent::default()
                    });
                    taken += u32::from(before.is_some_and(|b| law.interval.unwrap().0 != b.0));
                }
                assert!((law.filter.bandwidth / (MSS as f64 * 1000.0) - 1.0).abs() < 1e-9);
                assert_eq!(taken, samples, "{rtt_ms}");
            }
        }
    }

    /// A timeout: ssthresh = BWE · RTTmin, one segment, and Linux measures RTTmin afresh. A repeated one keeps ssthresh.
    #[test]
    fn timeouts() {
        for (flavour, forgotten) in [(Flavour::Linux, true), (Flavour::Paper, false)] {
            let mut law = law(flavour, 200);
            (law.filter.bandwidth, law.filter.filled) = (1_125_000.0, true);
            law.rtt_min = Some(Duration::from_millis(50));
            law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 0, first: true, in_flight: 0 });
            assert_eq!((law.cwnd(), law.window.ssthresh.floor()), (MSS, 38.0));
            assert_eq!(law.rtt_min.is_none(), forgotten);
            law.on_timeout(&TimeoutEvent { now: Time::ZERO, flight_size: 0, first: false, in_flight: 0 });
            assert_eq!(law.window.ssthresh.floor(), 38.0);
        }
    }

    /// Without an estimate a loss is Reno's.
    #[test]
    fn halves_before_it_knows() {
        for flavour in BOTH {
            let mut law = law(flavour, 20);
            lose(&mut law);
            assert_eq!(law.window.cwnd, 10.0);
        }
    }
}
