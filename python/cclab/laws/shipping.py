"""Laws written in Python leave their process: hashes of their source for keys of runs, bytes for other processes."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from cclab.laws.python import LAWS, CongestionControl, add, run_file


def fingerprint(scenario: Mapping[str, Any]) -> dict[str, str]:
    """A hash of the source of each law written in Python that a scenario (as a dict) names, by its name.

    The source is that of its file and of every module of the user's own that it imports, directly or not, as it was
    when the law was registered.
    """
    used = sorted(set(_names(scenario)) & LAWS.keys())
    return {f"law:{name}": hashlib.sha256(LAWS[name].code.encode()).hexdigest() for name in used}


def ship(scenario: Mapping[str, Any] | None = None) -> bytes:
    """The laws written in Python that a scenario (as a dict) names, or all of them, as bytes.

    They are for `install` in another process of the same version of Python.
    """
    import cloudpickle

    wanted = [law for name, law in LAWS.items() if scenario is None or name in set(_names(scenario))]
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


def _names(value: Any) -> Iterator[str]:
    """Every congestion control that a scenario names."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "cc":
                yield str(inner.get("name") if isinstance(inner, Mapping) else inner)
            yield from _names(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names(inner)
