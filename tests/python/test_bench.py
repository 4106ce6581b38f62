"""`cclab bench`: the cases, their figures, and the ratios beside other simulators."""

import json
from pathlib import Path

import pytest

from cclab import Scenario, Study, UnknownNameError, bench
from cclab.console import as_text

KEYS = [
    "case", "data_packets", "events", "cpu_s", "wall_s", "peak_rss_bytes", "packets_per_cpu_s", "events_per_cpu_s",
]  # fmt: skip


def test_cases_are_scenarios():
    assert list(bench.CASES) == ["single-800M", "flows-10", "flows-100", "flows-1000", "two-paths", "flows-100k"]
    for case in bench.CASES.values():
        assert Scenario.from_dict(case)


def test_json(cli):
    status, out, err = cli("bench", "--json", "--repeat", 1, "--case", "flows-10")
    assert (status, err) == (0, "")
    (row,) = json.loads(out)
    assert set(KEYS) <= set(row)
    assert row["case"] == "flows-10"
    # 1 Gbit/s for 10 s in packets of 1500 bytes
    assert 0.5 * 833_333 < row["data_packets"] <= 833_333
    assert row["packets_per_cpu_s"] == pytest.approx(row["data_packets"] / row["cpu_s"])
    assert row["events_per_cpu_s"] == pytest.approx(row["events"] / row["cpu_s"])
    assert 5e6 < row["peak_rss_bytes"] < 100e6


def test_a_sweep(cli, monkeypatch):
    """What it costs to keep a run, in small; in large it is the study in benches."""
    full = bench.SWEEPS["sweep-10000"]
    file = Path(__file__).parents[2] / "benches" / "sweep-10000.toml"
    study = Study(Scenario.from_dict(full["scenario"]), name=full["name"])
    assert Study.load(file) == study.vary(full["vary"]).replicate(full["replications"])
    monkeypatch.setitem(bench.SWEEPS, "sweep-10000", {**full, "replications": 30})
    status, out, err = cli("bench", "--json", "--repeat", 1, "--case", "sweep-10000")
    assert (status, err) == (0, "")
    (row,) = json.loads(out)
    assert {*KEYS, "swept_runs", "cpu_s_per_run", "keeping_cpu_s_per_run"} <= set(row)
    assert row["swept_runs"] == 300
    assert 0 < row["keeping_cpu_s_per_run"] < row["cpu_s_per_run"] < 0.05
    (shown,) = bench.tables([row], None)
    assert "sweep-10000" in as_text(shown)


def test_beside_others():
    ours = [{"case": "single-800M", "data_packets": 4_000_000, "events": 9_000_000, "cpu_s": 1.0, "wall_s": 1.0,
             "peak_rss_bytes": 30_000_000, "packets_per_cpu_s": 4e6, "events_per_cpu_s": 9e6, "runs": 3}]  # fmt: skip
    others = [
        {"simulator": "ns-2", "version": "2.35", "case": "single-800M", "start": "cold", "packets_per_cpu_s": 1e6},
        {"simulator": "ns-3", "absent": True, "install": "apt-get install libns3-dev"},
    ]
    text = as_text(*bench.tables(ours, others))
    assert "4.0 × as fast" in text
    assert "not installed: apt-get install libns3-dev" in text
    assert "4 million" in text


def test_the_scripts_for_others_are_found_or_missed_clearly(monkeypatch, tmp_path, cli):
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(bench.UnknownNameError, match="in a clone"):
        bench.peers([])


def test_peers_are_run_from_this_clone_only(tmp_path, monkeypatch):
    trap = tmp_path / "benches" / "peers" / "peers.py"
    trap.parent.mkdir(parents=True)
    trap.write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert bench._peers_script().resolve() != trap
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "lib" / "site-packages" / "cclab" / "bench.py"))
    with pytest.raises(UnknownNameError, match="clone"):
        bench._peers_script()
