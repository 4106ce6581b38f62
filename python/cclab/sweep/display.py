"""What a person sees of a sweep: a bar on a terminal or in a notebook, elsewhere a line now and then on stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from cclab import notebook
from cclab.chance import CURE
from cclab.console import note, number, percent
from cclab.sweep.run import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from cclab.sweep.study import Study

_FIRST, _EVERY = 10.0, 60.0  # seconds to the first line and between lines, where there is no terminal
_ERRORS = 5  # different ones that are shown


class Display:
    """Shows the progress it is called with."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + _FIRST
        self._bar: Bar | notebook.Bar | None = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if notebook.here():
            self._bar = notebook.Bar(self._what)
        elif sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._what, total=1.0, said="")
            self._bar.start()
        return self

    def __call__(self, at: Progress) -> None:
        """Show how far it is."""
        if isinstance(self._bar, notebook.Bar):
            self._bar(at.share, said(at))
        elif self._bar is not None:
            self._bar.update(self._task, completed=at.share, said=said(at))
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            note(f"{self._what}: {said(at)}")

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


@contextlib.contextmanager
def stopping(kept: Callable[[], str], go_on: str) -> Iterator[None]:
    """Work that, when it is stopped, ends with what of it is kept and how to go on."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        told = ""
        with contextlib.suppress(Exception, KeyboardInterrupt, SystemExit):  # who asks twice is told how to go on, too
            told = kept()
        note(" ".join(filter(None, ("Stopped.", told, go_on))))
        raise


def kept(study: Study) -> str:
    """How much of a study is kept, in words."""
    status = study.status()
    return f"{status['finished']:,} of {status['runs']:,} runs are finished and kept."


def expected(what: str, runs: int, todo: int, rest: str) -> str:
    """What there is to run, how much of it is still to do, and what is to be said of that."""
    if todo == runs:
        return f"{what}{rest}."
    return f"{what}, {runs - todo:,} of them finished before" + (f"; {todo:,} to do{rest}." if todo else ".")


def on_cores(seconds: float, workers: int) -> str:
    """How long something is expected to take."""
    return f", {duration(seconds)} on {workers} cores" if workers > 1 else f", {duration(seconds)}"


def said(at: Progress) -> str:
    """How far it is, in words."""
    if at.checked is not None:
        return f"{percent(at.checked)} of the points checked"
    words = f"{at.finished:,} of {at.runs:,} runs, {percent(at.share)}"
    if at.failed:
        words += f", {at.failed:,} failed"
    return words if at.remaining_s is None else f"{words}, {duration(at.remaining_s)} left"


def duration(seconds: float) -> str:
    """A time in the unit that reads best; no more digits than an estimate deserves."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {minutes} min"
    hours, rest = divmod(minutes, 60)
    return (
        f"about {hours} h {rest} min"
        if hours < 10
        else f"about {hours / 24:.1f} days"
        if hours > 48
        else f"about {hours} h"
    )


def ending(study: Study, seconds: float) -> list[str]:
    """What came of it, in lines; errors with how often they occurred."""
    status = study.status()
    lines = [f"{status['finished']:,} of {status['runs']:,} runs are finished, {seconds:.1f} s."]
    if equal := len(study) - status["runs"]:
        lines.append(f"{equal:,} more are the same as others, of points with the same scenario, and are run once.")
    if same := study.identical():
        lines.append(
            f"At {same:,} of {status['points']:,} points all runs are the same to the last bit: nothing is left to "
            f"chance there, and intervals of no width say nothing. {CURE}."
        )
    if status["failed"]:
        import polars as pl

        errors = study.table("failures").select(pl.col("error").str.split("\n").list.last())
        kinds = errors.group_by(pl.col("error").str.replace_all(r"\d[\d.]*", "#").alias("kind"), maintain_order=True)
        errors = kinds.agg(pl.len().alias("count"), pl.first("error")).sort(
            "count", descending=True, maintain_order=True
        )
        lines.append(f"{status['failed']:,} failed:")
        lines += [f"  {row['count']:,} x {row['error']}" for row in errors.head(_ERRORS).to_dicts()]
        lines += [f"  and {errors.height - _ERRORS} other errors"] if errors.height > _ERRORS else []
        lines.append(
            f'All of them: cclab query {study.place} "SELECT * FROM failures"; run them again with --retry-failed'
        )
    return lines


def estimate_table(study: Study, distinct: int, todo: int, seconds: float, workers: int) -> Any:
    """What a sweep would do and how long it would take."""
    from cclab.console import table

    made = table(f"{study.name}: what would run", "", "|")
    equal = len(study) - distinct
    for what, figure in (
        ("points", number(len(study) // len(study.seeds))),
        ("replications", number(len(study.seeds))),
        ("runs", number(len(study))),
        *([("the same as others, of points with the same scenario", number(equal))] if equal else []),
        ("finished or failed earlier", number(distinct - todo)),
        ("to run", number(todo)),
        ("workers", number(workers)),
        ("expected time of one worker", duration(seconds)),
        ("expected time", duration(seconds / min(workers, max(todo, 1)))),
    ):
        made.add_row(what, figure)
    return made
