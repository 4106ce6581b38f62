"""Scenarios as Python objects, as TOML and as dicts are one and the same; the core says what is allowed."""

import contextlib
import tomllib
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cclab
from bad_scenarios import BAD, GOOD
from cclab import Dumbbell, Flow, Network, Scenario, ScenarioError, StudyError


def test_objects_and_toml_and_dicts_are_the_same_scenario():
    objects = Scenario(
        name="good",
        duration="2 s",
        seed=1,
        network=Dumbbell(rate="10 Mbit/s", rtt="40 ms", queue={"discipline": "droptail", "limit": "1 BDP"}),
        flows=[Flow(cc="reno")],
    )
    text = Scenario.from_toml(GOOD)
    table = Scenario.from_dict(tomllib.loads(GOOD))
    assert objects == text == table
    assert objects.key() == text.key() == table.key()
    assert hash(objects) == hash(text)
    assert objects.run().digest == text.run().digest


def test_toml_round_trip(small):
    assert Scenario.from_toml(small.to_toml()) == small
    assert Scenario.from_dict(small.to_dict(full=True)) == small


def test_load_says_which_file(tmp_path):
    path = tmp_path / "s.toml"
    with pytest.raises(ScenarioError, match="no such file"):
        Scenario.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="UTF-8"):
        Scenario.load(path)
    with pytest.raises(ScenarioError, match="is a folder, not a file"):
        Scenario.load(tmp_path)
    path.write_text(GOOD)
    assert Scenario.load(path).name == "good"


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_names_its_field(mistake):
    text, expected = BAD[mistake]
    with pytest.raises(ScenarioError) as error:
        Scenario.from_toml(text)
    for words in expected:
        assert words in str(error.value)
    assert isinstance(error.value, ValueError)


def test_all_mistakes_are_told_at_once():
    with pytest.raises(ScenarioError) as error:
        Scenario(duration="2", network=Network(rate="10 Mbit/s", rtt="fast"), flows=[Flow(cc="renoo")])
    named = {line.partition(":")[0] for line in str(error.value).splitlines()}
    assert named >= {"duration", "network.rtt", "flows[0].cc"}


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", float("nan"), float("inf"), 1j])
def test_values_that_are_no_data_are_refused(value):
    with pytest.raises(ScenarioError):
        Scenario.from_toml(GOOD).replace(**{"flows.0.cc": value})


@pytest.mark.parametrize("value", [1 << 64, -(1 << 63) - 1, 10**300])
def test_a_whole_number_that_has_no_room_names_its_field(value):
    with pytest.raises(ScenarioError, match=r"^seed: .* is too large; a whole number is from -2\^63 to 2\^64 - 1$"):
        Scenario.from_toml(GOOD).replace(seed=value)
    assert Scenario.from_toml(GOOD).replace(seed=(1 << 64) - 1).seed == (1 << 64) - 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "\ud800"}, "name"),
        ({"flows": [{"cc": "reno", "label": "a\udfffb"}]}, "flows[0].label"),
        ({"network": {"rate\ud800": 1}}, "network"),
    ],
)
def test_half_of_a_surrogate_pair_names_its_field(change, field):
    with pytest.raises(ScenarioError, match="half a pair of surrogates") as error:
        Scenario.from_dict({**tomllib.loads(GOOD), **change})
    assert str(error.value).startswith(f"{field}: ")


def test_half_of_a_surrogate_pair_in_a_text_or_a_path():
    with pytest.raises(ScenarioError, match=r"^line 2: .* is not text: half a pair of surrogates"):
        Scenario.from_toml('duration = "1 s"\nname = "\ud800"')
    with pytest.raises(ScenarioError, match=r"^a path: .* is not text: half a pair of surrogates"):
        Scenario.from_toml(GOOD).replace({"flows.0.\ud800": 1})


def test_a_path_of_many_names_is_refused():
    path = ".".join(["a"] * 1200)
    with pytest.raises(ScenarioError, match="a path of 1,200 names; 32 are the most"):
        Scenario.from_toml(GOOD).replace({path: 1})
    with pytest.raises(ScenarioError, match="a path of 1,200 names; 32 are the most"):
        cclab.Study(Scenario.from_toml(GOOD)).vary({path: [1]})


def test_names_of_a_study_are_those_that_a_scenario_may_have():
    """Control characters, ends of lines, what turns text (Bidi_Control of PropList.txt), and nothing else of what is not seen."""
    base = Scenario.from_toml(GOOD)
    odd = [c for c in map(chr, range(0x11000)) if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp", "Zs"}]
    for letter in odd:
        name = f"a{letter}b"
        try:
            base.replace(name=name)
        except ScenarioError:
            with pytest.raises(StudyError, match=r"^name: .* is not a name: text on one line"):
                cclab.Study(base, name=name)
            with pytest.raises(StudyError, match=r"^own: .* is not a name"):
                cclab.Study(base).vary({"own": {name: {"seed": 1}}})
        else:
            assert cclab.Study(base, name=name).name == name
    with pytest.raises(StudyError, match=r"^name: .* half a pair"):
        cclab.Study(base, name="a\ud800")


def test_numpy_numbers_are_numbers():
    assert Scenario.from_toml(GOOD).replace(seed=np.int64(5)).seed == 5


class TestReplace:
    good = Scenario.from_toml(GOOD)

    def test_a_path_into_tables_and_lists(self):
        other = self.good.replace({"network.rtt": "10 ms", "flows.0.cc": "cubic", "network.queue.limit": "5 packets"})
        data = other.to_dict()
        assert data["network"]["rtt"] == "10 ms"
        assert data["flows"][0]["cc"] == "cubic"
        assert data["network"]["queue"] == {"discipline": "droptail", "limit": "5 packets"}
        assert self.good.to_dict()["network"]["rtt"] == "40 ms"

    def test_every_flow(self):
        two = self.good.replace(flows=[Flow(cc="reno"), Flow(cc="reno")]).replace({"flows.*.cc": "cubic"})
        assert [flow["cc"] for flow in two.to_dict()["flows"]] == ["cubic", "cubic"]

    def test_a_new_table_and_a_field_taken_away(self):
        with_loss = self.good.replace({"network.loss.data": "1%"})
        assert with_loss.to_dict()["network"]["loss"] == {"data": "1%"}
        assert with_loss.replace({"network.loss": None}) == self.good

    @pytest.mark.parametrize(
        ("path", "said"),
        [
            ("flows.1.cc", r"there is 0, and \* for all"),
            ("flows.x.cc", "there is no .x."),
            ("name.x", "not a table"),
            ("netwrok.rtt", "netwrok"),
        ],
    )
    def test_a_path_that_leads_nowhere(self, path, said):
        with pytest.raises(ScenarioError, match=said):
            self.good.replace({path: "1 ms"})


def test_a_scenario_cannot_be_changed_through_what_it_gave(small):
    small.to_dict()["network"]["rate"] = "1 bit/s"
    assert small.to_dict()["network"]["rate"] == "10 Mbit/s"


def test_unknown_backend_and_seed(small):
    with pytest.raises(cclab.RunError, match="allowed: sim"):
        small.run(backend="dream")
    with pytest.raises(ScenarioError, match="seed"):
        small.run(seed=-1)
    with pytest.raises(ScenarioError, match="seed"):
        small.run(seed=1 << 64)


def test_the_example_is_a_good_scenario():
    from cclab import _core

    assert Scenario.from_toml(_core.example()).name


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
PATHS = ["name", "duration", "seed", "network", "network.rate", "network.queue", "network.queue.limit", "network.loss",
         "flows", "flows.0", "flows.0.cc", "flows.0.count", "flows.0.size", "flows.0.start", "record", "record.samples"]  # fmt: skip


@given(path=st.sampled_from(PATHS), value=json_values)
def test_any_value_anywhere_is_accepted_or_refused(path, value):
    with contextlib.suppress(ScenarioError):  # never another exception
        Scenario.from_toml(GOOD).replace({path: value})


@pytest.mark.parametrize(
    "text",
    ["\ufeff" + GOOD, GOOD.replace('"40 ms"', r'"\x340 ms"'), GOOD + "record = {\n  samples = '10 ms',\n}\n"],
    ids=["a byte order mark", "an escape of TOML 1.1", "an inline table over several lines"],
)
def test_toml_is_read_once_by_one_reader(text, tmp_path):
    if "record" in text:  # before the first [table]
        text = text[text.index("record") :] + text[: text.index("record")]
    path = tmp_path / "s.toml"
    path.write_text(text, encoding="utf-8")
    scenario = Scenario.load(path)
    assert scenario.to_dict()["network"]["rtt"] == "40 ms"
    assert Scenario.from_toml(scenario.to_toml()) == scenario


def test_what_is_kept_is_in_the_order_it_was_written_in():
    written = Scenario.from_toml(GOOD).to_dict()
    assert list(written) == ["name", "duration", "seed", "network", "flows"]
    assert list(written["network"]) == ["topology", "rate", "rtt", "queue"]


@given(st.text(alphabet='ab=[]{}"\\\n\ufeff#,. 1\r\t\x00', max_size=30))
def test_any_text_is_a_scenario_or_a_mistake(text):
    with pytest.raises(ScenarioError):
        Scenario.from_toml(text)


@pytest.mark.parametrize("seed", [1.5, "a", True, [1], np.float64(2)])
def test_a_seed_that_is_no_whole_number(small, seed):
    with pytest.raises(ScenarioError, match=r"seed: .* is not a whole number from 0 to 2\^64 - 1"):
        small.run(seed=seed)
    assert small.run(seed=np.int64(3)).seed == 3


def test_a_list_that_contains_itself():
    endless: list = []
    endless.append(endless)
    with pytest.raises(ScenarioError, match=r"flows: .*contains itself"):
        Scenario.from_dict({"duration": "1 s", "flows": endless})


def test_dir_shows_what_there_is():
    assert {"Scenario", "Result", "Flow", "algorithms"} <= set(dir(cclab))
