"""The file of a store, an SQLite database: how it is opened, told from others, locked, and what its errors mean.

Whatever is read is checked by who reads it: SQLite itself would not notice a flipped bit in a number.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cclab.errors import ResultError
from cclab.folders import temporary

FILE = "sweep.sqlite"
PARTS = ("", "-wal", "-journal")  # what is written is in these files together
MENDING = "sweep.mending"  # beside it, a folder
LAYOUT = 2  # of the tables below; 1 was a folder of Parquet files
PATIENCE = 30.0  # seconds that another program may keep it locked
_APPLICATION = 0x63636C62  # "cclb", in the header of the file
# No index and no constraint but the numbers of rows: what is there is said once, so nothing can contradict it.
_TABLES = {
    "study": "CREATE TABLE study (id INTEGER PRIMARY KEY, told TEXT, checksum BLOB)",
    "shapes": "CREATE TABLE shapes (id INTEGER PRIMARY KEY, told TEXT, checksum BLOB)",
    "runs": "CREATE TABLE runs "
    "(id INTEGER PRIMARY KEY, key TEXT, shape INTEGER, wall_s REAL, cpu_s REAL, data BLOB, checksum BLOB)",
    "seal": "CREATE TABLE seal (id INTEGER PRIMARY KEY, runs INTEGER, checksum BLOB)",
    "sweeps": "CREATE TABLE sweeps (id INTEGER PRIMARY KEY, name TEXT, keys TEXT)",
}


def checksum(*values: object, data: object = b"") -> bytes:
    """What is kept beside values, so that a flipped bit in them is seen."""
    of = hashlib.blake2b(repr(values).encode(), digest_size=8)
    of.update(data if isinstance(data, bytes) else repr(data).encode())
    return of.digest()


KEPT = "what was finished is kept, and the same command goes on from there"


class Damaged(ResultError):
    """It cannot be what was written."""


def damaged(file: Path, what: str) -> Damaged:
    """The error that says so, and what to do."""
    return Damaged(
        f"{file}: is damaged ({what}); the sweep started again with --mend keeps what is whole and runs the rest again"
    )


class NotBegun(Damaged):
    """Nothing of a sweep is in it yet."""

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"{file}: holds no study: its sweep was stopped before it had begun, or the file was cut off; "
            "the sweep started again begins it"
        )


@contextlib.contextmanager
def in_words(file: Path) -> Iterator[None]:
    """An error of SQLite inside is one of ours, or of the system's, that names the file and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _told(file, error) from None


def _told(file: Path, error: sqlite3.Error) -> Exception:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return OSError(errno.ENOSPC, f"the disk is full; {KEPT}", str(file))
        case sqlite3.SQLITE_IOERR:
            return OSError(errno.EIO, f"reading or writing failed ({error.sqlite_errorname}); {KEPT}", str(file))
        case sqlite3.SQLITE_READONLY:
            return OSError(errno.EROFS, "cannot be written", str(file))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return OSError(errno.EACCES, "cannot be opened", str(file))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return ResultError(f"{file}: another program has kept it locked for {PATIENCE:g} s; {KEPT}")
        case sqlite3.SQLITE_NOTADB:
            return damaged(file, "it is no SQLite database")
    return damaged(file, str(error))


@contextlib.contextmanager
def reading(file: Path) -> Iterator[sqlite3.Connection]:
    """It as it was last committed, for reading; sweeps go on meanwhile.

    Raises:
        NotBegun: nothing was ever committed.
        ResultError: it is no store, damaged, or of another layout.
    """
    if not file.stat().st_size:
        raise NotBegun(file)
    with in_words(file), contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(contextlib.closing(_connected(file, "ro")))
            connection.execute("BEGIN")
            _check(connection, file)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            # Its sweep was killed, and SQLite may not put the folder in order: a copy can be.
            folder = Path(stack.enter_context(temporary("cclab-store-")))
            copy(file, folder / FILE)
            connection = stack.enter_context(contextlib.closing(_connected(folder / FILE, "rw")))
            connection.execute("BEGIN")
            if _is_new(connection):
                raise NotBegun(file) from None
            _check(connection, file)
        yield connection


def copy(file: Path, to: Path) -> None:
    """Copy it, with what of it is not in the one file, as it was at one moment.

    Raises:
        ResultError: it is being written all the time.
    """
    until = time.monotonic() + PATIENCE
    while True:
        for suffix in PARTS:
            Path(f"{to}{suffix}").unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{file}{suffix}", f"{to}{suffix}")
        if _contents(file) == _contents(to):  # nothing was written from the first reading of one to the last of another
            return
        if time.monotonic() > until:
            raise ResultError(
                f"{file}: is being written, and could not be copied for {PATIENCE:g} s; end its sweep first"
            )
        time.sleep(0.01)


def _contents(file: Path) -> list[bytes | None]:
    found: list[bytes | None] = []
    for part in (Path(f"{file}{suffix}") for suffix in PARTS):
        try:
            with open(part, "rb") as opened:
                found.append(hashlib.file_digest(opened, "blake2b").digest())
        except FileNotFoundError:
            found.append(None)
    return found


def writing(file: Path) -> sqlite3.Connection:
    """It for writing, made where it is not there; commits last through a power cut.

    Raises:
        ResultError: it is no store, damaged, or of another layout.
    """
    with in_words(file):
        connection = _connected(file, "rwc")
        try:
            if _is_new(connection):
                _make(connection)
            _check(connection, file)
            _journal(connection, "WAL", time.monotonic() + PATIENCE)
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection


def close(connection: sqlite3.Connection) -> None:
    """Close what `writing` opened; if nobody else has it open, all is in the one file then."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def snapshot(connection: sqlite3.Connection, file: Path) -> contextlib.AbstractContextManager[None]:
    """What is read inside is of one moment."""
    return transaction(connection, file, "BEGIN")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, file: Path, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All that is written inside, or nothing; nobody else writes meanwhile."""
    with in_words(file):
        connection.execute(begin)
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise


def lock(file: Path) -> sqlite3.Connection | None:
    """A lock of the operating system on a file, which ends with this process, however that ends; or somebody has it."""
    with in_words(file):
        connection = _connected(file, "rwc", patience=0.0)
        try:
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            connection.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            return None
        return connection


@contextlib.contextmanager
def mending(place: Path) -> Iterator[Path]:
    """A new folder for what is made of a damaged store; nobody else mends meanwhile, and what others left is removed.

    Raises:
        ResultError: somebody else mends it.
    """
    above = place / MENDING
    above.mkdir(exist_ok=True)
    if (held := lock(above / "lock")) is None:
        raise ResultError(f"{place}: is being mended; wait until that has ended")
    try:
        yield Path(tempfile.mkdtemp(dir=above))
    finally:
        shutil.rmtree(above, ignore_errors=True)
        held.close()


def _connected(file: Path, mode: str, patience: float = PATIENCE) -> sqlite3.Connection:
    uri = f"{Path(os.path.abspath(file)).as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
    connection.text_factory = lambda text: text.decode(errors="replace")  # its checksum tells
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if _is_new(connection):  # nobody has made it meanwhile
        for table in _TABLES.values():
            connection.execute(table)
        connection.execute("INSERT INTO seal VALUES (1, 0, ?)", [checksum(0)])
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
    connection.execute("COMMIT")


def _is_new(connection: sqlite3.Connection) -> bool:
    tables, pages = (
        connection.execute(ask).fetchone()[0] for ask in ("SELECT count(*) FROM sqlite_master", "PRAGMA page_count")
    )
    return bool(tables == 0 and pages <= 1)


def _check(connection: sqlite3.Connection, file: Path) -> None:
    application, layout = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != _APPLICATION:
        raise damaged(file, "or a database of another program")
    if layout != LAYOUT:
        raise ResultError(f"{file}: written in layout {layout}; this cclab reads layout {LAYOUT}")
    if dict(connection.execute("SELECT name, sql FROM sqlite_master")) != _TABLES:
        raise damaged(file, "its tables are not those of a store")


def _journal(connection: sqlite3.Connection, mode: str, until: float) -> None:
    """Where there is no shared memory it stays a rollback journal, and readers wait for commits."""
    while True:  # nobody else may have it open in this moment, and SQLite does not wait for that by itself
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.02)
