"""Folders on disk that are whole or absent: written beside their place, checked by a manifest, renamed into it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import re
import shutil
import socket
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from cclab.errors import ResultError

MANIFEST = "manifest.json"
PAGE = "report.html"
# What `report` and `plot` make from a folder, beside what its manifest lists.
_MADE_LATER = re.compile(rf"{re.escape(PAGE)}|plots|plots/(cwnd|throughput|rtt|queue)\.(svg|pdf|png)")
_COUNT = itertools.count()  # folders of one process that are written at once have different names
# Process numbers say who is alive on one machine only.
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())

_PASSING: set[str] = set()  # unfinished and temporary folders that are there


def temporary(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A folder that goes with what holds it, or with the process."""
    folder = tempfile.TemporaryDirectory(prefix=prefix)
    _PASSING.add(folder.name)
    weakref.finalize(folder, _PASSING.discard, folder.name)
    return folder


def remove_passing() -> None:
    """Remove all unfinished and temporary folders: for who ends the process in a way that runs nothing else."""
    for name in list(_PASSING):
        shutil.rmtree(name, ignore_errors=True)


@contextlib.contextmanager
def whole_folder(place: Path, schema: str, manifest: dict[str, Any], derived: tuple[str, ...] = ()) -> Iterator[Path]:
    """Fill a new folder; when the block ends well it is sealed with its manifest and becomes `place`.

    Args:
        place: Where it shall be. A folder that such a block has written is replaced, any other is left alone.
        schema: Name and version of its layout, e.g. `"cclab.result/2"`.
        manifest: What the manifest says beside the list of files; may be filled in inside the block.
        derived: Files that can be made again from the others, so that the manifest does not list them.

    Raises:
        ResultError: `place` holds something that is not of ours.
    """
    refuse_foreign(place, schema)
    given, place = place, Path(os.path.realpath(place))
    with errors_name(given, inside=place.parent):
        place.parent.mkdir(parents=True, exist_ok=True)
        _sweep(place)
        partial = place.parent / f".{place.name}.{_HOST}.{os.getpid()}-{next(_COUNT)}.partial"
        partial.mkdir()
        _PASSING.add(str(partial))
        try:
            yield partial
            _seal(partial, schema, manifest, derived)
            _move(partial, place)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            _PASSING.discard(str(partial))


@contextlib.contextmanager
def errors_name(path: Path, inside: Path | None = None) -> Iterator[None]:
    """An error of the system while something is written names `path`, which the user gave, and not a passing name."""
    try:
        yield
    except OSError as error:
        named = Path(os.path.abspath(os.fsdecode(error.filename))) if isinstance(error.filename, str | bytes) else None
        if named is not None and inside is not None and not named.is_relative_to(inside):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def open_folder(place: Path, schema: str) -> dict[str, Any]:
    """The manifest of a folder, after checking that every file in it is there and undamaged.

    What was killed while it was put in its place is put there now.

    Raises:
        ResultError: what is missing or damaged.
    """
    _recover(place)
    manifest = _manifest(place)
    found = manifest.get("schema")
    if found != schema:
        kind, _, version = str(found).partition("/")
        if kind == "cclab.export":
            raise exported(place)
        if kind == schema.partition("/")[0]:
            raise ResultError(f"{place}: written in layout {version} of {kind}; this cclab reads {schema}")
        raise ResultError(f"{place}: holds {found!r}, not {schema!r}")
    if manifest.pop("sha256", None) != _digest(manifest):
        raise ResultError(f"{place}: {MANIFEST} is damaged (it does not match its own hash)")
    for name, about in manifest["files"].items():
        path = place / name
        if not path.is_file():
            raise ResultError(f"{place}: {name} is missing; the result is not whole")
        if path.stat().st_size != about["bytes"]:
            raise ResultError(f"{place}: {name} has {path.stat().st_size} bytes instead of {about['bytes']}")
        if _sha256(path) != about["sha256"]:
            raise ResultError(f"{place}: {name} is damaged (its contents do not match {MANIFEST})")
    return manifest


def exported(place: Path) -> ResultError:
    """The error that a folder is what `cclab export` wrote."""
    return ResultError(
        f"{place}: holds the tables of a sweep as cclab export wrote them; name the folder of the sweep, or read a"
        f" table in Python: polars.read_parquet({str(place / 'runs.parquet')!r})"
    )


def schema_of(place: Path) -> str:
    """What a folder holds, as its manifest names it."""
    _recover(place)
    return str(_manifest(place).get("schema"))


def write_text(path: Path, text: str) -> None:
    """Write a file at once: it is whole, or as it was before."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes | memoryview) -> None:
    """Write a file at once: it is whole, or as it was before. A device or a pipe stays what it is and is written to."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        with errors_name(path):
            path.write_bytes(data)
        return
    given, path = path, Path(os.path.realpath(path))  # what a link leads to is written, not the link
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with errors_name(given):
        try:
            with open(partial, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)


def a_file(place: Path, to_write: bool = True) -> str:
    """What to say of a file in the place of a folder that is to be written or read; empty where there is none."""
    if not place.exists() or place.is_dir():
        return ""
    return "is a file, not a folder" + ("; name a folder, or one that is not there yet" if to_write else "")


def refuse_foreign(place: Path, schema: str) -> bool:
    """Refuse to write over anything but an empty folder or one of the same kind, or where nothing can be written.

    Returns:
        Whether there is an earlier one, which would be replaced.

    Raises:
        ResultError: it holds something else, or files of the user's, or the place cannot be written.
    """
    if os.path.islink(place) and not place.exists():
        raise ResultError(f"{place}: a link that leads nowhere; name another folder, or remove it first")
    _recover(place)
    if not os.path.lexists(place):
        _refuse_unwritable(place)
        return False
    if wrong := a_file(place):
        raise ResultError(f"{place}: {wrong}")
    if not any(place.iterdir()):
        return False
    kind = schema.partition("/")[0]
    try:
        manifest = _manifest(place)
        ours = str(manifest.get("schema")).partition("/")[0] == kind
    except ResultError:
        ours = False
    if not ours:
        raise ResultError(f"{place}: holds something that is not a {kind}; name another folder, or remove it first")
    if theirs := _not_ours(place, manifest):
        some = ", ".join(theirs[:5]) + (f" and {len(theirs) - 5} more" if len(theirs) > 5 else "")
        raise ResultError(
            f"{place}: holds files of yours, which would be lost: {some}; move them, or name another folder"
        )
    return True


def _not_ours(place: Path, manifest: dict[str, Any]) -> list[str]:
    """What is in a folder beside the files of its manifest and what is made from them."""
    known = {MANIFEST, *manifest["files"]}
    known |= {str(above) for name in manifest["files"] for above in PurePosixPath(name).parents}
    found = sorted(path.relative_to(place).as_posix() for path in place.rglob("*"))
    theirs = [name for name in found if name not in known and not _MADE_LATER.fullmatch(name)]
    return [name for name in theirs if str(PurePosixPath(name).parent) not in theirs]


def _refuse_unwritable(place: Path) -> None:
    """Better now than after the run."""
    above = next(path for path in Path(os.path.abspath(place)).parents if os.path.lexists(path))
    if not above.is_dir():
        raise ResultError(f"{place}: cannot be made, because {above} is not a folder")
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".", dir=above))
    except OSError as error:
        raise ResultError(f"{place}: nothing can be written in {above} ({error.strerror})") from None


def _manifest(place: Path) -> dict[str, Any]:
    if not place.is_dir():
        left = "".join(f"; {path} may hold it" for path, _, kind in _left(place) if kind == "old")
        if wrong := a_file(place, to_write=False):
            raise ResultError(f"{place}: {wrong}")
        raise ResultError(f"{place}: no such folder{left or '; cclab run FILE --out DIR makes one'}")
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        files = manifest["files"]
        sound = all(isinstance(of["bytes"], int) and isinstance(of["sha256"], str) for of in files.values())
    except FileNotFoundError:
        raise ResultError(f"{place}: no {MANIFEST}; this is no result of cclab, or it is not whole") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ResultError(f"{place}: {MANIFEST} is damaged") from None
    outside = [name for name in files if not _inside(name)]
    if outside or not sound:
        said = f"it lists {outside[0]!r}, which is not in this folder" if outside else "sizes or hashes are missing"
        raise ResultError(f"{place}: {MANIFEST} is damaged ({said})")
    return dict(manifest)


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _seal(folder: Path, schema: str, manifest: dict[str, Any], derived: tuple[str, ...]) -> None:
    files = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        _sync(path)
        name = path.relative_to(folder).as_posix()
        if name in derived:
            continue
        files[name] = {"bytes": path.stat().st_size, "sha256": _sha256(path)}
    whole = {"schema": schema, **manifest, "files": files}
    write_text(folder / MANIFEST, json.dumps(whole | {"sha256": _digest(whole)}, indent=1) + "\n")
    _sync(folder)


def _digest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _move(partial: Path, place: Path) -> None:
    """A rename puts the folder in its place; an older one steps aside first and is removed after."""
    aside = partial.with_suffix(".old")
    if place.exists():
        os.rename(place, aside)
    os.rename(partial, place)
    _sync(place.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _left(place: Path) -> list[tuple[Path, bool, str]]:
    """What is left beside `place` by its writers: path, whether its writer may still live, `"partial"` or `"old"`."""
    pattern = re.compile(rf"\.{re.escape(place.name)}\.([A-Za-z0-9-]*)\.(\d+)-\d+\.(partial|old)")
    try:
        beside = sorted(place.parent.iterdir())
    except OSError:
        return []
    matches = [(path, found) for path in beside if (found := pattern.fullmatch(path.name))]
    return [(path, m[1] != _HOST or _alive(int(m[2])), m[3]) for path, m in matches]


def _recover(place: Path) -> None:
    """Where a writer was killed between its two renames, put what it had sealed into the place, or else the old one."""
    place = Path(os.path.realpath(place))
    if os.path.lexists(place):
        return
    for wanted in ("partial", "old"):
        for path, alive, kind in _left(place):
            if kind == wanted and not alive and (path / MANIFEST).is_file():
                with contextlib.suppress(OSError):
                    os.rename(path, place)
                return


def _sweep(place: Path) -> None:
    """Remove what killed processes of this machine left beside `place`, which is there or never was."""
    for path, alive, _ in _left(place):
        if not alive:
            shutil.rmtree(path, ignore_errors=True)


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
