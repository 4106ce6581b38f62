"""Captures, read by someone else's program: tshark must find them sound and count what the simulator counted."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import cclab

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

NETWORK = {
    "topology": "dumbbell",
    "rate": "20 Mbit/s",
    "rtt": "40 ms",
    "queue": {"discipline": "droptail", "limit": "1 BDP"},
}
# tshark's names for a segment whose bytes it has seen before. Which one it takes depends on what it knows: "fast"
# after two duplicate ACKs, "spurious" when the bytes were acknowledged already, "out of order" within an initial
# RTT of the last ACK (it cannot know that it looks on at the sender), otherwise plain.
SENT_BEFORE = (
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
)
MISSING = ("tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment")


def capture(tmp_path: Path, *flows: dict[str, Any], **record: Any) -> tuple[cclab.Result, Path]:
    network = {**NETWORK, "loss": record.pop("loss", {})}
    scenario = cclab.Scenario(
        name='a "quoted" name — ünïcode',
        duration="20 s",
        network=network,
        flows=flows,
        record={"packets": "pcapng", **record},
    )
    result = scenario.run(seed=7)
    file = tmp_path / "capture.pcapng"
    assert result.capture is not None
    file.write_bytes(result.capture)
    return result, file


def tshark(file: Path, *fields: str) -> list[dict[str, str]]:
    """One dict per packet: its fields as tshark prints them, empty where absent."""
    command = ["tshark", "-n", "-r", str(file), "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    command += ["-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "header=y", "-E", "separator=,", "-E", "quote=d"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    noise = [line for line in done.stderr.splitlines() if line and "as user" not in line]
    assert noise == [], noise
    return list(csv.DictReader(io.StringIO(done.stdout)))


def sound(file: Path) -> None:
    """Nothing malformed, every checksum right (1: good)."""
    rows = tshark(file, "_ws.malformed", "ip.checksum.status", "tcp.checksum.status", "udp.checksum.status", "data")
    assert len(rows) > 100
    assert {row["_ws.malformed"] for row in rows} == {""}
    assert {row["ip.checksum.status"] for row in rows} == {"1"}
    assert {row["tcp.checksum.status"] or row["udp.checksum.status"] for row in rows} == {"1"}


@pytest.mark.parametrize(
    ("flow", "loss"),
    [
        ({"cc": "cubic", "ecn": True}, "0.5%"),
        ({"cc": "cubic"}, "1%"),
        ({"cc": "reno"}, "8%"),  # timeouts too
        ({"cc": "reno", "profile": "classic", "recovery": "newreno"}, "1%"),  # no SACK, no timestamps
    ],
)
def test_tshark_counts_the_same_retransmissions(tmp_path: Path, flow: dict[str, Any], loss: str) -> None:
    result, file = capture(tmp_path, {**flow, "size": "3 MB"}, loss={"data": loss})
    sound(file)
    row = result.flows.row(0, named=True)
    packets = tshark(file, "ip.src", "tcp.len", *SENT_BEFORE)
    source = packets[0]["ip.src"]
    data = [packet for packet in packets if packet["ip.src"] == source and int(packet["tcp.len"]) > 0]
    again = [packet for packet in data if any(packet[name] for name in SENT_BEFORE)]
    assert row["segments_retransmitted"] > 5
    assert len(data) == row["segments_sent"]
    assert len(again) == row["segments_retransmitted"]
    # And nothing is called so that was not.
    assert len(again) == sum(any(packet[name] for name in SENT_BEFORE) for packet in packets)


def test_without_loss_tshark_misses_nothing_and_measures_the_same_rtt(tmp_path: Path) -> None:
    result, file = capture(tmp_path, {"cc": "reno", "size": "3 MB", "initial_ssthresh": "30 packets"})
    sound(file)
    packets = tshark(file, "tcp.analysis.ack_rtt", "tcp.flags.syn", *SENT_BEFORE, *MISSING)
    for name in (*SENT_BEFORE, *MISSING):
        assert not any(packet[name] for packet in packets), name
    rtts = [(float(p["tcp.analysis.ack_rtt"]), p["tcp.flags.syn"]) for p in packets if p["tcp.analysis.ack_rtt"]]
    # The handshake: two SYNs of 60 bytes over 20 Mbit/s in the empty network.
    assert [rtt for rtt, syn in rtts if syn in ("1", "True")] == pytest.approx([0.040 + 2 * 60 * 8 / 20e6], abs=1e-9)
    mean = sum(rtt for rtt, _ in rtts) / len(rtts)
    # tshark times the newest segment an ACK covers; the sender's clock may start with the oldest.
    assert mean == pytest.approx(result.flows["rtt_mean_s"][0], rel=0.05)
    assert min(rtt for rtt, _ in rtts) == pytest.approx(result.flows["rtt_min_s"][0], abs=1e-9)


def test_options_ecn_and_names_are_read_as_meant(tmp_path: Path) -> None:
    _, file = capture(tmp_path, {"cc": "cubic", "size": "1 MB", "ecn": True}, loss={"data": "1%"})
    fields = ("tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.sack_perm", "tcp.options.timestamp.tsval")
    packets = tshark(file, "tcp.flags", "ip.dsfield.ecn", "ip.ttl", "tcp.hdr_len", "tcp.options.sack_le", *fields)
    syn, syn_ack, _, first = packets[:4]
    assert int(syn["tcp.flags"], 16) == 0x0C2, "SYN, ECE, CWR (RFC 3168 §6.1.1)"
    assert int(syn_ack["tcp.flags"], 16) == 0x052, "SYN, ACK, ECE"
    assert (syn["ip.dsfield.ecn"], first["ip.dsfield.ecn"]) == ("0", "2"), "not-ECT on SYNs, ECT(0) on data"
    for packet in (syn, syn_ack):
        assert all(packet[field] for field in fields)
        assert packet["tcp.hdr_len"] == "40"
    assert first["tcp.hdr_len"] == "32"
    assert any(packet["tcp.options.sack_le"] for packet in packets)


def test_at_the_receiver_with_a_snap_length_and_udp(tmp_path: Path) -> None:
    flows = [{"cc": "reno", "size": "200 kB"}, {"kind": "cbr", "rate": "1 Mbit/s", "packet_size": "1000 B"}]
    _, file = capture(tmp_path, *flows, point="receiver", snaplen="96 B")
    packets = tshark(file, "frame.interface_id", "frame.len", "frame.cap_len", "ip.proto", "ip.ttl", "_ws.malformed")
    assert {packet["frame.interface_id"] for packet in packets} == {"0", "1"}
    assert all(int(packet["frame.cap_len"]) == min(96, int(packet["frame.len"])) for packet in packets)
    assert {packet["_ws.malformed"] for packet in packets} == {""}
    udp = [packet for packet in packets if packet["ip.proto"] == "17"]
    assert len(udp) == pytest.approx(20 * 1e6 / 8000, rel=0.01)
    assert {packet["frame.len"] for packet in udp} == {"1000"}
    assert len({packet["ip.ttl"] for packet in udp}) == 1


def test_accurate_ecn_is_read_as_meant(tmp_path: Path) -> None:
    """RFC 9768: AE, CWR and ECE on the SYN, ECT(1) on the data, CE counted in bytes on the ACKs."""
    queue = {"discipline": "step", "threshold": "5 packets", "limit": "100 packets"}
    scenario = cclab.Scenario(
        duration="5 s",
        network=cclab.Dumbbell(rate="20 Mbit/s", rtt="20 ms", queue=queue),
        flows=[cclab.Flow(cc="prague", size="4 MB")],
        record={"packets": "pcapng"},
    )
    result = scenario.run(seed=1)
    file = tmp_path / "accecn.pcapng"
    file.write_bytes(result.capture)
    fields = ("tcp.flags.ae", "tcp.flags.cwr", "tcp.flags.ece", "ip.dsfield.ecn", "tcp.len", "tcp.srcport")
    packets = tshark(file, *fields, "tcp.flags.syn", "tcp.options.acc_ecn.eceb", "_ws.malformed")
    assert {packet["_ws.malformed"] for packet in packets} == {""}
    syn = packets[0]
    assert [syn[flag] for flag in fields[:3]] == ["1", "1", "1"]
    assert {packet["ip.dsfield.ecn"] for packet in packets if packet["tcp.len"] != "0"} == {"1"}, "as the sender sends"
    counted = max(int(packet["tcp.options.acc_ecn.eceb"] or 0) for packet in packets)
    marks = int(result.links.filter(name="bottleneck")["marks"][0])
    assert marks > 10
    assert counted == pytest.approx(marks * 1448, rel=0.02), "the last segment is shorter"


def test_data_numbers_of_several_paths(tmp_path):
    """DSS options as RFC 8684 has them: whole mappings, each byte of the data on some path, acknowledgements up to the end."""
    size = 200_000
    paths = [{"rtt": "20 ms"}, {"rtt": "80 ms"}]
    flow = {"label": "both", "cc": "cubic", "paths": paths, "size": f"{size} B", "receive_buffer": "30 kB"}
    result, file = capture(tmp_path, flow, loss={"data": "1%"})
    names = ("subtype", "rawdataseqno", "rawdataack", "datalvllen", "subflowseqno")
    fields = [f"tcp.options.mptcp.{name}" for name in names]
    rows = tshark(file, "tcp.stream", "tcp.flags.syn", "tcp.seq", "tcp.len", "_ws.malformed", *fields)
    rows = [row for row in rows if row["tcp.flags.syn"] in ("0", "False")]
    assert {row["_ws.malformed"] for row in rows} == {""}
    assert {row["tcp.options.mptcp.subtype"] for row in rows} == {"2"}  # DSS
    assert {row["tcp.stream"] for row in rows} == {"0", "1"}
    seen: set[int] = set()
    acknowledged = {"0": 0, "1": 0}
    for row in rows:
        if row["tcp.len"] == "0":
            ack = int(row["tcp.options.mptcp.rawdataack"])
            if ack > 1:  # of the destination
                assert ack >= acknowledged[row["tcp.stream"]]
                acknowledged[row["tcp.stream"]] = ack
        else:
            assert row["tcp.options.mptcp.datalvllen"] == row["tcp.len"]
            assert row["tcp.options.mptcp.subflowseqno"] == row["tcp.seq"]
            first = int(row["tcp.options.mptcp.rawdataseqno"])
            seen |= set(range(first, first + int(row["tcp.len"])))
    assert seen == set(range(1, size + 1))
    assert max(acknowledged.values()) == size + 1
    assert result.sessions["delivered_bytes"][0] == size
