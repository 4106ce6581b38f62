//! Explicit congestion notification: what is agreed on, what the receiver says of marks, what the sender reads in it.
//!
//! Three ways for marks to come back: once per window (RFC 3168), exactly by the ECE flag of ACKs that come whenever
//! marking begins or ends (DCTCP's receiver, RFC 8257 §3.2), exactly by counters (AccECN, RFC 9768).

use super::super::{Config, Ecn};
use crate::wire::ecn::{CE, ECT0, ECT1, NOT_ECT};
use crate::wire::{AccEcn, Feedback, Flags, SackBlocks, Segment};
use cclab_algo::cc::EcnUse;
use cclab_algo::{Duration, Time};

/// CE packets are counted from here (RFC 9768 §3.2.1).
pub(super) const FIRST_CEP: u32 = 5;

/// With data unacknowledged, an ACK for so many CE packets at the latest (RFC 9768 §3.2.2.5.1).
const CE_PER_ACK: u32 = 2;

/// A sparing sender shows its counters so often in a round trip (Linux `tcp_ecn_option_beacon`).
const BEACONS: u64 = 3;

/// Linux's (`TCP_ACCECN_ACE_MAX_DELTA`).
const MOST_CE_PER_ACK: u32 = 6;

/// Bytes of options that a TCP header can hold (RFC 9293 §3.1).
pub(super) const OPTION_SPACE: u32 = 40;

/// How marks come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    /// ECN is not in use.
    #[default]
    Off,
    /// ECE until CWR (RFC 3168).
    Classic,
    /// ECE on what was marked (RFC 8257).
    Dctcp,
    /// By counters (RFC 9768).
    Accurate,
}

impl Style {
    /// What a host with these options asks for.
    pub fn wanted(config: &Config, law: EcnUse) -> Style {
        match (config.ecn, law) {
            (Ecn::Off | Ecn::Accept | Ecn::AcceptAccurate, _) => Style::Off,
            (Ecn::Accurate, _) | (_, EcnUse::L4s) => Style::Accurate,
            (_, EcnUse::Dctcp) => Style::Dctcp,
            (_, EcnUse::Classic) => Style::Classic,
        }
    }

    /// What it agrees to.
    pub fn accepted(config: &Config, law: EcnUse) -> Style {
        match (config.ecn, law) {
            (Ecn::Off, _) => Style::Off,
            (Ecn::Accurate | Ecn::OnOrAccurate | Ecn::AcceptAccurate, _) | (_, EcnUse::L4s) => Style::Accurate,
            (_, EcnUse::Dctcp) => Style::Dctcp,
            (_, EcnUse::Classic) => Style::Classic,
        }
    }

    /// The codepoint of what carries one.
    pub fn codepoint(self, law: EcnUse) -> u8 {
        match (self, law) {
            (Style::Off, _) => NOT_ECT,
            (Style::Accurate, EcnUse::L4s) => ECT1,
            _ => ECT0,
        }
    }

    /// The codepoint of a SYN or SYN-ACK that says so: laws that live on marks keep queues which mark from dropping it (RFC 8257
    /// §3.6, Linux `tcp_ecn_send_syn`).
    pub fn handshake_codepoint(self, law: EcnUse) -> u8 {
        if law == EcnUse::Classic { NOT_ECT } else { self.codepoint(law) }
    }

    /// The flags of a SYN that asks for it, sent for the `n`-th time again. A middlebox may dislike them: RFC 3168
    /// §6.1.1.1 then asks no more, RFC 9768 §3.1.4.1 after a second attempt.
    pub fn ask(self, n: u32) -> Flags {
        match self {
            Style::Accurate if n <= 1 => Flags::of_ace(0b111),
            Style::Classic | Style::Dctcp if n == 0 => Flags::of_ace(0b011),
            _ => Flags::default(),
        }
    }

    /// What is agreed on by who wants `self` and receives a SYN or SYN-ACK with these flags (RFC 9768 table 2 and
    /// §3.1.3; RFC 3168 §6.1.1).
    pub fn agree(self, flags: Flags, law: EcnUse) -> Style {
        let classic = if law == EcnUse::Dctcp { Style::Dctcp } else { Style::Classic };
        match (self, flags.has(Flags::ACK), flags.ace()) {
            (Style::Off, ..) | (_, _, 0b000) | (Style::Accurate, true, 0b111) => Style::Off,
            (Style::Accurate, false, 0b011) | (Style::Accurate, true, 0b001) => classic,
            (Style::Accurate, ..) => Style::Accurate,
            (_, false, 0b011 | 0b111) | (_, true, 0b001 | 0b101) => classic,
            _ => Style::Off,
        }
    }
}

/// How AccECN reports the codepoint of a SYN or SYN-ACK (RFC 9768 tables 2 and 3).
pub(super) fn handshake_flags(codepoint: u8) -> Flags {
    Flags::of_ace(match codepoint {
        ECT1 => 0b011,
        ECT0 => 0b100,
        CE => 0b110,
        _ => 0b010,
    })
}

/// What the receiver has seen of marks.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    pub style: Style,
    /// ACKs say ECE: until CWR comes, or as long as marked data does.
    pub ece: bool,
    /// Packets with CE.
    pub cep: u32,
    /// The rest of what AccECN counts.
    counters: Option<Box<Counters>>,
}

/// What AccECN counts beside packets with CE.
#[derive(Clone, Debug)]
struct Counters {
    /// Payload bytes by codepoint: ECT(0), CE, ECT(1) (RFC 9768 §3.2.1 for the first values).
    bytes: [u32; 3],
    /// CE packets since the last ACK.
    fresh: u32,
    /// The last packet had CE.
    last_ce: bool,
    /// Bytes were counted that no ACK has reported.
    unreported: bool,
    /// The option as Linux sends it.
    option: Option<Continual>,
}

/// AccECN's option on every segment, as Linux has it (`tcp_options_fit_accecn`).
#[derive(Clone, Debug, Default)]
struct Continual {
    /// How often: `tcp_ecn_option`.
    how: u8,
    /// Codepoint of the last packet.
    last: u8,
    /// So many segments have to carry it; when one did last.
    due: u8,
    sent: Time,
    /// Fields that the next option has to have, since what they count has changed.
    least: usize,
    /// Where the duplicate began that was last reported together with an option, or is about to be.
    reported: Option<u64>,
    duplicate: Option<u64>,
    /// The same came once more: the option seems to keep ACKs from arriving (RFC 9768 §3.2.3.2.2).
    dropped: bool,
}

impl Continual {
    /// A data packet came; whether it is to be acknowledged at once.
    fn count(&mut self, codepoint: u8, len: u32) -> bool {
        let fields = match codepoint {
            ECT1 => 1,
            CE => 2,
            ECT0 => 3,
            _ => 0,
        };
        self.least = self.least.max(if len > 0 { fields } else { 0 });
        let turns = std::mem::replace(&mut self.last, codepoint) != codepoint;
        if turns || codepoint == CE {
            self.due = 2; // the second shows what the first began
        }
        turns
    }

    /// A segment leaves: how many fields go with it, and no more SACK blocks than have room beside them.
    fn leaves(
        &mut self,
        now: Time,
        srtt: Duration,
        sack: &mut SackBlocks,
        timestamps: bool,
        seen: bool,
    ) -> Option<usize> {
        let duplicate = self.duplicate.take();
        let often = match self.how {
            0 => false,
            1 => self.due > 0 || (now - self.sent) * BEACONS >= srtt,
            _ => true,
        };
        if !seen || !often || (self.how < 3 && self.dropped) {
            return None;
        }
        let (fields, kept) = self.fit(sack.len(), timestamps)?;
        sack.truncate(kept);
        self.least = 0;
        self.due = self.due.saturating_sub(1);
        self.sent = now;
        self.reported = duplicate;
        Some(fields)
    }

    /// Fields of the option, and SACK blocks that it leaves of so many; two stay in any case.
    fn fit(&self, blocks: usize, timestamps: bool) -> Option<(usize, usize)> {
        let saved = if blocks > 0 { 2 } else { 0 };
        let mut kept = blocks;
        loop {
            let others = 12 * usize::from(timestamps) + if kept > 0 { 4 + 8 * kept } else { 0 };
            let fits = |fields: &usize| {
                let bytes = 2 + 3 * fields;
                let rest = bytes % 4;
                others + if rest <= saved { bytes - rest } else { bytes + 4 - rest } <= OPTION_SPACE as usize
            };
            if let Some(fields) = (self.least..=3).rev().find(fits) {
                return Some((fields, kept));
            }
            if kept <= 2 || self.least == 0 {
                return None;
            }
            kept -= 1;
        }
    }
}

impl Marks {
    pub fn new() -> Marks {
        Marks { style: Style::Off, ece: false, cep: FIRST_CEP, counters: None }
    }

    /// The handshake has agreed on `style`, and `last` ended it.
    pub fn begin(&mut self, style: Style, config: &Config, last: &Segment) {
        self.style = style;
        if style != Style::Accurate {
            return;
        }
        let due = if last.flags.has(Flags::SYN) { 2 } else { 1 };
        let option = config.accecn_option.map(|how| Continual { how, last: last.ecn, due, ..Continual::default() });
        let counters = Counters { bytes: [1, 0, 1], fresh: 0, last_ce: false, unreported: false, option };
        self.counters = Some(Box::new(counters));
    }
    fn option(&mut self) -> Option<&mut Continual> {
        self.counters.as_mut()?.option.as_mut()
    }
    /// The setting was changed.
    pub fn set_option(&mut self, how: Option<u8>) {
        if let (Some(option), Some(how)) = (self.option(), how) {
            option.how = how;
        }
    }
    /// Bytes that every segment leaves for the option.
    pub fn option_bytes(&mut self) -> u32 {
        if self.option().is_some_and(|option| option.how > 1) { 12 } else { 0 }
    }
    /// What the first SYN-ACK carries; not another, as a middlebox may dislike it (RFC 9768 §3.2.3.2.1).
    pub fn syn_option(first: bool) -> Feedback {
        let option = AccEcn { kind: AccEcn::ECT1_FIRST, len: 3, fields: [1, 0, 1] };
        if first { option.feedback() } else { Feedback::None }
    }
    /// A segment came that was here before, from here on.
    pub fn on_duplicate(&mut self, start: u64) {
        if let Some(option) = self.option() {
            option.dropped |= option.reported == Some(start);
            option.duplicate = Some(start);
        }
    }
    /// Bytes received under ECT(0), CE and ECT(1).
    pub fn received_bytes(&self) -> [u32; 3] {
        let [e0b, ceb, e1b] = self.counters.as_ref().map_or([1, 0, 1], |counters| counters.bytes);
        [e0b.wrapping_sub(1), ceb, e1b.wrapping_sub(1)]
    }

    /// Whether marking begins or ends with a packet of this codepoint, which DCTCP's receiver has to say at once of
    /// what came before it.
    pub fn turns(&self, codepoint: u8) -> bool {
        self.style == Style::Dctcp && self.ece != (codepoint == CE)
    }

    /// A data packet came; whether it is to be acknowledged at once.
    pub fn count(&mut self, codepoint: u8, len: u32) -> bool {
        let ce = codepoint == CE;
        self.cep += u32::from(ce);
        let Some(counters) = &mut self.counters else { return false };
        counters.fresh += u32::from(ce);
        if let Some(i) = [ECT0, CE, ECT1].iter().position(|&c| c == codepoint) {
            counters.bytes[i] = counters.bytes[i].wrapping_add(len) & 0xff_ffff;
            counters.unreported |= len > 0;
        }
        if let Some(option) = &mut counters.option {
            return option.count(codepoint, len) || counters.fresh >= MOST_CE_PER_ACK;
        }
        // Change-triggered and increment-triggered ACKs (RFC 9768 §3.2.2.5.1).
        let begins = !std::mem::replace(&mut counters.last_ce, ce) && ce;
        begins || counters.fresh >= CE_PER_ACK
    }

    /// A packet without data came with CE; whether it is to be acknowledged at once: with every third (RFC 9768 §3.2.2.5.1).
    #[cold]
    pub fn count_empty(&mut self) -> bool {
        self.cep += 1;
        let Some(counters) = &mut self.counters else { return false };
        counters.fresh += 1;
        counters.fresh > CE_PER_ACK
    }

    /// What the flags of an ACK say.
    pub fn flags(&self) -> Flags {
        match self.style {
            Style::Accurate => Flags::of_ace(self.cep),
            _ if self.ece => Flags::ECE,
            _ => Flags::default(),
        }
    }

    /// An AccECN option is due ("recommended simple scheme", RFC 9768 §3.2.3.3).
    pub fn option_due(&self) -> bool {
        self.counters.as_ref().is_some_and(|counters| counters.unreported && counters.option.is_none())
    }

    /// A segment leaves: the option that goes with it, if one is due and fits. `seen`: the peer sends it too.
    #[cold]
    pub fn report(
        &mut self,
        now: Time,
        srtt: Duration,
        sack: &mut SackBlocks,
        timestamps: bool,
        seen: bool,
    ) -> Feedback {
        let due = self.option_due();
        let Some(counters) = &mut self.counters else { return Feedback::None };
        counters.fresh = 0;
        let [e0b, ceb, e1b] = counters.bytes;
        if let Some(option) = &mut counters.option {
            let fields = option.leaves(now, srtt, sack, timestamps, seen);
            let option = |len| AccEcn { kind: AccEcn::ECT1_FIRST, len, fields: [e1b, ceb, e0b] };
            return fields.map_or(Feedback::None, |len| option(len).feedback());
        }
        let option = Feedback::AccEcn { e0b, ceb, e1b, form: 0 };
        let sack = if sack.is_empty() { 0 } else { 4 + 8 * sack.len() as u32 };
        let others = sack + if timestamps { 12 } else { 0 };
        let fits = AccEcn::of(&option).is_some_and(|option| others + option.bytes() <= OPTION_SPACE);
        if !due || !fits {
            return Feedback::None;
        }
        counters.unreported = false;
        option
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: EcnUse = EcnUse::Classic;

    /// RFC 9768 table 2: what the two ends agree on, SYN by SYN-ACK.
    #[test]
    fn table_2_of_rfc_9768() {
        let syn = |ace| Flags::SYN | Flags::of_ace(ace);
        let synack = |ace| Flags::SYN | Flags::ACK | Flags::of_ace(ace);
        assert_eq!((Style::Accurate.ask(0).ace(), Style::Accurate.ask(1).ace()), (0b111, 0b111));
        assert_eq!((Style::Accurate.ask(2).ace(), Style::Classic.ask(0).ace(), Style::Classic.ask(1).ace()), (0, 3, 0));
        // A server: unknown combinations are AccECN's (§3.1.3).
        for (ace, accurate, classic) in [
            (0b000, Style::Off, Style::Off),
            (0b011, Style::Classic, Style::Classic),
            (0b111, Style::Accurate, Style::Classic),
            (0b001, Style::Accurate, Style::Off),
            (0b100, Style::Accurate, Style::Off),
        ] {
            assert_eq!(Style::Accurate.agree(syn(ace), LAW), accurate, "{ace:03b}");
            assert_eq!(Style::Classic.agree(syn(ace), LAW), classic, "{ace:03b}");
            assert_eq!(Style::Off.agree(syn(ace), LAW), Style::Off);
        }
        // A client that asked for AccECN.
        for (ace, agreed) in [
            (0b010, Style::Accurate),
            (0b011, Style::Accurate),
            (0b100, Style::Accurate),
            (0b110, Style::Accurate),
            (0b101, Style::Accurate),
            (0b001, Style::Classic),
            (0b000, Style::Off),
            (0b111, Style::Off),
        ] {
            assert_eq!(Style::Accurate.agree(synack(ace), LAW), agreed, "{ace:03b}");
        }
        for (codepoint, ace) in [(0, 0b010), (1, 0b011), (2, 0b100), (3, 0b110)] {
            assert_eq!(handshake_flags(codepoint).ace(), ace);
        }
    }
}
