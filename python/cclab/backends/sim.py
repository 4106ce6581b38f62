"""The backend `"sim"`: the packet-level simulator, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cclab import _core

if TYPE_CHECKING:
    from cclab.results import Result
    from cclab.scenario import Scenario

_SLICE = 1 << 16  # events between two looks at the clock and at Ctrl-C: some 10 ms


def refuse(_scenario: Scenario) -> list[str]:
    """Nothing: what a scenario may say is what the simulator can do."""
    return []


def run(scenario: Scenario, seed: int, progress: Callable[[float], None]) -> dict[str, Any]:
    """Run it packet by packet."""
    simulation = _core.Simulation(scenario.to_json(), seed)
    done = 0.0
    while done < 1.0:
        done = simulation.advance(_SLICE)
        progress(done)
    return simulation.finish()


def remark(_result: Result) -> str | None:
    """None."""
    return None
