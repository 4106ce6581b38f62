"""Metrics against worked examples, and of a result against the same by hand."""

import math

import numpy as np
import polars as pl
import pytest

import cclab
from cclab import metrics


@pytest.fixture(scope="module")
def two() -> cclab.Result:
    """A Reno, a CUBIC five seconds later, and a tenth of the link of UDP; every packet on record."""
    return cclab.Scenario(
        name="two",
        duration="20 s",
        warmup="8 s",
        network=cclab.Dumbbell(rate="5 Mbit/s", rtt="40 ms", queue={"limit": "20 packets"}),
        flows=[
            cclab.Flow(cc="reno", ack_every=1),
            cclab.Flow(cc="cubic", start="5 s", rtt="80 ms"),
            cclab.Flow(kind="cbr", rate="500 kbit/s", label="background"),
            cclab.Flow(cc="reno", size="50 kB", start="9 s", label="short"),
        ],
        record={"samples": "20 ms", "packets": "table"},
    ).run(seed=3)


def test_jain():
    for rates, index in (([5, 5], 1.0), ([1, 2, 3, 4], 0.8333), ([9, 1], 0.6098), ([10, 0, 0, 0], 0.25)):
        assert metrics.jain(rates) == pytest.approx(index, abs=5e-5)
    assert math.isnan(metrics.jain([0, 0]))
    assert math.isnan(metrics.jain([]))


def test_jain_of_a_result(two):
    assert metrics.jain(two) == pytest.approx(two.jain)


def test_harm():
    assert metrics.harm(10, 3) == pytest.approx(0.7)
    assert metrics.harm(20, 50, more_is_better=False) == pytest.approx(0.6)


@pytest.mark.parametrize(("alpha", "share"), [(0.5, 0.2), (1, 0.3333), (2, 0.4142), (50, 0.4965)])
def test_alpha_fairness_on_two_links(alpha, share):
    # A long flow over both links of capacity 1, a short one on each: the long one's share is 1 / (1 + 2^(1/α))
    x = np.linspace(0.001, 0.999, 9981)
    utility = [metrics.alpha_fair_utility([long, 1 - long, 1 - long], alpha) for long in x]
    assert x[int(np.argmax(utility))] == pytest.approx(share, abs=2e-4)


def test_alpha_zero_is_the_total():
    assert metrics.alpha_fair_utility([3, 4], 0) == 7
    assert metrics.alpha_fair_utility([0, 4], 1) == -math.inf


def test_rtt_fairness():
    found = metrics.rtt_fairness([100, 10, 31.622776601683793], [0.02, 0.2, 0.0632455532])
    assert found.ratio == pytest.approx(10)
    assert found.exponent == pytest.approx(1)
    assert metrics.rtt_fairness(1 / np.array([0.01, 0.16]) ** 2, [0.01, 0.16]).exponent == pytest.approx(2)
    assert math.isnan(metrics.rtt_fairness([5, 4], [0.1, 0.1]).exponent)
    assert metrics.rtt_fairness([5, 0], [0.1, 0.2]).ratio == math.inf
    with pytest.raises(ValueError, match="2 rates and 3 RTTs"):
        metrics.rtt_fairness([1, 2], [1, 2, 3])


def test_shares_of_a_result(two):
    goodput = dict(zip(two.flows["label"], two.flows["goodput_bps"], strict=True))
    renos = (goodput["reno-1"] + goodput["short"]) / 2
    assert metrics.tcp_friendliness(two) == pytest.approx(goodput["cubic-1"] / renos)
    assert metrics.tcp_friendliness([3e6], 6e6 / 3) == pytest.approx(1.5)  # beside C / n
    with pytest.raises(cclab.ResultError, match="vegas"):
        metrics.tcp_friendliness(two, "vegas")
    through = dict(zip(two.flows["label"], two.flows["throughput_bps"], strict=True))
    tcp = through["reno-1"] + through["cubic-1"] + through["short"]
    assert metrics.utilisation_ratio(two, ["background"]) == pytest.approx(tcp / through["background"])
    assert metrics.utilisation_ratio([6, 2], [2]) == pytest.approx(4)
    assert metrics.utilisation_ratio([6, 2], []) == math.inf
    rtt = two.flows["rtt_min_s"].to_numpy()[[0, 1, 3]]
    rates = [goodput[label] for label in ("reno-1", "cubic-1", "short")]
    assert metrics.rtt_fairness(two) == pytest.approx(metrics.rtt_fairness(rates, rtt))
    assert metrics.power(two)[0] == pytest.approx(goodput["reno-1"] / two.flows["rtt_mean_s"][0])
    assert metrics.power([4.0], 2.0, exponent=2) == pytest.approx([8])


def test_a_link(two):
    link = two.links.filter(pl.col("name") == "bottleneck").row(0, named=True)
    assert metrics.link_utilisation(two) == link["utilisation"]
    packet = 1500 * 8 / (5e6 * 12)  # one that is on the wire at either end of the interval
    assert metrics.link_utilisation(link["throughput_bps"] * 12, 5e6, 12) == pytest.approx(
        link["utilisation"], abs=packet
    )
    dropped = two.packets.filter((pl.col("event") == "dropped") & (pl.col("time_s") >= 8))
    assert metrics.loss_rate(two) == pytest.approx(dropped.height / link["arrived"])
    assert metrics.loss_rate(3, 100) == 0.03
    assert math.isnan(metrics.loss_rate(0, 0))
    with pytest.raises(cclab.ResultError, match="bottleneck-reverse"):
        metrics.loss_rate(two, link="botleneck")


def test_loss_events():
    # five losses; those at 1.05 and 1.0999 belong to the event at 1.0, that at 1.1 does not, nor that at 2
    assert metrics.loss_event_rate([1.05, 1.0, 1.0999, 1.1, 2.0], 0.1, 300) == pytest.approx(0.01)
    assert metrics.loss_event_rate([], 0.1, 300) == 0


def test_loss_events_of_a_result(two):
    lost = two.packets.filter(
        (pl.col("event") == "dropped") & (pl.col("time_s") >= 8) & (pl.col("flow") != "background")
    )
    sent = two.flows.filter(pl.col("cc") != "udp")["segments_sent"].sum()
    counted = sum(
        metrics.loss_event_rate(part["time_s"].to_numpy(), 0.1, sent) for _, part in lost.group_by("flow")
    )  # 0.1 s is about an RTT
    assert metrics.loss_event_rate(two) == pytest.approx(counted, rel=0.25)


def test_queueing_delay():
    # 1 to 100 ms, each once: the smallest with at least so many at or below
    found = metrics.queueing_delay(np.arange(1, 101) / 1e3).row(0, named=True)
    assert found == pytest.approx({"p50_s": 0.05, "p95_s": 0.095, "p99_s": 0.099, "max_s": 0.1})
    # a queue that is empty for 9 s and full for 1: most packets see it full, most moments do not
    found = metrics.queueing_delay([0.0, 0.2], [9.0, 1.0]).row(0, named=True)
    assert found == {"p50_s": 0.0, "p95_s": 0.2, "p99_s": 0.2, "max_s": 0.2}


def test_queueing_delay_of_a_result(two):
    table = metrics.queueing_delay(two)
    assert table["by"].to_list() == ["packet", "time"]
    assert table["max_s"][0] <= 20 * 1500 * 8 / 5e6 + 1500 * 8 / 5e6
    queued = two.packets.filter((pl.col("link") == "bottleneck") & (pl.col("time_s") >= 8))
    assert table["p50_s"][0] == pytest.approx(two.links.filter(pl.col("name") == "bottleneck")["sojourn_p50_s"][0])
    assert queued.height > 0
    # both look at the same queue, which is seldom empty here
    assert table["p50_s"][1] == pytest.approx(table["p50_s"][0], rel=0.15)


def test_rate_series(two):
    starts, rates = metrics.rate_series(two, 1.0)
    assert starts == pytest.approx(np.arange(20))
    assert rates.shape == (3, 20)
    assert rates[1, :5] == pytest.approx(0)
    delivered = two.flows.filter(pl.col("cc") != "udp")["delivered_bytes"].to_numpy()
    assert rates.sum(axis=1) / 8 == pytest.approx(delivered, rel=5e-3)
    after = rates[0, 8:].mean()
    assert after == pytest.approx(two.flows["goodput_bps"][0], rel=5e-3)
    variation = metrics.coefficient_of_variation(two, window_s=1.0)
    assert variation[0] == pytest.approx(np.std(rates[0, 8:]) / after)
    with pytest.raises(cclab.ResultError, match="apart"):
        metrics.rate_series(two, 0.001)


def test_coefficient_of_variation():
    assert metrics.coefficient_of_variation([[1, 1, 1], [1, 3, 2]]) == pytest.approx([0, math.sqrt(2 / 3) / 2])


def test_convergence_time():
    old = np.array([10, 9, 8, 7, 6, 5.5, 5.8, 5, 5, 5, 5, 5.0])
    rates = np.array([old, 10 - old])
    # within 20 % of 5: from the sixth window on (6 is just within: the fifth)
    assert metrics.convergence_time_s(rates) == 4
    assert metrics.convergence_time_s(rates, delta=0.1) == 7
    assert metrics.convergence_time_s(rates, k=9) == math.inf
    assert metrics.convergence_time_s(rates, fair=5.5) == 7
    assert metrics.convergence_time_s(rates, fair=7) == math.inf
    assert metrics.convergence_time_s(np.zeros((2, 20))) == math.inf
    assert metrics.convergence_time_s(rates, window_s=0.5) == 2
    assert metrics.censored([1, math.inf, 3, math.inf]) == 0.5


def test_convergence_of_a_result():
    scenario = cclab.Scenario(
        duration="60 s",
        network=cclab.Dumbbell(rate="4 Mbit/s", rtt="40 ms", queue={"limit": "1 BDP"}),
        flows=[cclab.Flow(cc="reno"), cclab.Flow(cc="reno", start="10.5 s")],
    )
    time = metrics.convergence_time_s(scenario.run(seed=1))
    assert 0 <= time < 50
    assert time == int(time)


def test_recovery_time():
    rising = [10, 12, 15, 17.9, 18, 21, 20]
    assert metrics.recovery_time_s(rising, 20) == pytest.approx(0.4)
    assert metrics.recovery_time_s([20, 15, 12, 11, 10], 10, window_s=1) == 3
    assert metrics.recovery_time_s([1, 1, 1], 20) == math.inf


def test_recovery_of_a_result():
    result = cclab.Scenario(
        duration="20 s",
        network=cclab.Dumbbell(rate="2 Mbit/s", rtt="40 ms", queue={"limit": "20 packets"},
                               schedule=[{"at": "10 s", "rate": "8 Mbit/s"}]),
        flows=[cclab.Flow(cc="reno")], record={"samples": "50 ms"},
    ).run(seed=1)  # fmt: skip
    # the pipe grows from 7 to 27 packets at one a round trip of 40 ms; the old queue of 20 fills some of it
    assert 0.05 <= metrics.recovery_time_s(result, 8e6 * 1448 / 1500, at_s=10) <= 1.5


def test_completion_times():
    sizes, times = [5e3, 2e4, 3e4, 2e6, 5e3], [0.1, 0.2, 0.4, 2.0, math.nan]
    table = metrics.fct_by_size(sizes, times)
    assert table.columns == ["size_from_bytes", "size_to_bytes", "n", "mean_s", "p50_s", "p95_s", "p99_s"]
    assert table["n"].to_list() == [1, 2, 0, 1, 0]
    assert table.row(1) == pytest.approx((1e4, 1e5, 2, 0.3, 0.2, 0.4, 0.4))
    assert math.isnan(table["mean_s"][2])


def test_completion_times_of_a_result(two):
    table = metrics.fct_by_size(two)
    assert table["n"].sum() == 1
    assert table["mean_s"][1] == two.flows["fct_s"][3]


def test_packet_intervals(two):
    assert metrics.packet_interval_s([0.0, 1.0, 3.0]) == pytest.approx(1.5)
    assert math.isnan(metrics.packet_interval_s([1.0]))
    # 500 kbit/s in packets of 1500 bytes: 24 ms, less those that are lost
    lost = two.packets.filter((pl.col("event") == "dropped") & (pl.col("flow") == "background")).height
    sent = 20 / 0.024
    assert metrics.packet_interval_s(two, ["background"]) == pytest.approx(0.024 * sent / (sent - lost), rel=0.01)
    assert metrics.packet_interval_s(two) < 0.024


def test_background_of_a_result():
    result = cclab.Scenario(
        duration="10 s",
        network=cclab.Dumbbell(rate="20 Mbit/s", rtt="20 ms", queue={"limit": "1 BDP"}),
        flows=[cclab.Flow(cc="reno")],
        background=[{"kind": "poisson", "load": "20%", "sizes": "20 kB", "cc": "reno"}],
    ).run(seed=1)
    table = metrics.fct_by_size(result)
    assert table["n"].sum() == result.background["fct_count"].sum() > 50
    assert table["mean_s"][0] == result.fct["fct_mean_s"][0]
    ratio = result.flows["throughput_bps"][0] / result.background["carried_bps"][0]
    assert metrics.utilisation_ratio(result) == pytest.approx(ratio)
