"""Stations that share the air, as scenarios: what is read, kept and refused; what the fields come to."""

import math
from pathlib import Path

import polars as pl
import pytest

import cclab
from cclab import registry

FLOWS = [{"cc": "newreno"}]
MOVES = """\
$node_(0) set X_ 0.0
$node_(0) set Y_ 0.0
$node_(1) set X_ 100.0
$node_(1) set Y_ 0.0
$ns_ at 5.0 "$node_(1) setdest 100.0 50.0 10.0"
"""


def trace(file: str) -> dict:
    ends = {"from": 0, "to": 1, "cc": "newreno"}
    mobility = {"model": "trace", "file": file}
    return {"duration": "1 s", "network": {"topology": "custom", "wireless": {"mobility": mobility}}, "flows": [ends]}


def test_a_movement_file_stands_beside_the_scenario_and_is_part_of_it(tmp_path):
    (tmp_path / "moves.tcl").write_text(MOVES)
    toml = tmp_path / "there.toml"
    toml.write_text(
        'duration = "1 s"\n[network]\ntopology = "custom"\n[network.wireless]\n'
        'mobility = { model = "trace", file = "moves.tcl" }\n[[flows]]\ncc = "newreno"\nfrom = 0\nto = 1\n'
    )
    first = cclab.Scenario.load(toml)
    assert first.to_dict()["network"]["wireless"]["mobility"] == {"model": "trace", "text": MOVES}
    legs = first.resolved()["media"][0]["stations"][1]["motion"]["legs"]
    assert (legs[-1]["start_s"], legs[-1]["end_s"], legs[-1]["to_m"]) == (5.0, 10.0, [100.0, 50.0])
    assert cclab.Scenario.from_toml(first.to_toml()) == first
    (tmp_path / "moves.tcl").write_text(MOVES.replace("50.0 10.0", "60.0 10.0"))
    assert cclab.Scenario.load(toml).key() != first.key()
    assert first.replace({"network.wireless.mobility.file": str(tmp_path / "moves.tcl")}).key() != first.key()


def test_a_movement_file_that_is_not_there_or_no_text_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cclab.ScenarioError, match=r'mobility\.file: "moves\.tcl" cannot be read: No such file'):
        cclab.Scenario.from_dict(trace("moves.tcl"))
    Path("moves.tcl").write_bytes(b"\xff\xfe")
    with pytest.raises(cclab.ScenarioError, match=r'"moves\.tcl" is not text in UTF-8'):
        cclab.Scenario.from_dict(trace("moves.tcl"))
    Path("moves.tcl").write_text(MOVES + "$node_(1) set X_ far\n")
    with pytest.raises(cclab.ScenarioError, match=r'line 6, "\$node_\(1\) set X_ far": "far" is not a number'):
        cclab.Scenario.from_dict(trace("moves.tcl"))


def test_the_ways_of_a_run_are_told():
    """A network that stands and goes as the stations of a run are told to has done the same."""
    mobility = {"model": "waypoint", "speed": ["5 m/s", "20 m/s"], "pause": "1 s"}
    network = cclab.Wireless("random", nodes=12, area=["600 m", "300 m"], mobility=mobility)
    ends = [{"cc": "newreno", "from": 0, "to": 1}]
    drawn = cclab.Scenario(duration="40 s", network=network, flows=ends)
    lines = []
    for k, station in enumerate(drawn.resolved(seed=5)["media"][0]["stations"]):
        legs = station["motion"]["legs"]
        assert legs[-1]["end_s"] >= 40
        lines += [f"$node_({k}) set {axis}_ {legs[0]['from_m'][i]!r}" for i, axis in enumerate("XY")]
        for leg in (leg for leg in legs if leg["from_m"] != leg["to_m"]):
            (x, y), seconds = leg["to_m"], leg["end_s"] - leg["start_s"]
            speed = math.dist(leg["from_m"], (x, y)) / seconds
            assert 5 - 1e-6 < speed < 20 + 1e-6
            lines.append(f'$ns_ at {leg["start_s"]!r} "$node_({k}) setdest {x!r} {y!r} {speed!r}"')
    told = cclab.Wireless("custom", mobility={"model": "trace", "text": "\n".join(lines)})
    runs = [s.run(seed=5).flows for s in (drawn, cclab.Scenario(duration="40 s", network=told, flows=ends))]
    assert runs[0]["delivered_bytes"][0] > 100_000
    assert runs[0].equals(runs[1])


def test_a_network_of_stations_as_an_object():
    network = cclab.Wireless("chain", hops=2, profile="802.11b", routing="static", wireless={"spacing": "80 m"})
    medium = cclab.Scenario(duration="1 s", network=network, flows=FLOWS).resolved()["media"][0]
    assert [station["motion"]["place_m"] for station in medium["stations"]] == [[0, 0], [80, 0], [160, 0]]
    assert medium["mac"]["data_rate_bps"] == 11_000_000
    assert medium["routing"] == {"name": "static", "params": {}}


def test_every_profile_protocol_and_model_is_described(cli):
    for kind in ("routing", "profiles", "mobility"):
        for entry in registry.registered()[kind]:
            status, out, _ = cli("describe", entry["name"])
            assert status == 0
            assert entry["summary"].split(":")[0] in out.replace("\n", " ")
    for profile in registry.names("profiles"):
        network = cclab.Wireless("chain", hops=1, profile=profile)
        written = cclab.Scenario(duration="1 s", network=network, flows=FLOWS).to_dict(full=True)["network"]["wireless"]
        shown = next(entry for entry in registry.registered()["profiles"] if entry["name"] == profile)["params"]
        assert {p["name"]: written[p["name"]] for p in shown if p["default"] is not None} == {
            p["name"]: p["default"] for p in shown if p["default"] is not None
        }


def test_the_model_of_formulas_refuses_stations():
    with pytest.raises(cclab.ScenarioError, match=r'network\.topology: the model knows one bottleneck, "dumbbell"'):
        cclab.Scenario(duration="1 s", network=cclab.Wireless(hops=1), flows=FLOWS).run(backend="model")


def test_one_hop_carries_what_the_exchanges_take():
    """W = 1: each segment and its ACK are an exchange of RTS, CTS, DATA and ACK with a mean back-off of 15 slots."""
    flow = {"cc": "newreno", "profile": "classic", "packet_size": "1500 B", "receive_buffer": "1460 B", "ack_every": 1}
    scenario = cclab.Scenario(duration="20 s", network=cclab.Wireless(hops=1), flows=[flow])
    goodput = scenario.run().flows["goodput_bps"][0]
    exchange = 352 + 304 + 304 + 80 + 300
    assert goodput == pytest.approx(1460 * 8 / (2 * exchange + 6328 + 488) * 1e6, rel=0.03)


def wifi(wifi: dict, *flows: dict, **more: str) -> cclab.Result:
    network = {"rate": "100 Mbit/s", "rtt": "10 ms", "wifi": wifi}
    return cclab.Scenario.from_dict({"duration": "20 s", "network": network, "flows": list(flows), **more}).run()


def saturated(rate: str = "60 Mbit/s", **more: object) -> dict:
    return {"kind": "cbr", "rate": rate, **more}


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(
    ("profile", "exchange"),
    [
        # DIFS, half of CWmin slots, a packet of 1500 bytes with header and LLC, SIFS, ACK: us
        ("802.11b", 50 + 15.5 * 20 + 1310 + 10 + 248),  # 1536 bytes at 11 Mbit/s, 14 bytes at 2
        ("802.11a", 34 + 7.5 * 9 + 248 + 16 + 28),
        ("802.11g", 28 + 7.5 * 9 + 254 + 10 + 34),
        ("802.11g-mixed", 50 + 7.5 * 20 + 248 + 10 + 254 + 10 + 34),  # a CTS to self at 2 Mbit/s before it
        ("802.11n", 43 + 7.5 * 9 + 228 + 16 + 28),  # 1538 bytes in 48 symbols
    ],
)
def test_one_station_takes_the_time_of_its_exchanges(profile, exchange, direction):
    found = wifi({"profile": profile}, saturated(direction=direction)).flows["throughput_bps"][0]
    assert found == pytest.approx(12_000 / exchange * 1e6, rel=0.01)


def test_a_cts_to_self_keeps_the_others_quiet():
    """Two stations, Bianchi's tau 0.10459 for CW 15: a collision costs the short CTS, and no data frame but those behind a CTS."""
    up = saturated(direction="reverse", count=2)
    result = wifi({"profile": "802.11g-mixed", "stations": 2}, up)
    tau, cts, exchange = 0.10459, 248, 50 + 248 + 10 + 254 + 10 + 34
    idle, one, both = (1 - tau) ** 2, 2 * tau * (1 - tau), tau**2
    # who collides sends its data frame, too: nobody told it
    slot = 20 * idle + exchange * one + (cts + 10 + 254 + 304 + 50) * both
    assert result.flows["throughput_bps"].sum() == pytest.approx(12_000 * one / slot * 1e6, rel=0.02)
    stations = result.stations
    assert stations["cts"].to_list() == pytest.approx(stations["data"].to_list(), abs=1)
    assert stations["rts"].sum() == 0


def test_a_slow_station_slows_down_the_fast_one():
    """Heusse et al. (2003): stations send in turns, so all get what the slow one leaves; two frames take the time of both."""
    stations = [{"rate": "11 Mbit/s"}, {"rate": "1 Mbit/s"}]
    up = saturated("11 Mbit/s", direction="reverse", count=2)
    fast, slow = wifi({"profile": "802.11b", "stations": stations}, up).flows["throughput_bps"]
    assert fast == pytest.approx(slow, rel=0.05)
    # Bianchi (2000) for two stations: tau 0.05704; us. At 1 Mbit/s 192 us and 1536 bytes, acknowledged in 304 us.
    tau = 0.05704
    slow_frame = 192 + 8 * 1536
    busy = (1310 + 10 + 248 + 50) + (slow_frame + 10 + 304 + 50)
    idle = 20 * (1 - tau) / (2 * tau)
    collisions = tau / (2 * (1 - tau)) * (slow_frame + 364)
    assert (fast + slow) / 2 == pytest.approx(12_000 / (busy + 2 * (idle + collisions)) * 1e6, rel=0.03)


def test_lost_frames_are_sent_again():
    """With 20 % of data frames lost, one attempt in five has no answer; a packet is gone after seven: 0.2^7."""
    result = wifi({"profile": "802.11b", "stations": [{"loss": "20%"}]}, saturated("3 Mbit/s"))
    access_point = result.rows("stations")[0]
    attempts = access_point["data"]
    assert attempts > 4000
    deviation = (0.2 * 0.8 / attempts) ** 0.5
    assert access_point["data_retries"] / attempts == pytest.approx(0.2, abs=4 * deviation)
    assert result.flows["throughput_bps"][0] == pytest.approx(3e6, rel=0.01)


def test_the_example_of_an_access_point_shows_what_waits_there():
    scenario = cclab.Scenario.load(Path(__file__).parents[2] / "examples" / "access-point.toml").replace(
        duration="15 s"
    )
    assert scenario.run().flows["owd_p95_s"][3] > 0.2
    queue = {"network.wifi.queue": {"discipline": "fq-codel"}}
    assert scenario.replace(queue).run().flows["owd_p95_s"][3] < 0.04


def test_noise_spoils_frames_by_their_signal():
    """Free space, 100 m, 11 Mbit/s: errors of CCK's words (IEEE 802.15.2-2003), 1536 bytes to a frame."""
    power, wavelength, snr = 0.28183815, 3e8 / 914e6, 5.45
    noise = power * (wavelength / (4 * math.pi * 100)) ** 2 / snr
    words = {4: 24, 6: 16, 8: 174, 10: 16, 12: 24, 16: 1}
    symbol = sum(count * math.erfc(math.sqrt(distance * snr / 2)) / 2 for distance, count in words.items())
    spoiled = 1 - (1 - 128 / 255 * symbol) ** (8 * 1536)
    assert 0.1 < spoiled < 0.4
    radio = {"propagation": "friis", "noise": f"{noise!r} W"}
    stations = [{"distance": "100 m"}, {"distance": "10 m"}]
    flows = [saturated("3 Mbit/s", station=0), saturated("1 Mbit/s", station=1)]
    result = wifi({"profile": "802.11b", "stations": stations, **radio}, *flows)
    attempts, retries = result.rows("stations")[0]["data"], result.rows("stations")[0]["data_retries"]
    # of four packets three go far, 1/(1 - p) times each; near by there are no errors
    share = 3 * spoiled / (1 - spoiled) / (3 / (1 - spoiled) + 1)
    deviation = (share * (1 - share) / attempts) ** 0.5
    assert retries / attempts == pytest.approx(share, abs=5 * deviation)
    # seven attempts
    lost = result.flows["packets_lost"].to_list()
    assert lost[1] == 0
    assert lost[0] <= 5 + 3 * spoiled**7 * result.flows["packets_received"][0]


BLOATED = {"cc": "cubic", "start_jitter": "0 s"}


@pytest.mark.parametrize("discipline", registry.names("queues"))
def test_any_discipline_at_the_access_point(discipline):
    """Every discipline lets one flow fill the air, and what it drops and marks is counted, packet by packet."""
    queue = {"discipline": discipline}
    result = wifi(
        {"profile": "802.11g", "queue": queue, "stations": [{"queue": {"discipline": "droptail"}}]},
        {"cc": "cubic", "ecn": True},
        record={"frames": True, "samples": "off"},
    )
    access_point, station = result.rows("stations")
    lost = result.losses.filter(pl.col("place") == access_point["name"])["cause"].to_list()
    assert lost.count("discipline") == access_point["early_drops"]
    assert lost.count("discipline") + lost.count("queue") == access_point["queue_drops"]
    assert access_point["marks"] + access_point["queue_drops"] > 0
    assert station["marks"] == station["early_drops"] == 0
    # Data of 1500 bytes and, every other packet, an ACK of 52 with its own exchange (us).
    data, ack = 28 + 254 + 10 + 34, 28 + 38 + 10 + 34
    assert result.flows["goodput_bps"][0] > 0.7 * 1448 * 8 / (data + ack / 2 + 1.5 * 7.5 * 9) * 1e6


def test_codel_keeps_the_delay_of_a_slow_station_short():
    """At 1 Mbit/s a packet takes about 13 ms: 50 of them wait 650 ms, and CoDel lets a few wait."""
    slow = {"profile": "802.11b", "stations": [{"rate": "1 Mbit/s"}]}
    full = wifi(slow, BLOATED)
    short = wifi({**slow, "queue": {"discipline": "fq-codel"}}, BLOATED)
    assert full.flows["rtt_p50_s"][0] > 0.5
    assert short.flows["rtt_p50_s"][0] < 0.2
    assert short.flows["goodput_bps"][0] > 0.9 * full.flows["goodput_bps"][0]


def test_a_station_may_have_a_queue_of_its_own():
    own = {"discipline": "codel", "limit": "70 packets"}
    network = {
        "rate": "9 Mbit/s",
        "rtt": "9 ms",
        "wifi": {"queue": {"limit": "9 packets"}, "stations": [{"queue": own}, {}]},
    }
    medium = cclab.Scenario.from_dict({"duration": "1 s", "network": network, "flows": FLOWS}).resolved()["media"][0]
    assert medium["queue"]["limit_packets"] == 9
    assert [s["queue"] and s["queue"]["limit_packets"] for s in medium["stations"]] == [None, 70, None]


def test_no_station_falls_silent():
    """A frame that is understood ends the wait for one that was not, although nobody tells the station that heard both."""
    scenario = cclab.Scenario.load(Path(__file__).parents[1] / "scenarios" / "wifi.toml")
    for seed in range(1, 4):
        goodput = scenario.run(seed=seed).flows["goodput_bps"]
        assert min(goodput) > 0.5e6, (seed, goodput)


def recorded(network: dict, duration: str = "10 s", cc: str = "newreno") -> cclab.Result:
    flow = {"cc": cc, "profile": "classic", "packet_size": "1500 B"}
    return cclab.Scenario.from_dict(
        {"duration": duration, "network": network, "flows": [flow], "record": {"frames": True, "samples": "change"}}
    ).run(seed=1)


def test_every_packet_that_a_station_lost_has_a_cause():
    chain = {
        "topology": "chain",
        "hops": 8,
        "wireless": {"profile": "ns2-2M", "routing": "static", "queue": {"limit": "3 packets"}},
    }
    result = recorded(chain)
    for station in result.stations.to_dicts():
        lost = result.losses.filter(pl.col("place") == station["name"])
        assert (lost["cause"] == "queue").sum() == station["queue_drops"]
        assert (lost["cause"] == "retries").sum() == station["rts_failures"] + station["data_failures"]
    assert {"queue", "retries"} == set(result.losses["cause"])
    (flow,) = result.flows.to_dicts()
    data = result.losses.filter(pl.col("forward") & (pl.col("payload_bytes") > 0))
    assert data.height == flow["packets_lost"]


def test_a_station_that_has_gone_is_out_of_range():
    away = [{"node": "n1", "at": "2 s", "to": ["250 m", "900 m"], "speed": "450 m/s"}]
    wireless = {"profile": "ns2-2M", "routing": "static", "mobility": {"model": "moves", "moves": away}}
    result = recorded({"topology": "chain", "hops": 2, "wireless": wireless})
    gone = result.losses.filter(pl.col("time_s") > 4.1)
    assert set(gone["cause"]) == {"out of range"}
    assert set(gone["place"]) == {"n0"}
    there = result.places.filter(pl.col("station") == "n1")
    assert there.rows() == [(0.0, "n1", 250.0, 0.0), (2.0, "n1", 250.0, 0.0), (4.0, "n1", 250.0, 900.0)]


def test_routes_lead_where_they_say():
    result = recorded({"topology": "chain", "hops": 4, "wireless": {"profile": "ns2-2M", "routing": "static"}}, "1 s")
    to = result.routes.filter(pl.col("destination") == "n4")
    assert to.select("station", "next_hop", "hops").rows() == [(f"n{i}", f"n{i + 1}", 4 - i) for i in range(4)]


def test_what_is_lost_on_a_wired_path_has_a_cause_too():
    network = {"rate": "5 Mbit/s", "rtt": "40 ms", "queue": {"limit": "10 packets"}, "loss": {"data": 0.002}}
    result = recorded({**network, "topology": "dumbbell"})
    (link,) = result.links.filter(pl.col("name") == "bottleneck").to_dicts()
    causes = dict(result.losses["cause"].value_counts().iter_rows())
    assert causes == {"queue": link["drops"], "random": link["losses"]}
    assert set(result.losses["place"]) == {"bottleneck"}


def test_every_frame_is_told_and_what_became_of_it():
    result = recorded({"topology": "chain", "hops": 8, "wireless": {"profile": "ns2-2M", "routing": "static"}})
    frames = result.frames
    counted = dict(frames.group_by("kind").len().iter_rows())
    for kind in ("rts", "cts", "data"):
        assert counted[kind] == result.stations[kind].sum()
    assert counted["ack"] == result.stations["acks"].sum()
    # at 1 Mbit/s: an RTS of 20, a CTS and an ACK of 14 bytes, each behind a preamble of 192 us
    length = frames.select("kind", us=((pl.col("end_s") - pl.col("time_s")) * 1e6).round(3)).unique()
    short = {kind: us for kind, us in length.rows() if kind in ("rts", "cts", "ack")}
    assert short == {"rts": 192 + 160, "cts": 192 + 112, "ack": 192 + 112}
    # nobody answers an RTS that he did not hear, and who hears an ACK has sent the frame before
    heard = dict(frames.filter(pl.col("outcome") == "received").group_by("kind").len().iter_rows())
    assert counted["cts"] <= heard["rts"] < counted["rts"]
    assert counted["ack"] <= heard["data"] <= counted["data"] <= heard["cts"]
    # in a chain with a hop of 250 m, one who sends or hears a neighbour's neighbour is all that can spoil a frame
    assert set(frames["outcome"]) <= {"received", "collided", "deaf", "under way"}
    for at in frames.filter(pl.col("outcome") == "deaf").to_dicts():
        own = frames.filter((pl.col("station") == at["to"]) & (pl.col("time_s") < at["end_s"] + 1e-6))
        assert (own["end_s"] > at["time_s"] - 1e-9).any()


def test_pictures_of_a_network_of_stations():
    result = recorded({"topology": "chain", "hops": 8, "wireless": {"profile": "ns2-2M", "routing": "static"}})
    words = [text.get_text() for text in result.plot.map(5.0).legends[0].get_texts()]
    assert words == ["source is decoded within 250 m", "source is sensed within 550 m", "newreno-1: 8 hops"]
    chart = result.plot.transmissions(1.0, 0.05)
    told = {one["name"]: one["points"] for one in chart.series()["series"]}
    inside = result.frames.filter((pl.col("end_s") >= 1.0) & (pl.col("time_s") <= 1.05))
    assert len(told["RTS"]) == pytest.approx((inside["kind"] == "rts").sum(), abs=2)
    assert told["RTS"][0][3] in set(result.stations["name"])
    with pytest.raises(cclab.ResultError, match="a shorter length_s"):
        result.plot.transmissions(0.0, 10.0)
    silent = cclab.Scenario.from_dict(
        {"duration": "1 s", "network": {"rate": "1 Mbit/s", "rtt": "9 ms"}, "flows": FLOWS}
    )
    with pytest.raises(cclab.ResultError, match="frames = true"):
        silent.run().plot.map()


def test_a_map_shows_where_a_station_is_at_that_moment():
    away = [{"node": "n1", "at": "2 s", "to": ["250 m", "900 m"], "speed": "450 m/s"}]
    wireless = {"profile": "ns2-2M", "routing": "static", "mobility": {"model": "moves", "moves": away}}
    chart = recorded({"topology": "chain", "hops": 2, "wireless": wireless}).plot.map(3.0)
    (stations,) = (line for line in chart.axes[0].lines if line.get_linestyle() == "None")
    assert stations.get_xydata().tolist() == [[0, 0], [250, 450], [500, 0]]


def test_what_is_recorded_changes_nothing():
    mobility = {"model": "waypoint", "speed": ["10 m/s", "20 m/s"], "pause": "0 s"}
    network = cclab.Wireless("random", nodes=20, area=["1000 m", "300 m"], mobility=mobility, routing="aodv")
    silent = cclab.Scenario(duration="20 s", network=network, flows=[cclab.Flow(cc="newreno", count=2)])
    one, other = (silent.replace(record={"frames": frames}).run(seed=3) for frames in (False, True))
    assert one.stations.equals(other.stations)
    assert one.flows.equals(other.flows)
    assert one.frames.is_empty()
    assert other.frames.height


def test_the_row_of_a_medium_counts_what_its_stations_lost():
    wireless = {"profile": "ns2-2M", "routing": "aodv", "queue": {"limit": "10 packets"}}
    flows = [{"cc": "newreno"}, {"kind": "cbr", "rate": "800 kbit/s", "packet_size": "1000 B"}]
    network = {"topology": "chain", "hops": 4, "wireless": wireless}
    for warmup in ("0 s", "5 s"):
        result = cclab.Scenario(duration="20 s", warmup=warmup, network=network, flows=flows).run(seed=1)
        (air,) = result.links.rows(named=True)
        stations = result.stations.sum().row(0, named=True)
        # Stations count messages of routing, too, which their queues seldom drop.
        assert 100 < air["drops"] <= stations["queue_drops"] <= air["drops"] + 5
        assert 10 < air["losses"] <= stations["route_drops"]
        assert air["queue_mean_packets"] == pytest.approx(stations["queue_mean_packets"])
        assert air["queue_max_packets"] == result.stations["queue_max_packets"].max()
        under_way = air["arrived"] - air["sent"] - air["drops"] - air["losses"]
        assert abs(under_way) <= 11 * result.stations.height, "what had come before the interval, or stays behind it"
        if warmup == "0 s":
            assert under_way >= 0
            assert air["drops"] + air["losses"] >= result.flows["packets_lost"].sum()
