"""Means with intervals: Student's t and the bootstrap, on numpy alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval.

    Attributes:
        value: The estimate.
        low: Lower end of the interval; NaN where there is none (one value).
        high: Upper end.
        n: Values it rests on.
        level: Confidence level, e.g. 0.95.
    """

    value: float
    low: float
    high: float
    n: int
    level: float = 0.95

    def __str__(self) -> str:
        interval = "" if math.isnan(self.low) else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.value:.4g}{interval} (n = {self.n})"


def mean(values: Sequence[float] | NDArray[Any], level: float = 0.95) -> Estimate:
    """Mean with Student's t interval: mean ± t(n-1) s / √n, s with n - 1.

    Raises:
        ValueError: there are no values.
    """
    x = _values(values)
    n, middle = len(x), float(np.mean(x))
    if n == 1:
        return Estimate(middle, math.nan, math.nan, n, level)
    half = t_quantile(0.5 + level / 2, n - 1) * float(np.std(x, ddof=1)) / math.sqrt(n)
    return Estimate(middle, middle - half, middle + half, n, level)


def bootstrap(
    values: Sequence[float] | NDArray[Any],
    statistic: Callable[[NDArray[Any]], float] = np.median,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 1,
) -> Estimate:
    """Any statistic with its percentile bootstrap interval (Efron 1979); the same for the same values and seed.

    Raises:
        ValueError: there are no values.
    """
    x = _values(values)
    value = float(statistic(x))
    if len(x) == 1:
        return Estimate(value, math.nan, math.nan, 1, level)
    rng = np.random.Generator(np.random.PCG64(seed))
    draws = np.array([statistic(x[rng.integers(0, len(x), len(x))]) for _ in range(resamples)])
    low, high = np.quantile(draws, [0.5 - level / 2, 0.5 + level / 2])
    return Estimate(value, float(low), float(high), len(x), level)


def jain(values: Sequence[float] | NDArray[Any]) -> float:
    """Jain's index (Σx)² / (n Σx²), from 1/n to 1; NaN for no values or all zero (Jain, Chiu & Hawe 1984)."""
    x = np.asarray(values, dtype=float)
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares > 0 else math.nan


def t_quantile(p: float, df: float) -> float:
    """The `p`-quantile of Student's t with `df` degrees of freedom; relative error below 1e-9."""
    if not 0.0 < p < 1.0 or df <= 0:
        raise ValueError(f"t quantile: needs 0 < p < 1 and df > 0, not p = {p}, df = {df}")
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        high *= 2.0
    while high - low > 1e-13 * max(1.0, high):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)
    return 0.5 * (low + high)


def t_cdf(t: float, df: float) -> float:
    """P(T ≤ t) of Student's t: 1 - I_x(df/2, 1/2) / 2 with x = df / (df + t²), for t ≥ 0."""
    tail = 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + t * t))
    return 1.0 - tail if t >= 0 else tail


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), by its continued fraction (Abramowitz & Stegun 26.5.8) in Lentz's form."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # it converges fast on the other side only
        return 1.0 - _incomplete_beta(b, a, 1.0 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 500):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return front * fraction / a


def _values(values: Sequence[float] | NDArray[Any]) -> NDArray[Any]:
    x = np.asarray(values, dtype=float)
    if not len(x):
        raise ValueError("no values: an estimate needs at least one")
    return x
