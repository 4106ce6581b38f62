"""Files that are named at the command line: what they are, and the examples that come with the package."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cclab.errors import ResultError, ScenarioError

T = TypeVar("T")

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


class NewFolder(click.Path):
    """A folder for a command to write: what is there already is a folder, too."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; a file in its place is told before anything runs."""
        from cclab.folders import a_file

        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if wrong := a_file(path):
            self.fail(f"{str(path)!r} {wrong}", param, ctx)
        return path


class KeptFolder(click.Path):
    """A folder in which a command has kept something."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; who reads the folder says what is wrong in it."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        refuse_file(path)
        return path


def refuse_file(path: Path) -> None:
    """Refuse a file where a folder is read that a command has kept.

    Raises:
        ResultError: it is a file; how to come by a folder.
    """
    if path.exists() and not path.is_dir():
        file = shlex.quote(str(path))
        made = {"scenario": f": cclab run {file} --out DIR makes one", "study": f": cclab sweep {file} makes one"}
        raise ResultError(
            f"{path}: is a file, not the folder of a run or sweep{made.get(kind_of_file(path) or '', '')}"
        )


def in_file(file: Path, work: Callable[[], T]) -> T:
    """Does the work; a mistake in the file is told with the file's name before it."""
    try:
        return work()
    except ScenarioError as error:
        lines = [line if line.startswith(f"{file}:") else f"{file}: {line}" for line in str(error).splitlines()]
        raise ScenarioError("\n".join(lines)) from None


def refuse_study(file: Path, kind: str | None) -> None:
    """Refuse a study where a scenario is run.

    Raises:
        ScenarioError: it is one; what runs it.
    """
    if kind == "study":
        raise ScenarioError(f"{file}: this is a study file; run it with: cclab sweep {shlex.quote(str(file))}")


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
    """What a file is by its keys: `"study"`, `"scenario"`, or neither; who reads it says what is wrong with it.

    A pipe is left to who reads it, which can be done once.
    """
    try:
        return kind_of(file.read_text(encoding="utf-8")) if file.is_file() else None
    except (OSError, ValueError):
        return None


def kind_of(text: str) -> str | None:
    """The same of a text. The core reads it: it bounds how deep a text is nested, and with that what reading takes."""
    from cclab import _core

    try:
        keys = json.loads(_core.parse_toml(text)).keys()
    except ScenarioError:
        return None
    if keys & {"scenario", "vary", "together", "points"}:
        return "study"
    return "scenario" if keys & {"duration", "network", "flows", "background"} else None
