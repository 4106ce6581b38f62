"""The study of data and ACK loss: what it runs, and what it compares."""

from __future__ import annotations

import itertools
import math

import pytest

from cclab import published
from cclab.published import Context

STUDY = published.find("loss")
ANALYSIS = STUDY.analysis()


@pytest.fixture
def context(tmp_path):
    return Context(STUDY.folder, STUDY.about, True, tmp_path, lambda _: None, STUDY.parts())


def test_every_setting_is_a_scenario_and_every_number_has_one(context: Context) -> None:
    keys = {key for key, _ in ANALYSIS.design(context)}
    for key, more in ANALYSIS.design(context):
        ANALYSIS.scenario(context.about, key, more)
    for row in ANALYSIS.published(context).iter_rows(named=True):
        rest = (row["variable"] or "", "Linux 2.6", row["law"], row["loss_on"], row["loss_percent"])
        of_row = {(*place, *rest) for place in ANALYSIS.places(context, row)}
        left_out = row["part"] == "data" and row["loss_percent"] == 4
        assert {key[0] for key in of_row & keys} == {place[0] for place in of_row} - ({"data"} if left_out else set())


def test_a_lossless_link_carries_what_the_thesis_prints(context: Context) -> None:
    # 1348 bytes of payload in 1400 of packet and 38 of Ethernet: 9.37 Mbit/s, figures 13 to 15; set-up A 94.1, ours 93.7
    assert ANALYSIS.full_rate(context.about, "C") == pytest.approx(9.374, abs=0.001)
    key = ("data", "C", "", "Linux today", "CUBIC", "data", 0)
    assert ANALYSIS.goodput(ANALYSIS.scenario(context.about, key, {}).run()) == pytest.approx(9.37, rel=0.005)


def test_the_formula_is_bounded_by_the_link_and_falls(context: Context) -> None:
    rates = [ANALYSIS.formula(context.about, p) for p in (0, 1, 3, 5, 10)]
    assert rates[0] == pytest.approx(9.374, abs=0.001)
    assert all(a >= b for a, b in itertools.pairwise(rates))
    # Padhye by hand at 10 %, RTT 1 ms, T0 201 ms, b = 2: timeouts are nearly all of it
    p, rtt, t0, b = 0.1, 1e-3, 0.201, 2
    w = (2 + b) / (3 * b) + math.sqrt(8 * (1 - p) / (3 * b * p) + ((2 + b) / (3 * b)) ** 2)
    q = min(1.0, (1 - (1 - p) ** 3) * (1 + (1 - p) ** 3 * (1 - (1 - p) ** (w - 3))) / (1 - (1 - p) ** w))
    g = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    rate = ((1 - p) / p + w + q / (1 - p)) / (rtt * (b / 2 * w + 1) + q * g * t0 / (1 - p))
    assert rates[4] == pytest.approx(rate * 1348 * 8e-6, rel=1e-6)
