//! A player of chunks that come while it plays.

use cclab_algo::{Duration, Time};

/// It plays chunks of `every` each, in order, as soon as it has `buffer` of them; when it has played all that has come it stalls
/// until it has as much again.
pub(super) struct Player {
    every: Duration,
    buffer: Duration,
    state: State,
    /// From the start of the flow until it first played.
    startup: Option<Duration>,
    measured_from: Time,
    stalls: u64,
    stalled: Duration,
}

#[derive(Clone, Copy)]
enum State {
    /// It waits since then, and has so much.
    Waits(Time, Duration),
    /// It has enough until then.
    Plays(Time),
    /// Nothing more will come, or is looked at.
    Over,
}

impl Player {
    pub(super) fn new(every: Duration, buffer: Duration, start: Time) -> Player {
        let state = State::Waits(start, Duration::ZERO);
        Player { every, buffer, state, startup: None, measured_from: start, stalls: 0, stalled: Duration::ZERO }
    }

    /// A chunk has come, the last of all or not.
    pub(super) fn take(&mut self, now: Time, last: bool) {
        let (since, held) = match self.state {
            State::Plays(until) if until >= now => {
                self.state = if last { State::Over } else { State::Plays(until + self.every) };
                return;
            }
            State::Plays(until) => (until, Duration::ZERO),
            State::Waits(since, held) => (since, held),
            State::Over => return,
        };
        let held = held + self.every;
        if held < self.buffer && !last {
            self.state = State::Waits(since, held);
            return;
        }
        match self.startup {
            None => self.startup = Some(now.since(since)),
            Some(_) => self.note_stall(since, now),
        }
        self.state = if last { State::Over } else { State::Plays(now + held) };
    }

    fn note_stall(&mut self, from: Time, to: Time) {
        let from = from.max(self.measured_from);
        if to > from {
            self.stalls += 1;
            self.stalled += to.since(from);
        }
    }

    /// The measured interval begins.
    pub(super) fn begin_measuring(&mut self, now: Time) {
        (self.measured_from, self.stalls, self.stalled) = (now, 0, Duration::ZERO);
    }

    /// The measured interval ends; a stall that lasts is counted up to here.
    pub(super) fn end(&mut self, now: Time) {
        (self.stalls, self.stalled) = self.stalls(now);
        self.state = State::Over;
    }

    /// Stalls in the measured interval up to `now`, and how long they lasted.
    pub(super) fn stalls(&self, now: Time) -> (u64, Duration) {
        let since = match self.state {
            State::Plays(until) => until,
            State::Waits(since, _) if self.startup.is_some() => since,
            State::Waits(..) | State::Over => now,
        };
        let open = now.since(since.max(self.measured_from));
        (self.stalls + u64::from(open > Duration::ZERO), self.stalled + open)
    }

    /// From the start of the flow until it first played.
    pub(super) fn startup(&self) -> Option<Duration> {
        self.startup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    /// Chunks of 2 s that come at 1, 3, 8, 9 and 11 s, with a buffer of one and of two.
    #[test]
    fn it_plays_stalls_and_plays() {
        let run = |buffer| {
            let mut player = Player::new(SECOND * 2, SECOND * buffer, at(0));
            [1, 3, 8, 9, 11].iter().for_each(|s| player.take(at(*s), false));
            player
        };
        // plays from 1 to 5, stalls to 8, plays to 14
        let player = run(2);
        assert_eq!(player.startup(), Some(SECOND));
        assert_eq!(player.stalls(at(14)), (1, SECOND * 3));
        assert_eq!(player.stalls(at(16)), (2, SECOND * 5), "it stalls again");
        // plays from 3 to 7, stalls to 9, plays to 15
        let player = run(4);
        assert_eq!((player.startup(), player.stalls(at(15))), (Some(SECOND * 3), (1, SECOND * 2)));
    }

    /// What lies before the measured interval is left out, and behind the last chunk nothing stalls.
    #[test]
    fn of_a_stall_the_measured_part_counts() {
        let mut player = Player::new(SECOND, SECOND, at(0));
        player.take(at(0), false);
        player.begin_measuring(at(3));
        player.take(at(5), false); // it has stalled since 1
        assert_eq!(player.stalls(at(5)), (1, SECOND * 2));
        player.take(at(6), true);
        assert_eq!(player.stalls(at(99)), (1, SECOND * 2));
    }

    /// All that there is is played, even if that is less than the buffer.
    #[test]
    fn the_last_chunk_is_enough() {
        let mut player = Player::new(SECOND, SECOND * 9, at(0));
        player.take(at(2), false);
        player.take(at(4), true);
        assert_eq!((player.startup(), player.stalls(at(9))), (Some(SECOND * 4), (0, Duration::ZERO)));
    }
}
