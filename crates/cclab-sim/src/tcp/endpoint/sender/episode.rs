//! Where recovery stands: its phase, and what is kept of the episode while it lasts.

use super::prr::Prr;
use super::undo::Undo;
use cclab_algo::Time;
use cclab_algo::cc::Phase;

/// The phase and the episode that it belongs to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Episode {
    phase: Phase,
    /// The next retransmission leaves whatever the window says.
    force: bool,
    /// Duplicate ACKs in a row, without SACK.
    dupacks: u32,
    /// Timeouts since SND.UNA last advanced.
    timeouts: u32,
    /// Segments that duplicate ACKs told of without SACK, and none has acknowledged.
    ahead: u32,
    /// RecoveryPoint (RFC 6675 §5), recover (RFC 6582 §3.2): the episode ends when this is acknowledged.
    high_seq: u64,
    /// RFC 6675's HighRxt, as the number of the segment after it.
    high_rxt: u64,
    rescued: bool,
    /// Window of classic fast recovery, inflated by duplicate ACKs (RFC 5681 §3.2).
    inflated: u64,
    pub prr: Prr,
    pub undo: Undo,
}

impl Episode {
    pub fn new() -> Episode {
        Episode {
            phase: Phase::Open,
            force: false,
            dupacks: 0,
            timeouts: 0,
            ahead: 0,
            high_seq: 0,
            high_rxt: 0,
            rescued: false,
            inflated: 0,
            prr: Prr::default(),
            undo: Undo::default(),
        }
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }
    /// Lost segments are being sent again.
    pub fn repairs(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Loss)
    }
    /// The window is steered to the threshold.
    pub fn reduces(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Cwr)
    }
    /// What ends at `end` was out when the episode began.
    pub fn covers(&self, end: u64) -> bool {
        end <= self.high_seq
    }
    /// Some of what was out when the episode began is not acknowledged.
    pub fn has_more(&self, una: u64) -> bool {
        self.high_seq > una
    }
    /// All that was out when the episode began is acknowledged; for CWR one byte more, so that it reaches the peer.
    pub fn is_over(&self, una: u64) -> bool {
        if self.phase == Phase::Cwr { una > self.high_seq } else { una >= self.high_seq }
    }

    /// Congestion: the window is to go from `prior` to the threshold; `pipe` is in flight.
    pub fn reduce(&mut self, nxt: u64, prior: u64, pipe: u64) {
        self.prr = Prr::new(prior, pipe);
        self.high_seq = nxt;
    }

    /// A reduction that nothing was lost for: the peer reported marks, or a probe repaired the loss.
    pub fn enter_cwr(&mut self) {
        self.phase = Phase::Cwr;
        self.undo.forget();
    }

    /// Fast retransmit begins at segment number `head`; `inflated` is ssthresh + DupThresh segments (RFC 5681 §3.2 step 3).
    pub fn enter_recovery(&mut self, nxt: u64, head: u64, inflated: u64) {
        self.phase = Phase::Recovery;
        self.high_seq = nxt;
        self.force = true;
        self.rescued = false;
        self.high_rxt = head;
        self.inflated = inflated;
    }

    /// Everything is to be sent again.
    pub fn enter_loss(&mut self, nxt: u64) {
        self.phase = Phase::Loss;
        self.high_seq = nxt;
        self.force = true;
        self.dupacks = 0;
    }

    /// Something is to be sent again that congestion is not the reason for; the window admits it or not.
    pub fn enter_resend(&mut self, nxt: u64) {
        if self.phase != Phase::Loss {
            self.phase = Phase::Loss;
            self.high_seq = nxt;
            self.undo.forget();
        }
        self.force = false;
        self.dupacks = 0;
    }

    /// New data went out in between: the episode lasts until that is acknowledged (RFC 5682 §2.1 step 2b).
    pub fn extend(&mut self, nxt: u64) {
        self.high_seq = nxt;
    }

    /// The episode is over. Says which phase it was.
    pub fn leave(&mut self) -> Phase {
        self.force = false;
        self.dupacks = 0;
        std::mem::replace(&mut self.phase, Phase::Open)
    }

    /// A further loss of the same window is a new one (RFC 2581's Reno).
    pub fn allow_again(&mut self, una: u64) {
        self.high_seq = una - 1;
    }

    /// Open, or disorder while something is still missing.
    pub fn settle(&mut self, missing: bool) {
        self.phase = if missing || self.dupacks > 0 { Phase::Disorder } else { Phase::Open };
    }

    /// The reduction was a mistake, and is taken back.
    pub fn on_undo(&mut self) {
        self.undo.forget();
        self.force = false;
        self.dupacks = 0;
    }

    pub fn dupacks(&self) -> u32 {
        self.dupacks
    }
    pub fn set_dupacks(&mut self, dupacks: u32) {
        self.dupacks = dupacks;
    }

    pub fn ahead(&self) -> u32 {
        self.ahead
    }
    pub fn set_ahead(&mut self, ahead: u32) {
        self.ahead = ahead;
    }

    /// cwnd of classic recovery.
    pub fn inflated(&self) -> u64 {
        self.inflated
    }
    /// A segment left the network: another may be sent (RFC 5681 §3.2 step 4).
    pub fn inflate(&mut self, mss: u64) {
        self.inflated = self.inflated.saturating_add(mss);
    }
    /// A partial ACK: the next hole at once, and the window partly deflated (RFC 6582 §3.2 step 5).
    pub fn on_partial_ack(&mut self, acked: u64, mss: u64) {
        self.force = true;
        self.inflated = self.inflated.saturating_sub(acked).max(mss);
        if acked >= mss {
            self.inflate(mss);
        }
    }

    /// Whether the next retransmission leaves whatever the window says.
    pub fn forces(&self) -> bool {
        self.force
    }
    pub fn high_rxt(&self) -> u64 {
        self.high_rxt
    }
    pub fn may_rescue(&self) -> bool {
        !self.rescued
    }
    /// Segment number `i` is sent again.
    pub fn on_retransmit(&mut self, now: Time, i: u64) {
        self.high_rxt = self.high_rxt.max(i + 1);
        self.undo.on_retransmit(now);
    }
    /// A retransmission leaves that the window admits, or that is forced; as a rescue once, and then "HighRxt MUST NOT be
    /// updated" (RFC 6675 §4, rule 4): it was `high_rxt`.
    pub fn on_repair(&mut self, rescue: bool, high_rxt: u64) {
        self.force = false;
        if rescue {
            self.rescued = true;
            self.high_rxt = high_rxt;
        }
    }

    /// The retransmission timer expired; whether it had for the same data before.
    pub fn count_timeout(&mut self) -> bool {
        self.timeouts += 1;
        self.timeouts > 1
    }
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }
    /// SND.UNA advances, or the timeouts were spurious.
    pub fn forget_timeouts(&mut self) {
        self.timeouts = 0;
    }
}
