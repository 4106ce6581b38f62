"""The folder of a sweep: a Parquet dataset with one row for each finished run, whole at any moment.

    sweep.json        the study, its points and the key of each run
    runs/*.parquet    finished runs, one row each: `<key>.parquet` holds one, `part-….parquet` many
    failures/*.json   runs that failed, one each
    timings/*.csv     how long runs took, one file for each sweep that was started
    samples/<key>/    whole results, where the study keeps them
    tmp/, claims      what is being written; who runs what

Every file is written in `tmp` and renamed into its place. Equal runs have equal bytes, so it does no harm when
two write the same. A run that is being worked on is claimed with a lock of the operating system, which ends with its
process, and within a process belongs to one `Store`.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import io
import itertools
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from cclab.errors import ResultError
from cclab.folders import errors_name
from cclab.results import _table_of

SCHEMA = "cclab.sweep/1"
MANIFEST = "sweep.json"
PART = 500  # runs; so many single files become one
PART_BYTES = 16 << 20
_ATTEMPTS = 100
_ABANDONED = 60.0  # seconds
_OURS = {MANIFEST, "report.html", "runs", "failures", "timings", "samples", "tmp", "claims"}
_OVER_TIME = {"samples", "link_samples", "signals", "packets"}
_SINGLE = re.compile(r"([0-9a-f]{64})\.parquet")
_MERGING = 1 << 62  # a byte of the file of claims that no key comes to
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())
_COUNT = itertools.count()


@dataclass
class _Claims:
    """What this process has claimed in a store: the system's locks do not tell its sweeps apart."""

    descriptor: int  # the only one: closing any of a file ends all locks of the process on it
    held: set[int] = field(default_factory=set)
    stores: int = 0


_CLAIMS: dict[tuple[int, Path], _Claims] = {}  # by process and folder
_GUARD = threading.Lock()


def row_of(key: str, raw: Mapping[str, Any]) -> pl.DataFrame:
    """What is kept of a run: a row, its tables as lists of structs. No clock: equal runs give equal bytes."""
    row = pl.DataFrame(
        {"key": [key], "jain": [float(raw["jain"])], "digest": [raw["digest"]], "events": [raw["events"]],
         "data_packets": [raw["data_packets"]], "simulated_s": [float(raw["simulated_s"])]},
        schema_overrides={"events": pl.Int64, "data_packets": pl.Int64},
    )  # fmt: skip
    tables = {name: value for name, value in raw.items() if isinstance(value, Mapping) and name not in _OVER_TIME}
    return row.with_columns(_table_of(dict(columns)).to_struct(name).implode() for name, columns in tables.items())


def is_store(place: Path) -> bool:
    """Whether a sweep has been started in this folder."""
    return (place / MANIFEST).is_file()


class Store:
    """The folder of a sweep.

    Args:
        place: The folder.
        create: Make it where it is not there.

    Raises:
        ResultError: it is no folder of a sweep, or holds something else.
    """

    def __init__(self, place: Path, *, create: bool = False) -> None:
        self.place = place
        self.runs = place / "runs"
        self._parts: dict[str, frozenset[str]] = {}  # names of files and the keys in them
        self._claims: _Claims | None = None
        self._mine: set[int] = set()
        self._timings: Path | None = None
        if create:
            self._refuse_foreign()
            with errors_name(place):
                for folder in ("runs", "failures", "timings", "tmp"):
                    (place / folder).mkdir(parents=True, exist_ok=True)
            self._remove_leftovers()
        elif not is_store(place):
            raise ResultError(
                f"{place}: " + ("no such folder" if not place.exists() else f"no {MANIFEST}; not a sweep")
            )

    def _refuse_foreign(self) -> None:
        if not self.place.exists() or is_store(self.place):
            return
        if not self.place.is_dir():
            raise ResultError(f"{self.place}: is a file; name a folder")
        if theirs := sorted(path.name for path in self.place.iterdir() if path.name not in _OURS):
            raise ResultError(
                f"{self.place}: holds something that is no sweep ({theirs[0]}); name another folder, or remove it first"
            )

    def _remove_leftovers(self) -> None:
        """What killed processes of this machine were writing; not too soon, for another's may bear the same name."""
        for path in list((self.place / "tmp").iterdir()):
            writer = re.fullmatch(rf"{re.escape(_HOST)}\.(\d+)\.\d+", path.name)
            with contextlib.suppress(FileNotFoundError):
                if writer and not _alive(int(writer[1])) and time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()

    def _write(self, path: Path, data: bytes) -> None:
        partial = self.place / "tmp" / f"{_HOST}.{os.getpid()}.{next(_COUNT)}"
        with errors_name(path):
            try:
                with open(partial, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(partial, path)
                _sync(path.parent)
            finally:
                partial.unlink(missing_ok=True)

    # The study.

    def write_manifest(self, about: Mapping[str, Any]) -> None:
        """Keep the study, its points and keys; those of an earlier study of this folder give way, its runs do not."""
        self._write(self.place / MANIFEST, json.dumps({"schema": SCHEMA, **about}, ensure_ascii=False).encode())

    def manifest(self) -> dict[str, Any]:
        """The study, its points and keys.

        Raises:
            ResultError: it is damaged, or of another layout.
        """
        path = self.place / MANIFEST
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            schema = found["schema"]
        except (OSError, ValueError, TypeError, KeyError):
            raise ResultError(f"{path}: is damaged") from None
        if schema != SCHEMA:
            raise ResultError(f"{self.place}: holds {schema!r}; this cclab reads {SCHEMA!r}")
        return dict(found)

    # Finished runs.

    def done(self) -> set[str]:
        """Keys of all finished runs, also of what others have finished since."""
        singles = {single[1] for name in self._look() if (single := _SINGLE.fullmatch(name))}
        return singles.union(*self._parts.values())

    def has(self, key: str) -> bool:
        """Whether this run is finished."""
        return f"{key}.parquet" in self._look() or any(key in keys for keys in self._parts.values())

    def _look(self) -> set[str]:
        """Names of the files of runs; the keys in parts that are new are read."""
        for _ in range(_ATTEMPTS):
            names = self._names()
            parts = {name for name in names if name.startswith("part-")}
            try:
                self._parts = {name: self._parts.get(name) or _keys_in(self.runs / name) for name in parts}
            except FileNotFoundError:  # merged by another process between the two looks
                continue
            return names
        raise ResultError(f"{self.runs}: is changed all the time by others")

    def _names(self) -> set[str]:
        """Names of the files of runs; one look may miss both what another process merges and what it merges it into."""
        names = set(os.listdir(self.runs))
        for _ in range(_ATTEMPTS):
            again = set(os.listdir(self.runs))
            if again == names:
                return names
            names = again
        raise ResultError(f"{self.runs}: is changed all the time by others")

    def put(self, row: pl.DataFrame) -> None:
        """Keep a finished run; from then on it is finished."""
        key = row["key"][0]
        self._write(self.runs / f"{key}.parquet", _bytes_of(row))
        (self.place / "failures" / f"{key}.json").unlink(missing_ok=True)

    def rows(self, wanted: Iterable[str], table: str | None) -> list[pl.DataFrame]:
        """The rows of finished runs, each run once, in no order; frames of one build of cclab each.

        Args:
            wanted: Keys.
            table: Only this one beside `key`; runs without it are left out. `None`: what is no table.
        """
        for _ in range(_ATTEMPTS):
            try:
                return list(self._rows(set(wanted), table))
            except FileNotFoundError:  # merged by another process meanwhile
                continue
        raise ResultError(f"{self.runs}: is changed all the time by others")

    def _rows(self, wanted: set[str], table: str | None) -> Iterator[pl.DataFrame]:
        # A run is in a part before its own file goes away: with single files listed first nothing is missed.
        def columns(schema: pl.Schema) -> list[str]:
            return _numbers(schema) if table is None else ["key", table] if table in schema else ["key"]

        for name in sorted(self._names()):  # <key>.parquet, then part-….parquet
            single = _SINGLE.fullmatch(name)
            if single and single[1] not in wanted:
                continue
            rows = _read(self.runs / name, columns)
            rows = rows.filter(pl.col("key").is_in(list(wanted))).unique("key", keep="first", maintain_order=True)
            wanted = wanted.difference(rows["key"])
            if rows.height and (table is None or table in rows.columns):
                yield rows

    def tables(self) -> list[str]:
        """Names of the tables that finished runs have."""
        for _ in range(_ATTEMPTS):
            names: dict[str, None] = {}
            try:
                for name in sorted(self._names()):
                    schema = _read(self.runs / name, rows=0).schema
                    names |= dict.fromkeys(column for column, kind in schema.items() if isinstance(kind, pl.List))
            except FileNotFoundError:  # merged by another process meanwhile
                continue
            return list(names)
        raise ResultError(f"{self.runs}: is changed all the time by others")

    def merge(self) -> None:
        """Make one file of many single ones; small parts, too. Done by one process at a time."""
        if not any(map(_SINGLE.fullmatch, os.listdir(self.runs))) or not self._lock(_MERGING):
            return
        try:
            with contextlib.suppress(FileNotFoundError):  # where there are no locks, another process may merge, too
                self._merge()
        finally:
            self._unlock(_MERGING)

    def _merge(self) -> None:
        """What was read is written before anything is removed, so that at every moment each run is somewhere."""
        kept: set[str] = set()  # runs in parts that stay as they are
        groups: dict[Any, list[tuple[str, pl.DataFrame]]] = {}  # runs of one build of cclab have the same columns
        for name in sorted(os.listdir(self.runs), reverse=True):  # part-….parquet, then <key>.parquet
            path = self.runs / name
            if name.startswith("part-") and path.stat().st_size > PART_BYTES:
                kept |= _keys_in(path)
                continue
            rows = _read(path)
            if rows.height >= PART:
                kept |= set(rows["key"])
            else:
                groups.setdefault(tuple(rows.schema.items()), []).append((name, rows))
        for group in groups.values():
            rows = pl.concat([rows for _, rows in group]).unique("key", keep="first").sort("key")
            rows = rows.filter(~pl.col("key").is_in(list(kept)))
            part = f"part-{hashlib.sha256(''.join(rows['key']).encode()).hexdigest()[:32]}.parquet"
            if rows.height and part not in (name for name, _ in group):
                self._write(self.runs / part, _bytes_of(rows))
            for name, _ in group:
                if name != part:
                    (self.runs / name).unlink(missing_ok=True)

    # Failures and timings.

    def failed(self) -> set[str]:
        """Keys of runs that failed and have not been run well since."""
        return {name[:-5] for name in os.listdir(self.place / "failures") if name.endswith(".json")}

    def has_failed(self, key: str) -> bool:
        """Whether this run failed and has not been run well since."""
        return (self.place / "failures" / f"{key}.json").exists()

    def put_failure(self, key: str, error: str) -> None:
        """Keep that a run failed."""
        self._write(self.place / "failures" / f"{key}.json", json.dumps({"key": key, "error": error}).encode())

    def failures(self, wanted: Iterable[str]) -> dict[str, str]:
        """The errors of failed runs by key."""
        errors = {}
        for key in self.failed().intersection(wanted):
            with contextlib.suppress(FileNotFoundError):
                errors[key] = str(json.loads((self.place / "failures" / f"{key}.json").read_bytes())["error"])
        return errors

    def put_timing(self, key: str, wall_s: float, cpu_s: float) -> None:
        """Note how long a run took; may be lost in a power cut, unlike the run."""
        if self._timings is None:
            self._timings = self.place / "timings" / f"{_HOST}-{os.getpid()}-{next(_COUNT)}-{os.urandom(4).hex()}.csv"
        with open(self._timings, "a", encoding="ascii") as file:
            file.write(f"{key},{wall_s:.6f},{cpu_s:.6f}\n")

    def timings(self) -> list[tuple[str, float, float]]:
        """Key, wall and CPU seconds of every run that was noted, as often as it was run."""
        noted = []
        for path in sorted((self.place / "timings").glob("*.csv")):
            for row in csv.reader(path.read_text(encoding="ascii").splitlines()):
                if len(row) == 3 and _is_number(row[1]) and _is_number(row[2]):  # the last line may be torn
                    noted.append((row[0], float(row[1]), float(row[2])))
        return noted

    # Claims.

    def claim(self, key: str) -> bool:
        """Claim a run; false if another process or store has it. Ends with `release`, `close`, or the process."""
        return self._lock(_byte(key))

    def release(self, key: str) -> None:
        """Give a claim up."""
        self._unlock(_byte(key))

    def _lock(self, byte: int) -> bool:
        with _GUARD:
            if self._claims is None:
                place = (os.getpid(), self.place.resolve())
                if place not in _CLAIMS:
                    _CLAIMS[place] = _Claims(
                        os.open(self.place / "claims", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                    )
                self._claims = _CLAIMS[place]
                self._claims.stores += 1
            if byte in self._claims.held:
                return byte in self._mine
            try:
                fcntl.lockf(self._claims.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            except (BlockingIOError, PermissionError):
                return False
            except OSError:  # a file system without locks: two sweeps may then run the same twice, which does no harm
                pass
            self._claims.held.add(byte)
            self._mine.add(byte)
            return True

    def _unlock(self, byte: int) -> None:
        with _GUARD:
            if self._claims is not None and byte in self._mine:
                with contextlib.suppress(OSError):
                    fcntl.lockf(self._claims.descriptor, fcntl.LOCK_UN, 1, byte)
                self._claims.held.discard(byte)
                self._mine.discard(byte)

    def close(self) -> None:
        """Give all claims up."""
        for byte in list(self._mine):
            self._unlock(byte)
        with _GUARD:
            if self._claims is not None:
                self._claims.stores -= 1
                if not self._claims.stores:
                    os.close(self._claims.descriptor)
                    for place in [place for place, claims in _CLAIMS.items() if claims is self._claims]:
                        del _CLAIMS[place]
                self._claims = None


def _sync(folder: Path) -> None:
    """Make the names in a folder last through a power cut; the bytes of a file alone do not bring its name back."""
    with contextlib.suppress(OSError):  # a file system that cannot
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(path: Path, columns: Callable[[pl.Schema], list[str]] | None = None, rows: int | None = None) -> pl.DataFrame:
    """Some columns of a file, or all; all of the file is read at once, so it may be removed meanwhile."""
    data = path.read_bytes()
    try:
        chosen = columns(pl.Schema(pl.read_parquet_schema(io.BytesIO(data)))) if columns else None
        return pl.read_parquet(io.BytesIO(data), columns=chosen, n_rows=rows)
    except pl.exceptions.PolarsError as error:
        raise ResultError(f"{path}: is damaged ({error}); remove it, and its runs will be run again") from None


def _keys_in(path: Path) -> frozenset[str]:
    return frozenset(_read(path, lambda _: ["key"])["key"])


def _numbers(schema: pl.Schema) -> list[str]:
    return [name for name, kind in schema.items() if not isinstance(kind, pl.List)]


def _byte(key: str) -> int:
    return int(key[:15], 16)


def _bytes_of(rows: pl.DataFrame) -> bytes:
    rows.write_parquet(data := io.BytesIO(), compression="zstd")
    return data.getvalue()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
