"""High-speed TCP variants on a dumbbell: the five tests of the study, its findings in words, and the ranges around them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario, metrics, stats
from cclab.analysis.plots import Chart, look, styled
from cclab.published import Check, Context, Figure, Findings, Table, judged
from cclab.results import Result

PACKET = 1500  # bytes on the wire
LINK = "bottleneck"
TESTS = ("utilisation", "fairness", "rtt-fairness", "friendliness", "mixture")
NEW = ("CUBIC", "BIC", "FAST", "HSTCP", "Scalable")  # the paper's new variants; H-TCP is ours
RENO = "Reno"
# Verdicts need thresholds; these were fixed before anything was run. The paper gives none.
GOOD_UTILISATION = 0.95  # of the link
GOOD_FAIRNESS = 0.8  # smaller over larger goodput
SAME = 0.01  # utilisations are as good as equal within this
FRIENDLY = 0.8  # of what Reno gets beside Reno
SHORT_MS = 22


@dataclass(frozen=True)
class Cell:
    """One set-up, run with several seeds."""

    test: str
    algorithm: str
    rtt_ms: int
    queue: float
    background: str
    published: bool
    """Whether queue and background are those that the paper prints for this test."""


def run(context: Context) -> Findings:
    """Everything of the study."""
    about = context.about
    cells = list(design(about, context.quick, context.parts))
    seeds = range(1, 1 + scale(about, context.quick)["replications"])
    jobs = [(scenario(about, cell, context.quick), seed) for cell in cells for seed in seeds]
    reduced = context.run(jobs, summary, keep="highspeed/3")
    rows = [
        {**vars(cell), "seed": seed, **row}
        for (cell, seed), row in zip(itertools.product(cells, seeds), reduced, strict=True)
    ]
    runs = with_friendliness(pl.DataFrame(rows, infer_schema_length=None))
    printed = runs.filter("published")
    return Findings(
        comparisons=[],
        checks=checks(printed, context.folder),
        figures=figures(printed, runs),
        tables=tables(printed, runs),
        summary=answer(printed),
        differences=differences(printed),
        method=method(about, context.quick, len(seeds), runs),
    )


# --- What is run -----------------------------------------------------------------------------------------------------


def scale(about: dict[str, Any], quick: bool) -> dict[str, Any]:
    return dict(about["quick" if quick else "full"])


def design(about: dict[str, Any], quick: bool, parts: Iterable[str]) -> Iterable[Cell]:
    """The set-ups that are printed first, then the ranges around them."""
    parts = list(parts)
    matrix = "matrix" in parts
    for test in (t for t in TESTS if t in parts):
        of = about["tests"][test]
        for rtt, algorithm in itertools.product(rtts(of, quick), about["algorithms"]):
            yield Cell(test, algorithm, rtt, of["queue"], of["background"], True)
    if not matrix:
        return
    for test in (t for t in TESTS[:4] if len(parts) == 1 or t in parts):
        of = about["tests"][test]
        around = itertools.product(about["matrix"]["queue"], about["matrix"]["background"])
        ranges = [(q, b) for q, b in around if (q, b) != (of["queue"], of["background"])]
        wanted = rtts(of, quick)
        if quick:  # every part present, fewer points: one test, one RTT, the corners
            if test != "fairness":
                continue
            queues, loads = about["matrix"]["queue"], about["matrix"]["background"]
            ranges, wanted = [(queues[0], loads[0]), (queues[-1], loads[0]), (queues[0], loads[-1])], wanted[:1]
        for (queue, background), rtt, algorithm in itertools.product(ranges, wanted, about["algorithms"]):
            yield Cell(test, algorithm, rtt, queue, background, False)


def rtts(of: dict[str, Any], quick: bool) -> list[int]:
    return list(of["rtt"]["quick" if quick else "full"]) if "rtt" in of else [max(of["rtts"])]


def scenario(about: dict[str, Any], cell: Cell, quick: bool) -> Scenario:
    """A set-up as a scenario."""
    of, size = about["tests"][cell.test], scale(about, quick)
    law = about["algorithms"][cell.algorithm]

    def flow(rtt_ms: int, cc: str = law, **more: Any) -> dict[str, Any]:
        return {**about["flow"], "cc": cc, "rtt": f"{rtt_ms} ms", **more}

    later = {"start": size["second_start"]}
    flows = {
        "utilisation": lambda: [flow(cell.rtt_ms)],
        "fairness": lambda: [flow(cell.rtt_ms), flow(cell.rtt_ms, **later)],
        "rtt-fairness": lambda: [flow(of["rtt_first"]), flow(cell.rtt_ms, **later)],
        "friendliness": lambda: [flow(cell.rtt_ms), flow(cell.rtt_ms, about["algorithms"][RENO])],
        "mixture": lambda: [flow(rtt) for rtt in of["rtts"]],
    }[cell.test]()
    longest = max(int(f["rtt"].split()[0]) for f in flows)
    rate = float(of["rate"].split()[0]) * 1e6
    buffer = max(1, int(cell.queue * rate * longest * 1e-3 / 8 / PACKET))
    background = [] if cell.background == "none" else [{**about["background"], "load": cell.background}]
    return Scenario.from_dict(
        {
            "name": f"{cell.test}, {cell.algorithm}, {cell.rtt_ms} ms, {cell.queue:g} BDP, background {cell.background}",
            "duration": size["duration"],
            "warmup": size["warmup"],
            "network": {
                "topology": "dumbbell",
                "rate": of["rate"],
                "access": {"rate": "1 Gbit/s", "queue": {"limit": "unlimited"}},
                "queue": {"discipline": "droptail", "limit": f"{buffer} packets"},
            },
            "flows": [{**f, "label": f"long-{i + 1}"} for i, f in enumerate(flows)],
            "background": background,
            "record": {"samples": "1 s"},
        }
    )


def summary(result: Result) -> dict[str, float]:
    """What the analysis needs of a run."""
    flows, link = result.flows, result.links.row(by_predicate=pl.col("name") == LINK, named=True)
    goodput = flows["goodput_bps"].to_list()
    web = result.background.to_dicts()[0] if result.background.height else None
    return {
        "utilisation": link["utilisation"],
        "queue_s": link["sojourn_mean_s"],
        "queue_p95_s": link["sojourn_p95_s"],
        "loss": metrics.loss_rate(result, link=LINK),
        "goodput_1": goodput[0],
        "goodput_2": goodput[1] if len(goodput) > 1 else math.nan,
        "goodput_all": sum(goodput),
        "throughput_all": float(flows["throughput_bps"].sum()),
        "jain": metrics.jain(goodput),
        "variation": float(np.mean(metrics.coefficient_of_variation(result, window_s=1.0))),
        "converged_s": metrics.convergence_time_s(result) if len(goodput) == 2 else math.nan,
        "carried_load": web["carried_load"] if web else 0.0,
        "background_bps": web["carried_bps"] if web else math.nan,
        "interval_s": web["packet_interval_mean_s"] if web else math.nan,
        "fct_s": web["fct_mean_s"] if web else math.nan,
    }


def with_friendliness(runs: pl.DataFrame) -> pl.DataFrame:
    """Adds what compares runs: the fairness ratio, and Reno's goodput over that beside Reno with the same seed."""
    same = ["test", "rtt_ms", "queue", "background", "seed"]
    beside_reno = runs.filter(pl.col("algorithm") == RENO).select(
        *same, reno_bps=(pl.col("goodput_1") + pl.col("goodput_2")) / 2
    )
    two = pl.min_horizontal("goodput_1", "goodput_2") / pl.max_horizontal("goodput_1", "goodput_2")
    friendliness = pl.col("test") == "friendliness"
    return (
        runs.join(beside_reno, on=same, how="left")
        .with_columns(
            smaller_share=pl.when(pl.col("test") == "fairness").then(two),
            # the flow with the varied RTT over that with 162 ms
            rtt_ratio=pl.when(pl.col("test") == "rtt-fairness").then(pl.col("goodput_2") / pl.col("goodput_1")),
            retained=pl.when(friendliness & (pl.col("algorithm") != RENO)).then(
                pl.col("goodput_2") / pl.col("reno_bps")
            ),
        )
        .with_columns(rtt_unfairness=pl.col("rtt_ratio").log(2.0).abs())
    )


# --- The findings ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A finding of the paper: which test it is about, and how it is judged."""

    test: str
    judge: Callable[[pl.DataFrame], tuple[list[str], str]]


def checks(printed: pl.DataFrame, folder: Any) -> list[Check]:
    """Each finding with a verdict and the figures behind it."""
    made = []
    n = printed["seed"].n_unique() if printed.height else 0
    for row in pl.read_csv(folder / "findings.csv").to_dicts():
        claim = CLAIMS[row["finding"]]
        text = f"{row['section']}: {row['algorithm'].replace(';', ', ')}: {row['text']}"
        wanted = claim.test.split("+")
        if not all((printed["test"] == test).any() for test in wanted):
            made.append(judged(text, [], "This part was not run."))
            continue
        found, evidence = claim.judge(printed)
        made.append(judged(text, found, f"{evidence}. ± is half of the 95 % interval over n = {n} runs."))
    return made


def by_seed(runs: pl.DataFrame, test: str, value: str, algorithm: str) -> list[float]:
    """The mean of a figure over the RTTs of a test, for each seed."""
    chosen = runs.filter(test=test, algorithm=algorithm).sort("seed")
    found = chosen.group_by("seed", maintain_order=True).agg(pl.col(value).mean())[value].to_list()
    return [x for x in found if x is not None]


def mean_of(runs: pl.DataFrame, test: str, value: str, algorithm: str) -> stats.Estimate:
    """The same with its interval over the seeds."""
    return stats.mean(by_seed(runs, test, value, algorithm), bounds=bounds(value))


def bounds(value: str) -> tuple[float, float]:
    """What a figure cannot leave."""
    return 0.0, 1.0 if value in ("smaller_share", "utilisation") else math.inf


def less(runs: pl.DataFrame, test: str, value: str, a: str, b: str) -> str:
    """Whether one algorithm has less of a figure than another, seed by seed."""
    return stats.paired(*(by_seed(runs, test, value, name) for name in (a, b))).difference.below(0)


def named(runs: pl.DataFrame, test: str, value: str, of: Iterable[str], scale: float = 1.0) -> str:
    """Figures of several algorithms, the largest first, each with its interval."""
    ordered = sorted(((name, mean_of(runs, test, value, name)) for name in of), key=lambda of: -of[1].value)
    return "; ".join(f"{name} {told(estimate, scale)}" for name, estimate in ordered)


def told(of: stats.Estimate, scale: float = 1.0) -> str:
    """A mean with half the width of its interval; n is told beside it."""
    return of.brief(scale)


def present(runs: pl.DataFrame) -> list[str]:
    return runs["algorithm"].unique(maintain_order=True).to_list()


def utilisation_good(runs: pl.DataFrame) -> tuple[list[str], str]:
    cells = runs.filter(pl.col("test") == "utilisation", pl.col("algorithm").is_in(["CUBIC", "BIC"]))
    worst = cells.group_by("algorithm", "rtt_ms", maintain_order=True).agg(pl.col("utilisation").mean())
    good = worst.filter(pl.col("utilisation") >= GOOD_UTILISATION).height
    low = worst.sort("utilisation").row(0, named=True)
    found = [
        stats.mean(of["utilisation"].to_list(), bounds=(0.0, 1.0)).against(GOOD_UTILISATION, 1.0)
        for _, of in cells.group_by("algorithm", "rtt_ms", maintain_order=True)
    ]
    return found, (
        f"The link is used to {GOOD_UTILISATION:.0%} or more in {good} of {worst.height} set-ups; the lowest: "
        f"{low['algorithm']} at {low['rtt_ms']} ms, {low['utilisation']:.1%}. Mean over the RTTs, %: "
        + named(runs, "utilisation", "utilisation", present(runs), 100)
    )


def fast_bursty(runs: pl.DataFrame) -> tuple[list[str], str]:
    long = int(runs.filter(test="utilisation")["rtt_ms"].max())  # type: ignore[arg-type]
    at = runs.filter(rtt_ms=long)
    found = [less(at, "utilisation", "variation", name, "FAST") for name in present(runs) if name != "FAST"]
    return found, (
        f"Standard deviation over mean of the goodput in windows of 1 s at {long} ms: "
        + named(at, "utilisation", "variation", present(runs))
    )


def fairness_good(runs: pl.DataFrame) -> tuple[list[str], str]:
    found = [mean_of(runs, "fairness", "smaller_share", n).against(GOOD_FAIRNESS, math.inf) for n in ("CUBIC", "BIC")]
    return found, (
        f"Smaller over larger goodput of the two flows, mean over the RTTs (good: {GOOD_FAIRNESS:g} or more): "
        + named(runs, "fairness", "smaller_share", present(runs))
    )


def wilder(runs: pl.DataFrame, algorithm: str) -> list[str]:
    """Whether its goodput varies more than CUBIC's and BIC's."""
    return [less(runs, "fairness", "variation", calm, algorithm) for calm in ("CUBIC", "BIC")]


def unstable(runs: pl.DataFrame) -> tuple[list[str], str]:
    return [*wilder(runs, "FAST"), *wilder(runs, "Scalable")], (
        "Unstable is taken as: the goodput of a flow in windows of 1 s varies more than with CUBIC and BIC. Standard "
        "deviation over mean, over the RTTs: " + named(runs, "fairness", "variation", present(runs))
    )


def other_rtt(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter((pl.col("test") != "rtt-fairness") | (pl.col("rtt_ms") != 162))


UNFAIR = (
    "Unfairness is the mean over the RTTs of |log2(goodput of the varied flow / goodput of the 162 ms flow)|, so that 1 is a "
    "factor of two either way: "
)


def rtt_best(runs: pl.DataFrame) -> tuple[list[str], str]:
    at = other_rtt(runs)
    found = [less(at, "rtt-fairness", "rtt_unfairness", "CUBIC", n) for n in (*NEW, RENO) if n != "CUBIC"]
    return found, UNFAIR + named(at, "rtt-fairness", "rtt_unfairness", present(runs))


def rtt_worse(runs: pl.DataFrame) -> tuple[list[str], str]:
    found = [less(other_rtt(runs), "rtt-fairness", "rtt_unfairness", RENO, name) for name in ("HSTCP", "Scalable")]
    return found, UNFAIR + named(other_rtt(runs), "rtt-fairness", "rtt_unfairness", ("HSTCP", "Scalable", RENO))


def curve(runs: pl.DataFrame, test: str, value: str, algorithm: str) -> dict[int, float]:
    """The geometric mean of a ratio at each RTT."""
    of = (
        runs.filter(test=test, algorithm=algorithm)
        .group_by("rtt_ms")
        .agg(pl.col(value).log().mean().exp())
        .sort("rtt_ms")
    )
    return dict(zip(of["rtt_ms"].to_list(), of[value].to_list(), strict=True))


def at_rtt(runs: pl.DataFrame, test: str, value: str, algorithm: str) -> list[list[float]]:
    """The logarithm of a ratio at each RTT, for each seed."""
    of = runs.filter(test=test, algorithm=algorithm).sort("rtt_ms", "seed")
    return [part[value].log().to_list() for _, part in of.group_by("rtt_ms", maintain_order=True)]


def rises(ratios: list[list[float]]) -> list[str]:
    """Whether a ratio is larger at the next RTT, one after the other."""
    return [stats.paired(a, b).difference.below(0) for a, b in itertools.pairwise(ratios)]


def rtt_abnormal(runs: pl.DataFrame) -> tuple[list[str], str]:
    """Ordinary: the shorter the RTT, the more a flow gets."""
    logs = at_rtt(runs, "rtt-fairness", "rtt_ratio", "FAST")
    found = [stats.any_of([*rises(logs), stats.mean(logs[0]).below(0)])]
    ratios = {n: [f"{x:.3g}" for x in curve(runs, "rtt-fairness", "rtt_ratio", n).values()] for n in present(runs)}
    at = ", ".join(str(r) for r in curve(runs, "rtt-fairness", "rtt_ratio", "FAST"))
    return found, (
        "Abnormal is taken as: it is not so that the shorter the RTT of the second flow, the more it gets. Goodput of the "
        f"second flow over that of the 162 ms flow, at {at} ms: "
        + "; ".join(f"{name} {', '.join(values)}" for name, values in ratios.items())
    )


def friendly_short(runs: pl.DataFrame) -> tuple[list[str], str]:
    at = runs.filter((pl.col("test") != "friendliness") | (pl.col("rtt_ms") <= SHORT_MS))
    kept = mean_of(at, "friendliness", "retained", "CUBIC")
    others = [n for n in present(runs) if n != RENO]
    return [kept.against(FRIENDLY, math.inf)], (
        f"Reno's goodput beside the variant over its goodput beside Reno, RTT of at most {SHORT_MS} ms (friendly: "
        f"{FRIENDLY:g} or more): " + named(at, "friendliness", "retained", others)
    )


KEPT = "Reno's goodput beside the variant over its goodput beside Reno, mean over the RTTs: "


def most_aggressive(runs: pl.DataFrame) -> tuple[list[str], str]:
    others = [n for n in NEW if n != "Scalable"]
    found = [less(runs, "friendliness", "retained", "Scalable", n) for n in others]
    return found, KEPT + named(runs, "friendliness", "retained", variants(runs))


def variants(runs: pl.DataFrame) -> list[str]:
    return [n for n in present(runs) if n != RENO]


def friendly_abnormal(runs: pl.DataFrame) -> tuple[list[str], str]:
    """Ordinary: Reno loses at every RTT, and the more the longer it is."""
    fast = curve(runs, "friendliness", "retained", "FAST")
    logs = at_rtt(runs, "friendliness", "retained", "FAST")
    found = [stats.any_of([*rises(logs), *(stats.mean(of).above(0) for of in logs)])]
    told = ", ".join(f"{rtt} ms {x:.3g}" for rtt, x in fast.items())
    return found, (
        "Ordinary would be: Reno loses at every RTT, and more the longer it is. Reno's goodput beside FAST over that beside "
        f"Reno: {told}"
    )


def summary_unfair(runs: pl.DataFrame) -> tuple[list[str], str]:
    found = [
        stats.all_of(
            [
                mean_of(runs, "friendliness", "retained", n).below(FRIENDLY),
                stats.paired(*(by_seed(runs, "utilisation", "utilisation", x) for x in (n, RENO))).difference.against(
                    -SAME, 1.0
                ),
            ]
        )
        for n in NEW
    ]
    return found, (
        f"For it is a variant that leaves Reno less than {FRIENDLY:g} of its share and uses no less of the link than Reno, within "
        f"{SAME:.0%}. "
        + KEPT + named(runs, "friendliness", "retained", variants(runs))
        + ". Utilisation, %: " + named(runs, "utilisation", "utilisation", present(runs), 100)
    )  # fmt: skip


def summary_fast(runs: pl.DataFrame) -> tuple[list[str], str]:
    others = [n for n in NEW if n != "FAST"]

    def spread(name: str) -> list[float]:
        return list(np.std(np.array(at_rtt(runs, "friendliness", "retained", name)) / math.log(2), axis=0))

    found = [
        *(less(runs, "utilisation", "queue_s", "FAST", n) for n in others),
        *(less(runs, "friendliness", "retained", n, "FAST") for n in others),
        *(stats.paired(spread(n), spread("FAST")).difference.below(0) for n in others),
    ]
    return found, (
        "Beside each of the paper's other new variants: a smaller queue, less aggressive, a larger spread. Mean time in the queue with one flow, ms: "
        + named(runs, "utilisation", "queue_s", present(runs), 1e3)
        + ". " + KEPT + named(runs, "friendliness", "retained", variants(runs))
        + ". Spread of that over the RTTs (standard deviation of log2): "
        + "; ".join(f"{n} {stats.mean(spread(n)).brief()}" for n in variants(runs))
    )  # fmt: skip


def summary_stcp(runs: pl.DataFrame) -> tuple[list[str], str]:
    first, second = most_aggressive(runs), unstable(runs)
    return [*first[0], *wilder(runs, "Scalable")], f"{first[1]}. {second[1]}"


def summary_delay(runs: pl.DataFrame) -> tuple[list[str], str]:
    pairs = list(itertools.product(("CUBIC", "BIC", "Scalable"), (RENO, "HSTCP", "FAST")))
    found = {f"{a} more than {b}": less(runs, "fairness", "queue_s", b, a) for a, b in pairs}
    against = [pair for pair, verdict in found.items() if verdict == stats.DIFFERS]
    return list(found.values()), (
        f"Against it: {'; '.join(against) or 'none'}. Mean time in the queue, two flows, "
        "mean over the RTTs, ms: " + named(runs, "fairness", "queue_s", present(runs), 1e3)
    )


CLAIMS = {
    "utilisation-good": Claim("utilisation", utilisation_good),
    "fast-bursty": Claim("utilisation", fast_bursty),
    "fairness-good": Claim("fairness", fairness_good),
    "unstable": Claim("fairness", unstable),
    "rtt-best": Claim("rtt-fairness", rtt_best),
    "rtt-worse": Claim("rtt-fairness", rtt_worse),
    "rtt-abnormal": Claim("rtt-fairness", rtt_abnormal),
    "friendly-short": Claim("friendliness", friendly_short),
    "most-aggressive": Claim("friendliness", most_aggressive),
    "friendly-abnormal": Claim("friendliness", friendly_abnormal),
    "summary-unfair": Claim("utilisation+friendliness", summary_unfair),
    "summary-fast": Claim("utilisation+friendliness", summary_fast),
    "summary-stcp": Claim("fairness+friendliness", summary_stcp),
    "summary-delay": Claim("fairness", summary_delay),
}


# --- The page --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """A figure of a test over the RTT: which column, its axis, and what to make of it."""

    test: str
    value: str
    title: str
    label: str
    caption: str
    scale: float = 1.0
    log: bool = False


VIEWS = (
    View("utilisation", "utilisation", "Link utilisation of one flow (4.1)", "Utilisation (%)",
         "One long flow and web background on 800 Mbit/s.", 100),
    View("utilisation", "variation", "How even one flow's goodput is (4.1)", "Standard deviation / mean",
         "Goodput in windows of 1 s; the lower, the smoother.", log=True),
    View("fairness", "smaller_share", "Two flows of one kind, equal RTTs (4.2)", "Smaller / larger goodput",
         "1 is a fair share."),
    View("fairness", "queue_s", "Time in the queue with two flows (4.2)", "Mean time in queue (ms)",
         "The buffer is a fifth of the bandwidth-delay product, so it grows with the RTT.", 1e3, True),
    View("rtt-fairness", "rtt_ratio", "A second flow of another RTT (4.3)", "Goodput over the 162 ms flow's",
         "Dotted: inverse to the RTT, and to its square. 1 is equal shares.", log=True),
    View("friendliness", "retained", "What Reno keeps beside a variant (4.4)", "Reno's goodput / beside Reno",
         "1 leaves Reno what it gets beside another Reno.", log=True),
)  # fmt: skip


def figures(printed: pl.DataFrame, runs: pl.DataFrame) -> list[Figure]:
    drawn = []
    n = runs["seed"].n_unique()
    for view in VIEWS:
        of = printed.filter(pl.col("test") == view.test)
        if not of.height:
            continue
        data = summarised(of, view)
        mean = (
            "Geometric mean of {n} runs and 95 % interval (Student's t of the logarithms)"
            if view.log
            else "Mean of {n} runs and 95 % interval (Student's t)"
        )
        caption = f"{view.caption} {mean.format(n=n)}."
        drawn.append(
            Figure(f"{view.test}-{view.value.replace('_', '-')}", view.title, caption, over_rtt(data, view), data)
        )
    mixed = printed.filter(pl.col("test") == "mixture")
    if mixed.height:
        for value, title, label, factor in (
            ("ratio", "Four long flows against the background (4.5)", "Throughput / background's", 1.0),
            ("interval_s", "Time between packets of short flows (4.5)", "Mean packet interval (ms)", 1e3),
        ):
            of = mixed.with_columns(ratio=pl.col("throughput_all") / pl.col("background_bps"))
            data = stats.summarise(of, value, by=["algorithm"], bounds=bounds(value))
            caption = f"Long flows at 42, 82, 122 and 162 ms. Mean of {n} runs and 95 % interval (Student's t)."
            drawn.append(Figure(f"mixture-{value.replace('_s', '')}", title, caption, bars(data, label, factor), data))
    return drawn


def over_rtt(data: pl.DataFrame, view: View) -> Chart:
    """One line for each algorithm over the RTT, with intervals."""
    with styled():
        chart = Chart(6.4, 3.8)
        axes = chart.add_subplot()
        names = data["algorithm"].unique(maintain_order=True).to_list()
        if view.value == "rtt_ratio":
            x = np.geomspace(float(data["rtt_ms"].min()), float(data["rtt_ms"].max()), 50)
            for power in (1, 2):
                label = f"(162 ms / RTT){'²' if power == 2 else ''}"
                axes.plot(x, (162 / x) ** power, color="#888888", linestyle=":", linewidth=1, label=label)
        for i, name in enumerate(names):
            of = data.filter(pl.col("algorithm") == name)
            middle = of["mean"].to_numpy() * view.scale
            half = np.array([middle - of["low"].to_numpy() * view.scale, of["high"].to_numpy() * view.scale - middle])
            # Beside each other, so that intervals do not hide each other.
            at = of["rtt_ms"].to_numpy() * (1 + 0.012 * (i - (len(names) - 1) / 2))
            axes.errorbar(at, middle, np.nan_to_num(half), capsize=2, elinewidth=0.8, marker="o", markersize=3,
                          label=name, **look(i))  # fmt: skip
        axes.set_xscale("log")
        ticks = data["rtt_ms"].unique().sort().to_list()
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
        axes.set_xlabel("RTT of the second flow (ms)" if view.test == "rtt-fairness" else "RTT (ms)")
        axes.set_ylabel(view.label)
        if view.log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
        else:
            axes.set_ylim(bottom=0, top=105 if view.scale == 100 else None)
        chart.legend_below()
    return chart


def bars(data: pl.DataFrame, label: str, factor: float) -> Chart:
    with styled():
        chart = Chart(6.4, 3.2)
        axes = chart.add_subplot()
        middle = data["mean"].to_numpy() * factor
        half = np.nan_to_num(np.abs(data.select("low", "high").to_numpy().T * factor - middle))
        axes.bar(data["algorithm"].to_list(), middle, yerr=half, capsize=3, color=look(0)["color"], width=0.6)
        axes.set_ylabel(label)
        axes.grid(axis="x", visible=False)
    return chart


def tables(printed: pl.DataFrame, runs: pl.DataFrame) -> list[Table]:
    n = runs["seed"].n_unique()
    caption = f"Mean of {n} runs ± half of the 95 % interval (Student's t)."
    geometric = f"Geometric mean of {n} runs [95 % interval, Student's t of the logarithms]."
    made = []
    for view in VIEWS:
        of = printed.filter(pl.col("test") == view.test)
        if of.height:
            name = f"table-{view.test}-{view.value.replace('_', '-')}"
            how = geometric if view.log else caption
            made.append(by_rtt(summarised(of, view), name, f"{view.title}: {view.label}", how, view))
    return made + ranges(runs, caption)


def by_rtt(data: pl.DataFrame, name: str, title: str, caption: str, view: View) -> Table:
    """A row for each algorithm, a column for each RTT."""
    text = data.with_columns(estimate=written(data, view.scale, between=view.log))
    wide = text.select("algorithm", rtt=pl.format("{} ms", "rtt_ms"), text="estimate").pivot(
        "rtt", index="algorithm", values="text"
    )
    return Table(name, title, caption, wide.rename({"algorithm": "Algorithm"}).fill_null("–"), data)


def summarised(of: pl.DataFrame, view: View) -> pl.DataFrame:
    """Mean and interval of a figure for each algorithm and RTT; of ratios and other logarithmic figures by their logarithms."""
    by = ["algorithm", "rtt_ms"]
    if not view.log:
        return stats.summarise(of, view.value, by=by, bounds=bounds(view.value)).filter(pl.col("n") > 0)
    logs = of.with_columns(pl.col(view.value).log())
    figures = pl.col("mean", "low", "high")
    return stats.summarise(logs, view.value, by=by).filter(pl.col("n") > 0).with_columns(figures.exp())


def written(data: pl.DataFrame, scale: float, *, between: bool = False) -> pl.Series:
    """Each row of a summary as text: half the width of its interval, or its ends."""
    texts = []
    for mean, low, high, n in data.select("mean", "low", "high", "n").iter_rows():
        text = told(stats.Estimate(mean, low, high, n), scale)
        if between and not math.isnan(low):
            ends = [float(f"{x * scale:.2g}") for x in (low, high)]
            text = f"{mean * scale:.3g} [{ends[0]:g}, {ends[1]:g}]"
        texts.append(text)
    return pl.Series(texts, dtype=pl.String)


def ranges(runs: pl.DataFrame, caption: str) -> list[Table]:
    """How far a result depends on queue and background: a row for each of these, a column for each algorithm."""
    made = []
    wanted = {"utilisation": ("utilisation", 100.0, "utilisation, %"), "fairness": ("smaller_share", 1.0, "smaller over larger goodput"),
              "rtt-fairness": ("rtt_unfairness", 1.0, "RTT unfairness, |log2| of the ratio of goodputs"),
              "friendliness": ("retained", 1.0, "Reno's goodput over that beside Reno")}  # fmt: skip
    for test, (value, scale, what) in wanted.items():
        of = runs.filter(pl.col("test") == test)
        if of.select("queue", "background").n_unique() < 2:
            continue
        per_seed = of.group_by("queue", "background", "algorithm", "seed", maintain_order=True).agg(
            pl.col(value).mean()
        )
        data = stats.summarise(per_seed, value, by=["queue", "background", "algorithm"], bounds=bounds(value)).filter(
            pl.col("n") > 0
        )
        text = data.with_columns(
            estimate=written(data, scale),
            setup=pl.format("{} % of BDP, background {}", (pl.col("queue") * 100).cast(pl.Int64), "background"),
        )
        wide = text.pivot("algorithm", index="setup", values="estimate").rename({"setup": "Queue and background"})
        made.append(
            Table(
                f"ranges-{test}",
                f"Around the set-up of the paper: {what}",
                f"Mean over the RTTs. {caption}",
                wide,
                data,
            )
        )
    return made


def answer(printed: pl.DataFrame) -> str:
    """The answer to the study's question, as far as its parts were run."""
    said = []
    there = set(printed["test"])
    names = present(printed)
    if "utilisation" in there:
        said.append("One flow on 800 Mbit/s uses, %: " + named(printed, "utilisation", "utilisation", names, 100) + ".")
    if "fairness" in there:
        said.append(
            "Of two equal flows on 250 Mbit/s the smaller gets, of the larger's goodput: "
            + named(printed, "fairness", "smaller_share", names)
            + "."
        )
    if "friendliness" in there:
        said.append(KEPT + named(printed, "friendliness", "retained", [n for n in names if n != RENO]) + ".")
    return " ".join(said)


def differences(printed: pl.DataFrame) -> list[str]:
    return [
        "The paper ran the implementations of 2005 in a kernel of that time over an emulated bottleneck; ours are the laws as their "
        "papers and today's kernel have them (CUBIC with the decrease of RFC 9438, not 0.8 as in 2005; SACK, RACK and PRR; HyStart). "
        "Its traffic generator, its RTTs between 10 and 300 ms, the start of the second flow and what counts as good, bursty, "
        "unstable or abnormal are not printed: ours are in the method, thresholds were fixed before anything was run.",
        "A buffer of a fifth of the bandwidth-delay product is smaller than FAST's target of packets in the queue at short RTTs: "
        "there FAST loses packets like the others, which is one reading of what the paper calls abnormal and sensitive to conditions.",
    ]


def method(about: dict[str, Any], quick: bool, n: int, runs: pl.DataFrame) -> list[str]:
    size = scale(about, quick)
    return [
        f"Each run simulates {size['duration']}, of which the first {size['warmup']} are left out; {n} runs of each set-up with seeds 1 "
        "to "
        f"{n}, the same seeds for every algorithm (common random numbers). The interval is Student's t, 95 %, over runs.",
        "Dumbbell, 1 Gbit/s access links, packets of 1500 bytes, the TCP of a current Linux with the algorithm under test. The queue is "
        "drop-tail, its limit a share of the bandwidth-delay product of the longest RTT of a long flow.",
        "Background: web users after Barford and Crovella with RTTs after Aikat et al., sizes capped at 10 MB, Reno; loads are shares of "
        "the bottleneck's rate. It is elastic: where the long flows take the link, less is carried than asked for.",
        f"In 4.2 and 4.3 the second flow starts {size['second_start']} after the first; in 4.4 and 4.5 all start within a second. "
        f"{runs.height} runs in all. Utilisation counts the background too.",
        "Comparisons of two algorithms are of the same seeds; with three runs, as in the paper, many cannot tell.",
        "Convergence time (within 20 % of the fair share for 5 s on end) is in the data of the runs, infinite where it was not reached.",
    ]
