//! A protocol as the registry knows it.

use super::{Routing, StationId};
use crate::net::field::{Field, Params, Refusal};
use std::fmt;

/// A routing protocol as the registry knows it.
pub struct Entry {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
    /// Refuses values that are right by themselves and contradict each other.
    pub check: fn(&Params) -> Result<(), Refusal>,
    /// The protocol at every station.
    pub start: Start,
}

/// The protocol at every station, in their order, of its fields and of who decodes whom at the start, sorted; only routes that never
/// change are made of that.
pub type Start = fn(&Params, &[Vec<StationId>]) -> Vec<Box<dyn Routing>>;

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.name == other.name
    }
}
