"""The comparison with a kernel: its clock, its tests, its set-ups."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from cclab import Scenario, published, stats

STUDY = published.find("linux")


@pytest.fixture(scope="module")
def analysis():
    spec = importlib.util.spec_from_file_location("linux", Path(STUDY.folder) / "analysis.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["linux"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("few", "chance"),
    [
        ([1, 2, 3], 0.1),
        ([1, 2, 5], 0.4),
        ([3, 4, 5], 0.7),
    ],  # Mann and Whitney 1947, n = m = 3: U = 0, 2, 6 are 2, 8, 14 of 20
)
def test_the_rank_test_is_exact(analysis, few, chance):
    rest = [x for x in range(1, 7) if x not in few]
    assert analysis.rank_test(few, rest) == pytest.approx(chance)


def test_the_clock_starts_when_the_handshake_is_over(analysis):
    """One SYN-ACK lost: it comes again after a second, and what is counted is the same as without (10 Mbit/s of 1400 bytes)."""
    plain = STUDY.about | {"scenario": STUDY.about["scenario"] | {"duration": "30 s"}}
    case = {"law": "cubic", "rtt_ms": 20, "loss_on": "ack", "loss": {"packets": [1]}}
    lost = analysis.scenario(plain, case)
    whole = analysis.scenario(plain, case | {"loss": 0})
    assert isinstance(lost, Scenario)
    late, early = (run.run(seed=1) for run in (lost, whole))
    assert late.flows["fct_s"][0] - early.flows["fct_s"][0] == pytest.approx(1, abs=0.01)
    rates = [analysis.measure(run, 120)["goodput"] for run in (late, early)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-3)
    assert rates[1] == pytest.approx(10 * 1348 / 1400, rel=2e-3)


def test_bounds_are_those_of_the_study(analysis):
    def verdict(loss_on, loss, theirs, ours):
        row = analysis.Row({"loss_on": loss_on, "loss": loss}, theirs, ours, ours, ([10.0] * 3, [10.0] * 3))
        analysis.judge(row, STUDY.about["tolerance"])
        return row.goodput

    assert verdict("data", 0.03, [5.0] * 3, [4.76] * 3) == stats.AGREES
    assert verdict("data", 0.03, [5.0] * 3, [4.74] * 3) == stats.DIFFERS
    assert verdict("data", 0.05, [5.0] * 3, [4.26] * 3) == stats.AGREES
    assert verdict("data", 0.10, [5.0] * 3, [1.0] * 3) == analysis.ORDER
    assert verdict("ack", 0.5, [5.0] * 3, [4.89] * 3) == stats.DIFFERS
    assert verdict("ack", 0.8, [0.1, 5.0, 9.0], [0.2, 4.0, 8.0, 9.1]) == analysis.ALIKE
    assert verdict("ack", 0.8, [0.1, 0.2, 0.3], [7.0, 8.0, 8.5, 9.0, 9.1]) == stats.DIFFERS
