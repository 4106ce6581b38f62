//! OLIA, the Opportunistic Linked Increases Algorithm: LIA's aim with all traffic on the best paths, windows moving there on purpose.
//!
//! Sources: R. Khalili, N. Gast, M. Popovic, J.-Y. Le Boudec, "MPTCP Is Not Pareto-Optimal: Performance Issues and a Possible
//! Solution", CoNEXT 2012 and ToN 21(5), 2013; draft-khalili-mptcp-congestion-control-05 (2014); the multipath kernel's module.
//!
//! Which paths are best: those with the largest l/RTT², half the square of the rate that a TCP would have there, l the segments
//! delivered between its losses. Paper and module have this; the draft has l²/RTT, which chooses otherwise where RTTs differ much.
//! The widest paths are judged by whole segments, as in the kernel: of two fractions one is always wider.

use super::linked::Linked;
use super::{AckEvent, Build, Context, Entry, Share, Window, WindowLaw, Windowed};
use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "olia",
    summary: "for several paths: linked increases that move windows to the best paths",
    source: "Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control-05",
    params: &[],
    build: Build::Coupled(|cx, _| Box::new(Windowed::new(cx, SlowStart::Standard, Olia::new(cx)))),
};

/// OLIA's window law.
struct Olia {
    linked: Linked,
    /// Segments delivered between the last two losses, and since the last: l₁ and l₂.
    between: [f64; 2],
}

impl Olia {
    fn new(cx: &Context) -> Self {
        Olia { linked: Linked::new(cx), between: [0.0; 2] }
    }
}

/// α of a path: what the best paths that are not the widest get, and the widest pay (draft §2).
fn alpha<'a>(paths: impl Iterator<Item = &'a Share> + Clone, own: &Share) -> f64 {
    let quality = |path: &Share| {
        let rtt = path.srtt.as_secs_f64();
        path.between_losses / (rtt * rtt)
    };
    let width = |path: &Share| path.window.floor();
    let best = paths.clone().map(quality).fold(0.0, f64::max);
    let widest = paths.clone().map(width).fold(0.0, f64::max);
    let is_widest = |path: &Share| width(path) == widest;
    let collected = |path: &Share| quality(path) == best && !is_widest(path);
    let count = |these: &dyn Fn(&Share) -> bool| paths.clone().filter(|path| these(path)).count() as f64;
    let all = count(&|_| true);
    match count(&collected) {
        0.0 => 0.0,
        _ if is_widest(own) => -1.0 / (all * count(&is_widest)),
        several if collected(own) => 1.0 / (all * several),
        _ => 0.0,
    }
}

impl WindowLaw for Olia {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        self.between[1] += w.segments(ev.delivered_bytes);
    }

    fn avoid(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        self.linked.avoid(w, acked, ev);
    }

    /// Half, of several paths at least 1 (draft; the kernel's module leaves 2); l₁ ← l₂, l₂ ← 0.
    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.between = [self.between[1], 0.0];
        match self.linked.gain {
            Some(_) => (self.linked.reno.judged(w, flight_size) / 2.0).max(1.0),
            None => self.linked.decrease(w, now, flight_size),
        }
    }

    fn share(&self, _w: &Window, share: &mut Share) {
        share.between_losses = self.between[0].max(self.between[1]);
    }

    /// (w_r/RTT_r²)/(Σ w_p/RTT_p)² + α_r/w_r for each segment acknowledged (draft eq. 2 to 4).
    fn on_siblings(&mut self, _w: &mut Window, all: &[Share], me: usize) {
        self.linked.gain = Share::coupled(all, me).map(|paths| {
            let own = &all[me];
            let rate: f64 = paths.clone().map(Share::rate).sum();
            own.rate() / own.srtt.as_secs_f64() / (rate * rate) + alpha(paths, own) / own.window
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
    use crate::cc::testing::{MSS, ack, law_of, lose, shares};
    use crate::params::Flavour;

    fn law(w: u32) -> Windowed<Olia> {
        law_of(&ENTRY, Flavour::Paper, w, &[], |cx, _| Olia::new(cx))
    }

    fn paths<const N: usize>(paths: [(f64, u64, f64); N]) -> [Share; N] {
        let mut all = shares(paths.map(|(w, ms, _)| (w, ms)));
        all.iter_mut().zip(paths).for_each(|(share, (.., l))| share.between_losses = l);
        all
    }

    fn gain<const N: usize>(all: [Share; N], me: usize) -> f64 {
        let mut law = law(10);
        law.on_siblings(&all, me);
        law.linked.gain.unwrap()
    }

    /// Draft eq. 2 to 4 by hand. 20 and 10 segments, 100 ms, the narrow path ten times better: it gets 10/900 + (1/2)/10, the wide
    /// one 20/900 − (1/2)/20.
    #[test]
    fn windows_move_to_the_better_path() {
        let all = paths([(20.0, 100, 10.0), (10.0, 100, 100.0)]);
        assert!((gain(all, 0) - (20.0 / 900.0 - 0.025)).abs() < 1e-12);
        assert!((gain(all, 1) - (10.0 / 900.0 + 0.05)).abs() < 1e-12);
    }

    /// Where the best path is the widest nothing moves; nor between paths of equal windows.
    #[test]
    fn nothing_moves_where_the_best_is_the_widest() {
        for all in [
            paths([(20.0, 100, 100.0), (10.0, 100, 10.0)]),
            paths([(20.4, 100, 10.0), (20.1, 100, 100.0)]), // as whole segments
        ] {
            let total = all[0].window + all[1].window;
            for me in [0, 1] {
                assert!((gain(all, me) - all[me].window / (total * total)).abs() < 1e-12);
            }
        }
    }

    /// Three paths, the two narrow ones best: each of them gets 1/(3 · 2), the widest pays 1/3, all as 1/w; one that is neither, none.
    #[test]
    fn several_best_paths_share_what_the_widest_pays() {
        let rate = |total: f64, w: f64| w / (total * total);
        let all = paths([(20.0, 100, 10.0), (5.0, 100, 50.0), (8.0, 100, 50.0), (7.0, 100, 20.0)]);
        for (me, alpha) in [(0, -1.0 / 4.0), (1, 1.0 / 8.0), (2, 1.0 / 8.0), (3, 0.0)] {
            let w = all[me].window;
            assert!((gain(all, me) - rate(40.0, w) - alpha / w).abs() < 1e-12, "{me}");
        }
    }

    /// The best is the one with the largest l/RTT²: 400 segments over 200 ms are no better than 100 over 100 ms, and 4/1 than
    /// 1 where the draft's l²/RTT would say 8.
    #[test]
    fn the_best_path_is_that_of_the_highest_tcp_rate() {
        let all = paths([(20.0, 100, 101.0), (10.0, 200, 400.0)]);
        assert!((gain(all, 1) - 10.0 / 0.04 / (250.0 * 250.0)).abs() < 1e-12, "not collected");
        let all = paths([(20.0, 100, 99.0), (10.0, 200, 400.0)]);
        assert!((gain(all, 1) - 10.0 / 0.04 / (250.0 * 250.0) - 0.05).abs() < 1e-12, "collected");
    }

    /// l is what was delivered between the last two losses, or since the last, whichever is more.
    #[test]
    fn what_is_delivered_between_losses() {
        let mut law = law(10);
        let mut l = |delivered: u64, loss: bool| {
            law.on_ack(&AckEvent { delivered_bytes: delivered * u64::from(MSS), ..AckEvent::default() });
            if loss {
                lose(&mut law);
            }
            let mut share = Share::default();
            law.share(&mut share);
            share.between_losses
        };
        assert_eq!(
            [l(30, false), l(20, true), l(10, false), l(50, false), l(0, true), l(5, false)],
            [30.0, 50.0, 50.0, 60.0, 60.0, 60.0]
        );
    }

    /// A loss leaves half, down to one segment while there are siblings; a window that shrinks does not come back by slow start.
    #[test]
    fn a_window_may_fall_to_one() {
        let mut law = law(2);
        lose(&mut law);
        assert_eq!(law.window.cwnd, 2.0, "alone it is Reno");
        let all = paths([(2.0, 100, 10.0), (1.0, 100, 100.0)]);
        law.on_siblings(&all, 0);
        ack(&mut law, 1);
        assert!((law.window.cwnd - 2.0 - (2.0 / 9.0 - 0.25)).abs() < 1e-12 && !law.window.in_slow_start());
        lose(&mut law);
        assert_eq!(law.window.cwnd, 1.0);
    }
}
