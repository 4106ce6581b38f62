"""What a study found: rows for `comparison.csv` and `checks.csv`, figures and words for the page."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from cclab.analysis import stats
from cclab.errors import StudyError

if TYPE_CHECKING:
    import polars as pl

    from cclab.analysis.plots import Chart

VERDICTS = {
    stats.AGREES: "the whole 95 % interval lies within the tolerance",
    stats.DIFFERS: "all of it lies outside",
    stats.CANNOT_TELL: f"part of it does; or, where chance plays in, under {stats.FEWEST} runs have a figure or over a "
    "fifth have none",
    stats.NOT_TESTED: "no tolerance to judge by, or not run",
}
"""Of a number beside another, and what each means."""
EXACT = "exact"
"""In the place of an interval."""
BY_RANKS = VERDICTS | {stats.DIFFERS: "all of it lies outside; by ranks: a rank test (5 %) tells the runs apart"}
"""The same where some are told apart by a rank test, as their tolerance says."""
CLAIMS = {
    stats.HOLDS: "every comparison that the claim rests on is for it",
    stats.PARTLY: "some are for it and some against it",
    stats.FAILS: "some are against it and none is for it",
    stats.CANNOT_TELL: "none is against it, and the intervals of some say nothing",
    stats.NOT_TESTED: "nothing was measured that it could be judged by",
}
"""Of a claim in words, and what each means."""
SOURCES = {
    "paper": "published figures",
    "formula": "values of a formula",
    "simulator": "figures of another simulator",
    "kernel": "figures of a kernel",
    "arithmetic": "sums done again",
}
"""What a comparison's reference is."""


@dataclass(frozen=True)
class Comparison:
    """A reference number beside ours: a row of `comparison.csv`.

    Attributes:
        item: What it is about, e.g. `"Reno"`.
        metric: e.g. `"throughput"`.
        unit: e.g. `"Mbit/s"`; empty when it has none.
        source: What the reference is, one of `SOURCES`.
        reference: The number.
        tolerance: What still agrees, e.g. `"±10 %"`; empty where nothing is judged.
        measured: Ours, in the same unit; `None` where we could not measure it.
        ci_low: Lower end of our 95 % interval; `None` where there is none.
        ci_high: Upper end.
        n: Runs that it rests on.
        missing: Runs beside them that gave no figure.
        verdict: One of `VERDICTS`.
        note: Why, if it differs.
        others: How many other rows of this metric have a reference that its tolerance would let pass: so wide a
            tolerance does not tell them apart. Filled in by `told_apart`.
    """

    item: str
    metric: str
    unit: str
    source: str
    reference: float | None
    tolerance: str
    measured: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    missing: int
    verdict: str
    note: str = ""
    others: int = 0

    def __post_init__(self) -> None:
        for name, value, known in (("verdict", self.verdict, VERDICTS), ("source", self.source, SOURCES)):
            if value not in known:
                raise StudyError(f"{self.item}, {self.metric}: {name} {value!r} is not one of {', '.join(known)}")


@dataclass(frozen=True)
class Check:
    """A claim in words: a row of `checks.csv`.

    Attributes:
        check: The claim.
        verdict: One of `CLAIMS`.
        evidence: The figures that say so.
    """

    check: str
    verdict: str
    evidence: str

    def __post_init__(self) -> None:
        if self.verdict not in CLAIMS:
            raise StudyError(f"check {self.check!r}: verdict {self.verdict!r} is not one of {', '.join(CLAIMS)}")


_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"


def room(reference: float | None, tolerance: str) -> tuple[float, float] | None:
    """What a tolerance lets pass, as it is written: `±5 %`, `±0.02`, `0.9 to 1.1`; else `None`."""
    if reference is None:
        return None
    if ends := re.match(f"({_NUMBER}) to ({_NUMBER})$", tolerance):
        return float(ends[1]), float(ends[2])
    if half := re.match(f"±({_NUMBER})( %)?", tolerance):
        slack = float(half[1]) * (abs(reference) / 100 if half[2] else 1.0)
        return reference - slack, reference + slack
    return None


def told_apart(rows: Sequence[Comparison]) -> list[Comparison]:
    """The rows, each with the number of others of its metric, unit and source whose reference it would let pass.

    Rows of one and the same reference are not to be told apart.
    """
    alike: dict[tuple[str, str, str], list[Comparison]] = {}
    for row in rows:
        alike.setdefault((row.metric, row.unit, row.source), []).append(row)
    made = []
    for row in rows:
        ends = room(row.reference, row.tolerance)
        theirs = [
            r.reference for r in alike[row.metric, row.unit, row.source] if r.reference not in (None, row.reference)
        ]
        within = sum(ends[0] <= x <= ends[1] for x in theirs if x is not None) if ends else 0
        made.append(replace(row, others=within))
    return made


WIDE = "°: so wide that the reference of another row of this metric would pass; the verdict does not tell the two apart"
"""What the mark at a tolerance means."""


def judged(check: str, comparisons: Iterable[str], evidence: str) -> Check:
    """A claim that follows from comparisons, by `stats.claim`; the evidence ends with how many of them are for it.

    Args:
        check: The claim.
        comparisons: Verdicts of `Estimate.against`, `above` or `below`, of `stats.every` or `stats.fact`.
        evidence: The figures that say so.
    """
    found = list(comparisons)
    if len(found) > 1:
        yes, no = found.count(stats.AGREES), found.count(stats.DIFFERS)
        told = f"{yes} for it, {no} against it, {len(found) - yes - no} cannot tell"
        said = f"{evidence.rstrip('. ')}. " if evidence.strip(". ") else ""
        evidence = f"{said}Of {len(found)} comparisons {told}."
    return Check(check, stats.claim(found), evidence)


@dataclass
class Figure:
    """A figure of the page.

    Attributes:
        name: File name without ending.
        title: Above it.
        caption: Below it; says n and what the interval is.
        chart: The figure.
        data: Its numbers, for download.
    """

    name: str
    title: str
    caption: str
    chart: Chart
    data: pl.DataFrame | None = None


@dataclass
class Table:
    """A table of the page.

    Attributes:
        name: File name without ending.
        title: Above it.
        caption: Below it; says n and what the interval is.
        frame: What is shown, as text.
        data: Its numbers, for download; `None` is what is shown.
    """

    name: str
    title: str
    caption: str
    frame: pl.DataFrame
    data: pl.DataFrame | None = None


@dataclass
class Findings:
    """All that a published study found.

    Attributes:
        comparisons: One for each published number.
        checks: One for each claim in words.
        figures: In the order of the page.
        tables: Measured figures without a published number beside them.
        summary: A paragraph: the answer to the question.
        differences: Where we differ and what we think is why; a paragraph each.
        method: How it was measured; a paragraph each.
    """

    comparisons: list[Comparison]
    checks: list[Check]
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    summary: str = ""
    differences: list[str] = field(default_factory=list)
    method: list[str] = field(default_factory=list)


def exact(row: Mapping[str, Any]) -> bool:
    """Whether a comparison has a verdict from fewer runs than tell of chance: nothing is left to it there."""
    return row["n"] < stats.FEWEST and row["verdict"] in (stats.AGREES, stats.DIFFERS)


def meanings(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What the words of these comparisons mean."""
    rows = list(rows)
    words = BY_RANKS if any("by ranks" in row["tolerance"] for row in rows) else VERDICTS
    told = "nothing is left to chance there, so one run is all there is, and its figure decides"
    return words | ({EXACT: told} if any(map(exact, rows)) else {})


def compare(
    item: str,
    metric: str,
    unit: str,
    reference: float | None,
    values: Sequence[float] | stats.Estimate,
    *,
    source: str = "paper",
    tolerance: float | None = None,
    slack: float | None = None,
    bounds: tuple[float, float] = stats.ANY,
    spread: tuple[float, int] | None = None,
    chance: bool = True,
    note: str = "",
) -> Comparison:
    """A row from replications.

    The verdict is that of `Estimate.against`: our 95 % interval (Student's t) and the reference with its tolerance.
    Without a tolerance it is not tested.

    Args:
        item: What it is about.
        metric: What is measured.
        unit: Unit of both numbers.
        reference: The number to compare with; `None` is not tested.
        values: Ours, one for each run, NaN where a run has none; or an estimate.
        source: One of `SOURCES`.
        tolerance: Relative to the reference, e.g. 0.05.
        slack: The tolerance in the unit, in place of a relative one.
        bounds: What the quantity cannot leave: the interval is cut there.
        spread: Standard deviation and number of the runs whose mean the reference is, where they are known: the
            verdict is then that of the difference of two means.
        chance: False where nothing is left to chance, so that one value decides.
        note: Goes with the row.
    """
    ours = values if isinstance(values, stats.Estimate) else stats.mean(values, bounds=bounds)
    verdict, told, room = stats.NOT_TESTED, "", slack
    if tolerance is not None:
        told, room = f"±{100 * tolerance:.3g} %", None if reference is None else tolerance * abs(reference)
    elif slack is not None:
        told = f"±{slack:g}" if slack else "exactly"
    if reference is not None and room is not None:
        of = ours
        if spread is not None and not isinstance(values, stats.Estimate):
            of = stats.welch(values, *spread)
            note = f"Theirs: s = {spread[0]:g}, n = {spread[1]}. {note}".strip()
        verdict = of.against(reference - room, reference + room, chance=chance)
    return Comparison(
        item, metric, unit, source, reference, told, _known(ours.value), _known(ours.low), _known(ours.high), ours.n,
        ours.missing, verdict, note,
    )  # fmt: skip


def to_csv(rows: Sequence[Comparison] | Sequence[Check], kind: type[Comparison] | type[Check]) -> str:
    """The rows as CSV; an unknown number is an empty field."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [f.name for f in fields(kind)], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in asdict(row).items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    return (
        f"{value:.10g}" if isinstance(value, float) and math.isfinite(value) else "" if _known(value) is None else value
    )


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
