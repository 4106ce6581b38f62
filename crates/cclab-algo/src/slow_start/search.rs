//! SEARCH: leave slow start when what is delivered no longer doubles from round trip to round trip.
//!
//! Source: draft-chung-ccwg-search ("SEARCH 3.0", its pseudocode's names kept): bytes delivered in a window of 3.5 initial RTTs,
//! kept in bins, are compared with those of the same window one RTT earlier. Later revisions of the draft compare with the bytes
//! sent an RTT earlier instead, threshold 0.26.

use crate::law::{AckEvent, Context};
use crate::units::{Duration, Time};

/// WINDOW_SIZE, in initial RTTs.
const WINDOW: f64 = 3.5;
/// Bins of a window, and bins beyond it, to look back by an RTT that has grown.
const W: usize = 10;
const EXTRA_BINS: usize = 15;
const NUM_BINS: usize = W + EXTRA_BINS;
const THRESH: f64 = 0.35;

/// The state of SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    /// Bytes acknowledged in each bin, a ring.
    bin: [u64; NUM_BINS],
    /// Bins so far; the last one is `count` − 1.
    count: usize,
    bin_duration: Duration,
    /// When the next bin is over; `None` before the first RTT.
    bin_end: Option<Time>,
    prev_seq_num: u64,
    /// W does not fall below the initial window as slow start ends.
    least: f64,
    mss: f64,
}

impl Search {
    /// For a new connection.
    pub fn new(cx: &Context) -> Self {
        Search {
            bin: [0; NUM_BINS],
            count: 0,
            bin_duration: Duration::ZERO,
            bin_end: None,
            prev_seq_num: 0,
            least: f64::from(cx.initial_window),
            mss: f64::from(cx.mss),
        }
    }

    /// Looks for the capacity anew (after a timeout).
    pub fn restart(&mut self) {
        (self.count, self.bin_end) = (0, None);
    }

    /// Takes in an ACK of slow start; what is left of W (segments) once it is over.
    pub fn on_ack(&mut self, ev: &AckEvent, cwnd: f64) -> Option<f64> {
        let rtt = ev.rtt?;
        let Some(bin_end) = self.bin_end else {
            self.bin_duration = Duration::from_secs_f64(rtt.as_secs_f64() * WINDOW / W as f64).max(Duration(1));
            self.bin_end = Some(ev.now + self.bin_duration);
            self.prev_seq_num = ev.snd_una;
            return None;
        };
        if ev.now <= bin_end {
            return None;
        }
        self.update_bins(ev.now, bin_end, ev.snd_una);
        // Bins back to those of an RTT ago, and the fraction of one.
        let back = rtt.0 as f64 / self.bin_duration.0 as f64;
        let prev = self.count.checked_sub(1 + back as usize)?;
        if prev < W || self.count - 1 - prev > EXTRA_BINS {
            return None;
        }
        let curr_delv = self.sum_bins(self.count - 1 - W, self.count - 1, 0.0);
        let expected = 2.0 * self.sum_bins(prev - W, prev, back.fract());
        (expected > 0.0 && (expected - curr_delv) / expected >= THRESH).then(|| self.exit(cwnd))
    }

    /// Bin boundaries were passed, more than one where nothing came for long.
    fn update_bins(&mut self, now: Time, bin_end: Time, sequence_num: u64) {
        let passed = (now.since(bin_end).0 / self.bin_duration.0) as usize + 1;
        self.bin_end = Some(bin_end + self.bin_duration * passed as u64);
        for i in self.count..self.count + passed.min(NUM_BINS) {
            self.bin[i % NUM_BINS] = 0;
        }
        self.count += passed;
        self.bin[(self.count - 1) % NUM_BINS] = sequence_num - self.prev_seq_num;
        self.prev_seq_num = sequence_num;
    }

    /// The bins above `from` up to `to`, of `from` and `to` themselves the fractions `fraction` and 1 − `fraction`.
    fn sum_bins(&self, from: usize, to: usize, fraction: f64) -> f64 {
        let bin = |i: usize| self.bin[i % NUM_BINS] as f64;
        (from + 1..to).map(bin).sum::<f64>() + fraction * bin(from) + (1.0 - fraction) * bin(to)
    }

    /// The capacity was reached two initial RTTs ago: what W has grown by since goes.
    fn exit(&self, cwnd: f64) -> f64 {
        let since = (2.0 * W as f64 / WINDOW) as usize;
        let overshoot = self.sum_bins(self.count - 1 - since, self.count - 1, 0.0) / self.mss;
        (cwnd - overshoot).max(self.least).min(cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 ms are the initial RTT, 35 ms a bin; `delivered` bytes come in each. The bin in which slow start ends, and W after.
    fn run(rtt: impl Fn(usize) -> Duration, delivered: &[u64], cwnd: f64) -> Option<(usize, f64)> {
        let mut search = Search::new(&Context::new(1000));
        let mut ev = AckEvent { rtt: Some(Duration::from_millis(100)), ..AckEvent::default() };
        assert_eq!(search.on_ack(&ev, cwnd), None);
        (0..delivered.len()).find_map(|k| {
            ev.snd_una += delivered[k];
            ev.now = Time::ZERO + Duration::from_millis(35 * (k as u64 + 1)) + Duration(1);
            ev.rtt = Some(rtt(k));
            search.on_ack(&ev, cwnd).map(|w| (k, w))
        })
    }

    /// What doubles from RTT to RTT (by 2^0.35 from bin to bin) never ends slow start.
    #[test]
    fn doubling_goes_on() {
        let delivered: Vec<u64> = (0..60).map(|k| (1e3 * crate::math::pow(2.0, 0.35 * f64::from(k))) as u64).collect();
        assert_eq!(run(|_| Duration::from_millis(100), &delivered, 1e9), None);
    }

    /// By the draft's lines 12 to 19 with an RTT of two bins, 70 ms: curr_delv is the sum of the ten last bins, prev_delv of the ten
    /// before the last two. 1000 bytes a bin, then nothing more than that: (2 · 10 − 10)/(2 · 10) = 0.5 ends it as soon as
    /// there is enough to look at: prev_idx = 10, the thirteenth bin. Five bins of overshoot go, 5000 of 30,000 bytes less the one at its start
    /// (lines 39 to 41: `cong_idx` itself does not count): 25 segments.
    #[test]
    fn a_constant_rate_ends_slow_start() {
        assert_eq!(run(|_| Duration::from_millis(70), &[1000; 40], 30.0), Some((12, 25.0)));
    }

    /// An RTT of two bins: eleven bins of 1000 bytes, then two of 1000, 2000 or 3000. Expected are 2 · 10,000; delivered 10,000,
    /// 12,000, 14,000: .5, .4, and .3, below the threshold.
    #[test]
    fn norm_diff_by_hand() {
        let search = |last: u64| {
            let mut search = Search::new(&Context::new(1000));
            search.count = 13;
            (0..11).for_each(|i| search.bin[i] = 1000);
            (11..13).for_each(|i| search.bin[i] = last);
            let expected = 2.0 * search.sum_bins(0, 10, 0.0);
            (expected - search.sum_bins(2, 12, 0.0)) / expected
        };
        assert_eq!((search(1000), search(2000), search(3000)), (0.5, 0.4, 0.3));
    }

    /// A fraction of the bins at the ends counts (lines 36 and 37).
    #[test]
    fn the_ends_are_interpolated() {
        let mut search = Search::new(&Context::new(1000));
        (0..NUM_BINS).for_each(|i| search.bin[i] = 100 * i as u64);
        // 3 + … + 6 of hundreds, a quarter of 2 and three quarters of 7.
        assert_eq!(search.sum_bins(2, 7, 0.25), 1800.0 + 50.0 + 525.0);
        assert_eq!(search.sum_bins(2, 7, 0.0), 1800.0 + 700.0);
        assert_eq!(search.sum_bins(23, 26, 0.0), 2400.0 + 0.0 + 100.0); // round the ring
    }

    /// An RTT that has grown beyond the bins kept is not judged; a timeout begins anew; bins without an ACK hold nothing.
    #[test]
    fn what_cannot_be_judged() {
        assert_eq!(run(|_| Duration::from_millis(35 * 16), &[1000; 60], 30.0), None);
        let mut search = Search::new(&Context::new(1000));
        let at = |ms, snd_una| AckEvent {
            now: Time::ZERO + Duration::from_millis(ms),
            rtt: Some(Duration::from_millis(100)),
            snd_una,
            ..AckEvent::default()
        };
        search.on_ack(&at(0, 0), 10.0);
        search.on_ack(&at(36, 5000), 10.0);
        search.on_ack(&at(36 + 3 * 35, 7000), 10.0);
        assert_eq!((search.count, &search.bin[..4]), (4, &[5000, 0, 0, 2000][..]));
        search.restart();
        search.on_ack(&at(1000, 9000), 10.0);
        assert_eq!((search.count, search.bin_end), (0, Some(Time::ZERO + Duration::from_millis(1035))));
    }
}
