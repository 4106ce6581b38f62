//! What the path takes (RFC 1191, RFC 8201): segments shrink, and what is out and too long is sent again.

use super::Sender;
use cclab_algo::Time;
use cclab_algo::cc::{Phase, RestartEvent};
use cclab_algo::params::Flavour;

impl Sender {
    /// What the path takes of a segment, options included.
    pub fn path_mss(&self) -> u32 {
        self.path_mss
    }

    /// The path takes segments of `longest` bytes, options included, which is `mss` of payload, and no longer ones.
    ///
    /// The window has as many segments as before: what is lost is not lost to congestion (RFC 1191 §6.4, which goes on that the
    /// retransmission should begin with slow start), and shorter segments are a smaller window already (Linux
    /// `tcp_simple_retransmit`). There is nothing to undo.
    #[cold]
    pub fn on_path_mss(&mut self, now: Time, longest: u32, mss: u32) {
        self.path_mss = longest;
        if mss >= self.mss {
            return;
        }
        let before = std::mem::replace(&mut self.mss, mss);
        if !self.open {
            return;
        }
        debug_assert!(self.standby.is_none(), "an interface that is away has no path");
        let cut = self.board.cut(mss);
        self.law.resize(now, before, mss, self.rate.delivered(), self.board.marked_lost());
        if !cut {
            return;
        }
        self.rack.renumber(&self.board);
        self.probe.forget();
        self.frto.end();
        let quiet = matches!(self.episode.phase(), Phase::Open | Phase::Disorder);
        if quiet && self.config.flavour == Flavour::Linux && !self.law.governs_recovery() {
            // Three quarters of the window are remembered, as where it was not used (`tcp_current_ssthresh`).
            let (cwnd, mss) = (self.law.cwnd(), self.mss());
            let ssthresh = self.law.ssthresh().max((cwnd / mss / 2 + cwnd / mss / 4) * mss);
            self.law.tell(|cc| cc.on_restart(&RestartEvent { now, cwnd, ssthresh }));
        }
        self.episode.enter_resend(self.window.nxt());
        self.tell_losses(now);
        self.rearm(now);
    }
}
