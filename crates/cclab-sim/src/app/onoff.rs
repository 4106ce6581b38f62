//! Sources of datagrams: at a constant rate, or in bursts.

use super::Cbr;
use super::workload::Variate;
use cclab_algo::Duration;
use cclab_algo::rng::Stream;

/// A source of datagrams.
pub enum Datagrams {
    /// At equal distances.
    Cbr(Cbr),
    /// The same while it is on.
    OnOff(Box<OnOff>),
}

impl Datagrams {
    /// What it sends while it is on.
    pub fn cbr(&self) -> &Cbr {
        match self {
            Datagrams::Cbr(cbr) => cbr,
            Datagrams::OnOff(source) => &source.cbr,
        }
    }

    /// The number of the datagram that leaves now, if one does, and the time until the next call.
    pub fn emit(&mut self) -> (Option<u64>, Duration) {
        match self {
            Datagrams::Cbr(cbr) => {
                let (number, gap) = cbr.emit();
                (Some(number), gap)
            }
            Datagrams::OnOff(source) => source.emit(),
        }
    }
}

/// On and off for times drawn in turn; on at first. A datagram leaves whenever the source has been on for the time
/// between two, however many bursts that takes, so the mean rate is the peak rate times the mean share of time on.
pub struct OnOff {
    cbr: Cbr,
    on: (Variate, Stream),
    off: (Variate, Stream),
    /// What is left of the present burst.
    left: Duration,
    /// Time on until the next datagram.
    due: Duration,
}

/// Bursts drawn at a call: where a datagram takes more, time goes on without one, so that every draw belongs to an event
/// of the run and its budget.
const BURSTS: usize = 64;

impl OnOff {
    pub(crate) fn new(cbr: Cbr, mut on: (Variate, Stream), off: (Variate, Stream)) -> OnOff {
        let left = draw(&mut on);
        OnOff { cbr, on, off, left, due: Duration::ZERO }
    }

    fn emit(&mut self) -> (Option<u64>, Duration) {
        let number = (self.due == Duration::ZERO).then(|| {
            let (number, gap) = self.cbr.emit();
            self.due = gap;
            number
        });
        let mut wait = Duration::ZERO;
        for _ in 0..BURSTS {
            if self.due <= self.left {
                self.left = self.left - self.due;
                return (number, wait + std::mem::take(&mut self.due));
            }
            self.due = self.due - self.left;
            wait += self.left + draw(&mut self.off);
            self.left = draw(&mut self.on).max(Duration(1));
        }
        (number, wait)
    }
}

/// A time.
pub(super) fn draw((variate, rng): &mut (Variate, Stream)) -> Duration {
    Duration::from_secs_f64(variate.draw(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::Rate;

    fn source(on: Variate, off: Variate, seed: u64) -> OnOff {
        let cbr = Cbr::new(Rate(1_000_000), 1000); // a datagram each 8 ms on
        OnOff::new(cbr, (on, Stream::new(seed, "on")), (off, Stream::new(seed, "off")))
    }

    /// The time from a datagram to the next, in as many calls as it takes.
    fn gap(source: &mut OnOff) -> Duration {
        let (number, mut gap) = source.emit();
        assert!(number.is_some());
        while source.due > Duration::ZERO {
            gap += source.emit().1;
        }
        gap
    }

    /// 40 ms on, 60 ms off: five datagrams, a gap, exactly.
    #[test]
    fn fixed_times() {
        let mut source = source(Variate::Fixed(0.040), Variate::Fixed(0.060), 1);
        let gaps: Vec<u64> = (0..11).map(|_| source.emit().1.0 / 1_000_000).collect();
        assert_eq!(gaps, [8, 8, 8, 8, 8, 68, 8, 8, 8, 8, 68]);
    }

    /// The share of time on is E[on] / (E[on] + E[off]), also where bursts are shorter than the time between datagrams.
    #[test]
    fn the_mean_rate() {
        for (mean, n) in [(0.5, 200_000), (0.004, 200_000), (0.000_04, 2000)] {
            let mut source = source(Variate::Exponential { mean }, Variate::Exponential { mean: 3.0 * mean }, 2);
            let time: f64 = (0..n).map(|_| gap(&mut source).as_secs_f64()).sum();
            let rate = f64::from(n) * 8000.0 / time;
            // 3200 cycles of the longer ones: standard deviation 1.9 %, of which five are allowed
            assert!((rate / 250_000.0 - 1.0).abs() < 0.095, "{mean}: {rate}");
        }
    }
}
