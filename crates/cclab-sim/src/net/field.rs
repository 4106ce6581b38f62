//! Fields of what a registry lists, a queue discipline or a routing protocol: what each may hold, within which bounds, and what it
//! holds unless it is told.
//!
//! Nothing here knows how a value is written; the scenario reader does.

use cclab_algo::Duration;
use std::cmp::Ordering;

/// An amount of data, not yet resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// What the link carries in this time.
    Time(Duration),
    /// In billionths of a BDP.
    Bdp(u64),
}

impl Amount {
    /// One BDP.
    pub const BDP: Amount = Amount::Bdp(1_000_000_000);

    /// Whether it comes to bytes, not packets.
    pub fn in_bytes(self) -> bool {
        matches!(self, Amount::Bytes(_) | Amount::Time(_))
    }

    /// Whether it depends on the link's rate.
    pub fn is_relative(self) -> bool {
        matches!(self, Amount::Bdp(_) | Amount::Time(_))
    }
}

/// Amounts that are measured alike have an order.
impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Amount) -> Option<Ordering> {
        match (self, other) {
            (Amount::Packets(a), Amount::Packets(b)) => Some(a.cmp(b)),
            (Amount::Bytes(a), Amount::Bytes(b)) => Some(a.cmp(b)),
            (Amount::Time(a), Amount::Time(b)) => Some(a.cmp(b)),
            (Amount::Bdp(a), Amount::Bdp(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// What a field may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A length of time.
    Time {
        /// Smallest allowed value.
        min: Duration,
    },
    /// An amount of data, in packets, bytes, time or BDP; at least the least there is of it.
    Amount,
    /// Bytes, from 1 to this many.
    Size {
        /// Largest allowed value.
        max: u64,
    },
    /// From 0 to 1.
    Probability,
    /// A whole number.
    Integer {
        /// Smallest allowed value.
        min: u64,
        /// Largest allowed value.
        max: u64,
    },
    /// A number without a unit.
    Number {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of [`Domain::Time`].
    Time(Duration),
    /// Of [`Domain::Amount`].
    Amount(Amount),
    /// Of [`Domain::Size`], bytes.
    Size(u64),
    /// Of [`Domain::Probability`].
    Probability(f64),
    /// Of [`Domain::Integer`].
    Integer(u64),
    /// Of [`Domain::Number`].
    Number(f64),
    /// Of [`Domain::Flag`].
    Flag(bool),
    /// Of [`Domain::Choice`]; of any other, the word that stands for no value.
    Word(&'static str),
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Name in scenario files.
    pub name: &'static str,
    /// Allowed values.
    pub domain: Domain,
    /// A word that may stand in their place: "auto", "off", "unlimited".
    pub word: Option<&'static str>,
    /// What it holds unless it is told.
    pub default: Value,
    /// Where the field of that name has the first value, the default is the second.
    pub unless: Option<(&'static str, Value, Value)>,
    /// What its source or Linux calls it, where that is another name: who writes that is told this one.
    pub also: &'static [&'static str],
    /// One sentence.
    pub doc: &'static str,
}

/// Least interval of a controller. No router's timer is finer, and each look is an event: a nanosecond, which is a slip of
/// the unit, would keep a run busy for days.
pub const PERIOD: Duration = Duration::from_micros(1);

impl Domain {
    /// A length of time, from zero on.
    pub const TIME: Domain = Domain::Time { min: Duration::ZERO };
    /// From a byte to a petabyte.
    pub const SIZE: Domain = Domain::Size { max: 1_000_000_000_000_000 };
}

impl Field {
    const fn new(name: &'static str, domain: Domain, default: Value, doc: &'static str) -> Field {
        Field { name, domain, word: None, default, unless: None, also: &[], doc }
    }
    /// A length of time, from zero on.
    pub const fn time(name: &'static str, default: Duration, doc: &'static str) -> Field {
        Field::new(name, Domain::TIME, Value::Time(default), doc)
    }
    /// An amount of data.
    pub const fn amount(name: &'static str, default: Amount, doc: &'static str) -> Field {
        Field::new(name, Domain::Amount, Value::Amount(default), doc)
    }
    /// A number of bytes, up to `max`.
    pub const fn size(name: &'static str, default: u64, max: u64, doc: &'static str) -> Field {
        Field::new(name, Domain::Size { max }, Value::Size(default), doc)
    }
    /// A probability or another share.
    pub const fn probability(name: &'static str, default: f64, doc: &'static str) -> Field {
        Field::new(name, Domain::Probability, Value::Probability(default), doc)
    }
    /// A whole number from `min` to `max`.
    pub const fn integer(name: &'static str, default: u64, (min, max): (u64, u64), doc: &'static str) -> Field {
        Field::new(name, Domain::Integer { min, max }, Value::Integer(default), doc)
    }
    /// A number from `min` to `max`.
    pub const fn number(name: &'static str, default: f64, (min, max): (f64, f64), doc: &'static str) -> Field {
        Field::new(name, Domain::Number { min, max }, Value::Number(default), doc)
    }
    /// `true` or `false`.
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Field {
        Field::new(name, Domain::Flag, Value::Flag(default), doc)
    }
    /// One of these words, the first unless it is told.
    pub const fn choice(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Field {
        Field::new(name, Domain::Choice(words), Value::Word(words[0]), doc)
    }
    /// A value, or `word`, which it is unless it is told.
    pub const fn optional(name: &'static str, domain: Domain, word: &'static str, doc: &'static str) -> Field {
        Field::new(name, domain, Value::Word(word), doc).or(word)
    }

    /// `word` may stand in its place.
    pub const fn or(self, word: &'static str) -> Field {
        Field { word: Some(word), ..self }
    }
    /// A time is at least `min`.
    pub const fn at_least(self, min: Duration) -> Field {
        Field { domain: Domain::Time { min }, ..self }
    }
    /// Known by these names, too.
    pub const fn also(self, names: &'static [&'static str]) -> Field {
        Field { also: names, ..self }
    }
    /// Where the field `other` is `this`, the default is another.
    pub const fn unless(self, other: &'static str, this: Value, default: Value) -> Field {
        Field { unless: Some((other, this, default)), ..self }
    }
}

/// The values of all fields of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    fields: &'static [Field],
    values: Vec<Value>,
}

impl Params {
    /// What was given, in the order of the fields, and defaults for the rest.
    pub fn new(fields: &'static [Field], given: &[Option<Value>]) -> Params {
        let value_of = |name: &str| {
            let index = fields.iter().position(|field| field.name == name)?;
            given[index].or(Some(fields[index].default))
        };
        let default = |field: &Field| match field.unless {
            Some((other, this, default)) if value_of(other) == Some(this) => default,
            _ => field.default,
        };
        Params { fields, values: fields.iter().map(default).collect() }.overridden(given)
    }

    /// These with what is given now.
    pub fn overridden(mut self, given: &[Option<Value>]) -> Params {
        for (value, given) in self.values.iter_mut().zip(given) {
            *value = given.unwrap_or(*value);
        }
        self
    }

    /// Puts a default in the place of another.
    pub fn put(&mut self, name: &str, default: Value) {
        let index = self.index(name);
        self.values[index] = default;
    }

    fn index(&self, name: &str) -> usize {
        let index = self.fields.iter().position(|field| field.name == name);
        index.unwrap_or_else(|| unreachable!("\"{name}\" is not declared"))
    }

    /// A value; `None` for the word in the place of one. Panics if one asks for what it did not declare.
    pub fn get<T: Held>(&self, name: &str) -> T {
        let value = self.values[self.index(name)];
        T::held(value).unwrap_or_else(|| unreachable!("\"{name}\" is declared as another kind, found {value:?}"))
    }

    /// These, with every amount as `resolve` gives it.
    pub fn resolved(mut self, resolve: impl Fn(Amount) -> Amount) -> Params {
        for value in &mut self.values {
            if let Value::Amount(amount) = value {
                *amount = resolve(*amount);
            }
        }
        self
    }

    /// How two times or two amounts compare; `None` if they are not measured alike or one has no value.
    pub fn compare(&self, one: &str, other: &str) -> Option<Ordering> {
        match (self.values[self.index(one)], self.values[self.index(other)]) {
            (Value::Time(one), Value::Time(other)) => Some(one.cmp(&other)),
            (Value::Amount(one), Value::Amount(other)) => one.partial_cmp(&other),
            _ => None,
        }
    }

    /// All fields with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Field, Value)> {
        self.fields.iter().zip(self.values.iter().copied())
    }
}

/// A type whose values a field may hold.
pub trait Held: Sized {
    /// The value as this type.
    fn held(value: Value) -> Option<Self>;
}

impl Held for Duration {
    fn held(value: Value) -> Option<Duration> {
        if let Value::Time(time) = value { Some(time) } else { None }
    }
}
impl Held for Amount {
    fn held(value: Value) -> Option<Amount> {
        if let Value::Amount(amount) = value { Some(amount) } else { None }
    }
}
impl Held for u64 {
    fn held(value: Value) -> Option<u64> {
        if let Value::Size(n) | Value::Integer(n) = value { Some(n) } else { None }
    }
}
impl Held for f64 {
    fn held(value: Value) -> Option<f64> {
        if let Value::Number(x) | Value::Probability(x) = value { Some(x) } else { None }
    }
}
impl Held for bool {
    fn held(value: Value) -> Option<bool> {
        if let Value::Flag(flag) = value { Some(flag) } else { None }
    }
}
impl Held for &'static str {
    fn held(value: Value) -> Option<&'static str> {
        if let Value::Word(word) = value { Some(word) } else { None }
    }
}
impl<T: Held> Held for Option<T> {
    fn held(value: Value) -> Option<Option<T>> {
        match value {
            Value::Word(_) => Some(None),
            value => T::held(value).map(Some),
        }
    }
}

/// Why values are refused that are right by themselves: they contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field that is to blame.
    pub field: &'static str,
    /// What is wrong with it; `{name}` stands for what the field `name` was given.
    pub message: &'static str,
}

impl Refusal {
    /// Refuses what this field was given if `contradicts`.
    ///
    /// # Errors
    /// It does.
    pub fn when(contradicts: bool, field: &'static str, message: &'static str) -> Result<(), Refusal> {
        if contradicts { Err(Refusal { field, message }) } else { Ok(()) }
    }
}

/// No value contradicts another.
pub const FREE: fn(&Params) -> Result<(), Refusal> = |_| Ok(());
