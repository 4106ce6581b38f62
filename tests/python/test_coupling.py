"""Equilibria of coupled congestion controls against what their papers say."""

import math

import numpy as np
import pytest

from cclab.theory import coupling

COUPLED = ("lia", "olia", "balia")
PATHS = [
    ([0.001, 0.01], [0.1, 0.1]),
    ([0.04, 0.01], [0.010, 0.100]),
    ([0.002, 0.002, 0.002], [0.05, 0.05, 0.05]),
    ([0.01, 0.001, 0.004], [0.02, 0.2, 0.1]),
]
RING = [[(0,), (1,)], [(1,), (2,)], [(2,), (0,)]]


@pytest.mark.parametrize(("p", "rtt"), PATHS)
@pytest.mark.parametrize("law", COUPLED)
def test_together_they_take_what_reno_takes_on_the_best_path(law, p, rtt):
    best = max(math.sqrt(2 / loss) / r for loss, r in zip(p, rtt, strict=True))
    assert coupling.rates(law, p, rtt).sum() == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("law", coupling.RATES)
def test_one_path_is_reno(law):
    assert coupling.rates(law, [0.02], [0.05]) == pytest.approx([200.0], rel=1e-6)  # √100 segments in 50 ms


@pytest.mark.parametrize("law", ["lia", "balia"])
@pytest.mark.parametrize(("p", "rtt"), PATHS)
def test_growth_balances_loss(law, p, rtt):
    # The laws as their documents have them, at the rates that the solution says
    p, rtt = np.array(p), np.array(rtt)
    x = coupling.rates(law, p, rtt)
    w = x * rtt
    if law == "lia":  # RFC 6356 eq. 1 and 2
        alpha = w.sum() * (w / rtt**2).max() / x.sum() ** 2
        assert np.minimum(alpha / w.sum(), 1 / w) == pytest.approx(p * w / 2, rel=1e-6)
    else:  # draft-walid §3
        a = x.max() / x
        growth = x / (rtt * x.sum() ** 2) * (1 + a) / 2 * (4 + a) / 5
        assert growth == pytest.approx(p * w / 2 * np.minimum(a, 1.5), rel=1e-6)


def test_the_share_of_the_worse_path():
    # RFC 6356's example of balance: ten times the loss. LIA 1/11; BALIA 1/(1 + A), A² + 5 A + 4 = 150
    share = {law: (x := coupling.rates(law, [0.001, 0.01], [0.1, 0.1]))[1] / x.sum() for law in coupling.RATES}
    assert share["reno"] == pytest.approx(1 / (1 + math.sqrt(10)), rel=1e-9)
    assert share["lia"] == pytest.approx(1 / 11, rel=1e-6)
    assert share["balia"] == pytest.approx(1 / (1 + 9.839), rel=1e-3)
    assert share["olia"] < 1e-6


def test_the_triangle_of_wischik():
    # NSDI 2011 §2.2: three links of 12 Mbit/s, three connections with a path of one link and one of two. All on the short paths is
    # best, 12 each; windows that do not look at each other get 8.5
    triangle = [[(0,), (1, 2)], [(1,), (2, 0)], [(2,), (0, 1)]]
    mbps = {law: coupling.equilibrium(law, triangle, [1000.0] * 3, 0.1).totals() * 0.012 for law in ("reno", "olia")}
    assert mbps["reno"] == pytest.approx([8.5] * 3, abs=0.05)
    assert mbps["olia"] == pytest.approx([12.0] * 3, rel=1e-3)


@pytest.mark.parametrize("law", coupling.RATES)
def test_a_ring_of_equal_links(law):
    found = coupling.equilibrium(law, RING, [1000.0] * 3, 0.1)
    assert found.totals() == pytest.approx([1000.0] * 3, rel=1e-3)
    assert np.concatenate(found.rates) == pytest.approx([500.0] * 6, rel=1e-3)


def test_a_ring_of_unequal_links():
    # Uncoupled, both users of a link see its loss: half each. Pooled, the links are one of 30, a third for each.
    totals = {law: coupling.equilibrium(law, RING, [1200, 1000, 800], 0.1).totals() for law in coupling.RATES}
    assert totals["reno"] == pytest.approx([1100, 900, 1000], rel=1e-3)
    assert totals["olia"] == pytest.approx([1000] * 3, rel=2e-3)
    spread = {law: np.ptp(total) for law, total in totals.items()}
    assert spread["olia"] < spread["balia"] < spread["lia"] < spread["reno"]
    assert all(total.sum() == pytest.approx(3000, rel=1e-3) for total in totals.values())


def test_the_loss_is_what_makes_the_rates():
    found = coupling.equilibrium("lia", RING, [1200, 1000, 800], 0.1)
    for own, x in zip(RING, found.rates, strict=True):
        p = [found.loss[link].sum() for (link,) in own]
        assert coupling.rates("lia", p, [0.1, 0.1]) == pytest.approx(x)


def test_mistakes():
    with pytest.raises(ValueError, match="law: 'cbbr' has no equilibrium here; there are reno, lia"):
        coupling.rates("cbbr", [0.01], [0.1])
    with pytest.raises(ValueError, match="2 losses and 1 RTTs"):
        coupling.rates("lia", [0.01, 0.02], [0.1])
    for p, rtt, message in (
        (0.0, 0.1, "p: 0.0 is not a loss above 0 and at most 1"),
        (-0.01, 0.1, "p: -0.01 is not a loss"),
        (1.5, 0.1, "p: 1.5 is not a loss"),
        (math.nan, 0.1, "p: nan is not a loss"),
        (0.01, 0.0, "rtt_s: 0.0 is not a time above 0"),
    ):
        for law in coupling.RATES:
            with pytest.raises(ValueError, match=message):
                coupling.rates(law, [0.01, p], [0.1, rtt])
    with pytest.raises(ValueError, match="no losses make lia fill these links"):
        coupling.equilibrium("lia", [[(0,)]], [100, 100], 0.1)
