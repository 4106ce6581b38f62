"""The worked example of tunnels: what its page says is what its program finds; and who refuses them."""

import pytest

import cclab
import conftest
from cclab.analysis import metrics
from conftest import EXAMPLES


@pytest.fixture(scope="module")
def example():
    return conftest.example("tunnels")


def test_a_tunnel_over_the_lossy_part_hides_its_losses(example):
    place = "200 ms, tunnel over the last 10"
    alone, inside = (example.outcome(example.scenario(place, way, 0.01), 1) for way in ("no tunnel", "over TCP"))
    assert inside["goodput"] > 8 * alone["goodput"]
    assert inside["inside"] == 0


def test_over_the_whole_path_it_costs_delay_not_goodput(example):
    alone, inside = (example.outcome(example.scenario("50 ms", way, 0.01), 1) for way in ("no tunnel", "over TCP"))
    assert inside["goodput"] == pytest.approx(alone["goodput"], rel=0.1)
    assert inside["rtt"] > 10 * alone["rtt"]


def test_both_stacks_send_again_after_an_outage(example):
    packets = example.through_an_outage("over TCP", "reno, classic")
    assert len(example.resent(packets, "download")) > 50
    assert len(example.resent(packets, "tunnel-1")) > 100


def test_the_page_has_the_programs_tables(example):
    page = (EXAMPLES.parent / "docs" / "guides" / "tunnels.md").read_text()
    for place in example.PLACES:
        for way in example.WAYS:
            assert page.count(f"| {place} | {way} |") == 4
    assert all(page.count(f"\n  | {way} | ") == 1 for way in example.WAYS)


def test_the_model_refuses_a_tunnel_and_results_have_its_rows():
    scenario = cclab.Scenario.load(EXAMPLES / "tunnel.toml")
    with pytest.raises(cclab.ScenarioError, match=r"network\.tunnel: the model knows none"):
        scenario.run(backend="model")
    result = scenario.replace({"duration": "20 s"}).run()
    assert result.flows["label"].to_list() == ["download", "tunnel-1"]
    assert {"tunnel-1", "tunnel-1-reverse"} < set(result.links["name"])
    assert scenario.resolved()["flows"][1]["tunnel"]
    assert result.connections["label"].to_list() == ["download"]
    assert metrics.jain(result) == result.jain == 1


def test_what_a_full_mouth_drops_says_so(example):
    scenario = example.scenario("50 ms", "over TCP, 20 packets at the mouth", 0.01)
    result = scenario.replace({"duration": "10 s", "warmup": "0 s", "record.frames": True}).run(seed=1)
    of = {link["name"]: link for link in result.rows("links")}
    causes = result.losses.group_by("place", "cause").len().rows()
    assert {(place, cause) for place, cause, _ in causes} == {("tunnel-1", "tunnel"), ("entry->exit", "random")}
    counted = {place: count for place, _, count in causes}
    assert counted["tunnel-1"] == of["tunnel-1"]["drops"] > 0
