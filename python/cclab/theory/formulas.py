"""Closed formulas: throughput equations, response functions, the latency of short flows.

Numbers in, numbers out; arrays in, arrays out. p is the share of packets that are loss events, windows are in segments,
rates in segments per second unless the name ends in `_bps`, times in seconds.

>>> from cclab import formulas
>>> round(float(formulas.mathis(0.01, rtt_s=0.1)), 1)
122.5
>>> round(float(formulas.to_bps(formulas.pftk(0.01, rtt_s=0.1, b=2), mss_bytes=1460)) / 1e6, 3)
0.812
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

Numbers = Any
"""A number or an array of numbers; results have the shape of what went in."""

MATHIS_C: Mapping[tuple[str, int], float] = MappingProxyType(
    {("periodic", 1): math.sqrt(3 / 2), ("periodic", 2): math.sqrt(3 / 4), ("random", 1): 1.31, ("random", 2): 0.93}
)
"""C by kind of loss and packets per ACK: derived for periodic loss; for random loss as Mathis et al. (1997) give it."""


def to_bps(segments_per_s: Numbers, mss_bytes: float = 1460) -> Numbers:
    """A rate of payload in bit/s."""
    return np.asarray(segments_per_s) * (8 * mss_bytes)


# --- Throughput equations -----------------------------------------------------------------------------------------


def mathis(p: Numbers, rtt_s: Numbers, c: float = math.sqrt(3 / 2)) -> Numbers:
    """C / (RTT √p) segments per second (Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997); C from `MATHIS_C`."""
    return c / (np.asarray(rtt_s) * np.sqrt(p))


def pftk_window(p: Numbers, b: float = 1) -> Numbers:
    """E[W], the mean window at the end of a loss-free period, in segments (Padhye et al., ToN 8(2), 2000, eq. 13)."""
    p, k = np.asarray(p, float), (2 + b) / (3 * b)
    with np.errstate(divide="ignore"):
        return k + np.sqrt(8 * (1 - p) / (3 * b * p) + k * k)


def pftk_timeout_share(p: Numbers, w: Numbers, *, cottrell: bool = False) -> Numbers:
    """Q̂(w), the probability that a loss in a window of w ends in a timeout (eq. 22).

    Args:
        p: Loss event rate.
        w: Window, in segments.
        cottrell: As it circulates on the web, a bracket in the wrong place: only to draw figures that were made so.
    """
    q, w = 1 - np.asarray(p, float), np.asarray(w, float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        beyond = 1 - q ** (w - 3)
        several = (1 + q**3) * beyond if cottrell else 1 + q**3 * beyond
        share = (1 - q**3) * several / (1 - q**w)
        return np.where(w <= 3, 1.0, np.minimum(1.0, np.where(p == 0, 3 / w, share)))


def pftk(
    p: Numbers, rtt_s: Numbers, rto_s: Numbers = 1.0, b: float = 1, w_max: float = math.inf, *,
    approximate: bool = False, cottrell: bool = False,
) -> Numbers:  # fmt: skip
    """Rate in segments per second with timeouts and a receiver's limit (Padhye et al., ToN 8(2), 2000, eq. 30 and 33).

    Args:
        p: Loss event rate; 0 gives w_max / RTT.
        rtt_s: Round-trip time.
        rto_s: T0, the first timeout of a series.
        b: Packets per ACK.
        w_max: Largest window of the receiver, in segments.
        approximate: Eq. 33 instead of the full model.
        cottrell: The full model with the misplaced bracket of `pftk_timeout_share`.
    """
    p, rtt, rto = np.asarray(p, float), np.asarray(rtt_s, float), np.asarray(rto_s, float)
    limit = w_max / rtt
    with np.errstate(divide="ignore", invalid="ignore"):
        if approximate:
            timeouts = rto * np.minimum(1, 3 * np.sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
            return np.minimum(limit, 1 / (rtt * np.sqrt(2 * b * p / 3) + timeouts))
        free = pftk_window(p, b)
        w = np.minimum(free, w_max)
        share = pftk_timeout_share(p, w, cottrell=cottrell)
        sent = (1 - p) / p + w + share / (1 - p)
        growing, flat = b / 2 * free + 1, b / 8 * w_max + (1 - p) / (p * w_max) + 2
        rounds = np.where(free < w_max, growing, flat)
        rate = sent / (rtt * rounds + share * _backoff(p) * rto / (1 - p))
    return np.where(p == 0, limit, rate)


def _backoff(p: Any) -> Any:
    """Mean length of a series of timeouts in T0, times 1 − p: doubled six times (eq. 29)."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6


def tfrc(p: Numbers, rtt_s: Numbers, b: float = 1, rto_s: Numbers | None = None) -> Numbers:
    """X in segments per second (RFC 5348 §3.1): PFTK's approximation without its minimum, T0 = 4 RTT unless given."""
    p, rtt = np.asarray(p, float), np.asarray(rtt_s, float)
    rto = 4 * rtt if rto_s is None else np.asarray(rto_s, float)
    return 1 / (rtt * np.sqrt(2 * b * p / 3) + rto * 3 * np.sqrt(3 * b * p / 8) * p * (1 + 32 * p**2))


def pinger_bps(p: Numbers, rtt_s: Numbers, mss_bytes: float = 1460, sent: Numbers | None = None) -> Numbers:
    """PingER's derived throughput, MSS / (RTT √p) bit/s: Mathis with C = 1 (L. Cottrell, SLAC).

    Args:
        p: Share of pings lost.
        rtt_s: Mean or smallest RTT of the pings.
        mss_bytes: Payload of a segment.
        sent: Number of pings: p is taken as at least half a ping, 1 / (2 sent).
    """
    least = 0.0 if sent is None else 0.5 / np.asarray(sent, float)
    with np.errstate(divide="ignore"):
        return to_bps(mathis(np.maximum(p, least), rtt_s, c=1.0), mss_bytes)


def rtt_of_distance_s(distance_km: Numbers) -> Numbers:
    """Smallest RTT over a distance in fibre: 2.5 ms for each 100 km (PingER: 0.6 c, by a way that is not straight)."""
    return np.asarray(distance_km, float) / 100 * 2.5e-3


def normalised_bps(derived_bps: Numbers, min_rtt_s: Numbers, reference_rtt_s: Numbers) -> Numbers:
    """Derived throughput times min RTT / the reference's min RTT: what is left when distance is taken out (PingER)."""
    return np.asarray(derived_bps, float) * min_rtt_s / reference_rtt_s


def improved(p: Numbers, per_month: Numbers, months: Numbers) -> Numbers:
    """p (1 − r)^months: a loss rate that falls by the share r each month (PingER's projection)."""
    return np.asarray(p, float) * (1 - np.asarray(per_month, float)) ** months


def largest_loss(rate: Callable[[Any], Any], wanted: Numbers, least: float = 1e-12, most: float = 0.5) -> Numbers:
    """The largest p from `least` to `most` at which `rate(p)`, which falls with p, still gives `wanted`.

    NaN where not even `least` does, so that something else than loss is in the way. To 12 digits, by bisection.

    >>> p = largest_loss(lambda p: to_bps(pftk(p, rtt_s=0.08)), wanted=100e6)
    >>> f"{float(p):.2g}"
    '3.2e-06'
    """
    wanted = np.asarray(wanted, float)
    shape = np.broadcast_shapes(wanted.shape, np.shape(rate(np.full_like(wanted, least))))
    low, high = np.full(shape, math.log(least)), np.full(shape, math.log(most))
    possible, always = rate(np.exp(low)) >= wanted, rate(np.exp(high)) >= wanted
    for _ in range(60):
        middle = (low + high) / 2
        enough = rate(np.exp(middle)) >= wanted
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return np.where(possible, np.where(always, most, np.exp(low)), math.nan)


# --- Response functions: mean window against loss rate ---------------------------------------------------------------


def reno(p: Numbers, b: float = 1) -> Numbers:
    """√(3 / 2b) / √p segments (Mathis et al. 1997), b packets per ACK."""
    return math.sqrt(3 / (2 * b)) / np.sqrt(p)


# RFC 3649 §5: the line through (10⁻³, 38) and (10⁻⁷, 83000) in logarithms; the RFC rounds it to 0.12 / p^0.835.
_LOW_WINDOW, _HIGH_WINDOW, _LOW_P, _HIGH_P, _HIGH_DECREASE = 38.0, 83000.0, 1e-3, 1e-7, 0.1
_S = math.log(_HIGH_WINDOW / _LOW_WINDOW) / math.log(_HIGH_P / _LOW_P)


def hstcp(p: Numbers, *, rounded: bool = True) -> Numbers:
    """0.12 / p^0.835 segments where p < 10⁻³, Reno elsewhere (RFC 3649 §5); exact constants if not `rounded`."""
    p = np.asarray(p, float)
    fast = 0.12 / p**0.835 if rounded else _LOW_WINDOW * (p / _LOW_P) ** _S
    return np.where(p < _LOW_P, fast, reno(p))


def hstcp_decrease(w: Numbers) -> Numbers:
    """b(w), the share of the window that a loss takes (RFC 3649 §5)."""
    ratio = np.log(np.asarray(w, float) / _LOW_WINDOW) / math.log(_HIGH_WINDOW / _LOW_WINDOW)
    return np.where(np.asarray(w) <= _LOW_WINDOW, 0.5, (_HIGH_DECREASE - 0.5) * ratio + 0.5)


def hstcp_increase(w: Numbers) -> Numbers:
    """a(w), segments per RTT: w² p(w) 2 b/(2 − b), at least 1 (RFC 3649 §5).

    p(w) is 1 / (12.8 w^1.2), with which the RFC made its table; its text rounds that to 0.078 / w^1.2.
    """
    w, b = np.asarray(w, float), hstcp_decrease(w)
    return np.where(w <= _LOW_WINDOW, 1.0, np.maximum(1.0, w * w / (12.8 * w**1.2) * 2 * b / (2 - b)))


def scalable(p: Numbers, a: float = 0.01, b: float = 0.125) -> Numbers:
    """a / (b p) segments: 0.08 / p (T. Kelly, CCR 33(2), 2003), where a gain of a per ACK and a loss of b W balance."""
    return a / (b * np.asarray(p, float))


def cubic(p: Numbers, rtt_s: Numbers, c: float = 0.4, beta: float = 0.7, *, reno_friendly: bool = True) -> Numbers:
    """(C (3 + β) / (4 (1 − β)))^¼ (RTT / p)^¾ segments, or Reno's if larger (RFC 9438 §5 and §5.1)."""
    p = np.asarray(p, float)
    w = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (np.asarray(rtt_s, float) / p) ** 0.75
    return np.maximum(w, reno(p)) if reno_friendly else w


def ctcp(p: Numbers, alpha: float = 0.125, beta: float = 0.5, k: float = 0.75) -> Numbers:
    """0.2553 / p^0.8 segments of Compound TCP without queueing: the sawtooth of dW/dRTT = α W^k, W → (1 − β) W."""
    # 1/p = W^(2−k) (1 − (1−β)^(2−k)) / (α (2−k)) packets in W^(1−k) (1 − (1−β)^(1−k)) / (α (1−k)) round trips
    packets = 1 / np.asarray(p, float)
    top = (packets * alpha * (2 - k) / (1 - (1 - beta) ** (2 - k))) ** (1 / (2 - k))
    return packets / (top ** (1 - k) * (1 - (1 - beta) ** (1 - k)) / (alpha * (1 - k)))


def dctcp(p: Numbers) -> Numbers:
    """2 / p segments, p the share of marked packets: one more per RTT balances W α/2 with α = p (RFC 8257)."""
    return 2 / np.asarray(p, float)


def htcp(p: Numbers, rtt_s: float, beta: float = 0.5) -> Numbers:
    """Mean window of H-TCP under periodic loss, in segments, without its RTT scaling (Leith & Shorten, PFLDnet 2004).

    T seconds after a loss W has gained 2 (1 − β) A(T) / RTT, A the integral of α(Δ); in the steady state that is
    (1 − β) W. So T gives W and the packets sent, and is solved for 1/p packets.
    """
    d = np.concatenate([[0.0], np.geomspace(1e-4, 1e5, 8192)])
    alpha = np.where(d <= 1, 1.0, 1 + 10 * (d - 1) + ((d - 1) / 2) ** 2)
    gained = _integral(alpha, d)
    top = 2 * gained / rtt_s
    packets = (beta * top * d + 2 * (1 - beta) / rtt_s * _integral(gained, d)) / rtt_s
    wanted = 1 / np.asarray(p, float)
    seconds = np.exp(np.interp(np.log(wanted), np.log(packets[1:]), np.log(d[1:])))
    return wanted * rtt_s / seconds


def _no_bic(*_: Any) -> Numbers:
    raise ValueError("bic has no closed response function: its search depends on the last two maxima; simulate it")


RESPONSES: Mapping[str, Callable[[Numbers, float], Numbers]] = MappingProxyType(
    {
        **{name: lambda p, _rtt: reno(p) for name in ("reno", "tahoe", "newreno", "sack")},
        "hstcp": lambda p, _rtt: hstcp(p),
        "scalable": lambda p, _rtt: scalable(p),
        "cubic": cubic,
        "compound": lambda p, _rtt: ctcp(p),
        "dctcp": lambda p, _rtt: dctcp(p),
        "htcp": htcp,
        "bic": _no_bic,
    }
)
"""Mean window (segments) by the name of the law, of p and the RTT in seconds, an ACK for each packet."""


# --- Periodic loss: every 1/p-th packet, from the laws themselves ----------------------------------------------------


@dataclass(frozen=True)
class Sawtooth:
    """A law that depends on the window alone.

    Attributes:
        per_ack: What W gains for each segment acknowledged.
        decrease: The share of W that a loss takes.
    """

    per_ack: Callable[[Numbers], Numbers]
    decrease: Callable[[Numbers], Numbers]


def scalable_sawtooth(
    a: float = 0.01, b: float = 0.125, legacy_window: float = 16.0, *, legacy_halving: bool = True
) -> Sawtooth:
    """Scalable TCP, within its legacy window a Reno (T. Kelly 2003 §4); Linux: up to 100 segments, without halving."""
    return Sawtooth(
        lambda w: np.where(w <= legacy_window, 1 / w, a),
        lambda w: np.where(legacy_halving & (w <= legacy_window), 0.5, b),
    )


SAWTEETH: Mapping[str, Sawtooth] = MappingProxyType(
    {
        "reno": Sawtooth(lambda w: 1 / w, lambda w: np.full_like(w, 0.5)),
        "hstcp": Sawtooth(lambda w: hstcp_increase(w) / w, hstcp_decrease),
        "scalable": scalable_sawtooth(),
        "compound": Sawtooth(lambda w: np.where(w < 38, 1 / w, 0.125 * w**-0.25), lambda w: np.full_like(w, 0.5)),
    }
)
"""The laws of `periodic` that depend on the window alone; CUBIC has the time too."""


def periodic(law: str | Sawtooth, p: Numbers, rtt_s: float = 0.1, *, tcp: bool = True, **given: Any) -> Numbers:
    """Mean window, in segments sent per RTT, when every 1/p-th packet is lost and every packet is acknowledged.

    The sawtooth is summed from one loss to the next until it repeats or, where it does not, over many cycles. Where
    it may repeat in two ways (Scalable about its legacy window), it is the way that is reached from large windows.

    Args:
        law: A `Sawtooth`, a name in `SAWTEETH`, or `"cubic"`.
        p: Share of packets lost.
        rtt_s: Constant round-trip time; only CUBIC depends on it.
        tcp: As a TCP sends it: whole segments (half of one less than W, on average), and a round trip of recovery
            at the reduced window after each loss, in which W does not grow. If false, the fluid of the textbooks.
        **given: Of CUBIC: `c`, `beta`, `reno_friendly`. Its cycle has each loss at W_max, so that fast convergence has
            no say.
    """
    packets = 1 / np.atleast_1d(np.asarray(p, float))
    if law == "cubic":
        mean = _cubic_periodic(packets, rtt_s, tcp, **given)
    elif (sawtooth := SAWTEETH.get(law) if isinstance(law, str) else law) is not None and not given:
        mean = _sawtooth_periodic(sawtooth, packets, tcp)
    else:
        known = ", ".join([*SAWTEETH, "cubic"])
        raise ValueError(f"law: {law!r} with {given} has no periodic response here; known: {known} (options: cubic's)")
    return mean.reshape(np.shape(p))


_SLACK = 0.5  # of a segment: what a window of W leaves unused on average, as only whole segments are sent
_GRID = np.geomspace(1.0, 1e8, 8192)  # windows
_CYCLES = 128


def _sawtooth_periodic(law: Sawtooth, packets: Any, tcp: bool) -> Any:
    unused, recovery = (_SLACK, 1.0) if tcp else (0.0, 0.0)
    acks = _integral(1 / law.per_ack(_GRID), _GRID)  # to grow from 1 to w
    rounds = _integral(1 / (law.per_ack(_GRID) * (_GRID - unused)), _GRID)
    top, spent = 4 * reno(1 / packets), []
    for _ in range(_CYCLES):
        low = np.maximum(top * (1 - law.decrease(top)), 2.0)
        before, top = top, np.interp(np.interp(low, _GRID, acks) + packets - recovery * (low - unused), acks, _GRID)
        spent.append(recovery + np.interp(top, _GRID, rounds) - np.interp(low, _GRID, rounds))
        if np.allclose(top, before, rtol=1e-12, atol=0):
            return packets / spent[-1]
    return packets / np.mean(spent[_CYCLES // 2 :], axis=0)


def _cubic_periodic(
    packets: Any, rtt_s: float, tcp: bool, c: float = 0.4, beta: float = 0.7, reno_friendly: bool = True
) -> Any:
    """The cycle that ends at the window where it began; iterating would come near it only as 1/n over n cycles."""
    unused, recovery = (_SLACK, 1.0) if tcp else (0.0, 0.0)
    alpha = 3 * (1 - beta) / (1 + beta)
    share = np.linspace(0, 1, 513)

    def cycle(top: Any) -> tuple[Any, Any]:
        """From a loss at `top`, which is W_max, to the next: the window there, and the time it took, in seconds."""
        low = np.maximum(beta * top, 2.0)
        w_max = np.maximum(top, low)
        left = packets - recovery * (low - unused)
        t = share * (left * rtt_s / (low - unused))[:, None]  # W never falls below `low`: it takes no longer
        k = np.cbrt((w_max - low) / c)[:, None]
        w = c * (t - k) ** 3 + w_max[:, None]
        if reno_friendly:
            regained = ((top - low) * rtt_s / alpha)[:, None]
            w = np.maximum(w, low[:, None] + (alpha * np.minimum(t, regained) + np.maximum(t - regained, 0)) / rtt_s)
        sent = np.zeros_like(w)
        np.cumsum((w[:, 1:] + w[:, :-1]) / 2 - unused, axis=1, out=sent[:, 1:])
        sent *= (t[:, 1] / rtt_s)[:, None]
        at = np.array([np.interp(want, row, share) for want, row in zip(left, sent, strict=True)])
        end = np.array([np.interp(s, share, row) for s, row in zip(at, w, strict=True)])
        return end, at * t[:, -1] + recovery * rtt_s

    low, high = np.full_like(packets, 2.0), 4 * cubic(1 / packets, rtt_s, c, beta) + 10
    for _ in range(60):
        top = np.sqrt(low * high)
        up = cycle(top)[0] > top
        low, high = np.where(up, top, low), np.where(up, high, top)
    return packets * rtt_s / cycle(top)[1]


def _integral(y: Any, x: Any) -> Any:
    return np.concatenate([[0.0], np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(x))])


def aimd_convergence_rtts(capacity: float, delta: float = 0.1, a: float = 1.0, beta: float = 0.5) -> int:
    """Round trips that two synchronised AIMD flows need from shares 100/101 and 1/101 to (1 ± δ)/2 (RFC 5166)."""
    big, small, rounds = capacity * 100 / 101, capacity / 101, 0
    while small < (1 - delta) / 2 * (big + small):
        if big + small >= capacity:
            big, small = beta * big, beta * small
        big, small, rounds = big + a, small + a, rounds + 1
    return rounds


# --- Short flows -----------------------------------------------------------------------------------------------------


def transfer_rounds(segments: int, initial_window: int = 10) -> int:
    """Round trips of a loss-free transfer whose window doubles each time."""
    rounds, window = 0, initial_window
    while segments > 0:
        segments, window, rounds = segments - window, 2 * window, rounds + 1
    return rounds


def latency_s(
    segments: float, p: float, rtt_s: float, rto_s: float = 1.0, b: float = 1, initial_window: float = 10,
    w_max: float = math.inf,
) -> float:  # fmt: skip
    """Mean time of a transfer without its handshake (Cardwell, Savage, Anderson, INFOCOM 2000).

    Slow start, the first loss, then PFTK's rate for the rest; the penalty of a delayed first ACK is left out.
    """
    growth = 1 + 1 / b
    started = segments if p == 0 else min(segments, (1 - (1 - p) ** segments) * (1 - p) / p + 1)
    window = started * (growth - 1) / growth + initial_window / growth
    if window <= w_max:
        rounds = math.log(started * (growth - 1) / initial_window + 1, growth)
    else:
        reached = (growth * w_max - initial_window) / (growth - 1)
        rounds = math.log(w_max / initial_window, growth) + 1 + (started - reached) / w_max
    if p == 0:
        return rtt_s * rounds
    share = float(pftk_timeout_share(p, min(window, w_max)))
    loss = (1 - (1 - p) ** segments) * (share * _backoff(p) * rto_s / (1 - p) + (1 - share) * rtt_s)
    rest = (segments - started) / float(pftk(p, rtt_s, rto_s, b, w_max))
    return float(rtt_s * rounds + loss + rest)


def handshake_s(p: float, rtt_s: float, rto_s: float = 1.0) -> float:
    """Mean time of a handshake with loss p each way, p < 1/2; `rto_s` is the first timeout of a SYN, doubled each time.

    Raises:
        ValueError: p is 1/2 or more: the mean is infinite.
    """
    if not 0 <= p < 0.5:
        raise ValueError(f"p: {p} is not from 0 to below 0.5; the mean handshake is infinite there")
    return rtt_s + rto_s * (2 * (1 - p) / (1 - 2 * p) - 2)
