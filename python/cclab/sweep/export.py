"""The tables of a sweep as Parquet files, for whatever reads those."""

from __future__ import annotations

import io
from pathlib import Path

from cclab.errors import ResultError
from cclab.folders import MANIFEST, whole_folder
from cclab.results import versions
from cclab.sweep.store import is_store, no_sweep
from cclab.sweep.study import Study

SCHEMA = "cclab.export/1"


def export(place: Path, out: Path) -> list[str]:
    """Write a folder with a file for each table of the study in `place`, and its scenario; whole or not at all.

    Returns:
        Names of the tables.

    Raises:
        ResultError: `place` is no store, or `out` holds something that is no export.
        OSError: the disk is full, or the place cannot be written.
    """
    if not is_store(place):
        if (place / MANIFEST).is_file():
            raise ResultError(f"{place}: holds no sweep; the tables of a single result are Parquet files already")
        raise no_sweep(place)
    study = Study.load(place)
    names = study.tables()
    with whole_folder(out, SCHEMA, {"study": study.name, "status": study.status(), "versions": versions()}) as folder:
        for name in names:
            study.table(name).write_parquet(data := io.BytesIO(), compression="zstd")
            (folder / f"{name}.parquet").write_bytes(data.getbuffer())
        (folder / "scenario.toml").write_text(study.scenario_toml(), encoding="utf-8")
    return names
