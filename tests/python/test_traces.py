"""Links that follow a trace: files, keys, sweeps, figures, models."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import cclab
from cclab import traces
from cclab.errors import ScenarioError
from conftest import in_a_process

EXAMPLES = Path(__file__).parents[2] / "examples"
SCENARIO = """
duration = "4 s"
[network]
trace   = "cell.up"
rtt     = "40 ms"
reverse = { trace = "none", rate = "10 Mbit/s" }
[[flows]]
cc = "cubic"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cell.up").write_text("".join(f"{ms}\n" for ms in range(2, 202, 2)))  # 6 Mbit/s
    (tmp_path / "slow.up").write_text("10\n")  # 1.2 Mbit/s
    (tmp_path / "s.toml").write_text(SCENARIO)
    return tmp_path


def test_a_file_beside_the_scenario_is_part_of_it(folder):
    scenario = cclab.Scenario.load(folder / "s.toml")
    assert scenario.to_dict()["traces"] == {"cell.up": "gaps 2*100"}
    result = scenario.run()
    link = result.links.row(0, named=True)
    assert (link["rate_bps"], link["capacity_bps"]) == (6e6, pytest.approx(6e6, rel=1e-3))
    assert 0.9 < link["utilisation"] <= 1
    again = cclab.Scenario.from_toml(scenario.to_toml())  # without the file
    assert again == scenario
    assert again.run().digest == result.digest
    resolved = scenario.resolved()
    assert resolved["traces"] == {"cell.up": {"kind": "opportunities", "bytes": 1500, "gaps_ms": "2*100"}}
    assert [link["trace"] for link in resolved["links"]][:2] == ["cell.up", None]
    assert scenario.replace({"network.trace": "slow.up"}).resolved()["links"][0]["rate_bps"] == 1.2e6


def test_what_is_in_a_file_is_in_the_key_and_how_it_is_written_is_not(folder):
    keys = []
    for text in ("2\n4\n", "# the same\n2\r\n4\n\n", "2\n5\n"):
        (folder / "cell.up").write_text(text)
        keys.append(cclab.Scenario.load(folder / "s.toml").key())
    assert keys[0] == keys[1] != keys[2]


def test_a_changed_file_is_a_new_run_of_a_sweep(folder):
    (folder / "study.toml").write_text(
        'scenario = "s.toml"\n[vary]\n"network.trace" = ["cell.up", "slow.up"]\n"flows.0.cc" = ["cubic", "reno"]\n'
    )

    def run():
        study = cclab.Study.load(folder / "study.toml")
        left = study.left(folder / "out")[0]
        links = study.run(folder / "out").table("links").filter(name="bottleneck")
        return left, {row["network.trace"]: row["capacity_bps"] for row in links.to_dicts()}

    left, capacity = run()
    assert (left, capacity) == (4, {"cell.up": pytest.approx(6e6, rel=1e-2), "slow.up": pytest.approx(1.2e6, rel=1e-2)})
    assert run()[0] == 0
    (folder / "slow.up").write_text("20\n")
    left, capacity = run()
    assert left == 2
    assert capacity["slow.up"] == pytest.approx(0.6e6, rel=1e-2)
    whole = cclab.Study.load(folder / "out")  # the store needs no file
    (folder / "slow.up").unlink()
    assert len(whole.check()) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, 'network.trace: "cell.up" cannot be read: No such file or directory'),
        (b"1\n2\nx\n", 'network.trace: "cell.up" line 3: "x" is not a time in whole milliseconds, at most 4294967295'),
        (b"", 'network.trace: "cell.up" is empty; write the times of opportunities in milliseconds'),
        (b"\xff1\n", 'network.trace: "cell.up" is not text in UTF-8'),
        (b"time_s,rate_Mbps\n0,5\n1,-3\n", 'network.trace: "cell.up" line 3: "-3 Mbit/s" is negative'),
        (b"gaps 0*99999999", 'network.trace: "cell.up" line 1: is too long; all traces together may have 10000000'),
    ],
)
def test_a_mistake_names_field_file_line_and_what_is_allowed(folder, text, message):
    (folder / "cell.up").unlink() if text is None else (folder / "cell.up").write_bytes(text)
    with pytest.raises(ScenarioError, match="^" + re.escape(message)):
        cclab.Scenario.load(folder / "s.toml")


def test_no_name_is_no_file(folder):
    (folder / "s.toml").write_text(SCENARIO.replace('"cell.up"', '""'))
    with pytest.raises(ScenarioError, match=r'network\.trace: "" names no file; write the name of one beside'):
        cclab.Scenario.load(folder / "s.toml")


def test_a_file_without_end_is_refused(folder):
    (folder / "cell.up").unlink()
    (folder / "cell.up").symlink_to("/dev/zero")
    with pytest.raises(ScenarioError, match="is too long; a trace has at most 64,000,000 bytes"):
        cclab.Scenario.load(folder / "s.toml")


def test_the_model_refuses_what_it_does_not_know(folder):
    with pytest.raises(ScenarioError, match=r"network\.trace: the model knows none"):
        cclab.Scenario.load(folder / "s.toml").run(backend="model")


@pytest.mark.parametrize("model", ["cellular", "wifi"])
def test_a_model_makes_no_more_than_is_read_again(model):
    """10 Gbit/s for 30 s are 25 million opportunities; the longest line of a day, 86400000 ms, has nine bytes."""
    with pytest.raises(
        ScenarioError, match=r"30 s may be 25,000,000 opportunities to send; at most 7,000,000: 2.8e\+09"
    ):
        traces.generate(model, duration_s=30, most_bps=1e10)
    assert len("86400000\n") * traces.MOST <= 64_000_000
    assert traces.generate("satellite", duration_s=86_400, most_bps=1e10).count("\n") < 100_000


def test_capacity_by_hand():
    cell = traces.of("gaps 5 0 3 2")  # 5, 5, 8, 10 ms
    assert list(cell.bits(np.array([0, 0.005, 0.0051, 0.008, 0.0081, 0.0101, 0.0151])) / traces.BITS) == [
        0, 0, 2, 2, 3, 4, 6,
    ]  # fmt: skip
    assert cell.capacity_bps(np.array([0.0, 10.0]))[0] == pytest.approx(4.8e6, rel=1e-3)
    table = traces.of(
        "time_ns,rate_bps,delay_ns\n0,8000000,1000000\n1000000000,0,2000000\n3000000000,4000000,1000000\n"
    )
    assert list(table.capacity_bps(np.array([0, 1.5, 3, 5]))) == [8e6 / 1.5, 0, 4e6]
    about = table.about()
    assert (about["mean_bps"], about["outages_s"], about["delay_max_s"]) == (8e6 / 3, 2, 0.002)
    dead = traces.of("time_ns,rate_bps\n0,0\n1000000000,0\n").about()
    assert (dead["outages"], dead["outages_s"], dead["outage_max_s"]) == (1, 1, 1)
    dies = traces.of("time_ns,rate_bps\n0,8000000\n1000000000,0\n1500000000,0\n").about()
    assert (dies["outages"], dies["outages_s"]) == (1, 0.5)


def test_capacity_is_the_cores(folder):
    """What figures show and what the core counts are the same: over the whole run, in every bin."""
    for name in ("cellular", "wifi", "satellite"):
        scenario = cclab.Scenario.load(EXAMPLES / f"{name}.toml")
        checked = scenario.to_dict(full=True)
        trace = traces.of(checked["traces"][f"{name}.trace"])
        for start, end in ((0, 7), (3, 41)):
            part = scenario.replace(duration=f"{end} s", warmup=f"{start} s", flows=[{"cc": "reno", "start": "0 s"}])
            counted = part.run().links["capacity_bps"][0]
            assert counted == pytest.approx(trace.capacity_bps(np.array([start, end]))[0], rel=1e-9)


@pytest.mark.parametrize("name", ["cellular", "wifi", "satellite"])
def test_examples_run_and_show_their_capacity(name, tmp_path):
    scenario = cclab.Scenario.load(EXAMPLES / f"{name}.toml").replace(duration="20 s")
    result = scenario.run()
    assert 0.3 < result.links["utilisation"][0] <= 1
    chart = result.plot.throughput()
    drawn = next(one for one in chart.series()["series"] if one["name"] == "capacity, bottleneck")
    mean = np.mean([point[3] for point in drawn["points"]])
    trace = traces.load(EXAMPLES / f"{name}.trace")
    assert mean == pytest.approx(trace.capacity_bps(np.array([0, 20.0]))[0] / 1e6, rel=0.02)
    result.save(tmp_path / "r")
    page = in_a_process("report", str(tmp_path / "r")).stdout.strip()
    assert "capacity, bottleneck" in Path(page).read_text()


def test_the_commands_of_the_guide_made_the_examples(tmp_path):
    guide = (EXAMPLES.parent / "docs" / "guides" / "traces.md").read_text()
    commands = re.findall(r'^\$ cclab (trace make (\w+) .*"\d+ s".*) --out (.*)$', guide, re.MULTILINE)
    assert len(commands) == 3
    for _, model, file in commands:
        line = next(line for line in guide.splitlines() if f"trace make {model} " in line)
        given = dict(re.findall(r'--(\w+) "?(\d+)', line))
        rate = float(given["rate"]) * 1e6 if "rate" in given else None
        made = traces.generate(model, seed=int(given["seed"]), duration_s=float(given["duration"]), most_bps=rate)
        assert made == (EXAMPLES / file).read_text()


@pytest.mark.parametrize("model", traces.MODELS)
def test_a_trace_is_as_long_as_asked(model, tmp_path):
    (tmp_path / "t").write_text(traces.generate(model, duration_s=20))
    assert traces.load(tmp_path / "t").length_s == 20


def test_the_cellular_model_is_what_it_says():
    """Its motion and its outages, of a long trace."""
    long = traces.generate("cellular", seed=3, duration_s=3000)
    at = np.array(long.split(), dtype=int)
    per_tick = np.bincount((at - 1) // 20, minlength=150_000)[:150_000]
    gaps = np.diff(at)
    outages = gaps[gaps > 300] / 1e3  # at 10 a second a gap is as long by chance with 5 %, and it is seldom so slow
    assert len(outages) > 60
    mean = (outages - 0.3).mean()  # exponential: without memory
    assert abs(mean - 1) < 6 / math.sqrt(len(outages))
    # counts of 0.2 s, a second apart, from the middle of the range: 200² · (0.8 + 2/3 · 0.2) of the motion, 2 · 100 of Poisson
    count = per_tick.reshape(-1, 10).sum(axis=1)
    middle = (count[:-5] > 80) & (count[:-5] < 120)
    step = (count[5:] - count[:-5])[middle]
    assert step.var() == pytest.approx(0.2**2 * 200**2 * (0.8 + 2 / 3 * 0.2) + 200, rel=0.2)


def test_the_command_line(folder):
    made = in_a_process("trace", "make", "cellular", "--seed", "5", "--duration", "2 s", "--rate", "6 Mbit/s").stdout
    assert made == traces.generate("cellular", seed=5, duration_s=2, most_bps=6e6)
    about = json.loads(in_a_process("trace", "info", str(folder / "cell.up"), "--json").stdout)
    assert (about["mean_bps"], about["length_s"], about["entries"]) == (6e6, 0.2, 100)
    assert "capacity, mean (Mbit/s)" in in_a_process("trace", "info", str(folder / "slow.up")).stdout
    wrong = in_a_process("trace", "make", "wifi", "--duration", "1 us")
    assert wrong.returncode == 2
    assert "duration: 1e-06 s is not from 1 s to 24 h" in wrong.stderr
    folder_given = in_a_process("trace", "make", "wifi", "--out", str(folder))
    assert (folder_given.returncode, "Traceback" in folder_given.stderr) == (2, False)
    assert "is a folder, not a file" in folder_given.stderr
    assert in_a_process("trace", "make", "wifi", "--seed", str(2**64)).returncode == 2
