//! Quantities as people write them: `"250 Mbit/s"`, `"162 ms"`, `"64 KiB"`, `"0.2 BDP"`, `"1%"`.
//!
//! Numbers are read as exact decimals and units are powers of ten (or two, or 60), so what is written is
//! what runs: no detour through floating point.

use super::error::is_hidden;
use super::reader::{Kind, alternatives, nearest, show};
pub(super) use crate::net::queue::field::Amount;
use cclab_algo::{Duration, Rate, math};
use serde_json::{Value as Json, json};

/// A quantity in SI units (s, bit/s, bytes, a share of 1), for those who write one outside of a scenario.
///
/// # Errors
/// What is wrong with it, or with its `kind`, and what is allowed.
pub fn in_si(kind: &str, text: &str) -> Result<f64, String> {
    let json = text.into();
    match kind {
        "time" => POSITIVE_TIME.read(&json).map(Duration::as_secs_f64),
        "rate" => POSITIVE_RATE.read(&json).map(Rate::as_bps_f64),
        "size" => SIZE.read(&json).map(|bytes| bytes as f64),
        "probability" => Probability.read(&text.parse::<f64>().map_or(json, Json::from)),
        _ => Err(format!("{kind}: a quantity is a time, a rate, a size or a probability")),
    }
}

/// A unit and how many base units it is.
type Unit = (&'static str, u64);

/// Units that are printed come first, in falling order down to 1; other spellings follow.
const TIME_UNITS: &[Unit] = &[
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("µs", 1_000), // U+00B5
    ("μs", 1_000), // U+03BC
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const RATE_UNITS: &[Unit] = &[
    ("Tbit/s", 1_000_000_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("bit/s", 1),
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("Kbit/s", 1_000),
    ("Kbps", 1_000),
    ("bps", 1),
];
/// SI prefixes are powers of ten, binary prefixes powers of two (IEC 80000-13).
const SIZE_UNITS: &[Unit] = &[
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
    ("byte", 1),
    ("bytes", 1),
];
const PACKET_UNITS: &[Unit] = &[("packets", 1), ("packet", 1)];
/// Of a BDP, in billionths.
const BDP_UNITS: &[Unit] = &[("BDP", 1_000_000_000)];

/// Ten years of 365 days: longer than any run.
const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A length of time.
pub(super) struct Times {
    pub(super) min: Duration,
}
/// A length of time, zero allowed.
pub(super) const TIME: Times = Times { min: Duration::ZERO };
/// A length of time, not zero.
pub(super) const POSITIVE_TIME: Times = Times { min: Duration(1) };

/// A rate, up to 10 Tbit/s.
pub(super) struct Rates {
    min: u64,
}
/// A rate, not zero.
pub(super) const POSITIVE_RATE: Rates = Rates { min: 1 };
/// A rate, or none for a while: an outage.
pub(super) const RATE_OR_OUTAGE: Rates = Rates { min: 0 };
/// A size in bytes.
pub(super) struct Sizes {
    pub(super) min: u64,
    pub(super) max: u64,
}
/// A quantity that is not counted in whole units; kept in the first of its units.
pub(super) struct Reals {
    noun: &'static str,
    pub(super) example: &'static str,
    units: &'static [(&'static str, f64)],
    /// Where a number of decibels stands for a power of ten of a thousandth.
    decibels: Option<&'static str>,
    min: f64,
    max: f64,
}
/// A distance, m.
pub(super) const DISTANCE: Reals = Reals {
    noun: "a distance",
    example: "250 m",
    units: &[("m", 1.0), ("km", 1e3)],
    decibels: None,
    min: 0.0,
    max: 1e6,
};
/// A coordinate, m, which may be negative.
pub(super) const COORDINATE: Reals = Reals { min: -DISTANCE.max, ..DISTANCE };
/// A distance, not zero.
pub(super) const POSITIVE_DISTANCE: Reals = Reals { min: 1e-3, ..DISTANCE };
/// A speed, m/s.
pub(super) const SPEED: Reals = Reals {
    noun: "a speed",
    example: "10 m/s",
    units: &[("m/s", 1.0), ("km/h", 1.0 / 3.6)],
    decibels: None,
    min: 0.0,
    max: 1e5,
};
/// A speed, not zero.
pub(super) const POSITIVE_SPEED: Reals = Reals { min: 1e-6, ..SPEED };
/// A power, W.
pub(super) const POWER: Reals = Reals {
    noun: "a power",
    example: "24.5 dBm",
    units: &[("W", 1.0), ("mW", 1e-3)],
    decibels: Some("dBm"),
    min: 1e-30,
    max: 1e6,
};
/// A frequency, Hz.
pub(super) const FREQUENCY: Reals = Reals {
    noun: "a frequency",
    example: "2.4 GHz",
    units: &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)],
    decibels: None,
    min: 1e6,
    max: 1e12,
};
/// A probability: `"1%"` or `0.01`.
pub(super) struct Probability;
/// A whole number.
pub(super) struct Integer {
    pub(super) min: u64,
    pub(super) max: u64,
}
/// A whole number that may be below 0.
pub(super) struct Signed {
    pub(super) min: i64,
    pub(super) max: i64,
}
/// A number without a unit.
pub(super) struct Number {
    pub(super) min: f64,
    pub(super) max: f64,
}
/// `true` or `false`.
pub(super) struct Flag;
/// A name: not empty, one line, at most 200 characters, all of which are seen.
pub(super) struct Name;
/// One of these words.
pub(super) struct Words<T: 'static>(pub(super) &'static [(&'static str, T)]);
/// Another kind, or one word that means `None`.
pub(super) struct Or<K>(pub(super) &'static str, pub(super) K);
/// The limit of a queue, and other amounts that may be relative to a BDP.
pub(super) struct Amounts {
    /// Whether a length of time is meaningful.
    pub(super) time: bool,
}

/// Largest amounts: a petabyte, 10¹² packets, 10⁶ BDP.
const MAX_BYTES: u64 = 1_000_000_000_000_000;
const MAX_PACKETS: u64 = 1_000_000_000_000;
const MAX_BDP: u64 = 1_000_000 * 1_000_000_000;

/// A size from one byte to a petabyte.
pub(super) const SIZE: Sizes = Sizes { min: 1, max: MAX_BYTES };

/// What a quantity is called and how it is written.
struct Dimension {
    noun: &'static str,
    example: &'static str,
    units: &'static [Unit],
    /// The units that an error lists.
    usual: &'static str,
    /// Printed only in units of which it is a whole number.
    whole: bool,
    min: u64,
    max: u64,
}

impl Dimension {
    fn read(&self, json: &Json) -> Result<u64, String> {
        match json {
            Json::String(text) => self.parse(text).map_err(|why| format!("{} {why}", show(json))),
            Json::Number(_) => Err(format!("{json} has no unit; write e.g. \"{}\"", self.example)),
            _ => Err(format!("{} {}", show(json), self.not())),
        }
    }

    /// The text in base units, rounded to the nearest.
    fn parse(&self, text: &str) -> Result<u64, String> {
        let (number, unit) = split(text).ok_or_else(|| self.not())?;
        if unit.is_empty() {
            return Err(format!("has no unit; write e.g. \"{}\"", self.example));
        }
        if unit == "KB" && self.units[0].0 == SIZE_UNITS[0].0 {
            return Err("is ambiguous; write \"kB\" for 1000 bytes or \"KiB\" for 1024".into());
        }
        let Some((_, scale)) = self.units.iter().find(|(u, _)| *u == unit) else {
            if !unit.starts_with(char::is_alphabetic) {
                return Err(self.not());
            }
            let near = nearest(unit, self.units.iter().map(|(u, _)| *u));
            return Err(format!("is not {}: unknown unit \"{unit}\"{near}; allowed: {}", self.noun, self.usual));
        };
        if number.negative && number.mantissa > 0 {
            return Err(format!("is negative; at least \"{}\"", self.print(self.min)));
        }
        let bound = |what: &str, limit: u64| format!("is too {what} \"{}\"", self.print(limit));
        match number.times(*scale) {
            Some(value) if value < self.min => Err(bound("small; at least", self.min)),
            Some(value) if value <= self.max => Ok(value),
            _ => Err(bound("large; at most", self.max)),
        }
    }

    fn not(&self) -> String {
        format!("is not {}; write a number with a unit, e.g. \"{}\"", self.noun, self.example)
    }

    /// In the largest unit of which there is at least one; exact.
    fn print(&self, value: u64) -> String {
        let base = self.units.iter().position(|(_, scale)| *scale == 1).unwrap_or(0);
        let fits = |scale: u64| (value == 0 || value >= scale) && (!self.whole || value.is_multiple_of(scale));
        let unit = self.units[..=base].iter().find(|(_, scale)| fits(*scale)).unwrap_or(&self.units[base]);
        match unit.0 {
            "packets" if value == 1 => "1 packet".into(),
            name => format!("{} {name}", decimal(value, unit.1)),
        }
    }
}

/// A decimal number as written: ±mantissa · 10^exponent.
struct Decimal {
    negative: bool,
    mantissa: u128,
    exponent: i32,
}

impl Decimal {
    /// This many units of `scale`, rounded to the nearest whole number; `None` when it does not fit.
    fn times(&self, scale: u64) -> Option<u64> {
        if self.mantissa == 0 {
            return Some(0);
        }
        let product = self.mantissa.checked_mul(u128::from(scale))?;
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs());
        let value = match (self.exponent < 0, power) {
            (false, power) => product.checked_mul(power?)?,
            (true, Some(power)) => product / power + u128::from(product % power >= power.div_ceil(2)),
            (true, None) => 0,
        };
        u64::try_from(value).ok()
    }
}

/// Number and unit, the blank between them optional.
fn split(text: &str) -> Option<(Decimal, &str)> {
    let text = text.trim();
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    let fraction = rest[whole..].strip_prefix('.').map_or(0, digits);
    if whole + fraction == 0 {
        return None;
    }
    let (number, mut unit) = rest.split_at(whole + if fraction > 0 { fraction + 1 } else { 0 });
    let mut exponent = 0;
    if let Some(power) = unit.strip_prefix(['e', 'E']) {
        let sign = usize::from(power.starts_with(['+', '-']));
        let length = sign + digits(&power[sign..]);
        if length > sign {
            exponent = power[..length].parse::<i32>().ok()?.clamp(-1000, 1000);
            unit = &power[length..];
        }
    }
    let mantissa = number.replace('.', "").parse().ok()?;
    Some((Decimal { negative, mantissa, exponent: exponent - i32::try_from(fraction).ok()? }, unit.trim()))
}

/// `value / scale` as a decimal without trailing zeros; `scale` is a power of ten, or divides `value`.
fn decimal(value: u64, scale: u64) -> String {
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let width = scale.ilog10() as usize;
    format!("{whole}.{}", format!("{rest:0width$}").trim_end_matches('0'))
}

/// JSON Schema of a number and one of these units.
fn quantity<N>(units: &[(&str, N)], noun: &str, example: &str) -> Json {
    let units: Vec<&str> = units.iter().map(|(unit, _)| *unit).collect();
    let pattern = format!(r"^\s*[-+]?[.0-9][-+.0-9eE]*\s*(?:{})\s*$", units.join("|"));
    json!({ "type": "string", "pattern": pattern, "description": format!("{noun}, e.g. \"{example}\"") })
}
impl Dimension {
    fn schema(&self) -> Json {
        quantity(self.units, self.noun, self.example)
    }
}

impl Times {
    fn dimension(&self) -> Dimension {
        Dimension {
            noun: "a length of time",
            example: "40 ms",
            units: TIME_UNITS,
            usual: "ns, us, ms, s, min, h",
            whole: false,
            min: self.min.0,
            max: TEN_YEARS.0,
        }
    }
}
impl Kind for Times {
    type Value = Duration;
    fn read(&self, json: &Json) -> Result<Duration, String> {
        self.dimension().read(json).map(Duration)
    }
    fn write(&self, value: &Duration) -> Json {
        self.dimension().print(value.0).into()
    }
    fn schema(&self) -> Json {
        self.dimension().schema()
    }
}

impl Rates {
    fn dimension(&self) -> Dimension {
        Dimension {
            noun: "a rate",
            example: "10 Mbit/s",
            units: RATE_UNITS,
            usual: "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s",
            whole: false,
            min: self.min,
            max: 10_000_000_000_000,
        }
    }
}
impl Kind for Rates {
    type Value = Rate;
    fn read(&self, json: &Json) -> Result<Rate, String> {
        self.dimension().read(json).map(Rate)
    }
    fn write(&self, value: &Rate) -> Json {
        match value {
            Rate(0) => "0 bit/s".into(),
            rate => self.dimension().print(rate.0).into(),
        }
    }
    fn schema(&self) -> Json {
        self.dimension().schema()
    }
}

impl Sizes {
    fn dimension(&self) -> Dimension {
        Dimension {
            noun: "a size",
            example: "1500 B",
            units: SIZE_UNITS,
            usual: "B, kB, MB, GB, KiB, MiB, GiB",
            whole: true,
            min: self.min,
            max: self.max,
        }
    }
}
impl Kind for Sizes {
    type Value = u64;
    fn read(&self, json: &Json) -> Result<u64, String> {
        self.dimension().read(json)
    }
    fn write(&self, value: &u64) -> Json {
        self.dimension().print(*value).into()
    }
    fn schema(&self) -> Json {
        self.dimension().schema()
    }
}

impl Kind for Amounts {
    type Value = Amount;
    fn read(&self, json: &Json) -> Result<Amount, String> {
        let unit = json.as_str().and_then(split).map_or("", |(_, unit)| unit);
        let has = |units: &[Unit]| units.iter().any(|(u, _)| *u == unit);
        if has(PACKET_UNITS) {
            PACKETS.read(json).map(Amount::Packets)
        } else if has(BDP_UNITS) {
            BDP.read(json).map(Amount::Bdp)
        } else if self.time && has(TIME_UNITS) {
            POSITIVE_TIME.read(json).map(Amount::Time)
        } else if has(SIZE_UNITS) || unit == "KB" {
            SIZE.read(json).map(Amount::Bytes)
        } else {
            let time = if self.time { ", \"100 ms\"" } else { "" };
            let examples = format!("\"100 packets\", \"64 KiB\", \"0.2 BDP\"{time}");
            Err(match json {
                Json::Number(_) => format!("{json} has no unit; write e.g. {examples}"),
                _ => {
                    let units = [PACKET_UNITS, BDP_UNITS, SIZE_UNITS].concat();
                    let same = units.iter().find(|(u, _)| u.eq_ignore_ascii_case(unit));
                    let near = same.map_or(String::new(), |(u, _)| format!(" (did you mean \"{u}\"?)"));
                    format!("{} is not an amount of data{near}; write e.g. {examples}", show(json))
                }
            })
        }
    }
    fn write(&self, value: &Amount) -> Json {
        match value {
            Amount::Packets(n) => PACKETS.print(*n).into(),
            Amount::Bytes(n) => SIZE.write(n),
            Amount::Time(d) => POSITIVE_TIME.write(d),
            Amount::Bdp(n) => format!("{} BDP", decimal(*n, BDP_UNITS[0].1)).into(),
        }
    }
    fn schema(&self) -> Json {
        let time = if self.time { TIME_UNITS } else { &[] };
        quantity(&[PACKET_UNITS, BDP_UNITS, SIZE_UNITS, time].concat(), "an amount", "1 BDP")
    }
}
const PACKETS: Dimension = Dimension {
    noun: "a number of packets",
    example: "100 packets",
    units: PACKET_UNITS,
    usual: "packets",
    whole: true,
    min: 1,
    max: MAX_PACKETS,
};
const BDP: Dimension = Dimension {
    noun: "a multiple of the BDP",
    example: "0.2 BDP",
    units: BDP_UNITS,
    usual: "BDP",
    whole: false,
    min: 1,
    max: MAX_BDP,
};

impl Reals {
    /// The same, not above `max`.
    pub(super) fn up_to(self, max: f64) -> Reals {
        Reals { max, ..self }
    }

    /// The text in the first unit.
    fn parse(&self, text: &str) -> Result<f64, String> {
        let example = self.example;
        let not = || format!("is not {}; write a number with a unit, e.g. \"{example}\"", self.noun);
        let (number, unit) = split(text).ok_or_else(not)?;
        if unit.is_empty() {
            return Err(format!("has no unit; write e.g. \"{example}\""));
        }
        let magnitude: f64 = format!("{}e{}", number.mantissa, number.exponent).parse().map_err(|_| not())?;
        let number = if number.negative { -magnitude } else { magnitude };
        if self.decibels == Some(unit) {
            return Ok(math::pow(10.0, number / 10.0) / 1e3);
        }
        let Some((_, scale)) = self.units.iter().find(|(u, _)| *u == unit) else {
            let units: Vec<&str> = self.units.iter().map(|(u, _)| *u).chain(self.decibels).collect();
            let near = nearest(unit, units.iter().copied());
            return Err(format!("is not {}: unknown unit \"{unit}\"{near}; allowed: {}", self.noun, units.join(", ")));
        };
        Ok(number * scale)
    }

    fn print(&self, value: f64) -> String {
        let unit = self.units[0].0;
        // What has many zeros is written with an exponent.
        let plain = value == 0.0 || (1e-4..1e9).contains(&value.abs());
        if plain { format!("{value} {unit}") } else { format!("{value:e} {unit}") }
    }
}
impl Kind for Reals {
    type Value = f64;
    fn read(&self, json: &Json) -> Result<f64, String> {
        let value = match json {
            Json::String(text) => self.parse(text),
            Json::Number(_) => return Err(format!("{json} has no unit; write e.g. \"{}\"", self.example)),
            _ => Err(format!("is not {}; write e.g. \"{}\"", self.noun, self.example)),
        };
        let bounded = |value: f64| match value {
            value if value < 0.0 && self.min >= 0.0 => {
                Err(format!("is negative; at least \"{}\"", self.print(self.min)))
            }
            value if value < self.min => Err(format!("is too small; at least \"{}\"", self.print(self.min))),
            value if value > self.max => Err(format!("is too large; at most \"{}\"", self.print(self.max))),
            value => Ok(value),
        };
        value.and_then(bounded).map_err(|why| format!("{} {why}", show(json)))
    }
    fn write(&self, value: &f64) -> Json {
        self.print(*value).into()
    }
    fn schema(&self) -> Json {
        let decibels = self.decibels.map(|unit| (unit, 1.0));
        quantity(&self.units.iter().copied().chain(decibels).collect::<Vec<_>>(), self.noun, self.example)
    }
}

impl Kind for Probability {
    type Value = f64;
    fn read(&self, json: &Json) -> Result<f64, String> {
        let p = match json {
            Json::Number(n) => n.as_f64(),
            Json::String(text) => text.trim().strip_suffix('%').and_then(percent),
            _ => None,
        };
        match p {
            Some(p) if (0.0..=1.0).contains(&p) => Ok(p),
            Some(_) => Err(format!("{} is not a probability: from 0% to 100%, or from 0 to 1", show(json))),
            None => Err(format!("{} is not a probability; write e.g. \"1%\" or 0.01", show(json))),
        }
    }
    fn write(&self, p: &f64) -> Json {
        let text = format!("{}", (p * 1e14).round() / 1e12);
        if percent(&text) == Some(*p) { format!("{text}%").into() } else { json!(p) }
    }
    fn schema(&self) -> Json {
        json!({ "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": r"^\s*\+?[.0-9][-+.0-9eE]*\s*%\s*$" },
        ], "description": "a probability, e.g. \"1%\" or 0.01" })
    }
}
/// The text as hundredths. The division rounds once, as `0.07` does when it is read.
fn percent(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().map(|x| x / 100.0)
}

impl Kind for Integer {
    type Value = u64;
    fn read(&self, json: &Json) -> Result<u64, String> {
        let whole = |x: &f64| x.trunc() == *x && (0.0..9.0e15).contains(x);
        json.as_u64()
            .or_else(|| json.as_f64().filter(whole).map(|x| x as u64))
            .filter(|n| (self.min..=self.max).contains(n))
            .ok_or_else(|| format!("{} is not a whole number from {} to {}", show(json), self.min, self.max))
    }
    fn write(&self, value: &u64) -> Json {
        json!(value)
    }
    fn schema(&self) -> Json {
        json!({ "type": "integer", "minimum": self.min, "maximum": self.max })
    }
}

impl Kind for Signed {
    type Value = i64;
    fn read(&self, json: &Json) -> Result<i64, String> {
        json.as_i64()
            .filter(|n| (self.min..=self.max).contains(n))
            .ok_or_else(|| format!("{} is not a whole number from {} to {}", show(json), self.min, self.max))
    }
    fn write(&self, value: &i64) -> Json {
        json!(value)
    }
    fn schema(&self) -> Json {
        json!({ "type": "integer", "minimum": self.min, "maximum": self.max })
    }
}

impl Kind for Number {
    type Value = f64;
    fn read(&self, json: &Json) -> Result<f64, String> {
        json.as_f64()
            .filter(|x| (self.min..=self.max).contains(x))
            .ok_or_else(|| format!("{} is not a number from {} to {}", show(json), self.min, self.max))
    }
    fn write(&self, value: &f64) -> Json {
        if value.fract() == 0.0 { json!(*value as u64) } else { json!(value) }
    }
    fn schema(&self) -> Json {
        json!({ "type": "number", "minimum": self.min, "maximum": self.max })
    }
}

impl Kind for Flag {
    type Value = bool;
    fn read(&self, json: &Json) -> Result<bool, String> {
        json.as_bool().ok_or_else(|| format!("{} is not true or false", show(json)))
    }
    fn write(&self, value: &bool) -> Json {
        json!(value)
    }
    fn schema(&self) -> Json {
        json!({ "type": "boolean" })
    }
}

impl Kind for Name {
    type Value = String;
    fn read(&self, json: &Json) -> Result<String, String> {
        let fits = |t: &&str| !t.trim().is_empty() && t.chars().count() <= 200 && !t.chars().any(is_hidden);
        let allowed = "text on one line, 1 to 200 characters, none that controls a terminal or the direction of text";
        let text = json.as_str().filter(fits);
        text.map(Into::into).ok_or_else(|| format!("{} is not a name: {allowed}", show(json)))
    }
    fn write(&self, value: &String) -> Json {
        json!(value)
    }
    fn schema(&self) -> Json {
        json!({ "type": "string" })
    }
}

/// Which of these words it is.
pub(super) fn one_of(json: &Json, words: &[&str]) -> Result<usize, String> {
    let Some(text) = json.as_str() else {
        return Err(format!("{} is not one of {}", show(json), words.join(", ")));
    };
    let found = words.iter().position(|word| *word == text);
    found.ok_or_else(|| format!("unknown {}{}", show(json), alternatives(text, words.iter().copied())))
}

impl<T: Copy + PartialEq> Kind for Words<T> {
    type Value = T;
    fn read(&self, json: &Json) -> Result<T, String> {
        let words: Vec<&str> = self.0.iter().map(|(w, _)| *w).collect();
        one_of(json, &words).map(|index| self.0[index].1)
    }
    fn write(&self, value: &T) -> Json {
        self.0.iter().find(|(_, v)| v == value).map_or(Json::Null, |(w, _)| json!(w))
    }
    fn schema(&self) -> Json {
        let words: Vec<&str> = self.0.iter().map(|(word, _)| *word).collect();
        json!({ "enum": words })
    }
}

/// `None` if it is this word, else what it was read as.
pub(super) fn or_word<T>(word: &str, json: &Json, value: Result<T, String>) -> Result<Option<T>, String> {
    if json.as_str() == Some(word) {
        return Ok(None);
    }
    let quantity = json.as_str().is_some_and(|text| split(text).is_some());
    value.map(Some).map_err(|why| if quantity { why } else { format!("{why}, or \"{word}\"") })
}

impl<K: Kind> Kind for Or<K> {
    type Value = Option<K::Value>;
    fn read(&self, json: &Json) -> Result<Self::Value, String> {
        or_word(self.0, json, self.1.read(json))
    }
    fn write(&self, value: &Self::Value) -> Json {
        value.as_ref().map_or(json!(self.0), |v| self.1.write(v))
    }
    fn schema(&self) -> Json {
        json!({ "anyOf": [{ "const": self.0 }, self.1.schema()] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each by hand; what is written reads as the same number.
    #[test]
    fn quantities_with_fractions() {
        let read = |kind: &Reals, text: &str| kind.read(&json!(text));
        assert_eq!(read(&DISTANCE, "0.25km"), Ok(250.0));
        assert_eq!(read(&SPEED, "36 km/h"), Ok(10.0));
        assert_eq!(read(&POWER, "20 dBm"), Ok(0.1));
        assert_eq!(read(&FREQUENCY, "914 MHz"), Ok(914e6));
        assert_eq!(POWER.write(&3.652e-10), json!("3.652e-10 W"));
        assert_eq!(DISTANCE.write(&250.0), json!("250 m"));
        for watts in [3.652e-10, 0.281_838_15, 1.0 / 3.0] {
            assert_eq!(POWER.read(&POWER.write(&watts)), Ok(watts));
        }
        let wrong = [
            (&DISTANCE, json!("250"), "\"250\" has no unit; write e.g. \"250 m\""),
            (&DISTANCE, json!(250), "250 has no unit; write e.g. \"250 m\""),
            (&DISTANCE, json!("2 miles"), "\"2 miles\" is not a distance: unknown unit \"miles\"; allowed: m, km"),
            (&DISTANCE, json!("-1 m"), "\"-1 m\" is negative; at least \"0 m\""),
            (&POSITIVE_SPEED, json!("0 m/s"), "\"0 m/s\" is too small; at least \"1e-6 m/s\""),
        ];
        for (kind, json, message) in wrong {
            assert_eq!(kind.read(&json), Err(message.to_string()));
        }
    }

    fn rate(text: &str) -> Option<u64> {
        POSITIVE_RATE.read(&json!(text)).ok().map(|r| r.0)
    }
    fn time(text: &str) -> Option<u64> {
        TIME.read(&json!(text)).ok().map(|d| d.0)
    }
    fn size(text: &str) -> Option<u64> {
        SIZE.read(&json!(text)).ok()
    }

    /// SI: k = 10³, M = 10⁶, G = 10⁹, T = 10¹².
    #[test]
    fn rates() {
        for (text, bits) in [
            ("250 Mbit/s", 250_000_000),
            ("250Mbit/s", 250_000_000),
            (" 250  Mbps ", 250_000_000),
            ("0.1 Mbit/s", 100_000),
            ("1.5Gbps", 1_500_000_000),
            ("56 kbit/s", 56_000),
            ("56 kbps", 56_000),
            ("9600 bit/s", 9_600),
            ("9600 bps", 9_600),
            ("1e3 kbit/s", 1_000_000),
            ("2.5E-1 Gbit/s", 250_000_000),
            ("10 Tbit/s", 10_000_000_000_000),
            (".5 kbit/s", 500),
            ("+1 bit/s", 1),
        ] {
            assert_eq!(rate(text), Some(bits), "{text}");
        }
        for text in [
            "",
            "Mbit/s",
            "10",
            "10 mbit/s",
            "10 MB/s",
            "10.0001 Tbit/s",
            "0.4 bit/s",
            "1e99 bit/s",
            "1e-99 bit/s",
            "1 2 bit/s",
            "inf bit/s",
            "NaN bit/s",
            "-1 bit/s",
            "1e bit/s",
            "0x1 bit/s",
            "１ bit/s",
        ] {
            assert_eq!(rate(text), None, "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, ns) in [
            ("1 ns", 1),
            ("1us", 1_000),
            ("1 µs", 1_000),
            ("1 μs", 1_000),
            ("162 ms", 162_000_000),
            ("0.1 s", 100_000_000),
            ("1.5 min", 90_000_000_000),
            ("2 h", 7_200_000_000_000),
            ("0 s", 0),
            ("-0 s", 0),
            ("0.0000000014 s", 1),
            ("0.0000000015 s", 2),
            ("87600 h", 315_360_000_000_000_000),
        ] {
            assert_eq!(time(text), Some(ns), "{text}");
        }
        for text in ["1", "s", "1 sec", "1 S", "1 m", "87600.001 h", "1 d"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    /// IEC 80000-13: Ki = 2¹⁰, Mi = 2²⁰, Gi = 2³⁰; kB and MB are powers of ten; KB is nobody's.
    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1500 B", 1500),
            ("1500 bytes", 1500),
            ("1 byte", 1),
            ("64 KiB", 65_536),
            ("64 kB", 64_000),
            ("25 MB", 25_000_000),
            ("1.5 MiB", 1_572_864),
            ("1 GB", 1_000_000_000),
            ("1 GiB", 1_073_741_824),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["64 KB", "64", "0 B", "0.4 B", "1 b", "2000000 GB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn amounts() {
        let read = |text: &str| Amounts { time: true }.read(&json!(text)).ok();
        assert_eq!(read("17 packets"), Some(Amount::Packets(17)));
        assert_eq!(read("1packet"), Some(Amount::Packets(1)));
        assert_eq!(read("0.2 BDP"), Some(Amount::Bdp(200_000_000)));
        assert_eq!(read("1e1BDP"), Some(Amount::Bdp(10_000_000_000)));
        assert_eq!(read("100 ms"), Some(Amount::Time(Duration::from_millis(100))));
        assert_eq!(read("64 KiB"), Some(Amount::Bytes(65_536)));
        assert_eq!(read("17"), None);
        assert_eq!(Amounts { time: false }.read(&json!("100 ms")).ok(), None);
    }

    #[test]
    fn probabilities() {
        for (json, p) in
            [(json!("1%"), 0.01), (json!("0.1 %"), 0.001), (json!(0.25), 0.25), (json!(1), 1.0), (json!("7%"), 0.07)]
        {
            assert_eq!(Probability.read(&json).ok(), Some(p), "{json}");
        }
        for json in
            [json!("0.01"), json!("-1%"), json!("100.1%"), json!(-0.1), json!("NaN%"), json!("inf%"), json!(true)]
        {
            assert!(Probability.read(&json).is_err(), "{json}");
        }
        assert_eq!(Probability.write(&0.07), json!("7%"));
        assert_eq!(Probability.write(&0.001), json!("0.1%"));
    }

    #[test]
    fn quantities_are_written_for_people() {
        let written = |json: Json| json.as_str().map(String::from);
        assert_eq!(written(TIME.write(&Duration(162_000_000))).as_deref(), Some("162 ms"));
        assert_eq!(written(TIME.write(&Duration(1_500_000_000))).as_deref(), Some("1.5 s"));
        assert_eq!(written(TIME.write(&Duration(1_000_000_001))).as_deref(), Some("1.000000001 s"));
        assert_eq!(written(TIME.write(&Duration::ZERO)).as_deref(), Some("0 s"));
        assert_eq!(written(POSITIVE_RATE.write(&Rate(250_000_000))).as_deref(), Some("250 Mbit/s"));
        assert_eq!(written(SIZE.write(&1500)).as_deref(), Some("1500 B"));
        assert_eq!(written(SIZE.write(&65_536)).as_deref(), Some("64 KiB"));
        assert_eq!(written(SIZE.write(&25_000_000)).as_deref(), Some("25 MB"));
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_as_the_same(ns in 0..=TEN_YEARS.0, bits in 1..=10_000_000_000_000_u64, bytes in 1..=MAX_BYTES, billionths in 1..=MAX_BDP, p in 0.0..=1.0) {
            proptest::prop_assert_eq!(TIME.read(&TIME.write(&Duration(ns))), Ok(Duration(ns)));
            proptest::prop_assert_eq!(RATE_OR_OUTAGE.read(&RATE_OR_OUTAGE.write(&Rate(bits))), Ok(Rate(bits)));
            proptest::prop_assert_eq!(SIZE.read(&SIZE.write(&bytes)), Ok(bytes));
            proptest::prop_assert_eq!(Probability.read(&Probability.write(&p)), Ok(p));
            let amounts = Amounts { time: true };
            for amount in [Amount::Bdp(billionths), Amount::Packets(billionths % MAX_PACKETS + 1)] {
                proptest::prop_assert_eq!(amounts.read(&amounts.write(&amount)), Ok(amount));
            }
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,20}", number in "[-+]?[0-9]{0,40}\\.?[0-9]{0,40}([eE][-+]?[0-9]{0,12})?", unit in "( ?(s|h|bit/s|GiB|packets|BDP|%))?") {
            for text in [text, format!("{number}{unit}")] {
                let json = json!(text);
                let _ = (TIME.read(&json), POSITIVE_RATE.read(&json), SIZE.read(&json), Probability.read(&json), Amounts { time: true }.read(&json));
            }
        }
    }
}
