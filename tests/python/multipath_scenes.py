"""Scenes for coupled congestion controls: who shares which link. Run as a program it prints the tables of docs/models/coupling.md."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import cclab

UNCOUPLED = ("reno", "bbr")
LOSS_BASED = ("lia", "olia", "balia")
LAWS = ("reno", *LOSS_BASED, "wvegas", "bbr", "cbbr", "cmpbbr")
BASE = (
    dict.fromkeys(LOSS_BASED, "reno")
    | {"reno": "reno", "wvegas": "wvegas", "cbbr": "cbbr"}
    | dict.fromkeys(("bbr", "cmpbbr"), "bbr")
)
"""What a single flow has that a session of each law is compared with."""
SEEDS = range(1, 6)
RTT_MS = 40


def session(law: str, label: str, paths: Sequence[Sequence[str]], **fields: Any) -> dict[str, Any]:
    """A connection over these paths, coupled by `law` or, if it is one that does not couple, each subflow by itself."""
    control = "cc" if law in UNCOUPLED else "coupling"
    return {"label": label, control: law, "paths": [list(path) for path in paths], "receive_buffer": "16 MB", **fields}


def single(law: str, label: str, path: Sequence[str], **fields: Any) -> dict[str, Any]:
    """A flow over one path, as the law of a session has it alone."""
    return {
        "label": label,
        "cc": BASE[law],
        "from": path[0],
        "to": path[-1],
        "route": list(path),
        "receive_buffer": "16 MB",
        **fields,
    }


def run(links: Sequence[dict[str, Any]], flows: list[dict[str, Any]], seed: int, seconds: int) -> cclab.Result:
    """Runs the flows over one-way links; they start within the first second, when is by the seed."""
    starts = np.random.default_rng(seed).uniform(0, 1, len(flows))
    nodes = sorted({link[end] for link in links for end in ("from", "to")})
    return cclab.Scenario(
        name="multipath",
        duration=f"{seconds} s",
        warmup=f"{seconds // 5} s",
        record={"samples": "off"},
        network={"topology": "custom", "nodes": nodes, "links": list(links)},
        flows=[flow | {"start": f"{start:.6f} s"} for flow, start in zip(flows, starts, strict=True)],
    ).run(seed=seed)


def link(start: str, end: str, mbps: float, **fields: Any) -> dict[str, Any]:
    """A link with a quarter of `RTT_MS` of delay each way."""
    return {"from": start, "to": end, "rate": f"{mbps} Mbit/s", "delay": f"{RTT_MS / 2} ms", **fields}


PIE = {"discipline": "pie"}
DROPTAIL = {"discipline": "droptail", "limit": "1 BDP"}


def ring(
    law: str, capacity: Sequence[float], seed: int, queue: dict[str, Any] = PIE, seconds: int = 400
) -> cclab.Result:
    """Three sessions, each over two of three bottlenecks of so many Mbit/s."""
    links = [link(f"a{i}", f"b{i}", mbps, queue=queue) for i, mbps in enumerate(capacity)]
    paths = [(f"a{i}", f"b{i}") for i in range(3)]
    return run(links, [session(law, f"s{i}", [paths[i], paths[(i + 1) % 3]]) for i in range(3)], seed, seconds)


LOSS = (0.001, 0.01)


def lossy(law: str, seed: int, seconds: int = 400) -> tuple[Any, Any]:
    """Two paths of 40 Mbit/s that lose 0.1 and 1 %: Mbit/s of a session's subflows, and of a single flow on each alone."""
    links = [link(f"a{i}", f"b{i}", 40, loss={"data": p}) for i, p in enumerate(LOSS)]
    paths = [(f"a{i}", f"b{i}") for i in range(2)]
    both = run(links, [session(law, "session", paths)], seed, seconds)
    alone = run(links, [single(law, f"f{i}", path) for i, path in enumerate(paths)], seed, seconds)
    return mbps(both.flows), mbps(alone.flows)


def shared(law: str, seed: int, singles: int = 3, seconds: int = 400) -> tuple[float, float]:
    """A session with two subflows over a bottleneck of 20 Mbit/s with single flows: its Mbit/s, and the mean of theirs.

    BBRs get a buffer of three BDP: in one of one they do not share even among themselves.
    """
    queue = DROPTAIL | ({"limit": "3 BDP"} if BASE[law].endswith("bbr") else {})
    path = ("a", "b")
    flows = [session(law, "session", [path, path]), *(single(law, f"f{i}", path) for i in range(singles))]
    result = run([link("a", "b", 20, queue=queue)], flows, seed, seconds)
    return float(mbps(result.sessions)[0]), float(mbps(result.flows)[2:].mean())


def mbps(table: Any) -> Any:
    """Goodput of each row."""
    return np.asarray(table["goodput_bps"]) / 1e6


def interval(values: Sequence[Any]) -> str:
    """Mean and half of the 95 % interval over the seeds."""
    found = np.array(values, float)
    half = 2.776 * found.std(axis=0, ddof=1) / np.sqrt(len(found))  # Student's t, five seeds
    pairs = zip(np.atleast_1d(found.mean(axis=0)), np.atleast_1d(half), strict=True)
    return " · ".join(f"{mean:.2f} ± {h:.2f}" for mean, h in pairs)


if __name__ == "__main__":
    for law in sys.argv[1:] or LAWS:
        runs = [lossy(law, seed) for seed in SEEDS]
        total = interval([both.sum() / alone.max() for both, alone in runs])
        share = interval([100 * both[1] / both.sum() for both, _ in runs])
        ratio = interval([own / others for own, others in (shared(law, seed) for seed in SEEDS)])
        print(f"| [{law}]({law}.md) | {total} | {share} | {ratio} |", flush=True)
        for queue in (PIE, DROPTAIL):
            for capacity in ((12, 12, 12), (12, 10, 8)):
                totals = interval([mbps(ring(law, capacity, seed, queue).sessions) for seed in SEEDS])
                print(f"    {queue['discipline']} {capacity}: | {totals} |", flush=True)
