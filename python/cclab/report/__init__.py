"""One self-contained page from what a run or a study left in a folder: nothing is fetched, no script but ours runs."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Set
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from cclab import backends, folders, published, registry, results
from cclab.console import as_printed, certain, number, percent
from cclab.errors import ResultError, StudyError
from cclab.published.findings import WIDE, meanings
from cclab.published.reproduce import interval, runs, tolerance
from cclab.report import captions
from cclab.results import Result

if TYPE_CHECKING:
    from cclab.comparison import Compared
    from cclab.sweep import Study
    from cclab.versus import Answer

PAGE = "report.html"
_HERE = Path(__file__).parent


def write_report(folder: Path, schema: str | None = None) -> Path:
    """Write `report.html` into a folder of `run --out`, `reproduce`, `sweep` or `compare LAW LAW --out`.

    Args:
        folder: Where the result is.
        schema: What it holds; `None` reads its manifest.

    Returns:
        The page.

    Raises:
        ResultError: the folder is neither, or not whole.
    """
    from cclab import versus
    from cclab.sweep.store import is_store

    if schema is None and versus.is_kept(folder):
        return write_versus(versus.load(folder), folder)
    if schema is None and is_store(folder):
        folders.write_text(folder / PAGE, _sweep_page(folder))
        return folder / PAGE
    if schema is None and (folder / "comparison.csv").is_file() and not (folder / folders.MANIFEST).is_file():
        raise ResultError(f"{folder}: its page was made when it was compared: {folder / PAGE}")
    sealed = schema is None
    schema = schema or folders.schema_of(folder)
    if schema == results.SCHEMA:
        text = _run_page(folder)
    elif schema == published.SCHEMA:
        text = _published_page(folder, sealed)
    else:
        if schema.startswith("cclab.export/"):
            raise folders.exported(folder)
        raise ResultError(f"{folder}: holds {schema!r}, neither a run nor a study of this cclab")
    folders.write_text(folder / PAGE, text)
    return folder / PAGE


def _run_page(folder: Path) -> str:
    from cclab.report import run

    result = Result.load(folder)
    captions = {
        "cwnd": "Congestion window of each flow; dashed, its slow-start threshold.",
        "throughput": "Payload delivered in order to the application: what waits for a packet sent again comes with "
        "it, at more than the link's capacity for a moment.",
        "rtt": "Samples of the sender; one stands until the next comes.",
        "queue": "What waits at the queues that matter; dotted, their limit."
        + " Where stations share the air, at all of them together." * bool(result.stations.height),
        "map": "Stations, how far flows' sources reach, and the routes at that moment; a dotted hop is out of range.",
        "transmissions": "A bar is a frame on the air, in the row of its sender; a thin line leads to its receiver. "
        "An RTS without a cross and without an answer was heard by a station that others kept quiet.",
    }
    emulated = result.backend == "live" and set(result.flows["cc"]) == {"any"}
    if emulated:
        captions |= {
            "throughput": "Payload of the packets that the links handed over, copies and what was sent again included.",
            "rtt": "The latest delay each way, added up: one line for both directions.",
        }
    titles = {
        "cwnd": "Congestion window", "throughput": "Goodput", "rtt": "Round-trip time", "queue": "Queue",
        "map": "Stations and routes", "transmissions": "Who sends when",
    }  # fmt: skip
    if result.losses.height:
        captions["cwnd"] += " Marks are data packets that were lost, at the moment and by the cause; behind each cause "
        captions["cwnd"] += "stands how many, in the whole run."
    one = f" One run (n = 1, seed {result.seed}), so there is no interval."
    figures = [
        _figure(name, titles[name], captions[name] + one, chart.svg(), chart.series(), None)
        for name, chart in result.plot.all().items()
    ]
    scenario = (folder / "scenario.toml").read_text(encoding="utf-8")
    of = result.connections
    ended = of["fct_s"].is_finite()
    early = int((ended & (of["measured_s"] <= 0)).sum())
    kernel = backends.find("live").remark(result) if result.backend == "live" else None
    return _render(
        "run.html.j2",
        kernel=kernel,
        emulated=emulated,
        result=result,
        early=early,
        lacking=registry.lacking(result.flows["cc"].unique(maintain_order=True) if result.backend == "sim" else ()),
        tables=run.tables(result),
        certain=result.backend == "sim" and certain(result),
        most=run.MOST,
        scenario=scenario,
        figures=figures,
        title=result.name,
    )


def _published_page(folder: Path, sealed: bool) -> str:
    found = published.load(folder, sealed=sealed)
    figures = [
        _figure(
            f["name"],
            f["title"],
            f["caption"],
            (folder / "figures" / f"{f['name']}.svg").read_text(encoding="utf-8"),
            json.loads((folder / "figures" / f"{f['name']}.json").read_text(encoding="utf-8")),
            (folder / "figures" / f"{f['name']}.csv").read_bytes() if f["data"] else None,
        )
        for f in found["figures"]
    ]
    files = ["comparison.csv", "checks.csv", *(f"{table['name']}.csv" for table in found["tables"])]
    downloads = {name: _data_uri((folder / name).read_bytes(), "text/csv") for name in files}
    every = published.find(found["slug"]).parts() if found["slug"] in {s.slug for s in published.discover()} else ()
    chosen = found["parts"] if tuple(found["parts"]) != every else []
    counts = {
        "numbers": Counter((row["source"], row["verdict"]) for row in found["comparisons"]),
        "claims": Counter(row["verdict"] for row in found["checks"]),
    }
    for table in found["tables"]:
        table["numbers"] = [all(map(_is_number, column)) for column in zip(*table["rows"], strict=True)]
    groups = [(item, list(rows)) for item, rows in groupby(found["comparisons"], lambda row: row["item"])]
    return _render(
        "published.html.j2",
        comparisons=groups,
        found=found,
        figures=figures,
        downloads=downloads,
        counts=counts,
        wide=WIDE if any(row.get("others") for row in found["comparisons"]) else "",
        legends={"numbers": meanings(found["comparisons"]), "claims": published.CLAIMS},
        sources=published.SOURCES,
        part_options="".join(f" --part {part}" for part in chosen),
        set_options="".join(
            f" --set {shlex.quote(f'{path}={_as_set(value)}')}" for path, value in found.get("changes", {}).items()
        ),
        title=found["title"],
    )


def _as_set(value: Any) -> str:
    """A value as `--set` reads it: text as it is, any other as TOML, which has the words of JSON for it."""
    return value if isinstance(value, str) else json.dumps(value)


def _sweep_page(folder: Path) -> str:
    from cclab.report import sweep
    from cclab.sweep import Study

    study = Study.load(folder)
    status = study.status()
    if not status["finished"]:
        raise ResultError(f"{folder}: no run of this sweep is finished, so there is nothing to show")
    frame, metrics, link = sweep.per_run(study)
    columns, rows, left_out = sweep.table(frame, study.parameters, metrics)
    if sweep.COMPLETION in metrics:
        for heading, cells in reversed(sweep.completion(study)):
            place = columns.index(f"|{sweep.COMPLETION.label}") + 1
            columns = [*columns[:place], f"|{heading}", *columns[place:]]
            rows = [[*row[:place], cell, *row[place:]] for row, cell in zip(rows, cells.values(), strict=True)]
    figures = [
        _figure(name, title, text, chart.svg(), chart.series(), None if data is None else data.write_csv().encode())
        for name, title, text, chart, data in sweep.charts(study, frame, metrics)
    ]
    failures = [
        {"point": ", ".join(str(row[p]) for p in study.parameters), "seed": row["seed"], "error": row["error"]}
        for row in study.table("failures").head(50).to_dicts()
    ]
    again = _again(study, folder)
    laws = study.table("flows")["cc"].unique(maintain_order=True) if study.backend == "sim" else ()
    runs_uri = _data_uri(frame.write_csv().encode(), "text/csv")
    return _render(
        "sweep.html.j2",
        title=study.name, status=status, seeds=study.seeds, parameters=study.parameters, link=link, columns=columns,
        rows=rows, figures=figures, failures=failures, identical=study.identical(), early=sweep.early(study),
        left_out=left_out, lacking=registry.lacking(laws), definitions=sweep.definitions(study), again=again,
        points_uri=_data_uri(_csv([[c.removeprefix("|") for c in columns], *rows]), "text/csv"), runs_uri=runs_uri,
        versions=study.versions, how=_HOW.get(study.backend, study.backend), live=study.backend == "live",
    )  # fmt: skip


def _again(study: Study, folder: Path) -> list[tuple[str, str]]:
    """How to run a study again where nothing of it is at hand: names of files with their texts, then the command."""
    files: dict[str, str] = {}
    for name, law in study.laws.items():
        files.setdefault(law["text"], Path(law["file"]).name or f"{name}.py")
    options = "".join(f" --algorithms {shlex.quote(name)}" for name in files.values())
    try:
        return [*((name, text) for text, name in files.items()), ("study.toml", study.to_toml()),
                ("", f"cclab sweep study.toml{options} --out {shlex.quote(folder.name)}")]  # fmt: skip
    except StudyError:  # what a file has no words for: its folder has it
        again = f"cclab sweep {shlex.quote(folder.name)}{options}"
        return [*((name, text) for text, name in files.items()), ("", again)]


_HOW = {"sim": "simulated, packet by packet", "model": "closed formulas", "live": "measured in a kernel"}


def write_comparison(found: Compared, folder: Path) -> Path:
    """Write the page of a comparison, with its table and its figure beside it.

    Raises:
        ResultError: the folder holds anything but an earlier one.
        OSError: it cannot be written.
    """
    refuse_others(folder, {"comparison.csv", "comparison.svg", PAGE})
    folder.mkdir(parents=True, exist_ok=True)
    chart, data = found.chart(), found.frame().write_csv().encode()
    headings, rows = found.cells()
    few = "" if len(rows) <= 40 else f" The 40 of {len(rows)} that are furthest apart."
    caption = f"Relative to {found.b}; bars are 95 % intervals, grey is the tolerance.{few} {found.footing()}"
    page = _render(
        "compare.html.j2", title="Two beside each other", found=found, rows=rows,
        headings=headings,
        figure=_figure("comparison", "Difference", caption, chart.svg(), chart.series(), data),
        data_uri=_data_uri(data, "text/csv"), version=results.versions()["cclab"],
    )  # fmt: skip
    folders.write_bytes(folder / "comparison.csv", data)
    folders.write_text(folder / "comparison.svg", chart.svg())
    folders.write_text(folder / PAGE, page)
    return folder / PAGE


def refuse_others(
    folder: Path, ours: Set[str] = frozenset({"runs", "runs.csv", "question.json", "plots", PAGE})
) -> None:
    """Refuse a folder that holds anything but a comparison; unless given what is in one, that of congestion controls.

    Raises:
        ResultError: what else it holds.
    """
    if folder.exists() and (others := sorted({p.name for p in folder.iterdir()} - ours)):
        raise ResultError(f"{folder}: holds something that is no comparison ({others[0]}); name another folder")


def write_versus(answer: Answer, folder: Path) -> Path:
    """Write the page of two congestion controls beside each other, and its table; the store of the runs is beside it.

    Raises:
        ResultError: the folder holds something else.
        OSError: it cannot be written.
    """
    from cclab import versus

    refuse_others(folder)
    folder.mkdir(parents=True, exist_ok=True)
    question, data = answer.question, answer.runs.write_csv().encode()
    headings, rows = answer.cells()
    for above, row in pairwise(rows):  # each names its mixture: rows can be sorted
        row[0] = row[0] or above[0]
    one = f"One run (n = 1, seed {answer.study.seeds[0]}), so there is no interval."
    drawn, over_time = answer.figures(), list(answer.over_time())
    n = len(answer.study.seeds)
    told = {name: (title, text.format(n=n)) for name, (title, text) in captions.OF_LAWS.items()}
    told |= {f"throughput-{i}": (f"Over time: {mix}", one) for i, mix in enumerate(over_time)}
    charts = [(name, *told[name], chart) for name, chart in drawn.items()]
    page = _render(
        "versus.html.j2", title=f"{question.a} or {question.b}?", answer=answer, question=question, rows=rows,
        headings=headings,
        figures=[_figure(name, title, text, chart.svg(), chart.series(), None) for name, title, text, chart in charts],
        runs_uri=_data_uri(data, "text/csv"), scenario=answer.study.scenario_toml(), seeds=answer.study.seeds,
        again=question.command(), version=results.versions()["cclab"],
    )  # fmt: skip
    versus.keep(answer, folder)
    folders.write_bytes(folder / "runs.csv", data)
    folders.write_text(folder / PAGE, page)
    return folder / PAGE


def _csv(rows: list[list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _render(template: str, **values: Any) -> str:
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": number,
        "percent": percent,
        "as_printed": as_printed,
        "slug": _slug,
        "whole": _whole,
        "heading": lambda text: text.removeprefix("|").replace("|", " "),
        "difference": _difference,
        "interval": interval,
        "tolerance": tolerance,
        "runs": runs,
    }
    style = Markup((_HERE / "style.css").read_text(encoding="utf-8"))  # ours, not a scenario's
    scripts = [(_HERE / name).read_text(encoding="utf-8") for name in ("figures.js", "tables.js")]
    script = Markup('"use strict";\n' + "".join(scripts))
    # A browser runs this script and no other, whatever a name in a scenario may contain.
    script_hash = "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template(template).render(style=style, script=script, script_hash=script_hash, **values)


def _whole(cell: str) -> str:
    """A figure that is wrapped, if at all, before its interval."""
    return cell.replace("± ", "±\u00a0").replace(", ", ",\u00a0")


def _is_number(cell: str) -> bool:
    """Whether a cell of a table is a figure, perhaps with an interval, or none, and not words that may be wrapped."""
    return bool(re.match(r"[-+−–×±\[]*\s*\d|–|$", cell)) and len(re.findall(r"[A-Za-z]{3,}", cell)) == 0


def _difference(row: dict[str, Any]) -> str:
    """Measured less the reference, and relative to it."""
    if row["reference"] is None or row["measured"] is None:
        return "–"
    off = row["measured"] - row["reference"]
    sign = "+" if off > 0 else "−" if off < 0 else "±"
    relative = f" ({sign}{abs(off / row['reference']) * 100:.1f} %)" if row["reference"] else ""
    return f"{sign}{number(abs(off), 3)}{relative}"


def _figure(
    name: str, title: str, caption: str, svg: str, series: dict[str, Any], data: bytes | None
) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "caption": caption,
        "svg": inline_svg(svg, name, title),
        "series": series,
        "svg_uri": _data_uri(svg.encode(), "image/svg+xml"),
        "csv_uri": _data_uri(_points(series) if data is None else data, "text/csv"),
    }


def _points(series: dict[str, Any]) -> bytes:
    """What a figure shows as CSV, where nothing better is given."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["series", "x_label", "y_label", "x", "y", "low", "high"])
    for one in series["series"]:
        labels = series["axes"][one["axes"]]
        for _, _, *values in one["points"]:
            writer.writerow([one["name"], labels["x"], labels["y"], *values, *[""] * (4 - len(values))])
    return out.getvalue().encode()


def inline_svg(svg: str, name: str, title: str) -> Markup:
    """An SVG file of ours as part of a page: its ids made unique, its size left to the page, within bounds.

    It is no smaller than makes its smallest text 9 px, and so wide that text of 9 points is 15 px, at most.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    head, rest = body.split(">", 1)
    width = float(re.findall(r'viewBox="0 0 ([0-9.]+) ', head)[0])
    glyphs = map(float, re.findall(r"scale\(([0-9.]+) -\1\)", rest))  # which are 100 points high
    points = 100 * min(glyphs, default=0.09)
    size = f"min-width: {9 / points * width:.0f}px; max-width: {15 / 9 * width:.0f}px"
    head = re.sub(r'\s(xmlns(:\w+)?|width|height|version)="[^"]*"', "", head)
    prefix = _slug(name)
    rest = re.sub(r'\bid="', f'id="{prefix}-', rest)
    rest = re.sub(r'href="#', f'href="#{prefix}-', rest)
    rest = re.sub(r"url\(#", f"url(#{prefix}-", rest)
    return Markup(f'{head} style="{size}" role="img" aria-label="{html.escape(title)}">{rest}')


def _data_uri(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
