"""Captures of the air, read by someone else's program: tshark finds every frame sound, and in it what 802.11's arithmetic and the
run's own tables say."""

from __future__ import annotations

import csv
import io
import itertools
import math
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cclab

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

CHAIN = {"topology": "chain", "hops": 4}
RTS, CTS, ACK, DATA, QOS = "0x001b", "0x001c", "0x001d", "0x0020", "0x0028"
FIELDS = (
    "frame.time_epoch",
    "frame.interface_name",
    "frame.comment",
    "frame.cap_len",
    "radiotap.mactime",
    "wlan_radio.duration",
    "wlan_radio.data_rate",
    "wlan_radio.signal_dbm",
    "wlan.fc.type_subtype",
    "wlan.fc.retry",
    "wlan.fc.ds",
    "wlan.duration",
    "wlan.ra",
    "wlan.ta",
    "wlan.bssid",
    "wlan.da",
    "wlan.sa",
    "wlan.seq",
    "ip.src",
    "ip.dst",
    "ip.ttl",
    "ip.proto",
)
Packet = dict[str, str]


def capture(
    tmp_path: Path,
    network: dict[str, Any],
    *,
    duration: str = "3 s",
    flows: tuple[dict[str, Any], ...] = ({"cc": "newreno"},),
    **record: Any,
) -> tuple[cclab.Result, Path]:
    record = {"packets": "pcapng", "point": "air", "frames": True, **record}
    result = cclab.Scenario(duration=duration, network=network, flows=flows, record=record).run(seed=3)
    file = tmp_path / "air.pcapng"
    assert result.capture is not None
    file.write_bytes(result.capture)
    return result, file


def tshark(file: Path, *fields: str) -> list[Packet]:
    """One dict per frame; checksums are looked at, and nothing may be wrong."""
    command = ["tshark", "-n", "-r", str(file), "-T", "fields", "-E", "header=y", "-E", "separator=,", "-E", "quote=d"]
    for name in ("wlan.check_checksum", "ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"):
        command += ["-o", f"{name}:TRUE"]
    # The same packet is seen at each hop.
    command += ["-o", "tcp.analyze_sequence_numbers:FALSE"]
    checks = ("_ws.malformed", "_ws.expert.severity", "wlan.fcs.status", "ip.checksum.status", "tcp.checksum.status")
    for field in (*FIELDS, *checks, *fields):
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    noise = [line for line in done.stderr.splitlines() if line and "as user" not in line]
    assert noise == [], noise
    packets = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(packets) > 20
    for packet in packets:
        assert packet["_ws.malformed"] == "", packet
        warnings = [int(s) for s in packet["_ws.expert.severity"].split(",") if s]
        assert max(warnings, default=0) < 0x0060_0000, f"a warning or an error: {packet}"
        assert packet["wlan.fcs.status"] == "1", packet
        assert packet["ip.checksum.status"] in ("", "1"), packet
        assert packet["tcp.checksum.status"] in ("", "1"), packet
    return packets


def microseconds(packet: Packet) -> int:
    """How long the frame was on the air, by its two time stamps."""
    start = round(float(packet["frame.time_epoch"]) * 1e9)
    return int(packet["radiotap.mactime"]) - start // 1000


def exchanges(packets: list[Packet]) -> Iterator[list[Packet]]:
    """RTS, CTS, data and ACK that follow each other."""
    for at in range(len(packets) - 3):
        four = packets[at : at + 4]
        kinds = [packet["wlan.fc.type_subtype"] for packet in four]
        if kinds[:2] == [RTS, CTS] and kinds[2] in (DATA, QOS) and kinds[3] == ACK:
            yield four


PROFILES = [
    ({"profile": "standard"}, 10),
    ({"profile": "802.11b", "rts_threshold": "always"}, 10),
    ({"profile": "802.11b-short", "rts_threshold": "always"}, 10),
    ({"profile": "802.11a", "rts_threshold": "always"}, 16),
    ({"profile": "802.11n", "rts_threshold": "always", "data_rate": "65 Mbit/s"}, 16),
    ({"profile": "802.11n", "rts_threshold": "always", "data_rate": "28.9 Mbit/s"}, 16),
    ({"profile": "802.11g", "rts_threshold": "always"}, 10),
]


@pytest.mark.parametrize(("mac", "sifs"), PROFILES, ids=str)
def test_times_on_the_air_are_tsharks_and_duration_fields_follow_from_them(
    tmp_path: Path, mac: dict[str, Any], sifs: int
) -> None:
    network = {"topology": "chain", "hops": 1, "wireless": {"routing": {"name": "aodv", "profile": "rfc3561"}, **mac}}
    _, file = capture(tmp_path, network, duration="200 ms")
    packets = tshark(file)
    # tshark leaves out the signal extension of 6 µs behind OFDM at 2.4 GHz (IEEE 802.11-2012 §19.3.2.4).
    extension = 6 if mac["profile"] == "802.11g" else 0
    for packet in packets:
        theirs = int(packet["wlan_radio.duration"])
        if packet["wlan_radio.data_rate"] not in ("1", "2", "5.5", "11"):
            theirs += extension
        if packet["wlan_radio.data_rate"] == "28.8889":
            # With the short guard interval tshark stops behind the last symbol, §20.4.3 at the next whole 4 µs.
            symbols = round((theirs - 36) / 3.6)
            theirs = 36 + 4 * math.ceil(symbols * 3.6 / 4)
        assert microseconds(packet) == theirs, packet
    found = list(exchanges(packets))
    assert len(found) > 10
    for rts, cts, data, ack in found:
        on_air = [microseconds(packet) for packet in (rts, cts, data, ack)]
        navs = [int(packet["wlan.duration"]) for packet in (rts, cts, data, ack)]
        # IEEE 802.11-1999 §7.2.1: what is to come behind each.
        assert navs[0] == 3 * sifs + on_air[1] + on_air[2] + on_air[3]
        assert navs[1] == navs[0] - sifs - on_air[1]
        assert navs[2] == sifs + on_air[3]
        assert navs[3] == 0
        assert rts["wlan.ra"] == data["wlan.ra"]
        assert rts["wlan.ta"] == data["wlan.ta"] == cts["wlan.ra"] == ack["wlan.ra"]
    assert {packet["wlan.duration"] for packet in packets if packet["wlan.ra"] == "ff:ff:ff:ff:ff:ff"} == {"0"}


@pytest.mark.parametrize("mac", [{"profile": "ns2-2M"}, {"profile": "802.11b", "data_rate": "2 Mbit/s"}], ids=str)
def test_every_frame_is_there_with_its_number_and_its_fate(tmp_path: Path, mac: dict[str, Any]) -> None:
    result, file = capture(tmp_path, {**CHAIN, "wireless": {"routing": "aodv", **mac}})
    packets = tshark(file)
    names = {RTS: "rts", CTS: "cts", ACK: "acks", DATA: "data"}

    def kind(packet: Packet) -> str:
        return "broadcasts" if packet["wlan.ra"] == "ff:ff:ff:ff:ff:ff" else names[packet["wlan.fc.type_subtype"]]

    counted = Counter((packet["frame.interface_name"], kind(packet)) for packet in packets)
    retries, given_up = 0, 0
    for row in result.stations.rows(named=True):
        for column in ("rts", "cts", "acks", "data", "broadcasts"):
            assert counted[row["name"], column] == row[column], (row["name"], column)
        # Sequence numbers count packets; one that comes again has the retry bit.
        own = [p for p in packets if p["frame.interface_name"] == row["name"] and p["wlan.fc.type_subtype"] == DATA]
        for before, packet in itertools.pairwise(own):
            step = (int(packet["wlan.seq"]) - int(before["wlan.seq"])) % 4096
            assert (packet["wlan.fc.retry"] in ("1", "True")) == (step == 0), packet
        retries += sum(packet["wlan.fc.retry"] in ("1", "True") for packet in own)
        given_up += row["data_failures"]
    again = int(result.stations["data_retries"].sum())
    assert retries > 0
    if mac["profile"] == "802.11b":  # without RTS each try in vain is followed by another one, or is the last
        assert again - given_up - result.stations.height <= retries <= again - given_up
        assert retries > 50
    # The diary of the same run.
    frames = result.frames
    assert len(packets) == frames.height
    fates = {"collided": "collided at ", "deaf": "not heard while sending itself: ", "too weak": "too weak at "}
    for packet, row in zip(packets, frames.rows(named=True), strict=True):
        assert float(packet["frame.time_epoch"]) == pytest.approx(row["time_s"], abs=1e-9)
        if row["outcome"] in fates:
            assert packet["frame.comment"] == fates[row["outcome"]] + row["to"]
        elif row["outcome"] == "received":
            assert packet["frame.comment"] == ""
    assert {"received", "collided"} <= set(frames["outcome"])


def test_the_signal_is_that_of_two_rays(tmp_path: Path) -> None:
    wireless = {"profile": "802.11b", "routing": "static", "spacing": "120 m"}
    _, file = capture(tmp_path, {"topology": "chain", "hops": 1, "wireless": wireless}, duration="100 ms")
    watts = 0.28183815 * 1.5**4 / 120**4
    far = 10 * math.log10(watts * 1e3)
    assert {packet["wlan_radio.signal_dbm"] for packet in tshark(file)} == {"", str(round(far))}


def ip(station: int) -> str:
    return f"10.0.0.{station + 1}"


def test_aodv_says_what_the_standard_says(tmp_path: Path) -> None:
    """RFC 3561 §5, §6.3 to §6.7: a request goes out hop by hop, and the reply comes back."""
    aodv = {"name": "aodv", "profile": "rfc3561"}
    result, file = capture(tmp_path, {**CHAIN, "wireless": {"profile": "standard", "routing": aodv}})
    kinds = ("aodv.type", "aodv.flags", "aodv.hopcount", "aodv.rreq_id", "aodv.dest_ip", "aodv.dest_seqno")
    kinds += ("aodv.orig_ip", "aodv.orig_seqno", "aodv.lifetime", "aodv.destcount", "aodv.unreach_dest_ip")
    packets = tshark(file, *kinds, "udp.port")
    messages = [packet for packet in packets if packet["aodv.type"]]
    assert {message["udp.port"] for message in messages} == {"654,654"}
    requests = [message for message in messages if message["aodv.type"] == "1"]
    replies = [
        message for message in messages if message["aodv.type"] == "2" and message["ip.dst"] != "255.255.255.255"
    ]
    first = [r for r in requests if (r["aodv.orig_ip"], r["aodv.dest_ip"]) == (ip(0), ip(4))]
    # A ring search: each request has a new number, and hop count and time to live run against each other.
    for number in {request["aodv.rreq_id"] for request in first}:
        flood = [request for request in first if request["aodv.rreq_id"] == number]
        assert len({int(r["ip.ttl"]) + int(r["aodv.hopcount"]) for r in flood}) == 1
        assert all(r["ip.src"] == ip(int(r["aodv.hopcount"])) for r in flood), "a chain: so many hops from the start"
        assert {r["ip.dst"] for r in flood} == {"255.255.255.255"}
    rings = [int(r["ip.ttl"]) for r in first if r["aodv.hopcount"] == "0"]
    assert rings[:3] == [1, 3, 5], "TTL_START, TTL_INCREMENT (§10)"
    assert int(first[0]["aodv.flags"], 0) & 0x0800, "unknown sequence number"
    answers = [r for r in replies if (r["aodv.orig_ip"], r["aodv.dest_ip"]) == (ip(0), ip(4))]
    home = [r for r in answers if r["ip.dst"] == ip(0) and r["wlan.fc.retry"] not in ("1", "True")]
    assert home, "the reply reaches who had asked"
    assert home[0]["aodv.hopcount"] == "3", "counted up where it arrives: four hops"
    route = result.routes.filter(station="n0", destination="n4").row(0, named=True)
    assert route["hops"] == 4
    assert float(home[0]["frame.time_epoch"]) < route["time_s"] < float(home[0]["frame.time_epoch"]) + 0.01


def test_errors_name_who_cannot_be_reached(tmp_path: Path) -> None:
    away = [{"node": "n2", "at": "1 s", "to": ["3 km", "3 km"], "speed": "1000 m/s"}]
    network = {
        "topology": "chain",
        "hops": 3,
        "wireless": {"routing": "aodv", "mobility": {"model": "moves", "moves": away}},
    }
    _, file = capture(tmp_path, network, duration="4 s")
    packets = tshark(file, "aodv.type", "aodv.unreach_dest_ip", "aodv.destcount")
    errors = [m for m in packets if m["aodv.type"] == "3" and float(m["frame.time_epoch"]) > 1.0]
    assert errors
    assert all(int(m["aodv.destcount"]) == len(m["aodv.unreach_dest_ip"].split(",")) for m in errors)
    assert errors[0]["ip.src"] == ip(1)
    assert ip(3) in errors[0]["aodv.unreach_dest_ip"].split(",")


def test_dsr_carries_its_path(tmp_path: Path) -> None:
    """RFC 4728 §6: the stations in between (tshark names them `ack.address`), and how many of them are to come."""
    _, file = capture(tmp_path, {**CHAIN, "wireless": {"profile": "standard", "routing": "dsr"}})
    fields = ("dsr.option.type", "dsr.option.srcrt.segsleft", "dsr.option.ack.address", "dsr.option.rreq.targetaddress")
    packets = tshark(file, *fields, "tcp.len", "dsr.nexthdr")
    data = [packet for packet in packets if packet["ip.src"] == ip(0) and packet["tcp.len"] not in ("", "0")]
    assert len(data) > 50
    for packet in data:
        assert packet["dsr.option.ack.address"] == ",".join(ip(station) for station in (1, 2, 3))
        sender = int(packet["frame.interface_name"].removeprefix("n"))
        assert int(packet["dsr.option.srcrt.segsleft"]) == 3 - sender
    assert {p["dsr.option.rreq.targetaddress"] for p in packets if p["dsr.option.type"] == "1"} >= {ip(4)}


@pytest.mark.parametrize("law", ["tcp-f", "bus"])
def test_what_has_no_standard_form_says_in_words_what_it_is(tmp_path: Path, law: str) -> None:
    away = [{"node": "n2", "at": "1 s", "to": ["3 km", "3 km"], "speed": "1000 m/s"}]
    wireless = {"routing": "abr" if law == "bus" else "aodv", "mobility": {"model": "moves", "moves": away}}
    network = {"topology": "chain", "hops": 3, "wireless": wireless}
    _, file = capture(tmp_path, network, flows=({"cc": law},), duration="6 s")
    said = Counter(p["frame.comment"].split(",")[-1] for p in tshark(file) if p["ip.proto"] == "253")
    assert "" not in said
    if law == "bus":
        assert {"beacon", "query", "reply", "ERDN: route disconnected"} <= set(said)
    else:
        assert "RFN: route failed" in said


def test_an_access_point_is_on_one_side_of_every_frame(tmp_path: Path) -> None:
    network = {
        "topology": "dumbbell",
        "rate": "100 Mbit/s",
        "rtt": "10 ms",
        "wifi": {"profile": "802.11n", "stations": 2},
    }
    flows = ({"cc": "cubic", "size": "100 kB"}, {"cc": "cubic", "direction": "reverse", "size": "100 kB"})
    result, file = capture(tmp_path, network, flows=flows, duration="1 s")
    nodes = cclab.Scenario.from_dict(result.scenario).resolved()["nodes"]
    hardware = {name: f"02:00:0a:00:00:{number + 1:02x}" for number, name in enumerate(nodes)}
    data = [packet for packet in tshark(file) if packet["wlan.fc.type_subtype"] == QOS]
    assert len(data) > 100
    for packet in data:
        assert packet["wlan.bssid"] == hardware["right"]
        down = packet["frame.interface_name"] == "right"
        assert int(packet["wlan.fc.ds"], 0) == (2 if down else 1)
        assert packet["wlan.sa"] == hardware[packet["frame.interface_name"]]
        assert packet["wlan.da"] != packet["wlan.sa"]
    assert {packet["wlan_radio.data_rate"] for packet in data} == {"65"}


def test_a_snap_length_cuts_packets_not_frames(tmp_path: Path) -> None:
    network = {"topology": "chain", "hops": 1, "wireless": {"routing": "static"}}
    record = {"packets": "pcapng", "point": "air", "snaplen": "40 B"}
    result = cclab.Scenario(duration="1 s", network=network, flows=[{"cc": "newreno"}], record=record).run(seed=1)
    file = tmp_path / "short.pcapng"
    file.write_bytes(result.capture or b"")
    command = [
        "tshark",
        "-n",
        "-r",
        str(file),
        "-T",
        "fields",
        "-e",
        "tcp.dstport",
        "-e",
        "frame.cap_len",
        "-e",
        "frame.len",
    ]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    segments = [row.split("\t") for row in rows if row.split("\t")[0] == "40000"]
    assert len(segments) > 50
    assert len({cap for _, cap, _ in segments}) == 1
    assert max(int(whole) for _, _, whole in segments) > 1500 > int(segments[0][1])


def test_there_must_be_stations() -> None:
    with pytest.raises(cclab.ScenarioError, match=r'record.point: "air" is for stations, and there are none'):
        cclab.Scenario(
            duration="1 s",
            network={"topology": "dumbbell", "rate": "1 Mbit/s", "rtt": "10 ms"},
            flows=[{"cc": "reno"}],
            record={"packets": "pcapng", "point": "air"},
        )


def test_a_cts_to_oneself_reserves_what_follows(tmp_path: Path) -> None:
    """IEEE 802.11-2012 §9.3.2.11: the receiver of the CTS is its sender, and its duration covers SIFS, data, SIFS, ACK."""
    wireless = {"profile": "802.11g-mixed", "routing": "static", "arp": False}
    _, file = capture(tmp_path, {"topology": "chain", "hops": 1, "wireless": wireless}, duration="200 ms")
    packets = tshark(file)
    found = 0
    for cts, data, ack in zip(packets, packets[1:], packets[2:], strict=False):
        if [p["wlan.fc.type_subtype"] for p in (cts, data, ack)] == [CTS, DATA, ACK]:
            assert cts["wlan.ra"] == data["wlan.ta"]
            assert int(cts["wlan.duration"]) == 10 + microseconds(data) + 10 + microseconds(ack)
            found += 1
    assert found > 20
