//! A discipline as the registry knows it.

use super::field::{Amount, Field, Params};
use super::{Limit, Queue};
use crate::wire::Packet;
use cclab_algo::{Duration, Rate};

/// A queue discipline as the registry knows it.
pub struct Entry {
    /// Name in scenario files; the file and the docs page have the same.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Its fields; `limit` is among them.
    pub fields: &'static [Field],
    /// Packets of which this is the same leave in the order in which they came.
    pub lane: fn(&Packet) -> u64,
    /// Refuses values that are right by themselves and contradict each other.
    pub check: fn(&Params) -> Result<(), Refusal>,
    /// The queue of these parameters; what is automatic follows from where it stands.
    pub build: fn(&Params, &Around) -> Queue,
}

/// All packets leave in the order in which they came.
pub const FIFO: fn(&Packet) -> u64 = |_| 0;
/// No value contradicts another.
pub const FREE: fn(&Params) -> Result<(), Refusal> = |_| Ok(());

/// Where a queue stands: what automatic values and amounts relative to a BDP come to.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Rate of the link; `None` is infinitely fast.
    pub rate: Option<Rate>,
    /// Round-trip time of a BDP.
    pub rtt: Duration,
    /// Bytes of the largest packets.
    pub packet: u64,
}

impl Around {
    /// An amount in BDP counts whole packets, one in time bytes; it is one packet at least.
    pub fn resolve(&self, amount: Amount) -> Limit {
        match (amount, self.rate) {
            (Amount::Packets(n), _) => Limit::Packets(n),
            (Amount::Bytes(n), _) => Limit::Bytes(n),
            (Amount::Time(d), Some(rate)) => Limit::Bytes(bdp_bytes(rate, d, 1_000_000_000).max(self.packet)),
            (Amount::Bdp(billionths), Some(rate)) => {
                Limit::Packets((bdp_bytes(rate, self.rtt, billionths) / self.packet).max(1))
            }
            (Amount::Time(_) | Amount::Bdp(_), None) => Limit::UNLIMITED,
        }
    }

    /// The field `limit`.
    pub fn limit(&self, params: &Params) -> Limit {
        params.get::<Option<Amount>>("limit").map_or(Limit::UNLIMITED, |limit| self.resolve(limit))
    }
}

/// `billionths` · rate · rtt, in bytes, rounded down; saturates.
pub fn bdp_bytes(rate: Rate, rtt: Duration, billionths: u64) -> u64 {
    let bits_ns = u128::from(rate.0) * u128::from(rtt.0);
    let scaled = bits_ns.checked_mul(u128::from(billionths)).map(|x| x / (8 * 1_000_000_000 * 1_000_000_000));
    scaled.and_then(|x| u64::try_from(x).ok()).unwrap_or(u64::MAX)
}

/// Why values are refused that are right by themselves: they contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field that is to blame.
    pub field: &'static str,
    /// What is wrong with it; `{name}` stands for what the field `name` was given.
    pub message: &'static str,
}

impl Refusal {
    /// Refuses what this field was given if `contradicts`.
    ///
    /// # Errors
    /// It does.
    pub fn when(contradicts: bool, field: &'static str, message: &'static str) -> Result<(), Refusal> {
        if contradicts { Err(Refusal { field, message }) } else { Ok(()) }
    }
}
