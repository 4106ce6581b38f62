"""Any programs in the place of senders and receivers: `cclab emulate`. See docs/guides/emulate.md."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cclab import _core
from cclab.backends import live
from cclab.errors import RunError, ScenarioError
from cclab.results import Result
from cclab.scenario import Scenario, law_of, read_text

if TYPE_CHECKING:
    from types import TracebackType

CLIENT, SERVER = "10.77.0.1", "10.77.0.2"
_GRACE = 2.0  # s for a command that was asked to end, and between two Ctrl-C that mean it


class Ended(NamedTuple):
    """What is left of an emulation."""

    result: Result
    status: int
    """Exit status of the command; 128 and the signal where that ended it."""
    flaw: str | None
    """Why the figures are not to be trusted."""


def load(file: Path, source: str | None, destination: str | None) -> tuple[Scenario, list[str]]:
    """The scenario in `file` as an emulation has it, and what the user should know of what it says.

    It has no warm-up; a flow between these nodes where it has none.

    Raises:
        ScenarioError: it is none, or there is something in it that cannot be.
    """
    ends = {key: node for key, node in (("from", source), ("to", destination)) if node is not None}
    text = read_text(file)
    scenario = Scenario.from_toml(text, folder=file.parent, default={"flows": [{"cc": "cubic", **ends}]})
    scenario, has_flows = scenario.replace({"warmup": "0 s"}), "flows" in tomllib.loads(text)
    if ends and has_flows:
        raise ScenarioError("flows: the hosts are those of the first flow; --from and --to are for a scenario without")
    if reasons := refuse(scenario):
        raise ScenarioError("\n".join(f"{reason} (cclab emulate)" for reason in reasons))
    return scenario, list(_remarks(scenario)) if has_flows else []


def refuse(scenario: Scenario) -> list[str]:
    """Each field that cannot be."""
    if not live.on_linux():
        return ["cclab emulate needs Linux"]
    flow = scenario.to_dict(full=True)["flows"][0]
    paths = ["flows[0].paths: the hosts have one path"] if "paths" in flow else []
    return [*live.beyond_in_network(scenario), *paths]


def _remarks(scenario: Scenario) -> Iterator[str]:
    flows = scenario.to_dict(full=True)["flows"]
    if len(flows) > 1 or flows[0].get("count", 1) > 1:
        yield "Of several flows the hosts are those of the first; what else is said of flows is left out."
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")  # in some containers it is not there
    listed = allowed.read_text().split() if allowed.exists() else []
    laws = [law for law in listed if not re.search(r"_[0-9a-f]+_\d+$", law)]  # else of BPF, and gone with its run
    if flows[0]["kind"] == "tcp" and laws and law_of(flows[0]) not in laws:
        yield (
            f"flows[0].cc: connections have this machine's default and not {law_of(flows[0])}; it leaves to programs"
            f" {', '.join(laws)} (sysctl {allowed.name})"
        )


def run(scenario: Scenario, seed: int, command: list[str], serve: str | None, display: Display) -> Ended:
    """Run `command` until it ends, is interrupted, or the scenario's duration is over.

    Raises:
        RunError: this process may not, or a program cannot be started.
    """
    if reason := live.missing():
        raise RunError(f"{reason}; cclab live check says what there is")
    wall, cpu = time.perf_counter(), time.thread_time()
    running = _core.Emulate(scenario.to_json(), seed, command, serve)
    try:
        status = _watched(running, scenario.resolved()["duration_s"], display)
        raw = running.finish()
    finally:
        running.stop()
    raw["stamp"], flaw = json.loads(raw["stamp"]), raw.pop("flaw")
    result = Result.of_run(scenario, "live", raw, time.perf_counter() - wall, time.thread_time() - cpu)
    return Ended(result, status, flaw)


def _watched(running: Any, longest_s: float, display: Display) -> int:
    told, interrupted = None, -_GRACE
    while True:
        try:
            status, standing = running.wait()
            if status is not None:
                return int(status)
            display(standing)
            now = time.monotonic()
            if told is None and standing[0] >= longest_s:
                running.tell(False)
                told = now
            elif told is not None and now > told + _GRACE:
                return 128 + 9
        except KeyboardInterrupt:
            if time.monotonic() < interrupted + _GRACE:
                raise  # twice: at once, and nothing is kept
            interrupted = time.monotonic()
            if not sys.stdin.isatty():  # which tells the command itself
                running.tell(True)


class Display:
    """Throughput, queue and delay while it runs, where stderr is a terminal.

    In the terminal's title where the command writes to the same terminal, else in a line.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._title = self._terminal and sys.stdout.isatty()
        self._last: tuple[float, list[int]] = (0.0, [0, 0])

    def __enter__(self) -> Display:
        if self._title:
            self._write("\033[22;0t")  # xterm keeps the title that it has
        return self

    def __exit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        if self._terminal:
            self._write("\033]0;\a\033[23;0t" if self._title else "\r\033[K")

    def __call__(self, standing: tuple[float, list[int], list[float], list[int]]) -> None:
        """Show how it stands, twice a second."""
        time_s, arrived, delays_s, queues = standing
        since, before = self._last
        if not self._terminal or time_s < since + 0.5:
            return
        ways = zip("→←", before, arrived, delays_s, queues, strict=True)
        said = "  ".join(
            f"{arrow} {(now - then) * 8e-6 / (time_s - since):.2f} Mbit/s, {1e3 * delay_s:.1f} ms, {queue} waiting"
            for arrow, then, now, delay_s, queue in ways
        )
        self._last = time_s, arrived
        text = f"{time_s:.0f} s  {said}"
        self._write(f"\033]0;cclab {text}\a" if self._title else f"\r\033[K{text[:100]}")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()
