//! Windowed filters: the largest of the last steps of a count, the smallest of the last time.

use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Largest value over the last steps of some count (rounds, cycles), the current one included; at most N of them.
#[derive(Clone, Debug)]
pub struct MaxFilter<const N: usize> {
    /// Step and largest value in it.
    slots: [(u64, f64); N],
    largest: f64,
}

impl<const N: usize> Default for MaxFilter<N> {
    fn default() -> Self {
        MaxFilter { slots: [(0, 0.0); N], largest: 0.0 }
    }
}

impl<const N: usize> MaxFilter<N> {
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
pub struct MinWindow {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest of a window, found by looking at all of it.
    #[test]
    fn the_filter_is_the_maximum_of_the_window() {
        let mut filter = MaxFilter::<10>::default();
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
}
