//! The one timer that retransmission, tail probe, reordering and zero-window probe share, as in Linux:
//! at any time only one of them is due next.

use cclab_algo::Time;

/// What the timer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    #[default]
    Off,
    /// Retransmission timeout.
    Rto,
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
