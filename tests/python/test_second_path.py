"""The worked example of the second path: what it says is what its program finds."""

import subprocess
import sys

import pytest

import conftest
from conftest import EXAMPLES


@pytest.fixture(scope="module")
def example():
    return conftest.example("second-path")


def test_a_second_path_adds_its_rate_to_a_long_download(example):
    # 2 and 8 Mbit/s are five times 2; what losses and headers cost, both have
    assert example.worth(2, example.WAYS["both, min-rtt"], None, 2).value == pytest.approx(5, rel=0.1)
    assert example.worth(2, example.WAYS["both, redundant"], None, 2).value == pytest.approx(4, rel=0.1)


def test_a_short_download_over_a_fast_wifi_gains_nothing(example):
    assert example.worth(64, example.WAYS["both, min-rtt"], "1 MB", 3).value < 1.05


def test_the_page_has_the_programs_table(example):
    page = (EXAMPLES.parent / "docs" / "guides" / "second-path.md").read_text()
    for way in example.WAYS:
        assert page.count(f"| {way} |") == 2


@pytest.mark.parametrize("program", ["second-path.py", "tunnels.py"])
def test_what_is_no_number_of_seeds_is_told(program):
    for seeds in ("0", "-1", "many"):
        ran = subprocess.run(
            [sys.executable, EXAMPLES / program, "x", seeds], capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (1, f"SEEDS: {seeds} is not a whole number from 1 on\n")
