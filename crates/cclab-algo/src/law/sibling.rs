//! What the subflows of one connection may know of each other.

use crate::units::{Duration, Rate};

/// A subflow as its siblings see it: a snapshot, taken after whatever happened to it last.
///
/// Coupled laws read these and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Window in segments; the slow-start threshold while recovery governs sending (RFC 6356 §3). 0 where the subflow cannot be
    /// used: not established yet, failed, or closed.
    pub window: f64,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// What the law itself estimates the path to carry, if it does.
    pub bandwidth: Option<Rate>,
    /// Whether the law has left its start-up: its estimate stands.
    pub steady: bool,
    /// Segments delivered between its last two losses, or since the last if those are more (OLIA's l); 0 where the law does not count.
    pub between_losses: f64,
}

impl Share {
    /// Whether data may flow on it.
    pub fn is_usable(&self) -> bool {
        self.window > 0.0
    }
    /// Window over RTT, in segments per second; 0 before the first sample.
    pub fn rate(&self) -> f64 {
        if self.srtt == Duration::ZERO { 0.0 } else { self.window / self.srtt.as_secs_f64() }
    }
    /// Those of `all` that count for number `me`: usable, with an RTT, itself among them. `None` where it would be alone: then its
    /// law is that of a single path.
    pub fn coupled(all: &[Share], me: usize) -> Option<impl Iterator<Item = &Share> + Clone> {
        let counts = |share: &&Share| share.rate() > 0.0;
        let several = all.get(me).is_some_and(|own| own.rate() > 0.0) && all.iter().filter(counts).count() > 1;
        several.then(|| all.iter().filter(counts))
    }
}
