"""The high-speed study: its design, its claims, and all of it once in small."""

import copy
import csv
import json

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
    about["quick"] = {"duration": "4 s", "warmup": "1 s", "second_start": "0.5 s", "replications": 3}
    for test in about["tests"].values():
        test["rate"] = "10 Mbit/s"
    return about


def context(study, about, tmp_path, parts=None, quick=True):
    return Context(study.folder, about, quick, tmp_path, lambda _: None, study.parts(parts or ()), tmp_path / "runs")


def test_every_part_once_in_small(study, tmp_path):
    outcome = study.analysis().run(context(study, small(study.about), tmp_path))
    assert len(outcome.checks) == 14
    assert {check.verdict for check in outcome.checks} <= set(published.CLAIMS)
    assert all("n = 3 runs" in check.evidence for check in outcome.checks)
    assert [figure.name for figure in outcome.figures] == [
        "utilisation-utilisation", "utilisation-variation", "fairness-smaller-share", "fairness-queue-s",
        "rtt-fairness-rtt-ratio", "friendliness-retained", "mixture-ratio", "mixture-interval",
    ]  # fmt: skip
    assert {table.name for table in outcome.tables} >= {"table-fairness-smaller-share", "ranges-fairness"}
    assert "nan" not in json.dumps([check.evidence for check in outcome.checks])


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
    assert said == ["42 runs, 42 of them finished before."]
    assert {c.verdict for c in after.checks if c.check.startswith("4.4")} == {"not tested"}


def test_the_published_set_up_is_what_is_run(study):
    """Of the paper: rates, queues of 20 and 50 % of the BDP, 162 ms, ten minutes, three runs or more."""
    analysis, about = study.analysis(), study.about
    cells = list(analysis.design(about, False, study.parts()))
    printed = {cell.test: cell for cell in cells if cell.published and cell.algorithm == "CUBIC"}
    assert (printed["utilisation"].queue, printed["fairness"].queue) == (0.5, 0.2)
    scenario = analysis.scenario(about, printed["rtt-fairness"], False).to_dict()
    assert scenario["duration"] == "600 s"
    assert scenario["network"]["rate"] == "250 Mbit/s"
    assert [flow["rtt"] for flow in scenario["flows"]] == ["162 ms", "300 ms"]
    assert scenario["network"]["access"]["rate"] == "1 Gbit/s"
    assert about["full"]["replications"] >= 3
    limit = analysis.scenario(about, printed["utilisation"], False).to_dict()["network"]["queue"]["limit"]
    assert limit == "10000 packets"  # half of 800 Mbit/s · 300 ms in packets of 1500 bytes
    assert {(c.queue, c.background) for c in cells if c.test == "fairness"} >= {
        (1.0, "none"),
        (0.2, "55%"),
        (0.5, "10%"),
    }


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
