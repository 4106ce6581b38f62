"""Run a study and keep what it found in a folder: page, tables, figures; whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cclab import _core, folders
from cclab.errors import ResultError
from cclab.published.context import Context
from cclab.published.findings import (
    CLAIMS,
    EXACT,
    VERDICTS,
    WIDE,
    Check,
    Comparison,
    Findings,
    exact,
    meanings,
    to_csv,
    told_apart,
)
from cclab.published.library import LIBRARY, Published
from cclab.results import versions
from cclab.scenario import Scenario
from cclab.sweep import Progress

SCHEMA = "cclab.study/3"
PAGE = "report.html"


def reproduce(
    study: Published,
    place: Path,
    *,
    quick: bool,
    force: bool,
    progress: Callable[[Progress], None],
    parts: Sequence[str] = (),
    note: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, Any], bool]:
    """Run `study` and write `report.html`, `comparison.csv`, `checks.csv` and figures into `place`.

    Args:
        study: Which.
        place: A folder; one of an earlier reproduction is replaced.
        quick: Fewer points and replications.
        force: Run even if nothing has changed since the last time.
        progress: Called now and then with how far its runs are.
        parts: Only these of the parts that its `study.toml` lists.
        note: Called with a remark for the person who waits.

    Returns:
        What the study found, as in `study.json`, and whether it was run now.

    Raises:
        ResultError: `place` holds something else.
        StudyError: the study cannot be run as it is written, or has no such part.
    """
    from cclab.report import write_report

    parts = study.parts(parts)
    key = _key(study, quick, parts)
    if not force and (earlier := _earlier(place, key)) is not None:
        if not (place / PAGE).is_file():
            write_report(place)
        return earlier, False
    about = {"study": study.slug, "key": key}
    with folders.whole_folder(place, SCHEMA, about, derived=(PAGE,)) as folder:
        if quick:
            note(f"Quick version: {study.shorter(parts)}.")
        takes_s = study.takes_s(quick, parts)
        context = Context(study.folder, study.about, quick, folder, progress, parts, runs_of(place), note, takes_s)
        findings = study.analysis().run(context)
        seconds = " + ".join(f"{of_call:.0f}" for of_call in context.cpu_s) or "0"
        note(f"{context.distinct:,} runs, {seconds} s of CPU time in the simulator.")
        findings.comparisons = told_apart(findings.comparisons)
        found = _found(study, findings, context)
        _write(folder, findings, found)
        write_report(folder, schema=SCHEMA)
    return found, True


def runs_of(place: Path) -> Path:
    """Where the finished runs of a study are kept, whose page is or will be in `place`: beside it."""
    return place.with_name(f"{place.name}.runs")


def load(place: Path, *, sealed: bool = True) -> dict[str, Any]:
    """What a study found, from the folder that `reproduce` wrote.

    Args:
        place: The folder.
        sealed: Whether it has its manifest already.

    Raises:
        ResultError: it is not whole.
    """
    if sealed:
        folders.open_folder(place, SCHEMA)
    return dict(json.loads((place / "study.json").read_text(encoding="utf-8")))


def tables(found: dict[str, Any]) -> list[Any]:
    """References beside what was measured, and the claims in words, for the terminal."""
    from cclab.console import as_printed, number, table

    heads = "Verdict", "|Reference", "Source", "|Tolerance", "|Measured", "|95 %|interval", "|n"
    made = table(found["title"], "Item", "Metric", *heads)
    for row in found["comparisons"]:
        metric = row["metric"] if row["unit"] in ("", "1") else f"{row['metric']} ({row['unit']})"
        made.add_row(
            row["item"], metric, row["verdict"], as_printed(row["reference"]), row["source"], tolerance(row),
            number(row["measured"]), interval(row), runs(row),
        )  # fmt: skip
    checks = table("claims in words", "Claim", "Verdict")
    for row in found["checks"]:
        checks.add_row(row["check"], row["verdict"])
    told = legend(meanings(found["comparisons"]))
    told += f"\n{WIDE}" if any(row.get("others") for row in found["comparisons"]) else ""
    shown = [(made, told)] if found["comparisons"] else []
    shown += [(checks, legend(CLAIMS))] if found["checks"] else []
    return [thing for pair in shown for thing in pair]


def conclusion(found: dict[str, Any]) -> str:
    """How many figures and claims have which verdict, in a line."""
    parts = []
    for of, rows, words in (("figures", found["comparisons"], VERDICTS), ("claims", found["checks"], CLAIMS)):
        counts = Counter(row["verdict"] for row in rows)
        if rows:
            told = ", ".join(f"{verdict} {counts[verdict]}" for verdict in words if counts[verdict])
            parts.append(f"{len(rows)} {of}: {told}")
    return "; ".join(parts) or "nothing was judged"


def legend(words: dict[str, str]) -> str:
    """What verdicts mean, a line each."""
    return "\n".join(f"{word}: {meaning}" for word, meaning in words.items())


def tolerance(row: dict[str, Any]) -> str:
    """The tolerance of a comparison; one that would let another row's reference pass is marked."""
    return (row["tolerance"] or "–") + ("°" if row.get("others") else "")


def interval(row: dict[str, Any]) -> str:
    """The ends of a comparison's interval, or half of it where it is too narrow to be seen in them."""
    from cclab.console import number

    if row["ci_low"] is None:
        return EXACT if exact(row) else "–"
    low, high = number(row["ci_low"]), number(row["ci_high"])
    if low != high:
        return f"{low} to {high}"
    half = (row["ci_high"] - row["ci_low"]) / 2
    return f"± {number(half, 2)}" if half > 1e-9 * abs(row["measured"]) else "all the same"


def runs(row: dict[str, Any]) -> str:
    """How many runs a comparison rests on, of how many."""
    return f"{row['n']} of {row['n'] + row['missing']}" if row["missing"] else str(row["n"])


def _cell(value: Any) -> str:
    """A cell of a table: a dash where there is nothing."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    return f"{float(f'{value:.6g}'):.10g}" if isinstance(value, float) else str(value)


def _found(study: Published, findings: Findings, context: Context) -> dict[str, Any]:
    return {
        "slug": study.slug,
        "title": study.title,
        "question": study.question,
        "source": study.source,
        "quick": context.quick,
        "shorter": study.shorter(context.parts),
        "changes": study.changes,
        "parts": list(context.parts),
        "summary": findings.summary,
        "differences": findings.differences,
        "method": findings.method,
        "comparisons": [asdict(row) for row in findings.comparisons],
        "checks": [asdict(row) for row in findings.checks],
        "tables": [
            {
                "name": t.name,
                "title": t.title,
                "caption": t.caption,
                "columns": t.frame.columns,
                "rows": [list(map(_cell, row)) for row in t.frame.rows()],
            }
            for t in findings.tables
        ],
        "figures": [
            {"name": f.name, "title": f.title, "caption": f.caption, "data": f.data is not None}
            for f in findings.figures
        ],
        "runs": _runs(context.runs),
        "measured": context.measured,
        "versions": versions(),
    }


def _write(folder: Path, findings: Findings, found: dict[str, Any]) -> None:
    folders.write_text(folder / "study.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    folders.write_text(folder / "comparison.csv", to_csv(findings.comparisons, Comparison))
    folders.write_text(folder / "checks.csv", to_csv(findings.checks, Check))
    for table in findings.tables:
        (table.data if table.data is not None else table.frame).write_csv(folder / f"{table.name}.csv")
    figures = folder / "figures"
    figures.mkdir()
    for figure in findings.figures:
        figure.chart.save(figures / f"{figure.name}.svg")
        # For the page: which values its points stand for.
        folders.write_text(figures / f"{figure.name}.json", json.dumps(figure.chart.series()) + "\n")
        if figure.data is not None:
            figure.data.write_csv(figures / f"{figure.name}.csv", float_precision=9)


def _runs(runs: Iterable[tuple[Scenario, int]]) -> list[dict[str, Any]]:
    """Each distinct scenario once, with its seeds."""
    seeds: dict[Scenario, list[int]] = {}
    for scenario, seed in runs:
        seeds.setdefault(scenario, []).append(seed)
    return [{"name": s.name, "scenario": s.to_toml(), "seeds": sorted(set(n))} for s, n in seeds.items()]


def _earlier(place: Path, key: str) -> dict[str, Any] | None:
    try:
        if folders.open_folder(place, SCHEMA).get("key") != key:
            return None
        return load(place)
    except (ResultError, OSError, ValueError):
        return None


def _key(study: Published, quick: bool, parts: Sequence[str]) -> str:
    """A hash of all that determines what a study finds: its folder, this package, the compiled core."""
    package = Path(__file__).parents[1]
    files = [p for p in study.folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    files += [p for p in package.rglob("*") if p.suffix in (".py", ".j2", ".css", ".js") and LIBRARY not in p.parents]
    whole = hashlib.sha256(f"quick={quick} {' '.join(parts)} {json.dumps(study.changes)}".encode())
    for path in [*sorted(files), Path(_core.__file__)]:
        whole.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()
