//! What stands in `%{ … }%`: the part of Python that scripts use to look at `tcp_info`.

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `assert condition, message`: the condition and its text.
    Assert(Expr, String),
    /// `print(a, b)`: each argument with its text.
    Print(Vec<(Expr, String)>),
    /// `name = expression`.
    Assign(String, Expr),
    /// Something else, as written.
    Unknown(String),
}

/// An expression. Operators of one level are a list, however many, so that no chain of them is deep; what is nested is
/// at most [`MAX_DEPTH`] deep.
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
    /// `a + b - c`: arithmetic or bit operations of one level, from left to right.
    Binary(Box<Expr>, Vec<(Operator, Expr)>),
    /// `a <= b < c`.
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    /// `a and b and c`.
    And(Vec<Expr>),
    /// `a or b or c`.
    Or(Vec<Expr>),
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

/// The value of an expression of numbers.
pub fn evaluate(code: &str) -> Result<f64, String> {
    let mut parser = Parser { code, at: 0, depth: 0, nesting: 0 };
    let expr = parser.or().map_err(|(_, message)| message)?;
    parser.blanks();
    if parser.rest().is_empty() { expr.value(&|_| None) } else { Err(format!("unexpected {}", parser.found())) }
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
        let name = &self.rest()[..self.rest().find(|c| !in_name(c)).unwrap_or(self.rest().len())];
        self.at += name.len();
        if !name.is_empty() && self.take("=") && !self.rest().starts_with('=') {
            return Ok(Statement::Assign(name.to_owned(), self.or()?));
        }
        self.at = start;
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

    /// `operand`s with the word between them.
    fn words(
        &mut self,
        word: &str,
        operand: fn(&mut Self) -> Parsed<Expr>,
        make: fn(Vec<Expr>) -> Expr,
    ) -> Parsed<Expr> {
        let first = operand(self)?;
        if !self.word(word) {
            return Ok(first);
        }
        let mut all = vec![first, operand(self)?];
        while self.word(word) {
            all.push(operand(self)?);
        }
        Ok(make(all))
    }

    fn or(&mut self) -> Parsed<Expr> {
        self.words("or", Self::and, Expr::Or)
    }

    fn and(&mut self) -> Parsed<Expr> {
        self.words("and", Self::not, Expr::And)
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
        let first = self.binary(level + 1)?;
        let mut chain = Vec::new();
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.take(symbol)) {
            chain.push((*operator, self.binary(level + 1)?));
        }
        Ok(if chain.is_empty() { first } else { Expr::Binary(Box::new(first), chain) })
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
            Expr::And(all) => {
                for x in all {
                    if x.value(lookup)? == 0.0 {
                        return Ok(0.0);
                    }
                }
                1.0
            }
            Expr::Or(all) => {
                for x in all {
                    if x.value(lookup)? != 0.0 {
                        return Ok(1.0);
                    }
                }
                0.0
            }
            Expr::Binary(first, chain) => {
                let left = first.value(lookup)?;
                chain.iter().try_fold(left, |left, (operator, x)| operate(left, *operator, x.value(lookup)?))?
            }
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
        let mut values = Vec::new();
        self.each_name(&mut |name| {
            if values.iter().all(|(other, _)| *other != name)
                && let Some(value) = lookup(name)
            {
                values.push((name, value));
            }
        });
        values.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    }

    /// Whether all names in it are known.
    pub fn knows(&self, lookup: &dyn Fn(&str) -> Option<f64>) -> bool {
        let mut all = true;
        self.each_name(&mut |name| all &= lookup(name).is_some());
        all
    }

    fn each_name<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Expr::Number(_) | Expr::Text(_) => {}
            Expr::Name(name) => each(name),
            Expr::Not(x) | Expr::Minus(x) => x.each_name(each),
            Expr::Binary(first, chain) => {
                first.each_name(each);
                chain.iter().for_each(|(_, x)| x.each_name(each));
            }
            Expr::Compare(first, chain) => {
                first.each_name(each);
                chain.iter().for_each(|(_, x)| x.each_name(each));
            }
            Expr::And(all) | Expr::Or(all) | Expr::Apply(_, all) => all.iter().for_each(|x| x.each_name(each)),
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
        assert_eq!(value("1 / 0"), Err("division by zero".to_owned()));
        assert!(value("1 +").unwrap_err().contains("expected a number or a name"));
    }

    /// A chain is as long as it likes: sums and comparisons, `and` and `or`, read, evaluated and dropped.
    #[test]
    fn chains_are_not_deep() {
        let long =
            |term: &str, operator: &str, n: usize| format!("{term}{}", format!("{operator}{term}").repeat(n - 1));
        assert_eq!(value(&long("1", "+", 2_000_000)), Ok(2e6));
        let n = 100_000;
        let chain = |term, operator| long(term, operator, n);
        assert_eq!(value(&chain("x", "-")), Ok(7.0 * (2.0 - n as f64)));
        for (operator, of_sevens) in [("*", f64::INFINITY), ("&", 7.0), ("|", 7.0), ("==", 1.0), (" and ", 1.0)] {
            assert_eq!(value(&chain("x", operator)), Ok(of_sevens), "{operator}");
        }
        assert_eq!(value(&chain("0", " or ")), Ok(0.0));
        let statements = parse(&format!("assert {}", chain("x", "+"))).unwrap();
        let Statement::Assert(sum, _) = &statements[0] else { panic!() };
        assert_eq!(sum.clone().values_of_names(&|name| (name == "x").then_some(7.0)), "x = 7");
    }

    /// What is nested has a limit, which the message names.
    #[test]
    fn nesting_is_limited() {
        let n = 100_000;
        for (open, close) in [("(", ")"), ("-", ""), ("not ", ""), ("abs(", ")"), ("1+(", ")"), ("1 == -(not ", ")")] {
            let code = format!("{}x{}", open.repeat(n), close.repeat(n));
            assert!(value(&code).unwrap_err().contains("this is nested more than 100 deep"), "{open}");
            let code = format!("{}x{}", open.repeat(33), close.repeat(33));
            assert!(value(&code).is_ok(), "{open}");
        }
    }

    #[test]
    fn statements_end_at_semicolons_and_lines() {
        let statements = parse("print(x, 'x');\n assert (x ==\n 7), 'x is %d' % x # no more\n import sys").unwrap();
        assert!(matches!(&statements[0], Statement::Print(list) if list.len() == 2), "{statements:?}");
        assert!(matches!(&statements[1], Statement::Assert(_, text) if text.starts_with("(x ==")), "{statements:?}");
        assert_eq!(statements[2], Statement::Unknown("import sys".to_owned()));
    }
}
