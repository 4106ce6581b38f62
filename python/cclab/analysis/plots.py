"""Figures: axes with units, one colour per flow that the colour-blind can tell apart, vector output.

matplotlib's objects are used without pyplot: no window system, nothing left behind.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.category import StrCategoryLocator
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, StepPatch
from matplotlib.ticker import FixedLocator, LogFormatter, LogFormatterMathtext
from matplotlib.transforms import ScaledTranslation

from cclab import folders
from cclab.errors import ResultError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cclab.results import Result
    from cclab.traces import Trace

WIDTH_IN = 5.0
"""Of a figure with one panel: on a telephone, 370 px wide, its text of 9 points has 9 px."""
# Okabe & Ito, Color Universal Design (2008), without the yellow that vanishes on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHED: Any = (0, (4, 2))
DOTTED: Any = (0, (1, 1))
_DASHES = ("-", (0, (6, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))
STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "text.parse_math": False,  # names of flows are text, whatever is in them
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "svg.fonttype": "path",  # the same picture on a machine without the font
    "svg.hashsalt": "cclab",  # the same bytes for the same picture
    "pdf.fonttype": 42,
    "path.simplify_threshold": 0.2,
}
_MOST_POINTS = 4000  # of one line; a minimum and a maximum stand for each stretch beyond that
# Why packets were lost, in groups, and the mark of each: told apart by shape, too.
_CAUSES: dict[str, tuple[str, ...]] = {
    "contention (MAC gave up)": ("retries",),
    "full queue": ("queue", "tunnel"),
    "the queue's discipline": ("discipline",),
    "no route or next hop gone": ("out of range", "no route", "no answer", "waited", "expired"),
    "random": ("random",),
}
_MARKS = ("x", "v", "D", "s", "o")  # by shape alone: colours are flows
# Frames: colour and height of the bar.
_FRAMES: dict[str, tuple[str, float]] = {
    "RTS": ("#56B4E9", 0.4),
    "CTS": ("#009E73", 0.4),
    "DATA": ("#0072B2", 0.75),
    "ACK": ("#E69F00", 0.4),
    "broadcast": ("#CC79A7", 0.75),
}
# What became of them, if nothing good, and its mark.
_MISSED: dict[str, tuple[tuple[str, ...], str]] = {
    "collided at its receiver": (("collided",), "x"),
    "its receiver was sending": (("deaf",), "D"),
    "too weak, or lost at random": (("too weak", "lost"), "o"),
    "received by nobody": (("missed",), "s"),
}
_MOST_FRAMES = 1000
_MOST_NAMED = 20  # stations; of more only those on a route
_FEW_FRAMES = 50  # in a window that is not given
_MOST_LINES = 7  # drawn and named one by one; beyond that the flows of one law are a mean and a band
_GRID = 400  # points of these
_NEAR = 0.015  # of the axis: as much as a line is thick
_ASIDE = 10.0  # points, from the first of several series to the last
_MOST_TOLD = 600  # points of a series that a page can tell the value of


@contextmanager
def styled() -> Iterator[None]:
    """matplotlib's settings for our figures, within a `with` block."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # names are the user's, and such a letter is drawn as a box
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from", category=UserWarning)
        yield


class _PlainLog(LogFormatter):
    """Ticks of a logarithmic axis as plain numbers: text is text here, and a formula would be printed as written."""

    def _num_to_string(self, x: float, _low: float, _high: float) -> str:
        return f"{x:g}"


class Chart(Figure):
    """A matplotlib figure that can be saved by file name and shows itself in notebooks."""

    def __init__(self, width_in: float = WIDTH_IN, height_in: float = 3.4) -> None:
        super().__init__(figsize=(width_in, height_in), layout="constrained")
        FigureCanvasAgg(self)
        self._for_legend_in = 0.0
        self._named: dict[str, list[Artist]] = {}
        self._told: set[Artist] = set()

    def save(self, path: str | Path) -> None:
        """Write it as SVG, PDF or PNG, as the file name says; its folder is made where there is none.

        Raises:
            ResultError: another ending.
        """
        path = Path(path)
        kind = path.suffix.lower().lstrip(".")
        if kind not in ("svg", "pdf", "png"):
            raise ResultError(f"{path}: a figure is saved as .svg, .pdf or .png")
        path.parent.mkdir(parents=True, exist_ok=True)
        folders.write_bytes(path, self._render(kind))

    def legend_below(
        self, named: dict[str, Any] | None = None, title: str | None = None, key: Mapping[str, Any] | None = None
    ) -> None:
        """One legend for all axes, below them; the figure is made higher for one that takes more than a quarter of it.

        Args:
            named: What is drawn, by name; `None` takes the labels of the axes, where one that begins with _ is hidden.
            title: What the names are values of.
            key: Styles of lines that mean the same in every colour, by what they mean: they come last, in grey.
        """
        named = self._labelled() if named is None else dict(named)
        named |= {name: Line2D([], [], color="#666666", linestyle=line) for name, line in (key or {}).items()}
        self.set_figheight(self.get_figheight() - self._for_legend_in)
        self._for_legend_in = 0.0
        if named:
            made = self._fitted(named, title)
            height_in = self.get_figheight()
            self._for_legend_in = max(float(made.get_window_extent().height) / self.dpi - height_in / 4, 0.0)
            self.set_figheight(height_in + self._for_legend_in)

    def _fitted(self, named: dict[str, Any], title: str | None) -> Any:
        """A legend with as many columns as there is room for."""
        for columns in range(min(len(named), 4), 0, -1):
            made = self.legend(
                list(named.values()), list(named), loc="outside lower center", ncols=columns, title=title
            )
            if self._over(made) <= 1:
                return made
            if columns > 1:
                made.remove()
        size = float(STYLE["font.size"])
        while (over := self._over(made)) > 1 and size > 1:
            size /= max(over, 1.02)
            for text in made.get_texts():
                text.set_fontsize(size)
        return made

    def _labelled(self) -> dict[str, Any]:
        """What has a label, by it."""
        named: dict[str, Any] = {}
        for axes in self.axes:
            named |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        return named

    def _over(self, legend: Any) -> float:
        """How wide a legend is, relative to the room."""
        return float(legend.get_window_extent().width / (0.98 * self.bbox.width))

    def reference(self, lines: Mapping[str, float | Callable[[Any], Any]], axes: int = 0) -> Chart:
        """Draw formulas as dashed grey lines, and name them in the legend.

        Args:
            lines: By name: a number is a horizontal line, a function gives y for an array of x, both in the units of
                the axes.
            axes: Index of the axes, where there are several.
        """
        on = self.axes[axes]
        left, right = on.get_xlim()
        logarithmic = on.get_xscale() == "log"
        x = np.geomspace(left, right, _GRID) if logarithmic else np.linspace(left, right, _GRID)
        named: dict[str, Any] = {}
        title = None
        for old in self.legends:
            title = old.get_title().get_text() or None
            named |= {t.get_text(): h for t, h in zip(old.get_texts(), old.legend_handles, strict=True)}
        named |= {name: whole for name, whole in self._labelled().items() if name in named}  # with marks and bars
        with styled():
            for number, (name, y) in enumerate(lines.items()):
                shown = np.broadcast_to(np.asarray(y(x) if callable(y) else y, float), x.shape)
                (line,) = on.plot(x, shown, color="#666666", linestyle=_DASHES[1:][number % 3], linewidth=1)
                self.name(name, line)
                named[name] = line
            on.set_xlim(left, right)
            for old in list(self.legends):
                old.remove()
            self.legend_below(named, title)
        return self

    def name(self, name: str, *artists: Artist) -> None:
        """Say what is drawn by artists that have no label of their own, e.g. because the legend stands for them."""
        self._named.setdefault(name, []).extend(artists)
        self._told.update(artists)

    def svg(self) -> str:
        """The figure as SVG text, the same for the same data."""
        return self._render("svg").decode()

    def series(self) -> dict[str, Any]:
        """What is drawn, by name, with its points both in the coordinates of the SVG and in those of the data.

        Returns:
            `axes`: labels `x` and `y` of each; `series`: `name`, index of its `axes`, and `points`, each the place in
            the SVG (x, y), then the values (x, y) and the ends of an interval in y where it has one.
        """
        self._plain_ticks()
        with styled():
            self.draw_without_rendering()
        axes = [{"x": one.get_xlabel() or self._shared(one, "x"), "y": one.get_ylabel()} for one in self.axes]
        named = []
        for name, artists in self._series().items():
            points = [p for artist in artists for p in self._points(artist)]
            on: Any = next((a.axes for a in map(_first, artists) if a.axes is not None), None)
            named.append({"name": name, "axes": 0 if on is None else self.axes.index(on), "points": points})
        return {"axes": axes, "series": named}

    def _plain_ticks(self) -> None:
        """No tick is written as a formula."""
        for axis in (axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)):
            if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
                axis.set_major_formatter(_PlainLog())
            if isinstance(was := axis.get_minor_formatter(), LogFormatterMathtext):
                axis.set_minor_formatter(_PlainLog(labelOnlyBase=False, minor_thresholds=was.minor_thresholds))

    def _shared(self, axes: Axes, which: str) -> str:
        """The label of the axis that panels above each other share."""
        return next((one.get_xlabel() for one in reversed(self.axes) if which == "x" and one.get_xlabel()), "")

    def _series(self) -> dict[str, list[Any]]:
        """Artists and containers by the name in the legend, in the order in which they were drawn."""
        named: dict[str, list[Any]] = {name: list(artists) for name, artists in self._named.items()}
        for axes in self.axes:
            inside = {part for container in axes.containers for part in _parts(container)}
            drawn: list[Any] = [a for a in (*axes.lines, *axes.collections, *axes.patches) if a not in inside]
            for one in (*axes.containers, *drawn):
                label = str(one.get_label() or "")
                if label and not label.startswith("_"):
                    named.setdefault(label, []).append(one)
                elif isinstance(one, Line2D) and np.size(one.get_xdata()) > 2 and one not in self._told:
                    named.setdefault(axes.get_ylabel(), []).append(one)
        return named

    def _points(self, artist: Any) -> list[list[Any]]:
        axes = _first(artist).axes
        values = _values(artist)
        if axes is None or not len(values):
            return []
        values = values[np.isfinite(values[:, :2]).all(axis=1)]
        # where it is drawn, which may be aside of its value
        drawn = _first(artist).get_transform() if isinstance(artist, ErrorbarContainer) else axes.transData
        places = drawn.transform(values[:, :2])
        (left, bottom), (right, top) = axes.bbox.get_points()
        x, y = places.T
        shown = np.flatnonzero((x >= left - 1) & (x <= right + 1) & (y >= bottom - 1) & (y <= top + 1))
        if len(shown) > _MOST_TOLD:
            shown = shown[np.linspace(0, len(shown) - 1, _MOST_TOLD).astype(int)]
        points, height = 72 / self.dpi, self.bbox.height
        return [
            [round(x[i] * points, 1), round((height - y[i]) * points, 1), _called(axes.xaxis, values[i, 0]),
             _called(axes.yaxis, values[i, 1]), *(_rounded(v) for v in values[i, 2:])]
            for i in shown
        ]  # fmt: skip

    def _tag(self) -> None:
        """Ids by which a page finds what a name of the legend stands for."""
        order = {}
        for index, (name, artists) in enumerate(self._series().items()):
            order[name] = index
            for place, part in enumerate(part for artist in artists for part in _parts(artist)):
                part.set_gid(f"series-{index}-{place}")
        for legend in (*self.legends, *(a.get_legend() for a in self.axes)):
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True) if legend else ():
                if (which := order.get(text.get_text())) is not None:
                    text.set_gid(f"legend-{which}-text")
                    if isinstance(handle, Artist):
                        handle.set_gid(f"legend-{which}-handle")

    def _render(self, kind: str) -> bytes:
        out = io.BytesIO()
        self._plain_ticks()
        self._tag()
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
        with styled():
            self.savefig(out, format=kind, dpi=200, metadata=dates[kind])
        return out.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()


def _parts(artist: Any) -> list[Artist]:
    """The artists that make up an artist or a container of some."""
    if isinstance(artist, Artist):
        return [artist]
    return [part for one in artist if one is not None for part in _parts(one)]


def _first(artist: Any) -> Artist:
    return _parts(artist)[0]


def _values(artist: Any) -> NDArray[Any]:
    """What an artist shows: rows of x, y and, of error bars, the ends of the interval in y."""
    if isinstance(artist, ErrorbarContainer):
        line, _, bars = artist.lines
        rows = _values(line) if line is not None else np.empty((0, 2))
        ends = [np.array([np.asarray(s)[:, 1] for s in bar.get_segments()]) for bar in bars if artist.has_yerr]
        return np.column_stack([rows, ends[-1]]) if ends and len(ends[-1]) == len(rows) else rows
    if isinstance(artist, BarContainer):
        flat = artist.orientation == "horizontal"
        middle = [(b.get_x() + b.get_width() * (1 if flat else 0.5), b.get_y() + b.get_height() * (0.5 if flat else 1))
                  for b in artist.patches]  # fmt: skip
        return np.array(middle, dtype=float).reshape(-1, 2)
    if isinstance(artist, Line2D):
        x, y = np.broadcast_arrays(artist.get_xdata(orig=False), artist.get_ydata(orig=False))
        return np.column_stack([x, y]).astype(float)
    if isinstance(artist, StepPatch):
        values, edges, _ = artist.get_data()
        return np.column_stack([(edges[:-1] + edges[1:]) / 2, values]).astype(float)
    if isinstance(artist, PathCollection):
        return np.asarray(artist.get_offsets(), dtype=float).reshape(-1, 2)
    return np.empty((0, 2))


def _called(axis: Axis, value: float) -> float | str:
    """A value as a reader would call it: by its name on an axis of names."""
    if isinstance(axis.get_major_locator(), FixedLocator | StrCategoryLocator):
        labels = [" ".join(label.get_text().split()) for label in axis.get_majorticklabels()]
        near = int(np.argmin(np.abs(np.asarray(axis.get_majorticklocs()) - value)))
        if near < len(labels) and any(letter.isalpha() for letter in labels[near]):
            return labels[near]
    return _rounded(value)


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


class Plots:
    """The figures of a result. Each takes an interval of time and gives a `Chart`."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def cwnd(self, start_s: float = 0.0, end_s: float | None = None, flows: Sequence[str] | None = None) -> Chart:
        """Congestion window over time, the slow-start threshold dashed; kilobytes.

        Where `record.frames` was asked for, lost data packets are marked, by cause.

        Args:
            start_s: From here.
            end_s: To here; `None` is the end of the run.
            flows: Labels; `None` is all.
        """
        table = self._samples("samples", "flow", start_s, end_s, flows)
        few = table["flow"].n_unique() <= _MOST_LINES
        losses = self._result.losses

        def draw(axes: Axes, of: pl.DataFrame, look: dict[str, Any]) -> None:
            axes.step(*thin(of["time_s"], of["cwnd_bytes"] / 1e3), where="post", **look)
            if few:
                dashed = {**look, "linestyle": (0, (3, 2)), "linewidth": 0.8, "label": None, "alpha": 0.8}
                axes.step(*thin(of["time_s"], of["ssthresh_bytes"] / 1e3), where="post", **dashed)

        def threshold(axes: Axes) -> None:
            if few and table["ssthresh_bytes"].is_finite().any():
                axes.plot([], [], color="#666666", linestyle=(0, (3, 2)), linewidth=0.8, label="ssthresh")
            if few and losses.height:
                self._mark_losses(axes, table)

        return self._lines(table, "flow", "Congestion window (kB)", start_s, draw, threshold)

    def rtt(self, start_s: float = 0.0, end_s: float | None = None, flows: Sequence[str] | None = None) -> Chart:
        """Round-trip time samples of the sender over time; milliseconds."""
        table = self._samples("samples", "flow", start_s, end_s, flows)

        def draw(axes: Axes, of: pl.DataFrame, look: dict[str, Any]) -> None:
            axes.plot(*thin(of["time_s"], of["rtt_s"] * 1e3), **look)

        return self._lines(table, "flow", "Round-trip time (ms)", start_s, draw)

    def throughput(
        self,
        bin_s: float | None = None,
        start_s: float = 0.0,
        end_s: float | None = None,
        flows: Sequence[str] | None = None,
    ) -> Chart:
        """Goodput over time: payload delivered in order, averaged over bins; Mbit/s.

        Behind it stands what the links could send: of those that follow a trace and are on the way of the flows, else
        of the busiest one.

        Args:
            bin_s: Length of a bin; `None` takes a hundredth of what is shown, but no less than the time between
                samples.
            start_s: From here.
            end_s: To here; `None` is the end of the run.
            flows: Labels; `None` is all.
        """
        table = self._samples("samples", "flow", start_s, end_s, flows)
        last = float(table["time_s"].max() or 0.0)  # type: ignore[arg-type]
        step = table["time_s"].unique().sort().diff().median() or 0.0
        width = bin_s or _round_bin(max((last - start_s) / 100, float(step)))  # type: ignore[arg-type]

        def draw(axes: Axes, of: pl.DataFrame, look: dict[str, Any]) -> None:
            edges = np.arange(start_s, last + width / 2, width)
            # Delivered so far, as it stood at each edge: the last sample not later than it.
            delivered = np.concatenate([[0.0], of["delivered_bytes"].to_numpy()])
            at = delivered[np.searchsorted(of["time_s"].to_numpy(), edges, side="right")]
            rate = np.diff(at) * 8 / width / 1e6
            rate[edges[:-1] >= float(of["time_s"].max())] = np.nan  # type: ignore[arg-type]  # it has ended
            if len(rate):
                axes.stairs(rate, edges, baseline=None, **look)

        def capacity(axes: Axes) -> None:
            edges = np.arange(start_s, last + width / 2, width)
            for number, (name, trace) in enumerate(self._followed(table["flow"].unique()) if len(edges) > 1 else ()):
                grey: Any = (
                    {"color": "#dfe3e8", "fill": True} if number == 0 else {"color": "#8a94a0", "linewidth": 0.8}
                )
                axes.stairs(trace.capacity_bps(edges) / 1e6, edges, zorder=0.5, label=f"capacity, {name}", **grey)
            if not axes.patches or not any(str(p.get_label()).startswith("capacity") for p in axes.patches):
                constant(axes)

        def constant(axes: Axes) -> None:
            busy = self._result.links.filter(pl.col("rate_bps").is_finite() & pl.col("utilisation").is_finite())
            of = busy.sort("utilisation", descending=True, maintain_order=True).head(1).to_dicts()
            if of and abs(of[0]["capacity_bps"] - of[0]["rate_bps"]) <= 1e-6 * of[0]["rate_bps"]:
                flat: Any = {"color": "#8a94a0", "linewidth": 1, "linestyle": (0, (5, 2)), "zorder": 0.5}
                # one that is out of reach is named, not drawn: it would press the rates flat
                capacity, name = of[0]["rate_bps"] / 1e6, f"capacity, {of[0]['name']}"
                if axes.dataLim.y1 * 4 >= capacity:
                    axes.axhline(capacity, label=name, **flat)
                else:
                    axes.plot([], [], label=f"{name}: {capacity:g} Mbit/s (not reached)", **flat)

        return self._lines(table, "flow", f"Goodput (Mbit/s), mean over {_seconds(width)}", start_s, draw, capacity)

    def _followed(self, flows: Collection[str]) -> Iterator[tuple[str, Trace]]:
        """Traces with rates that links on the way of these flows follow, each once, by the first such link; few."""
        from cclab import traces

        texts = self._result.scenario.get("traces", {})
        if not texts:
            return
        links = self._resolved["links"]
        ways = [way["route"] for way in self._resolved["flows"] if way["label"] in set(flows)]
        crossed = dict.fromkeys(number for way in ways for number in way if number < len(links))
        names: dict[str, str] = {}
        for link in (links[number] for number in crossed):
            if link["trace"] is not None:
                names.setdefault(link["trace"], link["name"])
        for name, link in list(names.items())[:_MOST_LINES]:
            trace = traces.of(texts[name])
            if trace.at_ms is not None or trace.rates_bps is not None:
                yield link, trace

    # Distributions and trades.

    def _delays(self, flows: Sequence[str] | None = None) -> dict[str, Any]:
        """RTT samples of each flow after the warm-up, in ms; of many flows by law."""
        table = self._samples("samples", "flow", self._result.warmup_s, None, flows)
        laws = dict(zip(self._result.flows["label"], self._result.flows["cc"], strict=True))
        order = [name for name in self._result.flows["label"] if name in set(table["flow"].unique())]
        found: dict[str, list[Any]] = {}
        parts = {str(name): of["rtt_s"].to_numpy() * 1e3 for (name,), of in table.group_by("flow")}
        for name in order:
            found.setdefault(name if len(order) <= _MOST_LINES else laws[name], []).append(parts[name])
        return {name: np.concatenate(of) for name, of in found.items()}

    def delay_cdf(self, flows: Sequence[str] | None = None) -> Chart:
        """Cumulative distribution of the RTT samples of each flow, from the end of the warm-up on; milliseconds."""
        from cclab.analysis import figures

        return figures.cdf(self._delays(flows), "Round-trip time (ms)")

    def delay_box(self, flows: Sequence[str] | None = None) -> Chart:
        """Box plots of the RTT samples of each flow, from the end of the warm-up on; milliseconds."""
        from cclab.analysis import figures

        return figures.boxes(self._delays(flows), "Round-trip time (ms)")

    def trade(self) -> Chart:
        """Goodput against the 95th percentile of the one-way delay: a point for each flow, colours are laws."""
        from cclab.analysis import figures

        of = self._result.flows.filter(pl.col("cc") != "udp")
        points = {
            str(law): (part["owd_p95_s"].to_numpy() * 1e3, part["goodput_bps"].to_numpy() / 1e6)
            for (law,), part in of.group_by("cc", maintain_order=True)
        }
        return figures.trade(points, "One-way delay, 95th percentile (ms)", "Goodput (Mbit/s)", ellipses=False)

    def convergence(self, delta: float = 0.2, k: int = 5, window_s: float = 1.0) -> Chart:
        """Shares of the goodput over time, and from when on every flow is within (1 ± δ) of an equal one.

        Args:
            delta: δ.
            k: Windows on end.
            window_s: Length of a window.
        """
        from cclab.analysis import metrics

        flows = self._result.flows.filter(pl.col("cc") != "udp")
        starts = flows["start_s"].to_numpy()
        entry = float(starts.max())
        took = metrics.convergence_time_s(self._result, delta=delta, k=k, window_s=window_s)
        times, rates = metrics.rate_series(self._result, window_s)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = rates / rates.sum(axis=0) * 100
        with styled():
            chart = Chart()
            axes = chart.add_subplot()
            for i, name in enumerate(flows["label"][:_MOST_LINES]):
                axes.step(times, shares[i], where="post", label=name, **look(i))
            equal = 100 / flows.height
            band: Any = {"color": "#e8ebee", "linewidth": 0, "zorder": 0}
            axes.axhspan(equal * (1 - delta), equal * (1 + delta), label=f"an equal share ± {delta:.0%}", **band)
            told = f"converged after {took:.4g} s" if np.isfinite(took) else "did not converge"
            if np.isfinite(took):
                axes.axvline(entry + took, color="#666666", linestyle="--", linewidth=1, label=told)
            axes.set_xlim(0, float(times[-1] + window_s))
            axes.set_ylim(0, 100)
            axes.set_xlabel("Time (s)")
            axes.set_ylabel(f"Share of the goodput (%), over {_seconds(window_s)}")
            axes.set_title(f"{self._result.name}, seed {self._result.seed}: {told}", color="#555555")
            chart.legend_below()
        return chart

    def queue(self, start_s: float = 0.0, end_s: float | None = None, links: Sequence[str] | None = None) -> Chart:
        """What waits at the busiest queues over time, the limit as a line.

        In packets, or in kilobytes where the limit is in bytes.

        Args:
            start_s: From here.
            end_s: To here; `None` is when the last flow is over, or the end of the run.
            links: Names; `None` takes those with at least a hundredth of the longest mean queue, at most seven.
        """
        if links is None:
            mean = pl.col("queue_mean_packets")
            busy = self._result.links.filter((mean > 0) & (mean >= 0.01 * mean.max()))
            links = busy.sort("queue_mean_packets", descending=True)["name"].head(_MOST_LINES).to_list()
            links = links or self._result.links["name"].head(1).to_list()
        flows = self._result.samples
        if end_s is None and flows.height and not self._result.background.height:
            end_s = max(start_s, float(flows["time_s"].max()))  # type: ignore[arg-type]
        table = self._samples("link_samples", "link", start_s, end_s, links)
        column, scale, unit, limit = self._queue_scale(links)

        def draw(axes: Axes, of: pl.DataFrame, look: dict[str, Any]) -> None:
            axes.step(*thin(of["time_s"], of[column] * scale), where="post", **look)

        def ceiling(axes: Axes) -> None:
            if limit is not None:
                # one that is out of reach is named, not drawn: it would press the queue flat
                reached = float(table[column].max() or 0) * 4 >= limit  # type: ignore[arg-type]
                text = f"limit: {limit * scale:g} {unit}" + ("" if reached else " (not reached)")
                dotted: dict[str, Any] = {"color": "#666666", "linestyle": ":", "linewidth": 1, "label": text}
                axes.axhline(limit * scale, **dotted) if reached else axes.plot([], [], **dotted)

        return self._lines(table, "link", f"Queue ({unit} waiting)", start_s, draw, ceiling)

    def _mark_losses(self, axes: Axes, samples: pl.DataFrame) -> None:
        """Marks on the windows of these samples where data packets of their flows were lost, by cause."""
        lost = self._result.losses.filter(pl.col("forward") & (pl.col("payload_bytes") > 0))
        at = lost.sort("time_s").join_asof(
            samples.select("time_s", "flow", "cwnd_bytes").sort("time_s"),
            on="time_s",
            by="flow",
            check_sortedness=False,
        )
        at = at.drop_nulls("cwnd_bytes").filter(pl.col("time_s") <= samples["time_s"].max())
        for (name, causes), marker in zip(_CAUSES.items(), _MARKS, strict=True):
            of = at.filter(pl.col("cause").is_in(causes))
            if of.height:
                mark: Any = {"marker": marker, "color": "black", "markerfacecolor": "white", "markersize": 5}
                x, y = of["time_s"], of["cwnd_bytes"] / 1e3
                axes.plot(x, y, linestyle="", zorder=3, label=f"lost: {name} ({of.height:,})", **mark)

    def map(self, at_s: float | None = None) -> Chart:
        """Where stations are at a moment, how far their radio reaches, and the routes of the flows; metres.

        An arrow is a hop as the station itself would take it then; a dotted one leads out of range.

        Args:
            at_s: The moment; `None` is the middle of the run.

        Raises:
            ResultError: there are no stations, or `record.frames` was not asked for.
        """
        result = self._result
        at = result.engine["simulated_s"] / 2 if at_s is None else at_s
        places = _places(self._recorded("places"), at)
        medium, ways = self._ways(at)
        with styled():
            chart = Chart(height_in=4.4)
            axes = chart.add_subplot()
            named: dict[str, Any] = {}
            for place in {way[0]: places[way[0]] for way, _ in ways.values()}.values():
                circle: Any = {"fill": False, "color": "#888888"}
                axes.add_patch(Circle(place, medium["radio"]["range_m"], linestyle=(0, (4, 2)), **circle))
                # the larger one is cut off, not to make the rest small
                axes.add_artist(Circle(place, medium["radio"]["sense_range_m"], linestyle=(0, (1, 2)), **circle))
            for verb, reach, dashes in (
                ("decoded", "range_m", (0, (4, 2))), ("sensed", "sense_range_m", (0, (1, 2)))
            ):  # fmt: skip
                text = f"source is {verb} within {medium['radio'][reach]:.0f} m"
                named[text] = Line2D([], [], color="#888888", linestyle=dashes, linewidth=1)
            for number, (label, (way, whole)) in enumerate(list(ways.items())[:_MOST_LINES]):
                colour = look(number)["color"]
                bend = f"arc3,rad={0.06 * number}"  # routes that share a hop stay apart
                for one, other in pairwise(way):
                    hop: Any = {"arrowstyle": "-|>", "mutation_scale": 10, "linewidth": 1.6, "connectionstyle": bend}
                    far = float(np.hypot(*np.subtract(places[one], places[other]))) > medium["radio"]["range_m"]
                    axes.add_patch(
                        FancyArrowPatch(
                            places[one],
                            places[other],
                            color=colour,
                            linestyle=":" if far else "-",
                            shrinkA=4,
                            shrinkB=4,
                            **hop,
                        )
                    )
                hops = f"{len(way) - 1} hop" + ("" if len(way) == 2 else "s")
                named[f"{label}: {hops if whole else 'no route'}"] = Line2D([], [], color=colour, linewidth=1.6)
            xy = np.array(list(places.values()))
            stations = axes.plot(*xy.T, "o", color="#333333", markersize=4)
            chart.name("station", *stations)
            on_route = {name for way, _ in ways.values() for name in way}
            for name, place in places.items():
                if len(places) <= _MOST_NAMED or name in on_route:
                    axes.annotate(name, place, (4, 5), textcoords="offset points")
            axes.set_aspect("equal", "datalim")
            axes.margins(0.08)
            axes.set_xlabel("x (m)")
            axes.set_ylabel("y (m)")
            axes.set_title(f"{result.name}, seed {result.seed}, at {at:.4g} s", color="#555555")
            chart.legend_below(named)
        return chart

    def transmissions(self, start_s: float | None = None, length_s: float | None = None) -> Chart:
        """Who sent what when: a bar for each frame on the air, crossed if its receiver did not get it; milliseconds.

        Args:
            start_s: From here; `None` looks at the first packet that a station gave up, or at the middle.
            length_s: How long; `None` is some fifty frames.

        Raises:
            ResultError: `record.frames` was not asked for, or the window has too many frames to tell them apart.
        """
        result, frames = self._result, self._recorded("frames")
        if length_s is None:
            length_s = _round_bin(_FEW_FRAMES * result.engine["simulated_s"] / frames.height)
        if start_s is None:
            lost = result.losses.filter(pl.col("cause") == "retries")["time_s"]
            start_s = lost[0] - 0.9 * length_s if len(lost) else (result.engine["simulated_s"] - length_s) / 2
        start = max(start_s, 0.0)
        frames = frames.filter((pl.col("end_s") >= start) & (pl.col("time_s") <= start + length_s))
        if frames.height > _MOST_FRAMES:
            raise ResultError(
                f"{frames.height} frames in {_seconds(length_s)}; at most {_MOST_FRAMES}: a shorter length_s"
            )
        involved = set(frames["station"]) | set(frames["to"].drop_nulls())
        rows = {n: i for i, n in enumerate(n for n in result.stations["name"] if n in involved)}
        with styled():
            chart = Chart(height_in=1.6 + 0.3 * max(len(rows), 4))
            axes = chart.add_subplot()
            x, end = ((frames[c].to_numpy() - start) * 1e3 for c in ("time_s", "end_s"))
            row = np.array([rows[name] for name in frames["station"]], float)
            aim = np.array([rows.get(name, np.nan) for name in frames["to"]], float)
            for kind, (colour, height) in _FRAMES.items():
                of = (frames["kind"] == kind.lower()).to_numpy()
                if of.any():
                    axes.barh(row[of], (end - x)[of], height, x[of], color=colour, linewidth=0, label=kind)
                    axes.vlines(end[of], row[of], aim[of], color=colour, linewidth=0.6, alpha=0.7)
            for text, (outcomes, mark) in _MISSED.items():
                of = frames["outcome"].is_in(outcomes).to_numpy()
                if of.any():
                    axes.plot(((x + end) / 2)[of], row[of], mark, color="black", markersize=5, label=text, zorder=4,
                              markerfacecolor="white")  # fmt: skip
            for at in result.losses.filter(pl.col("time_s").is_between(start, start + length_s)).to_dicts():
                if at["place"] in rows:
                    axes.plot((at["time_s"] - start) * 1e3, rows[at["place"]], "v", color="#D55E00", markersize=7,
                              zorder=5, label="packet is lost here")  # fmt: skip
            axes.set_yticks(list(rows.values()), list(rows))
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.set_xlim(0, length_s * 1e3)
            axes.set_xlabel(f"Time since {start:.4f} s (ms)")
            axes.set_ylabel("Station that sends")
            axes.set_title(f"{result.name}, seed {result.seed}", color="#555555")
            chart.legend_below()
        return chart

    def _recorded(self, name: str) -> pl.DataFrame:
        table: pl.DataFrame = getattr(self._result, name)
        if not table.height:
            raise ResultError(f"no {name} of stations were recorded; ask for them with record = {{ frames = true }}")
        return table

    @cached_property
    def _resolved(self) -> dict[str, Any]:
        from cclab.scenario import Scenario

        return Scenario.from_dict(self._result.scenario).resolved()

    def _ends(self, label: str) -> tuple[str, str] | None:
        """The stations where packets of a flow enter a medium, and leave it."""
        resolved = self._resolved
        flow = resolved["flows"][self._result.flows["label"].to_list().index(label)]
        for number in flow["route"]:
            if number >= len(resolved["links"]):
                crossing = resolved["crossings"][number - len(resolved["links"])]
                stations = resolved["media"][crossing["medium"]]["stations"]
                one, other = (resolved["nodes"][stations[crossing[end]]["node"]] for end in ("from", "to"))
                return one, other
        return None

    def _ways(self, at_s: float) -> tuple[dict[str, Any], dict[str, tuple[list[str], bool]]]:
        """The medium; stations that a packet of each flow would pass at a moment, and whether they lead to its end."""
        now = self._result.routes.filter(pl.col("time_s") <= at_s)
        hops = {(station, to): hop for station, to, hop in now.select("station", "destination", "next_hop").rows()}
        ways: dict[str, tuple[list[str], bool]] = {}
        for label in self._result.flows["label"]:
            if (ends := self._ends(label)) is not None:
                way = [ends[0]]
                while (hop := hops.get((way[-1], ends[1]))) is not None and hop not in way:
                    way.append(hop)
                ways[label] = way, way[-1] == ends[1]
        return self._resolved["media"][0], ways

    def all(self) -> dict[str, Chart]:
        """Every figure for which there are samples, by name."""
        charts: dict[str, Chart] = {}
        if self._result.samples.height:
            if self._result.samples["cwnd_bytes"].is_finite().any():  # a program's connections tell of none
                charts["cwnd"] = self.cwnd()
            charts |= {"throughput": self.throughput(), "rtt": self.rtt()}
        if self._result.link_samples.height:
            charts["queue"] = self.queue()
        if self._result.frames.height:
            charts |= {"map": self.map(), "transmissions": self.transmissions()}
        return charts

    def _queue_scale(self, links: Sequence[str]) -> tuple[str, float, str, float | None]:
        """Column, factor and unit to draw queues in, and their limit where all have the same."""
        given = self._result.links.filter(pl.col("name").is_in(list(links)))
        stations = self._result.stations
        shared = stations.height and set(stations["medium"]) & set(links)  # waits at all of them: the limit is of one

        def common(column: str) -> float | None:
            limits = given[column].unique().to_list()
            return float(limits[0]) if len(limits) == 1 and np.isfinite(limits[0]) and not shared else None

        if (limit := common("queue_limit_bytes")) is not None:
            return "queue_bytes", 1e-3, "kB", limit
        return "queue_packets", 1.0, "packets", common("queue_limit_packets")

    def _samples(
        self, name: str, by: str, start_s: float, end_s: float | None, wanted: Sequence[str] | None
    ) -> pl.DataFrame:
        table: pl.DataFrame = getattr(self._result, name)
        if not table.height:
            raise ResultError('nothing was sampled, so there is nothing to draw; record = { samples = "10 ms" }')
        if wanted is not None:
            unknown = set(wanted) - set(table[by].unique())
            if unknown:
                have = ", ".join(sorted(table[by].unique()))
                raise ResultError(f"no {by} called {sorted(unknown)[0]!r}; there are {have}")
            table = table.filter(pl.col(by).is_in(list(wanted)))
        table = table.filter(pl.col("time_s") >= start_s)
        return table if end_s is None else table.filter(pl.col("time_s") <= end_s)

    def _lines(
        self,
        table: pl.DataFrame,
        by: str,
        label: str,
        start_s: float,
        draw: Callable[[Axes, pl.DataFrame, dict[str, Any]], None],
        further: Callable[[Axes], None] | None = None,
    ) -> Chart:
        with styled():
            chart = Chart()
            axes = chart.add_subplot()
            parts = {str(name): of for (name,), of in table.group_by(by)}
            named: dict[str, Any] = {}
            looks = self._looks(parts.keys(), by)
            if len(looks) > _MOST_LINES:
                named = self._crowd(axes, {name: parts[name] for name in looks}, draw)
                looks = {}
            lines: dict[str, list[Any]] = {}
            for name, look in looks.items():
                # matplotlib hides names that begin with _: ours go to the legend by hand
                before = set(axes.get_children())
                draw(axes, parts[name], {**look, "label": None})
                drawn: list[Any] = [a for a in axes.get_children() if a not in before]
                if not any(np.isfinite(_values(a)[:, 1]).any() for a in drawn):
                    continue  # datagrams have no window
                chart.name(name, *drawn)
                lines[name] = drawn
                named[name] = Line2D([], [], color=look["color"], linestyle=look["linestyle"])
            if further is not None:
                further(axes)
            named |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
            axes.set_xlabel("Time (s)")
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            times = table["time_s"]
            end = float(times.max() or 0.0)  # type: ignore[arg-type]
            if end > start_s:
                axes.set_xlim(start_s, end)
            if times.n_unique() < 2:
                axes.text(0.5, 0.5, "fewer than two samples", transform=axes.transAxes, ha="center", color="#555555")
            elif (warmup := self._result.warmup_s) > start_s:
                band: Any = {"color": "#eef0f2", "linewidth": 0, "zorder": 0}
                named["warm-up, not in the means"] = axes.axvspan(start_s, min(warmup, end), **band)
            axes.set_title(f"{self._result.name}, seed {self._result.seed}", color="#555555")
            covers = covered({name: seen(axes, _values(drawn[0])) for name, drawn in lines.items()})
            for name in covers:
                if len(lines[name]) == 1:  # where dashes mean nothing else
                    for line in (lines[name][0], named[name]):
                        line.set_linestyle(DASHED)  # the line below is seen in the gaps
            chart.legend_below(named, on_top(covers))
        return chart

    def _looks(self, drawn: Collection[str], by: str) -> dict[str, dict[str, Any]]:
        """The look of each line, in the result's order: a flow keeps its colour in every figure of the result."""
        every = (self._result.flows["label"] if by == "flow" else self._result.links["name"]).to_list()
        names = [name for name in every if name in drawn]
        few = len(every) <= _MOST_LINES
        # The first line is the widest, so that one that lies on it does not hide it.
        widths = np.linspace(1.9 if len(names) > 1 else 1.2, 1.0 if len(names) > 1 else 1.2, len(names))
        return {
            n: {**look((every if few else names).index(n)), "linewidth": float(width), "alpha": 0.9}
            for n, width in zip(names, widths, strict=True)
        }

    def _crowd(self, axes: Axes, parts: dict[str, pl.DataFrame], draw: Callable[..., None]) -> dict[str, Any]:
        """Too many flows to tell apart: of each law the mean, and a band that eight of ten flows are in."""
        laws = dict(zip(self._result.flows["label"], self._result.flows["cc"], strict=True))
        end = max(float(of["time_s"].max()) for of in parts.values())  # type: ignore[arg-type]
        start = min(float(of["time_s"].min()) for of in parts.values())  # type: ignore[arg-type]
        grid = np.linspace(start, end, _GRID)
        named: dict[str, Any] = {}
        for index, law in enumerate(sorted({laws[name] for name in parts})):
            of_law = [of for name, of in parts.items() if laws[name] == law]
            values = np.array([_resampled(of, draw, grid) for of in of_law])
            there = np.isfinite(values).any(axis=0)
            low, middle, high = np.full((3, _GRID), np.nan)
            low[there], high[there] = np.nanpercentile(values[:, there], [10, 90], axis=0)
            middle[there] = np.nanmean(values[:, there], axis=0)
            colour = look(index)["color"]
            axes.fill_between(grid, low, high, color=colour, alpha=0.25, linewidth=0)
            (line,) = axes.plot(grid, middle, color=colour)
            named[f"{law} ({len(of_law)} flows): mean, band 10–90 %"] = line
        return named


class _Recorder:
    """Stands in for axes and keeps the line that would be drawn."""

    def __init__(self) -> None:
        self.x = self.y = np.empty(0)

    def plot(self, x: Any, y: Any, **_: Any) -> None:
        self.x, self.y = np.asarray(x, float), np.asarray(y, float)

    step = plot

    def stairs(self, y: Any, edges: Any, **_: Any) -> None:
        self.x, self.y = np.asarray(edges, float), np.append(np.asarray(y, float), np.nan)


def seen(axes: Axes, points: NDArray[Any]) -> NDArray[Any]:
    """Where points are seen whose scale and limits are set: shares of the width and of the height."""
    axes.autoscale_view()
    return np.asarray((axes.transData - axes.transAxes).transform(points[:, :2]))


def covered(lines: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Which lines lie on which earlier one; of all rows of x and y as they are seen."""
    found = {}
    for i, (name, line) in enumerate(lines.items()):
        if below := next((other for other in list(lines)[:i] if _coincide(lines[other], line)), None):
            found[name] = below
    return found


def _coincide(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two lines look like one: nine tenths of the way they are nearer in y than they are thick."""
    one, other = (line[np.isfinite(line).all(axis=1)] for line in (one, other))
    if min(len(one), len(other)) < 2:
        return False
    x = np.linspace(max(one[0, 0], other[0, 0]), min(one[-1, 0], other[-1, 0]), _GRID)
    if x[-1] - x[0] < 0.5 * max(np.ptp(one[:, 0]), np.ptp(other[:, 0])):
        return False
    apart = np.abs(np.interp(x, *one.T) - np.interp(x, *other.T))
    return bool(np.mean(apart <= _NEAR) >= 0.9)


def on_top(covers: Mapping[str, str]) -> str | None:
    """Which lines lie on which other, for the title of a legend."""
    told = [
        f"on the line of {below}: {', '.join(n for n, b in covers.items() if b == below)}"
        for below in dict.fromkeys(covers.values())
    ]
    return "\n".join(line for text in told for line in textwrap.wrap(text, 64)) or None


def _resampled(of: pl.DataFrame, draw: Callable[..., None], grid: NDArray[Any]) -> NDArray[Any]:
    """The line of one flow at the times of `grid`, the last value before each; NaN where the flow is not there."""
    line = _Recorder()
    draw(line, of, {})
    at = np.searchsorted(line.x, grid, side="right") - 1
    known = (at >= 0) & (grid <= float(of["time_s"].max()) + (grid[1] - grid[0]))  # type: ignore[arg-type]
    values = np.full(len(grid), np.nan)
    values[known] = line.y[at[known]]
    return values


def _places(table: pl.DataFrame, at_s: float) -> dict[str, tuple[float, float]]:
    """Where each station is at a moment."""
    found = {}
    for (name,), of in table.group_by("station", maintain_order=True):
        time, x, y = (of[column].to_numpy() for column in ("time_s", "x_m", "y_m"))
        found[str(name)] = (float(np.interp(at_s, time, x)), float(np.interp(at_s, time, y)))
    return found


def look(index: int) -> dict[str, Any]:
    """Colour and dashes of the `index`-th line."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": _DASHES[index // len(COLOURS) % len(_DASHES)],
    }


def aside(drawn: ErrorbarContainer, index: int, of: int) -> None:
    """Move the `index`-th `of` several series so far to the side that the error bars of all are seen; values stay."""
    points = min(3.5, _ASIDE / max(of - 1, 1)) * (index - (of - 1) / 2)
    for part in _parts(drawn):
        axes: Any = part.axes
        part.set_transform(axes.transData + ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans))


def thin(x: pl.Series, y: pl.Series, most: int = _MOST_POINTS) -> tuple[NDArray[Any], NDArray[Any]]:
    """At most `most` points of a line that still shows every peak: the extremes of each stretch, in order of time."""
    xs, ys = x.to_numpy(), y.to_numpy()
    if len(xs) <= most:
        return xs, ys
    edges = np.linspace(0, len(xs), most // 2 + 1).astype(int)
    keep = [0, len(xs) - 1]
    finite = np.where(np.isfinite(ys), ys, 0.0)
    for low, high in pairwise(edges):
        keep += [low + int(finite[low:high].argmin()), low + int(finite[low:high].argmax())]
    index = np.unique(keep)
    return xs[index], ys[index]


def _round_bin(width: float) -> float:
    """The next of 1, 2, 5 × 10^k."""
    if width <= 0:
        return 1.0
    power = 10 ** np.floor(np.log10(width))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= width * 0.999))


def _seconds(width: float) -> str:
    return f"{width:g} s" if width >= 1 else f"{width * 1e3:g} ms"
