"""The medium access of IEEE 802.11 in closed form: how long an exchange takes, and what a full cell carries.

Sizes in bytes, rates in bit/s, times in seconds. A cell is saturated if each of its stations always has a packet to
send, all hear each other, and nothing is lost but by collision (Bianchi, JSAC 18(3), 2000).

>>> from cclab.theory import wireless
>>> tau, p = wireless.bianchi(10)
>>> round(tau, 5), round(p, 5)
(0.03731, 0.28977)
>>> round(wireless.saturation_bps(10, 1000) / 1e3, 1)
1454.1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

RTS_BYTES, CTS_BYTES, ACK_BYTES = 20, 14, 14


@dataclass(frozen=True)
class Dsss:
    """The DSSS PHY and its contention window (IEEE 802.11-1999, clause 15); as ns-2 sets it up unless said otherwise.

    Attributes:
        data_rate: Of data frames.
        basic_rate: Of RTS, CTS and ACK.
        header: Bytes of a data frame around its packet: 34 in ns-2, 28 in an ad hoc network as the standard has it.
        rts: Whether a data frame is announced by RTS and CTS.
        slot: Of the back-off.
        sifs: Short interframe space.
        preamble: Preamble and PLCP header.
        propagation: One way.
        window: W, slots of the first contention window.
        stages: m, how often it is doubled.
    """

    data_rate: float = 2e6
    basic_rate: float = 1e6
    header: int = 34
    rts: bool = True
    slot: float = 20e-6
    sifs: float = 10e-6
    preamble: float = 192e-6
    propagation: float = 1e-6
    window: int = 32
    stages: int = 5

    @property
    def difs(self) -> float:
        """SIFS and two slots."""
        return self.sifs + 2 * self.slot

    def control_s(self, size: int) -> float:
        """Time on the air of an RTS, CTS or ACK."""
        return self.preamble + 8 * size / self.basic_rate

    def data_s(self, packet: int) -> float:
        """Time on the air of a data frame around a packet."""
        return self.preamble + 8 * (packet + self.header) / self.data_rate

    def success_s(self, packet: int) -> float:
        """Ts, for which a packet that gets through keeps the air (Bianchi eq. 14 and 17)."""
        data = self.data_s(packet) + self.sifs + self.control_s(ACK_BYTES) + self.difs + 2 * self.propagation
        if not self.rts:
            return data
        announced = self.control_s(RTS_BYTES) + self.control_s(CTS_BYTES) + 2 * self.sifs
        return announced + 2 * self.propagation + data

    def collision_s(self, packet: int) -> float:
        """Tc, for which one that collides does (eq. 14 and 17)."""
        lost = self.control_s(RTS_BYTES) if self.rts else self.data_s(packet)
        return lost + self.difs + self.propagation

    def exchange_s(self, packet: int, backoff: float = 15) -> float:
        """All that one station alone needs for a packet, its mean back-off in slots included (ns-2: 15)."""
        flights = 4 if self.rts else 2
        return self.success_s(packet) - flights * self.propagation + backoff * self.slot


DSSS = Dsss()
"""2 Mbit/s over a basic rate of 1 Mbit/s, with RTS and CTS, and ns-2's header."""


def bianchi(n: int, phy: Dsss = DSSS, attempts: int | None = None) -> tuple[float, float]:
    """τ, the chance that a station sends in a slot, and p, that what it sends collides (eq. 7 and 9).

    Args:
        n: Stations.
        phy: W and m.
        attempts: So often a packet is sent at most; `None` is for ever, as in Bianchi's paper.
    """
    w, m = phy.window, phy.stages

    def sends(p: float) -> float:
        if attempts is None:
            return 2 / (1 + w + p * w * sum((2 * p) ** i for i in range(m)))
        weights = [p**i for i in range(attempts)]
        return float(sum(weights) / sum(c * (w * 2 ** min(i, m) + 1) / 2 for i, c in enumerate(weights)))

    p = _root(lambda p: 1 - (1 - sends(p)) ** (n - 1) - p)
    return sends(p), p


def saturation_bps(n: int, payload: int, phy: Dsss = DSSS, attempts: int | None = None) -> float:
    """S, the payload that n saturated stations get through together (eq. 13).

    Args:
        n: Stations.
        payload: Of a packet; what is around it is in `phy.header`.
        phy: Times and windows.
        attempts: As for `bianchi`.
    """
    tau, _ = bianchi(n, phy, attempts)
    some, one = 1 - (1 - tau) ** n, n * tau * (1 - tau) ** (n - 1)
    slot = (1 - some) * phy.slot + one * phy.success_s(payload) + (some - one) * phy.collision_s(payload)
    return one * 8 * payload / slot


def stop_and_wait_bps(hops: int, payload: int = 1460, headers: int = 40, phy: Dsss = DSSS) -> float:
    """Goodput of a TCP with a window of one segment over a chain: nothing but its packet, or its ACK, is under way."""
    return 8 * payload / (hops * (phy.exchange_s(payload + headers) + phy.exchange_s(headers)))


def _root(falls: Callable[[float], float]) -> float:
    """Where a falling function of [0, 1] is zero."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) > 0 else (low, middle)
    return low
