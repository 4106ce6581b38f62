//! The one timer that retransmission, tail probe, reordering and zero-window probe share, as in Linux:
//! only one of them can be what is due next.

use cclab_algo::Time;

/// What the timer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    #[default]
    Off,
    /// Retransmission timeout.
    Rto,
    /// Tail-loss probe.
    Probe,
    /// What RACK did not yet give up is lost by then.
    Reorder,
    /// Zero-window probe.
    Persist,
    /// The sender stands by: a probe of the route, or it has waited for long enough.
    Standby,
}

/// What is due, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    pub kind: Kind,
    pub at: Time,
}

impl Default for Timer {
    fn default() -> Timer {
        Timer { kind: Kind::Off, at: Time::NEVER }
    }
}
