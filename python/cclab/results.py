"""The result of a run: tables of columns in SI base units, on disk as Parquet with a manifest."""

from __future__ import annotations

import io
import json
import math
from functools import cached_property
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import cclab
from cclab import columns
from cclab.errors import ResultError

if TYPE_CHECKING:
    import polars as pl

    from cclab.analysis.plots import Plots
    from cclab.scenario import Scenario

SCHEMA = "cclab.result/2"
JSON_SCHEMA = "cclab.run/1"
TABLES = tuple(name for name in columns.tables() if name != "runs")
_MANY = 1000  # flows that are resolved again in some 0.1 s
_NOWHERE = 2**32 - 1  # of the link of a packet at a host


class Result:
    """What a run measured.

    Attributes:
        scenario: The scenario, every default filled in, as a dict.
        backend: What ran it.
        seed: The seed it ran with.
        jain: Jain's index of the goodputs of all TCP flows, 1/n to 1.
        engine: `events`, `data_packets` (over the busiest link), `simulated_s`, `wall_s`, `cpu_s`.
        digest: Hash of every number measured; equal runs have equal digests.
        capture: A pcapng file, where the scenario asked for one.
        stamp: How good a live run was; `None` of any other.
    """

    def __init__(self, about: dict[str, Any], tables: dict[str, Any], capture: bytes | None) -> None:
        self.scenario: dict[str, Any] = about["scenario"]
        self.written: dict[str, Any] = about["written"]
        self.backend: str = about["backend"]
        self.seed: int = about["seed"]
        self.jain: float = math.nan if about["jain"] is None else about["jain"]
        self.engine: dict[str, Any] = about["engine"]
        self.digest: str = about["digest"]
        self.stamp: dict[str, Any] | None = about.get("stamp")
        self.capture = capture
        self._tables = tables  # as a run gave them until they are asked for, then frames; or None
        if "versions" in about:
            self.versions = about["versions"]

    @classmethod
    def of_run(cls, scenario: Scenario, backend: str, raw: dict[str, Any], wall_s: float, cpu_s: float) -> Self:
        """The result of what the core returned."""
        engine = {name: raw[name] for name in ("events", "data_packets", "simulated_s")}
        engine |= {"wall_s": wall_s, "cpu_s": cpu_s}
        about = {
            "scenario": scenario.to_dict(full=True),
            "written": scenario.to_dict(),
            "backend": backend,
            "seed": raw["seed"],
            "jain": raw["jain"],
            "engine": engine,
            "digest": raw["digest"],
            "stamp": raw.get("stamp"),
        }
        return cls(about, {name: raw.get(name) for name in TABLES}, raw["capture"])

    @cached_property
    def versions(self) -> dict[str, str]:
        """Of cclab and of what it ran on."""
        return versions()

    @cached_property
    def _resolved(self) -> dict[str, Any] | None:
        """The scenario in full, resolved once for what is noted of a run; `None` of more flows than that is worth."""
        from cclab.scenario import Scenario

        many = len(self._tables["flows"]["label"]) > _MANY
        return None if many else Scenario.from_dict(self.scenario).resolved()

    def _table(self, name: str) -> pl.DataFrame:
        if self._tables.get(name) is None:
            raise ResultError(f'no {name} were recorded; ask for them with record = {{ packets = "table" }}')
        if isinstance(self._tables[name], dict):
            self._tables[name] = frame(self._tables[name])
        made: pl.DataFrame = self._tables[name]
        return made

    def _some(self, name: str) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame() if self._tables.get(name) is None else self._table(name)

    def rows(self, name: str, *only: str) -> list[dict[str, Any]]:
        """A table row by row, or these columns of it, without a data frame; none where it is not there."""
        table = self._tables.get(name)
        if not isinstance(table, dict):
            return [] if table is None else list((table.select(only) if only else table).to_dicts())
        table = {column: table[column] for column in only or table}
        values = [of.tolist() if hasattr(of, "tolist") else columns.texts(of) for of in table.values()]
        return [dict(zip(table, row, strict=True)) for row in zip(*values, strict=True)]

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow, after the warm-up."""
        return self._table("flows")

    @property
    def sessions(self) -> pl.DataFrame:
        """One row per connection over several paths, after the warm-up; empty where there is none."""
        return self._some("sessions")

    @property
    def applications(self) -> pl.DataFrame:
        """One row per flow whose application pauses, after the warm-up; empty where there is none."""
        return self._some("applications")

    @property
    def links(self) -> pl.DataFrame:
        """One row per link, after the warm-up."""
        return self._table("links")

    @property
    def stations(self) -> pl.DataFrame:
        """One row per station of a radio medium, after the warm-up; empty where there is none."""
        return self._some("stations")

    @property
    def losses(self) -> pl.DataFrame:
        """Every packet of a flow that was lost, and why, where `record.frames` asked for it; else empty."""
        return self._some("losses")

    @property
    def frames(self) -> pl.DataFrame:
        """Every frame on the air, where `record.frames` asked for it; else empty."""
        return self._some("frames")

    @property
    def places(self) -> pl.DataFrame:
        """Where stations were, where `record.frames` asked for it; else empty."""
        return self._some("places")

    @property
    def routes(self) -> pl.DataFrame:
        """Every change of a station's route, where `record.frames` asked for it; else empty."""
        return self._some("routes")

    @property
    def samples(self) -> pl.DataFrame:
        """Flows over time; `cclab.columns` has the columns of all tables."""
        return self._table("samples")

    @property
    def link_samples(self) -> pl.DataFrame:
        """Queues over time."""
        return self._table("link_samples")

    @property
    def signals(self) -> pl.DataFrame:
        """What laws record under their own names."""
        return self._table("signals")

    @property
    def background(self) -> pl.DataFrame:
        """One row per background entry and direction, after the warm-up; empty where there is no background."""
        return self._some("background")

    @property
    def fct(self) -> pl.DataFrame:
        """Completion times of the background's connections, one row per entry, direction and bin of sizes."""
        return self._some("fct")

    @property
    def packets(self) -> pl.DataFrame:
        """Every packet at every link, where the scenario asked for it.

        Raises:
            ResultError: it did not.
        """
        return self._table("packets")

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.scenario["name"])

    @property
    def warmup_s(self) -> float:
        """How much of the run summaries leave out at its start, in seconds."""
        value, unit = str(self.scenario.get("warmup", "0 s")).split()
        return float(value) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}[unit]

    @cached_property
    def plot(self) -> Plots:
        """Figures: `.plot.cwnd()`, `.plot.queue()`, `.plot.throughput()`, `.plot.rtt()`."""
        from cclab.analysis.plots import Plots

        return Plots(self)

    def json(self) -> dict[str, Any]:
        """The summary as `cclab run --json` prints it."""

        def rows(name: str) -> list[dict[str, Any]]:
            return [{k: _finite(v) for k, v in row.items()} for row in self.rows(name)]

        return {
            "schema": JSON_SCHEMA,
            "scenario": self.scenario,
            "backend": self.backend,
            "seed": self.seed,
            "flows": rows("flows"),
            "sessions": rows("sessions"),
            "applications": rows("applications"),
            "links": rows("links"),
            "background": rows("background"),
            "fct": rows("fct"),
            "jain": _finite(self.jain),
            "engine": self.engine,
            "digest": self.digest,
            "versions": self.versions,
            **({"stamp": self.stamp} if self.stamp else {}),
        }

    @property
    def connections(self) -> pl.DataFrame:
        """`label`, `cc`, `start_s`, `measured_s`, `goodput_bps`, `fct_s` of connections.

        A session is one, subflows and tunnels are none.
        """
        from cclab.analysis.metrics import connections, without_tunnels

        return connections(without_tunnels(self.flows, self.links), self.sessions)

    @property
    def fairness(self) -> float:
        """`jain`, where it says something: of connections that were measured over the same time; else NaN."""
        measured = [row for row in self._connection_rows() if row["measured_s"] > 0 and row["cc"] != "udp"]
        begins = [max(row["start_s"], self.warmup_s) for row in measured]
        spans = [row["measured_s"] for row in measured]
        # as `metrics.were_together` has it for a sweep; a run that is only printed loads no data frames
        whole = max(map(add, begins, spans)) - min(begins) if measured else math.inf
        return self.jain if len(measured) > 1 and min(spans) >= 0.9 * whole else math.nan

    def _connection_rows(self) -> list[dict[str, Any]]:
        """The rows of `connections`."""
        only = "label", "cc", "start_s", "measured_s", "goodput_bps", "fct_s"
        sessions = self.rows("sessions", *only)
        paths = tuple(f"{row['label']}/" for row in sessions)
        tunnels = {row["name"] for row in self.rows("links", "name") if str(row["name"]).startswith("tunnel-")}
        flows = [row for row in self.rows("flows", *only) if row["label"] not in tunnels]
        return [*(row for row in flows if not (paths and str(row["label"]).startswith(paths))), *sessions]

    def summary(self) -> str:
        """Flows, sessions, background and links as text, or why there is nothing of them to tell."""
        from cclab import backends
        from cclab.console import as_text, result_tables

        return as_text(*result_tables(self)).rstrip("\n") or str(backends.find(self.backend).remark(self))

    def save(self, place: str | Path) -> None:
        """Write a folder of Parquet tables with a manifest; whole or not at all.

        Raises:
            ResultError: the folder holds something that is no result of cclab.
            OSError: the disk is full, or the place cannot be written.
        """
        from cclab import folders
        from cclab.scenario import Scenario

        with folders.whole_folder(Path(place), SCHEMA, self._about()) as folder:
            for name in TABLES:
                if self._tables[name] is not None:
                    # by way of memory, so that a full disk is an OSError and not a riddle
                    self._table(name).write_parquet(data := io.BytesIO(), compression="zstd")
                    (folder / f"{name}.parquet").write_bytes(data.getbuffer())
            (folder / "scenario.toml").write_text(Scenario.from_dict(self.written).to_toml(), encoding="utf-8")
            if self.capture is not None:
                (folder / "packets.pcapng").write_bytes(self.capture)

    @classmethod
    def load(cls, place: str | Path) -> Self:
        """The result in a folder.

        Raises:
            ResultError: it is not whole, damaged, of another layout, or no result at all.
        """
        import polars as pl

        from cclab import folders

        place = Path(place)
        manifest = folders.open_folder(place, SCHEMA)
        try:
            tables = {
                name: pl.read_parquet(place / f"{name}.parquet") if f"{name}.parquet" in manifest["files"] else None
                for name in TABLES
            }
        except pl.exceptions.PolarsError as error:
            raise ResultError(f"{place}: a table cannot be read: {error}") from None
        capture = place / "packets.pcapng"
        return cls(manifest, tables, capture.read_bytes() if capture.name in manifest["files"] else None)

    def _about(self) -> dict[str, Any]:
        return {
            "scenario": self.scenario,
            "written": self.written,
            "backend": self.backend,
            "seed": self.seed,
            "jain": _finite(self.jain),
            "engine": self.engine,
            "digest": self.digest,
            "versions": self.versions,
            **({"stamp": self.stamp} if self.stamp else {}),
        }

    def _repr_html_(self) -> str:
        from cclab import notebook

        return notebook.of_result(self)

    def __repr__(self) -> str:
        return f"Result({self.name!r}, backend={self.backend!r}, seed={self.seed}, {len(self.rows('flows'))} flows)"

    def __str__(self) -> str:
        return self.summary()


def frame(table: dict[str, Any]) -> pl.DataFrame:
    """A table of the core as a data frame; text that repeats comes as places in a list, and the list."""
    import polars as pl

    def series(values: Any) -> Any:
        if isinstance(values, tuple):
            places, texts = values
            return pl.Series(texts, dtype=pl.String).gather(pl.Series(places).replace(_NOWHERE, None))
        return pl.Series(values, dtype=pl.String) if isinstance(values, list) else values

    return pl.DataFrame({name: series(values) for name, values in table.items()})


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def versions() -> dict[str, str]:
    """Of cclab and of what it runs on."""
    import importlib.metadata
    import platform

    return {
        "cclab": cclab.__version__,
        "python": platform.python_version(),
        "polars": importlib.metadata.version("polars"),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def to_json(value: Any) -> str:
    """JSON that any reader takes: no NaN, no infinity."""
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
