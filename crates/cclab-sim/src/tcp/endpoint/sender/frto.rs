//! Forward RTO recovery: whether a timeout was spurious (RFC 5682).

use super::Taken;

/// What F-RTO waits for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frto {
    /// It has not decided yet.
    open: bool,
    /// New data is tried before anything is sent again.
    hold: bool,
}

/// What an ACK after a timeout means to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing, or that the loss is real.
    None,
    /// The timeout was spurious.
    Spurious,
    /// New data is to be tried.
    TryNew,
}

impl Frto {
    /// A timeout begins a test, or `may` not.
    pub fn start(&mut self, may: bool) {
        self.open = may;
    }
    /// It has decided.
    pub fn end(&mut self) {
        *self = Frto::default();
    }
    /// Nothing is held back any more.
    pub fn release(&mut self) {
        self.hold = false;
    }
    /// Retransmissions are held back.
    pub fn holds(&self) -> bool {
        self.hold
    }

    /// `tried`: new data was sent since the timeout; `over`: all is acknowledged; `has_new`: new data could be sent.
    pub fn on_ack(&mut self, taken: &Taken, tried: bool, over: bool, has_new: bool) -> Verdict {
        if !self.open {
            return Verdict::None;
        }
        // What was never sent again arrived: not all was lost (step 3b).
        if taken.original_delivered {
            return Verdict::Spurious;
        }
        if tried {
            // Step 3a: a duplicate ACK came, the loss is real.
            self.open = !(taken.sacked || taken.duplicate);
        } else if taken.acked_bytes > 0 && !over {
            // Step 2b: new data instead of retransmissions.
            *self = Frto { open: has_new, hold: has_new };
            return Verdict::TryNew;
        }
        Verdict::None
    }
}
