"""What a person sees in the terminal: tables on stdout, progress and remarks on stderr."""

from __future__ import annotations

import io
import math
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from cclab import notebook

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.table import Table

    from cclab.results import Result

_MANY_FLOWS = 24  # beyond that a row stands for all flows of one law


def show(*things: Any, one_line_each: bool = False) -> None:
    """Print tables or text on stdout, in colour where it is a terminal that wants it.

    Args:
        *things: Tables or text.
        one_line_each: Rows are not wrapped, however long, where it is no terminal: other programs read them.
    """
    terminal = sys.stdout.isatty()
    width = None if terminal or "COLUMNS" in os.environ else 10_000 if one_line_each else 140
    sys.stdout.write(as_text(*things, width=width, terminal=terminal))


def note(text: str) -> None:
    """A remark on stderr."""
    print(text, file=sys.stderr)


def as_text(*things: Any, width: int | None = 140, terminal: bool = False) -> str:
    """Tables as text; plain, unless for a terminal."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, highlight=False, markup=False, emoji=False)
    for thing in things:
        console.print(_fitting(thing, console))
        console.print()
    return "\n".join(line.rstrip(" ") for line in out.getvalue().split("\n"))


def _fitting(thing: Any, console: Any) -> Any:
    """A table that would lose words or figures at this width becomes a block per row: heading and value."""
    from rich.table import Table
    from rich.text import Text

    if not isinstance(thing, Table):
        return thing
    if (
        sum(_needs(column, console) + 2 for column in thing.columns) - 1 <= console.width
    ):  # a blank after each, one between
        return thing
    lines = [str(thing.title)] if thing.title else []
    headings = [str(column.header).replace("\n", " ") for column in thing.columns]
    for row in zip(*(column.cells for column in thing.columns), strict=True):
        lines += ["", *(f"{heading}: {cell}" for heading, cell in zip(headings, row, strict=True) if str(cell))]
    lines += ["", str(thing.caption)] if thing.caption else []
    return Text("\n".join(lines), overflow="fold")


def _needs(column: Any, console: Any) -> int:
    """The width below which a column would break words or lose figures."""
    from rich.measure import Measurement

    options = console.options.update(width=10_000)
    measured = [Measurement.get(console, options, str(cell)) for cell in (column.header, *column.cells)]
    return max(m.maximum if column.no_wrap else m.minimum for m in measured)


def table(title: str | None, *columns: str) -> Table:
    """A table with a title.

    A heading that begins with | is that of a column of numbers; a further | breaks the line.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(
        box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), title=Text(title) if title else None,
        title_justify="left", title_style="bold",
    )  # fmt: skip
    for column in columns:
        numbers = column.startswith("|")
        heading = column.removeprefix("|").replace("|", "\n")
        made.add_column(heading, justify="right" if numbers else "left", no_wrap=numbers, overflow="fold")
    return made


def headings_and_rows(made: Table) -> tuple[list[str], list[list[str]]]:
    """Headings, as `table` takes them but in a line each, and rows as text."""
    headings = [str(column.header).replace("\n", " ") for column in made.columns]
    right = [column.justify == "right" for column in made.columns]
    rows = zip(*(map(str, column.cells) for column in made.columns), strict=True)
    return ["|" * r + h for r, h in zip(right, headings, strict=True)], [list(row) for row in rows]


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


def as_printed(value: float | None) -> str:
    """A published number with the digits it was printed with."""
    return "–" if value is None else f"{value:.10g}"


def percent(part: float | None) -> str:
    """A share in per cent."""
    return "–" if part is None or not math.isfinite(part) else f"{number(part * 100, 4 if part > 0.1 else 2)} %"


def result_tables(result: Result) -> list[Any]:
    """Tables of a result that it knows of, flows first, with units, and what the figures rest on."""
    flows, links = _known(result, "flows", "goodput_bps"), _known(result, "links", "throughput_bps")
    parts: list[Any] = [_flow_table(result, flows)] if flows else []
    parts += [_session_table(result)] if result.rows("sessions") else []
    parts += [application_table(result)] if result.rows("applications") else []
    parts += [background_table(result)] if result.rows("background") else []
    parts += [_link_table(links)] if links else []
    return [*parts, _footing(result)] if parts else []


def _known(result: Result, table: str, column: str) -> list[dict[str, Any]]:
    rows = result.rows(table)
    return rows if result.backend == "sim" else [row for row in rows if math.isfinite(row[column])]


def _flow_table(result: Result, rows: list[dict[str, Any]]) -> Table:
    if len(rows) > _MANY_FLOWS:
        return _law_table(result)
    finite = any(math.isfinite(row["fct_s"]) for row in rows)
    made = table(
        f"{result.name}: flows", "Flow", "Law", "|Goodput|(Mbit/s)", "|Segments|sent", "|Resent", "|Timeouts",
        "|RTT|(ms)", "|cwnd|(segments)", *(["|Completed|after (s)"] if finite else []),
    )  # fmt: skip
    for row in rows:
        sent = row["segments_sent"]
        made.add_row(
            row["label"], row["cc"], number(row["goodput_bps"] / 1e6), number(sent),
            percent(row["segments_retransmitted"] / sent if sent else None), number(row["timeouts"]),
            number(_ms(row["rtt_mean_s"])), number(row["cwnd_mean_segments"]),
            *([number(row["fct_s"])] if finite else []),
        )  # fmt: skip
    return made


def _session_table(result: Result) -> Table:
    rows = result.rows("sessions")
    finite = any(math.isfinite(row["fct_s"]) for row in rows)
    made = table(
        "connections over several paths", "Session", "Law", "Scheduler", "|Goodput|(Mbit/s)", "|Twice", "|Sent|again",
        "|Reordering|mean (ms)", "|p99", "|Buffer|mean (kB)", "|max", "|Longest|stall (s)", "|Aggregation|benefit",
        *(["|Completed|after (s)"] if finite else []),
    )  # fmt: skip
    for row in rows:
        delivered = row["goodput_bps"] * row["measured_s"] / 8
        again = row["reinjected_bytes"] + row["opportunistic_bytes"]
        made.add_row(
            row["label"], row["cc"] + (" (coupled)" if row["coupled"] else ""), row["scheduler"],
            number(row["goodput_bps"] / 1e6),
            *(percent(part / delivered if delivered > 0 else None) for part in (row["duplicate_bytes"], again)),
            number(_ms(row["reorder_mean_s"])), number(_ms(row["reorder_p99_s"])),
            number(row["buffer_mean_bytes"] / 1e3), number(row["buffer_max_bytes"] / 1e3), number(row["stall_max_s"]),
            number(row["aggregation_benefit"]), *([number(row["fct_s"])] if finite else []),
        )  # fmt: skip
    return made


def application_table(result: Result) -> Table:
    """Flows whose application pauses: how many parts, and how long each took."""
    rows = result.rows("applications")
    played = any(row["kind"] == "chunks" for row in rows)
    made = table(
        "applications (a part is a burst, a write, a chunk or a response)", "Flow", "Traffic", "|Parts|completed",
        "|Completed|after, mean (ms)", "|p50", "|p95", "|p99",
        *(["|Startup|(s)", "|Stalls", "|Stalled|(s)"] if played else []),
    )  # fmt: skip
    for row in rows:
        playing = [number(row[name]) for name in ("startup_s", "stalls", "stalled_s")]
        if row["kind"] == "chunks" and math.isnan(row["startup_s"]):
            playing = ["never began", "–", "–"]
        made.add_row(
            row["label"], row["kind"], number(row["completed"]),
            *(number(_ms(row[f"completion_{part}_s"])) for part in ("mean", "p50", "p95", "p99")),
            *(playing if played else ()),
        )  # fmt: skip
    return made


def _law_table(result: Result) -> Table:
    import polars as pl

    from cclab.analysis.metrics import total_goodput_bps

    rows = result.flows
    made = table(
        f"{result.name}: {rows.height} flows", "Law", "|Flows", "|Goodput, all|(Mbit/s)", "|mean|(Mbit/s)",
        "|smallest|(Mbit/s)", "|largest|(Mbit/s)", "|Resent", "|Timeouts", "|RTT mean|(ms)",
    )  # fmt: skip
    for (law,), of in rows.group_by("cc", maintain_order=True):
        goodput = of["goodput_bps"] / 1e6
        sent, again = int(of["segments_sent"].sum()), int(of["segments_retransmitted"].sum())
        total = rows.select(total_goodput_bps(result.warmup_s, pl.col("cc") == law) / 1e6).item()
        made.add_row(
            str(law), number(of.height), number(total), number(goodput.mean()), number(goodput.min()),
            number(goodput.max()), percent(again / sent if sent else None), number(of["timeouts"].sum()),
            number(_ms(of["rtt_mean_s"].drop_nans().mean())),
        )  # fmt: skip
    return made


def background_table(result: Result) -> Table:
    """The background by entry and direction: loads, connections and their completion times."""
    made = table(
        f"{result.name}: background (loads of the slowest link, completion times of connections)", "Background", "",
        "Law", "|Load|asked", "|carried", "|Connections|started", "|completed", "|Size|mean (kB)", "|Resent",
        "|Completed|after, mean (ms)", "|p50", "|p95", "|p99",
    )  # fmt: skip
    for row in result.rows("background"):
        sent = row["segments_sent"]
        made.add_row(
            row["label"], row["direction"], row["cc"], percent(row["load"]), percent(row["carried_load"]),
            number(row["connections_started"]), number(row["connections_completed"]),
            number(row["size_mean_bytes"] / 1e3), percent(row["segments_retransmitted"] / sent if sent else None),
            *(number(_ms(row[f"fct_{part}_s"])) for part in ("mean", "p50", "p95", "p99")),
        )  # fmt: skip
    return made


def _link_table(rows: list[dict[str, Any]]) -> Table:
    busy = [row for row in rows if math.isfinite(row["utilisation"])] or rows
    lossy = any(row["losses"] for row in busy)
    vary = any(abs(row["capacity_bps"] - row["rate_bps"]) > 1e-6 * row["rate_bps"] for row in busy)
    made = table(
        "links (queue in packets, delay in the queue)", "Link", "|Rate|(Mbit/s)",
        *(["|Capacity|mean (Mbit/s)"] if vary else []), "|Used", "|Queue|mean", "|max", "|limit", "|Delay|(ms)",
        "|Dropped", *(["|Lost"] if lossy else []),
    )  # fmt: skip
    for row in busy[:_MANY_FLOWS]:
        limit = number(row["queue_limit_packets"])
        if math.isfinite(row["queue_limit_bytes"]):
            limit = f"{row['queue_limit_bytes'] / 1e3:g} kB"
        made.add_row(
            row["name"], number(row["rate_bps"] / 1e6), *([number(row["capacity_bps"] / 1e6)] if vary else []),
            percent(row["utilisation"]), number(row["queue_mean_packets"]), number(row["queue_max_packets"]), limit,
            number(_ms(row["sojourn_mean_s"])), number(row["drops"]),
            *([number(row["losses"])] if lossy else []),
        )  # fmt: skip
    return made


def _footing(result: Result) -> str:
    of = result._connection_rows()
    jain = "" if math.isnan(result.fairness) else f"Jain's index {number(result.fairness)}. "
    if result.backend == "model":
        return f"{jain}Means by closed formulas, in which nothing is random: no seed changes them."
    early = sum(math.isfinite(row["fct_s"]) and row["measured_s"] <= 0 for row in of)
    if early:
        ended = f"{early} of {len(of)} transfers ended before the warm-up did"
        jain += f"{ended}: nothing is measured of them (–) but how long they took. "
    if any(math.isnan(row["aggregation_benefit"]) for row in result.rows("sessions")):
        jain += "Aggregation benefit –: it is told of paths whose rate is known and does not change. "
    jain += "Means, after the warm-up." if result.warmup_s > 0 else "Means over the whole run."
    if result.backend == "sim" and certain(result):
        from cclab.chance import CURE

        return f"{jain} Nothing is left to chance: every seed gives this very run. {CURE}."
    another = "another seed" if result.backend == "sim" else "another run, or seed,"
    return f"{jain} One run with seed {result.seed}: no interval; {another} may differ."


def certain(result: Result) -> bool:
    """Whether nothing is left to chance, as far as it is known: of very many flows it is not."""
    from cclab.chance import left
    from cclab.errors import ScenarioError

    try:
        return result._resolved is not None and next(left(result._resolved), None) is None
    except ScenarioError:  # a law written in Python that is not known here
        return False


def _ms(seconds: Any) -> float | None:
    return None if seconds is None else seconds * 1e3


class Progress:
    """A bar on stderr, or in a notebook, for work that takes longer than two seconds; elsewhere nothing.

    Call it with the share done, from 0 to 1, from any thread.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._wanted = notebook.here() or (sys.stderr.isatty() and sys.stdout.isatty())
        self._lock = threading.Lock()
        self._bar: Bar | notebook.Bar | None = None
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
            if isinstance(self._bar, notebook.Bar):
                self._bar(done)
            elif self._bar is not None:
                self._bar.update(self._task, completed=done)

    def _open(self) -> None:
        if notebook.here():
            self._bar = notebook.Bar(self._what)
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._what, total=1.0)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
