"""The documentation as a site: builds without a warning, needs no network, reads as the pages do in the repository."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest
from markdown import markdown
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("links", ROOT / "docs" / "site" / "links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", place]
    quiet = {"NO_MKDOCS_2_WARNING": "1"}
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | quiet, check=False)
    assert made.returncode == 0, made.stderr
    return place


def test_every_page_is_in_the_site(site):
    for page in PAGES:
        parts = page.relative_to(ROOT)
        if parts.parts[0] == "docs":
            at = parts.relative_to("docs").with_suffix(".html")
            assert (site / (at.with_name("index.html") if page.name == "README.md" else at)).is_file(), page
    home = (site / "index.html").read_text()
    assert 'href="guides/sweeps.html"' in home  # in README.md docs/guides/sweeps.md
    assert (site / "source" / "examples" / "pauses.toml.html").is_file()
    python = (site / "reference" / "python.html").read_text()
    assert 'id="cclab.Scenario.run"' in python
    assert '<span class="gp">' in python  # sessions are code


def test_the_site_needs_no_network(site):
    loads = re.compile(r'<(?!a\b)[^>]+\b(?:src|srcset|href)="(?:https?:)?//[^>]*>')
    found = {tag for page in site.rglob("*.html") for tag in loads.findall(page.read_text())}
    assert [tag for tag in found if 'rel="canonical"' not in tag] == []
    assert not any("@import" in css.read_text() for css in site.rglob("*.css"))


def test_every_link_leads_somewhere(site):
    pages = {page: page.read_text() for page in site.rglob("*.html") if page.name != "404.html"}
    anchors = {page: set(re.findall(r'\bid="?([^" >]+)', text)) for page, text in pages.items()}
    nowhere, links = [], 0
    for page, text in pages.items():
        for target in set(re.findall(r'<(?:a|link|img|script)\b[^>]*?\b(?:href|src)="(?![a-z]+:)([^"]*)"', text)):
            path, _, anchor = unquote(unescape(target)).partition("#")
            to = (page.parent / path).resolve() if path else page
            to = to / "index.html" if to.is_dir() else to
            links += 1
            if not to.is_file() or (anchor and to in pages and anchor not in anchors[to]):
                nowhere.append(f"{page.relative_to(site)}: {target}")
    assert nowhere == []
    assert links > 5_000


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian package chromium)")
def test_one_can_search_without_a_server(site):
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as browser,
    ):
        page = browser.new_page()
        page.goto(f"file://{site}/index.html")
        page.locator("input.md-search__input").press_sequentially("hystart", delay=50)
        page.wait_for_selector('.md-search-result__item a[href*="hystart.html"]', timeout=60_000, state="attached")


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian package chromium)")
def test_figures_and_tables_can_be_read_on_a_phone(site):
    """Letters of figures, drawn in points, have 9 px; what is wider than the page is scrolled, and shows that it is."""
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as browser,
    ):
        page = browser.new_page(viewport={"width": 400, "height": 900})
        for name in ("gallery", "guides/tunnels", "studies/agreement"):
            page.goto(f"file://{site}/{name}.html")
            assert page.evaluate("document.documentElement.scrollWidth") <= 400
            shown = page.evaluate("""() => [...document.querySelectorAll('.md-content img')].map(e =>
                [e.getAttribute("src"), e.getBoundingClientRect().width, getComputedStyle(e.parentElement).overflowX])""")
            assert len(shown) > 0
            for src, width, overflow in shown:
                text = (site / name).parent.joinpath(src).resolve().read_text()
                points = 100 * min(map(float, re.findall(r"scale\(([0-9.]+) -\1\)", text)))
                assert points * width / float(re.findall(r'viewBox="0 0 ([0-9.]+) ', text)[0]) > 8.95, src
                assert width <= 400 or overflow == "auto"
        page.goto(f"file://{site}/guides/tunnels.html")
        wide = page.locator(".md-typeset__scrollwrap").first
        assert wide.evaluate("e => e.scrollWidth > e.clientWidth")
        assert "gradient" in wide.evaluate("e => getComputedStyle(e).backgroundImage")
        lines = "e => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects().length }"
        cells = page.locator("td", has_text=re.compile(r"^\d+\.\d\d\s±\s"))
        assert cells.count() > 100
        assert set(cells.evaluate_all(f"cells => cells.map({lines})")) == {1}  # a figure with its interval
        page.goto(f"file://{site}/reliability.html")
        tables = page.locator(".md-content table:not([class])")
        assert tables.count() == 3
        hidden = tables.evaluate_all("tables => tables.map(t => t.scrollWidth - t.clientWidth)")
        assert max(hidden) <= 2  # what a table hides within itself has no shadow
        assert tables.nth(1).evaluate("t => t.getBoundingClientRect().right") <= 400  # two columns fit


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_reads_the_same_in_the_site(page, hooks):
    """CommonMark, which forges read, and the Markdown of the site make the same lists, tables and blocks of code."""
    text = page.read_text()
    extensions = ["sane_lists", "tables", "pymdownx.superfences", "attr_list", "footnotes"]
    assert shape(markdown(hooks.with_lists(text), extensions=extensions)) == shape(
        MarkdownIt().enable("table").render(text)
    )


def shape(html: str) -> dict[str, int]:
    html = re.sub(r"<pre.*?</pre>", "<pre>", html, flags=re.DOTALL)
    return {tag: len(re.findall(f"<{tag}[ >]", html)) for tag in ("h2", "h3", "li", "pre", "tr", "img")}
