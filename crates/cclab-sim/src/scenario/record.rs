//! `[record]`: what is kept beside the summary.

use super::quantity::{Flag, Or, POSITIVE_TIME, Sizes, Times, Words};
use super::reader::{Kind, Mistakes, Table, show};
use super::{Capture, Point, Record, Sampling};
use crate::measure::budget;
use cclab_algo::Duration;
use serde_json::{Value as Json, json};

pub(super) const POINTS: Words<Point> =
    Words(&[("sender", Point::Sender), ("receiver", Point::Receiver), ("air", Point::Air)]);
const SNAPLEN: Or<Sizes> = Or("all", Sizes { min: 40, max: 65_535 });
/// Unless asked otherwise: every 100 ms, or a thousand samples a flow when that is less often.
const INTERVAL: Duration = Duration::from_millis(100);

/// When to sample.
struct Samples;
const SPAN: Times = POSITIVE_TIME;

impl Kind for Samples {
    type Value = Sampling;
    fn read(&self, json: &Json) -> Result<Sampling, String> {
        match json.as_str() {
            Some("off") => Ok(Sampling::Off),
            Some("change") => Ok(Sampling::OnChange),
            Some(text) if !text.contains(char::is_numeric) => {
                Err(format!("unknown \"{text}\"; write an interval, e.g. \"100 ms\", or \"off\" or \"change\""))
            }
            _ => SPAN.read(json).map(Sampling::Every),
        }
    }
    fn write(&self, value: &Sampling) -> Json {
        match value {
            Sampling::Off => json!("off"),
            Sampling::OnChange => json!("change"),
            Sampling::Every(d) => SPAN.write(d),
        }
    }
}

/// What is kept of packets.
#[derive(Clone, Copy, PartialEq)]
enum Packets {
    No,
    Table,
    Capture,
}

impl Kind for Packets {
    type Value = Packets;
    fn read(&self, json: &Json) -> Result<Packets, String> {
        match json {
            Json::Bool(false) => Ok(Packets::No),
            Json::Bool(true) => Ok(Packets::Table),
            Json::String(s) if s == "table" => Ok(Packets::Table),
            Json::String(s) if s == "pcapng" => Ok(Packets::Capture),
            _ => Err(format!("{} is not one of false, true, \"table\", \"pcapng\"", show(json))),
        }
    }
    fn write(&self, value: &Packets) -> Json {
        match value {
            Packets::No => json!(false),
            Packets::Table => json!("table"),
            Packets::Capture => json!("pcapng"),
        }
    }
}

/// Reads `[record]` of a run of this length, where that is known.
pub(super) fn read(t: &mut Table, duration: Option<Duration>) -> Record {
    let mut r = t.table_or_empty("record");
    let length = duration.unwrap_or_default();
    let samples = r.or("samples", &Samples, Sampling::Every(INTERVAL.max(length / 1000)));
    let packets = r.or("packets", &Packets::No, Packets::No);
    let frames = r.or("frames", &Flag, false);
    let capture = (packets == Packets::Capture).then(|| Capture {
        point: r.or("point", &POINTS, Point::Sender),
        snaplen: r.or("snaplen", &SNAPLEN, None).map(|n| n as u32),
    });
    for name in ["point", "snaplen"] {
        if capture.is_none() && r.raw(name).is_some() {
            r.mistake(name, format!("only for a capture: write {} = \"pcapng\" too", r.field("packets")));
        }
    }
    t.put("record", r.finish());
    Record { samples, packets: packets == Packets::Table, frames, capture }
}

/// Notes that there is no air to capture.
pub(super) fn check_point(record: &Record, on_air: bool, mistakes: &Mistakes) {
    if !on_air && record.capture.is_some_and(|capture| capture.point == Point::Air) {
        mistakes.add("record.point", "\"air\" is for stations, and there are none; write \"sender\" or \"receiver\"");
    }
}

/// Notes what samples at an interval need of memory.
pub(super) fn need_samples(record: &Record, length: Duration, flows: usize, links: usize, mistakes: &Mistakes) {
    let Sampling::Every(interval) = record.samples else { return };
    let samples = length.0 / interval.0 + 1;
    let at_once = flows as u64 * budget::SAMPLE + links as u64 * budget::SMALL_SAMPLE;
    let interval = SPAN.write(&interval);
    let what = format!("{interval} gives {samples} samples of each flow and link ({flows} and {links})");
    mistakes.need("record.samples", samples.saturating_mul(at_once), what, "write a longer interval, or \"off\"");
}
