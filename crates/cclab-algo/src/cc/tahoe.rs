//! Tahoe: Reno's window law under Tahoe's recovery, which starts over from one segment at every loss.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988. To the law a loss under that recovery is a
//! timeout; a flow whose `cc` is `tahoe` has `recovery = "tahoe"` unless it says otherwise.

use super::{Entry, reno};

pub(super) const ENTRY: Entry = Entry {
    name: "tahoe",
    summary: "Reno's law with Tahoe's recovery: after three duplicate ACKs slow start from one segment",
    source: "Jacobson, SIGCOMM 1988",
    ..reno::ENTRY
};
