"""`make setup`: what it says before it builds, and of what is missing. A stand-in for uv; nothing is built."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("bash", "cut", "find", "head", "make", "printf", "sed", "sort", "touch")
# macOS's: `**` is `*` there.
BASH_3 = """
shopt() {{ echo "shopt: $2: invalid shell option name" >&2; return 1; }}
export -f shopt
exec {bash} "$@"
"""
pytestmark = pytest.mark.skipif(any(shutil.which(tool) is None for tool in TOOLS), reason="there is no make")


@pytest.fixture
def clone(tmp_path):
    """A clone without anything built, and the only programs there are: `TOOLS`, and stand-ins."""
    for name in ("Makefile", "Cargo.toml", "Cargo.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("crates/a/src/lib.rs", "crates/a/src/of/example.toml", "crates/a/tests/one.rs", "crates/a/Cargo.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "python/cclab").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    (tmp_path / "bin/bash").unlink()
    stand_in(tmp_path, "bash", BASH_3.format(bash=shutil.which("bash")))
    stand_in(tmp_path, "uv", "exit 1")
    stand_in(tmp_path, "cargo", "echo cargo 1.100.0 '(0123abcd 2030-01-01)'")
    stand_in(tmp_path, "cc", "")
    return tmp_path


def stand_in(clone, name, does):
    (clone / "bin" / name).write_text(f"#!{shutil.which('bash')}\n{does}\n")
    (clone / "bin" / name).chmod(0o755)


def setup(clone):
    environment = {"PATH": str(clone / "bin"), "HOME": os.environ.get("HOME", "/")}
    done = subprocess.run(
        [clone / "bin/make", "setup"], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def test_a_build_is_announced_whenever_there_is_one(clone):
    announced = "Building the simulator and setting up .venv: some "
    status, err = setup(clone)
    assert (status, err.startswith(announced)) == (2, True)
    (clone / ".venv").mkdir()  # uv makes it before it builds; the build failed
    assert setup(clone)[1].startswith("Building the simulator: some ")
    stand_in(clone, "uv", '[[ "$*" == *--reinstall-package\\ cclab* ]] && touch python/cclab/_core.abi3.so')
    assert setup(clone)[1].startswith("Building the simulator: some ")
    stand_in(clone, "uv", '[[ "$*" != *reinstall* ]]')  # which builds although nothing was edited: the core is there
    assert setup(clone) == (0, "")
    later = time.time() + 60
    os.utime(clone / "crates/a/tests/one.rs", (later, later))  # which is no part of the core
    assert setup(clone) == (0, "")
    os.utime(clone / "crates/a/src/of/example.toml", (later, later))  # which is compiled in
    assert "Building the simulator: some " in setup(clone)[1]


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("cargo", "error: there is no cargo to build with; install Rust 1.88 or newer: https://rustup.rs"),
        ("cc", "error: there is no cc to build with; install a C compiler: gcc or clang"),
        ("uv", "error: there is no python3 to build with; install Python 3.11 or newer"),
    ],
)
def test_what_is_missing_is_named_with_what_to_install(clone, missing, told):
    (clone / "bin" / missing).unlink()
    status, err = setup(clone)
    assert status == 2
    assert err.splitlines()[0] == told
    assert not (clone / ".venv").exists()


def test_a_rust_that_is_too_old_is_told(clone):
    stand_in(clone, "cargo", "echo cargo 1.63.0")  # Debian 12's
    status, err = setup(clone)
    assert status == 2
    assert err.startswith("error: Rust 1.63.0 is too old to build with; install Rust 1.88 or newer")
