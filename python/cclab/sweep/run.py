"""Hands runs out, a few ahead of the workers, and keeps what comes back."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
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
from functools import partial

import numpy as np

from cclab import backends, laws
from cclab.errors import CclabError, RunError
from cclab.results import Result
from cclab.sweep import executors
from cclab.sweep.job import Job, Outcome, Stopped, core_digest, run_job
from cclab.sweep.plan import Design, Plan
from cclab.sweep.store import PART, Store, row_of

_TICK = 0.5  # seconds between two looks at the clock
_OTHERS = 1.0  # seconds between two looks at what other sweeps have finished
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
    """

    runs: int
    finished: int
    failed: int
    share: float
    remaining_s: float | None


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
class _Run:
    key: str
    point: int
    replication: int


class Sweep:
    """One go at a study.

    Args:
        design: What to run.
        plan: Its points and keys.
        store: Where finished runs are kept; `None` to look at the plan only.
        report: Called now and then with the progress.
    """

    def __init__(
        self,
        design: Design,
        plan: Plan,
        store: Store | None,
        report: Callable[[Progress], None] | None,
    ) -> None:
        self.design, self.plan = design, plan
        self._store = store
        self._report = report
        self._changes = [changes for _, changes in design.points()]
        self._runs = {
            key: _Run(key, p, r) for p, keys in reversed(list(enumerate(plan.keys))) for r, key in enumerate(keys)
        }
        self._costs = Costs(plan.work)
        self._shares: dict[str, float] = {}  # of runs under way in threads
        self._stop = threading.Event()
        self._done: set[str] = set()
        self._failed: set[str] = set()
        self._again: set[str] = set()  # failed before, and wanted again
        self._left = np.zeros(len(plan.keys))  # runs of each point that are not finished
        self._here = np.zeros(len(plan.keys))  # runs of each point that were run now
        self._start = self._reported = self._looked = 0.0
        self._window = 0
        self._fresh = 0

    @property
    def store(self) -> Store:
        """Where finished runs are kept."""
        assert self._store is not None
        return self._store

    def todo(self, retry_failed: bool) -> list[_Run]:
        """What is neither finished nor failed: replication after replication, within one the longest runs first."""
        if self._store is not None:
            self._done = self.store.done() & self._runs.keys()
            self._failed = (self.store.failed() & self._runs.keys()) - self._done
        if retry_failed:
            self._again, self._failed = self._failed, set()
        left = [run for key, run in self._runs.items() if key not in self._done and key not in self._failed]
        self._left = np.bincount([run.point for run in left], minlength=len(self.plan.keys)).astype(float)
        if not left or self._store is None:
            return left
        for key, wall_s, _ in self.store.timings():
            if key in self._runs:
                self._costs.add(self._runs[key].point, wall_s)
        cost = self._costs.of_points()
        return sorted(left, key=lambda run: (run.replication, -cost[run.point], run.point))

    def go(self, workers: int | None, executor: Executor | None, retry_failed: bool) -> None:
        """Run what is left.

        Raises:
            RunError: the workers were lost.
        """
        queue = deque(self.todo(retry_failed))
        if queue:
            pool = executor or executors.threads(min(workers or executors.cores(), len(queue)))
            try:
                self._work_off(queue, pool)
            except (BrokenExecutor, CancelledError) as error:
                raise RunError(
                    f"the workers were lost while they ran ({type(error).__name__}: {error}); "
                    "what was finished is kept, and the same command goes on from there"
                ) from None
            finally:
                self._stop.set()
                if executor is None:
                    pool.shutdown(wait=True, cancel_futures=True)
        self.store.merge()
        self._tell(last=True)

    def _work_off(self, queue: deque[_Run], pool: Executor) -> None:
        self._start = time.monotonic()
        pending: dict[Future[Outcome], _Run] = {}
        others: list[_Run] = []  # claimed by another sweep
        try:
            while queue or pending or others:
                while queue and len(pending) < self._ahead(pool):
                    run = queue.popleft()
                    if not self.store.claim(run.key):
                        others.append(run)
                    elif self._settled(run.key):
                        self.store.release(run.key)
                    else:
                        pending[self._submit(pool, run)] = run
                self._tell()
                if pending:
                    for future in wait(pending, timeout=_TICK, return_when=FIRST_COMPLETED).done:
                        run = pending.pop(future)
                        self._shares.pop(run.key, None)
                        self._keep(run, future)
                        self.store.release(run.key)
                elif others:
                    time.sleep(_OTHERS)
                if others and not queue:
                    queue.extend(run for run in others if not self._settled(run.key))
                    others = []
        finally:
            for future in pending:
                future.cancel()

    def _ahead(self, pool: Executor) -> int:
        """So many runs are handed out at once: no worker waits, and none has a long line of its own."""
        now = time.monotonic()
        if not self._window or now - self._looked > _WINDOW:
            self._looked, self._window = now, 2 * executors.workers_of(pool) + 1
        return self._window

    def _settled(self, key: str) -> bool:
        """Whether another sweep has finished this run since, or seen it fail."""
        if self.store.has(key):
            self._count(key, self._done)
        elif key not in self._again and self.store.has_failed(key):
            self._count(key, self._failed)
        else:
            return False
        return True

    def _count(self, key: str, where: set[str]) -> None:
        where.add(key)
        self._left[self._runs[key].point] -= 1

    def _submit(self, pool: Executor, run: _Run) -> Future[Outcome]:
        scenario = self.design.scenario_at(self._changes[run.point])
        seed = self.plan.seeds[run.replication]
        job = Job(run.key, scenario, seed, self.design.backend, core_digest())
        if isinstance(pool, ThreadPoolExecutor):
            return pool.submit(run_job, job, partial(self._share, run.key))
        if laws.registered() and laws.fingerprint(written := scenario.to_dict(full=True)):
            job = replace(job, laws=laws.ship(written))
        return pool.submit(run_job, job)

    def _share(self, key: str, done: float) -> None:
        if self._stop.is_set():
            raise Stopped
        self._shares[key] = done

    def _keep(self, run: _Run, future: Future[Outcome]) -> None:
        try:
            outcome = future.result()
        except Exception as error:
            if type(error).__name__ != "KilledWorker":
                raise
            outcome = Outcome(run.key, None, f"every worker that ran it died: {error}", 0.0, 0.0)
        if outcome.raw is None:
            self.store.put_failure(run.key, outcome.error or "")
            self._count(run.key, self._failed)
            return
        if self.design.keep == "samples":
            scenario = self.design.scenario_at(self._changes[run.point])
            result = Result.of_run(scenario, self.design.backend, outcome.raw, outcome.wall_s, outcome.cpu_s)
            result.save(self.store.place / "samples" / run.key)
        self.store.put(row_of(run.key, outcome.raw))
        self.store.put_timing(run.key, outcome.wall_s, outcome.cpu_s)
        self._costs.add(run.point, outcome.wall_s)
        self._count(run.key, self._done)
        self._here[run.point] += 1
        self._fresh += 1
        if self._fresh % PART == 0:
            self.store.merge()

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
        total = float(cost.sum()) * len(self.plan.seeds)
        elapsed = time.monotonic() - self._start
        remaining = None if left else 0.0
        if left and here and self._costs.known:
            remaining = left / here * elapsed
        return Progress(len(self._runs), len(self._done), len(self._failed), 1.0 - left / total, remaining)

    def probe(self, todo: list[_Run], seconds: float = 1.0, runs: int = 5) -> float:
        """How long `todo` will take one worker, in seconds, from the beginnings of a few runs, small to large.

        Args:
            todo: Runs.
            seconds: How long each is watched at most.
            runs: How many are.
        """
        by_work = sorted({run.point: run for run in todo}.values(), key=lambda run: self.plan.work[run.point])
        for i in sorted({round(k * (len(by_work) - 1) / max(runs - 1, 1)) for k in range(runs)}) if by_work else []:
            self._costs.add(by_work[i].point, self._begin(by_work[i], seconds))
        cost = self._costs.of_points()
        return float(sum(cost[run.point] for run in todo))

    def _begin(self, run: _Run, seconds: float) -> float:
        start, share = time.perf_counter(), 0.0

        def watch(done: float) -> None:
            nonlocal share
            share = done
            if time.perf_counter() - start > seconds:
                raise Stopped

        scenario = self.design.scenario_at(self._changes[run.point])
        try:
            backends.run(scenario, self.plan.seeds[run.replication], self.design.backend, watch)
        except CclabError:
            return time.perf_counter() - start  # it fails; that takes no longer the next time
        except Stopped:
            pass
        return (time.perf_counter() - start) / max(share, 1e-6)
