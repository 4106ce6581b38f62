"""The page of a sweep: every point with its interval, figures over what was varied."""

import polars as pl
import pytest

import cclab
from cclab.report import sweep as page_of
from cclab.report import write_report
from test_report import Page


@pytest.fixture(scope="module")
def swept(small, tmp_path_factory):
    place = tmp_path_factory.mktemp("swept") / "sweep"
    study = cclab.Study(small.replace({"name": "<b>buffers</b>"})).vary(
        **{"network.queue.limit": ["5 packets", "20 packets", "80 packets"], "flows.0.cc": ["cubic", "reno"]}
    )
    return study.replicate(3).run(out=place), place


def test_a_page_with_every_point_and_figure(swept):
    study, place = swept
    text = write_report(place).read_text()
    parsed = Page(text)
    assert parsed.open == []
    assert "<b>buffers" not in text
    assert "6 points, 3 replications each: 18 of 18 runs are finished" in text
    assert text.count('<figure id="figure-') == 5
    assert "cclab sweep sweep" in text
    assert len(study) == len(cclab.Study.load(place)) == 18  # a page in its folder does the store no harm
    study.run(out=place)


def test_figures_are_those_of_the_tables(swept):
    study, _ = swept
    frame, metrics, link = page_of.per_run(study)
    assert (frame.height, link) == (18, "bottleneck")
    columns, rows = page_of.table(frame, study.parameters, metrics)
    assert len(rows) == 6
    runs = study.table("flows").filter(pl.col("network.queue.limit") == "5 packets", pl.col("flows.0.cc") == "cubic")
    total = runs.group_by("seed").agg(pl.col("goodput_bps").sum())["goodput_bps"].mean() / 1e6
    assert rows[0][columns.index("Goodput of all flows (Mbit/s)")].startswith(f"{total:.4g} ±")


@pytest.mark.parametrize(
    ("values", "axis"),
    [
        (["10 ms", "0.1 s"], ([10.0, 100.0], "ms")),
        (["0.5 BDP", "2 BDP"], ([0.5, 2.0], "BDP")),
        (["1 Gbit/s", "250 Mbit/s"], ([1.0, 0.25], "Gbit/s")),
        ([1, 2.5], ([1.0, 2.5], "")),
        (["10 ms", "5 packets"], None),
        (["cubic", "reno"], None),
        ([True, False], None),
    ],
)
def test_quantities_of_one_kind_make_an_axis(values, axis):
    assert page_of.axis(values) == axis


def test_too_many_lines_become_figures():
    points = [(f"{r} ms", cc, q) for r in (10, 20) for cc in "abcd" for q in ("x", "y")]
    frame = pl.DataFrame(
        [{"rtt": r, "cc": cc, "queue": q, "seed": s, "jain": 1.0} for r, cc, q in points for s in (1, 2)]
    )
    made = page_of.figures(frame, ["rtt", "cc", "queue"], [page_of.Metric("jain", "Jain's index")])
    assert [title for _, title, _, _ in made] == ["Jain's index, queue = x", "Jain's index, queue = y"]
    assert [len(chart.series()["series"]) for *_, chart, _ in made] == [4, 4]


def test_one_run_has_no_interval(small, tmp_path):
    cclab.Study(small).run(out=tmp_path / "one")
    text = write_report(tmp_path / "one").read_text()
    assert "there is no interval" in text
    assert " ± " not in text.split("<h2>Every point</h2>")[1].split("</tbody>")[0]


def test_replications_that_cannot_differ_are_told(small, tmp_path):
    """Without anything left to chance ± 0 would mislead."""
    still = {"flows.0.count": 1, "record": {"samples": "off"}}
    cclab.Study(small.replace(still)).replicate(3).run(out=tmp_path / "still")
    assert "all runs are the same to the last bit" in write_report(tmp_path / "still").read_text()
    jittered = small.replace({**still, "flows.0.start_jitter": "100 ms"})
    cclab.Study(jittered).replicate(3).run(out=tmp_path / "jittered")
    assert "the same to the last bit" not in write_report(tmp_path / "jittered").read_text()
