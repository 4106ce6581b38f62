//! RTT estimation and the retransmission timeout: RFC 6298 and Linux's variant.

use super::super::super::{Config, RtoStyle};
use cclab_algo::{Duration, Time};
use std::sync::Arc;

/// The estimators of a connection.
#[derive(Clone, Debug)]
pub(in super::super) struct Rtt {
    config: Arc<Config>,
    /// 8 srtt, ns; zero before the first sample.
    srtt8: i64,
    /// 4 × mean deviation, ns (RFC 6298's 4 RTTVAR).
    mdev4: i64,
    /// Linux: largest `mdev4` of this round.
    mdev_max4: i64,
    /// Linux: what goes into the RTO: follows `mdev_max4` up at once, down slowly.
    var4: i64,
    /// Linux: the round ends when this offset is acknowledged.
    round_end: u64,
    base: Duration,
    backoff: u32,
    min: MinRtt,
    has_sample: bool,
    /// The sample that this segment brought, for the minimum and the law.
    latest: Option<Duration>,
}

impl Rtt {
    pub fn new(config: Arc<Config>) -> Rtt {
        Rtt {
            srtt8: 0,
            mdev4: 0,
            mdev_max4: 0,
            var4: 0,
            round_end: 0,
            base: config.rto.initial,
            backoff: 0,
            min: MinRtt::default(),
            has_sample: false,
            latest: None,
            config,
        }
    }

    /// Takes in a sample. `snd_una` and `snd_nxt` tell the rounds apart (Linux).
    pub fn sample(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64) {
        let rtt = self.round_up(rtt).0 as i64;
        let floor = self.config.rto.min.0 as i64;
        if !self.has_sample {
            self.has_sample = true;
            self.srtt8 = rtt * 8;
            self.mdev4 = rtt * 2;
            self.var4 = self.mdev4.max(floor);
            self.mdev_max4 = self.var4;
            self.round_end = snd_nxt;
        } else {
            let err = rtt - self.srtt8 / 8;
            // RFC 6298 (2.3): RTTVAR first, with the old SRTT: 4 RTTVAR' = 3/4 (4 RTTVAR) + |err|.
            let mut change = err.abs() - self.mdev4 / 4;
            if self.config.rto.style == RtoStyle::Linux && err < 0 && change > 0 {
                change /= 8; // an RTT that falls fast must not raise the RTO
            }
            self.mdev4 += change;
            self.srtt8 += err;
            if self.config.rto.style == RtoStyle::Linux {
                self.track_maximum(floor, snd_una, snd_nxt);
            }
        }
        self.backoff = 0;
        self.base = self.computed();
    }

    fn track_maximum(&mut self, floor: i64, snd_una: u64, snd_nxt: u64) {
        self.mdev_max4 = self.mdev_max4.max(self.mdev4);
        self.var4 = self.var4.max(self.mdev_max4);
        if snd_una > self.round_end {
            if self.mdev_max4 < self.var4 {
                self.var4 -= (self.var4 - self.mdev_max4) / 4;
            }
            self.round_end = snd_nxt;
            self.mdev_max4 = floor;
        }
    }

    fn computed(&self) -> Duration {
        let srtt = Duration((self.srtt8 / 8) as u64);
        let rto = match self.config.rto.style {
            RtoStyle::Linux => srtt + Duration(self.var4 as u64),
            RtoStyle::Rfc6298 => {
                (srtt + Duration(self.mdev4 as u64).max(self.config.rto.granularity)).max(self.config.rto.min)
            }
        };
        rto.min(self.config.rto.max)
    }

    /// Where the clock has a granularity, samples are rounded up to it.
    fn round_up(&self, rtt: Duration) -> Duration {
        match self.config.rto.granularity.0 {
            0 => rtt,
            g => Duration(rtt.0.div_ceil(g) * g),
        }
    }

    /// The SYN was retransmitted and data starts: at least 3 s until there is a sample (RFC 6298 (5.7)).
    pub fn after_syn_retransmission(&mut self) {
        if !self.has_sample {
            self.base = self.base.max(Duration::from_secs(3));
            self.backoff = 0;
        }
    }

    /// Of an earlier connection it is known that the RTT may be larger than the handshake shows (Linux `tcp_init_metrics`).
    pub fn recall(&mut self, known: Duration) {
        if known > self.srtt() {
            self.base = (known + (known * 2).max(self.config.rto.min)).min(self.config.rto.max);
        }
    }

    /// The timer expired: the RTO doubles until the next sample.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// The last timeout was spurious: the RTO it had before.
    pub fn clear_backoff(&mut self) {
        self.backoff = 0;
    }

    /// The RTO with its back-off.
    pub fn rto(&self) -> Duration {
        self.backed_off(self.backoff)
    }

    /// The RTO doubled `times` times, up to the ceiling.
    pub fn backed_off(&self, times: u32) -> Duration {
        (self.base * (1_u64 << times.min(32))).min(self.config.rto.max)
    }

    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        Duration((self.srtt8 / 8) as u64)
    }
    pub fn has_sample(&self) -> bool {
        self.has_sample
    }

    /// RTT variation: RTTVAR of RFC 6298; Linux reports `mdev`, a quarter of `mdev4`.
    pub fn rttvar(&self) -> Duration {
        Duration((self.mdev4 / 4) as u64)
    }

    /// Smallest RTT of the last 300 s (Linux `tcp_min_rtt_wlen`); zero before the first sample.
    pub fn min_rtt(&self) -> Duration {
        self.min.value
    }

    /// Takes in a sample for the minimum.
    pub fn sample_min(&mut self, now: Time, rtt: Duration) {
        self.min.update(now, rtt);
        self.latest = Some(rtt);
    }

    /// A segment arrives.
    pub fn begin(&mut self) {
        self.latest = None;
    }
    /// The sample that the last segment brought.
    pub fn latest(&self) -> Option<Duration> {
        self.latest
    }
}

/// A minimum over two half windows: the smallest of this half and of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct MinRtt {
    value: Duration,
    previous: Duration,
    current: Duration,
    half_ends: Time,
}

const HALF_WINDOW: Duration = Duration::from_secs(150);

impl MinRtt {
    fn update(&mut self, now: Time, rtt: Duration) {
        if self.value == Duration::ZERO || now >= self.half_ends {
            let first = self.value == Duration::ZERO;
            self.previous = if first { Duration::MAX } else { self.current };
            self.current = Duration::MAX;
            self.half_ends = now + HALF_WINDOW;
        }
        self.current = self.current.min(rtt);
        self.value = self.current.min(self.previous);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::{Config, Recovery};
    use super::*;

    fn after(config: &Config, samples: &[u64]) -> Rtt {
        let mut rtt = Rtt::new(Arc::new(config.clone()));
        for (k, &ms) in samples.iter().enumerate() {
            rtt.sample(Duration::from_millis(ms), k as u64, k as u64 + 100);
        }
        rtt
    }
    fn ms(d: Duration) -> f64 {
        d.as_secs_f64() * 1e3
    }

    /// Linux 6.18 after a handshake of 40.3 ms: RTO 272 ms (in ticks of 4) where `ip tcp_metrics` has 72.062 ms. Beyond 100 ms it is
    /// three times the RTT, and what is shorter than the handshake's changes nothing.
    #[test]
    fn what_is_known_of_earlier_connections() {
        for (known_us, rto) in [(72_062, 272.062), (200_000, 600.0), (40_000, 240.0)] {
            let mut rtt = after(&Config::linux(1448), &[40]);
            rtt.recall(Duration::from_micros(known_us));
            assert_eq!(ms(rtt.rto()), rto);
        }
    }

    /// RFC 6298 §2 by hand: 100 gives 300, 100 and 120 give SRTT 102.5, RTTVAR 42.5; the floor is 1 s.
    #[test]
    fn rfc_6298() {
        let mut config = Config::classic(1000, Recovery::NewReno);
        assert_eq!(ms(after(&config, &[100]).rto()), 1000.0);
        config.rto.min = Duration::ZERO;
        assert_eq!(ms(after(&config, &[100]).rto()), 300.0);
        let two = after(&config, &[100, 120]);
        assert_eq!((ms(two.srtt()), ms(two.rttvar()), ms(two.rto())), (102.5, 42.5, 272.5));
        config.rto.granularity = Duration::from_millis(500);
        let coarse = after(&config, &[100]);
        assert_eq!((ms(coarse.srtt()), ms(coarse.rto())), (500.0, 1500.0));
    }

    /// Linux's floor is on the variance term; the RTO after first samples of 20, 100 and 200 ms.
    #[test]
    fn linux() {
        let config = Config::linux(1000);
        for (samples, rto) in [(&[20][..], 220.0), (&[100], 300.0), (&[200], 600.0), (&[100; 200], 300.0)] {
            assert_eq!(ms(after(&config, samples).rto()), rto, "{samples:?}");
        }
        let two = after(&config, &[100, 300]);
        assert_eq!((ms(two.srtt()), ms(two.rto())), (125.0, 475.0));
        // An RTT that falls fast does not raise it: err = −180, mdev 4 × 50 → + (180 − 50) / 8.
        let fallen = after(&config, &[200, 20]);
        assert!(fallen.rto() < after(&config, &[200]).rto(), "{:?}", fallen.rto());
    }

    #[test]
    fn back_off_doubles_to_the_ceiling_and_ends_with_a_sample() {
        let mut rtt = after(&Config::linux(1000), &[100]);
        for _ in 0..3 {
            rtt.back_off();
        }
        assert_eq!((ms(rtt.rto()), rtt.backoff()), (2400.0, 3));
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(120));
        rtt.sample(Duration::from_millis(100), 1, 2);
        assert_eq!((ms(rtt.rto()), rtt.backoff()), (300.0, 0));
    }

    #[test]
    fn the_minimum_falls_at_once_and_rises_not() {
        let mut min = MinRtt::default();
        for (second, sample, value) in [(0, 30, 30), (1, 10, 10), (2, 20, 10), (200, 9, 9), (201, 40, 9)] {
            min.update(Time(second * 1_000_000_000), Duration(sample));
            assert_eq!(min.value, Duration(value), "after {second} s");
        }
    }

    #[test]
    fn the_minimum_is_forgotten_after_five_minutes() {
        let mut min = MinRtt::default();
        let at = |s: u64| Time(s * 1_000_000_000);
        min.update(at(0), Duration(10));
        min.update(at(100), Duration(30));
        assert_eq!(min.value, Duration(10));
        min.update(at(200), Duration(40));
        assert_eq!(min.value, Duration(10));
        min.update(at(500), Duration(50));
        assert_eq!(min.value, Duration(40));
    }
}
