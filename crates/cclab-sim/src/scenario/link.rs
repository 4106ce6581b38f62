//! The fields of a link: rate, delay, queue, impairments, changes; and how they become a [`Link`].

use super::flow::FlowSpec;
use super::quantity::{
    Flag, Integer, Name, Or, POSITIVE_RATE, POSITIVE_TIME, Probability, RATE_OR_OUTAGE, Rates, Sizes, TIME, Words,
};
use super::queue::QueueSpec;
use super::reader::{Kind, Mistakes, Table, show};
use super::tunnel::TunnelSpec;
use super::{AppliesTo, Change, Jitter, Link, Loss, LossModel, LossPlace, Reorder};
use crate::net::Trace;
use cclab_algo::{Duration, Rate, Time};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// A link as written; what it leaves open is `None`.
#[derive(Clone)]
pub(super) struct LinkSpec {
    /// `None` is infinitely fast.
    pub(super) rate: Option<Rate>,
    /// `None` follows from the round-trip times of the flows.
    pub(super) delay: Option<Duration>,
    queue: QueueSpec,
    overhead: u64,
    losses: Vec<LossSpec>,
    place: LossPlace,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    duplicate: f64,
    schedule: Vec<Change>,
    followed: Followed,
    pub(super) tunnel: Option<TunnelSpec>,
    /// `loss`, `jitter`, `reorder` and `schedule` in normal form.
    normal: Map<String, Json>,
}

/// What a link follows.
#[derive(Clone)]
pub(super) enum Followed {
    /// Its own rate, delay and changes.
    Nothing,
    /// What a trace says, and its own where that says nothing.
    Trace(Arc<Trace>),
    /// A trace with a mistake in it: nothing else is found wrong for that.
    Unknown,
}

impl Followed {
    /// Reads `trace`; where nothing is written, `unless` it is told.
    pub(super) fn read(t: &mut Table, unless: Followed) -> Followed {
        let followed = match t.peek("trace", &Or(NONE, Name)) {
            Some(None) => Followed::Nothing,
            Some(Some(name)) => {
                let trace = t.traces().and_then(|traces| traces.find(&name, &t.field("trace")));
                trace.map_or(Followed::Unknown, Followed::Trace)
            }
            None if t.raw("trace").is_some() => Followed::Unknown,
            None => unless,
        };
        if let Some(trace) = followed.trace() {
            t.put("trace", json!(trace.name));
        }
        followed
    }

    fn trace(&self) -> Option<&Arc<Trace>> {
        if let Followed::Trace(trace) = self { Some(trace) } else { None }
    }

    /// The rate that it says; else that which `own` reads.
    pub(super) fn rate<'t>(&self, t: &mut Table<'t>, own: impl FnOnce(&mut Table<'t>) -> Option<Rate>) -> Option<Rate> {
        self.field(t, "rate", self.trace().and_then(|trace| trace.rate()).map(Some), UNKNOWN, own)
    }

    /// The delay that it says, at the start; else that which `own` reads.
    pub(super) fn delay<'t>(
        &self,
        t: &mut Table<'t>,
        own: impl FnOnce(&mut Table<'t>) -> Option<Duration>,
    ) -> Option<Duration> {
        self.field(t, "delay", self.says_delay().map(Some), Some(Duration::ZERO), own)
    }

    /// The delay at the start, if it is its matter.
    pub(super) fn says_delay(&self) -> Option<Duration> {
        self.trace().and_then(|trace| trace.delay())
    }

    fn field<'t, T>(
        &self,
        t: &mut Table<'t>,
        name: &'static str,
        said: Option<T>,
        unknown: T,
        own: impl FnOnce(&mut Table<'t>) -> T,
    ) -> T {
        match (self, said) {
            (Followed::Trace(trace), Some(said)) => {
                t.raw(name);
                t.refuse(name, format!("does not apply: the trace \"{}\" says it", trace.name));
                said
            }
            (Followed::Unknown, _) => {
                t.raw(name);
                unknown
            }
            _ => own(t),
        }
    }
}

/// Reads a rate that has to be there.
pub(super) fn required_rate(t: &mut Table) -> Option<Rate> {
    t.required("rate", &RATE, "\"100 Mbit/s\"").unwrap_or(UNKNOWN)
}

/// A loss as written; flows are known by their labels only once all are read.
#[derive(Clone, Debug)]
struct LossSpec {
    applies_to: AppliesTo,
    model: LossModel,
    /// The label of the flow that a [`LossModel::Named`] is about, and the field that says so.
    flow: Option<(String, String)>,
}

/// What a link needs to know of the scenario: the measures of its BDP, and who is who.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'s> {
    /// The round-trip time of a BDP.
    pub(super) rtt: Duration,
    /// Bytes of the packets of a BDP.
    pub(super) packet: u64,
    /// Index of the flow with this label.
    pub(super) flow: &'s dyn Fn(&str) -> Option<usize>,
    /// The scenario's own seed.
    pub(super) seed: u64,
}

impl Surroundings<'_> {
    /// Those of a link that these flows cross: its packets are theirs. Where none does, those of all.
    pub(super) fn of<'f>(&self, flows: impl Iterator<Item = &'f FlowSpec>) -> Self {
        Surroundings { packet: flows.map(FlowSpec::packet_size).max().unwrap_or(self.packet), ..*self }
    }
}

const UNLIMITED: &str = "unlimited";
pub(super) const RATE: Or<Rates> = Or(UNLIMITED, POSITIVE_RATE);
pub(super) const PLACES: Words<LossPlace> =
    Words(&[("before-queue", LossPlace::BeforeQueue), ("after-link", LossPlace::AfterLink)]);
const EXPONENTIAL: Words<bool> = Words(&[("uniform", false), ("exponential", true)]);
const OVERHEAD: Framing = Framing(Sizes { min: 0, max: 1000 });
/// Bytes of framing: a size, or so many bytes.
struct Framing(Sizes);
impl Kind for Framing {
    type Value = u64;
    fn read(&self, json: &Json) -> Result<u64, String> {
        let bytes = json.as_u64().filter(|n| (self.0.min..=self.0.max).contains(n));
        bytes.map_or_else(|| self.0.read(json), Ok)
    }
    fn write(&self, value: &u64) -> Json {
        json!(value)
    }
}

const ORDINAL: Integer = Integer { min: 1, max: 1_000_000_000_000 };
/// Stands for a rate that was not understood, so that nothing else is found wrong for it.
pub(super) const UNKNOWN: Option<Rate> = Some(Rate(1));

impl LinkSpec {
    /// Infinitely fast and without any limit: what an access link is unless it is told.
    pub(super) fn ideal() -> LinkSpec {
        LinkSpec {
            rate: None,
            delay: Some(Duration::ZERO),
            queue: QueueSpec::before(None),
            overhead: 0,
            losses: Vec::new(),
            place: LossPlace::BeforeQueue,
            jitter: None,
            reorder: None,
            duplicate: 0.0,
            schedule: Vec::new(),
            followed: Followed::Nothing,
            tunnel: None,
            normal: Map::new(),
        }
    }

    /// Reads the fields of a link out of `t`. What it follows, rate and delay are read by the caller.
    pub(super) fn read(t: &mut Table, followed: Followed, rate: Option<Rate>, delay: Option<Duration>) -> LinkSpec {
        let tunnel = TunnelSpec::read(t, rate);
        LinkSpec { rate, delay, followed, tunnel, queue: QueueSpec::before(rate), ..LinkSpec::ideal() }.overridden(t)
    }

    /// Reads `reverse`: what it leaves out is as in the forward direction.
    pub(super) fn read_reverse(&self, t: &mut Table) -> LinkSpec {
        let mut r = t.table_or_empty("reverse");
        r.refuse("tunnel", format!("does not apply: {} is one in both directions", t.field("tunnel")));
        let mut spec = self.clone();
        let (rate, delay) = (r.peek("rate", &RATE), r.peek("delay", &TIME));
        self.read_reverse_trace(&mut spec, &mut r, (rate, delay));
        spec.queue = self.queue.moved(self.rate, spec.rate);
        let changes_own = self
            .schedule
            .iter()
            .any(|c| (rate.is_some() && c.rate.is_some()) || (delay.is_some() && c.delay.is_some()));
        if spec.followed.trace().is_some() && !self.schedule.is_empty() {
            spec.schedule.clear();
            spec.normal.insert("schedule".into(), json!([]));
        }
        if changes_own && r.raw("schedule").is_none() {
            r.mistake("schedule", "missing; the forward direction changes over time and this one differs from it: write its own changes, or [] for none");
        }
        let spec = spec.overridden(&mut r);
        t.put("reverse", r.finish());
        spec
    }

    /// What the reverse direction follows, its rate and its delay.
    fn read_reverse_trace(&self, spec: &mut LinkSpec, r: &mut Table, own: (Option<Option<Rate>>, Option<Duration>)) {
        let (rate, delay) = own;
        let said = |followed: &Followed| {
            let trace = followed.trace();
            (trace.is_some_and(|trace| trace.rate().is_some()), trace.is_some_and(|trace| trace.delay().is_some()))
        };
        let (says_rate, says_delay) = said(&self.followed);
        let differs = (rate.is_some() && says_rate) || (delay.is_some() && says_delay);
        if differs && r.raw("trace").is_none() {
            r.mistake("trace", "missing; the forward direction follows a trace and this one differs from it: write its own, or \"none\"");
            return;
        }
        spec.followed = Followed::read(r, self.followed.clone());
        if spec.followed.trace().is_none() && self.followed.trace().is_some() {
            r.put("trace", json!(NONE));
        }
        let (says_rate_now, says_delay_now) = said(&spec.followed);
        let advice = "the trace of the forward direction says it, and this one follows another or none";
        spec.rate = spec.followed.rate(r, |r| {
            if says_rate {
                r.require("rate", advice);
            }
            rate.unwrap_or(self.rate)
        });
        spec.delay = spec.followed.delay(r, |r| {
            if says_delay {
                r.require("delay", advice);
            }
            delay.or(self.delay)
        });
        if !says_rate_now {
            r.put("rate", RATE.write(&spec.rate));
        }
        if !says_delay_now {
            r.put("delay", spec.delay.map_or(Json::Null, |delay| TIME.write(&delay)));
        }
    }

    /// The delay at the start, where a trace says it.
    pub(super) fn followed_delay(&self) -> Option<Duration> {
        self.followed.says_delay()
    }

    /// This link with what `t` says about everything but rate and delay.
    fn overridden(mut self, t: &mut Table) -> LinkSpec {
        self.read_queue(t);
        self.overhead = t.or("overhead", &OVERHEAD, self.overhead);
        self.duplicate = t.or("duplicate", &Probability, self.duplicate);
        self.read_loss(t);
        self.read_jitter(t);
        self.read_reorder(t);
        self.read_schedule(t);
        for (name, json) in &self.normal {
            t.put(name, json.clone());
        }
        self
    }

    pub(super) fn read_queue(&mut self, t: &mut Table) {
        self.queue = self.queue.clone().overridden(t, self.rate);
    }

    fn read_loss(&mut self, t: &mut Table) {
        if t.raw("loss").is_none() && self.normal.contains_key("loss") {
            return;
        }
        let mut l = t.table_or_empty("loss");
        self.losses.clear();
        for (name, applies_to) in [("data", AppliesTo::Data), ("ack", AppliesTo::Ack), ("all", AppliesTo::All)] {
            if l.raw(name).is_some_and(Json::is_object) {
                let mut m = l.table_or_empty(name);
                self.losses.extend(LossSpec::read(applies_to, &mut m));
                l.put(name, m.finish());
            } else {
                let p = l.or(name, &Probability, 0.0);
                if p > 0.0 {
                    self.losses.push(LossSpec { applies_to, model: LossModel::Bernoulli { p }, flow: None });
                }
            }
        }
        self.place = l.or("place", &PLACES, self.place);
        self.normal.insert("loss".into(), l.finish());
    }

    fn read_jitter(&mut self, t: &mut Table) {
        let Some(mut j) = switchable(t, "jitter", &mut self.normal) else {
            self.jitter = self.jitter.filter(|_| self.normal["jitter"] != *NONE);
            return;
        };
        self.jitter = match j.or("distribution", &EXPONENTIAL, false) {
            false => j.required("max", &TIME, "\"2 ms\"").map(|max| Jitter::Uniform { max }),
            true => j.required("mean", &TIME, "\"2 ms\"").map(|mean| Jitter::Exponential { mean }),
        };
        self.normal.insert("jitter".into(), j.finish());
    }

    fn read_reorder(&mut self, t: &mut Table) {
        let Some(mut r) = switchable(t, "reorder", &mut self.normal) else {
            self.reorder = self.reorder.filter(|_| self.normal["reorder"] != NONE);
            return;
        };
        let probability = r.required("probability", &Probability, "\"1%\"");
        let delay = r.required("delay", &POSITIVE_TIME, "\"10 ms\"");
        self.reorder = probability.zip(delay).map(|(probability, delay)| Reorder { probability, delay });
        self.normal.insert("reorder".into(), r.finish());
    }

    fn read_schedule(&mut self, t: &mut Table) {
        let Some(list) = t.tables("schedule") else {
            self.normal.entry("schedule").or_insert(json!([]));
            return;
        };
        if let Some(trace) = self.followed.trace().filter(|_| !list.is_empty()) {
            t.mistake("schedule", format!("does not go with a trace, {}: write the changes there", trace.name));
        }
        self.schedule.clear();
        let mut normal = Vec::new();
        for mut c in list {
            let at = c.required("at", &TIME, "\"10 s\"");
            let (rate, delay) = (c.optional("rate", &RATE_OR_OUTAGE), c.optional("delay", &TIME));
            let up = c.optional("up", &Flag);
            if rate.is_none() && delay.is_none() && up.is_none() && c.sound(&["rate", "delay", "up"]) {
                c.mistakes().add(c.path(), "changes nothing; give it a rate, a delay, or up");
            }
            if let Some(at) = at {
                let at = Time::ZERO + at;
                if self.schedule.last().is_some_and(|last| last.at >= at) {
                    c.mistake("at", "is not later than the change before it");
                }
                self.schedule.push(Change { at, rate, delay, up });
            }
            normal.push(c.finish());
        }
        self.normal.insert("schedule".into(), normal.into());
    }

    /// The link of the checked scenario.
    pub(super) fn build(&self, name: String, from: usize, to: usize, delay: Duration, around: &Surroundings) -> Link {
        let loss = |l: &LossSpec| {
            let mut model = l.model.clone();
            if let (LossModel::Named { flow, .. }, Some((label, _))) = (&mut model, &l.flow) {
                *flow = (around.flow)(label);
            }
            Loss { applies_to: l.applies_to, model }
        };
        Link {
            name,
            from,
            to,
            rate: self.rate,
            delay,
            queue: self.queue.build(self.rate, around),
            overhead: (self.overhead + self.tunnel.as_ref().map_or(0, TunnelSpec::encapsulation)) as u32,
            tunnel: None, // until its connection has a name
            loss: self.losses.iter().map(loss).collect(),
            loss_place: self.place,
            jitter: self.jitter,
            reorder: self.reorder,
            duplicate: self.duplicate,
            schedule: self.schedule.clone(),
            trace: self.followed.trace().cloned(),
        }
    }

    /// Notes labels that no flow has.
    pub(super) fn check_labels(&self, flow: &dyn Fn(&str) -> Option<usize>, mistakes: &Mistakes) {
        for (label, field) in self.losses.iter().filter_map(|l| l.flow.as_ref()) {
            if flow(label).is_none() && mistakes.sound(field) {
                mistakes.add(field.clone(), format!("no flow is labelled \"{label}\""));
            }
        }
    }
}

const NONE: &str = "none";

/// The table `name`; `None` when it is left out (and `normal` keeps what it has) or switched off.
fn switchable<'a>(t: &mut Table<'a>, name: &'static str, normal: &mut Map<String, Json>) -> Option<Table<'a>> {
    match t.raw(name) {
        None => {
            normal.entry(name).or_insert(json!(NONE));
            None
        }
        Some(off) if off == NONE => {
            normal.insert(name.into(), json!(NONE));
            None
        }
        Some(_) => t.table(name),
    }
}

impl LossSpec {
    /// A loss model written as a table; which one, its fields say.
    fn read(applies_to: AppliesTo, t: &mut Table) -> Option<LossSpec> {
        let mut flow = None;
        let model = if t.raw("every").is_some() {
            LossModel::Periodic { every: t.optional("every", &ORDINAL)? }
        } else if t.raw("packets").is_some() {
            let packets = t.optional("packets", &Ordinals)?;
            flow = t.optional("flow", &Name).map(|label| (label, t.field("flow")));
            LossModel::Named { flow: None, packets }
        } else if t.raw("p").is_some() {
            let p = t.optional("p", &Probability);
            let r = t.required("r", &Probability, "\"20%\"");
            let good = t.or("good", &Probability, 0.0);
            let bad = t.or("bad", &Probability, 1.0);
            LossModel::GilbertElliott { p: p?, r: r?, good, bad }
        } else {
            t.mistakes().add(
                t.path(),
                "is no loss model; write a probability, { every = 100 }, { packets = [20, 25], flow = \"reno-1\" } or { p = \"1%\", r = \"20%\", good = \"0%\", bad = \"100%\" }",
            );
            return None;
        };
        Some(LossSpec { applies_to, model, flow })
    }
}

/// Positions of packets, counted from 1, ascending.
struct Ordinals;
impl Kind for Ordinals {
    type Value = Vec<u64>;
    fn read(&self, json: &Json) -> Result<Vec<u64>, String> {
        let wrong = || format!("{} is not a list of packet numbers, counted from 1, ascending", show(json));
        let list = json.as_array().filter(|l| !l.is_empty()).ok_or_else(wrong)?;
        let numbers: Result<Vec<u64>, String> = list.iter().map(|n| ORDINAL.read(n)).collect();
        numbers.ok().filter(|n| n.is_sorted_by(|a, b| a < b)).ok_or_else(wrong)
    }
    fn write(&self, value: &Vec<u64>) -> Json {
        json!(value)
    }
}
