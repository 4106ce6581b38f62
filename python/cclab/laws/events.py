"""What a law is told: every event with its hook and fields, as the core lists them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from cclab import _core


@cache
def events() -> dict[str, list[dict[str, Any]]]:
    """`events` with `name`, `hook`, `doc`, `fields` and `derived`; `headers` with `kind` and `fields`."""
    return dict(json.loads(_core.events()))


def hooks() -> list[str]:
    """Names of all hooks, in the order in which a connection meets them."""
    return [str(event["hook"]) for event in events()["events"]]


def markdown() -> str:
    """The page `docs/reference/events.md`."""
    text = """# What a law is told

Made by `make docs` from what the core lists. These are the fields of the events of a law [written in
Python](../guides/python-algorithms.md), and the keywords of one stepped by hand, `cclab.algorithms.step(NAME)`: times
in seconds of simulated time (`_s`), rates in bit/s (`_bps`), bytes and offsets in bytes. In Rust the names are without
the unit ([`law`](../../crates/cclab-algo/src/law/mod.rs)). `None` is "not there".
"""
    for event in events()["events"]:
        text += f"\n## {event['hook']}({event['name']})\n\n{event['doc']}\n\n| field | type | what |\n|---|---|---|\n"
        for field in [*event["fields"], *event["derived"]]:
            kind = field["type"].replace("|", "\\|")
            text += f"| `{field['name']}` | {kind} | {field['doc']} |\n"
    text += """
## Congestion headers

`feedback` of an ACK, and what a law asks of the routers (`request`), is a dict with `kind` and the header's own
fields, in the header's own units ([`feedback.rs`](../../crates/cclab-algo/src/law/feedback.rs)).

| kind | fields |
|---|---|
"""
    for header in events()["headers"]:
        text += f'| `"{header["kind"]}"` | ' + ", ".join(f"`{field}`" for field in header["fields"]) + " |\n"
    return text
