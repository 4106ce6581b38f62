"""The page of a sweep: means with intervals at every point, figures over what was varied."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from cclab.analysis import stats
from cclab.analysis.plots import Chart
from cclab.analysis.studies import (
    COMPLETION,
    FLOW,
    METRICS,
    OF_FLOWS,
    SHARE,
    Metric,
    axis,
    figures,
    flows_of,
    of_study,
    per_run,
)
from cclab.report.captions import OF_SWEEPS
from cclab.sweep import Study

__all__ = [
    "COMPLETION",
    "METRICS",
    "Metric",
    "axis",
    "charts",
    "completion",
    "definitions",
    "early",
    "figures",
    "flows_of",
        "per_run",
    "table",
]  # fmt: skip
QUANTILES = (0.5, 0.95)  # of completion times over all transfers of a point


def definitions(study: Study) -> list[tuple[str, str, str]]:
    """What each value of what is varied sets in the scenario: its name, the value, and paths with their values."""
    made = []
    for direction in study.axes:
        for values, changes in zip(direction.values, direction.changes, strict=True):
            sets = "\n".join(f"{path} = {json.dumps(value, ensure_ascii=False)}" for path, value in changes.items())
            made.append((", ".join(direction.names), ", ".join(map(str, values)), sets))
    return made


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


def table(
    frame: pl.DataFrame, parameters: list[str], metrics: Sequence[Metric]
) -> tuple[list[str], list[list[str]], list[str]]:
    """Headings, those of numbers begin with |, and rows of the table of all points; and what of it no run has."""
    known = {c for c in frame.columns if frame[c].dtype.is_numeric() and frame[c].fill_null(math.nan).is_finite().any()}
    told = known | {COMPLETION.column}  # of transfers none of which ended, too
    lacking = [m.label for m in metrics if "goodput" not in m.column and m.column not in told]
    metrics = [metric for metric in metrics if metric.label not in lacking]
    points = frame.select(parameters).unique(maintain_order=True)
    made = points if parameters else pl.DataFrame({"Point": ["the scenario"]})
    for metric in metrics:
        value = pl.col(metric.column).cast(pl.Float64).fill_null(math.nan)
        groups = frame.group_by(parameters or pl.lit(0), maintain_order=True).agg(value)
        alone = metric.column.startswith("goodput of ")  # of a flow that not every point has
        of = [stats.mean(values.to_numpy(), bounds=(0.0, metric.most)) for values in groups[metric.column]]
        made = made.with_columns(
            pl.Series(metric.label, ["–" if alone and not e.n else e.brief(metric.scale, 4) for e in of])
        )
    numbers = {metric.label for metric in metrics}
    columns = ["|" * (c in numbers) + c for c in made.columns]
    return columns, [[str(cell) for cell in row] for row in made.rows()], lacking


def charts(
    study: Study, frame: pl.DataFrame, metrics: Sequence[Metric]
) -> list[tuple[str, str, str, Chart, pl.DataFrame | None]]:
    """Name, title, caption, chart and data of every figure of the page."""
    n = len(study.seeds)
    each = "One run at each point" if n == 1 else f"Mean of {n} runs and 95 % interval (Student's t) at each point"
    aside = "; lines stand a little aside of each other."
    single = each + (aside if len(study.parameters) > 1 else ".")
    each += aside
    whole = [metric for metric in metrics if not metric.column.startswith("goodput of ")]
    made = [(name, title, single, chart, data) for name, title, chart, data in figures(frame, study.parameters, whole)]
    flows = flows_of(study)
    if flows[FLOW].n_unique() > 1:
        of = figures(flows, [*study.parameters, FLOW], [OF_FLOWS, SHARE])
        made += [(f"flows-{name}", title, each, chart, data) for name, title, chart, data in of]
    further = study.plot.all()
    told = {name: (title, text.format(n=n)) for name, (title, text) in OF_SWEEPS.items() if name in further}
    return [*made, *((name, *words, further[name], None) for name, words in told.items())]
