"""The schemas of scenario and study files agree with the reader on every file of the repository, and on mistakes."""

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from bad_scenarios import BAD
from cclab import schema

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "tests" / "scenarios").glob("*.toml"), *(ROOT / "examples").rglob("*.toml")])
# What only the reader sees: how large a quantity is, what fits together, a name that may be a law of one's own.
BY_THE_READER = {
    "a negative duration",
    "no duration at all",
    "a duration for ever",
    "warm-up beyond the end",
    "a queue of no size",
    "a rate of zero",
    "a probability above one",
    "an unknown algorithm",
    "a parameter out of bounds",
    "a flow that starts too late",
    "samples of nonsense",
}


@pytest.fixture(scope="module")
def schemas() -> dict[str, Draft7Validator]:
    made = {"scenario": schema.scenario(), "study": schema.study()}
    for one in made.values():
        Draft7Validator.check_schema(one)
    return {name: Draft7Validator(one) for name, one in made.items()}


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_a_file_fits(file, schemas):
    data = tomllib.loads(file.read_text())
    schemas["study" if "scenario" in data else "scenario"].validate(data)


def test_mistakes_are_refused(schemas):
    data = {}
    for name, (text, _) in BAD.items():
        try:
            data[name] = json.loads(json.dumps(tomllib.loads(text), default=str))
        except tomllib.TOMLDecodeError:
            continue
    passed = {name for name, of in data.items() if schemas["scenario"].is_valid(of)}
    assert passed == BY_THE_READER
    assert len(data) - len(passed) > 20


def test_editors_are_told_names_and_units(schemas):
    fields = schemas["scenario"].schema["properties"]
    laws = fields["flows"]["items"]["properties"]["cc"]["anyOf"]
    assert "bbr3" in laws[0]["enum"]
    assert "beta" in laws[2]["properties"]
    assert "10 Mbit/s" in json.dumps(fields["network"]["properties"]["rate"])
    assert "fq-codel" in fields["network"]["properties"]["queue"]["properties"]["discipline"]["enum"]


@pytest.mark.parametrize("change", [{"replications": 0}, {"keep": "all"}, {"vry": {}}, {"scenario": 7}])
def test_mistakes_in_studies_are_refused(change, schemas):
    good = {"scenario": "first.toml", "vary": {"network.rtt": ["10 ms"]}}
    assert schemas["study"].is_valid(good)
    assert not schemas["study"].is_valid(good | change)


def test_the_command_prints_it(cli):
    status, out, _ = cli("schema", "study")
    assert status == 0
    assert json.loads(out) == schema.study()
