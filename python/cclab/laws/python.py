"""Congestion controls written in Python: the class to inherit from, and how one becomes known by its name.

>>> import cclab
>>> @cclab.register
... class Aimd(cclab.CongestionControl):
...     '''Adds a segments per RTT, loses the share b on congestion.'''
...
...     params = {"a": 1.0, "b": cclab.Param(0.5, min=0.01, max=0.99, doc="share of W that congestion takes")}
...
...     def on_ack(self, ack):
...         if ack.may_grow:
...             slow_start = self.in_slow_start
...             self.cwnd_segments += ack.acked_segments * (1 if slow_start else self.a / self.cwnd_segments)
...
...     def on_congestion(self, event):
...         self.cwnd_segments = self.ssthresh_segments = max(self.cwnd_segments * (1 - self.b), 2)
>>> law = cclab.algorithms.step("aimd", initial_window=10, initial_ssthresh=1448, a=2)
>>> law.on_ack(acked_bytes=14480, rtt_s=0.1)
>>> law.cwnd_segments
12.0
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cclab import _core, registry
from cclab.errors import AlgorithmError
from cclab.laws.events import hooks
from cclab.laws.source import code_of, with_imports

if TYPE_CHECKING:
    from cclab._core import AckEvent, CongestionEvent, LostEvent

__all__ = ["CongestionControl", "Param", "load", "register", "registered"]

_WIDEST = 1e18
_ECN = ("classic", "dctcp", "l4s")


@dataclass(frozen=True)
class Param:
    """A parameter of a law written in Python.

    Attributes:
        default: A number, a flag, or one of `choices`.
        min: Smallest number allowed.
        max: Largest number allowed.
        choices: The words allowed, of a parameter that is a word.
        unit: Its unit, empty when it has none.
        doc: One sentence, for `cclab describe`.
    """

    default: float | bool | str
    min: float = -_WIDEST
    max: float = _WIDEST
    choices: tuple[str, ...] = ()
    unit: str = ""
    doc: str = "(not described)"


class CongestionControl(_core.CongestionControl):
    """A congestion control. Hooks are past events; they return nothing; the window is read after each of them.

    A class needs `on_ack` and `on_congestion`. Windows are numbers of segments and may be fractions. An event is valid
    until its hook returns. There is a new object for each end of each connection; it may not share anything with others
    or with the outside, or a run would depend on what ran before.

    Attributes:
        name: Name in scenarios; unless given, that of the class in lower case with hyphens.
        source: The paper or draft that it follows.
        params: Parameters by name: a default, or a `Param`. In the hooks they are attributes of the object.
        signals: Names of attributes that are recorded with the samples, in SI units or segments.
        governs_recovery: Whether its window holds during loss recovery too (rate-based laws).
        cwnd_segments: Congestion window.
        ssthresh_segments: Slow-start threshold; infinite while arbitrarily high.
        pacing_rate_bps: Its own pacing rate; `None` leaves pacing to the endpoint.
        request: What its data packets ask of the routers, a congestion header as a dict (docs/reference/events.md);
            `None` is nothing. One that asks for nothing in `start` never does.
        ecn: What it makes of ECN, where the flow uses it. `"classic"`: it is told of an echo once per window, as of a
            loss. `"dctcp"`: `ack.ce_bytes` counts what was marked, it reduces by itself. `"l4s"`: the same with ECT(1).
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = "written in Python"
    params: ClassVar[Mapping[str, Any]] = {}
    signals: ClassVar[Sequence[str]] = ()
    governs_recovery: ClassVar[bool] = False
    ecn: ClassVar[str] = "classic"

    if TYPE_CHECKING:

        def on_ack(self, ack: AckEvent) -> None:
            """An ACK was taken in. In the phases "recovery" and "cwr" recovery governs the window."""

        def on_congestion(self, event: CongestionEvent) -> None:
            """Congestion was detected, once per window of data: lower window and threshold at once."""

        def on_lost(self, event: LostEvent) -> None:
            """A packet was marked lost. Who has this hook also finds `prior_lost` and `tx_in_flight` in ACKs."""


@dataclass(frozen=True)
class Known:
    """A law that is registered."""

    cls: type[CongestionControl]
    code: str
    """What its behaviour depends on, for the hash."""
    file: tuple[str, str] | None
    """Path and text of the file that `load` took it from."""


LAWS: dict[str, Known] = {}


def register(cls: type[CongestionControl]) -> type[CongestionControl]:
    """Make a congestion control known by its name, wherever a built-in one is; may be used as a decorator.

    Registered again under the same name, it takes the place of the earlier one.

    Raises:
        AlgorithmError: the class lacks something, or the name is that of a built-in one.
    """
    add(cls, None)
    return cls


def load(path: str | Path) -> list[str]:
    """Run a Python file and register every congestion control that it defines; their names.

    Raises:
        AlgorithmError: the file cannot be read, fails, or defines none.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text file in UTF-8"
        raise AlgorithmError(f"{path}: cannot be read: {why}") from None
    return run_file(str(path), text)


def registered() -> dict[str, type[CongestionControl]]:
    """The congestion controls written in Python, by name."""
    return {name: law.cls for name, law in LAWS.items()}


def run_file(path: str, text: str) -> list[str]:
    """Run a file's text and register what it defines, unless it is known from this very text; the names of all."""
    module = types.ModuleType(f"cclab_laws_{hashlib.sha256(path.encode()).hexdigest()[:12]}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    before = dict(LAWS)
    try:
        exec(compile(text, path, "exec"), module.__dict__)
    except Exception as error:
        line, said = _line(error, path), str(error)
        if isinstance(error, SyntaxError) and error.filename == path:  # and not in a module that it imports
            line, said = error.lineno or 0, error.msg
        raise AlgorithmError(f"{path}, line {line}: {type(error).__name__}: {said}") from error
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, CongestionControl) and value.__module__ == module.__name__
    ]
    usable = [cls for cls in found if _lacks(cls) is None]
    if not usable:
        lacking = "; ".join(f"{cls.__name__}: {_lacks(cls)}" for cls in found)
        what = lacking or "it defines no subclass of cclab.CongestionControl"
        raise AlgorithmError(f"{path}: no congestion control in it: {what}")
    for cls in usable:
        if before.get(cls.name) is not None and before[cls.name].file == (path, text):
            continue
        add(cls, (path, text), with_imports(text))
    return [cls.name for cls in usable]


def _line(error: BaseException, path: str) -> int:
    import traceback

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] or 0 if lines else 0


def _lacks(cls: type) -> str | None:
    """What a class needs to be a congestion control, if anything."""
    for hook in ("on_ack", "on_congestion"):
        if not callable(getattr(cls, hook, None)):
            return f"it has no {hook}"
    for name in dir(cls):
        if name.startswith("on_") and name not in hooks():
            return f"there is no hook {name} ({registry.nearest(name, hooks())})"
    return None


def add(cls: type[CongestionControl], file: tuple[str, str] | None, code: str | None = None) -> None:
    """Register a class, of the file (path, text) that defines it if any, by the source that it depends on."""
    if not (isinstance(cls, type) and issubclass(cls, CongestionControl)):
        raise AlgorithmError(f"{cls!r} is not a subclass of cclab.CongestionControl")
    if (lack := _lacks(cls)) is not None:
        raise AlgorithmError(f"{cls.__name__}: {lack}; a congestion control needs on_ack and on_congestion")
    if "name" not in vars(cls):
        cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower().replace("_", "-")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", cls.name):
        raise AlgorithmError(f'{cls.__name__}: name {cls.name!r} is not lower case with hyphens, e.g. "my-cc"')
    about = {
        "name": cls.name,
        "summary": ((cls.__doc__ and inspect.getdoc(cls)) or "written in Python").partition("\n")[0].rstrip("."),
        "source": cls.source,
        "params": [_param(cls, name, given) for name, given in cls.params.items()],
        "signals": list(cls.signals),
        "governs_recovery": bool(cls.governs_recovery),
        "tracks_packets": hasattr(cls, "on_lost"),
        "ecn": cls.ecn,
    }
    if cls.ecn not in _ECN:
        raise AlgorithmError(f"{cls.__name__}: ecn {cls.ecn!r} is not one of {', '.join(_ECN)}")
    if cls.name in registry.names("algorithms") and cls.name not in LAWS:
        raise AlgorithmError(
            f'{cls.__name__}: "{cls.name}" is the name of a built-in congestion control; choose another'
        )
    _core.register_law(cls, json.dumps(about))
    registry.registered.cache_clear()
    LAWS[cls.name] = Known(cls, code if code is not None else code_of(cls), file)


def _param(cls: type, name: str, given: Any) -> dict[str, Any]:
    param = given if isinstance(given, Param) else Param(given, choices=(given,) if isinstance(given, str) else ())
    where, value = f"{cls.__name__}.params[{name!r}]", param.default
    if not name.isidentifier() or hasattr(CongestionControl, name) or name == "name":
        raise AlgorithmError(f"{where}: this name cannot be used; choose another")
    described = {"name": name, "unit": param.unit, "doc": param.doc, "default": value}
    if isinstance(value, bool):
        return {**described, "kind": "flag"}
    if isinstance(value, str):
        if value not in param.choices:
            raise AlgorithmError(f"{where}: default {value!r} is not among its choices {param.choices}")
        return {**described, "kind": "choice", "choices": list(param.choices)}
    if not isinstance(value, int | float) or not -_WIDEST <= param.min <= value <= param.max <= _WIDEST:
        raise AlgorithmError(f"{where}: default {value!r} is not a number from min to max, a flag, or a word")
    return {**described, "kind": "number", "min": param.min, "max": param.max}
