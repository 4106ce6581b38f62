"""`cclab sweep`: the library with a person in front of it."""

from __future__ import annotations

import contextlib
import shlex
import time
from pathlib import Path

import click

from cclab.chance import CURE
from cclab.console import note, show
from cclab.laws.python import LAWS
from cclab.sweep import executors
from cclab.sweep.display import Display, ending, estimate_table, kept, stopping
from cclab.sweep.study import Study


def sweep(
    source: Path, place: Path, workers: int | None, processes: bool, dask: str | None, retry_failed: bool, mend: bool
) -> bool:
    """Run a study; whether runs have failed. Prints the store on stdout, all else on stderr."""
    if mend:
        _mend(place)
    study = Study.load(source)
    points, seeds = len(study) // len(study.seeds), len(study.seeds)
    note(f"{study.name}: {len(study):,} runs ({points:,} points × {seeds:,} replications)")
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(stopping(lambda: kept(Study.load(place)), f"Go on with: {_again(source, place)}"))
        executor = None
        if dask:
            executor = stack.enter_context(executors.dask(dask))
        elif processes:
            executor = stack.enter_context(executors.processes(workers))
        if executor is not None and not executors.workers_of(executor):
            note("The cluster has no workers yet; waiting for them.")
        display = stack.enter_context(Display(study.name))
        study = study.run(place, workers=workers, executor=executor, progress=display, retry_failed=retry_failed)
    for line in ending(study, time.monotonic() - start):
        note(line)
    click.echo(str(place))
    return study.status()["failed"] > 0


def _mend(place: Path) -> None:
    from cclab.sweep.mend import mend

    mended = mend(place)
    if mended is None:
        note(f"{place}: nothing is damaged.")
    else:
        kept = f"{mended[0]:,} runs were whole and are kept" if mended[0] else "nothing was whole"
        note(f"{place}: {kept}; as it was, the store is {mended[1]}.")


def _again(source: Path, place: Path) -> str:
    """The command, with the laws that it was given."""
    files = dict.fromkeys(law.file[0] for law in LAWS.values() if law.file)
    words = ["cclab", "sweep", str(source), "--out", str(place)]
    return shlex.join([*words, *(word for file in files for word in ("--algorithms", file))])


def dry_run(source: Path, place: Path, workers: int | None, retry_failed: bool) -> None:
    """Check a study and print how many runs it is and how long they will take; nothing is written."""
    study = Study.load(source)
    with Display(study.name) as display:
        distinct, todo, seconds = study._left(place, retry_failed=retry_failed, progress=display)
    show(estimate_table(study, distinct, todo, seconds, workers or executors.cores()))
    if todo and (certain := study.certain()):
        n = len(study.seeds)
        note(f"At {certain:,} points or more nothing is left to chance: all {n} runs will be the same. {CURE}.")
