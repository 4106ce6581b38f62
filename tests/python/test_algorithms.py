"""Laws stepped by hand, against figures from their RFCs."""

import pytest

import cclab
from cclab import algorithms


def test_reno_doubles_then_adds_one_per_window():
    # RFC 5681 §3.1, equations (2) and (3)
    reno = algorithms.step("reno", mss=1000, initial_window=2)
    for _ in range(2):
        reno.on_ack(acked_bytes=1000, rtt_s=0.1)
    assert reno.cwnd_segments == 4
    reno.on_congestion(flight_size=4000)
    reno.on_recovered()
    assert reno.ssthresh_bytes == 2000
    assert reno.cwnd_segments == 2
    reno.on_ack(acked_bytes=1000, rtt_s=0.1)
    reno.on_ack(acked_bytes=1000, rtt_s=0.1)
    assert reno.cwnd_segments == pytest.approx(3, abs=0.26)


def test_cubic_leaves_seven_tenths():
    cubic = algorithms.step("cubic", mss=1000, initial_window=100, flavour="paper", hystart="off")
    cubic.on_congestion(now_s=1.0)
    cubic.on_recovered()
    assert cubic.cwnd_segments == pytest.approx(70, rel=0.01)  # RFC 9438 §4.6


@pytest.mark.parametrize("name", algorithms.names())
def test_every_algorithm_can_be_stepped(name):
    law = algorithms.step(name)
    law.on_established(now_s=0.0, srtt_s=0.1)
    for i in range(50):
        law.on_ack(now_s=0.1 * i, rtt_s=0.1)
    law.on_congestion()
    law.on_recovered()
    law.on_undo()
    law.on_timeout()
    law.on_recovered(phase="loss")
    law.on_restart()
    law.on_idle(idle_s=3.0)
    assert law.cwnd_segments >= 1
    assert isinstance(law.signals(), dict)
    assert law.pacing_rate_bps is None or law.pacing_rate_bps > 0
    assert name in repr(law)


def test_mistakes():
    with pytest.raises(cclab.UnknownNameError, match='did you mean "cubic"'):
        algorithms.step("cubik")
    with pytest.raises(cclab.ScenarioError, match="betta"):
        algorithms.step("cubic", betta=1)
    with pytest.raises(cclab.ScenarioError, match=r"0\.95"):
        algorithms.step("cubic", beta=3)
    with pytest.raises(cclab.UnknownNameError, match="linux, paper"):
        algorithms.step("cubic", flavour="bsd")
    reno = algorithms.step("reno")
    with pytest.raises(TypeError, match=r'unknown field "rtt"; allowed: .*rtt_s'):
        reno.on_ack(rtt=0.1)
    with pytest.raises(TypeError, match="delivered_bytes"):
        reno.on_ack(delivered_bytes="many")
    with pytest.raises(cclab.ScenarioError, match="rtt_s"):
        reno.on_ack(rtt_s=-1.0)
    with pytest.raises(cclab.UnknownNameError, match="loss, ecn, tail-loss"):
        reno.on_congestion(signal="doom")
    with pytest.raises(cclab.ScenarioError, match="all of them or none"):
        reno.on_ack(one_way_seq=1, one_way_sent_s=0.1)
    reno.on_ack(one_way_seq=1, one_way_sent_s=0.1, one_way_arrived_s=0.2)


@pytest.mark.parametrize("name", ["mss", "initial_window"])
@pytest.mark.parametrize("value", [0, -5, 1.5, "x", 1 << 40])
def test_sizes_that_are_none(name, value):
    with pytest.raises(cclab.ScenarioError, match=f"{name}: .* is not a whole number from 1"):
        algorithms.step("reno", **{name: value})
