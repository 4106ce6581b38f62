"""Intervals against printed tables and against their own promise."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

import cclab
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


def test_text_has_interval_and_n():
    assert stats.mean([9.4e6, 9.5e6, 9.45e6]).text("Mbit/s", 1e-6) == "9.45 [9.33, 9.57] Mbit/s (n = 3)"
    assert stats.mean([3.0]).text("ms") == "3 ms (n = 1, no interval)"
    assert str(stats.mean([2.0, 2.0])) == "2 [2, 2] (n = 2)"
    assert stats.mean([100.0, 900.0, 2300.0]).text() == "1100 [-1666, 3866] (n = 3)"


def test_paired_comparison():
    # Student's sleep data (1908) as it was meant: the same ten patients, two drugs. t = 4.0621 with 9 degrees of freedom,
    # mean difference 1.58, 95 % interval 0.7001142 to 2.4598858 (R's t.test(extra ~ group, paired = TRUE), documented output).
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = stats.paired(second, first)
    assert found.difference.value == pytest.approx(1.58)
    assert (found.difference.low, found.difference.high) == pytest.approx((0.7001142, 2.4598858), abs=1e-6)
    assert found.differs
    assert math.isnan(found.ratio.value)  # some are not above zero
    unpaired = stats.mean(second).low - stats.mean(first).high
    assert unpaired < 0  # apart, the intervals overlap
    with pytest.raises(ValueError, match="10 of the one and 9"):
        stats.paired(first, second[:9])


def test_paired_ratio():
    x = np.array([1.0, 2.0, 4.0, 3.0])
    found = stats.paired(1.5 * x, x)
    assert (found.ratio.value, found.ratio.low, found.ratio.high) == pytest.approx((1.5, 1.5, 1.5))
    assert "n = 4" in str(found)
    back = stats.paired(x, np.array([2.0, 1.0, 4.0, 5.0]))
    there = stats.paired(np.array([2.0, 1.0, 4.0, 5.0]), x)
    assert back.ratio.low == pytest.approx(1 / there.ratio.high)  # the same question the other way round


RUNS = pl.DataFrame(
    {
        "cc": ["reno", "reno", "reno", "cubic", "cubic", "cubic", "reno", "cubic"],
        "seed": [1, 2, 3, 3, 2, 1, 1, 1],
        "rtt": ["10 ms"] * 6 + ["20 ms"] * 2,
        "goodput": [1.0, 2.0, 3.0, 4.0, 2.5, 1.5, 7.0, 8.0],
    }
)


def test_summarise():
    table = stats.summarise(RUNS, "goodput", by=["cc", "rtt"])
    assert table.columns == ["cc", "rtt", "mean", "low", "high", "n"]
    assert table.rows()[0][:2] == ("reno", "10 ms")
    one = stats.mean([1, 2, 3])
    assert table.rows()[0][2:] == pytest.approx((one.value, one.low, one.high, 3))
    assert table.rows()[2][2] == 7.0
    assert math.isnan(table.rows()[2][3])
    whole = stats.summarise(RUNS, "goodput")
    assert whole["n"].to_list() == [8]
    missing = RUNS.with_columns(goodput=pl.when(pl.col("seed") == 2).then(math.nan).otherwise("goodput"))
    assert stats.summarise(missing, "goodput", by=["cc"])["n"].to_list() == [3, 3]
    assert stats.as_text(table, "Mbit/s")["estimate"][2] == "7 Mbit/s (n = 1, no interval)"
    nothing = stats.summarise(RUNS.with_columns(goodput=math.nan), "goodput", by=["rtt"])
    assert nothing["n"].to_list() == [0, 0]


def test_paired_groups():
    table = stats.paired_by(RUNS, "goodput", "cc", "cubic", "reno", by=["rtt"])
    first = stats.paired([1.5, 2.5, 4.0], [1.0, 2.0, 3.0])
    assert table.columns[:4] == ["rtt", "difference", "difference_low", "difference_high"]
    assert table.row(0)[1:] == pytest.approx(
        (*(getattr(first.difference, x) for x in ("value", "low", "high")),
         *(getattr(first.ratio, x) for x in ("value", "low", "high")), 3)
    )  # fmt: skip
    assert table["n"].to_list() == [3, 1]
    with pytest.raises(ValueError, match="several rows with the same seed"):
        stats.paired_by(RUNS, "goodput", "cc", "cubic", "reno")


def test_replicate_until():
    def run(seed: int) -> float:
        return float(np.random.Generator(np.random.PCG64(seed)).normal(10, 1))

    found = stats.replicate_until(run, 0.02)
    assert found.reached
    assert found.estimate.relative_half_width <= 0.02
    assert found.values == [run(seed) for seed in found.seeds]
    assert stats.mean(found.values[:-1]).relative_half_width > 0.02  # and not a run more than needed
    # s/√n t = 0.2 at about n = 96
    assert 60 <= found.estimate.n <= 140
    with ThreadPoolExecutor(2) as pool:
        at_once = stats.replicate_until(run, 0.02, batch=4, map=pool.map)
    assert at_once.values[: found.estimate.n] == found.values
    assert at_once.estimate.n - found.estimate.n < 4
    given_up = stats.replicate_until(run, 1e-6, most=15)
    assert (given_up.estimate.n, given_up.reached) == (15, False)
    assert stats.replicate_until(lambda _: 5.0, 0.01).estimate.n == 10
    for wrong in ({"relative": 0.0}, {"relative": 0.1, "least": 1}, {"relative": 0.1, "most": 5}):
        with pytest.raises(ValueError, match="replicate until"):
            stats.replicate_until(run, **wrong)
    with pytest.raises(ValueError, match="seed 1: gave nan"):
        stats.replicate_until(lambda _: math.nan, 0.1)


def test_mser_finds_a_transient():
    rng = np.random.Generator(np.random.PCG64(8))
    steady = rng.normal(100, 1, 2000)
    ramp = np.concatenate([np.linspace(0, 100, 300), steady])
    assert 295 <= stats.mser(ramp) <= 330
    assert stats.mser(steady) <= 200
    # an exponential start with time constant 60: gone to a percent after 276
    settling = steady - 100 * np.exp(-np.arange(2000) / 60)
    assert 240 <= stats.mser(settling) <= 480
    assert stats.mser(np.linspace(0, 1, 1000)) is None  # still on its way
    assert stats.mser(np.ones(100)) == 0
    with pytest.raises(ValueError, match="at least 10"):
        stats.mser([1.0] * 49)


def test_mser_by_its_definition():
    x = np.random.Generator(np.random.PCG64(2)).normal(size=200) + np.where(np.arange(200) < 30, 5, 0)
    means = x.reshape(-1, 5).mean(axis=1)
    error = [np.sum((means[d:] - means[d:].mean()) ** 2) / (len(means) - d) ** 2 for d in range(len(means) - 5)]
    assert stats.mser(x) == 5 * int(np.argmin(error))


def test_warmup_of_a_run():
    scenario = cclab.Scenario(
        duration="40 s",
        network=cclab.Dumbbell(rate="5 Mbit/s", rtt="50 ms", queue={"limit": "1 BDP"}),
        flows=[cclab.Flow(cc="reno"), cclab.Flow(cc="reno", start="5 s")],
        record={"samples": "50 ms"},
    )
    result = scenario.run(seed=1)
    assert 0 < stats.warmup_s(result) < 20
    assert math.isfinite(stats.warmup_s(result, of="queue"))
    with pytest.raises(ValueError, match="of"):
        stats.warmup_s(result, of="rtt")
    silent = scenario.replace({"record.samples": "off"}).run(seed=1)
    with pytest.raises(cclab.ResultError, match="sampled"):
        stats.warmup_s(silent)


def test_replicate_a_study_until(tmp_path):
    network = cclab.Dumbbell(rate="10 Mbit/s", rtt="20 ms", loss={"data": "1%"}, queue={"limit": "1 BDP"})
    scenario = cclab.Scenario(duration="2 s", network=network, flows=[cclab.Flow(cc="reno")], record={"samples": "off"})
    study = cclab.Study(scenario).vary({"network.rtt": ["20 ms", "40 ms"]})
    done, table = stats.replicate_study_until(
        study, "goodput_bps", 0.1, least=3, most=40, run=lambda study: study.run(tmp_path / "store")
    )
    assert table["reached"].all()
    assert table["n"].to_list() == [len(done.seeds)] * 2
    for row in table.iter_rows(named=True):
        assert (row["high"] - row["low"]) / 2 <= 0.1 * row["mean"]
    of = done.table("flows").filter(pl.col("network.rtt") == "40 ms")["goodput_bps"]
    assert table["mean"][1] == pytest.approx(of.mean())
    _, given_up = stats.replicate_study_until(study, "goodput_bps", 1e-9, least=2, most=3)
    assert given_up["n"].to_list() == [3, 3]
    assert not given_up["reached"].any()
    two = cclab.Study(scenario.replace({"flows.0.count": 2}))
    with pytest.raises(ValueError, match="several rows"):
        stats.replicate_study_until(two, "goodput_bps", 0.1)
    with pytest.raises(ValueError, match="replicate until"):
        stats.replicate_study_until(study, "goodput_bps", 0.1, least=1)


def test_what_never_came_is_not_left_out():
    frame = pl.DataFrame({"seed": [1, 2, 3, 4, 5], "t": [10.0, 12.0, math.inf, math.nan, None]})
    assert stats.summarise(frame, "t").row(0)[0] == math.inf
    assert all(map(math.isnan, stats.summarise(frame, "t").row(0)[1:3]))
    assert stats.summarise(frame, "t")["n"].item() == 3
    other = frame.with_columns(t=pl.lit(5.0), cc=pl.lit("b"))
    found = stats.paired_by(pl.concat([frame.with_columns(cc=pl.lit("a")), other]), "t", "cc", "a", "b").row(
        0, named=True
    )
    assert found["difference"] == math.inf
    assert found["n"] == 3
    assert all(math.isnan(found[f"{name}_{end}"]) for name in ("difference", "ratio") for end in ("low", "high"))


def test_in_brief():
    """Two digits of what is uncertain; the ends where a bound cuts the interval; how many runs have a figure."""
    assert stats.Estimate(9.4321, 9.4021, 9.4621, 5).brief() == "9.432 ± 0.030"
    assert stats.Estimate(-2.18, -14.2, 9.84, 3).brief() == "-2 ± 12"
    assert stats.Estimate(0.878, 0.878 - 1e-16, 0.878 + 1e-16, 5).brief() == "0.878 ± 0"
    assert stats.mean([0.7, 0.9, 1.0], bounds=(0, 1)).brief() == "0.87 [0.49, 1.00]"  # 0.87 ± 0.38 by Student's t
    assert stats.mean([1.0, math.nan]).brief() == "1 (1 of 2)"
    assert stats.mean([math.nan]).brief() == "– (0 of 1)"


def test_an_interval_and_the_number_of_runs_decide():
    """Schuirmann's two one-sided tests: half-widths by Student's t(2) = 4.302653 (any table)."""
    near = stats.mean([9.99, 10.0, 10.01])
    assert near.half_width == pytest.approx(4.302653 * 0.01 / 3**0.5)
    assert (near.against(9.9, 10.1), near.against(10.1, 11), near.against(9.99, 11)) == (
        "agrees",
        "differs",
        "cannot tell",
    )
    assert (near.above(9.9), near.above(10.1), near.above(10)) == ("agrees", "differs", "cannot tell")
    assert (near.below(10.1), near.below(9.9), near.below(10)) == ("agrees", "differs", "cannot tell")
    assert stats.mean([10.0] * 2).against(9, 11) == "cannot tell"
    assert stats.mean([10.0]).against(9, 11) == "cannot tell"
    assert stats.mean([10.0]).against(9, 11, chance=False) == "agrees"
    assert stats.mean([0.0] * 3).above(0) == "differs"  # nothing is not more than nothing
    assert (stats.every([True] * 3), stats.every([True] * 2), stats.every([True, False])) == (
        "agrees",
        "cannot tell",
        "differs",
    )
    assert stats.all_of(["agrees", "cannot tell"]) == stats.any_of(["differs", "cannot tell"]) == "cannot tell"


def test_a_jackknife_of_a_mean_is_students():
    x = np.array([[1.0], [2.0], [4.0]])
    found, mean = stats.jackknife(x, lambda of: float(of.mean())), stats.mean(x[:, 0])
    assert (found.value, found.low, found.high) == pytest.approx((mean.value, mean.low, mean.high))
    assert stats.jackknife(x, lambda of: float(of.mean()), bounds=(0, 4)).high == 4
