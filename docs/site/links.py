"""Hooks of mkdocs: what is written for readers of the repository is right in the site, too.

Pages at the top of the repository belong to it, and so does every file that a page links to. Lists are indented as this
Markdown wants it.
"""

import posixpath
import re
from html import unescape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
TOP = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
ITEM = re.compile(r"[-*] ")
CELL = re.compile(r"<td>((?:(?!</td>).)*)</td>", re.DOTALL)
FIGURE = re.compile(r"(?=.{0,40}$)(?:[-+−×]? ?\d[^A-Za-z]*[A-Za-z/]+)?[^A-Za-z]*")
LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml", ".c": "c"}


def place(path: str) -> str:
    """Where in the site a path of the repository is."""
    if path in TOP:
        return TOP[path]
    inside = path.removeprefix("docs/")
    if inside != path:
        return f"{inside}/README.md" if (ROOT / path).is_dir() else inside
    return f"source/{path}.md"


def targets(text: str, folder: str) -> set[str]:
    """The paths of the repository that a page in this folder of it links to."""
    return {posixpath.normpath(posixpath.join(folder, target)) for target in LINK.findall(text)}


def folder_of(uri: str) -> str:
    """The folder of the repository that a page of the site is from."""
    return "" if uri in TOP.values() else posixpath.dirname(f"docs/{uri}")


def on_config(config: MkDocsConfig) -> None:
    """Folders in the navigation become their pages."""
    config.nav = [expanded(entry, Path(config.docs_dir)) for entry in config.nav or []]


def expanded(entry: object, docs: Path) -> object:
    """An entry of the navigation, a folder in it as its pages by title."""
    if isinstance(entry, dict):
        return {title: expanded(inner, docs) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [expanded(inner, docs) for inner in entry]
    if not str(entry).endswith("/"):
        return entry
    pages = {page.name: f"{entry}{page.name}" for page in sorted((docs / str(entry)).glob("*.md"))}
    first = [pages.pop("README.md")] if "README.md" in pages else []
    text = (docs / first[0]).read_text() if first else ""
    groups: list[object] = []
    for section in text.split("\n## ")[1:]:
        named = [pages.pop(name) for name in re.findall(r"^\| \[[^]]*\]\(([^)/]+)\)", section, re.M) if name in pages]
        groups += [{section.splitlines()[0]: named}] if named else []
    return [*first, *groups, *([{"More": list(pages.values())}] if groups else pages.values())]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages at the top, and a page for every linked file that is no page."""
    for path, uri in TOP.items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text()))
    linked = set().union(
        *(targets(file.content_string, folder_of(file.src_uri)) for file in files.documentation_pages())
    )
    for path in sorted(linked):
        if place(path).startswith("source/") and (ROOT / path).exists():
            files.append(File.generated(config, place(path), content=source(path)))
    return files


def source(path: str) -> str:
    """A page that shows a file, or what is in a folder."""
    at = ROOT / path
    text = "\n".join(sorted(inner.name for inner in at.iterdir())) if at.is_dir() else at.read_text()
    return (
        f"---\nsearch: {{exclude: true}}\n---\n# {path}\n\n~~~~~~{LANGUAGES.get(at.suffix, 'text')}\n{text}\n~~~~~~\n"
    )


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Links lead to where their target is in the site."""
    uri = page.file.src_uri
    if uri.startswith("source/"):
        return markdown
    markdown = with_lists(markdown)

    def moved(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder_of(uri), link[0]))
        return posixpath.relpath(place(path), posixpath.dirname(uri) or ".")

    return LINK.sub(moved, markdown)


def on_page_content(html: str, **_: object) -> str:
    """A number in a cell stays with its interval, unit and verdict; of two after each other, each has a line.

    Cells of a sentence are marked as text, which is given room.
    """

    def marked(cell: re.Match[str]) -> str:
        text = unescape(re.sub(r"<[^>]*>", "", cell[1]))
        if not FIGURE.fullmatch(text):
            return f'<td class="text">{cell[1]}</td>' if len(text) > 60 else cell[0]
        kept = re.sub(r"(?<!/) (?![^<]*>)", "\N{NO-BREAK SPACE}", re.sub(r"; (?=[-+−]?\d)", ";<br>", cell[1]))
        return f'<td class="figure">{kept}</td>'

    return CELL.sub(marked, html)


def with_lists(markdown: str) -> str:
    """What belongs to an item is indented by four blanks, not two, and a blank line comes before the first item."""
    lines: list[str] = []
    fence: str | None = None  # the indentation of the block of code in which we are
    first = ""  # line of the paragraph in which we are
    for line in markdown.split("\n"):
        bare = line.lstrip(" ")
        indent = line[: len(line) - len(bare)]
        if fence is None and ITEM.match(line) and first and not ITEM.match(first):
            lines.append("")
            first = line
        lines.append((indent if fence is None else fence) + line)
        if bare.startswith("```"):
            fence = indent if fence is None else None
        first = (first or line) if bare else ""
    return "\n".join(lines)
