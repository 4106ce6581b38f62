//! Rates and nonces of the Quick-Start option: RFC 4782 §3.

/// The rate that a code stands for, bit/s (RFC 4782 §3.1).
pub fn rate_of(code: u8) -> f64 {
    if code == 0 { 0.0 } else { 40_000.0 * f64::from(1_u32 << code.min(15)) }
}

/// The highest code whose rate is no more than `bps`; 0 where there is none.
pub fn code_of(bps: f64) -> u8 {
    (1..=15).rev().find(|&code| rate_of(code) <= bps).unwrap_or(0)
}

/// The bits of a nonce that approve the rate of `code`: two for each step from it down to nothing (RFC 4782 §3.4).
pub fn nonce_mask(code: u8) -> u32 {
    (1 << (2 * u32::from(code.min(15)))) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4782 §3.1: 80 kbit/s for 1, 1.31 Gbit/s for 15; 5.12 Mbit/s is all that fits 10.
    #[test]
    fn the_rates_of_rfc_4782() {
        assert_eq!((rate_of(0), rate_of(1), rate_of(7), rate_of(15)), (0.0, 80e3, 5.12e6, 1.310_72e9));
        assert_eq!((code_of(10e6), code_of(10.24e6), code_of(79e3), code_of(1e12)), (7, 8, 0, 15));
        assert_eq!((nonce_mask(15), nonce_mask(1), nonce_mask(0)), (0x3fff_ffff, 3, 0));
    }
}
