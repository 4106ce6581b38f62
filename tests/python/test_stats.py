"""Intervals against printed tables and against their own promise."""

import math

import numpy as np
import pytest

from cclab import stats

# Two-sided quantiles of Student's t, as any printed table has them (three decimals; NIST/SEMATECH e-Handbook 1.3.6.7.2).
TABLE = {
    (0.95, 1): 6.314, (0.975, 1): 12.706, (0.995, 1): 63.657, (0.95, 2): 2.920, (0.975, 2): 4.303, (0.975, 4): 2.776,
    (0.975, 9): 2.262, (0.95, 10): 1.812, (0.99, 10): 2.764, (0.975, 29): 2.045, (0.995, 30): 2.750, (0.975, 100): 1.984,
    (0.9, 5): 1.476, (0.999, 7): 4.785,
}  # fmt: skip


@pytest.mark.parametrize(("p", "df"), TABLE)
def test_t_quantile_against_the_table(p, df):
    assert stats.t_quantile(p, df) == pytest.approx(TABLE[p, df], abs=6e-4)
    assert stats.t_quantile(1 - p, df) == pytest.approx(-TABLE[p, df], abs=6e-4)


def test_t_quantile_where_it_has_a_closed_form():
    for p in (0.6, 0.9, 0.975, 0.9999):
        assert stats.t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-9)  # Cauchy
        a = 4 * p * (1 - p)
        assert stats.t_quantile(p, 2) == pytest.approx(2 * (p - 0.5) * math.sqrt(2 / a), rel=1e-9)
    assert stats.t_quantile(0.975, 1e7) == pytest.approx(1.959963985, rel=1e-6)  # normal
    assert stats.t_quantile(0.5, 3) == pytest.approx(0, abs=1e-12)


def test_mean_of_the_textbook():
    # Student's sleep data (1908), second drug: mean 2.33, s = 2.002249, n = 10: 2.33 ± 2.262157 × 0.633167
    x = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    estimate = stats.mean(x)
    assert estimate.value == pytest.approx(2.33)
    assert estimate.low == pytest.approx(0.8976775, abs=1e-6)
    assert estimate.high == pytest.approx(3.7623225, abs=1e-6)
    assert estimate.n == 10


def test_an_interval_holds_what_it_promises():
    # 2000 samples of five normals: a 95 % interval misses about 100 times. 60 to 140 is 4 standard deviations:
    # a false alarm once in 16,000 seeds, and the seed is fixed.
    rng = np.random.Generator(np.random.PCG64(5))
    missed = sum(not (e.low <= 0 <= e.high) for e in map(stats.mean, rng.normal(size=(2000, 5))))
    assert 60 <= missed <= 140


def test_bootstrap():
    rng = np.random.Generator(np.random.PCG64(3))
    x = rng.exponential(size=200)
    one, again = stats.bootstrap(x), stats.bootstrap(x)
    assert one == again
    assert one.low < float(np.median(x)) < one.high
    # of a mean it comes close to Student's t
    t, b = stats.mean(x), stats.bootstrap(x, np.mean)
    assert b.low == pytest.approx(t.low, rel=0.03)
    assert b.high == pytest.approx(t.high, rel=0.03)


def test_one_value_has_no_interval_and_none_has_no_mean():
    for of in (stats.mean, stats.bootstrap):
        assert math.isnan(of([3.0]).low)
        with pytest.raises(ValueError, match="at least one"):
            of([])
    for p, df in ((0, 1), (1, 1), (0.5, 0)):
        with pytest.raises(ValueError, match="quantile"):
            stats.t_quantile(p, df)
    assert "n = 1" in str(stats.mean([3.0]))


def test_jain():
    assert stats.jain([5, 5, 5, 5]) == pytest.approx(1)
    assert stats.jain([1, 0, 0, 0]) == pytest.approx(1 / 4)
    assert math.isnan(stats.jain([0, 0]))
