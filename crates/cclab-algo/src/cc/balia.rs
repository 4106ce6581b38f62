//! BALIA, the Balanced Linked Adaptation: between LIA, which leaves traffic on bad paths, and OLIA, which is slow to return to one that
//! gets better.
//!
//! Sources: Q. Peng, A. Walid, J. Hwang, S.H. Low, "Multipath TCP: Analysis, Design, and Implementation", IEEE/ACM ToN 24(1), 2016;
//! draft-walid-mptcp-congestion-control-04 (2016); the multipath kernel's module, whose +1 for every
//! 10 w_r (Σx)²/((x_r + max x)(4 x_r + max x)) acknowledged is the same.

use super::linked::Linked;
use super::{AckEvent, Build, Context, Entry, Share, Window, WindowLaw, Windowed};
use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "balia",
    summary: "for several paths: linked increases and decreases between LIA's and OLIA's",
    source: "Peng, Walid, Hwang & Low, ToN 24(1), 2016; draft-walid-mptcp-congestion-control-04",
    params: &[],
    build: Build::Coupled(|cx, _| Box::new(Windowed::new(cx, SlowStart::Standard, Balia::new(cx)))),
};

/// A loss on a slow path takes no more than this many halves.
const MOST_HALVES: f64 = 1.5;

/// BALIA's window law.
struct Balia {
    linked: Linked,
    /// α_r = max x_k/x_r of the last snapshot.
    alpha: f64,
}

impl Balia {
    fn new(cx: &Context) -> Self {
        Balia { linked: Linked::new(cx), alpha: 1.0 }
    }
}

impl WindowLaw for Balia {
    fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        self.linked.avoid(w, acked, ev);
    }

    /// (w_r/2) min(α_r, 1.5) less, at least 1 is left (draft §3; the module too).
    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        if self.linked.gain.is_none() {
            return self.linked.decrease(w, now, flight_size);
        }
        (self.linked.reno.judged(w, flight_size) * (1.0 - self.alpha.min(MOST_HALVES) / 2.0)).max(1.0)
    }

    /// x_r/(RTT_r (Σ x_k)²) (1 + α_r)/2 (4 + α_r)/5 for each segment acknowledged, x = w/RTT (draft §3).
    fn on_siblings(&mut self, _w: &mut Window, all: &[Share], me: usize) {
        self.linked.gain = Share::coupled(all, me).map(|paths| {
            let own = &all[me];
            let rate: f64 = paths.clone().map(Share::rate).sum();
            self.alpha = paths.map(Share::rate).fold(0.0, f64::max) / own.rate();
            let alone = own.rate() / own.srtt.as_secs_f64() / (rate * rate);
            alone * (1.0 + self.alpha) / 2.0 * (4.0 + self.alpha) / 5.0
        });
    }

    fn signals(&self, w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        self.linked.signals(w, record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::testing::{ack, law_of, lose, shares};
    use crate::params::Flavour;

    fn law(flavour: Flavour, w: u32) -> Windowed<Balia> {
        law_of(&ENTRY, flavour, w, &[], |cx, _| Balia::new(cx))
    }

    /// Draft §3 by hand, 10 and 30 segments over 100 ms: x = 100 and 300, α = 3 and 1. Growth 100/(0.1 · 400²) · 4/2 · 7/5 = 0.0175 and
    /// 300/(0.1 · 400²) = 0.01875. The module adds one per 10 · 10 · 400²/((100 + 300)(400 + 300)) = 57.14: the same.
    #[test]
    fn growth_of_the_draft() {
        let all = shares([(10.0, 100), (30.0, 100)]);
        for flavour in [Flavour::Linux, Flavour::Paper] {
            for (me, gain) in [(0, 0.0175), (1, 0.01875)] {
                let w = all[me].window;
                let mut law = law(flavour, w as u32);
                law.on_siblings(&all, me);
                ack(&mut law, 1);
                assert!((law.window.cwnd - w - gain).abs() < 1e-12, "{flavour:?}, {me}");
            }
        }
        assert!((10.0 * 10.0 * 160_000.0 / (400.0 * 700.0) * 0.0175 - 1.0_f64).abs() < 1e-12);
    }

    /// min(α, 1.5)/2 of the window goes: 3/4 of the slow path's, half of the fastest's, 0.6 where α is 1.2. One segment stays.
    #[test]
    fn decrease_of_the_draft() {
        for (all, me, left) in [
            (shares([(10.0, 100), (30.0, 100)]), 0, 2.5),
            (shares([(10.0, 100), (30.0, 100)]), 1, 15.0),
            (shares([(20.0, 120), (20.0, 100)]), 0, 8.0),
            (shares([(2.0, 100), (30.0, 100)]), 0, 1.0),
        ] {
            for flavour in [Flavour::Linux, Flavour::Paper] {
                let mut law = law(flavour, all[me].window as u32);
                law.on_siblings(&all, me);
                lose(&mut law);
                assert!((law.window.cwnd - left).abs() < 1e-12, "{}", law.window.cwnd);
            }
        }
    }

    /// Alone it is Reno, and again when its sibling is gone.
    #[test]
    fn alone_it_is_reno() {
        let mut law = law(Flavour::Paper, 10);
        law.on_siblings(&shares([(10.0, 100), (90.0, 100)]), 0);
        law.on_siblings(&shares([(10.0, 100), (0.0, 100)]), 0);
        ack(&mut law, 1);
        assert_eq!(law.window.cwnd, 10.1);
        lose(&mut law);
        assert_eq!(law.window.cwnd, 5.05);
    }
}
