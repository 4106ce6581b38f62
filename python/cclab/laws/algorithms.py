"""Congestion controls stepped by hand: for notebooks, teaching and tests.

>>> from cclab import algorithms
>>> reno = algorithms.step("reno", mss=1000, initial_window=2)
>>> reno.on_ack(acked_bytes=1000, rtt_s=0.1)
>>> reno.cwnd_segments
3.0
"""

from __future__ import annotations

import json
from typing import Any

from cclab import _core, registry
from cclab.errors import ScenarioError

__all__ = ["Step", "names", "step"]


def names() -> list[str]:
    """The names of all congestion controls."""
    return registry.names("algorithms")


def step(
    name: str,
    *,
    mss: int = 1448,
    initial_window: int = 10,
    initial_ssthresh: int | None = None,
    flavour: str = "linux",
    **params: Any,
) -> Step:
    """A congestion control to be stepped by hand.

    Args:
        name: Its registered name.
        mss: Payload bytes of a full segment.
        initial_window: In segments.
        initial_ssthresh: In bytes; `None` is arbitrarily high.
        flavour: Whom to follow where they differ: `"linux"` or `"paper"`.
        **params: Parameters of the algorithm, see `cclab describe NAME`.

    Raises:
        UnknownNameError: there is no such algorithm.
        ScenarioError: it has no such parameter, or the value is not allowed.
    """
    if name not in names():
        raise registry.unknown("algorithm", name, names())
    for what, given, most in (("mss", mss, 65535), ("initial_window", initial_window, 1 << 31)):
        if type(given) is not int or not 1 <= given <= most:
            raise ScenarioError(f"{what}: {given!r} is not a whole number from 1 to {most}")
    if initial_ssthresh is not None and (type(initial_ssthresh) is not int or not 0 <= initial_ssthresh < 1 << 64):
        raise ScenarioError(f"initial_ssthresh: {initial_ssthresh!r} is not a whole number from 0 to 2^64 - 1, or None")
    return Step(name, mss, _core.Law(name, json.dumps(params), mss, initial_window, initial_ssthresh, flavour))


class Step:
    """A congestion control and the little that an endpoint would tell it by itself.

    Each hook takes the fields of its event as keywords, in SI units (docs/reference/events.md), and fills in what
    follows from the calls before: the time stays where it was, the smallest and the smoothed RTT are kept, bytes
    delivered are those acknowledged, and the bytes in flight are the window.
    """

    def __init__(self, name: str, mss: int, law: _core.Law) -> None:
        self.name = name
        self.mss = mss
        self.now_s = 0.0
        self._law = law
        self._min_rtt_s: float | None = None
        self._srtt_s = 0.0
        self._acked = 0

    def on_ack(self, **event: Any) -> None:
        """An acknowledgement was taken in: `now_s`, `acked_bytes`, `rtt_s`, `delivery_rate_bps`, `ecn_echo` and so on.

        All of them are in docs/reference/events.md.
        """
        acked = event.setdefault("acked_bytes", self.mss)
        srtt, smallest = self._srtt_s, self._min_rtt_s
        if (rtt := event.get("rtt_s")) is not None:
            smallest = rtt if smallest is None else min(rtt, smallest)
            srtt = rtt if srtt == 0.0 else srtt + (rtt - srtt) / 8  # RFC 6298 §2.3, alpha = 1/8
        window, total = self.cwnd_bytes, self._acked + acked
        event.setdefault("srtt_s", srtt)
        event.setdefault("min_rtt_s", smallest)
        event.setdefault("delivered_bytes", acked)
        event.setdefault("prior_delivered", max(0, self._acked - window))
        event.setdefault("prior_in_flight", window)
        event.setdefault("bytes_in_flight", max(0, window - acked))
        event.setdefault("delivered", total)
        event.setdefault("snd_una", total)
        event.setdefault("snd_nxt", total + window)
        self._law.on_ack(**self._timed(event))
        self._srtt_s, self._min_rtt_s, self._acked = srtt, smallest, total  # not by an event that was refused

    def on_lost(self, **event: Any) -> None:
        """A packet was marked lost: `now_s`, `bytes`, `sent_s`, `lost` and so on."""
        event.setdefault("bytes", self.mss)
        event.setdefault("lost", event["bytes"])
        event.setdefault("delivered", self._acked)
        self._law.on_lost(**self._timed(event))

    def on_congestion(self, **event: Any) -> None:
        """Congestion was detected: `now_s`, `signal` ("loss", "ecn", "tail-loss"), `flight_size` in bytes."""
        event.setdefault("flight_size", self.cwnd_bytes)
        event.setdefault("srtt_s", self._srtt_s)
        event.setdefault("min_rtt_s", self._min_rtt_s)
        self._law.on_congestion(**self._timed(event))

    def on_timeout(self, **event: Any) -> None:
        """The retransmission timer expired: `now_s`, `flight_size` in bytes, `first`."""
        event.setdefault("flight_size", self.cwnd_bytes)
        self._law.on_timeout(**self._timed(event))

    def on_recovered(self, **event: Any) -> None:
        """Recovery ended: `now_s`, `phase` that was left ("recovery", "loss", "cwr")."""
        self._law.on_recovered(**self._timed(event))

    def on_undo(self, **event: Any) -> None:
        """The last reduction was a mistake: `now_s`."""
        self._law.on_undo(**self._timed(event))

    def on_established(self, **event: Any) -> None:
        """The handshake is over: `now_s`, `srtt_s`. Clocks begin here; without it, at 0."""
        self._law.on_established(**self._timed(event))

    def on_idle(self, **event: Any) -> None:
        """Data leaves, `idle_s` after the last, while nothing was in flight; `app_limited` for want of data."""
        self._law.on_idle(**self._timed(event))

    def on_restart(self, **event: Any) -> None:
        """The sender was idle, or did not use its window: proposed `cwnd_bytes` and `ssthresh_bytes`."""
        event.setdefault("cwnd_bytes", self.cwnd_bytes)
        event.setdefault("ssthresh_bytes", self.ssthresh_bytes)
        self._law.on_restart(**self._timed(event))

    def _timed(self, event: dict[str, Any]) -> dict[str, Any]:
        self.now_s = event.setdefault("now_s", self.now_s)
        return event

    @property
    def cwnd_bytes(self) -> int:
        """Congestion window, in bytes."""
        return self._law.cwnd_bytes

    @property
    def cwnd_segments(self) -> float:
        """Congestion window, in segments."""
        return self._law.cwnd_bytes / self.mss

    @property
    def ssthresh_bytes(self) -> int | None:
        """Slow-start threshold, in bytes; `None` while it is arbitrarily high."""
        return self._law.ssthresh_bytes

    @property
    def pacing_rate_bps(self) -> float | None:
        """The law's own pacing rate; `None` if it has none."""
        return self._law.pacing_rate_bps

    @property
    def request(self) -> dict[str, Any] | None:
        """What its data packets ask of the routers: a congestion header, `kind` and its fields; `None` is nothing."""
        return self._law.request

    @property
    def ecn(self) -> str:
        """What it makes of ECN: "classic" (RFC 3168), "dctcp" or "l4s"."""
        return self._law.ecn

    def signals(self) -> dict[str, float]:
        """What the law records under its own names."""
        return self._law.signals()

    def __repr__(self) -> str:
        return f"Step({self.name!r}, cwnd_segments={self.cwnd_segments:g})"
