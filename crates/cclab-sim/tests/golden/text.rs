//! Results as text that a person can review: rounded, a line for a row, and compared cell by cell.

use cclab_sim::measure::table::{Column, Index, Table, Values};
use std::collections::BTreeMap;

/// Characters in a line.
const WIDTH: usize = 120;

/// The tables of runs with these names as text. Tables with a row for each thing as they are, but for links that only delay;
/// of those over time how many rows there are and the mean of each column. A column that is the same in all rows is told once.
pub fn told(runs: &[(String, Vec<Table>)]) -> String {
    let mut paragraphs = Vec::new();
    for Table { name, .. } in cclab_sim::world::schema() {
        let mut columns: Vec<(String, Vec<String>)> = vec![(name.to_string(), vec![])];
        for (run, tables) in runs {
            let Some(table) = tables.iter().find(|table| table.name == name) else { continue };
            let found = if table.columns[0].name == "time_s" { over_time(table) } else { things(table) };
            columns[0].1.extend(std::iter::repeat_n(run.clone(), found[0].1.len()));
            columns.resize(found.len() + 1, Default::default());
            for (all, (name, cells)) in columns[1..].iter_mut().zip(found) {
                all.0 = name;
                all.1.extend(cells);
            }
        }
        if !columns[0].1.is_empty() {
            paragraphs.extend(blocks(columns));
        }
    }
    paragraphs.join("\n\n") + "\n"
}

fn over_time(table: &Table) -> Vec<(String, Vec<String>)> {
    let means = table.columns.iter().filter_map(|c| Some((c.name.clone(), vec![number(mean(&c.values)?)])));
    std::iter::once(("rows".into(), vec![table.rows().to_string()])).chain(means).collect()
}

fn things(table: &Table) -> Vec<(String, Vec<String>)> {
    let delays = |row: &usize| {
        let rate = table.columns.iter().find(|column| column.name == "rate_bps").map(|column| &column.values);
        matches!(rate, Some(Values::F64(rates)) if rates[*row].is_nan())
    };
    let rows: Vec<usize> = (0..table.rows()).filter(|row| !delays(row)).collect();
    table.columns.iter().map(|c| (c.name.clone(), rows.iter().map(|&row| cell(c, row)).collect())).collect()
}

/// A table in blocks of as many columns as a line holds; the first column begins each.
fn blocks(columns: Vec<(String, Vec<String>)>) -> Vec<String> {
    let mut columns = columns.into_iter();
    let (table, runs) = columns.next().expect("the names of the runs");
    let (same, differ): (Vec<_>, Vec<_>) =
        columns.partition(|(_, cells)| runs.len() > 1 && cells.iter().all(|cell| *cell == cells[0]));
    let same: Vec<String> = same.iter().map(|(name, cells)| format!("{table} * {name} {}", cells[0])).collect();
    let mut text = if same.is_empty() { vec![] } else { vec![same.join("\n")] };
    let width = |name: &str, cells: &[String]| cells.iter().map(|c| c.len()).max().unwrap_or(0).max(name.len()) + 2;
    let first = width(&table, &runs);
    let mut differ = differ.into_iter().peekable();
    while differ.peek().is_some() {
        let mut block = vec![format!("{table:first$}")];
        block.extend(runs.iter().map(|run| format!("{run:first$}")));
        let mut taken = first;
        while let Some((name, cells)) = differ.next_if(|(name, cells)| {
            taken += width(name, cells);
            taken <= WIDTH || taken == first + width(name, cells)
        }) {
            let wide = width(&name, &cells);
            block[0] += &format!("{name:>wide$}");
            for (line, cell) in block[1..].iter_mut().zip(cells) {
                *line += &format!("{cell:>wide$}");
            }
        }
        text.push(block.join("\n"));
    }
    text
}

fn cell(column: &Column, row: usize) -> String {
    let text = match &column.values {
        Values::F64(values) => number(values[row]),
        Values::U64(values) => values[row].to_string(),
        Values::U32(values) => values[row].to_string(),
        Values::Bool(values) => values[row].to_string(),
        Values::Text(texts) => texts[row].to_string(),
        Values::Named(places, _) if places[row] == Index::NONE => "-".into(),
        Values::Named(places, texts) => texts[places[row] as usize].to_string(),
    };
    text.replace(' ', "_")
}

/// The mean of what is not NaN.
fn mean(values: &Values) -> Option<f64> {
    let numbers: Vec<f64> = match values {
        Values::F64(values) => values.iter().copied().filter(|x| !x.is_nan()).collect(),
        Values::U64(values) => values.iter().map(|&x| x as f64).collect(),
        Values::U32(values) => values.iter().map(|&x| f64::from(x)).collect(),
        Values::Bool(values) => values.iter().map(|&x| f64::from(u8::from(x))).collect(),
        Values::Text(_) | Values::Named(..) => return None,
    };
    Some(numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// Five significant digits; `-` for NaN.
fn number(x: f64) -> String {
    if x.is_nan() {
        return "-".into();
    }
    let rounded = format!("{x:.4e}");
    let exponent: i32 = rounded.split_once('e').map_or(0, |(_, e)| e.parse().unwrap_or(0));
    if !(-4..9).contains(&exponent) {
        return rounded;
    }
    let text = format!("{:.*}", (4 - exponent).max(0) as usize, rounded.parse::<f64>().unwrap_or(x));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Each cell by its table, run, row among those of the run, and column.
fn cells(text: &str) -> BTreeMap<(&str, &str, usize, &str), &str> {
    let mut cells = BTreeMap::new();
    for block in text.split("\n\n") {
        let mut heading: Vec<&str> = Vec::new();
        let mut last = ("", 0);
        for words in
            block.lines().filter(|line| !line.starts_with('#')).map(|l| l.split_whitespace().collect::<Vec<_>>())
        {
            match words[..] {
                [] => {}
                [table, "*", column, value] => drop(cells.insert((table, "*", 0, column), value)),
                _ if heading.is_empty() => heading = words,
                _ => {
                    last = if last.0 == words[0] { (last.0, last.1 + 1) } else { (words[0], 0) };
                    for (column, value) in heading.iter().zip(&words).skip(1) {
                        cells.insert((heading[0], last.0, last.1, column), value);
                    }
                }
            }
        }
    }
    cells
}

/// What differs, cell by cell.
pub fn differences(was: &str, is: &str) -> Vec<String> {
    let (was, is) = (cells(was), cells(is));
    let mut keys: Vec<_> = was.keys().chain(is.keys()).collect();
    keys.sort();
    keys.dedup();
    let changed = keys.into_iter().filter(|key| was.get(key) != is.get(key));
    changed
        .map(|key @ (table, run, row, column)| {
            let value = |of: &BTreeMap<_, &str>| of.get(key).copied().unwrap_or("nothing").to_string();
            format!("{table} {run}[{row}] {column}: {}, was {}", value(&is), value(&was))
        })
        .collect()
}
