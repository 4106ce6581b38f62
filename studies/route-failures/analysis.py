"""TCP over routes that fail: random waypoint, breaks made on purpose, and runs that say why a claim does not hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cclab import Scenario, stats
from cclab.analysis.plots import Chart, look, styled
from cclab.published import Check, Context, Figure, Findings, Table, judged
from cclab.results import Result

BASE = "NewReno"
RANGE_M = 250.0
MSS = 1460
STALL_S = 1.0  # a stall: so long nothing new arrives in order
STEP_S = 0.1  # of the samples, and of the shortest paths
SAME = 0.05  # goodputs are as good as equal within this: the tolerance of the verdicts
CWL_GAIN = (0.08, 0.16)


@dataclass(frozen=True)
class Cell:
    """One set-up, run with several seeds. `x` is the mean speed, the length of the break, or the hops."""

    part: str
    routing: str
    protocol: str
    x: float
    detour: bool = False


def run(context: Context) -> Findings:
    """Everything of the study."""
    about = context.about
    cells = list(design(about, context.quick, context.parts))
    seeds = range(1, 1 + about["replications"]["quick" if context.quick else "full"])
    jobs = [(scenario(about, cell), seed) for cell in cells for seed in seeds]
    reduced = context.run(jobs, summary, keep="route-failures/1")
    rows = [
        {**asdict(cell), "seed": seed, **row}
        for (cell, seed), row in zip(itertools.product(cells, seeds), reduced, strict=True)
    ]
    chains = [sum(r["goodput_kbps"] for r in rows if r["part"] == "chain" and r["x"] == h) / len(seeds)
              for h in range(1, about["chain"]["hops"] + 1)]  # fmt: skip
    ways = {
        (x, seed): shortest(scenario(about, Cell("waypoint", "dsr", BASE, x)), seed)
        for x in {cell.x for cell in cells if cell.part in ("waypoint", "reasons")}
        for seed in seeds
    }
    for row in rows:
        row.update(derived(row, ways.get((row["x"], row["seed"])), chains, about))
    runs = pl.DataFrame(rows, infer_schema_length=None).drop("pauses").with_columns(pl.col("x").cast(pl.Float64))
    return Findings(
        comparisons=[],
        checks=checks(runs, context.folder),
        figures=figures(runs),
        tables=tables(runs, about),
        summary=answer(runs),
        differences=differences(),
        method=method(len(seeds), runs.height),
    )


# --- What is run -----------------------------------------------------------------------------------------------------


def design(about: dict[str, Any], quick: bool, parts: Iterable[str]) -> Iterable[Cell]:
    """The chains first, whose throughputs the others need."""
    size, parts = "quick" if quick else "full", list(parts)
    for hops in range(1, about["chain"]["hops"] + 1):
        yield Cell("chain", "static", BASE, hops)
    over = [(routing, protocol) for routing, of in about["routing"].items() for protocol in of]
    if "waypoint" in parts:
        for x, (routing, protocol) in itertools.product(about["waypoint"]["speeds"][size], over):
            yield Cell("waypoint", routing, protocol, x)
    if "breaks" in parts:
        for detour, x, (routing, protocol) in itertools.product((False, True), about["breaks"]["lengths"][size], over):
            yield Cell("breaks", routing, protocol, x, detour)
    if "reasons" in parts:
        for x, (routing, protocol) in itertools.product(about["breaks"]["lengths"][size], over):
            yield Cell("calm", routing, protocol, x)
        plain = ["NewReno", "TCP-F", "ELFN", "ATCP", "CWL"]
        for x, protocol in itertools.product(about["reasons"]["speeds"], [*plain, *about["reasons"]["variants"]]):
            yield Cell("reasons", "dsr", protocol, x)


def scenario(about: dict[str, Any], cell: Cell) -> Scenario:
    """A set-up as a scenario. Stations move by the seed alone: under every protocol alike."""
    variant = dict(about["reasons"]["variants"].get(cell.protocol, {}))
    routing = variant.pop("routing", cell.routing)
    protocol = about["protocols"][variant.pop("base", cell.protocol)]
    wireless: dict[str, Any] = {**about["radio"], "routing": routing}
    flow: dict[str, Any] = {**about["flow"], **protocol, **variant, "label": "tcp"}
    network: dict[str, Any]
    if cell.part == "chain":
        of = about["chain"]
        network = {"topology": "chain", "hops": int(cell.x), "wireless": {**wireless, "spacing": of["spacing"]}}
    elif cell.part in ("breaks", "calm"):
        of = about["breaks"]
        places = of["places"] + (of["detour"] if cell.detour else [])
        gone, at = of["gone"], of["at"]
        moves = [
            {"node": gone, "at": f"{at} s", "to": ["0 m", "9000 m"]},
            {"node": gone, "at": f"{at + cell.x} s", "to": [f"{c} m" for c in places[gone]]},
        ]
        network = {
            "topology": "custom",
            "places": [[f"{c} m" for c in place] for place in places],
            "wireless": {**wireless, "mobility": {"model": "moves", "moves": moves}},
        }
        flow |= {"from": 0, "to": len(of["places"]) - 1, "start_jitter": "1 s"}
        if cell.part == "calm":
            flow["receive_buffer"] = f"{2 * MSS} B"
    else:
        of = about["waypoint"]
        speed = [f"{share * cell.x:g} m/s" for share in (0.9, 1.1)]
        network = {
            "topology": "random",
            "nodes": of["nodes"],
            "area": of["area"],
            "wireless": {**wireless, "mobility": {"model": "waypoint", "speed": speed}},
        }
        flow |= {"from": 0, "to": 1}
    return Scenario.from_dict(
        {
            "name": f"{cell.part}, {cell.routing}, {cell.protocol}, {cell.x:g}{', another way' * cell.detour}",
            "duration": of["duration"],
            "warmup": of.get("warmup", "0 s"),
            "network": network,
            "flows": [flow],
            "record": {"samples": f"{STEP_S} s"},
        }
    )


def summary(result: Result) -> dict[str, Any]:
    """What the analysis needs of a run; `pauses` are the times in which nothing new arrived, longer than two samples."""
    flow = result.flows.row(0, named=True)
    samples = result.samples.select("time_s", "delivered_bytes").sort("time_s")
    time, delivered = samples["time_s"].to_numpy(), samples["delivered_bytes"].to_numpy()
    new = np.concatenate([[0.0], time[1:][np.diff(delivered) > 0], [time[-1]]])
    pauses = [(float(a), float(b)) for a, b in itertools.pairwise(new) if b - a > 2.5 * STEP_S]
    return {
        "goodput_kbps": flow["goodput_bps"] / 1e3,
        "timeouts": flow["timeouts"],
        "again": flow["segments_retransmitted"],
        "again_share": flow["segments_retransmitted"] / max(1, flow["segments_sent"]),
        "cwnd": flow["cwnd_mean_segments"],
        "pauses": pauses,
    }


def shortest(of: Scenario, seed: int) -> NDArray[np.int64]:
    """Hops of the shortest path from station 0 to station 1, step by step; 0 where there is none."""
    resolved = of.resolved(seed=seed)
    times = np.arange(0, resolved["duration_s"], STEP_S) + STEP_S / 2
    places = np.stack([way(s["motion"]["legs"], times) for s in resolved["media"][0]["stations"]], axis=1)
    apart = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)
    near = apart <= RANGE_M
    reached = np.zeros(near.shape[:2], dtype=bool)
    reached[:, 0] = True
    hops = np.zeros(len(times), dtype=np.int64)
    for h in range(1, near.shape[1]):
        reached = (near & reached[:, :, None]).any(axis=1)
        hops[(hops == 0) & reached[:, 1]] = h
    return hops


def way(legs: Sequence[dict[str, Any]], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a station is at these times: it stands between two legs."""
    corners = [(leg[f"{end}_s"], leg[f"{side}_m"]) for leg in legs for end, side in (("start", "from"), ("end", "to"))]
    when, where = np.array([c[0] for c in corners], dtype=float), np.array([c[1] for c in corners])
    return np.stack([np.interp(times, when, where[:, i]) for i in (0, 1)], axis=1)


def derived(
    row: dict[str, Any], hops: NDArray[np.int64] | None, chains: Sequence[float], about: dict[str, Any]
) -> dict[str, float | None]:
    """What follows from a run and the network that it had."""
    stalls = [(a, b) for a, b in row["pauses"] if b - a >= STALL_S]
    more: dict[str, float | None] = {"stalls": len(stalls), "stalled_s": sum(b - a for a, b in stalls)}
    more |= dict.fromkeys(("expected_kbps", "expected_share", "connected", "idle_s", "resumed_s", "outage_s", "hops"))
    if hops is not None:
        carried = np.array([0.0, *chains])[np.minimum(hops, len(chains))]
        there = hops > 0
        idle = sum(there[round(a / STEP_S) : round(b / STEP_S)].sum() * STEP_S for a, b in stalls)
        more |= {
            "expected_kbps": float(carried.mean()),
            "expected_share": row["goodput_kbps"] / float(carried.mean()) if carried.any() else None,
            "connected": float(there.mean()),
            "hops": float(hops[there].mean()) if there.any() else None,
            "idle_s": float(idle),
        }
    if row["part"] in ("breaks", "calm"):
        start = float(about["breaks"]["at"])
        end = start + row["x"]
        during = [(a, b) for a, b in row["pauses"] if a <= end + STEP_S and b > start]
        more["outage_s"] = max([0.0, *(b - a for a, b in during)])
        last = max([0.0, *(b for _, b in during)])
        over = float(about["breaks"]["duration"].removesuffix(" s")) - STEP_S / 2
        more["resumed_s"] = max(0.0, last - end) if last < over else math.nan  # nothing came any more
    return more


# --- Claims ----------------------------------------------------------------------------------------------------------


def values(runs: pl.DataFrame, value: str, **where: Any) -> list[float]:
    """A figure, one for each seed."""
    return [float(v) for v in runs.filter(**where).sort("seed")[value]]


def pair(runs: pl.DataFrame, value: str, a: str, b: str, **where: Any) -> stats.Paired:
    """Two protocols with the same movements."""
    return stats.paired(values(runs, value, protocol=a, **where), values(runs, value, protocol=b, **where))


def gain(runs: pl.DataFrame, a: str, b: str = BASE, value: str = "goodput_kbps", **where: Any) -> stats.Estimate:
    """What one protocol has more than another with the same movement: mean difference over the other's mean, paired by seeds."""
    of = pair(runs, value, a, b, **where)
    d, base = of.difference, of.b.value
    return stats.Estimate(d.value / base, d.low / base, d.high / base, d.n, d.level)


def percent(of: stats.Estimate) -> str:
    return f"{of.value:+.0%} [{of.low:+.0%}, {of.high:+.0%}]"


def again(resumed_s: list[float]) -> str:
    """When data flow again, on the average of the runs in which they do."""
    of = stats.mean(resumed_s)
    return f"{of.value:.3g} s" + f" (never in {of.missing} of {len(resumed_s)} runs)" * (of.missing > 0)


def points(runs: pl.DataFrame) -> list[float]:
    return [float(x) for x in runs["x"].unique().sort()]


def over(gains: dict[float, stats.Estimate], unit: str) -> str:
    return "; ".join(f"{x:g} {unit} {percent(of)}" for x, of in gains.items())


def speeds(runs: pl.DataFrame, a: str, b: str, routing: str, least: float = 0.0) -> dict[float, stats.Estimate]:
    of = runs.filter(pl.col("x") >= least, part="waypoint", routing=routing)
    return {x: gain(of, a, b, x=x) for x in points(of)}


def elfn_faster(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    gains = speeds(runs, "ELFN", BASE, "dsr", 10)
    others = {r: speeds(runs, "ELFN", BASE, r, 10) for r in ("aodv", "abr")}
    return [g.above(0) for g in gains.values()], f"Over DSR: {over(gains, 'm/s')}. " + " ".join(
        f"Over {r.upper()}: {over(of, 'm/s')}." for r, of in others.items()
    )


def elfn_probe(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    of = runs.filter(part="reasons")
    names = ["ELFN, probes every 6 s", "ELFN, probes every 30 s"]
    gains = {name: {x: gain(of, name, "ELFN", x=x) for x in points(of)} for name in names}
    told = " ".join(f"{name}, against 2 s: {over(g, 'm/s')}." for name, g in gains.items())
    return [g.below(0) for g in gains[names[1]].values()], f"{told} Judged by 30 s."


def in_breaks(runs: pl.DataFrame, protocol: str, value: str, *, detour: bool, routings: Sequence[str]) -> str:
    of = runs.filter(pl.col("routing").is_in(routings), part="breaks", detour=detour, protocol=protocol)
    return "; ".join(f"{x:g} s {np.mean(of.filter(x=x)[value].to_numpy()):.2g}" for x in points(of))


def tcpf_no_timeout(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    told, clean = [], []
    for routing in ("dsr", "aodv", "abr"):
        of = runs.filter(part="breaks", detour=False, routing=routing)
        for x in points(of):
            a, b = (values(of, "timeouts", protocol=p, x=x) for p in ("TCP-F", BASE))
            clean.append(stats.every(x == 0 for x in a))
            told.append(f"{routing.upper()} {x:g} s {np.mean(a):.2g} (NewReno {np.mean(b):.2g})")
    return clean, f"For it is a set-up without a timeout in any run. Timeouts a run: {'; '.join(told)}."


def tcpf_grows(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    told, slopes = [], []
    for routing in ("dsr", "aodv", "abr"):
        of = runs.filter(part="breaks", detour=False, routing=routing)
        lengths = np.array(points(of))
        diffs = np.array([np.subtract(*(values(of, "goodput_kbps", protocol=p, x=x) for p in ("TCP-F", BASE)))
                          for x in lengths])  # fmt: skip
        # Slope of the difference over the length, one for each seed.
        centred = lengths - lengths.mean()
        slope = stats.mean(list(centred @ diffs / (centred @ centred)))
        slopes.append(slope)
        told.append(f"{routing.upper()}: {slope.value:.2g} [{slope.low:.2g}, {slope.high:.2g}] kbit/s for each second; differences "
                    + ", ".join(f"{x:g} s {d.mean():+.3g}" for x, d in zip(lengths, diffs, strict=True)))  # fmt: skip
    return [slope.above(0) for slope in slopes], ". ".join(told) + " (kbit/s, from second 15 to 80)."


def tcpf_detour(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    told, short = [], []
    for routing in ("dsr", "aodv", "abr"):
        of = runs.filter(part="breaks", detour=True, routing=routing)
        longest = max(points(of))
        outage = stats.mean(values(of, "outage_s", protocol="TCP-F", x=longest))
        other = stats.mean(values(of, "outage_s", protocol=BASE, x=longest))
        short.append(outage.below(longest / 2))
        told.append(
            f"{routing.upper()} {outage.value:.2g} s [{outage.low:.2g}, {outage.high:.2g}] (NewReno {other.value:.2g} s)"
        )
    return (
        short,
        f"Longest time without data around a break of {longest:g} s: {'; '.join(told)}. For it is less than half of the break.",
    )


def atcp_no_backoff(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    told, good = [], []
    for routing in ("dsr", "aodv"):
        of = runs.filter(pl.col("x").is_in([5.0, 20.0]), part="breaks", detour=False, routing=routing)
        for x in points(of):
            # Probes leave 5, 15 and 35 s after the notice: the one in whose interval the break ends.
            wait = next(p for p in (5, 15, 35) if p > x) - x
            late = values(of, "resumed_s", protocol="ATCP", x=x)
            timeouts = values(of, "timeouts", protocol="ATCP", x=x)
            good.append(stats.every(t == 0 and x <= wait + 1 for t, x in zip(timeouts, late, strict=True)))
            base = values(of, "resumed_s", protocol=BASE, x=x)
            told.append(f"{routing.upper()} {x:g} s: {np.mean(timeouts):.2g} timeouts a run, data {again(late)} after the end "
                        f"(at most {np.nanmax([0.0, *late]):.3g}; NewReno {again(base)})")  # fmt: skip
    return good, f"For it is a set-up in which every run is so. {'; '.join(told)}."


def bus_faster(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    first, second = speeds(runs, "BuS", "TCP-F", "abr"), speeds(runs, "TCP-F", BASE, "abr")
    found = [g.against(-SAME, np.inf) for g in (*first.values(), *second.values())]
    told = f"BuS against TCP-F: {over(first, 'm/s')}. TCP-F against NewReno: {over(second, 'm/s')}."
    return found, f"{told} At least is: not more than {SAME:.0%} below."


def bus_selective(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    of = runs.filter(part="breaks", routing="abr", detour=False)
    told, clean, less = [], [], []
    for x in points(of):
        timeouts = values(of, "timeouts", protocol="BuS", x=x)
        again = pair(of, "again", "BuS", "TCP-F", x=x)
        clean.append(stats.every(t == 0 for t in timeouts))
        less.append(again.difference.below(0))
        told.append(
            f"{x:g} s {np.mean(timeouts):.2g} timeouts, {again.a.value:.3g} segments again (TCP-F {again.b.value:.3g})"
        )
    return [*clean, *less], "A run over ABR: " + "; ".join(told) + "."


def cwl_gain(runs: pl.DataFrame) -> tuple[Sequence[str], str]:
    gains = {r: speeds(runs, "CWL", BASE, r) for r in ("dsr", "aodv")}
    told = " ".join(f"Window 8, {r.upper()}: {over(of, 'm/s')}." for r, of in gains.items())
    found = [g.against(*CWL_GAIN) for of in gains.values() for g in of.values()]
    of = runs.filter(part="reasons")
    if of.height:
        wide = {x: gain(of, "CWL, window 32", "NewReno, window 32", x=x) for x in points(of)}
        told += f" Window 32, DSR: {over(wide, 'm/s')}."
    return found, f"{told} For it is an interval within 8 to 16 %, at window 8."


CLAIMS = {
    "elfn-faster": ("waypoint", elfn_faster),
    "elfn-probe": ("reasons", elfn_probe),
    "tcpf-no-timeout": ("breaks", tcpf_no_timeout),
    "tcpf-grows": ("breaks", tcpf_grows),
    "tcpf-detour": ("breaks", tcpf_detour),
    "atcp-no-backoff": ("breaks", atcp_no_backoff),
    "bus-faster": ("waypoint", bus_faster),
    "bus-selective": ("breaks", bus_selective),
    "cwl-gain": ("waypoint", cwl_gain),
}


def checks(runs: pl.DataFrame, folder: Any) -> list[Check]:
    """Each claim with a verdict and the figures behind it."""
    made, n = [], runs["seed"].n_unique()
    for row in pl.read_csv(folder / "claims.csv").to_dicts():
        part, judge = CLAIMS[row["claim"]]
        text = f"{row['source']}: {row['protocol']}: {row['text']}"
        if not runs.filter(part=part).height:
            made.append(judged(text, [], "This part was not run."))
            continue
        found, evidence = judge(runs)
        calm = runs.filter(part="calm").with_columns(part=pl.lit("breaks"))
        if part == "breaks" and row["claim"] != "tcpf-detour" and calm.height:
            again, figures = judge(calm)
            evidence += f" With a window of two, where contention is seldom taken for a break, the claim would be: {stats.claim(again)}. {figures}"
        made.append(
            judged(
                text,
                found,
                f"{evidence} Means of n = {n} runs; [from, to] is a 95 % interval; differences are paired by seed.",
            )
        )
    return made


# --- The page --------------------------------------------------------------------------------------------------------

ORDER = ("NewReno", "TCP-F", "ELFN", "ATCP", "BuS", "CWL")
VIEWS = (
    ("waypoint", "goodput_kbps", "Goodput among moving stations", "Goodput (kbit/s)"),
    ("waypoint", "expected_share", "Goodput over the expected throughput", "Goodput / expected throughput"),
    ("waypoint", "timeouts", "Timeouts among moving stations", "Timeouts a run"),
    ("waypoint", "idle_s", "Stalled though there was a path", "Time (s)"),
    ("breaks", "resumed_s", "Until data flow again after a break", "After its end (s)"),
    ("breaks", "goodput_kbps", "Goodput around a break", "Goodput (kbit/s)"),
    ("calm", "resumed_s", "Window of two: until data flow again after a break", "After its end (s)"),
    ("detour", "outage_s", "Without data where there is another way", "Longest time without data (s)"),
)
X = {
    "waypoint": "Mean speed (m/s)",
    "calm": "Length of the break (s)",
    "breaks": "Length of the break (s)",
    "detour": "Length of the break (s)",
}


HEADS = {"waypoint": "Mobile", "breaks": "Breaks", "calm": "Breaks, window of two"}


def part_of(runs: pl.DataFrame, part: str) -> pl.DataFrame:
    return runs.filter(part="breaks", detour=True) if part == "detour" else runs.filter(part=part, detour=False)


def figures(runs: pl.DataFrame) -> list[Figure]:
    made, n = [], runs["seed"].n_unique()
    for part, value, title, label in VIEWS:
        of = part_of(runs, part)
        if not of.height:
            continue
        data = stats.summarise(of, value, by=["routing", "protocol", "x"], bounds=(0.0, np.inf))
        caption = f"Mean of {n} runs and 95 % interval (Student's t); every protocol sees the same movements."
        made.append(Figure(f"{part}-{value.replace('_', '-')}", title, caption, drawn(data, X[part], label), data))
    return made


def drawn(data: pl.DataFrame, across: str, label: str) -> Chart:
    """A panel for each routing, a line for each protocol."""
    routings = data["routing"].unique(maintain_order=True).to_list()
    with styled():
        chart = Chart(9.0, 3.6)
        panels = chart.subplots(1, len(routings), sharey=True, squeeze=False)[0]
        for axes, routing in zip(panels, routings, strict=True):
            of = data.filter(routing=routing)
            for i, protocol in enumerate(ORDER):
                line = of.filter(protocol=protocol).sort("x")
                if not line.height:
                    continue
                mean = line["mean"].to_numpy()
                bars = np.nan_to_num(np.array([mean - line["low"].to_numpy(), line["high"].to_numpy() - mean]))
                axes.errorbar(line["x"].to_numpy(), mean, bars, capsize=2, elinewidth=0.8, marker="o", markersize=3,
                              label=protocol, **look(i))  # fmt: skip
            axes.set_title(routing.upper())
            axes.set_xlabel(across)
            axes.set_ylim(bottom=0)
        panels[0].set_ylabel(label)
        seen: dict[str, Any] = {}
        for axes in panels:
            seen |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        chart.legend([seen[p] for p in ORDER if p in seen], [p for p in ORDER if p in seen],
                     loc="outside lower center", ncols=6)  # fmt: skip
    return chart


def tables(runs: pl.DataFrame, about: dict[str, Any]) -> list[Table]:
    n = runs["seed"].n_unique()
    caption = f"Mean of {n} runs ± half of the 95 % interval (Student's t)."
    chain = stats.summarise(runs.filter(part="chain"), "goodput_kbps", by=["x"], bounds=(0.0, np.inf))
    made = [Table("chains", "What static chains carry (kbit/s)", f"NewReno, static routes. {caption}",
                  pl.DataFrame({"Hops": [f"{x:g}" for x in chain["x"]], "T (kbit/s)": [told(r) for r in chain.to_dicts()]}),
                  chain)]  # fmt: skip
    for part, value, title, label in VIEWS:
        of = part_of(runs, part)
        if of.height:
            made.append(wide(of, f"table-{part}-{value.replace('_', '-')}", f"{title}: {label}", caption, value))
    for part in ("waypoint", "breaks", "calm"):
        of = part_of(runs, part)
        if of.height:
            made.append(gains(of, part, n))
            made.append(
                wide(
                    of,
                    f"table-{part}-again",
                    f"{HEADS[part]}: segments sent again a run",
                    caption,
                    "again",
                )
            )
    of = runs.filter(part="waypoint", protocol=BASE, routing="dsr")
    if of.height:
        of = of.with_columns(pl.col("connected") * 100)
        columns = {"connected": "With a path (%)", "hops": "Hops of the shortest", "expected_kbps": "Expected (kbit/s)"}
        frame = {"Speed": [f"{x:g} m/s" for x in points(of)]}
        frame |= {
            name: [told(r) for r in stats.summarise(of, c, by=["x"], bounds=(0.0, np.inf)).sort("x").to_dicts()]
            for c, name in columns.items()
        }
        made.append(Table("paths", "What the movements allow", caption, pl.DataFrame(frame)))
    if runs.filter(part="reasons").height:
        made.append(reasons(runs.filter(part="reasons"), about, n))
    return made


def told(row: dict[str, Any]) -> str:
    """A row of a summary as text."""
    return stats.Estimate(row["mean"], row["low"], row["high"], row["n"]).brief()


def wide(of: pl.DataFrame, name: str, title: str, caption: str, value: str) -> Table:
    """A row for each routing and protocol, a column for each speed or length."""
    data = stats.summarise(of, value, by=["routing", "protocol", "x"], bounds=(0.0, np.inf))
    unit = "m/s" if of["part"][0] == "waypoint" else "s"
    text = data.with_columns(
        column=pl.format(f"{{}} {unit}", pl.Series([f"{x:g}" for x in data["x"]])),
        text=pl.Series([told(r) for r in data.to_dicts()]),
        Routing=pl.col("routing").str.to_uppercase(),
        Protocol=pl.col("protocol"),
    )
    shown = text.pivot("column", index=["Routing", "Protocol"], values="text").fill_null("–")
    return Table(name, title, caption, shown.sort("Routing", maintain_order=True), data)


def gains(of: pl.DataFrame, part: str, n: int) -> Table:
    """Against NewReno with the same movement: goodput, timeouts avoided, stalls."""
    rows = []
    for routing, protocol in (
        of.filter(pl.col("protocol") != BASE).select("routing", "protocol").unique(maintain_order=True).iter_rows()
    ):
        here = of.filter(routing=routing)
        row = {"Routing": routing.upper(), "Protocol": protocol}
        for x in points(here):
            avoided = pair(here, "timeouts", BASE, protocol, x=x).difference
            row[f"{x:g} {'m/s' if part == 'waypoint' else 's'}"] = (
                f"{percent(gain(here, protocol, x=x))}; {avoided.value:.2g} ± {(avoided.high - avoided.low) / 2:.2g}"
            )
        rows.append(row)
    title = f"{HEADS[part]}: goodput gained over NewReno; timeouts avoided a run"
    return Table(f"gains-{part}", title, f"Paired by seed, n = {n}, 95 % intervals (Student's t).", pl.DataFrame(rows))


def reasons(of: pl.DataFrame, about: dict[str, Any], n: int) -> Table:
    """Each variant against what it varies, and against plain NewReno."""
    rows = []
    for name, variant in about["reasons"]["variants"].items():
        for against in dict.fromkeys((variant["base"], BASE)):
            row = {"Variant": name, "Against": against}
            row |= {f"{x:g} m/s": percent(gain(of, name, against, x=x)) for x in points(of)}
            rows.append(row)
    for a, b in (("ELFN", BASE), ("TCP-F", BASE), ("ATCP", BASE), ("ELFN, paths believed 5 s", "NewReno, paths believed 5 s"),
                 ("TCP-F, paths believed 5 s", "NewReno, paths believed 5 s"), ("ATCP, paths believed 5 s", "NewReno, paths believed 5 s"),
                 ("ELFN, no cached replies", "NewReno, no cached replies"), ("TCP-F, no cached replies", "NewReno, no cached replies"),
                 ("CWL, window 32", "NewReno, window 32"), ("CWL", "NewReno, window 2")):  # fmt: skip
        rows.append({"Variant": a, "Against": b} | {f"{x:g} m/s": percent(gain(of, a, b, x=x)) for x in points(of)})
    caption = f"Goodput gained, DSR, random waypoint. Paired by seed, n = {n}, 95 % intervals (Student's t)."
    return Table("reasons", "One thing changed", caption, pl.DataFrame(rows))


def answer(runs: pl.DataFrame) -> str:
    """The answer, as far as its parts were run."""
    said = []
    if runs.filter(part="waypoint").height:
        for routing in ("dsr", "aodv", "abr"):
            of = runs.filter(part="waypoint", routing=routing)
            names = [p for p in ORDER if p != BASE and of.filter(protocol=p).height]
            by_seed = of.group_by("protocol", "seed", maintain_order=True).agg(pl.col("goodput_kbps").mean())
            said.append(f"Goodput gained over NewReno over {routing.upper()}, all speeds: "
                        + ", ".join(f"{p} {percent(gain(by_seed, p))}" for p in names) + ".")  # fmt: skip
    of = runs.filter(part="breaks", detour=False, routing="abr")
    if of.height:
        longest = max(points(of))
        late = [
            f"{p} {again(values(of, 'resumed_s', protocol=p, x=longest))}"
            for p in ORDER
            if of.filter(protocol=p).height
        ]
        said.append(f"After a break of {longest:g} s (ABR) data flow again after: {', '.join(late)}.")
    return " ".join(said)


def differences() -> list[str]:
    return [
        "Numbers of the papers were not at hand: only their claims in words are judged. What they leave open, routing first of all, is varied.",
        "A chain with a window of eight fails by contention, too: seven RTS in a row without an answer are taken for a broken link. Each "
        "such false alarm wakes TCP-F by sending again all that was in flight, which makes more contention, and BuS by what it kept. The "
        "runs with a window of two say what is left without that.",
        "TCP-F's timeouts with a window of two are of runs in which all data sent had arrived and only ACKs were lost: no station has data "
        "for the broken link, and nobody tells.",
        "Over DSR what separates the protocols is how long they go on believing cached paths that are gone: with paths believed for 5 s, or "
        "without answers from caches, NewReno gains more than any of them does over NewReno.",
        "ATCP tells congestion by ECN marks. Stations' interface queues do not mark, so here it never takes a loss for congestion.",
        "Speeds are drawn from 0.9 to 1.1 of the mean, the start is steady, there are no pauses; sender and receiver are stations 0 and 1. "
        "Chains for the expected throughput have 200 m a hop and static routes.",
    ]


def method(n: int, count: int) -> list[str]:
    return [
        f"{n} runs of each set-up, seeds 1 to {n}; of one seed all protocols see the same movements, so differences are paired. {count} runs. "
        "Each interval is 95 %, Student's t.",
        "Expected throughput (Holland and Vaidya): sum of t_i T_i over sum of t_i, where T_i is what NewReno gets through a static chain of i "
        f"hops and t_i the time for which the shortest path has i hops, every {STEP_S} s from the stations' ways; without a path T is 0.",
        f"A stall is a second or more without new data at the receiver, seen every {STEP_S} s; its time with a path is shown.",
        "Break: the middle one of four hops of 200 m is 9 km away from second 20 for so long. With another way two stations offer a detour of "
        "one hop more.",
        f"A point is a speed or a break under one routing protocol. “At least” allows {SAME:.0%} less.",
    ]
