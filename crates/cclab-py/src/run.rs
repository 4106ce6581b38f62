//! A run in progress, and its result as columns.

use crate::{error, python_law};
use cclab_sim::measure::digest;
use cclab_sim::measure::table::{Column, Text, Values};
use cclab_sim::world::{self, RunResult};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::json;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// One run in progress.
#[pyclass(module = "cclab._core")]
pub struct Simulation {
    /// `None` once it is finished or has failed.
    sim: Mutex<Option<world::Simulation>>,
    seed: u64,
    /// A flow has a law written in Python: the GIL is kept during a slice, which is cheaper than to take it on each ACK.
    interpreted: bool,
}

#[pymethods]
impl Simulation {
    #[new]
    fn new(py: Python<'_>, scenario_json: &str, seed: Option<u64>) -> PyResult<Simulation> {
        error::guard(py, || {
            let scenario = error::scenario_from_json(scenario_json)?;
            if let Some(program) = scenario.programs().next() {
                return Err(error::run(format!(
                    "{program} is a program for the kernel, which only the live backend runs"
                )));
            }
            let seed = seed.unwrap_or(scenario.seed);
            let sim = world::Simulation::new(&scenario, seed).map_err(|e| error::simulation(py, &e))?;
            let sim = Mutex::new(Some(sim));
            let interpreted = scenario.interpreted().next().is_some();
            Ok(Simulation { sim, seed, interpreted })
        })
    }

    /// Serve up to `max_events` events, but for some 50 ms at most, without the GIL unless a law is written in Python; the share of simulated
    /// time done, 1.0 when finished.
    fn advance(&self, py: Python<'_>, max_events: u64) -> PyResult<f64> {
        // Out of its place while it runs: after an error or a panic it is gone, so nobody goes on with a broken run.
        let mut sim = self.take()?;
        let (done, sim) = error::guard(py, || {
            let done = match self.interpreted {
                true => in_turns(&mut sim, max_events, 8),
                false => py.detach(|| in_turns(&mut sim, max_events, 1024)),
            };
            let done = done.map_err(|e| error::simulation(py, &e))?;
            Ok((done, sim))
        })?;
        *self.place() = Some(sim);
        Ok(done)
    }

    /// The result: tables by name, each a dict of columns, and what is one value of the run. Columns are arrays, or lists, for which
    /// numpy is not loaded.
    #[pyo3(signature = (arrays = true))]
    fn finish<'py>(&self, py: Python<'py>, arrays: bool) -> PyResult<Bound<'py, PyDict>> {
        let sim = self.take()?;
        let result = error::guard(py, || py.detach(|| sim.finish()).map_err(|e| error::simulation(py, &e)))?;
        let out = taken_over(py, result, if arrays { array } else { list })?;
        out.set_item("seed", self.seed)?;
        Ok(out)
    }
}

/// A slice is no longer: who wants to stop the run waits for its end.
const SLICE: Duration = Duration::from_millis(50);

/// Serves up to `max_events` events, looking at the clock after each `turn` of them; the first law that fails is the last.
#[expect(clippy::disallowed_methods, reason = "where a slice ends changes nothing in a run")]
fn in_turns(sim: &mut world::Simulation, max_events: u64, turn: u64) -> Result<f64, world::Error> {
    let (start, mut left) = (Instant::now(), max_events);
    loop {
        let done = sim.advance(left.min(turn))?;
        if python_law::has_raised() {
            sim.check_laws()?;
        }
        left = left.saturating_sub(turn);
        if left == 0 || done >= 1.0 || start.elapsed() > SLICE {
            return Ok(done);
        }
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

/// What makes a column of values.
type Make<'py> = fn(Python<'py>, Values) -> PyResult<Bound<'py, PyAny>>;

/// The result as a dict: its tables, each a dict of columns; and what is one value.
pub fn taken_over<'py>(py: Python<'py>, mut result: RunResult, column: Make<'py>) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let capture = result.capture.take();
    let tables = result.into_tables();
    out.set_item("digest", digest(&tables, capture.as_deref()))?;
    out.set_item("capture", capture.map(|bytes| PyBytes::new(py, &bytes)))?;
    for table in tables {
        let columns = PyDict::new(py);
        let one_row = table.name == "runs";
        for Column { name, values, .. } in table.columns {
            if one_row {
                out.set_item(name, list(py, values)?.get_item(0)?)?;
            } else {
                columns.set_item(name, column(py, values)?)?;
            }
        }
        if !one_row {
            out.set_item(table.name, columns)?;
        }
    }
    Ok(out)
}

/// Numbers as a numpy array, handed over and not copied, text as a list; text that repeats as an array of places in a list, and the list.
pub fn array<'py>(py: Python<'py>, values: Values) -> PyResult<Bound<'py, PyAny>> {
    let list = |texts: &Text| PyList::new(py, texts.iter().collect::<Vec<_>>());
    Ok(match values {
        Values::F64(values) => values.into_pyarray(py).into_any(),
        Values::U64(values) => values.into_pyarray(py).into_any(),
        Values::U32(values) => values.into_pyarray(py).into_any(),
        Values::Bool(values) => values.into_pyarray(py).into_any(),
        Values::Text(texts) => list(&texts)?.into_any(),
        Values::Named(places, texts) => (places.into_pyarray(py), list(&texts)?).into_pyobject(py)?.into_any(),
    })
}

/// The same with lists in the place of arrays.
fn list(py: Python<'_>, values: Values) -> PyResult<Bound<'_, PyAny>> {
    Ok(match values {
        Values::F64(values) => PyList::new(py, values)?.into_any(),
        Values::U64(values) => PyList::new(py, values)?.into_any(),
        Values::U32(values) => PyList::new(py, values)?.into_any(),
        Values::Bool(values) => PyList::new(py, values)?.into_any(),
        Values::Text(_) => array(py, values)?,
        Values::Named(places, texts) => {
            (PyList::new(py, places)?, array(py, Values::Text((*texts).clone()))?).into_pyobject(py)?.into_any()
        }
    })
}

/// What [`RunResult::into_tables`] has: tables, and their columns with units and docs.
pub fn schema() -> serde_json::Value {
    let columns = |columns: &[Column]| -> Vec<_> {
        let columns = columns.iter();
        columns.map(|c| json!({"name": c.name, "kind": c.values.kind(), "unit": c.unit, "doc": c.doc})).collect()
    };
    let tables = world::schema();
    tables.iter().map(|t| json!({"name": t.name, "doc": t.doc, "columns": columns(&t.columns)})).collect()
}
