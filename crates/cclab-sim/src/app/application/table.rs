//! The table of applications.

use super::{Application, Task};
use crate::measure::Distribution;
use crate::measure::table::{Names, Text, table};
use cclab_algo::{Duration, Time};

/// The application of a flow whose measured interval is over.
pub(crate) struct Measured<'a> {
    label: &'a str,
    application: &'a Application,
    /// Startup, number of stalls and their length.
    playing: (f64, f64, f64),
}

impl Application {
    /// What is measured up to `end` or until its flow was over.
    pub(in crate::app) fn measured<'a>(&'a self, label: &'a str, end: Time) -> Measured<'a> {
        let playing = match &self.task {
            Task::Chunks { player, .. } => {
                let (stalls, stalled) = player.stalls(end);
                (player.startup().map_or(f64::NAN, Duration::as_secs_f64), stalls as f64, stalled.as_secs_f64())
            }
            _ => (f64::NAN, f64::NAN, f64::NAN),
        };
        Measured { label, application: self, playing }
    }
}

table! {
    /// One row per TCP flow whose application pauses (`traffic`), over the flow's measured interval. Parts are the bursts, writes,
    /// chunks or responses of its stream.
    "applications": Applications of ApplicationRow from a, &Measured<'_>;

    /// Name of the flow.
    label: Text, "" = a.label;
    /// What it does: `onoff`, `cbr`, `chunks` or `requests`.
    kind: Names, "" = a.application.kind;
    /// Parts that were complete: their last byte was received in order.
    completed: Vec<u64>, "1" = a.application.meter.completion.count();
    /// Parts that had been written and had not all arrived at the end.
    incomplete: Vec<u64>, "1" = a.application.under_way.len() as u64;
    /// Of those that were complete, from the beginning (first byte written, of a response its request) to the last byte received
    /// in order.
    completion: Vec<Distribution>, "s" = a.application.meter.completion.summary();
    /// Of chunks: from the start of the flow until they were first played, whole run; NaN where they were not.
    startup_s: Vec<f64>, "s" = a.playing.0;
    /// Of chunks: times that the player ran out of them.
    stalls: Vec<f64>, "1" = a.playing.1;
    /// Of chunks: how long it waited then, in all.
    stalled_s: Vec<f64>, "s" = a.playing.2;
}
