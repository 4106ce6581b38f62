"""Published studies: experiments of a paper with its numbers beside ours.

A study is a folder `studies/<slug>/` of the repository (inside the package once installed) with

* `study.toml`: `title`, `summary` (one line), `question`, `source`, and whatever its analysis reads;
* `analysis.py`: `run(context: Context) -> StudyOutcome`;
* the published numbers, as data.
"""

from cclab.studies.context import Context
from cclab.studies.library import Study, discover, find
from cclab.studies.outcome import Check, Comparison, Figure, StudyOutcome, Table, compare
from cclab.studies.reproduce import SCHEMA, load, reproduce, tables

__all__ = [
    "SCHEMA",
    "Check",
    "Comparison",
    "Context",
    "Figure",
    "Study",
    "StudyOutcome",
    "Table",
    "compare",
    "discover",
    "find",
    "load",
    "reproduce",
    "tables",
]
