"""What is registered: algorithms, queues, topologies, what stations do; and the nearest name to one that is not."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from cclab import _core
from cclab.errors import UnknownNameError

KINDS = ("algorithms", "queues", "topologies", "schedulers", "routing", "profiles", "mobility")


@cache
def registered() -> dict[str, list[dict[str, Any]]]:
    """Everything the core has registered, by kind; an entry has `name`, `summary`, `source`, `params`."""
    return dict(json.loads(_core.registry()))


def names(kind: str) -> list[str]:
    """The names of one kind, in the order of the registry."""
    return [str(entry["name"]) for entry in registered()[kind]]


def markdown(kind: str) -> str:
    """All of one kind as a Markdown table whose names lead to their pages beside it."""
    rows = [f"| {kind.capitalize().removesuffix('s')} | What it is | Source | Parameters |", "|---|---|---|---|"]
    for entry in registered()[kind]:
        cells = [entry["summary"], entry["source"], ", ".join(f"`{p['name']}`" for p in entry["params"]) or "–"]
        has_page = kind in ("algorithms", "queues", "routing")
        name = f"[{entry['name']}]({entry['name']}.md)" if has_page else entry["name"]
        rows.append(f"| {name} | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def find(name: str) -> tuple[str, dict[str, Any]]:
    """The kind and the entry of a registered name.

    Raises:
        UnknownNameError: nothing has this name; the message has the nearest one.
    """
    for kind in KINDS:
        for entry in registered()[kind]:
            if entry["name"] == name:
                return kind, entry
    raise unknown("name", name, (n for kind in KINDS for n in names(kind)))


def unknown(what: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that is not among `known`."""
    return UnknownNameError(f'unknown {what} "{name}" ({nearest(name, known)})')


def nearest(name: str, known: Iterable[str]) -> str:
    """What to say of a name that is not among `known`: the nearest one, or all."""
    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    return f'did you mean "{near[0]}"?' if near else "there is " + (", ".join(known) or "none")
