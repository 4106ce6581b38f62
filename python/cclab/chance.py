"""What of a scenario is left to chance. Where nothing is, every seed gives the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cclab.scenario import Scenario

# Those that draw random numbers; all other built-in ones do not (a test walks the registry).
_LAWS = {"bbr", "bbr3", "cbbr", "cmpbbr", "vivace"}
_QUEUES = {"blue", "fq-codel", "pie", "red"}
CURE = 'start_jitter = "100 ms" of the flows makes replications differ (as do send_jitter, random loss, background)'


def nothing(scenario: Scenario) -> bool:
    """Whether all seeds give the same run in the simulator."""
    return next(left(scenario.resolved()), None) is None


def left(resolved: Mapping[str, Any]) -> Iterator[str]:
    """What of a resolved scenario is drawn at random, in the scenario's words."""
    from cclab import registry
    from cclab.laws import registered

    if resolved["media"]:
        yield "stations that share the air"
    if resolved["background"]:
        yield "background"
    for link in resolved["links"]:
        yield from (name for name in ("jitter", "reorder", "duplicate") if link[name])
        yield from (f"loss ({of['model']})" for of in link["loss"] if of["model"] in ("bernoulli", "gilbert-elliott"))
        if link["queue"]["discipline"] in _QUEUES:
            yield link["queue"]["discipline"]
    known = set(registry.names("algorithms")) - set(registered())
    for flow in resolved["flows"]:
        yield from (name for name in ("start_jitter", "send_jitter") if flow[f"{name}_s"])
        traffic = flow["traffic"]
        if traffic["kind"] == "onoff" or traffic.get("application"):
            yield f"traffic of {flow['label']}"
        law = traffic.get("cc", {}).get("name")
        if law in _LAWS or (law is not None and law not in known):  # what one written in Python does is not known
            yield law
