//! `queue`: the discipline of a link and its parameters, whatever they are; each says so in its file in `net/queue`.

use super::link::Surroundings;
use super::quantity::{Amounts, Flag, Integer, Number, Probability, SIZE, Sizes, TIME, Times, one_of, or_word};
use super::reader::{Kind, Table, alternatives, show};
use crate::net::queue::field::{Amount, Domain, Field, Params, Refusal, Value};
use crate::net::queue::{Around, Entry, Queue, REGISTRY, droptail};
use cclab_algo::Rate;
use serde_json::{Value as Json, json};

/// A queue as written.
#[derive(Clone)]
pub(super) struct QueueSpec {
    entry: &'static Entry,
    params: Params,
}

impl QueueSpec {
    /// Drop-tail in front of a link of this rate. A queue in front of an infinitely fast one is always empty: no limit
    /// means anything there.
    pub(super) fn before(rate: Option<Rate>) -> QueueSpec {
        QueueSpec::new(&droptail::ENTRY, rate, &[None])
    }

    /// Drop-tail of so many packets.
    pub(super) fn of_packets(packets: u64) -> QueueSpec {
        QueueSpec::new(&droptail::ENTRY, None, &[Some(Value::Amount(Amount::Packets(packets)))])
    }

    /// Whether an amount in it is relative to a BDP.
    pub(super) fn needs_rtt(&self) -> bool {
        self.params.iter().any(|(_, value)| matches!(value, Value::Amount(Amount::Bdp(_))))
    }

    fn new(entry: &'static Entry, rate: Option<Rate>, given: &[Option<Value>]) -> QueueSpec {
        let mut params = Params::new(entry.fields, given);
        if rate.is_none() && params.get::<Option<Amount>>("limit").is_some_and(Amount::is_relative) {
            params.put("limit", Value::Word("unlimited"));
        }
        QueueSpec { entry, params }
    }

    /// The same in front of a link of another rate.
    pub(super) fn moved(&self, from: Option<Rate>, to: Option<Rate>) -> QueueSpec {
        let unset = from.is_none() && self.params.get::<Option<Amount>>("limit").is_none();
        if to.is_none() || unset { QueueSpec::before(to) } else { self.clone() }
    }

    /// This queue with what `t` says about it.
    pub(super) fn overridden(self, t: &mut Table, rate: Option<Rate>) -> QueueSpec {
        let mut q = t.table_or_empty("queue");
        let entry = q.or("discipline", &Discipline, self.entry);
        let given: Vec<Option<Value>> = entry.fields.iter().map(|field| q.peek(field.name, field)).collect();
        entry.fields.iter().for_each(|field| q.also(field.name, field.also));
        let spec = if entry.name == self.entry.name {
            QueueSpec { params: self.params.overridden(&given), entry }
        } else {
            QueueSpec::new(entry, rate, &given)
        };
        if rate.is_none() && t.sound(&["rate"]) {
            let is_relative = |value| matches!(value, Some(Value::Amount(limit)) if limit.is_relative());
            if entry.fields.iter().zip(&given).any(|(field, value)| field.name == "limit" && is_relative(*value)) {
                q.mistake("limit", "a limit in time or BDP needs a link with a rate; this one is infinitely fast");
            } else if entry.name != droptail::ENTRY.name {
                q.mistake("discipline", "needs a link with a rate; in front of an infinitely fast one nothing waits");
            }
        }
        spec.params.iter().for_each(|(field, value)| q.put(field.name, field.write(&value)));
        if given.iter().any(Option::is_some) && t.sound(&["queue"]) {
            spec.check(&q);
        }
        t.put("queue", q.finish());
        spec
    }

    /// The queue of the checked scenario.
    pub(super) fn build(&self, rate: Option<Rate>, around: &Surroundings) -> Queue {
        let around = Around { rate, rtt: around.rtt, packet: around.packet };
        (self.entry.build)(&self.params, &around).of(|| self.params.clone().resolved(|amount| around.resolved(amount)))
    }

    /// Notes values that contradict each other.
    fn check(&self, q: &Table) {
        note((self.entry.check)(&self.params), &self.params, q);
    }
}

/// Notes why values are refused that are right by themselves; `{name}` in the sentence is the value of that field.
pub(super) fn note(found: Result<(), Refusal>, params: &Params, t: &Table) {
    if let Err(refusal) = found {
        let shown = |message: String, (field, value): (&Field, Value)| {
            message.replace(&format!("{{{}}}", field.name), &field.write(&value).to_string())
        };
        let mut message = params.iter().fold(refusal.message.into(), shown);
        if params.iter().any(|(field, value)| field.name == refusal.field && value == field.default) {
            message += "; that is its default: write what fits";
        }
        t.mistake(refusal.field, message);
    }
}

/// The name of a discipline.
struct Discipline;
impl Kind for Discipline {
    type Value = &'static Entry;
    fn read(&self, json: &Json) -> Result<&'static Entry, String> {
        let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        if matches!(json.as_str(), Some("taildrop" | "tail-drop" | "drop-tail" | "fifo" | "pfifo")) {
            return Err(format!("unknown {}{}", show(json), alternatives("droptail", names.into_iter())));
        }
        one_of(json, &names).map(|index| &REGISTRY[index])
    }
    fn write(&self, entry: &&'static Entry) -> Json {
        json!(entry.name)
    }
    fn schema(&self) -> Json {
        json!({ "enum": REGISTRY.iter().map(|entry| entry.name).collect::<Vec<_>>() })
    }
}

const AMOUNT: Amounts = Amounts { time: true };

impl Kind for Field {
    type Value = Value;
    fn read(&self, json: &Json) -> Result<Value, String> {
        let value = match self.domain {
            Domain::Time { min } => Times { min }.read(json).map(Value::Time),
            Domain::Amount => AMOUNT.read(json).map(Value::Amount),
            Domain::Size { max } => Sizes { min: 1, max }.read(json).map(Value::Size),
            Domain::Probability => Probability.read(json).map(Value::Probability),
            Domain::Integer { min, max } => Integer { min, max }.read(json).map(Value::Integer),
            Domain::Number { min, max } => Number { min, max }.read(json).map(Value::Number),
            Domain::Flag => Flag.read(json).map(Value::Flag),
            Domain::Choice(words) => one_of(json, words).map(|index| Value::Word(words[index])),
        };
        match self.word {
            Some(word) => or_word(word, json, value).map(|value| value.unwrap_or(Value::Word(word))),
            None => value,
        }
    }
    fn write(&self, value: &Value) -> Json {
        match value {
            Value::Time(time) => TIME.write(time),
            Value::Amount(amount) => AMOUNT.write(amount),
            Value::Size(bytes) => SIZE.write(bytes),
            Value::Probability(p) => Probability.write(p),
            Value::Integer(n) => json!(n),
            Value::Number(x) => Number { min: *x, max: *x }.write(x),
            Value::Flag(flag) => json!(flag),
            Value::Word(word) => json!(word),
        }
    }
    fn schema(&self) -> Json {
        let value = match self.domain {
            Domain::Time { min } => Times { min }.schema(),
            Domain::Amount => AMOUNT.schema(),
            Domain::Size { max } => Sizes { min: 1, max }.schema(),
            Domain::Probability => Probability.schema(),
            Domain::Integer { min, max } => Integer { min, max }.schema(),
            Domain::Number { min, max } => Number { min, max }.schema(),
            Domain::Flag => Flag.schema(),
            Domain::Choice(words) => json!({ "enum": words }),
        };
        self.word.map_or(value.clone(), |word| json!({ "anyOf": [{ "const": word }, value] }))
    }
}
