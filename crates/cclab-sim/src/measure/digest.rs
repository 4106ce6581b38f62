//! A hash of every value in tables, to tell whether two results are the same to the bit.

use super::table::{Table, Text, Values};
use xxhash_rust::xxh3::Xxh3Default;

/// XXH3 with 128 bits.
struct Hash(Xxh3Default);

impl Hash {
    fn number(&mut self, x: u64) {
        self.0.update(&x.to_le_bytes());
    }
    fn float(&mut self, x: f64) {
        // one NaN: its payload is the platform's business
        self.number(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() });
    }
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }
    fn texts(&mut self, texts: &Text) {
        texts.iter().for_each(|text| self.bytes(text.as_bytes()));
    }
    fn column(&mut self, values: &Values) {
        match values {
            Values::F64(values) => values.iter().for_each(|&x| self.float(x)),
            Values::U64(values) => values.iter().for_each(|&x| self.number(x)),
            Values::U32(values) => values.iter().for_each(|&x| self.number(x.into())),
            Values::Bool(values) => values.iter().for_each(|&x| self.number(x.into())),
            Values::Text(texts) => self.texts(texts),
            Values::Named(places, texts) => {
                places.iter().for_each(|&x| self.number(x.into()));
                self.texts(texts);
            }
        }
    }
}

/// Whether there is nothing in a column but zeros, or values that do not exist.
fn is_silent(values: &Values) -> bool {
    match values {
        Values::F64(values) => values.iter().all(|x| x.is_nan()),
        Values::U64(values) => values.iter().all(|&x| x == 0),
        Values::U32(values) => values.iter().all(|&x| x == 0),
        Values::Bool(values) => !values.contains(&true),
        Values::Text(texts) => texts.iter().all(str::is_empty),
        Values::Named(places, _) => places.is_empty(),
    }
}

/// A hash of all tables and of a capture, as 32 hexadecimal digits.
///
/// Columns that are silent do not count, so a new one changes the digests of those results alone that have something in it.
pub fn digest(tables: &[Table], capture: Option<&[u8]>) -> String {
    let mut hash = Hash(Xxh3Default::new());
    for table in tables {
        hash.bytes(table.name.as_bytes());
        hash.number(table.rows() as u64);
        for column in table.columns.iter().filter(|column| !is_silent(&column.values)) {
            hash.bytes(column.name.as_bytes());
            hash.column(&column.values);
        }
    }
    if let Some(capture) = capture {
        hash.bytes(capture);
    }
    format!("{:032x}", hash.0.digest128())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::table::Column;
    use std::sync::Arc;

    fn of(columns: Vec<(&str, Values)>) -> String {
        let column = |(name, values): (&str, Values)| Column { name: name.into(), unit: "1", doc: "".into(), values };
        digest(&[Table { name: "flows", doc: "", columns: columns.into_iter().map(column).collect() }], None)
    }

    /// XXH3 of nothing, from the test vectors of xxHash.
    #[test]
    fn the_hash_is_xxh3() {
        assert_eq!(digest(&[], None), "99aa06d3014798d86001c324468d497f");
    }

    #[test]
    fn one_bit_makes_another_digest() {
        let one = of(vec![("x", Values::F64(vec![1.0, f64::NAN]))]);
        assert_eq!(one, of(vec![("x", Values::F64(vec![1.0, -f64::NAN]))]));
        for other in [
            ("x", Values::F64(vec![1.0 + f64::EPSILON, f64::NAN])),
            ("x", Values::F64(vec![f64::NAN, 1.0])),
            ("y", Values::F64(vec![1.0, f64::NAN])),
            ("x", Values::F64(vec![1.0, 0.0])),
        ] {
            assert_ne!(one, of(vec![other.clone()]), "{other:?}");
        }
    }

    #[test]
    fn only_a_silent_column_does_not_count() {
        let x = || ("x", Values::U64(vec![1, 2]));
        let alone = of(vec![x()]);
        for silent in [Values::U64(vec![0, 0]), Values::F64(vec![f64::NAN; 2]), Values::Bool(vec![false; 2])] {
            assert_eq!(alone, of(vec![("new", silent), x()]));
        }
        for told in [Values::U64(vec![0, 1]), Values::F64(vec![f64::NAN, 0.0]), Values::Bool(vec![false, true])] {
            assert_ne!(alone, of(vec![("new", told), x()]));
        }
        let named = |places| of(vec![("name", Values::Named(places, Arc::default()))]);
        assert_ne!(named(vec![0, 0]), named(vec![0, 1]));
    }
}
