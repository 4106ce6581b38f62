"""One run, in whatever thread, process or machine. Knows the core and numpy alone, so that a worker starts quickly."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cclab import _core
from cclab.errors import CclabError, StudyError
from cclab.scenario import Scenario, simulate


@dataclass(frozen=True)
class Setup:
    """What a worker process does once before its first run, e.g. to get to know a law written in Python.

    Attributes:
        call: A function that can be pickled.
        args: Its arguments.
    """

    call: Callable[..., object]
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Job:
    """All that a worker needs for one run; can be pickled."""

    key: str
    scenario: Scenario
    seed: int
    backend: str
    core: str
    setup: Setup | None = None


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


_ready: set[bytes] = set()


def run_job(job: Job, progress: Callable[[float], None] | None = None) -> Outcome:
    """Run it; an error of the run is an outcome, too.

    Raises:
        StudyError: this worker has another build of cclab than the one that handed the job out.
    """
    if job.core != core_digest():
        raise StudyError(
            f"a worker has another build of cclab (core {core_digest()[:8]}, here {job.core[:8]}); "
            "install the same wheel everywhere"
        )
    _prepare(job.setup)
    try:
        raw, wall_s, cpu_s = simulate(job.scenario, job.seed, job.backend, progress)
    except Stopped:
        raise
    except CclabError as error:
        return Outcome(job.key, None, str(error), 0.0, 0.0)
    except Exception as error:
        return Outcome(job.key, None, "".join(traceback.format_exception(error)).rstrip(), 0.0, 0.0)
    return Outcome(job.key, raw, None, wall_s, cpu_s)


def _prepare(setup: Setup | None) -> None:
    if setup is None:
        return
    import pickle

    name = pickle.dumps(setup)
    if name not in _ready:
        setup.call(*setup.args)
        _ready.add(name)
