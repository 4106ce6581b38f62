"""Scenarios: one network with its flows, as TOML or as Python objects. The core alone says what is allowed."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from cclab import _core
from cclab.errors import ScenarioError

if TYPE_CHECKING:
    from typing import Unpack

    from cclab.fields import BackgroundFields, FlowFields, LinkFields, NetworkFields
    from cclab.results import Result


class _Part:
    """A table of a scenario: keywords in, the same keywords out."""

    def __init__(self, **fields: Any) -> None:
        self.fields = {name: value for name, value in fields.items() if value is not None}

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return f"{type(self).__name__}({inner})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Part) and plain(self) == plain(other)

    __hash__ = None  # type: ignore[assignment]


class Network(_Part):
    """The network of a scenario; keywords are the keys of `[network]`, e.g. `topology`, `rate`, `rtt`, `queue`, `loss`.

    Quantities carry their unit: `rate="250 Mbit/s"`, `rtt="162 ms"`, `queue={"limit": "0.2 BDP"}`.
    """

    def __init__(self, topology: str = "dumbbell", **fields: Unpack[NetworkFields]) -> None:
        super().__init__(topology=topology, **fields)


class Dumbbell(Network):
    """Senders on the left, receivers on the right, one bottleneck between them.

    Args:
        rate: Rate of the bottleneck, e.g. `"250 Mbit/s"`.
        rtt: Base round-trip time of a flow that names none, e.g. `"162 ms"`.
        queue: Queue of the bottleneck, e.g. `{"discipline": "droptail", "limit": "0.2 BDP"}`.
        loss: Loss at the bottleneck, e.g. `{"data": "1%"}`.
        **fields: Further keys of `[network]`.
    """

    def __init__(
        self,
        rate: str,
        rtt: str,
        queue: Mapping[str, Any] | None = None,
        loss: Mapping[str, Any] | None = None,
        **fields: Unpack[LinkFields],
    ) -> None:
        given: dict[str, Any] = {"rate": rate, "rtt": rtt, "queue": queue, "loss": loss, **fields}
        super().__init__("dumbbell", **given)


class Wireless(Network):
    """Stations that share the air in the place of links; they forward for each other.

    Args:
        topology: `"chain"`, `"cross"`, `"grid"`, `"random"` or `"custom"`.
        profile: MAC profile, e.g. `"ns2-2M"`; `cclab list profiles` has all.
        routing: Protocol, or a dict with its `name` and its fields; `cclab list routing` has all.
        mobility: Model, or a dict with its `model` and its fields; `cclab list mobility` has all.
        wireless: Further keys of `[network.wireless]`, e.g. `{"spacing": "200 m"}`.
        **fields: Further keys of `[network]`: `hops`, `rows` and `columns`, `nodes` and `area`, `places`.
    """

    def __init__(
        self,
        topology: str = "chain",
        *,
        profile: str | None = None,
        routing: Any = None,
        mobility: Any = None,
        wireless: Mapping[str, Any] | None = None,
        **fields: Unpack[LinkFields],
    ) -> None:
        given = {"profile": profile, "routing": routing, "mobility": mobility, **(wireless or {})}
        super().__init__(topology, wireless={key: v for key, v in given.items() if v is not None}, **fields)


class Flow(_Part):
    """A flow, or `count` equal ones; keywords are the keys of `[[flows]]`, e.g. `rtt`, `start`, `size`.

    Args:
        cc: Congestion control, see `cclab.algorithms.names()`.
        count: How many.
        **fields: Further keys of `[[flows]]`.
    """

    def __init__(
        self, cc: str | Mapping[str, Any] | None = None, count: int | None = None, **fields: Unpack[FlowFields]
    ) -> None:
        super().__init__(cc=cc, count=count, **fields)


class Background(_Part):
    """Connections that come and go; keywords are the keys of `[[background]]`, e.g. `direction`, `rtt`, `sizes`.

    Args:
        kind: `"web"`, users who read pages, or `"poisson"`, connections at independent moments.
        load: Share of the bottleneck, e.g. `"10%"`.
        cc: Congestion control, see `cclab.algorithms.names()`.
        **fields: Further keys of `[[background]]`.
    """

    def __init__(
        self,
        kind: str = "web",
        load: str | float | None = None,
        cc: str | Mapping[str, Any] = "cubic",
        **fields: Unpack[BackgroundFields],
    ) -> None:
        super().__init__(kind=kind, load=load, cc=cc, **fields)


_DEEPEST = 32  # a scenario has five levels; a list that contains itself has no end


def plain(value: Any, where: str = "", level: int = 0) -> Any:
    """`value` as tables, lists, text, numbers and flags, which is all that a scenario is made of.

    Raises:
        ScenarioError: something in it is none of these.
    """
    if level > _DEEPEST:
        raise ScenarioError(f"{where.partition('[')[0]}: more than {_DEEPEST} levels deep, or contains itself")
    if isinstance(value, _Part):
        value = value.fields
    if hasattr(value, "item") and not isinstance(value, Mapping):
        value = value.item()  # a numpy number
    if isinstance(value, Mapping):
        named = ((_text(str(key), where or "the scenario"), inner) for key, inner in value.items())
        return {key: plain(inner, f"{where}.{key}".lstrip("."), level + 1) for key, inner in named}
    if isinstance(value, list | tuple):
        return [plain(inner, f"{where}[{i}]", level + 1) for i, inner in enumerate(value)]
    if isinstance(value, str):
        return _text(value, where)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:  # which JSON would hand on as a fraction
        shown = str(value) if value.bit_length() < 256 else f"a number of {value.bit_length():,} bits"
        raise ScenarioError(f"{where}: {shown} is too large; a whole number is from -2^63 to 2^64 - 1")
    if isinstance(value, float) and not math.isfinite(value):
        raise ScenarioError(f"{where}: {value} is not a finite number")
    if value is None or isinstance(value, bool | int | float):
        return value
    raise ScenarioError(f"{where}: {value!r} is not text, a number, true or false, a list or a table")


def _text(value: str, where: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ScenarioError(f"{where}: {value!r} is not text: half a pair of surrogates is no letter") from None
    return value


# What the core lets into no name, either.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def readable(name: str, where: str) -> str:
    """A name that a table, a page and a terminal can show.

    Raises:
        ScenarioError: it is none.
    """
    if not _text(name, where).strip() or len(name) > 200 or _HIDDEN.search(name):
        allowed = "text on one line, 1 to 200 characters, none that controls a terminal or the direction of text"
        raise ScenarioError(f"{where}: {name[:200]!a} is not a name: {allowed}")
    return name


_PROGRAM = "bpf:"  # and the file of a congestion control for the kernel, beside the scenario
_LONGEST = 64_000_000  # bytes of a trace


def law_of(flow: Mapping[str, Any]) -> str:
    """The name of a flow's congestion control, which stands alone or in a table with its parameters."""
    cc = flow.get("cc", "")
    return str(cc.get("name", "") if isinstance(cc, dict) else cc)


def program_of(flow: Mapping[str, Any]) -> str | None:
    """The file of the program that a flow's congestion control is, if it is one for the kernel."""
    name = law_of(flow)
    return name.removeprefix(_PROGRAM) or None if name.startswith(_PROGRAM) else None


def programs(value: Any) -> dict[str, str]:
    """SHA-256 of each program for the kernel that is named somewhere in `value`, by its file.

    Of a file that cannot be read it is empty: whoever runs it says so.
    """
    if isinstance(value, str):
        if not value.startswith(_PROGRAM):
            return {}
        file = value.removeprefix(_PROGRAM)
        try:
            return {file: hashlib.sha256(Path(file).read_bytes()).hexdigest()}
        except OSError:
            return {file: ""}
    inner: Iterable[Any] = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return {file: hashed for one in inner for file, hashed in programs(one).items()}


def read_trace(path: Path) -> str:
    """What a link may follow, in normal form: a mahimahi file, or a table of rate and delay.

    Raises:
        ScenarioError: it cannot be read, or says nothing that a link could follow.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST + 1)
    except OSError as error:
        raise ScenarioError(f"cannot be read: {error.strerror}") from None
    if len(text) > _LONGEST:
        raise ScenarioError(f"is too long; a trace has at most {_LONGEST:,} bytes")
    try:
        return _core.trace(text.decode())
    except UnicodeDecodeError:
        raise ScenarioError("is not text in UTF-8") from None


def _named(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """The traces that a value names, each with its field."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "trace" and isinstance(inner, str) and inner != "none":
                yield f"{where}.{key}", inner
            else:
                yield from _named(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _named(inner, f"{where}[{i}]")


def take_in_traces(data: dict[str, Any], value: Any, where: str, folder: Path) -> None:
    """Puts what the traces say that `value` names into `traces` of a scenario, which is whole by itself."""
    known = data.get("traces", {})
    for field, name in _named(value, where):
        if not name.strip():
            raise ScenarioError(
                f'{field}: "{name}" names no file; write the name of one beside the scenario, or "none"'
            )
        if isinstance(known, dict) and name not in known:
            try:
                known[name] = read_trace(folder / name)
            except ScenarioError as error:
                raise ScenarioError(f'{field}: "{name}" {error}') from None
            data["traces"] = known


def _take_in(data: dict[str, Any], folder: Path) -> None:
    """Puts what files say in the place of their names: a scenario is whole by itself."""
    take_in_traces(data, data.get("network"), "network", folder)
    for flow in data.get("flows", []) if isinstance(data.get("flows"), list) else []:
        if isinstance(flow, dict) and (file := program_of(flow)):
            named = f"{_PROGRAM}{(folder / file).absolute()}"  # too large and too binary to take in
            flow["cc"] = flow["cc"] | {"name": named} if isinstance(flow["cc"], dict) else named
    mobility: Any = data
    for key in ("network", "wireless", "mobility"):
        mobility = mobility.get(key) if isinstance(mobility, dict) else None
    if isinstance(mobility, dict) and isinstance(mobility.get("file"), str):
        path = folder / mobility["file"]
        try:
            mobility["text"] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = (
                "is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else f"cannot be read: {error.strerror}"
            )
            raise ScenarioError(f'network.wireless.mobility.file: "{path}" {why}') from None
        del mobility["file"]


def read_text(path: str | Path) -> str:
    """The text of a file; a pipe is read to its end.

    Raises:
        ScenarioError: it cannot be read, or is not text.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ScenarioError(f"{path}: is a folder, not a file") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: not a text file in UTF-8") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None


class Scenario:
    """One network with its flows, checked; immutable.

    Args:
        name: For people.
        duration: Simulated time, e.g. `"60 s"`.
        network: A `Network`, or a dict with the keys of `[network]`.
        flows: A list of `Flow`, or of dicts with the keys of `[[flows]]`.
        background: A list of `Background`, or of dicts with the keys of `[[background]]`.
        **fields: Further keys, e.g. `warmup="10 s"`, `seed=1`, `record={"samples": "10 ms"}`.

    Raises:
        ScenarioError: every mistake found, one per line: field, value, what is allowed.
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        duration: str | None = None,
        network: Network | Mapping[str, Any] | None = None,
        flows: Iterable[Flow | Mapping[str, Any]] | None = None,
        background: Iterable[Background | Mapping[str, Any]] | None = None,
        **fields: Any,
    ) -> None:
        given = {"name": name, "duration": duration, **fields, "network": network}
        given["flows"] = None if flows is None else list(flows)
        given["background"] = None if background is None else list(background)
        self._data: dict[str, Any] = plain({key: value for key, value in given.items() if value is not None})
        self._folder = Path()  # where files are that it names
        _take_in(self._data, self._folder)
        self._checked: dict[str, Any] = json.loads(_core.check(json.dumps(self._data)))

    @classmethod
    def load(cls, path: str | Path, default: Mapping[str, Any] | None = None) -> Self:
        """The scenario in a TOML file, with the fields of `default` that it has not.

        Raises:
            ScenarioError: it cannot be read, is not TOML, or has mistakes.
        """
        return cls.from_toml(read_text(path), folder=Path(path).parent, default=default)

    @classmethod
    def from_toml(
        cls,
        text: str,
        *,
        folder: str | Path = "",
        default: Mapping[str, Any] | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> Self:
        """The scenario in TOML text.

        Args:
            text: What a file would hold.
            folder: Where the files are that it names; unless given, the working directory.
            default: Fields that it may lack.
            changes: New values by dotted path, as `replace` takes them; what they replace need not be right.

        Raises:
            ScenarioError: it is not TOML, or has mistakes.
        """
        for number, line in enumerate(text.splitlines(), 1):
            _text(line, f"line {number}")
        data = {**(default or {}), **json.loads(_core.parse_toml(text))}
        return cls._of(changed(data, changes) if changes else data, Path(folder))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The scenario in a dict of the shape of the TOML file; files that it names are in the working directory."""
        return cls._of(plain(data), Path())

    @classmethod
    def _of(cls, data: dict[str, Any], folder: Path) -> Self:
        scenario = cls.__new__(cls)
        _take_in(data, folder)
        scenario._folder = folder
        scenario._data, scenario._checked = data, json.loads(_core.check(json.dumps(data)))
        return scenario

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._checked["name"])

    @property
    def seed(self) -> int:
        """The seed of a run that names none."""
        return int(self._checked["seed"])

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """The scenario as it was written; with `full`, every default filled in."""
        return copy.deepcopy(self._checked if full else self._data)

    def to_toml(self) -> str:
        """The scenario as it was written, as TOML."""
        return to_toml(self._data)

    def to_json(self) -> str:
        """The scenario in its normal form, every default filled in, as the core reads it."""
        return self._json

    @cached_property
    def _json(self) -> str:  # for every run of a scenario the same
        return json.dumps(self._checked)

    def resolved(self, seed: int | None = None) -> dict[str, Any]:
        """What it comes to: one graph of nodes and links, every flow on its own, numbers in SI units.

        Its fields are described in docs/reference/resolved.md.

        Args:
            seed: Stations that draw their places and ways get those of a run with this seed, as legs.
        """
        return dict(json.loads(_core.resolve(self.to_json(), seed)))

    def key(self) -> str:
        """A hash of all that determines the scenario: equal scenarios have equal keys."""
        return hashlib.sha256(json.dumps(self._checked, sort_keys=True).encode()).hexdigest()

    def replace(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> Self:
        """A copy with some fields changed.

        Args:
            changes: New values by dotted path: `{"network.rtt": "10 ms", "flows.0.cc": "reno", "flows.*.count": 2}`.
            **more: The same, as keywords.

        Raises:
            ScenarioError: a path leads nowhere, or a value is not allowed there.
        """
        return self._of(changed(self._data, {**(changes or {}), **more}), self._folder)

    def run(
        self, *, seed: int | None = None, backend: str = "sim", progress: Callable[[float], None] | None = None
    ) -> Result:
        """Run it, without the GIL.

        Args:
            seed: Instead of the scenario's own.
            backend: What runs it, one of `cclab.backends.BACKENDS`: `"sim"`, the packet-level simulator; `"model"`,
                closed formulas (docs/models/formulas.md).
            progress: Called now and then with the share of simulated time done, from 0 to 1. Unless given, a notebook
                shows a bar.

        Raises:
            RunError: the event budget is used up, or a bug in cclab.
            ScenarioError: the scenario is beyond the backend.
        """
        from cclab import backends, console, notebook
        from cclab.results import Result

        if progress is None and notebook.here():
            with console.Progress(f"Running {self.name}") as bar:
                return Result.of_run(self, backend, *backends.run(self, seed, backend, bar))
        return Result.of_run(self, backend, *backends.run(self, seed, backend, progress))

    def _repr_html_(self) -> str:
        from cclab import notebook

        return notebook.of_scenario(self)

    def __repr__(self) -> str:
        return f"Scenario({self.name!r}, {len(self._checked.get('flows', []))} flow groups)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._checked == other._checked

    def __hash__(self) -> int:
        return hash(self.key())


def changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of what was written with some fields changed, by dotted path; not checked.

    Raises:
        ScenarioError: a path leads nowhere.
    """
    copied: dict[str, Any] = copy.deepcopy(dict(data))
    for path, value in changes.items():
        _assign(copied, names_on(path), plain(value, path), path)
    return copied


# In quotes, as a key of TOML, or of anything but a dot; TOML's bare keys have neither blanks nor the * of all.
_NAME = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s."'][^.]*)"""


@lru_cache(1024)  # a sweep asks for few, of each of its points
def names_on(path: str) -> tuple[str, ...]:
    """The names on a dotted path, which is a dotted key of TOML or one whose names are not quoted.

    Raises:
        ScenarioError: it is no path.
    """
    import tomllib

    if len(dotted := _text(path, "a path").split(".")) > _DEEPEST:
        raise ScenarioError(f"{path[:60]}…: a path of {len(dotted):,} names; {_DEEPEST} are the most")
    try:
        if not re.fullmatch(rf"\s*{_NAME}\s*(?:\.\s*{_NAME}\s*)*", path):
            raise ValueError
        names = [name.strip() for name in re.findall(_NAME, path)]
        return tuple(str(tomllib.loads(f"v = {name}")["v"]) if name[0] in "\"'" else name for name in names)
    except ValueError:
        raise ScenarioError(
            f"{path!r} is not a path of names and numbers with dots between them; write e.g. network.rtt"
        ) from None


def _assign(table: Any, path: Sequence[str], value: Any, whole: str) -> None:
    head, *rest = path
    if isinstance(table, list):
        if head != "*" and not (head.isdecimal() and int(head) < len(table)):
            there = ", ".join(map(str, range(min(len(table), 8)))) + (" …" if len(table) > 8 else "")
            raise ScenarioError(f"{whole}: there is no {head!r}; there is {there}, and * for all")
        for i in range(len(table)) if head == "*" else [int(head)]:
            if rest:
                _assign(table[i], rest, value, whole)
            else:
                table[i] = copy.deepcopy(value)
    elif not isinstance(table, dict):
        raise ScenarioError(f"{whole}: {head!r} leads into {table!r}, which is not a table; write it as one first")
    elif rest:
        _assign(table.setdefault(head, {}), rest, value, whole)
    elif value is None:
        table.pop(head, None)
    else:
        table[head] = copy.deepcopy(value)


def to_toml(data: Mapping[str, Any]) -> str:
    """A scenario or a study, checked or not, as TOML; what is `None` is left out."""
    import tomli_w

    return tomli_w.dumps(_without_none(data))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value
