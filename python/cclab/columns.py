"""The tables of a result: what their rows and columns are, as the core defines them, whatever fills them.

>>> import cclab
>>> [column.name for column in cclab.columns.tables()["flows"].columns if column.unit == "bit/s"]
['goodput_bps', 'throughput_bps']
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from cclab import _core

ALWAYS = ("flows", "links", "samples", "link_samples", "signals")
"""Tables that every result has, if without a row."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: It ends in the unit.
        kind: `f64` (NaN is no value), `u64`, `u32`, `bool` or `text`.
        unit: SI; `1` of a count or a share, empty of text.
        doc: What it means.
    """

    name: str
    kind: str
    unit: str
    doc: str


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: Its name.
        doc: What a row is.
        columns: All of them, in order.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]

    @property
    def over_time(self) -> bool:
        """Whether its rows are moments, not things."""
        return self.columns[0].name == "time_s"

    def unknown(self, rows: int) -> dict[str, Any]:
        """So many rows in which everything is to be filled in: text empty, numbers NaN."""
        return {c.name: [""] * rows if c.kind == "text" else np.full(rows, np.nan) for c in self.columns}


def texts(column: Any) -> list[str | None]:
    """A column of text: as it is, or as places in a list and the list."""
    if isinstance(column, list):
        return column
    places, of = column
    return [of[i] if i < len(of) else None for i in places.tolist()]


@cache
def tables() -> dict[str, Table]:
    """All tables that a result may have, by name."""
    return {
        table["name"]: Table(table["name"], table["doc"], tuple(Column(**column) for column in table["columns"]))
        for table in json.loads(_core.schema())
    }


def markdown() -> str:
    """All columns as a page of the documentation."""
    lines = ["# Columns", "", "Every column of the tables of a [result](results.md)."]
    for table in tables().values():
        lines += ["", f"## {table.name}", "", table.doc, "", "| column | unit | |", "|---|---|---|"]
        for column in table.columns:
            doc = column.doc.replace("|", "\\|")
            lines.append(f"| `{column.name}` | {column.unit or '–'} | {doc} |")
    return "\n".join(lines) + "\n"
