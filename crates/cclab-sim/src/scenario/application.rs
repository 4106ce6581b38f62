//! `traffic` of a TCP flow: an application that does not always have something to send.

use super::background::{WITH_MEAN, read_size};
use super::quantity::{Integer, POSITIVE_RATE, POSITIVE_TIME, SIZE, Sizes, TIME, Words};
use super::reader::{Kind as _, Table};
use crate::app::config::Application;
use crate::app::workload::{self, Variate};
use crate::measure::budget;
use cclab_algo::Duration;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    OnOff,
    Cbr,
    Chunks,
    Requests,
}
const KINDS: Words<Kind> =
    Words(&[("onoff", Kind::OnOff), ("cbr", Kind::Cbr), ("chunks", Kind::Chunks), ("requests", Kind::Requests)]);

/// How times are distributed of which a mean is written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Spread {
    Constant,
    Exponential,
    Pareto,
}
const SPREADS: Words<Spread> =
    Words(&[("constant", Spread::Constant), ("exponential", Spread::Exponential), ("pareto", Spread::Pareto)]);

/// Mean length of a burst and of a silence, unless the flow says otherwise.
const HALF_A_SECOND: Duration = Duration::from_millis(500);
/// Bytes of a write: up to what a host hands over at once.
const WRITE: Sizes = Sizes { min: 1, max: 1 << 30 };
const COUNT: Integer = Integer { min: 1, max: 1_000_000_000 };

/// How the times of `t` are distributed, and with which tail index.
fn read_spread(t: &mut Table, default: Spread) -> (Spread, f64) {
    let spread = t.or("distribution", &SPREADS, default);
    let shape = if spread == Spread::Pareto { t.or("shape", &WITH_MEAN, 1.5) } else { f64::NAN };
    (spread, shape)
}

/// A distribution with this mean.
fn with_mean(mean: Duration, (spread, shape): (Spread, f64)) -> Variate {
    let mean = mean.as_secs_f64();
    match spread {
        Spread::Constant => Variate::Fixed(mean),
        Spread::Exponential => Variate::Exponential { mean },
        Spread::Pareto => Variate::Pareto { min: mean * (shape - 1.0) / shape, shape },
    }
}

/// `on` and `off`.
pub(super) fn read_bursts(t: &mut Table) -> [Variate; 2] {
    let spread = read_spread(t, Spread::Exponential);
    ["on", "off"].map(|name| with_mean(t.or(name, &POSITIVE_TIME, HALF_A_SECOND), spread))
}

/// `traffic` of a flow whose full segments have `mss` bytes.
pub(super) fn read(t: &mut Table, mss: u32) -> Option<Application> {
    t.raw("traffic")?;
    t.refuse("size", "traffic is given too, which says what is sent; write one of them");
    let mut a = t.table("traffic")?;
    let application = match a.required("kind", &KINDS, "\"onoff\"") {
        Some(Kind::OnOff) if a.raw("rate").is_some() => read_writes(&mut a, mss, true),
        Some(Kind::OnOff) => {
            a.refuse("write", "is for writes at a rate; give rate, e.g. \"1 Mbit/s\"");
            let [on, off] = read_bursts(&mut a);
            Some(Application::Bursts { on, off })
        }
        Some(Kind::Cbr) => read_writes(&mut a, mss, false),
        Some(Kind::Chunks) => read_chunks(&mut a),
        Some(Kind::Requests) => read_requests(&mut a),
        None => {
            a.forgive();
            None
        }
    };
    t.put("traffic", a.finish());
    application
}

/// Notes what contradicts `stop`, and what parts need of memory that come whatever the network does, and wait where it falls behind:
/// those of so many flows that last so long.
pub(super) fn check(t: &Table, application: &Application, flows: u64, stop: Option<Duration>, length: Duration) {
    if stop.is_some() && application.count().is_some() {
        t.mistake("traffic.count", format!("{} is given too; write one of them", t.field("stop")));
    }
    let Some(period) = application.period() else { return };
    let each = ((length.as_secs_f64() / period).round() as u64).min(application.count().unwrap_or(u64::MAX));
    let parts = each.saturating_mul(flows);
    let need = |name, what, advice| {
        t.need(name, parts.saturating_mul(budget::PART), format!("{what} in all flows of the entry"), advice);
    };
    match application {
        Application::Chunks { every, .. } => {
            let every = TIME.write(every);
            need("traffic.every", format!("{every} gives {parts} chunks"), "write a longer time");
        }
        Application::Writes { rate, size, .. } => {
            let (rate, size) = (POSITIVE_RATE.write(rate), WRITE.write(&u64::from(*size)));
            need("traffic.write", format!("{size} at {rate} gives {parts} writes"), "write more at once");
        }
        Application::Bursts { .. } | Application::Requests { .. } => {}
    }
}

fn read_writes(a: &mut Table, mss: u32, in_bursts: bool) -> Option<Application> {
    let rate = a.required("rate", &POSITIVE_RATE, "\"1 Mbit/s\"");
    let size = a.or("write", &WRITE, mss.into()) as u32;
    let bursts = in_bursts.then(|| read_bursts(a));
    Some(Application::Writes { rate: rate?, size, bursts })
}

fn read_chunks(a: &mut Table) -> Option<Application> {
    let size = a.required("size", &SIZE, "\"1 MB\"");
    let every = a.or("every", &POSITIVE_TIME, Duration::from_secs(2));
    let buffer = a.or("buffer", &TIME, every);
    let count = a.optional("count", &COUNT);
    Some(Application::Chunks { size: size?, every, count, buffer })
}

fn read_requests(a: &mut Table) -> Option<Application> {
    let request = a.or("request", &SIZE, 200);
    a.require("response", "write e.g. response = \"50 kB\"");
    let variate = read_size(a, "response");
    let spread = read_spread(a, Spread::Constant);
    let think = with_mean(a.or("think", &TIME, Duration::ZERO), spread);
    let count = a.optional("count", &COUNT);
    let response = workload::Sizes { variate: variate?, cap: SIZE.max, stratified: false };
    Some(Application::Requests { request, response, think, count })
}
