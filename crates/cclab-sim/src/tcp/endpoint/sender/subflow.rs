//! As one of several: what a connection over several paths asks of a subflow, and tells it.

use super::Sender;
use super::timer::Kind;
use cclab_algo::Time;
use cclab_algo::cc::{CongestionEvent, Phase, RestartEvent, Share, Signal};

impl Sender {
    pub fn set_more(&mut self, more: bool) {
        self.outbox.set_more(more);
    }

    pub fn timeouts_in_a_row(&self) -> u32 {
        self.episode.timeouts()
    }

    /// Bytes of new data that could leave now; where it is the pacer that lets none go, its deadline tells when.
    ///
    /// After a timeout there is no room until all that was out is acknowledged (as multipath Linux): what goes there may be lost,
    /// too.
    pub fn room(&mut self, now: Time) -> u64 {
        let timed_out = self.episode.phase() == Phase::Loss && self.window.flight_size() > 0;
        let repairs = self.episode.repairs() && self.board.next_to_retransmit().is_some();
        if !self.open || timed_out || repairs || self.next_new().is_some() {
            return 0;
        }
        let room = self.send_window().saturating_sub(self.in_flight()).min(self.window.usable());
        if room > 0 && self.pacer.blocks(now) { 0 } else { room }
    }

    /// The window of a sender in recovery is its threshold (RFC 6356 §3).
    pub fn share(&self) -> Share {
        let reduces = self.episode.reduces() && self.law.ssthresh() < u64::MAX;
        let window = if reduces { self.law.ssthresh() } else { self.law.cwnd() };
        let window = if self.open { window as f64 / self.mss() as f64 } else { 0.0 };
        let mut share = Share { window, srtt: self.rtt.srtt(), ..Share::default() };
        self.law.as_dyn().share(&mut share);
        share
    }

    pub fn on_siblings(&mut self, all: &[Share], me: usize) {
        self.law.tell(|cc| cc.on_siblings(all, me));
        self.update_pacing();
    }

    /// Linux halves; here the law answers as to congestion, which is half for most. What recovery governs is left alone.
    pub fn penalise(&mut self, now: Time) {
        if self.episode.phase() != Phase::Open {
            return;
        }
        let cwnd = self.law.cwnd();
        if cwnd < self.law.ssthresh() {
            let cwnd = (cwnd / 2).max(self.mss());
            self.law.tell(|cc| cc.on_restart(&RestartEvent { now, cwnd, ssthresh: 0 }));
        } else {
            let flight_size = self.window.flight_size();
            let (signal, srtt, min_rtt) = (Signal::Ecn, self.rtt.srtt(), self.rtt.min_rtt());
            self.law.tell(|cc| cc.on_congestion(&CongestionEvent { now, signal, flight_size, srtt, min_rtt }));
        }
        self.update_pacing();
    }

    /// What is out is sent again, as after a timeout for data that had one before.
    pub fn retry(&mut self, now: Time) {
        if matches!(self.timer.kind, Kind::Rto | Kind::Probe | Kind::Reorder) && !self.board.is_empty() {
            self.rtt.clear_backoff();
            self.go_back_n(now, false);
            self.rearm_from(now);
        }
    }
}
