"""The figures of the field: what they show is what the tables say, and a statistic has the value that textbooks give."""

import json
import shutil
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import cclab
from cclab import ResultError, UnknownNameError, metrics, versus
from cclab.analysis import figures, studies
from cclab.analysis.plots import Chart, covered, seen, styled

EXAMPLES = Path(__file__).parents[2] / "examples"
DEPTHS = ["0.5 BDP", "1 BDP", "2 BDP"]


@pytest.fixture(scope="module")
def study(small, tmp_path_factory):
    """Two flows of two laws each, over three depths of the buffer, with samples."""
    flows = [{"cc": "cubic", "start_jitter": "50 ms"}, {"cc": "reno", "start_jitter": "50 ms"}]
    base = small.replace({"flows": flows, "warmup": "500 ms", "record": {"samples": "20 ms"}})
    laws = ["cubic", "reno"]
    made = cclab.Study(base, keep="samples").vary(
        {"network.queue.limit": DEPTHS, "flows.0.cc": laws, "flows.1.cc": ["reno", "vegas"]}
    )
    return made.replicate(3).run(tmp_path_factory.mktemp("figures") / "s")


def drawn(chart: Chart) -> dict[str, list[list[float]]]:
    return {one["name"]: [point[2:] for point in one["points"]] for one in chart.series()["series"]}


def words(chart: Chart) -> list[str]:
    return [text.get_text() for legend in chart.legends for text in legend.get_texts()]


def test_an_ellipse_holds_95_of_100_of_a_normal_distribution():
    rng = np.random.Generator(np.random.PCG64(1))
    points = rng.multivariate_normal([3.0, -1.0], [[2.0, 1.2], [1.2, 1.0]], size=40_000)
    (x, y), width, height, angle = figures.ellipse(*points.T)
    turn = np.radians(angle)
    (c, d), centred = (np.cos(turn), np.sin(turn)), points - [x, y]
    along = np.column_stack([centred @ [c, d], centred @ [-d, c]])
    inside = (2 * along[:, 0] / width) ** 2 + (2 * along[:, 1] / height) ** 2 <= 1
    assert inside.mean() == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 40_000))
    assert figures.ellipse([1, 2, 3, 4], [1, 3, 2, 4]) is None
    assert figures.ellipse([1] * 5, [1, 2, 3, 4, 5]) is None


@pytest.mark.parametrize("n", [5, 10])
def test_an_ellipse_of_few_runs_holds_the_next_one_as_often(n):
    rng, held, tries = np.random.Generator(np.random.PCG64(2)), 0, 4000
    for points in rng.multivariate_normal([3.0, -1.0], [[2.0, 1.2], [1.2, 1.0]], size=(tries, n + 1)):
        middle, width, height, angle = figures.ellipse(*points[:n].T)
        dx, dy = points[n] - middle
        turn = np.radians(angle)
        along, across = dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)
        held += (2 * along / width) ** 2 + (2 * across / height) ** 2 <= 1
    assert held / tries == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / tries))


def test_boxes_and_distributions_are_quantiles():
    values = np.arange(101.0)  # the q-quantile is 100 q
    chart = figures.boxes({"a": values, "none": [np.nan]}, "x (ms)")
    (axes,) = chart.axes
    (box,) = axes.patches
    assert (box.get_x(), box.get_x() + box.get_width()) == (25.0, 75.0)
    assert drawn(chart)["a"] == [[50.0, "a"]]
    (whiskers,) = axes.collections
    assert [[float(x) for x in s[:, 0]] for s in whiskers.get_segments()] == [[5.0, 25.0], [75.0, 95.0]]
    points = drawn(figures.cdf({"a": np.arange(1.0, 11.0)}, "x (ms)"))["a"]
    assert points[5] == [5.0, 0.5]
    assert points[-1] == [10.0, 1.0]


def test_a_distribution_of_any_number_of_values_is_small_and_right():
    rng = np.random.Generator(np.random.PCG64(3))
    q = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0]
    made = figures.Distribution()
    parts = [rng.lognormal(3.0, 0.7, size=10_000) for _ in range(30)]
    for part in parts:
        made.add([*part, np.nan])
    assert made.quantiles(q) == pytest.approx(np.quantile(np.concatenate(parts), q), rel=1e-3)
    values, shares = made.line()
    assert len(values) < 7000  # from e^(3 − 0.7 × 4.7) to e^(3 + 0.7 × 4.7) in steps of 0.1 %
    of_all = np.searchsorted(np.sort(np.concatenate(parts)), values * 1.001, "right") / 300_000
    assert shares == pytest.approx(of_all, abs=2e-3)
    few = rng.lognormal(3.0, 1.0, size=20)
    assert figures.Distribution(few).quantiles(q) == pytest.approx(np.quantile(few, q), rel=1e-12)
    alone = figures.Distribution([40.0] * 1000)
    assert set(alone.quantiles(q)) == {40.0}
    assert drawn(figures.cdf({"a": alone}, "x"))["a"] == [[40.0, 0.0], [40.0, 1.0]]  # a step that is seen
    assert np.isnan(figures.Distribution([np.nan]).quantiles(q)).all()
    assert list(figures.Distribution([0.0, 0.0]).quantiles([0.5])) == [0.0]


def test_figures_of_many_runs_keep_one_run_at_a_time(study, monkeypatch):
    """As many samples as there are: what is held of them is bounded, whatever the number of runs."""
    held = weakref.WeakSet()
    most = 0
    load = cclab.Result.load

    def loaded(place):
        nonlocal most
        result = load(place)
        held.add(result)
        most = max(most, len(held))
        return result

    monkeypatch.setattr(cclab.Result, "load", loaded)
    study.plot.delay_cdf(by=["cc"])
    assert 1 <= most <= 2  # the one before goes when the next is there


def test_no_tick_is_a_formula():
    with styled():
        chart = Chart()
        axes = chart.add_subplot()
        axes.plot([1, 2, 3], [0.2, 0.35, 0.5], label="a")
        axes.set_yscale("log")
        axes.set_xscale("log")
    chart.svg()
    labels = [t.get_text() for t in (*axes.get_yticklabels(which="both"), *axes.get_xticklabels(which="both"))]
    assert any(labels)
    assert not any("$" in label or "math" in label for label in labels)


def test_no_legend_is_wider_than_its_figure():
    for names in (["a", "b"], ["a rather long name of a line " * 2] * 1 + ["short"], ["x" * 150]):
        with styled():
            chart = Chart()
            for i, name in enumerate(names):
                chart.gca().plot([0, 1], [i, i], label=name)
            chart.legend_below()
        chart.draw_without_rendering()
        (legend,) = chart.legends
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= chart.bbox.width
        assert words(chart) == names


def test_capacity_stands_behind_the_rate(result):
    chart = result.plot.throughput()
    assert {y for _, y in drawn(chart)["capacity, bottleneck"]} == {10.0}  # Mbit/s, as the scenario says


def test_shares_over_the_depth_of_a_buffer_add_up(study):
    data = study.plot._flows
    sums = data.group_by(*study.parameters, "seed").agg(pl.col("share").sum())["share"]
    assert sums.to_numpy() == pytest.approx(1.0)
    chart = study.plot.share()
    (axes,) = chart.axes
    assert axes.get_xlabel() == "network.queue.limit (BDP)"
    shown = drawn(chart)
    of = data.filter(
        pl.col("flow") == "reno-1", pl.col("network.queue.limit") == "2 BDP", pl.col("flows.0.cc") == "cubic"
    )
    x, y, *_ = shown["reno-1, cubic, reno"][-1]
    assert x == 2.0
    assert y == pytest.approx(100 * of["share"].mean(), rel=1e-4)


def test_names_are_not_joined_and_quantities_are(study):
    names = study.plot.over("jain", "flows.0.cc").axes[0]
    assert {line.get_linestyle() for line in names.lines if len(line.get_xdata()) == 2} == {"None"}
    assert [t.get_text() for t in names.get_xticklabels()] == ["cubic", "reno"]
    assert names.get_ylim()[1] <= 1.03
    joined = study.plot.over("jain", "network.queue.limit").axes[0]
    assert "-" in {line.get_linestyle() for line in joined.lines if len(line.get_xdata()) == 3}


def test_panels_for_two_factors(study):
    chart = study.plot.facets("flows.0.cc", "flows.1.cc")
    assert len(chart.axes) == 4
    assert [axes.get_title(loc="left") for axes in chart.axes][:2] == [
        "flows.0.cc = cubic\nflows.1.cc = reno", "flows.0.cc = cubic\nflows.1.cc = vegas",
    ]  # fmt: skip
    assert set(words(chart)) == {"cubic-1", "reno-1", "vegas-1", "reno-2"}  # flows of one scenario lie over each other


def test_a_heat_map_has_the_mean_of_each_pair(study):
    chart = study.plot.heatmap("flows.1.cc", "flows.0.cc")
    maps = [axes for axes in chart.axes if axes.get_xlabel() == "flows.1.cc"]
    assert len(maps) == len(DEPTHS)
    flows = study.plot._flows.filter(pl.col("network.queue.limit") == "0.5 BDP")
    pair = flows.filter(pl.col("flows.0.cc") == "cubic", pl.col("flows.1.cc") == "vegas", pl.col("flow") == "cubic-1")
    cells = {(t.get_position()): t.get_text() for t in maps[0].texts}
    assert float(cells[(1.5, 0.5)]) == pytest.approx(100 * pair["share"].mean(), rel=5e-3)


def test_harm_of_a_sweep_is_that_of_its_solo_runs(small, study, tmp_path):
    def flows(*laws):
        return {"flows": [{"cc": law, "start_jitter": "50 ms"} for law in laws]}

    base = small.replace({"warmup": "500 ms", "record": {"samples": "off"}})
    with_whom = {"nobody": flows("reno"), "cubic": flows("reno", "cubic"), "two": flows("reno", "reno", "vegas")}
    pairs = cclab.Study(base).vary({"beside": with_whom, "flows.0.cc": ["reno", "vegas"]}).replicate(2)
    pairs = pairs.run(tmp_path / "pairs")
    shown = {t.get_position(): float(t.get_text()) for t in pairs.plot.heatmap(metric="harm").axes[0].texts}
    of = pairs.table("flows").filter(pl.col("flows.0.cc") == "vegas", pl.col("label") == "vegas-1").sort("seed")
    solo, beside = (of.filter(pl.col("beside") == who)["goodput_bps"] for who in ("nobody", "two"))
    lost = [metrics.harm(a, b) for a, b in zip(solo, beside, strict=True)]
    assert solo.len() == 2
    assert shown[(1.5, 1.5)] == pytest.approx(np.mean(lost), rel=5e-3)
    assert len(shown) == 4  # nobody harms nobody
    lines = drawn(pairs.plot.over("harm", "flows.0.cc"))
    assert lines["two"][1][1] == pytest.approx(np.mean(lost), rel=1e-3)
    with pytest.raises(ResultError, match="harm needs runs in which the first flow is alone"):
        study.plot.heatmap("flows.1.cc", "flows.0.cc", metric="harm")


def test_harm_of_odd_sweeps(monkeypatch):
    """(solo - mixed) / solo once for each run: a flow that gets nothing alone has none, and two ways to be alone are told."""

    def of(*runs):
        rows = [(who, seed, label, x) for who, seed, flows in runs for label, x in flows]
        frame = pl.DataFrame(rows, ["beside", "seed", "label", "goodput_bps"], orient="row")
        frame = frame.with_columns(pl.lit(0).alias(name) for name in studies._SAME_FOR_ALL_RUNS if name != "seed")
        monkeypatch.setattr(studies, "of_study", lambda _: frame)
        return studies.harm_of(SimpleNamespace(name="odd", parameters=["beside"])).sort("seed")["harm"].to_list()

    def solo(x):
        return [("reno", x)]

    def two(x):
        return [("reno", x), ("cubic", 1.0)]

    nobody, cubic = [("nobody", seed, solo(x)) for seed, x in ((1, 8.0), (2, 0.0))], ("cubic", 1, two(2.0))
    assert of(*nobody, cubic, ("cubic", 2, two(0.0))) == [0.75]
    with pytest.raises(ResultError, match="first flow is alone and gets something"):
        of(nobody[1], ("cubic", 2, two(1.0)))
    with pytest.raises(ResultError, match=r"odd: harm needs one run .* differ in beside: nobody, background; keep one"):
        of(nobody[0], ("background", 1, solo(4.0)), cubic)


def test_the_first_of_many_flows_has_its_share_and_not_its_laws(small, tmp_path):
    flows = [{"cc": "reno", "count": 3, "start_jitter": "20 ms"}, {"cc": "reno", "count": 3}]
    base, laws = small.replace({"flows": flows, "record": {"samples": "off"}}), ["reno", "cubic"]
    pairs = cclab.Study(base).vary({"flows.0.cc": laws, "flows.1.cc": laws}).run(tmp_path / "pairs")
    shown = {t.get_position(): float(t.get_text()) for t in pairs.plot.heatmap().axes[0].texts}
    goodput = pairs.table("flows").filter((pl.col("flows.0.cc") == "reno") & (pl.col("flows.1.cc") == "reno"))[
        "goodput_bps"
    ]
    assert shown[(0.5, 0.5)] == pytest.approx(100 * goodput[0] / goodput.sum(), rel=5e-3)


def test_delays_and_convergence_come_from_the_samples_of_all_runs(study):
    box = drawn(study.plot.delay_box(by=["cc"]))
    samples = []
    for point in range(len(study.points())):
        for replication in range(3):
            result = study.result(point, replication)
            of = result.samples.filter(pl.col("flow").str.starts_with("vegas"), pl.col("time_s") >= result.warmup_s)
            samples += (of["rtt_s"].drop_nans() * 1e3).to_list()
    assert box["vegas"][0][0] == pytest.approx(np.median(samples), rel=1e-4)
    assert set(words(study.plot.delay_cdf(by=["cc"]))) == {"cubic", "reno", "vegas"}
    rows = [t.get_text() for t in study.plot.convergence().axes[0].get_yticklabels()]
    assert len(rows) == 12
    never = np.isinf([metrics.convergence_time_s(study.result(0, k)) for k in range(3)]).sum()
    assert rows[0] == "0.5 BDP, cubic, reno" + (f" ({3 - never} of 3 did)" if never else "")


def test_convergence_of_a_run_is_that_of_the_metric(small):
    late = small.replace({"duration": "20 s", "flows": [{"cc": "reno"}, {"cc": "reno", "start": "2 s"}]}).run(seed=1)
    took = metrics.convergence_time_s(late)
    assert np.isfinite(took)
    assert f"converged after {took:.4g} s" in late.plot.convergence().axes[0].get_title(loc="left")


def test_pairs_of_laws_are_told_apart():
    columns = ["cc", "flows.0.cc", "flows.1.cc"]
    pairs = [("cubic", "cubic", "reno"), ("cubic", "reno", "cubic"), ("reno", "reno", "reno")]
    assert studies._told_apart(columns, pairs) == ([", ".join(pair) for pair in pairs], ", ".join(columns))
    assert studies._told_apart(columns[:2], [("cubic", "cubic"), ("reno", "reno")]) == (["cubic", "reno"], None)


def test_what_names_are_values_of_is_told(study):
    """Of a name like "reno, 3" nobody knows of what there are three."""
    for chart in (study.plot.trade(), study.plot.delay_cdf()):
        assert chart.legends[0].get_title().get_text().splitlines()[0] == "cc, flows.0.cc, flows.1.cc"
    assert study.plot.delay_box().axes[0].get_ylabel() == "cc, flows.0.cc, flows.1.cc"


def test_distributions_that_coincide_are_told_apart():
    a = np.linspace(40, 80, 500)
    chart = figures.cdf({"a": a, "b": a * 1.001, "c": a * 1.1}, "x (ms)")
    assert chart.legends[0].get_title().get_text() == "on the line of a: b"
    assert [line.get_linestyle() for line in chart.axes[0].lines] == ["-", "--", "-"]


def test_distributions_far_from_zero_are_as_far_apart_as_they_are_seen():
    """2 ms of 10 on the axis are a fifth of its width, though 0.2 % of the values."""
    a = np.linspace(1000, 1010, 500)
    chart = figures.cdf({"a": a, "b": a + 2, "c": a + 0.05}, "x (ms)")
    assert chart.legends[0].get_title().get_text() == "on the line of a: c"


@pytest.mark.parametrize(
    ("scale", "top", "covers"),
    [("linear", 2, {}), ("linear", 100, {"b": "a"}), ("log", 100, {}), ("log", 1e20, {"b": "a"})],
)
def test_lines_coincide_where_their_axis_shows_them_as_one(scale, top, covers):
    """1 and 1.2 on an axis from 0.1 on: 10 % of one to 2, 0.2 % of one to 100; 2.6 % and 0.4 % of logarithmic ones."""
    x = np.linspace(0, 10, 50)
    axes = Figure().add_subplot()
    lines = {"a": np.column_stack([x, 0 * x + 1]), "b": np.column_stack([x, 0 * x + 1.2])}
    axes.set_yscale(scale)
    axes.set(xlim=(0, 10), ylim=(0.1, top))
    assert covered({name: seen(axes, line) for name, line in lines.items()}) == covers


def test_intervals_at_one_value_stand_aside_of_each_other(study):
    """So that all of them are seen; the values that are told stay those that were run."""
    chart = study.plot.over("goodput", "network.queue.limit")
    drawn = [container.lines[0] for container in chart.axes[0].containers]
    assert len(drawn) > 1
    places = [line.get_transform().transform(line.get_xydata())[0, 0] * 72 / chart.dpi for line in drawn]
    assert np.diff(places) == pytest.approx(10 / (len(drawn) - 1))  # wider than a cap, in points
    assert len({tuple(line.get_xdata()) for line in drawn}) == 1
    told = [one["points"][0] for one in chart.series()["series"]]
    assert np.diff([point[0] for point in told]) == pytest.approx(
        10 / (len(drawn) - 1), abs=0.11
    )  # the tip is there, too
    assert len({point[2] for point in told}) == 1
    low, high = chart.axes[0].get_xlim()
    assert low < min(drawn[0].get_xdata()) < max(drawn[0].get_xdata()) < high


def test_a_long_legend_leaves_the_axes_their_room():
    def height_in(n):
        chart = figures.trade({f"a name that takes half of a row, {i}": ([1, 2], [3, 4]) for i in range(n)}, "x", "y")
        chart.draw_without_rendering()
        return chart.axes[0].bbox.height / chart.dpi

    assert height_in(24) > 0.75 * height_in(2)


def test_a_page_goes_without_what_is_too_much_or_failed(study, tmp_path, monkeypatch):
    assert {"facets", "heatmap", "convergence", "delay-box"} <= set(study.plot.all())
    shutil.copytree(study.place, tmp_path / "s")
    shutil.rmtree(next((tmp_path / "s/samples").iterdir()))  # as of a run that failed
    monkeypatch.setattr(studies, "_MOST_PANELS", 2)
    monkeypatch.setattr(studies, "_MOST_ROWS", 6)
    left = cclab.Study.load(tmp_path / "s")
    assert len(list(left.results())) == len(study) - 1
    assert set(left.plot.all()) == {"trade", "over", "share"}
    with pytest.raises(ResultError, match="4 panels; at most 2"):
        left.plot.facets("flows.0.cc", "flows.1.cc")


def test_what_a_study_cannot_show_is_said(small, study, tmp_path):
    bare = (
        cclab.Study(small.replace({"flows.*.start_jitter": "10 ms"}))
        .vary({"network.rtt": ["10 ms"]})
        .run(tmp_path / "s")
    )
    with pytest.raises(ResultError, match="only summaries are kept"):
        bare.plot.delay_cdf()
    with pytest.raises(ResultError, match="nothing is varied"):
        bare.plot.over()
    with pytest.raises(ResultError, match="two factors"):
        bare.plot.heatmap()
    with pytest.raises(UnknownNameError, match=r'"network.rat"'):
        study.plot.share("network.rat")
    with pytest.raises(UnknownNameError, match='"speed"'):
        study.plot.over("speed")
    with pytest.raises(ResultError, match="no transfer has ended"):
        study.plot.over("completion")
    with pytest.raises(ResultError, match="has not been run"):
        cclab.Study(small).plot  # noqa: B018


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    question = versus.Question("cubic", "vegas", rate="5 Mbit/s", rtt="20 ms", duration="8 s", seeds=3, against="reno")
    return versus.ask(question, tmp_path_factory.mktemp("laws") / "runs")


def test_the_map_of_harm_has_the_figures_of_the_sentences(answer):
    chart = answer.heat()
    share, harm = chart.axes[:2]
    laws = ["cubic", "vegas", "reno"]
    place = (laws.index("cubic") + 0.5, laws.index("vegas") + 0.5)  # one vegas beside a cubic
    assert {t.get_position(): t.get_text() for t in harm.texts}[place] == f"{answer.harm('cubic', 'vegas').value:.3g}"
    told = answer.estimate((("vegas", 1), ("cubic", 1)), "share", "vegas").value
    assert {t.get_position(): t.get_text() for t in share.texts}[place] == f"{100 * told:.3g}"
    assert set(answer.figures()) == {
        "shares", "heatmap", "trade", "delay-cdf", "delay-box", "convergence", "throughput-0", "throughput-1", "throughput-2",
    }  # fmt: skip


def test_plot_draws_what_is_kept(study, answer, cli, tmp_path):
    place = study.place
    status, out, err = cli("plot", place, "--out", tmp_path / "all")
    assert (status, err) == (0, "")
    assert {line.rpartition("/")[2] for line in out.split()} == {
        f"{name}.svg" for name in ("trade", "over", "share", "heatmap", "facets", "delay-cdf", "delay-box", "convergence")
    }  # fmt: skip
    one = ["--figure", "share", "--over", "flows.0.cc", "--format", "png", "--out", tmp_path / "one"]
    assert cli("plot", place, *one)[:2] == (0, f"{tmp_path}/one/share.png\n")
    assert cli("plot", place, "--rows", "flows.0.cc", "--metric", "queue", "--out", tmp_path / "one")[0] == 0
    for wrong, told in (
        (["--figure", "cwnd"], "no figure of a sweep"),
        (["--figure", "share", "--metric", "jain"], "--metric"),
        (["--over", "flows.0.rtt"], 'nothing called "flows.0.rtt" is varied; there are: network.queue.limit, '),
        (["--figure", "pie"], "pie"),
    ):
        status, _, err = cli("plot", place, *wrong)
        assert status == 2
        assert told in err
    from cclab.report import write_versus

    folder = answer.study.place.parent
    write_versus(answer, folder)
    assert versus.load(folder).sentences == answer.sentences
    assert json.loads((folder / "question.json").read_text())["against"] == "reno"
    assert cli("plot", folder, "--figure", "heatmap")[1].endswith("heatmap.svg\n")
    assert cli("report", folder)[0] == 0
    assert cli("plot", folder, "--over", "mix")[0] == 2
    assert cli("compare", place, place, "--out", tmp_path / "c")[0] == 0
    assert f"{tmp_path}/c/comparison.svg" in cli("plot", tmp_path / "c")[2]


def test_every_name_of_a_metric_has_its_unit():
    assert all("(" in metric.label or metric.column in ("jain", "harm") for metric in studies.NAMES.values())


def test_no_interval_of_an_index_leaves_its_bounds(study):
    found = study.summary("jain", table="runs")
    free = study.table("runs").group_by(study.parameters).agg(pl.col("jain"))
    assert any(cclab.stats.mean(values.to_list()).high > 1 for values in free["jain"])  # Student's alone would
    assert found["high"].max() <= 1


def test_a_run_in_which_a_flow_starved_is_in_the_trade(small):
    """Its delay is that of the flows that have one (here of one: by hand), and the starved are told."""
    late = {"cc": "cubic", "start": "1990 ms"}  # too late for a packet to arrive
    made = cclab.Study(small.replace({"duration": "2 s", "flows": [{"cc": "cubic"}, late]})).run()
    flows = made.table("flows")
    assert np.isfinite(flows["owd_p95_s"].to_list()).tolist() == [True, False]
    chart = made.plot.trade()
    assert drawn(chart)["cubic"] == [
        pytest.approx([flows["owd_p95_s"][0] * 1e3, flows["goodput_bps"].mean() / 1e6], 1e-4)
    ]
    assert chart.get_supxlabel() == "1 of 2 flows delivered nothing: they have no delay"
    assert not cclab.Study(small).run().plot.trade().get_supxlabel()


def test_a_flow_without_a_line_is_not_in_the_legend(small):
    """Datagrams have no window and no round-trip time."""
    call = {"label": "call", "kind": "cbr", "rate": "100 kbit/s"}
    run = small.replace({"flows": [{"cc": "reno"}, call], "record": {"samples": "20 ms"}}).run()
    assert "call" in words(run.plot.throughput())
    for chart in (run.plot.cwnd(), run.plot.rtt()):
        assert "reno-1" in words(chart)
        assert "call" not in words(chart)


def test_ticks_are_what_was_run(study):
    """A logarithmic axis shows the values themselves, less those whose labels would lie on each other."""
    values = [5, 10, 20, 50, 100, 101, 200]
    data = pl.DataFrame({"limit": [f"{v} packets" for v in values], "n": 1, "mean": 1.0, "low": 0.9, "high": 1.1})
    (axes,) = studies.over(data, "limit", [], studies.NAMES["utilisation"]).axes
    assert axes.get_xticks().tolist() == [5, 10, 20, 50, 100, 200]
    chart = studies.over(data.head(3), "limit", [], studies.NAMES["utilisation"])
    assert not chart.axes[0].texts
    names = data.head(2).with_columns(limit=pl.Series(["codel", "red"]))
    chart = studies.over(names, "limit", [], studies.NAMES["utilisation"])
    assert [text.get_text() for text in chart.axes[0].texts] == ["100", "100"]  # %
    assert study.plot.over("utilisation").legends[0].get_title().get_text() == "flows.0.cc, flows.1.cc"


def test_nobody_converged():
    chart = figures.dots({"a": [np.inf, np.inf]}, "Time (s)")
    assert [text.get_text() for text in chart.axes[0].texts] == ["no run did"]
    assert not len(chart.axes[0].get_xticks())


def test_what_is_out_of_reach_is_named_and_not_drawn(small):
    wide = small.replace({"network.rate": "1 Gbit/s", "flows": [{"kind": "cbr", "rate": "1 Mbit/s"}]})
    chart = wide.replace({"record": {"samples": "20 ms"}}).run().plot.throughput()
    assert "capacity, bottleneck: 1000 Mbit/s (not reached)" in words(chart)
    assert chart.axes[0].get_ylim()[1] < 2


def test_a_limit_of_one_station_is_no_limit_of_all():
    air = cclab.Scenario.load(EXAMPLES / "access-point.toml").replace({"duration": "6 s", "warmup": "1 s"}).run()
    assert words(air.plot.queue())[0] == "air"
    assert not any(word.startswith("limit") for word in words(air.plot.queue()))


def test_one_tcp_flow_beside_datagrams_has_no_index(small, tmp_path):
    flows = [{"cc": "reno"}, {"kind": "cbr", "rate": "100 kbit/s"}]
    ran = cclab.Study(small.replace({"flows": flows})).vary({"network.rtt": ["10 ms", "20 ms"]}).run(tmp_path / "s")
    assert "jain" not in [metric.column for metric in studies.per_run(ran)[1]]
