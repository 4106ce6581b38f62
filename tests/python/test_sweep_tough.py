"""Sweeps that are killed, interrupted, run twice at once, and spread over a cluster that loses a worker."""

import contextlib
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tomli_w

import cclab
from cclab import backends
from cclab.sweep import executors
from cclab.sweep.display import stopping
from cclab.sweep.job import Stopped, core_digest
from cclab.sweep.pack import Row, packed
from cclab.sweep.plan import make
from cclab.sweep.run import Sweep
from cclab.sweep.store import Store, Writer, is_store
from conftest import CLAB, write

pytestmark = pytest.mark.real_time

DOCS = Path(__file__).parents[2] / "docs"
# A sweep in a process of its own that puts what it has written in place every few pages, so that this is hit, too.
SWEEP = """
import os, signal, sys, cclab
from cclab.sweep import database

left = int(sys.argv[3]) if len(sys.argv) > 3 else -1  # so many steps in the database, then SIGKILL before the next one

def step():
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1

def connected(*args, _connected=database._connected, **options):
    connection = _connected(*args, **options)
    connection.execute("PRAGMA wal_autocheckpoint = 5")
    connection.set_progress_handler(step, 1)
    return connection

database._connected = connected
cclab.Study.load(sys.argv[1]).run(sys.argv[2])
"""
PATIENCE = 300.0  # seconds for what takes a few on an idle machine


def study(duration: str, replications: int) -> cclab.Study:
    scenario = cclab.Scenario(
        name="tough",
        duration=duration,
        network=cclab.Dumbbell(rate="50 Mbit/s", rtt="40 ms", queue={"discipline": "droptail", "limit": "1 BDP"}),
        flows=[cclab.Flow(cc="cubic"), cclab.Flow(cc="reno")],
    )
    return cclab.Study(scenario).vary({"network.rtt": ["10 ms", "40 ms", "100 ms"]}).replicate(replications)


def to_toml(of: cclab.Study, path: Path) -> Path:
    design = of._design
    found = {"scenario": design.scenario, "vary": {a.names[0]: [v[0] for v in a.values] for a in design.axes}}
    return write(path, tomli_w.dumps({**found, "seeds": list(design.seeds)}))


def tables(place) -> str:
    """What equal studies have in common to the byte; timings are no part of it."""
    loaded = cclab.load(place)
    return "".join(loaded.table(name).write_csv() for name in ("runs", "flows", "links", "failures"))


def runs_twice(place) -> list[str]:
    keys = [key for key, _, _ in Store(place).log().timings]
    return [key for key in keys if keys.count(key) > 1]


def finished(place) -> set[str]:
    return Store(place).log().done if is_store(place) else set()


def until(what, process=None) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "this takes too long"
        assert process is None or process.poll() is None, "it ended too early"
        time.sleep(0.005)


@pytest.fixture
def processes():
    started: list[subprocess.Popen] = []

    def start(*args, **options) -> subprocess.Popen:
        started.append(subprocess.Popen([str(arg) for arg in args], **options))
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> str:
    place = tmp_path_factory.mktemp("undisturbed")
    study("5 s", 40).run(place)
    assert not runs_twice(place)
    return tables(place)


def test_killed_ten_times_at_random_moments(processes, undisturbed, tmp_path):
    """Nothing finished is lost or run again, the store can be read at any time, and the tables are the same bytes."""
    seed = random.randrange(10**6)
    print(f"random.seed({seed})")
    chance = random.Random(seed)
    long, file = (
        to_toml(study("5 s", n), tmp_path / f"{n}.toml") for n in (4000, 40)
    )  # the first 120 runs are the same
    place = tmp_path / "store"
    before: set[str] = set()
    for _ in range(10):
        sweep = processes(sys.executable, "-c", SWEEP, long, place)
        more = len(before) + chance.randrange(7)
        until(lambda n=more: len(finished(place)) >= n and place.is_dir(), sweep)
        time.sleep(chance.random() * 0.05)
        sweep.kill()
        assert sweep.wait() == -signal.SIGKILL
        after = finished(place)
        assert before <= after
        if after:
            assert cclab.load(place).table("runs").height == len(after)
        before = after
    assert processes(sys.executable, "-c", SWEEP, file, place).wait(PATIENCE) == 0
    assert tables(place) == undisturbed
    assert not runs_twice(place)
    assert [path.name for path in place.iterdir()] == ["sweep.sqlite"]  # nothing is left of those that were killed


def test_killed_ten_times_between_two_steps(processes, undisturbed, tmp_path):
    """The moments that matter, which a clock seldom meets: inside of what the database does."""
    seed = random.randrange(10**6)
    print(f"random.seed({seed})")
    chance = random.Random(seed)
    file, place = to_toml(study("5 s", 40), tmp_path / "study.toml"), tmp_path / "store"
    before: set[str] = set()
    for _ in range(10):
        steps = chance.randrange(1200) + 10 * len(before)  # some 800 to begin with, 10 to read a run again
        assert processes(sys.executable, "-c", SWEEP, file, place, steps).wait(PATIENCE) == -signal.SIGKILL
        assert before <= finished(place)
        before = finished(place)
    assert processes(sys.executable, "-c", SWEEP, file, place).wait(PATIENCE) == 0
    assert tables(place) == undisturbed
    assert not runs_twice(place)


def test_two_sweeps_into_one_store_at_once(processes, undisturbed, tmp_path):
    """They share the work: every run is run once."""
    file, place = to_toml(study("5 s", 40), tmp_path / "study.toml"), tmp_path / "store"
    both = [processes(sys.executable, "-c", SWEEP, file, place) for _ in range(2)]
    assert [process.wait(PATIENCE) for process in both] == [0, 0]
    assert tables(place) == undisturbed
    assert not runs_twice(place)
    assert len(Store(place).log().timings) == 120


def test_one_of_two_sweeps_is_killed(processes, undisturbed, tmp_path):
    """The other takes over what it had claimed."""
    file, place = to_toml(study("5 s", 40), tmp_path / "study.toml"), tmp_path / "store"
    first, second = (processes(sys.executable, "-c", SWEEP, file, place) for _ in range(2))
    until(lambda: len(finished(place)) >= 5, first)
    first.kill()
    assert second.wait(PATIENCE) == 0
    assert tables(place) == undisturbed
    assert not runs_twice(place)


# A stop that is asked for is to come within it, on a machine that has a processor free.
ABOUT_A_SECOND = 1.5


def crowd():
    """How many want each processor: what a process does takes so many times as long."""
    return min(max(1.0, os.getloadavg()[0] / os.cpu_count()), 4.0)


def processor_s(pid):
    """Seconds that a process has been at work."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(("wanted", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("how", [(), ("--processes",)])
def test_an_interrupted_sweep_keeps_what_it_has_and_says_how_to_go_on(processes, tmp_path, wanted, status, how):
    file, place = to_toml(study("2 min", 100), tmp_path / "study.toml"), tmp_path / "store"
    sweep = processes(*CLAB, "sweep", file, "--out", place, *how, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    until(lambda: len(finished(place)) >= 2, sweep)
    begin = time.monotonic()
    sweep.send_signal(wanted)
    out, err = sweep.communicate(timeout=PATIENCE)
    took = time.monotonic() - begin
    print(f"stopped after {took:.2f} s")
    assert took < ABOUT_A_SECOND * crowd()
    assert sweep.returncode == status
    assert out == b""
    assert b"Traceback" not in err
    kept = cclab.load(place).status()["finished"]
    assert kept >= 2
    assert f"{kept} of 300 runs are finished and kept. Go on with: cclab sweep {file} --out {place}" in err.decode()


@pytest.mark.parametrize(("wanted", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("keep", [False, True])
def test_a_comparison_of_laws_that_is_stopped_says_what_is_kept(processes, tmp_path, wanted, status, keep):
    asked = ["compare", "cubic", "reno", "--seeds", 100, "--rate", "20 Mbit/s"]
    out = tmp_path / "o"
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    going = processes(*CLAB, *asked, *(["--out", out] if keep else []), **pipes)
    announced = going.stderr.readline()
    assert announced.startswith(b"500 runs of 5 mixtures, about ")
    if keep:
        until(lambda: len(finished(out / "runs")) >= 2, going)
    going.send_signal(wanted)
    printed, err = going.communicate(timeout=PATIENCE)
    assert going.returncode == status
    assert printed == b""
    told = err.decode().splitlines()
    if keep:
        kept = cclab.load(out / "runs").status()["finished"]
        assert kept >= 2
        assert f"Stopped. {kept} of 500 runs are finished and kept. Go on with the same command." in told
    else:
        assert "Stopped. Nothing is kept. With --out DIR finished runs are, and the same command goes on." in told


def test_a_published_study_that_is_stopped_says_what_is_kept(processes, tmp_path):
    going = processes(*CLAB, "reproduce", "wifi", "--out", tmp_path / "o", stderr=subprocess.PIPE)
    until(lambda: len(finished(tmp_path / "o.runs")) >= 2, going)
    going.send_signal(signal.SIGINT)
    _, err = going.communicate(timeout=PATIENCE)
    assert going.returncode == 130
    kept = len(finished(tmp_path / "o.runs"))
    said = f"Stopped. {kept} finished runs are kept in {tmp_path / 'o.runs'}. Go on with the same command."
    assert said in err.decode().splitlines()


SLOW = """
import time
from pathlib import Path
import cclab

class Slow(cclab.CongestionControl):
    def on_ack(self, ack):
        Path("begun").touch()
        {body}

    def on_congestion(self, event):
        pass
"""


@pytest.mark.parametrize(("wanted", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("command", ["run", "sweep", "compare"])
@pytest.mark.parametrize(
    "body",
    [
        "sum(range(500_000))",
        "while True: pass",
        "time.sleep(600)",
    ],  # a slow law, one that never ends, one that is not in Python
)
def test_a_slow_law_does_not_keep_anybody_from_stopping(processes, tmp_path, body, command, wanted, status):
    write(tmp_path / "slow.py", SLOW.format(body=body))
    network = {"rate": "50 Mbit/s", "rtt": "40 ms"}
    scenario = {"duration": "2 min", "network": network, "flows": [{"cc": "slow", "count": 2}]}
    write(tmp_path / "slow.toml", tomli_w.dumps(scenario))
    write(tmp_path / "study.toml", 'scenario = "slow.toml"\nreplications = 40')
    what = {
        "run": ["run", "slow.toml"],
        "sweep": ["sweep", "study.toml", "--out", "store", "--workers", 2],
        "compare": ["compare", "slow", "reno"],
    }[command]
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    earlier = sum(os.times()[2:4])
    going = processes(*CLAB, *what, "--algorithms", "slow.py", cwd=tmp_path, env=environment, **pipes)
    until((tmp_path / "begun").exists, going)
    time.sleep(0.3)
    before = processor_s(going.pid)
    begin = time.monotonic()
    going.send_signal(wanted)
    _, err = going.communicate(timeout=PATIENCE)
    took, worked = time.monotonic() - begin, sum(os.times()[2:4]) - earlier - before
    print(f"stopped after {took:.2f} s, {worked:.2f} s of them at work")
    assert worked < ABOUT_A_SECOND  # a law that never ends works until it is stopped: whatever else the machine does
    assert took < ABOUT_A_SECOND * crowd()
    assert going.returncode == status, err.decode()
    assert b"Traceback" not in err
    assert b"its congestion control failed" not in err
    assert not list((tmp_path / "tmp").iterdir())
    if command == "sweep":
        assert b"Go on with: cclab sweep study.toml --out store --algorithms slow.py\n" in err
        status = cclab.load(tmp_path / "store").status()
        assert (status["finished"], status["failed"]) == (0, 0)


def test_only_a_run_is_stopped_and_never_the_pool_whose_thread_it_has(monkeypatch, caplog):
    """Threads that are asked to stop just when their runs end: each run ends or is stopped, and the pool lives on."""
    of = Sweep.__new__(Sweep)
    of._threads, of._asking = {}, False
    monkeypatch.setattr("cclab.sweep.run.run_jobs", lambda jobs, _: [sum(range(n)) for n in jobs])
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    stopped = 0
    try:
        with executors.threads(4) as pool:
            for turn in range(2000):
                if turn >= 40 and stopped:
                    break
                tasks = [pool.submit(of._in_thread, [n % 60]) for n in range(50)]
                until = time.monotonic() + 60
                while not all(task.done() for task in tasks) and time.monotonic() < until:
                    of._ask_threads()
                stopped += sum(isinstance(task.exception(30), Stopped) for task in tasks)
            assert pool.submit(of._in_thread, [3]).result(30) == [3]
            assert all(thread.is_alive() for thread in pool._threads)
    finally:
        sys.setswitchinterval(before)
    assert stopped
    assert not of._threads
    assert "Exception in worker" not in caplog.text


def test_processes_end_with_the_sweep_that_started_them(processes, tmp_path):
    file, place = to_toml(study("10 min", 100), tmp_path / "study.toml"), tmp_path / "store"
    sweep = processes(*CLAB, "sweep", file, "--out", place, "--processes", "--workers", 1, stderr=subprocess.DEVNULL)
    until(lambda: len(finished(place)) >= 1, sweep)
    children = [int(pid) for pid in Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text().split()]
    assert children
    sweep.kill()
    sweep.wait()
    until(lambda: not any(_runs(pid) for pid in children))


def workers(sweep: subprocess.Popen) -> list[int]:
    children = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_pool_whose_worker_is_killed_and_one_whose_sweep_is(processes, undisturbed, tmp_path):
    file, place = to_toml(study("5 s", 40), tmp_path / "study.toml"), tmp_path / "store"
    again = [*CLAB, "sweep", file, "--out", place, "--processes", "--workers", 2]
    for victim in ("worker", "sweep"):
        before = len(finished(place))
        sweep = processes(*again, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        until(lambda before=before: len(finished(place)) > before + 5, sweep)
        left = workers(sweep)
        os.kill(left[0] if victim == "worker" else sweep.pid, signal.SIGKILL)
        _, err = sweep.communicate(timeout=PATIENCE)
        assert sweep.returncode == (1 if victim == "worker" else -signal.SIGKILL)
        assert (b"the workers were lost" in err) == (victim == "worker")
        until(lambda left=left: not any(map(_runs, left)))
        assert cclab.load(place).status()["failed"] == 0
    assert processes(*again, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL).wait(PATIENCE) == 0
    assert tables(place) == undisturbed
    assert not runs_twice(place)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def commands_of_the_guide() -> list[list[str]]:
    block = re.search(r"```console\n(\$ dask scheduler.*?)```", (DOCS / "guides" / "sweeps.md").read_text(), re.DOTALL)
    assert block
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in block[1].splitlines()]


def test_a_cluster_that_loses_a_worker(processes, tmp_path):
    """Dask with two worker processes, started as the guide says; the sweep is killed and started again, then one of them is."""
    scheduler, worker, sweep = commands_of_the_guide()
    to_toml(study("20 s", 8), tmp_path / "study.toml")
    place = tmp_path / sweep[sweep.index("--out") + 1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    options = {"cwd": tmp_path, "env": {**os.environ, "PATH": path}, "stderr": subprocess.DEVNULL}
    cluster = processes(*scheduler, **options)
    until((tmp_path / "cluster.json").is_file, cluster)
    workers = [processes(*worker, **options) for _ in range(2)]
    first = processes(*CLAB, *sweep[1:], stdout=subprocess.DEVNULL, **options)
    until(lambda: len(finished(place)) >= 3, first)
    first.kill()
    first.wait()
    running = processes(*CLAB, *sweep[1:], stdout=subprocess.PIPE, **{**options, "stderr": subprocess.PIPE})
    until(lambda: len(finished(place)) >= 8, running)
    workers[0].kill()
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err.decode()
    assert out.decode() == f"{place.relative_to(tmp_path)}\n"
    assert not runs_twice(place)
    study("20 s", 8).run(tmp_path / "undisturbed")
    assert tables(place) == tables(tmp_path / "undisturbed")


def test_no_cluster_is_said(tmp_path):
    """In a process of its own: Dask gives its loop's thread ten seconds to start, in whatever other tests have left running."""
    file = to_toml(study("1 s", 1), tmp_path / "study.toml")
    write(tmp_path / "cluster.json", '{"address": "tcp://127.0.0.1:1"}')
    for address in ("nonsense", tmp_path / "cluster.json"):
        command = [*CLAB, "sweep", str(file), "--out", str(tmp_path / "s"), "--dask", str(address)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"{address}: no Dask scheduler answers there" in done.stderr
        assert any(line.startswith("error: ") for line in done.stderr.splitlines())


def test_a_finished_sweep_of_ten_thousand_runs_is_resumed_in_three_seconds(tmp_path):
    """The store is made by the code that sweeps use, with the figures of one run in all rows."""
    network = {"network.rtt": [f"{ms} ms" for ms in range(10, 110)], "network.queue.limit": ["9 packets", "1 BDP"]}
    large, place = study("1 s", 1)._with(axes=()).vary(network).replicate(50), tmp_path / "store"
    file = to_toml(large, tmp_path / "study.toml")
    plan = make(cclab.Study.load(file)._design, core_digest())
    shape, numbers = packed(backends.run(large._design.scenario_at({}), 1, "sim", None)[0])
    keys = [key for of_point in plan.keys for key in of_point]
    assert len(set(keys)) == 10_000
    with contextlib.closing(Writer(place)) as writer:
        writer.put_study({"design": large._design.to_json(), "plan": plan.to_json()})
        writer.turn([Row(key, shape, numbers, 0.001, 0.001) for key in keys], lambda _: ())
    took, done = min((_resumed(file, place) for _ in range(3)), key=lambda run: run[0])
    print(f"resuming a finished sweep of 10,000 runs: {took:.2f} s")
    assert "10,000 of 10,000 runs are finished" in done.stderr
    assert took < 3.0
    begin = time.perf_counter()
    assert cclab.load(place).table("flows").height == 20_000
    assert time.perf_counter() - begin < 3.0


def _resumed(file, place):
    begin = time.perf_counter()
    done = subprocess.run([*CLAB, "sweep", file, "--out", place], capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, done


def test_who_interrupts_twice_is_told_how_to_go_on(capsys):
    """The second time while it is counted what is kept."""

    def again():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), stopping(again, "Go on with: cclab sweep study.toml."):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "Stopped. Go on with: cclab sweep study.toml.\n"
