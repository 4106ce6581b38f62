//! What the relay reads and writes of a real packet's headers: RFC 791, RFC 9293, RFC 1624.

/// What the relay wants to know of an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Bytes, headers included.
    pub size: u32,
    /// Payload bytes of TCP or UDP; of other protocols what follows the IP header.
    pub payload: u32,
    /// ECN codepoint.
    pub ecn: u8,
    /// Sequence number, acknowledgement number and flags of a TCP segment.
    pub tcp: Option<(u32, u32, u8)>,
}

/// Of TCP's flags.
pub const SYN: u8 = 0x02;
/// The acknowledgement number is valid.
pub const ACK: u8 = 0x10;
const TCP: u8 = 6;
const UDP: u8 = 17;
const CE: u8 = 3;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// What an IPv4 packet says of itself; `None` for anything else.
pub fn parse(bytes: &[u8]) -> Option<Parsed> {
    let first = *bytes.first()?;
    if first >> 4 != 4 || bytes.len() < 20 {
        return None;
    }
    let size = u32::from(u16::from_be_bytes([bytes[2], bytes[3]])).min(bytes.len() as u32);
    let header = usize::from(first & 15) * 4;
    let tcp = if bytes[9] == TCP {
        Some((u32_at(bytes, header + 4)?, u32_at(bytes, header + 8)?, *bytes.get(header + 13)?))
    } else {
        None
    };
    let inner = match bytes[9] {
        TCP => usize::from(*bytes.get(header + 12)? >> 4) * 4,
        UDP => 8,
        _ => 0,
    };
    Some(Parsed { size, payload: size.saturating_sub((header + inner) as u32), ecn: bytes[1] & 3, tcp })
}

/// The first block of a TCP segment's SACK option, which has the segment that it answers (RFC 2018 §4).
pub fn first_sack(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = usize::from(*bytes.first()? & 15) * 4;
    let end = header + usize::from(*bytes.get(header + 12)? >> 4) * 4;
    let mut options = bytes.get(header + 20..end)?;
    loop {
        options = match *options {
            [1, ref rest @ ..] => rest,
            [5, len, ref rest @ ..] if len >= 10 => return Some((u32_at(rest, 0)?, u32_at(rest, 4)?)),
            [kind, len, ..] if kind > 1 && len >= 2 => options.get(usize::from(len)..)?,
            _ => return None,
        }
    }
}

/// Marks an IPv4 packet Congestion Experienced and mends its checksum (RFC 1624: HC' = ~(~HC + ~m + m')).
pub fn mark(bytes: &mut [u8]) {
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let (before, checksum) = (word(bytes, 0), word(bytes, 10));
    bytes[1] |= CE;
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(word(bytes, 0));
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071: the checksum over a header that holds it is zero.
    fn sums_up(bytes: &[u8]) -> bool {
        let sum: u32 = bytes[..20].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }

    /// A segment as a kernel wrote it, its checksum with it: 1001 bytes with ECT(0).
    fn segment() -> Vec<u8> {
        let mut bytes = vec![
            0x45, 0x02, 0x04, 0x1d, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2, // IP
            0x80, 0x01, 0x00, 0x50, 0, 0, 0, 9, 0, 0, 0, 7, 0x80, 0x18, 0xff, 0xff, 0, 0, 0, 0, // TCP, 32 bytes
        ];
        bytes.resize(1053, 0);
        let sum: u32 = bytes[..20].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        bytes
    }

    #[test]
    fn what_a_segment_says() {
        let parsed = parse(&segment());
        assert_eq!(parsed, Some(Parsed { size: 1053, payload: 1001, ecn: 2, tcp: Some((9, 7, 0x18)) }));
        assert_eq!(parse(&[0x60; 40]), None, "IPv6");
        assert!(parse(&segment()[..25]).is_none(), "cut off");
        assert_eq!(first_sack(&segment()), None);
    }

    /// Two no-operations, timestamps, two more, a block, as Linux lays them out.
    #[test]
    fn the_first_block_of_an_acknowledgement() {
        let mut bytes = segment();
        bytes[32] = 0xb0; // 44 bytes of TCP header
        let options = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0];
        bytes[40..64].copy_from_slice(&options);
        assert_eq!(first_sack(&bytes), Some((0x100, 0x200)));
        for cut in 0..64 {
            assert_eq!(first_sack(&bytes[..cut]), None);
        }
        bytes[53] = 0;
        assert_eq!(first_sack(&bytes), None, "the end of options");
    }

    #[test]
    fn a_mark_mends_the_checksum() {
        for ecn in [1, 2, 3] {
            let mut bytes = segment();
            for low in 0..=255_u8 {
                bytes[1] = ecn;
                bytes[4] = low; // (the identification: many different checksums)
                bytes[10..12].fill(0);
                let sum: u32 = bytes[..20].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
                let sum = (sum & 0xffff) + (sum >> 16);
                bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
                assert!(sums_up(&bytes));
                mark(&mut bytes);
                assert!(sums_up(&bytes) && parse(&bytes).map(|p| p.ecn) == Some(3));
            }
        }
    }
}
