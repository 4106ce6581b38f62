"""Files that are named at the command line: what they are, and the examples that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

# In a clone this is a link to the folder `examples` of the repository, in an installed package a copy of it.
EXAMPLES = Path(__file__).parents[1] / "examples"
PREFIX = "example:"


class ScenarioFile(click.Path):
    """A path, or `example:NAME`, which is the path of an example."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path.

        Raises:
            UnknownNameError: there is no such example.
        """
        if isinstance(value, str) and value.startswith(PREFIX):
            from cclab import registry

            name, known = value.removeprefix(PREFIX), _named()
            if name not in known:
                raise registry.unknown("example", name, known)
            return known[name]
        return super().convert(value, param, ctx)


def examples() -> list[dict[str, Any]]:
    """Every example, by name; like an entry of the registry, with its `command`. What it is, its first line says."""
    found = []
    for name, path in _named().items():
        text = path.read_text(encoding="utf-8")
        summary = text.partition("\n")[0].removeprefix("# ")
        command = f"cclab {'sweep' if kind_of(text) == 'study' else 'run'} {PREFIX}{name}"
        found.append({"name": name, "summary": summary, "source": f"examples/{name}.toml", "command": command})
    return found


def _named() -> dict[str, Path]:
    """The files by name, those of a folder together."""
    paths = sorted(EXAMPLES.rglob("*.toml"), key=lambda path: (path.parent, path.stem))
    return {path.relative_to(EXAMPLES).with_suffix("").as_posix(): path for path in paths}


def kind_of_file(file: Path) -> str | None:
    """What a file is by its keys: `"study"`, `"scenario"`, or neither; who reads it says what is wrong with it."""
    try:
        return kind_of(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def kind_of(text: str) -> str | None:
    """The same of a text."""
    import tomllib

    try:
        keys = tomllib.loads(text).keys()
    except (ValueError, RecursionError):
        return None
    if keys & {"scenario", "vary", "together", "points"}:
        return "study"
    return "scenario" if keys & {"duration", "network", "flows", "background"} else None
