//! The RTT as a receiver sees it (Linux `tcp_rcv_rtt_update`).

use super::timestamp;
use cclab_algo::{Duration, Time};

/// The estimate.
#[derive(Debug, Default)]
pub(super) struct ReceiveRtt {
    /// 8 times the RTT, ns; zero before the first sample.
    rtt8: u64,
    /// The timestamp that was echoed last.
    echoed: u32,
    /// A window was offered then, and is full when data up to here has come.
    window: Option<(Time, u64)>,
}

impl ReceiveRtt {
    /// The RTT; zero before the first sample.
    pub fn get(&self) -> Duration {
        Duration(self.rtt8 / 8)
    }

    /// A full segment echoes a timestamp of ours. Below its resolution of 1 ms it tells nothing, and nor does it raise the
    /// estimate while the application is behind (`waiting`).
    pub fn by_timestamp(&mut self, now: Time, ts_ecr: u32, waiting: bool) {
        if std::mem::replace(&mut self.echoed, ts_ecr) == ts_ecr {
            return;
        }
        let ms = timestamp(now).wrapping_sub(ts_ecr);
        if ms == 0 || ms > 1 << 21 {
            return;
        }
        let sample = u64::from(ms) * 1_000_000;
        if self.is_smaller(sample) {
            self.rtt8 = 8 * sample;
        } else if !waiting {
            self.rtt8 += sample - self.rtt8 / 8;
        }
    }

    /// Data came in order up to `rcv_nxt`: the time that a whole `window` takes is the RTT or more.
    pub fn by_window(&mut self, now: Time, rcv_nxt: u64, window: u64) {
        if let Some((began, end)) = self.window {
            if rcv_nxt < end {
                return;
            }
            let sample = now.since(began).0.max(1000);
            if self.is_smaller(sample) {
                self.rtt8 = 8 * sample;
            }
        }
        self.window = Some((now, rcv_nxt + window));
    }

    fn is_smaller(&self, sample: u64) -> bool {
        self.rtt8 == 0 || 8 * sample < self.rtt8
    }
}
