"""The study of routes that fail: its design, its ways, and all of it once in small."""

import copy
import json
import math

import numpy as np
import pytest

from cclab import published
from cclab.published import Context


@pytest.fixture(scope="module")
def study():
    return published.find("route-failures")


def small(about):
    """Few runs of a few seconds."""
    about = copy.deepcopy(about)
    about["replications"]["quick"] = 3
    about["waypoint"] |= {"duration": "5 s", "speeds": {"quick": [10]}}
    about["breaks"] |= {"at": 2, "warmup": "1 s", "duration": "12 s", "lengths": {"quick": [1, 5]}}
    about["chain"] |= {"hops": 2, "duration": "2 s"}
    about["reasons"]["speeds"] = [10]
    return about


def test_every_part_once_in_small(study, tmp_path):
    context = Context(study.folder, small(study.about), True, tmp_path, lambda _: None, study.parts(), None)
    outcome = study.analysis().run(context)
    assert len(outcome.checks) == 9
    assert {check.verdict for check in outcome.checks} <= set(published.CLAIMS)
    assert all("n = 3 runs" in check.evidence for check in outcome.checks)
    assert len(outcome.figures) == 8
    assert {"chains", "gains-waypoint", "gains-breaks", "reasons", "paths"} <= {table.name for table in outcome.tables}
    json.dumps([check.evidence for check in outcome.checks])


def test_the_shortest_path_is_that_of_the_chain_until_it_breaks(study):
    """Four hops of 200 m while station 2 is there, none while it is away: the tracks are read as the run has them."""
    analysis = study.analysis()
    cell = analysis.Cell("breaks", "dsr", "NewReno", 5.0)
    of = analysis.scenario(study.about, cell)
    moved = of.to_dict()
    # The ends of the flow are stations 0 and 1 for `shortest`: the last place comes second, the one that leaves is third still.
    places = moved["network"]["places"]
    moved["network"]["places"] = [places[0], places[4], places[2], places[1], places[3]]
    hops = analysis.shortest(of.from_dict(moved), 1)
    seconds = (np.arange(len(hops)) + 0.5) * analysis.STEP_S
    away = (seconds > 20.1) & (seconds < 24.9)
    there = (seconds < 20) | (seconds > 25.1)
    assert set(hops[away]) == {0}
    assert set(hops[there]) == {4}


def test_only_pauses_of_the_break_count_and_a_run_that_never_resumes_has_no_time(study):
    """A break from 20 to 25 s of 80: by arithmetic."""
    derived = study.analysis().derived
    for pauses, outage, resumed in (
        ([], 0.0, 0.0),
        ([(20.0, 27.5)], 7.5, 2.5),
        ([(10.0, 16.0), (19.9, 24.0), (40.0, 60.0)], 4.1, 0.0),
        ([(22.0, 80.0)], 58.0, math.nan),
    ):
        of = derived({"part": "breaks", "x": 5.0, "pauses": pauses}, None, [], study.about)
        assert [of["outage_s"], of["resumed_s"]] == pytest.approx([outage, resumed], nan_ok=True), pauses
