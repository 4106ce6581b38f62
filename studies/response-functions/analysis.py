"""Response functions: mean window against loss rate, simulated beside the formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario, formulas, stats
from cclab.analysis.plots import DASHED, Chart, look, styled
from cclab.published import Check, Comparison, Context, Figure, Findings, compare, judged
from cclab.results import Result

RTT = 0.1  # s


def window(result: Result) -> float:
    """Mean window: data segments sent per round trip."""
    flow = result.flows.row(0, named=True)
    return float(flow["segments_sent"] * RTT / flow["measured_s"])


def rates(plan: dict[str, Any]) -> list[float]:
    """Loss rates of a plan, each one in a whole number of packets."""
    decades = math.log10(plan["from"] / plan["to"])
    wanted = np.geomspace(plan["from"], plan["to"], round(decades * plan["per_decade"]) + 1)
    return [1 / round(1 / p) for p in wanted]


def scenario(base: dict[str, Any], law: str, p: float, plan: dict[str, Any], periodic: bool) -> Scenario:
    """A run that leaves out `settle` losses and counts `count`, or as many as `packets` allows.

    It starts at the expected window, so that no slow start has to find it.
    """
    expected = float(formulas.periodic(law, p, RTT))
    cycle = RTT / (p * expected)
    settle = min(plan["settle"], plan["packets"] * p / 2)
    count = min(plan["count"], plan["packets"] * p - settle)
    end, start = cycle * (settle + count), cycle * settle
    return Scenario.from_dict(base).replace(
        {
            "name": f"{law}-{'every' if periodic else 'one-in'}-{round(1 / p)}",
            "duration": f"{end:.3f} s",
            "warmup": f"{start:.3f} s",
            "network.loss": {"data": {"every": round(1 / p)} if periodic else p},
            "flows.0.cc": law,
            "flows.0.initial_ssthresh": f"{max(2, round(expected))} packets",
        }
    )


def measure(context: Context) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Mean windows under periodic and under independent loss: a row for each run, with the formulas beside it."""
    about, plans = context.about, context.about["quick" if context.quick else "full"]
    points = [
        (kind, name, law, p, seed)
        for kind in ("periodic", "independent")
        for name, law in about["laws"].items()
        for p in rates(plans[kind])
        for seed in range(1, plans[kind].get("seeds", 1) + 1)
    ]
    jobs = [
        (scenario(about["scenario"], law, p, plans[kind], kind == "periodic"), seed) for kind, _, law, p, seed in points
    ]
    rows = [
        {
            "kind": kind,
            "item": name,
            "p": p,
            "seed": seed,
            "window": w,
            "deterministic": float(formulas.periodic(law, p, RTT)),
            "asymptotic": asymptotic(law, p),
        }
        for (kind, name, law, p, seed), w in zip(points, context.run(jobs, window), strict=True)
    ]
    periodic, independent = pl.DataFrame(rows).partition_by("kind", maintain_order=True, include_key=False)
    return periodic, independent


def asymptotic(law: str, p: Any) -> Any:
    """The formula of its authors; below Scalable's legacy window, where it is Reno, Reno's."""
    w = formulas.RESPONSES[law](p, RTT)
    w = np.where(w < 16, formulas.reno(p), w) if law == "scalable" else w
    return float(w) if np.ndim(p) == 0 else w


def run(context: Context) -> Findings:
    tolerance = context.about["tolerance"]
    published = pl.read_csv(context.folder / "published.csv").filter(pl.col("item").is_in(list(context.about["laws"])))
    periodic, independent = measure(context)
    periodic = periodic.with_columns(off=pl.col("window") / pl.col("deterministic") - 1)
    summary = stats.summarise(independent, "window", by=["item", "p", "deterministic", "asymptotic"])
    rows = comparisons(published, periodic, independent, tolerance)
    claims = [*within(context.about["laws"], periodic, tolerance["periodic"]), *beside(context.about["laws"], summary)]
    return Findings(
        comparisons=rows,
        checks=claims,
        figures=[figure(context.about["laws"], periodic, summary)],
        summary=answer(periodic, summary, tolerance["periodic"]),
        differences=differences(periodic, summary),
        method=method(context),
    )


def comparisons(
    published: pl.DataFrame, periodic: pl.DataFrame, independent: pl.DataFrame, tolerance: dict[str, float]
) -> list[Comparison]:
    """Each decade's value of the authors' formula, beside both kinds of loss."""
    rows = []
    for kind, table in (("periodic", periodic), ("independent", independent)):
        for line in published.iter_rows(named=True):
            near = (pl.col("item") == line["item"]) & ((pl.col("p") / line["p"] - 1).abs() < 1e-6)
            values = table.filter(near)["window"].to_list()
            item = f"{line['item']}, p = {line['p']:g}"
            metric = f"mean window, {kind} loss"
            if values:
                rows.append(
                    compare(
                        item,
                        metric,
                        "segments",
                        line["value"],
                        values,
                        source="formula",
                        tolerance=tolerance[kind],
                        chance=kind != "periodic",
                        note=line["source"],
                    )
                )
            else:
                rows.append(
                    Comparison(
                        item,
                        metric,
                        "segments",
                        "formula",
                        line["value"],
                        "",
                        None,
                        None,
                        None,
                        0,
                        0,
                        "not tested",
                        "too long to run",
                    )
                )
    return rows


def within(laws: dict[str, str], periodic: pl.DataFrame, tolerance: float) -> list[Check]:
    """Whether every point lies at the deterministic response function."""
    checks = []
    for name in laws:
        of = periodic.filter(pl.col("item") == name)
        off = of["off"].to_numpy()
        worst = int(np.argmax(np.abs(off)))
        checks.append(
            judged(
                f"{name}: under periodic loss the mean window is within {tolerance:.0%} of the deterministic response function "
                f"from p = {of['p'].max():g} to {of['p'].min():g}",
                [stats.fact(bool(abs(x) <= tolerance)) for x in off],
                f"Largest difference {off[worst]:+.1%}, at p = {of['p'][worst]:.3g}; "
                f"mean {np.mean(off):+.1%} (one run each: nothing in it is random)",
            )
        )
    return checks


def beside(laws: dict[str, str], summary: pl.DataFrame) -> list[Check]:
    """Independent losses beside periodic ones of the same rate."""
    checks = []
    for name in laws:
        of = summary.filter(pl.col("item") == name)
        verdicts = [
            stats.Estimate(mean, low, high, n).against(0.9 * d, 1.1 * d)
            for d, mean, low, high, n in of.select("deterministic", "mean", "low", "high", "n").iter_rows()
        ]
        checks.append(
            judged(
                f"{name}: independent losses give the same mean window as periodic ones of the same rate, within 10 %",
                verdicts,
                "ratio to the deterministic function: "
                + ", ".join(
                    f"{mean / d:.2f} [{low / d:.2f}, {high / d:.2f}] at p = {p:.3g}"
                    for p, d, mean, low, high in of.select("p", "deterministic", "mean", "low", "high").iter_rows()
                )
                + f"; n = {of['n'].min()} each",
            )
        )
    return checks


def figure(laws: dict[str, str], periodic: pl.DataFrame, summary: pl.DataFrame) -> Figure:
    """Windows above, their ratio to the deterministic function below; periodic loss left, independent loss right."""
    with styled():
        chart = Chart(7.4, 5.6)
        (left, right), (low_left, low_right) = chart.subplots(
            2, 2, sharex=True, sharey="row", gridspec_kw={"height_ratios": [2, 1]}
        )
        p = np.geomspace(periodic["p"].min() / 1.3, periodic["p"].max() * 1.3, 120)  # type: ignore[operator]
        for index, (name, law) in enumerate(laws.items()):
            colour = look(index)["color"]
            exact = formulas.periodic(law, p, RTT)
            power = asymptotic(law, p)
            for axes in (left, right):
                (line,) = axes.plot(p, exact, color=colour, linewidth=1.1)
                (dashes,) = axes.plot(p, power, color=colour, linewidth=0.9, linestyle=DASHED)
                chart.name(f"{name}, deterministic", line)
                chart.name(f"{name}, authors' formula", dashes)
            for axes in (low_left, low_right):
                (dashes,) = axes.plot(p, power / exact, color=colour, linewidth=0.9, linestyle=DASHED)
                chart.name(f"{name}, authors' formula", dashes)
            of = periodic.filter(pl.col("item") == name)
            marks = {"color": colour, "marker": "osD^"[index % 4], "markersize": 4, "linestyle": "none"}
            left.plot(of["p"], of["window"], label=name, **marks)
            low_left.plot(of["p"], of["off"] + 1, **marks)
            of = summary.filter(pl.col("item") == name)
            mean, low, high, base = (of[c].to_numpy() for c in ("mean", "low", "high", "deterministic"))
            bars = {**marks, "capsize": 2, "elinewidth": 0.8}
            right.errorbar(of["p"], mean, [mean - low, high - mean], label=name, **bars)
            low_right.errorbar(of["p"], mean / base, [(mean - low) / base, (high - mean) / base], **bars)
        for axes, title in ((left, "every 1/p-th packet lost"), (right, "each packet lost with probability p")):
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(power_of_ten)
            axes.set_title(title, color="#555555")
        for axes in (low_left, low_right):
            axes.axhspan(0.95, 1.05, color="#eef0f2", linewidth=0, zorder=0)
            axes.set_ylim(0.7, 1.5)
            axes.set_xlabel("Loss rate p")
            axes.xaxis.set_major_formatter(power_of_ten)
        left.set_ylabel("Mean window (segments)")
        low_left.set_ylabel("Over deterministic")
        handles = {str(line.get_label()): line for line in left.lines if not str(line.get_label()).startswith("_")}
        chart.legend_below(handles, key={"deterministic": "-", "authors' formula": DASHED})
    data = pl.concat(
        [
            periodic.select("item", pl.lit("periodic").alias("loss"), "p", pl.col("window").alias("mean"), "deterministic",
                            "asymptotic").with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64), n=1),
            summary.with_columns(loss=pl.lit("independent")),
        ],
        how="diagonal_relaxed",
    )  # fmt: skip
    n = summary["n"].min()
    return Figure(
        "response-functions",
        "Mean window against loss rate",
        "Points: simulation. Solid: the deterministic response function, summed from the law with whole segments and a round trip "
        "of recovery. Dashed: the authors' formula. Left, every 1/p-th packet is lost (one run each, nothing random). Right, "
        f"independent losses: mean of n = {n} seeds with Student's 95 % interval. Below, everything over the deterministic "
        "function; the band is ±5 %.",
        chart,
        data.select("item", "loss", "p", "mean", "low", "high", "n", "deterministic", "asymptotic"),
    )


def power_of_ten(value: float, _: object = None) -> str:
    """10⁻³ rather than 0.001."""
    return "10" + str(round(math.log10(value))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def answer(periodic: pl.DataFrame, summary: pl.DataFrame, tolerance: float) -> str:
    """The answer to the question, in a paragraph."""
    off = periodic["off"].to_numpy()
    inside = float(np.mean(np.abs(off) <= tolerance))
    small = periodic.filter(pl.col("p") <= 1.1e-3)["off"].to_numpy()
    return (
        f"Under periodic loss {inside:.0%} of {len(off)} points lie within {tolerance:.0%} of the deterministic response function; the "
        f"largest difference is {off[int(np.argmax(np.abs(off)))]:+.1%}, and at p = 10⁻³ and below {small[int(np.argmax(np.abs(small)))]:+.1%}. "
        "Independent losses of the same rate give other windows: of that function Reno's are "
        + ", ".join(
            f"{m / d:.2f}"
            for m, d in summary.filter(pl.col("item") == "Reno").select("mean", "deterministic").iter_rows()
        )
        + " and CUBIC's "
        + ", ".join(
            f"{m / d:.2f}"
            for m, d in summary.filter(pl.col("item") == "CUBIC").select("mean", "deterministic").iter_rows()
        )
        + ", from the highest loss rate to the lowest."
    )


def differences(periodic: pl.DataFrame, summary: pl.DataFrame) -> list[str]:
    """Where we differ, by how much, and what we think is why."""

    def at(name: str, p: float, column: str) -> float:
        near = (pl.col("item") == name) & ((pl.col("p") / p - 1).abs() < 1e-6)
        return float(periodic.filter(near)[column][0])

    scalable = float(formulas.periodic("scalable", 1e-4, tcp=False)) * 1e-4
    return [
        f"Reno at p = 10⁻² sends {at('Reno', 1e-2, 'window'):.1f} segments a round trip, √(3/2)/√p is {at('Reno', 1e-2, 'asymptotic'):.1f}. "
        f"Whole segments and the round trip of recovery explain a part: the deterministic function is {at('Reno', 1e-2, 'deterministic'):.1f}. "
        "The rest is that a cycle of nine round trips is a whole number of them.",
        f"Scalable at p = 10⁻²: the formula is below the legacy window of 16 segments, so the row has Reno's. There the law has two cycles: one "
        "stays below 16 and is a Reno's; the other tops out just above, loses an eighth and not half, and holds "
        f"{at('Scalable', 1e-2, 'window'):.1f} segments. Coming from larger windows it is the second.",
        f"Scalable below: 0.08 / p is where a gain of 0.01 per ACK and a loss of W/8 balance. A window that swings between 7/8 W and W has a mean "
        f"over time of {scalable:.4f} / p under periodic loss, {scalable / 0.08 - 1:+.1%}, before anything of TCP comes in.",
        "CUBIC: its formula and the deterministic function have each loss come at W_max. Under periodic loss fast convergence leaves that "
        "point (a loss a packet below W_max lowers it by 15 %), so that the simulated mean is lower: at p = 10⁻⁴ it is "
        f"{at('CUBIC', 1e-4, 'window'):.0f} segments, {at('CUBIC', 1e-4, 'off'):+.1%} of the deterministic {at('CUBIC', 1e-4, 'deterministic'):.0f}.",
        "Independent losses: the formulas are those of periodic loss. By chance some cycles are short and some long, and a law that grows "
        "faster the longer the cycle (CUBIC) gains from the long ones.",
    ]


def method(context: Context) -> list[str]:
    """How it was measured."""
    about = context.about
    plans = about["quick" if context.quick else "full"]
    independent = plans["independent"]
    return [
        "One flow over a link of unlimited rate and queue, RTT 100 ms: nothing is lost but what the loss model takes. Laws in the flavour of "
        "their papers on the endpoint of the linux profile (RACK, PRR, SACK), an ACK for each packet. The window is what is sent: data "
        "segments per round trip, over the counted time.",
        f"Each run starts at the expected window, leaves out {plans['periodic']['settle']} loss periods and counts {plans['periodic']['count']} "
        f"(periodic), or leaves out {independent['settle']} and counts {independent['count']} expected losses of each of "
        f"{independent['seeds']} seeds (independent); never more than {plans['periodic']['packets']:.0e} or {independent['packets']:.0e} packets, half of "
        "them left out, so that at the lowest rates fewer losses are counted.",
        "The deterministic function (`formulas.periodic`) iterates the law from loss to loss. Verdicts of the table: a formula's value agrees "
        f"if it is in our interval widened by {about['tolerance']['periodic']:.0%} (periodic) or {about['tolerance']['independent']:.0%} "
        "(independent); they compare with the authors' formulas, which leave recovery and whole segments out. The checks compare with the "
        "deterministic function.",
    ]
