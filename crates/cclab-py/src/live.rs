//! A live run in progress.

use crate::{error, run};
use cclab_live::{Emulation, Run, Tell};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One live run in progress; it ends when this is deleted.
#[pyclass(module = "cclab._core")]
pub struct Live {
    /// `None` once it is finished.
    run: Mutex<Option<Run>>,
    seed: u64,
}

#[pymethods]
impl Live {
    #[new]
    fn new(py: Python<'_>, scenario_json: &str, seed: u64) -> PyResult<Live> {
        error::guard(py, || {
            let scenario = error::scenario_from_json(scenario_json)?;
            let run = py.detach(|| Run::start(&scenario, seed)).map_err(error::run)?;
            Ok(Live { run: Mutex::new(Some(run)), seed })
        })
    }

    /// Wait for `seconds`, without the GIL; the share of its time that is done, 1.0 when it can be finished.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<f64> {
        error::guard(py, || {
            py.detach(|| std::thread::sleep(Duration::from_secs_f64(seconds)));
            self.run.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Run::done).ok_or_else(over)
        })
    }

    /// The result: tables by name, each a dict of columns, and what is one value of the run; `stamp` is JSON.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let live = self.run.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(over)?;
        let (result, stamp) = error::guard(py, || py.detach(|| live.finish()).map_err(error::run))?;
        let out = run::taken_over(py, result, run::array)?;
        out.set_item("seed", self.seed)?;
        out.set_item("stamp", stamp.json().to_string())?;
        Ok(out)
    }

    /// End it now.
    fn stop(&self, py: Python<'_>) {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(run));
    }
}

/// Programs with links between them; they end when this is deleted.
#[pyclass(module = "cclab._core")]
pub struct Emulate {
    /// `None` once it is finished.
    run: Mutex<Option<Emulation>>,
    seed: u64,
}

/// Since the start in s; bytes that came through to the server and to the client, one-way delays in s, packets that wait.
type Standing = (f64, [u64; 2], [f64; 2], [u64; 2]);

#[pymethods]
impl Emulate {
    #[new]
    fn new(
        py: Python<'_>,
        scenario_json: &str,
        seed: u64,
        command: Vec<String>,
        serve: Option<String>,
    ) -> PyResult<Emulate> {
        error::guard(py, || {
            let scenario = error::scenario_from_json(scenario_json)?;
            let start = || Emulation::start(&scenario, seed, &command, serve.as_deref());
            Ok(Emulate { run: Mutex::new(Some(py.detach(start).map_err(error::run)?)), seed })
        })
    }

    /// Wait for the command, until the next sample at most: its exit status if it has ended, and how everything stands.
    fn wait(&self, py: Python<'_>) -> PyResult<(Option<i32>, Standing)> {
        error::guard(py, || {
            py.detach(|| {
                let mut place = self.run.lock().unwrap_or_else(PoisonError::into_inner);
                let run = place.as_mut().ok_or_else(over)?;
                let status = run.wait(run.interval());
                let look = run.look();
                Ok((status, (look.time_s, look.arrived_bytes, look.delay_s, look.queue_packets)))
            })
        })
    }

    /// Interrupt the command as Ctrl-C does, or ask it to end.
    fn tell(&self, interrupt: bool) {
        if let Some(run) = &*self.run.lock().unwrap_or_else(PoisonError::into_inner) {
            run.tell(if interrupt { Tell::Interrupt } else { Tell::End });
        }
    }

    /// The result as of a run, with `flaw`, what is wrong with its stamp if anything.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(over)?;
        let (result, stamp) = error::guard(py, || py.detach(|| run.finish()).map_err(error::run))?;
        let out = run::taken_over(py, result, run::array)?;
        out.set_item("seed", self.seed)?;
        out.set_item("stamp", stamp.json().to_string())?;
        out.set_item("flaw", stamp.flaw())?;
        Ok(out)
    }

    /// End it now.
    fn stop(&self, py: Python<'_>) {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(run));
    }
}

fn over() -> PyErr {
    error::run("the run is finished or was stopped")
}

/// What this machine can do for live runs, as JSON.
#[pyfunction]
pub fn live_check(py: Python<'_>) -> PyResult<String> {
    error::guard(py, || Ok(cclab_live::check::check().to_string()))
}

/// Round trips over an idle path of this RTT, s.
#[pyfunction]
pub fn live_round_trips(py: Python<'_>, rtt_s: f64, count: u64) -> PyResult<Vec<f64>> {
    let rtt = cclab_algo::Duration::from_secs_f64(rtt_s);
    let found = error::guard(py, || py.detach(|| cclab_live::check::round_trips(rtt, count)).map_err(error::run))?;
    Ok(found.into_iter().map(cclab_algo::Duration::as_secs_f64).collect())
}

/// Why this kernel cannot run a congestion control, if it cannot.
#[pyfunction]
pub fn live_lacks(py: Python<'_>, name: &str) -> PyResult<Option<String>> {
    error::guard(py, || Ok(cclab_live::run::lacks(name)))
}
