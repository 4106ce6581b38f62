//! What stands in `%{ … }%`: the part of Python that scripts use to look at `tcp_info`.

use std::fmt::Write as _;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `assert condition, message`: the condition and its text.
    Assert(Expr, String),
    /// `print(a, b)`: each argument with its text.
    Print(Vec<(Expr, String)>),
    /// Something else, as written.
    Unknown(String),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number; `True` is 1 and `False` 0.
    Number(f64),
    /// Text in quotes.
    Text(String),
    /// A name.
    Name(String),
    /// `not x`.
    Not(Box<Expr>),
    /// `-x`.
    Minus(Box<Expr>),
    /// An arithmetic or bit operation.
    Binary(Box<Expr>, Operator, Box<Expr>),
    /// `a <= b < c`.
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    /// `a and b`.
    And(Box<Expr>, Box<Expr>),
    /// `a or b`.
    Or(Box<Expr>, Box<Expr>),
    /// `abs(x)`, `min(x, y)`, `max(x, y)`, `int(x)`, `float(x)`.
    Apply(String, Vec<Expr>),
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the operations")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    BitAnd,
    BitOr,
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the comparisons")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Parses statements that are separated by `;` or by lines.
///
/// # Errors
/// The byte offset and what is wrong there.
pub fn parse(code: &str) -> Result<Vec<Statement>, (usize, String)> {
    let mut parser = Parser { code, at: 0, depth: 0, nesting: 0 };
    let mut statements = Vec::new();
    loop {
        parser.blanks_and_ends();
        if parser.rest().is_empty() {
            return Ok(statements);
        }
        statements.push(parser.statement()?);
        parser.blanks();
        if !(parser.rest().is_empty() || parser.rest().starts_with([';', '\n'])) {
            return Err((parser.at, format!("expected ; or the end of the line, found {}", parser.found())));
        }
    }
}

struct Parser<'a> {
    code: &'a str,
    at: usize,
    /// Open parentheses: inside them, lines do not end a statement.
    depth: usize,
    /// Operators that wait for their operand.
    nesting: usize,
}

/// Parentheses, signs and `not` inside each other; more is not a script.
const MAX_DEPTH: usize = 100;

type Parsed<T> = Result<T, (usize, String)>;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.code[self.at..]
    }

    fn found(&self) -> String {
        self.rest().chars().next().map_or("the end".to_owned(), |c| format!("\"{c}\""))
    }

    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blank = |c: char| c.is_whitespace() && (self.depth > 0 || c != '\n');
            let skip = rest.len() - rest.trim_start_matches(blank).len();
            self.at += skip;
            if self.rest().starts_with('#') {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if skip == 0 {
                return;
            }
        }
    }

    fn blanks_and_ends(&mut self) {
        loop {
            self.blanks();
            if !self.rest().starts_with([';', '\n']) {
                return;
            }
            self.at += 1;
        }
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn word(&mut self, word: &str) -> bool {
        self.blanks();
        let found = self.rest().strip_prefix(word).is_some_and(|rest| !rest.starts_with(in_name));
        if found {
            self.at += word.len();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.take(symbol) { Ok(()) } else { Err((self.at, format!("expected {symbol}, found {}", self.found()))) }
    }

    fn with_text(&mut self) -> Parsed<(Expr, String)> {
        self.blanks();
        let start = self.at;
        let expr = self.or()?;
        Ok((expr, self.code[start..self.at].trim().to_owned()))
    }

    fn statement(&mut self) -> Parsed<Statement> {
        if self.word("assert") {
            let (condition, text) = self.with_text()?;
            if self.take(",") {
                self.skip_line();
            }
            return Ok(Statement::Assert(condition, text));
        }
        if self.word("print") {
            let mut arguments = Vec::new();
            let parenthesis = self.take("(");
            self.depth += usize::from(parenthesis);
            while !(parenthesis && self.take(")")) {
                arguments.push(self.with_text()?);
                if !self.take(",") {
                    if parenthesis {
                        self.expect(")")?;
                    }
                    break;
                }
            }
            self.depth -= usize::from(parenthesis);
            return Ok(Statement::Print(arguments));
        }
        let start = self.at;
        self.skip_line();
        Ok(Statement::Unknown(self.code[start..self.at].trim().to_owned()))
    }

    /// Passes over the rest of a statement: the message of an assertion is for Python to format.
    fn skip_line(&mut self) {
        let mut quote = None;
        let mut depth = 0_usize;
        for (i, c) in self.rest().char_indices() {
            match (quote, c) {
                (Some(q), _) if q == c => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(c),
                (None, '(' | '[') => depth += 1,
                (None, ')' | ']') => depth = depth.saturating_sub(1),
                (None, ';' | '\n') if depth == 0 => {
                    self.at += i;
                    return;
                }
                _ => {}
            }
        }
        self.at = self.code.len();
    }

    fn nested(&mut self, parse: fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        if self.nesting == MAX_DEPTH {
            return Err((self.at, format!("this is nested more than {MAX_DEPTH} deep")));
        }
        self.nesting += 1;
        let expr = parse(self);
        self.nesting -= 1;
        expr
    }

    fn or(&mut self) -> Parsed<Expr> {
        let mut left = self.and()?;
        while self.word("or") {
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed<Expr> {
        let mut left = self.not()?;
        while self.word("and") {
            left = Expr::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Parsed<Expr> {
        if self.word("not") { Ok(Expr::Not(Box::new(self.nested(Self::not)?))) } else { self.comparison() }
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let first = self.binary(0)?;
        let mut chain = Vec::new();
        let symbols =
            [("==", Equal), ("!=", NotEqual), ("<=", LessOrEqual), (">=", GreaterOrEqual), ("<", Less), (">", Greater)];
        while let Some((_, comparison)) = symbols.into_iter().find(|(symbol, _)| self.take(symbol)) {
            chain.push((comparison, self.binary(0)?));
        }
        Ok(if chain.is_empty() { first } else { Expr::Compare(Box::new(first), chain) })
    }

    fn binary(&mut self, level: usize) -> Parsed<Expr> {
        use Operator::{Add, BitAnd, BitOr, Divide, FloorDivide, Multiply, Remainder, Subtract};
        const LEVELS: [&[(&str, Operator)]; 4] = [
            &[("|", BitOr)],
            &[("&", BitAnd)],
            &[("+", Add), ("-", Subtract)],
            &[("*", Multiply), ("//", FloorDivide), ("/", Divide), ("%", Remainder)],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.take(symbol)) {
            left = Expr::Binary(Box::new(left), *operator, Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        if self.take("-") {
            return Ok(Expr::Minus(Box::new(self.nested(Self::unary)?)));
        }
        if self.take("(") {
            self.depth += 1;
            let inner = self.nested(Self::or)?;
            self.expect(")")?;
            self.depth -= 1;
            return Ok(inner);
        }
        self.blanks();
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let end = rest[1..].find(quote).ok_or((self.at, "text without its closing quote".to_owned()))?;
            self.at += end + 2;
            return Ok(Expr::Text(rest[1..=end].to_owned()));
        }
        let length = rest.find(|c| !(in_name(c) || c == '.')).unwrap_or(rest.len());
        let word = &rest[..length];
        if word.is_empty() {
            return Err((self.at, format!("expected a number or a name, found {}", self.found())));
        }
        let start = self.at;
        self.at += length;
        if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let hex = word.strip_prefix("0x").map(|h| u64::from_str_radix(h, 16).ok().map(|n| n as f64));
            return match hex.unwrap_or_else(|| word.parse().ok()) {
                Some(number) if number.is_infinite() => Err((start, format!("\"{word}\" is out of range"))),
                Some(number) => Ok(Expr::Number(number)),
                None => Err((start, format!("\"{word}\" is not a number"))),
            };
        }
        match word {
            "True" => return Ok(Expr::Number(1.0)),
            "False" => return Ok(Expr::Number(0.0)),
            _ => {}
        }
        if !self.take("(") {
            return Ok(Expr::Name(word.to_owned()));
        }
        self.depth += 1;
        let mut arguments = vec![self.nested(Self::or)?];
        while self.take(",") {
            arguments.push(self.nested(Self::or)?);
        }
        self.expect(")")?;
        self.depth -= 1;
        Ok(Expr::Apply(word.to_owned(), arguments))
    }
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl Expr {
    /// The value, where `lookup` knows the names.
    ///
    /// # Errors
    /// A name or function that nobody knows, text where a number is needed, a division by zero.
    pub fn value(&self, lookup: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
        let truth = |b: bool| f64::from(u8::from(b));
        Ok(match self {
            Expr::Number(x) => *x,
            Expr::Text(text) => return Err(format!("\"{text}\" is text, not a number")),
            Expr::Name(name) => lookup(name).ok_or_else(|| format!("{name} is not known here"))?,
            Expr::Not(x) => truth(x.value(lookup)? == 0.0),
            Expr::Minus(x) => -x.value(lookup)?,
            Expr::And(a, b) => truth(a.value(lookup)? != 0.0 && b.value(lookup)? != 0.0),
            Expr::Or(a, b) => truth(a.value(lookup)? != 0.0 || b.value(lookup)? != 0.0),
            Expr::Binary(a, operator, b) => operate(a.value(lookup)?, *operator, b.value(lookup)?)?,
            Expr::Compare(first, chain) => {
                let mut left = first.value(lookup)?;
                for (comparison, expr) in chain {
                    let right = expr.value(lookup)?;
                    if !holds(left, *comparison, right) {
                        return Ok(0.0);
                    }
                    left = right;
                }
                1.0
            }
            Expr::Apply(function, arguments) => {
                let values = arguments.iter().map(|a| a.value(lookup)).collect::<Result<Vec<f64>, _>>()?;
                match (function.as_str(), values.as_slice()) {
                    ("abs", [x]) => x.abs(),
                    ("int", [x]) => x.trunc(),
                    ("float", [x]) => *x,
                    ("min", [first, more @ ..]) => more.iter().fold(*first, |a, b| a.min(*b)),
                    ("max", [first, more @ ..]) => more.iter().fold(*first, |a, b| a.max(*b)),
                    _ => return Err(format!("{function} with {} arguments is not known here", values.len())),
                }
            }
        })
    }

    /// The names in it with their values, `a = 1, b = 2`: what to show when it does not hold.
    pub fn values_of_names(&self, lookup: &dyn Fn(&str) -> Option<f64>) -> String {
        let mut names = Vec::new();
        self.names(&mut names);
        let mut text = String::new();
        for name in names {
            if let Some(value) = lookup(name) {
                let comma = if text.is_empty() { "" } else { ", " };
                write!(text, "{comma}{name} = {value}").expect("a string takes what is written to it");
            }
        }
        text
    }

    fn names<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Expr::Number(_) | Expr::Text(_) => {}
            Expr::Name(name) => {
                if !into.contains(&name.as_str()) {
                    into.push(name);
                }
            }
            Expr::Not(x) | Expr::Minus(x) => x.names(into),
            Expr::Binary(a, _, b) | Expr::And(a, b) | Expr::Or(a, b) => {
                a.names(into);
                b.names(into);
            }
            Expr::Compare(first, chain) => {
                first.names(into);
                chain.iter().for_each(|(_, x)| x.names(into));
            }
            Expr::Apply(_, arguments) => arguments.iter().for_each(|x| x.names(into)),
        }
    }
}

fn operate(a: f64, operator: Operator, b: f64) -> Result<f64, String> {
    use Operator::{Divide, FloorDivide, Remainder};
    if b == 0.0 && matches!(operator, Divide | FloorDivide | Remainder) {
        return Err("division by zero".to_owned());
    }
    Ok(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Divide => a / b,
        FloorDivide => (a / b).floor(),
        Remainder => a - b * (a / b).floor(),
        Operator::BitAnd => (a as i64 & b as i64) as f64,
        Operator::BitOr => (a as i64 | b as i64) as f64,
    })
}

fn holds(a: f64, comparison: Comparison, b: f64) -> bool {
    match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
        Comparison::Less => a < b,
        Comparison::LessOrEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterOrEqual => a >= b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(code: &str) -> Result<f64, String> {
        let statements = parse(&format!("assert {code}, x")).map_err(|(at, message)| format!("{at}: {message}"))?;
        let [Statement::Assert(expr, _)] = statements.as_slice() else { return Err(format!("{statements:?}")) };
        expr.value(&|name| (name == "x").then_some(7.0))
    }

    /// Values that Python gives.
    #[test]
    fn expressions_are_pythons() {
        for (code, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3 == 9", 1.0),
            ("-7 // 2", -4.0),
            ("-7 % 3", 2.0),
            ("7 / 2", 3.5),
            ("not x == 7", 0.0),
            ("5 < x <= 7 and x != 8 or False", 1.0),
            ("5 < x < 7", 0.0),
            ("abs(3 - x) + max(1, 2, 3) - min(x, 2)", 5.0),
            ("0x10 | 1", 17.0),
            ("x & 4", 4.0),
        ] {
            assert_eq!(value(code), Ok(expected), "{code}");
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        assert_eq!(value("tcpi_foo == 1"), Err("tcpi_foo is not known here".to_owned()));
        assert_eq!(value("round(x)"), Err("round with 1 arguments is not known here".to_owned()));
        let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
        assert!(value(&deep).unwrap_err().contains("more than 100 deep"));
        assert_eq!(value("1 / 0"), Err("division by zero".to_owned()));
        assert!(value("1 +").unwrap_err().contains("expected a number or a name"));
    }

    #[test]
    fn statements_end_at_semicolons_and_lines() {
        let statements = parse("print(x, 'x');\n assert (x ==\n 7), 'x is %d' % x # no more\n import sys").unwrap();
        assert!(matches!(&statements[0], Statement::Print(list) if list.len() == 2), "{statements:?}");
        assert!(matches!(&statements[1], Statement::Assert(_, text) if text.starts_with("(x ==")), "{statements:?}");
        assert_eq!(statements[2], Statement::Unknown("import sys".to_owned()));
    }
}
