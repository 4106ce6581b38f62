"""Laws in BPF: the examples govern real connections, and go when the run is over."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest

import cclab
from cclab import _core
from cclab.backends import live
from cclab.errors import ScenarioError
from cclab.scenario import program_of
from cclab.sweep import plan
from conftest import unspoilt
from test_live import nothing_is_left, programs_of

pytestmark = pytest.mark.real_time

BUILT = Path(__file__).parents[2] / "target" / "bpf"
reason = live.missing() or ("" if BUILT.exists() else "make bpf was not run: it needs clang and libbpf's headers")
if not reason and (lacks := _core.live_lacks(f"bpf:{BUILT}/scalable.bpf.o")):
    reason = lacks
needs_bpf = pytest.mark.skipif(bool(reason), reason=str(reason))


def run(law: str, **network: object) -> cclab.Result:
    scenario = cclab.Scenario.from_dict(
        {
            "duration": "8 s",
            "warmup": "2 s",
            "record": {"samples": "10 ms"},
            "network": {"rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 BDP"}, **network},
            "flows": [{"cc": f"bpf:{BUILT}/{law}.bpf.o"}],
        }
    )
    return unspoilt(lambda: scenario.run(backend="live"))


def left_by_a_loss(result: cclab.Result) -> float:
    """The last threshold over the largest window: what a loss leaves of a steady sawtooth."""
    samples = result.samples.filter(pl.col("time_s") > 3).drop_nans(["ssthresh_bytes", "cwnd_bytes"])
    return float(samples["ssthresh_bytes"][-1]) / float(samples["cwnd_bytes"].max())  # type: ignore[arg-type]


@needs_bpf
@pytest.mark.parametrize(
    ("law", "left"),
    [
        ("scalable", (0.85, 0.9)),  # Kelly 2003: W - W/8
        ("reno-per-ack", (0.45, 0.53)),  # RFC 5681 (4)
        ("htcp", (0.5, 0.8)),  # Leith & Shorten 2004: beta within its bounds
    ],
)
def test_the_examples_govern_a_connection(law: str, left: tuple[float, float]) -> None:
    result = run(law)
    file = f"{BUILT}/{law}.bpf.o"
    assert result.flows["cc"][0] == f"bpf:{file}"
    hashed = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True).stdout.split()[0]
    assert result.stamp["programs"] == {file: hashed}
    assert result.links["utilisation"][0] > 0.9
    assert left[0] - 0.03 <= left_by_a_loss(result) <= left[1] + 0.03
    assert not programs_of(os.getpid())


@needs_bpf
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP])
def test_nothing_is_left_of_a_run_that_is_ended(end: signal.Signals, tmp_path: Path) -> None:
    """The last is an error: a process that often stands still cannot keep up."""
    nothing_is_left(end, f"bpf:{BUILT}/scalable.bpf.o", tmp_path)


@needs_bpf
def test_growth_by_acks_is_slower_than_by_segments() -> None:
    # an ACK for two segments: 1/W each, so about half a segment per RTT (RFC 5681 §3.1 with delayed ACKs)
    per_ack = run("reno-per-ack", queue={"limit": "4 BDP"})
    samples = per_ack.samples.filter((pl.col("time_s") > 3) & (pl.col("cwnd_bytes") > pl.col("ssthresh_bytes")))
    # between two reductions: growth in segments over round trips
    window, time, rtt = (samples[name].to_numpy() for name in ("cwnd_bytes", "time_s", "srtt_s"))
    steps = [
        (b - a) / 1448 / ((t1 - t0) / r)
        for a, b, t0, t1, r in zip(window[:-50], window[50:], time[:-50], time[50:], rtt[50:], strict=True)
        if b > a
    ]
    assert steps, "it grew"
    assert 0.3 < sorted(steps)[len(steps) // 2] < 0.75


@needs_bpf
def test_what_is_no_program_is_told(tmp_path: Path) -> None:
    network = {"rate": "1 Mbit/s", "rtt": "10 ms"}
    (tmp_path / "text.o").write_text("no object")
    for file, said in (
        ("nowhere.o", r"flows\[0\]\.cc: .*nowhere.o: cannot be read \(No such file.*relative to the scenario's file"),
        ("", "is no file"),
        ("text.o", "text.o: is no BPF object"),
    ):
        flow = {"cc": f"bpf:{tmp_path}/{file}"}
        scenario = cclab.Scenario.from_dict({"duration": "1 s", "network": network, "flows": [flow]})
        with pytest.raises(ScenarioError, match=said):
            scenario.run(backend="live")


@needs_bpf
def test_what_the_verifier_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    """A law may not write `delivered`: the kernel says so in the last line of its log, before the statistics."""
    source = tmp_path / "greedy.bpf.c"
    source.write_text(
        '#include "tcp.h"\n'
        'SEC("struct_ops") void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked) { tcp_sk(sk)->delivered = 0; }\n'
        'SEC("struct_ops") __u32 BPF_PROG(ssthresh, struct sock *sk) { return 2; }\n'
        'SEC("struct_ops") __u32 BPF_PROG(undo_cwnd, struct sock *sk) { return 2; }\n'
        'LAW(greedy, "greedy", .cong_avoid = (void *)cong_avoid, .ssthresh = (void *)ssthresh, .undo_cwnd = (void *)undo_cwnd);\n'
    )
    machine = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=True).stdout.strip()
    include = [f"-I/usr/include/{machine}", f"-I{BUILT.parents[1] / 'bpf'}"]
    built = source.with_suffix(".o")
    subprocess.run(["clang", "-O2", "-g", "-target", "bpf", *include, "-c", source, "-o", built], check=True)
    network = {"rate": "1 Mbit/s", "rtt": "10 ms"}
    scenario = cclab.Scenario.from_dict({"duration": "1 s", "network": network, "flows": [{"cc": f"bpf:{built}"}]})
    with pytest.raises(ScenarioError, match=r"the kernel does not take the program") as told:
        scenario.run(backend="live")
    log = str(told.value).splitlines()[1:]
    assert 1 < len(log) <= 20
    assert log[-1].startswith("no write support to tcp_sock")


def test_another_program_in_the_same_file_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    network = {"rate": "1 Mbit/s", "rtt": "10 ms"}
    scenario = cclab.Scenario.from_dict({"duration": "1 s", "network": network, "flows": [{"cc": "reno"}]})
    study = cclab.Study(scenario, backend="live").vary({"flows.0.cc": ["bpf:own.o", "cubic"]})
    found = []
    for text in (None, "one", "other"):
        if text:
            Path("own.o").write_text(text)
        made = plan.make(study._design, "")
        found.append([plan.identity(study._design, ""), *(keys[0] for keys in made.keys)])
    identities, own, cubic = zip(*found, strict=True)
    assert [len(set(keys)) for keys in (identities, own, cubic)] == [3, 3, 1]


@pytest.mark.parametrize("backend", ["sim", "model"])
def test_no_other_backend_runs_one(backend: str) -> None:
    network = {"rate": "1 Mbit/s", "rtt": "10 ms"}
    scenario = cclab.Scenario.from_dict({"duration": "1 s", "network": network, "flows": [{"cc": "bpf:some.o"}]})
    with pytest.raises(ScenarioError, match=r"flows\[0\]\.cc: .*bpf:.*some\.o"):
        scenario.run(backend=backend)


def test_a_program_lies_beside_its_scenario(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'duration = "1 s"\nnetwork = { rate = "1 Mbit/s", rtt = "10 ms" }\nflows = [{ cc = "bpf:own.o" }]\n'
    )
    scenario = cclab.Scenario.load(tmp_path / "s.toml")
    assert scenario.to_dict()["flows"][0]["cc"] == f"bpf:{tmp_path / 'own.o'}"
    assert scenario.replace({"duration": "2 s"}).to_dict()["flows"][0]["cc"] == f"bpf:{tmp_path / 'own.o'}"


@pytest.mark.parametrize("cc", ["bpf:own.o", {"name": "bpf:own.o"}])
def test_a_program_is_found_from_anywhere(cc: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    network = {"rate": "1 Mbit/s", "rtt": "10 ms"}
    scenario = cclab.Scenario.from_dict({"duration": "1 s", "network": network, "flows": [{"cc": cc}]})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scenario.toml").write_text(scenario.to_toml())
    monkeypatch.chdir("/")
    assert program_of(cclab.Scenario.load(tmp_path / "out" / "scenario.toml").to_dict()["flows"][0]) == str(
        tmp_path / "own.o"
    )


def test_flows_of_a_program_are_called_by_its_file():
    network = {"rate": "1 Mbit/s", "rtt": "10 ms"}
    laws = ["bpf:/some/where/own.bpf.o", "bpf:other.o", "bpf:own.bpf.o", "reno"]
    scenario = cclab.Scenario.from_dict({"duration": "1 s", "network": network, "flows": [{"cc": cc} for cc in laws]})
    assert [flow["label"] for flow in scenario.resolved()["flows"]] == ["own-1", "other-1", "own-2", "reno-1"]
