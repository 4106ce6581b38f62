//! NewReno: Reno's window law under the recovery of RFC 6582.
//!
//! Source: RFC 6582. What is new in NewReno is loss recovery, which belongs to the endpoint: a flow whose
//! `cc` is `newreno` gets `recovery = "newreno"` in the `classic` profile, where `reno` gets `"reno"`.

use super::{Entry, reno};

pub(super) const ENTRY: Entry = Entry {
    name: "newreno",
    summary: "Reno's law; its classic profile repairs several losses of a window without a timeout",
    source: "RFC 6582; RFC 5681",
    params: reno::PARAMS,
    build: &|cx, params| Box::new(reno::Reno::new(cx, params)),
};
