"""Stores that are not what was written, and places where nothing can be written: a clear sentence each, nothing lost."""

import contextlib
import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import cclab
from cclab import results
from cclab.sweep import database
from cclab.sweep.database import FILE
from cclab.sweep.mend import mend
from cclab.sweep.pack import Row
from cclab.sweep.store import Store, Writer
from conftest import CLAB, write

QUEUE = {"discipline": "droptail", "limit": "20 packets"}
TABLES = ("runs", "flows", "links", "failures")
SEED = 42


@pytest.fixture(scope="module")
def study() -> cclab.Study:
    """Two shapes, and half of its runs fail."""
    base = cclab.Scenario(
        name="base",
        duration="50 ms",
        network=cclab.Dumbbell(rate="10 Mbit/s", rtt="10 ms", queue=QUEUE),
        flows=[cclab.Flow(cc="cubic"), cclab.Flow(cc="reno")],
    )
    return cclab.Study(base).vary({"flows.0.cc": ["cubic", "reno"], "max_events": [50, 10**6]}).replicate(20)


def tables(place: Path) -> list[str]:
    loaded = cclab.load(place)
    return [loaded.table(name).write_csv() for name in TABLES]


@pytest.fixture(scope="module")
def whole(study, tmp_path_factory) -> Path:
    return study.run(tmp_path_factory.mktemp("whole")).place


@pytest.fixture(scope="module")
def good(whole) -> list[str]:
    return tables(whole)


@pytest.fixture(scope="module")
def killed(whole, tmp_path_factory) -> Path:
    """A store as it is left by a sweep that is killed: most of it is in the log that is written ahead."""
    place, left = tmp_path_factory.mktemp("ahead"), tmp_path_factory.mktemp("killed")
    with database.reading(whole / FILE) as connection:
        rows = list(_whole(connection))
    with contextlib.closing(Writer(place)) as writer:
        writer.put_study(Store(whole).study())
        for i in range(0, len(rows), 8):
            writer.turn(rows[i : i + 8], lambda _: ())
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{place / FILE}{suffix}", f"{left / FILE}{suffix}")
    assert (left / f"{FILE}-wal").stat().st_size > 100_000
    return left


def _whole(connection):
    from cclab.sweep import mend

    return mend._whole(connection)


def copy(place: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    return Path(shutil.copytree(place, to))


def flip(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    bit = chance.randrange(len(data) * 8)
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


def damage(file: Path, where: bytes) -> None:
    data = bytearray(file.read_bytes())
    data[data.index(where) + len(where) - 1] ^= 1
    file.write_bytes(data)


def told(error: BaseException) -> str:
    """What a person is told; anything but our own errors is a traceback for them."""
    assert isinstance(error, cclab.ResultError)
    assert "is damaged" in str(error)
    return str(error)


def test_a_flipped_bit_is_told_or_harmless(study, whole, good, tmp_path):
    """Of the layout before, 62 of 300 flips changed numbers without a word and 7 ended in a traceback."""
    chance, seen = random.Random(SEED), 0
    for i in range(300):
        place = copy(whole, tmp_path / "store")
        flip(place / FILE, chance)
        try:
            if i % 4 == 0:
                study.run(place)
            assert tables(place) == good, f"random.Random({SEED}), flip {i}"
        except Exception as error:
            seen += bool(told(error))
    assert 75 < seen < 300


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM runs WHERE id = 80",
        "DELETE FROM runs WHERE id = 40",
        "DELETE FROM runs",
        "INSERT INTO runs SELECT 81, key, shape, wall_s, cpu_s, data, checksum FROM runs WHERE id = 1",
        "UPDATE runs SET shape = 3 - shape WHERE id = 1",
        "UPDATE runs SET data = (SELECT data FROM runs WHERE data <> (SELECT data FROM runs WHERE id = 1)) WHERE id = 1",
        "UPDATE shapes SET id = 5 - id; UPDATE shapes SET id = id - 2",
        "DELETE FROM shapes WHERE id = 2",
        "DELETE FROM seal",
        "UPDATE seal SET runs = 79",
        "UPDATE study SET told = replace(told, 'cubic', 'reno')",
        "ALTER TABLE runs RENAME COLUMN wall_s TO cpu",
        "CREATE VIEW flows AS SELECT zeroblob(1000000000)",
    ],
)
def test_what_no_flip_would_do_is_told(whole, tmp_path, change):
    place = copy(whole, tmp_path / "store")
    with contextlib.closing(sqlite3.connect(place / FILE)) as connection:
        connection.executescript(change)
    with pytest.raises(cclab.ResultError, match="is damaged"):
        tables(place)


def test_a_store_cut_off_is_told(study, whole, good, tmp_path):
    chance = random.Random(SEED)
    size = (whole / FILE).stat().st_size
    for i in range(60):
        place = copy(whole, tmp_path / "store")
        os.truncate(place / FILE, chance.randrange(1, size))
        with pytest.raises(cclab.ResultError, match="is damaged"):
            study.run(place) if i % 2 else tables(place)


def mangle(file: Path, chance: random.Random) -> None:
    """One to four changes, from a bit to a page."""
    data = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 4)):
        at, length = chance.randrange(len(data) + 1), chance.choice([1, 1, 8, 100, 4096])
        start = at - at % 4096 if length == 4096 else at  # a page is a whole one
        match chance.randrange(5):
            case 0:
                data[start : start + length] = chance.randbytes(length)
            case 1:
                data[start : start + length] = bytes(length)
            case 2:
                other = chance.randrange(len(data) + 1) // length * length
                data[start : start + length] = data[other : other + length]
            case 3:
                data[start:start] = chance.randbytes(length)
            case 4:
                del data[start : start + length]
    file.write_bytes(data)


def test_fuzz_stores(study, whole, killed, good, tmp_path):
    """For `CCLAB_FUZZ_SECONDS`: whatever a store has in it, it is read as it was or its damage is told, and mended it is whole again."""
    chance = random.Random(seed := int(os.environ.get("CCLAB_FUZZ_SEED", "0")))
    end, tried = time.monotonic() + float(os.environ.get("CCLAB_FUZZ_SECONDS", "20")), 0
    rows = [set(table.splitlines()) for table in good]
    while time.monotonic() < end or tried < 5:
        tried += 1
        what = f"CCLAB_FUZZ_SEED={seed}, store {tried}"
        cut_off = tried % 3 == 0
        place = copy(killed if cut_off else whole, tmp_path / "store")
        mangle(chance.choice(sorted(place.glob(f"{FILE}*"))), chance)
        with contextlib.suppress(cclab.ResultError):
            for table, there in zip(tables(place), rows, strict=True):
                # of a log that is damaged from its beginning nothing was ever written, as SQLite has it
                assert set(table.splitlines()) <= there or (cut_off and table.count("\n") == 1), what
        try:
            study.run(place)
        except cclab.ResultError:
            mend(place)
            study.run(place)
        assert tables(place) == good, what


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[1] / "corpus" / "stores").glob("*.json")), ids=lambda file: file.stem
)
def test_whatever_an_earlier_store_says_is_a_sentence(study, tmp_path, file):
    shutil.copyfile(file, tmp_path / "sweep.json")
    for use in (study.run, cclab.load, mend):
        with pytest.raises(cclab.ResultError, match="in an earlier layout"):
            use(tmp_path)


def all_of(result: cclab.Result) -> str:
    """All that a result says."""
    return f"{result._about()} {result.capture!r} {[(name, result.rows(name)) for name in results.TABLES]}"


def test_fuzz_results(tmp_path):
    """The same of the folder of a result: it is read as it was, or what is wrong with it is told."""
    chance = random.Random(seed := int(os.environ.get("CCLAB_FUZZ_SEED", "0")))
    end, tried = time.monotonic() + float(os.environ.get("CCLAB_FUZZ_SECONDS", "20")) / 4, 0
    scenario = cclab.Scenario(
        duration="50 ms", network={"rate": "1 Mbit/s", "rtt": "9 ms"}, flows=[cclab.Flow(cc="reno")]
    )
    scenario.run().save(tmp_path / "whole")
    good = all_of(cclab.load(tmp_path / "whole"))
    while time.monotonic() < end or tried < 5:
        tried += 1
        place = copy(tmp_path / "whole", tmp_path / "result")
        mangle(
            chance.choice(sorted(path for path in place.rglob("*") if path.is_file() and path.stat().st_size)), chance
        )
        print(f"CCLAB_FUZZ_SEED={seed}, result {tried}")
        with contextlib.suppress(cclab.CclabError):
            assert all_of(cclab.load(place)) == good


def test_a_store_cut_to_nothing_begins_anew(study, whole, good, tmp_path):
    place = copy(whole, tmp_path / "store")
    os.truncate(place / FILE, 0)
    with pytest.raises(cclab.ResultError, match="or the file was cut off"):
        cclab.load(place)
    study.run(place)
    assert tables(place) == good


def test_damage_in_the_log_loses_no_more_than_a_power_cut(study, killed, good, tmp_path):
    """What is behind the damage counts as not finished; what is before it is as it was."""
    chance = random.Random(SEED)
    rows = [set(table.splitlines()[1:]) for table in good]
    for i in range(60):
        place = copy(killed, tmp_path / "store")
        log = place / f"{FILE}-wal"
        if i % 3:
            flip(log, chance)
        else:
            os.truncate(log, chance.randrange(log.stat().st_size))
        if Store(place).study() is not None:
            for table, there in zip(tables(place), rows, strict=True):
                assert set(table.splitlines()[1:]) <= there
        if i % 4 == 0:
            study.run(place)
            assert tables(place) == good


def test_what_is_whole_of_a_damaged_store_is_kept(study, whole, good, tmp_path):
    chance, kept = random.Random(SEED), []
    for i in range(40):
        place = copy(whole, tmp_path / "store")
        flip(place / FILE, chance)
        damaged = (place / FILE).read_bytes()
        if mended := mend(place):
            kept.append(mended[0])
            assert mended[1].read_bytes() == damaged
            assert mend(place) is None
        study.run(place)
        assert tables(place) == good, f"random.Random({SEED}), flip {i}"
    assert kept.count(79) + kept.count(80) > len(kept) / 2 > 10  # one run, or what is no run


def test_the_schema_may_be_damaged(whole, tmp_path):
    """A flipped bit in the first page hides no run that lies on another, whichever of the two readings sees it."""
    content = (whole / FILE).read_bytes()
    root = content.index(b"tablerunsruns") + len(b"tablerunsruns")  # where the table of runs begins
    with database.reading(whole / FILE) as connection:
        runs = len(list(_whole(connection)))
    for place, bit in [(root, 1), (root, 2), (root, 3), (31, 4), (16, 2), (100, 0)]:
        folder = tmp_path / f"{place}-{bit}"
        folder.mkdir()
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        (folder / FILE).write_bytes(damaged)
        with contextlib.suppress(cclab.CclabError):
            mend(folder)
        with database.reading(folder / FILE) as connection:
            assert len(list(_whole(connection))) == runs, (place, bit)


def test_mending_from_the_command_line(cli, study, whole, good, tmp_path):
    place = copy(whole, tmp_path / "store")
    data = bytearray((place / FILE).read_bytes())
    key = Store(place).log().timings[0][0].encode()
    data[data.index(key)] ^= 1
    (place / FILE).write_bytes(data)
    for command in (("sweep", place), ("query", place, "SELECT * FROM runs")):
        status, out, err = cli(*command)
        assert (status, out) == (2, "")
        assert "the sweep started again with --mend keeps what is whole and runs the rest again" in err
    status, out, err = cli("sweep", place, "--mend")
    assert (status, out) == (1, f"{place}\n")  # half of its runs fail
    assert f"79 runs were whole and are kept; as it was, the store is {place / 'sweep.damaged-1.sqlite'}." in err
    assert tables(place) == good
    assert "nothing is damaged" in cli("sweep", place, "--mend")[2]


def test_nothing_is_mended_under_a_sweep(whole, tmp_path):
    place = copy(whole, tmp_path / "store")
    with contextlib.closing(Writer(place)):
        with sqlite3.connect(place / FILE) as connection:
            connection.execute("DELETE FROM runs WHERE id = 80")
        connection.close()
        with pytest.raises(cclab.ResultError, match="a sweep goes on here; end it first"):
            mend(place)
    assert mend(place)[0] == 79


@pytest.mark.parametrize("content", [None, b"", b"dear diary, " * 1000])
def test_nothing_is_whole(cli, study, whole, good, tmp_path, content):
    """What the error promises is done: what is whole is kept, be it nothing, and the rest is run again."""
    place = copy(whole, tmp_path / "store")
    if content is None:
        os.truncate(place / FILE, 5000)
    else:
        (place / FILE).write_bytes(content)
    before = (place / FILE).read_bytes()
    status, _, err = cli("sweep", place, "--mend")
    assert status == 2  # the study was in it
    aside = place / "sweep.damaged-1.sqlite"
    assert f"nothing was whole; as it was, the store is {aside}" in err
    assert aside.read_bytes() == before
    study.run(place)
    assert tables(place) == good


def test_another_layout_is_not_mended(whole, tmp_path):
    place = copy(whole, tmp_path / "store")
    with contextlib.closing(sqlite3.connect(place / FILE)) as later:
        later.execute("PRAGMA user_version = 3")
    with pytest.raises(cclab.ResultError, match="written in layout 3; this cclab reads layout 2"):
        mend(place)
    assert [path.name for path in place.iterdir()] == [FILE]


KILLED = """
import os, signal, sys
from pathlib import Path
from cclab.sweep import mend
at, module, name = int(sys.argv[2]), *sys.argv[3].split(".")

def counted(*args, _call=getattr(getattr(mend, module), name)):
    global at
    if (at := at - 1) < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return _call(*args)

setattr(getattr(mend, module), name, counted)
mend.mend(Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def half(killed, tmp_path_factory) -> Path:
    """As `killed`, but half of it is in the database itself."""
    place, left = copy(killed, tmp_path_factory.mktemp("ahead") / "half"), tmp_path_factory.mktemp("half")
    with database.reading(place / FILE) as connection:
        rows = list(_whole(connection))
    with contextlib.closing(sqlite3.connect(place / FILE)) as shrunk, shrunk:
        shrunk.execute("DELETE FROM runs")
        shrunk.execute("UPDATE seal SET runs = 0, checksum = ?", [database.checksum(0)])
    with contextlib.closing(Writer(place)) as writer:
        writer.turn(rows[:40], lambda _: ())
        writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        writer.turn(rows[40:], lambda _: ())
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{place / FILE}{suffix}", f"{left / FILE}{suffix}")
    damage(left / FILE, rows[0].key.encode())
    return left


@pytest.mark.parametrize("call", ["database.copy", "os.replace"])
def test_mending_may_be_killed(study, half, good, tmp_path, call):
    """Before any of these steps: nothing is lost that mending would have kept, and nothing of it is left."""
    place = tmp_path / "store"
    for steps in itertools.count():
        copy(half, place)
        command = [sys.executable, "-c", KILLED, str(place), str(steps), call]
        done = subprocess.run(command, check=False, timeout=60)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        assert (place / database.MENDING).is_dir()
        if steps % 2:
            with contextlib.suppress(cclab.ResultError):
                Writer(place).close()
        else:
            assert mend(place)[0] == 79
        assert not [path for path in place.iterdir() if not path.name.startswith(("sweep.sqlite", "sweep.damaged"))]
        mend(place)
        study.run(place)
        assert tables(place) == good
        assert Store(place).log().last == 80
    assert steps >= 2


def test_nobody_opens_what_is_being_mended(study, whole, tmp_path, monkeypatch):
    """Until the new store is in its place; whoever comes earlier is told to wait."""
    place, said = copy(whole, tmp_path / "store"), []
    os.truncate(place / FILE, (place / FILE).stat().st_size - 4096)
    replace = os.replace

    def tried(*args):
        for use in (Writer, mend):
            with pytest.raises(cclab.ResultError, match="is being mended; wait until that has ended") as error:
                use(place)
            said.append(error)
        replace(*args)

    monkeypatch.setattr("cclab.sweep.mend.os.replace", tried)
    assert mend(place)
    assert len(said) >= 4
    assert study.run(place).status()["finished"] == 40


def test_what_was_written_last_is_kept_where_the_header_is_damaged(tmp_path):
    """It lies in the log alone, and so does no header."""
    place, left = tmp_path / "store", tmp_path / "left"
    left.mkdir()
    rows = [Row(key, None, b"it failed") for key in "abc"]
    with contextlib.closing(Writer(place)) as writer:
        writer.turn(rows[:2], lambda _: ())
        writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        writer.turn(rows[2:], lambda _: ())
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{place / FILE}{suffix}", f"{left / FILE}{suffix}")
    damage(left / FILE, b"SQLite")
    assert mend(left)[0] == 3
    assert Store(left).log().errors.keys() == set("abc")


def test_no_journal_of_the_damaged_store_is_left_beside_the_new_one(whole, tmp_path):
    """A disk without shared memory has a rollback journal; what is left of one would be rolled back into the new store."""
    place = copy(whole, tmp_path / "store")
    with contextlib.closing(sqlite3.connect(place / FILE, isolation_level=None)) as dying:
        dying.execute("PRAGMA journal_mode = DELETE")
        dying.execute("PRAGMA cache_spill = 1")
        dying.execute("PRAGMA cache_size = 1")
        dying.execute("BEGIN")
        dying.execute("UPDATE runs SET data = zeroblob(2000)")
        copy(place, tmp_path / "killed")
    place = tmp_path / "killed"
    assert Path(f"{place / FILE}-journal").stat().st_size > 4096
    damage(place / FILE, b'"cubic"')  # in the study
    assert mend(place)[0] == 80
    Store(place).check()
    assert not Path(f"{place / FILE}-journal").exists()


def test_a_copy_beside_a_writer_is_of_one_moment(tmp_path, monkeypatch):
    """Where a folder cannot be written a copy is read. The log is put in place every few pages here, and begun anew."""
    place, written, left, chance = tmp_path / "store", threading.Event(), threading.Event(), random.Random(SEED)

    def write_on() -> None:
        with contextlib.closing(Writer(place)) as writer:
            writer._connection.execute("PRAGMA wal_autocheckpoint = 2")
            writer._connection.execute("PRAGMA synchronous = OFF")
            while not left.wait(0.2 if chance.random() < 0.05 else 0.001):
                writer.turn([Row("a", None, bytes(5000))], lambda _: ())
                written.set()

    def slowly(*args: object, _copy=shutil.copyfile) -> None:
        _copy(*args)
        time.sleep(0.01)

    monkeypatch.setattr(shutil, "copyfile", slowly)
    writing = threading.Thread(target=write_on)
    writing.start()
    try:
        assert written.wait(60.0)
        seen = set()
        for i in range(20):
            (folder := tmp_path / str(i)).mkdir()
            database.copy(place / FILE, folder / FILE)
            Store(folder).check()
            seen.add(Store(folder).log().last)
        assert len(seen) > 1
        monkeypatch.setattr(database, "PATIENCE", 0.05)
        monkeypatch.setattr(database, "_contents", lambda _: [os.urandom(8)])
        with pytest.raises(cclab.ResultError, match=r"is being written, and could not be copied for 0.05 s"):
            database.copy(place / FILE, tmp_path / FILE)
    finally:
        left.set()
        writing.join()


# Where nothing can be written.

SWEEP = """
import resource, sys
from cclab.cli import main
if len(sys.argv) > 5:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop()),) * 2)
main()
"""


def swept(source: Path, place: Path, *more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SWEEP, "sweep", source, "--out", place, *more]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def file(study, tmp_path) -> Path:
    import tomli_w

    design = study._design
    vary = {axis.names[0]: [values[0] for values in axis.values] for axis in design.axes}
    return write(
        tmp_path / "study.toml", tomli_w.dumps({"scenario": design.scenario, "vary": vary, "replications": 20})
    )


@contextlib.contextmanager
def mounted(*command: object):
    """A mount, where this machine lets us."""
    if os.geteuid() != 0 or subprocess.run([str(c) for c in command], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(command[-1])], check=True)


@pytest.mark.parametrize("most", [20_000, 60_000, 80_000])
def test_a_file_that_may_not_grow_loses_nothing(study, good, file, tmp_path, most):
    place = tmp_path / "store"
    done = swept(file, place, most)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert "what was finished is kept, and the same command goes on from there" in done.stderr
    assert f"error: {place / FILE}: reading or writing failed" in done.stderr
    before = Store(place).log()
    assert len(before.done | before.failed) < 80
    study.run(place)
    assert tables(place) == good
    assert Store(place).log().last == 80


def test_a_full_disk_loses_nothing(study, good, file, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted("mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk):
        done = swept(file, disk / "store")
        assert (done.returncode, done.stdout) == (1, "")
        assert "Traceback" not in done.stderr
        assert "the disk is full; what was finished is kept, and the same command goes on from there" in done.stderr
        moved = copy(disk / "store", tmp_path / "store")
    study.run(moved)
    assert tables(moved) == good
    assert Store(moved).log().last == 80


def test_a_folder_that_cannot_be_written_is_read(study, whole, killed, good, file, tmp_path):
    for at, place in enumerate((whole, killed)):  # at rest, and as a killed sweep leaves it
        folder = copy(place, tmp_path / f"store-{at}")
        with mounted("mount", "--bind", folder, folder):
            subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
            assert tables(folder) == good
            done = swept(file, folder)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"error: {folder / FILE}: " in done.stderr
            assert "is on a disk that cannot be written" in done.stderr or "may not be written" in done.stderr
            done = swept(file, folder / "another")
            assert (done.returncode, done.stdout) == (2, "")
            assert "Traceback" not in done.stderr


def test_a_folder_is_copied_moved_and_removed_while_a_sweep_goes_on(study, good, tmp_path):
    place = tmp_path / "store"

    def copied(at: cclab.sweep.Progress) -> None:
        copy(place, tmp_path / "copy")

    study.run(place, progress=copied)
    study.run(tmp_path / "copy")
    assert tables(tmp_path / "copy") == good
    for how in (lambda: place.rename(tmp_path / "elsewhere"), lambda: shutil.rmtree(place)):
        with contextlib.closing(Writer(place)) as writer:
            how()
            with pytest.raises(cclab.ResultError, match="was moved or removed while it was written"):
                writer.turn([], lambda _: ())
        shutil.rmtree(place, ignore_errors=True)
    assert tables(study.run(tmp_path / "elsewhere").place) == good


def test_another_program_that_keeps_it_locked_is_told(study, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "PATIENCE", 0.2)
    monkeypatch.setattr(database._connected, "__defaults__", (0.2,))
    place = copy(whole, tmp_path / "store")
    with contextlib.closing(sqlite3.connect(place / FILE, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for use in (study.run, cclab.load):
            with pytest.raises(cclab.ResultError, match=r"another program has kept it locked for 0.2 s"):
                use(place)
    study.run(place)


def test_a_store_half_made_is_none_yet(study, tmp_path):
    """A page of the transaction that makes it is in the file, and how that was before in the journal (SQLite, Atomic Commit, 3.7)."""
    place, made = tmp_path / "store", tmp_path / "made"
    place.mkdir()
    with contextlib.closing(sqlite3.connect(made, isolation_level=None)) as half:
        half.execute("PRAGMA cache_size = 1")
        half.execute("BEGIN IMMEDIATE")
        half.execute("CREATE TABLE large (x)")
        for _ in range(100):
            half.execute("INSERT INTO large VALUES (zeroblob(4000))")
        shutil.copy(made, place / FILE)
        shutil.copy(f"{made}-journal", place / f"{FILE}-journal")
    assert (place / FILE).stat().st_size > 0
    with pytest.raises(cclab.ResultError, match="its sweep was stopped before it"):
        tables(place)
    assert study.left(place)[0] == len(study)
    study.run(place)
    assert study.left(place)[0] == 0


@pytest.mark.parametrize("wanted", [signal.SIGKILL, signal.SIGTERM])
def test_what_is_left_of_a_stopped_sweep_can_be_read(study, file, tmp_path, wanted):
    place = tmp_path / "store"
    sweep = subprocess.Popen(
        [*CLAB, "sweep", file, "--out", place], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not (place / FILE).exists():
        time.sleep(0.001)
    sweep.send_signal(wanted)
    sweep.wait()
    with contextlib.suppress(cclab.ResultError):  # it had not begun
        tables(place)
    study.run(place)
