"""What links follow: opportunities to deliver, or rate and delay over time. Read, measured, and made up by models."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab.errors import ScenarioError, UnknownNameError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS = 1500 * 8
"""Of one opportunity."""
MOST = 7_000_000
"""Opportunities that a model makes up: in lines of at most nine bytes as many as are read again."""


@dataclass(frozen=True)
class Trace:
    """What a trace says.

    Attributes:
        at_ms: Opportunities of a period, in ms, where it has any; the last one ends it.
        from_s: Otherwise times from which on rates and delays hold.
        rates_bps: Rates, where it says them.
        delays_s: Delays, where it says them.
    """

    at_ms: NDArray[Any] | None = None
    from_s: NDArray[Any] | None = None
    rates_bps: NDArray[Any] | None = None
    delays_s: NDArray[Any] | None = None

    @property
    def length_s(self) -> float:
        """A period, or the time of the last change."""
        if self.at_ms is not None:
            return float(self.at_ms[-1]) / 1e3
        assert self.from_s is not None
        return float(self.from_s[-1])

    def bits(self, until_s: NDArray[Any]) -> NDArray[Any]:
        """What the link could have sent before these times."""
        t = np.asarray(until_s, float)
        if self.at_ms is not None:
            period, n = int(self.at_ms[-1]), len(self.at_ms)
            ms = np.ceil(np.round(t * 1e3, 6)) - 1  # the last whole one before
            return BITS * np.where(ms < 0, 0, ms // period * n + np.searchsorted(self.at_ms, ms % period, "right"))
        if self.from_s is None or self.rates_bps is None:
            raise ScenarioError("a trace without rates says nothing of what a link could send")
        sent = np.concatenate([[0.0], np.cumsum(np.diff(self.from_s) * self.rates_bps[:-1])])
        step = np.searchsorted(self.from_s, t, "right") - 1
        return np.asarray(sent[step] + (t - self.from_s[step]) * self.rates_bps[step])

    def capacity_bps(self, edges_s: NDArray[Any]) -> NDArray[Any]:
        """Mean capacity between neighbouring times."""
        return np.asarray(np.diff(self.bits(edges_s)) / np.diff(edges_s))

    def _mean_bps(self, end: float) -> float:
        if self.at_ms is not None:  # the last one belongs to the period
            return len(self.at_ms) * BITS / end
        return float(self.capacity_bps(np.array([0.0, end]))[0])

    def about(self) -> dict[str, Any]:
        """Its length, mean, extremes over seconds and outages, in SI units.

        An outage is a time of more than 100 ms without an opportunity, or of a rate of 0; one at the end lasts to the
        end of the trace.
        """
        found: dict[str, Any] = {
            "kind": "changes" if self.at_ms is None else "opportunities",
            "length_s": self.length_s,
            "entries": len(self.at_ms if self.at_ms is not None else self.from_s),  # type: ignore[arg-type]
        }
        if self.at_ms is not None or self.rates_bps is not None:
            end = self.length_s or 1.0
            whole = np.arange(0.0, math.floor(end) + 1) if end >= 1 else np.array([0.0, end])
            rates = self.capacity_bps(whole)
            out = _outages(self)
            found |= {
                "mean_bps": self._mean_bps(end),
                "second_min_bps": float(rates.min()),
                "second_max_bps": float(rates.max()),
                "outages": len(out),
                "outages_s": float(out.sum()),
                "outage_max_s": float(out.max(initial=0.0)),
            }
        if self.delays_s is not None:
            found |= {"delay_min_s": float(self.delays_s.min()), "delay_max_s": float(self.delays_s.max())}
        return found


def _outages(trace: Trace) -> NDArray[Any]:
    if trace.at_ms is not None:
        gaps = np.diff(trace.at_ms, prepend=0) / 1e3
        return np.asarray(gaps[gaps > 0.1])
    assert trace.from_s is not None
    assert trace.rates_bps is not None
    found, since = [], None
    for at, rate in zip(trace.from_s, trace.rates_bps, strict=True):
        if since is not None and rate > 0:
            found.append(at - since)
        since = None if rate > 0 else at if since is None else since
    if since is not None:  # for good; as long as the trace tells
        found.append(trace.length_s - since)
    return np.array(found)


def of(normal: str) -> Trace:
    """The trace of this text, in the normal form that a checked scenario has."""
    head, *rows = normal.split("\n")
    if head.startswith("gaps"):
        runs = [(int(gap), int(count or 1)) for gap, _, count in (word.partition("*") for word in head.split()[1:])]
        return Trace(np.cumsum(np.repeat([gap for gap, _ in runs], [count for _, count in runs])))
    cells = np.array([row.split(",") for row in rows if row], dtype=float).T
    named = dict(zip(head.split(","), cells, strict=True))
    delays = named.get("delay_ns")
    return Trace(None, named["time_ns"] / 1e9, named.get("rate_bps"), None if delays is None else delays / 1e9)


def load(path: str | Path) -> Trace:
    """The trace in a file.

    Raises:
        ScenarioError: it cannot be read, or says nothing that a link could follow.
    """
    from cclab.scenario import read_trace

    try:
        return of(read_trace(Path(path)))
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from None


# --- Models ----------------------------------------------------------------------------------------------------------


def cellular(rng: random.Random, duration_s: float, most_bps: float) -> str:
    """A cellular link as Sprout models one (Winstein, Sivaraman, Balakrishnan, NSDI 2013, section 3).

    Opportunities are a Poisson process. Its rate is a Brownian motion between 0 and the largest one, looked at every
    20 ms; at 0 it stays for a time, exponential with a mean of a second: an outage. Sprout's largest rate is 1000
    opportunities a second and its motion has a standard deviation of 200 of them after a second; with another largest
    rate the motion grows along. Ours are the reflection at the largest rate, and where it begins, at the start and
    after an outage: uniform between the two. (Sprout infers the rate and draws none; left at 0 it would soon be back.)
    """
    tick, most = 0.02, most_bps / BITS
    step = 0.2 * most * math.sqrt(tick)
    rate, at_ms = rng.random() * most, []
    for k in range(round(duration_s / tick)):
        if rate > 0:
            rate += step * _normal(rng)
            rate = max(min(rate, 2 * most - rate), 0.0)
        elif rng.random() < -math.expm1(-tick):
            rate = rng.random() * most
        at = _exponential(rng, rate)
        while at < tick:
            at_ms.append(math.ceil((k * tick + at) * 1e3))
            at += _exponential(rng, rate)
    return _opportunities(at_ms, duration_s)


def wifi(rng: random.Random, duration_s: float, most_bps: float) -> str:
    """A last hop by Wi-Fi that others use too; the model and its numbers are ours.

    Frames carry several packets, as 802.11n aggregates them: as many as go into 2 ms at the present rate, one at
    least, all of them through when the frame ends. Between two of our frames lie 0.1 ms of overhead and a geometric
    number of others' frames, 1 on the average, of 2 ms. The rate is one of the eight of a stream of 802.11n relative to
    the largest (6.5 to 65 Mbit/s); it moves to a neighbouring one at moments 0.2 s apart on the average, exponential.
    """
    rates = [most_bps * of / 65 for of in (6.5, 13, 19.5, 26, 39, 52, 58.5, 65)]
    frame, overhead, index = 2e-3, 1e-4, rng.randrange(len(rates))
    now, move, at_ms = 0.0, _exponential(rng, 5.0), []
    while now < duration_s:
        while rng.random() < 0.5:
            now += frame + overhead
        while move < now:
            index = min(max(index + rng.choice((-1, 1)), 0), len(rates) - 1)
            move += _exponential(rng, 5.0)
        packets = max(int(frame * rates[index] / BITS), 1)
        now += overhead + packets * BITS / rates[index]
        at_ms += [math.ceil(now * 1e3)] * packets
    return _opportunities(at_ms, duration_s)


_EARTH_KM, _ORBIT_KM, _LIGHT_KM_S, _MU = 6371.0, 550.0, 299_792.458, 398_600.4
_SLOT_S, _LOWEST = 15.0, math.radians(25)


def satellite(rng: random.Random, duration_s: float, most_bps: float) -> str:
    """A terminal below satellites of a low orbit, rate and delay over time; the model is ours, on public facts.

    Every 15 s the terminal is given another satellite (as measured of Starlink: Mohan et al., WWW 2024), at 550 km and
    at least 25 degrees above the horizon (SpaceX's filings to the FCC). The delay is that of light to the satellite
    and to a gateway that sees it at the same angle, both by the geometry of a circular orbit over a round Earth, and
    8 ms on the ground. The satellite passes along a straight track; where it begins is uniform. The rate of a slot is
    uniform between 30 % and all of the largest one, redrawn within 10 % of that each second; a change of satellite
    costs 50 to 150 ms without any.
    """
    speed = math.sqrt(_MU / (_EARTH_KM + _ORBIT_KM)) / (_EARTH_KM + _ORBIT_KM)  # radians a second
    reach = math.acos(_EARTH_KM * math.cos(_LOWEST) / (_EARTH_KM + _ORBIT_KM)) - _LOWEST
    rows = ["time_ms,rate_bps,delay_us"]
    for slot in range(math.ceil(duration_s / _SLOT_S)):
        across = rng.uniform(-0.7, 0.7) * reach
        half = math.sqrt(reach**2 - across**2)
        begin = rng.uniform(-half, half - speed * _SLOT_S)
        mean, gone = rng.uniform(0.3, 1.0) * most_bps, round(rng.uniform(50, 150)) if slot else 0
        for second in range(int(_SLOT_S)):
            at = slot * _SLOT_S + second
            if at >= duration_s:
                break
            angle = math.hypot(across, begin + speed * second)
            radius = _EARTH_KM + _ORBIT_KM
            slant = math.sqrt(_EARTH_KM**2 + radius**2 - 2 * _EARTH_KM * radius * math.cos(angle))
            delay = round((2 * slant / _LIGHT_KM_S + 8e-3) * 1e6)
            rate = round(min(mean * rng.uniform(0.9, 1.1), most_bps))
            if second == 0 and gone:
                rows.append(f"{round(at * 1e3)},0,{delay}")
            rows.append(f"{round(at * 1e3) + (gone if second == 0 else 0)},{rate},{delay}")
    rows.append(f"{round(duration_s * 1e3)},{rate},{delay}")  # so that it has its length
    return "\n".join(rows) + "\n"


MODELS: dict[str, tuple[Callable[[random.Random, float, float], str], float]] = {
    "cellular": (cellular, 12e6),
    "wifi": (wifi, 65e6),
    "satellite": (satellite, 200e6),
}
"""Every model and its largest rate, unless another is given, bit/s."""


def generate(model: str, *, seed: int = 1, duration_s: float = 60.0, most_bps: float | None = None) -> str:
    """A trace as a model makes it up, as the text of a file.

    Args:
        model: One of `MODELS`; what it does is said there.
        seed: Equal seeds, equal traces.
        duration_s: How long, from a second to a day.
        most_bps: Largest rate, from 100 kbit/s to 10 Gbit/s; `None` is the model's own.

    Raises:
        UnknownNameError: there is no such model.
        ScenarioError: the length or the rate is beyond these, or both together come to more than `MOST` opportunities.
    """
    if model not in MODELS:
        raise UnknownNameError(f"unknown model {model!r}; there are {', '.join(MODELS)}")
    make, usual = MODELS[model]
    most = usual if most_bps is None else most_bps
    if not 1 <= duration_s <= 86_400:
        raise ScenarioError(f"duration: {duration_s:g} s is not from 1 s to 24 h")
    if not 1e5 <= most <= 1e10:
        raise ScenarioError(f"rate: {most:g} bit/s is not from 100 kbit/s to 10 Gbit/s")
    if make is not satellite and most * duration_s > MOST * BITS:
        raise ScenarioError(
            f"rate: {most:g} bit/s for {duration_s:g} s may be {most * duration_s / BITS:,.0f} opportunities to send; "
            f"at most {MOST:,}: {MOST * BITS / duration_s:.3g} bit/s for so long, or {MOST * BITS / most:.3g} s at "
            "this rate"
        )
    return make(random.Random(f"{model} {seed}"), duration_s, most)


def _exponential(rng: random.Random, rate: float) -> float:
    return -math.log(1.0 - rng.random()) / rate if rate > 0 else math.inf


def _normal(rng: random.Random) -> float:
    """Standard normal (Box and Muller 1958)."""
    return math.sqrt(-2 * math.log(1.0 - rng.random())) * math.cos(2 * math.pi * rng.random())


def _opportunities(at_ms: list[int], duration_s: float) -> str:
    """One a line; the last ends the period, so that it has its length."""
    end = round(duration_s * 1e3)
    return "".join(f"{at}\n" for at in (*(at for at in at_ms if at < end), end))


__all__ = ["BITS", "MODELS", "MOST", "Trace", "generate", "load", "of"]
