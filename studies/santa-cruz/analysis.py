"""TCP Santa Cruz on a bottleneck: Table 2, figures 9 and 10, and the two neighbouring experiments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cclab import Scenario, stats
from cclab.analysis.plots import Chart, look, styled, thin
from cclab.console import number
from cclab.published import Check, Comparison, Context, Figure, Findings, Table, compare, judged
from cclab.results import Result

PACKET = 1000  # bytes on the wire
MSS = 960
LINK = "bottleneck"
RATE = 1.5e6  # bit/s
PATH = 46.93  # ms from source to destination past an empty queue
WAIT = PACKET * 8 / RATE * 1e3  # ms that a packet in the queue is
COMPARED = ("Reno", "Santa Cruz n=5", "Vegas (1,3)")  # in the two neighbouring experiments
LENGTHS = (5, 10, 20, 30)  # s from the first SYN on, in which the start still shows
# What "delay variance" could mean, each from the one-way delays d (s) of consecutive data packets from the first one on.
DEFINITIONS: dict[str, Callable[[NDArray[Any]], float]] = {
    "variance, s² × 1000": lambda d: float(np.var(d)) * 1e3,
    "variance, ms²": lambda d: float(np.var(d)) * 1e6,
    "variance, s²": lambda d: float(np.var(d)),
    "standard deviation, ms": lambda d: float(np.std(d)) * 1e3,
    "mean |difference of consecutive delays|, ms": lambda d: float(np.mean(np.abs(np.diff(d)))) * 1e3,
    "variance of consecutive differences, ms²": lambda d: float(np.var(np.diff(d))) * 1e6,
    "standard deviation of consecutive differences, ms": lambda d: float(np.std(np.diff(d))) * 1e3,
}
WHOLE = (60, 200)  # s: lengths of a run over which they are taken
NEAREST = "variance, s² × 1000"
Reading = tuple[str, str]  # protocol, and how many packets an ACK is for


def run(context: Context) -> Findings:
    """Everything of the study."""
    about = context.about
    seeds = range(1, 1 + about["replications"]["quick" if context.quick else "full"])
    published = pl.read_csv(context.folder / "published.csv")
    names = list(about["protocols"])

    acks: dict[str, int] = about["acks"]
    record = {"samples": "change", "packets": True}
    basic = {(name, ack): scenario(about, name, every, record=record) for ack, every in acks.items() for name in names}
    reverse = {
        (other, buffer, ack, name): scenario(about, name, every, reverse=(other, buffer))
        for other in about["reverse"]["variants"]["protocol"]
        for buffer in about["reverse"]["variants"]["buffer"]
        for ack, every in acks.items()
        for name in COMPARED
    }
    network = about["asymmetric"]["network"]
    asymmetric = {
        (name, ack): scenario(about, name, every, network=network) for ack, every in acks.items() for name in COMPARED
    }
    once = [*basic.values(), *asymmetric.values()]
    jobs = [(s, seed) for s in reverse.values() for seed in seeds]
    found = context.run([*((s, 1) for s in once), *jobs], reduce=measured)
    traces: dict[Reading, Result] = dict(zip(basic, found[: len(basic)], strict=True))
    uneven: dict[Reading, dict[str, float]] = dict(zip(asymmetric, found[len(basic) : len(once)], strict=True))
    rows = found[len(once) :]
    by_case = iter([rows[i : i + len(seeds)] for i in range(0, len(rows), len(seeds))])
    both_ways = {key: next(by_case) for key in reverse}

    table = {reading: summary(trace) for reading, trace in traces.items()}
    arrivals = {reading: delays(trace) for reading, trace in traces.items()}
    spread = variances(arrivals)
    start = start_up(traces, arrivals)
    first = next(iter(acks))

    comparisons = table_2(published, about, table, spread) + single_numbers(published, traces, first)
    checks = [
        reno_sawtooth(traces["Reno", first]),
        santa_cruz_settles(traces["Santa Cruz n=1.5", first]),
        variance_ordering(spread, acks),
        delay_ordering(table, acks),
        *at_the_start(start, acks),
        *reverse_traffic(both_ways),
        *asymmetric_links(uneven),
    ]
    return Findings(
        comparisons=comparisons,
        checks=checks,
        figures=figures({name: traces[name, first] for name in names}, spread, start, published),
        tables=[candidates(spread, published)],
        summary=answer(table, first),
        differences=differences(about, table, spread, start, published),
        method=method(about, len(seeds)),
    )


def scenario(
    about: dict[str, Any],
    protocol: str,
    every: int,
    *,
    network: dict[str, Any] | None = None,
    reverse: tuple[str, str] | None = None,
    record: dict[str, Any] | None = None,
) -> Scenario:
    """The basic bottleneck with one of the protocols, changed as an experiment wants it."""
    common = {**about["flow"], "ack_every": every}
    flow = {**common, **about["protocols"][protocol], "label": protocol}
    flows = [flow]
    kind = "basic bottleneck"
    (ack,) = (ack for ack, packets in about["acks"].items() if packets == every)
    if reverse is not None:
        other, buffer = reverse
        kind = f"traffic on the reverse link: {other}, {buffer}"
        other = protocol if other == "same" else other
        flows.append({**common, **about["protocols"][other], **about["reverse"]["flow"], "label": "reverse traffic"})
        network = {"reverse": {"queue": {"discipline": "droptail", "limit": buffer}}}
    elif network is not None:
        kind = "asymmetric links"
    return Scenario.from_dict(
        {
            "name": f"{protocol}, {ack}, {kind}",
            **about["basic"],
            "network": {**about["basic"]["network"], **(network or {})},
            "flows": flows,
            "record": record or {"samples": "off"},
        }
    )


def measured(result: Result) -> dict[str, float] | Result:
    """A run's figures; of those that are drawn, all of it."""
    return result if result.scenario["record"]["packets"] else summary(result)


def summary(result: Result) -> dict[str, float]:
    """What the tables need of one run, in the units of the paper; the first flow is the one under test."""
    flow = result.flows.row(0, named=True)
    link = result.links.row(by_predicate=pl.col("name") == LINK, named=True)
    return {
        "throughput": flow["goodput_bps"] / 1e6,
        "throughput with headers": flow["throughput_bps"] / 1e6,
        "utilisation": flow["goodput_bps"] / RATE,  # as printed: throughput over 1.5 Mbit/s
        "busy": link["utilisation"],
        "mean delay": flow["owd_mean_s"] * 1e3,
        "cwnd max": flow["cwnd_max_segments"],
        "cwnd mean": flow["cwnd_mean_segments"],
        "timeouts": float(flow["timeouts"]),
        "recoveries": float(flow["recoveries"]),
        "retransmitted": float(flow["segments_retransmitted"]),
    }


def delays(trace: Result) -> pl.DataFrame:
    """`arrived_s` and `delay_s` of each data packet that arrived, in order of arrival.

    A packet that was retransmitted is left out: its copies have the same sequence number.
    """
    data = trace.packets.filter((pl.col("payload_bytes") > 0) & (pl.col("flow") == trace.flows["label"][0]))
    sent = data.filter(pl.col("event") == "sent").group_by("seq").agg(pl.col("time_s").first(), pl.len())
    once = sent.filter(pl.col("len") == 1).select("seq", sent_s="time_s")
    paired = data.filter(pl.col("event") == "received").join(once, on="seq", maintain_order="left")
    return paired.select(arrived_s="time_s", delay_s=pl.col("time_s") - pl.col("sent_s"))


def variances(arrivals: dict[Reading, pl.DataFrame]) -> pl.DataFrame:
    """Every definition of delay variation, over runs of both lengths: `protocol`, `ack`, `length_s`, `definition`, `value`."""
    rows = []
    for (name, ack), of in arrivals.items():
        for length in WHOLE:
            d = of.filter(pl.col("arrived_s") <= length)["delay_s"].to_numpy()
            rows += [
                {"protocol": name, "ack": ack, "length_s": length, "definition": what, "value": define(d)}
                for what, define in DEFINITIONS.items()
            ]
    return pl.DataFrame(rows)


def start_up(traces: dict[Reading, Result], arrivals: dict[Reading, pl.DataFrame]) -> pl.DataFrame:
    """Throughput and delay counted from the first SYN on, for runs of different length."""
    rows = []
    for (name, ack), trace in traces.items():
        arrived = trace.packets.filter((pl.col("event") == "received") & (pl.col("payload_bytes") > 0))
        for length in (*LENGTHS, *WHOLE):
            d = arrivals[name, ack].filter(pl.col("arrived_s") <= length)["delay_s"].to_numpy()
            payload = arrived.filter(pl.col("time_s") <= length)["payload_bytes"].sum()
            rows.append(
                {
                    "protocol": name, "ack": ack, "length_s": length, "throughput": payload * 8 / length / 1e6,
                    "mean delay": float(d.mean()) * 1e3, "deviation": float(d.std()) * 1e3,
                }
            )  # fmt: skip
    return pl.DataFrame(rows)


def value(published: pl.DataFrame, item: str, metric: str) -> float:
    """A published number."""
    row = published.row(by_predicate=(pl.col("item") == item) & (pl.col("metric") == metric), named=True)
    return float(row["value"])


def column(rows: list[dict[str, float]], name: str) -> list[float]:
    """One figure of each replication."""
    return [row[name] for row in rows]


def mean(rows: list[dict[str, float]], name: str) -> float:
    """Its mean."""
    return float(np.mean(column(rows, name)))


def table_2(
    published: pl.DataFrame, about: dict[str, Any], table: dict[Reading, dict[str, float]], spread: pl.DataFrame
) -> list[Comparison]:
    """Table 2, a row for each printed number and each reading; nothing is left to chance."""
    rows = []
    for (name, ack), run in table.items():
        item = f"{name}, {ack}"
        queued = f"source to destination; {run['mean delay'] - PATH:.1f} ms of it in the queue, printed {value(published, name, 'mean delay') - PATH:.1f}"
        judged_as = (
            ("throughput", "throughput", "Mbit/s", "payload"),
            ("throughput", "throughput with headers", "Mbit/s", "whole packets: the other way to read the printed row"),
            ("utilisation", "utilisation", "1", f"throughput / 1.5 Mbit/s, as printed; the link is busy {run['busy']:.1%} of the time"),
            ("mean delay", "mean delay", "ms", queued),
        )  # fmt: skip
        for printed, metric, unit, note in judged_as:
            limit = about["tolerance"]["mean_delay"][name] if metric == "mean delay" else about["tolerance"][printed]
            number = value(published, name, printed)
            rows.append(compare(item, metric, unit, number, [run[metric]], tolerance=limit, chance=False, note=note))
        # Nobody knows what was printed, so its value gets no verdict; that the ordering holds is a check.
        chosen = spread.filter(pl.col("protocol") == name, pl.col("ack") == ack, pl.col("length_s") == WHOLE[-1])
        ours = float(chosen.row(by_predicate=pl.col("definition") == NEAREST, named=True)["value"])
        number = value(published, name, "delay variance")
        note = f"ours: {NEAREST}, over {WHOLE[-1]} s; see “What the delay variance may have been”"
        rows.append(compare(item, "delay variance", "ms, as headed", number, [ours], note=note))
    return rows


def single_numbers(published: pl.DataFrame, traces: dict[Reading, Result], ack: str) -> list[Comparison]:
    """The numbers printed in the text and in the figures."""
    reno = traces["Reno", ack]
    packets = reno.packets.filter(pl.col("link").is_null())
    first = packets.filter((pl.col("event") == "sent") & (pl.col("payload_bytes") > 0))["time_s"].min()
    fastest = float(delays(reno)["delay_s"].min())  # type: ignore[arg-type]
    answered = packets.filter((pl.col("event") == "received") & (pl.col("ack") > 1))["time_s"].min()
    pipe = (answered - first) * RATE / 8  # type: ignore[operator]
    peak = traces["Santa Cruz n=1.5", ack].samples["cwnd_bytes"].max() / MSS  # type: ignore[operator]
    filled = float(np.ceil(pipe / PACKET))
    path, of_data = "basic bottleneck", "RTT of the first data packet × 1.5 Mbit/s"
    rows = [
        (path, "minimum forward delay", "ms", fastest * 1e3, "of a data packet"),
        (path, "bandwidth-delay product", "kbyte", pipe / 1e3, of_data),
        ("Reno", "window that fills the pipe", "packets", filled, "BDP in whole packets"),
        ("Santa Cruz n=1.5", "peak window", "packets", peak, "figure 10"),
    ]
    return [
        compare(item, metric, unit, value(published, item, metric), [ours], tolerance=0.01, chance=False, note=note)
        for item, metric, unit, ours, note in rows
    ]


def time_share(trace: Result, condition: pl.Expr, start_s: float) -> float:
    """Share of the time after `start_s` for which a condition on the bottleneck's samples holds."""
    link = trace.link_samples.filter(pl.col("link") == LINK)
    lasted = link.with_columns(lasted=pl.col("time_s").shift(-1) - pl.col("time_s")).filter(pl.col("time_s") >= start_s)
    return float(lasted.filter(condition)["lasted"].sum() / lasted["lasted"].sum())


def reno_sawtooth(trace: Result) -> Check:
    """Figure 9."""
    window = trace.samples.filter(pl.col("time_s") >= 20)["cwnd_bytes"].to_numpy() / MSS
    cuts = trace.flows["recoveries"][0] + trace.flows["timeouts"][0]
    idle = max(0.0, 1 - trace.links.row(by_predicate=pl.col("name") == LINK, named=True)["utilisation"])
    return judged(
        "Reno's window passes 17 packets and then saw-tooths, window and queue together; the link is rarely idle (figure 9)",
        [stats.fact(bool(so)) for so in (window.max() > 17, cuts >= 10, idle < 0.05)],
        f"after 20 s the window swings up to {window.max():.1f} packets, with {cuts} reductions in 180 s; "
        f"the queue is empty {time_share(trace, pl.col('queue_packets') == 0, 20):.0%} of the time, the link idle {idle:.1%}",
    )


def santa_cruz_settles(trace: Result) -> Check:
    """Figure 10."""
    window = trace.samples["cwnd_bytes"].to_numpy() / MSS
    later = window[trace.samples["time_s"].search_sorted(20, side="right") - 1 :]  # what held at 20 s, and after
    inside = time_share(trace, pl.col("queue_packets").is_between(1, 2), 20)
    return judged(
        "Santa Cruz (n = 1.5): the queue settles between 1 and 2 packets; the window peaks at 18 and is constant for the rest (figure 10)",
        [stats.fact(bool(so)) for so in (inside > 0.95, abs(window.max() - 18) <= 1, float(np.ptp(later)) == 0)],
        f"1 or 2 packets wait {inside:.1%} of the time after 20 s; the window peaks at {window.max():.1f} and then stays "
        f"within {np.ptp(later):.2g} packets of {later[-1]:.1f}",
    )


def variance_ordering(spread: pl.DataFrame, acks: dict[str, int]) -> Check:
    """The column of Table 2 that is only usable as an ordering."""
    of = spread.filter(pl.col("definition") == "variance, ms²", pl.col("length_s") == WHOLE[-1])
    found = {ack: dict(of.filter(pl.col("ack") == ack).select("protocol", "value").iter_rows()) for ack in acks}
    ratios = {ack: v["Reno"] / max(x for name, x in v.items() if name != "Reno") for ack, v in found.items()}
    return judged(
        "Reno's delay varies more than a hundred times as much as Santa Cruz's and Vegas' (delay variance, Table 2)",
        [stats.fact(v["Reno"] > 100 * x) for v in found.values() for name, x in v.items() if name != "Reno"],
        "; ".join(f"{ack}: " + ", ".join(f"{name} {x:.3g}" for name, x in v.items()) + f" ms², the smallest ratio is {ratios[ack]:.0f}"
                  for ack, v in found.items())
        + f". Variance over {WHOLE[-1]} s; with an ACK for each all of Santa Cruz's and Vegas' is start-up",
    )  # fmt: skip


def delay_ordering(table: dict[Reading, dict[str, float]], acks: dict[str, int]) -> Check:
    """The text's reading of Table 2."""
    order = ("Santa Cruz n=1.5", "Santa Cruz n=3", "Santa Cruz n=5", "Reno")
    facts, said = [], []
    for ack in acks:
        delay = [table[name, ack]["mean delay"] for name in order]
        rates = [table[name, ack]["throughput"] / table["Reno", ack]["throughput"] for name in order[:-1]]
        facts += (
            [a < b for a, b in itertools.pairwise(delay)] + [x >= 0.95 for x in rates] + [delay[0] < 0.6 * delay[-1]]
        )
        named = ", ".join(f"{name} {d:.1f}" for name, d in zip(order, delay, strict=True))
        said.append(f"{ack}: mean delay {named} ms, least throughput of Santa Cruz {min(rates):.1%} of Reno's")
    return judged(
        "Santa Cruz gets Reno's throughput at a delay that the operating point n sets, up to 45 % below Reno's",
        map(stats.fact, facts),
        "; ".join(said) + ". Wanted: in this order, 95 % or more, n = 1.5 below 0.6 of Reno's delay",
    )


def at_the_start(start: pl.DataFrame, acks: dict[str, int]) -> list[Check]:
    """What the paper explains its throughputs by: slow start lasts longer with a larger n, so the start counts."""
    at = {(r["protocol"], r["ack"], r["length_s"]): r for r in start.to_dicts()}
    points = [(ack, length) for ack in acks for length in LENGTHS]

    def of(name: str, what: str) -> list[float]:
        return [at[name, ack, length][what] for ack, length in points]

    def listed(cells: Sequence[str]) -> str:
        by_ack = [", ".join(cells[i : i + len(LENGTHS)]) for i in range(0, len(cells), len(LENGTHS))]
        return "; ".join(f"{ack}: {text}" for ack, text in zip(acks, by_ack, strict=True))

    low, middle, high, reno = (
        of(n, "throughput") for n in ("Santa Cruz n=1.5", "Santa Cruz n=3", "Santa Cruz n=5", "Reno")
    )
    lengths = "/".join(map(str, LENGTHS)) + " s from the first SYN on"
    santa, vegas = ({w: of(n, w) for w in ("mean delay", "deviation")} for n in ("Santa Cruz n=1.5", "Vegas (1,3)"))
    alike = [abs(a / b - 1) < 0.05 for a, b in zip(santa["mean delay"], vegas["mean delay"], strict=True)]
    calmer = [a < b for a, b in zip(santa["deviation"], vegas["deviation"], strict=True)]
    return [
        judged(
            "Throughput grows with n, for slow start lasts longer (Table 2)",
            [stats.fact(so) for a, b, c in zip(low, middle, high, strict=True) for so in (a <= b, b <= c, a < c)],
            f"n = 1.5, 3, 5 over {lengths}, Mbit/s: "
            + listed([f"{a:.3f} {b:.3f} {c:.3f}" for a, b, c in zip(low, middle, high, strict=True)]),
        ),
        judged(
            "Santa Cruz with n = 5 has slightly more throughput than Reno (Table 2)",
            [stats.fact(so) for a, b in zip(high, reno, strict=True) for so in (a > b, a < 1.05 * b)],
            f"more by, over {lengths}: "
            + listed([f"{100 * (a / b - 1):.1f} %" for a, b in zip(high, reno, strict=True)])
            + "; printed 1.4 %. Slightly is: by less than 5 %",
        ),
        judged(
            "Santa Cruz with n = 1.5 has Vegas' delay at less deviation (Table 2)",
            map(stats.fact, [*alike, *calmer]),
            f"delay and its standard deviation over {lengths}, ms, Santa Cruz / Vegas: "
            + listed([f"{a:.1f} / {b:.1f} and {c:.2f} / {d:.2f}" for a, b, c, d in zip(
                santa["mean delay"], vegas["mean delay"], santa["deviation"], vegas["deviation"], strict=True)])
            + ". The same delay is: within 5 %",
        ),
    ]  # fmt: skip


def candidates(spread: pl.DataFrame, published: pl.DataFrame) -> Table:
    """Every definition of delay variance beside the printed column."""
    names = spread["protocol"].unique(maintain_order=True).to_list()
    printed = {name: value(published, name, "delay variance") for name in names}
    rows = [
        {
            "Definition": "printed, headed msec",
            "ACKs": "",
            "Over": "",
            **{n: f"{v:g}" for n, v in printed.items()},
            "Off by at most": "",
        }
    ]
    for (what, ack, length), of in spread.group_by("definition", "ack", "length_s", maintain_order=True):
        ours = dict(of.select("protocol", "value").iter_rows())
        rows.append(
            {"Definition": str(what), "ACKs": str(ack), "Over": f"{length} s", **{n: f"{ours[n]:.3g}" for n in names},
             "Off by at most": f"× {number(off(ours, printed), 3)}"}
        )  # fmt: skip
    return Table(
        "delay-variance",
        "What the delay variance may have been",
        "The printed column beside definitions of delay variation, over runs of two lengths from the first SYN on and for both "
        "readings of the ACKs; the last column is the factor by which the worst row is off. One run each: nothing is left to chance.",
        pl.DataFrame(rows),
        spread,
    )  # fmt: skip


def off(ours: dict[str, float], printed: dict[str, float]) -> float:
    """The largest factor between the two."""
    return max(max(ours[n] / p, p / ours[n]) if ours[n] > 0 else math.inf for n, p in printed.items())


def reverse_traffic(table: dict[tuple[str, str, str, str], list[dict[str, float]]]) -> list[Check]:
    """Traffic on the reverse link, for each way in which the set-up can be read."""
    readings = list(dict.fromkeys((other, buffer, ack) for other, buffer, ack, _ in table))
    gains: dict[tuple[str, str, str], list[stats.Estimate]] = {}
    windows, peaks, used = {}, {}, {}
    for reading in readings:
        rate = {name: column(table[*reading, name], "throughput") for name in COMPARED}
        ratios = (stats.paired(rate["Santa Cruz n=5"], rate[name]).ratio for name in ("Reno", "Vegas (1,3)"))
        gains[reading] = [replace(of, value=of.value - 1, low=of.low - 1, high=of.high - 1) for of in ratios]
        windows[reading], peaks[reading] = (stats.mean(column(table[*reading, "Santa Cruz n=5"], f"cwnd {of}")) for of in ("mean", "max"))  # fmt: skip
        if reading[0] != "same":  # Reno beside Reno is both
            used[reading] = stats.mean(column(table[*reading, "Reno"], "busy"), bounds=(0.0, 1.0))
    said = {
        (other, buffer, ack): f"{'the same protocol' if other == 'same' else other} with {buffer} back, {ack}"
        for other, buffer, ack in readings
    }
    most = [max((g[i] for g in gains.values()), key=lambda of: of.value) for i in (0, 1)]
    n = len(table[*readings[0], "Reno"])
    where = "Traffic on the reverse link (dissertation)"
    return [
        judged(
            f"{where}: Reno's forward link is under-used",
            [u.below(0.95) for u in used.values()],
            "busy "
            + ", ".join(f"{u.brief(100)} % ({said[r]})" for r, u in used.items())
            + f"; alone it is full. Under-used is: below 95 %; n = {n} runs each, which differ in when the second connection starts",
        ),
        judged(
            f"{where}: Santa Cruz (n = 5) reaches a window of about 22 packets regardless",
            [of for r in readings for of in (peaks[r].against(21, math.inf), windows[r].against(20, 24))],
            "largest and mean window: "
            + ", ".join(f"{peaks[r].brief()} and {windows[r].brief()} packets ({said[r]})" for r in readings)
            + f". For it are a largest window of 21 or more and a mean of 20 to 24; n = {n} runs each",
        ),
        judged(
            f"{where}: Santa Cruz' throughput is up to 68 % above Reno's and 78 % above Vegas'",
            [of.against(0.75 * p, 1.5 * p) for of, p in zip(most, (0.68, 0.78), strict=True)],
            "n = 5, on Reno and on Vegas: "
            + ", ".join(f"{gains[r][0].brief(100)} and {gains[r][1].brief(100)} % ({said[r]})" for r in readings)
            + f". The most of each is judged: from 0.75 to 1.5 of what is printed; n = {n} runs each",
        ),
    ]


def asymmetric_links(table: dict[Reading, dict[str, float]]) -> list[Check]:
    """Asymmetric links, Lakshman's configuration; nothing is left to chance."""
    reno, santa_cruz = ({ack: run for (name, ack), run in table.items() if name == of} for of in COMPARED[:2])
    # A cycle ends in a fast recovery, or straight in a timeout where too few duplicate ACKs come back.
    per_cycle = {ack: run["timeouts"] / max(run["recoveries"], run["timeouts"], 1) for ack, run in reno.items()}
    where = "Asymmetric links, k = 3 (dissertation)"
    return [
        judged(
            f"{where}: Reno times out in every cycle",
            [stats.fact(x > 0.9) for x in per_cycle.values()],
            "; ".join(
                f"{ack}: {run['timeouts']:.0f} timeouts and {run['recoveries']:.0f} fast recoveries in 180 s, {run['throughput']:.3f} Mbit/s"
                for ack, run in reno.items()
            ),
        ),
        judged(
            f"{where}: Santa Cruz does not time out",
            [stats.fact(run["timeouts"] == 0) for run in santa_cruz.values()],
            "n = 5, "
            + "; ".join(f"{ack}: {run['timeouts']:.0f} timeouts in 180 s, {run['throughput']:.3f} Mbit/s" for ack, run in santa_cruz.items()),
        ),
    ]  # fmt: skip


def window_and_queue(trace: Result, until_s: float) -> Chart:
    """The window above, the bottleneck's queue below, as in figures 9 and 10."""
    window = until(trace.samples.select("time_s", y=pl.col("cwnd_bytes") / MSS), until_s)
    queue = until(trace.link_samples.filter(pl.col("link") == LINK).select("time_s", y="queue_packets"), until_s)
    with styled():
        chart = Chart(6.4, 4.4)
        panels = chart.subplots(2, 1, sharex=True)
        for axes, table, label, line in (
            (panels[0], window, "Window (packets)", "17 packets: fills the pipe (above), the buffer (below)"),
            (panels[1], queue, "Queue (packets waiting)", None),
        ):
            axes.step(*thin(table["time_s"], table["y"]), where="post", **look(0))
            axes.axhline(17, color="#666666", linestyle=":", linewidth=1, label=line)
            axes.set_ylabel(label)
            axes.set_ylim(0, max(21.0, float(table["y"].max()) * 1.05))
            axes.set_xlim(0, until_s)
        panels[1].set_xlabel("Time (s)")
        chart.legend_below()
    return chart


def until(table: pl.DataFrame, end_s: float) -> pl.DataFrame:
    """The rows up to a time, the last value held until then."""
    kept = table.filter(pl.col("time_s") <= end_s)
    return pl.concat([kept, kept.tail(1).with_columns(time_s=pl.lit(float(end_s)))])


def points(table: pl.DataFrame, label: str, *, log: bool = False) -> Chart:
    """Printed and measured, a point for each protocol."""
    with styled():
        chart = Chart(6.4, 3.6)
        axes = chart.add_subplot()
        series = [c for c in table.columns if c != "protocol"]
        for i, name in enumerate(series):
            at = np.arange(table.height) + 0.12 * (i - (len(series) - 1) / 2)
            axes.plot(at, table[name], "osD^vP"[i], label=name, color=look(i)["color"], markersize=5)
        if log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
        _name(axes, table["protocol"], label)
        chart.legend_below()
    return chart


def _name(axes: Any, names: pl.Series, label: str) -> None:
    shown = [n.replace("Santa Cruz", "Santa Cruz\n").replace("Vegas ", "Vegas\n") for n in names]
    axes.set_xticks(range(len(names)), shown)
    axes.set_ylabel(label)
    axes.grid(axis="x", visible=False)
    axes.set_axisbelow(True)


def figures(
    traces: dict[str, Result], spread: pl.DataFrame, start: pl.DataFrame, published: pl.DataFrame
) -> list[Figure]:
    """Figures 9 and 10, and what helps to read Table 2."""
    made = []
    for figure, name in (("9", "Reno"), ("10", "Santa Cruz n=1.5")):
        trace = traces[name]
        data = trace.samples.select("time_s", window_packets=pl.col("cwnd_bytes") / MSS)
        queue = trace.link_samples.filter(pl.col("link") == LINK).select("time_s", "queue_packets")
        both = pl.concat([data, queue], how="diagonal").sort("time_s", maintain_order=True)
        made.append(
            Figure(
                f"figure-{figure}",
                f"Figure {figure}: window and bottleneck queue of {name}",
                "One run (n = 1, no interval), every change drawn, the first 60 of 200 s. The printed figure's "
                "curve is not available as numbers; what its text says is among the checks.",
                window_and_queue(trace, 60),
                both.filter(pl.col("time_s") <= 60),
            )
        )
    chosen = spread.filter(pl.col("definition") == NEAREST, pl.col("length_s") == WHOLE[-1])
    shown = chosen.pivot("ack", index="protocol", values="value")
    printed = {what: [value(published, name, what) for name in traces] for what in ("delay variance", "throughput")}
    shown = shown.with_columns(pl.Series("printed, headed msec", printed["delay variance"]))
    made.append(
        Figure(
            "delay-variance",
            "Delay variance as s² × 1000",
            f"Logarithmic scale: points, not bars. Over {WHOLE[-1]} s from the first SYN on, one run each (n = 1), beside the printed "
            "column. The table above has all definitions that were tried.",
            points(shown, f"{NEAREST.capitalize()}; printed: as headed", log=True),
            shown,
        )
    )
    first = start["ack"][0]
    table = start.filter(pl.col("ack") == first).pivot("length_s", index="protocol", values="throughput")
    table = table.rename({str(length): f"{length} s" for length in (*LENGTHS, *WHOLE)})
    table = table.with_columns(pl.Series("printed", printed["throughput"]))
    made.append(
        Figure(
            "start-up",
            "Throughput from the first SYN on",
            f"Payload that arrived between the first SYN and the end of a run of the given length, {first}, beside the printed "
            "throughput. One run (n = 1) for each protocol; the axis does not begin at 0.",
            points(table.select("protocol", "printed", "5 s", "10 s", "20 s", "30 s", "200 s"), "Throughput (Mbit/s)"),
            start,
        )
    )
    return made


def given(premise: bool, text: str) -> str:
    """An explanation, as long as the figures still bear it out."""
    return text if premise else f"No longer borne out by the figures above, and wants a new look: “{text}”"


def packets(delay_ms: float) -> float:
    """Packets in the queue at a mean one-way delay: what is above the path's."""
    return (delay_ms - PATH) / WAIT


def mistaken(about: dict[str, Any], printed: dict[str, float], given: dict[str, float]) -> str:
    """The rows whose tolerance lets the delay of another pass, and of which."""
    limits = about["tolerance"]["mean_delay"]
    passing = {
        name: [other for other in given if other != name and abs(given[other] / printed[name] - 1) <= limits[name]]
        for name in printed
    }
    return "; ".join(f"{name} that of {' and '.join(others)}" for name, others in passing.items() if others) or "none"


def answer(table: dict[Reading, dict[str, float]], ack: str) -> str:
    """The answer to the question, in a paragraph."""
    of = {name: run for (name, which), run in table.items() if which == ack}
    delay = {name: run["mean delay"] for name, run in of.items()}
    busy = min(run["busy"] for run in of.values())
    always = "all the time" if busy > 0.9995 else f"at least {100 * busy:.1f} % of the time"
    again = sum(run["retransmitted"] for name, run in of.items() if name != "Reno")
    low, middle, high = (delay[f"Santa Cruz n={n}"] for n in ("1.5", "3", "5"))
    return (
        f"With {ack} every protocol keeps the link busy {always} after the start. Reno holds {delay['Reno']:.1f} ms of one-way delay, of which 46.9 ms are the path's; Santa Cruz {low:.1f}, {middle:.1f} and {high:.1f} ms at n = 1.5, 3 and 5, Vegas "
        f"{delay['Vegas (1,3)']:.1f} ms; these four retransmit {again:.0f} packets between them. "
        + given(
            busy > 0.99 and low < middle < high < delay["Reno"],
            "That is the paper's finding: the operating point n sets the delay, and the throughput stays.",
        )
    )


def differences(
    about: dict[str, Any],
    table: dict[Reading, dict[str, float]],
    spread: pl.DataFrame,
    start: pl.DataFrame,
    published: pl.DataFrame,
) -> list[str]:
    """Where we differ, by how much, and what was run to find out why."""
    each, two = dict.fromkeys(ack for _, ack in table)
    names = list(dict.fromkeys(name for name, _ in table))
    printed = {name: value(published, name, "mean delay") for name in names}
    variance = {name: value(published, name, "delay variance") for name in names}
    delay = {reading: run["mean delay"] for reading, run in table.items()}

    def nearer(name: str) -> str:
        return min((each, two), key=lambda ack: abs(delay[name, ack] - printed[name]))

    fits = {ack: [name for name in names if nearer(name) == ack] for ack in (each, two)}
    factors = {
        (what, ack, length): off(dict(of.select("protocol", "value").iter_rows()), variance)
        for (what, ack, length), of in spread.group_by("definition", "ack", "length_s", maintain_order=True)
    }
    best = min(factors, key=lambda key: factors[key])
    rival = min((key for key in factors if key[0] != best[0]), key=lambda key: factors[key])
    n5 = "Santa Cruz n=5"
    widths = [about["tolerance"]["mean_delay"][name] * printed[name] for name in names]
    return [
        "How many packets an ACK is for is not printed, and no reading fits all rows. Mean delays, printed and with "
        f"{each} and {two}: " + ", ".join(f"{n} {printed[n]} and {delay[n, each]:.1f}, {delay[n, two]:.1f}" for n in names)
        + f" ms. {', '.join(fits[each])} lie nearer with {each}, {', '.join(fits[two])} with {two}. "
        + given(
            fits[two] == [n5],
            f"The printed row of n = 5 is {packets(printed[n5]):.1f} packets in the queue; ours {packets(delay[n5, two]):.1f} with {two}, "
            f"{packets(delay[n5, each]):.1f} with {each}.",
        ),
        f"Throughput. A full link carries {RATE * MSS / PACKET / 1e6:.2f} Mbit/s of payload or {RATE / 1e6:.2f} with headers; the printed 1.45 and 1.47 are "
        "more than the one and less than the other. Which of them is printed decides the verdicts: as payload "
        f"{_agree(table, published, about, 'throughput')} of {len(table)} rows agree, with headers {_agree(table, published, about, 'throughput with headers')}. "
        "All of ours are within 1 % of a full link, so the rows of payload say that the link is full and tell no protocols apart. The paper explains its "
        f"differences by the start, so its runs were short; how short is not printed. Counted from the first SYN on, our five are {_range(start, each, 5)} "
        f"Mbit/s apart after 5 s and {_range(start, each, 200)} after 200 s; printed, 0.07.",
        f"Of every delay {PATH} ms are the path's, so a tolerance of the whole delay is wide: {min(widths):.1f} to {max(widths):.1f} ms, "
        f"{min(widths) / WAIT:.1f} to {max(widths) / WAIT:.1f} packets in the queue. Rows that take the delay of another for theirs: of those printed, "
        f"{mistaken(about, printed, printed)}. "
        + "".join(f"Of ours with {ack}, {mistaken(about, printed, {n: delay[n, ack] for n in names})}. " for ack in (each, two))
        + "What is the queue's, printed and ours: "
        + ", ".join(
            f"{n} {printed[n] - PATH:.1f} and {delay[n, each] - PATH:.1f} ({each}), {delay[n, two] - PATH:.1f} ({two})" for n in names
        )
        + " ms.",
        "Delay variance. The column is headed “msec” and does not say what it is. Of what was tried "
        f"{best[0]} over {best[2]} s with {best[1]} comes nearest, off by a factor of {factors[best]:.1f} at most; the next definition is "
        f"{rival[0]} (× {factors[rival]:.1f}, {rival[1]}, {rival[2]} s). A guess, so the rows have no verdict; the ordering is a check.",
        "Traffic on the reverse link and asymmetric links are in the dissertation, not in the article. Neither what the second connection "
        "runs, nor the buffer of the link back, nor the ACKs are in the pages we have, so all are varied, and the spread of the readings is as "
        "large as the printed effect. For the asymmetric link the rates are not given either: from k = 3 we took the basic bottleneck "
        "with a return link of 62.5 ACKs a second and as much buffer there as forward.",
    ]  # fmt: skip


def _agree(table: dict[Reading, dict[str, float]], published: pl.DataFrame, about: dict[str, Any], metric: str) -> int:
    """Rows of Table 2 that agree if its throughput is this."""
    return sum(
        abs(run[metric] / value(published, name, "throughput") - 1) <= about["tolerance"]["throughput"]
        for (name, _), run in table.items()
    )


def _range(start: pl.DataFrame, ack: str, length: int) -> str:
    of = start.filter(pl.col("ack") == ack, pl.col("length_s") == length)["throughput"]
    return f"{of.max() - of.min():.3f}"  # type: ignore[operator]


def method(about: dict[str, Any], n: int) -> list[str]:
    """How it was measured."""
    return [
        f"Source, 10 Mbit/s, router, 1.5 Mbit/s with 40 ms each way and 17 packets waiting plus one being sent, router, 10 Mbit/s, "
        f"sink. Packets of {PACKET} bytes on the wire, {MSS} of payload. Profile “classic”: initial window 2, "
        "no SACK, no timestamps; the timer's floor is 0.2 s. Santa Cruz runs on NewReno's recovery: its own (a bit vector of "
        "holes) is not modelled, and in the basic experiment it loses nothing.",
        f"{about['basic']['duration']} a run, the first {about['basic']['warmup']} left out of Table 2. Nothing in the basic and in the "
        "asymmetric experiment is left to chance: one run is all there is, and it has no interval; what the paper leaves open is varied instead. "
        f"Traffic on the reverse link: {n} runs that differ in when the second connection starts, within "
        f"{about['reverse']['flow']['start_jitter']}; intervals are Student's t, 95 %.",
        f"Each number of Table 2 is judged twice, once for each reading of the ACKs: {5 * 4} printed numbers in {2 * 5 * 4} rows, "
        f"and throughput as payload and with headers, {2 * 5} rows more. "
        "Utilisation is throughput over 1.5 Mbit/s, as printed (1.45 / 1.5 = 0.97). A printed number agrees within 3 % for throughput and "
        "utilisation, 10 % for Reno's and Vegas' mean delay, 15 % for Santa Cruz' (a packet in the queue is "
        f"{WAIT:.2f} ms, a tenth of it at n = 1.5 and 3, and n is a threshold between whole packets), 1 % for the numbers of the set-up.",
    ]
