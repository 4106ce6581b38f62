"""The simulator's speed: named cases, each in a process of its own so that peak memory is its own.

`python -m cclab.bench` is that process: a scenario or a study as JSON on stdin, figures as a Python literal on stdout.
What it loads is measured with the case, so it loads next to nothing.
"""

from __future__ import annotations

import resource
import sys
import time

from cclab.errors import RunError, UnknownNameError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any


def _case(name: str, flows: int, rate: str, rtt: str, limit: str, duration: str, cc: str = "cubic") -> dict[str, Any]:
    queue = {"discipline": "droptail", "limit": limit}
    network = {"topology": "dumbbell", "rate": rate, "rtt": rtt, "queue": queue}
    return {"name": name, "duration": duration, "network": network, "flows": [{"cc": cc, "count": flows}]}


def _ad_hoc(name: str, duration: str, network: dict[str, Any], flows: list[dict[str, Any]]) -> dict[str, Any]:
    air = {"profile": "ns2-2M", "routing": "aodv", **network.get("wireless", {})}
    network = {**network, "wireless": air}
    return {"name": name, "duration": duration, "network": network, "flows": flows, "record": {"samples": "off"}}


_NEWRENO = {"cc": "newreno", "profile": "classic", "ack_every": 1, "mss": "1460 B", "receive_buffer": "46720 B"}


def _running_about(name: str, flow: dict[str, Any]) -> dict[str, Any]:
    """50 stations that run about, ten flows."""
    mobility = {"model": "waypoint", "speed": ["1 m/s", "20 m/s"], "pause": "0 s", "start": "uniform"}
    network = {"topology": "random", "nodes": 50, "area": ["1500 m", "300 m"], "wireless": {"mobility": mobility}}
    return _ad_hoc(name, "500 s", network, [{**flow, "count": 10}])


def _field(stations: int) -> dict[str, Any]:
    """Every second station sends to the next, 100 m away; 20 are in carrier-sense range, however many there are."""
    from math import pi
    from random import Random

    side = (stations / 20 * pi) ** 0.5 * 550
    draw = Random(1).random
    left = [(draw() * side, draw() * side) for _ in range(stations // 2)]
    places = [[f"{x + right:.3f} m", f"{y:.3f} m"] for x, y in left for right in (0, 100)]
    cbr = {"kind": "cbr", "rate": "40 kbit/s", "packet_size": "512 B", "start_jitter": "100 ms"}
    flows = [{**cbr, "from": i, "to": i + 1} for i in range(0, stations, 2)]
    network = {"topology": "custom", "places": places, "wireless": {"routing": "direct"}}
    return _ad_hoc(f"adhoc-field-{stations}", f"{40_000 / stations:g} s", network, flows)


CASES: dict[str, dict[str, Any]] = {
    "single-800M": _case("single-800M", 1, "800 Mbit/s", "100 ms", "0.5 BDP", "60 s"),
    "flows-10": _case("flows-10", 10, "1 Gbit/s", "50 ms", "1 BDP", "10 s"),
    "flows-100": _case("flows-100", 100, "1 Gbit/s", "50 ms", "1 BDP", "10 s"),
    "flows-1000": _case("flows-1000", 1000, "1 Gbit/s", "50 ms", "1 BDP", "10 s"),
    # One connection over two paths, which share the bottleneck: its packets are those of both.
    "two-paths": {
        **_case("two-paths", 1, "1 Gbit/s", "50 ms", "1 BDP", "10 s"),
        "flows": [{"cc": "cubic", "paths": [{"rtt": "50 ms"}, {"rtt": "80 ms"}]}],
    },
    # Samples of 100,000 flows and 400,002 links would be what is measured.
    "flows-100k": _case("flows-100k", 100_000, "10 Gbit/s", "50 ms", "1 BDP", "5 s") | {"record": {"samples": "off"}},
}
# Run only when asked for by name.
MORE: dict[str, dict[str, Any]] = {
    "long-800M": _case("long-800M", 1, "800 Mbit/s", "100 ms", "0.5 BDP", "600 s"),
    # NewReno with a window of 32 over eight hops, AODV; the transmissions of MAC frames are what costs.
    "adhoc-chain-8": _ad_hoc("adhoc-chain-8", "500 s", {"topology": "chain", "hops": 8}, [_NEWRENO]),
    "adhoc-random-50": _running_about(
        "adhoc-random-50", {"kind": "cbr", "rate": "16.384 kbit/s", "packet_size": "512 B"}
    ),
    "adhoc-random-50-tcp": _running_about("adhoc-random-50-tcp", _NEWRENO),
    "python-aimd": _case("python-aimd", 1, "800 Mbit/s", "100 ms", "0.5 BDP", "60 s", "python-aimd"),
}
# Stations at equal density, made when asked for.
FIELDS = {f"adhoc-field-{stations}": stations for stations in (100, 1000, 10_000)}
# Studies, for what it costs to keep a run; run only when asked for, too. The same as benches/sweep-10000.toml.
SWEEPS: dict[str, dict[str, Any]] = {
    "sweep-10000": {
        "name": "sweep-10000",
        "replications": 1000,
        "scenario": {
            "duration": "1 s",
            "network": {"rate": "10 Mbit/s", "rtt": "40 ms"},
            "flows": [{"count": 2, "cc": "reno"}],
        },
        "vary": {"network.rtt": [f"{ms} ms" for ms in range(10, 101, 10)]},
    }
}


def each_algorithm() -> list[str]:
    """The case `single-800M/NAME` of each congestion control."""
    from cclab.laws import algorithms

    return [f"single-800M/{name}" for name in algorithms.names()]


def _find(name: str) -> dict[str, Any]:
    if known := (CASES | MORE | SWEEPS).get(name):
        return known
    if name in FIELDS:
        return _field(FIELDS[name])
    if name in each_algorithm():
        return _case(name.replace("/", "-"), 1, "800 Mbit/s", "100 ms", "0.5 BDP", "60 s", name.partition("/")[2])
    from cclab.registry import unknown

    raise unknown("bench case", name, [*CASES, *MORE, *FIELDS, *SWEEPS, *each_algorithm()])


def measure(names: Sequence[str], repeat: int, progress: Callable[[float], None]) -> list[dict[str, Any]]:
    """The median run by CPU time of each case, in the shape of `cclab bench --json`.

    Args:
        names: Cases; none is all.
        repeat: Runs of each.
        progress: Called with the share done.

    Raises:
        UnknownNameError: there is no such case.
    """
    for name in names:
        _find(name)
    rows = []
    wanted = list(names) or list(CASES)
    for i, name in enumerate(wanted):
        runs = []
        for k in range(repeat):
            runs.append(_in_its_own_process(name))
            progress((i * repeat + k + 1) / (len(wanted) * repeat))
        middle = _middle(runs)
        rates = {f"{what}_per_cpu_s": middle[of] / middle["cpu_s"] for what, of in _RATES if of in middle}
        rows.append({"case": name, **middle, **rates, "runs": repeat})
    return rows


def beside(
    names: Sequence[str], repeat: int, progress: Callable[[float], None]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The cases here and elsewhere in turn, so that what else the machine does meets both; as `measure` and `peers`."""
    rounds = []
    for k in range(repeat):
        # ns-3 takes minutes; it runs once
        rounds.append((measure(names, 1, lambda _: None), peers(names, () if k == 0 else ("ns-2",))))
        progress((k + 1) / repeat)

    def middles(tables: list[list[dict[str, Any]]], *key: str) -> list[dict[str, Any]]:
        runs: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in (row for table in tables for row in table):
            runs.setdefault(tuple(row.get(part) for part in key), []).append(row)
        return [_middle(same) | {"runs": len(same)} for same in runs.values()]

    ours, theirs = zip(*rounds, strict=True)
    return middles(list(ours), "case"), middles(list(theirs), "simulator", "case", "start")


def _middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The median by CPU time."""
    return sorted(runs, key=lambda run: float(run.get("cpu_s", 0)))[(len(runs) - 1) // 2]


_RATES = (("packets", "data_packets"), ("events", "events"), ("transmissions", "transmissions"))
_FRAMES = {
    "transmissions": ("rts", "cts", "data", "broadcasts", "acks"),
    "heard": ("received", "overheard", "collided", "deaf", "sensed"),
}


def _in_its_own_process(name: str) -> dict[str, Any]:
    import json
    import subprocess
    from ast import literal_eval

    command = [sys.executable, "-m", "cclab.bench"]
    done = subprocess.run(command, input=json.dumps(_find(name)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"bench case {name} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return dict(literal_eval(done.stdout))


def peers(names: Sequence[str], only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The same cases in ns-2 and ns-3, as `benches/peers/peers.py --json` prints them.

    Args:
        names: Cases; none is all.
        only: These simulators; none is all.

    Raises:
        RunError: the scripts are not here, or failed.
    """
    import json
    import subprocess

    script = _peers_script()
    given = [("--case", name) for name in names] + [("--peer", name) for name in only]
    asked = [word for pair in given for word in pair]
    command = [sys.executable, str(script), "--json", *asked]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{script} failed with status {done.returncode}")
    return list(json.loads(done.stdout))


def _peers_script() -> Path:
    from pathlib import Path

    inside = Path("benches", "peers", "peers.py")
    root = Path(__file__).resolve().parents[2]  # the clone that this package is of; never what lies about elsewhere
    if (root / "python" / "cclab").is_dir() and (root / inside).is_file():
        return root / inside
    raise UnknownNameError(
        f"the scripts for ns-2 and ns-3 ({inside}) are in cclab's repository; run this in a clone of it"
    )


def tables(rows: list[dict[str, Any]], others: list[dict[str, Any]] | None) -> list[Any]:
    """What was measured, for the terminal."""
    from cclab.console import number, table

    made = table(
        "cclab bench", "Case", "|Data packets", "|Events", "|CPU|(s)", "|Wall|(s)", "|Peak memory|(MB)",
        "|Data packets|per CPU s", "|Events|per CPU s",
    )  # fmt: skip
    for row in rows:
        if row["case"] in SWEEPS:
            continue
        made.add_row(
            row["case"], number(row["data_packets"]), number(row["events"]), number(row["cpu_s"], 3),
            number(row["wall_s"], 3), number(row["peak_rss_bytes"] / 1e6, 3), _millions(row["packets_per_cpu_s"]),
            _millions(row["events_per_cpu_s"]),
        )  # fmt: skip
    caption = f"the median of {rows[0]['runs']} runs each, by CPU time" if rows else None
    made.caption = caption
    sweeps = [row for row in rows if row["case"] in SWEEPS]
    shown = [made] if len(sweeps) < len(rows) or not rows else []
    if on_air := [row for row in rows if "transmissions" in row]:
        frames = table(
            "cclab bench: MAC frames", "Case", "|Transmissions", "|Heard by|each", "|CPU|(s)", "|of it start|(s)",
            "|Transmissions|per CPU s", "|without the start",
        )  # fmt: skip
        for row in on_air:
            sent, start = row["transmissions"], row["start_cpu_s"]
            frames.add_row(
                row["case"], number(sent), number(row["heard"] / sent, 3), number(row["cpu_s"], 3), number(start, 2),
                _millions(row["transmissions_per_cpu_s"]), _millions(sent / (row["cpu_s"] - start)),
            )  # fmt: skip
        shown.append(frames)
    if sweeps:
        shown.append(_of_sweeps(sweeps))
        shown[-1].caption = caption
    return shown if others is None else [*shown, _beside(rows, others)]


def _of_sweeps(rows: list[dict[str, Any]]) -> Any:
    from cclab.console import number, table

    made = table(
        "cclab bench: sweeps", "Case", "|Runs", "|CPU|(s)", "|Wall|(s)", "|Peak memory|(MB)", "|CPU a run|(ms)",
        "|of it to keep it|(ms)",
    )  # fmt: skip
    for row in rows:
        made.add_row(
            row["case"], number(row["swept_runs"]), number(row["cpu_s"], 3), number(row["wall_s"], 3),
            number(row["peak_rss_bytes"] / 1e6, 3), number(row["cpu_s_per_run"] * 1e3, 3),
            number(row["keeping_cpu_s_per_run"] * 1e3, 2),
        )  # fmt: skip
    return made


def _beside(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> Any:
    from cclab.console import number, table

    made = table(
        "the same cases elsewhere", "Case", "Simulator", "Start", "|CPU|(s)", "|of it set-up|(s)",
        "|Data packets, or MAC frames,|per CPU s", "|cclab is", "Note",
    )  # fmt: skip
    ours = {row["case"]: row for row in rows}
    for other in others:
        name = f"{other['simulator']} {other.get('version') or ''}".strip()
        if other.get("absent"):
            made.add_row("", name, "", "", "", "–", "", f"not installed: {other['install']}")
            continue
        of = "transmissions_per_cpu_s" if "transmissions" in other else "packets_per_cpu_s"
        rate = other[of]
        ratio = f"{ours[other['case']][of] / rate:.1f} × as fast" if rate and other["case"] in ours else ""
        cpu = [number(other[part], 3) if part in other else "" for part in ("cpu_s", "setup_cpu_s")]
        made.add_row(other["case"], name, other.get("start", ""), *cpu, _millions(rate), ratio, other.get("note", ""))
    return made


def _millions(rate: float) -> str:
    from cclab.console import number

    return f"{number(rate / 1e6, 3)} million"


def _peak_rss_bytes() -> int:
    """Peak memory of this process; `getrusage` would count what its parent held before it."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _register_python_aimd() -> None:
    """The congestion control of docs/guides/python-algorithms.md."""
    import cclab

    class PythonAimd(cclab.CongestionControl):
        params = {"a": 1.0, "b": 0.5}  # noqa: RUF012

        def on_ack(self, ack: Any) -> None:
            if not ack.may_grow:
                return
            if self.in_slow_start:
                self.cwnd_segments += ack.acked_segments
            else:
                self.cwnd_segments += self.a * ack.acked_segments / self.cwnd_segments  # type: ignore[attr-defined]

        def on_congestion(self, event: Any) -> None:
            lower = max(self.cwnd_segments * (1 - self.b), 2)  # type: ignore[attr-defined]
            self.cwnd_segments = self.ssthresh_segments = lower

    cclab.register(PythonAimd)


def _sweep(text: str) -> dict[str, Any]:
    """Run a study, each of its runs a fraction of a millisecond, and keep it in a folder that goes again."""
    import json

    from cclab.scenario import Scenario
    from cclab.sweep import Study

    case = json.loads(text)
    study = Study(Scenario.from_dict(case["scenario"])).vary(case["vary"]).replicate(case["replications"])
    wall, cpu = time.perf_counter(), time.process_time()
    done = study.run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    runs, simulating = done.table("runs"), float(done.table("timings")["cpu_s"].sum())
    return {
        "data_packets": runs["data_packets"].sum(),
        "events": runs["events"].sum(),
        "cpu_s": cpu,
        "wall_s": wall,
        "swept_runs": runs.height,
        "cpu_s_per_run": cpu / runs.height,
        "keeping_cpu_s_per_run": (cpu - simulating) / runs.height,
        "peak_rss_bytes": _peak_rss_bytes(),
    }


def main() -> None:
    """Run what is on stdin; print what it took."""
    from cclab import _core

    scenario = sys.stdin.read()
    if '"vary"' in scenario:
        print(_sweep(scenario))
        return
    if '"python-aimd"' in scenario:
        _register_python_aimd()
    wall, start = time.perf_counter(), time.process_time()
    simulation = _core.Simulation(scenario, None)
    while simulation.advance(1 << 22) < 1.0:
        pass
    peak = _peak_rss_bytes()  # of the run: the lists below take four times the columns that they are made from
    # nothing here reads arrays, and to load numpy takes longer than some cases
    result = simulation.finish(arrays=False)
    wall, cpu = time.perf_counter() - wall, time.process_time()  # of the whole process, as the peers' is
    figures = {"data_packets": result["data_packets"], "events": result["events"], "cpu_s": cpu, "wall_s": wall}
    if stations := result.get("stations"):
        figures |= {what: sum(int(sum(stations[kind])) for kind in kinds) for what, kinds in _FRAMES.items()}
        figures["start_cpu_s"] = start
    print({**figures, "peak_rss_bytes": peak})


if __name__ == "__main__":
    main()
