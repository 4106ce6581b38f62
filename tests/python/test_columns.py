"""Every backend fills the tables that the core defines."""

import polars as pl
import pytest

import cclab
from cclab import columns
from conftest import in_a_process

KINDS = {"f64": pl.Float64, "u64": pl.UInt64, "u32": pl.UInt32, "bool": pl.Boolean, "text": pl.String}
NETWORK = {"topology": "dumbbell", "rate": "5 Mbit/s", "rtt": "20 ms"}
EVERYTHING = {
    "duration": "2 s",
    "network": NETWORK,
    "flows": [
        {"cc": "cubic", "traffic": {"kind": "chunks", "size": "10 kB", "every": "500 ms"}},
        {"kind": "cbr", "rate": "1 Mbit/s"},
        {"cc": "reno", "paths": [{}, {}]},
    ],
    "background": [{"kind": "poisson", "load": "20%", "cc": "reno"}],
    "record": {"packets": "table"},
}


AD_HOC = {
    "duration": "2 s",
    "network": {"topology": "chain", "hops": 8, "wireless": {"profile": "ns2-2M"}},
    "flows": [{"cc": "reno"}],
    "record": {"frames": True},
}


def test_a_run_has_the_columns_of_the_schema():
    wired, ad_hoc = (cclab.Scenario.from_dict(scenario).run() for scenario in (EVERYTHING, AD_HOC))
    for name, table in columns.tables().items():
        result = ad_hoc if name in ("stations", "losses", "frames", "places", "routes") else wired
        if name == "runs":
            assert {column.name for column in table.columns} == {"jain", *result.engine} - {"wall_s", "cpu_s"}
            continue
        found: pl.DataFrame = getattr(result, name)
        assert found.height
        assert dict(found.schema) == {column.name: KINDS[column.kind]() for column in table.columns}, name


def test_names_stand_where_their_numbers_were():
    result = cclab.Scenario.from_dict(EVERYTHING).run()
    labels, links = set(result.flows["label"]), set(result.links["name"])
    assert set(result.samples["flow"]) == labels == {"cubic-1", "cbr-1", "reno-1/path-1", "reno-1/path-2"}
    assert set(result.packets["flow"]) == labels | set(result.background["label"])
    assert {None, "bottleneck"} < set(result.packets["link"]) <= links | {None}
    assert set(result.link_samples["link"]) == links
    at_hosts = result.packets.filter(pl.col("link").is_null())["event"]
    assert set(at_hosts) == {"sent", "received"}
    assert "forwarded" in set(result.packets["event"])


@pytest.mark.parametrize("name", columns.ALWAYS)
def test_the_model_fills_the_same_tables(name):
    scenario = cclab.Scenario.from_dict({"duration": "2 s", "network": NETWORK, "flows": [{"cc": "cubic"}]})
    model, packets = (getattr(scenario.run(backend=backend), name) for backend in ("model", "sim"))
    assert model.columns == packets.columns
    if name in ("flows", "links"):
        given = [c for c in ("label", "cc", "name", "rate_bps", "delay_s", "queue_limit_packets") if c in model.columns]
        assert model.select(given).equals(packets.select(given))


def test_columns_are_listed_with_their_units():
    lines = in_a_process("list", "columns").stdout.splitlines()
    assert any(line.split()[:2] == ["goodput_bps", "bit/s"] for line in lines)
