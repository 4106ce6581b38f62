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

/// Whether a letter is not seen but felt: it ends a line, moves a terminal's cursor, or turns the direction of what is beside it
/// (Bidi_Control of Unicode's PropList.txt).
pub(super) fn is_hidden(c: char) -> bool {
    let ends_a_line = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || ends_a_line || turns
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Bidi_Control of PropList.txt: twelve letters.
    #[test]
    fn hidden_is_what_turns_text_and_not_what_joins_letters() {
        let controls = [0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];
        let of_format = |c: &u32| !char::from_u32(*c).expect("no surrogate").is_control();
        let hidden: Vec<u32> =
            (0..0xd800).filter(of_format).filter(|&c| is_hidden(char::from_u32(c).unwrap())).collect();
        assert_eq!(hidden.iter().filter(|c| ![0x2028, 0x2029].contains(*c)).copied().collect::<Vec<_>>(), controls);
        assert!(!is_hidden('\u{200d}') && !is_hidden('\u{5d0}'), "a joiner of emoji and a Hebrew letter are text");
    }
}
