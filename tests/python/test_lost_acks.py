"""Where most ACKs are lost: the page has what its program prints."""

import pytest

import conftest
from conftest import EXAMPLES


@pytest.fixture(scope="module")
def example():
    return conftest.example("lost-acks")


def test_the_page_has_the_programs_table(example):
    page = (EXAMPLES.parent / "docs" / "models" / "tcp.md").read_text()
    for name in example.CASES:
        assert example.line(name, False) in page
