"""From a study to runs: every point of the grid as a checked scenario, every run with the key it is kept under."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from cclab import laws
from cclab.errors import ScenarioError, StudyError
from cclab.scenario import Scenario, changed, programs

LAYOUT = 1  # of what a run's row holds; another number makes all keys new
_OF_CAPTURES = ("packets", "point", "snaplen")
_SHOWN = 12  # mistakes; beyond that they are counted
_TICK = 0.5  # seconds between two reports


@dataclass(frozen=True)
class Axis:
    """One direction of the grid.

    Attributes:
        names: Columns of the tables that it fills.
        values: For each of its points the values of these columns.
        changes: For each of its points what changes in the scenario, by path.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    changes: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Design:
    """A study as data.

    Attributes:
        name: For people.
        scenario: As it was written.
        axes: The directions of the grid; the last one varies fastest.
        seeds: One for each replication, the same at every point.
        keep: `"summary"` or `"samples"`.
        backend: What runs it.
    """

    name: str
    scenario: dict[str, Any]
    axes: tuple[Axis, ...] = ()
    seeds: tuple[int, ...] = ()
    keep: str = "summary"
    backend: str = "sim"

    @property
    def parameters(self) -> list[str]:
        """Names of all columns that the axes fill."""
        return [name for axis in self.axes for name in axis.names]

    def points(self) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Every point of the grid: the values of the parameters, and what changes in the scenario."""
        for chosen in itertools.product(*(list(zip(axis.values, axis.changes, strict=True)) for axis in self.axes)):
            changes: dict[str, Any] = {}
            for _, change in chosen:
                changes |= change
            yield tuple(value for values, _ in chosen for value in values), changes

    def scenario_at(self, changes: Mapping[str, Any]) -> Scenario:
        """The scenario of a point, recording no more than the study keeps."""
        data = changed(self.scenario, changes)
        record = data.get("record") or {}
        if self.keep == "summary" and isinstance(record, dict):
            kept = {name: value for name, value in record.items() if name not in _OF_CAPTURES}
            data["record"] = {**kept, "samples": "off"}
        return Scenario._of(data, Path())  # plain already

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        axes = [{"names": a.names, "values": a.values, "changes": a.changes} for a in self.axes]
        return json.loads(json.dumps({**vars(self), "axes": axes}))  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Design:
        """The design in what `to_json` gave."""
        axes = tuple(
            Axis(tuple(a["names"]), tuple(map(tuple, a["values"])), tuple(map(dict, a["changes"])))
            for a in data["axes"]
        )
        return cls(**{**data, "axes": axes, "seeds": tuple(data["seeds"])})


@dataclass(frozen=True)
class Plan:
    """A design with everything checked.

    Attributes:
        identity: Hash of all that determines the plan.
        parameters: Names of the columns of parameters.
        values: Their values at each point.
        seeds: One for each replication.
        points: For each point a hash of what determines its runs but the seed.
        work: For each point a guess of how much there is to simulate, in packets.
        laws: Names of the laws written in Python that the points use.
    """

    identity: str
    parameters: list[str]
    values: list[list[Any]]
    seeds: list[int]
    points: list[str]
    work: list[float]
    laws: Sequence[str] = ()

    @cached_property
    def keys(self) -> list[list[str]]:
        """For each point the keys of its runs, one for each replication."""
        return [
            [hashlib.sha256(f"{point} {seed}".encode()).hexdigest() for seed in self.seeds] for point in self.points
        ]

    @property
    def distinct(self) -> int:
        """How many runs it has; those of points with the same scenario are the same."""
        return len(set(self.points)) * len(self.seeds)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def identity(design: Design, core: str) -> str:
    """Hash of all that determines a plan."""
    written = laws.fingerprint(laws.registered())
    told = design.to_json()
    return _hash([LAYOUT, told, core, written, *_programs(told, design.backend)])


def make(design: Design, core: str, report: Callable[[float], None] = lambda _: None) -> Plan:
    """Check every point and give every run its key.

    Args:
        design: What to run.
        core: Hash of the compiled core.
        report: Called now and then with the share of the points that are checked.

    Raises:
        StudyError: the scenarios of some points cannot be; each mistake once, with the points that have it.
    """
    values: list[list[Any]] = []
    points: list[str] = []
    works: list[float] = []
    named: set[str] = set()
    mistakes: dict[str, list[str]] = {}
    total, told = math.prod(len(axis.values) for axis in design.axes), time.monotonic()
    for number, (parameters, changes) in enumerate(design.points()):
        if time.monotonic() - told > _TICK:
            told = time.monotonic()
            report(number / total)
        try:
            scenario = design.scenario_at(changes)
        except ScenarioError as error:
            where = ", ".join(
                f"{n} = {json.dumps(v, ensure_ascii=False)}" for n, v in zip(design.parameters, parameters, strict=True)
            )
            for line in str(error).splitlines():
                mistakes.setdefault(line, []).append(where)
            continue
        if mistakes:
            continue
        values.append(list(parameters))
        points.append(point(scenario, [design.backend, design.keep], core))
        works.append(work(scenario._checked))
        named |= laws.named_in(scenario)
    if mistakes:
        raise StudyError(_told(mistakes))
    return Plan(identity(design, core), design.parameters, values, list(design.seeds), points, works, sorted(named))


def point(scenario: Scenario, how: list[str], core: str) -> str:
    """Hash of what determines the runs of a scenario, but for their seeds.

    Args:
        scenario: Checked.
        how: The backend, and what else, e.g. what of a run is kept.
        core: Hash of the compiled core.
    """
    written = laws.fingerprint(laws.named_in(scenario))
    seedless = {name: value for name, value in scenario._checked.items() if name != "seed"}
    return _hash([LAYOUT, seedless, *how, core, written, *_programs(seedless, how[0])])


def _programs(told: Any, backend: str) -> list[dict[str, str]]:
    """Hashes of the programs that the kernel runs; nothing where there are none."""
    return [found] if backend == "live" and (found := programs(told)) else []


def _told(mistakes: dict[str, list[str]]) -> str:
    lines = []
    for line, points in list(mistakes.items())[:_SHOWN]:
        at = f" (at {points[0]}" if points[0] else ""
        at += f", and {len(points) - 1} more points" if len(points) > 1 else ""
        lines.append(line + at + (")" if at else ""))
    if len(mistakes) > _SHOWN:
        lines.append(f"and {len(mistakes) - _SHOWN} more mistakes")
    return "\n".join(lines)


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}


def work(checked: Mapping[str, Any]) -> float:
    """A guess of how much there is to simulate: packets of 1500 bytes that the bottlenecks, or the air, can carry.

    It orders runs and shares out the time that is left until better is known; nothing else rests on it.
    """
    network = checked["network"]
    rates: list[str] = [link.get("rate", "") for link in network.get("links", ())]  # none where a trace says it
    rates = rates or [network["wireless"]["data_rate"] if "wireless" in network else network.get("rate", "")]
    hops = int(network.get("bottlenecks", network.get("hops", 1)))
    carried = sum(_measure(rate, _BITS, 1e9) for rate in rates) * hops
    return max(_measure(checked["duration"], _SECONDS, 1.0) * carried / 12_000, 1.0)


def _measure(text: str, units: Mapping[str, float], otherwise: float) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * units[unit] if unit in units else otherwise
