"""The worked example of the second path: what it says is what its program finds."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "second-path.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("second_path", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_second_path_adds_its_rate_to_a_long_download(example):
    # 2 and 8 Mbit/s are five times 2; what losses and headers cost, both have
    assert example.worth(2, example.WAYS["both, min-rtt"], None, 2).value == pytest.approx(5, rel=0.1)
    assert example.worth(2, example.WAYS["both, redundant"], None, 2).value == pytest.approx(4, rel=0.1)


def test_a_short_download_over_a_fast_wifi_gains_nothing(example):
    assert example.worth(64, example.WAYS["both, min-rtt"], "1 MB", 3).value < 1.05


def test_the_page_has_the_programs_table(example):
    page = (EXAMPLE.parents[1] / "docs" / "guides" / "second-path.md").read_text()
    for way in example.WAYS:
        assert page.count(f"| {way} |") == 2
