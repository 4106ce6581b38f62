"""What there is to list and to describe: algorithms, queues, topologies, published studies, examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from cclab.cli.files import EXAMPLES, examples

VALIDATED = ("algorithms", "couplings", "queues", "schedulers", "routing")
"""The kinds whose entries have a `validation`."""


def everything() -> dict[str, list[dict[str, Any]]]:
    """All that has a name, by kind; an entry has `name`, `summary`, `source`."""
    from cclab import published, registry

    found = registry.registered()
    couplings = [entry for entry in found["algorithms"] if entry["coupled"]]
    alone = [entry for entry in found["algorithms"] if not entry["coupled"]]
    studies = [study.entry() for study in published.discover()]
    kinds = {"algorithms": alone, "couplings": couplings, **{k: v for k, v in found.items() if k != "algorithms"}}
    for kind in VALIDATED:
        of = "algorithms" if kind == "couplings" else kind
        kinds[kind] = [entry | {"validation": registry.validated(of, entry["name"])} for entry in kinds[kind]]
    return kinds | {"studies": studies, "examples": examples()}


def levels(validation: dict[str, Any]) -> str:
    """The levels of validation in a cell."""
    return " · ".join(validation["levels"]) or "not validated"


def fields(kind: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Tables of results with their columns, or events with their fields: name, unit or type, meaning."""
    from cclab import columns
    from cclab.laws import events

    if kind == "columns":
        for name, table in columns.tables().items():
            yield name, [(column.name, column.unit, column.doc) for column in table.columns]
    else:
        for event in events.events()["events"]:
            told = [*event["fields"], *event["derived"]]
            yield f"{event['hook']}({event['name']})", [(f["name"], f["type"], f["doc"]) for f in told]


def data(kind: str | None) -> dict[str, Any]:
    """By kind, a list of what there is, for other programs; columns and events where they are asked for."""
    if kind in ("columns", "events"):
        keys = ("name", "unit" if kind == "columns" else "type", "doc")
        return {title: [dict(zip(keys, row, strict=True)) for row in rows] for title, rows in fields(kind)}
    if kind == "validation":
        from cclab import registry

        of = registry.validation()
        return {kind: [{"name": name, **registry.validated(kind, name)} for name in of[kind]] for kind in of}
    entries = everything()
    return {kind: entries[kind]} if kind else entries


def markdown(kind: str | None) -> str:
    """A page: `docs/reference/columns.md`, `events.md`, `docs/validation/README.md`, or `docs/models/README.md`."""
    from cclab import columns, registry
    from cclab.laws import events

    if kind in ("columns", "events"):
        return columns.markdown() if kind == "columns" else events.markdown()
    if kind == "validation":
        return validation()
    text = (
        "# Models\n\nMade by `make docs` from what is registered. Each page says what is modelled, what is left out,\n"
    )
    text += "and what it was compared with; [at a glance](../validation/README.md).\n"
    pages = {"algorithms": "Congestion controls", "queues": "Queues"}
    pages |= {"schedulers": "Schedulers of several paths", "routing": "Routing"}
    for entries, title in pages.items():
        text += f"\n## {title}\n\n{registry.markdown(entries)}"
    return text


def validation() -> str:
    """The page of what each thing was compared with: tables of levels, then the evidence name by name."""
    from cclab import registry

    titles = {"algorithms": "Congestion controls and couplings", "slow-starts": "Slow starts", "queues": "Queues"}
    titles |= {"mechanisms": "The endpoint", "schedulers": "Schedulers of several paths", "routing": "Routing"}
    text = (
        "# Levels of validation\n\nMade by `make docs` from [`validation.toml`](../../python/cclab/validation.toml). "
        "A level says with what that nobody here wrote\na thing was compared, not that everything about it agrees: "
        "follow the tests and pages. `cclab list` and `cclab describe`\nshow the same.\n\n"
    )
    text += "".join(f"- **{level}**: {what}.\n" for level, what in registry.LEVELS.items())
    text += "\n" + ", ".join(f"[{title}](#{_anchor(title)})" for title in titles.values()) + "\n"
    for kind, title in titles.items():
        of = {name: registry.validated(kind, name) for name in registry.validation()[kind]}
        text += f"\n## {title}\n\n| | {' | '.join(registry.LEVELS)} |\n|---|{'---|' * len(registry.LEVELS)}\n"
        for name, found in of.items():
            marks = ["✓" if level in found["levels"] else "" for level in registry.LEVELS]
            text += f"| {_page(kind, name)} | {' | '.join(marks)} |\n"
        for name, found in of.items():
            text += f"\n### {name}\n\n"
            for one in found["evidence"]:
                text += f"- {one['level']}: {one['against']} ({_shown(one['test'])})\n"
            text += "".join(f"- not validated: {lack}\n" for lack in found["lacks"])
    return text


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _page(kind: str, name: str) -> str:
    return f"[{name}](../models/{name}.md)" if kind in ("algorithms", "queues", "routing") else name


def _shown(test: str) -> str:
    """A test as a link to its file; of several scripts to their folder."""
    path, _, function = test.partition("::")
    folder, _, file = path.rpartition("/")
    return f"[`{function or file}`](../../{folder if '*' in file else path})"


def describe(kind: str, entry: dict[str, Any]) -> None:
    """Print an entry with its parameters, and how it is used."""
    from cclab import console

    singular = {"algorithms": "congestion control", "queues": "queue", "topologies": "topology", "studies": "study"}
    singular |= {"couplings": "coupled congestion control", "schedulers": "scheduler of several paths"}
    singular |= {"routing": "routing", "profiles": "MAC profile", "mobility": "mobility", "examples": "example"}
    click.echo(f"{entry['name']} ({singular[kind]})\n\n{entry['summary']}\nSource: {entry['source']}\n")
    if said := entry.get("validation"):
        click.echo(f"Validated by: {levels(said)}")
        for one in said["evidence"]:
            click.echo(f"  {one['level']}: {one['against']} ({one['test']})")
        for lack in said["lacks"]:
            click.echo(f"Not validated: {lack}")
        click.echo()
    if kind == "studies":
        click.echo(f"{entry['question']}\n\nRun it: cclab reproduce {entry['name']}")
    elif kind == "examples":
        click.echo(f"{(EXAMPLES.parent / entry['source']).read_text(encoding='utf-8')}\nRun it: {entry['command']}")
    elif not entry["params"]:
        click.echo("It has no parameters.")
    else:
        table = console.table("Parameters", "Name", "Default", "Allowed", "Unit", "Meaning")
        for param in entry["params"]:
            table.add_row(param["name"], _default(param), _allowed(param), param.get("unit") or "", param["doc"])
        console.show(table)
    if field := {"algorithms": "cc", "couplings": "coupling", "schedulers": "scheduler"}.get(kind):
        params = entry["params"]
        example = f'{field} = "{entry["name"]}"'
        if params:
            value = _toml(params[0]["default"])
            example = f'{field} = {{ name = "{entry["name"]}", {params[0]["name"]} = {value} }}'
        click.echo(f"In a scenario:\n\n  [[flows]]\n  {example}")
        if kind != "algorithms":  # a flow with paths
            law = 'cc = "cubic"\n  ' if kind == "schedulers" else ""
            click.echo(f'  {law}paths = [{{ rtt = "20 ms" }}, {{ rtt = "80 ms" }}]')


def _default(param: dict[str, Any]) -> str:
    paper = param.get("paper_default")
    text = _toml(param.get("default"))
    return text if paper is None or paper == param.get("default") else f"{text} (paper flavour: {_toml(paper)})"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if value is None:
        return ""
    return f'"{value}"' if isinstance(value, str) else str(value)


def _allowed(param: dict[str, Any]) -> str:
    if param.get("choices"):
        return ", ".join(f'"{word}"' for word in param["choices"])
    if param.get("min") is not None:
        return f"{param['min']:g} to {param['max']:g}"
    return "true, false" if param["kind"] == "flag" else str(param["kind"])
