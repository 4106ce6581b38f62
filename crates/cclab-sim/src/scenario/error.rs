//! What is wrong with a scenario: every mistake, by field.

use std::fmt::{self, Write};

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where: `flows[1].cc`, or `line 3, column 7` where the text is not TOML. Empty for the whole.
    pub field: String,
    /// The value and what is allowed.
    pub message: String,
}

/// A scenario that cannot be run: every mistake found in it, one per line when printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The mistakes, in the order in which the fields are read. Never empty.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field.chars().map(|c| (c, is_hidden(c)));
        let colon = if self.field.is_empty() { "" } else { ": " }.chars().map(|c| (c, false));
        let message = self.message.chars().map(|c| (c, is_hidden(c) && c != '\n'));
        field.chain(colon).chain(message).try_for_each(|(c, hidden)| match hidden {
            true => write!(f, "{}", c.escape_unicode()),
            false => f.write_char(c),
        })
    }
}

/// Whether a letter is not seen but felt: it ends a line, moves a terminal's cursor, or turns the direction of what follows (Unicode
/// Technical Report 36 §2.10, bidirectional text).
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, mistake) in self.mistakes.iter().enumerate() {
            if k > 0 {
                f.write_str("\n")?;
            }
            mistake.fmt(f)?;
        }
        Ok(())
    }
}
