"""PingER's page on throughput versus loss: formulas beside simulated TCPs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cclab import Scenario, formulas, stats
from cclab.analysis.plots import DASHED, DOTTED, Chart, look, styled
from cclab.published import Check, Comparison, Context, Figure, Findings, Table, compare, judged
from cclab.results import Result

MATHIS, PADHYE, PADHYE_1S = "Mathis", "Padhye, T0 = 3 s", "Padhye, T0 = 1 s"
SETTLE = 5.0  # s left out of the chart's runs
DISTANCES_KM = (10, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000)
MARKS = "osD^v"


def goodput(result: Result) -> dict[str, float]:
    """Payload per second, and the timeouts among the losses."""
    flow = result.flows.row(0, named=True)
    return {name: float(flow[name]) for name in ("goodput_bps", "timeouts", "recoveries")}


def predicted(about: dict[str, Any], p: Any, rtt_s: Any) -> dict[str, NDArray[Any]]:
    """The page's two formulas and Padhye with the timer's floor for T0, bit/s; each at most Wmax / RTT."""
    of = about["formula"]
    most = of["w_max"] / of["mss"]

    def padhye(t0_s: float) -> NDArray[Any]:
        rate = formulas.pftk(p, rtt_s, t0_s, of["b"], most)
        return np.asarray(formulas.to_bps(rate, of["mss"]))

    mathis = np.minimum(formulas.pinger_bps(p, rtt_s, of["mss"]), formulas.to_bps(most / np.asarray(rtt_s), of["mss"]))
    return {MATHIS: mathis, PADHYE: padhye(of["t0_s"]), PADHYE_1S: padhye(of["rto_min_s"])}


def scenario(about: dict[str, Any], endpoint: str, p: float, rtt_s: float, duration_s: float, warmup_s: float) -> Scenario:  # fmt: skip
    """One TCP at a loss rate and an RTT."""
    base = Scenario.from_dict({**about["scenario"], "flows": [about["endpoints"][endpoint]]})
    return base.replace(
        {
            "name": f"{endpoint}, {rtt_s * 1e3:g} ms, {p:.4g}",
            "duration": f"{duration_s:.3f} s",
            "warmup": f"{warmup_s:.3f} s",
            "network.rtt": f"{rtt_s * 1e3:g} ms",
            "network.loss": {"data": p},
        }
    )


def measure_chart(context: Context) -> pl.DataFrame:
    """A row for each run over RTT and loss."""
    about = context.about
    plan = about["chart"]["quick" if context.quick else "full"]
    points = [(e, rtt / 1e3, p) for e in about["endpoints"] for rtt in plan["rtt_ms"] for p in plan["loss"]]
    jobs, keys = [], []
    for endpoint, rtt, p in points:
        rate = float(predicted(about, p, rtt)[PADHYE_1S]) / (8 * about["formula"]["mss"])
        length = min(plan["longest"], max(60.0, plan["events"] / (p * rate)))
        made = scenario(about, endpoint, p, rtt, length + SETTLE, SETTLE)
        for seed in range(1, plan["seeds"] + 1):
            jobs.append((made, seed))
            keys.append({"endpoint": endpoint, "rtt_s": rtt, "p": p, "seed": seed})
    rows = context.run(jobs, goodput, keep="pinger-chart-1")
    return pl.DataFrame([key | row for key, row in zip(keys, rows, strict=True)])


def measure_validation(context: Context) -> pl.DataFrame:
    """A row for each hour: loss rate, what the pings show of it, what the TCP got."""
    about = context.about
    plan = about["validation"]
    hours = plan["quick" if context.quick else "full"]["hours"]
    jobs, keys = [], []
    for name, (low, high) in plan["ranges"].items():
        draw = np.random.Generator(np.random.PCG64(1))
        losses = np.exp(draw.uniform(math.log(low), math.log(high), hours))
        seen, more = (draw.binomial(n, losses) / n for n in (plan["pings"], plan["more_pings"]))
        for endpoint in about["endpoints"]:
            for hour, (p, pings, many) in enumerate(zip(losses, seen, more, strict=True)):
                made = scenario(about, endpoint, round(float(p), 6), plan["rtt_ms"] / 1e3, plan["duration_s"], 0.0)
                jobs.append((made, hour + 1))
                keys.append(
                    {
                        "range": name,
                        "endpoint": endpoint,
                        "p": float(p),
                        "pings": float(pings),
                        "more_pings": float(many),
                    }
                )
    rows = context.run(jobs, goodput, keep="pinger-validation-1")
    table = pl.DataFrame([key | row for key, row in zip(keys, rows, strict=True)])
    used = np.where(table["pings"] < 0.01, plan["floor"], table["pings"])
    rtt = plan["rtt_ms"] / 1e3
    return table.with_columns(
        pl.Series("predicted", predicted(about, used, rtt)[PADHYE]),
        pl.Series("predicted_mathis", predicted(about, used, rtt)[MATHIS]),
        pl.Series("predicted_more", predicted(about, np.maximum(table["more_pings"], 1e-4), rtt)[PADHYE]),
        pl.Series("predicted_truth", predicted(about, table["p"].to_numpy(), rtt)[PADHYE]),
    )


def r_squared(xy: NDArray[Any]) -> float:
    """Of a straight line through measured against predicted."""
    if min(np.ptp(xy[:, 0]), np.ptp(xy[:, 1])) == 0:
        return math.nan
    return float(np.corrcoef(xy[:, 0], xy[:, 1])[0, 1] ** 2)


def fit(rows: pl.DataFrame, predicted_by: str) -> stats.Estimate:
    """R² with a bootstrap interval over the hours."""
    pairs = rows.select(predicted_by, "goodput_bps").to_numpy()
    drawn = stats.bootstrap(np.arange(len(pairs)), lambda of: r_squared(pairs[np.asarray(of, int)]))
    return stats.Estimate(r_squared(pairs), drawn.low, drawn.high, len(pairs))


def run(context: Context) -> Findings:
    """Everything of the study."""
    about = context.about
    published = pl.read_csv(context.folder / "published.csv").with_columns(pl.col("unit", "note").fill_null(""))
    comparisons, checks = exact(published), []
    figures, tables = [projection(about), over_distance(about)], [distances(about), improvement()]
    differences, answers = [], []
    if "chart" in context.parts:
        chart = measure_chart(context)
        summary = beside_formulas(about, chart)
        figures.insert(0, chart_figure(about, summary))
        tables.insert(0, chart_table(summary))
        checks += chart_checks(about, summary)
        answers.append(answer(about, summary))
    if "validation" in context.parts:
        hours = measure_validation(context)
        fits = all_fits(about, hours)
        figures.insert(min(1, len(figures)), validation_figure(about, hours))
        tables.insert(min(1, len(tables)), fits_table(fits))
        comparisons += validated(about, published, fits)
        differences.append(why_r2(fits))
    differences.append(
        "2007, 129 countries: normalised throughput fitted by 1526.6 / loss^0.66, theory by 1875 / √loss. These are fits to the monitoring "
        "data, which the page does not print, so they are not tested. If loss is in per cent and the rate in kbit/s, 1875 / √loss is "
        f"Mathis' formula for an RTT of {1460 * 8 / math.sqrt(0.01) / 1875e3 * 1e3:.1f} ms."
    )
    return Findings(comparisons, checks, figures, tables, " ".join(answers), differences, method(context))


# --- What the formulas alone answer ------------------------------------------------------------------------------------


def exact(published: pl.DataFrame) -> list[Comparison]:
    """The page's distances and its zero-loss rule: nothing in them is random."""
    rows = []
    for line in published.iter_rows(named=True):
        if line["metric"] == "RTT":
            km = float(line["item"].split()[1])
            ours = float(formulas.rtt_of_distance_s(km)) * 1e3
        elif line["item"] == "zero loss":
            ours = 0.5 / (48 * 10 * 365) * 1e6
        else:
            continue
        note = line["note"] or "the page's own rule, 2.5 ms for 100 km; nothing is simulated"
        rows.append(
            compare(
                line["item"],
                line["metric"],
                line["unit"],
                line["value"],
                [ours],
                source="arithmetic",
                tolerance=0.002,
                chance=False,
                note=note,
            )
        )
    return rows


def distances(about: dict[str, Any]) -> Table:
    """The page's table, and what a TCP may get over it."""
    km = np.array(DISTANCES_KM, float)
    rtt = formulas.rtt_of_distance_s(km)
    columns = {"Distance, km": [f"{d:,.0f}" for d in km], "RTT, ms": [f"{t:g}" for t in rtt * 1e3]}
    data = {"distance_km": km, "rtt_s": rtt}
    for p in (1e-4, 1e-3, 1e-2):
        rate = predicted(about, p, rtt)[PADHYE]
        columns[f"Padhye at {p:.2%}, Mbit/s"] = [f"{x / 1e6:.3g}" for x in rate]
        data[f"padhye_bps_at_{p:g}"] = rate
    return Table(
        "distances",
        "Distance, RTT and throughput",
        "RTT by the page's rule, 2.5 ms for 100 km; throughput by Padhye's formula (b = 2, T0 = 3 s, Wmax 128 KiB). No simulation.",
        pl.DataFrame(columns),
        pl.DataFrame(data),
    )


def improvement() -> Table:
    """Loss and throughput after three years of improvement."""
    per_month = np.arange(11) / 100
    loss = formulas.improved(0.025, per_month, 36)
    year = 1 - formulas.improved(1, per_month, 12)
    rate = formulas.pinger_bps(loss, 0.1)
    shown = pl.DataFrame(
        {
            "Improvement a month": [f"{r:.0%}" for r in per_month],
            "a year": [f"{y:.1%}" for y in year],
            "Loss after three years": [f"{p:.3%}" for p in loss],
            "Throughput (Mathis), Mbit/s": [f"{x / 1e6:.3f}" for x in rate],
        }
    )
    data = pl.DataFrame({"per_month": per_month, "per_year": year, "loss": loss, "mathis_bps": rate})
    title = "What less loss brings"
    note = "The page's projection: RTT 100 ms, 2.5 % of loss at the start, 36 months, Mathis with C = 1. No simulation."
    return Table("improvement", title, note, shown, data)


def projection(about: dict[str, Any]) -> Figure:
    """Throughput over three years at 0 to 10 % of improvement a month."""
    months = np.arange(37)
    data = []
    with styled():
        chart = Chart(6.4, 3.4)
        axes = chart.subplots()
        for index, r in enumerate((0, 2, 4, 6, 8, 10)):
            loss = formulas.improved(0.025, r / 100, months)
            rate = formulas.pinger_bps(loss, 0.1, about["formula"]["mss"]) / 1e6
            axes.plot(months, rate, label=f"{r} % a month", **look(index))
            data.append(pl.DataFrame({"per_month": r / 100, "month": months, "loss": loss, "mathis_bps": rate * 1e6}))
        axes.set_xlabel("Months")
        axes.set_ylabel("Throughput (Mbit/s)")
        axes.set_xlim(0, 36)
        axes.set_ylim(0)
        chart.legend_below()
    caption = "Mathis with C = 1, RTT 100 ms, 2.5 % of loss at the start, less by this share each month. A formula, nothing simulated."
    return Figure("projection", "Throughput if loss improves", caption, chart, pl.concat(data))


def over_distance(about: dict[str, Any]) -> Figure:
    """The page's behaviour chart: throughput over distance for several loss rates."""
    km = np.geomspace(10, 25000, 100)
    rtt = formulas.rtt_of_distance_s(km)
    data = []
    with styled():
        chart = Chart(6.4, 3.6)
        axes = chart.subplots()
        for index, p in enumerate((1e-4, 1e-3, 1e-2, 2.5e-2, 1e-1)):
            rates = predicted(about, p, rtt)
            colour = look(index)["color"]
            axes.plot(km, rates[PADHYE] / 1e6, color=colour, label=f"{100 * p:g} % lost")
            (line,) = axes.plot(km, rates[MATHIS] / 1e6, color=colour, linestyle=DASHED, linewidth=0.9)
            chart.name(f"{100 * p:g} % lost, Mathis", line)
            data.append(pl.DataFrame({"loss": p, "distance_km": km, "rtt_s": rtt, "padhye_bps": rates[PADHYE],
                                      "mathis_bps": rates[MATHIS]}))  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="Distance (km)", ylabel="Throughput (Mbit/s)")
        axes.set_xticks([10, 100, 1000, 10000], ["10", "100", "1,000", "10,000"])
        axes.set_yticks([0.01, 0.1, 1, 10, 100, 1000], ["0.01", "0.1", "1", "10", "100", "1,000"])
        chart.legend_below(key={PADHYE: "-", f"{MATHIS}, C = 1": DASHED})
    return Figure(
        "distance",
        "Throughput over distance",
        "Solid: Padhye (b = 2, T0 = 3 s). Dashed: Mathis with C = 1. Both at most 128 KiB a round trip. RTT by the page's rule, 2.5 ms for "
        "100 km. Formulas, nothing simulated.",
        chart,
        pl.concat(data),
    )


# --- The chart: simulated over RTT and loss ----------------------------------------------------------------------------


def beside_formulas(about: dict[str, Any], chart: pl.DataFrame) -> pl.DataFrame:
    """Mean goodput of each point with its interval, and the formulas' rates."""
    summary = stats.summarise(chart, "goodput_bps", by=["endpoint", "rtt_s", "p"], bounds=(0.0, np.inf))
    rates = predicted(about, summary["p"].to_numpy(), summary["rtt_s"].to_numpy())
    return summary.with_columns(*(pl.Series(name, rate) for name, rate in rates.items()))


def chart_figure(about: dict[str, Any], summary: pl.DataFrame) -> Figure:
    """Throughput against loss, a panel for each TCP."""
    p = np.geomspace(float(summary["p"].min()) / 1.5, min(0.2, float(summary["p"].max()) * 1.5), 80)  # type: ignore[arg-type]
    endpoints = list(about["endpoints"])
    with styled():
        chart = Chart(7.4, 4.2)
        panels = chart.subplots(1, len(endpoints), sharex=True, sharey=True)
        for axes, endpoint in zip(panels, endpoints, strict=True):
            for index, (rtt,) in enumerate(summary.select("rtt_s").unique().sort("rtt_s").iter_rows()):
                colour = look(index)["color"]
                rates = predicted(about, p, rtt)
                (solid,) = axes.plot(p, rates[PADHYE] / 1e6, color=colour, linewidth=1.1)
                (dots,) = axes.plot(p, rates[PADHYE_1S] / 1e6, color=colour, linewidth=0.9, linestyle=DOTTED)
                (dashes,) = axes.plot(p, rates[MATHIS] / 1e6, color=colour, linewidth=0.9, linestyle=DASHED)
                for line, name in ((solid, PADHYE), (dots, PADHYE_1S), (dashes, MATHIS)):
                    chart.name(f"RTT {rtt * 1e3:g} ms, {name}", line)
                of = summary.filter((pl.col("endpoint") == endpoint) & (pl.col("rtt_s") == rtt))
                mean, low, high = (of[c].to_numpy() / 1e6 for c in ("mean", "low", "high"))
                axes.errorbar(
                    of["p"], mean, [mean - low, high - mean], color=colour, marker=MARKS[index], markersize=4,
                    linestyle="none", capsize=2, elinewidth=0.8, label=f"RTT {rtt * 1e3:g} ms",
                )  # fmt: skip
            axes.set(xscale="log", yscale="log", xlabel="Loss rate")
            axes.set_title(endpoint, color="#555555")
            axes.set_xticks([1e-4, 1e-3, 1e-2, 1e-1], ["0.01 %", "0.1 %", "1 %", "10 %"])
            axes.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        panels[0].set_ylabel("Throughput (Mbit/s)")
        chart.legend_below(key={PADHYE: "-", PADHYE_1S: DOTTED, f"{MATHIS}, C = 1": DASHED})
    return Figure(
        "chart",
        "Throughput against loss",
        "Marks: simulated goodput, mean of "
        f"n = {summary['n'].min()} seeds with Student's 95 % interval. Lines: the page's formulas (b = 2, MSS 1460, at most 128 KiB a round "
        "trip), Padhye also with the timer's floor for T0. Left a TCP as of 1999, right today's Linux; both run Reno's law.",
        chart,
        summary,
    )


def chart_table(summary: pl.DataFrame) -> Table:
    """The chart in figures."""
    names = (MATHIS, PADHYE, PADHYE_1S)
    shown = summary.select(
        pl.col("endpoint").alias("TCP"),
        (pl.col("rtt_s") * 1e3).map_elements(lambda t: f"{t:g}", pl.String).alias("RTT, ms"),
        pl.col("p").map_elements(lambda p: f"{100 * p:g}", pl.String).alias("Loss, %"),
        pl.struct("mean", "low", "high")
        .map_elements(lambda r: f"{r['mean'] / 1e6:.3g} [{r['low'] / 1e6:.3g}, {r['high'] / 1e6:.3g}]", pl.String)
        .alias("Simulated, Mbit/s"),
        *(
            pl.struct(pl.col(name).alias("rate"), "mean")
            .map_elements(lambda r: f"{r['rate'] / 1e6:.3g} ({r['mean'] / r['rate']:.2f})", pl.String)
            .alias(name)
            for name in names
        ),
    )
    caption = f"Mean of n = {summary['n'].min()} seeds with Student's 95 % interval; formulas in Mbit/s, in brackets simulated over formula."
    return Table("chart-table", "Simulated throughput beside the formulas", caption, shown, summary)


def _off(of: pl.DataFrame, name: str) -> float:
    """Typical factor between a formula and the simulation, at least 1."""
    return float(np.exp(np.mean(np.abs(np.log(of["mean"].to_numpy() / of[name].to_numpy())))))


def chart_checks(about: dict[str, Any], summary: pl.DataFrame) -> list[Check]:
    """The page's statements about its formulas, for each TCP."""
    checks = []
    for endpoint in about["endpoints"]:
        of = summary.filter(pl.col("endpoint") == endpoint)
        lossy = of.filter(pl.col("p") >= 0.02)
        # nearer on a logarithmic scale: on the other side of the geometric mean of both formulas
        nearer = [
            e.above(math.sqrt(a * b)) if b > a else e.below(math.sqrt(a * b))
            for e, a, b in (
                (stats.Estimate(*row[:4]), *row[4:])
                for row in lossy.select("mean", "low", "high", "n", MATHIS, PADHYE).iter_rows()
            )
        ]
        checks.append(
            judged(
                f"{endpoint}: from 2 % of loss on Padhye's formula is nearer than Mathis'",
                nearer,
                f"Nearer is: the whole interval on Padhye's side of the geometric mean of both. Typical factor off: Padhye {_off(lossy, PADHYE):.2f}, "
                f"with T0 = 1 s {_off(lossy, PADHYE_1S):.2f}, Mathis {_off(lossy, MATHIS):.2f}.",
            )
        )
        over = [
            stats.Estimate(mean, low, high, n).below(rate)
            for mean, low, high, n, rate in of.select("mean", "low", "high", "n", MATHIS).iter_rows()
        ]
        checks.append(
            judged(
                f"{endpoint}: Mathis' rate with C = 1 is an upper bound (Rate ≤ MSS / (RTT √p))",
                over,
                f"Simulated over formula: {float((of['mean'] / of[MATHIS]).min()):.2f} to {float((of['mean'] / of[MATHIS]).max()):.2f}.",  # type: ignore[arg-type]
            )
        )
        for name in (MATHIS, PADHYE, PADHYE_1S):
            slack = about["tolerance"]["formula"]
            verdicts = [
                stats.Estimate(mean, low, high, n).against(rate * (1 - slack), rate * (1 + slack))
                for mean, low, high, n, rate in of.select("mean", "low", "high", "n", name).iter_rows()
            ]
            checks.append(
                judged(
                    f"{endpoint}: {name} is right within {slack:.0%}",
                    verdicts,
                    f"Typical factor off {_off(of, name):.2f}, below 1 % of loss {_off(of.filter(pl.col('p') < 0.01), name):.2f}.",
                )
            )
    return checks


def answer(about: dict[str, Any], summary: pl.DataFrame) -> str:
    """The answer to the question, in a paragraph."""
    parts = []
    for endpoint in about["endpoints"]:
        of = summary.filter(pl.col("endpoint") == endpoint)
        low, high = of.filter(pl.col("p") < 0.01), of.filter(pl.col("p") >= 0.02)
        parts.append(
            f"{endpoint}: below 1 % of loss Mathis is typically off by a factor of {_off(low, MATHIS):.2f}, Padhye by {_off(low, PADHYE):.2f}; "
            f"from 2 % on Mathis by {_off(high, MATHIS):.2f}, Padhye by {_off(high, PADHYE):.2f} (with T0 = 1 s {_off(high, PADHYE_1S):.2f})."
        )
    return " ".join(parts)


# --- The validation: 30-s tests against pings --------------------------------------------------------------------------


def all_fits(about: dict[str, Any], hours: pl.DataFrame) -> pl.DataFrame:
    """R² of each TCP and range of loss: as the page does it, with every hour, with Mathis, with the true loss rate."""
    rows = []
    for name in about["validation"]["ranges"]:
        for endpoint in about["endpoints"]:
            of = hours.filter((pl.col("range") == name) & (pl.col("endpoint") == endpoint))
            kept = of.filter(pl.col("pings") >= 0.01)
            for what, rows_of, by in (
                ("as the page: pings of 1 % and more", kept, "predicted"),
                ("every hour, 0.5 % where pings show less than 1 %", of, "predicted"),
                ("as the page, Mathis", kept, "predicted_mathis"),
                (f"pings of 1 % and more, but {about['validation']['more_pings']} of them", kept, "predicted_more"),
                ("pings of 1 % and more, but the true loss rate", kept, "predicted_truth"),
                ("every hour, the true loss rate", of, "predicted_truth"),
            ):
                r2 = fit(rows_of, by)
                rows.append({"range": name, "endpoint": endpoint, "what": what, "r2": r2.value, "low": r2.low, "high": r2.high, "n": r2.n})  # fmt: skip
    return pl.DataFrame(rows)


def fits_table(fits: pl.DataFrame) -> Table:
    """R² by what is left out."""
    shown = fits.select(
        pl.col("range").alias("Loss rates"),
        pl.col("endpoint").alias("TCP"),
        pl.col("what").alias("Predicted by Padhye from"),
        pl.struct("r2", "low", "high")
        .map_elements(lambda r: f"{r['r2']:.2f} [{r['low']:.2f}, {r['high']:.2f}]", pl.String)
        .alias("R²"),
        pl.col("n").cast(pl.String),
    )
    caption = (
        "R² of a straight line through measured against predicted throughput; bootstrap 95 % interval over n hours."
    )
    return Table("fits", "Measured against predicted", caption, shown, fits)


def validated(about: dict[str, Any], published: pl.DataFrame, fits: pl.DataFrame) -> list[Comparison]:
    """The page's R² beside ours, for each TCP and range of loss."""
    line = published.filter(pl.col("metric").str.starts_with("R²")).row(0, named=True)
    slack = about["tolerance"]["r2"]
    rows = []
    for row in fits.filter(pl.col("what").str.starts_with("as the page: ")).iter_rows(named=True):
        ours = stats.Estimate(row["r2"], row["low"], row["high"], row["n"])
        note = f"{line['item']}: {line['note']}; loss rates and RTT are ours, the page has neither. n is hours; the interval is a bootstrap's."
        item = f"{row['endpoint']}, loss {row['range']}"
        rows.append(compare(item, line["metric"], line["unit"], line["value"], ours, slack=slack, note=note))
    return rows


def validation_figure(about: dict[str, Any], hours: pl.DataFrame) -> Figure:
    """Measured against predicted, a panel for each range of loss."""
    ranges = list(about["validation"]["ranges"])
    with styled():
        chart = Chart(7.4, 3.9)
        panels = chart.subplots(1, len(ranges), sharex=True, sharey=True)
        for axes, name in zip(panels, ranges, strict=True):
            for index, endpoint in enumerate(about["endpoints"]):
                of = hours.filter(
                    (pl.col("range") == name) & (pl.col("endpoint") == endpoint) & (pl.col("pings") >= 0.01)
                )
                axes.plot(
                    of["predicted"] / 1e6, of["goodput_bps"] / 1e6, linestyle="none", marker=MARKS[index], markersize=3,
                    color=look(index)["color"], alpha=0.7, label=endpoint,
                )  # fmt: skip
            axes.plot(
                [1e-3, 10], [1e-3, 10], color="#666666", linewidth=0.8, linestyle=DASHED, label="measured = predicted"
            )
            axes.set(xscale="log", yscale="log", xlabel="Predicted (Mbit/s)")
            axes.set_title(f"loss {name}", color="#555555")
        panels[0].set_ylabel("Measured (Mbit/s)")
        for axes in panels:
            axes.set_yticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
            axes.set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
            axes.set_xlim(0.004, 6)
        chart.legend_below()
    return Figure(
        "validation",
        "Measured against predicted",
        f"Each mark: a transfer of {about['validation']['duration_s']} s, against Padhye's formula (T0 = 3 s) with the loss rate that "
        f"{about['validation']['pings']} pings showed; hours in which they showed less than 1 % are left out, as on the page. The line is "
        "equality. The columns of marks are the pings' whole per cents.",
        chart,
        hours,
    )


def why_r2(fits: pl.DataFrame) -> str:
    """What R² says."""

    def of(what: str) -> str:
        values = fits.filter(pl.col("what").str.starts_with(what))["r2"]
        return f"{values.min():.2f} to {values.max():.2f}"

    return (
        f"R² as the page takes it is {of('as the page: ')}, by TCP and range of loss. It is not a figure of the formula alone. In the same hours it "
        f"is {of('pings of 1 % and more, but 1')} with a thousand pings instead of a hundred and "
        f"{of('pings of 1 % and more, but the')} with the true loss rate, {of('every hour, the true loss')} if no hour is left out: a hundred "
        "pings tell a loss rate of 2 % from one of 4 % hardly. How the loss rates of May 1999 were spread the page does not say. And R² does "
        "not see a constant factor: where the marks lie above the line the formula is low, however near 1 R² is."
    )


def method(context: Context) -> list[str]:
    """How it was measured."""
    about, quick = context.about, context.quick
    plan = about["chart"]["quick" if quick else "full"]
    of = about["formula"]
    return [
        "One TCP over a link of unlimited rate and queue: packets with data are lost by chance, one as likely as another, and the RTT stands still. "
        "Goodput is payload delivered in order.",
        "TCP of 1999: the profile classic (NewReno without SACK, a timer of at least 1 s, initial window 2) that counts ACKs, one for two segments. "
        "Linux today: SACK, RACK, tail-loss probes, growth by bytes, a timer of 200 ms and more. Both with Reno's law, MSS 1460, 128 KiB of window. "
        "The page names neither; both are shown.",
        f"Chart: runs of {plan['events']} losses, 60 to {plan['longest']} s, after {SETTLE:g} s left out; n = {plan['seeds']} seeds, which draw the losses.",
        f"Formulas: Mathis with C = 1; Padhye in full (b = {of['b']}, T0 = {of['t0_s']:g} s as on the page, and {of['rto_min_s']:g} s, the timer's floor), "
        "with the bracket where the paper has it. Its model takes the rest of a round for lost with the first packet; here each packet is lost by itself, "
        "at the rate that pings would show, which is what the page feeds to both formulas.",
    ]
