"""Where runs are computed: threads of this process, processes of this machine, or a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from cclab.errors import StudyError

_PATIENCE = "10s"  # for a scheduler to answer


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(workers: int | None = None) -> ThreadPoolExecutor:
    """Threads of this process, which suffice: the simulator runs without the interpreter's lock."""
    return ThreadPoolExecutor(workers or cores(), thread_name_prefix="cclab-run")


@contextlib.contextmanager
def processes(workers: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """Processes of this machine, for laws written in Python, which hold the interpreter's lock.

    They are started afresh, leave Ctrl-C to the process that started them, and end with it even if it is killed.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers or cores(), mp_context=context, initializer=initialise_process)
    try:
        yield pool
    except BaseException:
        started = list((getattr(pool, "_processes", None) or {}).values())
        manager = getattr(pool, "_executor_manager_thread", None)
        pool.shutdown(wait=False, cancel_futures=True)
        for process in started:
            process.terminate()  # what they were running is run again
        if manager is not None:
            manager.join(5.0)  # else it may close its pipe while Python, at its end, writes there to wake it
        raise
    else:
        pool.shutdown()


def initialise_process() -> None:
    """What a worker process of a pool does first; for `ProcessPoolExecutor(initializer=...)`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


@contextlib.contextmanager
def dask(address: str) -> Iterator[Executor]:
    """The executor of a Dask cluster.

    Args:
        address: Of its scheduler, e.g. `"tcp://10.0.0.1:8786"`, or its scheduler file.

    Raises:
        StudyError: Dask is not installed, or no scheduler answers there.
    """
    try:
        from distributed import Client
    except ImportError:
        raise StudyError('Dask is not installed; pip install "cclab[dask]", here and on every worker') from None
    client: Any
    where: dict[str, Any] = {"scheduler_file": address} if Path(address).is_file() else {"address": address}
    try:
        client = Client(**where, timeout=_PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StudyError(f"{address}: no Dask scheduler answers there ({reason})") from None
    try:
        yield client.get_executor()
    finally:
        client.close(timeout=5)


def workers_of(executor: Executor) -> int:
    """How many runs it works on at once; 0 while a cluster has no workers."""
    client: Any = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):
        return sum(map(int, client.nthreads().values()))
    return int(getattr(executor, "_max_workers", None) or cores())
