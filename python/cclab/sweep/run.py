"""Hands runs out, a few ahead of the workers, and keeps what comes back."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from cclab import backends, laws
from cclab.errors import CclabError, RunError
from cclab.results import Result
from cclab.sweep import executors
from cclab.sweep.job import BUNDLE, Job, Outcome, Stopped, core_digest, run_jobs
from cclab.sweep.pack import Row
from cclab.sweep.plan import Design, Plan
from cclab.sweep.store import Log

_ASK = ctypes.pythonapi.PyThreadState_SetAsyncExc  # to raise an exception in a thread; None takes it back
_TICK = 0.5  # seconds between two looks at the clock
_STOPPING = 0.3  # seconds for a run to see that it is to stop
_COMMIT = 0.05  # seconds that a finished run waits for others, so that they are kept together
# Bytes that a pipe takes at once: a worker that is killed leaves no half of a result, for whose rest a pool would wait.
_MESSAGE, _ROW = 12_000, 150
_OTHERS = 1.0  # seconds between two looks at what other sweeps have finished
_POINTS = 10_000  # scenarios that are held ready
_BASIS, _BASIS_RUNS = 0.1, 50  # the share of what is to do, or the runs, from whose pace the rest is told
_WINDOW = 5.0  # seconds between two looks at how many workers there are


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes:
        runs: Runs of the study.
        finished: Those that are finished, earlier ones included.
        failed: Those that failed, earlier ones included.
        share: Work done over all work, 0 to 1, by what is simulated and not by the number of runs.
        remaining_s: Time that the rest will take at the pace so far, in seconds; `None` while nothing is known.
        checked: The share of the points that are checked, before anything runs; then `None`.
    """

    runs: int
    finished: int
    failed: int
    share: float
    remaining_s: float | None
    checked: float | None = None


class Costs:
    """What a run of each point takes, in seconds of a worker: as measured, or in proportion to its guessed work."""

    def __init__(self, work: list[float]) -> None:
        self._work = np.array(work, dtype=float)
        self._seconds = np.zeros(len(work))
        self._runs = np.zeros(len(work))

    def add(self, point: int, wall_s: float) -> None:
        """A run of this point took so long."""
        self._seconds[point] += wall_s
        self._runs[point] += 1

    @property
    def known(self) -> bool:
        """Whether anything has been measured."""
        return bool(self._runs.any())

    def of_points(self) -> np.ndarray:
        """The cost of a run of each point; in packets while nothing has been measured."""
        if not self.known:
            return self._work
        measured = self._runs > 0
        rate = self._seconds.sum() / (self._work * self._runs).sum()
        return np.where(measured, self._seconds / np.maximum(self._runs, 1), self._work * rate)


@dataclass(frozen=True)
class Run:
    """What is to be run.

    Attributes:
        key: Equal keys are one run.
        point: Which scenario, by number.
        replication: The lower, the sooner it is run.
        seed: Of the run.
    """

    key: str
    point: int
    replication: int
    seed: int


class Keeper(Protocol):
    """Where what comes back is kept; `store.Writer` is one."""

    def turn(self, rows: Sequence[Row], claim: Callable[[Collection[str]], Iterable[str]]) -> None:
        """Keep runs and claim others, as `store.Writer.turn` does."""


class Nowhere:
    """A `Keeper` that keeps nothing, where there are no others."""

    def turn(self, _rows: Sequence[Row], claim: Callable[[Collection[str]], Iterable[str]]) -> None:
        """Claim runs."""
        claim(())


def _went_wrong(done: Future[list[Outcome]]) -> bool:
    return done.cancelled() or done.exception() is not None or any(o.row.shape is None for o in done.result())


class Runner:
    """One go at many runs.

    Args:
        runs: What is to be run.
        work: For each point a guess of how much there is to simulate.
        job: A run of a point, but for its key and seed, and whether it leaves this process.
        take: Is given what became of a run, and says what is kept of it.
        log: What is finished and what failed.
        report: Called now and then with the progress.
    """

    def __init__(
        self,
        runs: Iterable[Run],
        work: list[float],
        job: Callable[[int, bool], Job],
        take: Callable[[Run, Outcome], Row],
        log: Log,
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        self._work = work
        self._job, self._take = job, take
        self._log = log
        self._report = report
        self._runs: dict[str, Run] = {}
        for run in runs:
            self._runs.setdefault(run.key, run)
        self._costs = Costs(work)
        self._shares: dict[str, float] = {}  # of runs under way in threads
        self._stop = threading.Event()
        self._threads: dict[int, bool] = {}  # that are at a run and were not asked to stop
        self._asking = False
        self._done: set[str] = set()
        self._failed: set[str] = set()
        self._again: set[str] = set()  # failed before, and wanted again
        self._alone: set[str] = set()  # handed out with others to workers that died
        self._queue: deque[Run] = deque()  # not claimed yet
        self._others: list[Run] = []  # claimed by another sweep
        self._mine: deque[Run] = deque()  # claimed, to be handed out next
        self._pending: dict[Future[list[Outcome]], list[Run]] = {}  # handed out
        self._open: list[Row] = []  # come back, not kept yet
        self._opened = 0.0
        self._bytes = self._measured = 0  # of rows that came back
        self._cost = np.empty(0)  # of a run of each point, in seconds; infinite while nothing is known
        self._all = np.bincount([run.point for run in self._runs.values()], minlength=len(work))  # runs of each point
        self._left = np.zeros(len(work))  # those that are not finished
        self._here = np.zeros(len(work))  # those that were run now
        self._start = self._reported = self._looked = 0.0
        self._window = 0

    def todo(self, retry_failed: bool) -> list[Run]:
        """What is neither finished nor failed: replication after replication, within one the longest runs first."""
        self._done = self._log.done & self._runs.keys()
        self._failed = (self._log.failed & self._runs.keys()) - self._done
        if retry_failed:
            self._again, self._failed = self._failed, set()
        left = [run for key, run in self._runs.items() if key not in self._done and key not in self._failed]
        self._left = np.bincount([run.point for run in left], minlength=len(self._work)).astype(float)
        if not left:
            return left
        for key, wall_s, _ in self._log.timings:
            if key in self._runs:
                self._costs.add(self._runs[key].point, wall_s)
        cost = self._costs.of_points()
        return sorted(left, key=lambda run: (run.replication, -cost[run.point], run.point))

    def go(self, keeper: Keeper, workers: int | None, executor: Executor | None, retry_failed: bool) -> None:
        """Run what is left.

        Raises:
            RunError: the workers were lost.
        """
        self._queue.extend(self.todo(retry_failed))
        if self._queue:
            pool = executor or executors.threads(min(workers or executors.cores(), len(self._queue)))
            try:
                self._work_off(keeper, pool)
            except (BrokenExecutor, CancelledError) as error:
                raise RunError(
                    f"the workers were lost while they ran ({type(error).__name__}: {error}); "
                    "what was finished is kept, and the same command goes on from there"
                ) from None
            finally:
                self._stop.set()
                if executor is None:
                    pool.shutdown(wait=False, cancel_futures=True)
                    self._end_threads()
        self._tell(last=True)

    def _work_off(self, keeper: Keeper, pool: Executor) -> None:
        self._start = time.monotonic()
        try:
            while self._queue or self._others or self._mine or self._pending or self._open:
                ahead = self._ahead(pool)
                if self._is_due(ahead):
                    self._turn(keeper, ahead)
                while self._mine and len(self._pending) < ahead:
                    bundle = self._bundle()
                    self._pending[self._submit(pool, bundle)] = bundle
                self._tell()
                if self._pending:
                    self._collect()
                elif self._others and not self._open:
                    time.sleep(_OTHERS)
                if not self._queue:
                    self._queue.extend(self._others)
                    self._others.clear()
        finally:
            for future in self._pending:
                future.cancel()
            if self._open:
                self._turn(keeper, 0)

    def _ahead(self, pool: Executor) -> int:
        """So many bundles are handed out at once: no worker waits, and none has a long line of its own."""
        now = time.monotonic()
        if not self._window or now - self._looked > _WINDOW:
            self._looked, self._window = now, 2 * executors.workers_of(pool) + 1
        return self._window

    def _is_due(self, ahead: int) -> bool:
        """Whether what has come back is kept now, and more is claimed."""
        if self._open and time.monotonic() - self._opened >= _COMMIT:
            return True
        return not self._mine and len(self._pending) <= ahead // 2 and bool(self._queue or self._open)

    def _turn(self, keeper: Keeper, ahead: int) -> None:
        rows, self._open = self._open, []
        cost = self._costs.of_points() if self._costs.known else np.full(len(self._work), np.inf)

        def claim(held: Collection[str]) -> Iterable[str]:
            supply = sum(cost[run.point] for run in self._mine)
            while self._queue:
                short = cost[self._queue[0].point] < BUNDLE
                if len(self._mine) + len(self._pending) >= ahead and not (short and supply < ahead * BUNDLE):
                    break
                run = self._queue.popleft()
                if self._settled(run.key):
                    continue
                if run.key in held:
                    self._others.append(run)
                else:
                    self._mine.append(run)
                    supply += cost[run.point]
            return [run.key for runs in (self._mine, *self._pending.values()) for run in runs]

        keeper.turn(rows, claim)
        self._cost = cost

    def _settled(self, key: str) -> bool:
        """Whether another sweep has finished this run since, or seen it fail."""
        if key in self._log.done:
            self._count(key, self._done)
        elif key in self._log.errors and key not in self._again:
            self._count(key, self._failed)
        else:
            return False
        return True

    def _count(self, key: str, where: set[str]) -> None:
        where.add(key)
        self._left[self._runs[key].point] -= 1

    def _bundle(self) -> list[Run]:
        """The next run, or short ones that take `BUNDLE` together."""
        bundle = [self._mine.popleft()]
        seconds = self._cost[bundle[0].point]
        most = _MESSAGE * self._measured / self._bytes if self._bytes else 1
        while self._mine and len(bundle) < most and not {bundle[0].key, self._mine[0].key} & self._alone:
            seconds += self._cost[self._mine[0].point]
            if seconds > BUNDLE:
                break
            bundle.append(self._mine.popleft())
        return bundle

    def _submit(self, pool: Executor, runs: list[Run]) -> Future[list[Outcome]]:
        threads = isinstance(pool, ThreadPoolExecutor)
        of_points = [self._job(run.point, not threads) for run in runs]
        jobs = [replace(job, key=run.key, seed=run.seed) for run, job in zip(runs, of_points, strict=True)]
        return pool.submit(self._in_thread if threads else run_jobs, jobs)

    def _in_thread(self, jobs: Sequence[Job]) -> list[Outcome]:
        thread = threading.get_ident()
        self._threads[thread] = True
        try:
            return run_jobs(jobs, self._share)
        finally:
            self._leave(thread)

    def _leave(self, thread: int) -> None:
        """What was asked of this thread and not seen yet must not be seen by the pool, whose thread it is.

        One `pop` gets the thread, this one or that of `_ask_threads`: either nobody asks it, or it is asked once and
        stays here until then. Without a lock: `Stopped` may come between any two steps and would leave one taken.
        """
        if not self._threads.pop(thread, False):
            while self._asking:
                time.sleep(0.001)
            _ASK(ctypes.c_ulong(thread), None)

    def _end_threads(self) -> None:
        """Wait for runs to see that they are to stop; one that is in a law written in Python is stopped there."""
        running = [future for future in self._pending if future.running()]
        if wait(running, _STOPPING).not_done:
            self._ask_threads()
            wait(running, _STOPPING)

    def _ask_threads(self) -> None:
        """Have each thread that is at a run stopped, once."""
        self._asking = True
        try:
            for thread in list(self._threads):
                if self._threads.pop(thread, False):
                    _ASK(ctypes.c_ulong(thread), ctypes.py_object(Stopped))
        finally:
            self._asking = False

    def _share(self, key: str, done: float) -> None:
        if self._stop.is_set():
            raise Stopped
        self._shares[key] = done

    def _collect(self) -> None:
        """Take back what is ready."""
        patience = max(self._opened + _COMMIT - time.monotonic(), 0.0) if self._open else _TICK
        done = wait(self._pending, timeout=patience, return_when=FIRST_COMPLETED).done
        for future in sorted(done, key=_went_wrong):  # what is whole first: a failure may end all
            runs = self._pending.pop(future)
            for run in runs:
                self._shares.pop(run.key, None)
            try:
                outcomes = future.result()
            except Exception as error:
                if type(error).__name__ != "KilledWorker":
                    raise
                if len(runs) > 1:  # one of them kills workers, and which is seen one by one
                    self._alone.update(run.key for run in runs)
                    self._mine.extendleft(reversed(runs))
                    continue
                outcomes = [Outcome(Row(runs[0].key, None, f"every worker that ran it died: {error}".encode()))]
            for run, outcome in zip(runs, outcomes, strict=False):
                self._keep(run, outcome)
            self._mine.extendleft(reversed(runs[len(outcomes) :]))

    def _keep(self, run: Run, outcome: Outcome) -> None:
        row = self._take(run, outcome)
        if not self._open:
            self._opened = time.monotonic()
        self._open.append(row)
        self._bytes += len(row.data) + _ROW
        self._measured += 1
        if row.shape is None:
            self._count(run.key, self._failed)
            return
        self._costs.add(run.point, row.wall_s)
        self._count(run.key, self._done)
        self._here[run.point] += 1

    # How far it is.

    def _tell(self, last: bool = False) -> None:
        now = time.monotonic()
        if self._report is None or not (last or now - self._reported >= _TICK):
            return
        self._reported = now
        self._report(self.progress())

    def progress(self) -> Progress:
        """How far it is now."""
        cost = self._costs.of_points()
        begun = sum(share * float(cost[self._runs[key].point]) for key, share in list(self._shares.items()))
        here = float(cost @ self._here) + begun
        left = float(cost @ self._left) - begun
        total = float(cost @ self._all)
        elapsed = time.monotonic() - self._start
        remaining = None if left else 0.0
        if left and self._costs.known and (here >= _BASIS * (here + left) or self._here.sum() >= _BASIS_RUNS):
            remaining = left / here * elapsed
        return Progress(len(self._runs), len(self._done), len(self._failed), 1.0 - left / total, remaining)

    def probe(self, todo: list[Run], seconds: float = 1.0, runs: int = 5) -> float:
        """How long `todo` will take one worker, in seconds, from the beginnings of a few runs, small to large.

        Args:
            todo: Runs.
            seconds: How long each is watched at most.
            runs: How many are.
        """
        by_work = sorted({run.point: run for run in todo}.values(), key=lambda run: self._work[run.point])
        for i in sorted({round(k * (len(by_work) - 1) / max(runs - 1, 1)) for k in range(runs)}) if by_work else []:
            self._costs.add(by_work[i].point, self._begin(by_work[i], seconds))
        cost = self._costs.of_points()
        return float(sum(cost[run.point] for run in todo))

    def _begin(self, run: Run, seconds: float) -> float:
        job = self._job(run.point, False)
        # A kernel takes the time on the wall; of what is simulated that would count what else the machine does.
        clock = time.perf_counter if job.backend == "live" else time.thread_time
        until, start, share = time.perf_counter() + seconds, clock(), 0.0

        def watch(done: float) -> None:
            nonlocal share
            share = done
            if time.perf_counter() > until:
                raise Stopped

        try:
            backends.run(job.scenario, run.seed, job.backend, watch)
        except CclabError:
            return clock() - start  # it fails; that takes no longer the next time
        except Stopped:
            pass
        return (clock() - start) / max(share, 1e-6)


class Sweep(Runner):
    """One go at a study.

    Args:
        design: What to run.
        plan: Its points and keys.
        log: What is finished and what failed.
        report: Called now and then with the progress.
        samples: A folder for whole results, where the study keeps them.
    """

    def __init__(
        self,
        design: Design,
        plan: Plan,
        log: Log,
        report: Callable[[Progress], None] | None = None,
        samples: Path | None = None,
    ) -> None:
        self.design = design
        self._samples = samples
        self._changes = [changes for _, changes in design.points()]
        runs = (Run(key, p, r, plan.seeds[r]) for p, keys in enumerate(plan.keys) for r, key in enumerate(keys))
        super().__init__(runs, plan.work, lru_cache(_POINTS)(self._job_of), self._taken, log, report)

    def _job_of(self, point: int, shipped: bool) -> Job:
        scenario = self.design.scenario_at(self._changes[point])
        job = Job("", scenario, 0, self.design.backend, core_digest(), self.design.keep == "samples")
        return replace(job, laws=laws.ship(names)) if shipped and (names := laws.named_in(scenario)) else job

    def _taken(self, run: Run, outcome: Outcome) -> Row:
        if outcome.value is not None and self._samples is not None:
            scenario, row = self._job(run.point, False).scenario, outcome.row
            result = Result.of_run(scenario, self.design.backend, outcome.value, row.wall_s, row.cpu_s)
            result.save(self._samples / run.key)
        return outcome.row
