"""The folder of a sweep: one database that holds the study and a row for each run, whole at any moment.

    sweep.sqlite      the study, its points, and its runs
    sweep-*.lock      a sweep that is going on
    samples/<key>/    whole results, where the study keeps them

Rows of runs are only ever added, numbered 1, 2, 3 and so on, each with a checksum; how many there are is kept with a
checksum, too. So whatever is missing, twice, or not what was written is seen.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab.errors import ResultError
from cclab.folders import a_file, errors_name
from cclab.sweep import database
from cclab.sweep.database import FILE, MENDING, checksum, damaged
from cclab.sweep.pack import Row, Shape

if TYPE_CHECKING:
    import polars as pl

FAILED = -1  # the shape of a run that has none
_EARLIER = "sweep.json"  # of a store of Parquet files
_OURS = re.compile(
    r"sweep(\.damaged-\d+)?\.sqlite(-wal|-shm|-journal)?|sweep-\w+\.lock|sweep\.mending|samples|report\.html"
)
_NAME = re.compile(r"[0-9a-f]{16}")
_AFTER = "SELECT id, key, shape, wall_s, cpu_s, data, checksum FROM runs WHERE id > ? ORDER BY id"


@dataclass
class Log:
    """What is known of all runs but their tables.

    Attributes:
        last: Number of the last row that has been read.
        done: Keys of finished runs.
        errors: Errors of failed runs by key, also of those that have been run well since.
        timings: Key, wall and CPU seconds of every finished run, as often as it was run.
    """

    last: int = 0
    done: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)
    timings: list[tuple[str, float, float]] = field(default_factory=list)

    @property
    def failed(self) -> set[str]:
        """Keys of runs that failed and have not been run well since."""
        return self.errors.keys() - self.done

    def follow(self, connection: sqlite3.Connection, file: Path) -> None:
        """Read on."""
        for row in _rows(connection, file, self.last):
            self.add(*row)

    def add(self, n: int, key: str, shape: int, wall_s: float, cpu_s: float, data: bytes) -> None:
        """Take a row in."""
        self.last = n
        if shape == FAILED:
            self.errors[key] = data.decode(errors="replace")
        else:
            self.done.add(key)
            self.timings.append((key, wall_s, cpu_s))


def is_store(place: Path) -> bool:
    """Whether a sweep has been started in this folder."""
    return (place / FILE).is_file() or (place / _EARLIER).is_file()


def no_sweep(place: Path) -> ResultError:
    """The error that a folder is not that of a sweep, and which is, or what makes one."""
    if is_store(place / "runs"):  # of two congestion controls
        return ResultError(f"{place}: no {FILE}; the sweep is in {place / 'runs'}")
    found = f"no {FILE}; not a sweep" if place.is_dir() else a_file(place, to_write=False) or "no such folder"
    return ResultError(f"{place}: {found}; cclab sweep STUDY makes one")


class Store:
    """The folder of a sweep, to be read.

    Raises:
        ResultError: it is none, or of an earlier layout.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.file = place, place / FILE
        if not is_store(place):
            raise no_sweep(place)
        _refuse_earlier(place)

    def study(self) -> dict[str, Any] | None:
        """What `Writer.put_study` has kept; `None` if its sweep was stopped before.

        Raises:
            ResultError: it is damaged.
        """
        found = []
        with contextlib.suppress(database.NotBegun), database.reading(self.file) as connection:
            found = connection.execute("SELECT told, checksum FROM study").fetchall()
        if not found:
            return None
        told, proof = found[0]
        if (
            len(found) > 1 or proof != checksum(told) or not isinstance(told, str)
        ):  # (another table's row is whole, too)
            raise damaged(self.file, "the study is not what was written")
        return dict(json.loads(told))

    def log(self) -> Log:
        """What is finished and what failed by now."""
        log = Log()
        with contextlib.suppress(database.NotBegun), database.reading(self.file) as connection:
            log.follow(connection, self.file)
        return log

    def check(self) -> None:
        """Read all of it.

        Raises:
            ResultError: it is damaged.
        """
        self.study()
        with database.reading(self.file) as connection:
            _check_pages(connection, self.file)
            shapes = _shapes(connection, self.file)
            for n, _, at, *_ in _rows(connection, self.file):
                if at != FAILED and at not in shapes:
                    raise damaged(self.file, f"run {n} has no shape")

    def tables(self) -> list[str]:
        """Names of the tables that finished runs have."""
        with database.reading(self.file) as connection:
            shapes = _shapes(connection, self.file).values()
        return list(dict.fromkeys(name for shape in shapes for name in shape.tables))

    def data(self, wanted: Collection[str]) -> dict[str, bytes]:
        """What is kept of finished runs, as `Row.data` was, by key."""
        with database.reading(self.file) as connection:
            rows = _rows(connection, self.file)
            return {key: data for _, key, at, _, _, data in rows if at != FAILED and key in wanted}

    def frames(self, table: str, wanted: Iterable[str]) -> list[pl.DataFrame]:
        """A table of finished runs, each run once, the keys first; a frame for all runs of a shape.

        Args:
            table: Its name; runs without it are left out.
            wanted: Keys.
        """
        left = set(wanted)
        found: dict[int, tuple[list[str], list[bytes]]] = {}
        with database.reading(self.file) as connection:
            shapes = _shapes(connection, self.file)
            for n, key, at, _, _, data in _rows(connection, self.file):
                if at == FAILED or key not in left:
                    continue
                left.remove(key)
                if (shape := shapes.get(at)) is None:
                    raise damaged(self.file, f"run {n} has no shape")
                if table in shape.tables:
                    keys, numbers = found.setdefault(at, ([], []))
                    keys.append(key)
                    try:
                        numbers.append(shape.numbers(table, data))
                    except ValueError as error:
                        raise damaged(self.file, f"run {n}: {error}") from None
        return [shapes[at].frame(table, *of) for at, of in found.items()]


class Writer:
    """The folder of a sweep, written by one sweep; others may write into it, too. Made where it is not there.

    Raises:
        ResultError: it is of an earlier layout, damaged, or holds something else.
    """

    def __init__(self, place: Path) -> None:
        _refuse_foreign(place)
        with errors_name(place):
            place.mkdir(parents=True, exist_ok=True)
        self.place, self.file = place, place / FILE
        self.log = Log()
        self._name = secrets.token_hex(8)
        self._shapes: dict[str, int] = {}
        self._lock: sqlite3.Connection | None = None
        self._refuse_mended()
        self._connection = database.writing(self.file)
        self._opened = self.file.stat()
        try:
            _check_pages(self._connection, self.file)
            with database.snapshot(self._connection, self.file):  # what takes long shall not keep others from writing
                self.log.follow(self._connection, self.file)
            with database.transaction(self._connection, self.file):
                self._shapes = {told: n for n, told in _told_shapes(self._connection, self.file)}
                self.log.follow(self._connection, self.file)
                for file in self.place.glob("sweep-*.lock"):
                    self._lives(file.stem.removeprefix("sweep-"))
                self._lock = database.lock(self._lock_of(self._name))
                self._refuse_mended()  # again: from now on who would mend it sees the lock
                self._connection.execute("INSERT INTO sweeps (name, keys) VALUES (?, '')", [self._name])
        except BaseException:
            self.close()
            raise

    def _refuse_mended(self) -> None:
        """Not while it is mended; what is left of one who was killed while he did is removed."""
        if (self.place / MENDING).exists():
            with errors_name(self.place), database.mending(self.place):
                pass

    def put_study(self, about: Mapping[str, Any]) -> None:
        """Keep the study and its plan; those of an earlier study of this folder give way, its runs do not."""
        told = json.dumps(about, ensure_ascii=False)
        with database.transaction(self._connection, self.file):
            self._connection.execute("DELETE FROM study")
            self._connection.execute("INSERT INTO study VALUES (1, ?, ?)", [told, checksum(told)])

    def turn(self, rows: Sequence[Row], claim: Callable[[Collection[str]], Iterable[str]]) -> None:
        """Keep runs, see in `log` what other sweeps have kept since, and claim runs; all of it, or nothing.

        Args:
            rows: From then on these are finished, or have failed.
            claim: Is given the keys that other sweeps have claimed, and returns those that this one has now. They are
                its own until the next turn, `close`, or the end of the process, however that ends.
        """
        if not (self.file.exists() and os.path.samestat(self._opened, self.file.stat())):
            raise ResultError(f"{self.file}: was moved or removed while it was written; {database.KEPT}")
        shapes = dict(self._shapes)
        with database.transaction(self._connection, self.file):
            self.log.follow(self._connection, self.file)
            new = list(self._numbered(rows, shapes))
            self._connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", new)
            last = self.log.last + len(new)
            self._connection.execute("UPDATE seal SET runs = ?, checksum = ?", [last, checksum(last)])
            mine = " ".join(claim(self._held()))
            self._connection.execute("UPDATE sweeps SET keys = ? WHERE name = ?", [mine, self._name])
        self._shapes = shapes
        for *row, _ in new:
            self.log.add(*row)

    def _numbered(self, rows: Sequence[Row], shapes: dict[str, int]) -> Iterator[tuple[Any, ...]]:
        for n, row in enumerate(rows, self.log.last + 1):
            at = FAILED
            if row.shape is not None and (at := shapes.get(row.shape, 0)) == 0:
                at = self._connection.execute("SELECT coalesce(max(id), 0) + 1 FROM shapes").fetchone()[0]
                self._connection.execute(
                    "INSERT INTO shapes VALUES (?, ?, ?)", [at, row.shape, checksum(at, row.shape)]
                )
                shapes[row.shape] = at
            about = (row.key, at, row.wall_s, row.cpu_s)
            yield n, *about, row.data, checksum(*about, data=row.data)

    def _held(self) -> set[str]:
        """What other sweeps have claimed that live; the others' claims end here."""
        held: set[str] = set()
        for n, name, keys in self._connection.execute("SELECT id, name, keys FROM sweeps").fetchall():
            if name != self._name and self._lives(name):
                held.update(str(keys).split())
            elif name != self._name:
                self._connection.execute("DELETE FROM sweeps WHERE id = ?", [n])
        return held

    def _lives(self, name: Any) -> bool:
        """Whether a sweep goes on; the file of one that has ended is removed. Asked inside a transaction only."""
        file = self._lock_of(name)
        if not _NAME.fullmatch(str(name)) or not file.exists():
            return False
        if (lock := database.lock(file)) is None:
            return True
        lock.close()
        file.unlink(missing_ok=True)
        return False

    def _lock_of(self, name: str) -> Path:
        return self.place / f"sweep-{name}.lock"

    def close(self) -> None:
        """Give all claims up."""
        if self._lock is not None:
            # On a full disk it stays, and the next sweep sees that this one has ended.
            with contextlib.suppress(ResultError, OSError), database.transaction(self._connection, self.file):
                self._connection.execute("DELETE FROM sweeps WHERE name = ?", [self._name])
                self._lock.close()
                self._lock_of(self._name).unlink(missing_ok=True)
            self._lock.close()
        database.close(self._connection)


def _check_pages(connection: sqlite3.Connection, file: Path) -> None:
    """What SQLite needs to add rows without writing over others."""
    with database.in_words(file):
        said = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if said != "ok":
        raise damaged(file, said.splitlines()[-1])


def _rows(
    connection: sqlite3.Connection, file: Path, after: int = 0
) -> Iterator[tuple[int, str, int, float, float, bytes]]:
    """All of a run but the checksum, for every row after that number, in order; whole, or an error."""
    sealed = connection.execute("SELECT runs, checksum FROM seal").fetchall()
    n = after
    for row in connection.execute(_AFTER, [after]):
        *what, data, proof = row
        n += 1
        if what[0] != n or proof != checksum(*what[1:], data=data):
            raise damaged(file, f"run {n} is not what was written")
        yield row[:-1]
    if sealed != [(n, checksum(n))]:
        raise damaged(file, f"there are {n} runs, and not as many as were kept")


def _told_shapes(connection: sqlite3.Connection, file: Path) -> list[tuple[int, str]]:
    found = connection.execute("SELECT id, told, checksum FROM shapes").fetchall()
    for n, told, proof in found:
        if proof != checksum(n, told):
            raise damaged(file, f"shape {n} is not what was written")
    return [(n, told) for n, told, _ in found]


def _shapes(connection: sqlite3.Connection, file: Path) -> dict[int, Shape]:
    try:
        return {n: Shape(told) for n, told in _told_shapes(connection, file)}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged(file, f"a shape cannot be: {error}") from None


def _refuse_foreign(place: Path) -> None:
    if wrong := a_file(place):
        raise ResultError(f"{place}: {wrong}")
    if not place.exists() or (place / FILE).is_file():
        return
    _refuse_earlier(place)
    if theirs := sorted(path.name for path in place.iterdir() if not _OURS.fullmatch(path.name)):
        raise ResultError(
            f"{place}: holds something that is no sweep ({theirs[0]}); name another folder, or remove it first"
        )


def _refuse_earlier(place: Path) -> None:
    if (place / FILE).exists() or not (place / _EARLIER).is_file():
        return
    version = "an earlier cclab"
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        version = f"cclab {json.loads((place / _EARLIER).read_bytes())['versions']['cclab']}"
    raise ResultError(
        f"{place}: a sweep in an earlier layout, a folder of Parquet files ({_EARLIER}, runs), written by {version}; "
        "this cclab does not read it: name another folder and run the study again"
    )
