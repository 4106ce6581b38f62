"""What a scenario comes to, against what the simulator made of it."""

import math
from pathlib import Path

import pytest

import cclab

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reference" / "resolved.md"
SCENARIOS = sorted((TESTS / "scenarios").glob("*.toml"))


def short(path: Path) -> cclab.Scenario:
    """The same network and flows for a microsecond."""
    data = cclab.Scenario.load(path).to_dict(full=True)
    for flow in data["flows"]:
        flow |= {"start": "0 s", "start_jitter": "0 s", "stop": "never"}
    for entry in data.get("background", []):
        entry |= {"start": "0 s", "stop": "never"}
    return cclab.Scenario.from_dict({**data, "duration": "1 us", "warmup": "0 s", "record": {"samples": "off"}})


def known(value: float | None) -> float:
    return math.nan if value is None else value


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_links_and_flows_are_those_that_run(path):
    scenario = short(path)
    resolved, result = scenario.resolved(), scenario.run()
    hops = [*resolved["links"], *resolved["media"]]
    assert [hop["name"] for hop in hops] == list(result.links["name"])
    for ours, theirs in zip(resolved["links"], result.links.to_dicts(), strict=False):
        for field, value in (
            ("rate_bps", ours["rate_bps"]),
            ("delay_s", ours["delay_s"]),
            ("queue_limit_packets", ours["queue"]["limit_packets"]),
            ("queue_limit_bytes", ours["queue"]["limit_bytes"]),
        ):
            assert known(value) == pytest.approx(theirs[field], rel=1e-15, nan_ok=True), (ours["name"], field)
    for ours, theirs in zip(resolved["flows"], result.flows.to_dicts(), strict=True):
        traffic = ours["traffic"]
        name = traffic["cc"]["name"] if traffic["kind"] == "tcp" else "udp"
        assert (ours["label"], name) == (theirs["label"], theirs["cc"])
    assert len(resolved["background"]) == result.background.height


def test_the_handshake_takes_the_base_rtt(small):
    """It finds no queue: propagation, and the time to send a SYN with all its options, 60 bytes, there and back."""
    result, resolved = small.run(), small.resolved()
    rate = next(link["rate_bps"] for link in resolved["links"] if link["name"] == "bottleneck")
    for flow, smallest in zip(resolved["flows"], result.flows["rtt_min_s"], strict=True):
        assert smallest == pytest.approx(flow["base_rtt_s"] + 2 * 60 * 8 / rate, rel=1e-3)


def test_every_field_is_described():
    text = PAGE.read_text(encoding="utf-8")

    def fields(value):
        if isinstance(value, dict):
            for name, inner in value.items():
                yield name
                if name != "params":
                    yield from fields(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from fields(inner)

    background = [
        {"kind": "web", "load": "10%", "cc": "reno"},
        {
            "kind": "poisson",
            "load": "10%",
            "sizes": {"distribution": "pareto", "min": "1 kB", "shape": 1.5},
            "cc": "reno",
        },
    ]
    more = cclab.Scenario.load(TESTS / "scenarios" / "asymmetric.toml").replace(record={"packets": "pcapng"}).to_dict()
    more = cclab.Scenario.from_dict({**more, "background": background})
    found = {name for path in SCENARIOS for name in fields(cclab.Scenario.load(path).resolved())}
    found |= set(fields(more.resolved()))
    assert len(found) > 90
    assert sorted(name for name in found if f"`{name}`" not in text) == []
