"""What the tests share: a small scenario and its result."""

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import hypothesis
import pytest

import cclab
from cclab.cli import run_cli

if "PYTEST_XDIST_WORKER" in os.environ:  # whose terminal is as wide as the one that pytest was started in
    os.environ.pop("COLUMNS", None)

hypothesis.settings.register_profile("lab", deadline=None)  # other work on the machine makes any call a long one
hypothesis.settings.load_profile("lab")

EXAMPLES = Path(__file__).parents[2] / "examples"
CLAB = [sys.executable, "-m", "cclab"]
Done = TypeVar("Done")


@pytest.fixture(scope="session")
def small() -> cclab.Scenario:
    """Two CUBIC flows and a Reno flow over 10 Mbit/s, two seconds."""
    return cclab.Scenario(
        name="small",
        duration="2 s",
        network=cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms", queue={"discipline": "droptail", "limit": "20 packets"}),
        flows=[cclab.Flow(cc="cubic", count=2), cclab.Flow(cc="reno")],
        record={"samples": "10 ms", "packets": "table"},
    )


@pytest.fixture(scope="session")
def result(small: cclab.Scenario) -> cclab.Result:
    return small.run(seed=7)


@pytest.fixture(scope="session")
def background() -> cclab.Result:
    """Web users and Poisson arrivals beside a flow, ten seconds."""
    return cclab.Scenario(
        name="busy",
        duration="10 s",
        warmup="1 s",
        network=cclab.Dumbbell(rate="20 Mbit/s", rtt="40 ms"),
        flows=[cclab.Flow(cc="cubic")],
        background=[
            cclab.Background("web", "20%", direction="both", rtt="aikat"),
            cclab.Background("poisson", "5%", cc="reno", sizes=["1 kB", "20 kB"]),
        ],
    ).run(seed=7)


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]):
    """Runs the command line in this process: exit status, stdout, stderr."""

    def run(*args: object) -> tuple[int, str, str]:
        capfd.readouterr()
        status = run_cli([str(arg) for arg in args])
        out, err = capfd.readouterr()
        return status, out, err

    return run


def example(name: str) -> ModuleType:
    """A program of `examples` as a module."""
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_a_process(*args: object, **options) -> subprocess.CompletedProcess[str]:
    """The command line as a user starts it."""
    environment = {**os.environ, "NO_COLOR": "1"}
    command = [*CLAB, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120, **options)


def unspoilt(run: Callable[[], Done], good: Callable[[Done], bool] = lambda done: True) -> Done:
    """A run in real time that other work did not spoil, else the last of eight.

    Who shares a machine holds it up for seconds, so each try waits longer than the one before; a relay that is late by itself is late
    in all of them. What else a run fails for is an error at once.
    """
    for pause in (0, 1, 2, 5, 10, 20, 40):
        time.sleep(pause)
        try:
            if good(done := run()):
                return done
        except cclab.RunError as error:
            if "could not keep up" not in str(error):
                raise
    time.sleep(60)
    return run()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
