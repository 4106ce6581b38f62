"""A new store of what is whole in a damaged one."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from cclab.errors import ResultError
from cclab.folders import errors_name
from cclab.sweep import database
from cclab.sweep.database import FILE, checksum
from cclab.sweep.pack import Row
from cclab.sweep.store import FAILED, Store, Writer

_AT_ONCE = 1000  # rows
_PAGE = 4096  # bytes; the first one says which tables there are, not what is in them, and is the same in every store


def mend(place: Path) -> tuple[int, Path] | None:
    """Put a new store in the place of a damaged one, which stays beside it.

    Returns:
        How many runs are kept, and where the damaged store is; `None` where nothing is damaged.

    Raises:
        ResultError: a sweep goes on, or somebody else mends it.
    """
    store = Store(place)
    if _is_whole(store):
        return None
    with errors_name(place), database.mending(place) as folder:
        for file in place.glob("sweep-*.lock"):  # one that begins from now on sees that this is being mended
            if (lock := database.lock(file)) is None:
                raise ResultError(f"{place}: a sweep goes on here; end it first")
            lock.close()
        database.copy(store.file, folder / "damaged")
        earlier = list(place.glob("sweep.damaged-*.sqlite"))  # where one was killed, this may have what is not here now
        kept = _saved([*earlier, folder / "damaged"], folder / "new")
        aside = next(path for n in itertools.count(1) if (path := place / f"sweep.damaged-{n}.sqlite") not in earlier)
        for suffix in database.PARTS:
            with contextlib.suppress(FileNotFoundError):
                os.replace(folder / f"damaged{suffix}", f"{aside}{suffix}")
        for suffix in (*database.PARTS[1:], "-shm"):  # or they would be taken for the new one's
            Path(f"{store.file}{suffix}").unlink(missing_ok=True)
        os.replace(folder / "new" / FILE, store.file)
    return kept, aside


def _is_whole(store: Store) -> bool:
    try:
        store.check()
    except database.Damaged:
        return False
    return True


def _saved(sources: list[Path], place: Path) -> int:
    """Make a store of what is whole in files; how many runs that is."""
    Writer(place).close()
    first = (place / FILE).read_bytes()[:_PAGE]
    repaired = place / "repaired"
    database.copy(sources[-1], repaired)
    with open(repaired, "r+b") as file:
        file.write(first[:28] + bytes(4) + first[32:])  # no number of pages: SQLite counts them itself
    with contextlib.closing(Writer(place)) as writer:
        kept: set[str] = set()
        for source in (*sources, repaired):  # what the one cannot read the other may
            with contextlib.suppress(ResultError), database.reading(source) as connection:
                _copy(connection, writer, kept)
    return len(kept)


def _copy(connection: sqlite3.Connection, writer: Writer, kept: set[str]) -> None:
    """Keep what is whole and not among those kept already."""
    with contextlib.suppress(sqlite3.Error):
        for told, proof in connection.execute("SELECT told, checksum FROM study"):
            if proof == checksum(told) and isinstance(told, str):
                writer.put_study(json.loads(told))
    rows = (row for row in _whole(connection) if row.key not in kept)
    while some := list(itertools.islice(rows, _AT_ONCE)):
        writer.turn(some, lambda _: ())
        kept.update(row.key for row in some)


def _whole(connection: sqlite3.Connection) -> Iterator[Row]:
    """Runs as they were written: from the first on, and from the last back, to where the file cannot be read."""
    shapes: dict[int, str | None] = {FAILED: None}
    with contextlib.suppress(sqlite3.Error):
        for n, told, proof in connection.execute("SELECT id, told, checksum FROM shapes"):
            if proof == checksum(n, told):
                shapes[n] = told
    last = 0
    for order in ("", "DESC"):
        with contextlib.suppress(sqlite3.Error):
            asked = f"SELECT id, checksum, data, key, shape, wall_s, cpu_s FROM runs WHERE id > ? ORDER BY id {order}"
            for n, proof, data, *about in connection.execute(asked, [last]):
                key, shape, wall_s, cpu_s = about
                if proof == checksum(*about, data=data) and shape in shapes:
                    last = n if not order else last
                    yield Row(key, shapes[shape], data, wall_s, cpu_s)
