"""`cclab trace`: what links follow, described and made up."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from cclab.cli.group import Commands
from cclab.cli.model import Quantity, Whole

_SHOWN = {
    "entries": ("entries", 1),
    "length (s)": ("length_s", 1),
    "capacity, mean (Mbit/s)": ("mean_bps", 1e-6),
    "least over a second (Mbit/s)": ("second_min_bps", 1e-6),
    "most over a second (Mbit/s)": ("second_max_bps", 1e-6),
    "outages": ("outages", 1),
    "in outages (s)": ("outages_s", 1),
    "longest outage (s)": ("outage_max_s", 1),
    "delay, least (ms)": ("delay_min_s", 1e3),
    "delay, most (ms)": ("delay_max_s", 1e3),
}
_FILE = click.Path(path_type=Path)


@click.group(cls=Commands, short_help="Make up and describe traces that links follow.")
def trace() -> None:
    """Make up a trace that a link follows, or describe one."""


@trace.command(short_help="Describe a trace.")
@click.argument("file", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object in SI units instead of a table.")
def info(file: Path, as_json: bool) -> None:
    """Describe FILE, a trace: its length, its mean, its extremes over a second, its outages, its delays."""
    from cclab import console, results, traces

    about = traces.load(file).about()
    if as_json:
        click.echo(results.to_json(about))
        return
    table = console.table(str(file), "What", "|Value")
    for name, (key, scale) in _SHOWN.items():
        if key in about:
            table.add_row(name, console.number(about[key] * scale))
    console.show(table)


@trace.command(short_help="Make up a trace.")
@click.argument("model", metavar="MODEL", type=click.Choice(["cellular", "wifi", "satellite"]))
@click.option("--seed", type=Whole(0, 2**64 - 1), default=1, show_default=True, help="Equal seeds, equal traces.")
@click.option("--duration", type=Quantity("time"), default="60 s", show_default=True, help='How long, e.g. "10 min".')
@click.option("--rate", type=Quantity("rate"), help='Largest rate, e.g. "20 Mbit/s" (default: the model\'s).')
@click.option("--out", type=_FILE, help="Write it to this file instead of stdout.")
def make(model: str, seed: int, duration: float, rate: float | None, out: Path | None) -> None:
    """Make up a trace by MODEL: cellular as in Sprout, Wi-Fi with aggregation and others, or low-orbit satellites.

    What each does, with its sources: docs/guides/traces.md.
    """
    from cclab import folders, traces
    from cclab.errors import ScenarioError

    if out is not None and out.is_file():
        try:
            traces.load(out)
        except ScenarioError:
            raise click.UsageError(f"{out} is there already, and is no trace; name another file.") from None
    text = traces.generate(model, seed=seed, duration_s=duration, most_bps=rate)
    if out is None:
        click.echo(text, nl=False)
    else:
        folders.write_text(out, text)
        click.echo(f"Wrote {out}. What is in it: cclab trace info {shlex.quote(str(out))}", err=True)
