"""One self-contained page from what a run or a study left in a folder: nothing is fetched, no script but ours runs."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from cclab import results, store, studies
from cclab.console import as_printed, number, percent
from cclab.errors import ResultError
from cclab.results import Result

PAGE = "report.html"
_HERE = Path(__file__).parent


def write_report(folder: Path, schema: str | None = None) -> Path:
    """Write `report.html` into a folder of `run --out` or `reproduce`.

    Args:
        folder: Where the result is.
        schema: What it holds; `None` reads its manifest.

    Returns:
        The page.

    Raises:
        ResultError: the folder is neither, or not whole.
    """
    sealed = schema is None
    schema = schema or store.schema_of(folder)
    if schema == results.SCHEMA:
        text = _run_page(folder)
    elif schema == studies.SCHEMA:
        text = _study_page(folder, sealed)
    else:
        raise ResultError(f"{folder}: holds {schema!r}, neither a run nor a study of this cclab")
    store.write_text(folder / PAGE, text)
    return folder / PAGE


def _run_page(folder: Path) -> str:
    result = Result.load(folder)
    captions = {
        "cwnd": "Congestion window of each flow; dashed, its slow-start threshold.",
        "throughput": "Payload delivered in order to the application.",
        "rtt": "Samples of the sender.",
        "queue": "What waits at the queues that matter; dotted, their limit.",
    }
    titles = {
        "cwnd": "Congestion window", "throughput": "Goodput", "rtt": "Round-trip time", "queue": "Queue",
    }  # fmt: skip
    one = f" One run (n = 1, seed {result.seed}), so there is no interval."
    figures = [
        _figure(name, titles[name], captions[name] + one, chart.svg(), chart.series(), None)
        for name, chart in result.plot.all().items()
    ]
    scenario = (folder / "scenario.toml").read_text(encoding="utf-8")
    links = result.links.filter(result.links["rate_bps"].is_finite()).head(50).to_dicts()
    return _render("run.html.j2", result=result, links=links, scenario=scenario, figures=figures, title=result.name)


def _study_page(folder: Path, sealed: bool) -> str:
    found = studies.load(folder, sealed=sealed)
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
    downloads = {name: _data_uri((folder / name).read_bytes(), "text/csv") for name in ("comparison.csv", "checks.csv")}
    counts = {
        "numbers": Counter(row["verdict"] for row in found["comparisons"]),
        "claims": Counter(row["verdict"] for row in found["checks"]),
    }
    groups = [(item, list(rows)) for item, rows in groupby(found["comparisons"], lambda row: row["item"])]
    return _render(
        "study.html.j2",
        comparisons=groups,
        found=found,
        figures=figures,
        downloads=downloads,
        counts=counts,
        title=found["title"],
    )


def _render(template: str, **values: Any) -> str:
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": number,
        "percent": percent,
        "as_printed": as_printed,
        "slug": _slug,
        "difference": _difference,
    }
    style = Markup((_HERE / "style.css").read_text(encoding="utf-8"))  # ours, not a scenario's
    script = Markup((_HERE / "figures.js").read_text(encoding="utf-8"))
    # A browser runs this script and no other, whatever a name in a scenario may contain.
    script_hash = "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template(template).render(style=style, script=script, script_hash=script_hash, **values)


def _difference(row: dict[str, Any]) -> str:
    """Measured less published, and relative to published."""
    if row["published"] is None or row["measured"] is None:
        return "–"
    off = row["measured"] - row["published"]
    sign = "+" if off > 0 else "−" if off < 0 else "±"
    relative = f" ({sign}{abs(off / row['published']) * 100:.1f} %)" if row["published"] else ""
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
    """An SVG file of ours as part of a page: its ids made unique, its size left to the page."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    head, rest = body.split(">", 1)
    head = re.sub(r'\s(xmlns(:\w+)?|width|height|version)="[^"]*"', "", head)
    prefix = _slug(name)
    rest = re.sub(r'\bid="', f'id="{prefix}-', rest)
    rest = re.sub(r'href="#', f'href="#{prefix}-', rest)
    rest = re.sub(r"url\(#", f"url(#{prefix}-", rest)
    return Markup(f'{head} role="img" aria-label="{html.escape(title)}">{rest}')


def _data_uri(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
