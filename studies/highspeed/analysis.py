"""High-speed TCP variants on a dumbbell: the five tests of the study, its findings in words, and what is varied around them."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cclab import Scenario, metrics, stats
from cclab.analysis.plots import Chart, look, styled, thin
from cclab.published import Check, Context, Figure, Findings, Table, judged
from cclab.results import Result

PACKET, MSS = 1500, 1448  # bytes on the wire, and of data with timestamps
LINK = "bottleneck"
TESTS = ("utilisation", "fairness", "rtt-fairness", "friendliness", "mixture")
NEW = ("CUBIC", "BIC", "FAST", "HSTCP", "Scalable")  # the paper's new variants; H-TCP is ours
RENO = "Reno"
PRINTED = "as printed"
# Verdicts need thresholds; these were fixed before anything was run. The paper gives none.
GOOD_UTILISATION = 0.95  # of the link
GOOD_FAIRNESS = 0.8  # smaller over larger goodput
SAME = 0.01  # utilisations are as good as equal within this
FRIENDLY = 0.8  # of what Reno gets beside Reno
SHORT_MS = 22
OUTLIER = 8.0  # times the usual distance of a run from the median of its set-up


@dataclass(frozen=True)
class Cell:
    """One set-up, run with several seeds."""

    test: str
    part: str
    setup: str
    """What differs from the printed set-up of the test."""
    algorithm: str
    rtt_ms: int
    rate: str
    queue: float
    background: str
    hosts: str = "64 KiB"
    length: str = "quick"


def run(context: Context) -> Findings:
    """Everything of the study."""
    about = context.about
    cells = list(design(about, context.quick, context.parts))
    planned = [(cell, seed) for cell in cells for seed in range(1, 1 + about[cell.length]["replications"])]
    jobs = [(scenario(about, cell), seed) for cell, seed in planned]
    reduced = context.run(jobs, summary, keep="highspeed/4")
    rows = [{**vars(cell), "seed": seed, **row} for (cell, seed), row in zip(planned, reduced, strict=True)]
    runs = with_friendliness(pl.DataFrame(rows, infer_schema_length=None))
    of = sorted({cell.rtt_ms for cell in cells if cell.part == "fairness"})
    traced = [cell for cell in cells if cell.part == "fairness" and cell.rtt_ms == of[len(of) // 2]]
    reduced = context.run([(scenario(about, cell), 1) for cell in traced], trace, keep="highspeed-trace/1")
    traces = [
        pl.DataFrame(of).with_columns(algorithm=pl.lit(cell.algorithm), rtt_ms=cell.rtt_ms)
        for cell, of in zip(traced, reduced, strict=True)
    ]
    return findings(context, runs, pl.concat(traces, how="diagonal") if traces else pl.DataFrame())


# --- What is run -----------------------------------------------------------------------------------------------------


def design(about: dict[str, Any], quick: bool, parts: Iterable[str]) -> Iterator[Cell]:
    """The printed set-ups first, then what is varied: in the tests that are chosen, or in all."""
    parts = list(parts)
    tests = [test for test in TESTS if test in parts] or list(TESTS)
    alphas = list(about["alpha"]) if "alpha" in parts else []
    length = "quick" if quick else "full"
    for test in tests if alphas else [test for test in tests if test in parts]:
        for rtt, law in itertools.product(rtts(about, test, length), [*about["algorithms"], *alphas]):
            yield Cell(test, test, PRINTED, law, rtt, *printed(about, test), length=length)
    if "hosts" in parts:
        yield from other_hosts(about, quick, tests)
    if "cubic" in parts:
        yield from cubics(about, quick)
    if "matrix" in parts:
        for test in tests[:2][-1:] if quick else tests:
            for setup in ranges(about, test):
                for rtt, law in itertools.product(rtts(about, test, "quick")[-1:], about["algorithms"]):
                    if not quick or (setup[:2] == printed(about, test)[:2]):
                        yield Cell(test, "matrix", told_setup(*setup), law, rtt, *setup)


def other_hosts(about: dict[str, Any], quick: bool, tests: list[str]) -> Iterator[Cell]:
    """Every choice of hosts in every test; quick, the one that differs most in one."""
    laws = [*about["algorithms"], list(about["alpha"])[-1]]
    for hosts, test in itertools.product(about["hosts"], [test for test in tests if test != TESTS[0]]):
        if quick and (hosts != "unlimited" or test != "fairness"):
            continue
        for rtt, law in itertools.product(rtts(about, test, "quick"), laws):
            yield Cell(test, "hosts", hosts, law, rtt, *printed(about, test), hosts=hosts)


def cubics(about: dict[str, Any], quick: bool) -> Iterator[Cell]:
    """CUBIC with one thing changed, without background and beside two kinds of it."""
    rate, queue, load = printed(about, "fairness")
    for setup, hosts in (("no background", "64 KiB"), ("64 KiB", "64 KiB"), ("unlimited", "unlimited")):
        background = "none" if setup == "no background" else load
        for rtt, law in itertools.product(about["cubic"]["rtt"][: 1 if quick else None], about["cubic"]["laws"]):
            yield Cell("fairness", "cubic", setup, law, rtt, rate, queue, background, hosts)


def printed(about: dict[str, Any], test: str) -> tuple[str, float, str]:
    """Rate, queue and background as the paper has them for a test."""
    of = about["tests"][test]
    return of["rate"], of["queue"], of["background"]


def ranges(about: dict[str, Any], test: str) -> list[tuple[str, float, str]]:
    """The printed set-up, and those that differ from it in as many of rate, queue and background as are varied at once."""
    of, around = printed(about, test), about["tests"][test]["around"]
    values = [list(dict.fromkeys([of[i], *around[name]])) for i, name in enumerate(("rate", "queue", "background"))]
    return [
        new
        for new in itertools.product(*values)
        if sum(a != b for a, b in zip(new, of, strict=True)) <= about["matrix"]["at_once"]
    ]


def told_setup(rate: str, queue: float, background: str) -> str:
    return f"{rate}, queue {queue * 100:g} % of BDP, background {background.replace('%', ' %')}"


def rtts(about: dict[str, Any], test: str, which: str) -> list[int]:
    of = about["tests"][test]
    return list(of["rtt"][which]) if "rtt" in of else [max(of["rtts"])]


def law(about: dict[str, Any], name: str) -> Any:
    """A congestion control as a scenario has it."""
    return (about["algorithms"] | about["alpha"] | about["cubic"]["laws"])[name]


def scenario(about: dict[str, Any], cell: Cell) -> Scenario:
    """A set-up as a scenario."""
    of, size, hosts = about["tests"][cell.test], about[cell.length], about["hosts"][cell.hosts]

    def flow(rtt_ms: int, name: str = cell.algorithm, **more: Any) -> dict[str, Any]:
        return {**about["flow"], **hosts.get("flow", {}), "cc": law(about, name), "rtt": f"{rtt_ms} ms", **more}

    later = {"start": size["second_start"]}
    flows = {
        "utilisation": lambda: [flow(cell.rtt_ms)],
        "fairness": lambda: [flow(cell.rtt_ms), flow(cell.rtt_ms, **later)],
        "rtt-fairness": lambda: [flow(of["rtt_first"]), flow(cell.rtt_ms, **later)],
        "friendliness": lambda: [flow(cell.rtt_ms), flow(cell.rtt_ms, RENO)],
        "mixture": lambda: [flow(rtt) for rtt in of["rtts"]],
    }[cell.test]()
    longest = max(int(f["rtt"].split()[0]) for f in flows)
    rate = float(cell.rate.split()[0]) * 1e6
    buffer = max(1, int(cell.queue * rate * longest * 1e-3 / 8 / PACKET))
    background = {**about["background"], **hosts.get("background", {}), "load": cell.background}
    return Scenario.from_dict(
        {
            "name": f"{cell.test}, {cell.algorithm}, {cell.rtt_ms} ms, {told_setup(cell.rate, cell.queue, cell.background)}, "
            f"hosts {cell.hosts}, {size['duration']}",
            "duration": size["duration"],
            "warmup": size["warmup"],
            "network": {
                "topology": "dumbbell",
                "rate": cell.rate,
                "access": {"rate": "1 Gbit/s", "queue": {"limit": "unlimited"}},
                "queue": {"discipline": "droptail", "limit": f"{buffer} packets"},
            },
            "flows": [{**f, "label": f"long-{i + 1}"} for i, f in enumerate(flows)],
            "background": [background] if cell.background != "none" else [],
            "record": {"samples": "1 s"},
        }
    )


def summary(result: Result) -> dict[str, float]:
    """What the analysis needs of a run."""
    flows, link = result.flows, result.links.row(by_predicate=pl.col("name") == LINK, named=True)
    goodput = flows["goodput_bps"].to_list()
    web = result.background.to_dicts()[0] if result.background.height else {}
    return {
        "utilisation": link["utilisation"],
        "queue_s": link["sojourn_mean_s"],
        "queue_p95_s": link["sojourn_p95_s"],
        "loss": metrics.loss_rate(result, link=LINK),
        "goodput_1": goodput[0],
        "goodput_2": goodput[1] if len(goodput) > 1 else math.nan,
        "goodput_all": sum(goodput),
        "throughput_all": float(flows["throughput_bps"].sum()),
        "jain": metrics.jain(goodput) if len(goodput) > 1 else math.nan,
        "variation": float(np.mean(metrics.coefficient_of_variation(result, window_s=1.0))),
        "converged_s": metrics.convergence_time_s(result) if len(goodput) == 2 else math.nan,
        "carried_load": web.get("carried_load", 0.0),
        "background_bps": web.get("carried_bps", math.nan),
        "interval_s": web.get("packet_interval_mean_s", math.nan),
        "fct_s": web.get("fct_mean_s", math.nan),
    }


def trace(result: Result) -> dict[str, list[float]]:
    """Window and goodput of the flows of a run over time, in segments and Mbit/s."""
    windows = result.samples.pivot("flow", index="time_s", values="cwnd_bytes").sort("time_s")
    at, rates = metrics.rate_series(result, 1.0)
    return {
        "time_s": at.tolist(),
        **{f"goodput_{i + 1}": (of / 1e6).tolist() for i, of in enumerate(rates)},
        "window_at_s": windows["time_s"].to_list(),
        **{f"window_{i + 1}": (windows[name] / MSS).to_list() for i, name in enumerate(windows.columns[1:])},
    }


def with_friendliness(runs: pl.DataFrame) -> pl.DataFrame:
    """Adds what compares flows and runs: fairness ratio, Reno's goodput over that beside Reno with the same seed, and the rest."""
    same = [*(name for name in Cell.__dataclass_fields__ if name != "algorithm"), "seed"]
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
            over_background=pl.when(pl.col("test") == "mixture").then(
                pl.col("throughput_all") / pl.col("background_bps")
            ),
        )
        .with_columns(rtt_unfairness=pl.col("rtt_ratio").log(2.0).abs())
    )


def findings(context: Context, runs: pl.DataFrame, traces: pl.DataFrame) -> Findings:
    about = context.about
    every = runs.filter(pl.col("part") == pl.col("test"))
    base = every.filter(pl.col("algorithm").is_in(list(about["algorithms"])))
    listed = pl.read_csv(context.folder / "findings.csv").to_dicts()
    told = {f"alpha {'200' if name == 'FAST' else name.split()[-1]}": of for name, of in each_fast(every).items()}
    hosts = {
        f"{setup}{'' if name == 'FAST' else name.removeprefix('FAST')}": of
        for (setup,), part in runs.filter(part="hosts").group_by("setup", maintain_order=True)
        for name, of in each_fast(part).items()
    }
    tables = overview(base)
    if len(told) > 1:
        tables.append(verdicts(listed, told, "alpha", "The verdicts for each alpha of FAST",
            "As printed, otherwise. alpha is the number of packets that FAST keeps in the queue; the law's default is 200."))  # fmt: skip
    if hosts:
        tables.append(verdicts(listed, hosts, "hosts", "The verdicts for other hosts",
            f"Receive window of the background, initial window of all hosts (10 where nothing is said), each with FAST's alpha of 200 "
            f"and as said, in runs of {about['quick']['duration']} at the RTTs of the quick version."))  # fmt: skip
    tables += [
        *measured(base),
        *converged(base),
        *outliers(base),
        *cubic(runs.filter(part="cubic")),
        *around(runs),
    ]
    return Findings(
        comparisons=[],
        checks=checks(base, listed, context.quick),
        figures=[*figures(base), *over_time(traces)],
        tables=tables,
        summary=answer(base, listed, told),
        differences=differences(),
        method=method(about, context.quick, runs),
    )


# --- The findings ----------------------------------------------------------------------------------------------------


Judge = Callable[[pl.DataFrame], tuple[list[str], str]]
"""The comparisons that a finding rests on, and the figures behind them."""
CLAIMS: dict[str, tuple[set[str], Judge]] = {}
"""By finding: the tests that it is about, and how it is judged."""


def needs(*tests: str) -> Callable[[Judge], Judge]:
    """Makes a function the judge of the finding of its name."""

    def register(judge: Judge) -> Judge:
        CLAIMS[judge.__name__.replace("_", "-")] = set(tests), judge
        return judge

    return register


def checks(base: pl.DataFrame, listed: list[dict[str, str]], quick: bool) -> list[Check]:
    """Each finding with a verdict and the figures behind it."""
    made = []
    n = base["seed"].n_unique() if base.height else 0
    for row in listed:
        text = heading(row)
        if (found := judge(base, row["finding"])) is None:
            made.append(judged(text, [], "This part was not run."))
            continue
        if quick and row["long"]:
            text += " (differs in the full version)"
        made.append(
            judged(
                text,
                found[0],
                f"{found[1]}. ± is half of the 95 % interval over n = {n} runs, [from, to] are its ends.",
            )
        )
    return made


def heading(row: dict[str, str]) -> str:
    """A finding in words, with its section; what the paper does not say itself is marked as ours."""
    of = "ours, " if row["ours"] else ""
    return f"{of}{row['section']}: {row['algorithm'].replace(';', ', ')}: {row['text']}"


def judge(runs: pl.DataFrame, finding: str) -> tuple[list[str], str] | None:
    """The comparisons that a finding rests on and the figures behind them; nothing where its tests were not run."""
    tests, judged_by = CLAIMS[finding]
    return judged_by(runs) if runs.height and tests <= set(runs["test"]) else None


def each_fast(runs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The runs with one alpha of FAST in place of all, for each that there is: what the findings are judged by."""
    kinds = [name for name in runs["algorithm"].unique(maintain_order=True) if name.startswith("FAST")]
    return {
        kind: runs.filter(~pl.col("algorithm").is_in([k for k in kinds if k != kind])).with_columns(
            pl.col("algorithm").replace({kind: "FAST"})
        )
        for kind in kinds
    }


def verdicts(listed: list[dict[str, str]], sets: dict[str, pl.DataFrame], name: str, title: str, caption: str) -> Table:
    """A verdict for each finding that was tested (a row) and each choice (a column), and how many of the paper's hold."""
    rows = []
    for row in listed:
        found = {choice: judge(runs, row["finding"]) for choice, runs in sets.items()}
        if any(found.values()):
            rows.append(
                {"Finding": heading(row), **{c: short(of[0]) if of else stats.NOT_TESTED for c, of in found.items()}}
            )
    of_paper = {heading(row) for row in listed if not row["ours"]}
    hold = {c: str(sum(row[c].startswith(stats.HOLDS) for row in rows if row["Finding"] in of_paper)) for c in sets}
    caption += " Beside a verdict: how many of its comparisons are for it."
    return Table(
        f"verdicts-{name}",
        title,
        caption,
        pl.DataFrame([*rows, {"Finding": "Findings of the paper that hold", **hold}]),
    )


def short(comparisons: list[str]) -> str:
    """A verdict, and how many of the comparisons behind it are for it."""
    told = f", {comparisons.count(stats.AGREES)} of {len(comparisons)}" if len(comparisons) > 1 else ""
    return stats.claim(comparisons) + told


def by_seed(runs: pl.DataFrame, test: str, value: str, algorithm: str) -> list[float]:
    """The mean of a figure over the RTTs of a test, for each seed."""
    chosen = runs.filter(test=test, algorithm=algorithm).sort("seed")
    found = chosen.group_by("seed", maintain_order=True).agg(pl.col(value).mean())[value].to_list()
    return [x for x in found if x is not None]


def mean_of(runs: pl.DataFrame, test: str, value: str, algorithm: str) -> stats.Estimate:
    """The same with its interval over the seeds."""
    return stats.mean(by_seed(runs, test, value, algorithm), bounds=METRICS[value].bounds)


def less(runs: pl.DataFrame, test: str, value: str, a: str, b: str) -> str:
    """Whether one algorithm has less of a figure than another, seed by seed."""
    return stats.paired(*(by_seed(runs, test, value, name) for name in (a, b))).difference.below(0)


def named(runs: pl.DataFrame, test: str, value: str, of: Iterable[str]) -> str:
    """Figures of several algorithms, the largest first, each with its interval."""
    ordered = sorted(((name, mean_of(runs, test, value, name)) for name in of), key=lambda of: -of[1].value)
    return "; ".join(f"{name} {told(estimate, METRICS[value].scale)}" for name, estimate in ordered)


def told(of: stats.Estimate, scale: float = 1.0) -> str:
    """A mean with half the width of its interval, in four significant digits at most; n is told beside it."""
    return re.sub(r"\d+\.\d{2,}", lambda x: f"{float(x[0]):.4g}" if len(x[0]) > 5 else x[0], of.brief(scale))


def present(runs: pl.DataFrame) -> list[str]:
    return runs["algorithm"].unique(maintain_order=True).to_list()


@needs("utilisation")
def utilisation_good(runs: pl.DataFrame) -> tuple[list[str], str]:
    cells = runs.filter(pl.col("test") == "utilisation", pl.col("algorithm").is_in(["CUBIC", "BIC"]))
    used = {
        key: stats.mean(of["utilisation"].to_list(), bounds=(0.0, 1.0))
        for key, of in cells.group_by("algorithm", "rtt_ms", maintain_order=True)
    }
    (name, rtt), least = min(used.items(), key=lambda of: of[1].value)
    good = sum(of.value >= GOOD_UTILISATION for of in used.values())
    return [of.against(GOOD_UTILISATION, 1.0) for of in used.values()], (
        f"The link is used to {100 * GOOD_UTILISATION:g} % or more in {good} of {len(used)} set-ups; the lowest: "
        f"{name} at {rtt} ms, {100 * least.value:.1f} %. Mean over the RTTs, %: "
        + named(runs, "utilisation", "utilisation", present(runs))
    )


@needs("utilisation")
def fast_bursty(runs: pl.DataFrame) -> tuple[list[str], str]:
    long = int(runs.filter(test="utilisation")["rtt_ms"].max())  # type: ignore[arg-type]
    at = runs.filter(rtt_ms=long)
    found = [less(at, "utilisation", "variation", name, "FAST") for name in present(runs) if name != "FAST"]
    return found, (
        f"Standard deviation over mean of the goodput in windows of 1 s at {long} ms: "
        + named(at, "utilisation", "variation", present(runs))
    )


@needs("fairness")
def fairness_good(runs: pl.DataFrame) -> tuple[list[str], str]:
    found = [mean_of(runs, "fairness", "smaller_share", n).against(GOOD_FAIRNESS, math.inf) for n in ("CUBIC", "BIC")]
    return found, (
        f"Smaller over larger goodput of the two flows, mean over the RTTs (good: {GOOD_FAIRNESS:g} or more): "
        + named(runs, "fairness", "smaller_share", present(runs))
        + ". Jain's index: " + named(runs, "fairness", "jain", present(runs))
        + ". Utilisation, %: " + named(runs, "fairness", "utilisation", present(runs))
    )  # fmt: skip


def wilder(runs: pl.DataFrame, algorithm: str) -> list[str]:
    """Whether its goodput varies more than CUBIC's and BIC's."""
    return [less(runs, "fairness", "variation", calm, algorithm) for calm in ("CUBIC", "BIC")]


@needs("fairness")
def unstable(runs: pl.DataFrame) -> tuple[list[str], str]:
    return [*wilder(runs, "FAST"), *wilder(runs, "Scalable")], (
        "Unstable is taken as: the goodput of a flow in windows of 1 s varies more than with CUBIC and BIC. Standard "
        "deviation over mean, over the RTTs: " + named(runs, "fairness", "variation", present(runs))
    )


UNFAIR = (
    "Unfairness is the mean over the RTTs of |log2(goodput of the varied flow / goodput of the 162 ms flow)|, so that 1 is a "
    "factor of two either way: "
)


@needs("rtt-fairness")
def rtt_best(runs: pl.DataFrame) -> tuple[list[str], str]:
    found = [less(runs, "rtt-fairness", "rtt_unfairness", "CUBIC", n) for n in (*NEW, RENO) if n != "CUBIC"]
    return found, UNFAIR + named(runs, "rtt-fairness", "rtt_unfairness", present(runs))


@needs("rtt-fairness")
def rtt_worse(runs: pl.DataFrame) -> tuple[list[str], str]:
    found = [less(runs, "rtt-fairness", "rtt_unfairness", RENO, name) for name in ("HSTCP", "Scalable")]
    return found, UNFAIR + named(runs, "rtt-fairness", "rtt_unfairness", ("HSTCP", "Scalable", RENO))


def by_rtt(runs: pl.DataFrame, test: str, value: str, algorithm: str) -> dict[int, list[float]]:
    """The logarithm of a ratio at each RTT, for each seed."""
    of = runs.filter(test=test, algorithm=algorithm).sort("rtt_ms", "seed")
    return {rtt: part[value].log().to_list() for (rtt,), part in of.group_by("rtt_ms", maintain_order=True)}


def rises(ratios: Iterable[list[float]]) -> list[str]:
    """Whether a ratio is larger at the next RTT, one after the other."""
    return [stats.paired(a, b).difference.below(0) for a, b in itertools.pairwise(ratios)]


def ratios(logs: dict[int, list[float]]) -> str:
    """A ratio at each RTT, the geometric mean with its interval."""
    told = {rtt: stats.mean(of) for rtt, of in logs.items()}
    return ", ".join(
        f"{rtt} ms {text_between(stats.Estimate(*(math.exp(x) for x in (of.value, of.low, of.high)), of.n))}"
        for rtt, of in told.items()
    )


@needs("rtt-fairness")
def rtt_abnormal(runs: pl.DataFrame) -> tuple[list[str], str]:
    """Ordinary: the shorter the RTT, the more a flow gets."""
    logs = by_rtt(runs, "rtt-fairness", "rtt_ratio", "FAST")
    found = [stats.any_of([*rises(logs.values()), stats.mean(next(iter(logs.values()))).below(0)])]
    return found, (
        "Abnormal is taken as: it is not so that the shorter the RTT of the second flow, the more it gets. Goodput of FAST's "
        "second flow over that of the 162 ms flow: " + ratios(logs)
    )


@needs("friendliness")
def friendly_short(runs: pl.DataFrame) -> tuple[list[str], str]:
    at = runs.filter((pl.col("test") != "friendliness") | (pl.col("rtt_ms") <= SHORT_MS))
    kept = mean_of(at, "friendliness", "retained", "CUBIC")
    others = [n for n in present(runs) if n != RENO]
    return [kept.against(FRIENDLY, math.inf)], (
        f"Reno's goodput beside the variant over its goodput beside Reno, RTT of at most {SHORT_MS} ms (friendly: "
        f"{FRIENDLY:g} or more): " + named(at, "friendliness", "retained", others)
    )


KEPT = "Reno's goodput beside the variant over its goodput beside Reno, mean over the RTTs: "


@needs("friendliness")
def most_aggressive(runs: pl.DataFrame) -> tuple[list[str], str]:
    others = [n for n in NEW if n != "Scalable"]
    found = [less(runs, "friendliness", "retained", "Scalable", n) for n in others]
    return found, KEPT + named(runs, "friendliness", "retained", variants(runs))


def variants(runs: pl.DataFrame) -> list[str]:
    return [n for n in present(runs) if n != RENO]


@needs("friendliness")
def friendly_abnormal(runs: pl.DataFrame) -> tuple[list[str], str]:
    """Ordinary: Reno loses at every RTT, and the more the longer it is."""
    logs = by_rtt(runs, "friendliness", "retained", "FAST")
    found = [stats.any_of([*rises(logs.values()), *(stats.mean(of).above(0) for of in logs.values())])]
    return found, (
        "Ordinary would be: Reno loses at every RTT, and more the longer it is. Reno's goodput beside FAST over that beside "
        "Reno: " + ratios(logs)
    )


@needs("utilisation", "friendliness")
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
        f"{100 * SAME:g} %. "
        + KEPT + named(runs, "friendliness", "retained", variants(runs))
        + ". Utilisation, %: " + named(runs, "utilisation", "utilisation", present(runs))
    )  # fmt: skip


@needs("mixture")
def mixture_good(runs: pl.DataFrame) -> tuple[list[str], str]:
    """The paper's first figure of 4.5: throughput of the long flows over the background's."""
    return [less(runs, "mixture", "over_background", RENO, n) for n in NEW], (
        "The paper has no words for 4.5; judged is what 4.6 says in general, in the terms of 4.5: four long flows get more beside the "
        "background than four of Reno. Throughput of the long flows over the background's: "
        + named(runs, "mixture", "over_background", present(runs))
    )


@needs("mixture")
def mixture_delay(runs: pl.DataFrame) -> tuple[list[str], str]:
    """The paper's second figure of 4.5: the mean interval between packets of short flows."""
    found, pairs = against_pairs(runs, "mixture", "interval_s")
    return found, (
        f"The paper has no words for 4.5; judged is what 4.6 says of queueing delay, in the terms of 4.5. {pairs} Mean interval between "
        "packets of short flows, ms: " + named(runs, "mixture", "interval_s", present(runs))
    )


@needs("utilisation", "friendliness")
def summary_fast(runs: pl.DataFrame) -> tuple[list[str], str]:
    others = [n for n in NEW if n != "FAST"]

    def spread(name: str) -> list[float]:
        return list(
            np.std(np.array(list(by_rtt(runs, "friendliness", "retained", name).values())) / math.log(2), axis=0)
        )

    found = [
        *(less(runs, "utilisation", "queue_s", "FAST", n) for n in others),
        *(less(runs, "friendliness", "retained", n, "FAST") for n in others),
        *(stats.paired(spread(n), spread("FAST")).difference.below(0) for n in others),
    ]
    return found, (
        "Beside each of the paper's other new variants: a smaller queue, less aggressive, a larger spread. Mean time in the queue with one flow, ms: "
        + named(runs, "utilisation", "queue_s", present(runs))
        + ". " + KEPT + named(runs, "friendliness", "retained", variants(runs))
        + ". Spread of that over the RTTs (standard deviation of log2): "
        + "; ".join(f"{n} {told(stats.mean(spread(n)))}" for n in variants(runs))
    )  # fmt: skip


@needs("fairness", "friendliness")
def summary_stcp(runs: pl.DataFrame) -> tuple[list[str], str]:
    first, second = most_aggressive(runs), unstable(runs)
    return [*first[0], *wilder(runs, "Scalable")], f"{first[1]}. {second[1]}"


def against_pairs(runs: pl.DataFrame, test: str, value: str) -> tuple[list[str], str]:
    """CUBIC, BIC and Scalable TCP each beside Reno, HSTCP and FAST: whether it has more, and which pairs have it the other way."""
    pairs = list(itertools.product(("CUBIC", "BIC", "Scalable"), (RENO, "HSTCP", "FAST")))
    found = {f"{a} more than {b}": less(runs, test, value, b, a) for a, b in pairs}
    against = [pair for pair, verdict in found.items() if verdict == stats.DIFFERS]
    return list(found.values()), f"Against it: {'; '.join(against) or 'none'}."


@needs("fairness")
def summary_delay(runs: pl.DataFrame) -> tuple[list[str], str]:
    found, pairs = against_pairs(runs, "fairness", "queue_s")
    return found, (
        f"{pairs} Mean time in the queue, two flows, mean over the RTTs, ms: "
        + named(runs, "fairness", "queue_s", present(runs))
    )


# --- The page --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metric:
    """A figure of a run: the head of its column, its scale there, and the largest that it can be."""

    head: str
    scale: float = 1.0
    log: bool = False
    """Whether it is a ratio or a spread, with a geometric mean and the interval of the logarithms."""
    most: float = math.inf

    @property
    def bounds(self) -> tuple[float, float]:
        """What it cannot leave."""
        return 0.0, self.most


METRICS = {
    "utilisation": Metric("Utilisation, %", 100.0, most=1.0),
    "loss": Metric("Loss, %", 100.0, most=1.0),
    "carried_load": Metric("Background carried, % of the link", 100.0, most=1.0),
    "queue_s": Metric("Time in queue, ms", 1e3, log=True),
    "variation": Metric("Std. dev. / mean of goodput", log=True),
    "smaller_share": Metric("Smaller / larger goodput", most=1.0),
    "jain": Metric("Jain's index", most=1.0),
    "rtt_ratio": Metric("Goodput / the 162 ms flow's", log=True),
    "rtt_unfairness": Metric("RTT unfairness, |log2|"),
    "retained": Metric("Reno's goodput / beside Reno", log=True),
    "over_background": Metric("Throughput / background's", log=True),
    "interval_s": Metric("Packet interval of short flows, ms", 1e3),
}
# What a test is about, and beside it, in every test, the link, its losses and what the background carried.
OWN = {
    "utilisation": ["variation"],
    "fairness": ["smaller_share", "jain"],
    "rtt-fairness": ["rtt_ratio", "jain"],
    "friendliness": ["retained", "jain"],
    "mixture": ["over_background", "interval_s"],
}
ALWAYS = ["utilisation", "loss", "carried_load", "queue_s"]
HEADS = {
    "utilisation": "One flow (4.1)",
    "fairness": "Two flows of one kind, equal RTTs (4.2)",
    "rtt-fairness": "A second flow of another RTT (4.3)",
    "friendliness": "A variant beside Reno (4.4)",
    "mixture": "Four flows of different RTTs (4.5)",
}
OVERVIEW = {
    ("utilisation", "utilisation"): "One flow: utilisation, %",
    ("fairness", "smaller_share"): "Two: smaller / larger",
    ("fairness", "utilisation"): "Two: utilisation, %",
    ("fairness", "queue_s"): "Two: time in queue, ms",
    ("fairness", "variation"): "Two: std. dev. / mean of goodput",
    ("rtt-fairness", "rtt_unfairness"): "Another RTT: unfairness, |log2|",
    ("friendliness", "retained"): "Beside Reno: what Reno keeps",
    ("mixture", "interval_s"): "Four: packet interval of short flows, ms",
}
INTERVAL = "95 % interval (Student's t)"
FOUR = "Long flows at 42, 82, 122 and 162 ms."
# A figure of a test: its metric, title, axis, and what to make of it.
VIEWS = (
    ("utilisation", "utilisation", "Link utilisation of one flow (4.1)", "Utilisation (%)",
     "One long flow and web background on 800 Mbit/s."),
    ("utilisation", "variation", "How even one flow's goodput is (4.1)", "Standard deviation / mean",
     "Goodput in windows of 1 s; the lower, the smoother."),
    ("fairness", "smaller_share", "Two flows of one kind, equal RTTs (4.2)", "Smaller / larger goodput",
     "1 is a fair share."),
    ("fairness", "utilisation", "The link under two flows of one kind (4.2)", "Utilisation (%)",
     "Two long flows and web background on 250 Mbit/s."),
    ("fairness", "queue_s", "Time in the queue with two flows (4.2)", "Mean time in queue (ms)",
     "The buffer is a fifth of the bandwidth-delay product, so it grows with the RTT."),
    ("rtt-fairness", "rtt_ratio", "A second flow of another RTT (4.3)", "Goodput over the 162 ms flow's",
     "Grey: inverse to the RTT (dotted), and to its square. 1 is equal shares."),
    ("friendliness", "retained", "What Reno keeps beside a variant (4.4)", "Reno's goodput / beside Reno",
     "1 leaves Reno what it gets beside another Reno."),
    ("mixture", "over_background", "Four long flows against the background (4.5)", "Throughput / background's", FOUR),
    ("mixture", "interval_s", "Time between packets of short flows (4.5)", "Mean packet interval (ms)", FOUR),
)  # fmt: skip


def summarised(of: pl.DataFrame, value: str, by: list[str]) -> pl.DataFrame:
    """Mean and interval of a figure for each group; of ratios and spreads by their logarithms."""
    if not METRICS[value].log:
        found = stats.summarise(of, value, by=by, bounds=METRICS[value].bounds)
    else:
        logs = stats.summarise(of.with_columns(pl.col(value).log()), value, by=by)
        found = logs.with_columns(pl.col("mean", "low", "high").exp())
    return found.filter(pl.col("n") > 0)


def text_between(of: stats.Estimate, scale: float = 1.0) -> str:
    """An estimate with the ends of its interval, where it has one."""
    if math.isnan(of.low):
        return told(of, scale)
    low, high = (f"{float(f'{x * scale:.2g}'):g}" for x in (of.low, of.high))
    return f"{of.value * scale:.3g} [{low}, {high}]"


def columns(of: pl.DataFrame, by: list[str], values: Iterable[str]) -> pl.DataFrame:
    """A row for each group of runs, as text: mean and interval of each figure; of a ratio the geometric mean and the ends."""
    made = of.select(by).unique(maintain_order=True)
    for metric, data in ((METRICS[value], summarised(of, value, by)) for value in values):
        write = text_between if metric.log else told
        texts = [
            write(stats.Estimate(*row), metric.scale) for row in data.select("mean", "low", "high", "n").iter_rows()
        ]
        column = data.select(*by, pl.Series(metric.head, texts, dtype=pl.String))
        made = made.join(column, on=by, how="left", nulls_equal=True, maintain_order="left")
    return made.fill_null("–")


def table(of: pl.DataFrame, name: str, title: str, by: list[str], values: list[str], more: str) -> Table:
    """Figures of a test with their intervals over the seeds; what is not asked for, the RTT, is averaged over."""
    every = list(dict.fromkeys([*values, *ALWAYS]))
    per_seed = of.group_by(*by, "seed", maintain_order=True).agg(pl.col(every).mean())
    heads = {"setup": "Set-up", "algorithm": "Algorithm", "rtt_ms": "RTT, ms"}
    caption = (
        f"Mean of {of['seed'].n_unique()} runs, {INTERVAL}; geometric mean and the interval of the logarithms where a "
        f"figure is a ratio or a spread{more}"
    )
    shown = columns(per_seed, by, every).rename(heads, strict=False)
    return Table(name, title, caption, shown, of.drop("reno_bps"))


def overview(base: pl.DataFrame) -> list[Table]:
    """What most findings rest on: a row for each law, its mean over the RTTs of a test."""
    shown = {key: head for key, head in OVERVIEW.items() if base.filter(test=key[0]).height}
    rows: dict[str, dict[str, str]] = {name: {"Algorithm": name} for name in present(base)}
    for name, ((test, value), head) in itertools.product(rows, shown.items()):
        there = by_seed(base, test, value, name)
        rows[name][head] = told(mean_of(base, test, value, name), METRICS[value].scale) if there else "–"
    caption = f"Mean over the RTTs of each test; n = {base['seed'].n_unique()} runs, {INTERVAL}."
    return [Table("overview", "Each law in a row", caption, pl.DataFrame(list(rows.values())))] if rows else []


def measured(base: pl.DataFrame) -> list[Table]:
    """For each test a row for each algorithm and RTT."""
    made = []
    for test in TESTS:
        of = base.filter(test=test).sort("rtt_ms", maintain_order=True)
        by = ["algorithm", "rtt_ms"] if test != "mixture" else ["algorithm"]
        if of.height:
            made.append(table(of, f"table-{test}", HEADS[test], by, OWN[test], ", [from, to]."))
    return made


def around(runs: pl.DataFrame) -> list[Table]:
    """How far a result depends on what was varied: for each test a row for each set-up and algorithm."""
    made = []
    for part, title in (("hosts", "Other hosts"), ("matrix", "Around the set-up of the paper")):
        for test in TESTS:
            of = runs.filter(part=part, test=test)
            own = ["rtt_unfairness"] if test == "rtt-fairness" else OWN[test]
            more = "."
            if test != "mixture":
                more += f" Mean over RTTs of {', '.join(map(str, of['rtt_ms'].unique().sort()))} ms."
            if of.height:
                made.append(table(of, f"{part}-{test}", f"{title}: {HEADS[test]}", ["setup", "algorithm"], own, more))
    return made


def converged(base: pl.DataFrame) -> list[Table]:
    """When two flows of one kind came to a fair share."""
    of = base.filter(test="fairness")
    if not of.height:
        return []
    rows: dict[str, dict[str, str]] = {}
    for (name, rtt), runs in of.group_by("algorithm", "rtt_ms", maintain_order=True):
        times = runs["converged_s"]
        median = f"{x:.3g}" if math.isfinite(x := float(times.median())) else "never"  # type: ignore[arg-type]
        cell = f"{median} ({times.is_finite().sum()} of {len(times)})"
        rows.setdefault(str(name), {"Algorithm": str(name)})[f"{rtt} ms"] = cell
    caption = (
        "Seconds from the start of the second flow until both are within 20 % of a fair share for 5 s on end. Median of all "
        "runs, one that never came there taken as longer than any other; in brackets how many did."
    )
    data = of.select("algorithm", "rtt_ms", "seed", "converged_s")
    wide = pl.DataFrame(list(rows.values()))
    return [Table("convergence", "Time to convergence of two flows (4.2), s", caption, wide, data)]


def outliers(base: pl.DataFrame) -> list[Table]:
    """Runs far from the others of their set-up, by name; they count as any other."""
    found = []
    for test in TESTS:
        value = OWN[test][0]
        metric = METRICS[value]
        of = base.filter(test=test)
        if not of.height:
            continue
        of = of.filter(pl.col(value).is_not_null())
        x = pl.col(value).log() if metric.log else pl.col(value)
        of = of.with_columns(apart=(x - x.median().over("algorithm", "rtt_ms")).abs())
        usual = of.filter(pl.col("apart") > 0)["apart"].median()
        for row in of.filter(pl.col("apart") > OUTLIER * (usual or math.inf)).to_dicts():  # type: ignore[operator]
            others = of.filter(algorithm=row["algorithm"], rtt_ms=row["rtt_ms"]).filter(pl.col("seed") != row["seed"])
            found.append({"Test": HEADS[test], "Algorithm": row["algorithm"], "RTT, ms": str(row["rtt_ms"]), "Seed": str(row["seed"]), "Figure": metric.head,
                          "This run": f"{row[value] * metric.scale:.3g}", "The others": ", ".join(f"{v * metric.scale:.3g}" for v in others[value])})  # fmt: skip
    caption = f"Further from the median of their set-up than {OUTLIER:g} times the median of such distances in the test. They count as any other run."
    return [Table("outliers", "Runs that stand out", caption, pl.DataFrame(found))] if found else []


def cubic(runs: pl.DataFrame) -> list[Table]:
    """What CUBIC's small queue comes from: CUBIC with one thing changed, and the background with another window or none."""
    if not runs.height:
        return []

    def ratio(of: pl.DataFrame, rtt: int, **to: str) -> stats.Estimate:
        return stats.paired(of["queue_s"].to_list(), runs.filter(rtt_ms=rtt, **to)["queue_s"].to_list()).ratio

    rows = []
    for (setup, name, rtt), of in runs.group_by("setup", "algorithm", "rtt_ms", maintain_order=True):
        reno = ratio(of, rtt, algorithm=RENO, setup=setup)
        unlimited = ratio(of, rtt, algorithm="CUBIC", setup="unlimited")
        rows.append({
            "Background": setup, "Law": name, "RTT, ms": str(rtt),
            "Queue / CUBIC's beside unlimited": "1" if (name, setup) == ("CUBIC", "unlimited") else text_between(unlimited),
            "Queue / Reno's": "1" if name == RENO else text_between(reno),
            "More than Reno's": "–" if name == RENO else reno.above(1),
        })  # fmt: skip
    by = ["setup", "algorithm", "rtt_ms"]
    more = columns(runs, by, ["queue_s", "utilisation", "loss"])
    shown = pl.concat([pl.DataFrame(rows), more.drop(by)], how="horizontal")
    caption = (
        f"Two flows, 250 Mbit/s, queue of a fifth of the BDP, n = {runs['seed'].n_unique()} runs. Ratios are seed by seed, geometric mean "
        "[95 % interval]; more than Reno's: the whole interval is above 1 (agrees), none of it (differs)."
    )
    return [Table("cubic-queue", "What CUBIC's queue comes from", caption, shown, runs)]


def figures(base: pl.DataFrame) -> list[Figure]:
    """Each view of the tests that were run: over the RTT, or a bar for each algorithm where there is one mix of RTTs."""
    drawn = []
    for test, value, title, label, about in VIEWS:
        of = base.filter(test=test)
        if not of.height:
            continue
        by = ["algorithm"] if test == "mixture" else ["algorithm", "rtt_ms"]
        data = summarised(of, value, by)
        mean, logs = ("Geometric mean", " of the logarithms") if METRICS[value].log else ("Mean", "")
        caption = f"{about} {mean} of {of['seed'].n_unique()} runs and 95 % interval (Student's t{logs})."
        chart = bars(data, value, label) if test == "mixture" else over_rtt(data, value, label)
        drawn.append(Figure(f"{test}-{value.replace('_', '-')}", title, caption, chart, data))
    return drawn


def over_time(traces: pl.DataFrame) -> list[Figure]:
    """Windows and goodput of the two flows of one run of each algorithm."""
    drawn = []
    for value, what, label in (("window", "Windows", "Window (segments)"), ("goodput", "Goodput", "Goodput (Mbit/s)")):
        if traces.height:
            at = "window_at_s" if value == "window" else "time_s"
            data = traces.select(pl.col(at).alias("time_s"), f"{value}_1", f"{value}_2", "algorithm")
            caption = f"Two flows at {traces['rtt_ms'][0]} ms on 250 Mbit/s, the second later; seed 1, every second."
            title = f"{what} of two flows over time (4.2)"
            drawn.append(Figure(f"over-time-{value}", title, caption, two_over_time(data, value, label), data))
    return drawn


def two_over_time(data: pl.DataFrame, value: str, label: str) -> Chart:
    names = data["algorithm"].unique(maintain_order=True).to_list()
    with styled():
        chart = Chart(7.2, 1.5 * math.ceil(len(names) / 2) + 0.8)
        panels = chart.subplots(math.ceil(len(names) / 2), 2, sharex=True, sharey=True, squeeze=False).flat
        for axes, name in itertools.zip_longest(panels, names):
            if name is None:
                axes.set_axis_off()
                continue
            of = data.filter(algorithm=name)
            for i in range(2):
                axes.plot(
                    *thin(of["time_s"], of[f"{value}_{i + 1}"]), label=("first flow", "second flow")[i], **look(i)
                )
            axes.set_title(name)
            axes.tick_params(labelbottom=True, labelleft=True)
            axes.set_xlabel("Time (s)")
        chart.axes[0].set_ylim(bottom=0)  # of all panels, once all are drawn
        chart.supylabel(label, fontsize="medium")
        chart.legend_below()
    return chart


def middle_and_errors(data: pl.DataFrame, scale: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Means, and how far the ends of the intervals are from them, as matplotlib draws them."""
    middle = data["mean"].to_numpy() * scale
    return middle, np.nan_to_num(np.abs(data.select("low", "high").to_numpy().T * scale - middle))


def over_rtt(data: pl.DataFrame, value: str, label: str) -> Chart:
    """One line for each algorithm over the RTT, with intervals."""
    metric = METRICS[value]
    with styled():
        chart = Chart(6.4, 3.8)
        axes = chart.add_subplot()
        names = data["algorithm"].unique(maintain_order=True).to_list()
        if value == "rtt_ratio":
            x = np.geomspace(float(data["rtt_ms"].min()), float(data["rtt_ms"].max()), 50)
            for power in (1, 2):
                inverse = f"(162 ms / RTT){'²' if power == 2 else ''}"
                axes.plot(
                    x, (162 / x) ** power, color="#888888", linestyle=("", ":", "-.")[power], linewidth=1, label=inverse
                )
        for i, name in enumerate(names):
            of = data.filter(algorithm=name)
            middle, errors = middle_and_errors(of, metric.scale)
            # Beside each other, so that intervals do not hide each other.
            at = of["rtt_ms"].to_numpy() * (1 + 0.012 * (i - (len(names) - 1) / 2))
            axes.errorbar(
                at, middle, errors, capsize=2, elinewidth=0.8, marker="o", markersize=3, label=name, **look(i)
            )
        axes.set_xscale("log")
        ticks = data["rtt_ms"].unique().sort().to_list()
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
        axes.set_xlabel("RTT of the second flow (ms)" if value == "rtt_ratio" else "RTT (ms)")
        axes.set_ylabel(label)
        if metric.log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
        else:
            axes.set_ylim(bottom=0, top=105 if metric.scale == 100 else None)
        chart.legend_below()
    return chart


def bars(data: pl.DataFrame, value: str, label: str) -> Chart:
    with styled():
        chart = Chart(6.4, 3.2)
        axes = chart.add_subplot()
        middle, errors = middle_and_errors(data, METRICS[value].scale)
        axes.bar(data["algorithm"].to_list(), middle, yerr=errors, capsize=3, color=look(0)["color"], width=0.6)
        axes.set_ylabel(label)
        axes.grid(axis="x", visible=False)
    return chart


def answer(base: pl.DataFrame, listed: list[dict[str, str]], alphas: dict[str, pl.DataFrame]) -> str:
    """The answer to the study's question, as far as its parts were run."""
    there = set(base["test"]) if base.height else set()
    said = [
        f"{what}: {ends(base, test, value)}."
        for test, value, what in (
            ("utilisation", "utilisation", "One flow on 800 Mbit/s uses, % of the link"),
            ("fairness", "smaller_share", "Of two equal flows on 250 Mbit/s the smaller gets, of the larger's goodput"),
            ("rtt-fairness", "rtt_unfairness", "With another RTT goodputs are apart by, in factors of two"),
            ("friendliness", "retained", "Beside a variant Reno keeps, of what it gets beside Reno"),
        )
        if test in there
    ]
    for number, (name, of) in enumerate(alphas.items()):
        found = [judge(of, row["finding"]) for row in listed if not row["ours"]]
        count = Counter(stats.claim(one[0]) for one in found if one)
        words = (stats.HOLDS, stats.PARTLY, stats.FAILS, stats.CANNOT_TELL)
        told = ", ".join(f"{word} {count[word]}" for word in words)
        if count:
            said.insert(number, f"Findings of the paper with FAST's {name}: {told}.")
    return " ".join(said)


def ends(runs: pl.DataFrame, test: str, value: str) -> str:
    """The least and the most of a figure, each with its interval and its law."""
    of = named(runs, test, value, present(runs) if value != "retained" else variants(runs)).split("; ")
    return " to ".join(f"{figure} ({name})" for name, _, figure in (of[i].partition(" ") for i in (-1, 0)))


def differences() -> list[str]:
    return [
        "The paper ran the implementations of 2005 in a kernel of that time over an emulated bottleneck; ours are the laws as their "
        "papers and today's kernel have them (CUBIC with the decrease of RFC 9438, not 0.8 as in 2005; SACK, RACK and PRR; HyStart). "
        "Its traffic generator, its RTTs between 10 and 300 ms, the start of the second flow and what counts as good, bursty, "
        "unstable or abnormal are not printed: ours are in the method, thresholds were fixed before anything was run.",
        "Of what is not printed, FAST's alpha, the receive window of the background and the initial window are varied: where a verdict "
        "depends on one of them the tables of verdicts show it.",
    ]


def distinct(runs: pl.DataFrame) -> int:
    """How many runs there are: what two parts share is one."""
    return runs.n_unique([name for name in Cell.__annotations__ if name not in ("part", "setup")] + ["seed"])


def method(about: dict[str, Any], quick: bool, runs: pl.DataFrame) -> list[str]:
    size, small = about["quick" if quick else "full"], about["quick"]
    n = runs["seed"].n_unique()
    return [
        f"Each run of a printed set-up simulates {size['duration']}, of which the first {size['warmup']} are left out, each around it "
        f"{small['duration']} and {small['warmup']}; {n} runs of each with seeds 1 to {n}, the same seeds for every algorithm (common "
        "random numbers). The interval is Student's t, 95 %, over runs. The paper's runs are of ten minutes: "
        '--set full.duration="600 s" --set full.warmup="60 s".',
        "Dumbbell, 1 Gbit/s access links, packets of 1500 bytes, the TCP of a current Linux with the algorithm under test. The queue is "
        "drop-tail, its limit a share of the bandwidth-delay product of the longest RTT of a long flow.",
        "Background: web users after Barford and Crovella with RTTs after Aikat et al., sizes capped at 10 MB, Reno, with a receive "
        f"window of {about['background']['receive_buffer']} where nothing else is said; loads are shares of the bottleneck's rate. It is "
        "elastic: where the long flows take the link, less is carried than asked for.",
        f"In 4.2 and 4.3 the second flow starts {size['second_start']} after the first; in 4.4 and 4.5 all start within a second. "
        f"{distinct(runs)} runs in all. Utilisation counts the background too; loss is of all packets at the bottleneck.",
        "Where one thing is varied the printed set-up is run once more beside it, at the same length. The printed ranges are thinned to one "
        "thing at a time and one RTT (--set matrix.at_once=3 for every combination).",
        "Comparisons of two algorithms are of the same seeds; with three runs, as in the paper, many cannot tell.",
    ]
