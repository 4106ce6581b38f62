"""Folders on disk that are whole or absent: written beside their place, checked by a manifest, renamed into it."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cclab.errors import ResultError

MANIFEST = "manifest.json"
_COUNT = itertools.count()  # folders of one process that are written at once have different names


@contextlib.contextmanager
def whole_folder(place: Path, schema: str, manifest: dict[str, Any], derived: tuple[str, ...] = ()) -> Iterator[Path]:
    """Fill a new folder; when the block ends well it is sealed with its manifest and becomes `place`.

    Args:
        place: Where it shall be. A folder that such a block has written is replaced, any other is left alone.
        schema: Name and version of its layout, e.g. `"cclab.result/1"`.
        manifest: What the manifest says beside the list of files; may be filled in inside the block.
        derived: Files that can be made again from the others, so that the manifest does not list them.

    Raises:
        ResultError: `place` holds something that is not of ours.
    """
    place = Path(os.path.abspath(place))
    refuse_foreign(place, schema)
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place)
    partial = place.parent / f".{place.name}.{os.getpid()}-{next(_COUNT)}.partial"
    partial.mkdir()
    try:
        yield partial
        _seal(partial, schema, manifest, derived)
        _move(partial, place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def open_folder(place: Path, schema: str) -> dict[str, Any]:
    """The manifest of a folder, after checking that every file in it is there and undamaged.

    Raises:
        ResultError: what is missing or damaged.
    """
    manifest = _manifest(place)
    found = manifest.get("schema")
    if found != schema:
        kind, _, version = str(found).partition("/")
        if kind == schema.partition("/")[0]:
            raise ResultError(f"{place}: written in layout {version} of {kind}; this cclab reads {schema}")
        raise ResultError(f"{place}: holds {found!r}, not {schema!r}")
    for name, about in manifest["files"].items():
        path = place / name
        if not path.is_file():
            raise ResultError(f"{place}: {name} is missing; the result is not whole")
        if path.stat().st_size != about["bytes"]:
            raise ResultError(f"{place}: {name} has {path.stat().st_size} bytes instead of {about['bytes']}")
        if _sha256(path) != about["sha256"]:
            raise ResultError(f"{place}: {name} is damaged (its contents do not match {MANIFEST})")
    return manifest


def schema_of(place: Path) -> str:
    """What a folder holds, as its manifest names it."""
    return str(_manifest(place).get("schema"))


def write_text(path: Path, text: str) -> None:
    """Write a file at once: it is whole, or as it was before."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def refuse_foreign(place: Path, schema: str) -> None:
    """Refuse to write over anything but an empty folder or one of the same kind.

    Raises:
        ResultError: it holds something else.
    """
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    kind = schema.partition("/")[0]
    try:
        ours = schema_of(place).partition("/")[0] == kind
    except ResultError:
        ours = False
    if not ours:
        raise ResultError(f"{place}: holds something that is not a {kind}; name another folder, or remove it first")


def _manifest(place: Path) -> dict[str, Any]:
    if not place.is_dir():
        raise ResultError(f"{place}: no such folder")
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        manifest["files"].items()
    except FileNotFoundError:
        raise ResultError(f"{place}: no {MANIFEST}; this is no result of cclab, or it is not whole") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ResultError(f"{place}: {MANIFEST} is damaged") from None
    return dict(manifest)


def _seal(folder: Path, schema: str, manifest: dict[str, Any], derived: tuple[str, ...]) -> None:
    files = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        _sync(path)
        name = path.relative_to(folder).as_posix()
        if name in derived:
            continue
        files[name] = {"bytes": path.stat().st_size, "sha256": _sha256(path)}
    write_text(folder / MANIFEST, json.dumps({"schema": schema, **manifest, "files": files}, indent=1) + "\n")
    _sync(folder)


def _move(partial: Path, place: Path) -> None:
    """A rename puts the folder in its place; an older one steps aside first and is removed after."""
    aside = partial.with_suffix(".old")
    if place.exists():
        os.rename(place, aside)
    os.rename(partial, place)
    _sync(place.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _sweep(place: Path) -> None:
    """Remove what killed processes left beside `place`."""
    for left in place.parent.glob(f".{glob.escape(place.name)}.*"):
        number, _, kind = left.name.removeprefix(f".{place.name}.").partition(".")
        pid = number.partition("-")[0]
        if kind in ("partial", "old") and pid.isdecimal() and not _alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
