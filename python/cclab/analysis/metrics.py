"""Metrics with exact definitions; each takes a `Result`, or plain arrays.

Rates are goodput (payload delivered in order over time) unless the name says otherwise. Means over seeds, with
intervals, are `cclab.stats`' business: a metric of one run is a value of n = 1.

>>> from cclab import metrics
>>> round(metrics.jain([9, 1]), 4)
0.6098
>>> metrics.harm(solo=10.0, mixed=3.0)
0.7
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from cclab.errors import ResultError
from cclab.results import Result

if TYPE_CHECKING:
    Array = NDArray[np.float64]

BOTTLENECK = "bottleneck"
SIZE_BINS = (0.0, 1e4, 1e5, 1e6, 1e7, math.inf)
"""Bytes, ends of the bins of `fct_by_size`."""


# --- Shares ----------------------------------------------------------------------------------------------------------


def connections(flows: pl.DataFrame, sessions: pl.DataFrame | None, by: Sequence[str] = ()) -> pl.DataFrame:
    """A row for each connection: flows that are no subflows, and sessions, whose data count once, on whatever paths.

    Args:
        flows: Table of flows, of one run or of many; `without_tunnels` takes out those that carry others.
        sessions: Table of sessions, if there are any.
        by: What tells runs apart.

    Returns:
        Columns of `by`, `label`, `cc`, `start_s`, `measured_s`, `goodput_bps`, `fct_s`.
    """
    columns = [*by, "label", "cc", "start_s", "measured_s", "goodput_bps", "fct_s"]
    if sessions is None or not sessions.height:
        return flows.select(columns)
    of_session = pl.any_horizontal(*(pl.col("label").str.starts_with(f"{s}/") for s in sessions["label"].unique()))
    return pl.concat([flows.filter(~of_session).select(columns), sessions.select(columns)])


def without_tunnels(flows: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Flows but the connections of tunnels, whose data are those of others: mouths among the links have their names."""
    mouths = [name for name in links["name"].unique() if name.startswith("tunnel-")]
    return flows.filter(~pl.col("label").is_in(mouths)) if mouths else flows


def total_goodput_bps(warmup_s: float | pl.Expr, of: pl.Expr | None = None) -> pl.Expr:
    """Goodput of all connections together: what was delivered from the first one's start to the last one's end.

    Rates of transfers that took turns do not add up to what a link carried. An aggregate of a table as `connections`
    gives it; null where nothing was measured.

    Args:
        warmup_s: When measuring begins, s.
        of: Which connections count; the time is that of all.
    """
    measured = (pl.col("measured_s") > 0) & pl.col("goodput_bps").is_finite()
    bits = (pl.col("goodput_bps") * pl.col("measured_s")).filter(measured if of is None else measured & of).sum()
    return pl.when(measured.any()).then(bits / _span_s(warmup_s, measured))


def were_together(warmup_s: float | pl.Expr) -> pl.Expr:
    """Whether the TCP connections were measured over the same time, to a tenth of it: their shares may be compared.

    An aggregate of a table as `connections` gives it.
    """
    measured = (pl.col("measured_s") > 0) & (pl.col("cc") != "udp")
    return pl.col("measured_s").filter(measured).min() >= 0.9 * _span_s(warmup_s, measured)


def _span_s(warmup_s: float | pl.Expr, measured: pl.Expr) -> pl.Expr:
    begin = pl.max_horizontal(pl.col("start_s"), warmup_s).filter(measured)
    end = begin + pl.col("measured_s").filter(measured)
    return end.max() - begin.min()


def jain(rates: Result | ArrayLike) -> float:
    """Jain's index (Σx)² / (n Σx²), from 1/n to 1 (Jain, Chiu, Hawe 1984); NaN for no rates, or all zero.

    It compares rates over equal windows: of a result, where all flows were active together.
    """
    x = _goodputs(rates)
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares > 0 else math.nan


class RttFairness(NamedTuple):
    """How rates depend on the RTT.

    Attributes:
        ratio: Rate of the flow with the shortest RTT over that of the longest.
        exponent: e in rate ~ RTT^−e, by least squares in logarithms; NaN with fewer than two RTTs.
    """

    ratio: float
    exponent: float


def rtt_fairness(rates: Result | ArrayLike, rtts_s: ArrayLike | None = None) -> RttFairness:
    """How rates depend on the RTT; of a result, on the smallest RTT each flow measured.

    Raises:
        ValueError: not as many RTTs as rates.
    """
    x = _goodputs(rates)
    if isinstance(rates, Result):
        rtts_s = _tcp(rates)["rtt_min_s"].to_numpy() if rtts_s is None else rtts_s
    rtts = np.asarray(rtts_s, float)
    if x.shape != rtts.shape:
        raise ValueError(f"RTT fairness: {x.size} rates and {rtts.size} RTTs; it needs one of each for every flow")
    ratio = float(x[np.argmin(rtts)] / x[np.argmax(rtts)]) if x.size and x[np.argmax(rtts)] else math.inf
    if len(np.unique(rtts)) < 2 or not (x > 0).all():
        return RttFairness(ratio, math.nan)
    a, b = np.log(rtts), np.log(x)
    a = a - a.mean()
    return RttFairness(ratio, float(-(a @ b) / (a @ a)))


def tcp_friendliness(rate: Result | ArrayLike, reference: ArrayLike | str = "reno") -> float:
    """Mean rate of the flows over the mean rate of Reno's: 1 is friendly, above 1 takes more.

    Args:
        rate: Rates of the flows; or a result, where they are all TCP flows that are not the reference.
        reference: Rates of the Reno flows in the same mix, or C / n, what each of n Renos alone would have; of a
            result, the name of the reference law.
    """
    if isinstance(rate, Result):
        flows = _tcp(rate)
        of = [
            flows.filter(same)["goodput_bps"].to_numpy()
            for same in (pl.col("cc") != reference, pl.col("cc") == reference)
        ]
        if not all(map(len, of)):
            raise ResultError(f"{rate.name}: TCP friendliness needs flows of {reference!r} and of another law")
        return float(np.mean(of[0]) / np.mean(of[1]))
    return float(np.mean(np.asarray(rate, float)) / np.mean(np.asarray(reference, float)))


def utilisation_ratio(foreground: Result | ArrayLike, background: ArrayLike | Sequence[str] = ()) -> float:
    """Throughput of the flows in the foreground over that of the background.

    Args:
        foreground: Their throughputs; or a result, all flows that are not in the background.
        background: The throughputs; of a result, labels of flows that belong to it, beside what carries the load of
            its `background` table.
    """
    if isinstance(foreground, Result):
        labels = [str(label) for label in np.atleast_1d(np.asarray(background, dtype=object))]
        inside = pl.col("label").is_in(labels)
        of = [np.nansum(foreground.flows.filter(side)["throughput_bps"].to_numpy()) for side in (~inside, inside)]
        if foreground.background.height:
            of[1] += np.nansum(foreground.background["carried_bps"].to_numpy())
    else:
        of = [np.sum(np.asarray(side, float)) for side in (foreground, background)]
    return float(of[0] / of[1]) if of[1] else math.inf


def harm(solo: float, mixed: float, *, more_is_better: bool = True) -> float:
    """The share of its performance that a flow loses to another (Ware, Mukerjee, Seshan, Sherry, HotNets 2019).

    (solo − mixed) / solo where more is better, (mixed − solo) / mixed where less is, as of delay. Acceptable is what
    harms a standard flow no more than another standard flow does.

    Args:
        solo: Of the same sender alone on the same path.
        mixed: Beside the other.
        more_is_better: True of throughput, false of delay, loss and completion time.
    """
    return (solo - mixed) / solo if more_is_better else (mixed - solo) / mixed


def alpha_fair_utility(rates: Result | ArrayLike, alpha: float) -> float:
    """Σ x^(1−α) / (1−α), or Σ ln x at α = 1 (Mo & Walrand, ToN 8(5), 2000).

    α = 0 is the total, 1 proportional fairness, 2 least potential delay, and without end max-min.
    """
    x = _goodputs(rates)
    with np.errstate(divide="ignore"):
        return float(np.sum(np.log(x) if alpha == 1 else x ** (1 - alpha) / (1 - alpha)))


# --- A link ----------------------------------------------------------------------------------------------------------


def link_utilisation(
    bits_sent: Result | ArrayLike, rate_bps: float = math.nan, seconds: float = math.nan, *, link: str = BOTTLENECK
) -> float:
    """Bits sent over C T; of a result, the `utilisation` of a link."""
    if isinstance(bits_sent, Result):
        return float(_link(bits_sent, link)["utilisation"])
    return float(np.sum(np.asarray(bits_sent, float)) / (rate_bps * seconds))


def loss_rate(lost: Result | float, offered: float = math.nan, *, link: str = BOTTLENECK) -> float:
    """Packets dropped by the queue or lost by a loss model over those offered to the link."""
    if isinstance(lost, Result):
        of = _link(lost, link)
        return loss_rate(of["drops"] + of["losses"], of["arrived"])
    return lost / offered if offered else math.nan


def loss_event_rate(times_s: Result | ArrayLike, rtt_s: float = math.nan, packets: float = math.nan) -> float:
    """Loss events over packets sent; losses within an RTT of the first of an event belong to it.

    Args:
        times_s: When packets were lost; or a result, where an event is a recovery or a timeout of a TCP flow.
        rtt_s: How long an event lasts.
        packets: Packets sent.
    """
    if isinstance(times_s, Result):
        flows = _tcp(times_s)
        sent, recoveries, timeouts = (
            float(flows[column].to_numpy().sum()) for column in ("segments_sent", "recoveries", "timeouts")
        )
        return (recoveries + timeouts) / sent if sent else math.nan
    events, end = 0, -math.inf
    for time in np.sort(np.asarray(times_s, float)):
        if time >= end:
            events, end = events + 1, float(time) + rtt_s
    return events / packets


def queueing_delay(
    sojourns_s: Result | ArrayLike, weights: ArrayLike | None = None, *, link: str = BOTTLENECK
) -> pl.DataFrame:
    """Percentiles of the time in the queue: `p50_s`, `p95_s`, `p99_s`, `max_s`.

    By packet, each packet's sojourn counts once; by time, what a packet would wait that came at any moment. A queue
    that is long when many packets come has the larger figures by packet.

    Args:
        sojourns_s: Sojourn times; or a result, which gives a row `by` packet (from the link) and one by time (from
            samples of its queue after the warm-up, as bytes waiting over the link's rate).
        weights: What each counts; durations for figures by time.
        link: Of a result.
    """
    if not isinstance(sojourns_s, Result):
        return pl.DataFrame([_percentiles(np.asarray(sojourns_s, float), weights)])
    of = _link(sojourns_s, link)
    packet = {"by": "packet"} | {f"{q}_s": of[f"sojourn_{q}_s"] for q in ("p50", "p95", "p99", "max")}
    samples = sojourns_s.link_samples.filter((pl.col("link") == link) & (pl.col("time_s") >= sojourns_s.warmup_s))
    if samples.height < 2:
        raise ResultError(f'{link}: its queue was not sampled; record = {{ samples = "10 ms" }}')
    held = np.diff(samples["time_s"].to_numpy())
    waits = samples["queue_bytes"].to_numpy()[:-1] * 8 / of["rate_bps"]
    return pl.DataFrame([packet, {"by": "time"} | _percentiles(waits, held)])


def rtts_s(result: Result) -> dict[str, NDArray[Any]]:
    """RTT samples from the end of the warm-up on, by law."""
    laws = result.flows.filter(pl.col("cc") != "udp").select("cc", flow="label")
    of = result.samples.filter(pl.col("time_s") >= result.warmup_s).join(laws, on="flow")
    parts = {str(law): part["rtt_s"].to_numpy() for (law,), part in of.group_by("cc")}
    return {law: parts.get(law, np.empty(0)) for law in laws["cc"].unique(maintain_order=True)}


def power(throughput_bps: Result | ArrayLike, delay_s: ArrayLike = math.nan, exponent: float = 1.0) -> NDArray[Any]:
    """Throughput^exponent over delay (Kleinrock 1979); of a result, goodput over mean RTT of each TCP flow."""
    if isinstance(throughput_bps, Result):
        delay_s = _tcp(throughput_bps)["rtt_mean_s"].to_numpy()
        throughput_bps = _goodputs(throughput_bps)
    return np.asarray(np.asarray(throughput_bps, float) ** exponent / np.asarray(delay_s, float))


# --- Over time -------------------------------------------------------------------------------------------------------


def rate_series(
    result: Result, window_s: float | None = None, start_s: float = 0.0, flows: Sequence[str] | None = None
) -> tuple[Array, Array]:
    """Goodput in consecutive windows, from samples.

    Args:
        result: With samples.
        window_s: Length of a window; `None` is 100 ms, or the interval of the samples if that is longer.
        start_s: Start of the first.
        flows: Labels; `None` is all TCP flows.

    Returns:
        Start of each window in seconds, and bit/s by flow and window.
    """
    labels = list(flows) if flows is not None else _tcp(result, measured=False)["label"].to_list()
    edges = _edges(result.samples, window_s, start_s)
    at = _held(result.samples, "flow", labels, "delivered_bytes", edges)
    return edges[:-1], np.diff(at, axis=1) * 8 / (edges[1] - edges[0])


def queue_series(
    result: Result, window_s: float | None = None, start_s: float = 0.0, links: Sequence[str] | None = None
) -> tuple[Array, Array]:
    """Packets waiting at the start of each window, from samples: times in seconds, packets by link and window."""
    labels = list(links) if links is not None else result.links["name"].to_list()
    edges = _edges(result.link_samples, window_s, start_s)
    return edges[:-1], _held(result.link_samples, "link", labels, "queue_packets", edges[:-1])


def coefficient_of_variation(
    rates: Result | ArrayLike, *, window_s: float | None = None, start_s: float | None = None
) -> NDArray[Any]:
    """Standard deviation of a rate over its mean, over windows (the last axis); of a result, for each TCP flow.

    Args:
        rates: Rates by window; or a result, from the end of its warm-up on.
        window_s: Of a result: the interval over which a rate is taken, see `rate_series`.
        start_s: Of a result: from here instead.
    """
    if isinstance(rates, Result):
        rates = rate_series(rates, window_s, rates.warmup_s if start_s is None else start_s)[1]
    x = np.asarray(rates, float)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.std(x, axis=-1) / np.mean(x, axis=-1))


def convergence_time_s(
    rates: Result | ArrayLike,
    *,
    delta: float = 0.2,
    k: int = 5,
    window_s: float = 1.0,
    fair: float | None = None,
    entry_s: float | None = None,
) -> float:
    """Time from the entry of a flow until every flow is within (1 ± δ) of its fair share for `k` windows on end.

    It ends where the first of these windows begins.

    Args:
        rates: By flow and window, the first window at the entry; or a result.
        delta: δ.
        k: Windows on end.
        window_s: Length of a window.
        fair: The fair share; `None` is the mean of the flows in each window.
        entry_s: Of a result: when the flow entered; `None` is the start of the last TCP flow.

    Returns:
        Infinite if it never happens: report such runs with `censored`.
    """
    if isinstance(rates, Result):
        if entry_s is None:
            entry_s = float(_tcp(rates, measured=False)["start_s"].max())  # type: ignore[arg-type]
        rates = rate_series(rates, window_s, entry_s)[1]
    x = np.atleast_2d(np.asarray(rates, float))
    share = np.mean(x, axis=0) if fair is None else np.full(x.shape[1], fair)
    within = ((np.abs(x - share) <= delta * share) & (share > 0)).all(axis=0)
    return _first_run(within, k) * window_s


def recovery_time_s(
    rates: Result | ArrayLike, target: float, *, at_s: float = 0.0, share: float = 0.9, window_s: float = 0.1
) -> float:
    """Time from a step of capacity until the rate has come to 90 % of the new fair share (or down to it, over 90 %).

    Args:
        rates: Rate by window, the first at the step; or a result, of which it is the sum over the TCP flows.
        target: The new fair share, in the unit of the rates.
        at_s: Of a result: when the step was.
        share: How near counts.
        window_s: Length of a window.

    Returns:
        Infinite if it never does.
    """
    if isinstance(rates, Result):
        rates = rate_series(rates, window_s, at_s)[1].sum(axis=0)
    x = np.asarray(rates, float)
    there = x >= share * target if not len(x) or x[0] < target else x <= target / share
    return _first_run(there, 1) * window_s


def censored(times_s: ArrayLike) -> float:
    """Share of times that are infinite: runs in which what was waited for did not happen."""
    return float(np.mean(np.isinf(np.asarray(times_s, float))))


# --- Short flows -----------------------------------------------------------------------------------------------------


def fct_by_size(
    sizes_bytes: Result | ArrayLike, fct_s: ArrayLike = (), bins: Sequence[float] = SIZE_BINS
) -> pl.DataFrame:
    """Flow completion time by size.

    Columns: `size_from_bytes`, `size_to_bytes` (not included), `n`, `mean_s`, `p50_s`, `p95_s`, `p99_s`.

    Args:
        sizes_bytes: Size of each transfer; or a result, of which it takes the flows that ended, unless it has
            background: then it is the connections of the `fct` table, with its own bins, by `label` and `direction`.
        fct_s: How long each took; NaN, which did not end, does not count.
        bins: Ends of the bins, ascending.
    """
    if isinstance(sizes_bytes, Result):
        if sizes_bytes.fct.height:
            keys = ("label", "direction", "size_from_bytes", "size_to_bytes")
            figures = {f"{of}_s": pl.col(f"fct_{of}_s") for of in ("mean", "p50", "p95", "p99")}
            return sizes_bytes.fct.select(*keys, n=pl.col("fct_count"), **figures)
        fct_s, sizes_bytes = (sizes_bytes.flows[c].to_numpy() for c in ("fct_s", "delivered_bytes"))
    sizes, times = np.asarray(sizes_bytes, float), np.asarray(fct_s, float)
    rows = []
    for low, high in pairwise(bins):
        x = times[(sizes >= low) & (sizes < high) & np.isfinite(times)]
        row = _percentiles(x, None) | {"mean_s": float(np.mean(x)) if len(x) else math.nan}
        rows.append({"size_from_bytes": low, "size_to_bytes": high, "n": len(x)} | row)
    columns = ("size_from_bytes", "size_to_bytes", "n", "mean_s", "p50_s", "p95_s", "p99_s")
    return pl.DataFrame(rows).select(columns)


def packet_interval_s(arrivals_s: Result | ArrayLike, flows: Sequence[str] | None = None) -> float:
    """Mean time between consecutive data packets of a flow at its receiver.

    Args:
        arrivals_s: When they arrived; or a result with `packets`, of which it is the mean over all intervals of flows.
            Of short flows in the background, each connection's mean is in `background.packet_interval_mean_s`.
        flows: Of a result: labels; `None` is all.
    """
    if not isinstance(arrivals_s, Result):
        gaps = np.diff(np.sort(np.asarray(arrivals_s, float)))
        return float(np.mean(gaps)) if len(gaps) else math.nan
    packets = arrivals_s.packets.filter((pl.col("event") == "received") & (pl.col("payload_bytes") > 0))
    if flows is not None:
        packets = packets.filter(pl.col("flow").is_in(list(flows)))
    between = packets.group_by("flow").agg(pl.col("time_s").sort().diff().drop_nulls())["time_s"].explode()
    gaps = between.drop_nulls().to_numpy()
    return float(np.mean(gaps)) if len(gaps) else math.nan


# --- Parts -----------------------------------------------------------------------------------------------------------


def _tcp(result: Result, *, measured: bool = True) -> pl.DataFrame:
    """The TCP flows but tunnels; of those measured, the ones with a rate."""
    flows = without_tunnels(result.flows, result.links).filter(pl.col("cc") != "udp")
    return flows.filter(pl.col("goodput_bps").is_not_nan()) if measured else flows


def _goodputs(rates: Result | ArrayLike) -> NDArray[Any]:
    return _tcp(rates)["goodput_bps"].to_numpy() if isinstance(rates, Result) else np.asarray(rates, float)


def _link(result: Result, name: str) -> dict[str, Any]:
    found = result.links.filter(pl.col("name") == name)
    if not found.height:
        raise ResultError(f"no link called {name!r}; there are {', '.join(result.links['name'])}")
    return found.row(0, named=True)


def _percentiles(values: NDArray[Any], weights: ArrayLike | None) -> dict[str, float]:
    """The smallest values with at least 50, 95, 99 % of all weight at or below them, and the largest."""
    if not len(values):
        return dict.fromkeys(("p50_s", "p95_s", "p99_s", "max_s"), math.nan)
    order = np.argsort(values, kind="stable")
    share = np.cumsum(np.ones(len(values)) if weights is None else np.asarray(weights, float)[order])
    at = np.searchsorted(share, np.array([0.5, 0.95, 0.99]) * share[-1] * (1 - 1e-12))
    p50, p95, p99 = values[order[at]].tolist()
    return {"p50_s": p50, "p95_s": p95, "p99_s": p99, "max_s": float(values[order[-1]])}


def _edges(samples: pl.DataFrame, window_s: float | None, start_s: float) -> Array:
    times = np.unique(samples["time_s"].to_numpy())
    if len(times) < 2:
        raise ResultError('nothing was sampled over time; record = { samples = "100 ms" }')
    interval = float(np.median(np.diff(times)))
    window = max(0.1, interval) if window_s is None else window_s
    if window < interval * (1 - 1e-9):
        raise ResultError(f"windows of {window:g} s: the samples are {interval:g} s apart; record.samples says how far")
    # whole windows only; the last sample ends the run
    return start_s + window * np.arange(math.floor((times[-1] - start_s) / window * (1 + 1e-12)) + 1)


def _held(samples: pl.DataFrame, by: str, labels: Sequence[str], column: str, at: Array) -> Array:
    """The value of each at each time, the last sample not later; 0 before the first."""
    parts = {str(name): part for (name,), part in samples.group_by(by)}
    rows = []
    for label in labels:
        part = parts.get(label)
        if part is None:
            rows.append(np.zeros(len(at)))
            continue
        index = np.searchsorted(part["time_s"].to_numpy(), at + 1e-9, side="right")
        rows.append(np.concatenate([[0.0], part[column].to_numpy()])[index])
    return np.array(rows).reshape(len(labels), len(at))


def _first_run(true: NDArray[Any], k: int) -> float:
    """Index of the first of `k` trues on end; infinite where there is none."""
    runs = np.convolve(true.astype(int), np.ones(k, dtype=int), mode="valid") if len(true) >= k else np.empty(0)
    found = np.flatnonzero(runs == k)
    return float(found[0]) if len(found) else math.inf
