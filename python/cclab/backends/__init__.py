"""What can run a scenario: each backend is a module of this package that does what `Backend` says."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from cclab.errors import RunError, ScenarioError

if TYPE_CHECKING:
    from cclab.results import Result
    from cclab.scenario import Scenario

BACKENDS = {"sim": "packet by packet", "model": "closed formulas", "live": "real kernels, Linux only"}
"""Every backend with what it is; the module of its name is loaded when it is first asked for."""


class Backend(Protocol):
    """What a backend does."""

    def refuse(self, scenario: Scenario) -> list[str]:
        """What of a scenario is beyond it, a line for each field; empty where it can run."""

    def run(self, scenario: Scenario, seed: int, progress: Callable[[float], None]) -> dict[str, Any]:
        """Tables by name, as `_core.Simulation.finish` gives them; `progress` is told the share done, 0 to 1.

        Raises:
            RunError: it could not go on.
        """

    def remark(self, result: Result) -> str | None:
        """What whoever reads a result of it should know, in a line."""


def find(name: str) -> Backend:
    """The backend of this name.

    Raises:
        RunError: there is none.
    """
    if name not in BACKENDS:
        raise RunError(f"unknown backend {name!r}; allowed: {', '.join(BACKENDS)}")
    return cast(Backend, import_module(f"{__name__}.{name}"))


def run(
    scenario: Scenario, seed: int | None, backend: str, progress: Callable[[float], None] | None
) -> tuple[dict[str, Any], float, float]:
    """Run `scenario`; its tables, and the seconds it took: wall and CPU of this thread.

    Raises:
        RunError: there is no such backend, or it could not go on.
        ScenarioError: the scenario is beyond the backend, or the seed is none.
    """
    wanted = find(backend)
    seed = scenario.seed if seed is None else seed
    if hasattr(seed, "item"):
        seed = seed.item()  # a numpy number
    if type(seed) is not int or not 0 <= seed < 1 << 64:
        raise ScenarioError(f"seed: {seed!r} is not a whole number from 0 to 2^64 - 1")
    wall, cpu = time.perf_counter(), time.thread_time()
    if reasons := wanted.refuse(scenario):
        raise ScenarioError("\n".join(f"{reason} (backend = {backend})" for reason in reasons))
    tables = wanted.run(scenario, seed, progress or (lambda _: None))
    return tables, time.perf_counter() - wall, time.thread_time() - cpu


def never_up(result: Result) -> list[str]:
    """What to say of connections whose handshake never ended; nothing where there are none, or of any programs."""
    flows = (row for row in result.rows("flows", "label", "cc", "connect_s") if row["cc"] not in ("udp", "any"))
    silent = [row["label"] for row in flows if math.isnan(row["connect_s"])]
    return [f"Never came up, as no SYN was answered: {some(silent)}."] if silent else []


def some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
