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

from collections.abc import Callable, Sequence
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

    @property
    def eifs(self) -> float:
        """SIFS, an ACK at 1 Mbit/s and DIFS: what follows a frame that nobody understood (§9.2.10)."""
        return self.sifs + self.preamble + 8 * ACK_BYTES / 1e6 + self.difs

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


@dataclass(frozen=True)
class Ofdm(Dsss):
    """The OFDM PHY of 802.11g among its like (IEEE 802.11-2012, clause 19).

    Attributes:
        extension: Behind each frame; 802.11a has none, and a SIFS of 16 µs.

    >>> round(Ofdm().data_s(1500) * 1e6), round(Ofdm().control_s(ACK_BYTES) * 1e6)
    (254, 34)
    """

    data_rate: float = 54e6
    basic_rate: float = 24e6
    header: int = 36
    rts: bool = False
    slot: float = 9e-6
    preamble: float = 20e-6
    window: int = 16
    stages: int = 6
    extension: float = 6e-6

    @property
    def eifs(self) -> float:
        """The same with an ACK at 6 Mbit/s."""
        return self.sifs + self._frame_s(ACK_BYTES, 6e6) + self.difs

    def control_s(self, size: int) -> float:
        """Time on the air of an RTS, CTS or ACK."""
        return self._frame_s(size, self.basic_rate)

    def data_s(self, packet: int) -> float:
        """Time on the air of a data frame around a packet."""
        return self._frame_s(packet + self.header, self.data_rate)

    def _frame_s(self, size: int, rate: float) -> float:
        symbols = -(-(16 + 8 * size + 6) // round(4e-6 * rate))  # of 4 µs
        return self.preamble + 4e-6 * symbols + self.extension


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


def cell_bps(cell: Sequence[Dsss], packet: int) -> float:
    """What each station of a saturated cell gets, in packets' bits: eq. 13 where stations have rates of their own.

    A collision lasts as long as the longest of its frames, and EIFS; Bianchi has DIFS there.

    >>> fast = Dsss(11e6, 2e6, 36, rts=False)
    >>> slow = Dsss(1e6, 1e6, 36, rts=False)
    >>> round(cell_bps([fast, fast], 1500) / 1e6, 2), round(cell_bps([fast, slow], 1500) / 1e6, 2)
    (3.27, 0.77)
    """
    n, phy = len(cell), cell[0]
    tau, _ = bianchi(n, phy)
    one = tau * (1 - tau) ** (n - 1)
    lost = sorted(station.collision_s(packet) - station.difs + station.eifs for station in cell)
    slot = (1 - tau) ** n * phy.slot + one * sum(station.success_s(packet) for station in cell)
    slot += sum(s * tau * (1 - tau) ** (n - 1 - k) * (1 - (1 - tau) ** k) for k, s in enumerate(lost))
    return one * 8 * packet / slot


def heusse_bps(n: int, packet: int, fast: Dsss, slow: Dsss) -> float:
    """What each of n saturated stations gets of which one is slow, in packets' bits (Heusse et al., 2003)."""
    window = fast.window - 1
    collision = 1 - (1 - 1 / window) ** (n - 1)
    contention = fast.slot * (1 + collision) / (2 * n) * window
    t_fast, t_slow = (phy.success_s(packet) - 2 * phy.propagation + contention for phy in (fast, slow))
    jam = 2 / n * t_slow + (1 - 2 / n) * t_fast
    return 8 * packet / ((n - 1) * t_fast + t_slow + n * collision * jam)


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
