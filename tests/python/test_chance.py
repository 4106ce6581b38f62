"""What is left to chance: said of a scenario before it runs, held against two runs of other seeds."""

import warnings

import pytest

import cclab
from cclab import chance, registry
from cclab.backends import find
from conftest import write

LAWS = [e["name"] for e in registry.registered()["algorithms"] if not e["coupled"]]
COUPLED = [e["name"] for e in registry.registered()["algorithms"] if e["coupled"]]
QUEUES = [e["name"] for e in registry.registered()["queues"]]


def scenario(**changes) -> cclab.Scenario:
    network = cclab.Dumbbell(rate="5 Mbit/s", rtt="20 ms", queue={"limit": "20 packets"})
    flows = [cclab.Flow(cc="reno"), cclab.Flow(cc="cubic", start="100 ms")]
    made = cclab.Scenario(duration="3 s", network=network, flows=flows, record={"samples": "off"})
    return made.replace(changes) if changes else made


def same(of: cclab.Scenario) -> bool:
    return of.run(seed=1).digest == of.run(seed=2).digest


@pytest.mark.parametrize("law", LAWS)
def test_every_law_says_whether_it_draws(law):
    of = scenario(**{"flows.*.cc": law})
    assert chance.nothing(of) == (law not in ("bbr", "bbr3", "vivace"))
    if chance.nothing(of):
        assert same(of)


@pytest.mark.parametrize("coupling", COUPLED)
def test_every_coupled_law_says_whether_it_draws(coupling):
    link = {"rate": "5 Mbit/s", "delay": "10 ms", "queue": {"limit": "20 packets"}}
    links = [{"from": f"a{i}", "to": f"b{i}", **link} for i in range(2)]
    nodes = [f"{end}{i}" for i in range(2) for end in "ab"]
    of = cclab.Scenario(
        duration="3 s",
        network={"topology": "custom", "nodes": nodes, "links": links},
        flows=[{"coupling": coupling, "paths": [["a0", "b0"], ["a1", "b1"]]}],
        record={"samples": "off"},
    )
    assert chance.nothing(of) == same(of) == (coupling not in ("cbbr", "cmpbbr"))


@pytest.mark.parametrize("queue", QUEUES)
def test_every_queue_says_whether_it_draws(queue):
    of = scenario(**{"network.queue": {"discipline": queue, "limit": "100 packets"}, "flows.*.ecn": True})
    if chance.nothing(of):
        assert same(of)
    else:
        assert queue in ("blue", "fq-codel", "pie", "red")


@pytest.mark.parametrize(
    "changes",
    [
        {"flows.0.start_jitter": "50 ms"},
        {"flows.0.send_jitter": "1 ms"},
        {"network.loss": {"data": "1%"}},
        {"network.jitter": {"distribution": "uniform", "max": "2 ms"}},
        {"background": [{"kind": "web", "load": "10%", "cc": "cubic"}]},
        {"flows.1": {"kind": "onoff", "rate": "1 Mbit/s", "on": "100 ms", "off": "100 ms"}},
    ],
)
def test_what_draws_is_named_and_sets_seeds_apart(changes):
    of = scenario(**changes)
    assert list(chance.left(of.resolved()))
    assert not same(of)


def test_losses_that_are_counted_are_no_chance():
    of = scenario(**{"network.loss": {"data": {"every": 100}}})
    assert chance.nothing(of)
    assert same(of)


def test_it_is_told_wherever_an_interval_is_printed(cli, tmp_path):
    still, moved = scenario(), scenario(**{"flows.0.start_jitter": "50 ms"})
    assert "every seed gives this very run" in still.run(seed=1).summary()
    assert "another seed may differ" in moved.run(seed=1).summary()
    study = cclab.Study(still).vary({"network.rtt": ["10 ms", "20 ms"]}).replicate(3)
    file = write(tmp_path / "s.toml", study.to_toml())
    dry = cli("sweep", file, "--dry-run")
    assert "2 points or more nothing is left to chance" in dry[2]
    done = cli("sweep", file, "--out", tmp_path / "s")
    for said in (dry[2], done[2]):
        assert "start_jitter" in said
    assert "2 of 2 points all runs are the same" in done[2]
    with pytest.warns(UserWarning, match="2 of 2 points all runs are the same"):
        cclab.Study.load(tmp_path / "s").summary("goodput_bps")
    file = write(tmp_path / "m.toml", cclab.Study(moved).replicate(3).to_toml())
    assert "chance" not in cli("sweep", file, "--dry-run")[2]
    assert "chance" not in cli("sweep", file, "--out", tmp_path / "m")[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cclab.Study.load(tmp_path / "m").summary("goodput_bps")
        cclab.Study(still).run(tmp_path / "one").summary("goodput_bps")  # one run has no interval


def test_what_a_run_can_not_show_is_noted(cli, tmp_path):
    short = write(tmp_path / "short.toml", scenario(**{"duration": "15 ms", "flows.1.start": "0 s"}).to_toml())
    assert "over before a round trip is, of: cubic-1, reno-1" in cli("run", short)[2].replace(
        "reno-1, cubic-1", "cubic-1, reno-1"
    )
    long = write(tmp_path / "long.toml", scenario().to_toml())
    assert "round trip" not in cli("run", long)[2]
    tiny = ["--set", "network.rate=1 Mbit/s", "--set", "network.rtt=5 ms", "--set", "network.queue.limit=1 BDP"]
    assert "A single packet may wait at: bottleneck" in cli("run", long, *tiny)[2]
    assert "ECN does nothing for: dctcp-1" in cli("run", long, "--set", "flows.0.cc=dctcp")[2]


def test_what_is_noted_resolves_the_scenario_once_and_of_very_many_flows_not_at_all(monkeypatch):
    resolve, seen = cclab.Scenario.resolved, []
    for count, times in ((1000, 1), (1001, 0)):
        made = scenario(**{"duration": "15 ms", "flows": [{"cc": "reno", "count": count, "start_jitter": "0 s"}]}).run(
            seed=1
        )
        with monkeypatch.context() as patched:
            patched.setattr(cclab.Scenario, "resolved", lambda *of: (seen.append(of), resolve(*of))[1])
            said = find("sim").remark(made)
            made.summary()
        assert len(seen) == times
        assert ("before a round trip is" in str(said)) == bool(times)
        seen.clear()


def test_a_model_without_a_formula_fails(cli, tmp_path):
    file = write(tmp_path / "s.toml", scenario().to_toml())  # two laws share the bottleneck: there is none
    status, _, err = cli("run", file, "--backend", "model")
    assert status == 1
    assert "no closed formula covers these flows" in err
    assert cli("run", file, "--backend", "model", "--set", "flows.1.cc=reno", "--set", "flows.1.start=0 s")[0] == 0
