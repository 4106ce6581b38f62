"""The study of simulator and kernel: its scenarios, and what a verdict on one is."""

from __future__ import annotations

import polars as pl
import pytest

from cclab import published
from cclab.backends import live
from cclab.comparison import judge

STUDY = published.find("agreement")
ABOUT, ANALYSIS = STUDY.about, STUDY.analysis()


def test_there_are_thirty_over_the_ranges_that_are_said() -> None:
    made = ANALYSIS.scenarios(ABOUT, ABOUT["host"])
    assert len(made) == len({s.name for s in made}) == 30
    rates = {float(str(s.to_dict()["network"]["rate"]).split()[0]) for s in made}
    rtts = {float(str(s.to_dict()["network"]["rtt"]).split()[0]) for s in made}
    assert (min(rates), max(rates), min(rtts), max(rtts)) == (1, 500, 1, 200)


@pytest.mark.skipif(live.missing() is not None, reason=f"live: {live.missing()}")
def test_a_kernel_can_run_each_of_them() -> None:
    assert ANALYSIS.reasons(ANALYSIS.scenarios(ABOUT, {})) == []


def row(quantity: str, x: list[float], y: list[float]):
    return judge(x, y, within=0.05, deviations=2, quantity=quantity)


def test_what_differs_decides_then_what_cannot_be_told() -> None:
    same, apart = [10.0, 10.1, 9.9, 10.0], [12.0, 12.1, 11.9, 12.0]
    agrees, differs = row("goodput", same, same), row("RTT p50", apart, same)
    unsure = row("segments resent", [1.0, 3.0, 0.5], [1.5, 1.4, 1.6])
    assert [r.verdict for r in (agrees, differs, unsure)] == ["agrees", "differs", "cannot tell"]
    assert ANALYSIS.verdict(ABOUT, [agrees]) == "agrees"
    assert ANALYSIS.verdict(ABOUT, [agrees, unsure]) == "cannot tell"
    assert ANALYSIS.verdict(ABOUT, [agrees, unsure, differs]) == "differs"
    assert ANALYSIS.verdict(ABOUT, [agrees, row("window p90", apart, same)]) == "agrees"  # judged beside it


@pytest.mark.parametrize(
    ("agree", "differ", "verdict"), [(27, 3, "holds"), (26, 4, "fails"), (20, 0, "cannot tell"), (26, 3, "cannot tell")]
)
def test_the_claim_is_open_while_the_rest_could_change_it(agree: int, differ: int, verdict: str) -> None:
    given = ["agrees"] * agree + ["differs"] * differ + ["cannot tell"] * (30 - agree - differ)
    assert ANALYSIS.claim({str(i): v for i, v in enumerate(given)}).verdict == verdict


def test_runs_of_a_kernel_come_with_it() -> None:
    runs = pl.read_csv(STUDY.folder / "kernel.csv")
    names = [s.name for s in ANALYSIS.scenarios(ABOUT, ABOUT["host"])]
    count = runs.group_by("scenario").agg(pl.col("run").n_unique())
    assert sorted(count["scenario"]) == sorted(names)
    assert set(count["run"]) == {ABOUT["full"]["kernel"]}
    assert {key.split("/")[0] for key in runs["quantity"]} == set(ABOUT["quantities"])


def test_the_page_says_which_runs_are_the_kernels() -> None:
    recorded, measured = (ANALYSIS.method(live)[0] for live in (False, True))
    assert "no kernel was measured" in recorded
    assert "this machine's own kernel, measured" in measured


def test_a_run_gives_every_quantity_of_its_kind() -> None:
    made = ANALYSIS.scenarios(ABOUT, ABOUT["host"])
    found = ANALYSIS.measure(made[0].replace({"duration": "8 s"}).run())
    whats = {key.split("/")[0] for key in found}
    assert whats == set(ABOUT["quantities"]) - {"completion time", "share"}
    assert 9.4 < found["goodput/all"] < 9.66  # 10 Mbit/s times 1448/1500
    sized = ANALYSIS.measure(made[28].run())
    assert set(sized) == {"completion time/cubic", "segments resent/cubic"}
    # 100 kB: 70 segments, windows of 10, 20, 40: three round trips and the handshake's
    assert 0.16 < sized["completion time/cubic"] < 0.26
