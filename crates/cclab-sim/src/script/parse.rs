//! From text to a [`Script`]: packetdrill's language, by recursive descent.
//!
//! Written from the published syntax. Lines mean nothing but the end of a comment: an event ends where the
//! next time begins.

use super::ast::{Call, Ecn, Event, Opt, Options, Packet, Point, Script, Setting, Value, What, When};
use super::cookie;
use super::expr;
use crate::wire::{AccEcn, Cookie, Flags};
use cclab_algo::Duration;

/// A script that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Reads a script.
///
/// # Errors
/// The first place at which `text` is not a script. Things of packetdrill's that cclab cannot do (UDP, ICMP)
/// are read; running them fails with their name.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    let mut parser = Parser { text, at: 0, seen: (0, 1) };
    parser.script().map_err(|Fault { at, message }| {
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        ParseError { line: line_of(before), column: before[line_start..].chars().count() + 1, message }
    })
}

fn line_of(before: &str) -> usize {
    before.matches('\n').count() + 1
}

/// Lists inside each other; more is not a script.
const MAX_DEPTH: usize = 20;

/// Three years: longer than any script, and sums of it are far from the end of time.
pub(super) const MAX_SECONDS: f64 = 1e8;

struct Fault {
    at: usize,
    message: String,
}

type Parsed<T> = Result<T, Fault>;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// A place before `at`, and its line.
    seen: (usize, usize),
}

impl<'a> Parser<'a> {
    fn script(&mut self) -> Parsed<Script> {
        let mut script = Script { directives: self.directives()?, ..Script::default() };
        loop {
            self.blanks()?;
            if self.rest().is_empty() {
                return match script.events.is_empty() {
                    true => self.fault("the script is empty: expected an event such as +0 close(3) = 0"),
                    false => Ok(script),
                };
            }
            if let Some(option) = self.option_line() {
                script.options.push(option);
            } else {
                script.events.push(self.event()?);
            }
        }
    }

    // Words and symbols.

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&mut self) -> usize {
        let (from, line) = self.seen;
        // Looking ahead may have gone further than this.
        self.seen = if from <= self.at {
            (self.at, line + line_of(&self.text[from..self.at]) - 1)
        } else {
            (self.at, line_of(&self.text[..self.at]))
        };
        self.seen.1
    }

    fn fault<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(Fault { at: self.at, message: message.into() })
    }

    fn found(&self) -> String {
        let word = self.rest().split_whitespace().next().unwrap_or("");
        if word.is_empty() { "the end of the script".to_owned() } else { format!("\"{word}\"") }
    }

    /// Passes over white space and comments.
    fn blanks(&mut self) -> Parsed<()> {
        loop {
            let rest = self.rest().trim_start();
            self.at = self.text.len() - rest.len();
            if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => return self.fault("this comment has no end: expected */"),
                }
            } else if rest.starts_with("//") || rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                return Ok(());
            }
        }
    }

    fn take(&mut self, symbol: &str) -> Parsed<bool> {
        self.blanks()?;
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        Ok(found)
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.take(symbol)? { Ok(()) } else { self.fault(format!("expected {symbol}, found {}", self.found())) }
    }

    fn peek_word(&mut self) -> Parsed<&'a str> {
        self.blanks()?;
        let rest = self.rest();
        Ok(&rest[..rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len())])
    }

    fn take_word(&mut self, word: &str) -> Parsed<bool> {
        let found = self.peek_word()? == word;
        if found {
            self.at += word.len();
        }
        Ok(found)
    }

    /// A whole number up to `max`.
    fn number(&mut self, what: &str, max: u64) -> Parsed<u64> {
        let word = self.peek_word()?;
        let number = match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => word.parse().ok(),
        };
        match number {
            Some(n) if n <= max => {
                self.at += word.len();
                Ok(n)
            }
            Some(n) => self.fault(format!("{what}: {n} is more than {max}")),
            None if word.starts_with(|c: char| c.is_ascii_digit()) => {
                self.fault(format!("{what}: expected a number up to {max}, found {}", self.found()))
            }
            None => self.fault(format!("{what}: expected a number, found {}", self.found())),
        }
    }

    /// The text up to `end`, which is passed over too.
    fn until(&mut self, end: &str, what: &str) -> Parsed<&'a str> {
        let rest = self.rest();
        match rest.find(end) {
            Some(length) => {
                self.at += length + end.len();
                Ok(&rest[..length])
            }
            None => self.fault(format!("{what} has no end: expected {end}")),
        }
    }

    fn rest_of_line(&mut self) -> &'a str {
        let rest = self.rest();
        let line = rest.lines().next().unwrap_or("");
        self.at += line.len();
        line.trim()
    }

    // The head of a script.

    /// `// cclab: key = value, key = value`, a comment to every other reader.
    fn directives(&self) -> Parsed<Vec<Setting>> {
        let mut settings = Vec::new();
        let mut start = 0;
        for (index, line) in self.text.split('\n').enumerate() {
            if let Some(list) = line.trim_start().strip_prefix("// cclab:") {
                for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
                    let Some((key, value)) = item.split_once('=') else {
                        let at = start + line.find(item).unwrap_or(0);
                        return Err(Fault { at, message: format!("\"{item}\": expected key = value") });
                    };
                    let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
                    settings.push(Setting { line: index + 1, key, value });
                }
            }
            start += line.len() + 1;
        }
        Ok(settings)
    }

    fn option_line(&mut self) -> Option<Setting> {
        let line = self.line();
        self.rest().strip_prefix("--")?;
        let text = self.rest_of_line().split_whitespace().next().unwrap_or("");
        let (key, value) = text[2..].split_once('=').unwrap_or((&text[2..], ""));
        Some(Setting { line, key: key.to_owned(), value: value.to_owned() })
    }

    // Events.

    fn event(&mut self) -> Parsed<Event> {
        let line = self.line();
        let start = Point { relative: true, offset: Duration::ZERO };
        if self.rest().starts_with('`') {
            return Ok(Event { line, when: When::At(start), what: self.shell()? });
        }
        let when = self.when()?;
        self.blanks()?;
        let line = self.line();
        let rest = self.rest();
        let what = if rest.starts_with('`') {
            self.shell()?
        } else if rest.starts_with("%{") {
            self.code()?
        } else if rest.starts_with('<') {
            self.at += 1;
            self.packet(true)?
        } else if rest.starts_with('>') {
            self.at += 1;
            self.packet(false)?
        } else if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            What::Call(self.call()?)
        } else {
            return self.fault(format!(
                "expected a packet (< or >), a system call, %{{ code }}% or `a command`, found {}",
                self.found()
            ));
        };
        Ok(Event { line, when, what })
    }

    fn shell(&mut self) -> Parsed<What> {
        self.at += 1;
        Ok(What::Shell(self.until("`", "this command")?.to_owned()))
    }

    fn code(&mut self) -> Parsed<What> {
        self.at += 2;
        let start = self.at;
        let code = self.until("}%", "this code")?;
        // A line may go on after a backslash.
        let code = code.replace("\\\n", "  ");
        let statements =
            expr::parse(&code).map_err(|(offset, message)| Fault { at: start + offset.min(code.len()), message })?;
        Ok(What::Code(statements))
    }

    fn when(&mut self) -> Parsed<When> {
        if self.take("*")? {
            return Ok(When::Any);
        }
        let start = self.point()?;
        if self.take("~")? {
            let end = self.point()?;
            if end.relative == start.relative && end.offset < start.offset {
                return self.fault("this range ends before it begins");
            }
            // `+.1~.2` counts both from the previous event.
            return Ok(When::Between(start, Point { relative: start.relative || end.relative, ..end }));
        }
        if self.take("...")? {
            return Ok(When::Lasting(start, self.point()?));
        }
        Ok(When::At(start))
    }

    fn point(&mut self) -> Parsed<Point> {
        let relative = self.take("+")?;
        self.blanks()?;
        let rest = self.rest();
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let whole = digits(rest);
        let fraction = rest[whole..].strip_prefix('.').map_or(0, digits);
        let length = whole + if fraction > 0 { fraction + 1 } else { 0 };
        match rest[..length].parse::<f64>() {
            Ok(seconds) if seconds > MAX_SECONDS => {
                self.fault(format!("{} s is too late: at most {MAX_SECONDS} s", &rest[..length]))
            }
            Ok(seconds) => {
                self.at += length;
                Ok(Point { relative, offset: Duration::from_secs_f64(seconds) })
            }
            Err(_) => self.fault(format!("expected a time such as +.1, 0.25 or *, found {}", self.found())),
        }
    }

    // Packets.

    fn packet(&mut self, inject: bool) -> Parsed<What> {
        let ecn = match self.ecn()? {
            Ok(ecn) => ecn,
            Err(field) => return Ok(self.unsupported(format!("the IP field {field}"))),
        };
        self.blanks()?;
        let word = self.rest().split_whitespace().next().unwrap_or("");
        if word.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()) {
            let protocol = self.peek_word()?.to_owned();
            if protocol == "icmp" && inject {
                return self.icmp();
            }
            return Ok(self.unsupported(format!("{protocol} packets")));
        }
        let mut flags = Flags::default();
        for letter in word.chars() {
            flags = flags
                | match letter {
                    'S' => Flags::SYN,
                    'F' => Flags::FIN,
                    'R' => Flags::RST,
                    'P' => Flags::PSH,
                    '.' => Flags::ACK,
                    'E' => Flags::ECE,
                    'W' => Flags::CWR,
                    'A' => Flags::AE,
                    '0'..='7' => Flags::of_ace(letter as u32 - '0' as u32),
                    '-' => Flags::default(),
                    'U' | '8' | '9' => return Ok(self.unsupported(format!("the flag {letter}"))),
                    _ => {
                        return self.fault(format!("expected flags out of S F R P . E W A, found {}", self.found()));
                    }
                };
        }
        self.at += word.len();
        let (seq, len) = self.sequence()?;
        let ack = if self.take_word("ack")? { Some(self.number("ack", u64::from(u32::MAX))?) } else { None };
        let window = if self.take_word("win")? { Some(self.number("win", 65535)? as u16) } else { None };
        if self.take_word("urg")? {
            return Ok(self.unsupported("urgent data".to_owned()));
        }
        let options = match self.options()? {
            Ok(options) => options,
            Err(option) => {
                let unsupported = self.unsupported(format!("the TCP option {option}"));
                return Ok(if inject && option == "md5" { What::Signed } else { unsupported });
            }
        };
        let packet = Packet { ecn, flags, seq, len, ack, window, options };
        Ok(if inject { What::Inject(packet) } else { What::Expect(packet) })
    }

    /// `icmp unreachable frag_needed mtu 840 [0:1000(1000)]`.
    fn icmp(&mut self) -> Parsed<What> {
        self.at += "icmp".len();
        let kind = self.peek_word()?;
        self.at += kind.len();
        let code = self.peek_word()?;
        self.at += code.len();
        let mtu = if self.take_word("mtu")? { Some(self.number("mtu", 65_535)? as u32) } else { None };
        let quoted = if self.take("[")? {
            let (seq, _) = self.sequence()?;
            self.expect("]")?;
            Some(seq)
        } else {
            None
        };
        Ok(match kind {
            "unreachable" => What::Unreachable { code: code.to_owned(), mtu, quoted },
            _ => What::Unsupported(format!("icmp {kind}")),
        })
    }

    fn unsupported(&mut self, what: String) -> What {
        self.rest_of_line();
        What::Unsupported(what)
    }

    fn sequence(&mut self) -> Parsed<(u64, u32)> {
        let start = self.number("sequence number", u64::from(u32::MAX))?;
        self.expect(":")?;
        let end = self.number("end of the sequence", u64::from(u32::MAX))?;
        self.expect("(")?;
        let length = self.number("payload length", u64::from(u32::MAX))?;
        if start + length != end {
            return self.fault(format!("{start}:{end} does not hold {length} bytes"));
        }
        self.expect(")")?;
        Ok((start, length as u32))
    }

    /// `[ect0]` and its like; `Err` names another field of the IP header.
    fn ecn(&mut self) -> Parsed<Result<Option<Ecn>, String>> {
        if !self.take("[")? {
            return Ok(Ok(None));
        }
        let mut ecn = None;
        for field in self.until("]", "this list of IP fields")?.split(',').map(str::trim) {
            ecn = Some(match field {
                "noecn" => Ecn::NotEct,
                "ect0" => Ecn::Ect0,
                "ect1" => Ecn::Ect1,
                "ect01" => Ecn::Either,
                "ce" => Ecn::Ce,
                other => return Ok(Err(other.to_owned())),
            });
        }
        Ok(Ok(ecn))
    }

    /// `<mss 1000,sackOK>`; `Err` names an option that cclab does not have.
    fn options(&mut self) -> Parsed<Result<Options, String>> {
        let mut options = Vec::new();
        self.blanks()?;
        // `+0 < …` begins with a time, so a `<` here opens options.
        if !self.take("<")? {
            return Ok(Ok(Options::These(options)));
        }
        if self.take("...")? {
            self.expect(">")?;
            return Ok(Ok(Options::Any));
        }
        if self.take(">")? {
            return Ok(Ok(Options::These(options)));
        }
        loop {
            match self.peek_word()? {
                word @ ("nop" | "eol" | "EOL" | "NOP") => self.at += word.len(),
                "sackOK" => {
                    self.at += 6;
                    options.push(Opt::SackPermitted);
                }
                "mss" => {
                    self.at += 3;
                    options.push(Opt::Mss(self.number("mss", 65535)? as u16));
                }
                "wscale" => {
                    self.at += 6;
                    options.push(Opt::WindowScale(self.number("wscale", 255)? as u8));
                }
                "TS" => {
                    self.at += 2;
                    options.push(self.timestamps()?);
                }
                "sack" => {
                    self.at += 4;
                    options.push(self.sack()?);
                }
                "ECN" => {
                    self.at += 3;
                    options.push(self.accecn()?);
                }
                word @ ("FO" | "FOEXP") => {
                    self.at += word.len();
                    match self.cookie(word == "FOEXP")? {
                        Ok(cookie) => options.push(Opt::FastOpen(cookie)),
                        Err(what) => return Ok(Err(what)),
                    }
                }
                "" => return self.fault(format!("expected a TCP option, found {}", self.found())),
                other => return Ok(Err(other.to_owned())),
            }
            if self.take(">")? {
                return Ok(Ok(Options::These(options)));
            }
            self.expect(",")?;
        }
    }

    /// A cookie in hexadecimal, that of this host by its name, or none; `Err` names one that has no room.
    fn cookie(&mut self, experimental: bool) -> Parsed<Result<Cookie, String>> {
        let word = self.peek_word()?;
        let bytes: Vec<u8> = match word {
            "TFO_COOKIE" => cookie::cookie(cookie::DEFAULT_KEY, [192, 0, 2, 1], [192, 168, 0, 1]).bytes().to_vec(),
            "TFO_COOKIE_ZERO" => cookie::cookie([0, 0], [192, 0, 2, 1], [192, 168, 0, 1]).bytes().to_vec(),
            _ if word.len() % 2 == 0 && word.bytes().all(|c| c.is_ascii_hexdigit()) => (0..word.len() / 2)
                .map(|i| u8::from_str_radix(&word[2 * i..2 * i + 2], 16).expect("it is hexadecimal"))
                .collect(),
            _ => return self.fault(format!("expected a cookie in hexadecimal, found {}", self.found())),
        };
        self.at += word.len();
        Ok(Cookie::new(&bytes, experimental).ok_or_else(|| format!("FO with a cookie of {} bytes", bytes.len())))
    }

    fn timestamps(&mut self) -> Parsed<Opt> {
        let mut values = [0; 2];
        for (name, value) in ["val", "ecr"].into_iter().zip(&mut values) {
            if !self.take_word(name)? {
                return self.fault(format!("expected {name}, found {}", self.found()));
            }
            *value = self.number(name, u64::from(u32::MAX))? as u32;
        }
        Ok(Opt::Timestamps(values[0], values[1]))
    }

    /// The fields in the order in which they travel, which the first tells.
    fn accecn(&mut self) -> Parsed<Opt> {
        let kind = if self.peek_word()? == "e1b" { AccEcn::ECT1_FIRST } else { AccEcn::ECT0_FIRST };
        let mut option = AccEcn { kind, len: 0, fields: [0; 3] };
        for (field, name) in option.fields.iter_mut().zip(AccEcn::names(kind)) {
            if !self.take_word(name)? {
                break;
            }
            *field = self.number(name, 0xff_ffff)? as u32;
            option.len += 1;
        }
        Ok(Opt::AccEcn(option))
    }

    fn sack(&mut self) -> Parsed<Opt> {
        let mut blocks = Vec::new();
        while self.peek_word()?.starts_with(|c: char| c.is_ascii_digit()) {
            let start = self.number("sack", u64::from(u32::MAX))? as u32;
            self.expect(":")?;
            blocks.push((start, self.number("sack", u64::from(u32::MAX))? as u32));
        }
        match blocks.len() {
            0 => self.fault("a sack option needs at least one block start:end"),
            1..=4 => Ok(Opt::Sack(blocks)),
            n => self.fault(format!("a sack option has room for 4 blocks, found {n}")),
        }
    }

    // System calls.

    fn call(&mut self) -> Parsed<Call> {
        let name = self.peek_word()?.to_owned();
        self.at += name.len();
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.take(")")? {
            args.push(self.value(0)?);
            if !self.take(",")? {
                self.expect(")")?;
                break;
            }
        }
        self.expect("=")?;
        let result = self.value(0)?;
        let errno = match self.peek_word()? {
            word if word.starts_with('E') => {
                self.at += word.len();
                Some(word.to_owned())
            }
            _ => None,
        };
        if self.take("(")? {
            self.until(")", "this remark")?;
        }
        Ok(Call { name, args, result, errno })
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        self.blanks()?;
        if depth > MAX_DEPTH {
            return self.fault(format!("this is nested more than {MAX_DEPTH} deep"));
        }
        let rest = self.rest();
        if self.take("...")? {
            return Ok(Value::Whatever);
        }
        if self.take("[")? {
            let mut list = Vec::new();
            while !self.take("]")? {
                list.push(self.value(depth + 1)?);
                if !self.take(",")? {
                    self.expect("]")?;
                    break;
                }
            }
            return Ok(Value::List(list));
        }
        if rest.starts_with('{') {
            let mut depth = 0;
            for (i, c) in rest.char_indices() {
                depth += i32::from(c == '{') - i32::from(c == '}');
                if depth == 0 {
                    self.at += i + 1;
                    return Ok(Value::Text(rest[..=i].to_owned()));
                }
            }
            return self.fault("this structure has no end: expected }");
        }
        if self.take("\"")? {
            return Ok(Value::Text(self.until("\"", "this text")?.to_owned()));
        }
        let negative = self.take("-")?;
        if self.peek_word()?.starts_with(|c: char| c.is_ascii_digit()) {
            let mut number = self.number("value", i64::MAX as u64)? as i64;
            // Without blanks: a `*` on the next line is a time.
            while self.rest().starts_with('*') {
                self.at += 1;
                let factor = self.number("value", i64::MAX as u64)? as i64;
                match number.checked_mul(factor) {
                    Some(product) => number = product,
                    None => return self.fault(format!("value: {number}*{factor} is more than {}", i64::MAX)),
                }
            }
            return Ok(Value::Number(if negative { -number } else { number }));
        }
        let mut symbol = String::new();
        loop {
            let word = self.peek_word()?;
            if word.is_empty() {
                return self.fault(format!("expected a value, found {}", self.found()));
            }
            symbol.push_str(word);
            self.at += word.len();
            if !self.take("|")? {
                return Ok(Value::Symbol(symbol));
            }
            symbol.push('|');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Flags;

    fn one(text: &str) -> Event {
        let mut script = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(script.events.len(), 1, "{text}");
        script.events.remove(0)
    }

    fn packet(text: &str) -> Packet {
        match one(text).what {
            What::Inject(packet) | What::Expect(packet) => packet,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn times_are_points_ranges_and_durations() {
        let ms = |relative, ms| Point { relative, offset: Duration::from_millis(ms) };
        for (text, when) in [
            ("0 close(3) = 0", When::At(ms(false, 0))),
            ("+.1 close(3) = 0", When::At(ms(true, 100))),
            ("1.25 close(3) = 0", When::At(ms(false, 1250))),
            ("* > . 1:1(0)", When::Any),
            ("+.1~+.2 > . 1:1(0)", When::Between(ms(true, 100), ms(true, 200))),
            ("+.1~.2 > . 1:1(0)", When::Between(ms(true, 100), ms(true, 200))),
            ("0.1~0.2 > . 1:1(0)", When::Between(ms(false, 100), ms(false, 200))),
            ("+0...0.2 read(3, ..., 1) = 1", When::Lasting(ms(true, 0), ms(false, 200))),
            ("+0 ... +.2 read(3, ..., 1) = 1", When::Lasting(ms(true, 0), ms(true, 200))),
        ] {
            assert_eq!(one(text).when, when, "{text}");
        }
    }

    #[test]
    fn packets_have_flags_numbers_and_options() {
        let syn = packet("+0 < [ect0] SEW 0:0(0) win 32792 <mss 1000,sackOK,TS val 100 ecr 0,nop,wscale 7>");
        assert_eq!(syn.flags, Flags::SYN | Flags::ECE | Flags::CWR);
        assert_eq!((syn.ecn, syn.window, syn.ack), (Some(Ecn::Ect0), Some(32792), None));
        let options = vec![Opt::Mss(1000), Opt::SackPermitted, Opt::Timestamps(100, 0), Opt::WindowScale(7)];
        assert_eq!(syn.options, Options::These(options));

        let sack = packet("+0 > P. 1:1001(1000) ack 1 <nop, nop, sack 2001:3001 4001:5001>");
        assert_eq!((sack.seq, sack.len, sack.ack), (1, 1000, Some(1)));
        assert_eq!(sack.options, Options::These(vec![Opt::Sack(vec![(2001, 3001), (4001, 5001)])]));
        assert_eq!(packet("+0 > S. 0:0(0) ack 1 <...>").options, Options::Any);
        assert_eq!(packet("+0 > . 1:1(0) ack 1").options, Options::These(vec![]));
    }

    /// A packet printed and read again is the same packet.
    #[test]
    fn packets_survive_printing() {
        for text in [
            "[noecn] S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK,nop,wscale 7>",
            "[ect0] . 1:1461(1460) ack 1 win 512 <nop,nop,TS val 3 ecr 100>",
            "S 0:0(0) win 65535 <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 8>",
            "[noecn] S 0:9(9) win 65535 <mss 1460,FO abcd1234>",
            "[noecn] S. 0:0(0) ack 1 win 65535 <mss 1460,FOEXP 0123456789ab>",
            "[noecn] S 0:0(0) win 65535 <mss 1460,FO>",
            "[ce] PFEW. 5:6(1) ack 4294967295 win 0 <nop,nop,sack 1:2 3:4 5:6>",
            ". 1:1(0) ack 1 <...>",
        ] {
            let first = packet(&format!("+0 > {text}"));
            assert_eq!(packet(&format!("+0 > {first}")), first, "{first}");
            let segment = first.to_segment();
            if first.window.is_some() && first.ecn.is_some() {
                assert_eq!(Packet::of_segment(&segment), first);
            }
        }
        assert_eq!(
            packet("+0 < S 0:0(0) win 9 <mss 1000,sackOK,wscale 7>").to_string(),
            "S 0:0(0) win 9 <mss 1000,nop,nop,sackOK,nop,wscale 7>"
        );
    }

    #[test]
    fn calls_have_values_results_and_errors() {
        let What::Call(call) = one("0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [2*1000], 4) = 0").what else { panic!() };
        assert_eq!(call.args[3], Value::List(vec![Value::Number(2000)]));
        let What::Call(call) = one("+0 connect(3, ..., ...) = -1 EINPROGRESS (now in progress)").what else { panic!() };
        assert_eq!((call.result, call.errno.as_deref()), (Value::Number(-1), Some("EINPROGRESS")));
        let What::Call(call) = one("+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0").what else { panic!() };
        assert_eq!(call.args[2], Value::Symbol("O_RDWR|O_NONBLOCK".into()));
        let What::Call(call) = one("+0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)").what else { panic!() };
        assert_eq!(call.result, Value::Number(2));
        let What::Call(call) = one("+0 poll([{fd=3, events=POLLIN}], 1, 0) = 0").what else { panic!() };
        assert_eq!(call.args[0], Value::List(vec![Value::Text("{fd=3, events=POLLIN}".into())]));
    }

    #[test]
    fn the_head_and_the_comments() {
        let script = parse(
            "// cclab: profile = classic, recovery = newreno\n--tolerance_usecs=10000\n\
             `../common/defaults.sh\nsysctl -q net.ipv4.tcp_sack=0`\n/* two\nlines */ # three\n\
             0 `true`\n+0 %{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%\n+0 < udp (1000)\n+0 > . 1:1(0) win 1 <md5 0>\n+0 < . 1:1(0) win 1 <md5 0>\n",
        )
        .unwrap();
        let keys: Vec<&str> = script.directives.iter().map(|d| d.key.as_str()).collect();
        assert_eq!(keys, ["profile", "recovery"]);
        assert_eq!(script.options, [Setting { line: 2, key: "tolerance_usecs".into(), value: "10000".into() }]);
        let lines: Vec<usize> = script.events.iter().map(|e| e.line).collect();
        assert_eq!(lines, [3, 7, 8, 9, 10, 11]);
        assert!(matches!(&script.events[3].what, What::Unsupported(what) if what == "udp packets"));
        assert!(matches!(&script.events[4].what, What::Unsupported(what) if what == "the TCP option md5"));
        assert!(matches!(&script.events[5].what, What::Signed));
    }

    #[test]
    fn errors_name_the_place() {
        for (text, line, column, message) in [
            ("\n  < . 1:1(0)", 2, 3, "expected a time such as +.1, 0.25 or *, found \"<\""),
            ("+0 < . 1:1001(999) ack 1", 1, 18, "1:1001 does not hold 999 bytes"),
            ("+0 < X 0:0(0)", 1, 6, "expected flags out of S F R P . E W A, found \"X\""),
            ("+0 < . 1:1(0) win 65536", 1, 19, "win: 65536 is more than 65535"),
            ("+0 < S 0:0(0) <mss>", 1, 19, "mss: expected a number, found \">\""),
            ("+0 < S 0:0(0) <TS ecr 1>", 1, 19, "expected val, found \"ecr\""),
            ("+0 > . 1:1(0) <sack 1:2", 1, 24, "expected ,, found the end of the script"),
            ("+0 close(3)", 1, 12, "expected =, found the end of the script"),
            ("+0 close(3 = 0", 1, 12, "expected ), found \"=\""),
            ("", 1, 1, "the script is empty: expected an event such as +0 close(3) = 0"),
            ("// only a remark\n", 2, 1, "the script is empty: expected an event such as +0 close(3) = 0"),
            ("+99999999999999999999 close(3) = 0", 1, 2, "99999999999999999999 s is too late: at most 100000000 s"),
            (
                "+0 write(3, ..., 9223372036854775807*2) = 1",
                1,
                39,
                "value: 9223372036854775807*2 is more than 9223372036854775807",
            ),
            (
                "+0 write(3, ..., 99999999999999999999) = 1",
                1,
                18,
                "value: expected a number up to 9223372036854775807, found \"99999999999999999999)\"",
            ),
            ("+0 %{ assert 1e999 }%", 1, 14, "\"1e999\" is out of range"),
            ("+.2~+.1 > . 1:1(0)", 1, 8, "this range ends before it begins"),
            ("+0 %{ assert 1 + }%", 1, 18, "expected a number or a name, found the end"),
            ("+0 %{ assert 1", 1, 6, "this code has no end: expected }%"),
            ("`true", 1, 2, "this command has no end: expected `"),
            ("/* no", 1, 1, "this comment has no end: expected */"),
            ("// cclab: profile", 1, 11, "\"profile\": expected key = value"),
            ("+0 ~", 1, 5, "expected a time such as +.1, 0.25 or *, found the end of the script"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!((error.line, error.column, error.message.as_str()), (line, column, message), "{text}");
        }
    }
}
