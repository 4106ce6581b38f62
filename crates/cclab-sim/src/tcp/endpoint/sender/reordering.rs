//! How far out of order the path delivers (Linux `tcp_check_sack_reordering`, which only raises it, and
//! `tcp_check_reno_reordering`).

use super::super::super::Config;
use super::Sender;
use cclab_algo::params::Flavour;

/// The duplicate threshold as it has adapted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    degree: u32,
    /// How often something came late.
    seen: u32,
}

impl Reordering {
    pub fn new(config: &Config) -> Reordering {
        Reordering { degree: config.dupthresh, seen: 0 }
    }

    /// So late segments came on an earlier connection.
    pub fn recall(&mut self, degree: u32) {
        if degree > 0 {
            self.degree = degree;
        }
    }

    /// So many segments SACKed above one mean that it is lost.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// How often the path was seen to reorder.
    pub fn seen(&self) -> u32 {
        self.seen
    }

    /// Without SACK, so many segments were too few for the duplicate ACKs: the path may reorder all of them, and no more.
    /// RFC 5681 §3.2 asks for `dupthresh` also where fewer are out, unlike Linux.
    fn see_reno(&mut self, segments: u32, config: &Config) {
        self.seen += 1;
        self.degree = segments.min(config.max_reordering).max(config.dupthresh);
    }

    /// A segment came so many late, of which `max` count.
    fn see(&mut self, segments: u64, max: u32) {
        self.seen += 1;
        let segments = segments.min(max.into()) as u32;
        self.degree = self.degree.max(segments);
    }

    /// A timeout although `sacked` segments were SACKed: the path reorders less than that (Linux `tcp_enter_loss`).
    pub fn doubt(&mut self, dupthresh: u32, sacked: u32) {
        if sacked >= dupthresh {
            self.degree = self.degree.min(dupthresh);
        }
    }
}

impl Sender {
    /// Without SACK, `told` duplicate ACKs may be no more than what is out beside what is lost, or the path reorders: how many of
    /// them count, once `acked` segments were acknowledged (Linux `tcp_check_reno_reordering`).
    pub(super) fn limit_reno_sacks(&mut self, told: u32, acked: u32) -> u32 {
        let out = self.board.out().segments;
        let most = out - self.board.lost().segments.max(1).min(out);
        if told > most && self.config.flavour == Flavour::Linux {
            self.reordering.see_reno(out + acked, &self.config);
            return most;
        }
        told
    }

    /// What begins at `low` was delivered after something sent later: the path reorders, so far at least.
    pub(super) fn see_reordering(&mut self, low: u64) {
        let top = self.board.sacked_top();
        let high = match self.board.sacked().segments {
            0 => self.window.una(),
            _ if top == self.board.tail() => self.window.nxt(),
            _ => self.board.get(top).seq,
        };
        if low < high {
            self.rack.see_reordering();
            self.reordering.see((high - low).div_ceil(self.mss()), self.config.max_reordering);
        }
    }
}
