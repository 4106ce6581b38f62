//! First-in first-out, the newest dropped when full; the limit is of packets waiting, the one being sent does not count.
//!
//! The room of a queue is all there is to it, so the link asks nobody ([`Queue::DropTail`]).

use super::field::{Amount, Field};
use super::{Entry, FIFO, FREE, LIMIT, Queue};

/// Drop-tail in the registry.
pub const ENTRY: Entry = Entry {
    name: "droptail",
    summary: "first-in first-out, the newest packet dropped when full",
    source: "RFC 7567 §2",
    fields: &[Field::amount("limit", Amount::BDP, LIMIT.doc).or("unlimited")],
    lane: FIFO,
    check: FREE,
    build: |params, around| Queue::DropTail { limit: around.limit(params) },
};
