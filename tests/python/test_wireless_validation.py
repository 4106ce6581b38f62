"""The validation of the radio half: its formulas against values that were computed apart, and itself in small."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cclab import published
from cclab.analysis import stats
from cclab.published import compare
from cclab.theory import wireless

BIANCHI = Path(__file__).parents[1] / "golden" / "bianchi.csv"


def bianchi():
    lines = (line for line in BIANCHI.read_text().splitlines() if not line.startswith("#"))
    return list(csv.DictReader(lines))


def test_saturation_throughput():
    rows = bianchi()
    assert len(rows) == 144
    for row in rows:
        rts = row["access"] == "rts_cts"
        phy = wireless.Dsss(
            float(row["data_rate_bps"]), float(row["basic_rate_bps"]), int(row["mac_overhead_bytes"]), rts
        )
        n, payload = int(row["n_stations"]), int(row["payload_bytes"])
        assert wireless.bianchi(n, phy) == pytest.approx((float(row["tau"]), float(row["p"])), abs=1e-6)
        assert phy.success_s(payload) == pytest.approx(float(row["Ts_us"]) * 1e-6, abs=1e-7)
        assert phy.collision_s(payload) == pytest.approx(float(row["Tc_us"]) * 1e-6, abs=1e-7)
        assert wireless.saturation_bps(n, payload, phy) == pytest.approx(float(row["throughput_bps"]), rel=1e-6)


@pytest.mark.parametrize("rts", [True, False])
def test_a_cell_of_equal_stations_is_bianchis(rts):
    """But for EIFS behind a collision, in the place of DIFS."""

    class Patient(wireless.Dsss):
        eifs = wireless.Dsss.difs

    for n in (1, 2, 10, 50):
        of = n * wireless.cell_bps([Patient(rts=rts)] * n, 1000)
        assert of == pytest.approx(wireless.saturation_bps(n, 1000, wireless.Dsss(rts=rts)), rel=1e-9)


def test_attempts_without_end_are_the_limit_of_many():
    for n in (1, 5, 50):
        assert wireless.bianchi(n, attempts=400) == pytest.approx(wireless.bianchi(n), rel=1e-6)
    assert wireless.bianchi(50, attempts=7)[1] > wireless.bianchi(50)[1]  # who gives up begins with a small window


def test_exchange_times():
    """A 1500-byte packet takes 352 + 304 + 6328 + 304 us, three SIFS, DIFS and 15 slots."""
    assert wireless.DSSS.exchange_s(1500) == pytest.approx(7.668e-3)
    assert wireless.DSSS.exchange_s(40) == pytest.approx(1.828e-3)
    assert wireless.stop_and_wait_bps(4) == pytest.approx(1460 * 8 / (4 * 9.496e-3))


def test_a_verdict_is_by_equivalence():
    near, far, wide = [9.9, 10.0, 10.1], [14.9, 15.0, 15.1], [8.0, 10.0, 12.0]
    verdicts = [compare("a", "b", "s", 10.0, of, tolerance=0.1).verdict for of in (near, far, wide)]
    assert verdicts == ["agrees", "differs", "cannot tell"]
    # a reference that is itself uncertain
    assert compare("a", "b", "s", 10.0, near, tolerance=0.1, spread=(3.0, 5)).verdict == "cannot tell"
    # Welch's example of equal deviations and sizes is Student's: 2 (n - 1) degrees of freedom
    s = 0.1
    half = stats.welch(near, s, 3).half_width
    assert half == pytest.approx(stats.t_quantile(0.975, 4) * s * (2 / 3) ** 0.5)


def test_the_validation_in_small(tmp_path):
    study = published.find("wireless-validation")
    found, _ = published.reproduce(
        study, tmp_path / "out", quick=True, force=True, progress=lambda _: None, parts=("stop-and-wait", "diameter")
    )
    assert {row["verdict"] for row in found["comparisons"]} <= {"agrees", "cannot tell"}
    assert [check["verdict"] for check in found["checks"]] == ["holds"]
    assert (tmp_path / "out" / "report.html").is_file()
