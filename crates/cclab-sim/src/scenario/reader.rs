//! A checked reader: each getter notes the mistake it finds and goes on, and writes the value it read, or
//! its default, in normal form. So one pass over a table checks it, fills it in and knows its fields.

use super::error::Mistake;
use super::trace::Traces;
use crate::measure::budget;
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What a field may hold: how to read it, and how to write it in normal form.
pub(super) trait Kind {
    /// The value in the program.
    type Value;
    /// The value, or what is wrong with it.
    fn read(&self, json: &Json) -> Result<Self::Value, String>;
    /// The value in normal form; reading that gives the value again.
    fn write(&self, value: &Self::Value) -> Json;
    /// What JSON it is, as JSON Schema has it; wider than what is read where that has no words for it.
    fn schema(&self) -> Json {
        Json::Object(Map::new())
    }
}

/// More would not help anyone.
const MAX_MISTAKES: usize = 1000;

/// Fields that were asked for, and what each may be.
pub(super) type Fields = BTreeMap<String, Vec<Json>>;

/// What a field makes the scenario need of memory.
struct Need {
    field: String,
    bytes: u64,
    what: String,
    advice: &'static str,
}

/// Every mistake found so far.
#[derive(Default)]
pub(super) struct Mistakes {
    list: RefCell<Vec<Mistake>>,
    needs: RefCell<Vec<Need>>,
    /// Where somebody wants to know them.
    fields: Option<RefCell<Fields>>,
}

impl Mistakes {
    /// One that also notes which fields are asked for.
    pub(super) fn with_fields() -> Self {
        Mistakes { fields: Some(RefCell::default()), ..Mistakes::default() }
    }
    /// The fields that were asked for.
    pub(super) fn into_fields(self) -> Fields {
        self.fields.map(RefCell::into_inner).unwrap_or_default()
    }
    fn asked(&self, field: impl FnOnce() -> String, kind: Option<&dyn Fn() -> Json>) {
        if let Some(fields) = &self.fields {
            let mut fields = fields.borrow_mut();
            let kinds = fields.entry(field()).or_default();
            kinds.extend(kind.map(|kind| kind()).filter(|kind| !kinds.contains(kind)).into_iter().collect::<Vec<_>>());
        }
    }
    pub(super) fn add(&self, field: impl Into<String>, message: impl Into<String>) {
        let mut list = self.list.borrow_mut();
        if list.len() < MAX_MISTAKES {
            list.push(Mistake { field: field.into(), message: message.into() });
        }
    }
    /// Notes what a field needs of memory: "so many of what, and what to write instead if that is too much".
    pub(super) fn need(&self, field: impl Into<String>, bytes: u64, what: impl Into<String>, advice: &'static str) {
        self.needs.borrow_mut().push(Need { field: field.into(), bytes, what: what.into(), advice });
    }
    /// Notes, of the field that needs most, that all together would not fit into memory.
    pub(super) fn check_needs(&self) {
        let needs = self.needs.take().into_iter().map(|need| (need.bytes, need)).map(|(bytes, need)| (need, bytes));
        if let Some((Need { field, what, advice, .. }, bytes, total)) = budget::excess(needs, budget::MOST) {
            let [bytes, total, most] = [bytes, total, budget::MOST].map(budget::gigabytes);
            let of = format!("{bytes} of the {total} that the scenario needs; at most {most} fit into memory");
            self.add(field, format!("{what}, {of}: {advice}"));
        }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }
    pub(super) fn into_vec(self) -> Vec<Mistake> {
        self.list.into_inner()
    }
    /// Whether nothing is wrong with this field or what is inside it.
    pub(super) fn sound(&self, field: &str) -> bool {
        let inside =
            |m: &Mistake| m.field.strip_prefix(field).is_some_and(|r| r.is_empty() || r.starts_with(['.', '[']));
        !self.list.borrow().iter().any(inside)
    }
}

/// A table being read.
pub(super) struct Table<'a> {
    path: String,
    given: Option<&'a Map<String, Json>>,
    asked: Vec<&'static str>,
    /// Other names of fields, with the right one.
    also: Vec<(&'static str, &'static str)>,
    normal: Map<String, Json>,
    /// Not a table, or one of an unknown kind: nothing in it is missing or unknown.
    forgiven: bool,
    mistakes: &'a Mistakes,
    traces: Option<&'a Traces<'a>>,
}

impl<'a> Table<'a> {
    /// The table at `path`; a mistake if `json` is none. Without `json`, an empty one.
    pub(super) fn new(path: String, json: Option<&'a Json>, mistakes: &'a Mistakes) -> Self {
        let given = json.and_then(Json::as_object);
        let wrong = json.filter(|_| given.is_none());
        if let Some(wrong) = wrong {
            mistakes.add(path.clone(), format!("{} is not a table", show(wrong)));
        }
        Table {
            path,
            given,
            asked: Vec::new(),
            also: Vec::new(),
            normal: Map::new(),
            forgiven: wrong.is_some(),
            mistakes,
            traces: None,
        }
    }
    /// The same with what its links may follow.
    pub(super) fn with_traces(self, traces: &'a Traces<'a>) -> Self {
        Table { traces: Some(traces), ..self }
    }
    /// One inside this one.
    fn inside(&self, path: String, json: Option<&'a Json>) -> Table<'a> {
        Table { traces: self.traces, ..Table::new(path, json, self.mistakes) }
    }
    /// What links may follow.
    pub(super) fn traces(&self) -> Option<&'a Traces<'a>> {
        self.traces
    }

    /// The full name of a field.
    pub(super) fn field(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }
    /// The full name of this table.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
    pub(super) fn mistakes(&self) -> &'a Mistakes {
        self.mistakes
    }
    /// Notes a mistake in a field.
    pub(super) fn mistake(&self, name: &str, message: impl Into<String>) {
        self.mistakes.add(self.field(name), message);
    }
    /// Notes what a field needs of memory, as [`Mistakes::need`] does.
    pub(super) fn need(&self, name: &str, bytes: u64, what: impl Into<String>, advice: &'static str) {
        self.mistakes.need(self.field(name), bytes, what, advice);
    }
    /// Whether nothing is wrong with these fields: only then may they be compared.
    pub(super) fn sound(&self, names: &[&str]) -> bool {
        names.iter().all(|n| self.mistakes.sound(&self.field(n)))
    }

    /// The field as written; `null` is as if it were left out.
    pub(super) fn raw(&mut self, name: &'static str) -> Option<&'a Json> {
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
        self.mistakes.asked(|| self.field(name), None);
        self.given.and_then(|g| g.get(name)).filter(|j| !j.is_null())
    }
    /// Whether the field is written.
    pub(super) fn raw_if_any(&self, name: &str) -> bool {
        self.given.and_then(|g| g.get(name)).is_some_and(|json| !json.is_null())
    }
    /// Who writes one of these names is told this one.
    pub(super) fn also(&mut self, name: &'static str, others: &[&'static str]) {
        self.also.extend(others.iter().map(|other| (*other, name)));
    }
    /// Notes that a field does not apply, if it is there; it is none of those that are allowed.
    pub(super) fn refuse(&mut self, name: &'static str, message: impl Into<String>) {
        if self.given.is_some_and(|given| given.get(name).is_some_and(|json| !json.is_null())) {
            self.asked.push(name);
            self.mistake(name, message);
        }
    }
    /// Takes every field unseen: what is allowed is not known.
    pub(super) fn forgive(&mut self) {
        self.forgiven = true;
    }
    /// Notes that a field must be there, if it is not.
    pub(super) fn require(&mut self, name: &'static str, message: &str) {
        if self.raw(name).is_none() && !self.forgiven {
            self.mistake(name, format!("missing; {message}"));
        }
    }
    /// Writes a field of the normal form.
    pub(super) fn put(&mut self, name: &str, json: Json) {
        self.normal.insert(name.into(), json);
    }

    /// The field, if it is there and right; the normal form does not get it.
    pub(super) fn peek<K: Kind>(&mut self, name: &'static str, kind: &K) -> Option<K::Value> {
        self.mistakes.asked(|| self.field(name), Some(&|| kind.schema()));
        match kind.read(self.raw(name)?) {
            Ok(value) => Some(value),
            Err(message) => {
                self.mistake(name, message);
                None
            }
        }
    }
    /// The field, if it is there and right.
    pub(super) fn optional<K: Kind>(&mut self, name: &'static str, kind: &K) -> Option<K::Value> {
        let value = self.peek(name, kind)?;
        self.put(name, kind.write(&value));
        Some(value)
    }
    /// The field, or its default.
    pub(super) fn or<K: Kind>(&mut self, name: &'static str, kind: &K, default: K::Value) -> K::Value {
        let value = self.peek(name, kind).unwrap_or(default);
        self.put(name, kind.write(&value));
        value
    }
    /// The field; a mistake if it is not there.
    pub(super) fn required<K: Kind>(&mut self, name: &'static str, kind: &K, example: &str) -> Option<K::Value> {
        self.require(name, &format!("write e.g. {name} = {example}"));
        self.optional(name, kind)
    }

    /// A table inside this one; hand what its `finish` gives to `put`.
    pub(super) fn table(&mut self, name: &'static str) -> Option<Table<'a>> {
        let json = self.raw(name)?;
        Some(self.inside(self.field(name), Some(json)))
    }
    /// A table inside this one, empty if it is not there.
    pub(super) fn table_or_empty(&mut self, name: &'static str) -> Table<'a> {
        let json = self.raw(name);
        self.inside(self.field(name), json)
    }
    /// A table inside this one of which nothing is given: what is written in its place is a name.
    pub(super) fn empty(&self, name: &str) -> Table<'a> {
        Table::new(self.field(name), None, self.mistakes)
    }
    /// A list of tables.
    pub(super) fn tables(&mut self, name: &'static str) -> Option<Vec<Table<'a>>> {
        let json = self.raw(name)?;
        let path = self.field(name);
        match json.as_array() {
            Some(list) => {
                let table = |(k, j)| self.inside(format!("{path}[{k}]"), Some(j));
                Some(list.iter().enumerate().map(table).collect())
            }
            None => {
                let hint = if json.is_object() { format!("; write [[{path}]]") } else { String::new() };
                self.mistake(name, format!("{} is not a list of tables{hint}", show(json)));
                None
            }
        }
    }

    /// Refuses fields nobody asked for; the table in normal form.
    pub(super) fn finish(self) -> Json {
        for name in self.given.into_iter().flat_map(Map::keys) {
            if !self.forgiven && !self.asked.contains(&name.as_str()) {
                let also = self.also.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
                let meant = also.map_or(name.as_str(), |(_, meant)| meant);
                let message = format!("unknown field{}", alternatives(meant, self.asked.iter().copied()));
                self.mistake(name, message);
            }
        }
        Json::Object(self.normal)
    }

    /// [`finish`](Self::finish) of a table of which `field` says what it is: that alone where there is nothing else.
    pub(super) fn finish_named(mut self, field: &'static str, name: Json) -> Json {
        self.raw(field);
        let Json::Object(rest) = self.finish() else { unreachable!("a table is an object") };
        if rest.keys().all(|key| key == field) {
            return name;
        }
        let named = Map::from_iter([(field.to_string(), name)]);
        Json::Object(named.into_iter().chain(rest.into_iter().filter(|(key, _)| key != field)).collect())
    }
}

/// ` (did you mean "cubic"?); allowed: cubic, reno`, the first part only where a name is near.
pub(super) fn alternatives<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    format!("{}; allowed: {}", nearest(wrong, names.iter().copied()), names.join(", "))
}

/// ` (did you mean "cubic"?)` where a name is near: one slip, or one in three letters.
pub(super) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> String {
    let lower = wrong.to_lowercase();
    let near = names
        .map(|n| (strsim::damerau_levenshtein(&lower, &n.to_lowercase()), n))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, n)| *distance <= (n.chars().count() / 3).max(1) && n.chars().count() > 1);
    near.map_or(String::new(), |(_, n)| format!(" (did you mean \"{n}\"?)"))
}

/// A value as an error shows it: JSON, shortened when long.
pub(super) fn show(json: &Json) -> String {
    let text = json.to_string();
    match text.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
