"""The command line: `commands`, and here how they end and what is said of errors."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from typing import Any

import click

from cclab.cli.commands import FAILURE, INTERRUPTED, USERS_MISTAKE, cli
from cclab.errors import AlgorithmError, CclabError, ResultError, RunError, ScenarioError, StudyError, UnknownNameError

__all__ = ["main", "run_cli"]


def main() -> None:
    """Entry point of the `cclab` command."""
    sys.stdout, sys.stderr = _usable(sys.stdout), _usable(sys.stderr)
    signal.signal(signal.SIGTERM, _terminated)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
    try:
        status: Any = run_cli(sys.argv[1:])
    except SystemExit as ended:
        status = ended.code
    _leave_threads(status)
    sys.exit(status)


def _leave_threads(status: Any) -> None:
    """End here if a run of a stopped sweep goes on, in a law that sleeps, say: Python would wait for it.

    Nothing is lost by `os._exit`: what was open was closed as the exception came past it, and here both streams are
    flushed and temporary folders removed; what else is registered with `atexit` waits for threads and pools or is of
    libraries.
    """
    going_on = [thread for thread in threading.enumerate() if thread.name.startswith("cclab-run")]
    for thread in going_on:
        thread.join(0.1)
    if any(thread.is_alive() for thread in going_on):
        sys.stdout.flush()
        sys.stderr.flush()
        if folders := sys.modules.get("cclab.folders"):
            folders.remove_passing()
        os._exit(status if isinstance(status, int) else FAILURE)


def _usable(stream: Any) -> Any:
    """A stream that never fails for a letter it does not have, nor for being closed (`>&-`)."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    stream.reconfigure(errors="replace")
    return stream


def _terminated(*_: Any) -> None:
    raise SystemExit(128 + signal.SIGTERM)  # so that what is half written is cleaned up


def run_cli(args: list[str]) -> int:
    """The exit status: 0; 2 for a user's mistake; 1 for a failure; 130 when interrupted."""
    try:
        status = cli.main(args=args, prog_name="cclab", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.exceptions.Abort:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (AlgorithmError, ScenarioError, UnknownNameError, ResultError, StudyError) as error:
        _say(str(error))
        if "unknown algorithm" in str(error):
            print("hint: a law of your own, written in Python, is loaded with --algorithms FILE", file=sys.stderr)
        return USERS_MISTAKE
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        _say(where + _OF_THE_PATH.get(error.errno or 0, error.strerror or str(error)))
        return USERS_MISTAKE if error.errno in _OF_THE_PATH else FAILURE
    except (RunError, CclabError, MemoryError) as error:
        if isinstance(error, RunError) and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)  # a law of the user's raised it
        _say(str(error) or type(error).__name__)
        return FAILURE


# What is wrong with the path that was given, and not with the machine.
_OF_THE_PATH = {
    errno.ENOENT: "its folder is not there",
    errno.ENOTDIR: "a part of this path is a file, not a folder",
    errno.EEXIST: "is there already, and is not a folder",
    errno.EISDIR: "is a folder, not a file",
    errno.EACCES: "may not be written or read",
    errno.EPERM: "may not be written or read",
    errno.EROFS: "is on a disk that cannot be written",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "a link that leads back to itself",
}


def _say(text: str) -> None:
    print("\n".join(f"error: {line}" for line in text.splitlines()), file=sys.stderr)
