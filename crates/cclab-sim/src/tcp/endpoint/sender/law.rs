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
    governs_recovery: bool,
    tracks_packets: bool,
    asks: bool,
}

impl Law {
    pub fn new(law: Box<dyn CongestionControl>) -> Law {
        let (cwnd, ssthresh, pacing_rate) = (law.cwnd(), law.ssthresh(), law.pacing_rate());
        let (governs_recovery, tracks_packets) = (law.governs_recovery(), law.tracks_packets());
        let asks = !law.request().is_none();
        Law { law, cwnd, ssthresh, pacing_rate, governs_recovery, tracks_packets, asks }
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
    /// Whether its data asks something of the routers.
    pub fn asks(&self) -> bool {
        self.asks
    }
    /// The law's own pacing rate.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
    /// Whether its window holds in recovery too.
    pub fn governs_recovery(&self) -> bool {
        self.governs_recovery
    }
    /// Whether it is told of each packet lost, and of what was in flight when a packet was sent.
    pub fn tracks_packets(&self) -> bool {
        self.tracks_packets
    }
    /// The law itself.
    pub fn as_dyn(&self) -> &dyn CongestionControl {
        &*self.law
    }
}
