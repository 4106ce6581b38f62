//! What a packet to be sent takes of a send buffer beside its data, as Linux 6.18 counts it on x86-64 (`tcp_stream_alloc_skb`): a head, which
//! has room for headers and ends with a record of where the data lie, and the record of the whole. The data themselves lie elsewhere.
//!
//! How much room the headers of the layers below have (`MAX_HEADER`) is a matter of what the kernel was built for.

/// Below IP in a kernel without tunnels and radio: what a live run's tests were measured on, so what the endpoint has.
pub const BELOW_PLAIN: u64 = 32;
/// In one with tunnels and radio meshes, as distributions build it: what scripts are written for.
pub const BELOW_DISTRIBUTED: u64 = 176;

/// The record at the end of a head (`skb_shared_info`), that of a packet (`sk_buff`), and what both are rounded up to.
const BEHIND: u64 = 320;
const RECORD: u64 = 256;
const LINE: u64 = 64;

/// `MAX_TCP_HEADER`: with those of IP and TCP.
pub const fn headers(below: u64) -> u64 {
    (below + 128).next_multiple_of(LINE)
}

/// The most bytes of a packet that is handed over as one (`GSO_LEGACY_MAX_SIZE` less headers).
pub const fn largest(below: u64) -> u64 {
    65_536 - 1 - headers(below)
}

/// What a packet takes whose data lie elsewhere. Its head is of the kernel's cache of small heads, which also fit one that is received
/// (`GRO_MAX_HEAD_PAD`: a line more than is sent).
pub const fn overhead(below: u64) -> u64 {
    (below + 128 + LINE).next_multiple_of(LINE) + BEHIND + RECORD
}

/// What the kernel reckons with for a full segment when it makes the buffer larger (`tcp_sndbuf_expand`), as if the data lay in the head.
pub const fn full_segment(below: u64, bytes: u64) -> u64 {
    (bytes + headers(below) + BEHIND).next_power_of_two() + RECORD
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SO_MEMINFO of Linux 6.18 without tunnels and radio; the other as its headers say (`MAX_TCP_HEADER` 320, a head of 704).
    #[test]
    fn packets_take_what_they_take_in_the_kernel() {
        assert_eq!((headers(BELOW_PLAIN), overhead(BELOW_PLAIN)), (192, 832));
        assert_eq!((headers(BELOW_DISTRIBUTED), overhead(BELOW_DISTRIBUTED)), (320, 704 + 256));
        // 46,080 bytes for ten segments, twice.
        assert_eq!(full_segment(BELOW_PLAIN, 1460), 46_080 / 20);
        assert_eq!(full_segment(BELOW_DISTRIBUTED, 1460), 4096 + 256);
    }
}
