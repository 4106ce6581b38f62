"""Studies: found, run on all cores, written whole, not run twice, and told on a page."""

import csv
import math
import re
import time
from dataclasses import asdict
from pathlib import Path

import pytest

import cclab
from cclab import ResultError, StudyError, UnknownNameError, folders, published
from cclab.published import Check, compare, library
from cclab.published.findings import EXACT, meanings
from cclab.published.reproduce import interval

STUDY = """
title    = "A <script>alert(1)</script> study"
summary  = "One line & no more"
question = "Is 10 Mbit/s reached?"
source   = "Nobody, Nowhere 1999"
"""
ANALYSIS = """
import polars as pl
import cclab
from cclab.published import Check, Comparison, Figure, Findings, compare

def run(context):
    base = cclab.Scenario(
        name="<b>base</b>", duration="2 s", network=cclab.Dumbbell(rate="10 Mbit/s", rtt="20 ms", queue={"limit": "1 BDP"}),
        flows=[cclab.Flow(cc="reno", start_jitter="100 ms")], record={"samples": "20 ms"},
    )
    seeds = range(1, 4 if context.quick else 6)
    runs = context.run([(base, seed) for seed in seeds])
    goodput = context.run([(base, seed) for seed in seeds], lambda r: r.flows["goodput_bps"][0] / 1e6)
    assert [r.flows["goodput_bps"][0] / 1e6 for r in runs] == goodput
    (context.out / "extra.txt").write_text("kept")
    return Findings(
        comparisons=[
            compare("Reno", "goodput", "Mbit/s", 9.0, goodput, tolerance=0.2),
            Comparison("Reno <i>", "delay, mean", "ms", "formula", 1.0, "", None, None, None, 0, 0, "not tested", "not \\"here\\", yet"),
        ],
        checks=[Check("the link is <b>full</b>", "holds", f"{goodput[0]:.2f} Mbit/s")],
        figures=[Figure("cwnd", "Window <1>", f"One run, n = 1.", runs[0].plot.cwnd(), runs[0].samples.select("time_s", "cwnd_bytes"))],
        summary="Yes.", differences=["None & none."], method=["By running it."],
    )
"""


@pytest.fixture
def made(tmp_path) -> library.Published:
    folder = tmp_path / "library" / "little-one"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY)
    (folder / "analysis.py").write_text(ANALYSIS)
    return published.find("little-one", tmp_path / "library")


def reproduce(study, place, **options):
    return published.reproduce(study, place, **{"quick": True, "force": False, "progress": lambda _: None, **options})


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_files_and_columns(made, tmp_path):
    place = tmp_path / "out"
    found, fresh = reproduce(made, place)
    assert fresh
    assert sorted(p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file()) == [
        "checks.csv", "comparison.csv", "extra.txt", "figures/cwnd.csv", "figures/cwnd.json", "figures/cwnd.svg", "manifest.json",
        "report.html", "study.json",
    ]  # fmt: skip
    comparison = rows(place / "comparison.csv")
    assert list(comparison[0]) == [
        "item", "metric", "unit", "source", "reference", "tolerance", "measured", "ci_low", "ci_high", "n", "missing", "verdict", "note", "others",
    ]  # fmt: skip
    assert comparison[0]["verdict"] == "agrees"
    assert comparison[0]["n"] == "3"
    assert float(comparison[0]["ci_low"]) < float(comparison[0]["measured"]) < float(comparison[0]["ci_high"])
    assert comparison[1]["measured"] == comparison[1]["ci_low"] == ""
    assert comparison[1]["note"] == 'not "here", yet'
    checks = rows(place / "checks.csv")
    assert list(checks[0]) == ["check", "verdict", "evidence"]
    assert found["runs"][0]["seeds"] == [1, 2, 3]
    assert cclab.Scenario.from_toml(found["runs"][0]["scenario"]).name == "<b>base</b>"


def test_nothing_is_run_twice(made, tmp_path):
    place = tmp_path / "out"
    first, _ = reproduce(made, place)
    assert reproduce(made, place) == (first, False)
    (place / "report.html").unlink()
    assert reproduce(made, place)[1] is False
    assert (place / "report.html").is_file()
    assert reproduce(made, place, force=True)[1]
    assert reproduce(made, place, quick=False)[1]
    assert reproduce(made, place, quick=False)[1] is False
    (made.folder / "analysis.py").write_text(ANALYSIS + "\n# changed\n")
    assert reproduce(made, place, quick=False)[1]
    (place / "comparison.csv").write_text("spoilt")
    assert reproduce(made, place, quick=False)[1]


def test_the_same_figures_every_time(made, tmp_path):
    one, other = (reproduce(made, tmp_path / name)[0] for name in ("one", "other"))
    assert one == other
    for name in ("comparison.csv", "study.json", "figures/cwnd.svg", "report.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_a_failing_analysis_leaves_what_was_there(made, tmp_path):
    place = tmp_path / "out"
    found, _ = reproduce(made, place)
    (made.folder / "analysis.py").write_text("def run(context):\n    raise ZeroDivisionError\n")
    with pytest.raises(ZeroDivisionError):
        reproduce(made, place)
    assert published.load(place) == found
    assert sorted(p.name for p in tmp_path.iterdir()) == ["library", "out"]


def test_a_run_that_fails_stops_the_others(made, tmp_path):
    (made.folder / "analysis.py").write_text(
        ANALYSIS.replace('duration="2 s"', 'duration="1000 s"').replace("[(base, seed) for seed in seeds])", "[(base.replace(max_events=1000), 1), (base.replace(max_events=10**12), 2)])", 1)
    )  # fmt: skip
    with pytest.raises(cclab.RunError, match="budget"):
        reproduce(made, tmp_path / "out")
    assert not (tmp_path / "out").exists()


BASE = cclab.Scenario(
    duration="1 s",
    network=cclab.Dumbbell(rate="10 Mbit/s", rtt="20 ms"),
    flows=[cclab.Flow(cc="reno", start_jitter="100 ms")],
)


def context(tmp_path, **more):
    return published.Context(tmp_path, {}, True, tmp_path, more.pop("progress", lambda _: None), **more)


def test_runs_come_back_in_order_as_if_run_one_by_one(tmp_path):
    other = BASE.replace({"network.rtt": "40 ms"})
    jobs = [(other, 3), (BASE, 1), (other, 1), (BASE, 1), (BASE, 2)]
    found = context(tmp_path).run(jobs)
    assert [result.digest for result in found] == [s.run(seed=seed).digest for s, seed in jobs]
    assert [result.scenario for result in found] == [s.to_dict(full=True) for s, _ in jobs]


def test_one_bar_for_all_runs(tmp_path):
    told = []
    of_study = context(tmp_path, progress=told.append)
    of_study.run([(BASE, seed) for seed in range(5)])
    assert (told[-1].runs, told[-1].finished, told[-1].share) == (5, 5, 1.0)
    first = len(told)
    of_study.run([(BASE, seed) for seed in range(5, 20)])
    assert all(at.share >= 0.25 and at.runs == 20 and at.finished >= 5 for at in told[first:])
    assert (told[-1].runs, told[-1].finished, told[-1].share) == (20, 20, 1.0)
    shares = [at.share for at in told[first:]]
    assert shares == sorted(shares)


def test_what_is_asked_for_twice_is_one_run_and_none_was_finished_before(tmp_path):
    told, said = [], []
    of_study = context(tmp_path, progress=told.append, note=said.append, kept=tmp_path / "runs")
    of_study.run([(BASE, seed) for seed in range(3)])
    jobs = [(BASE, seed) for seed in (7, 8, 7, 9, 8)]
    found = of_study.run(jobs, lambda result: result.digest, keep="digest")
    assert found == [scenario.run(seed=seed).digest for scenario, seed in jobs]
    assert said == ["3 further runs."]
    assert (told[-1].runs, told[-1].finished) == (6, 6)


def test_what_was_finished_before_it_was_cut_off_is_kept(tmp_path):
    jobs = [(BASE.replace(name=str(i)), 1) for i in range(10)]
    reduced = []

    def reduce(result):
        reduced.append(result.name)
        if result.name == "7":
            until = time.monotonic() + 10
            while (
                len(reduced) < 5 and time.monotonic() < until
            ):  # the order is drawn; four others have begun, three have ended
                time.sleep(0.01)
            raise ZeroDivisionError("cut off")
        return {"name": result.name, "none": math.nan, "goodput_bps": result.flows["goodput_bps"].to_list()}

    cut = context(tmp_path, kept=tmp_path / "runs")
    with pytest.raises(cclab.RunError, match="cut off"):
        cut.run(jobs, reduce, keep="first", workers=2)
    begun = set(reduced) - {"7"}
    reduced.clear()
    said = []
    jobs = [job for job in jobs if job[0].name != "7"]
    found = context(tmp_path, kept=tmp_path / "runs", note=said.append).run(jobs, reduce, keep="first")
    kept = 9 - len(reduced)
    assert 3 <= kept <= len(begun)
    assert [value["name"] for value in found] == [scenario.name for scenario, _ in jobs]
    assert [value["goodput_bps"][0] for value in found] == [s.run(seed=1).flows["goodput_bps"][0] for s, _ in jobs]
    assert all(math.isnan(value["none"]) for value in found)
    assert said[0].startswith(f"9 runs, {kept} of them finished before")
    reduced.clear()
    context(tmp_path, kept=tmp_path / "runs").run(jobs, reduce, keep="second")
    assert len(reduced) == 9  # another version of `reduce` takes nothing of the first


def test_it_says_first_how_long_it_takes_and_at_last_how_long_it_took(made, tmp_path, monkeypatch):
    monkeypatch.setattr(published.context.executors, "cores", lambda: 2)
    (made.folder / "study.toml").write_text(
        STUDY + 'shorter = "3 runs"\nparts = ["a", "b"]\ncpu_s = { full = [7200, 360], quick = 360 }\n'
    )
    study, told = published.find("little-one", made.folder.parent), []
    reproduce(study, tmp_path / "out", note=told.append)
    assert told[:3] == ["Quick version: 3 runs.", "3 runs, about 3 min on 2 cores.", "3 further runs."]
    of_each = sum(BASE.replace({"duration": "2 s"}).run(seed=seed).engine["cpu_s"] for seed in (1, 2, 3, 1, 2, 3))
    told_at_last, *seconds = re.fullmatch(r"6 runs, (.*) \+ (.*) s of CPU time in the simulator\.", told[3]).group(
        0, 1, 2
    )
    assert sum(map(float, seconds)) <= 2 + 10 * of_each, told_at_last
    told.clear()
    reproduce(study, tmp_path / "out", quick=False, note=told.append)
    assert told[:2] == [
        "5 runs, about 60 min on 2 cores; what follows about 3 min.", "5 further runs, about 3 min on 2 cores.",
    ]  # fmt: skip
    assert study.takes_s(False, ["a", "b"]) == (7200, 360)
    assert study.takes_s(True, ["a"]) is None  # of less, or of something else
    assert study.replace({"cpu_s.quick": 1}).takes_s(False, ["a", "b"]) is None


def test_of_what_was_finished_before_no_time_is_announced_and_all_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(published.context.executors, "cores", lambda: 2)
    said = []
    first = context(tmp_path, kept=tmp_path / "runs")
    first.run([(BASE, 1)], lambda result: result.engine["cpu_s"], keep="cpu")
    then = context(tmp_path, kept=tmp_path / "runs", note=said.append, takes_s=(80, 40))
    for seeds in ((1, 1, 2, 3, 4), (1, 2), range(1, 9)):  # what is asked for twice is run once
        found = then.run([(BASE, seed) for seed in seeds], lambda result: result.engine["cpu_s"], keep="cpu")
    assert said == [
        "4 runs, 1 of them finished before; 3 to do, about 30 s on 2 cores; what follows about 20 s.",
        "2 further runs, 2 of them finished before.",
        "8 further runs, 4 of them finished before; 4 to do.",  # nothing is recorded of a third call
    ]
    assert (then.distinct, len(then.runs)) == (14, 15)
    assert then.cpu_s[2] == pytest.approx(sum(found))


def test_the_time_of_a_later_call_is_announced_where_the_first_was_finished_before(tmp_path, monkeypatch):
    monkeypatch.setattr(published.context.executors, "cores", lambda: 2)
    context(tmp_path, kept=tmp_path / "runs").run([(BASE, 1)], goodput, keep="1")
    said = []
    again = context(tmp_path, kept=tmp_path / "runs", note=said.append, takes_s=(80, 40))
    for seeds in ((1,), (2, 3)):
        again.run([(BASE, seed) for seed in seeds], goodput, keep="1")
    assert said == ["1 runs, 1 of them finished before.", "2 further runs, about 20 s on 2 cores."]


def goodput(result):
    return result.flows["goodput_bps"][0]


def test_what_the_quick_version_leaves_out_is_said_of_the_parts_that_are_run(made):
    (made.folder / "study.toml").write_text(STUDY + 'parts = ["a", "b"]\n')
    study = published.find("little-one", made.folder.parent)
    assert study.shorter(study.parts()).endswith("; every part is here")
    assert study.shorter(study.parts(["a"])) == "fewer points and replications than the full study"
    for slug in ("agreement", "linux"):  # whose quick versions ask no kernel, whatever is chosen
        study = published.find(slug)
        assert "every part" not in study.shorter(study.parts())


def test_a_foreign_folder_is_left_alone(made, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    with pytest.raises(ResultError, match="holds something"):
        reproduce(made, tmp_path / "out")


def test_mistakes_in_a_study(made):
    with pytest.raises(UnknownNameError, match='did you mean "little-one"'):
        published.find("litle-one", made.folder.parent)
    (made.folder / "analysis.py").write_text("x = 1\n")
    with pytest.raises(StudyError, match=r"no function run"):
        made.analysis()
    (made.folder / "analysis.py").unlink()
    with pytest.raises(StudyError, match=r"no analysis\.py"):
        made.analysis()
    (made.folder / "study.toml").write_text("title = 3")
    with pytest.raises(StudyError, match="title"):
        published.find("little-one", made.folder.parent)
    (made.folder / "study.toml").write_text("title = ")
    with pytest.raises(StudyError, match="Invalid value"):
        published.discover(made.folder.parent)
    with pytest.raises(StudyError, match="not one of"):
        Check("x", "maybe", "")


def test_compare():
    near = [1.99, 2.0, 2.01]
    assert compare("a", "b", "s", 2.0, near, tolerance=0.1).verdict == "agrees"
    assert compare("a", "b", "s", 3.0, near, tolerance=0.1).verdict == "differs"
    assert compare("a", "b", "s", 2.0, [1.0, 2.0, 3.0], tolerance=0.1).verdict == "cannot tell"
    assert compare("a", "b", "s", 2.0, [2.1], tolerance=0.1, chance=False).verdict == "agrees"
    assert compare("a", "b", "s", 2.0, [2.3], tolerance=0.1, chance=False).verdict == "differs"
    assert compare("a", "b", "s", None, near, tolerance=0.1).verdict == "not tested"
    assert compare("a", "b", "s", 2.0, near).verdict == "not tested"  # no tolerance to judge by
    one = compare("a", "b", "s", 2.0, [2.0], slack=0.1)
    assert (one.n, one.ci_low, one.ci_high, one.tolerance, one.verdict) == (1, None, None, "±0.1", "cannot tell")
    with pytest.raises(StudyError, match="source 'rumour' is not one of paper"):
        compare("a", "b", "s", 2.0, near, source="rumour")


def test_who_survives_is_a_selection():
    """A tenth of the runs without a figure is told; a third of them, or fewer than three with one, decide nothing."""
    found = compare("a", "b", "s", 2.0, [2.0, 2.01, 1.99, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, math.nan], tolerance=0.1)
    assert (found.verdict, found.n, found.missing) == ("agrees", 9, 1)
    for values in ([2.0, math.nan, math.nan], [2.0, 2.0, 2.0, 2.0, math.nan, math.nan], [math.nan] * 3, [2.0, 2.0]):
        assert compare("a", "b", "s", 2.0, values, tolerance=0.1).verdict == "cannot tell"
    assert compare("a", "b", "s", 2.0, [math.nan] * 3, tolerance=0.1).measured is None


def test_a_claim_follows_from_its_comparisons():
    yes, no, open_ = "agrees", "differs", "cannot tell"
    for found, verdict in (
        ([yes, yes], "holds"), ([yes, no], "partly"), ([yes, no, open_], "partly"), ([no, open_], "fails"), ([no], "fails"),
        ([yes, open_], "cannot tell"), ([open_], "cannot tell"), ([], "not tested"),
    ):  # fmt: skip
        assert published.judged("a claim", found, "Figures").verdict == verdict, found
    told = published.judged("a claim", [yes, no, open_], "Figures.").evidence
    assert told == "Figures. Of 3 comparisons 1 for it, 1 against it, 1 cannot tell."
    assert published.judged("a claim", [yes, yes], "").evidence.startswith("Of 2 comparisons")


def test_every_study_of_ours_is_complete():
    for study in published.discover():
        assert study.analysis()
        assert study.entry()["summary"]


def test_tables_for_the_terminal(made, tmp_path):
    from cclab.console import as_text

    found, _ = reproduce(made, tmp_path / "out")
    text = as_text(*published.tables(found))
    for words in ("Reference", "paper", "±20 %", "agrees", "cannot tell: part of it", "fails: some are against it"):
        assert words in text, words
    assert "the link is <b>full</b>" in text


def test_other_values_in_a_study(made, tmp_path, cli):
    """They reach the analysis, are another study to what is kept, and the page says how to run it again."""
    (made.folder / "study.toml").write_text(STUDY + '[full]\nduration = "2 s"\npaced = false\n')
    study = published.find("little-one", made.folder.parent)
    place = tmp_path / "out"
    assert reproduce(study, place)[1]
    other = study.replace({"full.duration": "10 s", "full.paced": True})
    assert study.about["full"] == {"duration": "2 s", "paced": False}
    assert other.about["full"] == {"duration": "10 s", "paced": True}
    assert reproduce(other, place)[1]
    assert reproduce(other, place)[1] is False
    page = (place / "report.html").read_text()
    assert "cclab reproduce little-one --quick --set &#39;full.duration=10 s&#39; --set full.paced=true" in page
    assert "fewer points and replications" in page
    with pytest.raises(
        cclab.StudyError, match=r"full\.length: little-one has no 'length' there; there is duration, paced"
    ):
        study.replace({"full.length": "10 s"})
    for key in ('quantities."segments resent".floor', "quantities.segments resent.floor"):
        assert published.find("agreement").replace({key: 0.05}).about["quantities"]["segments resent"]["floor"] == 0.05
    status, _, err = cli("reproduce", "highspeed", "--set", "ful.duration=600 s")
    assert (status, "has no 'ful' there" in err) == (2, True), err


def test_one_run_that_decides_is_said_to_be_exact():
    """A row of one run has a verdict only where nothing is left to chance; legend and row say so, and no other."""
    certain, chancy = (asdict(compare("a", "x", "", 1.0, [1.0], tolerance=0.1, chance=c)) for c in (False, True))
    several = asdict(compare("a", "x", "", 1.0, [1.0, 1.0, 1.01], tolerance=0.1))
    assert [row["verdict"] for row in (certain, chancy, several)] == ["agrees", "cannot tell", "agrees"]
    shown = [interval(row) for row in (certain, chancy)]
    assert shown == [EXACT, "–"]
    assert EXACT in meanings([certain, several])
    assert EXACT not in meanings([chancy, several])


def test_the_last_line_says_what_to_conclude():
    rows = [{"verdict": verdict} for verdict in ("agrees", "agrees", "differs", "not tested")]
    assert published.conclusion({"comparisons": rows, "checks": [{"verdict": "partly"}, {"verdict": "holds"}]}) == (
        "4 figures: agrees 2, differs 1, not tested 1; 2 claims: holds 1, partly 1"
    )
    assert published.conclusion({"comparisons": [], "checks": []}) == "nothing was judged"


def test_the_page(made, tmp_path):
    place = tmp_path / "out"
    reproduce(made, place)
    page = (place / "report.html").read_text()
    assert page.count("<script") == 1  # ours
    assert "&lt;script&gt;" in page
    assert "<b>full" not in page
    for words in ("Is 10 Mbit/s reached?", "References and measured", "Claims in words", "None &amp; none.", "±20 %", "values of a formula", "where chance plays in, under 3 runs", "some are against it and none is for it", "Seeds: 1, 2, 3",
                  "cclab reproduce little-one --quick", "n = 1", "data:text/csv;base64,", "data:image/svg+xml;base64,"):  # fmt: skip
        assert words in page
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", page.split("References and measured")[1])
    assert heads[:2] == ["Item", "Verdict"]  # not at the end of a wide table, where it may be cut off
    from cclab.report import write_report

    before = page
    write_report(place)
    assert (place / "report.html").read_text() == before
    assert folders.schema_of(place) == published.SCHEMA
    assert Path(place / "figures" / "cwnd.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("reference", "tolerance", "ends"),
    [
        (2.0, "±5 %", (1.9, 2.1)), (-2.0, "±5 %", (-2.1, -1.9)), (2.0, "±0.5", (1.5, 2.5)), (2.0, "±0.5 Mbit/s; by ranks", (1.5, 2.5)),
        (1.0, "0.995 to 1.005", (0.995, 1.005)), (2.0, "exactly", None), (2.0, "the order", None), (2.0, "", None), (None, "±5 %", None),
    ],
)  # fmt: skip
def test_what_a_tolerance_lets_pass(reference, tolerance, ends):
    from cclab.published.findings import room

    assert room(reference, tolerance) == (ends and pytest.approx(ends))


def test_a_tolerance_that_lets_another_row_pass_is_marked():
    from cclab.published.findings import told_apart
    from cclab.published.reproduce import tables

    def row(item, value, metric="delay", source="paper", tolerance=0.1):
        return compare(item, metric, "ms", value, [value] * 3, source=source, tolerance=tolerance)

    rows = [row("a", 100.0), row("b", 109.0), row("c", 120.0), row("d", 100.0), row("e", 101.0, "jitter"),
            row("f", 101.0, source="formula"), row("g", 119.0, tolerance=0.005)]  # fmt: skip
    # 100 ± 10 holds 109, 109 ± 10.9 holds 100 twice and 119, 120 ± 12 holds 109 and 119, 119 ± 0.6 holds none
    made = told_apart(rows)
    assert [r.others for r in made] == [1, 3, 2, 1, 0, 0, 0]
    found = {"title": "t", "comparisons": [vars(r) for r in made], "checks": []}
    table, legend = tables(found)
    told = [str(cell) for cell in table.columns[5].cells]
    assert [cell.endswith("°") for cell in told] == [True, True, True, True, False, False, False]
    assert "another row of this metric would pass" in legend
