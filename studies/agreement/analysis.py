"""Thirty wired scenarios in the simulator and in a Linux kernel: quantities side by side, a verdict each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario
from cclab.analysis import stats
from cclab.analysis.plots import Chart, look, styled
from cclab.comparison import Row, judge
from cclab.published import Check, Context, Figure, Findings, Table, judged
from cclab.results import Result

Quantities = dict[str, float]
"""What a run measured, by quantity and flow: `("goodput", "all")` as `goodput/all`."""

WANTED = 27
SEGMENT = 1448  # bytes of payload in 1500: headers and timestamps left out
ROUND_OFF = 1e-9  # of Mbit/s, ms, segments or %: what is less is but the arithmetic's


def measure(result: Result) -> Quantities:
    """Every quantity of a run; flows of one law are one, since nothing tells them apart."""
    flows, found = result.flows, {}
    sized = flows["fct_s"].is_finite().any()
    total = float(flows["goodput_bps"].sum())
    if not sized:
        found["goodput/all"] = total / 1e6
    samples = result.samples.filter(pl.col("time_s") >= result.warmup_s)
    for (law,), of in flows.group_by("cc", maintain_order=True):
        if sized:
            found[f"completion time/{law}"] = float(of["fct_s"].mean() or math.nan)
        elif flows["cc"].n_unique() > 1:
            found[f"share/{law}"] = 100 * float(of["goodput_bps"].sum()) / total
        sent = float(of["segments_sent"].sum())
        found[f"segments resent/{law}"] = 100 * float(of["segments_retransmitted"].sum()) / sent if sent else math.nan
        if not sized:
            for name, column in {"RTT p50": "rtt_p50_s", "RTT p95": "rtt_p95_s"}.items():
                found[f"{name}/{law}"] = 1e3 * float(of[column].mean() or math.nan)
            found |= windows(samples.filter(pl.col("flow").is_in(of["label"].to_list())), str(law))
    if flows.height > 1 and flows["cc"].n_unique() == 1:
        # who is which is chance: the largest share tells how unequal they are
        found[f"share/largest of {flows.height}"] = 100 * float(flows["goodput_bps"].max() or 0.0) / total  # type: ignore[arg-type]
    return found


def windows(samples: pl.DataFrame, law: str) -> Quantities:
    """Mean and quantiles of the window over time, in segments."""
    values = samples["cwnd_bytes"].drop_nulls().drop_nans().to_numpy() / SEGMENT
    if not len(values):
        return {}
    p10, p90 = np.quantile(values, [0.1, 0.9])
    return {
        f"window mean/{law}": float(values.mean()),
        f"window p10/{law}": float(p10),
        f"window p90/{law}": float(p90),
    }


def scenarios(about: dict[str, Any], host: dict[str, Any], link: dict[str, Any] | None = None) -> list[Scenario]:
    """All of them, in order, on hosts that are like this and a link that has this too."""
    return [
        Scenario.from_dict(
            {
                "name": case["name"],
                "duration": case.get("duration", "20 s"),
                "warmup": case.get("warmup", "5 s"),
                "network": {**(link or {}), **case["network"]},
                "flows": [{**host, **flow} for flow in case["flows"]],
                "record": {"samples": "10 ms"},
            }
        )
        for case in about["cases"]
    ]


def run(context: Context) -> Findings:
    """Everything of the study."""
    about = context.about
    plan = about["quick" if context.quick else "full"]
    made, real = scenarios(about, about["host"], about["link"]), scenarios(about, {})
    jobs = [(s, seed) for s in made for seed in range(1, plan["simulator"] + 1)]
    simulated = context.run(jobs, measure, keep="agreement/1")
    refused = reasons(real)
    asked = "live" in context.parts and not context.quick
    kernel = measure_kernel(context, real, plan["kernel"]) if asked and not refused else recorded(context)
    if asked and refused:
        context.note("The recorded runs stand for this machine's kernel: " + "; ".join(refused))
    of_case = {s.name: ([], []) for s in made}  # type: dict[str, tuple[list[Quantities], list[Quantities]]]
    for (s, _), found in zip(jobs, simulated, strict=True):
        of_case[s.name][0].append(found)
    for name, found in kernel:
        of_case[name][1].append(found)
    rows = {name: compared(about, name, *runs) for name, runs in of_case.items()}
    verdicts = {name: verdict(about, of) for name, of in rows.items()}
    return Findings(
        comparisons=[],
        checks=[claim(verdicts)],
        figures=[figure(rows, about)],
        tables=tables(rows, verdicts),
        summary=answer(verdicts, "this machine's kernel" if asked and not refused else about["recorded"]["kernel"]),
        differences=differing(rows, verdicts, about),
        method=method(asked and not refused),
    )


def recorded(context: Context) -> list[tuple[str, Quantities]]:
    """The kernel's runs that come with the study."""
    runs: dict[tuple[str, int], Quantities] = {}
    for name, number, quantity, value in pl.read_csv(context.folder / "kernel.csv").iter_rows():
        runs.setdefault((name, number), {})[quantity] = value
    return [(name, found) for (name, _), found in runs.items()]


def reasons(real: Sequence[Scenario]) -> list[str]:
    """Why this machine's kernel cannot be asked."""
    from cclab.backends import live

    lacks = live.missing()
    return [lacks] if lacks else [text for s in real for text in live.refuse(s)]


def measure_kernel(context: Context, made: Sequence[Scenario], runs: int) -> list[tuple[str, Quantities]]:
    """Runs of the kernel, in groups that this machine carries side by side; one whose stamp is bad is run again."""
    most = context.about["machine"]["most_mbps"]
    groups: dict[int, list[Scenario]] = {}
    for s in made:
        mbps = float(str(s.to_dict()["network"]["rate"]).split()[0])
        groups.setdefault(max(1, min(8, int(most / mbps))), []).append(s)
    found = []
    for workers, of in sorted(groups.items(), reverse=True):
        jobs = [(s, seed) for seed in range(1, runs + 1) for s in of]
        got = context.run(jobs, measure, keep="agreement-live/1", backend="live", workers=workers, tries=3)
        found += [(s.name, values) for (s, _), values in zip(jobs, got, strict=True) if values is not None]
    return found


def compared(
    about: dict[str, Any], name: str, simulated: Sequence[Quantities], kernel: Sequence[Quantities]
) -> list[Row]:
    """Each quantity of a scenario, the simulator's as the first side."""
    rows = []
    for key in simulated[0] if kernel else ():
        what, flow = key.split("/", 1)
        sides = [[run[key] for run in runs if math.isfinite(run.get(key, math.nan))] for runs in (simulated, kernel)]
        if not all(sides):
            continue
        of, tolerance = about["quantities"][what], about["tolerance"]
        rows.append(
            judge(*sides, **tolerance, floor=of["floor"], point=(name,), of=flow, quantity=what, unit=of["unit"])
        )
    return rows


def verdict(about: dict[str, Any], rows: Sequence[Row]) -> str:
    """On a scenario: what differs decides, then what cannot be told."""
    given = {row.verdict for row in rows if row.quantity in about["verdict"]["by"]}
    if not given:
        return "not tested"
    return next((v for v in ("differs", "cannot tell") if v in given), "agrees")


def claim(verdicts: dict[str, str]) -> Check:
    """At least 27 of 30 agree; which is for it or against it only where all the others could not change that."""
    count = Counter(verdicts.values())
    text = f"In at least {WANTED} of {len(verdicts)} scenarios the simulator agrees with the kernel"
    decided = count[stats.AGREES] >= WANTED or count[stats.DIFFERS] > len(verdicts) - WANTED
    verdict = stats.fact(count[stats.AGREES] >= WANTED) if decided else stats.CANNOT_TELL
    return judged(text, [verdict], told(count))


def told(count: Counter[str]) -> str:
    """`28 agree, 1 differs`, and so on."""
    said = {"agrees": "agree", "differs": "differ", "cannot tell": "cannot be told", "not tested": "not tested"}
    return ", ".join(f"{count[v]} {text}" for v, text in said.items() if count[v])


def answer(verdicts: dict[str, str], kernel: str) -> str:
    """The answer to the question, in a sentence."""
    return f"Beside {kernel}: of {len(verdicts)} scenarios {told(Counter(verdicts.values()))}."


def tables(rows: dict[str, list[Row]], verdicts: dict[str, str]) -> list[Table]:
    """A verdict for each scenario, and every quantity."""

    def number(value: float) -> str:
        return f"{value if abs(value) > ROUND_OFF else 0:.4g}" if math.isfinite(value) else "–"

    short = pl.DataFrame(
        {
            "Scenario": list(rows),
            "Verdict": [verdicts[name] for name in rows],
            "Agree": [sum(r.verdict == "agrees" for r in of) for of in rows.values()],
            "What does not": [
                ", ".join(f"{r.quantity} ({r.of}) {r.verdict}" for r in of if r.verdict != "agrees") or "–"
                for of in rows.values()
            ],
        }
    )
    every = [
        {
            "Scenario": name,
            "Quantity": f"{row.quantity} ({row.unit})",
            "Of": row.of,
            "Simulator": number(row.a),
            "Kernel": number(row.b),
            "Difference and 95 % interval": f"{number(row.difference.value)} [{number(row.difference.low)}, {number(row.difference.high)}]",
            "Tolerance": number(row.tolerance),
            "Verdict": row.verdict,
        }
        for name, of in rows.items()
        for row in of
    ]
    return [
        Table("verdicts", "A verdict for each scenario", "That of goodput or completion time, shares, RTT and segments sent again; the window's distribution is judged beside it.", short),
        Table("quantities", "Every quantity", "Means of the runs; the interval of the difference is Welch's.", pl.DataFrame(every)),
    ]  # fmt: skip


def figure(rows: dict[str, list[Row]], about: dict[str, Any]) -> Figure:
    """Differences in units of the tolerance: within one is agreement."""
    names, by = list(rows), about["verdict"]["by"]
    data = []
    with styled():
        chart = Chart(7.2, 7.6)
        axes = chart.subplots()
        axes.axvspan(-1, 1, color="#e8e8e8", label="tolerance")
        for index, quantity in enumerate(by):
            at, x, ends = [], [], []
            for place, name in enumerate(names):
                for row in rows[name]:
                    if row.quantity == quantity and row.tolerance > 0:
                        d, unit = row.difference, row.tolerance
                        at.append(place + 0.1 * (index - len(by) / 2))
                        x.append(float(np.clip(d.value / unit, -4, 4)))
                        ends.append(
                            [
                                max(0.0, min(d.value / unit, 4) - max(d.low / unit, -4)),
                                max(0.0, min(d.high / unit, 4) - max(d.value / unit, -4)),
                            ]
                        )
                        data.append((name, quantity, row.of, row.a, row.b, d.value, d.low, d.high, unit, row.verdict))
            if at:
                axes.errorbar(
                    x,
                    at,
                    xerr=np.nan_to_num(np.array(ends).T),
                    fmt="osD^vX"[index],
                    ms=3.5,
                    lw=0.7,
                    color=look(index)["color"],
                    label=quantity,
                )
        axes.axvline(0, color="#888888", lw=0.8)
        axes.set_xlim(-4.1, 4.1)
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel("(simulator − kernel) / tolerance; beyond ± 4\nat the edge")
        chart.legend_below()
    columns = ["scenario", "quantity", "of", "simulator", "kernel", "difference", "low", "high", "tolerance", "verdict"]
    frame = pl.DataFrame(data, schema=columns, orient="row")
    caption = (
        "Bars are 95 % intervals of the difference of two means (Welch). Agreement is a whole bar within the grey."
    )
    return Figure("agreement", "Simulator less kernel", caption, chart, frame)  # fmt: skip


def differing(rows: dict[str, list[Row]], verdicts: dict[str, str], about: dict[str, Any]) -> list[str]:
    """What differs, in figures, with what we believe is why."""
    reasons = {case["name"]: case.get("why", "Not explained.") for case in about["cases"]}
    paragraphs = []
    for name, given in verdicts.items():
        if given != "differs":
            continue
        parts = [
            f"{row.quantity} of {row.of} {row.a:.3g} against {row.b:.3g} {row.unit}"
            for row in rows[name]
            if row.verdict == "differs" and row.quantity in about["verdict"]["by"]
        ]
        paragraphs.append(f"{name}: {'; '.join(parts)} (simulator, kernel). {reasons[name]}")
    return paragraphs


def method(measured: bool) -> list[str]:
    """How it was measured: this machine's kernel now, or one earlier."""
    return [KERNEL[measured], *METHOD]


KERNEL = {
    True: "The kernel's runs are of this machine's own kernel, measured for this page.",
    False: "The kernel's runs are those recorded in `kernel.csv`; no kernel was measured for this page.",
}
METHOD = [
    "Each flow has two network namespaces, and the simulator's own links, driven by the wall clock, lie between them: the kernel's TCP is "
    "the only thing that is exchanged. A run whose stamp is bad (the relay was late, a device dropped packets) is thrown away and run again, three times at most.",
    "Every seed draws other losses, starts and processing times; runs of the kernel differ by chance of their own. Figures leave the warm-up "
    "out; completion times begin with the connection.",
]
