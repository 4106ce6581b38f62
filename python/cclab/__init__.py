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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cclab.errors import CclabError, ResultError, RunError, ScenarioError, StudyError, UnknownNameError

if TYPE_CHECKING:
    from cclab import algorithms as algorithms
    from cclab.results import Result as Result
    from cclab.scenario import Dumbbell as Dumbbell
    from cclab.scenario import Flow as Flow
    from cclab.scenario import Network as Network
    from cclab.scenario import Scenario as Scenario

__version__: str

__all__ = [
    "CclabError",
    "Dumbbell",
    "Flow",
    "Network",
    "Result",
    "ResultError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "StudyError",
    "UnknownNameError",
    "__version__",
    "algorithms",
]

# Loaded when first asked for, so that `import cclab` and `cclab --help` are quick.
_LAZY = {
    "Dumbbell": "cclab.scenario",
    "Flow": "cclab.scenario",
    "Network": "cclab.scenario",
    "Result": "cclab.results",
    "Scenario": "cclab.scenario",
    "__version__": "cclab._core",
}


def __getattr__(name: str) -> Any:
    if name == "algorithms":
        return import_module("cclab.algorithms")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'cclab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
