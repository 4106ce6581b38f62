"""One run, in whatever thread, process or machine. Knows the core and numpy alone, so that a worker starts quickly."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cclab import _core, backends, laws
from cclab.errors import CclabError, StudyError
from cclab.scenario import Scenario


@dataclass(frozen=True)
class Job:
    """All that a worker needs for one run; can be pickled.

    Attributes:
        key: Of the run.
        scenario: Checked.
        seed: Of the run.
        backend: What runs it.
        core: Hash of the compiled core that it is for.
        laws: Congestion controls written in Python, as `cclab.laws.ship` packs them; `None` where they are known.
    """

    key: str
    scenario: Scenario
    seed: int
    backend: str
    core: str
    laws: bytes | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a job: the core's columns, or an error.

    Attributes:
        key: Of the run.
        raw: As `_core.Simulation.finish` gives it; `None` after an error.
        error: What went wrong, in words.
        wall_s: How long it took.
        cpu_s: CPU time of its thread.
    """

    key: str
    raw: dict[str, Any] | None
    error: str | None
    wall_s: float
    cpu_s: float


class Stopped(Exception):
    """The sweep is being stopped; raised out of a run by its progress callback."""


@cache
def core_digest() -> str:
    """Hash of the compiled core: another build is another simulator."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:32]


def run_job(job: Job, progress: Callable[[float], None] | None = None) -> Outcome:
    """Run it; an error of the run is an outcome, too.

    Raises:
        StudyError: this worker has another build of cclab than who handed the job out, or cannot take its laws.
    """
    if job.core != core_digest():
        raise StudyError(
            f"a worker has another build of cclab (core {core_digest()[:8]}, here {job.core[:8]}); "
            "install the same wheel everywhere"
        )
    if job.laws is not None:
        _install(job.laws)
    try:
        raw, wall_s, cpu_s = backends.run(job.scenario, job.seed, job.backend, progress)
    except Stopped:
        raise
    except Exception as error:
        return Outcome(job.key, None, _told(error), 0.0, 0.0)
    return Outcome(job.key, raw, None, wall_s, cpu_s)


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
