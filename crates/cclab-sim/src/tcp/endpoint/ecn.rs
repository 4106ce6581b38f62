//! Explicit congestion notification: what is agreed on, what the receiver says of marks, what the sender reads in it.
//!
//! Three ways for marks to come back: once per window (RFC 3168), exactly by the ECE flag of ACKs that come whenever
//! marking begins or ends (DCTCP's receiver, RFC 8257 §3.2), exactly by counters (AccECN, RFC 9768).

use super::super::{Config, Ecn};
use crate::wire::ecn::{CE, ECT0, ECT1, NOT_ECT};
use crate::wire::{AccEcn, Feedback, Flags};
use cclab_algo::cc::EcnUse;

/// CE packets are counted from here (RFC 9768 §3.2.1).
pub(super) const FIRST_CEP: u32 = 5;

/// With data unacknowledged, an ACK for so many CE packets at the latest (RFC 9768 §3.2.2.5.1).
const CE_PER_ACK: u32 = 2;

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
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub style: Style,
    /// ACKs say ECE: until CWR comes, or as long as marked data does.
    pub ece: bool,
    /// Packets with CE.
    pub cep: u32,
    /// Payload bytes by codepoint: ECT(0), CE, ECT(1) (RFC 9768 §3.2.1 for the first values).
    bytes: [u32; 3],
    /// CE packets since the last ACK.
    fresh: u32,
    /// The last packet had CE.
    last_ce: bool,
    /// Bytes were counted that no ACK has reported.
    unreported: bool,
}

impl Marks {
    pub fn new() -> Marks {
        let (style, cep, bytes) = (Style::Off, FIRST_CEP, [1, 0, 1]);
        Marks { style, ece: false, cep, bytes, fresh: 0, last_ce: false, unreported: false }
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
        self.fresh += u32::from(ce);
        if let Some(i) = [ECT0, CE, ECT1].iter().position(|&c| c == codepoint) {
            self.bytes[i] = self.bytes[i].wrapping_add(len) & 0xff_ffff;
            self.unreported |= len > 0;
        }
        // Change-triggered and increment-triggered ACKs (RFC 9768 §3.2.2.5.1).
        let begins = !std::mem::replace(&mut self.last_ce, ce) && ce;
        begins || self.fresh >= CE_PER_ACK
    }

    /// A packet without data came with CE; whether it is to be acknowledged at once: with every third (RFC 9768 §3.2.2.5.1).
    #[cold]
    pub fn count_empty(&mut self) -> bool {
        self.cep += 1;
        self.fresh += 1;
        self.fresh > CE_PER_ACK
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
        self.style == Style::Accurate && self.unreported
    }

    /// An ACK leaves: the option that goes with it, if one is due and fits.
    #[cold]
    pub fn report(&mut self, sack_blocks: usize, timestamps: bool) -> Feedback {
        self.fresh = 0;
        let [e0b, ceb, e1b] = self.bytes;
        let option = Feedback::AccEcn { e0b, ceb, e1b };
        let sack = if sack_blocks > 0 { 4 + 8 * sack_blocks as u32 } else { 0 };
        let others = sack + if timestamps { 12 } else { 0 };
        let fits = AccEcn::of(&option).is_some_and(|option| others + option.bytes() <= OPTION_SPACE);
        if !self.option_due() || !fits {
            return Feedback::None;
        }
        self.unreported = false;
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
