"""What a notebook shows, and what type checkers say of scenarios."""

import subprocess
import sys
import types
from html.parser import HTMLParser
from pathlib import Path

import pytest

import cclab
from cclab import fields, schema


def well_formed(html: str) -> str:
    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    opened: list[str] = []
    Tags().feed(html)
    assert opened == []
    return html


@pytest.fixture
def study() -> cclab.Study:
    network = cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms")
    scenario = cclab.Scenario(name="a < b", duration="1 s", network=network, flows=[cclab.Flow(cc="reno", count=2)])
    return cclab.Study(scenario).vary({"network.rtt": ["10 ms", "20 ms"]})


def test_scenarios_results_and_studies_show_themselves(study, result):
    scenario = cclab.Scenario.from_toml(study.scenario_toml())
    shown = well_formed(scenario._repr_html_())
    assert "a &lt; b" in shown
    assert '<td style="text-align:left">reno</td><td style="text-align:right">40 ms</td>' in shown
    shown = well_formed(result._repr_html_())
    assert "cubic-1" in shown
    assert "Goodput (Mbit/s)" in shown
    assert "10 ms, 20 ms" in well_formed(study._repr_html_())
    assert "2 finished" in well_formed(study.run()._repr_html_())


def test_a_notebook_shows_a_bar(study, monkeypatch):
    """With a stand-in for IPython: one display, which is updated and empty at the end."""
    shown: list[str] = []

    class Handle:
        def update(self, html):
            shown.append(html)

    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display.HTML, display.display = str, lambda html, display_id: [shown.append(html), Handle()][1]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    study.run()
    assert "<progress" in shown[0]
    assert "of 2 runs" in shown[0]
    assert shown[-1] == ""


def test_the_keywords_are_those_that_the_reader_asks_for():
    of = schema.scenario()["properties"]
    asked = {
        fields.FlowFields: (of["flows"]["items"], {"cc", "count"}),
        fields.BackgroundFields: (of["background"]["items"], {"kind", "load", "cc"}),
        fields.NetworkFields: (of["network"], {"topology"}),
        fields.LinkFields: (of["network"], {"topology", "rate", "rtt", "queue", "loss", "wireless"}),
    }
    for typed, (table, named) in asked.items():
        assert set(typed.__annotations__) | named == set(table["properties"]), typed.__name__


WRONG = {
    'Flow(cc=3)': '"cc"',
    'Flow(rtt=40)': '"rtt"',
    'Flow(rrt="40 ms")': "rrt",
    'Dumbbell(rate="1 Mbit/s", rtt="40 ms", delay=1)': '"delay"',
    'Background(load=[1])': '"load"',
    'Network("chain", hops="2")': '"hops"',
}  # fmt: skip


def test_type_checkers_refuse_mistakes(tmp_path):
    program = tmp_path / "program.py"
    good = 'cclab.Flow(cc="cubic", rtt="40 ms", count=2, paths=[{"rtt": "1 ms"}])'
    lines = ["import cclab", good, *(f"cclab.{call}" for call in WRONG)]
    program.write_text("\n".join(lines) + "\n")
    package = Path(cclab.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", str(program)]
    said = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(package)}, check=False
    ).stdout
    for number, (call, field) in enumerate(WRONG.items(), 3):
        assert any(f"program.py:{number}: error" in line and field in line for line in said.splitlines()), call + said
    assert "program.py:2:" not in said
