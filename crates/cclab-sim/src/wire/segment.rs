//! A TCP segment as the endpoint sees it: a small `Copy` value, no payload bytes, only their number.
//!
//! Sequence numbers are absolute 64-bit offsets: the SYN occupies 0, the first data byte is 1. What a wire
//! would carry in 32 bits (SACK blocks, timestamps) is kept in 32 bits and unwrapped by the receiver.

use super::Feedback;
use cclab_algo::Time;

/// Bytes of a DSS option with data: acknowledgement, data and subflow sequence numbers of 4 bytes each, length, checksum.
pub const DSS_DATA: u32 = 20;
/// Bytes of a DSS option without data: an acknowledgement of 8 bytes.
pub const DSS_ACK: u32 = 12;

/// TCP header flags.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise.
    pub const SYN: Flags = Flags(0x02);
    /// Reset.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(0x10);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);
    /// Accurate ECN (RFC 9768).
    pub const AE: Flags = Flags(0x100);

    /// Whether all of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// The three ECN flags read as a number: AE, CWR, ECE from the left (RFC 9768 §3.2.1).
    pub const fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }
    /// The three ECN flags that read as the low bits of `n`.
    pub const fn of_ace(n: u32) -> Flags {
        Flags((n as u16 & 7) << 6)
    }
    /// Both.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, o: Flags) -> Flags {
        self.with(o)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (flag, letter) in [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ACK, '.'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::AE, 'A'),
        ] {
            if self.has(flag) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// Up to four SACK blocks, as the low 32 bits of their offsets; the first contains the segment that
/// triggered the ACK (RFC 2018) or reports a duplicate (RFC 2883).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlocks {
    len: u8,
    blocks: [(u32, u32); 4],
}

impl SackBlocks {
    /// No blocks.
    pub const NONE: SackBlocks = SackBlocks { len: 0, blocks: [(0, 0); 4] };

    /// Adds `[start, end)`; says whether there was room.
    pub fn push(&mut self, start: u64, end: u64) -> bool {
        if usize::from(self.len) == self.blocks.len() {
            return false;
        }
        self.blocks[usize::from(self.len)] = (start as u32, end as u32);
        self.len += 1;
        true
    }
    /// The blocks as carried on the wire.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }
    /// How many.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }
    /// The first `len`, if there are more.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len as u8);
    }
    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The 64-bit offset nearest to `near` whose low 32 bits are `low`.
pub fn unwrap_offset(near: u64, low: u32) -> u64 {
    let delta = low.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(delta))
}

/// What an ACK tells of the packet that caused it: which it was, when it was sent and when it arrived.
///
/// Exact clocks of the simulator; on the wire this is what TCP Santa Cruz's option carries.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Echo {
    /// First sequence number of that packet.
    pub seq: u64,
    /// Its send time (which also tells copies of it apart).
    pub sent: Time,
    /// Its arrival time; [`Time::ZERO`] with `sent` zero means that there is no echo.
    pub arrived: Time,
}

/// A TCP segment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Segment {
    /// Offset of the first byte (of the SYN or FIN where there is no data).
    pub seq: u64,
    /// Next offset expected, valid with [`Flags::ACK`].
    pub ack: u64,
    /// Set by the endpoint that sends it.
    pub sent: Time,
    /// About the packet that caused this ACK.
    pub echo: Echo,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// The congestion header: what routers are asked, with data and on a SYN; else what the peer asked, sent back.
    pub feedback: Feedback,
    /// Payload bytes.
    pub len: u32,
    /// Timestamp value (RFC 7323), valid with `has_timestamps`.
    pub ts_val: u32,
    /// Timestamp echo reply.
    pub ts_ecr: u32,
    /// Window field as on the wire, to be shifted left by the sender's scale except on a SYN.
    pub window: u16,
    /// MSS option (SYN only); 0 when absent.
    pub mss: u16,
    /// Flags.
    pub flags: Flags,
    /// Window-scale option (SYN only).
    pub window_scale: Option<u8>,
    /// SACK-permitted option (SYN only).
    pub sack_permitted: bool,
    /// Whether the timestamp option is present.
    pub has_timestamps: bool,
    /// The DSS option of a connection over several paths (RFC 8684 §3.3); 0 where there is none. With data the data sequence
    /// number of its first byte, else the data acknowledgement: the low 32 bits.
    pub dss: u32,
    /// ECN codepoint the IP header is to carry: 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// Whether this is a retransmission (known to the sender and to traces, never to the receiver).
    pub retransmission: bool,
}

impl Segment {
    /// Sequence space taken: payload plus one for SYN and one for FIN.
    pub fn seq_len(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }
    /// First offset after this segment.
    pub fn end(&self) -> u64 {
        self.seq + self.seq_len()
    }
    /// Bytes of TCP options, padded to a multiple of four as Linux lays them out:
    /// timestamps 12, MSS 4, window scale 4, SACK permitted 2 inside the timestamps' padding or 4 alone,
    /// SACK blocks 4 + 8 n, AccECN 8 for one field or two and 12 for three, DSS [`DSS_DATA`] or [`DSS_ACK`]. The other congestion headers ride in the
    /// padding of IP and TCP options that the simulator does not count.
    ///
    /// Kept out of line: a segment whose address is taken is copied whole, not field by field.
    #[inline(never)]
    pub fn option_bytes(&self) -> u32 {
        let mut n = 0;
        if self.mss != 0 {
            n += 4;
        }
        if self.has_timestamps {
            n += 12;
        } else if self.sack_permitted {
            n += 4;
        }
        if self.window_scale.is_some() {
            n += 4;
        }
        if !self.sack.is_empty() {
            n += 4 + 8 * self.sack.len() as u32;
        }
        if self.dss != 0 {
            n += if self.len > 0 { DSS_DATA } else { DSS_ACK };
        }
        if self.feedback.is_none() { n } else { n + self.header_bytes() }
    }
    /// Those of an option that carries the congestion header, or a cookie.
    #[cold]
    fn header_bytes(&self) -> u32 {
        match &self.feedback {
            // Kind and length; the experimental option has a magic number too (RFC 7413 §4.1.1, appendix A).
            Feedback::FastOpen(cookie) => {
                (2 + 2 * u32::from(cookie.experimental()) + cookie.bytes().len() as u32).next_multiple_of(4)
            }
            header => AccEcn::of(header).map_or(0, |option| option.bytes()),
        }
    }
    /// The low 32 bits of a data sequence number for [`dss`](Self::dss). The number that would be no option, one in four
    /// billion, is that of the byte before.
    pub fn dss_of(number: u64) -> u32 {
        match number as u32 {
            0 => u32::MAX,
            low => low,
        }
    }
    /// Whether `feedback` is for the routers on the way.
    pub fn asks_routers(&self) -> bool {
        self.len > 0 || (self.flags.has(Flags::SYN) && !self.flags.has(Flags::ACK))
    }
    /// The bytes that the AccECN option says were marked, if it does.
    pub fn marked_bytes(&self) -> Option<u32> {
        match self.feedback {
            Feedback::AccEcn { ceb, form, .. } if form == 0 || form & 3 >= 2 => Some(ceb),
            _ => None,
        }
    }
    /// The AccECN option, if there is one.
    pub fn accecn(&self) -> Option<AccEcn> {
        AccEcn::of(&self.feedback)
    }
}

/// An AccECN option (RFC 9768 §3.2.3): of the sender's choice, or a field for each counter that ever changed, and those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccEcn {
    /// 172 for the order ECT(0), CE, ECT(1); 174 for the other way round.
    pub kind: u8,
    /// How many of `fields` travel.
    pub len: usize,
    /// The counters, 24 bits each, in the order of `kind`.
    pub fields: [u32; 3],
}

impl AccEcn {
    /// Of the order ECT(0), CE, ECT(1).
    pub const ECT0_FIRST: u8 = 172;
    /// Of the order ECT(1), CE, ECT(0).
    pub const ECT1_FIRST: u8 = 174;

    /// The option that carries `feedback`, if that is one and anything was counted.
    pub fn of(feedback: &Feedback) -> Option<AccEcn> {
        let Feedback::AccEcn { e0b, ceb, e1b, form } = *feedback else { return None };
        let ect1_first = if form == 0 { e0b == 1 && e1b != 1 } else { form & 4 != 0 };
        let (kind, fields) =
            if ect1_first { (Self::ECT1_FIRST, [e1b, ceb, e0b]) } else { (Self::ECT0_FIRST, [e0b, ceb, e1b]) };
        let len = if form != 0 {
            usize::from(form & 3)
        } else if fields[2] != 1 {
            3
        } else if ceb != 0 {
            2
        } else {
            usize::from(fields[0] != 1)
        };
        (form != 0 || len > 0).then_some(AccEcn { kind, len, fields: fields.map(|n| n & 0xff_ffff) })
    }
    /// What a segment with just this option says; counters that do not travel are as they begin.
    pub fn feedback(&self) -> Feedback {
        let travels = |i: usize, first| if i < self.len { self.fields[i] } else { first };
        let (first, ceb, last) = (travels(0, 1), travels(1, 0), travels(2, 1));
        let (form, e0b, e1b) = match self.kind {
            Self::ECT1_FIRST => (12, last, first),
            _ => (8, first, last),
        };
        Feedback::AccEcn { e0b, ceb, e1b, form: form | self.len as u8 }
    }
    /// The counters in the order of this kind.
    pub fn names(kind: u8) -> [&'static str; 3] {
        if kind == Self::ECT1_FIRST { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] }
    }
    /// Bytes with the padding to a multiple of four.
    pub fn bytes(&self) -> u32 {
        (2 + 3 * self.len as u32).next_multiple_of(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_unwrap_across_four_gigabytes() {
        let near = (7_u64 << 32) + 5;
        assert_eq!(unwrap_offset(near, 9), near + 4);
        assert_eq!(unwrap_offset(near, u32::MAX), near - 6);
        assert_eq!(unwrap_offset(3, 1), 1);
    }

    #[test]
    fn a_segment_fits_two_cache_lines() {
        assert!(size_of::<Segment>() <= 128, "{}", size_of::<Segment>());
    }
}
