#!/usr/bin/env python3
"""The cases of `cclab bench` in ns-2 and ns-3: how many data packets a CPU second of theirs is worth.

Every run is a process of its own, pinned to one core and limited in CPU time. It prints, as it goes, simulated seconds
and data packets delivered over the bottleneck; a run that reaches its limit counts as far as it came.

Each case is run twice: `cold`, with slow start unlimited, as in `cclab bench`; and `ssthresh`, with an initial
threshold of half of BDP and buffer, which spares the peers a burst of losses that costs them most of their time.

Needs the Debian packages ns2, and libns3-dev with g++; what is missing is reported as absent. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "out" / "peers"
NS3_MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
PACKET_BITS = 1500 * 8
CPU_LIMIT_S = 60


@dataclass(frozen=True)
class Case:
    """One dumbbell: flows, bottleneck, buffer in BDP, simulated seconds."""

    flows: int
    rate_bps: float
    rtt_s: float
    buffer_bdp: float
    duration_s: float

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product, in packets of 1500 bytes."""
        return self.rate_bps * self.rtt_s / PACKET_BITS

    @property
    def buffer_packets(self) -> int:
        """Packets that may wait."""
        return int(self.buffer_bdp * self.bdp_packets)

    @property
    def ssthresh_segments(self) -> int:
        """A flow's share of half of BDP and buffer."""
        return max(2, int((self.bdp_packets + self.buffer_packets) / 2 / self.flows))


@dataclass(frozen=True)
class OnAir:
    """Stations that share the air, which ns-2 alone runs: what `ns2-wireless.tcl` calls them, simulated seconds."""

    kind: str
    duration_s: float


CASES: dict[str, Case | OnAir] = {
    "single-800M": Case(1, 800e6, 0.1, 0.5, 60),
    "flows-10": Case(10, 1e9, 0.05, 1, 10),
    "flows-100": Case(100, 1e9, 0.05, 1, 10),
    "flows-1000": Case(1000, 1e9, 0.05, 1, 10),
    "adhoc-chain-8": OnAir("chain-8", 500),
    "adhoc-random-50": OnAir("random-50", 500),
    "adhoc-random-50-tcp": OnAir("random-50-tcp", 500),
}
DEFAULT = [name for name, case in CASES.items() if isinstance(case, Case)]


@dataclass(frozen=True)
class Peer:
    """Another simulator: how to find, name and start it."""

    install: str
    find: Callable[[], str | None]
    command: Callable[[], list[str]]
    longest_s: float
    note: str


def ns2_version() -> str | None:
    """The version of `ns`, if it is there."""
    if shutil.which("ns") is None:
        return None
    asked = subprocess.run(["ns"], input="puts [ns-version]\nexit 0\n", capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+", asked.stdout)
    return found[0] if found else "unknown"


def ns3_version() -> str | None:
    """The version of ns-3's libraries, if they and a compiler are there."""
    if shutil.which("pkg-config") is None or shutil.which("g++") is None:
        return None
    asked = subprocess.run(["pkg-config", "--modversion", "ns3-core"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None if asked.returncode == 0 else None


def ns3_command() -> list[str]:
    """Compiles the scenario where it changed; the program."""
    source, program = HERE / "ns3.cc", BUILD / "ns3"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        libraries = [f"-lns3-{module}" for module in NS3_MODULES]
        subprocess.run(["g++", "-std=c++17", "-O2", "-o", str(program), str(source), *libraries], check=True)
    return [str(program)]


PEERS = {
    "ns-2": Peer("apt-get install ns2", ns2_version, lambda: ["ns", str(HERE / "ns2.tcl")], 60, "unused headers off"),
    # A simulated second takes it some 2 s: fewer of them, rates compare all the same.
    "ns-3": Peer("apt-get install libns3-dev g++ pkg-config", ns3_version, ns3_command, 2, "distribution's build"),
}


def run(command: list[str], core: int) -> dict[str, Any]:
    """One run: CPU and wall seconds, peak memory, the last line of progress."""

    def prepare() -> None:
        os.sched_setaffinity(0, {core})
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S + 1))

    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=prepare) as process:  # noqa: PLW1509
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = usage.ru_utime + usage.ru_stime
    limited = cpu_s >= CPU_LIMIT_S - 1 and process.returncode < 0
    if process.returncode != 0 and not limited:
        why = "no memory?" if process.returncode == -9 else "see above"
        sys.exit(f"error: {' '.join(command)}: exit status {process.returncode} ({why})")
    progress = re.findall(r"^([\d.]+(?:e-?\d+)?) (\d+)$", output, re.MULTILINE)
    simulated_s, packets = progress[-1] if progress else ("0", "0")
    return {
        "data_packets": int(packets),
        "cpu_s": cpu_s,
        "wall_s": time.perf_counter() - began,
        "simulated_s": float(simulated_s),
        "peak_rss_bytes": usage.ru_maxrss * 1024,
        "packets_per_cpu_s": int(packets) / cpu_s,
        "limited": limited,
    }


def measure(name: str, case_name: str, start: str, repeat: int, core: int, version: str) -> dict[str, Any]:
    """The median run by CPU time."""
    peer, case = PEERS[name], CASES[case_name]
    assert isinstance(case, Case)
    command = peer.command()

    def arguments(seconds: float) -> list[str]:
        ssthresh = case.ssthresh_segments if start == "ssthresh" else 0
        numbers = (case.flows, int(case.rate_bps), case.rtt_s, case.buffer_packets, seconds, ssthresh)
        return [*command, *map(str, numbers)]

    setup = run(arguments(0.001), core)
    runs = sorted((run(arguments(min(case.duration_s, peer.longest_s)), core) for _ in range(repeat)), key=_cpu)
    middle = runs[(repeat - 1) // 2]
    notes = [peer.note]
    if start == "ssthresh":
        notes.append(f"initial ssthresh {case.ssthresh_segments} segments")
    if middle.pop("limited"):
        notes.append(f"stopped after {CPU_LIMIT_S} CPU s")
    row = {"simulator": name, "version": version, "case": case_name, "start": start, **middle}
    return {**row, "setup_cpu_s": setup["cpu_s"], "runs": repeat, "note": "; ".join(notes)}


def measure_on_air(case_name: str, repeat: int, core: int, version: str) -> dict[str, Any]:
    """The same of a case on the air, and how many frames ns-2's MACs sent, which a further run with a trace tells."""
    case = CASES[case_name]
    assert isinstance(case, OnAir)

    def command(seconds: float, trace: str) -> list[str]:
        return ["ns", str(HERE / "ns2-wireless.tcl"), case.kind, str(seconds), "1", trace]

    frames = subprocess.run(command(case.duration_s, "/dev/stdout"), stdout=subprocess.PIPE, check=True).stdout
    transmissions = sum(line.startswith(b"s ") and b" MAC " in line for line in frames.splitlines())
    setup = run(command(0.001, "-"), core)
    runs = sorted((run(command(case.duration_s, "-"), core) for _ in range(repeat)), key=_cpu)
    middle = runs[(repeat - 1) // 2]
    for unused in ("limited", "data_packets", "packets_per_cpu_s"):
        del middle[unused]
    rates = {"transmissions": transmissions, "transmissions_per_cpu_s": transmissions / middle["cpu_s"]}
    row = {"simulator": "ns-2", "version": version, "case": case_name, "start": "", **middle, **rates}
    return {**row, "setup_cpu_s": setup["cpu_s"], "runs": repeat, "note": "unused headers off, no trace"}


def _cpu(run: dict[str, Any]) -> float:
    return float(run["cpu_s"])


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| case | simulator | start | simulated s | CPU s | of which set-up | MB | data packets | a CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row.get("absent"):
            lines.append(f"| | {row['simulator']} absent: `{row['install']}` | | | | | | | |")
            continue
        cells = (
            row["case"],
            f"{row['simulator']} {row['version']}",
            row["start"] + (" †" if "stopped" in row["note"] else ""),
            f"{row['simulated_s']:.4g}",
            f"{row['cpu_s']:.2f}",
            f"{row['setup_cpu_s']:.2f}",
            f"{row['peak_rss_bytes'] / 1e6:.0f}",
            f"{row.get('data_packets') or row['transmissions']:,}",
            f"{row.get('packets_per_cpu_s') or row['transmissions_per_cpu_s']:,.0f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    notes = f"† stopped after {CPU_LIMIT_S} CPU s. On the air: the MACs' transmissions in the place of data packets."
    return "\n".join([*lines, "", notes])


def main() -> int:
    """Runs what is asked for; data on standard output, progress on standard error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="a JSON list instead of a table")
    parser.add_argument("--case", action="append", choices=CASES, help="only this case; may be repeated")
    parser.add_argument("--peer", action="append", choices=PEERS, help="only this simulator; may be repeated")
    parser.add_argument("--start", action="append", choices=("cold", "ssthresh"), help="only this start")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each; the median counts")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="CPU to run on")
    asked = parser.parse_args()

    rows: list[dict[str, Any]] = []
    for name in asked.peer or PEERS:
        version = PEERS[name].find()
        if version is None:
            rows.append({"simulator": name, "absent": True, "install": PEERS[name].install})
            continue
        for case in asked.case or DEFAULT:
            if isinstance(CASES[case], OnAir):
                if name == "ns-2":
                    print(f"{name} {case} ...", file=sys.stderr, flush=True)
                    rows.append(measure_on_air(case, max(1, asked.repeat), asked.core, version))
                continue
            for start in asked.start or ("cold", "ssthresh"):
                print(f"{name} {case} {start} ...", file=sys.stderr, flush=True)
                rows.append(measure(name, case, start, max(1, asked.repeat), asked.core, version))
    print(json.dumps(rows, indent=2) if asked.json else table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
