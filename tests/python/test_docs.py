"""Examples in docstrings do what they say."""

import doctest
import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import cclab
from cclab import columns, published
from conftest import in_a_process

DOCS = Path(__file__).parents[2] / "docs"


MODULES = (
    "",
    ".columns",
    ".analysis.metrics",
    ".laws.algorithms",
    ".laws.python",
    ".sweep.study",
    ".theory.formulas",
    ".theory.coupling",
)


@pytest.mark.parametrize("module", [f"cclab{name}" for name in MODULES])
def test_examples(module):
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried
    assert not failed


def test_every_error_has_a_home():
    import cclab
    from cclab import errors

    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert len(kinds) == 7
    assert all(issubclass(kind, cclab.CclabError) and kind.__doc__ for kind in kinds)
    assert all(getattr(cclab, kind.__name__) is kind for kind in kinds)
    assert issubclass(cclab.ScenarioError, ValueError)


def test_the_page_of_columns_is_what_the_columns_say():
    assert (DOCS / "reference" / "columns.md").read_text() == columns.markdown(), "run: make docs"


def test_the_table_of_models_is_what_is_registered():
    made = in_a_process("list", "--markdown").stdout
    assert (DOCS / "models" / "README.md").read_text() == made, "run: make docs"
    linked = re.findall(r"\]\(([a-z0-9-]+\.md)\)", made)
    assert len(linked) > 30
    assert [name for name in linked if not (DOCS / "models" / name).is_file()] == []


def test_every_link_in_the_docs_leads_somewhere():
    root = DOCS.parent
    pages = [*root.glob("*.md"), *DOCS.rglob("*.md")]
    dead = [
        f"{page.relative_to(root)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#:, ]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert dead == []


def test_every_table_has_a_head():
    """Rows behind a blank line are no table, but text with bars."""
    root, headless = DOCS.parent, []
    for page in [*root.glob("*.md"), *DOCS.rglob("*.md")]:
        text = re.sub("^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for rows in re.findall(r"(?:^ *\|.*\n?)+", text, re.MULTILINE):
            if not re.match(r" *\|.*\n *\|[-:| ]+\|", rows):
                headless.append(f"{page.relative_to(root)}: {rows.splitlines()[0]}")
    assert headless == []


def test_the_guide_to_studies_can_be_followed(tmp_path):
    guide = (DOCS / "guides" / "add-a-study.md").read_text()
    folder = tmp_path / "library" / "guide"
    folder.mkdir(parents=True)
    (folder / "analysis.py").write_text(guide.split("```python\n")[1].split("```")[0])
    (folder / "study.toml").write_text(
        'title = "T"\nsummary = "S"\nquestion = "Q"\nsource = "P"\n'
        '[scenario]\nduration = "2 s"\n[scenario.network]\nrate = "1.5 Mbit/s"\nrtt = "80 ms"\n'
        'queue = { limit = "17 packets" }\n[[scenario.flows]]\ncc = "reno"\n'
    )
    study = published.find("guide", tmp_path / "library")
    found, _ = published.reproduce(study, tmp_path / "out", quick=True, force=False, progress=lambda _: None)
    assert found["comparisons"][0]["n"] == 5
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("guide", "file", "count"),
    [("queue-discipline", "queue/blue.rs", 4), ("routing-protocol", "medium/routing/dsdv.rs", 6)],
)
def test_a_guide_shows_the_file(guide, file, count):
    text = (DOCS.parent / "crates" / "cclab-sim" / "src" / "net" / file).read_text()
    quotes = blocks(DOCS / "guides" / f"add-a-{guide}.md", "rust")
    assert len(quotes) == count
    assert [quote for quote in quotes if quote not in text] == []


def blocks(page: Path, language: str) -> list[str]:
    return [block.split("```")[0] for block in page.read_text().split(f"```{language}\n")[1:]]


NETWORK = re.compile(r"^(\[network|network\s*=)", re.MULTILINE)
EXAMPLES = [
    (page, i)
    for page in sorted([*(DOCS / "models").glob("*.md"), *(DOCS / "guides").glob("*.md")])
    for i, text in enumerate(blocks(page, "toml"))
    if NETWORK.search(text) or (page.parent.name == "models" and "paths =" not in text)
]


@pytest.mark.parametrize(("page", "i"), EXAMPLES, ids=[f"{page.stem}-{i}" for page, i in EXAMPLES])
def test_examples_of_networks_are_accepted(page, i, tmp_path, monkeypatch):
    """A fragment gets what it leaves out; a law of the reader's own is one that is there, and so are traces."""
    text = blocks(page, "toml")[i].replace('{ name = "my-cc", a = 2, b = 0.125 }', '"reno"')
    if not NETWORK.search(text):
        text = f'[network]\nrate = "10 Mbit/s"\nrtt = "50 ms"\n{text}'
    if not re.search(r"^duration", text, re.MULTILINE):
        text = f'duration = "100 s"\n{text}'
    if "[[flows]]" not in text:
        text += '\n[[flows]]\ncc = "reno"\n'
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r'\btrace\s*=\s*"([^"]+)"', text):
        Path(name).write_text("1\n")
    assert cclab.Scenario.from_toml(text).to_dict()["network"]


@pytest.fixture
def first(tmp_path, monkeypatch) -> Path:
    """The README's first scenario, made short, in a folder to work in."""
    monkeypatch.chdir(tmp_path)
    text = blocks(DOCS.parent / "README.md", "toml")[0]
    Path("first.toml").write_text(text.replace('"60 s"', '"3 s"').replace('"10 s"', '"1 s"'))
    return tmp_path


def test_the_readme_can_be_followed(tmp_path, monkeypatch, capsys):
    readme = DOCS.parent / "README.md"
    monkeypatch.chdir(tmp_path)
    Path("first.toml").write_text(blocks(readme, "toml")[0])
    programs = blocks(readme, "python")
    assert len(programs) == 2
    exec(programs[0], {})
    assert "cubic-1" in capsys.readouterr().out
    assert Path("cwnd.svg").is_file()
    names: dict[str, Any] = {}
    exec(programs[1], names)
    assert names["study"].status()["finished"] == 20
    assert capsys.readouterr().out.startswith("shape: (8, 7)")


def test_the_page_of_the_study_file_can_be_followed(first):
    page = DOCS / "reference" / "study.md"
    for name, text in zip(("buffers", "several"), blocks(page, "toml"), strict=True):
        Path(f"{name}.toml").write_text(text)
    for program in blocks(page, "python"):
        exec(program, {})
    assert cclab.Study.load("buffers.toml").run("repeated").identical() == 0  # or its replications would be none
    study = cclab.Study.load("several.toml").check().run("out")
    for table in study.tables():
        text = page.read_text()
        own = set(study.table(table).columns) - set(study.parameters) - {"replication", "seed"}
        if table not in ("flows", "links"):
            assert all(f"`{column}`" in text for column in own), own


def test_the_page_of_sweeps_can_be_followed(first, cli):
    page = DOCS / "guides" / "sweeps.md"
    Path("study.toml").write_text(blocks(page, "toml")[0])
    commands = [line.removeprefix("$ ") for line in blocks(page, "console")[0].splitlines()]
    for command in commands:
        status, out, err = cli(*shlex.split(command, comments=True)[1:])
        assert status == 0, err
    assert out.splitlines()[0].split()[:2] == ["network.rtt", "cc"]
    assert cclab.load("out/study").identical() == 0
    for program in blocks(page, "python"):
        if "dask" in program:
            compile(program, page, "exec")  # needs SLURM or Kubernetes
        else:
            exec(program, {"__name__": "__main__"})


@pytest.mark.parametrize(
    "page",
    [
        "guides/statistics.md",
        "guides/wireless.md",
        "models/formulas.md",
        "reference/resolved.md",
    ],
)
def test_pages_with_programs_can_be_followed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in (DOCS / page).read_text().split("```python\n")[1:]:
        exec(block.split("```")[0], names)
