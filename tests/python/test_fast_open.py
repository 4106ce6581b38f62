"""TCP Fast Open: what a round trip less is worth, to the nanosecond (RFC 7413)."""

import pytest

import cclab

RATE = 10e6
RTT = 0.08
ACK = 40 + 12  # timestamps; a segment of data has the same headers
COOKIE = 12  # kind, length, eight bytes, padding


def fct(size: int, fast_open: bool) -> float:
    scenario = cclab.Scenario(
        duration="5 s",
        network=cclab.Dumbbell(rate=f"{RATE} bit/s", rtt=f"{RTT} s"),
        flows=[cclab.Flow(cc="reno", size=f"{size} B", fast_open=fast_open)],
    )
    return scenario.run().flows["fct_s"][0]


@pytest.mark.parametrize("size", [1, 500, 1408])
def test_a_transfer_that_fits_the_syn_ends_a_round_trip_earlier(size: int) -> None:
    """Apart from the round trip: the ACK of the SYN-ACK, the headers of the data and the ACK of it do not cross the link, a
    cookie does."""
    slow, fast = fct(size, False), fct(size, True)
    crossing = 8 * (ACK + ACK + ACK - COOKIE) / RATE
    assert slow - fast == pytest.approx(RTT + crossing, abs=1e-9)
