"""What the analysis of a published study has to work with."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, overload

from cclab.errors import RunError
from cclab.results import Result
from cclab.scenario import Scenario
from cclab.sweep import executors
from cclab.sweep.display import duration, expected, on_cores
from cclab.sweep.job import Job, Outcome, core_digest
from cclab.sweep.pack import Row
from cclab.sweep.plan import point, work
from cclab.sweep.run import Nowhere, Progress, Run, Runner
from cclab.sweep.store import Log, Store, Writer

T = TypeVar("T")
_PLAIN = "{}"  # the shape of a run of which no tables are kept
_WATCHED = 0.2  # seconds of each of a few runs, to tell how long all will take
_LONG = 600.0  # seconds: of less than that so short a look says too little to be told


@dataclass
class Context:
    """What the analysis of a study has to work with.

    Attributes:
        folder: The study's own folder, with its data.
        about: Its `study.toml`.
        quick: Whether fewer points and replications are wanted, every part present.
        out: A folder for further files of its own; they end up beside the page.
        progress: Called now and then with how far all runs are.
        parts: The parts wanted, of those that `study.toml` lists; all of them unless some were chosen.
        kept: A store for what is finished, so that a study that was cut off goes on; `None` keeps nothing.
        note: Called with a remark for the person who waits.
        takes_s: CPU time of the runs of each call of `run`, as recorded of this version; `None` where it is not known.
        runs: What was asked for, filled in by `run`; equal ones are run once.
        cpu_s: CPU time of what was simulated in each call, likewise, with what was finished before.
        measured: Whether a kernel was asked, likewise.
    """

    folder: Path
    about: dict[str, Any]
    quick: bool
    out: Path
    progress: Callable[[Progress], None]
    parts: Sequence[str] = ()
    kept: Path | None = None
    note: Callable[[str], None] = lambda _: None
    takes_s: Sequence[float] | None = None
    runs: list[tuple[Scenario, int]] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    measured: bool = False
    _before: list[tuple[float, int]] = field(default_factory=list)  # work and runs of each earlier call

    @overload
    def run(
        self, jobs: Iterable[tuple[Scenario, int]], *, backend: str = "sim", workers: int | None = None, tries: int = 1
    ) -> list[Result]: ...
    @overload
    def run(
        self, jobs: Iterable[tuple[Scenario, int]], reduce: Callable[[Result], T], *, keep: str = "",
        backend: str = "sim", workers: int | None = None, tries: int = 1,
    ) -> list[T]: ...  # fmt: skip
    def run(
        self,
        jobs: Iterable[tuple[Scenario, int]],
        reduce: Callable[[Result], Any] = lambda result: result,
        *,
        keep: str = "",
        backend: str = "sim",
        workers: int | None = None,
        tries: int = 1,
    ) -> list[Any]:
        """Run many scenarios at once, on every core; best all of them in one call, so that the bar knows them all.

        Args:
            jobs: Scenarios with their seeds.
            reduce: Applied to each result as soon as it is there, so that only what it returns is kept in memory.
            keep: A name and version of `reduce`. If given, what it returns (numbers, text, lists and dicts) is kept on
                disk run by run: a study that was cut off repeats no finished run.
            backend: What runs them.
            workers: How many at once; unless given, one for each core.
            tries: How often one is begun that cannot go on, where that is chance: a machine that was busy.

        Returns:
            What `reduce` returned, in the order of the jobs; `None` where even the last of several tries failed.

        Raises:
            cclab.RunError: one of them could not go on.
        """
        if not (listed := list(jobs)):
            return []
        self.runs += listed
        self.measured |= backend == "live"
        scenarios = list(dict.fromkeys(scenario for scenario, _ in listed))
        asked = _runs(listed, scenarios, backend, keep)
        runs = list({run.key: run for run in asked}.values())  # what is asked for twice is run once
        values: dict[str, Any] = {}
        cpu_s: dict[str, float] = {}
        failed: list[Run] = []

        def job(number: int, _shipped: bool) -> Job:
            def reduced(raw: dict[str, Any], wall_s: float, cpu_s: float) -> Any:
                return reduce(Result.of_run(scenario, backend, raw, wall_s, cpu_s))

            scenario = scenarios[number]
            return Job("", scenario, 0, backend, core_digest(), reduce=reduced)

        def take(run: Run, outcome: Outcome) -> Row:
            if outcome.row.shape is None:
                if tries == 1:
                    raise RunError(outcome.row.data.decode())
                failed.append(run)
                return outcome.row
            values[run.key], cpu_s[run.key] = outcome.value, outcome.row.cpu_s
            if not keep:
                return outcome.row
            return replace(outcome.row, shape=_PLAIN, data=json.dumps(outcome.value).encode())

        works = [work(scenario.to_dict(full=True)) for scenario in scenarios]
        with contextlib.ExitStack() as stack:
            writer = None
            if keep and self.kept is not None:
                writer = stack.enter_context(contextlib.closing(Writer(self.kept)))
                cpu_s |= {key: seconds for key, _, seconds in writer.log.timings}
            todo, report = runs, self._with_earlier(runs, works)
            for attempt in range(tries):
                failed.clear()
                runner = Runner(todo, works, job, take, writer.log if writer else Log(), report)
                if attempt == 0 and (keep or self.takes_s):
                    self.note(self._expected(runner, runs, works, backend, workers))
                runner.go(writer or Nowhere(), workers, None, retry_failed=True)
                if not (todo := list(failed)):
                    break
        if self.kept is not None and (missing := {run.key for run in runs} - values.keys() - {run.key for run in todo}):
            values |= {key: json.loads(data) for key, data in Store(self.kept).data(missing).items()}
        self.cpu_s.append(0.0 if backend == "live" else sum(cpu_s.get(run.key, 0.0) for run in runs))
        return [values.get(run.key) for run in asked]

    @property
    def distinct(self) -> int:
        """How many runs that was: in each call equal ones are one."""
        return sum(n for _, n in self._before)

    def _with_earlier(self, runs: list[Run], works: list[float]) -> Callable[[Progress], None]:
        """Tells how far this call and those before it are: one bar for all of them."""
        earlier, finished = sum(w for w, _ in self._before), sum(n for _, n in self._before)
        here = sum(works[run.point] for run in runs)
        self._before.append((here, len(runs)))

        def report(at: Progress) -> None:
            share = (earlier + at.share * here) / (earlier + here)
            self.progress(replace(at, runs=finished + at.runs, finished=finished + at.finished, share=share))

        return report

    def _expected(self, runner: Runner, runs: list[Run], works: list[float], backend: str, workers: int | None) -> str:
        """How many runs of this call are to do and how long they take: as recorded of it, or, if long, by a look."""
        todo, workers, call = runner.todo(retry_failed=True), workers or executors.cores(), len(self._before) - 1
        told, rest = f"{len(runs):,} {'further ' if call else ''}runs", ""
        if not todo:
            pass
        elif backend == "live":
            rest = f" ({backend}), {workers} at once"
        elif self.takes_s is None:
            seconds = runner.probe(todo, _WATCHED) / workers
            rest = on_cores(seconds, workers) if seconds >= _LONG else ""
        elif self.takes_s[call:]:
            left = sum(works[run.point] for run in todo) / sum(works[run.point] for run in runs)
            rest = on_cores(self.takes_s[call] * left / workers, workers)
            if later := sum(self.takes_s[call + 1 :]):
                rest += f"; what follows {duration(later / workers)}"
        return expected(told, len(runs), len(todo), rest)


def _runs(listed: list[tuple[Scenario, int]], scenarios: list[Scenario], backend: str, keep: str) -> list[Run]:
    """Each job with a key of all that determines what comes of it."""
    points = [point(scenario, [backend, keep], core_digest()) for scenario in scenarios]
    number = {scenario: i for i, scenario in enumerate(scenarios)}
    replications: Counter[int] = Counter()
    runs = []
    for scenario, seed in listed:
        at = number[scenario]
        key = hashlib.sha256(f"{points[at]} {seed}".encode()).hexdigest()
        runs.append(Run(key, at, replications[at], seed))
        replications[at] += 1
    return runs
