//! What is wrong with a scenario: every mistake, by field.

use std::fmt;

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
        match self.field.as_str() {
            "" => f.write_str(&self.message),
            field => write!(f, "{field}: {}", self.message),
        }
    }
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
