"""Figures that several rooms draw: of a run, of a study, of laws beside each other. Each takes figures by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Ellipse

from cclab.analysis.plots import DASHED, Chart, covered, look, on_top, seen, styled

if TYPE_CHECKING:
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike, NDArray

_FEWEST = 5  # runs with an ellipse: of fewer it would be many times as large as what they span
_MARKS = "osD^v"
_MOST_POINTS = 400  # of a distribution's line
_BIN = 1e-3  # width of a distribution's bins, relative
_LEAST = 1e-12  # what is less is as good as 0


class Distribution:
    """How values that are not negative are distributed, in memory that does not grow with their number.

    They are counted in bins 0.1 % wide, each of which knows the mean of its own: a quantile is off by less than 0.1 %,
    and exact where a bin holds one value.

    Args:
        values: The first of them; what is not finite is left out.
    """

    def __init__(self, values: ArrayLike = ()) -> None:
        self._bins: NDArray[Any] = np.zeros(0)
        self._counts: NDArray[Any] = np.zeros(0)
        self._sums: NDArray[Any] = np.zeros(0)
        self.add(values)

    def add(self, values: ArrayLike) -> None:
        """Count more of them."""
        given = np.asarray(values, float)
        given = given[np.isfinite(given)]
        own = np.floor(np.log(np.maximum(given, _LEAST)) / np.log1p(_BIN))
        self._bins, of = np.unique(np.concatenate([self._bins, own]), return_inverse=True)
        self._counts = np.bincount(of, np.concatenate([self._counts, np.ones(len(given))]))
        self._sums = np.bincount(of, np.concatenate([self._sums, given]))

    def line(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Values in order, and the share of all that is at most each."""
        return self._sums / self._counts, np.cumsum(self._counts) / self._counts.sum()

    def quantiles(self, shares: ArrayLike) -> NDArray[Any]:
        """As `numpy.quantile` has them of the values, NaN if there are none."""
        if not len(self._bins):
            return np.full(np.shape(shares), np.nan)
        values, upto = self._sums / self._counts, np.cumsum(self._counts)
        place = np.asarray(shares, float) * (upto[-1] - 1)
        below, above = (values[np.searchsorted(upto, end(place), "right")] for end in (np.floor, np.ceil))
        return np.asarray(below + (above - below) * (place % 1))


def _distribution(given: ArrayLike | Distribution) -> Distribution:
    return given if isinstance(given, Distribution) else Distribution(given)


def trade(
    points: Mapping[str, tuple[ArrayLike, ArrayLike]],
    x: str,
    y: str,
    *,
    ellipses: bool = True,
    title: str | None = None,
) -> Chart:
    """What is got against what it costs, a point for each run, and the ellipse that a further one is in with 95 %.

    As Pantheon's (Yan et al., ATC 2018), whose ellipse holds a standard deviation. Five runs or more have an ellipse,
    if they do not lie on a line.

    Args:
        points: By name, what it costs and what is got.
        x: Label of what it costs.
        y: Label of what is got.
        ellipses: Whether the points of a name are runs of one thing.
        title: What the names are values of.
    """
    with styled():
        chart = Chart(height_in=4.0)
        axes = chart.add_subplot()
        for i, (name, given) in enumerate(points.items()):
            costs, gains = (np.asarray(part, float) for part in given)
            known = np.isfinite(costs) & np.isfinite(gains)
            costs, gains = costs[known], gains[known]
            colour = look(i)["color"]
            axes.scatter(costs, gains, s=14, color=colour, marker=_MARKS[i // 7 % len(_MARKS)], label=name, zorder=3)
            if ellipses and (found := ellipse(costs, gains)) is not None:
                middle, width, height, angle = found
                line: Any = {"fill": False, "color": colour, "linewidth": 0.8}
                drawn = axes.add_patch(Ellipse(middle, width, height, angle=angle, **line))
                chart.name(name, drawn)
        axes.margins(x=0.08, y=0.15)
        _from_zero(axes)
        axes.set_ylim(bottom=max(axes.get_ylim()[0], 0.0))
        axes.set_xlabel(f"{x}; less is better")
        axes.set_ylabel(y)
        chart.legend_below(title=title)
    return chart


def ellipse(x: ArrayLike, y: ArrayLike) -> tuple[tuple[float, float], float, float, float] | None:
    """Middle, width, height and angle in degrees of what holds a further run with 95 %, if these are normal.

    Hotelling's T² with two variables, whose quantile is closed. `None` of fewer than five, and where one does not vary.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    n = len(x)
    if n < _FEWEST or not np.ptp(x) > 0 or not np.ptp(y) > 0:
        return None
    t2 = (n - 1) * (1 + 1 / n) * (0.05 ** (-2 / (n - 2)) - 1)
    values, vectors = np.linalg.eigh(np.cov(x, y))
    width, height = 2 * np.sqrt(t2 * np.maximum(values, 0.0))
    angle = float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
    return (float(x.mean()), float(y.mean())), float(width), float(height), angle


def cdf(samples: Mapping[str, ArrayLike | Distribution], x: str, title: str | None = None) -> Chart:
    """Cumulative distributions, as flent draws them: the share of samples that are at most x.

    One that lies on another is dashed, and the legend says so.

    Args:
        samples: By name.
        x: What they are, with the unit.
        title: What the names are values of.
    """
    with styled():
        chart = Chart(height_in=3.6)
        axes = chart.add_subplot()
        lines: dict[str, Line2D] = {}
        for i, (name, given) in enumerate(samples.items()):
            values, shares = _distribution(given).line()
            if len(values):
                if len(values) > _MOST_POINTS:
                    kept = np.unique(np.searchsorted(shares, np.linspace(shares[0], 1.0, _MOST_POINTS)))
                    values, shares = values[kept], shares[kept]
                x_y = ([values[0], *values], [0.0, *shares])
                (lines[name],) = axes.step(*x_y, where="post", label=name, **look(i))
        axes.set_ylim(0, 1)
        axes.set_xlabel(x)
        axes.set_ylabel("Share of samples at most this")
        # how far apart they are in x
        covers = covered({name: seen(axes, np.column_stack(line.get_data()))[:, ::-1] for name, line in lines.items()})
        for name, line in lines.items():
            if name in covers:
                line.set_linestyle(DASHED)
            elif len(samples) > 1:
                line.set_linewidth(1.9)  # seen below the dashes of another
        chart.legend_below(title="\n".join(filter(None, (title, on_top(covers)))) or None)
    return chart


def boxes(samples: Mapping[str, ArrayLike | Distribution], x: str, title: str | None = None) -> Chart:
    """Box plots, a row each: median, the middle half, and whiskers from the 5th to the 95th percentile.

    Args:
        samples: By name.
        x: What they are, with the unit.
        title: What the names are values of.
    """
    with styled():
        chart = Chart(height_in=1.2 + 0.36 * max(len(samples), 2))
        axes = chart.add_subplot()
        for i, (name, given) in enumerate(samples.items()):
            ends = _distribution(given).quantiles([0.05, 0.25, 0.5, 0.75, 0.95])
            if np.isnan(ends).any():
                continue
            colour = look(0)["color"]  # the row has the name
            axes.hlines([i, i], ends[[0, 3]], ends[[1, 4]], color=colour, linewidth=1)
            axes.barh(i, ends[3] - ends[1], 0.5, ends[1], facecolor=colour, alpha=0.3)
            (median,) = axes.plot(ends[2], i, "|", color=colour, markersize=13, markeredgewidth=2)
            chart.name(name, median)
        axes.set_yticks(range(len(samples)), list(samples))
        axes.set_ylim(len(samples) - 0.5, -0.5)
        _from_zero(axes)
        axes.grid(axis="y", visible=False)
        axes.set_ylabel(title or "")
        axes.set_xlabel(f"{x}: median, middle half,\n5th to 95th percentile")
    return chart


def heat(chart: Chart, axes: Any, values: NDArray[Any], rows: Sequence[str], columns: Sequence[str],
         label: str, least: float, most: float) -> None:  # fmt: skip
    """A matrix of figures as colours, each with its number; what there is not stays white.

    Args:
        chart: Drawn into.
        axes: Of it.
        values: By row and column; NaN is none.
        rows: Names.
        columns: Names.
        label: What the figures are, with the unit.
        least: The figure of the lightest colour.
        most: The figure of the darkest.
    """
    mesh = axes.pcolormesh(values, cmap="cividis_r", vmin=least, vmax=most, edgecolors="white", linewidth=1)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            dark = (value - least) / ((most - least) or 1.0) > 0.55
            axes.text(column + 0.5, row + 0.5, f"{value:.3g}", ha="center", va="center",
                      color="white" if dark else "black")  # fmt: skip
    slanted: Any = {"rotation": 30, "ha": "right"} if sum(map(len, columns)) > 40 else {}
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, **slanted)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    axes.set_ylim(len(rows), 0)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_title(label, fontsize="medium")
    chart.colorbar(mesh, ax=axes, shrink=0.85)


def dots(times: Mapping[str, ArrayLike], x: str, title: str | None = None) -> Chart:
    """A point for each run, a row for each name; runs without an end (infinite) are told beside the row.

    Args:
        times: By name.
        x: What they are, with the unit.
        title: What the names are values of.
    """
    with styled():
        chart = Chart(height_in=1.2 + 0.36 * max(len(times), 2))
        axes = chart.add_subplot()
        names = []
        for i, (name, given) in enumerate(times.items()):
            values = np.asarray(given, float)
            ended = values[np.isfinite(values)]
            colour = look(0)["color"]  # the row has the name
            axes.plot(ended, np.full(len(ended), i), "o", color=colour, markersize=4, alpha=0.6, clip_on=False)
            if 2 * len(ended) > len(values):
                middle = np.median(np.where(np.isfinite(values), values, np.inf))
                (bar,) = axes.plot(middle, i, "|", color=colour, markersize=15, markeredgewidth=2)
                chart.name(name, bar)
            names.append(name if len(ended) == len(values) else f"{name} ({len(ended)} of {len(values)} did)")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        if any(np.isfinite(np.asarray(given, float)).any() for given in times.values()):
            _from_zero(axes)
        else:
            axes.set_xticks([])
            axes.text(0.5, 0.5, "no run did", transform=axes.transAxes, ha="center", color="#555555")
        axes.set_ylabel(title or "")
        axes.set_xlabel(f"{x},\nbar: median, where most did")
    return chart


def _from_zero(axes: Any) -> None:
    """The axis begins at 0, and what is furthest from it is not at the edge."""
    axes.autoscale_view()
    axes.set_xlim(0, 1.04 * axes.get_xlim()[1])
