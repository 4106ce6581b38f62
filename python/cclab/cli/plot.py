"""`cclab plot`: the figures of a run, a sweep or two congestion controls, as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cclab.cli.files import KeptFolder, NewFolder
from cclab.errors import ResultError

if TYPE_CHECKING:
    from cclab.analysis.plots import Chart

_OF_RUNS = (
    "cwnd",
    "throughput",
    "rtt",
    "queue",
    "trade",
    "delay-cdf",
    "delay-box",
    "convergence",
    "map",
    "transmissions",
)
_OF_SWEEPS = ("over", "facets", "share", "heatmap", "trade", "delay-cdf", "delay-box", "convergence", "throughput")
_OF_LAWS = ("shares", "heatmap", "trade", "delay-cdf", "delay-box", "convergence", "throughput")
FIGURES = tuple(dict.fromkeys((*_OF_RUNS, *_OF_SWEEPS, *_OF_LAWS)))


@click.command(short_help="Draw figures from a kept result or sweep.")
@click.argument("folder", type=KeptFolder())
@click.option(
    "--figure", "figures", multiple=True, type=click.Choice(FIGURES), metavar="NAME",
    help="Only this one; may be given more than once.",
)  # fmt: skip
@click.option("--over", "along", metavar="PATH", help="Of a sweep: the factor of the axis, e.g. network.queue.limit.")
@click.option("--rows", metavar="PATH", help="Of a sweep: a factor whose values are rows of panels (or of a heat map).")
@click.option("--columns", metavar="PATH", help="Of a sweep: one whose values are columns.")
@click.option("--metric", help="Of a sweep: goodput, flows, share, utilisation, jain, queue, loss, completion, harm.")
@click.option("--format", "kind", type=click.Choice(["svg", "pdf", "png"]), default="svg", help="Default svg.")
@click.option("--out", type=NewFolder(), help="Where to (default FOLDER/plots).")
def plot(folder: Path, figures: tuple[str, ...], kind: str, out: Path | None, **given: str | None) -> None:
    """Draw figures from what `run --out`, `sweep --out` or `compare LAW LAW --out` left in FOLDER; all, unless named.

    \b
    Of a run:    cwnd, throughput, rtt, queue, trade (goodput and delay), delay-cdf, delay-box,
                 convergence; of stations that share the air also map, transmissions
    Of a sweep:  over (a metric over a factor), facets, share, heatmap, trade; where samples are kept
                 (keep = "samples") delay-cdf, delay-box, convergence, throughput (of the first run)
    Of two laws: shares, heatmap (share and Harm), trade, delay-cdf, delay-box, convergence,
                 throughput

    \b
      cclab plot out/depths --figure share --over network.queue.limit
      cclab plot out/pairs --figure heatmap --metric harm
      cclab plot out/grid --figure over --metric queue --rows network.rtt --columns flows.0.cc
    """
    options = {name: value for name, value in given.items() if value is not None}
    charts = _charts(folder, figures, options)
    place = out or folder / "plots"
    place.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        chart.save(place / f"{name}.{kind}")
        click.echo(str(place / f"{name}.{kind}"))


def _charts(folder: Path, figures: tuple[str, ...], options: dict[str, str]) -> dict[str, Chart]:
    from cclab import versus
    from cclab.results import Result
    from cclab.sweep import Study
    from cclab.sweep.store import is_store

    if is_store(folder):
        plots = Study.load(folder).plot
        known = {name: getattr(plots, name.replace("-", "_")) for name in _OF_SWEEPS}
        if options and not figures:
            figures = ("over",)
        return {
            name: known[name](**_arguments(name, options)) for name in _named(figures, known, "a sweep")
        } or plots.all()
    if options:
        raise click.UsageError(f"--{next(iter(options)).replace('along', 'over')} is for sweeps, and {folder} is none")
    if versus.is_kept(folder):
        drawn = versus.load(folder).figures()
        wanted = _named(figures, dict.fromkeys(_OF_LAWS, None), "two congestion controls")
        return {n: c for n, c in drawn.items() if not wanted or n in wanted or n.partition("-")[0] in wanted}
    if (folder / "comparison.csv").is_file():  # of `reproduce`, or of `compare` of two folders
        where = folder / "figures" if (folder / "figures").is_dir() else folder / "comparison.svg"
        raise ResultError(f"{folder}: its figures were drawn when it was made: {where}")
    result = Result.load(folder).plot
    of_run: dict[str, Callable[[], Chart]] = {n: getattr(result, n.replace("-", "_")) for n in _OF_RUNS}
    charts = {name: of_run[name]() for name in _named(figures, of_run, "a run")} or result.all()
    if not charts:
        raise ResultError(f'{folder}: nothing was sampled; put record = {{ samples = "10 ms" }} into the scenario')
    return charts


def _named(figures: tuple[str, ...], known: dict[str, Any], what: str) -> tuple[str, ...]:
    if wrong := [name for name in figures if name not in known]:
        raise click.UsageError(f"{wrong[0]} is no figure of {what}; there are: {', '.join(known)}")
    return figures


def _arguments(figure: str, options: dict[str, str]) -> dict[str, str]:
    """The options in the words of the figure; one that it does not have is an error."""
    words = {
        "over": {"along": "along", "rows": "rows", "columns": "columns", "metric": "metric"},
        "facets": {"rows": "rows", "columns": "columns", "metric": "metric"},
        "share": {"along": "along"},
        "heatmap": {"columns": "x", "rows": "y", "metric": "metric"},
    }.get(figure, {})
    if wrong := [name for name in options if name not in words]:
        raise click.UsageError(f"--{wrong[0].replace('along', 'over')}: {figure} has no such option")
    return {words[name]: value for name, value in options.items()}
