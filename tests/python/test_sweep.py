"""Studies: what is varied, what is kept, what the tables say; tests of toughness are in test_sweep_tough.py."""

import contextlib
import json
import multiprocessing
import sqlite3
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import cclab
from cclab.scenario import changed
from cclab.sweep import executors
from cclab.sweep.display import Display, duration
from cclab.sweep.job import core_digest
from cclab.sweep.pack import Row
from cclab.sweep.plan import Design, make, work
from cclab.sweep.run import Costs, Progress, Run, Runner
from cclab.sweep.store import Log, Store, Writer
from conftest import in_a_process, write

QUEUE = {"discipline": "droptail", "limit": "20 packets"}


@pytest.fixture(scope="module")
def base() -> cclab.Scenario:
    """Two flows over 10 Mbit/s, half a second."""
    return cclab.Scenario(
        name="base",
        duration="500 ms",
        network=cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms", queue=QUEUE),
        flows=[cclab.Flow(cc="cubic"), cclab.Flow(cc="reno")],
    )


@pytest.fixture(scope="module")
def study(base) -> cclab.Study:
    return (
        cclab.Study(base)
        .vary({"network.rtt": ["10 ms", "40 ms"], "flows.0.cc": ["reno", "cubic", "vegas"]})
        .replicate(2)
    )


@pytest.fixture(scope="module")
def run(study, tmp_path_factory) -> cclab.Study:
    return study.run(tmp_path_factory.mktemp("store"))


# What to run.


def test_the_grid_is_full_and_in_order(study):
    assert len(study) == 12
    assert study.parameters == ["network.rtt", "flows.0.cc"]
    assert [tuple(point.values()) for point in study.points()] == [
        (rtt, cc) for rtt in ("10 ms", "40 ms") for cc in ("reno", "cubic", "vegas")
    ]


def test_vary_twice_multiplies(base):
    one = cclab.Study(base).vary({"network.rtt": ["1 ms", "2 ms"], "duration": ["1 s", "2 s", "3 s"]})
    two = cclab.Study(base).vary({"network.rtt": ["1 ms", "2 ms"]}).vary(duration=["1 s", "2 s", "3 s"])
    assert one == two
    assert len(one) == 6


def test_together_is_first_with_first(base):
    changes = {"network.rtt": ["1 ms", "2 ms"], "network.queue.limit": ["5 packets", "9 packets"]}
    both = cclab.Study(base).vary(changes, together=True)
    assert [tuple(point.values()) for point in both.points()] == [("1 ms", "5 packets"), ("2 ms", "9 packets")]
    with pytest.raises(cclab.StudyError, match=r"network.rtt has 2, duration has 1"):
        cclab.Study(base).vary({"network.rtt": ["1 ms", "2 ms"], "duration": ["1 s"]}, together=True)


def test_named_points_change_several_fields(base):
    points = {"plain": {"flows.*.cc": "reno"}, "paced": {"flows.*.cc": "cubic", "flows.*.pacing": True}}
    named = cclab.Study(base).vary(algorithm=points)
    assert named.points() == [{"algorithm": "plain"}, {"algorithm": "paced"}]
    flows = named.run().table("flows")
    assert flows.select("algorithm", "cc").rows() == [("plain", "reno")] * 2 + [("paced", "cubic")] * 2


def test_replications_have_the_same_seeds_at_every_point(run):
    seeds = run.table("runs").group_by("network.rtt", "flows.0.cc").agg(pl.col("seed"), pl.col("replication"))
    assert seeds["seed"].to_list() == [[1, 2]] * 6
    assert seeds["replication"].to_list() == [[0, 1]] * 6
    assert run.seeds == [1, 2]


def test_seeds_count_up_from_the_scenarios_own(base):
    assert cclab.Study(base.replace(seed=40)).replicate(3).seeds == [40, 41, 42]
    assert cclab.Study(base).replicate(seeds=[9, 2**64 - 1]).seeds == [9, 2**64 - 1]
    assert cclab.Study(base.replace(seed=40)).seeds == [40]


def test_a_run_is_the_run_of_its_scenario(run, base):
    """What a sweep measures is what `Scenario.run` measures."""
    alone = base.replace({"network.rtt": "40 ms", "flows.0.cc": "vegas"}).run(seed=2).flows
    mine = run.table("flows").filter(
        pl.col("network.rtt") == "40 ms", pl.col("flows.0.cc") == "vegas", pl.col("seed") == 2
    )
    assert mine.select(alone.columns).equals(alone, null_equal=True)
    links = run.table("links")
    assert links.height == 12 * base.run().links.height


def test_background_and_its_completion_times_are_tables_too(base, tmp_path):
    busy = base.replace({"background": [{"kind": "web", "cc": "cubic", "load": "20%"}], "duration": "2 s"})
    done = cclab.Study(busy).vary({"network.rtt": ["10 ms", "40 ms"]}).run(tmp_path)
    alone = busy.run(seed=1)
    for name in ("background", "fct"):
        mine = done.table(name).filter(pl.col("network.rtt") == "40 ms").select(getattr(alone, name).columns)
        assert mine.equals(getattr(alone, name), null_equal=True)
    assert done.tables() == ["runs", "flows", "links", "background", "fct", "failures", "timings"]


MISTAKES = [
    (lambda s: s.vary(), "vary: name a path and its values"),
    (lambda s: s.vary({"network.rtt": "10 ms"}), "network.rtt: '10 ms' is not a list of values; write ['10 ms']"),
    (lambda s: s.vary({"network.rtt": []}), "network.rtt: there are no values"),
    (lambda s: s.vary({"network.rtt": ["1 ms", "1 ms"]}), "network.rtt: '1 ms' is there twice"),
    (lambda s: s.vary({"network.rtt": [{1, 2}]}), "network.rtt: {1, 2} is not text, a number"),
    (lambda s: s.vary({"network.rtt": ["1 ms"]}).vary({"network.rtt": ["2 ms"]}), "network.rtt: is varied already"),
    (lambda s: s.vary(seed=[1, 2]), "seed: is a column of the tables; seeds are replicate's"),
    (lambda s: s.vary(cc={"a": {"flows.0.cc": "reno"}}), "cc: is a column of the tables; choose another name"),
    (lambda s: s.vary(a={"b": "reno"}), "a.b: 'reno' is not a table of paths and values"),
    (lambda s: s.replicate(0), "replications: 0 is not a whole number from 1 to 10000000"),
    (lambda s: s.replicate(10**8), "replications: 100000000 is not a whole number from 1 to 10000000"),
    (lambda s: s.replicate(), "replicate: give either"),
    (lambda s: s.replicate(seeds=[1, 1]), "seeds: one is there twice"),
    (lambda s: s.replicate(seeds=[]), "seeds: there are none"),
    (lambda s: s.replicate(seeds=[-1]), "seeds: -1 is not a whole number from 0 to 2^64 - 1"),
    (lambda s: s.vary({"flows.7.cc": ["reno"]}).check(), "flows.7.cc: there is no '7'; there is 0, 1, and * for all"),
    (lambda s: s.vary({"network.rttt": ["1 ms"]}).check(), 'network.rttt: unknown field (did you mean "rtt"?)'),
    (lambda s: s.vary({"flows.0.cc.c": [1]}).check(), "flows.0.cc.c: 'c' leads into 'cubic', which is not a table"),
    (lambda s: s.vary({"flows.0.cc": ["reno", "ren"]}).check(), '(did you mean "reno"?)'),
    (lambda s: s.vary({"flows.0.cc": ["reno", "ren"]}).check(), '(at flows.0.cc = "ren")'),
    (lambda s: s.table("flows"), "base: has not been run; run(out=DIR) first"),
    (lambda _: cclab.Study("x.toml"), "scenario: 'x.toml' is not a Scenario"),
    (lambda _: cclab.Study(cclab.Scenario.from_toml(cclab._core.example()), keep="all"), "keep: 'all' is not one of"),
]


@pytest.mark.parametrize(("mistake", "said"), MISTAKES)
def test_mistakes_name_the_field(base, mistake, said):
    with pytest.raises((cclab.StudyError, cclab.ResultError)) as error:
        mistake(cclab.Study(base))
    assert said in str(error.value)


def test_nothing_runs_if_one_point_is_wrong(base, tmp_path):
    wrong = cclab.Study(base).vary({"network.rtt": ["10 ms", "ten ms"], "flows.0.cc": ["reno", "cubic"]})
    with pytest.raises(cclab.StudyError, match="and 1 more points") as error:
        wrong.run(tmp_path / "store")
    assert "network.rtt" in str(error.value)
    assert not (tmp_path / "store").exists()


_LEAF = st.one_of(st.booleans(), st.integers(-5, 5), st.text("ab", max_size=3))
_TREE = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.dictionaries(st.text("xyz", min_size=1, max_size=2), inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=12,
)


def _paths(tree, path=()):
    yield path
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, value in inner:
        yield from _paths(value, (*path, str(name)))


def _at(tree, path):
    for name in path:
        tree = tree[int(name)] if isinstance(tree, list) else tree[name]
    return tree


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.text("xyz", min_size=1, max_size=2), _TREE, min_size=1, max_size=3), st.data())
def test_setting_a_path_changes_that_and_nothing_else(tree, data):
    before = json.dumps(tree)
    path = data.draw(st.sampled_from([p for p in _paths(tree) if p]))
    after = changed(tree, {".".join(path): "new"})
    assert _at(after, path) == "new"
    for other in _paths(tree):
        if other[: len(path)] != path and path[: len(other)] != other:
            assert _at(after, other) == _at(tree, other)
    assert json.dumps(tree) == before


@settings(deadline=None, max_examples=100)
@given(st.lists(st.fixed_dictionaries({"cc": st.text("ab"), "n": st.integers()}), min_size=1, max_size=5))
def test_a_star_sets_all_of_a_list(flows):
    after = changed({"flows": flows}, {"flows.*.cc": "new", "flows.0.n": 7})
    assert [flow["cc"] for flow in after["flows"]] == ["new"] * len(flows)
    assert after["flows"][0]["n"] == 7
    assert [flow["n"] for flow in after["flows"][1:]] == [flow["n"] for flow in flows[1:]]


# Keys.


def keys(study, core="core"):
    return [key for keys in make(study._design, core).keys for key in keys]


def test_a_key_is_of_what_determines_a_run(study, base):
    mine = keys(study)
    assert len(set(mine)) == len(mine) == 12
    assert keys(study) == mine
    assert not set(keys(study, core="another")) & set(mine)
    assert set(keys(study.replicate(3))) > set(mine)  # more replications repeat nothing
    other_words = cclab.Study(base.replace({"network.rtt": "0.04 s"})).replicate(2)
    assert keys(other_words) == keys(cclab.Study(base).replicate(2))  # of what is meant, not of how it is written
    assert not set(keys(cclab.Study(base, keep="samples"))) & set(keys(cclab.Study(base)))


def test_points_that_are_equal_run_once(base, tmp_path):
    twice = cclab.Study(base).vary({"network.rtt": ["40 ms", "0.04 s"]}).run(tmp_path)
    assert twice.status() == {"points": 2, "runs": 1, "finished": 1, "failed": 0}
    assert twice.table("runs")["network.rtt"].to_list() == ["40 ms", "0.04 s"]


def test_a_design_survives_the_disk(study):
    assert Design.from_json(json.loads(json.dumps(study._design.to_json()))) == study._design


# Tables.


def test_equal_studies_are_equal_tables(study, run, tmp_path):
    again = study.run(tmp_path, workers=3)
    for name in ("runs", "flows", "links"):
        assert again.table(name).write_csv() == run.table(name).write_csv()
    assert cclab.Study.load(tmp_path) == study
    assert cclab.Study.load(tmp_path).table("flows").equals(run.table("flows"), null_equal=True)


def test_the_columns_of_parameters_come_first(run, result):
    assert run.table("flows").columns[:4] == ["network.rtt", "flows.0.cc", "replication", "seed"]
    assert run.table("flows").columns[4:] == result.flows.columns
    assert run.table("links").columns[4:] == result.links.columns
    assert run.tables() == ["runs", "flows", "links", "failures", "timings"]
    with pytest.raises(cclab.UnknownNameError, match='did you mean "flows"'):
        run.table("flow")


def test_no_clock_reaches_a_table_but_timings(run):
    assert not [name for t in ("runs", "flows", "links") for name in run.table(t).columns if "wall" in name]
    assert run.table("timings").height == 12


def test_a_summary_counts_replications_and_not_flows(run):
    from cclab import stats

    table = run.summary("goodput_bps")
    assert table.columns == ["network.rtt", "flows.0.cc", "mean", "low", "high", "n"]
    assert table["n"].to_list() == [2] * 6
    flows = run.table("flows").filter(pl.col("network.rtt") == "10 ms", pl.col("flows.0.cc") == "reno")
    by_hand = stats.mean([flows.filter(pl.col("seed") == seed)["goodput_bps"].mean() for seed in (1, 2)])
    assert table.row(0)[2:5] == pytest.approx((by_hand.value, by_hand.low, by_hand.high))
    assert run.summary("goodput_bps", by=["cc"])["n"].to_list() == [2] * 3
    assert run.summary("jain", table="runs").height == 6
    with pytest.raises(cclab.UnknownNameError, match='did you mean "goodput_bps"'):
        run.summary("goodput")


def test_a_parameter_called_like_a_column_can_be_renamed(base, tmp_path):
    points = {"a": {"duration": "100 ms"}, "b": {"duration": "200 ms"}}
    done = cclab.Study(base).vary(rtt_mean_s=points).run(tmp_path)
    with pytest.raises(cclab.ResultError, match="flows: has a column rtt_mean_s of its own"):
        done.table("flows")
    assert cclab.Study(base).vary(length=points).run(tmp_path).table("timings").height == 2


def test_values_keep_their_type(base):
    varied = cclab.Study(base).vary({"flows.0.count": [1, 2], "flows.0.cc": ["reno", {"name": "cubic", "c": 0.4}]})
    table = varied.vary({"flows.*.pacing": [True, False]}).run().table("runs")
    assert table.schema["flows.0.count"] == pl.Int64
    assert table.schema["flows.*.pacing"] == pl.Boolean
    assert set(table["flows.0.cc"]) == {"reno", '{"name": "cubic", "c": 0.4}'}


def test_samples_are_kept_where_asked_for(base, tmp_path):
    kept = cclab.Study(base, keep="samples").vary({"network.rtt": ["10 ms", "40 ms"]}).run(tmp_path)
    result = kept.result(point=1)
    assert result.digest == base.run().digest
    assert result.samples.height > 0
    assert kept.table("runs")["digest"][1] == result.digest
    with pytest.raises(cclab.ResultError, match="only summaries are kept"):
        cclab.Study(base).run().result()


def test_a_study_that_was_cut_off_can_be_loaded(study, tmp_path):
    class Enough(Exception):
        pass

    def stop(at: Progress) -> None:
        if at.finished:
            raise Enough

    with pytest.raises(Enough):
        study.replicate(200).run(tmp_path, progress=stop)
    half = cclab.Study.load(tmp_path)
    status = half.status()
    assert 0 < status["finished"] < status["runs"] == 1200
    assert half.table("runs").height == status["finished"]
    assert half.table("flows").height == 2 * status["finished"]


def test_an_empty_store_has_empty_tables(study, tmp_path):
    with contextlib.closing(Writer(tmp_path)) as writer:
        assert not Store(tmp_path).log().done
        writer.put_study({"design": study._design.to_json(), "plan": make(study._design, core_digest()).to_json()})
    for name in ("runs", "flows", "failures", "timings"):
        assert cclab.load(tmp_path).table(name).height == 0


# Failures.


def failing(base):
    """One of three points uses up its budget of events."""
    return cclab.Study(base).vary(max_events=[10**6, 100, 10**7]).replicate(2)


def test_a_failing_run_is_kept_as_a_failure(base, tmp_path):
    done = failing(base).run(tmp_path)
    assert done.status() == {"points": 3, "runs": 6, "finished": 4, "failed": 2}
    failures = done.table("failures")
    assert failures.select("max_events", "replication", "seed").rows() == [(100, 0, 1), (100, 1, 2)]
    assert failures["error"].str.contains("budget of 100 events").all()
    assert done.table("flows")["max_events"].unique(maintain_order=True).to_list() == [10**6, 10**7]


def test_failures_are_run_again_when_asked_for(base, tmp_path):
    def rows():
        with sqlite3.connect(tmp_path / "sweep.sqlite") as connection:
            return connection.execute("SELECT count(*) FROM runs").fetchone()[0]

    good = make(failing(base)._design, core_digest()).keys[0][0]  # one that runs well now, and had failed by bad luck
    with contextlib.closing(Writer(tmp_path)) as writer:
        writer.turn([Row(good, None, b"out of memory")], lambda _: ())
    done = failing(base).run(tmp_path)
    assert done.status() == {"points": 3, "runs": 6, "finished": 3, "failed": 3}
    assert "out of memory" in done.table("failures")["error"].to_list()
    assert rows() == 6
    failing(base).run(tmp_path)
    assert rows() == 6
    done = failing(base).run(tmp_path, retry_failed=True)
    assert rows() == 9
    assert done.status() == {"points": 3, "runs": 6, "finished": 4, "failed": 2}
    assert done.table("failures").height == 2


# Executors.


def test_a_pool_of_processes_gives_the_same(study, run, tmp_path):
    with executors.processes(2) as pool:
        done = study.run(tmp_path, executor=pool)
    assert done.table("flows").write_csv() == run.table("flows").write_csv()


def test_any_executor_does(study, run, tmp_path):
    with ThreadPoolExecutor(1) as pool:
        assert study.run(tmp_path / "t", executor=pool).table("flows").write_csv() == run.table("flows").write_csv()
    with ProcessPoolExecutor(1, initializer=executors.initialise_process) as pool:  # forked, where that is the default
        assert study.run(tmp_path / "p", executor=pool).table("flows").write_csv() == run.table("flows").write_csv()


def test_few_runs_are_handed_out_at_once(study, tmp_path):
    """So that a slow worker has no long line of its own, and a study of any size needs little memory."""
    most = 0

    class Counting(ThreadPoolExecutor):
        def submit(self, *args, **kwargs):
            nonlocal most
            most = max(most, self._work_queue.qsize())
            return super().submit(*args, **kwargs)

    with Counting(2) as pool:
        study.replicate(20).run(tmp_path, executor=pool)
    assert most <= 5


def test_lost_workers_stop_the_sweep_and_keep_what_is_finished(study, tmp_path):
    def kill(at: Progress) -> None:
        if at.finished:
            for process in list(pool._processes.values()):
                process.kill()

    with (
        ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.raises(cclab.RunError, match="the workers were lost"),
    ):
        study.replicate(2000).run(tmp_path, executor=pool, progress=kill)
    assert cclab.load(tmp_path).status()["finished"] > 0


def test_a_worker_with_another_build_is_refused(study, tmp_path, monkeypatch):
    monkeypatch.setattr("cclab.sweep.run.core_digest", lambda: "another")
    with pytest.raises(cclab.StudyError, match="another build of cclab"):
        study.run(tmp_path)


# Progress.


def test_time_is_shared_out_by_work(base):
    short, long = (base.replace(duration=d).to_dict(full=True) for d in ("1 s", "10 s"))
    assert work(long) == pytest.approx(10 * work(short))
    assert work(short) == pytest.approx(10e6 / 12e3)
    costs = Costs([1.0, 10.0, 100.0])
    assert list(costs.of_points()) == [1.0, 10.0, 100.0]
    costs.add(0, 2.0)
    assert list(costs.of_points()) == [2.0, 20.0, 200.0]  # what is not measured, in proportion
    costs.add(1, 5.0)
    assert costs.of_points()[1] == 5.0


@pytest.mark.parametrize(
    "scenario", sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml")), ids=lambda p: p.stem
)
def test_every_topology_has_work(scenario):
    assert work(cclab.Scenario.load(scenario).to_dict(full=True)) >= 1.0


def test_progress_is_by_work_and_ends_at_one(base, tmp_path):
    seen: list[Progress] = []
    mixed = cclab.Study(base).vary(duration=["100 ms", "20 s"]).replicate(4)
    mixed.run(tmp_path, progress=seen.append)
    assert [at.share for at in seen] == sorted(at.share for at in seen) or seen[0].share < 0.2
    assert (seen[-1].share, seen[-1].finished, seen[-1].remaining_s) == (1.0, 8, 0.0)
    mixed.run(tmp_path, progress=seen.append)
    assert seen[-1] == Progress(8, 8, 0, 1.0, 0.0)


def test_no_time_is_left_to_be_told_before_there_is_a_basis(base):
    """Of a hundred runs of one scenario none tells a time before a tenth of the work is done."""
    seen = []
    cclab.Study(base).replicate(100).run(progress=seen.append)
    assert all(at.remaining_s is None for at in seen if at.share < 0.1)
    costs, works = [], [1.0]
    runner = Runner([Run(str(k), 0, k, k) for k in range(100)], works, costs.append, costs.append, Log())
    runner.todo(retry_failed=False)
    for finished, known in ((1, False), (9, False), (10, True), (60, True)):
        runner._here[0], runner._left[0] = finished, 100 - finished
        runner._costs.add(0, 1.0)
        assert (runner.progress().remaining_s is not None) == known, finished


def test_how_long_is_left_in_words():
    assert [duration(s) for s in (0.4, 89, 91, 3600, 5400, 7500, 36e3, 9e5)] == [
        "about 0 s", "about 89 s", "about 2 min", "about 60 min", "about 1 h 30 min", "about 2 h 5 min", "about 10 h",
        "about 10.4 days",
    ]  # fmt: skip


def test_no_terminal_no_bar_but_a_line_now_and_then(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with Display("study") as display:
        for now in (1.0, 11.0, 12.0, 60.0, 72.0):  # noqa: B007 - the clock reads it
            display(Progress(100, 40, 1, 0.5, 30.0))
    assert capsys.readouterr().err.splitlines() == ["study: 40 of 100 runs, 50 %, 1 failed, about 30 s left"] * 2


def test_an_expected_time_comes_from_the_beginnings_of_runs(base, tmp_path):
    study = cclab.Study(base).vary(duration=["1 s", "2 s"]).replicate(10)
    todo, seconds = study.left(tmp_path / "none")
    assert todo == 20
    assert 0 < seconds < 60
    assert not (tmp_path / "none").exists()
    assert failing(base).left(tmp_path / "none")[1] < 60  # a run that fails at once does not take for ever
    study.run(tmp_path / "store")
    assert study.left(tmp_path / "store")[0] == 0


def test_an_expected_time_does_not_count_what_else_the_machine_does(base, monkeypatch):
    study = cclab.Study(base).replicate(100)
    run = cclab.backends.run

    def late(*given):
        time.sleep(0.5)  # the processor is somebody else's
        return run(*given)

    monkeypatch.setattr("cclab.backends.run", late)
    assert study.left()[1] < 100 * 0.25


def test_points_with_the_same_scenario_are_not_told_as_finished(base, tmp_path, cli):
    study = cclab.Study(base).vary(
        {"of": {"1": {"duration": "1 s"}, "2": {"duration": "1 s"}, "3": {"duration": "2 s"}}}
    )
    file = write(tmp_path / "study.toml", study.replicate(2).to_toml())

    def told():
        said = cli("sweep", file, "--out", tmp_path / "store", "--dry-run")[1]
        return {line[:60].strip(): line.split()[-1] for line in said.splitlines() if line[-1:].isdigit()}

    same = "the same as others, of points with the same scenario"
    assert {"runs": "6", same: "2", "finished or failed earlier": "0", "to run": "4"}.items() <= told().items()
    err = cli("sweep", file, "--out", tmp_path / "store")[2]
    assert "4 of 4 runs are finished" in err
    assert "2 more are the same as others, of points with the same scenario, and are run once." in err
    assert {"runs": "6", same: "2", "finished or failed earlier": "4", "to run": "0"}.items() <= told().items()


# The store.


# TOML.

STUDY = """
name = "rtt-and-law"
scenario = "base.toml"
replications = 2

[vary]
"flows.0.cc" = ["reno", "cubic"]
network.rtt = ["10 ms", "40 ms"]

[[together]]
network.rate = ["5 Mbit/s", "10 Mbit/s"]
network.queue.limit = ["10 packets", "20 packets"]

[points.peer.reno]
"flows.1.cc" = "reno"

[points.peer.vegas]
"flows.1.cc" = "vegas"
"flows.1.pacing" = true
"""


@pytest.fixture
def folder(base, tmp_path):
    write(tmp_path / "base.toml", base.to_toml())
    write(tmp_path / "study.toml", STUDY)
    return tmp_path


def test_toml_says_the_same_as_python(base, folder):
    python = (
        cclab.Study(base, name="rtt-and-law")
        .vary({"flows.0.cc": ["reno", "cubic"], "network.rtt": ["10 ms", "40 ms"]})
        .vary(
            {"network.rate": ["5 Mbit/s", "10 Mbit/s"], "network.queue.limit": ["10 packets", "20 packets"]},
            together=True,
        )
        .vary(peer={"reno": {"flows.1.cc": "reno"}, "vegas": {"flows.1.cc": "vegas", "flows.1.pacing": True}})
        .replicate(2)
    )
    assert cclab.Study.load(folder / "study.toml") == python
    assert len(python) == 32
    inline = {**tomllib.loads(STUDY), "scenario": base.to_dict()}
    write(folder / "inline.toml", tomli_w.dumps(inline))
    assert cclab.Study.load(folder / "inline.toml") == python


BAD_STUDIES = [
    ("scenari = 1", 'scenari: unknown field (did you mean "scenario"?); allowed: name, scenario, replications'),
    ("", "scenario: missing; name a file"),
    ("scenario = 3", "scenario: 3 is neither text nor a table"),
    ('scenario = "no.toml"', "no.toml: no such file"),
    ("[scenario]\nduration = 5", "scenario.duration: 5 "),
    ('scenario = "base.toml"\nvary = 3', "vary: 3 is not a table of paths"),
    ('scenario = "base.toml"\n[vary]\nnetwork.rtt = "1 ms"', 'vary.network.rtt: "1 ms" is not a list of values; write ["1 ms"]'),
    ('scenario = "base.toml"\n[together]\nnetwork.rtt = ["1 ms"]', "is not a list of tables; write [[together]]"),
    ('scenario = "base.toml"\npoints = 3', "points: 3 is not a table; write [points.NAME.LABEL]"),
    ('scenario = "base.toml"\n[points]\nx = 3', "points.x: 3 is not a table"),
    ('scenario = "base.toml"\n[points.x]\ny = 3', "points.x.y: 3 is not a table of paths and values"),
    ('scenario = "base.toml"\nreplications = 2\nseeds = [1]', "seeds: give either replications or seeds"),
    ('scenario = "base.toml"\nreplications = "2"', "replications: '2' is not a whole number"),
    ('scenario = "base.toml"\nreplications = true', "replications: True is not a whole number"),
    ('scenario = "base.toml"\nseeds = 2', "seeds: 2 is not a list of whole numbers"),
    ('scenario = "base.toml"\nkeep = "all"', "keep: 'all' is not one of summary, samples"),
    ('scenario = "base.toml"\nbackend = "real"', "backend: 'real' is not one of"),
    ('scenario = "base.toml"\nname = 3', "name: 3 is not text"),
    ('scenario = "base.toml"\n[vary]\nx = [2020-01-01]', "vary.x[0]: 2020-01-01 is a date; a scenario has none"),
    ("a = ", "line 1, column 5: string values must be quoted"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD_STUDIES)
def test_mistakes_in_toml_name_the_field(cli, folder, text, said):
    path = write(folder / "bad.toml", text)
    status, out, err = cli("sweep", path, "--out", folder / "store")
    assert (status, out) == (2, "")
    assert said in err
    assert all(line.startswith(f"error: {path}: ") for line in err.splitlines())
    assert not (folder / "store").exists()


def test_what_is_nested_too_deeply_is_a_sentence(cli, folder):
    deep = write(folder / "deep.toml", "a = " + "[" * 900 + "]" * 900)
    for command in (
        ("run", deep),
        ("sweep", deep),
        ("run", folder / "base.toml", "--set", f"a={'[' * 900 + ']' * 900}"),
    ):
        status, out, err = cli(*command)
        assert (status, out) == (2, "")
        assert "Traceback" not in err
        assert "deep" in err or "recurs" in err


def test_a_deep_key_does_not_take_gigabytes(tmp_path):
    """Reading is bounded before it begins; Python's own reader takes 1.6 GB for a key of 20,000 names."""
    deep = Path(__file__).parents[1] / "corpus" / "scenarios" / "dotted-key.toml"
    peak = "import resource, sys; from cclab.cli import run_cli; status = run_cli(sys.argv[1:]); "
    peak += "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    for command in ("run", "sweep"):
        done = subprocess.run([sys.executable, "-c", peak, command, deep], capture_output=True, text=True, check=True)
        status, kilobytes = map(int, done.stdout.split())
        assert (status, "recurs" in done.stderr) == (2, True), done.stderr
        assert kilobytes < 250_000


@pytest.mark.parametrize(
    ("first", "later", "told"),
    [
        ({"flows.0.cc": ["bbr", "vegas"]}, {"flows.*.cc": ["reno", "cubic"]}, r"flows.\*.cc: would overwrite what flows.0.cc sets"),
        ({"network.rtt": ["1 ms", "2 ms"]}, {"path": {"short": {"network": {"rtt": "9 ms"}}}}, "network: would overwrite what network.rtt"),
        ({"flows.0.cc": ["bbr"]}, {"pair": {"a": {"flows.0.cc": "reno"}}}, "flows.0.cc: would overwrite what flows.0.cc sets"),
    ],
)  # fmt: skip
def test_a_value_that_a_later_one_would_overwrite_is_refused(base, first, later, told):
    with pytest.raises(cclab.StudyError, match=told):
        cclab.Study(base).vary(first).vary(later)
    with pytest.raises(cclab.StudyError, match=told):
        cclab.Study(base).vary({**first, **later})


def test_nor_may_one_of_those_that_are_varied_together(base):
    both = {"network.queue.limit": ["0.1 BDP", "1 BDP"], "network.queue": [QUEUE, {**QUEUE, "limit": "2 BDP"}]}
    with pytest.raises(cclab.StudyError, match=r"network.queue: would overwrite what network.queue.limit sets"):
        cclab.Study(base).vary(both, together=True)


def test_what_is_for_all_may_be_another_for_one(base):
    grid = cclab.Study(base).vary({"flows.*.cc": ["reno"], "flows.0.cc": ["bbr"]})
    [point] = [changes for _, changes in grid._design.points()]
    assert list(point) == ["flows.*.cc", "flows.0.cc"]


def test_a_mistake_in_a_point_is_told_before_anything_runs(cli, folder):
    path = write(folder / "bad.toml", 'scenario = "base.toml"\n[vary]\nflows.0.cc = ["reno", "rno"]')
    status, _, err = cli("sweep", path, "--out", folder / "store")
    assert status == 2
    assert '(did you mean "reno"?)' in err
    assert '(at flows.0.cc = "rno")' in err
    assert "--algorithms FILE" in err


def test_a_study_and_a_scenario_taken_for_each_other(cli, folder):
    status, out, err = cli("run", folder / "study.toml")
    study, base = folder / "study.toml", folder / "base.toml"
    assert (status, out) == (2, "")
    assert err == f"error: {study}: this is a study file; run it with: cclab sweep {study}\n"
    assert cli("sweep", base) == (2, "", f"error: {base}: this is a scenario; run it with: cclab run {base}\n")


# The command line.


def test_sweep_and_query(cli, folder):
    store = folder / "store"
    status, out, err = cli("sweep", folder / "study.toml", "--out", store, "--dry-run")
    assert status == 0
    assert "32" in out
    assert not store.exists()
    status, out, err = cli("sweep", folder / "study.toml", "--out", store, "--workers", 1)
    assert (status, out) == (0, f"{store}\n")
    assert "32 runs (16 points × 2 replications)" in err
    assert "32 of 32 runs are finished" in err
    status, out, err = cli("sweep", store)  # a store goes on by itself
    assert (status, out) == (0, f"{store}\n")
    sql = (
        'SELECT "network.rtt", count(*) AS n, avg(goodput_bps) AS mean FROM flows GROUP BY "network.rtt" ORDER BY mean'
    )
    status, out, err = cli("query", store, sql)
    assert (status, err) == (0, "")
    assert out.splitlines()[0].split() == ["network.rtt", "n", "mean"]
    status, out, err = cli("query", store, sql, "--format", "csv")
    assert out.splitlines()[0] == "network.rtt,n,mean"
    status, out, err = cli("query", store, "SELECT fct_s, seed FROM flows LIMIT 1", "--format", "json")
    assert json.loads(out) == [{"fct_s": None, "seed": 1}]


def test_a_sweep_says_how_far_it_is_with_its_checks(cli, folder, study, monkeypatch):
    monkeypatch.setattr("cclab.sweep.plan._TICK", -1.0)
    monkeypatch.setattr("cclab.sweep.display._FIRST", -1.0)
    told: list[Progress] = []
    study.left(progress=told.append)
    assert [at.checked for at in told] == [pytest.approx(k / 6) for k in range(6)]
    assert {(at.runs, at.finished, at.share) for at in told} == {(12, 0, 0.0)}
    for more in (("--dry-run",), ()):
        assert ": 0 % of the points checked" in cli("sweep", folder / "study.toml", "--out", folder / "s", *more)[2]


def test_many_values_cost_in_proportion(base):
    """Four times as many take four times as long, not sixteen times."""

    def seconds(n: int) -> float:
        values = [f"{i} us" for i in range(1, n + 1)]
        start = time.process_time()
        cclab.Study(base).vary({"network.rtt": values})
        return time.process_time() - start

    few, many = (min(seconds(n) for _ in range(2)) for n in (5_000, 20_000))
    assert many < 8 * few, (few, many)


def test_query_says_what_there_is(cli, run, result, tmp_path):
    for sql, said in (
        ("SELECT * FROM flow", "relation 'flow' was not found; there is runs, flows, links, failures, timings"),
        ("SELECT good FROM flows", 'unable to find column "good"; valid columns: ["network.rtt"'),
        ("SELECT network.rtt FROM flows", 'a name with dots is quoted: "network.rtt"'),
        ("SELECT (", "sql parser error"),
        ("SELECT 1; SELECT 2", "one (and only one) statement"),
        ("drop table runs", "SQL: 'drop table runs' is no query; allowed: SELECT ..., WITH ... SELECT ..."),
        ("/* SELECT */ DELETE FROM runs", "is no query"),
        ("", "SQL: '' is no query"),
    ):
        status, out, err = cli("query", run.place, sql)
        assert (status, out) == (2, "")
        assert said in err
    for sql in ("WITH f AS (SELECT seed FROM flows) SELECT seed FROM f", "/* all */ (select seed from runs)"):
        assert cli("query", run.place, sql)[0] == 0
    result.save(tmp_path / "r")
    status, out, _ = cli("query", tmp_path / "r", "SELECT label FROM flows", "--format", "csv")
    assert (status, out) == (0, "label\ncubic-1\ncubic-2\nreno-1\n")
    status, _, err = cli("query", tmp_path / "none", "SELECT 1")
    assert status == 2
    assert "no such folder" in err


def test_query_reads_its_tables_only(cli, run, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for sql in (
        "SELECT * FROM read_csv('{}')",
        "select * from Read_Csv ('{}')",
        "SELECT * FROM \"READ_CSV\"('{}')",
        "SELECT * FROM `read_csv`('{}')",
        "SELECT * FROM 'read_csv'('{}')",
        "SELECT * FROM read_csv/* now */('{}')",
        "SELECT * FROM -- a remark\n read_csv\n('{}')",
        "SELECT seed FROM runs, read_csv('{}')",
        "SELECT seed FROM runs JOIN read_csv('{}') AS s ON runs.seed = s.a",
        "SELECT (SELECT max(a) FROM read_csv('{}')) AS a FROM runs",
        "SELECT * FROM (SELECT * FROM read_csv('{}')) AS s",
        "WITH s AS (SELECT * FROM read_csv('{}')) SELECT * FROM s",
        "SELECT seed FROM runs UNION ALL SELECT a FROM read_csv('{}')",
        "SELECT * FROM read_parquet('{}')",
        "SELECT * FROM read_ipc('{}')",
        "SELECT * FROM read_json('{}')",
        "SELECT * FROM read_ndjson('{}')",
    ):
        status, out, err = cli("query", run.place, sql.format(secret))
        assert (status, out) == (2, ""), sql
        assert f"is refused: a query reads the tables in {run.place} and no other file" in err, sql
    # Whatever a dialect may take for the end of a literal.
    for sql in (
        "SELECT '--' AS a FROM read_csv('{}')",
        "SELECT 'it''s' AS a FROM read_csv('{}')",
        "SELECT '\\' AS a FROM read_csv('{}') WHERE a <> '\\'",
        "SELECT E'\\'' AS a FROM read_csv('{}') WHERE a <> ''",
        "SELECT $$'$$ AS a FROM read_csv('{}') WHERE a <> ''",
        "SELECT seed AS \"'\" FROM read_csv('{}') WHERE a <> ''",
        "SELECT seed AS `'` FROM read_csv('{}') WHERE a <> ''",
        "SELECT 1 -- '\n FROM read_csv('{}')",
        "SELECT 1 /* ' */ FROM read_csv('{}')",
        "SELECT 1 /* /* */ ' */ FROM read_csv('{}')",
        "SELECT * FROM 'read_csv'\n-- so\n('{}')",
        "SELECT '' '' AS a FROM read_csv('{}')",
    ):
        status, out, err = cli("query", run.place, sql.format(secret))
        assert (status, out) == (2, ""), sql
        assert "read_csv is refused" in err, sql
    # A text is no call.
    for text in ("read_csv(", "it''s read_csv('')", "scan_x"):
        status, out, err = cli("query", run.place, f"SELECT seed FROM runs WHERE digest <> '{text}' -- so")
        assert (status, err) == (0, ""), text
    # Nor is a file a table by its name.
    for name in ("'{}'", '"{}"', "scan('{}')", "csv_scan('{}')", "glob('{}')"):
        status, out, err = cli("query", run.place, f"SELECT * FROM {name.format(secret)}")
        assert (status, out) == (2, ""), name
    assert cli("query", run.place, "SELECT seed AS thread_local FROM runs")[0] == 0


def test_failures_show_in_the_status(cli, folder):
    path = write(folder / "fail.toml", 'scenario = "base.toml"\nreplications = 3\n[vary]\nmax_events = [100, 1000000]')
    for more in ((), ("--retry-failed",)):
        status, out, err = cli("sweep", path, "--out", folder / "store", *more)
        assert (status, out) == (1, f"{folder / 'store'}\n")
        assert "3 of 6 runs are finished" in err
        assert "3 failed:" in err
        assert "3 x the run used up its budget of 100 events" in err
        assert "--retry-failed" in err


def test_dask_takes_no_workers(cli, folder):
    status, _, err = cli("sweep", folder / "study.toml", "--dask", "tcp://127.0.0.1:1", "--workers", 2)
    assert status == 2
    assert "--dask brings its own workers" in err


def test_two_sweeps_of_one_process_do_no_harm(study, run, tmp_path):
    both = [threading.Thread(target=study.run, args=(tmp_path,)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert cclab.load(tmp_path).table("flows").write_csv() == run.table("flows").write_csv()


# Laws written in Python.

LAW = """
import cclab

class {name}(cclab.CongestionControl):
    def on_ack(self, ack):
        {body}
        self.cwnd_segments += {a} / self.cwnd_segments

    def on_congestion(self, event):
        self.cwnd_segments = self.ssthresh_segments = max(self.cwnd_segments / 2, 2)
"""


def test_laws_written_in_python_travel_to_workers_and_count_in_the_key(base, tmp_path):
    from cclab import laws

    def named(a):
        laws.load(write(tmp_path / "law.py", LAW.format(name="SweptLaw", body="", a=a)))
        return cclab.Study(base).vary({"flows.0.cc": ["reno", "swept-law"]})

    threads = named(1).run(tmp_path / "threads")
    with executors.processes(1) as pool:
        assert (
            named(1).run(tmp_path / "p", executor=pool).table("flows").write_csv() == threads.table("flows").write_csv()
        )
    before = keys(named(1))
    after = keys(named(2))
    assert before[0] == after[0]  # Reno's run is the same
    assert before[1] != after[1]
    assert named(3).run(tmp_path / "threads").table("timings").height == 2
    assert len(Store(tmp_path / "threads").log().done) == 3  # only the law's run was run again


def test_an_error_in_a_law_is_kept_with_its_traceback(base, tmp_path):
    from cclab import laws

    laws.load(write(tmp_path / "law.py", LAW.format(name="BrokenLaw", body="1 / 0", a=1)))
    done = cclab.Study(base).vary({"flows.0.cc": ["reno", "broken-law"]}).run(tmp_path / "store")
    assert done.status()["failed"] == 1
    error = done.table("failures")["error"][0]
    assert "ZeroDivisionError" in error
    assert "law.py" in error


def test_a_law_of_a_file_in_a_sweep_from_the_command_line(cli, folder):
    law = write(folder / "law.py", LAW.format(name="FiledLaw", body="", a=1))
    path = write(folder / "law.toml", 'scenario = "base.toml"\n[vary]\nflows.0.cc = ["reno", "filed-law"]')
    assert cli("sweep", path, "--out", folder / "store", "--algorithms", law)[0] == 0


def test_a_law_that_cannot_travel_stops_the_sweep(base, tmp_path, monkeypatch):
    """That is no failure of every run."""
    from cclab import laws

    laws.load(write(tmp_path / "law.py", LAW.format(name="StuckLaw", body="", a=1)))
    monkeypatch.setattr(laws, "ship", lambda _: b"not a pickle")
    with executors.processes(1) as pool, pytest.raises(cclab.StudyError, match="cannot be sent to a worker"):
        cclab.Study(base).vary({"flows.0.cc": ["stuck-law"]}).run(tmp_path / "store", executor=pool)
    assert cclab.load(tmp_path / "store").status()["failed"] == 0


def test_a_finished_store_does_not_ask_for_its_law(tmp_path):
    """Nothing is run any more; where something is, the law is missed."""
    law = "import cclab\nclass MyCC(cclab.CongestionControl):\n    def on_ack(self, ack): pass\n"
    write(tmp_path / "my.py", law + "    def on_congestion(self, event): pass\n")
    flow = 'flows = [{ cc = "my-cc", start_jitter = "1 ms" }]'
    network = 'network = { rate = "1 Mbit/s", rtt = "10 ms" }'
    text = f'[scenario]\nduration = "100 ms"\n{network}\n{flow}\n[vary]\nnetwork.rtt = ["10 ms", "20 ms"]\n'
    write(tmp_path / "s.toml", text)
    assert in_a_process("sweep", "s.toml", "--algorithms", "my.py", cwd=tmp_path).returncode == 0
    again = in_a_process("sweep", "out/s", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "2 of 2 runs are finished" in again.stderr
    assert in_a_process("sweep", "out/s", "--dry-run", cwd=tmp_path).returncode == 0
    elsewhere = in_a_process("sweep", "out/s", "--out", "out/new", cwd=tmp_path)
    assert elsewhere.returncode == 2
    assert "--algorithms" in elsewhere.stderr
