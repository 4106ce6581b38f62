"""The study of response functions: its data are the formulas', its points lie where it says."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cclab import Scenario, formulas, published

STUDY = published.find("response-functions")
PLAN = {"from": 1e-2, "to": 1e-4, "per_decade": 3, "settle": 20, "count": 40, "packets": 1e6}


@pytest.fixture(scope="module")
def analysis():
    return STUDY.analysis()


def test_published_values_are_the_formulas(analysis):
    table = pl.read_csv(Path(STUDY.folder) / "published.csv")
    law = {"Reno": "reno", "Scalable": "scalable", "HSTCP": "hstcp", "CUBIC": "cubic"}
    assert set(table["item"]) == set(law)
    for row in table.iter_rows(named=True):
        assert row["value"] == pytest.approx(analysis.asymptotic(law[row["item"]], row["p"]), rel=1e-5)
    assert set(STUDY.about["laws"].values()) <= set(law.values())


def test_loss_rates_are_whole_packets(analysis):
    rates = analysis.rates(PLAN)
    assert len(rates) == 7
    assert all(round(1 / p) == pytest.approx(1 / p) for p in rates)
    assert rates[0] == 0.01


@pytest.mark.parametrize("law", STUDY.about["laws"].values())
def test_periodic_loss_gives_the_deterministic_window(analysis, law):
    for p in analysis.rates(PLAN)[::3]:
        made = analysis.scenario(STUDY.about["scenario"], law, p, PLAN, periodic=True)
        window = analysis.window(made.run(seed=1))
        assert window == pytest.approx(float(formulas.periodic(law, p, 0.1)), rel=0.05), (law, p)


def test_a_run_counts_what_it_says(analysis):
    made = analysis.scenario(STUDY.about["scenario"], "reno", 1e-3, PLAN, periodic=True)
    flow = Scenario.from_dict(made.to_dict()).run(seed=1).flows.row(0, named=True)
    assert abs(flow["recoveries"] - 40) <= 1
    assert flow["timeouts"] == 0


def test_the_axis_reads_as_powers(analysis):
    assert [analysis.power_of_ten(x) for x in np.array([1e-6, 1.0, 1e4])] == ["10⁻⁶", "10⁰", "10⁴"]
