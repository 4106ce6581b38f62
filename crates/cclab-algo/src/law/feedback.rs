//! The congestion header: what a packet carries for the routers on its way, and what the receiver sends back.
//!
//! One mechanism with several users: a law asks ([`CongestionControl::request`]), routers write, the receiver echoes,
//! the law reads ([`AckEvent::feedback`]). ECN's two bits in the IP header are its oldest part; what AccECN reports of
//! them comes back here too.
//!
//! [`CongestionControl::request`]: super::CongestionControl::request
//! [`AckEvent::feedback`]: super::AckEvent::feedback

/// The congestion header of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Feedback {
    /// No header.
    #[default]
    None,
    /// Payload bytes received under each codepoint (RFC 9768 §3.2.3); only the low 24 bits travel.
    AccEcn {
        /// Under ECT(0); begins at 1.
        e0b: u32,
        /// Under Congestion Experienced.
        ceb: u32,
        /// Under ECT(1); begins at 1.
        e1b: u32,
        /// Which of them travel and in which order, as the option says it; 0: as few as RFC 9768 allows.
        form: u8,
    },
    /// Anti-ECN's bit (Kunniyur, ICC 2003).
    AntiEcn {
        /// Every link so far had room to spare.
        room: bool,
    },
    /// TCP Muzha's index ([`drai`](crate::cc::drai)).
    Drai {
        /// The lowest level that a router wrote; 0 is no mark.
        level: u8,
        /// How many levels the sender knows.
        levels: u8,
    },
    /// Quick-Start's option (RFC 4782 §3.1).
    QuickStart {
        /// Rate code N, 40 kbit/s · 2^N; 0 denies.
        rate: u8,
        /// TTL Diff: how many links with a rate let the request pass without taking part.
        ttl: u8,
        /// QS Nonce, 30 bits: two for each rate step.
        nonce: u32,
    },
    /// XCP's header (Katabi, Handley, Rohrs, SIGCOMM 2002, §3.2).
    Xcp {
        /// The sender's window, bytes.
        cwnd: u32,
        /// The sender's smoothed RTT, µs; 0 before the first sample.
        rtt_us: u32,
        /// By how much the window may change, bytes: what the sender wants, then what the routers leave of it.
        delta: f32,
    },
    /// No router's: TCP Fast Open's option of a SYN (RFC 7413 §4.1.1).
    FastOpen(Cookie),
}

/// What lets a SYN carry data (RFC 7413 §4.1.2); without bytes the request of one. RFC 7413 allows 4 to 16 bytes, here there is room for 14.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookie {
    /// Bytes of it, and in the highest bit whether the option is the experimental one (kind 254).
    head: u8,
    bytes: [u8; 14],
}

impl Cookie {
    /// The cookie of these bytes; `None`: there is no room.
    pub fn new(bytes: &[u8], experimental: bool) -> Option<Cookie> {
        let mut cookie = Cookie { head: bytes.len() as u8 | u8::from(experimental) << 7, ..Cookie::default() };
        cookie.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(cookie)
    }
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.head & 0x7f)]
    }
    /// Whether the option is the experimental one.
    pub fn experimental(&self) -> bool {
        self.head >> 7 != 0
    }
    /// The same bytes in an option like that of `other`.
    pub fn like(self, other: Cookie) -> Cookie {
        Cookie { head: self.head & 0x7f | other.head & 0x80, ..self }
    }
}

impl Feedback {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        matches!(self, Feedback::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It travels in every packet.
    #[test]
    fn a_header_is_small() {
        assert_eq!(size_of::<Feedback>(), 16);
    }
}
