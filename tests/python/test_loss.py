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


def test_an_interval_ends_where_the_link_does(context: Context) -> None:
    # 100 Mbit/s carry 93.74 of payload; mean 78.83, s = 24.97 and t(2) = 4.303 make 16.8 to 140.9 of these three
    found = ANALYSIS.mean(context.about, "B, RTT 5 ms", [93.0, 93.5, 50.0])
    assert found.low == pytest.approx(16.80, abs=0.01)
    assert found.high == ANALYSIS.full_rate(context.about, "B") == pytest.approx(93.741, abs=0.001)


@pytest.mark.parametrize("endpoint", ["Linux 2.6", "Linux today"])
def test_without_an_ack_nothing_connects(context: Context, endpoint: str) -> None:
    # the SYN-ACK has no payload either
    key = ("ack", "C", "", endpoint, "Reno", "ack", 100)
    result = ANALYSIS.scenario(context.about, key, {}).run()
    assert math.isnan(result.flows["connect_s"][0])
    assert ANALYSIS.goodput(result) == 0


def timeouts(context: Context, endpoint: str, window: int, *lost: int, room: int | None = None) -> float:
    return ANALYSIS.met(ANALYSIS.dropped(context.about, endpoint, (window, lost, room)).run())[0]


def test_reno_without_sack_has_the_timeouts_of_fall_and_floyd(context: Context) -> None:
    reno = "Reno without SACK"
    # two: below 10 packets, or where the receiver's window stops what the window would let go; else repaired
    assert timeouts(context, reno, 9, 1, 5)
    assert not timeouts(context, reno, 20, 1, 5)
    assert timeouts(context, reno, 20, 1, 5, room=2)
    # three: 2 + 3 W / 4 packets between the first two, 32 of 40, within two
    between = [second - 2 for second in range(2, 40) if not timeouts(context, reno, 40, 1, second, 40)]
    assert 32 <= min(between) <= 34
    assert between == list(range(min(between), 38))
    # four: always
    assert timeouts(context, reno, 40, 1, 37, 38, 39)


@pytest.mark.parametrize("endpoint", ["Linux 2.6", "Linux today"])
def test_sack_repairs_them_without_one(context: Context, endpoint: str) -> None:
    assert not any(timeouts(context, endpoint, 40, *lost) for lost in ((1, 5), (1, 5, 40), (1, 37, 38, 39)))


def test_the_cases_of_a_rule_are_those_it_speaks_of(context: Context) -> None:
    one, two, near, three, four = (cases for _, cases, _ in ANALYSIS.rules(context.about))
    assert {len(lost) for _, lost, _ in one} == {1}
    assert all(window < 10 and len(lost) == 2 for window, lost, _ in two)
    assert {room for *_, room in near} == {0, 1, 2}
    assert max(lost[1] - lost[0] - 1 for window, lost, _ in three if window == 40) == 31
    assert all(len(set(lost)) == 4 and max(lost) <= window for window, lost, _ in four)


def test_a_part_may_have_no_transfers(context: Context) -> None:
    # the rules on packets of one window alone: nothing else is run
    context.parts = ["drops"]
    found = ANALYSIS.run(context)
    assert not found.comparisons
    verdicts = {check.check: check.verdict for check in found.checks}
    assert verdicts["Four lost of a window are a timeout (Reno without SACK)"] == "holds"
    assert verdicts["Four lost of a window are a timeout (Linux today)"] == "fails"
