//! A discipline as the registry knows it.

use super::field::{Amount, Field, Params, Refusal};
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

    /// The same, in packets or bytes; an infinite one is the most bytes that can be counted.
    pub fn resolved(&self, amount: Amount) -> Amount {
        match self.resolve(amount) {
            Limit::Packets(n) => Amount::Packets(n),
            Limit::Bytes(n) => Amount::Bytes(n),
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
