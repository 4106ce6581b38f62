"""The high-speed study: its design, its claims, and all of it once in small."""

import copy
import csv
import json
import random

import polars as pl
import pytest

import cclab
from cclab import published
from cclab.published import Context


@pytest.fixture(scope="module")
def study():
    return published.find("highspeed")


def small(about):
    """The whole study on slow links for a few seconds."""
    about = copy.deepcopy(about)
    about["full"] = about["quick"] = {"duration": "4 s", "warmup": "1 s", "second_start": "0.5 s", "replications": 3}
    for test in about["tests"].values():
        test["rate"] = "10 Mbit/s"
    about["tests"]["fairness"]["around"]["rate"] = []
    return about


def context(study, about, tmp_path, parts=None, quick=True):
    return Context(study.folder, about, quick, tmp_path, lambda _: None, study.parts(parts or ()), tmp_path / "runs")


def test_every_part_once_in_small(study, tmp_path):
    here = context(study, small(study.about), tmp_path)
    outcome = study.analysis().run(here)
    assert len(outcome.checks) == 16
    assert {check.verdict for check in outcome.checks} <= set(published.CLAIMS)
    assert all("n = 3 runs" in check.evidence for check in outcome.checks)
    assert [figure.name for figure in outcome.figures] == [
        "utilisation-utilisation", "utilisation-variation", "fairness-smaller-share", "fairness-utilisation",
        "fairness-queue-s", "rtt-fairness-rtt-ratio", "friendliness-retained", "mixture-over-background",
        "mixture-interval-s", "over-time-window", "over-time-goodput",
    ]  # fmt: skip
    made = {table.name: table for table in outcome.tables}
    assert made.keys() >= {"verdicts-alpha", "verdicts-hosts", "convergence", "cubic-queue", "hosts-fairness"}
    link = {"Utilisation, %", "Loss, %", "Background carried, % of the link"}
    for test in ("utilisation", "fairness", "rtt-fairness", "friendliness", "mixture"):
        assert link < set(made[f"table-{test}"].frame.columns)
    assert {"Jain's index", "Smaller / larger goodput", *link} < set(made["table-fairness"].frame.columns)
    assert made["verdicts-alpha"].frame.columns == ["Finding", "alpha 200", "alpha 50", "alpha 20"]
    assert made["verdicts-hosts"].frame["Finding"][0].startswith("4.2")  # quick: one test
    assert "nan" not in json.dumps([check.evidence for check in outcome.checks])
    runs = {(json.dumps(scenario.to_dict()), seed) for scenario, seed in here.runs}
    assert any(f" {len(runs)} runs in all" in line for line in outcome.method)
    long = [check.check for check in outcome.checks if check.check.endswith("(differs in the full version)")]
    with open(study.folder / "findings.csv", newline="") as file:
        assert len(long) == sum(row["long"] == "yes" for row in csv.DictReader(file))


def test_verdicts_are_of_one_alpha_at_a_time(study, tmp_path):
    """What FAST with another alpha does is judged in place of FAST, and the others stay."""
    analysis = study.analysis()
    runs = pl.DataFrame(
        {
            "test": ["fairness"] * 9,
            "algorithm": [name for name in ("Scalable", "FAST", "FAST, alpha 20") for _ in range(3)],
            "seed": [1, 2, 3] * 3,
            "queue_s": [0.003, 0.0031, 0.0029, 0.005, 0.0051, 0.0049, 0.001, 0.0011, 0.0009],
        }
    )
    found = {
        name: analysis.less(of, "fairness", "queue_s", "FAST", "Scalable")
        for name, of in analysis.each_fast(runs).items()
    }
    assert found == {"FAST": "differs", "FAST, alpha 20": "agrees"}


def test_a_run_far_from_the_others_is_named(study):
    rng = random.Random(1)
    rows = [
        {
            "test": "fairness",
            "algorithm": law,
            "rtt_ms": rtt,
            "seed": seed,
            "smaller_share": 0.9 + rng.uniform(-0.01, 0.01),
        }
        for law in ("CUBIC", "BIC")
        for rtt in (10, 82)
        for seed in (1, 2, 3)
    ]
    rows[4]["smaller_share"] = 0.3
    (table,) = study.analysis().outliers(pl.DataFrame(rows))
    assert table.frame.select("Algorithm", "RTT, ms", "Seed").rows() == [("CUBIC", "82", "2")]


def test_windows_over_time_are_whole_and_where_they_were_sampled(study):
    """A window is of the moment of its sample, a rate of the second from its start on; no panel cuts what another has."""
    traces = pl.DataFrame(
        {
            "algorithm": ["CUBIC"] * 3 + ["FAST"] * 3,
            "rtt_ms": [82] * 6,
            "time_s": [0.0, 1.0, 2.0] * 2,
            "window_at_s": [1.0, 2.0, 3.0] * 2,
            "window_1": [10.0, 20.0, 30.0, 700.0, 900.0, 800.0],
            "window_2": [5.0, 6.0, 7.0, 50.0, 60.0, 70.0],
            "goodput_1": [1.0] * 6,
            "goodput_2": [2.0] * 6,
        }
    )
    windows, rates = study.analysis().over_time(traces)
    assert windows.data["time_s"].to_list() == [1.0, 2.0, 3.0] * 2
    assert rates.data["time_s"].to_list() == [0.0, 1.0, 2.0] * 2
    panels = [axes for axes in windows.chart.axes if axes.lines]
    assert len(panels) == 2
    assert all(axes.get_ylim()[0] == 0 and axes.get_ylim()[1] >= 900 for axes in panels)


def test_each_law_has_a_row_of_means_over_the_rtts(study):
    """CUBIC uses 100, 50 and 75 % at 10 ms and all of the link at 82 and 300 ms, in three runs: t by hand."""
    rows = [
        {"test": "fairness", "algorithm": "CUBIC", "rtt_ms": rtt, "seed": seed, "smaller_share": 1.0, "queue_s": 0.001}
        | {"variation": 0.1, "utilisation": used[seed - 1]}
        for rtt, used in ((10, [1.0, 0.5, 0.75]), (82, [1.0, 1.0, 1.0]), (300, [1.0, 1.0, 1.0]))
        for seed in (1, 2, 3)
    ]
    (table,) = study.analysis().overview(pl.DataFrame(rows))
    # means by seed 1, 5/6, 11/12: s = 1/12, half = 4.3027 / 12 / √3 = 0.207, cut at 1
    assert table.frame["Two: utilisation, %"].to_list() == ["92 [71, 100]"]
    assert study.analysis().overview(pl.DataFrame(rows).clear()) == []


def test_what_is_finished_is_not_run_again(study, tmp_path, monkeypatch):
    about = small(study.about)
    first = context(study, about, tmp_path, ["fairness"])
    analysis = study.analysis()
    before = analysis.run(first)
    said = []
    monkeypatch.setattr("cclab.backends.run", lambda *_, **__: pytest.fail("run again"))
    again = context(study, about, tmp_path, ["fairness"])
    again.note = said.append
    after = analysis.run(again)
    assert [c.evidence for c in after.checks] == [c.evidence for c in before.checks]
    assert said == ["21 runs, 21 of them finished before.", "7 further runs, 7 of them finished before."]
    assert {c.verdict for c in after.checks if c.check.startswith("4.4")} == {"not tested"}


def test_the_published_set_up_is_what_is_run(study):
    """Of the paper: rates, queues of 20 and 50 % of the BDP, 162 ms, three runs or more; ten minutes by one option."""
    about = study.replace({"full.duration": "600 s", "full.warmup": "60 s"}).about
    analysis = study.analysis()
    cells = list(analysis.design(about, False, study.parts()))
    printed = {cell.test: cell for cell in cells if cell.part == cell.test and cell.algorithm == "CUBIC"}
    assert (printed["utilisation"].queue, printed["fairness"].queue) == (0.5, 0.2)
    scenario = analysis.scenario(about, printed["rtt-fairness"]).to_dict()
    assert scenario["duration"] == "600 s"
    assert scenario["network"]["rate"] == "250 Mbit/s"
    assert [flow["rtt"] for flow in scenario["flows"]] == ["162 ms", "300 ms"]
    assert scenario["network"]["access"]["rate"] == "1 Gbit/s"
    assert scenario["background"][0]["receive_buffer"] == "64 KiB"  # without window scaling
    assert about["full"]["replications"] >= 3
    limit = analysis.scenario(about, printed["utilisation"]).to_dict()["network"]["queue"]["limit"]
    assert limit == "10000 packets"  # half of 800 Mbit/s · 300 ms in packets of 1500 bytes
    # the printed ranges, in every test: one thing at a time, or every combination
    for test in analysis.TESTS[1:]:
        of = {(c.rate, c.queue, c.background) for c in cells if c.part == "matrix" and c.test == test}
        assert {"250 Mbit/s"} <= {rate for rate, _, _ in of} <= {"250 Mbit/s", "800 Mbit/s"}
        assert {queue for _, queue, _ in of} == {0.2, 1.0}
        assert {background for _, _, background in of} == {"15%", "none", "55%"}
    whole = study.replace({"matrix.at_once": 3}).about
    of = [c for c in analysis.design(whole, False, ["fairness", "matrix"]) if c.part == "matrix"]
    assert len(of) == 2 * 2 * 3 * len(about["algorithms"])


def test_hosts_of_2005_and_later(study):
    """The receive window is the background's alone, the initial window everybody's."""
    analysis, about = study.analysis(), study.about
    cells = {c.hosts: c for c in analysis.design(about, False, ["fairness", "hosts"]) if c.part == "hosts"}
    made = {hosts: analysis.scenario(about, cell).to_dict() for hosts, cell in cells.items()}
    windows = {hosts: of["background"][0]["receive_buffer"] for hosts, of in made.items()}
    assert windows == {"64 KiB": "64 KiB", "256 KiB": "256 KiB", "unlimited": "256 MiB", "initial window 3": "64 KiB"}
    assert [
        of["initial_window"] for of in (made["initial window 3"]["flows"] + made["initial window 3"]["background"])
    ] == [3, 3, 3]
    assert all("receive_buffer" not in flow for of in made.values() for flow in of["flows"])


def test_every_finding_has_a_claim(study):
    with open(study.folder / "findings.csv", newline="") as file:
        findings = [row["finding"] for row in csv.DictReader(file)]
    assert sorted(findings) == sorted(study.analysis().CLAIMS)


def test_an_unknown_part_is_told(study, cli):
    with pytest.raises(
        cclab.UnknownNameError, match=r'unknown part of highspeed "fairnes" \(did you mean "fairness"\?\)'
    ):
        study.parts(["fairnes"])
    status, _, err = cli("reproduce", "highspeed", "--part", "fairnes")
    assert status == 2
    assert "did you mean" in err
