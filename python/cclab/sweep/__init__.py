"""Studies: a scenario with parameters varied and replications, run on anything, kept so that nothing is run twice.

* `study`: what is varied and how often; `Study`, the user's handle.
* `file`: the same in TOML.
* `plan`: every point checked, every run with its key.
* `job`: one run, in whatever thread or process.
* `executors`: threads, processes, Dask.
* `run`: `Runner` hands jobs out and takes back what became of them; `Sweep` is one go at a study.
* `store`: the folder on disk.
* `query`: SQL over its tables.
"""

from cclab.sweep.run import Progress
from cclab.sweep.study import Study

__all__ = ["Progress", "Study"]
