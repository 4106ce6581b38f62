"""What is kept of a run, as two pieces: its shape, which runs of a point share, and its numbers, compressed.

The shape is JSON and says of each table how many rows it has and of each column either the type of its numbers or, for
text, the text itself. The numbers stand column after column, without anything between.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import columns as schema
from cclab.errors import RunError

if TYPE_CHECKING:
    import polars as pl

MOST = 900_000_000  # bytes of a run's numbers; SQLite takes no piece of more than 10⁹
_KIND = re.compile(r"[<|][fiu][1248]|\|b1|\|S\d{1,4}")
_KINDS = {"f64": "<f8", "u64": "<u8", "u32": "<u4", "bool": "|b1"}


@dataclass(frozen=True)
class Row:
    """What is kept of a run.

    Attributes:
        key: Of the run.
        shape: As `packed` gives it; `None` where the run failed.
        data: Its numbers, or the error in words.
        wall_s: How long it took.
        cpu_s: CPU time of its thread.
    """

    key: str
    shape: str | None
    data: bytes
    wall_s: float = 0.0
    cpu_s: float = 0.0


def packed(raw: Mapping[str, Any]) -> tuple[str, bytes]:
    """The shape and the numbers of what the core returned, but for what it sampled over time.

    Raises:
        RunError: they are too many.
    """
    known = schema.tables()
    of_run = {column.name: np.array([raw[column.name]], _KINDS[column.kind]) for column in known["runs"].columns}
    of_run["digest"] = np.array([raw["digest"]], "|S32")
    tables = {name: raw[name] for name in known if name in raw and not known[name].over_time}
    shape: dict[str, Any] = {}
    numbers: list[bytes] = []
    for table, columns in {"runs": of_run, **tables}.items():
        said: dict[str, Any] = {}
        rows = 0
        for name, column in columns.items():
            if isinstance(column, list | tuple):
                said[name] = schema.texts(column)
                rows = len(said[name])
            else:
                said[name] = column.dtype.str
                numbers.append(column.tobytes())
                rows = len(column)
        shape[table] = {"rows": rows, "columns": said}
    if (size := sum(map(len, numbers))) > MOST:
        raise RunError(f"the tables of a run have {size / 1e6:,.0f} MB; a sweep keeps at most {MOST / 1e6:,.0f} MB")
    return json.dumps(shape, ensure_ascii=False), zlib.compress(b"".join(numbers), 1)


@dataclass(frozen=True)
class _Column:
    name: str
    rows: int
    text: list[str | None] | None
    kind: np.dtype
    start: int  # of its numbers, in bytes

    @property
    def end(self) -> int:
        return self.start + self.rows * self.kind.itemsize


class Shape:
    """What `packed` said of tables, read again.

    Raises:
        ValueError: it cannot be what `packed` said.
    """

    def __init__(self, told: str) -> None:
        self.tables: dict[str, list[_Column]] = {}
        self.size = 0
        for table, about in json.loads(told).items():
            rows = about["rows"]
            columns = []
            for name, said in about["columns"].items():
                text = said if isinstance(said, list) else None
                fits = _KIND.fullmatch(str(said)) if text is None else len(text) == rows
                if type(rows) is not int or rows < 0 or not fits:
                    raise ValueError(f"{table}.{name}")
                columns.append(_Column(name, rows, text, np.dtype("V0" if text is not None else said), self.size))
                self.size = columns[-1].end
            self.tables[table] = columns
        if self.size > MOST:
            raise ValueError(f"a run of {self.size} bytes")

    def numbers(self, table: str, data: bytes) -> bytes:
        """The numbers of a table of a run; never is more unpacked than the shape has.

        Raises:
            ValueError: they do not fit the shape.
        """
        inflate = zlib.decompressobj()
        try:
            numbers = inflate.decompress(data, self.size + 1)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        if len(numbers) != self.size or not inflate.eof:
            raise ValueError(f"not {self.size} bytes")
        return numbers[slice(*self._span(table))]

    def _span(self, table: str) -> tuple[int, int]:
        columns = self.tables[table]
        return (columns[0].start, columns[-1].end) if columns else (0, 0)

    def frame(self, table: str, keys: Sequence[str], numbers: Sequence[bytes]) -> pl.DataFrame:
        """A table of several runs of this shape, the keys first."""
        import polars as pl

        columns = self.tables[table]
        rows = columns[0].rows if columns else 0
        start, end = self._span(table)
        of_runs = np.frombuffer(b"".join(numbers), np.uint8).reshape(len(keys), end - start)
        made = {"key": pl.Series(np.repeat(np.array(keys, dtype=object), rows), dtype=pl.String)}
        for column in columns:
            if column.text is not None:
                made[column.name] = pl.Series(column.text * len(keys), dtype=pl.String)
                continue
            part = np.ascontiguousarray(of_runs[:, column.start - start : column.end - start]).view(column.kind)
            made[column.name] = pl.Series(part.reshape(-1).astype(str if column.kind.kind == "S" else column.kind))
        return pl.DataFrame(made)
