"""Programs across our links. What needs leave to make network namespaces is skipped where there is none, with the reason."""

import os
import shlex
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cclab
from cclab.backends import live
from cclab.report import write_report
from conftest import unspoilt
from test_live import namespaces

pytestmark = pytest.mark.real_time

MISSING = live.missing()
needs_hosts = pytest.mark.skipif(MISSING is not None, reason=f"live: {MISSING}")
PYTHON = shlex.quote(sys.executable)
SERVE = f"{PYTHON} -m http.server 8000 --bind 10.77.0.2"
FETCH = """import sys, time, urllib.request
start = time.monotonic()
size = len(urllib.request.urlopen("http://10.77.0.2:8000/file", timeout=30).read())
print(size, time.monotonic() - start)
"""
ECHO = """import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.77.0.2", 9))
while True:
    s.sendto(*s.recvfrom(2000))
"""
PING = """import socket, time
for address in ("10.77.0.2", "192.0.2.1"):
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    s.settimeout(5)
    start = time.perf_counter()
    s.sendto(bytes([8, 0, 0xf7, 0xfe, 0, 1, 0, 0]), (address, 0))  # an echo request, with its checksum
    print(s.recv(2000)[20], time.perf_counter() - start)
"""
ASK = """import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
for i in range(50):
    start = time.perf_counter()
    s.sendto(b"x" * 72, ("10.77.0.2", 9))
    s.recv(2000)
    print(time.perf_counter() - start)
    time.sleep(0.01)
"""


def emulate(
    folder, *arguments, network="rate = '10 Mbit/s', rtt = '20 ms'", rest="flows = [{ cc = 'cubic' }]", **options
):
    (folder / "link.toml").write_text(f"duration = '30 s'\nnetwork = {{ {network} }}\n{rest}\n")
    command = [sys.executable, "-m", "cclab", "emulate", "link.toml", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, **options)


@needs_hosts
def test_a_fetch_takes_as_long_as_the_rate_says(tmp_path):
    (tmp_path / "file").write_bytes(bytes(2_000_000))
    # 1448 of 1500 bytes of a packet are the file's; the handshake, the request and slow start take four round trips
    wanted = pytest.approx(2_000_000 * 8 / 10e6 * 1500 / 1448 + 0.080, rel=0.1)

    def fetch():
        done = emulate(tmp_path, "--serve", SERVE, "--out", "r", "--", sys.executable, "-c", FETCH)
        assert done.returncode == 0, done.stderr
        return done

    done = unspoilt(fetch, lambda done: float(done.stdout.split()[1]) == wanted)
    size, seconds = done.stdout.split()
    assert int(size) == 2_000_000
    assert float(seconds) == wanted
    assert "Never came up" not in done.stderr  # connections are the programs' own
    result = cclab.Result.load(tmp_path / "r")
    there, back = result.rows("flows")
    assert (there["label"], back["label"]) == ("to-server", "to-client")
    assert 2_000_000 <= back["delivered_bytes"] < 2_100_000
    assert back["owd_min_s"] >= 0.010
    reverse = next(row for row in result.rows("links") if row["name"] == "bottleneck-reverse")
    assert reverse["data_sent"] == back["packets_received"]
    assert reverse["utilisation"] <= 1.01
    assert len(result.rows("link_samples")) > 10
    assert max(row["delivered_bytes"] for row in result.rows("samples")) == back["delivered_bytes"]
    page = write_report(tmp_path / "r").read_text()
    assert "<h3>Congestion window" not in page  # a program's connections tell of none
    assert "cclab emulate scenario.toml --seed 1 -- COMMAND" in page


@needs_hosts
def test_round_trips_are_those_of_the_scenario(tmp_path):
    (tmp_path / "echo.py").write_text(ECHO)
    network = "rate = '1 Gbit/s', rtt = '20 ms'"

    def asked():
        done = emulate(tmp_path, "--serve", f"{PYTHON} echo.py", "--", sys.executable, "-c", ASK, network=network)
        assert done.returncode == 0, done.stderr
        return [float(line) for line in done.stdout.split()]

    found = unspoilt(asked, lambda found: statistics.median(found) < 0.021)
    assert min(found) >= 0.020
    assert statistics.median(found) == pytest.approx(0.020, abs=0.001)


@needs_hosts
@pytest.mark.skipif(os.geteuid() != 0, reason="raw sockets are for root")
def test_other_protocols_cross_too_and_nothing_is_behind_the_server(tmp_path):
    done = emulate(tmp_path, "--", sys.executable, "-c", PING)
    assert done.returncode == 0, done.stderr
    kinds, seconds = zip(*(line.split() for line in done.stdout.splitlines()), strict=True)
    assert kinds == ("0", "3")  # RFC 792: an echo reply; destination unreachable
    assert min(map(float, seconds)) >= 0.020


@needs_hosts
def test_where_everything_is_lost_nothing_arrives(tmp_path):
    (tmp_path / "echo.py").write_text(ECHO)
    network = "rate = '10 Mbit/s', rtt = '20 ms', loss = { data = '100%' }"
    done = emulate(
        tmp_path, "--serve", f"{PYTHON} echo.py", "--out", "r", "--", sys.executable, "-c", ASK, network=network
    )
    assert done.returncode == 1
    assert "timed out" in done.stderr
    there, back = cclab.Result.load(tmp_path / "r").rows("flows")
    assert (there["segments_sent"], there["packets_lost"], there["packets_received"]) == (1, 1, 0)
    assert back["segments_sent"] == 0


@needs_hosts
def test_the_exit_status_and_streams_are_those_of_the_command(tmp_path):
    shell = "cat; echo $CCLAB_CLIENT $CCLAB_SERVER; echo said >&2; exit 7"
    done = emulate(tmp_path, "--", "sh", "-c", shell, input="in\n")
    assert (done.returncode, done.stdout) == (7, "in\n10.77.0.1 10.77.0.2\n")
    assert "said" in done.stderr
    assert emulate(tmp_path, "--", "sh", "-c", "kill -9 $$").returncode == 137
    assert emulate(tmp_path, "--", "no-such-program").returncode == 2


@needs_hosts
def test_a_server_that_does_not_come_up(tmp_path):
    done = emulate(tmp_path, "--serve", "exit 3", "--", "sleep", "9")
    assert done.returncode == 1
    assert "exit 3: ended with status 3" in done.stderr


@needs_hosts
def test_the_duration_is_the_longest_time(tmp_path):
    start = time.monotonic()
    (tmp_path / "one.toml").write_text("duration = '1 s'\nnetwork = { rate = '1 Mbit/s', rtt = '9 ms' }\n")
    done = subprocess.run(
        [sys.executable, "-m", "cclab", "emulate", "one.toml", "--out", "r", "--", "sleep", "60"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 143, done.stderr
    assert time.monotonic() - start < 15
    assert cclab.Result.load(tmp_path / "r").engine["simulated_s"] == pytest.approx(1.0)


@pytest.mark.skipif(not live.on_linux(), reason="no Linux")
def test_what_cannot_be_is_refused_by_field(tmp_path):
    wireless = "topology = 'chain', hops = 2, wireless = {}"
    done = emulate(tmp_path, "--", "true", network=wireless)
    assert done.returncode == 2
    assert "network: " in done.stderr
    rest = "flows = [{ cc = 'cubic' }]\nbackground = [{ kind = 'web', load = '10%', cc = 'reno' }]\nrecord = { packets = 'table' }"
    done = emulate(tmp_path, "--", "true", rest=rest)
    assert done.returncode == 2
    assert "background: " in done.stderr
    assert "record.packets: " in done.stderr
    assert emulate(tmp_path, "--from", "a", "--", "true").returncode == 2


@needs_hosts
def test_of_several_flows_the_first_is_used(tmp_path):
    done = emulate(tmp_path, "--", "true", rest="flows = [{ cc = 'reno' }, { cc = 'cubic' }]")
    assert done.returncode == 0
    assert "the hosts are those of the first" in done.stderr


@needs_hosts
def test_a_law_is_remarked_on_only_where_the_file_names_it(tmp_path):
    """Vegas is a law that no machine leaves to everybody by itself; without flows nobody asked for any."""
    remark = "flows[0].cc: connections have this machine's default and not "
    if not Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").exists():
        pytest.skip("nothing says which laws are left to programs")
    assert remark + "vegas;" in emulate(tmp_path, "--", "true", rest="flows = [{ cc = 'vegas' }]").stderr
    assert remark not in emulate(tmp_path, "--", "true", rest="").stderr


@needs_hosts
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left(end, tmp_path):
    before = namespaces()
    (tmp_path / "link.toml").write_text("duration = '60 s'\nnetwork = { rate = '1 Mbit/s', rtt = '9 ms' }\n")
    # programs in the background, one of them in a session of its own
    shell = "setsid sleep 61 & sleep 62 & echo here; sleep 63"
    process = subprocess.Popen(
        [sys.executable, "-m", "cclab", "emulate", "link.toml", "--serve", SERVE, "--", "sh", "-c", shell],
        cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout.readline() == b"here\n"
    time.sleep(0.2)
    assert len(started_in(tmp_path)) >= 5
    process.send_signal(end)
    status = process.wait(20)
    assert status == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[end]
    deadline = time.monotonic() + 10  # the kernel takes namespaces away in its own time
    while namespaces() != before or started_in(tmp_path):
        assert time.monotonic() < deadline, started_in(tmp_path)
        time.sleep(0.05)


def started_in(folder):
    """Processes whose working directory is this."""
    found = []
    for process in os.listdir("/proc"):
        try:
            if process.isdigit() and os.readlink(f"/proc/{process}/cwd") == str(folder):
                found.append(process)
        except OSError:
            continue
    return found
