"""The store of a sweep: what is in it, who may write it, and what it says when it is not what was written."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cclab
from cclab import backends
from cclab.columns import texts
from cclab.sweep import database
from cclab.sweep.database import FILE
from cclab.sweep.pack import MOST, Row, Shape, packed
from cclab.sweep.store import Store, Writer
from conftest import write

QUEUE = {"discipline": "droptail", "limit": "20 packets"}


@pytest.fixture(scope="module")
def base() -> cclab.Scenario:
    return cclab.Scenario(
        name="base",
        duration="50 ms",
        network=cclab.Dumbbell(rate="10 Mbit/s", rtt="10 ms", queue=QUEUE),
        flows=[cclab.Flow(cc="cubic"), cclab.Flow(cc="reno")],
    )


@pytest.fixture(scope="module")
def study(base) -> cclab.Study:
    return cclab.Study(base).vary({"network.rtt": ["10 ms", "20 ms"]}).replicate(5)


def claimed(writer: Writer, *wanted: str) -> list[str]:
    """Which of these a sweep gets."""
    mine: list[str] = []

    def claim(held):
        mine.extend(key for key in wanted if key not in held)
        return mine

    writer.turn([], claim)
    return mine


# What is in it.


def test_tables_are_packed_without_loss(small):
    raw = backends.run(small, 1, "sim", None)[0]
    raw["flows"]["goodput_bps"][0] = np.nan
    raw["flows"]["fct_s"][1] = np.inf
    raw["links"]["drops"][0] = 2**64 - 1
    shape, data = packed(raw)
    read = Shape(shape)
    for table in ("flows", "links"):
        frame = read.frame(table, ["a", "b"], [read.numbers(table, data)] * 2)
        assert frame.columns == ["key", *raw[table]]
        for name, column in raw[table].items():
            values = texts(column) if isinstance(column, tuple) else [*column]
            assert frame[name].equals(pl.Series(name, values + values, frame.schema[name]), null_equal=True)
    runs = read.frame("runs", ["a"], [read.numbers("runs", data)]).row(0, named=True)
    assert runs == {"key": "a", **{name: raw[name] for name in list(runs)[1:]}}
    assert not {"samples", "packets"} & read.tables.keys()


def test_a_study_that_grew_and_shrank_is_the_same_as_one_made_at_once(study, tmp_path):
    whole = study.run(tmp_path / "whole")
    for n in (1, 3, 5):
        grown = study.replicate(n).run(tmp_path / "grown")
    for table in ("runs", "flows", "links"):
        assert grown.table(table).write_csv() == whole.table(table).write_csv()
    assert study.replicate(2).run(tmp_path / "grown").table("runs").height == 4
    assert len(Store(tmp_path / "grown").log().timings) == 10


def test_runs_of_another_build_do_not_mix(study, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("cclab.sweep.job.core_digest", lambda: "an older build")
        patch.setattr("cclab.sweep.run.core_digest", lambda: "an older build")
        before = study.run(tmp_path).table("flows").write_csv()
    assert cclab.load(tmp_path).table("runs").height == 10
    again = study.run(tmp_path)
    assert again.table("timings").height == 10
    assert again.table("flows").write_csv() == before
    assert len(Store(tmp_path).log().done) == 20


def test_runs_that_finish_together_are_kept_together(study, tmp_path, monkeypatch):
    """No more than a tenth of a second of finished work is open, and short runs have no commit of their own."""
    turns: list[int] = []
    turn = Writer.turn
    monkeypatch.setattr(Writer, "turn", lambda self, rows, claim: (turns.append(len(rows)), turn(self, rows, claim))[1])
    done = study.replicate(500).run(tmp_path)
    assert sum(turns) == 1000
    assert max(turns) >= 20
    cpu_s = done.table("timings")["cpu_s"].to_list()
    assert max(turns) * sum(cpu_s) / len(cpu_s) < 0.2


def test_what_is_at_rest_is_one_file(study, tmp_path):
    study.run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_an_export_is_a_parquet_file_for_each_table(cli, study, tmp_path):
    done = study.run(tmp_path / "store")
    for _ in range(2):  # an earlier export gives way
        status, out, err = cli("export", tmp_path / "store", "--out", tmp_path / "tables")
        assert (status, err) == (0, "")
        assert out.splitlines() == [str(tmp_path / "tables" / f"{name}.parquet") for name in done.tables()]
    for name in done.tables():
        assert pl.read_parquet(tmp_path / "tables" / f"{name}.parquet").equals(done.table(name), null_equal=True)
    assert cclab.Scenario.load(tmp_path / "tables" / "scenario.toml").name == "base"
    for command in (("query", tmp_path / "tables", "SELECT * FROM runs"), ("report", tmp_path / "tables")):
        status, _, err = cli(*command)
        assert status == 2
        assert "holds the tables of a sweep as cclab export wrote them; name the folder of the sweep, or read" in err
        assert f"polars.read_parquet('{tmp_path / 'tables' / 'runs.parquet'}')" in err
    write(tmp_path / "tables" / "mine.txt", "")
    for place, out, said in (
        (tmp_path / "store", tmp_path / "tables", "holds files of yours, which would be lost: mine.txt"),
        (tmp_path / "store", tmp_path / "store", "holds something that is not a cclab.export"),
        (
            tmp_path / "tables",
            tmp_path / "new",
            "holds no sweep; the tables of a single result are Parquet files already",
        ),
        (tmp_path / "none", tmp_path / "new", "none: no such folder; cclab sweep STUDY makes one"),
    ):
        status, _, err = cli("export", place, "--out", out)
        assert status == 2
        assert said in err
    assert not (tmp_path / "new").exists()


# Whose it is.


def test_what_is_no_store_is_left_alone(study, tmp_path):
    write(tmp_path / "thesis.tex", "years of work")
    with pytest.raises(cclab.ResultError, match=r"holds something that is no sweep \(thesis.tex\)"):
        study.run(tmp_path)
    with pytest.raises(cclab.ResultError, match="is a file"):
        study.run(tmp_path / "thesis.tex")
    with pytest.raises(cclab.ResultError, match=r"no sweep.sqlite; not a sweep"):
        Store(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    with pytest.raises(cclab.ResultError, match="no such folder"):
        cclab.load(tmp_path / "nowhere")


def test_a_stray_file_beside_a_store_does_no_harm(study, tmp_path):
    before = study.run(tmp_path).table("flows").write_csv()
    write(tmp_path / "notes.txt", "mine")
    write(tmp_path / "sweep-0123456789abcdef.lock", "")
    assert study.replicate(6).run(tmp_path).status()["finished"] == 12
    assert study.run(tmp_path).table("flows").write_csv() == before
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_database_of_another_program_is_left_alone(study, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute("CREATE TABLE runs (id INTEGER)")
    before = (tmp_path / FILE).read_bytes()
    for use in (study.run, cclab.load):
        with pytest.raises(cclab.ResultError, match="is damaged \\(or a database of another program\\)"):
            use(tmp_path)
    write(tmp_path / FILE, "dear diary, " * 100)
    for use in (study.run, cclab.load):
        with pytest.raises(cclab.ResultError, match="it is no SQLite database"):
            use(tmp_path)
    assert before != (tmp_path / FILE).read_bytes() == b"dear diary, " * 100


def test_another_layout_is_told(study, tmp_path):
    study.run(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as later:
        later.execute("PRAGMA user_version = 3")
    for use in (study.run, cclab.load):
        with pytest.raises(cclab.ResultError, match="written in layout 3; this cclab reads layout 2"):
            use(tmp_path)


def test_a_store_of_parquet_files_is_told(cli, study, tmp_path):
    (tmp_path / "runs").mkdir()
    write(tmp_path / "sweep.json", json.dumps({"schema": "cclab.sweep/1", "versions": {"cclab": "0.1.0"}}))
    for use in (study.run, cclab.load):
        with pytest.raises(cclab.ResultError, match=r"written by cclab 0.1.0; .* name another folder and run"):
            use(tmp_path)
    status, out, err = cli("query", tmp_path, "SELECT * FROM runs")
    assert (status, out) == (2, "")
    assert "a sweep in an earlier layout" in err
    for damaged in ("{", "[" * 100_000):
        write(tmp_path / "sweep.json", damaged)
        with pytest.raises(cclab.ResultError, match="written by an earlier cclab"):
            cclab.load(tmp_path)


def test_a_sweep_that_was_stopped_before_it_began_begins(study, tmp_path, cli):
    place = tmp_path / "store"
    place.mkdir()
    for write_nothing in ((place / FILE).touch, lambda: Writer(place).close()):
        write_nothing()
        with pytest.raises(
            cclab.ResultError, match=r"holds no study: its sweep was .*; the sweep started again begins"
        ):
            cclab.load(place)
        for command in (("plot", place), ("report", place), ("compare", place, place), ("query", place, "SELECT 1")):
            status, _, err = cli(*command)
            assert (status, err.count("the sweep started again begins it")) == (2, 1), (command, err)
    assert study.run(place).status()["finished"] == 10


# Claims.

CLAIM = """
import sys
from pathlib import Path
from cclab.sweep.store import Writer
from test_sweep_store import claimed
print(claimed(Writer(Path(sys.argv[1])), *sys.argv[2:]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other_process():
    started: list[subprocess.Popen] = []

    def start(place: Path, *wanted: str) -> str:
        path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-c", CLAIM, place, *wanted], env={**os.environ, "PYTHONPATH": path}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        return process.stdout.readline().strip()

    yield start, started
    for process in started:
        process.kill()
        process.communicate()


def test_a_claim_is_one_processs_own(tmp_path, other_process):
    start, started = other_process
    assert start(tmp_path, "a", "b") == "['a', 'b']"
    with contextlib.closing(Writer(tmp_path)) as mine:
        assert claimed(mine, "a", "c") == ["c"]
        started[0].kill()
        started[0].wait()
        assert claimed(mine, "a", "c") == ["a", "c"]  # a claim ends with its process, however that ends
        assert start(tmp_path, "a", "d") == "['d']"
        assert len(list(tmp_path.glob("sweep-*.lock"))) == 2  # what was left of the dead one is gone


def test_two_sweeps_of_one_process_do_not_share_claims(tmp_path, other_process):
    one, two = Writer(tmp_path), Writer(tmp_path)
    assert claimed(one, "a") == ["a"]
    assert claimed(two, "a", "b") == ["b"]
    two.close()
    assert claimed(one, "a", "b") == ["a", "b"]
    start, _ = other_process
    assert start(tmp_path, "a") == "[]"  # the end of one has not ended the other's
    one.close()
    assert start(tmp_path, "a") == "['a']"


def test_runs_of_another_sweep_are_seen(study, tmp_path):
    with contextlib.closing(Writer(tmp_path)) as one, contextlib.closing(Writer(tmp_path)) as two:
        one.turn([Row("a", None, b"it failed")], lambda _: ())
        assert not two.log.errors
        two.turn([Row("b", '{"runs": {"rows": 0, "columns": {}}}', zlib.compress(b""))], lambda _: ())
        assert two.log.errors == {"a": "it failed"}
        assert two.log.done == {"b"}
        one.turn([], lambda _: ())
        assert one.log.done == {"b"}
        assert one.log.last == two.log.last == 2


def test_a_turn_is_all_or_nothing(tmp_path):
    with contextlib.closing(Writer(tmp_path)) as writer:
        with pytest.raises(KeyboardInterrupt):
            writer.turn([Row("a", "{}", b"")], lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        assert not Store(tmp_path).log().done
        writer.turn([Row("b", "{}", b"")], lambda _: ())
    assert Store(tmp_path).log().done == {"b"}


# What is not what was written.


def test_a_piece_that_would_unpack_to_gigabytes_is_refused(tmp_path, study):
    bomb = zlib.compress(bytes(50_000_000), 9)
    shape = Shape(json.dumps({"runs": {"rows": 3, "columns": {"x": "<f8"}}}))
    with pytest.raises(ValueError, match="not 24 bytes"):
        shape.numbers("runs", bomb)
    with pytest.raises(ValueError, match="a run of 8000000000 bytes"):
        Shape(json.dumps({"runs": {"rows": 10**9, "columns": {"x": "<f8"}}}))
    raw = {"jain": 1.0, "digest": "d", "events": 1, "data_packets": 1, "simulated_s": 1.0}
    huge = np.lib.stride_tricks.as_strided(np.zeros(1), (MOST // 8,), (0,))
    with pytest.raises(cclab.RunError, match="a sweep keeps at most 900 MB"):
        packed({**raw, "flows": {"x": huge}})
    told = json.dumps({"runs": {"rows": 1, "columns": {"jain": "<f8"}}})
    key = study.run(tmp_path)._kept[1].keys[0][0]
    file = tmp_path / FILE
    with contextlib.closing(sqlite3.connect(file)) as hostile, hostile:
        hostile.execute("DELETE FROM runs")
        hostile.execute("UPDATE shapes SET told = ?, checksum = ?", [told, database.checksum(1, told)])
        about = (key, 1, 0.0, 0.0)
        proof = database.checksum(*about, data=bomb)
        hostile.execute("INSERT INTO runs VALUES (1, ?, ?, ?, ?, ?, ?)", [*about, bomb, proof])
        hostile.execute("UPDATE seal SET runs = 1, checksum = ?", [database.checksum(1)])
    with pytest.raises(cclab.ResultError, match=r"sweep.sqlite: is damaged \(run 1: not 8 bytes\)"):
        cclab.load(tmp_path).table("runs")
