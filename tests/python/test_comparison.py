"""`cclab compare`: what is paired with what, and when two figures agree."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

import cclab
from cclab import comparison, stats
from cclab.cli import run_cli
from cclab.comparison import Side, compare
from cclab.errors import ResultError, UnknownNameError


def flows(**goodputs: list[float]) -> pl.DataFrame:
    """Goodputs in Mbit/s of flows over seeds that count up from 1."""
    rows = [
        {"label": label, "seed": seed, "goodput_bps": x * 1e6}
        for label, values in goodputs.items()
        for seed, x in enumerate(values, 1)
    ]
    return pl.DataFrame(rows)


def side(name: str, frame: pl.DataFrame) -> Side:
    return Side(name, (), {"flows": frame})


def one(a: pl.DataFrame, b: pl.DataFrame, **how: float) -> comparison.Row:
    (row,) = compare(side("a", a), side("b", b), ["goodput"], **how).rows
    return row


def test_runs_of_the_same_seed_are_pairs() -> None:
    # differences 1, 2, 3: mean 2, s = 1, t(2; 0.975) = 4.302653 (any table): half 4.302653 / sqrt 3
    row = one(flows(f=[11, 22, 33]), flows(f=[10, 20, 30]))
    assert row.difference.value == pytest.approx(2)
    assert row.difference.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert (row.a, row.b, row.tolerance) == pytest.approx((22, 20, 1))


def test_other_seeds_are_independent_means() -> None:
    # Welch: variances 1 and 4 of 3 values each, df = (5/3)^2 / (1/9/2 + 16/9/2) = 50/17
    a, b = flows(f=[9, 10, 11]), flows(f=[10, 12, 14]).with_columns(pl.col("seed") + 10)
    row = one(a, b)
    assert row.difference.value == pytest.approx(-2)
    assert row.difference.half_width == pytest.approx(stats.t_quantile(0.975, 50 / 17) * math.sqrt(5 / 3), rel=1e-9)


@pytest.mark.parametrize(
    ("a", "verdict"),
    [
        ([10.1, 10.2, 10.1, 10.2], "agrees"),
        ([10.9, 11.0, 11.1, 11.0], "differs"),
        ([9.0, 11.0, 9.5, 10.9], "cannot tell"),
    ],
)
def test_the_whole_interval_decides(a: list[float], verdict: str) -> None:
    b = flows(f=[10.0, 10.1, 9.9, 10.0])
    assert one(flows(f=a), b).verdict == verdict


def test_deviations_of_b_widen_the_tolerance() -> None:
    a, b = flows(f=[10.9, 11.9, 12.9]), flows(f=[10, 11, 12])
    assert one(a, b).verdict == "differs"
    assert one(a, b, deviations=2).tolerance == pytest.approx(2.0)
    assert one(a, b, deviations=2).verdict == "agrees"


def test_one_run_tells_nothing_of_chance() -> None:
    assert one(flows(f=[10]), flows(f=[10])).verdict == "agrees"
    assert one(flows(f=[10]), flows(f=[10.01])).verdict == "cannot tell"
    assert one(flows(f=[10]), flows(f=[20])).verdict == "cannot tell"


def test_runs_that_never_finished_count() -> None:
    # 3 of 20 finish, all as fast as the other side's: of the others nobody knows
    nan = math.nan
    some, all_ = [1.0, 1.0, 1.01] + 17 * [nan], [1.0, 1.01] * 10
    assert one(flows(f=some), flows(f=all_)).verdict == "cannot tell"
    assert one(flows(f=all_), flows(f=some)).verdict == "cannot tell"
    other = flows(f=all_).with_columns(pl.col("seed") + 100)
    row = one(flows(f=some), other)
    assert (row.verdict, row.difference.n, row.difference.missing) == ("cannot tell", 3, 17)


def test_a_published_study_agrees_with_itself() -> None:
    numbers = {
        "item": ["a"],
        "metric": ["m"],
        "unit": ["s"],
        "mean": [100.0],
        "low": [94.0],
        "high": [106.0],
        "n": [10],
    }
    study = Side("s", (), {}, pl.DataFrame(numbers))
    assert compare(study, study).verdict == "agrees"
    other = Side("t", (), {}, pl.DataFrame(numbers | {"mean": [100.1], "low": [94.1], "high": [106.1]}))
    assert compare(study, other).verdict == "cannot tell"


def test_zero_agrees_with_zero() -> None:
    assert one(flows(f=[0, 0]), flows(f=[0, 0])).verdict == "agrees"
    assert one(flows(f=[1, 1]), flows(f=[0, 0])).verdict == "cannot tell"  # of two runs
    assert one(flows(f=[1, 1, 1]), flows(f=[0, 0, 0])).verdict == "differs"


def test_round_off_is_no_difference() -> None:
    """0.1 + 0.2 and 0.3 are 5.6·10⁻¹⁷ apart, which is the arithmetic's."""
    one = comparison.judge([0.1 + 0.2], [0.3])
    assert (one.difference.value, one.verdict) == (0.0, "agrees")
    pairs = comparison.judge([0.1 + 0.2, 1.1 + 2.2, 5.0], [0.3, 3.3, 5.0], paired=True)
    assert (pairs.difference.value, pairs.difference.low, pairs.difference.high) == (0.0, 0.0, 0.0)
    assert comparison.judge([0.3 + 1e-9], [0.3]).difference.value == pytest.approx(1e-9)


def test_what_only_one_has_is_told() -> None:
    found = compare(side("a", flows(f=[1, 1], g=[1, 1])), side("b", flows(f=[1, 1])), ["goodput"])
    assert found.left_out == ["only a has goodput of 1 of its flows: g"]
    assert found.footing().endswith("What only one of them has cannot be told.")  # why the verdict is not "agrees"
    assert found.chart().axes[0].get_xlabel().splitlines() == ["(A − B) / B, %", "A: a", "B: b"]
    with pytest.raises(ResultError, match="nothing of one has its like"):
        compare(side("a", flows(f=[1])), side("b", flows(g=[1])), ["goodput"])


def test_what_has_no_partner_is_no_agreement() -> None:
    a, b = flows(f=[1, 1, 1], g=[1, 1, 1]), flows(f=[1, 1, 1])
    assert compare(side("a", a), side("b", b), ["goodput"]).verdict == "cannot tell"


def test_seeds_that_both_have_are_pairs() -> None:
    row = one(flows(f=[5.8, 7.0, 7.2, 9.9, 3.0]), flows(f=[5.8, 7.0, 7.2]))
    assert (row.verdict, row.difference.value, row.difference.n) == ("agrees", 0, 3)


def test_common_seeds_are_pairs_and_others_are_left_out() -> None:
    # seeds 3, 4, 5 are common: differences 1, 2, 3 as above; what differs by chance alone (10 to 50) cancels
    a, b = flows(f=[90, 80, 11, 22, 33]), flows(f=[10, 20, 30, 99]).with_columns(pl.col("seed") + 2)
    row = one(a, b)
    assert (row.difference.value, row.difference.n) == (pytest.approx(2), 3)
    assert row.difference.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    two = flows(f=[11, 22, 33, 44]), flows(f=[11, 22, 34, 45]).with_columns(pl.col("seed") + 2)
    assert one(*two).difference.n == 4, "two pairs tell nothing, means do"


def test_an_unknown_quantity_names_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="there are: goodput, completion time"):
        compare(side("a", flows(f=[1])), side("b", flows(f=[1])), ["speed"])


SCENARIO = """
name = "lossy"
duration = "3 s"
[network]
rate = "10 Mbit/s"
rtt = "20 ms"
loss = { data = "1%" }
[[flows]]
cc = "reno"
"""


@pytest.fixture
def sweeps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO)
    for name, rate in (("a", "10 Mbit/s"), ("b", "10 Mbit/s"), ("c", "5 Mbit/s")):
        study = cclab.Study(cclab.Scenario.load("s.toml").replace({"network.rate": rate}), name=name)
        study.vary({"network.rtt": ["10 ms", "40 ms"]}).replicate(3).run(tmp_path / name)
    return tmp_path


def test_the_status_says_the_verdict(sweeps, capsys) -> None:
    assert run_cli(["compare", "a", "b", "--quantity", "all", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "agrees"
    assert {row["network.rtt"] for row in told["rows"]} == {"10 ms", "40 ms"}
    assert run_cli(["compare", "a", "c", "--quantity", "RTT mean"]) == 1
    assert "differ" in capsys.readouterr().out
    assert run_cli(["compare", "a", "nowhere"]) == 2


def test_points_that_have_no_partner_are_refused(sweeps, capsys) -> None:
    cclab.Scenario.load("s.toml").run().save("r")
    assert run_cli(["compare", "a", "r"]) == 2
    assert "network.rtt has 2 values there, and is not varied in r" in capsys.readouterr().err


def test_results_are_compared_and_drawn(sweeps, capsys) -> None:
    for seed in (1, 2):
        cclab.Scenario.load("s.toml").run(seed=seed).save(f"r{seed}")
    assert run_cli(["compare", "r1", "r2", "--out", "page"]) == 3
    assert "Fewer than 3 runs tell nothing of chance" in capsys.readouterr().out
    page = (sweeps / "page" / "report.html").read_text()
    assert "cannot tell" in page
    assert "<svg" in page
    assert pl.read_csv(sweeps / "page" / "comparison.csv").height == 3
    assert run_cli(["compare", "r1", "r2", "--out", "page"]) == 3  # an earlier one is replaced
    for there in ("r1", "a"):  # a result and a sweep are not
        assert run_cli(["compare", "r1", "r2", "--out", there]) == 2
        assert f"{there}: holds something that is no comparison" in capsys.readouterr().err
    assert run_cli(["compare", "r1", "r2", "--deviations", "nan"]) == 2


def test_a_failure_is_no_difference(sweeps, capsys, monkeypatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    assert run_cli(["compare", "a", "b", "--out", "s.toml/page"]) == 2
    monkeypatch.setattr(comparison, "compare", fails)
    assert run_cli(["compare", "a", "b"]) == 2
    assert "a bug" in capsys.readouterr().err


def test_each_side_says_what_it_is(sweeps, capsys) -> None:
    cclab.Scenario.load("s.toml").run(seed=7).save("r")
    assert run_cli(["compare", "r", "r"]) == 0
    out = capsys.readouterr().out
    assert f"A: r: lossy, sim, seed 7, cclab {cclab.__version__}, python " in out
    assert run_cli(["compare", "a", "b", "--out", "page", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["sides"]
    assert [(side["scenario"], side["backend"], side["seeds"]) for side in told] == [("lossy", "sim", [1, 2, 3])] * 2
    assert "A: a: lossy, sim, seeds 1 to 3, cclab" in (sweeps / "page" / "report.html").read_text()


def test_sessions_are_compared(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = cclab.Scenario.load(Path(__file__).parents[2] / "examples" / "wifi-and-cellular.toml")
    scenario = scenario.replace({"duration": "3 s", "warmup": "0 s"})
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        scenario.run(seed=seed).save(name)
    rows = {(row.of, row.quantity): row for row in compare("a", "b", ["goodput of a session"]).rows}
    (row,) = rows.values()
    assert row.a == pytest.approx(scenario.run(seed=1).rows("sessions")[0]["goodput_bps"] / 1e6)
    assert run_cli(["compare", "a", "b"]) == 0
    assert "goodput of a session" in capsys.readouterr().out
