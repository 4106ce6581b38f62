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
    """A few seconds of three seeds, over four hops."""
    about = copy.deepcopy(about)
    about["common"]["duration"] = "4 s"
    about["common"]["hops"]["quick"] = [4]
    about["dynamics"] |= {"duration": "10 s", "starts": [["0 s", "0.5 s", "1 s"]]}
    about["levels"]["hops"]["quick"] = [4]
    about["replications"]["quick"] = 3
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
    """A seed in which one set-up has no figure has no mean over the set-ups; a cell tells how many runs have one."""
    analysis = study.analysis()
    delays = [10.0, math.nan, 20.0, 30.0]
    runs = pl.DataFrame({"seed": [1, 1, 2, 2], "hops": [4, 6, 4, 6], "laws": "Vegas", "delay": delays})
    assert analysis.by_seed(runs, "delay") == pytest.approx([math.nan, 25.0], nan_ok=True)
    shown = analysis.pivot(runs, "delay", "laws", ["hops"])
    assert shown["Vegas"].to_list() == ["15 [0, 79]", "30 (1 of 2)"]
    assert shown.columns == ["Hops", "Vegas"]


def test_a_number_of_one_surviving_run_does_not_agree(study, tmp_path):
    """Of three runs of a cross one delivers anything: its delay is the printed one, and nobody can tell."""
    analysis = study.analysis()
    printed = pl.DataFrame(
        {
            "table": "cross",
            "hops": 4,
            "algorithm": "Vegas",
            "beside": "NewReno",
            "metric": "delay",
            "unit": "ms",
            "value": 72.4,
        }
    )
    runs = pl.DataFrame(
        {
            "part": "cross",
            "setting": "1460 B",
            "hops": 4,
            "laws": "Vegas + NewReno",
            "seed": [1, 2, 3],
            "delay": [72.4, math.nan, math.nan],
        }
    )
    (row,) = analysis.comparisons(study.about, printed, runs)
    assert (row.verdict, row.n, row.missing) == ("cannot tell", 1, 2)


def test_no_page_says_none(study, tmp_path):
    found, _ = published.reproduce(
        published.Published(study.slug, study.folder, small(study.about)),
        tmp_path / "out",
        quick=True,
        force=True,
        progress=lambda _: None,
    )
    cells = [cell for table in found["tables"] for row in table["rows"] for cell in row]
    assert "None" not in cells
    assert "nan" not in " ".join(cells)
    heads = {column for table in found["tables"] for column in table["columns"]}
    assert not [head for head in heads if "_" in head]
    for row in found["comparisons"]:
        if row["ci_low"] is not None:
            assert row["ci_low"] >= 0
            assert row["ci_high"] <= (1 if row["metric"] == "Jain's index" else math.inf)


def test_the_steps_are_the_slides(study):
    steps = study.analysis().steps(study.about["steps"])
    assert len(steps) == 36
    assert set(study.about["steps"]["final"]) <= steps.keys()
    assert steps["AIAD(1, 3)"] == {"inc5": 1, "inc5_by": "add", "dec1": 3, "dec1_by": "add"}
