"""Equilibria of coupled congestion controls: rates of a connection's subflows, and of connections that share links.

A fluid of each law: growth per acknowledged segment, g, balances what a loss takes, g = p d(w), for small p. Windows
are in segments, rates in segments per second, losses are shares, times in seconds.

>>> from cclab.theory import coupling
>>> wifi, cellular = 0.04, 0.01  # Wischik et al., NSDI 2011 §2.3
>>> coupling.rates("reno", [wifi, cellular], [0.010, 0.100]).round()
array([707., 141.])
>>> round(float(coupling.rates("lia", [wifi, cellular], [0.010, 0.100]).sum()))
707
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

Array = Any


def reno(p: Array, rtt_s: Array) -> Array:
    """√(2/p)/RTT each, uncoupled: 1/w = p w/2. Periodic loss gives √(3/2), random loss 1.31 in place of √2."""
    return np.sqrt(2 / np.asarray(p, float)) / np.asarray(rtt_s, float)


def lia(p: Array, rtt_s: Array) -> Array:
    """min(g, 1/w) = p w/2, g = max(w/RTT²)/(Σ w/RTT)² (RFC 6356): w as 1/p, the total that of Reno on the best path.

    Where the limit of 1/w holds, a subflow has Reno's window, and the total is less.
    """
    p, rtt = np.asarray(p, float), np.asarray(rtt_s, float)

    def windows(g: float) -> Array:
        return np.minimum(2 * g / p, np.sqrt(2 / p))

    def excess(g: float) -> float:
        w = windows(g)
        return float((w / rtt**2).max() / (w / rtt).sum() ** 2) - g

    # as g rises windows rise, and what they ask for falls
    return windows(_root(lambda g: -excess(g), 1e-12, 1.0)) / rtt


def olia(p: Array, rtt_s: Array, sharpness: float = 64.0) -> Array:
    """All on the best paths, the total that of Reno there (Khalili et al. 2012, theorem 1).

    Near ties are split as (p RTT²)^-sharpness, which has one solution in a network, too; the law is its limit.
    """
    q = np.asarray(p, float) * np.asarray(rtt_s, float) ** 2
    share = (q.min() / q) ** sharpness
    return math.sqrt(2 / q.min()) * share / share.sum()


def balia(p: Array, rtt_s: Array) -> Array:
    """x (1 + A)(4 + A)/(10 RTT (Σ x)²) = p w min(A, 1.5)/2, A = max x/x (draft-walid §3); the total is Reno's, too.

    With q = p RTT² over that of the best path, A² + 5 A + 4 = 15 q where A > 1.5. Below that the law has no stable
    point: of two almost equal paths one has 1/2.65 of the traffic, and they trade places. Here A rises to that branch
    as q goes from 1 to 1.1, so that equal paths have equal rates, as they have in time, and a network can be solved.
    """
    q = np.asarray(p, float) * np.asarray(rtt_s, float) ** 2
    ratio = q / q.min()
    a = (-5 + np.sqrt(9 + 60 * ratio)) / 2
    x = 1 / np.where(ratio < _JOIN, 1 + (a - 1) * (ratio - 1) / (_JOIN - 1), a)
    return math.sqrt(2 / q.min()) * x / x.sum()


_JOIN = 1.1

RATES: Mapping[str, Callable[[Array, Array], Array]] = MappingProxyType(
    {"reno": reno, "lia": lia, "olia": olia, "balia": balia}
)
"""Rates of the subflows by the name of the coupling, of the losses and RTTs of their paths. `reno` is uncoupled."""


def rates(law: str, p: Sequence[float], rtt_s: Sequence[float]) -> Array:
    """Rates of the subflows of one connection, in segments per second.

    Args:
        law: A name in `RATES`.
        p: Loss of each path, above 0 and at most 1.
        rtt_s: RTT of each path, above 0.

    Raises:
        ValueError: no formula for this law; a loss or an RTT beyond these, or not as many of the one as of the other.
    """
    fluid = _fluid(law)
    if len(p) != len(rtt_s) or not len(p):
        raise ValueError(f"p, rtt_s: {len(p)} losses and {len(rtt_s)} RTTs; one of each for every path")
    if wrong := [loss for loss in p if not 0 < loss <= 1]:
        raise ValueError(f"p: {wrong[0]} is not a loss above 0 and at most 1")
    if wrong := [rtt for rtt in rtt_s if not 0 < rtt < math.inf]:
        raise ValueError(f"rtt_s: {wrong[0]} is not a time above 0")
    return fluid(p, rtt_s)


def _fluid(law: str) -> Callable[[Array, Array], Array]:
    if law not in RATES:
        raise ValueError(f"law: {law!r} has no equilibrium here; there are {', '.join(RATES)}")
    return RATES[law]


@dataclass(frozen=True)
class Equilibrium:
    """Connections that share links.

    Attributes:
        rates: Segments per second of each subflow, by connection.
        loss: The loss at each link that makes them fit.
    """

    rates: list[Array]
    loss: Array

    def totals(self) -> Array:
        """Segments per second of each connection."""
        return np.array([x.sum() for x in self.rates])


def equilibrium(
    law: str, connections: Sequence[Sequence[Sequence[int]]], capacity: Sequence[float], rtt_s: float,
) -> Equilibrium:  # fmt: skip
    """Rates of connections of one law whose paths share links of given capacity, all RTTs equal.

    Each link loses just so much that what the subflows send through it fits. (Buffers that are shared by flows of
    unlike windows do not lose each in proportion, and queues make RTTs: the fluid knows neither.)

    Args:
        law: A name in `RATES`.
        connections: For each connection its paths, for each path the numbers of its links.
        capacity: Segments per second of each link; a link that none of the paths fills is a `ValueError`.
        rtt_s: Round-trip time.

    >>> ring = [[(0,), (1,)], [(1,), (2,)], [(2,), (0,)]]
    >>> equilibrium("reno", ring, [1200, 1000, 800], 0.1).totals().round()
    array([1100.,  900., 1000.])
    """
    caps = np.asarray(capacity, float)
    paths = [[np.array(path) for path in paths] for paths in connections]
    p = 2 / (caps * rtt_s) ** 2  # of one Reno alone
    fluid = _fluid(law)

    def load(p: Array) -> tuple[list[Array], Array]:
        x = [fluid([float(p[path].sum()) for path in own], [rtt_s] * len(own)) for own in paths]
        through = np.zeros_like(caps)
        for own, rate in zip(paths, x, strict=True):
            for path, r in zip(own, rate, strict=True):
                through[path] += r
        return x, through

    # OLIA's split jumps where two paths change places: small steps
    step = 0.02 if law == "olia" else 0.2
    for _ in range(20_000):
        x, through = load(p)
        if np.abs(through / caps - 1).max() < 1e-4:
            return Equilibrium(x, p)
        p = p * (np.maximum(through, 1e-9) / caps) ** step
    raise ValueError(f"capacity: no losses make {law} fill these links: {(through / caps).round(3)} of them is used")


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return math.sqrt(low * high)
