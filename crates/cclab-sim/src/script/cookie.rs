//! The cookies that a host gives out for Fast Open, as Linux makes them (`tcp_fastopen_cookie_gen`): SipHash-2-4 of both addresses;
//! and those that it was given.

use crate::wire::{Cookie, Feedback, Segment};

/// A key, as the four words of `tcp_fastopen_key` or the sixteen bytes of TCP_FASTOPEN_KEY say it.
pub type Key = [u64; 2];

/// What a peer takes whose SYN-ACK does not say (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;

/// What a host remembers of its peer for Fast Open (RFC 7413 §4.1.3, Linux `tcp_fastopen_cache_set`).
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Without bytes: none was given.
    pub cookie: Cookie,
    /// The longest segment that it takes.
    pub mss: u32,
    /// The option that it has not answered: neither, that of RFC 7413, the experimental one.
    unanswered: u8,
}

impl Default for Peer {
    fn default() -> Peer {
        Peer { cookie: Cookie::default(), mss: u32::MAX, unanswered: 0 }
    }
}

impl Peer {
    /// Whether a SYN to it may bring data.
    pub fn gave_cookie(&self) -> bool {
        !self.cookie.bytes().is_empty()
    }

    /// What the next SYN shows; who has not answered the option of RFC 7413 is asked once by the experimental one.
    pub fn shown(&self) -> Cookie {
        if self.unanswered == 1 && !self.gave_cookie() {
            Cookie::new(&[], true).unwrap_or_default()
        } else {
            self.cookie
        }
    }

    /// It has answered the first SYN by `answer`; `late`: one that was sent again, without the option.
    pub fn learn(&mut self, syn: &Segment, answer: &Segment, late: bool) {
        self.mss = if answer.mss == 0 { DEFAULT_MSS } else { answer.mss }.into();
        let Feedback::FastOpen(asked) = syn.feedback else { return };
        match answer.feedback {
            // RFC 7413 §4.1.1: 4 to 16 bytes, an even number.
            Feedback::FastOpen(given) if given.bytes().len() >= 4 && given.bytes().len() % 2 == 0 => {
                self.cookie = given
            }
            _ if !late && syn.len == 0 && !self.gave_cookie() => {
                self.unanswered = self.unanswered.max(1 + u8::from(asked.experimental()));
            }
            _ => {}
        }
    }
}

/// The key that the `defaults.sh` of the public script collections sets.
pub const DEFAULT_KEY: Key = [0xb2b2_b2b2_a1a1_a1a1, 0xd4d4_d4d4_c3c3_c3c3];

/// The cookie for a peer at `remote` of a host at `local`.
pub fn cookie(key: Key, remote: [u8; 4], local: [u8; 4]) -> Cookie {
    let [a, b, c, d] = remote;
    let [e, f, g, h] = local;
    let hash = siphash(key, u64::from_le_bytes([a, b, c, d, e, f, g, h]));
    Cookie::new(&hash.to_le_bytes(), false).expect("eight bytes have room")
}

/// `a0bf63f7-ed803d81-cd641d30-cebc4a90`: words in hexadecimal, the first of several keys.
pub fn key(text: &str) -> Option<Key> {
    let words: Vec<u64> = text
        .split(',')
        .next()?
        .split('-')
        .map(|word| u32::from_str_radix(word, 16).ok().map(u64::from))
        .collect::<Option<_>>()?;
    let [a, b, c, d] = words.try_into().ok()?;
    Some([a | b << 32, c | d << 32])
}

/// The same as bytes, `\xf7\x63…`; there are sixteen.
pub fn key_of_bytes(text: &str) -> Option<Key> {
    let bytes: Vec<u8> =
        text.split("\\x").skip(1).map(|hex| u8::from_str_radix(hex, 16).ok()).collect::<Option<_>>()?;
    let half = |i: usize| Some(u64::from_le_bytes(bytes.get(8 * i..8 * i + 8)?.try_into().ok()?));
    (bytes.len() == 16).then_some([half(0)?, half(1)?])
}

/// SipHash-2-4 (Aumasson and Bernstein 2012) of eight bytes.
fn siphash(key: Key, message: u64) -> u64 {
    let [k0, k1] = key;
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    for block in [message, 8 << 56] {
        v[3] ^= block;
        round(&mut v);
        round(&mut v);
        v[0] ^= block;
    }
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn round(v: &mut [u64; 4]) {
    mix(v, 0, 1, 13);
    mix(v, 2, 3, 16);
    v[0] = v[0].rotate_left(32);
    mix(v, 0, 3, 21);
    mix(v, 2, 1, 17);
    v[2] = v[2].rotate_left(32);
}

fn mix(v: &mut [u64; 4], a: usize, b: usize, turn: u32) {
    v[a] = v[a].wrapping_add(v[b]);
    v[b] = v[b].rotate_left(turn) ^ v[a];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cookies of public scripts, which a kernel gave: key, peer and host.
    #[test]
    fn cookies_are_linuxs() {
        for (words, remote, local, expected) in [
            ("a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4", [192, 0, 2, 1], [192, 168, 0, 1], 0x3021_b9d8_8901_7eeb_u64),
            ("a0bf63f7-ed803d81-cd641d30-cebc4a90", [10, 248, 0, 2], [192, 168, 0, 2], 0x00ab_aaab_e8e9_54c2),
            ("00000000-00000000-00000000-00000000", [10, 248, 0, 2], [192, 168, 0, 2], 0x93b7_aa4f_550f_8a1a),
        ] {
            assert_eq!(cookie(key(words).unwrap(), remote, local).bytes(), expected.to_be_bytes(), "{words}");
        }
        assert_eq!(key("a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4"), Some(DEFAULT_KEY));
        let bytes = r"\xf7\x63\xbf\xa0\x81\x3d\x80\xed\x30\x1d\x64\xcd\x90\x4a\xbc\xce";
        assert_eq!(key_of_bytes(bytes), key("a0bf63f7-ed803d81-cd641d30-cebc4a90"));
        assert_eq!((key("a1-b2"), key_of_bytes(r"\x00")), (None, None));
    }

    /// The vector of the paper's appendix for messages of eight bytes: key 00 … 0f, message 00 … 07.
    #[test]
    fn siphash_is_its_authors() {
        let bytes = |from: u8| u64::from_le_bytes(std::array::from_fn(|i| from + i as u8));
        assert_eq!(siphash([bytes(0), bytes(8)], bytes(0)), 0x93f5_f579_9a93_2462);
    }
}
