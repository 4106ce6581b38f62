//! Samples that tell nothing of the path.

/// What the law itself sent at less than the path's rate: samples of it are as if the application had limited them.
///
/// The mark holds from when it is set until all that was in flight at its last setting is delivered, as the mark of the
/// delivery-rate estimator.
#[derive(Clone, Debug)]
pub struct Bubble {
    from: u64,
    until: u64,
}

impl Default for Bubble {
    fn default() -> Self {
        Bubble { from: 1, until: 0 }
    }
}

impl Bubble {
    /// What is sent from now on is marked: `delivered` bytes on the connection so far, so many in flight.
    pub fn mark(&mut self, delivered: u64, bytes_in_flight: u64) {
        if delivered > self.until {
            self.from = delivered;
        }
        self.until = delivered + bytes_in_flight;
    }
    /// Whether a packet is marked that was sent when so many bytes had been delivered.
    pub fn covers(&self, prior_delivered: u64) -> bool {
        (self.from..=self.until).contains(&prior_delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marked at 10 delivered with 5 in flight, again at 12 with 4: what was sent at 10 to 16 delivered.
    #[test]
    fn a_bubble_lasts_until_it_is_delivered() {
        let mut bubble = Bubble::default();
        assert!(!bubble.covers(0) && !bubble.covers(1));
        for (delivered, bytes_in_flight) in [(10, 5), (12, 4)] {
            bubble.mark(delivered, bytes_in_flight);
        }
        assert_eq!((0..30).filter(|&d| bubble.covers(d)).collect::<Vec<_>>(), (10..=16).collect::<Vec<_>>());
        bubble.mark(20, 1);
        assert!(!bubble.covers(16) && bubble.covers(20));
    }
}
