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
    assert len(rows) == 2 * 25 + 4
    for row in rows:
        name, _, ack = row["item"].partition(", an ACK for ")
        if row["metric"] == "mean delay":
            printed, tolerance = DELAY[name]
            assert float(row["reference"]) == printed
            assert abs(float(row["measured"]) / printed - 1) <= tolerance, row
        if row["metric"] == "utilisation":  # as printed: throughput over the link's rate
            twin = next(r for r in rows if (r["item"], r["metric"]) == (row["item"], "throughput"))
            assert abs(float(row["measured"]) - float(twin["measured"]) / 1.5) < 1e-6
        if row["metric"] == "throughput with headers":  # a full link: 1.5 Mbit/s, within 3 % of the printed 1.47 alone
            assert abs(float(row["measured"]) - 1.5) < 0.005
            assert (row["verdict"] == "agrees") == (name == "Santa Cruz n=5"), row
        elif row["metric"] != "delay variance":
            assert row["verdict"] == "agrees", row
        assert (row["n"], row["ci_low"]) == ("1", ""), row  # nothing there is left to chance
        assert not ack or ack in ("each", "two")
    assert {row["item"].partition(", an")[0] for row in rows if row["metric"] == "throughput"} == set(DELAY)
    # the printed delay of n = 5 is that of delayed ACKs
    of = {r["item"]: float(r["measured"]) for r in rows if r["metric"] == "mean delay"}
    assert abs(of["Santa Cruz n=5, an ACK for two"] - 79.2) < 1 < abs(of["Santa Cruz n=5, an ACK for each"] - 79.2)
    checks = {row["check"]: row["verdict"] for row in csv.DictReader((out / "checks.csv").open())}
    assert len(checks) == 12
    assert {claim: verdict for claim, verdict in checks.items() if "figure" in claim} == dict.fromkeys(
        (claim for claim in checks if "figure" in claim), "holds"
    )
    assert all(verdict == "holds" for claim, verdict in checks.items() if "does not time out" in claim)
    assert [f["name"] for f in found["figures"][:2]] == ["figure-9", "figure-10"]
    text = json.dumps(found, ensure_ascii=False)
    assert "No longer borne out" not in text
    # which rows take the delay of another for theirs, by the printed numbers and by ours
    given = {"of those printed": {name: printed for name, (printed, _) in DELAY.items()}}
    for ack in ("an ACK for each", "an ACK for two"):
        given[f"Of ours with {ack}"] = {name: of[f"{name}, {ack}"] for name in DELAY}
    for whose, delays in given.items():
        said = text.partition(f"{whose}, ")[2].partition(". ")[0]
        pairs = {
            (row, other)
            for row, _, rest in (part.partition(" that of ") for part in said.split("; "))
            for other in rest.split(" and ")
        }
        assert pairs == {
            (row, other)
            for row, (printed, tolerance) in DELAY.items()
            for other, delay in delays.items()
            if row != other and printed * (1 - tolerance) <= delay <= printed * (1 + tolerance)
        }, said
