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
