"""JSON Schema of scenario and study files, for editors: of the fields that the core's reader asks for.

What a schema has no words for, the reader alone says: what fits together, what fits the duration, names of flows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from cclab import _core, registry

Json = dict[str, Any]

_FLOWS = [{"cc": "reno"}]
_DUMBBELL = {"rate": "1 Mbit/s", "rtt": "40 ms"}
_NODES = {"topology": "custom", "nodes": ["a", "b"]}
_LINK = {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms"}
_PATHS = [{"rtt": "20 ms"}, {"rtt": "40 ms"}]


def _network(**fields: Any) -> Json:
    return {"network": _DUMBBELL | fields, "flows": _FLOWS}


def _flow(**fields: Any) -> Json:
    return {"network": _DUMBBELL, "flows": [fields]}


def _background(kind: str, **fields: Any) -> Json:
    return {"network": _DUMBBELL, "background": [{"kind": kind, "cc": "reno", "load": "10%", **fields}]}


def _networks() -> Iterator[Json]:
    """Scenarios that have every table of a network and every shape of it, each as what is beside `duration`."""
    found = registry.registered()
    yield _network()
    links: list[Json] = [{"queue": {"discipline": queue["name"]}} for queue in found["queues"]]
    losses = [{"every": 5}, {"packets": [5]}, {"p": 0.1, "r": 0.5}]
    links += [{"loss": {of: loss}} for of in ("data", "ack", "all") for loss in losses]
    links += [{"jitter": {"max": "1 ms"}}, {"jitter": {"distribution": "exponential", "mean": "1 ms"}}]
    links += [{"reorder": {"probability": 0.1, "delay": "1 ms"}}, {"schedule": [{"at": "1 s", "rate": "1 Mbit/s"}]}]
    links += [{"tunnel": {"over": over}} for over in ("udp", "tcp")]
    links += [{"tunnel": {"over": "tcp", "cc": {"name": law["name"]}}} for law in found["algorithms"]]
    for link in links:
        yield _network(**link)
        yield _network(reverse=link)
        yield {"network": _NODES | {"links": [_LINK | link | {"reverse": link}]}, "flows": _FLOWS}
    yield _network(access={"queue": {}})
    yield _network(topology="parking-lot", bottlenecks=2)
    for topology in ("chain", "cross"):
        yield _network(topology=topology, hops=2)
    air: list[Json] = [{"topology": "chain", "hops": 2}, {"topology": "cross", "hops": 2}]
    air += [{"topology": "grid", "rows": 2, "columns": 2}, {"topology": "random", "nodes": 4, "area": ["1 km", "1 km"]}]
    air += [{"topology": "custom", "places": [["0 m", "0 m"], ["9 m", "0 m"]]}]
    models = [{"model": model["name"]} for model in found["mobility"]]
    for shape in air:
        for wireless in ({}, {"queue": {}}, {"propagation": {"law": "shadowing"}}, *({"mobility": m} for m in models)):
            yield {"network": shape | {"wireless": wireless}, "flows": _FLOWS}
        for protocol in found["routing"]:
            yield {"network": shape | {"wireless": {"routing": {"name": protocol["name"]}}}, "flows": _FLOWS}
    moves = [{"node": 0, "at": "1 s", "to": ["0 m", "0 m"], "speed": "1 m/s"}]
    yield {"network": air[0] | {"wireless": {"mobility": {"model": "moves", "moves": moves}}}, "flows": _FLOWS}
    yield _network(wifi={"queue": {}, "stations": [{"queue": {}}], "propagation": {"law": "shadowing"}})
    yield _network() | {"record": {"packets": "pcapng"}}


def _traffic() -> Iterator[Json]:
    """The same for flows and background."""
    found = registry.registered()
    for kind in ("tcp", "cbr", "onoff"):
        yield _flow(kind=kind, rate="1 Mbit/s")
    yield _flow(kind="onoff", rate="1 Mbit/s", distribution="pareto")
    for law in found["algorithms"]:
        yield _flow(cc={"name": law["name"]})
        yield _flow(coupling={"name": law["name"]}, paths=_PATHS)
    for scheduler in found["schedulers"]:
        yield _flow(cc="reno", scheduler={"name": scheduler["name"]}, paths=_PATHS)
    yield _flow(cc="reno", paths=_PATHS, multipath={})
    yield {"network": _NODES | {"links": [_LINK]}, "flows": [{"cc": "reno", "paths": [{"route": ["a", "b"]}] * 2}]}
    for table in ("delayed_ack", "rto", "ecn"):
        yield _flow(cc="reno", **{table: {}})
    for kind in ("bulk", "onoff", "chunks", "requests"):
        yield _flow(cc="reno", traffic={"kind": kind, "rate": "1 Mbit/s", "distribution": "exponential"})
        yield _flow(cc="reno", traffic={"kind": kind, "distribution": "pareto"})
    for kind in ("web", "poisson"):
        yield _background(kind)
        for distribution in ("surge", "pareto", "lognormal", "exponential", "fixed", "empirical", "aikat", "uniform"):
            yield _background(kind, sizes={"distribution": distribution}, rtt={"distribution": distribution})
            for table in ("embedded", "active_off", "think"):
                yield _background("web", **{table: {"distribution": distribution}})
    yield {"network": _DUMBBELL | {"topology": "parking-lot", "bottlenecks": 2}, "background": [{"kind": "web"}]}


class _Node:
    """A field: what the reader says that it may be, and the tables that stand there."""

    def __init__(self) -> None:
        self.kinds: list[Json] = []
        self.fields: dict[str, _Node] = {}
        self.items: _Node | None = None

    def at(self, path: list[str]) -> _Node:
        node = self
        for step in path:
            if step.startswith("["):
                node.items = node.items or _Node()
                node = node.items
            else:
                node = node.fields.setdefault(step, _Node())
        return node

    def schema(self, name: str = "") -> Json:
        """What it may be; anything, where the reader has no words for it."""
        shapes = list(self.kinds)
        if self.fields:
            shapes += [_SHORT[name]] if name in _SHORT and not shapes else []
            inner = {field: node.schema(field) for field, node in self.fields.items()}
            shapes.append({"type": "object", "properties": inner, "additionalProperties": False})
        if self.items:
            shapes.append({"type": "array", "items": self.items.schema()})
        shapes = [shape for i, shape in enumerate(shapes) if shape not in shapes[:i]]
        if {} in shapes or not shapes:
            return {}
        return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


_WORD: Json = {"type": ["string", "boolean"]}
_ANY: Json = {"type": ["string", "number", "boolean", "array"]}
# What may stand in the place of a table where the reader does not say so itself.
_SHORT: dict[str, Json] = {
    **{key: {"const": "none"} for key in ("jitter", "reorder")},
    "tunnel": {"enum": ["udp", "none"]},
    **dict.fromkeys(("routing", "mobility", "propagation", "scheduler", "traffic", "multipath"), _WORD),
    **dict.fromkeys(("rtt", "sizes", "think", "embedded", "active_off", "delayed_ack", "rto", "ecn", "stations"), _ANY),
}


def _laws() -> Iterator[tuple[str, Json]]:
    """The parameters of the laws, by name, each as the law says what it may be."""
    for law in registry.registered()["algorithms"]:
        for param in law["params"]:
            if param.get("choices"):
                kind: Json = {"enum": param["choices"]}
            elif param.get("min") is not None:
                kind = {"type": "number", "minimum": param["min"], "maximum": param["max"]}
            else:
                kind = {"type": "boolean"} if param["kind"] == "flag" else {}
            yield param["name"], kind | {"description": f"{law['name']}: {param['doc']}"}


_HEAD = {"$schema": "http://json-schema.org/draft-07/schema#"}


def scenario() -> Json:
    """Of a scenario file."""
    root = _Node()
    laws: list[_Node] = []
    for specimen in chain(_networks(), _traffic()):
        for path, kinds in json.loads(_core.fields(json.dumps({"duration": "9 s"} | specimen))).items():
            node = root.at(re.findall(r"[^.\[\]]+|\[\d+\]", path))
            node.kinds += [kind for kind in kinds if kind not in node.kinds]
            if path.endswith((".cc", ".coupling")):
                laws.append(node)
    names: list[Json] = [
        {"enum": registry.names("algorithms")},
        {"type": "string", "description": "a law of your own, or bpf:FILE"},
    ]
    params = list(_laws())
    for law in {id(node): node for node in laws}.values():
        law.kinds = names
        law.fields.setdefault("name", _Node()).kinds = names
        for name, kind in params:
            if name in law.fields and kind not in law.fields[name].kinds:
                law.fields[name].kinds.append(kind)
    made = root.schema()
    return (
        _HEAD
        | {"title": "A scenario of cclab", **made, "required": ["duration", "network"]}
        | {"anyOf": [{"required": ["flows"]}, {"required": ["background"]}]}
    )


def study() -> Json:
    """Of a study file."""
    whole = {key: value for key, value in scenario().items() if not key.startswith("$")}
    values = {"type": "object"}  # paths, nested or with dots, and what is varied
    seed = {"type": "integer", "minimum": 0}
    fields = {
        "scenario": {"anyOf": [{"type": "string", "description": "a scenario file"}, whole]},
        "name": {"type": "string"},
        "replications": {"type": "integer", "minimum": 1},
        "seeds": {"type": "array", "items": seed, "uniqueItems": True, "minItems": 1},
        "keep": {"enum": ["summary", "samples"]},
        "backend": {"enum": ["sim", "model", "live"]},
        "vary": values,
        "together": {"type": "array", "items": values},
        "points": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": values}},
    }
    said = {"title": "A study of cclab", "type": "object", "properties": fields}
    return _HEAD | said | {"additionalProperties": False, "required": ["scenario"]}
