"""A study as TOML: what `docs/reference/study.md` describes. It names a scenario and never imports code."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from cclab import _core
from cclab.errors import ScenarioError, StudyError
from cclab.scenario import Scenario, read_text
from cclab.sweep.plan import Design

T = TypeVar("T")
_FIELDS = ("name", "scenario", "replications", "seeds", "keep", "backend", "vary", "together", "points")


def read(path: Path, build: Callable[[dict[str, Any]], T]) -> T:
    """The study in a file.

    Args:
        path: The file.
        build: Makes it of its parts: `scenario`, `name`, `keep`, `backend`, `vary` (changes, together), and how often.

    Raises:
        StudyError: it cannot be read, is not TOML, or a field is not allowed.
    """
    try:
        text = read_text(path)
    except ScenarioError as error:
        raise StudyError(str(error)) from None
    try:
        return build(_parts(json.loads(_core.parse_toml(text)), path.parent))
    except (StudyError, ScenarioError) as error:
        raise StudyError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None


def written(design: Design) -> dict[str, Any]:
    """What `read` would read as this design, with fewest words.

    Raises:
        StudyError: a file has no words for it.
    """
    vary: dict[str, list[Any]] = {}
    together: list[dict[str, list[Any]]] = []
    points: dict[str, dict[str, Any]] = {}
    for axis in design.axes:
        columns = {name: [row[i] for row in axis.values] for i, name in enumerate(axis.names)}
        rows = [dict(zip(axis.names, row, strict=True)) for row in axis.values]
        if (plain := list(axis.changes) == rows) and points:
            raise StudyError(f"{', '.join(axis.names)}: varied after named points; in a file these come last")
        if plain and len(axis.names) == 1 and not together:
            vary |= columns
        elif plain:  # one alone, too, that comes after such a group
            together.append(columns)
        elif len(axis.names) == 1:
            points[axis.names[0]] = dict(zip(columns[axis.names[0]], axis.changes, strict=True))
        else:
            raise StudyError(f"{', '.join(axis.names)}: points with names that vary together; a file cannot say that")
    first, n = int(design.scenario.get("seed", 1)), len(design.seeds)
    counted = design.seeds == tuple(range(first, first + n))
    said: dict[str, Any] = {"name": design.name}
    said |= {"replications": n} if counted else {"seeds": list(design.seeds)}
    said |= {"keep": design.keep} if design.keep != "summary" else {}
    said |= {"backend": design.backend} if design.backend != "sim" else {}
    grid = {"vary": vary, "together": together, "points": points}
    return said | {name: of for name, of in grid.items() if of} | {"scenario": design.scenario}


def _parts(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    for name in found:
        if name not in _FIELDS:
            near = difflib.get_close_matches(name, _FIELDS, n=1)
            hint = f' (did you mean "{near[0]}"?)' if near else ""
            raise StudyError(f"{name}: unknown field{hint}; allowed: {', '.join(_FIELDS)}")
    if "replications" in found and "seeds" in found:
        raise StudyError("seeds: give either replications or seeds")
    parts: dict[str, Any] = {"keep": "summary", "backend": "sim", **found}
    parts["scenario"] = _scenario(found.get("scenario"), folder)
    _is("name", found.get("name"), str | None, "text")
    _is("seeds", found.get("seeds"), list | None, "a list of whole numbers")
    grid = _paths("vary", found.get("vary", {}))
    together = found.get("together", [])
    _is("together", together, list, "a list of tables; write [[together]]")
    points = found.get("points", {})
    _is("points", points, dict, "a table; write [points.NAME.LABEL]")
    parts["vary"] = [
        *([(grid, False)] if grid else []),
        *((_paths(f"together[{i}]", group), True) for i, group in enumerate(together)),
        *([(_named(points), False)] if points else []),
    ]
    return parts


def _scenario(given: Any, folder: Path) -> Scenario:
    if isinstance(given, str):
        try:
            return Scenario.load(folder / given)
        except ScenarioError as error:
            raise StudyError("\n".join(f"scenario: {line}" for line in str(error).splitlines())) from None
    if isinstance(given, dict):
        try:
            return Scenario.from_dict(given)
        except ScenarioError as error:
            raise StudyError("\n".join(f"scenario.{line}" for line in str(error).splitlines())) from None
    raise StudyError(
        "scenario: "
        + ("missing" if given is None else f"{given!r} is neither text nor a table")
        + '; name a file, scenario = "dumbbell.toml", or write a table [scenario]'
    )


def _paths(where: str, table: Any) -> dict[str, list[Any]]:
    """Paths with their values; `a.b = [...]` is read like `"a.b" = [...]`."""
    _is(where, table, dict, "a table of paths and lists of values")
    flat: dict[str, list[Any]] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{rest}": inner for rest, inner in _paths(f"{where}.{name}", value).items()}
        elif isinstance(value, list):
            flat[name] = value
        else:
            raise StudyError(f"{where}.{name}: {_shown(value)} is not a list of values; write [{_shown(value)}]")
    return flat


def _named(points: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    named: dict[str, dict[str, dict[str, Any]]] = {}
    for name, labels in points.items():
        _is(f"points.{name}", labels, dict, f"a table; write [points.{name}.LABEL]")
        for label, changes in labels.items():
            _is(f"points.{name}.{label}", changes, dict, "a table of paths and values")
        named[name] = {label: dict(changes) for label, changes in labels.items()}
    return named


def _is(where: str, value: Any, kind: Any, wanted: str) -> None:
    if not isinstance(value, kind):
        raise StudyError(f"{where}: {_shown(value)} is not {wanted}")


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
