"""Figures over what a study varies: means with intervals, a line for each flow or setting, panels for two factors."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cclab.analysis import figures as drawing
from cclab.analysis import metrics, stats
from cclab.analysis.metrics import connections as connections_of
from cclab.analysis.metrics import total_goodput_bps, were_together, without_tunnels
from cclab.analysis.plots import WIDTH_IN, Chart, aside, look, styled
from cclab.console import number
from cclab.errors import ResultError, UnknownNameError

if TYPE_CHECKING:
    from cclab.sweep import Study

_MOST_LINES = 7
_MOST_FIGURES = 24
_MOST_FLOWS = 4  # that have a column of their own
_MOST_PANELS = 16
_MOST_ROWS = 28  # names in one figure
FLOW = "flow"  # the column of a frame with a row for each flow, or law, of a run
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
    """A figure of a run: column, name with unit, the factor that gives it that unit, the most and least it can be."""

    column: str
    label: str
    scale: float = 1.0
    most: float = math.inf
    least: float = 0.0


METRICS = (
    Metric("goodput_bps", "Goodput of all connections (Mbit/s)", 1e-6),
    Metric("utilisation", "Utilisation (%)", 100.0, 1.0),
    Metric("jain", "Jain's index", 1.0, 1.0),
    Metric("queue_s", "Mean time in the queue (ms)", 1e3),
    Metric("loss", "Packets dropped or lost (%)", 100.0, 1.0),
)
COMPLETION = Metric("fct_s", "Completion time (s)")
OF_FLOWS = Metric("goodput_bps", "Goodput of each flow (Mbit/s)", 1e-6)
SHARE = Metric("share", "Share of the goodput (%)", 100.0, 1.0)
HARM = Metric("harm", "Harm to the first flow", 1.0, 1.0, -math.inf)
NAMES = {
    "goodput": METRICS[0], "utilisation": METRICS[1], "jain": METRICS[2], "queue": METRICS[3], "loss": METRICS[4],
    "completion": COMPLETION, "flows": OF_FLOWS, "share": SHARE, "harm": HARM,
}  # fmt: skip
"""What can be asked for by name."""


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
    tcp = connections.filter(pl.col("cc") != "udp").group_by(at).len()["len"].max()
    unfair = tcp in (None, 1) or frame["jain"].null_count() == frame.height
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


def flows_of(study: Study) -> pl.DataFrame:
    """A row for each flow of each run, or for each law where flows are many: `flow`, mean `goodput_bps`, `share`."""
    at = [*study.parameters, *_SAME_FOR_ALL_RUNS]
    rows = of_study(study).filter(pl.col("goodput_bps").is_finite())
    most = rows.group_by(at).len()["len"].max()
    name = pl.col("label" if most is None or most <= _MOST_FLOWS else "cc")  # type: ignore[operator]
    x = pl.col("goodput_bps")
    total = rows.group_by(at).agg(_total=x.sum())
    made = rows.group_by(*at, name.alias(FLOW), maintain_order=True).agg(x.mean(), _sum=x.sum())
    return made.join(total, on=at).with_columns(share=pl.col("_sum") / pl.col("_total")).drop("_sum", "_total")


def first_of(study: Study) -> pl.DataFrame:
    """A row for each run: `goodput_bps` of its first flow, and the `share` of it."""
    at, x = [*study.parameters, *_SAME_FOR_ALL_RUNS], pl.col("goodput_bps")
    rows = of_study(study).filter(x.is_finite())
    return rows.group_by(at, maintain_order=True).agg(x.first(), share=x.first() / x.sum())


def harm_of(study: Study) -> pl.DataFrame:
    """A row for each run in which the first flow is not alone, with the `harm` that the others do it.

    As `metrics.harm` of goodput. Alone is the run of the same seed that differs in one factor only, and in which no
    other flow is measured. Who gets nothing alone has nothing to lose, and no row.

    Raises:
        ResultError: there is none, or more than one.
    """
    at, x = [*study.parameters, *_SAME_FOR_ALL_RUNS], pl.col("goodput_bps")
    first = of_study(study).group_by(at, maintain_order=True).agg(pl.col("label").first(), x.first(), _n=pl.len())
    alone, beside = (first.filter(which).drop("_n") for which in (pl.col("_n") == 1, pl.col("_n") > 1))
    alone = alone.filter(x.is_finite() & (x > 0))
    for factor in study.parameters:
        same = [name for name in (*at, "label") if name != factor]
        solo = beside.select(same).unique().join(alone, on=same)
        if solo.height:
            if solo.select(same).is_duplicated().any():
                who = ", ".join(map(str, solo[factor].unique(maintain_order=True)))
                raise ResultError(
                    f"{study.name}: harm needs one run in which the first flow is alone, and there are several that"
                    f" differ in {factor}: {who}; keep one of them"
                )
            made = beside.join(solo.select(*same, _solo=x), on=same)
            return made.select(*at, harm=(pl.col("_solo") - x) / pl.col("_solo"))
    raise ResultError(
        f"{study.name}: harm needs runs in which the first flow is alone and gets something, and there are none with"
        ' the same seed; vary who is beside it, e.g. beside = {nobody = {flows = [{cc = "reno"}]}, ...}'
    )


def figures(
    frame: pl.DataFrame, parameters: list[str], metrics: Sequence[Metric]
) -> list[tuple[str, str, Chart, pl.DataFrame]]:
    """Name, title, chart and data of each figure: a metric over one parameter, a line for each value of the others."""
    varied = [p for p in parameters if frame[p].n_unique() > 1]
    if not set(varied) - {FLOW}:
        return []
    along = _along(frame, [p for p in varied if p != FLOW])
    others = [p for p in varied if p != along]
    # What would be too many lines becomes figures, by the parameters with the fewest values.
    apart: list[str] = []
    while others and others != [FLOW] and math.prod(frame[p].n_unique() for p in others) > _MOST_LINES:
        apart.append(min((p for p in others if p != FLOW), key=lambda p: frame[p].n_unique()))
        others.remove(apart[-1])
    groups = [((), frame)] if not apart else list(frame.group_by(apart, maintain_order=True))
    made: list[tuple[str, str, Chart, pl.DataFrame]] = []
    for (place, (values, part)), metric in itertools.product(enumerate(groups), metrics):
        where = ", ".join(f"{p} = {v}" for p, v in zip(apart, values, strict=True))
        data = stats.summarise(part, metric.column, [along, *others]).filter(pl.col("n") > 0)
        if data.height and len(made) < _MOST_FIGURES:
            name = re.sub(r"[^a-z0-9]+", "-", f"{metric.column}-{place}" if apart else metric.column)
            title = metric.label + (f", {where}" if where else "")
            made.append((name, title, over(data, along, others, metric), data))
    return made


def _along(frame: pl.DataFrame, varied: Sequence[str]) -> str:
    """What to draw over: what is a quantity before what is a name, and what has most values."""
    return max(
        varied, key=lambda p: (axis(frame[p].unique(maintain_order=True).to_list()) is not None, frame[p].n_unique())
    )


def axis(values: list[Any]) -> tuple[list[float], str] | None:
    """Quantities as numbers in the unit of the first; `None` if they are none, or not of one kind."""
    found = [re.fullmatch(r"\s*([-+0-9.eE]+)\s*([A-Za-zµ/%]*)\s*", str(value)) for value in values]
    if not values or any(isinstance(value, bool) for value in values) or not all(found):
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


def over(
    data: pl.DataFrame, along: str, lines: Sequence[str], metric: Metric, rows: str | None = None,
    columns: str | None = None,
) -> Chart:  # fmt: skip
    """Means with intervals over one factor, in panels for two others.

    Args:
        data: As `stats.summarise` gives it, for each value of all that is named here.
        along: The factor of the axis; quantities of one kind are joined by lines, names are not.
        lines: Columns each of whose combinations is a line.
        metric: What it is.
        rows: A factor whose values are rows of panels.
        columns: One whose values are columns of panels.
    """
    order = data[along].unique(maintain_order=True).to_list()
    scale = axis(order)
    numbers, unit = scale or ([float(i) for i in range(len(order))], "")
    x_of = dict(zip(order, numbers, strict=True))
    down, across = ([None] if p is None else data[p].unique(maintain_order=True).to_list() for p in (rows, columns))
    named = list(data.select(lines).unique(maintain_order=True).rows()) if lines else [()]
    with styled():
        single = len(down) == len(across) == 1
        chart = Chart(height_in=3.6) if single else Chart(max(6.4, 0.6 + 2.1 * len(across)), 1.0 + 1.9 * len(down))
        grid = chart.subplots(len(down), len(across), sharex=True, sharey=True, squeeze=False)
        for (i, row), (j, column) in itertools.product(enumerate(down), enumerate(across)):
            axes = grid[i][j]
            here = data if rows is None else data.filter(pl.col(rows) == row)
            here = here if columns is None else here.filter(pl.col(columns) == column)
            for k, values in enumerate(named):
                part = here.filter(pl.col(p) == v for p, v in zip(lines, values, strict=True)) if lines else here
                shift = 0.0 if scale else 0.5 * (k - (len(named) - 1) / 2) / len(named)
                _line(axes, part, [x_of[v] + shift for v in part[along]], metric, k, joined=scale is not None,
                      name=", ".join(map(str, values)) or metric.label, of=len(named))  # fmt: skip
            if scale is None and len(named) == 1:
                for at, value in here.select(along, pl.col("mean") * metric.scale).rows():
                    axes.annotate(number(value, 3), (x_of[at], value), (4, 4), textcoords="offset points")
            told = [f"{p} = {v}" for p, v in ((rows, row), (columns, column)) if p is not None]
            axes.set_title("\n".join(told), fontsize="medium", color="#555555")
            if i == len(down) - 1:
                axes.set_xlabel(along + (f" ({unit})" if unit else ""))
            if j == 0:
                axes.set_ylabel(metric.label, fontsize=9 if single else 8)
        if scale is None:
            slanted: Any = {"rotation": 30, "ha": "right"} if sum(len(str(v)) for v in order) > 60 / len(across) else {}
            axes.set_xticks(range(len(order)), [str(value) for value in order], **slanted)
            axes.set_xlim(-0.5, len(order) - 0.5)
        elif min(numbers) > 0 and max(numbers) > 20 * min(numbers):
            axes.set_xscale("log")
            axes.set_xticks(_apart(numbers), minor=False)
            axes.set_xticks([], minor=True)
            axes.xaxis.set_major_formatter("{x:g}")
        low, high = axes.get_ylim()
        high = max(high, 1.05 * max(one.dataLim.y1 for one in grid.flat))
        axes.set_ylim(0 if metric.least == 0 else min(low, 0), min(high, 1.03 * metric.most * metric.scale))
        if lines:
            chart.legend_below(title=", ".join(lines))
    return chart


def _apart(numbers: Collection[float]) -> list[float]:
    """What was run, as ticks of a logarithmic axis, without those whose labels would touch the one before."""
    step = (max(numbers) / min(numbers)) ** 0.09
    kept: list[float] = []
    for x in sorted(numbers):
        if not kept or x >= step * kept[-1]:
            kept.append(x)
    return kept


def _line(
    axes: Any, part: pl.DataFrame, x: list[float], metric: Metric, k: int, *, joined: bool, name: str, of: int
) -> None:
    middle = part["mean"].to_numpy() * metric.scale
    low, high = (part[end].fill_nan(None).fill_null(part["mean"]).to_numpy() for end in ("low", "high"))
    bars = np.abs(np.clip([low, high], metric.least, metric.most) * metric.scale - middle)
    sort = sorted(range(len(x)), key=x.__getitem__)
    style = look(k) if joined else look(k) | {"linestyle": "none"}
    drawn = axes.errorbar([x[i] for i in sort], middle[sort], bars[:, sort], capsize=2, elinewidth=0.8, marker="o",
                  markersize=3, label=name, **style)  # fmt: skip
    if joined:
        aside(drawn, k, of)


class TooManyError(ResultError):
    """A figure would have more panels or names than a page holds."""


def _told_apart(columns: Sequence[str], keys: Collection[tuple[Any, ...]]) -> tuple[list[str], str | None]:
    """What combinations are called, and of which columns these are values, if not of the law alone.

    A column that always has the value of one before it is left out.
    """
    kept = [
        i for i in range(len(columns)) if not any(all(key[i] == key[earlier] for key in keys) for earlier in range(i))
    ]
    title = ", ".join(columns[i] for i in kept)
    return [", ".join(str(key[i]) for i in kept) for key in keys], None if title == "cc" else title


class StudyPlots:
    """The figures of a study that has run. Each gives a `Chart`; nothing is run again.

    Distributions and what is over time want each run's samples: `keep = "samples"`.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    @cached_property
    def _per_run(self) -> tuple[pl.DataFrame, list[Metric], str]:
        return per_run(self._study)

    @cached_property
    def _flows(self) -> pl.DataFrame:
        return flows_of(self._study)

    @cached_property
    def _varied(self) -> list[str]:
        frame = self._per_run[0]
        return [p for p in self._study.parameters if frame[p].n_unique() > 1]

    def _frame(self, metric: str) -> tuple[pl.DataFrame, Metric, list[str]]:
        """The rows that a metric is in, and what tells lines apart beside the parameters."""
        if metric not in NAMES:
            raise UnknownNameError(f'unknown metric "{metric}"; there are: {", ".join(NAMES)}')
        found = NAMES[metric]
        if metric in ("flows", "share"):
            return self._flows, found, [FLOW]
        if metric == "harm":
            return harm_of(self._study), found, []
        if found.column not in self._per_run[0].columns:
            raise ResultError(f"{metric}: no transfer has ended, so there is no completion time")
        return self._per_run[0], found, []

    def _factor(self, *names: str | None) -> None:
        for name in names:
            if name is not None and name not in self._study.parameters:
                raise UnknownNameError(
                    f'nothing called "{name}" is varied; there are: {", ".join(self._study.parameters)}'
                )

    def over(
        self, metric: str = "flows", along: str | None = None, *, rows: str | None = None, columns: str | None = None
    ) -> Chart:
        """A metric over one factor, with 95 % intervals; a line for each flow and each value of the other factors.

        Args:
            metric: `"goodput"`, `"flows"` (goodput of each), `"share"`, `"utilisation"`, `"jain"`, `"queue"`, `"loss"`,
                `"completion"` or `"harm"` (to the first flow, as `heatmap` has it).
            along: The factor of the axis; `None` takes the quantity with most values.
            rows: A factor whose values are rows of panels.
            columns: One whose values are columns of panels.

        Raises:
            ResultError: nothing is varied, or there would be more panels than a page holds.
            UnknownNameError: there is no such metric or factor.
        """
        self._factor(along, rows, columns)
        frame, found, lines = self._frame(metric)
        left = [p for p in self._varied if p not in (rows, columns, along)]
        if along is None and not left:
            raise ResultError(f"{self._study.name}: nothing is varied that a figure could be over")
        along = along or _along(frame, left)
        lines = [*lines, *(p for p in left if p != along)]
        panels = math.prod(frame[p].n_unique() for p in (rows, columns) if p is not None)
        if panels > _MOST_PANELS:
            raise TooManyError(f"{panels} panels; at most {_MOST_PANELS}: choose factors with fewer values")
        by = [p for p in (along, *lines, rows, columns) if p is not None]
        data = stats.summarise(frame, found.column, by, bounds=(found.least, found.most)).filter(pl.col("n") > 0)
        return over(data, along, lines, found, rows, columns)

    def facets(self, rows: str | None = None, columns: str | None = None, metric: str = "flows") -> Chart:
        """Small panels over two factors, `over` in each; `None` takes those with the fewest values."""
        few = sorted(
            (p for p in self._varied if p not in (rows, columns)), key=lambda p: self._per_run[0][p].n_unique()
        )
        rows = rows or (few.pop(0) if few else None)
        columns = columns or (few.pop(0) if len(few) > 1 else None)
        return self.over(metric, rows=rows, columns=columns)

    def share(self, along: str | None = None) -> Chart:
        """Share of the goodput of each flow (or law, where flows are many), e.g. against the depth of the buffer.

        Args:
            along: The factor; `None` takes the limit of a queue if one is varied.
        """
        depth = next((p for p in self._varied if p.endswith("queue.limit")), None)
        return self.over("share", along or depth)

    def trade(self, by: Sequence[str] | None = None) -> Chart:
        """Goodput of a flow against the 95th percentile of its one-way delay, a point for each run.

        Five runs or more of one law at one point have an ellipse that a further one is in with 95 %. A flow
        that delivered nothing has no delay: that of its run is the others', and below is told how many there are.

        Args:
            by: What has a colour of its own; `None` is every law at every point.
        """
        at = [*self._study.parameters, *_SAME_FOR_ALL_RUNS]
        flows = without_tunnels(self._study.table("flows"), self._study.table("links")).filter(pl.col("cc") != "udp")
        flows = flows.with_columns(pl.col("owd_p95_s").fill_nan(None))
        runs = flows.group_by(*at, "cc", maintain_order=True).agg(pl.col("goodput_bps", "owd_p95_s").mean())
        columns = self._groups(by)
        groups = list(runs.group_by(columns, maintain_order=True))
        names, title = _told_apart(columns, [key for key, _ in groups])
        points = {
            name: (of["owd_p95_s"].to_numpy() * 1e3, of["goodput_bps"].to_numpy() / 1e6)
            for name, (_, of) in zip(names, groups, strict=True)
        }
        one_point = all(of.select(self._study.parameters).n_unique() == 1 for _, of in groups) if self._varied else True
        labels = "One-way delay, 95th percentile (ms)", "Goodput of a flow (Mbit/s)"
        chart = drawing.trade(points, *labels, ellipses=one_point, title=title)
        if none := flows["owd_p95_s"].null_count():
            told = f"{none} of {flows.height} flows delivered nothing: they have no delay"
            chart.supxlabel(told, fontsize="medium", color="#555555", x=0.98, ha="right")
        return chart

    def _groups(self, by: Sequence[str] | None) -> list[str]:
        if by is not None:
            self._factor(*(name for name in by if name != "cc"))
            return list(by)
        found = ["cc", *self._varied]
        frame = self._per_run[0]
        while len(found) > 1 and math.prod(frame[p].n_unique() for p in found[1:]) > _MOST_LINES:
            found.remove(max(found[1:], key=lambda p: frame[p].n_unique()))
        return found

    def heatmap(self, x: str | None = None, y: str | None = None, metric: str = "share") -> Chart:
        """A metric for each pair of two factors, e.g. laws of the first flow and of the second (Prudentia).

        Of `"share"` and `"flows"` it is the first flow's. Figures are means over runs. `"harm"` is the share of its
        goodput that the first flow loses to the others (Ware et al., HotNets 2019); it wants runs in which it is alone.

        Args:
            x: Factor of the columns; `None` takes a law if one is varied.
            y: Factor of the rows.
            metric: As of `over`.
        """
        self._factor(x, y)
        laws_first = sorted(self._varied, key=lambda p: not p.endswith(".cc"))
        free = [p for p in laws_first if p not in (x, y)]
        if len(free) < (x is None) + (y is None):
            raise ResultError(f"{self._study.name}: a heat map needs two factors, and only {len(self._varied)} vary")
        y = y or free.pop(0)
        x = x or free.pop(0)
        frame, found, _ = self._frame(metric)
        if FLOW in frame.columns:
            frame = first_of(self._study)
        free = [p for p in self._varied if p not in (x, y)]
        panels = list(frame.group_by(free, maintain_order=True)) if free else [((), frame)]
        if len(panels) > _MOST_PANELS:
            raise TooManyError(f"{len(panels)} maps, one for each value of {', '.join(free)}; at most {_MOST_PANELS}")
        down, across = (frame[p].unique(maintain_order=True).to_list() for p in (y, x))
        maps = []
        for _, part in panels:
            means = {(r, c): v for r, c, v in part.group_by(y, x).agg(pl.col(found.column).mean()).rows()}
            of = [[means.get((r, c)) for c in across] for r in down]
            maps.append(np.array(of, float) * found.scale)
        known = np.concatenate([m[np.isfinite(m)] for m in maps]) if maps else np.zeros(1)
        most = found.most * found.scale if math.isfinite(found.most) else float(known.max(initial=0.0))
        wide = min(len(panels), 3)
        tall = math.ceil(len(panels) / wide)
        label = found.label.replace("Share", "First flow's share").replace("each flow", "the first flow")
        with styled():
            chart = Chart(max(WIDTH_IN, 3.4 * wide), (1.3 + 0.4 * len(down)) * tall + 0.4)
            grid = chart.subplots(tall, wide, squeeze=False)
            for axes in grid.flat[len(maps) :]:
                axes.set_visible(False)
            for axes, (key, _), values in zip(grid.flat, panels, maps, strict=False):
                where = ", ".join(f"{p} = {v}" for p, v in zip(free, key, strict=True))
                title = label + (f"\n{where}" if where else "")
                drawing.heat(chart, axes, values, list(map(str, down)), list(map(str, across)), title, 0.0, most)
                axes.set_xlabel(x)
                axes.set_ylabel(y)
        return chart

    # Of samples.

    def _delays(self, by: Sequence[str] | None) -> tuple[dict[str, drawing.Distribution], str | None]:
        """RTT samples in ms by name, and what the names are values of."""
        groups = self._groups(by)
        many = self._study.table("flows").filter(pl.col("cc") != "udp").select(groups).n_unique()
        if many > _MOST_ROWS:
            raise TooManyError(f"{many} distributions; at most {_MOST_ROWS}: name what to tell apart (by)")
        found: dict[tuple[str, ...], drawing.Distribution] = {}
        for at, result in self._study.results():
            for law, of in metrics.rtts_s(result).items():
                key = tuple(str(law if p == "cc" else at[p]) for p in groups)
                found.setdefault(key, drawing.Distribution()).add(of * 1e3)
        names, title = _told_apart(groups, found)
        return dict(zip(names, found.values(), strict=True)), title

    def delay_cdf(self, by: Sequence[str] | None = None) -> Chart:
        """Cumulative distribution of all RTT samples after the warm-up, of every law at every point; milliseconds.

        Args:
            by: What has a line of its own: `"cc"` and what is varied.
        """
        samples, title = self._delays(by)
        return drawing.cdf(samples, "Round-trip time (ms)", title)

    def delay_box(self, by: Sequence[str] | None = None) -> Chart:
        """Box plots of all RTT samples after the warm-up, of every law at every point; milliseconds."""
        samples, title = self._delays(by)
        return drawing.boxes(samples, "Round-trip time (ms)", title)

    def convergence(self) -> Chart:
        """How long flows took from the last one's start until all were near an equal share, a point for each run.

        As `metrics.convergence_time_s`; runs in which it did not happen are counted.
        """
        many = self._per_run[0].select(self._varied).n_unique() if self._varied else 1
        if many > _MOST_ROWS:
            raise TooManyError(f"{many} rows, one for each point; at most {_MOST_ROWS}")
        found: dict[str, list[float]] = {}
        for at, result in self._study.results():
            name = ", ".join(str(at[p]) for p in self._varied) or self._study.name
            found.setdefault(name, []).append(metrics.convergence_time_s(result))
        return drawing.dots(found, "Time to an equal share ± 20 % (s)", ", ".join(self._varied))

    def throughput(self, point: int = 0, replication: int = 0) -> Chart:
        """Goodput over time of one run, capacity behind it."""
        return self._study.result(point, replication).plot.throughput()

    def all(self) -> dict[str, Chart]:
        """Every figure that this study has what it takes for, and that a page holds, by name."""
        wanted: dict[str, Callable[[], Chart]] = {"trade": self.trade}
        if self._varied and self._flows.height:
            wanted["over"] = self.over
        if self._flows[FLOW].n_unique() > 1 and self._varied:
            wanted["share"] = self.share
        if sum(p.endswith(".cc") for p in self._varied) > 1:
            wanted["heatmap"] = self.heatmap
        if 2 < len(self._varied) < 4:
            wanted["facets"] = self.facets
        if self._study.keeps_samples:
            wanted |= {"delay-cdf": self.delay_cdf, "delay-box": self.delay_box}
            if self._flows.group_by([*self._study.parameters, "seed"]).len()["len"].max() != 1:
                wanted["convergence"] = self.convergence
        charts = {}
        for name, draw in wanted.items():
            with contextlib.suppress(TooManyError):
                charts[name] = draw()
        return charts
