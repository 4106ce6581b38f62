"""Congestion controls written in Python: registered, run, compared with their twin in Rust, failing well."""

import dataclasses
import importlib
import multiprocessing
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor

import pytest

import cclab
from cclab import laws, registry
from cclab.laws import python
from conftest import in_a_process

LINK = {"rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"limit": "1 BDP"}}


class PyReno(cclab.CongestionControl):
    """Reno as RFC 5681 has it, to be compared with the built-in one in its paper flavour."""

    signals = ("halvings",)

    def start(self):
        self.halvings = 0

    def on_ack(self, ack):
        if not ack.may_grow:
            return
        acked = ack.acked_segments
        if self.in_slow_start:
            grown = min(self.cwnd_segments + acked, self.ssthresh_segments)
            acked -= grown - self.cwnd_segments
            self.cwnd_segments = grown
        if acked > 0:
            self.cwnd_segments += acked / self.cwnd_segments

    def on_congestion(self, event):
        self.halvings += 1
        self.ssthresh_segments = max(min(event.flight_size / self.mss, self.cwnd_segments) / 2, 2)
        self.cwnd_segments = min(self.cwnd_segments, self.ssthresh_segments)

    def on_timeout(self, event):
        if event.first:
            self.ssthresh_segments = max(min(event.flight_size / self.mss, self.cwnd_segments) / 2, 2)
        self.cwnd_segments = 1


cclab.register(PyReno)


def scenario(cc, duration="20 s", loss=None, **fields):
    network = cclab.Dumbbell(**LINK, loss=loss)
    return cclab.Scenario(duration=duration, network=network, flows=[cclab.Flow(cc=cc)], **fields)


@pytest.mark.parametrize("loss", [None, {"data": "1%"}])
def test_a_law_in_python_is_its_twin_in_rust(loss):
    """The same law gives the same run, to the last bit of every figure but the name."""
    mine = scenario("py-reno", loss=loss, record={"samples": "100 ms"}).run(seed=3)
    built_in = cclab.Scenario(
        duration="20 s", network=cclab.Dumbbell(**LINK, loss=loss), flows=[cclab.Flow(cc="reno", flavour="paper")]
    ).run(seed=3)  # fmt: skip
    paper = cclab.Scenario(
        duration="20 s", network=cclab.Dumbbell(**LINK, loss=loss), flows=[cclab.Flow(cc="py-reno", flavour="paper")]
    ).run(seed=3)  # fmt: skip
    columns = [c for c in built_in.flows.columns if c not in ("label", "cc")]
    assert paper.flows.select(columns).equals(built_in.flows.select(columns), null_equal=True)
    assert mine.flows["goodput_bps"][0] > 3e6
    assert mine.signals.filter(mine.signals["name"] == "halvings")["value"].max() >= 1


def test_the_name_comes_from_the_class_and_is_listed():
    assert "py-reno" in cclab.algorithms.names()
    _, entry = registry.find("py-reno")
    assert entry["summary"].startswith("Reno as RFC 5681")


def test_parameters_are_checked_and_become_attributes():
    @cclab.register
    class Shaped(cclab.CongestionControl):
        """Parameters of each kind."""

        params = {  # noqa: RUF012
            "share": cclab.Param(0.5, min=0.1, max=0.9, doc="what congestion takes"),
            "fast": False,
            "shape": cclab.Param("line", choices=("line", "curve")),
        }

        def on_ack(self, ack):
            self.cwnd_segments = 10 * self.share + self.fast + len(self.shape)

        def on_congestion(self, event):
            pass

    law = cclab.algorithms.step("shaped", share=0.25, fast=True, shape="curve")
    law.on_ack()
    assert law.cwnd_segments == pytest.approx(2.5 + 1 + 5, abs=0.001)
    with pytest.raises(cclab.ScenarioError, match=r"share: 2 is not a number from 0.1 to 0.9"):
        cclab.algorithms.step("shaped", share=2)
    with pytest.raises(cclab.ScenarioError, match="shape"):
        scenario({"name": "shaped", "shape": "circle"})


FAILING = """
import cclab

class Breaks(cclab.CongestionControl):
    def on_ack(self, ack):
        if ack.now_s > 1:
            self.divide(ack.acked_segments)

    def divide(self, acked):
        return acked / 0

    def on_congestion(self, event):
        self.cwnd_segments /= 2
"""


def test_an_error_ends_the_run_with_its_traceback_and_the_time(tmp_path):
    file = tmp_path / "breaks.py"
    file.write_text(FAILING)
    assert laws.load(file) == ["breaks"]
    with pytest.raises(
        cclab.RunError, match=r"flow breaks-1: .* failed at 1\.0\d+ s simulated: ZeroDivisionError"
    ) as e:
        scenario("breaks").run()
    assert isinstance(e.value.__cause__, ZeroDivisionError)
    assert f"({file}, line 10, in divide)" in str(e.value)
    scenario("py-reno", duration="2 s").run()  # what failed there does not reach the next run


@pytest.mark.parametrize("value", ["float('nan')", "-1", "0", "'ten'"])
def test_a_window_that_is_none_is_refused(value, tmp_path):
    file = tmp_path / "bad.py"
    file.write_text(
        "import cclab\nclass BadWindow(cclab.CongestionControl):\n"
        f"    def on_ack(self, ack):\n        self.cwnd_segments = {value}\n    def on_congestion(self, e): pass\n"
    )
    laws.load(file)
    with pytest.raises(cclab.RunError, match=r"cwnd_segments|must be real"):
        scenario("bad-window", duration="2 s").run()


def test_the_command_line_takes_a_file_of_laws(tmp_path):
    (tmp_path / "mine.py").write_text(textwrap.dedent(FAILING).replace("acked / 0", "0").replace("Breaks", "MyCc"))
    (tmp_path / "s.toml").write_text(
        'duration = "2 s"\nnetwork = { rate = "10 Mbit/s", rtt = "40 ms" }\n[[flows]]\ncc = "my-cc"\n'
    )
    unknown = in_a_process("run", "s.toml", cwd=tmp_path)
    assert unknown.returncode == 2
    assert 'unknown algorithm "my-cc"' in unknown.stderr
    assert "my-cc-1" in in_a_process("run", "--algorithms", "mine.py", "s.toml", cwd=tmp_path).stdout
    assert "my-cc" in in_a_process("list", "algorithms", "--algorithms", "mine.py", cwd=tmp_path).stdout
    (tmp_path / "mine.py").write_text(FAILING.replace("Breaks", "MyCc"))
    failed = in_a_process("run", "--algorithms", "mine.py", "s.toml", cwd=tmp_path)
    assert failed.returncode == 1
    assert "line 10, in divide" in failed.stderr
    assert "s simulated: ZeroDivisionError" in failed.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "it defines no subclass of cclab.CongestionControl"),
        (
            "import cclab\nclass A(cclab.CongestionControl):\n    def on_ack(self, a): pass\n",
            "A: it has no on_congestion",
        ),
        (FAILING.replace("def divide", "def on_timeuot"), 'there is no hook on_timeuot .did you mean "on_timeout"'),
        ("def f(:\n", "line 1: SyntaxError: invalid syntax$"),
        ("import no_such_module\n", "line 1: ModuleNotFoundError"),
        (FAILING.replace("Breaks", "Cubic"), "is the name of a built-in"),
    ],
)
def test_a_file_that_is_of_no_use_is_refused(text, said, tmp_path, cli):
    (tmp_path / "law.py").write_text(text)
    with pytest.raises(cclab.AlgorithmError, match=said):
        laws.load(tmp_path / "law.py")
    status, _, err = cli("list", "algorithms", "--algorithms", tmp_path / "law.py")
    assert status == 2
    assert said.partition(":")[0].partition(" .did")[0] in err


def _goodput_elsewhere(shipped: bytes) -> float:
    laws.install(shipped)
    return float(scenario("py-reno", duration="2 s").run(seed=1).flows["goodput_bps"][0])


def test_laws_travel_to_another_process():
    here = float(scenario("py-reno", duration="2 s").run(seed=1).flows["goodput_bps"][0])
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(_goodput_elsewhere, laws.ship(["py-reno"])).result(timeout=60) == here


def test_a_fingerprint_tells_versions_of_a_law_apart(tmp_path):
    file = tmp_path / "v.py"
    prints = []
    for divisor in (1, 2):
        file.write_text(FAILING.replace("Breaks", "Versioned").replace("/ 0", f"/ {divisor}"))
        laws.load(file)
        prints.append(laws.fingerprint(["versioned"]))
    assert [list(p) for p in prints] == [["law:versioned"]] * 2
    assert prints[0] != prints[1]


def test_a_scenario_knows_which_of_its_laws_are_written_in_python():
    flows = [
        cclab.Flow(cc="py-reno", count=2),
        cclab.Flow(cc="reno"),
        cclab.Flow(kind="cbr", rate="1 Mbit/s", label="py-reno"),
    ]
    made = cclab.Scenario(name="cc", duration="2 s", network=cclab.Dumbbell(**LINK), flows=flows)
    assert laws.named_in(made) == {"py-reno"}
    assert laws.named_in(made.replace({"flows.0.cc": "cubic"})) == set()
    background = [{"kind": "poisson", "load": "10%", "sizes": "20 kB", "cc": "py-reno"}]
    assert laws.named_in(made.replace({"flows.0.cc": "cubic", "background": background})) == {"py-reno"}


def test_an_event_is_a_past_event():
    """What a hook is given is read-only."""

    @cclab.register
    class Meddles(cclab.CongestionControl):
        def on_ack(self, ack):
            ack.acked_bytes = 0

        def on_congestion(self, event):
            pass

    with pytest.raises(cclab.RunError, match="AttributeError"):
        scenario("meddles", duration="1 s").run()


def test_the_random_draws_of_a_law_are_the_flows_own():
    @cclab.register
    class Draws(cclab.CongestionControl):
        signals = ("drawn",)

        def start(self):
            self.drawn = self.random()

        def on_ack(self, ack):
            pass

        def on_congestion(self, event):
            pass

    def drawn(seed, flows):
        result = cclab.Scenario(
            duration="1 s",
            network=cclab.Dumbbell(**LINK),
            flows=[cclab.Flow(cc="draws")] * flows,
            record={"samples": "100 ms"},
        ).run(seed=seed)
        return [result.signals.filter(result.signals["flow"] == f"draws-{k + 1}")["value"][0] for k in range(flows)]

    assert drawn(1, 1) == drawn(1, 2)[:1]
    assert len({*drawn(1, 2), *drawn(2, 2)}) == 4


def test_the_guide_can_be_followed(tmp_path):
    import pathlib

    guide = (pathlib.Path(__file__).parents[2] / "docs/guides/python-algorithms.md").read_text()
    blocks = [part.split("```")[0] for part in guide.split("```python\n")[1:]]
    assert len(blocks[0].strip().splitlines()) <= 20
    (tmp_path / "my_cc.py").write_text(blocks[0])
    (tmp_path / "s.toml").write_text(guide.split("```toml\n")[1].split("```")[0])
    assert "my-cc-1" in in_a_process("run", "--algorithms", "my_cc.py", "s.toml", cwd=tmp_path).stdout
    done = subprocess.run([sys.executable, "-c", blocks[1]], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_a_fingerprint_knows_what_a_law_imports(tmp_path, monkeypatch):
    (tmp_path / "mend_helper.py").write_text("from mend_package import deep\nB = deep.B\n", encoding="utf-8")
    package = tmp_path / "mend_package"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "deep.py").write_text("from . import deeper\nfrom .deeper import B\n", encoding="utf-8")
    (package / "deeper.py").write_text("B = 0.5\n", encoding="utf-8")
    source = (
        "import cclab\nimport numpy\nfrom mend_helper import B\n\n"
        "class MendImports(cclab.CongestionControl):\n"
        "    def on_ack(self, ack):\n        self.cwnd_segments += 1\n\n"
        "    def on_congestion(self, event):\n        self.cwnd_segments *= B\n"
    )
    (tmp_path / "mend_imports.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    def fingerprint(by_file):
        for name in [name for name in sys.modules if name.startswith("mend_")]:
            del sys.modules[name]
        if (known := python.LAWS.get("mend-imports")) is not None:
            python.LAWS["mend-imports"] = dataclasses.replace(known, file=None)  # so that it is read again
        if by_file:
            laws.load(tmp_path / "mend_imports.py")
        else:
            cclab.register(importlib.import_module("mend_imports").MendImports)
        code = python.LAWS["mend-imports"].code
        assert code.count("\n# mend_") == 4
        assert "numpy" not in code.partition("\n# mend_")[2]
        return laws.fingerprint(["mend-imports"])["law:mend-imports"]

    before = [fingerprint(by_file) for by_file in (True, False)]
    assert before == [fingerprint(by_file) for by_file in (True, False)]
    (package / "deeper.py").write_text("B = 0.9\n", encoding="utf-8")
    after = [fingerprint(by_file) for by_file in (True, False)]
    assert all(one != other for one, other in zip(before, after, strict=True))
