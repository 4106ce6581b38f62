//! Parameters of an algorithm: name, default, bounds; unknown names and values out of bounds are refused.

use std::fmt;

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number in `[min, max]`.
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

/// One parameter as `describe` shows it.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Name in scenario files.
    pub name: &'static str,
    /// Allowed values.
    pub kind: Kind,
    /// Default in the `linux` flavour.
    pub default: Value,
    /// Default in the `paper` flavour where it differs.
    pub paper_default: Option<Value>,
    /// Unit, empty when it has none.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A flag.
    Flag(bool),
    /// A word out of a [`Kind::Choice`].
    Word(&'static str),
}

/// A value as a person wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A number.
    Number(f64),
    /// A flag.
    Flag(bool),
    /// Text.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(x) => write!(f, "{x}"),
            Value::Flag(b) => write!(f, "{b}"),
            Value::Word(w) => write!(f, "\"{w}\""),
        }
    }
}
impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Number(x) => write!(f, "{x}"),
            Given::Flag(b) => write!(f, "{b}"),
            Given::Text(t) => write!(f, "\"{t}\""),
        }
    }
}
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Kind::Flag => write!(f, "true or false"),
            Kind::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
                write!(f, "one of {}", quoted.join(", "))
            }
        }
    }
}

/// Which of two traditions a law follows where a paper and Linux differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// What a current Linux kernel does.
    #[default]
    Linux,
    /// What the paper or the RFC says.
    Paper,
}

/// Why parameters were refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The algorithm has no such parameter.
    #[error("unknown parameter \"{name}\"; allowed: {allowed}")]
    Unknown {
        /// What was written.
        name: String,
        /// The names it could have been.
        allowed: String,
    },
    /// The value is of the wrong type or out of bounds.
    #[error("{name}: {value} is not {allowed}")]
    Invalid {
        /// The parameter.
        name: String,
        /// What was written.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// It cannot be made here.
    #[error("{0} is a program for the kernel, which only the live backend runs")]
    Kernel(&'static str),
}

/// Checked parameters: every [`Spec`] has a value.
#[derive(Clone, Debug)]
pub struct Params {
    values: Vec<(&'static str, Value)>,
}

impl Params {
    /// Checks what was given against the specs and fills in defaults.
    ///
    /// # Errors
    /// An unknown name, a wrong type, or a value out of bounds.
    pub fn resolve(specs: &'static [Spec], given: &[(String, Given)], flavour: Flavour) -> Result<Params, Error> {
        for (name, _) in given {
            if !specs.iter().any(|s| s.name == name) {
                let names: Vec<&str> = specs.iter().map(|s| s.name).collect();
                let allowed = if names.is_empty() { "none".into() } else { names.join(", ") };
                return Err(Error::Unknown { name: name.clone(), allowed });
            }
        }
        let mut values = Vec::with_capacity(specs.len());
        for spec in specs {
            let default = match (flavour, spec.paper_default) {
                (Flavour::Paper, Some(v)) => v,
                _ => spec.default,
            };
            let value = match given.iter().find(|(n, _)| n == spec.name) {
                None => default,
                Some((_, g)) => spec.check(g)?,
            };
            values.push((spec.name, value));
        }
        Ok(Params { values })
    }

    /// Every parameter as if it had been given, in the order of the specs.
    pub fn given(&self) -> Vec<(String, Given)> {
        let given = |value: Value| match value {
            Value::Number(x) => Given::Number(x),
            Value::Flag(b) => Given::Flag(b),
            Value::Word(w) => Given::Text(w.into()),
        };
        self.values.iter().map(|(name, value)| ((*name).into(), given(*value))).collect()
    }

    fn value(&self, name: &str) -> Value {
        self.values.iter().find(|(n, _)| *n == name).expect("the law asks only for its own parameters").1
    }
    /// A number. Panics if the law asks for what it did not declare.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(x) => x,
            other => unreachable!("{name} is declared as a number, found {other}"),
        }
    }
    /// A flag. Panics if the law asks for what it did not declare.
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Flag(b) => b,
            other => unreachable!("{name} is declared as a flag, found {other}"),
        }
    }
    /// A word. Panics if the law asks for what it did not declare.
    pub fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Word(w) => w,
            other => unreachable!("{name} is declared as a choice, found {other}"),
        }
    }
}

impl Spec {
    fn check(&self, given: &Given) -> Result<Value, Error> {
        let value = match (self.kind, given) {
            (Kind::Number { min, max }, Given::Number(x)) if (min..=max).contains(x) => Some(Value::Number(*x)),
            (Kind::Flag, Given::Flag(b)) => Some(Value::Flag(*b)),
            (Kind::Choice(words), Given::Text(t)) => words.iter().find(|w| *w == t).map(|w| Value::Word(w)),
            _ => None,
        };
        value.ok_or_else(|| Error::Invalid {
            name: self.name.into(),
            value: given.to_string(),
            allowed: self.kind.to_string(),
        })
    }
}
