//! `traces`: what links follow, as text, by the names of the files that it stood in. Reads no file; the skin puts the text there.
//!
//! Three ways to write one. Opportunities as mahimahi has them, a time in whole milliseconds on each line; the same as the gaps
//! between them, `gaps 1 0*3 7`, which is the normal form; and a table of rate and delay, `time_s,rate_bps,delay_s` and rows.

use super::quantity::{RATE_OR_OUTAGE, TIME};
use super::reader::{Kind, Mistakes, alternatives, show};
use crate::net::{Course, Opportunities, Step, Trace};
use cclab_algo::{Duration, Time};
use serde_json::{Map, Value as Json, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Opportunities of all traces together, 4 bytes each. A row of a table counts as ten.
const MOST: usize = 10_000_000;
const ROW: usize = 10;
const EXAMPLE: &str =
    "write the times of opportunities in milliseconds, one a line, or a table that begins with e.g. time_s,rate_bps";

/// Columns of a table: their names, the quantity, and the unit that it has.
const COLUMNS: [(&str, Column, &str); 12] = [
    ("time_s", Column::Time, "s"),
    ("time_ms", Column::Time, "ms"),
    ("time_us", Column::Time, "us"),
    ("time_ns", Column::Time, "ns"),
    ("rate_bps", Column::Rate, "bit/s"),
    ("rate_kbps", Column::Rate, "kbit/s"),
    ("rate_Mbps", Column::Rate, "Mbit/s"),
    ("rate_Gbps", Column::Rate, "Gbit/s"),
    ("delay_s", Column::Delay, "s"),
    ("delay_ms", Column::Delay, "ms"),
    ("delay_us", Column::Delay, "us"),
    ("delay_ns", Column::Delay, "ns"),
];

#[derive(Clone, Copy, PartialEq)]
enum Column {
    Time,
    Rate,
    Delay,
}

/// The traces of a scenario; each is read when a link asks for it.
pub(super) struct Traces<'a> {
    given: Option<&'a Map<String, Json>>,
    read: RefCell<BTreeMap<String, Option<Arc<Trace>>>>,
    room: Cell<usize>,
    mistakes: &'a Mistakes,
}

impl<'a> Traces<'a> {
    /// Those in this table.
    pub(super) fn new(given: Option<&'a Json>, mistakes: &'a Mistakes) -> Self {
        if let Some(wrong) = given.filter(|given| !given.is_object()) {
            mistakes.add("traces", format!("{} is not a table", show(wrong)));
        }
        let given = given.and_then(Json::as_object);
        Traces { given, read: RefCell::default(), room: Cell::new(MOST), mistakes }
    }

    /// The trace that `field` names; `None` after a mistake.
    pub(super) fn find(&self, name: &str, field: &str) -> Option<Arc<Trace>> {
        if let Some(known) = self.read.borrow().get(name) {
            return known.clone();
        }
        let Some(given) = self.given.and_then(|given| given.get(name)) else {
            let names = self.given.map_or(String::new(), |given| alternatives(name, given.keys().map(String::as_str)));
            let why = "was not read: a scenario that is no file of its own has no folder; put its text into traces";
            self.mistakes.add(field, format!("\"{name}\" {why}{names}"));
            return None;
        };
        let course = match given.as_str() {
            Some(text) => parse(text, &self.room),
            None => Err(format!("{} is not text; {EXAMPLE}", show(given))),
        };
        let trace = match course {
            Ok(course) => Some(Arc::new(Trace { name: name.into(), course })),
            Err(why) => {
                self.mistakes.add(format!("traces.{name}"), why);
                None
            }
        };
        self.read.borrow_mut().insert(name.into(), trace.clone());
        trace
    }

    /// Those that were asked for, in normal form; `None` if none was.
    pub(super) fn normal(&self) -> Option<Json> {
        let read = self.read.borrow();
        let known = read.iter().filter_map(|(name, trace)| Some((name.clone(), json!(text(&trace.as_ref()?.course)))));
        let known: Map<String, Json> = known.collect();
        (!known.is_empty()).then_some(Json::Object(known))
    }
}

/// A trace as text, in normal form.
///
/// # Errors
/// What is wrong with it, where, and what is allowed.
pub fn normal_trace(given: &str) -> Result<String, String> {
    parse(given, &Cell::new(MOST)).map(|course| text(&course))
}

/// Takes `room` for what is read.
fn parse(text: &str, room: &Cell<usize>) -> Result<Course, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
    let Some(&(first, line)) = lines.peek() else { return Err(format!("is empty; {EXAMPLE}")) };
    if line.starts_with("gaps") {
        let rest = lines.map(|(number, line)| (number, if number == first { &line["gaps".len()..] } else { line }));
        return opportunities(gaps(rest, room)?);
    }
    if line.starts_with(|c: char| c.is_alphabetic() || c == ',') {
        lines.next();
        return table(&columns(line).map_err(|why| at(first, &why))?, lines, room);
    }
    let mut times: Vec<u32> = Vec::new();
    for (number, line) in lines {
        let hint = if line.contains(',') { "; a table begins with its columns, e.g. time_s,rate_bps" } else { "" };
        let wrong =
            || format!("{} is not a time in whole milliseconds, at most {}{hint}", show(&json!(line)), u32::MAX);
        let time = line.parse().map_err(|_| at(number, &wrong()))?;
        match times.last() {
            Some(last) if *last > time => {
                return Err(at(number, &format!("{time} is earlier than the opportunity before it, {last}")));
            }
            _ => take(room, 1).map_err(|why| at(number, &why))?,
        }
        times.push(time);
    }
    opportunities(times)
}

fn at(number: usize, why: &str) -> String {
    format!("line {number}: {why}")
}

fn take(room: &Cell<usize>, count: usize) -> Result<(), String> {
    let left = room.get().checked_sub(count);
    room.set(left.ok_or_else(|| {
        format!("is too long; all traces together may have {MOST} opportunities, or {} rows", MOST / ROW)
    })?);
    Ok(())
}

fn opportunities(times: Vec<u32>) -> Result<Course, String> {
    let made = Opportunities::new(times);
    made.map(Course::Opportunities)
        .ok_or_else(|| "ends at 0 ms; the last opportunity ends a period, so it is later".into())
}

/// Gaps between opportunities, the first from 0 on: `5`, or `5*12` for twelve of them.
fn gaps<'t>(lines: impl Iterator<Item = (usize, &'t str)>, room: &Cell<usize>) -> Result<Vec<u32>, String> {
    let mut times = Vec::new();
    let mut now = 0_u32;
    for (number, line) in lines {
        for word in line.split_whitespace() {
            let (gap, count) = word.split_once('*').unwrap_or((word, "1"));
            let wrong = || at(number, &format!("{} is no gap in ms, e.g. 5, or 5*12 for twelve", show(&json!(word))));
            let (gap, count): (u32, usize) = gap.parse().ok().zip(count.parse().ok()).ok_or_else(wrong)?;
            take(room, count).map_err(|why| at(number, &why))?;
            for _ in 0..count {
                now = now.checked_add(gap).ok_or_else(|| at(number, &format!("ends later than at {} ms", u32::MAX)))?;
                times.push(now);
            }
        }
    }
    Ok(times)
}

/// What the columns of a table are, and their units.
fn columns(line: &str) -> Result<Vec<(Column, &'static str)>, String> {
    let mut found: Vec<(Column, &'static str)> = Vec::new();
    for name in line.split(',').map(str::trim) {
        let known = COLUMNS.iter().find(|(known, ..)| *known == name);
        let names = || alternatives(name, COLUMNS.iter().map(|(name, ..)| *name));
        let &(_, column, unit) = known.ok_or_else(|| format!("unknown column {}{}", show(&json!(name)), names()))?;
        if found.iter().any(|(other, _)| *other == column) {
            return Err(format!("\"{name}\": there is such a column already"));
        }
        found.push((column, unit));
    }
    let has = |column| found.iter().any(|(other, _)| *other == column);
    match has(Column::Time) && (has(Column::Rate) || has(Column::Delay)) {
        true => Ok(found),
        false => Err("a table has a column of time and one of rate or delay, e.g. time_s,rate_bps,delay_s".into()),
    }
}

/// Rate and delay from each row's time on.
fn table<'t>(
    columns: &[(Column, &'static str)],
    lines: impl Iterator<Item = (usize, &'t str)>,
    room: &Cell<usize>,
) -> Result<Course, String> {
    let (mut rates, mut delays): (Vec<Step>, Vec<(Time, Duration)>) = Default::default();
    let mut last: Option<Duration> = None;
    for (number, line) in lines {
        take(room, ROW).map_err(|why| at(number, &why))?;
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != columns.len() {
            return Err(at(number, &format!("{} columns; the first line has {}", cells.len(), columns.len())));
        }
        let (mut from, mut rate, mut delay) = (Duration::ZERO, None, None);
        for ((column, unit), cell) in columns.iter().zip(cells) {
            let quantity = json!(format!("{cell} {unit}"));
            let read = match column {
                Column::Time => TIME.read(&quantity).map(|time| from = time),
                Column::Rate => RATE_OR_OUTAGE.read(&quantity).map(|of| rate = Some(of.0)),
                Column::Delay => TIME.read(&quantity).map(|of| delay = Some(of)),
            };
            read.map_err(|why| at(number, &why))?;
        }
        let why = match last {
            None if from > Duration::ZERO => "is not 0: the first row says what there is at the start",
            Some(last) if last >= from => "is not later than the row before",
            _ => "",
        };
        if !why.is_empty() {
            return Err(at(number, &format!("time {} {why}", TIME.write(&from))));
        }
        last = Some(from);
        rates.extend(rate.map(|rate| Step { from: from.0, rate: Some(rate) }));
        delays.extend(delay.map(|delay| (Time::ZERO + from, delay)));
    }
    if last.is_none() {
        return Err("has no rows; write at least one, for time 0".into());
    }
    Ok(Course::Changes {
        rates: (!rates.is_empty()).then(|| rates.into()),
        delays: (!delays.is_empty()).then(|| delays.into()),
    })
}

/// The normal form.
pub(super) fn text(course: &Course) -> String {
    let mut out = String::new();
    let written = match course {
        Course::Opportunities(of) => write_gaps(&mut out, of.at_ms()),
        Course::Changes { rates, delays } => write_table(&mut out, rates.as_deref(), delays.as_deref()),
    };
    written.unwrap_or_else(|_| unreachable!("text can be written to"));
    out
}

fn write_gaps(out: &mut String, at_ms: &[u32]) -> std::fmt::Result {
    write!(out, "gaps")?;
    let before = std::iter::once(&0).chain(at_ms);
    let gaps: Vec<u32> = at_ms.iter().zip(before).map(|(at, before)| at - before).collect();
    for run in gaps.chunk_by(|a, b| a == b) {
        match run.len() {
            1 => write!(out, " {}", run[0])?,
            n => write!(out, " {}*{n}", run[0])?,
        }
    }
    Ok(())
}

fn write_table(out: &mut String, rates: Option<&[Step]>, delays: Option<&[(Time, Duration)]>) -> std::fmt::Result {
    let column = |given, name| if given { name } else { "" };
    writeln!(out, "time_ns{}{}", column(rates.is_some(), ",rate_bps"), column(delays.is_some(), ",delay_ns"))?;
    let rows = rates.map_or(0, <[Step]>::len).max(delays.map_or(0, <[(Time, Duration)]>::len));
    for row in 0..rows {
        let from = rates.map(|rates| rates[row].from).or(delays.map(|delays| delays[row].0.0));
        write!(out, "{}", from.unwrap_or_default())?;
        if let Some(rates) = rates {
            write!(out, ",{}", rates[row].rate.unwrap_or_default())?;
        }
        if let Some(delays) = delays {
            write!(out, ",{}", delays[row].1.0)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use proptest::prelude::*;

    /// Byte for byte; the three ways to write the same are the same.
    #[test]
    fn the_normal_form_by_hand() {
        let same = ["5\n5\n8\n10\n", "\u{feff}# a phone\n5\r\n5\n\n8\n10", "gaps 5 0 3 2", "gaps 5\n0*1 3\n# end\n2"];
        for text in same {
            assert_eq!(normal_trace(text).as_deref(), Ok("gaps 5 0 3 2"), "{text}");
        }
        assert_eq!(normal_trace("1").as_deref(), Ok("gaps 1"));
        assert_eq!(normal_trace("1\n2\n3\n3\n3").as_deref(), Ok("gaps 1*3 0*2"));
        let table = "delay_ms, time_s, rate_Mbps\n 20,0,1.5\n 10.25, 0.1, 0\n";
        let normal = "time_ns,rate_bps,delay_ns\n0,1500000,20000000\n100000000,0,10250000\n";
        assert_eq!(normal_trace(table).as_deref(), Ok(normal));
        assert_eq!(normal_trace(normal).as_deref(), Ok(normal));
        assert_eq!(normal_trace("time_s,delay_s\n0,1\n").as_deref(), Ok("time_ns,delay_ns\n0,1000000000\n"));
    }

    #[test]
    fn every_mistake_names_line_value_and_what_is_allowed() {
        let example = "write the times of opportunities in milliseconds, one a line, or a table that begins with e.g. time_s,rate_bps";
        let columns = "allowed: time_s, time_ms, time_us, time_ns, rate_bps, rate_kbps, rate_Mbps, rate_Gbps, delay_s, delay_ms, delay_us, delay_ns";
        for (text, message) in [
            ("", format!("is empty; {example}")),
            (" \n# nothing\n", format!("is empty; {example}")),
            ("1\n2.5", "line 2: \"2.5\" is not a time in whole milliseconds, at most 4294967295".into()),
            ("-1", "line 1: \"-1\" is not a time in whole milliseconds, at most 4294967295".into()),
            ("4294967296", "line 1: \"4294967296\" is not a time in whole milliseconds, at most 4294967295".into()),
            ("0,5", "line 1: \"0,5\" is not a time in whole milliseconds, at most 4294967295; a table begins with its columns, e.g. time_s,rate_bps".into()),
            ("1\n\n7\n6", "line 4: 6 is earlier than the opportunity before it, 7".into()),
            ("0\n0", "ends at 0 ms; the last opportunity ends a period, so it is later".into()),
            ("gaps", "ends at 0 ms; the last opportunity ends a period, so it is later".into()),
            ("gaps 1 2x", "line 1: \"2x\" is no gap in ms, e.g. 5, or 5*12 for twelve".into()),
            ("gapsgaps5", "line 1: \"gaps5\" is no gap in ms, e.g. 5, or 5*12 for twelve".into()),
            ("gaps 4294967295 1", "line 1: ends later than at 4294967295 ms".into()),
            ("gaps 0*9999999999", "line 1: is too long; all traces together may have 10000000 opportunities, or 1000000 rows".into()),
            ("time_s,rat_bps\n0,1", format!("line 1: unknown column \"rat_bps\" (did you mean \"rate_bps\"?); {columns}")),
            ("time_s,time_ms\n0,1", "line 1: \"time_ms\": there is such a column already".into()),
            ("time_s\n0", "line 1: a table has a column of time and one of rate or delay, e.g. time_s,rate_bps,delay_s".into()),
            ("time_s,rate_bps", "has no rows; write at least one, for time 0".into()),
            ("time_s,rate_bps\n0,1,2", "line 2: 3 columns; the first line has 2".into()),
            ("time_s,rate_bps\n1,5", "line 2: time \"1 s\" is not 0: the first row says what there is at the start".into()),
            ("time_s,rate_bps\n0,5\n2,5\n2,6", "line 4: time \"2 s\" is not later than the row before".into()),
            ("time_s,rate_Mbps\n0,fast", "line 2: \"fast Mbit/s\" is not a rate; write a number with a unit, e.g. \"10 Mbit/s\"".into()),
            ("time_s,delay_ms\n0,-4", "line 2: \"-4 ms\" is negative; at least \"0 s\"".into()),
        ] {
            assert_eq!(normal_trace(text), Err(message), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same(gaps in proptest::collection::vec(0_u32..4, 1..200)) {
            let times: Vec<u32> = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
            prop_assume!(times[times.len() - 1] > 0);
            let lines = times.iter().map(u32::to_string).collect::<Vec<_>>().join("\n");
            let normal = normal_trace(&lines).expect("a trace");
            prop_assert_eq!(normal_trace(&normal), Ok(normal.clone()));
            let Ok(Course::Opportunities(read)) = parse(&normal, &Cell::new(MOST)) else { panic!("{normal}") };
            prop_assert_eq!(read.at_ms(), &times[..]);
        }

        #[test]
        fn no_text_is_too_strange(text in "(gaps|time_s,rate_bps|[0-9]*)?[\\PC\n]{0,60}") {
            if let Ok(normal) = normal_trace(&text) {
                prop_assert_eq!(normal_trace(&normal), Ok(normal.clone()));
            }
        }
    }

    fn scenario(network: &str) -> Result<Scenario, String> {
        let text = format!(
            "duration = '10 s'\n[traces]\n'a.up' = 'gaps 1'\nslow = 'gaps 10'\nrate = \"time_s,rate_Mbps\\n0,8\\n1,4\\n3,0\"\n\
             both = \"time_s,rate_Mbps,delay_ms\\n0,8,20\\n1,4,30\"\ndelay = \"time_s,delay_ms\\n0,20\\n1,30\"\nbad = 'gaps x'\n\
             [network]\n{network}\n[[flows]]\ncc = 'reno'\n{}",
            if network.contains("custom") { "from = 'a'\nto = 'b'\n" } else { "" }
        );
        Scenario::from_toml(&text).map_err(|e| e.to_string())
    }

    /// Traces are shared, and what a scenario comes to in normal form comes to the same again; only those that are used are there.
    #[test]
    fn links_follow_and_share() {
        let s = scenario("trace = 'a.up'\nrtt = '50 ms'").expect("a scenario");
        let [there, back] = [&s.links[0], &s.links[1]].map(|link| link.trace.clone().expect("a trace"));
        assert!(Arc::ptr_eq(&there, &back));
        assert_eq!(s.links[0].rate.map(|rate| rate.0), Some(12_000_000));
        // 1 BDP of the mean rate: 12 Mbit/s · 50 ms = 50 packets
        assert_eq!(s.links[0].queue.limit(), crate::net::queue::Limit::Packets(50));
        assert_eq!(s.source["traces"], json!({ "a.up": "gaps 1" }));
        assert_eq!((&s.source["network"]["trace"], s.source["network"].get("rate")), (&json!("a.up"), None));

        // 8 Mbit/s for a second and 4 for two, until the last change: 16/3 on the average
        let s = scenario("trace = 'rate'\nrtt = '50 ms'").expect("a scenario");
        assert_eq!(s.links[0].rate.map(|rate| rate.0), Some(5_333_333));
        let s = scenario("trace = 'both'\nrtt = '50 ms'").expect("a scenario");
        assert_eq!(s.links.iter().take(2).map(|link| link.delay.0).collect::<Vec<_>>(), [20_000_000; 2]);
        let s = scenario("trace = 'delay'\nrate = '5 Mbit/s'\nrtt = '50 ms'").expect("a scenario");
        assert_eq!((s.links[0].rate.map(|rate| rate.0), s.links[1].delay.0), (Some(5_000_000), 20_000_000));

        for network in [
            "trace = 'a.up'\nrtt = '50 ms'",
            "trace = 'both'\nrtt = '50 ms'\nreverse = { trace = 'slow', delay = '3 ms' }",
            "trace = 'a.up'\nrtt = '50 ms'\nreverse = { trace = 'none', rate = '1 Mbit/s' }",
            "trace = 'a.up'\nrtt = '50 ms'\nreverse = { delay = '10 ms' }",
            "trace = 'delay'\nrate = '5 Mbit/s'\nrtt = '50 ms'\nreverse = { trace = 'none', delay = '1 ms' }",
            "rate = '5 Mbit/s'\nrtt = '50 ms'\nschedule = [{ at = '1 s', rate = '1 Mbit/s' }]\nreverse = { trace = 'slow' }",
            "trace = 'none'\nrate = '5 Mbit/s'\nrtt = '50 ms'",
            "topology = 'chain'\nhops = 3\ntrace = 'both'",
            "topology = 'chain'\nhops = 3\ntrace = 'slow'\nrtt = '60 ms'",
            "topology = 'custom'\nnodes = ['a', 'b']\nlinks = [{ from = 'a', to = 'b', trace = 'slow', delay = '1 ms', reverse = { trace = 'a.up' } }]",
        ] {
            let s = scenario(network).unwrap_or_else(|e| panic!("{network}\n{e}"));
            let again = Scenario::from_json(&s.source).unwrap_or_else(|e| panic!("{network}\n{e}\n{}", s.source));
            assert_eq!(again.source, s.source);
            assert_eq!(format!("{:?}", again.links), format!("{:?}", s.links));
        }
    }

    #[test]
    fn what_contradicts_a_trace_is_refused() {
        for (network, message) in [
            (
                "trace = 'b'\nrtt = '5 ms'",
                "network.trace: \"b\" was not read: a scenario that is no file of its own has no folder; put its text into traces; allowed: a.up, slow, rate, both, delay, bad",
            ),
            ("trace = 5\nrtt = '5 ms'", "network.trace: 5 is not a name"),
            ("trace = 'bad'\nrtt = '5 ms'", "traces.bad: line 1: \"x\" is no gap in ms, e.g. 5, or 5*12 for twelve"),
            (
                "trace = 'a.up'\nrate = '1 Mbit/s'\nrtt = '5 ms'",
                "network.rate: does not apply: the trace \"a.up\" says it",
            ),
            (
                "trace = 'both'\ndelay = '1 ms'\nrtt = '50 ms'",
                "network.delay: does not apply: the trace \"both\" says it",
            ),
            ("trace = 'delay'\nrtt = '50 ms'", "network.rate: missing; write e.g. rate = \"100 Mbit/s\""),
            (
                "topology = 'chain'\nhops = 2\ntrace = 'both'\nrtt = '5 ms'",
                "network.rtt: does not apply: a trace says the delay",
            ),
            (
                "trace = 'a.up'\nrtt = '5 ms'\nschedule = [{ at = '1 s', delay = '1 ms' }]",
                "network.schedule: does not go with a trace, a.up: write the changes there",
            ),
            (
                "trace = 'a.up'\nrtt = '5 ms'\nreverse = { rate = '1 Mbit/s' }",
                "network.reverse.trace: missing; the forward direction follows a trace and this one differs from it: write its own, or \"none\"",
            ),
            (
                "trace = 'a.up'\nrtt = '5 ms'\nreverse = { trace = 'none' }",
                "network.reverse.rate: missing; the trace of the forward direction says it, and this one follows another or none",
            ),
            (
                "trace = 'both'\nrtt = '50 ms'\nreverse = { trace = 'slow' }",
                "network.reverse.delay: missing; the trace of the forward direction says it, and this one follows another or none",
            ),
            (
                "trace = 'both'\nrtt = '30 ms'",
                "flows[0].rtt: \"30 ms\" is shorter than the delays of its path there and back, \"40 ms\"",
            ),
        ] {
            let error = scenario(network).expect_err(network);
            assert!(error.starts_with(message), "{network}\n{error}\nnot\n{message}");
        }
    }

    /// What a few bytes can ask for is bounded, of all traces together.
    #[test]
    fn a_small_scenario_stays_small() {
        let traces: Map<String, Json> =
            (0..3).map(|k| (k.to_string(), json!(format!("gaps 0*4000000 {k}1")))).collect();
        let link = |k: usize| json!({ "from": k, "to": k + 1, "trace": k.to_string(), "delay": "1 ms" });
        let network =
            json!({ "topology": "custom", "nodes": ["a", "b", "c", "d"], "links": [link(0), link(1), link(2)] });
        let flow = json!({ "cc": "reno", "from": "a", "to": "d" });
        let error =
            Scenario::from_json(&json!({ "duration": "1 s", "traces": traces, "network": network, "flows": [flow] }));
        let message = error.map(|_| ()).expect_err("12 million").to_string();
        assert_eq!(
            message,
            "traces.2: line 1: is too long; all traces together may have 10000000 opportunities, or 1000000 rows"
        );
    }
}
