//! SACK: Reno's window law under the recovery of RFC 6675.
//!
//! Source: RFC 6675; RFC 2018. A flow whose `cc` is `sack` has `recovery = "sack"` unless it says otherwise.

use super::{Entry, reno};

pub(super) const ENTRY: Entry = Entry {
    name: "sack",
    summary: "Reno's law with SACK's recovery: several losses of a window in about one RTT",
    source: "RFC 6675; RFC 2018; RFC 5681",
    ..reno::ENTRY
};
