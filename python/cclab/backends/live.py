"""The backend `"live"`: this machine's own kernel, hosts in network namespaces, the simulator's links between them.

Senders and receivers are real sockets; a run takes as long as it says. Linux only. See docs/guides/live.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.backends import never_up
from cclab.errors import RunError
from cclab.scenario import law_of, programs

if TYPE_CHECKING:
    from cclab.results import Result
    from cclab.scenario import Scenario

_LOOK = 0.05  # s between two looks at Ctrl-C
_MOST_PATHS = 8  # MPTCP_PM_ADDR_MAX
_FREE = {
    "kind", "label", "count", "from", "to", "route", "route_back", "rtt", "direction", "start", "start_jitter", "stop",
    "size", "cc", "sack", "dsack", "recovery", "tlp", "frto", "timestamps", "packet_size", "window_scaling", "ecn",
    "receive_buffer", "send_buffer", "initial_send_buffer", "pacing", "nagle", "slow_start_after_idle", "rate",
    "on", "off", "paths", "coupling",
}  # fmt: skip
"""Fields of a flow that hosts, sockets or the relay follow; any other must be what it is if nobody writes it."""
_PLAIN_SESSION = {
    "scheduler": "min-rtt",
    "multipath": {"reinject": True, "opportunistic": True, "penalise": True, "fail_after": 3, "notice": False},
}
"""The same of a flow with paths."""


def on_linux() -> bool:
    """Whether this build has a live backend."""
    return hasattr(_core, "Live")


def missing() -> str | None:
    """Why this process cannot run anything live, if it cannot."""
    if not on_linux():
        return "the live backend needs Linux"
    reason: str | None = check()["hosts"]
    return reason


def check() -> dict[str, Any]:
    """What this machine can do.

    `kernel`, `processors`, `hosts` (why there can be none), `capabilities`, `real_time`, `laws`, `mptcp`, and of `bpf`
    whether it is built in (`built`) and the kernel describes its types (`btf`).
    """
    found: dict[str, Any] = json.loads(_core.live_check())
    return found


def round_trips(rtt_s: float, count: int) -> list[float]:
    """RTTs in s of `count` echoes, 5 ms apart, over an idle path of `rtt_s`."""
    return _core.live_round_trips(rtt_s, count)


def refuse(scenario: Scenario) -> list[str]:
    """Each field that no kernel follows, or not this one."""
    return list(_beyond(scenario)) if on_linux() else ["the live backend needs Linux"]


def run(scenario: Scenario, seed: int, progress: Callable[[float], None]) -> dict[str, Any]:
    """Run it in real time.

    Raises:
        RunError: this process may not, a connection failed, or the machine could not keep up.
    """
    if reason := missing():
        raise RunError(f"{reason}; cclab live check says what there is")
    loaded = programs(scenario.to_dict(full=True)["flows"])
    live = _core.Live(scenario.to_json(), seed)
    try:
        while (done := live.wait(_LOOK)) < 1.0:
            progress(done)
        raw = live.finish()
    finally:
        live.stop()
    progress(1.0)
    raw["stamp"] = json.loads(raw["stamp"]) | ({"programs": loaded} if loaded else {})
    return raw


def remark(result: Result) -> str | None:
    """How good the run was, in a line; and what was in vain."""
    if (stamp := result.stamp) is None:
        return None
    late = {name: stamp[f"lateness_{name}_s"] for name in ("p50", "p99", "max")}
    times = ", ".join(f"{name} {1e6 * (s or 0.0):.0f} µs" for name, s in late.items())
    priority = "" if stamp["real_time"] else "; no real-time priority"
    still = (
        f"; {stopped_s:.3f} s, when the machine stood still, left out" if (stopped_s := stamp.get("stopped_s")) else ""
    )
    place = "" if (processor := stamp.get("processor")) is None else f"; relay and senders on processor {processor}"
    ran = stamp.get("programs", {}).items()
    hashes = "".join(f"; {Path(file).name} sha256 {hashed[:12]}" for file, hashed in ran)
    beside = f"{still}{priority}{place}{hashes}"
    good = f"Linux {stamp['kernel']}; packets left late by {times}; none dropped outside the links{beside}."
    return "\n".join([*never_up(result), good])


def beyond_in_network(scenario: Scenario) -> Iterator[str]:
    """Each field beside those of flows that the relay does not follow."""
    checked, resolved = scenario.to_dict(full=True), scenario.resolved()
    if resolved["media"]:
        yield "network: kernels are joined by wires here, not by radio"
    if resolved["background"]:
        yield "background: live knows flows"
    network = checked["network"]
    links = [("network", network), *((f"network.links[{i}]", of) for i, of in enumerate(network.get("links", [])))]
    for where, link in links:
        if isinstance(tunnel := link.get("tunnel"), dict) and tunnel["over"] == "tcp":
            yield f"{where}.tunnel: live knows tunnels over UDP"
    if checked["record"]["samples"] == "change":
        yield 'record.samples: a kernel is asked at an interval; write e.g. "10 ms"'
    for field in ("packets", "frames"):
        if checked["record"][field]:
            yield f"record.{field}: live keeps none"


def _beyond(scenario: Scenario) -> Iterator[str]:
    yield from beyond_in_network(scenario)
    yield from _beyond_in_flows(scenario.to_dict(full=True).get("flows", []))


def _beyond_in_flows(flows: list[dict[str, Any]]) -> Iterator[str]:
    plain: dict[str, dict[str, Any]] = {}
    for i, flow in enumerate(flows):
        where = f"flows[{i}]"
        if "traffic" in flow:
            yield f"{where}.traffic: live knows sources that always have something to send; write size, or leave it out"
        elif "paths" in flow and not check()["mptcp"]:
            yield f"{where}.paths: this kernel has no MPTCP, or sysctl net.mptcp.enabled is 0"
        elif len(flow.get("paths", [])) > _MOST_PATHS:
            yield f"{where}.paths: a kernel has at most {_MOST_PATHS}"
        elif flow.get("coupling", "none") != "none":
            yield f"{where}.coupling: the subflows of a kernel know nothing of each other; write a law as cc"
        elif flow["kind"] == "tcp":
            law = law_of(flow)
            if law not in plain:
                plain[law] = _plain(law) | _PLAIN_SESSION
            yield from _beyond_in_law(where, flow, plain[law])
            yield from _beyond_in_options(where, flow, plain[law])
            if "paths" in flow and flow["receive_buffer"] != plain[law]["receive_buffer"]:
                yield f"{where}.receive_buffer: a connection over several paths has no window to clamp; leave it out"
        elif flow["send_jitter"] != "0 s":
            yield f"{where}.send_jitter: a real host takes the time that it takes"


def _plain(law: str) -> dict[str, Any]:
    """A flow of this law of which nothing else is written."""
    from cclab.scenario import Scenario

    given = {"duration": "1 s", "network": {"rate": "1 Mbit/s", "rtt": "10 ms"}, "flows": [{"cc": law}]}
    flow: dict[str, Any] = Scenario.from_dict(given).to_dict(full=True)["flows"][0]
    return flow


def _beyond_in_law(where: str, flow: dict[str, Any], plain: dict[str, Any]) -> Iterator[str]:
    name = law_of(flow)
    if reason := _core.live_lacks(name):
        yield f"{where}.cc: {reason}"
    for parameter, value in flow["cc"].items() if isinstance(flow["cc"], dict) else ():
        if parameter in plain["cc"] and value != plain["cc"][parameter]:
            yield f"{where}.cc.{parameter}: the kernel's {name} has no such parameter of a connection; leave it out"


def _beyond_in_options(where: str, flow: dict[str, Any], plain: dict[str, Any]) -> Iterator[str]:
    for field, value in flow.items():
        if field == "rto":
            for part, time in value.items():
                there = plain["rto"][part]
                if part not in ("min", "max") and time != there:
                    yield f"{where}.rto.{part}: a kernel has no such option; it is {json.dumps(there)} there"
        elif field not in _FREE and value != plain.get(field):
            yield f"{where}.{field}: live does not set it; it is {json.dumps(plain.get(field))} there"
    if flow["initial_send_buffer"] == plain["initial_send_buffer"] and flow["send_buffer"] != plain["send_buffer"]:
        yield f"{where}.send_buffer: a kernel's is memory that grows; write initial_send_buffer too, or tcp_wmem"
    if "accecn" in str(flow["ecn"]):
        yield f"{where}.ecn: live knows false and true"
    if flow["recovery"] != ("rack" if flow["sack"] else "newreno"):
        yield f'{where}.recovery: a kernel has "rack", and "newreno" where sack is false'
