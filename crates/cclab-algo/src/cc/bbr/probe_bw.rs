//! PROBE_BW: a cycle of pacing gains. One asks for more, one takes the queue away again.

use super::{Bbr, State};
use crate::cc::{AckEvent, Share};
use crate::rng::Stream;
use crate::units::Time;

const PACING_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
pub(super) const CWND_GAIN: f64 = 2.0;

/// The place in the cycle: 0 asks for more, 1 takes the queue away, from 2 on it cruises.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct ProbeBw {
    pub place: usize,
    pub since: Time,
}

impl ProbeBw {
    /// Whether it asks for more.
    pub fn is_up(self) -> bool {
        self.place == 0
    }
}

/// How PROBE_BW cycles: BBRv1's way is [`Gains`], and there are others built upon it.
pub(in crate::cc) trait Cycle: Send + Sized {
    /// Whether W and the ends of phases have room for what the hosts hold, as Linux has.
    const QUANTA: bool = true;
    /// PROBE_BW begins now; at which place?
    fn begin(&mut self, now: Time, rng: &mut Stream) -> usize;
    /// An ACK came; the next place, if `probe` is over.
    fn next(bbr: &mut Bbr<Self>, probe: ProbeBw, ev: &AckEvent) -> Option<usize>;
    /// The pacing gain of a place.
    fn pacing_gain(&self, place: usize) -> f64 {
        PACING_GAINS[place]
    }
    /// The share of the bandwidth that is the subflow's own there, which pacing and W go by.
    fn share(&self, _place: usize) -> f64 {
        1.0
    }
    /// The most that W may be there, segments.
    fn most(&self, _place: usize) -> f64 {
        f64::INFINITY
    }
    /// As [`CongestionControl::on_siblings`](crate::cc::CongestionControl::on_siblings).
    fn on_siblings(&mut self, _all: &[Share], _me: usize) {}
    /// What of it is to be recorded, after BBR's own.
    fn signals(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// BBRv1's cycle: eight gains, each for about one RTprop.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct Gains;

impl Gains {
    /// Anywhere but at 0.75: there is nothing to drain.
    pub fn begin_anywhere(rng: &mut Stream) -> usize {
        (7 - rng.below(7) as usize + 1) % PACING_GAINS.len()
    }

    /// The next gain, when this one had its time.
    pub fn next_of<C: Cycle>(bbr: &Bbr<C>, probe: ProbeBw, ev: &AckEvent) -> Option<usize> {
        let full_length = bbr.rt_prop.is_some_and(|rtt| ev.now.since(probe.since) > rtt);
        let in_flight = bbr.segments(ev.prior_in_flight);
        let over = match probe.place {
            // At 1.25: until the pipe holds what it was to hold, or cannot.
            0 => full_length && (ev.lost_bytes > 0 || in_flight >= bbr.inflight(1.25)),
            // At 0.75: until the queue is gone.
            1 => full_length || in_flight <= bbr.inflight(1.0),
            _ => full_length,
        };
        over.then_some((probe.place + 1) % PACING_GAINS.len())
    }
}

impl Cycle for Gains {
    fn begin(&mut self, _now: Time, rng: &mut Stream) -> usize {
        Gains::begin_anywhere(rng)
    }
    fn next(bbr: &mut Bbr<Self>, probe: ProbeBw, ev: &AckEvent) -> Option<usize> {
        Gains::next_of(bbr, probe, ev)
    }
}

impl<C: Cycle> Bbr<C> {
    /// The place in the cycle, in PROBE_BW.
    #[cfg(test)]
    pub fn probe_bw(&self) -> Option<ProbeBw> {
        match self.state {
            State::ProbeBw(probe) => Some(probe),
            _ => None,
        }
    }

    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        let place = self.cycle.begin(now, &mut self.rng);
        self.state = State::ProbeBw(ProbeBw { place, since: now });
    }

    pub(super) fn update_cycle(&mut self, ev: &AckEvent) {
        let State::ProbeBw(probe) = self.state else { return };
        if let Some(place) = C::next(self, probe, ev) {
            self.state = State::ProbeBw(ProbeBw { place, since: ev.now });
        }
    }
}
