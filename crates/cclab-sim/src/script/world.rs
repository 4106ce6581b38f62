//! A script being played: virtual time, the endpoint, and the packets it sent.

use super::Failure;
use super::ast::{Event, Packet, Script, What, When};
use super::compare::{self, Stamps};
use super::expr::Statement;
use super::setup::Setup;
use super::socket::{Descriptors, Pending};
use crate::tcp::{Endpoint, State};
use crate::wire::{Flags, Segment};
use cclab_algo::cc::Phase;
use cclab_algo::{Duration, Rate, Time};
use std::collections::VecDeque;

/// Steps of the endpoint without which no script ends; more is an endless loop.
const MAX_STEPS: u32 = 1_000_000;

/// Plays a script to its end or to its first difference.
pub(super) fn play(script: &Script, notes: &mut Vec<String>) -> Result<(), Failure> {
    let setup =
        Setup::new(&script.directives, &script.options, notes).map_err(|(line, message)| Failure { line, message })?;
    let mut world = World::new(setup, script);
    let outcome = script.events.iter().try_for_each(|event| {
        world.event(event).map_err(|message| Failure { line: world.failed_line.unwrap_or(event.line), message })
    });
    let outcome = outcome.and_then(|()| {
        let last = script.events.last().map_or(1, |event| event.line);
        world.end().map_err(|message| Failure { line: world.failed_line.unwrap_or(last), message })
    });
    notes.append(&mut world.notes);
    outcome
}

/// The endpoint and all around it.
pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) now: Time,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) descriptors: Descriptors,
    pub(super) pending: Option<Pending>,
    /// The peer reset the connection.
    pub(super) reset: bool,
    pub(super) notes: Vec<String>,
    /// The line to blame where it is not that of the event.
    pub(super) failed_line: Option<usize>,
    /// When the previous event was: what `+` counts from.
    base: Time,
    sent: VecDeque<(Time, Segment)>,
    stamps: Stamps,
    /// The first SYN of the peer's in the script, from which the law learns the size of a segment.
    peer_syn: Option<Packet>,
    /// The first SYN of ours.
    own_syn: Option<Segment>,
    steps: u32,
}

impl World {
    fn new(setup: Setup, script: &Script) -> World {
        let peer_syn = script.events.iter().find_map(|event| match &event.what {
            What::Inject(packet) if packet.flags.has(Flags::SYN) => Some(packet.clone()),
            _ => None,
        });
        World {
            setup,
            now: Time::ZERO,
            endpoint: None,
            descriptors: Descriptors::default(),
            pending: None,
            reset: false,
            notes: Vec::new(),
            failed_line: None,
            base: Time::ZERO,
            sent: VecDeque::new(),
            stamps: Stamps::default(),
            peer_syn,
            own_syn: None,
            steps: 0,
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), String> {
        if let What::Expect(packet) = &event.what {
            return self.expect(packet, event.when);
        }
        let start = match event.when {
            When::At(point) | When::Between(point, _) | When::Lasting(point, _) => point.after(self.base),
            When::Any => self.now,
        };
        self.advance(start)?;
        self.base = start;
        match &event.what {
            What::Expect(_) => Ok(()),
            What::Inject(packet) => self.inject(packet),
            What::Call(call) => {
                let end = match event.when {
                    When::Lasting(_, end) => Some(end.after(start)),
                    _ => None,
                };
                self.call(call, event.line, end)
            }
            What::Code(statements) => self.code(statements, event.line),
            What::Shell(text) => self.setup.shell(text, event.line, &mut self.notes),
            What::Unsupported(what) => Err(format!("not supported: {what}")),
        }
    }

    /// The end of the script: a call may still have to return.
    fn end(&mut self) -> Result<(), String> {
        if let Some(due) = self.pending.as_ref().map(|pending| pending.due) {
            self.advance(due + self.setup.tolerance)?;
        }
        self.finish_pending(true)?;
        if let Some((time, segment)) = self.sent.front() {
            let left = format!("no line expects the packet sent at {}", line(*time, &Packet::of_segment(segment)));
            if self.setup.every_packet {
                return Err(left);
            }
            self.notes.push(format!("{left}; {} in all", self.sent.len()));
        }
        Ok(())
    }

    // Time.

    /// Lets time pass up to `to`.
    fn advance(&mut self, to: Time) -> Result<(), String> {
        while self.step(to)? {}
        self.now = self.now.max(to);
        self.finish_pending(false)
    }

    /// The next thing that the endpoint does by itself, if it is not later than `limit`.
    fn step(&mut self, limit: Time) -> Result<bool, String> {
        let Some(endpoint) = &mut self.endpoint else { return Ok(false) };
        let due = endpoint.next_timer();
        if due == Time::NEVER || due > limit {
            return Ok(false);
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(format!("the endpoint does not come to rest at {:?}; this is a bug in cclab", self.now));
        }
        self.now = self.now.max(due);
        endpoint.on_timer(self.now);
        self.settle()?;
        Ok(true)
    }

    /// After anything was done to the endpoint: what it sends, and which calls return.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        if let Some(endpoint) = &mut self.endpoint {
            while let Some(segment) = endpoint.poll_transmit(self.now) {
                if segment.flags.has(Flags::SYN) && self.own_syn.is_none() {
                    self.own_syn = Some(segment);
                }
                self.sent.push_back((self.now, segment));
                if self.sent.len() > MAX_STEPS as usize {
                    return Err("the endpoint sends without end; this is a bug in cclab".to_owned());
                }
            }
        }
        self.finish_pending(false)
    }

    // Packets.

    fn inject(&mut self, packet: &Packet) -> Result<(), String> {
        let mut segment = packet.to_segment();
        segment.ts_ecr = self.stamps.on_wire(segment.ts_ecr);
        segment.sent = self.now;
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        if self.endpoint.is_none() && self.descriptors.listening && opens {
            self.open(true);
        }
        match &mut self.endpoint {
            Some(endpoint) if endpoint.state() != State::Closed => {
                endpoint.on_segment(self.now, &segment, segment.ecn == 3);
                self.reset |= segment.flags.has(Flags::RST) && endpoint.state() == State::Closed;
            }
            _ => self.refuse(&segment),
        }
        self.settle()
    }

    /// The host's answer to a packet that no connection takes (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        let reset = if segment.flags.has(Flags::ACK) {
            Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
        } else {
            Segment { ack: segment.end(), flags: Flags::RST | Flags::ACK, ..Segment::default() }
        };
        self.sent.push_back((self.now, reset));
    }

    /// Makes the endpoint, which listens or connects.
    pub(super) fn open(&mut self, listens: bool) {
        let config = self.setup.config();
        let law = self.setup.new_law(&config, self.peer_syn.as_ref());
        let mut endpoint =
            if listens { Endpoint::listen(config, law) } else { Endpoint::connect(config, law, self.now) };
        endpoint.set_auto_read(false);
        self.endpoint = Some(endpoint);
    }

    fn expect(&mut self, expected: &Packet, when: When) -> Result<(), String> {
        let (first, last) = match when {
            When::At(point) | When::Lasting(point, _) => (point.after(self.base), point.after(self.base)),
            When::Between(from, to) => (from.after(self.base), to.after(self.base)),
            When::Any => (Time::ZERO, Time::NEVER),
        };
        let due = match when {
            When::Any => format!("at any time > {expected}"),
            When::Between(..) => format!("{}~{}", seconds(first), line(last, expected)),
            When::At(_) | When::Lasting(..) => line(first, expected),
        };
        let latest = last + self.setup.tolerance;
        let Some((time, actual)) = self.next_packet(expected, latest)? else {
            return Err(format!("expected {due}\nactual   nothing was sent by {}", seconds(self.now.max(latest))));
        };
        let differs = compare::difference(expected, &actual, &mut self.stamps, &self.setup).or_else(|| {
            let early = time + self.setup.tolerance < first;
            let late = time > latest;
            (early || late).then(|| {
                let (word, by) = if early { ("early", first - time) } else { ("late", time - last) };
                format!("time: {:.6} s too {word}", by.as_secs_f64())
            })
        });
        if let Some(difference) = differs {
            return Err(format!("expected {due}\nactual   {}\nfirst difference: {difference}", line(time, &actual)));
        }
        // As in packetdrill: after a fixed time the next `+` counts from that time, else from the packet.
        self.base = match when {
            When::At(_) | When::Lasting(..) => first,
            When::Between(..) | When::Any => time,
        };
        Ok(())
    }

    /// The next packet sent, waiting for it until `latest`. Segments that follow each other are taken as one
    /// packet up to the length expected: a kernel hands them over uncut.
    fn next_packet(&mut self, expected: &Packet, latest: Time) -> Result<Option<(Time, Packet)>, String> {
        let Some((time, first)) = self.next_segment(latest)? else { return Ok(None) };
        let mut actual = Packet::of_segment(&first);
        let plain = |flags: Flags| !flags.has(Flags::SYN) && !flags.has(Flags::FIN) && !flags.has(Flags::RST);
        while actual.len > 0 && actual.len < expected.len && actual.seq == expected.seq && plain(actual.flags) {
            let Some((_, next)) = self.next_segment(latest)? else { break };
            if next.seq != actual.seq + u64::from(actual.len) || next.len == 0 {
                self.sent.push_front((self.now, next));
                break;
            }
            actual.len += next.len;
            actual.flags = actual.flags | next.flags;
        }
        Ok(Some((time, actual)))
    }

    fn next_segment(&mut self, latest: Time) -> Result<Option<(Time, Segment)>, String> {
        while self.sent.is_empty() && self.step(latest)? {}
        Ok(self.sent.pop_front())
    }

    // Assertions.

    fn code(&mut self, statements: &[Statement], line: usize) -> Result<(), String> {
        let notes = statements
            .iter()
            .filter_map(|statement| match statement {
                Statement::Assert(condition, text) => match condition.value(&|name| self.lookup(name)) {
                    Err(message) if condition.knows(&|name| self.lookup(name)) => {
                        let values = condition.values_of_names(&|name| self.lookup(name));
                        let values = if values.is_empty() { values } else { format!(" ({values})") };
                        Some(Err(format!("assert {text}: {message}{values}")))
                    }
                    Err(message) => Some(Err(format!("assert {text}: {message}; known: {NAMES}"))),
                    Ok(0.0) => {
                        Some(Err(format!("assert {text}: {}", condition.values_of_names(&|name| self.lookup(name)))))
                    }
                    Ok(_) => None,
                },
                Statement::Print(arguments) => {
                    let shown = arguments.iter().map(|(expr, text)| match expr.value(&|name| self.lookup(name)) {
                        Ok(value) => format!("{text} = {value}"),
                        Err(_) => text.clone(),
                    });
                    Some(Ok(format!("line {line}: {}", shown.collect::<Vec<_>>().join(", "))))
                }
                Statement::Unknown(text) => Some(Ok(format!("line {line}: not run here: {text}"))),
            })
            .collect::<Result<Vec<String>, String>>()?;
        self.notes.extend(notes);
        Ok(())
    }

    /// What `name` is in `tcp_info`: counts in segments, times in microseconds, rates in bytes per second.
    fn lookup(&self, name: &str) -> Option<f64> {
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            return Some(*value);
        }
        let endpoint = self.endpoint.as_ref()?;
        let info = endpoint.info();
        let mss = u64::from(endpoint.mss());
        let micros = |d: Duration| (d.0 / 1000) as f64;
        let bytes = |rate: Option<Rate>| rate.map_or(0.0, |r| (r.0 / 8) as f64);
        Some(match name.strip_prefix("tcpi_")? {
            "snd_cwnd" => (info.cwnd / mss) as f64,
            // Linux's "arbitrarily high" is 2^31 - 1.
            "snd_ssthresh" if info.ssthresh == u64::MAX => f64::from(i32::MAX),
            "snd_ssthresh" => (info.ssthresh / mss) as f64,
            "snd_mss" | "advmss" => mss as f64,
            "rtt" => info.srtt.map_or(0.0, micros),
            "rttvar" => micros(info.rttvar),
            "min_rtt" => info.min_rtt.map_or(f64::from(u32::MAX), micros),
            "rto" => micros(info.rto),
            "backoff" | "retransmits" => f64::from(info.backoff),
            "unacked" => f64::from(info.packets_out),
            "sacked" => f64::from(info.sacked_out),
            "lost" => f64::from(info.lost_out),
            "retrans" => f64::from(info.retrans_out),
            "total_retrans" => info.total_retrans as f64,
            "pacing_rate" => bytes(info.pacing_rate),
            "delivery_rate" => bytes(info.delivery_rate),
            "bytes_acked" => endpoint.stats().bytes_acked as f64,
            "bytes_sent" => endpoint.stats().bytes_sent as f64,
            "data_segs_out" => endpoint.stats().segments_sent as f64,
            "options" => f64::from(self.negotiated()),
            "ca_state" => match info.phase {
                Phase::Open => 0.0,
                Phase::Disorder => 1.0,
                Phase::Cwr => 2.0,
                Phase::Recovery => 3.0,
                Phase::Loss => 4.0,
            },
            "state" => match info.state {
                State::Established => 1.0,
                State::SynSent => 2.0,
                State::SynReceived => 3.0,
                State::FinWait1 => 4.0,
                State::FinWait2 => 5.0,
                State::TimeWait => 6.0,
                State::Closed => 7.0,
                State::CloseWait => 8.0,
                State::LastAck => 9.0,
                State::Listen => 10.0,
                State::Closing => 11.0,
            },
            _ => return None,
        })
    }

    /// `tcpi_options`: what both SYNs offered.
    fn negotiated(&self) -> u32 {
        let (Some(own), Some(peer)) = (self.own_syn, self.peer_syn.as_ref().map(Packet::to_segment)) else { return 0 };
        let ecn = |s: &Segment| s.flags.ace() != 0;
        [
            own.has_timestamps && peer.has_timestamps,
            own.sack_permitted && peer.sack_permitted,
            own.window_scale.is_some() && peer.window_scale.is_some(),
            ecn(&own) && ecn(&peer),
        ]
        .into_iter()
        .enumerate()
        .map(|(bit, both)| u32::from(both) << bit)
        .sum()
    }
}

/// The names that a failing assertion offers.
const NAMES: &str = "tcpi_snd_cwnd, tcpi_snd_ssthresh, tcpi_snd_mss, tcpi_rtt, tcpi_rttvar, tcpi_min_rtt, tcpi_rto, \
    tcpi_backoff, tcpi_retransmits, tcpi_unacked, tcpi_sacked, tcpi_lost, tcpi_retrans, tcpi_total_retrans, \
    tcpi_pacing_rate, tcpi_delivery_rate, tcpi_bytes_acked, tcpi_bytes_sent, tcpi_data_segs_out, tcpi_options, \
    tcpi_ca_state, tcpi_state, TCP_CA_*, TCPI_OPT_*, TCP_INFINITE_SSTHRESH";

/// Linux's names for the values above.
const CONSTANTS: &[(&str, f64)] = &[
    ("TCP_CA_Open", 0.0),
    ("TCP_CA_Disorder", 1.0),
    ("TCP_CA_CWR", 2.0),
    ("TCP_CA_Recovery", 3.0),
    ("TCP_CA_Loss", 4.0),
    ("TCPI_OPT_TIMESTAMPS", 1.0),
    ("TCPI_OPT_SACK", 2.0),
    ("TCPI_OPT_WSCALE", 4.0),
    ("TCPI_OPT_ECN", 8.0),
    ("TCP_INFINITE_SSTHRESH", 2_147_483_647.0),
    ("TCP_ESTABLISHED", 1.0),
    ("TCP_FIN_WAIT1", 4.0),
    ("TCP_FIN_WAIT2", 5.0),
    ("TCP_TIME_WAIT", 6.0),
    ("TCP_CLOSE", 7.0),
    ("TCP_CLOSE_WAIT", 8.0),
    ("TCP_LAST_ACK", 9.0),
    ("TCP_CLOSING", 11.0),
];

/// A sent or expected packet as a line of a script, with its absolute time.
fn line(time: Time, packet: &Packet) -> String {
    format!("{} > {packet}", seconds(time))
}

/// Seconds to the microsecond.
pub(super) fn seconds(time: Time) -> String {
    format!("{}.{:06}", time.0 / 1_000_000_000, time.0 / 1000 % 1_000_000)
}
