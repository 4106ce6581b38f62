//! What a script says: events in time, packets, calls, assertions; and how packets are printed.

use super::expr::Statement;
use crate::wire::{AccEcn, Cookie, Feedback, Flags, SackBlocks, Segment};
use cclab_algo::{Duration, Time};
use std::fmt;

/// A script, parsed.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Lines such as `--tolerance_usecs=4000`.
    pub options: Vec<Setting>,
    /// `key = value` pairs out of comment lines that begin with `// cclab:`.
    pub directives: Vec<Setting>,
    /// What happens, in the order in which it is written.
    pub events: Vec<Event>,
}

/// A key with its value and the line it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Line, from 1.
    pub line: usize,
    /// The key.
    pub key: String,
    /// The value; empty when there is none.
    pub value: String,
}

/// One event of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// Line, from 1.
    pub line: usize,
    /// When it happens.
    pub when: When,
    /// What happens.
    pub what: What,
}

/// A point in time as written: since the start of the script, or since the previous event (`+`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Whether it counts from the previous event.
    pub relative: bool,
    /// The offset.
    pub offset: Duration,
}

impl Point {
    /// The instant meant, where the previous event was at `base`.
    pub fn after(self, base: Time) -> Time {
        if self.relative { base + self.offset } else { Time::ZERO + self.offset }
    }
}

/// When an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// `+.1`: then.
    At(Point),
    /// `0.1~0.2`: at any time between.
    Between(Point, Point),
    /// `*`: whenever.
    Any,
    /// `+0...0.2`: a call that begins then and returns then.
    Lasting(Point, Point),
}

/// What happens.
#[derive(Clone, Debug)]
pub enum What {
    /// `<`: the peer sends this.
    Inject(Packet),
    /// `>`: the endpoint must send this.
    Expect(Packet),
    /// `<` with a signature (RFC 2385), which a host without a key for it discards.
    Signed,
    /// `< icmp unreachable`: the network cannot deliver a packet of the endpoint's.
    Unreachable {
        /// Why: `host_unreachable`, `frag_needed` …
        code: String,
        /// The size that gets through, where it was too large.
        mtu: Option<u32>,
        /// The sequence number of the packet.
        quoted: Option<u64>,
    },
    /// A system call.
    Call(Call),
    /// `%{ … }%`.
    Code(Vec<Statement>),
    /// `` `…` ``.
    Shell(String),
    /// Something of packetdrill's that a TCP endpoint by itself cannot do.
    Unsupported(String),
}

/// The ECN field of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// `noecn`: not ECN-capable.
    NotEct,
    /// `ect1`.
    Ect1,
    /// `ect0`.
    Ect0,
    /// `ce`.
    Ce,
    /// `ect01`: either of the two (in expected packets).
    Either,
}

/// The options of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Options {
    /// `<...>`: whatever they are.
    Any,
    /// These and no others; padding apart.
    These(Vec<Opt>),
}

/// A TCP option; padding is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opt {
    /// `mss 1460`.
    Mss(u16),
    /// `wscale 7`.
    WindowScale(u8),
    /// `sackOK`.
    SackPermitted,
    /// `TS val 100 ecr 0`.
    Timestamps(u32, u32),
    /// `sack 1:1001 2001:3001`.
    Sack(Vec<(u32, u32)>),
    /// `FO 0a1b2c3d`, `FOEXP 0a1b2c3d`, or without a cookie.
    FastOpen(Cookie),
    /// `ECN e1b 1 ceb 0 e0b 1`, as many fields as there are.
    AccEcn(AccEcn),
}

/// A TCP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The ECN field, if it is written.
    pub ecn: Option<Ecn>,
    /// Flags.
    pub flags: Flags,
    /// Sequence number relative to the sender's initial one.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// Acknowledgement number, if it is written.
    pub ack: Option<u64>,
    /// The window field as on the wire, if it is written.
    pub window: Option<u16>,
    /// Options.
    pub options: Options,
}

/// A value in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `...`.
    Whatever,
    /// A number.
    Number(i64),
    /// A symbol, or several joined by `|`.
    Symbol(String),
    /// `[…]`.
    List(Vec<Value>),
    /// `"…"` or `{…}`, its text.
    Text(String),
}

/// A system call and what it must return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub args: Vec<Value>,
    /// What it must return.
    pub result: Value,
    /// The error it must give, when it must give one.
    pub errno: Option<String>,
}

impl Packet {
    /// The segment that this packet is, when it arrives.
    ///
    /// A window that is not written is 0 on the wire, as packetdrill has it.
    pub fn to_segment(&self) -> Segment {
        let mut segment = Segment {
            seq: self.seq,
            ack: self.ack.unwrap_or(0),
            len: self.len,
            window: self.window.unwrap_or(0),
            flags: self.flags,
            ecn: match self.ecn {
                None | Some(Ecn::NotEct) => 0,
                Some(Ecn::Ect1) => 1,
                Some(Ecn::Ect0 | Ecn::Either) => 2,
                Some(Ecn::Ce) => 3,
            },
            ..Segment::default()
        };
        let Options::These(options) = &self.options else { return segment };
        for option in options {
            match option {
                Opt::Mss(mss) => segment.mss = *mss,
                Opt::WindowScale(shift) => segment.window_scale = Some(*shift),
                Opt::SackPermitted => segment.sack_permitted = true,
                Opt::AccEcn(option) => segment.feedback = option.feedback(),
                Opt::FastOpen(cookie) => segment.feedback = Feedback::FastOpen(*cookie),
                Opt::Timestamps(val, ecr) => {
                    segment.has_timestamps = true;
                    (segment.ts_val, segment.ts_ecr) = (*val, *ecr);
                }
                Opt::Sack(blocks) => {
                    let mut sack = SackBlocks::NONE;
                    for (start, end) in blocks {
                        sack.push(u64::from(*start), u64::from(*end));
                    }
                    segment.sack = sack;
                }
            }
        }
        segment
    }

    /// The packet that carries `segment`, with everything that would be on the wire.
    pub fn of_segment(segment: &Segment) -> Packet {
        let mut options = Vec::new();
        if segment.mss != 0 {
            options.push(Opt::Mss(segment.mss));
        }
        if segment.sack_permitted {
            options.push(Opt::SackPermitted);
        }
        if segment.has_timestamps {
            options.push(Opt::Timestamps(segment.ts_val, segment.ts_ecr));
        }
        if let Some(shift) = segment.window_scale {
            options.push(Opt::WindowScale(shift));
        }
        if let Feedback::FastOpen(cookie) = segment.feedback {
            options.push(Opt::FastOpen(cookie));
        }
        options.extend(segment.accecn().map(|mut option| {
            option.fields[option.len..].fill(0);
            Opt::AccEcn(option)
        }));
        if !segment.sack.is_empty() {
            options.push(Opt::Sack(segment.sack.as_slice().to_vec()));
        }
        Packet {
            ecn: Some(match segment.ecn {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            }),
            flags: segment.flags,
            seq: segment.seq,
            len: segment.len,
            ack: segment.flags.has(Flags::ACK).then_some(segment.ack),
            window: Some(segment.window),
            options: Options::These(options),
        }
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ecn::NotEct => "noecn",
            Ecn::Ect1 => "ect1",
            Ecn::Ect0 => "ect0",
            Ecn::Ce => "ce",
            Ecn::Either => "ect01",
        })
    }
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opt::Mss(mss) => write!(f, "mss {mss}"),
            Opt::WindowScale(shift) => write!(f, "wscale {shift}"),
            Opt::SackPermitted => f.write_str("sackOK"),
            Opt::Timestamps(val, ecr) => write!(f, "TS val {val} ecr {ecr}"),
            Opt::FastOpen(cookie) => {
                f.write_str(if cookie.experimental() { "FOEXP" } else { "FO" })?;
                let mut bytes = cookie.bytes().iter().peekable();
                if bytes.peek().is_some() {
                    f.write_str(" ")?;
                }
                bytes.try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Opt::AccEcn(option) => {
                f.write_str("ECN")?;
                let names = AccEcn::names(option.kind);
                let mut fields = names.iter().zip(option.fields).take(option.len);
                fields.try_for_each(|(name, bytes)| write!(f, " {name} {bytes}"))
            }
            Opt::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
        }
    }
}

impl fmt::Display for Options {
    /// With the padding that Linux puts before each option, so that a line can be pasted into a script.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options::These(options) = self else { return f.write_str("<...>") };
        let permitted = options.contains(&Opt::SackPermitted);
        let mut words = Vec::new();
        for option in options {
            let pad = match option {
                Opt::Mss(_) => 0,
                Opt::WindowScale(_) => 1,
                Opt::SackPermitted if options.iter().any(|o| matches!(o, Opt::Timestamps(..))) => 0,
                Opt::Timestamps(..) if permitted => 0,
                Opt::FastOpen(_) | Opt::AccEcn(_) => 0,
                Opt::SackPermitted | Opt::Timestamps(..) | Opt::Sack(_) => 2,
            };
            words.extend(std::iter::repeat_n("nop".to_owned(), pad));
            words.push(option.to_string());
        }
        write!(f, "<{}>", words.join(","))
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn {
            write!(f, "[{ecn}] ")?;
        }
        let end = self.seq + u64::from(self.len);
        write!(f, "{:?} {}:{end}({})", self.flags, self.seq, self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            Options::These(options) if options.is_empty() => Ok(()),
            options => write!(f, " {options}"),
        }
    }
}
