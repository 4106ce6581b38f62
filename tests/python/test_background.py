"""Background traffic: tables, JSON, files, the terminal."""

import json
import math
import subprocess
import sys

import polars as pl
import pytest

import cclab
from conftest import write


def test_a_row_for_each_entry_and_direction(background):
    rows = background.background
    assert rows["label"].to_list() == ["web", "web", "poisson"]
    assert rows["direction"].to_list() == ["forward", "reverse", "forward"]
    assert rows["cc"].to_list() == ["cubic", "cubic", "reno"]
    assert (rows["connections_started"] > 10).all()
    known = rows["connections_completed"] + rows["connections_failed"] + rows["connections_unfinished"]
    assert (rows["connections_started"] == known).all()
    assert background.flows.height == 1
    assert math.isnan(rows["users"][2])


def test_bins_of_sizes_hold_every_completed_connection(background):
    sums = background.fct.group_by("label", "direction", maintain_order=True).agg(pl.col("fct_count").sum())
    assert sums["fct_count"].to_list() == background.background["connections_completed"].to_list()
    assert (background.fct["size_from_bytes"] < background.fct["size_to_bytes"]).all()


def test_json_and_files_have_the_same(background, tmp_path):
    data = background.json()
    json.dumps(data, allow_nan=False)
    assert [row["label"] for row in data["background"]] == ["web", "web", "poisson"]
    assert data["fct"][0]["fct_count"] > 0
    background.save(tmp_path / "out")
    again = cclab.Result.load(tmp_path / "out")
    assert again.background.equals(background.background, null_equal=True)
    assert again.fct.equals(background.fct, null_equal=True)


def test_a_run_without_it_has_none(result, tmp_path):
    assert result.background.height == result.fct.height == 0
    assert result.json()["background"] == []
    result.save(tmp_path / "out")
    assert not (tmp_path / "out" / "background.parquet").exists()
    assert cclab.Result.load(tmp_path / "out").background.height == 0


def test_the_terminal_shows_it(background, cli, tmp_path):
    assert "poisson" in background.summary()
    text = """
duration = "5 s"
[network]
rate = "10 Mbit/s"
rtt = "40 ms"
[[background]]
kind = "poisson"
load = "20%"
cc = "reno"
sizes = "20 kB"
"""
    status, out, _ = cli("run", write(tmp_path / "alone.toml", text))
    assert status == 0
    assert "poisson" in out
    assert "bottleneck" in out


def test_packets_name_the_entry():
    scenario = cclab.Scenario(
        duration="2 s",
        network=cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms"),
        flows=[cclab.Flow(cc="reno")],
        background=[cclab.Background("poisson", "20%", sizes="20 kB")],
        record={"packets": True},
    )
    assert set(scenario.run().packets["flow"].unique()) == {"reno-1", "poisson"}


_PEAK = """
import resource, sys, cclab
cclab.Scenario(
    duration=sys.argv[1], network=cclab.Dumbbell(rate="100 Mbit/s", rtt="40 ms"), record={"samples": "off"},
    background=[cclab.Background("poisson", "30%", rtt="aikat"), cclab.Background("web", "20%", arrivals="pages")],
).run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_simulated_time():
    peak = {
        duration: int(subprocess.run([sys.executable, "-c", _PEAK, duration], capture_output=True, check=True).stdout)
        for duration in ("60 s", "600 s")
    }
    assert peak["600 s"] < 1.03 * peak["60 s"], peak


def test_an_error_in_a_python_law_stops_the_run():
    class Fragile(cclab.CongestionControl):
        name = "fragile-in-the-background"

        def on_ack(self, ack):
            raise ValueError("no more")

        def on_congestion(self, event):
            pass

    cclab.register(Fragile)
    scenario = cclab.Scenario(
        duration="5 s",
        network=cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms"),
        background=[cclab.Background("poisson", "20%", sizes="20 kB", cc="fragile-in-the-background")],
    )
    with pytest.raises(cclab.CclabError, match="poisson"):
        scenario.run()


def test_mistakes_name_the_field():
    with pytest.raises(cclab.ScenarioError, match=r"background\[0\]\.load: \"-1%\" is not a load"):
        cclab.Scenario(
            duration="2 s",
            network=cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms"),
            background=[cclab.Background("web", "-1%")],
        )
