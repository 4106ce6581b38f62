"""The gallery and the tutorial say what their commands print; the figures can be made."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gallery.md"


def of_the_docs(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sessions = of_the_docs("sessions")
PARTS = {part.splitlines()[0].removeprefix("## "): part for part in sessions.sections(PAGE.read_text())}


@pytest.mark.parametrize("title", PARTS)
def test_an_experiment(title):
    """What is printed is what the page shows, and every number in bold is one of these."""
    part = PARTS[title]
    [(picture, figure)] = sessions.IMAGE.findall(part)
    slug = Path(picture).stem
    with sessions.place():
        shown = list(sessions.walk(part))
        assert [said for said, _ in shown] == [printed for _, printed in shown], "run: make docs"
        assert (PAGE.parent / picture).is_file()
        drawn = sessions.picture(figure, f"out/{slug}")
        assert [axes for axes in drawn.axes if axes.lines or axes.patches or axes.collections]
    assert f"examples/gallery/{slug}.toml" in part
    text = " ".join(said for said, _ in shown)
    numbers = {float(number.replace(",", "")) for number in re.findall(r"\d[\d.,]*", text)}
    bold = re.findall(r"\*\*([\d.,]+)\*\*", part)
    assert len(bold) >= 2
    assert [number for number in bold if float(number.replace(",", "")) not in numbers] == []


def test_every_file_is_in_the_gallery():
    files = {file.stem for file in (ROOT / "examples" / "gallery").glob("*.toml")}
    assert files == {Path(name).stem for name, _ in sessions.IMAGE.findall(PAGE.read_text())}
    assert files == {file.stem for file in (PAGE.parent / "gallery").iterdir()}


def test_the_tutorial():
    with sessions.place():
        shown = list(sessions.walk((PAGE.parent / "tutorial.md").read_text()))
    assert len(shown) >= 14
    assert [said for said, _ in shown] == [printed for _, printed in shown], "run: make docs"
