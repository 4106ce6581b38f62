//! A run in progress, and its result as columns.

use crate::error;
use cclab_algo::Rate;
use cclab_sim::measure::{Distribution, PacketRows, RunResult};
use cclab_sim::scenario::{Limit, Link, Scenario, Traffic};
use cclab_sim::world;
use numpy::{Element, IntoPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Mutex;

/// One run in progress.
#[pyclass(module = "cclab._core")]
pub struct Simulation {
    /// `None` once it is finished or has failed.
    sim: Mutex<Option<world::Simulation>>,
    seed: u64,
    simulated_s: f64,
    links: Vec<Link>,
    /// A flow has a law written in Python: the GIL is kept during a slice, which is cheaper than to take it on each ACK.
    keeps_gil: bool,
}

#[pymethods]
impl Simulation {
    #[new]
    fn new(py: Python<'_>, scenario_json: &str, seed: Option<u64>) -> PyResult<Simulation> {
        error::guard(py, || {
            let scenario = error::scenario_from_json(scenario_json)?;
            let seed = seed.unwrap_or(scenario.seed);
            let sim = Mutex::new(Some(world::Simulation::new(&scenario, seed)));
            let keeps_gil = needs_interpreter(&scenario);
            let simulated_s = scenario.duration.as_secs_f64();
            Ok(Simulation { sim, seed, simulated_s, links: scenario.links, keeps_gil })
        })
    }

    /// Serve up to `max_events` events, without the GIL unless a law is written in Python; the share of simulated time done, 1.0 when finished.
    fn advance(&self, py: Python<'_>, max_events: u64) -> PyResult<f64> {
        // Out of its place while it runs: after an error or a panic it is gone, so nobody goes on with a broken run.
        let mut sim = self.take()?;
        let (done, sim) = error::guard(py, || {
            let done = if self.keeps_gil { sim.advance(max_events) } else { py.detach(|| sim.advance(max_events)) };
            let done = done.map_err(|e| error::simulation(py, &e))?;
            Ok((done, sim))
        })?;
        *self.place() = Some(sim);
        Ok(done)
    }

    /// The result: tables by name, each a dict of columns.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sim = self.take()?;
        let result = error::guard(py, || py.detach(|| sim.finish()).map_err(|e| error::simulation(py, &e)))?;
        let out = tables(py, result, &self.links)?;
        out.set_item("seed", self.seed)?;
        out.set_item("simulated_s", self.simulated_s)?;
        Ok(out)
    }
}

impl Simulation {
    fn place(&self) -> std::sync::MutexGuard<'_, Option<world::Simulation>> {
        self.sim.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    fn take(&self) -> PyResult<world::Simulation> {
        self.place()
            .take()
            .ok_or_else(|| error::run("the run is finished, has failed, or is advanced by another thread"))
    }
}

/// Whether a law in it is written in Python.
fn needs_interpreter(scenario: &Scenario) -> bool {
    let flows = scenario.flows.iter().filter_map(|flow| match &flow.traffic {
        Traffic::Tcp { cc, .. } => Some(cc),
        _ => None,
    });
    flows.chain(scenario.background.iter().map(|background| &background.cc)).any(|cc| cc.needs_interpreter())
}

fn tables<'py>(py: Python<'py>, result: RunResult, given: &[Link]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("digest", result.digest())?;
    out.set_item("jain", result.jain)?;
    out.set_item("events", result.engine.events)?;
    out.set_item("data_packets", result.engine.data_packets)?;
    out.set_item("capture", result.capture.as_deref().map(|bytes| PyBytes::new(py, bytes)))?;

    let mut flows = Table::new(py);
    macro_rules! flow_columns {
        ($($name:ident),*) => { $(flows.column(stringify!($name), result.flows.iter().map(|f| f.$name))?;)* };
    }
    flows.text("label", result.flows.iter().map(|f| f.label.as_str()))?;
    flows.text("cc", result.flows.iter().map(|f| f.cc.as_str()))?;
    flow_columns!(start_s, measured_s, goodput_bps, throughput_bps, delivered_bytes, segments_sent);
    flow_columns!(segments_retransmitted, packets_received, packets_lost, timeouts, recoveries);
    flows.distribution("rtt", result.flows.iter().map(|f| f.rtt))?;
    flows.distribution("owd", result.flows.iter().map(|f| f.owd))?;
    flow_columns!(owd_mean_abs_diff_s, cwnd_mean_segments, cwnd_min_segments, cwnd_max_segments);
    flow_columns!(fct_s, fct_receiver_s);
    out.set_item("flows", flows.columns)?;

    let mut links = Table::new(py);
    macro_rules! link_columns {
        ($($name:ident),*) => { $(links.column(stringify!($name), result.links.iter().map(|l| l.$name))?;)* };
    }
    links.text("name", result.links.iter().map(|l| l.name.as_str()))?;
    link_columns!(utilisation, throughput_bps, arrived, sent, data_sent, drops, early_drops, losses, marks);
    link_columns!(queue_mean_packets, queue_max_packets);
    // What the scenario came to, beside what was measured; NaN where there is none or no limit.
    let limit = |of: fn(Limit) -> Option<u64>| {
        given.iter().map(move |l| of(l.queue.limit()).filter(|&n| n != u64::MAX).map_or(f64::NAN, |n| n as f64))
    };
    links.column("rate_bps", given.iter().map(|l| l.rate.map_or(f64::NAN, Rate::as_bps_f64)))?;
    links.column("delay_s", given.iter().map(|l| l.delay.as_secs_f64()))?;
    links.column("queue_limit_packets", limit(|l| if let Limit::Packets(n) = l { Some(n) } else { None }))?;
    links.column("queue_limit_bytes", limit(|l| if let Limit::Bytes(n) = l { Some(n) } else { None }))?;
    links.distribution("sojourn", result.links.iter().map(|l| l.sojourn))?;
    out.set_item("links", links.columns)?;

    if !result.background.is_empty() {
        background_tables(py, &result, &out)?;
    }

    // Columns of samples are handed over, not copied.
    macro_rules! whole {
        ($table:literal, $from:expr, $($name:ident),*) => {{
            let from = $from;
            let mut table = Table::new(py);
            $(table.whole(stringify!($name), from.$name)?;)*
            out.set_item($table, table.columns)?;
        }};
    }
    whole!(
        "samples",
        result.samples,
        time_s,
        flow,
        cwnd_bytes,
        ssthresh_bytes,
        srtt_s,
        rtt_s,
        in_flight_bytes,
        delivered_bytes,
        pacing_rate_bps
    );
    whole!("link_samples", result.link_samples, time_s, link, queue_packets, queue_bytes);
    out.set_item("signal_names", result.signals.names.clone())?;
    whole!("signals", result.signals, time_s, flow, name, value);
    match result.packets {
        None => out.set_item("packets", py.None())?,
        Some(packets) => {
            out.set_item("packet_events", PacketRows::EVENTS)?;
            whole!("packets", packets, time_s, link, flow, event, seq, ack, size_bytes, payload_bytes, retransmission);
        }
    }
    Ok(out)
}

/// The tables of the background; there are none where there is no background.
fn background_tables<'py>(py: Python<'py>, result: &RunResult, out: &Bound<'py, PyDict>) -> PyResult<()> {
    let mut background = Table::new(py);
    macro_rules! background_columns {
        ($($name:ident),*) => {
            $(background.column(stringify!($name), result.background.iter().map(|b| b.$name))?;)*
        };
    }
    background.text("label", result.background.iter().map(|b| b.label.as_str()))?;
    background.text("direction", result.background.iter().map(|b| b.direction))?;
    background.text("kind", result.background.iter().map(|b| b.kind))?;
    background.text("cc", result.background.iter().map(|b| b.cc.as_str()))?;
    background_columns!(measured_s, users, load, offered_load, carried_load, offered_bps, carried_bps, returned_bps);
    background_columns!(connections_started, connections_completed, connections_failed, connections_unfinished);
    background_columns!(connections_most, delivered_bytes, size_mean_bytes, segments_sent, segments_retransmitted);
    background_columns!(timeouts, packets_lost, goodput_mean_bps, packet_interval_mean_s);
    background.distribution("fct", result.background.iter().map(|b| b.fct))?;
    background.distribution("fct_receiver", result.background.iter().map(|b| b.fct_receiver))?;
    out.set_item("background", background.columns)?;

    let mut fct = Table::new(py);
    fct.text("label", result.fct.iter().map(|row| row.label.as_str()))?;
    fct.text("direction", result.fct.iter().map(|row| row.direction))?;
    fct.column("size_from_bytes", result.fct.iter().map(|row| row.size_from_bytes))?;
    fct.column("size_to_bytes", result.fct.iter().map(|row| row.size_to_bytes))?;
    fct.distribution("fct", result.fct.iter().map(|row| row.fct))?;
    fct.distribution("fct_receiver", result.fct.iter().map(|row| row.fct_receiver))?;
    out.set_item("fct", fct.columns)?;
    Ok(())
}

/// One figure of a distribution.
type Part = fn(&Distribution) -> f64;

/// A table as a dict of columns.
struct Table<'py> {
    columns: Bound<'py, PyDict>,
}

impl<'py> Table<'py> {
    fn new(py: Python<'py>) -> Self {
        Table { columns: PyDict::new(py) }
    }
    fn text<'a>(&mut self, name: &str, values: impl Iterator<Item = &'a str>) -> PyResult<()> {
        self.columns.set_item(name, values.collect::<Vec<_>>())
    }
    fn column<T: Element>(&mut self, name: &str, values: impl Iterator<Item = T>) -> PyResult<()> {
        self.whole(name, values.collect())
    }
    fn whole<T: Element>(&mut self, name: &str, values: Vec<T>) -> PyResult<()> {
        self.columns.set_item(name, values.into_pyarray(self.columns.py()))
    }
    fn distribution(&mut self, of: &str, values: impl Iterator<Item = Distribution>) -> PyResult<()> {
        let values: Vec<Distribution> = values.collect();
        let parts: [(&str, Part); 7] = [
            ("mean_s", |d| d.mean),
            ("var_s2", |d| d.variance),
            ("min_s", |d| d.min),
            ("max_s", |d| d.max),
            ("p50_s", |d| d.p50),
            ("p95_s", |d| d.p95),
            ("p99_s", |d| d.p99),
        ];
        for (part, of_one) in parts {
            self.column(&format!("{of}_{part}"), values.iter().map(of_one))?;
        }
        self.column(&format!("{of}_count"), values.iter().map(|d| d.count))
    }
}
