"""Runs, in whatever thread, process or machine. Knows the core and numpy alone, so that a worker starts quickly."""

from __future__ import annotations

import hashlib
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from cclab import _core, backends, laws
from cclab.errors import CclabError, StudyError
from cclab.scenario import Scenario
from cclab.sweep.pack import Row, packed

BUNDLE = 0.02  # seconds of work that are handed out at once, where runs are shorter


@dataclass(frozen=True)
class Job:
    """All that a worker needs for one run; can be pickled.

    Attributes:
        key: Of the run.
        scenario: Checked.
        seed: Of the run.
        backend: What runs it.
        core: Hash of the compiled core that it is for.
        whole: Whether all that the core returns is wanted, samples too.
        reduce: Makes of that, and of the wall and CPU seconds, what is wanted instead.
        laws: Congestion controls written in Python, as `cclab.laws.ship` packs them; `None` where they are known.
    """

    key: str
    scenario: Scenario
    seed: int
    backend: str
    core: str
    whole: bool = False
    reduce: Callable[[dict[str, Any], float, float], Any] | None = None
    laws: bytes | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    Attributes:
        row: What is kept of it.
        value: What was wanted beside, of a run that did not fail.
    """

    row: Row
    value: Any = None


class Stopped(BaseException):
    """The sweep is being stopped; raised in a run, by its progress callback or in a law. No error of either."""


@cache
def core_digest() -> str:
    """Hash of the compiled core: another build is another simulator."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:32]


def run_jobs(jobs: Sequence[Job], progress: Callable[[str, float], None] | None = None) -> list[Outcome]:
    """Run some, one after the other; those that would begin after `BUNDLE` are not run.

    Args:
        jobs: An error of a run is an outcome, too.
        progress: Called now and then with a key and the share of its run that is done.

    Raises:
        StudyError: this worker has another build of cclab than who handed the jobs out, or cannot take their laws.
    """
    end = time.monotonic() + BUNDLE
    outcomes = [_run(jobs[0], progress)]
    for job in jobs[1:]:
        if time.monotonic() > end:
            break
        outcomes.append(_run(job, progress))
    return outcomes


def _run(job: Job, progress: Callable[[str, float], None] | None) -> Outcome:
    if job.core != core_digest():
        raise StudyError(
            f"a worker has another build of cclab (core {core_digest()[:8]}, here {job.core[:8]}); "
            "install the same wheel everywhere"
        )
    if job.laws is not None:
        _install(job.laws)
    try:
        share = partial(progress, job.key) if progress else None
        raw, wall_s, cpu_s = backends.run(job.scenario, job.seed, job.backend, share)
        shape, data = packed(raw)
        value = job.reduce(raw, wall_s, cpu_s) if job.reduce else raw if job.whole else None
    except Exception as error:
        return Outcome(Row(job.key, None, _told(error).encode(errors="replace")))
    # one text for all runs of a shape, so that a process sends it once
    return Outcome(Row(job.key, sys.intern(shape), data, wall_s, cpu_s), value)


@cache
def _install(shipped: bytes) -> None:
    try:
        laws.install(shipped)
    except Exception as error:
        raise StudyError(
            f"a law written in Python cannot be sent to a worker: {type(error).__name__}: {error}"
        ) from error


def _told(error: Exception) -> str:
    """An error of ours in its own words, after the traceback of what a law of the user's raised; others as they are."""
    if not isinstance(error, CclabError):
        return "".join(traceback.format_exception(error)).rstrip()
    cause = "".join(traceback.format_exception(error.__cause__)) if error.__cause__ is not None else ""
    return cause + str(error)
