//! Tables: columns with a name, a unit and a doc, each defined in one place, which also says how its value is got.
//!
//! A table is defined by `table!` beside what it is measured of: `flows`, `samples` and `signals` in `app/flow/table.rs`,
//! `applications` in `app/application/table.rs`, `background` and `fct` in `app/background/table.rs`, `links` and `link_samples` in `net/table.rs`, `stations` in
//! `net/medium/table.rs`, `losses` in `net/losses.rs`, `frames`, `places` and `routes` in `net/medium/diary.rs`, `packets` in
//! `measure/packets.rs`, `runs` in `world/result.rs`. A new column is a line there; the digest, the numpy arrays, the
//! reference of columns, `cclab list columns`, the backend `model` and the sweep's tables walk what [`Table`] says.
//!
//! Every backend fills the same tables. One that runs no simulated hosts (a real kernel's sockets behind the simulator's
//! links, say) gives whole rows with `push_row`, in which the compiler asks it for every column; a value that it does not
//! know is NaN.
//!
//! A name ends in its unit: `_s`, `_s2`, `_bps`, `_bytes`, `_packets`, `_segments`, `_m`; a count or a share (`1`) and a text
//! (empty) have none. A value that does not exist is NaN.

use super::Distribution;
use std::ops::{self, Deref};
use std::sync::Arc;

/// A table of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

impl Table {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.rows())
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, which ends in the unit.
    pub name: String,
    /// SI unit: `s`, `s²`, `bit/s`, `bytes`, `packets`, `segments`; `1` of a count or a share; empty of a text and of
    /// what has it elsewhere.
    pub unit: &'static str,
    /// What it means.
    pub doc: String,
    /// A value per row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Values {
    /// NaN where there is none.
    F64(Vec<f64>),
    U64(Vec<u64>),
    U32(Vec<u32>),
    Bool(Vec<bool>),
    Text(Text),
    /// A text per row, as its number in a list; [`Index::NONE`] where there is none.
    Named(Vec<u32>, Arc<Text>),
}

impl Values {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self {
            Values::F64(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::U32(values) => values.len(),
            Values::Bool(values) => values.len(),
            Values::Text(texts) => texts.rows(),
            Values::Named(rows, _) => rows.len(),
        }
    }

    /// What kind of values they are: `f64`, `u64`, `u32`, `bool` or `text`.
    pub fn kind(&self) -> &'static str {
        match self {
            Values::F64(_) => "f64",
            Values::U64(_) => "u64",
            Values::U32(_) => "u32",
            Values::Bool(_) => "bool",
            Values::Text(_) | Values::Named(..) => "text",
        }
    }
}

/// What holds the values of a field of a table while it is filled.
pub trait Store: Default {
    /// A value.
    type Item<'a>;
    /// Adds a value.
    fn push(&mut self, item: Self::Item<'_>);
    /// The value in a row.
    fn get(&self, row: usize) -> Self::Item<'_>;
    /// How many there are.
    fn rows(&self) -> usize;
    /// Makes room for so many more.
    fn reserve(&mut self, rows: usize);
    /// The values as columns: one, or several of a distribution.
    fn columns(self, name: &str, unit: &'static str, doc: &str, into: &mut Vec<Column>);
}

fn column(name: &str, unit: &'static str, doc: &str, values: Values) -> Column {
    Column { name: name.into(), unit, doc: doc.into(), values }
}

macro_rules! store {
    ($type:ty, $variant:ident) => {
        impl Store for Vec<$type> {
            type Item<'a> = $type;
            fn push(&mut self, item: $type) {
                self.push(item);
            }
            fn get(&self, row: usize) -> $type {
                self[row]
            }
            fn rows(&self) -> usize {
                self.len()
            }
            fn reserve(&mut self, rows: usize) {
                self.reserve(rows);
            }
            fn columns(self, name: &str, unit: &'static str, doc: &str, into: &mut Vec<Column>) {
                into.push(column(name, unit, doc, Values::$variant(self)));
            }
        }
    };
}
store!(f64, F64);
store!(u64, U64);
store!(u32, U32);
store!(bool, Bool);

/// Distributions of times; eight columns.
impl Store for Vec<Distribution> {
    type Item<'a> = Distribution;
    fn push(&mut self, item: Distribution) {
        self.push(item);
    }
    fn get(&self, row: usize) -> Distribution {
        self[row]
    }
    fn rows(&self) -> usize {
        self.len()
    }
    fn reserve(&mut self, rows: usize) {
        self.reserve(rows);
    }
    fn columns(self, name: &str, unit: &'static str, doc: &str, into: &mut Vec<Column>) {
        let doc = doc.trim_end_matches('.');
        let mut part = |end: &str, unit, what: &str, of: fn(&Distribution) -> f64| {
            let values = Values::F64(self.iter().map(of).collect());
            into.push(column(&format!("{name}_{end}"), unit, &format!("{doc}: {what}."), values));
        };
        part("mean_s", unit, "mean", |d| d.mean);
        part("var_s2", "s²", "population variance", |d| d.variance);
        part("min_s", unit, "smallest", |d| d.min);
        part("max_s", unit, "largest", |d| d.max);
        part("p50_s", unit, "median, from a histogram (error below 1 %)", |d| d.p50);
        part("p95_s", unit, "95th percentile, likewise", |d| d.p95);
        part("p99_s", unit, "99th percentile, likewise", |d| d.p99);
        let count = Values::U64(self.iter().map(|d| d.count).collect());
        into.push(column(&format!("{name}_count"), "1", &format!("{doc}: number."), count));
    }
}

/// Texts behind each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    all: String,
    ends: Vec<usize>,
}

impl Text {
    /// All texts, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.rows()).map(|row| &self[row])
    }
}

impl<'a> FromIterator<&'a str> for Text {
    fn from_iter<T: IntoIterator<Item = &'a str>>(texts: T) -> Text {
        let mut all = Text::default();
        texts.into_iter().for_each(|text| all.push(text));
        all
    }
}

impl ops::Index<usize> for Text {
    type Output = str;
    fn index(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.all[start..self.ends[row]]
    }
}

impl Store for Text {
    type Item<'a> = &'a str;
    fn push(&mut self, item: &str) {
        self.all.push_str(item);
        self.ends.push(self.all.len());
    }
    fn get(&self, row: usize) -> &str {
        &self[row]
    }
    fn rows(&self) -> usize {
        self.ends.len()
    }
    fn reserve(&mut self, rows: usize) {
        self.ends.reserve(rows);
    }
    fn columns(self, name: &str, unit: &'static str, doc: &str, into: &mut Vec<Column>) {
        into.push(column(name, unit, doc, Values::Text(self)));
    }
}

/// Texts of which there are few different ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    codes: Vec<u32>,
    names: Text,
}

impl Names {
    /// For each row the number of its text.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }
    /// The texts, in the order in which they came.
    pub fn names(&self) -> &Text {
        &self.names
    }
}

impl ops::Index<usize> for Names {
    type Output = str;
    fn index(&self, row: usize) -> &str {
        &self.names[self.codes[row] as usize]
    }
}

impl Store for Names {
    type Item<'a> = &'a str;
    fn push(&mut self, item: &str) {
        let known = self.names.iter().position(|name| name == item);
        if known.is_none() {
            self.names.push(item);
        }
        self.codes.push(known.unwrap_or(self.names.rows() - 1) as u32);
    }
    fn get(&self, row: usize) -> &str {
        &self[row]
    }
    fn rows(&self) -> usize {
        self.codes.len()
    }
    fn reserve(&mut self, rows: usize) {
        self.codes.reserve(rows);
    }
    fn columns(self, name: &str, unit: &'static str, doc: &str, into: &mut Vec<Column>) {
        into.push(column(name, unit, doc, Values::Named(self.codes, Arc::new(self.names))));
    }
}

/// Rows of another table, which are called by their names where types end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    rows: Vec<u32>,
    /// Names of the other table's rows, once they are known.
    pub names: Arc<Text>,
}

impl Index {
    /// No row.
    pub const NONE: u32 = u32::MAX;
}

impl Deref for Index {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &self.rows
    }
}

impl Store for Index {
    type Item<'a> = u32;
    fn push(&mut self, item: u32) {
        self.rows.push(item);
    }
    fn get(&self, row: usize) -> u32 {
        self.rows[row]
    }
    fn rows(&self) -> usize {
        self.rows.len()
    }
    fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows);
    }
    fn columns(self, name: &str, unit: &'static str, doc: &str, into: &mut Vec<Column>) {
        into.push(column(name, unit, doc, Values::Named(self.rows, self.names)));
    }
}

/// Defines a table: its name, what a row is and what it is got of; of each column the doc, the name, what holds the values,
/// the unit, and how a value is got. Gives the table, with a `Vec` for each column, and a type for a single row.
macro_rules! table {
    (
        $(#[doc = $rows:literal])+
        $name:literal: $Table:ident of $Row:ident from $it:pat_param, $Source:ty;
        $($(#[doc = $doc:literal])+ $column:ident: $Store:ty, $unit:literal = $value:expr;)+
    ) => {
        $(#[doc = $rows])+
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $Table {
            $($(#[doc = $doc])+ pub $column: $Store,)+
        }

        #[doc = concat!("A row of [`", stringify!($Table), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Row<'a> {
            $($(#[doc = $doc])+ pub $column: <$Store as $crate::measure::table::Store>::Item<'a>,)+
        }

        impl $Table {
            /// Adds a row.
            pub(crate) fn push(&mut self, $it: $Source) {
                self.push_row($Row { $($column: $value,)+ });
            }

            /// Makes room for so many more rows.
            pub fn reserve(&mut self, rows: usize) {
                use $crate::measure::table::Store;
                $(Store::reserve(&mut self.$column, rows);)+
            }

            /// Adds a row whose values come from elsewhere.
            pub fn push_row(&mut self, row: $Row<'_>) {
                use $crate::measure::table::Store;
                $(Store::push(&mut self.$column, row.$column);)+
            }

            /// A row.
            pub fn row(&self, row: usize) -> $Row<'_> {
                use $crate::measure::table::Store;
                $Row { $($column: Store::get(&self.$column, row),)+ }
            }

            /// All rows.
            pub fn rows(&self) -> impl ExactSizeIterator<Item = $Row<'_>> {
                (0..self.len()).map(|row| self.row(row))
            }

            /// How many rows there are.
            pub fn len(&self) -> usize {
                use $crate::measure::table::Store;
                [$(Store::rows(&self.$column)),+][0]
            }

            /// Whether there are no rows.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The columns with their names, units and docs.
            pub fn into_table(self) -> $crate::measure::table::Table {
                use $crate::measure::table::Store;
                let mut columns = Vec::new();
                $(self.$column.columns(stringify!($column), $unit, concat!($($doc),+).trim(), &mut columns);)+
                $crate::measure::table::Table { name: $name, doc: concat!($($rows),+).trim(), columns }
            }
        }
    };
}
pub(crate) use table;

#[cfg(test)]
mod tests {
    use super::*;

    table! {
        /// One row per step, which
        /// is short.
        "steps": Steps of Step from (n, name), (u32, &str);

        /// What it is called.
        label: Text, "" = &format!("{name}-{n}");
        /// What it is.
        kind: Names, "" = name;
        /// Another step.
        next: Index, "" = if n == 2 { Index::NONE } else { n + 1 };
        /// How long.
        length_s: Vec<f64>, "s" = f64::from(n) / 2.0;
        /// How often it waited.
        wait: Vec<Distribution>, "s" = Distribution { count: n.into(), mean: 0.5, ..Distribution::default() };
    }

    fn steps() -> Steps {
        let mut steps = Steps::default();
        steps.reserve(3);
        [(0, "slow"), (1, ""), (2, "slow")].into_iter().for_each(|step| steps.push(step));
        steps
    }

    #[test]
    fn what_goes_in_by_rows_comes_out() {
        let steps = steps();
        assert!(Steps::default().is_empty() && !steps.is_empty());
        let last = steps.row(2);
        assert_eq!(
            (last.label, last.kind, last.next, last.length_s, last.wait.count),
            ("slow-2", "slow", Index::NONE, 1.0, 2)
        );
        assert_eq!(steps.rows().map(|step| step.label).collect::<Vec<_>>(), ["slow-0", "-1", "slow-2"]);
        assert_eq!(&steps.kind[1], "");
        let mut again = Steps::default();
        steps.rows().for_each(|row| again.push_row(row));
        assert_eq!(again, steps);
    }

    #[test]
    fn a_table_says_all_of_its_columns() {
        let mut steps = steps();
        steps.next.names = Arc::new(steps.label.clone());
        let table = steps.into_table();
        assert_eq!((table.name, table.doc, table.rows()), ("steps", "One row per step, which is short.", 3));
        let names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names[..6], ["label", "kind", "next", "length_s", "wait_mean_s", "wait_var_s2"]);
        assert_eq!((names.len(), names[11]), (12, "wait_count"));
        let [label, kind, next, length, mean, ..] = &table.columns[..] else { panic!("twelve columns") };
        assert_eq!((label.values.kind(), length.unit, mean.doc.as_str()), ("text", "s", "How often it waited: mean."));
        let Values::Named(places, texts) = &kind.values else { panic!("names") };
        assert!(places == &[0, 1, 0] && texts.iter().eq(["slow", ""]));
        let Values::Named(places, texts) = &next.values else { panic!("names") };
        assert!(places == &[1, 2, Index::NONE] && texts.iter().eq(["slow-0", "-1", "slow-2"]));
        assert!(table.columns.iter().all(|column| column.values.rows() == 3));
    }
}
