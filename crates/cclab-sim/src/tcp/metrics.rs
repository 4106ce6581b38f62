//! What a host remembers of a destination from one connection to the next (Linux 6.18 `tcp_metrics`, `ip-tcp_metrics(8)`).

use super::Info;
use cclab_algo::Duration;
use cclab_algo::cc::Phase;

/// What is remembered; zero is nothing. Windows in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Smoothed RTT: the larger of what is remembered and what was found, or an eighth of the way down.
    pub rtt: Duration,
    /// Its variation, likewise by quarters.
    pub rttvar: Duration,
    /// Slow-start threshold.
    pub ssthresh: u64,
    /// Window. Nobody reads it: a kernel does if an administrator has locked it.
    pub cwnd: u64,
    /// How many segments late one may be that is not lost.
    pub reordering: u32,
}

impl Metrics {
    /// A connection ends as `end` says, whose duplicate threshold began with `dupthresh`; `ssthresh` too is remembered.
    pub fn save(&mut self, end: &Info, mss: u64, dupthresh: u32, ssthresh: bool) {
        let Some(srtt) = end.srtt.filter(|_| end.backoff == 0) else {
            self.rtt = Duration::ZERO;
            return;
        };
        self.save_rtt(srtt, end.rttvar);
        let (cwnd, threshold) = (end.cwnd / mss, end.ssthresh / mss);
        if end.ssthresh == u64::MAX {
            // In its first slow start still.
            if ssthresh && self.ssthresh > 0 {
                self.ssthresh = self.ssthresh.max(cwnd / 2);
            }
            self.cwnd = self.cwnd.max(cwnd);
        } else if cwnd >= threshold && end.phase == Phase::Open {
            if ssthresh {
                self.ssthresh = threshold.max(cwnd / 2);
            }
            self.cwnd = self.cwnd.midpoint(cwnd);
        } else {
            self.cwnd = self.cwnd.midpoint(threshold);
            if ssthresh && self.ssthresh > 0 {
                self.ssthresh = self.ssthresh.max(threshold);
            }
            if end.reordering != dupthresh {
                self.reordering = self.reordering.max(end.reordering);
            }
        }
    }

    fn save_rtt(&mut self, srtt: Duration, rttvar: Duration) {
        let apart = Duration(self.rtt.0.abs_diff(srtt.0));
        self.rtt = if srtt >= self.rtt { srtt } else { self.rtt.saturating_sub(Duration(apart.0 / 8)) };
        let found = apart.max(rttvar);
        self.rttvar =
            if found >= self.rttvar { found } else { Duration(self.rttvar.0 - (self.rttvar.0 - found.0) / 4) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Endpoint, State};
    use super::*;
    use cclab_algo::cc;

    fn end(srtt_us: u64, rttvar_us: u64, ssthresh: Option<u64>, cwnd: u64) -> Info {
        let law = cc::find("reno").expect("it is there").make(&cc::Context::new(1448), &[]).expect("nothing is given");
        Info {
            state: State::FinWait2,
            srtt: Some(Duration::from_micros(srtt_us)),
            rttvar: Duration::from_micros(rttvar_us),
            ssthresh: ssthresh.map_or(u64::MAX, |segments| segments * 1448),
            cwnd: cwnd * 1448,
            ..Endpoint::listen(Config::linux(1448), law).info()
        }
    }

    /// Five transfers of Linux 6.18 one after the other (Reno, 10 Mbit/s, 40 ms): how each ended by TCP_INFO, its last RTT from the
    /// ACK of the FIN, and what `ip tcp_metrics` showed then.
    #[test]
    fn what_a_kernel_remembers() {
        let mut known = Metrics::default();
        for (srtt, rttvar, ssthresh, cwnd, shown) in [
            (44_836, 1832, None, 31, (44_836, 44_836, 0, 31)),
            (72_062, 166, Some(32), 65, (72_062, 40_433, 32, 48)),
            (46_254, 4022, Some(32), 33, (68_836, 36_776, 32, 40)),
            (44_044, 3741, Some(32), 24, (65_737, 33_780, 32, 36)),
            (46_649, 602, Some(32), 41, (63_351, 30_107, 32, 38)),
        ] {
            known.save(&end(srtt, rttvar, ssthresh, cwnd), 1448, 3, true);
            let us = |time: Duration| (time.0 + 500) / 1000;
            assert!(us(known.rtt).abs_diff(shown.0) <= 1 && us(known.rttvar).abs_diff(shown.1) <= 1, "{known:?}");
            assert_eq!((known.ssthresh, known.cwnd), (shown.2, shown.3));
        }
    }

    /// The rest of the rules: a threshold is not kept where it is not wanted, grows in slow start only where there is one, the degree
    /// of reordering where recovery or a later slow start is under way; what timed out forgets the RTT.
    #[test]
    fn what_else_is_remembered() {
        let mut known = Metrics::default();
        known.save(&end(50_000, 0, Some(20), 40), 1448, 3, false);
        assert_eq!((known.ssthresh, known.cwnd, known.reordering), (0, 20, 0));
        known.ssthresh = 20;
        known.save(&end(50_000, 0, None, 100), 1448, 3, true);
        assert_eq!((known.ssthresh, known.cwnd), (50, 100));
        let late = Info { phase: Phase::Recovery, reordering: 9, ..end(50_000, 0, Some(60), 60) };
        known.save(&late, 1448, 3, true);
        assert_eq!((known.ssthresh, known.cwnd, known.reordering), (60, 80, 9));
        known.save(&Info { backoff: 1, ..late }, 1448, 3, true);
        assert_eq!((known.rtt, known.ssthresh), (Duration::ZERO, 60));
    }
}
