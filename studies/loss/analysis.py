"""A thesis on Linux under data and ACK loss: its numbers beside formula, simulator and kernel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario, backends, formulas, stats
from cclab.analysis.plots import Chart, look, styled
from cclab.published import Check, Comparison, Context, Figure, Findings, Table, compare, judged
from cclab.results import Result

KEY = ("part", "setup", "variable", "endpoint", "law", "loss_on", "loss_percent")
Key = tuple[str, str, str, str, str, str, float]
KERNEL, MODEL = "kernel", "formula"
MSS = 1348  # bytes of payload: 1400 less 40 of headers and 12 of timestamps
MARKS = "osD^v"
RTT = ", RTT "  # behind a set-up's name, where it is not the usual one


def scenario(about: dict[str, Any], key: Key, more: dict[str, Any]) -> Scenario:
    """A transfer as iperf made it."""
    _, setup, variable, endpoint, law, loss_on, percent = key
    setup, _, rtt = setup.partition(RTT)
    of, link = about["setups"][setup], about["link"]
    network: dict[str, Any] = {
        "rate": of["rate"], "rtt": rtt or link["rtt"], "overhead": link["overhead"], "queue": {"limit": link["queue"]},
    }  # fmt: skip
    if percent:
        lost = {"loss": {loss_on: f"{percent:g}%", "place": "after-link"}}
        # ACKs are lost on their way back only: a SYN has no payload either
        network |= lost if loss_on == "data" else {"reverse": lost}
    sysctl = dict(about["off"]) if setup == "C" else {}
    if variable:
        sysctl |= about["variables"][variable]
    if endpoint == KERNEL:
        sysctl.pop("tcp_adv_win_scale", None)  # what it acts on is gone
    flow: dict[str, Any] = {
        "cc": about["laws"].get(law, law), "packet_size": "1400 B", "profile": about["endpoints"].get(endpoint, "linux"),
        "sysctl": sysctl,
    }  # fmt: skip
    if endpoint != KERNEL:
        flow |= {"send_jitter": "10 us"} | about["hosts"].get(endpoint.split(",")[0], {})
    limit, before = f"{about['limit']['seconds']} s", []
    if "tcp_no_metrics_save" in about["variables"].get(variable, {}):
        # another connection, of whose end the hosts remember what they do
        earlier = about["earlier"]
        before = [flow | {"stop": earlier["stop"]}]
        flow["start"], limit = earlier["then"], earlier["limit"]
    if "size" in of:
        flow["size"] = of["size"]
    return Scenario.from_dict(
        {
            "name": f"{setup} {variable} {endpoint} {law} {percent:g} % {loss_on}",
            "duration": of.get("duration", limit),
            "network": network,
            "flows": [*before, flow | more],
        }
    )


def goodput(result: Result) -> float:
    """As iperf tells it, Mbit/s: what was delivered over the time from when the connection stood; 0 if it never did."""
    flow = result.flows.row(-1, named=True)
    if not math.isfinite(flow["connect_s"]):
        return 0.0
    end = flow["fct_s"] if math.isfinite(flow["fct_s"]) else result.engine["simulated_s"] - flow["start_s"]
    return float(flow["delivered_bytes"]) * 8e-6 / (end - flow["connect_s"])


def design(context: Context) -> Iterable[tuple[Key, dict[str, Any]]]:
    """Every setting of the parts that are wanted, but for the kernel's."""
    about, plan = context.about, context.about["quick" if context.quick else "full"]
    for part, endpoint in itertools.product(context.parts, about["endpoints"]):
        if part in ("data", "ack"):
            for law, percent in itertools.product(about["laws"], plan[part]):
                yield (part, "C", "", endpoint, law, part, percent), {}
        elif part in ("variables", "setups"):
            for row in published(context).iter_rows(named=True):
                about_row = (row["variable"] or "", endpoint, row["law"], row["loss_on"], row["loss_percent"])
                for _, setup in (found for found in places(context, row) if found[0] == part):
                    yield (part, setup, *about_row), {}
        elif part == "changes" and endpoint == "Linux today":
            for percent in (5, 10):
                yield (part, "C", "", endpoint, "Reno", "data", percent), {}
                for name, change in about["changes"].items():
                    yield (part, "C", "", f"{endpoint}, {name}", "Reno", "data", percent), dict(change)


def places(context: Context, row: dict[str, Any]) -> list[tuple[str, str]]:
    """The parts and set-ups where a printed number has one beside it: those whose RTT decides, with each RTT."""
    usual, rtts = context.about["link"]["rtt"], context.about["link"]["rtts"]
    if row["part"] == "setups":
        return [("setups", f"{row['setup']}{RTT}{rtt}") for rtt in rtts]
    varied = row["part"] == "data" and row["loss_percent"] > 0
    others = [("setups", f"{row['setup']}{RTT}{rtt}") for rtt in rtts if varied and rtt != usual]
    return [(row["part"], row["setup"]), *others]


def published(context: Context) -> pl.DataFrame:
    """What the thesis prints."""
    return pl.read_csv(context.folder / "published.csv")


def run(context: Context) -> Findings:
    """Everything of the study."""
    about, plan = context.about, context.about["quick" if context.quick else "full"]
    designed = dict(design(context))
    jobs = [
        (scenario(about, key, more), seed) for key, more in designed.items() for seed in range(1, 1 + plan["seeds"])
    ]
    found = context.run(jobs, goodput, keep="loss/2")
    runs = {key: found[k * plan["seeds"] : (k + 1) * plan["seeds"]] for k, key in enumerate(designed)}
    refused = kernel(context, runs)
    rows = comparisons(context, runs)
    claims = [check for part in context.parts for check in CLAIMS.get(part, lambda *_: [])(context, runs)]
    return Findings(
        comparisons=rows,
        checks=claims,
        figures=[figure(context, runs, part) for part in ("data", "ack") if part in context.parts],
        tables=tables(context, runs),
        summary=answer(rows, claims),
        differences=DIFFERENCES,
        method=[*METHOD, *refused],
    )


def kernel(context: Context, runs: dict[Key, list[float]]) -> list[str]:
    """Adds what this machine's kernel does, and says what it was not asked."""
    about, plan = context.about, context.about["quick" if context.quick else "full"]
    keys: list[Key] = [
        (part, "C", "", KERNEL, law, part, percent)
        for part in ("data", "ack")
        if part in context.parts
        for law in about["laws"]
        for percent in plan[f"kernel_{part}"]
    ]
    live = backends.find("live")
    jobs, asked, refused = [], [], {}
    for key in keys:
        made = scenario(about, key, {})
        program = Path("target/bpf") / f"{about['laws'][key[4]]}.bpf.o"
        if live.refuse(made) and program.exists():
            made = scenario(about, key, {"cc": f"bpf:{program}"})
        if reasons := live.refuse(made):
            refused[key[4]] = "; ".join(reasons)
            continue
        asked.append(key)
        jobs += [(made, seed) for seed in range(1, 1 + plan["kernel"])]
    got = context.run(jobs, goodput, keep="loss-live/2", backend="live", workers=8, tries=3) if jobs else []
    for k, key in enumerate(asked):
        runs[key] = [x for x in got[k * plan["kernel"] : (k + 1) * plan["kernel"]] if x is not None]
    return [f"The kernel was not asked about {law}: {reason}." for law, reason in refused.items()]


def formula(about: dict[str, Any], percent: float) -> float:
    """Padhye et al. with an ACK for each two segments and growth by them, a timer of 200 ms and the RTT, Mbit/s; at most the link."""
    rtt, most = 1e-3, full_rate(about, "C") * (1 - percent / 100)
    if not percent:
        return most
    return min(most, float(formulas.to_bps(formulas.pftk(percent / 100, rtt, 0.2 + rtt, 2, math.inf), MSS)) / 1e6)


def full_rate(about: dict[str, Any], setup: str) -> float:
    """Payload that a lossless link carries, Mbit/s."""
    return float(about["setups"][setup]["rate"].split()[0]) * MSS / (1400 + about["link"]["overhead"])


def mean(about: dict[str, Any], setup: str, values: Sequence[float]) -> stats.Estimate:
    """Of goodputs; the interval ends where the link does."""
    return stats.mean(values, bounds=(0, full_rate(about, setup.partition(RTT)[0])))


def comparisons(context: Context, runs: dict[Key, list[float]]) -> list[Comparison]:
    """Each printed number beside each of ours."""
    rows = []
    for row in published(context).iter_rows(named=True):
        endpoints = (*context.about["endpoints"], KERNEL)
        for (part, setup), endpoint in itertools.product(places(context, row), endpoints):
            key = (part, setup, row["variable"] or "", endpoint, row["law"], row["loss_on"], row["loss_percent"])
            if not runs.get(key):
                continue
            item = f"{row['law']}, set-up {setup}" + (f", {row['variable']}" if row["variable"] else "")
            metric = f"{row['loss_percent']:g} % {'data' if row['loss_on'] == 'data' else 'ACK'} loss, {endpoint}"
            note = f"{row['where'][0].upper()}{row['where'][1:]}" + (f"; {row['note']}" if row["note"] else "") + "."
            tolerance = context.about["tolerance"]
            slack = max(tolerance["share"] * row["value_mbps"], tolerance["least_mbps"])
            ours = mean(context.about, setup, runs[key])
            rows.append(compare(item, metric, "Mbit/s", row["value_mbps"], ours, slack=slack, note=note))
    return rows


# --- Claims of the thesis --------------------------------------------------------------------------------------------


def ratio(
    runs: dict[Key, list[float]], endpoint: str, a: tuple[str, float], b: tuple[str, float], part: str
) -> stats.Estimate:
    """Of two goodputs, seed by seed."""
    x, y = (runs[part, "C", "", endpoint, law, part, percent] for law, percent in (a, b))
    return stats.paired(x, y).ratio


def claim(text: str, found: dict[str, stats.Estimate], test: Callable[[stats.Estimate], str]) -> Check:
    """What every one of these is to pass."""
    return judged(text, [test(e) for e in found.values()], told(found))


def data_claims(context: Context, runs: dict[Key, list[float]]) -> list[Check]:
    """Of the part on data loss, for the thesis' endpoint and for today's."""
    checks = []
    for endpoint in context.about["endpoints"]:

        def of_laws(a: float, b: float, endpoint: str = endpoint) -> dict[str, stats.Estimate]:
            return {law: ratio(runs, endpoint, (law, a), (law, b), "data") for law in context.about["laws"]}

        order = {
            f"{a} over {b} at {p} %": ratio(runs, endpoint, (a, p), (b, p), "data")
            for p in (5, 10)
            for a, b in (("H-TCP", "CUBIC"), ("CUBIC", "Reno"))
        }
        checks += [
            claim(f"{text} ({endpoint})", found, test)
            for text, found, test in (
                ("1 % of the data lost costs about 2 % of the goodput", of_laws(1, 0), lambda e: e.against(0.97, 0.99)),
                (
                    "The drastic fall begins at 4 or 5 %: from 3 to 5 % more than a tenth is gone",
                    of_laws(5, 3),
                    lambda e: e.below(0.9),
                ),
                ("From 5 % on H-TCP is ahead of CUBIC, and CUBIC of Reno", order, lambda e: e.above(1)),
                ("At 10 % less than a third is left", of_laws(10, 0), lambda e: e.below(1 / 3)),
            )
        ]
    return checks


def ack_claims(context: Context, runs: dict[Key, list[float]]) -> list[Check]:
    """Of the part on ACK loss."""
    checks = []
    for endpoint in context.about["endpoints"]:

        def of(law: str, percent: float, endpoint: str = endpoint) -> stats.Estimate:
            return ratio(runs, endpoint, (law, percent), (law, 0), "ack")

        checks += [
            claim(f"{text} ({endpoint})", found, test)
            for text, found, test in (
                (
                    "10 % of the ACKs lost change nothing",
                    {law: of(law, 10) for law in context.about["laws"]},
                    lambda e: e.against(0.99, 1.01),
                ),
                (
                    "40 % of the ACKs lost take a tenth of Reno's goodput (chapter 7: 9.13 to 8.18)",
                    {"Reno": of("Reno", 40)},
                    lambda e: e.against(0.85, 0.95),
                ),
                (
                    "Beyond 40 % the goodput drops (chapter 6): 50 % leave less",
                    {law: ratio(runs, endpoint, (law, 50), (law, 40), "ack") for law in context.about["laws"]},
                    lambda e: e.below(1),
                ),
                (
                    "Half of the ACKs lost are borne",
                    {law: of(law, 50) for law in context.about["laws"]},
                    lambda e: e.against(0.95, 1.05),
                ),
                (
                    "At 60 % (70 % elsewhere in the text) it stalls: less than a hundredth is left",
                    {f"{law} at {p} %": of(law, p) for p in (60, 70) for law in context.about["laws"]},
                    lambda e: e.below(0.01),
                ),
            )
        ]
    return checks


def variable_claims(context: Context, runs: dict[Key, list[float]]) -> list[Check]:
    """Of the four variables, one by one."""
    checks = []
    for endpoint in context.about["endpoints"]:
        change = {}
        for variable, percent in itertools.product(context.about["variables"], (1, 5, 10)):
            base = runs.get(("data", "C", "", endpoint, "Reno", "data", percent))
            key: Key = ("variables", "C", variable, endpoint, "Reno", "data", percent)
            if base and key in runs:
                change[f"{variable} at {percent} %"] = stats.paired(runs[key], base).ratio
        if change:
            text = f"None of the four variables changes Reno's goodput by more than a tenth at 1, 5 and 10 % of data loss ({endpoint})"
            checks.append(claim(text, change, lambda e: e.against(0.9, 1.1)))
    return checks


Case = tuple[int, tuple[int, ...], int | None]
"""Packets of a window, which of them are lost, and how many more the receiver's has room for; `None` is no limit."""


def dropped(about: dict[str, Any], endpoint: str, case: Case) -> Scenario:
    """A connection whose first window is sent at once and loses some packets."""
    of, (window, lost, room) = about["drops"], case
    flow: dict[str, Any] = {"cc": "reno", "packet_size": "1400 B", "size": of["size"], "initial_window": window}
    flow |= about["drops"]["endpoints"][endpoint]
    if room is not None:
        flow["receive_buffer"] = f"{(window + room) * MSS} B"
    loss = {"data": {"packets": list(lost)}, "place": "after-link"}
    network = {
        "rate": about["setups"]["C"]["rate"],
        "rtt": of["rtt"],
        "overhead": about["link"]["overhead"],
        "loss": loss,
    }
    network["queue"] = {"limit": about["link"]["queue"]}
    name = f"{endpoint}, of {window} {' '.join(map(str, lost))}"
    return Scenario.from_dict({"name": name, "duration": of["limit"], "network": network, "flows": [flow]})


def met(result: Result) -> list[float]:
    """Timeouts, and the smallest window in segments."""
    return [float(x) for x in result.flows.select("timeouts", "cwnd_min_segments").row(0)]


def rules(about: dict[str, Any]) -> list[tuple[str, list[Case], Callable[[Case, list[float]], bool]]]:
    """What section 6.3 and figure 31 say of packets lost in a window, where each is tried, and what is to come of it.

    The first packet of the window is always among the lost, so that no ACK changes the window before.
    """
    small, large = about["drops"]["small"], about["drops"]["large"]

    def timeout(_: Case, found: list[float]) -> bool:
        return found[0] > 0

    def halved(case: Case, found: list[float]) -> bool:
        return found == [0, case[0] / 2]

    two = [(w, (1, b)) for w in large for b in range(2, w + 1)]
    three = [(w, (1, b, w), None) for w in large for b in range(2, w) if b - 2 < 2 + 3 * w / 4]
    four = [(w, (1, *rest), None) for w in large[:1] for rest in itertools.combinations(range(2, w + 1, 2), 3)]
    return [
        ("A packet lost halves the window and is no timeout (figure 31, of others: 120 to 60 Mbit/s)",
         [(w, (1,), None) for w in (*small, *large) if w >= 6 and w % 2 == 0], halved),
        ("Two lost of a window below 10 packets are a timeout",
         [(w, (1, b), None) for w in small for b in range(2, w + 1)], timeout),
        ("Two lost of a window within two packets of the receiver's are a timeout",
         [(*case, room) for case in two for room in (0, 1, 2)], timeout),
        ("Three lost with fewer than 2 + 3W/4 packets between the first two are a timeout", three, timeout),
        ("Four lost of a window are a timeout", four, timeout),
    ]  # fmt: skip


def drop_claims(context: Context, _: dict[Key, list[float]]) -> list[Check]:
    """Of packets lost in one window, which no chance touches: each case is run once."""
    endpoints, asked = list(context.about["drops"]["endpoints"]), rules(context.about)
    whole = [(endpoint, case) for endpoint in endpoints for _, cases, _ in asked for case in cases]
    jobs = [(dropped(context.about, endpoint, case), 1) for endpoint, case in whole]
    found = dict(zip(whole, context.run(jobs, met, keep="loss-drops/1"), strict=True))
    checks = []
    for endpoint, (text, cases, test) in itertools.product(endpoints, asked):
        so = [test(case, found[endpoint, case]) for case in cases]
        checks.append(judged(f"{text} ({endpoint})", map(stats.fact, so), f"So in {sum(so)} of {len(so)} cases."))
    return checks


CLAIMS = {"data": data_claims, "ack": ack_claims, "variables": variable_claims, "drops": drop_claims}


def told(found: dict[str, stats.Estimate]) -> str:
    """Each with its interval."""
    return "; ".join(f"{name} {e.value:.3g} [{e.low:.3g}, {e.high:.3g}]" for name, e in found.items()) + "."


# --- What is shown ---------------------------------------------------------------------------------------------------


def figure(context: Context, runs: dict[Key, list[float]], part: str) -> Figure:
    """Goodput over loss in set-up C: a panel for each law, a line for each of what was asked."""
    about, printed, data = context.about, published(context), []
    with styled():
        chart = Chart(7.2, 3.4)
        for axes, law in zip(chart.subplots(1, len(about["laws"]), sharey=True), about["laws"], strict=True):
            for index, endpoint in enumerate((*about["endpoints"], KERNEL)):
                points = sorted(
                    (k[6], v) for k, v in runs.items() if k[:6] == (part, "C", "", endpoint, law, part) and v
                )
                if not points:
                    continue
                estimates = [mean(about, "C", v) for _, v in points]
                x, y = [p for p, _ in points], [e.value for e in estimates]
                ends = np.nan_to_num([[e.value - e.low for e in estimates], [e.high - e.value for e in estimates]])
                axes.errorbar(x, y, yerr=ends, **look(index), marker=MARKS[index], ms=4, capsize=2, label=endpoint)
                data += [(law, endpoint, p, e.value, e.low, e.high, e.n) for p, e in zip(x, estimates, strict=True)]
            if part == "data":
                x = about["full"]["data"]
                axes.plot(x, [formula(about, p) for p in x], color="#888888", ls="--", lw=1, label=f"{MODEL} (Padhye)")
            theirs = printed.filter((pl.col("part") == part) & (pl.col("law") == law) & (pl.col("setup") == "C"))
            axes.plot(theirs["loss_percent"], theirs["value_mbps"], "k*", ms=8, clip_on=False, zorder=5, label="thesis")
            axes.set_title(law)
            axes.set_xlabel(f"{'Data' if part == 'data' else 'ACKs'} lost (%)")
            axes.set_ylim(0, 10)
        chart.axes[0].set_ylabel("Goodput (Mbit/s)")
        chart.legend_below()
    n = context.about["quick" if context.quick else "full"]
    caption = f"25 MB over 10 Mbit/s, set-up C, RTT 1 ms, at most {about['limit']['seconds']} s. Means of n = {n['seeds']} runs (kernel: {n['kernel']}) with 95 % intervals."
    frame = pl.DataFrame(data, schema=["law", "endpoint", "loss_percent", "mbps", "low", "high", "n"], orient="row")
    return Figure(part, f"Goodput under {'data' if part == 'data' else 'ACK'} loss", caption, chart, frame)


def beside(context: Context, runs: dict[Key, list[float]]) -> list[Table]:
    """Set-up C as the thesis printed it: formula, simulator and kernel beside it."""
    about, printed, made = context.about, published(context), []
    n = about["quick" if context.quick else "full"]
    today, same = "Linux today", f"Linux today, seeds 1 to {n['kernel']}"
    asked = any(k[3] == KERNEL for k in runs)
    for part in (part for part in ("data", "ack") if part in context.parts):
        rows = []
        for law in about["laws"]:
            measured = {k[6] for k in runs if k[:3] == (part, "C", "") and k[4] == law}
            theirs = printed.filter((pl.col("part") == part) & (pl.col("law") == law) & (pl.col("setup") == "C"))
            thesis = dict(theirs.filter(pl.col("variable").is_null()).select("loss_percent", "value_mbps").iter_rows())
            for percent in sorted({*measured, *thesis}):
                means = {
                    endpoint: f"{stats.mean(values).value:.3f}" if values else "–"
                    for endpoint in (*about["endpoints"], KERNEL)
                    for values in [runs.get((part, "C", "", endpoint, law, part, percent))]
                }
                if asked:
                    both = runs.get((part, "C", "", KERNEL, law, part, percent))
                    seeds = runs[part, "C", "", today, law, part, percent][: n["kernel"]] if both else []
                    means[same] = f"{stats.mean(seeds).value:.3f}" if seeds else "–"
                model = formula(about, percent) if (part, law) == ("data", "Reno") else math.nan
                rows.append(
                    {"Law": law, "Lost (%)": f"{percent:g}", "Thesis": f"{thesis[percent]:.3g}" if percent in thesis else "–"}
                    | {"Formula (Padhye)": f"{model:.3f}" if math.isfinite(model) else "–"}
                    | means
                )  # fmt: skip
        what = "data" if part == "data" else "ACKs"
        made.append(
            Table(
                f"beside-{part}",
                f"Beside each other: {what} lost",
                f"Goodput in Mbit/s, set-up C: means of n = {n['seeds']} runs (kernel: {n['kernel']}, with the losses of these seeds); intervals are in the figure and in every mean.",
                pl.DataFrame(rows),
            )
        )
    return made


def tables(context: Context, runs: dict[Key, list[float]]) -> list[Table]:
    """All beside each other; what changed in Linux since, by switching it off; and every mean."""
    made = beside(context, runs)
    if "changes" in context.parts:
        base = "Linux today"
        rows = []
        for endpoint in sorted(
            {k[3] for k in runs if k[0] == "changes"}, key=lambda name: (name != base, "all" in name, name)
        ):
            row = {"Endpoint": endpoint}
            for percent in (5, 10):
                values = runs["changes", "C", "", endpoint, "Reno", "data", percent]
                against = stats.paired(values, runs["changes", "C", "", base, "Reno", "data", percent]).ratio
                row[f"{percent} % (Mbit/s)"] = f"{stats.mean(values).value:.2f}"
                row[f"{percent} %, over today"] = f"{against.value:.2f} [{against.low:.2f}, {against.high:.2f}]"
            rows.append(row)
        caption = "Reno, set-up C, one change at a time and all together; ratios are geometric means over pairs of one seed with 95 % intervals."
        made.append(Table("changes", "What changed in Linux since, switched off", caption, pl.DataFrame(rows)))
    every = [
        dict(zip(KEY, key, strict=True))
        | {"goodput (Mbit/s)": f"{e.value:.3f}", "95 % interval": f"{e.low:.3f} to {e.high:.3f}", "n": e.n}
        for key, values in runs.items()
        if values and (e := mean(context.about, key[1], values))
    ]
    made.append(
        Table("every", "Every mean", "Goodput over the time of the connection, as iperf tells it.", pl.DataFrame(every))
    )
    return made


def answer(rows: Sequence[Comparison], checks: Sequence[Check]) -> str:
    """The answer to the question, in a paragraph."""

    def count(found: Sequence[Any], verdict: str) -> int:
        return sum(one.verdict == verdict for one in found)

    return (
        f"Of {len(rows)} comparisons with a printed number {count(rows, 'agrees')} agree, {count(rows, 'differs')} differ, {count(rows, 'cannot tell')} cannot be told. Of {len(checks)} statements, "
        f"each for Linux 2.6 and for today's (those on packets lost in a window for Reno without SACK, too), {count(checks, 'holds')} hold, {count(checks, 'partly')} in part, {count(checks, 'fails')} fail, {count(checks, 'cannot tell')} cannot be told."
    )


DIFFERENCES = [
    "The thesis' Linux is our Linux 2.6 for Reno: growth per ACK, SACK by RFC 3517 and no probes give its 1 % and come near its 5 and 10 %, and today's "
    "endpoint has far more. CUBIC and H-TCP fall behind their printed values at 5 and 10 %, so that the printed order (H-TCP, CUBIC, Reno) is not ours, nor "
    "today's kernel's; why is not found, and the RTT, which is varied from 0.2 to 5 ms in the part on set-ups, is not why. The thesis prints one number a point and names no kernel to the digit.",
    "With the endpoint of then runs stall where the thesis has it, at 60 to 70 % of the ACKs, but not all of them: the printed 10⁻⁷ Mbit/s are of single "
    "connections that hardly began. Today's endpoint does not stall there.",
    "The rules on two, three and four packets lost in a window are of a Reno without SACK; with SACK, then and today, no such case ends in a timeout.",
]
METHOD = [
    "Printed numbers are compared with a tolerance of 10 % (at least 0.1 Mbit/s): RTT, queue and kernel are not printed, so shape and order count more "
    "than they do. The formula knows no law but Reno, no recovery but one loss at a time, and no law of today's.",
    "iperf's goodput of a run that stalls is what was delivered over the time it was given, 120 s; printed values of 10⁻⁷ Mbit/s are those of a connection "
    "that hardly began. Losses are behind the link: a router that drops what came over its wire. With all ACKs lost the SYN-ACK is, too: nothing connects.",
    "Of the project before (set-up P) the rate of the NIC is printed; the rest is set-up A's. Packets of one window are lost by their numbers, in the first window "
    "of a connection, so that its size is known; no chance touches that, and each case is run once.",
]
