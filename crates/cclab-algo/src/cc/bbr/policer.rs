//! A token-bucket policer: what Linux believes to see where the losses are steady.

use crate::cc::AckEvent;
use crate::units::{Duration, Time};

/// Rounds in an interval, at least and at most.
const POLICER_ROUNDS: std::ops::RangeInclusive<u32> = 4..=16;
/// Share lost, of what was delivered, that makes an interval suspect.
const POLICER_LOSS: f64 = 50.0 / 256.0;
/// Two rates are the same when they differ by no more than this share, or this many bit/s.
const POLICER_RATIO: f64 = 1.0 / 8.0;
const POLICER_DIFFERENCE: f64 = 4000.0;
/// Rounds for which the policer's rate is used.
const POLICER_USE: u32 = 48;

/// Looks for a policer: two intervals in a row, each of four to sixteen rounds from loss to loss, with the same rate of
/// delivery and 20 % loss.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// What it lets through, bit/s, once that is believed.
    pub rate: Option<f64>,
    sampling: bool,
    rounds: u32,
    /// Rate of the interval before, bit/s.
    previous: Option<f64>,
    began: Time,
    began_delivered: u64,
    began_lost: u64,
    /// As of the last sample.
    lost: u64,
}

impl Policer {
    fn begin_interval(&mut self, ev: &AckEvent) {
        self.began = ev.now;
        self.began_delivered = ev.delivered;
        self.began_lost = ev.lost;
        self.rounds = 0;
    }

    fn start_over(&mut self, ev: &AckEvent) {
        self.rate = None;
        self.previous = None;
        self.sampling = false;
        self.begin_interval(ev);
    }

    /// The losses were none.
    pub fn forget(&mut self) {
        *self = Policer { lost: self.lost, ..Policer::default() };
    }

    /// Takes in a sample; whether its rate was in use for long enough, so that BtlBw is to be probed for again.
    pub fn on_sample(&mut self, ev: &AckEvent, round_start: bool, app_limited: bool, probing_bw: bool) -> bool {
        let loss = ev.lost > std::mem::replace(&mut self.lost, ev.lost);
        if self.rate.is_some() {
            self.rounds += u32::from(probing_bw && round_start);
            let enough = self.rounds >= POLICER_USE;
            if enough {
                self.start_over(ev);
            }
            return enough;
        }
        if !self.sampling {
            if !loss {
                return false;
            }
            self.begin_interval(ev);
            self.sampling = true;
        }
        if app_limited {
            self.start_over(ev);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < *POLICER_ROUNDS.start() {
            return false;
        }
        if self.rounds > *POLICER_ROUNDS.end() {
            self.start_over(ev);
            return false;
        }
        if loss {
            self.end_interval(ev);
        }
        false
    }

    fn end_interval(&mut self, ev: &AckEvent) {
        let (lost, delivered) = (ev.lost - self.began_lost, ev.delivered - self.began_delivered);
        let took = ev.now.since(self.began);
        if delivered == 0 || (lost as f64) < POLICER_LOSS * delivered as f64 || took < Duration::from_millis(1) {
            return;
        }
        let rate = delivered as f64 * 8.0 / took.as_secs_f64();
        if let Some(previous) = self.previous {
            let difference = (rate - previous).abs();
            if difference <= POLICER_RATIO * previous || difference <= POLICER_DIFFERENCE {
                self.rate = Some((rate + previous) / 2.0);
                self.rounds = 0;
                return;
            }
        }
        self.previous = Some(rate);
        self.begin_interval(ev);
    }
}
