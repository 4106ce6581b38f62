"""Real kernels between our links. What needs leave to make network namespaces is skipped where there is none, with the reason."""

import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import cclab
from cclab.backends import live
from conftest import unspoilt

pytestmark = pytest.mark.real_time

MISSING = live.missing()
needs_hosts = pytest.mark.skipif(MISSING is not None, reason=f"live: {MISSING}")
PAYLOAD = 1448 / 1500  # of a packet of 1500 bytes with timestamps


def scenario(duration="3 s", warmup="1 s", flows=({"cc": "cubic"},), record=None, **network):
    network = {"rate": "10 Mbit/s", "rtt": "20 ms", **network}
    given = {"duration": duration, "warmup": warmup, "network": network, "flows": list(flows)}
    return cclab.Scenario.from_dict(given | ({"record": record} if record else {}))


def run(wanted, good=lambda result: True):
    return unspoilt(lambda: wanted.run(backend="live"), good)


def flow(result, number=0):
    return result.rows("flows")[number]


def link(result, name="bottleneck"):
    return next(row for row in result.rows("links") if row["name"] == name)


# --- What it measures ------------------------------------------------------------------------------------------------


@needs_hosts
@pytest.mark.parametrize("mbps", [10, 100])
def test_goodput_is_the_rate_of_the_link(mbps):
    wanted = pytest.approx(mbps * 1e6 * PAYLOAD, rel=0.002)
    full = scenario(rate=f"{mbps} Mbit/s", duration="5 s", warmup="2 s")
    result = run(full, lambda result: flow(result)["goodput_bps"] == wanted)
    assert flow(result)["goodput_bps"] == wanted
    assert link(result)["utilisation"] == pytest.approx(1, rel=0.002)
    assert flow(result)["rtt_min_s"] >= 0.020
    assert flow(result)["packets_received"] * 1500 * 8 == pytest.approx(
        flow(result)["throughput_bps"] * flow(result)["measured_s"], rel=1e-3
    )


@needs_hosts
def test_twenty_runs_side_by_side_are_all_good():
    study = cclab.Study(scenario(duration="5 s", warmup="2 s"), backend="live").replicate(20)
    wanted = pytest.approx([10e6 * PAYLOAD] * 20, rel=0.002)

    def goodputs(done):
        return done.table("flows")["goodput_bps"].to_list() if done.status()["finished"] else []

    done = unspoilt(lambda: study.run(workers=20), lambda done: goodputs(done) == wanted)
    assert done.status()["failed"] == 0
    assert goodputs(done) == wanted


@needs_hosts
@pytest.mark.parametrize("rtt_s", [0.001, 0.010])
def test_round_trips_are_those_of_the_path(rtt_s):
    wanted = pytest.approx(rtt_s, abs=0.0003)
    found = unspoilt(lambda: live.round_trips(rtt_s, 101), lambda found: statistics.median(found) == wanted)
    assert min(found) >= rtt_s
    assert statistics.median(found) == wanted


@needs_hosts
@pytest.mark.parametrize("ms", [1, 10, 50])
def test_round_trips_in_a_result_are_within_a_tenth_of_a_millisecond(ms):
    """Of transfers of a segment each on an idle path, when processors sleep in between; a busy machine has up to 0.05 ms too much."""
    flows = [{"cc": "reno", "size": "1 kB", "start": f"{150 * i} ms"} for i in range(10)]
    packet, ack = 1052 * 8 / 500e6, 52 * 8 / 500e6
    wanted = pytest.approx(ms * 1e-3 + packet + ack, abs=0.0001)

    def round_trip(result):
        return statistics.median(row["rtt_mean_s"] for row in result.rows("flows"))

    path = scenario("1650 ms", "0 s", flows, rate="500 Mbit/s", rtt=f"{ms} ms")
    assert round_trip(run(path, lambda result: round_trip(result) == wanted)) == wanted


@needs_hosts
def test_packets_are_as_long_as_in_the_simulator():
    for flows in ([{"cc": "reno"}], [{"cc": "reno", "timestamps": False, "packet_size": "1000 B"}]):
        wanted = scenario(duration="2 s", warmup="0 s", flows=flows)
        real, simulated = run(wanted), wanted.run()
        length = [
            flow(r)["throughput_bps"] * flow(r)["measured_s"] / 8 / flow(r)["packets_received"]
            for r in (real, simulated)
        ]
        assert length[0] == pytest.approx(length[1], rel=1e-3)
        assert flow(real)["segments_sent"] == pytest.approx(flow(simulated)["segments_sent"], rel=0.03)


@needs_hosts
def test_the_receiver_has_all_though_the_source_never_learns_it():
    """A transfer within the first window, of which no ACK comes back: the SYN-ACK is the one packet that does."""
    flows = [{"cc": "reno", "size": "10 kB"}]
    deaf = scenario("2 s", "0 s", flows, reverse={"loss": {"ack": {"packets": list(range(2, 100))}}})
    for result in (run(deaf), deaf.run()):
        assert math.isnan(flow(result)["fct_s"])
        assert flow(result)["fct_receiver_s"] == pytest.approx(0.05, abs=0.015)  # a round trip and a half, ten packets


@needs_hosts
def test_flows_of_several_laws_and_datagrams_share_a_link():
    flows = [
        {"cc": "cubic", "rtt": "30 ms"},
        {"cc": "reno", "direction": "reverse"},
        {"kind": "cbr", "rate": "3 Mbit/s"},
    ]
    result = run(scenario(duration="4 s", flows=flows, queue={"limit": "60 packets"}))
    cubic, reno, datagrams = result.rows("flows")
    assert (
        link(result)["utilisation"] > 0.9
    )  # 0.95 to 1.00 here, 0.98 in the simulator; a loss late in slow start costs a part of three seconds
    assert cubic["throughput_bps"] > 5e6
    assert datagrams["throughput_bps"] == pytest.approx(3e6, rel=0.05)
    assert datagrams["cc"] == "udp"
    assert datagrams["goodput_bps"] == pytest.approx(datagrams["throughput_bps"] * 1472 / 1500, rel=1e-3)
    assert reno["goodput_bps"] > 8e6
    assert cubic["rtt_min_s"] >= 0.030


@needs_hosts
def test_transfers_start_end_and_take_as_long_as_they_must():
    flows = [{"cc": "reno", "size": "100 kB", "start": "500 ms"}, {"cc": "reno", "start": "1 s", "stop": "1500 ms"}]
    result = run(scenario(duration="2 s", warmup="0 s", flows=flows, record={"samples": "10 ms"}))
    transfer, stopped = result.rows("flows")
    # 70 segments by 10, 20, 40 in three windows, a handshake before: at least four round trips, or the rate of the link
    assert 0.080 < transfer["fct_s"] < 0.250
    assert 0.060 < transfer["fct_receiver_s"] < transfer["fct_s"]
    assert transfer["delivered_bytes"] == 100_000
    assert transfer["goodput_bps"] == pytest.approx(8e5 / transfer["measured_s"])
    assert stopped["measured_s"] == pytest.approx(0.5 - 0.020, abs=0.01)
    times = [row["time_s"] for row in result.rows("samples") if row["flow"] == stopped["label"]]
    assert times
    assert min(times) >= 1.0
    assert max(times) <= 1.52


@needs_hosts
def test_a_step_marks_and_the_kernel_answers():
    network = {"queue": {"discipline": "step", "threshold": "20 packets"}}
    result = run(scenario(flows=[{"cc": "reno", "ecn": True}], **network))
    assert link(result)["marks"] > 3
    assert link(result)["drops"] == 0
    assert flow(result)["segments_retransmitted"] == 0
    assert flow(result)["recoveries"] == 0
    assert flow(result)["cwnd_max_segments"] < 60


@needs_hosts
def test_what_the_links_do_comes_from_the_same_network():
    halved = {"schedule": [{"at": "2 s", "rate": "5 Mbit/s"}]}
    assert flow(run(scenario(warmup="2 s", duration="4 s", **halved)))["goodput_bps"] == pytest.approx(
        5e6 * PAYLOAD, rel=0.03
    )
    burst = {"loss": {"data": {"packets": list(range(500, 510))}}}
    lost = run(scenario(warmup="0 s", **burst))
    assert flow(lost)["packets_lost"] == 10 + link(lost)["drops"]
    assert flow(lost)["segments_retransmitted"] >= 10
    many = {
        "jitter": {"max": "2 ms"},
        "duplicate": "5%",
        "queue": {"discipline": "codel"},
        "reorder": {"probability": "1%", "delay": "9 ms"},
    }
    assert flow(run(scenario(**many)))["goodput_bps"] > 1e6


TWO_PATHS = {
    "topology": "custom",
    "nodes": ["a", "x", "y", "b"],
    "links": [
        {"from": "a", "to": "x", "rate": "10 Mbit/s", "delay": "5 ms", "queue": {"limit": "50 packets"}},
        {"from": "x", "to": "b", "rate": "1 Gbit/s", "delay": "0 s"},
        {"from": "a", "to": "y", "rate": "5 Mbit/s", "delay": "10 ms", "queue": {"limit": "50 packets"}},
        {"from": "y", "to": "b", "rate": "1 Gbit/s", "delay": "0 s"},
    ],
}
PATHS = [{"name": "fast", "route": ["a", "x", "b"]}, {"name": "slow", "route": ["a", "y", "b"]}]


@pytest.mark.skipif(MISSING is not None or not live.check()["mptcp"], reason="live: no hosts, or no MPTCP")
def test_a_connection_over_two_paths_fills_both():
    given = {"duration": "6 s", "warmup": "3 s", "network": TWO_PATHS, "flows": [{"cc": "cubic", "paths": PATHS}]}
    result = run(cclab.Scenario.from_dict(given))
    (session,) = result.rows("sessions")
    assert session["goodput_bps"] == pytest.approx(15e6 * 1420 / 1500, rel=0.04)  # a DSS option of 28 bytes
    assert session["subflows"] == 2
    assert session["aggregation_benefit"] > 0.9
    fast, slow = result.rows("flows")
    assert (fast["label"], slow["label"]) == ("cubic-1/fast", "cubic-1/slow")
    assert fast["throughput_bps"] == pytest.approx(10e6, rel=0.02)
    assert slow["throughput_bps"] == pytest.approx(5e6, rel=0.02)
    assert fast["rtt_min_s"] >= 0.010
    assert slow["rtt_min_s"] >= 0.020


# --- What it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not live.on_linux(), reason="no Linux")
def test_what_no_kernel_does_is_refused_by_field():
    flows = [
        {"cc": {"name": "cubic", "beta": 0.5}},
        {"cc": "muzha"},
        {"cc": "reno", "initial_window": 3, "rto": {"initial": "3 s"}},
        {"kind": "cbr", "rate": "1 Mbit/s", "send_jitter": "1 ms"},
    ]
    with pytest.raises(cclab.ScenarioError) as caught:
        scenario(flows=flows, record={"packets": "table"}).run(backend="live")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "record.packets", "flows[0].cc.beta", "flows[1].cc", "flows[2].initial_window", "flows[2].rto.initial",
        "flows[3].send_jitter",
    ]  # fmt: skip
    assert 'no "muzha"; it has ' in lines[2]
    assert "net.ipv4.tcp_available_congestion_control" in lines[2]
    assert 'it is "1 s" there' in lines[4]
    assert "live does not set it; it is 10 there" in lines[3]


@pytest.mark.skipif(not live.on_linux(), reason="no Linux")
def test_what_no_kernel_does_over_several_paths_is_refused():
    flows = [{"coupling": "lia", "paths": PATHS}, {"cc": "reno", "scheduler": "blest", "paths": PATHS}]
    given = {"duration": "1 s", "network": TWO_PATHS, "flows": flows}
    with pytest.raises(cclab.ScenarioError) as caught:
        cclab.Scenario.from_dict(given).run(backend="live")
    fields = [line.split(":")[0] for line in str(caught.value).splitlines()]
    assert fields == (
        ["flows[0].coupling", "flows[1].scheduler"] if live.check()["mptcp"] else ["flows[0].paths", "flows[1].paths"]
    )


def test_elsewhere_it_says_what_it_needs(monkeypatch):
    monkeypatch.delattr("cclab._core.Live", raising=False)
    with pytest.raises(cclab.ScenarioError, match="needs Linux"):
        scenario().run(backend="live")


# --- What it leaves --------------------------------------------------------------------------------------------------


PROGRAM = re.compile(r"\w+_([0-9a-f]+)_[0-9a-f]+")  # the name of a law in BPF, with the process that loaded it


def own_namespace():
    """Interfaces, routes, qdiscs and every sysctl of the net of this process's own namespace; without laws in BPF of others."""
    told = {path: Path(path).read_text() for path in ("/proc/net/route", "/proc/net/if_inet6") if Path(path).exists()}
    if (routes := Path("/proc/net/ipv6_route")).exists():  # but how often each was used
        told["routes"] = [[*line.split()[:6], *line.split()[8:]] for line in routes.read_text().splitlines()]
    if shutil.which("tc"):
        told["qdiscs"] = subprocess.run(["tc", "qdisc", "show"], capture_output=True, text=True, check=True).stdout
    told["dev"] = "\n".join(line.split(":")[0] for line in Path("/proc/net/dev").read_text().splitlines())
    for path in sorted(Path("/proc/sys/net").rglob("*")):
        if path.is_file() and "stable_secret" not in path.name:
            try:
                told[str(path)] = path.read_text()
            except OSError:
                continue
            if "congestion_control" in path.name:
                told[str(path)] = [law for law in told[str(path)].split() if not PROGRAM.fullmatch(law)]
    return told


def programs_of(process):
    """Laws in BPF that a process has loaded."""
    laws = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return [law for law in laws if (found := PROGRAM.fullmatch(law)) and int(found[1], 16) == process]


def namespaces():
    """Every network namespace that any process or descriptor holds."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        for place in [process / "ns" / "net", *process.glob("task/*/ns/net"), *process.glob("fd/*")]:
            try:
                if (name := os.readlink(place)).startswith("net:"):
                    found.add(name)
            except OSError:
                continue
    return found


LONG = """duration = "60 s"
network = { rate = "10 Mbit/s", rtt = "20 ms" }
flows = [{ cc = "CC", count = 3 }]
"""


@needs_hosts
def test_the_machine_is_as_before():
    before = own_namespace(), namespaces()
    run(
        scenario(
            duration="1 s", warmup="0 s", flows=[{"cc": "cubic", "ecn": True, "sack": False, "recovery": "newreno"}]
        )
    )
    with pytest.raises(cclab.RunError):
        run(scenario(duration="1 s", warmup="0 s", flows=[{"cc": "cubic", "rto": {"max": "121 s"}}]))
    assert (own_namespace(), namespaces()) == before


def nothing_is_left(end, cc, tmp_path):
    """End a run of three flows by a signal, or by an error: a process that often stands still cannot keep up."""
    before = own_namespace(), namespaces()
    (tmp_path / "long.toml").write_text(
        LONG.replace("CC", cc).replace("60 s", "3 s" if end == signal.SIGSTOP else "60 s")
    )
    command = [sys.executable, "-m", "cclab", "run", "long.toml", "--backend", "live"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 60
    while len(namespaces()) < len(before[1]) + 6 or bool(programs_of(process.pid)) != cc.startswith("bpf:"):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if end == signal.SIGSTOP:
        for _ in range(20):
            process.send_signal(end)
            time.sleep(0.05)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.05)
    else:
        process.send_signal(end)
    start = time.monotonic()
    status = process.wait(20)
    assert time.monotonic() - start < (6 if end == signal.SIGSTOP else 3)
    assert status == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9, signal.SIGSTOP: 1}[end]
    deadline = time.monotonic() + 10  # the kernel takes namespaces and programs away in its own time
    while (own_namespace(), namespaces()) != before or programs_of(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@needs_hosts
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP])
def test_nothing_is_left_of_a_run_that_is_ended(end, tmp_path):
    nothing_is_left(end, "cubic", tmp_path)


@needs_hosts
def test_a_flow_that_stops_before_its_connection_is_accepted_is_over():
    """Connected at 100 ms, reset at 120 ms, while the last ACK of the handshake is on its way until 150 ms: nobody spins on it."""
    wanted = scenario(duration="3 s", warmup="0 s", rtt="100 ms", flows=[{"cc": "cubic", "stop": "120 ms"}])

    def timed():
        before = sum(os.times()[:2])
        return wanted.run(backend="live"), sum(os.times()[:2]) - before

    result, took = unspoilt(timed)
    assert flow(result)["connect_s"] == pytest.approx(0.1, abs=0.02)
    assert flow(result)["delivered_bytes"] == 0
    assert took < 1.5


@needs_hosts
def test_what_never_came_up_is_told():
    """SYNs are sent again after 1 and 3 s (RFC 6298)."""
    result = run(scenario(duration="2 s", warmup="0 s", schedule=[{"at": "0 s", "up": False}]))
    assert flow(result)["delivered_bytes"] == 0
    assert live.remark(result).startswith("Never came up, as no SYN was answered: cubic")


@needs_hosts
def test_time_that_the_machine_stands_still_is_left_out(tmp_path):
    """A hypervisor takes 8 ms away, twice a second: to a process that is SIGSTOP. Made up for, these are bursts of 66 packets at a queue
    for 16: 72 Mbit/s are left of 82, and packets that leave 5 ms late."""
    wanted = scenario("6 s", "2 s", flows=[{"cc": "reno"}], rate="100 Mbit/s", queue={"limit": "0.2 BDP"}, rtt="10 ms")
    (tmp_path / "one.json").write_text(json.dumps(wanted.to_dict()))
    program = (
        "import cclab, json, sys; s = cclab.Scenario.from_dict(json.load(open(sys.argv[1])));"
        "r = s.run(backend='live'); print(json.dumps([r.rows('flows')[0], r.stamp]))"
    )

    def with_stops():
        child = subprocess.Popen(
            [sys.executable, "-c", program, tmp_path / "one.json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while child.poll() is None:
            time.sleep(0.5)
            os.kill(child.pid, signal.SIGSTOP)
            time.sleep(0.008)
            os.kill(child.pid, signal.SIGCONT)
        out, err = child.communicate()
        if child.returncode:  # where the machine stands still by itself there may be too much of it
            raise cclab.RunError(err)
        return json.loads(out)

    found, stamp = unspoilt(with_stops)
    simulated = flow(wanted.run())
    assert 0.05 < stamp["stopped_s"] < 0.15
    assert found["goodput_bps"] > 0.92 * simulated["goodput_bps"]


# --- What it tells ---------------------------------------------------------------------------------------------------


@needs_hosts
def test_the_stamp_goes_with_the_result(tmp_path, cli):
    result = run(scenario(duration="1 s", warmup="0 s"))
    assert result.stamp["drops"] == 0
    assert 0 <= result.stamp["lateness_p50_s"] <= result.stamp["lateness_p99_s"]
    assert result.stamp["sysctls"]["ipv4.tcp_sack"] == "1"
    assert result.stamp["kernel"] == os.uname().release
    assert result.stamp["processor"] in os.sched_getaffinity(0)
    result.save(tmp_path / "r")
    assert cclab.Result.load(tmp_path / "r").stamp == result.stamp
    assert "packets left late by" in live.remark(result)
    assert f"relay and senders on processor {result.stamp['processor']}" in live.remark(result)
    assert json.dumps(result.json())


@needs_hosts
def test_runs_side_by_side_are_on_processors_of_their_own():
    """As far as there are some. The relay of a fast one and its senders may run on any."""
    wanted = scenario(duration="1 s", warmup="0 s")

    def both():
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda _: wanted.run(backend="live").stamp["processor"], range(2)))

    places = unspoilt(both)
    assert len(set(places)) == min(2, len(os.sched_getaffinity(0)))
    fast = run(scenario(duration="1 s", warmup="0 s", rate="300 Mbit/s"))
    assert fast.stamp["processor"] is None
    assert "on processor" not in live.remark(fast)


@pytest.mark.skipif(not live.on_linux(), reason="no Linux")
def test_check_says_what_there_is(cli):
    status, out, err = cli("live", "check")
    assert os.uname().release in out
    assert "reno" in out
    assert "CAP_" in out
    assert (status, MISSING is None) in [(0, True), (1, False)]
    assert (MISSING or "") in err
