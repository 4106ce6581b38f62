//! The queue `fq` of a host: what leaves does so no earlier than TCP's pacing rate lets it.

use crate::tcp::memory::{BELOW_DISTRIBUTED, largest};
use crate::tcp::{Info, Tso};
use crate::wire::Segment;
use cclab_algo::{Duration, Rate, Time};

/// The first segments of a connection are not charged.
const UNPACED: u64 = 10;

/// When a connection's packets may leave (Linux `tcp_update_skb_after_send`, which says it, and `fq_dequeue`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FairQueue {
    next: Time,
    /// Segments with data so far.
    segments: u64,
}

impl FairQueue {
    /// `sent` were handed over at `now`; when each leaves. Those of a burst, of half the window at most (Linux `tcp_cwnd_test`), leave
    /// together.
    pub fn take(
        &mut self,
        now: Time,
        sent: &[Segment],
        info: &Info,
        tso: Tso,
        percent: [u64; 2],
    ) -> Vec<(Time, Segment)> {
        let rate = rate(info, percent);
        let joined = |a: &Segment, b: &Segment| a.len > 0 && b.len > 0 && a.seq + u64::from(a.len) == b.seq;
        let mut times = Vec::new();
        for run in sent.chunk_by(joined) {
            let mss = run[0].len.max(1).into();
            let together = tso.segments(rate, info.min_rtt, mss, largest(BELOW_DISTRIBUTED));
            for burst in run.chunks(together.min((info.cwnd / mss / 2).max(1)) as usize) {
                let due = self.leaves(now, burst, rate);
                times.extend(burst.iter().map(|segment| (due, *segment)));
            }
        }
        times
    }

    /// A burst waits for the one before, and makes the next wait; if it comes late, for half as long at least.
    fn leaves(&mut self, now: Time, burst: &[Segment], rate: Option<Rate>) -> Time {
        let due = self.next.max(now);
        let late = due.since(self.next);
        self.next = due;
        let bytes = burst.iter().map(|segment| u64::from(segment.len)).sum();
        self.segments += burst.iter().filter(|segment| segment.len > 0).count() as u64;
        if let Some(rate) = rate.filter(|_| bytes > 0 && self.segments >= UNPACED) {
            let gap = rate.time_for(bytes);
            self.next += gap - late.min(gap / 2);
        }
        due
    }
}

/// 2 W/srtt, and 1.2 W/srtt from ssthresh/2 on (Linux `tcp_update_pacing_rate`), or another `percent`. `None`: not known, or the sender paces.
fn rate(info: &Info, percent: [u64; 2]) -> Option<Rate> {
    let srtt = info.srtt.filter(|&srtt| info.pacing_rate.is_none() && srtt > Duration::ZERO)?;
    let percent = percent[usize::from(info.cwnd >= info.ssthresh / 2)];
    Rate::of(info.cwnd.max(info.snd_nxt - info.snd_una) * percent / 100, srtt)
}
