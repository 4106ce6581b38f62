"""Two results, sweeps or published studies beside each other, quantity by quantity, with a verdict for each.

One version against another, the simulator against a kernel, a law against its variant: runs of the same point and seed
are a pair, and a difference is judged by its interval.
"""

from __future__ import annotations

import itertools
import math
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cclab import folders, published, registry
from cclab.analysis import stats
from cclab.analysis.stats import Estimate
from cclab.errors import ResultError, UnknownNameError
from cclab.results import Result
from cclab.sweep import Study
from cclab.sweep.store import is_store

if TYPE_CHECKING:
    from cclab.analysis.plots import Chart

WITHIN = 0.05


@dataclass(frozen=True)
class Quantity:
    """What is compared.

    Attributes:
        name: For people, and to be chosen by.
        table: Where it is: `"flows"`, `"sessions"` or `"links"`.
        value: Of a row of that table.
        unit: Of what is shown.
        scale: Factor to that unit.
    """

    name: str
    table: str
    value: pl.Expr
    unit: str
    scale: float = 1.0


def _share(part: pl.Expr, column: str) -> pl.Expr:
    return part / pl.when(pl.col(column) > 0).then(pl.col(column))


QUANTITIES = (
    Quantity("goodput", "flows", pl.col("goodput_bps"), "Mbit/s", 1e-6),
    Quantity("completion time", "flows", pl.col("fct_s"), "s"),
    Quantity("goodput of a session", "sessions", pl.col("goodput_bps"), "Mbit/s", 1e-6),
    Quantity("completion time of a session", "sessions", pl.col("fct_receiver_s"), "s"),
    Quantity("RTT mean", "flows", pl.col("rtt_mean_s"), "ms", 1e3),
    Quantity("RTT p50", "flows", pl.col("rtt_p50_s"), "ms", 1e3),
    Quantity("RTT p95", "flows", pl.col("rtt_p95_s"), "ms", 1e3),
    Quantity("segments resent", "flows", _share(pl.col("segments_retransmitted"), "segments_sent"), "%", 100.0),
    Quantity("timeouts", "flows", pl.col("timeouts"), "1"),
    Quantity("window mean", "flows", pl.col("cwnd_mean_segments"), "segments"),
    Quantity("aggregation benefit", "sessions", pl.col("aggregation_benefit"), "1"),
    Quantity("utilisation", "links", pl.col("utilisation"), "%", 100.0),
    Quantity("queue mean", "links", pl.col("queue_mean_packets"), "packets"),
    Quantity("packets dropped or lost", "links", _share(pl.col("drops") + pl.col("losses"), "arrived"), "%", 100.0),
)
_ROUND_OFF = 1e-12  # of the figures themselves
_SAID = {"agrees": "agree", "differs": "differ", "cannot tell": "cannot be told"}
BY_DEFAULT = (
    "goodput", "completion time", "goodput of a session", "completion time of a session", "RTT mean", "segments resent",
)  # fmt: skip
_TABLES = tuple(dict.fromkeys(q.table for q in QUANTITIES))


@dataclass(frozen=True)
class Side:
    """One of the two.

    Attributes:
        name: For people: its folder, or its scenario.
        parameters: What was varied.
        tables: `flows`, `sessions` and `links` over all runs, as far as there are any, with the parameters and `seed`.
        numbers: Of a published study instead: `item`, `metric`, `unit`, `mean`, `low`, `high`, `n` of each number.
        about: What it is: `scenario` (of a published study its slug), `backend`, `seeds`, `versions`.
    """

    name: str
    parameters: tuple[str, ...]
    tables: dict[str, pl.DataFrame]
    numbers: pl.DataFrame | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def said(self) -> str:
        """What it is, in a line."""
        if not self.about:
            return self.name
        parts = [self.about["scenario"], self.about["backend"]]
        if seeds := self.about["seeds"]:
            parts.append(f"seed{'s' if len(seeds) > 1 else ''} {ranges(seeds)}")
        parts += [f"{what} {version}" for what, version in self.about["versions"].items()]
        return f"{self.name}: {', '.join(parts)}"


def side(of: Side | Result | Study | str | Path) -> Side:
    """What is to be compared: a result, a sweep that has run, or the folder of one, or of `reproduce`.

    Raises:
        ResultError: the folder holds none of these, or is not whole.
    """
    if isinstance(of, Side):
        return of
    if isinstance(of, Result):
        seed = pl.lit(of.seed, pl.UInt64).alias("seed")
        tables = {name: getattr(of, name).with_columns(seed) for name in _TABLES}
        stamp = {"Linux": of.stamp["kernel"]} if of.stamp else {}
        about = _about(of.name, of.backend, [of.seed], of.versions | stamp)
        return Side(of.name, (), tables, about=about)
    if isinstance(of, Study):
        tables = {name: of.table(name) for name in _TABLES if name in of.tables()}
        scenario = tomllib.loads(of.scenario_toml()).get("name", of.name)
        about = _about(scenario, of.backend, tables["flows"]["seed"].unique().to_list(), of.versions)
        return Side(of.name, tuple(of.parameters), tables, about=about)
    place = Path(of)
    if is_store(place):
        found = side(Study.load(place))
    elif folders.schema_of(place) == published.SCHEMA:
        told = published.load(place)
        rows = told["comparisons"]
        columns = {"mean": "measured", "low": "ci_low", "high": "ci_high"}
        texts = {name: pl.Series([row[name] for row in rows], dtype=pl.String) for name in ("item", "metric", "unit")}
        figures = {name: pl.Series([row[was] for row in rows], dtype=pl.Float64) for name, was in columns.items()}
        n = pl.Series([row["n"] for row in rows], dtype=pl.Int64)
        what = "quick" if told["quick"] else "in full"
        about = _about(told["slug"], what, [], told["versions"])
        found = Side(place.name, (), {}, pl.DataFrame({**texts, **figures, "n": n}), about)
    else:
        found = side(Result.load(place))
    return replace(found, name=str(place))


def _about(scenario: str, backend: str, seeds: Sequence[int], versions: Mapping[str, str]) -> dict[str, Any]:
    return {"scenario": scenario, "backend": backend, "seeds": sorted(seeds), "versions": dict(versions)}


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, those that follow each other as a range."""
    ends: list[list[int]] = []
    for number in numbers:
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in ends)


@dataclass(frozen=True)
class Row:
    """A quantity of a flow or a link at a point, on both sides.

    Attributes:
        point: The values of what was varied.
        of: The flow, the link, or the item of a published study.
        quantity: Its name.
        unit: Of `a`, `b`, `difference` and `tolerance`.
        a: The first side's mean.
        b: The second side's mean.
        difference: a − b, with its interval: of pairs by seed where three are or all of one side, else Welch's.
        tolerance: Differences up to it do not count.
        verdict: `agrees`, `differs` or `cannot tell`, by equivalence; without an interval only equal values agree.
    """

    point: tuple[Any, ...]
    of: str
    quantity: str
    unit: str
    a: float
    b: float
    difference: Estimate
    tolerance: float
    verdict: str

    @property
    def relative(self) -> Estimate:
        """The difference over b; NaN where that is zero and the difference is not."""
        d = self.difference
        if d.value == 0 and not self.b:
            return replace(d, value=0.0, low=0.0, high=0.0)
        by = abs(self.b) or math.nan
        return replace(d, value=d.value / by, low=d.low / by, high=d.high / by)


@dataclass(frozen=True)
class Compared:
    """What came of a comparison.

    Attributes:
        a: Name of the first side.
        b: Name of the second.
        sides: Both.
        parameters: What was varied.
        rows: A row for each quantity of each flow, session and link at each point.
        left_out: What only one of them has, a sentence each.
        rule: When two figures agree.
    """

    a: str
    b: str
    sides: tuple[Side, Side]
    parameters: tuple[str, ...]
    rows: list[Row]
    left_out: list[str]
    rule: str

    @property
    def verdict(self) -> str:
        """`differs` if anything does; else `cannot tell` if anything cannot be or has no partner; else `agrees`."""
        given = {row.verdict for row in self.rows} | ({stats.CANNOT_TELL} if self.left_out else set())
        return next((v for v in (stats.DIFFERS, stats.CANNOT_TELL) if v in given), stats.AGREES)

    @property
    def lacking(self) -> list[str]:
        """What is not validated of the congestion controls that were simulated, a sentence each."""
        simulated = (side.tables["flows"]["cc"] for side in self.sides if side.about.get("backend") == "sim")
        return registry.lacking(itertools.chain(*(laws.unique(maintain_order=True) for laws in simulated)))

    def frame(self) -> pl.DataFrame:
        """The rows as a table of numbers."""
        figures = [
            {
                **{p: str(v) for p, v in zip(self.parameters, row.point, strict=True)},
                "of": row.of, "quantity": row.quantity, "unit": row.unit, "a": row.a, "b": row.b,
                "difference": row.difference.value, "low": row.difference.low, "high": row.difference.high,
                "n": row.difference.n, "missing": row.difference.missing,
                "tolerance": row.tolerance, "verdict": row.verdict,
            }
            for row in self.rows
        ]  # fmt: skip
        return pl.DataFrame(figures)

    def json(self) -> dict[str, Any]:
        """Both names, the rule, the verdict of all, and every row; no value is null."""
        rows = [{k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
                for row in self.frame().to_dicts()]  # fmt: skip
        return {
            "schema": "cclab.comparison/1", "a": self.a, "b": self.b,
            "sides": [dict(side.about) for side in self.sides], "rule": self.rule, "verdict": self.verdict,
            "rows": rows, "left_out": self.left_out,
        }  # fmt: skip

    def tables(self) -> list[Any]:
        """The table that the terminal shows, and what it rests on."""
        from cclab.console import table

        headings, cells = self.cells()
        made = table(None, *headings)
        for row in cells:
            made.add_row(*row)
        return [self.said(), made, "\n".join([self.footing(), *self.left_out, *self.lacking])]

    def said(self) -> str:
        """What both sides are, a line each."""
        return "\n".join(f"{letter}: {side.said()}" for letter, side in zip("AB", self.sides, strict=True))

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Headings, those of numbers begin with |, and rows as text."""
        from cclab.console import number

        headings = [
            *self.parameters,
            "Of", "Quantity", "Verdict", "|A", "|B", "|(A − B) / B in %,|95 % interval", "|Tolerance|%", "|n",
        ]  # fmt: skip
        cells = []
        for row in self.rows:
            relative, unit = row.relative, "" if row.unit in ("", "1") else f" ({row.unit})"
            apart = number(100 * relative.value, 3)
            if math.isfinite(relative.low):
                apart += f" [{number(100 * relative.low, 3)}, {number(100 * relative.high, 3)}]"
            cells.append([
                *map(str, row.point), row.of, row.quantity + unit, row.verdict, number(row.a), number(row.b), apart,
                f"{100 * row.tolerance / abs(row.b):.3g}" if row.b else "–", _of(row.difference),
            ])  # fmt: skip
        return headings, cells

    def footing(self) -> str:
        """What the verdicts rest on."""
        given = [row.verdict for row in self.rows]
        counts = ", ".join(f"{given.count(v)} {said}" for v, said in _SAID.items() if v in given)
        few = any(row.difference.n < stats.FEWEST for row in self.rows)
        said = (
            f" Fewer than {stats.FEWEST} runs tell nothing of chance: there only equal figures agree, and none differs."
        )
        alone = " What only one of them has cannot be told." if self.left_out else ""
        return f"{counts}: {self.rule}, the whole 95 % interval.{said if few else ''}{alone}"

    def chart(self, most: int = 40) -> Chart:
        """The relative differences with their intervals, and the tolerance; of many rows those furthest apart."""
        from cclab.analysis.plots import COLOURS, Chart, styled

        def out(row: Row) -> float:
            return abs(row.relative.value) if math.isfinite(row.relative.value) else -1.0

        shown = sorted(self.rows, key=out, reverse=True)[:most]
        shown = [row for row in self.rows if any(row is one for one in shown)]
        colours = {"agrees": COLOURS[2], "differs": COLOURS[1], "cannot tell": COLOURS[6]}
        marks = {"agrees": "o", "differs": "X", "cannot tell": "D"}
        with styled():
            chart = Chart(7.2, 1.3 + 0.2 * len(shown))
            axes = chart.subplots()
            places = np.arange(len(shown))
            band = [100 * row.tolerance / abs(row.b) if row.b else 0.0 for row in shown]
            axes.barh(places, 2 * np.array(band), left=-np.array(band), height=0.9, color="#e8e8e8", label="tolerance")
            for verdict, colour in colours.items():
                at = [i for i, row in enumerate(shown) if row.verdict == verdict and math.isfinite(row.relative.value)]
                if not at:
                    continue
                of = [shown[i].relative for i in at]
                middle = 100 * np.array([e.value for e in of])
                ends = 100 * np.array([[e.value - e.low for e in of], [e.high - e.value for e in of]])
                axes.errorbar(
                    middle, at, xerr=np.nan_to_num(ends), fmt=marks[verdict], ms=4, color=colour, lw=1, capsize=2,
                    label=verdict,
                )  # fmt: skip
            axes.axvline(0, color="#888888", lw=0.8)
            names = [", ".join([*map(str, row.point), row.of, row.quantity]) for row in shown]
            axes.set_yticks(places, names)
            axes.set_ylabel(", ".join(self.parameters))
            axes.set_ylim(len(shown) - 0.4, -0.6)
            sides = [line for text in (f"A: {self.a}", f"B: {self.b}") for line in textwrap.wrap(text, 80)]
            axes.set_xlabel("\n".join(["(A − B) / B, %", *sides]))
            chart.legend_below()
        return chart


def compare(
    a: Side | Result | Study | str | Path,
    b: Side | Result | Study | str | Path,
    quantities: Sequence[str] = BY_DEFAULT,
    *,
    within: float = WITHIN,
    deviations: float = 0.0,
) -> Compared:
    """Compare two results or studies.

    Two figures agree if the whole interval of their difference is within the tolerance: `within` of b's mean or
    `deviations` standard deviations of b's runs, whichever is more.

    Args:
        a: The first.
        b: The second, which the differences are relative to.
        quantities: Names of `QUANTITIES`; a published study has its own instead.
        within: Relative tolerance, e.g. 0.05.
        deviations: Tolerance in standard deviations of b over its runs, e.g. 2.

    Raises:
        ResultError: they have nothing in common.
        UnknownNameError: there is no such quantity.
    """
    if not (0 <= within < math.inf and 0 <= deviations < math.inf):
        raise ValueError(f"compare: within = {within} and deviations = {deviations} must be zero or more")
    first, second = side(a), side(b)
    rule = f"within {within * 100:g} % of B"
    rule += f" or {deviations:g} standard deviations of its runs, whichever is more" if deviations else ""
    if first.numbers is not None or second.numbers is not None:
        rows, left_out = _numbers(first, second, within, deviations)
        parameters: tuple[str, ...] = ()
    else:
        parameters = _common(first, second)
        rows, left_out = [], []
        for quantity in map(_quantity, quantities):
            more, missing = _rows(quantity, first, second, parameters, within, deviations)
            rows += more
            left_out += [text for text in missing if text not in left_out]
    if not rows:
        raise ResultError(f"{first.name} and {second.name}: nothing of one has its like in the other")
    return Compared(first.name, second.name, (first, second), parameters, rows, left_out, rule)


def judge(
    x: Sequence[float], y: Sequence[float], *, paired: bool = False, within: float = WITHIN, deviations: float = 0.0,
    floor: float = 0.0, point: tuple[Any, ...] = (), of: str = "", quantity: str = "",
    unit: str = "",
) -> Row:  # fmt: skip
    """One quantity, measured in several runs of each side.

    Args:
        x: Of the first side.
        y: Of the second.
        paired: Whether x[i] and y[i] are of one seed.
        within: Relative tolerance.
        deviations: Tolerance in standard deviations of y.
        floor: Tolerance in the quantity's own unit, at least.
        point: Of the row, as are `of`, `quantity` and `unit`.
        of: Which flow or link.
        quantity: Its name.
        unit: Its unit.

    Raises:
        ValueError: there are no values.
    """
    ours, theirs = stats.mean(x), stats.mean(y)
    spread = float(np.nanstd(np.asarray(y, float), ddof=1)) if theirs.n > 1 else 0.0
    if paired:
        difference = stats.paired(x, y).difference
    else:
        rarer = max(ours, theirs, key=lambda e: e.missing / max(e.n + e.missing, 1))
        apart = stats.welch(x, spread, theirs.n) if theirs.n > 1 else replace(ours, low=math.nan, high=math.nan)
        value, low, high = (end - theirs.value for end in (apart.value, apart.low, apart.high))
        n, missing = (rarer.n, rarer.missing) if rarer.missing else (min(ours.n, theirs.n), 0)
        difference = Estimate(value, low, high, n, missing=missing)
    difference = _without_round_off(difference, x, y)
    tolerance = max(within * abs(theirs.value), deviations * spread, floor)
    return Row(
        point, of, quantity, unit, ours.value, theirs.value, difference, tolerance, _verdict(difference, tolerance)
    )


def _quantity(name: str) -> Quantity:
    named = {q.name: q for q in QUANTITIES}
    if name not in named:
        raise UnknownNameError(f'unknown quantity "{name}"; there are: {", ".join(named)}')
    return named[name]


def _common(a: Side, b: Side) -> tuple[str, ...]:
    """The parameters of both; one that only one of them varies must have one value."""
    for one, other in ((a, b), (b, a)):
        for parameter in set(one.parameters) - set(other.parameters):
            if (n := one.tables["flows"][parameter].n_unique()) > 1:
                raise ResultError(
                    f"{one.name}: {parameter} has {n} values there, and is not varied in {other.name}; "
                    "points cannot be paired"
                )
    return tuple(p for p in a.parameters if p in b.parameters)


def _rows(
    quantity: Quantity, a: Side, b: Side, parameters: tuple[str, ...], within: float, deviations: float
) -> tuple[list[Row], list[str]]:
    label = "name" if quantity.table == "links" else "label"
    keys = [*parameters, label]

    def values(of: Side) -> dict[tuple[Any, ...], dict[int, float]]:
        frame = of.tables.get(quantity.table, pl.DataFrame())
        if not frame.height:
            return {}
        if quantity.table == "links":
            frame = frame.filter(pl.col("rate_bps").is_finite())
        if not frame.height:
            return {}
        # flows of one name in one run are one observation
        value = quantity.value.cast(pl.Float64).fill_nan(None).mean().fill_null(math.nan) * quantity.scale
        frame = frame.group_by(*keys, "seed", maintain_order=True).agg(value=value)
        found: dict[tuple[Any, ...], dict[int, float]] = {}
        for *key, seed, x in frame.iter_rows():
            found.setdefault(tuple(key), {})[seed] = x
        return {key: runs for key, runs in found.items() if not all(map(math.isnan, runs.values()))}

    ours, theirs = values(a), values(b)
    missing = [
        f"only {one.name} has {quantity.name} of {len(alone)} of its {quantity.table}: {_few(alone)}"
        for one, has, hasnt in ((a, ours, theirs), (b, theirs, ours))
        if (alone := [", ".join(map(str, key)) for key in has if key not in hasnt])
    ]
    rows = []
    for key, x in ours.items():
        if key in theirs:
            y = theirs[key]
            shared = [seed for seed in x if seed in y]
            together = len(shared) >= min(len(x), len(y), stats.FEWEST)
            both = [x[seed] for seed in (shared if together else x)], [y[seed] for seed in (shared if together else y)]
            rows.append(
                judge(
                    *both, paired=together, within=within, deviations=deviations,
                    point=key[:-1], of=str(key[-1]), quantity=quantity.name, unit=quantity.unit,
                )
            )  # fmt: skip
    return rows, missing


def _numbers(a: Side, b: Side, within: float, deviations: float) -> tuple[list[Row], list[str]]:
    """The measured numbers of two published studies."""
    if a.numbers is None or b.numbers is None:
        one, other = (a, b) if b.numbers is None else (b, a)
        raise ResultError(f"{one.name} is a published study, and {other.name} is not: they have no rows in common")
    keys = ("item", "metric", "unit")
    found = [
        {tuple(row[k] for k in keys): row for row in of.numbers.iter_rows(named=True) if row["mean"] is not None}
        for of in (a, b)
        if of.numbers is not None
    ]
    rows = []
    for key, x in found[0].items():
        if (y := found[1].get(key)) is None:
            continue
        if x == y:  # the same runs: nothing is left to chance between them
            same = Estimate(0.0, 0.0, 0.0, x["n"])
            rows.append(
                Row((), key[0], key[1], key[2], x["mean"], y["mean"], same, within * abs(y["mean"]), stats.AGREES)
            )
            continue
        errors = [(row["high"] - row["low"]) / 2 if row["low"] is not None else math.nan for row in (x, y)]
        half = math.hypot(*errors)  # of independent means
        apart = x["mean"] - y["mean"]
        difference = Estimate(apart, apart - half, apart + half, min(x["n"], y["n"]))
        difference = _without_round_off(difference, [x["mean"]], [y["mean"]])
        deviation = 0.0
        if deviations and y["n"] > 1 and errors[1] > 0:
            deviation = errors[1] * math.sqrt(y["n"]) / stats.t_quantile(0.975, y["n"] - 1)
        tolerance = max(within * abs(y["mean"]), deviations * deviation)
        rows.append(
            Row(
                (), key[0], key[1], key[2], x["mean"], y["mean"], difference, tolerance, _verdict(difference, tolerance)
            )
        )
    missing = [
        f"only {one.name} has {len(alone)} of its numbers: {_few(alone)}"
        for one, has, hasnt in ((a, found[0], found[1]), (b, found[1], found[0]))
        if (alone := [", ".join(key[:2]) for key in has if key not in hasnt])
    ]
    return rows, missing


def _without_round_off(difference: Estimate, x: Sequence[float], y: Sequence[float]) -> Estimate:
    """What is but the arithmetic's, an interval of 4·10⁻¹⁵ about as much, is zero."""
    least = _ROUND_OFF * max((abs(value) for value in (*x, *y) if math.isfinite(value)), default=0.0)
    value, low, high = (0.0 if abs(v) <= least else v for v in (difference.value, difference.low, difference.high))
    return replace(difference, value=value, low=low, high=high)


def _verdict(difference: Estimate, tolerance: float) -> str:
    """By equivalence; few runs tell nothing of chance, so of them only equal ones agree."""
    equal = difference.value == 0 and not difference.high > difference.low
    return stats.AGREES if equal else difference.against(-tolerance, tolerance)


def _of(e: Estimate) -> str:
    return f"{e.n} of {e.n + e.missing}" if e.missing else str(e.n)


def _few(names: Sequence[str]) -> str:
    return "; ".join(names[:3]) + (" …" if len(names) > 3 else "")
