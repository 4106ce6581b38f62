"""`cclab live`: what this machine can do for the live backend, and how exact it is."""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Iterator
from typing import Any

import click

from cclab.cli.group import Commands

_RTTS_MS = (1, 10, 50)
_RATES_MBPS = (10, 100, 500)
_ECHOES = 400
_TRANSFERS = 20
_BESIDE = 20


@click.group(cls=Commands, short_help="What this machine can do for live runs.")
def live() -> None:
    """The live backend: real kernels, our links between them (cclab run SCENARIO --backend live)."""


@live.command(short_help="Say what there is, what is missing, and how exact it is.")
@click.option("--accuracy", is_flag=True, help="Measure RTTs and goodputs, too; some fifty seconds.")
def check(accuracy: bool) -> None:
    """Say in plain words what this machine can do for live runs, and what is missing."""
    from cclab import console
    from cclab.backends import live as backend
    from cclab.errors import RunError

    if not backend.on_linux():
        raise RunError(str(backend.missing()))
    found = backend.check()  # first: it sees who this process was before it may move into a user namespace
    missing = found["hosts"]
    table = console.table("Live runs", "What", "Here", "What for")
    for row in _abilities(found):
        table.add_row(*row)
    console.show(table)
    if missing:
        raise RunError(missing)
    if accuracy:
        _show_accuracy()


def _abilities(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    yield "kernel", f"Linux {found['kernel']}, {found['processors']} processors", ""
    yield (
        "capabilities",
        ", ".join(found["capabilities"]) or "none",
        "CAP_SYS_ADMIN and CAP_NET_ADMIN, or a user namespace",
    )
    yield "hosts", "no" if found["hosts"] else "yes", "network namespaces with TUN devices: any live run"
    yield "real time", "yes" if found["real_time"] else "no", "CAP_SYS_NICE: on time also on a busy machine"
    yield "congestion controls", ", ".join(found["laws"]), "others may come as modules, tcp_<name>"
    yield "congestion controls in BPF", _bpf(found["bpf"]), 'cc = "bpf:FILE"; make bpf needs clang'
    yield "MPTCP", "yes" if found["mptcp"] else "no", "flows with paths"


def _bpf(found: dict[str, bool]) -> str:
    lacks = [
        *([] if found["built"] else ["cclab was built without (no headers of libelf and zlib)"]),
        *([] if found["btf"] else ["the kernel has no BTF"]),
    ]
    return "; ".join(["no: " + ", ".join(lacks) if lacks else "yes", *([] if shutil.which("clang") else ["no clang"])])


def _show_accuracy() -> None:
    import cclab
    from cclab import console
    from cclab.backends import live as backend
    from cclab.errors import RunError

    columns = ("Least", "Median", "99 %", "Worst", "Median is off by")
    table = console.table("RTT to a program, of an idle path (ms)", "Wanted", *columns)
    for ms in _RTTS_MS:
        found = sorted(1e3 * rtt_s for rtt_s in backend.round_trips(ms * 1e-3, _ECHOES))
        figures = [found[int(share * (len(found) - 1))] for share in (0.0, 0.5, 0.99, 1.0)]
        table.add_row(str(ms), *(f"{rtt:.3f}" for rtt in figures), f"{figures[1] - ms:+.3f}")
    console.show(table)
    off = ("Least", "Median", "Worst", "Median is off by")
    table = console.table("RTT in a result, of 1 kB each 150 ms (ms)", "Path", "Simulated", *off)
    for ms in _RTTS_MS:
        flows = [{"cc": "reno", "size": "1 kB", "start": f"{150 * i} ms"} for i in range(_TRANSFERS)]
        network = {"rate": "500 Mbit/s", "rtt": f"{ms} ms"}
        given = {"duration": f"{150 * (_TRANSFERS + 1)} ms", "warmup": "0 s", "network": network, "flows": flows}
        scenario = cclab.Scenario.from_dict(given)
        try:
            results = [scenario.run(backend=by) for by in ("sim", "live")]
        except RunError as error:
            table.add_row(str(ms), "–", "–", str(error), "–", "")
            continue
        simulated, found = (sorted(1e3 * row["rtt_mean_s"] for row in result.rows("flows")) for result in results)
        middle = statistics.median(found)
        of_result = (f"{rtt:.3f}" for rtt in (simulated[0], found[0], middle, found[-1]))
        table.add_row(str(ms), *of_result, f"{middle - simulated[0]:+.3f}")
    console.show(table)
    table = console.table("Goodput of CUBIC, 20 ms (Mbit/s)", "Rate", "Most", "Goodput", "Off by", "Late by, 99 %")
    for mbps in _RATES_MBPS:
        network = {"rate": f"{mbps} Mbit/s", "rtt": "20 ms"}
        given = {"duration": "7 s", "warmup": "2 s", "network": network, "flows": [{"cc": "cubic"}]}
        most = mbps * 1448 / 1500
        try:
            result = cclab.Scenario.from_dict(given).run(backend="live")
        except RunError as error:
            table.add_row(str(mbps), f"{most:.3f}", "–", str(error), "")
            continue
        goodput, late = result.rows("flows")[0]["goodput_bps"] / 1e6, (result.stamp or {})["lateness_p99_s"] * 1e6
        table.add_row(
            str(mbps), f"{most:.3f}", f"{goodput:.3f}", f"{100 * (goodput / most - 1):+.3f} %", f"{late:.0f} µs"
        )
    console.show(table)
    table = console.table(f"{_BESIDE} runs at once (Mbit/s)", "Good", "Most", "Least", "Median", "Best")
    network = {"rate": "10 Mbit/s", "rtt": "20 ms"}
    given = {"duration": "7 s", "warmup": "2 s", "network": network, "flows": [{"cc": "cubic"}]}
    study = cclab.Study(cclab.Scenario.from_dict(given), backend="live").replicate(_BESIDE).run(workers=_BESIDE)
    goodputs = sorted(study.table("flows")["goodput_bps"] / 1e6) if study.status()["finished"] else [math.nan]
    spread = (goodputs[0], statistics.median(goodputs), goodputs[-1])
    good = f"{study.status()['finished']} of {_BESIDE}"  # a run whose stamp is not is an error
    table.add_row(good, f"{10 * 1448 / 1500:.3f}", *(f"{mbps:.3f}" for mbps in spread))
    console.show(table)
