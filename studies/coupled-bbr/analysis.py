"""Coupled BBR over two paths: the article's experiments, and RFC 6356's goals for every coupling."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cclab import Scenario, stats
from cclab.analysis.plots import DASHED, DOTTED, Chart, look, styled
from cclab.published import Check, Context, Figure, Findings, Table, judged
from cclab.results import Result

SESSION = "session"
FLOWS = ("flow 1", "flow 2", "flow 3", "flow 4")  # 1 and 4 are the session's
LINUX = ", Linux's BBR alone"
DUMBBELL = {"L0": ("n0", "n2"), "L1": ("n2", "n3"), "L2": ("n3", "n4"), "L3": ("n1", "n2"), "L4": ("n3", "n5")}
FIRST, SECOND = ["n0", "n2", "n3", "n4"], ["n1", "n2", "n3", "n5"]


def run(context: Context) -> Findings:
    """Everything of the study."""
    seeds = range(1, 1 + context.about["replications"]["quick" if context.quick else "full"])
    findings = Findings([], [], method=method(context, len(seeds)))
    if "article" in context.parts:
        article(context, seeds, findings)
    if "goals" in context.parts:
        goals(context, seeds, findings)
    return findings


# --- The article's experiments -----------------------------------------------------------------------------------------


def dumbbell(about: dict[str, Any], experiment: str, control: str) -> Scenario:
    """The article's six nodes with its four flows."""
    of, links, who = (
        about["article"],
        about["article"]["experiments"][experiment],
        about["article"]["controls"][control],
    )
    common = {"start_jitter": of["jitter"], "packet_size": of["packet"], "ack_every": who.get("ack_every", 2)}
    ends = [("flow 2", FIRST), ("flow 3", SECOND)]
    return Scenario.from_dict(
        {
            "name": f"{experiment}, {control}",
            "duration": of["duration"],
            "warmup": of["warmup"],
            "record": {"samples": "1 s"},
            "network": {
                "topology": "custom",
                "nodes": [f"n{k}" for k in range(6)],
                "links": [
                    {"from": a, "to": b, **links[name], "queue": {"limit": "200 ms"}} for name, (a, b) in DUMBBELL.items()
                ],
            },
            "flows": [
                {
                    "label": SESSION,
                    "paths": [{"name": "flow 1", "route": FIRST}, {"name": "flow 4", "route": SECOND}],
                    **who["session"],
                    **common,
                },
                *({"label": label, "cc": who["single"], "route": route, "from": route[0], "to": route[-1], **common} for label, route in ends),
            ],
        }
    )  # fmt: skip


def _name(label: str) -> str:
    return label.removeprefix(f"{SESSION}/")


def measured(result: Result) -> dict[str, Any]:
    """Rates of the flows and of the session, the bottleneck, and the flows over time."""
    flows = {_name(row["label"]): row for row in result.flows.iter_rows(named=True)}
    link = result.links.filter(pl.col("name") == "n2->n3").row(0, named=True)
    sent = sum(row["segments_sent"] for row in flows.values())
    samples = result.samples.select("time_s", "flow", "delivered_bytes", "pacing_rate_bps")
    return {
        "rate": {name: row["goodput_bps"] for name, row in flows.items()},
        "session": result.sessions["goodput_bps"][0],
        "utilisation": link["utilisation"],
        "loss": sum(row["packets_lost"] for row in flows.values()) / sent,
        "series": {
            _name(str(name)): [of["time_s"].to_list(), of["delivered_bytes"].to_list(), of["pacing_rate_bps"].to_list()]
            for (name,), of in samples.partition_by("flow", as_dict=True, maintain_order=True).items()
        },
    }


def article(context: Context, seeds: range, findings: Findings) -> None:
    """Both experiments, coupled and not."""
    about = context.about
    cases = [(e, c) for e in about["article"]["experiments"] for c in about["article"]["controls"]]
    jobs = [(dumbbell(about, e, c), seed) for e, c in cases for seed in seeds]
    rows = iter(context.run(jobs, measured))
    found = {case: [next(rows) for _ in seeds] for case in cases}
    findings.checks += article_checks(about, found)
    findings.tables.append(article_table(found))
    for experiment in about["article"]["experiments"]:
        for control in ("coupled", "uncoupled"):
            findings.figures.append(over_time(about, experiment, control, found[experiment, control][0]))
    findings.figures.append(ratios(about, found))
    findings.summary = answer(found)
    findings.differences += differences(about, found)


def ratio(row: dict[str, Any]) -> float:
    """The session over the mean of the single flows."""
    return float(row["session"] / ((row["rate"]["flow 2"] + row["rate"]["flow 3"]) / 2))


def bias(row: dict[str, Any]) -> float:
    """Flow 3 over flow 2."""
    return float(row["rate"]["flow 3"] / row["rate"]["flow 2"])


def article_checks(about: dict[str, Any], found: dict[tuple[str, str], list[dict[str, Any]]]) -> list[Check]:
    """The article's words, and what must be so for them to mean anything."""
    bounds, checks = about["bounds"], []

    def check(claim: str, values: list[float], low: float, high: float, what: str) -> None:
        mean = stats.mean(values)
        span = f"{low:g} to {high:g}" if np.isfinite(high) else f"{low:g} or more"
        said = f"{what}: {mean.text()}, single runs {min(values):.2f} to {max(values):.2f}; wanted: a mean of {span}"
        checks.append(judged(claim, [mean.against(low, high)], said))

    for alone, of in (
        ("", " (single flows: the article's BBR)"),
        (", each packet acknowledged", " (single flows: the article's BBR; an ACK for each packet)"),
        (LINUX, " (single flows: Linux's BBR)"),
    ):
        coupled, uncoupled = f"coupled{alone}", f"uncoupled{alone}"
        first, second = "experiment 1", "experiment 2"
        one = "session over the mean single flow"
        check(f"Experiment 1: the coupled session takes about what one flow does{of}", [ratio(r) for r in found[first, coupled]],
              *bounds["coupled_ratio"], one)  # fmt: skip
        check(f"Experiment 1: the uncoupled session takes about twice that{of}", [ratio(r) for r in found[first, uncoupled]],
              *bounds["uncoupled_ratio"], one)  # fmt: skip
        check(f"Experiment 2: the coupled session is friendly: no more than {bounds['friendly']:g} of the better single flow{of}",
              [r["session"] / max(r["rate"]["flow 2"], r["rate"]["flow 3"]) for r in found[second, coupled]],
              0.0, bounds["friendly"], "session over the better single flow")  # fmt: skip
        check(f"Experiment 2: flow 3, with the longer RTT, gets more than flow 2{of}", [bias(r) for r in found[second, coupled]],
              bounds["rtt_bias"], np.inf, "flow 3 over flow 2")  # fmt: skip
    every = [row for rows in found.values() for row in rows]
    used, lost = min(row["utilisation"] for row in every), max(row["loss"] for row in every)
    checks.append(
        judged(
            "The bottleneck is used and hardly loses, in every run",
            [stats.every(r["utilisation"] >= bounds["utilisation"] and r["loss"] < bounds["loss"] for r in every)],
            f"least utilisation {used:.1%} (wanted {bounds['utilisation']:.0%}), largest loss {lost:.2%} (wanted below {bounds['loss']:.0%})",
        )
    )
    return checks


def article_table(found: dict[tuple[str, str], list[dict[str, Any]]]) -> Table:
    """Rates of each case."""
    shown, data = [], []
    for (experiment, control), rows in found.items():
        line: dict[str, Any] = {"Experiment": experiment.split()[-1], "Control": control}
        values = {name: [r["rate"][name] / 1e6 for r in rows] for name in FLOWS}
        values |= {"Session": [r["session"] / 1e6 for r in rows]}
        values |= {"Session / mean single": list(map(ratio, rows)), "Flow 3 / flow 2": list(map(bias, rows))}
        for name, of in values.items():
            mean = stats.mean(of)
            line[name if "/" in name else f"{name.capitalize()}, Mbit/s"] = mean.brief()
            data.append({"experiment": experiment, "control": control, "what": name, "mean": mean.value, "low": mean.low,
                         "high": mean.high, "n": mean.n})  # fmt: skip
        line["Used"] = f"{stats.mean([r['utilisation'] for r in rows]).value:.1%}"
        line["Lost"] = f"{stats.mean([r['loss'] for r in rows]).value:.2%}"
        shown.append(line)
    n = len(next(iter(found.values())))
    caption = f"Goodput; means of n = {n} seeds ± half of Student's 95 % interval. The session is flows 1 and 4."
    return Table("article", "The article's two experiments", caption, pl.DataFrame(shown), pl.DataFrame(data))


def over_time(about: dict[str, Any], experiment: str, control: str, row: dict[str, Any]) -> Figure:
    """What each flow sends and receives over time, as the article draws it."""
    width = about["article"]["bin_s"]
    data = []
    with styled():
        chart = Chart(7.4, 5.2)
        sends, receives = chart.subplots(2, 1, sharex=True)
        total: Any = 0.0
        for index, name in enumerate(FLOWS):
            time, delivered, pacing = (np.array(x, float) for x in row["series"][name])
            whole = np.arange(0, time[-1] + 0.5, width)
            rate = np.diff(np.interp(whole, time, delivered)) * 8 / width
            total = total + rate if name in ("flow 1", "flow 4") else total
            sends.plot(time, pacing / 1e6, label=name, linewidth=0.9, **look(index))
            receives.plot(whole[1:] - width / 2, rate / 1e6, label=name, **look(index))
            data.append(pl.DataFrame({"flow": name, "time_s": whole[1:] - width / 2, "received_bps": rate}))
        receives.plot(whole[1:] - width / 2, total / 1e6, label="session (1 + 4)", color="#222222", linestyle=DASHED)
        data.append(pl.DataFrame({"flow": "session", "time_s": whole[1:] - width / 2, "received_bps": total}))
        beyond_start = max(np.nanmax(np.array(row["series"][name][2], float)[10:]) for name in FLOWS)
        sends.set_ylabel("Sends (Mbit/s)")
        receives.set_ylabel("Receives (Mbit/s)")
        receives.set_xlabel("Time (s)")
        for axes in (sends, receives):
            axes.set_ylim(0)
            axes.set_xlim(0, float(whole[-1]))
        sends.set_ylim(0, 1.1 * beyond_start / 1e6)
        chart.legend_below(dict(zip(*reversed(receives.get_legend_handles_labels()), strict=True)))
    caption = (
        f"One run (seed 1). Above, the pacing rate of each flow every second (start-up goes beyond the axis); below, data received in bins of {width} s, for each flow and for the "
        "session. Single flows run the article's BBR."
    )
    name = f"{experiment.replace(' ', '-')}-{control}"
    return Figure(name, f"{experiment.capitalize()}, {control}", caption, chart, pl.concat(data))


def ratios(about: dict[str, Any], found: dict[tuple[str, str], list[dict[str, Any]]]) -> Figure:
    """Session over mean single flow of every run."""
    controls = list(about["article"]["controls"])
    with styled():
        chart = Chart(7.4, 3.8)
        panels = chart.subplots(1, len(about["article"]["experiments"]), sharey=True)
        data = []
        for axes, experiment in zip(panels, about["article"]["experiments"], strict=True):
            for index, control in enumerate(controls):
                values = np.array([ratio(r) for r in found[experiment, control]])
                mean = stats.mean(values)
                colour = look(index)["color"]
                axes.plot(
                    np.full(len(values), index),
                    values,
                    "o",
                    color=colour,
                    alpha=0.4,
                    markersize=3,
                    label=f"{index + 1}: {control}, single runs",
                )
                axes.errorbar([index], [mean.value], [[mean.half_width]], marker="D", markersize=5, color=colour, capsize=4,
                              linestyle="none", label=f"{index + 1}: {control}")  # fmt: skip
                data.append(pl.DataFrame({"experiment": experiment, "control": control, "ratio": values}))
            for value, style in ((1.0, DASHED), (2.0, DOTTED)):
                axes.plot([-0.6, len(controls) - 0.4], [value, value], color="#666666", linewidth=0.9, linestyle=style,
                          label="what one flow takes" if value == 1 else "what two take")  # fmt: skip
            axes.set_xlim(-0.6, len(controls) - 0.4)
            axes.set_xticks(range(len(controls)), [str(k + 1) for k in range(len(controls))])
            axes.set_ylim(0)
            axes.set_title(experiment, color="#555555")
        panels[0].set_ylabel("Session over mean single flow")
        named = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
        chart.legend_below({name: handle for name, handle in named.items() if not name.endswith("single runs")})
    n = len(next(iter(found.values())))
    caption = f"Diamonds: mean of n = {n} seeds with Student's 95 % interval; dots: single runs. Dashed: what one flow takes; dotted: what two do."
    return Figure("ratios", "How much the session takes", caption, chart, pl.concat(data))


def _mean(rows: list[dict[str, Any]], of: Any) -> str:
    return f"{stats.mean(list(map(of, rows))).value:.2f}"


def answer(found: dict[tuple[str, str], list[dict[str, Any]]]) -> str:
    """The answer to the question, in a paragraph."""
    first, second = "experiment 1", "experiment 2"
    return (
        f"With equal RTTs the coupled session takes {_mean(found[first, 'coupled'], ratio)} of what one of the article's BBRs beside it does, "
        f"{_mean(found[first, 'coupled' + LINUX], ratio)} of one of Linux's; uncoupled it takes "
        f"{_mean(found[first, 'uncoupled'], ratio)} and {_mean(found[first, 'uncoupled' + LINUX], ratio)}. With RTTs of 60 and 100 ms BBR's bias for the "
        f"longer one is the larger effect: flow 3 gets {_mean(found[second, 'coupled'], bias)} times what flow 2 gets, and the session "
        f"{_mean(found[second, 'coupled'], ratio)} of the mean single flow coupled, {_mean(found[second, 'uncoupled'], ratio)} uncoupled."
    )


def differences(about: dict[str, Any], found: dict[tuple[str, str], list[dict[str, Any]]]) -> list[str]:
    """What the article says and what we see."""
    first, second = "experiment 1", "experiment 2"
    acked = "coupled, each packet acknowledged"
    return [
        "The article's figures are lost and its text has no rates: its findings are that the coupled session is friendly to single flows, and that "
        "with unequal delays flow 3 gets more than flow 2 because BBR favours the longer RTT. Both are checks above, with bounds that are ours.",
        f"Like for like, one BBR for all as in the article's code: {_mean(found[first, 'coupled'], ratio)} of a single flow, "
        f"{_mean(found[first, acked], ratio)} if each packet is acknowledged. An independent simulation of the rule, with that, had 1.26 (1.01 to 1.52 "
        "over six seeds) and uncoupled 1.99.",
        f"Beside Linux's BBR the session takes {_mean(found[first, 'coupled' + LINUX], ratio)}: that one keeps up to eight segments more in flight (room for "
        "what hosts hold, in the window and where phases end), of a bandwidth-delay product of some sixteen a flow.",
        "Experiment 2: of the session's rate the subflow with the longer RTT has "
        f"{_mean(found[second, 'coupled'], lambda r: r['rate']['flow 4'] / r['session'])}, and "
        f"{_mean(found[second, 'coupled' + LINUX], lambda r: r['rate']['flow 4'] / r['session'])} beside Linux's BBR; the independent simulation had "
        "0.88 and a stronger bias (flow 3 over flow 2: 6.8), which leaves the rule little to couple.",
    ]


# --- RFC 6356's goals --------------------------------------------------------------------------------------------------


def two_links(about: dict[str, Any], name: str, links: list[dict[str, Any]], flows: list[dict[str, Any]], buffer: str = "1 BDP") -> Scenario:  # fmt: skip
    """Source and destination with a link of its own for each path; a queue of one BDP at each."""
    of = about["goals"]
    middle = [f"m{k}" for k in range(len(links))]
    wires = [
        wire
        for via, link in zip(middle, links, strict=True)
        for wire in (
            {"from": "a", "to": via, **link, "queue": {"limit": buffer}},
            {"from": via, "to": "b", "rate": "1 Gbit/s", "delay": "0 ms"},
        )
    ]
    network = {"topology": "custom", "nodes": ["a", *middle, "b"], "links": wires}
    return Scenario.from_dict(
        {
            "name": name, "duration": of["duration"], "warmup": of["warmup"], "record": {"samples": "off"}, "network": network,
            "flows": [{"start_jitter": of["jitter"], **flow} for flow in flows],
        }
    )  # fmt: skip


def goodputs(result: Result) -> dict[str, float]:
    """By label; a session by its own, its subflows by theirs."""
    rates = dict(zip(result.flows["label"].to_list(), result.flows["goodput_bps"].to_list(), strict=True))
    sessions = result.sessions
    if "label" in sessions.columns:
        rates |= dict(zip(sessions["label"].to_list(), sessions["goodput_bps"].to_list(), strict=True))
    return {str(label): float(rate) for label, rate in rates.items()}


def goals(context: Context, seeds: range, findings: Findings) -> None:
    """RFC 6356's goals for every coupling, and for laws without."""
    about = context.about
    of = about["goals"]
    controls = [(name, {"coupling": name}, base) for name, base in of["couplings"].items()]
    controls += [(f"{law}, uncoupled", {"cc": law}, law) for law in of["alone"]]
    routes = [["a", "m0", "b"], ["a", "m1", "b"]]

    def session(how: dict[str, Any], paths: list[list[str]]) -> dict[str, Any]:
        return {"label": SESSION, "paths": [{"name": str(k + 1), "route": path} for k, path in enumerate(paths)], **how}

    def single(law: str, label: str, route: list[str]) -> dict[str, Any]:
        return {"label": label, "cc": law, "route": route, "from": "a", "to": "b"}

    jobs: dict[tuple[str, str], Scenario] = {}
    for name, how, base in controls:
        others = [single(base, f"single {k}", routes[0]) for k in (1, 2)]
        jobs[name, "shared"] = two_links(
            about, f"shared, {name}", [of["shared"]], [session(how, [routes[0]] * 2), *others]
        )
        each = [single(base, f"single {k + 1}", route) for k, route in enumerate(routes)]
        jobs[name, "two"] = two_links(about, f"two, {name}", of["two"], [session(how, routes), *each])
        for k, route in enumerate(routes):
            instead = single(base, SESSION, route)
            jobs[name, f"instead {k + 1}"] = two_links(about, f"two, {base} on {k + 1}", of["two"], [instead, *each])
        jobs[name, "lossy"] = two_links(about, f"lossy, {name}", of["lossy"], [session(how, routes)], "500 packets")
    rows = iter(context.run([(job, seed) for job in jobs.values() for seed in seeds], goodputs, keep="coupled-goals-1"))
    found = {key: [next(rows) for _ in seeds] for key in jobs}
    findings.tables.append(goals_table(about, controls, found))
    findings.checks += goal_checks(about, controls, found)


def _of_goals(name: str, found: dict[tuple[str, str], list[dict[str, float]]]) -> dict[str, list[float]]:
    """What each goal is judged by, one value a seed; scenes of one seed are pairs."""
    instead = [
        max(a[SESSION], b[SESSION]) for a, b in zip(found[name, "instead 1"], found[name, "instead 2"], strict=True)
    ]
    return {
        "improve": [row[SESSION] / best for row, best in zip(found[name, "two"], instead, strict=True)],
        "harm": [2 * row[SESSION] / (row["single 1"] + row["single 2"]) for row in found[name, "shared"]],
        "balance": [row[f"{SESSION}/2"] / (row[f"{SESSION}/1"] + row[f"{SESSION}/2"]) for row in found[name, "lossy"]],
    }


def goals_table(
    about: dict[str, Any], controls: list[tuple[str, dict[str, Any], str]], found: dict[tuple[str, str], list[dict[str, float]]]
) -> Table:  # fmt: skip
    """What each coupling does for the three goals."""
    shown, data = [], []
    for name, _, base in controls:
        line = {"Control": name, "Single flows": base}
        for goal, values in _of_goals(name, found).items():
            mean = stats.mean(values)
            heading = {
                "improve": "1: over the best path alone",
                "harm": "2: over a single flow",
                "balance": "3: share of the worse path",
            }[goal]
            line[heading] = mean.brief()
            data.append(
                {"control": name, "goal": goal, "mean": mean.value, "low": mean.low, "high": mean.high, "n": mean.n}
            )
        shown.append(line)
    n = len(next(iter(found.values())))
    caption = (
        f"Means of n = {n} seeds ± half of Student's 95 % interval. 1: two links of 10 and 5 Mbit/s with a single flow on each; the session over what a single "
        "flow in its place gets on the better of them. 2: one link of 10 Mbit/s, two subflows beside two single flows; the session over their mean. 3: two "
        "links of 20 Mbit/s that lose 0.1 % and 1 %; share of the session on the second (uncoupled Renos: 24 %; laws that losses do not "
        "slow down: half)."
    )
    return Table("goals", "RFC 6356's goals", caption, pl.DataFrame(shown), pl.DataFrame(data))


def goal_checks(
    about: dict[str, Any], controls: list[tuple[str, dict[str, Any], str]], found: dict[tuple[str, str], list[dict[str, float]]]
) -> list[Check]:  # fmt: skip
    """The goals as checks for each coupling; the laws alone are what they are measured against."""
    bounds, checks = about["bounds"], []
    for name, how, base in controls:
        if "coupling" not in how:
            continue
        seeds = _of_goals(name, found)
        of = {goal: stats.mean(values) for goal, values in seeds.items()}
        less = stats.paired(seeds["balance"], _of_goals(f"{base}, uncoupled", found)["balance"])
        balance = [less.difference.below(0), of["balance"].below(bounds["balance"])]
        low, high = bounds["harm"]
        for claim, mean, verdict, wanted in (
            ("1, improve throughput", of["improve"], of["improve"].against(bounds["improve"], np.inf),
             f"at least {bounds['improve']:g} of the best path alone"),
            ("2, do no harm", of["harm"], of["harm"].against(0.0, high), f"at most {high:g} of a single flow on the shared link ({low:g} at least would be its due)"),
            ("3, balance congestion", of["balance"], stats.all_of(balance),
             f"less of its data on the worse path than {base} uncoupled ({less.b.value:.1%}; difference of each seed {less.difference.text()}), and than uncoupled Renos ({bounds['balance']:.0%})"),
        ):  # fmt: skip
            checks.append(judged(f"{name}: goal {claim}", [verdict], f"{mean.text()}; wanted: {wanted}"))
    return checks


# --- How it was measured -----------------------------------------------------------------------------------------------


def method(context: Context, seeds: int) -> list[str]:
    """How it was measured."""
    about = context.about
    of, goal = about["article"], about["goals"]
    return [
        f"Article: six nodes, the links as printed, a queue of 200 ms of its rate at each; packets of {of['packet']}, {of['duration']}, of which {of['warmup']} are left out; "
        "scheduler min-rtt, data without end. Goodput is payload; the session's counts each byte once.",
        f"What differs between the {seeds} seeds: when each flow and subflow starts (within {of['jitter']}), where BBR's cycle begins, and the lengths of the article's cycles.",
        f"Goals: {goal['duration']}, of which {goal['warmup']} are left out, starts drawn from the first {goal['jitter']}; queues of one bandwidth-delay product (of 500 packets "
        "where links lose by chance). Single flows run the law that the coupling is made of. Ratios are taken within a seed.",
        "A claim is judged by the interval of the mean and its bounds. The bounds are ours: neither article nor RFC gives figures.",
    ]
