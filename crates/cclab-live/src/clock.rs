//! The wall clock, as the time of a run.

use crate::sys;
use cclab_algo::Time;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{Expiration, TimerFd, TimerSetTimeFlags};
use std::io;

/// Time since the start of a run, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// A run that starts in so many nanoseconds.
    pub fn starting_in(ns: u64) -> Clock {
        Clock { origin: sys::monotonic_ns() + ns }
    }

    /// Now; before the start it is zero.
    pub fn now(self) -> Time {
        Time(sys::monotonic_ns().saturating_sub(self.origin))
    }

    /// Sets `timer` to go off at `time`, or never.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn arm(self, timer: &TimerFd, time: Time) -> io::Result<()> {
        if time == Time::NEVER {
            return Ok(timer.unset()?);
        }
        let at = self.origin.saturating_add(time.0);
        let at = TimeSpec::new((at / 1_000_000_000) as i64, (at % 1_000_000_000) as i64);
        Ok(timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
    }
}
