"""The page of a sweep: means with intervals at every point, figures over what was varied."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cclab.analysis import stats
from cclab.analysis.metrics import connections as connections_of
from cclab.analysis.metrics import total_goodput_bps, were_together, without_tunnels
from cclab.analysis.plots import Chart, look, styled
from cclab.sweep import Study

_MOST_LINES = 7
_MOST_FIGURES = 24
_MOST_FLOWS = 4  # that have a column of their own
_SAME_FOR_ALL_RUNS = ("replication", "seed")
# Units by what they measure; the factor takes a value to the first of its kind.
_UNITS = (
    {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12},
    {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 2.0**20, "GiB": 2.0**30},
    {"BDP": 1.0},
    {"packets": 1.0, "packet": 1.0},
    {"%": 1.0},
    {"": 1.0},
)


@dataclass(frozen=True)
class Metric:
    """A figure of a run: its column, its name with unit, the factor that gives it that unit, and the most it can be."""

    column: str
    label: str
    scale: float = 1.0
    most: float = math.inf


METRICS = (
    Metric("goodput_bps", "Goodput of all connections (Mbit/s)", 1e-6),
    Metric("utilisation", "Utilisation (%)", 100.0, 1.0),
    Metric("jain", "Jain's index", 1.0, 1.0),
    Metric("queue_s", "Mean time in the queue (ms)", 1e3),
    Metric("loss", "Packets dropped or lost (%)", 100.0, 1.0),
)
COMPLETION = Metric("fct_s", "Completion time (s)")
QUANTILES = (0.5, 0.95)  # of completion times over all transfers of a point


def identical(study: Study) -> int:
    """At how many points all of several runs are the same to the last bit: nothing there is left to chance."""
    runs = study.table("runs")
    if len(study.seeds) < 2:
        return 0
    of = runs.group_by(study.parameters) if study.parameters else runs.group_by(pl.lit(0))
    told = of.agg(runs=pl.len(), kinds=pl.col("digest").n_unique())
    return told.filter((pl.col("runs") > 1) & (pl.col("kinds") == 1)).height


def definitions(study: Study) -> list[tuple[str, str, str]]:
    """What each value of what is varied sets in the scenario: its name, the value, and paths with their values."""
    made = []
    for axis in study.axes:
        for values, changes in zip(axis.values, axis.changes, strict=True):
            sets = "\n".join(f"{path} = {json.dumps(value, ensure_ascii=False)}" for path, value in changes.items())
            made.append((", ".join(axis.names), ", ".join(map(str, values)), sets))
    return made


def per_run(study: Study) -> tuple[pl.DataFrame, list[Metric], str]:
    """One row for each run with every metric, the metrics there are, and the link that they are of: the busiest."""
    at = [*study.parameters, *_SAME_FOR_ALL_RUNS]
    flows, links, runs = study.table("flows"), study.table("links"), study.table("runs")
    connections = of_study(study)
    busiest = links.group_by("name", maintain_order=True).agg(pl.col("utilisation").fill_nan(None).mean())
    link = str(busiest.sort("utilisation", descending=True, nulls_last=True, maintain_order=True)["name"][0])
    warmup_s = pl.col("_warmup_s")
    total = (
        connections.join(study.warmups(), on=at)
        .group_by(at, maintain_order=True)
        .agg(
            total_goodput_bps(warmup_s).alias("goodput_bps"), pl.col("fct_s").mean(), _together=were_together(warmup_s)
        )
    )
    of_link = links.filter(pl.col("name") == link).select(
        *at, "utilisation", queue_s="sojourn_mean_s", loss=(pl.col("drops") + pl.col("losses")) / pl.col("arrived")
    )
    frame = runs.select(*at, "jain").join(total, on=at, how="left").join(of_link, on=at, how="left")
    frame = frame.with_columns(jain=pl.when("_together").then("jain")).drop("_together")
    unfair = connections.group_by(at).len()["len"].max() == 1 or frame["jain"].null_count() == frame.height
    metrics = [metric for metric in METRICS if not (unfair and metric.column == "jain")]
    if connections["fct_s"].is_finite().any():
        metrics.insert(1, COMPLETION)
    else:
        frame = frame.drop("fct_s")
    labels = flows["label"].unique(maintain_order=True).to_list()
    if 1 < len(labels) <= _MOST_FLOWS:
        for label in labels:
            own = flows.filter(pl.col("label") == label).select(*at, pl.col("goodput_bps").alias(f"goodput of {label}"))
            frame = frame.join(own, on=at, how="left")
            copies = "" if label in set(connections["label"]) else ", copies too"
            metrics.append(Metric(f"goodput of {label}", f"Goodput of {label}{copies} (Mbit/s)", 1e-6))
    return frame, metrics, link


def of_study(study: Study) -> pl.DataFrame:
    """The connections of all runs."""
    at = [*study.parameters, *_SAME_FOR_ALL_RUNS]
    sessions = study.table("sessions") if "sessions" in study.tables() else None
    return connections_of(without_tunnels(study.table("flows"), study.table("links")), sessions, at)


def early(study: Study) -> bool:
    """Whether a transfer ended before the warm-up did, so that nothing is measured of it but when it was complete."""
    of = of_study(study)
    return bool((of["fct_s"].is_finite() & (of["measured_s"] <= 0)).any())


def completion(study: Study) -> list[tuple[str, dict[Any, str]]]:
    """Heading and, by point, quantiles of the completion times of all transfers; how many of them ended, if not all."""
    of = of_study(study)
    groups = of.group_by(study.parameters, maintain_order=True) if study.parameters else [((), of)]
    times = {key: (part["fct_s"].to_numpy(), part.height) for key, part in groups}
    made = []
    for q in QUANTILES:
        cells = {}
        for key, (x, n) in times.items():
            ended = x[np.isfinite(x)]
            told = "" if len(ended) == n else f" ({len(ended)} of {n})"
            cells[key] = (f"{np.quantile(ended, q):.4g}" if len(ended) else "–") + told
        made.append((f"{'Median' if q == 0.5 else f'{q:.0%} quantile'} of completion times (s)", cells))
    return made


def table(frame: pl.DataFrame, parameters: list[str], metrics: Sequence[Metric]) -> tuple[list[str], list[list[str]]]:
    """Headings, those of numbers begin with |, and rows of the table of all points."""
    points = frame.select(parameters).unique(maintain_order=True)
    made = points if parameters else pl.DataFrame({"Point": ["the scenario"]})
    for metric in metrics:
        value = pl.col(metric.column).cast(pl.Float64).fill_null(math.nan)
        groups = frame.group_by(parameters or pl.lit(0), maintain_order=True).agg(value)
        of = [stats.mean(values.to_numpy(), bounds=(0.0, metric.most)) for values in groups[metric.column]]
        made = made.with_columns(pl.Series(metric.label, [e.brief(metric.scale, 4) for e in of]))
    numbers = {metric.label for metric in metrics}
    return ["|" * (c in numbers) + c for c in made.columns], [[str(cell) for cell in row] for row in made.rows()]


def figures(
    frame: pl.DataFrame, parameters: list[str], metrics: Sequence[Metric]
) -> list[tuple[str, str, Chart, pl.DataFrame]]:
    """Name, title, chart and data of each figure: a metric over one parameter, a line for each value of the others."""
    varied = [p for p in parameters if frame[p].n_unique() > 1]
    if not varied:
        return []
    along = max(
        varied, key=lambda p: (axis(frame[p].unique(maintain_order=True).to_list()) is not None, frame[p].n_unique())
    )
    others = [p for p in varied if p != along]
    # What would be too many lines becomes figures, by the parameters with the fewest values.
    apart: list[str] = []
    while others and math.prod(frame[p].n_unique() for p in others) > _MOST_LINES:
        apart.append(min(others, key=lambda p: frame[p].n_unique()))
        others.remove(apart[-1])
    groups = [((), frame)] if not apart else list(frame.group_by(apart, maintain_order=True))
    made: list[tuple[str, str, Chart, pl.DataFrame]] = []
    for (place, (values, part)), metric in itertools.product(enumerate(groups), metrics):
        where = ", ".join(f"{p} = {v}" for p, v in zip(apart, values, strict=True))
        data = stats.summarise(part, metric.column, [along, *others]).filter(pl.col("n") > 0)
        if data.height and len(made) < _MOST_FIGURES:
            name = re.sub(r"[^a-z0-9]+", "-", f"{metric.column}-{place}" if apart else metric.column)
            title = metric.label + (f", {where}" if where else "")
            made.append((name, title, _over(data, along, others, metric), data))
    return made


def axis(values: list[Any]) -> tuple[list[float], str] | None:
    """Quantities as numbers in the unit of the first; `None` if they are none, or not of one kind."""
    found = [re.fullmatch(r"\s*([-+0-9.eE]+)\s*([A-Za-zµ/%]*)\s*", str(value)) for value in values]
    if any(isinstance(value, bool) for value in values) or not all(found):
        return None
    units = [match[2] for match in found if match]
    kind = next((kind for kind in _UNITS if units[0] in kind), None)
    try:
        numbers = [float(match[1]) for match in found if match]
    except ValueError:
        return None
    if kind is None or not all(unit in kind for unit in units):
        return None
    return [x * kind[u] / kind[units[0]] for x, u in zip(numbers, units, strict=True)], units[0]


def _over(data: pl.DataFrame, along: str, others: list[str], metric: Metric) -> Chart:
    order = data[along].unique(maintain_order=True).to_list()
    scale = axis(order)
    numbers, unit = scale or ([float(i) for i in range(len(order))], "")
    x_of = dict(zip(order, numbers, strict=True))
    with styled():
        chart = Chart(6.4, 3.6)
        axes = chart.add_subplot()
        lines = [((), data)] if not others else list(data.group_by(others, maintain_order=True))
        for i, (values, part) in enumerate(lines):
            x = [x_of[value] for value in part[along]]
            middle = part["mean"].to_numpy() * metric.scale
            low, high = (part[end].fill_nan(None).fill_null(part["mean"]).to_numpy() for end in ("low", "high"))
            ends = np.clip([low, high], 0.0, metric.most) * metric.scale
            name = ", ".join(map(str, values)) or metric.label
            sort = sorted(range(len(x)), key=x.__getitem__)
            bars = np.abs(ends - middle)[:, sort]
            axes.errorbar([x[k] for k in sort], middle[sort], bars, capsize=2, elinewidth=0.8, marker="o",
                          markersize=3, label=name, **look(i))  # fmt: skip
        if scale is None:
            axes.set_xticks(range(len(order)), [str(value) for value in order])
        elif min(numbers) > 0 and max(numbers) > 20 * min(numbers):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel(along + (f" ({unit})" if unit else ""))
        axes.set_ylabel(metric.label)
        axes.set_ylim(bottom=0)
        if others:
            chart.legend_below()
            chart.supxlabel("line: " + ", ".join(others), fontsize=7, color="#555555", x=0.98, ha="right")
    return chart
