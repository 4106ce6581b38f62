"""Every dumbbell reference run of ns-2, ns-3 and a kernel beside ours, a verdict each."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario, stats
from cclab.analysis.plots import DASHED, Chart, look, styled
from cclab.published import Check, Comparison, Context, Figure, Findings, Table
from cclab.published import judged as judged_claim
from cclab.results import Result

CASE = ("scenario", "peer", "agent", "rtt_ms", "loss_on", "loss")
NAMES = {"w1": "W1", "w2": "W2", "w4": "W4"}
AGREES, PEERS, SPECIFICATION, BOTH, SETUP, OPEN, UNKNOWN, NONE = (
    "agrees",
    "peers disagree",
    "we follow the specification",
    "both follow the specification",
    "different set-ups",
    "cannot tell",
    "not explained",
    "no tolerance",
)
KINDS = {"specification": SPECIFICATION, "both": BOTH, "set-up": SETUP}
ORDERED = 0.10  # goodputs closer than this are in no order


@dataclass
class Row:
    """One reference number beside ours.

    Attributes:
        about: Its row of published.csv.
        law: What our flows run; agents of one law are compared with each other.
        values: Ours, one for each seed; the verdict is that of their mean with its interval.
        undisturbed: That of the run without jitter, if there is one.
        low, high: What agrees; `nan` where another rule decides.
        verdict: One of the eight above.
        why: A sentence.
    """

    about: dict[str, Any]
    law: str
    values: list[float]
    undisturbed: float | None
    low: float = math.nan
    high: float = math.nan
    verdict: str = NONE
    why: str = ""

    @property
    def ours(self) -> float:
        """The number that is judged."""
        return float(np.mean(self.values))

    @property
    def chance(self) -> bool:
        """Whether anything is left to chance; where nothing is there is one run."""
        return len(self.values) > 1

    @property
    def estimate(self) -> stats.Estimate:
        """The same with its interval, within what the quantity can be."""
        bounded = self.about["metric"] in ("utilisation", "Jain's index")
        return stats.mean(self.values, bounds=(0.0, 1.0 if bounded else math.inf))

    @property
    def theirs(self) -> float:
        """The reference number."""
        return float(self.about["value"])

    @property
    def item(self) -> str:
        """Scenario, peer and agent, with RTT and loss where they vary."""
        a = self.about
        rtt = f", {a['rtt_ms']} ms" if a["scenario"] != "w1" else ""
        loss = f", {a['loss']:.0%} of {'data' if a['loss_on'] == 'data' else 'ACKs'} lost" if a["loss_on"] else ""
        return f"{NAMES[a['scenario']]}{rtt}{loss}: {a['peer']} {a['agent']}"


def published(context: Context) -> pl.DataFrame:
    """The reference numbers."""
    return pl.read_csv(context.folder / "published.csv", schema_overrides={"loss": pl.Float64, "value": pl.Float64})


def scenario(about: dict[str, Any], case: dict[str, Any], jitter: bool) -> Scenario:
    """Our run for a case of the peers'."""
    name, peer = case["scenario"], case["peer"]
    plan = about[name]
    flow = {**plan["flow"], **about["agents"][peer][case["agent"]]["flow"]}
    if name == "w1":
        flow |= {k: plan["flow"][k] for k in ("initial_window", "rto_min")}
    if jitter:
        flow |= plan.get("jitter", {})
    made = {**plan["scenario"], "name": f"{NAMES[name]}, {peer}, {case['agent']}", "flows": [flow]}
    network = {**made["network"], "rtt": f"{case['rtt_ms']} ms"}
    if name == "w2":
        made |= plan["time"][peer]
        made["flows"] = [flow, {**flow, "start": "1 s"}]
    if name == "w4":
        made |= {"duration": plan["time"][peer], "record": plan["record"][case["loss_on"]]}
        loss = {case["loss_on"]: case["loss"]} if case["loss"] else {}
        # ACKs are lost on their way back only: a SYN has no payload either
        network |= {"loss": loss} if case["loss_on"] == "data" else {"reverse": {"loss": loss}}
    return Scenario.from_dict({**made, "network": network})


def measure(result: Result) -> dict[str, float]:
    """All that the scenarios' tables have, of one run."""
    link = result.links.row(by_predicate=pl.col("name") == "bottleneck", named=True)
    flow = result.flows.row(0, named=True)
    rates = (result.flows["goodput_bps"] / 1e6).to_list()
    measured = {
        "utilisation": link["utilisation"],
        "mean delay": flow["owd_mean_s"] * 1e3,
        "largest window": flow["cwnd_max_segments"],
        "longest queue": float(link["queue_max_packets"]),
    }
    if result.name.startswith(NAMES["w4"]):
        return {"goodput": transfer(result)}
    if len(rates) == 1:
        return {**measured, "goodput": rates[0]}
    return {**measured, "goodput, flow 1": rates[0], "goodput, flow 2": rates[1], "Jain's index": result.jain}


def transfer(result: Result) -> float:
    """Mbit/s of a transfer, its clock started by the first data: no handshake, and no lost SYN-ACK."""
    flow = result.flows.row(0, named=True)
    begin = flow["start_s"] + flow["rtt_min_s"]
    if len(result.samples):
        begin = result.samples.filter(pl.col("delivered_bytes") > 0)["time_s"].min()
    end = flow["measured_s"] if math.isnan(flow["fct_s"]) else flow["start_s"] + flow["fct_s"]
    return float(flow["delivered_bytes"] * 8e-6 / (end - begin))


def jobs(about: dict[str, Any], case: dict[str, Any], quick: bool) -> list[tuple[Scenario, int]]:
    """The undisturbed run of a case, if nothing in it is random, and those of its seeds."""
    seeds = about["runs"]["quick" if quick else "full"][case["scenario"]]
    if case["scenario"] == "w4":
        made = scenario(about, case, jitter=False)
        return [(made, seed) for seed in range(1, 1 + (seeds if case["loss"] else 1))]
    moved = scenario(about, case, jitter=True)
    return [(scenario(about, case, jitter=False), 1), *((moved, seed) for seed in range(1, 1 + seeds))]


def run(context: Context) -> Findings:
    """Everything of the study."""
    about, reference = context.about, published(context)
    cases = reference.select(CASE).unique(maintain_order=True).to_dicts()
    listed = [jobs(about, case, context.quick) for case in cases]
    found = iter(context.run(itertools.chain(*listed), measure, keep="measure"))
    runs = {key(case): [next(found) for _ in of] for case, of in zip(cases, listed, strict=True)}
    rows = judged(about, reference.to_dicts(), runs, reasons(context))
    return Findings(
        comparisons=[comparison(row) for row in rows],
        checks=checks(rows),
        figures=[two_flows(rows), *(lossy(rows, rtt, on) for rtt in (1, 20) for on in ("data", "ack"))],
        tables=[overview(rows)],
        summary=answer(rows),
        differences=differences(rows),
        method=method(about, context.quick),
    )


def key(about: dict[str, Any]) -> tuple[Any, ...]:
    """What tells cases apart."""
    return tuple(about[name] for name in CASE)


def reasons(context: Context) -> list[dict[str, Any]]:
    """Why rows differ."""
    return list(tomllib.loads((context.folder / "reasons.toml").read_text(encoding="utf-8")).get("reason", []))


def judged(
    about: dict[str, Any],
    reference: list[dict[str, Any]],
    runs: dict[tuple[Any, ...], list[dict[str, float]]],
    why: list[dict[str, Any]],
) -> list[Row]:
    """Every reference number with ours and a verdict."""
    rows = []
    for line in reference:
        of = [run[line["metric"]] for run in runs[key(line)]]
        first = of[0] if line["scenario"] != "w4" else None
        seeds = of if first is None else of[1:] or of
        law = about["agents"][line["peer"]][line["agent"]]["law"]
        row = Row(line, law, seeds, first)
        row.low, row.high = bounds(about, row, reference)
        rows.append(row)
    for row in rows:
        found = (
            ordered(row, rows) if math.isnan(row.low) else row.estimate.against(row.low, row.high, chance=row.chance)
        )
        row.verdict = {stats.AGREES: AGREES, stats.DIFFERS: UNKNOWN, stats.CANNOT_TELL: OPEN, None: NONE}[found]
        if row.verdict == UNKNOWN:
            explain(row, rows, why)
    return rows


def bounds(about: dict[str, Any], row: Row, reference: list[dict[str, Any]]) -> tuple[float, float]:
    """What agrees with a reference number by its tolerance; `nan` where order decides, or nothing does."""
    line, theirs = row.about, row.theirs
    tolerance, metric = about[line["scenario"]]["tolerance"], line["metric"]
    if line["scenario"] == "w1":
        slack = tolerance[metric] * (theirs if metric == "mean delay" else 1)
    elif line["scenario"] == "w4":
        if line["loss_on"] == "ack":
            slack = tolerance["goodput"][0]["share"] * theirs
        else:
            slack = next((t["share"] * theirs for t in tolerance["goodput"] if line["loss"] <= t["loss"]), math.nan)
    elif metric == "utilisation":
        slack = tolerance[metric][str(line["rtt_ms"])]
    elif line["rtt_ms"] > 42:
        slack = math.nan
    elif metric == "Jain's index":
        return jain_within(flows_of(line, reference), tolerance["goodput"])
    else:
        slack = tolerance["goodput"] * theirs
    return theirs - slack, theirs + slack


def flows_of(line: dict[str, Any], reference: list[dict[str, Any]]) -> tuple[float, float]:
    """Both flows' goodputs of a reference run."""
    one, two = (r["value"] for r in reference if key(r) == key(line) and r["metric"].startswith("goodput, flow"))
    return one, two


def jain(a: float, b: float) -> float:
    """Jain's index of two."""
    return (a + b) ** 2 / (2 * (a * a + b * b))


def jain_within(flows: tuple[float, float], share: float) -> tuple[float, float]:
    """The indices that two rates can have, each within a share of its value."""
    (a, b), low, high = flows, 1 - share, 1 + share
    ends = [jain(a * x, b * y) for x, y in itertools.product((low, high), repeat=2)]
    equal = max(a, b) * low <= min(a, b) * high
    return min(ends), 1.0 if equal else max(ends)


def ordered(row: Row, rows: list[Row]) -> str | None:
    """Whether an order is theirs; `None` where there is none.

    W2: the same flow is ahead; where theirs are equal within 1 %, ours are within 15 %. W4: against each other agent of
    the peer whose goodput differs by a tenth or more.
    """
    line, metric = row.about, row.about["metric"]
    if line["scenario"] == "w2":
        if not metric.startswith("goodput"):
            return None
        one, two = (r for r in rows if key(r.about) == key(line) and r.about["metric"].startswith("goodput, flow"))
        theirs, ours = one.theirs / two.theirs, stats.paired(one.values, two.values).ratio
        if abs(theirs - 1) < 0.01:
            return ours.against(1 / 1.15, 1.15, chance=row.chance)
        return ours.above(1, chance=row.chance) if theirs > 1 else ours.below(1, chance=row.chance)
    others = [
        r
        for r in rows
        if all(r.about[c] == line[c] for c in CASE if c != "agent") and abs(math.log(r.theirs / row.theirs)) > ORDERED
    ]
    gaps = [(r.theirs > row.theirs, stats.paired(r.values, row.values).difference) for r in others]
    found = [(gap.above if more else gap.below)(0, chance=row.chance) for more, gap in gaps]
    return stats.all_of(found) if found else None


def explain(row: Row, rows: list[Row], why: list[dict[str, Any]]) -> None:
    """The kind of a difference, and a sentence: written down, or that the peers differ and we are at or between them."""
    for reason in why:
        if all(matches(row.about, name, wanted) for name, wanted in reason.items() if name not in ("kind", "text")):
            row.verdict, row.why = KINDS[reason["kind"]], reason["text"]
            return
    line = row.about
    same = ("scenario", "rtt_ms", "loss_on", "loss", "metric")
    others = [
        r for r in rows if r.law == row.law and r is not row and all(r.about[name] == line[name] for name in same)
    ]  # fmt: skip
    apart = [r for r in others if not row.low <= r.theirs <= row.high] if not math.isnan(row.low) else []
    if not apart:
        return
    low, high = min([row.low, *(r.low for r in apart)]), max([row.high, *(r.high for r in apart)])
    if low <= row.ours <= high:
        row.verdict = PEERS
        row.why = "; ".join(f"{r.about['peer']} {r.about['agent']} has {r.theirs:.4g}" for r in apart)


def matches(about: dict[str, Any], name: str, wanted: Any) -> bool:
    """Whether a row has the value, or one of the values, that an entry asks for."""
    return about[name] in wanted if isinstance(wanted, list) else bool(about[name] == wanted)


def comparison(row: Row) -> Comparison:
    """A row of comparison.csv."""
    ours = row.estimate
    low, high = (None, None) if math.isnan(ours.low) else (ours.low, ours.high)
    verdict = {AGREES: stats.AGREES, NONE: stats.NOT_TESTED, OPEN: stats.CANNOT_TELL}.get(row.verdict, stats.DIFFERS)
    parts = [row.verdict + (f": {row.why}" if row.why else "")] if verdict == stats.DIFFERS else []
    if row.undisturbed is not None and len(row.values) > 1:
        parts.append(f"without jitter {row.undisturbed:.4g}")
    tolerance = f"{row.low:.4g} to {row.high:.4g}"
    if verdict == stats.NOT_TESTED:
        parts.append("no tolerance: sawteeth of minutes" if row.about["scenario"] == "w2" else "no order among theirs")
        tolerance = ""
    elif math.isnan(row.low):
        tolerance = "the order"
    elif row.low == row.high:
        tolerance = "exactly"
    line = row.about
    source = "kernel" if line["peer"].startswith("Linux") else "simulator"
    return Comparison(
        row.item, line["metric"], line["unit"], source, row.theirs, tolerance, ours.value, low, high, ours.n, 0, verdict,
        "; ".join(parts),
    )  # fmt: skip


def checks(rows: list[Row]) -> list[Check]:
    """For each scenario and peer: whether every number agrees or has its reason."""
    made = []
    for (name, peer), of in groups(rows).items():
        count = Counter(row.verdict for row in of)
        found = [
            stats.DIFFERS if row.verdict == UNKNOWN else stats.CANNOT_TELL if row.verdict == OPEN else stats.AGREES
            for row in of
            if row.verdict != NONE
        ]
        told = ", ".join(f"{n} {verdict}" for verdict, n in count.most_common())
        claim = f"{NAMES[name]}, {peer}: every number agrees, or why it does not is known"
        made.append(judged_claim(claim, found, told))
    return made


def groups(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows by scenario and peer."""
    made: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        made.setdefault((row.about["scenario"], row.about["peer"]), []).append(row)
    return made


def overview(rows: list[Row]) -> Table:
    """Verdicts by scenario and peer."""
    verdicts = [AGREES, PEERS, SPECIFICATION, BOTH, SETUP, OPEN, UNKNOWN, NONE]
    frame = pl.DataFrame(
        [
            {"scenario": NAMES[name], "peer": peer, "numbers": len(of)}
            | {v: sum(row.verdict == v for row in of) for v in verdicts}
            for (name, peer), of in groups(rows).items()
        ]
    )
    data = pl.DataFrame(
        [
            {c: row.about[c] for c in (*CASE, "metric", "unit")}
            | {"theirs": row.theirs, "ours": row.ours, "without_jitter": row.undisturbed, "n": len(row.values)}
            | {"verdict": row.verdict, "why": row.why}
            for row in rows
        ],
        infer_schema_length=None,
    )
    caption = "One number of a peer each; verdicts by the intervals over our seeds. The download has every row with its reason."
    return Table("verdicts", "Verdicts", caption, frame, data)


def two_flows(rows: list[Row]) -> Figure:
    """W2: ours over theirs, flow by flow."""
    of = [row for row in rows if row.about["scenario"] == "w2" and row.about["metric"].startswith("goodput, flow")]
    with styled():
        chart = Chart(7.4, 4.2)
        axes = chart.subplots()
        line = [0.0, 250.0]
        axes.plot(line, line, color="#888888", linewidth=0.8, label="as there")
        axes.fill_between(
            line, [0.85 * x for x in line], [1.15 * x for x in line], color="#e3e6e9", linewidth=0, label="±15 %"
        )
        for index, (peer, rtt) in enumerate((("ns-2.35", 42), ("ns-2.35", 162), ("ns-3.48", 42))):
            part = [row for row in of if (row.about["peer"], row.about["rtt_ms"]) == (peer, rtt)]
            spread = [row.estimate for row in part]
            half = [0.0 if math.isnan(s.low) else (s.high - s.low) / 2 for s in spread]
            marks = {"color": look(index)["color"], "marker": "osD"[index], "markersize": 4, "linestyle": "none"}
            axes.errorbar([row.theirs for row in part], [row.ours for row in part], half, capsize=2, elinewidth=0.8,
                          label=f"{peer}, {rtt} ms", **marks)  # fmt: skip
        axes.set_xlabel("Goodput of a flow there (Mbit/s)")
        axes.set_ylabel("Goodput here (Mbit/s)")
        axes.set_xlim(0)
        axes.set_ylim(0)
        chart.legend_below()
    n = max(len(row.values) for row in of)
    return Figure(
        "two-flows",
        "W2: two flows of one law",
        f"A point for each flow; mean of n = {n} seeds with Student's 95 % interval; the band is ±15 %, which decides at 42 ms.",
        chart,
        points(of),
    )


def lossy(rows: list[Row], rtt: int, on: str) -> Figure:
    """W4: goodput over loss, theirs as lines, ours as marks."""
    laws = {"sack": "Reno", "cubic": "CUBIC", "htcp": "H-TCP", "bbr": "BBR"}
    of = [
        row
        for row in rows
        if (row.about["scenario"], row.about["rtt_ms"], row.about["loss_on"]) == ("w4", rtt, on) and row.law in laws
    ]
    newreno = any(row.about["agent"] == "TcpNewReno" for row in of)
    with styled():
        chart = Chart(7.4, 3.8)
        panels = chart.subplots(1, len(laws), sharey=True)
        for axes, (law, title) in zip(panels, laws.items(), strict=True):
            for index, peer in enumerate(("Linux 6.18", "ns-2.35", "ns-3.48")):
                agents = {row.about["agent"] for row in of if row.law == law and row.about["peer"] == peer}
                for agent in sorted(agents):
                    part = [row for row in of if (row.about["peer"], row.about["agent"]) == (peer, agent)]
                    loss = [row.about["loss"] * 100 for row in part]
                    dash = DASHED if agent == "TcpNewReno" else "-"
                    axes.plot(
                        loss, [row.theirs for row in part], color=look(index)["color"], linewidth=1, linestyle=dash
                    )
                    axes.plot(loss, [row.ours for row in part], color=look(index)["color"], marker="osD"[index],
                              markersize=3.5, linestyle="none", label=f"here, as {peer}" if law == "cubic" else "_")  # fmt: skip
            axes.set_title(title, color="#555555")
            axes.set_xlabel("Loss (%)")
        panels[0].set_ylabel("Goodput (Mbit/s)")
        panels[0].set_ylim(0)
        chart.legend_below(key={"the peer itself": "-"} | ({"ns-3's TcpNewReno": DASHED} if newreno else {}))
    what = "data" if on == "data" else "ACKs"
    return Figure(
        f"loss-on-{on}-{rtt}-ms",
        f"W4: loss on {what}, RTT {rtt} ms",
        "Lines: the peers (ns-3's TcpNewReno dashed). Marks of the same colour: ours, set up as that peer; means of "
        f"n = {max(len(row.values) for row in of)} seeds.",
        chart,
        points(of),
    )


def points(rows: list[Row]) -> pl.DataFrame:
    """The numbers of a figure."""
    spread = [row.estimate for row in rows]
    return pl.DataFrame(
        [
            {c: row.about[c] for c in (*CASE, "metric")}
            | {"theirs": row.theirs, "ours": row.ours, "low": s.low, "high": s.high, "n": s.n, "verdict": row.verdict}
            for row, s in zip(rows, spread, strict=True)
        ],
        infer_schema_length=None,
    )


def answer(rows: list[Row]) -> str:
    """The answer to the question, in a paragraph."""
    count = Counter(row.verdict for row in rows)
    judged_rows = len(rows) - count[NONE]
    return (
        f"Of {judged_rows} numbers of ns-2.35, ns-3.48 and Linux 6.18 that have a tolerance, {count[AGREES]} agree. "
        f"{count[PEERS]} differ where the peers differ among themselves and ours lies at one of them or between, "
        f"{count[SPECIFICATION]} because we follow the specification and the peer does not, {count[BOTH]} because the specification leaves room for both, {count[SETUP]} because the two runs are not of "
        f"the same thing. Of {count[OPEN]} these runs cannot tell: our interval reaches over the tolerance. {count[UNKNOWN]} differ and we do not know why."
    )


def differences(rows: list[Row]) -> list[str]:
    """Each reason with the rows that it stands for, then those without one."""
    by_reason: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.verdict in (SPECIFICATION, BOTH, SETUP):
            by_reason.setdefault((row.verdict, row.why), []).append(row)
    made = [f"{verdict} ({len(of)}): {why} {listing(of)}" for (verdict, why), of in by_reason.items()]
    unknown = [row for row in rows if row.verdict == UNKNOWN]
    return [*made, *([f"{UNKNOWN} ({len(unknown)}): {listing(unknown)}"] if unknown else [])]


def listing(rows: list[Row]) -> str:
    """Ours and theirs, row by row."""
    return (
        "; ".join(f"{row.item}, {row.about['metric']}: {row.ours:.4g}, theirs {row.theirs:.4g}" for row in rows) + "."
    )


def method(about: dict[str, Any], quick: bool) -> list[str]:
    """How it was measured."""
    seeds = about["runs"]["quick" if quick else "full"]
    return [
        f"W1 and W2 have nothing random: {seeds['w1']} and {seeds['w2']} seeds move starts and sendings by less than a packet's or a round "
        "trip's time, and their mean with its interval is judged, because one run of two flows in step is luck; the run without jitter is in the note. "
        f"W4 is judged by {seeds['w4']} seeds. Intervals are Student's, 95 %; order is judged seed by seed.",
        "Tolerances, from the description of the reference runs. W1: utilisation half a point, delay 3 %, largest window one packet; the "
        "longest queue exactly, goodput half a percent of the link (no tolerance is given for these two). W2 at 42 ms: utilisation two points, "
        "each flow 15 %, and Jain's index what such flows can have; at 162 ms three points and which flow is ahead. W4: 10 % up to a loss of "
        "3 %, 20 % up to 5 %, beyond that the order of the peer's agents that are a tenth apart; lost ACKs 10 % (none is given).",
        "Peers disagree: another peer of the same law is outside this one's tolerance, and ours is within the tolerance of one of them or "
        "between them. A reason from reasons.toml comes first.",
    ]
