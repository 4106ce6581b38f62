"""The Muzha study: its design, and every part once in small."""

import copy
import math

import polars as pl
import pytest

from cclab import published
from cclab.published import Context


@pytest.fixture(scope="module")
def study():
    return published.find("muzha")


def small(about):
    """A few seconds of two seeds, over four hops."""
    about = copy.deepcopy(about)
    about["common"]["duration"] = "4 s"
    about["common"]["hops"]["quick"] = [4]
    about["dynamics"] |= {"duration": "10 s", "starts": [["0 s", "0.5 s", "1 s"]]}
    about["levels"]["hops"]["quick"] = [4]
    about["replications"]["quick"] = 2
    return about


def context(study, about, tmp_path, parts=()):
    return Context(study.folder, about, True, tmp_path, lambda _: None, study.parts(parts), tmp_path / "runs")


def test_every_part_once_in_small(study, tmp_path):
    found = study.analysis().run(context(study, small(study.about), tmp_path))
    assert len(found.checks) == 12
    assert {c.verdict for c in found.comparisons} <= {"agrees", "differs", "cannot tell"}
    assert {t.name for t in found.tables} >= {"ns2-chain", "settings", "ns2-cross", "dynamics-falls", "steps"}
    assert [f.name for f in found.figures] == [
        "chain-throughput", "chain-retransmissions", "chain-delay", "levels", "windows-alone", "windows-joining",
    ]  # fmt: skip


def test_a_part_alone(study, tmp_path):
    found = study.analysis().run(context(study, small(study.about), tmp_path, ["dynamics"]))
    tested = [c.check for c in found.checks if c.verdict != "not tested"]
    assert tested == ["The windows of flows that join converge, without saw-teeth"]
    assert not found.comparisons
    found = study.analysis().run(context(study, small(study.about), tmp_path / "cross", ["cross"]))
    assert sum(c.verdict != "not tested" for c in found.checks) == 3
    assert not found.figures


def test_a_flow_that_delivers_nothing_has_no_delay(study):
    analysis = study.analysis()
    delays = [10.0, math.nan, 20.0, 30.0]
    runs = pl.DataFrame({"seed": [1, 1, 2, 2], "hops": [4, 6, 4, 6], "laws": "Vegas", "delay": delays})
    assert analysis.by_seed(runs, "delay") == [10.0, 25.0]
    assert analysis.pivot(runs, "delay", "laws", ["hops"])["Vegas"].to_list() == ["15 ± 64", "30"]


def test_an_interval_decides(study):
    equivalent = study.analysis().equivalent
    for values, verdict in [
        ([99, 101], "agrees"),
        ([80, 120], "cannot tell"),
        ([199, 201], "differs"),
        ([100], "agrees"),
    ]:
        assert equivalent("x", "y", "1", 100.0, values, 0.15).verdict == verdict, values


def test_the_steps_are_the_slides(study):
    steps = study.analysis().steps(study.about["steps"])
    assert len(steps) == 36
    assert set(study.about["steps"]["final"]) <= steps.keys()
    assert steps["AIAD(1, 3)"] == {"inc5": 1, "inc5_by": "add", "dec1": 3, "dec1_by": "add"}
