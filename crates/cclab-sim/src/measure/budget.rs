//! What a run takes of memory: one sum of all kinds, before it begins and while it goes on.

/// The most that a run may take, bytes: what is kept of it has to be handed on, too, and a machine has several runs at once.
pub(crate) const MOST: u64 = 3_000_000_000;
/// Bytes of a flow, with its links, its scenario and its result; `tests/many_flows.rs` holds it to this.
pub(crate) const FLOW: u64 = 8192;
/// Of a connection of the background.
pub(crate) const CONNECTION: u64 = 6000;
/// Of a row of a flow's samples, or of a change of a queue, which is sorted into the table.
pub(crate) const SAMPLE: u64 = 70;
/// Of a row of a link's samples at an interval, or of a law's signal.
pub(crate) const SMALL_SAMPLE: u64 = 34;
/// Of a packet at a place, as it is noted and in the table that is made of it.
pub(crate) const NOTED: u64 = 100;
/// Of a frame, the same.
pub(crate) const FRAME: u64 = 150;
/// Of a packet under way.
pub(crate) const PACKET: u64 = 64;
/// Of a station that another one may sense, for each such pair and direction: `Neighbour`, who may be one, and who decodes it.
pub(crate) const HEARD: u64 = 24;
/// Of a part that an application has written and the network has not taken.
pub(crate) const PART: u64 = 20;

/// Where the sum is more than `most`: what takes most of it, its bytes, and the sum.
pub(crate) fn excess<T>(needs: impl IntoIterator<Item = (T, u64)>, most: u64) -> Option<(T, u64, u64)> {
    let mut total = 0_u64;
    let largest = needs.into_iter().inspect(|(_, bytes)| total = total.saturating_add(*bytes)).max_by_key(|n| n.1)?;
    (total > most).then_some((largest.0, largest.1, total))
}

/// As text.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
