"""What the analysis of a study has to work with."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, overload

from cclab.errors import RunError
from cclab.results import Result
from cclab.scenario import Scenario

T = TypeVar("T")


@dataclass
class Context:
    """What the analysis of a study has to work with.

    Attributes:
        folder: The study's own folder, with its data.
        about: Its `study.toml`.
        quick: Whether fewer points and replications are wanted, every part present.
        out: A folder for further files of its own; they end up beside the page.
        progress: Called with the share done.
        runs: What was run, filled in by `run`.
    """

    folder: Path
    about: dict[str, Any]
    quick: bool
    out: Path
    progress: Callable[[float], None]
    runs: list[tuple[Scenario, int]] = field(default_factory=list)

    @overload
    def run(self, jobs: Iterable[tuple[Scenario, int]]) -> list[Result]: ...
    @overload
    def run(self, jobs: Iterable[tuple[Scenario, int]], reduce: Callable[[Result], T]) -> list[T]: ...
    def run(self, jobs: Iterable[tuple[Scenario, int]], reduce: Callable[[Result], Any] = lambda r: r) -> list[Any]:
        """Run many scenarios at once, on every core.

        Args:
            jobs: Scenarios with their seeds.
            reduce: Applied to each result as soon as it is there, so that only what it returns is kept in memory.

        Returns:
            What `reduce` returned, in the order of the jobs.

        Raises:
            cclab.RunError: one of them could not go on.
        """
        listed = list(jobs)
        self.runs += listed
        shares = [0.0] * len(listed)
        stop = threading.Event()

        def one(index: int, scenario: Scenario, seed: int) -> Any:
            def progress(done: float) -> None:
                if stop.is_set():
                    raise RunError("stopped, because another run of the study failed or was interrupted")
                shares[index] = done
                self.progress(sum(shares) / len(shares))

            return reduce(scenario.run(seed=seed, progress=progress))

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            futures = [pool.submit(one, i, *job) for i, job in enumerate(listed)]
            try:
                return [future.result() for future in futures]
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
