//! What the laws by a model of the path measure alike: rounds, largest values, and samples that tell nothing.

use super::AckEvent;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Largest value over the last steps of some count (rounds, cycles), the current one included; at most N of them.
#[derive(Clone, Debug)]
pub(super) struct MaxFilter<const N: usize> {
    /// Step and largest value in it.
    slots: [(u64, f64); N],
    largest: f64,
}

impl<const N: usize> MaxFilter<N> {
    pub fn new() -> Self {
        MaxFilter { slots: [(0, 0.0); N], largest: 0.0 }
    }

    /// Takes in a value of step `now`, and forgets what is `window` steps old. Only a value makes older ones old.
    pub fn update(&mut self, now: u64, value: f64, window: u64) {
        let slot = &mut self.slots[(now % N as u64) as usize];
        if slot.0 == now && slot.1 >= value {
            return;
        }
        *slot = (now, value);
        let recent = self.slots.iter().filter(|(step, _)| step + window > now);
        self.largest = recent.fold(0.0, |largest, (_, value)| value.max(largest));
    }

    /// The largest.
    pub fn get(&self) -> f64 {
        self.largest
    }
}

/// Smallest value of a window of time whose length may change; where two come within 1/32 of it, the smaller stands for both.
#[derive(Clone, Debug, Default)]
pub(super) struct MinWindow {
    /// When and what, both growing.
    values: VecDeque<(Time, Duration)>,
}

impl MinWindow {
    /// Takes in a value, and forgets what is older than `window`; what is smallest now.
    pub fn update(&mut self, now: Time, value: Duration, window: Duration) -> Duration {
        while self.values.back().is_some_and(|&(_, last)| last >= value) {
            self.values.pop_back();
        }
        if self.values.back().is_none_or(|&(at, _)| now.since(at).0 > window.0 / 32) {
            self.values.push_back((now, value));
        }
        while self.values.len() > 1 && now.since(self.values[0].0) > window {
            self.values.pop_front();
        }
        self.values[0].1
    }
}

/// Packet-timed round trips: one is over when something is delivered that was sent after it began.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// Rounds so far.
    pub count: u64,
    /// The last ACK began one.
    pub start: bool,
    /// The round is over when something sent at this many bytes delivered, or later, is delivered.
    next: u64,
}

impl Rounds {
    /// An ACK that delivered something.
    pub fn on_ack(&mut self, ev: &AckEvent) {
        self.start = ev.prior_delivered >= self.next;
        if self.start {
            self.count += 1;
            self.next = ev.delivered;
        }
    }
    /// A round begins now, `delivered` bytes into the connection.
    pub fn begin(&mut self, delivered: u64) {
        self.next = delivered;
    }
}

/// What the law itself sent at less than the path's rate: samples of it are as if the application had limited them.
///
/// The mark holds from when it is set until all that was in flight at its last setting is delivered, as the mark of the
/// delivery-rate estimator.
#[derive(Clone, Debug)]
pub(super) struct Bubble {
    from: u64,
    until: u64,
}

impl Bubble {
    pub fn new() -> Self {
        Bubble { from: 1, until: 0 }
    }
    /// What is sent from this ACK on is marked.
    pub fn mark(&mut self, ev: &AckEvent) {
        if ev.delivered > self.until {
            self.from = ev.delivered;
        }
        self.until = ev.delivered + ev.bytes_in_flight;
    }
    /// Whether a packet is marked that was sent when so many bytes had been delivered.
    pub fn covers(&self, prior_delivered: u64) -> bool {
        (self.from..=self.until).contains(&prior_delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest of a window, found by looking at all of it.
    #[test]
    fn the_filter_is_the_maximum_of_the_window() {
        let mut filter = MaxFilter::<10>::new();
        let values: Vec<f64> = (0..200_u32).map(|k| f64::from(k * 7919 % 101)).collect();
        for (k, &value) in values.iter().enumerate() {
            filter.update(k as u64 / 2, value, 10);
            let from = (k / 2).saturating_sub(9) * 2;
            assert_eq!(filter.get(), values[from..=k].iter().copied().fold(0.0, f64::max), "{k}");
        }
    }

    /// The smallest of a window: never below it, and never above it but for what 1/32 of the window decides.
    #[test]
    fn the_minimum_of_a_time_window() {
        let mut minimum = MinWindow::default();
        let values: Vec<u64> = (0..2000_u64).map(|k| 1000 + k * 7919 % 1009).collect();
        let smallest = |from: usize, to: usize| values[from..to].iter().copied().min().unwrap();
        for (k, &value) in values.iter().enumerate() {
            let found = minimum.update(Time(k as u64), Duration(value), Duration(320)).0;
            assert!(found >= smallest(k.saturating_sub(320), k + 1), "{k}");
            assert!(found <= smallest(k.saturating_sub(320 - 11), k + 1), "{k}");
        }
        assert!(minimum.values.len() <= 34);
    }

    /// Eight packets, two in flight at a time: each second ACK begins a round.
    #[test]
    fn a_round_is_a_window() {
        let mut rounds = Rounds::default();
        let began = (1..=8_u64).map(|k| {
            rounds.on_ack(&AckEvent { delivered: k, prior_delivered: k.saturating_sub(2), ..AckEvent::default() });
            rounds.start
        });
        assert_eq!(began.collect::<Vec<_>>(), [true, false, true, false, true, false, true, false]);
    }

    /// Marked at 10 delivered with 5 in flight, again at 12 with 4: what was sent at 10 to 16 delivered.
    #[test]
    fn a_bubble_lasts_until_it_is_delivered() {
        let mut bubble = Bubble::new();
        assert!(!bubble.covers(0) && !bubble.covers(1));
        for (delivered, bytes_in_flight) in [(10, 5), (12, 4)] {
            bubble.mark(&AckEvent { delivered, bytes_in_flight, ..AckEvent::default() });
        }
        assert_eq!((0..30).filter(|&d| bubble.covers(d)).collect::<Vec<_>>(), (10..=16).collect::<Vec<_>>());
        bubble.mark(&AckEvent { delivered: 20, bytes_in_flight: 1, ..AckEvent::default() });
        assert!(!bubble.covers(16) && bubble.covers(20));
    }
}
