"""Which published studies there are."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, Self, cast

from cclab.errors import StudyError
from cclab.published.context import Context
from cclab.published.findings import Findings
from cclab.registry import unknown
from cclab.scenario import changed, names_on

# In a clone this is a link to the folder `studies` of the repository, in an installed package a copy of it.
LIBRARY = Path(__file__).parent / "studies"


class Analysis(Protocol):
    """What `analysis.py` of a study offers."""

    run: Callable[[Context], Findings]


@dataclass(frozen=True)
class Published:
    """A published study.

    Attributes:
        slug: Its name on the command line; the name of its folder.
        folder: Where it is.
        about: Its `study.toml`.
        changes: What `about` has in place of what is written there, by dotted path.
    """

    slug: str
    folder: Path
    about: dict[str, Any]
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Its title."""
        return str(self.about["title"])

    @property
    def question(self) -> str:
        """What was asked."""
        return str(self.about["question"])

    @property
    def source(self) -> str:
        """Where it was published."""
        return str(self.about["source"])

    def shorter(self, parts: Sequence[str]) -> str:
        """What the quick version of these parts leaves out."""
        if (told := self.about.get("shorter")) is not None:
            return str(told)
        whole = tuple(parts) == self.parts()
        return "fewer points and replications than the full study" + ("; every part is here" if whole else "")

    def takes_s(self, quick: bool, parts: Sequence[str]) -> tuple[float, ...] | None:
        """CPU time of the runs of each call of `Context.run` as its `study.toml` has it, a number where there is one.

        `None` of a part of it, or with other values in it.
        """
        seconds = self.about.get("cpu_s", {}).get("quick" if quick else "full")
        if seconds is None or self.changes or tuple(parts) != self.parts():
            return None
        return tuple(map(float, seconds)) if isinstance(seconds, list) else (float(seconds),)

    def entry(self) -> dict[str, Any]:
        """Like an entry of the registry: `name`, `summary`, `source`, `question`."""
        return {"name": self.slug, "summary": self.about["summary"], "source": self.source, "question": self.question}

    def parts(self, wanted: Sequence[str] = ()) -> tuple[str, ...]:
        """The parts it has, or those of them that are wanted.

        Raises:
            UnknownNameError: it has no such part.
        """
        there = [str(part) for part in self.about.get("parts", ())]
        for part in wanted:
            if part not in there:
                raise unknown(f"part of {self.slug}", part, there)
        return tuple(part for part in there if part in wanted or not wanted)

    def replace(self, changes: Mapping[str, Any]) -> Self:
        """The study with other values in its `study.toml`, by dotted path: `{"full.duration": "600 s"}`.

        Raises:
            ScenarioError: it is no path.
            StudyError: there is nothing at a path that could have another value.
        """
        for path in changes:
            at: Any = self.about
            for name in names_on(path):
                if not isinstance(at, dict) or name not in at:
                    known = f"; there is {', '.join(at)}" if isinstance(at, dict) else ""
                    raise StudyError(f"{path}: {self.slug} has no {name!r} there{known}")
                at = at[name]
        return replace(self, about=changed(self.about, changes), changes={**self.changes, **changes})

    def analysis(self) -> Analysis:
        """Its `analysis.py`, loaded.

        Raises:
            StudyError: it has none, or no `run` in it.
        """
        path = self.folder / "analysis.py"
        name = f"cclab.published._{self.slug.replace('-', '_')}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise StudyError(f"{self.folder}: no analysis.py")
        module: ModuleType = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look themselves up there
        spec.loader.exec_module(module)
        if not callable(getattr(module, "run", None)):
            raise StudyError(f"{path}: no function run(context)")
        return cast(Analysis, module)


def discover(library: Path = LIBRARY) -> list[Published]:
    """Every study, by name.

    Raises:
        StudyError: a study.toml is not TOML or lacks something.
    """
    return [_load(path.parent) for path in sorted(library.glob("*/study.toml"))]


def find(slug: str, library: Path = LIBRARY) -> Published:
    """The study called `slug`.

    Raises:
        UnknownNameError: there is none; the message has the nearest name.
    """
    studies = {path.parent.name: path.parent for path in sorted(library.glob("*/study.toml"))}
    if slug not in studies:
        raise unknown("study", slug, studies)
    return _load(studies[slug])


def _load(folder: Path) -> Published:
    try:
        about = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    except ValueError as error:
        raise StudyError(f"{folder / 'study.toml'}: {error}") from None
    for name in ("title", "summary", "question", "source"):
        if not isinstance(about.get(name), str):
            raise StudyError(f"{folder / 'study.toml'}: {name}: missing; write one line of text")
    return Published(folder.name, folder.resolve(), about)
