"""The wheel: pip installs it into an empty environment, and there, away from the clone, it does what the clone does."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")


def done(*command, **options) -> str:
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel() -> Path:
    """What `make wheel` makes: of a core that is built already, in seconds."""
    done("make", "wheel", cwd=ROOT)
    [wheel] = (ROOT / "target" / "dist").glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Runs a program of the environment, somewhere else."""
    place = tmp_path_factory.mktemp("installed")
    known = place / "constraints.txt"
    done(UV, "export", "--locked", "--quiet", "--no-hashes", "--no-emit-project", "--output-file", known, cwd=ROOT)
    done(UV, "venv", "--quiet", "--python", sys.executable, place / "venv")
    python = place / "venv" / "bin" / "python"
    done(UV, "pip", "install", "--quiet", "--python", python, "--constraints", known, wheel, cwd=place)
    (place / "here").mkdir()
    environment = {"PATH": f"{place / 'venv' / 'bin'}{os.pathsep}{os.defpath}", "HOME": str(place), "COLUMNS": "118"}
    return lambda *command: done(*command, cwd=place / "here", env=environment)


def test_it_holds_every_study_and_example(wheel):
    """Byte for byte."""
    with zipfile.ZipFile(wheel) as file:
        held = {name: file.read(name) for name in file.namelist()}
    for folder, inside in (("studies", "cclab/published/studies"), ("examples", "cclab/examples")):
        tracked = done("git", "ls-files", folder, cwd=ROOT).splitlines()
        wanted = {name.replace(folder, inside, 1): (ROOT / name).read_bytes() for name in tracked}
        assert len(wanted) > 20
        assert {name: held.get(name) for name in wanted} == wanted
    assert [name for name in held if "__pycache__" in name] == []


@pytest.mark.skipif(sys.platform != "linux", reason="tags of other systems are others")
def test_its_tag_is_true(wheel):
    """PEP 600: no symbol of a newer C library than the tag says, and no library that it does not allow."""
    tags = [re.fullmatch(r"manylinux_2_(\d+)_\w+", tag) for tag in wheel.stem.split("-")[-1].split(".")]
    newest = max(int(tag[1]) for tag in tags if tag)
    assert wheel.stem.split("-")[2:4] == ["cp311", "abi3"]
    with zipfile.ZipFile(wheel) as file:
        [core] = [file.read(name) for name in file.namelist() if name.endswith(".so")]
    assert max(int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", core)) <= newest
    loaded = set(re.findall(rb"\0(lib[\w+-]+)\.so\.\d+(?=\0)", core))
    assert loaded <= {b"libc", b"libm", b"libgcc_s", b"libpthread", b"libdl", b"librt"}


def test_away_from_the_clone(installed):
    """Version, lists, an example, a study, the schema: in an environment of its dependencies and nothing else."""
    assert "site-packages" in installed("python", "-c", "import cclab; print(cclab.__file__)")
    assert re.fullmatch(r"cclab \d+\.\d+\.\d+\n", installed("cclab", "--version"))
    listed = json.loads(installed("cclab", "list", "--json"))
    assert [entry["name"] for entry in listed["studies"]] == sorted(
        p.parent.name for p in ROOT.glob("studies/*/study.toml")
    )
    assert len(listed["examples"]) == len(list((ROOT / "examples").rglob("*.toml")))
    assert json.loads(installed("cclab", "schema"))["$schema"]

    page = (ROOT / "docs" / "gallery.md").read_text()
    rate = re.search(r"download +([\d.]+) +1,006", page)[1]  # as the gallery says
    assert rate in installed("cclab", "run", "example:gallery/bufferbloat")
    installed("cclab", "init", "--examples")
    installed("cclab", "sweep", "examples/gallery/satellite.toml", "--dry-run")

    printed = installed("cclab", "reproduce", "santa-cruz", "--quick", "--out", "study")
    assert "agrees" in printed
    assert printed.splitlines()[-1].endswith("study/report.html")
