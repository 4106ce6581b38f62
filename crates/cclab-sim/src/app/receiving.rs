//! The law of who only receives.

use cclab_algo::cc::{AckEvent, CongestionControl, CongestionEvent, EcnUse, RestartEvent, TimeoutEvent, UndoEvent};

/// No window: there is no data for it. What a receiver needs to know of the law of its sender is here, in a few bytes.
pub(super) struct Receiving {
    ecn: EcnUse,
    reads_one_way: bool,
}

impl Receiving {
    /// For the peer of a sender with this law.
    pub(super) fn beside(law: &dyn CongestionControl) -> Receiving {
        Receiving { ecn: law.ecn(), reads_one_way: law.reads_one_way() }
    }
}

impl CongestionControl for Receiving {
    fn on_ack(&mut self, _ev: &AckEvent) {}
    fn on_congestion(&mut self, _ev: &CongestionEvent) {}
    fn on_timeout(&mut self, _ev: &TimeoutEvent) {}
    fn on_undo(&mut self, _ev: &UndoEvent) {}
    fn on_restart(&mut self, _ev: &RestartEvent) {}
    fn cwnd(&self) -> u64 {
        0
    }
    fn ssthresh(&self) -> u64 {
        0
    }
    fn ecn(&self) -> EcnUse {
        self.ecn
    }
    fn reads_one_way(&self) -> bool {
        self.reads_one_way
    }
}
