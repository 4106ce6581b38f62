"""PingER's page: its printed numbers by formula, and its two TCPs beside Padhye's formula."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cclab import published

STUDY = published.find("pinger")


@pytest.fixture(scope="module")
def analysis():
    return STUDY.analysis()


def test_the_page_is_followed_to_the_digit(analysis):
    table = pl.read_csv(Path(STUDY.folder) / "published.csv").with_columns(pl.col("unit", "note").fill_null(""))
    rows = analysis.exact(table)
    assert len(rows) == 11
    assert {row.verdict for row in rows} == {"agrees"}


def test_predictions_are_those_of_the_page(analysis):
    # computed independently: RTT 100 ms, MSS 1460, T0 3 s, a window of 131072 bytes; Mbit/s
    for p, mathis, padhye in ((1e-4, 10.486, 8.61147), (1e-3, 3.69354, 2.97237), (0.025, 0.73871, 0.24037)):
        rates = analysis.predicted(STUDY.about, p, 0.1)
        assert rates[analysis.MATHIS] / 1e6 == pytest.approx(mathis, rel=1e-4)  # 10.486: the window over the RTT
        assert rates[analysis.PADHYE] / 1e6 == pytest.approx(padhye, rel=1e-4)


@pytest.mark.parametrize("endpoint", STUDY.about["endpoints"])
def test_a_tcp_at_a_low_loss_rate_is_near_padhye(analysis, endpoint):
    made = analysis.scenario(STUDY.about, endpoint, 1e-3, 0.1, 600, 5)
    goodputs = [analysis.goodput(made.run(seed=s))["goodput_bps"] for s in range(1, 4)]
    # counting ACKs as the formula has it (b = 2), or bytes (b = 1): √2 between them
    b = 2 if "1999" in endpoint else 1
    from cclab import formulas

    expected = float(formulas.to_bps(formulas.pftk(1e-3, 0.1, 1.0, b, 131072 / 1460)))
    assert np.mean(goodputs) == pytest.approx(expected, rel=0.1)


def test_r_squared():
    spec = np.array([[1.0, 2.0], [2.0, 4.1], [3.0, 5.9], [4.0, 8.2]])
    assert STUDY.analysis().r_squared(spec) == pytest.approx(
        0.99793, abs=1e-4
    )  # by hand: Sxy² / (Sxx Syy) = 10.2²/(5 · 20.85)
