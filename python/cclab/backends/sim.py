"""The backend `"sim"`: the packet-level simulator, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import _core
from cclab.backends import never_up, some

if TYPE_CHECKING:
    from cclab.results import Result
    from cclab.scenario import Scenario

_SLICE = 1 << 16  # events between two looks at the clock and at Ctrl-C: some 10 ms


def refuse(scenario: Scenario) -> list[str]:
    """Programs for the kernel; all else that a scenario may say the simulator can do."""
    from cclab.scenario import law_of

    written = scenario.to_dict()
    return [
        f"{table}[{i}].cc: {name} is a program for the kernel, which only the live backend runs"
        for table in ("flows", "background")
        for i, one in enumerate(written.get(table, []))
        if (name := law_of(one)).startswith("bpf:")
    ]


def run(scenario: Scenario, seed: int, progress: Callable[[float], None]) -> dict[str, Any]:
    """Run it packet by packet."""
    simulation = _core.Simulation(scenario.to_json(), seed)
    done = 0.0
    while done < 1.0:
        done = simulation.advance(_SLICE)
        progress(done)
    return simulation.finish()


def remark(result: Result) -> str | None:
    """What was in vain: flows that nobody answered, stations that nobody hears, frames where there is no air."""
    said = never_up(result)
    flows = result.rows("flows", "label", "ecn", "connect_s")
    lost = [row["label"] for row in flows if row["ecn"] == "lost" and not np.isnan(row["connect_s"])]
    if lost:
        said.append(f"Asked for ECN, and came up without: {some(lost)}; their SYN was lost or the peer has none.")
    if result.rows("stations", "name"):
        said += _out_of_reach(result)
    else:
        if result.scenario.get("record", {}).get("frames"):
            said.append("record.frames: no stations share the air, so there are no frames; the table losses is kept")
        said += _unmarked(result) + _tiny(result) + _too_short(result)
    return "\n".join(said) or None


def _unmarked(result: Result) -> list[str]:
    """Flows that ask for ECN where no queue on their way ever marks."""
    if all(_says_nothing_of_ecn(flow) for flow in result.scenario.get("flows", [])):
        return []
    if (resolved := result._resolved) is None:
        return []
    links = resolved["links"]
    asked = [flow for flow in resolved["flows"] if flow["traffic"].get("tcp", {}).get("ecn") not in (None, "off")]
    ways = {flow["label"]: [links[hop] for hop in flow["route"] if hop < len(links)] for flow in asked}
    vain = [label for label, way in ways.items() if all(link["queue"]["discipline"] == "droptail" for link in way)]
    return [f"No queue on their way marks, so ECN does nothing for: {some(vain)}."] if vain else []


def _says_nothing_of_ecn(flow: dict[str, Any]) -> bool:
    from cclab.scenario import law_of

    return "ecn" not in flow and law_of(flow) not in ("dctcp", "prague")


def _tiny(result: Result) -> list[str]:
    limit = "queue_limit_packets"
    tiny = [row["name"] for row in result.rows("links", "name", limit) if row[limit] == 1]
    return [f"A single packet may wait at: {some(tiny)}."] if tiny else []


def _too_short(result: Result) -> list[str]:
    """Flows whose run is over before a round trip is."""
    flows = result._resolved["flows"] if result._resolved else []
    end = result.engine["simulated_s"]
    left = {flow["label"]: (flow["stop_s"] or end) - flow["start_s"] for flow in flows}
    short = [flow["label"] for flow in flows if (flow["base_rtt_s"] or 0.0) >= left[flow["label"]]]
    return [f"The run is over before a round trip is, of: {some(short)}."] if short else []


def _out_of_reach(result: Result) -> list[str]:
    """Of stations that stand still: who is further from every other one than a frame can be decoded."""
    from cclab.scenario import Scenario

    resolved = Scenario.from_dict(result.scenario).resolved(result.seed)
    said = []
    for medium in resolved["media"]:
        motions = [station["motion"] for station in medium["stations"]]
        if any(leg["from_m"] != leg["to_m"] for motion in motions for leg in motion["legs"]):
            continue
        places = np.array([motion["legs"][0]["from_m"] for motion in motions])
        reach = medium["radio"]["range_m"]
        heard = [int((np.hypot(*(places - place).T) <= reach).sum()) - 1 for place in places]
        stations = zip(medium["stations"], heard, strict=True)
        alone = [resolved["nodes"][station["node"]] for station, others in stations if not others]
        if alone:
            said.append(f"Out of reach of every other station, {reach:.0f} m: {some(alone)}.")
    return said
