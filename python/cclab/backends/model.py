"""The backend `"model"`: closed formulas in place of packets, in milliseconds.

It knows one bottleneck with long flows and transfers of the laws in `LAWS`. A flow's rate is what its losses leave it,
by a formula of `cclab.formulas`, or its share of the bottleneck, whichever is less. What no formula tells is NaN; a
scenario beyond the formulas is refused with what they cannot do. See docs/models/formulas.md.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab.columns import ALWAYS, tables
from cclab.scenario import law_of
from cclab.theory import formulas
from cclab.theory.formulas import Sawtooth

if TYPE_CHECKING:
    from cclab.results import Result
    from cclab.scenario import Scenario

LAWS = ("reno", "newreno", "hstcp", "scalable", "cubic")
LINK = "bottleneck"


def refuse(scenario: Scenario) -> list[str]:
    """Each field that is beyond the formulas."""
    return list(_beyond(scenario.to_dict(full=True)))


def run(scenario: Scenario, seed: int, progress: Callable[[float], None]) -> dict[str, Any]:
    """What the simulator would give, by formulas."""
    resolved = scenario.resolved()
    flows = [_flow(flow) for flow in resolved["flows"]]
    raw = _given(flows, resolved["links"])
    duration = resolved["duration_s"]
    at = next(i for i, link in enumerate(resolved["links"]) if link["name"] == LINK)
    _fill(resolved["links"][at], raw, at, flows, duration, resolved["warmup_s"])
    goodput = raw["flows"]["goodput_bps"][[flow["kind"] == "tcp" for flow in flows]]
    raw |= {"seed": seed, "simulated_s": duration, "events": 0, "data_packets": 0, "capture": None}
    raw["jain"] = float(np.sum(goodput) ** 2 / (len(goodput) * np.sum(goodput**2))) if len(goodput) else math.nan
    numbers = {table: {name: list(map(str, of)) for name, of in raw[table].items()} for table in ("flows", "links")}
    raw["digest"] = hashlib.sha256(json.dumps(numbers).encode()).hexdigest()[:32]
    progress(1.0)
    return raw


def remark(result: Result) -> str | None:
    """Why flows of a result have no goodput, in a line: only the share of a bottleneck can be without a formula."""
    missing, flows = int(result.flows["goodput_bps"].is_nan().sum()), result.flows.height
    if not missing:
        return None
    some = "these flows" if missing == flows else f"{missing} of {flows} flows"
    return (
        f"no closed formula covers {some}: each of {', '.join(LAWS)} has one for losses by chance, but flows that the"
        " bottleneck limits share it by one only if all have the same cc, rtt and packet size, and constant-rate flows"
        ' leave them some of it; the backend "sim" runs any'
    )


# --- What it can do --------------------------------------------------------------------------------------------------


def _beyond(checked: dict[str, Any]) -> Iterator[str]:
    """Fields that no formula here covers."""
    network = checked["network"]
    if network["topology"] != "dumbbell":
        yield f'network.topology: the model knows one bottleneck, "dumbbell", not "{network["topology"]}"'
        return
    if "wifi" in network:
        yield "network.wifi: the model knows wires"
    if network["queue"]["discipline"] != "droptail":
        yield f'network.queue.discipline: the model knows "droptail", not "{network["queue"]["discipline"]}"'
    for field, plain in (
        ("jitter", "none"),
        ("reorder", "none"),
        ("duplicate", "0%"),
        ("schedule", []),
        ("overhead", 0),
    ):
        if network[field] != plain:
            yield f"network.{field}: the model knows none"
    if "tunnel" in network:
        yield "network.tunnel: the model knows none"
    for field, table in (("network", network), ("network.reverse", network["reverse"])):
        if table.get("trace", "none") != "none":
            yield f"{field}.trace: the model knows none"
    if network["access"]["rate"] != "unlimited":
        yield "network.access.rate: the model knows access links without a limit"
    if checked.get("background"):
        yield "background: the model knows none"
    yield from _beyond_in_loss(network["loss"], network["reverse"]["loss"])
    for i, flow in enumerate(checked["flows"]):
        yield from _beyond_in_flow(f"flows[{i}]", flow)


def _beyond_in_flow(where: str, flow: dict[str, Any]) -> Iterator[str]:
    if flow["kind"] not in ("tcp", "cbr"):
        yield f'{where}.kind: the model knows "tcp" and "cbr", not "{flow["kind"]}"'
        return
    if "paths" in flow:
        yield f"{where}.paths: the model knows flows on one path"
        return
    if "traffic" in flow:
        yield f"{where}.traffic: the model knows sources that always have something to send"
        return
    if flow["direction"] != "forward":
        yield f'{where}.direction: the model knows "forward" only'
    if flow["stop"] != "never":
        yield f"{where}.stop: the model knows flows that go on to the end, and transfers"
    if flow["kind"] == "tcp":
        if (name := law_of(flow)) not in LAWS:
            yield f'{where}.cc: the model has no formula for "{name}"; it knows {", ".join(LAWS)}'
        if flow["ecn"]:
            yield f"{where}.ecn: the model knows losses, not marks"


def _beyond_in_loss(loss: dict[str, Any], back: dict[str, Any]) -> Iterator[str]:
    given = {kind: loss[kind] for kind in ("data", "ack", "all") if _some(loss[kind])}
    if "ack" in given or (back != loss and _some(back["ack"])):
        yield "network.loss.ack: the model knows losses of data"
    if "data" in given and "all" in given:
        yield "network.loss: the model knows one kind of loss, not data and all at once"
    for kind, of in given.items():
        if isinstance(of, dict) and set(of) != {"every"}:
            yield f"network.loss.{kind}: the model knows a probability and every n-th packet, not {json.dumps(of)}"


def _some(loss: Any) -> bool:
    return isinstance(loss, dict) or _probability(loss) > 0


# --- Flows -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Share:
    """What a flow does alone with its share of the bottleneck.

    Attributes:
        used: Share of it that is used, to 1.
        queue_s: Mean time in the queue.
        window: Mean window, in segments.
    """

    used: float
    queue_s: float
    window: float


def _flow(resolved: dict[str, Any]) -> dict[str, Any]:
    """A flow with what it sends and how: one table instead of several."""
    traffic = resolved["traffic"]
    return {**resolved, **traffic, **traffic.get("tcp", {}), "bits": traffic["packet_bytes"] * 8}


def _given(flows: list[dict[str, Any]], links: list[dict[str, Any]]) -> dict[str, Any]:
    """The tables with what the scenario says; everything else is NaN."""
    rows = {"flows": len(flows), "links": len(links)}
    raw: dict[str, Any] = {name: tables()[name].unknown(rows.get(name, 0)) for name in ALWAYS}
    raw["flows"]["label"] = [flow["label"] for flow in flows]
    raw["flows"]["cc"] = [flow["cc"]["name"] if flow["kind"] == "tcp" else "udp" for flow in flows]
    raw["links"]["name"] = [link["name"] for link in links]
    for column in ("rate_bps", "delay_s"):
        raw["links"][column] = np.array([link[column] for link in links], float)  # NaN where there is none
    for column in ("limit_packets", "limit_bytes"):
        raw["links"][f"queue_{column}"] = np.array([link["queue"][column] for link in links], float)
    return raw


def _fill(
    link: dict[str, Any], raw: dict[str, Any], at: int, flows: list[dict[str, Any]], duration: float, warmup: float
) -> None:
    links, columns = raw["links"], raw["flows"]
    capacity = _or_infinite(link["rate_bps"])
    p, periodic = _loss(link["loss"])
    wire = [flow["bits"] for flow in flows]
    constant = sum(flow["rate_bps"] for flow in flows if flow["kind"] == "cbr")
    free = max(capacity - constant, 0.0)
    rtt = [
        flow["base_rtt_s"] + bits / capacity for flow, bits in zip(flows, wire, strict=True)
    ]  # with its own segment's
    tcp = [i for i, flow in enumerate(flows) if flow["kind"] == "tcp"]
    limit = {i: min(_loss_limited(flows[i], p, periodic), _largest(flows[i]) / rtt[i]) * wire[i] for i in tcp}
    long = {i: x for i, x in limit.items() if flows[i]["size_bytes"] is None}  # transfers come and go
    share = {i: min(limit[i], free / (len(long) + 1)) for i in limit} | _max_min(long, free)
    bound = [i for i in long if limit[i] > share[i] * (1 + 1e-12)]
    alone = _Share(math.nan, math.nan, math.nan)
    if free > 0 and len({(json.dumps(flows[i]["cc"]), flows[i]["base_rtt_s"], wire[i]) for i in bound}) == 1:
        first, queue = bound[0], link["queue"]
        buffer = min(_or_infinite(queue["limit_packets"]), _or_infinite(queue["limit_bytes"]) * 8 / wire[first])
        alone = _fills(flows[first], rtt[first], share[first] / wire[first], buffer / len(bound))

    for i, flow in enumerate(flows):
        start, base = flow["start_s"], flow["base_rtt_s"]
        columns["start_s"][i], columns["measured_s"][i] = start, duration - max(start, warmup)
        if flow["kind"] == "cbr":
            sent, payload = min(1.0, capacity / constant) * flow["rate_bps"], wire[i] - 28 * 8
        else:
            sent, payload = share[i], flow["mss_bytes"] * 8
            columns["rtt_min_s"][i] = rtt[i]
            columns["rtt_mean_s"][i] = rtt[i] + (0.0 if not bound else alone.queue_s)
            round_s = rtt[i] if p == 0 else base  # which is the RTT that formulas of losses are given
            columns["cwnd_mean_segments"][i] = sent / wire[i] * round_s if i not in bound else alone.window
            sent *= alone.used if i in bound else 1.0
        columns["throughput_bps"][i] = sent * (1 - p)
        columns["goodput_bps"][i] = sent * (1 - p) * payload / wire[i]
        if flow["kind"] == "tcp" and i not in long:
            _transfer(columns, i, flow, p, base)
    total = float(np.sum(columns["throughput_bps"]))
    links["throughput_bps"][at] = total
    links["utilisation"][at] = total / capacity if math.isfinite(capacity) else math.nan
    links["sojourn_mean_s"][at] = alone.queue_s
    if bound:
        links["queue_mean_packets"][at] = alone.queue_s * total / wire[bound[0]]


def _transfer(columns: dict[str, Any], i: int, flow: dict[str, Any], p: float, base: float) -> None:
    """Cardwell's mean latency, at least the time at the flow's share; only loss by chance has a formula."""
    size, rto = flow["size_bytes"], flow["rto"]["initial_s"]
    segments = math.ceil(size / flow["mss_bytes"])
    seconds = formulas.latency_s(
        segments, p, base, _rto(flow, base), _packets_per_ack(flow), flow["initial_window_segments"], _largest(flow)
    )
    least = size * 8 / columns["goodput_bps"][i] if p == 0 else 0.0
    fct = formulas.handshake_s(p, base, rto) + max(seconds, least if math.isfinite(least) else 0.0)
    for column, value in (
        ("fct_s", fct), ("measured_s", fct), ("goodput_bps", size * 8 / fct),
        ("throughput_bps", math.nan), ("cwnd_mean_segments", math.nan), ("rtt_mean_s", math.nan),
    ):  # fmt: skip
        columns[column][i] = value


def _loss_limited(flow: dict[str, Any], p: float, periodic: bool) -> float:
    """Segments per second that losses and the receiver's window allow on the base RTT; infinite without losses."""
    base, most = float(flow["base_rtt_s"]), _largest(flow)
    limit = most / base
    if p == 0:
        return limit
    name, cc, b = flow["cc"]["name"], flow["cc"]["params"], _packets_per_ack(flow)
    if periodic:
        given = {k: cc[k] for k in ("c", "beta", "reno_friendly")} if name == "cubic" else {}
        law = "cubic" if name == "cubic" else _sawtooth(flow)
        return min(limit, float(formulas.periodic(law, p, base, **given)) / base)
    reno = float(formulas.pftk(p, base, _rto(flow, base), b, most))
    if name == "cubic":
        window = float(formulas.cubic(p, base, cc["c"], cc["beta"], reno_friendly=False))
        return max(reno if cc["reno_friendly"] else 0.0, min(limit, window / base))
    if name == "hstcp":
        return reno if p >= 1e-3 else min(limit, float(formulas.hstcp(p)) / base)
    if name == "scalable":
        window = float(formulas.scalable(p, cc["a"], cc["b"]))
        return reno if window <= cc["legacy_window"] else min(limit, window / base)
    return reno


def _fills(flow: dict[str, Any], rtt_s: float, rate: float, buffer: float) -> _Share:
    """One sawtooth of a flow that fills `rate` (segments per second): it loses when pipe and buffer are full.

    `rtt_s` is that of a segment that finds no queue.
    """
    most = _largest(flow)
    pipe = rate * rtt_s
    top = pipe + buffer
    if top >= most:  # nothing is lost: the receiver's window stands
        return _Share(min(1.0, most / pipe), max(most - pipe, 0.0) / rate, most)
    if flow["cc"]["name"] == "cubic":
        cc = flow["cc"]["params"]
        c, beta = cc["c"], cc["beta"]
        k = math.cbrt(top * (1 - beta) / c)
        time = np.linspace(0, k, 1001)
        w = c * (time - k) ** 3 + top
        if cc["reno_friendly"]:  # its line may be there first
            rtt = max(rtt_s, beta * top / rate)
            w = np.maximum(w, beta * top + 3 * (1 - beta) / (1 + beta) * time / rtt)
            w = w[: int(np.searchsorted(w, top)) + 1]
            time = time[: len(w)]
    else:
        law = _sawtooth(flow)
        w = np.linspace(top * (1 - float(law.decrease(np.array(top)))), top, 1001)
        # in a round trip come w ACKs, and each brings `per_ack`
        time = np.concatenate([[0.0], np.cumsum(np.diff(w) * (np.maximum(rtt_s, w / rate) / (w * law.per_ack(w)))[1:])])

    def mean(y: Any) -> float:
        return float(np.sum((y[1:] + y[:-1]) / 2 * np.diff(time)) / time[-1])

    return _Share(mean(np.minimum(w / pipe, 1.0)), mean(np.maximum(w - pipe, 0.0)) / rate, mean(w))


def _max_min(limit: dict[int, float], capacity: float) -> dict[int, float]:
    """Shares of the capacity, none above its limit, the others as large as can be and equal."""
    share: dict[int, float] = {}
    for left, i in zip(range(len(limit), 0, -1), sorted(limit, key=lambda i: limit[i]), strict=True):
        share[i] = min(limit[i], capacity / left)
        capacity -= share[i]
    return share


def _sawtooth(flow: dict[str, Any]) -> Sawtooth:
    name, cc, b = flow["cc"]["name"], flow["cc"]["params"], _packets_per_ack(flow)
    if name == "scalable":
        return formulas.scalable_sawtooth(cc["a"], cc["b"], cc["legacy_window"], legacy_halving=cc["legacy_halving"])
    law = formulas.SAWTEETH["hstcp" if name == "hstcp" else "reno"]
    return law if b == 1 else Sawtooth(lambda w: law.per_ack(w) / b, law.decrease)


def _packets_per_ack(flow: dict[str, Any]) -> float:
    """b of the formulas: what counts is whether the law counts ACKs or bytes."""
    return float(flow["delayed_ack"]["every"]) if flow["cc"]["params"].get("ack_counting") else 1.0


def _largest(flow: dict[str, Any]) -> float:
    return float(flow["receive_buffer_bytes"] / flow["mss_bytes"])


def _rto(flow: dict[str, Any], base: float) -> float:
    """T0: Linux adds its floor to the RTT, RFC 6298 has a floor; the variance of a constant RTT is nothing."""
    least = float(flow["rto"]["min_s"])
    return base + least if flow["rto"]["style"] == "linux" else max(base, least)


def _loss(losses: list[dict[str, Any]]) -> tuple[float, bool]:
    """Share of the data that is lost, and whether periodically."""
    of = next((loss for loss in losses if loss["applies_to"] != "ack"), None)
    if of is None:
        return 0.0, False
    return (1 / of["every"], True) if of["model"] == "periodic" else (of["p"], False)


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else float(value)


def _probability(text: str | float) -> float:
    return float(text.removesuffix("%")) / 100 if isinstance(text, str) else float(text)
