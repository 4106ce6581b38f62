"""A result on disk is whole or absent, whatever happens while it is written."""

import errno
import json
import math
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

import cclab
from cclab import Result, ResultError, folders


def test_save_and_load_give_the_same(result, tmp_path):
    result.save(tmp_path / "r")
    again = Result.load(tmp_path / "r")
    for name in ("flows", "links", "samples", "link_samples", "signals", "packets"):
        assert getattr(result, name).equals(getattr(again, name), null_equal=True), name
    assert again.json() == result.json()
    assert again.digest == result.digest
    assert cclab.Scenario.load(tmp_path / "r" / "scenario.toml").run(seed=result.seed).digest == result.digest


def test_json_is_the_contract(result):
    about = json.loads(json.dumps(result.json(), allow_nan=False))
    assert {"schema", "scenario", "backend", "seed", "flows", "links", "jain", "engine"} <= set(about)
    assert set(about["flows"][0]) >= {
        "label", "cc", "goodput_bps", "throughput_bps", "segments_sent", "segments_retransmitted", "timeouts",
        "rtt_mean_s", "rtt_min_s", "owd_mean_s", "owd_var_s2", "cwnd_mean_segments",
    }  # fmt: skip
    link = {"name", "utilisation", "drops", "marks", "queue_mean_packets", "queue_max_packets"}
    assert set(about["links"][0]) >= link
    assert set(about["engine"]) >= {"events", "data_packets", "wall_s"}
    assert about["backend"] == "sim"
    assert about["seed"] == 7


def test_saving_replaces_a_result_and_nothing_else(result, tmp_path):
    result.save(tmp_path / "r")
    result.save(tmp_path / "r")
    (tmp_path / "empty").mkdir()
    result.save(tmp_path / "empty")
    for name, fill in {"photos": lambda p: (p / "cat.jpg").write_bytes(b"x"), "other": _fake_manifest}.items():
        (tmp_path / name).mkdir()
        fill(tmp_path / name)
        with pytest.raises(ResultError, match="holds something"):
            result.save(tmp_path / name)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ResultError, match="is a file, not a folder"):
        result.save(tmp_path / "file")
    assert (tmp_path / "photos" / "cat.jpg").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "file", "other", "photos", "r"]


def _fake_manifest(place):
    (place / "manifest.json").write_text('{"name": "a web app"}')


def test_what_is_missing_is_said(result, tmp_path):
    place = tmp_path / "r"
    with pytest.raises(ResultError, match="no such folder"):
        Result.load(place)
    place.mkdir()
    with pytest.raises(ResultError, match="not whole"):
        Result.load(place)
    place.rmdir()

    def spoilt(change, said):
        result.save(place)
        change()
        with pytest.raises(ResultError, match=said):
            Result.load(place)

    spoilt((place / "samples.parquet").unlink, r"samples\.parquet is missing")
    result_again(place)
    spoilt(lambda: os.truncate(place / "flows.parquet", 10), r"flows\.parquet has 10 bytes instead of")
    result_again(place)
    spoilt(lambda: _flip(place / "flows.parquet"), "damaged")
    result_again(place)
    spoilt(lambda: (place / "manifest.json").write_text("{"), "damaged")
    result_again(place)
    spoilt(lambda: _manifest(place, schema="cclab.result/99"), "layout 99")
    result_again(place)
    spoilt(lambda: _manifest(place, schema="cclab.study/1"), "holds")


def result_again(place):
    """Take the spoilt folder away by hand, as the message says."""
    import shutil

    shutil.rmtree(place)


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _manifest(place, **changes):
    manifest = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps({**manifest, **changes}))


def test_a_full_disk_leaves_the_old_result(result, tmp_path, monkeypatch):
    place = tmp_path / "r"
    result.save(place)
    before = (place / "manifest.json").read_bytes()

    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name, where in (("write_parquet", pl.DataFrame), ("write_text", folders), ("_sync", folders)):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, full)
            with pytest.raises(OSError, match="No space left"):
                result.save(place)
            with pytest.raises(OSError, match="No space left"):
                result.save(tmp_path / "new")
        assert (place / "manifest.json").read_bytes() == before
        assert Result.load(place).digest == result.digest
        assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_a_disk_that_is_really_full(tmp_path):
    # /dev/full refuses every write; a file limit does so for a whole process
    code = (
        "import resource, sys, cclab\n"
        "from cclab.cli import run_cli\n"
        "run_cli(['init', sys.argv[1] + '/s.toml'])\n"
        "import polars, matplotlib\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "sys.exit(run_cli(['run', sys.argv[1] + '/s.toml', '--out', sys.argv[1] + '/r']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]


def test_killed_at_any_moment_nothing_half_loads(result, tmp_path):
    result.save(tmp_path / "seed")
    code = (
        "import sys, cclab\n"
        "r = cclab.Result.load(sys.argv[1] + '/seed')\n"
        "print('ready', flush=True)\n"
        "while True: r.save(sys.argv[1] + '/r')\n"
    )
    whole = 0
    for round_ in range(12):
        child = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.02 * round_)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        if (tmp_path / "r").exists():  # absent or whole, never half
            assert Result.load(tmp_path / "r").digest == result.digest
            whole += 1
    assert whole  # and the saves that came through are good
    result.save(tmp_path / "r")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r", "seed"]  # what the killed left behind is swept


def test_files_of_the_user_are_not_deleted(result, tmp_path, cli):
    place = tmp_path / "r"
    result.save(place)
    result.plot.cwnd().save(place / "plots" / "cwnd.svg")
    (place / "report.html").write_text("x")
    result.save(place)  # page and figures are made again from the rest
    (place / "notes.txt").write_text("mine")
    (place / "mydata" / "deep").mkdir(parents=True)
    (place / "plots").mkdir()
    (place / "plots" / "mine.svg").write_text("mine")
    with pytest.raises(ResultError, match=r"files of yours.*: mydata, notes\.txt, plots/mine\.svg; move them"):
        result.save(place)
    assert (place / "notes.txt").read_text() == "mine"
    assert Result.load(place).digest == result.digest


def _dead_pid():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("then", ["load", "save"])
def test_a_kill_between_the_two_renames_loses_nothing(result, small, tmp_path, sealed, then):
    newer = small.run(seed=8)
    place, stem = tmp_path / "r", f".r.{folders._HOST}.{_dead_pid()}-0"
    result.save(place)
    newer.save(tmp_path / f"{stem}.partial")
    if not sealed:
        (tmp_path / f"{stem}.partial" / "manifest.json").unlink()
    place.rename(tmp_path / f"{stem}.old")
    if then == "load":
        assert Result.load(place).seed == (8 if sealed else 7)
    else:
        with pytest.raises(RuntimeError), folders.whole_folder(place, "cclab.result/2", {}):
            raise RuntimeError("the next writer fails")
        assert Result.load(place).seed == (8 if sealed else 7)
    result.save(place)
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_what_another_machine_writes_is_left_alone(result, tmp_path):
    other = tmp_path / f".r.elsewhere.{_dead_pid()}-0.partial"
    other.mkdir()
    result.save(tmp_path / "r")
    assert other.exists()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        '{"schema": "cclab.result/2", "files": {"../../etc/passwd": {"bytes": 1, "sha256": ""}}}',
        '{"schema": "cclab.result/2", "files": {"/etc/passwd": {"bytes": 1, "sha256": ""}}}',
        '{"schema": "cclab.result/2", "files": {"flows.parquet": {"bytes": "x", "sha256": 1}}}',
        '{"schema": "cclab.result/2", "files": {"flows.parquet": 1}}',
        '{"schema": "cclab.result/2", "files": {}}',
        '{"schema": "cclab.result/2", "files": 3}',
    ],
)
def test_a_manifest_of_another_make(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ResultError, match=r"manifest\.json is damaged"):
        Result.load(tmp_path)


@pytest.mark.parametrize("field", ["seed", "engine", "scenario", "versions", "digest", "jain"])
def test_a_manifest_that_was_changed(result, tmp_path, field):
    result.save(tmp_path / "r")
    _manifest(tmp_path / "r", **{field: 1})
    with pytest.raises(ResultError, match=r"manifest\.json is damaged \(it does not match its own hash"):
        Result.load(tmp_path / "r")


def test_text_and_repr(result):
    assert "cubic-1" in result.summary()
    assert "Mbit/s" in str(result)
    assert "seed=7" in repr(result)


def test_arrow_and_pandas_in_one_call(result):
    for table in (result.flows, result.links, result.samples, result.packets):
        assert table.to_arrow().num_rows == table.height
        assert table.to_pandas().shape == table.shape


def test_rows_need_no_data_frame(small, background):
    """What the terminal and JSON show is the same from a run as from its tables."""
    for fresh in (small.run(seed=7), background):
        for name in ("flows", "links", "background", "fct", "samples", "packets"):
            before = str(fresh.rows(name))
            if before != "[]":
                some = list(fresh.rows(name)[0])[1::2]
                of_some = str(fresh.rows(name, *some))
                assert before == str(getattr(fresh, name).to_dicts()) == str(fresh.rows(name))
                assert of_some == str(getattr(fresh, name).select(some).to_dicts()) == str(fresh.rows(name, *some))


@pytest.mark.parametrize("stop", ["2 s", "1.2 s"])
def test_fairness_of_a_run_is_told_as_that_of_a_sweep(stop):
    flows = [cclab.Flow(cc="reno"), cclab.Flow(cc="cubic", stop=stop)]
    network = cclab.Dumbbell(rate="10 Mbit/s", rtt="20 ms")
    result = cclab.Scenario(duration="2 s", warmup="500 ms", network=network, flows=flows).run()
    assert [row["goodput_bps"] for row in result._connection_rows()] == result.connections["goodput_bps"].to_list()
    together = result.connections.select(cclab.metrics.were_together(result.warmup_s)).item()
    assert math.isnan(result.fairness) is (stop != "2 s")
    assert together is (stop == "2 s")
