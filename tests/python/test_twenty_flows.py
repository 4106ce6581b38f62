"""How much twenty flows without ECN drop at five queues, beside ns-3.37 (an ACK for each packet, SACK, a timer of 1 s at least, one run)."""

from __future__ import annotations

import polars as pl
import pytest

import cclab

RED = {"discipline": "red", "limit": "160 packets", "min": "20 packets", "max": "60 packets", "weight": 0.002}
QUEUES = {
    "drop-tail": {"limit": "80 packets"},
    "RED": RED | {"max_p": "10%"},
    "adaptive RED": RED | {"max_p": "10%", "adaptive": True},
    "CoDel": {"discipline": "codel", "limit": "1000 packets"},
    "PIE": {"discipline": "pie", "limit": "1000 packets", "target": "15 ms"},
}
# In %: TcpNewReno, which halves what is in flight, and TcpLinuxReno, which halves the window.
NS3 = {
    "drop-tail": (1.75, 3.03),
    "RED": (2.34, 3.99),
    "adaptive RED": (2.22, 4.11),
    "CoDel": (3.32, 5.41),
    "PIE": (3.49, 6.18),
}


class HalvesFlight(cclab.CongestionControl):
    """Reno, whose loss leaves half of what was in flight after the last ACK, as ns-3's TcpNewReno does."""

    flight = 10.0

    def on_ack(self, ack):
        self.flight = ack.bytes_in_flight / 1448
        if ack.may_grow:
            self.cwnd_segments += ack.acked_segments / (1 if self.in_slow_start else self.cwnd_segments)

    def on_congestion(self, event):
        self.cwnd_segments = self.ssthresh_segments = max(self.flight / 2, 2)

    def on_timeout(self, event):
        if event.first:
            self.ssthresh_segments = max(self.flight / 2, 2)
        self.cwnd_segments = 1


def dropped(queue, **flow):
    """Share of the packets that came to the queue, in %."""
    flows = {"cc": "sack", "count": 20, "start_jitter": "1 s", "ack_every": 1, **flow}
    network = {"rate": "10 Mbit/s", "rtt": "100 ms", "queue": queue, "access": {"rate": "1 Gbit/s", "delay": "1 ms"}}
    times = {"duration": "100 s", "warmup": "20 s", "record": {"samples": "off"}}
    run = cclab.Scenario.from_dict({**times, "network": network, "flows": [flows]}).run()
    link = run.links.row(by_predicate=pl.col("name") == "bottleneck", named=True)
    return 100 * link["drops"] / link["arrived"]


@pytest.mark.parametrize("name", QUEUES)
def test_drops_lie_between_those_of_the_two_renos_of_ns3(name):
    """Without RACK, which ns-3 lacks; nearer to its NewReno when half of what is in flight is left, too."""
    cclab.register(HalvesFlight)
    rack = dropped(QUEUES[name], recovery="rack")
    sack = dropped(QUEUES[name], recovery="sack", rto_min="1 s")
    flight = dropped(QUEUES[name], recovery="sack", rto_min="1 s", cc="halves-flight")
    newreno, linux_reno = NS3[name]
    print(
        f"{name}: ns-3 {newreno} and {linux_reno}; rack {rack:.2f}, sack {sack:.2f}, half of the flight {flight:.2f} %"
    )
    assert newreno < flight < sack < rack < linux_reno
    assert flight / newreno < 1.15
