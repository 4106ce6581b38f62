"""Figures: units on the axes, names in the legend, valid vector files, colours that stay with a flow."""

import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest
from matplotlib.lines import Line2D

from cclab import ResultError, Scenario, plots
from cclab.analysis.plots import DASHED, Chart, styled

UNITS = {"cwnd": "(kB)", "throughput": "(Mbit/s)", "rtt": "(ms)", "queue": "(packets waiting)"}


@pytest.mark.parametrize("name", UNITS)
def test_axes_have_units_and_lines_have_names(result, name):
    chart = getattr(result.plot, name)()
    (axes,) = chart.axes
    assert axes.get_xlabel() == "Time (s)"
    assert UNITS[name] in axes.get_ylabel()
    (legend,) = chart.legends
    words = [text.get_text() for text in legend.get_texts()]
    expected = ["bottleneck", "limit: 20 packets"] if name == "queue" else ["cubic-1", "cubic-2", "reno-1"]
    assert words[: len(expected)] == expected
    assert ("ssthresh" in words) == (name == "cwnd")


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_saved_as(result, name, kind, tmp_path):
    path = tmp_path / f"x.{kind}"
    getattr(result.plot, name)().save(path)
    data = path.read_bytes()
    assert data.startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[kind])
    if kind == "svg":
        root = ET.fromstring(data)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "viewBox" in root.attrib
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_same_data_give_the_same_picture(result):
    assert result.plot.cwnd().svg() == result.plot.cwnd().svg()


def test_a_flow_keeps_its_colour(result):
    def colours(chart):
        (legend,) = chart.legends
        words = [text.get_text() for text in legend.get_texts()]
        return {word: handle.get_color() for word, handle in zip(words, legend.legend_handles, strict=True)}

    every = colours(result.plot.rtt())
    assert len({every[f] for f in ("cubic-1", "cubic-2", "reno-1")}) == 3
    assert colours(result.plot.rtt(flows=["reno-1"]))["reno-1"] == every["reno-1"]
    assert colours(result.plot.cwnd())["reno-1"] == every["reno-1"]


def test_lines_that_coincide_are_told_apart():
    """Flows that share a queue have one RTT: who draws theirs on each other hides one. Of other paths they are apart."""
    shared = {
        "duration": "10 s",
        "network": {"rate": "20 Mbit/s", "rtt": "40 ms"},
        "flows": [{"cc": "cubic"}, {"cc": "reno"}],
        "record": {"samples": "20 ms"},
    }
    chart = Scenario.from_dict(shared).run().plot.rtt()
    assert chart.legends[0].get_title().get_text() == "on the line of cubic-1: reno-1"
    assert [line.is_dashed() for line in chart.axes[0].lines[:2]] == [False, True]
    apart = Scenario.from_dict(shared | {"flows": [{"cc": "cubic"}, {"cc": "reno", "rtt": "80 ms"}]}).run().plot.rtt()
    assert apart.legends[0].get_title().get_text() == ""
    assert not any(line.is_dashed() for line in apart.axes[0].lines[:2])


def test_what_a_discipline_drops_is_not_lost_to_a_full_queue():
    codel = {
        "duration": "10 s",
        "network": {"rate": "5 Mbit/s", "rtt": "40 ms", "queue": {"discipline": "codel"}},
        "flows": [{"cc": "reno"}],
        "record": {"samples": "50 ms", "frames": True},
    }
    result = Scenario.from_dict(codel).run()
    assert set(result.losses["cause"]) == {"discipline"}
    words = [text.get_text() for text in result.plot.cwnd().legends[0].get_texts()]
    assert f"lost: the queue's discipline ({result.losses.height})" in words
    assert not any("full queue" in word for word in words)


def test_no_bin_is_narrower_than_the_samples():
    """A transfer of half a second, sampled every 100 ms: not five spikes of many times the link's rate."""
    short = Scenario.from_dict(
        {
            "duration": "10 s",
            "network": {"rate": "20 Mbit/s", "rtt": "20 ms"},
            "flows": [{"cc": "cubic", "size": "1 MB"}],
        }
    ).run()
    rates = [patch.get_data().values for patch in short.plot.throughput().axes[0].patches if hasattr(patch, "get_data")]
    assert rates
    assert max(np.nanmax(values) for values in rates) < 20


def test_goodput_in_bins_adds_up_to_what_was_delivered(result):
    chart = result.plot.throughput(bin_s=0.1, flows=["cubic-1"])
    (patch,) = chart.axes[0].patches
    values, edges, _ = patch.get_data()
    delivered = result.samples.filter((pl.col("flow") == "cubic-1") & (pl.col("time_s") <= edges[-1]))
    assert np.sum(values * np.diff(edges)) * 1e6 / 8 == pytest.approx(delivered["delivered_bytes"][-1])


def test_many_flows_share_the_colour_of_their_law(small):
    many = small.replace(flows=[{"cc": "cubic", "count": 20}, {"cc": "reno", "count": 20}]).run()
    (legend,) = many.plot.cwnd().legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "cubic (20 flows): mean, band 10–90 %",
        "reno (20 flows): mean, band 10–90 %",
    ]
    (cubic, reno) = many.plot.cwnd().axes[0].lines
    last = many.samples.filter(pl.col("time_s") == many.samples["time_s"].max())
    for line, law in ((cubic, "cubic"), (reno, "reno")):
        of = last.filter(pl.col("flow").str.starts_with(law))["cwnd_bytes"]
        assert line.get_ydata()[-1] == pytest.approx(of.mean() / 1e3)
    assert len(many.plot.throughput().svg()) < 400_000


def test_thinning_keeps_every_peak():
    x = pl.Series(np.arange(100_000.0))
    values = np.zeros(100_000)
    values[31_337] = 5.0
    values[71_234] = -5.0
    xs, ys = plots.thin(x, pl.Series(values))
    assert len(xs) <= 4000
    assert (ys.max(), ys.min()) == (5.0, -5.0)
    assert list(xs) == sorted(xs)
    assert xs[0] == 0
    assert xs[-1] == 99_999


def test_mistakes(result, tmp_path):
    result.plot.cwnd().save(tmp_path / "new" / "folder" / "x.svg")  # made where there is none
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match=r"file'$"):
        result.plot.cwnd().save(tmp_path / "file" / "x.svg")
    with pytest.raises(ResultError, match=r"\.svg, \.pdf or \.png"):
        result.plot.cwnd().save(tmp_path / "x.gif")
    with pytest.raises(ResultError, match="no flow called 'nobody'"):
        result.plot.cwnd(flows=["nobody"])


def test_nothing_of_pyplot(result):
    import sys

    result.plot.all()
    assert "matplotlib.pyplot" not in sys.modules


def test_a_limit_far_away_or_none(small):
    far = (
        small.replace({"network.queue.limit": "9999 packets", "flows": [{"cc": "reno", "size": "50 kB"}]})
        .run()
        .plot.queue()
    )
    assert "limit: 9999 packets (not reached)" in [text.get_text() for text in far.legends[0].get_texts()]
    assert far.axes[0].get_ylim()[1] < 200
    free = small.replace({"network.queue.limit": "unlimited"}).run()
    assert free.links.filter(pl.col("name") == "bottleneck")["queue_limit_packets"].is_nan().all()
    assert [text.get_text() for text in free.plot.queue().legends[0].get_texts()] == ["bottleneck"]


def test_a_limit_in_bytes_is_drawn_in_bytes(small):
    chart = small.replace({"network.queue.limit": "30 kB"}).run().plot.queue()
    assert chart.axes[0].get_ylabel() == "Queue (kB waiting)"
    assert "limit: 30 kB" in [text.get_text() for text in chart.legends[0].get_texts()]


@pytest.mark.parametrize("label", [r"_a $\\foo$ b<b>", "_hidden", "$", "$x"])
def test_labels_are_text(small, cli, tmp_path, label):
    flows = [{"cc": "reno", "label": label}, {"cc": "cubic"}]
    odd = small.replace({"flows": flows, "name": label}).run()
    for chart in odd.plot.all().values():
        chart.svg()
    (legend,) = odd.plot.rtt().legends
    assert label in [text.get_text() for text in legend.get_texts()]
    odd.save(tmp_path / "r")
    for command in ("plot", "report"):
        status, _, err = cli(command, tmp_path / "r")
        assert (status, err) == (0, "")


def test_warm_up_is_marked(small):
    chart = small.replace(warmup="500 ms").run().plot.cwnd()
    (band,) = chart.axes[0].patches
    assert (band.get_x(), band.get_width()) == (0, 0.5)
    assert "warm-up, not in the means" in [text.get_text() for text in chart.legends[0].get_texts()]


@pytest.mark.filterwarnings("error")
def test_a_run_shorter_than_its_samples(small):
    flows = [{"cc": "reno", "start": "0 s"}]
    short = small.replace(duration="20 ms", flows=flows, record={"samples": "30 ms"}).run()
    for chart in short.plot.all().values():
        assert [text.get_text() for text in chart.axes[0].texts] == ["fewer than two samples"]
        chart.svg()


def test_formulas_as_reference_lines(result):
    chart = result.plot.throughput().reference({"capacity": 10.0, "half of it, rising": lambda t: 5 + t})
    (axes,), (legend,) = chart.axes, chart.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["cubic-1", "cubic-2", "reno-1", "capacity, bottleneck", "capacity", "half of it, rising"]
    flat, rising = axes.lines[-2:]
    assert set(flat.get_ydata()) == {10.0}
    assert rising.get_ydata() == pytest.approx(5 + rising.get_xdata())
    assert axes.get_xlim() == result.plot.throughput().axes[0].get_xlim()
    assert {"capacity", "half of it, rising"} <= {one["name"] for one in chart.series()["series"]}


def test_the_legend_keeps_marks_and_says_what_dashes_mean():
    with styled():
        chart = Chart()
        axes = chart.subplots()
        axes.errorbar([1, 2], [3, 4], [0.5, 0.5], marker="s", label="measured")
        chart.legend_below(key={"by the formula": DASHED})
    chart.reference({"capacity": 10.0})
    (legend,) = chart.legends
    assert [text.get_text() for text in legend.get_texts()] == ["measured", "by the formula", "capacity"]
    marks = [line.get_marker() for line in legend.findobj(Line2D)]
    assert "s" in marks
    assert "--" in [line.get_linestyle() for line in legend.findobj(Line2D)]


def test_the_queue_of_a_short_transfer_ends_with_it():
    """50 kB over 10 Mbit/s and 40 ms are over within a second of a run of ten."""
    flow = {"cc": "reno", "size": "50 kB"}
    short = {
        "duration": "10 s",
        "network": {"rate": "10 Mbit/s", "rtt": "40 ms"},
        "flows": [flow],
        "record": {"samples": "10 ms"},
    }
    result = Scenario.from_dict(short).run(seed=1)
    charts = result.plot.all()
    ends = {name: charts[name].axes[0].get_lines()[0].get_xdata().max() for name in ("cwnd", "queue")}
    assert ends["queue"] < 1.0
    assert ends["queue"] == pytest.approx(ends["cwnd"], abs=0.02)
    assert result.plot.queue(end_s=5.0).axes[0].get_lines()[0].get_xdata().max() == pytest.approx(5.0)
