"""What is said of validation: everything registered has an entry, every test that is named exists, the page is up to date."""

import html
import json
import re
from pathlib import Path

import pytest

import cclab
from cclab import registry
from cclab.laws.python import LAWS
from conftest import in_a_process

ROOT = Path(__file__).parents[2]
EVIDENCE = [
    (kind, name, one)
    for kind, things in registry.validation().items()
    for name, said in things.items()
    for one in said["evidence"]
]


@pytest.mark.parametrize("kind", ["algorithms", "queues", "schedulers", "routing"])
def test_everything_registered_has_an_entry_and_nothing_else(kind):
    registered = set(registry.names(kind)) - (
        set(LAWS) if kind == "algorithms" else set()
    )  # but what other tests wrote
    assert set(registry.validation()[kind]) == registered


def test_entries_have_their_fields():
    for kind, things in registry.validation().items():
        for name, said in things.items():
            assert {"evidence"} <= set(said) <= {"evidence", "lacks"}, f"{kind}.{name}"
    for kind, name, one in EVIDENCE:
        assert set(one) == {"level", "against", "test"}, f"{kind}.{name}"
        assert one["level"] in registry.LEVELS, f"{kind}.{name}"
        assert one["level"] != "timeline" or one["test"].endswith(".pkt"), f"{kind}.{name}"


def test_every_test_exists():
    missing = [(name, one["test"]) for _, name, one in EVIDENCE if not exists(one["test"])]
    assert missing == []
    assert not exists("tests/python/test_validation.py::test_that_is_not_there")
    assert not exists("tests/timelines/nothing-like-it-*.pkt")


def exists(test: str) -> bool:
    """Whether there is such a function in the file, or such a page or script."""
    path, _, function = test.partition("::")
    files = list(ROOT.glob(path))
    written = re.compile(rf"\b(def|fn) {function}\b" if function else "")
    return any(written.search(file.read_text(encoding="utf-8")) for file in files)


def test_the_page_is_what_is_said():
    made = in_a_process("list", "validation", "--markdown").stdout
    assert (ROOT / "docs" / "validation" / "README.md").read_text(encoding="utf-8") == made, "run: make docs"


def test_levels_are_listed_and_described(cli):
    listed = {line.split()[0]: line for line in cli("list", "algorithms")[1].splitlines() if line}
    assert "formula · timeline · kernel" in listed["cubic"].replace("vectors · ", "")
    assert cli("list", "validation")[0] == 0
    said = json.loads(cli("describe", "bbr3", "--json")[1])["algorithms"]["validation"]
    assert said["levels"] == ["formula"]
    assert any("CUBIC" in lack for lack in said["lacks"])
    assert "Not validated: Shares against CUBIC and Reno" in cli("describe", "bbr3")[1]
    assert "not validated" in cli("list", "routing")[1]


def test_what_is_validated_by_nothing_or_only_by_itself_says_so():
    assert registry.validated("algorithms", "of-a-user")["lacks"] == ["Compared with nothing that others wrote."]
    assert "no run of a kernel" in registry.validated("algorithms", "yeah")["lacks"][0]
    assert registry.validated("algorithms", "reno")["lacks"] == []


def test_what_is_not_validated_stands_on_every_page_of_a_law(tmp_path, cli, monkeypatch):
    """Of a run, a sweep, and two beside each other; nothing of datagrams, and nothing where the law was not simulated."""
    monkeypatch.chdir(tmp_path)
    flows = [{"cc": "bbr3"}, {"cc": "reno"}, {"kind": "cbr", "rate": "1 Mbit/s"}]
    network = {"rate": "10 Mbit/s", "rtt": "20 ms"}
    scenario = cclab.Scenario.from_dict({"duration": "1 s", "network": network, "flows": flows})
    scenario.run().save("one")
    scenario.replace({"flows": [{"cc": "reno"}]}).run(backend="model").save("formula")
    cclab.Study(scenario).vary({"flows.0.cc": ["bbr3", "reno"]}).run(out="swept")
    for folder in ("one", "formula", "swept"):
        assert cli("report", folder)[0] == 0
    _, terminal, _ = cli("compare", "one", "one", "--out", "beside")
    lacks = registry.validated("algorithms", "bbr3")["lacks"]
    for folder in ("one", "swept", "beside"):
        page = html.unescape((tmp_path / folder / "report.html").read_text())
        told = re.findall(r"<strong>To be known:</strong> Not validated of (.*)</p>", page)
        assert told == [f"bbr3: {lack}" for lack in lacks], folder
    assert "Not validated" not in (tmp_path / "formula" / "report.html").read_text()
    assert all(f"Not validated of bbr3: {lack}" in " ".join(terminal.split()) for lack in lacks)
