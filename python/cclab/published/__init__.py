"""Published studies: experiments of a paper with its numbers beside ours.

One is a folder `studies/<slug>/` of the repository (inside the package once installed) with

* `study.toml`: `title`, `summary` (one line), `question`, `source`, and whatever its analysis reads;
* `analysis.py`: `run(context: Context) -> Findings`;
* the published numbers, as data.
"""

from cclab.published.context import Context
from cclab.published.findings import (
    CLAIMS,
    SOURCES,
    VERDICTS,
    Check,
    Comparison,
    Figure,
    Findings,
    Table,
    compare,
    judged,
)
from cclab.published.library import Published, discover, find
from cclab.published.reproduce import SCHEMA, conclusion, load, reproduce, runs_of, tables

__all__ = [
    "CLAIMS",
    "SCHEMA",
    "SOURCES",
    "VERDICTS",
    "Check",
    "Comparison",
    "Context",
    "Figure",
    "Findings",
    "Published",
    "Table",
    "compare",
    "conclusion",
    "discover",
    "find",
    "judged",
    "load",
    "reproduce",
    "runs_of",
    "tables",
]
