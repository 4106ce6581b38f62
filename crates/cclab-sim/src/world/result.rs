//! The result of a run: its tables, in SI base units.

use crate::app::{Applications, BackgroundTable, CompletionTimes, FlowSamples, Flows, Sessions, Signals};
use crate::measure::table::{Store, Table, Text, table};
use crate::measure::{Packets, digest};
use crate::net::{Diary, LinkSamples, Links, Stations};
use std::sync::Arc;

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Flows, warm-up left out where it says so.
    pub flows: Flows,
    /// Connections over several paths.
    pub sessions: Sessions,
    /// Applications that pause, of flows that have one.
    pub applications: Applications,
    /// Links.
    pub links: Links,
    /// Stations of media.
    pub stations: Stations,
    /// Background entries and directions.
    pub background: BackgroundTable,
    /// Flow completion times by size, of each background entry and direction.
    pub fct: CompletionTimes,
    /// Flow samples.
    pub samples: FlowSamples,
    /// Queue samples.
    pub link_samples: LinkSamples,
    /// What laws recorded under their own names.
    pub signals: Signals,
    /// Every packet at every link, when asked for.
    pub packets: Option<Packets>,
    /// Frames on the air, places, routes and losses, when asked for.
    pub diary: Option<Diary>,
    /// A pcapng file, when asked for.
    pub capture: Option<Vec<u8>>,
    /// Jain's index of the goodputs of all TCP flows that were measured, each over its own interval; of subflows their session counts.
    pub jain: f64,
    /// What the engine did.
    pub engine: EngineStats,
}

/// What the engine did.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct EngineStats {
    /// Events served.
    pub events: u64,
    /// Data packets that crossed the busiest link, whole run.
    pub data_packets: u64,
    /// Simulated time, s.
    pub simulated_s: f64,
}

table! {
    /// One row per run.
    "runs": Runs of RunRow from r, &RunResult;

    /// Jain's index of the goodputs of all TCP flows that were measured, each over its own interval: 1/n to 1. It means
    /// fairness only where the flows were active together. Of the subflows of a session, that counts once.
    jain: Vec<f64>, "1" = r.jain;
    /// Simulated time.
    simulated_s: Vec<f64>, "s" = r.engine.simulated_s;
    /// Events served.
    events: Vec<u64>, "1" = r.engine.events;
    /// Data packets that crossed the busiest link, whole run.
    data_packets: Vec<u64>, "packets" = r.engine.data_packets;
}

impl RunResult {
    /// The tables, whole: those of sessions, applications, stations and of the background where there are any, packets where they were asked for.
    pub fn into_tables(self) -> Vec<Table> {
        let (logged, kept) = (self.packets.is_some(), self.diary.is_some());
        let mut tables = self.into_all_tables();
        tables.retain(|table| match table.name {
            "sessions" | "applications" | "stations" | "background" | "fct" => table.rows() > 0,
            "packets" => logged,
            "frames" | "places" | "routes" | "losses" => kept,
            _ => true,
        });
        tables
    }

    /// A hash of every number and name in the result; [`measure::digest`](digest) of its tables.
    pub fn digest(&self) -> String {
        digest(&self.clone().into_tables(), self.capture.as_deref())
    }

    fn into_all_tables(mut self) -> Vec<Table> {
        let mut runs = Runs::default();
        runs.push(&self);
        self.name_rows();
        let diary = self.diary.unwrap_or_default();
        vec![
            runs.into_table(),
            self.flows.into_table(),
            self.sessions.into_table(),
            self.applications.into_table(),
            self.links.into_table(),
            self.stations.into_table(),
            self.background.into_table(),
            self.fct.into_table(),
            self.samples.into_table(),
            self.link_samples.into_table(),
            self.signals.into_table(),
            self.packets.unwrap_or_default().into_table(),
            diary.losses.into_table(),
            diary.frames.into_table(),
            diary.places.into_table(),
            diary.routes.into_table(),
        ]
    }

    /// Gives what refers to flows and links their names.
    fn name_rows(&mut self) {
        let flows = Arc::new(self.flows.label.clone());
        let links = Arc::new(self.links.name.clone());
        self.samples.flow.names = flows.clone();
        self.signals.flow.names = flows.clone();
        self.link_samples.link.names = links.clone();
        // packets number the entries of the background after the flows
        let mut senders = Text::clone(&flows);
        self.background.label.iter().for_each(|label| senders.push(label));
        let senders = Arc::new(senders);
        if let Some(diary) = &mut self.diary {
            diary.losses.flow.names = senders.clone();
            diary.frames.flow.names = senders.clone();
        }
        if let Some(packets) = &mut self.packets {
            (packets.flow.names, packets.link.names) = (senders, links);
        }
    }
}

/// All tables that there can be, of a run that did nothing: the names, units and docs of their columns. Every backend fills
/// these, also one that is to measure real kernels behind these links: rows of links it takes as they are, of flows it gives
/// with `push_row`.
pub fn schema() -> Vec<Table> {
    RunResult::default().into_all_tables()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::table::{Column, Values};

    /// Units and how names end in them (docs/reference/results.md).
    const UNITS: [(&str, &str); 8] = [
        ("s", "_s"),
        ("s²", "_s2"),
        ("bit/s", "_bps"),
        ("bytes", "_bytes"),
        ("packets", "_packets"),
        ("segments", "_segments"),
        ("m", "_m"),
        ("1", ""),
    ];

    /// What is wrong with how a column is written.
    fn mistake(column: &Column) -> Option<String> {
        let Column { name, unit, doc, values } = column;
        let end = UNITS.iter().rev().map(|(_, end)| end).find(|end| !end.is_empty() && name.ends_with(**end));
        let expected = UNITS.iter().find(|(known, _)| known == unit).map(|(_, end)| *end);
        if !doc.starts_with(|c: char| c.is_uppercase() || c == '`') || !doc.ends_with('.') {
            return Some(format!("{name}: no sentence: {doc:?}"));
        }
        match expected {
            None if unit.is_empty() && (values.kind() == "text" || name == "value") => None,
            None => Some(format!("{name}: {unit:?} is no unit")),
            Some(expected) if end.copied().unwrap_or("") != expected => {
                Some(format!("{name}: does not end in its unit, {unit}"))
            }
            Some(_) => None,
        }
    }

    #[test]
    fn names_end_in_their_units_and_docs_are_sentences() {
        let tables = schema();
        assert!(tables.len() == 16 && tables.iter().all(|table| table.doc.ends_with('.')));
        for table in &tables {
            assert_eq!(table.columns.iter().find_map(mistake), None, "{}", table.name);
            let names: std::collections::HashSet<_> = table.columns.iter().map(|column| &column.name).collect();
            assert_eq!(names.len(), table.columns.len(), "{}: a name twice", table.name);
        }
        let column = |name: &str, unit, doc: &str| {
            mistake(&Column { name: name.into(), unit, doc: doc.into(), values: Values::F64(vec![]) }).is_some()
        };
        assert!(!column("delay_s", "s", "Delay."));
        assert!(column("delay_s", "s", ""), "no doc");
        assert!(column("delay_ms", "ms", "Delay."), "no SI unit");
        assert!(column("delay", "s", "Delay.") && column("delay_s", "1", "Delay.") && column("rate_bps", "s", "Rate."));
        assert!(column("delay_s", "", "Delay."), "no unit");
    }

    /// Names of flows and links stand where their numbers were.
    #[test]
    fn rows_of_other_tables_have_their_names() {
        let toml = "duration = '1 s'\nnetwork = { rate = '1 Mbit/s', rtt = '10 ms' }\nrecord = { packets = 'table' }\n\
                    flows = [{ cc = 'reno', label = 'a' }, { cc = 'cubic', label = 'b' }]";
        let scenario = crate::scenario::Scenario::from_toml(toml).unwrap_or_else(|e| panic!("{e}"));
        let result = crate::world::run(&scenario, 1).unwrap_or_else(|e| panic!("{e}"));
        let flows = result.samples.flow.clone();
        let tables = result.into_tables();
        let of = |table: &str, name: &str| {
            let table = tables.iter().find(|t| t.name == table).expect("there");
            table.columns.iter().find(|c| c.name == name).expect("there").values.clone()
        };
        let Values::Named(places, texts) = of("samples", "flow") else { panic!("text") };
        assert!(places == flows[..] && texts.iter().eq(["a", "b"]) && !places.is_empty());
        let (Values::Named(places, texts), Values::Text(links)) = (of("packets", "link"), of("links", "name")) else {
            panic!("text")
        };
        assert!(texts.iter().eq(links.iter()) && places.contains(&crate::measure::table::Index::NONE));
        assert_eq!(tables.iter().map(|t| t.name).filter(|&name| name == "background" || name == "fct").count(), 0);
    }
}
