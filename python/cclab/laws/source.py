"""The text that a law written in Python depends on: its own, and that of every module of the user's that it imports."""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import inspect
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


def code_of(cls: type) -> str:
    """The text that a class depends on: of its whole file, or of what is known of it, and of what that imports."""
    home = sys.modules.get(cls.__module__)
    try:
        file = inspect.getsourcefile(cls)
        if file is not None and Path(file).is_file():
            return with_imports(Path(file).read_text(encoding="utf-8"), getattr(home, "__package__", None) or "")
        text = inspect.getsource(cls)
    except (OSError, TypeError):
        import cloudpickle

        text = hashlib.sha256(cloudpickle.dumps(cls)).hexdigest()
    # Its file is not to be had (a notebook): what has been imported there so far.
    around = vars(home).values() if home is not None else ()
    names = (v.__name__ if isinstance(v, types.ModuleType) else getattr(v, "__module__", None) for v in around)
    return with_imports(text, also={name for name in names if isinstance(name, str) and name != cls.__module__})


def with_imports(text: str, package: str = "", also: Iterable[str] = ()) -> str:
    """A source with those of the user's own modules that it imports, directly or not, in the order of their names."""
    sources: dict[str, str] = {}
    wanted = [*also, *_imports(text, package)]
    while wanted:
        name = wanted.pop()
        if name in sources or (file := _own_file(name)) is None:
            continue
        try:
            sources[name] = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        inside = name if file.name == "__init__.py" else name.rpartition(".")[0]
        wanted += _imports(sources[name], inside)
    return "".join([text, *(f"\n# {name}\n{sources[name]}" for name in sorted(sources))])


def _imports(text: str, package: str) -> Iterator[str]:
    """Names of all modules that a source may import, with the packages around them."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            outer = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            if node.level and not all(outer or [""]):
                continue
            base = ".".join([*outer, *([node.module] if node.module else [])])
            found = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in found:
            parts = name.split(".")
            yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


def _own_file(name: str) -> Path | None:
    """The source of a module, unless it belongs to Python, to an installed package or to cclab; nothing is imported."""
    if name.partition(".")[0] in {*sys.stdlib_module_names, "cclab", "__main__"}:
        return None
    found = getattr(sys.modules.get(name), "__file__", None)
    if found is None:
        path: Any = None
        parts = name.split(".")
        for i in range(len(parts)):
            spec = importlib.machinery.PathFinder.find_spec(".".join(parts[: i + 1]), path)
            if spec is None:
                return None
            found, path = spec.origin, spec.submodule_search_locations
            if path is None and i + 1 < len(parts):
                return None
    file = Path(found).resolve() if found and found.endswith(".py") else None
    if file is None or {"site-packages", "dist-packages"} & set(file.parts):
        return None
    paths = sysconfig.get_paths()
    standard = [Path(paths[kind]).resolve() for kind in ("stdlib", "platstdlib")]
    return None if any(file.is_relative_to(folder) for folder in standard) else file
