"""The Santa Cruz study agrees with its paper where it did, and its page says nothing that its figures do not."""

from __future__ import annotations

import csv
import json

from cclab import published

# Table 2 of the study: mean one-way delay, ms, and the tolerance stated for it.
DELAY = {
    "Reno": (99.4, 0.10),
    "Santa Cruz n=1.5": (55.1, 0.15),
    "Santa Cruz n=3": (60.6, 0.15),
    "Santa Cruz n=5": (79.2, 0.15),
    "Vegas (1,3)": (55.2, 0.10),
}


def test_the_study_as_published(tmp_path):
    out = tmp_path / "out"
    found, _ = published.reproduce(published.find("santa-cruz"), out, quick=True, force=False, progress=lambda _: None)
    rows = list(csv.DictReader((out / "comparison.csv").open()))
    assert len(rows) == 24
    assert {row["item"] for row in rows if row["metric"] == "throughput"} == set(DELAY)
    for row in rows:
        if row["metric"] == "mean delay":
            printed, tolerance = DELAY[row["item"]]
            assert float(row["reference"]) == printed
            assert abs(float(row["measured"]) / printed - 1) <= tolerance, row
        if row["metric"] in ("throughput", "peak window", "minimum forward delay", "bandwidth-delay product"):
            assert row["verdict"] == "agrees", row
    checks = {row["check"]: row["verdict"] for row in csv.DictReader((out / "checks.csv").open())}
    assert len(checks) == 9
    for claim, verdict in checks.items():
        if "figure" in claim or "Table 2" in claim or "operating point" in claim:
            assert verdict == "holds", claim
    assert [f["name"] for f in found["figures"][:2]] == ["figure-9", "figure-10"]
    text = json.dumps(found, ensure_ascii=False)
    assert "No longer borne out" not in text
