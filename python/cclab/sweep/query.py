"""SQL over the tables of a store, or of a single result."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import polars as pl

from cclab.errors import ResultError
from cclab.results import TABLES, Result
from cclab.sweep.store import is_store, no_sweep
from cclab.sweep.study import Study

# Polars' table functions that read files and URLs, and whatever it may add of that kind.
_READS = re.compile(r"\b(read|scan)_\w+", re.IGNORECASE)
# SQL that every dialect takes apart alike: comments, quoted names, words, other signs; and literals that call nothing.
_TOKEN = r"""--[^\n]*+|"[^"]*+"|`[^`]*+`|\w++(?!')|[^\w'"`\\$#&\[{]"""
_LITERAL = r"'(?:[^'\\]|'')*+'(?!(?:\s|--[^\n]*\n)*+[(']|[\w])"
_PLAIN = re.compile(rf"(?:(?!/\*)(?:{_LITERAL}|{_TOKEN}))*+")


def load(place: str | Path) -> Study | Result:
    """What a folder of cclab holds: a study, finished or not, or the result of one run.

    Raises:
        ResultError: neither, or damaged.
    """
    place = Path(place)
    if is_store(place / "runs"):  # of two congestion controls
        raise no_sweep(place)
    return Study.load(place) if is_store(place) else Result.load(place)


def query(place: Path, sql: str) -> pl.DataFrame:
    """One SELECT over the tables in a folder, in Polars' dialect of SQL; a name with dots is quoted: `"network.rtt"`.

    Raises:
        ResultError: it is no SQL, no query, reads files, or names a table or a column that is not there.
    """
    found = load(place)
    if not re.match(r"[\s(]*(SELECT|WITH)\b", re.sub(r"--[^\n]*|/\*.*?\*/", " ", sql, flags=re.DOTALL), re.IGNORECASE):
        raise ResultError(f"SQL: {sql.strip()!r} is no query; allowed: SELECT ..., WITH ... SELECT ...")
    if reads := _READS.search(_without_literals(sql)):
        raise ResultError(f"SQL: {reads[0]} is refused: a query reads the tables in {place} and no other file")
    if isinstance(found, Study):
        there = found.tables()
        tables = {name: found.table(name) for name in there if _names(sql, name)}
    else:
        there = [name for name in TABLES if found._tables[name] is not None]
        tables = {name: found._table(name) for name in there if _names(sql, name)}
    try:
        return pl.SQLContext(tables, eager=True).execute(sql)
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("\n")[0]
        if re.search(r"relation .* not found", said):
            said += f"; there is {', '.join(there)}"
        elif "column" in said and "valid columns" not in said:
            said += "; there is " + "; ".join(f"{name}: {', '.join(t.columns)}" for name, t in tables.items())
            said += ' (a name with dots is quoted: "network.rtt")'
        raise ResultError(f"SQL: {said}") from None


def _without_literals(sql: str) -> str:
    """What of it can name a table function; all of it, where it is not plain what a literal is."""
    if not _PLAIN.fullmatch(sql):
        return sql
    return re.sub(rf"{_LITERAL}|({_TOKEN})", lambda token: token[1] or "''", sql)


def written(rows: pl.DataFrame, kind: str) -> str:
    """Rows as `"csv"` or `"json"`."""
    if kind == "csv":
        return rows.write_csv()
    out = io.BytesIO()
    finite = rows.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))
    finite.write_json(out)
    return out.getvalue().decode() + "\n"


def shown(rows: pl.DataFrame) -> Any:
    """Rows as a table for the terminal."""
    from cclab.console import number, table

    numbers = [kind.is_numeric() for kind in rows.dtypes]
    made = table(None, *(("|" if right else "") + name for name, right in zip(rows.columns, numbers, strict=True)))
    for row in rows.iter_rows():
        made.add_row(
            *(number(v) if right else "" if v is None else str(v) for v, right in zip(row, numbers, strict=True))
        )
    return made


def _names(sql: str, table: str) -> bool:
    return re.search(rf"\b{re.escape(table)}\b", sql, re.IGNORECASE) is not None
