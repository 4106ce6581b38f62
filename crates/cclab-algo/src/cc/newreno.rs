//! NewReno: Reno's window law under the recovery of RFC 6582.
//!
//! Source: RFC 6582. What is new in NewReno is loss recovery, which belongs to the endpoint: a flow whose `cc` is
//! `newreno` has `recovery = "newreno"` unless it says otherwise.

use super::{Entry, reno};

pub(super) const ENTRY: Entry = Entry {
    name: "newreno",
    summary: "Reno's law with NewReno's recovery: several losses of a window without a timeout, one per RTT",
    source: "RFC 6582; RFC 5681",
    ..reno::ENTRY
};
