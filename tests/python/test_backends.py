"""Backends stand behind one protocol, in one list."""

import sys
import types

import pytest

import cclab
from cclab import backends
from conftest import unspoilt


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.real_time if name == "live" else ()) for name in backends.BACKENDS]
)
def test_each_backend_does_what_the_protocol_says(small, name, cli):
    backend = backends.find(name)
    if name == "live":
        if missing := backend.missing():
            pytest.skip(missing)
        small = cclab.Scenario.from_dict({**small.to_dict(), "record": {"samples": "10 ms"}})
    assert backend.refuse(small) == []
    shares = []
    tables = unspoilt(lambda: backend.run(small, 7, shares.append))
    assert shares[-1] == 1.0
    assert tables["seed"] == 7
    assert {"flows", "links", "digest"} <= tables.keys()
    remark = backend.remark(unspoilt(lambda: small.run(backend=name)))
    assert remark is None or "\n" not in remark
    assert f"{name}, {backends.BACKENDS[name]}" in " ".join(cli("run", "--help")[1].split())


def test_a_third_one_is_a_module_and_a_line(small, monkeypatch):
    third = types.ModuleType("cclab.backends.third")
    third.refuse = lambda scenario: ["network.rate: too fast", "flows[0].cc: unheard of"]
    third.run = lambda scenario, seed, progress: {"seed": seed}
    monkeypatch.setitem(sys.modules, third.__name__, third)
    with pytest.raises(cclab.RunError, match="unknown backend 'third'; allowed: sim, model, live"):
        small.run(backend="third")
    monkeypatch.setitem(backends.BACKENDS, "third", "made up")
    with pytest.raises(cclab.ScenarioError) as caught:
        small.run(backend="third")
    assert str(caught.value).splitlines() == [
        "network.rate: too fast (backend = third)",
        "flows[0].cc: unheard of (backend = third)",
    ]
    cclab.Study(small, backend="third")
    third.refuse = lambda scenario: []
    assert backends.run(small, None, "third", None)[0] == {"seed": small.seed}


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, "1", True])
def test_a_seed_that_is_none(small, seed):
    with pytest.raises(cclab.ScenarioError, match=r"seed: .* is not a whole number"):
        small.run(seed=seed)
