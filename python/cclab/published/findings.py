"""What a study found: rows for `comparison.csv` and `checks.csv`, figures and words for the page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from cclab.errors import StudyError

if TYPE_CHECKING:
    import polars as pl

    from cclab.analysis.plots import Chart

VERDICTS = ("holds", "partly", "fails", "not tested")


@dataclass(frozen=True)
class Comparison:
    """A published number beside ours: a row of `comparison.csv`.

    Attributes:
        item: What it is about, e.g. `"Reno"`.
        metric: e.g. `"throughput"`.
        unit: e.g. `"Mbit/s"`; empty when it has none.
        published: The number in the paper.
        measured: Ours, in the same unit; `None` where we could not measure it.
        ci_low: Lower end of our 95 % interval; `None` where there is none.
        ci_high: Upper end.
        n: Runs that it rests on.
        verdict: `"agrees"`, `"differs"`, `"cannot tell"` or `"not tested"`.
        note: Why, if it differs.
    """

    item: str
    metric: str
    unit: str
    published: float | None
    measured: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    verdict: str
    note: str = ""


@dataclass(frozen=True)
class Check:
    """A claim in words: a row of `checks.csv`.

    Attributes:
        check: The claim.
        verdict: `"holds"`, `"partly"`, `"fails"` or `"not tested"`.
        evidence: The figures that say so.
    """

    check: str
    verdict: str
    evidence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise StudyError(f"check {self.check!r}: verdict {self.verdict!r} is not one of {', '.join(VERDICTS)}")


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


def compare(
    item: str,
    metric: str,
    unit: str,
    published: float | None,
    values: Sequence[float],
    *,
    tolerance: float = 0.0,
    spread: tuple[float, int] | None = None,
    note: str = "",
) -> Comparison:
    """A row from replications.

    The verdict is that of `Estimate.against`: our 95 % interval (Student's t) and the published number with its
    tolerance. Without a tolerance it agrees if the published number lies in our interval.

    Args:
        item: What it is about.
        metric: What is measured.
        unit: Unit of both numbers.
        published: The number in the paper; `None` is not tested.
        values: Ours, one per run.
        tolerance: Relative to the published number, e.g. 0.05.
        spread: Standard deviation and number of the runs whose mean the published number is, where they are known: the
            verdict is then that of the difference of two means.
        note: Goes with the row.
    """
    from cclab.analysis import stats

    ours = stats.mean(values)
    verdict = "not tested"
    if published is not None and tolerance:
        slack = tolerance * abs(published)
        judged = ours
        if spread is not None:
            judged = stats.welch(values, *spread)
            note = f"Theirs: s = {spread[0]:g}, n = {spread[1]}. {note}".strip()
        verdict = judged.against(published - slack, published + slack)
        note = f"Tolerance {100 * tolerance:.3g} %. {note}".strip()
    elif published is not None:
        low, high = (ours.value, ours.value) if math.isnan(ours.low) else (ours.low, ours.high)
        verdict = "agrees" if low <= published <= high else "differs"
    return Comparison(
        item, metric, unit, published, ours.value, _known(ours.low), _known(ours.high), ours.n, verdict, note
    )


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
