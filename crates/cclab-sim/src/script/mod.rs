//! Timeline tests in packetdrill's language, run against the endpoint in virtual time.
//!
//! ```text
//!  text ─► parse ─► Script ─► world: advances time ─► endpoint
//!                              ├─ socket: system calls, what they return and when; buffer, notify
//!                              └─ compare: what the endpoint sent against what the script expects
//! ```
//!
//! A script that a kernel passes means the same here, except for what [`run`] names in its notes; the
//! reference is `docs/reference/scripts.md`. The language is that of the published syntax (Cardwell et al.,
//! "packetdrill: scriptable network stack testing, from sockets to packets", USENIX ATC 2013).

mod ast;
mod buffer;
mod compare;
mod cookie;
mod expr;
mod fair_queue;
mod keepalive;
mod notify;
mod parse;
mod setup;
mod shell;
mod socket;
mod world;

pub use ast::{Call, Ecn, Event, Opt, Options, Packet, Point, Script, Setting, Value, What, When};
pub use expr::{Comparison, Expr, Operator, Statement};
pub use parse::{ParseError, parse};

/// What running a script gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Name of the script.
    pub name: String,
    /// Whether everything was as the script says.
    pub passed: bool,
    /// Whether it says nothing that is not modelled, as far as it was read.
    pub understood: bool,
    /// The line of the first difference, from 1.
    pub line: Option<usize>,
    /// The first difference; empty when there is none.
    pub message: String,
    /// What was ignored, printed or assumed, in the order of the script.
    pub notes: Vec<String>,
}

impl Report {
    /// The report as one JSON object: `name`, `passed`, `understood`, `line`, `message`, `notes`.
    pub fn to_json(&self) -> String {
        serde_json::json!({
            "name": self.name,
            "passed": self.passed,
            "understood": self.understood,
            "line": self.line,
            "message": self.message,
            "notes": self.notes,
        })
        .to_string()
    }
}

/// Why a script stopped: its first difference.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    line: usize,
    message: String,
}

/// Runs a script called `name`. A script that cannot be read is a report that says so.
pub fn run(text: &str, name: &str) -> Report {
    run_until(text, name, &mut || false)
}

/// As [`run`], but no further once `stopped` says so; it is asked before each thing that happens.
pub fn run_until(text: &str, name: &str, stopped: &mut dyn FnMut() -> bool) -> Report {
    let mut notes = Vec::new();
    let parsed = parse(text);
    let readable = parsed.is_ok();
    let outcome = match parsed {
        Ok(script) => world::play(&script, &mut notes, stopped),
        Err(ParseError { line, column, message }) => {
            Err(Failure { line, message: format!("column {column}: {message}") })
        }
    };
    let (line, message) = match outcome {
        Ok(()) => (None, String::new()),
        Err(Failure { line, message }) => (Some(line), message),
    };
    let understood = readable && !message.starts_with("not supported: ");
    Report { name: name.to_owned(), passed: line.is_none(), understood, line, message, notes }
}

#[cfg(test)]
mod tests;
