"""The page of a sweep: every point with its interval, figures over what was varied."""

import html
import re
import shlex

import polars as pl
import pytest

import cclab
from cclab.report import sweep as page_of
from cclab.report import write_report
from conftest import in_a_process, write
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
    # five metrics, goodput and share of each flow beside either law, goodput and delay
    assert text.count('<figure id="figure-') == 10
    assert "cclab sweep study.toml --out sweep" in text
    assert len(study) == len(cclab.Study.load(place)) == 18  # a page in its folder does the store no harm
    study.run(out=place)
    assert "– (0 of 3)" not in text  # of a flow that a point does not have


def test_a_column_that_no_run_has_is_named(tmp_path, small):
    chain = {"topology": "chain", "hops": 2, "wireless": {"profile": "ns2-2M"}}
    air = cclab.Scenario(duration="1 s", network=chain, flows=[cclab.Flow(cc="reno")], record={"samples": "off"})
    for scenario, told in ((air, True), (small, False)):
        place = tmp_path / str(told)
        cclab.Study(scenario).replicate(2).run(out=place)
        said = re.search(r"Of no run is there a figure of: (.*?)\.", write_report(place).read_text())
        assert (said is not None) == told
        assert not told or "Utilisation (%)" in said[1]


def test_figures_are_those_of_the_tables(swept):
    study, _ = swept
    frame, metrics, link = page_of.per_run(study)
    assert (frame.height, link) == (18, "bottleneck")
    columns, rows, _ = page_of.table(frame, study.parameters, metrics)
    assert len(rows) == 6
    runs = study.table("flows").filter(pl.col("network.queue.limit") == "5 packets", pl.col("flows.0.cc") == "cubic")
    work = pl.col("delivered_bytes").sum() * 8e-6 / (2.0 - pl.col("start_s").min())  # they start within a while
    total = runs.group_by("seed").agg(work.alias("work"))["work"].mean()
    assert rows[0][columns.index("|Goodput of all connections (Mbit/s)")].startswith(f"{total:.3g}")


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
    assert "±" not in text.split("<h2>Every point</h2>")[1].split("</tbody>")[0]


def test_replications_that_cannot_differ_are_told(small, tmp_path):
    """Without anything left to chance ± 0 would mislead."""
    still = {"flows.0.count": 1, "record": {"samples": "off"}}
    cclab.Study(small.replace(still)).replicate(3).run(out=tmp_path / "still")
    assert "all runs are the same to the last bit" in write_report(tmp_path / "still").read_text()
    jittered = small.replace({**still, "flows.0.start_jitter": "100 ms"})
    cclab.Study(jittered).replicate(3).run(out=tmp_path / "jittered")
    assert "the same to the last bit" not in write_report(tmp_path / "jittered").read_text()


TWO_PATHS = """
duration = "6 s"
warmup = "1 s"
[network]
topology = "custom"
nodes = ["a", "b", "c"]
[[network.links]]
from = "a"
to = "b"
rate = "4 Mbit/s"
delay = "5 ms"
[[network.links]]
from = "a"
to = "c"
rate = "4 Mbit/s"
delay = "5 ms"
[[network.links]]
from = "c"
to = "b"
rate = "100 Mbit/s"
delay = "5 ms"
[[flows]]
label = "s"
cc = "cubic"
scheduler = "redundant"
paths = [{ name = "1", route = ["a", "b"] }, { name = "2", route = ["a", "c", "b"] }]
start_jitter = "100 ms"
[record]
samples = "off"
"""


def test_a_session_counts_once(tmp_path):
    """Redundant copies over two paths of 4 Mbit/s are one stream: no more than 4 Mbit/s reach the application."""
    study = cclab.Study(cclab.Scenario.from_toml(TWO_PATHS)).replicate(3)
    study = study.run(out=tmp_path / "s")
    frame, metrics, _ = page_of.per_run(cclab.Study.load(tmp_path / "s"))
    copies = study.table("flows").group_by("seed").agg(pl.col("goodput_bps").sum())["goodput_bps"].min()
    assert copies > 5e6
    assert frame["goodput_bps"].max() <= 4e6
    assert "jain" not in [metric.column for metric in metrics]  # of one connection
    assert "Jain" not in cclab.Scenario.from_toml(TWO_PATHS).run(seed=1).summary()


def sized(small, size="1 MB", **more):
    flow = {"flows": [cclab.Flow(cc="cubic", size=size, start_jitter="100 ms")]}
    return small.replace({**flow, "duration": "20 s", "warmup": "10 s", "record": {"samples": "off"}, **more})


def test_a_sized_transfer_shows_when_it_was_complete(small, tmp_path):
    """8 Mbit over 10 Mbit/s take 0.8 s and slow start; all of it is before the warm-up's end."""
    study = cclab.Study(sized(small)).vary({"network.rtt": ["20 ms", "80 ms"]}).replicate(3)
    study = study.run(out=tmp_path / "s")
    text = write_report(tmp_path / "s").read_text()
    times = study.table("flows").filter(pl.col("network.rtt") == "20 ms")["fct_s"]
    for words in ("Completion time (s)", f"{times.mean():.3g}", "Median of completion times (s)", f">{times.median():.4g}<",
                  "95% quantile", "– (0 of 3)", "ended before the warm-up did"):  # fmt: skip
        assert words in text, words
    assert "Jain" not in text
    result = sized(small).run(seed=1)
    assert "1 of 1 transfers ended before the warm-up did" in result.summary()
    result.save(tmp_path / "r")
    page = write_report(tmp_path / "r").read_text()
    for words in ("Completed after (s)", "1 transfer had ended by then"):
        assert words in page, words


def test_transfers_that_did_not_end_are_told(small, tmp_path):
    """In a second 1 MB is through at 20 ms of round trip, but not at 400 ms."""
    short = sized(small, "500 kB", duration="1 s", warmup="0 s")
    cclab.Study(short).vary({"network.rtt": ["20 ms", "400 ms"]}).replicate(3).run(out=tmp_path / "s")
    assert "– (0 of 3)" in write_report(tmp_path / "s").read_text()
    one_of_two = short.replace({"flows": [{"cc": "cubic", "size": size} for size in ("15 kB", "500 MB")]})
    cclab.Study(one_of_two).replicate(3).run(out=tmp_path / "half")
    assert "(3 of 6)" in write_report(tmp_path / "half").read_text()


def test_transfers_that_take_turns_carry_no_more_than_the_link(small, tmp_path):
    """Rates of transfers are over times of their own: together it is the bytes from the first start to the last end."""
    flows = [{"cc": "cubic", "size": "2 MB", "start": f"{start} s"} for start in (0, 2, 4)]
    turns = small.replace({"duration": "20 s", "warmup": "0 s", "flows": flows})
    study = cclab.Study(turns.replace({"record.samples": "off"})).vary({"network.rtt": ["20 ms", "40 ms"]})
    study = study.run(out=tmp_path / "s")
    frame, metrics, _ = page_of.per_run(study)
    for row in frame.rows(named=True):
        of = study.table("flows").filter(pl.col("network.rtt") == row["network.rtt"])
        assert of["goodput_bps"].sum() > 10e6
        assert row["goodput_bps"] == pytest.approx(6e6 * 8 / (of["start_s"] + of["fct_s"]).max())
        assert row["goodput_bps"] < 10e6
    assert "jain" not in [metric.column for metric in metrics], "over windows that are not the same"
    result = turns.run(seed=1)
    assert "Jain" not in result.summary()
    result.save(tmp_path / "r")
    assert "Jain" not in write_report(tmp_path / "r").read_text()


def test_an_incast_is_told_by_its_work(small):
    """64 answers of 100 kB: what the terminal gives for all of them is 6.4 MB over the time until the last is there."""
    many = small.replace({"duration": "60 s", "warmup": "0 s"}).replace(
        {"flows": [{"cc": "reno", "size": "100 kB", "count": 64}]}
    )
    result = many.run(seed=1)
    of = result.flows
    total = 64 * 100e3 * 8e-6 / ((of["start_s"] + of["fct_s"]).max() - of["start_s"].min())
    assert f" {total:.3f} " in result.summary()
    assert of["goodput_bps"].sum() > 2 * total * 1e6


def test_the_warm_up_of_each_point_counts(small, tmp_path):
    """Two flows that never end, one from the middle on: half of what the link carries is one's alone."""
    flows = [{"cc": "reno"}, {"cc": "reno", "start": "20 s"}]
    study = cclab.Study(small.replace({"duration": "40 s", "warmup": "1 s", "flows": flows}))
    study = study.vary({"warmup": ["2 s", "25 s"]}).run(out=tmp_path / "s")
    frame, _, _ = page_of.per_run(study)
    early, late = frame.rows(named=True)
    assert early["goodput_bps"] == pytest.approx(late["goodput_bps"], rel=0.02)
    assert early["jain"] is None
    assert late["jain"] == pytest.approx(study.table("runs")["jain"][1])


LAW = '''"""Half the growth of Reno: </pre><script>alert(1)</script>."""
import cclab


class HalfReno(cclab.CongestionControl):
    def on_ack(self, ack):
        self.cwnd_segments += 0.5 * ack.acked_segments / self.cwnd_segments

    def on_congestion(self, event):
        self.cwnd_segments = self.ssthresh_segments = max(self.cwnd_segments / 2, 2)
'''


def test_a_page_alone_is_enough_to_run_it_again(small, tmp_path):
    """In processes that never saw the folder nor the law: files and command are taken from the page."""
    (tmp_path / "laws").mkdir()
    write(tmp_path / "laws/half.py", LAW)
    base = small.replace({"flows": [{"cc": "cubic", "start_jitter": "50 ms"}], "record": {"samples": "off"}})
    study = cclab.Study(base, name="a & b").vary(
        {"variant": {"plain": {"warmup": "500 ms"}, "tuned": {"flows.0.cc": "reno", "network.rtt": "20 ms"}}}
    )
    file = write(tmp_path / "study.toml", study.replicate(2).to_toml().replace('cc = "cubic"', 'cc = "half-reno"'))
    swept = in_a_process("sweep", file, "--algorithms", tmp_path / "laws/half.py", "--out", tmp_path / "s")
    assert swept.returncode == 0, swept.stderr
    shown = in_a_process("report", tmp_path / "s")  # the law is not known here
    assert shown.returncode == 0, shown.stderr
    page = (tmp_path / "s/report.html").read_text()
    assert Page(page).open == []
    assert "<script>alert" not in page
    assert "network.rtt = &#34;20 ms&#34;" in page  # what a point is
    assert f"cclab {cclab.__version__}" in page
    section = page.split("<h2>Run it again</h2>")[1]
    texts = [html.unescape(text) for text in re.findall(r"<pre><code>(.*?)</code></pre>", section, re.DOTALL)]
    names = re.findall(r"Save this as ([^,:]+)", section)
    assert names == ["half.py", "study.toml"]
    (tmp_path / "again").mkdir()
    for name, text in zip(names, texts, strict=False):
        write(tmp_path / "again" / name, text)
    command = shlex.split(texts[-1])
    assert command[:2] == ["cclab", "sweep"]
    again = in_a_process(*command[1:], cwd=tmp_path / "again")
    assert again.returncode == 0, again.stderr
    one, other = (cclab.Study.load(place).table("runs") for place in (tmp_path / "s", tmp_path / "again/s"))
    assert one["digest"].to_list() == other["digest"].to_list()
    assert one["variant"].to_list() == other["variant"].to_list() == ["plain", "plain", "tuned", "tuned"]


def test_a_study_as_toml_is_the_same_study(small, tmp_path):
    study = cclab.Study(small, keep="samples").vary({"network.rtt": ["10 ms", "20 ms"]})
    study = study.vary({"network.rate": ["1 Mbit/s", "2 Mbit/s"], "warmup": ["0 s", "1 s"]}, together=True)
    study = study.vary({"mix": {"one": {"flows.0.count": 1}, "two": {"flows": [{"cc": "reno"}]}}})
    for made in (study, study.replicate(3), study.replicate(seeds=[5, 3])):
        assert cclab.Study.load(write(tmp_path / "s.toml", made.to_toml())) == made
    named = {"a": {"x": {"duration": "1 s"}}, "b": {"y": {"warmup": "0 s"}}}
    with pytest.raises(cclab.StudyError, match="vary together"):
        cclab.Study(small).vary(named, together=True).to_toml()
    swapped = cclab.Study(small).vary({"warmup": ["0 s", "1 s"], "duration": ["3 s", "4 s"]}, together=True)
    swapped = swapped.vary({"network.rtt": ["10 ms", "20 ms"]})  # the order of directions is that of points
    assert cclab.Study.load(write(tmp_path / "s.toml", swapped.to_toml())) == swapped
    with pytest.raises(cclab.StudyError, match=r"network\.rtt: varied after named points; in a file these come last"):
        cclab.Study(small).vary({"a": named["a"]}).vary({"network.rtt": ["10 ms", "20 ms"]}).to_toml()
