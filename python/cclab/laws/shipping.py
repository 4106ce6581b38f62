"""Laws written in Python leave their process: hashes of their source for keys of runs, bytes for other processes."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cclab import _core
from cclab.laws.python import LAWS, CongestionControl, add, run_file

if TYPE_CHECKING:
    from cclab.scenario import Scenario


def named_in(scenario: Scenario) -> set[str]:
    """Names of the laws written in Python that a scenario names."""
    return _core.interpreted(scenario.to_json()) if LAWS else set()


def fingerprint(names: Iterable[str]) -> dict[str, str]:
    """A hash of the source of each of these laws, by its name.

    The source is that of its file and of every module of the user's own that it imports, directly or not, as it was
    when the law was registered.
    """
    return {f"law:{name}": hashlib.sha256(LAWS[name].code.encode()).hexdigest() for name in sorted(names)}


def sources(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """For people, of each of these laws by its name: `file` that it was loaded from, if any, and `text`."""
    known = {name: LAWS[name] for name in sorted(names)}
    return {name: {"file": law.file[0] if law.file else "", "text": law.code} for name, law in known.items()}


def ship(names: Iterable[str]) -> bytes:
    """These laws as bytes, for `install` in another process of the same version of Python."""
    import cloudpickle

    wanted = [LAWS[name] for name in sorted(names)]
    files = list(dict.fromkeys(law.file for law in wanted if law.file is not None))
    classes = [law.cls for law in wanted if law.file is None]
    # By value: a worker has not imported the module in which a notebook or a script defined them.
    with _by_value(classes):
        return bytes(cloudpickle.dumps((files, classes, {c: LAWS[c.name].code for c in classes})))


def install(shipped: bytes) -> None:
    """Register what `ship` packed."""
    import cloudpickle

    files, classes, codes = cloudpickle.loads(shipped)
    for path, text in files:
        if any(law.file == (path, text) for law in LAWS.values()):
            continue
        run_file(path, text)
    for cls in classes:
        known = LAWS.get(cls.name)
        if known is None or known.code != codes[cls]:
            add(cls, None, codes[cls])


@contextlib.contextmanager
def _by_value(classes: list[type[CongestionControl]]) -> Iterator[None]:
    import cloudpickle

    # (One that its module does not have under its name goes by value anyhow, as what __main__ defines does.)
    homes = ((sys.modules.get(c.__module__), c) for c in classes if c.__module__ != "__main__")
    modules = {home for home, c in homes if home is not None and getattr(home, c.__qualname__, None) is c}
    modules -= set(cloudpickle.list_registry_pickle_by_value())
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
