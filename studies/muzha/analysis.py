"""TCP Muzha over 802.11: chains, crosses, flows that join, and the two studies that led to its levels and steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario, metrics, stats
from cclab.analysis.plots import Chart, aside, look, styled, thin
from cclab.published import Check, Comparison, Context, Figure, Findings, Table, compare, judged
from cclab.results import Result

STANDARD, NEAREST = "1460 B", "nearest"
HEADERS = 40  # bytes of IP and TCP
NEWRENO, VEGAS, MUZHA = "NewReno", "Vegas", "Muzha"
# Verdicts need thresholds; the slides' own where they print one.
GAIN = (0.05, 0.10)  # of throughput over NewReno's
FAIR = 0.99  # Jain's index of the mean throughputs
SAME = 0.05  # throughputs are as good as equal within this
QUARTER = 0.25  # of NewReno's reductions and falls: what "none" and "no saw-teeth" may be
BOUNDS = {
    "jain": (1 / 3, 1.0),
    "jain_cwnd": (1 / 3, 1.0),
}  # of three flows at most; of the others nothing is below zero
WORDS = {"window": "Window (packets)", "hops": "Hops", "setting": "Setting"}
NOTHING = "–: a flow delivered nothing in the whole run, so that it has no delay; (8 of 10) is how many runs have one."
METRICS = {
    "jain": "Jain's index",
    "newreno_throughput": "throughput of NewReno beside it",
    "newreno_delay": "delay of NewReno beside it",
    "aggregate": "throughput of both",
}
NOT_SEEN = "This part was not run."


@dataclass(frozen=True)
class Cell:
    """One set-up, run with several seeds."""

    part: str
    setting: str
    hops: int
    window: int
    laws: tuple[str, ...]
    variant: str = ""


def run(context: Context) -> Findings:
    """Everything of the study."""
    about, size = context.about, "quick" if context.quick else "full"
    seeds = range(1, 1 + about["replications"][size])
    cells = list(design(about, size, context.parts))
    jobs = [(scenario(about, cell), seed) for cell in cells for seed in seeds]
    reduced = iter(context.run(jobs, summary, keep="muzha/1"))
    runs = pl.DataFrame(
        [
            {**vars(cell), "laws": " + ".join(cell.laws), "seed": seed, **next(reduced)}
            for cell in cells
            for seed in seeds
        ],
        infer_schema_length=None,
    )
    wanted = traces(about, context.parts)
    drawn = dict(zip(wanted, context.run([(s, 1) for s in wanted.values()], trace), strict=True)) if wanted else {}
    published = pl.read_csv(context.folder / "published.csv")
    return Findings(
        comparisons=comparisons(about, published, runs),
        checks=checks(about, runs),
        figures=figures(about, runs, drawn),
        tables=tables(context, published, runs),
        summary=answer(runs),
        differences=differences(runs),
        method=method(about, len(seeds)),
    )


# --- What is run -----------------------------------------------------------------------------------------------------


def design(about: dict[str, Any], size: str, parts: Iterable[str]) -> Iterable[Cell]:
    """Every set-up of the parts wanted."""
    windows, laws = about["common"]["windows"], list(about["laws"])
    if "chain" in parts:
        for hops, window, law in product(about["common"]["hops"][size], windows, laws):
            yield Cell("chain", STANDARD, hops, window, (law,))
        for setting, hops, law in product(about["settings"], (4, 6, 8), (NEWRENO, VEGAS, MUZHA)):
            yield Cell("settings", setting, hops, min(windows), (law,))
    if "cross" in parts:
        of = about["cross"]
        for setting, hops, law in product((STANDARD, "1000 B", NEAREST), of["hops"], of["pairs"]):
            window = min(windows) if setting == NEAREST else of["window"]
            yield Cell("cross", setting, hops, window, (law, NEWRENO))
        for hops, law in product(of["hops"], of["variants"]):
            yield Cell("cross", STANDARD, hops, of["window"], (law, NEWRENO))
    if "dynamics" in parts:
        of = about["dynamics"]
        for start, law in product(of["starts"], laws):
            yield Cell("dynamics", STANDARD, of["hops"], of["window"], (law,) * len(start), ", ".join(start))
    if "levels" in parts:
        of = about["levels"]
        for hops, window, levels in product(of["hops"][size], windows, of["levels"]):
            yield Cell("levels", STANDARD, hops, window, (MUZHA,), str(levels))
    if "steps" in parts:
        of = about["steps"]
        for hops, name in product(of["hops"], steps(of)):
            yield Cell("steps", STANDARD, hops, of["window"], (MUZHA,), name)


def steps(of: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings of the increase and decrease study, as parameters of version 1."""
    up = {"A": ("add", of["add"]), "M": ("mul", of["grow"])}
    down = {"A": ("add", of["take"]), "M": ("mul", of["shrink"])}
    return {
        f"{i}I{d}D({inc:g}, {dec:g})": {"inc5": inc, "inc5_by": up[i][0], "dec1": dec, "dec1_by": down[d][0]}
        for i, d in (("A", "M"), ("A", "A"), ("M", "M"), ("M", "A"))
        for inc, dec in product(up[i][1], down[d][1])
    }


def scenario(about: dict[str, Any], cell: Cell, record: dict[str, Any] | None = None) -> Scenario:
    """A set-up as a scenario."""
    setting, common = about["settings"][cell.setting], about["common"]
    payload = setting["payload"]
    base = {
        **about["flow"],
        "packet_size": f"{payload + HEADERS} B",
        "receive_buffer": f"{cell.window * payload} B",
    }
    laws = {**about["laws"], **about["cross"]["variants"]}
    flows = [{**base, **laws[law], "label": f"{i + 1} {law}"} for i, law in enumerate(cell.laws)]
    duration = common["duration"]
    if cell.part == "cross":
        for flow, path in zip(flows, ("horizontal", "vertical"), strict=True):
            flow["path"] = path
    elif cell.part == "dynamics":
        duration = about["dynamics"]["duration"]
        for flow, start in zip(flows, cell.variant.split(", "), strict=True):
            flow["start"] = start
    elif cell.part == "levels":
        flows[0]["cc"] = {"name": "muzha", "levels": int(cell.variant)}
    elif cell.part == "steps":
        flows[0]["cc"] = {"name": "muzha1", **steps(about["steps"])[cell.variant]}
        setting = {**setting, "wireless": {**setting.get("wireless", {}), "queue": about["steps"]["queue"]}}
    return Scenario.from_dict(
        {
            "name": f"{cell.part}, {' + '.join(cell.laws)}, {cell.hops} hops, window {cell.window}, {cell.setting} {cell.variant}",
            "duration": duration,
            "network": {
                "topology": "cross" if cell.part == "cross" else "chain",
                "hops": cell.hops,
                "wireless": {"profile": "ns2-2M", "routing": common["routing"], **setting.get("wireless", {})},
            },
            "flows": flows,
            # the windows of the last seconds are what is judged of flows that join
            "record": record or {"samples": "100 ms" if cell.part == "dynamics" else "off"},
        }
    )


def traces(about: dict[str, Any], parts: Iterable[str]) -> dict[tuple[str, str], Scenario]:
    """Runs of which the windows are drawn."""
    drawn = {}
    of, record = about["dynamics"], {"samples": "50 ms"}
    for law in about["laws"]:
        if "chain" in parts:
            drawn["alone", law] = scenario(
                about, Cell("chain", STANDARD, 4, max(about["common"]["windows"]), (law,)), record
            )
        if "dynamics" in parts:
            cell = Cell("dynamics", STANDARD, of["hops"], of["window"], (law,) * 3, ", ".join(of["starts"][0]))
            drawn["joining", law] = scenario(about, cell, record)
    return drawn


def summary(result: Result) -> dict[str, Any]:
    """What the analysis needs of a run; the first flow is the one under test."""
    flows = result.flows
    kbps = [x / 1e3 for x in flows["goodput_bps"].to_list()]
    first = flows.row(0, named=True)
    last = (
        result.samples.filter(pl.col("time_s") >= result.samples["time_s"].max() - 8) if result.samples.height else None
    )
    by_flow = last.group_by("flow", maintain_order=True).agg(pl.col("cwnd_bytes").mean()) if last is not None else None
    falls = (
        last.filter(pl.col("cwnd_bytes") < pl.col("cwnd_bytes").shift().over("flow") * 0.6).height
        if last is not None
        else math.nan
    )
    return {
        "throughput": kbps[0],
        "other": kbps[1] if len(kbps) > 1 else math.nan,
        "aggregate": sum(kbps),
        "retransmissions": float(first["segments_retransmitted"]),
        "timeouts": float(first["timeouts"]),
        "reductions": float(first["recoveries"] + first["timeouts"]),
        "delay": first["owd_mean_s"] * 1e3,
        "other_delay": flows["owd_mean_s"][1] * 1e3 if len(kbps) > 1 else math.nan,
        "cwnd": first["cwnd_mean_segments"],
        "jain": metrics.jain(kbps) if len(kbps) > 1 else math.nan,
        "jain_cwnd": metrics.jain(by_flow["cwnd_bytes"].to_list()) if by_flow is not None else math.nan,
        "falls": float(falls),
    }


def trace(result: Result) -> pl.DataFrame:
    """The windows of a run over time."""
    mss = float(result.flows["mss_bytes"][0]) if "mss_bytes" in result.flows.columns else 1460.0
    return result.samples.select("flow", "time_s", window=pl.col("cwnd_bytes") / mss)


# --- Verdicts --------------------------------------------------------------------------------------------------------


def chosen(runs: pl.DataFrame, part: str, law: str, **where: Any) -> pl.DataFrame:
    """The runs of a law in a part."""
    laws = f"{law} + {NEWRENO}" if part == "cross" else law
    return runs.filter(part=part, laws=laws, **where) if runs.height else runs


def by_seed(frame: pl.DataFrame, value: str) -> list[float]:
    """The mean over set-ups, for each seed; NaN where one of them has no figure: a flow that delivers nothing has no delay."""
    return [float(x) for x in frame.group_by("seed", maintain_order=True).agg(pl.col(value).mean())[value]]


def estimate(values: Sequence[float], value: str) -> stats.Estimate:
    """The mean over runs, its interval within what the quantity can be."""
    return stats.mean(values, bounds=BOUNDS.get(value, (0.0, math.inf)))


def bars(of: Sequence[stats.Estimate]) -> list[list[float]]:
    """What error bars of a figure reach, down and up."""
    return [[e.value - e.low for e in of], [e.high - e.value for e in of]]


def comparisons(about: dict[str, Any], published: pl.DataFrame, runs: pl.DataFrame) -> list[Comparison]:
    """Every printed number beside ours: at the standard setting, and at that which comes nearest."""
    rows, seen = [], set()
    tolerance = about["tolerance"]["all"]
    for row in published.to_dicts():
        law, hops, metric, value = row["algorithm"], row["hops"], row["metric"], row["value"]
        for setting in (STANDARD, NEAREST):
            if row["table"] == "index" and metric != "jain":
                frame = chosen(runs, "chain" if setting == STANDARD else "settings", law, hops=hops, setting=setting)
                note = "mean over the windows 4, 8 and 32" if setting == STANDARD else "window 4"
                item = f"{hops} hops, {law}, {setting}"
                column = metric
            else:
                frame = chosen(runs, "cross", law, hops=hops, setting=setting)
                item = f"cross of {hops} hops, {law} + NewReno, {setting}"
                note = "of a run; the mean over the runs" if metric == "jain" else ""
                column = {"newreno_throughput": "other", "newreno_delay": "other_delay"}.get(metric, metric)
            values = by_seed(frame, column) if frame.height else []
            if not values or (item, metric, value) in seen:  # the slides print some indices in both tables
                continue
            seen.add((item, metric, value))
            if any(map(math.isnan, values)):
                note = "of the runs in which the flow delivered anything"
            ours = estimate(values, column)
            name = METRICS.get(metric, metric)
            rows.append(compare(item, name, row["unit"], value, ours, tolerance=tolerance, note=note))
    items = list(dict.fromkeys(row.item for row in rows))
    return sorted(rows, key=lambda row: items.index(row.item))


def gain(runs: pl.DataFrame, law: str, value: str = "throughput", **where: Any) -> stats.Estimate:
    """What a law has over NewReno on the mean over the hops, as a share, seed by seed."""
    ours, theirs = (by_seed(chosen(runs, "chain", name, **where), value) for name in (law, NEWRENO))
    return stats.mean([a / b - 1 for a, b in zip(ours, theirs, strict=True)])


def less(a: Sequence[float], b: Sequence[float], share: float = 1.0) -> str:
    """Whether one has less of something than a share of what the other has, seed by seed."""
    return stats.mean([x - share * y for x, y in zip(a, b, strict=True)]).below(0)


Claim = tuple[str, str, Callable[[], tuple[Sequence[str], str]]]
"""Part, what is claimed, and the comparisons it is judged by with their figures."""


def checks(about: dict[str, Any], runs: pl.DataFrame) -> list[Check]:
    """The slides' claims."""
    parts, n, made = set(runs["part"]), runs["seed"].n_unique(), []
    for part, text, judge in chain_claims(about, runs) + cross_claims(about, runs) + other_claims(about, runs):
        found, evidence = judge() if part in parts else ([], NOT_SEEN)
        told_n = f" ± is half of the 95 % interval over n = {n} runs." if part in parts else ""
        made.append(judged(text, found, evidence + told_n))
    left = "The slides do not say of which connections."
    return [*made, Check("Slow start takes up to 40 % of the time of a connection", "not tested", left)]


def chain_claims(about: dict[str, Any], runs: pl.DataFrame) -> list[Claim]:
    """Of one flow."""
    windows = about["common"]["windows"]

    def more() -> tuple[Sequence[str], str]:
        gains = {w: gain(runs, MUZHA, window=w) for w in windows}
        return [g.against(*GAIN) for g in gains.values()], "Gain on the mean over the hops: " + "; ".join(
            f"window {w}: {g.brief(100)} %" for w, g in gains.items()
        ) + ". For it is an interval within 5 to 10 %."

    def at_four() -> tuple[Sequence[str], str]:
        gains = {law: gain(runs, law, hops=4) for law in (VEGAS, MUZHA)}
        wanted = {VEGAS: 214 / 175 - 1, MUZHA: 186 / 175 - 1}
        found = [gains[law].against(wanted[law] - 0.1, wanted[law] + 0.1) for law in gains]
        return found, "Over NewReno at 4 hops, mean of the windows: " + "; ".join(
            f"{law} {g.brief(100)} % (printed {wanted[law]:.0%})" for law, g in gains.items()
        ) + ". Tolerance: 10 points."

    def fewer() -> tuple[Sequence[str], str]:
        of = {w: gain(runs, MUZHA, "retransmissions", window=w) for w in windows}
        return [g.below(0) for g in of.values()], "Against NewReno's, mean over the hops: " + "; ".join(
            f"window {w}: {g.brief(100)} %" for w, g in of.items()
        ) + "."

    def between() -> tuple[Sequence[str], str]:
        of = {law: by_seed(chosen(runs, "chain", law), "retransmissions") for law in (VEGAS, MUZHA, NEWRENO)}
        return [less(of[VEGAS], of[MUZHA]), less(of[MUZHA], of[NEWRENO])], "Mean over windows and hops: " + "; ".join(
            f"{law} {estimate(x, 'retransmissions').brief()}" for law, x in of.items()
        ) + "; compared seed by seed."

    def no_overshoot() -> tuple[Sequence[str], str]:
        frames = {law: chosen(runs, "chain", law, hops=4, window=max(windows)) for law in about["laws"]}
        of = {law: by_seed(frame, "reductions") for law, frame in frames.items()}
        found = [less(of[MUZHA], of[NEWRENO], QUARTER)]
        return found, "Fast recoveries and timeouts in 50 s, 4 hops, window 32: " + "; ".join(
            f"{law} {estimate(x, 'reductions').brief()}" for law, x in of.items()
        ) + ". For it is less than a quarter of NewReno's, seed by seed."

    return [
        ("chain", "5 to 10 % more throughput than NewReno", more),
        ("chain", "At 4 hops Vegas has 22 % and Muzha 6 % more than NewReno", at_four),
        ("chain", "Fewer retransmissions than NewReno", fewer),
        ("chain", "Vegas retransmits least, NewReno most, Muzha in between", between),
        ("chain", "No periodic overshoot and loss", no_overshoot),
    ]


def cross_claims(about: dict[str, Any], runs: pl.DataFrame) -> list[Claim]:
    """Of two flows that cross."""

    def jains(setting: str, law: str, hops: int) -> tuple[stats.Estimate, stats.Estimate]:
        """Of the mean throughputs, and of a run."""
        frame = chosen(runs, "cross", law, setting=setting, hops=hops)
        of_means = stats.jackknife(
            frame.select("throughput", "other").to_numpy(), lambda x: metrics.jain(x.mean(axis=0)), bounds=(0.5, 1.0)
        )
        return of_means, estimate(frame["jain"].to_list(), "jain")

    crossings = list(product((STANDARD, "1000 B", NEAREST), about["cross"]["hops"]))

    def fair() -> tuple[Sequence[str], str]:
        of = {(s, h): jains(s, MUZHA, h) for s, h in crossings}
        found = [j.against(FAIR, 1.0) for j, _ in of.values()]
        return (
            found,
            f"Jain's index of the mean throughputs, wanted {FAIR} or more; in brackets its interval, after it the mean of the index of a run: "
            + "; ".join(
                f"{s}, {h} hops {j.value:.3f} [{j.low:.2f}, {j.high:.2f}], {e.brief()}" for (s, h), (j, e) in of.items()
            )
            + ".",
        )

    def fairer() -> tuple[Sequence[str], str]:
        found, words = [], []
        for setting in (STANDARD, "1000 B", NEAREST):
            a, b, c = (by_seed(chosen(runs, "cross", law, setting=setting), "jain") for law in (MUZHA, VEGAS, NEWRENO))
            better = stats.mean([x - y for x, y in zip(a, b, strict=True)])
            found.append(better.above(0))
            words.append(
                f"{setting}: {better.brief()} (of a run: Muzha {np.nanmean(a):.2f}, Vegas {np.nanmean(b):.2f}, NewReno {np.nanmean(c):.2f})"
            )
        return (
            found,
            "Jain's index of a run beside NewReno, Muzha's less Vegas', mean over 4, 6 and 8 hops: "
            + "; ".join(words)
            + ".",
        )

    def together() -> tuple[Sequence[str], str]:
        found, words = [], []
        for setting in (STANDARD, "1000 B", NEAREST):
            a, b = (by_seed(chosen(runs, "cross", law, setting=setting), "aggregate") for law in (MUZHA, VEGAS))
            ratio = stats.mean([x / y - 1 for x, y in zip(a, b, strict=True)])
            found.append(ratio.above(0))
            words.append(f"{setting} {ratio.brief(100)} %")
        return (
            found,
            "Aggregate of Muzha + NewReno less that of Vegas + NewReno, mean over 4, 6 and 8 hops: "
            + "; ".join(words)
            + ".",
        )

    return [
        ("cross", "Beside NewReno Jain's index is 0.99", fair),
        ("cross", "Muzha is fairer to NewReno than Vegas is", fairer),
        ("cross", "Muzha and NewReno together carry more than Vegas and NewReno", together),
    ]


def other_claims(about: dict[str, Any], runs: pl.DataFrame) -> list[Claim]:
    """Of flows that join, of levels and steps."""

    def converge() -> tuple[Sequence[str], str]:
        frames = {law: chosen(runs, "dynamics", " + ".join([law] * 3)) for law in about["laws"]}
        of, falls = ({law: by_seed(f, value) for law, f in frames.items()} for value in ("jain_cwnd", "falls"))
        found = [
            estimate(of[MUZHA], "jain_cwnd").above(0.9),
            *(less(of[law], of[MUZHA]) for law in ("Sack", NEWRENO)),
            less(falls[MUZHA], falls[NEWRENO], QUARTER),
        ]
        return (
            found,
            "Jain's index of the three mean windows in the last 8 s: "
            + "; ".join(f"{law} {estimate(x, 'jain_cwnd').brief()}" for law, x in of.items())
            + ". Falls of a window by 40 % or more in that time: "
            + "; ".join(f"{law} {estimate(x, 'falls').brief()}" for law, x in falls.items())
            + ". For it are an index above 0.9, one above SACK's, one above NewReno's, and less than a quarter of NewReno's falls.",
        )

    def five() -> tuple[Sequence[str], str]:
        frame = runs.filter(part="levels")
        of = {k: by_seed(frame.filter(variant=k), "throughput") for k in sorted(set(frame["variant"]))}
        off = {k: stats.mean([x / y - 1 for x, y in zip(of[k], of["5"], strict=True)]) for k in of if k != "5"}
        found = [e.below(0) if k < "5" else e.against(-math.inf, SAME) for k, e in off.items()]
        return found, "Mean over windows and hops, kbit/s: " + "; ".join(
            f"{k} levels {estimate(x, 'throughput').brief()}" for k, x in of.items()
        ) + ". Against five, seed by seed: " + "; ".join(
            f"{k} levels {e.brief(100)} %" for k, e in off.items()
        ) + f". For it: more levels gain at most {SAME:.0%}, fewer lose."

    def best_steps() -> tuple[Sequence[str], str]:
        frame = runs.filter(part="steps")
        of = {k: by_seed(frame.filter(variant=k), "throughput") for k in frame["variant"].unique(maintain_order=True)}
        found, words, idle = [], [], []
        for final in about["steps"]["final"]:
            kind, inc = final.split("(")[0], final.split(",")[0]
            gains = {
                k: stats.mean([x / y - 1 for x, y in zip(of[k], of[final], strict=True)])
                for k in of
                if k.startswith(kind + "(") and k != final
            }
            found += [e.against(-math.inf, SAME) for e in gains.values()]
            most = max(gains, key=lambda k: gains[k].value)
            words.append(f"{final} {estimate(of[final], 'throughput').brief()}, {most} {gains[most].brief(100)} % more")
            idle.append(len({tuple(of[k]) for k in of if k.startswith(inc + ",")}) == 1)
        if all(idle):
            return [], "Every decrease gives the same to the bit: it is never asked for. " + "; ".join(words) + "."
        return (
            found,
            "Mean over 4 and 8 hops, kbit/s, and the other of the kind that has most: "
            + "; ".join(words)
            + f". For it is each other setting of the kind that gains at most {SAME:.0%}, seed by seed.",
        )

    return [
        ("dynamics", "The windows of flows that join converge, without saw-teeth", converge),
        ("levels", "Five levels are enough: chosen of 3 to 7", five),
        (
            "steps",
            "AIMD(1, 0.8), AIAD(1, 3), MIMD(1.125, 0.8) and MIAD(1.125, 3) are the best of their kinds",
            best_steps,
        ),
    ]


# --- Tables and figures ----------------------------------------------------------------------------------------------


def pivot(frame: pl.DataFrame, value: str, on: str, index: Sequence[str], words: str = "") -> pl.DataFrame:
    """Means with intervals as text; `words` names the last column of the index where that is the variant."""
    cells = frame.group_by(*index, on, maintain_order=True).agg(pl.col(value))
    text = cells.with_columns(
        text=pl.col(value).map_elements(lambda v: estimate(v.to_list(), value).brief(), return_dtype=pl.String)
    )
    return (
        text.pivot(on=on, index=list(index), values="text")
        .fill_null("–")
        .rename({name: WORDS.get(name, words) for name in index})
    )


def ns2_table(context: Context, name: str) -> pl.DataFrame:
    """A table of ns-2.35's, which the study of the radio keeps."""
    return pl.read_csv(context.folder.parent / "wireless-validation" / f"{name}.csv", comment_prefix="#")


def tables(context: Context, published: pl.DataFrame, runs: pl.DataFrame) -> list[Table]:
    """Parts (1) to (6) as tables, ns-2's column where there is one."""
    made, n = [], runs["seed"].n_unique()
    caption = f"Mean over n = {n} runs of 50 s ± half of its 95 % interval."
    chain = runs.filter(part="chain")
    if chain.height:
        for value, title in (
            ("throughput", "Throughput, kbit/s"),
            ("retransmissions", "Retransmitted packets"),
            ("delay", "Average delay, ms"),
            ("cwnd", "Mean congestion window, packets (what is in flight ends at the receiver's)"),
        ):
            made.append(
                Table(f"chain-{value}", f"Chains: {title}", caption, pivot(chain, value, "laws", ["window", "hops"]))
            )
        ns2 = ns2_table(context, "chain").filter(pl.col("goodput_kbps_mean") > 0, spacing_m=250, packet_bytes=1460)
        ours = chain.group_by("window", "hops", "laws", maintain_order=True).agg(
            ours=pl.col("throughput").mean(), again=pl.col("retransmissions").mean()
        )
        both = ours.join(
            ns2, left_on=["window", "hops", "laws"], right_on=["window", "hops", "variant"], maintain_order="left"
        )
        made.append(
            Table(
                "ns2-chain",
                "Chains: ours beside ns-2.35's",
                f"Goodput in kbit/s and retransmitted packets; ours n = {n}, ns-2.35 n = 20, of the same set-up; over 32 hops it delivers nothing, since its AODV floods 30 hops at most.",
                both.select(
                    pl.col("window").alias("Window (packets)"),
                    pl.col("hops").alias("Hops"),
                    pl.col("laws").alias("Algorithm"),
                    pl.col("ours").round(0).alias("Ours (kbit/s)"),
                    pl.col("goodput_kbps_mean").round(0).alias("ns-2.35 (kbit/s)"),
                    (pl.col("ours") / pl.col("goodput_kbps_mean")).round(2).alias("Ours / ns-2.35"),
                    pl.col("again").round(0).alias("Sent again, ours (packets)"),
                    pl.col("retransmitted_packets_mean").round(0).alias("Sent again, ns-2.35 (packets)"),
                ),
            )
        )
        ns2 = pl.read_csv(context.folder / "ns2_settings.csv", comment_prefix="#")
        made.append(settings_table(published, runs, ns2, caption))
    cross = runs.filter(part="cross")
    if cross.height:
        for value, title in (
            ("throughput", "the first flow, kbit/s"),
            ("other", "NewReno beside it, kbit/s"),
            ("aggregate", "both, kbit/s"),
            ("jain", "Jain's index of a run"),
            ("delay", "delay of the first flow, ms"),
        ):
            made.append(
                Table(
                    f"cross-{value}",
                    f"Crosses: {title}",
                    f"{caption} {NOTHING}" if value == "delay" else caption,
                    pivot(cross, value, "laws", ["setting", "hops"]),
                )
            )
        of_means = cross.group_by("setting", "hops", "laws", maintain_order=True).agg(
            pl.col("throughput", "other").mean(), run=pl.col("jain").mean()
        )
        ours = of_means.with_columns(
            jain=pl.struct("throughput", "other").map_elements(
                lambda r: metrics.jain([r["throughput"], r["other"]]), return_dtype=pl.Float64
            )
        )
        ns2 = ns2_table(context, "cross").with_columns(
            laws=pl.col("flow1") + " + " + pl.col("flow2"), setting=pl.col("packet_bytes").cast(pl.String) + " B"
        )
        both = ours.join(ns2, on=["setting", "hops", "laws"], maintain_order="left")
        made.append(
            Table(
                "ns2-cross",
                "Crosses: ours beside ns-2.35's",
                f"Jain's index of the mean throughputs, and the mean of the index of a run; ours n = {n}, ns-2.35 n = 10, which has no Muzha and was run at two payloads.",
                both.select(
                    pl.col("setting").alias("Setting"),
                    pl.col("hops").alias("Hops"),
                    pl.col("laws").alias("Pair"),
                    pl.col("throughput").round(0).alias("First flow, ours (kbit/s)"),
                    pl.col("flow1_kbps_mean").round(0).alias("ns-2.35 (kbit/s)"),
                    pl.col("other").round(0).alias("Second flow, ours (kbit/s)"),
                    pl.col("flow2_kbps_mean").round(0).alias("ns-2.35 (kbit/s) "),
                    pl.col("jain").round(3).alias("Jain of the means, ours"),
                    pl.col("jain_of_means").alias("ns-2.35"),
                    pl.col("run").round(2).alias("Jain of a run, ours"),
                    pl.col("jain_mean_of_runs").round(2).alias("ns-2.35 "),
                ),
            )
        )
    if (of := runs.filter(part="dynamics")).height:
        frame = of.with_columns(algorithm=pl.col("laws").str.split(" + ").list.first())
        for value, title in (
            ("jain_cwnd", "Jain's index of the windows of the last 8 s"),
            ("falls", "falls of a window by 40 % or more in the last 8 s"),
            ("jain", "Jain's index of the throughputs"),
        ):
            made.append(
                Table(
                    f"dynamics-{value}",
                    f"Three flows that join: {title}",
                    f"Mean over n = {n} runs ± half of its 95 % interval.",
                    pivot(frame, value, "algorithm", ["variant"], "Starts of the flows"),
                )
            )
    if (of := runs.filter(part="levels")).height:
        for value, title in (("throughput", "throughput, kbit/s"), ("retransmissions", "retransmitted packets")):
            made.append(
                Table(
                    f"levels-{value}",
                    f"Number of levels: {title}",
                    caption,
                    pivot(of.with_columns(variant=pl.col("variant") + " levels"), value, "variant", ["window", "hops"]),
                )
            )
    if (of := runs.filter(part="steps")).height:
        made.append(
            Table(
                "steps",
                "Increase and decrease (version 1): throughput, kbit/s",
                caption,
                pivot(of.with_columns(hops=pl.format("{} hops", "hops")), "throughput", "hops", ["variant"], "Setting"),
            )
        )
    return made


def settings_table(published: pl.DataFrame, runs: pl.DataFrame, ns2: pl.DataFrame, caption: str) -> Table:
    """Which setting of what the slides leave open fits their throughputs."""
    frame, rows = runs.filter(part="settings"), []
    for setting in frame["setting"].unique(maintain_order=True):
        row, misses = {"Setting": setting}, []
        theirs = {"Setting": f"{setting}: ns-2.35"}
        for law, hops in product((NEWRENO, VEGAS, MUZHA), (4, 6, 8)):
            ours = estimate(frame.filter(setting=setting, laws=law, hops=hops)["throughput"].to_list(), "throughput")
            printed = published.row(
                by_predicate=(pl.col("table") == "index")
                & (pl.col("algorithm") == law)
                & (pl.col("hops") == hops)
                & (pl.col("metric") == "throughput"),
                named=True,
            )["value"]
            row[f"{law}, {hops} hops ({printed:g})"] = ours.brief()
            misses.append(abs(math.log(ours.value / printed)))
            of = ns2.filter(setting=setting, variant=law, hops=hops)
            theirs[f"{law}, {hops} hops ({printed:g})"] = f"{of['kbps_mean'][0]:.0f}" if of.height else "–"
        row["Off by, 4 hops"] = f"× {math.exp(float(np.mean(misses[::3]))):.2f}"
        row["Off by, all"] = f"× {math.exp(float(np.mean(misses))):.2f}"
        rows += [row, {name: theirs.get(name, "–") for name in row}]
    return Table(
        "settings",
        "What the slides leave open: throughput at a window of 4, kbit/s",
        caption
        + " In brackets the printed value; “off by” is the geometric mean of the factors. ns-2.35 (ten runs) has no Muzha: –.",
        pl.DataFrame(rows),
    )


def figures(about: dict[str, Any], runs: pl.DataFrame, drawn: dict[tuple[str, str], pl.DataFrame]) -> list[Figure]:
    """Curves over the hops, and windows over time."""
    made = []
    chain, n = runs.filter(part="chain"), runs["seed"].n_unique()
    if chain.height:
        for value, label in (
            ("throughput", "Throughput (kbit/s)"),
            ("retransmissions", "Retransmitted packets"),
            ("delay", "Average delay (ms)"),
        ):
            made.append(
                Figure(
                    f"chain-{value}",
                    f"{label.split(' (')[0]} over the hops",
                    f"Windows of 4, 8 and 32 packets; means over n = {n} runs, bars their 95 % intervals; laws stand a little aside of each other.",
                    panels(about, chain, value, label),
                    chain.select("window", "hops", "laws", "seed", value),
                )
            )
    if (of := runs.filter(part="levels")).height:
        made.append(
            Figure(
                "levels",
                "Throughput by the number of levels",
                f"Mean over the windows; n = {n} runs, bars 95 % intervals.",
                level_chart(of),
                of.select("window", "hops", "variant", "seed", "throughput"),
            )
        )
    for kind, title, caption in (
        ("alone", "Window of one flow", "4 hops, window 32, one run (n = 1)."),
        (
            "joining",
            "Windows of three flows that join",
            f"4 hops, starts at {', '.join(about['dynamics']['starts'][0])}; one run (n = 1).",
        ),
    ):
        traced = {law: frame for (k, law), frame in drawn.items() if k == kind}
        if traced:
            data = pl.concat([frame.with_columns(algorithm=pl.lit(law)) for law, frame in traced.items()])
            made.append(Figure(f"windows-{kind}", title, caption, window_chart(traced), data))
    return made


def panels(about: dict[str, Any], chain: pl.DataFrame, value: str, label: str) -> Chart:
    windows = about["common"]["windows"]
    with styled():
        chart = Chart(7.2, 3.2)
        for axes, window in zip(chart.subplots(1, len(windows), sharey=True), windows, strict=True):
            for i, law in enumerate(about["laws"]):
                points = [
                    (h, estimate(chain.filter(window=window, laws=law, hops=h)[value].to_list(), value))
                    for h in sorted(set(chain["hops"]))
                ]
                drawn = axes.errorbar(
                    [h for h, _ in points],
                    [e.value for _, e in points],
                    bars([e for _, e in points]),
                    label=law,
                    marker="osD^"[i],
                    ms=3.5,
                    capsize=2,
                    elinewidth=0.8,
                    **look(i),
                )
                aside(drawn, i, len(about["laws"]))
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
            axes.set_xlabel("Hops")
            axes.set_title(f"window {window}")
        chart.axes[0].set_ylabel(label)
        chart.axes[0].set_ylim(bottom=0)  # of all panels, once all is drawn
        chart.legend_below()
    return chart


def level_chart(of: pl.DataFrame) -> Chart:
    with styled():
        chart = Chart(6.4, 3.2)
        axes = chart.add_subplot()
        for i, hops in enumerate(sorted(set(of["hops"]))):
            points = [
                (int(k), estimate(by_seed(of.filter(hops=hops, variant=k), "throughput"), "throughput"))
                for k in sorted(set(of["variant"]))
            ]
            drawn = axes.errorbar(
                [k for k, _ in points],
                [e.value for _, e in points],
                bars([e for _, e in points]),
                label=f"{hops} hops",
                marker="osD^"[i],
                ms=3.5,
                capsize=2,
                elinewidth=0.8,
                **look(i),
            )
            aside(drawn, i, of["hops"].n_unique())
        axes.set_xticks(sorted(map(int, set(of["variant"]))))
        axes.set_xlabel("Levels")
        axes.set_ylabel("Throughput (kbit/s)")
        axes.set_ylim(bottom=0)
        chart.legend_below()
    return chart


def window_chart(traced: dict[str, pl.DataFrame]) -> Chart:
    with styled():
        chart = Chart(7.2, 4.4)
        for axes, (law, frame) in zip(chart.subplots(2, 2, sharex=True).flat, traced.items(), strict=True):
            for i, flow in enumerate(frame["flow"].unique(maintain_order=True)):
                one = frame.filter(flow=flow)
                axes.plot(*thin(one["time_s"], one["window"]), label=f"flow {i + 1}", **look(i))
            axes.set_title(law)
            axes.set_xlabel("Time (s)")
            axes.set_ylabel("Window (packets)")
            axes.set_ylim(bottom=0)
        chart.legend_below()
    return chart


# --- Words -----------------------------------------------------------------------------------------------------------


def answer(runs: pl.DataFrame) -> str:
    """The answer to the question, in a paragraph."""
    words = []
    if "chain" in set(runs["part"]):
        rate = {w: gain(runs, MUZHA, window=w) for w in sorted(set(runs.filter(part="chain")["window"]))}
        again = gain(runs, MUZHA, "retransmissions")
        words.append(
            "On chains Muzha's throughput differs from NewReno's by "
            + ", ".join(f"{g.brief(100)} % (window {w})" for w, g in rate.items())
            + f", its retransmissions by {again.brief(100)} %."
        )
    if "cross" in set(runs["part"]):
        jain = {law: estimate(by_seed(chosen(runs, "cross", law), "jain"), "jain") for law in (MUZHA, VEGAS, NEWRENO)}
        words.append(
            "Where it crosses NewReno, Jain's index of a run is "
            + jain[MUZHA].brief()
            + f"; Vegas' {jain[VEGAS].brief()}, NewReno's beside itself {jain[NEWRENO].brief()}."
        )
    return " ".join(words)


def differences(runs: pl.DataFrame) -> list[str]:
    """Where we differ, with the runs that say so."""
    return [
        "The printed 6-hop throughputs of the index comparison (54, 89, 65 kbit/s) are entries of the table of crosses, and so "
        "probably are those at 8 hops; a single flow over 6 hops of this radio carries 2.5 to 4 times as much, here and in "
        "ns-2.35. Only the 4-hop row can be a chain's, and its ratios are what the checks take.",
        "Single runs of a cross differ from seed to seed by more than the protocols do (the tables show the index of a run beside the "
        "index of the means): an index of 0.99 for a run is not what happens between two flows that contend for 50 s, whatever they run.",
        *crossing(runs),
        "Seven levels do not differ from six, nor by our table the decreases of the slides' second study: an aggressive deceleration takes a queue "
        "of 25 packets or a drop from it, which no flow of these chains builds. So that they are tested, the second study runs with "
        "routers for which one packet is enough; with three no decrease is asked for over 4 and 8 hops, with two over 4 only.",
        "What the slides leave open decides the absolute throughputs; the table of settings shows how far each is from the printed ones.",
    ]


def crossing(runs: pl.DataFrame) -> list[str]:
    """Who gets what where two flows cross."""
    of = runs.filter(part="cross", setting=STANDARD)
    if not of.height:
        return []
    shares = of.group_by("laws", maintain_order=True).agg(pl.col("throughput", "other").mean())
    told = "; ".join(f"{row['laws']} {row['throughput']:.0f} and {row['other']:.0f}" for row in shares.to_dicts())
    return [
        f"Who wins where two flows cross (mean over 4, 6 and 8 hops, kbit/s): {told}. The slides have NewReno take most of what it shares "
        "with Vegas; here, as in ns-2.35, Vegas has more, and so has Muzha, whether or not it tells losses apart, doubles, or knows "
        "three levels only; and so has a NewReno whose window ends at 4. A small window is what wins."
    ]


def method(about: dict[str, Any], n: int) -> list[str]:
    """How it was measured."""
    return [
        f"{about['common']['duration']} a run from the first SYN on, nothing left out; AODV, ARP, the profile ns2-2M (2 Mbit/s, RTS, 250 m), an "
        f"ACK for each packet, a timer of at least {about['flow']['rto_min']}; the window is the receiver's. {n} seeds. Delay is one way, of data.",
        "Intervals are 95 %, Student's t, cut where the quantity cannot be (below zero, Jain's index above 1); that of Jain's index of the "
        "means is a jackknife's. Gains are taken seed by seed. A flow that delivers nothing in a run has no delay there.",
        "Muzha's routers, and all that the slides leave open of the protocol, are as the pages muzha and drai say.",
    ]
