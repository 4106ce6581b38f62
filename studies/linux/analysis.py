"""A transfer through random loss in the kernel and here: goodput, retransmissions, order, a verdict each."""

from __future__ import annotations

import itertools
import math
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario, stats
from cclab.analysis.plots import Chart, look, styled
from cclab.published import Check, Comparison, Context, Figure, Findings, Table, judged
from cclab.results import Result

CASE = ("law", "rtt_ms", "loss_on", "loss")
SIZE, SEGMENT = 25e6, 1348  # bytes; a packet of 1400 without headers and timestamps
LINK = 10 * SEGMENT / 1400  # Mbit/s of payload that it carries at most
RARE = 0.05  # chance of ranks that tell two samples apart
ORDERED = 0.10  # goodputs closer than this are in no order
ORDER = "order"
SHOWN = {stats.AGREES: "✓", stats.DIFFERS: "✗", stats.CANNOT_TELL: "~", ORDER: "o", stats.NOT_TESTED: "–"}


@dataclass
class Row:
    """One case, theirs and ours.

    Attributes:
        about: Law, RTT, what is lost and how often.
        theirs, ours: Goodput of each run, Mbit/s.
        acked: Ours by a clock that runs until the source knows that all has arrived.
        repaired: Retransmissions of each run for a thousand segments delivered, theirs and ours.
        goodput, retransmissions: The verdicts; of the latter where data are lost.
        bound: What may lie between the means of the goodputs, Mbit/s; `nan` where order decides.
        ranked: Whether ranks decide that goodputs differ.
        pairs: Goodput of runs of the same seed, which lose the same packets, (kernel, here), where the kernel was asked.
    """

    about: dict[str, Any]
    theirs: list[float]
    ours: list[float]
    acked: list[float]
    repaired: tuple[list[float], list[float]]
    goodput: str = ""
    retransmissions: str = ""
    bound: float = math.nan
    ranked: bool = False
    pairs: list[tuple[float, float]] = field(default_factory=list)

    @property
    def means(self) -> tuple[float, float]:
        """Goodput of theirs and of ours."""
        return float(np.mean(self.theirs)), float(np.mean(self.ours))

    @property
    def estimate(self) -> stats.Estimate:
        """Our goodput, with an interval of what a link can carry."""
        return stats.mean(self.ours, bounds=(0, max([LINK, *self.ours])))  # what a clock rounds is above it

    @property
    def item(self) -> str:
        """What is compared."""
        a = self.about
        return f"{a['law']}, {a['rtt_ms']} ms, {a['loss']:.0%} of {'data' if a['loss_on'] == 'data' else 'ACKs'} lost"


def scenario(about: dict[str, Any], case: dict[str, Any]) -> Scenario:
    """Our run of a case."""
    loss = {"loss": {case["loss_on"]: case["loss"]}} if case["loss"] else {}
    # ACKs are lost on their way back only: a SYN has no payload either
    network = {"rtt": f"{case['rtt_ms']} ms"} | (loss if case["loss_on"] == "data" else {"reverse": loss})
    made = {
        **about["scenario"],
        "name": f"linux, {case['law']}",
        "flows": [{**about["flow"], "cc": about["laws"][case["law"]]}],
    }
    return Scenario.from_dict({**made, "network": made["network"] | network})


def measure(result: Result, limit: float) -> dict[str, float]:
    """Goodput by the kernel runs' clock, from the return of connect() to the receiver's last byte, at most `limit` seconds
    later; by one that stops when the source knows; and retransmissions for a thousand segments.

    SYN and SYN-ACK are sent again after whole seconds, so those that passed before data arrived tell when connect() returned.
    """
    flow, samples = result.flows.row(0, named=True), result.samples
    first = samples.filter(pl.col("delivered_bytes") > 0)["time_s"].min()
    if first is None:
        return {"goodput": 0.0, "acked": 0.0, "repaired": 0.0, "connected": 0.0}
    rtt = flow["rtt_min_s"] if math.isnan(flow["fct_s"]) else min(flow["rtt_min_s"], flow["fct_s"])
    begin = flow["start_s"] + rtt + math.floor(first - flow["start_s"])
    then = samples.filter(pl.col("time_s") <= begin + limit)["delivered_bytes"].max()

    def rate(end: str) -> float:
        seconds = flow["start_s"] + flow[end] - begin
        return flow["delivered_bytes"] * 8e-6 / seconds if seconds <= limit else then * 8e-6 / limit

    return {
        "goodput": rate("fct_receiver_s"),
        "acked": rate("fct_s"),
        "repaired": 1000 * SEGMENT * flow["segments_retransmitted"] / flow["delivered_bytes"],
        "connected": 1.0,
    }


def run(context: Context) -> Findings:
    """Everything of the study."""
    about = context.about
    kernel = pl.read_csv(context.folder / "kernel.csv")
    cases = kernel.select(CASE).unique(maintain_order=True).to_dicts()
    asked = "live" in context.parts and not context.quick
    if asked and (lacking := reasons(about, cases)):
        context.note("The recorded runs stand for this machine's kernel: " + "; ".join(lacking))
        asked = False
    seeds = about["runs"]["quick" if context.quick else "full"]
    jobs = [(scenario(about, case), seed) for case in cases for seed in range(1, 1 + seeds)]
    limit = about["limit"]["seconds"]
    found = context.run(jobs, lambda result: measure(result, limit), keep="measure/2")
    of_case = [found[k * seeds : (k + 1) * seeds] for k in range(len(cases))]
    kernels = measured(context, cases, of_case) if asked else [recorded(kernel, case, limit) for case in cases]
    rows = []
    for case, ours, theirs in zip(cases, of_case, kernels, strict=True):
        # who never got through the handshake has no connect() that returned
        they, we = ([one for one in side if one["connected"]] for side in (theirs, ours))
        both = (
            [pair for pair in zip(theirs, ours, strict=False) if all(one["connected"] for one in pair)] if asked else []
        )
        of_pairs = zip(*both, strict=True) if both else (they, we)
        rows.append(
            Row(
                case,
                [one["goodput"] for one in they],
                [one["goodput"] for one in we],
                [one["acked"] for one in we],
                tuple([one["repaired"] for one in side] for side in of_pairs),
                pairs=[(a["goodput"], b["goodput"]) for a, b in both],
            )
        )
    for row in rows:
        judge(row, about["tolerance"])
    ranked = ranking(rows)
    findings = Findings(
        comparisons=[comparison(row) for row in rows],
        checks=checks(rows, ranked),
        figures=[lossy(rows, rtt, on) for rtt in (1, 20) for on in ("data", "ack")],
        tables=[clocks(rows), *([seeds_beside(rows)] if asked else [])],
        summary=answer(rows, ranked),
        differences=[
            f"{row.item}: {row.means[1]:.3f} Mbit/s, kernel {row.means[0]:.3f}."
            for row in rows
            if row.goodput == stats.DIFFERS
        ],
        method=method(about, seeds, asked),
    )
    (context.out / "linux.md").write_text(page(rows, findings), encoding="utf-8")
    return findings


def recorded(kernel: pl.DataFrame, case: dict[str, Any], limit: float) -> list[dict[str, float]]:
    """The kernel's runs of a case that come with the study."""
    of = kernel.filter(pl.all_horizontal(pl.col(name) == value for name, value in case.items()))
    segments = (pl.col("goodput_mbps") * limit / 8 * 1e6).clip(upper_bound=SIZE) / SEGMENT  # that the kernel delivered
    repaired = 1000 * pl.col("retransmissions") / segments
    return of.select(goodput="goodput_mbps", repaired=repaired, connected=pl.lit(1.0)).to_dicts()


def in_kernel(about: dict[str, Any], case: dict[str, Any], seconds: float) -> Scenario:
    """A case as this machine's kernel runs it."""
    own = ("tso", "initial_receive_buffer")  # the kernel has its own
    flow = {name: value for name, value in about["flow"].items() if name not in own}
    laws = about["laws"] | about["kernel"]["laws"]
    made = {**about["scenario"], "duration": f"{seconds:.0f} s"}
    return scenario(about | {"scenario": made, "flow": flow, "laws": laws}, case)


def reasons(about: dict[str, Any], cases: list[dict[str, Any]]) -> list[str]:
    """Why this machine's kernel cannot be asked."""
    from cclab.backends import live

    lacks = live.missing()
    files = [Path(str(law).partition("bpf:")[2]) for law in about["kernel"]["laws"].values()]
    if lacks or not all(file.is_file() for file in files):
        return [lacks or f"{', '.join(map(str, files))}: make bpf makes it"]
    return sorted({text for case in cases for text in live.refuse(in_kernel(about, case, 1))})


def measured(
    context: Context, cases: list[dict[str, Any]], ours: list[list[dict[str, float]]]
) -> list[list[dict[str, float]]]:
    """This machine's kernel with our first seeds, so that it loses the same packets.

    A run lasts as it says; so each is given the time of our slowest run of its case and a quarter more, at most the limit, and
    the limit where more than half of the ACKs are lost, since there runs stall.
    """
    about, plan = context.about, context.about["kernel"]
    limit, before = about["limit"]["seconds"], plan["handshake"]
    jobs = []
    for case, runs in zip(cases, ours, strict=True):
        slowest = min(one["goodput"] for one in runs)
        needed = (
            1.25 * SIZE * 8e-6 / slowest + 5
            if slowest > 0 and not (case["loss_on"] == "ack" and case["loss"] >= 0.5)
            else limit
        )
        jobs += [(in_kernel(about, case, min(needed, limit) + before), seed) for seed in range(1, 1 + plan["runs"])]

    def given(result: Result) -> dict[str, float]:
        return measure(result, min(limit, result.engine["simulated_s"] - before))

    got = context.run(jobs, given, keep="linux-live/1", backend="live", workers=plan["at_once"], tries=6)
    lost = {"goodput": math.nan, "repaired": math.nan, "connected": 0.0}
    return [[one or lost for one in got[k : k + plan["runs"]]] for k in range(0, len(got), plan["runs"])]


def judge(row: Row, tolerance: dict[str, Any]) -> None:
    """The verdicts of a case."""
    theirs, _ = row.means
    on = row.about["loss_on"]
    share = next((t["share"] for t in tolerance[on] if row.about["loss"] <= t["loss"]), None)
    if share is not None:
        row.bound = max(share * theirs, 2 * deviation(row.ours))
        row.goodput = row.estimate.against(theirs - row.bound, theirs + row.bound, chance=row.about["loss"] > 0)
    elif on == "data":
        row.goodput = ORDER
    else:
        # runs that stall make a mean luck: only ranks tell that theirs are not drawn from where ours are
        row.ranked, row.bound = True, tolerance[on][-1]["share"] * theirs
        row.goodput = row.estimate.against(theirs - row.bound, theirs + row.bound)
        if 2 / math.comb(len(row.theirs) + len(row.ours), len(row.theirs)) > RARE:  # the rarest ranks, of both sides
            row.goodput = stats.NOT_TESTED
        elif row.goodput != stats.AGREES:
            row.goodput = stats.DIFFERS if rank_test(row.theirs, row.ours) <= RARE else stats.CANNOT_TELL
    if on == "data" and row.about["loss"] > 0:
        a, b = row.repaired
        share = tolerance["retransmissions"]
        if row.pairs:
            row.retransmissions = stats.paired(b, a).ratio.against(1 - share, 1 + share)
            return
        spread = deviation(b) * math.sqrt(1 / len(a) + 1 / len(b))
        slack = max(share * float(np.mean(a)), 2 * spread)
        row.retransmissions = stats.mean(b).against(float(np.mean(a)) - slack, float(np.mean(a)) + slack)


def rank_test(few: list[float], many: list[float]) -> float:
    """Chance that ranks are as far from even as these if all are drawn alike (Mann-Whitney, exact, two-sided, ties broken evenly)."""
    both = np.array([*few, *many])
    ranks = [float((both < x).sum() + ((both == x).sum() + 1) / 2) for x in both]
    middle = len(few) * (len(both) + 1) / 2
    sums = np.array([sum(some) for some in itertools.combinations(ranks, len(few))])
    return float((abs(sums - middle) >= abs(sum(ranks[: len(few)]) - middle) - 1e-9).mean())


def deviation(values: list[float]) -> float:
    """Standard deviation of a run."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def ranking(rows: list[Row]) -> list[tuple[Row, Row, bool]]:
    """Each pair of laws that the kernel sets apart on the same path where data are lost, and whether ours are in that order."""
    data = [row for row in rows if row.about["loss_on"] == "data"]
    return [
        (a, b, a.means[1] > b.means[1])
        for a in data
        for b in data
        if all(a.about[name] == b.about[name] for name in ("rtt_ms", "loss"))
        and a.means[0] > b.means[0] * (1 + ORDERED)
    ]


def comparison(row: Row) -> Comparison:
    """A row of comparison.csv."""
    theirs, ours = float(f"{row.means[0]:.4g}"), row.estimate
    tolerance = "" if row.goodput == ORDER else f"±{row.bound:.3g} Mbit/s" + ("; by ranks" if row.ranked else "")
    note = {ORDER: "judged by order", stats.NOT_TESTED: "too few runs for ranks"}.get(row.goodput, "")
    verdict = stats.NOT_TESTED if row.goodput == ORDER else row.goodput
    low, high = (None, None) if math.isnan(ours.low) else (ours.low, ours.high)
    return Comparison(
        row.item, "goodput", "Mbit/s", "kernel", theirs, tolerance, ours.value, low, high, ours.n, 0, verdict, note
    )  # fmt: skip


def checks(rows: list[Row], ranked: list[tuple[Row, Row, bool]]) -> list[Check]:
    """The claims."""
    old = "reno, growth per ACK"
    return [
        judged(
            "Reno, CUBIC and BBR: goodput within its bound wherever there is one",
            [row.goodput for row in bounded(rows) if row.about["law"] != old],
            "loss of data, and of ACKs",
        ),
        judged("Reno that grows per ACK: the same", [row.goodput for row in bounded(rows) if row.about["law"] == old], "loss of data, and of ACKs"),
        judged(
            "more than half of the ACKs lost: goodput like the kernel's",
            [row.goodput for row in rows if row.ranked and row.goodput != stats.NOT_TESTED],
            "loss of ACKs",
        ),
        judged("retransmissions where data are lost", [row.retransmissions for row in rows if row.retransmissions], "retransmissions for a thousand segments"),
        judged("laws a tenth apart in the kernel are in its order", [stats.fact(held) for *_, held in ranked], "means of goodput"),
    ]  # fmt: skip


def bounded(rows: list[Row]) -> list[Row]:
    """Those whose goodput a bound decides alone."""
    return [row for row in rows if not math.isnan(row.bound) and not row.ranked]


def answer(rows: list[Row], ranked: list[tuple[Row, Row, bool]]) -> str:
    """The answer to the question."""
    of, repaired = bounded(rows), [row.retransmissions for row in rows if row.retransmissions]
    return (
        f"Goodput lies within its bound in {sum(row.goodput == stats.AGREES for row in of)} of {len(of)} cases that have one, the laws are in "
        f"the kernel's order in {sum(held for *_, held in ranked)} of {len(ranked)} pairs that it sets apart, and retransmissions agree in "
        f"{repaired.count(stats.AGREES)} of {len(repaired)} cases of lost data."
    )


def clocks(rows: list[Row]) -> Table:
    """What the two clocks say where ACKs are lost."""
    frame = pl.DataFrame(
        [
            {
                "case": row.item,
                "kernel": f"{row.means[0]:.3f}",
                "here": f"{row.means[1]:.3f}",
                "until the source knows": f"{np.mean(row.acked):.3f}",
            }
            for row in rows
            if row.about["loss_on"] == "ack"
        ]
    )
    return Table(
        "clocks",
        "When a transfer is over",
        "Goodput, Mbit/s, means. The kernel's runs end with the receiver's last byte. A clock that waits until the source knows counts the "
        "timeouts in which the last ACK is lost again and again, with nothing left to transfer.",
        frame,
    )


def seeds_beside(rows: list[Row]) -> Table:
    """The runs of one seed side by side where more than half of the ACKs are lost."""
    frame = pl.DataFrame(
        [
            {"case": row.item} | {f"{k}": f"{here:.2f} / {kernel:.2f}" for k, (kernel, here) in enumerate(row.pairs, 1)}
            for row in rows
            if row.ranked and row.pairs
        ]
    )
    return Table(
        "seeds",
        "Seed by seed where more than half of the ACKs are lost",
        "Goodput of the runs of one seed, which lose the same packets until the two hosts differ, here / kernel, Mbit/s.",
        frame,
    )


def lossy(rows: list[Row], rtt: int, on: str) -> Figure:
    """Goodput over loss: theirs as lines, ours as marks."""
    of = [row for row in rows if (row.about["rtt_ms"], row.about["loss_on"]) == (rtt, on)]
    laws = list(dict.fromkeys(row.about["law"] for row in of))
    with styled():
        chart = Chart(7.4, 3.6)
        axes = chart.subplots()
        for index, law in enumerate(laws):
            part = [row for row in of if row.about["law"] == law]
            loss, style = [row.about["loss"] * 100 for row in part], look(index)
            axes.plot(loss, [row.means[0] for row in part], color=style["color"], linewidth=1)
            axes.errorbar(loss, [row.means[1] for row in part], [deviation(row.ours) for row in part], color=style["color"],
                          marker="osD^"[index], markersize=4, linestyle="none", elinewidth=0.8, capsize=2, label=f"here, {law}")  # fmt: skip
        axes.set_xlabel("Loss (%)")
        axes.set_ylabel("Goodput (Mbit/s)")
        axes.set_ylim(0)  # a deviation may be more than its mean
        chart.legend_below(key={"Linux": "-"})
    data = pl.DataFrame(
        [{**row.about, "kernel": row.means[0], "here": row.means[1], "sd": deviation(row.ours)} for row in of]
    )
    what = "data" if on == "data" else "ACKs"
    return Figure(
        f"loss-on-{on}-{rtt}-ms",
        f"Loss on {what}, RTT {rtt} ms",
        f"Lines: Linux, mean of three runs. Marks: here, mean of n = {len(of[0].ours)} with one standard deviation of a run.",
        chart,
        data,
    )


def method(about: dict[str, Any], seeds: int, asked: bool) -> list[str]:
    """How it was measured."""
    clock = "Goodput is payload from the return of connect() to the receiver's last byte, at most 120 s"
    kernels = (
        f"Each case is the mean of {seeds} seeds here and of {about['kernel']['runs']} runs in this machine's kernel, Linux {platform.release()}, with the first of "
        f"these seeds, so that the same packets are lost to both and to all laws. {clock}. A run in the kernel is given the time of our slowest run of "
        "its case and a quarter more; what it has delivered by then counts."
        if asked
        else f"Each case is the mean of {seeds} seeds here and of three runs in the kernel, whose random losses were common to all laws: three "
        f"samples of chance in all. {clock}; the kernel's "
        "runs at 80 % of lost ACKs that reach the rate of the link show that its clock does not wait for the last ACK."
    )
    repaired = (
        "the ratio over pairs of one seed within 5 %."
        if asked
        else "within 5 %, or two standard deviations of the difference of the means."
    )
    return [
        kernels,
        "Bounds: 5 % of the kernel's goodput up to 3 % of lost data, 15 % up to 5 %, 2 % up to half of the ACKs lost; or two standard "
        "deviations of one of our runs where that is more. Beyond, data: the order of laws that are a tenth apart; ACKs: within 2 % they agree, and "
        "they differ where a rank test (Mann–Whitney, 5 %) of three runs against ours says so, for there a run stalls or does not. Of three "
        "against three no ranks are that rare, so that `--quick` does not test it.",
        f"Retransmissions, for a thousand segments delivered: {repaired}",
        "Growth per ACK measures how many ACKs there are. The kernel sends 0.53 a segment, for the last of a burst is marked PSH and "
        "acknowledged at once; here too, since hosts hand over segments by twos (`tso = 2`). Segments alone (0.5 ACKs each; `--part recorded --set flow.tso=1`) give the cells at "
        "20 ms and 1, 2, 3 % 3.96, 2.69, 2.14.",
    ]


LEFT = [
    "A cell with ~ is not shown to meet its bound; what is known of each kind:",
    "- **More than half of the ACKs lost.** A window whose ACKs are all lost waits for the timer, each further timeout is twice as long, and its ACK is as likely lost: "
    "the mean of such a stall has no bound, and a mean of three runs is not one of twenty. Run by run, with the same packets lost, Reno and CUBIC mostly stand still in the kernel where "
    "they do here (below). BBR's runs part after some seconds: which ACKs of a window are the lost ones depends on its pacing to the millisecond, and a stall begins mostly while it "
    "probes the RTT with four packets out. What had to be alike for that, and what is not: [where most ACKs are lost](../models/tcp.md#where-most-acks-are-lost).",
    "- **Retransmissions at 20 ms and 7 or 10 % of lost data**: the kernel's means are a hundredth above ours, and three pairs of runs do not bound the ratio by a twentieth. Which segments "
    "it resends beyond those that were lost was not looked into.",
    "- **BBR, 1 ms, a few lost ACKs**: now and then all ACKs of four packets are lost while it probes the RTT, here and there in other runs.",
]


def page(rows: list[Row], findings: Findings) -> str:
    """docs/validation/linux.md."""
    lines = [
        "# The endpoint beside a Linux kernel",
        "",
        "`cclab reproduce linux` runs 25 MB through random loss and puts it beside a Linux kernel; this page is the `linux.md` that it writes.",
        "",
        findings.summary,
        "",
        *(f"{text}\n" for text in findings.method),
        f"Each cell is *here / kernel* in Mbit/s: {SHOWN[stats.AGREES]} the 95 % interval of our mean is within the bound, {SHOWN[stats.DIFFERS]} outside, {SHOWN[stats.CANNOT_TELL]} neither, {SHOWN[ORDER]} judged by order, {SHOWN[stats.NOT_TESTED]} not tested; where "
        f"more than half of the ACKs are lost {SHOWN[stats.DIFFERS]} is of a rank test.",
    ]
    for on, title in (("data", "Loss of data"), ("ack", "Loss of ACKs")):
        of = [row for row in rows if row.about["loss_on"] == on]
        losses = sorted({row.about["loss"] for row in of})
        lines += [
            "",
            f"## {title}",
            "",
            "| law | RTT | " + " | ".join(f"{loss:.0%}" for loss in losses) + " |",
            "|---" * (len(losses) + 2) + "|",
        ]
        for law, rtt in dict.fromkeys((row.about["law"], row.about["rtt_ms"]) for row in of):
            cells = [
                f"{r.means[1]:.2f} / {r.means[0]:.2f} {SHOWN[r.goodput]}"
                for r in of
                if (r.about["law"], r.about["rtt_ms"]) == (law, rtt)
            ]
            lines.append(f"| {law} | {rtt} ms | " + " | ".join(cells) + " |")
        if on == "data":
            lines += [
                "",
                "Retransmissions for a thousand segments delivered, here / kernel:",
                "",
                "| law | RTT | " + " | ".join(f"{loss:.0%}" for loss in losses[1:]) + " |",
                "|---" * (len(losses) + 1) + "|",
            ]
            for law, rtt in dict.fromkeys((row.about["law"], row.about["rtt_ms"]) for row in of):
                cells = [
                    f"{np.mean(r.repaired[1]):.1f} / {np.mean(r.repaired[0]):.1f} {SHOWN[r.retransmissions]}"
                    for r in of
                    if r.retransmissions and (r.about["law"], r.about["rtt_ms"]) == (law, rtt)
                ]
                lines.append(f"| {law} | {rtt} ms | " + " | ".join(cells) + " |")
    lines += ["", "## Claims", "", *(f"- {c.check}: {c.verdict} ({c.evidence})." for c in findings.checks)]
    if any(row.pairs for row in rows):
        lines += ["", "## What is left, and why", "", LEFT[0], "", *LEFT[1:]]
    for table in findings.tables[1:]:
        frame = table.frame
        lines += ["", f"## {table.title}", "", table.caption, ""]
        lines += [
            "| " + " | ".join(["case", *(f"seed {name}" for name in frame.columns[1:])]) + " |",
            "|---" * frame.width + "|",
        ]
        lines += ["| " + " | ".join(line) + " |" for line in frame.rows()]
    lines += [
        "",
        "## When a transfer is over",
        "",
        findings.tables[0].caption,
        "",
        "| case | kernel | here | until the source knows |",
        "|---|---|---|---|",
    ]
    lines += [
        "| " + " | ".join(line) + " |"
        for line in findings.tables[0].frame.rows()
        if int(line[0].split(" ms, ")[1].split("%")[0]) >= 50
    ]
    return "\n".join(lines) + "\n"
