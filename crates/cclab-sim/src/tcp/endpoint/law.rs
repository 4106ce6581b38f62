//! The congestion control as the sender holds it: what it answers is asked for after each event, not on
//! each segment.

use cclab_algo::Rate;
use cclab_algo::cc::CongestionControl;

/// A law and its last answers.
pub(super) struct Law {
    law: Box<dyn CongestionControl>,
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: Option<Rate>,
}

impl Law {
    pub fn new(law: Box<dyn CongestionControl>) -> Law {
        let (cwnd, ssthresh, pacing_rate) = (law.cwnd(), law.ssthresh(), law.pacing_rate());
        Law { law, cwnd, ssthresh, pacing_rate }
    }

    /// Tells the law of an event.
    pub fn tell(&mut self, event: impl FnOnce(&mut dyn CongestionControl)) {
        event(&mut *self.law);
        self.cwnd = self.law.cwnd();
        self.ssthresh = self.law.ssthresh();
        self.pacing_rate = self.law.pacing_rate();
    }

    /// Congestion window, bytes.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }
    /// Slow-start threshold, bytes; `u64::MAX` while arbitrarily high.
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
    /// The law's own pacing rate.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
    /// The law itself.
    pub fn as_dyn(&self) -> &dyn CongestionControl {
        &*self.law
    }
}
