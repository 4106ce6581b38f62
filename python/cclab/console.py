"""What a person sees in the terminal: tables on stdout, progress and remarks on stderr."""

from __future__ import annotations

import io
import math
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.table import Table

    from cclab.results import Result

_MANY_FLOWS = 24  # beyond that a row stands for all flows of one law


def show(*things: Any) -> None:
    """Print tables or text on stdout, in colour where it is a terminal that wants it."""
    terminal = sys.stdout.isatty()
    sys.stdout.write(as_text(*things, width=None if terminal or "COLUMNS" in os.environ else 140, terminal=terminal))


def note(text: str) -> None:
    """A remark on stderr."""
    print(text, file=sys.stderr)


def as_text(*things: Any, width: int | None = 140, terminal: bool = False) -> str:
    """Tables as text; plain, unless for a terminal."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, highlight=False, markup=False, emoji=False)
    for thing in things:
        console.print(thing)
    return "\n".join(line.rstrip(" ") for line in out.getvalue().split("\n"))


def table(title: str | None, *columns: str | tuple[str, str]) -> Table:
    """A table with a title; a column is a heading, or a heading and `"right"`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, title=Text(title) if title else None, title_justify="left", title_style="bold")
    for column in columns:
        heading, side = column if isinstance(column, tuple) else (column, "left")
        made.add_column(heading, justify="right" if side == "right" else "left", overflow="fold")
    return made


def number(value: Any, digits: int = 4) -> str:
    """A figure with so many significant digits; a dash where there is none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}"


def percent(part: float | None) -> str:
    """A share in per cent."""
    return "–" if part is None or not math.isfinite(part) else f"{part * 100:.2f} %"


def result_tables(result: Result) -> list[Any]:
    """Flows and links of a result, with units, and what the figures rest on."""
    return [_flow_table(result), _link_table(result), _footing(result)]


def _flow_table(result: Result) -> Table:
    import polars as pl

    rows = result.flows
    right = "right"
    if rows.height > _MANY_FLOWS:
        made = table(
            f"{result.name}: {rows.height} flows", "Law", ("Flows", right), ("Goodput, sum (Mbit/s)", right),
            ("mean", right), ("smallest", right), ("largest", right), ("Retransmitted", right), ("Timeouts", right),
            ("RTT mean (ms)", right),
        )  # fmt: skip
        for (law,), of in rows.group_by("cc", maintain_order=True):
            goodput = of["goodput_bps"] / 1e6
            sent, again = int(of["segments_sent"].sum()), int(of["segments_retransmitted"].sum())
            made.add_row(
                str(law), number(of.height), number(goodput.sum()), number(goodput.mean()), number(goodput.min()),
                number(goodput.max()), percent(again / sent if sent else None), number(of["timeouts"].sum()),
                number(_ms(of["rtt_mean_s"].drop_nans().mean())),
            )  # fmt: skip
        return made
    finite = bool(rows["fct_s"].is_finite().any())
    udp = bool((rows["cc"] == "udp").any())
    columns: list[str | tuple[str, str]] = [
        "Flow", "Law", ("Goodput (Mbit/s)", right), ("Sent (segments)", right), ("Retransmitted", right),
        ("Timeouts", right), ("RTT mean (ms)", right), ("min", right), ("cwnd mean (segments)", right),
    ]  # fmt: skip
    made = table(f"{result.name}: flows", *columns, *([("Completion (s)", right)] if finite else []))
    for row in rows.select(pl.all()).to_dicts():
        sent = row["segments_sent"]
        cells = [
            row["label"], row["cc"], number(row["goodput_bps"] / 1e6), number(sent),
            f"{number(row['segments_retransmitted'])} ({percent(row['segments_retransmitted'] / sent if sent else 0)})",
            number(row["timeouts"]), number(_ms(row["rtt_mean_s"])), number(_ms(row["rtt_min_s"])),
            number(row["cwnd_mean_segments"]),
        ]  # fmt: skip
        made.add_row(*cells, *([number(row["fct_s"])] if finite else []))
    if udp:
        made.caption = "udp: sent and received without acknowledgements; it has no RTT and no window"
    return made


def _link_table(result: Result) -> Table:
    right = "right"
    made = table(
        "links", "Link", ("Rate (Mbit/s)", right), ("Utilisation", right), ("Queue mean (packets)", right),
        ("max", right), ("limit", right), ("Delay in queue, mean (ms)", right), ("Dropped", right), ("Lost", right),
    )  # fmt: skip
    rows = result.links.to_dicts()
    busy = [row for row in rows if math.isfinite(row["utilisation"])] or rows
    for row in busy[:_MANY_FLOWS]:
        limit = number(row["queue_limit_packets"])
        if math.isfinite(row["queue_limit_bytes"]):
            limit = f"{row['queue_limit_bytes'] / 1e3:g} kB"
        made.add_row(
            row["name"], number(row["rate_bps"] / 1e6), percent(row["utilisation"]), number(row["queue_mean_packets"]),
            number(row["queue_max_packets"]), limit, number(_ms(row["sojourn_mean_s"])), number(row["drops"]),
            number(row["losses"]),
        )  # fmt: skip
    hidden = len(rows) - len(busy[:_MANY_FLOWS])
    if hidden:
        made.caption = (
            f"{hidden} further links, infinitely fast or beyond the first {_MANY_FLOWS}, are in links.parquet"
        )
    return made


def _footing(result: Result) -> str:
    jain = "" if result.flows.height < 2 else f"Jain's index {number(result.jain)}. "
    return f"{jain}One run with seed {result.seed}: no interval; another seed may give other figures."


def _ms(seconds: Any) -> float | None:
    return None if seconds is None else seconds * 1e3


class Progress:
    """A bar on stderr for work that takes longer than two seconds; nothing where there is no terminal.

    Call it with the share done, from 0 to 1, from any thread.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._wanted = sys.stderr.isatty() and sys.stdout.isatty()
        self._lock = threading.Lock()
        self._bar: Bar | None = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: float) -> None:
        """The share done, from 0 to 1."""
        if not self._wanted:
            return
        with self._lock:
            elapsed = time.monotonic() - self._start
            if self._bar is None and elapsed > 0.5 and elapsed > 2.0 * done:  # at this pace more than two seconds
                self._open()
            if self._bar is not None:
                self._bar.update(self._task, completed=done)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._what, total=1.0)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
