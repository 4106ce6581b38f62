"""The backend `model`: results of the same shape, the formulas' own figures, and the simulator's where they should meet."""

import math

import numpy as np
import polars as pl
import pytest

import cclab
from cclab import formulas, metrics

F = cclab.Flow


def scenario(*flows, rate="100 Mbit/s", rtt="100 ms", duration="100 s", **network) -> cclab.Scenario:
    queue = network.pop("queue", {"limit": "0.5 BDP"})
    return cclab.Scenario(
        name="model", duration=duration, warmup="20 s", network=cclab.Dumbbell(rate=rate, rtt=rtt, queue=queue, **network),
        flows=list(flows), record={"samples": "1 s"},
    )  # fmt: skip


def model(*flows, **network) -> cclab.Result:
    return scenario(*flows, **network).run(backend="model")


def test_the_shape_of_a_result(tmp_path):
    made = scenario(F(cc="reno", count=2), F(kind="cbr", rate="1 Mbit/s"), loss={"data": "1%"})
    ours, theirs = made.run(backend="model", seed=5), made.run(seed=5)
    assert ours.backend == "model"
    assert ours.seed == 5
    for table in ("flows", "links", "samples", "link_samples", "signals"):
        assert getattr(ours, table).columns == getattr(theirs, table).columns
    assert ours.samples.height == 0
    assert ours.flows["label"].to_list() == theirs.flows["label"].to_list()
    for column in ("rate_bps", "delay_s", "queue_limit_packets"):
        assert ours.links[column].to_list()[:2] == theirs.links[column].to_list()[:2]
    assert math.isnan(ours.flows["timeouts"][0])  # no formula for it here
    ours.save(tmp_path / "r")
    again = cclab.Result.load(tmp_path / "r")
    assert again.backend == "model"
    assert again.digest == ours.digest == made.run(backend="model").digest
    assert again.json()["flows"][0]["timeouts"] is None
    assert "reno-1" in ours.summary()


# PFTK at RTT 0.1 s, T0 = 1 s (the floor of RFC 6298), segments per second, as in the tables of test_formulas.
@pytest.mark.parametrize(
    ("p", "b1", "b2"), [(1e-4, 1219.6, 861.63), (1e-3, 376.60, 265.57), (0.01, 98.829, 69.524), (0.05, 26.045, 18.603)]
)
def test_reno_under_random_loss_is_pftk(p, b1, b2):
    for counting, rate in ((False, b1), (True, b2)):
        flow = F(cc={"name": "reno", "ack_counting": counting}, profile="classic", ack_every=2)
        found = model(flow, loss={"data": p})
        assert found.flows["throughput_bps"][0] / (1500 * 8) == pytest.approx(rate * (1 - p), rel=2e-4)
        assert found.flows["goodput_bps"][0] / (1460 * 8) == pytest.approx(rate * (1 - p), rel=2e-4)


def test_the_receivers_window():
    found = model(F(cc="reno", receive_buffer="58400 B", profile="classic"), queue={"limit": "unlimited"})
    assert found.flows["goodput_bps"][0] == pytest.approx(40 * 1460 * 8 / (0.1 + 1500 * 8 / 100e6))


def test_periodic_loss_is_the_deterministic_function():
    for law in ("reno", "cubic"):
        found = model(F(cc=law, flavour="paper"), loss={"data": {"every": 1000}})
        assert found.flows["cwnd_mean_segments"][0] == pytest.approx(float(formulas.periodic(law, 1e-3, 0.1)))


def test_a_capacity_is_shared_equally():
    found = model(F(cc="cubic", count=4), F(kind="cbr", rate="20 Mbit/s"), queue={"limit": "1 BDP"})
    tcp = found.flows["throughput_bps"][:4].to_numpy()
    assert tcp == pytest.approx(tcp[0])
    assert tcp.sum() == pytest.approx(80e6, rel=1e-6)
    assert metrics.link_utilisation(found) == pytest.approx(1)
    assert found.jain == pytest.approx(1)
    # one that losses hold at less leaves the rest to the others
    assert model(F(cc="reno", count=2), rate="1 Mbit/s", loss={"data": "1%"}).flows["throughput_bps"].sum() < 1e6


def test_renos_sawtooth_by_hand():
    # pipe P, buffer 0: from P/2 to P the mean of W over time is 3/4 P, and so is the utilisation
    found = model(F(cc="reno", rtt="100 ms"), queue={"limit": "1 packet"}, rate="120 Mbit/s")
    pipe = 120e6 * 0.1 / 12000
    assert found.links["utilisation"][0] == pytest.approx(0.75, rel=2 / pipe)
    # a buffer of a whole BDP keeps the link busy; W goes from P to 2P
    full = model(F(cc="reno"), queue={"limit": "1 BDP"}, rate="120 Mbit/s")
    assert full.links["utilisation"][0] == pytest.approx(1)
    # time goes as W there: mean W = ∫W²dW / ∫W dW = (8 - 1)/3 / (3/2) P = 14/9 P
    assert full.flows["cwnd_mean_segments"][0] == pytest.approx(14 / 9 * pipe, rel=1e-3)
    assert full.flows["rtt_mean_s"][0] == pytest.approx(0.1 * 14 / 9, rel=1e-3)


@pytest.mark.parametrize(
    ("network", "tolerance"),
    [
        ({"loss": {"data": "1%"}}, 0.055),
        ({"queue": {"limit": "1 packet"}}, 0.025),
        ({"queue": {"limit": "1 BDP"}}, 0.015),
    ],
)
def test_an_rtt_includes_the_segments_own_time_on_the_link(network, tolerance):
    # 1500 B take 2.4 ms at 5 Mbit/s, so no sample is below 42.4 ms
    made = scenario(F(cc="reno", ack_every=1), rate="5 Mbit/s", rtt="40 ms", duration="120 s", **network)
    ours, theirs = (made.run(backend=b).flows for b in ("model", "sim"))
    assert ours["rtt_min_s"][0] == pytest.approx(0.0424)
    assert (
        ours["rtt_min_s"][0] <= ours["rtt_mean_s"][0] < 1.005 * theirs["rtt_mean_s"][0]
    )  # who waits for a burst of its own
    assert ours["rtt_mean_s"][0] == pytest.approx(theirs["rtt_mean_s"][0], rel=tolerance)


@pytest.mark.parametrize("segments", [4, 8, 15])
def test_a_window_is_used_once_in_a_round_trip(segments):
    # of 40 ms, a segment's 2.4 and its ACK's 0.083, which no formula knows
    flow = F(cc="reno", ack_every=1, receive_buffer=f"{1448 * segments} B")
    made = scenario(flow, rate="5 Mbit/s", rtt="40 ms", duration="60 s")
    ours, theirs = (made.run(backend=b).flows for b in ("model", "sim"))
    assert ours["throughput_bps"][0] == pytest.approx(segments * 12_000 / 0.0424)
    assert ours["throughput_bps"][0] == pytest.approx(theirs["throughput_bps"][0], rel=0.004)
    assert ours["cwnd_mean_segments"][0] == pytest.approx(segments)


@pytest.mark.parametrize(
    ("flow", "network", "tolerance"),
    [
        ({"cc": "reno", "ack_every": 1}, {"rate": "10 Mbit/s", "rtt": "40 ms"}, 0.02),
        ({"cc": "cubic"}, {"rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"limit": "0.2 BDP"}}, 0.02),
        ({"cc": "reno"}, {"rate": "20 Mbit/s", "rtt": "40 ms", "loss": {"data": {"every": 1000}}}, 0.05),
        ({"cc": "reno"}, {"rate": "20 Mbit/s", "rtt": "40 ms", "loss": {"data": "1%"}}, 0.15),
        ({"cc": "cubic"}, {"rate": "20 Mbit/s", "rtt": "40 ms", "loss": {"data": "1%"}}, 0.15),
    ],
)
def test_beside_the_simulator(flow, network, tolerance):
    made = scenario(F(**flow), duration="120 s", **network)
    ours, theirs = (made.run(backend=b).flows["goodput_bps"][0] for b in ("model", "sim"))
    assert ours == pytest.approx(theirs, rel=tolerance)


def test_a_transfer():
    made = scenario(F(cc="reno", size="100 kB", ack_every=1), rtt="50 ms")
    ours, theirs = made.run(backend="model").flows, made.run().flows
    assert ours["fct_s"][0] == pytest.approx(0.05 + formulas.latency_s(math.ceil(1e5 / 1448), 0, 0.05), rel=1e-9)
    assert ours["fct_s"][0] == pytest.approx(theirs["fct_s"][0], rel=0.25)  # whole round trips there
    # a large one takes the time of the link
    large = model(F(cc="reno", size="50 MB"), rate="10 Mbit/s", rtt="20 ms", queue={"limit": "1 BDP"}, duration="200 s")
    assert large.flows["fct_s"][0] == pytest.approx(50e6 * 8 / 10e6, rel=0.05)


def test_unknown_is_nan():
    unlike = model(F(cc="reno"), F(cc="cubic"), rate="10 Mbit/s")
    assert np.isnan(unlike.flows["goodput_bps"].to_numpy()).all()
    assert math.isnan(unlike.jain)
    assert unlike.flows["rtt_min_s"].is_not_nan().all()
    # but where losses decide, they are known
    known = model(F(cc="reno"), F(cc="cubic", rtt="50 ms"), loss={"data": "1%"})
    assert known.flows["goodput_bps"].is_not_nan().all()


BEYOND = {
    "network.topology": {"network": {"topology": "chain", "hops": 2, "rate": "1 Mbit/s", "delay": "1 ms"}},
    "network.jitter": {"network.jitter": {"max": "1 ms"}},
    "network.reorder": {"network.reorder": {"probability": "1%", "delay": "1 ms"}},
    "network.duplicate": {"network.duplicate": "1%"},
    "network.schedule": {"network.schedule": [{"at": "1 s", "rate": "1 Mbit/s"}]},
    "network.access.rate": {"network.access": {"rate": "1 Gbit/s"}},
    "network.loss.ack": {"network.loss": {"ack": "1%"}},
    "network.loss:": {"network.loss": {"data": "1%", "all": "1%"}},
    "network.loss.data": {"network.loss": {"data": {"p": "1%", "r": "50%"}}},
    'flows[0].cc: the model has no formula for "vegas"': {"flows.0.cc": "vegas"},
    "flows[0].direction": {"flows.0.direction": "reverse"},
    "background": {"background": [{"kind": "poisson", "load": "10%", "sizes": "20 kB", "cc": "reno"}]},
    "flows[0].ecn": {"flows.0.ecn": True},
    "flows[0].stop": {"flows.0.stop": "50 s"},
}


@pytest.mark.parametrize("said", BEYOND)
def test_beyond_the_formulas(said):
    changed = scenario(F(cc="reno")).replace(BEYOND[said])
    with pytest.raises(cclab.ScenarioError) as caught:
        changed.run(backend="model")
    assert str(caught.value).startswith(said), caught.value
    assert str(caught.value).endswith("(backend = model)")
    assert len(str(caught.value).splitlines()) == 1


def test_all_that_is_beyond_is_named_at_once():
    with pytest.raises(cclab.ScenarioError) as caught:
        model(F(cc="vegas", ecn=True), jitter={"max": "1 ms"})
    assert len(str(caught.value).splitlines()) == 3


def test_on_the_command_line(cli, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(scenario(F(cc="reno"), loss={"data": "1%"}).to_toml())
    status, out, _ = cli("run", file, "--backend", "model", "--out", tmp_path / "out")
    assert status == 0
    assert "reno-1" in out
    assert cli("report", tmp_path / "out")[0] == 0
    file.write_text(scenario(F(cc="vegas")).to_toml())
    status, _, err = cli("run", file, "--backend", "model")
    assert status == 2
    assert "vegas" in err
    with pytest.raises(cclab.RunError, match="sim, model"):
        scenario(F(cc="reno")).run(backend="fluid")


def test_unlimited_links_and_no_tcp():
    assert (
        model(F(cc="reno"), rate="unlimited", queue={"limit": "unlimited"}, loss={"data": "1%"}).flows["goodput_bps"][0]
        > 0
    )
    alone = model(F(kind="cbr", rate="1 Mbit/s"))
    assert math.isnan(alone.jain)
    assert alone.flows["goodput_bps"][0] == pytest.approx(1e6 * 1472 / 1500)
    assert pl.Series(alone.flows["measured_s"]).to_list() == [80.0]


def test_what_no_formula_applies_to_is_said_why(cli, tmp_path):
    """And nothing is printed of it: a row of dashes tells nothing."""
    laws = "each of reno, newreno, hstcp, scalable, cubic has one"
    constant = F(kind="cbr", rate="1 Mbit/s")
    for flows, rows, said in (
        ([F(cc="reno"), F(cc="cubic")], [], f"no closed formula covers these flows: {laws}"),
        ([F(cc="reno"), F(cc="cubic"), constant], ["cbr-1"], f"no closed formula covers 2 of 3 flows: {laws}"),
        ([F(cc="reno", count=2)], ["reno-1", "reno-2", "bottleneck"], None),
    ):
        file = tmp_path / "s.toml"
        file.write_text(scenario(*flows).to_toml())
        status, out, err = cli("run", file, "--backend", "model")
        assert status == (0 if rows else 1)  # nothing to show is a failure
        assert (said in err) if said else ("no closed formula" not in err)
        assert [line.split()[0] for line in out.splitlines() if "–" in line] == rows
        assert "seed 1" not in out
        assert bool(out) == bool(rows)
    assert laws in scenario(F(cc="reno"), F(cc="cubic")).run(backend="model").summary()
