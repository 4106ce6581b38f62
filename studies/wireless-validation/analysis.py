"""The radio half beside theory and ns-2.35: a verdict for each number, and for each ordering that theory or ns-2 has."""

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

STATIONS = (1, 2, 5, 10, 20, 50)
SAME = 0.05  # goodputs are as good as equal within this
ATTEMPTS = 7  # of an RTS, or of a frame that goes without
Key = tuple[Any, ...]
Runs = dict[Key, list[list[float]]]
"""Goodput of each flow in kbit/s, for each seed, by what tells settings apart; its first is the part."""


def run(context: Context) -> Findings:
    """Everything of the study."""
    designed = dict(design(context))
    seeds = context.about["seeds"]["quick" if context.quick else "full"]
    jobs = [(key, scenario, seed) for key, scenario in designed.items() for seed in range(1, 1 + seeds[key[0]])]
    measured = context.run([(scenario, seed) for _, scenario, seed in jobs], measure, keep="wireless/1")
    runs: Runs = {}
    for (key, _, _), values in zip(jobs, measured, strict=True):
        runs.setdefault(key, []).append(values)
    parts = {
        "saturation": saturation,
        "stop-and-wait": stop_and_wait,
        "udp": udp,
        "tcp": tcp,
        "window": windows,
        "cross": cross,
        "diameter": diameter,
    }
    rows: list[Comparison] = []
    checks: list[Check] = []
    for part in context.parts:
        more, claims = parts[part](context, runs)
        rows += more
        checks += claims
    return Findings(
        comparisons=rows,
        checks=checks,
        figures=[figure(context, runs) for part, figure in FIGURES.items() if part in context.parts],
        tables=[window_table(context, runs)] if "window" in context.parts else [],
        summary=answer(rows, checks),
        method=METHOD,
    )


# --- What is run -----------------------------------------------------------------------------------------------------


def reference(context: Context, name: str) -> list[dict[str, Any]]:
    """A table of ns-2's."""
    return pl.read_csv(context.folder / f"{name}.csv", comment_prefix="#").to_dicts()


def design(context: Context) -> Iterable[tuple[Key, Scenario]]:  # noqa: PLR0912
    """Every setting of the parts that are wanted."""
    about, quick = context.about, context.quick
    if "saturation" in context.parts:
        for access, size, n in itertools.product(("rts_cts", "basic"), (1000, 1500), STATIONS):
            yield ("saturation", access, size, n), cell(about, access, size, n, quick)
    if "stop-and-wait" in context.parts:
        for hops in (row["hops"] for row in reference(context, "window") if row["window"] == 1):
            yield ("stop-and-wait", hops), chain(about, hops, [tcp_flow(about, "NewReno", 1)])
    if "udp" in context.parts:
        for row, offered in itertools.product(chains(context), about["udp"]["offered"]):
            flow = {"kind": "cbr", "packet_size": "1500 B", "rate": f"{offered} Mbit/s"}
            yield ("udp", row["hops"], offered), chain(about, row["hops"], [flow])
    if "tcp" in context.parts:
        for row in tables(context):
            if not quick or row["hops"] in (4, 8):
                flow = tcp_flow(about, row["variant"], row["window"])
                yield ("tcp", row["variant"], row["window"], row["hops"]), chain(about, row["hops"], [flow])
    if "window" in context.parts:
        for row in reference(context, "window"):
            if not quick or row["hops"] == 8:
                flow = tcp_flow(about, "NewReno", row["window"])
                yield ("window", row["hops"], row["window"]), chain(about, row["hops"], [flow])
    if "cross" in context.parts:
        for row, window in itertools.product(reference(context, "cross"), about["cross"]["windows"]):
            pair = [(row["flow1"], "horizontal"), (row["flow2"], "vertical")]
            flows = [{**tcp_flow(about, law, window, row["packet_bytes"]), "path": path} for law, path in pair]
            yield ("cross", *cross_key(row), window), chain(about, row["hops"], flows, "cross")
    if "diameter" in context.parts:
        yield ("diameter", 30), chain(about, 32, [tcp_flow(about, "NewReno", 4)])
        longer = {"routing": {"name": "aodv", "network_diameter": 64}, "ttl": 64}
        yield ("diameter", 64), chain(about, 32, [tcp_flow(about, "NewReno", 4)], **longer)


def chains(context: Context) -> list[dict[str, Any]]:
    """Rows about datagrams over a chain of 250 m."""
    return [row for row in reference(context, "udp") if row["spacing_m"] == 250]


def tables(context: Context) -> list[dict[str, Any]]:
    """Rows about TCP over a chain of 250 m that ns-2's diameter allows."""
    return [row for row in reference(context, "chain") if row["spacing_m"] == 250 and row["hops"] < 30]


def cross_key(row: dict[str, Any]) -> Key:
    return row["flow1"], row["packet_bytes"], row["hops"]


def tcp_flow(about: dict[str, Any], law: str, window: int, payload: int = 1460) -> dict[str, Any]:
    """One that may have so many segments under way."""
    size = {"packet_size": f"{payload + 40} B", "receive_buffer": f"{window * payload} B"}
    return {"cc": about["laws"][law], **about["flow"], **size}


def chain(
    about: dict[str, Any], hops: int, flows: list[dict[str, Any]], topology: str = "chain", **more: Any
) -> Scenario:
    """So many hops of 250 m, 50 s."""
    network = {"topology": topology, "hops": hops, "wireless": {**about["wireless"], **more}}
    return Scenario.from_dict(
        {"name": f"{topology} of {hops} hops", "duration": "50 s", "network": network, "flows": flows,
         "record": {"samples": "off"}}
    )  # fmt: skip


def cell(about: dict[str, Any], access: str, size: int, n: int, quick: bool) -> Scenario:
    """Saturated stations on a circle around the one that they send to, whose addresses are resolved already."""
    around = [(50 * math.cos(2 * math.pi * i / n), 50 * math.sin(2 * math.pi * i / n)) for i in range(n)]
    threshold = "always" if access == "rts_cts" else "never"
    flow = {"kind": "cbr", "to": 0, "packet_size": f"{size} B", "rate": f"{4 / n:.6f} Mbit/s"}
    return Scenario.from_dict(
        {
            "name": f"cell of {n}",
            "duration": "15 s" if quick else "30 s",
            "warmup": "5 s",
            "network": {
                "topology": "custom",
                "places": [["0 m", "0 m"], *([f"{x:.3f} m", f"{y:.3f} m"] for x, y in around)],
                "wireless": {
                    "profile": about["wireless"]["profile"],
                    "routing": "direct",
                    "rts_threshold": threshold,
                    "arp": False,
                },
            },
            "flows": [{**flow, "from": i + 1, "start": f"{0.05 * i:.2f} s"} for i in range(n)],
            "record": {"samples": "off"},
        }
    )


def measure(result: Result) -> list[float]:
    """Goodput of each flow in kbit/s: the packets of ns-2's datagrams are payload."""
    columns = result.flows.select("cc", "goodput_bps", "throughput_bps").rows()
    return [(throughput if cc == "udp" else goodput) / 1e3 for cc, goodput, throughput in columns]


def totals(runs: list[list[float]]) -> list[float]:
    return [sum(values) for values in runs]


def mean(runs: list[list[float]]) -> float:
    return float(np.mean(totals(runs)))


# --- What it comes to ------------------------------------------------------------------------------------------------

Found = tuple[list[Comparison], list[Check]]


def saturation(context: Context, runs: Runs) -> Found:
    """One cell beside Bianchi's formula and ns-2."""
    tolerance, rows = context.about["tolerance"], []
    theirs = {
        (row["access"], row["payload_bytes"], row["n_stations"]): row["ns2_kbps"]
        for row in reference(context, "saturation")
        if row["data_rate_bps"] == 2e6
    }
    for (access, size, n), ns2 in theirs.items():
        phy = wireless.Dsss(rts=access == "rts_cts")
        formula, finite = (wireless.saturation_bps(n, size, phy, attempts) / 1e3 for attempts in (None, ATTEMPTS))
        ours = totals(runs["saturation", access, size, n])
        item = f"{'RTS/CTS' if phy.rts else 'basic'}, {size} B, {n} station{'s' if n > 1 else ''}"
        note = f"With {ATTEMPTS} attempts the formula gives {finite:.1f}."
        limit = tolerance["bianchi"][str(n)]
        rows.append(
            compare(item, "Bianchi", "kbit/s", round(formula, 1), ours, source="formula", tolerance=limit, note=note)
        )
        rows.append(
            compare(item, "ns-2.35", "kbit/s", ns2, ours, source="simulator", tolerance=tolerance["saturation"])
        )
    found = {}
    for size, n in itertools.product((1000, 1500), STATIONS):
        basic, rts = (totals(runs["saturation", access, size, n]) for access in ("basic", "rts_cts"))
        told = f"{size} B, {n} stations: basic {np.mean(basic):.1f}, RTS/CTS {np.mean(rts):.1f} kbit/s"
        found[told] = less(rts, basic) if n <= 5 else less(basic, rts)
    return rows, [ordering("Basic access carries more to five stations, RTS/CTS from ten on, at both sizes", found)]


def stop_and_wait(context: Context, runs: Runs) -> Found:
    """A window of one segment beside the exchange times and ns-2."""
    rows, tolerance = [], context.about["tolerance"]["stop-and-wait"]
    for row in reference(context, "window"):
        if row["window"] == 1:
            ours = totals(runs["stop-and-wait", row["hops"]])
            item, formula = f"window 1, {hop(row)}", wireless.stop_and_wait_bps(row["hops"]) / 1e3
            rows.append(
                compare(
                    item, "exchange times", "kbit/s", round(formula, 1), ours, source="formula", tolerance=tolerance
                )
            )
            rows.append(
                against_ns2(item, row["goodput_kbps_mean"], row["goodput_kbps_sd"], row["runs"], ours, tolerance)
            )
    return rows, []


def udp(context: Context, runs: Runs) -> Found:
    """Datagrams over a chain."""
    about = context.about
    offered, near = about["udp"]["offered"], about["tolerance"]
    one = max(mean(runs["udp", 1, rate]) for rate in offered)
    rows, found = [], {}
    for row in chains(context):
        hops = row["hops"]
        best = max(offered, key=lambda rate: mean(runs["udp", hops, rate]))
        ours, greedy = (totals(runs["udp", hops, rate]) for rate in (best, offered[-1]))
        item = f"UDP, {hop(row)}"
        if hops in (2, 3):
            rows.append(compare(item, "share of one hop: 1/h", "1", round(1 / hops, 4), [x / one for x in ours], source="formula", tolerance=near["udp"]))  # fmt: skip
        limit = near["tcp"]["near" if hops <= 6 else "far"]
        note = f"Ours at {best} Mbit/s offered, ns-2's at {row['best_offered']}."
        rows.append(compare(item, "best load, ns-2.35", "kbit/s", row["best_goodput_kbps"], ours, source="simulator", tolerance=limit, note=note))  # fmt: skip
        rows.append(
            compare(
                item,
                "greedy, ns-2.35",
                "kbit/s",
                row["greedy_goodput_kbps"],
                greedy,
                source="simulator",
                tolerance=limit,
            )
        )
        if hops >= 4:
            share = stats.mean([x / one for x in ours])
            found[f"{hop(row)}: {share.brief()} of one hop"] = share.against(1 / 7.5, 1 / 4)
        if hops >= 6:
            found[f"{hop(row)}: greedy {np.mean(greedy):.1f}, best {np.mean(ours):.1f} kbit/s"] = less(greedy, ours)
    claim = "From four hops on the best load carries 1/4 to 1/7.5 of one hop; from six on a greedy source carries less"
    return rows, [ordering(claim, found)]


def tcp(context: Context, runs: Runs) -> Found:
    """TCP over a chain with AODV."""
    tolerance, rows = context.about["tolerance"]["tcp"], []
    there = [row for row in tables(context) if ("tcp", row["variant"], row["window"], row["hops"]) in runs]
    for row in there:
        ours = totals(runs["tcp", row["variant"], row["window"], row["hops"]])
        item = f"{row['variant']}, window {row['window']}, {hop(row)}"
        limit = tolerance["near" if row["hops"] <= 6 else "far"]
        rows.append(against_ns2(item, row["goodput_kbps_mean"], row["goodput_kbps_sd"], row["runs"], ours, limit))
    lengths, widths = (sorted({row[name] for row in there}) for name in ("hops", "window"))

    def at(law: str, window: int, hops: int) -> list[float]:
        return totals(runs["tcp", law, window, hops])

    slower, larger, longer = {}, {}, {}
    for window, hops in itertools.product(widths, lengths):
        vegas, reno = at("Vegas", window, hops), at("NewReno", window, hops)
        told = f"window {window}, {hops} hops: {np.mean(vegas):.1f} and {np.mean(reno):.1f}"
        slower[told] = stats.paired(vegas, reno).difference.against(-SAME * float(np.mean(reno)), math.inf)
    for hops in (h for h in lengths if h >= 7):
        larger[f"{hops} hops"] = less(at("NewReno", widths[-1], hops), at("NewReno", widths[0], hops))
    for law, window in itertools.product(context.about["laws"], widths):
        goodput = np.array([at(law, window, hops) for hops in lengths])
        smooth = (goodput[:-2] + goodput[1:-1] + goodput[2:]) / 3 if len(goodput) > 3 else goodput
        for i in range(len(smooth) - 1):
            longer[f"{law}, window {window}, near {lengths[i + 1]} hops"] = less(smooth[i + 1], smooth[i])
    return rows, [
        ordering(f"Vegas carries at least as much as NewReno, at every window and length (within {SAME:.0%})", slower),
        ordering("From seven hops on NewReno carries more with the smallest window than with the largest", larger),
        ordering("Goodput falls with every hop (means over three lengths)", longer),
    ]


def windows(context: Context, runs: Runs) -> Found:
    """The window that carries most."""
    lengths = sorted({key[1] for key in runs if key[0] == "window" and key[1] >= 4})
    found, told = {}, []
    for hops in lengths:
        at = {key[2]: totals(of) for key, of in runs.items() if key[:2] == ("window", hops)}
        ranked = sorted(at, key=lambda w: -np.mean(at[w]))
        inside, outside = (next(w for w in ranked if (abs(w - hops / 4) <= 2) == so) for so in (True, False))
        told.append(f"{hops} hops: {ranked[0]}")
        found[f"{hops} hops: {inside}, of the others {outside}"] = less(at[outside], at[inside])
    at = {key[2]: totals(of) for key, of in runs.items() if key[:2] == ("window", 8)}
    gain = stats.paired(max(at.values(), key=np.mean), at[8]).ratio
    best = ordering("The best window of NewReno is within two segments of h/4, from four hops on", found)
    return [], [
        Check(best.check, best.verdict, f"Best windows: {', '.join(told)}. {best.evidence}"),
        judged(
            "Over eight hops the best window carries at least half as much again as eight segments",
            [gain.against(1.5, math.inf)],
            f"Ratio {gain.text()}",
        ),
    ]


def cross(context: Context, runs: Runs) -> Found:
    """Two flows that cross: what both carry, and how unequal single runs are."""
    rows, tolerance = [], context.about["tolerance"]["cross"]
    for row, window in itertools.product(reference(context, "cross"), context.about["cross"]["windows"]):
        of = np.array(runs["cross", *cross_key(row), window])
        item = f"cross, {hop(row)}, {row['flow1']}, {row['flow2']}"
        setting = f"{row['packet_bytes']} B, window {window}"
        jain = of.sum(1) ** 2 / (2 * (of**2).sum(1))
        spread = ", ".join(
            f"{row[f'flow{i}']} {m:.0f}, s = {s:.0f} (ns-2 {row[f'flow{i}_kbps_mean']:.0f}, s = {row[f'flow{i}_kbps_sd']:.0f})"
            for i, m, s in zip((1, 2), of.mean(0), of.std(0, ddof=1), strict=True)
        )
        both, note = of.sum(1).tolist(), f"Each: {spread}."
        rows += [
            compare(
                item,
                f"{setting}: both, ns-2.35",
                "kbit/s",
                row["aggregate_kbps"],
                both,
                source="simulator",
                tolerance=tolerance,
                note=note,
            ),
            compare(
                item,
                f"{setting}: Jain, ns-2.35",
                "1",
                row["jain_mean_of_runs"],
                jain.tolist(),
                source="simulator",
                tolerance=tolerance,
                bounds=(0.5, 1.0),
            ),
        ]
    return rows, []


def diameter(context: Context, runs: Runs) -> Found:
    """32 hops are more than ns-2's AODV makes."""
    short, long = (totals(runs["diameter", n]) for n in (30, 64))
    row = compare("32 hops, diameter 30", "goodput, ns-2.35", "kbit/s", 0.0, short, source="simulator", slack=0.0)
    told = f"{np.mean(long):.1f} kbit/s (n = {len(long)}), and some in every run"
    return [row], [judged("With a diameter of 64 hops 32 hops do deliver", [stats.every(x > 0 for x in long)], told)]


def hop(row: dict[str, Any]) -> str:
    return f"{row['hops']} hop{'s' if row['hops'] > 1 else ''}"


def against_ns2(item: str, theirs: float, s: float, n: int, ours: list[float], tolerance: float) -> Comparison:
    """A mean of ns-2's runs; that these have a spread themselves goes into the verdict."""
    return compare(
        item,
        "goodput, ns-2.35",
        "kbit/s",
        theirs,
        ours,
        source="simulator",
        tolerance=tolerance,
        spread=(s, n),
        bounds=(0.0, math.inf),
    )


def less(a: Sequence[float], b: Sequence[float]) -> str:
    """Whether one carries less than the other, seed by seed."""
    return stats.paired(a, b).difference.below(0)


def ordering(claim: str, found: dict[str, str]) -> Check:
    """A claim of many comparisons; the evidence names those that are not for it."""
    of = {
        verdict: [told for told, v in found.items() if v == verdict] for verdict in (stats.DIFFERS, stats.CANNOT_TELL)
    }
    words = {stats.DIFFERS: "Against it", stats.CANNOT_TELL: "Cannot tell"}
    return judged(claim, found.values(), " ".join(f"{words[v]}: {'; '.join(told)}." for v, told in of.items() if told))


# --- The page ---------------------------------------------------------------------------------------------------------


def saturation_figure(context: Context, runs: Runs) -> Figure:
    """Throughput over stations."""
    ns2 = [
        row for row in reference(context, "saturation") if row["data_rate_bps"] == 2e6 and row["payload_bytes"] == 1000
    ]
    made = []
    with styled():
        chart = Chart(7.4, 3.8)
        axes = chart.subplots()
        for index, (access, name) in enumerate((("rts_cts", "RTS/CTS"), ("basic", "basic access"))):
            phy, colour = wireless.Dsss(rts=access == "rts_cts"), look(index)["color"]
            formula = [wireless.saturation_bps(n, 1000, phy) / 1e3 for n in STATIONS]
            theirs = [row["ns2_kbps"] for row in ns2 if row["access"] == access]
            ours = [mean(runs["saturation", access, 1000, n]) for n in STATIONS]
            for line, dash, of in ((formula, "-", "Bianchi"), (theirs, DASHED, "ns-2.35")):
                chart.name(f"{name}, {of}", *axes.plot(STATIONS, line, color=colour, linestyle=dash, linewidth=1))
            axes.plot(
                STATIONS, ours, color=colour, marker="os"[index], markersize=4, linestyle="none", label=f"{name}, ours"
            )
            made += zip([access] * 6, STATIONS, formula, theirs, ours, strict=True)
        axes.set_xscale("log", base=2)
        axes.set_xticks(STATIONS, [str(n) for n in STATIONS])
        axes.set_xlabel("Stations")
        axes.set_ylabel("Throughput (kbit/s)")
        axes.set_ylim(0)
        chart.legend_below(key={"Bianchi": "-", "ns-2.35": DASHED})
    n = len(runs["saturation", "basic", 1000, 1])
    data = pl.DataFrame(made, schema=["access", "stations", "bianchi_kbps", "ns2_kbps", "ours_kbps"], orient="row")
    caption = f"1000 bytes, 2 Mbit/s. Ours: means of n = {n} runs; their intervals are in the table."
    return Figure("saturation", "A saturated cell", caption, chart, data)


def tcp_figure(context: Context, runs: Runs) -> Figure:
    """Goodput over hops."""
    made, n = [], 0
    with styled():
        chart = Chart(7.4, 3.8)
        panels = chart.subplots(1, 3, sharey=True)
        for axes, law in zip(panels, context.about["laws"], strict=True):
            for index, window in enumerate((4, 8, 32)):
                of = [row for row in tables(context) if (row["variant"], row["window"]) == (law, window)]
                of = [row for row in of if ("tcp", law, window, row["hops"]) in runs]
                ours = [stats.mean(totals(runs["tcp", law, window, row["hops"]])) for row in of]
                hops, colour = [row["hops"] for row in of], look(index)["color"]
                label = f"ours, window {window}" if law == "Sack" else "_"
                axes.plot(hops, [row["goodput_kbps_mean"] for row in of], color=colour, linewidth=1)
                drawn = axes.errorbar(hops, [x.value for x in ours], [x.half_width for x in ours], color=colour, marker="osD"[index],
                              markersize=3.5, linestyle="none", elinewidth=0.8, capsize=2, label=label)  # fmt: skip
                aside(drawn, index, 3)
                made += [(law, window, row["hops"], row["goodput_kbps_mean"], x.value, x.low, x.high)
                         for row, x in zip(of, ours, strict=True)]  # fmt: skip
                n = ours[0].n
            axes.set_title(law, color="#555555")
            axes.set_xlabel("Hops")
            axes.set_xticks(hops)
        panels[0].set_ylabel("Goodput (kbit/s)")
        panels[0].set_ylim(bottom=0)  # of all panels, once all is drawn
        chart.legend_below(key={"ns-2.35": "-"})
    schema = ["law", "window", "hops", "ns2_kbps", "ours_kbps", "low", "high"]
    caption = f"Lines: ns-2.35, means of 20 runs. Marks: ours, means of n = {n} runs with 95 % intervals, those of the windows a little aside of each other."
    return Figure("tcp", "TCP over a chain", caption, chart, pl.DataFrame(made, schema=schema, orient="row"))


FIGURES = {"saturation": saturation_figure, "tcp": tcp_figure}


def window_table(context: Context, runs: Runs) -> Table:
    """Goodput by length and window, ours and ns-2's."""
    rows = [row for row in reference(context, "window") if ("window", row["hops"], row["window"]) in runs]
    data = pl.DataFrame(
        [
            {"hops": row["hops"], "window": row["window"], "ns2_kbps": row["goodput_kbps_mean"], "low": x.low, "high": x.high, "ours_kbps": x.value}
            for row in rows
            for x in [stats.mean(totals(runs["window", row["hops"], row["window"]]))]
        ]
    )  # fmt: skip
    cell = pl.format("{} / {}", pl.col("ours_kbps").round(0).cast(pl.Int64), pl.col("ns2_kbps").round(0).cast(pl.Int64))
    shown = data.with_columns(cell.alias("cell")).pivot("window", index="hops", values="cell")
    n = max(len(of) for key, of in runs.items() if key[0] == "window")
    caption = f"NewReno, kbit/s: ours (mean of n = {n} runs) / ns-2.35 (of 3), by window in segments."
    return Table("windows", "The best window", caption, shown, data)


def answer(rows: list[Comparison], checks: list[Check]) -> str:
    """The answer to the question, in a paragraph."""
    count = Counter(row.verdict for row in rows)
    held = sum(check.verdict == "holds" for check in checks)
    return (
        f"Of {len(rows)} numbers {count['agrees']} agree, {count['differs']} differ, and of {count['cannot tell']} these runs "
        f"cannot tell. {held} of {len(checks)} orderings hold."
    )


METHOD = [
    "Where ns-2's spread is known, it is part of the interval (Welch); orderings are judged seed by seed.",
    "Cells: stations on a circle of 50 m around the one that they send to, each offered twice its share; 25 s after 5 s. Addresses are "
    "resolved, as in ns-2 by then: with requests of ARP in a full cell of 50 some stations stay mute, and 1294 kbit/s in the place of 1381 "
    "(RTS/CTS), 959 in the place of 1113 (basic) are carried (1000 bytes, one run each). Chains: hops of 250 m, ARP, the whole run of "
    "50 s with the discovery of the route. Greedy datagrams come at 2 Mbit/s, above what one hop carries, into a queue of 50.",
    "What ns-2's table of the cross does not say, the window, is varied.",
]
