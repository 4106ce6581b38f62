//! What travels: packets, the segments, datagrams and notices that they carry, ECN's bits, the congestion header.
//!
//! It stands under everything and knows units alone. Values are small and `Copy`; payloads are numbers of bytes.

pub mod ecn;
mod packed;
mod packet;
pub mod quick_start;
mod segment;

pub use cclab_algo::cc::{Cookie, Feedback, News};
pub use packed::{Options, Packed};
pub use packet::{Body, Datagram, IP_HEADER, NEWS, Packet, SocketId, TCP_HEADER, UDP_HEADER};
pub use segment::{AccEcn, DSS_ACK, DSS_DATA, Echo, Flags, SackBlocks, Segment, unwrap_offset};
