//! What tells that a reduction was a mistake: Eifel (RFC 3522) and DSACK (RFC 3708).

use super::super::timestamp;
use cclab_algo::Time;

/// What an undo needs to know of the episode.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// SND.UNA when the episode began; zero: nothing to undo.
    marker: u64,
    /// Retransmissions not yet reported as duplicates; `None` before the first.
    unconfirmed: Option<u32>,
    /// When the first retransmission left.
    first: Option<Time>,
}

impl Undo {
    /// An episode begins with `retrans` retransmissions in flight.
    pub fn start(&mut self, una: u64, retrans: u32) {
        self.marker = una;
        self.unconfirmed = (retrans > 0).then_some(retrans);
        if retrans == 0 {
            self.first = None;
        }
    }

    /// There is nothing to undo any more.
    pub fn forget(&mut self) {
        self.marker = 0;
    }

    /// Whether there is something to undo.
    pub fn is_open(&self) -> bool {
        self.marker != 0
    }

    pub fn on_retransmit(&mut self, now: Time) {
        self.first.get_or_insert(now);
        self.unconfirmed = Some(self.unconfirmed.unwrap_or(0) + 1);
    }

    /// A DSACK reported `segments` duplicates that end at `end`, below `una`.
    pub fn on_duplicate(&mut self, segments: u64, end: u64, una: u64) {
        if self.is_open() && end > self.marker && end <= una {
            let segments = u32::try_from(segments).unwrap_or(u32::MAX);
            self.unconfirmed = self.unconfirmed.map(|n| n.saturating_sub(segments));
        }
    }

    /// Every retransmission turned out a duplicate.
    pub fn all_were_duplicates(&self) -> bool {
        self.is_open() && self.unconfirmed == Some(0)
    }

    /// The ACK echoes a timestamp older than the first retransmission.
    pub fn original_arrived(&self, ts_ecr: Option<u32>) -> bool {
        let older = |(ecr, first): (u32, Time)| (ecr.wrapping_sub(timestamp(first)) as i32) < 0;
        ts_ecr.zip(self.first).is_some_and(older)
    }
}
