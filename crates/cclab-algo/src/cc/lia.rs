//! LIA, the Linked Increases Algorithm: all subflows together take what one TCP would take on the best path.
//!
//! Source: RFC 6356 (C. Raiciu, M. Handley, D. Wischik, 2011); Wischik et al., NSDI 2011. Congestion avoidance is linked, slow start,
//! recovery and the decrease are each subflow's own, and Reno's. Where RFC 6356 computes alpha once per RTT or whenever a window
//! changes, here it is always by the last snapshot; kernels compute it in fixed point.

use super::linked::Linked;
use super::{AckEvent, Build, Context, Entry, Share, Window, WindowLaw, Windowed};
use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "lia",
    summary: "for several paths: their increases are linked so that all together take what one Reno would on the best",
    source: "RFC 6356; Wischik et al., NSDI 2011",
    params: &[],
    build: Build::Coupled(|cx, _| Box::new(Windowed::new(cx, SlowStart::Standard, Lia::new(cx)))),
};

/// LIA's window law.
struct Lia {
    linked: Linked,
}

impl Lia {
    fn new(cx: &Context) -> Self {
        Lia { linked: Linked::new(cx) }
    }
}

/// alpha = w_total max(w_i/RTT_i²) / (Σ w_i/RTT_i)² (RFC 6356 eq. 2), and w_total.
fn alpha<'a>(paths: impl Iterator<Item = &'a Share> + Clone) -> (f64, f64) {
    let total: f64 = paths.clone().map(|path| path.window).sum();
    let fastest = paths.clone().map(|path| path.rate() / path.srtt.as_secs_f64()).fold(0.0, f64::max);
    let rate: f64 = paths.map(Share::rate).sum();
    (total * fastest / (rate * rate), total)
}

impl WindowLaw for Lia {
    fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        self.linked.avoid(w, acked, ev);
    }

    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.linked.decrease(w, now, flight_size)
    }

    /// min(alpha/w_total, 1/w_i) for each segment acknowledged (RFC 6356 eq. 1).
    fn on_siblings(&mut self, _w: &mut Window, all: &[Share], me: usize) {
        self.linked.gain = Share::coupled(all, me).map(|paths| {
            let (alpha, total) = alpha(paths);
            (alpha / total).min(1.0 / all[me].window)
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

    /// RFC 6356 eq. 2 by hand. 10 and 10 segments, 100 ms: 20 · 1000/200² = 0.5. 10 and 30 segments, 100 and 200 ms:
    /// 40 · max(1000, 750)/(100 + 150)² = 0.64. One path: 1.
    #[test]
    fn alpha_of_the_rfc() {
        for (paths, expected) in
            [(vec![(10.0, 100), (10.0, 100)], 0.5), (vec![(10.0, 100), (30.0, 200)], 0.64), (vec![(7.0, 30)], 1.0)]
        {
            let paths: Vec<Share> = paths.into_iter().flat_map(|path| shares([path])).collect();
            let (alpha, total) = alpha(paths.iter());
            assert!((alpha - expected).abs() < 1e-12, "{alpha}");
            assert_eq!(total, paths.iter().map(|path| path.window).sum());
        }
    }

    /// RFC 6356 eq. 1: alpha/w_total for each segment acknowledged, but never more than Reno's 1/w: a window of 100 over 1 s beside
    /// one of 2 over 10 ms would get 20000/300² = 0.22.
    #[test]
    fn growth_is_linked_and_never_more_than_renos() {
        for (all, me, gain) in [
            (shares([(10.0, 100), (10.0, 100)]), 0, 0.025),
            (shares([(10.0, 100), (30.0, 200)]), 1, 0.016),
            (shares([(2.0, 10), (100.0, 1000)]), 1, 0.01),
        ] {
            for flavour in [Flavour::Linux, Flavour::Paper] {
                let w = all[me].window;
                let mut law = law_of(&ENTRY, flavour, w as u32, &[], |cx, _| Lia::new(cx));
                law.on_siblings(&all, me);
                ack(&mut law, 1);
                assert!((law.window.cwnd - w - gain).abs() < 1e-9, "{flavour:?}: {}", law.window.cwnd);
            }
        }
    }

    /// Slow start and the decrease are not linked; without a sibling that can be used it is Reno.
    #[test]
    fn the_rest_is_renos() {
        let mut law = law_of(&ENTRY, Flavour::Paper, 10, &[], |cx, _| Lia::new(cx));
        law.on_siblings(&shares([(10.0, 100), (0.0, 100)]), 0);
        ack(&mut law, 1);
        assert_eq!(law.window.cwnd, 10.1);
        law.on_siblings(&shares([(10.1, 100), (10.0, 100)]), 0);
        law.window.ssthresh = 20.0;
        ack(&mut law, 1);
        assert_eq!(law.window.cwnd, 11.1);
        law.window.cwnd = 30.0;
        lose(&mut law);
        assert_eq!((law.window.cwnd, law.window.ssthresh), (15.0, 15.0));
    }
}
