"""What the analysis of a study has to work with."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, overload

from cclab import folders
from cclab.errors import RunError
from cclab.results import Result
from cclab.scenario import Scenario

T = TypeVar("T")
Job = tuple[Scenario, int]


@dataclass
class Context:
    """What the analysis of a study has to work with.

    Attributes:
        folder: The study's own folder, with its data.
        about: Its `study.toml`.
        quick: Whether fewer points and replications are wanted, every part present.
        out: A folder for further files of its own; they end up beside the page.
        progress: Called with the share done.
        parts: The parts wanted, of those that `study.toml` lists; all of them unless some were chosen.
        kept: Where `run` keeps what is finished, so that a study that was cut off goes on; `None` keeps nothing.
        note: Called with a remark for the person who waits.
        runs: What was run, filled in by `run`.
    """

    folder: Path
    about: dict[str, Any]
    quick: bool
    out: Path
    progress: Callable[[float], None]
    parts: Sequence[str] = ()
    kept: Path | None = None
    note: Callable[[str], None] = lambda _: None
    runs: list[Job] = field(default_factory=list)

    @overload
    def run(self, jobs: Iterable[Job]) -> list[Result]: ...
    @overload
    def run(self, jobs: Iterable[Job], reduce: Callable[[Result], T], *, keep: str = "") -> list[T]: ...
    def run(self, jobs: Iterable[Job], reduce: Callable[[Result], Any] = lambda r: r, *, keep: str = "") -> list[Any]:
        """Run many scenarios at once, on every core.

        Args:
            jobs: Scenarios with their seeds.
            reduce: Applied to each result as soon as it is there, so that only what it returns is kept in memory.
            keep: A name and version of `reduce`. If given, what it returns (numbers, text, lists and dicts) is kept on
                disk run by run: a study that was cut off repeats no finished run. How long it will take is told first.

        Returns:
            What `reduce` returned, in the order of the jobs.

        Raises:
            cclab.RunError: one of them could not go on.
        """
        listed = list(jobs)
        self.runs += listed
        found: dict[int, Any] = {}
        places: list[Path | None] = [None] * len(listed)
        if keep and self.kept is not None:
            places = [self.kept / _place(job, keep) for job in listed]
            found = {i: kept for i, place in enumerate(places) if place and (kept := _read(place)) is not None}
        weights = [_work(scenario) for scenario, _ in listed]
        if keep:
            left = sum(weight for i, weight in enumerate(weights) if i not in found)
            self.note(_expected(len(listed), len(found), left))
        shares = [float(i in found) for i in range(len(listed))]
        total = sum(weights)
        stop = threading.Event()

        def one(index: int, scenario: Scenario, seed: int) -> Any:
            def progress(done: float) -> None:
                if stop.is_set():
                    raise RunError("stopped, because another run of the study failed or was interrupted")
                shares[index] = done
                self.progress(sum(w * s for w, s in zip(weights, shares, strict=True)) / total)

            reduced = reduce(scenario.run(seed=seed, progress=progress))
            if (place := places[index]) is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                folders.write_text(place, json.dumps(reduced))
            return reduced

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            futures = {i: pool.submit(one, i, *job) for i, job in enumerate(listed) if i not in found}
            try:
                return [found[i] if i in found else futures[i].result() for i in range(len(listed))]
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _place(job: Job, keep: str) -> str:
    """Where what came of a run is kept: a hash of all that determines it."""
    from cclab.sweep.job import core_digest

    scenario, seed = job
    key = hashlib.sha256(json.dumps([scenario.key(), seed, keep, core_digest()]).encode()).hexdigest()
    return f"{key[:2]}/{key}.json"


def _read(place: Path) -> Any:
    try:
        return json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _work(scenario: Scenario) -> float:
    from cclab.sweep.plan import work

    return float(work(scenario.to_dict(full=True)))


def _expected(runs: int, finished: int, left: float) -> str:
    """How long it will take, from a run of a quarter of a second: packets over packets per second and core."""
    cores = os.cpu_count() or 1
    told = f"{runs} runs" + (f", {finished} of them finished before" if finished else "")
    if finished == runs:
        return f"{told}."
    probe = Scenario(
        duration="5 s", network={"rate": "800 Mbit/s", "rtt": "50 ms"}, flows=[{"cc": "cubic", "count": 2}]
    ).run()  # fmt: skip
    minutes = left / (probe.engine["data_packets"] / probe.engine["cpu_s"]) / cores / 60
    time = f"{minutes:.0f} min" if minutes >= 1.5 else f"{minutes * 60:.0f} s"
    return f"{told}; about {time} on {cores} cores."
