//! RACK: what was sent a reordering window before something delivered, and is not delivered itself, is
//! lost (RFC 8985 §6; Linux `tcp_recovery.c`).
//!
//! Segments are examined in the order of their last transmission. First transmissions are in the order of
//! the scoreboard, so a cursor over it serves for them; retransmissions wait in a queue of their own. Each
//! is looked at once per transmission.

use super::super::timestamp;
use super::scoreboard::{Scoreboard, Sent, Skip};
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// Recoveries without a DSACK after which the reordering window shrinks again (RFC 8985 §6.2).
const PERSIST: u32 = 16;

/// State of the detector.
#[derive(Debug)]
pub(super) struct Rack {
    /// The most recently sent segment delivered: number of that transmission, when, and its end. (The RFC
    /// orders by time and sequence number, for want of the exact order.)
    newest: (u64, Time, u64),
    /// Whether that was a retransmission.
    newest_again: bool,
    /// RTT of the last segment delivered.
    rtt: Duration,
    /// Something was delivered since the last look.
    advanced: bool,
    /// A segment was delivered after one sent later.
    reordering_seen: bool,
    /// The reordering window in quarters of min_rtt.
    steps: u64,
    persist: u32,
    dsack_seen: bool,
    /// `delivered` when `steps` last changed: once per round trip.
    adjusted_at: u64,
    /// No first transmission below it is in flight.
    cursor: u64,
    /// Retransmissions in the order in which they left: segment and number of the transmission.
    again: VecDeque<(u64, u64)>,
}

/// What a look found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Segments were marked lost.
    pub lost: bool,
    /// Some of them were retransmissions.
    pub retransmission_lost: bool,
    /// The latest of the others is lost if not delivered by then.
    pub look_again: Option<Time>,
}

impl Rack {
    pub fn new() -> Rack {
        Rack {
            newest: (0, Time::ZERO, 0),
            newest_again: false,
            rtt: Duration::ZERO,
            advanced: false,
            reordering_seen: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            adjusted_at: 0,
            cursor: 0,
            again: VecDeque::new(),
        }
    }

    /// A segment was delivered for the first time (RFC 8985 §6.2, step 2). `ts_ecr` is what the ACK echoes, if that is to tell a
    /// retransmission from its original.
    pub fn on_delivered(&mut self, now: Time, sent: &Sent, ts_ecr: Option<u32>, min_rtt: Duration) {
        let rtt = now.since(sent.sent);
        if sent.ever_retransmitted {
            // The original arrived, not this copy: the echo is older, or the answer came too soon.
            let echo_is_older = ts_ecr.is_some_and(|ecr| (ecr.wrapping_sub(timestamp(sent.sent)) as i32) < 0);
            if echo_is_older || rtt < min_rtt {
                return;
            }
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent.order >= self.newest.0 {
            self.newest = (sent.order, sent.sent, sent.end());
            self.newest_again = sent.ever_retransmitted;
        }
    }

    /// What was delivered was sent so much later.
    pub fn shift(&mut self, by: Duration) {
        self.newest.1 += by;
    }

    /// RACK.rtt.
    pub fn rtt(&self) -> Duration {
        self.rtt
    }
    /// Whether something was delivered since it was last asked.
    pub fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }
    /// A segment was delivered after one sent later (RACK.reordering_seen).
    pub fn see_reordering(&mut self) {
        self.reordering_seen = true;
    }
    /// A DSACK came: on a path that reorders, the window was too short.
    pub fn on_dsack(&mut self) {
        self.dsack_seen |= self.reordering_seen;
    }

    /// Segment `i` was retransmitted as transmission number `order`.
    pub fn on_retransmit(&mut self, i: u64, order: u64) {
        self.again.push_back((i, order));
    }

    /// The segments have other numbers.
    pub fn renumber(&mut self, board: &Scoreboard) {
        self.again = board.retransmissions().into();
        self.cursor = 0;
    }

    /// Loss marks were taken back: everything is to be looked at again.
    pub fn start_over(&mut self) {
        self.cursor = 0;
        self.advanced = true;
    }

    /// The reordering window (RFC 8985 §6.2, step 4). `eager`: in recovery, or enough is SACKed.
    pub fn window(&self, eager: bool, min_rtt: Duration, srtt: Duration) -> Duration {
        if !self.reordering_seen && eager {
            return Duration::ZERO;
        }
        Duration(min_rtt.0 / 4 * self.steps).min(srtt)
    }

    /// Marks what is lost. `window` is the reordering window.
    pub fn look(&mut self, now: Time, board: &mut Scoreboard, window: Duration) -> Found {
        let mut found = Found::default();
        let patience = self.rtt + window;
        self.look_at_originals(now, board, patience, &mut found);
        self.look_at_retransmissions(now, board, patience, &mut found);
        found
    }

    fn look_at_originals(&mut self, now: Time, board: &mut Scoreboard, patience: Duration, found: &mut Found) {
        let end = board.tail();
        loop {
            self.cursor = board.scan(self.cursor, end, Skip::Touched);
            if self.cursor >= end {
                return;
            }
            let sent = board.get(self.cursor);
            if sent.order >= self.newest.0 {
                return;
            }
            if sent.sent + patience > now {
                break;
            }
            board.mark_lost(self.cursor);
            found.lost = true;
        }
        // The last one sent before the newest delivered decides when to look again.
        let last = if self.newest_again {
            None
        } else {
            board.scan_back(self.cursor, board.find(self.newest.2 - 1), Skip::Touched)
        };
        let sent = last.map_or(self.newest.1, |i| board.get(i).sent);
        found.look_again = Some(sent + patience);
    }

    fn look_at_retransmissions(&mut self, now: Time, board: &mut Scoreboard, patience: Duration, found: &mut Found) {
        while let Some(&(i, order)) = self.again.front() {
            let gone = i < board.head() || !board.is_retransmitted(i) || board.get(i).order != order;
            if !gone {
                if order >= self.newest.0 {
                    return;
                }
                if board.get(i).sent + patience > now {
                    let by = self.newest.1 + patience;
                    found.look_again = Some(found.look_again.map_or(by, |other| other.max(by)));
                    return;
                }
                board.mark_lost(i);
                found.lost = true;
                found.retransmission_lost = true;
            }
            self.again.pop_front();
        }
    }

    /// DSACKs widen the window, once per round trip (RFC 8985 §6.2, step 4).
    pub fn adapt(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered < self.adjusted_at {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.dsack_seen = false;
            self.steps = (self.steps + 1).min(255);
            self.adjusted_at = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery ended.
    pub fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// The window as a multiple of min_rtt / 4.
    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A DSACK in each of `rounds` round trips.
    fn after_dsacks(rounds: u64) -> Rack {
        let mut rack = Rack::new();
        rack.reordering_seen = true;
        for round in 1..=rounds {
            rack.dsack_seen = true;
            rack.adapt(round, round);
        }
        rack
    }

    /// RFC 8985 §6.2 step 4: reo_wnd = min(reo_wnd_mult · min_RTT / 4, SRTT).
    #[test]
    fn the_reordering_window_ends_at_srtt() {
        let (min_rtt, srtt) = (Duration::from_millis(100), Duration::from_millis(130));
        for (rounds, window) in [(0, 25), (1, 50), (3, 100), (4, 125), (5, 130), (50, 130)] {
            assert_eq!(after_dsacks(rounds).window(true, min_rtt, srtt), Duration::from_millis(window), "{rounds}");
        }
    }

    /// A second DSACK of the same round trip does not count (dsack_round).
    #[test]
    fn one_step_a_round_trip() {
        let mut rack = Rack::new();
        for (prior, delivered, steps) in [(10, 20, 2), (15, 25, 2), (19, 30, 2), (20, 40, 3)] {
            rack.dsack_seen = true;
            rack.adapt(prior, delivered);
            assert_eq!(rack.steps(), steps, "{prior}");
        }
    }

    /// reo_wnd_persist: the sixteenth recovery without a DSACK resets the multiple.
    #[test]
    fn the_window_shrinks_after_sixteen_recoveries() {
        let mut rack = after_dsacks(3);
        for recovery in 1..=16 {
            assert_eq!(rack.steps(), 4, "before recovery {recovery}");
            rack.on_recovered();
            rack.adapt(100, 100);
        }
        assert_eq!(rack.steps(), 1);
    }
}
