"""The tables of a run's page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cclab import console
from cclab.console import number, percent

if TYPE_CHECKING:
    from cclab.results import Result

MOST = 1000  # rows of a table
Columns = dict[str, Callable[[dict[str, Any]], str]]


def _of(column: str, scale: float = 1.0) -> Callable[[dict[str, Any]], str]:
    return lambda row: number(row[column] * scale)


_FLOWS: Columns = {
    "Flow": lambda f: f["label"],
    "Law": lambda f: f["cc"],
    "|Goodput (Mbit/s)": _of("goodput_bps", 1e-6),
    "|Throughput (Mbit/s)": _of("throughput_bps", 1e-6),
    "|Segments sent": _of("segments_sent"),
    "|Retransmitted": _of("segments_retransmitted"),
    "|Timeouts": _of("timeouts"),
    "|RTT mean (ms)": _of("rtt_mean_s", 1e3),
    "|RTT min (ms)": _of("rtt_min_s", 1e3),
    "|One-way delay mean (ms)": _of("owd_mean_s", 1e3),
    "|cwnd mean (segments)": _of("cwnd_mean_segments"),
}
_SESSIONS: Columns = {
    "Session": lambda s: s["label"],
    "Law": lambda s: s["cc"] + (" (coupled)" if s["coupled"] else ""),
    "Scheduler": lambda s: s["scheduler"],
    "|Goodput (Mbit/s)": _of("goodput_bps", 1e-6),
    "|Arrived twice (kB)": _of("duplicate_bytes", 1e-3),
    "|Sent again (kB)": lambda s: number((s["reinjected_bytes"] + s["opportunistic_bytes"]) / 1e3),
    "|Reordering mean (ms)": _of("reorder_mean_s", 1e3),
    "|Reordering p99 (ms)": _of("reorder_p99_s", 1e3),
    "|Buffer mean (kB)": _of("buffer_mean_bytes", 1e-3),
    "|Buffer max (kB)": _of("buffer_max_bytes", 1e-3),
    "|Longest stall (s)": _of("stall_max_s"),
    "|Aggregation benefit": _of("aggregation_benefit"),
}
# Headings of a terminal that go on from the one before; a telephone shows each with its own cell alone.
_WHOLE = {
    "": "Direction", "|carried": "|Load carried", "|completed": "|Connections completed",
    **{f"|{q}": f"|Completed after, {q} (ms)" for q in ("p50", "p95", "p99")},
}  # fmt: skip
_COMPLETED: Columns = {"|Completed after (s)": _of("fct_s")}
_LINKS: Columns = {
    "Link": lambda k: k["name"],
    "|Rate (Mbit/s)": _of("rate_bps", 1e-6),
    "|Capacity, mean (Mbit/s)": _of("capacity_bps", 1e-6),
    "|Utilisation": lambda k: percent(k["utilisation"]),
    "|Queue mean (packets)": _of("queue_mean_packets"),
    "|Queue max (packets)": _of("queue_max_packets"),
    "|Delay in queue, mean (ms)": _of("sojourn_mean_s", 1e3),
    "|Dropped": _of("drops"),
    "|Lost": _of("losses"),
}


def tables(result: Result) -> dict[str, tuple[list[str], list[list[str]]]]:
    """By name, headings (those of numbers begin with |) and rows of `flows`, `links` and what else there is."""
    sized = _COMPLETED if bool(result.connections["fct_s"].is_finite().any()) else {}
    finite = result.links.filter(result.links["rate_bps"].is_finite())
    found = {
        "flows": _filled(_FLOWS | sized, result.flows.head(MOST).to_dicts()),
        "sessions": _filled(_SESSIONS | sized, result.sessions.head(MOST).to_dicts()),
        "links": _filled(_LINKS, finite.head(MOST).to_dicts()),
    }
    for name, table in (("applications", console.application_table), ("background", console.background_table)):
        if result.rows(name):
            headings, rows = console.headings_and_rows(table(result))
            found[name] = [_WHOLE.get(heading, heading) for heading in headings], rows
    return found


def _filled(columns: Columns, rows: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    return list(columns), [[cell(row) for cell in columns.values()] for row in rows]
