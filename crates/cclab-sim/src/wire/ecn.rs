//! ECN codepoints of the IP header (RFC 3168 §5, RFC 8311).

/// Not ECN-capable transport.
pub const NOT_ECT: u8 = 0;
/// ECN-capable, and low latency is asked for (RFC 9331).
pub const ECT1: u8 = 1;
/// ECN-capable.
pub const ECT0: u8 = 2;
/// Congestion Experienced.
pub const CE: u8 = 3;
