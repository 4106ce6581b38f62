//! The wall clock, as the time of a run.

use crate::sys;
use cclab_algo::{Duration, Time};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{Expiration, TimerFd, TimerSetTimeFlags};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Time since the start of a run, by the monotonic clock, without the time that the machine stood still. All clones are one clock.
#[derive(Clone, Debug)]
pub struct Clock {
    origin: Arc<AtomicU64>,
}

impl Clock {
    /// A run that starts in so many nanoseconds.
    pub fn starting_in(ns: u64) -> Clock {
        Clock { origin: Arc::new((sys::monotonic_ns() + ns).into()) }
    }

    /// Now; before the start it is zero. It goes back by what is left out.
    pub fn now(&self) -> Time {
        Time(sys::monotonic_ns().saturating_sub(self.origin.load(Relaxed)))
    }

    /// Leaves out so much: it shows that much less from now on.
    pub fn leave_out(&self, stop: Duration) {
        self.origin.fetch_add(stop.0, Relaxed);
    }

    /// Sets `timer` to go off at `time`, or never.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn arm(&self, timer: &TimerFd, time: Time) -> io::Result<()> {
        if time == Time::NEVER {
            return Ok(timer.unset()?);
        }
        let at = self.origin.load(Relaxed).saturating_add(time.0);
        let at = TimeSpec::new((at / 1_000_000_000) as i64, (at % 1_000_000_000) as i64);
        Ok(timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_left_out_of_all_clones() {
        let clock = Clock::starting_in(0);
        while clock.now() == Time::ZERO {}
        clock.clone().leave_out(Duration::from_secs(3600));
        assert_eq!(clock.now(), Time::ZERO);
    }
}
