"""What laws make of a last hop over Wi-Fi: figures beside theory, claims of the literature with a verdict each."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario, stats
from cclab.analysis.plots import DASHED, Chart, aside, look, styled
from cclab.published import Check, Comparison, Context, Figure, Findings, Table, compare, judged
from cclab.results import Result
from cclab.theory import wireless

Key = tuple[Any, ...]
Flows = list[dict[str, Any]]
Runs = dict[Key, list[Flows]]
"""What each flow had in each run, by what tells settings apart; the first of that is the part."""

PACKET, MSS, ACK = 1500, 1448, 52
WIRES_S = 0.02  # one way
G = wireless.Ofdm()


def run(context: Context) -> Findings:
    """Everything of the study."""
    designed = dict(design(context))
    seeds = context.about["seeds"]["quick" if context.quick else "full"]
    jobs = [(key, scenario, seed) for key, scenario in designed.items() for seed in range(1, 1 + seeds[key[0]])]
    measured = context.run([(scenario, seed) for _, scenario, seed in jobs], measure, keep="wifi/1")
    runs: Runs = {}
    for (key, _, _), flows in zip(jobs, measured, strict=True):
        runs.setdefault(key, []).append(flows)
    rows = anomaly(context, runs) if "anomaly" in context.parts else []
    claims = [check for part in context.parts for check in CLAIMS[part](context, runs)]
    return Findings(
        comparisons=rows,
        checks=claims,
        figures=[FIGURES[part](context, runs) for part in context.parts],
        tables=[table(context, runs)] if "queues" in context.parts else [],
        summary=answer(rows, claims),
        method=METHOD,
    )


# --- What is run -----------------------------------------------------------------------------------------------------


def design(context: Context) -> Iterable[tuple[Key, Scenario]]:
    """Every setting of the parts that are wanted."""
    about = context.about
    if "anomaly" in context.parts:
        of = about["anomaly"]
        for n, slow in itertools.product(of["stations"], of["slow"]):
            stations = [{"rate": "11 Mbit/s"}] * (n - 1) + [{"rate": f"{slow} Mbit/s"}]
            flow = {
                "kind": "cbr",
                "rate": "11 Mbit/s",
                "packet_size": f"{PACKET} B",
                "direction": "reverse",
                "count": n,
            }
            yield ("anomaly", n, slow), scenario(context, {"profile": "802.11b", "stations": stations}, [flow])
    if "stations" in context.parts:
        of = about["stations"]
        for law, n in itertools.product(about["laws"], of["counts"]):
            flows = [{"cc": about["laws"][law], "count": n}]
            yield ("stations", law, n), scenario(context, {"stations": n, "queue": of["queue"]}, flows)
    if "upload" in context.parts:
        of = about["upload"]
        for law, buffer in itertools.product(about["laws"], of["buffers"]):
            flow = {"cc": about["laws"][law], "start_jitter": "1 s"}
            wifi = {"queue": {"limit": f"{buffer} packets"}, "stations": [{"queue": of["station"]}] * 2}
            yield ("upload", law, buffer), scenario(context, wifi, [flow, {**flow, "direction": "reverse"}])
    if "queues" in context.parts:
        of = about["queues"]
        for law, discipline in itertools.product(about["laws"], of["disciplines"]):
            rates = ["54 Mbit/s", "6 Mbit/s", "54 Mbit/s", "54 Mbit/s"]
            wifi = {"queue": discipline["queue"], "stations": [{"rate": r, "queue": of["station"]} for r in rates]}
            flow = {"cc": about["laws"][law], "start_jitter": "1 s"}
            flows = [
                {**flow, "label": "fast"},
                {**flow, "label": "slow"},
                {**flow, "label": "upload", "direction": "reverse"},
                {"kind": "cbr", "label": "small", "rate": "80 kbit/s", "packet_size": "200 B"},
            ]
            yield ("queues", law, discipline["name"]), scenario(context, wifi, flows)


def scenario(context: Context, wifi: dict[str, Any], flows: Sequence[dict[str, Any]]) -> Scenario:
    """Wires, and behind them this."""
    time = context.about["time"]
    return Scenario.from_dict(
        {
            "name": "wifi",
            "duration": time["duration"]["quick" if context.quick else "full"],
            "warmup": time["warmup"],
            "network": {**context.about["network"], "wifi": wifi},
            "flows": list(flows),
            "record": {"samples": "off"},
        }
    )


def measure(result: Result) -> Flows:
    """What the analysis needs of a run, flow by flow."""
    names = ["goodput_bps", "throughput_bps", "rtt_p50_s", "rtt_p95_s", "owd_p50_s", "owd_p95_s", "segments_sent",
             "segments_retransmitted"]  # fmt: skip
    return result.flows.select(names).to_dicts()


def values(runs: Runs, key: Key, what: str, flow: int | None = None) -> list[float]:
    """A figure of a flow, or the sum over all flows, for each run."""
    return [float(sum(f[what] for f in flows) if flow is None else flows[flow][what]) for flows in runs[key]]


def mean(values: Sequence[float]) -> stats.Estimate:
    """With its interval; no rate and no time is below zero."""
    return stats.mean(values, bounds=(0.0, math.inf))


def told(of: stats.Estimate, scale: float = 1.0, digits: int = 1) -> str:
    return f"{of.value / scale:.{digits}f} [{of.low / scale:.{digits}f}, {of.high / scale:.{digits}f}]"


def near(of: stats.Estimate, value: float, share: float) -> str:
    """Whether it is within this share of a value."""
    return of.against((1 - share) * value, (1 + share) * value)


def less(a: Sequence[float], b: Sequence[float]) -> str:
    """Whether the one is less than the other, seed by seed."""
    return stats.paired(a, b).difference.below(0)


# --- What theory says ------------------------------------------------------------------------------------------------


def b(rate: float) -> wireless.Dsss:
    """802.11b at this many Mbit/s; acknowledged at 2, or at 1."""
    return wireless.Dsss(rate * 1e6, min(rate, 2) * 1e6, 36, rts=False)


def anomaly(context: Context, runs: Runs) -> list[Comparison]:
    """What each station gets, beside Heusse's formula and Bianchi's for stations of several rates."""
    rows, tolerance = [], context.about["tolerance"]
    for n, slow in itertools.product(context.about["anomaly"]["stations"], context.about["anomaly"]["slow"]):
        ours = [x / n / 1e6 for x in values(runs, ("anomaly", n, slow), "throughput_bps")]
        item = f"{n} stations, one at {slow} Mbit/s"
        formula = wireless.heusse_bps(n, PACKET, b(11), b(slow)) / 1e6
        exact = wireless.cell_bps([b(11)] * (n - 1) + [b(slow)], PACKET) / 1e6
        rows.append(
            compare(
                item, "Heusse", "Mbit/s each", round(formula, 3), ours, source="formula", tolerance=tolerance["heusse"]
            )
        )
        limit = tolerance["bianchi"][str(n)]
        rows.append(
            compare(
                item, "Bianchi, several rates", "Mbit/s each", round(exact, 3), ours, source="formula", tolerance=limit
            )
        )
    return rows


def tcp_bps() -> float:
    """Goodput of a download by 802.11g: for two segments an ACK, and the two senders take turns, neither waiting for the other's back-off
    longer than for its own; no collisions.
    """
    mean = G.slot * (G.window - 1) / 2
    data, ack = (G.success_s(size) - 2 * G.propagation + mean for size in (PACKET, ACK))
    return 8 * MSS / (data + ack / 2)


# --- Claims ----------------------------------------------------------------------------------------------------------


def anomaly_claims(context: Context, runs: Runs) -> list[Check]:
    same, good, evidence = context.about["tolerance"]["same"], [], []
    for n in context.about["anomaly"]["stations"]:
        key = ("anomaly", n, 1)
        slow = values(runs, key, "throughput_bps", n - 1)
        fast = [(all_ - s) / (n - 1) for all_, s in zip(values(runs, key, "throughput_bps"), slow, strict=True)]
        ratio = stats.paired(fast, slow).ratio
        good.append(near(ratio, 1, same))
        evidence.append(f"{n} stations {told(ratio, digits=2)}")
    text = "Heusse et al. 2003: a station at 1 Mbit/s gets as much as those at 11 (uploads without pause)"
    checks = [judged(text, good, f"Mean of the fast over slow, at most {same:.0%} apart: {'; '.join(evidence)}.")]
    good, evidence = [], []
    for n in context.about["anomaly"]["stations"]:
        alone, mixed = (mean(values(runs, ("anomaly", n, slow), "throughput_bps", 0)) for slow in (11, 1))
        good.append(mixed.below(1e6))
        evidence.append(f"{n} stations {told(mixed, 1e6, 2)}, all at 11 {told(alone, 1e6, 2)} Mbit/s")
    text = "Heusse et al. 2003: among a station of 1 Mbit/s one of 11 gets less than 1 Mbit/s"
    return [*checks, judged(text, good, "; ".join(evidence) + ".")]


def station_claims(context: Context, runs: Runs) -> list[Check]:
    same, checks, good, evidence = context.about["tolerance"]["same"], [], [], []
    for law in context.about["laws"]:
        counts = context.about["stations"]["counts"]
        one, *more = (values(runs, ("stations", law, n), "goodput_bps") for n in counts)
        ratios = [stats.paired(of, one).ratio for of in more]
        good += [near(ratio, 1, same) for ratio in ratios]
        each = ", ".join(f"{n} stations {told(ratio, digits=2)}" for n, ratio in zip(counts[1:], ratios, strict=True))
        evidence.append(f"{law}: {each}")
    text = "Bruno et al. 2008: with TCP downloads the sum hardly depends on the number of stations"
    checks.append(judged(text, good, f"Of what one station gets, within {same:.0%}: {'; '.join(evidence)}."))
    good, evidence = [], []
    for law in context.about["laws"]:
        found = mean(values(runs, ("stations", law, 1), "goodput_bps"))
        good.append(near(found, tcp_bps(), same))
        evidence.append(f"{law} {told(found, 1e6)}")
    text = "Exchange times: what a download leaves is what its segments and half as many ACKs take, each with its own back-off"
    checks.append(judged(text, good, f"{tcp_bps() / 1e6:.1f} Mbit/s; {'; '.join(evidence)} (within {same:.0%})."))
    return checks


def upload_claims(context: Context, runs: Runs) -> list[Check]:
    small, *_, large = context.about["upload"]["buffers"]
    ratios = {
        (law, buffer): stats.paired(
            values(runs, ("upload", law, buffer), "goodput_bps", 1),
            values(runs, ("upload", law, buffer), "goodput_bps", 0),
        ).ratio
        for law, buffer in itertools.product(context.about["laws"], (small, large))
    }

    def of(buffer: int) -> str:
        return "; ".join(f"{law} {told(ratios[law, buffer])}" for law in context.about["laws"])

    more = [ratios[law, small].above(1) for law in context.about["laws"]]
    apart = {
        (law, buffer): [
            abs(math.log(flows[1]["goodput_bps"] / flows[0]["goodput_bps"])) for flows in runs["upload", law, buffer]
        ]
        for law, buffer in ratios
    }
    equal = [less(apart[law, large], apart[law, small]) for law in context.about["laws"]]
    return [
        judged(f"Pilosof et al. 2003: where few packets may wait ({small}) an upload gets more than a download", more,
              f"Upload over download: {of(small)}."),
        judged(f"Pilosof et al. 2003: a larger buffer ({large} packets) makes them more equal", equal,
              f"Upload over download: {of(large)}; how far from 1 it is, either way, compared seed by seed."),
    ]  # fmt: skip


def queue_claims(context: Context, runs: Runs) -> list[Check]:
    laws, checks = context.about["laws"], []

    def small(law: str, name: str) -> stats.Estimate:
        return mean(values(runs, ("queues", law, name), "owd_p95_s", 3))

    def each(name: str) -> str:
        return "; ".join(f"{law} {told(small(law, name), 1e-3, 0)}" for law in laws)

    waits = {
        (law, name): [x - WIRES_S for x in values(runs, ("queues", law, name), "owd_p95_s", 3)]
        for law, name in itertools.product(laws, ("FQ-CoDel", "drop-tail 500"))
    }
    tenfold = [less([10 * x for x in waits[law, "FQ-CoDel"]], waits[law, "drop-tail 500"]) for law in laws]
    text = "Høiland-Jørgensen et al. 2017: FQ-CoDel takes an order of magnitude of delay from an access point of 500 packets (95th percentile of a small flow, without the wires)"
    evidence = (
        f"One-way delay, ms, 20 of them by wire. FQ-CoDel: {each('FQ-CoDel')}. Drop-tail 500: {each('drop-tail 500')}."
    )
    checks.append(judged(text, tenfold, evidence))

    def share(law: str, name: str) -> stats.Estimate:
        key = ("queues", law, name)
        return stats.paired(values(runs, key, "goodput_bps", 0), values(runs, key, "goodput_bps", 1)).ratio

    same = [near(share(law, "FQ-CoDel"), 1, context.about["tolerance"]["same"]) for law in laws]
    evidence = "; ".join(f"{law} {told(share(law, 'FQ-CoDel'), digits=2)}" for law in laws)
    text = "Høiland-Jørgensen et al. 2017: FQ-CoDel shares bytes, not time: downloads of 54 and 6 Mbit/s get the same, so the anomaly stays"
    checks.append(judged(text, same, f"54 over 6 Mbit/s, within 10%: {evidence}."))
    rtts = {law: values(runs, ("queues", law, "drop-tail 500"), "rtt_p50_s", 0) for law in laws}
    vegas = rtts.pop("Vegas")
    text = "Brakmo and Peterson 1995: Vegas keeps a long queue short by itself (median RTT of the fast download, drop-tail 500, below the others')"
    evidence = f"ms: Vegas {told(mean(vegas), 1e-3, 0)}; " + "; ".join(
        f"{law} {told(mean(rtt), 1e-3, 0)}" for law, rtt in rtts.items()
    )
    checks.append(judged(text, [less(vegas, rtt) for rtt in rtts.values()], evidence + "; compared seed by seed."))
    return checks


CLAIMS = {"anomaly": anomaly_claims, "stations": station_claims, "upload": upload_claims, "queues": queue_claims}


# --- Pictures --------------------------------------------------------------------------------------------------------


def estimates(
    axes: Any, x: Sequence[float], of: Sequence[stats.Estimate], scale: float, index: int, **more: Any
) -> None:
    """Points with their intervals, those of several laws or rates aside of each other."""
    y = np.array([e.value for e in of]) / scale
    bars = np.abs(np.array([[e.low for e in of], [e.high for e in of]]) / scale - y)
    drawn = axes.errorbar(
        x, y, bars, color=look(index)["color"], marker="osD^v"[index], markersize=4, capsize=2, elinewidth=0.8, **more
    )
    aside(drawn, index, 4)


def few_ticks(axes: Any, ticks: Sequence[float]) -> None:
    """These on a logarithmic axis, as plain numbers, and no others; lower ends of intervals may be cut off."""
    low, high = axes.get_ylim()
    shown = [tick for tick in ticks if low < tick < high]
    axes.set_ylim(bottom=max(low, ticks[0] * 0.9))
    axes.minorticks_off()
    axes.set_yticks(shown, [f"{tick:g}" for tick in shown])


def anomaly_figure(context: Context, runs: Runs) -> Figure:
    counts, rates = context.about["anomaly"]["stations"], context.about["anomaly"]["slow"]
    with styled():
        chart = Chart(6.4, 3.6)
        axes = chart.subplots()
        grid = range(counts[0], counts[-1] + 1)
        made = []
        for index, slow in enumerate(rates):
            found = [mean([x / n for x in values(runs, ("anomaly", n, slow), "throughput_bps")]) for n in counts]
            estimates(axes, counts, found, 1e6, index, linestyle="none", label=f"one at {slow} Mbit/s")
            lines = [[wireless.heusse_bps(n, PACKET, b(11), b(slow)) / 1e6 for n in grid],
                     [wireless.cell_bps([b(11)] * (n - 1) + [b(slow)], PACKET) / 1e6 for n in grid]]  # fmt: skip
            for line, style in zip(lines, (DASHED, "-"), strict=True):
                axes.plot(grid, line, color=look(index)["color"], linewidth=0.9, linestyle=style, label="_")
            made += [(n, slow, e.value, e.low, e.high) for n, e in zip(counts, found, strict=True)]
        axes.set_xlabel("Stations, the others at 11 Mbit/s")
        axes.set_ylabel("Each gets (Mbit/s)")
        axes.set_ylim(bottom=0)
        chart.legend_below(key={"Bianchi, several rates": "-", "Heusse et al.": DASHED})
    caption = (f"Uploads without pause, 802.11b, packets of 1500 bytes. Marks: mean over stations and n = {len(runs['anomaly', counts[0], 1])} "
               "runs with 95 % intervals. Solid: Bianchi with several rates; dashed: Heusse et al.")  # fmt: skip
    data = pl.DataFrame(made, schema=["stations", "slow_mbps", "each_bps", "low", "high"], orient="row")
    return Figure("anomaly", "The performance anomaly", caption, chart, data)


def by_law(context: Context, of: Any, x: Sequence[float], scale: float, name: str, title: str, labels: tuple[str, str], caption: str,
           reference: dict[str, float], log: tuple[str, ...] = ()) -> Figure:  # fmt: skip
    """A line for each law."""
    with styled():
        chart = Chart(6.4, 3.6)
        axes = chart.subplots()
        made = []
        for index, law in enumerate(context.about["laws"]):
            found = [of(law, at) for at in x]
            estimates(axes, x, found, scale, index, label=law, linewidth=1)
            made += [(law, at, e.value, e.low, e.high, e.n) for at, e in zip(x, found, strict=True)]
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        for which in log:
            getattr(axes, f"set_{which}scale")("log")
        axes.set_xticks(x, [str(at) for at in x])
        if "y" in log:
            few_ticks(axes, (0.1, 0.2, 0.5, 1, 2, 5, 10, 20))
        else:
            axes.set_ylim(bottom=0)
        chart.legend_below()
        chart.reference(reference)
    data = pl.DataFrame(made, schema=["law", "x", "value", "low", "high", "n"], orient="row")
    return Figure(name, title, caption, chart, data)


def stations_figure(context: Context, runs: Runs) -> Figure:
    def of(law: str, n: int) -> stats.Estimate:
        return mean(values(runs, ("stations", law, n), "goodput_bps"))

    counts = context.about["stations"]["counts"]
    caption = f"A download to each station, 54 Mbit/s, 500 packets at the access point. n = {of('CUBIC', 1).n} runs, 95 % intervals."
    return by_law(context, of, counts, 1e6, "stations", "Downloads to several stations", ("Stations", "Goodput, all together (Mbit/s)"),
                  caption, {"exchange times": tcp_bps() / 1e6})  # fmt: skip


def upload_figure(context: Context, runs: Runs) -> Figure:
    def of(law: str, buffer: int) -> stats.Estimate:
        key = ("upload", law, buffer)
        return stats.paired(values(runs, key, "goodput_bps", 1), values(runs, key, "goodput_bps", 0)).ratio

    buffers = context.about["upload"]["buffers"]
    caption = f"One of each, stations of 54 Mbit/s with room for 1000 packets. Geometric means of n = {of('CUBIC', buffers[0]).n} runs, 95 % intervals."
    return by_law(context, of, buffers, 1, "upload", "An upload beside a download", ("Packets that may wait at the access point", "Upload over download"),
                  caption, {"equal": 1.0}, log=("x", "y"))  # fmt: skip


def queues_figure(context: Context, runs: Runs) -> Figure:
    laws, names = list(context.about["laws"]), [d["name"] for d in context.about["queues"]["disciplines"]]
    parts = [("owd_p95_s", 3, 1e-3, "Small flow: delay,\n95th percentile (ms)"), ("rtt_p50_s", 0, 1e-3, "Fast download:\nmedian RTT (ms)"),
             ("goodput_bps", None, 1e6, "Goodput, all\ntogether (Mbit/s)")]  # fmt: skip
    with styled():
        chart = Chart(7.2, 5.4)
        made = []
        for axes, (what, flow, scale, label) in zip(chart.subplots(len(parts), sharex=True), parts, strict=True):
            for index, law in enumerate(laws):
                found = [mean(values(runs, ("queues", law, name), what, flow)) for name in names]
                x = [k + 0.12 * (index - 1.5) for k in range(len(names))]
                estimates(axes, x, found, scale, index, linestyle="none", label=law)
                made += [(law, name, what, e.value, e.low, e.high, e.n) for name, e in zip(names, found, strict=True)]
            axes.set_ylabel(label)
            if what != "goodput_bps":
                axes.set_yscale("log")
                few_ticks(axes, (20, 50, 100, 200, 500, 1000, 2000))
            else:
                axes.set_ylim(bottom=0)
        axes.set_xticks(range(len(names)), names)
        chart.legend_below()
    caption = (f"Downloads to stations of 54 and 6 Mbit/s, an upload of 54, and 50 small packets a second to a fourth station. Mean of n = {made[0][-1]} "
               "runs, 95 % intervals. 20 ms of a delay and 40 of an RTT are wires.")  # fmt: skip
    data = pl.DataFrame(made, schema=["law", "queue", "what", "value", "low", "high", "n"], orient="row")
    return Figure("queues", "What waits at the access point", caption, chart, data)


FIGURES = {"anomaly": anomaly_figure, "stations": stations_figure, "upload": upload_figure, "queues": queues_figure}


def table(context: Context, runs: Runs) -> Table:
    """The last part in numbers."""
    rows = []
    for law, discipline in itertools.product(context.about["laws"], context.about["queues"]["disciplines"]):
        key = ("queues", law, discipline["name"])
        goodput = [mean(values(runs, key, "goodput_bps", flow)) for flow in range(3)]
        again = mean([f[0]["segments_retransmitted"] / f[0]["segments_sent"] for f in runs[key]])
        rows.append(
            {
                "law": law,
                "queue": discipline["name"],
                "fast (Mbit/s)": told(goodput[0], 1e6, 2),
                "slow (Mbit/s)": told(goodput[1], 1e6, 2),
                "upload (Mbit/s)": told(goodput[2], 1e6, 2),
                "median RTT (ms)": told(mean(values(runs, key, "rtt_p50_s", 0)), 1e-3, 0),
                "small flow, 95 % (ms)": told(mean(values(runs, key, "owd_p95_s", 3)), 1e-3, 0),
                "sent again (%)": told(again, 0.01, 2),
            }
        )
    caption = (
        f"Means of n = {len(runs[key])} runs with 95 % intervals; RTT and what is sent again are the fast download's."
    )
    return Table("queues", "Downloads of 54 and 6 Mbit/s and an upload", caption, pl.DataFrame(rows))


def answer(rows: Sequence[Comparison], checks: Sequence[Check]) -> str:
    """The answer to the question, in a paragraph."""
    count, held = Counter(row.verdict for row in rows), Counter(check.verdict for check in checks)
    return (
        f"Of {len(rows)} values of formulas {count['agrees']} agree, {count['differs']} differ, and of {count['cannot tell']} these runs cannot "
        f"tell. Of {len(checks)} claims {held['holds']} hold, {held['partly']} in part, {held['fails']} fail, and of {held['cannot tell']} these runs cannot tell."
    )


METHOD = [
    "802.11b and g without aggregation, rates fixed, every station in reach of every other, nothing lost but by collision and at queues; so what "
    "makes BBR suffer from aggregated ACKs is not here. 100 Mbit/s of wire with 40 ms of round trip lie before the access point.",
    "Heusse's formula is used with the times of our frames (long preamble, ACKs at 2 Mbit/s, at 1 for data at 1) and CWmin 31. Bianchi's fixed point "
    "is taken as it is; in its mean slot each station has its own time, and a collision that of the longest of its frames and EIFS (Bianchi: DIFS).",
    "Claims are judged law by law, setting by setting; intervals are 95 %, Student's t, of ratios those of their logarithms. Buffers, laws and rates are ours.",
]
