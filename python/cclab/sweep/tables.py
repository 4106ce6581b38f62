"""Tables over all runs of a study: parameters, replication and seed first, then what was measured."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from cclab.errors import ResultError
from cclab.registry import unknown
from cclab.sweep.plan import Plan
from cclab.sweep.store import Store

ALWAYS = ("runs", "flows", "links", "failures", "timings")


def names(store: Store) -> list[str]:
    """Names of all tables."""
    return list(dict.fromkeys((*ALWAYS[:3], *store.tables(), *ALWAYS[3:])))


def make(name: str, store: Store, plan: Plan) -> pl.DataFrame:
    """A table, sorted by point, replication, and the order within a run.

    Raises:
        UnknownNameError: there is no such table.
    """
    runs = design(plan)
    wanted = runs["key"]
    if name == "failures":
        errors, done = (log := store.log()).errors, log.done
        there = [key for key in wanted.unique() if key in errors and key not in done]
        rows = pl.DataFrame(
            {"key": there, "error": [errors[key] for key in there]}, schema={"key": pl.String, "error": pl.String}
        )
    elif name == "timings":
        columns = {"key": pl.String, "wall_s": pl.Float64, "cpu_s": pl.Float64}
        rows = pl.DataFrame(store.log().timings, schema=columns, orient="row")
    elif name in (known := names(store)):
        rows = _concat([frame for frame in store.frames(name, wanted) if frame.height])
    else:
        raise unknown("table", name, known)
    if not rows.width:
        return runs.clear().drop("key", "_order")
    if clash := [column for column in plan.parameters if column in rows.columns]:
        raise ResultError(
            f"{name}: has a column {clash[0]} of its own; give the parameter another name (nothing will run again)"
        )
    rows = rows.with_row_index("_row")
    return runs.join(rows, on="key").sort("_order", "_row").drop("key", "_order", "_row")


def design(plan: Plan) -> pl.DataFrame:
    """A row for each run: key, parameters, replication and seed, in order."""
    seeds = len(plan.seeds)
    columns: dict[str, pl.Series] = {}
    for i, name in enumerate(plan.parameters):
        columns[name] = _column([point[i] for point in plan.values for _ in plan.seeds])
    points = len(plan.points)
    return pl.DataFrame(
        {
            "_order": pl.Series(range(points * seeds), dtype=pl.UInt32),
            "key": [key for keys in plan.keys for key in keys],
            **columns,
            "replication": pl.Series(list(range(seeds)) * points, dtype=pl.UInt32),
            "seed": pl.Series(plan.seeds * points, dtype=pl.UInt64),
        }
    )


def _column(values: list[Any]) -> pl.Series:
    """Numbers, flags or text as they are; anything mixed, and tables, as text (tables as JSON)."""
    kinds = {type(value) for value in values}
    if kinds in ({bool}, {str}):
        return pl.Series(values)
    if kinds <= {int, float}:
        return pl.Series([float(v) for v in values] if float in kinds else values)
    return pl.Series([v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values], dtype=pl.String)


def _concat(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()
