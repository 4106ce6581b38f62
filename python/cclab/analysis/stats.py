"""Means with intervals, paired comparisons, replication until an interval is narrow enough, warm-up detection.

Nothing here gives a bare number: an `Estimate` carries its interval and n, and its text shows them.

Student's quantile is computed here, in forty lines, rather than by SciPy: that is 80 MB and 0.3 s of import for one
function, and this one agrees with it to nine digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from cclab.results import Result
    from cclab.sweep import Study


AGREES, DIFFERS, CANNOT_TELL, NOT_TESTED = "agrees", "differs", "cannot tell", "not tested"
HOLDS, PARTLY, FAILS = "holds", "partly", "fails"
FEWEST = 3  # runs with a figure: fewer say nothing about chance
MOST_MISSING = 0.2  # of the runs may be without a figure: beyond that those with one are a selection
ANY = (-math.inf, math.inf)


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval.

    Attributes:
        value: The estimate.
        low: Lower end of the interval; NaN where there is none (one value).
        high: Upper end.
        n: Values it rests on.
        level: Confidence level, e.g. 0.95.
        missing: Runs that gave no value (NaN), beside the n that did.
    """

    value: float
    low: float
    high: float
    n: int
    level: float = 0.95
    missing: int = 0

    @property
    def half_width(self) -> float:
        """Half the width of the interval; NaN where there is none."""
        return (self.high - self.low) / 2

    @property
    def relative_half_width(self) -> float:
        """Half the width of the interval over the estimate's size; infinite where there is no interval, or at zero."""
        return self.half_width / abs(self.value) if self.value and not math.isnan(self.low) else math.inf

    def text(self, unit: str = "", scale: float = 1.0) -> str:
        """The estimate with interval, unit and n, e.g. `9.43 [9.40, 9.46] Mbit/s (n = 10)`.

        Args:
            unit: What it is in once scaled.
            scale: Factor to that unit, e.g. 1e-6 from bit/s to Mbit/s.
        """
        unit = f" {unit}" if unit else ""
        n = f"n = {self.n}" + (f" of {self.n + self.missing}" if self.missing else "")
        if math.isnan(self.low):
            return f"{self.value * scale:.4g}{unit} ({n}, no interval)" if self.n else f"– ({n})"
        half = self.half_width * abs(scale)
        # two digits of what is uncertain are enough, and of what is not, four
        places = min(max(1 - math.floor(math.log10(half)), 0), 12) if 0 < half < math.inf else None
        value, *ends = (
            f"{x * scale:.4g}" if places is None else f"{x * scale:.{places}f}"
            for x in (self.value, self.low, self.high)
        )
        return f"{value} [{', '.join(ends)}]{unit} ({n})"

    __str__ = text

    def brief(self, scale: float = 1.0, digits: int = 3) -> str:
        """For a cell of a table whose caption tells n: `9.43 ± 0.03`, `0.91 [0.64, 1]` where a bound cuts the interval.

        Runs without a value are told: `9.43 ± 0.03 (8 of 10)`; `– (0 of 10)` where none has one.
        """
        of = f" ({self.n} of {self.n + self.missing})" if self.missing else ""
        if not self.n or math.isnan(self.value):
            return f"–{of}"
        value = f"{self.value * scale:.{digits}g}"
        if math.isnan(self.low):
            return f"{float(value):g}{of}"
        low, high = sorted(x * scale for x in (self.low, self.high))
        half = (high - low) / 2
        if half <= 1e-9 * abs(self.value * scale) or half == math.inf:  # rounding is no spread
            return f"{float(value):g} ± {'0' if half < math.inf else '∞'}{of}"
        places = max(1 - math.floor(math.log10(half)), 0)  # two digits of what is uncertain
        if abs((low + high) / 2 - self.value * scale) > 1e-6 * half:
            return f"{self.value * scale:.{places}f} [{low:.{places}f}, {high:.{places}f}]{of}"
        return f"{self.value * scale:.{places}f} ± {half:.{places}f}{of}"

    def against(self, low: float, high: float, *, chance: bool = True) -> str:
        """Whether it is equivalent to what lies between two bounds, by two one-sided tests (Schuirmann 1987).

        `"agrees"` if the whole interval lies between them, `"differs"` if none of it does, else `"cannot tell"`: more
        runs would. It cannot tell either from fewer than `FEWEST` values, nor if more than `MOST_MISSING` of the runs
        gave none.

        Args:
            low: Lower bound.
            high: Upper bound.
            chance: False where nothing is left to chance (a formula, a run that no seed changes): one value decides.
        """
        a, b = self._ends()
        return self._judged(low <= a and b <= high, b < low or high < a, chance)

    def above(self, limit: float, *, chance: bool = True) -> str:
        """The same for "more than": for it if the whole interval is above the limit, against it if none of it is."""
        a, b = self._ends()
        return self._judged(a > limit, b <= limit, chance)

    def below(self, limit: float, *, chance: bool = True) -> str:
        """The same for "less than"."""
        a, b = self._ends()
        return self._judged(b < limit, a >= limit, chance)

    def _ends(self) -> tuple[float, float]:
        return (self.value, self.value) if math.isnan(self.low) else (self.low, self.high)

    def _judged(self, agrees: bool, differs: bool, chance: bool) -> str:
        if chance and (self.n < FEWEST or self.missing > MOST_MISSING * (self.n + self.missing)):
            return CANNOT_TELL
        return AGREES if agrees else DIFFERS if differs else CANNOT_TELL


def every(runs: Iterable[bool]) -> str:
    """Of something that is claimed of each run: one run against it differs, `FEWEST` or more and all for it agree."""
    found = list(runs)
    return DIFFERS if not all(found) else AGREES if len(found) >= FEWEST else CANNOT_TELL


def fact(so: bool) -> str:
    """Of something that chance does not touch: a formula, a run that no seed changes."""
    return AGREES if so else DIFFERS


def all_of(parts: Iterable[str]) -> str:
    """Of a comparison that asks several things at once: one that differs decides."""
    found = list(parts)
    return DIFFERS if DIFFERS in found else AGREES if all(v == AGREES for v in found) else CANNOT_TELL


def any_of(parts: Iterable[str]) -> str:
    """Of a comparison that asks for one thing of several: one that agrees decides."""
    found = list(parts)
    return AGREES if AGREES in found else DIFFERS if all(v == DIFFERS for v in found) else CANNOT_TELL


def claim(comparisons: Iterable[str]) -> str:
    """The verdict on a claim, from those of all the comparisons that it rests on.

    `"holds"` if every one agrees, `"fails"` if some differ and none agrees, `"partly"` if some agree and some differ,
    else `"cannot tell"`: none is against it, and not all can tell. Without comparisons it is `"not tested"`.
    """
    found = list(comparisons)
    if not found:
        return NOT_TESTED
    if DIFFERS in found:
        return PARTLY if AGREES in found else FAILS
    return HOLDS if all(verdict == AGREES for verdict in found) else CANNOT_TELL


def mean(values: Sequence[float] | NDArray[Any], level: float = 0.95, bounds: tuple[float, float] = ANY) -> Estimate:
    """Mean with Student's t interval: mean ± t(n-1) s / √n, s with n - 1.

    Args:
        values: One for each run; NaN is a run without one, which does not count but is told (`missing`).
        level: Confidence level.
        bounds: What the quantity cannot leave, e.g. `(0, 1)`: the interval is cut there. It holds as often as before,
            since what it loses cannot be.

    Raises:
        ValueError: there are no values.
    """
    runs = _values(values)
    x = runs[~np.isnan(runs)]
    n, missing = len(x), len(runs) - len(x)
    if n < 2:
        return Estimate(float(x[0]) if n else math.nan, math.nan, math.nan, n, level, missing)
    middle = float(np.mean(x))
    half = t_quantile(0.5 + level / 2, n - 1) * float(np.std(x, ddof=1)) / math.sqrt(n)
    ends = np.clip([middle - half, middle + half], *bounds)
    return Estimate(middle, float(ends[0]), float(ends[1]), n, level, missing)


def welch(
    values: Sequence[float] | NDArray[Any], s: float, n: int, level: float = 0.95, bounds: tuple[float, float] = ANY
) -> Estimate:
    """Mean, with the interval of its difference from another mean, that of n values with deviation s (Welch 1947).

    Raises:
        ValueError: there are no values.
    """
    ours = mean(values, level, bounds)
    if ours.n < 2 or n == 1:
        return ours
    a, b = float(np.nanvar(_values(values), ddof=1)) / ours.n, s * s / n
    if a + b == 0:
        return ours
    freedom = (a + b) ** 2 / (a * a / (ours.n - 1) + b * b / (n - 1))
    half = t_quantile(0.5 + level / 2, freedom) * math.sqrt(a + b)
    low, high = np.clip([ours.value - half, ours.value + half], *bounds)
    return replace(ours, low=float(low), high=float(high))


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


def jackknife(
    rows: NDArray[Any],
    statistic: Callable[[NDArray[Any]], float],
    level: float = 0.95,
    bounds: tuple[float, float] = ANY,
) -> Estimate:
    """A statistic of all runs together, e.g. Jain's index of their means, with its jackknife interval (Tukey 1958).

    Args:
        rows: One for each run.
        statistic: Of some of the rows.
        level: Confidence level.
        bounds: What the statistic cannot leave; the interval is cut there.
    """
    n, whole = len(rows), float(statistic(rows))
    if n < 2:
        return Estimate(whole, math.nan, math.nan, n, level)
    pseudo = [n * whole - (n - 1) * statistic(np.delete(rows, i, axis=0)) for i in range(n)]
    half = mean(pseudo, level).half_width
    low, high = np.clip([whole - half, whole + half], *bounds)
    return Estimate(whole, float(low), float(high), n, level)


@dataclass(frozen=True)
class Paired:
    """Two algorithms on the same seeds, so that what the seed does to both cancels.

    Attributes:
        difference: Mean of a − b.
        ratio: Geometric mean of a / b; NaN where a value is not above zero.
        a: The first one's mean.
        b: The second one's.
    """

    difference: Estimate
    ratio: Estimate
    a: Estimate
    b: Estimate

    @property
    def differs(self) -> bool:
        """Whether the interval of the difference leaves zero out."""
        return self.difference.low > 0 or self.difference.high < 0

    def text(self, unit: str = "", scale: float = 1.0) -> str:
        """Difference and ratio with their intervals and n."""
        return f"difference {self.difference.text(unit, scale)}, ratio {self.ratio.text()}"

    __str__ = text


def paired(a: Sequence[float] | NDArray[Any], b: Sequence[float] | NDArray[Any], level: float = 0.95) -> Paired:
    """Compares paired values, a[i] and b[i] of the same seed (common random numbers), by Student's t.

    Raises:
        ValueError: there are no values, or not as many of one as of the other.
    """
    x, y = _values(a), _values(b)
    if len(x) != len(y):
        raise ValueError(f"paired values: {len(x)} of the one and {len(y)} of the other; each needs its partner")
    alone = np.isnan(x) | np.isnan(y)  # a run without its partner does not count
    x, y = np.where(alone, math.nan, x), np.where(alone, math.nan, y)
    difference = mean(x - y, level)
    if (np.isinf(x) & np.isinf(y)).any():
        difference = Estimate(math.nan, math.nan, math.nan, int((~alone).sum()), level, int(alone.sum()))
    ratio = replace(difference, value=math.nan, low=math.nan, high=math.nan)
    if not ((x <= 0) | (y <= 0)).any():
        logs = mean(np.log(x / y), level)
        ratio = replace(logs, value=math.exp(logs.value), low=math.exp(logs.low), high=math.exp(logs.high))
    return Paired(difference, ratio, mean(x, level), mean(y, level))


def paired_by(
    frame: pl.DataFrame, value: str, column: str, a: Any, b: Any, *, on: Sequence[str] = ("seed",),
    by: Sequence[str] = (), level: float = 0.95,
) -> pl.DataFrame:  # fmt: skip
    """Compares the rows where `column` is `a` with those where it is `b`, paired by the columns `on`.

    Args:
        frame: One row per run, e.g. of a sweep.
        value: The column to compare.
        column: Says which algorithm it was, e.g. `"cc"`.
        a: The first, e.g. `"cubic"`.
        b: The second.
        on: What two rows of a pair have in common, the seed above all.
        by: Further groups, each with a row of its own in the result.
        level: Confidence level.

    Returns:
        Columns of `by`, then `difference` and `ratio`, each also with `_low` and `_high`, and `n`, the pairs.
        A row without its partner, or with null or NaN, does not count. An infinite value does: the difference is then
        infinite (NaN where both sides have one), and neither it nor the ratio has an interval.
    """
    import polars as pl

    keys = [*by, *on]
    sides = [
        frame.filter((pl.col(column) == side) & pl.col(value).cast(pl.Float64).is_not_nan()).select(
            *keys, pl.col(value).alias(name)
        )
        for side, name in ((a, "_a"), (b, "_b"))
    ]
    for side, name in zip(sides, (a, b), strict=True):
        if side.select(keys).is_duplicated().any():
            raise ValueError(
                f"{column} = {name!r}: several rows with the same {', '.join(keys)}; name more columns in on"
            )
    pairs = sides[0].join(sides[1], on=keys, how="inner")

    def row(group: pl.DataFrame) -> dict[str, Any]:
        with np.errstate(invalid="ignore", divide="ignore"):  # of what is infinite
            found = paired(group["_a"].to_numpy(), group["_b"].to_numpy(), level)
        parts = (("difference", found.difference), ("ratio", found.ratio))
        ends = {n + end: v for n, e in parts for end, v in (("", e.value), ("_low", e.low), ("_high", e.high))}
        return ends | {"n": found.difference.n}

    if not by:
        return pl.DataFrame([row(pairs)])
    groups = pairs.group_by(*by, maintain_order=True)
    return pl.DataFrame([dict(zip(by, key, strict=True)) | row(group) for key, group in groups])


def summarise(
    frame: pl.DataFrame, value: str, by: Sequence[str] = (), level: float = 0.95, bounds: tuple[float, float] = ANY
) -> pl.DataFrame:
    """Mean of a column with Student's t interval, for each group.

    Args:
        frame: One row per run.
        value: The column; nulls and NaN (what does not exist) do not count. With an infinite value (what never came)
            the mean is infinite, and there is no interval (NaN).
        by: The columns that make a group; none is one group.
        level: Confidence level.
        bounds: What the quantity cannot leave: intervals are cut there.

    Returns:
        Columns of `by`, then `mean`, `low`, `high` (NaN where n is 1) and `n`, in the order of first appearance.
    """
    import polars as pl

    x = pl.col(value).cast(pl.Float64)
    x = x.filter(x.is_not_nan())
    parts = [x.mean().alias("mean"), (x.std() / x.len().sqrt()).alias("_error"), x.len().cast(pl.Int64).alias("n")]
    table = frame.group_by(*by, maintain_order=True).agg(parts) if by else frame.select(parts)
    t = {n: t_quantile(0.5 + level / 2, n - 1) for n in table["n"].unique().to_list() if n > 1}
    half = pl.col("_error") * pl.col("n").replace_strict(t, default=math.nan, return_dtype=pl.Float64)
    ends = {"low": (pl.col("mean") - half).clip(*bounds), "high": (pl.col("mean") + half).clip(*bounds)}
    return table.with_columns(**ends).select(*by, pl.col("mean", "low", "high").fill_null(math.nan), "n")


def as_text(summary: pl.DataFrame, unit: str = "", scale: float = 1.0) -> pl.DataFrame:
    """A table of `summarise` with one column of text, `estimate`, in place of its figures."""
    import polars as pl

    figures = ["mean", "low", "high", "n"]
    texts = [Estimate(*row).text(unit, scale) for row in summary.select(figures).iter_rows()]
    return summary.drop(figures).with_columns(estimate=pl.Series(texts, dtype=pl.String))


@dataclass(frozen=True)
class Replications:
    """What `replicate_until` ran.

    Attributes:
        estimate: Mean with its interval.
        seeds: Of the runs, in order.
        values: What they gave.
        reached: Whether the interval is as narrow as was wanted.
    """

    estimate: Estimate
    seeds: list[int]
    values: list[float]
    reached: bool


def replicate_until(
    run: Callable[[int], float],
    relative: float,
    *,
    least: int = 10,
    most: int = 1000,
    batch: int = 1,
    level: float = 0.95,
    first_seed: int = 1,
    map: Callable[[Callable[[int], float], Iterable[int]], Iterable[float]] = map,
) -> Replications:
    """Runs seeds one after the other until the interval's half-width is at most `relative` times the mean.

    Looking at the interval again and again makes it hold a little less often than it says; `least` keeps that small.

    Args:
        run: Gives the value of one seed.
        relative: Wanted half-width, relative to the mean, e.g. 0.02.
        least: Runs before the first look.
        most: Runs after which it gives up; `reached` is false then.
        batch: Runs between two looks, e.g. the number of workers.
        level: Confidence level.
        first_seed: Seeds count up from here.
        map: How a batch is run: an executor's `map`, to run it at once.

    Raises:
        ValueError: a run gave no finite value, or the arguments leave nothing to do.
    """
    if not (relative > 0 and 2 <= least <= most and batch >= 1):
        raise ValueError(
            f"replicate until: needs relative > 0, 2 ≤ least ≤ most and batch ≥ 1, "
            f"not relative = {relative}, least = {least}, most = {most}, batch = {batch}"
        )
    values: list[float] = []
    while True:
        wanted = min(max(least - len(values), batch), most - len(values))
        seeds = range(first_seed + len(values), first_seed + len(values) + wanted)
        for seed, value in zip(seeds, map(run, seeds), strict=True):
            if not math.isfinite(value):
                raise ValueError(f"seed {seed}: gave {value}, which has no mean")
            values.append(float(value))
        estimate = mean(values, level)
        if (reached := estimate.relative_half_width <= relative) or len(values) >= most:
            return Replications(estimate, list(range(first_seed, first_seed + len(values))), values, reached)


def replicate_study_until(
    study: Study,
    value: str,
    relative: float,
    *,
    rows: Callable[[Study], pl.DataFrame] = lambda study: study.table("flows"),
    by: Sequence[str] | None = None,
    least: int = 10,
    most: int = 100,
    level: float = 0.95,
    run: Callable[[Study], Study] = lambda study: study.run(),
) -> tuple[Study, pl.DataFrame]:
    """Replicates a study until the interval of every group is as narrow as is wanted.

    Args:
        study: What is varied; its replications are set here.
        value: A column of `rows`.
        relative: Wanted half-width, relative to the mean.
        rows: From the study that ran, one row for each run and group.
        by: The columns that make a group; `None` is what the study varies.
        least: Replications before the first look.
        most: Replications at which it gives up.
        level: Confidence level.
        run: How to run it, e.g. `lambda study: study.run("out/study")`: in one folder only new seeds run.

    Returns:
        The study that ran last, and its `summarise` with a column `reached`.

    Raises:
        ValueError: `rows` has several rows with the same group and seed, or the arguments leave nothing to do.
    """
    import polars as pl

    if not (relative > 0 and 2 <= least <= most):
        raise ValueError(f"replicate until: needs relative > 0 and 2 ≤ least ≤ most, not {relative}, {least}, {most}")
    groups, n = list(study.parameters if by is None else by), least
    while True:
        done = run(study.replicate(n))
        frame = rows(done)
        if frame.select(*groups, "seed").is_duplicated().any():
            raise ValueError(
                f"several rows with the same {', '.join([*groups, 'seed'])}: filter rows, or name more in by"
            )
        half = (pl.col("high") - pl.col("low")) / 2 / pl.col("mean").abs()
        table = summarise(frame, value, groups, level).with_columns(_half=half)
        table = table.with_columns(reached=pl.col("_half") <= relative)
        widest = float(np.nanmax(table["_half"].to_numpy(), initial=0.0))
        if table["reached"].all() or n >= most:
            return done, table.drop("_half")
        # the half-width falls as 1/√n; no more than twice as many before the next look
        n = min(most, max(n + 1, min(2 * n, math.ceil(n * (widest / relative) ** 2))))


def mser(series: Sequence[float] | NDArray[Any], batch: int = 5) -> int | None:
    """Length of the warm-up in a series, in values: MSER-5 (K. P. White, Simulation 69(6), 1997).

    Of the means of `batch` values each, so many are left out that the standard error of the mean of the rest, as if
    they were independent, is smallest: min over d of Σ (Yᵢ − Ȳ)² / (n − d)².

    Returns:
        How many values to leave out; `None` where that is more than half of them: the run is too short to say.

    Raises:
        ValueError: fewer than ten batches.
    """
    x = np.asarray(series, dtype=float)
    n = len(x) // batch
    if n < 10:
        raise ValueError(f"MSER: {len(x)} values make {n} batches of {batch}; it needs at least 10")
    means = x[: n * batch].reshape(n, batch).mean(axis=1)
    means = means - means.mean()  # sums of squares keep their digits
    left = np.arange(n, 0, -1)
    sums, squares = (np.cumsum(y[::-1])[::-1] for y in (means, means * means))
    error = np.maximum(squares - sums * sums / left, 0.0) / left**2
    cut = int(np.argmin(error[:-5]))  # the last five batches would be judged by next to nothing
    return cut * batch if cut <= n / 2 else None


def warmup_s(result: Result, *, of: str = "goodput", batch: int = 5) -> float:
    """Warm-up of a run by `mser` on its samples, in seconds from its start; beside the scenario's own `warmup`.

    Args:
        result: With samples at an interval.
        of: `"goodput"` of all flows together, or `"queue"`, the packets waiting at all links.
        batch: Samples that are averaged first.

    Returns:
        NaN where MSER finds no end in the first half of the run.

    Raises:
        ResultError: nothing was sampled at an interval.
        ValueError: fewer than ten batches, or another `of`.
    """
    from cclab.analysis.metrics import queue_series, rate_series

    if of not in ("goodput", "queue"):
        raise ValueError(f'of: {of!r} is not "goodput" or "queue"')
    times, series = (rate_series if of == "goodput" else queue_series)(result)
    cut = mser(series.sum(axis=0), batch)
    return math.nan if cut is None else float(times[cut])


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
