"""What is registered: algorithms, queues, topologies, what stations do; and the nearest name to one that is not."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from cclab import _core
from cclab.errors import UnknownNameError

KINDS = ("algorithms", "queues", "topologies", "schedulers", "routing", "profiles", "mobility")

LEVELS = {
    "formula": "values, or behaviour, that the equations and rules of its source or theory ask for",
    "vectors": "numbers that an RFC, paper or slides print for it",
    "timeline": "a script of segments whose expected answers come from the RFCs and from Linux' documented behaviour",
    "kernel": "runs of a Linux kernel",
    "simulator": "runs of ns-2, ns-3 or another simulator",
    "published": "figures or claims of a publication",
}
"""With what something can be compared that nobody here wrote."""


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


@cache
def validation() -> dict[str, dict[str, dict[str, Any]]]:
    """By kind and name `evidence` and `lacks`, as in validation.toml.

    Kinds are those of the registry that compute something, `slow-starts`, and `mechanisms` of the endpoint.
    """
    return tomllib.loads((files("cclab") / "validation.toml").read_text(encoding="utf-8"))


def validated(kind: str, name: str) -> dict[str, Any]:
    """How one thing is validated: `levels`, `evidence`, and in `lacks` what is not, a sentence each."""
    said = validation().get(kind, {}).get(name, {})
    evidence = said.get("evidence", [])
    levels = [level for level in LEVELS if any(one["level"] == level for one in evidence)]
    lacks = list(said.get("lacks", []))
    if not levels:
        lacks.insert(0, "Compared with nothing that others wrote.")
    elif not {"kernel", "simulator", "published"}.intersection(levels):
        lacks.insert(0, "Compared with no run of a kernel or another simulator, and with no published figure.")
    return {"levels": levels, "evidence": evidence, "lacks": lacks}


def lacking(laws: Iterable[str]) -> list[str]:
    """What is not validated of these congestion controls, a sentence each; datagrams have none."""
    return [
        f"Not validated of {law}: {lack}"
        for law in dict.fromkeys(laws)
        if law != "udp"
        for lack in validated("algorithms", law)["lacks"]
    ]


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
