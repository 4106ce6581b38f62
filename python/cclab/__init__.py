"""A laboratory for congestion control.

>>> import cclab
>>> scenario = cclab.Scenario(
...     name="one-cubic",
...     duration="10 s",
...     network=cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms", queue={"discipline": "droptail", "limit": "1 BDP"}),
...     flows=[cclab.Flow(cc="cubic")],
... )
>>> result = scenario.run(seed=1)
>>> float(result.flows["goodput_bps"][0]) > 8e6
True
"""

from __future__ import annotations

from cclab.errors import AlgorithmError, CclabError, ResultError, RunError, ScenarioError, StudyError, UnknownNameError

TYPE_CHECKING = False  # as type checkers know it: to load `typing` takes as long as all of Python
if TYPE_CHECKING:
    from typing import Any

    from cclab import columns as columns
    from cclab.analysis import metrics as metrics
    from cclab.analysis import plots as plots
    from cclab.analysis import stats as stats
    from cclab.laws import algorithms as algorithms
    from cclab.laws.python import CongestionControl as CongestionControl
    from cclab.laws.python import Param as Param
    from cclab.laws.python import register as register
    from cclab.results import Result as Result
    from cclab.scenario import Background as Background
    from cclab.scenario import Dumbbell as Dumbbell
    from cclab.scenario import Flow as Flow
    from cclab.scenario import Network as Network
    from cclab.scenario import Scenario as Scenario
    from cclab.scenario import Wireless as Wireless
    from cclab.sweep.query import load as load
    from cclab.sweep.study import Study as Study
    from cclab.theory import formulas as formulas

__version__: str

__all__ = [
    "AlgorithmError",
    "Background",
    "CclabError",
    "CongestionControl",
    "Dumbbell",
    "Flow",
    "Network",
    "Param",
    "Result",
    "ResultError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Study",
    "StudyError",
    "UnknownNameError",
    "Wireless",
    "__version__",
    "algorithms",
    "columns",
    "formulas",
    "load",
    "metrics",
    "plots",
    "register",
    "stats",
]

# Loaded when first asked for, so that `import cclab` and `cclab --help` are quick.
_LAZY = {
    "CongestionControl": "cclab.laws.python",
    "Background": "cclab.scenario",
    "Dumbbell": "cclab.scenario",
    "Flow": "cclab.scenario",
    "Network": "cclab.scenario",
    "Param": "cclab.laws.python",
    "Result": "cclab.results",
    "Scenario": "cclab.scenario",
    "Study": "cclab.sweep.study",
    "Wireless": "cclab.scenario",
    "__version__": "cclab._core",
    "load": "cclab.sweep.query",
    "register": "cclab.laws.python",
}
_ROOMS = {
    "algorithms": "cclab.laws.algorithms",
    "columns": "cclab.columns",
    "formulas": "cclab.theory.formulas",
    "metrics": "cclab.analysis.metrics",
    "plots": "cclab.analysis.plots",
    "stats": "cclab.analysis.stats",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'cclab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
